"""Plans keep tensors apart while they are needed, and take no more than they must."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import scriptlang
from scriptlang import types as T
from scriptlang.passes import pipeline
from scriptlang.passes.memory_plan import ALIGNMENT, Buffer, MemoryPlan, place, plan_memory
from scriptlang.passes.shape_facts import fact_of
from scriptlang.passes.shapes import propagate
from scriptlang.tensors import Tensor
from tests.golden import parse
from tests.passes.observed import NotRun, Run
from tests.passes.random_graphs import random_graph

DATA = Path(__file__).resolve().parent.parent / "data"


def check(plan: MemoryPlan) -> None:
    for i, a in enumerate(plan.buffers):
        assert a.offset % ALIGNMENT == 0 and a.first <= a.last
        for b in plan.buffers[:i]:
            assert not a.meets(b) or a.end <= b.offset or b.end <= a.offset, (a, b)
    assert plan.lower_bound <= plan.peak <= plan.naive


@pytest.mark.parametrize("seed", range(100))
def test_buffers_that_are_needed_together_lie_apart(seed):
    draw = random.Random(seed)
    buffers = []
    for i in range(draw.randint(1, 40)):
        first = draw.randint(0, 30)
        buffers.append(
            Buffer(
                f"b{i}",
                "",
                ALIGNMENT * draw.randint(1, 50),
                first,
                first + draw.choice([0, 1, 1, 2, 5, 20]),
            )
        )
    place(buffers)
    check(MemoryPlan(buffers))


def test_a_chain_takes_two_places():
    buffers = [Buffer(f"b{i}", "", 640, i, i + 1) for i in range(10)]
    place(buffers)
    plan = MemoryPlan(buffers)
    assert plan.peak == plan.lower_bound == 1280 and plan.naive == 6400


class Uses(Run):
    """A run that notes, of each tensor's memory, the last step of the graph that looks at it.

    Steps are the nodes of the graph's own block; what runs inside one belongs to it.
    """

    def __init__(self, graph, args):
        self.step, self.used, self.alive = -1, {}, []
        self.makers = {id(t._storage): (-1, None) for t in tensors_in(args)}
        super().__init__(dict(zip(graph.inputs, args)), lambda v, value: None, lambda body: None)
        for self.step, node in enumerate(graph.nodes):
            results = self.node(node)
            for i, (v, value) in enumerate(zip(node.outputs, results)):
                self.values[v] = value
                if v.type == T.TENSOR:
                    self.alive.append(value._storage)  # so that no two have one identity
                    self.makers.setdefault(id(value._storage), (self.step, v))

    def node(self, node):
        for v in node.inputs:
            self.look(self.values[v])
        return super().node(node)

    def look(self, value) -> None:
        if isinstance(value, Tensor):
            self.used[id(value._storage)] = self.step
        elif isinstance(value, (list, tuple)):
            for part in value:
                self.look(part)


def check_uses(graph, args) -> MemoryPlan:
    plan = plan_memory(graph, propagate(graph, dict(zip(graph.inputs, map(fact_of, args)))))
    check(plan)
    try:
        uses = Uses(graph, args)
    except NotRun:
        return plan
    by_step = {b.first: b for b in plan.buffers}
    for memory, (step, v) in uses.makers.items():
        buffer = by_step.get(step)
        if buffer is not None:
            assert buffer.size >= uses.values[v].nbytes
            assert buffer.last >= uses.used.get(memory, step), (buffer, uses.used[memory])
    returned = {id(t._storage) for t in tensors_in([uses.values[v] for v in graph.outputs])}
    assert not any(
        step in by_step for memory, (step, _) in uses.makers.items() if memory in returned
    ), "what is given away is not planned"
    return plan


def tensors_in(value) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return (
        [t for part in value for t in tensors_in(part)] if isinstance(value, (list, tuple)) else []
    )


@pytest.mark.parametrize("seed", range(60))
def test_no_memory_of_a_random_program_is_used_after_its_end(seed):
    graph = parse(random_graph(seed, 30))
    args = [
        scriptlang.from_numpy(np.arange(9, dtype=np.float32).reshape(3, 3) * k) for k in (1, 2, 3)
    ]
    check_uses(graph, [args[0], args[1], 3, [args[2]]])
    pipeline.optimize(graph)
    check_uses(graph, [args[0], args[1], 3, [args[2]]])


@pytest.mark.parametrize("name", ["mlp.script.pt", "resnet.trace.pt", "attention.trace.pt"])
def test_archives_are_planned_whole(name):
    module = scriptlang.load(DATA / name, engine="python")
    stored = np.load(DATA / name.replace(".pt", ".npz"))
    inputs = [scriptlang.from_numpy(stored[k]) for k in stored.files if k[0] == "i"]
    graph = scriptlang.freeze(module)._type.methods["forward"].graph
    plan = check_uses(graph, [module._object_, *inputs])
    assert plan.unplanned == 0 and plan.results > 0
    assert plan.peak == plan.lower_bound


def test_the_report_says_peak_reuse_and_where_each_tensor_lies():
    plan = scriptlang.memory_plan(DATA / "mlp.script.pt", ["8,16"])
    text = str(plan)
    assert f"peak {plan.peak:,} bytes" in text and "without reuse" in text and "at least" in text
    assert all(f"%{b.name}" in text for b in plan.buffers)
