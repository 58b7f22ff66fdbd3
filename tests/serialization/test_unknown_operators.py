"""Operators that the table has not: archives that name them load, and reaching one raises."""

from __future__ import annotations

import io
import pickle
import re
import zipfile

import pytest
from scriptlang.interpreter import engine

import scriptlang
from scriptlang import Tensor, nn
from scriptlang.errors import ArchiveError, MissingOperatorError

REACHED = r"nonsense|mylib|aten::grad|\(Tensor, |relu.newer"
ENGINES = [name for name in ("python", "native", "auto") if name in (*engine.available(), "auto")]


class Marked(nn.Module):
    def forward(self, x: Tensor, flag: bool = False) -> Tensor:
        if flag:
            return scriptlang.ops.aten.relu6(x)
        return x + 1


def archive(lines: str) -> bytes:
    """The archive of `Marked` with other lines in the branch that is taken when flag is set."""
    stored, made = io.BytesIO(), io.BytesIO()
    scriptlang.save(scriptlang.script(Marked()), stored)
    with zipfile.ZipFile(stored) as source, zipfile.ZipFile(made, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if "/code/" in name and name.endswith(".py"):
                head = data.decode().partition("    if flag")[0]
                assert head != data.decode()
                body = [
                    "if flag:",
                    *("  " + line for line in lines.split("; ")),
                    "return torch.add(x, 1)",
                ]
                data = (head + "".join(f"    {line}\n" for line in body)).encode()
            if not any(part in name for part in ("bytecode", "debug_pkl", "scriptlang")):
                target.writestr(name, data)
    return made.getvalue()


KEPT = [
    "y = torch.nonsense(x, 3); z = torch.add(y, 1)",
    "y, w = ops.mylib.op2(x, 3, k=5); z = torch.add(y, w)",
    "y : int = ops.mylib.op(x); z = torch.add(x, y); w = torch.mul(y, 2)",
    "y = annotate(List[int], ops.mylib.op(x)); z = torch.add(x, y[0])",
    "return ops.mylib.op(x)",
    "ops.mylib.op(x)",
    "y = torch.relu(x, 3)",
    "y = torch.clamp(x, 0., 1., newer=x)",
    "y = torch.add(x, torch.dim(x, 3))",
    "y : int = torch.max(x, 'a', 'b'); z = torch.add(x, y)",
    "y, w = torch.sort(x, 'a', newer=[True]); z = torch.add(y, w)",
    "y = ops.prim.nonsense(x)",
    "y = ops.prim.device(x, 3)",
    "y = 1; if flag:;   y = ops.mylib.op(x); else:;   pass; z = torch.add(x, y)",
    "if flag:;   y = ops.mylib.op(x); else:;   y = 3; z = torch.add(x, y)",
]
"""Lines whose types are found: they are written again as they were read."""

LEFT_OUT = [
    "y = torch.mylib.op(x, n=3)",
    "y = ops.mylib.op(x).foo(3); return x",
    "y = torch.relu(ops.mylib.op(x)['a'])",
    "y = torch.relu.newer(x)",
    "y = ops.mylib.op(x); for i in range(y):;   x0 = torch.add(x, i)",
    "y = ops.mylib.op(x); a, b = y[0], y['key']; return b",
    "y = ops.mylib.op(x); while torch.lt(y['n'], 3):;   y = {'n': 4}",
]
"""Lines that mean nothing of a Tensor."""


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("lines", KEPT + LEFT_OUT)
def test_reaching_one_raises(lines, name):
    loaded = scriptlang.load(io.BytesIO(archive(lines)), engine=name)
    assert loaded(scriptlang.ones(2)).tolist() == [2, 2]
    with pytest.raises(MissingOperatorError, match=REACHED):
        loaded(scriptlang.ones(2), True)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("lines", KEPT)
def test_one_is_kept_by_saving(lines, name, tmp_path):
    first = scriptlang.load(io.BytesIO(archive(lines)), engine=name)
    scriptlang.save(first, tmp_path / "again.pt")
    again = scriptlang.load(tmp_path / "again.pt", engine=name)
    assert again(scriptlang.ones(2)).tolist() == [2, 2]
    with pytest.raises(MissingOperatorError):
        again(scriptlang.ones(2), True)
    with zipfile.ZipFile(tmp_path / "again.pt") as stored:
        code = "".join(stored.read(n).decode() for n in stored.namelist() if n.endswith(".py"))
    assert any(name in code for name in re.findall(r"[a-z.]+\(", lines.replace("for ", "")))


@pytest.mark.parametrize("lines", LEFT_OUT)
def test_what_could_not_be_compiled_is_not_written(lines, tmp_path):
    loaded = scriptlang.load(io.BytesIO(archive(lines)))
    with pytest.raises(ArchiveError, match="which is not known"):
        scriptlang.save(loaded, tmp_path / "again.pt")


def test_other_errors_of_such_a_method_are_still_found():
    loaded = scriptlang.load(io.BytesIO(archive("y = torch.relu(z); ops.mylib.op(x)")))
    with pytest.raises(scriptlang.errors.CompileError, match="undefined value z"):
        loaded(scriptlang.ones(2))


def test_a_script_that_fits_no_overload_does_not_compile():
    def wrong(x: Tensor):
        return scriptlang.clamp(x, 0.0, 1.0, 5)

    with pytest.raises(scriptlang.errors.CompileError, match="no overload of clamp"):
        scriptlang.script(wrong)


# Archives that have only bytecode


def branched(x: Tensor, flag: bool = False) -> Tensor:
    if flag:
        return scriptlang.clamp(x, 0.0, 1.0) * 2
    return x + 1


def only_bytecode(operator: tuple, program=branched) -> bytes:
    """The archive of a function without its code; clamp is called `operator`."""
    stored, made = io.BytesIO(), io.BytesIO()
    scriptlang.save(scriptlang.script(program), stored)
    with zipfile.ZipFile(stored) as source, zipfile.ZipFile(made, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("bytecode.pkl"):
                tree = pickle.loads(data)
                renamed = changed(tree, ("aten::clamp", "", 3), operator)
                assert renamed != tree
                data = pickle.dumps(renamed, 2)
            if not any(part in name for part in ("/code/", "scriptlang")):
                target.writestr(name, data)
    return made.getvalue()


def changed(tree, old: tuple, new: tuple):
    if tree == old:
        return new
    return (
        type(tree)(changed(v, old, new) for v in tree) if isinstance(tree, (list, tuple)) else tree
    )


UNKNOWN = [
    ("mylib::nonsense", "", 3),
    ("mylib::nonsense", "", None),
    ("mylib::nonsense", ""),
    ("aten::clamp", "newer", 3),
    ("aten::clamp", "newer"),
    ("aten::clamp", "", 2 + 7),
    ("aten::clamp", "", 0),
]
"""Names, overloads and numbers of arguments that the table has not; old bytecode says no number."""


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("operator", UNKNOWN, ids=str)
def test_bytecode_that_names_one_raises_when_it_is_reached(operator, name):
    loaded = scriptlang.load(io.BytesIO(only_bytecode(operator)), engine=name)
    assert loaded(scriptlang.ones(2)).tolist() == [2, 2]
    with pytest.raises(MissingOperatorError, match=operator[0]):
        loaded(scriptlang.ones(2), True)


@pytest.mark.parametrize("name", ENGINES)
def test_what_bytecode_does_with_results_that_nobody_knows_is_not_looked_at(name):
    def sorts(x: Tensor, flag: bool = False) -> Tensor:
        if flag:
            a, b = scriptlang.aminmax(scriptlang.clamp(x, 0.0, 1.0))
            return a + b
        return x + 1

    loaded = scriptlang.load(io.BytesIO(only_bytecode(("mylib::pair", ""), sorts)), engine=name)
    assert loaded(scriptlang.ones(2)).tolist() == [2, 2]
    with pytest.raises(MissingOperatorError, match="mylib::pair"):
        loaded(scriptlang.ones(2), True)


@pytest.mark.oracle
def test_gradients_in_an_archive_of_pytorch(tmp_path):
    import torch

    class Graded(torch.nn.Module):
        def forward(self, x: torch.Tensor, flag: bool = False):
            if flag:
                g = torch.autograd.grad([(x * x).sum()], [x])
                h = g[0]
                if h is not None:
                    return h
            return x + 1

    torch.jit.script(Graded()).save(str(tmp_path / "graded.pt"))
    for name in ENGINES:
        loaded = scriptlang.load(tmp_path / "graded.pt", engine=name)
        assert loaded(scriptlang.ones(2)).tolist() == [2, 2]
        with pytest.raises(RuntimeError, match="does not require grad"):
            loaded(scriptlang.ones(2), True)
        assert loaded(scriptlang.ones(2).requires_grad_(), True).tolist() == [2, 2]
