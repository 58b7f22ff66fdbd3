"""Finds the members of a Python class, including inherited ones: script classes have no bases.

    class B: def get(self) -> int: ...
    class C(B): def get(self) -> int: return super().get() + 1

Here C is compiled with the method `get`, and with `__B_get` for the call of super.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Value
from scriptlang.records import record
from scriptlang.source import Source, Span

from ..syntax.definitions import defaults_of, source_of
from ..syntax.places import span_of
from ..values.sugared import Arg, BuiltinFunction, ConstantValue, MethodValue, SugaredValue
from ..whole import whole
from .resolver import PythonResolver

if TYPE_CHECKING:
    from ..bodies.emitter import Emitter
    from ..values.builder import Builder


WITHOUT_MEMBERS = ("builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol")
"""Base classes that add no members to a script class."""

OF_PYTHON = ("__new__", "__init_subclass__", "__class_getitem__", "__del__")
"""Methods that only Python calls, which are not compiled."""


@record
class Member:
    """A method, property or static method of a class: its syntax, and the resolver of its names.

    `function` is the Python function, None if scriptlang wrote the source.  `owner` is the class
    that defines it.
    """

    name: str
    statement: ast.FunctionDef
    source: Source
    resolver: Any
    defaults: dict[str, Any] | None = None
    function: Any = None
    owner: type | None = None


def class_header(cls: type) -> Span | None:
    """The span of the text `class C`, for errors; None if the source is not available."""
    try:
        node, source = source_of(cls)
    except CompileError:
        return None
    place = span_of(node, source)
    if not isinstance(node, ast.ClassDef):
        return place
    start = source.text.find(f"class {node.name}", place.start)
    return Span(source, start, start + len(f"class {node.name}"))


def members_of(cls: type, type: T.ClassType) -> list[Member]:
    """The members of a class: its own, and those of its bases that it does not override."""
    found: dict[tuple[str, bool], Member] = {}
    for owner in cls.__mro__:
        if f"{owner.__module__}.{owner.__name__}" in WITHOUT_MEMBERS:
            continue
        for member in _own_members(owner, cls):
            found.setdefault((member.name, is_setter(member.statement)), member)
    return list(found.values())


def _own_members(owner: type, cls: type) -> list[Member]:
    if owner is not cls and not _may_be_base(owner):
        raise CompileError(
            f"class {cls.__name__} inherits from {owner.__name__}, which is not "
            "written in the language",
            class_header(cls),
            "inherit from classes of the program only",
        )
    node, source = source_of(owner)
    members = [
        _member(owner, cls, s, source)
        for s in node.body
        if isinstance(s, ast.FunctionDef) and s.name not in OF_PYTHON
    ]
    return [m for m in members if m is not None]


def _may_be_base(owner: type) -> bool:
    package = owner.__module__.partition(".")[0]
    return package not in sys.stdlib_module_names and package not in ("torch", "scriptlang")


def _member(owner: type, cls: type, statement: ast.FunctionDef, source: Source) -> Member | None:
    """A member from its syntax; None for a class method, which is compiled when it is used."""
    private = f"_{owner.__name__.lstrip('_')}{statement.name}"
    raw = function = owner.__dict__.get(statement.name, owner.__dict__.get(private))
    if isinstance(raw, classmethod):
        return None
    if isinstance(raw, staticmethod):
        function = raw.__func__
    elif isinstance(raw, property):
        function = raw.fset if is_setter(statement) else raw.fget
    if not inspect.isfunction(inspect.unwrap(function) if callable(function) else function):
        raise CompileError(
            f"{statement.name} of {cls.__name__} is not a plain method",
            span_of(statement, source),
            "leave its decorator out",
        )
    plain = inspect.unwrap(function)
    return Member(
        statement.name,
        statement,
        source,
        PythonResolver.of(plain).with_names({owner.__name__: owner, cls.__name__: cls}),
        defaults_of(plain),
        function,
        owner,
    )


def is_setter(statement: ast.FunctionDef) -> bool:
    return any(
        isinstance(d, ast.Attribute) and d.attr == "setter" for d in statement.decorator_list
    )


def class_method(type: T.ClassType, name: str) -> Any:
    """The function of a class method; None if the class has none of this name.

    It has no argument for the class: that name stands for the Python class in its body.  It is
    declared when it is first used.
    """
    return class_method_of(type.python_class, type, name)


def class_method_of(cls: Any, type: T.ClassType, name: str) -> Any:
    """As `class_method`; `cls` is the Python class of the type."""
    if name in type.static_methods:
        return type.static_methods[name]
    raw = next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)
    if not isinstance(raw, classmethod):
        return None
    definition, source = source_of(raw.__func__)
    first, definition.args.args = definition.args.args[0].arg, definition.args.args[1:]
    resolver = PythonResolver.of(raw.__func__).with_names({first: cls, cls.__name__: cls})
    made = whole.declare(
        definition, source, resolver, f"{type.name}.{name}", defaults_of(raw.__func__)
    )
    type.static_methods[name] = made
    return made


# super()


def super_of_class(e: Emitter, node: ast.Call) -> SugaredValue | None:
    """The meaning of `super()` in a method of a script class; None elsewhere."""
    own = e.self_type
    names = getattr(e.resolver, "names", None)
    if own is None or names is None or getattr(own, "python_class", None) is None:
        return None
    cls = names("__class__") if not node.args else names(getattr(node.args[0], "id", ""))
    if not isinstance(cls, type) or cls not in getattr(own.python_class, "__mro__", ()):
        return None
    return SuperOfClass(e.graph.inputs[0], own, cls)


class SuperOfClass(SugaredValue):
    """`super()`: the methods of the classes after `cls` in the method resolution order."""

    kind = "super()"

    def __init__(self, owner: Value, type: T.ClassType, cls: type) -> None:
        self.owner, self.class_type = owner, type
        python_class: Any = type.python_class
        order = python_class.__mro__
        self.bases = order[order.index(cls) + 1 :]

    def attr(self, b: Builder, name: str, span: Span) -> SugaredValue:
        base = next((c for c in self.bases if name in c.__dict__), None)
        if base is object and name == "__init__":
            return BuiltinFunction("__init__", _nothing)
        if base is None or base is object:
            self.fail(f"has no method {name!r}", span, "define it in a base class")
        raw = base.__dict__[name]
        if isinstance(raw, staticmethod):
            return whole.meaning_of(raw.__func__, span)
        if not inspect.isfunction(raw) and not isinstance(raw, property):
            self.fail(
                f"gives methods, but {name!r} is none",
                span,
                f"call it by its class: {base.__name__}.{name}(...)"
                if isinstance(raw, classmethod)
                else f"set it in __init__, and read self.{name}",
            )
        method = MethodValue(self.owner, _inherited(self.class_type, base, name))
        return method.call(b, (), {}, span) if isinstance(raw, property) else method


def _nothing(b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span) -> Any:
    """`super().__init__()` in a class without bases."""
    if args or kwargs:
        raise CompileError(
            "__init__ of a class without bases takes no arguments",
            span,
            "write super().__init__(), or leave it out",
        )
    return ConstantValue(None)


def _inherited(type: T.ClassType, base: type, name: str) -> str:
    """The name under which a method of a base class is compiled into a class that overrides it."""
    mangled = f"__{base.__name__}_{name}"
    if mangled not in type.methods:
        python_class: Any = type.python_class
        member = next(m for m in _own_members(base, python_class) if m.name == name)
        method = whole.declare(
            member.statement,
            member.source,
            member.resolver,
            f"{type.name}.{mangled}",
            member.defaults,
            type,
        )
        type.methods[mangled] = method
        method.ensure_defined()
    return mangled
