"""Python classes as types: script classes, NamedTuples, Enums.

A script class has the attributes that its `__init__` assigns and its class body annotates.
"""

from __future__ import annotations

import ast
import enum
import sys
import weakref
from typing import Any, Callable

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import constant_type
from scriptlang.source import Source

from .annotations import type_of_object
from .emitter import span_of
from .record_classes import written_methods

_types: weakref.WeakKeyDictionary[type, T.Type] = weakref.WeakKeyDictionary()

BASES = (object,)


def type_of_class(cls: type) -> T.Type | None:
    """The type of a class of the program, compiled on first use; None where it has none."""
    known = _types.get(cls)
    if known is None:
        if issubclass(cls, enum.Enum):
            known = _enum(cls)
        elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
            known = _named_tuple(cls)
        elif getattr(cls, "__script_type__", None) is not None:
            return cls.__script_type__
        elif cls.__module__.partition(".")[0] in ("builtins", "typing", "collections"):
            return None
        else:
            return script_class(cls)
        _types[cls] = known
    return known


def compiled_type(cls: type) -> T.Type | None:
    """The type of a class that `script` was applied to already, here or in PyTorch; else None."""
    known = _types.get(cls)
    state = sys.modules.get("torch.jit._state")
    if known is None and state is not None and state._get_script_class(cls) is not None:
        known = script_class(cls)
    return known


def _enum(cls: type) -> T.EnumType:
    from .script import qualified_name

    members = {m.name: m.value for m in cls}
    kinds = {constant_type(v) for v in members.values()}
    if len(kinds) != 1:
        raise CompileError(f"the values of enum {cls.__name__} have different types", None,
                           "give all members values of one type: int, float or str")
    return T.EnumType(qualified_name(cls), kinds.pop(), members, cls)


def _named_tuple(cls: type) -> T.TupleType:
    from .script import qualified_name

    hints = _hints(cls)
    fields = cls._fields
    types = tuple(hints.get(name, T.TENSOR) for name in fields)
    defaults = tuple(cls._field_defaults[n] for n in fields if n in cls._field_defaults)
    return T.TupleType(types, qualified_name(cls), fields, defaults)


def _hints(cls: type) -> dict[str, T.Type]:
    """Types of the annotations of a class body."""
    import typing

    names = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
    try:
        raw = typing.get_type_hints(cls, globalns=names)
    except Exception:
        raw = getattr(cls, "__annotations__", {})
    found = {}
    for name, obj in raw.items():
        if isinstance(obj, str):
            obj = names.get(obj, obj)
        type = type_of_object(obj, type_of_class)
        if type is None:
            raise CompileError(f"{obj!r} is not a type of the language", None,
                               f"it annotates {name!r} of {cls.__name__}")
        found[name] = type
    return found


def script_class(cls: type) -> T.ClassType:
    """Compile a class: its methods, with attributes from `__init__` and annotations."""
    from .script import qualified_name, source_of

    known = _types.get(cls)
    if known is not None:
        return known
    node, source = source_of(cls)
    if not isinstance(node, ast.ClassDef):
        raise CompileError(f"{cls.__name__} is not a class that can be compiled")
    type = T.ClassType(qualified_name(cls))
    _types[cls] = type
    try:
        _define(cls, node, source, type)
    except BaseException:
        _types.pop(cls, None)
        raise
    return type


def _define(cls: type, node: ast.ClassDef, source: Source, type: T.ClassType) -> None:
    """The methods of a Python class; each sees the names of its own function."""
    from .resolver import PythonResolver

    bad = [b for b in cls.__mro__[1:] if b not in BASES]
    if bad:
        raise CompileError(f"class {cls.__name__} inherits from {bad[0].__name__}",
                           span_of(node.bases[0], source) if node.bases else None,
                           "a script class has no bases; copy the methods into it")
    for name, hint in _hints(cls).items():
        type.add_attribute(name, hint)

    def resolver(statement: ast.FunctionDef) -> PythonResolver:
        raw = cls.__dict__.get(statement.name)
        if statement in written:
            return PythonResolver.of_mapping({**vars(sys.modules[cls.__module__]),
                                              cls.__name__: cls})
        if isinstance(raw, staticmethod):
            return PythonResolver.of(raw.__func__)
        if isinstance(raw, property):
            return PythonResolver.of(raw.fset if is_setter(statement) else raw.fget)
        if not hasattr(raw, "__code__"):
            raise CompileError(f"{statement.name} of {cls.__name__} is not a plain method",
                               span_of(statement, source),
                               "class methods are not part of the language")
        return PythonResolver.of(raw)

    written = written_methods(cls, node, source)
    node.body += written
    define_from_syntax(node, source, type, resolver)


def define_from_syntax(node: ast.ClassDef, source: Source, type: T.ClassType,
                       resolver: Callable[[ast.FunctionDef], Any]) -> None:
    """Declare the methods of a class, then compile all, `__init__` first: it makes attributes."""
    from .script import declare

    for statement in node.body:
        if not isinstance(statement, ast.FunctionDef):
            continue
        decorators = {getattr(d, "id", getattr(d, "attr", "")) for d in statement.decorator_list}
        name = f"{type.name}.{statement.name}"
        if "staticmethod" in decorators:
            type.static_methods[statement.name] = declare(statement, source, resolver(statement),
                                                          name)
        elif decorators & {"property", "setter"}:
            _property(statement, source, type, resolver(statement))
        elif not decorators & {"ignore", "unused"}:
            type.methods[statement.name] = declare(statement, source, resolver(statement), name,
                                                   None, type)
    if "__init__" in type.methods:
        type.methods["__init__"].ensure_defined()
    for method in [*type.methods.values(), *type.static_methods.values()]:
        method.ensure_defined()


def is_setter(statement: ast.FunctionDef) -> bool:
    return any(isinstance(d, ast.Attribute) and d.attr == "setter"
               for d in statement.decorator_list)


def _property(statement: ast.FunctionDef, source: Source, type: T.ClassType, resolver: Any) -> None:
    """A getter or setter: `name`, `name.setter`."""
    from .script import declare

    setter = is_setter(statement)
    method = f"__{statement.name}_{'setter' if setter else 'getter'}"
    type.methods[method] = declare(statement, source, resolver, f"{type.name}.{method}", None, type)
    known = type.properties.get(statement.name, (None, None))
    type.properties[statement.name] = (known[0], method) if setter else (method, known[1])
