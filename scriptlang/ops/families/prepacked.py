"""Layers of archives that PyTorch optimized for mobile devices: weights in XNNPACK objects.

An object's one slot holds the state that archives store: for linear layers (weight, bias, minimal
output, maximal output), for convolutions (weight, bias, stride, padding, dilation, groups, minimal,
maximal), for transposed ones with the output padding after the padding.
"""

from __future__ import annotations

from ... import types as T
from ...objects import ScriptObject
from ...tensors import Tensor
from ..table import declare, find, primitive

CLASSES = T.CUSTOM_CLASSES + "xnnpack."
LINEAR = CLASSES + "LinearOpContext"
CONV = CLASSES + "Conv2dOpContext"
TRANSPOSED = CLASSES + "TransposeConv2dOpContext"

_BOUNDS = (T.OptionalType(T.NUMBER),) * 2
_INTS = T.ListType(T.INT)
STATES = {
    LINEAR: T.TupleType((T.TENSOR, T.OptionalType(T.TENSOR), *_BOUNDS)),
    CONV: T.TupleType((T.TENSOR, T.OptionalType(T.TENSOR), *(_INTS,) * 3, T.INT, *_BOUNDS)),
    TRANSPOSED: T.TupleType((T.TENSOR, T.OptionalType(T.TENSOR), *(_INTS,) * 4, T.INT, *_BOUNDS)),
}
"""Class -> the type of its state."""


def state_of(context: ScriptObject, name: str) -> tuple:
    """The state of an object.  Raises RuntimeError if it has another class or is malformed."""
    if not isinstance(context, ScriptObject) or context.type.name != name:
        raise RuntimeError(f"expected an object of {name}")
    state = context.slots[0] if context.slots else None
    if not isinstance(state, tuple) or len(state) != len(STATES[name].elements):
        raise RuntimeError(f"an object of {name} is malformed: its state is not that of PyTorch's")
    return state


def bounded(x: Tensor, low, high) -> Tensor:
    """Clamp to two bounds; None is no bound."""
    if low is None and high is None:
        return x
    return find("aten::clamp").kernel(x, low, high)


@primitive(
    "prepacked::linear_clamp_prepack(Tensor W, Tensor? B=None, Scalar? output_min=None, "
    f"Scalar? output_max=None) -> {LINEAR}"
)
def linear_prepack(*state):
    return ScriptObject(T.custom_class(LINEAR), [state])


@primitive(
    "prepacked::conv2d_clamp_prepack(Tensor W, Tensor? B, int[2] stride, int[2] padding, "
    "int[2] dilation, int groups, Scalar? output_min=None, Scalar? output_max=None) -> "
    f"{CONV}"
)
def conv_prepack(*state):
    return ScriptObject(T.custom_class(CONV), [state])


@primitive(
    "prepacked::conv2d_transpose_clamp_prepack(Tensor W, Tensor? B, int[2] stride, int[2] "
    "padding, int[2] output_padding, int[2] dilation, int groups, Scalar? output_min=None, "
    f"Scalar? output_max=None) -> {TRANSPOSED}"
)
def transposed_prepack(*state):
    return ScriptObject(T.custom_class(TRANSPOSED), [state])


@primitive(f"prepacked::linear_clamp_run(Tensor X, {LINEAR} W_prepack) -> Tensor Y")
def linear_run(x, context):
    weight, bias, low, high = state_of(context, LINEAR)
    return bounded(find("aten::linear").kernel(x, weight, bias), low, high)


@primitive(f"prepacked::conv2d_clamp_run(Tensor X, {CONV} W_prepack) -> Tensor Y")
def conv_run(x, context):
    weight, bias, stride, padding, dilation, groups, low, high = state_of(context, CONV)
    made = find("aten::conv2d").kernel(x, weight, bias, stride, padding, dilation, groups)
    return bounded(made, low, high)


@primitive(f"prepacked::conv2d_transpose_clamp_run(Tensor X, {TRANSPOSED} W_prepack) -> Tensor Y")
def transposed_run(x, context):
    weight, bias, stride, padding, output_padding, dilation, groups, low, high = state_of(
        context, TRANSPOSED
    )
    made = find("aten::conv_transpose2d", "input").kernel(
        x, weight, bias, stride, padding, output_padding, groups, dilation
    )
    return bounded(made, low, high)


def sizes_of(t: Tensor | None):
    return None if t is None else list(t._size)


declare(
    "prepacked::unpack_prepacked_sizes_linear(Any W_prepack) -> (Any)",
    lambda context: tuple(map(sizes_of, state_of(context, LINEAR)[:2])),
    "primitive",
)
declare(
    "prepacked::unpack_prepacked_sizes_conv2d(Any W_prepack) -> (Any)",
    lambda context: (*map(sizes_of, state_of(context, CONV)[:2]), *state_of(context, CONV)[2:6]),
    "primitive",
)
