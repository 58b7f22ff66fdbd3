"""The command line: what it prints, writes and returns."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
from scriptlang.interpreter import native
from scriptlang.interpreter.gradients import STRAIGHT

import scriptlang
from scriptlang.command_line import main
from scriptlang.command_line.output import size_text
from tests import children

DATA = pathlib.Path(__file__).parent.parent / "data"
MLP = str(DATA / "mlp.script.pt")
OF_CPP = DATA.parents[1] / "cpp_loader" / "tests" / "data"
COUNTER = str(DATA / "counter.script.pt")


@pytest.fixture
def vector(tmp_path):
    np.save(tmp_path / "x.npy", np.array([1, 2, 3], np.float32))
    return str(tmp_path / "x.npy")


def test_run_writes_the_outputs(tmp_path, capsys):
    arrays = np.load(DATA / "mlp.script.npz")
    np.save(tmp_path / "x.npy", arrays["i0"])
    out = tmp_path / "y.npz"
    assert main(["run", MLP, "--input", str(tmp_path / "x.npy"), "-o", str(out)]) == 0
    np.testing.assert_allclose(np.load(out)["output"], arrays["o0"], rtol=1e-4)
    assert "output: float32[3, 4]" in capsys.readouterr().out


def test_run_passes_arguments_by_place_and_by_name(vector, tmp_path):
    for form in ("4", "times=4"):
        out = tmp_path / "y.npz"
        assert main(["run", COUNTER, "--input", vector, "--arg", form, "-o", str(out)]) == 0
        result = np.load(out)
        assert result["output.0"].tolist() == [10.0, 20.0, 30.0]
        assert result["output.1.calls"] == 1 and str(result["output.2"]) == "call 1 of many"


def test_run_names_the_methods_when_one_is_unknown(vector, capsys):
    assert main(["run", COUNTER, "--method", "nothing", "--input", vector]) == 2
    assert "reset" in capsys.readouterr().err


def test_an_exception_of_the_program_prints_its_stack(tmp_path, capsys):
    np.save(tmp_path / "m.npy", np.zeros((2, 2), np.float32))
    assert main(["run", COUNTER, "--input", str(tmp_path / "m.npy")]) == 1
    err = capsys.readouterr().err
    assert "ValueError: Counter takes a vector, not 2 dimensions" in err and "raise" in err


def test_wrong_argument_is_an_error_without_a_traceback(capsys):
    assert main(["run", MLP, "--arg", "'text'"]) == 1
    err = capsys.readouterr().err
    assert "x" in err and "Tensor" in err and "Traceback" not in err


def test_inspect_shows_methods_weights_and_operators(capsys):
    assert main(["inspect", MLP, "--code"]) == 0
    out = capsys.readouterr().out
    assert "aten::linear" in out and "forward(" in out and "160 parameters" in out
    assert "def forward(" in out


def test_inspect_shows_shapes(capsys):
    assert main(["inspect", MLP, "--shapes", "x=s0,16"]) == 0
    out = capsys.readouterr().out
    assert "%x : Float(s0, 16)" in out and "Float(s0, 4) = aten::linear" in out
    assert "shape known of" in out
    assert main(["inspect", MLP, "--shapes", "x=2,16", "--memory", "--optimized"]) == 0
    assert "memory: peak" in capsys.readouterr().out


@pytest.mark.parametrize(
    "given, message",
    [
        ("x", "write x=1,3,224,224"),
        ("y=1,2", "no input 'y'; it has x"),
        ("x=what[1,2]", "no element type"),
        ("x=1,-2", "not negative"),
        ("x=1,2+", "is no size"),
    ],
)
def test_inspect_says_what_is_wrong_with_shapes(given, message, capsys):
    assert main(["inspect", MLP, "--shapes", given]) == 2
    assert message in capsys.readouterr().err


def test_check_passes_a_sound_archive(capsys):
    assert main(["check", MLP]) == 0
    assert "has every operator" in capsys.readouterr().out


def test_check_refuses_what_is_no_archive(tmp_path, capsys):
    (tmp_path / "x.pt").write_bytes(b"\xff\xd8\xff\xe0 JFIF")
    assert main(["check", str(tmp_path / "x.pt")]) == 1
    assert "JPEG" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "none.pt")]) == 1


def test_compile_writes_an_archive_that_loads(tmp_path, capsys):
    out = str(tmp_path / "out.pt")
    assert main(["compile", MLP, "-o", out]) == 0
    assert main(["check", out]) == 0


def test_info_names_both_engines(capsys):
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert "python:" in out and "native:" in out


def test_the_package_is_a_command():
    done = children.run("-m", "scriptlang", "check", MLP, capture_output=True, text=True)
    assert done.returncode == 0 and "python engine: has every operator" in done.stdout, done


def test_an_input_that_is_no_array_is_an_error_without_a_traceback(tmp_path, capsys):
    text, objects = tmp_path / "x.npy", tmp_path / "objects.npy"
    text.write_text("1, 2, 3")
    np.save(objects, np.array([{}], object), allow_pickle=True)
    for path in (text, objects):
        assert main(["run", COUNTER, "--input", str(path)]) == 1
        error = capsys.readouterr().err
        assert f"{path} is no .npy or .npz file" in error and "Traceback" not in error


def test_outputs_go_where_they_are_asked_to_or_nowhere(vector, tmp_path, capsys):
    assert main(["run", COUNTER, "--input", vector, "-o", str(tmp_path / "y")]) == 0
    assert np.load(tmp_path / "y")["output.0"].shape == (3,)
    assert main(["run", COUNTER, "--input", vector, "-o", str(tmp_path)]) == 1
    target = tmp_path / "nothing" / "m.pt"
    assert main(["compile", MLP, "-o", str(target)]) == 1
    assert f"{target}: No such file or directory" in capsys.readouterr().err


def test_compile_makes_a_graph_of_forces_for_shapes(tmp_path, capsys):
    forces, out = str(OF_CPP / "forces.pt"), str(tmp_path / "out.pt")
    assert main(["compile", forces, "-o", out, "--shapes", "positions=4,3"]) == 0
    straight = scriptlang.load(out)._type.methods["forward"].attributes[STRAIGHT]
    assert len(straight.pairs) == 1
    capsys.readouterr()
    assert main(["compile", forces, "-o", out, "--shapes", "positions=4;3"]) == 2
    assert "'4;3' is no size" in capsys.readouterr().err
    assert main(["compile", MLP, "-o", out, "--shapes", "x=4,3"]) == 2
    assert "asks for no gradients" in capsys.readouterr().err


def test_compile_over_its_source_tells_both_sizes(tmp_path, capsys):
    copy = tmp_path / "m.pt"
    copy.write_bytes(pathlib.Path(MLP).read_bytes())
    assert main(["compile", str(copy), "-o", str(copy)]) == 0
    size = size_text(pathlib.Path(MLP).stat().st_size)
    assert f"(the source has {size})" in capsys.readouterr().out


_, WHY_NO_NATIVE = native.load()
needs_native = pytest.mark.skipif(bool(WHY_NO_NATIVE), reason=WHY_NO_NATIVE)
OPS_OF_THREE = OF_CPP.parent / "selective" / "ops.txt"


@needs_native
def test_ops_lists_what_archives_reach(capsys):
    """The C++ test of a library with these operators builds from the same list."""
    archives = [DATA / "attention.script.pt", DATA / "resnet.script.pt", OF_CPP / "forces.pt"]
    assert main(["ops", *map(str, archives)]) == 0
    out = capsys.readouterr().out
    assert out == OPS_OF_THREE.read_text()
    names = [line for line in out.splitlines() if not line.startswith("#")]
    assert names == sorted(set(names)) and "aten::conv2d" in names


@needs_native
def test_ops_of_all_methods_are_more(capsys):
    def listed(*options):
        assert main(["ops", COUNTER, *options]) == 0
        return {s for s in capsys.readouterr().out.splitlines() if not s.startswith("#")}

    assert listed() <= listed("--all-methods")
    assert listed("--method", "reset") != listed()


@needs_native
def test_ops_names_the_file_that_is_none(tmp_path, capsys):
    path = tmp_path / "none.pt"
    path.write_bytes(b"no archive")
    assert main(["ops", str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"scriptlang: {path}: this is a text file")
    assert main(["ops", COUNTER, "--method", "absent"]) == 2
    assert capsys.readouterr().err == f"scriptlang: {COUNTER}: the archive has no method 'absent'\n"
