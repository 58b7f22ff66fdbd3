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
    return torch.where(self <= threshold, 0, grad_output)


@composite("aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor", pointwise=True)
def silu_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError("silu_backward takes floating point or complex tensors")
    gate = torch.sigmoid(self)
    return grad_output * (gate * (1 + self * (1 - gate))).conj()


@composite(
    "aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] "
    "kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor "
    "indices) -> Tensor"
)
def max_pool2d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    """Each gradient goes to the place that its maximum came from."""
    if grad_output.size() != indices.size():
        raise RuntimeError(
            "max_pool2d_with_indices_backward: grad_output and indices must have the same size"
        )
    flat = torch.zeros_like(self, memory_format=0).flatten(-2)
    return flat.scatter_add(-1, indices.flatten(-2), grad_output.flatten(-2)).view(self.size())
