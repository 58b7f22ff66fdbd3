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
    init = _init_arguments(context)
    given = init or _set_attributes(context)
    # Freezing may leave the usual dtype as a call: torch.get_autocast_dtype("cpu").
    needed = ("device_type", "enabled", "dtype") if init else ("device_type", "enabled")
    if not given or not all(given[n].is_constant for n in needed if n in given):
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
    if not given["enabled"].constant:
        return DISABLED
    dtype = given["dtype"].constant if given["dtype"].is_constant else None
    return BFLOAT16 if dtype is None else dtype


def _init_arguments(context: Value) -> dict[str, Value]:
    """The arguments of the object's `__init__`; {} if it is not called."""
    for node, i in context.uses:
        if i == 0 and node.kind == "prim::CallMethod" and node.attributes["name"] == "__init__":
            names = [a.name for a in context.type.methods["__init__"].schema.arguments]
            return dict(zip(names, node.inputs))
    return {}


ATTRIBUTES = {"device": "device_type", "_enabled": "enabled", "fast_dtype": "dtype"}
"""Attributes of an autocast object, and the arguments of `__init__` that they keep."""


def _set_attributes(context: Value) -> dict[str, Value]:
    """What is assigned to the object's attributes.  PyTorch's freezing puts `__init__` in place."""
    given = {
        ATTRIBUTES[node.attributes["name"]]: node.inputs[1]
        for node, i in context.uses
        if i == 0 and node.kind == "prim::SetAttr" and node.attributes["name"] in ATTRIBUTES
    }
    return given if len(given) == len(ATTRIBUTES) else {}
