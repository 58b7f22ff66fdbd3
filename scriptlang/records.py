"""Data classes that are cheap to define.

    @record(frozen=True)
    class Span:
        source: Source
        begin: int
        end: int = 0

`record` handles the classes of this package like `dataclasses.dataclass`: same fields, defaults,
comparison and repr. The standard one compiles up to six methods per class at import, which was a
fifth of the time of importing scriptlang. Here the methods are shared, and `__init__` is compiled
when the first object is made.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["FIELDS", "MISSING", "Field", "field", "record", "replace"]

MISSING: Any = object()
FIELDS = "__record_fields__"


class Field:
    """A field with a default factory, or one that does not take part in comparisons."""

    __slots__ = ("compare", "default", "default_factory")

    def __init__(
        self,
        default: Any = MISSING,
        default_factory: Callable[[], Any] | None = None,
        compare: bool = True,
    ) -> None:
        self.default, self.default_factory, self.compare = default, default_factory, compare


def _record(
    cls: type | None = None, *, frozen: bool = False, eq: bool = True, repr: bool = True
) -> Any:
    """Add the methods of a data class to a class; methods that it defines itself stay."""
    if cls is None:
        return lambda cls: _record(cls, frozen=frozen, eq=eq, repr=repr)
    own = dict(vars(cls))
    fields: dict[str, Field] = {}
    for base in reversed(cls.__mro__[1:]):
        fields.update(vars(base).get(FIELDS, {}))
    for name, annotation in own.get("__annotations__", {}).items():
        if str(annotation).startswith("ClassVar"):
            continue
        given = own.get(name, MISSING)
        fields[name] = given if isinstance(given, Field) else Field(given)
        if isinstance(given, Field):
            if given.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, given.default)
    methods: dict[str, Any] = {
        FIELDS: fields,
        "__match_args__": tuple(fields),
        "__init__": _first_init(cls, frozen),
    }
    if repr:
        methods["__repr__"] = _repr
    if frozen:
        methods.update(__setattr__=_refuse, __delattr__=_refuse)
    if eq:
        compared = [name for name, f in fields.items() if f.compare]
        methods["__eq__"], hashed = _comparison(compared)
        methods["__hash__"] = hashed if frozen else None
    for name, method in methods.items():
        if name not in own or name == "__hash__" and own[name] is None and "__eq__" not in own:
            setattr(cls, name, method)
    return cls


def _first_init(cls: Any, frozen: bool) -> Callable[..., None]:
    """An `__init__` that compiles the real one and replaces itself by it."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        made = _compile_init(cls, frozen)
        if vars(cls)["__init__"] is __init__:
            cls.__init__ = made
        made(self, *args, **kwargs)

    return __init__


def _compile_init(cls: type, frozen: bool) -> Callable[..., None]:
    known: dict[str, Any] = {"missing": MISSING}
    parameters, body = ["self"], ["values = self.__dict__"] if frozen else []
    for name, f in vars(cls)[FIELDS].items():
        given = name
        if f.default_factory is not None:
            known[f"make_{name}"] = f.default_factory
            parameters.append(f"{name}=missing")
            given = f"make_{name}() if {name} is missing else {name}"
        elif f.default is not MISSING:
            known[f"default_{name}"] = f.default
            parameters.append(f"{name}=default_{name}")
        else:
            parameters.append(name)
        body.append(f"values[{name!r}] = {given}" if frozen else f"self.{name} = {given}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n  " + "\n  ".join(body or ["pass"]), known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _comparison(names: list[str]) -> tuple[Callable[..., bool], Callable[..., int]]:
    """`__eq__` and `__hash__` that use the values of the named fields."""
    key: Callable[[Any], Any] = attrgetter(*names) if names else lambda self: ()

    def __eq__(self: Any, other: Any) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self is other or key(self) == key(other)

    def __hash__(self: Any) -> int:
        return hash((self.__class__, key(self)))

    return __eq__, __hash__


def _repr(self: Any) -> str:
    parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in vars(type(self))[FIELDS])
    return f"{type(self).__qualname__}({parts})"


def _refuse(self: Any, name: str, *value: Any) -> None:
    fields = getattr(type(self), FIELDS)
    if name in fields or vars(type(self)).get(FIELDS) is fields:
        owner = type(self).__name__
        raise AttributeError(f"{owner}.{name} cannot change: {owner} is frozen; make another one")
    (object.__setattr__ if value else object.__delattr__)(self, name, *value)


def replace(obj: Any, **changes: Any) -> Any:
    """A copy of a record with some fields changed."""
    for name in getattr(type(obj), FIELDS):
        changes.setdefault(name, getattr(obj, name))
    return type(obj)(**changes)


if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import field
else:
    record, field = _record, Field
