"""Tensor, Storage, element types: memory shared with numpy, PyTorch's names, text and promotion."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest

import scriptlang as torch
from scriptlang import dtypes
from scriptlang.tensors import Storage, Tensor, as_tensor, from_numpy


def test_from_numpy_and_numpy_share_memory_and_strides():
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    for view in (array, array.T, array[1:, ::2], array[2]):
        x = from_numpy(view)
        assert x.numpy().tolist() == view.tolist() and np.shares_memory(x.numpy(), array)
        assert x.stride() == tuple(s // 4 for s in view.strides)
    from_numpy(array[1:, ::2]).add_(1)
    assert array[1].tolist() == [5, 5, 7, 7]


def test_a_strided_look_at_memory_keeps_that_memory():
    base = np.arange(12.0)
    x = from_numpy(np.lib.stride_tricks.as_strided(base[1:], (2, 3), (40, 16)))
    x.zero_()
    assert base.tolist() == [0, 0, 2, 0, 4, 0, 0, 7, 0, 9, 0, 11]
    assert x[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "array, error",
    [
        (np.arange(3)[::-1], ValueError),
        ([1, 2], TypeError),
        (np.array(["a"]), TypeError),
        (np.array([1], np.longdouble), TypeError),
    ],
)
def test_what_cannot_be_shared_is_refused(array, error):
    with pytest.raises(error):
        from_numpy(array)


def test_views_share_the_storage_and_offsets_count_elements():
    x = torch.arange(10)
    y = x[2:8:2]
    assert y._storage is x._storage and y.storage_offset() == 2 and y.stride() == (2,)
    assert y.data_ptr() == x.data_ptr() + 16
    y[0] = 100
    assert x[2].item() == 100


def test_a_view_outside_its_storage_cannot_be_built():
    storage = Storage.allocate(16)
    assert Tensor(storage, dtypes.float32, [2, 2]).numpy().shape == (2, 2)
    for size, stride, offset in (([5], [1], 0), ([2], [4], 0), ([1], [1], 4), ([2], [1], -1)):
        with pytest.raises(RuntimeError, match="outside a storage of 16 bytes"):
            Tensor(storage, dtypes.float32, size, stride, offset).numpy()


def test_an_empty_view_lies_anywhere():
    assert torch.zeros(3, 0, 2)[1].shape == (0, 2) and torch.zeros(0)[0:].numel() == 0


def test_protocols_of_other_libraries():
    x = torch.tensor([1.0, 2.0])
    assert np.asarray(x).tolist() == [1, 2] and np.shares_memory(np.asarray(x), x.numpy())
    assert np.shares_memory(np.from_dlpack(x), x.numpy())
    assert as_tensor(np.float32(3)).item() == 3 and as_tensor("text") is None


def test_capsules_of_types_that_numpy_does_not_have():
    x = torch.tensor([1.0, 2.0]).to(torch.bfloat16)
    for arguments, name in (({}, "dltensor"), ({"max_version": (1, 0)}, "dltensor_versioned")):
        assert f'"{name}"' in repr(x.__dlpack__(**arguments))


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3fn", "float16", "int64"])
def test_pytorch_takes_tensors_without_a_copy(name):
    import torch as pytorch

    x = torch.tensor([1.0, 2.0, 3.0, 4.0]).to(getattr(torch, name))
    whole, part = pytorch.from_dlpack(x), pytorch.from_dlpack(x[::2])
    assert whole.dtype == getattr(pytorch, name) and part.tolist() == [1, 3]
    whole[2] = 7
    assert x.to(torch.float32).tolist() == [1, 2, 7, 4] and part.tolist() == [1, 7]
    del x
    gc.collect()
    assert whole.tolist() == [1, 2, 7, 4]


@pytest.mark.oracle
def test_tensors_of_pytorch_are_taken_without_a_copy():
    import torch as pytorch

    for dtype in (pytorch.float32, pytorch.bfloat16, pytorch.int64):
        theirs = pytorch.ones(3, dtype=dtype)
        as_tensor(theirs).zero_()
        assert theirs.sum() == 0


def test_attributes_are_those_of_pytorch():
    x = torch.zeros(2, 3, dtype=torch.float64)
    assert (x.shape, x.size(1), x.ndim, x.numel(), x.nbytes) == ((2, 3), 3, 2, 6, 48)
    assert x.T.shape == (3, 2) and str(x.device) == "cpu" and x.dtype is torch.float64
    assert x.is_contiguous() and not x.T.is_contiguous() and len(x) == 2
    assert repr(x.shape) == "torch.Size([2, 3])"
    assert x.requires_grad_().requires_grad and not x.detach().requires_grad


def test_channels_last_is_a_layout():
    x = torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    assert x.stride() == (60, 1, 15, 3) and x.is_contiguous(memory_format=torch.channels_last)
    assert x.clone().stride() == x.stride() and (x + 1).stride() == x.stride()


def test_conversion_to_python():
    x = torch.tensor(3)
    assert (int(x), float(x), bool(x), [10, 20, 30, 40][x]) == (3, 3.0, True, 40)
    assert [row.tolist() for row in torch.tensor([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]
    with pytest.raises(
        RuntimeError, match="a Tensor with 2 elements cannot be converted to Scalar"
    ):
        torch.tensor([1, 2]).item()
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        bool(torch.tensor([1, 2]))
    with pytest.raises(TypeError, match="0-d tensor"):
        len(x)


def test_tensor_takes_numbers_lists_and_arrays():
    assert torch.tensor([[1, 2], [3, 4]]).dtype is torch.int64
    assert torch.tensor([1, 2.5]).dtype is torch.float32 and torch.tensor(True).dtype is torch.bool
    assert torch.tensor([]).dtype is torch.float32 and torch.tensor(1j).dtype is torch.complex64
    assert torch.tensor(np.zeros(2)).dtype is torch.float64
    with pytest.raises(ValueError, match="equal length"):
        torch.tensor([[1], [2, 3]])


TEXTS = [
    (lambda: torch.tensor([1.0, 2.0]), "tensor([1., 2.])"),
    (lambda: torch.tensor([1.5, -2.0]), "tensor([ 1.5000, -2.0000])"),
    (lambda: torch.tensor([1, -20]), "tensor([  1, -20])"),
    (lambda: torch.tensor(True), "tensor(True)"),
    (lambda: torch.tensor([True, False]), "tensor([ True, False])"),
    (
        lambda: torch.zeros(2, 2, dtype=torch.float64),
        "tensor([[0., 0.],\n        [0., 0.]], dtype=torch.float64)",
    ),
    (lambda: torch.tensor([1e-5, 1.0]), "tensor([1.0000e-05, 1.0000e+00])"),
    (lambda: torch.tensor([float("nan"), float("inf")]), "tensor([nan, inf])"),
    (lambda: torch.zeros(0, 3), "tensor([], size=(0, 3))"),
    (lambda: torch.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    (lambda: torch.tensor([1 + 2j]), "tensor([1.+2.j])"),
    (lambda: torch.zeros(1, dtype=torch.bfloat16), "tensor([0.], dtype=torch.bfloat16)"),
]


@pytest.mark.parametrize("make, text", TEXTS, ids=[t for _, t in TEXTS])
def test_the_text_is_pytorchs(make, text):
    assert repr(make()) == text


PROMOTED = [
    ("uint8", "int8", "int16"),
    ("int32", "float16", "float16"),
    ("float16", "bfloat16", "float32"),
    ("int64", "float32", "float32"),
    ("float64", "complex64", "complex128"),
    ("bool", "uint8", "uint8"),
    ("complex128", "complex64", "complex128"),
    ("bfloat16", "float64", "float64"),
]


@pytest.mark.parametrize("a, b, result", PROMOTED)
def test_promotion(a, b, result):
    a, b = dtypes.BY_NAME[a], dtypes.BY_NAME[b]
    assert dtypes.promote(a, b).name == dtypes.promote(b, a).name == result


@pytest.mark.parametrize(
    "make, result",
    [
        (lambda: torch.ones(2, dtype=torch.int32) + torch.tensor(1), "int32"),
        (
            lambda: torch.ones(2, dtype=torch.int32) + torch.tensor(1.0, dtype=torch.float64),
            "float64",
        ),
        (
            lambda: torch.ones(2, dtype=torch.float16) + torch.tensor(1.0, dtype=torch.float64),
            "float16",
        ),
        (lambda: torch.ones(2, dtype=torch.uint8) + 300, "uint8"),
        (lambda: torch.ones(2, dtype=torch.bool) + 1, "int64"),
        (lambda: torch.ones(2, dtype=torch.float32) + 1j, "complex64"),
        (lambda: torch.tensor(1.0, dtype=torch.float64) + torch.tensor(1.0), "float64"),
        (lambda: torch.ones(2, dtype=torch.int64) / 2, "float32"),
    ],
)
def test_three_categories_of_operands(make, result):
    assert make().dtype.name == result


@pytest.mark.oracle
def test_every_pair_of_types_promotes_as_in_pytorch():
    import torch as pytorch

    for a in dtypes.ALL:
        for b in dtypes.ALL:
            try:
                want = pytorch.promote_types(getattr(pytorch, a.name), getattr(pytorch, b.name))
            except RuntimeError:  # uint16, uint32, uint64
                with pytest.raises(RuntimeError, match="not supported"):
                    dtypes.promote(a, b)
                continue
            assert dtypes.promote(a, b).name == str(want).partition(".")[2]


def test_dtypes_are_single_objects():
    assert copy.deepcopy(torch.float32) is torch.float32
    assert pickle.loads(pickle.dumps(torch.bfloat16)) is torch.bfloat16
    assert dtypes.as_dtype("half") is torch.float16 and dtypes.as_dtype(6) is torch.float32
    assert dtypes.as_dtype(np.float64) is torch.float64 and repr(torch.bool) == "torch.bool"
    with pytest.raises(RuntimeError, match="scalar type number 99"):
        dtypes.by_code(99)


def test_ranges_of_types():
    assert torch.finfo(torch.float32).max == np.finfo(np.float32).max
    assert torch.finfo(torch.bfloat16).eps == 0.0078125 and torch.iinfo(torch.uint8).max == 255


def test_the_default_type_is_that_of_floats():
    try:
        torch.set_default_dtype(torch.float64)
        assert torch.tensor(1.5).dtype is torch.float64 and torch.zeros(1).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    with pytest.raises(TypeError, match="must be floating point"):
        torch.set_default_dtype(torch.int64)


def test_float8_converts_both_ways():
    x = torch.tensor([0.5, 1.5, 448.0]).to(dtypes.float8_e4m3fn)
    assert x.element_size() == 1 and x.float().tolist() == [0.5, 1.5, 448.0]


@pytest.mark.parametrize("look", [np.asarray, np.array, np.sin, np.from_dlpack, Tensor.numpy])
def test_other_libraries_get_no_tensor_whose_gradient_would_be_lost(look):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises((RuntimeError, BufferError), match="detach"):
        look(x * 2)
    assert np.asarray(look((x * 2).detach())).shape == (2,)


ONE = torch.ones(1)

CREATED = {
    "normal": lambda **options: torch.normal(0.0, 1.0, (2,), **options),
    "fft_fftfreq": lambda **options: torch.fft.fftfreq(4, **options),
    "fft_rfftfreq": lambda **options: torch.fft.rfftfreq(4, **options),
    "new_empty": lambda **options: ONE.new_empty((2,), **options),
    "new_empty_strided": lambda **options: ONE.new_empty_strided((2,), (1,), **options),
    "new_full": lambda **options: ONE.new_full((2,), 1.0, **options),
    "new_ones": lambda **options: ONE.new_ones(2, **options),
    "new_zeros": lambda **options: ONE.new_zeros(2, **options),
    "zeros": lambda **options: torch.zeros(2, **options),
}


@pytest.mark.parametrize("name", CREATED)
def test_what_makes_tensors_takes_requires_grad(name):
    assert CREATED[name](requires_grad=True).requires_grad
    assert not CREATED[name]().requires_grad
    assert CREATED[name](dtype=None).dtype == torch.float32


def test_indices_take_requires_grad_and_have_none():
    assert torch.triu_indices(2, 2, requires_grad=False).dtype == torch.int64
    with pytest.raises(RuntimeError, match="floating point"):
        torch.tril_indices(2, 2, requires_grad=True)
