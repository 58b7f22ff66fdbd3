"""Every rewrite rule is its own test: it fires on its own text, and the value stays to the bit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import scriptlang
from scriptlang import types as T
from scriptlang.ir import Graph
from scriptlang.irverify import verify
from scriptlang.passes import peephole
from scriptlang.rewrite import Rule, RuleSet, build, why_not
from tests.golden import parse
from tests.passes.running import plain, run_graph

VALUES = {
    T.INT: (0, 1, -1, 7, 2**62, -(2**63)),
    T.FLOAT: (0.0, -0.0, 1.0, -2.5, 1e300, float("inf"), float("nan")),
    T.BOOL: (True, False),
    T.STR: ("", "ab"),
    T.ANY: (1, 2.5, "a"),
}
"""What a variable may be in a test, by its type, where the rule does not say."""


def tensors():
    return [
        scriptlang.from_numpy(np.array(a, np.float32))
        for a in ([[1.0, -2.0, np.nan], [-0.0, 0.0, np.inf]], [[3.0]])
    ]


def samples(rule: Rule) -> list[tuple]:
    """Values for the variables of a rule, in the order of its parameters."""
    choices = [
        rule.samples.get(name) or (tensors() if t == T.TENSOR else VALUES[t])
        for name, (t, _) in rule.variables.items()
    ]
    return list(itertools.product(*choices))


def graph_of(rule: Rule, values: tuple) -> Graph:
    """A graph that returns `before`, its variables the inputs, of the types of the values."""
    graph = Graph()
    variables = {}
    for (name, (t, constant)), value in zip(rule.variables.items(), values):
        if t == T.ANY:
            from scriptlang.types import constant_type

            t = constant_type(value)
        variables[name] = (
            graph.constant(value, t) if constant else graph.block.add_parameter(t, name)
        )
    names = [T.ATOMS[t.annotation] for t in [next(iter(variables.values())).type]]
    graph.block.add_return(build(graph, rule.pattern, variables, peephole.schemas, names[0]))
    verify(graph)
    return graph


@pytest.mark.parametrize("rule", peephole.RULES.rules, ids=lambda rule: rule.name)
def test_a_rule_fires_and_keeps_the_value(rule):
    for values in samples(rule):
        graph = graph_of(rule, values)
        given = [v for v, (_, constant) in zip(values, rule.variables.values()) if not constant]
        before = plain(run_graph(graph, given))
        rewritten = graph.copy()
        guard = peephole.Guard(rewritten)
        root = rewritten.outputs[0].node
        why = why_not(rule, root, peephole.schemas, guard, fire=True)
        if why is not None and "code outside would see" in why:
            # Right here, where the result is returned: inside a program nothing sees it.
            guard = lambda match, existing: None
            why = why_not(rule, root, peephole.schemas, guard, fire=True)
        assert why is None, f"the rule does not fire on its own pattern: {why}"
        verify(rewritten)
        after = plain(run_graph(rewritten, given))
        assert after == before, f"of {values}, {rule.before} gives {before}, {rule.after} {after}"


def test_names_of_rules_are_unique():
    names = [rule.name for rule in peephole.RULES.rules]
    assert len(set(names)) == len(names)


def test_every_table_of_rules_is_in_use():
    """A table that no RuleSet has would be written for nothing."""
    tables = {
        name: value
        for name, value in vars(peephole).items()
        if isinstance(value, tuple) and value and all(isinstance(r, Rule) for r in value)
    }
    used = {rule.name for rule in (*peephole.RULES.rules, *peephole.UNRECORDED)}
    unused = [name for name, rules in tables.items() if {rule.name for rule in rules} - used]
    assert tables and not unused, f"RULES of scriptlang/passes/peephole.py lacks {unused}"


def test_no_rule_hides_another():
    """The first rule that matches fires, so a later one for the same is never asked."""
    first: dict[tuple[str, str], str] = {}
    for rule in peephole.RULES.rules:
        known = first.get((rule.before, rule.parameters))
        assert known is None, f"{rule.name} never fires: {known} has the same pattern"
        if rule.condition is None:
            first[rule.before, rule.parameters] = rule.name


def test_an_unknown_variable_is_named():
    with pytest.raises(ValueError, match="z is none of the variables x of the rule"):
        graph_of(Rule("wrong", "x: int", "aten.add(x, z)", "x"), (1,))


WHY = {
    "argument 'b' of aten::add is not the constant 0": (
        "add_zero",
        """graph(%x : int, %y : int):
  %r : int = aten::add(%x, %y)
  return (%r)
""",
    ),
    "x stands for two different values": (
        "sub_itself",
        """graph(%x : int, %y : int):
  %r : int = aten::sub(%x, %y)
  return (%r)
""",
    ),
    "argument 'self' of aten::mul has the type Tensor, not int": (
        "mul_one",
        """graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %r : Tensor = aten::mul(%x, %one)
  return (%r)
""",
    ),
    "int? may be None": (
        "is_none_never",
        """graph(%x : int?):
  %n : NoneType = prim::Constant()
  %r : bool = aten::__is__(%x, %n)
  return (%r)
""",
    ),
    "its memory is written": (
        "relu_of_relu",
        """graph(%x : Tensor):
  %y : Tensor = aten::relu(%x)
  %r : Tensor = aten::relu(%y)
  %w : Tensor = aten::neg_(%y)
  %s : Tensor = aten::neg(%r)
  return (%s)
""",
    ),
    "code outside would see": (
        "relu_of_relu",
        """graph(%x : Tensor):
  %y : Tensor = aten::relu(%x)
  %r : Tensor = aten::relu(%y)
  return (%y, %r)
""",
    ),
}


@pytest.mark.parametrize("reason", WHY)
def test_a_rule_that_does_not_fire_says_why(reason):
    name, text = WHY[reason]
    rule = next(r for r in peephole.RULES.rules if r.name == name)
    graph = parse(text)
    node = next(n for n in graph.nodes if n.outputs and n.output.name == "r")
    why = why_not(rule, node, peephole.schemas, peephole.Guard(graph))
    assert why is not None and reason in why
    before = str(graph)
    assert not RuleSet([rule]).apply(graph, peephole.schemas, peephole.Guard(graph))
    assert str(graph) == before


def test_defaults_of_a_pattern_are_those_of_the_schema():
    rule = Rule("t", "x: Tensor", "aten.add(x, 0)", "x")
    text = """graph(%x : Tensor):
  %zero : int = prim::Constant[value=0]()
  %alpha : int = prim::Constant[value=2]()
  %r : Tensor = aten::add(%x, %zero, %alpha)
  return (%r)
"""
    node = list(parse(text).nodes)[-1]
    assert rule.match(node) == "argument 'alpha' of aten::add is not its default"
    assert not isinstance(rule.match(list(parse(text.replace("=2", "=1")).nodes)[-1]), str)
