"""Compiles Python classes to types: script classes, NamedTuples, Enums, interfaces.

A script class has the attributes that its `__init__` assigns; annotations in the class body give
their types.  Inherited methods are compiled for each class, as if it defined them itself.
"""

from __future__ import annotations

import ast
import enum
import sys
import weakref
from collections.abc import Callable
from typing import Any

from scriptlang import types as T
from scriptlang.building import alone
from scriptlang.errors import CompileError
from scriptlang.objects import python_classes
from scriptlang.source import Source

from ..syntax.annotations import hints_of
from ..syntax.definitions import qualified_name, source_of
from ..syntax.modifiers import is_ignored
from ..syntax.places import span_of
from ..values.value_types import is_tensor
from ..values.variadic import VariadicValue, add_method, is_variadic
from ..whole import whole
from . import interfaces, record_classes
from .ignored import ignored_function
from .inheritance import Member, class_header, is_setter, members_of

ENUM_VALUES = (int, float, str)
"""Classes that the values of an Enum may have."""

NOT_OF_PROGRAMS = ("builtins", "typing", "collections", "typing_extensions", "abc", "numbers")
"""Modules whose classes have no meaning in programs, except NamedTuples and Enums."""


def type_of_class(cls: Any) -> T.Type | None:
    """The type of a class of the program; None if programs cannot use the class.

    Script classes are compiled when they are first used.  Raises CompileError.
    """
    known: Any = python_classes.get(cls)
    if known is None:
        if issubclass(cls, enum.Enum):
            known = _enum(cls)
        elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
            known = _named_tuple(cls)
        elif interfaces.is_interface(cls):
            return interfaces.interface_type(cls)
        elif getattr(cls, "__script_type__", None) is not None:
            return cls.__script_type__
        elif cls.__module__.partition(".")[0] in NOT_OF_PROGRAMS:
            return None
        elif record_classes.is_record(cls) and compiled_type(cls) is None:
            raise CompileError(
                f"{cls.__name__} is a dataclass that is not compiled",
                class_header(cls),
                "decorate it with @script, above @dataclass",
            )
        else:
            return script_class(cls)
        python_classes[cls] = known
    return known


def compiled_type(cls: Any) -> T.Type | None:
    """The type of a class to which `script` of scriptlang or PyTorch was applied; else None."""
    known: Any = python_classes.get(cls)
    state = sys.modules.get("torch.jit._state")
    if known is None and state is not None and state._get_script_class(cls) is not None:
        known = script_class(cls)
    return known


def _enum(cls: Any) -> T.EnumType:
    members = {m.name: m.value for m in cls}
    kinds = {type(v) for v in members.values()}
    for value in members.values():
        if type(value) not in ENUM_VALUES:
            raise CompileError(
                f"Cannot create Enum with value type {type(value).__name__!r}: {cls.__name__}",
                class_header(cls),
                "give all members values of type int, float or str",
            )
    if len(kinds) != 1:
        raise CompileError(
            f"the values of enum {cls.__name__} have different types",
            class_header(cls),
            "give all members values of one type: int, float or str",
        )
    of = {int: T.INT, float: T.FLOAT, str: T.STR}[kinds.pop()]
    return T.EnumType(qualified_name(cls), of, members, cls)


_named_tuples: weakref.WeakKeyDictionary[Any, dict[str, T.TupleType]] = weakref.WeakKeyDictionary()
"""Python module -> name -> the only NamedTuple of this name in programs."""


def _named_tuple(cls: Any) -> T.TupleType:
    """The type of a NamedTuple class.  Fields without annotation are Tensors.

    Raises CompileError if another class of its name in the same module has other fields, because
    archives identify types by name.
    """
    hints = hints_of(cls, class_header)
    types = tuple(hints.get(name, T.TENSOR) for name in cls._fields)
    given = cls._field_defaults
    for name, default in given.items():
        _check_field_default(cls, name, default)
    if any(name not in hints and default is not None for name, default in given.items()):
        given = {}  # a number is no default of a Tensor, and only programs would use it
    defaults = tuple(given[n] for n in cls._fields if n in given)
    made = T.TupleType(types, qualified_name(cls), cls._fields, defaults)
    home = sys.modules.get(cls.__module__, T)
    known = _named_tuples.setdefault(home, {}).setdefault(made.name or "", made)
    if (known.fields, known.elements) != (made.fields, made.elements):
        raise CompileError(
            f"there is another NamedTuple {cls.__name__}, with the fields "
            f"{_fields(known)}; this has {_fields(made)}",
            class_header(cls),
            "give one of them another name: archives tell types by their names",
        )
    return made


def _fields(type: T.TupleType) -> str:
    return ", ".join(f"{n}: {t.annotation}" for n, t in zip(type.fields or (), type.elements))


def _check_field_default(cls: Any, name: str, value: Any) -> None:
    """Raises CompileError for a default that is a Tensor, which all tuples would share."""
    if is_tensor(value):
        raise CompileError(
            f"the default of {name!r} of {cls.__name__} is a Tensor, which all tuples would share",
            class_header(cls),
            "annotate the field as Optional[Tensor] and take None as its default",
        )


@alone
def script_class(cls: Any) -> T.ClassType:
    """Compile a class with its own and inherited methods.  Raises CompileError."""
    known: Any = python_classes.get(cls)
    if known is not None:
        return known
    if (
        issubclass(cls, enum.Enum)
        or hasattr(cls, "_fields")
        and issubclass(cls, tuple)
        or interfaces.is_interface(cls)
    ):
        return type_of_class(cls)
    node, _ = source_of(cls)
    if not isinstance(node, ast.ClassDef):
        raise CompileError(f"{cls.__name__} is not a class that can be compiled")
    type = T.ClassType(qualified_name(cls), python_class=cls)
    python_classes[cls] = type
    try:
        _define(cls, type)
    except BaseException:
        python_classes.pop(cls)
        raise
    return type


def _define(cls: Any, type: T.ClassType) -> None:
    """Add the attributes and methods of a Python class to its type, and compile the methods."""
    members = members_of(cls, type)
    record = record_classes.is_record(cls)
    if record:
        members += record_classes.written_members(cls, {m.name for m in members if m.owner is cls})
    assigned = _assigned_in_init(members)
    fields = record_classes.field_names(cls) if record else ()
    for name, hint in hints_of(cls, class_header, strict=record).items():
        if name in assigned and (not record or name in fields):
            type.add_attribute(name, hint)
    _declare_all(members, type)


def _assigned_in_init(members: list[Member]) -> set[str]:
    """The names of the attributes that `__init__` assigns, including inherited ones."""
    return {
        n.attr
        for m in members
        if m.name == "__init__" or m.name.endswith("___init__")
        for n in ast.walk(m.statement)
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
    }


def define_from_syntax(
    node: ast.ClassDef,
    source: Source,
    type: T.ClassType,
    resolver: Callable[[ast.FunctionDef], Any],
) -> None:
    """Add the methods of a class that is given as syntax to its type, and compile them.

    `resolver` returns the resolver of names in a method.
    """
    _declare_all(
        [
            Member(s.name, s, source, resolver(s))
            for s in node.body
            if isinstance(s, ast.FunctionDef)
        ],
        type,
    )


def _declare_all(members: list[Member], type: T.ClassType) -> None:
    """Declare all methods, then compile them; `__init__` first, because it adds the attributes."""
    for member in members:
        _declare(member, type)
    if "__init__" in type.methods:
        type.methods["__init__"].ensure_defined()
    for method in [*type.methods.values(), *type.static_methods.values()]:
        method.ensure_defined()


def _declare(member: Member, type: T.ClassType) -> None:
    """Add a member to the type of a class, without compiling its body."""
    statement = member.statement
    name = f"{type.name}.{member.name}"
    decorators = {getattr(d, "id", getattr(d, "attr", "")) for d in statement.decorator_list}
    if "staticmethod" in decorators:
        type.static_methods[member.name] = whole.declare(
            statement, member.source, member.resolver, name, member.defaults
        )
    elif not (statement.args.posonlyargs or statement.args.args):
        raise CompileError(
            f"the method {member.name} has no self",
            span_of(statement, member.source),
            "write self as its first parameter",
        )
    elif decorators & {"property", "setter"}:
        _property(member, type)
    elif is_variadic(statement) and member.name != "__init__" and not is_ignored(member.function):
        add_method(
            type,
            member.name,
            VariadicValue(statement, member.source, member.resolver, name, member.defaults, type),
        )
    elif is_ignored(member.function):
        type.methods[member.name] = ignored_function(member.function, name, type)
    else:
        type.methods[member.name] = whole.declare(
            statement, member.source, member.resolver, name, member.defaults, type
        )


def _property(member: Member, type: T.ClassType) -> None:
    """Declare the getter or setter of a property."""
    setter = is_setter(member.statement)
    method = f"__{member.name}_{'setter' if setter else 'getter'}"
    type.methods[method] = whole.declare(
        member.statement, member.source, member.resolver, f"{type.name}.{method}", None, type
    )
    known: Any = type.properties.get(member.name, (None, None))
    type.properties[member.name] = (known[0], method) if setter else (method, known[1])
