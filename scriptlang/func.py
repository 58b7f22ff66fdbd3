"""torch.func by name: derivatives of functions, as functions.

func.grad(f)(x)             the gradient of what f gives, a single number
func.jacrev(f)(x)           the Jacobian, row by row
func.vmap(f)(batch)         f of each example of a batch
func.jvp(f, (x,), (v,))     what f gives, and how fast that changes where x changes by v

There is no forward mode beneath `jvp` and `jacfwd`: the gradients of a function are linear in those
of its result, and the derivative by these, taken backward as well, is what is wanted.
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
    """The gradient of a function that gives a single number, by its argument or arguments.

    has_aux: the function gives a pair, of which the second is given as it is.
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
    """As `grad`, but give (gradient, value), with the value of the function."""

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
    """The arguments, with new ones in the places of those that are differentiated by.

    Each is computed of the argument, so that a function of it has derivatives, too.
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
    """Whether somebody else differentiates by the same arguments."""
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
    """(what the function gives, a function from gradients of that to those of the arguments)."""
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
    """(what the function gives, its derivative in the direction of the tangents).

    tangents: in the structure of the arguments, and in their shapes.  strict: raises RuntimeError
    where a result depends on no argument; else its derivative is 0.
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
    """The derivatives of the outputs, where the leaves change by the tangents."""
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
    """The Jacobian as `jacrev` gives it, column by column: for more results than arguments."""

    def blocks(outputs: list[Tensor], leaves: list[Tensor], records: bool) -> list[list[Tensor]]:
        columns = [columns_by(outputs, leaves, k, records) for k in range(len(leaves))]
        return [[column[i] for column in columns] for i in range(len(outputs))]

    return jacobian_function(func, argnums, has_aux, blocks)


def columns_by(outputs: list[Tensor], leaves: list[Tensor], k: int, records: bool) -> list[Tensor]:
    """For each output, its derivatives by all elements of leaf k."""
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
    """The Jacobian: derivatives of each element that the function gives, by each of the argument.

    Its shape is that of the result, then that of the argument.
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
    """blocks: of outputs and leaves, for each output its derivatives by each leaf."""

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
    """Blocks in the structure of what a function gave."""
    if isinstance(output, Tensor):
        return next(parts)
    if isinstance(output, dict):
        return {k: shaped(v, parts) for k, v in output.items()}
    return tuple(shaped(v, parts) for v in output)


def jacobian(y: Tensor, leaves: list[Tensor], records: bool) -> list[Tensor]:
    """The derivatives of all elements of y by each of the leaves."""
    rows = [by_leaves([part], leaves, None, records) for part in y.reshape([-1]).unbind(0)]
    size = list(y.shape)
    return [
        functions.stack([row[k] for row in rows]).reshape(size + list(x.shape))
        if rows
        else functions.zeros(size + list(x.shape), dtype=x.dtype)
        for k, x in enumerate(leaves)
    ]


def hessian(func: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """The second derivatives of a function, by one argument."""
    return jacrev(jacrev(func, argnums), argnums)
