"""The optimiser's operators on both engines, in every way they can be called."""

from __future__ import annotations

import numpy as np
import pytest
from scriptlang.interpreter.engine import available, engine

import scriptlang
from scriptlang import types as T
from scriptlang.errors import RunError
from scriptlang.ir import Function, Graph, schema_of_graph
from scriptlang.limits import Limits
from scriptlang.ops import table

ENGINES = available()
RANDOM = np.random.default_rng(11)


def tensor(*shape: int, dtype=np.float32):
    return scriptlang.from_numpy(RANDOM.uniform(-1, 1, shape).astype(dtype))


def call(which: str, name: str, *args, limits: Limits | None = None):
    """An operator called with tensors as arguments, the rest as constants."""
    given = [value for value in args if hasattr(value, "numpy")]
    constants = tuple("tensor" if hasattr(value, "numpy") else repr(value) for value in args)
    key = (name, constants)
    if key not in FUNCTIONS:
        FUNCTIONS[key] = calling(name, args)
    return engine(which).run(FUNCTIONS[key], given, None, limits)


FUNCTIONS: dict[tuple[str, tuple[str, ...]], Function] = {}
"""What `call` has made, by the operator and its constants: most are called many times."""


def calling(name: str, args: tuple) -> Function:
    """A function that calls an operator with its tensors, and with these constants."""
    schema = table.find(*(name.split(".") if "." in name else (name, ""))).schema
    graph = Graph("f")
    inputs = []
    for value, a in zip(args, schema.arguments):
        if hasattr(value, "numpy"):
            inputs.append(graph.block.add_parameter(T.TENSOR))
        else:
            inputs.append(graph.constant(value, T.NONE if value is None else a.type))
    result = graph.insert(name.split(".")[0], inputs, [T.TENSOR], schema=schema).output
    graph.block.add_return(result)
    return Function("f", schema_of_graph("f", graph), graph)


def conv(
    which: str,
    x,
    w,
    bias=None,
    stride=(1, 1),
    padding=(0, 0),
    dilation=(1, 1),
    groups=1,
    added=None,
    activation="none",
    memory_format=0,
    **more,
):
    return call(
        which,
        "scriptlang::conv2d",
        x,
        w,
        bias,
        list(stride),
        list(padding),
        list(dilation),
        groups,
        added,
        activation,
        memory_format,
        **more,
    )


def agree(f, *args, **kwargs) -> None:
    """Every engine gives the same values, or raises."""
    results = []
    for which in ENGINES:
        try:
            y = f(which, *args, **kwargs)
            results.append((y.shape, y.stride(), y.dtype, y.numpy()))
        except RuntimeError:
            results.append(None)
    for r in results[1:]:
        assert (r is None) == (results[0] is None)
        if r is not None:
            assert r[:3] == results[0][:3]
            # Long sums round in proportion to what they add up, not to what is left.
            largest = np.abs(results[0][3]).max(initial=10)
            np.testing.assert_allclose(r[3], results[0][3], 1e-4, 3e-6 * largest)


@pytest.mark.parametrize("memory_format", [0, 2])
@pytest.mark.parametrize(
    "case",
    [
        dict(shape=(2, 3, 9, 11), weight=(5, 3, 3, 3), padding=(1, 2), stride=(2, 1)),
        dict(shape=(1, 64, 8, 8), weight=(40, 64, 3, 3), padding=(1, 1)),
        dict(shape=(2, 32, 21, 22), weight=(40, 32, 3, 3), padding=(1, 1)),
        dict(shape=(1, 33, 9, 9), weight=(33, 1, 3, 3), padding=(1, 1), groups=33),
        dict(shape=(2, 5, 14, 15), weight=(10, 1, 5, 5), padding=(2, 2), groups=5),
        dict(shape=(1, 9, 13, 28), weight=(9, 1, 3, 3), stride=(2, 2), padding=(1, 1), groups=9),
        dict(shape=(2, 12, 9, 9), weight=(8, 6, 3, 1), groups=2, dilation=(2, 3)),
        dict(shape=(1, 5, 8, 20), weight=(7, 5, 3, 3), dilation=(9, 12), padding=(9, 12)),
        dict(shape=(2, 16, 6, 5), weight=(70, 16, 3, 3), dilation=(4, 4), padding=(4, 4)),
        dict(shape=(1, 512, 4, 9), weight=(8, 512, 3, 3), dilation=(1, 6), padding=(3, 6)),
        dict(
            shape=(1, 6, 11, 33),
            weight=(8, 3, 3, 5),
            dilation=(12, 9),
            padding=(12, 18),
            groups=2,
            stride=(1, 2),
        ),
        dict(shape=(2, 7, 5, 6), weight=(9, 7, 1, 1), stride=(2, 3)),
        dict(shape=(2, 7, 1, 1), weight=(9, 7, 3, 3), padding=(3, 1)),
        dict(shape=(2, 6, 9, 11), weight=(1, 6, 3, 3), padding=(1, 1)),
        dict(shape=(2, 6, 9, 11), weight=(4, 6, 1, 1), stride=(1, 2)),
        dict(shape=(3, 9, 11), weight=(5, 3, 3, 3), padding=(1, 1)),
        dict(shape=(0, 3, 9, 9), weight=(5, 3, 3, 3)),
        dict(shape=(2, 3, 0, 9), weight=(5, 3, 3, 3), padding=(2, 0)),
    ],
    ids=str,
)
def test_convolutions(case, memory_format):
    case = dict(case)
    x, w = tensor(*case.pop("shape")), tensor(*case.pop("weight"))
    settings = dict(case, memory_format=memory_format)
    for activation in ("none", "relu", "relu6", "gelu", "tanh"):
        agree(conv, x, w, tensor(w.size(0)), activation=activation, **settings)
    if x.dim() == 4:
        agree(conv, x.contiguous(memory_format=scriptlang.channels_last), w, **settings)
        agree(conv, x.flip(3), w, **settings)
    y = conv("python", x, w, **settings)
    for added in (y * 0.5, tensor(1), tensor(w.size(0), 1, 1), tensor(2, *y.shape)):
        agree(conv, x, w, None, added=added, activation="relu", **settings)


def expanded(
    which: str,
    x,
    w1,
    b1,
    inner,
    w,
    bias=None,
    stride=(1, 1),
    padding=(0, 0),
    dilation=(1, 1),
    groups=1,
    added=None,
    activation="none",
    memory_format=0,
):
    return call(
        which,
        "scriptlang::expanded_conv2d",
        x,
        w1,
        b1,
        inner,
        w,
        bias,
        list(stride),
        list(padding),
        list(dilation),
        groups,
        added,
        activation,
        memory_format,
    )


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    "shape, channels, kernel, settings",
    [
        ((1, 24, 7, 7), 235, (5, 5), dict(padding=(2, 2))),  # threads get channels
        ((2, 8, 14, 13), 416, (5, 3), dict(padding=(2, 1), stride=(2, 1))),
        ((1, 16, 9, 9), 576, (3, 3), dict(padding=(2, 2), dilation=(2, 2))),
        ((2, 3, 9, 11), 20, (3, 3), dict(padding=(1, 1))),
        ((1, 16, 70, 64), 96, (3, 3), dict(padding=(1, 1), stride=(2, 2))),  # bands of some rows
        ((2, 8, 61, 90), 72, (5, 5), dict(padding=(2, 2))),
        ((1, 8, 61, 90), 72, (5, 3), dict(padding=(2, 1), stride=(3, 1))),
        ((1, 4, 90, 64), 80, (3, 3), dict(padding=(3, 1), dilation=(3, 1))),
        ((1, 2, 3, 700), 400, (3, 3), dict(padding=(1, 1))),  # a row is a band
        ((1, 4, 50, 40), 200, (1, 3), dict(stride=(5, 1))),  # rows nobody wants
        ((1, 4, 6, 7), 33, (3, 3), dict(padding=(9, 4))),  # more frame than image
        ((1, 4, 2, 7), 33, (3, 1), dict(padding=(2, 0), stride=(4, 1))),
        ((0, 4, 6, 7), 33, (3, 3), dict()),
    ],
    ids=str,
)
def test_convolutions_of_expansions(shape, channels, kernel, settings, threads):
    x, w1 = tensor(*shape), tensor(channels, shape[1], 1, 1)
    w = tensor(channels, 1, *kernel)
    settings = dict(settings, groups=channels)
    before = scriptlang.get_num_threads()
    scriptlang.set_num_threads(threads)
    try:
        agree(expanded, x, w1, tensor(channels), "relu6", w, tensor(channels), **settings)
        agree(
            expanded,
            x.contiguous(memory_format=scriptlang.channels_last),
            w1,
            None,
            "silu",
            w,
            activation="hardswish",
            memory_format=2,
            **settings,
        )
        agree(expanded, x.flip(2), w1, None, "none", w, memory_format=2, **settings)
        y = expanded("python", x, w1, None, "relu", w, **settings)
        agree(expanded, x, w1, None, "relu", w, added=y * 0.5, activation="relu", **settings)
    finally:
        scriptlang.set_num_threads(before)


def test_expansions_that_the_kernels_do_not_take():
    x, w1, w = tensor(1, 3, 6, 6), tensor(8, 3, 1, 1), tensor(8, 1, 3, 3)
    agree(expanded, tensor(3, 6, 6), w1, None, "relu", w, groups=8)
    agree(expanded, x, tensor(8, 3, 1, 1, dtype=np.float64), None, "relu", w, groups=8)
    agree(expanded, x, w1, None, "relu", tensor(4, 8, 3, 3))
    agree(expanded, x, w1, None, "relu", tensor(16, 1, 3, 3), groups=8)
    agree(expanded, x, tensor(8, 3, 3, 3), None, "relu", w, groups=8)
    for empty in (tensor(1, 3, 6, 0), tensor(1, 3, 0, 6)):
        agree(expanded, empty, w1, None, "relu", w, groups=8, padding=(2, 2))
    for wrong in (
        dict(groups=4),
        dict(groups=8, stride=(0, 1)),
        dict(groups=8, padding=(-1, 0)),
        dict(groups=8, bias=tensor(3)),
        dict(groups=8, dilation=(9, 9)),
        dict(groups=8, activation="nothing"),
        dict(groups=0),
    ):
        for which in ENGINES:
            with pytest.raises((RuntimeError, RunError, MemoryError)):
                expanded(which, x, w1, None, "relu", w, **wrong)


def transposed(
    which: str,
    x,
    w,
    bias=None,
    stride=(1, 1),
    padding=(0, 0),
    output_padding=(0, 0),
    groups=1,
    dilation=(1, 1),
    added=None,
    activation="none",
    memory_format=0,
    **more,
):
    return call(
        which,
        "scriptlang::conv_transpose2d",
        x,
        w,
        bias,
        list(stride),
        list(padding),
        list(output_padding),
        groups,
        list(dilation),
        added,
        activation,
        memory_format,
        **more,
    )


@pytest.mark.parametrize("memory_format", [0, 2])
@pytest.mark.parametrize(
    "case",
    [
        dict(shape=(1, 100, 1, 1), weight=(100, 40, 4, 4)),
        dict(shape=(2, 33, 4, 5), weight=(33, 40, 4, 4), stride=(2, 2), padding=(1, 1)),
        dict(
            shape=(1, 3, 5, 6),
            weight=(3, 5, 3, 5),
            stride=(3, 2),
            padding=(0, 2),
            output_padding=(2, 1),
        ),
        dict(shape=(2, 4, 5, 6), weight=(4, 6, 2, 2), stride=(2, 2)),
        dict(shape=(1, 4, 3, 3), weight=(4, 6, 7, 7), stride=(2, 3), padding=(4, 5)),
        dict(shape=(1, 4, 2, 2), weight=(4, 6, 5, 3), padding=(2, 1)),
        dict(shape=(2, 4, 5, 6), weight=(4, 3, 3, 3), groups=2, padding=(1, 1)),
        dict(shape=(2, 4, 5, 6), weight=(4, 3, 2, 2), stride=(3, 3)),
        dict(shape=(2, 4, 5, 6), weight=(4, 3, 3, 3), dilation=(2, 1)),
        dict(shape=(4, 5, 6), weight=(4, 3, 3, 3), stride=(2, 2)),
        dict(shape=(0, 4, 5, 6), weight=(4, 3, 3, 3)),
    ],
    ids=str,
)
def test_transposed_convolutions(case, memory_format):
    case = dict(case)
    x, w = tensor(*case.pop("shape")), tensor(*case.pop("weight"))
    settings = dict(case, memory_format=memory_format)
    bias = tensor(w.size(1) * settings.get("groups", 1))
    for activation in ("none", "relu", "relu6", "gelu", "tanh"):
        agree(transposed, x, w, bias, activation=activation, **settings)
    if x.dim() == 4:
        agree(transposed, x.contiguous(memory_format=scriptlang.channels_last), w, **settings)
        agree(transposed, x.flip(3), w, **settings)
    y = transposed("python", x, w, **settings)
    for added in (y * 0.5, tensor(1), tensor(2, *y.shape)):
        agree(transposed, x, w, None, added=added, activation="relu", **settings)


def test_transposed_convolutions_that_are_refused():
    for settings in (
        dict(stride=(0, 1)),
        dict(padding=(-1, 0)),
        dict(dilation=(0, 1)),
        dict(groups=0),
        dict(activation="nothing"),
        dict(bias=tensor(3)),
        dict(padding=(9, 9)),
        dict(output_padding=(5, 5)),
        dict(stride=(1, 1, 1)),
    ):
        for which in ENGINES:
            with pytest.raises((RuntimeError, RunError, MemoryError)):
                transposed(which, tensor(1, 3, 5, 5), tensor(3, 4, 3, 3), **settings)


def test_convolutions_of_other_types_and_bad_shapes():
    x, w = tensor(1, 3, 5, 5, dtype=np.float64), tensor(4, 3, 3, 3, dtype=np.float64)
    agree(conv, x, w)
    agree(conv, tensor(1, 3, 5, 5), w)
    agree(conv, x, tensor(4, 2, 3, 3, dtype=np.float64))
    for settings in (
        dict(stride=(0, 1)),
        dict(padding=(-1, 0)),
        dict(dilation=(0, 1)),
        dict(groups=2),
        dict(groups=0),
        dict(activation="nothing"),
        dict(dilation=(9, 9)),
        dict(bias=tensor(3)),
        dict(padding=(2**40, 2**40)),
        dict(stride=(1, 1, 1)),
    ):
        for which in ENGINES:
            with pytest.raises((RuntimeError, RunError, MemoryError)):
                conv(which, tensor(1, 3, 5, 5), tensor(4, 3, 3, 3), **settings)


@pytest.mark.skipif("native" not in ENGINES, reason="needs the native engine")
def test_a_weight_that_is_mostly_not_there_is_not_packed():
    huge = tensor(1, 1, 1, 1).expand(2**20, 2**20, 1, 1)
    with pytest.raises((MemoryError, RunError)):
        conv(
            "native", tensor(1, 1, 1, 1).expand(1, 2**20, 1, 1), huge, limits=Limits(memory=1 << 20)
        )
    with pytest.raises((MemoryError, RunError)):
        conv(
            "native",
            tensor(1, 5, 5, 5),  # fewer channels stay in planes, and skip the padding
            tensor(5, 5, 3, 3),
            padding=(5000, 5000),
            stride=(9000, 9000),
            limits=Limits(memory=1 << 20),
        )


@pytest.mark.parametrize("rows", [(1,), (5,), (2, 3), (2, 30), ()])
def test_linear_layers(rows):
    x, w, b = tensor(*rows, 37), tensor(70, 37), tensor(70)
    for bias in (None, b):
        for activation in ("none", "relu", "gelu", "silu"):
            agree(linear, x, w, bias, None, activation)
            agree(linear, x, w, bias, tensor(*rows, 70), activation)
    agree(linear, x, w.t().contiguous().t(), b, tensor(70), "relu")
    agree(linear, x, tensor(70, 36), b, None, "none")
    agree(linear, x, w, tensor(69), None, "none")


def linear(which: str, x, w, bias, added, activation):
    return call(which, "scriptlang::linear", x, w, bias, added, activation)
