"""Schemas: the reader by hand agrees with the grammar, on every operator of PyTorch."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import scriptlang
from scriptlang import type_text
from scriptlang import types as T
from scriptlang.ops import table
from scriptlang.schema import (
    CONSTANTS,
    NO_DEFAULT,
    Alias,
    Argument,
    Schema,
    SchemaSyntaxError,
    parse_schema,
    split_name,
)

FOLDER = Path(scriptlang.__file__).parent


@cache
def grammar():
    lark = pytest.importorskip("lark")
    return lark.Lark((FOLDER / "schema.lark").read_text(), parser="lalr", start="schema")


def texts() -> list[str]:
    lacking = [text for texts in table.lacking().values() for text in texts]
    return lacking + [o.text for o in table.all_operators()]


def from_grammar(text: str) -> Schema:
    """The schema that the grammar's tree says."""
    name, *items, returns = grammar().parse(text).children
    arguments, keyword_only, more = [], False, False
    for item in filter(None, items):
        if item.data == "keywords":
            keyword_only = True
        elif item.data == "more":
            more = True
        else:
            type, name_, default = item.children
            t, alias, size = read_type(type)
            value = NO_DEFAULT if default is None else read_default(default, t)
            arguments.append(Argument(str(name_), t, value, keyword_only, alias, size))
    return Schema(
        *split_name(text),
        tuple(arguments),
        tuple(read_returns(returns)),
        more,
        returns.data == "varret",
    )


def read_returns(tree) -> list[Argument]:
    if tree.data == "varret" or not tree.children or tree.children == [None]:
        return []
    if tree.children[0].data == "results":
        pairs = [r.children for r in tree.children[0].children if r is not None]
    else:
        pairs = [tree.children]
    found = []
    for type, name in pairs:
        t, alias, size = read_type(type)
        found.append(Argument(str(name or ""), t, alias=alias, size=size))
    return found


def read_type(tree) -> tuple[T.Type, Alias | None, int | None]:
    """(type, alias set, fixed list size): of the outermost that has one."""
    kind, children = tree.data, tree.children
    if kind == "named_type":
        name = str(children[0])
        return (
            type_text.SPELLINGS.get(name)
            or T.ATOMS.get(name)
            or (T.ClassType(name) if name.startswith("__torch__") else T.VarType(name)),
            None,
            None,
        )
    if kind == "generic_type":
        return (
            type_text.GENERICS[str(children[0])](*(read_type(c)[0] for c in children[1:])),
            None,
            None,
        )
    if kind == "tuple_type":
        return T.TupleType(tuple(read_type(c)[0] for c in children if c)), None, None
    inner, alias, size = read_type(children[0])
    if kind == "optional_type":
        return T.optional(inner), alias, size
    if kind == "list_type":
        return T.ListType(inner), alias, int(children[1]) if children[1] else None
    before, after = read_sets(children[1].children[0]), children[1].children[1]
    return inner, Alias(before[0], read_sets(after)[0] if after else before[0], before[1]), size


def read_sets(tree) -> tuple[frozenset[str], bool]:
    names = [str(c.children[0]) for c in tree.children if hasattr(c, "data")]
    return frozenset(names), any(c is not None and not hasattr(c, "data") for c in tree.children)


def read_default(tree, t: T.Type):
    if hasattr(tree, "data"):
        while isinstance(t, (T.ListType, T.OptionalType)):
            t = t.element
        return [read_default(c, t) for c in tree.children if c is not None]
    text = str(tree)
    if tree.type == "STRING":
        return text[1:-1].encode().decode("unicode_escape")
    if tree.type == "IDENTIFIER":
        return CONSTANTS[text]
    value = (
        complex(text)
        if text.endswith("j")
        else float(text)
        if "." in text or "e" in text
        else int(text)
    )
    return float(value) if T.without_none(t) == T.FLOAT else value


def comparable(schema: Schema) -> tuple:
    """A schema with classes, which compare by identity, as text, and NaN as text."""

    def one(a: Argument) -> tuple:
        return a.name, a.type.annotation, repr(a.default), a.kwarg_only, a.alias, a.size

    return (
        schema.name,
        schema.overload,
        tuple(map(one, schema.arguments)),
        tuple(map(one, schema.returns)),
        schema.is_vararg,
        schema.is_varret,
    )


def test_every_schema_reads_the_same_by_hand_and_by_grammar():
    differing = [t for t in texts() if comparable(parse_schema(t)) != comparable(from_grammar(t))]
    assert len(texts()) > 3500
    assert not differing, differing[:5]


def test_every_schema_prints_as_what_reads_back():
    for text in texts():
        schema = parse_schema(text)
        assert comparable(parse_schema(str(schema))) == comparable(schema), text


@pytest.mark.parametrize(
    "text",
    [
        "aten::relu(Tensor self",
        "aten::relu(Tensor self) ->",
        "aten::relu(Tensr self) -> Tensor",
        "aten::relu(Tensor self) -> Tensor Tensor x",
        "aten::f(int x=foo) -> int",
        "aten::f(Tensor(a self) -> int",
    ],
)
def test_a_bad_schema_is_refused_with_its_text(text):
    with pytest.raises(SchemaSyntaxError) as e:
        parse_schema(text)
    assert text.strip() in str(e.value)


def test_alias_sets_are_read():
    s = parse_schema(
        "aten::split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]"
    )
    assert s.arguments[0].alias == Alias(frozenset("a"), frozenset("*"))
    assert s.returns[0].type == T.ListType(T.TENSOR) and not s.is_mutable
    assert parse_schema("aten::relu_(Tensor(a!) self) -> Tensor(a!)").is_mutable
