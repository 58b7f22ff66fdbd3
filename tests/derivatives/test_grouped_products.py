"""Gradients of products of groups, which take no float64, are those of a loop over the groups."""

from __future__ import annotations

import numpy as np
import pytest

import scriptlang as s

ENDS = [2, 2, 7]
GROUPS = list(zip([0, *ENDS], ENDS))


def of_rows(a, b):
    return s.cat([a[i:j] @ b[k] for k, (i, j) in enumerate(GROUPS)])


def of_columns(a, b):
    return s.cat([a[k] @ b[:, i:j] for k, (i, j) in enumerate(GROUPS)], 1)


def of_both(a, b):
    return s.stack([a[:, i:j] @ b[i:j] for i, j in GROUPS])


def grouped(a, b, ends: s.Tensor | None):
    return s.nn.functional.grouped_mm(a, b, offs=ends)


CASES = {
    "rows": (of_rows, (7, 4), (3, 4, 5)),
    "columns": (of_columns, (3, 5, 4), (4, 7)),
    "both": (of_both, (5, 7), (7, 4)),
    "batches": (s.matmul, (3, 5, 4), (3, 4, 2)),
}


@pytest.mark.parametrize("engine", ["native", "python"])
@pytest.mark.parametrize("case", CASES)
def test_gradients(case, engine):
    loop, left, right = CASES[case]
    random = np.random.default_rng(3)
    values = [random.normal(size=size).astype(np.float32) for size in (left, right)]
    ends = None if case == "batches" else s.tensor(ENDS, dtype=s.int32)

    product = s.script(grouped, engine=engine)
    found = []
    for f in (lambda a, b: product(a, b, ends), loop):
        a, b = (s.from_numpy(v).requires_grad_(True) for v in values)
        result = f(a, b)
        result.backward(s.sin(s.arange(result.numel()).reshape(result.size())))
        found.append([result.detach().numpy(), a.grad.numpy(), b.grad.numpy()])
    for got, want in zip(*found):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
