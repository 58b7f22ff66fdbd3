"""The text of tensors in programs (`print(x)`, `str(x)`, `"{}".format(x)`), as C++ prints it.

    tensor([[1., 2.5]])  ->  " 1.0000  2.5000\\n[ CPUFloatType{1,2} ]"

Of complex numbers only the real part is printed, as in PyTorch. `printing.py` makes the text that
Python shows.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from .tensors import Tensor

LINE = 80
"""The most characters of a line of a matrix."""

TYPE_NAMES = {
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "float32": "Float",
    "float64": "Double",
    "bool": "Bool",
    "bfloat16": "BFloat16",
    "complex32": "ComplexHalf",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
}


class _Style:
    """The format of the numbers of one matrix: scale, width and printf format."""

    def __init__(self, values: np.ndarray) -> None:
        self.scale, self.width, self.spec = 1.0, 0, ".6g"
        if not values.size:
            return
        finite = values[np.isfinite(values)]
        low = high = 1
        if finite.size:
            size = np.abs(finite)
            low, high = _digits(float(size.min())), _digits(float(size.max()))
        if bool(np.all(finite == np.ceil(finite))):
            self._whole(high)
        elif high - low > 4:
            self.width, self.spec = 12 if abs(high) > 99 or abs(low) > 99 else 11, ".4e"
        else:
            self.spec = ".4f"
            if high > 5 or high < 0:
                self.width, self.scale = 7, 10.0 ** (high - 1)
            else:
                self.width = 7 if high == 0 else high + 6

    def _whole(self, high: int) -> None:
        if high > 9:
            self.width, self.spec = 11, ".4e"
        else:
            self.width = high + 1

    def __call__(self, value: float) -> str:
        return f"%{self.width}{self.spec}" % (value / self.scale)

    def scale_line(self) -> str:
        return f"{_shortest(self.scale)} *\n" if self.scale != 1 else ""


def _digits(size: float) -> int:
    """The number of digits before the decimal point."""
    return math.floor(math.log10(size)) + 1 if size else 1


def stream_text(x: Tensor) -> str:
    """The text of a tensor as a C++ stream prints it."""
    array = x._array
    if array.dtype.kind == "c":
        array = array.real
    array = array.astype(np.float64)
    if array.ndim == 0:
        text = f"{_shortest(array.item())}\n"
    elif not array.size:
        text = ""
    elif array.ndim == 1:
        style = _Style(array)
        text = style.scale_line() + "".join(f"{style(v)}\n" for v in array.tolist())
    elif array.ndim == 2:
        text = _matrix(array, 0)
    else:
        text = "\n".join(_slices(array))
    sizes = ",".join(map(str, x.shape))
    return f"{text}[ CPU{TYPE_NAMES.get(x.dtype.name, x.dtype.name)}Type{{{sizes}}} ]"


def _shortest(value: float) -> str:
    """The shortest text that parses to the same number; whole numbers have no decimal point."""
    return repr(value).removesuffix(".0")


def _slices(array: np.ndarray) -> list[str]:
    """The texts of the matrices of a tensor; the first leading dimension varies fastest."""
    leading = array.shape[:-2]
    found = []
    for backwards in product(*map(range, reversed(leading))):
        index = backwards[::-1]
        place = ",".join(str(i + 1) for i in index)
        found.append(f"({place},.,.) = \n{_matrix(array[index], 1)}")
    return found


def _matrix(array: np.ndarray, indent: int) -> str:
    """The text of a matrix, in blocks of as many columns as fit in a line."""
    style, margin = _Style(array), " " * indent
    rows, columns = array.shape
    each = max((LINE - indent) // (style.width + 1), 1)
    out = []
    for first in range(0, columns, each):
        last = min(first + each, columns)
        if each < columns:
            out.append("\n" if first else "")
            out.append(f"Columns {first + 1} to {last}{margin}")
        if style.scale != 1:
            out.append(style.scale_line() + margin)
        for i, row in enumerate(array[:, first:last].tolist()):
            out.append(" ".join(map(style, row)) + "\n")
            if i != rows - 1:
                out.append(margin + " " * (style.scale != 1))
    return "".join(out)
