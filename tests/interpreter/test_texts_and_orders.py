"""Texts, orders and divisions: what the native engine does quickly, the Python engine does, too."""

from __future__ import annotations

import math
import random
import struct
from typing import Dict, List, Tuple

import pytest

import scriptlang


def both(function, *arguments):
    """What both engines give, which is equal; floats to the bit."""
    native = scriptlang.script(function, engine="native")
    python = scriptlang.script(function, engine="python")
    a, b = native(*arguments), python(*arguments)
    assert repr(a) == repr(b)
    return a


def texts_of(numbers: List[float]) -> List[str]:
    out: List[str] = []
    for x in numbers:
        out.append(str(x))
        out.append(f"{x} and {{}} {len(out)}")
    return out


def test_texts_of_floats():
    random.seed(3)
    numbers = [
        0.0,
        -0.0,
        0.1,
        1e22,
        1e-7,
        5e-324,
        1.7976931348623157e308,
        9007199254740993.0,
        math.inf,
        -math.inf,
        math.nan,
        123456789.125,
        -2.5,
        9.2e18,
        1e18,
    ]
    numbers += [struct.unpack("d", random.randbytes(8))[0] for _ in range(300)]
    both(texts_of, numbers)


def numbers_of(texts: List[str]) -> List[float]:
    return [float(t) for t in texts]


def test_floats_of_texts():
    texts = [
        "0",
        "1",
        "1.",
        ".5",
        "-2.5",
        "+3",
        " 4",
        "1e5",
        "1E-300",
        "inf",
        "-inf",
        "1e-400",
        "123456789012345678901234567890",
        "4.9406564584124654e-324",
    ]
    assert both(numbers_of, texts)[5] == 3.0
    for bad in ("", "x", "1x", "1.5.", "1 ", "0x"):
        for engine in ("native", "python"):
            with pytest.raises(RuntimeError, match="could not convert string to float"):
                scriptlang.script(numbers_of, engine=engine)([bad])


def changed(text: str) -> List[str]:
    return [
        text.upper(),
        text.lower(),
        text.swapcase(),
        text.capitalize(),
        text.strip(),
        text.lstrip(" \t"),
        text.rstrip("xyz "),
        text.replace("a", "bcd"),
        text.replace("ab", ""),
        "<{}|{}>".format(text, len(text)),
        "{}{{}}".format(text, 1),
        ",".join(text.split("a")),
        text + "!" + text,
        text.title(),
    ]


@pytest.mark.parametrize("size", (0, 1, 7, 8, 15, 16, 63, 64, 65, 200))
def test_texts_of_many_sizes(size):
    random.seed(size)
    both(changed, "".join(random.choice(" aAbBzZ{}\t\n@[`") for _ in range(size)))


def test_texts_beyond_ascii_keep_their_bytes():
    both(changed, "  äÖ ß a é  ")


def sorts(
    words: List[str],
    pairs: List[Tuple[int, str]],
    triples: List[Tuple[str, int]],
    weights: List[Tuple[float, int]],
) -> Tuple[
    List[str], List[Tuple[int, str]], List[Tuple[str, int]], List[Tuple[float, int]], List[str]
]:
    back = sorted(words)
    words.sort(reverse=True)
    pairs.sort()
    triples.sort(reverse=True)
    weights.sort()
    return words, pairs, triples, weights, back


@pytest.mark.parametrize("count", (0, 1, 2, 9, 100))
def test_sorts_by_keys_and_what_follows_them(count):
    random.seed(count)
    names = ["", "a", "a\0", "aaaaaaaa", "aaaaaaaaa", "aaaaaaab", "b", "é", "Z", "zz"]
    words = [random.choice(names) for _ in range(count)]
    pairs = [
        (random.randrange(-3, 3) << random.choice((0, 61)), random.choice(names))
        for _ in range(count)
    ]
    triples = [(random.choice(names), random.randrange(4)) for _ in range(count)]
    weights = [
        (random.choice((0.0, -0.0, 1.5, -2.0, math.inf, -math.inf)), random.randrange(9))
        for _ in range(count)
    ]
    both(sorts, words, pairs, triples, weights)


def cut(numbers: List[int]) -> List[int]:
    out: List[int] = []
    for x in numbers:
        out.extend(
            [
                x // 1,
                x % 1,
                x // 2,
                x % 2,
                x // 3,
                x % 3,
                x // 7,
                x % 7,
                x // 64,
                x % 64,
                x // 1000,
                x % 1000,
                x // 2147483647,
                x % 2147483647,
                x % 2147483648,
                x // 1431655765,
                x % 1431655765,
                x // 1073741825,
                x % 1073741825,
            ]
        )
    return out


def test_divisions_by_constants():
    random.seed(1)
    numbers = [
        0,
        1,
        -1,
        2**63 - 1,
        -(2**63),
        2**63 - 2,
        -(2**63) + 1,
        2**31,
        -(2**31),
        2**62,
        -(2**62),
    ]
    numbers += [random.getrandbits(64) - 2**63 >> random.randrange(64) for _ in range(500)]
    both(cut, numbers)


class Table:
    """Holds what its methods only look at."""

    def __init__(self) -> None:
        self.rows = [[1, 2], [3]]
        self.names = {"a": (1, "x"), "b": (2, "y")}
        self.inside = ["a", "b", "c"]

    def look(self, name: str) -> int:
        number, letter = self.names.get(name, (7, "z"))
        self.rows[0].append(number)
        if name in self.names and self.names[name][1] == letter:
            number += len(self.inside)
        self.inside[number % 2] = letter
        return number + self.rows[0][-1]


def looks(names: List[str]) -> List[int]:
    table = Table()
    return [table.look(name) for name in names]


def test_what_is_only_looked_at():
    assert both(looks, ["a", "b", "q", "a"]) == both(looks, ["a", "b", "q", "a"])


def replaced(pairs: Dict[int, Tuple[Dict[int, int], int]]) -> int:
    inner, total = pairs[0]
    inner[5] = total
    rows = [[4, 5], [6]]
    while len(rows) > 1:
        rows = [rows[1] + rows[0]]
    return inner[5] + len(pairs) + rows[0][-1]


def test_a_part_may_take_the_place_of_what_held_it():
    assert both(replaced, {0: ({1: 2}, 3)}) == 9
