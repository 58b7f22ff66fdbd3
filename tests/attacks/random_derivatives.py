"""Random programs of views, writes and gradients; the engines and PyTorch must agree.

    python -m tests.attacks.random_derivatives --programs 2000 --seed 1

compares the native engine with the Python engine, and both with PyTorch where that is installed.
"""

from __future__ import annotations

import argparse
import random
import warnings

import numpy as np

from scriptlang import Limits
from scriptlang.jit import CompilationUnit
from scriptlang.ops.families import create as tensors

VIEWS = (
    "{a}.t()",
    "{a}[{i}:]",
    "{a}[:, {i}]",
    "{a}[{i}]",
    "{a}.unsqueeze(0)",
    "{a}.expand(2, 3, 3)",
    "{a}.diagonal()",
    "{a}.reshape(-1)",
    "{a}.transpose(0, -1)",
    "{a}.narrow(0, {i}, 1)",
    "{a}.detach()",
    "torch.view_as_real(torch.complex({a} * 1.0, {b} * 1.0))",
    "torch.view_as_real({a}.to(torch.complex128))[..., {j}]",
    "torch.view_as_complex({a}.narrow(-1, 0, 2).contiguous()).real",
    "torch.as_strided(y, [2, 2], [1, 2], {i})",
)
MADE = (
    "{a} * {b}",
    "{a} + {b}",
    "{a}.sin()",
    "torch.where({a} > {b}, {a}, {b})",
    "torch.cat([{a}.reshape(-1), {b}.reshape(-1)])",
    "{a}.clone()",
    "{a}.sum(0)",
    "torch.tanh({a}) * {c}",
    "{a}.index_select(0, torch.tensor([0, 0]))",
    "torch.zeros([3, 3], dtype=torch.float64)",
    "torch.zeros([2, 3], dtype=torch.float64).t()",
    "torch.view_as_complex({a}.reshape(-1)[:2].reshape(1, 2) * 1.0)",
    "torch.real({a} * 1.0)",
    "torch.softmax({a}.reshape(-1), 0)",
    "torch.matmul({a}, {b})",
    "torch.stack([{a}, {a}]).permute(1, 0)",
)
WRITES = (
    "{a}.mul_({b})",
    "{a}.add_({b})",
    "{a}.copy_({b})",
    "{a}.zero_()",
    "{a}.sin_()",
    "{a}[{i}] = {b}.sum()",
    "{a}[{i}].mul_({c})",
    "{a}.fill_({c})",
    "{a}.masked_fill_({a} > {c}, {c})",
    "{a}.add_({a})",
    "{a}.t_()",
    "torch.view_as_real({a}).mul_({c})",
)
"""Forms of lines; some of them do not fit the tensors that they get, and raise."""


def program(seed: int) -> str:
    """A function f(x) that gives gradients."""
    rng = random.Random(seed)
    names = ["x", "y"]

    def filled(form: str) -> str:
        return form.format(
            a=rng.choice(names[-3:]),
            b=rng.choice(names),
            c=rng.choice((0.5, -1.25, 2.0)),
            i=rng.randrange(2),
            j=rng.randrange(2),
        )

    lines = ["x = x.detach().requires_grad_(True)", "y = x * 1.5"]
    for k in range(rng.randrange(2, 9)):
        kind = rng.random()
        if kind < 0.35:
            lines.append(filled(rng.choice(WRITES)))
            continue
        lines.append(f"v{k} = " + filled(rng.choice(VIEWS if kind < 0.7 else MADE)))
        names.append(f"v{k}")
    parts = [f"(torch.view_as_real({n}) if {n}.is_complex() else {n}).sum()" for n in names[1:]]
    lines.append("s = (" + " + ".join(parts) + ") + (x ** 3).sum()")
    second = rng.random() < 0.3
    lines.append(f"g = torch.autograd.grad([s], [x], create_graph={second})[0]")
    lines.append("assert g is not None")
    if second:
        lines.append("g = torch.autograd.grad([(g * g).sum()], [x])[0]")
        lines.append("assert g is not None")
    lines.append("return g.detach()")
    return "def f(x: Tensor):\n    " + "\n    ".join(lines) + "\n"


LIMITS = Limits(memory=1 << 28, seconds=20)


def outcome(engine: str, source: str):
    """The gradient as an array, or the error."""
    try:
        if engine == "torch":
            import torch

            x = torch.arange(1.0, 10.0, dtype=torch.float64).reshape(3, 3) / 4
            return torch.jit.CompilationUnit(source).f(x).numpy()
        x = tensors.filled([9], 1.0, tensors.chosen(7)).cumsum(0).reshape(3, 3) / 4
        f = CompilationUnit(source).f
        return np.asarray(type(f)(f._function, engine, None, LIMITS)(x).tolist())
    except Exception as error:
        return error


def differ(a, b) -> bool:
    failed = isinstance(a, Exception), isinstance(b, Exception)
    if any(failed):
        return not all(failed)
    return a.shape != b.shape or not np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)


def findings(seeds, engines: list[str]) -> tuple[list[str], int]:
    """What differs, and how many programs gave a gradient."""
    found, worked = [], 0
    warnings.simplefilter("ignore")
    for seed in seeds:
        source = program(seed)
        told = {engine: outcome(engine, source) for engine in engines}
        first = told[engines[-1]]
        worked += not isinstance(first, Exception)
        if any(differ(told[e], first) for e in engines[:-1]):
            what = "\n".join(f"  {e}: {str(told[e]).strip()[-300:]}" for e in engines)
            found.append(f"seed {seed}\n{source}{what}")
    return found, worked


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engines", default="native,python,torch")
    given = parser.parse_args()
    seeds = range(given.seed * 10**6, given.seed * 10**6 + given.programs)
    found, worked = findings(seeds, given.engines.split(","))
    print("\n".join(found))
    print(f"{given.programs} programs, {worked} with a gradient, {len(found)} findings")
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main())
