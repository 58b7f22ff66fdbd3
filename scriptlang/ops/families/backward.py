"""Derivatives that programs call as operators."""

from __future__ import annotations

from ...tensors import Tensor
from ..calling import functions as torch
from ..table import composite


@composite("aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor")
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    return grad_output * (mask.to(grad_output.dtype) * scale)


@composite(
    "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType "
    "input_dtype) -> Tensor"
)
def softmax_backward(grad_output: Tensor, output: Tensor, dim: int, input_dtype: int) -> Tensor:
    product = grad_output * output
    return (product - output * product.sum([dim], True)).to(dtype=input_dtype)


@composite(
    "aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, "
    "ScalarType input_dtype) -> Tensor"
)
def log_softmax_backward(grad_output: Tensor, output: Tensor, dim: int, input_dtype: int) -> Tensor:
    return (grad_output - output.exp() * grad_output.sum([dim], True)).to(dtype=input_dtype)


@composite("aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor", out="converts")
def sigmoid_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    output = output.to(dtype=torch.result_type(grad_output, output))  # bytes would wrap
    return grad_output * (output * (1 - output)).conj()


@composite("aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor", out="converts")
def tanh_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    output = output.to(dtype=torch.result_type(grad_output, output))  # bytes would wrap
    return grad_output * (1 - output * output).conj()


@composite(
    "aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
    out="converts",
)
def threshold_backward(grad_output: Tensor, self: Tensor, threshold: float) -> Tensor:
    grad = grad_output.to(dtype=torch.result_type(grad_output, self))
    return torch.where(self <= threshold, 0, grad)


@composite("aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor", pointwise=True)
def silu_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError("silu_backward takes floating point or complex tensors")
    gate = torch.sigmoid(self)
    return grad_output * (gate * (1 + self * (1 - gate))).conj()


@composite(
    "aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val)"
    " -> Tensor",
    out="converts",
)
def hardtanh_backward(grad_output: Tensor, self: Tensor, low: float, high: float) -> Tensor:
    grad = grad_output.to(dtype=torch.result_type(grad_output, self))
    return torch.where((self <= low) | (self >= high), 0, grad)


@composite(
    "aten::hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor",
    "aten::softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor",
    out="converts",
)
def shrink_backward(grad_output: Tensor, self: Tensor, lambd: float) -> Tensor:
    grad = grad_output.to(dtype=torch.result_type(grad_output, self))
    return torch.where((self >= -lambd) & (self <= lambd), 0, grad)


@composite(
    "aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool "
    "self_is_result) -> Tensor",
    out="converts",
)
def leaky_relu_backward(
    grad_output: Tensor, self: Tensor, negative_slope: float, self_is_result: bool
) -> Tensor:
    grad = grad_output.to(dtype=torch.result_type(grad_output, self))
    return torch.where(self > 0, grad, torch.mul(grad, negative_slope))


@composite(
    "aten::_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight)"
    " -> (Tensor, Tensor)"
)
def prelu_backward(grad_output: Tensor, self: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    above = self > 0
    return (
        torch.where(above, grad_output, weight * grad_output),
        torch.where(above, 0, self * grad_output),
    )


@composite(
    "aten::nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, "
    "int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
    "aten::nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, "
    "int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
)
def nll_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    """Minus the weight of the class at each target that counts; of the mean by their sum."""
    dim = 1 if self.dim() > 1 else 0
    index = target.to(dtype=torch.int64)
    if dim == 0:
        index = index.reshape([])
    counts = index != ignore_index
    index = torch.where(counts, index, 0)
    share = counts.to(dtype=grad_output.dtype)
    if weight is not None:
        share = share * weight.take(index)
    if reduction == 1:
        grad_output = grad_output / total_weight
    filled = (-share * grad_output).unsqueeze(dim)
    zeros = torch.zeros(self.size(), dtype=grad_output.dtype)
    return zeros.scatter(dim, index.unsqueeze(dim), filled)


def _numbers(self: Tensor, dims: int) -> Tensor:
    """The numbers of the elements of a plane of so many dimensions, as a batch of one."""
    size = list(self.size()[self.dim() - dims :])
    count = 1
    for n in size:
        count *= n
    return torch.arange(count, dtype=torch.float64).reshape([1, 1] + size)


def _added_back(grad_output: Tensor, self: Tensor, numbers: Tensor) -> Tensor:
    """Each plane of a gradient, added up where its elements came from."""
    inner = numbers.dim() - 2
    outer, width = 1, 1
    for d in range(self.dim()):
        if d < self.dim() - inner:
            outer *= self.size(d)
        else:
            width *= self.size(d)
    index = numbers.reshape([-1]).to(dtype=torch.int64)
    flat = torch.zeros([outer, width], dtype=grad_output.dtype)
    made = flat.index_add(1, index, grad_output.reshape([outer, index.numel()]))
    return made.reshape(self.size())


@composite(
    "aten::reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor",
    "aten::reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor",
    "aten::reflection_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor",
)
def reflection_pad_backward(grad_output: Tensor, self: Tensor, padding: list[int]) -> Tensor:
    numbers = torch.pad(_numbers(self, len(padding) // 2), padding, "reflect")
    return _added_back(grad_output, self, numbers)


@composite(
    "aten::replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding)"
    " -> Tensor",
    "aten::replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding)"
    " -> Tensor",
    "aten::replication_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding)"
    " -> Tensor",
)
def replication_pad_backward(grad_output: Tensor, self: Tensor, padding: list[int]) -> Tensor:
    numbers = torch.pad(_numbers(self, len(padding) // 2), padding, "replicate")
    return _added_back(grad_output, self, numbers)
