"""In-place and out= forms that follow from a functional form: `add_` and `add.out` from `add`.

`derived.txt` lists their schemas.  A form computes what its functional form does and writes the
result into the tensor that the schema marks as written (`Tensor(a!)`); where the functional form
returns a view, the in-place form makes its tensor that view.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable

from ..schema import Argument, Schema, parse_schema
from ..tensor import Tensor


def kernel_of(text: str, candidates: Callable[[str], Iterable[Any]]) -> Callable | None:
    """The kernel of the form with that schema; None where no functional form of it is declared.

    candidates: the declared operators of a name.
    """
    schema = parse_schema(text)
    outs = [a for a in schema.arguments if a.kwarg_only and is_written(a)]
    if outs:
        plain = [a for a in schema.arguments if not is_written(a)]
        found = functional(candidates(schema.name), plain)
        return None if found is None or len(found.schema.returns) != len(outs) \
            or not all(r.type == a.type for r, a in zip(found.schema.returns, outs)) \
            else out_kernel(found.kernel, len(outs), positions(schema))
    if not schema.name.endswith("_") or not schema.arguments or not is_written(schema.arguments[0]):
        return None
    found = functional(candidates(schema.name[:-1]), schema.arguments)
    if found is None or len(found.schema.returns) != 1:
        return None
    return view_kernel(found.kernel) if found.schema.arguments[0].alias else in_place(found.kernel)


def is_written(a: Argument) -> bool:
    return a.alias is not None and a.alias.is_write


def functional(operators: Iterable[Any], arguments: Iterable[Argument]):
    """The operator that writes nothing and takes just these arguments."""
    wanted = [(a.name, a.type) for a in arguments]
    for op in operators:
        if op.kernel and not op.schema.is_mutable and wanted == [
                (a.name, a.type) for a in op.schema.arguments]:
            return op
    return None


def positions(schema: Schema) -> list[int]:
    """Where the arguments of the functional form are among those of the out form."""
    return [i for i, a in enumerate(schema.arguments) if not is_written(a)]


def out_kernel(kernel: Callable, count: int, plain: list[int]) -> Callable:
    from .elementwise import store

    def form(*args):
        outs = [a for i, a in enumerate(args) if i not in plain]
        result = kernel(*(args[i] for i in plain))
        results = result if count > 1 else (result,)
        for target, value in zip(outs, results):
            if isinstance(target, list):
                for t, v in zip(target, value):
                    store(t, v, resize=True)
            else:
                store(target, value, resize=True)
        return tuple(outs) if count > 1 else outs[0]

    return form


def in_place(kernel: Callable) -> Callable:
    from .elementwise import store

    return lambda self, *args: store(self, kernel(self, *args))


def view_kernel(kernel: Callable) -> Callable:
    return lambda self, *args: become(self, kernel(self, *args))


def become(self: Tensor, other: Tensor) -> Tensor:
    """Make `self` look as `other`, a view of the same storage, does."""
    self._size, self._stride, self._offset = other._size, other._stride, other._offset
    self._view = None
    return self
