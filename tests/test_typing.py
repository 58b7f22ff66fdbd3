"""Public functions have types, all of their arguments and their result; `.ci/types` checks them.

Kernels are left out: the schema beside them has their types.  So are the programs of nn that leave
types to the language.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import types
from collections.abc import Iterator
from pathlib import Path

import scriptlang
from scriptlang.ops.calling import eager, functions

ROOT = Path(__file__).resolve().parent.parent

FOLDERS = ("scriptlang", "frontend", "interpreter", "serialization")

KERNELS = tuple(
    f"scriptlang/ops/{room}/"
    for room in ("families", "quantization", "shared", "derivatives/formulas")
)

LEFT_TO_THE_LANGUAGE = {
    "forward": "a Tensor where nothing is written; the result may depend on constants",
    "interpolate": "overloads that stand before it have the types",
    "upsample": "overloads that stand before it have the types",
    "upsample_nearest": "overloads that stand before it have the types",
    "upsample_bilinear": "overloads that stand before it have the types",
}
"""Functions of nn without types, each with its reason."""


def public_functions(
    tree: ast.AST, is_class: bool = False
) -> Iterator[tuple[ast.FunctionDef, bool]]:
    """(function, whether it is a method) of what others may call; not what lies in functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(node, True)
        elif isinstance(node, (ast.If, ast.Try)):
            yield from public_functions(node, is_class)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if not node.name.startswith("_") or node.name == "__init__":
                yield node, is_class


def untyped(node: ast.FunctionDef, is_method: bool) -> bool:
    given = node.args
    parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    is_static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
    taken = [p for p in parameters if p is not None][1 if is_method and not is_static else 0 :]
    has_result = node.returns is not None or node.name == "__init__"
    return not has_result or any(p.annotation is None for p in taken)


def untyped_in(text: str) -> list[str]:
    return [f.name for f, is_method in public_functions(ast.parse(text)) if untyped(f, is_method)]


def test_public_functions_have_types():
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(KERNELS):
                left = LEFT_TO_THE_LANGUAGE if name.startswith("scriptlang/nn/") else {}
                names = [f for f in untyped_in(path.read_text(encoding="utf-8")) if f not in left]
                if names:
                    found[name] = names
    assert not found


def test_untyped_functions_are_found():
    text = """
def a(x: int) -> int: ...
def b(x) -> int: ...
def c(x: int): ...
def d(*args) -> None: ...
class E:
    def __init__(self, x): ...
class F:
    def __init__(self, x: int): ...
    def f(self) -> None: ...
    @staticmethod
    def g(x) -> None: ...
    def _h(self, x): ...
"""
    assert untyped_in(text) == ["b", "c", "d", "__init__", "g"]


def test_checkers_are_told_all_public_names():
    """`__init__.pyi` stands for the names that `__init__.py` loads on first use."""
    stub = ast.parse((ROOT / "scriptlang" / "__init__.pyi").read_text(encoding="utf-8"))
    told = set()
    for node in stub.body:
        if isinstance(node, ast.ImportFrom):
            told |= {alias.asname for alias in node.names if alias.asname}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            told.add(node.target.id)
        elif isinstance(node, ast.Assign):
            told |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    told -= {"__version__", "HOMES", "SUBMODULES", "HOME", "Any", "seeding"}
    assert told == set(scriptlang.HOME) | set(scriptlang.SUBMODULES) | {
        "strided",
        "contiguous_format",
        "preserve_format",
        "channels_last",
    }


PUBLIC = (
    "scriptlang",
    *(f"scriptlang.{name}" for name in ("jit", "autograd", "library", "func", "errors", "limits")),
    *(f"scriptlang.{name}" for name in ("optim", "optim.lr_scheduler")),
    *(f"scriptlang.nn{name}" for name in ("", ".functional", ".init", ".utils")),
)
"""Modules whose names are for users."""

SAID_BY_THE_CALLER = {"next_rate", "rate_at", "update"}
"""Methods that classes of users' fill in: the class that calls them says what they give."""


def has_words(owner: type, name: str) -> bool:
    """Whether a method, or what it takes the place of, has a docstring."""
    found = [vars(c)[name] for c in owner.__mro__ if name in vars(c)]
    return any((getattr(f, "__doc__", None) or "").strip() for f in found)


def silent(module: object) -> list[str]:
    """Functions, classes and methods of ours without a docstring, by their names in a module."""
    found = []
    names = getattr(module, "__all__", None) or dir(module)
    for name in names:
        public = getattr(module, name, None) if not name.startswith("_") else None
        is_ours = str(getattr(public, "__module__", "")).startswith("scriptlang")
        if not is_ours or not (inspect.isfunction(public) or inspect.isclass(public)):
            continue
        if not (public.__doc__ or "").strip():
            found.append(name)
        is_layer = inspect.isclass(public) and issubclass(public, scriptlang.nn.Module)
        if inspect.isclass(public) and not is_layer:  # layers say what their `forward` does
            methods = [m for m, f in vars(public).items() if inspect.isfunction(f) and m[0] != "_"]
            found += [f"{name}.{m}" for m in methods if not has_words(public, m)]
    return [n for n in found if n.rpartition(".")[2] not in SAID_BY_THE_CALLER]


def code_in(code: types.CodeType) -> Iterator[types.CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield inner
            yield from code_in(inner)


def test_operators_hide_no_function_that_the_package_uses():
    """`scriptlang.set` is an operator, and a name of the module once somebody has asked for it."""
    assert callable(scriptlang.set) and callable(scriptlang.sorted) and callable(scriptlang.any)
    assert "relu_nobody_has" not in dir(scriptlang) and "script" in dir(scriptlang)
    for module in (scriptlang, functions):
        source = Path(module.__file__).read_text(encoding="utf-8")
        used = {n for c in code_in(compile(source, "", "exec")) for n in c.co_names}
        assert used >= {"AttributeError"}
        known = {n for n in used if hasattr(builtins, n) and not n.startswith("__")}
        hidden = {n for n in known if hasattr(module, n)}
        assert not hidden


def test_functions_that_are_no_operators_have_docstrings():
    assert len(eager.FUNCTIONS) > 20
    assert not [name for name, f in eager.FUNCTIONS.items() if not (f.__doc__ or "").strip()]


def test_public_names_have_docstrings():
    found = {name: silent(importlib.import_module(name)) for name in PUBLIC}
    assert not {name: names for name, names in found.items() if names}


def test_a_silent_function_is_found():
    module = types.ModuleType("scriptlang.of_the_test")
    text = "def said():\n    'What.'\ndef unsaid(): pass\nclass C:\n 'It.'\n def f(self): pass"
    exec(text, vars(module))
    for public in (module.said, module.unsaid, module.C):
        public.__module__ = module.__name__
    assert silent(module) == ["C.f", "unsaid"]
