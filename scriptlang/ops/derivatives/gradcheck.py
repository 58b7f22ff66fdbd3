"""Checks gradients against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...tensors import Tensor, from_numpy
from . import api
from .state import needs


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
) -> bool:
    """Compare the gradients of a function with finite differences of its values.

    inputs: the arguments; those that require gradients are checked, and should be float64 or
    complex128.  Raises GradcheckError if the gradients differ, or returns False.
    """
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    try:
        check(func, args, eps, atol, rtol)
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
    raise_exception: bool = True,
) -> bool:
    """`gradcheck` for second derivatives: checks the gradients of the gradients."""
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    outputs = results_of(func, args)
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
        gradients, (*args, *given), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception
    )


def of_shape(y: Tensor, random: np.random.Generator) -> Tensor:
    """A random tensor of the same shape and dtype, which requires a gradient."""
    values = random.standard_normal(y._size)
    if y.dtype.kind == "c":
        values = values + 1j * random.standard_normal(y._size)
    return from_numpy(np.asarray(values, y.dtype.numpy)).requires_grad_()


def results_of(func: Callable[..., Any], args: tuple[Any, ...]) -> list[Tensor]:
    """The results of a call that require a gradient."""
    result = func(*args)
    parts = result if isinstance(result, (tuple, list)) else [result]
    return [y for y in parts if isinstance(y, Tensor) and y.dtype.kind in "fc" and needs(y)]


def check(
    func: Callable[..., Any], args: tuple[Any, ...], eps: float, atol: float, rtol: float
) -> None:
    inputs = [x for x in args if isinstance(x, Tensor) and needs(x)]
    if not inputs:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the "
            "them have requires_grad=True."
        )
    outputs = results_of(func, args)
    for i, y in enumerate(outputs):
        for j, x in enumerate(inputs):
            analytical = jacobian(y, x)
            numerical = differences(func, args, x, i, eps)
            if not np.allclose(analytical, numerical, rtol, atol):
                raise GradcheckError(
                    f"Jacobian mismatch for output {i} with respect to input {j},\n"
                    f"numerical:{numerical}\nanalytical:{analytical}\n"
                )


def jacobian(y: Tensor, x: Tensor) -> np.ndarray:
    """The Jacobian of y with respect to x by backward passes; one row per element of x."""
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
    return np.array(columns).T.reshape(len(flat(x.detach().numpy())), -1)


def flat(value: np.ndarray) -> np.ndarray:
    """The elements as a vector; complex ones as pairs of real and imaginary part."""
    value = np.ascontiguousarray(value).reshape(-1)
    if not np.iscomplexobj(value):
        return value
    return value.view(np.float64 if value.dtype == np.complex128 else np.float32)


def differences(
    func: Callable[..., Any], args: Sequence[Any], x: Tensor, output: int, eps: float
) -> np.ndarray:
    """The Jacobian of an output by central differences; one row per element of x."""
    memory = x.detach()._array
    rows = []
    for at in np.ndindex(*x._size):
        for part in (1, 1j) if x.dtype.kind == "c" else (1,):
            before = memory[at]
            ends = []
            for step in (eps, -eps):
                memory[at] = before + step * part
                ends.append(flat(results_of(func, tuple(args))[output].detach().numpy().copy()))
            memory[at] = before
            rows.append((ends[0] - ends[1]) / (2 * eps))
    return np.array(rows).reshape(len(rows), -1)
