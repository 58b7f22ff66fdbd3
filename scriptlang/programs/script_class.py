"""`class M(torch.jit.ScriptModule)`: a module class whose instances are compiled when created.

class M(ScriptModule):
    @script_method
    def forward(self, x): ...

M()      # a ScriptModule, as scriptlang.script would return for such a module
"""

from __future__ import annotations

from typing import Any

from ..jit import Attribute
from ..nn import Module
from . import module


class _Compiled(type(Module)):  # type: ignore[misc]  # whatever makes modules
    """Metaclass: creating an instance compiles it, and every compiled module is a
    `ScriptModule`."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        if cls is ScriptModule:
            return made
        from ..api import script

        return script(made)

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is ScriptModule and isinstance(instance, module.ScriptModule):
            return True
        return super().__instancecheck__(instance)


class ScriptModule(Module, metaclass=_Compiled):
    """Base class of modules whose methods marked with `script_method` are compiled."""

    def __setattr__(self, name: str, value: Any) -> None:
        """An `Attribute` is its value; the type that it tells annotates the class."""
        if isinstance(value, Attribute):
            hints = vars(type(self)).get("__annotations__", {})
            type(self).__annotations__ = {**hints, name: value.type}
            value = value.value
        super().__setattr__(name, value)

    def define(self, src: str) -> None:
        """Add methods written as text; for use in `__init__`."""
        self.__dict__.setdefault("_texts", []).append(src)
