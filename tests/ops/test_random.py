"""Random operators give PyTorch's numbers for PyTorch's seeds."""

from __future__ import annotations

import numpy as np
import pytest
from scriptlang.interpreter import native
from scriptlang.interpreter.engine import engine

from scriptlang.ops.calling import functions as F
from scriptlang.ops.families import random
from scriptlang.tensors import from_numpy
from tests.ops.harness import Arrays, TorchDtype, both_tests, call
from tests.ops.one_operator import chosen, program, run_natively

A = Arrays("random")


def samples():
    for dtype in (5, 6, 7):
        for n in (3, 16, 17, 40):
            loose = {"tolerance": 3e-3} if dtype == 5 else {}
            yield call("rand", [n], dtype=TorchDtype(dtype))
            yield call("randn", [n], dtype=TorchDtype(dtype), **loose)
    for dtype in (9, 10):
        yield call("rand", [5], dtype=TorchDtype(dtype))
        yield call("randn", [20], dtype=TorchDtype(dtype))
    for dtype in ("float32", "float64", "int64", "uint8"):
        x = np.zeros(9, dtype)
        for name, *args in (
            ("uniform_", -2.0, 3.0),
            ("normal_", 1.0, 2.0),
            ("bernoulli_", 0.3),
            ("exponential_", 2.0),
            ("cauchy_", 0.0, 2.0),
            ("log_normal_", 0.0, 0.5),
            ("geometric_", 0.3),
            ("random_",),
            ("random_", 5, 100),
            ("random_", 0, None),
        ):
            yield call(name, x, *args, tolerance=1e-4)
    chances = A.uniform(3, 5)
    yield call("bernoulli", chances)
    yield call("bernoulli", chances, 0.4)
    yield call("bernoulli_", np.zeros((3, 4)), A.uniform(4))
    yield call("bernoulli_", np.zeros(3), 1.5)
    yield call("randint", 10, [5])
    yield call("randint", -5, 2**40, [5])
    yield call("randint", 5, 5, [5])
    yield call("randperm", 20)
    yield call("randint_like", chances, 9)
    yield call("rand_like", chances)
    yield call("randn_like", chances)
    yield call("normal", A.normal(20), A.uniform(20))
    yield call("normal", A.normal(20), 2.0)
    yield call("normal", 1.0, A.uniform(20))
    yield call("normal", 1.0, 2.0, [20])
    rates = np.array([0, 0.5, 2, 9.9, 10, 11, 30, 1e3, 5e4, 12, 3, 15])
    for dtype in ("float32", "float64", "float16"):
        yield call("poisson", rates.astype(dtype))
    yield call("poisson", rates.reshape(3, 4).T)
    yield call("poisson", np.full(300, 10.0, np.float32))
    yield call("poisson", np.array([1e12, 1e15, 1e30, np.inf]))
    yield call("poisson", np.linspace(1e16, 1e18, 200))
    yield call("poisson", np.array(-0.0))
    yield call("poisson", np.zeros((0, 3), np.float32))
    yield call("poisson", np.array([1.0, -1.0]))
    yield call("poisson", np.array([np.nan]))
    for dtype in ("int64", "bool", "uint8", "complex64"):
        yield call("poisson", np.ones(2, dtype))
    for row in (chances[0], chances):
        yield call("multinomial", row, 1)
        yield call("multinomial", row, 4)
        yield call("multinomial", row, 8, True)
        yield call("multinomial", row, 8)
    for name in (
        "dropout",
        "feature_dropout",
        "alpha_dropout",
        "feature_alpha_dropout",
        "dropout_",
    ):
        yield call(name, A.normal(3, 4, 5), 0.3, True)
    yield call("native_dropout", A.normal(3, 4), 0.4, True)
    yield call("rrelu", A.normal(3, 4), 0.1, 0.3, True)
    for dtype in ("complex64", "complex128"):
        yield call("normal_", np.zeros(20, dtype), 5.0, 2.0, tolerance=1e-4)
        yield call("normal_", np.zeros(3, dtype), -1.0, 0.5, tolerance=1e-4)
        yield call("uniform_", np.zeros(5, dtype), -1.0, 0.5)


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("random", SAMPLES)


def test_the_spare_normal_value_is_kept():
    random.manual_seed(3)
    together = F.randn([4]).tolist()
    random.manual_seed(3)
    assert [F.randn([1]).item() for _ in range(4)] == together


def test_one_seed_gives_one_sequence():
    random.manual_seed(5)
    first = F.rand([4]).tolist()
    random.manual_seed(5)
    assert F.rand([4]).tolist() == first != F.rand([4]).tolist()


@pytest.mark.skipif(bool(native.why_absent()), reason="the native engine is not built")
def test_a_seed_counts_whichever_engine_drew_before():
    random.manual_seed(5)
    first = F.rand([4]).tolist()
    rand = chosen("rand", [[4]], {})
    assert run_natively(*rand, seed=5).tolist() == first
    random.manual_seed(5)  # the native engine was ahead
    assert F.rand([4]).tolist() == first


@pytest.mark.skipif(bool(native.why_absent()), reason="the native engine is not built")
@pytest.mark.parametrize(
    "name, rest, options",
    [
        ("rand", [], {"dtype": 6}),
        ("rand", [], {"dtype": 7}),
        ("rand", [], {"dtype": 5}),
        ("randn", [], {"dtype": 6}),
        ("randn", [], {"dtype": 7}),
        ("randint", [], {"dtype": 4}),
    ],
)
@pytest.mark.parametrize("n", [623, 1249, 5003])
def test_draws_longer_than_the_twister_are_those_one_by_one(name, rest, options, n):
    args = [10, [n]] if name == "randint" else [[n]]
    random.manual_seed(5)
    wanted = getattr(F, name)(*args, **options).numpy()
    given = run_natively(*chosen(name, args, options), seed=5).numpy()
    np.testing.assert_allclose(given, wanted, rtol=1e-5, atol=1e-6 if name == "randn" else 0)
    following = F.rand([4]).tolist()  # the native engine was ahead
    random.manual_seed(5)
    getattr(F, name)(*args, **options)
    assert F.rand([4]).tolist() == following


@pytest.mark.skipif(bool(native.why_absent()), reason="the native engine is not built")
def test_pairs_of_words_may_lie_across_two_blocks():
    results = []
    for run in (
        lambda name, *given: getattr(F, name)(*given),
        lambda name, *given: engine("native").run(
            program(chosen(name, given, {})[0], ()), chosen(name, given, {})[1]
        ),
    ):
        random.manual_seed(5)
        run("randperm", 4)  # three words
        drawn = run("bernoulli", F.full([2000], 0.4), 0.4)
        results.append((drawn.tolist(), F.rand([4]).tolist()))
    assert results[0] == results[1]


def test_filling_an_expanded_tensor_is_refused():
    x = from_numpy(np.zeros((1, 3), np.float32)).expand(2, 3)
    with pytest.raises(RuntimeError, match="single memory location"):
        F.uniform_(x)
