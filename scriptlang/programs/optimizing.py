"""optimize: a frozen copy of a module that runs faster."""

from __future__ import annotations

from collections.abc import Iterable

from .. import budgets
from ..building import alone, uncollected
from ..passes import optimize as speed
from .ahead.inside import let_be_straight
from .freezing import freeze
from .module import ScriptModule


@uncollected
@alone
def optimize(module: ScriptModule, methods: Iterable[str] = ("forward",)) -> ScriptModule:
    """A copy of a module in eval mode that computes the same results faster.

    Batch norms are folded into the layers before them; sums and activations are fused with the
    convolutions and linear layers before them; weights are packed at the first call. Results differ
    only by rounding. The copy does not follow later changes of the module's parameters. It can be
    saved, but the archive holds the program as frozen, so optimise again after loading.

    methods: the methods to keep. Raises RuntimeError for a module in training mode.
    """
    if not isinstance(module, ScriptModule):
        raise TypeError(
            f"optimize takes a ScriptModule, not {type(module).__name__}; compile it "
            "with scriptlang.script, or load it with scriptlang.load, first"
        )
    if is_training(module):
        raise RuntimeError("optimize takes a module in eval mode; call .eval() on it first")
    hooked = module._object_.type
    fast = freeze(
        module, [name for name in (*methods, *hooked.pre_hooks, *hooked.hooks) if name != "forward"]
    )
    fast._type.pre_hooks.extend(hooked.pre_hooks)
    fast._type.hooks.extend(hooked.hooks)
    with budgets.use(budgets.of(fast._type), "optimizing"):
        speed.optimize_all(fast._type.methods.values())
    let_be_straight(fast._type.methods.values())
    return fast


def is_training(module: ScriptModule) -> bool:
    obj = module._object_
    return obj.type.slot("training") is not None and bool(obj.get("training"))


def methods_of(module: ScriptModule) -> list[str]:
    """The methods that users call: not private ones, and not hooks."""
    t = module._object_.type
    return [
        name
        for name in t.methods
        if not name.startswith("_") and name not in (*t.hooks, *t.pre_hooks)
    ]
