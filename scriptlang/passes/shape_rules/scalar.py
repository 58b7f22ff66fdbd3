"""Numbers computed from shapes, and arithmetic with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...dtypes import DType, int64
from ...dtypes import bool as BOOL
from ...objects import Device
from ..shape_facts import UNKNOWN, Fact, TensorFacts, Unknown, is_size
from ..sizes import add, equal, floordiv, less, mul, product, sub
from . import Call, rule

if TYPE_CHECKING:
    from ..sizes import Expression


@rule("size", dtype=None)
def size(c: Call) -> Any:
    """All sizes as a list, or one of them."""
    shape = c.shape("self")
    return shape[c.dim("dim", len(shape))] if c.has("dim") and shape else shape


@rule("dim", dtype=None)
def dim(c: Call) -> Any:
    fact = c[0]
    return fact.rank if isinstance(fact, TensorFacts) else UNKNOWN


@rule("numel", dtype=None)
def numel(c: Call) -> Any:
    return product(c.shape(0))


@rule("len", dtype=None)
def length(c: Call) -> Any:
    fact = c[0]
    if isinstance(fact, TensorFacts) and fact.shape:
        return fact.shape[0]
    if not isinstance(fact, tuple):
        raise Unknown
    return len(fact)


@rule("__getitem__.t", dtype=None)
def item(c: Call) -> Any:
    items, i = c[0], c.known(1)
    if not isinstance(items, tuple) or not -len(items) <= i < len(items):
        raise Unknown
    return items[i]


@rule("slice.t", dtype=None)
def slice_of_list(c: Call) -> Any:
    items = c[0]
    if not isinstance(items, tuple):
        raise Unknown
    return items[c.known(1) : c.known(2) : c.known(3)]


@rule("add.t", dtype=None)
def lists_together(c: Call) -> Any:
    if not isinstance(c[0], tuple) or not isinstance(c[1], tuple):
        raise Unknown
    return c[0] + c[1]


@rule("mul.left_t", dtype=None)
def list_repeated(c: Call) -> Any:
    if not isinstance(c[0], tuple) or c.known(1) * len(c[0]) > 1024:
        raise Unknown
    return c[0] * c.known(1)


@rule("list.t", dtype=None)
def list_copy(c: Call) -> Any:
    return c[0]


def binary(names: str, f: Callable[..., Any]) -> None:
    """Declare a rule for an operator on two ints; f returns None if the result is unknown."""

    @rule(names, dtype=None)
    def run(c: Call) -> Any:
        found = f(c.size(0), c.size(1))
        return UNKNOWN if found is None else found


def negated(f: Callable[..., Any]) -> Any:
    def run(a: Expression | int, b: Expression | int) -> Any:
        found = f(a, b)
        return None if found is None else not found

    return run


binary("add.int", add)
binary("sub.int", sub)
binary("mul.int", mul)
binary("floordiv.int", floordiv)
binary("eq.int", equal)
binary("ne.int", negated(equal))
binary("lt.int", less)
binary("gt.int", lambda a, b: less(b, a))
binary("le.int", negated(lambda a, b: less(b, a)))
binary("ge.int", negated(less))


def choice(a: Expression | int, b: Expression, least: bool) -> Any:
    if a == b:
        return a
    below = less(a, b)
    if below is None:
        return None
    return a if below is least else b


binary("min.int", lambda a, b: choice(a, b, True))
binary("max.int", lambda a, b: choice(a, b, False))


@rule("neg.int", dtype=None)
def negative(c: Call) -> Any:
    return mul(c.size(0), -1)


@rule("remainder.int", dtype=None)
def remainder(c: Call) -> Any:
    a, b = c.size(0), c.size(1)
    whole = floordiv(a, b)
    if whole is None:
        raise Unknown
    return sub(a, mul(whole, b))


@rule("eq.int_list ne.int_list", dtype=None)
def lists_equal(c: Call) -> Any:
    a, b = c.sizes(0), c.sizes(1)
    same = [equal(x, y) for x, y in zip(a, b)]
    if len(a) != len(b) or False in same:
        found = False
    elif all(same):
        found = True
    else:
        raise Unknown
    return found if c.schema.name == "aten::eq" else not found


@rule("__contains__.int_list", dtype=None)
def contains(c: Call) -> Any:
    items, wanted = c.sizes(0), c.size(1)
    found = [equal(x, wanted) for x in items]
    if True in found:
        return True
    if None in found:
        raise Unknown
    return False


@rule("__is__ __isnot__", dtype=None)
def is_none(c: Call) -> Any:
    a, b = c[0], c[1]
    if b is not None or a is UNKNOWN:
        raise Unknown
    return (a is None) == (c.schema.name == "aten::__is__")


@rule("Int.Tensor IntImplicit ScalarImplicit item Int.Scalar", dtype=None)
def number_in(c: Call) -> Any:
    fact = c[0]
    if isinstance(fact, TensorFacts) and fact.value is not None:
        return fact.value
    if c.schema.overload == "Scalar" and is_size(fact):
        return fact
    raise Unknown


@rule("NumToTensor", dtype=None)
def into_tensor(c: Call) -> Any:
    fact = c[0]
    if isinstance(fact, bool):
        return TensorFacts((), BOOL, 0)
    if is_size(fact):
        return TensorFacts((), int64, 0, fact)
    return TensorFacts((), None, 0)


def dtype_of(fact: Fact) -> DType:
    if not isinstance(fact, TensorFacts) or fact.dtype is None:
        raise Unknown
    return fact.dtype


@rule("dtype", dtype=None)
def dtype(c: Call) -> Any:
    return dtype_of(c[0]).code


@rule("is_floating_point is_complex", dtype=None)
def is_kind(c: Call) -> Any:
    return dtype_of(c[0]).kind == ("f" if c.schema.name.endswith("floating_point") else "c")


@rule("element_size", dtype=None)
def element_size(c: Call) -> Any:
    return dtype_of(c[0]).itemsize


@rule("device", dtype=None)
def device(c: Call) -> Any:
    """All tensors are on the CPU."""
    return Device("cpu")
