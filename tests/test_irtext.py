"""Graphs of real programs print and read back; PyTorch's own text of a graph reads, too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scriptlang.frontend.python.script import script_function
from scriptlang.serialization.archive import read_archive

from scriptlang import types as T
from scriptlang.ir import Graph
from scriptlang.irtext import parse_graph
from scriptlang.irverify import verify
from scriptlang.passes.pipeline import optimize
from tests.frontend import programs
from tests.golden import parse

DATA = Path(__file__).resolve().parent / "data"


def check_round_trip(graph: Graph) -> None:
    text = str(graph)
    again = parse(text)
    verify(again)
    assert str(again) == text


@pytest.mark.parametrize("name", sorted(p.name for p in DATA.glob("*.pt")))
def test_methods_of_archives_round_trip(name):
    for function in read_archive(DATA / name).root.type.methods.values():
        check_round_trip(function.graph)
        optimised = function.graph.copy()
        optimize(optimised)
        check_round_trip(optimised)


@pytest.mark.parametrize("name", sorted(p.name for p in DATA.glob("*.script.pt")))
def test_graphs_with_shapes_read_back(name):
    import scriptlang

    module = scriptlang.load(DATA / name, engine="python").eval()
    for optimized in (False, True):
        first = ["s0,3,height,w"] if name.startswith("resnet") else ["int64[s0,s1]"]
        shaped = scriptlang.inspect(module, first, optimized=optimized)
        again = parse(str(shaped))
        assert str(again).count("scriptlang::") == str(shaped.graph).count("scriptlang::")
        assert [str(v.type) for n in again.walk() for v in n.outputs] == [
            str(v.type) for n in shaped.graph.walk() for v in n.outputs
        ]


def test_sizes_of_every_form_read_back():
    text = """graph(%x : Float(1, s0, s0+2, 2*s0, (s1+1)//2, -s0+3, s0*(s1//2), 3*((s0+1)//2)+1),
      %y : Double(*),
      %z : Long()):
  return (%x)
"""
    assert [str(v.type) for v in parse(text).inputs] == ["Tensor"] * 3


@pytest.mark.parametrize("function", [f for f, _ in programs.RUNS], ids=lambda f: f.__name__)
def test_programs_round_trip(function):
    check_round_trip(script_function(function).graph)


def renumbered(text: str) -> str:
    """The text with values numbered by appearance, without places and details of tensors."""
    names: dict[str, str] = {}
    text = re.sub(r" *#.*|, scope: \S+", "", text)
    text = re.sub(r"\b(Float|Long|Int|Double|Bool)\([^()]*\)", "Tensor", text)
    return re.sub(r"%[\w.]+", lambda m: names.setdefault(m[0], f"%{len(names)}"), text).strip()


@pytest.mark.oracle
@pytest.mark.parametrize("function", [f for f, _ in programs.RUNS], ids=lambda f: f.__name__)
def test_text_of_pytorch_reads_and_prints_alike(function):
    import torch

    try:
        text = str(torch.jit.script(function).graph)
    except Exception:
        pytest.skip("PyTorch does not compile it")
    assert renumbered(str(parse(text))) == renumbered(text)


@pytest.mark.oracle
def test_text_of_a_pytorch_module_and_trace_reads_and_prints_alike():
    import torch

    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.Dropout())
    traced = torch.jit.trace(module.eval(), torch.zeros(2, 3))
    for graph in (torch.jit.script(module).inlined_graph, traced.graph, traced.inlined_graph):
        assert renumbered(str(parse(str(graph)))) == renumbered(str(graph))


def test_reading_a_text_leaves_classes_that_are_known_as_they_are():
    """Another class of the same name got the attributes that the text names."""
    known = T.ClassType("__torch__.M", is_module=True)
    text = """graph(%self : __torch__.M):
  %x : Tensor = prim::GetAttr[name="weight"](%self)
  return (%x)
"""
    parse_graph(text, resolve={"__torch__.M": known}.get)
    assert known.attributes == []
