"""Forms that are derived from a declared overload of the same operator.

`derived.txt` lists their schemas.  `add_` and `add.out` are derived from `add`: the result is
written into the tensor that the schema marks as written (`Tensor(a!)`).  If `t` returns a view,
`t_` turns its tensor into that view.  `t_copy` returns a copy of the view that `t` returns; `put`
is `put_` on a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..records import record
from ..schema import Argument, Schema, parse_schema

if TYPE_CHECKING:
    from .table import Operator


@record(frozen=True)
class Form:
    """How a form is derived from `base`, an operator with a kernel.

    kind: "out", "exact_out" (the output must have the result's type), "typed_out", "floating_out",
    "truth_out", "magnitude_out", "read_out" (see `Facts.out`), "create" (an "out" form of a
    function that makes a tensor from sizes and numbers; "create_row": from a range of numbers, so
    that an output with as many elements keeps its shape), "in_place", "become" (a view in place),
    "copy" (of a view), "on_copy" (on a copy that keeps the order of the dimensions in memory),
    "on_row_major_copy". outs: how many arguments of an "out" form are written; they are the last
    ones. sharing: how these may share memory with the inputs: "free", "same" (each element with its
    own position) or "apart".
    """

    kind: str
    base: Any
    outs: int = 0
    sharing: str = ""


def form_of(text: str, candidates: Callable[[str], Iterable[Any]]) -> Form | None:
    """How the form with that schema is derived; None if it cannot be derived.

    candidates: returns the operators of a name that have a kernel.
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
    """The out= form of a functional operator: every result is written into an argument."""
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
    "floating": "floating_out",
    "truth": "truth_out",
    "magnitude": "magnitude_out",
    "read": "read_out",
    "exact": "exact_out",
    "number": "exact_out",
}
"""The fact `out` -> the kind of the out= form."""


OPTIONS = ("dtype", "layout", "device", "pin_memory")
"""Arguments of a creation function that its out= form lacks, since `out` determines them."""


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
    if found is None:
        return None
    return Form("create_row" if found.facts.out == "row" else "create", found, 1)


def is_written(a: Argument) -> bool:
    return a.alias is not None and a.alias.is_write


def same_arguments(operators: Iterable[Any], arguments: Iterable[Argument]) -> Operator | None:
    """The operator with a kernel that takes exactly these arguments, written or not; else None."""
    wanted = [(a.name, a.type) for a in arguments]
    return next(
        (
            op
            for op in operators
            if op.kind != "lacking" and wanted == [(a.name, a.type) for a in op.schema.arguments]
        ),
        None,
    )
