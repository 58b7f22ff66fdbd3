"""Reads a Python module of torch or scriptlang: the facts from which its type is made.

Modules are recognized by their attributes (`_parameters`, `_buffers`, `_modules`), so that this
works without PyTorch.  Reading does not change a module.

    Linear(2, 3)  ->  attributes  weight: Tensor (parameter), bias: Tensor (parameter),
                                  training: bool
                      constants   in_features=2, out_features=3
"""

from __future__ import annotations

import ast
import re
import sys
import types as python_types
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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
from ..syntax.annotations import own_annotations, type_of_object
from ..syntax.modifiers import modifier
from ..values.value_types import NotInferable, held, infer_type, name_of

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
        "_texts",
        "dump_patches",
    )
)
"""Entries of a module's `__dict__` that are not attributes in programs."""


CONSTANT_TYPES = (bool, int, float, str, type(None), complex)


@record
class Facts:
    """What is read from one module.

    `cls` is its class; `kind` is that of a container, else "".  `attributes` maps names to (type,
    kind as in T.Attribute), `modules` to Python submodules, and `interfaces` to the types of those
    submodules whose annotation is an interface.  `failed` maps attributes without a type to the
    reason, which is reported if a program uses them.  `overloads` maps methods to their
    declarations.  `hooks` and `pre_hooks` are Python functions.  `ignored` are attributes that
    `__jit_ignored_attributes__` lists.  `texts` are the sources of methods that it defines as text.
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
    texts: tuple[str, ...] = ()


adopt: Callable[[Any], Any] | None = None
"""Makes a ScriptModule of scriptlang from one of PyTorch; the public API sets it."""


def prepared(module: Any) -> Any:
    """The module that is scripted in place of a module; usually the module itself.

    It is the result of its `__prepare_scriptable__`, if it has that method.  A module that PyTorch
    compiled is converted to a ScriptModule of scriptlang.
    """
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
    """The facts of a module.

    Raises CompileError if it cannot be scripted, or if the type of a parameter or buffer, or that
    which annotates a submodule, cannot be found.
    """
    _check_initialised(module)
    return _Reading(module).read()


def _check_initialised(module: Any) -> None:
    if not is_module(module):
        raise CompileError(
            f"{name_of(type(module))} has not been initialized",
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
"""Module class -> attribute -> the type that its annotation names; cached when first needed."""

_annotations: weakref.WeakKeyDictionary[type, Mapping[str, Any]] = weakref.WeakKeyDictionary()
"""Module class -> its annotations, or those of the first base that has any."""


class _Reading:
    """Reads one module to Facts."""

    def __init__(self, module: Any) -> None:
        self.module, self.cls = module, type(module)
        self.annotations = annotations_of(self.cls)
        self.ignored = frozenset(getattr(module, "__jit_ignored_attributes__", ()))
        self.facts = Facts(self.cls, container_kind(self.cls), ignored=self.ignored)

    def read(self) -> Facts:
        facts, module = self.facts, self.module
        facts.texts = tuple(vars(module).get("_texts", ()))
        for tensors, kind in ((module._parameters, "parameter"), (module._buffers, "buffer")):
            for name, tensor in tensors.items():
                if name not in self.ignored:
                    with self.placed(name):
                        facts.attributes[name] = (self.type_of(name, tensor), kind)
        for name, child in module._modules.items():
            if name not in self.ignored:
                with self.placed(name):
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

    @contextmanager
    def placed(self, name: str) -> Iterator[None]:
        """Makes a CompileError of NotInferable, about the attribute of this name."""
        try:
            yield
        except NotInferable as why:
            raise CompileError(
                f"{name_of(self.cls)} has an attribute {name!r}, but {why}",
                class_header(self.cls),
                "annotate it with a type of the language, or leave the annotation out",
            ) from None

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
                continue  # It is also an attribute.  PyTorch only warns, too.
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
        """Read an entry of the module's `__dict__`."""
        facts = self.facts
        if (
            isinstance(value, (python_types.FunctionType, python_types.BuiltinFunctionType))
            or held(value, "_function") is not None
        ):
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
    """Whether a value is a ScriptModule of scriptlang."""
    type = getattr(held(value, "_raw_"), "type", None)
    return getattr(type, "is_module", False)


def is_attribute(value: Any) -> bool:
    """Whether a value is a `torch.jit.Attribute(value, type)`."""
    return type(value).__name__ == "Attribute" and package_of(type(value)) in PACKAGES


def plain_value(value: Any) -> Any:
    """The value of an attribute: that in it if it is a `torch.jit.Attribute`, else itself."""
    return value.value if is_attribute(value) else value


def _is_operator(value: Any) -> bool:
    """Whether a value is an operator of torch (`torch.ops.aten.relu`)."""
    return type(value).__name__ in ("OpOverloadPacket", "OpOverload")


def annotations_of(cls: type) -> Mapping[str, Any]:
    """The annotations of the first class in the method resolution order that has any."""
    known = _annotations.get(cls)
    if known is None:
        owner = next((c for c in cls.__mro__ if own_annotations(c)), cls)
        known = _annotations[cls] = {
            n: getattr(note, "__forward_arg__", note)
            for n, note in own_annotations(owner).items()
            if n != "forward" or not is_base(owner)
        }
    return known


def _annotated(note: Any, cls: type, function: Any = None) -> T.Type | None:
    """The type that an annotation in a module class names.

    None for `Final` without a type and for module classes.  A string is resolved with the globals
    of `function`, if given, else with those of the Python modules of the class and its bases.
    Raises NotInferable for other annotations that name no type.
    """
    if isinstance(note, str):
        return _annotated_text(note, cls, function)
    if is_final(note) and not getattr(note, "__args__", ()) or _names_module_class(note):
        return None
    found = type_of_object(note, class_type, lambda text: _annotated_text(text, cls, function))
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
    """Whether an annotation is a module class.  It is ignored: the submodule has its own type."""
    return isinstance(note, type) and is_module_class(note) and not is_interface(note)


def is_final(note: Any) -> bool:
    """Whether an annotation is `Final` or `Final[T]`."""
    if isinstance(note, str):
        return re.match(r"(\w+\.)*Final\b", note.strip()) is not None
    origin = getattr(note, "__origin__", note)
    return getattr(origin, "__name__", getattr(origin, "_name", "")) == "Final"


# Methods


def overloads_of(cls: type) -> dict[str, tuple[Callable[..., Any], ...]]:
    """Method with several declarations (by `_overload_method`) -> the declarations."""
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
    """The tables in which PyTorch and scriptlang store the declarations of overloaded methods."""
    internal = sys.modules.get("torch._jit_internal")
    tables = [] if internal is None else [internal._overloaded_methods]
    ours = getattr(sys.modules.get("scriptlang.jit"), "_overloaded_methods", None)
    return tables if ours is None else [*tables, ours]


def entry_names(module: Any, facts: Facts) -> list[str]:
    """The methods that are compiled even if nothing calls them: forward and exported ones.

    Overloaded methods are left out.
    """
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
    """Whether a module has no `forward`, or only that of the base class, which raises an error."""
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
