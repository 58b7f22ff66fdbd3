"""The autograd mode of a thread is what programs find, on both engines."""

from __future__ import annotations

from threading import Thread

import pytest
from scriptlang.interpreter import native

import scriptlang
from scriptlang.ops.calling.current import engine, mode


@scriptlang.script
def enabled(x: scriptlang.Tensor) -> bool:
    return scriptlang.is_grad_enabled()


@scriptlang.script
def enabled_inside(x: scriptlang.Tensor):
    with scriptlang.no_grad():
        inside = scriptlang.is_grad_enabled()
    return inside, scriptlang.is_grad_enabled()


@pytest.fixture(params=("python", "native", "auto"))
def ask(request):
    if request.param == "native" and native.load()[0] is None:
        pytest.skip(native.load()[1])

    def run(program):
        function = scriptlang.ScriptFunction(program._function, request.param)
        return function(scriptlang.ones(2))

    return run


def test_programs_find_the_mode_of_their_caller(ask):
    assert ask(enabled) is True
    with scriptlang.no_grad():
        assert ask(enabled) is False
        with scriptlang.enable_grad():
            assert ask(enabled) is True
        assert ask(enabled) is False
    with scriptlang.inference_mode():
        assert ask(enabled) is False
    assert ask(enabled) is True


def test_a_program_that_sets_the_mode_leaves_that_of_its_caller(ask):
    assert ask(enabled_inside) == (False, True)
    with scriptlang.no_grad():
        assert ask(enabled_inside) == (False, False)
    assert ask(enabled) is True


def test_the_mode_is_set_at_once_and_restored(ask):
    before = scriptlang.set_grad_enabled(False)
    assert ask(enabled) is False
    before.__exit__(None, None, None)
    assert ask(enabled) is True


def test_decorated_functions_call_programs_in_their_mode(ask):
    assert scriptlang.no_grad(ask)(enabled) is False
    assert ask(enabled) is True


def test_each_thread_has_a_mode_of_its_own(ask):
    found = []
    with scriptlang.no_grad():
        thread = Thread(target=lambda: found.append(ask(enabled)))
        thread.start()
        thread.join()
        assert found == [True] and ask(enabled) is False


def test_a_forward_of_a_function_runs_without_recording(ask):
    found = []

    class Twice(scriptlang.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            found.append(ask(enabled))
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            found.append(ask(enabled))
            return grad * 2

    x = scriptlang.ones(2, requires_grad=True)
    Twice.apply(x).sum().backward()
    assert found == [False, False] and ask(enabled) is True
    Twice.apply(x).sum().backward(scriptlang.tensor(1.0), create_graph=True)
    assert found == [False, False, False, True] and ask(enabled) is True


def test_an_engine_that_is_loaded_later_takes_the_mode():
    module, why = native.load()
    if module is None:
        pytest.skip(why)
    asked = scriptlang.ScriptFunction(enabled._function, "native")
    assert asked(scriptlang.ones(2)) is True
    kept = engine[:]
    engine.clear()
    try:
        mode.turn(False)
        assert asked(scriptlang.ones(2)) is True  # nobody has told the engine
        native.load.__wrapped__()
        assert asked(scriptlang.ones(2)) is False and engine
    finally:
        engine[:] = kept
        mode.turn(True)
