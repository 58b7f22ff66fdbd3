"""fork and wait give the same on both engines, from an archive, in plain Python and in PyTorch."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from scriptlang.frontend.python.script import compile_text
from scriptlang.interpreter import engine as engines
from scriptlang.interpreter.code import Instruction, to_tuple
from scriptlang.interpreter.native import load
from scriptlang.interpreter.prepare import code_of
from scriptlang.interpreter.reach import reachable
from scriptlang.interpreter.verify import verify

import scriptlang
from scriptlang.errors import ArchiveError, CompileError, script_stack
from scriptlang.programs.module import ScriptFunction
from scriptlang.records import replace
from tests.frontend import fork_programs

RUNS = [pytest.param(f, expected, id=f.__name__) for f, expected in fork_programs.RUNS]
ENGINES = engines.available()


def x():
    return scriptlang.from_numpy(np.arange(3, dtype=np.float32))


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("function, expected", RUNS)
def test_programs_give_what_they_give_in_order(function, expected, name):
    assert scriptlang.script(function, engine=name)(x()).tolist() == expected
    assert function(x()).tolist() == expected


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("function, expected", RUNS)
def test_they_are_stored_and_read(function, expected, name):
    file = io.BytesIO()
    scriptlang.script(function).save(file)
    assert scriptlang.load(file.getvalue(), engine=name)(x()).tolist() == expected


@pytest.mark.oracle
@pytest.mark.parametrize("function, expected", RUNS)
def test_pytorch_runs_them(function, expected):
    import torch

    file = io.BytesIO()
    scriptlang.script(function).save(file)
    file.seek(0)
    loaded = torch.jit.load(file)
    assert loaded(torch.arange(3, dtype=torch.float32)).tolist() == expected
    again = io.BytesIO(loaded.save_to_buffer())
    assert scriptlang.load(again)(x()).tolist() == expected


def fails_late(x):
    f = scriptlang.jit.fork(fork_programs.fails, x)
    print("between")
    return scriptlang.jit.wait(f)


@pytest.mark.parametrize("name", ENGINES)
def test_an_error_waits_for_wait(name, capsys):
    with pytest.raises(ValueError, match="positive") as caught:
        scriptlang.script(fails_late, engine=name)(x())
    assert capsys.readouterr().out == "between\n"
    names = [f.function.rpartition(".")[2] for f in script_stack(caught.value)]
    assert names == ["fails_late", "fork", "fails"]


def gives_futures(x):
    return scriptlang.jit.fork(fork_programs.add, x, 1), scriptlang.jit.fork(fork_programs.fails, x)


@pytest.mark.parametrize("name", ENGINES)
def test_futures_come_out(name):
    good, bad = scriptlang.script(gives_futures, engine=name)(x())
    assert isinstance(good, scriptlang.jit.Future) and good.done()
    assert good.wait().tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="positive"):
        bad.wait()


def test_a_limit_ends_the_program_not_the_fork():
    limits = scriptlang.Limits(instructions=200)
    with pytest.raises(scriptlang.LimitError):
        scriptlang.script(fork_forever, engine="python", limits=limits)(x())


def forever(x):
    while True:
        x.add_(1)
    return x


def fork_forever(x):
    f = scriptlang.jit.fork(forever, x)
    return x


def test_code_is_printed_as_pytorch_prints_it():
    code = scriptlang.script(fork_programs.both).code
    assert "def __forked_function():" in code and "f = fork(__forked_function)" in code
    code = scriptlang.script(fork_programs.awaited).code
    assert "a = awaitable(__awaitable_function)" in code


def test_the_lite_interpreter_is_not_given_what_it_lacks():
    file = io.BytesIO()
    scriptlang.script(fork_programs.a_function).save(file)
    names = zipfile.ZipFile(file).namelist()
    assert any(n.endswith("scriptlang/program.pkl") for n in names)


def test_graphs_show_the_body_apart():
    text = str(scriptlang.script(fork_programs.a_function).graph)
    assert "%f : Future[Tensor] = prim::fork_0(%x)" in text
    assert "with prim::fork_0 = graph(%x : Tensor):" in text


REFUSED = {
    "torch.jit.fork()": "fork takes a function",
    "torch.jit.fork(g, x)": "no value",
    "torch.jit.wait(x)": "wait",
    "torch.jit.fork(g, x, 1) + 1": "add",
}
"""Expression -> a word of the error."""


@pytest.mark.parametrize("expression", REFUSED)
def test_refused(expression):
    text = f"def g(x, n: int):\n    return x + n\ndef f(x):\n    return {expression}\n"
    with pytest.raises(CompileError) as caught:
        compile_text(text, {"torch": scriptlang})
    assert caught.value.span is not None and caught.value.span.line == 4


@pytest.mark.parametrize("changed", [{"n": 0}, {"x": 7}, {"n": 2}, {"op": "WAIT"}])
def test_foreign_code_is_checked(changed):
    code = code_of(scriptlang.script(fork_programs.a_function)._function)
    instructions = [i._replace(**changed) if i.op == "FORK" else i for i in code.instructions]
    verify(code)
    with pytest.raises(ArchiveError):
        verify(replace(code, instructions=instructions))


def test_text_programs_see_closures():
    functions = compile_text(
        "def f(x, n: int):\n"
        "    def inner(y):\n"
        "        return y * n\n"
        "    a = torch.jit.fork(inner, x)\n"
        "    b = torch.jit.fork(inner, x + 1)\n"
        "    return torch.jit.wait(a) + torch.jit.wait(b)\n",
        {"torch": scriptlang},
    )
    for name in ENGINES:
        assert ScriptFunction(functions["f"], name)(x(), 4).tolist() == [4.0, 12.0, 20.0]


@pytest.mark.parametrize("name", ENGINES)
def test_awaitables_run_when_they_are_asked(name, capfd):
    found = scriptlang.script(fork_programs.attributes_of_an_awaitable, engine=name)(x())
    assert found.tolist() == [3.0, 6.0, 9.0]
    assert capfd.readouterr().out == "first\nmade\n"


def test_python_may_wait_for_an_awaitable():
    future = scriptlang.script(fork_programs.gives_an_awaitable, engine="python")(x())
    assert not future.done() and future.wait().tolist() == [2.0, 3.0, 4.0] and future.done()


@pytest.mark.skipif("native" not in ENGINES, reason="the native engine is not there")
@pytest.mark.parametrize(
    "changed", [{"n": 0}, {"n": 2}, {"x": 7}, {"op": "WAIT"}, {"op": "AWAITABLE", "n": 0}]
)
def test_the_native_engine_checks_foreign_code(changed):
    native = load()[0]
    codes = reachable(scriptlang.script(fork_programs.a_function)._function)
    trees = [to_tuple(c) for c in codes.values()]
    native.Program(tuple(trees), {})
    name, table, *rest = trees[0]
    fields = dict(table)
    assert any(i[0] == "FORK" for i in fields["instructions"])
    fields["instructions"] = tuple(
        tuple(Instruction(*i)._replace(**changed)) if i[0] == "FORK" else i
        for i in fields["instructions"]
    )
    with pytest.raises(native.NativeError, match="ArchiveError|unsound"):
        native.Program(((name, tuple(fields.items()), *rest), *trees[1:]), {})


def asks_twice(x):
    a = scriptlang.jit._awaitable(fork_programs.fails, x)
    f = scriptlang.jit.fork(asks, a)
    print("asked")
    return scriptlang.jit._awaitable_wait(a)


def asks(a: scriptlang.jit.Await[scriptlang.Tensor]) -> scriptlang.Tensor:
    return scriptlang.jit._awaitable_wait(a)


@pytest.mark.parametrize("name", ENGINES)
def test_an_awaitable_that_fails_fails_again(name):
    with pytest.raises(ValueError, match="positive"):
        scriptlang.script(asks_twice, engine=name)(x())
