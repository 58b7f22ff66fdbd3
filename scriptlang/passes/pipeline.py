"""The passes that are safe on every graph, and their order.

With SCRIPTLANG_VERIFY=1 in the environment, as in tests, the graph is verified after each pass.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import NamedTuple

from .. import budgets, logs
from ..errors import GraphError
from ..ir import Graph
from ..irverify import verify
from . import (
    autocast,
    constant_pooling,
    constant_propagation,
    context_managers,
    cse,
    dce,
    inline,
    local_objects,
    loops,
    lower_lists,
    lower_tuples,
    peephole,
    simplify_if,
)
from .alias import shared_analysis


class Step(NamedTuple):
    """A pass and the reason why it runs at this point."""

    run: Callable[[Graph], bool]
    reason: str

    @property
    def name(self) -> str:
        return self.run.__module__.rpartition(".")[2]


ONCE_BEFORE = (
    Step(inline.run, "every later pass sees through calls"),
    Step(autocast.run, "while with blocks are still there, and everything that runs in them"),
    Step(context_managers.run, "with blocks are calls, too"),
    Step(inline.run, "of __enter__ and __exit__"),
)

REPEATED = (
    Step(local_objects.run, "what is left of a context manager, mostly"),
    Step(lower_tuples.run, "arguments and results of inlined calls become plain values"),
    Step(constant_propagation.run, "decides branches, so that the code of the others goes"),
    Step(simplify_if.run, "what two branches agree on is known after them"),
    Step(lower_lists.run, "gives constants and elements for the next round to use"),
    Step(loops.run, "with trip counts known; each turn's copies then go through the rest"),
    Step(peephole.run, "with constants and branches known, more rules fire"),
    Step(cse.run, "after the rules, which make equal what was written differently"),
    Step(dce.run, "clears what the others left behind, before they look again"),
)
"""Passes that make work for each other. They are repeated until a whole round changes nothing.

The passes of a round share one alias analysis, which stays sound while they change the graph (see
alias.py).
"""

ONCE_AFTER = (Step(constant_pooling.run, "one constant each, once no step makes more"),)

MAX_ROUNDS = 8


def optimize(graph: Graph) -> None:
    """Optimise a graph in place; its results and effects stay the same."""
    budgets.spend("graph_nodes", sum(1 for _ in graph.walk()))
    for step in ONCE_BEFORE:
        apply(step, graph)
    with shared_analysis(graph) as drop_analysis:
        last = 0  # the index of the last step that changed something
        for turn, step in enumerate(chain(*[REPEATED] * MAX_ROUNDS)):
            if turn >= max(len(REPEATED), last + len(REPEATED)):
                break
            if step is REPEATED[0]:
                drop_analysis()
            if apply(step, graph):
                last = turn
    for step in ONCE_AFTER:
        apply(step, graph)
    if is_verified():
        verify(graph)


def run(graph: Graph) -> bool:
    """`optimize` as a pass of other pipelines; it does not report whether anything changed."""
    optimize(graph)
    return False


def is_verified() -> bool:
    """Whether graphs are verified between passes."""
    return os.environ.get("SCRIPTLANG_VERIFY") == "1"


Watcher = Callable[[str, int, int, float, bool], None]

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watch: Watcher) -> Iterator[None]:
    """Call `watch` for each pass that runs, with its name, the nodes before and after, its seconds,
    and whether it changed the graph. The seconds of a pass that runs others include theirs."""
    token = _watcher.set(watch)
    try:
        yield
    finally:
        _watcher.reset(token)


def apply(step: Step, graph: Graph) -> bool:
    """Run one pass, and verify the graph if the pass changed it and verification is on."""
    budgets.look()
    watch = _watcher.get()
    if watch is None and not logs.topics:
        changed = step.run(graph)
    else:
        changed = apply_watched(step, graph, watch)
    if changed and is_verified():
        try:
            verify(graph)
        except GraphError as e:
            raise GraphError(f"after {step.name}: {e}") from e
    return changed


def apply_watched(step: Step, graph: Graph, watch: Watcher | None) -> bool:
    before, start = sum(1 for _ in graph.walk()), time.perf_counter()
    changed = step.run(graph)
    seconds, after = time.perf_counter() - start, sum(1 for _ in graph.walk())
    if watch is not None and step.run is not run:
        watch(step.name, before, after, seconds, changed)
    if changed and "passes" in logs.topics:
        logs.say("passes", f"{step.name}: {before} nodes -> {after}, {seconds * 1e3:.2f} ms")
    return changed
