"""freeze and optimize_for_inference: modules whose attributes are constants of their methods."""

from __future__ import annotations

from .module import ScriptModule
from .passes import freeze as pass_


def freeze(mod: ScriptModule, preserved_attrs: list[str] | None = None,
           optimize_numerics: bool = True) -> ScriptModule:
    """A copy of a module in eval mode, with its attributes folded into `forward`.

    preserved_attrs: methods to keep beside `forward`, and attributes that stay what they are.
    Raises RuntimeError for a module in training mode, or one that returns itself.
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError("Freezing expects a ScriptModule as input. Please use scriptlang.script "
                           "or scriptlang.trace to script your 'nn.Module'.")
    obj = mod._object_
    if obj.type.slot("training") is not None and obj.get("training"):
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. "
                           "Please call .eval() on your module before freezing.")
    frozen = pass_.freeze(obj, preserved=preserved_attrs or ())
    return ScriptModule(frozen, mod._engine_, mod._limits_)


def optimize_for_inference(mod: ScriptModule, other_methods: list[str] | None = None
                           ) -> ScriptModule:
    """The module, frozen if it is not yet; the engines choose how its operators run."""
    if not isinstance(mod, ScriptModule):
        raise RuntimeError("optimize_for_inference expects a ScriptModule as input. Please use "
                           "scriptlang.script or scriptlang.trace to script your 'nn.Module'.")
    if mod._object_.type.slot("training") is None:
        return mod
    return freeze(mod, other_methods)
