"""Lists, dicts, strings on both engines: what is kept without tags behaves as everything else."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import pytest
from scriptlang.interpreter.engine import engine

import scriptlang
from scriptlang.errors import LimitError
from scriptlang.limits import Limits


def rows(n: int) -> Tuple[int, List[List[int]], List[List[float]]]:
    table = [[i * j for j in range(n)] for i in range(n)]
    other = [[float(i + j) for j in range(n)] for i in range(n)]
    total = 0
    for i in range(n):
        for j in range(n - 1):
            total += table[i][j + 1] * table[j][i] - table[-1][-j - 1]
            other[i][j] = other[j][i] * 2 + table[i][j]
    return total, table, other


def aliases(n: int) -> Tuple[List[int], List[List[int]], bool]:
    a = [1, 2, 3]
    table = [a, a, [n]]
    table[0][1] = 20
    b = table[1]
    b.append(n)
    b[-1] += 1
    a.extend(a)
    return a, table, table[0] == b


def optional_numbers(n: int) -> Tuple[List[Optional[int]], int]:
    items: List[Optional[int]] = [1, 2]
    for i in range(n):
        items.append(i if i % 3 else None)
    items[0] = None
    found = 0
    for item in items:
        if item is not None:
            found += item
    return items, found


def changed(n: int) -> Tuple[List[int], List[bool], List[float], List[str]]:
    ints = [i * 7 % 5 for i in range(n)]
    bools = [i % 3 == 0 for i in range(n)]
    floats = [i / 4 for i in range(n)]
    words = [str(i) for i in range(n)]
    ints.sort()
    floats.sort(reverse=True)
    words.reverse()
    bools.insert(2, True)
    ints.insert(-1, 100)
    ints.remove(100)
    del floats[0]
    words.pop(1)
    return ints * 2, bools[::-2], floats[1:3] + floats, words


def word_counts(text: str) -> Tuple[Dict[str, int], int, bool]:
    counts: Dict[str, int] = {}
    for word in text.split(" "):
        counts[word] = counts.get(word, 0) + 1
    for word in text.split(" "):
        if word in counts:
            counts[word] += 10
    total = 0
    for word, count in counts.items():
        total += count * len(word)
    return counts, total, "the" in counts


def many_keys(n: int) -> Tuple[int, Dict[int, float], List[int]]:
    found: Dict[int, float] = {}
    for i in range(n):
        found[i * i % 37] = found.get(i * i % 37, 0.5) + i
        if i % 5 == 0:
            found.pop(i * i % 37)
    return len(found), found, list(found.keys())


def letters(text: str) -> Tuple[str, str, int, List[int]]:
    built = ""
    for i in range(len(text)):
        if text[i] == text[-1 - i] or text[i] == "b":
            built += text[i]
        else:
            built = "<" + built + ">"
    twice = built + built
    kept = built
    built += "!"
    same = [i for i in range(1, len(text)) if text[i] == text[i - 1]]
    return built, twice + kept, len(built), same


def mean_of_pairs(n: int) -> float:
    pairs = [(i, i * 0.5) for i in range(n)]
    total = 0.0
    for i, half in pairs:
        total += i * half
    return total + pairs[1][0] + pairs[-1][1]


def fib(n: int) -> int:
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def depth_first(n: int, seen: List[int]) -> str:
    seen.append(n)
    if n <= 0:
        return "."
    text = depth_first(n - 1, seen) + str(n)
    if n % 2 == 0:
        return depth_first(n - 2, seen) + text
    return text


@pytest.mark.parametrize(
    "program, arguments",
    [
        (rows, (5,)),
        (aliases, (9,)),
        (optional_numbers, (7,)),
        (changed, (11,)),
        (word_counts, ("the cat and the dog and the bird",)),
        (many_keys, (300,)),
        (letters, ("abcbba aa bab",)),
        (mean_of_pairs, (6,)),
        (fib, (12,)),
        (depth_first, (6, [])),
    ],
    ids=lambda p: getattr(p, "__name__", ""),
)
def test_engines_agree_with_python(program: Any, arguments: tuple) -> None:
    want = program(*arguments)
    for name in ("python", "native"):
        fresh = tuple([] if a == [] else a for a in arguments)
        assert scriptlang.script(program, engine=name)(*fresh) == want


def out_of_range(n: int) -> int:
    table = [[1, 2], [3]]
    return table[n - 1][n]


def no_key(n: int) -> int:
    counts = {"a": 1}
    return counts["b" + str(n)] + 1


def past_the_end(n: int) -> bool:
    word = "abc"
    return word[n] == word[0]


@pytest.mark.parametrize("program", [out_of_range, no_key, past_the_end])
def test_errors_are_the_same(program: Any) -> None:
    kinds = []
    for name in ("python", "native"):
        with pytest.raises((IndexError, RuntimeError)) as e:
            scriptlang.script(program, engine=name)(3)
        kinds.append(type(e.value))
    assert kinds[0] is kinds[1]


def growing(n: int) -> int:
    items: List[int] = []
    for i in range(n):
        items.append(i)
    return len(items)


def growing_text(n: int) -> int:
    text = "ab"
    for _ in range(n):
        text += text
    return len(text)


@pytest.mark.parametrize("program, n", [(growing, 1_000_000), (growing_text, 40)])
def test_growth_counts_against_the_memory_limit(program: Any, n: int) -> None:
    function = scriptlang.script(program)._function
    with pytest.raises(LimitError, match="memory"):
        engine("native").run(function, [n], limits=Limits(memory=1 << 20))
