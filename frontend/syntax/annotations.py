"""Translates annotations to types, from their syntax or from Python objects.

It reads every spelling: PEP 484 (`typing.List[int]`), PEP 585 (`list[int]`), PEP 604
(`int | None`), PEP 563 (strings), type comments, `torch.Tensor`, `Tensor`, and classes that the
program defines.
"""

from __future__ import annotations

import ast
import collections
import dataclasses
import re
import sys
import types as python_types
import typing
from collections.abc import Callable
from typing import Any, NoReturn

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.source import Span

from ..whole import whole

TYPE_HELP = "write a type, as int, Tensor, List[int] or Optional[str]"

CONSTRUCTORS: dict[str, Callable[..., T.Type]] = {
    "List": T.ListType,
    "list": T.ListType,
    "Dict": T.DictType,
    "dict": T.DictType,
    "OrderedDict": T.DictType,
    "Optional": T.optional,
    "Union": T.union,
    "Tuple": lambda *t: T.TupleType(t),
    "tuple": lambda *t: T.TupleType(t),
    "Future": T.FutureType,
    "Final": lambda t: t,
    "Await": lambda t: T.RRefLikeType("Await", t),
    "_Await": lambda t: T.RRefLikeType("Await", t),
    "RRef": lambda t: T.RRefLikeType("RRef", t),
    "Annotated": lambda t, *_: t,
    "InitVar": lambda t: t,
    **{f"BroadcastingList{n}": T.ListType for n in range(1, 7)},
}
"""Name of a generic type -> function from its type arguments to the type."""

TENSOR_CLASSES: dict[str, T.Type] = {
    f"{name}Tensor": T.TENSOR
    for name in "Float Double Half BFloat16 Byte Char Short Int Long Bool".split()
}
"""The old classes of tensors, one for each dtype."""

NAMES: dict[str, T.Type] = {
    **T.ATOMS,
    "None": T.NONE,
    "Device": T.DEVICE,
    "device": T.DEVICE,
    "dtype": T.INT,
    "Number": T.NUMBER,
    "number": T.NUMBER,
    "Scalar": T.NUMBER,
    "layout": T.INT,
    "memory_format": T.INT,
    "qscheme": T.INT,
    "Size": T.ListType(T.INT),
    **TENSOR_CLASSES,
    "Parameter": T.TENSOR,
    "NoneType": T.NONE,
    "Stream": T.STREAM,
    "Generator": T.GENERATOR,
}
"""Name of a type without type arguments -> the type.  A prefix such as `torch.` is left out."""

INCOMPLETE: dict[str, str] = {
    "List": "List[Tensor]",
    "list": "list[int]",
    "Dict": "Dict[str, Tensor]",
    "dict": "dict[str, int]",
    "Tuple": "Tuple[int, str]",
    "tuple": "tuple[int, str]",
    "Optional": "Optional[Tensor]",
    "Union": "Union[int, str]",
    "Future": "Future[Tensor]",
}
"""Name of a generic type that needs type arguments -> an example for the error message."""


KEYS = (T.STR, T.INT, T.FLOAT, T.COMPLEX, T.BOOL, T.TENSOR, T.DEVICE, T.ANY)
"""Types that the keys of a dict may have.  Enums may be keys, too."""

NO_KEY = (
    "Cannot create dict for key type {!r}, only int, float, complex, Tensor, device and string "
    "keys are supported"
)
KEY_HELP = "keys are str, int, float, bool, complex, Tensor, device or enums"


def may_be_key(t: T.Type) -> bool:
    """Whether the keys of a dict may have this type."""
    return t in KEYS or isinstance(t, (T.EnumType, T.VarType))


def type_of_syntax(
    expr: ast.expr,
    span: Callable[[ast.AST], Span],
    named: Callable[[str, ast.expr], T.Type | None],
    generic: Callable[[str], str] = lambda name: name,
) -> T.Type:
    """The type that the syntax of an annotation names.

    `named(dotted name, node)` returns a type that the program defines, or None; it takes precedence
    over the built-in names.  `generic(name)` returns the canonical name of a generic type that was
    imported under an alias.  Raises CompileError if the annotation is not a type.
    """
    return _Reader(span, named, generic).type(expr)


class _Reader:
    """The work of `type_of_syntax`."""

    def __init__(
        self, span: Callable[[Any], Span], named: Callable[..., Any], generic: Callable[..., Any]
    ) -> None:
        self.span, self.named, self.generic_name = span, named, generic

    def fail(self, node: ast.AST, message: str, help: str | None = None) -> NoReturn:
        raise CompileError(message, self.span(node), help)

    def type(self, node: ast.expr) -> T.Type:
        if isinstance(node, ast.Constant):
            return self.constant(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return T.union(self.type(node.left), self.type(node.right))
        if isinstance(node, ast.Subscript):
            return self.generic(node)
        name = dotted(node)
        if name is None:
            self.fail(node, f"{ast.unparse(node)!r} is not a type", TYPE_HELP)
        return self.name(node, name)

    def constant(self, node: ast.Constant) -> T.Type:
        if node.value is None:
            return T.NONE
        if isinstance(node.value, str):
            try:
                inner = ast.parse(node.value.strip(), mode="eval").body
            except SyntaxError:
                self.fail(node, f"{node.value!r} is not a type", TYPE_HELP)
            return _Reader(lambda _: self.span(node), self.named, self.generic_name).type(inner)
        self.fail(node, f"{node.value!r} is not a type", TYPE_HELP)

    def name(self, node: ast.expr, name: str) -> T.Type:
        found = self.named(name, node)
        if found is not None:
            return found
        head, _, last = name.rpartition(".")
        if last in NAMES and not head.startswith("__torch__"):
            return NAMES[last]
        if last in INCOMPLETE:
            self.fail(
                node,
                f"Attempted to use {last} without {'' if last == 'Dict' else 'a '}contained "
                f"type{'s' if last == 'Dict' else ''}",
                f"write {INCOMPLETE[last]}",
            )
        self.fail(
            node,
            f"Unknown type name {name!r}",
            "annotate with a type of the language, a class "
            "compiled by @script, a NamedTuple or an Enum",
        )

    def generic(self, node: ast.Subscript) -> T.Type:
        name = dotted(node.value)
        last = self.generic_name((name or "").rpartition(".")[2])
        make = CONSTRUCTORS.get(last)
        if make is None:
            self.fail(
                node.value,
                f"{ast.unparse(node.value)!r} takes no type arguments",
                "leave out the brackets",
            )
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if last in ("Tuple", "tuple") and any(
            isinstance(p, ast.Constant) and p.value is Ellipsis for p in parts
        ):
            self.fail(
                node,
                "a tuple of any length is not a type of the language",
                "write List[...] or name each element",
            )
        if last == "Annotated":
            parts = parts[:1]
        types = [self.type(p) for p in parts]
        if make is T.DictType and len(types) == 2 and not may_be_key(types[0]):
            self.fail(parts[0], NO_KEY.format(types[0].annotation), KEY_HELP)
        try:
            return make(*types)
        except TypeError:
            self.fail(
                node,
                f"wrong number of types in {ast.unparse(node)!r}",
                "List and Optional take one, Dict takes two",
            )


def broadcast_size(node: ast.expr | None) -> int | None:
    """N of an annotation `BroadcastingListN[int]`, also inside an Optional; else None.

    A call may give a single number for such an argument; it is repeated N times.
    """
    found = node and re.search(r"BroadcastingList(\d)\[", ast.unparse(node))
    return int(found.group(1)) if found else None


def dotted(node: ast.expr) -> str | None:
    """The text `a.b.c` of a chain of attributes; None for other syntax."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


PYTHON_TYPES: dict[Any, T.Type] = {
    int: T.INT,
    float: T.FLOAT,
    bool: T.BOOL,
    str: T.STR,
    complex: T.COMPLEX,
    None: T.NONE,
    type(None): T.NONE,
    Any: T.ANY,
    list: T.ANY_LIST,
    tuple: T.ANY_TUPLE,
}

PUBLIC_TYPES: dict[str, T.Type] = {
    "Tensor": T.TENSOR,
    "Parameter": T.TENSOR,
    "Device": T.DEVICE,
    "device": T.DEVICE,
    "DType": T.INT,
    "dtype": T.INT,
    "Generator": T.GENERATOR,
    **TENSOR_CLASSES,
    "Size": T.ListType(T.INT),
    "layout": T.INT,
    "memory_format": T.INT,
    "Number": T.NUMBER,
}
"""Name of a class of torch or scriptlang -> the type."""


def type_of_object(
    obj: Any,
    class_type: Callable[[type], T.Type | None],
    text: Callable[[str], T.Type | None] | None = None,
) -> T.Type | None:
    """The type that a Python object names when used as an annotation; None if it names none.

    `class_type` returns the type of a class of the program, `text` that of a string annotation;
    either may return None.
    """

    def recur(o: type) -> T.Type:
        found = type_of_object(o, class_type, text)
        if found is None:
            raise _NoType
        return found

    try:
        if obj in PYTHON_TYPES:
            return PYTHON_TYPES[obj]
    except TypeError:
        pass
    if isinstance(obj, T.Type):
        return obj
    if isinstance(obj, (str, typing.ForwardRef)) and text is not None:
        return text(str(getattr(obj, "__forward_arg__", obj)))
    origin, args = typing.get_origin(obj), typing.get_args(obj)
    try:
        if origin is typing.Union or isinstance(obj, getattr(python_types, "UnionType", ())):
            return T.union(*map(recur, args))
        if origin is list and args:
            return T.ListType(recur(args[0]))
        if origin in (dict, collections.OrderedDict) and args:
            key = recur(args[0])
            return T.DictType(key, recur(args[1])) if may_be_key(key) else None
        if origin is tuple:
            if Ellipsis in args or obj is typing.Tuple:  # noqa: UP006
                return None
            return T.TupleType(tuple(recur(a) for a in args if a != ()))
        if origin is typing.Annotated or getattr(origin, "__name__", "") == "Final":
            return recur(args[0])
        if getattr(origin, "__name__", "") == "Future" and args:
            return T.FutureType(recur(args[0]))
        if getattr(origin, "__name__", "") in ("_Await", "Await") and args:
            return T.RRefLikeType("Await", recur(args[0]))
    except _NoType:
        return None
    if isinstance(obj, type):
        if (
            obj.__module__.partition(".")[0] in ("torch", "scriptlang")
            and obj.__name__ in PUBLIC_TYPES
        ):
            return PUBLIC_TYPES[obj.__name__]
        return class_type(obj)
    return None


class _NoType(Exception):
    """A part of an annotation names no type."""


# Annotations of a class body


def own_annotations(obj: Any) -> dict[str, Any]:
    """The annotations that a class body or function itself has, without those of base classes.

    An annotation may be a string or a forward reference, if it names something not defined yet.
    """
    if sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(obj, format=annotationlib.Format.FORWARDREF)
    return (
        vars(obj).get("__annotations__", {})
        if isinstance(obj, type)
        else getattr(obj, "__annotations__", {})
    )


def names_of_class(cls: type) -> dict[str, Any]:
    """Name -> object, for names in the body of a class.

    Contains the globals of the module of the class, and the variables that its methods close over.
    """
    names = dict(vars(sys.modules[cls.__module__])) if cls.__module__ in sys.modules else {}
    for raw in list(vars(cls).values()):
        function = getattr(raw, "__func__", getattr(raw, "fget", raw))
        if isinstance(function, python_types.FunctionType):
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
                try:
                    names[name] = cell.cell_contents
                except ValueError:  # The variable is not assigned yet.
                    pass
    names[cls.__name__] = cls
    return names


def hints_of(
    cls: type, place: Callable[[type], Span | None], strict: bool = True
) -> dict[str, T.Type]:
    """Attribute -> type, from the annotations of a class and its bases; those of bases come first.

    `place(cls)` is the position of errors.  An annotation that names no type is a CompileError if
    `strict`, else it is left out.  ClassVar annotations are left out.
    """
    found = {}
    for owner in reversed(cls.__mro__):
        if owner.__module__ in ("builtins", "typing"):
            continue
        resolver = whole.PythonResolver.of_mapping(names_of_class(owner))
        for name, obj in own_annotations(owner).items():
            obj = getattr(obj, "__forward_arg__", obj)
            if (
                typing.get_origin(obj) is typing.ClassVar
                or obj == typing.ClassVar
                or isinstance(obj, str)
                and re.match(r"(\w+\.)*ClassVar\b", obj)
            ):
                continue
            if isinstance(obj, dataclasses.InitVar):
                obj = obj.type
            type = type_of_object(obj, whole.class_type, resolver.type_of_text)
            if type is None and strict:
                raise CompileError(
                    f"{obj!r} is not a type of the language",
                    place(cls),
                    f"it annotates {name!r} of {cls.__name__}",
                )
            if type is not None:
                found[name] = type
    return found
