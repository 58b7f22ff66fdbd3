"""An overloaded function whose default does not fit the annotations of all its overloads."""

from __future__ import annotations

from typing import Tuple, Union

from scriptlang import Tensor
from scriptlang.jit import _overload as overload

MISSING = "???"


@overload
def paired(x: Tensor, other: str = MISSING, n: int = 2) -> Tensor:
    pass


@overload
def paired(x: Tensor, other: Tensor, n: int = 2) -> Tuple[Tensor, Tensor]:
    pass


def paired(
    x: Tensor, other: Union[str, Tensor] = MISSING, n: int = 2
) -> Union[Tensor, Tuple[Tensor, Tensor]]:
    if isinstance(other, Tensor):
        return x * n, other * n
    return x * n


def calls(x: Tensor):
    return paired(x), paired(x, x + 1, 3)
