"""Writes archives: which records there are, and what is in them.

The same program always gives the same bytes, whatever the name of the file.
"""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from .. import budgets
from .. import types as T
from ..errors import GraphError
from ..interpreter.prepare import is_compiled
from ..ir import Function, Graph, Value, clone_node
from ..objects import ScriptObject, objects_in
from ..schema import Argument, Schema
from ..tensors import Tensor
from .atomic import atomic_file
from .bytecode import PROGRAM, bytecode_records
from .code_writer import CodeWriter
from .compiled import RECORD as COMPILED
from .compiled import stamp_of
from .debug_writer import DebugWriter
from .dependencies import recursive_functions
from .pickling import Pickler
from .zip_writer import ZipWriter

FOLDER = "archive"
"""The top folder of every archive that is written."""

WRITTEN_VERSION = b"10\n"
"""The newest version of the format, for which readers do not replace old operators."""

PLACEHOLDER = "__torch__.PlaceholderModule"
"""The class of the module that wraps a function to save it."""


def write_archive(
    program: ScriptObject | Function,
    target: Any,
    extra_files: Mapping[str, str | bytes] | None = None,
    compiled: bool = False,
) -> None:
    """Write a module or a function as an archive that scriptlang and PyTorch load.

    target: a path (written atomically) or a binary file object.
    extra_files: name -> contents, stored beside the program.
    compiled: also store the code that engines run (see compiled.py).  This is always done for a
    program that is optimised or was read from such an archive.
    Raises ScriptError for a program that cannot be saved; nothing is written then.
    """
    root = module_around(program) if isinstance(program, Function) else program
    with budgets.use(budgets.of(root.type), "saving"):
        records = list(archive_records(root, extra_files or {}, compiled))
    write_to(target, records)


def write_to(target: Any, records: list[tuple[str, Any]]) -> None:
    """Write records to a path (atomically) or to a binary file object."""
    if isinstance(target, io.TextIOBase):
        raise TypeError("the file object takes text; open it in binary mode ('wb')")
    if hasattr(target, "write"):
        write_records(target, records)
        return
    if not isinstance(target, (str, os.PathLike)):
        raise TypeError(
            f"save takes a path or a binary file object, not {target.__class__.__name__}"
        )
    with atomic_file(target) as file:
        write_records(file, records)


def write_records(file: BinaryIO, records: list[tuple[str, Any]]) -> None:
    writer = ZipWriter(file)
    for name, contents in records:
        writer.add(f"{FOLDER}/{name}", contents, pack=name.startswith("code/"))
    writer.finish()


def archive_records(
    root: ScriptObject, extra_files: Mapping[str, str | bytes], compiled: bool = False
) -> Iterator[tuple[str, Any]]:
    """The records of an archive, in order."""
    code = CodeWriter()
    code.add([root.type, *classes_of_objects(root)])
    warn_of_recursion(code)
    sources = code.files()
    data = StorageTable("data")
    tree = Pickler(data.key, run_getstate, code.spelling.name).dump(root, root.type)
    made: list[tuple[str, Any]] = [*data.records(), ("data.pkl", tree)]
    for qualifier, text in sources.items():
        path = f"code/{qualifier.replace('.', '/')}.py"
        made.append((path, str(text).encode()))
        made.append((path + ".debug_pkl", DebugWriter().dump(text)))
    compiled = compiled or any(map(is_compiled, root.type.methods.values()))
    of_program = constant_records(code.spelling.constants.values, root, code, compiled)
    if compiled and PROGRAM in dict(of_program):
        of_program.append((COMPILED, stamp_of(made)))
    made += of_program
    for name, contents in extra_files.items():
        raw = contents.encode() if isinstance(contents, str) else bytes(contents)
        made.append((f"extra/{name}", raw))
    made += [("version", WRITTEN_VERSION), ("byteorder", b"little")]
    made.append((".data/serialization_id", identity(made)))
    return iter(made)


def warn_of_recursion(code: CodeWriter) -> None:
    """Warn of recursive functions, which PyTorch refuses when it loads the archive."""
    found = recursive_functions(code.dependencies.types, code.dependencies.functions)
    if found:
        names = ", ".join(f.name.removeprefix("__torch__.") for f in found)
        warnings.warn(
            f"{names} calls itself: scriptlang loads and runs this archive, PyTorch "
            "does not compile recursive functions; write it as a loop to use it there",
            stacklevel=5,
        )


def constant_records(
    constants: list[Any], root: ScriptObject, code: CodeWriter, compiled: bool
) -> list[tuple[str, Any]]:
    """The records constants.pkl and those of bytecode, and the storages that both use."""
    storages = StorageTable("constants")
    pickles = [
        ("constants.pkl", Pickler(storages.key, None, code.spelling.name).dump(tuple(constants)))
    ]
    for name, tree in bytecode_of(root, code.spelling.renamed, compiled).items():
        pickles.append((name, Pickler(storages.key, None, code.spelling.name).dump(tree)))
    return [*storages.records(), *pickles]


def bytecode_of(
    root: ScriptObject, renamed: Mapping[T.Type, str], compiled: bool
) -> dict[str, Any]:
    """The records of bytecode.  There are none if a function cannot be compiled to bytecode."""
    from ..interpreter.reach import classes_in

    classes = sorted(classes_in(root), key=lambda t: renamed.get(t, t.name))
    restoring = [t.methods["__setstate__"] for t in classes if "__setstate__" in t.methods]
    try:
        return bytecode_records(
            dict.fromkeys([*root.type.methods.values(), *restoring]),
            renamed,
            classes,
            compiled,
            (root,),
        )
    except GraphError:
        return {}


class StorageTable:
    """The storages of one folder, numbered in the order in which they occur in pickles."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.keys: dict[int, str] = {}
        self.storages: list[Any] = []

    def key(self, tensor: Tensor) -> str:
        """The key of a tensor's storage."""
        storage = tensor._storage
        if id(storage) not in self.keys:
            self.keys[id(storage)] = str(len(self.storages))
            self.storages.append(storage)
        return self.keys[id(storage)]

    def records(self) -> list[tuple[str, Any]]:
        return [
            (f"{self.folder}/{i}", np.ascontiguousarray(s.data).data)
            for i, s in enumerate(self.storages)
        ]


def identity(records: list[tuple[str, Any]]) -> bytes:
    """A number of forty digits, computed from the contents of the records."""
    digest = hashlib.sha256()
    for name, contents in records:
        digest.update(name.encode() + b"\0")
        digest.update(contents)
    return str(int.from_bytes(digest.digest()[:17], "big")).zfill(41)[-40:].encode()


def run_getstate(obj: ScriptObject) -> Any:
    """The result of an object's `__getstate__`, which the Python engine runs."""
    from ..interpreter.engine import engine
    from .restoring import RESTORE_LIMITS

    return engine("python").run(obj.type.methods["__getstate__"], (obj,), None, RESTORE_LIMITS)


def classes_of_objects(root: ScriptObject) -> list[T.ClassType]:
    """The classes of all objects inside an object, including those behind interfaces and Any."""
    return list(dict.fromkeys(obj.type for obj in objects_in(root)))


def module_around(function: Function) -> ScriptObject:
    """A module whose only method, `forward`, is the function, as PyTorch saves functions."""
    t = T.ClassType(PLACEHOLDER, is_module=True)
    t.add_attribute("training", T.BOOL)
    graph = Graph(function.graph.name)
    env: dict[Value, Value] = {}
    graph.block.add_parameter(t, "self")
    for v in function.graph.inputs:
        env[v] = graph.block.add_parameter(v.type, v.name)
    for node in function.graph.nodes:
        graph.block.append(clone_node(node, graph, env))
    for v in function.graph.outputs:
        graph.block.add_return(env.get(v, v))
    schema = function.schema
    t.methods["forward"] = Function(
        f"{PLACEHOLDER}.forward",
        Schema(
            f"{PLACEHOLDER}.forward", "", (Argument("self", t), *schema.arguments), schema.returns
        ),
        graph,
    )
    return ScriptObject(t, [True])
