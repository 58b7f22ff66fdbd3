"""What is different in two outcomes of a call."""

from __future__ import annotations

import fnmatch
import math
import pathlib
from collections import namedtuple
from functools import lru_cache
from typing import Any

import numpy as np

from scriptlang import types as T
from scriptlang.ops import table
from scriptlang.tensors import contiguous_strides

from . import values

TOLERANCE = {
    "float16": 2e-2,
    "bfloat16": 6e-2,
    "float32": 2e-4,
    "complex64": 2e-4,
    "float64": 1e-7,
    "complex128": 1e-7,
    "float8_e4m3fn": 0.2,
    "float8_e5m2": 0.3,
}
OUT_OF_MEMORY = (
    "MemoryError",
    "LimitError",
    "OutOfMemoryError",
    "ArrayMemoryError",
    "_ArrayMemoryError",
)

Known = namedtuple("Known", "overload pair kind part reason")


@lru_cache(maxsize=None)
def known_differences() -> list[Known]:
    """The lines of known.txt: `overload ; pair ; kind ; part ; reason`."""
    text = (pathlib.Path(__file__).parent / "known.txt").read_text(encoding="utf-8")
    return [
        Known(*(part.strip() for part in line.split(" ; ")))
        for line in text.splitlines()
        if line.strip() and not line.startswith("#")
    ]


def known(overload: str, pair: str, kind: str, call: str, what: str) -> Known | None:
    """The decided difference that a finding is, if it is one; call, what: its text, what came."""
    for k in known_differences():
        if (
            any(is_meant(overload, p) for p in k.overload.split())
            and (k.pair == "*" or pair in k.pair.split())
            and (k.kind == "*" or kind in k.kind.split())
            and any(holds(p, call, what) for p in k.part.split(" | "))
        ):
            return k
    return None


def holds(part: str, call: str, what: str) -> bool:
    """Whether a part of a line of known.txt is true of a finding."""
    if part.startswith("@"):
        return CONDITIONS[part](values.read(call))
    return part == "*" or part in f"{call} {what}"


def is_meant(overload: str, pattern: str) -> bool:
    if pattern == "@variables":
        schema = table.find(*_split(overload)).schema
        return any(has_variable(x.type) for x in (*schema.arguments, *schema.returns))
    return fnmatch.fnmatchcase(overload, pattern)


def has_variable(type_: T.Type) -> bool:
    if isinstance(type_, T.VarType):
        return True
    parts = [getattr(type_, name, None) for name in ("element", "key", "value")]
    return any(has_variable(p) for p in (*parts, *getattr(type_, "elements", ())) if p is not None)


ROUGH = {
    # PyTorch's approximations are wrong by 1e-6 between -2 and -4, and beside zeros
    "aten::special_airy_ai*": 1e-4,
    "aten::special_bessel_j*": 1e-4,
    "aten::special_bessel_y*": 1e-4,
    # cos(n acos(x)), whose angle is rounded
    "aten::special_*chebyshev*": 2e-3,
}
"""Patterns of overloads -> the tolerance of comparisons with PyTorch."""


def roughness(overload: str) -> float:
    return max((t for p, t in ROUGH.items() if fnmatch.fnmatchcase(overload, p)), default=0.0)


OVERLAP = Known(
    "*",
    "*",
    "value mutation",
    "*",
    "a call writes to elements that share memory: their order is nobody's promise",
)

SHARED_OUT = Known(
    "*",
    "*",
    "value mutation",
    "*",
    "an output is an input, too: what PyTorch's loops leave of it is nobody's promise",
)


def shares_written(call: values.Call) -> bool:
    """Whether a tensor that a call writes to is another argument as well."""
    schema = table.find(*_split(call.overload)).schema
    return schema.is_mutable and any(isinstance(v, values.A) for v in _all(call.arguments))


def writes_overlap(call: values.Call) -> bool:
    """Whether a tensor that a call writes to has elements at one place, or shares its memory with
    another argument that is not the same tensor."""
    schema = table.find(*_split(call.overload)).schema
    viewed = {v.k for v in _all(call.arguments) if isinstance(v, values.V)}
    if viewed:
        return schema.is_mutable
    written = [
        v
        for a, v in zip(schema.arguments, call.arguments)
        if a.alias and a.alias.is_write or a.name in ("running_mean", "running_var")
    ]
    return any(overlaps(t) for t in _all(written) if isinstance(t, values.T))


def has_gaps(call: values.Call) -> bool:
    """Whether a tensor does not lie row-major, as one block."""
    return any(
        t.stride != contiguous_strides(t.size) and 0 not in t.size
        for t in _all(call.arguments)
        if isinstance(t, values.T)
    )


def has_no_number(call: values.Call) -> bool:
    """Whether an element, or a number, is NaN."""
    return any(
        isinstance(v, float)
        and math.isnan(v)
        or isinstance(v, values.T)
        and bool((memory := values.memory_of(v)).dtype.kind in "fcV")
        and bool(np.isnan(memory.astype(np.complex128)).any())
        for v in _all(call.arguments)
    )


CODES = {"uint8": (0, 255), "int8": (-128, 127), "int32": (-(2**31), 2**31 - 1)}


def has_no_codes(call: values.Call) -> bool:
    """Whether the output's scale is no positive number of float32, or its zero point no code."""
    schema = table.find(*_split(call.overload)).schema
    given = [v for v in _all(call.arguments) if isinstance(v, values.Q)]
    types = [v.codes.dtype for v in given if isinstance(v.codes, values.T)]
    low, high = CODES[types[0]] if types else CODES["uint8"]
    for a, v in zip(schema.arguments, call.arguments):
        name = a.name.removesuffix("_i")
        if name.endswith("scale") and isinstance(v, (int, float)) and not 1e-30 < v < 1e30:
            return True
        if name.endswith("zero_point") and isinstance(v, int) and not low <= v <= high:
            return True
    return False


def repeats_output(call: values.Call) -> bool:
    """Whether one tensor is written twice."""
    schema = table.find(*_split(call.overload)).schema
    written = [v for a, v in zip(schema.arguments, call.arguments) if a.alias and a.alias.is_write]
    return sum(isinstance(v, (values.T, values.A)) for v in written) > 1 and any(
        isinstance(v, values.A) for v in written
    )


def has_no_elements(call: values.Call) -> bool:
    return any(0 in t.size for t in _all(call.arguments) if isinstance(t, values.T))


CONDITIONS = {
    "@empty": has_no_elements,
    "@gaps": has_gaps,
    "@nan": has_no_number,
    "@codes": has_no_codes,
    "@repeated": repeats_output,
}
"""What parts of known.txt stand for."""


def _split(overload: str) -> tuple[str, str]:
    name, _, short = overload.partition(".")
    return name, short


def _all(value: Any):
    yield value
    if isinstance(value, (values.Q, values.P, list)) or type(value) is tuple:
        for v in value:
            yield from _all(v)


def overlaps(t: values.T) -> bool:
    """Whether two elements of a tensor lie at one place."""
    places = np.zeros(1, np.int64)
    for n, stride in zip(t.size, t.stride):
        places = (places[:, None] + np.arange(n) * stride).reshape(-1)
    return np.unique(places).size < places.size


def is_out_of_memory(outcome: tuple) -> bool:
    return outcome[0] == "error" and (
        outcome[1] in OUT_OF_MEMORY or "memory" in outcome[2] or "allocate" in outcome[2]
    )


def difference(a: tuple, b: tuple, classes: bool, rough: float = 0.0) -> tuple[str, str] | None:
    """(kind, what is different) of two outcomes, None where nothing is or nothing can be said;
    rough: the least tolerance of numbers.

    kind: "raises", "class" (of errors, if `classes`), "value", "mutation", "aliasing".
    """
    if a[0] not in ("ok", "error") or b[0] not in ("ok", "error"):
        return None
    if is_out_of_memory(a) or is_out_of_memory(b):
        return None
    if a[0] != b[0]:
        return "raises", f"{short(a)} / {short(b)}"
    if a[0] == "error":
        return ("class", f"{short(a)} / {short(b)}") if classes and a[1] != b[1] else None
    coarse = max(rough, coarseness([a[2], b[1]]))
    for kind, x, y in (("value", a[1], b[1]), ("mutation", a[2], b[2])):
        found = unequal(x, y, coarse)
        if found:
            return kind, found
    if a[3] != b[3]:
        return "aliasing", f"{a[3]} / {b[3]}"
    return None


def short(outcome: tuple) -> str:
    if outcome[0] == "error":
        return f"{outcome[1]}: {outcome[2].splitlines()[0][:140] if outcome[2] else ''}"
    return shown(outcome[1])


def shown(value: Any) -> str:
    if is_tensor(value):
        return f"{value[1]}{list(value[2])} {np.array2string(value[3].reshape(-1)[:6])}"
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(map(shown, value[:4])) + ")"
    return repr(value)[:80]


def is_tensor(value: Any) -> bool:
    return type(value) is tuple and len(value) == 4 and value[0] == "tensor"


def is_object(value: Any) -> bool:
    return (
        type(value) is tuple
        and len(value) == 2
        and type(value[0]) is str
        and value[0] in ("object", "other")
    )


def coarseness(value: Any) -> float:
    """The tolerance of the least precise type among tensors: an output of another type holds what
    was computed in one of them, and integers are computed as float32."""
    if is_tensor(value):
        return TOLERANCE.get(value[1], 0.0 if value[3].dtype.kind in "fc" else TOLERANCE["float32"])
    return max(map(coarseness, value), default=0.0) if isinstance(value, (list, tuple)) else 0.0


def unequal(a: Any, b: Any, coarse: float = 0.0) -> str:
    """What is different in two results; empty where nothing is."""
    if is_tensor(a) and is_tensor(b):
        return unequal_tensors(a, b, coarse)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if is_object(a) and is_object(b) and a[0] != b[0]:
            return ""  # PyTorch's objects show nothing of theirs
        if len(a) != len(b):
            return f"{len(a)} / {len(b)} values"
        for i, (x, y) in enumerate(zip(a, b)):
            found = unequal(x, y, coarse)
            if found:
                return f"[{i}] {found}"
        return ""
    if type(a) is not type(b):
        return f"{shown(a)} / {shown(b)}"
    if isinstance(a, (float, complex)):
        with np.errstate(all="ignore"):
            same = np.allclose(a, b, rtol=1e-6, atol=1e-12, equal_nan=True)
        if isinstance(a, complex) and not np.isfinite(a) and not np.isfinite(b):
            return ""  # which part overflows, or is NaN, may differ
        return "" if same or a == b else f"{a!r} / {b!r}"
    return "" if a == b else f"{shown(a)} / {shown(b)}"


def unequal_tensors(a: tuple, b: tuple, coarse: float) -> str:
    if a[1] != b[1]:
        return f"type {a[1]} / {b[1]}"
    if a[2] != b[2]:
        return f"size {list(a[2])} / {list(b[2])}"
    x, y = a[3].reshape(-1), b[3].reshape(-1)
    if x.dtype.kind not in "fc":
        wrong = x != y
    else:
        tolerance = max(TOLERANCE.get(a[1], 1e-7), coarse)
        with np.errstate(all="ignore"):
            finite = np.abs(y[np.isfinite(y)])
            scale = min(finite.max(initial=0), 1e30)
            wrong = ~np.isclose(
                x, y, rtol=tolerance, atol=tolerance * float(scale) * 0.1, equal_nan=True
            )
            if x.dtype.kind == "c":  # which part overflows, or is NaN, may differ
                wrong &= np.isfinite(x) | np.isfinite(y)
    if not wrong.any():
        return ""
    at = int(np.argmax(wrong))
    return f"{a[1]}{list(a[2])} at {at}: {x[at]} / {y[at]} ({int(wrong.sum())} of {x.size})"
