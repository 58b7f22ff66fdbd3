"""How calls of an operator are recorded: its Plan, chosen by the kind of operator."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from ... import types as T
from ...schema import Schema
from ...tensors import Tensor
from .. import table
from ..calling import dispatch
from ..calling.current import mode
from ..shared.form_kernels import OUT_KINDS
from .inference import check_writes
from .nodes import AccumulateGrad, Node, Undefined
from .rule_node import Reading, RuleNode, is_list_of_tensors, is_tensor_type
from .rules import Rule, rule_of
from .state import alias, count_write, edge_of, needs, set_node, state_of, version_of
from .tangents import carry
from .views import NO_GRAD, SEVERAL, check_write, note_view, rebase, run_quietly

RESIZING = frozenset({"aten::resize_", "aten::resize_as_", "aten::set_"})
"""Operators that resize a tensor or replace its memory; the tensor must not require a gradient."""


class Through:
    """Operators that are not recorded: they call recorded operators, or have nothing to record.

    body: the kernel that calls recorded operators; None if there is nothing to record. Another
    kernel runs only where no operator of the body would have more to do than to compute.
    """

    def __init__(self, op: table.Operator) -> None:
        self.body = op.kernel if op.is_composite else None
        self.is_plain = not op.may_alias

    def run(self, kernel: Callable[..., Any], values: list[Any]) -> Any:
        if self.body is None:
            return kernel(*values)
        may_record = mode.enabled or bool(mode.levels)
        if self.is_plain and not (may_record and any(map(is_known, values))):
            return kernel(*values)
        return self.body(*values)


def is_known(value: Any) -> bool:
    """Whether derivatives know a tensor, or one in a list."""
    if isinstance(value, Tensor):
        return value._requires_grad or value._autograd is not None
    return isinstance(value, (list, tuple)) and any(map(is_known, value))


TAKING_NUMBERS = frozenset({"add", "sub", "mul", "div", "where"})
"""Operators for whose overloads on a number PyTorch, called from Python, runs that on a tensor."""

NUMBERS = {
    "clamp": 1,
    "clamp.Tensor": 0,
    "div.Scalar_mode": 2,
    "div.Tensor_mode": 2,
    "embedding_bag.padding_idx": 0,
    "fmod.Tensor": 1,
    "lerp.Tensor": 1,
    "linalg_pinv.atol_rtol_float": 0,
    "masked_fill.Tensor": 1,
    "max.dim": 0,
    "min.dim": 0,
    "pow.Scalar": 2,
    "pow.Tensor_Scalar": 0,
    "pow.Tensor_Tensor": 1,
    "remainder.Tensor": 1,
    "rsub.Scalar": 1,
    "std.correction": 0,
    "std.dim": 0,
    "std_mean.correction": 0,
    "std_mean.dim": 0,
    "var.correction": 0,
    "var.dim": 0,
    "var_mean.correction": 0,
    "var_mean.dim": 0,
    "xlogy.Scalar_Other": 2,
}
"""The numbers in names of nodes that are not the index of the overload."""


def tensor_places(schema: Schema) -> tuple[list[int], list[int]]:
    """The indices of the arguments that are tensors, and of those that are lists of them."""
    arguments = list(enumerate(schema.arguments))
    tensors = [i for i, a in arguments if is_tensor_type(a.type)]
    return tensors, [i for i, a in arguments if is_list_of_tensors(a.type)]


class Plan:
    """How calls of one operator are recorded; this class is for those that write no arguments.

    op: the operator; rule: its rule, or None.
    tensors, lists: the indices of arguments that are tensors, and lists of them; counted,
    counted_lists: those of them that have a gradient, so that a call is recorded for them.
    written: the indices of the arguments that are written.
    inputs: the arguments that a node has edges for.  readings: the expressions of the rule.
    results: how many results a node has.
    views: for each result, the argument that it is a view of, or None.
    recipe: what the native engine records calls by, and goes back by, or None; see recipes.py.
    """

    recipe: Any = None

    def __init__(self, op: table.Operator) -> None:
        schema = op.schema
        self.op, self.schema = op, schema
        self.rule: Rule | None = rule_of(op)
        self.tensors, self.lists = tensor_places(schema)
        self.written = [i for i, _ in schema.written if i in self.tensors or i in self.lists]
        self.results = max(1, len(schema.returns))
        rule = self.rule
        self.readings = [] if rule is None else [Reading(e, rule) for e in rule.gradients]
        ruled: set[Any] = {i for reading in self.readings for i in reading.inputs}
        ruled |= set(self.written)
        self.inputs = sorted(ruled, key=lambda i: (i not in self.written, i))
        self.is_none = rule is not None and rule.is_none
        counts = {*self.tensors, *self.lists} if self.counts_all() else ruled
        self.counted = [i for i in self.tensors if i in counts]
        self.counted_lists = [i for i in self.lists if i in counts]
        self.views = [
            shared[0] if shared and shared[0] in (*self.tensors, *self.lists) else None
            for shared in schema.shared
        ]
        # What these give may be written, as if it were no view.
        self.is_unsafe = self.op.name.startswith("aten::unsafe_")
        if self.is_unsafe:
            self.views = []
        elif not any(v is not None for v in self.views) and len(self.tensors) and not self.written:
            facts = op.facts
            if facts.may_share and len(schema.returns) == 1:
                self.views = [self.tensors[0]]

    def counts_all(self) -> bool:
        """Whether a result has a history if any argument does, be it without a gradient."""
        rule = self.rule
        return rule is None or rule.instead is not None or bool(self.schema.written)

    @cached_property
    def title(self) -> str:
        """The name of the nodes, as PyTorch spells it."""
        name = self.op.name.partition("::")[2]
        if name.endswith("_") and not name.endswith("__"):
            name = name[:-1]
        words = name.strip("_").split("_")  # letters behind digits are large, too: AvgPool2D
        return "".join(w.title() for w in words) + f"Backward{self.number}"

    @property
    def number(self) -> int:
        """The number in a node's name: the overload's index; 0 for overloads on numbers.

        In PyTorch it is the place among those that have a derivative of their own (NUMBERS).
        """
        op = self.op.form.base if self.op.form and self.op.kind == "form" else self.op
        number = NUMBERS.get(op.qualified_name.removeprefix("aten::"))
        if number is not None:
            return number
        known = [
            o.overload
            for o in table.overloads(op.name)
            if o.kind in ("primitive", "composite") and not o.overload.startswith("Scalar")
        ]
        return known.index(op.overload) if op.overload in known else 0

    @cached_property
    def number_at(self) -> int | None:
        """Where `next_functions` has an entry for a number, of which PyTorch makes a tensor."""
        name = self.op.name.removeprefix("aten::").removesuffix("_")
        if name not in TAKING_NUMBERS or not self.op.overload.startswith("Scalar"):
            return None
        return 0 if self.op.overload == "ScalarSelf" else 1

    @cached_property
    def node_class(self) -> type[RuleNode]:
        """The type of the nodes, whose name is theirs: programs draw graphs by it."""
        return type(self.title, (RuleNode,), {"__slots__": ()})

    def requires(self, values: Sequence[Any]) -> bool:
        """Whether an argument requires a gradient."""
        for i in self.counted:
            t = values[i]
            if t is not None and (t._requires_grad or t._autograd is not None and needs(t)):
                if t._autograd is None or not t._autograd.is_inference:
                    return True
        lists = self.counted_lists
        return any(t is not None and needs(t) for i in lists if values[i] for t in values[i])

    def node(self, values: Sequence[Any]) -> Node:
        """The node of a call with these arguments."""
        if self.rule is not None:
            return self.node_class(self, values, self.inputs)
        edges = []
        inputs = sorted((*self.tensors, *self.lists), key=lambda i: (i not in self.written, i))
        for i in inputs:
            value = values[i]
            for t in value if isinstance(value, (list, tuple)) else [value]:
                edges.append(None if t is None else edge_of(t))
        return Undefined(edges, self.title, missing_text(self.op), self.results)

    def run(self, kernel: Callable[..., Any], values: list[Any]) -> Any:
        """Run a call and record it if an argument requires a gradient."""
        if not (mode.enabled and not self.is_none and self.requires(values)):
            result = run_quietly(kernel, values)
            for place, r in zip(self.views, result if self.results > 1 else (result,)):
                if place is not None:
                    self.note(r, values[place], values, "" if mode.enabled else NO_GRAD)
            return result
        node = self.node(values)
        result = run_quietly(kernel, values)
        several = self.results > 1
        results = list(result) if several else [result]
        for place, r in zip(self.views, results):
            if place is not None:
                self.note(r, values[place], values, "")
        if self.is_unsafe:
            for r in results[0] if not several else results:
                state_of(r).cell = [0]
        inputs = self.objects(values)
        if not several and isinstance(result, (list, tuple)):
            node.results = len(result)
            if isinstance(node, RuleNode):
                node.listed = True
            results = list(result)
        for k, r in enumerate(results):
            if isinstance(r, Tensor):
                if id(r) in inputs:
                    if several or isinstance(result, (list, tuple)):
                        continue
                    return result
                if r.dtype.kind in "fc":
                    set_node(r, node, k)
        if isinstance(node, RuleNode):
            node.finish(results if several or not node.listed else [result])
        return result

    def objects(self, values: Sequence[Any]) -> set[int]:
        """The tensors among the arguments, by their ids."""
        found = {id(values[i]) for i in self.tensors}
        for i in self.lists:
            found.update(map(id, values[i] or ()))
        return found

    def note(self, result: Any, source: Any, values: list[Any], made: str) -> None:
        """Register a result as a view of `source`, if it is one.

        made: how it came about (`State.made`).
        """
        if isinstance(result, (list, tuple)):
            made = made or SEVERAL
            for r in result:
                if isinstance(source, Tensor) and isinstance(r, Tensor):
                    self.note(r, source, values, made)
            return
        if not isinstance(result, Tensor) or not isinstance(source, Tensor) or result is source:
            return
        if result._storage is source._storage:
            if source._autograd is not None and source._autograd.is_inference:
                state_of(result).is_inference = True
                return
            again = None
            if result.dtype is not source.dtype or (source._autograd and source._autograd.replay):
                rest = values[1:]

                def run(x: Tensor, *more: Any, op: Any = self.op) -> Tensor:
                    return dispatch.run(op, [x, *more])

                again = run, tuple(rest)
            note_view(result, source, made, again)
            if self.is_none:
                result._autograd.source = None  # `detach` also leaves tangents behind


class Writing(Plan):
    """Operators that write one or several of their arguments."""

    def run(self, kernel: Callable[..., Any], values: list[Any]) -> Any:
        records = mode.enabled and not self.is_none and self.requires(values)
        targets = self.targets(values)
        if not self.is_none:  # PyTorch does not check operators without derivative
            for t in targets:
                check_write(t, records)
        if not (records and any(t.dtype.kind in "fc" for t in targets)):
            result = run_quietly(kernel, values)
            for t in targets:
                count_write(t)
            return result
        return self.record(kernel, values, targets)

    def targets(self, values: Sequence[Any]) -> list[Tensor]:
        """The tensors that are written."""
        found: list[Tensor] = []
        for i in self.written:
            value = values[i]
            if isinstance(value, (list, tuple)):
                found += value
            elif value is not None:
                found.append(value)
        return found

    def record(self, kernel: Callable[..., Any], values: list[Any], targets: list[Tensor]) -> Any:
        node = self.node(self.before_write(values))
        result = run_quietly(kernel, values)
        for t in targets:
            count_write(t)
        if isinstance(node, RuleNode):
            self.finish(node, result, targets)
        for k, t in enumerate(targets):
            if t.dtype.kind in "fc":
                rebase(t, node, k)
        if len(targets) > 1:
            node.results = len(targets)
        return result

    def finish(self, node: RuleNode, result: Any, targets: list[Tensor]) -> None:
        if len(targets) > 1:
            node.listed = bool(self.written and self.written[0] in self.lists)
            node.finish([targets] if node.listed else targets)
        else:
            node.finish(list(result) if self.results > 1 else [result])

    def before_write(self, values: list[Any]) -> list[Any]:
        """The arguments; written ones are copied if the rule uses their previous values."""
        named = {
            number
            for reading in self.readings
            for kind, number, is_shape in reading.names
            if kind == "argument" and not is_shape
        }
        made = list(values)
        for i in self.written:
            if i in named and isinstance(values[i], Tensor):
                made[i] = as_before(values[i], copied=True)
        return made


class Beside(Writing):
    """Operators that return new tensors and also update statistics, which nothing else reads."""

    def run(self, kernel: Callable[..., Any], values: list[Any]) -> Any:
        for t in self.targets(values):
            count_write(t)  # before they are saved: rules only read them if they were not written
        return Plan.run(self, kernel, values)


def as_before(tensor: Tensor, copied: bool) -> Tensor:
    """A tensor with the edge and shape that `tensor` has now, over its memory or a copy of it."""
    edge = edge_of(tensor)
    made = run_quietly(lambda t: t.clone(), [tensor]) if copied else alias(tensor)
    if edge is not None:
        state = state_of(made)
        node, number = edge
        if isinstance(node, AccumulateGrad):
            state.accumulator = weakref.ref(node)
            made._requires_grad = True
        else:
            set_node(made, node, number)
    return carry(tensor, made, copied) if mode.levels else made


class InPlace(Writing):
    """In-place forms such as `x.add_(y)`, derived from `add`.

    If the base is a composite without a rule, its body is recorded on a copy, and the result
    copied.
    """

    def record(self, kernel: Callable[..., Any], values: list[Any], targets: list[Tensor]) -> Any:
        base = self.op.form.base
        if self.rule is not None or not base.is_composite:
            return super().record(kernel, values, targets)
        target = targets[0]
        made = as_before(target, copied=True)
        result = base.kernel(made, *values[1:])
        if result._size != target._size:
            return run_quietly(kernel, values)  # raises the error
        copy: Any = table.find("aten::copy_")
        return plan_for(copy).run(copy.kernel, [target, result, False])


class Become(Writing):
    """In-place views such as `x.t_()`: the tensor becomes a view of its own memory."""

    def record(self, kernel: Callable[..., Any], values: list[Any], targets: list[Tensor]) -> Any:
        target = targets[0]
        state = target._autograd
        node = self.node([as_before(target, copied=False), *values[1:]])
        result = run_quietly(kernel, values)
        count_write(target)
        if isinstance(node, RuleNode):
            node.finish([result])
        if state is not None and state.base is not None:
            state.version = version_of(target)
        set_node(target, node)
        return result


class Out(Writing):
    """out= forms such as `add(x, y, out=z)`, which have no derivative."""

    def run(self, kernel: Callable[..., Any], values: list[Any]) -> Any:
        if mode.enabled and not self.is_none and self.requires(values):
            name = self.op.name.partition("::")[2]
            raise RuntimeError(
                f"{name}(): functions with out=... arguments don't support automatic "
                "differentiation, but one of the arguments requires grad."
            )
        check_writes(self.targets(values))
        result = run_quietly(kernel, values)
        for t in self.targets(values):
            count_write(t)
        return result


class Resizing(Writing):
    def run(self, kernel: Callable[..., Any], values: list[Any]) -> Any:
        if mode.enabled and needs(values[0]):
            raise RuntimeError("cannot resize variables that require grad")
        before = values[0]._size
        result = run_quietly(kernel, values)
        if values[0]._size != before or self.op.name == "aten::set_":
            count_write(values[0])
        return result


class Instead(Plan):
    """Operators that run the rule's `instead` expression if an argument requires a gradient."""

    def run(self, kernel: Callable[..., Any], values: list[Any]) -> Any:
        if not (mode.enabled and self.requires(values)):
            return run_quietly(kernel, values)
        rule: Any = self.rule
        schema: Any = self.schema
        expression = rule.instead
        try:
            return expression.function(*(values[schema.index(n)] for n in expression.names))
        except Exception:
            run_quietly(kernel, values)  # raises the kernel's own error if it rejects the arguments
            raise


def missing_text(op: table.Operator) -> str:
    return f"the derivative of {op.qualified_name} is not implemented in scriptlang"


def plan_for(op: table.Operator) -> Any:
    found = op.__dict__.get("recording")
    if found is None:
        found = op.__dict__["recording"] = plan_of(op)
    return found


def plan_of(op: table.Operator) -> Any:
    """The plan for the calls of an operator."""
    schema = op.schema
    if schema.is_vararg or op.facts.unrecorded:
        return Through(op)
    if not any(is_tensor_type(a.type) or is_list_of_tensors(a.type) for a in schema.arguments):
        return Through(op)
    returns_tensor = any(
        is_tensor_type(r.type) or is_list_of_tensors(r.type) or T.TENSOR in r.type.walk()
        for r in schema.returns
    )
    if not returns_tensor and not schema.is_mutable:
        return Through(op)
    op.kernel  # noqa: B018 - declares it, which tells its kind
    rule = rule_of(op)
    if op.name in RESIZING:
        return Resizing(op)
    form = op.form
    if form is not None and form.kind in (*OUT_KINDS, "create"):
        return Out(op)
    if any(a.is_out for a in schema.arguments):
        return Out(op) if not op.is_composite else Through(op)
    if rule is None and op.is_composite:
        return Through(op)
    if rule is not None and rule.instead is not None and not schema.is_mutable:
        return Instead(op)
    if form is not None and form.kind == "in_place":
        return InPlace(op)
    if form is not None and form.kind == "become":
        return Become(op)
    if schema.is_mutable:
        return Writing(op) if any(r.alias for r in schema.returns) or rule is None else Beside(op)
    return Plan(op)
