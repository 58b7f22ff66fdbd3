"""Files of weights that are written here: torch.load reads them, and so do we."""

from __future__ import annotations

import io
import random
from collections import OrderedDict

import pytest
from scriptlang.interpreter import engine as engines
from scriptlang.serialization.record_reader import RecordReader
from scriptlang.serialization.zip_writer import ZipWriter

import scriptlang
from scriptlang import nn
from scriptlang.errors import ArchiveError

ENGINES = engines.available()


def data() -> dict:
    base, shared = scriptlang.arange(6).float(), [1, 2]
    tensors = {
        name: scriptlang.ones(2).to(name)
        for name in (
            "float16",
            "bfloat16",
            "float64",
            "int8",
            "uint8",
            "int64",
            "bool",
            "complex64",
            "uint16",
            "uint32",
            "uint64",
        )
    }
    return {
        **tensors,
        "turned": scriptlang.arange(6).reshape(2, 3).t(),
        "base": base,
        "view": base[2:4],
        "empty": scriptlang.zeros(0),
        "scalar": scriptlang.tensor(3.0),
        "parameter": nn.Parameter(scriptlang.ones(2)),
        "dtype": scriptlang.float32,
        "size": scriptlang.Size([1, 2]),
        "bytes": b"\0\xff",
        "set": {1, "a"},
        "ordered": OrderedDict(a=1),
        "complex": 1.5 - 2j,
        "big": 2**80,
        "least": -(2**100),
        "device": scriptlang.device("cpu"),
        "shared": [shared, shared],
        "none": None,
        "flags": [True, False],
        "text": "é\0",
        "nothing": [],
        "deep": {"a": [({"b": 1},)]},
        "tuple": (1, 2.5, "x", None),
    }


def plain(value):
    """A value with tensors as their types and elements, whichever package they are of."""
    if hasattr(value, "tolist") and hasattr(value, "stride"):
        return str(value.dtype), tuple(value.shape), value.stride(), value.tolist()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return (
            tuple(plain(v) for v in value)
            if isinstance(value, tuple)
            else [plain(v) for v in value]
        )
    kinds = ("dtype", "DType", "device", "Device")
    return str(value) if type(value).__name__ in kinds else value


def written(value) -> bytes:
    file = io.BytesIO()
    scriptlang.save(value, file)
    return file.getvalue()


def test_what_is_saved_is_loaded(tmp_path):
    scriptlang.save(data(), tmp_path / "weights.pth")
    for weights_only in (True, False):
        loaded = scriptlang.load(tmp_path / "weights.pth", weights_only=weights_only)
        assert plain(loaded) == plain(data())
    assert loaded["view"].untyped_storage() == loaded["base"].untyped_storage()
    assert loaded["shared"][0] is loaded["shared"][1] and loaded["parameter"].requires_grad
    assert written(data()) == written(data())


@pytest.mark.oracle
@pytest.mark.parametrize("weights_only", [True, False])
def test_pytorch_loads_it(weights_only):
    import torch

    loaded = torch.load(io.BytesIO(written(data())), weights_only=weights_only)
    assert plain(loaded) == plain(data())
    assert isinstance(loaded["parameter"], torch.nn.Parameter)
    assert (
        loaded["view"].untyped_storage().data_ptr() == loaded["base"].untyped_storage().data_ptr()
    )


@pytest.mark.oracle
@pytest.mark.parametrize("is_zip", [True, False])
def test_what_pytorch_saves_is_loaded(is_zip):
    import torch

    value = {
        "a": torch.arange(6).reshape(2, 3).t(),
        "half": torch.ones(2).half(),
        "list": [1, 2.5, "x", (None, True)],
        "big": 2**70,
        "bytes": b"\0\xff",
    }
    if is_zip:
        value["wide"] = torch.ones(2).to(torch.uint16)
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=is_zip)
    assert plain(scriptlang.load(file.getvalue(), weights_only=True)) == plain(value)


@pytest.mark.parametrize("engine", ENGINES)
def test_states_of_modules_move_by_files(engine):
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval()
    script = scriptlang.script(model, engine=engine)
    other = scriptlang.script(
        nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval(), engine=engine
    )
    other.load_state_dict(scriptlang.load(written(script.state_dict()), weights_only=True))
    x = scriptlang.ones(4, 2)
    assert other(x).tolist() == script(x).tolist() == model(x).tolist()


@pytest.mark.oracle
def test_pytorchs_modules_take_the_state():
    import torch

    ours = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    theirs = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    state = torch.load(io.BytesIO(written(ours.state_dict())))
    assert state._metadata["1"] == {"version": 2}
    theirs.load_state_dict(state)
    assert theirs[0].weight.tolist() == ours[0].weight.tolist()


def test_what_is_no_data_is_refused_with_its_place(tmp_path):
    class Thing:
        pass

    for wrong, place in (
        ({"a": [(1, Thing())]}, r"\['a'\]\[0\]\[1\]: a Thing cannot be kept"),
        (nn.Linear(1, 1), "scriptlang.script first"),
        (len, "scriptlang.script"),
        ({"f": len}, r"\['f'\]: a builtin_function_or_method"),
    ):
        with pytest.raises(TypeError, match=place):
            scriptlang.save(wrong, tmp_path / "no.pth")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ArchiveError):
        scriptlang.load(written({"a": 1}))  # no program: say weights_only
    deep = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(TypeError, match="nested too deep"):
        written(deep)


def test_mutated_pickles_are_refused_or_read():
    reader = RecordReader(written(data()))
    records = {name: bytes(reader.read(name)) for name in reader.records}
    chance, refused = random.Random(1), 0
    for _ in range(300):
        pickle = bytearray(records["data.pkl"])
        at = chance.randrange(len(pickle))
        if chance.random() < 0.7:
            pickle[at] = chance.randrange(256)
        else:
            del pickle[at : at + chance.randrange(1, 5)]
        file = io.BytesIO()
        writer = ZipWriter(file)
        for name, contents in {**records, "data.pkl": bytes(pickle)}.items():
            writer.add(f"archive/{name}", contents)
        writer.finish()
        try:
            repr(scriptlang.load(file.getvalue(), weights_only=True))
        except ArchiveError:
            refused += 1
    assert 200 < refused < 300
