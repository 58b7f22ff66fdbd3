"""`with torch.autocast("cpu")` as the conversions it stands for, decided as PyTorch's JIT decides.

    %e = prim::Enter[reduced=15](%c)           %a = aten::_autocast_to_reduced_precision(%x, ...)
    %y = aten::mm(%x, %w)                ->    %b = aten::_autocast_to_reduced_precision(%w, ...)
                                               %y = aten::mm(%a, %b)

The front end notes on prim::Enter the dtype of lower precision, or DISABLED.  Autocast for other
devices leaves tensors on the CPU as they are, so it is not noted at all.
"""

from __future__ import annotations

from .. import types as T
from ..ir import Block, Graph, Node, Value
from ..ops import table

DISABLED = -1
"""The attribute `reduced` of a prim::Enter that switches autocast off."""

REDUCED = frozenset("aten::" + name for name in """
    _convolution _thnn_fused_gru_cell _thnn_fused_lstm_cell addbmm addmm addmv addr baddbmm bmm
    conv1d conv2d conv3d conv_tbc conv_transpose1d convolution gru_cell linalg_matmul linear
    lstm_cell matmul mm mv prelu rnn_relu_cell rnn_tanh_cell""".split())
"""Operators that get their tensors in lower precision."""

FULL = frozenset("aten::" + name for name in """
    acos log_softmax add addcdiv addcmul arccos arcsin arctan2 asin atan2 bilinear
    binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss cosine_similarity cross dist
    div divide dot equal erfinv exp expm1 frobenius_norm gelu group_norm hinge_embedding_loss
    index_put kl_div l1_loss layer_norm log log10 log1p log2 logsumexp margin_ranking_loss mse_loss
    mul multi_margin_loss multilabel_margin_loss multiply native_layer_norm nll_loss nll_loss2d
    nuclear_norm pdist pow reciprocal renorm rsqrt rsub sinh smooth_l1_loss soft_margin_loss
    softplus special_erfinv special_expm1 special_log1p special_log_softmax special_logsumexp sub
    subtract tan tensordot triplet_margin_loss true_divide cumprod cumsum prod sum""".split())
"""Operators that get their tensors in full precision."""

AS_THEY_ARE = ("aten::rsub.Scalar",)
"""Overloads of those that are left alone."""


UNSAFE = ("aten::binary_cross_entropy",)
"""Operators whose result in lower precision means nothing."""

UNSAFE_TEXT = ("binary_cross_entropy is unsafe to autocast; use binary_cross_entropy_with_logits, "
               "or disable autocast around it")


def run(graph: Graph) -> bool:
    """Insert the conversions.  Each prim::Enter is looked at once."""
    if not any("reduced" in node.attributes for node in graph.walk()):
        return False
    _block(graph.block, [])
    return True


def _block(block: Block, open: list[tuple[Value, int]]) -> None:
    """`open`: the contexts entered around and before, innermost last."""
    for node in list(block.nodes):
        if node.kind == "prim::Enter" and "reduced" in node.attributes:
            open.append((node.inputs[0], node.attributes.pop("reduced")))
        elif node.kind == "prim::Exit" and open and open[-1][0] is node.inputs[0]:
            open.pop()
        elif open and open[-1][1] != DISABLED:
            _convert(node, open[-1][1])
        for inner in node.blocks:
            _block(inner, open)


def _refuse(node: Node) -> None:
    """Let the program raise where it comes to an operator that cannot be meant there."""
    graph, operator = node.graph, table.find("prim::RaiseException")
    with graph.at(node):
        parts = [graph.constant(text, like=node) for text in (UNSAFE_TEXT, "builtins.RuntimeError")]
        graph.insert("prim::RaiseException", parts, schema=operator.schema, like=node)


def _convert(node: Node, dtype: int) -> None:
    if node.kind in UNSAFE:
        _refuse(node)
    if node.kind not in REDUCED and (node.kind not in FULL or _is_exempt(node)):
        return
    name = "reduced" if node.kind in REDUCED else "full"
    operator = table.find(f"aten::_autocast_to_{name}_precision")
    graph = node.graph
    with graph.at(node):
        further = [graph.constant(v, like=node) for v in
                   ((False, True, 5, dtype) if name == "reduced" else (False, True))]
        for i, value in enumerate(node.inputs):
            if value.type == T.TENSOR:
                made = graph.insert(operator.schema.name, [value, *further], [T.TENSOR],
                                    schema=operator.schema, like=node)
                node.replace_input(i, made.output)


def _is_exempt(node: Node) -> bool:
    """Whether an operator is left alone: an overload that is, or one whose result has a dtype."""
    schema = node.schema
    if f"{schema.name}.{schema.overload}" in AS_THEY_ARE:
        return True
    at = schema.index("dtype")
    return at is not None and node.inputs[at].type != T.NONE
