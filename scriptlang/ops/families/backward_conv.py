"""Derivatives of convolutions, which are themselves convolutions."""

from __future__ import annotations

from ...tensors import Tensor
from ..calling import functions as torch
from ..table import composite


def _sized(values: list[int], number: int) -> list[int]:
    """The values of a parameter for each spatial dimension; a single value is repeated."""
    return [values[0] for _ in range(number)] if len(values) == 1 else values


def _of_input(
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    groups: int,
) -> Tensor:
    if x.numel() == 0 or grad.numel() == 0:
        return torch.zeros(x.size(), dtype=grad.dtype)
    nothing = [0 for _ in stride]
    if transposed:
        made = torch.convolution(
            grad, weight.conj(), None, stride, padding, dilation, False, nothing, groups
        )
        for d in range(len(stride)):
            made = made.narrow(d + 2, 0, x.size(d + 2))
        return made
    rest: list[int] = []
    for d in range(len(stride)):
        full = (grad.size(d + 2) - 1) * stride[d] - 2 * padding[d]
        full += dilation[d] * (weight.size(d + 2) - 1) + 1
        rest.append(x.size(d + 2) - full)
    return torch.convolution(
        grad, weight.conj(), None, stride, padding, dilation, True, rest, groups
    )


def _of_weight(
    wide: Tensor,
    narrow: Tensor,
    kernel: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    conj_narrow: bool,
) -> Tensor:
    """The gradient of a convolution's weight.

    wide: the tensor that the kernel moves over; narrow: the one with an element for each position
    of the kernel.  Each weight's gradient is the sum over positions of wide's element times
    narrow's.
    """
    if conj_narrow:
        narrow = narrow.conj()
    else:
        wide = wide.conj()
    number = len(kernel)
    channels, outs = wide.size(1) // groups, narrow.size(1) // groups
    if wide.numel() == 0 or narrow.numel() == 0:
        return torch.zeros([narrow.size(1), channels] + list(kernel), dtype=wide.dtype)
    pads: list[int] = []
    for p in padding:
        pads = [p, p] + pads
    if max(padding) > 0:
        wide = torch.constant_pad_nd(wide, pads)
    made = narrow.transpose(0, 1).reshape([groups, outs, -1])
    elements = 1
    for n in kernel:
        elements *= n
    parts: list[Tensor] = []
    for element in range(elements):
        met, rest = wide, element
        for i in range(number):
            d = number - 1 - i
            start = rest % kernel[d] * dilation[d]
            rest = rest // kernel[d]
            end = start + (narrow.size(d + 2) - 1) * stride[d] + 1
            met = torch.slice(met, d + 2, start, end, stride[d])
        rows = met.transpose(0, 1).reshape([groups, channels, -1])
        parts.append(made.matmul(rows.transpose(1, 2)))
    whole = torch.stack(parts, -1)
    return whole.reshape([groups * outs, channels] + list(kernel))


def _check_gradient(
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
) -> None:
    """Raise if the arguments do not match; a convolution of an empty batch checks them."""
    if x.dim() != weight.dim() or grad.dim() != x.dim():
        raise RuntimeError("grad_output, input and weight must have as many dimensions")
    if grad.dtype != x.dtype or weight.dtype != x.dtype:
        raise RuntimeError("grad_output, input and weight must be of one type")
    if not (x.is_floating_point() or x.is_complex()):
        raise NotImplementedError("gradients of convolutions are not implemented for integers")
    none = x.narrow(0, 0, 0)
    made = torch.convolution(
        none, weight, None, stride, padding, dilation, transposed, output_padding, groups
    )
    if list(grad.size()) != [x.size(0)] + list(made.size()[1:]):
        raise RuntimeError(
            "a gradient of size {} does not fit a convolution of size {}".format(
                grad.size(), made.size()
            )
        )


@composite(
    "aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? "
    "bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] "
    "output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
)
def convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: list[int] | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
    output_mask: list[bool],
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of input, weight and bias; those that output_mask excludes are empty."""
    number = weight.dim() - 2
    if number < 1 or number > 3:
        raise RuntimeError("expected a weight of 3 to 5 dimensions")
    if len(output_mask) != 3:
        raise RuntimeError("output_mask must be three bools")
    stride, padding = _sized(stride, number), _sized(padding, number)
    dilation, rest = _sized(dilation, number), _sized(output_padding, number)
    _check_gradient(grad_output, input, weight, stride, padding, dilation, transposed, rest, groups)
    none = torch.zeros([0], dtype=input.dtype)
    of_x, of_weight, of_bias = none, none, none
    grad, x = grad_output, input
    if output_mask[0]:
        of_x = _of_input(grad, x, weight, stride, padding, dilation, transposed, groups)
    if output_mask[1]:
        kernel = weight.size()[2:]
        if transposed:
            of_weight = _of_weight(grad, x, kernel, stride, padding, dilation, groups, True)
        else:
            of_weight = _of_weight(x, grad, kernel, stride, padding, dilation, groups, False)
    if output_mask[2]:
        of_bias = grad.sum([d for d in range(grad.dim()) if d != 1])
    return of_x, of_weight, of_bias
