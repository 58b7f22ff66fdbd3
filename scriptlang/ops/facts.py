"""What passes and engines know of an operator besides its schema: its `Facts`.

A family tells them where it declares the operator, or by `describe` for several at once:

    @primitive("aten::relu(Tensor self) -> Tensor", pointwise=True, fusible=True)

    describe("sum prod", autocast="full")        # every overload of these names on tensors
    describe("max. mean.dim", fusible=True)      # `max.` is the overload without a name

`python -m scriptlang.ops.lacking` writes them behind the schemas in the operator lists, so that
nobody imports a kernel to know them: `table.find("aten::relu").facts.fusible`.  In-place and out=
forms have those of the operator they follow from, as far as they hold for them (`of_form`).  What a
schema says is no fact: `Schema.is_mutable`, `Schema.written`, `Schema.takes_generator`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..records import record


@record(frozen=True)
class Facts:
    """One field a fact, with what it says; the default says nothing."""

    pointwise: bool = False
    """Each element of the result is computed from those at its place; arguments broadcast."""

    shape: str = ""
    """The rule that tells the shape of the result, of those in passes/shape_rules that operators
    share; pointwise ones, and those with a rule of their own, need none."""

    dynamic_shape: bool = False
    """The sizes of the result, or how many results there are, depend on elements of the
    arguments."""

    keeps_type: str = ""
    """The result has the type of the tensors it is computed from, without an argument `dtype`, if
    that is "floating", or for "any" type.  Pointwise ones: where all tensors are of one type."""

    weight: int = -1
    """The argument that is a weight: an input of another floating type is refused, and the result
    has that type."""

    fusible: bool = False
    """A group of the fused kind may hold it: natively it does nothing with elements but run loops
    on them, or functions of rows."""

    layout: str = ""
    """"keeps": images that lie channels last give such images.  "hides": the result does not show
    how its inputs lie in memory."""

    random: bool = False
    """The result comes from the random generator, unless an argument switches that off.  One with
    an argument `generator` need not say so."""

    effect: str = ""
    """It has to run even where nothing reads its results: "ordered", once and in its place;
    "repeatable", another run does no harm.  "check": it gives nothing, and may go."""

    total: bool = False
    """It never fails."""

    may_share: bool = False
    """The result may be an argument, or share memory with it, though the schema does not say so."""

    may_copy: bool = False
    """The result may be a copy, though the schema says that it shares memory."""

    stores: tuple[int, ...] = ()
    """(i, j): it puts argument j, or what is in it, into the container i."""

    reshapes: bool = False
    """It gives the tensor that it writes another shape or type."""

    unrecorded: bool = False
    """It is about derivatives itself: no step back is recorded for it."""

    asks: bool = False
    """It asks for derivatives, so that calls of a program with it are recorded."""

    looks_back: bool = False
    """It reads or changes what a tensor keeps of how it was made.  Tensors of a recorded call of a
    whole program keep none of that."""

    autocast: str = ""
    """What autocast does with its tensors: "reduced" or "full" precision; "refused": it raises."""

    out: str = ""
    """What the out= form does with a result of another type than the output: "converts" it, takes
    the output's as its `dtype` unless that is given ("typed"; "floating": of floating tensors), or
    raises ("exact"; "magnitude": unless self is complex); "truth": takes outputs of bool and uint8
    and reads self as such; "read": self is rounded to the output's precision; "row": an output of
    as many elements keeps its shape; "number": raises in programs, and converts where Python calls
    it.  By default pointwise ones convert, and others raise."""

    out_memory: str = ""
    """Whether the output may share memory with what is read: "free" (nobody looks), "apart" (not at
    all); by default it may be an argument, but no part of one."""

    row_major_copy: bool = False
    """Its form that writes to a copy gives a row-major one, whatever the order of self."""


FIELDS: dict[str, Any] = {name: f.default for name, f in vars(Facts)["__record_fields__"].items()}
"""Fact -> its default, whose type the values have."""

IN_ALL_FORMS = frozenset({"pointwise", "random", "keeps_type"})
"""What holds for the in-place, out= and copy forms of an operator, too."""

IN_NAMESAKES = frozenset({"autocast"})
"""What holds for forms of the operator's own name, which are those with out=."""

NOTHING = Facts()


def of_form(base: Facts, same_name: bool) -> dict[str, Any]:
    """The facts that a form has from its base, by name."""
    kept = IN_ALL_FORMS | IN_NAMESAKES if same_name else IN_ALL_FORMS
    return {name: value for name, value in told(base).items() if name in kept}


def told(facts: Facts) -> dict[str, Any]:
    """The facts that say something."""
    return {
        name: getattr(facts, name)
        for name, default in FIELDS.items()
        if getattr(facts, name) != default
    }


def check(given: dict[str, Any]) -> dict[str, Any]:
    """The facts as they were given; TypeError where one is unknown or of another type."""
    for name, value in given.items():
        if name not in FIELDS:
            raise TypeError(
                f"there is no fact {name!r} of operators; scriptlang/ops/facts.py has "
                f"{', '.join(FIELDS)}"
            )
        if type(value) is not type(FIELDS[name]):
            raise TypeError(f"the fact {name} is a {type(FIELDS[name]).__name__}, not {value!r}")
    return given


def written(facts: Facts) -> str:
    """The text of facts in the operator lists: `pointwise weight=1 stores=0,2`."""
    return " ".join(
        name if value is True else f"{name}={text_of(value)}" for name, value in told(facts).items()
    )


def text_of(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


@cache
def read(text: str) -> Facts:
    """The facts that a text in the operator lists tells."""
    found = {}
    for word in text.split():
        name, _, value = word.partition("=")
        found[name] = READERS[type(FIELDS[name])](value)
    return Facts(**found)


READERS: dict[type, Any] = {
    bool: lambda value: True,
    int: int,
    str: str,
    tuple: lambda value: tuple(map(int, value.split(","))),
}
"""How the value of a fact is read, by its type."""
