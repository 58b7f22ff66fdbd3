"""Writes to tensors, as new values of the tensors that are written and of the views of them.

    y = x[0]; y.add_(1)     x is select_scatter(x, add(select(x, 0), 1), 0), and y is select(x, 0)

The elements of a tensor are those of its `value`. A view knows its base and how it is made from it;
after a write it is made again when it is next read. At the end, the final values of arguments that
were written are copied into their memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import types as T
from ...ir import Value
from ...ops import table
from .values import NotStraight, Tensor, is_known

if TYPE_CHECKING:
    from .evaluate import Evaluator

Back = Callable[["Evaluator", Tensor, Tensor, list[Any]], Tensor]


def shaped_back(e: Evaluator, base: Tensor, new: Tensor, args: list[Any]) -> Tensor:
    return e.run("aten::reshape", new, e.run("aten::size", base))


BACK: dict[str, Back] = {
    "aten::select.int": lambda e, base, new, a: e.run("aten::select_scatter", base, new, *a),
    "aten::slice.Tensor": lambda e, base, new, a: e.run("aten::slice_scatter", base, new, *a),
    "aten::narrow": lambda e, base, new, a: e.run(
        "aten::slice_scatter", base, new, a[0], a[1], a[1] + a[2], 1
    ),
    "aten::diagonal": lambda e, base, new, a: e.run("aten::diagonal_scatter", base, new, *a),
    "aten::t": lambda e, base, new, a: e.run("aten::t", new),
    "aten::transpose.int": lambda e, base, new, a: e.run("aten::transpose.int", new, *a),
    "aten::permute": lambda e, base, new, a: e.run("aten::permute", new, inverse(a[0])),
} | dict.fromkeys(
    (
        "aten::view",
        "aten::view_as",
        "aten::unsqueeze",
        "aten::squeeze",
        "aten::squeeze.dim",
        "aten::alias",
    ),
    shaped_back,
)
"""How to compute a base after a view of it was written: from the evaluator, the old base, the new
view and the view's arguments."""


def inverse(dims: list[int]) -> list[int]:
    back = [0] * len(dims)
    for to, dim in enumerate(dims):
        back[dim] = to
    return back


def current(e: Evaluator, tensor: Tensor) -> Value:
    """The value that now holds the elements of a tensor."""
    base = tensor.base
    if base is None:
        if tensor.is_doubtful:
            raise NotStraight("a write may have changed another tensor")
        return tensor.value
    root = tensor.root
    if root.is_doubtful:
        raise NotStraight("a write may have changed another tensor")
    if tensor.seen != root.writes:
        assert tensor.again is not None
        outer, e.records = e.records, True
        made = tensor.again(base)
        e.records = outer
        tensor.value, tensor.seen, tensor.active = made.value, root.writes, made.active
    return tensor.value


def note_views(e: Evaluator, operator: table.Operator, args: list[Any], results: list[Any]) -> None:
    """Record which results are views, and of which tensors."""
    facts, schema = operator.facts, operator.schema
    for k, (result, shared) in enumerate(zip(results, schema.shared)):
        source = args[shared[0]] if shared else None
        if facts.may_share and source is None:
            source = next((a for a in args if isinstance(a, Tensor)), None)
        if not isinstance(source, Tensor):
            continue
        several = isinstance(result, list)
        unsure = facts.may_share or facts.may_copy
        for i, part in enumerate(result if several else [result]):
            if not isinstance(part, Tensor):
                continue
            part.base, part.seen = source, source.root.writes
            if unsure:
                part.again = unknown_view
                continue

            def again(base: Tensor, k: int = k, i: int = i, several: bool = several) -> Tensor:
                made = e.operator(operator, [base, *args[1:]])
                made = made[k] if len(schema.returns) > 1 else made
                return made[i] if several else made

            part.again = again
            back = BACK.get(operator.qualified_name)
            takes_unknown = operator.name in ("aten::slice", "aten::select")
            if back is not None and shared == (0,) and (takes_unknown or is_known(args[1:])):
                rest = args[1:]
                part.back = lambda base, new, back=back, rest=rest: back(e, base, new, rest)


def unknown_view(base: Tensor) -> Tensor:
    raise NotStraight("a write may have changed what may be a view")


def write(e: Evaluator, operator: table.Operator, args: list[Any]) -> Any:
    """A call that writes one tensor, or lists of them, such as a step of an optimizer.
    A tensor that is written gets the result as its value; returns the first one."""
    if operator.schema.written and all(is_list for _, is_list in operator.schema.written):
        return write_lists(e, operator, args)
    targets = [args[i] for i, _ in operator.schema.written]
    if len(targets) != 1 or not isinstance(targets[0], Tensor) or targets[0] is not args[0]:
        raise NotStraight(f"{operator.qualified_name} writes its arguments")
    first = len(e.entries)
    put(e, targets[0], written(e, operator, args), first)
    return targets[0]


def write_lists(e: Evaluator, operator: table.Operator, args: list[Any]) -> None:
    first, schema = len(e.entries), operator.schema
    found = table.find(operator.name[:-1], operator.overload)
    if found is None or len(found.schema.returns) != len(schema.written):
        raise NotStraight(f"{operator.qualified_name} writes its arguments")
    results = e.operator(found, args)
    scale = schema.index("grad_scale")
    is_scaled = scale is None or args[scale] is not None  # else gradients are not written
    for (i, _), news in zip(schema.written, results):
        if schema.arguments[i].name != "grads" or is_scaled:
            for target, new in zip(args[i], news):
                put(e, target, new, first)


def put(e: Evaluator, target: Tensor, new: Tensor, first: int) -> None:
    """Give a tensor that is written its new value. first: the first step that made it."""
    if e.records and target.active and target.is_outside and target.base is None:
        raise NotStraight("what is differentiated by is written")
    made = e.value(new)
    assign(e, target, fitting(e, new, target))
    root = target.root
    for entry in e.entries[first:]:  # a step has copied what it needs of the old value
        for v in [v for v, (held, _) in entry.memory.items() if held is root]:
            del entry.memory[v]
        if made in entry.memory:
            entry.memory[made] = root, root.writes


def written(e: Evaluator, operator: table.Operator, args: list[Any]) -> Tensor:
    """What a call that writes its first argument would write to it."""
    name, target = operator.name, args[0]
    if name == "aten::copy_":
        source = e.run("aten::expand_as", args[1], target)
        return e.run("aten::clone", source) if source is args[1] else source
    if name == "aten::zero_":
        return e.run("aten::zeros_like", target)
    if name == "aten::fill_" and operator.overload == "Scalar":
        return e.run("aten::full_like", target, args[1])
    found = table.find(name[:-1], operator.overload)
    if found is None:
        found = RANDOM.get(operator.qualified_name) and table.find(*RANDOM[operator.qualified_name])
    arguments = [a.name for a in operator.schema.arguments]
    if (
        not name.endswith("_")
        or found is None
        or found.kernel is None
        or found.schema.is_mutable
        or [a.name for a in found.schema.arguments] != arguments
        or operator.form is not None
        and operator.form.kind == "become"
    ):
        raise NotStraight(f"{operator.qualified_name} writes its argument")
    return e.operator(found, args)


RANDOM = {
    "aten::bernoulli_.float": ("aten::bernoulli", "p"),
    "aten::normal_": ("aten::normal_functional", ""),
}
"""Random operators whose functional variant has another name."""


def fitting(e: Evaluator, new: Tensor, target: Tensor) -> Tensor:
    """The new value in the dtype of the tensor that is written."""
    have, want = (e.facts.tensor(e.value(t)) for t in (new, target))
    if have.dtype is None or want.dtype is None:
        raise NotStraight("the type of what is written is not known")
    if have.shape is None or have.shape != want.shape:
        raise NotStraight("the size of what is written is not known")
    return new if have.dtype is want.dtype else e.run("aten::to.dtype", new, want.dtype.code)


def unrecorded(e: Evaluator, target: Tensor, new: Tensor) -> Tensor:
    """The new value of a tensor that requires a gradient, and is written where nothing is recorded:
    it is still the same leaf."""
    if target.base is not None or target.value in e.recorded:
        raise NotStraight("what was computed with gradients is written without")
    made = Tensor(e.value(e.run("aten::clone", new) if new.active else new), True)
    e.earlier[made.value] = target.value, *e.earlier.get(target.value, ())
    return made


def assign(e: Evaluator, target: Tensor, new: Tensor) -> None:
    """Give a tensor, and with it its base and the other views of that, a new value."""
    if e.inside:
        raise NotStraight("a branch that nothing decides writes a tensor")
    root = target.root
    if root.is_outside and all(t is not root for t, _ in e.outside):
        raise NotStraight("what is in a container is written")
    if target.active and not e.records:
        new = unrecorded(e, target, new)
    if target.base is None:
        target.value, target.active = e.value(new), new.active
        target.writes += 1
        return
    if target.back is None:
        raise NotStraight("a write goes through a view of an unknown kind")
    base = target.base
    assign(e, base, target.back(base, new))
    target.value, target.active, target.seen = e.value(new), new.active, target.root.writes


def finish(e: Evaluator) -> None:
    """Copy the final values of arguments that were written into their memory."""
    copy: Any = table.find("aten::copy_")
    for tensor, value in e.outside:
        if tensor.writes:
            v = current(e, tensor)
            node = e.insert(
                copy.name, [value, v, e.constant(False, T.BOOL)], [T.TENSOR], schema=copy.schema
            )
            e.facts.node(node)
            tensor.value = value
