"""SimpleValue: a sugared value that is a value of the graph.

Its type determines what its attributes, calls, elements and iteration mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Value
from scriptlang.type_variables import bind_variables

from ..overloads.conversions import remedy
from ..overloads.language_functions import functions
from ..overloads.operators import find_operator, overloads
from ..whole import whole
from .sugared import (
    Arg,
    BuiltinFunction,
    BuiltinOperator,
    ConstantValue,
    FunctionValue,
    MethodValue,
    SpecialForm,
    SugaredValue,
    class_method,
    refuse_class_attribute,
)
from .variadic import bound_method

if TYPE_CHECKING:
    from ...source import Span
    from .builder import Builder

TENSOR_PROPERTIES = {
    **{
        name: f"prim::{name}"
        for name in (
            "dtype",
            "device",
            "grad",
            "data",
            "is_cuda",
            "is_cpu",
            "is_xla",
            "is_xpu",
            "is_sparse",
            "is_sparse_csr",
            "is_mkldnn",
            "is_mps",
            "is_mtia",
            "is_quantized",
            "is_vulkan",
            "is_ipu",
            "is_maia",
            "is_meta",
            "is_nested",
            "layout",
            "requires_grad",
            "name",
            "nbytes",
            "itemsize",
        )
    },
    "shape": "aten::size",
    "ndim": "aten::dim",
    "T": "aten::numpy_T",
    "H": "aten::matrix_H",
    "mT": "aten::mT",
    "mH": "aten::mH",
    "is_leaf": "aten::is_leaf",
    "real": "aten::real",
    "imag": "aten::imag",
    "output_nr": "aten::output_nr",
    "retains_grad": "aten::retains_grad",
}
"""Attribute of a Tensor that is not a method -> the operator that reads it."""

DEVICE_PROPERTIES = {"type": "prim::type", "index": "prim::index"}

PROPERTIES: dict[T.Type, Any] = {T.TENSOR: TENSOR_PROPERTIES, T.DEVICE: DEVICE_PROPERTIES}

CHECK = "check what it is and what it can do"

MODULE_PLACES = ("prim::Param", "prim::GetAttr")
"""Kinds of the nodes whose results are modules that can be called: parameters and attributes."""

ENUM_PROPERTIES = ("name", "value")

_PACKED = f"{T.CUSTOM_CLASSES}quantized."
LIBRARY_METHODS = {
    **{
        (f"{_PACKED}Conv{n}dPackedParamsBase", name): f"quantized::conv{n}d_{name}"
        for n in (2, 3)
        for name in (
            "unpack",
            "stride",
            "padding",
            "output_padding",
            "dilation",
            "groups",
            "transpose",
        )
    },
    (f"{_PACKED}LinearPackedParamsBase", "unpack"): "quantized::linear_unpack",
    (f"{_PACKED}EmbeddingPackedParamsBase", "unpack"): "quantized::embedding_bag_unpack",
}
"""(class of PyTorch's C++ library, method) -> the operator that does the same."""

METHOD_SPELLINGS: dict[tuple[T.Type, str], Any] = {
    (T.TENSOR, "__len__"): "aten::len",
    (T.STR, "__len__"): "aten::len",
    (T.STR, "__contains__"): "aten::__contains__",
}


class SimpleValue(SugaredValue):
    """A value of the graph."""

    def __init__(self, value: Value) -> None:
        self.simple_value = value

    @property
    def kind(self) -> str:  # type: ignore[override]  # it tells more
        return f"a value of type {self.simple_value.type.annotation}"

    def value(self, b: Builder, span: Span) -> Value:
        return self.simple_value

    def type(self, b: Builder, span: Span) -> T.Type:
        return self.simple_value.type

    # Attributes

    def attr(self, b: Builder, name: str, span: Span) -> SugaredValue:
        value, type = self.simple_value, self.simple_value.type
        properties = PROPERTIES.get(type)
        if properties and name in properties:
            return SimpleValue(b.emit(properties[name], [value], span))
        if isinstance(type, T.RRefLikeType) and type.wrapper == "Await":
            waited = SimpleValue(b.emit("prim::awaitable_wait", [value], span))
            return waited.attr(b, name, span)
        if isinstance(type, T.ClassType):
            found = self._class_attr(b, type, name, span)
        elif isinstance(type, T.InterfaceType):
            found = MethodValue(value, name) if name in type.methods else None
        elif isinstance(type, T.EnumType):
            found = self._enum_attr(b, type, name, span)
        elif isinstance(type, T.TupleType) and type.fields and name in type.fields:
            i = type.fields.index(name)
            found = SimpleValue(
                b.insert(
                    "prim::TupleIndex", [value, b.constant(i, span)], (type.elements[i],), span
                ).output
            )
        else:
            found = self._operator_attr(b, type, name, span)
        if found is None:
            self._no_attr(b, type, name, span)
        return found

    def _no_attr(self, b: Builder, type: Any, name: Any, span: Span) -> NoReturn:
        """Raises the error about an attribute that does not exist, with advice by the type."""
        message = f"{type.annotation!r} object has no attribute or method {name!r}"
        if isinstance(type, T.OptionalType):
            raise CompileError(
                message, span, "rule out None first: `assert x is not None`, or `if x is not None:`"
            )
        if isinstance(type, T.ClassType):
            refuse_class_attribute(type, name, span)
            known = [a.name for a in type.attributes] + list(type.methods)
            raise CompileError(
                message, span, f"it has {', '.join(sorted(known))}" if known else CHECK
            )
        if isinstance(type, T.TupleType):
            raise CompileError(message, span, "a list has methods: list(x)")
        raise CompileError(
            message,
            span,
            b.similar(name, type)
            or f"check the name, and that {type.annotation} is the type you expect",
        )

    def _class_attr(self, b: Builder, type: Any, name: str, span: Span) -> Any:
        value = self.simple_value
        slot = type.attribute(name)
        if slot is not None:
            return SimpleValue(
                b.insert("prim::GetAttr", [value], (slot.type,), span, name=name).output
            )
        if name in type.methods:
            return MethodValue(value, name)
        if name in type.properties:
            return b.call_method(value, type.properties[name][0], (), {}, span)
        if name in type.constants:
            return ConstantValue(type.constants[name])
        if name in type.static_methods:
            return FunctionValue(type.static_methods[name])
        starred = bound_method(value, name)
        if starred is not None:
            return starred
        spelled = LIBRARY_METHODS.get((type.name, name))
        if spelled is not None:
            return BuiltinFunction(
                name,
                lambda b, args, kwargs, span: b.call_operator(
                    spelled, [Arg(self, span), *args], kwargs, span, None
                ),
            )
        made = class_method(type, name)
        return None if made is None else FunctionValue(made)

    def _enum_attr(self, b: Builder, type: Any, name: str, span: Span) -> Any:
        value = self.simple_value
        if name not in ENUM_PROPERTIES:
            return None
        if value.is_constant:
            return ConstantValue(getattr(value.constant, name))
        kind, result = (
            ("prim::EnumName", T.STR) if name == "name" else ("prim::EnumValue", type.value)
        )
        schema = next((s for s in overloads(kind) if s.returns[0].type == result), None)
        return SimpleValue(b.graph.insert(kind, [value], (result,), span, schema=schema).output)

    def _operator_attr(self, b: Builder, type: Any, name: str, span: Span) -> Any:
        """The meaning of a method that is an operator, as `x.relu`; None if there is none."""
        value = self.simple_value
        if isinstance(type, T.TupleType):
            return None  # Operators take a tuple only after conversion to a list.
        spelled = METHOD_SPELLINGS.get((type, name)) or find_operator(name)
        if type == T.TENSOR and name == "tolist":
            return _to_list(self)
        if type == T.TENSOR and name == "__getitem__":
            return whole.item_method(value)
        if type == T.TENSOR and name in _TENSOR_METHODS:
            return BuiltinFunction(
                name,
                lambda b, args, kwargs, span: _TENSOR_METHODS[name](b, value, args, kwargs, span),
            )
        if spelled is None or not takes_as_self(spelled, type):
            return None
        return BuiltinOperator(spelled, Arg(self, span))

    def has_attr(self, b: Builder, name: str, span: Span) -> bool:
        type = self.simple_value.type
        if isinstance(type, T.ClassType):
            return (
                type.slot(name) is not None
                or name in type.methods
                or name in type.constants
                or name in type.properties
                or name in type.static_methods
            )
        if isinstance(type, T.InterfaceType):
            return name in type.methods
        if isinstance(type, T.TupleType):
            return bool(type.fields) and name in type.fields
        if name in PROPERTIES.get(type, ()):
            return True
        if type == T.TENSOR and name in _TENSOR_METHODS:
            return True
        spelled = find_operator(name)
        return spelled is not None and takes_as_self(spelled, type)

    def set_attr(self, b: Builder, name: str, value: Value, span: Span) -> None:
        owner, type = self.simple_value, self.simple_value.type
        if not isinstance(type, T.ClassType):
            raise CompileError(
                f"Tried to set an attribute: {name} on a non-class: {type.annotation}",
                span,
                "only attributes of objects and modules can be set",
            )
        slot = type.attribute(name)
        if slot is None:
            setter = type.properties.get(name, (None, None))[1]
            if setter is None:
                refuse_class_attribute(type, name, span)
                raise CompileError(
                    f"Tried to set nonexistent attribute: {name}",
                    span,
                    f"set it in __init__ of {type.short_name} first",
                )
            b.call_method(owner, setter, [Arg(SimpleValue(value), span)], {}, span)
            return
        if not T.is_subtype(value.type, slot.type):
            raise CompileError(
                f"Wrong type for attribute assignment. {name!r} of {type.short_name}: Expected "
                f"{slot.type.annotation} but got {value.type.annotation}",
                span,
                remedy(slot.type, value.type)
                or "convert it, or annotate the attribute where it is first set",
            )
        b.insert("prim::SetAttr", [owner, value], (), span, name=name)

    # Calls, elements, iteration

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        type = self.simple_value.type
        if isinstance(type, T.FunctionType):
            return FunctionValue(type.function).call(b, args, kwargs, span)
        if isinstance(type, (T.ClassType, T.InterfaceType)):
            if type.is_module and self.simple_value.node.kind not in MODULE_PLACES:
                self.fail(
                    "is a module that was taken out of a value, which cannot be called",
                    span,
                    "call its method: m.forward(x)",
                )
            method = "forward" if type.is_module else "__call__"
            if method in type.methods:
                return b.call_method(self.simple_value, method, args, kwargs, span)
        raise CompileError(f"cannot call a value of type '{type.annotation}'", span, CHECK)

    def unpack(self, b: Builder, span: Span, count: int | None = None) -> list[SugaredValue] | None:
        value, type = self.simple_value, self.simple_value.type
        if isinstance(type, T.TupleType):
            return [SimpleValue(v) for v in b.unpack_tuple(value, span)]
        if isinstance(type, T.ListType) and count is not None:
            outputs = [type.element] * count
            node = b.insert("prim::ListUnpack", [value], outputs, span)
            return [SimpleValue(v) for v in node.outputs]
        return None

    def get_item(self, b: Builder, index: Arg, span: Span) -> SugaredValue | None:
        return None

    def iterate(self, b: Builder, span: Span) -> SugaredValue:
        value, type = self.simple_value, self.simple_value.type
        if isinstance(type, (T.ListType, T.TupleType)) or type in (T.STR, T.TENSOR):
            return self
        if isinstance(type, T.DictType):
            return SimpleValue(b.emit("aten::keys", [value], span))
        if isinstance(type, T.ClassType):
            if type.is_module and "__len__" in type.methods:
                return self
        help = None
        if isinstance(type, T.OptionalType):
            help = "rule out None first: `assert x is not None`, or `if x is not None:`"
        raise CompileError(f"'{type.annotation}' object is not iterable", span, help or CHECK)

    def length(self, b: Builder, span: Span) -> Value | None:
        value = self.simple_value
        if isinstance(value.type, T.TupleType):
            return b.constant(len(value.type.elements), span)
        return b.emit("aten::len", [value], span)

    def element(self, b: Builder, index: Value, span: Span) -> SugaredValue:
        value = self.simple_value
        if value.type == T.TENSOR:
            return SimpleValue(b.emit("aten::select", [value, b.constant(0, span), index], span))
        if isinstance(value.type, T.TupleType):
            types = value.type.elements
            if not types or any(t != types[0] for t in types):
                self.fail("holds different types and cannot be indexed with a variable", span)
            value = b.insert(
                "prim::ListConstruct", b.unpack_tuple(value, span), (T.ListType(types[0]),), span
            ).output
        return SimpleValue(b.emit("aten::__getitem__", [value, index], span))


def takes_as_self(operator: str, type: T.Type) -> bool:
    """Whether an overload of the operator has a `self` that takes a value of this type."""
    schemas = overloads(operator) + tuple(f.schema for f in functions(operator))
    for schema in schemas:
        first = next((a for a in schema.arguments if a.name == "self" and not a.kwarg_only), None)
        if first is None:
            continue
        if (
            T.is_subtype(type, first.type)
            or bind_variables(first.type, type, {}) is None
            and (first.type.contained or isinstance(first.type, T.VarType))
        ):
            return True
    return False


ELEMENT_CODES: dict[T.Type | None, int] = {T.INT: 0, T.FLOAT: 1, T.BOOL: 2, T.COMPLEX: 3}
"""Type of the elements of `tolist` -> its code in `prim::tolist`."""


def _to_list(tensor: SimpleValue) -> SpecialForm:
    """`x.tolist()`.  The type of the list is the expected one, such as that of an annotation."""

    def emit(e: Any, node: Any, expected: T.Type | None) -> Any:
        span, element, depth = e.span(node), expected, 0
        while isinstance(element, T.ListType):
            element, depth = element.element, depth + 1
        if node.args or node.keywords:
            tensor.fail("takes no arguments in tolist()", span, "write x.tolist()")
        if element not in ELEMENT_CODES:
            raise CompileError(
                "Expected type hint for result of tolist()"
                if element is None
                else f"{element.annotation} is not one of the supported element types for tolist",
                span,
                "annotate it: `result: List[int] = x.tolist()`",
            )
        inputs = [
            tensor.simple_value,
            e.b.constant(depth, span),
            e.b.constant(ELEMENT_CODES[element], span),
        ]
        schema = next(iter(overloads("prim::tolist")), None)
        return SimpleValue(
            e.graph.insert("prim::tolist", inputs, (expected,), span, schema=schema).output
        )

    return SpecialForm("tolist", emit)


CAST_METHODS = {
    "byte": 0,
    "char": 1,
    "short": 2,
    "int": 3,
    "long": 4,
    "half": 5,
    "float": 6,
    "double": 7,
    "cfloat": 9,
    "cdouble": 10,
    "bool": 11,
    "bfloat16": 15,
}
"""Method of a Tensor that converts its elements -> the code of the dtype."""


def _cast(code: int) -> Callable[..., Any]:
    def emit(
        b: Builder, value: Value, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> Any:
        if args or kwargs:
            b.simple(value).fail("takes no arguments here", span, "use x.to(...)")
        return b.call_operator(
            "aten::to", [Arg(ConstantValue(code), span)], {}, span, Arg(SimpleValue(value), span)
        )

    return emit


def _type(
    b: Builder, value: Value, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
) -> Any:
    """Emit `x.type(dtype)`."""
    return b.call_operator("aten::to", args, kwargs, span, Arg(SimpleValue(value), span))


_TENSOR_METHODS = {"type": _type, **{name: _cast(c) for name, c in CAST_METHODS.items()}}
"""Methods of a Tensor that are not an operator of the same name -> function that emits the call."""
