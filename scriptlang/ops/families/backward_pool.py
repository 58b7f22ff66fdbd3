"""Backward operators of pools that programs can call.

An average pool is a matrix along each dimension, found by pooling an identity matrix; the gradient
of a maximum goes to the element that it came from.
"""

from __future__ import annotations

from ...tensors import Tensor
from ..calling import functions as torch
from ..table import composite, describe


def _check(grad_output: Tensor, self: Tensor, number: int) -> None:
    """Raise if the gradient does not have the input's type and outer dimensions."""
    if self.dim() != number + 1 and self.dim() != number + 2:
        raise RuntimeError(
            "Expected {}D or {}D input tensor, but got: {}".format(
                number + 1, number + 2, self.size()
            )
        )
    if grad_output.dtype != self.dtype:
        raise RuntimeError("expected a gradient of the type of the input")
    if not self.is_floating_point():
        raise NotImplementedError("gradients of pools are not implemented for integers")
    if grad_output.size()[:-number] != self.size()[:-number]:
        raise RuntimeError(
            "a gradient of size {} does not fit an input of size {}".format(
                grad_output.size(), self.size()
            )
        )


def _laid(made: Tensor, self: Tensor, number: int) -> Tensor:
    """The tensor, in channels-last memory format if the input is."""
    last = 2 if number == 2 else 3
    if self.dim() != number + 2 or self.is_contiguous() or not self.is_contiguous(last):
        return made
    return made.contiguous(memory_format=last)


def _applied(grad_output: Tensor, matrices: list[Tensor]) -> Tensor:
    """Multiply by a matrix (before, after) along each of the last dimensions."""
    for i, matrix in enumerate(matrices):
        dim = i - len(matrices)
        grad_output = grad_output.transpose(dim, -1).matmul(matrix.t()).transpose(dim, -1)
    return grad_output


def _averages(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    number: int,
    words: str,
) -> Tensor:
    """The gradient of average pools, by dimension; with a divisor, the matrices are sums."""
    _check(grad_output, self, number)
    counts = [len(kernel_size), len(padding), number if len(stride) == 0 else len(stride)]
    for count in counts:
        if count != 1 and count != number:
            raise RuntimeError(
                "avg_pool{}d: kernel_size, stride and padding must either be a single int, or a "
                "tuple of {} ints".format(number, words)
            )
    one: int | None = None
    if divisor_override is not None:
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        one = 1
        grad_output = grad_output / divisor_override
    matrices: list[Tensor] = []
    for i in range(number):
        size = self.size(i - number)
        k = kernel_size[i if len(kernel_size) > 1 else 0]
        s = k if len(stride) == 0 else stride[i if len(stride) > 1 else 0]
        p = padding[i if len(padding) > 1 else 0]
        units = torch.eye(size, dtype=grad_output.dtype).reshape([size, 1, size, 1])
        made = torch.avg_pool2d(units, [k, 1], [s, 1], [p, 0], ceil_mode, count_include_pad, one)
        if made.size(2) != grad_output.size(i - number):
            raise RuntimeError(
                "a gradient of size {} does not fit the pool".format(grad_output.size())
            )
        matrices.append(made.reshape([size, made.size(2)]))
    made = _applied(grad_output, matrices)
    return _laid(made, self, 2) if number == 2 else made


@composite(
    "aten::avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, "
    "int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor"
)
def avg_pool2d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    return _averages(
        grad_output,
        self,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
        2,
        "two",
    )


@composite(
    "aten::avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, "
    "int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor"
)
def avg_pool3d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    return _averages(
        grad_output,
        self,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
        3,
        "three",
    )


def _adaptive(grad_output: Tensor, self: Tensor, number: int) -> Tensor:
    _check(grad_output, self, number)
    matrices: list[Tensor] = []
    for i in range(number):
        n, m = self.size(i - number), grad_output.size(i - number)
        if n == 0 or m == 0:
            raise RuntimeError(
                "Expected grad_output to have non-zero size for non-batch dimensions, but "
                "grad_output has sizes {}, and the input {}".format(grad_output.size(), self.size())
            )
        units = torch.eye(n, dtype=grad_output.dtype).reshape([n, 1, n, 1])
        matrices.append(torch._adaptive_avg_pool2d(units, [m, 1]).reshape([n, m]))
    made = _applied(grad_output, matrices)
    return _laid(made, self, 2) if number == 2 else made


@composite("aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor")
def adaptive_avg_pool2d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    return _adaptive(grad_output, self, 2)


@composite("aten::_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor")
def adaptive_avg_pool3d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    return _adaptive(grad_output, self, 3)


def _places(grad_output: Tensor, self: Tensor, indices: Tensor, number: int) -> Tensor:
    """Add each gradient at its index, which counts elements of the last `number` dimensions."""
    _check(grad_output, self, number)
    if grad_output.size() != indices.size():
        raise RuntimeError("grad_output and indices must have the same size")
    if indices.dtype != torch.int64:
        raise RuntimeError("expected scalar type Long for indices")
    flat = torch.zeros_like(self, memory_format=0).flatten(-number)
    return flat.scatter_add(-1, indices.flatten(-number), grad_output.flatten(-number)).view(
        self.size()
    )


def _check_windows(
    name: str,
    number: int,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
) -> None:
    """Raise if the parameters are not valid for a pool."""
    for given in [kernel_size, padding, dilation]:
        if len(given) != 1 and len(given) != number:
            raise RuntimeError("{}: each setting is one int, or one a dimension".format(name))
    if len(stride) > 1 and len(stride) != number:
        raise RuntimeError("{}: stride must either be omitted, or given by dimension".format(name))
    for d in range(number):
        k = kernel_size[d if len(kernel_size) > 1 else 0]
        p = padding[d if len(padding) > 1 else 0]
        step = dilation[d if len(dilation) > 1 else 0]
        s = k if len(stride) == 0 else stride[d if len(stride) > 1 else 0]
        if k <= 0 or s <= 0 or step <= 0:
            raise RuntimeError(
                "{}: kernel size, stride and dilation should be greater than zero".format(name)
            )
        if p < 0 or p > (step * (k - 1) + 1) // 2:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got "
                "pad={}, kernel_size={} and dilation={}".format(p, k, step)
            )


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
    _check_windows("max_pool2d", 2, kernel_size, stride, padding, dilation)
    return _laid(_places(grad_output, self, indices, 2), self, 2)


@composite(
    "aten::max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] "
    "kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor "
    "indices) -> Tensor"
)
def max_pool3d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    _check_windows("max_pool3d", 3, kernel_size, stride, padding, dilation)
    return _laid(_places(grad_output, self, indices, 3), self, 3)


@composite(
    "aten::adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor"
)
def adaptive_max_pool2d_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    return _laid(_places(grad_output, self, indices, 2), self, 2)


@composite(
    "aten::adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor"
)
def adaptive_max_pool3d_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    return _places(grad_output, self, indices, 3)


@composite(
    "aten::fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, "
    "int[2] output_size, Tensor indices) -> Tensor"
)
def fractional_max_pool2d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: list[int],
    output_size: list[int],
    indices: Tensor,
) -> Tensor:
    return _places(grad_output, self, indices, 2)


@composite(
    "aten::fractional_max_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, "
    "int[3] output_size, Tensor indices) -> Tensor"
)
def fractional_max_pool3d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: list[int],
    output_size: list[int],
    indices: Tensor,
) -> Tensor:
    return _places(grad_output, self, indices, 3)


describe(
    """avg_pool2d_backward avg_pool3d_backward _adaptive_avg_pool2d_backward
    _adaptive_avg_pool3d_backward max_pool2d_with_indices_backward
    max_pool3d_with_indices_backward adaptive_max_pool2d_backward
    adaptive_max_pool3d_backward fractional_max_pool2d_backward
    fractional_max_pool3d_backward""",
    shape="like_self",
)
