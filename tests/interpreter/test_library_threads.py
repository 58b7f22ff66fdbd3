"""Operators in Python that native programs call: while threads take turns, after Ctrl-C, where what
they were given changes, and where the process ends."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import scriptlang
from scriptlang import Tensor, nn
from scriptlang.library import Library

ROOT = Path(__file__).resolve().parent.parent.parent

lib = Library("turns", "FRAGMENT")
lib.define("cross(Tensor x, int k) -> Tensor")
lib.define("deep(Tensor x, int k) -> Tensor")
lib.define("slow(Tensor x) -> Tensor")
lib.define("meddle(Tensor x, Tensor[] many) -> Tensor")


class Counting(nn.Module):
    """Writes its attributes, so that its runs take turns."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.register_buffer("last", scriptlang.zeros(3))

    def forward(self, x: Tensor, k: int) -> Tensor:
        self.calls += 1
        y = scriptlang.ops.turns.cross(x + self.last * 0, k)
        self.last = y
        return y


class Deep(nn.Module):
    def forward(self, x: Tensor, k: int) -> Tensor:
        return scriptlang.ops.turns.deep(x, k) + 1


class Endless(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        while bool(x.sum() > -1):
            x = scriptlang.ops.turns.slow(x)
        return x


class Meddled(nn.Module):
    many: list[Tensor]

    def __init__(self):
        super().__init__()
        self.register_buffer("one", scriptlang.ones(4))
        self.many = [scriptlang.ones(4), scriptlang.ones(4)]

    def forward(self) -> Tensor:
        return scriptlang.ops.turns.meddle(self.one, self.many)

    @scriptlang.jit.export
    def change(self, x: Tensor) -> None:
        self.one = x
        self.many.clear()
        for _ in range(50):
            self.many.append(x + 1)


def loaded(module):
    buffer = io.BytesIO()
    scriptlang.save(scriptlang.script(module), buffer)
    return scriptlang.load(io.BytesIO(buffer.getvalue()), engine="native")


def test_threads_whose_programs_call_each_other():
    modules = [loaded(Counting()), loaded(Counting())]

    def cross(x, k):
        return modules[k % 2](x, k - 1) if k else x + 1

    lib.impl("cross", cross)
    failures = []

    def work(n):
        try:
            for _ in range(50):
                assert modules[n % 2](scriptlang.ones(3), 4).tolist() == [2, 2, 2]
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not failures and not any(t.is_alive() for t in threads)
    assert modules[0].calls + modules[1].calls == 4 * 50 * 5


def test_calls_inside_each_other():
    module = loaded(Deep())
    lib.impl("deep", lambda x, k: module(x, k - 1) if k else x)
    assert module(scriptlang.zeros(1), 30).tolist() == [31]
    with pytest.raises(RecursionError):
        module(scriptlang.zeros(1), 10**6)
    assert module(scriptlang.zeros(1), 3).tolist() == [4]


def test_ctrl_c_ends_a_program_that_calls_python():
    lib.impl("slow", lambda x: x + 1)
    module = loaded(Endless())
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        module(scriptlang.zeros(1))
    assert time.monotonic() - start < 30


def test_arguments_live_while_what_they_came_from_changes():
    module = loaded(Meddled())

    def meddle(x, many):
        for k in range(20):
            module.change(scriptlang.full([4], float(k)))
        assert x.tolist() == [1] * 4 and [t.tolist() for t in many] == [[1] * 4] * 2
        return x

    lib.impl("meddle", meddle)
    assert module().tolist() == [1] * 4
    assert module.one.tolist() == [19] * 4 and len(module.many) == 50


ENDS = """
import sys; sys.path.insert(0, {root!r})
import io, threading, time, scriptlang
from scriptlang.jit import CompilationUnit
lib = scriptlang.library.Library("ends", "FRAGMENT")
lib.define("op(Tensor x) -> Tensor")
lib.impl("op", lambda x: x + 1)
unit = CompilationUnit('''
def f(x: Tensor):
    while bool(x.sum() > -1):
        {body}
        x = x + 1
    return x
''')
threading.Thread(target=lambda: unit.f(scriptlang.zeros(1)), daemon=True).start()
time.sleep(0.3)
"""


BODIES = ["x = torch.ops.ends.op(x)", "print(1)", "pass"]


@pytest.mark.parametrize("body", BODIES)
def test_a_daemon_that_wants_python_does_not_end_the_process(body):
    """Whether the thread wants the GIL while the process ends is chance: several try."""
    text = ENDS.format(root=os.fspath(ROOT), body=body)
    command = [sys.executable, "-c", text]
    processes = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    for process in processes:
        with process:
            _, errors = process.communicate(timeout=120)
        # Python itself gives up where a daemon has the lock of sys.stdout in the end.
        assert process.returncode == 0 or b"_enter_buffered_busy" in errors, errors
