"""The reports of `inspect` about programs with derivatives made ahead of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...ir import Graph, Node, Value
from ...irtext import print_graph
from ...passes.ahead.partition import Partition
from ...passes.shape_facts import Fact, TensorFacts


@dataclass
class AheadReport:
    """The graphs for arguments of one kind.

    reason: why the derivatives of such calls are recorded instead; everything else is then empty.
    graph: forward and backward, optimised. forward, backward: its parts; the forward part returns
    the kept values after its results. kept: (name, shape and dtype, bytes) of the values that the
    backward part takes from the forward part. again: the operators that it recomputes.
    """

    reason: str = ""
    graph: Graph | None = None
    forward: Graph | None = None
    backward: Graph | None = None
    kept: list[tuple[str, str, int]] = field(default_factory=list)
    again: list[str] = field(default_factory=list)

    @property
    def kept_bytes(self) -> int:
        return sum(size for _, _, size in self.kept)

    def __str__(self) -> str:
        if self.reason:
            return f"derivatives are recorded: {self.reason}"
        assert self.forward is not None
        assert self.backward is not None
        lines = [f"kept for going backward ({self.kept_bytes:,} bytes):"]
        lines += [f"  {name} : {shape}, {size:,} bytes" for name, shape, size in self.kept]
        lines.append(f"computed again: {', '.join(self.again) or 'nothing'}")
        lines += ["forward:", print_graph(self.forward), "backward:", print_graph(self.backward)]
        return "\n".join(lines)


def report_of(graph: Graph, parts: Partition, facts: Mapping[Value, Fact]) -> AheadReport:
    return AheadReport(
        "",
        graph,
        parts.forward,
        parts.backward,
        [(f"%{v.name or v.node.kind}", shape_of(facts.get(v)), size) for v, size in parts.kept],
        [node.qualified_name for node in parts.again if is_work(node)],
    )


def shape_of(fact: Fact) -> str:
    return str(fact) if isinstance(fact, TensorFacts) else "not known"


def is_work(node: Node) -> bool:
    return node.kind != "prim::Constant"
