"""Padding by every mode, by circles, of sequences; and sizes that are refused."""

from __future__ import annotations

from tests.ops.harness import Arrays, both_tests, call

A = Arrays("padding")


def modes():
    """Every mode, on inputs with and without a batch, with the sizes that it refuses."""
    for shape in ((2, 3, 6), (3, 6), (2, 3, 5, 6), (3, 5, 6), (2, 3, 4, 5, 6), (3, 4, 5, 6), (6,)):
        x = A.normal(*shape)
        for pads in ([1, 2], [0, 0], [2, -1], [1, 1, 2, 0], [0, 1, 1, 0, 2, 1], [6, 0], [1]):
            yield call("constant_pad_nd", x, pads, 1.5)
            for mode in ("constant", "reflect", "replicate"):
                yield call("pad", x, pads, mode)
    for dims, shape in enumerate(((2, 4, 6), (2, 4, 5, 6), (2, 3, 4, 5, 6)), start=1):
        for dtype in ("float32", "float64", "int64", "complex64", "bool"):
            x = A.normal(*shape).astype(dtype)
            for name in (f"reflection_pad{dims}d", f"replication_pad{dims}d"):
                yield call(name, x, [1, 2] * dims)
                yield call(name, x, [-1, 1] * dims)
                yield call(name, x[:0], [1, 1] * dims)
        yield call(f"reflection_pad{dims}d", A.normal(*shape), [6, 0] * dims)
    yield call("pad", A.normal(2, 3), [1, 1], "mirror")
    yield call("pad", A.normal(2, 3), [1, 1], "reflect", 2.0)
    yield call("constant_pad_nd", A.integers(0, 9, 2, 3), [1, 1, 1, 0], 7)


def rows():
    """Sequences of different lengths, padded at their end or begin."""
    for dtype in ("float32", "int64"):
        found = [A.normal(n, 2).astype(dtype) for n in (3, 1, 4)]
        yield call("pad_sequence", found)
        yield call("pad_sequence", found, True)
        yield call("pad_sequence", found, True, -1.0)
        yield call("pad_sequence", found, padding_value=2.0, padding_side="left")
    yield call("pad_sequence", [A.normal(3, 2), A.normal(2, 3)])
    yield call("pad_sequence", [])
    yield call("pad_sequence", [A.normal(3)], padding_side="top")


def circles():
    x = A.normal(2, 3, 4, 5)
    for pad in ((-1, 1), (1, -2), (2, 3, -1, -1), (-1, 1, -2, 1), (1, 0, 0, -1, 2, 1), (-2, 2)):
        yield call("pad", x, list(pad), "circular")
        yield call("_pad_circular", x, list(pad))


SAMPLES = [*modes(), *rows(), *circles()]
test_recorded, test_pytorch = both_tests("padding", SAMPLES)
