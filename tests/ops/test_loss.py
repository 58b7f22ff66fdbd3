"""Losses with every reduction, class indices and probabilities, ignored places; and errors."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, both_tests, call

A = Arrays("loss")


def pointwise(r):
    for shape in ((3, 4), ()):
        x, y = A.normal(*shape), A.normal(*shape)
        p, q, w = (A.uniform(*shape) for _ in range(3))
        sign = A.integers(0, 2, *shape) * 2 - 1
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
            yield call(name, x, y, r)
        yield call("smooth_l1_loss", x, y, r, 0.0)
        yield call("smooth_l1_loss", x, y, r, -1.0)
        yield call("huber_loss", x, y, r, 0.5)
        yield call("huber_loss", x, y, r, 0.0)
        yield call("binary_cross_entropy", p, q, w, r)
        yield call("binary_cross_entropy", np.round(p), q, None, r)
        yield call("binary_cross_entropy", p + 1, q, None, r)
        yield call("binary_cross_entropy_with_logits", x * 9, q, None, None, r)
        yield call("binary_cross_entropy_with_logits", x, q, w, w, r)
        yield call("kl_div", x, q, r)
        yield call("kl_div", x, y, r, log_target=True)
        for flags in ((True, True), (False, True), (True, False)):
            yield call("poisson_nll_loss", p, q * 4, *flags, 1e-8, r)
        yield call("soft_margin_loss", x, sign.astype(np.float32), r)
        yield call("margin_ranking_loss", x, y, sign, 0.3, r)
        yield call("hinge_embedding_loss", x, sign, 0.7, r)


def by_class(r):
    for shape in ((4,), (3, 4), (3, 4, 5), (3, 4, 2, 2)):
        x, w = A.normal(*shape), A.uniform(4)
        target = A.integers(0, 4, *(shape[:1] + shape[2:] if len(shape) > 1 else ()))
        ignored = target.copy()
        ignored.reshape(-1)[0] = -100
        beyond = target.copy()
        beyond.reshape(-1)[-1] = 4  # one alone: which of several PyTorch names depends on threads
        for t in (target, ignored, beyond):
            for weight in (None, w):
                yield call("cross_entropy_loss", x, t, weight, r, -100, 0.0)
                yield call("cross_entropy_loss", x, t, weight, r, 1, 0.1)
                yield call("nll_loss_nd", x, t, weight, r, -100)
        if len(shape) < 3:
            yield call("nll_loss_forward", x, target, w, r, -100)
            yield call("multi_margin_loss", x, target, 2, 0.5, w, r)
        chances = A.uniform(*shape)
        for smoothing in (0.0, 0.1):
            yield call("cross_entropy_loss", x, chances, w, r, -100, smoothing)
    yield call("nll_loss", A.normal(3, 4), A.integers(0, 4, 2), None, r, -100)
    for name in ("multilabel_margin_loss", "multilabel_margin_loss_forward"):
        yield call(name, A.normal(2, 4), np.array([[3, 0, -1, 1], [0, -1, 0, 0]]), r)
        yield call(name, A.normal(4), np.array([3, 0, -1, 1]), r)


def sequences(r):
    log_p = A.normal(10, 3, 5)
    log_p -= np.log(np.exp(log_p).sum(-1, keepdims=True))
    target = A.integers(1, 5, 3, 4)
    for inputs, targets in (
        ([10, 9, 8], [4, 3, 2]),
        ([10, 3, 1], [4, 4, 4]),
        ([10, 10, 10], [4, 0, 1]),
        ([11, 10, 10], [4, 4, 1]),
    ):
        flat = np.concatenate([row[:n] for row, n in zip(target, targets)])
        for infinite in (True, False):
            yield call("ctc_loss", log_p, target, inputs, targets, 0, r, infinite)
        yield call("ctc_loss", log_p, flat, np.array(inputs), np.array(targets), 0, r, True)
    yield call("ctc_loss", log_p[:, 0], target[0], [10], [4], 0, r, False)


def embeddings(r):
    x, y, z = (A.normal(4, 6) for _ in range(3))
    sign = np.array([1, -1, 1, -1])
    yield call("cosine_embedding_loss", x, y, sign, 0.2, r)
    yield call("cosine_embedding_loss", x[0], y[0], sign[0], 0.2, r)
    yield call("cosine_embedding_loss", x, y, sign[0], 0.2, r)
    for p in (1.0, 2.0):
        for swap in (True, False):
            yield call("triplet_margin_loss", x, y, z, 1.0, p, 1e-6, swap, r)


def hinges(r):
    target = np.array([1, -1])
    for a in (np.array([3, 4]), np.array([3, 4], "uint8"), target > 0):
        yield call("hinge_embedding_loss", a, target, 7.6, r)
    for shape in ((0,), (2, 0), (1, 2, 3)) + (((0, 3),) if r == 0 else ()):  # else not initialised
        yield call("multilabel_margin_loss", A.normal(*shape), np.zeros(shape, "int64"), r)


def mixtures():
    """Scores and targets of several types, and of shapes that do not go together."""
    half, wide, whole = A.normal(4, dtype="float16"), A.normal(4, dtype="float64"), np.arange(4)
    x, mask = A.normal(2, 3), A.integers(0, 2, 2, 3, dtype=bool)
    for name in ("mse_loss", "smooth_l1_loss", "huber_loss"):
        yield call(name, x, mask)
        if name != "huber_loss":
            yield call(name, mask, x, 0)
    for name in ("huber_loss", "soft_margin_loss", "binary_cross_entropy_with_logits"):
        for a, b in ((half, wide), (wide, half), (whole, half), (wide, whole)):
            yield call(name, a, b, *((None, None) if "logits" in name else ()), 0, tolerance=1e-3)
    for a, b in ((half, wide), (whole, half), (wide, whole), (wide, whole > 1)):
        yield call("kl_div", a, b, 0, tolerance=1e-3)
    yield call("cross_entropy_loss", A.normal(3), np.array([1]))
    yield call("nll_loss_nd", A.normal(3), np.array([1]))
    yield call("triplet_margin_loss", A.normal(2), A.normal(1, 2), A.normal(1, 1, 2))


def wrong_targets():
    """Class indices that are not int64, and probabilities of which a class is ignored."""
    x = A.normal(2, 3)
    for dtype in ("uint8", "int32", "float32"):
        yield call("multi_margin_loss", x, np.zeros(2, dtype))
        yield call("multilabel_margin_loss", x, np.zeros((2, 3), dtype))
    yield call("multi_margin_loss", x, np.full(2, 9, "int32"))
    for ignored in (-1, 0, 2):
        yield call("cross_entropy_loss", x, np.full((2, 3), 1 / 3, "float32"), None, 1, ignored)


SAMPLES = [
    sample
    for r in (0, 1, 2)
    for part in (pointwise, by_class, sequences, embeddings, hinges)
    for sample in part(r)
]
SAMPLES += [*mixtures(), *wrong_targets()]
test_recorded, test_pytorch = both_tests("loss", SAMPLES)
