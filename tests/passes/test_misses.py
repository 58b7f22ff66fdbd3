"""The log says why a rule or a fusion does not apply where its first operator is."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scriptlang.interpreter import native

import scriptlang
from scriptlang import Tensor, logs, nn
from scriptlang.ir import Graph
from scriptlang.passes import (
    batch_linears,
    fold_batch_norm,
    fuse,
    fuse_expansion,
    fuse_pointwise,
    layouts,
    numeric_padding,
    out_of_place,
    peephole,
)
from scriptlang.rewrite import Rule, RuleSet, build
from tests import children
from tests.golden import parse

needs_native = pytest.mark.skipif(bool(native.why_absent()), reason="no native engine is built")
FULL = {"misses": frozenset({"misses"}), "": frozenset()}


@pytest.fixture
def said(capsys, monkeypatch):
    """Runs a pass with the log on; what the log says."""

    def run(work, graph: Graph, topic: str = "misses") -> str:
        monkeypatch.setattr(logs, "topics", FULL[topic])
        work(graph)
        return capsys.readouterr().err

    return run


@pytest.mark.parametrize("rule", peephole.RULES.rules, ids=lambda rule: rule.name)
def test_each_rule_says_why_it_does_not_apply(rule, said):
    """Every rule meets its own operator, with a condition that never holds."""
    graph = Graph()
    variables = {}
    for name, (t, constant) in rule.variables.items():
        value = (rule.samples.get(name) or (None,))[0]
        variables[name] = (
            graph.constant(1 if value is None else value, t)
            if constant
            else graph.block.add_parameter(t, name)
        )
    kind = next(iter(variables.values())).type
    graph.block.add_return(build(graph, rule.pattern, variables, peephole.schemas, kind))
    never = Rule(rule.name, rule.parameters, rule.before, rule.after, lambda m: "never", rule.gives)
    guard = lambda match, existing: None
    text = said(lambda g: RuleSet([never]).apply(g, peephole.schemas, guard), graph)
    assert f"{rule.name} does not apply at {rule.kind} (unknown): never\n" in text


def known(text: str, **constants) -> Graph:
    """A graph whose inputs of those names are constants."""
    graph = parse(text)
    for i, value in reversed(list(enumerate(graph.inputs))):
        if value.name in constants:
            with graph.at(next(graph.nodes)):
                constant = graph.constant(constants[value.name], value.type)
            value.replace_all_uses_with(constant)
            graph.block.start.remove_output(i)
    return graph


def zeros(*sizes: int) -> scriptlang.Tensor:
    return scriptlang.from_numpy(np.zeros(sizes, np.float32))


LINEAR = """graph(%x : Tensor, %w : Tensor, %b : Tensor, %v : Tensor):
  %y : Tensor = aten::linear(%x, %w, %b)
  {}
"""
CONVOLUTION = """graph(%x : Tensor, %w : Tensor, %b : Tensor):
  %one : int = prim::Constant[value=1]()
  %ones : int[] = prim::Constant[value=[1, 1]]()
  %none : int[] = prim::Constant[value=[0, 0]]()
  %y : Tensor = aten::conv2d(%x, %w, %b, %ones, %none, %ones, %one)
  {}
"""
NORM = """graph(%x : Tensor, %w : Tensor, %b : Tensor, %m : Tensor, %s : Tensor):
  %one : int = prim::Constant[value=1]()
  %ones : int[] = prim::Constant[value=[1, 1]]()
  %none : int[] = prim::Constant[value=[0, 0]]()
  %yes : bool = prim::Constant[value=1]()
  %no : bool = prim::Constant[value=0]()
  %eps : float = prim::Constant[value=0.1]()
  %y : Tensor = aten::conv2d(%x, %w, %b, %ones, %none, %ones, %one)
  %z : Tensor = aten::batch_norm(%y, %m, %m, %m, %s, {}, %eps, %eps, %no)
  return (%z{})
"""

W, B = {"w": zeros(4, 4)}, {"b": zeros(4)}
IMAGE = {"w": zeros(4, 3, 3, 3), "b": zeros(4)}
STATISTICS = {**IMAGE, "m": zeros(4), "s": zeros(4)}

CASES = [
    (
        fuse,
        known(LINEAR.format("return (%y)")),
        "fuse",
        "argument 'weight' of aten::linear is not a constant",
    ),
    (
        fuse,
        known(LINEAR.format("return (%y)"), **W),
        "fuse",
        "argument 'bias' of aten::linear is not a constant",
    ),
    (
        fuse,
        known(LINEAR.format("%z : Tensor = aten::relu(%y)\n  return (%y, %z)"), **W, **B),
        "taking in what follows",
        "another operator uses the value too",
    ),
    (
        fuse,
        known(LINEAR.format("%z : Tensor = aten::sin(%y)\n  return (%z)"), **W, **B),
        "taking in what follows",
        "aten::sin is no sum or activation that a layer takes in",
    ),
    (
        fuse,
        known(LINEAR.format("%z : Tensor = aten::relu_(%y)\n  return (%z)"), **W, **B),
        "fuse",
        "its memory is written",
    ),
    (
        fuse,
        known(CONVOLUTION.format("return (%y)"), w=zeros(4, 3, 3), b=zeros(4)),
        "fuse",
        "argument 'weight' of aten::conv2d has 3 dimensions, not 4",
    ),
    (
        fold_batch_norm,
        known(NORM.format("%yes", ""), **STATISTICS),
        "fold_batch_norm",
        "argument 'training' of aten::batch_norm is not False",
    ),
    (
        fold_batch_norm,
        known(NORM.format("%no", ", %y"), **STATISTICS),
        "fold_batch_norm",
        "another operator uses the value too",
    ),
    (
        fold_batch_norm,
        known(NORM.format("%no", ""), **{**STATISTICS, "m": zeros(5), "s": zeros(5)}),
        "fold_batch_norm",
        "5 channels are normed, and 4 made",
    ),
    (
        batch_linears,
        known(LINEAR.format("return (%y)"), w=zeros(256, 128), b=zeros(256)),
        "batch_linears",
        "no other layer of its kind has its input",
    ),
    (
        batch_linears,
        known(LINEAR.format("return (%y)"), **W, **B),
        "batch_linears",
        "its weight has 16 elements; it pays for 16384 to 262144",
    ),
    (
        out_of_place,
        parse("graph(%x : Tensor):\n  %y : Tensor = aten::relu_(%x)\n  return (%y)\n"),
        "out_of_place",
        "what it writes comes in from outside",
    ),
    (
        fuse_pointwise,
        parse("graph(%x : Tensor):\n  %y : Tensor = aten::exp(%x)\n  return (%y)\n"),
        "fuse_pointwise",
        "no neighbour can be in a group with it",
    ),
    (
        numeric_padding,
        parse("""graph(%x : Tensor, %w : Tensor, %b : Tensor):
  %one : int = prim::Constant[value=1]()
  %ones : int[] = prim::Constant[value=[1, 1]]()
  %same : str = prim::Constant[value="same"]()
  %y : Tensor = aten::conv2d(%x, %w, %b, %ones, %same, %ones, %one)
  return (%y)
"""),
        "numeric_padding",
        "argument 'weight' of aten::conv2d is not a constant",
    ),
]


@pytest.mark.parametrize("work, graph, name, why", CASES, ids=[f"{c[2]}-{c[3]}" for c in CASES])
def test_a_fusion_says_why_it_does_not_apply(work, graph, name, why, said):
    text = said(work.run, graph.copy())
    assert f"misses: {name} does not apply at aten::" in text and f": {why}\n" in text
    assert not said(work.run, graph.copy(), "")


def test_what_is_fused_says_why_not_its_next_step(said):
    graph = known(CONVOLUTION.format("%z : Tensor = aten::relu(%y)\n  return (%z)"), **IMAGE)
    assert "does not apply" not in said(fuse.run, graph)
    text = said(lambda g: (layouts.run(g), fuse_expansion.run(g)), graph)
    assert "layouts does not apply" in text and "no operator that uses its result can" in text
    assert "it is no depthwise convolution: each group has 3 channels" in text


def test_a_line_is_said_once_for_a_graph(said):
    graph = known(LINEAR.format("return (%y)"))
    assert said(lambda g: (fuse.run(g), fuse.run(g)), graph).count("fuse does not apply") == 1
    assert "fuse does not apply" in said(fuse.run, graph.copy())


def test_the_place_is_that_of_the_source_and_of_the_call(said, capsys):
    class Model(nn.Module):
        def forward(self, x, w):
            return nn.functional.linear(x, w)

    frozen = scriptlang.jit.script(Model().eval())
    logs_of = said(lambda _: scriptlang.jit.optimize_for_inference(frozen), Graph())
    line = next(line for line in logs_of.splitlines() if "misses: fuse " in line)
    assert "test_misses.py:" in line and line.endswith("'weight' of aten::linear is not a constant")


def test_a_convolution_of_a_scripted_module_is_fused(said):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).eval()
    frozen = scriptlang.jit.script(model)
    text = said(lambda _: scriptlang.jit.optimize_for_inference(frozen), Graph())
    assert "misses: fuse does not apply" not in text and "taking in what follows" not in text


class Groups(nn.Module):
    """Methods whose operators the native engine would like to put into groups."""

    def alone(self, x: Tensor) -> Tensor:
        return scriptlang.exp(x)

    def forward(self, x: Tensor) -> Tensor:
        return scriptlang.matmul(self.alone(x), x)

    @scriptlang.jit.export
    def named(self, x: Tensor, kind: str) -> Tensor:
        y = scriptlang.tanh(scriptlang.sigmoid(x))
        return scriptlang.matmul(nn.functional.gelu(y, approximate=kind), y)

    @scriptlang.jit.export
    def between(self, x: Tensor) -> Tensor:
        a = scriptlang.exp(x)
        return scriptlang.add(scriptlang.matmul(a, x), scriptlang.tanh(a))

    @scriptlang.jit.export
    def written(self, x: Tensor) -> Tensor:
        return scriptlang.tanh(x.relu_()).exp()

    @scriptlang.jit.export
    def fused(self, x: Tensor) -> Tensor:
        return scriptlang.tanh(scriptlang.exp(x))


CALL = """
import sys
import scriptlang

model = scriptlang.load(sys.argv[1], engine="native")
with scriptlang.no_grad():
    getattr(model, sys.argv[2])(scriptlang.ones(2, 2), *sys.argv[3:])
"""

GROUPS = {
    "forward": [
        "make_groups does not apply at aten::exp",
        "no neighbour can be in a group with it",
    ],
    "named": [
        "make_groups does not apply at aten::gelu",
        "argument 'approximate' of aten::gelu has the type str, and is no constant number",
    ],
    "between": [
        "make_groups with what makes its inputs does not apply at aten::add",
        "something has to run in between",
    ],
    "written": [
        "out_of_place does not apply at aten::relu_",
        "what it writes comes in from outside of its block",
    ],
}


@pytest.fixture(scope="module")
def native_lines(tmp_path_factory):
    """What the native engine says of its groups while it compiles a method."""
    path = tmp_path_factory.mktemp("groups") / "groups.pt"
    scriptlang.script(Groups().eval()).save(path)

    def lines(method: str, *given: str, log: str = "misses") -> list[str]:
        done = children.run(
            *("-c", CALL, path, method, *given),
            variables={"SCRIPTLANG_LOG": log},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return [line for line in done.stderr.splitlines() if line.startswith("scriptlang misses: ")]

    return lines


@needs_native
@pytest.mark.parametrize("method", GROUPS)
def test_the_native_engine_says_why_an_operator_is_in_no_group(method, native_lines):
    what, why = GROUPS[method]
    lines = native_lines(method, *["tanh"] * (method == "named"))
    (line,) = (line for line in lines if what in line and line.endswith(why))
    place = re.search(r" \((.*)\): ", line).group(1)
    assert re.fullmatch(r"\S+\.py:\d+:\d+(, called at \S+\.py:\d+:\d+)?", place)
    assert ("called at" in place) == (method == "forward")


@needs_native
def test_the_native_engine_says_nothing_of_what_it_groups(native_lines):
    assert not [line for line in native_lines("fused") if "make_groups" in line]
    assert not native_lines("forward", log="rules")
    assert native_lines("forward", log="engines, misses")
