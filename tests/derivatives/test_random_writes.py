"""Random programs of views and writes: both engines give the same gradients, first and second, and
PyTorch's."""

from __future__ import annotations

import linecache
import random

import numpy as np
import pytest
from scriptlang.interpreter import engine as engines

import scriptlang
from scriptlang import jit

ENGINES = engines.available()

LAYOUTS = {
    "row by row": "w * 2.0",
    "transposed": "(w.t() * 1.0).t()",
    "with gaps": "torch.empty_strided([3, 3], [2, 7], dtype=w.dtype).copy_(w)",
    "of zeros": "torch.zeros([3, 3], dtype=w.dtype)",
    "a part": "torch.stack([w, w * w], 1).select(1, 1)",
}
VIEWS = [
    "x.t()",
    "x[1:]",
    "x.select(-1, 0)",
    "x.unsqueeze(0)",
    "x.narrow(0, 0, 1)",
    "x.diagonal()",
    "x.expand([2] + list(x.size()))",
    "x.movedim(0, -1)",
    "x.flatten()",
]
WRITES = [
    "x.mul_(w.sum())",
    "x.add_(w.flatten()[0])",
    "x.copy_(x * x)",
    "x.zero_()",
    "x.sin_()",
    "x.fill_(w[1, 1])",
    "x.pow_(2)",
    "x.mul_(x.detach())",
]


def program_of(seed: int) -> str:
    """The source of `f(w)`, which makes a tensor, views of it, and writes to all of them."""
    choose = random.Random(seed)
    lines = [f"t0 = {choose.choice(list(LAYOUTS.values()))}"]
    count = 1
    for _ in range(choose.randint(2, 7)):
        x = f"t{choose.randrange(count)}"
        if choose.random() < 0.5:
            view = choose.choice(VIEWS).replace("x", x, 1).replace("(x.", f"({x}.")
            lines += [f"t{count} = {x}", f"if {x}.dim() > 1:", f"    t{count} = {view}"]
            count += 1
        else:
            write = choose.choice(WRITES)
            lines.append(
                x
                + write[1:]
                .replace("(x.", f"({x}.")
                .replace("(x *", f"({x} *")
                .replace("* x)", f"* {x})")
            )
    total = " + ".join(f"(t{k} * t{k} * t{k}).sum()" for k in range(count))
    return "\n    ".join(["def f(w: Tensor) -> Tensor:", *lines, f"return {total} + w.sum()\n"])


def gradients(library, f) -> list[np.ndarray] | str:
    """The first and second gradients, or the error's text."""
    values = np.random.default_rng(0).uniform(0.5, 1.5, (3, 3))
    w = library.tensor(values.tolist(), dtype=library.float64, requires_grad=True)
    try:
        (first,) = library.autograd.grad(f(w), w, create_graph=True)
        (second,) = library.autograd.grad((first * first).sum() + w.sum(), w)
    except RuntimeError as error:
        return str(error)
    return [first.detach().numpy(), second.numpy()]


def scripted(source: str, engine: str):
    names = {"torch": scriptlang, "Tensor": scriptlang.Tensor}
    name = f"<program of {hash(source)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), names)
    return jit.script(names["f"], engine=engine)


LATE = "a leaf Variable that requires grad is being used in an in-place operation."
"""PyTorch also says this of a write to a view that was made before its base required a gradient."""


def check(got, wanted, source: str) -> None:
    if isinstance(wanted, str) or isinstance(got, str):
        assert isinstance(got, str) and isinstance(wanted, str), (source, got, wanted)
        return
    for a, b in zip(got, wanted):
        np.testing.assert_allclose(a, b, 1e-9, 1e-9, err_msg=source)


@pytest.mark.skipif("native" not in ENGINES, reason="no native engine")
@pytest.mark.parametrize("start", range(0, 120, 20))
def test_engines_agree(start):
    for seed in range(start, start + 20):
        source = program_of(seed)
        native, python = (scripted(source, engine) for engine in ("native", "python"))
        check(gradients(scriptlang, native), gradients(scriptlang, python), source)


@pytest.mark.oracle
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("start", range(0, 300, 50))
def test_torch_agrees(start, engine):
    import torch

    for seed in range(start, start + 50):
        source = program_of(seed)
        f = {"torch": torch, "Tensor": torch.Tensor}
        exec(source, f)
        wanted = gradients(torch, f["f"])
        if not isinstance(wanted, str) or wanted != LATE:
            check(gradients(scriptlang, scripted(source, engine)), wanted, source)
