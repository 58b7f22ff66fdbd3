"""Compiles Python modules to ScriptModules: their types are compiled, their values taken over.

Tensors are not copied: a scripted module has the same memory as the original module.
"""

from __future__ import annotations

import gc
import inspect
import io
import sys
import types as python_types
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .. import types as T
from ..building import alone
from ..errors import CompileError
from ..frontend.modules import module_reading
from ..frontend.modules.module_reading import plain_value
from ..frontend.modules.module_types import ModuleOrigin, Modules, compile_module, declare_methods
from ..frontend.python.inheritance import class_header
from ..frontend.python.module_classes import is_module
from ..frontend.python.torch_tensors import tensor_over
from ..frontend.syntax.modifiers import is_ignored
from ..frontend.values.python_calls import PythonCall
from ..interpreter import engine as engines
from ..interpreter.arguments import Mismatch, convert
from ..interpreter.values import type_name
from ..limits import Limits
from ..objects import ScriptObject
from ..source import Span
from ..tensors import Tensor
from .calling import unwrap, wrap
from .module import ScriptModule


@alone
def script_module(module: Any, engine: str = "auto", limits: Limits | None = None) -> ScriptModule:
    """The compiled form of a module of torch.nn or scriptlang.nn, with the same tensors.

    Raises CompileError.
    """
    modules = Modules()
    with paused_collector():
        compile_module(module, modules)
        obj = _Taking(modules).object(module)
    chosen = engines.choose(engine, obj)
    return ScriptModule(chosen.adopt(obj), chosen, limits)


def place_of(type: T.ClassType) -> Span | None:
    """The location of the class header of a module or object."""
    cls = getattr(getattr(type.origin, "facts", None), "cls", None) or type.python_class
    return None if cls is None else class_header(cls)


@contextmanager
def paused_collector() -> Iterator[Any]:
    """A context without garbage collection: graphs are many small objects that all stay alive."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Taking:
    """Takes over the values of a module; a tensor that occurs twice stays one tensor."""

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self.tensors: dict[int, Tensor] = {}

    def object(self, module: Any) -> ScriptObject:
        module = self.modules.prepared(module)
        raw = getattr(module, "_raw_", None)
        if isinstance(raw, ScriptObject):
            return raw
        type: Any = self.modules.type(module)
        obj = ScriptObject(type)
        for i, a in enumerate(type.attributes):
            value = plain_value(getattr(module, a.name))
            if value is not None and getattr(a.type, "is_module", False):
                obj.slots[i] = self.object(value)
            else:
                obj.slots[i] = self.value(value, a, type)
        return obj

    def value(self, value: Any, a: T.Attribute, owner: T.ClassType) -> Any:
        try:
            return convert(self.shared(value), a.type)
        except Mismatch as e:
            lacks = ""
            if isinstance(a.type, T.InterfaceType):
                lacks = (
                    f", which is not compatible with interface {a.type.annotation}, or the value "
                    "is not a TorchScript compatible type"
                )
            raise CompileError(
                f"Could not cast attribute {a.name!r} of {owner.short_name} to type "
                f"{a.type.annotation}: it holds {type_name(value)}"
                + (f" ({type_name(e.value)}{e.path})" if e.path else "")
                + lacks,
                place_of(owner),
                "change the annotation or the value",
            ) from None

    def shared(self, value: Any) -> Any:
        """The value with torch's tensors and objects replaced by those of this package."""
        if isinstance(value, (list, tuple)) and not isinstance(value, Tensor):
            if hasattr(value, "_fields"):
                return type(value)(*map(self.shared, value))
            return (list if isinstance(value, list) else tuple)(map(self.shared, value))
        if isinstance(value, dict):
            return {self.shared(k): self.shared(v) for k, v in value.items()}
        if hasattr(value, "__array__") and not isinstance(value, Tensor):
            known = self.tensors.get(id(value))
            if known is None:
                known = self.tensors[id(value)] = tensor_over(value)
            return known
        found = class_object(value, self)
        return value if found is None else found


def class_object(value: Any, taking: _Taking) -> ScriptObject | None:
    """An instance of a script class as an object of programs; None for any other value."""
    from ..frontend.python.classes import compiled_type

    if (
        inspect.isclass(value)
        or isinstance(value, (Tensor, ScriptObject))
        or type(value).__module__ == "builtins"
    ):
        return None
    found = compiled_type(type(value))
    if not isinstance(found, T.ClassType):
        return None
    return ScriptObject(
        found, [taking.value(getattr(value, a.name), a, found) for a in found.attributes]
    )


# Modules that PyTorch compiled

_adopted: weakref.WeakKeyDictionary[Any, ScriptModule] = weakref.WeakKeyDictionary()


@alone
def adopt(module: Any) -> ScriptModule:
    """A module that PyTorch scripted or traced, converted to ours: the same program and tensors."""
    from ..serialization.archive import read_archive

    if module not in _adopted:
        buffer = io.BytesIO()
        sys.modules["torch"].jit.save(module, buffer)
        root = read_archive(buffer.getvalue()).root
        made = ScriptModule(root, engines.choose("auto", root))
        shared = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        for path, owner in made.named_modules():
            for a in owner._type.attributes:
                tensor = shared.get(f"{path}.{a.name}" if path else a.name)
                if tensor is not None:
                    owner._object_.set(a.name, tensor_over(tensor))
        _adopted[module] = made
    return _adopted[module]


module_reading.adopt = adopt


# What stays in Python


def python_attribute(owner: ScriptModule, name: str, error: AttributeError) -> Any:
    """An ignored method or property of the Python class, bound to the scripted module.

    Raises `error` for any other name.
    """
    origin = owner._type.origin
    if isinstance(origin, ModuleOrigin):
        raw = origin.class_attribute(name)
        if is_ignored(raw):
            return python_types.MethodType(raw, owner)
        if isinstance(raw, property) and is_ignored(raw.fget):
            return raw.fget(owner) if raw.fget else None
        if isinstance(raw, staticmethod):
            return raw.__func__
        if name in origin.facts.functions:
            return origin.facts.functions[name]
    raise error


@alone
def define_methods(owner: ScriptModule, text: str, names: Mapping[str, Any] | None = None) -> None:
    """Compile the functions of a text as methods of a module; they can use torch and `names`."""
    type = owner._type
    made = declare_methods(type, text, names or {})
    try:
        for function in made.values():
            function.ensure_defined()
    except BaseException:
        for name in made:
            type.methods.pop(name, None)
        raise


def _see(value: Any, fn: Any) -> Any:
    """The argument of a Python function; functions written with torch get torch tensors."""
    value = wrap(value, engines.engine("python"))
    torch = sys.modules.get("torch")
    return _as_torch(value, torch) if torch is not None and _uses(fn, torch) else value


def _uses(fn: Any, package: Any) -> bool:
    """Whether a function can access a package through a global name; a module belongs to the
    packages of its base classes."""
    if is_module(fn):
        return any(c.__module__.partition(".")[0] == package.__name__ for c in type(fn).__mro__)
    names = getattr(inspect.unwrap(fn), "__globals__", {})
    return any(
        v is package or str(getattr(v, "__module__", "")).partition(".")[0] == package.__name__
        for v in list(names.values())
    )


def _as_torch(value: Any, torch: Any) -> Any:
    """The value with torch tensors that share the memory, including inside containers."""
    if isinstance(value, Tensor):
        if value.dtype.name == "bfloat16":
            return torch.from_numpy(value._array.view("int16")).view(torch.bfloat16)
        return torch.from_numpy(value._array)
    if isinstance(value, list):
        return [_as_torch(v, torch) for v in value]
    if isinstance(value, tuple):
        parts = [_as_torch(v, torch) for v in value]
        return tuple(parts) if type(value) is tuple else type(value)(*parts)
    if isinstance(value, dict):
        return {k: _as_torch(v, torch) for k, v in value.items()}
    return value


def _take(value: Any, wanted: T.Type) -> Any:
    if value is None and wanted == T.TENSOR:
        return None  # PyTorch's undefined tensor: a function without annotations may give nothing
    try:
        return convert(unwrap(value), wanted)
    except Mismatch:
        raise TypeError(
            f"a Python function gave {type_name(value)}, but its result is declared as "
            f"{wanted.annotation}"
        ) from None


PythonCall.see, PythonCall.take = staticmethod(_see), staticmethod(_take)
