"""The C++ compiler of archives' code against the Python front end: same values, same errors, same
mutation, on every archive that the tests have and on random programs."""

from __future__ import annotations

import io
import math
import zipfile

import numpy as np
import pytest
from scriptlang.frontend.python.script import compile_text
from scriptlang.interpreter import native
from scriptlang.serialization.archive import read_archive

import scriptlang
from scriptlang.errors import script_stack
from scriptlang.programs.module import ScriptFunction
from tests.interpreter import random_programs

from .archives import FIXTURES, changed, records, zipped

_native, WHY = native.load()
pytestmark = pytest.mark.skipif(_native is None, reason=WHY)


def without_bytecode(contents: bytes) -> bytes:
    """The same archive as torch.jit.save writes it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(contents)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            short = name.partition("/")[2]
            if short != "bytecode.pkl" and not short.startswith("scriptlang/"):
                new.writestr(name, old.read(name))
    return out.getvalue()


def outcome(call, *args):
    """What a call gives, as text, or the message of its error."""
    try:
        return repr(call(*args))
    except _native.NativeError as e:
        kind, class_name, message, _ = e.args
        return f"{class_name or kind}: {message}"
    except Exception as e:
        return f"{e.__class__.__name__}: {e}".strip().split("\n")[0].split(": index")[0]


@pytest.mark.parametrize(
    "path", [p for p in FIXTURES if p.with_suffix(".npz").exists()], ids=lambda p: p.name
)
def test_archives_give_what_pytorch_gave(path):
    with np.load(path.with_suffix(".npz")) as arrays:
        inputs = [arrays[f"i{k}"] for k in range(len(arrays)) if f"i{k}" in arrays]
        wanted = [arrays[f"o{k}"] for k in range(len(arrays)) if f"o{k}" in arrays]
    archive = _native.Archive(without_bytecode(path.read_bytes()))
    got = archive.call("forward", [scriptlang.from_numpy(x) for x in inputs])
    flat = list(got) if isinstance(got, (tuple, list)) else [got]
    for x, y in zip(flat, wanted):  # of a dict or a text nothing is recorded
        x = x.numpy() if isinstance(x, scriptlang.Tensor) else x
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_every_archive_has_the_methods_that_python_finds(path):
    archive = _native.Archive(without_bytecode(path.read_bytes()))
    assert archive.methods == sorted(read_archive(path).root.type.methods)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_do_the_same(seed):
    try:
        f = compile_text(random_programs.program(seed), {"math": math})["f"]
    except scriptlang.CompileError:
        return  # test_register_code.py says which these are
    file = io.BytesIO()
    scriptlang.save(ScriptFunction(f), file)
    contents = without_bytecode(file.getvalue())
    archive = _native.Archive(contents)
    ours = scriptlang.load(io.BytesIO(contents), engine="python")
    for args in ((3, 0.5), (-2, 3.25)):
        want = outcome(ours, *args)
        got = outcome(lambda *a: archive.call("forward", list(a)), *args)
        assert same(got, want), f"{got}\n{want}"


BACKWARD = """
def backward(g: Tensor, y: Tensor) -> Tensor:
    return torch.ops.aten.tanh_backward(g, y) + torch.ops.aten.threshold_backward(g, y, 0.25)
"""


@pytest.mark.parametrize("take", [bytes, without_bytecode], ids=["bytecode", "code"])
def test_operators_whose_body_is_in_the_language(take):
    file = io.BytesIO()
    scriptlang.save(ScriptFunction(compile_text(BACKWARD)["backward"]), file)
    archive = _native.Archive(take(file.getvalue()))
    assert archive.missing == []
    g, y = np.array([1.0, 2.0], np.float32), np.array([0.5, 0.125], np.float32)
    got = archive.call("forward", [scriptlang.from_numpy(v) for v in (g, y)])
    np.testing.assert_allclose(got.numpy(), g * (1 - y * y) + np.where(y > 0.25, g, 0))


ZERO = "division by 0", "division by zero", "modulo by zero"


def same(got: str, want: str) -> bool:
    """The class of an error in front may be the program's or Python's; keys have quotes or not."""
    if got == want or any(z in got for z in ZERO) and any(z in want for z in ZERO):
        return True
    bare = [text.rpartition(": ")[2].strip("'") for text in (got, want)]
    return "Error" in got and "Error" in want and bare[0] == bare[1]


def source_of(text: str, name: str = "f") -> bytes:
    """A plain archive of a function, with those that it calls."""
    file = io.BytesIO()
    scriptlang.save(ScriptFunction(compile_text(text)[name]), file)
    return without_bytecode(file.getvalue())


def tensors(*shapes):
    """New tensors, the same at each call."""
    rng = np.random.default_rng(7)
    return [scriptlang.from_numpy(rng.standard_normal(s).astype(np.float32)) for s in shapes]


def told(value):
    """A value with its tensors as arrays of known bits."""
    if isinstance(value, scriptlang.Tensor):
        return str(value.dtype), tuple(value.shape), value.numpy().tobytes()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [told(v) for v in value]
    return value


BOTH = {
    "an argument that is written": """
def f(x: Tensor, y: Tensor):
    x.add_(1)
    z = x * 2 + y
    x.relu_()
    y.mul_(z)
    return z, x + y
""",
    "a view of what an operator writes": """
def f(x: Tensor, y: Tensor):
    a = x + 1
    v = a.view(-1)
    a.relu_()
    b = a * 2
    return v, b + y
""",
    "a fresh tensor that is written, and read before and after": """
def f(x: Tensor, y: Tensor):
    a = x + 1
    b = a * y
    a.relu_()
    c = a * b + a
    return a, b, c
""",
    "a list that grows between": """
def f(x: Tensor, y: Tensor):
    held = [x]
    a = torch.tanh(x) * y
    held.append(a)
    b = torch.relu(a + 1)
    held.append(b)
    a.add_(1)
    return held, b * a
""",
    "groups that need each other": """
def f(x: Tensor, y: Tensor):
    a = x * 2
    b = a.sum(0, True) + 1
    c = torch.matmul(a, b.t())
    d = a + c
    e = torch.exp(d) * a + b
    return a, e
""",
    "returns inside of loops of what is called": """
def g(x: Tensor, n: int) -> Tensor:
    for i in range(10):
        if i == n:
            return x * i
        x = x + 1
    return x

def f(x: Tensor, y: Tensor):
    return g(x, 3) + g(y, 20) * g(g(x, 0), 1)
""",
    "defaults and None": """
from typing import Optional

def g(x: Tensor, scale: Optional[float] = None, mask: Optional[Tensor] = None, on: bool = True):
    if mask is not None:
        x = x * mask
    if scale is None:
        scale = 2.0
    return x * scale if on else x

def f(x: Tensor, y: Tensor):
    return g(x), g(x, 3.0, y), g(y, mask=x, on=False), g(x, None, None)
""",
    "variables that change places": """
def step(a: Tensor, b: Tensor):
    return b, torch.tanh(a + b)

def f(x: Tensor, y: Tensor):
    a, b = x, y
    for i in range(4):
        a, b = step(b, a)
        a, b = b, a
    return a, b
""",
    "functions that call each other": """
def even(x: Tensor, n: int) -> Tensor:
    if n == 0:
        return x
    return odd(x + 1, n - 1)

def odd(x: Tensor, n: int) -> Tensor:
    if n == 0:
        return -x
    return even(x * 2, n - 1)

def f(x: Tensor, y: Tensor):
    return even(x, 3), odd(y, 4)
""",
    "dropout that is switched off": """
def f(x: Tensor, y: Tensor):
    a = torch.dropout(torch.relu(x + 1), 0.5, False)
    return torch.sigmoid(a * y) - a
""",
    "sorted": """
def f(x: Tensor, y: Tensor):
    numbers = [3, 1, 2]
    return sorted(numbers), numbers, sorted(["b", "a"])
""",
}


@pytest.mark.parametrize("text", BOTH.values(), ids=BOTH)
def test_values_and_written_arguments_are_those_of_the_python_road(text):
    contents = source_of(text)
    archive = _native.Archive(contents)
    for shapes in [((3, 3), (3, 3)), ((1, 4), (1, 4)), ((2, 1), (1, 5))]:
        ours, theirs = tensors(*shapes), tensors(*shapes)
        want = outcome(lambda: told(scriptlang.load(io.BytesIO(contents), engine="native")(*ours)))
        for _ in range(2):  # the second call takes the plans of the first
            theirs = tensors(*shapes)
            got = outcome(lambda: told(archive.call("forward", theirs)))
            assert same(got, want)
            assert told(theirs) == told(ours)


def test_attributes_that_calls_set_are_those_of_the_python_road():
    class State(scriptlang.nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 0
            self.register_buffer("total", scriptlang.zeros([3]))

        @scriptlang.jit.export
        def add(self, x: scriptlang.Tensor):
            self.total = scriptlang.tanh(self.total * 0.5 + x)
            self.count += 1
            return self.total

        def forward(self, x: scriptlang.Tensor):
            before = self.total
            after = self.add(x) * 2 + self.add(x + 1)
            before.add_(1)
            return before, after, self.total, self.count

    file = io.BytesIO()
    scriptlang.save(scriptlang.script(State()), file)
    contents = without_bytecode(file.getvalue())
    archive = _native.Archive(contents)
    ours = scriptlang.load(io.BytesIO(contents), engine="native")
    for turn in range(3):
        (x,) = tensors((3,))
        assert told(archive.call("forward", [x])) == told(ours(x)), turn
        assert told(archive.call("add", [x])) == told(ours.add(x)), turn


FAILS = """
def inner(x: Tensor, y: Tensor) -> Tensor:
    z = x * 2
    return torch.tanh(z + y) * z

def check(x: Tensor):
    if x.dim() > 2:
        raise ValueError("too deep")

def middle(x: Tensor, y: Tensor) -> Tensor:
    a = torch.relu(x)
    check(y)
    return inner(a, y) + 1

def f(x: Tensor, y: Tensor) -> Tensor:
    for i in range(2):
        x = middle(x, y)
    return x
"""


@pytest.mark.parametrize("shape", [(4, 5), (1, 2, 3)], ids=["in a group", "raised"])
def test_errors_have_the_script_stack_of_the_python_road(shape):
    contents = zipped(
        {
            name: value
            for name, value in records(source_of(FAILS)).items()
            if not name.endswith(".debug_pkl")
        }
    )  # lines are those of the code
    args = tensors((2, 3), shape)
    with pytest.raises(Exception) as want:
        scriptlang.load(io.BytesIO(contents), engine="python")(*args)
    with pytest.raises(_native.NativeError) as got:
        _native.Archive(contents).call("forward", args)
    frames = [
        f"{frame.function} at {frame.span.source.name}:{frame.span.line}"
        for frame in reversed(script_stack(want.value))
    ]
    assert [name for name, _ in got.value.args[3]] == frames


def test_functions_that_call_others_twice_stay_small():
    """Each of 24 functions calls the next one twice: 16 million bodies, were they all put in."""
    code = "class PlaceholderModule(Module):\n  __parameters__ = []\n  __buffers__ = []\n"
    code += "  def forward(self: __torch__.PlaceholderModule, x: int) -> int:\n"
    code += "    return __torch__.f0(x, )\n"
    functions = "".join(
        f"def f{k}(x: int) -> int:\n"
        f"  if torch.gt(x, {k}):\n"
        f"    return __torch__.f{k + 1}(__torch__.f{k + 1}(x, ), )\n"
        f"  return torch.add(__torch__.f{k + 1}(x, ), 1)\n"
        for k in range(24)
    )
    functions += "def f24(x: int) -> int:\n  return torch.add(x, 1)\n"
    plain = source_of("def f(x: int) -> int:\n    return x\n")
    archive = _native.Archive(changed(plain, code____torch___py=(functions + code).encode()))
    assert archive.call("forward", [0]) == 25
