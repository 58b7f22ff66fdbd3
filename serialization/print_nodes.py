"""Prints nodes as expressions: operators by their schema, other kinds by the table KINDS."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import types as T
from ..errors import ArchiveError
from ..ir import Node, Value
from ..schema import Schema
from ..source import Source, Span
from .naming import is_identifier
from .print_values import call, dotted_expr
from .unparse import is_known

if TYPE_CHECKING:
    from .printer import BodyPrinter

BUILTINS = {
    "aten::Int": "int",
    "aten::Float": "float",
    "aten::Bool": "bool",
    "aten::Complex": "complex",
    "aten::str": "str",
    "prim::Print": "print",
}
"""Operators that are printed as Python functions."""

IMPLICIT = (
    "aten::IntImplicit",
    "aten::FloatImplicit",
    "aten::ScalarImplicit",
    "aten::ComplexImplicit",
)
"""Conversions that are printed as an annotation of the result type."""

BEGIN_WITH_INPUT = (
    "aten::__getitem__",
    "prim::TupleIndex",
    "prim::TupleSlice",
    "prim::CallMethod",
    "prim::GetAttr",
    "prim::EnumName",
    "prim::EnumValue",
)
"""Kinds whose text begins with that of their first input."""

RENAMED = {"aten::backward": "torch.autograd.backward", "aten::grad": "torch.autograd.grad"}


def node_expr(p: BodyPrinter, node: Node) -> ast.expr:
    """The expression for a node.  Its value is the output of the node, or a tuple of its outputs.

    Raises ArchiveError for a node that the code of archives cannot express.
    """
    make = KINDS.get(node.kind)
    if make is not None:
        made = make(p, node)
    elif node.kind in BUILTINS and len(node.inputs) == 1 or node.kind == "prim::Print":
        made = call(BUILTINS[node.kind], *p.inputs(node))
    elif node.kind in IMPLICIT:
        made = p.spelling.annotate(node.output.type, p.expr(node.inputs[0]))
    elif node.schema is not None:
        made = operator_call(p, node, node.schema)
    elif "::" in node.kind and (
        not node.kind.startswith("prim::") or "named_by_archive" in node.attributes
    ):
        made = unknown_call(p, node)
    else:
        place = f" ({node.span.place})" if node.span else ""
        raise ArchiveError(
            f"{node.kind} has no spelling in the code of archives{place}",
            None,
            "save the module before it is optimised",
        )
    made.span = place_of(p, node)  # type: ignore[attr-defined]  # for the debug record
    return made


def place_of(p: BodyPrinter, node: Node) -> Span | None:
    """The span to record for the beginning of a node's text.

    If the node has none, it is the span of the input with which the text begins, since readers give
    the same span to all nodes whose text begins there.
    """
    while (
        (node.span is None or not is_known(node.span))
        and node.kind in BEGIN_WITH_INPUT
        and node.inputs[0].node in p.inlined
    ):
        node = node.inputs[0].node
    return node.span


def operator_name(kind: str) -> ast.expr:
    """The name of an operator as an expression: `torch.add` for `aten::add`, `ops.prim.dtype` for
    `prim::dtype`."""
    namespace, _, name = kind.partition("::")
    if kind in RENAMED:
        return dotted_expr(RENAMED[kind])
    return dotted_expr(f"torch.{name}" if namespace == "aten" else f"ops.{namespace}.{name}")


def operator_call(p: BodyPrinter, node: Node, schema: Schema) -> ast.expr:
    """A call of an operator.  Last arguments that equal the defaults are left out if the call still
    means the same overload; keyword-only arguments are passed by keyword."""
    from ..interpreter.compiler import arguments_needed

    count = len(node.inputs) if schema.is_vararg else arguments_needed(node)
    if count < len(node.inputs) and not picks_same_overload(node, count):
        count = len(node.inputs)
    args, keywords = [], {}
    for i, v in enumerate(node.inputs[:count]):
        formal = schema.arguments[i] if i < len(schema.arguments) else None
        if formal is not None and formal.kwarg_only:
            keywords[formal.name] = p.expr(v)
        else:
            args.append(p.expr(v))
    return call(operator_name(node.kind), *args, **keywords)


NOWHERE = Span(Source(""), 0, 0)


def picks_same_overload(node: Node, count: int) -> bool:
    """Whether a call with only the first `count` arguments still resolves to this overload."""
    from ..frontend.overloads import matching, operators
    from ..frontend.overloads.matching import Actual, Mismatch

    candidates = operators.overloads(node.kind)
    if len(candidates) == 1:
        return True
    assert node.schema is not None
    shapes = [Actual(v, node.span or NOWHERE).shape for v in node.inputs[:count]]
    formals = node.schema.arguments
    positional = [s for s, a in zip(shapes, formals) if not a.kwarg_only]
    named = {a.name: s for s, a in zip(shapes, formals) if a.kwarg_only}
    for implicit in (False, True):
        for candidate in candidates:
            try:
                matching.try_match(candidate, positional, named, None, implicit)
            except Mismatch:
                continue
            return candidate.overload == node.schema.overload
    return False


def unknown_call(p: BodyPrinter, node: Node) -> ast.expr:
    """A call of an operator that is not in the table, as it was read from an archive."""
    if "left_out" in node.attributes:
        place = f" ({node.span.place})" if node.span else ""
        raise ArchiveError(
            f"what follows a call of {node.kind}, which is not known, could not be "
            f"compiled{place}, so that it cannot be written",
            None,
            "keep the archive as it is",
        )
    names = node.attributes.get("keywords", ())
    exprs = p.inputs(node)
    split = len(exprs) - len(names)
    name = node.kind.partition("(")[0]  # without the types of an unknown overload
    return call(operator_name(name), *exprs[:split], **dict(zip(names, exprs[split:])))


# Kinds


def constant(p: BodyPrinter, node: Node) -> ast.expr:
    return p.constant(node.output)


def get_attr(p: BodyPrinter, node: Node) -> ast.expr:
    owner, name = p.expr(node.inputs[0]), node.attributes["name"]
    if is_identifier(name):
        return ast.Attribute(owner, name, ast.Load())
    return call("getattr", owner, ast.Constant(name))


def call_method(p: BodyPrinter, node: Node) -> ast.expr:
    return method_call(p, node, node.attributes["name"])


def call_function(p: BodyPrinter, node: Node) -> ast.expr:
    """A call of a function.  If it is a method of its first argument, it is printed as `x.f()`."""
    function = node.attributes["function"]
    owner = node.inputs[0].type if node.inputs else None
    if isinstance(owner, T.ClassType):
        for name, method in owner.methods.items():
            if method is function:
                return method_call(p, node, name)
    return call(p.spelling.function(function), *p.inputs(node))


def method_call(p: BodyPrinter, node: Node, name: str) -> ast.expr:
    """A call `x.name(...)` of a method, or `__torch__.M.hook(x, ...)` of a hook, since PyTorch does
    not find hooks on objects."""
    owner = node.inputs[0].type
    if isinstance(owner, T.ClassType) and name in (*owner.hooks, *owner.pre_hooks):
        return call(f"{p.spelling.name(owner)}.{name}", *p.inputs(node))
    target, *args = p.inputs(node)
    return call(ast.Attribute(target, name, ast.Load()), *args)


def create_object(p: BodyPrinter, node: Node) -> ast.expr:
    named = p.spelling.type(node.output.type)
    return call(ast.Attribute(named, "__new__", ast.Load()), named)


def tuple_construct(p: BodyPrinter, node: Node) -> ast.expr:
    t: Any = node.output.type
    items = [p.typed(v) for v in node.inputs]
    if t.name:
        return call(p.spelling.name(t), *items)
    made = ast.Tuple(items, ast.Load())
    if all(v.type == e for v, e in zip(node.inputs, t.elements)):
        return made
    return p.spelling.annotate(t, made)


def tuple_index(p: BodyPrinter, node: Node) -> ast.expr:
    return ast.Subscript(p.expr(node.inputs[0]), p.expr(node.inputs[1]), ast.Load())


def tuple_slice(p: BodyPrinter, node: Node) -> ast.expr:
    begin, end = (ast.Constant(node.attributes[name]) for name in ("beg", "end"))
    return ast.Subscript(p.expr(node.inputs[0]), ast.Slice(begin, end), ast.Load())


def unpack(p: BodyPrinter, node: Node) -> ast.expr:
    return p.expr(node.inputs[0])


def list_construct(p: BodyPrinter, node: Node) -> ast.expr:
    t: Any = node.output.type
    made = ast.List([p.expr(v) for v in node.inputs], ast.Load())
    return made if is_exact(node.inputs, t.element) else p.spelling.annotate(t, made)


def dict_construct(p: BodyPrinter, node: Node) -> ast.expr:
    t: Any = node.output.type
    keys, values = node.inputs[::2], node.inputs[1::2]
    made = ast.Dict([p.expr(k) for k in keys], [p.expr(v) for v in values])
    if is_exact(keys, t.key) and is_exact(values, t.value):
        return made
    return p.spelling.annotate(t, made)


def is_exact(values: list[Value], element: T.Type) -> bool:
    """Whether readers infer exactly this element type from a literal of these values."""
    return bool(values) and all(
        v.type == element and not (v.is_constant and v.constant is None) for v in values
    )


def uninitialized(p: BodyPrinter, node: Node) -> ast.expr:
    return call("uninitialized", p.spelling.type(node.output.type))


def unchecked_cast(p: BodyPrinter, node: Node) -> ast.expr:
    return call("unchecked_cast", p.spelling.type(node.output.type), p.expr(node.inputs[0]))


def unwrap_optional(p: BodyPrinter, node: Node) -> ast.expr:
    """PyTorch knows the type of the result only if that of a literal None is written."""
    v = node.inputs[0]
    made = p.expr(v)
    if v.is_constant and v.constant is None:
        made = p.spelling.annotate(T.OptionalType(node.output.type), made)
    return call(operator_name(node.kind), made)


def is_instance(p: BodyPrinter, node: Node) -> ast.expr:
    types = [p.spelling.type(t) for t in node.attributes["types"]]
    named = types[0] if len(types) == 1 else ast.Tuple(types, ast.Load())
    return call("isinstance", p.expr(node.inputs[0]), named)


def get_item(p: BodyPrinter, node: Node) -> ast.expr:
    return ast.Subscript(p.expr(node.inputs[0]), p.expr(node.inputs[1]), ast.Load())


def enum_part(name: str) -> Callable[[BodyPrinter, Node], ast.expr]:
    return lambda p, node: ast.Attribute(p.expr(node.inputs[0]), name, ast.Load())


def enter(p: BodyPrinter, node: Node) -> ast.expr:
    return call(ast.Attribute(p.expr(node.inputs[0]), "__enter__", ast.Load()))


def leave(p: BodyPrinter, node: Node) -> ast.expr:
    manager: Any = node.inputs[0].type
    arguments = manager.methods["__exit__"].schema.arguments[1:]
    return call(
        ast.Attribute(p.expr(node.inputs[0]), "__exit__", ast.Load()),
        *(ast.Constant(None) for _ in arguments),
    )


def to_list(p: BodyPrinter, node: Node) -> ast.expr:
    listed = call(ast.Attribute(p.expr(node.inputs[0]), "tolist", ast.Load()))
    return p.spelling.annotate(node.output.type, listed)


def container_index(p: BodyPrinter, node: Node) -> ast.expr:
    """An indexed member of a module list or dict.  The annotation states the interface by which it
    is used."""
    return p.spelling.annotate(node.output.type, get_item(p, node))


KINDS: dict[str, Callable[[BodyPrinter, Node], ast.expr]] = {
    "prim::Constant": constant,
    "prim::GetAttr": get_attr,
    "prim::CallMethod": call_method,
    "prim::CallFunction": call_function,
    "prim::CreateObject": create_object,
    "prim::TupleConstruct": tuple_construct,
    "prim::TupleIndex": tuple_index,
    "prim::TupleSlice": tuple_slice,
    "prim::TupleUnpack": unpack,
    "prim::ListUnpack": unpack,
    "prim::ListConstruct": list_construct,
    "prim::DictConstruct": dict_construct,
    "prim::Uninitialized": uninitialized,
    "prim::unchecked_cast": unchecked_cast,
    "aten::_unwrap_optional": unwrap_optional,
    "prim::isinstance": is_instance,
    "aten::__getitem__": get_item,
    "prim::EnumName": enum_part("name"),
    "prim::EnumValue": enum_part("value"),
    "prim::Enter": enter,
    "prim::Exit": leave,
    "prim::tolist": to_list,
    "prim::ModuleContainerIndex": container_index,
}
"""The functions that print node kinds which are not printed as calls of operators."""
