"""The names of torch.func: derivatives as functions of functions.

func.grad(f)(x)             the gradient of f, whose result is a single number
func.jacrev(f)(x)           the Jacobian, row by row
func.vmap(f)(batch)         f applied to each example of a batch
func.jvp(f, (x,), (v,))     the result of f, and its derivative in the direction v

`jvp` and `jacfwd` do not use forward-mode differentiation. The gradients of a function are linear
in the gradients of its result; differentiating them with respect to those, again backward, gives
the derivative in a direction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .batching import vmap
from .grad_mode import enable_grad
from .ops.calling import functions
from .ops.derivatives.api import grad as gradients
from .ops.derivatives.recorder import activate
from .ops.derivatives.state import alias, needs
from .tensors import Tensor

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"]


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
        with enable_grad():
            args, leaves = with_leaves(args, argnums)
            result = func(*args, **kwargs)
            output, *aux = result if has_aux else (result,)
            if not isinstance(output, Tensor) or output.dim():
                raise RuntimeError(
                    "Expected f(*args) to return a scalar tensor, got tensor with "
                    f"{output.dim() if isinstance(output, Tensor) else type(output).__name__} dims."
                )
            found = derived(output, leaves, args, argnums)
        value = output.detach() if not outer(args, leaves) else output
        return found, (value, *aux) if has_aux else value

    return run


def with_leaves(
    args: tuple[Any, ...], argnums: int | tuple[int, ...]
) -> tuple[tuple[Any, ...], list[Any]]:
    """Return (the arguments with new tensors for those to differentiate by, these tensors).

    If an argument requires a gradient itself, the new tensor is computed from it, so that
    derivatives of higher order work.
    """
    activate()
    made = list(args)
    leaves: list[Any] = []
    for k in (argnums,) if isinstance(argnums, int) else argnums:
        made[k] = fresh(args[k], leaves)
    return tuple(made), leaves


def fresh(value: Any, leaves: list[Tensor]) -> Any:
    if isinstance(value, Tensor):
        made = functions.alias(value) if needs(value) else alias(value).requires_grad_()
        leaves.append(made)
        return made
    if isinstance(value, dict):
        return {k: fresh(v, leaves) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(fresh(v, leaves) for v in value)
    raise TypeError(f"derivatives are by tensors, not by {type(value).__name__}")


def outer(args: tuple[Any, ...], leaves: list[Tensor]) -> bool:
    """Whether an enclosing computation also differentiates by the same arguments."""
    return any(leaf.grad_fn is not None for leaf in leaves)


def derived(
    output: Tensor, leaves: list[Tensor], args: tuple[Any, ...], argnums: int | tuple[int, ...]
) -> Any:
    """The gradients of a single number, in the structure of the arguments."""
    found = iter(by_leaves([output], leaves, None, outer(args, leaves)))
    structure = [args[k] for k in ((argnums,) if isinstance(argnums, int) else argnums)]
    made = tuple(filled(part, found) for part in structure)
    return made[0] if isinstance(argnums, int) else made


def by_leaves(
    outputs: list[Any], leaves: list[Any], given: list[Any] | None, records: bool
) -> list[Tensor]:
    if not any(needs(y) for y in outputs):
        return [functions.zeros_like(x) for x in leaves]
    found: Any = list(
        gradients(
            outputs, leaves, given, retain_graph=True, create_graph=records, materialize_grads=True
        )
    )
    return list(found)


def filled(structure: Any, found: Any) -> Any:
    if isinstance(structure, Tensor):
        return next(found)
    if isinstance(structure, dict):
        return {k: filled(v, found) for k, v in structure.items()}
    return type(structure)(filled(v, found) for v in structure)


def flat(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    return [t for v in value for t in flat(v)]


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return (output, pullback); pullback(grad_output) returns the gradients of the arguments.

    has_aux: `func` returns a pair (output, aux), and the result is (output, pullback, aux)."""
    with enable_grad():
        args, leaves = with_leaves(primals, tuple(range(len(primals))))
        result = func(*args)
    output, *aux = result if has_aux else (result,)
    records = outer(args, leaves)

    def back(*given: Any) -> tuple[Any, ...]:
        with enable_grad():
            chosen = flat(given[0] if len(given) == 1 else given)
            wants = records or any(map(needs, chosen))
            found = iter(by_leaves(flat(output), leaves, chosen, wants))
        return tuple(filled(part, found) for part in args)

    seen = output if records else filled(output, iter([t.detach() for t in flat(output)]))
    return (seen, back, *aux)


def jvp(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """Return (the result of `func`, its derivative in the direction of the tangents).

    tangents: in the structure and shapes of the arguments. strict: raise RuntimeError if a result
    does not depend on the arguments; otherwise its derivative is 0.
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError("jvp takes the arguments and the tangents as tuples")
    if [t.shape for t in flat(primals)] != [t.shape for t in flat(tangents)]:
        raise RuntimeError("jvp takes one tangent of the same shape for each tensor argument")
    with enable_grad():
        args, leaves = with_leaves(primals, tuple(range(len(primals))))
        result = func(*args)
        output, *aux = result if has_aux else (result,)
        records = outer(args, leaves) or any(map(needs, flat(tangents)))
        made = forward(flat(output), leaves, flat(tangents), records, strict)
    seen = output if records else filled(output, iter([t.detach() for t in flat(output)]))
    return (seen, filled(output, iter(made)), *aux)


def forward(
    outputs: list[Tensor],
    leaves: list[Tensor],
    tangents: list[Tensor],
    records: bool,
    strict: bool = False,
) -> list[Tensor]:
    """The derivatives of the outputs in the direction of the tangents of the leaves."""
    found = []
    for y in outputs:
        if strict and not needs(y):
            raise RuntimeError("jvp(strict=True): a result does not depend on the arguments")
        weight = functions.zeros_like(y.detach()).requires_grad_()
        back = by_leaves([y], leaves, [weight], True)
        chosen = [(g, t) for g, t in zip(back, tangents) if needs(g)]
        if not chosen:
            found.append(functions.zeros_like(y.detach()))
            continue
        outs, given = map(list, zip(*chosen))
        found += by_leaves(outs, [weight], given, records)
    return found


def jacfwd(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Like `jacrev`, but column by column, which is better for more results than arguments."""

    def blocks(outputs: list[Tensor], leaves: list[Tensor], records: bool) -> list[list[Tensor]]:
        columns = [columns_by(outputs, leaves, k, records) for k in range(len(leaves))]
        return [[column[i] for column in columns] for i in range(len(outputs))]

    return jacobian_function(func, argnums, has_aux, blocks)


def columns_by(outputs: list[Tensor], leaves: list[Tensor], k: int, records: bool) -> list[Tensor]:
    """The derivatives of each output with respect to all elements of leaf k."""
    leaf = leaves[k]
    units = functions.eye(leaf.numel(), dtype=leaf.dtype).unbind(0)
    found = [forward(outputs, [leaf], [u.reshape(leaf.shape)], records) for u in units]
    return [
        functions.stack([column[i] for column in found], -1).reshape(
            list(y.shape) + list(leaf.shape)
        )
        if found
        else functions.zeros(list(y.shape) + list(leaf.shape), dtype=y.dtype)
        for i, y in enumerate(outputs)
    ]


def jacrev(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that computes the Jacobian of `func` with respect to its argument(s).

    The shape is that of the result followed by that of the argument.
    """

    def blocks(outputs: list[Tensor], leaves: list[Tensor], records: bool) -> list[list[Tensor]]:
        return [jacobian(y, leaves, records) for y in outputs]

    return jacobian_function(func, argnums, has_aux, blocks)


def jacobian_function(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...],
    has_aux: bool,
    blocks: Callable[[list[Tensor], list[Tensor], bool], list[list[Tensor]]],
) -> Callable[..., Any]:
    """blocks: computes, from outputs and leaves, the derivatives of each output by each leaf."""

    @wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            made, leaves = with_leaves(args, argnums)
            result = func(*made, **kwargs)
            output, *aux = result if has_aux else (result,)
            rows = blocks(flat(output), leaves, outer(made, leaves))
        structure = [made[k] for k in ((argnums,) if isinstance(argnums, int) else argnums)]
        parts = []
        for row in rows:
            found = iter(row)
            filled_parts = tuple(filled(part, found) for part in structure)
            parts.append(filled_parts[0] if isinstance(argnums, int) else filled_parts)
        whole = parts[0] if isinstance(output, Tensor) else shaped(output, iter(parts))
        return (whole, *aux) if has_aux else whole

    return run


def shaped(output: Any, parts: Any) -> Any:
    """The blocks in the structure of the function's result."""
    if isinstance(output, Tensor):
        return next(parts)
    if isinstance(output, dict):
        return {k: shaped(v, parts) for k, v in output.items()}
    return tuple(shaped(v, parts) for v in output)


def jacobian(y: Tensor, leaves: list[Tensor], records: bool) -> list[Tensor]:
    """The derivatives of all elements of y with respect to each of the leaves."""
    rows = [by_leaves([part], leaves, None, records) for part in y.reshape([-1]).unbind(0)]
    size = list(y.shape)
    return [
        functions.stack([row[k] for row in rows]).reshape(size + list(x.shape))
        if rows
        else functions.zeros(size + list(x.shape), dtype=x.dtype)
        for k, x in enumerate(leaves)
    ]


def hessian(func: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """A function that computes the second derivatives of `func` with respect to one argument."""
    return jacrev(jacrev(func, argnums), argnums)
