"""Attention: products of queries and keys under masks, layers of transformers; and errors."""

from __future__ import annotations

import numpy as np
import pytest
from scriptlang.interpreter.engine import available, engine

from scriptlang import from_numpy
from scriptlang.ops import table
from tests.ops.harness import Arrays, both_tests, call
from tests.ops.one_operator import program

A = Arrays("attention")


def dense():
    """Masks, causal ones, dropout, scales, and heads that share keys."""
    q, k, v = (A.normal(2, 3, n, 4) for n in (5, 6, 6))
    few, far = A.uniform(5, 6) > 0.4, A.normal(5, 6)
    for mask in (
        None,
        few,
        far,
        A.normal(2, 1, 5, 6),
        A.uniform(3, 5, 6) > 0.3,
        np.zeros((5, 6), bool),
    ):
        yield call("scaled_dot_product_attention", q, k, v, mask, tolerance=1e-4)
    yield call("scaled_dot_product_attention", q, q, q, None, 0.0, True, tolerance=1e-4)
    yield call("scaled_dot_product_attention", q, k, v, None, 0.0, True, tolerance=1e-4)
    yield call("scaled_dot_product_attention", q, k, v, scale=0.3, tolerance=1e-4)
    yield call(
        "scaled_dot_product_attention", q, k[:, :1], v[:, :1], enable_gqa=True, tolerance=1e-4
    )
    yield call("scaled_dot_product_attention", q, k, A.normal(2, 3, 6, 7), tolerance=1e-4)
    for dtype in ("float16", "float64"):
        x, y, z = (a.astype(dtype) for a in (q, k, v))
        yield call(
            "scaled_dot_product_attention", x, y, z, tolerance=5e-3 if dtype == "float16" else 1e-5
        )
    for p in (0.3, 1.0):
        yield call("scaled_dot_product_attention", q, k, v, None, p, tolerance=1e-4)
    yield call(
        "scaled_dot_product_attention", q[0], k[0], v[0], A.normal(5, 6), 0.5, tolerance=1e-4
    )
    yield call("scaled_dot_product_attention", *[np.zeros((2, 2, 3, 0), "float32")] * 3)
    yield call("scaled_dot_product_attention", q, k[..., :3], v)  # all of these are refused
    yield call("scaled_dot_product_attention", q, k.astype("float64"), v)
    yield call("scaled_dot_product_attention", q[0, 0, 0], k[0, 0, 0], v[0, 0, 0])


def masked_and_causal():
    """Both at once, which PyTorch's flash kernel takes; rows that float masks hide entirely."""
    q, k, v = (A.normal(1, 2, 4, 8) for _ in range(3))
    far = A.normal(4, 4)
    hidden = far.copy()
    hidden[0] = -np.inf
    name = "scaled_dot_product_attention"
    for mask in (far, far[:1], far[:, :1], far[None, None], far > 0, hidden):
        yield call(name, q, k, v, mask, 0.0, True, tolerance=1e-4)
    for dtype in ("float16", "float64"):
        x, y, z, mask = (a.astype(dtype) for a in (q, k, v, hidden))
        loose = 5e-3 if dtype == "float16" else 1e-5
        yield call(name, x, y, z, mask, 0.0, True, tolerance=loose)
        yield call(name, x, y, z, mask, tolerance=loose)
    yield call(name, q, k, v, hidden, tolerance=1e-4)
    yield call(name, q[0], k[0], v[0], hidden, tolerance=1e-4)
    yield call(name, q, k, v, hidden[None], tolerance=1e-4)
    yield call(name, q, k[:, :1], v[:, :1], far, 0.0, True, enable_gqa=True, tolerance=1e-4)
    yield call(name, q[:, :, :2], k, v, far[:2], 0.0, True, tolerance=1e-4)
    yield call(name, q[:, :, :0], k, v, far[:0], 0.0, True)
    yield call(name, q, k[:, :, :0], v[:, :, :0], far[:, :0], 0.0, True)
    # These are refused.
    yield call(name, q[0], k[0], v[0], far, 0.0, True)
    yield call(name, q, k, v, far[None], 0.0, True)
    yield call(name, q, k[:, :1], v[:, :1], far, 0.0, True)
    yield call(name, q, k, v, far[0])
    for dtype in ("float64", "int64", "float16", "complex64"):
        yield call(name, q, k, v, far.astype(dtype))


def masks():
    """Masks of attention that are numbers, and of shapes that do not fit."""
    x, weights = A.normal(2, 3, 4), [A.normal(12, 4), A.normal(12), A.normal(4, 4), A.normal(4)]
    far, few = np.array([[0, 0.5, 0], [0, 0, -1e9], [0, 0, 0]], "float32"), A.uniform(2, 3) > 0.6
    for mask, kind in (
        (far, 0),
        (far, None),
        (few.astype("float32"), 1),
        (few, 0),
        (few, 1),
        ((A.uniform(2, 2, 3, 3) > 0.6).astype("float32"), 2),
        (far > 0, 1),
        (A.uniform(2, 2, 3, 3) > 0.6, None),
        (A.uniform(4, 3, 3) > 0.6, 2),
    ):
        yield call("_native_multi_head_attention", x, x, x, 4, 2, *weights, mask, True, True, kind)
    yield call(
        "_transformer_encoder_layer_fwd",
        x,
        4,
        2,
        *weights,
        True,
        True,
        1e-5,
        A.normal(4),
        A.normal(4),
        A.normal(4),
        A.normal(4),
        A.normal(6, 4),
        A.normal(6),
        A.normal(4, 6),
        A.normal(4),
        few.astype("float32"),
        1,
    )


def flash():
    """What is recorded where gradients are wanted, and its gradients: the logarithms of the sums
    belong to the scores.
    """
    name = "_scaled_dot_product_flash_attention_for_cpu"
    for dtype, tolerance in (("float32", 1e-4), ("float64", 1e-9)):
        q, g = (A.normal(2, 2, 9, 4).astype(dtype) for _ in range(2))
        k, v = (A.normal(2, 2, 7, 4).astype(dtype) for _ in range(2))
        far = A.normal(9, 7).astype(dtype)
        far[3] = -np.inf
        for mask in (None, far, np.stack([far, far + 1])[:, None]):
            for causal in (False, True):
                score = np.einsum("bhqd,bhkd->bhqk", q, k) * 0.25 + (0 if mask is None else mask)
                if causal:
                    score = np.where(np.tri(9, 7, dtype=bool), score, -np.inf)
                total = np.exp(score).sum(-1)
                logs = np.log(np.where(total == 0, 1, total)).astype(dtype)
                weight = np.exp(score - logs[..., None])
                out = np.einsum("bhqk,bhkd->bhqd", weight, v).astype(dtype)
                some = {"attn_mask": mask, "scale": 0.25, "tolerance": tolerance}
                yield call(name, q, k, v, 0.0, causal, **some)
                yield call(f"{name}_backward", g, q, k, v, out, logs, 0.0, causal, **some)
    q, k, v = (A.normal(1, 4, 5, 3) for _ in range(3))
    yield call(name, q, k[:, :2], v[:, :2], tolerance=1e-4)  # pairs of heads share keys
    yield call(name, *(x.swapaxes(1, 2) for x in (q, k, v)), tolerance=1e-4)
    half = [x.astype("float16") for x in (q, k, v)]
    yield call(name, *half, 0.0, True, tolerance=5e-3)
    yield call(name, q[0], k[0], v[0])  # all of these are refused
    yield call(name, q, k, v, 0.5)
    yield call(name, q, k, v[..., :2])
    yield call(name, *(x.astype("int64") for x in (q, k, v)))
    yield call(name, q, k, v, attn_mask=np.ones((5, 5), bool))
    yield call(name, q, k, v, attn_mask=np.ones((4, 5, 5), "float32"))


SAMPLES = [*dense(), *masks(), *masked_and_causal(), *flash()]
test_recorded, test_pytorch = both_tests("attention", SAMPLES)


@pytest.mark.parametrize("name", sorted(available()))
@pytest.mark.parametrize(
    "query, key",
    [
        ((1, 0, 2, 4), (1, 2, 3, 4)),  # no heads
        ((0, 2, 2, 4), (0, 2, 3, 4)),
        ((1, 2, 0, 4), (1, 1, 3, 4)),
        ((1, 2, 2, 4), (1, 2, 0, 4)),
        ((1, 2, 2, 0), (1, 2, 3, 0)),
    ],
)
def test_flash_of_nothing(name, query, key):
    """PyTorch divides by zero without rows or keys."""
    q, k = (from_numpy(np.ones(size, "float32")) for size in (query, key))
    logs = from_numpy(np.ones(query[:3], "float32"))
    given = [q, q, k, k, q, logs, 0.0, False, None, None]
    flash = "aten::_scaled_dot_product_flash_attention_for_cpu"
    back = program(table.find(f"{flash}_backward", ""), ())
    made = [x.numpy() for x in engine(name).run(back, given)]
    made += [
        x.numpy()
        for x in engine(name).run(program(table.find(flash, ""), ()), [q, k, k, *given[6:]])
    ]
    assert [x.shape for x in made] == [query, key, key, query, query[:3]]
    assert not any(x.any() for x in made)
