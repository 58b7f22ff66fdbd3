"""What a user is told who has no native engine, or does not see the one that is there."""

from __future__ import annotations

import pathlib
import runpy
import shutil
import subprocess
import sys
import sysconfig

import pytest

ROOT = pathlib.Path(__file__).parent.parent
LOAD = "import scriptlang; m = scriptlang.load({0!r}); scriptlang.load({0!r}); print(m.engine)"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout in which nothing was built."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("scriptlang", "frontend", "interpreter", "serialization"):
        leave = shutil.ignore_patterns("*.so", "__pycache__", "native_build.txt")
        shutil.copytree(ROOT / name, folder / name, ignore=leave)
    return folder


ALONE = "import scriptlang._checkout as c; c.hidden_package = lambda: ''; "
"""The package may be installed where the tests run, and hidden by the checkout that they make."""


WITHOUT_EDITABLE = (
    "sys.meta_path[:] = [finder for finder in sys.meta_path "
    "if not getattr(finder, '__module__', '').startswith('__editable__')]; "
)
"""An editable install of the package comes before the folder in which Python starts."""


def run(folder, program, *path):
    """What a fresh Python prints and says, started in a folder."""
    start = f"import sys; sys.path[1:1] = {[str(p) for p in path]}; " + WITHOUT_EDITABLE
    start += "" if path else ALONE
    command = [sys.executable, "-c", start + program]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_checkout_says_that_it_hides_the_installed_package(checkout, tmp_path):
    installed = tmp_path / "site-packages" / "scriptlang"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    told, _ = run(checkout, "import scriptlang; scriptlang.info()", installed.parent)
    assert f"hides the package installed in {installed.parent}" in told
    assert "run Python from another folder" in told


def test_a_checkout_without_a_build_says_so(checkout):
    told, warned = run(checkout, "import scriptlang; scriptlang.info()")
    assert "not built" in told and "install again" in told and not warned


def test_a_failed_build_is_said_once(checkout):
    reason = checkout / "interpreter" / "native_build.txt"
    reason.write_text("it could not be built (No CMAKE_CXX_COMPILER could be found.)\n")
    try:
        told, warned = run(checkout, LOAD.format(str(ROOT / "tests" / "data" / "mlp.script.pt")))
        assert told.strip() == "python"
        assert warned.count("numpy engine") == 1 and "No CMAKE_CXX_COMPILER" in warned
        reason.write_text("SCRIPTLANG_NATIVE=0 was set when the package was installed\n")
        told, warned = run(checkout, LOAD.format(str(ROOT / "tests" / "data" / "mlp.script.pt")))
        assert told.strip() == "python" and not warned
    finally:
        reason.unlink()


STARTS_PYTHON = {
    "attacks/random_calls/runner.py": "its workers say which engine they have",
    "children.py": "the way",
    "interpreter/test_library_threads.py": "the sources serve, with either engine",
    "ops/test_generated_files.py": "tools of the repository, which need no engine",
    "ops/test_new_operator.py": "a copy of the sources, which it changes",
    "ops/test_table.py": "tools of the repository, and what needs no engine",
    "serialization/test_new_python.py": "another Python",
    "test_installing.py": "what a checkout hides",
    "test_layers.py": "what the sources of the checkout import",
}
"""Files that start Python otherwise than by `children`, each with its reason."""


def test_children_have_the_package_that_tests_have():
    """A child that is started in the checkout has its sources, which lack the native engine."""
    tests = pathlib.Path(__file__).parent
    found = {
        path.relative_to(tests).as_posix()
        for path in tests.rglob("*.py")
        if "sys." + "executable, " in path.read_text(encoding="utf-8")
        or "[sys." + "executable" in path.read_text(encoding="utf-8")
    }
    assert found == STARTS_PYTHON.keys()


def build_command(folder, monkeypatch, name):
    """The command of setup.py that builds the engine, as for an install of the folder."""
    setuptools = pytest.importorskip("setuptools")
    monkeypatch.setattr(setuptools, "setup", lambda **how: None)
    build_ext = runpy.run_path(str(ROOT / "setup.py"))[name]
    monkeypatch.chdir(folder)
    package = "scriptlang.interpreter"
    distribution = setuptools.Distribution(
        {
            "packages": [package],
            "package_dir": {package: "interpreter"},
            "ext_modules": [setuptools.Extension(f"{package}._native", [])],
        }
    )
    command = build_ext(distribution)
    command.build_lib = str(folder / "lib")
    command.ensure_finalized()
    return command


def copied(folder, monkeypatch):
    """What setup.py copies beside the sources for an editable install, by file name."""
    command = build_command(folder, monkeypatch, "NativeEngine")
    command.editable_mode = True
    command.copy_extensions_to_source()
    return {path.name for path in (folder / "interpreter").iterdir()}


ENGINE = "_native" + sysconfig.get_config_var("EXT_SUFFIX")


@pytest.fixture
def clone(tmp_path):
    """A folder with an `interpreter/`, and what was built beside it, as setuptools does."""
    (tmp_path / "interpreter").mkdir()
    (tmp_path / "lib" / "scriptlang" / "interpreter").mkdir(parents=True)
    return tmp_path


def test_an_editable_install_copies_the_engine_into_a_fresh_clone(clone, monkeypatch):
    assert copied(clone, monkeypatch) == set()  # no compiler: it ends well, without
    (clone / "lib" / "scriptlang" / "interpreter" / ENGINE).write_bytes(b"")
    (clone / "interpreter" / "native_build.txt").write_text("an earlier build failed")
    assert copied(clone, monkeypatch) == {ENGINE}


def test_a_failed_build_leaves_no_older_engine_beside_newer_sources(clone, monkeypatch):
    reason = clone / "lib" / "scriptlang" / "interpreter" / "native_build.txt"
    reason.write_text("it could not be built (error: expected ';')")
    (clone / "interpreter" / ENGINE).write_bytes(b"older")
    assert copied(clone, monkeypatch) == {"native_build.txt"}
    assert "expected ';'" in (clone / "interpreter" / "native_build.txt").read_text()


@pytest.mark.parametrize("wish, why", [("auto", "could not be built"), ("0", "was set")])
def test_a_failed_build_leaves_no_older_engine_to_be_packed(clone, monkeypatch, wish, why):
    """`pip install .` again in a checkout finds what it built the last time in build/."""
    monkeypatch.setenv("SCRIPTLANG_NATIVE", wish)
    command = build_command(
        clone, monkeypatch, "NativeEngine" if wish == "auto" else "NoNativeEngine"
    )

    def fails(target):
        raise OSError("no compiler")

    monkeypatch.setattr(command, "build_with_cmake", fails, raising=False)
    built = clone / "lib" / "scriptlang" / "interpreter"
    (built / ENGINE).write_bytes(b"older")
    command.build_extension(command.extensions[0])
    assert [path.name for path in built.iterdir()] == ["native_build.txt"]
    assert why in (built / "native_build.txt").read_text()
