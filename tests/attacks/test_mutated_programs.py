"""Mutated archives are refused, or their programs run to an error or a result: on both engines."""

from __future__ import annotations

import functools
import io
import random

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

import scriptlang
from scriptlang import Limits
from scriptlang import types as T
from scriptlang.errors import ScriptError
from tests.attacks.test_attacks import mutated
from tests.serialization.archives import DATA, records, zipped

LIMITS = Limits(instructions=20_000, memory=1 << 26, seconds=1, depth=40)
EXPECTED = (ScriptError, RuntimeError, TypeError, ValueError, IndexError)
"""What programs raise; everything else is a mistake of an engine."""

QUANTIZED = ("quantized_tensors", "quantized_net", "quantized_lstm")
WITH_DEBUG = ("attention.script.pt", "recurrent.script.pt", "counter.script.pt")
WITH_BYTECODE = (
    "serialization/attributes.pt",
    "serialization/language.pt",
    "counter.script.pt",
    "mlp.script.pt",
    "recurrent.trace.pt",
    "attention.script.pt",
)


@functools.cache
def quantized() -> list[dict[str, bytes]]:
    return [records((DATA / "serialization" / f"{name}.pt").read_bytes()) for name in QUANTIZED]


@functools.cache
def with_debug_records() -> list[dict[str, bytes]]:
    return [records((DATA / name).read_bytes()) for name in WITH_DEBUG]


@functools.cache
def recorded_inputs() -> list[scriptlang.Tensor]:
    """Of the quantized archives: what they were recorded with."""
    return [
        scriptlang.from_numpy(np.load(DATA / "serialization" / f"{name}.npz")["i0"])
        for name in QUANTIZED
    ]


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
    return rng.choice(
        (
            lambda: scriptlang.ones(shape),
            lambda: scriptlang.zeros(shape).long(),
            lambda: rng.choice((0, 1, -1, 3, 1 << 62)),
            lambda: 0.5,
            lambda: "text",
            lambda: [scriptlang.ones(shape)] * 2,
            lambda: [1, 2],
            lambda: None,
            lambda: True,
            lambda: {"a": 1},
        )
    )()


BY_TYPE = {
    T.INT: lambda rng: rng.choice((0, 1, -1, 3, 1 << 62)),
    T.FLOAT: lambda rng: 0.5,
    T.STR: lambda rng: "text",
    T.BOOL: lambda rng: rng.random() < 0.5,
    T.TENSOR: lambda rng: scriptlang.ones(
        [rng.choice((0, 1, 2, 5)) for _ in range(rng.randrange(5))]
    ),
}


def argument(type: T.Type, inputs: list[scriptlang.Tensor], rng: random.Random):
    """Mostly what the program asks for, so that it runs."""
    if type == T.TENSOR and inputs and rng.random() < 0.8:
        return inputs[0].clone()
    return BY_TYPE[type](rng) if type in BY_TYPE and rng.random() < 0.9 else value(rng)


def attempt(
    contents: bytes, engine: str, rng: random.Random, inputs: list[scriptlang.Tensor] = []
) -> bool:
    """Load, call, read and save again; the errors of a program and of a reader are swallowed, no
    others.  Whether some method gave a result."""
    ran = False
    try:
        module = scriptlang.load(contents, engine=engine, limits=LIMITS)
        for name, method in list(module._object_.type.methods.items())[:3]:
            args = [argument(a.type, inputs, rng) for a in method.schema.arguments[1:]]
            try:
                str(getattr(module, name)(*args))
                ran = True
            except EXPECTED:
                pass
        for tensor in module.state_dict().values():
            str(tensor)
        str(module.code)
        scriptlang.save(module, io.BytesIO())
    except EXPECTED:
        pass
    return ran


def mutate_and_run(
    archives: list[dict[str, bytes]],
    engine: str,
    seed: int,
    count: int,
    records: str = "",
    inputs: list[scriptlang.Tensor] = [],
) -> int:
    """How many of the changed archives still ran; `records` is in the names of what is changed."""
    if engine not in available():
        pytest.skip(f"the {engine} engine is not there")
    rng = random.Random(seed)
    ran = 0
    for _ in range(count):
        number = rng.randrange(len(archives))
        chosen = dict(archives[number])
        pickles = [
            n for n in chosen if ("pkl" in n if records else n.endswith(".pkl")) and records in n
        ]
        others = [n for n in chosen if chosen[n] and n not in pickles and records in n]
        name = rng.choice(pickles if rng.random() < 0.8 or not others else others)
        change = renumbered if name in pickles and rng.random() < 0.7 else mutated
        chosen[name] = change(chosen[name], rng)
        ran += attempt(zipped(chosen), engine, rng, inputs[number : number + 1])
    return ran


@pytest.mark.parametrize("engine", ["python", "native"])
def test_mutated_programs(engine):
    mutate_and_run(without_source(), engine, 1, 120)


@pytest.mark.parametrize("engine", ["python", "native"])
def test_mutated_quantized_archives(engine):
    """Packed weights, their scales and zero points are state that strangers write."""
    assert 0 < mutate_and_run(quantized(), engine, 2, 40, inputs=recorded_inputs()) < 40


@pytest.mark.parametrize("engine", ["python", "native"])
def test_mutated_debug_records(engine):
    """They only tell places: what is wrong in them is left out, or refused."""
    mutate_and_run(with_debug_records(), engine, 3, 40, "debug_pkl")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize("archives", [without_source, quantized, with_debug_records])
def test_many_mutated_programs(archives, engine, seed):
    mutate_and_run(
        archives(),
        engine,
        seed,
        500,
        "debug_pkl" if archives is with_debug_records else "",
        recorded_inputs() if archives is quantized else [],
    )
