"""Gradients, and gradients of gradients, are what small differences say: a line an operator."""

from __future__ import annotations

import numpy as np
import pytest

import scriptlang
from scriptlang.autograd import gradcheck, gradgradcheck

random = np.random.default_rng(7)
MASK = scriptlang.tensor(
    [[True, True, False, True], [False, True, True, True], [True, False, False, False]]
)


def normal(*size: int) -> scriptlang.Tensor:
    return needing(random.normal(size=size))


def positive(*size: int) -> scriptlang.Tensor:
    return needing(random.uniform(0.3, 1.7, size=size))


def turning(*size: int) -> scriptlang.Tensor:
    return needing(random.normal(size=size) + 1j * random.normal(size=size))


def needing(array: np.ndarray) -> scriptlang.Tensor:
    return scriptlang.from_numpy(np.asarray(array)).requires_grad_(True)


def integers(*values) -> scriptlang.Tensor:
    return scriptlang.tensor(list(values))


def definite(n: int) -> scriptlang.Tensor:
    a = random.normal(size=(n, n))
    return needing(a @ a.T + n * np.eye(n))


s = scriptlang
ROWS = integers([0, 2, 1], [1, 0, 2])
BAGS = integers(0, 2, 1, 3)
CLASSES = integers(1, 0, 3)

TABLE = {
    "abs": (lambda x: x.abs(), normal(3)),
    "complex abs": (lambda x: x.abs(), turning(3)),
    "acosh": (lambda x: (x + 1).acosh(), positive(3)),
    "angle": (lambda x: x.angle(), turning(3)),
    "exp": (lambda x: x.exp(), turning(3)),
    "sgn": (lambda x: x.sgn(), turning(3)),
    "sinc": (lambda x: x.sinc(), turning(3)),
    "logit": (lambda x: s.logit(x / 2), positive(3)),
    "add": (lambda x, y: s.add(x, y, alpha=3), normal(2, 3), normal(3)),
    "div": (lambda x, y: x / y, normal(2, 3), positive(3)),
    "complex div": (lambda x, y: x / y, turning(2, 3), turning(3)),
    "pow": (lambda x, y: x**y, positive(2, 3), normal(3)),
    "number to a power": (lambda x: 2**x, normal(3)),
    "polar": (s.polar, positive(3), normal(3)),
    "lerp": (s.lerp, normal(3), normal(3), normal(3)),
    "poisson": (lambda x: x * s.poisson(x, s.Generator().manual_seed(1)), positive(8)),
    "clamp": (lambda x: x.clamp(-0.5, 0.5), normal(8)),
    "where": (lambda x, y: s.where(x > 0, x * y, y), normal(4), normal(4)),
    "sum": (lambda x: x.sum([0, -1], keepdim=True), normal(2, 3, 2)),
    "var": (lambda x: x.var(1), normal(2, 4)),
    "std_mean": (lambda x: s.std_mean(x, 1), normal(2, 4)),
    "norm": (lambda x: s.linalg_vector_norm(x, 3, [1]), normal(2, 4)),
    "prod": (lambda x: x.prod(1), normal(2, 3)),
    "logsumexp": (lambda x: x.logsumexp([1]), normal(2, 3)),
    "amax": (lambda x: x.amax([1]), normal(2, 4)),
    "renorm": (lambda x: s.renorm(x, 2, 0, 0.5), normal(2, 3)),
    "as_strided": (lambda x: x.as_strided([3, 2], [1, 2], 1), normal(8)),
    "unfold": (lambda x: x.unfold(0, 3, 2), normal(7)),
    "diagonal": (lambda x: x.diagonal(1), normal(3, 4)),
    "permute": (lambda x: x.permute([2, 0, 1]), normal(2, 3, 2)),
    "select_scatter": (lambda x, y: s.select_scatter(x, y, 0, 1), normal(3, 2), normal(2)),
    "split": (lambda x: s.split(x, [1, 3], 1), normal(2, 4)),
    "unbind": (lambda x: s.unbind(x)[1], normal(3, 2)),
    "imag": (lambda x: x.imag, turning(3)),
    "meshgrid": (lambda x, y: s.meshgrid(x, y, indexing="xy"), normal(2), normal(3)),
    "index": (lambda x: x[ROWS], normal(3, 2)),
    "index_put": (lambda x, y: s.index_put(x, [CLASSES], y, True), normal(4), normal(3)),
    "gather": (lambda x: x.gather(1, ROWS), normal(2, 3)),
    "scatter": (lambda x, y: x.scatter(1, ROWS, y), normal(2, 3), normal(2, 3)),
    "prod into places": (
        lambda x, y: s.scatter_reduce(x, 0, BAGS, y, "prod"),
        positive(4),
        positive(4),
    ),
    "cat": (lambda x, y: s.cat([x, y], 1), normal(2, 1), normal(2, 2)),
    "cross": (lambda x, y: s.linalg_cross(x, y), turning(2, 3), turning(2, 3)),
    "repeat": (lambda x: x.repeat([2, 3]), normal(2)),
    "matmul": (s.matmul, turning(2, 2, 3), turning(3, 2)),
    "einsum": (lambda x, y: s.einsum("iij,jk->ik", x, y), normal(2, 2, 3), normal(3, 2)),
    "linear": (s.nn.functional.linear, normal(2, 3), normal(4, 3), normal(4)),
    "cumprod": (lambda x: x.cumprod(0), normal(4)),
    "logcumsumexp": (lambda x: x.logcumsumexp(0), normal(4)),
    "diff": (lambda x: x.diff(2), normal(5)),
    "sort": (lambda x: x.sort(0)[0], normal(5)),
    "quantile": (lambda x: s.quantile(x, 0.3), normal(6)),
    "cov": (lambda x: s.cov(x), normal(2, 4)),
    "softmax": (lambda x: x.softmax(1), normal(2, 3)),
    "gelu": (lambda x: s.nn.functional.gelu(x, approximate="tanh"), normal(4)),
    "mish": (s.nn.functional.mish, normal(4)),
    "prelu": (s.nn.functional.prelu, normal(2, 3), positive(3)),
    "layer_norm": (
        lambda x, w, b: s.nn.functional.layer_norm(x, [4], w, b),
        normal(2, 4),
        normal(4),
        normal(4),
    ),
    "batch_norm": (
        lambda x, w, b: s.nn.functional.batch_norm(x, None, None, w, b, True),
        normal(4, 2),
        normal(2),
        normal(2),
    ),
    "nll_loss": (lambda x: s.nn.functional.nll_loss(x.log_softmax(1), CLASSES), normal(3, 4)),
    "multi_margin_loss": (
        lambda x: s.nn.functional.multi_margin_loss(x, CLASSES, p=2),
        normal(3, 4),
    ),
    "conv2d": (
        lambda x, w, b: s.conv2d(x, w, b, [2, 1], [1, 0], [1, 2], 2),
        normal(1, 4, 4, 3),
        normal(2, 2, 2, 2),
        normal(2),
    ),
    "conv_transpose1d": (
        lambda x, w: s.conv_transpose1d(x, w, None, [3], [1], [2]),
        turning(1, 2, 3),
        turning(2, 2, 3),
    ),
    "avg_pool2d": (lambda x: s.avg_pool2d(x, [3, 2], [2, 2], [1, 0], True), normal(1, 1, 4, 5)),
    "max_pool2d": (lambda x: s.max_pool2d(x, [2, 2]), normal(1, 1, 4, 4)),
    "reflect": (lambda x: s.nn.functional.pad(x, [2, 1], mode="reflect"), normal(1, 1, 4)),
    "bicubic": (lambda x: s.upsample_bicubic2d(x, [5, 4], False, None, None), normal(1, 1, 3, 3)),
    "grid_sample": (
        lambda x, g: s.grid_sampler_2d(x, g, 0, 0, False),
        normal(1, 1, 2, 3),
        needing(random.uniform(-0.8, 0.8, (1, 1, 2, 2))),
    ),
    "embedding": (lambda w: s.embedding(w, ROWS), normal(3, 2)),
    "embedding_dense_backward": (
        lambda g: s.embedding_dense_backward(g, ROWS, 3, 1, False),
        normal(2, 3, 2),
    ),
    "lstm": (
        lambda x, h, w, u: s.lstm(x, [h, h], [w, u], False, 1, 0.0, True, False, False)[0],
        normal(2, 1, 2),
        normal(1, 1, 1),
        normal(4, 2),
        normal(4, 1),
    ),
    "attention": (
        lambda q, k, v: s.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        normal(1, 3, 2),
        normal(1, 3, 2),
        normal(1, 3, 2),
    ),
    "flash attention of two heads that share keys, with a mask": (
        lambda q, k, v: s.nn.functional.scaled_dot_product_attention(
            q, k, v, MASK, scale=0.4, enable_gqa=True
        ),
        normal(2, 4, 3, 2),
        normal(2, 2, 4, 2),
        normal(2, 2, 4, 2),
    ),
    "fft": (lambda x: s.fft.fft(x, 5), turning(4)),
    "irfft": (lambda x: s.fft.irfft(x, 6), turning(4)),
    "rfft2": (lambda x: s.fft.rfft2(x).abs(), normal(3, 4)),
    "inv": (s.linalg.inv, definite(3)),
    "det": (s.linalg.det, normal(3, 3)),
    "solve": (s.linalg.solve, definite(3), normal(3, 2)),
    "cholesky": (lambda a: s.linalg.cholesky((a + a.mT) / 2), definite(3)),
    "svd": (lambda a: s.linalg.svdvals(a), normal(3, 2)),
    "eigh": (lambda a: s.linalg.eigvalsh(a + a.mT), normal(3, 3)),
    "qr": (lambda a: s.linalg.qr(a), normal(3, 2)),
    "lu": (lambda a: s.linalg.lu_factor(a)[0], definite(3)),
    "pinv": (s.linalg.pinv, normal(3, 2)),
    "matrix_exp": (s.linalg.matrix_exp, normal(2, 2)),
    "householder": (s.linalg_householder_product, normal(3, 2), positive(2)),
    "polygamma": (lambda x: s.polygamma(1, x), positive(3)),
    "i1": (s.special.i1, normal(3)),
    "igamma": (lambda x: s.igamma(s.tensor(1.5, dtype=s.float64), x), positive(3)),
    "cdist": (lambda x, y: s.cdist(x, y), normal(2, 3), normal(3, 3)),
    "segments": (lambda x: s.segment_reduce(x, "mean", lengths=integers(2, 1)), normal(3, 2)),
}
"""Name -> a function and its arguments."""


@pytest.mark.parametrize("name", TABLE)
def test_gradients(name):
    function, *args = TABLE[name]
    assert gradcheck(function, args)


@pytest.mark.parametrize("name", TABLE)
def test_gradients_of_gradients(name):
    function, *args = TABLE[name]
    assert gradgradcheck(function, args)


@pytest.mark.parametrize("keeps", [True, False])
def test_gradients_of_products_with_several_zeros(keeps):
    at = integers(0, 0, 1, 1, 1, 2, 2)
    values = needing(np.array([0.0, 0.0, 0.0, 0.7, 0.0, 0.0, -1.3]))
    start = needing(np.array([1.5, 0.0, 2.0]))
    function = lambda x, y: s.scatter_reduce(x, 0, at, y, "prod", include_self=keeps)
    given = (start if keeps else start.detach(), values)
    assert gradcheck(function, given)
    assert gradgradcheck(function, given)


REFUSED = {
    "matrix_power": lambda x: s.linalg.matrix_power(x, 3),
    "gru": lambda x: s.gru(x, x[:1], [x, x, x, x], True, 1, 0.0, True, False, False),
    "tensorinv": lambda x: s.linalg.tensorinv(x, 1),
    "quantile": lambda x: s.quantile(x, 2.0),
    "attention": lambda x: s.nn.functional.scaled_dot_product_attention(x[0], x, x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_runs_instead_of_a_kernel_raises_as_it_does(name):
    values = random.normal(size=(2, 3))
    errors = []
    for x in (s.from_numpy(values), needing(values)):
        with pytest.raises(Exception) as found:
            REFUSED[name](x)
        errors.append((found.type, str(found.value)))
    assert errors[0] == errors[1]
