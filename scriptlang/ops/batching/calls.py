"""How the call of one operator is made for a batch: by a rule, by its body, or example by example.

A rule gets a Call and returns what the operator gives for the whole batch. What it returns is
compared with what the first example gave: shapes and types have to be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ... import types as T
from ...tensors import Tensor
from .. import table
from ..calling import dispatch, functions
from ..calling.current import calls, mode
from ..derivatives import plans
from ..derivatives.forward_rules import tensors_in
from ..derivatives.rules import rule_of
from ..derivatives.tangents import NotMapped, keep, tangent_of
from .level import BatchLevel

Rule = Callable[["Call"], Any]
RULES: dict[str, Rule] = {}
"""By the name of an operator, with or without its overload."""

LOOKS_AT_SHAPE = frozenset(
    f"aten::{name}"
    for name in (
        "dim element_size get_device is_complex is_conj is_contiguous is_floating_point is_inference "
        "is_leaf is_neg is_non_overlapping_and_dense is_pinned is_same_size is_signed len numel "
        "output_nr qscheme result_type retains_grad size stride _version"
    ).split()
)
"""Operators without tensors as results that read no elements."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators of namespace aten."""

    def register(f: Rule) -> Rule:
        RULES.update((f"aten::{name}", f) for name in names)
        return f

    return register


class Call:
    """A call for a batch.

    values: the arguments for the first example.  batches: by the index of an argument, its batch;
    of a list of tensors, a list with None for those that are the same for all examples.
    results: what the first example gave.
    """

    def __init__(
        self, op: table.Operator, values: Sequence[Any], batches: dict[int, Any], level: BatchLevel
    ) -> None:
        self.op, self.values, self.batches, self.level = op, list(values), batches, level
        self.size = level.size
        self.results: list[Any] = []

    def index(self, name: str) -> int:
        found: int = self.op.schema.index(name)
        return found

    def value(self, name: str) -> Any:
        return self.values[self.index(name)]

    def rank(self, i: int = 0) -> int:
        """How many dimensions an argument has for one example."""
        return len(self.values[i]._size)

    def part(self, i: int = 0) -> Tensor:
        """An argument, as a batch if it is one."""
        found: Tensor = self.batches.get(i, self.values[i])
        return found

    def stacked(self, i: int = 0) -> Tensor:
        """An argument as a batch, with a stride of 0 if it is the same for all examples."""
        found = self.batches.get(i)
        return self.repeated(self.values[i]) if found is None else found

    def repeated(self, tensor: Tensor) -> Tensor:
        """A tensor that is the same for all examples as a batch."""
        return functions.expand(functions.unsqueeze(tensor, 0), [self.size, *tensor._size])

    def aligned(self, i: int, rank: int) -> Tensor:
        """An argument whose examples have so many dimensions, of size 1 where they are added."""
        found = self.batches.get(i)
        if found is None:
            return self.values[i]
        missing = rank - self.rank(i)
        if missing <= 0:
            return found
        return functions.reshape(found, [self.size, *[1] * missing, *found._size[1:]])

    def only(self, *places: int) -> bool:
        """Whether no other arguments are batches."""
        return all(i in places for i in self.batches)

    def run(self, *values: Any) -> Any:
        """What the operator itself gives."""
        return dispatch.run(self.op, list(values))

    def with_parts(self, parts: dict[int, Any]) -> list[Any]:
        """The arguments, others at these places."""
        return [parts.get(i, v) for i, v in enumerate(self.values)]


def call(
    op: table.Operator, plan: Any, kernel: Callable[..., Any], values: list[Any], level: BatchLevel
) -> Any:
    """Make a call in which an argument is a batch."""
    found = rule_for(op, plan)
    if found is None:
        return plan.run(kernel, values)
    if found is follow:
        return follow(op, kernel, values)
    batches = batches_in(plan_indices(op), values, level)
    was, mode.below = mode.below, level.depth
    try:
        made = Call(op, values, batches, level)
        if op.schema.is_mutable:
            return written(made, found, kernel)
        before = set(map(id, tensors_in(values)))
        result = calls.recorder.run(op, kernel, values)
        made.results = results = flat(result)
        give(made, results, flat(found(made)), before)
        return result
    finally:
        mode.below = was


def flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def plan_indices(op: table.Operator) -> tuple[list[int], list[int]]:
    """The indices of the arguments that are tensors, and lists of them."""
    found = op.__dict__.get("tensor_places")
    if found is None:
        arguments = list(enumerate(op.schema.arguments))
        tensors = [i for i, a in arguments if plans.is_tensor_type(a.type)]
        lists = [i for i, a in arguments if plans.is_list_of_tensors(a.type)]
        found = op.__dict__["tensor_places"] = tensors, lists
    return found  # type: ignore[no-any-return]


def batches_in(
    places: tuple[list[int], list[int]], values: Sequence[Any], level: BatchLevel
) -> dict[int, Any]:
    found: dict[int, Any] = {}
    tensors, lists = places
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
    """Give the results for the first example their batches.  Raises NotMapped if they differ."""
    if len(results) != len(batches):
        raise NotMapped
    for r, batch in zip(results, batches):
        if not isinstance(r, Tensor) or batch is None or id(r) in before:
            continue
        keep(r, made.level, suited(made, r, batch), None)


def suited(made: Call, r: Tensor, batch: Tensor) -> Tensor:
    """A batch with the shape and type that its first example has."""
    size = (made.size, *r._size)
    if batch._size != size:
        if batch.numel() != r.numel() * made.size:
            raise NotMapped
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
    base = op if form is None or form.kind != "in_place" else form.base
    if form is not None and base is op:
        raise NotMapped
    again = Call(base, values, made.batches, made.level)
    if base is not op:
        # the rule of the operator that does not write; read before the first example is written
        again.results = [values[0]]
        batch = found(again)
        calls.recorder.run(op, kernel, values)
        functions.copy_(target, suited_size(again, batch))
    else:
        calls.recorder.run(op, kernel, values)
        found(again)
    return values[0]


def suited_size(made: Call, batch: Tensor) -> Tensor:
    size = [made.size, *made.values[0]._size]
    if list(batch._size) != size:
        if batch.numel() != made.size * made.values[0].numel():
            raise NotMapped
        batch = functions.reshape(batch, size)
    return batch


# Which rule


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
    from . import rules

    base = op.form.base if op.form is not None else op
    if op.form is not None and op.form.kind not in ("in_place", "functional"):
        return refused
    name = base.name if base.overload in ("", "Tensor") else f"{base.name}.{base.overload}"
    known = RULES.get(base.qualified_name) or RULES.get(name) or RULES.get(base.name)
    if known is not None:
        return known
    if not any(T.TENSOR in r.type.walk() for r in op.schema.returns):
        return None if op.name in LOOKS_AT_SHAPE else refused
    if base.facts.random or base.facts.dynamic_shape or op.schema.takes_generator:
        return refused
    if base.facts.pointwise:
        return rules.pointwise
    ruled = rule_of(op)
    if base.is_composite or ruled is not None and ruled.instead is not None:
        return refused if op.schema.is_mutable else follow
    if op.schema.is_mutable and op.form is None:
        return refused
    if isinstance(plan, plans.Through) or not isinstance(plan, plans.Plan):
        return refused
    return one_by_one


def refused(made: Call) -> Any:
    raise NotMapped


def follow(op: table.Operator, kernel: Callable[..., Any], values: list[Any]) -> Any:
    """Run the body of an operator, or what its derivative's rule has in its place."""
    ruled = rule_of(op)
    if ruled is None or ruled.instead is None:
        body: Any = op.kernel
        return body(*values)
    index: Any = op.schema.index
    return ruled.instead.function(*(values[index(n)] for n in ruled.instead.names))


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
