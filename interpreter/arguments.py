"""Checks the arguments of a call from Python against the function's schema, and converts them to
run-time values."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from .. import dtypes, layouts
from .. import types as T
from ..errors import RunError
from ..lazy_numpy import is_scalar, np
from ..objects import Device, EnumValue, ScriptObject, python_classes
from ..schema import Argument, Schema
from ..script_containers import ScriptDict, ScriptList
from ..tensors import Tensor, as_tensor
from .values import MAX_INT, MIN_INT, is_instance, type_name


class Mismatch(Exception):
    """A value does not fit a type.

    value, wanted: the innermost value that does not fit, and the type that it should have.
    path: its place inside of the argument, such as `[2].name`.
    """

    def __init__(self, value: Any, wanted: T.Type, path: str = "") -> None:
        super().__init__()
        self.value, self.wanted, self.path = value, wanted, path


def bind(schema: Schema, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> list[Any]:
    """The run-time values of all arguments of a function, in order.

    Where the schema wants another type, numpy arrays and torch tensors become Tensors, ints become
    floats, tuples become lists, and names become devices; a ScriptModule becomes its object.  Lists
    and dicts are copied, as in PyTorch, but a ScriptList or ScriptDict is taken itself.  Raises
    RunError, which names the function, the argument, the type that it wants and the type passed.
    """
    short = schema.name.rpartition(".")[2]
    positional = [a for a in schema.arguments if not a.kwarg_only]
    if len(args) > len(positional):
        bound = sum(a.name == "self" for a in positional)
        raise RunError(
            f"{short}() expected at most {_count(len(positional) - bound)} but received "
            f"{_count(len(args) - bound)}\n  {schema}"
        )
    kwargs = dict(kwargs or {})
    values, lacking = [], []
    for i, a in enumerate(schema.arguments):
        if i < len(args):
            if a.name in kwargs:
                raise RunError(
                    f"Argument {a.name!r} of {short}() specified both as positional and "
                    f"keyword argument\n  {schema}"
                )
            values.append(_argument(schema, i, a, args[i]))
        elif a.name in kwargs:
            values.append(_argument(schema, i, a, kwargs.pop(a.name)))
        elif a.has_default:
            values.append(copy_of(a.default))
        else:
            lacking.append(a)
    if lacking:
        names = " and ".join(f"{a.name!r} ({a.type.annotation})" for a in lacking)
        raise RunError(f"{short}() is missing value for argument {names}\n  {schema}")
    if kwargs:
        names = ", ".join(map(repr, kwargs))
        raise RunError(f"Unknown keyword argument {names} for {short}()\n  {schema}")
    return values


def fit_already(schema: Schema, args: Sequence[Any]) -> bool:
    """Whether all arguments are there, and are tensors and objects of the types of the schema, so
    that `bind` would give them as they are."""
    arguments = schema.arguments
    return len(args) == len(arguments) and all(
        a.type is T.TENSOR if type(v) is Tensor else type(v) is ScriptObject and v.type is a.type
        for a, v in zip(arguments, args)
    )


def copy_of(value: Any, made: dict[int, Any] | None = None) -> Any:
    """A copy of a default, or of a value for an argument of type Any, which the program may modify.

    Tensors and script objects are not copied.  Objects of Python classes that scripts know, and
    arrays and devices of other libraries, are converted.
    made: the copies so far, by the id of the original, so that a shared value is copied once.
    """
    if type(value) in PLAIN or isinstance(value, (Tensor, ScriptObject, EnumValue)):
        return value
    made = {} if made is None else made
    copy = made.get(id(value))
    if copy is not None:
        return copy
    if type(value) is list:
        copy = made[id(value)] = []  # before its elements, since it may contain itself
        copy += [copy_of(v, made) for v in value]
        return copy
    if type(value) is dict:
        copy = made[id(value)] = {}
        copy.update({copy_of(k, made): copy_of(v, made) for k, v in value.items()})
        return copy
    known = python_classes.get(type(value))
    if known is not None:
        return convert(value, known)
    if type(value) is tuple:
        copy = made[id(value)] = tuple(copy_of(v, made) for v in value)
        return copy
    return _foreign(value)


PLAIN = (int, float, bool, str, complex, type(None))


def _foreign(value: Any) -> Any:
    """A value of another library converted to a run-time value; other values unchanged."""
    cls = type(value)
    if cls.__name__ in ("device", "dtype", "layout", "memory_format") and cls.__module__ == "torch":
        return to_device(value) if cls.__name__ == "device" else to_int(value)
    if cls.__module__ == "builtins":
        return value
    tensor = as_tensor(value)
    return value if tensor is None else tensor


def _count(n: int) -> str:
    return f"{n} argument" if n == 1 else f"{n} arguments"


def _argument(schema: Schema, i: int, a: Argument, value: Any) -> Any:
    try:
        if a.size is not None and isinstance(value, (int, float)):
            value = [value] * a.size
        return convert(value, a.type)
    except Mismatch as e:
        inside = f" at {a.name}{e.path}" if e.path else ""
        short = schema.name.rpartition(".")[2]
        raise RunError(
            f"{short}() Expected a value of type '{a.type.annotation}' for argument {a.name!r} but "
            f"instead found type '{type_name(value)}'"
            + (f": {type_name(e.value)}{inside}" if inside else "")
            + f"\nPosition: {i}\n  {schema}"
        ) from None


def convert(value: Any, t: T.Type, path: str = "") -> Any:
    """`value` as a run-time value of type `t`.  Raises Mismatch if it does not fit.

    path: the place of the value inside of the argument, for the error.
    """
    value = unwrapped(value)
    if type(t) in CONVERTERS:
        return CONVERTERS[type(t)](value, t, path)
    if is_instance(value, t):
        return copy_of(value)
    if t in ATOMS:
        try:
            return ATOMS[t](value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise Mismatch(value, t, path)


def unwrapped(value: Any) -> Any:
    """The script object that a wrapper such as a ScriptModule holds; other values unchanged."""
    return value if isinstance(value, Tensor) else getattr(value, "_object_", value)


def to_tensor(value: Any) -> Tensor:
    """A Tensor that shares memory with a numpy array, a torch tensor or a similar object."""
    tensor = as_tensor(value)
    return _refuse() if tensor is None else tensor


def to_int(value: Any) -> int:
    if isinstance(value, Tensor):
        scalar_value: Any = scalar(value)
        return int(scalar_value)  # 2.7 is 2, as in PyTorch
    if type(value).__module__ == "torch" and str(value).startswith("torch."):
        value = public_constant(str(value).partition(".")[2])
    number = int(operator.index(value))  # for a dtype or layout, its number
    return number if MIN_INT <= number <= MAX_INT else _refuse()


def to_float(value: Any) -> float:
    if isinstance(value, (str, bytes, bytearray)):
        _refuse()
    number: Any = scalar(value) if isinstance(value, Tensor) else value
    return float(number)


def public_constant(name: str) -> Any:
    """The dtype, layout or memory format of that name."""
    found = dtypes.BY_NAME.get(name, layouts.BY_NAME.get(name))
    return _refuse() if found is None else found


def to_complex(value: Any) -> complex:
    if isinstance(value, (str, bytes, bytearray, bool)):
        _refuse()
    return complex(scalar(value) if isinstance(value, Tensor) else value)


def to_bool(value: Any) -> bool:
    if is_scalar(value) and isinstance(value, np.number):
        _refuse()
    if not isinstance(value, int) and not (is_scalar(value) and isinstance(value, np.bool_)):
        value = scalar(to_tensor(value))  # a tensor without dimensions
    return bool(value)


def to_str(value: Any) -> str:
    """A plain str from an instance of a subclass, such as numpy.str_."""
    return str.__str__(value) if isinstance(value, str) else _refuse()


def to_number(value: Any) -> int | float | complex:
    if isinstance(value, Tensor):
        return scalar(value)
    return value.item() if hasattr(value, "item") else _refuse()


def scalar(value: Tensor) -> int | float | complex | bool:
    """The element of a tensor with one element.  Raises TypeError for other tensors."""
    return value.item() if value.numel() == 1 else _refuse()


def to_device(value: Any) -> Device:
    if type(value).__name__ == "device" and type(value).__module__ == "torch":
        value = str(value)
    return Device(value) if isinstance(value, str) else _refuse()


def _refuse() -> NoReturn:
    raise TypeError


ATOMS: dict[T.Type, Callable[[Any], Any]] = {
    T.TENSOR: to_tensor,
    T.INT: to_int,
    T.FLOAT: to_float,
    T.BOOL: to_bool,
    T.COMPLEX: to_complex,
    T.STR: to_str,
    T.NUMBER: to_number,
    T.DEVICE: to_device,
}
"""Conversions to types without parts, for values that are not of the type already.  They raise
TypeError, ValueError or OverflowError for values that do not fit."""


def _optional(value: Any, t: T.OptionalType, path: str) -> Any:
    return None if value is None else convert(value, t.element, path)


def _union(value: Any, t: T.UnionType, path: str) -> Any:
    if is_instance(value, t):
        return copy_of(value)
    for option in t.options:
        try:
            return convert(value, option, path)
        except Mismatch:
            continue
    raise Mismatch(value, t, path)


def _list(value: Any, t: T.ListType, path: str) -> list[Any]:
    if isinstance(value, ScriptList) and value._type == t:
        return value._values
    if not isinstance(value, (list, tuple, range)):
        raise Mismatch(value, t, path)
    if t.element in (T.INT, T.FLOAT) and type(value) is list and is_instance(value, t):
        return value.copy()
    if t.element == T.ANY:
        made: dict[int, Any] = {}  # shared by all elements
        return [copy_of(unwrapped(v), made) for v in value]
    return [convert(v, t.element, f"{path}[{i}]") for i, v in enumerate(value)]


def _dict(value: Any, t: T.DictType, path: str) -> dict[Any, Any]:
    if isinstance(value, ScriptDict) and value._type == t:
        return value._values
    if not isinstance(value, dict):
        raise Mismatch(value, t, path)
    if t.value == T.ANY:
        made: dict[int, Any] = {}  # shared by all values
        return {
            convert(k, t.key, f"{path} key {k!r}"): copy_of(unwrapped(v), made)
            for k, v in value.items()
        }
    return {
        convert(k, t.key, f"{path} key {k!r}"): convert(v, t.value, f"{path}[{k!r}]")
        for k, v in value.items()
    }


def _tuple(value: Any, t: T.TupleType, path: str) -> tuple[Any, ...]:
    if not isinstance(value, (tuple, list)) or len(value) != len(t.elements):
        raise Mismatch(value, t, path)
    return t.make(
        [convert(v, e, f"{path}[{i}]") for i, (v, e) in enumerate(zip(value, t.elements))]
    )


def _class(value: Any, t: T.Type, path: str) -> ScriptObject:
    """An object of a script class.  An instance of a Python class is copied with its attributes, as
    in PyTorch."""
    if isinstance(value, ScriptObject):
        if is_instance(value, t):
            return value
        raise Mismatch(value, t, path)
    own = python_classes.get(type(value), t)
    if isinstance(t, T.ClassType) and not T.is_subtype(own, t):
        own = t  # an object of another class fits if it has the attributes, which is checked below
    if (
        not isinstance(own, T.ClassType)
        or own.is_module
        or not T.is_subtype(own, t)
        or not (own.attributes or python_classes.get(type(value), None) is own)
        or not all(hasattr(value, a.name) for a in own.attributes)
        or path.count(".") > MOST_NESTED
    ):
        raise Mismatch(value, t, path)
    return ScriptObject(
        own, [convert(getattr(value, a.name), a.type, f"{path}.{a.name}") for a in own.attributes]
    )


MOST_NESTED = 150
"""How deep Python objects may be nested.  Objects in a cycle are nested without end."""


def _enum(value: Any, t: T.EnumType, path: str) -> EnumValue:
    """A member of an enum.  A member of an enum.Enum is converted to the one of the same name and
    value."""
    if isinstance(value, EnumValue) and value.type is t:
        return value
    own = t.python_class is None or isinstance(value, t.python_class)
    if (
        isinstance(value, enum.Enum)
        and own
        and value.name in t.members
        and t.members[value.name] == value.value
    ):
        return EnumValue(t, value.name, value.value)
    raise Mismatch(value, t, path)


CONVERTERS: dict[type, Callable[[Any, Any, str], Any]] = {
    T.OptionalType: _optional,
    T.UnionType: _union,
    T.ListType: _list,
    T.DictType: _dict,
    T.TupleType: _tuple,
    T.ClassType: _class,
    T.InterfaceType: _class,
    T.EnumType: _enum,
}
"""Conversions to types with parts."""
