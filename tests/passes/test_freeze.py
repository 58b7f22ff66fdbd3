"""Freezing keeps what a module computes and leaves the module alone; the result is its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scriptlang.interpreter.python_engine import PythonEngine
from scriptlang.serialization.archive import read_archive

import scriptlang
from scriptlang import types as T
from scriptlang.ir import Function, schema_of_graph
from scriptlang.irverify import verify
from scriptlang.objects import ScriptObject
from scriptlang.passes.freeze import freeze
from tests.golden import parse
from tests.passes.running import plain

DATA = Path(__file__).resolve().parent.parent / "data"
ARCHIVES = sorted(p.name for p in DATA.glob("*.pt"))


def inputs_of(name: str) -> list:
    """The recorded inputs of an archive."""
    stored = np.load(DATA / name.replace(".pt", ".npz"))
    return [stored[k] for k in stored.files if k[0] == "i"]


def call(obj: ScriptObject, method: str, *args):
    return PythonEngine().run(obj.type.methods[method], [obj, *args])


def texts(obj: ScriptObject) -> dict[str, str]:
    return {name: str(f.graph) for name, f in obj.type.methods.items()}


@pytest.mark.parametrize("name", [n for n in ARCHIVES if not n.startswith("counter")])
def test_a_frozen_archive_gives_what_it_gave(name):
    module = read_archive(DATA / name).root
    inputs = inputs_of(name)
    assert inputs
    expected = plain(call(module, "forward", *inputs))
    frozen = freeze(module)
    graph = frozen.type.methods["forward"].graph
    verify(graph)
    assert plain(call(frozen, "forward", *inputs)) == expected
    assert not any(n.kind == "prim::GetAttr" for n in graph.walk())
    assert not frozen.type.attributes
    assert plain(call(module, "forward", *inputs)) == expected


@pytest.mark.parametrize("name", ARCHIVES)
def test_freezing_is_deterministic_and_idempotent(name):
    module = read_archive(DATA / name).root
    methods = [m for m in module.type.methods if m != "history"]
    before = texts(module)
    once = freeze(module, methods)
    assert texts(freeze(module, methods)) == texts(once)
    assert texts(freeze(once, methods)) == texts(once)
    assert texts(module) == before


def module_of(attributes: dict, **methods: str) -> ScriptObject:
    """A module with attributes (name -> (type, value)) and methods given as IR text."""
    cls = T.ClassType("__torch__.M", True, [T.Attribute(n, t) for n, (t, _) in attributes.items()])
    for name, text in methods.items():
        graph = parse(text.replace("SELF", "graph(%self : __torch__.M"))
        graph.inputs[0].type = cls
        cls.methods[name] = Function(name, schema_of_graph(name, graph), graph)
    return ScriptObject(cls, [value for _, value in attributes.values()])


def tensor(*values: float):
    return scriptlang.from_numpy(np.array(values, np.float32))


def kept(obj: ScriptObject) -> list[str]:
    return [a.name for a in obj.type.attributes]


def test_an_attribute_that_a_kept_method_sets_stays():
    module = module_of(
        {"n": (T.INT, 1), "k": (T.INT, 5)},
        forward="""SELF, %x : int):
  %n : int = prim::GetAttr[name="n"](%self)
  %k : int = prim::GetAttr[name="k"](%self)
  %a : int = aten::add(%x, %n)
  %b : int = aten::add(%a, %k)
  return (%b)
""",
        reset="""SELF, %x : int):
   = prim::SetAttr[name="n"](%self, %x)
  return (%x)
""",
    )
    both = freeze(module, ("forward", "reset"))
    assert kept(both) == ["n"]
    call(both, "reset", 10)
    assert call(both, "forward", 1) == 16 and call(module, "forward", 1) == 7
    assert kept(freeze(module)) == []


WRITER = """SELF, %x : Tensor):
  %w : Tensor = prim::GetAttr[name="w"](%self)
  %v : Tensor = prim::GetAttr[name="v"](%self)
  %u : Tensor = prim::GetAttr[name="u"](%self)
  %r : Tensor = aten::relu_(%w)
  %a : Tensor = aten::mul(%v, %u)
  %b : Tensor = aten::mul(%a, %r)
  return (%b)
"""


def test_a_tensor_that_is_written_stays_and_so_does_one_that_shares_its_storage():
    w = tensor(-1, 2)
    module = module_of(
        {
            "w": (T.TENSOR, w),
            "v": (T.TENSOR, scriptlang.from_numpy(w.numpy())),
            "u": (T.TENSOR, w.view([2])),
        },
        forward=WRITER,
    )
    assert module.get("u")._storage is w._storage
    frozen = freeze(module)
    assert "w" in kept(frozen) and "u" in kept(frozen)


def test_a_tensor_apart_from_the_one_that_is_written_is_folded():
    module = module_of({n: (T.TENSOR, tensor(-1, 2)) for n in "wvu"}, forward=WRITER)
    assert kept(freeze(module)) == ["w"]


def test_a_list_that_the_caller_gets_stays():
    module = module_of(
        {"l": (T.ListType(T.INT), [1, 2]), "m": (T.ListType(T.INT), [2, 1])},
        forward="""SELF, %x : Tensor):
  %l : int[] = prim::GetAttr[name="l"](%self)
  %m : int[] = prim::GetAttr[name="m"](%self)
  %v : Tensor = aten::view(%x, %m)
  %t : (Tensor, int[]) = prim::TupleConstruct(%v, %l)
  return (%t)
""",
    )
    assert kept(freeze(module)) == ["l"]


def test_tensors_in_a_list_are_folded_unless_one_is_written():
    text = """SELF, %x : Tensor):
  %l : Tensor[] = prim::GetAttr[name="l"](%self)
  %i : int = prim::Constant[value=0]()
  %w : Tensor = aten::__getitem__(%l, %i)
  %c : Tensor = aten::cat(%l, %i)
  %r : Tensor = aten::RELU(%w)
  %s : Tensor = aten::mul(%r, %x)
  %t : (Tensor, Tensor) = prim::TupleConstruct(%c, %s)
  return (%t)
"""
    attributes = {"l": (T.ListType(T.TENSOR), [tensor(-1, 2), tensor(3)])}
    for kind, names in (("relu", []), ("relu_", ["l"])):
        module = module_of(attributes, forward=text.replace("RELU", kind))
        frozen = freeze(module)
        assert kept(frozen) == names
        if names:
            continue
        assert plain(call(frozen, "forward", tensor(1, 1))) == plain(
            call(module, "forward", tensor(1, 1))
        )


def test_a_module_handed_to_unseen_code_keeps_everything():
    module = module_of(
        {"n": (T.INT, 1)},
        forward="""SELF, %x : int):
  %n : int = prim::GetAttr[name="n"](%self)
  %r : int = prim::CallMethod[name="unknown"](%self, %n)
  return (%r)
""",
    )
    assert kept(freeze(module)) == ["n"]


def test_what_a_constant_decides_goes():
    module = module_of(
        {"training": (T.BOOL, False), "bias": (T.optional(T.TENSOR), None)},
        forward="""SELF, %x : Tensor):
  %t : bool = prim::GetAttr[name="training"](%self)
  %bias : Tensor? = prim::GetAttr[name="bias"](%self)
  %none : NoneType = prim::Constant()
  %given : bool = aten::__isnot__(%bias, %none)
  %half : float = prim::Constant[value=0.5]()
  %d : Tensor = aten::dropout(%x, %half, %t)
  %r : Tensor = prim::If(%given)
    block0():
      %b : Tensor = prim::unchecked_cast(%bias)
      %s : Tensor = aten::mul(%d, %b)
      -> (%s)
    block1():
      -> (%d)
  return (%r)
""",
    )
    graph = freeze(module).type.methods["forward"].graph
    assert list(graph.nodes) == [] and graph.outputs == [graph.inputs[1]]
