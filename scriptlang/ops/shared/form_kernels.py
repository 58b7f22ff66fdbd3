"""Kernels of forms: in-place, out= and copying variants, made from the kernel of their base."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ... import dtypes
from ...tensors import Tensor
from ..derived import Form
from .elementwise import DISPLAY, cast, check_apart, check_category, store
from .fresh import formatted
from .layout import become

OUT_KINDS = (
    "out",
    "exact_out",
    "typed_out",
    "floating_out",
    "truth_out",
    "magnitude_out",
    "read_out",
)
"""Kinds of forms that write the base operator's results into their last arguments."""


def out_kernel(kernel: Callable, count: int, kind: str, sharing: str) -> Callable:
    def form(*args):
        given, outs = args[: len(args) - count], args[len(args) - count :]
        if sharing != "free":
            check_outputs_apart(given, outs, sharing)
        exact = kind == "exact_out"
        if kind in READERS_OF_TYPE:
            given, exact = READERS_OF_TYPE[kind](given, outs[0])
        result = kernel(*given)
        results = result if count > 1 else (result,)
        if sharing == "same":
            check_own_shapes(given, outs, results)
        if exact:
            for target, value in zip(outs, results):
                check_type(target, value)
        for target, value in zip(outs, results):
            store_into(target, value)
        return tuple(outs) if count > 1 else outs[0]

    return form


def in_type_of_output(given: tuple, target: Tensor) -> tuple[tuple, bool]:
    """Compute in the output's type; if `dtype` is given, the output must have that type."""
    if given[-1] is not None:
        return given, True
    return (*given[:-1], target.dtype.code), False


def in_floating_type_of_output(given: tuple, target: Tensor) -> tuple[tuple, bool]:
    if given[-1] is None and given[0].dtype.kind not in "fc":
        return given, False  # the kernel raises
    if len(given) == 2 and given[0].dtype.kind == "c" != target.dtype.kind:  # mean of all elements
        raise RuntimeError(
            f"mean.dtype_out(): input types can't be cast to the desired output type "
            f"{DISPLAY[target.dtype.name]}"
        )
    if given[-1] is None and target.dtype.kind not in "fc":
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type "
            f"{DISPLAY[target.dtype.name]}"
        )
    return in_type_of_output(given, target)


def as_truth(given: tuple, target: Tensor) -> tuple[tuple, bool]:
    """Convert the input to the output's type first: as uint8, 0.5 is 0 and hence false."""
    if target.dtype not in (dtypes.bool, dtypes.uint8):
        raise RuntimeError(
            "all and any only support bool tensors for the result, got: "
            f"{DISPLAY[target.dtype.name]}"
        )
    read = given[0] if target.dtype is dtypes.bool else cast(given[0], target.dtype)
    return (read, *given[1:]), False


def as_magnitude(given: tuple, target: Tensor) -> tuple[tuple, bool]:
    """Magnitudes of complex numbers are converted; other results must have the output's type."""
    return given, given[0].dtype.kind != "c"


def as_read(given: tuple, target: Tensor) -> tuple[tuple, bool]:
    """Round self to the output's precision first, the parts of complex numbers separately.

    A reduction to one result with an output of at least single precision is not rounded.
    """
    self, dims = given[:2]
    if target.dtype.kind not in "fc" or self.dtype.kind not in "fc":
        return given, False  # the kernel or the store raises
    part = dtypes.part_of(target.dtype)
    if is_one(self._size, dims) and part.itemsize > 2:
        return given, False
    if self.dtype.kind != "c":
        return (cast(self, part), *given[1:]), False
    with np.errstate(all="ignore"):
        array = self._array
        parts = [a.astype(part.numpy).astype(np.float64) for a in (array.real, array.imag)]
    pairs = Tensor._wrap(complex_of(*parts))
    return (cast(pairs, self.dtype) if part.itemsize < 8 else pairs, *given[1:]), False


def is_one(size: tuple[int, ...], dims: list[int] | None) -> bool:
    """Whether reducing these dimensions (all if there are none) leaves a single result."""
    kept = [d for d in range(len(size)) if dims and d not in dims and d - len(size) not in dims]
    return all(size[d] == 1 for d in kept)


def complex_of(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    """The complex numbers with these parts.

    real + 1j * imag would make the other part NaN if one is infinite.
    """
    made = np.empty(real.shape, np.complex128)
    made.real, made.imag = real, imag
    return made


READERS_OF_TYPE = {
    "typed_out": in_type_of_output,
    "floating_out": in_floating_type_of_output,
    "truth_out": as_truth,
    "magnitude_out": as_magnitude,
    "read_out": as_read,
}
"""Kind -> function of (inputs, first output) that returns the inputs for the kernel and whether the
results must have the outputs' types."""


def check_outputs_apart(given: tuple, outs: tuple, sharing: str) -> None:
    for x in given:
        for t in x if isinstance(x, list) else [x]:
            for target in outs:
                if isinstance(t, Tensor) and isinstance(target, Tensor):
                    check_apart(target, t, sharing == "same")


def check_own_shapes(given: tuple, outs: tuple, results: tuple) -> None:
    """Raise if an output that is an input, too, would take another shape."""
    for target, made in zip(outs, results):
        if any(x is target for x in given) and target._size != made._size:
            raise RuntimeError(
                f"output with shape {list(target._size)} doesn't match the broadcast shape "
                f"{list(made._size)}"
            )


def creation_kernel(kernel: Callable) -> Callable:
    def form(*args):
        *given, target = args
        store_into(target, kernel(*given, target.dtype.code, None, None, None))
        return target

    return form


def row_kernel(kernel: Callable) -> Callable:
    """The kernel of a "create_row" form.

    An output with the right number of elements keeps its shape and is filled in row-major order.
    """

    def form(*args):
        *given, target = args
        made = kernel(*given, target.dtype.code, None, None, None)
        if target.numel() == made.numel():
            made = Tensor._wrap(made._array.reshape(target._size))
        store_into(target, made)
        return target

    return form


def check_type(target: Tensor | list[Tensor], value: Tensor | list[Tensor]) -> None:
    for t, v in zip(target, value) if isinstance(target, list) else [(target, value)]:
        if t.dtype is not v.dtype:
            raise RuntimeError(
                f"Expected out tensor to have dtype {DISPLAY[v.dtype.name]}, but "
                f"got {DISPLAY[t.dtype.name]} instead"
            )


def store_into(target: Tensor | list[Tensor], value: Tensor | list[Tensor]) -> None:
    """Write a result, or a list of them, into the out= tensors, which are resized to fit."""
    if isinstance(target, list):
        if len(target) != len(value):
            raise RuntimeError(f"expected {len(value)} tensors in out=, got {len(target)}")
        for t, v in zip(target, value):
            store(t, v, resize=True)
    else:
        store(target, value, resize=True)


def in_place(kernel: Callable) -> Callable:
    def form(self, *args):
        for other in args:
            if isinstance(other, Tensor):
                check_apart(self, other)
        try:
            made = kernel(self, *args)
        except NotImplementedError as refused:
            if (computed := getattr(refused, "computed", None)) is not None:
                check_category(computed, self)
            raise
        return store(self, made)

    return form


def copying(kernel: Callable) -> Callable:
    def form(*args):
        result = kernel(*args)
        return [copied(t) for t in result] if isinstance(result, list) else copied(result)

    return form


def copied(x: Tensor) -> Tensor:
    return Tensor._wrap(np.array(x._array, order="C"))


def on_copy(kernel: Callable) -> Callable:
    def form(self, *args):
        return kernel(formatted(self, 1), *args)

    return form


def on_row_major_copy(kernel: Callable) -> Callable:
    return lambda self, *args: kernel(copied(self), *args)


def view_kernel(kernel: Callable) -> Callable:
    return lambda self, *args: become(self, kernel(self, *args))


KERNELS: dict[str, Callable[[Callable], Callable]] = {
    "create": creation_kernel,
    "create_row": row_kernel,
    "in_place": in_place,
    "become": view_kernel,
    "copy": copying,
    "on_copy": on_copy,
    "on_row_major_copy": on_row_major_copy,
}
"""Kind of a form, other than "out" forms -> function from the base's kernel to the form's."""


def kernel_of(form: Form) -> Callable:
    if form.kind in OUT_KINDS:
        return out_kernel(form.base.kernel, form.outs, form.kind, form.sharing)
    return KERNELS[form.kind](form.base.kernel)


def eager_kernel_of(form: Form) -> Callable | None:
    """The kernel that calls from Python run, if it differs from the form's kernel; else None.

    For the fact out="number": Python makes a tensor of the number, so that the result is converted
    to the output's type.
    """
    of_number = form.kind == "exact_out" and form.base.facts.out == "number"
    return out_kernel(form.base.kernel, form.outs, "out", "same") if of_number else None
