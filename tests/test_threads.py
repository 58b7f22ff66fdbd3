"""The first calls of what is new, from many threads at once: everything lazy is made once."""

from __future__ import annotations

import io
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import scriptlang
from scriptlang import nn

DATA = Path(__file__).parent / "data"
ENGINES = ["python", "native", "auto"]


@pytest.fixture(autouse=True)
def switching_often():
    """Threads take turns far more often than they would: what is not guarded breaks soon."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def at_once(*works):
    """What each of the calls gives when all begin together; raises the first error."""
    gate = threading.Barrier(len(works))
    results, errors = [None] * len(works), []

    def run(k):
        gate.wait()
        try:
            results[k] = works[k]()
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(works))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
    return results


def examples(name):
    with np.load(DATA / f"{name}.npz") as file:
        return {key: file[key] for key in file.files}


def saved(module) -> bytes:
    buffer = io.BytesIO()
    module.save(buffer)
    return buffer.getvalue()


def same(a, b) -> bool:
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    return np.array_equal(np.asarray(a), np.asarray(b))


class Branching(nn.Module):
    """Submodules, helpers, a class, a list and a loop: much to compile."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.norm = nn.LayerNorm(4)
        self.scale = 2.0

    def helper(self, x: scriptlang.Tensor, n: int) -> scriptlang.Tensor:
        for i in range(n):
            x = x + self.scale * float(i)
        return scriptlang.nn.functional.gelu(x)

    def forward(self, x: scriptlang.Tensor, n: int = 2) -> scriptlang.Tensor:
        outs = [x]
        for layer in self.layers:
            outs.append(scriptlang.relu(layer(outs[-1])))
        if n > 1:
            return self.norm(self.helper(outs[-1], n))
        return outs[-1]

    @scriptlang.jit.export
    def twice(self, x: scriptlang.Tensor) -> scriptlang.Tensor:
        return self.forward(self.forward(x, 1), 3)


@pytest.fixture(scope="module")
def archive():
    scriptlang.manual_seed(1)
    return saved(scriptlang.script(Branching().eval()))


X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)


@pytest.mark.parametrize("count", [2, 8])
@pytest.mark.parametrize("engine", ENGINES)
def test_first_calls_of_a_fresh_archive(archive, engine, count):
    known = scriptlang.load(io.BytesIO(archive), engine=engine)
    expected = np.asarray(known(X))
    for _ in range(5):
        fresh = scriptlang.load(io.BytesIO(archive), engine=engine)
        for result in at_once(*[lambda: np.asarray(fresh(X))] * count):
            assert np.array_equal(result, expected)


ENTRIES = {
    "forward": lambda m: np.asarray(m(X)),
    "method": lambda m: np.asarray(m.twice(X)),
    "submodule": lambda m: np.asarray(m.norm(X)),
    "attribute": lambda m: m.scale,
    "parameter": lambda m: m.norm.weight.detach().numpy(),
    "code": lambda m: m.code,
    "graph": lambda m: str(m.graph),
    "inlined": lambda m: str(m.inlined_graph),
    "save": saved,
    "state": lambda m: [(k, np.asarray(v)) for k, v in m.state_dict().items()],
    "freeze": lambda m: np.asarray(scriptlang.jit.freeze(m)(X)),
    "optimize": lambda m: np.asarray(scriptlang.optimize(m)(X)),
    "inspect": lambda m: str(scriptlang.inspect(m, [(2, 4)])),
    "names": lambda m: [n for n, _ in m.named_modules()],
    "repr": repr,
}


def unrecorded(way, module):
    """One of ENTRIES, without derivatives: with them other engines may run, of other roundings."""
    with scriptlang.no_grad():
        return way(module)


@pytest.mark.parametrize("engine", ENGINES)
def test_all_ways_into_a_fresh_module_at_once(archive, engine):
    expected = {
        name: way(scriptlang.load(io.BytesIO(archive), engine=engine))
        for name, way in ENTRIES.items()
    }
    for _ in range(2):
        fresh = scriptlang.load(io.BytesIO(archive), engine=engine)
        beside = [lambda: scriptlang.load(io.BytesIO(archive), engine=engine).twice(X)] * 2
        ways = [*ENTRIES.values()]
        results = at_once(*[lambda way=way: unrecorded(way, fresh) for way in ways], *beside)
        for name, result in zip(ENTRIES, results):
            if name not in ("save", "state"):
                assert (
                    same(result, expected[name])
                    if name not in ("code", "graph")
                    else result == expected[name]
                ), name


@pytest.mark.parametrize(
    "name", ["resnet.script", "attention.trace", "recurrent.script", "counter.script"]
)
def test_recorded_archives_from_eight_threads(name):
    data = (DATA / f"{name}.pt").read_bytes()
    for _ in range(2):
        fresh = scriptlang.load(io.BytesIO(data))
        graphs = at_once(
            *[lambda: (str(fresh.graph), fresh.code)] * 4, *[lambda: sorted(fresh.state_dict())] * 4
        )
        assert len({g for g in graphs[:4]}) == 1


def test_one_function_is_compiled_once():
    for k in range(5):
        space = {"scriptlang": scriptlang}

        def body(x: scriptlang.Tensor, n: int):
            y = x
            for i in range(n):
                y = scriptlang.softmax(y * float(i), 0)
            return y

        body.__name__ = f"body{k}"
        made = at_once(*[lambda: scriptlang.script(body)] * 8)
        assert len({id(f._function) for f in made}) == 1 and space
        results = at_once(*[lambda f=f: np.asarray(f(X, 3)) for f in made])
        assert all(np.array_equal(r, results[0]) for r in results)


def test_one_module_is_scripted_by_many_threads():
    module = Branching().eval()
    made = at_once(*[lambda: scriptlang.script(module)] * 8)
    results = at_once(*[lambda m=m: np.asarray(m(X)) for m in made])
    assert all(np.array_equal(r, results[0]) for r in results)


def test_a_trace_does_not_see_what_other_threads_compute():
    stop = threading.Event()

    def busy():
        x = scriptlang.ones(3)
        while not stop.is_set():
            x = scriptlang.sin(x)
            assert type(x.shape[0]) is int

    workers = [threading.Thread(target=busy) for _ in range(2)]
    for w in workers:
        w.start()
    try:
        for _ in range(10):
            traced = scriptlang.trace(lambda x: scriptlang.cos(x) + x.shape[0], scriptlang.ones(2))
            assert "sin" not in str(traced.graph)
    finally:
        stop.set()
        for w in workers:
            w.join()


def test_traces_from_many_threads():
    def traced():
        return np.asarray(
            scriptlang.trace(lambda x: scriptlang.cos(x) * 2, scriptlang.ones(2))(
                scriptlang.zeros(2)
            )
        )

    assert all(np.array_equal(r, [2, 2]) for r in at_once(*[traced] * 8))


def test_errors_are_not_kept_half_made():
    def wrong(x: scriptlang.Tensor) -> int:
        return x.no_such_method()

    def attempt():
        with pytest.raises(scriptlang.CompileError):
            scriptlang.script(wrong)
        return True

    assert all(at_once(*[attempt] * 8))
