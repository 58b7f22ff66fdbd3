"""Infers the type of a Python value in a program: of an attribute, a default, an example.

infer_type([1, 2])          ->  List[int]
infer_type({"a": tensor})   ->  Dict[str, Tensor]
infer_type([])              ->  NotInferable: the list is empty
"""

from __future__ import annotations

import enum
import inspect
from typing import Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Function
from scriptlang.objects import Device, EnumValue, ScriptObject
from scriptlang.tensors import Tensor

from ..syntax.annotations import NO_KEY, may_be_key
from ..whole import whole

PLAIN: dict[type, T.Type] = {
    bool: T.BOOL,
    int: T.INT,
    float: T.FLOAT,
    complex: T.COMPLEX,
    str: T.STR,
    type(None): T.NONE,
    Tensor: T.TENSOR,
    Device: T.DEVICE,
}
"""Class of a value -> type.  Subclasses of bool, int, float, complex and str count as these."""

NUMBERED = ("dtype", "DType", "layout", "memory_format", "qscheme")
"""Names of classes of torch and scriptlang whose instances are integers in programs."""


class NotInferable(Exception):
    """No type of the language fits a value; the message says why."""


def infer_type(value: Any) -> T.Type:
    """The type of a Python value in programs.  Raises NotInferable if it has none."""
    found = PLAIN.get(type(value)) or _plain(value)
    if found is not None:
        return found
    if isinstance(value, list):
        return _list(value)
    if isinstance(value, tuple):
        return _tuple(value)
    if isinstance(value, dict):
        return _dict(value)
    if isinstance(value, (enum.Enum, EnumValue)):
        return _enum(value)
    found = _object(value)
    if found is None:
        raise NotInferable(f"no type of the language fits a value of {name_of(type(value))}")
    return found


def name_of(cls: type) -> str:
    return (
        cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    )


def held(obj: Any, name: str, default: Any = None) -> Any:
    """An attribute of an object of the program; the default if asking for it raises an error.

    Objects that load what they have on demand, as `torch.classes`, raise other errors than
    AttributeError.
    """
    try:
        return getattr(obj, name, default)
    except Exception:
        return default


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of scriptlang or torch, or of a subclass such as Parameter."""
    return isinstance(value, Tensor) or any(
        c.__name__ == "Tensor" and c.__module__ in ("torch", "torch._tensor")
        for c in type(value).__mro__
    )


def _plain(value: Any) -> T.Type | None:
    cls = type(value)
    package = cls.__module__.partition(".")[0]
    if is_tensor(value):
        return T.TENSOR
    if package in ("torch", "scriptlang"):
        if cls.__name__ in NUMBERED:
            return T.INT
        if cls.__name__ == "device":
            return T.DEVICE
        if cls.__name__ == "Size":
            return T.TupleType((T.INT,) * len(value))
        if cls.__name__ == "Generator":
            return T.GENERATOR
    for base in (bool, int, float, complex, str):
        if isinstance(value, base):
            return PLAIN[base]
    return None


def _list(value: list[Any]) -> T.Type:
    if not value:
        raise NotInferable("the list is empty, so the type of its elements is not known")
    return T.ListType(_common("list", value))


def _dict(value: dict[Any, Any]) -> T.Type:
    if not value:
        raise NotInferable("the dict is empty, so its types are not known")
    key = _common("dict", list(value))
    if not may_be_key(key):
        raise NotInferable(NO_KEY.format(key.annotation))
    return T.DictType(key, _common("dict", list(value.values())))


def _common(what: str, values: list[Any]) -> T.Type:
    """The type that all values have.  Raises NotInferable if there is none."""
    found = infer_type(values[0])
    for v in values[1:]:
        unified = T.unify(found, infer_type(v))
        if unified is None:
            raise NotInferable(
                f"the {what} holds {found.annotation} and {infer_type(v).annotation}"
            )
        found = unified
    return found


def _tuple(value: tuple[Any, ...]) -> T.Type:
    """The type of a tuple.

    A named tuple has its declared type if its fields have the declared types.  Otherwise it has the
    type that PyTorch infers: a plain tuple of the types of the fields, without their names.
    """
    if hasattr(value, "_fields"):
        try:
            declared = whole.type_of_class(type(value))
        except CompileError:  # An annotation names no type.
            declared = None
        if isinstance(declared, T.TupleType) and _holds(value, declared):
            return declared
    return T.TupleType(tuple(map(infer_type, value)))


def _holds(value: Any, type: T.Type) -> bool:
    """Whether a Python value has this type without conversion."""
    if isinstance(type, T.OptionalType):
        return value is None or _holds(value, type.element)
    if isinstance(type, T.UnionType):
        return any(_holds(value, option) for option in type.options)
    if isinstance(type, T.ListType):
        return isinstance(value, list) and all(_holds(v, type.element) for v in value)
    if isinstance(type, T.DictType):
        return isinstance(value, dict) and all(
            _holds(k, type.key) and _holds(v, type.value) for k, v in value.items()
        )
    if isinstance(type, T.TupleType):
        return (
            isinstance(value, tuple)
            and len(value) == len(type.elements)
            and all(map(_holds, value, type.elements))
        )
    try:
        return T.is_subtype(infer_type(value), type)
    except NotInferable:
        return False


def _enum(value: Any) -> T.Type:
    if isinstance(value, EnumValue):
        return value.type

    return whole.type_of_class(type(value))


def _object(value: Any) -> T.Type | None:
    """The type of a script object, a compiled function or a module; None for other values."""
    own = held(value, "_raw_", value)
    if isinstance(own, ScriptObject):
        return own.type
    function = held(value, "_function")
    if isinstance(function, Function):
        return T.FunctionType(function)
    if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value):
        return None

    found = whole.compiled_type(type(value))
    return found if isinstance(found, T.ClassType) else None
