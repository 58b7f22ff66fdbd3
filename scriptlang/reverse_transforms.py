"""The transforms of scriptlang.func that go backward: grad, vjp, jacrev and hessian.

They differentiate by tensors of their own (leaves), which stand for the arguments in the call.
What they return has a history if the result depends on other tensors that require a gradient, and
computations are recorded where the transform is called: so transforms nest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .grad_mode import enable_grad
from .ops.batching.batches import batch_of
from .ops.batching.level import first_of, whole
from .ops.calling import functions
from .ops.calling.current import mode
from .ops.derivatives.api import grad as gradients
from .ops.derivatives.nodes import AccumulateGrad
from .ops.derivatives.recorder import activate
from .ops.derivatives.state import alias, edge_of, needs, required
from .ops.derivatives.tangents import NotMapped, carry, plain
from .tensors import Tensor
from .transform_checks import (
    GRAD,
    VJP,
    check_outputs,
    check_real,
    places_of,
    split_aux,
    transforming,
)
from .trees import filled, flat, mapped, shown, spec


def grad(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that computes the gradient of `func` with respect to its argument(s) `argnums`.

    func: returns a tensor without dimensions. has_aux: it returns a pair (such a tensor, aux); the
    result is then (gradient, aux).
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return run


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Like `grad`, but the function returns (gradient, value of `func`)."""

    @wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        places = places_of(argnums, len(args))
        keeps = mode.enabled
        with transforming(is_reverse=True), enable_grad():
            args, leaves = with_leaves(args, places)
            output, aux = split_aux(func(*args, **kwargs), has_aux, GRAD)
            check_number(output)
            records = keeps and is_followed([output], leaves)
            found = iter(by_leaves([output], leaves, None, records))
            aux = seen_outside(aux, leaves, keeps)
        structure = [args[k] for k in places]
        made = tuple(filled(part, found) for part in structure)
        value = output if records else plain(output)
        chosen = made[0] if isinstance(argnums, int) else made
        return chosen, (value, *aux) if has_aux else value

    return run


def check_number(output: Any) -> None:
    if not isinstance(output, Tensor):
        raise RuntimeError(f"{GRAD}: Expected f(*args) to return a Tensor, got {type(output)}")
    if output.dim():
        raise RuntimeError(
            f"{GRAD}: Expected f(*args) to return a scalar Tensor, got tensor with {output.dim()} "
            "dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def with_leaves(args: tuple[Any, ...], places: list[int]) -> tuple[tuple[Any, ...], list[Any]]:
    """Return (the arguments with new tensors for those to differentiate by, these tensors).

    If an argument requires a gradient itself, the new tensor is computed from it, so that
    derivatives of higher order work.
    """
    activate()
    made = list(args)
    leaves: list[Any] = []
    for k in places:
        made[k] = fresh(args[k], leaves)
    return tuple(made), leaves


def fresh(value: Any, leaves: list[Tensor]) -> Any:
    def part(tensor: Any) -> Tensor:
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(tensor)}")
        leaves.append(functions.alias(tensor) if needs(tensor) else new_leaf(tensor))
        return leaves[-1]

    return mapped(value, part)


def new_leaf(tensor: Tensor) -> Tensor:
    made = alias(tensor)
    if mode.levels:
        carry(tensor, made)
    return required(made)


def is_followed(outputs: list[Any], leaves: list[Any]) -> bool:
    """Whether results depend on tensors that require a gradient, besides the leaves.

    Such are the arguments of transforms around this one, and whatever the function uses besides
    its arguments.
    """
    own = set(map(id, leaves))
    edges = [edge_of(y) for y in outputs if needs(y)]
    pending = [edge[0] for edge in edges if edge is not None]
    seen = set(pending)
    while pending:
        node = pending.pop()
        if isinstance(node, AccumulateGrad) and id(node.variable) not in own:
            return True
        for edge in node.edges:
            if edge is not None and edge[0] not in seen:
                seen.add(edge[0])
                pending.append(edge[0])
    return False


def seen_outside(aux: list[Any], leaves: list[Any], keeps: bool) -> list[Any]:
    """What a function gives besides its result, without the history that ends at the leaves alone.

    keeps: whether what the transform gives may have a history."""

    def part(tensor: Tensor) -> Tensor:
        if not needs(tensor) or (keeps and is_followed([tensor], leaves)):
            return tensor
        return plain(tensor)

    return [mapped(value, part) for value in aux]


def by_leaves(
    outputs: list[Any], leaves: list[Any], given: list[Any] | None, records: bool
) -> list[Tensor]:
    """The gradients by the leaves, zeros for those that nothing depends on."""
    chosen = [k for k, y in enumerate(outputs) if needs(y)]
    if not chosen:
        return [functions.zeros_like(x) for x in leaves]
    found = gradients(
        [outputs[k] for k in chosen],
        leaves,
        None if given is None else [given[k] for k in chosen],
        retain_graph=True,
        create_graph=records,
        allow_unused=True,
    )
    zeros = functions.zeros_like
    return [zeros(x.detach()) if g is None else g for x, g in zip(leaves, found)]


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return (output, pullback); pullback(grad_output) returns the gradients of the arguments.

    has_aux: `func` returns a pair (output, aux), and the result is (output, pullback, aux)."""
    keeps = mode.enabled
    with transforming(is_reverse=True), enable_grad():
        args, leaves = with_leaves(primals, list(range(len(primals))))
        output, aux = split_aux(func(*args), has_aux, VJP)
        check_outputs(output, VJP)
        aux = seen_outside(aux, leaves, keeps)
    follows = is_followed(flat(output), leaves)

    def back(
        cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None
    ) -> tuple[Any, ...]:
        if spec(cotangents) != spec(output):
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {shown(cotangents)}, primal output: "
                f"{shown(output)}"
            )
        chosen = flat(cotangents)
        records = mode.enabled and (follows or any(map(needs, chosen)))
        with enable_grad():
            found = iter(by_leaves(flat(output), leaves, chosen, records))
        return tuple(filled(part, found) for part in args)

    is_seen = keeps and follows
    seen = output if is_seen else filled(output, iter([plain(t) for t in flat(output)]))
    return (seen, back, *aux)


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that computes the Jacobian of `func` with respect to its argument(s).

    The shape is that of the result followed by that of the argument.  chunk_size: how many rows are
    computed at once; None: all.
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        places = places_of(argnums, len(args))
        keeps = mode.enabled
        with transforming(is_reverse=True), enable_grad():
            made, leaves = with_leaves(args, places)
            check_real(leaves, "jacrev", "inputs")
            output, aux = split_aux(func(*made, **kwargs), has_aux, VJP)
            check_outputs(output, VJP)
            check_real(flat(output), "jacrev", "outputs")
            records = keeps and is_followed(flat(output), leaves)
            rows = [jacobian(y, leaves, records, chunk_size) for y in flat(output)]
            aux = seen_outside(aux, leaves, keeps)
        structure = [made[k] for k in places]
        return assembled(output, structure, isinstance(argnums, int), rows, aux)

    return run


def assembled(
    output: Any, structure: list[Any], is_single: bool, rows: list[list[Tensor]], aux: list[Any]
) -> Any:
    """The derivatives of each output by each tensor in the structure of both, and aux."""
    parts = []
    for row in rows:
        found = iter(row)
        filled_parts = tuple(filled(part, found) for part in structure)
        parts.append(filled_parts[0] if is_single else filled_parts)
    whole = filled(output, iter(parts))
    return (whole, *aux) if aux else whole


def jacobian(
    y: Tensor, leaves: list[Tensor], records: bool, chunk: int | None = None
) -> list[Tensor]:
    """The derivatives of all elements of y with respect to each of the leaves."""
    size = list(y.shape)
    if y.numel() < 2:
        return row_by_row(y, leaves, records)
    try:
        made = rows_in_chunks(y, leaves, records, chunk or y.numel())
    except NotMapped:
        return row_by_row(y, leaves, records)
    return [rows.reshape(size + list(x.shape)) for x, rows in zip(leaves, made)]


def rows_in_chunks(y: Tensor, leaves: list[Tensor], records: bool, chunk: int) -> list[Tensor]:
    """The rows of the Jacobian for each of the leaves.  Raises NotMapped."""
    count = y.numel()
    made = [
        rows_at_once(y, leaves, records, start, min(chunk, count - start))
        for start in range(0, count, chunk)
    ]
    return made[0] if len(made) == 1 else [functions.cat(list(parts)) for parts in zip(*made)]


def rows_at_once(
    y: Tensor, leaves: list[Tensor], records: bool, start: int, count: int
) -> list[Tensor]:
    """The derivatives of some elements of y, which the gradients of one pass backward are for."""
    units = functions.zeros([count, y.numel()], dtype=y.dtype)
    functions.fill_(units.diagonal(start), 1)
    with batch_of(count) as level:
        unit = first_of(units.reshape([count, *y.shape]), level)
        return [whole(g, level) for g in by_leaves([y], leaves, [unit], records)]


def row_by_row(y: Tensor, leaves: list[Tensor], records: bool) -> list[Tensor]:
    rows = [by_leaves([part], leaves, None, records) for part in y.reshape([-1]).unbind(0)]
    size = list(y.shape)
    return [
        functions.stack([row[k] for row in rows]).reshape(size + list(x.shape))
        if rows
        else functions.zeros(size + list(x.shape), dtype=x.dtype)
        for k, x in enumerate(leaves)
    ]


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """A function that computes the second derivatives of `func` with respect to its argument(s).

    It goes backward twice. PyTorch goes forward through what goes backward, for all elements at
    once; here that would call `func` for each element.
    """
    return jacrev(jacrev(func, argnums), argnums)
