"""Checks gradients against finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...tensors import Tensor, from_numpy
from ..calling import functions
from . import api
from .forward import entered
from .state import needs, required
from .tangents import dual, tangent_of


class GradcheckError(RuntimeError):
    """The computed gradients differ from numerical ones (finite differences)."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of a function with finite differences of its values.

    inputs: the arguments; those that require gradients are checked, and should be float64 or
    complex128.  check_forward_ad: check derivatives by forward mode, too; check_backward_ad: check
    those that go backward.  nondet_tol: how far the gradients of two passes may differ.
    check_undefined_grad: check that a function with results that have no gradient takes that.
    check_grad_dtypes: check that gradients have the types of the inputs.  Batches are checked one
    by one already, and fast_mode and masked change nothing.  Raises GradcheckError if something
    differs, or returns False.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    try:
        warn_of_precision(args)
        if no_results(func, args, eps):
            return True
        if check_backward_ad:
            check(func, args, eps, atol, rtol, is_forward=False)
            check_repeated(func, args, nondet_tol, check_grad_dtypes)
            if check_undefined_grad:
                check_undefined(func, args)
        if check_forward_ad:
            check(func, args, eps, atol, rtol, is_forward=True)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """`gradcheck` for second derivatives: checks the gradients of the gradients.

    check_fwd_over_rev: check them forward; check_rev_over_rev: check them backward.
    """
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    outputs = results_of(func, args)
    del gen_non_contig_grad_outputs
    if grad_outputs is None:
        random = np.random.default_rng(0)
        given = [of_shape(y, random) for y in outputs]
    else:
        given = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    count = len(given)

    def gradients(*values: Any) -> tuple[Any, ...]:
        *some, wanted = values[: len(values) - count], values[len(values) - count :]
        own = tuple(some[0])
        of = [x for x in own if isinstance(x, Tensor) and needs(x)]
        found = api.grad(
            results_of(func, own), of, list(wanted), create_graph=True, allow_unused=True
        )
        return tuple(g for g in found if g is not None and needs(g))

    return gradcheck(
        gradients,
        (*args, *given),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
    )


def of_shape(y: Tensor, random: np.random.Generator) -> Tensor:
    """A random tensor of the same shape and dtype, which requires a gradient."""
    values = random.standard_normal(y._size)
    if y.dtype.kind == "c":
        values = values + 1j * random.standard_normal(y._size)
    return required(from_numpy(np.asarray(values, y.dtype.numpy)))


def results_of(func: Callable[..., Any], args: tuple[Any, ...]) -> list[Tensor]:
    """The results of a call that require a gradient."""
    return [y for y in floats_of(func, args) if needs(y)]


def floats_of(func: Callable[..., Any], args: tuple[Any, ...]) -> list[Tensor]:
    """The results of a call that may have a derivative."""
    result = func(*args)
    parts = result if isinstance(result, (tuple, list)) else [result]
    return [y for y in parts if isinstance(y, Tensor) and y.dtype.kind in "fc"]


def check(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    eps: float,
    atol: float,
    rtol: float,
    is_forward: bool,
) -> None:
    """Compare the Jacobians that go back or forward with differences.  Raises GradcheckError."""
    inputs = [x for x in args if isinstance(x, Tensor) and needs(x)]
    if not inputs:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the "
            "them have requires_grad=True."
        )
    outputs = results_of(func, args)
    known = forward_jacobians(func, args, outputs) if is_forward else {}
    for i in range(len(outputs)):
        for j, x in enumerate(inputs):
            if not x.numel():
                continue  # there is nothing to compare
            analytical = known[i, j] if is_forward else backward_jacobian(func, args, x, i)
            numerical = differences(func, args, x, i, eps)
            halves = by_parts(analytical, numerical, x, outputs[i], is_forward)
            for part, found, wanted in halves:
                if not np.allclose(found, wanted, rtol, atol):
                    which = "computed with forward mode " if is_forward else ""
                    raise GradcheckError(
                        f"{part}Jacobian {which}mismatch for output {i} with respect to input "
                        f"{j},\nnumerical:{wanted}\nanalytical:{found}\n"
                    )


PARTS = "While considering the {} part of complex {}s only, "


def by_parts(
    analytical: np.ndarray, numerical: np.ndarray, x: Tensor, y: Tensor, is_forward: bool
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """What is compared, with what errors say of it: complex outputs, and inputs of forward mode,
    in two parts."""
    if (x if is_forward else y).dtype.kind != "c":
        return [("", analytical, numerical)]
    made = []
    for name, first in (("imaginary", 1), ("real", 0)):
        at: Any = np.s_[first::2] if is_forward else np.s_[:, first::2]
        says = PARTS.format(name, "input" if is_forward else "output")
        made.append((says, analytical[at], numerical[at]))
    return made


def warn_of_precision(args: tuple[Any, ...]) -> None:
    for k, x in enumerate(args):
        if isinstance(x, Tensor) and needs(x) and x.dtype.name not in ("float64", "complex128"):
            warnings.warn(
                f"Input #{k} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. ",
                UserWarning,
                3,
            )


def no_results(func: Callable[..., Any], args: tuple[Any, ...], eps: float) -> bool:
    """Whether no result requires a gradient.  Raises if one depends on an input all the same."""
    result = func(*args)
    parts = result if isinstance(result, (tuple, list)) else [result]
    if any(isinstance(y, Tensor) and needs(y) for y in parts):
        return False
    inputs = [x for x in args if isinstance(x, Tensor) and needs(x)]
    if not inputs:
        return False
    places = [k for k, y in enumerate(parts) if isinstance(y, Tensor) and y.dtype.kind in "fc"]
    for place in places:
        for x in inputs:

            def one(*given: Any, place: int = place) -> Any:
                made = func(*given)
                return made[place] if isinstance(made, (tuple, list)) else made

            if differences(one, args, x, None, eps).any():
                raise GradcheckError("Numerical gradient for function expected to be zero")
    return True


def check_repeated(
    func: Callable[..., Any], args: tuple[Any, ...], tolerance: float, types: bool
) -> None:
    """Raise if a second backward pass gives other gradients, or ones of another type."""
    inputs = [x for x in args if isinstance(x, Tensor) and needs(x)]
    for i, y in enumerate(results_of(func, args)):
        given = functions.ones_like(y.detach())
        first, second = (
            api.grad([y], inputs, [given], retain_graph=True, allow_unused=True) for _ in range(2)
        )
        for x, a, b in zip(inputs, first, second):
            if a is None or b is None:
                continue
            if types and a.dtype is not x.dtype:
                raise GradcheckError(
                    f"Gradient for output {i} has dtype {a.dtype}, and its input {x.dtype}"
                )
            if not np.allclose(a.detach().numpy(), b.detach().numpy(), 0, tolerance, True):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and "
                    "grad_output multiple times gives different values, although analytical "
                    "gradient matches numerical gradient."
                    f"The tolerance for nondeterminism was {tolerance}."
                )


def check_undefined(func: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Raise if the function's backward fails for results without gradients."""
    inputs = [x for x in args if isinstance(x, Tensor) and needs(x)]
    count = len(results_of(func, args))
    for chosen in dict.fromkeys([(), *((k,) for k in range(count) if count > 1)]):
        outputs = results_of(func, args)
        given = [functions.zeros_like(y) if k in chosen else None for k, y in enumerate(outputs)]
        try:
            api.run(outputs, given, inputs, True, False, accumulates=False)
        except RuntimeError as error:
            warnings.warn(
                "Backwards compatibility: New undefined gradient support checking feature is "
                "enabled by default, but it may break existing callers of this function. If this "
                'is true for you, you can call this function with "check_undefined_grad=False" to '
                "disable the feature",
                UserWarning,
                3,
            )
            raise GradcheckError(
                "Expected backward function to handle undefined output grads. Please look at "
                "'Notes about undefined output gradients' in \"tools/autograd/derivatives.yaml\""
            ) from error


def forward_jacobians(
    func: Callable[..., Any], args: tuple[Any, ...], outputs: list[Tensor]
) -> dict[tuple[int, int], np.ndarray]:
    """The Jacobians of all outputs by all inputs in forward mode, by (output, input): a row for
    each element of the input.

    As in PyTorch, each input that is checked has a tangent in each call, and requires no gradient.
    """
    rows: dict[tuple[int, int], list[np.ndarray]] = {}
    places = [k for k, y in enumerate(floats_of(func, args)) if needs(y)]
    inputs = [x for x in args if is_checked(x)]
    for j, x in enumerate(inputs):
        for at in np.ndindex(*x._size):
            for part in (1, 1j) if x.dtype.kind == "c" else (1,):
                tangents = [np.zeros(t._size, t.dtype.numpy) for t in inputs]
                tangents[j][at] = part
                found = pushed(func, args, tangents)
                for i, y in enumerate(outputs):
                    made = found[places[i]]
                    zeros = np.zeros(y._size, y.dtype.numpy)
                    rows.setdefault((i, j), []).append(flat(zeros if made is None else made))
    return {key: np.array(found) for key, found in rows.items()}


def pushed(
    func: Callable[..., Any], args: tuple[Any, ...], tangents: list[np.ndarray]
) -> list[np.ndarray | None]:
    """The tangents of the results of a call; None for zero."""
    given = iter(tangents)
    with entered() as level:
        duals = [
            dual(a.detach(), level, from_numpy(next(given))) if is_checked(a) else a for a in args
        ]
        found = [tangent_of(y, level) for y in floats_of(func, tuple(duals))]
        return [None if t is None else t.detach().numpy() for t in found]


def is_checked(x: Any) -> bool:
    return isinstance(x, Tensor) and needs(x)


def backward_jacobian(
    func: Callable[..., Any], args: tuple[Any, ...], x: Tensor, output: int
) -> np.ndarray:
    """The Jacobian of an output with respect to x by backward passes; one row per element of x."""
    y = results_of(func, args)[output]
    parts = (1, 1j) if y.dtype.kind == "c" else (1,)
    columns = []
    for k in range(y.numel()):
        for part in parts:
            unit = np.zeros(y.numel(), y.dtype.numpy)
            unit[k] = part
            given = from_numpy(unit.reshape(y._size))
            (grad,) = api.grad([y], [x], [given], retain_graph=True, allow_unused=True)
            value = np.zeros(x._size, x.dtype.numpy) if grad is None else grad.detach().numpy()
            columns.append(flat(value))
    return np.array(columns).T.reshape(len(flat(x.detach().numpy())), len(columns))


def flat(value: np.ndarray) -> np.ndarray:
    """The elements as a vector; complex ones as pairs of real and imaginary part."""
    value = np.ascontiguousarray(value).reshape(-1)
    if not np.iscomplexobj(value):
        return value
    return value.view(np.float64 if value.dtype == np.complex128 else np.float32)


def differences(
    func: Callable[..., Any], args: Sequence[Any], x: Tensor, output: int | None, eps: float
) -> np.ndarray:
    """The Jacobian of an output by central differences; one row per element of x.

    output: its number among those that require a gradient; None: what func returns.
    """
    memory = x.detach()._array
    before_step = None
    rows = []
    for at in np.ndindex(*x._size):
        for part in (1, 1j) if x.dtype.kind == "c" else (1,):
            before = memory[at]
            ends = []
            for step in (eps, -eps):
                memory[at] = before + step * part
                y = func(*args) if output is None else results_of(func, tuple(args))[output]
                if before_step is None:
                    before_step = y
                for what in ("shape", "dtype"):
                    if getattr(y, what) != getattr(before_step, what):
                        raise AssertionError(
                            "Expected `func` to return outputs with the same "
                            f"{what} when inputs are perturbed on index {at}, but got:\n"
                            f"{getattr(before_step, what)} and {getattr(y, what)}"
                        )
                ends.append(flat(y.detach().numpy().copy()))
            memory[at] = before
            rows.append((ends[0] - ends[1]) / (2 * eps))
    return np.array(rows).reshape(len(rows), -1 if rows else 0)
