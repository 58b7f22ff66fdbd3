"""Calls that return their argument, or something simpler, for certain dtypes and shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...ir import Value
from ...ops import table
from ...tensors import Tensor as Constant
from ..sizes import equal
from .values import Tensor, Unknown, is_known

if TYPE_CHECKING:
    from .evaluate import Evaluator


def of_real(e: Evaluator, args: list[Any]) -> Any:
    """Operators that only change complex numbers."""
    dtype = e.facts.dtype(e.value(args[0]))
    return args[0] if dtype is not None and dtype.kind != "c" else None


def same_type(e: Evaluator, args: list[Any]) -> Any:
    dtype = e.facts.dtype(e.value(args[0]))
    same = dtype is not None and args[1] == dtype.code and not args[3] and args[4] is None
    return args[0] if same else None


def same_size(e: Evaluator, args: list[Any]) -> Any:
    """A view or reshape to the shape that the tensor has already."""
    shape = e.facts.shape(e.value(args[0]))
    if shape is None or not isinstance(args[1], list):
        return None
    return args[0] if sizes(e, args[1]) == shape else None


def sizes(e: Evaluator, size: list[Any]) -> tuple[Any, ...]:
    """The facts of the sizes in a list."""
    return tuple(e.facts.get(n.value) if isinstance(n, Unknown) else n for n in size)


def flattened(e: Evaluator, args: list[Any]) -> Any:
    """flatten of a single dimension."""
    shape = e.facts.shape(e.value(args[0]))
    if shape is None or not is_known(args[1:]) or not shape:
        return None
    return args[0] if args[1] % len(shape) == args[2] % len(shape) else None


def summed(e: Evaluator, args: list[Any]) -> Any:
    """sum_to_size as a sum over dimensions, which can be fused."""
    shape, size = e.facts.shape(e.value(args[0])), args[1]
    if shape is None or not isinstance(size, list):
        return None
    wanted = sizes(e, size)
    if wanted == shape:
        return args[0]
    first = len(shape) - len(size)
    pairs = list(zip(shape[first:], wanted)) if first >= 0 else [(None, None)]
    if any(have != want and not (want == 1 and is_more(have)) for have, want in pairs):
        return None
    dims = [d for d, n in enumerate(shape) if d < first or wanted[d - first] == 1 != n]
    total = e.run("aten::sum.dim_IntList", args[0], dims, first == 0) if dims else args[0]
    return e.run("aten::view", total, size) if first and 1 in wanted else total


def is_more(size: Any) -> bool:
    """Whether a size is certainly not 1."""
    return equal(size, 1) is False


def by_one(e: Evaluator, args: list[Any]) -> Any:
    """Multiplication or division by 1, which does not change floating-point numbers."""
    dtype = e.facts.dtype(e.value(args[0]))
    fits = dtype is not None and dtype.kind in "fc" and type(args[1]) in (int, float)
    return args[0] if fits and args[1] == 1 else None


def adjoint(e: Evaluator, args: list[Any]) -> Any:
    tensor = e.facts.tensor(e.value(args[0]))
    if tensor.dtype is None or tensor.dtype.kind == "c" or tensor.shape is None:
        return None
    return e.run("aten::transpose.int", args[0], -2, -1) if len(tensor.shape) >= 2 else None


def to_first(e: Evaluator, args: list[Any]) -> Any:
    """A power with the exponent 1."""
    dtype = e.facts.dtype(e.value(args[0]))
    fits = dtype is not None and dtype.kind in "fc" and type(args[1]) in (int, float)
    return args[0] if fits and args[1] == 1 else None


def by_ones(e: Evaluator, args: list[Any]) -> Any:
    """Multiplication by a tensor of ones that does not broadcast the other operand."""
    if not isinstance(args[1], Tensor):
        return None
    for ones, other in (args, args[::-1]):
        if not (is_ones(e, e.value(ones)) and not ones.active):
            continue
        have, want = (e.facts.tensor(e.value(t)) for t in (ones, other))
        if have.dtype is not want.dtype or have.dtype is None or want.shape is None:
            continue
        if have.shape is not None and spreads_nothing(have.shape, want.shape):
            return other
    return None


def spreads_nothing(shape: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether a tensor of the first shape leaves the second shape unchanged when they broadcast."""
    if len(shape) > len(other):
        return False
    return all(a in (1, b) for a, b in zip(shape[::-1], other[::-1]))


def is_ones(e: Evaluator, v: Value) -> bool:
    """Whether all elements of a value are certainly 1."""
    while v.node.kind in SPREADING:
        v = v.node.inputs[0]
    if v.is_constant:
        value = v.constant
        return isinstance(value, Constant) and value.numel() == 1 and value.item() == 1
    return v.node.kind in ("aten::ones_like", "aten::ones")


SPREADING = frozenset(f"aten::{name}" for name in ("expand", "view", "reshape", "unsqueeze"))


RULES: dict[str, Callable[[Evaluator, list[Any]], Any]] = {
    "aten::conj": of_real,
    "aten::_conj": of_real,
    "aten::resolve_conj": of_real,
    "aten::real": of_real,
    "aten::to.dtype": same_type,
    "aten::expand": same_size,
    "aten::view": same_size,
    "aten::reshape": same_size,
    "aten::sum_to_size": summed,
    "aten::flatten.using_ints": flattened,
    "aten::mul.Scalar": by_one,
    "aten::div.Scalar": by_one,
    "aten::adjoint": adjoint,
    "aten::pow.Tensor_Scalar": to_first,
    "aten::mul.Tensor": by_ones,
}


def simplified(e: Evaluator, operator: table.Operator, args: list[Any]) -> Any:
    """The result of a call that needs no node of its own; None if it needs one."""
    rule = RULES.get(operator.qualified_name)
    if rule is None or not isinstance(args[0], Tensor):
        return None
    found = rule(e, args)
    if any(found is a for a in args) and not operator.schema.shared[0]:
        if not operator.facts.may_share:  # the operator returns new memory with the same elements
            is_active = found.active and e.records
            if is_active and e.value(found) not in e.recorded:
                return None  # a leaf: if it is written, what was computed from it stays
            return Tensor(e.value(found), is_active)
    return found
