"""Overload resolution: which candidate a call means, and which conversions it needs."""

from __future__ import annotations

import pytest
from scriptlang.frontend.overloads.matching import Mismatch, try_match

from scriptlang import types as T
from scriptlang.schema import parse_schema
from scriptlang.type_variables import bind_variables

ADD = [
    parse_schema(text)
    for text in (
        "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
        "aten::add.t(t[] a, t[] b) -> t[]",
        "aten::add.int(int a, int b) -> int",
        "aten::add.float(float a, float b) -> float",
        "aten::add.int_float(int a, float b) -> float",
    )
]


def first(schemas, *types, **kwargs):
    """Overload and result type of the first candidate that fits, in two rounds."""
    shapes = [(t, False) for t in types]
    named = {n: (t, False) for n, t in kwargs.items()}
    for implicit in (False, True):
        for schema in schemas:
            try:
                match = try_match(schema, shapes, named, None, implicit)
            except Mismatch:
                continue
            return schema.overload, match.returns[0]
    return None


@pytest.mark.parametrize(
    "types, wanted",
    [
        ((T.TENSOR, T.TENSOR), ("Tensor", T.TENSOR)),
        ((T.TENSOR, T.INT), ("Scalar", T.TENSOR)),
        ((T.TENSOR, T.FLOAT), ("Scalar", T.TENSOR)),
        ((T.INT, T.INT), ("int", T.INT)),
        ((T.INT, T.FLOAT), ("int_float", T.FLOAT)),
        ((T.INT, T.TENSOR), ("int", T.INT)),  # Tensor to int in the second round
        ((T.ListType(T.STR), T.ListType(T.STR)), ("t", T.ListType(T.STR))),
        ((T.ListType(T.STR), T.ListType(T.INT)), None),
        ((T.BOOL, T.INT), ("int", T.INT)),
        ((T.STR, T.INT), None),
    ],
)
def test_overloads(types, wanted):
    assert first(ADD, *types) == wanted


def test_a_number_is_repeated_for_a_sized_list():
    schema = parse_schema("aten::pool(Tensor self, int[2] size, int[2] stride=[]) -> Tensor")
    match = try_match(schema, [(T.TENSOR, False), (T.INT, False)], {}, None, False)
    assert match.slots[1].step.kind == "repeat" and match.slots[1].step.count == 2


def test_rest_becomes_a_list():
    schema = parse_schema("aten::zeros(int[] size, *, ScalarType? dtype=None) -> Tensor")
    match = try_match(schema, [(T.INT, False)] * 3, {"dtype": (T.INT, False)}, None, False)
    assert len(match.slots[0].gathered) == 3 and match.slots[1].source == "dtype"


def test_a_tuple_of_one_type_is_a_list():
    schema = parse_schema("aten::cat(Tensor[] tensors, int dim=0) -> Tensor")
    pair = T.TupleType((T.TENSOR, T.TENSOR))
    assert try_match(schema, [(pair, False)], {}, None, False).slots[0].step.kind == "tuple_to_list"
    mixed = T.TupleType((T.TENSOR, T.INT))
    with pytest.raises(Mismatch):
        try_match(schema, [(mixed, False)], {}, None, True)


def test_optional_binds_its_variable():
    schema = parse_schema("aten::_unwrap_optional(t(a)? optional) -> t(a)")
    match = try_match(schema, [(T.OptionalType(T.STR), False)], {}, None, False)
    assert match.returns == (T.STR,)


@pytest.mark.parametrize(
    "kwargs, why", [({"other": T.INT}, "specified twice"), ({"beta": T.INT}, "beta unknown")]
)
def test_keywords(kwargs, why):
    named = {n: (t, False) for n, t in kwargs.items()}
    with pytest.raises(Mismatch, match=why):
        try_match(ADD[1], [(T.TENSOR, False), (T.INT, False)], named, None, True)


def test_variables_of_dicts():
    variables = {}
    formal = parse_schema("aten::values.str(Dict(str, t) self) -> t[]").arguments[0].type
    assert bind_variables(formal, T.DictType(T.STR, T.FLOAT), variables) is None
    assert variables == {"t": T.FLOAT}
    assert bind_variables(formal, T.ListType(T.INT), {}) is not None
