"""The emitter: the state that the parts of the front end share while a function is compiled."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Block, Graph, Node, Value
from scriptlang.records import field, record
from scriptlang.source import Source, Span

from ..syntax.places import placed, span_of
from ..values.builder import Builder
from ..values.environment import Frame
from ..values.simple import SimpleValue
from ..values.sugared import Resolver, SugaredValue
from ..whole import whole
from .expressions import EXPRESSIONS
from .refused import FUNCTIONS, REFUSED


@record
class Loop:
    """A loop that is being emitted.

    `names` are the loop-carried variables, in the order of its parameters.  `condition` is the
    expression of a `while`, None for `for`.  `exits` are the nodes that end an iteration (see
    exits.py); `returns` are those of them that also leave the function, as pairs (node, returned
    value).  `breaks`: it contains a break.  `static`: it is unrolled, so that it cannot contain
    break and continue.
    """

    names: list[str]
    condition: ast.expr | None = None
    exits: list[Node] = field(default_factory=list)
    returns: list[tuple[Node, Value]] = field(default_factory=list)
    breaks: bool = False
    static: bool = False


@record(eq=False)
class Emitter:
    """The state of the compilation of one function.

    `result` is the declared type of the result, None if it is inferred.  `b` inserts nodes.
    `frame` has the names of the current block, `loops` the loops around it.  `returns` are the
    nodes that leave the function.  `errors` are those found so far: compilation continues after an
    error to report all of them.
    """

    graph: Graph
    source: Source
    resolver: Resolver
    name: str
    result: T.Type | None
    b: Builder
    frame: Frame = field(default_factory=Frame)
    loops: list[Loop] = field(default_factory=list)
    returns: list[Node] = field(default_factory=list)
    self_type: T.Type | None = None
    errors: list[CompileError] = field(default_factory=list)
    _uninitialized: dict[T.Type, Value] = field(default_factory=dict)

    # Places

    def span(self, node: ast.AST) -> Span:
        """The span of a syntax node in the source."""
        return span_of(node, self.source)

    # Expressions

    def expr(self, node: ast.expr, expected: T.Type | None = None) -> SugaredValue:
        """Emit an expression; returns its meaning.

        `expected` is the type that is wanted, which may determine the type of literals.
        """
        emit = EXPRESSIONS.get(type(node))
        if emit is None:
            self.refuse(node)
        return emit(self, node, expected)

    def value(self, node: ast.expr, expected: T.Type | None = None) -> Value:
        """Emit an expression; returns its value in the graph."""
        return self.expr(node, expected).value(self.b, self.span(node))

    def type(self, node: ast.expr) -> T.Type:
        """The type that an annotation names."""
        try:
            return self.resolver.type(node, self.span(node))
        except CompileError as error:
            raise placed(error, self.span(node))

    def refuse(self, node: ast.AST) -> NoReturn:
        what, help = REFUSED.get(type(node), (f"{type(node).__name__}", None))
        raise CompileError(f"{what} aren't supported", self.span(node), help)

    def report(self, error: CompileError) -> None:
        """Add an error to `errors`, unless it is there.

        Code of unrolled loops and of closures is compiled several times, with the same errors.
        """
        if all(
            error.message != e.message
            or error.span is None
            or e.span is None
            or error.span.place != e.span.place
            for e in self.errors
        ):
            self.errors.append(error)

    # Names

    def lookup(self, name: str, span: Span) -> SugaredValue:
        """The meaning of a name: a variable, else a name of the resolver, else a Python builtin."""
        found = self.frame.find(name)
        if found is not None:
            return found
        unusable = self.frame.find_unusable(name)
        if unusable is not None:
            raise unusable.error(span)
        try:
            found = self.resolver.value(name, span)
        except CompileError as error:
            raise placed(error, span)
        if found is None:
            found = whole.builtin(name)
        if found is None and name in FUNCTIONS:
            message = f"undefined value {name}: the function of Python is not part of the language"
            raise CompileError(message, span, FUNCTIONS[name])
        if found is None:
            raise CompileError(f"undefined value {name}", span, self._near(name))
        return found

    def _near(self, name: str) -> str | None:
        import difflib

        near = difflib.get_close_matches(name, self.frame.names(), 1)
        return (
            f"did you mean {near[0]!r}?" if near else "define or import it at the top of the file"
        )

    # Blocks

    @contextmanager
    def block(self, block: Block, frame: Frame | None = None) -> Iterator[Frame]:
        """Emit into a block, in `frame` or a new frame; restores the current frame at the end."""
        saved = self.frame
        self.frame = frame or Frame(saved)
        try:
            with self.graph.at(block):
                yield self.frame
        finally:
            self.frame = saved

    def uninitialized(self, type: T.Type) -> Value:
        """A value of this type that is never read.  It is made once, at the start of the graph."""
        value = self._uninitialized.get(type)
        if value is None:
            span = Span(self.source, 0, 0)
            node = self.graph.create("prim::Uninitialized", (), (type,), span)
            first = next(self.graph.nodes, self.graph.block.end)
            value = self._uninitialized[type] = node.insert_before(first).output
        return value

    def drop_after(self, before: Node) -> None:
        """Remove the nodes between `before` and the insertion point, and references to them."""
        node = self.graph.insert_point.prev
        while node is not before:
            previous = node.prev
            node.destroy()
            node = previous
        self.returns = [n for n in self.returns if self._is_placed(n)]
        for loop in self.loops:
            loop.exits = [n for n in loop.exits if self._is_placed(n)]
            loop.returns = [pair for pair in loop.returns if self._is_placed(pair[0])]
        self._uninitialized = {
            t: v for t, v in self._uninitialized.items() if self._is_placed(v.node)
        }

    def _is_placed(self, node: Node) -> bool:
        """Whether a node, and all nodes whose blocks contain it, are still in the graph."""
        block: Block | None = node.block
        while block is not None and block is not self.graph.block:
            block = block.owner.block if block.owner is not None else None
        return block is not None

    def simple(self, value: Value) -> SimpleValue:
        return self.b.simple(value)

    def to_bool(self, value: SugaredValue, span: Span) -> Value:
        """The truth value of a value, as `bool(value)`."""
        plain = value.value(self.b, span)
        if plain.type == T.BOOL:
            return plain
        if isinstance(plain.type, T.ClassType):
            for method in ("__bool__", "__len__"):
                if method in plain.type.methods:
                    result = self.b.call_method(plain, method, (), {}, span)
                    if method == "__bool__" and result.type(self.b, span) != T.BOOL:
                        found = result.type(self.b, span).annotation
                        raise CompileError(
                            f"expected a bool expression for condition but found {found}",
                            span,
                            f"return a bool from __bool__ of {plain.type.short_name}",
                        )
                    return self.to_bool(result, span)
        # As in PyTorch, a value of type number is first converted to int: so 0.5 is false.
        if plain.type == T.NUMBER:
            plain = self.b.emit("aten::Int", [plain], span)
        if plain.type in (T.INT, T.FLOAT, T.TENSOR):
            return self.b.emit("aten::Bool", [plain], span)
        if isinstance(plain.type, (T.ListType, T.DictType)) or plain.type == T.STR:
            return self.b.is_filled(plain, span)
        if T.may_be_none(plain.type):
            self._no_truth(plain, span, "write `x is not None`")
        self._no_truth(plain, span, "compare it with what it should be")

    @staticmethod
    def _no_truth(value: Value, span: Span, help: str | None) -> NoReturn:
        raise CompileError(
            f"Could not cast value of type {value.type.annotation} to bool", span, help
        )
