"""Derivatives of convolutions, which are themselves convolutions."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def sized(values: list[int], number: int) -> list[int]:
    """The values of a parameter for each spatial dimension; a single value is repeated."""
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
    of_x, of_weight, of_bias = torch.convolution_backward(
        grad,
        x,
        weight,
        None,
        stride,
        padding,
        dilation,
        transposed,
        sized(output_padding, number),
        groups,
        [needs[0], needs[1], needs[2]],
    )
    if single:
        of_x = of_x.squeeze(0) if needs[0] else of_x
    return (
        of_x if needs[0] else None,
        of_weight if needs[1] else None,
        of_bias if needs[2] else None,
    )


def conv_named(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: str,
    dilation: list[int],
    groups: int,
) -> Tensor:
    """A convolution with padding "valid" or "same", which may pad one element more at the end."""
    number = weight.dim() - 2
    stride, dilation = sized(stride, number), sized(dilation, number)
    if padding != "same" and padding != "valid":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if padding == "same" and max(stride) != 1:
        raise RuntimeError("padding='same' is not supported for strided convolutions")
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


def convolved(
    x: Tensor,
    weight: Tensor,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
) -> Tensor:
    """A convolution without bias, of a batch or of a single example."""
    number = weight.dim() - 2
    single = x.dim() == number + 1
    made = torch.convolution(
        x.unsqueeze(0) if single else x,
        weight,
        None,
        sized(stride, number),
        sized(padding, number),
        sized(dilation, number),
        transposed,
        sized(output_padding, number),
        groups,
    )
    return made.squeeze(0) if single else made
