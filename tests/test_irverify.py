"""The verifier of the IR: every constraint refuses a graph that breaks it, and says why."""

from __future__ import annotations

import enum

import pytest

import scriptlang
from scriptlang import types as T
from scriptlang.errors import GraphError
from scriptlang.ir import Graph, schema_of_graph
from scriptlang.irtext import parse_graph
from scriptlang.irverify import KINDS, verify
from scriptlang.ops import table
from scriptlang.schema import Schema


def read(text: str) -> Graph:
    """A graph of a text; an operator that fits none of its overloads gets the first."""
    graph = parse_graph(text, overloads=schemas)
    for node in graph.walk():
        if node.schema is None and node.kind not in KINDS:
            node.schema = next(iter(schemas(node.kind)), None)
    return graph


def schemas(kind: str) -> list[Schema]:
    return [o.schema for o in table.overloads(kind)]


class Colour(enum.Enum):
    RED = "red"


BROKEN = {
    # Operators
    "an operand of another type": (
        "graph(%x : str):\n  %y : Tensor = aten::relu(%x)\n  return (%y)",
        "argument `self` of aten::relu.* is str",
    ),
    "a type variable that is two types": (
        """graph(%x : int[], %y : str):
  %z : int[] = aten::append(%x, %y)
  return (%z)""",
        "argument `el` of aten::append.* is str",
    ),
    "too few operands": (
        "graph(%x : Tensor):\n  %y : Tensor = aten::matmul(%x)\n  return (%y)",
        "1 inputs for aten::matmul",
    ),
    "too many operands": (
        "graph(%x : Tensor):\n  %y : int = prim::dtype(%x, %x)\n  return (%y)",
        "2 inputs for prim::dtype",
    ),
    "a result of another type": (
        "graph(%x : Tensor):\n  %y : str = aten::relu(%x)\n  return (%y)",
        "output 0 of aten::relu.* is str",
    ),
    "too many results": (
        "graph(%x : Tensor):\n  %y : Tensor, %z : Tensor = aten::relu(%x)\n  return (%y)",
        "2 outputs for aten::relu",
    ),
    # Constants
    "a constant of something": (
        "graph(%x : int):\n  %y : int = prim::Constant[value=1](%x)\n  return (%y)",
        "1 inputs where 0 belong",
    ),
    "a constant of two results": (
        "graph():\n  %y : int, %z : int = prim::Constant[value=1]()\n  return (%y)",
        "2 outputs where 1 belong",
    ),
    "something uninitialised of something": (
        "graph(%x : int):\n  %y : int = prim::Uninitialized(%x)\n  return (%y)",
        "1 inputs where 0 belong",
    ),
    # Control flow
    "a condition that is no bool": (
        """graph(%x : int):
  %y : int = prim::If(%x)
    block0():
      -> (%x)
    block1():
      -> (%x)
  return (%y)""",
        "input 0 is int, not bool",
    ),
    "an If of one block": (
        """graph(%c : bool, %x : int):
  %y : int = prim::If(%c)
    block0():
      -> (%x)
  return (%y)""",
        "1 blocks where 2 belong",
    ),
    "a branch of another type": (
        """graph(%c : bool, %x : int, %s : str):
  %y : int = prim::If(%c)
    block0():
      -> (%x)
    block1():
      -> (%s)
  return (%y)""",
        "branch: .* is no int",
    ),
    "a branch that returns nothing": (
        """graph(%c : bool, %x : int):
  %y : int = prim::If(%c)
    block0():
      -> (%x)
    block1():
      -> ()
  return (%y)""",
        "branch: 0 values for 1",
    ),
    "a branch with parameters": (
        """graph(%c : bool, %x : int):
  %y : int = prim::If(%c)
    block0(%p : int):
      -> (%p)
    block1():
      -> (%x)
  return (%y)""",
        "a branch has parameters",
    ),
    "a trip count that is no int": (
        """graph(%n : float, %c : bool):
   = prim::Loop(%n, %c)
    block0(%i : int):
      -> (%c)
  return (%c)""",
        "input 0 is float, not int",
    ),
    "a loop without a trip number": (
        """graph(%n : int, %c : bool):
   = prim::Loop(%n, %c)
    block0():
      -> (%c)
  return (%c)""",
        "the int trip number",
    ),
    "a loop without a condition": (
        """graph(%n : int, %c : bool):
   = prim::Loop(%n, %c)
    block0(%i : int):
      -> (%i)
  return (%c)""",
        "the bool condition",
    ),
    "a loop that starts with another type": (
        """graph(%n : int, %c : bool, %s : str):
  %y : int = prim::Loop(%n, %c, %s)
    block0(%i : int, %k : int):
      -> (%c, %k)
  return (%y)""",
        "carried into the loop: .* is no int",
    ),
    "a loop that goes on with another type": (
        """graph(%n : int, %c : bool, %s : str):
  %y : int = prim::Loop(%n, %c, %n)
    block0(%i : int, %k : int):
      -> (%c, %s)
  return (%y)""",
        "carried around the loop: .* is no int",
    ),
    "a loop that ends with another type": (
        """graph(%n : int, %c : bool):
  %y : str = prim::Loop(%n, %c, %n)
    block0(%i : int, %k : int):
      -> (%c, %k)
  return (%y)""",
        "carried out of the loop: .* is no str",
    ),
    # Containers
    "a list of something else": (
        "graph(%x : str):\n  %y : int[] = prim::ListConstruct(%x)\n  return (%y)",
        "element: .* is no int",
    ),
    "a list that is a tuple": (
        "graph(%x : int):\n  %y : (int) = prim::ListConstruct(%x)\n  return (%y)",
        "output 0 is Tuple.int., not a list type",
    ),
    "a dict without its last value": (
        "graph(%x : str):\n  %y : Dict(str, int) = prim::DictConstruct(%x)\n  return (%y)",
        "keys and values by turns",
    ),
    "a dict of something else": (
        "graph(%x : str):\n  %y : Dict(str, int) = prim::DictConstruct(%x, %x)\n  return (%y)",
        "entry: .* is no int",
    ),
    "a tuple of something else": (
        "graph(%x : str):\n  %y : (int) = prim::TupleConstruct(%x)\n  return (%y)",
        "element: .* is no int",
    ),
    "a part of a tuple that is another": (
        "graph(%x : (int, str)):\n  %y : str, %z : str = prim::TupleUnpack(%x)\n  return (%y)",
        "element: .* is no int",
    ),
    "parts of what is no tuple": (
        "graph(%x : int[]):\n  %y : int = prim::TupleUnpack(%x)\n  return (%y)",
        "input 0 is List.int., not a tuple type",
    ),
    "a slice of what is no tuple": (
        "graph(%x : int[]):\n  %y : (int) = prim::TupleSlice[beg=0, end=1](%x)\n  return (%y)",
        "input 0 is List.int., not a tuple type",
    ),
    "a slice without an end": (
        "graph(%x : (int)):\n  %y : (int) = prim::TupleSlice[beg=0](%x)\n  return (%y)",
        "there is no attribute `end`",
    ),
    "an element of a list that is another": (
        "graph(%x : int[]):\n  %y : str = prim::ListUnpack(%x)\n  return (%y)",
        "element: .* is no int",
    ),
    # Objects
    "an attribute of what is no object": (
        'graph(%x : int):\n  %y : int = prim::GetAttr[name="a"](%x)\n  return (%y)',
        "input 0 is int, not a class type",
    ),
    "an attribute of another type": (
        """graph(%x : __torch__.M):
  %y : int = prim::GetAttr[name="a"](%x)
  %z : str = prim::GetAttr[name="a"](%x)
  return (%y)""",
        "the attribute is int, the output str",
    ),
    "a value of another type that is stored": (
        """graph(%x : __torch__.M, %s : str):
  %y : int = prim::GetAttr[name="a"](%x)
   = prim::SetAttr[name="a"](%x, %s)
  return (%y)""",
        "stored: .* is no int",
    ),
    "an object that is none": (
        "graph():\n  %y : int = prim::CreateObject()\n  return (%y)",
        "output 0 is int, not a class type",
    ),
    "a method of what is no object": (
        'graph(%x : int):\n  %y : int = prim::CallMethod[name="f"](%x)\n  return (%y)',
        "input 0 is int, not a class or an interface",
    ),
    "a function that nobody named": (
        "graph(%x : int):\n  %y : int = prim::CallFunction(%x)\n  return (%y)",
        "there is no attribute `function`",
    ),
    "a test of types that are not told": (
        "graph(%x : Any):\n  %y : bool = prim::isinstance(%x)\n  return (%y)",
        "there is no attribute `types`",
    ),
    "a cast of two values": (
        "graph(%x : Any):\n  %y : int = prim::unchecked_cast(%x, %x)\n  return (%y)",
        "2 inputs where 1 belong",
    ),
    "the name of what is no member": (
        "graph(%x : int):\n  %y : str = prim::EnumName(%x)\n  return (%y)",
        "input 0 is int, not an enum type",
    ),
    "the value of what is no member": (
        "graph(%x : int):\n  %y : int = prim::EnumValue(%x)\n  return (%y)",
        "input 0 is int, not an enum type",
    ),
    # Graphs inside
    "a fork of nothing": (
        "graph(%x : int):\n  %y : Future[int] = prim::fork(%x)\n  return (%y)",
        "neither a block nor a Subgraph",
    ),
    "a fork that takes something else": (
        """graph(%x : str):
  %y : Future[int] = prim::fork_0(%x)
  return (%y)
with prim::fork_0 = graph(%x : int):
  return (%x)""",
        "argument: .* is no int",
    ),
    "an awaitable that gives something else": (
        """graph(%x : int):
  %y : Await[str] = prim::awaitable_0(%x)
  return (%y)
with prim::awaitable_0 = graph(%x : int):
  return (%x)""",
        "result: .* is no str",
    ),
    "a group of nothing": (
        "graph(%x : Tensor):\n  %y : Tensor = scriptlang::fused_pointwise(%x)\n  return (%y)",
        "there is no attribute `Subgraph`",
    ),
    "a group with a broken node": (
        """graph(%x : Tensor):
  %y : Tensor = scriptlang::fused_pointwise_0(%x)
  return (%y)
with scriptlang::fused_pointwise_0 = graph(%x : Tensor):
  %y : str = aten::relu(%x)
  return (%x)""",
        "output 0 of aten::relu.* is str",
    ),
    "a group that gives something else": (
        """graph(%x : Tensor):
  %y : Tensor = scriptlang::fused_pointwise_0(%x)
  return (%y)
with scriptlang::fused_pointwise_0 = graph(%x : Tensor):
  %y : str = prim::Constant[value="a"]()
  return (%y)""",
        "result: .* is no Tensor",
    ),
}
"""What is broken -> a graph, and what the verifier says."""


@pytest.mark.parametrize("what", BROKEN)
def test_it_says_what_is_broken(what):
    text, why = BROKEN[what]
    with pytest.raises(GraphError, match=why):
        verify(read(text))


def test_every_kind_has_a_graph_that_breaks_it():
    texts = "\n".join(text for text, _ in BROKEN.values())
    assert [kind for kind in KINDS if kind not in texts] == []


def test_a_call_has_the_types_of_its_function():
    graph = read("""graph(%x : int):
  %f : Function = prim::Constant[name="__torch__.f"]()
  %y : int = prim::CallFunction(%f, %x)
  return (%y)""")
    verify(graph)  # nothing is known of the function
    call = next(n for n in graph.nodes if n.kind == "prim::CallFunction")
    inner = read("graph(%x : str):\n  %y : int = aten::len(%x)\n  return (%y)")
    call.attributes["function"].schema = schema_of_graph("f", inner)
    with pytest.raises(GraphError, match="argument of f: .* is no str"):
        verify(graph)


def test_an_enum_gives_its_own_values():
    @scriptlang.script
    def f(c: Colour):
        return c.value

    verify(f.graph.ir)
    node = next(n for n in f.graph.ir.walk() if n.kind == "prim::EnumValue")
    node.output.type = T.INT
    with pytest.raises(GraphError, match="the values are str, not int"):
        verify(f.graph.ir)
