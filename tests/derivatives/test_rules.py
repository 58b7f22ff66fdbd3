"""Every rule is read, names operators that there are, and is a program of the language."""

from __future__ import annotations

import pytest
from scriptlang.frontend.python.derivatives import compile_expression

from scriptlang import types as T
from scriptlang.ops import table
from scriptlang.ops.derivatives import rules
from scriptlang.ops.derivatives.forward import way


def operators() -> list[tuple[str, str]]:
    """(family, qualified name) of every operator with a rule of its own."""
    return [(family, name) for family in rules.families() for name in rules.blocks_of(family)]


def find(name: str) -> table.Operator:
    bare, _, overload = name.partition(".")
    op = table.find(bare, overload)
    assert op is not None and op.kind in ("primitive", "composite", "form"), name
    return op


def is_gradient(type: T.Type) -> bool:
    """Whether a value of the type may be what one input gets."""
    if isinstance(type, (T.OptionalType, T.ListType)):
        return is_gradient(type.element)
    return type in (T.TENSOR, T.NONE)


@pytest.mark.parametrize(("family", "name"), operators(), ids=lambda text: text)
def test_a_rule_is_a_program(family, name):
    op = find(name)
    rule = rules.rule_of(op)
    assert rule is not None and rule.name.removesuffix(rule.operator.overload), name
    for expression in filter(None, [*rule.gradients, rule.instead]):
        assert callable(expression.function)
        result = compile_expression(expression).graph.block.returns[0].type
        if expression is rule.instead:
            continue
        if len(expression.inputs) == 1:
            assert is_gradient(result), f"{expression}: {result}"
        else:
            assert isinstance(result, T.TupleType), f"{expression}: {result}"
            assert len(result.elements) == len(expression.inputs), f"{expression}: {result}"
            assert all(map(is_gradient, result.elements)), f"{expression}: {result}"


def told_forward() -> list[tuple[str, str]]:
    return [
        (family, name)
        for family, name in operators()
        if any(text.startswith("forward") for text, _ in rules.blocks_of(family)[name].lines)
    ]


@pytest.mark.parametrize(("family", "name"), told_forward(), ids=lambda text: text)
def test_what_is_told_forward_is_a_program(family, name):
    rule = rules.rule_of(find(name))
    assert rule is not None and rule.forward
    returns = rule.operator.schema.returns
    for _, how in rule.forward:
        if isinstance(how, str):
            assert how in rules.KINDS
            continue
        assert callable(how.function)
        result = compile_expression(how).graph.block.returns[0].type
        parts = result.elements if isinstance(result, T.TupleType) else (result,)
        assert len(parts) <= len(returns), f"{how}: {result}"
        assert all(map(is_gradient, parts)), f"{how}: {result}"


def test_how_tangents_go_on():
    ways = {
        "mul.Tensor": "rule",
        "mul_.Tensor": "rule",
        "mm.": "rule",
        "linalg_svd.": "twice",
        "one_hot.": "none",
        "prelu.": "body",
        "cosine_similarity.": "body",
    }
    assert ways == {name: way(find(f"aten::{name}".removesuffix("."))) for name in ways}


@pytest.mark.parametrize(("family", "name"), operators(), ids=lambda text: text)
def test_a_rule_is_found_where_its_operator_is_declared(family, name):
    rule = rules.rule_of(find(name))
    assert rule is not None
    block = rules.blocks_of(family)[name]
    places = [e.place for e in filter(None, [*rule.gradients, rule.instead])]
    assert rule.is_none or set(places) <= {place for _, place in block.lines}


def test_forms_follow():
    base = rules.rule_of(table.find("aten::mul", "Tensor"))
    assert base and rules.rule_of(table.find("aten::mul_", "Tensor")) is base
    assert rules.rule_of(table.find("aten::mul", "out")) is base


BAD = [
    ("mul\n  self: grad\n", "file.txt:1: mul is no `name.overload`"),
    ("  self: grad\n", "file.txt:1: a line of no operator"),
    ("mul.Tensor\n", "file.txt:1: mul.Tensor has no lines"),
    ("mul.Tensor\n  self: grad\nmul.Tensor\n  none\n", "file.txt:3: mul.Tensor has two rules"),
    ("mul.Tensor\n     self: grad\n", "file.txt:2: lines of an operator are indented by two"),
]


@pytest.mark.parametrize(("text", "error"), BAD)
def test_a_bad_text_is_refused(text, error):
    with pytest.raises(rules.RuleError) as found:
        list(rules.read_blocks(text, "file.txt"))
    assert str(found.value).startswith(error)


BAD_RULES = [
    ("self grad", "2: expected `inputs: expression`, `instead:` or `none`"),
    ("me: grad", "2: aten::mul.Tensor has no argument me"),
    ("self: grad *", "2: invalid syntax"),
    ("self: grad * you", "2: you is no argument, result or gradient of aten::mul.Tensor"),
    ("self: grad\n  self: grad", "3: aten::mul.Tensor has two lines for self"),
    ("none\n  self: grad", "1: aten::mul.Tensor has either gradients of inputs, `instead:`"),
    ("self: grad\n  forward me: tangent", "3: aten::mul.Tensor has no argument me"),
    ("self: grad\n  forward self: grad", "3: grad is no argument, result or gradient of"),
    ("self: tangent", "2: tangent is no argument, result or gradient of aten::mul.Tensor"),
    ("self, other: f()\n  forward: pointwise", "2: f is no argument, result or gradient of"),
    (
        "self, other: (grad, grad)\n  forward: pointwise",
        "3: pointwise: the gradient of each input has its own line",
    ),
]


@pytest.mark.parametrize(("text", "error"), BAD_RULES)
def test_a_bad_rule_is_refused(text, error):
    [(name, block)] = rules.read_blocks(f"mul.Tensor\n  {text}\n", "file.txt")
    with pytest.raises(rules.RuleError) as found:
        rules.Rule(find(name), "arithmetic", block)
    assert str(found.value).startswith("file.txt:" + error)


def test_an_argument_that_holds_no_tensor_is_refused():
    [(name, block)] = rules.read_blocks("sum.dim_IntList\n  dim: grad\n", "file.txt")
    with pytest.raises(rules.RuleError, match="argument dim of aten::sum.dim_IntList is no tensor"):
        rules.Rule(find(name), "reduce", block)


def test_lines_go_on():
    text = "mul.Tensor\n  self: (grad *\n    other)\n  # a comment\n  other: grad\n"
    [(name, block)] = rules.read_blocks(text, "file.txt")
    assert name == "aten::mul.Tensor"
    assert block.lines == (("self: (grad *\nother)", "file.txt:2"), ("other: grad", "file.txt:5"))
