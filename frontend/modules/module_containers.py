"""Containers of modules and parameters, and methods such as `named_modules` that list modules.

Their members are known at compile time:

for i, m in enumerate(self.layers)        unrolled
for name, m in self.named_children()      unrolled, the names are constants
self.layers[0], self.layers[1:]           the member, the members
m: Step = self.layers[i]                  prim::ModuleContainerIndex, where Step is an interface
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.source import Span

from ..bodies.indexing import member_at_run_time
from ..python.module_classes import PACKAGES
from ..values.iteration import TupleOf
from ..values.sugared import BuiltinFunction, ConstantValue, StaticSequence, SugaredValue

if TYPE_CHECKING:
    from ...ir import Value
    from ..bodies.emitter import Emitter
    from ..values.builder import Builder
    from ..values.sugared import Arg
    from .module_types import ModuleOrigin
    from .module_values import ModuleValue

Named = list[tuple[str, SugaredValue]]

DICTS = ("dict", "parameter dict")


def is_plain_container(origin: ModuleOrigin) -> bool:
    """Whether a module is a container that defines no `forward`."""
    owner = origin.owner_of("forward")
    return bool(origin.facts.kind) and (owner is None or owner.__name__ == "Module")


def child_names(type: T.ClassType) -> list[str]:
    """The names of the attributes that are modules, in order."""
    return [
        a.name
        for a in type.attributes
        if isinstance(a.type, (T.ClassType, T.InterfaceType)) and a.type.is_module
    ]


def member_names(m: ModuleValue) -> list[str]:
    """The attribute names of the members of a container, in order."""
    type, kind = m.module_type, m.origin.facts.kind
    if kind in ("list", "dict"):
        return child_names(type)
    named = [a.name for a in type.attributes if a.type == T.TENSOR or a.kind == "parameter"]
    if kind == "parameter list":
        return sorted((n for n in named if n.isdigit()), key=int)
    return named


def values_of(m: SugaredValue, b: Builder, names: list[str], span: Span) -> list[SugaredValue]:
    return [m.attr(b, name, span) for name in names]


def members(m: ModuleValue, b: Builder, span: Span) -> list[SugaredValue] | None:
    """What a loop over a container iterates over: members, or the keys of a dict.

    None for a module that is not a container.
    """
    kind = m.origin.facts.kind
    if not kind:
        return None
    names = member_names(m)
    if kind in DICTS:
        return [ConstantValue(name) for name in names]
    return values_of(m, b, names, span)


# Walks over modules


def _children(m: SugaredValue, b: Builder, span: Span) -> Named:
    """The submodules of a module, by name."""
    return [(n, m.attr(b, n, span)) for n in child_names(m.type(b, span))]


def _modules(m: SugaredValue, b: Builder, span: Span, prefix: str = "") -> Named:
    """A module, its submodules, theirs and so on, by path."""
    found = [(prefix, m)]
    for name, child in _children(m, b, span):
        if isinstance(child.type(b, span), T.InterfaceType):
            raise CompileError(
                f"submodule {name!r} is an interface: what is in it is not known",
                span,
                "walk over modules of known classes",
            )
        found += _modules(child, b, span, f"{prefix}.{name}" if prefix else name)
    return found


def _tensors(kind: str) -> Callable[..., Named]:
    """A function that lists all parameters or buffers of a module and its submodules, by path."""

    def find(m: SugaredValue, b: Builder, span: Span) -> Named:
        return [
            (f"{prefix}.{a.name}" if prefix else a.name, module.attr(b, a.name, span))
            for prefix, module in _modules(m, b, span)
            for a in module.type(b, span).attributes
            if a.kind == kind and a.type == T.TENSOR
        ]

    return find


WALKS: dict[str, tuple[Callable[..., Named], bool]] = {
    "named_children": (_children, True),
    "children": (_children, False),
    "named_modules": (_modules, True),
    "modules": (_modules, False),
    "named_parameters": (_tensors("parameter"), True),
    "parameters": (_tensors("parameter"), False),
    "named_buffers": (_tensors("buffer"), True),
    "buffers": (_tensors("buffer"), False),
}
"""Method of modules -> (function that lists the items, whether it yields names, too)."""


def _items(m: ModuleValue, b: Builder, span: Span) -> Named:
    return [(n, m.attr(b, n, span)) for n in member_names(m)]


def knows(origin: ModuleOrigin, name: str) -> bool:
    """Whether `attribute` finds a name."""
    if not _is_inherited(origin, name):
        return False
    if name in WALKS:
        return True
    return bool(origin.facts.kind) and (
        name == "__len__"
        or name in ("keys", "values", "items", "__contains__")
        and origin.facts.kind in DICTS
    )


def _is_inherited(origin: ModuleOrigin, name: str) -> bool:
    """Whether a method is not defined by the program but by a class of torch or scriptlang."""
    owner = origin.owner_of(name)
    return owner is None or owner.__module__.partition(".")[0] in PACKAGES


def attribute(m: ModuleValue, b: Builder, name: str, span: Span) -> SugaredValue | None:
    """The meaning of a method of containers, or of one in WALKS; None for another name."""
    if not knows(m.origin, name):
        return None
    if name in WALKS:
        find, with_names = WALKS[name]
        return _method(name, lambda b, span: _sequence(find(m, b, span), with_names))
    if name == "keys":
        return _method(name, lambda b, span: StaticSequence(members(m, b, span)))
    if name in ("values", "items"):
        return _method(name, lambda b, span: _sequence(_items(m, b, span), name == "items"))
    if name == "__len__":
        return _method(name, lambda b, span: ConstantValue(len(member_names(m))))

    def contains(
        b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        if len(args) != 1 or kwargs:
            raise CompileError("__contains__ takes one name", span, 'write "name" in modules')
        return _contains(m, b, args[0], span)

    return BuiltinFunction(name, contains)


def _method(name: str, make: Callable[..., SugaredValue]) -> SugaredValue:
    def emit(
        b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        if args or kwargs:
            raise CompileError(
                f"{name} takes no arguments in the language", span, f"write .{name}()"
            )
        return make(b, span)

    return BuiltinFunction(name, emit)


def _sequence(named: Named, with_names: bool) -> StaticSequence:
    if with_names:
        return StaticSequence([TupleOf([ConstantValue(n), v]) for n, v in named])
    return StaticSequence([v for _, v in named])


def _contains(m: ModuleValue, b: Builder, arg: Arg, span: Span) -> SugaredValue:
    names, key = member_names(m), arg.value.value(b, arg.span)
    if key.is_constant:
        return ConstantValue(key.constant in names)
    known = b.list([b.constant(n, span) for n in names], T.STR, span)
    return b.simple(b.emit("aten::__contains__", [known, key], span))


# Elements


def subscript(
    m: ModuleValue, e: Emitter, node: ast.Subscript, expected: T.Type | None
) -> SugaredValue | None:
    """Emit `container[index]`.

    None if the module is not a container, or its class defines `__getitem__`.  If the index is
    known only at run time, `expected` must be an interface that all members have.
    """
    kind, span = m.origin.facts.kind, e.span(node)
    if not kind or not _is_inherited(m.origin, "__getitem__"):
        return None
    if isinstance(node.slice, ast.Slice):
        return _slice(m, e, node.slice, span)
    index = e.value(node.slice)
    if (
        isinstance(node.slice, ast.Name)
        and e.frame.find(node.slice.id) is not None
        or not index.is_constant
    ):
        return _chosen_at_run_time(m, e, index, expected, span)
    names = member_names(m)
    if kind in DICTS:
        if index.constant not in names:
            raise CompileError(
                f"Key Error, {index.constant}: {m.kind} has no such key",
                e.span(node.slice),
                f"its keys are {', '.join(names) or 'none'}",
            )
        return m.attr(e.b, index.constant, span)
    if not isinstance(index.constant, int):
        raise CompileError(
            f"{m.kind} is indexed by an int", e.span(node.slice), "write self.layers[0]"
        )
    if not -len(names) <= index.constant < len(names):
        raise CompileError(
            f"Index {index.constant} out of range of length {len(names)}",
            e.span(node.slice),
            f"its indices go from 0 to {len(names) - 1}",
        )
    return m.attr(e.b, names[index.constant], span)


def _slice(m: ModuleValue, e: Emitter, node: ast.Slice, span: Span) -> SugaredValue:
    parts = members(m, e.b, span)
    bounds = []
    for bound in (node.lower, node.upper, node.step):
        value = None if bound is None else e.value(bound)
        if value is not None and not value.is_constant:
            raise CompileError(
                "a slice of modules must be known at compile time", e.span(bound), "write literals"
            )
        bounds.append(None if value is None else value.constant)
    return StaticSequence(parts[slice(*bounds)])


def _chosen_at_run_time(
    m: ModuleValue, e: Emitter, index: Value, expected: T.Type | None, span: Span
) -> SugaredValue:
    """Emit the lookup of a member by an index that is not constant.

    All members must have the methods of the interface `expected`.
    """
    if not isinstance(expected, T.InterfaceType):
        raise CompileError(
            "Unable to extract string literal index: ModuleDict indexing is only supported with "
            "string literals"
            if m.origin.facts.kind in DICTS
            else "Expected integer literal for index but got a variable or non-integer: "
            "ModuleList/Sequential indexing is only supported with integer literals",
            span,
            "write a literal, loop over the modules, or annotate the result with a "
            "module interface: `m: MyInterface = self.layers[i]`",
        )
    for name in member_names(m):
        type = m.module_type.attribute(name).type
        _compile_for(type, expected, span)
        if not T.is_subtype(type, expected):
            raise CompileError(
                f"member {name!r} of {m.kind} does not have the methods of "
                f"interface {expected.name}",
                span,
                "give every member these methods, with the same types",
            )
    return e.simple(member_at_run_time(e, m.simple_value, index, expected, span))


def _compile_for(type: T.Type, wanted: T.InterfaceType, span: Span) -> None:
    """Compile the methods of a module that an interface declares."""
    origin = getattr(type, "origin", None)
    for name in wanted.methods if origin is not None else ():
        fn = origin.class_attribute(name)
        if callable(fn):
            origin.compile(name, fn, span)
