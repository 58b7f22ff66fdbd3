"""Checks gradients against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...tensors import Tensor, from_numpy
from . import api
from .forward import entered
from .state import needs
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
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
) -> bool:
    """Compare the gradients of a function with finite differences of its values.

    inputs: the arguments; those that require gradients are checked, and should be float64 or
    complex128.  check_forward_ad: check derivatives by forward mode, too; check_backward_ad: check
    those that go backward.  Raises GradcheckError if they differ, or returns False.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    try:
        if check_forward_ad:
            check(func, args, eps, atol, rtol, forward_jacobian)
        if check_backward_ad:
            check(func, args, eps, atol, rtol, backward_jacobian)
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


Jacobian = Callable[[Callable[..., Any], tuple[Any, ...], Tensor, int], np.ndarray]


def check(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    eps: float,
    atol: float,
    rtol: float,
    jacobian: Jacobian,
) -> None:
    """jacobian: computes that of an output, given by its number, by one of the arguments."""
    inputs = [x for x in args if isinstance(x, Tensor) and needs(x)]
    if not inputs:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the "
            "them have requires_grad=True."
        )
    outputs = results_of(func, args)
    for i in range(len(outputs)):
        for j, x in enumerate(inputs):
            analytical = jacobian(func, args, x, i)
            numerical = differences(func, args, x, i, eps)
            if not np.allclose(analytical, numerical, rtol, atol):
                raise GradcheckError(
                    f"Jacobian mismatch for output {i} with respect to input {j},\n"
                    f"numerical:{numerical}\nanalytical:{analytical}\n"
                )


def forward_jacobian(
    func: Callable[..., Any], args: tuple[Any, ...], x: Tensor, output: int
) -> np.ndarray:
    """The Jacobian of an output with respect to x by forward mode; one row per element of x."""
    rows = []
    for at in range(x.numel()):
        for part in (1, 1j) if x.dtype.kind == "c" else (1,):
            unit = np.zeros(x.numel(), x.dtype.numpy)
            unit[at] = part
            with entered() as level:
                tangent = from_numpy(unit.reshape(x._size))
                given = [dual(a, level, tangent) if a is x else a for a in args]
                y = results_of(func, tuple(given))[output]
                made = tangent_of(y, level)
            zeros = np.zeros(y._size, y.dtype.numpy)
            rows.append(flat(zeros if made is None else made.detach().numpy()))
    return np.array(rows).reshape(len(rows), -1)


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
