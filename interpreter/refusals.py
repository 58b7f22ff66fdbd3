"""Which of several faults of a call is reported.

PyTorch looks at sizes and settings before it chooses a loop for the element type.  Kernels here may
look at the type first, so that what else is wrong is asked for when they refuse one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..tensors import Tensor

UNSUPPORTED = re.compile(r"not implemented for '(\w+)'$")


def whatever_the_type(
    kernel: Callable[..., Any], args: list[Any], refused: NotImplementedError
) -> Exception:
    """The error of a call that was refused for an element type: another one, if the call is wrong
    with float32 in the place of that type, too.

    Both with all such tensors and with the first alone it has to fail in one way, for the types of
    several tensors may have to agree, or to be those of indices.
    """
    name = UNSUPPORTED.search(str(refused))
    wrong = next((t for t, shown in dtypes.DISPLAY.items() if name and shown == name[1]), None)
    if wrong is None or wrong == "float32":
        return refused
    errors = [error_of(kernel, StandIns(wrong, most).of(args)) for most in (1, len(args) + 99)]
    first, second = errors
    if first is None or second is None or isinstance(first, NotImplementedError):
        return refused
    return first if (type(first), str(first)) == (type(second), str(second)) else refused


def error_of(kernel: Callable[..., Any], args: list[Any]) -> Exception | None:
    try:
        kernel(*args)
    except Exception as error:
        return error
    return None


class StandIns:
    """Copies of tensors, of which up to `most` of one element type become float32."""

    def __init__(self, wrong: str, most: int) -> None:
        self.wrong, self.left = wrong, most

    def of(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.of(v) for v in value]
        if not isinstance(value, Tensor) or value.is_quantized:
            return value
        array = value._array.copy()
        if value.dtype.name == self.wrong and self.left > 0:
            self.left -= 1
            array = (array.real if array.dtype.kind == "c" else array).astype("float32")
        return Tensor._wrap(array)
