"""What a file makes of little is bounded before it is made: sources, graphs, types and time."""

import io
import time
import zipfile

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

import scriptlang
from scriptlang import Limits
from scriptlang import types as T
from scriptlang.errors import LimitError
from scriptlang.programs.inspection import inspect_archive
from tests import children

DATA = b"\x80\x02c__torch__\nM\n)\x81}X\x08\x00\x00\x00training\x89sb."
HEAD = (
    "class M(Module):\n  training : bool\n  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
)
METHOD = "  def {}(self: __torch__.M, x: Tensor) -> Tensor:\n"
X = np.ones((2, 2), np.float32)


def archive(body: str, sources: dict[str, str] | None = None, data: bytes = DATA) -> bytes:
    """An archive whose module has the code of `body` for `forward`, and whatever follows it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("m/version", "3\n")
        z.writestr("m/data.pkl", data)
        z.writestr("m/constants.pkl", b"\x80\x02).")
        for name, text in {"__torch__": HEAD + body, **(sources or {})}.items():
            z.writestr(f"m/code/{name}.py", text)
    return file.getvalue()


def doubling_calls(depth: int) -> str:
    """f0 calls f1 twice, f1 calls f2 twice, ..."""
    lines = ["    return (self).f0(x, )\n"]
    for i in range(depth):
        lines.append(
            METHOD.format(f"f{i}") + f"    y = (self).f{i + 1}(x, )\n"
            f"    return (self).f{i + 1}(y, )\n"
        )
    return "".join([*lines, METHOD.format(f"f{depth}"), "    return torch.add(x, 1)\n"])


def doubling_types(depth: int) -> str:
    return (
        "    y0 = (1, 1)\n"
        + "".join(f"    y{i + 1} = (y{i}, y{i})\n" for i in range(depth))
        + "    return x\n"
    )


def many_types(count: int) -> str:
    """Types of up to 20,000 parts, each with five that are half, a quarter, ... of it."""
    lines = ["    b0 = (1, 1)\n"]
    for i in range(count):
        lines.append(f"    b{i + 1} = (b{i}, 1)\n    y{i}x0 = (b{i}, b{i})\n")
        lines += [f"    y{i}x{j + 1} = (y{i}x{j}, y{i}x{j})\n" for j in range(4)]
    return "".join([*lines, "    return x\n"])


def lines(count: int) -> str:
    return "    x = torch.add(x, 1)\n" * count + "    return x\n"


def many_sources(count: int, items: int) -> bytes:
    """A class that names classes in sources of their own, each with a long list."""
    names = "".join(f"  a{i} : Optional[__torch__.q{i}.A]\n" for i in range(count))
    sources = {
        f"__torch__/q{i}": f"class A:\n  x : int\n  def g(self: __torch__.q{i}.A) -> int:\n"
        f"    y = [{i}{'0,' * items}]\n    return 1\n"
        for i in range(count)
    }
    sources["__torch__"] = HEAD.replace("  def", names + "  def") + "    return x\n"
    pickled = b"".join(
        b"X" + len(n).to_bytes(4, "little") + n + b"N"
        for n in (f"a{i}".encode() for i in range(count))
    )
    data = DATA.replace(b"}X", b"}(X").replace(b"\x89sb", b"\x89" + pickled + b"ub")
    return archive("", sources, data)


HOSTILE = {
    "calls that double": (archive(doubling_calls(40)), "graph_nodes"),
    "types that double": (archive(doubling_types(60)), "parts"),
    "many types": (archive(many_types(300)), "type_nodes"),
    "sources of lists": (many_sources(40, 120_000), "syntax_nodes"),
}

USES = {
    "load and call": lambda file: scriptlang.load(file)(X),
    "python": lambda file: scriptlang.load(file, engine="python")(X),
    "code": lambda file: scriptlang.load(file).code,
    "inlined graph": lambda file: str(scriptlang.load(file).inlined_graph),
    "inspect": inspect_archive,
    "optimize": lambda file: scriptlang.optimize(scriptlang.load(file)),
    "freeze": lambda file: scriptlang.jit.freeze(scriptlang.load(file)),
    "save": lambda file: scriptlang.load(file).save(io.BytesIO()),
    "compile": lambda file: scriptlang.compile_archive(file, io.BytesIO()),
}

FINE = {("code", "calls that double")}
"""What does not put calls in: it ends well."""


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("attack", HOSTILE)
def test_each_use_ends_with_a_limit_error_at_once(attack, use):
    contents, what = HOSTILE[attack]
    start = time.monotonic()
    if (use, attack) in FINE:
        USES[use](io.BytesIO(contents))
    else:
        with pytest.raises(LimitError, match=what):
            USES[use](io.BytesIO(contents))
    assert time.monotonic() - start < 20


LEAST = {
    "source_bytes": (lines(50), Limits(source_bytes=500)),
    "syntax_nodes": (lines(50), Limits(syntax_nodes=300)),
    "graph_nodes": (doubling_calls(6), Limits(graph_nodes=100)),
    "type_nodes": (doubling_types(5), Limits(type_nodes=20)),
    "compile_seconds": (lines(200), Limits(compile_seconds=0.001)),
}


@pytest.mark.parametrize("what", LEAST)
def test_each_budget_is_a_field_of_limits_and_says_how_to_raise_it(what):
    body, limits = LEAST[what]
    with pytest.raises(LimitError, match=rf"(?s)(M|code|reading).*Limits\({what}="):
        scriptlang.load(archive(body), limits=limits)(X)
    assert scriptlang.load(archive(body), limits=Limits(**{what: None}))(X).shape == (2, 2)


def test_budgets_last_for_the_life_of_an_archive():
    methods = "".join(METHOD.format(f"f{i}") + lines(40) for i in range(20))
    module = scriptlang.load(archive("    return x\n" + methods), limits=Limits(graph_nodes=1000))
    with pytest.raises(LimitError, match="__torch__.M.f"):
        for i in range(20):
            getattr(module, f"f{i}")(X)


def test_what_an_archive_has_used_is_not_that_of_others():
    """Functions of the library are compiled for whoever needs them first."""
    body = "    return torch.multi_margin_loss(x, torch.zeros([2], dtype=4))\n"
    small = Limits(graph_nodes=12)
    for _ in range(2):
        try:
            scriptlang.load(archive(body), limits=small, engine="python")(X)
        except LimitError:
            pass
    assert scriptlang.load(archive(body), engine="python")(X).numel() == 1
    frozen = scriptlang.freeze(scriptlang.load(archive(lines(30)), limits=Limits(graph_nodes=9999)))
    assert all(f.budget is not None for f in frozen._type.methods.values())


def test_the_command_line_takes_limits(tmp_path):
    path = tmp_path / "m.pt"
    path.write_bytes(archive(lines(50)))
    command = ["-m", "scriptlang", "check", path]
    assert children.run(*command, capture_output=True).returncode == 0
    less = children.run(*command, "--limit", "syntax_nodes=300", capture_output=True, text=True)
    assert less.returncode == 1 and "--limit syntax_nodes=" in less.stderr
    wrong = children.run(*command, "--limit", "sauce=3", capture_output=True, text=True)
    assert wrong.returncode == 2 and "source_bytes" in wrong.stderr


@pytest.mark.parametrize("engine", available())
@pytest.mark.parametrize("count", [200, 3000])
def test_long_programs_are_no_deeper_than_short_ones(engine, count):
    """Each line was a call inside a call of the compiler."""
    module = scriptlang.load(archive(lines(count)), engine=engine)
    np.testing.assert_array_equal(module(X), X + count)


def test_equal_types_have_one_mark_however_they_were_made():
    def doubled(first):
        t = first
        for _ in range(14):
            t = T.TupleType((t, t))
        return t

    a = doubled(T.UnionType((T.INT, T.STR)))
    assert a == doubled(T.UnionType((T.STR, T.INT))) and a is not doubled(T.INT)
    assert a != doubled(T.INT) and len({a, doubled(T.UnionType((T.STR, T.INT)))}) == 1
    assert len(list(a.walk())) == 17 and a.depth == 15
    with pytest.raises(LimitError, match="parts"):
        T.TupleType((T.TupleType((a, a)), a))
