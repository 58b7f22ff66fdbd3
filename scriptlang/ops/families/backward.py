"""Pointwise backward operators that programs can call, and softmax and embedding."""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ...tensors import Tensor
from ..calling import functions as torch
from ..shared.elementwise import DISPLAY, rounded
from ..table import composite, primitive
from .activation import single
from .embedding import check_indices


@composite("aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor")
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    return grad_output * (mask.to(grad_output.dtype) * scale)


def _common(grad_output: Tensor, self: Tensor) -> tuple[Tensor, Tensor]:
    """Both tensors in their common type, in which bounds are compared."""
    common = torch.result_type(grad_output, self)
    return grad_output.to(dtype=common), self.to(dtype=common)


def _check_alike(grad_output: Tensor, output: Tensor) -> None:
    if grad_output.size() != output.size():
        raise RuntimeError(
            "Expected the gradient to have the same size as the output; but got {} and {}".format(
                grad_output.size(), output.size()
            )
        )
    if grad_output.dtype != output.dtype:
        raise RuntimeError("Expected the gradient to have the element type of the output")


@composite(
    "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType "
    "input_dtype) -> Tensor"
)
def softmax_backward(grad_output: Tensor, output: Tensor, dim: int, input_dtype: int) -> Tensor:
    _check_alike(grad_output, output)
    product = grad_output * output
    return (product - output * product.sum([dim], True)).to(dtype=input_dtype)


@composite(
    "aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, "
    "ScalarType input_dtype) -> Tensor"
)
def log_softmax_backward(grad_output: Tensor, output: Tensor, dim: int, input_dtype: int) -> Tensor:
    _check_alike(grad_output, output)
    return (grad_output - output.exp() * grad_output.sum([dim], True)).to(dtype=input_dtype)


@composite("aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor", out="converts")
def sigmoid_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    common = torch.result_type(grad_output, output)
    grad, x = grad_output.to(dtype=common), output.to(dtype=common)  # avoids wrapping uint8
    if x.is_complex():
        return grad * (x * (1 - x)).conj()
    if x.dtype != torch.float16:  # PyTorch rounds float16 after every step
        grad, x = single(grad), single(x)
    return (grad * (1 - x) * x).to(dtype=common)


@composite("aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor", out="converts")
def tanh_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    common = torch.result_type(grad_output, output)
    grad, x = single(grad_output.to(dtype=common)), single(output.to(dtype=common))
    if x.is_floating_point():
        return (grad * ((1 - x) * (1 + x))).to(dtype=common)  # precise for outputs near 1
    return grad * (1 - x * x).conj()


@composite(
    "aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
    out="converts",
)
def threshold_backward(grad_output: Tensor, self: Tensor, threshold: float) -> Tensor:
    grad, self = _common(grad_output, self)
    return torch.where(self <= threshold, 0, grad)


@composite("aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor", pointwise=True)
def silu_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError("silu_backward takes floating point or complex tensors")
    common = torch.result_type(grad_output, self)
    grad, x = single(grad_output), single(self)
    gate = torch.sigmoid(x)
    return (grad * (gate * (1 + x * (1 - gate))).conj()).to(dtype=common)


@composite(
    "aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val)"
    " -> Tensor",
    out="converts",
)
def hardtanh_backward(grad_output: Tensor, self: Tensor, low: float, high: float) -> Tensor:
    grad, self = _common(grad_output, self)
    return torch.where((self <= low) | (self >= high), 0, grad)


def _check_floating(x: Tensor, name: str) -> None:
    if not x.is_floating_point():
        raise NotImplementedError('"{}" not implemented for this element type'.format(name))


@composite(
    'aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate="none") -> Tensor',
    pointwise=True,
    fusible=True,
    out="converts",
)
def gelu_backward(grad_output: Tensor, self: Tensor, approximate: str = "none") -> Tensor:
    if approximate != "none" and approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    _check_floating(self, "GeluBackwardKernelImpl")
    common = torch.result_type(grad_output, self)
    grad, x = single(grad_output), single(self)
    if approximate == "tanh":
        steep = 0.7978845608028654 * (1 + 3 * 0.044715 * x * x)
        t = torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))
        made = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * steep
    else:
        density = 0.3989422804014327 * torch.exp(-0.5 * x * x)
        made = 0.5 * (1 + torch.erf(x * 0.7071067811865476)) + x * density
    return (grad * made).to(dtype=common)


@composite(
    "aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, "
    "bool is_result, Tensor self_or_result) -> Tensor",
    out="converts",
)
def elu_backward(
    grad_output: Tensor,
    alpha: float,
    scale: float,
    input_scale: float,
    is_result: bool,
    self_or_result: Tensor,
) -> Tensor:
    _check_floating(self_or_result, "elu_backward_cpu")
    if is_result and alpha < 0:
        raise RuntimeError(
            "In-place elu backward calculation is triggered with a negative slope which is not "
            "supported. This is caused by calling in-place forward function with a negative slope, "
            "please call out-of-place version instead."
        )
    common = torch.result_type(grad_output, self_or_result)
    grad, x = single(grad_output), single(self_or_result)
    if is_result:
        below = grad * input_scale * (x + alpha * scale)
    else:
        below = grad * input_scale * (alpha * scale) * torch.exp(x * input_scale)
    return torch.where(x <= 0, below, grad * scale).to(dtype=common)


@composite(
    "aten::softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold)"
    " -> Tensor",
    out="converts",
)
def softplus_backward(grad_output: Tensor, self: Tensor, beta: float, threshold: float) -> Tensor:
    _check_floating(self, "softplus_backward_cpu")
    common = torch.result_type(grad_output, self)
    grad, x = single(grad_output), single(self) * beta
    z = torch.exp(x)
    return torch.where(x > threshold, grad, grad * z / (z + 1)).to(dtype=common)


@composite("aten::hardswish_backward(Tensor grad_output, Tensor self) -> Tensor", out="converts")
def hardswish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    _check_floating(self, "hardswish_backward_cpu")
    common = torch.result_type(grad_output, self)
    grad, x = single(grad_output), single(self)
    middle = torch.where(x < 3, grad * (x / 3 + 0.5), grad)
    return torch.where(x <= -3, 0, middle).to(dtype=common)


@composite("aten::hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor", out="converts")
def hardsigmoid_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    _check_floating(self, "hardsigmoid_backward")
    common = torch.result_type(grad_output, self)
    grad, x = single(grad_output), single(self)
    return torch.where((x > -3) & (x < 3), grad / 6, 0).to(dtype=common)


@composite(
    "aten::log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor",
    out="converts",
)
def log_sigmoid_backward(grad_output: Tensor, self: Tensor, buffer: Tensor) -> Tensor:
    """buffer: exp(-|self|), as returned by log_sigmoid_forward."""
    _check_floating(self, "log_sigmoid_backward_cpu")
    common = torch.result_type(grad_output, self)
    grad, x, z = single(grad_output), single(self), single(buffer)
    part = z / (1 + z)
    return (grad * torch.where(x < 0, 1 - part, part)).to(dtype=common)


@composite("aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor")
def mish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    _check_floating(self, "mish_backward_cpu")
    common = torch.result_type(grad_output, self)
    grad, x = single(grad_output), single(self)
    t = torch.tanh(torch.log1p(torch.exp(x)))
    return (grad * (t + x * torch.sigmoid(x) * (1 - t * t))).to(dtype=common)


@composite(
    "aten::logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor",
    out="converts",
)
def logit_backward(grad_output: Tensor, self: Tensor, eps: float | None = None) -> Tensor:
    _check_floating(self, "logit_backward_cpu")
    common = torch.result_type(grad_output, self)
    grad, x = grad_output.to(dtype=common), self.to(dtype=common)
    made = grad / (x * (1 - x))  # half types round every step
    if eps is not None:
        return torch.where((x >= eps) & (x <= 1 - eps), made, 0).to(dtype=common)
    ends = torch.where((x == 0) | (x == 1), grad * float("inf"), made)
    return torch.where((x < 0) | (x > 1), float("nan"), ends).to(dtype=common)


@composite(
    "aten::hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor",
    "aten::softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor",
    out="converts",
)
def shrink_backward(grad_output: Tensor, self: Tensor, lambd: float) -> Tensor:
    grad, self = _common(grad_output, self)
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
    of_input = torch.where(above, grad_output, weight * grad_output)
    of_weight = torch.where(above, 0, self * grad_output)
    return of_input, of_weight.expand(of_input.size()).contiguous()


@primitive(
    "aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, "
    "SymInt padding_idx, bool scale_grad_by_freq) -> Tensor"
)
def embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    """Sum the rows of the gradient by their index.  An index that is no row is passed over."""
    check_indices("embedding_backward", 2, indices.dtype)
    if not grad_output._size:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if num_weights < 0:
        raise RuntimeError("zeros: Dimension size must be non-negative.")
    shape = [indices.numel(), grad_output._size[-1]]
    if shape[0] * shape[1] != grad_output.numel():
        raise RuntimeError(f"shape '{shape}' is invalid for input of size {grad_output.numel()}")
    dtype = grad_output.dtype
    grad = grad_output._array.reshape(shape).astype(dtypes.working_type(dtype))
    at = indices._array.reshape(-1)
    made = np.zeros((num_weights, shape[1]), grad.dtype)
    if made.size and grad.size and dtype in dtypes.BAREBONES:
        raise NotImplementedError(f"\"add_stub\" not implemented for '{DISPLAY[dtype.name]}'")
    places, counts = np.unique(at, return_counts=True)
    uses = dict(zip(places.tolist(), counts.tolist()))
    with np.errstate(all="ignore"):
        for place, row in zip(at.tolist(), grad):
            if place != padding_idx and 0 <= place < num_weights:
                share = 1 / uses[place] if scale_grad_by_freq else 1
                factor = np.array(share).astype(grad.dtype)  # 0 for integers that share a row
                made[place] = rounded(made[place] + factor * row, dtype)
    return Tensor._wrap(made.astype(dtype.numpy))
