"""Sugared values: what a Python expression may mean while it is being compiled.

Some expressions are values of the graph (`SimpleValue`).  Others exist only at compile time: a
namespace (`torch`), an operator (`torch.add`), a method bound to its object, a class, a type.  The
class of a sugared value defines what its attributes, calls and subscripts mean, and emits their
nodes.

    torch.add(x, y)      Namespace("torch") .attr("add") -> BuiltinOperator("aten::add") .call(...)
    self.conv.forward(x) SimpleValue(%self).attr("conv") -> SimpleValue .attr("forward") ->
    MethodValue
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Function, Value
from scriptlang.objects import ScriptObject
from scriptlang.records import record
from scriptlang.source import Span
from scriptlang.types import constant_type

from ..whole import whole

if TYPE_CHECKING:
    import ast

    from .builder import Builder
    from .simple import SimpleValue


class Resolver(Protocol):
    """Looks up the names of a program that are not its own variables.

    `value` returns the meaning of a free name, or None; then Python's builtins are tried.  `type`
    returns the type that an annotation names; it raises CompileError if it names none.
    """

    def value(self, name: str, span: Span) -> SugaredValue | None: ...
    def type(self, expr: ast.expr, span: Span) -> T.Type: ...


@record(frozen=True)
class Arg:
    """An argument of a call, with the span of its expression."""

    value: SugaredValue
    span: Span


ITERABLE_HELP = "only lists, tuples, dicts, str, tensors, ranges and module lists can"


class SugaredValue:
    """Base class.  By default every use raises CompileError with the `kind` of the value."""

    kind = "value"

    def fail(self, what: str, span: Span, help: str | None = None) -> NoReturn:
        raise CompileError(
            f"{self.kind} {what}", span, help or "check what it is and what it can do"
        )

    def declare(self, type: T.Type) -> None:
        """Set the type of the result of an operator without schema to what the program declares."""

    def value(self, b: Builder, span: Span) -> Value:
        """This as a value of the graph; may emit nodes."""
        self.fail("cannot be used as a value", span, "call it, and use what it gives")

    def type(self, b: Builder, span: Span) -> T.Type:
        """The type of `value`.  Subclasses avoid emitting nodes where they can."""
        return self.value(b, span).type

    def attr(self, b: Builder, name: str, span: Span) -> SugaredValue:
        """The meaning of `value.name`."""
        self.fail(f"has no attribute {name!r}", span, "check the name, and what it is asked of")

    def has_attr(self, b: Builder, name: str, span: Span) -> bool:
        """Whether `attr` would find the attribute.  Leaves no nodes in the graph."""
        return False

    def set_attr(self, b: Builder, name: str, value: Value, span: Span) -> None:
        """Emit `value.name = ...`."""
        self.fail(
            "does not allow its attributes to be set",
            span,
            "only attributes of objects and modules can be set",
        )

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        """Emit `value(*args, **kwargs)`; returns its result."""
        self.fail(
            "cannot be called", span, "only functions, methods, classes and modules can be called"
        )

    def unpack(self, b: Builder, span: Span, count: int | None = None) -> list[SugaredValue] | None:
        """The elements if their number is known at compile time; else None.

        `count` is the number of elements that a list has to have.
        """
        return None

    def get_item(self, b: Builder, index: Arg, span: Span) -> SugaredValue | None:
        """`value[index]`.  None means that the operators for simple values apply."""
        self.fail("cannot be indexed", span, "only tensors and containers can be indexed")

    def iterate(self, b: Builder, span: Span) -> SugaredValue:
        """What a `for` loop iterates over: a value with `length` and `element`, or `unpack`."""
        self.fail("cannot be iterated over", span, ITERABLE_HELP)

    def length(self, b: Builder, span: Span) -> Value | None:
        """The number of iterations of a loop over this; None if it does not end."""
        self.fail("has no length", span, "only containers, str and tensors have one")

    def element(self, b: Builder, index: Value, span: Span) -> SugaredValue:
        """The element in iteration `index` (from 0) of a loop over this."""
        self.fail("cannot be iterated over", span, ITERABLE_HELP)


class ConstantValue(SugaredValue):
    """A Python value that is known at compile time.  Each use makes a constant node."""

    def __init__(self, constant: Any, type: T.Type | None = None) -> None:
        self.constant = constant
        self.constant_type = type or constant_type(constant)

    @property
    def kind(self) -> str:  # type: ignore[override]  # it tells more
        return f"constant {self.constant!r}"

    def value(self, b: Builder, span: Span) -> Value:
        return b.constant(self.constant, span, self.constant_type)

    def type(self, b: Builder, span: Span) -> T.Type:
        return self.constant_type

    def simple(self, b: Builder, span: Span) -> SugaredValue:
        return b.simple(self.value(b, span))

    def attr(self, b: Builder, name: str, span: Span) -> SugaredValue:
        return self.simple(b, span).attr(b, name, span)

    def has_attr(self, b: Builder, name: str, span: Span) -> bool:
        return False

    def set_attr(self, b: Builder, name: str, value: Value, span: Span) -> None:
        if not isinstance(self.constant, ScriptObject):
            super().set_attr(b, name, value, span)
        else:  # code that PyTorch froze has objects in its table of constants
            self.simple(b, span).set_attr(b, name, value, span)

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        return self.simple(b, span).call(b, args, kwargs, span)

    def unpack(self, b: Builder, span: Span, count: int | None = None) -> list[SugaredValue] | None:
        if isinstance(self.constant, tuple) and isinstance(self.constant_type, T.TupleType):
            return [ConstantValue(v, t) for v, t in zip(self.constant, self.constant_type.elements)]
        return self.simple(b, span).unpack(b, span, count)

    def get_item(self, b: Builder, index: Arg, span: Span) -> SugaredValue | None:
        return None

    def iterate(self, b: Builder, span: Span) -> SugaredValue:
        return self.simple(b, span).iterate(b, span)


class Namespace(SugaredValue):
    """A module such as `torch`: its name, and a function that looks up its attributes."""

    def __init__(self, name: str, find: Callable[[str], SugaredValue | None]) -> None:
        self.name, self.find = name, find
        self.kind = f"module '{name}'"

    def attr(self, b: Builder, name: str, span: Span) -> SugaredValue:
        found = self.find(name)
        if found is None:
            near = b.similar(f"{self.name}.{name}")
            self.fail(f"has no attribute {name!r}", span, near)
        return found

    def has_attr(self, b: Builder, name: str, span: Span) -> bool:
        return self.find(name) is not None


class BuiltinOperator(SugaredValue):
    """An operator by its qualified name (`aten::add`); `self_arg` is given if it is a method."""

    def __init__(self, name: str, self_arg: Arg | None = None) -> None:
        self.name, self.self_arg = name, self_arg
        self.kind = f"operator '{name}'"

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        return b.call_operator(self.name, args, kwargs, span, self.self_arg)


class SpecialForm(SugaredValue):
    """A callable that needs the syntax of its arguments: `annotate`, `isinstance`, `list`, ...

    `emit(emitter, call, expected)` takes the `ast.Call` and returns a SugaredValue.
    """

    def __init__(self, name: str, emit: Callable[..., SugaredValue]) -> None:
        self.name, self.emit = name, emit
        self.kind = f"'{name}'"

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        self.fail("can only be called directly", span)


class BuiltinFunction(SugaredValue):
    """A callable of the language that takes evaluated arguments: `emit(b, args, kwargs, span)`."""

    def __init__(self, name: str, emit: Callable[..., SugaredValue]) -> None:
        self.name, self.emit = name, emit
        self.kind = f"function '{name}'"

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        return self.emit(b, args, kwargs, span)


class FunctionValue(SugaredValue):
    """A compiled function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.kind = f"function '{function.name}'"

    def value(self, b: Builder, span: Span) -> Value:
        self.fail(
            "cannot be used as a value",
            span,
            "call it; a function can only be given a name, called, or passed to fork",
        )

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        return b.call_function(self.function, args, kwargs, span)


class MethodValue(SugaredValue):
    """A method bound to an instance of a class or interface."""

    def __init__(self, owner: Value, name: str) -> None:
        self.owner, self.name = owner, name
        self.kind = f"method '{owner.type}.{name}'"

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        return b.call_method(self.owner, self.name, args, kwargs, span)


def class_method(type: T.ClassType, name: str) -> Function | None:
    """The class method of this name, compiled when it is first used; None if there is none."""
    return None if type.python_class is None else whole.class_method(type, name)


def refuse_class_attribute(type: T.ClassType, name: str, span: Span) -> None:
    """Raises CompileError if `name` is an attribute of the Python class itself.

    Class attributes are not part of the language.
    """
    if type.python_class is not None and name in vars(type.python_class):
        raise CompileError(
            f"{name!r} is an attribute of the class {type.name} itself, which is "
            f"not part of the language",
            span,
            f"set self.{name} in __init__",
        )


class ClassValue(SugaredValue):
    """A script class.  Calling it makes an instance and calls `__init__`."""

    def __init__(self, type: T.ClassType) -> None:
        self.class_type = type
        self.kind = f"class '{type.name}'"

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        instance = b.insert("prim::CreateObject", (), (self.class_type,), span).output
        if "__init__" in self.class_type.methods:
            b.call_method(instance, "__init__", args, kwargs, span)
        elif self.class_type.python_class is not None:
            self.fail("has no __init__", span, "give it one: it says what attributes there are")
        elif args or kwargs:
            self.fail("takes no arguments", span, "give it an __init__ that takes them")
        return b.simple(instance)

    def attr(self, b: Builder, name: str, span: Span) -> SugaredValue:
        if name == "__new__":
            return BuiltinFunction("__new__", self._new)
        if name in self.class_type.static_methods:
            return FunctionValue(self.class_type.static_methods[name])
        if name in self.class_type.constants:
            return ConstantValue(self.class_type.constants[name])
        if name in self.class_type.methods:
            return FunctionValue(self.class_type.methods[name])
        made = class_method(self.class_type, name)
        if made is not None:
            return FunctionValue(made)
        inner = vars(self.class_type.python_class or object).get(name)
        if isinstance(inner, type):
            return whole.meaning_of(inner, span)
        refuse_class_attribute(self.class_type, name, span)
        self.fail(
            f"has no static method or constant {name!r}",
            span,
            "attributes belong to its instances: make one first",
        )

    def has_attr(self, b: Builder, name: str, span: Span) -> bool:
        t = self.class_type
        return name in t.static_methods or name in t.constants or name in t.methods

    def _new(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SimpleValue:
        given = [a.value for a in args]
        if kwargs or len(given) != 1 or getattr(given[0], "class_type", None) != self.class_type:
            name = self.class_type.short_name
            self.fail("takes itself in __new__", span, f"write {name}.__new__({name})")
        return b.simple(b.insert("prim::CreateObject", (), (self.class_type,), span).output)


class NamedTupleValue(SugaredValue):
    """A NamedTuple class.  Calling it makes a tuple."""

    def __init__(self, type: T.TupleType) -> None:
        self.tuple_type = type
        self.kind = f"named tuple '{type.name}'"

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        return b.make_named_tuple(self.tuple_type, args, kwargs, span)

    def attr(self, b: Builder, name: str, span: Span) -> SugaredValue:
        if name in ("_fields",):
            return ConstantValue(self.tuple_type.fields)
        return super().attr(b, name, span)


class EnumClassValue(SugaredValue):
    """An Enum class.  Its attributes are the `members`, which are constants."""

    def __init__(self, type: T.EnumType, members: Mapping[str, Any]) -> None:
        self.enum_type, self.members = type, members
        self.kind = f"enum '{type.name}'"

    def attr(self, b: Builder, name: str, span: Span) -> SugaredValue:
        if name not in self.members:
            self.fail(
                f"has no attribute {name!r}", span, f"its members are {', '.join(self.members)}"
            )
        return ConstantValue(self.members[name], self.enum_type)

    def has_attr(self, b: Builder, name: str, span: Span) -> bool:
        return name in self.members

    def iterate(self, b: Builder, span: Span) -> SugaredValue:
        return StaticSequence([ConstantValue(m, self.enum_type) for m in self.members.values()])


class ExceptionValue(SugaredValue):
    """An exception class; if `message` is set, an exception, which a call of the class makes."""

    def __init__(self, qualified_name: str, message: Value | None = None) -> None:
        self.qualified_name, self.message = qualified_name, message
        self.kind = f"exception '{qualified_name}'"

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        home, _, name = self.qualified_name.rpartition(".")
        refused = kwargs.keys() - EXCEPTION_KEYWORDS.get(name, set()) if home == "builtins" else ()
        for keyword in refused:
            self.fail(
                f"takes no argument {keyword!r}", kwargs[keyword].span, "put all into the message"
            )
        # As in Python, keywords are no part of the message.
        return ExceptionValue(self.qualified_name, b.exception_message(args, span))


EXCEPTION_KEYWORDS = {
    "ImportError": {"name", "path"},
    "ModuleNotFoundError": {"name", "path"},
    "NameError": {"name"},
    "UnboundLocalError": {"name"},
    "AttributeError": {"name", "obj"},
}
"""Exception of Python -> the arguments that it takes by keyword; others take none."""


class TypeValue(SugaredValue):
    """A type used as an expression: `Tensor`, `List[int]`."""

    def __init__(self, named: T.Type) -> None:
        self.named = named
        self.kind = f"type '{named.annotation}'"

    def get_item(self, b: Builder, index: Arg, span: Span) -> SugaredValue | None:
        self.fail("cannot be indexed", span)


class StaticSequence(SugaredValue):
    """A sequence whose elements are all known at compile time: modules of a list, enum members."""

    kind = "static sequence"

    def __init__(self, elements: Sequence[SugaredValue]) -> None:
        self.elements = list(elements)

    def value(self, b: Builder, span: Span) -> Value:
        return b.tuple([e.value(b, span) for e in self.elements], span)

    def unpack(self, b: Builder, span: Span, count: int | None = None) -> list[SugaredValue] | None:
        return self.elements

    def iterate(self, b: Builder, span: Span) -> SugaredValue:
        return self

    def get_item(self, b: Builder, index: Arg, span: Span) -> SugaredValue | None:
        value = index.value.value(b, index.span)
        if not value.is_constant or not isinstance(value.constant, int):
            self.fail(
                "needs an index that is known at compile time",
                index.span,
                "write a literal, or loop over it",
            )
        if not -len(self.elements) <= value.constant < len(self.elements):
            self.fail(
                f"has only {len(self.elements)} elements",
                index.span,
                f"its indices go from 0 to {len(self.elements) - 1}",
            )
        return self.elements[value.constant]

    def length(self, b: Builder, span: Span) -> Value | None:
        return b.constant(len(self.elements), span)


MISSING = object()
