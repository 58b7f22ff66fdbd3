"""What users pass as dtype, device, layout or memory format is obeyed or refused, never ignored."""

from __future__ import annotations

import numpy as np
import pytest
from scriptlang.interpreter import engine as engines

import scriptlang
from scriptlang import nn

ENGINES = engines.available()


def x():
    return scriptlang.ones(2)


def module():
    return nn.Linear(2, 2)


MAKERS = {
    "tensor": x,
    "module": module,
    **{f"script-{e}": lambda e=e: scriptlang.script(module(), engine=e) for e in ENGINES},
}


def dtype_of(value):
    return value.dtype if isinstance(value, scriptlang.Tensor) else value.weight.dtype


DOUBLES = [
    ((scriptlang.float64,), {}),
    (("float64",), {}),
    (("torch.float64",), {}),
    ((np.float64,), {}),
    ((np.dtype("f8"),), {}),
    ((float,), {}),
    ((scriptlang.ones(1).double(),), {}),
    (("cpu", scriptlang.float64), {}),
    ((scriptlang.device("cpu"), "float64"), {}),
    ((None, scriptlang.float64), {}),
    ((), {"dtype": scriptlang.float64}),
    ((), {"device": "cpu", "dtype": np.float64}),
    ((scriptlang.float64, True), {}),
    (("cpu", scriptlang.float64, True), {}),
    ((), {"other": scriptlang.ones(1).double()}),
    ((), {"tensor": scriptlang.ones(1).double()}),
    (("cpu",), {"dtype": scriptlang.float64, "non_blocking": True}),
]


@pytest.mark.parametrize("kind", MAKERS)
def test_to_takes_every_spelling_of_a_dtype(kind):
    for args, kwargs in DOUBLES:
        assert dtype_of(MAKERS[kind]().to(*args, **kwargs)) is scriptlang.float64, (args, kwargs)
    for args, kwargs in (
        ((), {}),
        (("cpu",), {}),
        (("cpu:0",), {}),
        ((None,), {}),
        ((), {"device": scriptlang.device("cpu")}),
        ((), {"dtype": None}),
    ):
        assert dtype_of(MAKERS[kind]().to(*args, **kwargs)) is scriptlang.float32, (args, kwargs)


WRONG = [
    (("nonsense",), {}),
    (("cuda",), {}),
    (("cuda:0",), {}),
    (("meta",), {}),
    ((0,), {}),
    ((1.5,), {}),
    (([1],), {}),
    ((scriptlang.float64, scriptlang.float32), {}),
    (("cpu", "cpu"), {}),
    (("CPU",), {}),
    (("cpu:x",), {}),
    ((), {"bogus": 1}),
    ((), {"dtype": "nonsense"}),
    ((), {"device": "cuda"}),
    ((), {"device": 3.5}),
    ((), {"layout": scriptlang.strided}),
    ((), {"memory_format": 9}),
    ((True,), {}),
    ((scriptlang.float64,), {"dtype": scriptlang.float32}),
    ((scriptlang.float64, "cpu"), {}),
    ((), {"other": 3}),
    ((), {"copy": 2}),
]


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("args, kwargs", WRONG, ids=str)
def test_to_refuses_what_it_would_ignore(kind, args, kwargs):
    with pytest.raises((TypeError, RuntimeError)) as error:
        MAKERS[kind]().to(*args, **kwargs)
    assert len(str(error.value)) > 20


@pytest.mark.parametrize("kind", [k for k in MAKERS if k != "tensor"])
def test_modules_convert(kind):
    made = MAKERS[kind]
    for name, dtype in (("half", "float16"), ("double", "float64"), ("bfloat16", "bfloat16")):
        assert dtype_of(getattr(made(), name)()).name == dtype
    assert dtype_of(made().type("torch.DoubleTensor")) is scriptlang.float64
    if kind == "module":
        with pytest.raises(RuntimeError, match="must be floating point or complex dtype"):
            made().type(scriptlang.int32)
    else:
        assert dtype_of(made().type(scriptlang.int32)) is scriptlang.int32
    assert dtype_of(made().to(scriptlang.complex64)) is scriptlang.complex64
    with pytest.raises(TypeError, match="floating point or complex"):
        made().to(scriptlang.int64)
    with pytest.raises(RuntimeError, match="copy"):
        made().to(scriptlang.float64, True, True)
    with pytest.raises(ValueError, match="invalid type"):
        made().type("nonsense")
    with pytest.raises(RuntimeError, match="CPU only"):
        made().cuda()
    with pytest.raises(RuntimeError, match="CPU only"):
        made().to_empty(device="cuda")
    assert made().to_empty(device="cpu").weight.shape == (2, 2)
    shared = made().share_memory()
    assert shared.weight.is_shared() and shared(x()).shape == (2,)


@pytest.mark.oracle
def test_dtypes_and_devices_of_torch_itself():
    import torch

    for kind, make in MAKERS.items():
        assert dtype_of(make().to(torch.float16)) is scriptlang.float16, kind
        assert dtype_of(make().to(torch.device("cpu"), torch.float64)) is scriptlang.float64
        with pytest.raises(RuntimeError, match="CPU only"):
            make().to(torch.device("cuda"))
    assert scriptlang.zeros(2, dtype=torch.int16, layout=torch.strided).dtype is scriptlang.int16
    assert (
        scriptlang.zeros(1, 2, 2, 2)
        .contiguous(memory_format=torch.channels_last)
        .is_contiguous(memory_format=torch.channels_last)
    )
    with pytest.raises(TypeError, match="strided"):
        scriptlang.zeros(2, layout=torch.sparse_coo)


FACTORIES = {
    "zeros": lambda **o: scriptlang.zeros(2, **o),
    "arange": lambda **o: scriptlang.arange(3, **o),
    "randn": lambda **o: scriptlang.randn(2, **o),
    "full": lambda **o: scriptlang.full([2], 1, **o),
    "eye": lambda **o: scriptlang.eye(2, **o),
    "empty_like": lambda **o: scriptlang.empty_like(x(), **o),
    "new_zeros": lambda **o: x().new_zeros(2, **o),
    "new_tensor": lambda **o: x().new_tensor([1], **o),
    "tensor": lambda **o: scriptlang.tensor([1], **o),
    "as_tensor": lambda **o: scriptlang.as_tensor([1], **o),
    "asarray": lambda **o: scriptlang.asarray([1], **o),
    "Linear": lambda **o: nn.Linear(2, 2, **o),
    "LSTM": lambda **o: nn.LSTM(2, 2, **o),
    "BatchNorm": lambda **o: nn.BatchNorm1d(2, **o),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_refuse_other_devices_and_what_is_no_dtype(name):
    make = FACTORIES[name]
    for device in ("cuda", "meta", scriptlang.device("cuda:1")):
        with pytest.raises(RuntimeError, match="CPU only"):
            make(device=device)
    with pytest.raises(RuntimeError, match="Expected one of cpu"):
        make(device="nonsense")
    for dtype in ("float32", "nonsense", [1], True, scriptlang.channels_last):
        with pytest.raises(TypeError):
            make(dtype=dtype)
    make(device="cpu", dtype=scriptlang.float64)
    make(dtype=float)


def test_layouts_memory_formats_and_pinning():
    for options in ({"layout": 1}, {"memory_format": 7}, {"memory_format": "channels_last"}):
        with pytest.raises(TypeError):
            scriptlang.empty_like(scriptlang.ones(1, 2, 2, 2), **options)
    with pytest.raises(RuntimeError, match="accelerator"):
        scriptlang.zeros(2, pin_memory=True)
    with pytest.raises(RuntimeError, match="CPU only"):
        x().pin_memory()
    for name in ("cuda", "xpu", "ipu", "mtia"):
        with pytest.raises(RuntimeError, match="CPU only"):
            getattr(x(), name)()
    image = scriptlang.ones(1, 2, 2, 2)
    assert image.to(memory_format=scriptlang.channels_last).stride() == (8, 1, 4, 2)
    assert repr(scriptlang.channels_last) == "torch.channels_last"


def test_types_by_name():
    assert x().type() == "torch.FloatTensor" and x().long().type() == "torch.LongTensor"
    assert scriptlang.typename(x()) == "torch.FloatTensor"
    for wanted in ("torch.DoubleTensor", scriptlang.DoubleTensor, scriptlang.float64, np.float64):
        assert x().type(wanted).dtype is scriptlang.float64
    for wrong in ("nonsense", "float6", 3.5):
        with pytest.raises(ValueError, match="invalid type"):
            x().type(wrong)


def test_devices():
    assert str(scriptlang.device("cuda", 1)) == str(scriptlang.device("cuda:1")) == "cuda:1"
    for wrong in (("nonsense",), ("cuda:x",), ("cuda:-1",), ("cuda:1", 1)):
        with pytest.raises(RuntimeError):
            scriptlang.device(*wrong)


@pytest.mark.parametrize("engine", ENGINES)
def test_formats_as_arguments_of_programs(engine):
    def f(x, fmt: int):
        return x.contiguous(memory_format=fmt), fmt

    function = scriptlang.script(f, engine=engine)
    image, fmt = function(scriptlang.ones(1, 2, 2, 2), scriptlang.channels_last)
    assert image.stride() == (8, 1, 4, 2) and type(fmt) is int and fmt == 2


def test_names_of_dtypes_print_as_pytorchs():
    assert repr(scriptlang.float32) == str(x().dtype) == f"{x().dtype}" == "torch.float32"
    assert "dtype=torch.float64" in repr(x().double())


def test_where_archives_are_loaded_to():
    import io

    file = io.BytesIO()
    scriptlang.save(scriptlang.script(module()), file)
    for place in (None, "cpu", scriptlang.device("cpu"), {"cuda:0": "cpu"}, lambda s, where: s):
        assert scriptlang.load(file.getvalue(), place)(x()).shape == (2,)
    for place in ("cuda", "nonsense", {"cpu": "cuda:1"}):
        with pytest.raises(RuntimeError):
            scriptlang.load(file.getvalue(), map_location=place)
    with pytest.raises(TypeError):
        scriptlang.load(file.getvalue(), map_location=3.5)
