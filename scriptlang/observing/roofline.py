"""What the machine can do at most: operations and bytes a second, measured by programs.

    roof = measure()
    roof.least(flops, bytes)        # seconds that no kernel here needs less of

An operator is as fast as the machine when it comes near to the larger of two times: its operations
at the rate of a large matrix product, its bytes at the rate of a large maximum from memory.
Tensors that lie in caches move faster, and some convolutions are computed with fewer operations
than their definition has, so that an operator may do better than the roof.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ir import Function, Graph
from ..ops import table
from ..programs.module import ScriptFunction
from ..schema import Schema
from ..tensors import from_numpy


@dataclass(frozen=True)
class Roof:
    """flops, bytes: a second."""

    flops: float
    bytes: float

    def least(self, flops: float, bytes: float) -> float:
        """Seconds of so much work at the roof."""
        return max(flops / self.flops, bytes / self.bytes)


def measure(size: int = 1024, elements: int = 1 << 24, runs: int = 12) -> Roof:
    """size: of square matrices whose product is measured; elements: of
    tensors whose elementwise maximum is."""
    a = from_numpy(np.ones((size, size), np.float32))
    x = from_numpy(np.ones(elements, np.float32))
    product, total = of_operator("aten::mm", ""), of_operator("aten::maximum", "")
    return Roof(
        2 * size**3 / best(lambda: product(a, a), runs),
        3 * 4 * elements / best(lambda: total(x, x), runs),
    )


def of_operator(name: str, overload: str) -> Any:
    """A program that is one operator of two tensors."""
    operator = table.find(name, overload)
    assert operator is not None
    graph = Graph()
    inputs = [graph.block.add_parameter(a.type, a.name) for a in operator.schema.arguments]
    types = [r.type for r in operator.schema.returns]
    node = graph.insert(name, inputs, types, schema=operator.schema)
    graph.block.add_return(node.output)
    short = name.partition("::")[2]
    schema = Schema(short, "", operator.schema.arguments, operator.schema.returns)
    return ScriptFunction(Function(short, schema, graph))


def best(call: Callable[[], Any], runs: int) -> float:
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return max(min(times), 1e-9)
