"""Backward operators of padding by reflection and replication."""

from __future__ import annotations

from ...tensors import Tensor
from ..calling import functions as torch
from ..table import composite, describe


def _check_padded(grad_output: Tensor, self: Tensor, padding: list[int], number: int) -> None:
    if len(padding) != 2 * number:
        raise RuntimeError(
            "padding size is expected to be {}, but got: {}".format(2 * number, len(padding))
        )
    if self.dim() != number + 1 and self.dim() != number + 2:
        raise RuntimeError(
            "Expected {}D or {}D input tensor, but got: {}".format(
                number + 1, number + 2, self.size()
            )
        )
    if grad_output.dtype != self.dtype:
        raise RuntimeError("expected a gradient of the type of the input")
    if not (self.is_floating_point() or self.is_complex()):
        raise NotImplementedError("gradients of padding are not implemented for integers")


def _numbers(self: Tensor, dims: int) -> Tensor:
    """The numbers of the elements of a plane with `dims` dimensions, as a batch of one."""
    size = list(self.size()[self.dim() - dims :])
    count = 1
    for n in size:
        count *= n
    return torch.arange(count, dtype=torch.float64).reshape([1, 1] + size)


def _padded_back(
    grad_output: Tensor, self: Tensor, padding: list[int], number: int, mode: str
) -> Tensor:
    """The gradient of padding, per plane: added up at the elements that were copied."""
    _check_padded(grad_output, self, padding, number)
    numbers = torch.pad(_numbers(self, number), padding, mode)
    planes = list(self.size()[: self.dim() - number])
    if list(grad_output.size()) != planes + list(numbers.size()[2:]):
        raise RuntimeError(
            "a gradient of size {} does not fit padding of size {}".format(
                grad_output.size(), numbers.size()
            )
        )
    outer, width = 1, 1
    for d in range(self.dim()):
        if d < self.dim() - number:
            outer *= self.size(d)
        else:
            width *= self.size(d)
    index = numbers.reshape([-1]).to(dtype=torch.int64)
    flat = torch.zeros([outer, width], dtype=grad_output.dtype)
    made = flat.index_add(1, index, grad_output.reshape([outer, index.numel()]))
    made = made.reshape(self.size())
    last = 2 if number == 2 else 3
    if self.dim() != number + 2 or number == 1 or self.is_contiguous():
        return made
    return made.contiguous(memory_format=last) if self.is_contiguous(last) else made


@composite(
    "aten::reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor"
)
def reflection_pad1d_backward(grad_output: Tensor, self: Tensor, padding: list[int]) -> Tensor:
    return _padded_back(grad_output, self, padding, 1, "reflect")


@composite(
    "aten::reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor"
)
def reflection_pad2d_backward(grad_output: Tensor, self: Tensor, padding: list[int]) -> Tensor:
    return _padded_back(grad_output, self, padding, 2, "reflect")


@composite(
    "aten::reflection_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor"
)
def reflection_pad3d_backward(grad_output: Tensor, self: Tensor, padding: list[int]) -> Tensor:
    return _padded_back(grad_output, self, padding, 3, "reflect")


@composite(
    "aten::replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor"
)
def replication_pad1d_backward(grad_output: Tensor, self: Tensor, padding: list[int]) -> Tensor:
    return _padded_back(grad_output, self, padding, 1, "replicate")


@composite(
    "aten::replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor"
)
def replication_pad2d_backward(grad_output: Tensor, self: Tensor, padding: list[int]) -> Tensor:
    return _padded_back(grad_output, self, padding, 2, "replicate")


@composite(
    "aten::replication_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor"
)
def replication_pad3d_backward(grad_output: Tensor, self: Tensor, padding: list[int]) -> Tensor:
    return _padded_back(grad_output, self, padding, 3, "replicate")


describe(
    """reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward
    replication_pad1d_backward replication_pad2d_backward replication_pad3d_backward""",
    shape="like_self",
)
