"""The record bytecode.pkl: functions as bytecode, in the format of PyTorch's lite interpreter.

The record is a pickle of `(8, function, ...)`; `interpreter.code` has the layout of a function.
This module has the rest: which functions are written, the version, and the texts of types.  The
writer and reader of archives handle the pickle and its tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from .. import budgets, type_text
from .. import types as T
from ..errors import ArchiveError
from ..interpreter.code import Code, MalformedCode, from_tuple, to_tuple
from ..interpreter.prepare import CODE, code_of, fused_code
from ..interpreter.reach import reachable, unique_names
from ..ir import Function
from . import names, versions

WRITTEN = 8
OLDEST, NEWEST = 4, 9
RECORD = "bytecode.pkl"
PROGRAM = "scriptlang/program.pkl"

LITE_LACKS = ("CALL", "ENTER", "EXIT", "UNCHECKED_CAST", "FORK", "AWAITABLE", "WAIT", "FUSED")
"""Opcodes that PyTorch's lite interpreter does not run."""

LITE_TYPES = (T.ClassType, T.InterfaceType, T.EnumType, T.UnionType)
"""Types that PyTorch's lite interpreter cannot read as operands of instructions, except for classes
of its own library.  A Union crashes it."""

NAMED_TUPLE = "[NamedTuple, ["
"""The text that follows the name of a named tuple if its fields are listed."""


def bytecode_records(
    functions: Iterable[Function],
    renamed: Mapping[T.Type, str] | None = None,
    classes: Iterable[T.ClassType] = (),
    compiled: bool = False,
    values: Iterable[Any] = (),
) -> dict[str, tuple[Any, ...]]:
    """The records of bytecode for functions and all that they may call: record name -> value to
    pickle.

    bytecode.pkl has the functions that PyTorch's lite interpreter can run.  If some are missing
    there, scriptlang/program.pkl has all of them, for our engines.  scriptlang/names.pkl has the
    names for which the format has no place.  Constants that are tensors stay Tensors.

    renamed: types that have another name in the archive, as their methods then do.
    classes: the classes of the objects that may be behind interfaces.
    compiled: put the code that engines run into scriptlang/program.pkl, so that readers need not
    compile the functions.
    values: objects whose types go into names.pkl, too, such as the root object.
    """
    functions = list(functions)
    plain = Codes(reachable(*functions, code_of=code_of, classes=classes), renamed)
    lite = [f for f in plain.ordered if runs_on_lite(plain.codes[f])]
    records = {RECORD: (WRITTEN, *map(plain.tree, lite))}
    kept = plain
    if compiled:
        fast = kept = Codes(reachable(*functions, code_of=fused_code, classes=classes), renamed)
        records[PROGRAM] = (WRITTEN, *map(fast.tree, fast.ordered))
    elif len(lite) < len(plain.ordered):
        records[PROGRAM] = (WRITTEN, *map(plain.tree, plain.ordered))
    named = names.names_of({**plain.by_name(), **kept.by_name()}, values, renamed or {})
    if named is not None:
        records[names.RECORD] = named
    return records


class Codes:
    """The code of functions, each under a distinct name."""

    def __init__(self, codes: dict[Function, Code], renamed: Mapping[T.Type, str] | None) -> None:
        self.codes, self.renamed = codes, renamed
        self.names = unique_names(codes)
        for t, name in (renamed or {}).items():
            self.names.update(
                (f, f"{name}.{short}") for short, f in getattr(t, "methods", {}).items()
            )
        self.ordered = sorted(codes, key=self.names.__getitem__)

    def by_name(self) -> dict[str, Code]:
        return {self.names[f]: code for f, code in self.codes.items()}

    def tree(self, function: Function) -> tuple[Any, ...]:
        """The code of a function in the layout of the pickle."""
        return to_tuple(self.codes[function], self.names[function], self.names, self.renamed)


def runs_on_lite(code: Code) -> bool:
    """Whether PyTorch's lite interpreter can read and run a function."""
    return not (
        any(i.op in LITE_LACKS for i in code.instructions)
        or any(
            isinstance(part, LITE_TYPES) and not is_of_library(part)
            for t in code.types
            for part in t.walk()
        )
        or any(o.name.startswith("scriptlang::") for o in code.operators)
    )


def is_of_library(t: T.Type) -> bool:
    return isinstance(t, T.ClassType) and t.name.startswith(T.CUSTOM_CLASSES)


def read_functions(
    tree: Any,
    resolve: Callable[[str], T.Type | None],
    constant: Callable[[Any], Any] = lambda value: value,
    declare: Callable[[Function], None] = lambda function: None,
    version: int = versions.NEWEST,
    verified: bool = True,
    defaults: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> dict[str, Function]:
    """The functions in an unpickled bytecode.pkl (versions 4 to 9), by qualified name.

    resolve: returns the class, enum or named tuple of a qualified name, or None.
    constant: makes the run-time value of a constant from what the pickle reader returns.
    declare: called with every function before the first one is verified, since methods call each
    other by name.
    version: that of the archive's format, on which the meaning of some operators depends (see
    upgraders).
    verified: whether to verify the code now; False leaves that to the engine that runs it.
    defaults: see `code.from_tuple`.
    Raises ArchiveError if the record is malformed or its code is not sound.
    """
    functions: dict[str, Function] = {}
    for entry in entries_of(tree):
        name = entry[0] if isinstance(entry, tuple) and entry else None
        if not isinstance(name, str) or name in functions:
            raise ArchiveError(
                f"a function is named {name!r}, a name that is missing or taken", RECORD
            )
        functions[name] = Function(name)
    types = TypeReader(resolve)
    for entry in entries_of(tree):
        code = _code(entry, types, functions, constant, defaults)
        # A small pickle may contain many functions that share their parts.
        budgets.spend("graph_nodes", len(code.instructions) + len(code.register_types))
        code.is_sound = verified
        if version < versions.NEWEST:
            from .upgraders import upgraded

            code = upgraded(code, version)
        function = functions[code.name]
        function.schema, function.attributes[CODE] = code.schema, code
        declare(function)
    if verified:
        from ..interpreter.verify import verify

        for function in functions.values():
            verify(function.attributes[CODE])
    return functions


def entries_of(tree: Any) -> tuple[Any, ...]:
    """The tuples of the functions.  Raises ArchiveError for a version that cannot be read."""
    if not isinstance(tree, (tuple, list)) or not tree or type(tree[0]) is not int:
        raise ArchiveError(
            "it does not begin with a version",
            RECORD,
            "bytecode written before version 4 has none; save the model again with a newer PyTorch",
        )
    if not OLDEST <= tree[0] <= NEWEST:
        raise ArchiveError(
            f"bytecode version {tree[0]}; versions {OLDEST} to {NEWEST} can be read",
            RECORD,
            "save the model again with torch.jit.save",
        )
    return tuple(tree[1:])


def _code(
    entry: Any,
    types: TypeReader,
    functions: dict[str, Function],
    constant: Callable[[Any], Any],
    defaults: Mapping[str, tuple[str, ...]],
) -> Code:
    def function(name: str) -> Function:
        if name not in functions:
            raise MalformedCode(f"{entry[0]} calls {name}, which is not in the record")
        return functions[name]

    try:
        code = from_tuple(entry, types.read, function, defaults)
    except MalformedCode as e:
        raise ArchiveError(
            str(e), RECORD, "the file is damaged, or was not made by PyTorch"
        ) from None
    except type_text.TypeSyntaxError as e:
        raise ArchiveError(f"{entry[0]}: {e}", RECORD) from None
    code.constants = [constant(c) for c in code.constants]
    return code


class TypeReader:
    """Reads types from their texts in bytecode.

    A named tuple is written with its fields, `__torch__.NT[NamedTuple, [[a, int],[b, Tensor]]]`.
    Later texts may use its name alone.
    """

    MAX_FIELDS = 1000
    MAX_DEPTH = 64

    def __init__(self, resolve: Callable[[str], T.Type | None]) -> None:
        self.resolve = resolve
        self.named: dict[str, T.Type] = {}

    def read(self, text: str) -> T.Type:
        """The type of a text.  Raises type_text.TypeSyntaxError if the text is not a type."""
        name, spelled, fields = text.partition(NAMED_TUPLE)
        if not spelled:
            return type_text.parse_annotation(text, self._find)
        if not fields.endswith("]]") or not name:
            raise type_text.TypeSyntaxError(f"unfinished named tuple {text[:80]!r}")
        if name not in self.named:
            pairs = [self._field(f) for f in split_fields(fields[:-2])]
            known = self.resolve(name)
            self.named[name] = (
                known
                if isinstance(known, T.TupleType)
                else T.TupleType(tuple(t for _, t in pairs), name, tuple(n for n, _ in pairs))
            )
        return self.named[name]

    def _find(self, name: str) -> T.Type | None:
        return self.named.get(name) or self.resolve(name)

    def _field(self, text: str) -> tuple[str, T.Type]:
        name, comma, t = text.partition(",")
        if not comma or not name.strip().isidentifier():
            raise type_text.TypeSyntaxError(f"{text[:80]!r} is no field of a named tuple")
        return name.strip(), self.read(t.strip())


def split_fields(text: str) -> list[str]:
    """The parts in brackets: "a, int" and "b, Dict[str, int]" of "[a, int],[b, Dict[str, int]]"."""
    fields, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c == "[":
            start = i + 1 if depth == 0 else start
            depth += 1
            if depth > TypeReader.MAX_DEPTH:
                raise type_text.TypeSyntaxError(f"type nested over {TypeReader.MAX_DEPTH} deep")
        elif c == "]":
            depth -= 1
            if depth == 0:
                fields.append(text[start:i])
            elif depth < 0:
                break
    if depth or len(fields) > TypeReader.MAX_FIELDS:
        raise type_text.TypeSyntaxError(f"brackets do not match in {text[:80]!r}")
    return fields
