"""Parses the text of graphs (irtext.parse_graph): makes a Graph from the tree of ir.lark.

The text may name overloads (`aten::add.Tensor(...)`), but usually it does not. Then `overloads` is
asked for the operator's schemas, and the first one that the inputs' types fit is used. If there is
none, the node has no schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from . import type_text
from . import types as T
from .errors import GraphError
from .ir import Block, Function, Graph, Node, Value
from .irtext import UNESCAPES, Opaque
from .schema import Schema
from .source import Source, Span
from .type_variables import fits

REFINED = {
    "Float",
    "Double",
    "Half",
    "BFloat16",
    "Long",
    "Int",
    "Short",
    "Char",
    "Byte",
    "Bool",
    "ComplexFloat",
    "ComplexDouble",
    "Tensor",
}
"""PyTorch's names for Tensor types with the dtype and sizes that a trace recorded."""

WORDS = {"True": True, "False": False, "None": None}


@cache
def parser() -> Any:
    """The LALR parser of ir.lark."""
    import lark

    grammar = Path(__file__).with_name("ir.lark").read_text(encoding="utf-8")
    return lark.Lark(grammar, parser="lalr", start="text", maybe_placeholders=False)


class Reader:
    """Makes graphs from one text; classes and functions of the same name are one object."""

    def __init__(
        self,
        overloads: Callable[[str], Iterable[Schema]],
        resolve: Callable[[str], T.Type | None],
        function: Callable[[str], Function | None],
        constant: Callable[[Opaque], Any],
    ) -> None:
        self.overloads, self.resolve = overloads, resolve
        self.find_function, self.make_constant = function, constant
        self.classes: dict[str, T.Type] = {}
        self.made: dict[str | None, T.Type] = {}  # those of them that were made here
        self.functions: dict[str, Function] = {}
        self.subgraphs: dict[str, Graph] = {}

    def read(self, text: str) -> Graph:
        import lark

        try:
            tree = parser().parse(text)
        except lark.exceptions.UnexpectedInput as e:
            line = text.splitlines()[e.line - 1].strip() if e.line > 0 else "end of the text"
            raise GraphError(
                f"line {e.line}, column {e.column} of the graph's text: cannot read {line!r}"
            ) from None
        main, *others = tree.children
        for other in reversed(others):
            self.subgraphs[str(other.children[0])] = self.graph(other.children[1])
        return self.graph(main)

    def graph(self, tree: Any) -> Graph:
        graph = Graph()
        env: dict[str, Any] = {}
        parameters, nodes, uses = tree.children
        self.block(graph.block, parameters, nodes, uses, env)
        return graph

    def block(
        self, block: Block, parameters: Any, nodes: Any, uses: Any, env: dict[str, Any]
    ) -> None:
        for name, type in self.definitions(parameters):
            env[name] = block.add_parameter(type, hint(name))
        for node in nodes.children:
            self.node(block, node, env)
        for v in self.uses(uses, env):
            block.add_return(v)

    def node(self, block: Block, tree: Any, env: dict[str, Any]) -> None:
        outs, kind, settings, uses, *rest = tree.children
        outs = self.definitions(outs)
        attributes = self.attributes(settings, outs[0][1] if outs else T.NONE)
        if outs and outs[0][1] is FUNCTION:
            env[outs[0][0]] = self.function(attributes["name"])
            return
        inputs = self.uses(uses, env)
        kind, overload = split_kind(str(kind))
        if kind in self.subgraphs:
            graph = self.subgraphs[kind]
            kind, attributes = kind.rpartition("_")[0], {"Subgraph": graph, **attributes}
        if kind == "prim::Constant":
            attributes.setdefault("value", None)
        if inputs and isinstance(inputs[0], Function):
            attributes["function"] = inputs.pop(0)
        types = [t for _, t in outs]
        node = block.append(block.graph.create(kind, inputs, types, None, attributes))
        node.schema = self.schema(node, overload)
        if node.schema is None and overload is not None and any(self.overloads(node.kind)):
            node.kind += f".{overload}"  # an overload that the table lacks
        place, blocks = (rest[0], rest[1:]) if rest and is_token(rest[0]) else (None, rest)
        node.span = read_place(str(place)) if place else None
        for inner in blocks[0].children:
            parameters, nodes, returned = inner.children[1:]
            self.block(node.add_block(), parameters, nodes, returned, dict(env))
        for (name, _), v in zip(outs, node.outputs):
            v.name, env[name] = hint(name), v
        if kind in ("prim::GetAttr", "prim::SetAttr"):
            self.learn_attribute(node)

    def learn_attribute(self, node: Node) -> None:
        """Add an attribute that the graph uses to a class that was made here from its name."""
        owner, name = node.inputs[0].type, node.attributes["name"]
        if (
            self.made.get(getattr(owner, "name", None)) is owner
            and isinstance(owner, T.ClassType)
            and owner.slot(name) is None
        ):
            value = node.output if node.kind == "prim::GetAttr" else node.inputs[1]
            owner.add_attribute(name, value.type)

    def function(self, name: str) -> Function:
        if name not in self.functions:
            self.functions[name] = self.find_function(name) or Function(name)
        return self.functions[name]

    def definitions(self, tree: Any) -> list[tuple[str, T.Type]]:
        return [(str(d.children[0]), self.type(d.children[1])) for d in tree.children]

    def uses(self, tree: Any, env: dict[str, Any]) -> list[Value]:
        for name in tree.children:
            if str(name) not in env:
                raise GraphError(
                    f"line {name.line} of the graph's text: {name} is not defined here"
                )
        return [env[str(name)] for name in tree.children]

    def schema(self, node: Node, overload: str | None) -> Schema | None:
        for schema in self.overloads(node.kind):
            if schema.overload == overload if overload is not None else accepts(schema, node):
                return schema
        return None

    def attributes(self, tree: Any, type: T.Type) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for a in tree.children:
            if a.data == "types":
                result["types"] = [self.type(t) for t in a.children[1:]]
            else:
                name = str(a.children[0])
                value = self.value(a.children[1])
                result[name] = self.convert(value, type) if name == "value" else value
        return result

    def value(self, tree: Any) -> Any:
        """The value of a literal; its meaning may still depend on a type (see `convert`)."""
        kind, children = tree.data, tree.children
        if kind == "number":
            return read_number(str(children[0]))
        if kind == "string":
            return unquote(str(children[0]))
        if kind == "name":
            return WORDS.get(str(children[0]), Opaque(str(children[0]), T.ANY))
        if kind == "opaque":
            return Opaque(str(children[0]), T.ANY)
        if kind == "scalar":
            value = self.value(children[0])
            return (
                Opaque(f"{{{children[0].children[0]!s}}}", T.TENSOR)
                if isinstance(value, (int, float, complex))
                else {value}
            )
        if kind == "dict":
            return {self.value(p.children[0]): self.value(p.children[1]) for p in children}
        values = [self.value(c) for c in children]
        return values if kind == "list" else tuple(values)

    def convert(self, value: Any, type: T.Type) -> Any:
        """The constant of a given type for a literal."""
        if value is None:
            return None
        type = T.without_none(type)
        if isinstance(type, T.ListType) and isinstance(value, list):
            return [self.convert(v, type.element) for v in value]
        if isinstance(type, T.TupleType) and isinstance(value, tuple):
            return type.make(map(self.convert, value, type.elements))
        if isinstance(type, T.DictType) and isinstance(value, dict):
            return {
                self.convert(k, type.key): self.convert(v, type.value) for k, v in value.items()
            }
        scalars: dict[T.Type, Any] = {T.BOOL: bool, T.FLOAT: float, T.COMPLEX: complex}
        scalar = scalars.get(type)
        if scalar:
            return scalar(value)
        if type == T.DEVICE and isinstance(value, str):
            from .irtext import quote

            value = Opaque(quote(value), type)
        return self.make_constant(Opaque(value.text, type)) if isinstance(value, Opaque) else value

    def type(self, tree: Any) -> T.Type:
        kind, children = tree.data, tree.children
        if kind == "named_type":
            return self.named(str(children[0]))
        if kind == "list_type":
            return T.ListType(self.type(children[0]))
        if kind == "optional_type":
            return T.optional(self.type(children[0]))
        if kind == "tuple_type":
            return T.TupleType(tuple(map(self.type, children)))
        if kind == "enum_type":
            return self.named(str(children[1]), lambda name: T.EnumType(name, T.INT))
        head, parts = str(children[0]), children[1:]
        if head in REFINED:
            return T.TENSOR
        if head == "NamedTuple":
            fields = tuple(str(p.children[0]) for p in parts)
            return T.TupleType(tuple(self.type(p.children[1]) for p in parts), "NamedTuple", fields)
        if head not in type_text.GENERICS:
            raise GraphError(f"line {children[0].line} of the graph's text: no type {head}(...)")
        return type_text.GENERICS[head](*map(self.type, parts))

    def named(self, name: str, make: Callable[[str], T.Type] = T.ClassType) -> T.Type:
        known = type_text.SPELLINGS.get(name) or T.ATOMS.get(name)
        if known is not None or name == "Function":
            return known or FUNCTION
        if name not in self.classes:
            self.classes[name] = self.resolve(name) or self.made.setdefault(name, make(name))
        return self.classes[name]


FUNCTION = T.FunctionType(None)
"""The type of constants that name functions; such a constant becomes an attribute of the call."""


def accepts(schema: Schema, node: Node) -> bool:
    """Whether a node's inputs fit the arguments of a schema one to one."""
    variables: dict[str, T.Type] = {}
    return (
        schema.is_vararg
        or len(schema.arguments) == len(node.inputs)
        and all(fits(v.type, a.type, variables) for v, a in zip(node.inputs, schema.arguments))
    )


def split_kind(text: str) -> tuple[str, str | None]:
    """Split `aten::add.Tensor` into ('aten::add', 'Tensor'); without an overload, it is None.

    A kind such as `aten::add(Tensor, str)`, an overload that the table lacks, is not split.
    """
    if "(" in text:
        return text, None
    namespace, _, name = text.rpartition("::")
    name, dot, overload = name.partition(".")
    return f"{namespace}::{name}" if namespace else name, overload if dot else None


def hint(name: str) -> str:
    """The name of a value; "" if it is just a number."""
    return "" if name[1:].isdecimal() else name[1:]


def is_token(tree: Any) -> bool:
    return isinstance(tree, str)


def read_place(comment: str) -> Span:
    """A span at the location in `# file:line:column`, without source text."""
    name, line, column = comment[2:].rsplit(":", 2)
    return Span(Source("", name, int(line), int(column)), 0, 0)


def read_number(text: str) -> int | float | complex:
    if text.endswith("j"):
        return complex(re.sub(r"\.(?=[+j]|-)", ".0", text))
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


def unquote(text: str) -> str:
    """The inverse of `quote`."""

    def one(m: re.Match[bytes]) -> bytes:
        escape = m.group(1)
        if escape[:1].isdigit():
            return bytes([int(escape, 8) & 255])
        return UNESCAPES.get(escape.decode("latin-1"), "").encode() or escape

    return re.sub(rb"\\([0-7]{1,3}|.)", one, text[1:-1].encode()).decode("utf-8", "replace")
