"""The default dtype of the process is that of programs, whichever engine was chosen before."""

import io

import pytest
from scriptlang.interpreter import native

import scriptlang

NATIVE = pytest.mark.skipif(native.load()[0] is None, reason="there is no native engine")


@scriptlang.script
def made(x: scriptlang.Tensor):
    return scriptlang.ones(2), scriptlang.tensor(1.5), x.int() / 2, scriptlang.rand(1)


class Counter(scriptlang.nn.Module):
    seen: list[int]

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x: scriptlang.Tensor):
        self.seen.append(1)
        return scriptlang.zeros(2), len(self.seen)


@pytest.fixture
def double():
    scriptlang.set_default_dtype(scriptlang.float64)
    yield
    scriptlang.set_default_dtype(scriptlang.float32)


def dtypes_of(function):
    return {t.dtype for t in function(scriptlang.ones(2))}


@pytest.mark.parametrize("engine", ("python", "auto"))
def test_programs_make_tensors_of_the_default_dtype(engine):
    function = scriptlang.ScriptFunction(made._function, engine)
    for _ in range(3):  # later calls may take a fast path
        assert dtypes_of(function) == {scriptlang.float32}
    for _ in range(2):
        scriptlang.set_default_dtype(scriptlang.float64)
        try:
            assert dtypes_of(function) == {scriptlang.float64}
            assert dtypes_of(function) == {scriptlang.float64}
        finally:
            scriptlang.set_default_dtype(scriptlang.float32)
        assert dtypes_of(function) == {scriptlang.float32}


@NATIVE
def test_the_native_engine_alone_refuses_another_one(double):
    function = scriptlang.ScriptFunction(made._function, "native")
    with pytest.raises(NotImplementedError, match=r"float32, and it is torch.float64: call"):
        function(scriptlang.ones(2))
    scriptlang.set_default_dtype(scriptlang.float32)
    assert dtypes_of(function) == {scriptlang.float32}


def test_loaded_archives_keep_their_state(double):
    file = io.BytesIO()
    scriptlang.script(Counter()).save(file)
    scriptlang.set_default_dtype(scriptlang.float32)
    m = scriptlang.load(io.BytesIO(file.getvalue()))
    x = scriptlang.ones(2)
    found = []
    for dtype in (scriptlang.float32, scriptlang.float64, scriptlang.float32):
        scriptlang.set_default_dtype(dtype)
        y, count = m(x)
        found.append((y.dtype is dtype, count))
    assert found == [(True, 1), (True, 2), (True, 3)]


def test_profiles_and_traces_see_it_too(double):
    function = scriptlang.ScriptFunction(made._function, "auto")
    with scriptlang.profile() as p:
        assert dtypes_of(function) == {scriptlang.float64}
    assert p.events
    traced = scriptlang.trace(lambda x: x + scriptlang.ones(2), (scriptlang.ones(2),))
    assert traced(scriptlang.ones(2)).dtype is scriptlang.float64
    assert dtypes_of(function) == {scriptlang.float64}
