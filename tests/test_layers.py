"""The layers of the package: a module imports only from those to its left, lazily or not."""

from __future__ import annotations

import ast
import configparser
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import scriptlang

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {
    "scriptlang": "scriptlang",
    "frontend": "scriptlang.frontend",
    "interpreter": "scriptlang.interpreter",
    "serialization": "scriptlang.serialization",
}
"""Folder of the repository -> package that it is."""

LAYERS = (
    {"source", "errors", "limits", "allocations", "building", "budgets", "records", "_version"},
    {"types"},
    {"schema"},
    {"ir", "irtext", "irparse"},
    {"rewrite"},
    {
        "dtypes",
        "tensors",
        "tensor_members",
        "layouts",
        "storages",
        "objects",
        "printing",
        "stream_text",
        "random",
        "ops",
    },
    {"passes"},
    {"frontend", "interpreter"},
    {"serialization"},
    {
        "nn",
        "tensor_types",
        "linalg",
        "fft",
        "special",
        "programs",
        "api",
        "grad_mode",
        "autograd",
        "jit",
    },
    {"cli", "__main__"},
)
"""From left to right.  Modules of one layer may import one another, but for FORBIDDEN."""

FORBIDDEN = {("frontend", "interpreter"), ("interpreter", "frontend")}
"""Parts of one layer that do not know each other."""

ALLOWED = {
    (
        "scriptlang.ops.table",
        "scriptlang.frontend.python.composites",
    ): "bodies of composites are compiled when they are first asked for",
    (
        "scriptlang.ops.families.prim",
        "scriptlang.interpreter.exceptions",
    ): "what a program raises is of the class that the interpreter raises",
    (
        "scriptlang.frontend.python.resolver",
        "scriptlang.nn.functional",
    ): "names of torch.nn.functional stand for functions written in the language",
}
"""Imports to the right, each with its reason."""


def modules() -> dict[str, Path]:
    """Every module of the package by its name."""
    found = {}
    for folder, package in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join((package, *parts)).removesuffix(".__init__")] = path
    return found


MODULES = modules()


def layer(module: str) -> int | None:
    """Index of a module's layer; None for the package itself."""
    part = (module.split(".") + [""])[1]
    return next((i for i, names in enumerate(LAYERS) if part in names), None)


def imports(name: str, path: Path) -> list[tuple[str, int]]:
    """(module, line) of every import of our own, inside functions, too."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(a.name, node.lineno) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            origin = ".".join(filter(None, (base, node.module)))
            for a in node.names:
                full = f"{origin}.{a.name}"
                found.append((full if full in MODULES else origin, node.lineno))
        elif isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if (
                called in ("import_module", "__import__")
                and node.args
                and isinstance(node.args[0], ast.Constant)
            ):
                text = node.args[0].value
                found.append((package + text if text.startswith(".") else text, node.lineno))
    return [(m, line) for m, line in found if m.split(".")[0] == "scriptlang"]


def violations(name: str, imported: list[tuple[str, int]]) -> list[str]:
    """What a module imports though it may not."""
    mine = layer(name)
    bad = []
    for module, line in imported:
        theirs = layer(module)
        if mine is None or theirs is None or (name, module) in ALLOWED:
            continue
        if theirs > mine or (name.split(".")[1], module.split(".")[1]) in FORBIDDEN:
            bad.append(f"{name}:{line} imports {module}, which is not to its left")
    return bad


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_imports_only_to_its_left(name):
    if name != "scriptlang":
        assert layer(name) is not None or name.split(".")[1].startswith("_"), (
            f"{name} has no layer: add it to LAYERS"
        )
    assert not violations(name, imports(name, MODULES[name]))


def test_an_import_to_the_right_is_found():
    assert violations("scriptlang.types", [("scriptlang.ir", 7)]) == [
        "scriptlang.types:7 imports scriptlang.ir, which is not to its left"
    ]
    assert violations("scriptlang.frontend.bodies.emit", [("scriptlang.interpreter.vm", 1)])
    assert not violations("scriptlang.ir", [("scriptlang.types", 1)])


def test_allowed_imports_are_still_made():
    for name, module in ALLOWED:
        assert any(m == module for m, _ in imports(name, MODULES[name])), (name, module)


def test_setup_lists_the_packages_of_the_tree():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    listed = set(config["options"]["packages"].split())
    tree = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    assert listed == tree


def test_names_in_archives_do_not_say_the_room():
    from scriptlang.frontend.syntax.definitions import qualified_name

    from scriptlang.ops.families import dropout

    assert qualified_name(dropout._check) == "__torch__.scriptlang.ops.dropout._check"


@pytest.mark.parametrize("folder", [f for f in FOLDERS if f != "scriptlang"])
def test_a_folder_refuses_its_short_name(folder):
    sys.modules.pop(folder, None)
    with pytest.raises(ImportError, match=f"import scriptlang.{folder}"):
        importlib.import_module(folder)


def loaded_by(statement: str) -> set[str]:
    """Modules that a fresh process has after a statement."""
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_the_package_is_light():
    loaded = loaded_by("import scriptlang")
    assert not loaded & {
        "lark",
        "astunparse",
        "torch",
        "scriptlang.nn",
        "scriptlang.ops",
        "scriptlang.frontend",
    }


def test_printing_and_optimising_a_graph_need_no_lark():
    loaded = loaded_by(
        "import scriptlang.ir, scriptlang.passes.pipeline as p; "
        "g = scriptlang.ir.Graph(); p.optimize(g); str(g)"
    )
    assert not loaded & {"lark", "astunparse", "scriptlang.frontend", "scriptlang.interpreter"}


OPTIONAL = {
    "torch": "what PyTorch holds is taken where it is installed",
    "lark": "extra test",
    "safetensors": "extra safetensors",
}
"""Third-party packages that are imported somewhere and not installed with scriptlang."""


def third_party_imports() -> set[str]:
    found = set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    found |= {a.name.partition(".")[0] for a in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"annotationlib"} - set(FOLDERS)  # 3.14's


def test_what_is_imported_is_installed_and_no_more():
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    lines = settings["options"]["install_requires"].split()
    installed = {re.match(r"[\w]+", line)[0] for line in lines}
    assert third_party_imports() == installed | OPTIONAL.keys()


def test_running_an_archive_needs_numpy_alone(tmp_path):
    class Plus(scriptlang.nn.Module):
        def forward(self, x: scriptlang.Tensor) -> scriptlang.Tensor:
            return x + 1

    scriptlang.save(scriptlang.script(Plus()), tmp_path / "plus.pt")
    loaded = loaded_by(
        "sys.modules.update(dict.fromkeys(('lark', 'astunparse', 'ml_dtypes', 'torch'))); "
        f"import scriptlang; m = scriptlang.load({str(tmp_path / 'plus.pt')!r}); "
        "assert m(scriptlang.ones(2)).tolist() == [2, 2]; m.forward.schema"
    )
    assert "numpy" in loaded
