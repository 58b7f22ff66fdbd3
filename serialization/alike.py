"""Copies the graph of a method if another class has a method with the same text, instead of
compiling it again.

In an archive each use of a module has a class of its own (`___torch_mangle_3.Conv2d`), so most
methods of a network occur many times.  A body means the same in two classes if the members of
`self` and the arguments that it names have the same types, except for the names of classes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
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

MOST_LOOKS = 1 << 22
"""How much is compared for one archive, whether that finds a copy or not: types, and words of
bodies that are searched for among the members of classes.  MobileNetV2 needs 14,000."""

WORD = re.compile(r"\w+")


class Compiled(NamedTuple):
    """A compiled method, and the offset of its body in its source."""

    owner: T.ClassType
    function: Function
    graph: Graph
    begin: int


Members = tuple[T.ClassType, Mapping[str, Any]]
"""A class, and its attributes, constants or methods by name."""


class Text(NamedTuple):
    """The text of a body, and the words in it."""

    text: str
    words: frozenset[str]


class Bodies:
    """The compiled methods of an archive by the text of their bodies."""

    def __init__(self) -> None:
        self._by_text: dict[str, tuple[Text, list[Compiled]]] = {}
        self._unnamed: dict[T.ClassType, set[str]] = {}
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
        if text not in self._by_text:
            self._by_text[text] = Text(text, frozenset(WORD.findall(text))), []
        body, known = self._by_text[text]
        for other in known[:MOST_TRIED]:
            likeness = Likeness(body, self._looks, self._unnamed)
            are_alike = likeness.methods(other.owner, other.function, owner, function)
            self._looks = likeness.looks
            if are_alike:
                graph = copy(other, function.name, likeness.pairs, file, begin)
                if graph is not None:
                    return graph
        graph = emit()
        known.append(Compiled(owner, function, graph, begin))
        return graph


class Likeness:
    """Compares what the same text means in two classes, except for the names of classes.

    pairs: which class of the second meaning corresponds to which one of the first; pairs are added
    as they are found.
    unnamed: by classes, the names of members that a text may use without having them as words.
    looks: how much may still be compared, see MOST_LOOKS; below 0, nothing counts as alike.
    """

    def __init__(self, body: Text, looks: int, unnamed: dict[T.ClassType, set[str]]) -> None:
        self.body, self.looks, self.unnamed = body, looks, unnamed
        self.pairs: dict[T.ClassType, T.ClassType] = {}
        self._paired: set[T.ClassType] = set()
        self._depth = 0

    def methods(self, a: T.ClassType, mine: Function, b: T.ClassType, yours: Function) -> bool:
        """Whether the text means the same as the body of method `mine` of `a` and of `yours` of
        `b`.  It may, if this returns False: it was too much work to say."""
        try:
            return self._methods(a, mine, b, yours)
        except RecursionError:
            return False

    def _methods(self, a: T.ClassType, mine: Function, b: T.ClassType, yours: Function) -> bool:
        return (
            self.types(a, b)
            and self.schemas(mine.schema, yours.schema)
            and not any(self.is_named(t) for pair in self.pairs.items() for t in pair)
        )

    def is_named(self, t: T.ClassType) -> bool:
        """Whether the text may have the name of a class."""
        self.looks -= 1
        if not self.body.words.issuperset(WORD.findall(t.short_name)):
            return False
        self.looks -= len(self.body.text) // 16
        return self.looks < 0 or t.name in self.body.text

    def types(self, a: T.Type, b: T.Type) -> bool:
        self.looks -= 1
        if self.looks < 0:
            return False
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
        return (
            self.members(
                (a, a.slots_by_name),
                (b, b.slots_by_name),
                lambda x, y: self.types(a.attributes[x].type, b.attributes[y].type),
            )
            and self.members((a, a.constants), (b, b.constants), self.constants)
            and self.members(
                (a, a.methods), (b, b.methods), lambda x, y: self.schemas(x.schema, y.schema)
            )
        )

    def members(self, a: Members, b: Members, alike: Callable[[Any, Any], bool]) -> bool:
        """Whether the members of two classes that the text names, or may use implicitly, are
        alike."""
        mine, yours = self.named(*a), self.named(*b)
        return (
            self.looks >= 0
            and mine == yours
            and all(alike(a[1][name], b[1][name]) for name in mine)
        )

    def named(self, t: T.ClassType, members: Mapping[str, Any]) -> set[str]:
        """The names of members that the text has, or may use without naming them."""
        if t not in self.unnamed:
            names = (*t.slots_by_name, *t.constants, *t.methods)
            self.unnamed[t] = {n for n in names if is_implicit(n) or not WORD.fullmatch(n)}
        words, unnamed = self.body.words, self.unnamed[t]
        self.looks -= 1 + min(len(words), len(members)) + min(len(unnamed), len(members))
        return members.keys() & words | members.keys() & unnamed

    def constants(self, a: Any, b: Any) -> bool:
        if a is b or type(a) is not type(b):
            return a is b
        text = repr(a)
        self.looks -= len(text) // 16
        return text == repr(b)

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
