"""Random programs: the straight graph gives what PyTorch's tape gives, or says why there is none.

Programs have views, writes in place and through views, branches and loops on sizes, products,
reductions, index operators, gradients inside.  Where PyTorch raises, scriptlang has to raise.
"""

from __future__ import annotations

import importlib.util
import random

import numpy as np
import pytest

import scriptlang

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

ROUNDS = 60

STEPS = (
    "{o} = {a} * {b} + 0.5",
    "{o} = {a} - {b} * {b}",
    "{o} = torch.sigmoid({a}) * {b}",
    "{o} = torch.tanh({a} / (1 + {b} * {b}))",
    "{o} = torch.where({a} > {b}, {a}, {b} * 2)",
    "{o} = {a}.clamp(-1.0, 1.0) + {b}.abs()",
    "{o} = {a}.t().reshape(2, 3) * {b}",
    "{o} = {a}.expand(2, 3) + {b}[0].unsqueeze(0)",
    "{o} = {a}.sum(1, keepdim=True) * {b}",
    "{o} = torch.softmax({a}, 1) + {b}.mean()",
    "{o} = ({a} @ {b}.t()) @ {a}",
    "{o} = torch.cat([{a}[:, 1:], {b}[:, :1]], 1)",
    "{o} = torch.stack([{a}[0], {b}[1]])",
    "{o} = {a}.index_select(1, torch.tensor([2, 0, 0])) * {b}",
    "{o} = {a}[torch.tensor([1, 1])] + {b}",
    "{o} = {a}.cumsum(1) - {b}.flip(0)",
    "{o} = {a}.masked_fill({b} > 0, 0.5)",
    "{o} = {a}.detach() * {b}",
    "{o} = {a} * float({b}.size(1))",
    "{o} = {a}.to(torch.float64).sin().to(torch.float64) * {b}",
    "{o} = {a} + {b}.max(1)[0].unsqueeze(1)",
    "{o} = {a}.clone(); {o}.mul_(1.5)",
    "{o} = {a} * 1.0; {o}.add_({b})",
    "{o} = {a} * 1.0; {o}[0] = {b}[1]",
    "{o} = {a} * 1.0; {o}[:, 1].mul_({b}[:, 0])",
    "{o} = {a} * 1.0; {o}.t()[2] += {b}[:, 1]",
    "{o} = torch.zeros_like({a}); {o}.copy_({b})",
    "{o} = torch.zeros_like({a}).index_add(1, torch.tensor([0, 2, 2]), {b})",
    "parts = {a}.split(1); {o} = torch.cat([parts[1], parts[0]]) * {b}",
    "{o} = {a}\n    for i in range({b}.size(0)):\n        {o} = {o} * {b}[i] + i",
    "{o} = {a}\n    if {b}.dim() == 2 and {b}.size(1) == 3:\n        {o} = {o} * {b}",
    "with torch.no_grad():\n        s = {a}.sum()\n    {o} = {b} * s",
    "g = torch.autograd.grad([({a} * {b}).sum()], [x], create_graph=True, allow_unused=True)[0]\n"
    "    {o} = {a} if g is None else g + {a}",
)


def source(seed: int) -> str:
    """A function of two tensors of size (2, 3) that gives one number and two tensors."""
    rng = random.Random(seed)
    names = ["x", "y"]
    lines = ["import torch", "", "def program(x, y):"]
    for k in range(rng.randint(2, 7)):
        a, b = (rng.choice(names[-4:]) for _ in range(2))
        lines.append("    " + rng.choice(STEPS).format(o=f"v{k}", a=a, b=b))
        names.append(f"v{k}")
    a, b = names[-1], rng.choice(names)
    lines.append(f"    return ({a} * {b}).sum() + {rng.choice(names)}.mean(), {a}, {b} + 0")
    return "\n".join(lines) + "\n"


def loaded(text: str, path):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program


def by_torch(program, x, y):
    x, y = (t.clone().requires_grad_() for t in (x, y))
    try:
        result = program(x, y)
        return [*result, *torch.autograd.grad(result[0], [x, y], allow_unused=True)]
    except RuntimeError:
        return None


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_random_program(seed, tmp_path):
    text = source(seed)
    program = loaded(text, tmp_path / f"program_{seed}.py")
    rng = np.random.default_rng(seed)
    x, y = (torch.from_numpy(rng.normal(size=(2, 3))) for _ in range(2))
    want = by_torch(program, x, y)
    for engine in ("python", "native"):
        both = scriptlang.value_and_grad(program, wrt=(0, 1), engine=engine)
        args = [scriptlang.from_numpy(t.numpy().copy()) for t in (x, y)]
        if want is None:
            with pytest.raises(RuntimeError):
                both(*args)
            continue
        assert both.why(*args) == "", text
        for _ in range(2):
            value, grads = both(*args)
            for got, one in zip([*value, *grads], want, strict=True):
                assert (got is None) == (one is None), text
                if got is not None:
                    got, one = got.numpy(), one.detach().numpy()
                    np.testing.assert_allclose(got, one, 1e-8, 1e-8, err_msg=text)
        for t, one in zip(args, (x, y)):
            np.testing.assert_array_equal(t.numpy(), one.numpy())
