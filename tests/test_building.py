"""What is built and dropped is found by the collector, however often."""

from __future__ import annotations

import gc
import pathlib
import weakref

import scriptlang
from scriptlang import building

ARCHIVE = (pathlib.Path(__file__).parent / "data" / "mlp.script.pt").read_bytes()


def test_programs_that_are_dropped_are_collected():
    assert gc.isenabled()
    for _ in range(building.STARTING + 1):
        scriptlang.load(ARCHIVE)
    alive: list[weakref.ref] = []
    for _ in range(300):
        alive.append(weakref.ref(scriptlang.load(ARCHIVE)._object_.type.methods["forward"]))
    assert sum(ref() is not None for ref in alive) < 250
