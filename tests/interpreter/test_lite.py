"""PyTorch's lite interpreter runs the bytecode that we write, with the Python engine's results."""

import math
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import pytest

import scriptlang
from scriptlang import Tensor

pytestmark = pytest.mark.oracle


def loops(n: int) -> Tuple[int, List[int]]:
    seen: List[int] = []
    total = 0
    for i in range(n):
        j = 0
        while True:
            j += 1
            if j > i:
                break
            if j % 2 == 0:
                continue
            total += i * j
        seen.append(total)
    return total, seen


def optional(x: Optional[int], y: int) -> int:
    if x is None:
        return -y
    if not (x > 0 and x is not None):
        return 0
    return x + y


def text(n: int, s: str) -> str:
    parts = "{}: {}".format(n, s) + f"<{n * 2}>"
    return parts + ",".join([s, s.upper(), str(n > 1)])


def containers(n: int) -> Dict[str, List[Tuple[int, float]]]:
    made: Dict[str, List[Tuple[int, float]]] = {}
    for i in range(n):
        key = "odd" if i % 2 else "even"
        if key not in made:
            empty: List[Tuple[int, float]] = []
            made[key] = empty
        made[key].append((i, math.sqrt(float(i))))
    return made


def tuples(t: Tuple[int, str, float]) -> Tuple[str, float, int, Tuple[str, float]]:
    a, b, c = t
    x, y = [a, 2]
    return b, t[2] * 2.0, x + y + len(t), t[1:]


class Pair(NamedTuple):
    first: int
    second: Tensor


def named(x: Tensor) -> Pair:
    p = Pair(x.dim(), x * 2)
    return Pair(p.first + 1, p.second + 1)


def tensors(x: Tensor, n: int = 2) -> Tuple[Tensor, int, bool, List[int]]:
    y = x
    for i in range(n):
        y = torch.add(y, x, alpha=i) if i % 2 == 0 else y - x
    return y.reshape([-1])[1:], x.dim(), x.dtype == torch.float32, x.size()


def kinds(x: Any) -> str:
    if isinstance(x, int):
        return "int"
    if isinstance(x, (str, float)):
        return "str or float"
    return "other"


def in_place(x: Tensor) -> Tensor:
    y = x.neg()
    y[0] = 5
    return y.neg_().add_(x, alpha=2)


def raising(n: int) -> int:
    if n > 2:
        raise ValueError(f"{n} is too much")
    return n


torch = scriptlang

PROGRAMS = [
    (loops, [(0,), (7,)]),
    (optional, [(None, 2), (3, 4), (-1, 4)]),
    (text, [(3, "ab")]),
    (containers, [(5,)]),
    (tuples, [((1, "b", 2.5),)]),
    (kinds, [(1,), ("s",), (1.5,), (None,)]),
    (raising, [(1,)]),
]

ON_TENSORS = [(named, ()), (tensors, (3,)), (tensors, ()), (in_place, ())]


def in_pytorch(program, path):
    """The program as PyTorch's two loaders give it."""
    import torch
    from torch.jit.mobile import _load_for_lite_interpreter

    scriptlang.save(program, path)
    return torch.jit.load(path), _load_for_lite_interpreter(path)


@pytest.mark.parametrize("program, calls", PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_values(program, calls, tmp_path):
    scripted = scriptlang.script(program, engine="python")
    full, lite = in_pytorch(scripted, str(tmp_path / "p.pt"))
    for args in calls:
        expected = scripted(*args)
        assert program(*args) == expected
        assert lite(*args) == expected and full(*args) == expected


@pytest.mark.parametrize("program, more", ON_TENSORS, ids=lambda p: getattr(p, "__name__", ""))
def test_tensors(program, more, tmp_path):
    import torch as pytorch

    scripted = scriptlang.script(program, engine="python")
    full, lite = in_pytorch(scripted, str(tmp_path / "p.pt"))
    x = pytorch.arange(6, dtype=pytorch.float32).reshape(2, 3)
    expected = flat(scripted(x, *more))
    assert flat(lite(x, *more)) == expected
    assert flat(full(x, *more)) == expected


def flat(value):
    """Tensors as lists, so that results compare."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return [flat(v) for v in value] if isinstance(value, (tuple, list)) else value


def test_raise(tmp_path):
    _, lite = in_pytorch(scriptlang.script(raising), str(tmp_path / "p.pt"))
    with pytest.raises(Exception, match="3 is too much"):
        lite(3)
