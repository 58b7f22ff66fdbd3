"""The types of Python modules: one ClassType for all modules with the same facts.

    module_type(Linear(2, 3)) is module_type(Linear(2, 3))      the same sizes: one type
    module_type(Linear(2, 3)) is not module_type(Linear(2, 4))  constants differ: another

The type's `origin` is a `ModuleOrigin`.  It compiles methods of the Python class when they are
first used, and has the constants and functions of the module.
"""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from scriptlang import types as T
from scriptlang.building import uncollected
from scriptlang.errors import CompileError
from scriptlang.ir import Function, Value
from scriptlang.objects import Device, ScriptObject
from scriptlang.source import Span

from ..python.declared_overloads import overload_functions
from ..python.ignored import ignored_function
from ..python.module_classes import is_base, is_module
from ..python.resolver import PythonResolver, meaning_of
from ..python.script import declare, functions_of_text
from ..syntax.definitions import defaults_of, qualified_name, source_of
from ..syntax.modifiers import is_ignored
from ..syntax.places import called_at
from ..values.sugared import ConstantValue, SugaredValue
from ..values.value_types import name_of
from ..values.variadic import VariadicValue
from .module_hooks import check_hook, check_result_declared, header, name_of_hook
from .module_reading import Facts, entry_names, prepared, properties_of, read_module
from .module_values import ModuleValue

STARS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


class ModuleOrigin:
    """What a module type was made from.

    `facts` were read from the first module of the type.  `is_compiled`: `compile_module` has
    compiled the methods that can be called from outside.  `starred` are its methods with `*args` or
    `**kwargs`.
    """

    def __init__(self, facts: Facts, type: T.ClassType) -> None:
        self.facts, self.type = facts, type
        self.is_compiled = False
        self.starred: dict[str, VariadicValue] = {}

    def meaning(self, value: Value) -> SugaredValue:
        """The sugared value for a value of this type."""
        return ModuleValue(value)

    # Methods

    def class_attribute(self, name: str) -> Any:
        """The attribute of the Python class, not bound to an object; None if there is none."""
        for cls in self.facts.cls.__mro__:
            if name in vars(cls):
                return vars(cls)[name]
        return None

    def owner_of(self, name: str) -> type | None:
        """The class that defines a name: the Python class or a base; None if there is none."""
        return next((c for c in self.facts.cls.__mro__ if name in vars(c)), None)

    def compile(self, name: str, fn: Callable[..., Any], place: Span | None = None) -> Function:
        """Compile a Python function to the method `name`, unless that exists.

        `place` is the span of the call that needs it.  Raises CompileError.
        """
        known = self.type.methods.get(name)
        if known is not None:
            return known
        if is_ignored(fn):
            function = self._ignored(name, fn)
        else:
            function = self._declared(name, fn)
        self.type.methods[name] = function
        self._finish(name, function, place)
        return function

    def variadic(self, name: str, fn: Callable[..., Any]) -> VariadicValue | None:
        """The meaning of a method with `*args` or `**kwargs`; None for other methods."""
        plain = inspect.unwrap(fn)
        if is_ignored(fn) or not plain.__code__.co_flags & STARS:
            return None
        if name not in self.starred:
            definition, source = source_of(fn)
            self.starred[name] = VariadicValue(
                definition,
                source,
                PythonResolver.of(plain),
                f"{self.type.name}.{name}",
                defaults_of(fn),
                self.type,
            )
        return self.starred[name]

    def _declared(self, name: str, fn: Callable[..., Any]) -> Function:
        definition, source = source_of(fn)
        return declare(
            definition,
            source,
            PythonResolver.of(inspect.unwrap(fn)),
            f"{self.type.name}.{name}",
            defaults_of(fn),
            self.type,
        )

    def _ignored(self, name: str, fn: Callable[..., Any]) -> Function:
        return ignored_function(fn, f"{self.type.name}.{name}", self.type)

    def compile_overloads(self, name: str) -> list[str]:
        """Compile the overloads of a method to `name__0`, `name__1`, ...; returns these names."""
        made = [f"{name}__{i}" for i in range(len(self.facts.overloads[name]))]
        if made[0] in self.type.methods:
            return made
        functions = overload_functions(
            self.class_attribute(name),
            self.facts.overloads[name],
            [f"{self.type.name}.{n}" for n in made],
            self.type,
        )
        self.type.methods.update(zip(made, functions))
        for each, function in zip(made, functions):
            self._finish(each, function, None)
        return made

    def _finish(self, name: str, function: Function, place: Span | None) -> None:
        """Compile the body of a method; removes the method if that fails."""
        try:
            function.ensure_defined()
        except CompileError as error:
            self.type.methods.pop(name, None)
            if place is not None:
                called_at(error, function.name, place)
            raise
        except BaseException:
            self.type.methods.pop(name, None)
            raise

    def compile_property(self, name: str, found: property) -> None:
        """Compile the getter and setter of a property to methods."""
        getter, setter = f"__{name}_getter", None
        self.compile(getter, found.fget)
        if found.fset is not None and not is_ignored(found.fset):
            setter = f"__{name}_setter"
            self.compile(setter, found.fset)
        self.type.properties[name] = (getter, setter)

    # Constants

    def constant(self, name: str, span: Span) -> SugaredValue:
        return constant_meaning(self.facts.constants[name], span)

    def why_not(self, name: str, module_name: str) -> tuple[str, str | None]:
        """(message, help) for an attribute that programs cannot use."""
        facts = self.facts
        if name in facts.failed:
            return (
                f"Module {module_name!r} has no attribute {name!r} (This attribute exists on "
                "the Python module, but we failed to convert Python type to a TorchScript type: "
                f"{facts.failed[name]})",
                "annotate it in the class body, or leave it out of the methods compiled",
            )
        raw = self.class_attribute(name)
        if raw is not None and not callable(raw):
            return (
                f"{name!r} is an attribute of the class {facts.cls.__name__}, not of the module",
                f"annotate it as Final: `{name}: Final[...]`, or set it in __init__",
            )
        return f"Module {module_name!r} has no attribute {name!r}", "set it in __init__"


def constant_meaning(value: Any, span: Span) -> SugaredValue:
    """The sugared value for a constant of a module."""
    if type(value).__name__ in ("device", "Device") and not isinstance(value, Device):
        value = Device(str(value))
    if isinstance(value, Device):
        return ConstantValue(value, T.DEVICE)
    if isinstance(value, tuple):
        parts = [constant_meaning(v, span) for v in value]
        if all(isinstance(p, ConstantValue) for p in parts):
            return ConstantValue(
                tuple(p.constant for p in parts), T.TupleType(tuple(p.constant_type for p in parts))
            )
    return meaning_of(value, span, constant=True)


# Sharing

_types: weakref.WeakKeyDictionary[type, weakref.WeakValueDictionary[Any, T.ClassType]] = (
    weakref.WeakKeyDictionary()
)
"""Python class -> key of the facts of a module (`_key`) -> its type.

A type knows its class, so it is kept here only as long as a program uses it.
"""


class Modules:
    """The Python modules of one call of `script`.  Each is prepared and read only once."""

    def __init__(self) -> None:
        self._prepared: dict[int, tuple[Any, Any]] = {}
        self._types: dict[int, T.Type] = {}

    def prepared(self, module: Any) -> Any:
        """The module that is compiled in place of a module; see module_reading.prepared."""
        known = self._prepared.get(id(module))
        if known is None:
            made = prepared(module)
            known = self._prepared[id(module)] = module, made
            self._prepared.setdefault(id(made), (made, made))
        return known[1]

    def type(self, module: Any) -> T.Type:
        """The type of a Python module or of a ScriptModule.  Raises CompileError."""
        module = self.prepared(module)
        found = self._types.get(id(module))
        if found is None:
            found = self._types[id(module)] = self._find(module)
        return found

    def _find(self, module: Any) -> T.Type:
        raw = getattr(module, "_raw_", None)
        if isinstance(raw, ScriptObject):
            return raw.type
        facts = read_module(module)
        children = {n: facts.interfaces.get(n) or self.type(m) for n, m in facts.modules.items()}
        key = _key(facts, children)
        same = _types.setdefault(facts.cls, weakref.WeakValueDictionary())
        known = same.get(key)
        if known is None:
            known = same[key] = _make(facts, children)
        return known


def module_type(module: Any) -> T.Type:
    """The type of a Python module or of a ScriptModule.  Raises CompileError."""
    return Modules().type(module)


def _key(facts: Facts, children: dict[str, T.Type]) -> tuple[Any, ...]:
    """A key that is equal for modules of one class that have the same type.

    `children` are the types of its submodules.
    """
    return (
        tuple((n, *pair) for n, pair in facts.attributes.items()),
        tuple(children.items()),
        tuple((n, _constant_key(v)) for n, v in facts.constants.items()),
        tuple((n, id(f)) for n, f in facts.functions.items()),
        tuple(map(id, facts.hooks)),
        tuple(map(id, facts.pre_hooks)),
        tuple(sorted(facts.failed)),
        facts.texts,
    )


def _constant_key(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_constant_key, value))
    return type(value), repr(value)


def _make(facts: Facts, children: dict[str, T.Type]) -> Any:
    made = T.ClassType(qualified_name(facts.cls), is_module=True)
    for name, (type, kind) in facts.attributes.items():
        made.add_attribute(name, type, kind)
    for name, type in children.items():
        made.add_attribute(name, type)
    made.origin = ModuleOrigin(facts, made)
    made.constants = dict(facts.constants.items())
    for text in facts.texts:
        declare_methods(made, text, {})
    return made


def declare_methods(type: T.ClassType, text: str, names: Mapping[str, Any]) -> dict[str, Function]:
    """Declare the functions of a text as methods of a type; they can use torch and `names`."""
    torch = sys.modules.get("torch", sys.modules["scriptlang"])
    resolver = PythonResolver.of_mapping({"torch": torch, **names})
    made = {}
    for node, source in functions_of_text(text):
        if node.name in type.methods:
            type.methods[node.name].direct = None
        made[node.name] = type.methods[node.name] = declare(
            node, source, resolver, f"{type.name}.{node.name}", None, type
        )
    return made


def forget(type: T.ClassType) -> None:
    """Forget a type whose methods could not be compiled, so that the next module gets a new one."""
    same = _types.get(type.origin.facts.cls)
    for key in [k for k, t in same.items() if t is type] if same is not None else ():
        del same[key]


# Compiling


@uncollected
def compile_module(
    module: Any, modules: Modules, wanted: T.InterfaceType | None = None, is_inner: bool = False
) -> Any:
    """Compile all methods of a module that can be called from outside; returns its type.

    Submodules are compiled first.  `modules` are those of this call of `script`.  If `wanted` is
    given, only the methods of this interface are compiled.  `is_inner`: the module is a submodule;
    a forward with `*args` or `**kwargs` is then compiled for each call.  Raises CompileError.
    """
    module = modules.prepared(module)
    type = modules.type(module)
    origin = type.origin
    if not is_module(module) or not isinstance(origin, ModuleOrigin):
        return type
    try:
        for name in origin.facts.modules:  # A submodule with an interface may have any class.
            try:
                compile_module(
                    getattr(module, name), modules, origin.facts.interfaces.get(name), True
                )
            except CompileError as error:
                raise error.while_compiling(f"scripting {name_of(origin.facts.cls)}.{name}")
        if origin.is_compiled and (is_inner or "forward" not in origin.starred):
            return type
        names = entry_names(module, origin.facts) if wanted is None else list(wanted.methods)
        _compile_entries(origin, module, names, is_inner)
        if wanted is None:
            for name, found in properties_of(origin.facts.cls, origin.facts).items():
                if name not in type.properties:
                    origin.compile_property(name, found)
            _compile_hooks(origin)
            for function in type.methods.values() if origin.facts.texts else ():
                function.ensure_defined()
    except BaseException:
        forget(type)
        raise
    origin.is_compiled = wanted is None
    return type


def _compile_entries(origin: ModuleOrigin, module: Any, names: list[str], is_inner: bool) -> None:
    """Compile the overloaded methods of a module, and the methods with the given names."""
    for name in origin.facts.overloads:
        if not is_base(origin.owner_of(name)):
            origin.compile_overloads(name)
    for name in names:
        if name in origin.facts.overloads:
            continue
        method = getattr(module, name)
        function = getattr(method, "__func__", method)
        if not (is_inner and name == "forward" and origin.variadic(name, function)):
            origin.compile(name, function)


def _compile_hooks(origin: ModuleOrigin) -> None:
    """Compile the hooks of a module to methods with the names of their functions."""
    facts, type = origin.facts, origin.type
    for functions, names in ((facts.pre_hooks, type.pre_hooks), (facts.hooks, type.hooks)):
        for fn in functions:
            name = name_of_hook(fn, type.short_name)
            known = type.methods.get(name)
            if known is not None and known.attributes.get("hook") is not fn:
                what = "Pre-hook" if names is type.pre_hooks else "Hook"
                raise CompileError(
                    f"{what} {name!r} on {facts.cls.__name__} has at least two different python "
                    "definitions",
                    header(fn),
                    "give every hook a name of its own",
                )
            if names is type.pre_hooks:
                check_result_declared(fn, facts.cls.__name__)
            function = origin.compile(name, fn)
            function.attributes["hook"] = fn
            check_hook(function, type, names is type.pre_hooks, header(fn))
            names.append(name)
