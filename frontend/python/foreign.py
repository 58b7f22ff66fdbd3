"""Functions and modules that PyTorch compiled and that scriptlang's programs use.

They are saved by PyTorch, and read as archives:

scripted = torch.jit.script(f)
scriptlang.script(lambda x: scripted(x))
"""

from __future__ import annotations

import io
import weakref
from collections.abc import Callable
from typing import Any

from scriptlang.ir import Function, Graph, clone_block
from scriptlang.objects import ScriptObject
from scriptlang.schema import Schema

read: Callable[[io.BytesIO], ScriptObject] | None = None
"""Reads an archive.  The public API sets it, as this folder may not import `serialization`."""


_functions: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
_modules: weakref.WeakKeyDictionary[Any, ScriptObject] = weakref.WeakKeyDictionary()


def is_foreign_function(obj: Any) -> bool:
    return type(obj).__name__ == "ScriptFunction" and _of_torch(obj)


def is_foreign_module(obj: Any) -> bool:
    return (
        _of_torch(obj)
        and any(c.__name__ == "ScriptModule" for c in type(obj).__mro__)
        and hasattr(obj, "_c")
    )


def _of_torch(obj: Any) -> bool:
    return type(obj).__module__.partition(".")[0] == "torch" and read is not None


def foreign_function(obj: Any) -> Function:
    """A torch.jit.ScriptFunction as a function of scriptlang."""
    if obj not in _functions:
        method = _object(obj).type.methods["forward"]
        _functions[obj] = _without_self(method, f"__torch__.{obj.name}")
    return _functions[obj]


def foreign_module(obj: Any) -> ScriptObject:
    """A torch.jit.ScriptModule as an object of scriptlang, with copies of its tensors."""
    if obj not in _modules:
        _modules[obj] = _object(obj)
    return _modules[obj]


def _object(obj: Any) -> Any:
    assert read is not None, "the readers of archives have set it"
    return read(io.BytesIO(bytes(obj.save_to_buffer())))


def _without_self(method: Function, name: str) -> Function:
    """A function with the body of a method that does not use `self`."""
    graph = Graph(name)
    source = method.graph.block
    env = {v: graph.block.add_parameter(v.type, v.name) for v in source.parameters[1:]}
    clone_block(source, graph.block, env, parameters=False)
    schema = method.schema
    return Function(name, Schema(name, "", schema.arguments[1:], schema.returns), graph)
