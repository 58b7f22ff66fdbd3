"""The graph, its verifier, and its text in both directions."""

from __future__ import annotations

import pytest

from scriptlang import types as T
from scriptlang.errors import GraphError
from scriptlang.ir import Function, Graph
from scriptlang.irtext import Opaque, parse_graph, unique_names
from scriptlang.irverify import verify
from tests.golden import parse

GRAPHS = {
    "loops and branches": """\
graph(%x.1 : Tensor,
      %n : int,
      %d : Dict(str, int),
      %o : Tensor?,
      %e : (int, int?)[]):
  %5 : bool = prim::Constant[value=1]() # m.py:3:4
  %two : int = prim::Constant[value=2]()
  %x : Tensor, %s : int = prim::Loop(%n, %5, %x.1, %two) # m.py:4:4
    block0(%i : int, %y : Tensor, %t : int):
      %12 : bool = aten::eq(%i, %two) # m.py:5:7
      %z : Tensor = prim::If(%12)
        block0():
          %14 : Tensor = aten::mul(%y, %y)
          -> (%14)
        block1():
           = prim::Print(%t)
          -> (%y)
      -> (%5, %z, %t)
  return (%x, %s)
""",
    "constants": """\
graph():
  %0 : float = prim::Constant[value=0.10000000000000001]()
  %1 : float = prim::Constant[value=-0.]()
  %2 : float = prim::Constant[value=inf]()
  %3 : float = prim::Constant[value=1e+22]()
  %4 : complex = prim::Constant[value=0.+2.j]()
  %5 : complex = prim::Constant[value=-1.5-infj]()
  %6 : str = prim::Constant[value="he\\"l\\n\\'lo \\\\ \\001 é"]()
  %7 : NoneType = prim::Constant()
  %8 : (int, str, bool, NoneType) = prim::Constant[value=(1, "a", True, None)]()
  %9 : int[] = prim::Constant[value=[1, -2]]()
  %10 : Dict(str, float[]) = prim::Constant[value={"a": [1., 2.5], "b": []}]()
  %11 : Tensor = prim::Constant[value={2.5}]()
  %12 : Tensor = prim::Constant[value=<Tensor>]()
  %13 : Device = prim::Constant[value="cpu"]()
  %14 : (int) = prim::Constant[value=(1,)]()
  %15 : int? = prim::Constant()
  return (%0)
""",
    "objects and calls": """\
graph(%self : __torch__.M,
      %u : Union(int, str),
      %f : Future[int],
      %e : Enum<__torch__.E>):
  %w : Tensor = prim::GetAttr[name="w"](%self)
  %5 : NamedTuple(a : int, b : Tensor) = prim::CallMethod[name="g"](%self, %w)
  %6 : Function = prim::Constant[name="__torch__.f"]()
  %7 : Tensor = prim::CallFunction(%6, %w)
  %8 : bool = prim::isinstance[types=[int, Tensor?, (int, str)]](%u)
   = prim::SetAttr[name="w"](%self, %7)
  return (%8)
""",
}


@pytest.mark.parametrize("name", GRAPHS)
def test_text_reads_back_as_it_was(name):
    graph = parse_graph(GRAPHS[name])
    verify(graph)
    assert str(graph) == GRAPHS[name]
    assert str(graph.copy()) == GRAPHS[name]


def test_what_pytorch_prints_beyond_ours_is_read():
    graph = parse_graph("""
graph(%self.1 : __torch__.torch.nn.___torch_mangle_1.Linear, # a remark
      %a : Float(2, 2, strides=[2, 1], requires_grad=0, device=cpu)):
  %3 : Long(requires_grad=0, device=cpu) = prim::Constant[value={1}](), scope: m.0 # m.py:57:0
  %4 : Float(*, 2) = aten::add.Tensor(%a, %3), scope: __module.0
  return (%4)
""")
    assert [v.type for v in graph.outputs] == [T.TENSOR]
    constant, add = graph.nodes
    assert constant.span.place == "m.py:57:0"
    assert constant.attributes["value"] == Opaque("{1}", T.TENSOR)
    assert add.kind == "aten::add"


def test_a_graph_inside_an_attribute_prints_after_it_and_reads_back():
    inner = parse_graph("graph(%x : int):\n  return (%x)\n")
    graph = Graph()
    x = graph.block.add_parameter(T.INT, "x")
    fork = graph.insert("prim::fork", [x], [T.FutureType(T.INT)], attributes={"Subgraph": inner})
    graph.block.add_return(fork.output)
    assert (
        str(graph)
        == """\
graph(%x : int):
  %1 : Future[int] = prim::fork_0(%x)
  return (%1)
with prim::fork_0 = graph(%x : int):
  return (%x)
"""
    )
    assert str(parse_graph(str(graph))) == str(graph)


def test_one_name_is_one_class_and_one_function():
    graph = parse_graph(GRAPHS["objects and calls"])
    call = next(n for n in graph.nodes if n.kind == "prim::CallFunction")
    assert isinstance(call.attributes["function"], Function)
    assert graph.inputs[0].type.slot("w") == 0


def test_overloads_are_found_by_the_types_of_inputs():
    graph = parse("""graph(%x : Tensor, %n : int, %l : str[]):
  %a : Tensor = aten::add(%x, %x, %n)
  %b : Tensor = aten::add(%x, %n, %n)
  %c : int = aten::add(%n, %n)
  %d : str = aten::__getitem__(%l, %n)
  return (%c)
""")
    assert [n.qualified_name for n in graph.nodes] == [
        "aten::add.Tensor",
        "aten::add.Scalar",
        "aten::add.int",
        "aten::__getitem__.t",
    ]


@pytest.mark.parametrize(
    "text, line",
    [
        ("graph(%x : int):\n  %y : int = aten::neg(%z)\n  return (%y)", "line 2"),
        ("graph(%x : int):\n  %y : int aten::neg(%x)\n  return (%y)", "line 2"),
        ("graph(%x : int):\n  return (%x", "line"),
        ("graph(%x : Foo(int)):\n  return (%x)", "line 1"),
    ],
)
def test_text_that_cannot_be_read_is_an_error_with_its_line(text, line):
    with pytest.raises(GraphError, match=line):
        parse_graph(text)


def test_the_last_of_equal_names_keeps_it():
    assert unique_names(["x", "", "x", "x.1", "y", "x"]) == ["x.2", "1", "x.3", "x.1", "y", "x"]
    assert unique_names(["a.1", "7", "a b"]) == ["a.1", "1", "a_b"]


def test_many_equal_names_are_numbered_in_linear_time():
    assert len(set(unique_names(["x"] * 20_000))) == 20_000


def broken(change) -> Graph:
    graph = parse_graph(GRAPHS["loops and branches"])
    change(graph)
    return graph


def _nodes(graph, kind):
    return next(n for n in graph.walk() if n.kind == kind)


BREAKS = {
    "dominate": lambda g: g.block.end.replace_input(0, _nodes(g, "aten::mul").output),
    "type of a result": lambda g: setattr(_nodes(g, "prim::If").outputs[0], "type", T.INT),
    "carried": lambda g: _nodes(g, "prim::Loop").remove_input(3),
    "condition": lambda g: _nodes(g, "prim::If").replace_input(0, g.inputs[1]),
    "use list": lambda g: g.inputs[0].uses.clear(),
    "owner": lambda g: setattr(_nodes(g, "prim::If").blocks[0], "owner", None),
    "links": lambda g: setattr(_nodes(g, "aten::mul"), "block", g.block),
    "constant": lambda g: _nodes(g, "prim::Constant").attributes.clear(),
}


@pytest.mark.parametrize("what", BREAKS)
def test_the_verifier_finds(what):
    with pytest.raises(GraphError):
        verify(broken(BREAKS[what]))


def test_a_node_that_is_used_cannot_be_destroyed():
    graph = parse_graph(GRAPHS["loops and branches"])
    with pytest.raises(GraphError, match="still used"):
        _nodes(graph, "aten::mul").destroy()
