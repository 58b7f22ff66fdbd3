"""The names of torch.autograd.graph: nodes and edges, and hooks of what is saved for backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops.calling.current import mode
from ..ops.derivatives import nodes
from ..ops.derivatives.edges import (
    GradientEdge,
    get_gradient_edge,
    increment_version,
    register_multi_grad_hook,
)
from ..ops.derivatives.mutation import allow_mutation_on_saved_tensors
from ..ops.derivatives.saved import disable_saved_tensors_hooks
from ..tensors import Tensor

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class NodeKind(type):
    """The type of Node, of which nodes are instances without being made by it."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, nodes.Node)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, nodes.Node)


class Node(metaclass=NodeKind):
    """What `isinstance` asks whether something is a node of the graph; it makes none.

    Nodes have `name()`, `next_functions`, `metadata`, `register_hook`, `register_prehook`.
    """

    def __new__(cls) -> Node:
        raise TypeError("nodes of the graph are made by operators")


class saved_tensors_hooks:
    """A context in which nodes keep what `pack_hook` makes of the tensors that they save.

    `unpack_hook` makes the tensor again, when backward needs it. Of nested contexts the innermost
    counts. What programs of the native engine save is not given to the hooks.
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if mode.refusal is not None:
            raise RuntimeError(mode.refusal)
        mode.save_by((*mode.hooks, (self.pack_hook, self.unpack_hook)))

    def __exit__(self, *raised: Any) -> None:
        mode.save_by(mode.hooks[:-1])


class save_on_cpu(saved_tensors_hooks):
    """A context in which nodes keep copies of what they save; there are no devices but the CPU."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: tensor.cpu(), lambda packed: packed)
