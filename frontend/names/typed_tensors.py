"""`torch.LongTensor(...)` and similar: tensors of one dtype, from a list of values or of a size.

torch.LongTensor([1, 2])  ->  aten::tensor(values, dtype=int64)
torch.LongTensor(2, 3)    ->  aten::empty(size, dtype=int64)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import dtypes
from scriptlang import types as T

from ..values.sugared import Arg, ConstantValue, TypeValue

if TYPE_CHECKING:
    from ...source import Span
    from ..values.builder import Builder
    from ..values.sugared import SugaredValue

DTYPES = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "ShortTensor": "int16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "BoolTensor": "bool",
}
"""Name in torch -> name of the dtype."""


class TypedTensor(TypeValue):
    """Such a class: the type Tensor in annotations; calling it makes a tensor."""

    def __init__(self, name: str) -> None:
        super().__init__(T.TENSOR)
        self.name, self.kind = name, f"'torch.{name}'"

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        if kwargs:
            self.fail(
                "takes no keyword arguments",
                next(iter(kwargs.values())).span,
                "give values as one list, or sizes one by one",
            )
        dtype = {"dtype": Arg(ConstantValue(dtypes.BY_NAME[DTYPES[self.name]].code), span)}
        values = [a.value.value(b, a.span) for a in args]
        if args and all(v.type == T.INT for v in values):
            size = b.simple(b.list(values, T.INT, span))
            return b.call_operator("aten::empty", [Arg(size, span)], dtype, span)
        if len(args) > 1:
            self.fail(
                "takes one list of values, or sizes, but got multiple positional arguments that "
                "were not all integers",
                args[1].span,
                "write one list",
            )
        data = b.simple(_as_list(b, values[0], span) if args else b.list([], T.INT, span))
        return b.call_operator("aten::tensor", [Arg(data, span)], dtype, span)


def _as_list(b: Builder, value: Any, span: Span) -> Any:
    """A tuple whose elements have one type becomes a list; other values are returned unchanged."""
    if not isinstance(value.type, T.TupleType) or len(set(value.type.elements)) != 1:
        return value
    return b.list(b.unpack_tuple(value, span), value.type.elements[0], span)


BY_NAME = {name: TypedTensor(name) for name in DTYPES}
