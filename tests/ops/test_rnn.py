"""Steps of recurrent layers, with states that do not fit; whole layers: the native engine, which
steps on plain memory, against the Python one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scriptlang.interpreter import native

from scriptlang.ops import table
from scriptlang.ops.families.random import manual_seed
from scriptlang.tensors import Tensor, from_numpy
from tests.ops.harness import Arrays, both_tests, call
from tests.ops.one_operator import run_natively

needs_native = pytest.mark.skipif(
    bool(native.why_absent()), reason="the native engine is not built"
)

A = Arrays("rnn")
RNG = np.random.default_rng(4)
GATES = {"lstm": 4, "gru": 3}
INPUTS, HIDDEN, LAYERS = 5, 19, 2


def samples():
    x, h, w = A.normal(2, 3), A.normal(2, 5), [A.normal(15, 3), A.normal(15, 5)]
    yield call("gru_cell", x, h, *w)
    yield call("gru_cell", h, h, *w)  # all of these are refused
    yield call("gru_cell", x, h[:1], *w)
    yield call("gru_cell", x, x, *w)
    yield call("lstm_cell", x, [h[:, :3], h], A.normal(20, 3), A.normal(20, 5))


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("rnn", SAMPLES)


def floats(*shape: int, dtype=np.float32) -> Tensor:
    return from_numpy((RNG.normal(size=shape) * 0.4).astype(dtype))


def parameters(kind: str, biases: bool, directions: int, dtype) -> list[Tensor]:
    gates, found = GATES[kind] * HIDDEN, []
    for layer, _ in itertools.product(range(LAYERS), range(directions)):
        inputs = directions * HIDDEN if layer else INPUTS
        found += [floats(gates, inputs, dtype=dtype), floats(gates, HIDDEN, dtype=dtype)]
        found += [floats(gates, dtype=dtype) for _ in range(2)] if biases else []
    return found


@needs_native
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("steps, batch", [(1, 1), (3, 2), (40, 1), (13, 4), (4, 20)])
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_layers(kind, steps, batch, biases, bidirectional, dtype):
    directions = 1 + bidirectional
    state = [
        floats(LAYERS * directions, batch, HIDDEN, dtype=dtype)
        for _ in range(2 if kind == "lstm" else 1)
    ]
    given = [s._array.copy() for s in state]
    op = table.find(f"aten::{kind}", "input")
    args = (
        floats(steps, batch, INPUTS, dtype=dtype),
        state if kind == "lstm" else state[0],
        parameters(kind, biases, directions, dtype),
        biases,
        LAYERS,
        0.0,
        False,
        bidirectional,
        False,
    )
    for got, want in zip(run_natively(op, args), op.kernel(*args)):
        np.testing.assert_allclose(got._array, want._array, rtol=1e-5, atol=2e-6)
    for now, before in zip(state, given):
        np.testing.assert_array_equal(now._array, before)


@needs_native
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_last_state_is_its_own_tensor(kind):
    op = table.find(f"aten::{kind}", "input")
    state = floats(1, 2, HIDDEN)
    weights = [floats(GATES[kind] * HIDDEN, INPUTS), floats(GATES[kind] * HIDDEN, HIDDEN)]
    args = (
        floats(3, 2, INPUTS),
        [state, state] if kind == "lstm" else state,
        weights,
        False,
        1,
        0.0,
        False,
        False,
        False,
    )
    y, last, *_ = run_natively(op, args)
    np.testing.assert_array_equal(y._array[-1], last._array[0])
    assert not np.shares_memory(y._array, last._array)


@needs_native
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_dropout_between_layers_draws_the_same_numbers(kind, bidirectional):
    directions, batch = 1 + bidirectional, 3
    state = [floats(LAYERS * directions, batch, HIDDEN) for _ in range(2 if kind == "lstm" else 1)]
    rest = (parameters(kind, True, directions, np.float32), True, LAYERS, 0.4, True, bidirectional)
    hidden = state if kind == "lstm" else state[0]
    padded = (floats(4, batch, INPUTS), hidden, *rest, False)
    packed = (floats(8, INPUTS), from_numpy(np.array([3, 3, 1, 1])), hidden, *rest)
    for overload, args in (("input", padded), ("data", packed)):
        op = table.find(f"aten::{kind}", overload)
        manual_seed(7)
        want = op.kernel(*args)
        for got, expected in zip(run_natively(op, args, seed=7), want):
            np.testing.assert_allclose(got._array, expected._array, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_layers_of_bfloat16(kind):
    """Every layer, and what follows, gets bfloat16; results are those of float32, rounded."""
    count = 2 if kind == "lstm" else 1
    floating = [
        floats(3, 4, INPUTS),
        *(floats(LAYERS, 4, HIDDEN) for _ in range(count)),
        *parameters(kind, True, 1, np.float32),
    ]
    op = table.find(f"aten::{kind}", "input")

    def results(tensors, run=op.kernel):
        x, *rest = tensors
        state = rest[:count] if kind == "lstm" else rest[0]
        return run(x, state, rest[count:], True, LAYERS, 0.0, False, False, False)

    small = [t.bfloat16() for t in floating]
    got = results(small)
    assert [str(t.dtype) for t in got] == ["torch.bfloat16"] * (count + 1)
    for y, want in zip(got, results([t.float() for t in small])):
        np.testing.assert_allclose(y.float()._array, want._array, atol=0.02)
    if not native.why_absent():
        for y, want in zip(results(small, lambda *a: run_natively(op, a)), got):
            assert y.dtype == want.dtype
            np.testing.assert_allclose(y.float()._array, want.float()._array, atol=0.02)
