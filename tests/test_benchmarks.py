"""The benchmarks' table and report, without measuring anything."""

from __future__ import annotations

import ast
import functools
import pathlib
import time
from html.parser import HTMLParser

import numpy as np
import pytest

import scriptlang
from benchmarks import (
    candidates,
    expressions,
    harness,
    loops,
    machine,
    postprocessing,
    report,
    rows,
    worker,
    workloads,
)
from benchmarks.harness import Result

FOLDER = pathlib.Path(rows.__file__).parent


def defined_in(module: str) -> set[str]:
    tree = ast.parse((FOLDER / f"{module}.py").read_text())
    return {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}


@pytest.mark.parametrize("w", workloads.WORKLOADS, ids=lambda w: w.name)
def test_every_workload_has_a_program_and_the_same_inputs_each_time(w):
    module, name = w.program.split(":")
    assert name in defined_in(module)
    if np.prod([np.prod(s) for s in w.inputs if isinstance(s, tuple) and s[0] != "tokens"]) < 1e6:
        for a, b in zip(w.arguments(), w.arguments()):
            np.testing.assert_array_equal(a, b)


def test_expressions_are_expressions_of_their_names():
    every = expressions.expressions()
    assert len(set(every)) == len(every)
    for text, dtype in every:
        used = {n.id for n in ast.walk(ast.parse(text, mode="eval")) if isinstance(n, ast.Name)}
        assert used - {"torch", "None"} == set(expressions.names(text)), text
        assert dtype in ("f32", "f64", "f16", "bf16", "i64", "i32", "u8", "bool")


def test_rows_name_what_is_there():
    names = [row.name for row in rows.ROWS]
    assert len(set(names)) == len(names)
    for row in rows.ROWS:
        for c in row.candidates:
            assert callable(getattr(candidates, c.factory))
            assert c.options.get("workload", row.name) == row.name
    assert {w.numpy for w in workloads.WORKLOADS} - {None} == set(candidates.NUMPY)


def test_programs_without_tensors_mean_what_they_say():
    assert loops.remainders(10) == sum(i * i % 7 for i in range(10))
    assert loops.sieve(30) == 10 and loops.counting(1000) == 101
    assert loops.logistic(1) == 3.7 * 0.25 and loops.mandelbrot(2) > 0
    assert loops.text(2) == len("x 0, x 1")
    assert postprocessing.hanoi(4, 1, 2, 3) == 15 and postprocessing.edit_distance(1) == 0


@pytest.mark.parametrize("w", workloads.LOOPS, ids=lambda w: w.name)
def test_programs_without_tensors_give_what_cpython_gives(w):
    program = candidates.as_written(w)
    inputs = [min(n, 30) for n in w.inputs[:1]] + [*w.inputs[1:]]
    inputs[0] = min(inputs[0], 8) if w.name in ("hanoi", "fib") else inputs[0]
    assert scriptlang.script(program)(*inputs) == program(*inputs)


def result(name: str, seconds: list[float], base: list[float], **more) -> Result:
    r = Result("row", 1, name, **more)
    for s, b in zip(seconds, base):
        r.add(s, b)
    return r


def test_a_ratio_is_taken_round_by_round():
    r = result("peer", [2.0, 6.0, 4.0, 8.0], [1.0, 2.0, 2.0, 4.0])
    assert r.median == 5.0 and r.ratio == 2.0 and r.spread == pytest.approx(0.375)


def test_candidates_take_turns_in_coming_first():
    orders = [harness.in_turn(["a", "b", "c"], turn) for turn in range(4)]
    assert orders == [list("abc"), list("bca"), list("cab"), list("abc")]


def test_processor_time_leaves_out_what_a_call_waits():
    call = functools.partial(time.sleep, 0.002)
    assert worker.timed(call, 0.01, worker.CLOCKS["processor"]) < 0.001
    assert worker.timed(call, 0.01, worker.CLOCKS["wall"]) >= 0.002


class Checker(HTMLParser):
    """Counts bars and keeps the text."""

    def __init__(self):
        super().__init__()
        self.bars, self.said = 0, []

    def handle_starttag(self, tag, attrs):
        self.bars += tag == "rect"

    def handle_data(self, data):
        self.said.append(data)


def test_the_page_shows_every_candidate_and_says_what_failed():
    ours = result("scriptlang", [1e-3] * 5, [1e-3] * 5)
    peer = result("torch.jit", [3e-3] * 5, [1e-3] * 5)
    lost = Result("row", 1, "onnxruntime", note="it is <not> there")
    size = [result("scriptlang", [6e6], [6e6], unit="bytes")]
    sections = [
        report.Section("row", "A & B", "networks", [ours, peer, lost]),
        report.Section("engine_size", "Size", "processes", size),
    ]
    page = report.page(sections, str(machine.Machine("a processor", 100.0, 10.0)))
    checker = Checker()
    checker.feed(page)
    said = "".join(checker.said)
    assert checker.bars == 3 and "A & B" in said and "it is <not> there" in said
    assert "3 ms (3.00" in said and "6.0 MB" in said
    text = report.text("A & B", sections[0].results)
    assert "it is <not> there" in text and "3.00" in text


def test_a_rate_is_said_with_its_share_of_the_processors():
    r = result("scriptlang", [1e-3] * 5, [1e-3] * 5, operations=50_000_000)
    assert "50 GFLOP/s, 50% of the processor's" in report.text("A", [r], 100.0)
    assert "50 GFLOP/s" in report.text("A", [r]) and "of the" not in report.text("A", [r])


def test_the_machine_says_its_rates_or_that_nothing_could_measure_them(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    assert machine.rates() == (0.0, 0.0)
    assert "not measured" in str(machine.Machine("a processor"))
    assert "100 GFLOP/s" in str(machine.Machine("a processor", 100.0, 10.0))
