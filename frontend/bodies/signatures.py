"""Makes the schema of a function from its annotations and defaults.

    def f(x, n: int = 2, *, flag: bool = False) -> Tensor: ...

Types are read from annotations or from type comments: `# type: (Tensor, int) -> Tensor` after the
first line, or one comment beside each argument and `# type: (...) -> Tensor`.
"""

from __future__ import annotations

import ast
import enum
from typing import Any, NamedTuple

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Graph
from scriptlang.objects import Device, EnumValue
from scriptlang.schema import NO_DEFAULT, Argument, Schema
from scriptlang.source import Source, Span
from scriptlang.tensors import Tensor, as_tensor

from ..syntax.annotations import TYPE_HELP, broadcast_size
from ..syntax.places import placed
from ..values.sugared import ConstantValue, Resolver, StaticSequence, SugaredValue
from ..values.value_types import NotInferable, infer_type, is_tensor
from ..whole import whole
from .emitter import Emitter


def infer_schema(schema: Schema, graph: Graph) -> Schema:
    """The schema with its result type replaced by that of a graph."""
    return Schema(
        schema.name, schema.overload, schema.arguments, (Argument("", graph.outputs[0].type),)
    )


def function_schema(
    definition: ast.FunctionDef,
    source: Source,
    resolver: Resolver,
    name: str,
    self_type: T.Type | None = None,
    defaults: dict[str, Any] | None = None,
) -> Schema:
    """The schema that the annotations of a function declare.

    Arguments without annotation are Tensors.  The result type is NoneType if it has no annotation;
    it is inferred later.  `self_type` is the type of the first argument of a method.  `defaults`
    maps arguments to the values of their defaults; defaults that it lacks are read from the syntax.
    Raises CompileError.
    """
    e = Emitter(Graph(name), source, resolver, name, None, None)
    a = definition.args
    if a.vararg or a.kwarg:
        star = a.vararg or a.kwarg
        raise CompileError(
            "Compiled functions can't take variable number of arguments, unless their calls are in "
            "the program",
            e.span(star),
            "name the arguments one by one, or take a list",
        )
    positional = [*a.posonlyargs, *a.args]
    parameters = [*positional, *a.kwonlyargs]
    comment = _comment_types(e, definition, parameters, self_type is not None)
    if self_type is not None and not parameters:
        raise CompileError(
            "methods must have a self argument", e.span(definition), "name it as the first one"
        )
    syntax = dict(zip([p.arg for p in reversed(positional)], reversed(a.defaults)))
    syntax |= {p.arg: d for p, d in zip(a.kwonlyargs, a.kw_defaults) if d is not None}
    arguments = []
    for i, p in enumerate(parameters):
        if i == 0 and self_type is not None and p.annotation is None:
            type = self_type
        elif comment is not None:
            type = comment.types[p.arg]
        elif p.annotation is None and name.endswith(".__setstate__"):
            type = _state_type(self_type)
        else:
            type = _annotated(e, p.arg, p.annotation)
        default = NO_DEFAULT
        if defaults is not None and p.arg in defaults:
            inferred = p.annotation is None and comment is None
            default = checked_default(e, p, type, defaults[p.arg], inferred)
        elif p.arg in syntax:
            default = static_value(e, syntax[p.arg], type)
        size = broadcast_size(p.annotation) if comment is None else comment.sizes.get(p.arg)
        arguments.append(Argument(p.arg, type, default, i >= len(positional), size=size))
    result: T.Type = T.NONE
    if comment is not None:
        result = comment.result
    elif definition.returns is not None:
        result = _annotated(e, "return", definition.returns)
    return Schema(name, "", tuple(arguments), (Argument("", result),))


def _state_type(self_type: T.Type | None) -> T.Type:
    """The type of what `__setstate__` gets: what the `__getstate__` before it returns."""
    methods = getattr(self_type, "methods", {})
    if "__getstate__" not in methods:
        return T.TENSOR
    methods["__getstate__"].ensure_defined()
    found: T.Type = methods["__getstate__"].schema.returns[0].type
    return found


def _annotated(e: Emitter, name: str, annotation: ast.expr | None) -> T.Type:
    """The type of a parameter: from the syntax of its annotation, else from its Python value."""
    if annotation is None:
        return T.TENSOR
    try:
        return e.type(annotation)
    except CompileError:
        found = note_type(e, annotation, name)
        if found is None:
            raise
        return found


def note_type(e: Emitter, annotation: ast.expr, name: str) -> T.Type | None:
    """The type of the Python object to which an annotation was evaluated; None if it has none.

    `name` is that of the parameter, or "return".
    """
    try:
        return getattr(e.resolver, "type_of_note", lambda name: None)(name)
    except CompileError as error:  # The annotation is a class that cannot be compiled.
        raise placed(error, e.span(annotation)) if error.span is None else error


# Type comments


class Comment(NamedTuple):
    """What type comments tell: types of the parameters by name, that of the result, and the lengths
    of lists for which one number may stand."""

    types: dict[str, T.Type]
    result: T.Type
    sizes: dict[str, int | None]


def _comment_types(
    e: Emitter, definition: ast.FunctionDef, parameters: list[ast.arg], is_method: bool
) -> Comment | None:
    """What the type comments of a function tell; None without type comments."""
    text = definition.type_comment
    if not text:
        return None
    place = Span(e.source, *_head(e, definition))
    head, arrow, tail = text.rpartition("->") if "->" in text else (text, "", "None")
    try:
        if arrow and not head.strip().startswith("("):
            raise SyntaxError
        arguments = ast.parse(head.strip(), mode="eval").body
        result = e.resolver.type(ast.parse(tail.strip(), mode="eval").body, place)
    except SyntaxError:
        raise CompileError(
            f"'# type: {text}' is no type comment of a function",
            place,
            "write `# type: (int, Tensor) -> Tensor`",
        ) from None
    if isinstance(arguments, ast.Constant) and arguments.value is Ellipsis:
        told = {p.arg: _own_comment(e, p) for p in parameters}
        lacking = [p for p in parameters[is_method:] if not p.type_comment]
        if lacking and len(lacking) < len(parameters[is_method:]):
            raise CompileError(
                f"parameter {lacking[0].arg!r} has no type comment, others have",
                e.span(lacking[0]),
                "give each a `# type: ...`, or none",
            )
        return Comment(told, result, {})
    parts = arguments.elts if isinstance(arguments, ast.Tuple) else [arguments]
    own = parameters[1:] if is_method and len(parts) != len(parameters) else parameters
    if len(parts) != len(own):
        raise CompileError(
            f"Number of type annotations for function parameters ({len(parts)}) does not match the "
            f"number of parameters on the function ({len(own)})",
            place,
            "give one type for each, in order",
        )
    types: dict[str, T.Type] = {p.arg: T.TENSOR for p in parameters}
    types |= {p.arg: e.resolver.type(part, place) for p, part in zip(own, parts)}
    sizes = {p.arg: broadcast_size(part) for p, part in zip(own, parts)}
    return Comment(types, result, sizes)


def _own_comment(e: Emitter, parameter: ast.arg) -> T.Type:
    """The type in the comment beside a parameter; Tensor if it has none."""
    text = parameter.type_comment
    if not text:
        return T.TENSOR
    try:
        return e.resolver.type(ast.parse(text.strip(), mode="eval").body, e.span(parameter))
    except SyntaxError:
        raise CompileError(
            f"'# type: {text}' is not a type", e.span(parameter), TYPE_HELP
        ) from None


def _head(e: Emitter, definition: ast.FunctionDef) -> tuple[int, int]:
    """Start and end of a definition up to its body."""
    span = e.span(definition)
    return span.start, e.span(definition.body[0]).start


# Defaults


def checked_default(e: Emitter, p: ast.arg, type: T.Type, value: Any, inferred: bool) -> Any:
    """The run-time value of a default, which must have the type of its parameter.

    `inferred`: the parameter has no annotation.  None as the default of a Tensor is accepted, as in
    PyTorch.  There it is an undefined tensor, which no operator accepts; here the parameter gets no
    default (NO_DEFAULT), so that calls must give the argument.  Raises CompileError.
    """
    if value is None and type == T.TENSOR:
        return NO_DEFAULT
    if isinstance(value, (list, dict, set)):
        raise CompileError(
            "Mutable default parameters are not supported because Python binds them to the "
            f"function and they persist across function calls: {p.arg} is a "
            f"{value.__class__.__name__}",
            e.span(p),
            "take None as the default and make it in the function, or use a tuple",
        )
    value = _taken(value, type)
    fitting = _fitted(value, type, broadcast_size(p.annotation))
    if fitting is not NO_DEFAULT:
        return fitting
    if inferred:
        raise CompileError(
            f'Expected a default value of type Tensor on parameter "{p.arg}", not {value!r}: '
            "without an annotation it is a Tensor",
            e.span(p),
            f"annotate {p.arg}",
        )
    help = (
        f"annotate it as Optional[{type.annotation}]"
        if value is None
        else "change the default or the annotation"
    )
    raise CompileError(
        f'Expected a default value of type {type.annotation} on parameter "{p.arg}", not {value!r}',
        e.span(p),
        help,
    )


def is_default(value: Any, type: T.Type, size: int | None) -> bool:
    """Whether a value may be the default of a parameter; `size` is N of a `BroadcastingListN`."""
    return (
        value is None
        and type == T.TENSOR
        or _fitted(_taken(value, type), type, size) is not NO_DEFAULT
    )


def _taken(value: Any, type: T.Type) -> Any:
    """The run-time value for a Python value, such as a dtype, device, enum member or tensor."""
    code = whole.code_of(value)
    if code is not None:
        return code
    if value.__class__.__name__ == "device" and value.__class__.__module__ == "torch":
        return Device(str(value))
    if isinstance(value, enum.Enum):
        plain = isinstance(value, (str, int, float))
        if plain and not isinstance(T.without_none(type), T.EnumType):
            return value.value  # A member of a StrEnum is also a str.
        found = whole.type_of_class(value.__class__)
        return EnumValue(found, value.name, value.value)
    return as_tensor(value) if is_tensor(value) and not isinstance(value, Tensor) else value


def _fitted(value: Any, type: T.Type, size: int | None) -> Any:
    """The value converted to the type; NO_DEFAULT if that is not possible."""
    plain = T.without_none(type)
    try:
        found = infer_type(value)
    except (NotInferable, CompileError):
        return value if plain == T.ANY else NO_DEFAULT
    if T.is_subtype(found, type):
        return value if _fits(value) else NO_DEFAULT
    if plain == T.FLOAT and found == T.INT:
        return float(value)
    if plain == T.COMPLEX and found in (T.INT, T.FLOAT):
        return complex(value)
    if plain == T.DEVICE and found == T.STR:
        return Device(value)
    if isinstance(plain, T.ListType):
        if isinstance(found, T.TupleType):
            parts = [_fitted(v, plain.element, None) for v in value]
            return NO_DEFAULT if NO_DEFAULT in parts else parts
        if size is not None and T.is_subtype(found, plain.element):
            return [value] * size
    return NO_DEFAULT


def _fits(value: Any) -> bool:
    """Whether the ints in a value fit 64 bits."""
    if isinstance(value, (list, tuple)):
        return all(map(_fits, value))
    if isinstance(value, dict):
        return all(map(_fits, (*value, *value.values())))
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def static_value(e: Emitter, node: ast.expr, type: T.Type | None = None) -> Any:
    """The Python value of a default, which must be known at compile time.  Raises CompileError."""
    value = _static(e, node)
    if (
        type is not None
        and T.without_none(type) == T.FLOAT
        and isinstance(value, int)
        and not isinstance(value, bool)
    ):
        return float(value)
    if not _fits(value):
        raise CompileError("a default does not fit 64 bits", e.span(node), "write it as a float")
    return value


def _static(e: Emitter, node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_static(e, node.operand)
    if isinstance(node, ast.List):
        return [_static(e, p) for p in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_static(e, p) for p in node.elts)
    if isinstance(node, ast.Dict):
        return {_static(e, k): _static(e, v) for k, v in zip(node.keys, node.values)}
    if (
        isinstance(node, ast.Call)
        and len(node.args) == 2
        and getattr(node.func, "id", getattr(node.func, "attr", "")) == "annotate"
    ):
        return _static(e, node.args[1])
    if isinstance(node, (ast.Name, ast.Attribute)):
        meaning = _static_name(e, node)
        if isinstance(meaning, ConstantValue):
            return meaning.constant
        if isinstance(meaning, StaticSequence):
            return tuple(m.constant for m in meaning.elements)
    raise CompileError(
        "a default must be known when the function is compiled",
        e.span(node),
        "write a literal, or a constant of the module",
    )


def _static_name(e: Emitter, node: ast.expr) -> SugaredValue:
    if isinstance(node, ast.Attribute):
        return _static_name(e, node.value).attr(e.b, node.attr, e.span(node))
    return e.lookup(node.id, e.span(node))
