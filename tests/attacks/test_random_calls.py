"""Random calls of operators (random_calls/) end in a result or an error, on both engines in the
same; the long run is `python -m tests.attacks.random_calls`."""

from __future__ import annotations

import pytest
from scriptlang.interpreter import native

from tests.attacks.random_calls import compare, generate, runner, values
from tests.attacks.random_calls.__main__ import overloads

needs_native = pytest.mark.skipif(
    bool(native.why_absent()), reason="the native engine is not built"
)


def findings(
    names: list[str],
    calls: int,
    engines: tuple[str, ...],
    seed: int = 1,
    guard: bool = False,
    classes: bool = False,
) -> list[str]:
    workers = [runner.Worker(name, guard=guard) for name in engines]
    report = runner.Report()
    for name in names:
        runner.examine(name, seed, list(range(calls)), workers, report, classes)
    for worker in workers:
        worker.close()
    assert sum(report.calls.values()) == len(names) * calls
    for counts in report.succeeded.values():  # calls that reach something
        assert sum(counts.values()) > len(names) * calls / 6
    return [f"{f.kind} {f.pair}: {f.call}: {f.what}" for f in report.findings]


@needs_native
def test_engines_agree():
    names = ["aten::conv?d", "aten::relu", "aten::mul.Tensor", "aten::sum*", "aten::amax*"]
    assert findings(overloads(names), 5, ("native", "python")) == []


ONE_CLASS = (
    "aten::gelu",
    "aten::_softmax",
    "aten::topk",
    "aten::max_pool1d",
    "aten::bitwise_xor_.Scalar",
    "aten::sign",
    "aten::mT",
    "aten::remove.int",
    "aten::scatter_.value_reduce",
)
"""Overloads whose calls are often wrong in two ways."""


@needs_native
def test_engines_raise_one_class():
    assert findings(overloads(list(ONE_CLASS)), 25, ("native", "python"), classes=True) == []


VALUES_OF_PYTORCH = (
    "aten::std*",
    "aten::var*",
    "aten::_cdist_forward",
    "aten::pdist",
    "aten::_euclidean_dist",
    "aten::nll_loss*",
    "aten::multi*margin_loss",
    "aten::huber_loss*",
    "aten::special_zeta*",
    "aten::special_hermite_polynomial_h*",
    "aten::kaiser_window*",
    "aten::reciprocal*",
    "aten::true_divide.Tensor",
    "aten::slogdet*",
    "aten::pow.*complex*",
    "aten::special_xlogy*",
    "aten::soft*shrink_backward*",
    "aten::lu_unpack",
    "aten::histogramdd*",
    "aten::_weight_norm",
    "aten::embedding_renorm*",
    "aten::_native_batch_norm*",
    "quantized::cat*",
    "quantized::matmul",
    "quantized::linear_relu",
    "quantized::mul_relu*",
)
"""Overloads whose values once were others, for infinite numbers, NaN, halves and odd sizes."""


@needs_native
@pytest.mark.oracle
def test_values_are_those_of_pytorch():
    found = findings(overloads(list(VALUES_OF_PYTORCH)), 12, ("native", "python", "torch"))
    assert [f for f in found if not f.startswith("raises")] == []


WITH_PYTORCH = (
    "aten::relu*",
    "aten::mul.Tensor",
    "aten::sum.*",
    "aten::select.*",
    "aten::mean.dim",
    "aten::neg",
    "aten::permute",
    "aten::narrow",
    "aten::pixel_*",
    "aten::maximum",
    "aten::unsqueeze",
    "aten::sigmoid",
    "aten::sqrt",
    "aten::roll",
    "aten::searchsorted.*",
    "aten::normal_*",
    "aten::softmax.int",
    "aten::tril",
    "aten::triu",
)
"""Overloads that a short run compares with PyTorch."""


@needs_native
@pytest.mark.oracle
def test_engines_and_pytorch_agree():
    assert findings(overloads(list(WITH_PYTORCH)), 12, ("native", "python", "torch")) == []


@needs_native
@pytest.mark.oracle
@pytest.mark.slow
def test_engines_and_pytorch_agree_at_length():
    names = overloads(list(WITH_PYTORCH))
    assert findings(names, 300, ("native", "python", "torch"), seed=2) == []


@needs_native
@pytest.mark.slow
def test_engines_agree_at_length():
    """No call of any overload ends otherwise than it should: in a crash or without an end."""
    found = findings(overloads(["*"])[::4], 25, ("native", "python"), seed=2)
    assert [f for f in found if f.startswith(("crash", "hang", "memory", "mutation"))] == []


@needs_native
def test_nothing_is_touched_behind_blocks():
    assert findings(overloads(["*"])[5::12], 5, ("native",), guard=True) == []


def test_calls_are_the_same_again():
    for overload in ("aten::conv2d", "aten::add.Tensor", "aten::scatter_.src", "aten::add.t"):
        for number in range(50):
            call = generate.call_of(overload, 5, number)
            text = values.text_of_call(call)
            assert text == values.text_of_call(generate.call_of(overload, 5, number))
            assert values.text_of_call(values.read(text)) == text


@needs_native
def test_a_dead_process_costs_one_call(monkeypatch):
    """What ends a process is found, and the calls behind it are made."""
    worker = runner.Worker("native")
    numbers = list(range(6))
    whole = worker.run("aten::relu", 1, numbers)
    monkeypatch.setenv("RANDOM_CALLS_END_AT", "2")
    worker.close()
    worker = runner.Worker("native")
    broken = worker.run("aten::relu", 1, numbers)
    worker.close()
    assert broken[2][:2] == ("died", "crash") and "SIGABRT" in broken[2][2]
    assert [broken[n][0] for n in numbers if n != 2] == [whole[n][0] for n in numbers if n != 2]


def test_differences_are_seen():
    import numpy as np

    def told(result, after=(), shares=(-1,)):
        return "ok", result, list(after), list(shares)

    one = "tensor", "float32", (2,), np.array([1, 2], np.float32)
    other = "tensor", "float32", (2,), np.array([1, 3], np.float32)
    error = "error", "RuntimeError", "no"
    assert compare.difference(told(one), told(one), True) is None
    assert compare.difference(told(one), told(other), True)[0] == "value"
    assert compare.difference(told(one), told((*one[:2], (2, 1), one[3])), True)[0] == "value"
    assert compare.difference(told(one, [one]), told(one, [other]), True)[0] == "mutation"
    assert compare.difference(told(one), told(one, shares=[0]), True)[0] == "aliasing"
    assert compare.difference(told(one), error, True)[0] == "raises"
    assert compare.difference(error, ("error", "IndexError", "no"), True)[0] == "class"
    assert compare.difference(error, ("error", "IndexError", "no"), False) is None
