"""Comparisons, logical and bitwise operators, clamp, where, fills and copies."""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ...dtypes import bool as BOOL
from ...tensors import Tensor
from ..shared.elementwise import (
    apply,
    array_of,
    beside_halves,
    cast,
    check_apart,
    check_broadcast,
    check_fits,
    check_kind,
    check_writable,
    declare_pointwise,
    lie_alike,
    lying,
    overlaps_itself,
    store,
    unsupported,
)
from ..shared.form_kernels import in_place
from ..table import declare, describe, primitive

COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
ALIASES = {
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
}


def comparison(name, f):
    kinds = "buifc" if name in ("eq", "ne") else "buif"
    return lambda self, other: apply(
        f, dtypes.result_type(self, other), *beside_halves(self, other), name=name, kinds=kinds
    )


KERNELS = {name: comparison(name, f) for name, f in COMPARISONS.items()}
for _name in [*COMPARISONS, *ALIASES]:
    _kernel = KERNELS[ALIASES.get(_name, _name)]
    declare_pointwise(f"{_name}.Tensor", "Tensor other", _kernel)
    declare_pointwise(f"{_name}.Scalar", "Scalar other", _kernel)


def _predicate(name, f, kinds):
    def kernel(self):
        check_kind(name, self.dtype, kinds)
        return lying(np.asarray(f(self._array)), None, self)

    return kernel


for _name, _f, _kinds in (
    ("isnan", lambda a: a != a, "buifc"),
    ("isinf", np.isinf, "buifc"),
    ("isfinite", np.isfinite, "buifc"),
    ("isposinf", lambda a: a == np.inf, "buif"),
    ("isneginf", lambda a: a == -np.inf, "buif"),
    ("isreal", lambda a: a.imag == 0, "buifc"),
    ("signbit", lambda a: np.signbit(a) if a.dtype.kind in "fV" else a < 0, "buif"),
):
    declare_pointwise(_name, "", _predicate(_name, _f, _kinds))

LOGICAL = {
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
for _name, _f in LOGICAL.items():
    declare_pointwise(
        _name,
        "Tensor other",
        lambda self, other, f=_f: apply(f, dtypes.result_type(self, other), self, other),
    )
declare_pointwise(
    "logical_not", "", lambda self: Tensor._wrap(np.asarray(np.logical_not(self._array)))
)


def bitwise(f, kinds="bui", name=""):
    def kernel(self, other):
        dtype = dtypes.result_type(self, other)
        return apply(f, dtype, self, other, name=name or f.__name__, kinds=kinds)

    return kernel


BITWISE = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
for _name, _f in BITWISE.items():
    for _type in ("Tensor", "Scalar"):
        declare_pointwise(f"bitwise_{_name}.{_type}", f"{_type} other", bitwise(_f))
        declare_pointwise(f"__{_name}__.{_type}", f"{_type} other", bitwise(_f))
        declare(
            f"aten::__i{_name}__.{_type}(Tensor(a!) self, {_type} other) -> Tensor(a!)",
            in_place(bitwise(_f)),
            "primitive",
        )


for _name, _f in BITWISE.items():
    declare(
        f"aten::bitwise_{_name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
        bitwise(_f),
        "primitive",
    )


def _left(a, b):
    bits = a.dtype.itemsize * 8
    return np.where((b < 0) | (b >= bits), 0, np.left_shift(a, np.clip(b, 0, bits - 1)))


def _right(a, b):
    bits = a.dtype.itemsize * 8
    shifted = np.right_shift(a, np.where((b < 0) | (b >= bits), bits - 1, b))
    return np.where((b < 0) | (b >= bits), 0, shifted) if a.dtype.kind == "u" else shifted


for _name, _f, _magic in (
    ("bitwise_left_shift", _left, "lshift"),
    ("bitwise_right_shift", _right, "rshift"),
):
    _kernel = bitwise(lambda a, b, f=_f: f(a, b).astype(a.dtype), "ui", _magic)
    declare_pointwise(f"{_name}.Tensor", "Tensor other", _kernel)
    declare_pointwise(f"{_name}.Tensor_Scalar", "Scalar other", _kernel)
    declare(
        f"aten::{_name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", _kernel, "primitive"
    )
    for _type in ("Scalar", "Tensor"):
        declare_pointwise(f"__{_magic}__.{_type}", f"{_type} other", _kernel)
        declare(
            f"aten::__i{_magic}__.{_type}(Tensor(a!) self, {_type} other) -> Tensor(a!)",
            lambda self, other, k=_kernel: store(self, k(self, other)),
            "primitive",
        )


def clamp(self, low, high):
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    dtype = dtypes.result_type(self, *(b for b in (low, high) if b is not None))
    if dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    given = [b for b in (low, high) if b is not None]
    if dtype is BOOL and not (len(given) == 1 and isinstance(given[0], Tensor)):
        raise unsupported("clamp", dtype)
    check_fits(low, dtype)
    check_fits(high, dtype)

    def f(a, *bounds):
        bounds = list(bounds)
        if low is not None:
            a = np.maximum(a, bounds.pop(0))
        return np.minimum(a, bounds.pop(0)) if high is not None else a.copy()

    return apply(f, dtype, self, *(b for b in (low, high) if b is not None))


for _name in ("clamp", "clip"):
    declare_pointwise(_name, "Scalar? min=None, Scalar? max=None", clamp)
    declare_pointwise(f"{_name}.Tensor", "Tensor? min=None, Tensor? max=None", clamp)
for _type in ("Scalar", "Tensor"):
    _dot = ".Tensor" if _type == "Tensor" else ""
    declare_pointwise(f"clamp_min{_dot}", f"{_type} min", lambda self, low: clamp(self, low, None))
    declare_pointwise(
        f"clamp_max{_dot}", f"{_type} max", lambda self, high: clamp(self, None, high)
    )


def where(condition, self, other):
    dtype = dtypes.result_type(self, other)
    if condition.dtype.name not in ("bool", "uint8"):
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with "
            f"dtype {dtypes.DISPLAY[condition.dtype.name]}"
        )
    check_broadcast(condition, self, other)
    mask = condition._array
    # For half types, numbers may exceed their range: they become infinite, as in masks.
    is_half = dtypes.is_half(dtype)
    for choice in (self, other):
        check_fits(choice, dtypes.float32 if is_half else dtype)
    with np.errstate(over="ignore"):
        chosen = np.where(mask.astype(bool), array_of(self, dtype), array_of(other, dtype))
    return lying(
        chosen,
        None,
        condition,
        *(cast(x, dtype) if isinstance(x, Tensor) else x for x in (self, other)),
    )


declare(
    "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", where, "primitive"
)
declare(
    "aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
    where,
    "primitive",
)
declare(
    "aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
    where,
    "primitive",
)
declare(
    "aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", where, "primitive"
)


def masked_fill(self, mask, value):
    if mask.dtype is not BOOL:
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}"
        )
    if isinstance(value, Tensor):
        if value.dim():
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got "
                f"tensor with {value.dim()} dimension(s)."
            )
        value = value.item()
    check_fits(value, self.dtype)
    check_broadcast(self, mask)
    return Tensor._wrap(
        np.asarray(np.where(mask._array, array_of(value, self.dtype), self._array), order="C")
    )


def masked_fill_(self, mask, value):
    filled = masked_fill(self, mask, value)
    if filled._size == self._size and overlaps_itself(self):
        self._array[np.broadcast_to(mask._array, self._size)] = array_of(
            value.item() if isinstance(value, Tensor) else value, self.dtype
        )
        return self
    return store(self, filled)


for _type in ("Scalar", "Tensor"):
    declare(
        f"aten::masked_fill.{_type}(Tensor self, Tensor mask, {_type} value) -> Tensor",
        masked_fill,
        "primitive",
    )
    declare(
        f"aten::masked_fill_.{_type}(Tensor(a!) self, Tensor mask, {_type} value) -> Tensor(a!)",
        masked_fill_,
        "primitive",
    )


@primitive("aten::equal(Tensor self, Tensor other) -> bool", autocast="full")
def equal(self, other):
    return self._size == other._size and bool(np.all(self._array == other._array))


@primitive(
    "aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, "
    "float atol=1e-08, bool equal_nan=False) -> Tensor",
    pointwise=True,
)
def isclose(self, other, rtol, atol, equal_nan):
    check_same(self, other)
    check_tolerances(rtol, atol)
    near = np.isclose(self._array, other._array, rtol, atol, equal_nan)
    return lying(np.asarray(near), None, self, other)


def check_tolerances(rtol, atol) -> None:
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")


@primitive(
    "aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, "
    "float atol=1e-08, bool equal_nan=False) -> bool"
)
def allclose(self, other, rtol, atol, equal_nan):
    check_same(self, other)
    check_tolerances(rtol, atol)
    return bool(np.allclose(self._array, other._array, rtol, atol, equal_nan))


def check_same(self, other):
    if self.dtype is not other.dtype:
        raise RuntimeError(f"{self.dtype} did not match {other.dtype}")


def isin(elements, test_elements, assume_unique, invert):
    for x in (elements, test_elements):
        if isinstance(x, (bool, complex)):
            name = "Bool" if isinstance(x, bool) else "ComplexDouble"
            raise RuntimeError(f"Unsupported input type encountered for isin(): {name}")
        if isinstance(x, Tensor) and x.dtype.kind in "bc":
            raise RuntimeError(
                f"Unsupported input type encountered for isin(): {dtypes.DISPLAY[x.dtype.name]}"
            )

    tensor = elements if isinstance(elements, Tensor) else test_elements
    dtypes.result_type(elements, test_elements)  # raises for unsigned types without a common type

    def array(x):
        if isinstance(x, Tensor):
            return x._array
        wraps = isinstance(x, int) and tensor.dtype.kind in "ui"  # ints wrap to its type
        return np.asarray(x).astype(tensor.dtype.numpy) if wraps else np.asarray(x)

    return Tensor._wrap(np.asarray(np.isin(array(elements), array(test_elements), invert=invert)))


for _overload, _args in (
    ("Tensor_Tensor", "Tensor elements, Tensor test_elements"),
    ("Tensor_Scalar", "Tensor elements, Scalar test_element"),
    ("Scalar_Tensor", "Scalar element, Tensor test_elements"),
):
    declare(
        f"aten::isin.{_overload}({_args}, *, bool assume_unique=False, bool invert=False)"
        " -> Tensor",
        isin,
        "primitive",
    )


@primitive("aten::is_nonzero(Tensor self) -> bool")
def is_nonzero(self):
    return bool(self)


def check_number(value) -> None:
    if isinstance(value, Tensor) and value._size:
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{value.dim()} dimensions."
        )


@primitive(
    "aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)",
    "aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)",
)
def fill_(self, value):
    check_number(value)
    value = value.item() if isinstance(value, Tensor) else value
    check_fits(value, self.dtype)
    self._array[...] = array_of(value, self.dtype)
    return self


@primitive("aten::zero_(Tensor(a!) self) -> Tensor(a!)")
def zero_(self):
    self._array[...] = 0
    return self


@primitive("aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)")
def copy_(self, src, non_blocking):
    if (
        src is self
        or src._storage is self._storage
        and src.dtype is self.dtype
        and (src._offset, src._size) == (self._offset, self._size)
        and lie_alike(self, src)
    ):
        return self  # even if its elements share memory
    check_writable(self)
    check_apart(self, src)
    if check_broadcast(self, src) != self._size:
        raise RuntimeError(
            f"output with shape {list(self._size)} doesn't match the broadcast "
            f"shape {list(check_broadcast(self, src))}"
        )
    self._array[...] = cast(src, self.dtype)._array
    return self


describe(
    """__and__ __or__ __xor__ bitwise_and.Scalar bitwise_and.Tensor bitwise_or.Scalar
         bitwise_or.Tensor bitwise_xor.Scalar bitwise_xor.Tensor clamp clamp_max clamp_min clip
         eq.Scalar eq.Tensor ge greater greater_equal gt isfinite isinf isnan le less less_equal
         logical_and logical_not logical_or logical_xor lt masked_fill.Scalar ne.Scalar ne.Tensor
         not_equal where.Scalar where.ScalarOther where.ScalarSelf where.self""",
    fusible=True,
)
describe("clamp clamp_min", keeps_type="floating")
describe("clamp", layout="keeps")
describe(
    """bitwise_and.Scalar_Tensor bitwise_or.Scalar_Tensor bitwise_xor.Scalar_Tensor""",
    out="converts",
)
describe(
    """__lshift__ __rshift__ clamp. clamp_max. clamp_min. clip. isinf isnan isneginf isposinf
         masked_fill signbit where.self""",
    out="exact",
)
describe(
    """bitwise_left_shift.Scalar_Tensor bitwise_right_shift.Scalar_Tensor masked_fill
         where.Scalar where.ScalarOther where.ScalarSelf where.self""",
    pointwise=True,
)
