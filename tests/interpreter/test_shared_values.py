"""What a run of the native engine makes, and what of it several threads get to see."""

from __future__ import annotations

import threading
from typing import Dict, List, Tuple

import pytest
from scriptlang.interpreter import native

import scriptlang
import scriptlang.nn as nn

pytestmark = pytest.mark.skipif(bool(native.why_absent()), reason="the native engine is not built")

THREADS, TURNS = 4, 30


class Notes(nn.Module):
    """Keeps strings, lists, tuples and dicts that its own runs made."""

    words: List[str]
    pairs: List[Tuple[int, str]]
    places: Dict[str, List[int]]

    def __init__(self):
        super().__init__()
        self.words = []
        self.pairs = []
        self.places = {}

    def forward(self, n: int) -> int:
        for i in range(n):
            word = "word " + str(i % 17) + (" that is long enough" if i % 2 == 0 else "")
            self.words.append(word)
            self.pairs.append((i, word + "!"))
            if word not in self.places:
                fresh: List[int] = []
                self.places[word] = fresh
            self.places[word].append(i)
        return len(self.words)

    @scriptlang.jit.export
    def read(self, turns: int) -> int:
        total = 0
        for _ in range(turns):
            kept: List[str] = []
            for word in self.words:
                kept.append(word)
                total += len(self.places[word])
            for number, text in self.pairs:
                kept.append(text)
                total += number + len(text)
            copied = [pair for pair in self.pairs]
            total += len(copied) + len(kept)
        return total


def side_by_side(function, *args) -> list:
    """What THREADS threads get that call a function at once."""
    results: list = [None] * THREADS
    start = threading.Barrier(THREADS)

    def work(k: int) -> None:
        start.wait()
        results[k] = [function(*args) for _ in range(TURNS)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results


def test_threads_read_what_a_run_left_in_a_module():
    m = scriptlang.script(Notes(), engine="native")
    assert m(200) == 200
    want = m.read(5)
    for got in side_by_side(m.read, 5):
        assert got == [want] * TURNS
    assert m(10) == 210  # and it is whole afterwards
    assert [w for w in m.words][:2] == ["word 0 that is long enough", "word 1"]


def make(n: int) -> List[Tuple[str, List[str]]]:
    made: List[Tuple[str, List[str]]] = []
    for i in range(n):
        text = "text " + str(i % 5)
        made.append((text, [text, text + " and more of it"]))
    return made


def test_threads_make_values_of_their_own():
    f = scriptlang.script(make, engine="native")
    want = make(50)
    for got in side_by_side(f, 50):
        assert got == [want] * TURNS


def keep(lists: List[List[str]], n: int) -> int:
    """Puts new strings into a list that came from outside, and the same into one of its own."""
    own: List[List[str]] = []
    for i in range(n):
        row = ["a" + str(i)]
        lists.append(row)
        own.append(row)
        row.append("b" + str(i))
    own[0].sort(reverse=True)
    return len(own) + len(lists)


def test_a_list_from_outside_keeps_what_a_run_puts_there():
    f = scriptlang.script(keep, engine="native")
    lists: List[List[str]] = [["z"]]
    g = scriptlang.script(keep, engine="python")
    other: List[List[str]] = [["z"]]
    assert f(lists, 3) == g(other, 3) == 7
    assert lists == other
