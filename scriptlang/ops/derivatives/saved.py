"""What nodes save of tensors: the tensor, checked when it is read, or its shape only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ... import dtypes
from ...tensors import Storage, Tensor
from ..calling.current import mode
from .nodes import short_name
from .state import (
    Edge,
    alias_with_tangents,
    edge_of,
    needs,
    node_of,
    set_edge,
    set_node,
    version_of,
)


class Saved:
    """A tensor saved when an operator ran.

    A result is saved without a reference to its node, as that would be a cycle; `read` restores it.
    hooks: a pair of users' functions. The first one was given the tensor, and what it returned is
    `packed` and kept in place of it; the second one makes the tensor again.
    """

    __slots__ = ("edge", "hooks", "is_result", "output_nr", "packed", "tensor", "version")

    tensor: Any  # None if it is packed

    def __init__(self, tensor: Tensor, output_nr: int | None = None) -> None:
        """Save a tensor; output_nr: which result of the saving node it is; None for an input."""
        if mode.program is not None and mode.program.meter is not None:
            mode.program.meter.storage(tensor._storage)
        if tensor._autograd is not None and tensor._autograd.is_inference:
            raise RuntimeError(INFERENCE)
        self.version = version_of(tensor)
        self.is_result = output_nr is not None
        self.output_nr = output_nr or 0
        self.edge: Edge | None = None
        self.hooks: tuple[Any, Any] | None = None
        self.packed: Any = None
        if mode.hooks:
            self.tensor = None
            self.edge = None if self.is_result else edge_of(tensor)
            self.pack(tensor, mode.hooks[-1])
        elif self.is_result:
            self.tensor = alias_with_tangents(tensor)
        else:
            self.tensor = tensor
            self.edge = edge_of(tensor)

    def read(self, node: Any) -> Tensor:
        """The tensor.  Raises RuntimeError if it was modified since."""
        if self.hooks is not None:
            return self.unpack(node)
        tensor = self.tensor
        if version_of(tensor) != self.version:
            raise RuntimeError(self.changed(node))
        if self.is_result:
            if tensor._autograd is None or tensor._autograd.node is None:
                tensor = alias_with_tangents(tensor)
                if tensor.dtype.kind in "fc":
                    set_node(tensor, node, self.output_nr)
            return tensor
        edge = self.edge
        if edge is not None and edge_of(tensor) != edge:
            if node_of(tensor) is None and not hasattr(edge[0], "variable"):
                raise RuntimeError(DETACHED)
            tensor = alias_with_tangents(tensor)
            set_node(tensor, *edge)
        return tensor

    def pack(self, tensor: Tensor, hooks: tuple[Any, Any]) -> None:
        """Keep what the first of the hooks makes of the tensor.  Raises if it writes to it."""
        before = version_of(tensor)
        with outside():
            self.packed = hooks[0](tensor)
        if version_of(tensor) != before:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as "
                "input to pack hook cannot be modified by in-place operations as this can lead "
                "to unexpected side-effects. Please open an issue if you need to perform in-place "
                "operations on the input to a pack hook."
            )
        self.hooks = hooks

    def unpack(self, node: Any) -> Tensor:
        """The tensor that the second of the hooks makes, with the history of the saved one."""
        with outside():
            found = self.hooks[1](self.packed) if self.hooks is not None else None
        if not isinstance(found, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(found).__name__}"
            )
        if not self.is_result and self.edge is None and not needs(found):
            return found
        made = alias_with_tangents(found)
        if self.is_result:
            if made.dtype.kind in "fc":
                set_node(made, node, self.output_nr)
        elif self.edge is not None:
            set_edge(made, self.edge)
        return made

    def register_hooks(self, pack: Any, unpack: Any) -> None:
        """Let these functions of users keep the tensor, from now on.  Raises RuntimeError if there
        are such functions already, or the tensor was written."""
        if not callable(pack) or not callable(unpack):
            raise TypeError("incompatible function arguments: hooks are two callables")
        if self.hooks is not None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. "
                "Hint: only one pair of hooks is allowed at a time."
            )
        if self.tensor is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden"
            )
        self.pack(self.tensor.detach(), (pack, unpack))
        self.tensor = None

    def changed(self, node: Any) -> str:
        t = self.tensor
        kind = dtypes.DISPLAY[t.dtype.name]
        made = (node, self.output_nr) if self.is_result else None
        if node_of(t) is not None:
            made = edge_of(t)
        which = f", which is output {made[1]} of {short_name(made[0])}," if made else ""
        needed = "to compute a checkpoint again"  # which has no node
        place = "" if node is None else node.place()
        if node is not None:
            needed = f"for the gradient of {short_name(node)}"
        return (
            "one of the variables needed for gradient computation has been modified by an inplace "
            f"operation: [torch.{kind}Tensor {list(t._size)}]{which} is at version "
            f"{version_of(t)}; expected version {self.version} instead. It is needed {needed}"
            + (f", which is computed\n{place}" if place else ".")
        )


INFERENCE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
    "inference mode in computation tracked by autograd. To work around this, you can make a clone "
    "to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
    "`torch.inference_mode()`."
)

DETACHED = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is "
    "not supported, please use out-of-place `.detach()` instead"
)


@contextmanager
def outside() -> Iterator[None]:
    """Call functions of users for saved tensors: nothing that they compute is recorded."""
    was, hooks = mode.turn(False), mode.hooks
    quiet, mode.is_quiet = mode.is_quiet, False
    try:
        yield
    finally:
        mode.turn(was)
        mode.is_quiet = quiet
        mode.save_by(hooks)


class Shape:
    """The shape, strides and type of a tensor whose elements are not used."""

    __slots__ = ("dtype", "offset", "size", "stride")

    def __init__(self, tensor: Tensor) -> None:
        self.dtype, self.size = tensor.dtype, tensor._size
        self.stride, self.offset = tensor._stride, tensor._offset

    def read(self, node: Any) -> Tensor:
        return Tensor(Storage.allocate(0), self.dtype, self.size, self.stride, self.offset)


def keep(value: Any, is_shape: bool) -> Any:
    """Save an argument or result of an operator; inverse of `read`."""
    if isinstance(value, Tensor):
        return Shape(value) if is_shape else Saved(value)
    if isinstance(value, (list, tuple)):
        return [keep(v, is_shape) for v in value]
    return value


def read(value: Any, node: Any) -> Any:
    """Restore a saved value; inverse of `keep`."""
    if isinstance(value, (Saved, Shape)):
        return value.read(node)
    if isinstance(value, list):
        return [read(v, node) for v in value]
    return value


def holds_tensor(value: Any) -> bool:
    """Whether a saved value holds the memory of a tensor, which the backward pass frees."""
    return isinstance(value, Saved) or isinstance(value, list) and any(map(holds_tensor, value))


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A context in which `saved_tensors_hooks` raises RuntimeError with this message."""
    if mode.hooks and mode.refusal is None:
        raise RuntimeError(error_message)
    before, mode.refusal = mode.refusal, error_message
    try:
        yield
    finally:
        mode.refusal = before
