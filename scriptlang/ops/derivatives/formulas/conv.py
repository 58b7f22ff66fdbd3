"""Derivatives of convolutions, which are convolutions of other tensors."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def sized(values: list[int], number: int) -> list[int]:
    """A parameter for each spatial dimension; one stands for all."""
    return [values[0] for _ in range(number)] if len(values) == 1 else values


def conv_gradient(
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
    needs: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    number = weight.dim() - 2
    stride, padding = sized(stride, number), sized(padding, number)
    dilation = sized(dilation, number)
    single = x.dim() == number + 1
    if single:
        grad, x = grad.unsqueeze(0), x.unsqueeze(0)
    of_x: Tensor | None = None
    of_weight: Tensor | None = None
    of_bias: Tensor | None = None
    if needs[0]:
        made = input_gradient(grad, x, weight, stride, padding, dilation, transposed, groups)
        of_x = made.squeeze(0) if single else made
    if needs[1]:
        kernel = weight.size()[2:]
        if transposed:
            of_weight = weight_gradient(grad, x, kernel, stride, padding, dilation, groups, True)
        else:
            of_weight = weight_gradient(x, grad, kernel, stride, padding, dilation, groups, False)
    if needs[2]:
        of_bias = grad.sum([d for d in range(grad.dim()) if d != 1])
    return of_x, of_weight, of_bias


def input_gradient(
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


def weight_gradient(
    wide: Tensor,
    narrow: Tensor,
    kernel: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    conj_narrow: bool,
) -> Tensor:
    """wide: what the kernel moves over; narrow: what has a place for each of its positions.

    For each element of the kernel the product of what it met with what came of it.
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


def conv_named(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: str,
    dilation: list[int],
    groups: int,
) -> Tensor:
    """padding: "valid" or "same", which may be one more behind than in front."""
    number = weight.dim() - 2
    stride, dilation = sized(stride, number), sized(dilation, number)
    single = x.dim() == number + 1
    if single:
        x = x.unsqueeze(0)
    both = [0 for _ in stride]
    pads: list[int] = []
    if padding == "same":
        for d in range(number):
            total = dilation[d] * (weight.size(d + 2) - 1)
            both[d] = total // 2
            pads = [0, total - 2 * both[d]] + pads
        if max(pads) > 0:
            x = torch.constant_pad_nd(x, pads)
    nothing = [0 for _ in stride]
    out = torch.convolution(x, weight, bias, stride, both, dilation, False, nothing, groups)
    return out.squeeze(0) if single else out
