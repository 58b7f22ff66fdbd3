"""The record scriptlang/names.pkl: what bytecode has no place for, in archives without code/."""

from __future__ import annotations

import enum
import io
import pickle
import zipfile
from typing import Any, List, Optional, Tuple

import pytest
from scriptlang.interpreter.engine import available
from scriptlang.serialization.names import RECORD

import scriptlang
from scriptlang.errors import ArchiveError


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Speed(enum.Enum):
    SLOW = "a text of more than seven bytes"
    FAST = "f"


@scriptlang.jit.script
class Counter:
    def __init__(self, start: int):
        self.count = start
        self.step = 2


class Program(scriptlang.nn.Module):
    def __init__(self):
        super().__init__()
        self.speeds = [Speed.SLOW, Speed.FAST]

    def forward(self, blue: bool) -> Tuple[str, int, str, List[str]]:
        color = Color.RED
        if blue:
            color = Color.BLUE
        return color.name, color.value, f"{color}", [s.name for s in self.speeds]

    @scriptlang.jit.export
    def color(self) -> Color:
        return Color.BLUE

    @scriptlang.jit.export
    def counter(self) -> Counter:
        return Counter(5)

    @scriptlang.jit.export
    def anything(self, a: Any = None, b: Any = 3) -> Tuple[Any, Any]:
        return a, b

    @scriptlang.jit.export
    def wanted(self, a: Optional[int]) -> bool:
        return a is None


ANSWER = ("BLUE", 2, "Enum<Color.BLUE>", ["SLOW", "FAST"])


def stripped(archive: bytes, change=lambda tree: tree) -> bytes:
    """An archive without code/, with other names (a pickle, or what to make one of); None leaves
    the record out."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as source, zipfile.ZipFile(target, "w") as made:
        for info in source.infolist():
            data = source.read(info)
            if info.filename.endswith(RECORD):
                tree = change(pickle.loads(data))
                data = tree if tree is None or type(tree) is bytes else pickle.dumps(tree, 2)
            if "/code/" not in info.filename and data is not None:
                made.writestr(info.filename, data)
    return target.getvalue()


@pytest.fixture(scope="module")
def archive() -> bytes:
    target = io.BytesIO()
    scriptlang.save(scriptlang.script(Program()), target)
    return target.getvalue()


@pytest.fixture(scope="module")
def lite() -> bytes:
    """One that PyTorch's lite interpreter runs whole, so that there is bytecode.pkl alone."""
    target = io.BytesIO()

    class Lite(scriptlang.nn.Module):
        def __init__(self):
            super().__init__()
            self.colors = [Color.RED, Color.BLUE]

        def forward(self, i: int, a: Any = None) -> Tuple[str, Any]:
            return self.colors[i].name, a

    scriptlang.save(scriptlang.script(Lite()), target)
    return target.getvalue()


def test_what_the_record_says(archive):
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        version, enums, classes, defaults = pickle.loads(file.read(f"archive/{RECORD}"))
    here = f"__torch__.{__name__}"
    assert version == 1
    assert dict(enums)[f"{here}.Color"] == (("RED", 1), ("BLUE", 2))
    assert dict(classes)[f"{here}.Counter"] == ("count", "step")
    assert {f.rpartition(".")[2]: a for f, a in defaults} == {"anything": ("a",), "wanted": ()}


@pytest.mark.parametrize("engine", available())
def test_names_are_kept(archive, lite, engine):
    m = scriptlang.load(archive, engine=engine)
    assert m(True) == ANSWER
    lite = scriptlang.load(stripped(lite), engine=engine)
    assert lite(0) == ("RED", None) and lite(1, 5) == ("BLUE", 5)


@pytest.mark.parametrize("engine", available())
def test_without_them_it_is_an_error(lite, engine):
    without = stripped(lite, lambda tree: None)
    with pytest.raises(RuntimeError, match="name of the member 2 of .*Color is not known"):
        scriptlang.load(without, engine=engine)(1, 0)
    with pytest.raises(RuntimeError, match="missing value for argument 'a'"):
        scriptlang.load(without, engine=engine)(1)


def test_members_that_are_attributes():
    class Holder(scriptlang.nn.Module):
        def __init__(self):
            super().__init__()
            self.colors = [Color.RED, Color.BLUE]

        def forward(self, x: int) -> bool:
            return self.colors[x] == Color.BLUE

    target = io.BytesIO()
    scriptlang.save(scriptlang.script(Holder()), target)
    for engine in available():
        m = scriptlang.load(stripped(target.getvalue()), engine=engine)
        assert [c.name for c in m.colors] == ["RED", "BLUE"] and m(1) is True and m(0) is False
        m = scriptlang.load(stripped(target.getvalue(), lambda tree: None), engine=engine)
        assert [c.value for c in m.colors] == [1, 2] and m(1) is True and m(0) is False
        assert m.colors[0] != m.colors[1] and len({*m.colors, *m.colors}) == 2
        assert repr(m.colors[0]) == "Color(1)"
        with pytest.raises(RuntimeError, match="is not known"):
            m.colors[0].name


def test_compiled_archives_have_them(archive):
    target = io.BytesIO()
    scriptlang.compile_archive(archive, target)
    with zipfile.ZipFile(io.BytesIO(target.getvalue())) as file:
        assert f"archive/{RECORD}" in file.namelist()
    assert scriptlang.load(target.getvalue())(True) == ANSWER


@pytest.mark.parametrize(
    "tree",
    [
        7,
        (),
        (2, (), (), ()),
        (1, 5, (), ()),
        (1, (("__torch__.A", ()),), (), ()),
        (1, (("__torch__.A", (("X", 1), ("Y", 1))),), (), ()),
        (1, (("__torch__.A", (("X", 1), ("X", 2))),), (), ()),
        (1, (("__torch__.A", (("X", 1), ("Y", "1"))),), (), ()),
        (1, (("__torch__.A", (("X", [1]),)),), (), ()),
        (1, (("__torch__.A", (("", 1),)),), (), ()),
        (1, (("__torch__.A", (("X", 1),)), ("__torch__.A", (("X", 1),))), (), ()),
        (1, (("__torch__.A", (("X", 1),)),), (("__torch__.A", ("x",)),), ()),
        (1, (), (("__torch__.B", ("a", "a")),), ()),
        (1, (), (("__torch__.B", "ab"),), ()),
        (1, (), (("__torch__.B", tuple(f"a{i}" for i in range(20_000))),), ()),
        (1, (), (), (("f", (1,)),)),
        (1, (), (), ("f",)),
        (1, (), (("__torch__.B", ("a" * 100,) * 2),) * 2, ()),
    ],
    ids=range(18),
)
def test_malformed_records_are_refused(lite, tree):
    with pytest.raises(ArchiveError, match="names.pkl"):
        scriptlang.load(stripped(lite, lambda _: tree))


STORAGE = (
    b"\x80\x02(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000"
    b"X\x03\x00\x00\x00cpuK\x01tQ."
)
"""The pickle of a persistent id: a storage of one number."""


def test_names_hold_no_tensors(lite):
    damaged = stripped(lite, lambda _: STORAGE)
    with pytest.raises(ArchiveError):
        scriptlang.load(damaged)
    native = pytest.importorskip("scriptlang.interpreter._native")
    with pytest.raises(native.NativeError, match="tensors are not allowed"):
        native.Archive(damaged)


def test_names_that_contradict_the_rest_are_refused(archive, lite):
    with pytest.raises(ArchiveError, match="no member with the value 1"):
        scriptlang.load(stripped(lite, lambda t: (1, ((t[1][0][0], (("X", 9),)),), *t[2:])))
    with pytest.raises(ArchiveError, match="has no default None|lacks arguments"):
        scriptlang.load(stripped(lite, lambda t: (*t[:3], ((t[3][0][0], ("self",)),))))
    with pytest.raises(ArchiveError, match="lacks arguments"):
        scriptlang.load(stripped(lite, lambda t: (*t[:3], ((t[3][0][0], ("zz",)),))))


@pytest.mark.oracle
def test_pytorch_reads_such_archives(archive):
    import torch

    m = torch.jit.load(io.BytesIO(archive))
    assert m(True) == ANSWER and m.anything() == (None, 3)
    from torch.jit.mobile import _load_for_lite_interpreter

    target = io.BytesIO()

    class Plain(scriptlang.nn.Module):
        def forward(self, x: scriptlang.Tensor, a: Any = None) -> scriptlang.Tensor:
            return x + 1

    scriptlang.save(scriptlang.script(Plain()), target)
    with zipfile.ZipFile(target) as file:
        assert f"archive/{RECORD}" in file.namelist()
    target.seek(0)
    assert _load_for_lite_interpreter(target)(torch.ones(2), 1).tolist() == [2, 2]
