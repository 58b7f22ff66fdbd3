"""Autograd operators, with which programs compute gradients and read autograd attributes."""

from __future__ import annotations

from typing import Any

from ...tensors import Tensor
from ..calling import functions
from ..table import declare, describe, primitive
from . import api, members
from .state import count_write, is_leaf, needs, version_of

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
    if requires_grad and self.dtype.kind not in "fc":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
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
    given = reduced(outputs, grad_outputs)
    if all(map(needs, outputs)):  # else the error is about them
        for k, x in enumerate(inputs):
            if not needs(x):
                raise RuntimeError(f"element {k} of the input tensors does not require grad")
    found = api.grad(outputs, inputs, given, retain_graph, create_graph, allow_unused=True)
    for k, g in enumerate(found):
        if g is None and not allow_unused:
            raise RuntimeError(UNUSED.format(k))
    return list(found)


UNUSED = (
    "element {}of the differentiated Tensors appears to not have been used in the graph. Set "
    "allow_unused=True if this is the desired behavior."
)
"""An error that PyTorch words otherwise in programs than in Python, as it does others here."""


def reduced(outputs: list[Tensor], given: list[Tensor | None] | None) -> Any:
    """The gradients of outputs in their shapes: larger ones are summed, as those of broadcast
    tensors.  Raises RuntimeError."""
    if not given:
        return None
    if len(given) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    made: list[Tensor | None] = []
    for k, (output, grad) in enumerate(zip(outputs, given)):
        if grad is None or not needs(output):
            made.append(grad)
            continue
        size, larger = list(output._size), list(grad._size)
        if not expands_to(size, larger):
            raise RuntimeError(
                f"invalid gradient at index {k} - got {larger} but expected shape compatible with "
                f"{size}"
            )
        made.append(grad if size == larger else functions.sum_to_size(grad, size))
    return made


def expands_to(size: list[int], larger: list[int]) -> bool:
    """Whether a tensor of this size can be expanded to a larger one."""
    pairs = zip(reversed(size), reversed(larger))
    return len(size) <= len(larger) and all(n in (1, m) for n, m in pairs)


@primitive(
    "aten::backward(Tensor self, Tensor? gradient=None, bool? retain_graph=None, "
    "bool create_graph=False) -> ()",
    effect="ordered",
)
def backward(self: Any, gradient: Any, retain_graph: Any, create_graph: Any) -> None:
    api.backward([self], reduced([self], [gradient]), retain_graph, create_graph)


@primitive(
    "aten::backward.TensorList(Tensor[] tensors, Tensor?[]? grad_tensors=None, "
    "bool? retain_graph=None, bool create_graph=False) -> ()",
    effect="ordered",
)
def backward_of_list(tensors: Any, grad_tensors: Any, retain_graph: Any, create_graph: Any) -> None:
    api.backward(tensors, reduced(tensors, grad_tensors), retain_graph, create_graph)


@primitive(
    "aten::_backward(Tensor self, Tensor[] inputs, Tensor? gradient=None, "
    "bool? retain_graph=None, bool create_graph=False) -> ()",
    effect="ordered",
)
def backward_to(
    self: Any, inputs: Any, gradient: Any, retain_graph: Any, create_graph: Any
) -> None:
    given = reduced([self], [gradient])
    api.backward([self], given, retain_graph, create_graph, inputs=inputs or None)


@primitive("scriptlang::note_writes(Tensor[] written) -> ()", effect="ordered")
def note_writes(written: list[Tensor]) -> None:
    """Count a write to each tensor: what was recorded of it before cannot go backward any more."""
    for t in written:
        count_write(t)
