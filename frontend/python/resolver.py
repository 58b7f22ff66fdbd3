"""PythonResolver: finds what the free names of a Python function mean.

Names are looked up in the closure, then in the globals of the function.  Modules and functions of
torch, scriptlang and math are recognised by their names; other functions and classes are compiled.
"""

from __future__ import annotations

import ast
import builtins
import collections
import enum
import importlib
import inspect
import types as python_types
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CALLED, COMPILING, CompileError, may_be_raised
from scriptlang.ir import Function
from scriptlang.layouts import Named
from scriptlang.objects import EnumValue
from scriptlang.source import Source, Span

from ..names import namespaces, python_builtins, typed_tensors
from ..names.checks import CHECKS
from ..names.known_functions import DispatchedValue, dispatched, known_function
from ..names.library_classes import library_class, library_name, refused_context
from ..overloads.language_functions import PYTHON_ONLY
from ..syntax.annotations import PYTHON_TYPES, own_annotations, type_of_object, type_of_syntax
from ..syntax.modifiers import is_ignored
from ..syntax.places import placed
from ..values.sugared import (
    MISSING,
    BuiltinOperator,
    ClassValue,
    ConstantValue,
    EnumClassValue,
    ExceptionValue,
    FunctionValue,
    NamedTupleValue,
    Namespace,
    StaticSequence,
    SugaredValue,
    TypeValue,
)
from ..values.value_types import held
from ..whole import whole
from . import foreign
from .autograd_functions import AutogradFunctionValue, is_autograd_function
from .ignored import PythonModuleValue, ignored_once
from .module_classes import is_module, is_module_class

if TYPE_CHECKING:
    from ..values.builder import Builder
    from ..values.sugared import Arg


class ModuleClassValue(SugaredValue):
    """The class of a module of layers.  Its static methods can be called.

    Programs cannot make modules, so a call of the class is an error.
    """

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.kind = f"the module class '{cls.__name__}'"

    def attr(self, b: Builder, name: str, span: Span) -> SugaredValue:
        if isinstance(inspect.getattr_static(self.cls, name, None), staticmethod):
            found = meaning_of(getattr(self.cls, name), span)
            if found is not None:
                return found
        return super().attr(b, name, span)

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        self.fail(
            "cannot be called in a program",
            span,
            "make the module in __init__, and keep it as an attribute",
        )


class IgnoredClassValue(SugaredValue):
    """A class with @ignore or @unused, of which programs cannot make objects."""

    def __init__(self, cls: type) -> None:
        self.name, self.kind = cls.__name__, f"class '{cls.__name__}'"

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        raise CompileError(
            f"Cannot instantiate class {self.name!r} in a script function: it is ignored",
            span,
            "leave out the decorator, so that the class is compiled",
        )


CONSTANT_TYPES = (bool, int, float, complex, str, type(None))

TORCH_PACKAGES = ("torch", "scriptlang")


class PythonResolver:
    """Resolves the names of a Python function.

    `names` returns the object that a name refers to, or MISSING.  `notes` are the annotations as
    Python evaluated them, which may use names that are not visible in the function.
    """

    def __init__(self, names: Callable[[str], Any], notes: Mapping[str, Any] | None = None) -> None:
        self.names = names
        self.notes = notes or {}

    @classmethod
    def of(cls, function: Callable[..., Any]) -> PythonResolver:
        """The resolver of the closure and globals of a function."""
        closure = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        # The resolver must not keep the function alive, because functions are weak keys of caches.
        module_names = function.__globals__
        # While a decorator runs, the name of the function is not yet assigned.
        own, own_name = weakref.ref(function), function.__name__

        def names(name: str) -> Any:
            if name in closure:
                try:
                    return closure[name].cell_contents
                except ValueError:  # The variable is not assigned yet.
                    return own() if name == own_name else MISSING
            found = module_names.get(name, MISSING)
            return own() if found is MISSING and name == own_name else found

        return cls(names, own_annotations(function))

    def with_names(self, more: Mapping[str, Any]) -> PythonResolver:
        """A resolver with additional names, which take precedence."""
        known = self.names
        return PythonResolver(lambda name: more[name] if name in more else known(name), self.notes)

    @classmethod
    def of_mapping(cls, names: Mapping[str, Any]) -> PythonResolver:
        return cls(lambda name: names.get(name, MISSING))

    def value(self, name: str, span: Span) -> SugaredValue | None:
        obj = self.names(name)
        if obj is MISSING:
            found = namespaces.BY_NAME.get(name)
            return namespaces.PROGRAM_TORCH if found is namespaces.TORCH else found
        found = None if obj is None else meaning_of(obj, span)
        if found is not None:
            return found
        if name in ("inf", "nan") and isinstance(obj, float):
            return ConstantValue(obj)  # Imported from math, numpy or torch, so it never changes.
        if isinstance(obj, (CONSTANT_TYPES, tuple)):
            raise CompileError(
                f"python value of type {type(obj).__name__!r} cannot be used as a value. Perhaps "
                f"it is a closed over global variable? {name!r} could change after the function is "
                "compiled",
                span,
                "pass it as an argument, or put it in the function",
            )
        raise CompileError(
            f"python value of type {type(obj).__name__!r} cannot be used as a value: {name!r} is "
            "not part of the language",
            span,
            "pass what it is needed for as an argument",
        )

    def type(self, expr: ast.expr, span: Span) -> T.Type:
        try:
            return type_of_syntax(expr, self._place(expr, span), self._named, self._generic)
        except CompileError as error:  # That of a class without source has no span.
            raise placed(error, span) if error.span is None else error

    @staticmethod
    def _place(expr: ast.expr, span: Span) -> Callable[[ast.AST], Span]:
        """A function that returns the span of a node inside an annotation with the given span."""

        def place(node: Any) -> Span:
            if getattr(node, "lineno", None) == expr.lineno:
                start = span.start + node.col_offset - expr.col_offset
                if 0 <= start and node.end_lineno == node.lineno:
                    return Span(span.source, start, start + node.end_col_offset - node.col_offset)
            return span

        return place

    def _generic(self, name: str) -> str:
        """The name of a generic type in `typing`; the program may have another name for it."""
        obj = self.names(name)
        home = getattr(obj, "__module__", None)
        return getattr(obj, "_name", None) or name if home == "typing" else name

    def _named(self, name: str, node: ast.expr) -> T.Type | None:
        head, *rest = name.split(".")
        obj = self.names(head)
        for part in rest:
            obj = held(obj, part, MISSING)
        return None if obj is MISSING else type_of_object(obj, class_type, self.type_of_text)

    def type_of_note(self, name: str) -> T.Type | None:
        """The type of the evaluated annotation of a parameter, or of "return".

        None if the annotation is a string or not a type.
        """
        note = self.notes.get(name)
        return (
            None
            if note is None or isinstance(note, str)
            else type_of_object(note, class_type, self.type_of_text)
        )

    def type_of_text(self, text: str) -> T.Type | None:
        """The type that a string annotation names; None if it names none."""
        try:
            return self.type(ast.parse(text, mode="eval").body, Span(Source(text), 0, len(text)))
        except (CompileError, SyntaxError):
            return None


NOWHERE: Any = None
"""The span of objects that no line of the program names."""


def meaning_of(obj: Any, span: Span, constant: bool = False) -> SugaredValue | None:
    """What a Python object means in a program; None if it has no meaning there.

    `constant`: numbers, strings and tuples have a meaning, too: they are constants with the value
    that they have now.
    """
    try:
        function = getattr(obj, "_function", None)
    except Exception:  # It cannot be asked what it is; only a module can be known by its name.
        return _module(obj) if isinstance(obj, python_types.ModuleType) else None
    if isinstance(function, Function):  # `obj` is a ScriptFunction.
        return FunctionValue(function)
    if foreign.is_foreign_function(obj):
        return FunctionValue(foreign.foreign_function(obj))
    if isinstance(obj, python_types.ModuleType):
        return _module(obj)
    if isinstance(obj, enum.Enum):
        return ConstantValue(obj, class_type(type(obj)))
    if obj is None or constant and isinstance(obj, CONSTANT_TYPES):
        return ConstantValue(obj)
    code = code_of(obj)
    if code is not None:
        return ConstantValue(code)
    if isinstance(obj, type):
        try:
            return _class(obj)
        except CompileError as error:
            if span is not None:
                error.while_compiling(f"{COMPILING}{obj.__name__}{CALLED}{span.place}")
            raise
    if constant and isinstance(obj, tuple):
        return _tuple(obj, span)
    if is_module(obj):
        return PythonModuleValue(obj)
    if callable(obj):
        return _callable(obj, span)
    return None


def code_of(obj: Any) -> int | None:
    """The code of a dtype, layout, memory format or quantization scheme of scriptlang or torch.

    None for other objects.
    """
    cls = type(obj)
    package = cls.__module__.partition(".")[0]
    if package == "scriptlang" and cls.__name__ == "DType":
        return obj.code
    if package == "scriptlang" and isinstance(obj, Named):
        return int(obj)
    if package == "torch" and cls.__name__ in ("dtype", "layout", "memory_format", "qscheme"):
        return namespaces.CONSTANTS.get(str(obj).rpartition(".")[2])
    return None


def _module(module: python_types.ModuleType) -> SugaredValue:
    """The namespace of a Python module.

    Attributes that the front end knows by name take precedence over those of the module.
    """
    known = namespaces.BY_NAME.get(module.__name__)

    def find(name: str) -> SugaredValue | None:
        own = held(module, name)
        if isinstance(own, python_types.ModuleType) and own.__name__ in namespaces.BY_NAME:
            return _module(own)
        if known in (namespaces.TORCH, namespaces.MODULES["functional"]) and name in PYTHON_ONLY:
            return BuiltinOperator(PYTHON_ONLY[name])
        if known is namespaces.TORCH and name in CHECKS:
            return CHECKS[name]
        if isinstance(own, python_types.FunctionType) and dispatched(own) is not None:
            return meaning_of(own, NOWHERE)
        written = _written_in_python(own, module.__name__)
        if written is not None:
            return written
        found = known.find(name) if known is not None else None
        obj = held(module, name, MISSING) if found is None else MISSING
        return found if obj is MISSING else meaning_of(obj, NOWHERE, constant=True)

    return Namespace(module.__name__, find)


def _tuple(obj: tuple[Any, ...], span: Span) -> SugaredValue | None:
    found = [meaning_of(v, span, True) for v in obj]
    parts = [p for p in found if p is not None]
    if len(parts) < len(found):
        return None
    if all(isinstance(p, ConstantValue) for p in parts):
        return ConstantValue(obj)
    return StaticSequence(parts)


def _callable(obj: Any, span: Span) -> SugaredValue | None:
    """The meaning of a function or other callable: known by name, an operator, or compiled."""
    module, name = getattr(obj, "__module__", None) or "", getattr(obj, "__name__", "")
    if getattr(builtins, name, None) is obj:
        return python_builtins.builtin(name)
    if module in ("math", "cmath"):
        return namespaces.MATH.find(name)
    known = known_function(obj)
    if known is not None:
        return known
    choice = dispatched(obj)
    if choice is not None:
        return DispatchedValue(name, choice, meaning_of)
    operator = _operator_name(obj)
    if operator is not None:
        return BuiltinOperator(operator)
    owner = getattr(obj, "__self__", None)
    if _is_torch_builtin(obj, module, owner):
        return namespaces.TORCH.find(name)
    package = module.partition(".")[0]
    if package in TORCH_PACKAGES:
        found = _torch_function(module, name)
        if found is not None:
            return found
    if isinstance(obj, python_types.FunctionType):
        if is_ignored(obj):
            return FunctionValue(ignored_once(obj))
        obj = inspect.unwrap(obj)
        several = whole.overloaded(obj)
        if several is not None:
            return several
        if obj.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            return whole.variadic_function(obj)
        return FunctionValue(whole.script_function(obj, span))
    if PYTHON_TYPES.get(obj, None) is not None:
        return TypeValue(PYTHON_TYPES[obj])
    return None


OPERATOR_NAMES = {
    "Packet": "_qualified_name",
    "OpOverloadPacket": "_qualified_op_name",
    "CustomOpDef": "_qualname",
}
"""Name of a class of operators in scriptlang or torch -> the attribute that has the name."""


def _operator_name(obj: Any) -> str | None:
    """The name of an operator that is an object of Python, as in `op = torch.ops.my.op`.

    None for other objects.
    """
    cls = type(obj)
    if cls.__module__.partition(".")[0] not in TORCH_PACKAGES or cls.__name__ not in OPERATOR_NAMES:
        return None
    return getattr(obj, OPERATOR_NAMES[cls.__name__], None)


def _is_torch_builtin(obj: Any, module: str, owner: Any) -> bool:
    """Whether an object is a function of torch that is implemented in C++, such as `torch.add`."""
    if isinstance(obj, (python_types.FunctionType, type)):
        return False
    return (
        module.partition(".")[0] == "torch"
        or getattr(owner, "__module__", None) == "torch._C"
        or "_VariableFunctions" in getattr(obj, "__qualname__", "")
    )


WRITTEN_IN_PYTHON = {"istft", "lu", "unique", "unique_consecutive"}
"""Functions of torch.functional that are compiled from source, unlike the others there."""


def _written_in_python(obj: Any, module: str) -> SugaredValue | None:
    """The meaning of an attribute of torch.nn.functional, which is compiled from PyTorch's source.

    None for other modules.
    """
    if module == "torch.nn.functional" and callable(obj):
        return _callable(obj, NOWHERE)
    return None


def _torch_function(module: str, name: str) -> SugaredValue | None:
    """The meaning of a Python function of torch or scriptlang; None if it is to be compiled."""
    if module in (
        "torch.jit",
        "torch.jit._script",
        "torch.jit._async",
        "torch._jit_internal",
        "scriptlang.jit",
        "torch.jit._trace",
    ):
        return namespaces.JIT.get(name)
    if module == "torch" and name in CHECKS:
        return CHECKS[name]
    if module == "torch.functional" and name in PYTHON_ONLY:
        return BuiltinOperator(PYTHON_ONLY[name])
    if module == "torch.functional" and name in WRITTEN_IN_PYTHON:
        return None
    if module in ("torch.functional", "scriptlang.ops.calling.functions", "scriptlang.functional"):
        return namespaces.TORCH.find(name)
    return None


def functional(name: str) -> SugaredValue | None:
    """The meaning of `torch.nn.functional.name`, compiled from scriptlang.nn.functional."""
    module = importlib.import_module("scriptlang.nn.functional")
    obj = getattr(module, name, None)
    if isinstance(obj, python_types.FunctionType) and obj.__module__.startswith(module.__name__):
        return _callable(obj, NOWHERE)
    return None


# Classes


def _class(cls: type) -> SugaredValue | None:
    """The meaning of a class; None if programs cannot use it."""
    name = library_name(cls)
    if name is not None:
        return library_class(name)
    if cls.__name__ == "_IgnoreContextManager" and cls.__module__ == "torch._jit_internal":
        return namespaces.JIT[cls.__name__]
    refused = refused_context(cls)
    if refused is not None:
        return refused
    if is_module_class(cls):
        return ModuleClassValue(cls)
    if is_autograd_function(cls):
        return AutogradFunctionValue(cls)
    if is_ignored(cls):
        return IgnoredClassValue(cls)
    if issubclass(cls, BaseException):
        name = f"{cls.__module__}.{cls.__qualname__}"
        may_be_raised(name, cls)
        return ExceptionValue(name)
    if cls in PYTHON_TYPES or cls in (int, float, bool, str, list, dict, tuple, complex):
        return python_builtins.builtin(cls.__name__)
    if getattr(builtins, cls.__name__, None) is cls:
        return python_builtins.builtin(cls.__name__)
    if cls is collections.OrderedDict:
        return python_builtins.builtin("dict")
    package = cls.__module__.partition(".")[0]
    if package in TORCH_PACKAGES and cls.__name__ in typed_tensors.BY_NAME:
        return typed_tensors.BY_NAME[cls.__name__]
    if package in TORCH_PACKAGES and cls.__name__ in ("device", "Device"):
        return namespaces.TORCH.find("device")
    if package in TORCH_PACKAGES and type_of_object(cls, lambda _: None) is not None:
        return TypeValue(type_of_object(cls, lambda _: None))
    found = class_type(cls)
    if isinstance(found, T.EnumType):
        return EnumClassValue(found, {n: EnumValue(found, n, v) for n, v in found.members.items()})
    if isinstance(found, T.TupleType):
        return NamedTupleValue(found)
    if isinstance(found, T.ClassType):
        return ClassValue(found)
    return None if found is None else TypeValue(found)


def class_type(cls: type) -> T.Type | None:
    """The type of instances of a class of the program; None if programs cannot use it."""
    return whole.type_of_class(cls)
