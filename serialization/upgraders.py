"""Operators whose meaning changed between versions of the archive format.

An entry states which overload changed, in which version, and gives its former meaning in the
scripted language.  Code and bytecode of older archives call that function instead of the operator.
If such a program is saved again, it contains calls of today's operators that do the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ..frontend.overloads.language_functions import function_of_text
from ..frontend.values.sugared import SugaredValue
from ..interpreter.code import Code, OperatorRef
from ..interpreter.composites import replace_operators, taking
from ..ir import Function
from .unknown_operators import KnownOperator

if TYPE_CHECKING:
    from ..frontend.values.builder import Builder
    from ..frontend.values.sugared import Arg
    from ..source import Span

OPTIONS = (
    "dtype: Optional[int]=None, layout: Optional[int]=None, "
    "device: Optional[Device]=None, pin_memory: Optional[bool]=None"
)

UPGRADERS: dict[str, tuple[int, str]] = {
    # The division of integers rounded towards zero; today it returns floats.
    "aten::div.Tensor": (
        4,
        """
def div(self: Tensor, other: Tensor) -> Tensor:
    if self.is_floating_point() or other.is_floating_point():
        return torch.div(self, other)
    return torch.div(self, other, rounding_mode="trunc")""",
    ),
    "aten::div.Scalar": (
        4,
        """
def div(self: Tensor, other: number) -> Tensor:
    if self.is_floating_point() or isinstance(other, float):
        return torch.div(self, other)
    return torch.div(self, other, rounding_mode="trunc")""",
    ),
    "aten::div.out": (
        4,
        """
def div(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
    if self.is_floating_point() or other.is_floating_point() or out.is_floating_point():
        return torch.div(self, other, out=out)
    return torch.div(self, other, rounding_mode="trunc", out=out)""",
    ),
    "aten::div_.Tensor": (
        4,
        """
def div_(self: Tensor, other: Tensor) -> Tensor:
    if self.is_floating_point() or other.is_floating_point():
        return torch.div_(self, other)
    return torch.div_(self, other, rounding_mode="trunc")""",
    ),
    "aten::div_.Scalar": (
        4,
        """
def div_(self: Tensor, other: number) -> Tensor:
    if self.is_floating_point() or isinstance(other, float):
        return torch.div_(self, other)
    return torch.div_(self, other, rounding_mode="trunc")""",
    ),
    # Without a dtype the result was a tensor of floats; today the value determines the dtype.
    "aten::full": (
        5,
        f"""
def full(size: List[int], fill_value: number, *, {OPTIONS}) -> Tensor:
    if dtype is None:
        return torch.full(size, float(fill_value), dtype=None, layout=layout, device=device,
                          pin_memory=pin_memory)
    return torch.full(size, fill_value, dtype=dtype, layout=layout, device=device,
                      pin_memory=pin_memory)""",
    ),
    # The number of steps was optional, and 100 by default.
    "aten::linspace": (
        8,
        f"""
def linspace(start: number, end: number, steps: Optional[int]=None, *, {OPTIONS}) -> Tensor:
    count = 100 if steps is None else steps
    return torch.linspace(start, end, count, dtype=dtype, layout=layout, device=device,
                          pin_memory=pin_memory)""",
    ),
    "aten::linspace.out": (
        8,
        """
def linspace(start: number, end: number, steps: Optional[int]=None, *, out: Tensor) -> Tensor:
    count = 100 if steps is None else steps
    return torch.linspace(start, end, count, out=out)""",
    ),
    "aten::logspace": (
        9,
        f"""
def logspace(start: number, end: number, steps: Optional[int]=None, base: float=10.0, *,
             {OPTIONS}) -> Tensor:
    count = 100 if steps is None else steps
    return torch.logspace(start, end, count, base, dtype=dtype, layout=layout, device=device,
                          pin_memory=pin_memory)""",
    ),
    "aten::logspace.out": (
        9,
        """
def logspace(start: number, end: number, steps: Optional[int]=None, base: float=10.0, *,
             out: Tensor) -> Tensor:
    count = 100 if steps is None else steps
    return torch.logspace(start, end, count, base, out=out)""",
    ),
}
"""For each overload that changed: the version in which it did, and its former meaning.

PyTorch's table has more entries, for operators that today, with their defaults, still do what they
did: gelu had no `approximate`, and full.out and div with a rounding mode are unchanged.
"""

NEWEST = max(version for version, _ in UPGRADERS.values())


@cache
def _replaced(name: str, version: int) -> Mapping[str, Function]:
    """The former meanings of those overloads of an operator that changed after `version`."""
    found = {}
    for qualified, (changed, text) in UPGRADERS.items():
        operator, _, overload = qualified.partition(".")
        if operator == name and version < changed:
            found[overload] = function_of_text(qualified, text.strip())
    return found


class FormerOperator(KnownOperator):
    """An operator of which some overloads have their former meaning."""

    def __init__(self, name: str, replaced: Mapping[str, Function]) -> None:
        super().__init__(name)
        self.replaced = replaced

    def known(self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span) -> Any:
        return b.call_operator(self.name, args, kwargs, span, None, self.replaced)


def former_operator(name: str, version: int) -> SugaredValue | None:
    """The operator of that name in an archive of that version; None if it means the same today."""
    replaced = _replaced(name, version) if version < NEWEST else None
    return FormerOperator(name, replaced) if replaced else None


def upgraded(code: Code, version: int) -> Code:
    """Bytecode of an archive of that version, in which operators that changed are replaced by calls
    of functions with their former meaning."""
    if version >= NEWEST:
        return code

    def former(ref: OperatorRef) -> Function | None:
        body = _replaced(ref.name, version).get(ref.overload)
        return None if body is None else taking(body, ref, body.schema)

    return replace_operators(code, former)
