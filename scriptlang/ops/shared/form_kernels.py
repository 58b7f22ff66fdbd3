"""Kernels of forms: in-place, out= and copying variants, made from the kernel of their base."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...tensors import Tensor
from ..derived import Form
from .elementwise import DISPLAY, check_apart, store
from .fresh import formatted
from .layout import become

OUT_KINDS = ("out", "exact_out", "typed_out")
"""Kinds of forms that write the results of their base into their last arguments."""


def out_kernel(kernel: Callable, count: int, kind: str, sharing: str) -> Callable:
    def form(*args):
        given, outs = args[: len(args) - count], args[len(args) - count :]
        if sharing != "free":
            check_outputs_apart(given, outs, sharing)
        if kind == "typed_out" and given[-1] is None:
            given = (*given[:-1], outs[0].dtype.code)
        result = kernel(*given)
        results = result if count > 1 else (result,)
        if kind == "exact_out":
            for target, value in zip(outs, results):
                check_type(target, value)
        for target, value in zip(outs, results):
            store_into(target, value)
        return tuple(outs) if count > 1 else outs[0]

    return form


def check_outputs_apart(given: tuple, outs: tuple, sharing: str) -> None:
    for x in given:
        for t in x if isinstance(x, list) else [x]:
            for target in outs:
                if isinstance(t, Tensor) and isinstance(target, Tensor):
                    check_apart(target, t, sharing == "same")


def creation_kernel(kernel: Callable) -> Callable:
    def form(*args):
        *given, target = args
        store_into(target, kernel(*given, target.dtype.code, None, None, None))
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
    """Write a result, or several, into the tensors given as out=, which take its shape."""
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
        return store(self, kernel(self, *args))

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
    "in_place": in_place,
    "become": view_kernel,
    "copy": copying,
    "on_copy": on_copy,
    "on_row_major_copy": on_row_major_copy,
}
"""How the kernel of a form, other than an "out" form, is made from its base's."""


def kernel_of(form: Form) -> Callable:
    if form.kind in OUT_KINDS:
        return out_kernel(form.base.kernel, form.outs, form.kind, form.sharing)
    return KERNELS[form.kind](form.base.kernel)


def eager_kernel_of(form: Form) -> Callable | None:
    """What calls from Python run instead of the kernel, if not that.

    Python makes a tensor of a number, and so the result converts.
    """
    of_number = form.kind == "exact_out" and form.base.facts.out == "number"
    return out_kernel(form.base.kernel, form.outs, "out", "same") if of_number else None
