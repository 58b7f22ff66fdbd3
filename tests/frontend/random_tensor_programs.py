"""Random programs of tensors, for comparing engines with PyTorch.

`program(seed, torch)` writes a function `f(x, y, k, n)`.  Each statement is run eagerly when it is
written, on copies of all variables.  A statement that raises is left out, or, rarely, ends the
program.  So nearly all programs run to their end, with any types, shapes and shared memory.
"""

from __future__ import annotations

import copy
import random
import re
import warnings
from typing import Any

import numpy as np

CREATE = """torch.zeros({shape}) | torch.ones({shape}, dtype={type}) | torch.full({shape}, {s})
torch.arange({p}) | torch.arange({n}, {p}, 0.5) | torch.eye({p}, {p}, dtype={type})
torch.tensor({n})
torch.tensor([[1, 2], [3, {n}]]) | torch.zeros_like({t}) | torch.full_like({t}, {n})
torch.linspace(0, 1, {p})
{t}.new_ones({shape}) | {t}.clone() | {t}.to({type})"""
COMPUTE = """{t} + {u} | {t} - {u} | {t} * {u} | {t} / 2 | {t} // {p} | {t} % {p} | {s} - {t}
{t} * {s} | {t} ** 2
-{f} | ~{k} | {t} < {u} | {t} >= {s} | {t} != {u} | torch.where({b}, {t}, {u})
torch.where({b}, {t}, {s})
torch.clamp({t}, {n}, {p}) | {t}.clamp({u}, {v}) | torch.maximum({t}, {u}) | torch.abs({t})
torch.relu({t})
torch.floor({t}) | torch.sign({t}) | torch.div({t}, {p}, rounding_mode="floor") | torch.sigmoid({t})
torch.add({t}, {u}, alpha={n}) | torch.addcmul({t}, {u}, {v}) | {t}.masked_fill({b}, {s})
torch.square({t})
{t}.sum() | {t}.sum({d}) | {t}.sum({d}, dtype={type}) | {f}.mean({d}, keepdim=True)
{t}.prod({d}) | {t}.max({d})[0]
{t}.argmax({d}) | torch.amax({t}, {d}) | {t}.any({d}) | torch.cumsum({t}, {d})
{t}.min({d}, True)[1]
torch.sort({t}, stable=True, dim={d})[1] | torch.unique({k}) | torch.count_nonzero({t}, {d})
torch.diff({t})
torch.cat([{t}, {u}], {d}) | torch.stack([{t}, {u}], {d}) | torch.gather({t}, {d}, {k})
{t}.index_select({d}, {k})
{t}.scatter({d}, {k}, {s}) | torch.index_add({t}, {d}, {k}, {u}) | torch.masked_select({t}, {b})
torch.take({t}, {k})
{f} @ {f}.mT | torch.einsum("ij->j", {t})
torch.outer({t}, {u})
torch.softmax({f}, {d}) | torch.layer_norm({f}, [{f}.size(-1)]) | torch.roll({t}, {n}, {d})
torch.flip({t}, [{d}])
{t}.repeat(2, {p}) | {t}.repeat_interleave({p}, {d}) | torch.tril({t}) | torch.nonzero({k})"""
VIEW = """{t}[{index}] | {t}[{index}] | {t}[{index}] | {t}[{index}] | {t}.transpose({d}, {e})
{t}.select({d}, {n}) | {t}.t()
{t}.expand({wide}) | {t}.unsqueeze({d}) | {t}.squeeze({d}) | {t}.view(-1) | {t}.view({shape})
{t}.reshape({shape})
{t}.flatten({d}) | {t}.narrow({d}, {n}, {p}) | {t}.chunk({p}, {d})[-1] | {t}.split({p}, {d})[0]
{t}.unbind({d})[-1]
{t}.diagonal() | {t}.movedim({d}, {e}) | {t}.mT | {t}.T
{t}.detach() | {t}.contiguous()"""
WRITE = """{t} += {u} | {t} *= {s} | {t} -= {s} | {t}.add_({u}) | {t}.mul_({u}) | {t}.fill_({s})
{t}.copy_({u}) | {t}.zero_()
{t}.clamp_({n}, {p}) | {t}.neg_() | {t}.masked_fill_({b}, {s}) | {t}.index_add_({d}, {k}, {u})
{t}.abs_()
{t}.scatter_({d}, {k}, {s}) | {t}.index_fill_({d}, {k}, {s}) | {t}.eq_({u}) | {t}[{index}] = {s}
{t}[{index}] = {u}
{t}[{index}] += {s} | {t}[{index}] *= {u} | {t}[{b}] = {s} | {t}[{b}] = {u} | {t}[{k}] += {u}
{t}[{b}] -= {s}
{t}[{index}].mul_({s}) | {t}.t().add_({u}) | {t}.diagonal().add_({s}) | {t}.view(-1)[{n}:] += 1
{t}.transpose({d}, {e}).mul_({u})
{t}.index_put_([{k}], {u}, accumulate=True) | torch.add({u}, {v}, out={t})
"""
FACTS = """{t}.size({d}) | {t}.numel()
int({k}.sum()) | len({t})
{t}.storage_offset() | {t}.dim()
{n} + {p} | int({k}.max())"""
TESTS = """{t}.is_contiguous() | {t}.dtype == {u}.dtype | {t}.shape == {u}.shape
bool({t}.any()) | {n} < {p} | {t}.dim() > {p}
bool({t}.sum() > {s})"""
KINDS = {
    name: re.split(r" \| |\n", text)
    for name, text in (
        ("t", COMPUTE),
        ("v", VIEW),
        ("", WRITE),
        ("n", FACTS),
        ("c", CREATE),
        ("q", TESTS),
    )
}
WEIGHTS = (10, 8, 10, 2, 2, 1)
TYPES = ("float32", "float32", "float32", "int64", "int64", "float64", "bool", "uint8", "int32")


class Programs:
    """Writes one program; `space` holds what its variables are after the lines so far."""

    def __init__(self, seed: int, torch: Any):
        self.random, self.torch = random.Random(seed), torch
        self.lines: list[str] = []
        self.arrays = [self.array() for _ in range(3)]
        self.space = dict(zip("xyk", map(torch.from_numpy, copy.deepcopy(self.arrays))), n=2)
        self.ends = False

    def array(self) -> np.ndarray:
        dims = self.random.choice((0, 1, 2, 2, 3))
        shape = [self.random.choice((1, 2, 3, 3, 4)) for _ in range(dims)]
        values = np.array([self.random.randrange(-4, 9) for _ in range(int(np.prod(shape)))])
        kind = self.random.choice(TYPES)
        floats = kind.startswith("f")
        scaled = values / 2 if floats else values > 2 if kind == "bool" else abs(values)
        array = scaled.astype(kind).reshape(shape)
        return array.swapaxes(0, -1) if shape and self.random.random() < 0.3 else array

    def tensors(self, test=lambda t: True) -> list[str]:
        return [k for k, v in self.space.items() if isinstance(v, self.torch.Tensor) and test(v)]

    def pick(self, names: list[str]) -> str:
        names = names or self.tensors()
        return self.random.choice(names[-4:] if self.random.random() < 0.6 else names)

    def hole(self, key: str, first: str) -> str:
        choose, torch = self.random.choice, self.torch
        shape = list(self.space[first].shape)
        if key in "uv":
            return self.pick(self.tensors())
        if key == "f":
            return self.pick(self.tensors(lambda t: t.is_floating_point()))
        if key == "k":
            return self.pick(self.tensors(lambda t: t.dtype in (torch.int64, torch.int32)))
        if key == "b":
            return f"({first} {choose(('>', '<=', '!='))} {choose('012')})"
        if key in "de":
            return str(self.random.randrange(-len(shape), len(shape)) if shape else 0)
        if key in "np":
            return choose(("1", "2", "3") if key == "p" else ("0", "1", "-1", "2", "n"))
        if key == "s":
            return choose(("2", "-1", "0.5", "0", "n", "True", "3.0"))
        if key == "type":
            return f"torch.{choose(TYPES)}"
        if key == "shape":
            return choose((str(shape), str(shape[::-1]), "[2, 3]", "[3]", "[1, 2]", "[]"))
        if key == "wide":
            return str([choose((2, 3)) if n == 1 else -1 for n in shape])
        return self.index(shape)

    def index(self, shape: list[int]) -> str:
        parts = []
        for n in shape[: self.random.randint(1, 3)] or [1]:
            parts.append(
                self.random.choice(
                    (
                        str(self.random.randrange(-n, n) if n else 0),
                        "1:",
                        ":-1",
                        "::2",
                        ":",
                        "None",
                        "...",
                        f"torch.tensor([{n - 1}, 0])",
                        "[0]",
                        "-2:9:3",
                    )
                )
            )
        if "..." in parts and any("[" in part or len(parts) == 1 for part in parts):
            return "1:"  # TorchScript has no such index
        return ", ".join(parts if parts.count("...") < 2 else ["0"])

    def statement(self) -> tuple[str, str]:
        """(the variable that is set, if any, the statement)"""
        kind = self.random.choices(list(KINDS), WEIGHTS)[0]
        first = self.pick(self.tensors())
        text = self.random.choice(KINDS[kind]).replace("{t}", first)
        text = re.sub(r"\{(\w+)\}", lambda m: self.hole(m.group(1), first), text)
        if kind == "v" and "[" in text.replace(f"{first}[", "", 1):
            text += ".contiguous()"  # tensors as indices may lie otherwise
        name = kind and f"{kind}{len(self.space)}"
        return name, f"{name} = {text}" if name else text

    def tried(self, name: str, text: str) -> dict | None:
        """The variables after a statement; None where it is not to be in the program."""
        space = copy.deepcopy(self.space)
        before = {k: v.shape for k, v in space.items() if k in "xyk"}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.filterwarnings("error", "An output with one or more elements was resized")
                exec(text, {"torch": self.torch}, space)
        except (RuntimeError, IndexError):
            self.ends = self.random.random() < 0.01
            return self.space if self.ends else None
        except Exception:
            return None  # of eager mode alone
        kept = all(
            isinstance(v, (bool, int)) or v.numel() < 200 and v.dim() < 7 and self.is_plain(v)
            for v in space.values()
        )
        return space if kept and all(space[k].shape == s for k, s in before.items()) else None

    def is_plain(self, t: Any) -> bool:
        """Whether every conversion of the values is defined."""
        return (
            not t.numel()
            or bool(t.double().abs().max() < 120)
            and not (t.is_floating_point() and bool((t < 0).any()) and self.has_bytes())
        )

    def has_bytes(self) -> bool:
        return bool(self.tensors(lambda t: t.dtype == self.torch.uint8))

    def write(self, count: int, indent: str = "    ") -> None:
        for _ in range(count * 5):
            name, text = self.statement()
            space = self.tried(name, text)
            if space is None:
                continue
            self.space = space
            self.lines.append(indent + text)
            count -= 1
            if not count or self.ends:
                return

    def block(self) -> None:
        """An `if`, or a loop, whose lines set no variables that outlive it."""
        before = copy.deepcopy(self.space)
        tests = [k for k, v in before.items() if isinstance(v, bool)] or ["n > 1"]
        lines, self.lines = self.lines, []
        self.write(2, "        ")
        head = self.random.choice((f"if {self.random.choice(tests)}:", "for i in range(2):"))
        text = "\n".join([head, *(line[4:] for line in self.lines)])
        body, self.lines, self.space = self.lines, lines, before
        space = None if self.ends or not body else self.tried("", text)
        self.ends = False
        if space is not None:
            self.space = {k: space[k] for k in before}
            self.lines += [f"    {head}", *body]


def program(seed: int, torch: Any) -> tuple[str, list[np.ndarray]]:
    """The text of `f(x, y, k, n: int)` and arrays for the tensors; it returns all it has made."""
    made = Programs(seed, torch)
    for _ in range(4):
        if not made.ends:
            made.write(3)
        if not made.ends and made.random.random() < 0.5:
            made.block()
    result = ", ".join(made.space)
    return "\n".join(
        ["def f(x: Tensor, y: Tensor, k: Tensor, n: int):", *made.lines, f"    return {result}", ""]
    ), made.arrays
