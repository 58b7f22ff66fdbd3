"""Plug-ins: libraries of operators in C that Python and the command line load."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import scriptlang
from scriptlang import Tensor, command_line, nn
from scriptlang.errors import script_stack

from . import children

ROOT = Path(__file__).resolve().parent.parent
PLUGINS = ROOT / "cpp_loader" / "tests" / "consumer" / "plugins"
INCLUDE = ROOT / "cpp_loader" / "include" / "scriptlang"
PLUGINS_CPP = ROOT / "cpp_loader" / "src" / "capi" / "plugins.cpp"
TOLD = {"capture_output": True, "text": True}
CC = shutil.which("cc") or shutil.which("gcc")

pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler")


def built(source, out, *flags):
    """A library made of a C file, with the headers alone."""
    include = f"-I{ROOT / 'cpp_loader' / 'include'}"
    command = [CC, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*command, include, *flags, str(source), "-o", str(out)], check=True)
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("plugins")


@pytest.fixture(scope="module")
def library(folder):
    path = built(PLUGINS / "operators.c", folder / "operators.so")
    scriptlang.ops.load_library(path)
    scriptlang.ops.load_library(path)  # the second time does nothing
    return path


class Scaled(nn.Module):
    def forward(self, x: Tensor, k: int):
        a, b = scriptlang.ops.my.split(scriptlang.ops.my.scale(x, k), 1)
        return a + 1, b


def archive() -> bytes:
    buffer = io.BytesIO()
    scriptlang.save(scriptlang.script(Scaled()), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("engine", ["python", "native"])
def test_programs_call_it(library, engine):
    loaded = scriptlang.load(io.BytesIO(archive()), engine=engine)
    a, b = loaded(scriptlang.tensor([1.0, 2.0]), 3)
    assert a.tolist() == [4, 7] and b.tolist() == [3, 6] and b.dtype == scriptlang.float64
    with pytest.raises(ValueError, match="k is negative") as caught:
        loaded(scriptlang.ones(1), -1)
    assert script_stack(caught.value)


def test_calls_from_python(library):
    x = scriptlang.tensor([1.0, 2.0])
    assert scriptlang.ops.my.scale(x, k=2).tolist() == [2, 4]
    traced = scriptlang.trace(lambda x: scriptlang.ops.my.scale(x, 2), (x,))
    assert "my::scale" in str(traced.graph)
    with pytest.raises(RuntimeError, match="already"):
        scriptlang.library.define("my::scale", "(Tensor x, int k=1) -> Tensor")
    with pytest.raises(RuntimeError, match="a plug-in implements my::scale"):
        scriptlang.library.impl("my::scale", "cpu", lambda x, k: x)


def test_python_may_have_a_function_of_its_own(library):
    seen = []

    def split(x, k):
        seen.append(k)
        return x, x.double()

    scriptlang.library.impl("my::split", "cpu", split, engine="python")
    for engine in ("python", "native"):
        scriptlang.load(io.BytesIO(archive()), engine=engine)(scriptlang.ones(1), 3)
    assert seen == [1]


@pytest.mark.parametrize(
    "kind, error, words",
    [
        (1, OSError, "an older scriptlang"),
        (2, OSError, "a newer scriptlang"),
        (3, OSError, "whose table has"),
        (4, OSError, "exports no sl_plugin"),
        (5, OSError, "no function that starts it"),
        (6, RuntimeError, "no licence"),
        (7, OSError, "operators of aten:: are built in"),
    ],
)
def test_libraries_that_are_refused(folder, kind, error, words):
    path = built(PLUGINS / "not_for_us.c", folder / f"{kind}.so", f"-DKIND={kind}")
    for _ in range(2):
        with pytest.raises(error, match=words):
            scriptlang.ops.load_library(path)


COUNTED = """
import _ctypes, os, scriptlang
for _ in range(3):
    try:
        scriptlang.ops.load_library({path!r})
    except RuntimeError as e:
        assert "no licence" in str(e)
handle = _ctypes.dlopen({path!r}, os.RTLD_NOW | os.RTLD_NOLOAD)
for _ in range(2):  # this reference, and the one that loading has left
    _ctypes.dlclose(handle)
try:
    _ctypes.dlopen({path!r}, os.RTLD_NOW | os.RTLD_NOLOAD)
except OSError:
    print("one reference", flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts by the loader of Linux")
def test_a_library_that_does_not_start_is_opened_once(folder):
    path = built(PLUGINS / "not_for_us.c", folder / "again.so", "-DKIND=6")
    done = children.run("-c", COUNTED.format(path=str(path)), **TOLD)
    assert done.stdout == "one reference\n", done.stderr


def test_files_that_are_no_libraries(folder):
    with pytest.raises(OSError, match="no file nowhere.so"):
        scriptlang.ops.load_library("nowhere.so")
    with pytest.raises(OSError, match="no library that can be loaded"):
        scriptlang.ops.load_library(__file__)


def test_a_schema_of_python_is_not_another_one(folder):
    scriptlang.library.define("other::op", "(Tensor x) -> Tensor")
    source = folder / "other.c"
    text = (PLUGINS / "operators.c").read_text().replace("my::", "other::")
    source.write_text(text.replace("other::scale(Tensor x, int k=1)", "other::op(Tensor x, int k)"))
    with pytest.raises(RuntimeError, match="other::op is defined otherwise"):
        scriptlang.ops.load_library(built(source, folder / "other.so"))


def test_the_command_line(folder, library, tmp_path):
    (tmp_path / "model.pt").write_bytes(archive())
    np.save(tmp_path / "x.npy", np.array([1, 2], "float32"))
    command = ["-m", "scriptlang", "run", str(tmp_path / "model.pt")]
    command += ["--input", str(tmp_path / "x.npy"), "--arg", "3"]
    for engine in ("auto", "python", "native"):
        done = children.run(*command, "--engine", engine, "--load", library, **TOLD)
        assert done.returncode == 0 and "[4. 7.]" in done.stdout, done.stderr
        without = children.run(*command, "--engine", engine, **TOLD)
        assert without.returncode == 1 and "registered the operator my::scale" in without.stderr


def test_compiling_and_checking(folder, library, tmp_path):
    (tmp_path / "model.pt").write_bytes(archive())
    made = tmp_path / "made.pt"
    for command in (["check"], ["compile", "--keep-parameters", "-o", str(made)]):
        command = ["-m", "scriptlang", *command, tmp_path / "model.pt", "--load", library]
        done = children.run(*command, **TOLD)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "lacks" not in done.stdout
    a, _ = scriptlang.load(made, engine="native")(scriptlang.ones(1), 3)
    assert a.tolist() == [4]


def test_the_command_line_refuses(capsys):
    assert command_line.main(["run", "--load", "nowhere.so", "model.pt"]) == 1
    assert "--load: there is no file nowhere.so" in capsys.readouterr().err


def test_the_document(folder):
    """docs/custom_operators.md: its Python and its C do what it says."""
    text = (ROOT / "docs" / "custom_operators.md").read_text(encoding="utf-8")
    (python,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (c,) = re.findall(r"```c\n(.*?)```", text, re.DOTALL)
    source = folder / "twice.c"
    source.write_text(c)
    built(source, folder / "libtwice.so")
    script = folder / "document.py"
    more = 'scriptlang.ops.load_library("./libtwice.so")\nprint(scriptlang.ops.my.twice(21))\n'
    script.write_text(f"import os\nos.chdir({str(folder)!r})\n{python}{more}")
    done = children.run(script, **TOLD)
    assert done.stdout.split("\n") == ["tensor([4., 4.])", "42", ""], done.stderr
    assert "`tensor([4., 4.])`" in text


ABI_1 = """
    error_make version register_operator value_release value_share value_none value_bool value_int
    value_double value_complex value_string value_device value_generator value_list value_tuple
    value_dict dict_get dict_set dict_remove dict_next list_set list_append list_remove list_ints
    list_doubles tensor_view tensor_strided tensor_copy value_kind value_get_bool value_get_int
    value_get_double value_get_complex value_get_string value_length value_item value_key
    value_field value_member value_class value_text text_release tensor_info tensor_data
    tensor_contiguous tensor_to tensor_read tensor_assign tensor_to_dlpack tensor_from_dlpack
    error_release error_status error_class error_message error_stack get_threads
""".split()
"""The functions of the table, in the order in which plug-ins of this ABI have them."""


def test_the_table_only_grows():
    """What plug-ins are compiled with stays where it is; a new ABI would let it change."""
    text = (INCLUDE / "plugin.h").read_text()
    assert "#define SL_PLUGIN_ABI 1\n" in text
    table = text.partition("typedef struct sl_host {")[2].partition("} sl_host;")[0]
    fields = [m[1] for part in table.split(";") if (m := re.search(r"\(\*(\w+)\)\(", part))]
    assert fields[: len(ABI_1)] == ABI_1
    given = re.findall(r"SL_GIVES\((\w+)\)", PLUGINS_CPP.read_text().partition("name;")[2])
    assert sorted(given) == sorted(fields), "capi/plugins.cpp fills the table"
    for name in fields:
        assert f"#define sl_{name} sl_plugin_host->{name}\n" in text


def test_the_table_has_what_operators_need():
    """Functions of values, tensors and errors; those of derivatives are not for operators."""
    declared = re.findall(r"\bsl_(\w+)\(", (INCLUDE / "scriptlang.h").read_text())
    kinds = ("value_", "list_", "dict_", "tensor_", "error_", "text_")
    of_derivatives = ("tensor_require", "tensor_grad", "tensor_set_grad", "tensor_detach")
    needed = {n for n in declared if n.startswith(kinds) and not n.startswith(of_derivatives)}
    text = (INCLUDE / "plugin.h").read_text()
    lacking = {n for n in needed if f"(*{n})(" not in text}
    assert not lacking, "they follow at the end of sl_host, and in capi/plugins.cpp"
