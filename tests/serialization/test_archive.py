"""What reading gives: objects, tensors in the mapping, classes, functions, extra files, places."""

import gc
import io
import math
import weakref

import numpy as np
import pytest
from scriptlang.interpreter.engine import available
from scriptlang.serialization.archive import read_archive

import scriptlang
from scriptlang import types as T
from scriptlang.errors import ArchiveError
from scriptlang.irverify import verify
from scriptlang.objects import Device, EnumValue, ScriptObject
from scriptlang.tensors import Tensor
from tests.serialization.archives import DATA, FIXTURES, changed, zipped

ATTRIBUTES = DATA / "serialization" / "attributes.pt"
LANGUAGE = DATA / "serialization" / "language.pt"


@pytest.fixture(scope="module")
def root() -> ScriptObject:
    return read_archive(ATTRIBUTES).root


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_every_method_compiles_to_a_legal_graph(path):
    archive = read_archive(path)
    methods = [
        m
        for t in archive.importer.types.values()
        if isinstance(t, T.ClassType)
        for m in t.methods.values()
    ]
    assert methods
    for method in methods:
        verify(method.graph)


def test_attributes_have_their_declared_types(root):
    assert root.type.name == "__torch__.Attributes" and root.type.is_module
    types = {a.name: a.type.annotation for a in root.type.attributes}
    assert types["nested"] == "Dict[str, List[int]]" and types["maybe"] == "Optional[int]"
    assert types["layer"] == "__torch__.Layer" and types["point"] == "__torch__.Point"
    kinds = {a.name: a.kind for a in root.type.attributes}
    assert kinds["weight"] == "parameter" and kinds["counts"] == "buffer"
    assert kinds["view"] == "attribute"


def test_values(root):
    assert root.get("mixed") == (1, "x", 2.5) and root.get("words") == ["a", "b"]
    assert root.get("device") == Device("cpu") and root.get("number") == 1 + 2j
    colour = root.get("colour")
    assert isinstance(colour, EnumValue) and (colour.name, colour.value) == ("GREEN", 2)
    point = root.get("point")
    assert point.index == 3 and point._fields == ("at", "index")
    assert isinstance(point.at, Tensor)
    assert root.get("layer").type.name == "__torch__.AddOne"


def test_tensors(root):
    weight, view = root.get("weight"), root.get("view")
    assert weight.requires_grad and weight.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert view._storage is weight._storage and view.tolist() == [[1, 2]]
    assert root.get("same")["z"] is root.get("counts")
    assert tuple(root.get("empty").shape) == (0, 3) and root.get("scalar").item() == 7
    assert root.get("half").dtype.name == "bfloat16"
    assert root.get("complex_tensor").tolist() == [1 + 2j]


def test_tensors_lie_in_the_mapping_and_writing_leaves_the_file(tmp_path):
    path = tmp_path / "m.pt"
    path.write_bytes(ATTRIBUTES.read_bytes())
    weight = read_archive(path).root.get("weight")
    weight._storage.data[:] = 255
    assert not weight._storage.data.flags.owndata
    assert np.isnan(weight.detach().numpy()).all()
    assert read_archive(path).root.get("weight").tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    "source", [bytes, io.BytesIO, bytearray, memoryview], ids=lambda s: s.__name__
)
def test_other_sources(source):
    archive = read_archive(source(ATTRIBUTES.read_bytes()))
    weight = archive.root.get("weight")
    weight._storage.data[:4] = 0
    assert weight.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_an_open_file():
    with open(ATTRIBUTES, "rb") as file:
        root = read_archive(file).root
    assert root.get("counts").tolist() == [0, 1, 2]


def test_extra_files():
    wanted = {"note": "", "missing": "default"}
    archive = read_archive(ATTRIBUTES, extra_files=wanted)
    assert wanted == {"note": b"kept beside", "missing": b""}
    assert archive.extra_files == {"note": b"kept beside"}


def test_signatures(root):
    method = root.type.methods["words_of"]
    arguments = {a.name: a for a in method.schema.arguments}
    assert arguments["self"].type is root.type
    assert arguments["scale"].default == math.inf and arguments["text"].default == 'a"\n\\x'
    assert not method.is_defined and method.schema.returns[0].type == T.ListType(T.STR)
    colour = root.type.methods["forward"].schema.arguments[2].default
    assert isinstance(colour, EnumValue) and colour.name == "RED"


def test_properties_and_hooks_of_a_module():
    inner = read_archive(LANGUAGE).root.get("inner").type
    assert inner.properties == {"calls": ("__calls_getter", "__calls_setter")}
    assert inner.hooks == ["after"] and inner.pre_hooks == ["before"]


def test_numbers_as_names_of_submodules():
    seq = read_archive(LANGUAGE).root.get("seq")
    assert [a.name for a in seq.type.attributes if isinstance(a.type, T.ClassType)] == ["0", "1"]


def test_places_are_those_of_the_program():
    root = read_archive(LANGUAGE).root
    graph = root.type.methods["forward"].graph
    span = next(n.span for n in graph.walk() if n.kind == "aten::zeros")
    assert span.source.name.endswith("make_archives.py")
    assert span.text.startswith("torch.zeros") and span.excerpt().count("\n") == 1
    assert span.source.text.splitlines()[0].strip().startswith("def forward")


def test_a_damaged_debug_record_costs_only_the_places():
    contents = changed(LANGUAGE.read_bytes(), code____torch___py_debug_pkl=b"\x80\x02nonsense")
    graph = read_archive(contents).root.type.methods["forward"].graph
    assert {n.span.source.name for n in graph.walk() if n.span} == {"code/__torch__.py"}


def test_an_unknown_operator_does_not_stop_a_load():
    code = (
        b"class AddOne(Module):\n  def forward(self: __torch__.AddOne, x: Tensor) -> Tensor:\n"
        b"    a, b, = ops.mylib.split(x, 2, axis=0)\n    return torch.no_such_op(a)\n"
    )
    contents = changed(ATTRIBUTES.read_bytes(), code____torch___py=_replace_class(code))
    graph = read_archive(contents).root.get("layer").type.methods["forward"].graph
    nodes = {n.kind: n for n in graph.walk()}
    assert len(nodes["mylib::split"].outputs) == 2 and "aten::no_such_op" in nodes
    assert nodes["mylib::split"].attributes["keywords"] == ("axis",)


def _replace_class(code: bytes) -> bytes:
    from tests.serialization.archives import records

    old = records(ATTRIBUTES.read_bytes())["attributes/code/__torch__.py"]
    start = old.index(b"class AddOne")
    end = old.index(b"class ", start + 1)
    head = (
        b"  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
        b"  _is_full_backward_hook : Optional[bool]\n"
    )
    new = code.replace(b"(Module):\n", b"(Module):\n" + head, 1)
    return old[:start] + new + old[end:]


def test_byte_order_is_swapped():
    little = read_archive(ATTRIBUTES).root
    big = read_archive(changed(ATTRIBUTES.read_bytes(), byteorder=b"big")).root
    swapped = np.frombuffer(big.get("weight").detach().numpy().tobytes(), ">f4")
    assert swapped.tolist() == little.get("weight").detach().numpy().ravel().tolist()


@pytest.mark.parametrize(
    "record, contents, message",
    [
        ("version", b"99\n", "format version 99"),
        ("version", b"x", "is no version"),
        ("byteorder", b"middle", "is no byte order"),
        ("data_pkl", b"\x80\x02K\x01.", "TorchScript archive"),
        ("data_pkl", b"\x80\x02c__torch__\nNoClass\n)\x81}b.", "not in the archive's code"),
        ("data_pkl", b"\x80\x02c__torch__\nAttributes\n)\x81}b.", "weight is missing"),
        (
            "data_pkl",
            b"\x80\x02c__torch__\nAttributes\n)\x81}X\x06\x00\x00\x00weightK\x01sb.",
            "is declared Tensor, the pickle has an int",
        ),
        ("data_pkl", b"\x80\x02c__torch__\nAttributes\n)\x81]b.", "has no attributes"),
        ("code____torch___py", b"def f(:\n", "line 1"),
        ("code____torch___py", b"import os\n", "statement outside of functions and classes"),
        ("code____torch___py", b"class Attributes(Module):\n  x : NoType\n", "unknown type NoType"),
        ("code____torch___py", b"class Attributes(Evil):\n  pass\n", "has a base"),
        (
            "code____torch___py",
            b'class Attributes(Module):\n  __buffers__ = ["no"]\n',
            "buffer 'no' is not declared",
        ),
        ("data__0", b"\0" * 8, "declares 6 elements"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_a_malformed_record_is_named(record, contents, message):
    with pytest.raises(ArchiveError) as e:
        read_archive(changed(ATTRIBUTES.read_bytes(), **{record: contents}))
    assert message in str(e.value)


def test_a_missing_storage_is_named():
    from tests.serialization.archives import records, zipped

    parts = records(ATTRIBUTES.read_bytes())
    del parts["attributes/data/0"]
    with pytest.raises(ArchiveError, match="data/0: the archive lacks this storage"):
        read_archive(zipped(parts))


WRONG = """\
class P(NamedTuple):
  a : int=1
  b : int
class C:
  x : int
  y : Nothing
class D:
  c : List[__torch__.C]
  def get(self: __torch__.D) -> int:
    return 3
class M(Module):
  training : bool
  def p(self: __torch__.M) -> int:
    return __torch__.P(1, 2).a
  def c(self: __torch__.M) -> int:
    return (__torch__.C.__new__(__torch__.C)).x
  def d(self: __torch__.M) -> int:
    return (__torch__.D.__new__(__torch__.D)).get()
  def forward(self: __torch__.M) -> int:
    return 1
"""


@pytest.mark.parametrize("engine", available())
def test_a_class_that_is_wrong_is_refused_wherever_it_is_named(engine):
    contents = {
        "m/version": b"3\n",
        "m/data.pkl": b"\x80\x02c__torch__\nM\n)\x81}X\x08\x00\x00\x00training\x89sb.",
        "m/constants.pkl": b"\x80\x02).",
        "m/code/__torch__.py": WRONG.encode(),
    }
    module = scriptlang.load(io.BytesIO(zipped(contents)), engine=engine)
    assert module() == 1 and module.d() == 3
    for _ in range(2):
        with pytest.raises(ArchiveError, match="b of named tuple P has no default"):
            module.p()
        with pytest.raises(ArchiveError, match="unknown type Nothing"):
            module.c()


DROPPED = """\
class Color(Enum):
  RED = 1
class P(NamedTuple):
  color : __torch__.Color
class C:
  x : int
  def many(self: __torch__.C, others: List[__torch__.C]) -> Optional[__torch__.C]:
    return others[0]
class M(Module):
  training : bool
  def forward(self: __torch__.M, x: List[__torch__.P]) -> int:
    c = __torch__.C.__new__(__torch__.C)
    d = (c).many([c], )
    return len(x)
"""


@pytest.mark.parametrize("engine", available())
def test_what_was_loaded_is_gone_when_the_module_is(engine):
    contents = {
        "m/version": b"3\n",
        "m/data.pkl": b"\x80\x02c__torch__\nM\n)\x81}X\x08\x00\x00\x00training\x89sb.",
        "m/constants.pkl": b"\x80\x02).",
        "m/code/__torch__.py": DROPPED.encode(),
    }
    dropped = []
    for _ in range(2):
        module = scriptlang.load(io.BytesIO(zipped(contents)), engine=engine)
        assert module([]) == 0
        forward = module._type.methods["forward"]
        made = next(v.type for v in forward.graph.block.parameters if v.name != "self")
        color = made.element.elements[0]
        assert made == T.ListType(made.element) and isinstance(color, T.EnumType)
        dropped += [weakref.ref(t) for t in (module._type, color)]
        dropped += [weakref.ref(t) for t in classes_of_nodes(forward.graph)]
        del module, forward, made, color
    # The program that ran last is kept.
    assert scriptlang.script(one_more, engine=engine)(1) == 2
    gc.collect()
    assert len(dropped) > 4 and not any(ref() for ref in dropped)


def one_more(x: int) -> int:
    return x + 1


def classes_of_nodes(graph) -> set[T.ClassType]:
    types = [v.type for n in graph.walk_all() for v in n.outputs]
    return {p for t in types for p in t.walk() if isinstance(p, T.ClassType)}
