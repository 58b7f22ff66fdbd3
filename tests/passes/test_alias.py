"""What the alias analysis knows, on graphs written as text."""

from __future__ import annotations

import pytest

from scriptlang.passes.alias import AliasAnalysis
from tests.golden import parse


class Laid:
    """A graph with its analysis; values and the nodes that make them by name."""

    def __init__(self, text: str):
        self.graph = parse(text)
        self.analysis = AliasAnalysis(self.graph)
        self.values = {v.name: v for v in self.graph.inputs}
        for node in self.graph.walk():
            for v in (*node.outputs, *(p for b in node.blocks for p in b.parameters)):
                self.values[v.name] = v

    def __getitem__(self, name):
        return self.values[name]

    def may_alias(self, a, b):
        return self.analysis.may_alias(self[a], self[b])

    def may_contain_alias(self, a, b):
        return self.analysis.may_contain_alias([self[a]], [self[b]])

    def is_written(self, name):
        return self.analysis.is_written(self[name])

    def may_move_before(self, a, b):
        return self.analysis.may_move_before(self[a].node, self[b].node)

    def may_move_after(self, a, b):
        return self.analysis.may_move_after(self[a].node, self[b].node)


def test_views_share_and_fresh_results_do_not():
    g = Laid("""graph(%x : Tensor, %z : Tensor, %n : int):
  %v : Tensor = aten::transpose(%x, %n, %n)
  %w : Tensor = aten::select(%v, %n, %n)
  %f : Tensor = aten::relu(%x)
  %g : Tensor = aten::relu(%x)
  return (%w, %f)
""")
    assert g.may_alias("x", "w") and g.may_alias("v", "w")
    assert g.may_alias("x", "z"), "a caller may pass one tensor twice"
    assert not g.may_alias("x", "f") and not g.may_alias("f", "g")
    assert not g.is_written("x")


def test_a_write_through_a_view_writes_the_base():
    g = Laid("""graph(%a : Tensor, %n : int):
  %x : Tensor = aten::relu(%a)
  %y : Tensor = aten::relu(%a)
  %v : Tensor = aten::select(%x, %n, %n)
  %r : Tensor = aten::relu_(%v)
  %before : Tensor = aten::neg(%y)
  %after : Tensor = aten::neg(%x)
  return (%after, %before)
""")
    assert g.is_written("x") and g.is_written("v") and g.may_alias("r", "x")
    assert not g.is_written("y") and not g.is_written("a")
    assert not g.may_move_before("after", "r")
    assert g.may_move_before("before", "r")
    assert not g.may_move_after("v", "r"), "the write needs the view"


def test_a_tuple_keeps_its_elements_apart():
    g = Laid("""graph(%a : Tensor, %n : int):
  %x : Tensor = aten::relu(%a)
  %y : Tensor = aten::relu(%a)
  %t : (Tensor, Tensor) = prim::TupleConstruct(%x, %y)
  %p : Tensor, %q : Tensor = prim::TupleUnpack(%t)
  return (%a)
""")
    assert g.may_alias("p", "x") and g.may_alias("q", "y")
    assert not g.may_alias("p", "y") and not g.may_alias("p", "q")
    assert g.may_contain_alias("t", "x") and not g.may_alias("t", "x")


LISTS = """graph(%a : Tensor, %n : int, %given : Tensor[]):
  %x : Tensor = aten::relu(%a)
  %y : Tensor = aten::relu(%a)
  %z : Tensor = aten::relu(%a)
  %l : Tensor[] = prim::ListConstruct(%x)
  %m : Tensor[] = aten::append(%l, %y)
  %e : Tensor = aten::__getitem__(%l, %n)
  %c : Tensor[] = aten::list(%l)
  %k : Tensor[] = aten::append(%given, %z)
  %o : Tensor = aten::__getitem__(%given, %n)
  %s : Tensor = aten::cat(%l, %n)
  %parts : Tensor[] = aten::split(%x, %n, %n)
  %part : Tensor = aten::__getitem__(%parts, %n)
  return (%n)
"""


def test_what_goes_into_a_list_may_come_out():
    g = Laid(LISTS)
    assert g.may_alias("e", "x") and g.may_alias("e", "y") and not g.may_alias("e", "z")
    assert g.may_alias("l", "m") and not g.may_alias("l", "c")
    assert g.may_contain_alias("c", "y"), "a copy of a list holds the same tensors"
    assert not g.may_alias("s", "x"), "cat copies"
    assert g.may_alias("part", "x") and not g.may_alias("part", "y")


def test_what_goes_into_a_list_from_outside_is_outside():
    g = Laid(LISTS)
    assert g.may_alias("o", "z") and g.may_alias("a", "z") and not g.may_alias("a", "x")
    assert g.analysis.escapes(g["z"]) and not g.analysis.escapes(g["y"])


def test_attributes_hold_what_was_set():
    g = Laid("""graph(%self : __torch__.M, %a : Tensor):
  %x : Tensor = aten::relu(%a)
  %y : Tensor = aten::relu(%a)
  %old : Tensor = prim::GetAttr[name="w"](%self)
   = prim::SetAttr[name="w"](%self, %x)
  %new : Tensor = prim::GetAttr[name="w"](%self)
  %c : __torch__.C = prim::CreateObject()
   = prim::SetAttr[name="v"](%c, %y)
  %own : Tensor = prim::GetAttr[name="v"](%c)
  return (%new)
""")
    assert g.may_alias("new", "x") and g.may_alias("new", "a")
    assert not g.may_move_before("new", "old"), "the attribute is set in between"
    assert g.may_alias("own", "y") and not g.may_alias("own", "x") and not g.may_alias("y", "a")


def test_loops_and_branches_carry_memory():
    g = Laid("""graph(%a : Tensor, %n : int, %c : bool):
  %x : Tensor = aten::relu(%a)
  %y : Tensor = aten::relu(%a)
  %z : Tensor = aten::relu(%a)
  %p : Tensor, %q : Tensor = prim::Loop(%n, %c, %x, %y)
    block0(%i : int, %p1 : Tensor, %q1 : Tensor):
      -> (%c, %q1, %p1)
  %r : Tensor = prim::If(%c)
    block0():
      -> (%z)
    block1():
      %w : Tensor = aten::relu_(%p)
      -> (%w)
  return (%n)
""")
    assert g.may_alias("p", "x") and g.may_alias("p", "y") and g.may_alias("p1", "q1")
    assert g.may_alias("r", "z") and g.may_alias("r", "y") and not g.may_alias("p", "z")
    assert g.is_written("x") and not g.is_written("a")


@pytest.mark.parametrize(
    "kind, wrong",
    [
        ('prim::CallMethod[name="f"]', "a call"),
        ("prim::fork", "a fork"),
        ("mylib::custom", "an operator of another library"),
    ],
)
def test_code_that_is_not_seen_may_do_anything(kind, wrong):
    g = Laid(
        f"""graph(%self : __torch__.M, %a : Tensor):
  %x : Tensor = aten::relu(%a)
  %y : Tensor = aten::relu(%a)
  %r : Tensor = {kind}(%self, %x)
  %b : Tensor = aten::neg(%x)
  %c : Tensor = aten::neg(%y)
  return (%n)
""".replace("(%n)", "(%c)")
    )
    assert g.may_alias("r", "x") and g.may_alias("r", "a"), wrong
    assert g.is_written("x") and g.is_written("a") and not g.is_written("y")
    assert not g.may_move_before("b", "r") and g.may_move_before("c", "r")


def test_effects_keep_their_order():
    g = Laid("""graph(%x : Tensor):
  %n : NoneType = prim::Constant()
  %a : Tensor = aten::bernoulli(%x, %n)
  %b : Tensor = aten::bernoulli(%x, %n)
  %c : Tensor = aten::relu(%x)
  return (%c)
""")
    assert not g.may_move_before("b", "a") and g.may_move_before("c", "a")


def test_any_may_be_any_memory():
    g = Laid("""graph(%u : Any, %a : Tensor, %l : int[]):
  %x : Tensor = aten::relu(%a)
  %v : Tensor = prim::unchecked_cast(%u)
  return (%x)
""")
    assert g.may_alias("u", "a") and g.may_alias("u", "l") and g.may_alias("v", "a")
    assert not g.may_alias("u", "x")


def test_dropout_may_give_its_input():
    g = Laid("""graph(%a : Tensor, %p : float, %t : bool):
  %x : Tensor = aten::relu(%a)
  %d : Tensor = aten::dropout(%x, %p, %t)
  return (%d)
""")
    assert g.may_alias("d", "x")


def test_a_value_that_came_later_may_be_anything():
    g = Laid("""graph(%a : Tensor):
  %x : Tensor = aten::relu(%a)
  %y : Tensor = aten::relu(%a)
  %r : Tensor = aten::relu_(%x)
  return (%r)
""")
    with g.graph.at(g["r"].node):
        new = g.graph.insert("aten::neg", [g["y"]], [g["y"].type]).output
    assert g.analysis.is_written(new) and g.analysis.may_alias(new, g["y"])
    assert g.analysis.escapes(new)
    g.analysis.stands_for(new, g["y"])
    assert not g.analysis.is_written(new) and not g.analysis.may_alias(new, g["x"])


def test_a_merged_value_escapes_where_the_other_did():
    g = Laid("""graph(%a : Tensor):
  %x : Tensor = aten::relu(%a)
  %y : Tensor = aten::relu(%a)
  return (%y)
""")
    assert not g.analysis.escapes(g["x"])
    g.analysis.merge(g["x"], g["y"])
    assert g.analysis.escapes(g["x"])
