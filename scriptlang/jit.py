"""The names of torch.jit: `import scriptlang as torch` serves scripts that say torch.jit.script.

Decorators mark, as PyTorch's do, and otherwise change nothing: code runs in plain Python as it did.
What only steers PyTorch's own executor (fusers, profiling) is accepted and does nothing.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

from . import errors
from .api import load, save, script, trace, trace_module
from .frontend.syntax import modifiers
from .frontend.tracing.trace_checks import TracerWarning, TracingCheckError
from .objects import Await, Future
from .ops.calling import dispatch
from .programs.compilation_unit import CompilationUnit
from .programs.freezing import freeze, optimize_for_inference
from .programs.instances import is_instance_of as isinstance
from .programs.module import ScriptFunction
from .programs.module import ScriptModule as RecursiveScriptModule

Error = errors.RunError
T = TypeVar("T")

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",  # noqa: F822 (made on first use)
    "ScriptWarning",
    "TracerWarning",
    "TracingCheckError",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "export_opnames",
    "fork",
    "freeze",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "last_executed_optimized_graph",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "run_frozen_optimizations",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "set_module",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]


REFUSED = {
    **dict.fromkeys(
        ("jit_module_from_flatbuffer", "save_jit_module_to_flatbuffer"),
        "there is no flatbuffer format here; load and save read and write archives",
    ),
    **dict.fromkeys(
        ("TracedModule", "TopLevelTracedModule", "ONNXTracedModule", "RecursiveScriptClass"),
        "a class that PyTorch makes for itself; scripted and traced modules are ScriptModules here",
    ),
}
"""Public names of torch.jit that are not here -> why."""


def __getattr__(name: str) -> Any:
    """ScriptModule, the base of module classes, is loaded with scriptlang.nn on first use."""
    if name in REFUSED:
        raise AttributeError(f"{__name__}.{name}: {REFUSED[name]}")
    if name != "ScriptModule":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .programs.script_class import ScriptModule

    return ScriptModule


# Types and values


class ScriptWarning(Warning):
    """The class of PyTorch's warnings about scripts; nothing here warns with it."""


class Attribute(NamedTuple):
    """`Attribute(value, type)`: an attribute of a module, with the type that it has in programs."""

    value: Any
    type: Any


def annotate(the_type: Any, the_value: T) -> T:
    """`the_value`, to be taken as a `the_type` by the compiler; in plain Python just the value."""
    return the_value


def _unwrap_optional(x: Any) -> Any:
    assert x is not None, "Unwrapping null optional"
    return x


def is_scripting() -> bool:
    """False in plain Python, True in compiled programs."""
    return False


def is_tracing() -> bool:
    """Whether a trace is being recorded."""
    return dispatch.tracing() is not None


# Marks


def export(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Compile this method though nothing that is compiled calls it."""
    return modifiers.mark(fn, "export")


def unused(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Leave the body out of programs: a call of it there raises."""
    if builtins.isinstance(fn, property):
        for accessor in (fn.fget, fn.fset):
            if accessor is not None:
                unused(accessor)
        return fn
    return modifiers.mark(fn, "unused")


def ignore(drop: Any = False, **kwargs: Any) -> Callable[..., Any]:
    """Leave the body out of programs: `@ignore` or `@ignore()`; drop=True is `unused`."""
    if callable(drop):
        return modifiers.mark(drop, "ignore")
    if kwargs.pop("drop_on_export", drop):
        return unused
    return lambda fn: modifiers.mark(fn, "ignore")


def _drop(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Leave the function out of programs, declaration and all."""
    return modifiers.mark(fn, "_drop")


def interface(cls: type[T]) -> type[T]:
    """Declare a class whose methods say what a module or object must have."""
    if not inspect.isclass(cls):
        raise RuntimeError("interface must be applied to a class")
    marked: Any = cls
    marked.__torch_script_interface__ = f"__torch__.{cls.__module__}.{cls.__qualname__}"
    return cls


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a method of a ScriptModule to be compiled."""
    return modifiers.mark(fn, "export")


_overloaded_fns: dict[str, list[Callable[..., Any]]] = {}
"""`__torch__.module.function` -> the declarations that `_overload` marked."""

_overloaded_methods: dict[str, dict[str, list[Callable[..., Any]]]] = {}
"""`__torch__.module.method` -> class name -> the declarations that `_overload_method` marked."""


def _overload(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Declare one signature of a function; the definition that follows has the body."""
    key = f"__torch__.{fn.__module__}.{fn.__name__}"
    _overloaded_fns.setdefault(key, []).append(fn)
    return fn


def _overload_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Declare one signature of a method; the definition that follows has the body."""
    owner = fn.__qualname__.rpartition(".")[0].rpartition(".")[2]
    _overloaded_methods.setdefault(_name_of(fn), {}).setdefault(owner, []).append(fn)
    return fn


def _name_of(fn: Callable[..., Any]) -> str:
    return f"__torch__.{fn.__module__}.{fn.__name__}"


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Compile the function when a trace first calls it; plain Python calls stay as they are."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return script(fn)(*args, **kwargs) if is_tracing() else fn(*args, **kwargs)

    wrapper: Any = functools.wraps(fn)(call)
    wrapper.__original_fn = fn
    wrapper.__script_if_tracing_wrapper = True
    marked: Callable[..., Any] = wrapper
    return marked


_script_if_tracing = script_if_tracing


# Calls side by side


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """A Future of `func(*args, **kwargs)`; the call runs at once."""
    return Future.of(func, *args, **kwargs)


def wait(future: Future[T]) -> T:
    """The result of a Future.  Raises what its call raised."""
    return future.wait()


def _awaitable(func: Callable[..., T], *args: Any, **kwargs: Any) -> Await[T]:
    """A Future whose call is made when it is first waited for."""
    return Await(call=(functools.partial(func, **kwargs), list(args)))


def _awaitable_wait(future: Await[T]) -> T:
    return future.wait()


def _awaitable_nowait(value: T) -> Await[T]:
    return Await(value)


_fork, _wait = fork, wait
_Await = Await


# What steers PyTorch's executor


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[Any]:
    """Accepted; programs are always optimised."""
    yield


@contextlib.contextmanager
def fuser(name: str) -> Iterator[Any]:
    """Accepted; there is one way of running programs."""
    yield


class strict_fusion:
    """Accepted as a context in programs and around them; nothing is fused that could fail to be."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        pass


def set_fusion_strategy(strategy: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Accepted; returns the strategy there was, which is none."""
    return []


_set_fusion_strategy = set_fusion_strategy


def enable_onednn_fusion(enabled: bool) -> None:
    """Accepted; there is no such fuser."""


def onednn_fusion_enabled() -> bool:
    """Whether oneDNN fuses operators: there is none here, so never."""
    return False


def run_frozen_optimizations(
    mod: RecursiveScriptModule,
    optimize_numerics: bool = True,
    preserved_methods: list[str] | None = None,
) -> None:
    """Accepted; freezing has optimised the module already."""


def set_module(obj: Any, mod: str) -> None:
    """Let an object say that it is of another module."""
    if not builtins.isinstance(mod, str):
        raise TypeError("the name of a module must be a string")
    obj.__module__ = mod


def export_opnames(m: RecursiveScriptModule) -> list[str]:
    """The operators that the bytecode of a module's methods names, sorted (`aten::add.Tensor`)."""
    from .interpreter.prepare import code_of
    from .interpreter.reach import reachable

    codes = reachable(*m._type.methods.values(), code_of=code_of).values()
    return sorted({ref.qualified_name for code in codes for ref in code.operators})


def last_executed_optimized_graph() -> Any:
    """The graph of the function that was called last, as it is run; None before any call."""
    from .passes.pipeline import optimize
    from .programs.graph_view import GraphView

    if dispatch.calls.last is None:
        return None
    graph = dispatch.calls.last.graph.copy()
    optimize(graph)
    return GraphView(graph)
