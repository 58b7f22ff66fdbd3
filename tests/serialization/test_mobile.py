"""Archives as torch.utils.mobile_optimizer makes them: layers lie in objects for XNNPACK."""

from __future__ import annotations

import io

import numpy as np
import pytest
from scriptlang.interpreter import engine as engines
from scriptlang.serialization.pickling import Pickler

import scriptlang
from scriptlang import types as T
from scriptlang.objects import ScriptObject
from scriptlang.ops import table
from scriptlang.ops.families import prepacked
from scriptlang.tensors import Tensor, from_numpy
from tests.ops.one_operator import run_natively
from tests.serialization.archives import records, zipped

RNG = np.random.default_rng(5)
ENGINES = engines.available()
BOUNDS = [(None, None), (0.0, None), (0, 6), (-0.25, 0.5), (None, 0.1)]

CODE = """class Net(Module):
  __parameters__ = []
  __buffers__ = []
  mobile_optimized : bool
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    _0 = ops.prepacked.conv2d_clamp_run(x, CONSTANTS.c0)
    _1 = ops.prepacked.conv2d_clamp_run(_0, CONSTANTS.c1)
    _2 = ops.prepacked.conv2d_transpose_clamp_run(_1, CONSTANTS.c2)
    _3 = torch.reshape(torch.adaptive_avg_pool2d(_2, [1, 1]), [torch.size(x, 0), -1])
    return ops.prepacked.linear_clamp_run(_3, CONSTANTS.c3)
"""


def floats(*shape: int) -> Tensor:
    return from_numpy(RNG.normal(size=shape).astype(np.float32))


def context(name: str, *state) -> ScriptObject:
    return ScriptObject(T.custom_class(name), [state])


LAYERS = (
    context(prepacked.CONV, floats(8, 3, 3, 3), floats(8), [2, 2], [1, 1], [1, 1], 1, 0.0, 6.0),
    context(prepacked.CONV, floats(8, 1, 3, 3), None, [1, 1], [1, 1], [1, 1], 8, 0.0, None),
    context(
        prepacked.TRANSPOSED,
        floats(8, 4, 3, 3),
        floats(4),
        [2, 2],
        [1, 1],
        [1, 1],
        [1, 1],
        1,
        None,
        None,
    ),
    context(prepacked.LINEAR, floats(5, 4), floats(5), -0.3, 0.4),
)


def archive() -> bytes:
    """What PyTorch writes: the objects are constants, each with its state."""
    files: dict[str, bytes] = {}

    def key(t: Tensor) -> str:
        files[f"net/constants/{len(files)}"] = bytes(t._storage.data)
        return str(len(files) - 1)

    constants = Pickler(key).dump(LAYERS)
    data = b"\x80\x02c__torch__\nNet\n)\x81}X\x10\x00\x00\x00mobile_optimized\x88sb."
    return zipped(
        {
            "net/version": b"3\n",
            "net/data.pkl": data,
            "net/constants.pkl": constants,
            "net/code/__torch__.py": CODE.encode(),
            **files,
        }
    )


def expected(x: Tensor) -> np.ndarray:
    def run(name: str, *args):
        name, _, overload = name.partition(".")
        return table.find(f"aten::{name}", overload).kernel(*args)

    first, second, third, last = (layer.slots[0] for layer in LAYERS)
    x = run("clamp", run("conv2d", x, *first[:6]), 0.0, 6.0)
    x = run("relu", run("conv2d", x, *second[:6]))
    x = run("conv_transpose2d.input", x, *third[:4], third[4], third[6], third[5])
    x = from_numpy(x._array.mean((2, 3)))
    return run("clamp", run("linear", x, *last[:2]), -0.3, 0.4)._array


@pytest.mark.parametrize("engine", ENGINES)
def test_it_runs_and_survives_saving(engine):
    x = floats(2, 3, 9, 11)
    module = scriptlang.load(archive(), engine=engine)
    np.testing.assert_allclose(module(x).numpy(), expected(x), rtol=1e-4, atol=1e-5)
    file = io.BytesIO()
    scriptlang.save(module, file)
    again = scriptlang.load(file.getvalue(), engine=engine)
    np.testing.assert_array_equal(again(x).numpy(), module(x).numpy())
    kept = {n: v for n, v in records(file.getvalue()).items() if "/code/" not in n}
    assert any(name.endswith("bytecode.pkl") for name in kept)
    bytecode = scriptlang.load(zipped(kept), engine=engine)
    np.testing.assert_array_equal(bytecode(x).numpy(), module(x).numpy())


@pytest.mark.parametrize("engine", ENGINES)
def test_frozen_and_optimised(engine):
    x = floats(2, 3, 9, 11)
    module = scriptlang.load(archive(), engine=engine).eval()
    for made in (scriptlang.freeze(module), scriptlang.optimize(module)):
        np.testing.assert_allclose(made(x).numpy(), expected(x), rtol=1e-4, atol=1e-5)


def results(name: str, *args) -> list:
    operator = table.find(name, "")
    made = [operator.kernel(*args)]
    return made + [run_natively(operator, args)] * ("native" in ENGINES)


@pytest.mark.parametrize("low, high", BOUNDS)
def test_bounds(low, high):
    x, w, b = floats(3, 7), floats(5, 7), floats(5)
    plain = table.find("aten::linear", "").kernel(x, w, b)._array
    wanted = np.clip(plain, -np.inf if low is None else low, np.inf if high is None else high)
    for params in results("prepacked::linear_clamp_prepack", w, b, low, high):
        assert params.type.name == prepacked.LINEAR and params.slots[0][2:] == (low, high)
        for y in results("prepacked::linear_clamp_run", x, params):
            np.testing.assert_allclose(y._array, wanted, rtol=1e-5, atol=1e-6)
        for sizes in results("prepacked::unpack_prepacked_sizes_linear", params):
            assert sizes == ([5, 7], [5])
    image = floats(1, 3, 6, 6)
    given = (floats(4, 3, 3, 3), None, [1, 1], [0, 0], [1, 1], 1)
    plain = table.find("aten::conv2d", "").kernel(image, *given)._array
    wanted = np.clip(plain, -np.inf if low is None else low, np.inf if high is None else high)
    for params in results("prepacked::conv2d_clamp_prepack", *given, low, high):
        for y in results("prepacked::conv2d_clamp_run", image, params):
            np.testing.assert_allclose(y._array, wanted, rtol=1e-5, atol=1e-5)
        for sizes in results("prepacked::unpack_prepacked_sizes_conv2d", params):
            assert sizes == ([4, 3, 3, 3], None, [1, 1], [0, 0], [1, 1], 1)


@pytest.mark.parametrize("state", [(), (1,), ("2", [], [])])
def test_states_that_are_none_are_refused(state):
    for which in ENGINES:
        run = (
            table.find("prepacked::linear_clamp_run", "").kernel
            if which == "python"
            else lambda *args: run_natively(table.find("prepacked::linear_clamp_run", ""), args)
        )
        with pytest.raises(RuntimeError, match="malformed|no weights"):
            run(floats(3, 7), context(prepacked.LINEAR, *state))
