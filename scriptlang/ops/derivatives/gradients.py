"""Autograd operators, with which programs compute gradients and read autograd attributes."""

from __future__ import annotations

from typing import Any

from ...tensors import Tensor
from ..table import declare, describe, primitive
from . import api, members
from .state import count_write, is_leaf, version_of

describe(
    "detach. detach_. data. _version. is_leaf. output_nr. retains_grad. retain_grad. set_data. "
    "requires_grad_. grad. backward. backward.TensorList _backward. "
    "prim::data. prim::grad. prim::requires_grad.",
    unrecorded=True,
)
describe("requires_grad_. retain_grad. grad. backward. backward.TensorList _backward.", asks=True)
describe(
    "backward. backward.TensorList _backward. retain_grad. retains_grad. set_data. _version. "
    "prim::grad.",
    looks_back=True,
)

declare(
    "aten::detach_(Tensor(a!) self) -> Tensor(a!)", lambda self: members.detach_(self), "primitive"
)
declare("aten::is_leaf(Tensor self) -> bool", is_leaf, "primitive", effect="repeatable")
declare("aten::output_nr(Tensor self) -> int", lambda self: self.output_nr, "primitive")
declare("aten::_version(Tensor self) -> int", version_of, "primitive", effect="repeatable")
declare(
    "prim::requires_grad(Tensor a) -> bool",
    lambda a: a.requires_grad,
    "primitive",
    effect="repeatable",
)
declare("prim::data(Tensor(a) a) -> Tensor(a)", lambda a: a.data, "primitive", shape="like_first")
declare("prim::grad(Tensor a) -> Tensor(*)", lambda a: a.grad, "primitive", effect="repeatable")
declare(
    "aten::retains_grad(Tensor self) -> bool",
    lambda self: self.retains_grad,
    "primitive",
    effect="repeatable",
)


@primitive("aten::requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)")
def requires_grad_(self: Any, requires_grad: Any) -> Any:
    return members.require(self, requires_grad)


@primitive("aten::retain_grad(Tensor(a!) self) -> ()")
def retain_grad(self: Any) -> None:
    self.retain_grad()


@primitive("aten::set_data(Tensor(a!) self, Tensor new_data) -> ()")
def set_data(self: Any, new_data: Any) -> None:
    members.set_data(self, new_data)


@primitive(
    "aten::grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None, "
    "bool? retain_graph=None, bool create_graph=False, bool allow_unused=False) -> Tensor?[]",
    effect="ordered",
)
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any,
    retain_graph: Any,
    create_graph: Any,
    allow_unused: Any,
) -> Any:
    if not inputs:
        raise RuntimeError("grad requires non-empty inputs.")
    found = api.grad(
        outputs, inputs, grad_outputs or None, retain_graph, create_graph, allow_unused=allow_unused
    )
    return list(found)


@primitive(
    "aten::backward(Tensor self, Tensor? gradient=None, bool? retain_graph=None, "
    "bool create_graph=False) -> ()",
    effect="ordered",
)
def backward(self: Any, gradient: Any, retain_graph: Any, create_graph: Any) -> None:
    api.backward([self], [gradient], retain_graph, create_graph)


@primitive(
    "aten::backward.TensorList(Tensor[] tensors, Tensor?[]? grad_tensors=None, "
    "bool? retain_graph=None, bool create_graph=False) -> ()",
    effect="ordered",
)
def backward_of_list(tensors: Any, grad_tensors: Any, retain_graph: Any, create_graph: Any) -> None:
    api.backward(tensors, grad_tensors, retain_graph, create_graph)


@primitive(
    "aten::_backward(Tensor self, Tensor[] inputs, Tensor? gradient=None, "
    "bool? retain_graph=None, bool create_graph=False) -> ()",
    effect="ordered",
)
def backward_to(
    self: Any, inputs: Any, gradient: Any, retain_graph: Any, create_graph: Any
) -> None:
    api.backward([self], [gradient], retain_graph, create_graph, inputs=inputs or None)


@primitive("scriptlang::note_writes(Tensor[] written) -> ()", effect="ordered")
def note_writes(written: list[Tensor]) -> None:
    """Count a write to each tensor: what was recorded of it before cannot go backward any more."""
    for t in written:
        count_write(t)
