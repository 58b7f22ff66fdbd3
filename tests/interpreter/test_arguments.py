"""What callers may pass, what it becomes, and what the errors say."""

import numpy as np
import pytest
from scriptlang.interpreter.arguments import bind

from scriptlang import types as T
from scriptlang.dtypes import float32
from scriptlang.errors import RunError
from scriptlang.objects import Device, ScriptObject
from scriptlang.records import replace
from scriptlang.schema import Argument, Schema, parse_schema
from scriptlang.tensors import Tensor, from_numpy

POINT = T.ClassType("__torch__.Point")
PAIR = T.TupleType((T.INT, T.FLOAT), "__torch__.Pair", ("a", "b"))


def one(t: T.Type, value):
    """The run-time value that an argument of type `t` gets."""
    return bind(Schema("f", "", (Argument("x", t),), ()), [value])[0]


def test_arrays_become_tensors_without_a_copy():
    array = np.zeros(3, np.float32)
    tensor = one(T.TENSOR, array)
    array[1] = 5
    assert isinstance(tensor, Tensor) and tensor.tolist() == [0, 5, 0]
    assert one(T.optional(T.TENSOR), None) is None
    assert one(T.ListType(T.TENSOR), [array])[0].tolist() == [0, 5, 0]


CONVERSIONS = [
    (T.INT, np.int32(4), 4),
    (T.INT, True, 1),
    (T.INT, float32, 6),
    (T.INT, from_numpy(np.array(7)), 7),
    (T.FLOAT, 3, 3.0),
    (T.FLOAT, np.float32(0.5), 0.5),
    (T.BOOL, np.bool_(True), True),
    (T.BOOL, from_numpy(np.array(True)), True),
    (T.BOOL, np.array(False), False),
    (T.STR, np.str_("x"), "x"),
    (T.NUMBER, np.float64(2.5), 2.5),
    (T.NUMBER, 3, 3),
    (T.ListType(T.INT), (1, 2), [1, 2]),
    (T.ListType(T.FLOAT), [1, 2.5], [1.0, 2.5]),
    (T.DictType(T.STR, T.FLOAT), {"a": 1}, {"a": 1.0}),
    (PAIR, (1, 2), PAIR.make((1, 2.0))),
    (T.TupleType((T.INT, T.STR)), (1, "x"), (1, "x")),
    (T.DEVICE, "cpu", Device("cpu")),
    (T.optional(T.INT), None, None),
    (T.union(T.INT, T.STR), "x", "x"),
    (T.ANY, "x", "x"),
]


@pytest.mark.parametrize("t, given, value", CONVERSIONS)
def test_conversions(t, given, value):
    result = one(t, given)
    assert result == value and type(result) is type(value)


@pytest.mark.parametrize(
    "t",
    [
        T.ListType(T.ListType(T.INT)),
        T.ListType(T.ANY),
        T.ANY,
        T.union(T.INT, T.ListType(T.ListType(T.INT))),
    ],
)
def test_the_program_gets_lists_of_its_own(t):
    inner = [1, 2]
    given = one(t, [inner])
    given[0].append(3)
    assert inner == [1, 2]


REFUSED = [
    (T.INT, 1.5, "Expected a value of type 'int' for argument 'x' but instead found type 'float'"),
    (T.INT, "1", "found type 'str'"),
    (T.INT, None, "found type 'None'"),
    (T.INT, 1 << 63, "found type 'int'"),
    (T.FLOAT, "1.5", "found type 'str'"),
    (T.BOOL, "a", "found type 'str'"),
    (T.BOOL, 1.0, "found type 'float'"),
    (T.BOOL, np.float64(1), "found type 'numpy.float64'"),
    (T.BOOL, np.ones(2, bool), "found type"),
    (T.STR, 1, "found type 'int'"),
    (
        T.TENSOR,
        1.0,
        "Expected a value of type 'Tensor' for argument 'x' but instead found type 'float'",
    ),
    (T.TENSOR, [1.0], "found type 'List[float]'"),
    (T.TENSOR, None, "found type 'None'"),
    (T.TENSOR, np.array(["a"]), "found type 'numpy.ndarray'"),
    (T.ListType(T.INT), [1, "a"], "found type 'List[Union[int, str]]': str at x[1]"),
    (T.DictType(T.STR, T.INT), {"a": None}, "found type 'Dict[str, None]': None at x['a']"),
    (T.TupleType((T.INT, T.INT)), (1, 2, 3), "found type 'Tuple[int, int, int]'"),
    (PAIR, (1, "x"), "Expected a value of type '__torch__.Pair'"),
    (T.INT, from_numpy(np.zeros(2, np.int64)), "found type 'Tensor'"),
    (POINT, ScriptObject(T.ClassType("__torch__.Other")), "found type '__torch__.Other'"),
]


@pytest.mark.parametrize("t, given, why", REFUSED)
def test_refused(t, given, why):
    with pytest.raises(RunError) as e:
        one(t, given)
    assert why in str(e.value)


SCHEMA = replace(
    parse_schema("f(Any self, Tensor x, int n=3, *, bool b=False) -> Tensor"), name="m.forward"
)
X = from_numpy(np.zeros(1))


def test_defaults_and_keywords():
    assert bind(SCHEMA, [0, X]) == [0, X, 3, False]
    assert bind(SCHEMA, [0], {"x": X, "b": True}) == [0, X, 3, True]


def test_a_default_list_is_fresh_in_every_call():
    schema = Schema("f", "", (Argument("x", T.ListType(T.INT), [1]),), ())
    bind(schema, [])[0].append(2)
    assert bind(schema, []) == [[1]]


@pytest.mark.parametrize(
    "args, kwargs, why",
    [
        ([0], {}, "forward() is missing value for argument 'x' (Tensor)"),
        ([0, X, 1, True, 5], {}, "forward() expected at most 2 arguments but received 4 arguments"),
        (
            [0, X],
            {"x": X},
            "Argument 'x' of forward() specified both as positional and keyword argument",
        ),
        ([0, X], {"y": 1}, "Unknown keyword argument 'y' for forward()"),
    ],
)
def test_wrong_calls(args, kwargs, why):
    with pytest.raises(RunError) as e:
        bind(SCHEMA, args, kwargs)
    assert why in str(e.value) and "m.forward(" in str(e.value)


@pytest.mark.oracle
def test_torch_tensors_are_shared():
    import torch

    x = torch.zeros(2, requires_grad=True)
    assert one(T.TENSOR, x).tolist() == [0, 0]
    assert one(T.TENSOR, torch.ones(2, dtype=torch.bfloat16)).tolist() == [1, 1]
