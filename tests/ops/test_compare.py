"""Comparisons, predicates, bits, limits and sets; and types that they refuse."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, both_tests, call

A = Arrays("compare")
RELATIONS = "eq ne lt le gt ge not_equal less less_equal greater greater_equal".split()
LOGIC = "logical_and logical_or logical_xor".split()
BITS = (
    "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift "
    "__and__ __or__ __xor__ __lshift__ __rshift__"
).split()
EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1.5, 3], np.float32)


def samples():
    kinds = (
        A.normal(2, 3),
        A.integers(0, 5, 2, 3),
        A.integers(0, 2, 2, 3, dtype=bool),
        A.normal(),
        A.normal(0, 2),
    )
    for x in (*kinds, A.complex(2, 2)):
        yield call("fill", x, 3)
        yield call("equal", x, x)
        yield call("allclose", x, x)
        yield call("isclose", x, x)
        yield call("clamp", x, 1)
        yield call("clamp", x, None, 1)
        yield call("clamp", x, -0.5, 0.5)
        yield call("clamp", x)
        yield call("clamp_min", x, x)
        for name in ("isnan", "isinf", "isfinite", "isreal", "logical_not", "is_nonzero"):
            yield call(name, x)
    for name in ("isposinf", "isneginf", "signbit"):
        for x in (*kinds, EDGES, A.complex(2)):
            yield call(name, x)
    for name in ("lt", "ge", "ne", "logical_xor", "isclose"):
        yield call(name, EDGES[:, None], EDGES[None])
    yield call("isclose", EDGES[:, None], EDGES[None], equal_nan=True)
    yield call("isclose", A.normal(3), A.normal(3), 0.5, 0.5)
    yield call("isclose", A.normal(3), A.normal(3), -1.0)
    yield call("allclose", A.normal(3), A.normal(3, dtype="float64"))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield call(name, A.integers(0, 9, 3), A.normal(3))
        yield call(name, A.integers(-9, 9, 3), 5)
        yield call(name, 5, A.integers(-9, 9, 3))
    for limits in ((0.5, None), (None, A.normal(3)), (A.normal(3), A.normal(2, 1)), (2.0, -2.0)):
        yield call("clamp", A.normal(2, 3), *limits)
        yield call("clip", A.normal(2, 3), *limits)
    yield call("clamp_max", A.integers(0, 9, 4), 3.5)
    for x in (A.complex(3), np.array([True, False, True]), A.normal(3)):
        yield call("isin", x, x[:2])
    yield call("isin", np.array([1, 2, 3]), 2.5)
    yield call("isin", np.array([1, 2, 3]), 2)
    yield call("isin", 2, np.array([1, 2, 3]), invert=True)
    yield call("equal", A.normal(2), A.normal(3))
    yield call("where", A.uniform(2, 3) > 0.5, A.normal(3), A.integers(0, 9, 2, 1))
    yield call("where", A.uniform(2, 3) > 0.5, 1, 2.5)
    yield call("where", A.normal(2, 3), A.normal(2, 3), A.normal(2, 3))


def relations():
    """Each relation of two tensors, and of a tensor and a number, under each of its names."""
    kinds = (
        A.normal(2, 3),
        A.integers(0, 5, 2, 3),
        A.integers(0, 2, 2, 3, dtype=bool),
        A.integers(0, 9, 2, 1, dtype="uint8"),
        A.normal(3, dtype="float16"),
        A.normal(),
        A.normal(0, 3),
    )
    for name in RELATIONS + LOGIC:
        other = A.integers(0, 5, 2, 3)
        for x in kinds:
            yield call(name, x, other)
            if name in RELATIONS:
                yield call(name, x, 2)
        yield call(name, A.complex(3), A.complex(3))
        yield call(name, A.integers(0, 5, 3), A.integers(0, 5, 2))


def bits():
    """Bits of integers of each size and of bools; shifts; numbers that have no bits."""
    for name in BITS:
        for dtype in ("bool",) * ("shift" not in name) + ("uint8", "int8", "int32", "int64"):
            x, y = A.integers(0, 2, 2, 3).astype(dtype), A.integers(0, 2, 3).astype(dtype)
            yield call(name, x, y)
            yield call(name, x, 1)
            yield call(name, x[:0], y)
            yield call(name, x[0, 0], y[:1])
        yield call(name, A.normal(3), A.integers(0, 5, 3))
        yield call(name, A.integers(0, 5, 3), A.integers(0, 5, 2))


def in_place():
    """The result takes the place, the type and the size of the first tensor."""
    for name in RELATIONS + LOGIC + BITS:
        written = name[:2] + "i" + name[2:] if name.startswith("__") else name + "_"
        for dtype in ("int64", "uint8") if name in BITS else ("float32", "int64", "bool"):
            x = A.integers(0, 2, 2, 3).astype(dtype)
            yield call(written, x, A.integers(0, 2, 3).astype(dtype))
            if name not in LOGIC:
                yield call(written, x, 1)
        yield call(written, A.integers(0, 5, 3), A.integers(0, 5, 2, 3))
        yield call(written, np.zeros((0, 3), "int64"), A.integers(0, 5, 3))


def written():
    """Limits in place, and what fills a tensor or is copied into it."""
    for dtype in ("float32", "int64", "uint8"):
        x = A.integers(0, 9, 2, 3).astype(dtype)
        for name in ("clamp_min_", "clamp_max_"):
            yield call(name, x, 3)
            yield call(name, x, x[:1])
        for name in ("clamp_", "clip_"):
            for limits in ((2, 5), (None, 3), (x[:1], None), (None, None)):
                yield call(name, x, *limits)
    yield call("clamp_", A.integers(0, 9, 3), 2.5)
    for dtype in ("float32", "int64", "uint8", "bool"):
        x = A.integers(0, 9, 2, 3).astype(dtype)
        for name in ("copy_", "copy"):
            yield call(name, x, A.integers(-9, 9, 3))
            yield call(name, x, A.uniform(2, 1) * 9)
        for name in ("fill_", "masked_fill_", "masked_fill"):
            where = [] if name == "fill_" else [A.uniform(2, 3) > 0.5]
            yield call(name, x, *where, 1)
            yield call(name, x, *where, np.array(2))
            yield call(name, x, *where, np.array([1, 2]))
        yield call("zero_", x)
        yield call("zero", x[:0])
    yield call("copy_", A.normal(2, 3), A.normal(2, 2))


def mixtures():
    """Operands of several types, and limits that are no numbers."""
    whole = np.arange(4)
    yield call("equal", whole, A.normal(4, dtype="float64"))
    yield call("equal", whole, whole.astype("float32"))
    yield call("masked_fill", whole, whole > 1, np.array(2.5))
    yield call("masked_fill", whole > 1, whole > 1, np.array(2))
    for limits in ((np.nan, None), (None, np.nan), (0.0, np.nan), (np.nan, 1.0)):
        yield call("clamp", A.normal(3), *limits)
        yield call("clamp", whole, *limits)
    yield call("clamp", A.complex(3), 0, 1)


SAMPLES = [*samples(), *relations(), *bits(), *in_place(), *written(), *mixtures()]
test_recorded, test_pytorch = both_tests("compare", SAMPLES)
