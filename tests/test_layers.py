"""The layers of the package and the rooms of its folders: a module imports from those to its left.

Imports inside functions count, too; those for types alone (`if TYPE_CHECKING`) do not go round.
"""

from __future__ import annotations

import ast
import configparser
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from scriptlang.frontend import whole

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
    {
        "source",
        "errors",
        "exceptions",
        "limits",
        "allocations",
        "building",
        "budgets",
        "records",
        "lazy_numpy",
        "_version",
        "logs",
    },
    {"type_base", "types", "type_text", "type_variables"},
    {"schema"},
    {"ir", "irtext", "irparse", "irverify"},
    {"rewrite"},
    {
        "dtypes",
        "tensors",
        "tensor_memory",
        "dlpack_types",
        "tensor_members",
        "tensor_operators",
        "layouts",
        "storages",
        "objects",
        "script_containers",
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
        "seeding",
        "backends",
        "linalg",
        "fft",
        "special",
        "programs",
        "observing",
        "pictures",
        "api",
        "compiling",
        "grad_mode",
        "autograd",
        "utils",
        "batching",
        "func",
        "forward_transforms",
        "reverse_transforms",
        "transform_checks",
        "trees",
        "library",
        "optim",
        "jit",
    },
    {"command_line", "__main__"},
)
"""From left to right.  Modules of one layer may import one another, but for FORBIDDEN."""

FORBIDDEN = {("frontend", "interpreter"), ("interpreter", "frontend")}
"""Parts of one layer that do not know each other."""

ALLOWED = {
    (
        "scriptlang.ops",
        "scriptlang.library",
    ): "torch.ops.load_library is among the operators, by its name",
    (
        "scriptlang.ops.calling.kernels",
        "scriptlang.interpreter.native",
    ): "the first call from Python loads the native engine, whose kernels it runs",
    (
        "scriptlang.ops.table",
        "scriptlang.frontend.python.composites",
    ): "bodies of composites are compiled when they are first asked for",
    (
        "scriptlang.ops.derivatives.rules",
        "scriptlang.frontend.python.derivatives",
    ): "expressions of rules are compiled when they are first asked for",
    (
        "scriptlang.frontend.python.resolver",
        "scriptlang.nn.functional",
    ): "names of torch.nn.functional stand for functions written in the language",
}
"""Imports to the right, each with its reason."""


ROOMS = {
    "scriptlang.frontend": (
        {"whole"},
        {"syntax"},
        {"overloads"},
        {"values"},
        {"bodies"},
        {"names"},
        {"python"},
        {"modules"},
        {"tracing"},
    ),
    "scriptlang.ops": (
        {"facts", "derived"},
        {"table"},
        {"lacking"},
        {"calling"},
        {"shared"},
        {"families"},
        {"quantization"},
        {"derivatives"},
        {"batching"},
        {"custom"},
        {"document"},
        {"stubs"},
    ),
}
"""Package -> its rooms, from left to right."""

OF_THE_PACKAGE = {"scriptlang.ops.stubs": "writes what the package gives; nothing imports it"}
"""Modules that may import the whole package, each with its reason."""

BETWEEN_ROOMS = {
    ("scriptlang.ops.calling.eager", "scriptlang.ops.families.create"): (
        "torch.tensor is a function of Python's that makes a tensor of a list"
    )
}
"""Imports from rooms to the right, each with its reason."""

ROUND = {
    ("scriptlang.ir", "scriptlang.irtext"): "a graph prints itself",
    (
        "scriptlang.interpreter.native_engine",
        "scriptlang.interpreter.native_program",
    ): "programs are made of code where none was read",
    ("scriptlang.interpreter.native_engine", "scriptlang.interpreter.recorded"): (
        "calls that are recorded go another way"
    ),
    ("scriptlang.irtext", "scriptlang.irparse"): "what prints graphs has the call that reads them",
    ("scriptlang.tensors", "scriptlang.printing"): "a tensor prints itself",
    ("scriptlang.tensor_operators", "scriptlang.ops.calling.functions"): (
        "operators of tensors are those of the table"
    ),
    ("scriptlang.tensors", "scriptlang.ops.calling.indexing"): "so is indexing",
    ("scriptlang.tensors", "scriptlang.ops.calling.options"): "they take dtypes in all spellings",
    ("scriptlang.tensors", "scriptlang.ops.calling.tensor_methods"): (
        "methods that are called otherwise than operators"
    ),
    ("scriptlang.tensors", "scriptlang.ops.derivatives.members"): (
        "what tensors have of derivatives"
    ),
    ("scriptlang.interpreter.engine", "scriptlang.interpreter.auto"): (
        'engine("auto") asks for the two others'
    ),
    ("scriptlang.programs.module", "scriptlang.api"): "module.save is the public save",
    ("scriptlang.programs.module", "scriptlang.programs.scripting"): (
        "an attribute that is set may be a module of Python, which is compiled"
    ),
    ("scriptlang.jit", "scriptlang.programs.script_class"): (
        "jit.ScriptModule is a Module of nn, whose modules carry jit's decorators"
    ),
}
"""Imports inside functions without which no import goes round, each with its reason."""


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


class Imported(NamedTuple):
    """One import: of which module, in which line, and whether it stands under TYPE_CHECKING."""

    module: str
    line: int
    for_types: bool


def is_for_types(node: ast.AST) -> bool:
    test = node.test if isinstance(node, ast.If) else None
    return getattr(test, "id", getattr(test, "attr", None)) == "TYPE_CHECKING"


def nodes(tree: ast.AST, for_types: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Each node of a tree, and whether it stands under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(tree):
        under = for_types or is_for_types(child)
        yield child, under
        yield from nodes(child, under)


@cache
def everything_imported(name: str) -> list[Imported]:
    """Every import of a module, inside functions, too."""
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = []
    for node, under in nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [Imported(a.name, node.lineno, under) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            origin = ".".join(filter(None, (base, node.module)))
            for a in node.names:
                full = f"{origin}.{a.name}"
                found.append(Imported(full if full in MODULES else origin, node.lineno, under))
        elif isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if (
                called in ("import_module", "__import__")
                and node.args
                and isinstance(node.args[0], ast.Constant)
            ):
                text = node.args[0].value
                full = package + text if text.startswith(".") else text
                found.append(Imported(full, node.lineno, under))
    return found


def imports(name: str, with_types: bool = True) -> list[tuple[str, int]]:
    """(module, line) of every import of our own."""
    return [
        (i.module, i.line)
        for i in everything_imported(name)
        if (with_types or not i.for_types) and i.module.partition(".")[0] == "scriptlang"
    ]


@cache
def running() -> dict[str, list[tuple[str, int]]]:
    """Module -> its imports, without those for types alone."""
    return {name: imports(name, with_types=False) for name in MODULES}


def violations(name: str, imported: list[tuple[str, int]]) -> list[str]:
    """What a module imports though it may not."""
    mine = layer(name)
    bad = []
    for module, line in imported:
        theirs = layer(module)
        low = mine is not None and mine < len(LAYERS) - 2
        if module == "scriptlang" and low and name not in OF_THE_PACKAGE:
            bad.append(f"{name}:{line} imports the whole package")
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
    assert not violations(name, imports(name))


def test_an_import_to_the_right_is_found():
    assert violations("scriptlang.types", [("scriptlang.ir", 7)]) == [
        "scriptlang.types:7 imports scriptlang.ir, which is not to its left"
    ]
    assert violations("scriptlang.frontend.bodies.emit", [("scriptlang.interpreter.vm", 1)])
    assert not violations("scriptlang.ir", [("scriptlang.types", 1)])


def room(module: str) -> tuple[str, int] | None:
    """The package of a module and the index of its room there; None for one without rooms."""
    for package, rooms in ROOMS.items():
        if module.startswith(package + "."):
            part = module.removeprefix(package + ".").partition(".")[0]
            return package, next((i for i, names in enumerate(rooms) if part in names), -1)
    return None


@pytest.mark.parametrize("name", sorted(filter(room, MODULES)))
def test_a_room_imports_only_from_rooms_to_its_left(name):
    package, mine = room(name)
    assert mine >= 0, f"{name} has no room: add it to ROOMS"
    for module, line in running()[name]:
        theirs = room(module)
        if theirs and theirs[0] == package and (name, module) not in BETWEEN_ROOMS:
            assert theirs[1] <= mine, f"{name}:{line} imports {module}, a room to its right"


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Modules that import each other, directly or not."""

    def reached(start: str) -> set[str]:
        found, rest = set(), [start]
        while rest:
            for module in edges.get(rest.pop(), set()) - found:
                found.add(module)
                rest.append(module)
        return found

    reach = {name: reached(name) for name in edges}
    return sorted(
        {
            tuple(sorted(m for m in reach[n] if n in reach.get(m, ())))
            for n in edges
            if n in reach[n]
        }
    )


def arrows(without: set[tuple[str, str]]) -> dict[str, set[str]]:
    return {
        name: {m for m, _ in found if m not in (name, "scriptlang") and (name, m) not in without}
        for name, found in running().items()
    }


def test_no_import_goes_round():
    assert not circles(arrows(ROUND.keys() | ALLOWED.keys()))


@pytest.mark.parametrize("arrow", ROUND, ids=lambda arrow: "-".join(arrow))
def test_what_goes_round_would(arrow):
    """Each line of ROUND is needed."""
    assert circles(arrows((ROUND.keys() | ALLOWED.keys()) - {arrow}))


def test_a_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [("a", "b", "c")]
    assert not circles({"a": {"b", "c"}, "b": {"c"}, "c": set()})


def questions() -> dict[str, set[str]]:
    """What is asked of the front end as a whole -> the modules that ask."""
    found: dict[str, set[str]] = {}
    asking = [n for n in MODULES if any(m == whole.__name__ for m, _ in running()[n])]
    for name in asking:
        for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "whole":
                found.setdefault(node.attr, set()).add(name)
    return found


def test_the_whole_is_asked_what_no_import_can_give():
    """Each question of `whole.PLACES` is asked, by a module that the answering one imports."""
    asked = questions()
    assert asked.keys() == whole.HOME.keys()
    edges = arrows(set())
    for name, askers in asked.items():
        home = f"scriptlang.frontend.{whole.HOME[name]}"
        assert getattr(whole.whole, name) is getattr(importlib.import_module(home), name)
        for asker in askers:
            reached, rest = set(), [home]
            while rest:
                for module in edges[rest.pop()] - reached:
                    reached.add(module)
                    rest.append(module)
            assert asker in reached or room(home)[1] > room(asker)[1], f"{asker} may import {name}"


def test_allowed_imports_are_still_made():
    for name, module in (*ALLOWED, *BETWEEN_ROOMS, *ROUND):
        assert any(m == module for m, _ in imports(name)), (name, module)


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
    "rich": "extra cli",
    "PIL": "images that are given to `scriptlang run`, where Pillow is installed",
    "onnxruntime": "`scriptlang bench --against`, where it is installed",
    "torchvision": "the operators of programs that are compared with PyTorch, where it is there",
}
"""Third-party packages that are imported somewhere and not installed with scriptlang."""


def third_party_imports() -> set[str]:
    found = {i.module.partition(".")[0] for name in MODULES for i in everything_imported(name)}
    known = {*sys.stdlib_module_names, "annotationlib"}  # which is of Python 3.14
    return found - known - set(FOLDERS)


def test_what_is_imported_is_installed_and_no_more():
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    lines = settings["options"]["install_requires"].split()
    installed = {re.match(r"[\w]+", line)[0] for line in lines}
    assert third_party_imports() == installed | OPTIONAL.keys()


def test_running_an_archive_needs_no_package_but_the_python_engine_numpy(tmp_path):
    class Plus(scriptlang.nn.Module):
        def forward(self, x: scriptlang.Tensor) -> scriptlang.Tensor:
            return x + 1

    scriptlang.save(scriptlang.script(Plus()), tmp_path / "plus.pt")
    loaded = loaded_by(
        "sys.modules.update(dict.fromkeys(('lark', 'astunparse', 'ml_dtypes', 'torch'))); "
        f"import scriptlang; m = scriptlang.load({str(tmp_path / 'plus.pt')!r}); "
        "assert m(scriptlang.ones(2)).tolist() == [2, 2]; m.forward.schema"
    )
    assert ("numpy" in loaded) == ("scriptlang.interpreter._native" not in loaded)


def test_no_module_hides_an_operator():
    """`scriptlang.log` is the operator: a module of that name would be found in its place."""
    from scriptlang.ops import table

    operators = {
        text.partition("::")[2].partition("(")[0].partition(".")[0]
        for file in ("declared.txt", "derived.txt")
        for text in table.lines_of(file)
    }
    modules = {name.split(".")[1] for name in MODULES if "." in name}
    assert modules & operators <= {"_version"}, "`from . import` finds these first"
