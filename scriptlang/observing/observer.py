"""Runs programs with additional operators that report to an observer.

The engines know nothing about observers: an observer compiles a function again, from the graph that
the engine runs, with its own nodes in it. So programs that are not observed run at full speed.
Calls that record derivatives run as usual and are only counted (`unseen`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .. import types as T
from ..building import alone
from ..errors import CompileError, GraphError, MissingOperatorError
from ..interpreter import gradients
from ..interpreter.arguments import bind
from ..interpreter.code import Code
from ..interpreter.engine import Engine
from ..interpreter.link import link
from ..interpreter.prepare import compiled, fused_code, running_code, running_graph
from ..interpreter.reach import reachable
from ..interpreter.vm import Interpreter, Program
from ..ir import Function, Graph, Node, Value
from ..limits import Limits
from ..ops.calling.current import calls
from ..source import Span

CHEAP = frozenset(
    (
        *("aten::size", "aten::dim", "aten::len", "aten::numel", "aten::__getitem__"),
        *("aten::append", "aten::is_floating_point", "aten::device", "aten::warn"),
        *("aten::__contains__", "aten::__is__", "aten::__isnot__", "aten::stride"),
        *("aten::is_complex", "aten::keys", "aten::values", "aten::items", "aten::_set_item"),
    )
)
"""Operators that take less time than recording them."""


class Place:
    """An operator of an observed program.

    node: the node in the observed graph. span, callers: where it comes from. inside: the operators
    of a fused group.
    """

    def __init__(self, number: int, node: Node, function: Function) -> None:
        self.number, self.node, self.function = number, node, function
        self.kind = node.qualified_name
        self.span: Span | None = node.span
        self.callers = node.callers
        group = node.attributes.get("Subgraph")
        inner = group.walk() if isinstance(group, Graph) else ()
        self.inside = [n.qualified_name for n in inner if n.kind != "prim::Constant"]

    @property
    def line(self) -> str:
        """`file:line`; "" if unknown."""
        return self.span.place.rpartition(":")[0] if self.span else ""


def is_observed(node: Node) -> bool:
    """Whether a node works on tensors: it is such an operator, or a fused group."""
    if node.blocks or node.kind.startswith("prim::") or node.kind in CHEAP:
        return False
    if node.schema is None and "Subgraph" not in node.attributes:
        return False
    return any(holds_tensor(v.type) for v in (*node.inputs, *node.outputs))


def holds_tensor(t: T.Type) -> bool:
    return any(part == T.TENSOR for part in t.walk())


class Observer:
    """Runs the calls of programs while it is active; `put_in` adds its nodes to their graphs."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.unseen = 0
        self.codes: dict[Any, Code] = {}
        self.programs: dict[Any, Any] = {}

    def put_in(self, graph: Graph, places: list[Place]) -> None:
        """Add nodes around those of `places`, which are in the graph's order."""
        raise NotImplementedError

    def start(self) -> None:
        if calls.observer is not None:
            raise RuntimeError("another profile or watch is active; leave that first")
        if calls.thread:
            raise RuntimeError("a program is being traced; observe it when it is made")
        calls.observe(self)

    def stop(self) -> None:
        calls.observe(None)

    def instead_of(self, engine: Engine) -> ObservedEngine:
        return ObservedEngine(self, engine)

    def wants(self, place: Place) -> bool:
        return True

    def applies(self, args: Sequence[Any]) -> bool:
        """Whether calls with these arguments are observed."""
        return True

    # Programs

    @alone
    def code_of(self, function: Function, fused: bool) -> Code:
        """The code of a function with the observer's nodes."""
        key = function, fused
        if key not in self.codes:
            graph = running_graph(function, fused)
            nodes = [n for n in graph.walk() if is_observed(n)]
            places = [Place(len(self.places) + i, n, function) for i, n in enumerate(nodes)]
            self.places += places
            self.put_in(graph, [p for p in places if self.wants(p)])
            self.codes[key] = compiled(graph, function)
        return self.codes[key]

    @alone
    def python_program(self, function: Function) -> Program:
        key = function, "python"
        if key not in self.programs:
            code = self.code_of(function, False)
            self.programs[key] = Program(code, link(code))
        return self.programs[key]

    @alone
    def native_program(self, function: Function, classes: frozenset[T.ClassType]) -> Any:
        """A program for the native engine. Bodies of composite operators are not observed."""
        from ..interpreter.native_program import NativeProgram

        key = function, classes
        if key not in self.programs:
            own = reachable(function, code_of=running_code, classes=classes)

            def code_of(f: Function) -> Code:
                return self.code_of(f, True) if f in own else fused_code(f)

            made = self.programs[key] = NativeProgram(function, classes, code_of)
            _ = made.program.register_code  # lower it now, not in the first call
        return self.programs[key]


class ObservedEngine:
    """Runs functions like an engine, but with an observer's nodes."""

    def __init__(self, observer: Observer, engine: Engine) -> None:
        self.observer, self.engine = observer, engine

    def run(
        self,
        function: Function,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
    ) -> Any:
        if self.observer.applies(args):
            call = self.observed(function, args, kwargs, limits)
            if call is not None:
                return call()
            self.observer.unseen += 1
        return self.engine.run(function, args, kwargs, limits)

    def observed(
        self,
        function: Function,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None,
        limits: Limits | None,
    ) -> Callable[[], Any] | None:
        """A function that makes the observed call; None if the engine has to run it as usual."""
        if calls.recorder is not None and gradients.is_wanted(args, kwargs):
            return None
        chosen: Any = self.engine
        if hasattr(chosen, "chosen"):
            chosen = chosen.chosen(function, args, kwargs)
        values = bind(function.schema, args, kwargs)
        make = run_natively if chosen.name == "native" else run_in_python
        try:
            return make(self.observer, function, values, limits)
        except (CompileError, GraphError, MissingOperatorError):
            return None  # the engine reports what is wrong


def run_in_python(
    observer: Observer, function: Function, values: list[Any], limits: Limits | None
) -> Callable[[], Any]:
    program = observer.python_program(function)
    return lambda: Interpreter(observer.python_program, limits).run(program, values)


def run_natively(
    observer: Observer, function: Function, values: list[Any], limits: Limits | None
) -> Callable[[], Any] | None:
    from ..interpreter.native_engine import NO_LIMITS, NativeError, native_limits
    from ..ops.shared.generator import default_generator

    classes = classes_of(function, values)
    program = observer.native_program(function, classes)
    if program.asks:
        return None
    if default_generator.is_ahead:
        default_generator.hand_over()

    def call() -> Any:
        allowed = NO_LIMITS if limits is None else native_limits(limits)
        try:
            return program.program.run(program.name, values, *allowed)
        except NativeError as e:
            raise program.failure(e, limits) from None

    return call


def classes_of(function: Function, values: Iterable[Any]) -> frozenset[T.ClassType]:
    """The classes of objects among the arguments, if the function looks up methods by name."""
    from ..interpreter.reach import calls_by_name, classes_behind

    if not any(map(calls_by_name, reachable(function).values())):
        return frozenset()
    return classes_behind(function, values)


def tensor_values(values: Iterable[Value]) -> list[Value]:
    """Those of the values that are tensors or lists of tensors."""
    return [v for v in values if T.without_none(v.type) in (T.TENSOR, T.ListType(T.TENSOR))]
