"""The short ways: of calls from Python, and of operators on few elements."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle

import numpy as np
import pytest
from scriptlang.interpreter import native

import scriptlang
import scriptlang as torch
from scriptlang.errors import RunError, script_stack, stack_text
from scriptlang.programs.module import ScriptFunction, ScriptMethod
from scriptlang.programs.optimizing import optimize

pytestmark = pytest.mark.skipif(bool(native.why_absent()), reason="the native engine is not built")


def scripted(function):
    return scriptlang.script(function, engine="native")


def on_both(function, *args):
    """What both engines give; the error's text where both refuse."""
    results = []
    for name in ("python", "native"):
        try:
            results.append(ScriptFunction(function._function, name)(*args))
        except Exception as e:
            results.append(f"{type(e).__name__}: {e}".splitlines()[0])
    return results


# ---- calls


def test_a_result_keeps_its_memory_when_everything_else_is_gone():
    @scripted
    def same(x):
        return x, x[1:]

    y, tail = same(np.arange(1000.0))
    gc.collect()
    np.testing.assert_array_equal(y.numpy(), np.arange(1000.0))
    np.testing.assert_array_equal(tail.numpy(), np.arange(1.0, 1000.0))


def test_columns_first_and_replaced_memory():
    @scripted
    def twice(x):
        return x * 2

    columns = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    x = scriptlang.from_numpy(columns)
    np.testing.assert_array_equal(twice(x).numpy(), columns * 2)
    x._storage.data = np.arange(10.0, 16.0).view(np.uint8)
    np.testing.assert_array_equal(twice(x).numpy(), np.arange(20.0, 32.0, 2).reshape(3, 2).T)


def test_subclasses_of_arrays_are_converted():
    class Named(np.ndarray):
        pass

    @scripted
    def twice(x):
        return x * 2

    assert twice(np.arange(3.0).view(Named)).tolist() == [0, 2, 4]


class Scale(torch.nn.Module):
    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, x, more: float = 0.0):
        return x * self.factor + more


def test_a_module_is_called_as_it_is_now():
    m, x = scriptlang.script(Scale(2.0).eval(), engine="native"), np.ones(2, np.float32)
    assert [m(x).tolist() for _ in range(3)] == [[2, 2]] * 3
    m.factor = 3.0
    assert m(x).tolist() == [3, 3] and m(x, more=1.0).tolist() == [4, 4]
    assert m(x, 1).tolist() == [4, 4]  # an int where a float is wanted
    with pytest.raises(RunError, match="missing value for argument 'x'"):
        m()
    fast = optimize(m)
    assert fast(x).tolist() == fast(x).tolist() == m(x).tolist() == [3, 3]


def test_limits_hold_after_calls_without_limits():
    @scripted
    def loop(n: int):
        i = 0
        while i < n:
            i += 1
        return i

    assert loop(5) == loop(6) - 1 == 5
    bounded = ScriptFunction(loop._function, "native", limits=scriptlang.Limits(instructions=1000))
    with pytest.raises(scriptlang.LimitError):
        bounded(10**6)
    assert loop(10**5) == 10**5


@scriptlang.script
class Pair:
    def __init__(self, a: torch.Tensor, n: int):
        self.a = a
        self.n = n


class Several(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x + 1

    @torch.jit.export
    def parts(self, x, n: int):
        return [x, x * n], {"n": n}, (x.sum(), "text"), None

    @torch.jit.export
    def pair(self, x, n: int):
        return Pair(x, n)

    @torch.jit.export
    def draw(self, n: int):
        return torch.rand(n)

    @torch.jit.export
    def refuse(self, n: int):
        assert n < 3, "too many"
        return n


@pytest.fixture
def several():
    return scriptlang.script(Several().eval(), engine="native")


def test_every_call_gives_what_the_first_gives(several):
    x = np.ones(3, np.float32)
    for n in range(4):
        lists, named, both, nothing = several.parts(x, n)
        assert [t.tolist() for t in lists] == [[1] * 3, [n] * 3] and named == {"n": n}
        assert both[0].item() == 3 and both[1] == "text" and nothing is None
        pair = several.pair(x, n)
        assert isinstance(pair, Pair) and (pair.n, pair.a.tolist()) == (n, [1, 1, 1])
        assert several.forward(x).tolist() == several(x).tolist() == [2, 2, 2]
        assert several.calls == 2 * (n + 1)


def test_a_method_finds_its_short_way_at_its_first_call(several, monkeypatch):
    parts, x = several.parts, np.ones(3, np.float32)  # before any call of it
    first = parts(x, 2)
    slow = []
    monkeypatch.setattr(ScriptMethod, "_call_", lambda self, *args: slow.append(args))
    assert [t.tolist() for t in parts(x, 3)[0]] == [[1] * 3, [3] * 3] and not slow
    assert [t.tolist() for t in first[0]] == [[1] * 3, [2] * 3]


def test_what_records_nothing_takes_the_short_way_after_parameters_were_asked(monkeypatch):
    m, x = scriptlang.script(torch.nn.Linear(3, 2), engine="native"), torch.ones(4, 3)
    weights = list(m.parameters())
    expected = m(x)
    slow = []
    call = type(m)._call_
    monkeypatch.setattr(type(m), "_call_", lambda self, *a: slow.append(a) or call(self, *a))
    with torch.no_grad():
        given = [m(x), m(x)]
    with torch.inference_mode():
        given.append(m(x))
    assert not slow
    assert all(not y.requires_grad and torch.equal(y, expected) for y in given)
    m(x).sum().backward()  # what is recorded does not
    assert len(slow) == 1 and weights[1].grad.tolist() == [4, 4]


@pytest.mark.parametrize("is_frozen", [False, True])
def test_tangents_of_parameters_are_seen_after_short_calls(is_frozen):
    from scriptlang.autograd import forward_ad

    m, x = scriptlang.script(torch.nn.Linear(3, 2), engine="native"), torch.ones(1, 3)
    m.requires_grad_(not is_frozen)
    with torch.no_grad():
        for _ in range(3):
            m(x)
        with forward_ad.dual_level():
            for _ in range(3):
                m(x)
            m.weight = forward_ad.make_dual(m.weight.detach(), torch.full((2, 3), 2.0))
            for _ in range(2):
                assert forward_ad.unpack_dual(m(x)).tangent.tolist() == [[6, 6]]


def test_errors_of_later_calls_are_those_of_the_first(several):
    def error():
        with pytest.raises(AssertionError, match="too many") as caught:
            several.refuse(5)
        return stack_text(script_stack(caught.value))

    assert several.refuse(1) == 1
    first = error()
    assert error() == error() == first and "assert n < 3" in first
    with pytest.raises(RunError, match="argument 'n'"):
        several.refuse("a")
    assert several.refuse(2) == several.refuse(n=2) == 2


def test_calls_see_a_method_that_was_defined_anew(several):
    x = np.ones(2, np.float32)
    assert several(x).tolist() == several(x).tolist() == [2, 2]
    several.define("def forward(self, x):\n    return x + 5\n")
    assert several(x).tolist() == several(x).tolist() == [6, 6]


def test_calls_draw_from_where_python_has_got_to(several):
    drawn = []
    for _ in range(2):
        scriptlang.manual_seed(3)
        drawn.append([several.draw(2).tolist(), torch.rand(2).tolist(), several.draw(2).tolist()])
    assert drawn[0] == drawn[1] and drawn[0][0] != drawn[0][2]


def test_a_trace_records_what_is_called_in_it():
    x = scriptlang.from_numpy(np.ones(2, np.float32))
    called = scripted(lambda_like)
    assert called(2.0) == called(2.0) == 4

    class Holder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = scriptlang.script(Scale(2.0), engine="native")

        def forward(self, y):
            return self.inner(y) * 3

    holder = Holder()
    assert holder(x).tolist() == holder(x).tolist() == [6, 6]
    traced = scriptlang.trace(holder, (x,))
    assert traced(x).tolist() == traced(x).tolist() == [6, 6]
    assert [n.kind for n in traced.graph.walk()].count("prim::CallMethod") == 1


def test_what_may_be_passed_is_told(several):
    from inspect import signature

    loaded = scripted(lambda_like)
    assert str(signature(loaded)) == "(x: 'float')" == str(signature(lambda_like))
    assert str(signature(several.parts)) == "(x: 'Tensor', n: 'int')"
    assert [*signature(several).parameters] == [*signature(several.forward).parameters] == ["x"]
    assert not hasattr(loaded, "other") and not hasattr(several.forward, "__wrapped__")


def test_what_is_called_is_copied_as_functions_are():
    function = scripted(lambda_like)
    assert copy.copy(function) is copy.deepcopy([function])[0] is function
    with pytest.raises(pickle.PickleError, match="scriptlang.save"):
        pickle.dumps(function)


def test_what_is_called_can_be_collected():
    import weakref

    made = [scriptlang.script(Several().eval(), engine="native"), scripted(lambda_like)]
    made[0](np.ones(2)), made[0](np.ones(2)), made[1](2.0), made[1](2.0)
    gone = [weakref.ref(m) for m in made]
    made.clear()
    gc.collect()
    assert [r() for r in gone] == [None, None]


def lambda_like(x: float):
    return x * 2


def test_threads_may_call_one_module(several):
    from concurrent.futures import ThreadPoolExecutor

    x = np.ones(4, np.float32)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda n: several.parts(x * n, n)[0][1].tolist(), range(200)))
    assert results == [[n * n] * 4 for n in range(200)]


# ---- operators on few elements

SHAPES = [
    (4, 8),
    (1, 8),
    (4, 1),
    (1, 1),
    (2, 4, 8),
    (2, 1, 8),
    (2, 4, 1),
    (8,),
    (1,),
    (),
    (5,),
    (0, 8),
    (3, 1, 1, 5),
    (3, 1, 1, 1),
    (70, 70),
    (70, 1),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_broadcasting_gives_what_the_python_engine_gives(dtype):
    @scripted
    def f(x, y):
        return x + y, y - x, torch.maximum(x, y), (x + 1) * y, y / (x * 2.0)

    rng = np.random.default_rng(0)
    for a, b in itertools.product(SHAPES, SHAPES):
        x, y = (scriptlang.from_numpy(np.asarray(rng.uniform(1, 2, s), dtype)) for s in (a, b))
        expected, got = on_both(f, x, y)
        if isinstance(expected, str):
            assert got == expected
            continue
        for e, g in zip(expected, got):
            assert (g.shape, g.stride(), g.dtype) == (e.shape, e.stride(), e.dtype), (a, b)
            np.testing.assert_allclose(g.numpy(), e.numpy(), rtol=1e-6)


@pytest.mark.parametrize("shape", [(6,), (4, 3), (2, 4, 3)])
@pytest.mark.parametrize("index", [[0, 2, 1], [-1, 0], [[1, 0], [2, -2]], [], [7], [-9]])
@pytest.mark.parametrize("kind", ["int64", "int32"])
def test_one_index_gives_what_the_python_engine_gives(shape, index, kind):
    @scripted
    def first(x, i):
        return x[i]

    @scripted
    def second(x, i):
        return x.unsqueeze(0)[:, i].contiguous()

    @scripted
    def chosen(x, i):
        return torch.index_select(x, 0, i)

    x = scriptlang.from_numpy(np.arange(float(np.prod(shape))).reshape(shape))
    i = scriptlang.from_numpy(np.array(index, kind))
    for f in (first, second, chosen):
        expected, got = on_both(f, x, i)
        assert str(got) == str(expected)
        if not isinstance(got, str):
            assert got.stride() == expected.stride()


@pytest.mark.parametrize(
    "shapes, dim",
    [
        ([(2, 3), (2, 1)], 1),
        ([(2, 3), (4, 3)], 0),
        ([(0,), (2, 3)], 1),
        ([(2, 3, 4)] * 3, -2),
        ([(2, 3), (3, 3)], 1),
        ([(2, 0), (2, 3)], 1),
    ],
)
def test_joining_gives_what_the_python_engine_gives(shapes, dim):
    @scripted
    def f(x, y, dim: int):
        return torch.cat([x, y, x], dim), torch.cat([x, y.t().contiguous().t()], dim)

    xs = [scriptlang.from_numpy(np.random.default_rng(n).random(s)) for n, s in enumerate(shapes)]
    expected, got = on_both(f, xs[0], xs[1], dim)
    assert str(got) == str(expected)
