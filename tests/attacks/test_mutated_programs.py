"""Mutated archives are refused, or their programs run to an error or a result: on both engines."""

from __future__ import annotations

import functools
import io
import random

import pytest

import scriptlang
from scriptlang import Limits
from scriptlang.errors import ScriptError
from scriptlang.interpreter.engine import available
from tests.attacks.test_attacks import mutated
from tests.serialization.archives import DATA, records, zipped

LIMITS = Limits(instructions=20_000, memory=1 << 26, seconds=1, depth=40)
EXPECTED = (ScriptError, RuntimeError, TypeError, ValueError, IndexError)
"""What programs raise; everything else is a mistake of an engine."""

QUANTIZED = ("quantized_tensors", "quantized_net", "quantized_lstm")
WITH_BYTECODE = ("serialization/attributes.pt", "serialization/language.pt", "counter.script.pt",
                 "mlp.script.pt", "recurrent.trace.pt", "attention.script.pt")


@functools.cache
def quantized() -> list[dict[str, bytes]]:
    return [records((DATA / "serialization" / f"{name}.pt").read_bytes()) for name in QUANTIZED]


@functools.cache
def without_source() -> list[dict[str, bytes]]:
    """Archives that run from their bytecode: ours, without code/."""
    made = []
    for name in WITH_BYTECODE:
        file = io.BytesIO()
        scriptlang.save(scriptlang.load(DATA / name), file)
        made.append({n: c for n, c in records(file.getvalue()).items() if "/code/" not in n})
    return made


def renumbered(contents: bytes, rng: random.Random) -> bytes:
    """Small numbers of a pickle changed: registers, distances, counts, indices into tables."""
    data = bytearray(contents)
    places = [at for at, byte in enumerate(data[:-1]) if byte == ord("K")]
    for at in rng.sample(places, min(len(places), rng.randint(1, 3))):
        data[at + 1] = rng.choice((0, 1, 2, 3, 4, 8, 255, rng.randrange(256)))
    return bytes(data)


def value(rng: random.Random):
    """An argument of some kind."""
    shape = [rng.choice((0, 1, 2, 3, 5)) for _ in range(rng.randrange(4))]
    return rng.choice((lambda: scriptlang.ones(shape), lambda: scriptlang.zeros(shape).long(),
                       lambda: rng.choice((0, 1, -1, 3, 1 << 62)), lambda: 0.5, lambda: "text",
                       lambda: [scriptlang.ones(shape)] * 2, lambda: [1, 2], lambda: None,
                       lambda: True, lambda: {"a": 1}))()


def attempt(contents: bytes, engine: str, rng: random.Random) -> None:
    """Load and call; the errors of a program and of a reader are swallowed, no others."""
    try:
        module = scriptlang.load(contents, engine=engine, limits=LIMITS)
        for name, method in list(module._object_.type.methods.items())[:3]:
            args = [value(rng) for _ in method.schema.arguments[1:]]
            try:
                getattr(module, name)(*args)
            except EXPECTED:
                pass
    except EXPECTED:
        pass


def mutate_and_run(archives: list[dict[str, bytes]], engine: str, seed: int, count: int) -> None:
    if engine not in available():
        pytest.skip(f"the {engine} engine is not there")
    rng = random.Random(seed)
    for _ in range(count):
        chosen = dict(rng.choice(archives))
        pickles = [n for n in chosen if n.endswith(".pkl") and "debug" not in n]
        others = [n for n in chosen if chosen[n] and n not in pickles]
        name = rng.choice(pickles if rng.random() < 0.8 else others)
        change = renumbered if name in pickles and rng.random() < 0.7 else mutated
        chosen[name] = change(chosen[name], rng)
        attempt(zipped(chosen), engine, rng)


@pytest.mark.parametrize("engine", ["python", "native"])
def test_mutated_programs(engine):
    mutate_and_run(without_source(), engine, 1, 120)
    mutate_and_run(quantized(), engine, 2, 30)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize("archives", [without_source, quantized])
def test_many_mutated_programs(archives, engine, seed):
    mutate_and_run(archives(), engine, seed, 500)
