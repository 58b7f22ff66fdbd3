"""Calls of programs, and the conversion of results to what users see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import float32, get_default_dtype
from ..errors import LimitError
from ..interpreter.engine import Engine
from ..interpreter.engine import engine as engine_named
from ..interpreter.gradients import STRAIGHT, is_direct
from ..ir import Function
from ..limits import Limits
from ..objects import EnumValue, ScriptObject
from ..ops.calling import current
from ..script_containers import ScriptDict, ScriptList
from ..tensors import Tensor


class Facades:
    """The classes of users' views of modules and other objects; module.py sets them."""

    module: Callable[[ScriptObject, Engine, Limits | None], Any]
    object: Callable[[ScriptObject, Engine, Limits | None], Any]


facades = Facades()


def signature_of(function: Function, python_function: Any = None) -> Any:
    """The `inspect.Signature` of a function, without the object of a method."""
    import inspect

    if python_function is not None:
        return inspect.signature(python_function)
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [
            inspect.Parameter(
                a.name,
                kinds[a.kwarg_only],
                annotation=a.type.annotation,
                default=a.default if a.has_default else inspect.Parameter.empty,
            )
            for a in function.schema.inputs
        ]
    )


def wrap(value: Any, engine: Engine, limits: Limits | None = None) -> Any:
    """A run-time value as users see it, including inside containers: modules become ScriptModules,
    objects of classes compiled from Python become instances of them, and so do Enum members."""
    if type(value) in UNCHANGED or isinstance(value, Tensor):
        return value
    return _Wrapping(engine, limits, {}).wrap(value)


def run(
    function: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    engine: Engine,
    limits: Limits | None,
) -> Any:
    """Call a function on an engine; returns the result as a user sees it."""
    current.calls.last = function
    observer = current.calls.observer
    able = engine if get_default_dtype() is float32 else with_other_default(engine)
    by = able if observer is None else observer.instead_of(able)
    if any(isinstance(a, (ScriptList, ScriptDict)) for a in (*args, *kwargs.values())):
        by = engine_named("python")  # the native engine would change a copy
    result = by.run(function, args, kwargs, limits)
    return result if type(result) in UNCHANGED else wrap(result, engine, limits)


def run_again(function: Function, args: tuple[Any, ...]) -> Any:
    """The result of a call like the last one of a function that asks for gradients, by its straight
    graph; NotImplemented if the call has to take the way of others."""
    straight = function.attributes.get(STRAIGHT)
    calls, mode = current.calls, current.mode
    if straight is None or calls.observer is not None or calls.tracer is not None or mode.levels:
        return NotImplemented
    result = straight.again(args) if mode.enabled else NotImplemented
    if result is not NotImplemented:
        calls.last = function
    return result


def run_member_again(owner: Any, method: Function, args: tuple[Any, ...]) -> Any:
    """The result of `run_again` for a call of a method of a ScriptModule, or of another object."""
    state = owner.__dict__
    if STRAIGHT not in method.attributes:
        return NotImplemented
    if state["_restore_"] is not None or state["_limits_"] is not None:
        return NotImplemented
    return run_again(method, (state["_raw_"], *args))


def run_module_again(module: Any, args: tuple[Any, ...]) -> Any:
    """The result of `run_again` for a call of a ScriptModule, if nothing but `forward` runs."""
    state = module.__dict__
    cls = state["_raw_"].type
    forward = cls.methods.get("forward")
    if forward is None or cls.pre_hooks or cls.hooks:
        return NotImplemented
    if state.get("_forward_hooks") or state.get("_forward_pre_hooks"):
        return NotImplemented
    return run_member_again(module, forward, args)


def with_other_default(engine: Engine) -> Engine:
    """The engine for a call while the default dtype is not float32, the only one that the native
    engine knows.  Raises NotImplementedError if the user has chosen that engine."""
    from ..interpreter.auto import AutoEngine
    from ..interpreter.engine import engine as engine_called

    if isinstance(engine, AutoEngine) or engine.name == "python":
        return engine_called("python")
    raise NotImplementedError(
        f"the native engine knows no default dtype but float32, and it is {get_default_dtype()}: "
        'call set_default_dtype(float32), or use engine="python"'
    )


def let_be_direct(
    caller: Any, function: Function, engine: Engine, limits: Limits | None, first: Any = None
) -> None:
    """Let later calls of `caller` take the fast path where they may: those of a function, or of a
    method of `first`.  Others become `_call_`: where the program is limited, where something in
    `first` may have a tangent, and where gradients of `first` may be recorded.  A function that
    asks for gradients itself has no such path (`run_again` is its own)."""
    if STRAIGHT in function.attributes:
        return
    is_looked_at = limits is not None or first is not None and bool(current.mode.levels)
    direct = None if is_looked_at else engine.direct(function)
    is_recorded = direct is not None and first is not None and not is_direct(first)
    caller._enter_(direct, function, first, is_recorded)


def unwrap(value: Any) -> Any:
    """The run-time value of what a user passes: users' views of objects become the objects."""
    return getattr(value, "_object_", value)


UNCHANGED = (Tensor, int, float, bool, str, complex, type(None))
"""Classes of values that need no conversion."""


class _Wrapping:
    """The conversion of one value. `seen` caches what was made, by the id of the original, so that
    shared objects stay shared. The originals stay alive, so their ids are not reused."""

    def __init__(self, engine: Engine, limits: Limits | None, seen: dict[int, Any]) -> None:
        self.engine, self.limits, self.seen = engine, limits, seen
        self.kept: list[list[Any]] = []
        self.most = (limits or Limits()).result_values
        self.count = 0

    def wrap(self, value: Any) -> Any:
        cls = type(value)
        if cls in UNCHANGED or isinstance(value, Tensor):
            return value
        if cls is list or cls is dict or isinstance(value, tuple):
            made = self.seen.get(id(value))
            return self.container(value, cls) if made is None else made
        if isinstance(value, EnumValue):
            python: Any = value.type.python_class
            return value if python is None else python[value.name]
        return self.object(value) if isinstance(value, ScriptObject) else value

    def container(self, value: Any, cls: type) -> Any:
        """Convert a list, dict or tuple that was not seen before. It may contain itself."""
        self.count += len(value)
        if self.most is not None and self.count > self.most:
            raise LimitError(
                f"a result has over {self.most} values, and its limits allow no more; "
                "for a program you trust, load it with "
                "limits=Limits(result_values=...)"
            )
        made: Any
        if cls is list:
            # A copy, as in PyTorch: the list may be an attribute, too.
            if all(type(v) in UNCHANGED for v in value):
                made = self.seen[id(value)] = list(value)
                return made
            made = self.seen[id(value)] = []
            made += [self.wrap(v) for v in value]
        elif cls is dict:
            made = self.seen[id(value)] = {}
            for k, v in value.items():
                made[self.wrap(k)] = self.wrap(v)
        else:
            parts = [self.wrap(v) for v in value]
            made = self.seen[id(value)] = tuple(parts) if cls is tuple else cls(*parts)
        return made

    def object(self, value: ScriptObject) -> Any:
        if value.type.is_module:
            return facades.module(value, self.engine, self.limits)
        python: Any = value.type.python_class
        if python is None:
            return facades.object(value, self.engine, self.limits)
        made = self.seen.get(id(value))
        if made is None:
            made = self.seen[id(value)] = python.__new__(python)
            slots = list(value.slots)  # the native engine makes new ones each time
            self.kept.append(slots)
            for attribute, part in zip(value.type.attributes, slots):
                object.__setattr__(made, attribute.name, self.wrap(part))
        return made
