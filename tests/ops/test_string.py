"""String operators, compared with Python's methods where PyTorch agrees with them, and
formatting."""

from __future__ import annotations

from itertools import product

import pytest

from scriptlang.ops import table
from tests.ops.harness import both_tests, call

TEXTS = ("", "a", "ab", "abcabc", "  ab c ", "a,b,,c", "123", "1a", "Ab Cd", " ", "é")
PARTS = ("a", "b", "bc", ",", " ", "abc")


def samples():
    for name in (
        "upper lower capitalize title swapcase isalnum isalpha isdigit isdecimal "
        "isnumeric islower isprintable isspace istitle isupper"
    ).split():
        for text in TEXTS:
            yield call(f"aten::{name}", text)
    for name in ("find", "rfind", "startswith", "endswith", "index.str", "rindex"):
        for text, part, (start, end) in product(TEXTS[3:5], PARTS[:3], ((0, -1), (-2, -1), (0, 2))):
            yield call(f"aten::{name}", text, part, start, end)
    for text in TEXTS[:-1]:
        for part in PARTS[1:2]:
            yield call("aten::count", text, part, 0, -1)
            yield call("aten::replace", text, part, "ZZ", -1)
            yield call("aten::replace", text, part, "ZZ", 1)
            yield call("aten::partition", text, part)
            yield call("aten::rpartition", text, part)
            for count in (-1, 0, 1):
                yield call("aten::split.str", text, part, count)
                yield call("aten::rsplit", text, part, count)
        yield call("aten::split.str", text, None, -1)
        for name in ("strip", "lstrip", "rstrip"):
            yield call(f"aten::{name}", text, " a")
        for start, end, step in product((None, 1, -2), (None, 2, 10), (1, -2)):
            yield call("aten::slice.str", text, start, end, step)
        for i in (0, -1):
            if text:
                yield call("aten::__getitem__.str", text, i)
    for name, width in product(("center", "ljust", "rjust"), (0, 3, 5)):
        yield call(f"aten::{name}", "ab", width, "*")
    yield call("aten::center", "ab", 5, "**")
    yield call("aten::slice.str", "ab", None, None, 0)
    yield call("aten::__getitem__.str", "ab", 2)
    yield call("aten::zfill", "ab", 4)
    yield call("aten::expandtabs", "x\ty", 4)
    yield call("aten::join", ",", ["a", "b"])
    yield call("aten::list", "abc")
    yield call("aten::len.str", "é")
    yield call("aten::ord", "a")
    yield call("aten::ord", "ab")
    yield call("aten::chr", 65)
    yield call("aten::chr", -1)
    for i in (10, -10, 0):
        for name in ("hex", "oct", "bin"):
            yield call(f"aten::{name}", i)
    for a, b in (("a", "b"), ("b", "a"), ("a", "a")):
        for name in ("eq", "ne", "lt", "le", "gt", "ge", "add"):
            yield call(f"aten::{name}.str", a, b)


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("string", SAMPLES)

# Texts that PyTorch 2.13 gives for the same calls from a script.
TEXT_OF = (
    (1.0, "1."),
    (1e16, "10000000000000000."),
    (0.1, "0.10000000000000001"),
    (1e20, "1e+20"),
    (1e-05, "1.0000000000000001e-05"),
    (123456.789, "123456.789"),
    (float("nan"), "nan"),
    (float("-inf"), "-inf"),
    (100000.0, "100000."),
    (True, "True"),
    (None, "None"),
    (7, "7"),
    ([1, 2], "[1, 2]"),
    (["1"], "[1]"),
    ({"a": 2.0}, "{a: 2.}"),
    ((1, "x"), "(1, x)"),
)


@pytest.mark.parametrize("value, text", TEXT_OF, ids=[t for _, t in TEXT_OF])
def test_text_of_values(value, text):
    assert table.find("aten::str", "").kernel(value) == text
    assert table.find("aten::format", "").kernel("<{}>", value) == f"<{text}>"


FORMATTED = (
    ("none", (1,), "none"),
    ("{0}", (1,), "{0}"),
    ("{:d}", (1,), "{:d}"),
    ("{{}}", (1,), "{1}"),
    ("{} {}", (1, 2.5), "1 2.5"),
)


@pytest.mark.parametrize("pattern, values, text", FORMATTED)
def test_format(pattern, values, text):
    assert table.find("aten::format", "").kernel(pattern, *values) == text


def test_format_with_too_few_values():
    with pytest.raises(RuntimeError, match="Too few arguments for format string: {} {}"):
        table.find("aten::format", "").kernel("{} {}", 1)


PERCENT = (
    ("%d %f %s", (1, 2.0, "x"), "1 2.000000 x"),
    ("%s %s", (1, 2.0), "1 2."),
    ("%d %e", (1, 2.0), "1 2.000000e+00"),
    ("%c%%", (65,), "A%"),
)


@pytest.mark.parametrize("pattern, values, text", PERCENT)
def test_percent_format(pattern, values, text):
    assert table.find("aten::percentFormat", "").kernel(pattern, *values) == text


PERCENT_ERRORS = (
    ("%g", (1.0,), "%g is not supported"),
    ("%d %d", (1,), "Too few"),
    ("%d", (1, 2), "Too many"),
    ("%5d", (1,), "%5 is not supported"),
)


@pytest.mark.parametrize("pattern, values, message", PERCENT_ERRORS)
def test_percent_format_errors(pattern, values, message):
    with pytest.raises(RuntimeError, match=message):
        table.find("aten::percentFormat", "").kernel(pattern, *values)
