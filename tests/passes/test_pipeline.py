"""Passes keep what a program computes and how it fails; they are idempotent and leave legal IR."""

from __future__ import annotations

import copy
import pathlib
import re

import numpy as np
import pytest
from scriptlang.frontend.python.script import script_function

import scriptlang
from scriptlang.errors import GraphError
from scriptlang.ir import Graph
from scriptlang.irverify import verify
from scriptlang.passes import dce, inline, optimize, pipeline
from tests.frontend import programs
from tests.golden import parse
from tests.passes.random_graphs import random_graph
from tests.passes.running import outcome

CASES = pathlib.Path(__file__).resolve().parent.parent / "cases"

STEPS = {
    step.name: step for step in (*pipeline.ONCE_BEFORE, *pipeline.REPEATED, *pipeline.ONCE_AFTER)
}

FROZEN = {
    f"{step.name}.{step.run.__name__}": step
    for step in (*optimize.CHECKS, *optimize.WEIGHTS, *optimize.LAYERS)
    if step.run is not pipeline.run
}
"""Those for frozen modules."""

ELSEWHERE = {
    "autocast": "tests/ops/test_new_operator.py",
    "fold_weights": "tests/passes/test_fold_weights.py",
    **dict.fromkeys(
        "batch_linears fold_batch_norm fuse fuse_expansion layouts numeric_padding".split(),
        "tests/passes/test_optimize.py",
    ),
}
"""Passes without a golden case -> where they are tested."""

ALONE = {"take_numbers": "freeze.py runs it: it changes results, as PyTorch's freezing does"}
"""Passes in no table, and why."""

RUNS = [
    pytest.param(f, args, id=f"{f.__name__}-{i}")
    for f, runs in programs.RUNS
    for i, args in enumerate(runs)
]


@pytest.mark.parametrize("function, args", RUNS)
def test_programs_give_the_same_optimised(function, args):
    graph = script_function(function).graph
    optimised = graph.copy()
    pipeline.optimize(optimised)
    assert outcome(optimised, copy.deepcopy(args)) == outcome(graph, copy.deepcopy(args))


def arguments() -> tuple:
    a, b, c = (
        scriptlang.from_numpy(np.arange(9, dtype=np.float32).reshape(3, 3) * k - 4)
        for k in (1, -1, 2)
    )
    return a, b, 3, [c]


def check_random(seed: int, run) -> None:
    graph = parse(random_graph(seed))
    verify(graph)
    expected = outcome(graph, arguments())
    assert expected[0] == "value", expected
    changed = graph.copy()
    run(changed)
    verify(changed)
    assert outcome(changed, arguments()) == expected, f"seed {seed}\n{graph}\n{changed}"


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_give_the_same_optimised(seed):
    check_random(seed, pipeline.optimize)


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS)
def test_random_programs_give_the_same_after_each_pass(name):
    for seed in range(1000, 1200):
        check_random(seed, STEPS[name].run)


@pytest.mark.slow
def test_many_random_programs_give_the_same_optimised():
    for seed in range(2000, 3500):
        check_random(seed, pipeline.optimize)


@pytest.mark.parametrize("seed", range(0, 60, 5))
def test_optimising_twice_changes_nothing_more(seed):
    graph = parse(random_graph(seed))
    pipeline.optimize(graph)
    once = str(graph)
    pipeline.optimize(graph)
    assert str(graph) == once


@pytest.mark.parametrize("name", STEPS)
def test_a_pass_is_idempotent_and_says_whether_it_changed_anything(name):
    run = STEPS[name].run
    for seed in range(20):
        graph = parse(random_graph(seed))
        before = str(graph)
        assert run(graph) == (str(graph) != before), seed
        after = str(graph)
        while run(graph):
            assert name in (
                "lower_tuples",
                "simplify_if",
                "dce",
                "lower_lists",
                "cse",
                "loops",
                "peephole",
            ), "more than one run is for passes whose changes cascade"
        assert name != "constant_pooling" or str(graph) == after


@pytest.mark.parametrize("name", FROZEN)
def test_a_pass_for_frozen_modules_keeps_what_random_programs_give(name):
    for seed in range(8):
        check_random(seed, FROZEN[name].run)


@pytest.mark.parametrize("name", FROZEN)
def test_a_pass_for_frozen_modules_says_whether_it_changed_anything(name):
    for seed in range(8):
        graph = parse(random_graph(seed))
        before = str(graph)
        assert FROZEN[name].run(graph) == (str(graph) != before), seed


def test_every_pass_is_run():
    """A pass in no table would be written for nothing."""
    names = {step.name for step in (*STEPS.values(), *FROZEN.values())}
    folder = pathlib.Path(pipeline.__file__).parent
    passes = {p.stem for p in folder.glob("*.py") if re.search(r"^def run\(", p.read_text(), re.M)}
    unused = passes - names - {"pipeline", "optimize"} - ALONE.keys()
    assert not unused, f"{unused}: no table of passes/pipeline.py or optimize.py has the pass"
    assert ALONE.keys() <= passes - names


def test_every_pass_has_a_case():
    cased = set()
    for path in CASES.rglob("*.case"):
        for line in re.findall(r"^--- passes (.*)", path.read_text(), re.M):
            cased |= set(line.split())
    missing = {step.name for step in (*STEPS.values(), *FROZEN.values())} - cased - set(ELSEWHERE)
    assert not missing, f"no case of tests/cases/passes has `--passes` with {missing}"
    assert not cased & set(ELSEWHERE)


def test_verification_names_the_pass_that_broke_the_graph(monkeypatch):
    def harm(graph: Graph) -> bool:
        graph.inputs[0].uses.clear()
        return True

    monkeypatch.setenv("SCRIPTLANG_VERIFY", "1")
    graph = parse("graph(%x : int):\n  return (%x)\n")
    with pytest.raises(GraphError, match="after test_pipeline: "):
        pipeline.apply(pipeline.Step(harm, ""), graph)


def test_every_step_says_why_it_stands_where_it_does():
    assert all(step.reason for step in STEPS.values())


def recursive(n: int) -> int:
    if n <= 1:
        return 1
    return n * recursive(n - 1)


def half(x: float) -> float:
    return x / 2


def quarter(x: float) -> float:
    return half(half(x))


def test_inlined_nodes_know_the_calls_they_came_through():
    graph = script_function(quarter).graph.copy()
    assert inline.run(graph)
    divisions = [n for n in graph.walk() if n.kind == "aten::div"]
    assert len(divisions) == 2
    for node in divisions:
        ((name, span),) = node.callers
        assert name.endswith("half") and span.text.startswith("half(") and "x / 2" in node.span.text


def test_growth_by_inlining_is_bounded(monkeypatch):
    monkeypatch.setattr(inline, "MAX_NODES", 5)
    graph = script_function(quarter).graph.copy()
    inline.run(graph)
    assert (
        any(n.kind == "prim::CallFunction" for n in graph.walk())
        or sum(1 for _ in graph.walk()) <= 12
    )


def test_dead_writes_go_and_live_ones_stay():
    graph = parse("""graph(%x : Tensor, %n : int):
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::relu(%x)
  %v : Tensor = aten::select(%a, %n, %n)
  %w : Tensor = aten::neg_(%v)
  %u : Tensor = aten::neg_(%b)
  return (%a)
""")
    assert dce.run(graph)
    assert [n.kind for n in graph.nodes] == ["aten::relu", "aten::select", "aten::neg_"]
