"""What a Python module (torch's or ours) says about itself: the facts that its type is made of.

Modules are known by what they hold (`_parameters`, `_buffers`, `_modules`), so that PyTorch need
not be there.  Nothing of a module is changed.

    Linear(2, 3)  ->  attributes  weight: Tensor (parameter), bias: Tensor (parameter),
                                  training: bool
                      constants   in_features=2, out_features=3
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import types as python_types
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.records import field, record
from scriptlang.source import Source, Span

from ..python.inheritance import class_header
from ..python.interfaces import is_interface
from ..python.module_classes import (
    PACKAGES,
    container_kind,
    is_base,
    is_module,
    is_module_class,
    package_of,
)
from ..python.resolver import PythonResolver, class_type
from ..syntax.annotations import type_of_object
from ..syntax.modifiers import modifier
from ..values.value_types import NotInferable, infer_type, name_of

BOOKKEEPING = frozenset(
    (
        "_version",
        "_parameters",
        "_buffers",
        "_non_persistent_buffers_set",
        "_backward_hooks",
        "_backward_pre_hooks",
        "_forward_hooks",
        "_forward_hooks_with_kwargs",
        "_forward_pre_hooks",
        "_forward_pre_hooks_with_kwargs",
        "_forward_hooks_always_called",
        "_state_dict_hooks",
        "_state_dict_pre_hooks",
        "_load_state_dict_pre_hooks",
        "_load_state_dict_post_hooks",
        "_modules",
        "_initializing",
        "dump_patches",
    )
)
"""Entries of a module's `__dict__` that are no attributes of programs."""


CONSTANT_TYPES = (bool, int, float, str, type(None), complex)


@record
class Facts:
    """What is read from one module.

    attributes: name -> (type, kind as in T.Attribute).  modules: name -> the Python submodule, with
    `interfaces` for those whose annotation is an interface.  failed: attributes without a type,
    with the reason, told when a program uses them.  hooks and pre_hooks: Python functions.
    """

    cls: type
    kind: str = ""
    attributes: dict[str, tuple[T.Type, str]] = field(default_factory=dict)
    modules: dict[str, Any] = field(default_factory=dict)
    interfaces: dict[str, T.InterfaceType] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    overloads: dict[str, tuple[Callable[..., Any], ...]] = field(default_factory=dict)
    hooks: tuple[Callable[..., Any], ...] = ()
    pre_hooks: tuple[Callable[..., Any], ...] = ()
    ignored: frozenset[str] = frozenset()


adopt: Callable[[Any], Any] | None = None
"""Makes a ScriptModule of ours of a module that PyTorch compiled; set by the public API."""


def prepared(module: Any) -> Any:
    """What is scripted in place of a module: what its `__prepare_scriptable__` gives, or, for one
    that PyTorch compiled already, the same program here."""
    if adopt is not None and _is_compiled_by_torch(module):
        return adopt(module)
    prepare = getattr(type(module), "__prepare_scriptable__", None)
    return module if prepare is None else prepare(module)


def _is_compiled_by_torch(module: Any) -> bool:
    held = getattr(module, "__dict__", ())
    return ("_c" in held or "_actual_script_module" in held) and any(
        c.__name__ == "ScriptModule" and package_of(c) == "torch" for c in type(module).__mro__
    )


def read_module(module: Any) -> Facts:
    """The facts of a module.  Raises CompileError for one that cannot be scripted at all."""
    _check_initialised(module)
    return _Reading(module).read()


def _check_initialised(module: Any) -> None:
    if not is_module(module):
        raise CompileError(
            f"{name_of(type(module))} has not been initialised",
            class_header(type(module)),
            "call super().__init__() first in its __init__",
        )
    for name, tensor in [*module._parameters.items(), *module._buffers.items()]:
        if tensor is not None and type(tensor).__name__.startswith("Uninitialized"):
            raise CompileError(
                f"{name!r} of {name_of(type(module))} has no size yet",
                class_header(type(module)),
                "run the module once before it is scripted",
            )


_declared: weakref.WeakKeyDictionary[type, dict[str, T.Type | None]] = weakref.WeakKeyDictionary()
"""Module class -> the types that its annotations name, as far as they were asked for."""

_annotations: weakref.WeakKeyDictionary[type, Mapping[str, Any]] = weakref.WeakKeyDictionary()
"""Module class -> its annotations, or those of the nearest base that has any."""


class _Reading:
    def __init__(self, module: Any) -> None:
        self.module, self.cls = module, type(module)
        self.annotations = annotations_of(self.cls)
        self.ignored = frozenset(getattr(module, "__jit_ignored_attributes__", ()))
        self.facts = Facts(self.cls, container_kind(self.cls), ignored=self.ignored)

    def read(self) -> Facts:
        facts, module = self.facts, self.module
        for held, kind in ((module._parameters, "parameter"), (module._buffers, "buffer")):
            for name, tensor in held.items():
                if name not in self.ignored:
                    facts.attributes[name] = (self.type_of(name, tensor), kind)
        for name, child in module._modules.items():
            if name not in self.ignored:
                self.child(name, child)
        self.constants()
        facts.overloads = overloads_of(self.cls)
        known = facts.attributes.keys() | facts.modules.keys() | facts.constants.keys()
        for name, value in vars(module).items():
            if (
                name not in BOOKKEEPING
                and not name.startswith("__")
                and name not in self.ignored
                and name not in known
            ):
                self.attribute(name, value)
        facts.hooks = tuple(module._forward_hooks.values())
        facts.pre_hooks = tuple(module._forward_pre_hooks.values())
        return facts

    def type_of(self, name: str, value: Any) -> T.Type:
        """The annotated type of an attribute, else that of its value.  Raises NotInferable."""
        declared = self.declared(name)
        if declared is not None:
            return declared
        if is_attribute(value):
            found = _annotated(value.type, self.cls)
            if found is None:
                raise NotInferable(f"{value.type!r} is not a type of the language")
            return found
        return infer_type(value)

    def declared(self, name: str) -> T.Type | None:
        note = self.annotations.get(name)
        if note is None:
            return None
        known = _declared.setdefault(self.cls, {})
        if name not in known:
            known[name] = _annotated(note, self.cls)
        return known[name]

    def child(self, name: str, child: Any) -> None:
        if child is None:
            self.facts.attributes[name] = (self.declared(name) or T.NONE, "attribute")
            return
        note = self.annotations.get(name)
        if note is not None and not _names_module_class(note):
            declared = _annotated(note, self.cls)
            if isinstance(declared, T.InterfaceType):
                self.facts.interfaces[name] = declared
        self.facts.modules[name] = child

    def constants(self) -> None:
        names = dict.fromkeys(getattr(self.module, "__constants__", ()))
        names |= dict.fromkeys(n for n, note in self.annotations.items() if is_final(note))
        for name in names:
            if name in self.facts.attributes or name in self.facts.modules:
                continue  # held by a slot; PyTorch only warns
            if hasattr(self.module, name):
                value = getattr(self.module, name)
                self.facts.constants[name] = self.constant(name, value)

    def constant(self, name: str, value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return tuple(self.constant(name, v) for v in value)
        if (
            isinstance(value, CONSTANT_TYPES)
            or package_of(type(value)) in PACKAGES
            and type(value).__name__
            in ("device", "Device", "dtype", "DType", "layout", "memory_format", "qscheme")
        ):
            return value
        raise CompileError(
            f"{name!r} of {name_of(self.cls)} is a {name_of(type(value))}, which cannot be a "
            "constant",
            class_header(self.cls),
            "constants are int, float, bool, complex, str, None, dtypes, devices, "
            "and tuples of them; take it out of __constants__ or Final",
        )

    def attribute(self, name: str, value: Any) -> None:
        """An entry of the module's `__dict__`."""
        facts = self.facts
        if isinstance(
            value, (python_types.FunctionType, python_types.BuiltinFunctionType)
        ) or hasattr(value, "_function"):
            facts.functions[name] = value
            return
        if _is_scripted(value):
            facts.modules[name] = value
            return
        if _is_operator(value):
            facts.functions[name] = value
            return
        try:
            facts.attributes[name] = (self.type_of(name, value), "attribute")
        except NotInferable as why:
            facts.failed[name] = str(why)


def _is_scripted(value: Any) -> bool:
    """Whether a value is a ScriptModule of ours."""
    type = getattr(getattr(value, "_raw_", None), "type", None)
    return getattr(type, "is_module", False)


def is_attribute(value: Any) -> bool:
    """Whether a value is a `torch.jit.Attribute(value, type)`."""
    return type(value).__name__ == "Attribute" and package_of(type(value)) in PACKAGES


def plain_value(value: Any) -> Any:
    """The value that an entry of a module stands for."""
    return value.value if is_attribute(value) else value


def _is_operator(value: Any) -> bool:
    """Whether a value is an operator of torch (`torch.ops.aten.relu`)."""
    return type(value).__name__ in ("OpOverloadPacket", "OpOverload")


def annotations_of(cls: type) -> Mapping[str, Any]:
    """Annotations of the first class, from `cls` on upwards, that has any."""
    known = _annotations.get(cls)
    if known is None:
        owner = next((c for c in cls.__mro__ if own_annotations(c)), cls)
        known = _annotations[cls] = {
            n: note
            for n, note in own_annotations(owner).items()
            if n != "forward" or not is_base(owner)
        }
    return known


def own_annotations(cls: type) -> Mapping[str, Any]:
    try:
        return inspect.get_annotations(cls)
    except NameError:  # Python 3.14 evaluates them only now
        return {}


def _annotated(note: Any, cls: type, function: Any = None) -> T.Type | None:
    """The type that an annotation of a module class names; None for one that names no type.

    Texts are read with the names of the module that defines the class.
    """
    if isinstance(note, str):
        return _annotated_text(note, cls, function)
    if is_final(note) and not getattr(note, "__args__", ()) or _names_module_class(note):
        return None
    found = type_of_object(note, class_type)
    if found is None:
        raise NotInferable(f"its annotation {note!r} names no type of the language")
    return found


def _annotated_text(note: str, cls: type, function: Any) -> T.Type | None:
    if note.strip() in ("Final", "typing.Final", "torch.jit.Final"):
        return None
    try:
        expr = ast.parse(note.strip(), mode="eval").body
    except SyntaxError:
        return None
    if function is not None:
        resolver = PythonResolver.of(function)
    else:
        names = {
            k: v
            for c in reversed(cls.__mro__)
            for k, v in vars(sys.modules.get(c.__module__, ast)).items()
        }
        resolver = PythonResolver.of_mapping(names)
    if isinstance(expr, (ast.Name, ast.Attribute)):
        named = resolver.names(expr.id) if isinstance(expr, ast.Name) else None
        if _names_module_class(named):
            return None
    source = Source(note.strip(), f"<annotation of {cls.__name__}>")
    try:
        return resolver.type(expr, Span(source, 0, len(source.text)))
    except CompileError as error:
        raise NotInferable(
            f"its annotation {note!r} names no type of the language: {error.message}"
        ) from None


def _names_module_class(note: Any) -> bool:
    """Whether an annotation is a class of modules: it says nothing that the module does not."""
    return isinstance(note, type) and is_module_class(note) and not is_interface(note)


def is_final(note: Any) -> bool:
    """Whether an annotation is `Final` or `Final[T]`."""
    if isinstance(note, str):
        return re.match(r"(\w+\.)*Final\b", note.strip()) is not None
    origin = getattr(note, "__origin__", note)
    return getattr(origin, "__name__", getattr(origin, "_name", "")) == "Final"


# Methods


def overloads_of(cls: type) -> dict[str, tuple[Callable[..., Any], ...]]:
    """Methods that have several declarations (`_overload_method`): name -> the declarations."""
    found = {}
    for table in overload_tables():
        for key, by_class in table.items():
            name = key.rpartition(".")[2]
            for c in cls.__mro__:
                raw = vars(c).get(name) if c.__name__ in by_class else None
                if (
                    isinstance(raw, python_types.FunctionType)
                    and key == f"__torch__.{raw.__module__}.{name}"
                ):
                    found[name] = tuple(by_class[c.__name__])
                    break
    return found


def overload_tables() -> list[Mapping[str, Mapping[str, list[Any]]]]:
    """Where PyTorch and we note the overloads of methods."""
    internal = sys.modules.get("torch._jit_internal")
    tables = [] if internal is None else [internal._overloaded_methods]
    ours = getattr(sys.modules.get("scriptlang.jit"), "_overloaded_methods", None)
    return tables if ours is None else [*tables, ours]


def entry_names(module: Any, facts: Facts) -> list[str]:
    """The methods that are compiled though nothing calls them: forward, and exported ones."""
    names = []
    forward = getattr(module, "forward", None)
    if (
        forward is not None
        and modifier(forward) not in ("ignore", "unused", "_drop")
        and not _is_abstract(module)
    ):
        names.append("forward")
    for cls in type(module).__mro__:
        for name, raw in vars(cls).items():
            if modifier(raw) == "export" and modifier(getattr(module, name, None)) == "export":
                names.append(name)
    return [n for n in dict.fromkeys(names) if n not in facts.overloads]


def _is_abstract(module: Any) -> bool:
    """Whether the `forward` of a module is that of the base class, which only raises."""
    if "forward" in vars(module):
        return False
    owner = next((c for c in type(module).__mro__ if "forward" in vars(c)), None)
    return owner is None or is_base(owner)


def properties_of(cls: type, facts: Facts) -> dict[str, property]:
    """The properties of a module class that are compiled."""
    unused = set(getattr(cls, "__jit_unused_properties__", ())) | facts.ignored
    found = {}
    for c in reversed(cls.__mro__):
        for name, raw in vars(c).items():
            if isinstance(raw, property) and not is_base(c):
                found[name] = raw
    return {
        n: p
        for n, p in found.items()
        if n not in unused and modifier(p.fget) not in ("ignore", "unused", "_drop")
    }
