"""Each command as it is called: what it prints, as text and as JSON, its exit codes, its inputs."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import warnings
import wave

import numpy as np
import pytest
from scriptlang.interpreter import engine as engines

import scriptlang
from scriptlang import Tensor, logs, nn
from scriptlang.command_line import main, output
from scriptlang.command_line.inputs import values_of
from scriptlang.command_line.main import COMMANDS, InputError, parser
from scriptlang.command_line.output import Output, Tree, clean, lines_of
from tests import children

DATA = pathlib.Path(__file__).parent.parent / "data"
MLP = str(DATA / "mlp.script.pt")
COUNTER = str(DATA / "counter.script.pt")
MORE = {"convert": ["-o", "OUT.npz"], "compile": ["-o", "OUT.pt"], "diff": [MLP]}
BOTH = len(engines.available()) == 2


def printed(capsys, *argv, code=0):
    assert main(list(argv)) == code
    return capsys.readouterr().out


def strict_json(text):
    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def data(capsys, *argv, code=0):
    return strict_json(printed(capsys, *argv, "--json", code=code))


def test_numbers_that_are_not_finite_are_words_in_json(capsys):
    odd = [float("nan"), float("inf"), -float("inf"), 1.5]
    Output(json=True).data({"list": odd, "array": np.array(odd, np.float32), "pair": 1j * odd[1]})
    found = strict_json(capsys.readouterr().out)
    words = ["NaN", "Infinity", "-Infinity", 1.5]
    assert found == {"list": words, "array": words, "pair": ["NaN", "Infinity"]}


def test_every_command_has_a_module_and_help(capsys):
    for name in COMMANDS:
        with pytest.raises(SystemExit) as e:
            main([name, "--help"])
        assert e.value.code == 0
        out = capsys.readouterr().out
        assert "exit codes:" in out and "--json" in out


def test_wrong_options_are_code_2(capsys):
    for argv in (["nothing"], ["run"], ["bench", MLP, "--engine", "steam"]):
        with pytest.raises(SystemExit) as e:
            main(argv)
        assert e.value.code == 2
    assert main(["bench", MLP, "--random", "1,6", "--threads", "0"]) == 2
    assert main(["convert", MLP, "-o", "x.txt"]) == 2
    assert main(["code", MLP, "--method", "none"]) == 2
    capsys.readouterr()


def refused(capsys, *argv):
    """What the parser says of a command line that it does not take."""
    with pytest.raises(SystemExit) as e:
        main(list(argv))
    assert e.value.code == 2
    return capsys.readouterr().err


def complained(capsys, *argv, code=2):
    assert main(list(argv)) == code
    return capsys.readouterr().err


def test_words_that_are_no_commands(capsys):
    assert "did you mean 'inspect'?" in refused(capsys, "inspec")
    assert f"scriptlang inspect {MLP}" in refused(capsys, MLP)
    assert "the commands are inspect, " in refused(capsys, "zzz")


def test_no_command_shows_the_help(capsys):
    assert "run a method" in complained(capsys)


def test_the_version(capsys):
    with pytest.raises(SystemExit) as e:
        main(["--version"])
    assert e.value.code == 0
    assert capsys.readouterr().out == f"scriptlang {scriptlang.__version__}\n"


def test_every_argument_and_option_has_a_help():
    (under,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    bare = [
        f"{name} {' '.join(a.option_strings) or a.dest}"
        for name, command in under.choices.items()
        for a in command._actions
        if not a.help
    ]
    assert not bare


def test_files_that_are_not_there(tmp_path, capsys):
    shutil.copy(MLP, tmp_path / "model.pt")
    near = complained(capsys, "check", str(tmp_path / "modle.pt"), code=1)
    assert f"help: did you mean {tmp_path / 'model.pt'}?" in near
    lost = complained(capsys, "check", str(tmp_path / "no" / "model.pt"), code=1)
    assert f"help: there is no directory {tmp_path / 'no'}" in lost
    assert "help: give the path of a file" in complained(capsys, "check", str(tmp_path), code=1)


@pytest.mark.parametrize("command", ["inspect", "run", "check", "diff", "convert", "code"])
def test_errors_of_archives_name_the_file(command, tmp_path, capsys):
    (tmp_path / "text.pt").write_text("a text\n")
    rest = [a.replace("OUT", str(tmp_path / "out")) for a in MORE.get(command, [])]
    argv = [command, *(rest if command == "diff" else []), str(tmp_path / "text.pt")]
    error = complained(capsys, *argv, *(rest if command == "convert" else []), code=1)
    assert error.startswith(f"scriptlang: {tmp_path / 'text.pt'}: this is a text file")


def test_inputs_that_are_missing_or_too_many(capsys):
    error = complained(capsys, "run", MLP)
    assert "an input is missing: x (Tensor)" in error and "--random x=SHAPE" in error
    error = complained(capsys, "run", MLP, "--random", "1,6", "--random", "2")
    assert "2 inputs are given, but forward takes 1: x" in error
    assert "no input 'y'; there is x" in complained(capsys, "run", MLP, "--random", "y=1,6")


def test_an_argument_that_is_nearly_a_literal(capsys):
    assert "Python literal" in complained(capsys, "run", MLP, "--arg", "[1,")


@pytest.mark.parametrize("command", ["run", "bench", "profile"])
def test_sizes_of_inputs_are_told_if_the_program_raises(command, capsys):
    error = complained(capsys, command, MLP, "--random", "1,3", code=1)
    assert "cannot be multiplied" in error and "the inputs were x: float32[1, 3]" in error


def test_numbers_that_have_to_be_positive(capsys):
    for argv in (
        ("bench", "--seconds", "-1"),
        ("profile", "--runs", "0"),
        ("profile", "--runs", "x"),
    ):
        error = refused(capsys, argv[0], MLP, "--random", "1,6", *argv[1:])
        assert f"argument {argv[1]}: invalid positive" in error


def test_sizes_that_are_not_known_are_asked_for(capsys):
    for option in ("--memory", "--work"):
        assert "--shapes x=1,3,224,224" in complained(capsys, "inspect", MLP, option, code=0)
        assert complained(capsys, "inspect", MLP, option, "--shapes", "x=1,6", code=0) == ""


def test_a_model_to_compare_with_that_is_not_there(capsys):
    pytest.importorskip("onnxruntime")
    argv = ["bench", MLP, "--random", "1,6", "--seconds", "0.01", "--against", "none.onnx"]
    assert "none.onnx: No such file" in complained(capsys, *argv, code=1)


def test_archives_tell_who_wrote_them(tmp_path, capsys):
    scriptlang.script(scriptlang.nn.ReLU()).save(tmp_path / "relu.pt")
    shown = printed(capsys, "inspect", str(tmp_path / "relu.pt"))
    assert "  archive version 10, scriptlang, with bytecode\n" in shown
    assert "  1 module, 0 parameters and buffers, 0 bytes\n" in shown
    assert "  archive version 10, PyTorch 2.1" in printed(capsys, "inspect", MLP)


@pytest.mark.parametrize("limit", ["second=3", "seconds=x", "seconds"])
def test_limits_that_are_none(limit, capsys):
    assert "--limit takes NAME=NUMBER" in complained(capsys, "check", MLP, "--limit", limit)


def test_inspect_as_data(capsys):
    found = data(capsys, "inspect", MLP)
    assert found["parameters"] == 160 and found["tree"]["class"] == "Mlp"
    assert found["tree"]["modules"][0]["name"] == "layers"
    linear = next(o for o in found["operators"] if o["name"] == "aten::linear")
    assert linear["nodes"] >= 2 and linear["engines"] == engines.available()


def test_inspect_draws_the_tree_of_modules(capsys):
    out = printed(capsys, "inspect", MLP)
    assert "└─ layers: Sequential" in out and "forward(Tensor x) -> Tensor" in out
    assert "modules: --depth" in printed(capsys, "inspect", MLP, "--depth", "1")


def test_inspect_counts_work(capsys):
    found = data(capsys, "inspect", MLP, "--shapes", "x=2,6", "--work")
    linears = [n for n in found["nodes"] if n["operator"] == "aten::linear"]
    assert linears and linears[0]["flops"] == 2 * 2 * 6 * int(linears[0]["gives"][:-1].split()[-1])
    unknown = data(capsys, "inspect", MLP, "--shapes", "x=s0,6", "--work")
    assert unknown["unknown"] > 0


def test_code_and_its_lines(capsys):
    files = data(capsys, "code", MLP)
    assert any("def forward(" in text for text in files.values())
    assert ":" in printed(capsys, "code", MLP, "--grep", "def forward")
    assert printed(capsys, "code", MLP, "--grep", "not in there", code=1) == ""
    assert "def forward" in printed(capsys, "code", MLP, "--method", "forward")


def test_bytecode(capsys):
    assert "RET" in printed(capsys, "bytecode", MLP)
    assert "RET" in "".join(data(capsys, "bytecode", COUNTER, "--all").values())


@pytest.mark.skipif(not BOTH, reason="only the native engine has registers")
def test_register_code(capsys):
    assert "OP" in data(capsys, "bytecode", MLP, "--registers")["registers"]


def test_graph_as_text(capsys):
    assert "aten::linear" in printed(capsys, "graph", MLP, "--shapes", "x=1,6")
    assert "prim::CallMethod" in printed(capsys, "graph", MLP, "--as-written")


def test_run_on_random_inputs(capsys):
    a = data(capsys, "run", MLP, "--random", "2,6")
    assert a["results"]["output"]["shape"] == [2, 4]
    assert a == data(capsys, "run", MLP, "--random", "2,6")
    assert a != data(capsys, "run", MLP, "--random", "2,6", "--seed", "1")
    assert "float32[2, 4]" in printed(capsys, "run", MLP, "--random", "x=2,6")


@pytest.mark.skipif(not BOTH, reason="compares the engines")
def test_run_compares(capsys):
    found = data(capsys, "run", MLP, "--random", "2,6", "--compare", "native")
    assert found["comparison"]["equal"]


@pytest.mark.parametrize("shape", ["what", "1,-2", "colour[1]", "99999,99999,99999", "[1", "1.5"])
def test_random_shapes_that_are_none(shape, capsys):
    assert main(["run", MLP, "--random", shape]) == 2
    assert "--random" in capsys.readouterr().err


def write_wav(path):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(np.array([[16384, 0], [-32768, -32768]], "<i2").tobytes())


def test_inputs_of_each_kind(tmp_path):
    write_wav(tmp_path / "a.wav")
    (sound,) = values_of(str(tmp_path / "a.wav"))
    assert sound.tolist() == [[0.25, -1.0]]
    (tmp_path / "a.ppm").write_bytes(b"P6\n# made\n2 1\n255\n" + bytes([255, 0, 0, 0, 255, 0]))
    (image,) = values_of(str(tmp_path / "a.ppm"))
    assert image.tolist() == [[[[1, 0]], [[0, 1]], [[0, 0]]]]
    (tmp_path / "a.json").write_text("[[1, 2], [3, 4.5]]")
    (numbers,) = values_of(str(tmp_path / "a.json"))
    assert numbers.tolist() == [[1, 2], [3, 4.5]] and numbers.dtype == scriptlang.float32
    (tmp_path / "b.json").write_text('{"a": [1, 2], "b": ["x", [1]]}')
    (tree,) = values_of(str(tmp_path / "b.json"))
    assert tree["a"].tolist() == [1, 2] and tree["b"][0] == "x"
    np.savez(tmp_path / "a.npz", x=np.ones(2, np.float32), y=np.zeros(3, np.int64))
    assert [tuple(t.shape) for t in values_of(str(tmp_path / "a.npz"))] == [(2,), (3,)]


def test_images_that_need_pillow(tmp_path):
    if importlib.util.find_spec("PIL") is None:
        with pytest.raises(InputError, match="pip install Pillow"):
            values_of(str(tmp_path / "a.png"))
        return
    from PIL import Image

    Image.new("RGB", (2, 1), (255, 0, 0)).save(tmp_path / "a.png")
    assert tuple(values_of(str(tmp_path / "a.png"))[0].shape) == (1, 3, 1, 2)


@pytest.mark.parametrize(
    "name, contents",
    [
        ("a.wav", b"RIFF\xff\xff\xff\xffWAVEfmt "),
        ("a.wav", b""),
        ("a.ppm", b"P6 99999 99999 255\n"),
        ("a.ppm", b"P3 1 1 255\n1 1 1"),
        ("a.json", b"[" * 100_000),
        ("a.json", b"{not json"),
        ("a.npy", b"\x93NUMPY\x01\x00\xff\xff{'descr': __import__('os')}"),
        ("a.npy", b"cos\nsystem\n(S'true'\ntR."),
        ("a.npz", b"PK\x03\x04 cut short"),
        ("a.dat", b"\x00" * 64),
    ],
)
def test_inputs_that_are_none_are_told(name, contents, tmp_path, capsys):
    path = tmp_path / name
    path.write_bytes(contents)
    assert main(["run", MLP, "--input", str(path)]) == 1
    error = capsys.readouterr().err
    assert str(path) in error and "Traceback" not in error


ON_AN_ARCHIVE = [c for c in COMMANDS if c not in ("info", "completion")]


@pytest.mark.parametrize("command", ON_AN_ARCHIVE)
def test_files_of_strangers_are_refused_by_every_command(command, tmp_path, capsys):
    if command == "ops" and not BOTH:
        pytest.skip("only the native engine says what it reaches")
    rest = [a.replace("OUT", str(tmp_path / "out")) for a in MORE.get(command, [])]
    whole = pathlib.Path(MLP).read_bytes()
    for contents in (b"", b"PK\x05\x06" + b"\0" * 18, whole[: len(whole) // 2], b"\x80\x02."):
        (tmp_path / "x.pt").write_bytes(contents)
        assert main([command, str(tmp_path / "x.pt"), *rest]) == 1
        error = capsys.readouterr().err
        assert error.startswith("scriptlang: ") and "Traceback" not in error
        assert "SCRIPTLANG_DEBUG" not in error, "an error that we did not foresee"
    assert main([command, str(tmp_path / "none.pt"), *rest]) == 1
    assert "No such file" in capsys.readouterr().err


def test_names_do_not_control_the_terminal(capsys):
    assert clean("a\x1b[31mb\u202ec\n") == "a\\x1b[31mb\\u202ec\\x0a"
    out = Output()
    out.table(["x"], [["\x1b]0;title\x07"]])
    out.tree(Tree("\x1b[2J", "\r"))
    out.text("line\n\x1b[1m")
    assert "\x1b" not in capsys.readouterr().out


class Named(nn.Module):
    """Its object is not called self."""

    def forward(this, x: Tensor, rate: int) -> Tensor:
        if rate != 8000:
            warnings.warn("the rate \x1b[31mis another")
        return x * rate

    @scriptlang.jit.export
    def nothing(this) -> None:
        pass


def test_the_object_of_a_method_may_have_any_name(tmp_path, capsys):
    path = tmp_path / "named.pt"
    scriptlang.script(Named().eval()).save(path)
    assert "forward(Tensor x, int rate) -> Tensor" in printed(capsys, "inspect", str(path))
    found = data(capsys, "run", str(path), "--random", "2", "--arg", "8000")
    assert found["results"]["output"]["shape"] == [2]


@pytest.mark.skipif(not BOTH, reason="compares the engines")
def test_inputs_by_name_are_compared(tmp_path, capsys):
    path = tmp_path / "named.pt"
    scriptlang.script(Named().eval()).save(path)
    given = [str(path), "--random", "x=2", "--arg", "rate=8000"]
    assert "all agree" in printed(capsys, "run", *given, "--compare", "python")
    assert "all agree" in printed(capsys, "verify", *given, "--against", "python")
    assert main(["verify", *given, "--arg", "8000"]) == 2
    assert "given twice: x" in capsys.readouterr().err


def test_a_method_that_gives_nothing(tmp_path, capsys):
    path = tmp_path / "named.pt"
    scriptlang.script(Named().eval()).save(path)
    assert printed(capsys, "run", str(path), "--method", "nothing") == "output: None\n"


def test_warnings_of_programs_are_remarks(tmp_path, capsys):
    path = tmp_path / "named.pt"
    scriptlang.script(Named().eval()).save(path)
    given = ["run", str(path), "--random", "2", "--arg", "1"]
    assert main(given) == 0
    said = capsys.readouterr().err
    assert said == "warning: the rate \\x1b[31mis another\n"
    assert main([*given, "--quiet"]) == 0 and not capsys.readouterr().err


def test_a_remark_takes_the_place_of_progress(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(output, "WAIT", 0.01)
    out = Output()
    with out.working("reading"):
        while "reading" not in (said := capsys.readouterr().err):
            pass
        out.remark("warning: slow")
        assert "\r\x1b[Kwarning: slow\n" in capsys.readouterr().err
    out.remark("done")
    assert said.startswith("\rreading ... ") and capsys.readouterr().err.endswith("done\n")


def test_narrow_terminals_keep_numbers(monkeypatch, capsys):
    out = Output()
    out.is_terminal, out.width, out._console = True, 44, False
    rows = [("12.5 ms", "99.1 MB", "a" * 50), ("1 us", "7 B", "/a/" + "path/" * 9 + "f.py:7")]
    out.table(("time", "bytes", "what"), rows, "rrl", ("bytes",))
    head, first, second = capsys.readouterr().out.splitlines()
    assert "12.5 ms" in first and first.endswith("…") and second.endswith("f.py:7")
    assert max(map(len, (head, first, second))) <= 44 and "bytes" in head
    out.width = 24
    out.table(("time", "bytes", "what"), rows, "rrl", ("bytes",))
    assert "bytes" not in capsys.readouterr().out


def test_rich_terminals(monkeypatch, capsys):
    pytest.importorskip("rich")
    out = Output()
    out.is_terminal, out.width = True, 40
    out.table(("a", "b"), [(1, "[bold]x[/]" * 9)], "r")
    out.tree(Tree("[red]t", "note", [Tree("u" * 80)]))
    out.heading("[blink]h")
    shown = capsys.readouterr().out
    assert "[bold]x" in shown and "[red]t" in shown and "[blink]h" in shown


def test_a_list_of_tensors_from_one():
    from scriptlang import types as T
    from scriptlang.command_line.inputs import fitting

    images = T.ListType(T.TENSOR)
    for given, count in (((2, 3, 4, 5), 2), ((3, 4, 5), 1)):
        made = fitting(scriptlang.zeros(*given), images)
        assert [tuple(t.shape) for t in made] == [(3, 4, 5)] * count
    assert fitting(7, T.INT) == 7 and fitting(scriptlang.zeros(2), T.TENSOR).dim() == 1


def test_a_tree_has_lines():
    tree = Tree("a", under=[Tree("b", under=[Tree("c")]), Tree("d")])
    assert [lead + t.text for lead, t in lines_of(tree)] == ["a", "├─ b", "│  └─ c", "└─ d"]


def test_profile(capsys, tmp_path):
    trace = str(tmp_path / "t.json")
    found = data(capsys, "profile", MLP, "--random", "2,6", "--runs", "2", "--trace", trace)
    assert found["calls"] == 2
    linear = next(r for r in found["rows"] if r["name"] == "aten::linear")
    assert linear["count"] % 2 == 0 and linear["flops"] > 0
    assert json.loads(pathlib.Path(trace).read_text())["traceEvents"]
    assert "layers.0" in printed(capsys, "profile", MLP, "--random", "2,6", "--by", "module")
    assert "aten::" not in printed(
        capsys, "profile", MLP, "--random", "2,6", "--optimized", "--top", "0"
    )


def test_profile_with_the_roofline(capsys, monkeypatch):
    from scriptlang.observing import roofline

    roof = roofline.measure(16, 64, 1)
    assert roof.flops > 0 and roof.bytes > 0
    assert roofline.Roof(10.0, 100.0).least(20, 100) == 2.0
    monkeypatch.setattr(roofline, "measure", lambda: roof)
    found = data(capsys, "profile", MLP, "--random", "2,6", "--roofline")
    linear = next(r for r in found["rows"] if r["name"] == "aten::linear")
    assert linear["least"] > 0 and found["machine"]["flops"] == roof.flops
    assert "of roof" in printed(capsys, "profile", MLP, "--random", "2,6", "--roofline")
    assert "of roof" not in printed(capsys, "profile", MLP, "--random", "2,6")


def test_bench(capsys):
    found = data(capsys, "bench", MLP, "--random", "2,6", "--seconds", "0.01")
    (row,) = found["rows"]
    assert row["least"] <= row["median"] <= row["p90"] and found["first"] > 0
    out = printed(capsys, "bench", MLP, "--random", "2,6", "--seconds", "0.01", "--optimized")
    assert "optimized" in out and "times ours" in out
    assert main(["bench", MLP, "--random", "2,6", "--against", "steam"]) == 2


def test_verify_the_engines(capsys):
    found = data(capsys, "verify", MLP, "--random", "2,6", "--against", "python")
    assert found["equal"] and found["compared"] > 1


def test_verify_of_a_program_that_raises(capsys):
    found = data(capsys, "verify", COUNTER, "--random", "2,6", "--against", "python", code=1)
    assert len(found["errors"]) == 2 and not found["equal"]


def changed(tmp_path):
    m = scriptlang.load(MLP)
    m.layers[0].weight.data[0, 0] += 1.0
    m.save(str(tmp_path / "b.pt"))
    return str(tmp_path / "b.pt")


def test_diff(capsys, tmp_path):
    assert data(capsys, "diff", MLP, MLP)["equal"]
    other = changed(tmp_path)
    found = data(capsys, "diff", MLP, other, code=4)
    assert [r["name"] for r in found["values"]] == ["layers.0.weight"]
    assert "1 of" in printed(capsys, "diff", MLP, other, code=4)
    assert main(["diff", MLP, other, "--rtol", "10"]) in (0, 4)
    capsys.readouterr()
    assert data(capsys, "diff", MLP, COUNTER, code=4)["code"]


def test_convert(capsys, tmp_path):
    target = str(tmp_path / "w.npz")
    found = data(capsys, "convert", MLP, "-o", target)
    weights = np.load(target)
    assert set(weights.files) == set(found["weights"]) and "layers.0.weight" in weights.files
    assert weights["layers.0.weight"].shape == tuple(found["weights"]["layers.0.weight"]["shape"])


def test_convert_to_safetensors(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    target = str(tmp_path / "w.safetensors")
    assert main(["convert", MLP, "-o", target, "--quiet"]) == 0
    saved = scriptlang.load(MLP).state_dict()
    read = safetensors.load_file(target)
    assert {k: v.tolist() for k, v in read.items()} == {k: v.tolist() for k, v in saved.items()}


def test_compile_tells_what_passes_did(capsys, tmp_path):
    out = str(tmp_path / "out.pt")
    assert "dce" in printed(capsys, "compile", MLP, "-o", out, "--passes")
    passes = data(capsys, "compile", MLP, "-o", out)["passes"]
    assert {"inline", "dce"} <= {p["pass"] for p in passes}
    assert all(p["runs"] >= p["changed"] for p in passes)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_all_commands_and_options(shell, capsys):
    script = printed(capsys, "completion", shell)
    assert all(name in script for name in COMMANDS) and "random" in script
    program = shutil.which(shell)
    if program:
        subprocess.run([program, "-n"], input=script, text=True, check=True)


def test_completion_of_bash_completes():
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    words = "COMP_WORDS=(scriptlang prof) COMP_CWORD=1; _scriptlang; echo ${COMPREPLY[@]}"
    command = ("-m", "scriptlang", "completion", "bash")
    made = children.run(*command, capture_output=True, text=True, check=True).stdout
    done = subprocess.run([bash, "-c", f"{made}\n{words}"], capture_output=True, text=True)
    assert done.stdout.split() == ["profile"], done


@pytest.mark.parametrize("command", ["code", "inspect", "ops", "graph", "bytecode"])
@pytest.mark.parametrize("options", [(), ("--json",), ("--help",)])
def test_a_pipe_that_nobody_reads_is_no_error(command, options):
    if command == "ops" and not BOTH:
        pytest.skip("only the native engine says what it reaches")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = children.run(
            "-m", "scriptlang", command, MLP, *options, stdout=writing, stderr=subprocess.PIPE
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_parser_of_one_command_imports_no_other():
    code = (
        "import sys; from scriptlang.command_line.main import parser; parser(['info']); "
        "print('scriptlang.command_line.bench' in sys.modules, 'rich' in sys.modules)"
    )
    done = children.run("-c", code, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"], done
    assert parser() is not None


def test_what_the_compiler_does_is_logged(tmp_path, monkeypatch):
    (tmp_path / "program.py").write_text(
        "import scriptlang\n@scriptlang.script\ndef f(x: int):\n    return (x + 0) * 1\nf(2)\n"
    )
    monkeypatch.setenv("SCRIPTLANG_LOG", "all")
    done = children.run(tmp_path / "program.py", capture_output=True, text=True)
    assert "scriptlang passes: " in done.stderr and "scriptlang engines: " in done.stderr, done
    assert "add_zero fires at aten::add" in done.stderr


def test_topics_of_the_log():
    assert logs.topics_of("") == frozenset() == logs.topics_of("colour")
    assert logs.topics_of("rules, engines") == {"rules", "engines"}
    assert logs.topics_of("all") == set(logs.TOPICS)
