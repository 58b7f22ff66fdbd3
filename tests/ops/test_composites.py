"""Every composite operator's body compiles in the language it is written in."""

from __future__ import annotations

import pytest

from scriptlang.ops import table

COMPOSITES = [op for op in table.all_operators() if op.is_composite]


@pytest.mark.parametrize("op", COMPOSITES, ids=lambda op: op.qualified_name)
def test_body_compiles(op):
    graph = op.compile_body().graph
    assert len(graph.inputs) == len(op.schema.arguments)
    assert len(graph.block.returns) == max(
        len(op.schema.returns), 0 if not op.schema.returns else 1
    )
