"""Element types: names, PyTorch's codes, numpy's types, promotion, ranges.

In a program, a dtype is an int, PyTorch's ScalarType code; `DType` is its form for users.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

from .lazy_numpy import np
from .records import record


@record(frozen=True, repr=False, eq=False)
class DType:
    """An element type. code: PyTorch's ScalarType. kind: numpy's b, u, i, f, c, or q: quantized."""

    code: builtins.int
    name: str
    kind: str
    itemsize: builtins.int

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype: that of ml_dtypes for bfloat16 and float8, integers if quantized."""
        if self.name == "bfloat16" or self.name.startswith("float8"):
            import ml_dtypes

            return np.dtype(getattr(ml_dtypes, self.name))
        return np.dtype(self.name.removeprefix("q"))

    @property
    def is_floating_point(self) -> builtins.bool:
        return self.kind == "f"

    @property
    def is_complex(self) -> builtins.bool:
        return self.kind == "c"

    @property
    def is_signed(self) -> builtins.bool:
        return self.kind in "ifc"

    @property
    def c_name(self) -> str:
        """The type's name in C++, which some of PyTorch's messages have."""
        return _C_NAMES.get(self.name, self.name)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __index__(self) -> builtins.int:
        return self.code

    def __reduce__(self) -> tuple[Any, ...]:
        return by_code, (self.code,)


ALL = tuple(
    DType(*row)
    for row in (
        (0, "uint8", "u", 1),
        (1, "int8", "i", 1),
        (2, "int16", "i", 2),
        (3, "int32", "i", 4),
        (4, "int64", "i", 8),
        (5, "float16", "f", 2),
        (6, "float32", "f", 4),
        (7, "float64", "f", 8),
        (9, "complex64", "c", 8),
        (10, "complex128", "c", 16),
        (11, "bool", "b", 1),
        (15, "bfloat16", "f", 2),
        (27, "uint16", "u", 2),
        (28, "uint32", "u", 4),
        (29, "uint64", "u", 8),
    )
)
"""All common element types, by code."""

_C_NAMES = {
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "float16": "c10::Half",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "bfloat16": "c10::BFloat16",
    "uint16": "short unsigned int",
    "uint32": "unsigned int",
    "uint64": "long unsigned int",
}

FLOAT8 = tuple(
    DType(*row)
    for row in (
        (23, "float8_e5m2", "f", 1),
        (24, "float8_e4m3fn", "f", 1),
        (25, "float8_e5m2fnuz", "f", 1),
        (26, "float8_e4m3fnuz", "f", 1),
    )
)
"""Types for storing weights; they can be converted, but have no arithmetic."""

QUANTIZED = tuple(
    DType(*row) for row in ((12, "qint8", "q", 1), (13, "quint8", "q", 1), (14, "qint32", "q", 4))
)
"""Types of quantized tensors: integers that represent numbers with a scale and a zero point."""

UNSUPPORTED = {8: "complex32 (use complex64)"}
"""Types of PyTorch that tensors here do not support, by code."""

BY_CODE = {d.code: d for d in (*ALL, *FLOAT8, *QUANTIZED)}
BY_NAME = {d.name: d for d in BY_CODE.values()}
BY_NAME.update(
    {
        alias: BY_NAME[name]
        for alias, name in (
            ("float", "float32"),
            ("double", "float64"),
            ("half", "float16"),
            ("int", "int32"),
            ("long", "int64"),
            ("short", "int16"),
            ("cfloat", "complex64"),
            ("cdouble", "complex128"),
        )
    }
)

(
    uint8,
    int8,
    int16,
    int32,
    int64,
    float16,
    float32,
    float64,
    complex64,
    complex128,
    bool,
    bfloat16,
    uint16,
    uint32,
    uint64,
) = ALL
float, double, half, int, long, short = float32, float64, float16, int32, int64, int16
cfloat, cdouble = complex64, complex128
float8_e5m2, float8_e4m3fn, float8_e5m2fnuz, float8_e4m3fnuz = FLOAT8
qint8, quint8, qint32 = QUANTIZED

BAREBONES = (uint16, uint32, uint64)
"""Types that PyTorch stores and converts, but with little arithmetic and no promotion."""


def by_code(code: builtins.int) -> DType:
    """The type with a ScalarType code. Raises RuntimeError for an unknown or unsupported one."""
    try:
        return BY_CODE[code]
    except KeyError:
        name = UNSUPPORTED.get(code)
        raise RuntimeError(
            f"tensors of {name} are not supported"
            if name
            else f"scalar type number {code} is not supported"
        ) from None


@cache
def of_numpy(dtype: np.dtype) -> DType:
    """The type of a numpy array's elements. Raises TypeError if there is none."""
    found = BY_NAME.get(dtype.name) if dtype.isnative else None
    if found is None:
        raise TypeError(
            f"arrays of {dtype} cannot be tensors; convert to one of "
            f"{', '.join(d.name for d in ALL)} first"
        )
    return found


def as_dtype(value: Any) -> DType:
    """Convert a DType, a ScalarType code, a name, a numpy type or a torch dtype to a DType."""
    if isinstance(value, DType):
        return value
    if isinstance(value, builtins.int):
        return by_code(value)
    text = "" if isinstance(value, type) else str(value).rpartition(".")[2]
    if text in BY_NAME:
        return BY_NAME[text]
    return of_numpy(np.dtype(value))


_default = float32

on_default: list[Callable[[], None]] = []
"""What is called after the default dtype was set."""


def get_default_dtype() -> DType:
    """The dtype of new tensors made from Python floats."""
    return _default


def set_default_dtype(dtype: Any) -> None:
    """Set the floating-point dtype of tensors made from Python floats; initially float32.

    Raises TypeError for other types."""
    global _default
    chosen = as_dtype(dtype)
    if not chosen.is_floating_point:
        raise TypeError(f"the default type must be floating point, not {chosen}")
    _default = chosen
    for told in on_default:
        told()


DISPLAY = {
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "float32": "Float",
    "float64": "Double",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "bool": "Bool",
    "bfloat16": "BFloat16",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    **{d.name: d.name[0].upper() + d.name[1:] for d in FLOAT8},
    "qint8": "QInt8",
    "quint8": "QUInt8",
    "qint32": "QInt32",
}
"""PyTorch's names of element types in type texts and error messages."""


@cache
def promote(a: DType, b: DType) -> DType:
    """The smallest type to which both can be converted, like PyTorch's promote_types.

    Raises RuntimeError for uint16, uint32 and uint64 with another type that is not floating-point,
    and for different types if one is float8 or quantized.
    """
    if a is b or a.code == b.code:
        return a
    if {a, b} & {*FLOAT8, *QUANTIZED}:
        raise RuntimeError(
            f"{a} and {b} have no common type; convert one of them with "
            ".to(dtype), or a quantized tensor with .dequantize()"
        )
    rank = "buifc"
    if rank.index(a.kind) > rank.index(b.kind):
        a, b = b, a
    if b.kind != "f" and {a, b} & set(BAREBONES):
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted "
            f"to promote {DISPLAY[a.name]} and {DISPLAY[b.name]}"
        )
    if b.kind == "c":
        return complex128 if {a, b} & {float64, complex128} else complex64
    if a.kind == b.kind == "f":
        if a.itemsize == b.itemsize:  # float16 with bfloat16
            return float32
        return a if a.itemsize > b.itemsize else b
    if b.kind == "f":
        return b
    if a.kind == "b":
        return b
    if a.kind == b.kind:
        return a if a.itemsize > b.itemsize else b
    return int16 if b is int8 else b  # uint8 with a signed type


def scalar_dtype(value: Any) -> DType:
    """The dtype of a Python number in promotion: bool, int64, the default one, or complex."""
    if isinstance(value, builtins.bool):
        return bool
    if isinstance(value, builtins.int):
        return int64
    if isinstance(value, builtins.float):
        return _default
    return complex_of(_default)


def part_of(d: DType) -> DType:
    """The real type of a complex type; other types are returned unchanged."""
    return {complex64: float32, complex128: float64}.get(d, d)


def category(d: DType) -> builtins.int:
    """The category of a type: 0 bool, 1 integral, 2 floating-point, 3 complex."""
    return CATEGORY[d.kind]


def is_half(d: DType) -> builtins.bool:
    """Whether a type is float16 or bfloat16."""
    return d is float16 or d is bfloat16


def working_type(d: DType) -> np.dtype[Any]:
    """The numpy type to compute in: float32 for half types, so that only results are rounded."""
    return np.dtype(np.float32) if is_half(d) else d.numpy


def complex_of(d: DType) -> DType:
    """The complex type for a floating-point type.
    Raises RuntimeError for float16, since complex32 is not supported."""
    if d is float16:
        return by_code(8)
    return complex128 if d is float64 else complex64


CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def result_type(*operands: Any) -> DType:
    """The result dtype of an operation on tensors and Python numbers, as in PyTorch.

    Tensors with dimensions come first, then tensors without, then Python numbers: a later group
    only counts if its category (bool < integral < floating < complex) is higher.
    """
    groups: list[DType | None] = [None, None, None]
    for x in operands:
        if hasattr(x, "_size"):
            i, d = (0 if x._size else 1), x.dtype
        else:
            i, d = 2, scalar_dtype(x)
        known = groups[i]
        groups[i] = d if known is None or known is d else promote(known, d)
    result = groups[0]
    for d in groups[1:]:
        if result is None:
            result = d
        elif d is not None and category(d) > category(result):
            result = complex_of(result) if d.kind == "c" and result.kind == "f" else d
    return result  # type: ignore[return-value]  # there are operands


@record(frozen=True)
class finfo:
    """The range and precision of a floating-point type."""

    dtype: DType = float32

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", as_dtype(self.dtype))

    @property
    def _info(self) -> Any:
        if self.dtype is bfloat16:
            import ml_dtypes

            return ml_dtypes.finfo(ml_dtypes.bfloat16)
        return np.finfo(self.dtype.numpy)

    def __getattr__(self, name: str) -> builtins.float:
        if name in ("eps", "max", "min", "tiny", "resolution", "smallest_normal"):
            return builtins.float(getattr(self._info, name))
        if name == "bits":
            return self.dtype.itemsize * 8
        raise AttributeError(name)


@record(frozen=True)
class iinfo:
    """The range of an integral type."""

    dtype: DType

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", as_dtype(self.dtype))

    @property
    def max(self) -> builtins.int:
        return builtins.int(np.iinfo(self.dtype.numpy).max)

    @property
    def min(self) -> builtins.int:
        return builtins.int(np.iinfo(self.dtype.numpy).min)

    @property
    def bits(self) -> builtins.int:
        return self.dtype.itemsize * 8


dtype = DType
"""The name of the class in torch."""
