"""The node of an operator that has a rule."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from ... import types as T
from ...building import alone
from ...tensors import Tensor
from ..calling.current import mode
from . import helpers
from .nodes import FREED, Node
from .rules import SIZE, TANGENT, Expression, Rule, size_of
from .saved import Saved, holds_tensor, keep, read
from .state import Edge, edge_of

SHAPE_METHODS = frozenset(
    "size dim numel is_complex is_floating_point dtype shape ndim element_size stride "
    "storage_offset is_contiguous".split()
)
"""Tensor attributes and methods that work if only shape and type are saved."""

SHAPE_FUNCTIONS = frozenset({"zeros_like", "ones_like", "empty_like", "full_like"})
"""Operators that only use the shape and type of their first argument."""


class Reading:
    """How one expression of a rule is evaluated: where the value of each name comes from.

    inputs: the indices of the arguments whose gradients it computes. gives_list: whether the
    operator gives a list of tensors. names: for each name its kind
    ("argument", "result", "size", "size of result", "grad", "needs" or "tangent"), its number, and
    whether shape and type suffice.
    """

    def __init__(self, expression: Expression, rule: Rule) -> None:
        schema = rule.operator.schema
        self.expression = expression
        self.gives_list = len(schema.returns) == 1 and is_list_of_tensors(schema.returns[0].type)
        self.inputs = [schema.index(name) for name in expression.inputs]
        shapes = names_of_shapes(expression.text, rule.namespace)
        self.names: list[tuple[str, Any, bool]] = []
        for name in expression.names:
            if expression.is_forward and (name == "tangent" or name.removesuffix(TANGENT) != name):
                of_tangent = expression.inputs[0] if name == "tangent" else name[: -len(TANGENT)]
                self.names.append(("tangent", schema.index(of_tangent), False))
            elif name in rule.grads:
                self.names.append(("grad", rule.grads.index(name), False))
            elif schema.index(name) is not None:
                self.names.append(("argument", schema.index(name), name in shapes))
            elif name in rule.results:
                self.names.append(("result", rule.results.index(name), name in shapes))
            elif name == "needs":
                self.names.append(("needs", 0, False))
            elif (of := name.removesuffix(SIZE)) in rule.results and schema.index(of) is None:
                self.names.append(("size of result", rule.results.index(of), False))
            else:
                self.names.append(("size", schema.index(of), False))


def names_of_shapes(text: str, namespace: dict[str, Any]) -> set[str]:
    """The names of which an expression only uses shape and type."""
    return shapes_in(ast.parse(f"(\n{text}\n)", mode="eval"), namespace)


def shapes_in(tree: ast.AST, namespace: dict[str, Any]) -> set[str]:
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    used: dict[str, bool] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            only = asks_shape(node, parents[node], namespace)
            used[node.id] = used.get(node.id, True) and only
    return {name for name, only in used.items() if only}


def asks_shape(name: ast.Name, parent: ast.AST, namespace: dict[str, Any]) -> bool:
    if isinstance(parent, ast.Attribute):
        return parent.attr in SHAPE_METHODS
    if not isinstance(parent, ast.Call) or name not in parent.args:
        return False
    at, called = parent.args.index(name), parent.func
    if isinstance(called, ast.Name):
        function = namespace.get(called.id)
        return isinstance(function, FunctionType) and at in shape_parameters(function)
    return (
        isinstance(called, ast.Attribute)
        and isinstance(called.value, ast.Name)
        and called.value.id == "torch"
        and called.attr in SHAPE_FUNCTIONS
        and at == 0
    )


@alone
def shape_parameters(function: FunctionType) -> frozenset[int]:
    """The indices of the arguments of which a helper only uses shape and type."""
    found = _shapes.get(function)
    if found is None:
        count = function.__code__.co_argcount
        _shapes[function] = frozenset(range(count))  # optimistic answer for recursive calls
        found = _shapes[function] = asked_for_shape(function)
    return found


_shapes: dict[FunctionType, frozenset[int]] = {}


def asked_for_shape(function: FunctionType) -> frozenset[int]:
    tree: Any = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    body = ast.Module(tree.body, [])
    stored = {
        n.id for n in ast.walk(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    shapes = shapes_in(body, function.__globals__) - stored
    return frozenset(k for k, a in enumerate(tree.args.args) if a.arg in shapes)


class Lists:
    """The range of a node's edges that belong to a list of tensors."""

    __slots__ = ("at", "count")

    def __init__(self, at: int, count: int) -> None:
        self.at, self.count = at, count


class RuleNode(Node):
    """The node of a call of an operator with a rule.

    saved: (kind, number, whether only shape and type are saved) -> a value that expressions use;
    the dict is None after release. places: argument -> the index of its edge, or the range of edges
    of a list. fits: for each edge, the size and dtype of its gradient.
    """

    __slots__ = ("fits", "listed", "places", "plan", "saved", "where")

    def __init__(self, plan: Any, values: Sequence[Any], inputs: Sequence[int]) -> None:
        edges: list[Edge | None] = []
        self.fits: list[tuple[Any, ...] | None] = []
        self.places: dict[int, int | Lists] = {}
        for i in inputs:
            value = values[i]
            if isinstance(value, (list, tuple)):
                self.places[i] = Lists(len(edges), len(value))
                for t in value:
                    self.add(edges, t)
            else:
                self.places[i] = len(edges)
                self.add(edges, value)
        super().__init__(edges, plan.results)
        self.plan = plan
        self.listed = False
        self.where = None if mode.program is None else mode.program.place()
        self.saved: dict[Any, Any] | None = {}
        for reading in plan.readings:
            if any(self.has_edge(i) for i in reading.inputs):
                for kind, number, is_shape in reading.names:
                    if kind == "argument":
                        self.save(number, is_shape, values[number])
                    elif kind == "size":
                        self.saved[kind, number, False] = size_of(values[number])

    def add(self, edges: list[Any], tensor: Tensor | None) -> None:
        edge = None if tensor is None else edge_of(tensor)
        edges.append(edge)
        if tensor is None or edge is None:
            self.fits.append(None)
        else:
            self.fits.append((tensor._size, tensor.dtype))

    def save(self, number: int, is_shape: bool, value: Any) -> None:
        if not is_shape or ("argument", number, False) not in self.saved:
            self.saved["argument", number, is_shape] = keep(value, is_shape)

    def has_edge(self, argument: int) -> bool:
        place = self.places.get(argument)
        if isinstance(place, Lists):
            return any(e is not None for e in self.edges[place.at : place.at + place.count])
        return place is not None and self.edges[place] is not None

    def finish(self, results: Sequence[Any]) -> None:
        """Save what expressions use of the results."""
        for reading in self.plan.readings:
            if any(self.has_edge(i) for i in reading.inputs):
                for kind, number, is_shape in reading.names:
                    if kind == "result":
                        value = results[number]
                        if isinstance(value, Tensor) and not is_shape:
                            self.saved[kind, number, False] = Saved(value, number)
                        else:
                            self.saved[kind, number, is_shape] = keep(value, is_shape)
                    elif kind == "size of result":
                        self.saved[kind, number, False] = size_of(results[number])

    def name(self) -> str:
        return self.plan.title

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        found = super().next_functions
        at = self.plan.number_at
        return found if at is None else (*found[:at], (None, 0), *found[at:])

    def place(self) -> str:
        return "" if self.where is None else self.where()

    def __getattr__(self, name: str) -> Any:
        """What is kept: `_saved_self` is the argument `self`, `_raw_saved_self` what keeps it."""
        is_raw = name.startswith("_raw_saved_")
        if not is_raw and not name.startswith("_saved_"):
            raise AttributeError(f"{self.name()!r} object has no attribute {name!r}")
        word = name.removeprefix("_raw" if is_raw else "").removeprefix("_saved_")
        plan: Any = self.plan
        schema, rule = plan.schema, plan.rule
        kind, number = "argument", schema.index(word)
        if number is None and word in rule.results:
            kind, number = "result", rule.results.index(word)
        read_by = {key[:2] for reading in plan.readings for key in reading.names if not key[2]}
        if (kind, number) not in read_by:
            raise AttributeError(f"{self.name()!r} object has no attribute {name!r}")
        if self.saved is None:
            raise RuntimeError(FREED)
        kept = self.saved.get((kind, number, False))
        return kept if is_raw else read(kept, self)

    def apply(self, grads: list[Tensor | None], wanted: list[bool]) -> Sequence[Tensor | None]:
        if self.saved is None:
            raise RuntimeError(FREED)
        made: list[Tensor | None] = [None] * len(self.edges)
        if all(g is None for g in grads):
            return made
        if self.plan.recipe is not None and not (mode.enabled or mode.levels):
            found: list[Tensor | None] = self.plan.recipe.apply(self, grads, wanted)
            return found
        for reading in self.plan.readings:
            needs = [self.is_wanted(i, wanted) for i in reading.inputs]
            if not any(needs):
                continue
            values = [self.value(name, grads, needs) for name in reading.names]
            if mode.enabled or mode.levels:
                self.run(reading, values, needs, made)
            else:
                mode.is_bare = True
                mode.tell()
                try:
                    self.run(reading, values, needs, made)
                finally:
                    mode.is_bare = False
                    mode.tell()
        return made

    def run(self, reading: Reading, values: list[Any], needs: list[bool], made: list[Any]) -> None:
        """Evaluate an expression, and store the gradients that it gives."""
        result = reading.expression.function(*values)
        parts = result if len(reading.inputs) > 1 else (result,)
        for argument, part, need in zip(reading.inputs, parts, needs):
            if need and part is not None:
                self.put(made, self.places[argument], part)

    def is_wanted(self, argument: int, wanted: list[bool]) -> bool:
        place = self.places.get(argument)
        if isinstance(place, Lists):
            return any(wanted[place.at : place.at + place.count])
        return place is not None and wanted[place]

    def value(self, name: tuple[Any, ...], grads: list[Any], needs: list[bool]) -> Any:
        kind, number, is_shape = name
        if kind == "grad":
            return grads if self.listed else grads[number]
        if kind == "needs":
            return needs
        saved = self.saved
        key = (kind, number, is_shape)
        return read(saved[key if key in saved else (kind, number, False)], self)

    def put(self, made: list[Any], place: int | Lists, grad: Any) -> None:
        """Store the gradient of an argument, or of each tensor of a list, at its edges."""
        if isinstance(place, int):
            made[place] = self.fitted(grad, place)
            return
        for k, part in enumerate(grad):
            if part is not None:
                made[place.at + k] = self.fitted(part, place.at + k)

    def fitted(self, grad: Tensor, place: int) -> Tensor | None:
        fit = self.fits[place]
        if fit is None:
            return None
        size, dtype = fit
        if grad._size == size and grad.dtype is dtype:
            return grad
        return helpers.fitted(grad, list(size), dtype.code, dtype.kind == "c")

    def release(self) -> None:
        if self.saved is not None and any(map(holds_tensor, self.saved.values())):
            self.saved = None


def is_list_of_tensors(type: T.Type) -> bool:
    if isinstance(type, T.OptionalType):
        type = type.element
    return isinstance(type, T.ListType) and T.without_none(type.element) == T.TENSOR


def is_tensor_type(type: T.Type) -> bool:
    return T.without_none(type) == T.TENSOR
