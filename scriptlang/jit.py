"""The names of torch.jit, so that `import scriptlang as torch` works for code that uses torch.jit.

Decorators only mark functions, as PyTorch's do; plain Python calls are unchanged. Whatever controls
PyTorch's own executor (fusers, profiling) is accepted and has no effect.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import sys
import types
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


frontend = types.SimpleNamespace(
    FrontendError=errors.CompileError,
    NotSupportedError=errors.CompileError,
    UnsupportedNodeError=errors.CompileError,
    FrontendTypeError=errors.CompileError,
)
"""PyTorch's names for errors of the compiler."""


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
"""Public names of torch.jit that are missing here, and why."""


def __getattr__(name: str) -> Any:
    """Load ScriptModule, the base of module classes, with scriptlang.nn on first use."""
    if name in REFUSED:
        raise AttributeError(f"{__name__}.{name}: {REFUSED[name]}")
    if name != "ScriptModule":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .programs.script_class import ScriptModule

    return ScriptModule


# ---- types and values


class ScriptWarning(Warning):
    """PyTorch's class of warnings about scripts; it is never used here."""


class Attribute(NamedTuple):
    """`Attribute(value, type)`: an attribute of a module, with its type in programs."""

    value: Any
    type: Any


def annotate(the_type: Any, the_value: T) -> T:
    """Return `the_value`; the compiler gives it the type `the_type`."""
    return the_value


def _unwrap_optional(x: Any) -> Any:
    assert x is not None, "Unwrapping null optional"
    return x


def is_scripting() -> bool:
    """Return False; in compiled programs it is True."""
    return False


def is_tracing() -> bool:
    """Whether a trace is being recorded."""
    return dispatch.tracing() is not None


# ---- marks


def export(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a method to be compiled even if no compiled code calls it."""
    return modifiers.mark(fn, "export")


def unused(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function whose body is not compiled; calls of it in programs raise an error."""
    if builtins.isinstance(fn, property):
        for accessor in (fn.fget, fn.fset):
            if accessor is not None:
                unused(accessor)
        return fn
    return modifiers.mark(fn, "unused")


def ignore(drop: Any = False, **kwargs: Any) -> Callable[..., Any]:
    """Mark a function that is not compiled: `@ignore` or `@ignore()`.
    With drop=True, it is `unused`."""
    if callable(drop):
        return modifiers.mark(drop, "ignore")
    if kwargs.pop("drop_on_export", drop):
        return unused
    return lambda fn: modifiers.mark(fn, "ignore")


def _drop(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that is left out of programs completely, without its declaration."""
    return modifiers.mark(fn, "_drop")


def interface(cls: type[T]) -> type[T]:
    """Declare an interface: the methods that a module or object must have.
    Raises RuntimeError for anything but a class."""
    if not inspect.isclass(cls):
        raise RuntimeError("interface must be applied to a class")
    marked: Any = cls
    marked.__torch_script_interface__ = f"__torch__.{cls.__module__}.{cls.__qualname__}"
    return cls


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a method of a ScriptModule to be compiled."""
    return modifiers.mark(fn, "export")


_overloaded_fns: dict[str, list[Callable[..., Any]]] = {}
"""The declarations marked by `_overload`, by `__torch__.module.function`."""

_overloaded_methods: dict[str, dict[str, list[Callable[..., Any]]]] = {}
"""The declarations marked by `_overload_method`, by `__torch__.module.method` and class name."""


def _overload(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Declare one signature of a function; the definition after it has the body."""
    key = f"__torch__.{fn.__module__}.{fn.__name__}"
    _overloaded_fns.setdefault(key, []).append(fn)
    return fn


def _overload_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Declare one signature of a method; the definition after it has the body."""
    owner = fn.__qualname__.rpartition(".")[0].rpartition(".")[2]
    _overloaded_methods.setdefault(_name_of(fn), {}).setdefault(owner, []).append(fn)
    return fn


def _name_of(fn: Callable[..., Any]) -> str:
    return f"__torch__.{fn.__module__}.{fn.__name__}"


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Compile the function when a trace first calls it; plain Python calls are unchanged."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return script(fn)(*args, **kwargs) if is_tracing() else fn(*args, **kwargs)

    wrapper: Any = functools.wraps(fn)(call)
    wrapper.__original_fn = fn
    wrapper.__script_if_tracing_wrapper = True
    marked: Callable[..., Any] = wrapper
    return marked


_script_if_tracing = script_if_tracing


# ---- asynchronous calls


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """A Future of `func(*args, **kwargs)`; here the call runs at once."""
    return Future.of(func, *args, **kwargs)


def wait(future: Future[T]) -> T:
    """The result of a Future. Raises the error that its call raised."""
    return future.wait()


def _awaitable(func: Callable[..., T], *args: Any, **kwargs: Any) -> Await[T]:
    """A Future whose call runs when it is first waited for."""
    return Await(call=(functools.partial(func, **kwargs), list(args)))


def _awaitable_wait(future: Await[T]) -> T:
    return future.wait()


def _awaitable_nowait(value: T) -> Await[T]:
    return Await(value)


_fork, _wait = fork, wait
_Await = Await


# ---- control of PyTorch's executor


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[Any]:
    """A context without effect; programs are always optimised."""
    yield


@contextlib.contextmanager
def fuser(name: str) -> Iterator[Any]:
    """A context without effect; there is no choice of fusers."""
    yield


class strict_fusion:
    """A context without effect, in programs and around them."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        pass


def set_fusion_strategy(strategy: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Has no effect; returns the previous strategy, which is always empty."""
    return []


_set_fusion_strategy = set_fusion_strategy


def enable_onednn_fusion(enabled: bool) -> None:
    """Has no effect; there is no oneDNN fuser."""


def onednn_fusion_enabled() -> bool:
    """Return False: there is no oneDNN fuser."""
    return False


def run_frozen_optimizations(
    mod: RecursiveScriptModule,
    optimize_numerics: bool = True,
    preserved_methods: list[str] | None = None,
) -> None:
    """Has no effect; freezing has already optimised the module."""


def set_module(obj: Any, mod: str) -> None:
    """Set the `__module__` of an object. Raises TypeError if the name is no string."""
    if not builtins.isinstance(mod, str):
        raise TypeError("the name of a module must be a string")
    obj.__module__ = mod


def export_opnames(m: RecursiveScriptModule) -> list[str]:
    """The operators in the bytecode of a module's methods, sorted (`aten::add.Tensor`)."""
    from .interpreter.prepare import code_of
    from .interpreter.reach import reachable

    codes = reachable(*m._type.methods.values(), code_of=code_of).values()
    return sorted({ref.qualified_name for code in codes for ref in code.operators})


def last_executed_optimized_graph() -> Any:
    """The optimised graph of the function that was called last; None before any call."""
    from .passes.pipeline import optimize
    from .programs.graph_view import GraphView

    if dispatch.calls.last is None:
        return None
    graph = dispatch.calls.last.graph.copy()
    optimize(graph)
    return GraphView(graph)


class BroadcastingList:
    """`BroadcastingList2[int]`, in annotations: a list of two, or one number for both."""

    def __getitem__(self, element: Any) -> Any:
        return list[element]


_names = types.ModuleType(f"{__name__}.annotations", "The names of torch.jit.annotations.")
vars(_names).update({f"BroadcastingList{n}": BroadcastingList() for n in range(1, 7)}, Any=Any)
sys.modules[_names.__name__] = globals()["annotations"] = _names  # so that `import` finds it
