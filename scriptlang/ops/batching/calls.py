"""How the call of one operator is made for a batch: by a rule, by its body, or example by example.

What a rule gives has to have as many elements as the examples have together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ... import types as T
from ...tensors import Tensor
from .. import table
from ..calling import functions
from ..calling.current import calls, mode
from ..derivatives import plans
from ..derivatives.forward import run_body
from ..derivatives.forward_rules import tensors_in
from ..derivatives.rules import rule_of
from ..derivatives.tangents import NotMapped, hidden, keep, tangent_of
from ..derivatives.views import run_quietly
from ..facts import RANDOM_SWITCHES
from . import dimensions, images, indices, products, rules  # noqa: F401 - they register rules
from .call import RULES, Call, Rule, flat
from .level import BatchLevel

LOOKS_AT_SHAPE = """
dim element_size get_device is_complex is_conj is_contiguous is_floating_point is_inference is_leaf
is_neg is_non_overlapping_and_dense is_pinned is_same_size is_signed len numel output_nr qscheme
result_type retains_grad size stride _version
""".split()
"""Operators without tensors as results that read no elements."""


def call(
    op: table.Operator, plan: Any, kernel: Callable[..., Any], values: list[Any], level: BatchLevel
) -> Any:
    """Make a call in which an argument is a batch."""
    found = rule_for(op, plan)
    if found is None:
        return plan.run(kernel, values)
    if draws(op, values) or op.name in STATISTICS and is_training(op, values):
        raise NotMapped
    batches = batches_in(op, values, level)
    if found is follow:
        if is_followed(op, batches):
            return follow(op, kernel, values, level)
        found = one_by_one
    was, mode.below = mode.below, level.depth
    try:
        made = Call(op, values, batches, level)
        if op.schema.is_mutable:
            return written(made, found, kernel)
        before = set(map(id, tensors_in(values)))
        result = calls.recorder.run(op, kernel, values)
        made.results = results = flat(result)
        given = ruled(found, made)
        if given is None:
            given = flat(one_by_one(made))
        give(made, results, given, before)
        return result
    finally:
        mode.below = was


def ruled(found: Rule, made: Call) -> list[Any] | None:
    """What a rule gives, in the shapes of the first example; None if it does not fit the call: then
    the operator runs for each example, which raises what is wrong with one of them."""
    try:
        results = flat(found(made))
    except (NotMapped, Exception):
        return None
    fits = len(results) == len(made.results) and all(
        not isinstance(r, Tensor) or b is None or b.numel() == r.numel() * made.size
        for r, b in zip(made.results, results)
    )
    return results if fits else None


SWITCHES = {**RANDOM_SWITCHES, "dropout": 0.0}
"""Arguments, and the value of each for which an operator draws nothing."""


def draws(op: table.Operator, values: Sequence[Any]) -> bool:
    """Whether a call draws random numbers."""
    base = op.form.base if op.form is not None else op
    if not base.facts.random:
        return False
    places = {name: op.schema.index(name) for name in SWITCHES}
    return not any(i is not None and values[i] == SWITCHES[n] for n, i in places.items())


STATISTICS = frozenset(("aten::batch_norm", "aten::native_batch_norm", "aten::instance_norm"))
"""Operators that write statistics although their schemas do not say so."""


def is_training(op: table.Operator, values: Sequence[Any]) -> bool:
    """Whether a call writes statistics."""
    index: Any = op.schema.index
    trains = "use_input_stats" if op.name == "aten::instance_norm" else "training"
    return values[index(trains)] and values[index("running_mean")] is not None


def batches_in(op: table.Operator, values: Sequence[Any], level: BatchLevel) -> dict[int, Any]:
    """The batches among the arguments, as a Call has them."""
    places = op.__dict__.get("tensor_places")
    if places is None:
        places = op.__dict__["tensor_places"] = plans.tensor_places(op.schema)
    tensors, lists = places
    found: dict[int, Any] = {}
    for i in tensors:
        if values[i] is not None:
            batch = tangent_of(values[i], level)
            if batch is not None:
                found[i] = batch
    for i in lists:
        made = [t if t is None else tangent_of(t, level) for t in values[i] or ()]
        if any(t is not None for t in made):
            found[i] = made
    return found


def give(made: Call, results: list[Any], batches: list[Any], before: set[int]) -> None:
    """Give the results for the first example their batches; before: the ids of the arguments."""
    for r, batch in zip(results, batches):
        if not isinstance(r, Tensor) or batch is None or id(r) in before:
            continue
        keep(r, made.level, suited(made, r, batch), None)


def suited(made: Call, r: Tensor, batch: Tensor) -> Tensor:
    """A batch with the shape and type that its first example has."""
    size = (made.size, *r._size)
    if batch._size != size:
        batch = functions.reshape(batch, list(size))
    if batch.dtype is not r.dtype:
        batch = functions.to(batch, r.dtype)
    note_copy(made, r, batch)
    return batch


def note_copy(made: Call, r: Tensor, batch: Tensor) -> None:
    """Note where the first example has a view, and the batch a copy, or the view of one."""
    for i, given in made.batches.items():
        value = made.values[i]
        if isinstance(value, Tensor) and value._storage is r._storage:
            if given._storage is not batch._storage or given._storage in made.level.copies:
                made.level.copies.update((given._storage, batch._storage))


def written(made: Call, found: Rule, kernel: Callable[..., Any]) -> Any:
    """Make a call that writes its first argument."""
    op, values = made.op, made.values
    places = [i for i, _ in op.schema.written]
    target = made.batches.get(0)
    if places != [0] or target is None or target._storage in made.level.copies:
        raise NotMapped
    form = op.form
    if form is None:
        calls.recorder.run(op, kernel, values)
        made.results = [values[0]]
        if ruled(found, made) is None:
            for parts in examples(made):
                made.run(*parts)
        return values[0]
    # by the rule of the operator that does not write, before the first example is written
    again = Call(form.base, values, made.batches, made.level)
    again.results = [values[0]]
    given = ruled(found, again)
    [batch] = flat(one_by_one(again)) if given is None else given
    calls.recorder.run(op, kernel, values)
    functions.copy_(target, functions.reshape(batch, [made.size, *values[0]._size]))
    return values[0]


# Which rule

FORMS = frozenset(("in_place", "copy", "on_copy", "on_row_major_copy"))
"""The kinds of forms that go by the rule of their base."""


def rule_for(op: table.Operator, plan: Any) -> Any:
    """The rule of an operator; `follow`, if its body is followed; None if it reads no elements.

    Raises NotMapped where there is none.
    """
    found = op.__dict__.get("batching")
    if found is None:
        found = op.__dict__["batching"] = (chosen(op, plan),)
    if found[0] is refused:
        raise NotMapped
    return found[0]


def chosen(op: table.Operator, plan: Any) -> Any:
    """What `rule_for` keeps: `refused`, if there is no rule."""
    base = op.form.base if op.form is not None else op
    if op.form is not None and op.form.kind not in FORMS:
        return refused
    name = base.name if base.overload in ("", "Tensor") else f"{base.name}.{base.overload}"
    known = RULES.get(base.qualified_name) or RULES.get(name) or RULES.get(base.name)
    if known is not None:
        return known
    if not any(T.TENSOR in r.type.walk() for r in op.schema.returns):
        return None if op.name.removeprefix("aten::") in LOOKS_AT_SHAPE else refused
    if base.facts.dynamic_shape or op.schema.takes_generator:
        return refused
    if base.facts.pointwise:
        return rules.pointwise
    for_derivative = rule_of(op)
    if base.is_composite or for_derivative is not None and for_derivative.instead is not None:
        return refused if op.schema.is_mutable else follow
    if op.schema.is_mutable and op.form is None:
        return refused
    if isinstance(plan, plans.Through) or not isinstance(plan, plans.Plan):
        return refused
    return one_by_one


def refused(made: Call) -> Any:
    raise NotMapped


def is_followed(op: table.Operator, batches: dict[int, Any]) -> bool:
    """Whether the body of an operator is followed: what the rule of a derivative has in its place
    is for numbers that are not whole."""
    found = rule_of(op)
    if found is None or found.instead is None:
        return True
    parts = [t for b in batches.values() for t in flat(b) if t is not None]
    return any(t.dtype.kind in "fc" for t in parts)


def follow(
    op: table.Operator, kernel: Callable[..., Any], values: list[Any], level: BatchLevel
) -> Any:
    """Run the body of an operator, or what its derivative's rule has in its place."""
    found = rule_of(op)
    if found is not None and found.instead is not None:
        with hidden(level):
            run_quietly(kernel, values)  # it looks at the arguments, which the rule does not
    return run_body(op, values)


def one_by_one(made: Call) -> Any:
    """Run an operator for each example."""
    rows = [made.run(*values) for values in examples(made)]
    if not isinstance(rows[0], (list, tuple)):
        return joined(rows)
    return [joined([row[k] for row in rows]) for k in range(len(rows[0]))]


def joined(rows: list[Any]) -> Any:
    """What examples gave, stacked. Raises NotMapped if they differ in shape."""
    if not all(isinstance(r, Tensor) and r._size == rows[0]._size for r in rows):
        raise NotMapped
    return functions.stack(rows, 0)


def examples(made: Call) -> Iterator[list[Any]]:
    """The arguments of each example."""
    for k in range(made.size):
        values = list(made.values)
        for i, batch in made.batches.items():
            if isinstance(batch, list):
                values[i] = [
                    v if b is None else functions.select(b, 0, k) for v, b in zip(values[i], batch)
                ]
            else:
                values[i] = functions.select(batch, 0, k)
        yield values
