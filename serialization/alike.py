"""Methods whose text another class's method has: their graphs are copied, not compiled again.

Each use of a module is a class of its own in an archive (`___torch_mangle_3.Conv2d`), so most methods
of a network are written many times over.  The body of a method means the same for two classes where
what it names of `self` and its arguments has the same types, but for the names of classes.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Callable, NamedTuple

from .. import types as T
from ..ir import Function, Graph, Node, Value, clone_block
from ..schema import Schema
from ..source import Span
from .code_files import CodeFile

MANGLED = re.compile(r"___torch_mangle_\d+\.")
MOST_TRIED = 8
"""How many bodies of one text are looked at before a method is compiled for itself."""

Pairs = dict[T.ClassType, T.ClassType]


class Compiled(NamedTuple):
    """A method that was compiled from a text, and where that text begins."""

    owner: T.ClassType
    function: Function
    graph: Graph
    begin: int


class Bodies:
    """The compiled methods of an archive by the text of their bodies."""

    def __init__(self):
        self._by_text: dict[str, list[Compiled]] = {}

    def graph_of(self, function: Function, file: CodeFile, node: ast.FunctionDef,
                 owner: T.ClassType, emit: Callable[[], Graph]) -> Graph:
        """The graph of a method: a copy of that of another class's, or what `emit` makes."""
        begin = file.offset(node.body[0].lineno, node.body[0].col_offset)
        text = file.source.text[begin:file.offset(node.end_lineno, node.end_col_offset)]
        known = self._by_text.setdefault(text, [])
        for other in known[:MOST_TRIED]:
            pairs: Pairs = {}
            if same(other.owner, owner, text, pairs) and same_schema(
                    other.function.schema, function.schema, text, pairs) \
                    and not any(t.name in text for pair in pairs.items() for t in pair):
                graph = copy(other, function.name, pairs, file, begin)
                if graph is not None:
                    return graph
        graph = emit()
        known.append(Compiled(owner, function, graph, begin))
        return graph


def same(a: T.Type, b: T.Type, text: str, pairs: Pairs) -> bool:
    """Whether two types differ in the names of classes only, as far as a text names what they have.

    pairs: which classes stand for which, one for one; those that are met are added.
    """
    if isinstance(a, T.ClassType):
        if a in pairs:
            return pairs[a] is b
        if not isinstance(b, T.ClassType) or b in pairs.values() \
                or MANGLED.sub("", a.name) != MANGLED.sub("", b.name):
            return False
        pairs[a] = b
        return a is b or same_class(a, b, text, pairs)
    if type(a) is not type(b) or len(a.contained) != len(b.contained):
        return False
    if not a.contained or getattr(a, "name", None):
        return a == b
    return getattr(a, "fields", None) == getattr(b, "fields", None) and all(
        same(x, y, text, pairs) for x, y in zip(a.contained, b.contained))


def same_class(a: T.ClassType, b: T.ClassType, text: str, pairs: Pairs) -> bool:
    """Whether what a text names of two classes differs in the names of classes only."""
    if a.is_module != b.is_module or a.hooks != b.hooks or a.pre_hooks != b.pre_hooks \
            or a.properties or b.properties:
        return False
    mine, yours = ({x.name: x for x in t.attributes if x.name in text} for t in (a, b))
    return (all_same(mine, yours, lambda x, y: same(x.type, y.type, text, pairs))
            and all_same(named(a.constants, text), named(b.constants, text),
                         lambda x, y: x is y or type(x) is type(y) and repr(x) == repr(y))
            and all_same(named(a.methods, text), named(b.methods, text),
                         lambda x, y: same_schema(x.schema, y.schema, text, pairs)))


def named(members: dict[str, Any], text: str) -> dict[str, Any]:
    return {name: member for name, member in members.items() if name in text}


def all_same(a: dict[str, Any], b: dict[str, Any], alike: Callable[[Any, Any], bool]) -> bool:
    return a.keys() == b.keys() and all(alike(a[name], b[name]) for name in a)


def same_schema(a: Schema, b: Schema, text: str, pairs: Pairs) -> bool:
    if len(a.arguments) != len(b.arguments):
        return False
    for x, y in zip((*a.arguments, *a.returns), (*b.arguments, *b.returns)):
        if x.name != y.name or x.kwarg_only != y.kwarg_only or not (
                x.default is y.default or plain(x.default) and x.default == y.default
                and type(x.default) is type(y.default)) or not same(x.type, y.type, text, pairs):
            return False
    return True


def plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str))


def copy(other: Compiled, name: str, pairs: Pairs, file: CodeFile, begin: int) -> Graph | None:
    """The graph of a method for other classes, its places in another text.

    None where a node holds more than numbers and names, which could hold a class, too.
    """
    graph = Graph(name)
    env: dict[Value, Value] = {}
    clone_block(other.graph.block, graph.block, env)
    shift = begin - other.begin
    spans: dict[int, Span] = {}
    for node in graph.walk():
        if any(isinstance(v, (T.Type, tuple, list, Graph)) for v in node.attributes.values()):
            return None
        node.span = moved(node, shift, file, spans)
    types: dict[int, T.Type] = {}
    for value in env.values():
        t = value.type
        if id(t) not in types:
            types[id(t)] = substituted(t, pairs)
        value.type = types[id(t)]
    return graph


def moved(node: Node, shift: int, file: CodeFile, spans: dict[int, Span]) -> Span | None:
    """The place of a node in the file of the copy."""
    old = node.span
    code = getattr(old, "code", None)
    if code is None:                                 # of another text, as bodies of operators are
        return old
    new = spans.get(id(old))
    if new is None:
        new = spans[id(old)] = file.original(
            Span(file.source, code.start + shift, code.end + shift))
    return new


def substituted(t: T.Type, pairs: Pairs) -> T.Type:
    if isinstance(t, T.ClassType):
        return pairs.get(t, t)
    return t.map(lambda part: substituted(part, pairs)) if t.contained else t
