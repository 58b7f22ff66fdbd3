"""`with torch.autocast(...)`: its arguments, which must be known at compile time."""

from __future__ import annotations

from scriptlang.dtypes import bfloat16
from scriptlang.errors import CompileError
from scriptlang.ir import Value
from scriptlang.passes.autocast import DISABLED
from scriptlang.source import Span

BFLOAT16 = bfloat16.code
"""Code of the dtype that autocast uses on the CPU if none is given."""

AUTOCAST = (
    "__torch__.torch.amp.autocast_mode.autocast",
    "__torch__.torch.cpu.amp.autocast_mode.autocast",
    "__torch__.torch.cuda.amp.autocast_mode.autocast",
)
"""Names of the classes of context managers for autocast."""


def autocast_dtype(context: Value, span: Span) -> int | None:
    """The dtype code of an autocast object, or DISABLED; None if it is for another device.

    The pass `passes.autocast` reads it from the `prim::Enter` node.  Raises CompileError if the
    arguments of the object are not constants.
    """
    init = next(
        (
            node
            for node, i in context.uses
            if i == 0 and node.kind == "prim::CallMethod" and node.attributes["name"] == "__init__"
        ),
        None,
    )
    names = [a.name for a in context.type.methods["__init__"].schema.arguments]
    given = dict(zip(names, init.inputs)) if init else {}
    if (
        not all(given[n].is_constant for n in ("device_type", "enabled", "dtype") if n in given)
        or not given
    ):
        raise CompileError(
            "the arguments of autocast are not known at compile time",
            span,
            'write literals: torch.autocast("cpu", enabled=True)',
        )
    device = (
        given["device_type"].constant if "device_type" in given else context.type.name.split(".")[2]
    )
    if device != "cpu":
        return None
    dtype = given["dtype"].constant
    return (BFLOAT16 if dtype is None else dtype) if given["enabled"].constant else DISABLED
