"""Imports the code of an archive as types and functions.

A class is created empty when its name is first looked up, and filled from a queue.  So classes may
refer to each other in any order, and nesting in the archive does not lead to deep recursion.  A
function gets its schema from its signature; the front end compiles its body on first use.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from .. import types as T
from ..budgets import Budget
from ..building import alone, made_once
from ..errors import ArchiveError, CompileError, ScriptError
from ..ir import Function, Graph
from ..objects import Device, EnumValue
from ..schema import NO_DEFAULT, Argument, Schema
from .alike import Bodies
from .annotations import ConstantReader, TypeReader, dotted
from .code_files import DAMAGED, CodeFile, CodeFiles
from .versions import NEWEST

if TYPE_CHECKING:
    from .resolver import ArchiveResolver

STRING_LISTS = ("__parameters__", "__buffers__", "__forward_hooks__", "__forward_pre_hooks__")
MAX_NAMED_TUPLE_DEPTH = 50

OLD_PACKED = re.compile(
    r"__torch__\.torch\.nn\.(intrinsic\.)?quantized\..*\."
    r"(Linear|LinearReLU|LinearPackedParams|Conv(ReLU)?[23]d)"
)
"""Classes whose packed weights were Tensors in old archives.  Their `__setstate__` now makes
objects of custom classes."""


class Importer:
    """Types and functions of an archive by qualified name, imported when they are looked up.

    constants: returns the table of constants (`CONSTANTS.c0` is its first value).
    version: that of the archive's format, on which the meaning of some operators depends (see
    upgraders).
    budget: what compiling its functions may use.
    known: classes that exist already, and are filled instead of new ones (see native_archive).
    """

    def __init__(
        self,
        files: CodeFiles,
        constants: Callable[[], list[Any]],
        version: int = NEWEST,
        budget: Budget | None = None,
        known: Mapping[str, Any] | None = None,
    ) -> None:
        self.files = files
        self.known = known or {}
        self.budget = budget or files.budget
        self.constants = constants
        self.version = version
        self.types: dict[str, T.Type] = {}
        self.functions: dict[str, Function | None] = {}
        self.type_reader = TypeReader(self.find_type)
        self.constant_reader = ConstantReader(self.named_constant, Device)
        self._queue: deque[tuple[Any, CodeFile, ast.ClassDef]] = deque()
        self._is_draining = False
        self._wrong: dict[str, ArchiveError] = {}  # the errors of classes that cannot be read
        self._open_tuples: list[str] = []
        self._bodies = Bodies()

    @made_once
    def resolver(self) -> ArchiveResolver:
        """Resolves names in bodies.  It imports the front end, which declarations do not need."""
        from .resolver import ArchiveResolver

        return ArchiveResolver(self)

    # Names

    @alone
    def find_type(self, name: str) -> T.Type | None:
        """The class, named tuple, enum or interface of that name; None if there is none."""
        if name not in self.types:
            if name.startswith(T.CUSTOM_CLASSES):
                return T.custom_class(name)
            found = self.files.find(name) if name.startswith("__torch__.") else None
            if found is not None and isinstance(found[1], ast.ClassDef):
                self._declare(name, found[0], found[1])
                self._drain()
        if name in self._wrong:
            raise self._wrong[name].with_traceback(None)
        return self.types.get(name)

    @alone
    def find_function(self, name: str) -> Function | None:
        """The function of that name, not a method; None if there is none."""
        if name not in self.functions:
            found = self.files.find(name)
            self.functions[name] = None
            if found is not None and isinstance(found[1], ast.FunctionDef):
                self.functions[name] = self._function(name, found[0], found[1], None)
            self._drain()
        return self.functions[name]

    def named_constant(self, name: str) -> Any:
        """The value of `CONSTANTS.c0` or of an enum member.  Raises KeyError for other names."""
        owner, _, short = name.rpartition(".")
        if owner == "CONSTANTS":
            return self.constant(short)
        t = self.find_type(owner)
        if isinstance(t, T.EnumType) and short in t.members:
            return EnumValue(t, short, t.members[short])
        raise KeyError(name)

    def constant(self, name: str) -> Any:
        """The value of `c0`, `c1`, ... in the table of constants.  Raises KeyError if there is
        none."""
        table = self.constants()
        if (
            name[:1] != "c"
            or not name[1:].isdecimal()
            or len(name) > 10
            or int(name[1:]) >= len(table)
        ):
            raise KeyError(name)
        return table[int(name[1:])]

    # Declarations

    def _declare(self, name: str, file: CodeFile, node: ast.ClassDef) -> None:
        base = dotted(node.bases[0]) if len(node.bases) == 1 else "" if not node.bases else None
        if base == "NamedTuple":
            self.types[name] = self._named_tuple(name, file, node)
            return
        if base == "Enum":
            self.types[name] = self._enum(name, file, node)
            return
        if base in ("Interface", "ModuleInterface"):
            declared: T.Type = T.InterfaceType(name, is_module=base == "ModuleInterface")
        elif base in ("", "Module"):
            declared = self.known.get(name) or T.ClassType(name, is_module=base == "Module")
        else:
            self._fail(f"class {node.name} has a base that archives do not have", node, file)
        self.types[name] = declared
        self._queue.append((declared, file, node))

    def _drain(self) -> None:
        """Fill all declared classes.  Those that are declared meanwhile are added to the queue.

        The error of a class is raised wherever something names that class.
        """
        if self._is_draining:
            return
        self._is_draining = True
        try:
            while self._queue:
                declared, file, node = self._queue.popleft()
                try:
                    if isinstance(declared, T.InterfaceType):
                        self._fill_interface(declared, file, node)
                    else:
                        self._fill_class(declared, file, node)
                except ArchiveError as e:
                    self._wrong[declared.name] = e
        finally:
            self._is_draining = False

    def _named_tuple(self, name: str, file: CodeFile, node: ast.ClassDef) -> T.TupleType:
        if name in self._open_tuples or len(self._open_tuples) > MAX_NAMED_TUPLE_DEPTH:
            self._fail(f"named tuple {node.name} contains itself, or too many others", node, file)
        self._open_tuples.append(name)
        try:
            names, types, defaults = [], [], []
            for s in node.body:
                if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name):
                    names.append(s.target.id)
                    types.append(self.type_reader.read(s.annotation, file.record))
                    if s.value is not None:
                        defaults.append(self.constant_reader.read(s.value, types[-1], file.record))
                    elif defaults:
                        self._fail(
                            f"field {names[-1]} of named tuple {node.name} has no default, but one "
                            "before it has",
                            s,
                            file,
                        )
                elif not isinstance(s, ast.Pass):
                    self._fail("a named tuple has fields only", s, file)
        finally:
            self._open_tuples.pop()
        if len(set(names)) != len(names):
            self._fail(f"named tuple {node.name} has a field twice", node, file)
        return T.TupleType(tuple(types), name, tuple(names), tuple(defaults))

    def _enum(self, name: str, file: CodeFile, node: ast.ClassDef) -> T.EnumType:
        members = {}
        for s in node.body:
            if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name):
                members[s.targets[0].id] = self.constant_reader.read(s.value, None, file.record)
            elif not isinstance(s, ast.Pass):
                self._fail("an enum has members only", s, file)
        value_types = {type(v) for v in members.values()}
        value = (
            {int: T.INT, float: T.FLOAT, str: T.STR}.get(value_types.pop())
            if len(value_types) == 1
            else None
        )
        if value is None:
            self._fail(f"the members of enum {node.name} are not all int, float or str", node, file)
        return T.EnumType(name, value, members)

    def _fill_interface(self, t: T.InterfaceType, file: CodeFile, node: ast.ClassDef) -> None:
        for s in node.body:
            if isinstance(s, ast.FunctionDef):
                t.methods[s.name] = self._schema(f"{t.name}.{s.name}", s, file, t)
            elif not isinstance(s, ast.Pass):
                self._fail("an interface has methods only", s, file)

    def _fill_class(self, t: T.ClassType, file: CodeFile, node: ast.ClassDef) -> None:
        if t.name not in self.known:
            return self._read_class(t, t, file, node)
        whole = T.ClassType(t.name, is_module=t.is_module)
        self._read_class(whole, t, file, node)
        self.known[t.name].become(whole)

    def _read_class(
        self, t: T.ClassType, own: T.ClassType, file: CodeFile, node: ast.ClassDef
    ) -> None:
        """Fill `t` with the contents of a class definition.

        own: the type of `self` in methods, which is `t` itself or the known class that `t` will
        become.
        """
        lists: dict[str, list[str]] = {name: [] for name in STRING_LISTS}
        for s in node.body:
            if isinstance(s, ast.FunctionDef):
                if s.name in t.methods:
                    self._fail(f"{t.name} has two methods {s.name}", s, file)
                t.methods[s.name] = self._function(f"{t.name}.{s.name}", file, s, own)
            elif isinstance(s, ast.AnnAssign):
                self._declared_name(t, file, s)
            elif isinstance(s, ast.Assign):
                self._assigned_name(t, file, s, lists)
            elif not isinstance(s, ast.Pass):
                self._fail("a class has attributes and methods only", s, file)
        for kind in ("parameter", "buffer"):
            for name in lists[f"__{kind}s__"]:
                attribute = t.attribute(name)
                if attribute is None:
                    self._fail(f"{kind} {name!r} is not declared", node, file)
                attribute.kind = kind
        t.hooks = self._hooks(t, lists["__forward_hooks__"], file, node)
        t.pre_hooks = self._hooks(t, lists["__forward_pre_hooks__"], file, node)
        find_properties(t)

    def _hooks(
        self, t: T.ClassType, names: list[str], file: CodeFile, node: ast.ClassDef
    ) -> list[str]:
        for name in names:
            if name not in t.methods:
                self._fail(f"hook {name!r} of {t.name} is not defined", node, file)
        return names

    def _declared_name(self, t: T.ClassType, file: CodeFile, s: ast.AnnAssign) -> None:
        """Read `name : T`, an attribute, or `name : Final[T] = value`, a constant."""
        if not isinstance(s.target, ast.Name):
            self._fail("a class declares plain names", s, file)
        declared = self.type_reader.read(s.annotation, file.record)
        if s.value is None:
            self._add_attribute(t, s.target.id, declared, file, s)
        else:
            t.constants[s.target.id] = self.constant_reader.read(s.value, declared, file.record)

    def _assigned_name(
        self, t: T.ClassType, file: CodeFile, s: ast.Assign, lists: dict[str, list[str]]
    ) -> None:
        """Read a list such as `__parameters__ = [...]`, or `__annotations__["0"] = T`, an attribute
        whose name is not an identifier."""
        target = s.targets[0]
        if (
            isinstance(target, ast.Subscript)
            and dotted(target.value) == "__annotations__"
            and isinstance(target.slice, ast.Constant)
            and isinstance(target.slice.value, str)
        ):
            declared = self.type_reader.read(s.value, file.record)
            self._add_attribute(t, target.slice.value, declared, file, s)
        elif isinstance(target, ast.Name) and target.id in lists:
            names = self.constant_reader.read(s.value, None, file.record)
            if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
                self._fail(f"{target.id} is a list of names", s, file)
            lists[target.id] = names
        elif not (isinstance(target, ast.Name) and target.id == "__annotations__"):
            self._fail("a class declares its names with their types", s, file)

    def _add_attribute(
        self, t: T.ClassType, name: str, type: T.Type, file: CodeFile, s: ast.stmt
    ) -> None:
        if t.slot(name) is not None:
            self._fail(f"{t.name} has two attributes {name!r}", s, file)
        if name == "_packed_params" and type == T.TENSOR and OLD_PACKED.fullmatch(t.name):
            short = t.name.rpartition(".")[2]
            kind = short[-2:] if short.startswith("Conv") else ""
            type = T.custom_class(
                f"{T.CUSTOM_CLASSES}quantized.{'Conv' if kind else 'Linear'}{kind}PackedParamsBase"
            )
        t.add_attribute(name, type)

    # Functions

    def _function(
        self, name: str, file: CodeFile, node: ast.FunctionDef, owner: T.ClassType | None
    ) -> Function:
        schema = self._schema(name, node, file, owner)

        def define(function: Function) -> None:
            function.graph = self._emit(function, file, node, owner)

        if owner is not None and owner.name in self.known:
            return self.known[owner.name].function(node.name, schema, define, self.budget)
        return Function(name, schema, define=define, budget=self.budget)

    def _schema(
        self, name: str, node: ast.FunctionDef, file: CodeFile, owner: T.Type | None
    ) -> Schema:
        """The schema of a signature.  An argument or result without annotation is a Tensor, except
        for `self`."""
        a = node.args
        if a.vararg or a.kwarg or a.posonlyargs or node.decorator_list:
            self._fail(f"{node.name} has a signature that archives do not have", node, file)
        arguments = []
        first_default = len(a.args) - len(a.defaults)
        for i, arg in enumerate(a.args):
            type = owner if i == 0 and owner is not None else self._type_of(arg, file)
            default = a.defaults[i - first_default] if i >= first_default else None
            arguments.append(self._argument(arg, type, default, file))
        for arg, default in zip(a.kwonlyargs, a.kw_defaults):
            arguments.append(self._argument(arg, self._type_of(arg, file), default, file, True))
        if len({arg.name for arg in arguments}) != len(arguments):
            self._fail(f"{node.name} has an argument twice", node, file)
        result = (
            T.TENSOR if node.returns is None else self.type_reader.read(node.returns, file.record)
        )
        return Schema(name, "", tuple(arguments), (Argument("", result),))

    def _type_of(self, arg: ast.arg, file: CodeFile) -> T.Type:
        if arg.annotation is None:
            return T.TENSOR
        return self.type_reader.read(arg.annotation, file.record)

    def _argument(
        self,
        arg: ast.arg,
        type: T.Type,
        default: ast.expr | None,
        file: CodeFile,
        kwarg_only: bool = False,
    ) -> Argument:
        value = (
            NO_DEFAULT if default is None else self.constant_reader.read(default, type, file.record)
        )
        return Argument(arg.arg, type, value, kwarg_only)

    def _emit(
        self, function: Function, file: CodeFile, node: ast.FunctionDef, owner: T.ClassType | None
    ) -> Graph:
        """The graph of a function.  The spans of its nodes are in the original program."""

        def emit() -> Graph:
            return self._compile(function, file, node, owner)

        if owner is None or not node.body:
            return emit()
        return self._bodies.graph_of(function, file, node, owner, emit)

    def _compile(
        self, function: Function, file: CodeFile, node: ast.FunctionDef, owner: T.ClassType | None
    ) -> Graph:
        from ..frontend.bodies.emit import emit_function

        try:
            graph = emit_function(
                node, file.source, self.resolver, function.name, function.schema, owner
            )
        except CompileError as e:
            raise e.while_compiling(f"reading {function.name} of the archive") from None
        except RecursionError:
            raise CompileError(
                f"{function.name} is nested deeper than can be compiled",
                file.span(node),
                "split its expressions",
            ) from None
        except ScriptError:
            raise
        except Exception as e:
            # PyTorch prints only a small part of the language.  Other code, which was not printed
            # by PyTorch, may lead to errors that the front end does not expect.
            raise CompileError(
                f"{function.name} cannot be compiled ({e.__class__.__name__}: {e})",
                file.span(node),
                DAMAGED,
            ) from e
        for n in graph.walk_all():
            if n.span is not None and n.span.source is file.source:
                n.span = file.original(n.span)
        return graph

    @staticmethod
    def _fail(why: str, node: Any, file: CodeFile) -> NoReturn:
        raise ArchiveError(f"line {node.lineno}: {why}", file.record, DAMAGED)


def find_properties(t: T.ClassType) -> None:
    """Find the properties of a class.  Archives store a property `x` as methods `__x_getter` and
    `__x_setter`."""
    for name in t.methods:
        if name.startswith("__") and name.endswith("_getter"):
            short = name[2 : -len("_getter")]
            setter = f"__{short}_setter"
            if short and t.slot(short) is None and short not in t.methods:
                t.properties[short] = (name, setter if setter in t.methods else None)
