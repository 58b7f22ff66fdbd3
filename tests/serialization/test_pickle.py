"""The pickle reader and writer: PyTorch's pickles, byte for byte where only values are in them."""

import pickle

import pytest
from scriptlang.serialization.pickle_tree import (
    DeviceRef,
    EnumRef,
    ObjectRef,
    StorageRef,
    TensorRef,
)
from scriptlang.serialization.pickling import Pickler
from scriptlang.serialization.unpickle import unpickle

from scriptlang import types as T
from scriptlang.errors import ArchiveError
from tests.serialization.archives import DATA, FIXTURES, records


def data_pkl(name: str) -> bytes:
    return records((DATA / "serialization" / name).read_bytes())[f"{name[:-3]}/data.pkl"]


def no_tensors(tensor):
    raise AssertionError("no tensors here")


def dumped(value, type: T.Type = T.ANY) -> bytes:
    return Pickler(no_tensors).dump(value, type)


@pytest.fixture(scope="module")
def state() -> dict:
    root = unpickle(data_pkl("attributes.pt"), "data.pkl").value
    assert isinstance(root, ObjectRef) and root.name == "__torch__.Attributes"
    return root.state


def test_plain_attributes(state):
    assert state["ints"] == [1, 2] and state["floats"] == [1.5] and state["flags"] == [True]
    assert state["words"] == ["a", "b"] and state["table"] == {"a": 1}
    assert state["mixed"] == (1, "x", 2.5) and state["maybe"] is None
    assert state["number"] == 1 + 2j and state["big"] == 2**40 and state["negative"] == -5


def test_special_attributes(state):
    assert isinstance(state["device"], DeviceRef) and state["device"].text == "cpu"
    assert isinstance(state["colour"], EnumRef) and state["colour"].value == 2
    assert isinstance(state["layer"], ObjectRef) and state["layer"].name == "__torch__.AddOne"


def test_tensors_share_storages(state):
    weight, view = state["weight"], state["view"]
    assert isinstance(weight, TensorRef) and weight.requires_grad
    assert view.storage is weight.storage and view.offset == 1 and view.size == (1, 2)
    assert state["same"]["z"] is state["counts"]
    assert isinstance(weight.storage, StorageRef) and weight.storage.numel == 6


def test_tags_name_the_types_of_containers():
    tree = unpickle(data_pkl("attributes.pt"), "data.pkl")
    state = tree.value.state
    assert tree.tags[id(state["pairs"])] == "List[Tuple[int, str]]"
    assert tree.tags[id(state["nested"])] == "Dict[str, List[int]]"
    assert tree.tags[id(state["ints"])] == "List[int]"


VALUES = [
    (None, T.NONE),
    (True, T.BOOL),
    (False, T.BOOL),
    (0, T.INT),
    (255, T.INT),
    (256, T.INT),
    (65536, T.INT),
    (-1, T.INT),
    (2**31, T.INT),
    (-(2**63), T.INT),
    (1.5, T.FLOAT),
    ("naïve", T.STR),
    ((), T.TupleType(())),
    ((1, "a", 2.0, None), T.ANY),
    ([1, 2], T.ListType(T.INT)),
    ([], T.ListType(T.FLOAT)),
    (["a", "a"], T.ListType(T.STR)),
    ({"a": [1]}, T.DictType(T.STR, T.ListType(T.INT))),
    (1 - 2j, T.COMPLEX),
    ([None, 3], T.ListType(T.optional(T.INT))),
    ([True], T.ListType(T.BOOL)),
]


@pytest.mark.parametrize("value, type", VALUES, ids=repr)
def test_values_read_back(value, type):
    tree = unpickle(dumped(value, type), "x")
    assert tree.value == value and tree.value.__class__ is value.__class__


def test_what_is_one_list_stays_one_list():
    shared = [1]
    tree = unpickle(dumped([shared, shared], T.ListType(T.ListType(T.INT))), "x")
    assert tree.value[0] is tree.value[1]


def test_many_values_use_long_memo_indices():
    words = [f"w{i}" for i in range(1000)] * 2
    assert unpickle(dumped(words, T.ListType(T.STR)), "x").value == words


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_every_pickle_of_a_fixture_is_read(path):
    for name, contents in records(path.read_bytes()).items():
        if name.endswith("pkl"):
            assert unpickle(contents, name).value is not None


def test_bytes_are_those_of_pytorch():
    """`{ints, floats, ...}` of the fixture as PyTorch wrote it, from the key `ints` on."""
    theirs = data_pkl("attributes.pt")
    start = theirs.index(b"X\x04\x00\x00\x00ints")
    end = theirs.index(b"X\x07\x00\x00\x00tensors")
    ours = dumped({"ints": [1, 2], "floats": [1.5], "flags": [True]}, T.ANY)
    strip = [b for b in zip_opcodes(theirs[start:end]) if b[0] not in b"qh"]
    ours = ours[ours.index(b"X\x04\x00\x00\x00ints") :]
    mine = [b for b in zip_opcodes(ours) if b[0] not in b"qh"]
    assert mine[: len(strip)] == strip


def zip_opcodes(part: bytes) -> list[bytes]:
    """The opcodes of a piece of a pickle, each with its operand."""
    import pickletools

    found, previous = [], None
    try:
        for op, _, at in pickletools.genops(part):
            if previous is not None:
                found.append(part[previous:at])
            previous = at
    except ValueError:
        pass  # the piece has no STOP
    return found + [part[previous:]] if previous is not None else found


REFUSED = [
    (pickle.dumps(print, protocol=4), "names builtins.print"),
    (b"cos\nsystem\n(S'id'\ntR.", "names os.system"),
    (b"\x80\x02c__builtin__\neval\n.", "names __builtin__.eval"),
    (b"\x80\x02}K\x01.", "ends with 2 values"),
    (b"\x80\x02K\x01", "before its STOP"),
    (b"\x80\x02X\xff\xff\xff\xffabc.", "cut short"),
    (b"\x80\x02h\x05.", "value 5 of its memo"),
    (b"\x80\x02e.", "mark is missing"),
    (b"\x80\x02\x85.", "empty stack"),
    (b"\x80\x02]K\x01K\x02s.", "adds to a list as if it were a dict"),
    (b"\x80\x02c__torch__\nM\n)\x81K\x01K\x02s.", "adds to a ObjectRef as if it were a dict"),
    (b"\x80\x02}K\x01a.", "adds to a dict as if it were a list"),
    (b"\x80\x02K\x01}b.", "sets the state of a int"),
    (b"\x80\x02c__torch__\nM\n)\x81}b}b.", "sets the state of a ObjectRef"),
    (b"\x80\x02}(]K\x01u.", "a list is the key of a dict"),
    (b"\x80\x02}(K\x01u.", "no value"),
    (b"\x80\x02\x8a\x20" + b"\1" * 32 + b".", "integer of 32 bytes"),
    (b"\x80\x02ctorch\nFloatStorage\n)R.", "calls torch.FloatStorage"),
    (b"\x80\x02K\x01)R.", "calls a int"),
    (b"\x80\x02ctorch\nFloatStorage\n)\x81.", "no class of the archive"),
    (b"\x80\x02I1\n.", "opcode 0x49"),
    (b"\x80\x09.", "protocol 9"),
    (b"\x80\x02c" + b"a" * 5000, "a name has no end"),
    (b"\x80\x02(X\x01\x00\x00\x00aK\x00tQ.", "outside that is no storage"),
    (b"\x80\x02X\x01\x00\x00\x00\xff.", "not UTF-8"),
    (b"\x80\x02ctorch.jit._pickle\nbuild_intlist\n(](X\x01\x00\x00\x00aetR.", "no List"),
]


@pytest.mark.parametrize("contents, message", REFUSED, ids=[m for _, m in REFUSED])
def test_refused(contents, message):
    with pytest.raises(ArchiveError) as e:
        unpickle(contents, "data.pkl")
    assert message in str(e.value) and e.value.record == "data.pkl" and e.value.help


def tensor_pickle(numel: int, offset: int, size: tuple, stride: tuple) -> bytes:
    def ints(values):
        return (
            b"("
            + b"".join(b"\x8a\x08" + v.to_bytes(8, "little", signed=True) for v in values)
            + b"t"
        )

    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n"
        b"FloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
        + ints([numel])[1:-1]
        + b"tQ"
        + ints([offset])[1:-1]
        + ints(size)
        + ints(stride)
        + b"\x89ccollections\nOrderedDict\n)RtR."
    )


def test_a_tensor_that_fits():
    t = unpickle(tensor_pickle(6, 0, (2, 3), (3, 1)), "x").value
    assert (t.size, t.stride, t.offset) == ((2, 3), (3, 1), 0)


@pytest.mark.parametrize(
    "numel, offset, size, stride",
    [
        (6, 1, (2, 3), (3, 1)),
        (6, 0, (2, 4), (3, 1)),
        (6, 0, (2, 3), (4, 1)),
        (0, 0, (1,), (1,)),
        (6, -1, (1,), (1,)),
        (6, 0, (-1,), (1,)),
        (6, 0, (2,), (-1,)),
        (6, 0, (2, 3), (1,)),
        (6, 0, (2**40, 2**40), (0, 0)),
        (6, 0, (1,) * 40, (1,) * 40),
        (-1, 0, (), ()),
    ],
    ids=repr,
)
def test_a_tensor_outside_its_storage_is_refused(numel, offset, size, stride):
    with pytest.raises(ArchiveError):
        unpickle(tensor_pickle(numel, offset, size, stride), "x")
