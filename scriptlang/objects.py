"""Run-time values that are neither numbers, strings, containers nor tensors."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from . import types as T

OF_CLASS = "__scriptlang_type__"
"""The attribute of a Python class that holds its script type."""


class PythonClasses:
    """The script types of compiled Python classes.

    A type refers to its class, so a table that holds types would keep their classes for ever.  The
    type is an attribute of the class instead, so that both are collected together.
    """

    def __init__(self) -> None:
        self._others: weakref.WeakKeyDictionary[type, T.Type] = weakref.WeakKeyDictionary()

    def get(self, cls: Any, default: Any = None) -> Any:
        found = getattr(cls, "__dict__", {}).get(OF_CLASS)
        if found is None and self._others:
            found = self._others.get(cls)
        return default if found is None else found

    def __setitem__(self, cls: type, type_of_class: T.Type) -> None:
        try:
            type.__setattr__(cls, OF_CLASS, type_of_class)
        except TypeError:  # a class that was made in C takes no attributes
            self._others[cls] = type_of_class

    def pop(self, cls: type) -> None:
        if OF_CLASS in cls.__dict__:
            type.__delattr__(cls, OF_CLASS)
        self._others.pop(cls, None)


python_classes = PythonClasses()

R = TypeVar("R")


class ScriptObject:
    """An instance of a script class or module: its type, and one value for each attribute slot."""

    __slots__ = ("__weakref__", "slots", "type")

    def __init__(self, type: T.ClassType, slots: list[Any] | None = None) -> None:
        self.type = type
        self.slots: Any = [None] * len(type.attributes) if slots is None else slots

    def get(self, name: str) -> Any:
        """The value of an attribute. Raises AttributeError if there is none with that name."""
        return self.slots[self._slot(name)]

    def set(self, name: str, value: Any) -> None:
        self.slots[self._slot(name)] = value

    def _slot(self, name: str) -> int:
        i = self.type.slot(name)
        if i is None:
            raise AttributeError(f"{self.type.name} has no attribute {name!r}")
        return i

    def __repr__(self) -> str:
        return f"<{self.type.name} object>"


class Snapshot:
    """The slots of objects, as they were when they were first reached.

    A list or dict in two slots is one object here. Slots of objects in the native engine would
    otherwise return a new copy each time that they are read.
    """

    def __init__(self) -> None:
        self.known: dict[int, tuple[ScriptObject, list[Any]]] = {}

    def slots(self, obj: ScriptObject) -> list[Any]:
        if id(obj) not in self.known:
            found = [o for o in objects_in(obj) if id(o) not in self.known]
            native = [o for o in found if not isinstance(o.slots, list)]
            read = native[0].slots.together([o.slots for o in native]) if native else []
            self.known.update({id(o): (o, o.slots) for o in found})
            self.known.update({id(o): (o, slots) for o, slots in zip(native, read)})
        return self.known[id(obj)][1]

    def get(self, obj: ScriptObject, name: str) -> Any:
        """The value of an attribute. Raises AttributeError if there is none with that name."""
        return self.slots(obj)[obj._slot(name)]


def objects_in(value: Any) -> list[ScriptObject]:
    """The objects inside a value, including itself, outer ones first."""
    return [v for v in walk(value) if isinstance(v, ScriptObject)]


def all_slots(value: ScriptObject) -> list[Any]:
    return list(value.slots)


def walk(*values: Any, slots_of: Callable[[ScriptObject], list[Any]] = all_slots) -> Iterator[Any]:
    """The values and everything inside them, outer ones first; containers and objects only once.

    slots_of: gives the values inside an object.
    """
    seen: dict[int, Any] = {}  # values are kept alive so that their ids are not reused
    pending = list(reversed(values))
    while pending:
        value = pending.pop()
        if not isinstance(value, (ScriptObject, list, tuple, dict)):
            yield value
        elif id(value) not in seen:
            seen[id(value)] = value
            yield value
            if isinstance(value, ScriptObject):
                pending += reversed(slots_of(value))
            elif isinstance(value, dict):
                pending += [*value, *value.values()]
            else:
                pending += reversed(value)


DEVICES = (
    "cpu",
    "cuda",
    "ipu",
    "xpu",
    "mkldnn",
    "opengl",
    "opencl",
    "ideep",
    "hip",
    "ve",
    "fpga",
    "maia",
    "xla",
    "lazy",
    "vulkan",
    "mps",
    "meta",
    "hpu",
    "mtia",
    "privateuseone",
)
"""The names of PyTorch's device types."""


class Device:
    """The device of a tensor. Programs only run on the CPU; other devices can only be compared."""

    __slots__ = ("index", "type")

    def __init__(self, type: str, index: int | None = None) -> None:
        """Raises RuntimeError for unknown device types, TypeError if the name is no string."""
        if isinstance(type, Device):
            type, index = type.type, type.index
        elif not isinstance(type, str):
            raise TypeError(f"a device has a name such as 'cpu', not a {type.__class__.__name__}")
        name, colon, number = type.partition(":")
        if name not in DEVICES:
            raise RuntimeError(
                f"Expected one of {', '.join(DEVICES)} device type at start of "
                f"device string: {type}"
            )
        if colon:
            if not (number.isascii() and number.isdigit()):
                raise RuntimeError(f"Invalid device string: '{type}'")
            if index is not None:
                raise RuntimeError(
                    "type (string) must not include an index because index was "
                    f"passed explicitly: {type}"
                )
            index = int(number)
        self.type = name
        self.index = index

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


CPU = Device("cpu")


class EnumValue:
    """A member of a script enum.

    known_name: its name; "" if it is unknown, as in bytecode that does not contain it (see
    serialization/names.py). Members are then compared by value.
    """

    __slots__ = ("known_name", "type", "value")

    def __init__(self, type: T.EnumType, name: str, value: Any) -> None:
        self.type = type
        self.known_name = name
        self.value = value

    @property
    def name(self) -> str:
        """The name. Raises RuntimeError if it is unknown."""
        if not self.known_name:
            raise RuntimeError(
                f"the name of the member {self.value} of {self.type.name} is not known: the "
                "archive holds bytecode that does not tell it; save the model again with "
                "scriptlang"
            )
        return self.known_name

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, EnumValue)
            and self.type == other.type
            and self.known_name == other.known_name
            and (self.known_name != "" or self.value == other.value)
        )

    def __hash__(self) -> int:
        return hash(self.known_name or self.value)

    def __repr__(self) -> str:
        of = self.type.name.rpartition(".")[2]
        return f"{of}.{self.known_name}" if self.known_name else f"{of}({self.value!r})"


class Future(Generic[R]):
    """The result of a call started by `fork`: a value, or the error that it raised.

    call: (function, arguments) of a call that still has to run, for an `_awaitable`; else None.
    """

    __slots__ = ("_value", "call", "error")

    def __init__(
        self,
        value: Any = None,
        error: BaseException | None = None,
        call: tuple[Any, list[Any]] | None = None,
    ) -> None:
        self._value, self.error, self.call = value, error, call

    @classmethod
    def of(cls, function: Callable[..., R], *args: Any, **kwargs: Any) -> Future[R]:
        """The future of a call, which runs now."""
        try:
            return cls(function(*args, **kwargs))
        except Exception as error:
            return cls(error=error)

    def wait(self) -> R:
        """The result. Raises the error that the call raised."""
        if self.error is not None:
            raise self.error
        if self.call is not None:
            function, args = self.call
            self._value, self.call = function(*args), None
        return self._value

    def value(self) -> R:
        """The same as `wait()`."""
        return self.wait()

    def then(self, callback: Callable[[Future[R]], Any]) -> Future[Any]:
        """The future of a call of `callback` with this future."""
        return Future.of(callback, self)

    def done(self) -> bool:
        """Whether `wait` returns at once."""
        return self.call is None

    def settle(self, value: Any) -> None:
        """Set the result of the call."""
        self._value, self.call = value, None

    def __repr__(self) -> str:
        return f"<Future {'failed' if self.error else 'done' if self.done() else 'waiting'}>"


class Await(Future[R]):
    """A Future whose call runs when it is first waited for."""

    __slots__ = ()


def is_same(a: Any, b: Any) -> bool:
    """The `is` of the language: plain values are the same if they are equal and of one type."""
    if type(a) in (bool, int, float, complex, str):
        return type(a) is type(b) and a == b
    return a is b
