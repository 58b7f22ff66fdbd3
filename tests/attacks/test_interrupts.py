"""Ctrl-C ends a native call soon, as KeyboardInterrupt, in a long operator and in a long loop."""

import signal
import subprocess
import sys
import textwrap
import time

import pytest
from scriptlang.interpreter.engine import available

import scriptlang
from tests import children

BODIES = {
    "an operator": "return torch.svd(torch.randn([3000, 3000]))[1]",
    "a product": "return torch.ones([9000, 9000]) @ torch.ones([9000, 9000])",
    "a loop": "n = 0\n        while x.size(0) > 0:\n            n += 1\n        return x + n",
    "small operators": "while x.size(0) > 0:\n            x = x + 1\n        return x",
}

PROGRAM = """
import signal, sys, time
import scriptlang
from scriptlang.jit import CompilationUnit
from scriptlang.ops.families import create as tensors

unit = CompilationUnit('''
    def f(x: Tensor):
        {body}
''')
run = type(unit.f)(unit.f._function, "native", None, None)
x = tensors.filled([2], 1, tensors.chosen(6))
scriptlang.set_num_threads({threads})
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
print("ready", flush=True)
try:
    run(x)
except KeyboardInterrupt:
    print("interrupted", flush=True)
y = type(unit.f)(CompilationUnit("def g(x: Tensor):\\n    return x + 1\\n").g._function, "native",
                 None, None)(x)
print("it goes on" if y.tolist() == [2.0, 2.0] else y, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", BODIES)
def test_an_interrupt_ends_a_native_call(name, threads):
    if "native" not in available():
        pytest.skip("the native engine is not there")
    source = textwrap.dedent(PROGRAM).format(body=BODIES[name], threads=threads)
    child = children.start("-c", source, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)  # the call is under way
        child.send_signal(signal.SIGINT)
        start = time.monotonic()
        assert child.stdout.readline() == "interrupted\n"
        assert time.monotonic() - start < 5  # 0.1 s where the machine is idle
        assert child.stdout.readline() == "it goes on\n"
    finally:
        child.kill()
        child.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_signal_ends_going_back_through_a_native_call():
    if "native" not in available():
        pytest.skip("the native engine is not there")

    def powers(x):
        for _ in range(200000):
            x = x * 1.0001
        return x.sum()

    # Long enough that the 40 ms between two looks at signals are a small part of it everywhere.
    x = scriptlang.ones(30000, requires_grad=True)
    y = scriptlang.script(powers, engine="native")(x)
    assert type(y.grad_fn).__name__ == "ProgramNode"
    start = time.process_time()  # of the processor: what else the machine does is not counted
    y.backward(retain_graph=True)
    whole = time.process_time() - start

    def stop(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGPROF, stop)
    try:
        signal.setitimer(signal.ITIMER_PROF, whole / 8)
        start = time.process_time()
        with pytest.raises(KeyboardInterrupt):
            y.backward(retain_graph=True)
        assert time.process_time() - start < whole * 0.7, whole
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    y.backward()
