"""The main job: load an archive that PyTorch saved, run it on both engines, save it again."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

import scriptlang

DATA = pathlib.Path(__file__).parent / "data"
NAMES = sorted(p.stem for p in DATA.glob("*.npz"))
MODELS = [n for n in NAMES if (DATA / f"{n}.pt").exists()]
ENGINES = available()


def flat(value) -> list:
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in flat(v)]
    return [value]


def inputs_of(name: str) -> list[np.ndarray]:
    arrays = np.load(DATA / f"{name}.npz")
    return [arrays[k] for k in sorted(arrays.files) if k.startswith("i")]


def check_outputs(name: str, outputs) -> None:
    arrays = np.load(DATA / f"{name}.npz")
    outputs = flat(outputs)
    wanted = [k for k in arrays.files if k.startswith("o")]
    assert wanted
    for k in wanted:
        got, want = outputs[int(k[1:])].numpy(), arrays[k]
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_fixtures_are_there():
    assert len(MODELS) >= 9


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", MODELS)
def test_gives_the_answer_of_pytorch(name, engine):
    module = scriptlang.load(DATA / f"{name}.pt", engine=engine)
    check_outputs(name, module(*map(scriptlang.from_numpy, inputs_of(name))))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", MODELS)
def test_gives_the_same_answer_after_save_and_load(name, engine, tmp_path):
    scriptlang.load(DATA / f"{name}.pt", engine=engine).save(tmp_path / "copy.pt")
    copy = scriptlang.load(tmp_path / "copy.pt", engine=engine)
    check_outputs(name, copy(*map(scriptlang.from_numpy, inputs_of(name))))


@pytest.mark.oracle
@pytest.mark.parametrize("name", MODELS)
def test_pytorch_loads_what_we_save(name, tmp_path):
    import torch

    scriptlang.load(DATA / f"{name}.pt", engine="python").save(tmp_path / "copy.pt")
    module = torch.jit.load(str(tmp_path / "copy.pt"))
    with torch.no_grad():
        check_outputs(name, module(*map(torch.from_numpy, inputs_of(name))))


@pytest.mark.oracle
@pytest.mark.parametrize("name", MODELS)
def test_the_lite_interpreter_runs_what_we_save(name, tmp_path):
    import torch
    from torch.jit.mobile import _load_for_lite_interpreter

    scriptlang.load(DATA / f"{name}.pt", engine="python").save(tmp_path / "copy.pt")
    module = _load_for_lite_interpreter(str(tmp_path / "copy.pt"))
    arrays = list(map(torch.from_numpy, inputs_of(name)))
    if name.startswith("counter"):
        arrays.append(2)  # it does not fill defaults of forward
    with torch.no_grad():
        check_outputs(name, module(*arrays))


@pytest.mark.parametrize("engine", ENGINES)
def test_state_of_a_module_is_seen_from_both_sides(engine):
    module = scriptlang.load(DATA / "counter.script.pt", engine=engine)
    x = scriptlang.from_numpy(np.array([1, 2, 3], np.float32))
    total, counts, text = module(x, times=3)
    assert total.tolist() == [6.0, 12.0, 18.0] and counts == {"calls": 1}
    assert text == "call 1 of many"
    assert module.total.tolist() == [6.0, 12.0, 18.0] and module.counts == {"calls": 1}
    module(x)
    assert [t.tolist() for t in module.history()] == [[1.0, 2.0, 3.0]]
    module.total = scriptlang.from_numpy(np.zeros(3, np.float32))
    assert module(x, 1)[0].tolist() == [1.0, 2.0, 3.0]
    module.reset()
    assert module.counts == {"calls": 0} and module.last is None and module.history() == []


@pytest.mark.parametrize("engine", ENGINES)
def test_an_exception_of_the_program_is_raised_as_its_class(engine):
    module = scriptlang.load(DATA / "counter.script.pt", engine=engine)
    with pytest.raises(ValueError, match="Counter takes a vector, not 2 dimensions") as caught:
        module(scriptlang.from_numpy(np.zeros((1, 3), np.float32)))
    assert "make_archives.py" in str(caught.value.script_stack[-1])


@pytest.mark.parametrize("engine", ENGINES)
def test_state_that_changed_is_saved(engine, tmp_path):
    module = scriptlang.load(DATA / "counter.script.pt", engine=engine)
    x = scriptlang.from_numpy(np.array([1, 2, 3], np.float32))
    module(x)
    module(x)
    module.save(tmp_path / "counted.pt")
    again = scriptlang.load(tmp_path / "counted.pt", engine=engine)
    assert again.counts == {"calls": 2} and len(again.history()) == 1
    assert again(x)[2] == "call 3 of many"


def test_weights_of_a_module_are_listed_and_counted():
    module = scriptlang.load(DATA / "mlp.script.pt", engine="python")
    shapes = {name: tuple(p.shape) for name, p in module.named_parameters()}
    assert shapes["layers.0.weight"] == (12, 6) and shapes["layers.4.bias"] == (4,)
    assert list(module.state_dict()) == list(shapes)
    assert module.training is False and module.train().training is True


def test_save_is_deterministic(tmp_path):
    module = scriptlang.load(DATA / "attention.script.pt", engine="python")
    module.save(tmp_path / "a.pt")
    module.save(tmp_path / "b.pt")
    assert (tmp_path / "a.pt").read_bytes() == (tmp_path / "b.pt").read_bytes()


def test_load_takes_paths_files_and_bytes():
    path = DATA / "mlp.script.pt"
    x = inputs_of("mlp.script")
    for source in (path, str(path), path.read_bytes(), path.open("rb")):
        check_outputs(
            "mlp.script", scriptlang.load(source, engine="python")(*map(scriptlang.from_numpy, x))
        )
