"""The transforms of scriptlang.func that go forward: jvp, jacfwd and linearize."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .batching import Randomness, check_randomness
from .grad_mode import enable_grad
from .ops.batching.batches import batch_of
from .ops.batching.level import first_of, whole
from .ops.calling import functions
from .ops.calling.current import mode
from .ops.derivatives.forward import entered
from .ops.derivatives.state import needs, required, version_of
from .ops.derivatives.tangents import Level, NotMapped, dual, plain, primal_of, suited, tangent_of
from .reverse_transforms import assembled, by_leaves, is_followed, with_leaves
from .tensor_types import set_rng_state
from .tensors import Tensor
from .transform_checks import (
    JVP,
    check_inputs,
    check_outputs,
    check_real,
    places_of,
    split_aux,
    transforming,
)
from .trees import filled, flat, mapped, spec


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
    if spec(primals) != spec(tangents):
        raise RuntimeError(
            f"{JVP}: Expected primals and tangents to have the same python structure. For example, "
            "if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{spec(primals)} and tangents with structure {spec(tangents)}"
        )
    check_inputs(flat(primals))
    for t in flat(tangents):
        if not isinstance(t, Tensor):
            raise RuntimeError(f"{JVP}: Expected tangents to only contain Tensors, got {type(t)}")
    with transforming(), entered() as level:
        given = iter(flat(tangents))
        args = tuple(with_tangents(x, given, level) for x in primals)
        output, aux = split_aux(func(*args), has_aux, JVP)
        check_outputs(output, JVP)
        found = [tangent_of(y, level) for y in flat(output)]
        if strict and any(t is None for t in found):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                "inputs. This is not allowed with strict=True."
            )
        return (*apart(output, found, level), *(without(a, level) for a in aux))


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return (the result of `func`, a function of tangents that returns its derivative).

    The function is called once: it is recorded, and what goes back is recorded, too, which is
    linear. So many directions take less than so many calls of `jvp`.
    """
    check_inputs(flat(primals))
    keeps = mode.enabled
    with enable_grad():
        args, leaves = with_leaves(primals, list(range(len(primals))))
        output = func(*args)
        check_outputs(output, JVP)
        outputs = [y for y in flat(output) if needs(y)]
        weights = [required(functions.ones_like(y.detach())) for y in outputs]
        back = by_leaves(outputs, leaves, weights, True)
    records = keeps and is_followed(flat(output), leaves)

    def push(*tangents: Any) -> Any:
        given = flat(tangents)
        check_tangents(primals, tangents)
        chosen = [(g, t) for g, t in zip(back, given) if needs(g)]
        with enable_grad():
            wants = records or any(map(needs, given))
            gs, ts = [g for g, _ in chosen], [t for _, t in chosen]
            found = iter(by_leaves(gs, weights, ts, wants))
        zeros = functions.zeros_like
        made = [next(found) if needs(y) else zeros(y) for y in flat(output)]
        return filled(output, iter(made))

    return output if records else filled(output, map(plain, flat(output))), push


def check_tangents(primals: Any, tangents: Any) -> None:
    """Raise RuntimeError if tangents do not fit those that a function was linearized at."""
    if spec(primals) != spec(tangents):
        raise RuntimeError(
            f"Expected the tangents {spec(tangents)} to have the same argspec as the primals "
            f"{spec(primals)}"
        )
    for k, (x, t) in enumerate(zip(flat(primals), flat(tangents))):
        for what, wanted, found in (("shape", x.shape, t.shape), ("dtype", x.dtype, t.dtype)):
            if wanted != found:
                raise RuntimeError(
                    f"tangent:{k} with {what} {found} in flattened pytree doesn't match the {what} "
                    f"{wanted} of the corresponding primal."
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
    return mapped(value, lambda leaf: primal_of(leaf, level) if isinstance(leaf, Tensor) else leaf)


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """Like `jacrev`, but column by column, which is better for more results than arguments.

    The function is called for each argument, for all of its elements at once, or for each element,
    where what it does depends on what is computed (see `vmap`).  randomness: as that of `vmap`.
    """
    check_randomness(randomness)

    @wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        places = places_of(argnums, len(args))
        structure = [args[k] for k in places]
        inputs = flat(structure)
        check_real(inputs, "jacfwd", "inputs")
        check_inputs(inputs)
        columns = Columns(func, args, kwargs, places, inputs, has_aux, randomness)
        return columns.assembled(isinstance(argnums, int))

    return run


class Columns:
    """A Jacobian column by column: each is a call in forward mode.

    output, aux: what the last call gave. originals: the arguments as they were; if a call writes
    the arguments, the next ones get copies of these.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        places: list[int],
        inputs: list[Tensor],
        has_aux: bool,
        randomness: str,
    ) -> None:
        self.random = Randomness(randomness)
        self.func, self.args, self.kwargs = func, args, kwargs
        self.places, self.inputs, self.has_aux = places, inputs, has_aux
        self.given = inputs
        self.output: Any = None
        self.aux: list[Any] = []
        several = sum(x.numel() for x in inputs) > 1
        self.originals = [functions.clone(x) for x in inputs] if several else []
        self.versions = [version_of(x) for x in inputs]

    def column(self, k: int, unit: Tensor | None, is_for_many: bool = False) -> list[Tensor]:
        """The derivatives of the results in the direction `unit` of input k."""
        with transforming(), entered() as level:
            made = iter(
                dual(x, level, unit.reshape(x.shape)) if i == k and unit is not None else x
                for i, x in enumerate(self.given)
            )
            given = list(self.args)
            for place in self.places:
                given[place] = filled(self.args[place], made)
            with self.random.call(is_for_many):
                result = self.func(*given, **self.kwargs)
            output, aux = split_aux(result, self.has_aux, JVP)
            check_outputs(output, JVP)
            check_real(flat(output), "jacfwd", "outputs")
            found = [tangent_of(y, level) for y in flat(output)]
            self.output, tangents = apart(output, found, level)
            self.aux = [without(a, level) for a in aux]
            return flat(tangents)

    def assembled(self, is_single: bool) -> Any:
        columns = [self.of_input(k, x) for k, x in enumerate(self.inputs)]
        if self.output is None:
            self.column(0, None)
        rows = [
            [joined(y, x, column[i] if column else None) for x, column in zip(self.inputs, columns)]
            for i, y in enumerate(flat(self.output))
        ]
        structure = [self.args[k] for k in self.places]
        return assembled(self.output, structure, is_single, rows, self.aux)

    def of_input(self, k: int, x: Tensor) -> list[Tensor]:
        """The columns of an input, for each result: stacked in dimension 0."""
        count = x.numel()
        units = functions.eye(count, dtype=x.dtype)
        if count > 1:
            try:
                return self.at_once(k, units)
            except NotMapped:
                set_rng_state(self.random.start)
                self.renew()
        made = []
        for unit in units.unbind(0):
            made.append(self.column(k, unit))
            self.renew()
        return [functions.stack(list(of_result), 0) for of_result in zip(*made)]

    def at_once(self, k: int, units: Tensor) -> list[Tensor]:
        """All columns by one call.  Raises NotMapped if it needs one for each."""
        with batch_of(units.size(0)) as level:
            made = self.column(k, first_of(units, level), is_for_many=True)
            found = [whole(t, level) for t in made]
        self.renew()
        return found

    def renew(self) -> None:
        """Give the next calls copies of the arguments, if they have been written."""
        if self.originals and self.versions != [version_of(x) for x in self.inputs]:
            self.given = [functions.clone(x) for x in self.originals]


def joined(y: Tensor, x: Tensor, columns: Tensor | None) -> Tensor:
    """The derivatives of y by x, from those by each element of x."""
    size = list(y.shape) + list(x.shape)
    if columns is None:
        return functions.zeros(size, dtype=y.dtype)
    return columns.movedim(0, -1).reshape(size)
