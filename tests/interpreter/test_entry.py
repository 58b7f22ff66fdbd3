"""Calls from Python into the native engine: what is taken as it is, and what is converted."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

import numpy as np
import pytest
from scriptlang.interpreter import native

import scriptlang
import scriptlang as torch
from scriptlang.errors import RunError

pytestmark = pytest.mark.skipif(bool(native.why_absent()), reason="the native engine is not built")


def scripted(function):
    return scriptlang.script(function, engine="native")


def add(x: torch.Tensor, n: int = 2, scale: float = 0.5, other: Optional[torch.Tensor] = None):
    y = x * scale + n
    return y if other is None else y + other


@pytest.mark.parametrize(
    "dtype",
    [
        "float32",
        "float64",
        "int64",
        "int32",
        "uint8",
        "int8",
        "int16",
        "float16",
        "complex64",
        "complex128",
        "bool",
    ],
)
def test_arrays_of_numpy_keep_their_type_and_memory(dtype):
    @scripted
    def same(x):
        return x

    x = np.ones((2, 3), dtype)
    y = same(x)
    assert y.dtype is getattr(scriptlang, dtype) and y.shape == (2, 3)
    assert np.shares_memory(y.numpy(), x)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4).T,
        np.arange(8.0)[::-1],
        np.arange(8.0)[::2],
        np.arange(4.0).astype(">f8"),
        np.zeros((0, 3)),
        np.array(5.0),
    ],
    ids=["transposed", "reversed", "stepped", "swapped", "empty", "scalar"],
)
def test_arrays_of_any_layout(array):
    f = scripted(add)
    if any(s < 0 for s in array.strides):  # as in PyTorch
        with pytest.raises(RunError, match="instead found type 'numpy.ndarray'"):
            f(array)
    else:
        np.testing.assert_array_equal(f(array).numpy(), array * 0.5 + 2)


def test_a_program_does_not_write_into_memory_that_is_read_only():
    @scripted
    def change(x):
        x.add_(1)
        return x

    array = np.zeros(3)
    array.flags.writeable = False
    assert change(array).tolist() == [1, 1, 1] and array.tolist() == [0, 0, 0]


def test_an_array_is_written_in_place():
    @scripted
    def change(x):
        x.add_(1)

    array = np.zeros(3, np.float32)
    change(array)
    assert array.tolist() == [1, 1, 1]


def test_defaults_and_names():
    f, x = scripted(add), np.ones(2, np.float32)
    assert f(x).tolist() == [2.5, 2.5] and f(x, 1).tolist() == [1.5, 1.5]
    assert f(x, 1, 2.0, x).tolist() == [4, 4] and f(x, other=x, n=0).tolist() == [1.5, 1.5]
    assert f(x, 1, 2).tolist() == [3, 3]  # an int where a float is wanted


@pytest.mark.parametrize(
    "args, message",
    [
        ((), "missing value for argument 'x'"),
        (("a",), "Expected a value of type 'Tensor'"),
        ((np.ones(2), 1.5), "Expected a value of type 'int'"),
        ((np.ones(2), 1, 0.5, None, 3), "expected at most 4 arguments but received 5"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(args, message):
    with pytest.raises(RunError, match=message):
        scripted(add)(*args)


def containers(
    x: List[torch.Tensor],
    n: Dict[str, float],
    both: Tuple[int, Optional[torch.Tensor]],
    more: Optional[List[int]] = None,
    *,
    flag: bool = False,
):
    x.append(x[0])
    return x, n, both, more, flag


ONE = np.ones(2, np.float32)


@pytest.mark.parametrize(
    "args, kwargs",
    [
        (([ONE], {"a": 1.5}, (3, None)), {}),
        (([scriptlang.ones(1), ONE], {}, (3, ONE)), {"more": [1, 2], "flag": True}),
        (([ONE], {"a": 1, "b": 2.5}, (3, ONE), (4, 5)), {}),  # an int, a tuple for a list
        (([ONE],), {"both": (1, ONE), "n": {"c": 0.5}, "more": []}),
    ],
)
def test_containers_arrive_as_the_python_engine_has_them(args, kwargs):
    f, g = scripted(containers), scriptlang.script(containers, engine="python")
    for _ in range(3):
        assert str(f(*args, **kwargs)) == str(g(*args, **kwargs))
        assert len(args[0]) <= 2  # lists are copied


def test_a_list_that_is_passed_twice_is_two():
    @scripted
    def grow(a: List[int], b: List[int]):
        a.append(1)
        return a, b

    numbers = [5]
    for _ in range(3):
        assert grow(numbers, numbers) == ([5, 1], [5]) and numbers == [5]


@pytest.mark.parametrize(
    "args, kwargs, message",
    [
        (([ONE, 1], {}, (1, None)), {}, r"'List\[Tensor\]'.*\n?.*int at x\[1\]"),
        (([ONE], {"a": "b"}, (1, None)), {}, r"Dict\[str, float\]"),
        (([ONE], {}, (1, None, 2)), {}, "Tuple"),
        (([ONE], {}), {"both": (1 << 70, None)}, "Tuple"),
        (([ONE], {}, (1, None)), {"n": {}}, "both as positional and keyword"),
        (([ONE], {}, (1, None)), {"flags": True}, "Unknown keyword argument 'flags'"),
        (([ONE], {}, (1, None), None, True), {}, "at most 4"),
    ],
)
def test_containers_that_do_not_fit_are_refused_by_name(args, kwargs, message):
    f = scripted(containers)
    f([ONE], {}, (1, None))
    for _ in range(2):
        with pytest.raises(RunError, match=message):
            f(*args, **kwargs)


def test_ints_beyond_64_bits_are_refused():
    with pytest.raises(RunError, match="'int'"):
        scripted(add)(np.ones(2), 1 << 70)


def test_results_share_memory_with_what_they_are_views_of():
    @scripted
    def row(x):
        return x[1], x + 1

    x = scriptlang.zeros(2, 3)
    view, fresh = row(x)
    view.fill_(7)
    assert x[1].tolist() == [7, 7, 7] and fresh.tolist() == [[1, 1, 1]] * 2
    again, _ = row(fresh)  # memory of the engine goes back to it
    again.fill_(3)
    assert fresh[1].tolist() == [3, 3, 3]


def test_memory_that_numpy_sees_does_not_move():
    @scripted
    def make():
        return torch.zeros(4)

    @scripted
    def grow(x):
        return x.resize_([1000])

    seen = make()
    array = seen.numpy()
    with pytest.raises(RuntimeError, match="not resizable"):
        grow(seen)
    assert array.tolist() == [0, 0, 0, 0]
    assert grow(make()).shape == (1000,)


def test_callers_see_the_shape_that_a_program_gives_their_tensor():
    @scripted
    def reshape(x, y):
        x.unsqueeze_(0)
        y.t_()
        y.add_(1)
        return x

    x, y = scriptlang.zeros(3), scriptlang.zeros(2, 3)
    memory = y[0]
    assert reshape(x, y).shape == (1, 3)
    assert x.shape == (1, 3) and y.shape == (3, 2) and y.stride() == (1, 3)
    assert memory.tolist() == [1, 1, 1] and y.tolist() == [[1, 1]] * 3
