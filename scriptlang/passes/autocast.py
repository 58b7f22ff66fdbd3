"""Replaces `with torch.autocast("cpu")` by conversions, placed where PyTorch's JIT places them.

    %e = prim::Enter[reduced=15](%c)           %a = aten::_autocast_to_reduced_precision(%x, ...)
    %y = aten::mm(%x, %w)                ->    %b = aten::_autocast_to_reduced_precision(%w, ...)
                                               %y = aten::mm(%a, %b)

The front end stores the dtype of lower precision, or DISABLED, in the prim::Enter node. Autocast
for other devices does not affect tensors on the CPU, so nothing is stored for it.
"""

from __future__ import annotations

from .. import dtypes
from .. import types as T
from ..ir import Block, Graph, Node, Value
from ..ops import table

DISABLED = -1
"""The attribute `reduced` of a prim::Enter that switches autocast off."""

UNSAFE_TEXT = (
    "binary_cross_entropy is unsafe to autocast; use binary_cross_entropy_with_logits, "
    "or disable autocast around it"
)


def run(graph: Graph) -> bool:
    """Insert the conversions. The attribute is removed, so each prim::Enter is handled once."""
    if not any("reduced" in node.attributes for node in graph.walk()):
        return False
    _block(graph.block, [])
    return True


def _block(block: Block, open: list[tuple[Value, int]]) -> None:
    """`open`: the autocast contexts around this point, innermost last."""
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
    """Let the program raise when it reaches an operator that autocast does not allow."""
    graph, schema = node.graph, table.schema_of("prim::RaiseException")
    with graph.at(node):
        parts = [graph.constant(text, like=node) for text in (UNSAFE_TEXT, "builtins.RuntimeError")]
        graph.insert("prim::RaiseException", parts, schema=schema, like=node)


def _convert(node: Node, dtype: int) -> None:
    name = table.facts_of(node.schema).autocast
    if name == "refused":
        _refuse(node)
    if name != "reduced" and (name != "full" or _has_dtype(node)):
        return
    schema = table.schema_of(f"aten::_autocast_to_{name}_precision")
    graph = node.graph
    with graph.at(node):
        reduced = (dtypes.float16.code, dtype) if name == "reduced" else ()
        further = [graph.constant(v, like=node) for v in (False, True, *reduced)]
        for i, value in enumerate(node.inputs):
            if value.type == T.TENSOR:
                made = graph.insert(
                    schema.name, [value, *further], [T.TENSOR], schema=schema, like=node
                )
                node.replace_input(i, made.output)


def _has_dtype(node: Node) -> bool:
    """Whether the node is given a dtype; autocast then leaves it alone."""
    at = node.schema.index("dtype") if node.schema else None
    return at is not None and node.inputs[at].type != T.NONE
