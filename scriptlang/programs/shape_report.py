"""Programs with the shapes of all their tensors, as `inspect` shows them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import types as T
from ..building import alone
from ..ir import Function, Graph, Value
from ..irtext import print_graph
from ..limits import Limits
from ..passes import freeze as freezing
from ..passes import optimize as speed
from ..passes import pipeline
from ..passes.memory_plan import MemoryPlan, plan_memory
from ..passes.shape_facts import Fact, TensorFacts
from ..passes.shapes import propagate
from .ahead.straight import Ahead
from .module import ScriptFunction, ScriptModule
from .optimizing import is_training
from .shape_text import input_facts


@dataclass
class ShapedGraph:
    """A graph and the facts about its values; `str` prints types with shapes.

    %y : Float(s0, 64, (s1+1)//2, 112) = aten::conv2d(...)
    """

    graph: Graph
    facts: Mapping[Value, Fact]

    def __str__(self) -> str:
        return print_graph(self.graph, self.type_text)

    def _repr_html_(self) -> str:
        """The HTML that notebooks show: a drawing with the shapes."""
        from ..pictures.notebook import graph_html

        return graph_html(self.graph, self.facts)

    def type_text(self, v: Value) -> str:
        fact = self.facts.get(v)
        return str(fact) if v.type == T.TENSOR and isinstance(fact, TensorFacts) else str(v.type)

    @property
    def coverage(self) -> tuple[int, int, int]:
        """Return (tensors of the graph, how many have a known shape, how many a known dtype)."""
        tensors = [
            v
            for node in self.graph.walk()
            for v in node.outputs
            if v.type == T.TENSOR and not v.is_constant
        ]
        facts = [self.facts.get(v) for v in tensors]
        known = [f for f in facts if isinstance(f, TensorFacts)]
        return (
            len(tensors),
            sum(f.shape is not None for f in known),
            sum(f.dtype is not None for f in known),
        )

    @property
    def memory_plan(self) -> MemoryPlan:
        return plan_memory(self.graph, self.facts)


@alone
def inspect(
    program: Any,
    shapes: Mapping[str, Any] | list[Any] | tuple[Any, ...] = (),
    *,
    method: str = "forward",
    optimized: bool = False,
    limits: Limits | None = None,
) -> Any:
    """The graph of a program with the shapes and dtypes of its tensors, as far as they are known.

    program: a ScriptFunction, a ScriptModule in eval mode, or the path of an archive.
    shapes: the shapes of the inputs, by name or in order: `"1,3,224,224"`, `"int64[1,s0]"`, `(1, 3,
    "height", "width")`, or example Tensors. Names stand for unknown sizes.
    optimized: show the graph that `optimize` makes instead of the frozen one.
    limits: what reading and compiling an archive may use.
    For the results of `value_and_grad` or `aot_backward`, `shapes` are arguments of a call, and the
    result is an AheadReport: both graphs, what is kept for the backward pass, and what is
    recomputed.
    Raises ShapeError for invalid shapes, or for inputs that the program does not have.
    """
    if isinstance(program, Ahead):
        if isinstance(shapes, Mapping):
            return program.inspect(**shapes)
        return program.inspect(*shapes)
    function, graph = graph_of(program, method, optimized, limits)
    facts = input_facts(function.schema, shapes)
    names = {a.name: v for a, v in zip(function.schema.arguments, graph.inputs)}
    return ShapedGraph(graph, propagate(graph, {names[n]: f for n, f in facts.items()}))


def memory_plan(
    program: Any,
    shapes: Mapping[str, Any] | list[Any] | tuple[Any, ...] = (),
    *,
    method: str = "forward",
    optimized: bool = False,
) -> MemoryPlan:
    """A memory plan for the tensors of a program, given the shapes of inputs (see `inspect`)."""
    return inspect(program, shapes, method=method, optimized=optimized).memory_plan


def graph_of(
    program: Any, method: str, optimized: bool, limits: Limits | None = None
) -> tuple[Function, Graph]:
    """A method and its graph: frozen, or as `optimize` makes it."""
    if isinstance(program, (str, os.PathLike)):
        from ..api import load

        program = load(program, limits=limits)
        program.eval()
    if isinstance(program, ScriptFunction):
        graph = program._function.graph.copy()
        pipeline.optimize(graph)
        if optimized:
            speed.run(graph)
        return program._function, graph
    if not isinstance(program, ScriptModule):
        raise TypeError(
            f"inspect takes a ScriptModule, a ScriptFunction or a path, not "
            f"{type(program).__name__}"
        )
    obj = program._object_
    if is_training(program):
        raise RuntimeError("inspect takes a module in eval mode; call .eval() on it first")
    if method not in obj.type.methods:
        raise AttributeError(
            f"{obj.type.short_name} has no method {method!r}; its methods: "
            f"{', '.join(obj.type.methods)}"
        )
    function = freezing.freeze(obj, (method,)).type.methods[method]
    if optimized:
        speed.optimize(function)
        return function, function.attributes[speed.OPTIMIZED]
    return function, function.graph
