"""Operators of derivatives, and those that are recorded in place of others."""

from __future__ import annotations

from typing import Any

from ...dtypes import int64
from ..shape_facts import Shape, TensorFacts
from ..sizes import mul
from . import Call, Several, rule, shared_rule


@rule("slice_backward select_backward", dtype="first")
def of_input(c: Call) -> Shape:
    return tuple(c.sizes("input_sizes"))


@rule("sum_to_size", dtype=None)
def summed(c: Call) -> Any:
    """Sums of small integers are int64, unless there is nothing to sum."""
    size, dtype = tuple(c.sizes("size")), c.tensor("self").dtype
    keeps = dtype is not None and dtype.kind in "fc"
    return TensorFacts(size, dtype if keeps else None, len(size))


@rule("nll_loss nll_loss_nd nll_loss2d", dtype="first")
def likelihood(c: Call) -> Shape:
    return c.shape("target") if c.known("reduction") == 0 else ()


@rule("nll_loss_forward nll_loss2d_forward", dtype=("first", "first"))
def likelihood_and_weight(c: Call) -> Any:
    return Several((likelihood(c), ()))


@rule("_safe_softmax", dtype=None)
def safe_softmax(c: Call) -> Any:
    fact = c.tensor("self")
    return TensorFacts(fact.shape, fact.dtype, fact.rank) if c["dtype"] is None else None


@rule("_unsafe_index_put _conj _neg_view", dtype="first")
@shared_rule(dtype="first")
def like_self(c: Call) -> Shape:
    """The shape of `self`, and the dtype of the first tensor, which may be its gradient."""
    return c.shape("self")


def asked(c: Call, *shapes: Shape) -> Any:
    """The shapes of gradients; those that a backward operator is not asked for are empty."""
    mask = c.known("output_mask")
    return Several(shape if wanted else (0,) for shape, wanted in zip(shapes, mask, strict=True))


@rule("convolution_backward", dtype=("first", "first", "first"))
def convolution(c: Call) -> Any:
    x, weight = c.shape("input"), c.shape("weight")
    outputs = mul(weight[1], c.known("groups")) if c.known("transposed") else weight[0]
    return asked(c, x, weight, (outputs,))


@rule("native_layer_norm_backward", dtype=("first", None, None))
def layer_norm_gradients(c: Call) -> Any:
    row = tuple(c.sizes("normalized_shape"))
    return asked(c, c.shape("input"), row, row)


@rule("native_batch_norm_backward native_group_norm_backward", dtype=("first", None, None))
def channel_norm_gradients(c: Call) -> Any:
    shape = c.shape("input")
    return asked(c, shape, shape[1:2], shape[1:2])


@rule("native_layer_norm", dtype=("first", "first", "first"))
def layer_norm(c: Call) -> Any:
    shape = c.shape("input")
    first = len(shape) - len(c.sizes("normalized_shape"))
    rows = shape[:first] + (1,) * (len(shape) - first)
    return Several((shape, rows, rows))


@rule("trace", dtype="kernel")
def trace(c: Call) -> Shape:
    return ()


@rule("view_as_real", dtype="kernel")
def as_real(c: Call) -> Shape:
    return (*c.shape("self"), 2)


@rule("view_as_complex", dtype="kernel")
def as_complex(c: Call) -> Shape:
    return c.shape("self")[:-1]


@rule("triu_indices tril_indices", dtype=int64)
def places(c: Call) -> Any:
    """Two rows of unknown length."""
    return 2, c.fresh()


@rule("embedding_dense_backward", ranks=2)
def rows_of_table(c: Call) -> Shape:
    return c.size("num_weights"), c.shape("grad_output")[-1]
