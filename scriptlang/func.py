"""The names of torch.func: derivatives as functions of functions.

func.grad(f)(x)             the gradient of f, whose result is a single number
func.jacrev(f)(x)           the Jacobian, row by row
func.vmap(f)(batch)         f applied to each example of a batch
func.jvp(f, (x,), (v,))     the result of f, and its derivative in the direction v

`grad`, `vjp` and `jacrev` go backward; `jvp` and `jacfwd` go forward (ops/derivatives/forward.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .batching import vmap
from .grad_mode import enable_grad
from .ops.calling import functions
from .ops.derivatives.api import grad as gradients
from .ops.derivatives.forward import entered
from .ops.derivatives.recorder import activate
from .ops.derivatives.state import alias, needs, open_levels
from .ops.derivatives.tangents import Level, carry, dual, plain, primal_of, suited, tangent_of
from .tensors import Tensor

__all__ = [
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "vjp",
    "vmap",
]


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
        value = plain(output) if not outer(args, leaves) else output
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
        made = functions.alias(value) if needs(value) else new_leaf(value)
        leaves.append(made)
        return made
    if isinstance(value, dict):
        return {k: fresh(v, leaves) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(fresh(v, leaves) for v in value)
    raise TypeError(f"derivatives are by tensors, not by {type(value).__name__}")


def new_leaf(tensor: Tensor) -> Tensor:
    made = alias(tensor)
    if open_levels:
        carry(tensor, made)
    return made.requires_grad_()


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


def flat(value: Any) -> list[Any]:
    """What containers hold, those inside of others included."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return [value]
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

    seen = output if records else filled(output, iter([plain(t) for t in flat(output)]))
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
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    if form(primals) != form(tangents):
        raise RuntimeError(
            f"{JVP}: Expected primals and tangents to have the same python structure. For example, "
            "if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{form(primals)} and tangents with structure {form(tangents)}"
        )
    check_inputs(flat(primals))
    with entered() as level:
        given = iter(flat(tangents))
        args = tuple(with_tangents(x, given, level) for x in primals)
        result = func(*args)
        if has_aux and not (isinstance(result, tuple) and len(result) == 2):
            raise RuntimeError(
                f"{JVP}: output of function f should be a tuple: (output, aux) if has_aux is True"
            )
        output, *aux = result if has_aux else (result,)
        check_outputs(output)
        found = [tangent_of(y, level) for y in flat(output)]
        if strict and any(t is None for t in found):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                "inputs. This is not allowed with strict=True."
            )
        return (*apart(output, found, level), *(without(a, level) for a in aux))


JVP = "jvp(f, primals, tangents)"


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return (the result of `func`, a function of tangents that returns its derivative).

    The function is called once: it is recorded, and what goes back is recorded, too, which is
    linear. So many directions take less than so many calls of `jvp`.
    """
    check_inputs(flat(primals))
    with enable_grad():
        args, leaves = with_leaves(primals, tuple(range(len(primals))))
        output = func(*args)
        check_outputs(output)
        outputs = [y for y in flat(output) if needs(y)]
        weights = [functions.ones_like(y.detach()).requires_grad_() for y in outputs]
        back = by_leaves(outputs, leaves, weights, True)
    records = outer(args, leaves)

    def push(*tangents: Any) -> Any:
        if form(primals) != form(tangents):
            raise RuntimeError(
                f"the tangents have another structure than the primals: {form(tangents)}, not "
                f"{form(primals)}"
            )
        given = [suited(x, t) for x, t in zip(flat(primals), flat(tangents))]
        chosen = [(g, t) for g, t in zip(back, given) if needs(g)]
        with enable_grad():
            wants = records or any(map(needs, given))
            gs, ts = [g for g, _ in chosen], [t for _, t in chosen]
            found = iter(by_leaves(gs, weights, ts, wants))
        zeros = functions.zeros_like
        made = [next(found) if needs(y) else zeros(y) for y in flat(output)]
        return filled(output, iter(made))

    return output if records else filled(output, map(plain, flat(output))), push


def form(value: Any) -> Any:
    """How containers are nested in a value; what is in them is "*"."""
    if isinstance(value, dict):
        return {k: form(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(form(v) for v in value)
    return "*"


def check_inputs(values: list[Any]) -> None:
    """Raise RuntimeError or ValueError if one cannot differentiate by these."""
    if not values:
        raise RuntimeError(f"{JVP}: Expected primals to contain at least one Tensor.")
    for x in values:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{JVP}: Expected primals to only contain Tensors, got {type(x)}")
        if x.dtype.kind not in "fc":
            raise ValueError(f"Expected primal to be floating point or complex, but got: {x.dtype}")


def check_outputs(output: Any) -> None:
    for y in flat(output):
        if not isinstance(y, Tensor):
            raise RuntimeError(
                f"{JVP}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(y)}"
            )


def with_tangents(value: Any, given: Any, level: Level) -> Any:
    """The value with tensors that carry the given tangents."""
    return filled(value, (dual(x, level, suited(x, next(given))) for x in flat(value)))


def apart(output: Any, found: list[Tensor | None], level: Level) -> tuple[Any, Any]:
    """The result of a function without its tangents, and these, zeros for None."""
    seen = [primal_of(y, level) for y in flat(output)]
    made = [functions.zeros_like(y) if t is None else t for y, t in zip(seen, found)]
    return filled(output, iter(seen)), filled(output, iter(made))


def without(value: Any, level: Level) -> Any:
    """A value in which tensors have no tangents of a level."""
    if isinstance(value, Tensor):
        return primal_of(value, level)
    if isinstance(value, dict):
        return {k: without(v, level) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(without(v, level) for v in value)
    return value


def jacfwd(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Like `jacrev`, but column by column, which is better for more results than arguments.

    The function is called for each element of the arguments.
    """

    @wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        places = (argnums,) if isinstance(argnums, int) else argnums
        if not places:
            raise RuntimeError("argnums must be non-empty")
        for k in places:
            if not -len(args) <= k < len(args):
                raise RuntimeError(f"Got argnum={k}, but only {len(args)} positional inputs")
        structure = [args[k] for k in places]
        inputs = flat(structure)
        check_inputs(inputs)
        columns: list[list[list[Tensor]]] = []
        output: Any = None
        aux: list[Any] = []

        def column(k: int, unit: Tensor | None) -> list[Tensor]:
            nonlocal output, aux
            with entered() as level:
                made = [
                    dual(x, level, unit.reshape(x.shape)) if i == k and unit is not None else x
                    for i, x in enumerate(inputs)
                ]
                given = list(args)
                parts = iter(made)
                for place, part in zip(places, structure):
                    given[place] = filled(part, parts)
                result = func(*given, **kwargs)
                output, *rest = result if has_aux else (result,)
                check_outputs(output)
                found = [tangent_of(y, level) for y in flat(output)]
                output, tangents = apart(output, found, level)
                aux = [without(a, level) for a in rest]
                return flat(tangents)

        for k, x in enumerate(inputs):
            units = functions.eye(x.numel(), dtype=x.dtype).unbind(0)
            columns.append([column(k, unit) for unit in units])
        if not any(columns):
            column(0, None)
        rows = [
            [joined(y, x, [made[i] for made in column]) for x, column in zip(inputs, columns)]
            for i, y in enumerate(flat(output))
        ]
        return assembled(output, structure, isinstance(argnums, int), rows, aux)

    return run


def joined(y: Tensor, x: Tensor, columns: list[Tensor]) -> Tensor:
    """The derivatives of y by x, from those by each element of x."""
    size = list(y.shape) + list(x.shape)
    if not columns:
        return functions.zeros(size, dtype=y.dtype)
    return functions.stack(columns, -1).reshape(size)


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
    whole = parts[0] if isinstance(output, Tensor) else shaped(output, iter(parts))
    return (whole, *aux) if aux else whole


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
    """A function that computes the second derivatives of `func` with respect to one argument.

    It goes backward twice. PyTorch goes forward through what goes backward, for all elements at
    once; here that would call `func` for each element.
    """
    return jacrev(jacrev(func, argnums), argnums)
