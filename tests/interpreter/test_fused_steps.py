"""What the native engine does in one step or by eight bytes is what CPython does with the text."""

from __future__ import annotations

import copy
import random
from typing import Dict, List, Optional, Tuple

import pytest
from scriptlang.interpreter import native

import scriptlang

ENGINES = ["python"] if native.why_absent() else ["python", "native"]


def same(function, *arguments):
    """What both engines give, which is what CPython gives."""
    wanted = function(*copy.deepcopy(arguments))
    for engine in ENGINES:
        given = scriptlang.script(function, engine=engine)(*copy.deepcopy(arguments))
        assert given == wanted, engine
    return wanted


def digits(numbers: List[int]) -> List[str]:
    out: List[str] = []
    for n in numbers:
        out.append(str(n))
        out.append("n" + str(n))
        out.append(str(n) + "/" + str(-n))
        out.append(f"{n}")
    return out


def test_digits():
    random.seed(5)
    numbers = [0, -(1 << 63) + 1, (1 << 63) - 1]
    for power in range(19):
        numbers += [s * (10**power + d) for s in (1, -1) for d in (-1, 0, 1)]
    numbers += [random.randrange(-(10**8), 10**8) for _ in range(400)]
    same(digits, numbers)


def looked_through(text: str, wanted: str, first: int, last: int) -> List[int]:
    return [
        text.find(wanted),
        text.find(wanted, first, last),
        text.count(wanted),
        text.count(wanted, first, last),
        int(text.startswith(wanted)),
        int(text.endswith(wanted)),
        text.rfind(wanted),
    ]


def cut(text: str, wanted: str) -> List[str]:
    out = text.split(wanted)
    out.append(text.replace(wanted, "-"))
    out.append(text.replace(wanted, "<longer one>"))
    out.append(wanted.join(text.split(wanted)))
    out.extend(text.split(wanted, 2))
    return out


def test_texts_are_searched_and_cut():
    random.seed(7)
    look, take = (scriptlang.script(f, engine="native") for f in (looked_through, cut))
    for round in range(600):
        letters = "ab," if round % 2 else "abcdefghijklmnopqrstuvwxyz\x00\x7f,"
        text = "".join(random.choices(letters, k=random.choice((0, 1, 5, 8, 9, 17, 40, 130))))
        if round % 5 == 0:
            text = text + "z" * random.randrange(90) + ",b" + text
        wanted = "".join(random.choices(letters, k=random.randrange(1, 6)))
        first = random.randrange(len(text) + 2)
        last = first + random.randrange(len(text) + 2)
        assert look(text, wanted, first, last) == looked_through(text, wanted, first, last)
        assert take(text, wanted) == cut(text, wanted)
    same(looked_through, "aXbX", "X", 0, 4)
    same(cut, "a, b, c, d", ", ")


def pieces(text: str) -> List[str]:
    out: List[str] = []
    for size in range(len(text) + 1):
        out.append(text[:size])
        out.append(text[size:])
        out.append(text[size : size + 3])
        out.append(text[:size].strip("ab\x7fz"))
        out.append(text[size:].upper())
    return out


def test_pieces_of_texts():
    same(pieces, "zab\x7f the quick brown fox  \n ba")
    same(pieces, "")


def sums(parts: List[str]) -> List[str]:
    out: List[str] = []
    grown = ""
    for part in parts:
        grown += part
        out.append(grown)
        out.append(part + grown)
    for a in parts:
        for b in parts:
            both = a + b
            out.append(both)
            both += "!"
            out.append(both + both)
            out.append("{" + a + "}" + b)
    alone = ""
    for _ in range(5):
        for part in parts:
            alone += part
            alone += "."
    doubled = "abc"
    for _ in range(6):
        doubled += doubled
    kept = doubled
    doubled += "x"
    out.extend([alone, doubled, kept])
    return out


def test_sums_of_texts():
    same(sums, ["x" * n for n in range(18)] + ["\x00" * 7, "\x00", "é", "1234567", "12345678"])


def forms(n: int, text: str) -> List[str]:
    return [
        f"{n}{text}{n}",
        f"{text}{text}:{n}",
        "{}, {}, {}".format(text, n, text),
        "{}{}{}{}{}{}{}".format(n, n, n, n, n, n, n),
        "{}{}{}{}{}{}{}{}{}".format(n, text, n, text, n, text, n, text, n),
    ]


def test_formats_of_any_length():
    for size in (0, 1, 7, 8, 15, 16, 60, 64, 65, 150, 192, 193, 1000):
        same(forms, -size * 12345, "t" * size)


Lists = Tuple[List[int], List[float], List[bool], List[str]]


def exchanged(i: int, j: int) -> Lists:
    a, b, c, d = [1, 2, 3], [1.5, 2.5, 3.5], [True, False, False], ["a", "eight bytes", "c"]
    a[i], a[j] = a[j], a[i]
    b[i], b[j] = b[j], b[i]
    c[i], c[j] = c[j], c[i]
    d[i], d[j] = d[j], d[i]
    return a, b, c, d


@pytest.mark.parametrize("i", [0, 1, 2, -1, -3, 3, -4])
@pytest.mark.parametrize("j", [0, 2, -2, 3])
def test_exchanges_of_elements(i, j):
    if -3 <= i < 3 and -3 <= j < 3:
        same(exchanged, i, j)
        return
    for engine in ENGINES:
        with pytest.raises(IndexError, match="list index out of range"):
            scriptlang.script(exchanged, engine=engine)(i, j)


def down(n: int) -> int:
    if n < 1:
        return -7
    return down(n - 1) + 3


def around(n: int) -> int:
    return passed(n + 1) ^ passed(n - 2147483647) ^ passed(n + 2147483648) ^ passed(n - 1)


def passed(n: int) -> int:
    if n == 12:
        return 1
    if n > 100:
        return n + 5
    return n * 2


def constant() -> int:
    return 2147483647


def larger() -> int:
    return 2147483648


def fork_of_constants() -> int:
    return down(0) + constant() + larger()


def test_calls_and_results():
    for n in (-1, 0, 1, 50):
        same(down, n)
    for n in (0, 11, 13, 99, 1000, -5):
        same(around, n)
    for function in (constant, larger, fork_of_constants):
        same(function)
    wrapped = scriptlang.script(around, engine="python")(-(1 << 63))
    assert scriptlang.script(around, engine="native")(-(1 << 63)) == wrapped


def absent(keys: List[str], numbers: Dict[int, Tuple[int, int]]) -> int:
    seen: Dict[str, int] = {}
    total = 0
    for k, key in enumerate(keys):
        if key not in seen:
            seen[key] = k
            total += 1
        if k not in numbers:
            numbers[k] = (k, total)
        else:
            a, b = numbers[k]
            numbers[k] = (b, a + k)
            missing = k + 1 not in numbers
            total += 10 if missing else 100
    for a, b in numbers.values():
        total = total * 3 + a - b
    return total


def test_keys_that_are_not_there():
    keys = ["a", "b", "a", "longer than that", "longer than that", ""]
    same(absent, keys, {1: (4, 5), 2: (6, 7)})


def literals(n: int, none: Optional[int]) -> Tuple[List[int], List[Optional[int]], List[float]]:
    row = [n, n + 1, 7, n, n, n, n, -n]
    row.append(3)
    more = [n, n, n, n, n, n, n, n, n]
    more.append(row[0])
    kept: List[Optional[int]] = [n, none]
    kept.append(none)
    return row + more, kept, [float(n), 0.5]


def test_lists_as_they_are_written():
    same(literals, 4, None)
    same(literals, 4, 5)


def pairs_in_a_dict(n: int) -> List[Tuple[float, int]]:
    seen: Dict[int, Tuple[float, int]] = {}
    named: Dict[str, Tuple[str, int]] = {}
    kept: List[Tuple[float, int]] = []
    for i in range(n):
        key = i * i % 7
        if key in seen:
            score, count = seen[key]
            if i % 3 == 0:
                kept.append(seen[key])  # stays what it is
            seen[key] = (score + float(i), count + 1)
            seen[key] = (seen[key][0] * 0.5, seen[key][1] + key)
        else:
            seen[key] = (float(i), 1)
        name = "key" + str(key)
        label, total = named.get(name, ("a label", 0))
        named[name] = (label + str(i % 2), total + i)
    for name, entry in named.items():
        kept.append((float(len(name + entry[0])), entry[1]))
    for key, pair in seen.items():
        kept.append(pair)
    return kept


def test_a_tuple_in_a_dict_is_written_over_where_nobody_else_has_it():
    same(pairs_in_a_dict, 100)
    same(pairs_in_a_dict, 1)


def from_behind(counts: List[int], parts: List[float], at: int) -> Tuple[List[int], List[float]]:
    counts[at] = counts[at] + 1
    parts[at] = parts[at] * 0.5
    counts[at], counts[0] = counts[0], counts[at]
    return counts, parts


def test_elements_are_counted_from_behind():
    for at in range(-3, 3):
        same(from_behind, [1, 2, 3], [1.0, 2.0, 3.0], at)
    for engine in ENGINES:
        program = scriptlang.script(from_behind, engine=engine)
        for at in (-4, 3, -(1 << 63), (1 << 63) - 1):
            with pytest.raises(Exception, match="list index out of range"):
                program([1, 2, 3], [1.0, 2.0, 3.0], at)


def sums_of_products(numbers: List[float]) -> List[float]:
    out: List[float] = []
    total = 0.0
    for x in numbers:
        product = x * 3.7
        total += product
        total -= x * x
        total = total * 0.5 + total
        out.append(product)
        out.append(total)
    return out


def test_a_product_in_a_sum_is_rounded_twice():
    random.seed(11)
    same(sums_of_products, [random.uniform(-9, 9) for _ in range(200)])


def slices(text: str, start: int, end: int) -> List[str]:
    return [text[start:end], text[start:], text[:end], text[start:end:1], text[start:end][1:]]


def test_texts_are_sliced():
    for text in ("", "abc", "of seven", "a text of more than fifteen bytes"):
        for start in (-40, -8, -1, 0, 1, 7, 40):
            for end in (-40, -3, 0, 2, 16, 40):
                same(slices, text, start, end)
