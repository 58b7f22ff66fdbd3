"""Writes to what is saved for backward: a copy of it is made before the write."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...tensors import Tensor
from ..calling import functions
from ..calling.current import mode
from .recorder import activate
from .state import version_of
from .views import run_quietly

OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph "
    "was originally recorded."
)


class Handle:
    """What nodes keep of a tensor that they save; key: where it is among the handles."""

    __slots__ = ("__weakref__", "key")

    def __init__(self, key: tuple[int, int]) -> None:
        self.key = key


class Mutations:
    """The tensors that nodes have saved in one `allow_mutation_on_saved_tensors`.

    original, cloned: handle -> the tensor, and its copy if it was written since. handles: (id of a
    tensor, its version) -> its handle, so that it is copied once.
    """

    def __init__(self) -> None:
        self.original: weakref.WeakKeyDictionary[Handle, Tensor] = weakref.WeakKeyDictionary()
        self.cloned: weakref.WeakKeyDictionary[Handle, Tensor] = weakref.WeakKeyDictionary()
        self.handles: weakref.WeakValueDictionary[Any, Handle] = weakref.WeakValueDictionary()

    def pack(self, tensor: Tensor) -> Handle:
        key = id(tensor), version_of(tensor)
        handle = self.handles.get(key)
        if handle is None:
            handle = self.handles[key] = Handle(key)
            self.original[handle] = tensor
        return handle

    def unpack(self, handle: Handle) -> Tensor:
        found = self.cloned.get(handle)
        if found is None:
            found = self.original.get(handle)
        if found is None or mode.mutations is not self:
            raise AssertionError(OUTSIDE)
        return found

    def before_write(self, target: Tensor) -> None:
        """Copy the saved tensors that share the memory of one that will be written."""
        for handle, tensor in list(self.original.items()):
            if tensor._storage is target._storage:
                self.cloned[handle] = run_quietly(functions.clone, [tensor.detach()])
                del self.original[handle]
                del self.handles[handle.key]  # another tensor may get the same id


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[Mutations]:
    """A context in which tensors that are saved for backward may be written.

    Backward has to run in it, too. Contexts do not nest.
    """
    if mode.mutations is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    activate()
    made = mode.mutations = Mutations()
    hooks = mode.hooks
    mode.save_by((*hooks, (made.pack, made.unpack)))
    try:
        yield made
    finally:
        mode.save_by(hooks)
        mode.mutations = None
        made.original.clear()
        made.cloned.clear()
