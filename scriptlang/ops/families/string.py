"""Operators on strings, which are UTF-8 bytes in programs, as in PyTorch.

Lengths, positions and character classes refer to bytes: `bytewise` converts a kernel's `str`
arguments to bytes and its results back, so that Python's bytes methods define the operators.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ...limits import joined, reserve
from ...objects import Device, EnumValue, ScriptObject
from ...stream_text import stream_text
from ...tensors import Tensor
from ..table import declare, describe, primitive


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def convert(value: Any) -> Any:
    """Convert bytes in a result to strings."""
    if isinstance(value, bytes):
        return decode(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(convert, value))
    return value


def bytewise(f: Callable) -> Callable:
    """Make a kernel on strings from one on bytes."""

    def kernel(*args):
        return convert(f(*(encode(a) if isinstance(a, str) else a for a in args)))

    return kernel


def bounds(size: int, start: int, end: int) -> tuple[int, int]:
    """The range of a search; a negative end counts from after the last byte, as in PyTorch."""
    start = max(0, size + start) if start < 0 else start
    return start, max(0, size + end + 1) if end < 0 else end


def search(name: str) -> Callable:
    """Make the kernel of a method such as `find`: a method of bytes with a range."""
    method = getattr(bytes, name)

    def kernel(text, part, start, end):
        try:
            return method(text, part, *bounds(len(text), start, end))
        except ValueError:
            raise RuntimeError("ValueError: substring not found") from None

    return bytewise(kernel)


def filled(name: str) -> Callable:
    method = getattr(bytes, name)

    def kernel(text, width, fill):
        if len(fill) != 1:
            raise RuntimeError("TypeError: The fill character must be exactly one character long")
        reserve(width)
        return method(text, width, fill)

    return bytewise(kernel)


def named(name: str) -> Callable:
    """The kernel of the method of bytes with that name."""
    return bytewise(getattr(bytes, name))


WHITESPACE = " \\n\\t\\f\\v"
RANGE = "str self, str substr, int start=0, int end=-1"

for _name in ("upper", "lower", "capitalize", "title", "swapcase"):
    declare(f"aten::{_name}(str self) -> str", named(_name), "primitive")
for _name in ("isalnum", "isalpha", "isdigit", "islower", "isspace", "istitle", "isupper"):
    declare(f"aten::{_name}(str self) -> bool", named(_name), "primitive")
for _name in ("isdecimal", "isnumeric"):
    declare(f"aten::{_name}(str self) -> bool", named("isdigit"), "primitive")
declare(
    "aten::isidentifier(str self) -> bool",
    bytewise(lambda s: bool(re.fullmatch(rb"[A-Za-z][A-Za-z0-9_]*", s))),
    "primitive",
)
declare(
    "aten::isprintable(str self) -> bool",
    bytewise(lambda s: all(32 <= c < 127 for c in s)),
    "primitive",
)
for _name in ("find", "rfind", "rindex", "count"):
    declare(f"aten::{_name}({RANGE}) -> int", search(_name), "primitive")
declare(f"aten::index.str({RANGE}) -> int", search("index"), "primitive")
for _name in ("startswith", "endswith"):
    declare(f"aten::{_name}({RANGE}) -> bool", search(_name), "primitive")
for _name in ("center", "ljust", "rjust"):
    declare(
        f'aten::{_name}(str self, int width, str fillchar=" ") -> str', filled(_name), "primitive"
    )
for _name in ("strip", "lstrip", "rstrip"):
    declare(f'aten::{_name}(str self, str chars="{WHITESPACE}") -> str', named(_name), "primitive")


def partitioned(text, separator):
    return text.partition(separator) if separator else ("", "", text)


def partitioned_from_end(text, separator):
    return text.rpartition(separator) if separator else (text, "", "")


for _name, _f in (("partition", partitioned), ("rpartition", partitioned_from_end)):
    declare(f"aten::{_name}(str self, str separator) -> (str, str, str)", _f, "primitive")
declare("aten::join(str self, str[] values) -> str", joined, "primitive")
declare("aten::add.str(str a, str b) -> str", lambda a, b: a + b, "primitive")
declare(
    "aten::len.str(str s) -> int", lambda s: len(s) if s.isascii() else len(encode(s)), "primitive"
)
declare(
    "aten::list(str t) -> str[]",
    bytewise(lambda s: [s[i : i + 1] for i in range(len(s))]),
    "primitive",
)


@primitive("aten::split.str(str self, str? separator=None, int max=-1) -> str[]")
@bytewise
def split(text, separator, maximum):
    """str.split; without a separator it splits at whitespace and ignores `max`, as in PyTorch."""
    if separator is None:
        return text.split()
    if not separator:
        raise RuntimeError("ValueError: empty separator")
    return text.split(separator, maximum)


@primitive('aten::rsplit(str self, str separator=" ", int max=-1) -> str[]')
@bytewise
def rsplit(text, separator, maximum):
    if not separator:
        raise RuntimeError("ValueError: empty separator")
    return text.rsplit(separator, maximum)


@primitive("aten::zfill(str self, int width) -> str")
@bytewise
def zero_fill(text, width):
    """Pad with zeros on the left; a sign is treated like any other character."""
    reserve(width)
    return text.rjust(width, b"0")


@primitive("aten::replace(str self, str old, str new, int max=-1) -> str")
@bytewise
def replace(text, old, new, most):
    times = text.count(old)
    reserve(len(text) + (times if most < 0 else min(times, most)) * len(new))
    return text.replace(old, new, most)


@primitive("aten::expandtabs(str self, int tabsize=8) -> str")
@bytewise
def expand_tabs(text, tabsize):
    """Expand tabs; columns count from the start of the text, not of the line, as in PyTorch."""
    reserve(len(text) + text.count(b"\t") * tabsize)
    out = b""
    for at, part in enumerate(text.split(b"\t")):
        if at and tabsize > 0:
            out += b" " * (tabsize - len(out) % tabsize)
        out += part
    return out


LINE_ENDS = b"\n\r\v\f\x1c\x1d\x1e\x85\xe2\x80\xa8\xa9"
"""Bytes that each end a line, as in PyTorch."""


@primitive("aten::splitlines(str self, bool keepends=False) -> str[]")
@bytewise
def split_lines(text, keepends):
    """Split into lines; with `keepends`, each line end is a separate element, as in PyTorch."""
    lines, start = [], 0
    for at, byte in enumerate(text):
        if byte in LINE_ENDS:
            lines.append(text[start:at])
            if keepends:
                lines.append(text[at : at + 1])
            start = at + 1
    return [*lines, text[start:]] if start != len(text) else lines


@primitive(
    "aten::__getitem__.str(str s, int index) -> str",
    "prim::StringIndex(str string, int index) -> str",
)
@bytewise
def get_character(text, index):
    if not -len(text) <= index < len(text):
        raise IndexError(f"string index {index} is out of range for a string of {len(text)} bytes")
    index %= len(text)
    return text[index : index + 1]


@primitive("aten::slice.str(str string, int? start=None, int? end=None, int step=1) -> str")
@bytewise
def slice_string(text, start, end, step):
    if step == 0:
        raise RuntimeError("List slice should have non-zero step")
    return text[start:end:step]


@primitive("aten::ord(str string) -> int")
@bytewise
def ordinal(text):
    if len(text) != 1:
        raise RuntimeError(f"String for ord() must be 1 character, found {len(text)}")
    return text[0]


@primitive("aten::chr(int i) -> str")
def character(i):
    """A string of one byte, as in PyTorch, for any number in the range of Python's chr."""
    if not 0 <= i < 0x110000:
        raise RuntimeError(f"chr() arg not in range(0x110000), found {i}")
    return decode(bytes([i & 255]))


for _name, _f in (("hex", hex), ("oct", oct), ("bin", bin)):
    declare(f"aten::{_name}(int i) -> str", _f, "primitive")

# text of values


def float_text(x: float) -> str:
    """A float as C++ streams print it with 17 digits: `1.`, `0.10000000000000001`, `1e+20`."""
    if abs(x) < 2.0**63 and x == int(x):
        return f"{int(x)}."
    return "%.17g" % x


def complex_text(x: complex) -> str:
    imaginary = float_text(x.imag)
    sign = "" if imaginary.startswith("-") else "+"
    return f"{float_text(x.real)}{sign}{imaginary}j"


MAX_NESTING = 200


def value_text(value: Any, inside: tuple[int, ...] = ()) -> str:
    """A value as `str` and `format` print it in programs; strings in containers are not quoted.

    inside: the ids of the enclosing containers; a list that contains itself is printed as "[...]".
    """
    if isinstance(value, (bool, int, str)) or value is None:
        return str(value)
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, complex):
        return complex_text(value)
    if isinstance(value, (list, dict, tuple)):
        return container_text(value, inside)
    if isinstance(value, EnumValue):
        return f"Enum<{value.type.name.rpartition('.')[2]}.{value.name}>"
    if isinstance(value, ScriptObject):
        return f"<{value.type.name} object at 0x{id(value):x}>"
    if isinstance(value, Tensor):
        reserve(value.numel() * 8)
        return stream_text(value)
    return str(value) if isinstance(value, Device) else repr(value)


def container_text(value: list | dict | tuple, inside: tuple[int, ...]) -> str:
    """The text of a list, dict or tuple; as in PyTorch without the names of a named tuple."""
    if id(value) in inside:
        return "[...]" if isinstance(value, list) else "{...}"
    if len(inside) > MAX_NESTING:
        raise RuntimeError("a value is nested too deeply to print")
    here = (*inside, id(value))
    if isinstance(value, dict):
        return (
            "{"
            + joined(
                ", ", (f"{value_text(k, here)}: {value_text(v, here)}" for k, v in value.items())
            )
            + "}"
        )
    parts = joined(", ", (value_text(v, here) for v in value))
    if isinstance(value, list):
        return f"[{parts}]"
    return f"({parts},)" if len(value) == 1 else f"({parts})"


declare("aten::str(t elem) -> str", value_text, "primitive")


@primitive("aten::format(str self, ...) -> str")
def format_text(self, *values):
    """Replace each `{}` by the next value; other braces stay."""
    parts = self.split("{}")
    if len(parts) - 1 > len(values):
        raise RuntimeError(f"Too few arguments for format string: {self}")
    pairs = zip(values, parts[1:])
    return parts[0] + joined("", (value_text(value) + part for value, part in pairs))


def one_character(value) -> str:
    if type(value) not in (int, str):
        raise RuntimeError(
            f"%c requires an int or a character for formatting, but got {type(value).__name__}"
        )
    return character(value) if isinstance(value, int) else value


def integer_text(value) -> str:
    """The text for %d; a float is truncated to 32 bits, as by a C++ cast."""
    if not isinstance(value, (int, float)):
        raise RuntimeError(f"%d requires a number for formatting, but got {type(value).__name__}")
    if isinstance(value, float) and not abs(value) < 2**31:
        return str(-(2**31))
    return str(int(value))


def float_format(spec: str) -> Callable:
    """Make the function of a %e or %f specifier; %f rounds to float32 first, as in PyTorch."""

    def text(value):
        if not isinstance(value, (int, float)):
            raise RuntimeError(
                f"%{spec} requires a number for formatting, but got {type(value).__name__}"
            )
        return f"%{spec}" % (np.float32(value) if spec in "fF" else value)

    return text


SPECIFIERS: dict[str, Callable] = {
    "s": value_text,
    "d": integer_text,
    "i": integer_text,
    "c": one_character,
    **{spec: float_format(spec) for spec in "eEfF"},
}


@primitive("aten::percentFormat(str self, ...) -> str")
def percent_format(self, *values):
    """`self % values` with the specifiers d i e E f F c s and %%; a tuple holds all values."""
    if len(values) == 1 and isinstance(values[0], tuple):
        values = values[0]
    elif not values:
        raise RuntimeError("percentFormat takes a text and a value")
    left, out, at = list(values), [], 0
    for found in re.finditer(r"%(.?)", self, re.DOTALL):
        out.append(self[at : found.start()])
        at, spec = found.end(), found.group(1)
        if spec == "":
            raise RuntimeError("Incomplete format specifier")
        if spec == "%":
            out.append("%")
            continue
        if spec not in SPECIFIERS:
            raise RuntimeError(
                f"The specifier %{spec} is not supported in TorchScript format strings"
            )
        if not left:
            raise RuntimeError("Too few arguments for format string")
        out.append(SPECIFIERS[spec](left.pop(0)))
    if left:
        raise RuntimeError("Too many arguments for format string")
    return "".join(out) + self[at:]


describe("add.str len.str", total=True)
