"""An operator is added in one place: everything that should know of it knows.

Operators of each kind are declared in a family of the test, and asked for by those who go by facts.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scriptlang.interpreter import trial
from scriptlang.interpreter.engine import engine

import scriptlang
from scriptlang import types as T
from scriptlang.dtypes import float32
from scriptlang.ir import Function
from scriptlang.ops import table
from scriptlang.ops.derivatives import plans
from scriptlang.ops.table import composite, describe, primitive
from scriptlang.passes import (
    autocast,
    constant_propagation,
    cse,
    dce,
    effects,
    fusible,
    known_types,
    layouts,
    out_of_place,
)
from scriptlang.passes.alias import AliasAnalysis
from scriptlang.passes.shape_facts import TensorFacts
from scriptlang.passes.shapes import may_reshape, propagate
from scriptlang.tensors import Tensor
from tests.golden import parse

ROOT = Path(__file__).resolve().parents[2]
X = TensorFacts((2, 3), float32, 2)

FAMILY = """
import numpy as np
from scriptlang.ops.table import describe, primitive
from scriptlang.tensors import Tensor


@primitive("test::wave(Tensor self) -> Tensor", pointwise=True, fusible=True, keeps_type="any",
           layout="keeps", autocast="full")
def wave(self):
    return Tensor._wrap(np.sin(self._array))


for _type in ("int", "float"):
    primitive(f"test::twice.{_type}({_type} a) -> {_type}", total=True)(lambda a: a + a)
describe("test::twice.int", stores=(0, 0))
"""


def wave(self):
    return Tensor._wrap(np.sin(self._array))


def wave_in_place(self):
    self._array[...] = np.sin(self._array)
    return self


def noise(self):
    return Tensor._wrap(np.random.default_rng(1).normal(size=self._size).astype(np.float32))


def total_of(self, dim, keepdim):
    return Tensor._wrap(np.asarray(self._array.sum(axis=tuple(dim), keepdims=keepdim)))


def flat(self):
    self._array = self._array.reshape(-1)
    return self


def maybe_it(self):
    return self


def waves(self: Tensor) -> Tensor:
    return scriptlang.exp(scriptlang.exp(self))


@pytest.fixture(autouse=True)
def family(monkeypatch):
    """The operators of the test, in a table of their own."""
    table.load_families()  # kernels are declared once a process
    monkeypatch.setattr(table, "_operators", dict(table._operators))
    monkeypatch.setattr(table, "_described", dict(table._described))
    monkeypatch.setattr(effects, "NAMESPACES", (*effects.NAMESPACES, "test::"))
    primitive(
        "test::wave(Tensor self) -> Tensor",
        pointwise=True,
        fusible=True,
        keeps_type="any",
        layout="keeps",
        autocast="full",
    )(wave)
    primitive("test::wave_(Tensor(a!) self) -> Tensor(a!)")(wave_in_place)
    primitive("test::noise(Tensor self) -> Tensor", random=True, shape="like_first")(noise)
    primitive("test::total(Tensor self, int[] dim, bool keepdim) -> Tensor", shape="reduction")(
        total_of
    )
    primitive("test::flat_(Tensor(a!) self) -> Tensor(a!)", reshapes=True)(flat)
    primitive("test::maybe(Tensor self) -> Tensor", may_share=True)(maybe_it)
    primitive("test::note(Tensor self) -> ()", effect="ordered")(lambda self: None)
    primitive("test::tail(Tensor(a) self) -> Tensor(a)")(lambda self: self[1:])
    primitive("test::forget_(Tensor(a!) self) -> Tensor(a!)", unrecorded=True)(maybe_it)
    primitive("test::ask(Tensor self) -> ()", asks=True, effect="ordered")(lambda self: None)
    composite("test::waves(Tensor self) -> Tensor")(waves)
    yield


def graph_of(body: str, result: str = "y"):
    text = f"graph(%x : Tensor):\n{body}"
    return parse(f"{text}  return (%{result})\n")


def node_of(graph, kind: str):
    return next(n for n in graph.walk() if n.kind == kind)


WAVE = "  %y : Tensor = test::wave(%x)\n"
NOISE = "  %y : Tensor = test::noise(%x)\n"


def shape_of(graph):
    fact = propagate(graph, {graph.inputs[0]: X})[graph.outputs[0]]
    return fact.shape, fact.dtype


def test_shapes_know_it():
    assert shape_of(graph_of(WAVE)) == ((2, 3), float32)
    assert shape_of(graph_of(NOISE)) == ((2, 3), float32)
    assert shape_of(graph_of("  %y : Tensor = test::waves(%x)\n")) == ((2, 3), float32)
    reduction = graph_of(
        "  %d : int[] = prim::Constant[value=[1]]()\n"
        "  %k : bool = prim::Constant[value=1]()\n"
        "  %y : Tensor = test::total(%x, %d, %k)\n"
    )
    assert shape_of(reduction) == ((2, 1), float32)


def test_what_reshapes_its_argument_makes_its_shape_unknown():
    graph = graph_of("  %z : Tensor = test::flat_(%x)\n", "x")
    assert may_reshape(node_of(graph, "test::flat_"))
    fact = propagate(graph, {graph.inputs[0]: X})[graph.outputs[0]]
    assert not isinstance(fact, TensorFacts) or fact.shape is None
    assert not may_reshape(node_of(graph_of("  %y : Tensor = test::wave_(%x)\n"), "test::wave_"))


def test_groups_may_hold_it():
    assert fusible.is_fusible(node_of(graph_of(WAVE), "test::wave"))
    assert not fusible.is_fusible(node_of(graph_of(NOISE), "test::noise"))


def test_aliases_know_what_it_may_share():
    for kind, shares in (("maybe", True), ("tail", True), ("wave", False)):
        graph = graph_of(f"  %y : Tensor = test::{kind}(%x)\n")
        analysis = AliasAnalysis(graph)
        assert analysis.may_alias(graph.inputs[0], graph.outputs[0]) is shares


def test_writing_follows_from_the_schema():
    graph = graph_of("  %y : Tensor = test::wave_(%x)\n")
    assert AliasAnalysis(graph).is_written(graph.inputs[0])


def test_types_know_that_it_keeps_them():
    graph = graph_of(WAVE)
    node = node_of(graph, "test::wave")
    assert known_types.floating_type(graph.outputs[0]) is None
    with graph.at(node):
        ones = scriptlang.from_numpy(np.ones(2, np.float32))
        node.replace_input(0, graph.constant(ones, T.TENSOR, like=node))
    assert known_types.floating_type(graph.outputs[0]) is float32


def test_its_in_place_form_may_give_a_new_tensor():
    graph = graph_of("  %a : Tensor = aten::relu(%x)\n  %y : Tensor = test::wave_(%a)\n")
    assert out_of_place.run(graph) and node_of(graph, "test::wave")


def test_layouts_know_it():
    assert layouts.keeps_layout(node_of(graph_of(WAVE), "test::wave"))
    assert not layouts.hides_layout(node_of(graph_of(NOISE), "test::noise"))


def test_random_numbers_are_not_merged_dropped_or_folded():
    both = (
        "  %a : Tensor = test::{0}(%x)\n  %b : Tensor = test::{0}(%x)\n"
        "  %one : int = prim::Constant[value=1]()\n  %y : Tensor = aten::add(%a, %b, %one)\n"
    )
    assert cse.run(graph_of(both.format("wave"))) and not cse.run(graph_of(both.format("noise")))
    unused = "  %a : Tensor = test::{0}(%x)\n"
    assert dce.run(graph_of(unused.format("wave"), "x"))
    assert not dce.run(graph_of(unused.format("noise"), "x"))
    assert not dce.run(graph_of("   = test::note(%x)\n", "x"))
    assert trial.leaves_no_trace(graph_of(NOISE)) and effects.is_random(
        node_of(graph_of(NOISE), "test::noise")
    )
    assert not trial.leaves_no_trace(graph_of("   = test::note(%x)\n", "x"))


def test_constants_are_folded_through_it_but_not_through_random_numbers():
    for line, kind in ((WAVE, "wave"), (NOISE, "noise")):
        has_effect = effects.has_side_effects(node_of(graph_of(line), f"test::{kind}"))
        assert has_effect is (kind == "noise")
    numbers = (
        "graph():\n  %a : int = prim::Constant[value=3]()\n"
        "  %y : int = test::twice(%a)\n  return (%y)\n"
    )
    primitive("test::twice(int a) -> int", total=True)(lambda a: 2 * a)
    folded = parse(numbers)
    assert not effects.may_fail(node_of(folded, "test::twice"))
    assert constant_propagation.run(folded) and folded.outputs[0].constant == 6


def test_autocast_knows_it():
    graph = graph_of(WAVE)
    autocast._convert(node_of(graph, "test::wave"), 15)
    assert node_of(graph, "aten::_autocast_to_full_precision")


def test_it_runs():
    x = scriptlang.from_numpy(np.ones((2, 3), np.float32))
    for kind, wanted in (("wave", np.sin(1)), ("waves", np.exp(np.exp(1)))):
        graph = graph_of(f"  %y : Tensor = test::{kind}(%x)\n")
        result = engine("python").run(Function("f", None, graph=graph), [x])
        assert np.allclose(result.numpy(), wanted)


def test_the_lists_carry_its_facts(tmp_path):
    """A family in a file: the command lists its operators, with their facts."""
    (tmp_path / "family_of_the_test.py").write_text(FAMILY)
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import family_of_the_test as new\n"
        "from scriptlang.ops import lacking, table\n"
        "sys.modules['scriptlang.ops.families.family_of_the_test'] = new\n"
        "lines = [lacking.with_facts(op, 'family ' + op.kind)\n"
        "         for name in ('test::wave', 'test::twice')\n"
        "         for op in table.declared(name)]\n"
        "print('\\n'.join(lines))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wave, of_int, of_float = done.stdout.splitlines()
    assert wave == (
        "test::wave(Tensor self) -> Tensor  # family primitive pointwise "
        "keeps_type=any fusible layout=keeps autocast=full"
    )
    assert of_int.endswith("# family primitive total stores=0,0")
    assert of_float.endswith("# family primitive total")


def test_forms_have_what_holds_for_them():
    describe("test::wave.", random=True)
    form = table.Operator(
        "test::wave.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "form", told={}
    )
    assert form.form.kind == "out"  # for being pointwise: it converts
    facts = form.facts
    assert facts.pointwise and facts.autocast == "full" and not facts.fusible
    assert form.may_reshape and not table.find("test::wave_").may_reshape


def test_derivatives_know_what_is_about_them():
    assert isinstance(plans.plan_of(table.find("test::forget_")), plans.Through)
    assert not isinstance(plans.plan_of(table.find("test::wave_")), plans.Through)


def test_the_tables_of_the_native_engine_have_it(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "cpp_loader" / "tools"))
    import generate_ops_def

    names = ("wave", "wave_", "noise", "flat_", "maybe", "note", "forget_", "ask")
    operators = [table.find(f"test::{name}") for name in names]
    monkeypatch.setattr(table, "every_operator", lambda: operators)
    lines = generate_ops_def.facts_text().splitlines()
    rows = {line for line in lines if line.startswith("SL_")}
    assert rows == {
        'SL_ORDERED("test::ask")',
        'SL_ORDERED("test::note")',
        'SL_RANDOM("test::noise", -1)',
        'SL_SHARES("test::maybe")',
        'SL_RESHAPES("test::ask")',
        'SL_RESHAPES("test::flat_")',
        'SL_RESHAPES("test::forget_")',
        'SL_ASKS("test::ask")',
        'SL_OUT_OF_PLACE("test::wave_", "test::wave")',
    }
    assert 'SL_FUSIBLE("test::wave")' in generate_ops_def.fusible_text().splitlines()


def test_a_fact_that_there_is_not_is_refused():
    with pytest.raises(TypeError, match="no fact 'pointwize'"):
        primitive("test::other(Tensor self) -> Tensor", pointwize=True)(wave)
    with pytest.raises(TypeError, match="fact weight is a int"):
        describe("test::other", weight="first")
    describe("test::third", total=True)
    with pytest.raises(ValueError, match="described twice: total"):
        describe("test::third", total=True)
