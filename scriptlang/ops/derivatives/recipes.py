"""Recipes: what the native engine needs to know to record calls of an operator, and to go back.

It does both where a call has nothing unusual (cpp_loader/python/tape.h). `plans.py` and
`rule_node.py` say what it does then, and do it in all other cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...limits import check_time
from ..calling.current import calls, engine, mode, recipes
from ..calling.kernels import load_engine
from ..table import Operator
from . import helpers, saved
from .nodes import AccumulateGrad
from .plans import Instead, Plan, Through, plan_for
from .rule_node import Lists, Reading, RuleNode, is_list_of_tensors, is_tensor_type
from .rules import size_of
from .slices import CopySlices
from .state import Edge, State, edge_of, numbers

KINDS = {
    ("argument", False): "a",
    ("argument", True): "s",
    ("size", False): "z",
    ("result", False): "r",
    ("result", True): "h",
    ("size of result", False): "y",
    ("grad", False): "g",
    ("needs", False): "n",
}
"""(kind of a name, whether its shape is enough) -> the letter of Recipe::Name."""


def way_of(op: Operator) -> tuple[bool, Any, Any]:
    """How calls of an operator are recorded: (whether a call that knows no history has nothing to
    note; its Recipe, or None; what is called in its place if something may be recorded)."""
    plan = plan_for(op)
    if isinstance(plan, Through):
        return not op.may_alias, None, plan.body
    if isinstance(plan, Instead):
        return True, None, instead_of(plan)
    return not op.may_alias, recipe_of(op), None


def instead_of(plan: Instead) -> Callable[..., Any]:
    """What the rule has instead of the kernel, as a function of all arguments."""
    rule: Any = plan.rule
    places = [rule.operator.schema.index(name) for name in rule.instead.names]
    function = rule.instead.function
    return lambda *values: function(*(values[i] for i in places))


def recipe_of(op: Operator) -> Any:
    """The Recipe of an operator; None if its calls take more."""
    plan = plan_for(op)
    if type(plan) is not Plan or plan.is_unsafe or plan.rule is None:
        return None
    views = [v for v in plan.views if v is not None]
    gives_list = len(op.schema.returns) == 1 and is_list_of_tensors(op.schema.returns[0].type)
    if not gives_list and not all(is_tensor_type(r.type) for r in op.schema.returns):
        return None
    if views and (plan.is_none or len(plan.views) > 1 or views[0] in plan.lists):
        return None
    if gives_list and any("result" in kind for r in plan.readings for kind, _, _ in r.names):
        return None
    plan.recipe = engine[0].Recipe(
        plan,
        object if plan.is_none else plan.node_class,
        plan.inputs,
        [*plan.counted, *plan.counted_lists],
        0 if gives_list else plan.results,
        views[0] if views else -1,
        plan.is_none,
        [] if plan.is_none else [told(r) for r in plan.readings],
    )
    return plan.recipe


def told(reading: Reading) -> tuple[Any, ...]:
    names = [
        (KINDS[kind, is_shape], number, (kind, number, is_shape), (kind, number, False))
        for kind, number, is_shape in reading.names
    ]
    return reading.expression, reading.inputs, names


def fitted(grad: Any, size: Any, dtype: Any) -> Any:
    """What an expression gives, of the size and type of the input."""
    grad = helpers.sum_to(grad, list(size))
    if grad.dtype is dtype:
        return grad
    return helpers.fitted(grad, list(size), dtype.code, dtype.kind == "c")


def edges_of(tensors: list[Any]) -> list[Edge | None]:
    """For each tensor, the edge that a gradient of it flows along."""
    found: list[Edge | None]
    found = engine[0].edges_of(tensors) if recipes else [edge_of(t) for t in tensors]
    return found


def use() -> None:
    """Let the native engine record calls from Python, if it is there."""
    load_engine()
    if recipes or not engine:
        return
    known = (RuleNode, AccumulateGrad, CopySlices, Lists, State, saved.Saved, saved.Shape)
    engine[0].watch_tape(
        {cls.__name__: cls for cls in known}
        | {"numbers": numbers, "mode": mode, "edge_of": edge_of, "read": saved.read}
        | {"keep": saved.keep, "size_of": size_of, "fitted": fitted, "check_time": check_time}
    )
    recipes.append(way_of)
    calls.eager.forget()
