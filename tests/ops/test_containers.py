"""Lists and dicts: every operator against Python's own containers, and what the errors say."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from scriptlang.ops import table
from scriptlang.tensors import from_numpy
from tests.ops.harness import Arrays, both_tests, call

A = Arrays("containers")


def samples():
    for kind, values in (
        ("int", [3, 1, 2, 1]),
        ("float", [2.0, float("nan"), 1.0]),
        ("bool", [True, False, True]),
        ("str", ["b", "a", "c"]),
    ):
        yield call(f"aten::sorted.{kind}", values)
        if kind != "float":
            yield call(f"aten::index.list_{kind}", values, values[-1])
            yield call(f"aten::count.{kind}", values, values[0])
            yield call(f"aten::eq.{kind}_list", values, values)
            yield call(f"aten::ne.{kind}_list", values, values[:1])
        yield call(f"aten::any.{kind}", values)
        if kind != "str":
            yield call(f"aten::all.{kind}", values)
    yield call("aten::index.list_int", [1], 2)
    for a, b in (([3, 1], [3, 0]), ([1], [1, 2]), ([2], [2])):
        yield call("prim::min.int_list", a, b)
        yield call("prim::max.int_list", a, b)
    for name in ("min", "max"):
        yield call(f"prim::{name}.self_int", [3, 1, 2])
        yield call(f"prim::{name}.self_float", [])
    yield call("aten::__contains__.int_list", [1, 2], 2)
    yield call("aten::__contains__.str_list", ["a"], "b")
    for kind, values in (("int", [1, 2]), ("float", []), ("bool", [True, True]), ("complex", [1j])):
        yield call(f"aten::sum.{kind}", values)
    tensors = [np.array(2), np.array(1)]
    yield call("aten::eq.Tensor_list", tensors, tensors)
    yield call("aten::eq.Tensor_list", tensors, tensors[:1])
    yield call("aten::index.list_Tensor", tensors, np.array(1))
    yield call("aten::count.Tensor", tensors, np.array(1))
    yield call("aten::sorted.Tensor", tensors)
    yield call("aten::eq.Tensor_list", [A.normal(2)], [A.normal(2)])
    yield call("prim::rangelist", 3)
    yield call("aten::Size", [1, 2])


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("containers", SAMPLES)


def run(name: str, *args):
    name, _, overload = name.partition(".")
    return table.find(f"aten::{name}", overload).kernel(*args)


def test_slices_are_pythons():
    values = list(range(6))
    for start, end, step in product(
        (None, 0, 1, -2, 10), (None, 0, 2, -1, -10, 10), (1, 2, -1, -3)
    ):
        assert run("slice.t", values, start, end, step) == values[start:end:step]


def test_list_changes():
    values = [1, 2, 3]
    assert run("append.t", values, 4) is values
    run("extend.t", values, [5])
    run("insert.t", values, -1, 9)
    assert run("_set_item.t", values, 0, 7) is values
    run("Delete.t", values, 1)
    run("reverse.t", values)
    assert values == [5, 9, 4, 3, 7]
    assert run("pop.t", values, -1) == 7 and run("pop.t", values, 0) == 5
    run("remove.int", values, 4)
    run("sort.int", values, True)
    assert values == [9, 3] and run("copy.t", values) is not values
    run("clear.t", values)
    assert values == [] and run("mul.left_t", [1], -1) == []


LIST_ERRORS = (
    ("__getitem__.t", ([1], 1), IndexError, "list index out of range"),
    ("__getitem__.t", ([1], -2), IndexError, "list index out of range"),
    ("_set_item.t", ([1], 5, 2), IndexError, "list index out of range"),
    ("Delete.t", ([1], 5), IndexError, "list index out of range"),
    ("pop.t", ([], -1), IndexError, "pop from empty list"),
    ("remove.int", ([1], 2), RuntimeError, "x not in list"),
    ("index.list_int", ([1], 2), RuntimeError, "'2' is not in list"),
    ("slice.t", ([1], None, None, 0), RuntimeError, "non-zero step"),
    ("__getitem__.Dict_str", ({"a": 1}, "b"), RuntimeError, "KeyError: b"),
    ("pop.Dict_int", ({1: 1}, 2), RuntimeError, "KeyError: 2"),
    ("Delete.Dict_int", ({1: 1}, 2), RuntimeError, "KeyError: 2"),
    ("popitem.str", ({},), RuntimeError, "dictionary is empty"),
)


@pytest.mark.parametrize("name, args, kind, message", LIST_ERRORS, ids=[r[0] for r in LIST_ERRORS])
def test_errors(name, args, kind, message):
    with pytest.raises(kind, match=message):
        run(name, *args)


def test_dict_changes():
    values = {}
    run("_set_item.str", values, "a", 1)
    run("update.str", values, {"b": 2})
    assert run("setdefault.str", values, "c", 3) == 3 and run("setdefault.str", values, "a", 9) == 1
    assert run("keys.str", values) == ["a", "b", "c"] and run("values.str", values) == [1, 2, 3]
    assert run("items.str", values) == [("a", 1), ("b", 2), ("c", 3)]
    assert run("get.str", values, "x") is None and run("get.default_str", values, "x", 7) == 7
    assert run("popitem.str", values) == ("a", 1)  # the first, as PyTorch takes it
    assert run("pop.Dict_default_str", values, "x", 5) == 5 and run("len.Dict_str", values) == 2
    copy = run("copy.Dict_str", values)
    run("clear.str", values)
    assert copy == {"b": 2, "c": 3} and values == {}


def test_tensor_keys_are_compared_by_identity():
    key = from_numpy(np.ones(2))
    values = {key: 1}
    assert run("__contains__.Tensor", values, key)
    assert not run("__contains__.Tensor", values, from_numpy(np.ones(2)))
