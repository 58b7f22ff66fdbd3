"""`scriptlang.library`: operators that users define, on both engines, in programs and archives."""

from __future__ import annotations

import io
import threading
import zipfile
from typing import Optional

import numpy as np
import pytest

import scriptlang
from scriptlang import Tensor, nn
from scriptlang.errors import LimitError, MissingOperatorError, script_stack
from scriptlang.library import Library, custom_op, define, impl, opcheck, register_fake

ENGINES = ("python", "native")


class Mine(Exception):
    """An exception of the host's, which no program knows."""


@custom_op("mine::scale", mutates_args=())
def scale(x: Tensor, k: int = 1, *, by: float = 1.0) -> Tensor:
    return x * (k * by)


calls: list[str] = []

lib = Library("mine", "FRAGMENT")
lib.define("noted(Tensor x, str text) -> Tensor")
lib.define("told(int k) -> ()")
lib.define("add_one_(Tensor(a!) x) -> Tensor(a!)")
lib.define("pair(Tensor x, int how) -> (Tensor first, Tensor second)")
lib.define("only_python(Tensor x) -> Tensor")
lib.define("lists(int[] a, Tensor[] b, str? c=None, ScalarType? d=None) -> (int[], Tensor[], str)")
lib.define("fails(Tensor x, str how) -> Tensor")
lib.define("nowhere(Tensor x) -> Tensor")
lib.define("hidden(Tensor x) -> Tensor", alias_analysis="CONSERVATIVE")


def noted(x, text):
    calls.append(text)
    return x + 1


def pair(x, how):
    return {
        0: (x, x * 2),
        1: x,
        2: (x,),
        3: (x, 3),
        4: (x, None),
        5: "text",
        6: [x, np.ones(2, "float32")],
    }[how]


def lists(a, b, c, d):
    return [sum(a), len(a)], [t * 2 for t in b], f"{c} {d}"


def fails(x, how):
    if how == "value":
        raise ValueError("no such value")
    if how == "mine":
        raise Mine("of the host")
    if how == "interrupt":
        raise KeyboardInterrupt
    return x


lib.impl("noted", noted)
lib.impl("told", lambda k: calls.append(f"told {k}"))
lib.impl("add_one_", lambda x: x.add_(1))
lib.impl("pair", pair)
lib.impl("only_python", lambda x: x * 7, engine="python")
lib.impl("lists", lists)
lib.impl("fails", fails)
lib.impl("hidden", lambda x: x)


class Model(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch_ops_scale(x) + 1

    @scriptlang.jit.export
    def pair(self, x: Tensor, how: int):
        a, b = scriptlang.ops.mine.pair(x, how)
        return a, b

    @scriptlang.jit.export
    def only_python(self, x: Tensor):
        return scriptlang.ops.mine.only_python(x)

    @scriptlang.jit.export
    def nowhere(self, x: Tensor):
        return scriptlang.ops.mine.nowhere(x)

    @scriptlang.jit.export
    def fails(self, x: Tensor, how: str):
        return scriptlang.ops.mine.fails(x, how)

    @scriptlang.jit.export
    def lists(self, x: Tensor):
        return scriptlang.ops.mine.lists([1, 2], [x, x], "c", scriptlang.float64)

    @scriptlang.jit.export
    def written(self, x: Tensor):
        before = x.sum()
        y = scriptlang.ops.mine.add_one_(x)
        after = x.sum()
        y.mul_(2)
        return before, after, x

    @scriptlang.jit.export
    def many(self, x: Tensor, n: int):
        for _ in range(n):
            x = scriptlang.ops.mine.noted(x, "turn")
        return x


class Twice(nn.Module):
    def forward(self, x: Tensor):
        a = scriptlang.ops.mine.noted(x, "a")
        b = scriptlang.ops.mine.noted(x, "a")
        scriptlang.ops.mine.noted(x, "unused")
        scriptlang.ops.mine.told(3)
        return a + b


@scriptlang.script
def torch_ops_scale(x: Tensor) -> Tensor:
    return scriptlang.ops.mine.scale(x, 3, by=0.5)


def archive_of(module) -> bytes:
    buffer = io.BytesIO()
    scriptlang.save(scriptlang.script(module), buffer)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def archive():
    return archive_of(Model())


@pytest.fixture(params=ENGINES)
def model(request, archive):
    return scriptlang.load(io.BytesIO(archive), engine=request.param)


def tensor(*values):
    return scriptlang.tensor([float(v) for v in values])


# Calls


def test_calls_by_every_name():
    x = tensor(1, 2)
    assert scale(x, 3).tolist() == scriptlang.ops.mine.scale(x, 3).tolist() == [3, 6]
    assert scriptlang.ops.mine.scale.default(x, by=2.0).tolist() == [2, 4]
    assert torch_ops_scale(x).tolist() == [1.5, 3]
    assert "mine::scale" in str(torch_ops_scale.graph)
    traced = scriptlang.trace(lambda x: scale(x, 2) - 1, (x,))
    assert "mine::scale" in str(traced.graph) and traced(tensor(5)).tolist() == [9]


packet = scriptlang.ops.mine.scale


def test_scripts_know_operators_as_objects():
    @scriptlang.script
    def f(x: Tensor) -> Tensor:
        return packet(x, 2) + scale(x, 3)

    assert f(tensor(1)).tolist() == [5]


def test_programs_and_archives(model):
    assert model(tensor(1, 2)).tolist() == [2.5, 4]
    ints, tensors, text = model.lists(tensor(1))
    assert (ints, [t.tolist() for t in tensors], text) == ([3, 2], [[2], [2]], "c torch.float64")


def test_what_is_written_is_seen(model):
    x = tensor(1, 2)
    before, after, same = model.written(x)
    assert (before.item(), after.item()) == (3, 5)
    assert x.tolist() == same.tolist() == [4, 6]


def test_both_results_and_arrays(model):
    assert [t.tolist() for t in model.pair(tensor(1, 2), 0)] == [[1, 2], [2, 4]]
    assert [t.tolist() for t in model.pair(tensor(1, 2), 6)] == [[1, 2], [1, 1]]


@pytest.mark.parametrize(
    "how, words",
    [
        (1, "gave a Tensor(torch.float32[1]) where its schema says 2 results"),
        (2, "gave 1 results where its schema says 2"),
        (3, "gave a int where its schema says Tensor"),
        (4, "gave a NoneType where its schema says Tensor"),
        (5, "gave a str where its schema says 2 results"),
    ],
)
def test_results_that_the_schema_does_not_say(model, how, words):
    with pytest.raises(RuntimeError) as caught:
        model.pair(tensor(1), how)
    assert words in str(caught.value) and "mine::pair" in str(caught.value)
    assert script_stack(caught.value)


def test_exceptions_go_through(model):
    with pytest.raises(ValueError, match="no such value") as caught:
        model.fails(tensor(1), "value")
    assert "fails" in str(script_stack(caught.value)[-1].function)
    with pytest.raises(Mine, match="of the host") as caught:
        model.fails(tensor(1), "mine")
    assert len(script_stack(caught.value)) == 1
    with pytest.raises(KeyboardInterrupt):
        model.fails(tensor(1), "interrupt")
    assert model.fails(tensor(1), "").tolist() == [1]


def test_limits_hold(model, archive):
    limits = scriptlang.Limits(instructions=1000)
    limited = scriptlang.load(io.BytesIO(archive), limits=limits, engine=model.engine)
    with pytest.raises(LimitError):
        limited.many(tensor(1), 10**6)
    assert limited.many(tensor(1), 3).tolist() == [4]
    limits = scriptlang.Limits(seconds=0.2)
    limited = scriptlang.load(io.BytesIO(archive), limits=limits, engine=model.engine)
    with pytest.raises(LimitError):
        limited.many(tensor(1), 10**9)


def test_an_operator_may_call_programs():
    inner = scriptlang.load(io.BytesIO(archive_of(Model())), engine="native")
    lib.define("nested(Tensor x) -> Tensor")
    lib.impl("nested", lambda x: inner(x) * inner(x))

    @scriptlang.script
    def outer(x: Tensor) -> Tensor:
        return scriptlang.ops.mine.nested(x) + 1

    loaded = reloaded(outer, "native")
    assert loaded(tensor(1)).tolist() == [7.25]


def reloaded(function, engine):
    buffer = io.BytesIO()
    scriptlang.save(function, buffer)
    return scriptlang.load(io.BytesIO(buffer.getvalue()), engine=engine)


def test_threads_call_it(archive):
    loaded = scriptlang.load(io.BytesIO(archive), engine="native")
    found = []

    def work():
        found.append([loaded.many(tensor(0), 50).item() for _ in range(20)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [[50.0] * 20] * 4


# Engines


def test_for_the_python_engine_alone(archive):
    x = tensor(1)
    assert scriptlang.load(io.BytesIO(archive), engine="python").only_python(x).tolist() == [7]
    assert scriptlang.load(io.BytesIO(archive)).only_python(x).tolist() == [7]  # chosen for it
    with pytest.raises(MissingOperatorError, match="mine::only_python"):
        scriptlang.load(io.BytesIO(archive), engine="native").only_python(x)


def test_without_an_implementation(model):
    with pytest.raises(MissingOperatorError, match="mine::nowhere"):
        model.nowhere(tensor(1))


def test_without_the_operator(archive):
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(buffer, "w") as new:
        for record in old.infolist():
            name = record.filename.partition("/")[2]
            if name != "bytecode.pkl" and not name.startswith("scriptlang/"):
                text = old.read(record).replace(b"ops.mine.nowhere", b"ops.nobody.never")
                new.writestr(record.filename, text)
    for engine in ENGINES:
        loaded = scriptlang.load(io.BytesIO(buffer.getvalue()), engine=engine)
        assert loaded(tensor(1, 2)).tolist() == [2.5, 4]
        with pytest.raises(MissingOperatorError, match="registered the operator nobody::never"):
            loaded.nowhere(tensor(1))


def test_the_native_engine_reads_the_code_itself(archive, monkeypatch):
    """A plain archive with such operators needs none of Python's compiler."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(buffer, "w") as new:
        for record in old.infolist():
            name = record.filename.partition("/")[2]
            if name != "bytecode.pkl" and not name.startswith("scriptlang/"):
                new.writestr(record.filename, old.read(record))
    monkeypatch.setenv("SCRIPTLANG_READER", "native")
    loaded = scriptlang.load(io.BytesIO(buffer.getvalue()), engine="native")
    assert loaded(tensor(1, 2)).tolist() == [2.5, 4]
    assert loaded._type.methods["forward"].ready() is not None
    with pytest.raises(ValueError, match="no such value") as caught:
        loaded.fails(tensor(1), "value")
    assert script_stack(caught.value)


# Passes


def test_passes_keep_calls_as_they_are():
    """Not merged, not dropped, not moved, on either engine."""
    for engine in ENGINES:
        loaded = scriptlang.load(io.BytesIO(archive_of(Twice())), engine=engine).eval()
        for program in (loaded, scriptlang.optimize(loaded), scriptlang.freeze(loaded)):
            calls.clear()
            assert program(tensor(1)).tolist() == [4]
            assert calls == ["a", "a", "unused", "told 3"]


def test_calls_of_constants_are_not_folded():
    @scriptlang.script
    def constant() -> Tensor:
        return scriptlang.ops.mine.noted(scriptlang.ones([2]), "run")

    calls.clear()
    assert [constant().tolist() for _ in range(3)] == [[2, 2]] * 3
    assert calls == ["run"] * 3


def test_memory_is_what_the_schema_says():
    from scriptlang.passes.alias import AliasAnalysis

    @scriptlang.script
    def f(x: Tensor, y: Tensor):
        z = x + 1
        a = scriptlang.ops.mine.noted(z, "a")
        b = scriptlang.ops.mine.add_one_(z)
        c = scriptlang.ops.mine.hidden(y + 1)
        return a, b, c

    graph = f._function.graph
    nodes = {n.kind: n for n in graph.walk()}
    noted_, add_, hidden = (nodes[f"mine::{n}"] for n in ("noted", "add_one_", "hidden"))
    analysis = AliasAnalysis(graph)
    z = noted_.inputs[0]
    assert not analysis.writes(noted_) and analysis.writes(add_)
    assert analysis.may_alias(add_.output, z) and not analysis.may_alias(add_.output, hidden.output)
    assert not analysis.may_move_before(add_, noted_)  # it reads what this writes
    assert analysis.writes(hidden), "it may do anything"


# Sizes


def test_fakes_tell_sizes():
    define("mine::joined", "(Tensor x, int n) -> (Tensor, int)")
    impl("mine::joined", "cpu", lambda x, n: (scriptlang.cat([x] * n), n))

    class Joined(nn.Module):
        def forward(self, x: Tensor):
            y, n = scriptlang.ops.mine.joined(x * 2, 3)
            return y + 1, n

    module = scriptlang.script(Joined()).eval()
    assert "Float(6, 4)" not in str(scriptlang.inspect(module, {"x": "2,4"}))
    seen = []

    @register_fake("mine::joined")
    def joined(x, n):
        seen.append(x.shape)
        return x.new_empty(x.shape[0] * n, x.shape[1]), n

    text = str(scriptlang.inspect(module, {"x": "2,4"}))
    assert text.count("Float(6, 4)") == 2 and (2, 4) in map(tuple, seen)
    assert "Float(6, 4)" not in str(scriptlang.inspect(module, {"x": "s0,4"}))


def test_a_name_of_pytorch_has_no_rule_of_its(archive):
    """`mine::mm` is not `aten::mm`, whatever it is called."""
    define("mine::mm", "(Tensor self, Tensor mat2) -> Tensor")
    impl("mine::mm", "cpu", lambda a, b: a.sum())

    class Product(nn.Module):
        def forward(self, x: Tensor):
            return scriptlang.ops.mine.mm(x, x)

    text = str(scriptlang.inspect(scriptlang.script(Product()).eval(), {"x": "2,2"}))
    assert "= mine::mm" in text and text.count("(2, 2)") == 1


# Gradients


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients(engine):
    op = custom_op(
        f"mine::cube_{engine}", lambda x, k: x**3 * k, mutates_args=(),
        schema="(Tensor x, int k) -> Tensor",
    )  # fmt: skip

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.k = inputs[1]

    op.register_autograd(
        lambda ctx, grad: (grad * ctx.k * 3 * ctx.saved_tensors[0] ** 2, None), setup_context=setup
    )
    text = f"def f(x: Tensor):\n    return torch.ops.mine.cube_{engine}(x * 2, 5).sum()\n"
    unit = scriptlang.jit.CompilationUnit(text)
    for call in (unit.f, lambda x: op(x * 2, 5).sum()):
        x = scriptlang.tensor([1.0, 2.0], requires_grad=True)
        call(x).backward()
        assert x.grad.tolist() == [5 * 3 * 4 * 2, 5 * 3 * 16 * 2]


def test_a_gradient_that_nobody_said():
    x = scriptlang.tensor([1.0], requires_grad=True)
    y = scale(x, 2)
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="register_autograd"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="writes x"):
        scriptlang.ops.mine.add_one_(x * 1)
    with pytest.raises(RuntimeError, match="writes its arguments"):
        scriptlang.library.register_autograd("mine::add_one_", lambda ctx, g: g)


def test_an_operator_written_in_others_is_recorded():
    define("mine::square", "(Tensor x) -> Tensor")
    impl(Library("mine", "IMPL"), "square", "CompositeImplicitAutograd")(lambda x: x * x)
    x = scriptlang.tensor([3.0], requires_grad=True)
    scriptlang.ops.mine.square(x).sum().backward()
    assert x.grad.tolist() == [6]


# Definitions


def test_another_overload_is_taken_where_it_fits_better():
    adding = Library("mine_more", "DEF")
    adding.define("times(float x) -> float")
    impl("mine_more::times", "cpu", lambda x: x * 2)

    def before(x: Tensor):
        return scriptlang.ops.mine_more.times(x)

    assert scriptlang.script(before, engine="python")(scriptlang.tensor(3.0)) == 6
    adding.define("times.Tensor(Tensor x) -> Tensor")
    impl("mine_more::times.Tensor", "cpu", lambda x: x * 10)

    def after(x: Tensor):
        return scriptlang.ops.mine_more.times(x)

    assert scriptlang.script(after, engine="python")(scriptlang.tensor(3.0)).item() == 30


def test_redefinition():
    with pytest.raises(RuntimeError, match="already"):
        lib.define("noted(Tensor x) -> Tensor")
    lib.define("noted.two(Tensor x, int k) -> Tensor")
    impl("mine::noted.two", "cpu", lambda x, k: x + k)
    assert scriptlang.ops.mine.noted(tensor(1), 5).tolist() == [6]
    with pytest.raises(RuntimeError, match="implemented already"):
        lib.impl("noted", noted)
    with pytest.raises(RuntimeError, match="FRAGMENT"):
        Library("mine_too", "DEF") and Library("mine_too", "DEF")

    def again(x: Tensor, k: int) -> Tensor:
        return x

    with pytest.raises(RuntimeError, match="already"):
        custom_op("mine::scale", again, mutates_args=())


def test_a_definition_of_the_same_schema_takes_the_place():
    for factor in (2, 3):

        @custom_op("mine::turned", mutates_args=())
        def turned(x: Tensor) -> Tensor:
            return x * factor  # it is called in this turn

        @scriptlang.script
        def f(x: Tensor):
            return scriptlang.ops.mine.turned(x)

        for engine in ENGINES:
            assert reloaded(f, engine)(tensor(1)).tolist() == [factor]


@pytest.mark.parametrize(
    "schema, words",
    [
        ("mine::bad(Tensor x", "is no schema"),
        ("mine::bad(Tensr x) -> Tensor", "unknown type 'Tensr'"),
        ("mine::bad", "is no schema"),
        ("bad(Tensor x) -> Tensor", "is no name of an operator"),
        ("mine::bad(...) -> Tensor", "all its arguments"),
        ("aten::bad(Tensor x) -> Tensor", "built in"),
        ("mine::bad(t x) -> t", "take no t"),
    ],
)
def test_bad_schemas(schema, words):
    name, _, rest = schema.partition("(")
    with pytest.raises((ValueError, RuntimeError), match=words):
        if "::" in name:
            define(name, f"({rest}" if rest else "")
        else:
            scriptlang.ops.custom.operators.CustomOperator(schema)


def test_bad_annotations():
    def no_note(x: Tensor, y) -> Tensor: ...
    def no_result(x: Tensor): ...
    def a_dict(x: Tensor, y: dict) -> Tensor: ...
    def gives_dict(x: Tensor) -> dict: ...
    def many(*x: Tensor) -> Tensor: ...
    def plain(x: Tensor, k: int) -> Tensor: ...

    for function, mutates, words in (
        (no_note, (), "the argument y has no annotation"),
        (no_result, (), "no annotation says what it gives"),
        (a_dict, (), "the argument y is a"),
        (gives_dict, (), "which no operator gives"),
        (many, (), r"no \*args"),
        (plain, ("z",), "has no argument z"),
        (plain, ("k",), "only tensors are written"),
        (plain, "x", "a list of names"),
    ):
        with pytest.raises(ValueError, match=words):
            custom_op("mine::bad", function, mutates_args=mutates)
    with pytest.raises(RuntimeError, match="no operator mine::bad"):
        register_fake("mine::bad", plain)


def test_impl_of_what_there_is_not():
    with pytest.raises(RuntimeError, match="there is no operator mine::unknown"):
        lib.impl("unknown", noted)
    with pytest.raises(RuntimeError, match="built in"):
        impl("aten::relu", "cpu", noted)
    with pytest.raises(RuntimeError, match="dispatch key 'Sparse'"):
        lib.impl("noted", noted, "Sparse")
    with pytest.raises(ValueError, match="plug-in"):
        lib.impl("nowhere", noted, engine="native")
    with pytest.raises(RuntimeError, match="defines nothing"):
        Library("mine", "IMPL").define("x() -> ()")
    lib.impl("nowhere", noted, "CUDA")  # is there for another machine, and never runs


def test_opcheck():
    assert opcheck(scale, (tensor(1), 2), test_utils="test_schema") == {"test_schema": "SUCCESS"}
    define("mine::liar", "(Tensor x) -> Tensor")
    impl("mine::liar", "cpu", lambda x: x.add_(1))
    with pytest.raises(AssertionError, match="writes x"):
        opcheck("mine::liar", (tensor(1),))
    define("mine::view_liar", "(Tensor x) -> Tensor")
    impl("mine::view_liar", "cpu", lambda x: x[0])
    with pytest.raises(AssertionError, match="shares memory with x"):
        opcheck("mine::view_liar", (tensor(1),))
    scale.register_fake(lambda x, k=1, *, by=1.0: x.new_empty(3))
    with pytest.raises(AssertionError, match="its fake gives"):
        opcheck(scale, (tensor(1),))


def test_custom_op_gives_memory_of_its_own():
    @custom_op("mine::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    with pytest.raises(RuntimeError, match="memory that x has, too"):
        same(tensor(1))


# PyTorch


@pytest.mark.oracle
def test_schemas_are_pytorchs():
    import torch
    from torch.library import infer_schema as theirs

    def f(
        x: torch.Tensor,
        y: Optional[torch.Tensor],
        k: int = 1,
        s: str = "mean",
        b: bool = True,
        z: float = 1e-5,
        d: torch.dtype = torch.float32,
        *,
        dev: Optional[torch.device] = None,
        ts: list[torch.Tensor],
        lo: list[Optional[torch.Tensor]],
        oi: Optional[list[int]] = None,
        fs: list[float],
    ) -> tuple[torch.Tensor, int]: ...

    f.__annotations__ = {k: eval(v, {**globals(), "torch": torch}) if isinstance(v, str) else v
                         for k, v in f.__annotations__.items()}  # fmt: skip
    for mutates in ((), ("x",), "unknown"):
        ours = scriptlang.library.infer_schema(f, mutates_args=mutates)
        assert ours == theirs(f, mutates_args=mutates)


@pytest.mark.oracle
def test_archives_go_both_ways(archive):
    import torch

    their_lib = torch.library.Library("mine", "FRAGMENT")
    for schema in ("scale(Tensor x, SymInt k=1, *, float by=1.0) -> Tensor",
                   "noted(Tensor x, str text) -> Tensor", "told(int k) -> ()",
                   "add_one_(Tensor(a!) x) -> Tensor(a!)",
                   "pair(Tensor x, int how) -> (Tensor first, Tensor second)",
                   "only_python(Tensor x) -> Tensor", "nowhere(Tensor x) -> Tensor",
                   "fails(Tensor x, str how) -> Tensor",
                   "lists(int[] a, Tensor[] b, str? c=None, ScalarType? d=None)"
                   " -> (int[], Tensor[], str)"):  # fmt: skip
        their_lib.define(schema)
    their_lib.impl("scale", lambda x, k=1, *, by=1.0: x * (k * by), "CPU")
    their_lib.impl("noted", lambda x, text: x + 1, "CPU")
    their_lib.impl("told", lambda k: None, "CompositeExplicitAutograd")
    their_lib.impl("add_one_", lambda x: x.add_(1), "CPU")
    theirs = torch.jit.load(io.BytesIO(archive))
    x = torch.tensor([1.0, 2.0])
    assert theirs(x).tolist() == [2.5, 4]
    twice = torch.jit.load(io.BytesIO(archive_of(Twice())))
    assert twice(x).tolist() == [4, 6]
    assert [t.tolist() for t in theirs.written(x.clone())] == [3, 5, [4, 6]]

    class Theirs(torch.nn.Module):
        def forward(self, x):
            y = torch.ops.mine.noted(x, "theirs")
            return torch.ops.mine.add_one_(y) + torch.ops.mine.scale(x, 4)

    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(Theirs()), buffer)
    expected = Theirs()(x).tolist()
    for engine in ENGINES:
        loaded = scriptlang.load(io.BytesIO(buffer.getvalue()), engine=engine)
        assert loaded(tensor(1, 2)).tolist() == expected
    traced = io.BytesIO()
    torch.jit.save(torch.jit.trace(Theirs(), (x,)), traced)
    assert scriptlang.load(io.BytesIO(traced.getvalue()))(tensor(1, 2)).tolist() == expected


@pytest.mark.oracle
def test_operators_of_torch_as_objects():
    import torch

    lib = torch.library.Library("theirs_alone", "FRAGMENT")
    lib.define("op(Tensor x) -> Tensor")
    theirs = torch.ops.theirs_alone.op

    @scriptlang.script
    def f(x: torch.Tensor) -> torch.Tensor:
        return theirs(x)

    with pytest.raises(MissingOperatorError, match="theirs_alone::op"):
        f(tensor(1))
