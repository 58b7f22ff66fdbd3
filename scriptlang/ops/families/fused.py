"""Fused operators of the optimizer: convolutions and linear layers with the operators after them.

Passes create them in frozen modules (passes/fuse.py says when); `weight` and `bias` are constants,
which engines may convert to a format of their own.  `activation` is a key of ACTIVATIONS; `added`
is added before it.  They are not part of TorchScript: the module is saved without them.
"""

from __future__ import annotations

from ..table import find, primitive

ACTIVATIONS = {
    "none": None,
    "relu": lambda y: run("aten::relu", "", y),
    "relu6": lambda y: run("aten::clamp", "", y, 0, 6),
    "silu": lambda y: run("aten::silu", "", y),
    "gelu": lambda y: run("aten::gelu", "", y, "none"),
    "gelu_tanh": lambda y: run("aten::gelu", "", y, "tanh"),
    "hardswish": lambda y: run("aten::hardswish", "", y),
    "hardsigmoid": lambda y: run("aten::hardsigmoid", "", y),
    "sigmoid": lambda y: run("aten::sigmoid", "", y),
    "tanh": lambda y: run("aten::tanh", "", y),
}
"""Name of an activation -> the function applied to the result."""


CHANNELS_LAST = 2
"""The number of the memory format."""


def run(name: str, overload: str, *args):
    return find(name, overload).kernel(*args)


def finish(y, added, activation: str):
    if activation not in ACTIVATIONS:
        raise RuntimeError(f"unknown activation '{activation}' of a fused operator")
    if added is not None:
        y = run("aten::add", "Tensor", y, added, 1)
    ending = ACTIVATIONS[activation]
    return y if ending is None else ending(y)


@primitive(
    "scriptlang::conv2d(Tensor input, Tensor weight, Tensor? bias, int[2] stride, int[2] "
    "padding, int[2] dilation, int groups, Tensor? added, str activation, int "
    "memory_format) -> Tensor",
    weight=1,
)
def conv2d(
    input, weight, bias, stride, padding, dilation, groups, added, activation, memory_format
):
    y = run("aten::conv2d", "", input, weight, bias, stride, padding, dilation, groups)
    y = finish(y, added, activation)
    return run("aten::contiguous", "", y, memory_format) if y.dim() == 4 else y


@primitive(
    "scriptlang::expanded_conv2d(Tensor input, Tensor expansion, Tensor? expansion_bias, "
    "str expansion_activation, Tensor weight, Tensor? bias, int[2] stride, int[2] padding, "
    "int[2] dilation, int groups, Tensor? added, str activation, int memory_format) "
    "-> Tensor",
    weight=4,
)
def expanded_conv2d(
    input,
    expansion,
    expansion_bias,
    expansion_activation,
    weight,
    bias,
    stride,
    padding,
    dilation,
    groups,
    added,
    activation,
    memory_format,
):
    """A convolution after a 1 x 1 convolution, whose result an engine need not store as a whole."""
    y = conv2d(
        input,
        expansion,
        expansion_bias,
        [1, 1],
        [0, 0],
        [1, 1],
        1,
        None,
        expansion_activation,
        CHANNELS_LAST,
    )
    return conv2d(
        y, weight, bias, stride, padding, dilation, groups, added, activation, memory_format
    )


@primitive(
    "scriptlang::conv_transpose2d(Tensor input, Tensor weight, Tensor? bias, int[2] stride, "
    "int[2] padding, int[2] output_padding, int groups, int[2] dilation, Tensor? added, "
    "str activation, int memory_format) -> Tensor",
    weight=1,
)
def conv_transpose2d(
    input,
    weight,
    bias,
    stride,
    padding,
    output_padding,
    groups,
    dilation,
    added,
    activation,
    memory_format,
):
    y = run(
        "aten::conv_transpose2d",
        "input",
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )
    y = finish(y, added, activation)
    return run("aten::contiguous", "", y, memory_format) if y.dim() == 4 else y


@primitive(
    "scriptlang::linear(Tensor input, Tensor weight, Tensor? bias, Tensor? added, str "
    "activation) -> Tensor",
    weight=1,
)
def linear(input, weight, bias, added, activation):
    return finish(run("aten::linear", "", input, weight, bias), added, activation)
