"""Chooses which of several errors of a call of an operator is reported.

PyTorch checks sizes and options before it looks for an implementation for the element type.  Some
kernels here check the type first.  If one refuses a type, it is called again with another type, to
find the error that PyTorch reports.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..lazy_numpy import np
from ..tensors import Tensor

UNSUPPORTED = re.compile(r"not implemented for '(\w+)'$")


def whatever_the_type(
    kernel: Callable[..., Any], args: list[Any], refused: NotImplementedError
) -> Exception:
    """The error to report for a call that was refused because of an element type: the error that it
    also raises with another element type, if there is one, else `refused`.

    The call is repeated twice: with another type for the first of the tensors that have the refused
    one, and for all of them.  It has to fail in the same way both times: an error of only one call
    may come from the replacement, since types of tensors may have to agree, or to be integers.
    """
    name = UNSUPPORTED.search(str(refused))
    wrong = next((t for t, shown in dtypes.DISPLAY.items() if name and shown == name[1]), None)
    if wrong is None or elements_of(args) > MOST:
        return refused
    errors = [error_of(kernel, StandIns(wrong, most).of(args)) for most in (1, len(args) + 99)]
    first, second = errors
    if first is None or second is None or isinstance(first, NotImplementedError):
        return refused
    if "can't be cast" in str(first):  # an error about the replaced type
        return refused
    return first if (type(first), str(first)) == (type(second), str(second)) else refused


MOST = 100_000
"""The largest number of elements that are copied to find a better error."""


def elements_of(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(elements_of, value))
    return value.numel() if isinstance(value, Tensor) else 0


def error_of(kernel: Callable[..., Any], args: list[Any]) -> Exception | None:
    try:
        kernel(*args)
    except Exception as error:
        return error
    return None


class StandIns:
    """Copies tensors, and gives the first `most` of the element type `wrong` another type: int64 if
    `wrong` is float32 or float64, else float32."""

    def __init__(self, wrong: str, most: int) -> None:
        self.wrong, self.left = wrong, most
        self.other = "int64" if wrong in ("float32", "float64") else "float32"

    def of(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.of(v) for v in value]
        if not isinstance(value, Tensor) or value.is_quantized:
            return value
        array = value._array.copy()
        if value.dtype.name == self.wrong and self.left > 0:
            self.left -= 1
            with np.errstate(all="ignore"):
                array = (array.real if array.dtype.kind == "c" else array).astype(self.other)
        return Tensor._wrap(array)
