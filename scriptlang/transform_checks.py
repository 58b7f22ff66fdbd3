"""What the transforms of scriptlang.func check of arguments and results, and refuse inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from .ops.calling.current import mode
from .ops.derivatives.saved import disable_saved_tensors_hooks
from .tensors import Tensor
from .trees import flat

JVP = "jvp(f, primals, tangents)"
VJP = "vjp(f, *primals)"
GRAD = "grad_and_value(f)(*args)"


def places_of(argnums: Any, count: int) -> list[int]:
    """The places of the arguments to differentiate by, of so many.  Raises RuntimeError."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if argnums == ():
        raise RuntimeError("argnums must be non-empty")
    made: list[int] = []
    for k in argnums if isinstance(argnums, tuple) else (argnums,):
        if not isinstance(k, int):
            raise RuntimeError(f"argnum must be int, got: {type(k)}")
        if not -count <= k < count:
            raise RuntimeError(f"Got argnum={k}, but only {count} positional inputs")
        made.append(k % count)
    if len(set(made)) != len(made):
        raise RuntimeError(f"argnums elements must be unique, got {tuple(made)}")
    return made


def split_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, list[Any]]:
    """Split what a function returns into (result, [aux] or []).  Raises RuntimeError."""
    if not has_aux:
        return result, []
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    for part in flat(result[1]):
        if not isinstance(part, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(part)}")
    return result[0], [result[1]]


def check_outputs(output: Any, name: str) -> None:
    """Raise RuntimeError if a function's result has no tensors, or something else."""
    parts = flat(output)
    if not parts or parts == [None]:
        raise RuntimeError(
            f"{name}: Expected f to be a function that has non-empty output (got output = {parts})"
        )
    for y in parts:
        if not isinstance(y, Tensor):
            raise RuntimeError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(y)}"
            )
        if name == VJP and y.dtype.kind not in "fc":
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                f"Tensor with dtype torch.{y.dtype.name}"
            )


def check_real(tensors: Sequence[Any], name: str, what: str) -> None:
    """Raise RuntimeError if one of the tensors is complex."""
    for k, x in enumerate(tensors):
        if isinstance(x, Tensor) and x.dtype.kind == "c":
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened "
                f"input idx: {k}"
            )


def check_inputs(values: list[Any]) -> None:
    """Raise RuntimeError or ValueError if one cannot differentiate by these."""
    if not values:
        raise RuntimeError(f"{JVP}: Expected primals to contain at least one Tensor.")
    for x in values:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{JVP}: Expected primals to only contain Tensors, got {type(x)}")
        if x.dtype.kind not in "fc":
            raise ValueError(f"Expected primal to be floating point or complex, but got: {x.dtype}")


HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an "
    "issue with your use case."
)


@contextmanager
def transforming(is_reverse: bool = False) -> Iterator[None]:
    """A context in which a transform runs the function of a user.

    What PyTorch refuses there is refused; hooks of saved tensors by those that go backward alone.
    """
    with disable_saved_tensors_hooks(HOOKS) if is_reverse else nullcontext():
        mode.transforms += 1
        try:
            yield
        finally:
            mode.transforms -= 1
