"""Types of run-time values: which value of Python is of which type of the language."""

from __future__ import annotations

from typing import Any

from .. import types as T
from ..objects import Device, EnumValue, Future, ScriptObject
from ..ops.shared.generator import Generator
from ..tensors import Tensor

CLASSES: dict[T.Type, tuple[type, ...]] = {
    T.INT: (int,),
    T.FLOAT: (float,),
    T.COMPLEX: (complex,),
    T.BOOL: (bool,),
    T.STR: (str,),
    T.NONE: (type(None),),
    T.NUMBER: (int, float, complex),
    T.ANY_LIST: (list,),
}
"""Classes of the values of types without parts: exactly these, so a bool is no int."""

BASES: dict[T.Type, type] = {
    T.TENSOR: Tensor,
    T.DEVICE: Device,
    T.GENERATOR: Generator,
    T.ANY_TUPLE: tuple,
    T.ANY_CLASS: ScriptObject,
    T.ANY_ENUM: EnumValue,
}
"""The same for types whose values may be of a subclass."""

MIN_INT, MAX_INT = -1 << 63, (1 << 63) - 1


def is_instance(value: Any, t: T.Type) -> bool:
    """Whether a run-time value is of type `t`, without any conversion.

    Lists and dicts carry no element type: an empty one is of every list or dict type.
    """
    if t in CLASSES:
        return type(value) in CLASSES[t] and (t != T.INT or MIN_INT <= value <= MAX_INT)
    if t in BASES:
        return isinstance(value, BASES[t])
    if t == T.ANY:
        return True
    if isinstance(t, T.OptionalType):
        return value is None or is_instance(value, t.element)
    if isinstance(t, T.UnionType):
        return any(is_instance(value, o) for o in t.options)
    if isinstance(t, T.ListType):
        return type(value) is list and all(is_instance(v, t.element) for v in value)
    if isinstance(t, T.DictType):
        return type(value) is dict and all(
            is_instance(k, t.key) and is_instance(v, t.value) for k, v in value.items()
        )
    if isinstance(t, T.TupleType):
        return is_tuple_of(value, t)
    if isinstance(t, (T.FutureType, T.RRefLikeType)):
        return isinstance(value, Future)
    if isinstance(value, ScriptObject):
        return T.is_subtype(value.type, t)
    return isinstance(value, EnumValue) and value.type is t


def is_tuple_of(value: Any, t: T.TupleType) -> bool:
    if not isinstance(value, tuple) or len(value) != len(t.elements):
        return False
    if t.name:
        named = getattr(type(value), "__script_type__", None)
        if named is None or (named.name, named.fields) != (t.name, t.fields):
            return False
    return all(map(is_instance, value, t.elements))


def type_name(value: Any) -> str:
    """The type of a value as error messages name it: `List[int]`, `Tensor`, `numpy.ndarray`."""
    if isinstance(value, Tensor):
        return "Tensor"
    if value is None:
        return "None"
    if type(value) in (int, float, bool, str, complex):
        return type(value).__name__
    if isinstance(value, (ScriptObject, EnumValue)):
        return value.type.annotation
    if type(value) is list:
        return f"List[{_common(value)}]"
    if type(value) is tuple:
        return f"Tuple[{', '.join(map(type_name, value)) or '()'}]"
    if type(value) is dict:
        return f"Dict[{_common(list(value))}, {_common(list(value.values()))}]"
    cls = type(value)
    module = "" if cls.__module__ == "builtins" else f"{cls.__module__}."
    return module + cls.__qualname__


def _common(values: list[Any]) -> str:
    names = sorted({type_name(v) for v in values})
    return names[0] if len(names) == 1 else f"Union[{', '.join(names)}]" if names else "?"
