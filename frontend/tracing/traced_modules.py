"""Makes the object for a module that is traced.

Its attributes are the parameters, buffers and submodules of the module, and `training`.  Unlike the
attributes of a scripted module, others are left out.  Each object has its own class.
"""

from __future__ import annotations

from typing import Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.objects import ScriptObject
from scriptlang.records import field, record
from scriptlang.tensors import Tensor

from ..python.foreign import foreign_module, is_foreign_module
from ..python.torch_tensors import tensor_over
from ..syntax.definitions import qualified_name


@record
class Held:
    """The tensors and scripted objects that a traced module contains.

    `paths` maps the id of a tensor or object to the attribute names that lead to it from the
    module.  `alive` keeps these alive, so that the ids stay valid.  `tensors` maps the id of a
    tensor of the module to the tensor of the new object.
    """

    paths: dict[int, tuple[str, ...]] = field(default_factory=dict)
    alive: list[Any] = field(default_factory=list)
    tensors: dict[int, Tensor] = field(default_factory=dict)


def traced_object(module: Any, held: Held, path: tuple[str, ...] = ()) -> ScriptObject:
    """The object for a module: a new one, or that of a scripted module.

    What the module contains is added to `held`; `path` leads to the module from the outermost one.
    """
    scripted = getattr(module, "_object_", None)
    if isinstance(scripted, ScriptObject):
        _note(held, scripted, path)
        return scripted
    if is_foreign_module(module):
        found = foreign_module(module)
        _note(held, module, path)
        return found
    if getattr(module, "_backward_hooks", None):
        raise CompileError(
            f"{type(module).__name__} has backward hooks, which programs do not have",
            None,
            "remove them before the module is traced",
        )
    made = T.ClassType(qualified_name(type(module)), is_module=True)
    obj = ScriptObject(made, [])
    for kind, tensors in (("parameter", module._parameters), ("buffer", module._buffers)):
        for name, tensor in tensors.items():
            _add(
                obj,
                name,
                T.NONE if tensor is None else T.TENSOR,
                kind,
                None if tensor is None else _tensor(tensor, held, (*path, name)),
            )
    _add(obj, "training", T.BOOL, "attribute", bool(module.training))
    compiled = {n: v for n, v in vars(module).items() if hasattr(type(v), "_object_")}
    for name, child in {**module._modules, **compiled}.items():
        if child is None:
            _add(obj, name, T.NONE, "attribute", None)
        else:
            value = traced_object(child, held, (*path, name))
            _add(obj, name, value.type, "attribute", value)
    return obj


def _add(obj: ScriptObject, name: str, type: T.Type, kind: str, value: Any) -> None:
    obj.type.add_attribute(name, type, kind)
    obj.slots.append(value)


def _note(held: Held, value: Any, path: tuple[str, ...]) -> None:
    held.paths.setdefault(id(value), path)
    held.alive.append(value)


def _tensor(tensor: Any, held: Held, path: tuple[str, ...]) -> Tensor:
    """The tensor of scriptlang over the memory of a tensor of the module; made only once."""
    _note(held, tensor, path)
    if id(tensor) not in held.tensors:
        held.tensors[id(tensor)] = tensor_over(tensor)
    return held.tensors[id(tensor)]
