"""The upper limits of the machine: operations and bytes per second, measured with programs.

    roof = measure()
    roof.least(flops, bytes)        # the seconds that such work takes at least

An operator is as fast as the machine allows if its time is close to the larger of two: its
operations at the rate of a large matrix product, and its bytes at the rate of a large element-wise
maximum. Tensors in caches move faster, and some convolution algorithms need fewer operations than
the definition, so an operator may be faster than this.
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
    """flops, bytes: the most operations and bytes per second."""

    flops: float
    bytes: float

    def least(self, flops: float, bytes: float) -> float:
        """The seconds that the work takes at these rates."""
        return max(flops / self.flops, bytes / self.bytes)


def measure(size: int = 1024, elements: int = 1 << 24, runs: int = 12) -> Roof:
    """Measure the product of square matrices of this size, and the element-wise maximum of tensors
    with this many elements."""
    a = from_numpy(np.ones((size, size), np.float32))
    x = from_numpy(np.ones(elements, np.float32))
    product, total = of_operator("aten::mm", ""), of_operator("aten::maximum", "")
    return Roof(
        2 * size**3 / best(lambda: product(a, a), runs),
        3 * 4 * elements / best(lambda: total(x, x), runs),
    )


def of_operator(name: str, overload: str) -> Any:
    """A program that consists of one operator."""
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
