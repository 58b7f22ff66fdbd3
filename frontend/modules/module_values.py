"""Sugared values of modules: `self`, `self.conv`, `self.layers[0]`, `for m in self.layers`."""

from __future__ import annotations

import ast
import types as python_types
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Function
from scriptlang.source import Span

from ..python.declared_overloads import OverloadedMethod
from ..python.inheritance import class_method_of
from ..python.module_classes import is_base, is_part_of_base
from ..python.resolver import meaning_of
from ..syntax.modifiers import modifier
from ..values.simple import SimpleValue
from ..values.sugared import FunctionValue, MethodValue, StaticSequence, SugaredValue
from ..values.variadic import VariadicMethod
from . import module_containers
from .module_hooks import call_with_hooks

if TYPE_CHECKING:
    from ...ir import Value
    from ..bodies.emitter import Emitter
    from ..values.builder import Builder
    from ..values.sugared import Arg
    from .module_types import ModuleOrigin


class ModuleValue(SimpleValue):
    """A module that is compiled from a Python module.

    Methods of the Python class are compiled when they are first used.
    """

    @property
    def module_type(self) -> T.ClassType:
        return self.simple_value.type

    @property
    def origin(self) -> ModuleOrigin:
        return self.simple_value.type.origin

    @property
    def kind(self) -> str:  # type: ignore[override]  # it tells more
        return f"module '{self.module_type.short_name}'"

    # Attributes

    def attr(self, b: Builder, name: str, span: Span) -> SugaredValue:
        found = self.find(b, name, span)
        if found is None:
            message, help = self.origin.why_not(name, self.module_type.short_name)
            raise CompileError(message, span, help)
        return found

    def has_attr(self, b: Builder, name: str, span: Span) -> bool:
        facts, type = self.origin.facts, self.module_type
        if (
            type.slot(name) is not None
            or name in type.methods
            or name in type.properties
            or name in facts.constants
            or name in facts.functions
            or name in facts.overloads
        ):
            return True
        raw = self.origin.class_attribute(name)
        return isinstance(
            raw, (python_types.FunctionType, staticmethod, property)
        ) or module_containers.knows(self.origin, name)

    def find(self, b: Builder, name: str, span: Span) -> SugaredValue | None:
        """The meaning of an attribute; None if there is none.  Compiles a method that it names."""
        type, facts = self.module_type, self.origin.facts
        slot = type.attribute(name)
        if slot is not None:
            value = b.insert("prim::GetAttr", [self.simple_value], (slot.type,), span, name=name)
            return b.simple(value.output)
        if name in facts.overloads:
            return OverloadedMethod(self.simple_value, name, self.origin.compile_overloads(name))
        if name in facts.constants:
            return self.origin.constant(name, span)
        if name in facts.functions:
            try:
                found = _function(facts.functions[name], span)
            except CompileError as error:
                what = f"looking up the function {name!r} of {self.kind}, which failed to compile"
                raise error.while_compiling(what)
            if found is None:
                self.fail(f"has a function {name!r} that is not part of the language", span)
            return found
        if name in type.methods:
            return MethodValue(self.simple_value, name)
        if name in type.properties:
            return b.call_method(self.simple_value, type.properties[name][0], (), {}, span)
        return module_containers.attribute(self, b, name, span) or self._of_class(b, name, span)

    def _of_class(self, b: Builder, name: str, span: Span) -> SugaredValue | None:
        """The meaning of an attribute that the Python class defines; None if there is none."""
        owner = self.origin.owner_of(name)
        # The `forward` of the base class only raises an error.
        if owner is None or name == "forward" and is_base(owner):
            return None
        if name != "forward" and is_part_of_base(owner, self.origin.facts.cls):
            self.fail(
                f"has a method {name!r} that only runs in Python",
                span,
                "call it before the module is scripted",
            )
        raw = vars(owner)[name]
        if isinstance(raw, staticmethod):
            return _function(raw.__func__, span)
        if isinstance(raw, classmethod):
            return FunctionValue(class_method_of(self.origin.facts.cls, self.module_type, name))
        if isinstance(raw, property):
            if modifier(raw.fget) in ("ignore", "unused", "_drop"):
                return None
            self.origin.compile_property(name, raw)
            return b.call_method(
                self.simple_value, self.module_type.properties[name][0], (), {}, span
            )
        if isinstance(raw, python_types.FunctionType):
            starred = self.origin.variadic(name, raw)
            if starred is not None:
                return VariadicMethod(self.simple_value, starred)
            self.origin.compile(name, raw, span)
            return MethodValue(self.simple_value, name)
        return None

    def set_attr(self, b: Builder, name: str, value: Value, span: Span) -> None:
        if name in self.origin.facts.constants:
            raise CompileError(
                f"Tried to set nonexistent attribute: {name} is a constant of {self.kind}",
                span,
                "take it out of __constants__ or Final",
            )
        if self.module_type.slot(name) is None and name not in self.module_type.properties:
            raw = self.origin.class_attribute(name)
            if isinstance(raw, property) and raw.fset is not None:
                self.origin.compile_property(name, raw)
            else:
                help = self.origin.why_not(name, self.module_type.short_name)[1]
                raise CompileError(
                    f"Tried to set nonexistent attribute: {name} of {self.kind}",
                    span,
                    help or "set it in __init__ first",
                )
        super().set_attr(b, name, value, span)

    # Calls

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        """Emit `module(x)`: pre-hooks, forward, hooks."""
        forward = self.find(b, "forward", span)
        if forward is None or module_containers.is_plain_container(self.origin):
            self.fail("has no forward and cannot be called", span, "call what it holds")
        if (
            not self.module_type.hooks
            and not self.module_type.pre_hooks
            and not self.origin.facts.hooks
            and not self.origin.facts.pre_hooks
        ):
            return forward.call(b, args, kwargs, span)
        return call_with_hooks(b, self, forward, args, kwargs, span)

    # Containers

    def unpack(self, b: Builder, span: Span, count: int | None = None) -> list[SugaredValue] | None:
        return module_containers.members(self, b, span)

    def iterate(self, b: Builder, span: Span) -> SugaredValue:
        parts = module_containers.members(self, b, span)
        if parts is None:
            self.fail(
                "cannot be iterated over",
                span,
                "loop over a ModuleList, Sequential, ModuleDict, ParameterList or ParameterDict",
            )

        return StaticSequence(parts)

    def subscript(
        self, e: Emitter, node: ast.Subscript, expected: T.Type | None
    ) -> SugaredValue | None:
        """Emit `self.layers[i]`; None if the module is not a container."""
        return module_containers.subscript(self, e, node, expected)


class SuperValue(SugaredValue):
    """`super()` in a method of a module.

    Its attributes are looked up in the classes after `after` in the method resolution order.
    """

    def __init__(self, owner: ModuleValue, after: type) -> None:
        self.owner, self.after = owner, after
        self.kind = f"super of '{owner.module_type.short_name}'"

    def attr(self, b: Builder, name: str, span: Span) -> SugaredValue:
        origin = self.owner.origin
        order = origin.facts.cls.__mro__
        rest = order[order.index(self.after) + 1 :]
        cls = next((c for c in rest if name in vars(c)), None)
        raw = vars(cls)[name] if cls is not None else None
        if isinstance(raw, staticmethod):
            return _function(raw.__func__, span)
        if not isinstance(raw, python_types.FunctionType):
            self.fail(f"has no method {name!r}", span)
        method = f"{name}_of_{cls.__name__}"
        origin.compile(method, raw, span)
        return MethodValue(self.owner.simple_value, method)


def super_value(e: Emitter, node: ast.Call) -> SugaredValue | None:
    """The meaning of `super()` or `super(C, self)` in a method of a module; None elsewhere."""
    own = e.self_type
    if own is None or own.origin is None:
        return None
    names = getattr(e.resolver, "names", None)
    if names is None:
        return None
    cls = names("__class__") if not node.args else names(getattr(node.args[0], "id", ""))
    if not isinstance(cls, type) or cls not in own.origin.facts.cls.__mro__:
        return None
    return SuperValue(e.simple(e.graph.inputs[0]), cls)


def _function(fn: Any, span: Span) -> SugaredValue | None:
    """The meaning of a function that is an attribute of a module or of its class."""
    function = getattr(fn, "_function", None)
    if isinstance(function, Function):
        return FunctionValue(function)
    return meaning_of(fn, span)
