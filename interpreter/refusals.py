"""Which of several faults of a call is reported.

PyTorch looks at sizes and settings before it chooses a loop for the element type.  Kernels here may
look at the type first, so that what else is wrong is asked for when they refuse one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..tensors import Tensor

UNSUPPORTED = re.compile(r"not implemented for '(\w+)'$")


def whatever_the_type(
    kernel: Callable[..., Any], args: list[Any], refused: NotImplementedError
) -> Exception:
    """The error of a call that was refused for an element type: another one, if the call is wrong
    with another type in the place of that one, too.

    Both with all such tensors and with the first alone it has to fail in one way, for the types of
    several tensors may have to agree, or to be those of indices.
    """
    name = UNSUPPORTED.search(str(refused))
    wrong = next((t for t, shown in dtypes.DISPLAY.items() if name and shown == name[1]), None)
    if wrong is None or elements_of(args) > MOST:
        return refused
    errors = [error_of(kernel, StandIns(wrong, most).of(args)) for most in (1, len(args) + 99)]
    first, second = errors
    if first is None or second is None or isinstance(first, NotImplementedError):
        return refused
    if "can't be cast" in str(first):  # of what stands in
        return refused
    return first if (type(first), str(first)) == (type(second), str(second)) else refused


MOST = 100_000
"""Elements that are worth being copied for an error."""


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
    """Copies of tensors, of which up to `most` of one element type become float32, or int64 if it
    is as good as that."""

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
