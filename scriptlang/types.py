"""The types of the language, with subtyping and unification.

Every type has two texts: `str(t)` is that of the IR (`Tensor[]`, `int?`, `(int, str)`), and
`t.annotation` is the Python spelling of archives (`List[Tensor]`, `Optional[int]`, `Tuple[int,
str]`). Structural types compare by structure; classes, interfaces and enums by identity
(`type_base.py`). `type_text.py` parses types.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any as PyAny

from .records import field, record
from .type_base import Structural, Type


@record(frozen=True, eq=False)
class AtomType(Structural):
    """A type without parts: Tensor, int, ...; `text` is its annotation, `ir` its text in the IR."""

    text: str
    ir: str = ""

    def _key(self) -> tuple[PyAny, ...]:
        return AtomType, self.text, self.ir

    @property
    def annotation(self) -> str:
        return self.text

    def __str__(self) -> str:
        return self.ir or self.text

    def __repr__(self) -> str:
        return f"<{self.text}>"


TENSOR = AtomType("Tensor")
INT = AtomType("int")
FLOAT = AtomType("float")
COMPLEX = AtomType("complex")
BOOL = AtomType("bool")
STR = AtomType("str")
NONE = AtomType("NoneType")
NUMBER = AtomType("number", "Scalar")
ANY = AtomType("Any")
DEVICE = AtomType("Device")
GENERATOR = AtomType("Generator")
STORAGE = AtomType("Storage")
STREAM = AtomType("Stream")
QUANTIZER = AtomType("Quantizer")
CAPSULE = AtomType("Capsule")
ANY_LIST = AtomType("list")
ANY_TUPLE = AtomType("tuple")
ANY_CLASS = AtomType("AnyClassType")
ANY_ENUM = AtomType("AnyEnumType")

NUMBERS = (INT, FLOAT, COMPLEX)

ATOMS: dict[str, Type] = {
    t.text: t
    for t in (
        TENSOR,
        INT,
        FLOAT,
        COMPLEX,
        BOOL,
        STR,
        NONE,
        NUMBER,
        ANY,
        DEVICE,
        GENERATOR,
        STORAGE,
        STREAM,
        QUANTIZER,
        CAPSULE,
        ANY_LIST,
        ANY_TUPLE,
        ANY_CLASS,
        ANY_ENUM,
    )
}
"""The atomic types by annotation."""


@record(frozen=True, eq=False)
class VarType(Structural):
    """A type variable of a schema (`t` in `aten::append.t(t[](a!) self, t el)`)."""

    name: str

    def _key(self) -> tuple[PyAny, ...]:
        return VarType, self.name

    @property
    def annotation(self) -> str:
        return self.name


@record(frozen=True, eq=False)
class ListType(Structural):
    element: Type

    @property
    def contained(self) -> tuple[Type, ...]:
        return (self.element,)

    @property
    def annotation(self) -> str:
        return f"List[{self.element.annotation}]"

    def __str__(self) -> str:
        return f"{self.element}[]"

    def map(self, f: Callable[[Type], Type]) -> Type:
        return ListType(f(self.element))


@record(frozen=True, eq=False)
class OptionalType(Structural):
    """T or None. Use `optional(t)` to create it, which flattens."""

    element: Type

    @property
    def contained(self) -> tuple[Type, ...]:
        return (self.element,)

    @property
    def annotation(self) -> str:
        return f"Optional[{self.element.annotation}]"

    def __str__(self) -> str:
        return f"{self.element}?"

    def map(self, f: Callable[[Type], Type]) -> Type:
        return optional(f(self.element))


@record(frozen=True, eq=False)
class DictType(Structural):
    key: Type
    value: Type

    @property
    def contained(self) -> tuple[Type, ...]:
        return (self.key, self.value)

    @property
    def annotation(self) -> str:
        return f"Dict[{self.key.annotation}, {self.value.annotation}]"

    def __str__(self) -> str:
        return f"Dict({self.key}, {self.value})"

    def map(self, f: Callable[[Type], Type]) -> Type:
        return DictType(f(self.key), f(self.value))


@record(frozen=True, eq=False)
class FutureType(Structural):
    element: Type

    @property
    def contained(self) -> tuple[Type, ...]:
        return (self.element,)

    @property
    def annotation(self) -> str:
        return f"Future[{self.element.annotation}]"

    def __str__(self) -> str:
        return f"Future[{self.element}]"

    def map(self, f: Callable[[Type], Type]) -> Type:
        return FutureType(f(self.element))


@record(frozen=True, eq=False)
class RRefLikeType(Structural):
    """Await[T] and RRef[T]: wrappers that only have to be named, not run."""

    wrapper: str
    element: Type

    def _key(self) -> tuple[PyAny, ...]:
        return RRefLikeType, self.wrapper, self.element.mark

    @property
    def contained(self) -> tuple[Type, ...]:
        return (self.element,)

    @property
    def annotation(self) -> str:
        return f"{self.wrapper}[{self.element.annotation}]"

    def map(self, f: Callable[[Type], Type]) -> Type:
        return RRefLikeType(self.wrapper, f(self.element))


def _named_tuple_class(name: str, fields: tuple[str, ...]) -> PyAny:
    return namedtuple(name, fields, rename=True)


@record(frozen=True, eq=False)
class TupleType(Structural):
    """A tuple, or with `name` (a qualified name) and `fields` a NamedTuple."""

    elements: tuple[Type, ...]
    name: str | None = None
    fields: tuple[str, ...] | None = None
    defaults: tuple[PyAny, ...] = field(default=(), compare=False)

    def _key(self) -> tuple[PyAny, ...]:
        return (TupleType, self.name, self.fields, *[t.mark for t in self.elements])

    @property
    def contained(self) -> tuple[Type, ...]:
        return self.elements

    @property
    def annotation(self) -> str:
        if self.name:
            return self.name
        return f"Tuple[{', '.join(t.annotation for t in self.elements) or '()'}]"

    def __str__(self) -> str:
        if self.name:
            parts = ", ".join(f"{n} : {t}" for t, n in zip(self.elements, self.fields or ()))
            return f"NamedTuple({parts})"
        return f"({', '.join(map(str, self.elements))})"

    def map(self, f: Callable[[Type], Type]) -> Type:
        return TupleType(tuple(map(f, self.elements)), self.name, self.fields, self.defaults)

    @cached_property
    def python_class(self) -> type[tuple[PyAny, ...]] | None:
        """The class of run-time values of a NamedTuple; None for plain tuples."""
        if self.name is None:
            return None
        name = self.name.rpartition(".")[2]
        cls = _named_tuple_class(name, self.fields or ())
        cls.__script_type__ = self
        return cls

    def make(self, values: Iterable[PyAny]) -> tuple[PyAny, ...]:
        """The run-time tuple of this type with these values."""
        cls: PyAny = self.python_class
        made: tuple[PyAny, ...] = tuple(values) if cls is None else cls(*values)
        return made


@record(frozen=True, eq=False)
class UnionType(Structural):
    """One of several types.
    Use `union(...)` to create it. The order does not count in comparisons."""

    options: tuple[Type, ...]

    @property
    def contained(self) -> tuple[Type, ...]:
        return self.options

    @property
    def annotation(self) -> str:
        return f"Union[{', '.join(t.annotation for t in self.options)}]"

    def __str__(self) -> str:
        return f"Union({', '.join(map(str, self.options))})"

    def _key(self) -> tuple[PyAny, ...]:
        return UnionType, frozenset(t.mark for t in self.options)

    def map(self, f: Callable[[Type], Type]) -> Type:
        return union(*map(f, self.options))


@record(frozen=True, eq=False)
class FunctionType(Type):
    """The type of a function used as a value; `function` is an ir.Function."""

    function: PyAny

    @property
    def annotation(self) -> str:
        return str(self.function.name)


@record(eq=False)
class Attribute:
    """A slot of a class: its name and type; kind is "attribute", "parameter" or "buffer"."""

    name: str
    type: Type
    kind: str = "attribute"


@record(eq=False)
class ClassType(Type):
    """A script class or a module class. It is nominal: two classes are equal if identical.

    attributes: the slots, in order. constants: name -> Python value (class-level Final values).
    methods: name -> ir.Function (may be compiled on first use).
    properties: name -> (getter, setter or None), as method names.
    static_methods: name -> ir.Function without self.
    hooks, pre_hooks: names of methods that run after and before forward.
    origin: what it was compiled from (a Python module), with what slots and methods do not contain.
    python_class: the Python class that a script class was compiled from, or None.
    """

    name: str
    is_module: bool = False
    attributes: list[Attribute] = field(default_factory=list)
    constants: dict[str, PyAny] = field(default_factory=dict)
    methods: dict[str, PyAny] = field(default_factory=dict)
    static_methods: dict[str, PyAny] = field(default_factory=dict)
    properties: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    hooks: list[str] = field(default_factory=list)
    pre_hooks: list[str] = field(default_factory=list)
    doc: str | None = None
    origin: PyAny = None
    python_class: type | None = None

    def __post_init__(self) -> None:
        self._slots = {a.name: i for i, a in enumerate(self.attributes)}

    @property
    def annotation(self) -> str:
        return self.name

    @property
    def short_name(self) -> str:
        return self.name.rpartition(".")[2]

    def __repr__(self) -> str:
        return f"<class {self.name}>"

    def add_attribute(self, name: str, type: Type, kind: str = "attribute") -> int:
        """Append a slot; returns its index. Raises ValueError if the name is taken."""
        if name in self._slots:
            raise ValueError(f"{self.name} already has an attribute {name!r}")
        self._slots[name] = len(self.attributes)
        self.attributes.append(Attribute(name, type, kind))
        return self._slots[name]

    @property
    def slots_by_name(self) -> Mapping[str, int]:
        """The indices of the slots by the names of the attributes."""
        return self._slots

    def slot(self, name: str) -> int | None:
        """The index of an attribute's slot; None if there is no such attribute."""
        return self._slots.get(name)

    def attribute(self, name: str) -> Attribute | None:
        i = self._slots.get(name)
        return None if i is None else self.attributes[i]

    def submodules(self) -> list[str]:
        """The names of the attributes that are modules."""
        return [
            a.name
            for a in self.attributes
            if isinstance(a.type, (ClassType, InterfaceType)) and a.type.is_module
        ]

    def is_object(self, name: str) -> bool:
        """Whether an attribute is declared with a class as its type."""
        return isinstance(self.attributes[self._slots[name]].type, ClassType)


CUSTOM_CLASSES = "__torch__.torch.classes."
"""The prefix of the names of classes in C++ libraries."""

_custom_classes: dict[str, ClassType] = {}


def custom_class(name: str) -> ClassType:
    """The type for a class in a C++ library, of which only the name is known."""
    return _custom_classes.setdefault(name, ClassType(name))


@record(eq=False)
class InterfaceType(Type):
    """A set of method signatures; methods: name -> Schema (self first)."""

    name: str
    methods: dict[str, PyAny] = field(default_factory=dict)
    is_module: bool = False

    @property
    def annotation(self) -> str:
        return self.name


@record(eq=False)
class EnumType(Type):
    """An enumeration. name: qualified. value: type of the values. members: name -> value.

    python_class: the enum.Enum that it was made from, or None. is_unnamed: whether it is only known
    from bytecode, which does not contain the members.
    """

    name: str
    value: Type
    members: dict[str, PyAny] = field(default_factory=dict)
    python_class: type | None = None
    is_unnamed: bool = False

    @property
    def annotation(self) -> str:
        return self.name

    def __str__(self) -> str:
        return f"Enum<{self.name}>"


def optional(t: Type) -> Type:
    """Optional[t], flattened: an Optional type or None is returned unchanged.

    Optional[Any] is a type of its own, as in PyTorch: a program may only check it, not Any, for
    None.
    """
    if isinstance(t, OptionalType) or t == NONE:
        return t
    if isinstance(t, UnionType):
        return t if NONE in t.options else UnionType((*t.options, NONE))
    return OptionalType(t)


def union(*options: Type) -> Type:
    """The union of types, flattened, without subtypes of others; {T, None} is Optional[T]."""
    flat: list[Type] = []
    for t in options:
        parts = (
            t.options
            if isinstance(t, UnionType)
            else (t.element, NONE)
            if isinstance(t, OptionalType)
            else (t,)
        )
        flat += [p for p in parts if p not in flat]
    if ANY in flat:
        return optional(ANY) if NONE in flat else ANY
    kept = [t for t in flat if not any(u is not t and u != t and is_subtype(t, u) for u in flat)]
    if len(kept) == 1:
        return kept[0]
    if len(kept) == 2 and NONE in kept:
        return optional(kept[0] if kept[1] == NONE else kept[1])
    return UnionType(tuple(kept))


def is_subtype(a: Type, b: Type) -> bool:
    """Whether every value of type `a` can be used as a `b` without conversion."""
    if a is b or a == b or b == ANY:
        return True
    if isinstance(b, OptionalType):
        if isinstance(a, OptionalType):
            return is_subtype(a.element, b.element)
        if isinstance(a, UnionType):
            return all(is_subtype(t, b) for t in a.options)
        return a == NONE or is_subtype(a, b.element)
    if isinstance(b, UnionType):
        parts = (
            a.options
            if isinstance(a, UnionType)
            else (a.element, NONE)
            if isinstance(a, OptionalType)
            else (a,)
        )
        return all(any(is_subtype(p, t) for t in b.options) for p in parts)
    if isinstance(a, UnionType):
        return all(is_subtype(t, b) for t in a.options)
    if isinstance(a, TupleType):
        if b == ANY_TUPLE:
            return True
        return (
            isinstance(b, TupleType)
            and len(a.elements) == len(b.elements)
            and (b.name is None or (b.name == a.name and b.fields == a.fields))
            and all(map(is_subtype, a.elements, b.elements))
        )
    if isinstance(a, ListType) and b == ANY_LIST:
        return True
    if b == NUMBER:
        return a in NUMBERS
    if isinstance(a, FutureType) and isinstance(b, FutureType):
        return is_subtype(a.element, b.element)
    if b == ANY_CLASS:
        return isinstance(a, ClassType)
    if b == ANY_ENUM:
        return isinstance(a, EnumType)
    if isinstance(b, InterfaceType):
        return implements(a, b)
    return False


def implements(a: Type, interface: InterfaceType) -> bool:
    """Whether a class or interface has all methods of `interface` with compatible signatures."""
    return why_not_implements(a, interface) is None


def why_not_implements(a: Type, interface: InterfaceType) -> str | None:
    """What a type lacks of an interface; None if it implements it."""
    if not isinstance(a, (ClassType, InterfaceType)) or a.is_module != interface.is_module:
        return (
            f"Object of type {a.annotation} is not compatible with interface {interface.annotation}"
        )
    what = "Class" if isinstance(a, ClassType) else "Interface"
    for name, want in interface.methods.items():
        have: PyAny = a.methods.get(name)
        if hasattr(have, "ensure_defined") and have.schema is None:
            have.ensure_defined()
        have = getattr(have, "schema", have)
        if have is None:
            return f"{what} {a.annotation} does not have method {name!r}"
        fits = (
            len(have.arguments) == len(want.arguments)
            and len(have.returns) == len(want.returns)
            and all(
                got.name == asked.name and is_subtype(asked.type, got.type)
                for got, asked in zip(have.arguments[1:], want.arguments[1:])
            )
            and all(is_subtype(g.type, w.type) for g, w in zip(have.returns, want.returns))
        )
        if not fits:
            return (
                f"Method {name!r} of {a.annotation} is not compatible with interface "
                f"{interface.annotation}"
            )
    return None


def unify(a: Type, b: Type) -> Type | None:
    """The type of a name that is `a` on one path and `b` on another; None if there is none."""
    if is_subtype(a, b):
        return b
    if is_subtype(b, a):
        return a
    if NONE in (a, b):
        return optional(b if a == NONE else a)
    if isinstance(a, OptionalType) or isinstance(b, OptionalType):
        inner = unify(*(t.element if isinstance(t, OptionalType) else t for t in (a, b)))
        return None if inner is None else optional(inner)
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.elements) == len(b.elements):
        parts = [t for x, y in zip(a.elements, b.elements) if (t := unify(x, y)) is not None]
        return TupleType(tuple(parts)) if len(parts) == len(a.elements) else None
    if isinstance(a, UnionType) or isinstance(b, UnionType):
        return union(a, b)
    return None


def without_none(t: Type) -> Type:
    """The type `t` after None has been ruled out."""
    if isinstance(t, OptionalType):
        return t.element
    if isinstance(t, UnionType):
        return union(*(p for p in t.options if p != NONE))
    return t


def may_be_none(t: Type) -> bool:
    """Whether a value of the type may be None."""
    return (
        t in (NONE, ANY)
        or isinstance(t, OptionalType)
        or (isinstance(t, UnionType) and NONE in t.options)
    )


def constant_type(value: PyAny) -> Type:
    """The type of a Python value that may be a constant. Raises TypeError for other values."""
    if value is None:
        return NONE
    for cls, t in ((bool, BOOL), (int, INT), (float, FLOAT), (complex, COMPLEX), (str, STR)):
        if isinstance(value, cls):
            return t
    script_type = getattr(value, "__script_type__", None)
    if isinstance(script_type, Type):
        return script_type
    if isinstance(value, tuple):
        return TupleType(tuple(map(constant_type, value)))
    if isinstance(value, list) and value:
        return ListType(constant_type(value[0]))
    raise TypeError(f"a {type(value).__name__} cannot be a constant without a type")
