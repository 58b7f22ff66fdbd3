"""All spellings of an annotation give the same type."""

from __future__ import annotations

import ast
import typing
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import pytest
from scriptlang.frontend.syntax.annotations import type_of_object, type_of_syntax

import scriptlang
from scriptlang import types as T
from scriptlang.errors import CompileError, RunError
from scriptlang.source import Source, Span


class Pair(NamedTuple):
    a: int
    b: float


SPELLINGS = [
    (T.INT, ["int"]),
    (T.TENSOR, ["Tensor", "torch.Tensor", "scriptlang.Tensor", "'Tensor'"]),
    (
        T.ListType(T.INT),
        ["List[int]", "list[int]", "typing.List[int]", "'List[int]'", "List['int']"],
    ),
    (T.DictType(T.STR, T.TENSOR), ["Dict[str, Tensor]", "dict[str, torch.Tensor]"]),
    (
        T.OptionalType(T.INT),
        ["Optional[int]", "int | None", "None | int", "Union[int, None]", "typing.Optional[int]"],
    ),
    (T.UnionType((T.INT, T.STR)), ["Union[int, str]", "int | str", "str | int"]),
    (T.TupleType((T.INT, T.STR)), ["Tuple[int, str]", "tuple[int, str]"]),
    (T.TupleType(()), ["Tuple[()]"]),
    (T.ANY, ["Any", "typing.Any"]),
    (T.NONE, ["None", "NoneType"]),
    (T.DEVICE, ["torch.device", "Device"]),
    (T.INT, ["torch.dtype"]),
    (T.ListType(T.OptionalType(T.TENSOR)), ["List[Optional[Tensor]]", "list[Tensor | None]"]),
    (T.FutureType(T.INT), ["Future[int]", "torch.jit.Future[int]"]),
    (T.ListType(T.INT), ["BroadcastingList2[int]"]),
]


def read(text: str) -> T.Type:
    place = Span(Source(text), 0, len(text))
    return type_of_syntax(
        ast.parse(text, mode="eval").body, lambda node: place, lambda name, node: None
    )


@pytest.mark.parametrize("wanted, text", [(t, s) for t, texts in SPELLINGS for s in texts])
def test_syntax(wanted, text):
    assert read(text) == wanted


@pytest.mark.parametrize(
    "obj, wanted",
    [
        (int, T.INT),
        (None, T.NONE),
        (List[int], T.ListType(T.INT)),
        (list[int], T.ListType(T.INT)),
        (Optional[str], T.OptionalType(T.STR)),
        (int | None, T.OptionalType(T.INT)),
        (Union[int, str, None], T.UnionType((T.INT, T.STR, T.NONE))),
        (Any, T.ANY),
        (Dict[str, List[float]], T.DictType(T.STR, T.ListType(T.FLOAT))),
        (Tuple[int, bool], T.TupleType((T.INT, T.BOOL))),
        (typing.Annotated[int, "x"], T.INT),
    ],
)
def test_objects(obj, wanted):
    assert type_of_object(obj, lambda cls: None) == wanted


@pytest.mark.parametrize(
    "text, message",
    [
        ("List", "without a contained type"),
        ("Tuple[int, ...]", "any length"),
        ("Foo", "Unknown type name 'Foo'"),
        ("3", "not a type"),
        ("int[str]", "takes no type arguments"),
        ("Dict[str]", "wrong number"),
        ("'List['", "not a type"),
        ("f()", "not a type"),
    ],
)
def test_refusals(text, message):
    with pytest.raises(CompileError, match=message.replace("(", r"\(")):
        read(text)


def test_named_tuple():
    from scriptlang.frontend.python.classes import type_of_class

    type = type_of_class(Pair)
    assert type.fields == ("a", "b") and type.elements == (T.INT, T.FLOAT)
    assert type_of_object(Optional[Pair], type_of_class) == T.OptionalType(type)


def masked(x: scriptlang.Tensor, mask: scriptlang.Tensor = None, times: int = 2):
    if mask is not None:
        x = x + mask
    return x * times


def test_none_as_the_default_of_a_tensor_has_to_be_given():
    f, one = scriptlang.script(masked), scriptlang.ones(2)
    assert f(one, one).tolist() == [4, 4] and f(one, mask=one, times=1).tolist() == [2, 2]
    with pytest.raises(RunError, match=r"missing value for argument 'mask' \(Tensor\)"):
        f(one)
