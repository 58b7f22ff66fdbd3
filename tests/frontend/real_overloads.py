"""A function whose overloads' annotations do not take the defaults of its implementation."""

from __future__ import annotations

from typing import Tuple, Union

from scriptlang.jit import _overload as overload
from scriptlang import Tensor

MISSING = "???"


@overload
def paired(x: Tensor, other: str = MISSING, n: int = 2) -> Tensor:  # noqa: F811
    pass


@overload
def paired(x: Tensor, other: Tensor, n: int = 2) -> Tuple[Tensor, Tensor]:  # noqa: F811
    pass


def paired(x: Tensor, other: Union[str, Tensor] = MISSING, n: int = 2  # noqa: F811
           ) -> Union[Tensor, Tuple[Tensor, Tensor]]:
    if isinstance(other, Tensor):
        return x * n, other * n
    return x * n


def calls(x: Tensor):
    return paired(x), paired(x, x + 1, 3)
