"""The text of graphs in PyTorch's format: printing and parsing.

    graph(%x.1 : Tensor,
          %n.1 : int):
      %2 : int = prim::Constant[value=2]() # model.py:7:15
      %y : Tensor = aten::mul(%x.1, %2) # model.py:7:11
      return (%y)

`print_graph` only needs the graph. `parse_graph` and its grammars (ir.lark, schema.lark) are for
tests; they use lark, which is in the extra `test` and imported on the first call. As in PyTorch, a
call of a function is printed with a constant that names the function, and graphs in attributes are
printed after the main one (`with prim::fork_0 =`). Constants without a literal (large tensors,
objects) are printed as `<Tensor>` and parsed as `Opaque`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from . import types as T
from .ir import Block, Function, Graph, Node, Value
from .records import record
from .schema import Schema

ESCAPES = {
    "\\": "\\\\",
    "'": "\\'",
    '"': '\\"',
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
"""Characters that are printed with a backslash; other control characters are printed in octal."""

UNESCAPES = {v[1]: k for k, v in ESCAPES.items()}


@record(frozen=True)
class Opaque:
    """A constant that is only known by its text."""

    text: str
    type: T.Type

    @property
    def __script_type__(self) -> T.Type:
        return self.type


def print_graph(graph: Graph, type_text: Callable[[Value], str] | None = None) -> str:
    """The text of a graph in PyTorch's format; it ends with a newline.

    type_text: returns the text for a value's type, such as `Float(1, 64, s0+2)`, which is parsed as
    Tensor; the default is the type itself.
    """
    printer = Printer(graph, type_text=type_text)
    lines = printer.graph()
    at = 0
    while at < len(printer.subgraphs):
        name, inner = printer.subgraphs[at]
        nested = Printer(inner, printer.subgraphs, type_text)
        head, *rest = nested.graph()
        lines += [f"with {name} = {head}", *rest]
        at += 1
    return "\n".join(lines) + "\n"


def unique_names(hints: list[str]) -> list[str]:
    """Unique names for values, in the order of their definitions.

    As in PyTorch, the last of several values with the same hint keeps the name, and earlier ones
    get suffixes. Values without a hint are numbered by position.
    """
    names: list[str] = []
    owner: dict[str, int] = {}
    suffixes: dict[str, int] = {}
    for i, hint in enumerate(hints):
        hint = re.sub(r"[^\w.]", "_", hint, flags=re.ASCII)
        name = "" if not hint or hint.isdecimal() else hint
        names.append(name or str(i))
        if name in owner:
            base, _, last = name.rpartition(".")
            base, suffix = (base, int(last)) if base and last.isdecimal() else (name, 1)
            suffix = max(suffix, suffixes.get(base, 0))
            while f"{base}.{suffix}" in owner:
                suffix += 1
            suffixes[base] = suffix
            names[owner[name]] = f"{base}.{suffix}"
            owner[f"{base}.{suffix}"] = owner[name]
        if name:
            owner[name] = i
    return names


class Printer:
    """Assigns names to all values of one graph, then prints it line by line."""

    def __init__(
        self,
        graph: Graph,
        subgraphs: list[tuple[str, Graph]] | None = None,
        type_text: Callable[[Value], str] | None = None,
    ) -> None:
        self.top = graph
        self.type_text = type_text or (lambda v: str(v.type))
        self.subgraphs = [] if subgraphs is None else subgraphs
        slots = list(self.definitions(graph.block))
        hints = [s.name if isinstance(s, Value) else "" for s in slots]
        self.names = dict(zip(slots, unique_names(hints)))

    def definitions(self, block: Block) -> Iterator[Value | Node]:
        """The values in order; a node with a function stands for the constant before it."""
        yield from block.parameters
        for node in block.nodes:
            if "function" in node.attributes:
                yield node
            yield from node.outputs
            for inner in node.blocks:
                yield from self.definitions(inner)

    def graph(self) -> list[str]:
        parameters = ",\n      ".join(map(self.definition, self.top.inputs))
        return [
            f"graph({parameters}):",
            *self.body(self.top.block, "  "),
            f"  return ({', '.join(map(self.use, self.top.outputs))})",
        ]

    def definition(self, v: Value) -> str:
        return f"%{self.names[v]} : {self.type_text(v)}"

    def use(self, v: Value) -> str:
        return f"%{self.names[v]}" if v in self.names else "%<undefined>"

    def body(self, block: Block, indent: str) -> Iterator[str]:
        for node in block.nodes:
            yield from self.node(node, indent)
            for i, inner in enumerate(node.blocks):
                parameters = ", ".join(map(self.definition, inner.parameters))
                yield f"{indent}  block{i}({parameters}):"
                yield from self.body(inner, indent + "    ")
                yield f"{indent}    -> ({', '.join(map(self.use, inner.returns))})"

    def node(self, node: Node, indent: str) -> Iterator[str]:
        inputs = [self.use(v) for v in node.inputs]
        attributes = {k: v for k, v in node.attributes.items() if not isinstance(v, Graph)}
        function = attributes.pop("function", None)
        if function is not None:
            name = self.names[node]
            yield f"{indent}%{name} : Function = prim::Constant[name={quote(function.name)}]()"
            inputs.insert(0, f"%{name}")
        if node.kind == "prim::Constant" and attributes.get("value") is None:
            attributes.pop("value", None)
        kind = node.kind
        for value in node.attributes.values():
            if isinstance(value, Graph):
                kind = f"{node.kind}_{len(self.subgraphs)}"
                self.subgraphs.append((kind, value))
        settings = ", ".join(f"{k}={literal(v)}" for k, v in attributes.items())
        yield (
            indent
            + ", ".join(map(self.definition, node.outputs))
            + " = "
            + kind
            + (f"[{settings}]" if settings else "")
            + f"({', '.join(inputs)})"
            + (f" # {node.span.place}" if node.span else "")
        )


def quote(text: str) -> str:
    """A string in double quotes, with PyTorch's escapes."""
    return (
        '"'
        + "".join(
            ESCAPES.get(c) or (c if c.isprintable() else "".join(f"\\{b:03o}" for b in c.encode()))
            for c in text
        )
        + '"'
    )


def number(value: float) -> str:
    """A float in PyTorch's format: `3.`, `0.10000000000000001`, `inf`."""
    if value == value and abs(value) < 1e10 and value == int(value):
        return f"{'-' if str(value)[0] == '-' else ''}{abs(int(value))}."
    return f"{value:.17g}"


def literal(value: Any) -> str:
    """The text of a constant or attribute."""
    if isinstance(value, (bool, int)):
        return str(int(value))
    if isinstance(value, float):
        return number(value)
    if isinstance(value, complex):
        imaginary = number(value.imag)
        return f"{number(value.real)}{'' if imaginary[0] == '-' else '+'}{imaginary}j"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, T.Type):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_item, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_item, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_item(k)}: {_item(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Opaque):
        return value.text
    return _object(value)


def _item(value: Any) -> str:
    return str(value) if value is None or isinstance(value, bool) else literal(value)


def _object(value: Any) -> str:
    """The text of a value of a class that this module does not know, by its script type."""
    t = getattr(value, "__script_type__", None)
    if t == T.DEVICE:
        return quote(str(value))
    if t == T.TENSOR:
        return f"{{{literal(value.item())}}}" if value.dim() == 0 else "<Tensor>"
    return f"<{t.annotation if isinstance(t, T.Type) else type(value).__name__}>"


def parse_graph(
    text: str,
    overloads: Callable[[str], list[Schema]] | None = None,
    resolve: Callable[[str], T.Type | None] | None = None,
    function: Callable[[str], Function | None] | None = None,
    constant: Callable[[Opaque], Any] | None = None,
) -> Graph:
    """Parse the text of a graph. Raises GraphError, with the line, if that fails.

    overloads: returns the schemas of an operator kind, in order of preference (as in the operator
    table).
    resolve: returns the class, enum or interface with a qualified name; for None, an empty class is
    made.
    function: returns the Function with a name; for None, a function without a body is made.
    constant: converts an Opaque to the value of a constant; the default keeps the Opaque.
    """
    from .irparse import Reader

    return Reader(
        overloads or (lambda kind: []),
        resolve or (lambda name: None),
        function or (lambda name: None),
        constant or (lambda opaque: opaque),
    ).read(text)
