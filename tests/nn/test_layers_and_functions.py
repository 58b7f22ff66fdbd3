"""Every layer and function of nn against PyTorch's results: recorded, and where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

import scriptlang
from tests.nn import record, samples

MODULES = [text for texts in samples.MODULES.values() for text in texts]
RECORDED = dict(np.load(record.FILE))

pytestmark = pytest.mark.filterwarnings("ignore")


def expected(text: str) -> dict[str, np.ndarray]:
    """What is recorded of one sample."""
    return {k.partition(":")[0]: v for k, v in RECORDED.items() if k.partition(":")[2] == text}


def check(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert list(found) == list(wanted)
    for key, value in wanted.items():
        if key == "repr":
            assert str(found[key]) == str(value)
            continue
        assert (found[key].shape, found[key].dtype) == (value.shape, value.dtype), key
        np.testing.assert_allclose(found[key], value, rtol=2e-5, atol=2e-6, err_msg=key)


@pytest.mark.parametrize("text", MODULES)
def test_layer(text):
    check(record.of_module(text, scriptlang), expected(text))


@pytest.mark.parametrize("text", samples.FUNCTIONS)
def test_function(text):
    found = samples.arrays(samples.value_of(text, scriptlang))
    check({f"value {i}": a for i, a in enumerate(found)}, expected(text))


@pytest.mark.parametrize("text", MODULES)
def test_initial_weights_are_bit_equal(text):
    module = samples.module_of(text, scriptlang)
    wanted = expected(text)
    for name, value in module.state_dict().items():
        assert np.array_equal(value.numpy(), wanted[f"state {name}"]), name


COMPILED = [text for text in MODULES if "None, 2" not in text and "3, None" not in text]
"""PyTorch compiles no sizes of which some are None, either."""


@pytest.mark.parametrize("text", COMPILED)
def test_layer_compiled(text):
    found = record.of_module(text, scriptlang, lambda m: scriptlang.script(m, engine="python"))
    check(found, expected(text))


SAME_EACH_TIME = [
    text
    for text in COMPILED
    if not any(name in text for name in ("Fractional", "BatchNorm", "track_running_stats=True"))
]
"""Layers whose result in eval depends neither on chance nor on the training before."""


@pytest.mark.parametrize("text", SAME_EACH_TIME)
def test_layer_in_eval_on_the_fastest_engine(text):
    found = record.of_module(text, scriptlang, scriptlang.script, ("eval",))
    check(found, {k: v for k, v in expected(text).items() if not k.startswith("train")})


@pytest.mark.parametrize("text", sorted(set(MODULES) - set(COMPILED)))
def test_sizes_of_none_are_refused(text):
    with pytest.raises(scriptlang.CompileError, match="output_size"):
        scriptlang.script(samples.module_of(text, scriptlang))


@pytest.mark.oracle
def test_recorded_is_what_pytorch_gives():
    import torch

    found = record.results(torch)
    assert list(found) == list(RECORDED)
    for key, value in found.items():
        if key.startswith("repr:"):
            assert str(value) == str(RECORDED[key])
        else:
            np.testing.assert_allclose(value, RECORDED[key], rtol=1e-5, atol=1e-6, err_msg=key)


@pytest.mark.oracle
@pytest.mark.parametrize("n", [5, 16, 77, 5000])
def test_normal_values_are_bit_equal(n):
    import torch

    for std in (1.0, 0.02):
        torch.manual_seed(3)
        scriptlang.manual_seed(3)
        wanted = torch.empty(n).normal_(0.1, std).numpy()
        assert np.array_equal(scriptlang.empty(n).normal_(0.1, std).numpy(), wanted)
