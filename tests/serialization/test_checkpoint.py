"""Files of torch.save and safetensors: the weights, and nothing executed."""

import io
import pickle
import random

import numpy as np
import pytest

import scriptlang
from scriptlang.errors import ArchiveError, ScriptError
from scriptlang.objects import Device
from tests.attacks.test_attacks import mutated
from tests.serialization.archives import DATA, changed, records

FOLDER = DATA / "serialization"
BOTH = pytest.mark.parametrize("name", ["training.pth", "training_legacy.pth"])


@BOTH
def test_everything_that_was_saved(name):
    read = scriptlang.load_state_dict(FOLDER / name)
    assert read["epoch"] == 3 and read["name"] == "run" and read["done"] is False
    assert read["optimizer"] == {"lr": 0.1, "betas": (0.9, 0.999)} and read["none"] is None
    assert read["dtype"] is scriptlang.float16 and read["seen"] == {1, 2}
    assert read["size"] == (3, 4) and read["device"] == Device("cpu")
    base = np.arange(12, dtype=np.float32).reshape(3, 4)
    weight, row, transposed = (read["model"][k] for k in ("weight", "row", "transposed"))
    np.testing.assert_array_equal(weight.detach().numpy(), base)
    np.testing.assert_array_equal(row.numpy(), base[1])
    np.testing.assert_array_equal(transposed.numpy(), base.T)
    assert weight.requires_grad and not row.requires_grad
    assert read["half"].dtype == scriptlang.float16 and read["half"].item() == 1.5
    assert read["bfloat16"].dtype == scriptlang.bfloat16 and read["bfloat16"].item() == 2.5
    assert read["complex"].numpy().tolist() == [1 + 2j]
    assert read["flags"].numpy().tolist() == [True, False]
    assert read["empty"].shape == (0, 2)


@BOTH
def test_views_share_their_storage(name):
    model = scriptlang.load_state_dict(FOLDER / name)["model"]
    model["row"].fill_(7.0)
    assert model["weight"].detach().numpy()[1].tolist() == [7.0] * 4
    again = scriptlang.load_state_dict(FOLDER / name)["model"]
    assert again["row"].numpy().tolist() == [4.0, 5.0, 6.0, 7.0]


@pytest.mark.parametrize("name", ["checkpoint.pth", "legacy.pth"])
def test_weights_go_into_a_module(name):
    weights = scriptlang.load_state_dict((FOLDER / name).read_bytes())
    layer = scriptlang.nn.Linear(2, 2)
    layer.load_state_dict(weights)
    x = scriptlang.tensor([[1.0, 2.0]])
    expected = x.numpy() @ weights["weight"].numpy().T + weights["bias"].numpy()
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, rtol=1e-6)


def test_objects_are_refused():
    with pytest.raises(ArchiveError, match="torch.nn.modules.linear.Linear.*(?s:.)*state_dict"):
        scriptlang.load_state_dict(FOLDER / "pickled_module.pth")


class Hostile:
    def __reduce__(self):
        return print, ("executed",)


def test_nothing_is_executed(capsys):
    archive = changed(
        (FOLDER / "checkpoint.pth").read_bytes(),
        data_pkl=pickle.dumps({"a": Hostile()}, protocol=2),
    )
    with pytest.raises(ArchiveError, match="print"):
        scriptlang.load_state_dict(archive)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "source, what",
    [
        (DATA / "counter.script.pt", "TorchScript archive"),
        (b"", "empty"),
        (b"hello", "text"),
        (b"PK\3\4 and no more", "cut short"),
    ],
)
def test_other_files_are_named(source, what):
    with pytest.raises(ArchiveError, match=what):
        scriptlang.load_state_dict(source)


def test_the_loader_of_programs_names_this_one():
    with pytest.raises(ArchiveError, match="load_state_dict"):
        scriptlang.load(FOLDER / "training.pth")


@BOTH
def test_truncations_are_refused(name):
    contents = (FOLDER / name).read_bytes()
    for size in range(0, len(contents), 7):
        with pytest.raises(ArchiveError):
            scriptlang.load_state_dict(contents[:size])


def test_mutations():
    rng = random.Random(5)
    legacy = (FOLDER / "training_legacy.pth").read_bytes()
    zipped = (FOLDER / "training.pth").read_bytes()
    data = next(v for k, v in records(zipped).items() if k.endswith("/data.pkl"))
    for _ in range(150):
        for contents in (mutated(legacy, rng), changed(zipped, data_pkl=mutated(data, rng))):
            try:
                scriptlang.load_state_dict(contents)
            except ScriptError:
                pass


def test_safetensors():
    package = pytest.importorskip("safetensors.numpy")
    arrays = {
        "weight": np.arange(6, dtype=np.float32).reshape(2, 3),
        "counts": np.array([1, 2], np.int64),
        "scalar": np.array(1.5, np.float64),
    }
    contents = package.save(arrays)
    read = scriptlang.load_state_dict(io.BytesIO(contents))
    assert list(read) == ["counts", "scalar", "weight"]
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name].numpy(), array)
        assert read[name].numpy().dtype == array.dtype
    with pytest.raises(ArchiveError, match="safetensors"):
        scriptlang.load_state_dict(contents[:-3])
