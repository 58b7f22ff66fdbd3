"""How much work an operator does: floating-point operations, and bytes read and written.

A multiplication and an addition count as two operations. For convolutions, linear layers, matrix
products, attention and recurrent layers, the multiply-adds of their definitions count, whatever
algorithm is used. Pointwise operators count one operation for each result element, and reductions
one for each element they read. Operators that only move memory count none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..dtypes import DType
from ..ops.table import find

Shape = tuple[int, ...]
Shapes = Sequence[Shape]


def flops_of(kind: str, inputs: Shapes, outputs: Shapes, inside: Sequence[str] = ()) -> int:
    """The operations of an operator, by its qualified name and the shapes of its tensors.

    inside: the names of the operators of a fused group, each of which counts.
    """
    if inside:
        return max(map(math.prod, outputs), default=0) * len(inside)
    name = kind.partition("::")[2].partition(".")[0].rstrip("_").lstrip("_")
    rule = RULES.get(name)
    if rule is None:
        return sum(map(math.prod, outputs)) if is_pointwise(kind) else 0
    try:
        return rule(inputs, outputs)
    except (IndexError, StopIteration):
        return 0  # it was called with fewer tensors or dimensions than expected


def bytes_of(tensors: Sequence[tuple[DType, Shape]]) -> int:
    return sum(math.prod(shape) * dtype.itemsize for dtype, shape in tensors)


def is_pointwise(kind: str) -> bool:
    name, _, overload = kind.partition(".")
    operator = find(name, overload)
    return operator is not None and operator.facts.pointwise


def convolution(inputs: Shapes, outputs: Shapes) -> int:
    weight = inputs[1]
    return 2 * math.prod(outputs[0]) * math.prod(weight[1:])


def transposed(inputs: Shapes, outputs: Shapes) -> int:
    return 2 * math.prod(inputs[0]) * math.prod(inputs[1][1:])


def linear(inputs: Shapes, outputs: Shapes) -> int:
    return 2 * math.prod(outputs[0]) * inputs[1][-1]


def product(inputs: Shapes, outputs: Shapes) -> int:
    return 2 * math.prod(outputs[0]) * inputs[0][-1]


def added_product(inputs: Shapes, outputs: Shapes) -> int:
    return 2 * math.prod(outputs[0]) * inputs[1][-1]


def attention(inputs: Shapes, outputs: Shapes) -> int:
    query, key, value = inputs[:3]
    return 2 * math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])


def cell(inputs: Shapes, outputs: Shapes) -> int:
    """One step: each row is multiplied with all weight matrices."""
    weights = [s for s in inputs if len(s) == 2][2:]
    return 2 * inputs[0][0] * sum(map(math.prod, weights))


def expanded(inputs: Shapes, outputs: Shapes) -> int:
    """A 1 x 1 convolution followed by another one."""
    image, expansion = inputs[:2]
    weight = next(s for s in inputs[2:] if len(s) == 4)
    first = 2 * math.prod(image) * expansion[0]
    return first + 2 * math.prod(outputs[0]) * math.prod(weight[1:])


def recurrent(inputs: Shapes, outputs: Shapes) -> int:
    """Each step of each sequence is multiplied with all weight matrices."""
    weights = [s for s in inputs[1:] if len(s) == 2]
    return 2 * math.prod(inputs[0][:-1]) * sum(map(math.prod, weights))


def reads(inputs: Shapes, outputs: Shapes) -> int:
    return math.prod(inputs[0])


def normalises(inputs: Shapes, outputs: Shapes) -> int:
    return 5 * math.prod(inputs[0])


Rule = Callable[[Shapes, Shapes], int]

RULES: dict[str, Rule] = {
    **dict.fromkeys(
        "conv1d conv2d conv3d convolution thnn_conv2d conv_depthwise2d".split(), convolution
    ),
    **dict.fromkeys("conv_transpose1d conv_transpose2d conv_transpose3d".split(), transposed),
    **dict.fromkeys("linear addmv".split(), linear),
    **dict.fromkeys("mm bmm matmul mv dot".split(), product),
    **dict.fromkeys("addmm baddbmm addbmm".split(), added_product),
    "expanded_conv2d": expanded,
    "scaled_dot_product_attention": attention,
    **dict.fromkeys("lstm gru rnn_tanh rnn_relu".split(), recurrent),
    **dict.fromkeys("lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell".split(), cell),
    **dict.fromkeys(
        "sum mean max min amax amin prod argmax argmin var std norm cumsum all any"
        " max_pool1d max_pool2d avg_pool1d avg_pool2d adaptive_avg_pool1d"
        " adaptive_avg_pool2d adaptive_max_pool2d".split(),
        reads,
    ),
    **dict.fromkeys(
        "softmax log_softmax layer_norm batch_norm group_norm instance_norm"
        " native_layer_norm native_batch_norm native_group_norm".split(),
        normalises,
    ),
}
"""How to count the operations, by the name of the operator."""
