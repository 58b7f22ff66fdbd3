"""No operator ends the process under a limit of memory on the Python engine, or goes far beyond
it: neither with a large result (`large_operators`), nor when any of numpy's requests is refused,
nor beside threads without limits."""

import json
import subprocess
import sys
import threading

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

from scriptlang import Limits
from scriptlang.errors import LimitError
from scriptlang.jit import CompilationUnit
from scriptlang.ops.families import create as tensors
from tests import children

from .large_operators import LIMIT

PARTS = 12
MOST = 4 * LIMIT
"""What numpy holds besides its arrays, in the worst case: work space of LAPACK and of sorts."""


def calls(part: int, parts: int) -> list:
    child = children.run(
        "-m",
        "tests.attacks.large_operators",
        part,
        parts,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=600,
    )
    lines = [json.loads(line) for line in child.stdout.splitlines()]
    assert child.returncode == 0, (child.returncode, lines[-1:], child.stderr[-500:])
    return [line for line in lines if len(line) > 2]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux does")
@pytest.mark.parametrize("part", range(PARTS))
def test_large_operators_end_in_results_or_errors(part):
    if "native" not in available():
        pytest.skip("the extension module, which counts, is not there")
    done = calls(part, PARTS)
    assert done and not [line for line in done if line[3] > MOST]


FIRST = {
    "eye": "torch.eye(1000).sum()",
    "randn": "torch.randn([100000]).sum()",
    "zeros": "torch.zeros([1000, 1000]).sum()",
    "a product": "(torch.ones([500, 500]) @ torch.ones([500, 500])).sum()",
    "a sort": "torch.sort(torch.rand([100000]))[0].sum()",
    "a decomposition": "torch.linalg_svdvals(torch.rand([200, 200])).sum()",
}
"""What is done first in a process: modules of numpy are imported by it."""

PROGRAM = """
import scriptlang
from scriptlang.jit import CompilationUnit
from scriptlang.ops.families import create as tensors

unit = CompilationUnit("def f(x: Tensor):\\n    return {body}\\n")
run = type(unit.f)(unit.f._function, "python", None, scriptlang.Limits(memory=1 << 28, seconds=60))
print(run(tensors.filled([2], 1, tensors.chosen(6))).numel())
"""


@pytest.mark.parametrize("name", FIRST)
def test_the_first_large_array_of_a_process(name):
    child = children.run(
        "-c",
        PROGRAM.format(body=FIRST[name]),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=120,
    )
    assert (child.returncode, child.stdout) == (0, "1\n"), child.stderr[-2000:]


def function(body: str, limits: Limits | None):
    unit = CompilationUnit(f"def f(x: Tensor):\n    return {body}\n")
    return type(unit.f)(unit.f._function, "python", None, limits)


def test_the_limit_of_one_thread_is_not_that_of_another():
    bounded = function("torch.ones([1 << 20]) + 1", Limits(memory=1 << 16))
    free = function("torch.ones([1 << 20]) + 1", None)
    x, wrong = tensors.filled([2], 1, tensors.chosen(6)), []

    def refused():
        for _ in range(200):
            try:
                bounded(x)
                wrong.append("no LimitError")
            except LimitError:
                pass

    def granted():
        for _ in range(50):
            if free(x).numel() != 1 << 20 or np.ones(1 << 20).size != 1 << 20:
                wrong.append("no result")

    threads = [threading.Thread(target=f) for f in (refused, granted, refused, granted)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_arrays_outlive_the_run_that_made_them():
    made = [
        function("torch.ones([1 << 16]) * 3", Limits(memory=1 << 24))(
            tensors.filled([2], 1, tensors.chosen(6))
        )
        for _ in range(100)
    ]
    assert all(float(m.numpy()[-1]) == 3 for m in made)
    del made
    assert np.ones(1 << 16).sum() == 1 << 16
