"""A program on the native engine runs without numpy, and the tensors for it are made without it."""

from __future__ import annotations

import json

import pytest
from scriptlang.interpreter import native

import scriptlang
from tests import children

pytestmark = pytest.mark.skipif(bool(native.why_absent()), reason="the native engine is not built")

BLOCK = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "numpy":
            raise ImportError("numpy is blocked")
blocker = Blocker()
sys.meta_path.insert(0, blocker)
"""


def child(code: str, *arguments: object) -> str:
    done = children.run("-c", BLOCK + code, *arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Net(scriptlang.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = scriptlang.nn.Linear(3, 2)

    def forward(self, x: scriptlang.Tensor, names: dict[str, int]):
        y = scriptlang.relu(self.layer(x))
        return y, [y.sum(), y.view(-1)], names["a"] + 1, "text"


def save_plain(path):
    scriptlang.script(Net()).save(path)


def save_compiled(path):
    save_plain(path)
    scriptlang.compile_archive(path, path, optimize=False)


def save_optimised(path):
    scriptlang.script(Net().eval()).save(path)
    scriptlang.compile_archive(path, path)


@pytest.fixture(params=[save_plain, save_compiled, save_optimised])
def archive(request, tmp_path):
    path = tmp_path / "net.pt"
    request.param(path)
    return path


CALL = """
import json
import scriptlang
m = scriptlang.load(sys.argv[1])
x = scriptlang.tensor([[1.0, -2.0, 0.5], [0.25, 4.0, -1.0]])
y, (total, flat), number, text = m(x, {"a": 4})
assert y.shape == (2, 2) and y.dtype is scriptlang.float32, y.shape
print(json.dumps([y.tolist(), total.item(), float(total), flat.tolist(), number, text]))
assert "numpy" not in sys.modules
"""


def test_an_archive_is_loaded_and_called(archive):
    got = json.loads(child(CALL, archive))
    x = scriptlang.tensor([[1.0, -2.0, 0.5], [0.25, 4.0, -1.0]])
    y, (total, flat), number, text = scriptlang.load(archive)(x, {"a": 4})
    assert got == [y.tolist(), total.item(), total.item(), flat.tolist(), number, text]


def test_arrays_are_taken_once_numpy_is_there(archive):
    code = CALL + (
        "sys.meta_path.remove(blocker)\n"
        "import numpy\n"
        "a = numpy.array([[1.0, -2.0, 0.5], [0.25, 4.0, -1.0]], 'float32')\n"
        "for _ in range(3):\n"
        "    assert m(a, {'a': 4})[0].tolist() == y.tolist() == y.numpy().tolist()\n"
        "fortran = m(numpy.asfortranarray(a), {'a': 4})[0]\n"
        "assert numpy.allclose(fortran.numpy(), y.numpy(), rtol=1e-6), fortran\n"
        "assert m(a.astype('float64').astype('float32')[:], {'a': 4})[0].tolist() == y.tolist()\n"
        "y[0, 0] = 7.0\n"
        "assert y.tolist()[0][0] == 7.0 == y.numpy()[0, 0]\n"
    )
    child(code, archive)


CREATIONS = """
scriptlang.zeros(2, 3)
scriptlang.zeros((2, 3), dtype=scriptlang.int64)
scriptlang.ones([2], dtype=float)
scriptlang.full((2, 2), 1.5)
scriptlang.full((3,), 7)
scriptlang.full((2,), True)
scriptlang.arange(5)
scriptlang.arange(0.5, 3.0, 0.25)
scriptlang.linspace(-1, 1, 7)
scriptlang.eye(3)
scriptlang.rand(3, 5)
scriptlang.randn(33)
scriptlang.randint(3, 90, (4, 4))
scriptlang.randperm(9)
scriptlang.hann_window(9)
scriptlang.tensor(3)
scriptlang.tensor(2.5)
scriptlang.tensor(False)
scriptlang.tensor([1, 2, 3])
scriptlang.tensor([[True], [False]])
scriptlang.tensor([[1.5, 2.0], [3.0, 4.0]], dtype=scriptlang.float64)
scriptlang.tensor([1.0, 2.0], requires_grad=True).detach()
scriptlang.zeros(1)
scriptlang.tensor([])
scriptlang.tensor([1, 2.5])
scriptlang.tensor(((1, 2), (3, 4)))
""".split("\n")[1:-1]
"""Calls that make tensors; from the one that requires a gradient on, numpy may make them."""


def test_tensors_are_made_as_with_numpy():
    before = CREATIONS.index("scriptlang.zeros(1)") - 1
    code = f"""
import scriptlang
calls = {CREATIONS!r}
def made(calls):
    return [(t.dtype.name, tuple(t.shape), t.tolist()) for t in map(eval, calls)]
scriptlang.manual_seed(11)
alone = made(calls[:{before}])
assert "numpy" not in sys.modules
sys.meta_path.remove(blocker)
alone += made(calls[{before}:])
import numpy
scriptlang.manual_seed(11)
for call, one, other in zip(calls, alone, made(calls)):
    assert one[:2] == other[:2], (call, one, other)
    assert numpy.allclose(one[2], other[2], rtol=3e-7, atol=0), (call, one, other)
"""
    child(code)


def test_random_numbers_go_on_when_numpy_is_loaded():
    code = """
import scriptlang
scriptlang.manual_seed(5)
first = scriptlang.rand(3).tolist()
sys.meta_path.remove(blocker)
import numpy
second = scriptlang.rand(3).tolist()
scriptlang.manual_seed(5)
assert first == scriptlang.rand(3).tolist()
assert second == scriptlang.rand(3).tolist()
"""
    child(code)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("scriptlang.zeros(-1)", "negative"),
        ("scriptlang.tensor([[1, 2], [3]])", "equal length"),
        ("scriptlang.rand(2, dtype=scriptlang.int64)", ""),
        ("scriptlang.tensor([1, 2**70])", ""),
        ("scriptlang.full((2,), 'text')", ""),
    ],
)
def test_errors_are_those_of_the_python_engine(call, message):
    """They are told by the Python engine, which imports numpy."""
    told = []
    for prelude in ("import numpy\n", ""):
        code = f"{prelude}import scriptlang\ntry:\n    {call}\nexcept Exception as e:\n"
        done = children.run(
            "-c", code + "    print(type(e).__name__, e)", capture_output=True, text=True
        )
        told.append(done.stdout)
    assert told[0] == told[1] and message in told[0] and told[0].strip(), told
