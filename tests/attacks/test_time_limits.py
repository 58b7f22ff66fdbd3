"""One operator that would take seconds or minutes ends soon after its limit of time."""

import ast
import json
import os
import select
import signal
import time

import pytest
from scriptlang.interpreter.engine import available

from scriptlang import Limits
from scriptlang.jit import CompilationUnit
from scriptlang.ops.families import create as tensors

from .long_operators import LONG

SECONDS = 0.2
LATEST = 0.6
"""Of the thread's time: a busy machine lets it wait besides."""


STRINGS = "'\""


class Inputs(ast.NodeTransformer):
    """Takes the arguments of the outermost operator out of an expression: they are made before,
    without a limit, so that the limit is met in the operator."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def of(self, text: str) -> str:
        node = ast.parse(text, mode="eval").body
        return ast.unparse(self.outer(node))

    def outer(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Subscript) or getattr(node, "func", None) and self.is_len(node):
            inner = "value" if isinstance(node, ast.Subscript) else "args"
            found = getattr(node, inner)
            setattr(node, inner, [self.outer(found[0])] if inner == "args" else self.outer(found))
        elif isinstance(node, ast.BinOp):
            node.left, node.right = self.taken(node.left), self.taken(node.right)
        elif isinstance(node, ast.Call):
            if not ast.unparse(node.func).startswith("torch."):
                node.func.value = self.taken(node.func.value)
            node.args = [self.taken(a) for a in node.args]
        return node

    @staticmethod
    def is_len(node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and ast.unparse(node.func) == "len"

    def taken(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.List):
            node.elts = [self.taken(e) for e in node.elts]
        elif any(
            isinstance(n, (ast.Call, ast.Name)) and not self.is_name_of_module(n)
            for n in ast.walk(node)
        ):
            self.made.append(ast.unparse(node))
            return ast.Name(f"a{len(self.made) - 1}")
        return node

    @staticmethod
    def is_name_of_module(node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == "torch"


def outcome(name: str, limits: Limits | None = Limits(seconds=SECONDS)) -> tuple[str, float]:
    """(what it ended with, seconds of the processor) of a case on the native engine, here."""
    inputs = Inputs()
    text = inputs.of(LONG[name])
    made = "".join(f"{m}, " for m in inputs.made)
    kinds = ", ".join(
        f"a{i}: {'str' if m[0] in STRINGS else 'Tensor'}" for i, m in enumerate(inputs.made)
    )
    unit = CompilationUnit(
        f"def make(x: Tensor):\n    return ({made})\ndef f({kinds}):\n    return {text}\n"
    )

    def runner(function, limits):
        return type(function)(function._function, "native", None, limits)

    x = tensors.filled([4], 1, tensors.chosen(6))
    values = runner(unit.make, None)(x) if inputs.made else ()
    run = runner(unit.f, limits)
    start, busy = time.monotonic(), time.thread_time()
    try:
        run(*values)
        ended = "nothing"
    except BaseException as error:
        ended = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    return ended, min(time.monotonic() - start, time.thread_time() - busy)


def in_child(name: str, patience: float = 20) -> tuple[str, float]:
    """`outcome` in a child of this process, which is killed when it does not end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, json.dumps(outcome(name)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    ready = select.select([reader], [], [], patience)[0]
    text = os.read(reader, 1 << 16) if ready else b""
    os.close(reader)
    if not ready:
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if not ready:
        return "it did not end", patience
    return json.loads(text) if text else (f"signal {os.WTERMSIG(status)}", 0.0)


FEW = {
    "conv2d",
    "matmul",
    "svd",
    "sort of ints",
    "fft",
    "max_pool1d",
    "max_pool2d",
    "randperm",
    "multinomial",
    "lstm",
    "find",
    "zeta",
    "quantile",
    "softmax",
    "cdist 3",
    "conv_transpose2d",
    "combinations",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in FEW else pytest.mark.slow) for n in LONG]
)
def test_one_long_operator_ends_at_its_limit(name):
    if "native" not in available():
        pytest.skip("the native engine is not there")
    ended, seconds = in_child(name)
    assert ended.startswith("LimitError") and seconds < LATEST
