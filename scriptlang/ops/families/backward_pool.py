"""Derivatives of pools that programs call as operators.

An average is a matrix along each dimension, which is found by pooling units; a maximum goes back to
the place that it came from.
"""

from __future__ import annotations

from ...tensors import Tensor
from ..calling import functions as torch
from ..table import composite


def _applied(grad_output: Tensor, matrices: list[Tensor]) -> Tensor:
    """The product with a matrix (before, after) along each of the last dimensions."""
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
    """Each dimension by itself; where there is a divisor the matrices are sums."""
    if len(kernel_size) != 1 and len(kernel_size) != number:
        raise RuntimeError(
            "avg_pool{}d: kernel_size must either be a single int, or a tuple of {} ints".format(
                number, words
            )
        )
    one: int | None = None
    if divisor_override is not None:
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
        matrices.append(made.reshape([size, made.size(2)]))
    return _applied(grad_output, matrices)


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
    matrices: list[Tensor] = []
    for i in range(number):
        n, m = self.size(i - number), grad_output.size(i - number)
        units = torch.eye(n, dtype=grad_output.dtype).reshape([n, 1, n, 1])
        matrices.append(torch._adaptive_avg_pool2d(units, [m, 1]).reshape([n, m]))
    return _applied(grad_output, matrices)


@composite("aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor")
def adaptive_avg_pool2d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    return _adaptive(grad_output, self, 2)


@composite("aten::_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor")
def adaptive_avg_pool3d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    return _adaptive(grad_output, self, 3)


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


def _places(grad_output: Tensor, self: Tensor, indices: Tensor, number: int) -> Tensor:
    """Each gradient at its index, which counts through the last dimensions."""
    flat = torch.zeros_like(self, memory_format=0).flatten(-number)
    return flat.scatter_add(-1, indices.flatten(-number), grad_output.flatten(-number)).view(
        self.size()
    )


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
    return _places(grad_output, self, indices, 3)


@composite(
    "aten::adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor"
)
def adaptive_max_pool2d_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    return _places(grad_output, self, indices, 2)


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
