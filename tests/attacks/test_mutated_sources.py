"""The sources of archives, changed word by word: they compile, or end in an error of ours.

Sources are read in Python alone, so these mutations are their fuzzer.  Changed bytes mostly end at
the parser; changed words reach what is behind it: names, signatures, types, overloads, constants.
"""

from __future__ import annotations

import random
import re

import pytest

from tests.attacks.test_attacks import DATA, survives
from tests.serialization.archives import records, zipped

NAMES = (
    "serialization/attributes.pt",
    "serialization/language.pt",
    "counter.script.pt",
    "attention.script.pt",
    "recurrent.script.pt",
    "mlp.trace.pt",
    "serialization/quantized_net.pt",
)
WORD = re.compile(r"\w+|\s+|[^\w\s]")


def reworded(text: str, rng: random.Random) -> str:
    """Some words replaced by others of the text, taken out, doubled, exchanged; or lines moved."""
    if rng.random() < 0.2:
        lines = text.splitlines(True)
        a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[a : a + rng.randrange(2)] = lines[b : b + rng.randint(1, 3)]
        return "".join(lines)
    words = WORD.findall(text)
    visible = [k for k, w in enumerate(words) if not w.isspace()]
    for _ in range(rng.randint(1, 3)):
        at, other, kind = rng.choice(visible), rng.choice(visible), rng.random()
        if kind < 0.6:
            words[at] = words[other]
        elif kind < 0.7:
            words[at] = ""
        elif kind < 0.8:
            words[at] += " " + words[other]
        elif kind < 0.9:
            words[at], words[other] = words[other], words[at]
        else:
            words[at] = rng.choice(
                (
                    "None",
                    "int",
                    "(",
                    ")",
                    "0",
                    "-1",
                    "9" * 20,
                    "self",
                    "torch",
                    "List[int]",
                    "__torch__",
                    "CONSTANTS.c0",
                    "lambda",
                    "ops.prim",
                )
            )
    return "".join(words)


def mutate_sources(seed: int, count: int) -> int:
    """How many of the changed archives still compile."""
    rng = random.Random(seed)
    archives = [records((DATA / name).read_bytes()) for name in NAMES]
    fine = 0
    for _ in range(count):
        chosen = dict(rng.choice(archives))
        name = rng.choice([n for n in chosen if n.endswith(".py") and chosen[n].strip()])
        chosen[name] = reworded(chosen[name].decode(), rng).encode()
        fine += survives(zipped(chosen))
    return fine


def test_mutated_sources():
    assert 0 < mutate_sources(1, 150) < 150


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_many_mutated_sources(seed):
    mutate_sources(100 + seed, 500)
