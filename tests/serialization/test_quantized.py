"""Quantized archives: they run to PyTorch's results, and survive save and load."""

import io

import numpy as np
import pytest
from scriptlang.interpreter import engine as engines
from scriptlang.serialization.archive import read_archive, write_archive

import scriptlang
from scriptlang.ops import table
from scriptlang.ops.quantization.quantized_packed import CONV, LINEAR, packed
from scriptlang.ops.quantization.quantized_tensors import (
    ChannelQuantizer,
    QuantizedTensor,
    Quantizer,
    quantize,
)
from tests.serialization.archives import DATA, records, zipped

NAMES = ("quantized_net", "quantized_tensors", "quantized_lstm")
ENGINES = engines.available()


def archive(name: str):
    return DATA / "serialization" / f"{name}.pt"


def arrays(result) -> list:
    made = result if isinstance(result, tuple) else (result,)
    return [v.numpy() if isinstance(v, scriptlang.Tensor) else v for v in made]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_saved", [False, True])
def test_results_are_pytorchs(name, is_saved, engine):
    recorded = np.load(archive(name).with_suffix(".npz"))
    module = scriptlang.load(archive(name), engine=engine)
    if is_saved:
        file = io.BytesIO()
        scriptlang.save(module, file)
        module = scriptlang.load(file.getvalue(), engine=engine)
    assert module.engine == engine
    results = arrays(module(scriptlang.from_numpy(recorded["i0"])))
    assert len(results) == len(recorded) - 1
    for i, got in enumerate(results):
        np.testing.assert_allclose(got, recorded[f"o{i}"], rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NAMES)
def test_bytecode_alone_restores_and_runs(name, engine):
    """Its `__setstate__` methods make the packed weights, whose slots only the code tells."""
    recorded = np.load(archive(name).with_suffix(".npz"))
    file = io.BytesIO()
    scriptlang.save(scriptlang.load(archive(name)), file)
    kept = {n: v for n, v in records(file.getvalue()).items() if "/code/" not in n}
    module = scriptlang.load(zipped(kept), engine=engine)
    results = arrays(module(scriptlang.from_numpy(recorded["i0"])))
    for i, got in enumerate(results):
        np.testing.assert_allclose(got, recorded[f"o{i}"], rtol=1e-5, atol=2e-6)


def test_tensors_keep_scheme_and_memory():
    root = read_archive(archive("quantized_tensors")).root
    file = io.BytesIO()
    write_archive(root, file)
    root = read_archive(file.getvalue()).root
    whole, rows, channels = (root.get(n) for n in ("whole", "rows", "channels"))
    assert whole._storage is rows._storage and rows.storage_offset() == 4
    assert isinstance(whole.quantizer, Quantizer) and whole.quantizer.zero_point == 2
    assert isinstance(channels.quantizer, ChannelQuantizer) and channels.quantizer.axis == 0
    assert channels.quantizer.zero_points.tolist() == [0, 1, -2]


@pytest.mark.parametrize("name", NAMES)
def test_auto_runs_them_natively_and_saves_what_it_ran(name):
    """The state of the module lies in the native engine then, and is written from there."""
    pytest.importorskip("scriptlang.interpreter._native")
    recorded = np.load(archive(name).with_suffix(".npz"))
    x = scriptlang.from_numpy(recorded["i0"])
    module = scriptlang.load(archive(name), engine="auto")
    first = arrays(module(x))
    assert module.engine == "native"
    file, again = io.BytesIO(), io.BytesIO()
    scriptlang.save(module, file)
    scriptlang.save(scriptlang.load(file.getvalue(), engine="python"), again)
    assert file.getvalue() == again.getvalue()
    for a, b in zip(first, arrays(scriptlang.load(again.getvalue(), engine="native")(x))):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", NAMES)
def test_frozen_and_optimised_on_both_engines(name):
    recorded = np.load(archive(name).with_suffix(".npz"))
    x = scriptlang.from_numpy(recorded["i0"])
    for engine in ENGINES:
        module = scriptlang.load(archive(name), engine=engine).eval()
        for made in (scriptlang.freeze(module), scriptlang.optimize(module)):
            for i, got in enumerate(arrays(made(x))):
                np.testing.assert_allclose(got, recorded[f"o{i}"], rtol=1e-5, atol=2e-6)


def test_operators_that_know_nothing_of_quantization_say_so():
    x = quantize(np.ones((2, 2), np.float32), scriptlang.dtypes.quint8, 0.5, 0)
    for operator in ("exp", "cumsum"):
        with pytest.raises(NotImplementedError, match="dequantize|not implemented for 'QUInt8'"):
            getattr(x, operator)(*(0,) * (operator == "cumsum"))
    assert isinstance(x.t(), QuantizedTensor) and x.t().int_repr().tolist() == [[2, 2], [2, 2]]
    assert "scale=0.5" in repr(x) and x.dequantize().tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize(
    "numbers, dtype, expected",
    [
        ([0.5, 1.5, -0.5, 300.0, -300.0, float("nan")], "qint8", [0, 2, 0, 127, -128, -128]),
        ([0.5, 1.5, 2.5, 300.0, -1.0, 0.0], "quint8", [0, 2, 2, 255, 0, 0]),
    ],
)
def test_halves_round_to_even_and_ends_hold(numbers, dtype, expected):
    made = quantize(np.array(numbers, np.float32), scriptlang.dtypes.BY_NAME[dtype], 1.0, 0)
    assert made.int_repr().tolist() == expected


def test_packed_convolutions_of_every_version():
    rng = np.random.default_rng(0)
    dtypes, find = scriptlang.dtypes, table.find
    x = quantize(rng.normal(size=(1, 2, 5, 5)).astype(np.float32), dtypes.quint8, 0.05, 120)
    weight = quantize(rng.normal(size=(3, 2, 3, 3)).astype(np.float32), dtypes.qint8, 0.03, 0)
    bias = scriptlang.tensor([0.5, -1.0, 2.0])
    today = find("quantized::conv2d_prepack").kernel(weight, bias, [2, 1], [1, 0], [1, 1], 1)
    numbers = [[scriptlang.tensor([v]) for v in part] for part in ([2, 1], [1, 0], [1, 1])]
    versions = {
        1: (weight, bias, *numbers, scriptlang.tensor([1])),
        2: today.slots[0],
        3: (3, [2, 2, 1, 1, 0, 1, 1, 0, 0, 1, 0], [None, weight, bias]),
    }
    run = find("quantized::conv2d", "new").kernel
    results = [
        run(x, packed(CONV[2], state), 0.1, 100).int_repr().tolist() for state in versions.values()
    ]
    assert results[0] == results[1] == results[2] and np.shape(results[0]) == (1, 3, 3, 3)


def test_classes_that_kept_packed_weights_as_tensors():
    """The first quantized archives declare a Tensor where `__setstate__` sets an object."""
    code = (
        b"class LinearPackedParams(Module):\n  _packed_params : Tensor\n"
        b"  def __setstate__(self: __torch__.torch.nn.quantized.modules.linear."
        b"LinearPackedParams, s: int) -> NoneType:\n    return None\n"
    )
    folder = "m/code/__torch__/torch/nn/quantized/modules/linear.py"
    read = read_archive(
        zipped(
            {
                "m/version": b"2",
                folder: code,
                "m/data.pkl": b"\x80\x02c__torch__.torch.nn.quantized.modules.linear\n"
                b"LinearPackedParams\n)\x81K\x05b.",
            }
        )
    )
    declared = read.root.type.attributes[0].type
    assert declared.name == LINEAR
