"""Tensors in parts: by size, by number, by places; and parts that do not fit."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, both_tests, call

A = Arrays("split")


SPLITS = [
    ("split", 2, 2),
    ("split", [1, 2], 1),
    ("split", [1, 1], 1),
    ("chunk", 2, 1),
    ("chunk", 5, 2),
    ("unbind", 1),
    ("tensor_split", 3, 2),
    ("tensor_split", [1, 3], 2),
    ("hsplit", 3),
    ("vsplit", 2),
    ("dsplit", 2),
    ("split", 0, 1),
    ("split", -1, 1),
    ("split_with_sizes", [1, 2], 1),
    ("split_with_sizes", [3, -1], 1),
    ("split_with_sizes_copy", [1, 2], 1),
    ("split_copy", 2, 2),
    ("chunk", 0, 1),
    ("chunk", 7, 0),
    ("unbind", 0),
    ("unbind", 3),
    ("unbind_copy", 1),
    ("unsafe_chunk", 2, 1),
    ("unsafe_split", 2, 1),
    ("unsafe_split_with_sizes", [1, 2], 1),
    ("tensor_split", 0, 0),
    ("tensor_split", [-1, 2], 1),
    ("tensor_split", np.array([1, 2]), 1),
    ("tensor_split", np.array(2), 1),
    ("hsplit", [1, 2]),
    ("vsplit", [1]),
    ("dsplit", [1, 9]),
    ("dsplit", 3),
]


def samples():
    for x in (A.normal(2, 3, 4), A.normal(1, 3), A.normal(3, 1, 2), A.normal(0, 3), A.normal()):
        for name, *args in SPLITS:
            yield call(name, x, *args)


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("split", SAMPLES)
