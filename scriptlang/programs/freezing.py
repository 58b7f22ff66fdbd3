"""freeze and optimize_for_inference: modules whose attributes are constants of their methods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import budgets
from .. import types as T
from ..building import alone, uncollected
from ..objects import ScriptObject
from ..passes import freeze as pass_
from ..passes import optimize as speed
from .ahead.inside import let_be_straight
from .module import ScriptModule


@uncollected
@alone
def freeze(
    mod: ScriptModule, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True
) -> ScriptModule:
    """A copy of a module in eval mode, with its attributes folded into `forward`.

    preserved_attrs: methods to keep besides `forward` or its overloads (`forward__0`, ...), and
    attributes that stay attributes. Raises RuntimeError for a module in training mode, or one that
    returns itself.
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use scriptlang.script "
            "or scriptlang.trace to script your 'nn.Module'."
        )
    obj = mod._object_
    if obj.type.slot("training") is not None and obj.get("training"):
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. "
            "Please call .eval() on your module before freezing."
        )
    methods, attributes = _sorted(obj, preserved_attrs or ())
    budget = budgets.of(obj.type)
    with budgets.use(budget, "freezing"):
        frozen = pass_.freeze(obj, methods, attributes)
    for function in frozen.type.methods.values():
        function.budget = budget
    return ScriptModule(frozen, mod._engine_, mod._limits_)


def _sorted(obj: ScriptObject, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return (methods, forward first, and attributes) from names.
    Raises RuntimeError for unknown ones."""
    methods = ["forward"] if "forward" in obj.type.methods else overloads_of_forward(obj.type)
    attributes: list[Any] = []
    for name in names:
        for find, found in ((pass_.find_method, methods), (pass_.find_attribute, attributes)):
            try:
                find(obj, name)
            except KeyError:
                continue
            found += [name] if name not in found else []
            break
        else:
            raise RuntimeError(
                f"freeze cannot preserve {name!r}: {obj.type.short_name} has no "
                "such attribute or method"
            )
    if not methods:
        raise RuntimeError(f"{obj.type.short_name} has no forward, and no method is preserved")
    return methods, attributes


def overloads_of_forward(type: T.ClassType) -> list[str]:
    """The methods that a module has in place of `forward`, as recurrent layers do."""
    made: list[str] = []
    while f"forward__{len(made)}" in type.methods:
        made.append(f"forward__{len(made)}")
    return made


@alone
def optimize_for_inference(
    mod: ScriptModule, other_methods: list[str] | None = None
) -> ScriptModule:
    """The module in eval mode, frozen unless it is frozen already, and optimised (see optimize)."""
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "optimize_for_inference expects a ScriptModule as input. Please use "
            "scriptlang.script or scriptlang.trace to script your 'nn.Module'."
        )
    is_frozen = mod._object_.type.slot("training") is None
    frozen = mod if is_frozen else freeze(mod.eval(), other_methods)
    with budgets.use(budgets.of(frozen._type), "optimizing"):
        speed.optimize_all(frozen._type.methods.values())
    let_be_straight(frozen._type.methods.values())
    return frozen
