"""What nodes save of tensors: the tensor, checked when it is read, or its shape only."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...tensors import Storage, Tensor
from ..calling.current import mode
from .nodes import short_name
from .state import alias_with_tangents, edge_of, node_of, set_node, version_of


class Saved:
    """A tensor saved when an operator ran.

    A result is saved without a reference to its node, as that would be a cycle; `read` restores it.
    """

    __slots__ = ("edge", "is_result", "output_nr", "tensor", "version")

    def __init__(self, tensor: Tensor, output_nr: int | None = None) -> None:
        """Save a tensor; output_nr: which result of the saving node it is; None for an input."""
        if mode.program is not None and mode.program.meter is not None:
            mode.program.meter.storage(tensor._storage)
        self.version = version_of(tensor)
        self.is_result = output_nr is not None
        self.output_nr = output_nr or 0
        self.edge = None
        if self.is_result:
            self.tensor = alias_with_tangents(tensor)
        else:
            self.tensor = tensor
            self.edge = edge_of(tensor)

    def read(self, node: Any) -> Tensor:
        """The tensor.  Raises RuntimeError if it was modified since."""
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
            tensor = alias_with_tangents(tensor)
            set_node(tensor, *edge)
        return tensor

    def changed(self, node: Any) -> str:
        t = self.tensor
        kind = dtypes.DISPLAY[t.dtype.name]
        made = (node, self.output_nr) if self.is_result else None
        if node_of(t) is not None:
            made = edge_of(t)
        which = f", which is output {made[1]} of {short_name(made[0])}," if made else ""
        place = node.place()
        return (
            "one of the variables needed for gradient computation has been modified by an inplace "
            f"operation: [torch.{kind}Tensor {list(t._size)}]{which} is at version "
            f"{version_of(t)}; expected version {self.version} instead. It is needed for the "
            f"gradient of {short_name(node)}" + (f", which is computed\n{place}" if place else ".")
        )


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
