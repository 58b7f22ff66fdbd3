"""Copies the graph of a method if another class has a method with the same text, instead of
compiling it again.

In an archive each use of a module has a class of its own (`___torch_mangle_3.Conv2d`), so most
methods of a network occur many times.  A body means the same in two classes if the members of
`self` and the arguments that it names have the same types, except for the names of classes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import types as T
from ..ir import Function, Graph, Node, Value, clone_block
from ..schema import Schema
from ..source import Span
from .code_files import CodeFile

MANGLED = re.compile(r"___torch_mangle_\d+\.")
MOST_TRIED = 8
"""How many compiled methods with the same text are compared before a method is compiled."""

MOST_DEEP = 32
"""How deep classes are compared that are the types of attributes of classes."""

MOST_LOOKS = 1 << 20
"""How many members of classes are compared for one archive: each is searched for in a text."""


class Compiled(NamedTuple):
    """A compiled method, and the offset of its body in its source."""

    owner: T.ClassType
    function: Function
    graph: Graph
    begin: int


class Bodies:
    """The compiled methods of an archive by the text of their bodies."""

    def __init__(self) -> None:
        self._by_text: dict[str, list[Compiled]] = {}
        self._looks = MOST_LOOKS

    def graph_of(
        self,
        function: Function,
        file: CodeFile,
        node: ast.FunctionDef,
        owner: T.ClassType,
        emit: Callable[[], Graph],
    ) -> Graph:
        """The graph of a method: a copy of the graph of another class's method, or what `emit`
        returns."""
        begin = file.offset(node.body[0].lineno, node.body[0].col_offset)
        text = file.source.text[begin : file.span(node).end]
        known = self._by_text.setdefault(text, [])
        for other in known[:MOST_TRIED]:
            likeness = Likeness(text, self._looks)
            if likeness.methods(other.owner, other.function, owner, function):
                graph = copy(other, function.name, likeness.pairs, file, begin)
                if graph is not None:
                    return graph
            self._looks = likeness.looks
        graph = emit()
        known.append(Compiled(owner, function, graph, begin))
        return graph


class Likeness:
    """Compares what the same text means in two classes, except for the names of classes.

    pairs: which class of the second meaning corresponds to which one of the first; pairs are added
    as they are found.
    looks: how many members of classes may still be compared; at 0, nothing counts as alike.
    """

    def __init__(self, text: str, looks: int) -> None:
        self.text, self.looks = text, looks
        self.pairs: dict[T.ClassType, T.ClassType] = {}
        self._paired: set[T.ClassType] = set()
        self._depth = 0

    def methods(self, a: T.ClassType, mine: Function, b: T.ClassType, yours: Function) -> bool:
        """Whether the text means the same as the body of method `mine` of `a` and of `yours` of
        `b`."""
        return (
            self.types(a, b)
            and self.schemas(mine.schema, yours.schema)
            and not any(t.name in self.text for pair in self.pairs.items() for t in pair)
        )

    def types(self, a: T.Type, b: T.Type) -> bool:
        if isinstance(a, T.ClassType):
            if a in self.pairs:
                return self.pairs[a] is b
            if (
                not isinstance(b, T.ClassType)
                or b in self._paired
                or MANGLED.sub("", a.name) != MANGLED.sub("", b.name)
            ):
                return False
            self.pairs[a] = b
            self._paired.add(b)
            self._depth += 1
            are_alike = a is b or self._depth <= MOST_DEEP and self.classes(a, b)
            self._depth -= 1
            return are_alike
        if type(a) is not type(b) or len(a.contained) != len(b.contained):
            return False
        if not a.contained or getattr(a, "name", None):
            return a == b
        return getattr(a, "fields", None) == getattr(b, "fields", None) and all(
            map(self.types, a.contained, b.contained)
        )

    def classes(self, a: T.ClassType, b: T.ClassType) -> bool:
        if (
            a.is_module != b.is_module
            or a.hooks != b.hooks
            or a.pre_hooks != b.pre_hooks
            or a.properties
            or b.properties
        ):
            return False
        mine, yours = ({x.name: x for x in t.attributes} for t in (a, b))
        return (
            self.members(mine, yours, lambda x, y: self.types(x.type, y.type))
            and self.members(
                a.constants,
                b.constants,
                lambda x, y: x is y or (type(x) is type(y) and repr(x) == repr(y)),
            )
            and self.members(a.methods, b.methods, lambda x, y: self.schemas(x.schema, y.schema))
        )

    def members(
        self, a: dict[str, Any], b: dict[str, Any], alike: Callable[[Any, Any], bool]
    ) -> bool:
        """Whether the members of two classes that the text names, or may use implicitly, are
        alike."""
        self.looks -= len(a) + len(b)
        if self.looks < 0:
            return False
        mine, yours = (
            {name for name in members if name in self.text or is_implicit(name)}
            for members in (a, b)
        )
        return mine == yours and all(alike(a[name], b[name]) for name in mine)

    def schemas(self, a: Schema, b: Schema) -> bool:
        if len(a.arguments) != len(b.arguments):
            return False
        for x, y in zip((*a.arguments, *a.returns), (*b.arguments, *b.returns)):
            if (
                x.name != y.name
                or x.kwarg_only != y.kwarg_only
                or not (
                    x.default is y.default
                    or plain(x.default)
                    and x.default == y.default
                    and type(x.default) is type(y.default)
                )
                or not self.types(x.type, y.type)
            ):
                return False
        return True


def is_implicit(name: str) -> bool:
    """Whether expressions such as `x()`, `x[0]` or `len(x)` may call a method of this name."""
    return name == "forward" or name.startswith("__")


def plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str))


def copy(
    other: Compiled, name: str, pairs: dict[T.ClassType, T.ClassType], file: CodeFile, begin: int
) -> Graph | None:
    """A copy of the graph of `other` with the classes in `pairs` replaced, and spans in `file`.

    It is None if an attribute of a node may contain a class, since these are not replaced.
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
    """The span of a node, moved to the file of the copy."""
    old = node.span
    code = getattr(old, "code", None)
    if code is None:  # in another source, such as the body of a composite operator
        return old
    new = spans.get(id(old))
    if new is None:
        new = spans[id(old)] = file.original(
            Span(file.source, code.start + shift, code.end + shift)
        )
    return new


def substituted(t: T.Type, pairs: dict[T.ClassType, T.ClassType]) -> T.Type:
    if isinstance(t, T.ClassType):
        return pairs.get(t, t)
    return t.map(lambda part: substituted(part, pairs)) if t.contained else t
