"""Many threads use one module at the same time: results, counts, what changes meanwhile.

With the GIL they take turns outside of programs; in a Python without one (3.13t) conversions run at
the same time, too.
"""

from __future__ import annotations

import io
import sysconfig
import threading

import numpy as np
import pytest
from scriptlang.interpreter import native

import scriptlang
from scriptlang import Tensor, nn
from tests import children

pytestmark = pytest.mark.skipif(bool(native.why_absent()), reason="the native engine is not built")

THREADS = 8


class Mixed(nn.Module):
    """Takes what conversions know of, and writes when it is asked to."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("last", scriptlang.zeros(4))
        self.calls = 0

    def forward(self, x: Tensor, k: int = 0) -> Tensor:
        return scriptlang.tanh(self.layer(x)) + k

    @scriptlang.jit.export
    def summed(self, many: list[Tensor], named: dict[str, Tensor]) -> tuple[Tensor, int]:
        total = scriptlang.zeros(4)
        for x in many:
            total = total + x
        for key in named.keys():
            total = total + named[key]
        return total, len(many)

    @scriptlang.jit.export
    def count(self, x: Tensor) -> int:
        self.calls += 1
        self.last = x
        return self.calls


@pytest.fixture
def module():
    scriptlang.manual_seed(3)
    buffer = io.BytesIO()
    scriptlang.save(scriptlang.script(Mixed()), buffer)
    return scriptlang.load(io.BytesIO(buffer.getvalue()), engine="native")


def together(*works):
    """Runs the works at the same time, each in a thread; raises the first error."""
    gate, errors = threading.Barrier(len(works)), []

    def run(work):
        gate.wait()
        try:
            work()
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for t in threads:
        t.start()
    for t in threads:
        t.join(300)
    assert not any(t.is_alive() for t in threads)
    if errors:
        raise errors[0]


def test_each_thread_gets_its_own_result(module):
    inputs = [scriptlang.full([2, 4], float(n)) for n in range(THREADS)]
    with scriptlang.no_grad():
        expected = [module(x, n).numpy() for n, x in enumerate(inputs)]

    def work(n):
        array = inputs[n].numpy()
        with scriptlang.no_grad():
            for k in range(200):
                given = inputs[n] if k % 2 else array
                assert np.array_equal(module(given, k=n).numpy(), expected[n])

    together(*[lambda n=n: work(n) for n in range(THREADS)])


def test_no_call_is_lost(module):
    seen = [[] for _ in range(THREADS)]

    def work(n):
        for _ in range(100):
            seen[n].append(module.count(scriptlang.full([4], float(n))))

    together(*[lambda n=n: work(n) for n in range(THREADS)])
    assert module.calls == THREADS * 100
    assert sorted(k for own in seen for k in own) == list(range(1, THREADS * 100 + 1))
    assert all(own == sorted(own) for own in seen)


def test_an_attribute_is_read_while_it_is_written(module):
    done = threading.Event()

    def write(n):
        for _ in range(30):
            module.count(scriptlang.full([4], float(n)))
            module.last = scriptlang.full([4], float(n))

    def read():
        while not done.is_set():
            values = module.last.tolist()
            assert len(set(values)) == 1 and len(values) == 4
            assert module.layer.weight.shape == (4, 4)

    def writers():
        try:
            together(*[lambda n=n: write(n) for n in range(3)])
        finally:
            done.set()

    together(writers, read, read)


def test_lists_and_dicts_change_while_they_are_passed(module):
    many = [scriptlang.ones(4) for _ in range(20)]
    named = {str(k): scriptlang.ones(4) for k in range(20)}
    done = threading.Event()

    def change():
        try:
            for k in range(400):
                if k % 2:
                    many.clear()
                    named.clear()
                many.append(scriptlang.ones(4))
                named[str(k)] = scriptlang.ones(4)
        finally:
            done.set()

    def call():
        while not done.is_set():
            try:
                total, _ = module.summed(many, named)
            except RuntimeError as e:  # Python's own, of a dict that it walks through
                assert "changed size during iteration" in str(e)
                continue
            assert len(set(total.tolist())) == 1

    together(change, *[call] * (THREADS - 1))


def test_a_tensor_gets_another_shape_while_it_is_passed(module):
    shared = scriptlang.ones(64, 4)
    done = threading.Event()

    def change():
        try:
            for k in range(1000):
                shared.resize_(1 + k % 64, 4)
                shared.fill_(1.0)
        finally:
            done.set()

    def call():
        with scriptlang.no_grad():
            while not done.is_set():
                try:
                    assert module(shared).shape[1] == 4
                except (RuntimeError, ValueError):  # its shape and its memory were of two moments
                    pass

    together(change, *[call] * 3)


def test_gradients_of_one_module_in_threads(module):
    def gradients(n):
        x = scriptlang.full([2, 4], float(n) / 8, requires_grad=True)
        module(x).sum().backward()
        return x.grad.numpy()

    expected = [gradients(n) for n in range(THREADS)]

    def work(n):
        for _ in range(20):
            assert np.allclose(gradients(n), expected[n])

    together(*[lambda n=n: work(n) for n in range(THREADS)])


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python always has its lock"
)
def test_the_lock_of_python_stays_off():
    program = "import sys, scriptlang; scriptlang.info(); print(sys._is_gil_enabled())"
    command = "-W", "error::RuntimeWarning", "-c", program
    done = children.run(*command, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "False", done.stderr
