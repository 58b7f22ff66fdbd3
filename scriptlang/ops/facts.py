"""What passes and engines know about an operator besides its schema: its `Facts`.

A family states them where it declares the operator, or with `describe` for several at once:

    @primitive("aten::relu(Tensor self) -> Tensor", pointwise=True, fusible=True)

    describe("sum prod", autocast="full")        # every overload of these names on tensors
    describe("max. mean.dim", fusible=True)      # `max.` is the overload without a name

`python -m scriptlang.ops.lacking` writes them behind the schemas in the operator lists, so that
they can be looked up without importing a kernel: `table.find("aten::relu").facts.fusible`.
In-place and out= forms inherit those facts of their base operator that hold for them (`of_form`).
What the schema already states is not a fact: `Schema.is_mutable`, `Schema.written`,
`Schema.takes_generator`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..records import record

RANDOM_SWITCHES = {"train": False, "training": False, "dropout_p": 0.0}
"""Arguments that control randomness, and the value for which an operator is not random."""


@record(frozen=True)
class Facts:
    """One field per fact; its default value means that nothing is stated."""

    pointwise: bool = False
    """Each element of the result is computed from the elements at the same position of the
    arguments, which broadcast."""

    shape: str = ""
    """The name of the rule in passes/shape_rules that computes the shape of the result, if several
    operators share that rule.  Pointwise operators and those with a rule of their own need none."""

    dynamic_shape: bool = False
    """The sizes of the result, or the number of results, depend on the elements of the
    arguments."""

    keeps_type: str = ""
    """The result has the element type of the input tensors, unless an argument `dtype` is given:
    "any", or "floating" if only for floating types.  For pointwise operators this holds if all
    tensors have the same type."""

    weight: int = -1
    """The index of the argument that is a weight: an input of another floating type is an error,
    and the result has the weight's type."""

    fusible: bool = False
    """It may be part of a fused group: its native kernel only loops over elements or calls
    functions on rows."""

    layout: str = ""
    """"keeps": for images in channels-last memory format the result is channels-last, too.
    "hides": the result does not depend on the strides of its inputs."""

    random: bool = False
    """The result comes from the random generator, unless an argument switches that off.  Operators
    with an argument `generator` need not state it."""

    effect: str = ""
    """It has to run even if its results are unused: "ordered", exactly once and in program order;
    "repeatable", running it again does no harm.  "check": it returns nothing and may be removed."""

    total: bool = False
    """It never raises."""

    may_share: bool = False
    """The result may be an argument, or share memory with one, although the schema does not state
    it."""

    may_copy: bool = False
    """The result may be a copy, although the schema states that it shares memory."""

    stores: tuple[int, ...] = ()
    """(i, j): it stores argument j, or the elements of argument j, in the container argument i."""

    reshapes: bool = False
    """It changes the shape or element type of the tensor that it writes."""

    unrecorded: bool = False
    """It is part of the autograd machinery itself, so no backward step is recorded for it."""

    asks: bool = False
    """It computes derivatives, so that calls of a program that contains it are recorded."""

    looks_back: bool = False
    """It reads or changes a tensor's autograd history.  Tensors made in a recorded call of a whole
    program have no such history."""

    autocast: str = ""
    """What autocast does with its tensors: casts them to "reduced" or "full" precision; "refused":
    it raises."""

    out: str = ""
    """What the out= form does if the result's type differs from the output's.  "converts": converts
    the result.  "typed": passes the output's type as `dtype`, unless that is given; "floating": the
    same for floating tensors.  "exact": raises; "magnitude": raises unless self is complex.
    "truth": accepts outputs of bool and uint8 and reads self as such.  "read": rounds self to the
    output's precision.  "row": an output with as many elements keeps its shape.  "number": raises
    in programs, and converts when called from Python.  The default is "converts" for pointwise
    operators, "exact" for others."""

    out_memory: str = ""
    """Whether the output may share memory with the inputs: "free" (it is not checked), "apart" (it
    must not).  By default it may be an argument, but not overlap one partially."""

    row_major_copy: bool = False
    """Its functional form, which writes to a copy of self, returns a row-major tensor, whatever the
    strides of self."""


FIELDS: dict[str, Any] = {name: f.default for name, f in vars(Facts)["__record_fields__"].items()}
"""Fact -> its default value; values of a fact have the default's type."""

IN_ALL_FORMS = frozenset({"pointwise", "random", "keeps_type"})
"""Facts that in-place, out= and copy forms inherit from their base operator."""

IN_NAMESAKES = frozenset({"autocast"})
"""Facts that only forms with the base operator's own name inherit, which are out= forms."""

NOTHING = Facts()


def of_form(base: Facts, same_name: bool) -> dict[str, Any]:
    """The facts that a form inherits from its base, by name."""
    kept = IN_ALL_FORMS | IN_NAMESAKES if same_name else IN_ALL_FORMS
    return {name: value for name, value in told(base).items() if name in kept}


def told(facts: Facts) -> dict[str, Any]:
    """The facts that differ from their default."""
    return {
        name: getattr(facts, name)
        for name, default in FIELDS.items()
        if getattr(facts, name) != default
    }


def check(given: dict[str, Any]) -> dict[str, Any]:
    """Return the facts unchanged; raise TypeError if one is unknown or has the wrong type."""
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
    """Parse the facts in a line of the operator lists."""
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
"""The parser for a fact's value, by its type."""
