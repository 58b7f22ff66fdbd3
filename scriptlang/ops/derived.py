"""Forms that follow from a declared form of the same operator.

`derived.txt` lists their schemas.  `add_` and `add.out` follow from `add`: the result is written
into the tensor that the schema marks as written (`Tensor(a!)`), or, where `t` gives a view, `t_`
makes its tensor that view.  `t_copy` is a copy of what the view `t` gives; `put` is `put_` on a
copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..records import record
from ..schema import Argument, Schema, parse_schema
from ..tensors import Tensor


@record(frozen=True)
class Form:
    """How a form follows from `base`, an operator with a kernel.

    kind: "out", "exact_out" (whose output has to have the type of the result), "typed_out" (whose
    output says what is computed with), "create" (an "out" form of a function that makes a tensor
    from sizes and numbers), "in_place", "become" (a view in place),
    "copy" (of a view), "on_copy" (which keeps the order of the dimensions in memory),
    "on_row_major_copy".
    outs: how many arguments of an "out" form are written; they follow all others.
    sharing: how these may share memory with what is read: "free", "same" (each element with its own
    place) or "apart".
    """

    kind: str
    base: Any
    outs: int = 0
    sharing: str = ""

    @property
    def kernel(self) -> Callable:
        if self.kind in OUT_KINDS:
            return out_kernel(self.base.kernel, self.outs, self.kind, self.sharing)
        return KERNELS[self.kind](self.base.kernel)

    @property
    def eager_kernel(self) -> Callable | None:
        """What calls from Python run instead of the kernel, if not that.

        Python makes a tensor of a number, and so the result converts.
        """
        of_number = self.kind == "exact_out" and self.base.facts.out == "number"
        return out_kernel(self.base.kernel, self.outs, "out", "same") if of_number else None


def form_of(text: str, candidates: Callable[[str], Iterable[Any]]) -> Form | None:
    """How the form with that schema follows; None where no other form of it is known.

    candidates: the operators of a name that have a kernel.
    """
    schema = parse_schema(text)
    name = schema.name
    if any(a.kwarg_only and is_written(a) for a in schema.arguments):
        return out_form(schema, candidates(name))
    if schema.is_mutable:
        found = (
            name.endswith("_")
            and is_written(schema.arguments[0])
            and same_arguments(candidates(name[:-1]), schema.arguments)
        )
        if not found or len(found.schema.returns) != 1:
            return None
        return Form("become" if found.schema.arguments[0].alias else "in_place", found)
    if name.endswith("_copy"):
        found = same_arguments(candidates(name[:-5]), schema.arguments)
        if found and any(r.alias for r in found.schema.returns):
            return Form("copy", found)
    found = same_arguments(candidates(name + "_"), schema.arguments)
    if found and schema.arguments and is_written(found.schema.arguments[0]):
        return Form("on_row_major_copy" if found.facts.row_major_copy else "on_copy", found)
    return None


def out_form(schema: Schema, candidates: Iterable[Any]) -> Form | None:
    """The out= form of a functional one: every output is written into an argument."""
    outs = [a for a in schema.arguments if is_written(a)]
    plain = [a for a in schema.arguments if not is_written(a)]
    if schema.arguments != (*plain, *outs):
        return None
    candidates = list(candidates)
    found = same_arguments(candidates, plain)
    if found is None:
        return creation_form(candidates, plain)
    if found.schema.is_mutable or [r.type for r in found.schema.returns] != [a.type for a in outs]:
        return None
    facts = found.facts
    kind = KINDS_OF_OUT[facts.out or ("converts" if facts.pointwise else "exact")]
    free = facts.out == "number"
    return Form(kind, found, len(outs), "free" if free else facts.out_memory or "same")


KINDS_OF_OUT = {
    "converts": "out",
    "typed": "typed_out",
    "exact": "exact_out",
    "number": "exact_out",
}
"""The kind of the out= form by the fact `out`."""

OUT_KINDS = ("out", "exact_out", "typed_out")
"""Kinds of forms that write the results of their base into their last arguments."""


OPTIONS = ("dtype", "layout", "device", "pin_memory")
"""What a creation function takes beside what its out= form takes; `out` decides them there."""


def creation_form(candidates: Iterable[Any], arguments: list[Argument]) -> Form | None:
    wanted = [(a.name, a.type) for a in arguments]
    found = next(
        (
            op
            for op in candidates
            if op.kind != "lacking"
            and tuple(a.name for a in op.schema.arguments[-4:]) == OPTIONS
            and [(a.name, a.type) for a in op.schema.arguments[:-4]] == wanted
        ),
        None,
    )
    return None if found is None else Form("create", found, 1)


def is_written(a: Argument) -> bool:
    return a.alias is not None and a.alias.is_write


def same_arguments(operators: Iterable[Any], arguments: Iterable[Argument]):
    """The operator with a kernel that takes just these arguments, written or not; else None."""
    wanted = [(a.name, a.type) for a in arguments]
    return next(
        (
            op
            for op in operators
            if op.kind != "lacking" and wanted == [(a.name, a.type) for a in op.schema.arguments]
        ),
        None,
    )


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
    from .shared.elementwise import check_apart

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
    from .shared.elementwise import DISPLAY

    for t, v in zip(target, value) if isinstance(target, list) else [(target, value)]:
        if t.dtype is not v.dtype:
            raise RuntimeError(
                f"Expected out tensor to have dtype {DISPLAY[v.dtype.name]}, but "
                f"got {DISPLAY[t.dtype.name]} instead"
            )


def store_into(target: Tensor | list[Tensor], value: Tensor | list[Tensor]) -> None:
    """Write a result, or several, into the tensors given as out=, which take its shape."""
    from .shared.elementwise import store

    if isinstance(target, list):
        if len(target) != len(value):
            raise RuntimeError(f"expected {len(value)} tensors in out=, got {len(target)}")
        for t, v in zip(target, value):
            store(t, v, resize=True)
    else:
        store(target, value, resize=True)


def in_place(kernel: Callable) -> Callable:
    from .shared.elementwise import check_apart, store

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
        from .families.convert import formatted

        return kernel(formatted(self, 1), *args)

    return form


def on_row_major_copy(kernel: Callable) -> Callable:
    return lambda self, *args: kernel(copied(self), *args)


def view_kernel(kernel: Callable) -> Callable:
    return lambda self, *args: become(self, kernel(self, *args))


def become(self: Tensor, other: Tensor) -> Tensor:
    """Make `self` look as `other`, a view of the same storage, does."""
    self._size, self._stride, self._offset = other._size, other._stride, other._offset
    self._view = None
    return self


KERNELS: dict[str, Callable[[Callable], Callable]] = {
    "create": creation_kernel,
    "in_place": in_place,
    "become": view_kernel,
    "copy": copying,
    "on_copy": on_copy,
    "on_row_major_copy": on_row_major_copy,
}
"""How the kernel of a form, other than an "out" form, is made from its base's."""
