"""load -> save -> load is the identity; what is saved, PyTorch loads and runs to the same
results.
"""

import io
import warnings

import numpy as np
import pytest
from scriptlang.serialization.archive import read_archive, write_archive

from scriptlang import ir
from scriptlang import types as T
from scriptlang.errors import ArchiveError
from scriptlang.objects import ScriptObject
from scriptlang.source import Source, Span
from scriptlang.tensors import Tensor
from tests.serialization.archives import DATA, FIXTURES, records

ATTRIBUTES = DATA / "serialization" / "attributes.pt"


def saved(root, **options) -> bytes:
    file = io.BytesIO()
    write_archive(root, file, **options)
    return file.getvalue()


def loaded(source) -> ScriptObject:
    """The module of an archive, with the states that its own code restores."""
    archive = read_archive(source)
    archive.restore()
    return archive.root


def graphs(root: ScriptObject) -> dict[str, str]:
    """The text of every method of every class in reach of a module, with its names."""
    found, pending, seen = {}, [root], set()
    while pending:
        obj = pending.pop()
        if id(obj) in seen or not isinstance(obj, ScriptObject):
            continue
        seen.add(id(obj))
        found.update({m.name: shape(m.graph.block) for m in obj.type.methods.values()})
        pending += obj.slots
    return found


def shape(block: ir.Block) -> list:
    """Kinds, types and constants of the nodes of a block, without names.

    A method that is called as a function (PyTorch calls hooks so) counts as called on its object.
    """
    nodes = []
    for n in block.nodes:
        if n.kind == "prim::Constant":
            continue
        called = n.attributes.get("function")
        name = n.attributes.get("name") or called and called.name.rpartition(".")[2]
        kind = "call" if n.kind.startswith("prim::Call") else n.qualified_name
        nodes.append(
            (
                kind,
                [str(v.type) for v in n.outputs],
                [
                    repr(v.constant)
                    if v.is_constant and not isinstance(v.constant, Tensor)
                    else str(v.type)
                    for v in n.inputs
                ],
                name,
                [shape(b) for b in n.blocks],
            )
        )
    return nodes


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_graphs_survive(path):
    first = loaded(path)
    second = loaded(saved(first))
    assert graphs(first) == graphs(second)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_the_second_save_gives_the_same_bytes(path):
    once = saved(loaded(path))
    assert saved(loaded(once)) == once


def test_values_and_aliasing_survive():
    root = read_archive(saved(read_archive(ATTRIBUTES).root)).root
    assert root.get("view")._storage is root.get("weight")._storage
    assert root.get("same")["z"] is root.get("counts")
    assert root.get("mixed") == (1, "x", 2.5) and root.get("nested") == {"k": [1, 2]}
    assert root.get("weight").requires_grad and not root.get("counts").requires_grad
    assert [a.kind for a in root.type.attributes][:2] == ["parameter", "buffer"]
    assert root.get("point").index == 3 and root.get("colour").name == "GREEN"


def test_data_pkl_is_pytorchs():
    """The reader sees the same tree, and the pickle is not longer than PyTorch's plus its memo."""
    theirs = records(ATTRIBUTES.read_bytes())["attributes/data.pkl"]
    ours = records(saved(read_archive(ATTRIBUTES).root))["archive/data.pkl"]
    assert ours[:40] == theirs[:40] and abs(len(ours) - len(theirs)) < 64


def test_places_survive():
    first = read_archive(DATA / "serialization" / "language.pt").root
    second = read_archive(saved(first)).root
    places = [
        {
            (n.kind, n.span.place)
            for n in root.type.methods["forward"].graph.walk()
            if n.kind == "aten::zeros"
        }
        for root in (first, second)
    ]
    assert places[0] == places[1] and "make_archives.py" in str(places[0])


def test_extra_files(tmp_path):
    root = read_archive(ATTRIBUTES).root
    write_archive(root, tmp_path / "m.pt", {"a.txt": "text", "b/c.bin": b"\0\1"})
    wanted = {"a.txt": "", "b/c.bin": ""}
    read_archive(tmp_path / "m.pt", extra_files=wanted)
    assert wanted == {"a.txt": b"text", "b/c.bin": b"\0\1"}


def test_a_function_is_saved_as_the_forward_of_a_module():
    graph = ir.Graph()
    x = graph.block.add_parameter(T.TENSOR, "x")
    graph.block.add_return(x)
    schema = ir.schema_of_graph("__torch__.f", graph)
    root = read_archive(saved(ir.Function("__torch__.f", schema, graph))).root
    assert root.type.name == "__torch__.PlaceholderModule"
    assert [a.name for a in root.type.methods["forward"].schema.arguments] == ["self", "x"]


def test_two_classes_of_one_name_are_told_apart():
    def child(value: int) -> ScriptObject:
        t = T.ClassType("__torch__.Child", True)
        t.add_attribute("value", T.INT)
        t.constants["answer"] = value
        return ScriptObject(t, [value])

    a, b = child(1), child(2)
    t = T.ClassType("__torch__.Parent", True)
    t.add_attribute("a", a.type)
    t.add_attribute("b", b.type)
    root = read_archive(saved(ScriptObject(t, [a, b]))).root
    types = [a.type for a in root.type.attributes]
    assert types[0] is not types[1] and [t.constants["answer"] for t in types] == [1, 2]
    assert [t.short_name for t in types] == ["Child", "Child"]


def test_big_and_odd_constants_survive():
    values = [
        2**63 - 1,
        -(2**63),
        -0.0,
        1e-320,
        float("-inf"),
        0.1,
        'a"\n\\\t',
        "é\x01",
        1 - 0.5j,
        True,
        None,
    ]
    types = [ir.constant_type(v) for v in values]
    graph = ir.Graph()
    span = Span(Source("x"), 0, 1)
    inputs = [graph.constant(v, t, span) for v, t in zip(values, types)]
    made = graph.insert("prim::TupleConstruct", inputs, (T.TupleType(tuple(types)),), span)
    graph.block.add_return(made.output)
    function = ir.Function("__torch__.f", ir.schema_of_graph("__torch__.f", graph), graph)
    root = read_archive(saved(function)).root
    nodes = [n for n in root.type.methods["forward"].graph.nodes if n.kind == "prim::Constant"]
    kept = [repr(n.attributes["value"]) for n in nodes]
    written_as_sums = (-(2**63), float("-inf"), 1 - 0.5j)
    assert all(repr(v) in kept for v in values if v not in written_as_sums)


def test_what_cannot_be_kept_leaves_no_file(tmp_path):
    t = T.ClassType("__torch__.M", True)
    t.add_attribute("x", T.ANY)
    with pytest.raises((TypeError, ArchiveError)):
        write_archive(ScriptObject(t, [object()]), tmp_path / "m.pt")
    assert not list(tmp_path.iterdir())


@pytest.mark.oracle
@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_pytorch_loads_what_is_saved(path, tmp_path):
    import torch

    copy = tmp_path / path.name
    write_archive(loaded(path), copy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = torch.jit.load(str(path)), torch.jit.load(str(copy))
    assert list(theirs.state_dict()) == list(ours.state_dict())
    arrays = path.with_suffix(".npz")
    if not arrays.exists():
        return
    recorded = np.load(arrays)
    names = sorted(n for n in recorded if n.startswith("i"))
    inputs = [torch.from_numpy(recorded[n]) for n in names]
    with torch.no_grad():
        wanted, got = theirs(*inputs), ours(*inputs)
    assert str(wanted) == str(got)
