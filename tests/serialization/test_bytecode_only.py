"""Archives without code/: their bytecode runs."""

import enum
import io
import zipfile
from typing import NamedTuple

import numpy as np
import pytest

import scriptlang
from scriptlang.errors import ArchiveError, script_stack


def scale(x: scriptlang.Tensor, by: float = 2.0, deep: bool = False) -> scriptlang.Tensor:
    if x.dim() == 0 and not deep:
        raise ValueError("no dimensions")
    for i in range(2):
        x = x * by + i
    return x + scriptlang.tensor([1.0, 2.0])


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


class Point(NamedTuple):
    x: float
    y: float


class Typed(scriptlang.nn.Module):
    """Attributes whose types only the code declares."""

    def __init__(self):
        super().__init__()
        self.color = Color.GREEN
        self.colors = [Color.RED, Color.GREEN]
        self.level = Level.HIGH
        self.points = [Point(1.0, 2.0), Point(3.0, 4.0)]

    def forward(self, x: scriptlang.Tensor):
        total = float(self.color.value)
        for color in self.colors:
            total = total + color.value
        for point in self.points:
            total = total + point.x * point.y
        if self.level == Level.HIGH:
            total = total * 2.0
        return x * total


def archive(change=lambda name, data: data, program=None) -> bytes:
    """The archive of `scale` without its code; `change` may alter a record, or drop it by None."""
    whole, stripped = io.BytesIO(), io.BytesIO()
    scriptlang.save(program or scriptlang.script(scale, engine="python"), whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(stripped, "w") as target:
        for info in source.infolist():
            data = source.read(info)
            if "/code/" not in info.filename:
                data = change(info.filename.partition("/")[2], data)
                if data is not None:
                    target.writestr(info.filename, data)
    return stripped.getvalue()


@pytest.mark.parametrize("engine", ["python", "auto"])
def test_it_runs(engine):
    m = scriptlang.load(archive(), engine=engine)
    x = np.array([1, 2], np.float32)
    np.testing.assert_allclose(m(x).numpy(), (x * 2) * 2 + 1 + [1, 2])
    np.testing.assert_allclose(m(x, 3.0).numpy(), (x * 3) * 3 + 1 + [1, 2])
    with pytest.raises(ValueError, match="no dimensions") as e:
        m(np.float32(1))
    assert script_stack(e.value)[0].function.endswith(".forward")


@pytest.mark.parametrize("engine", ["python", "auto"])
def test_enums_and_named_tuples(engine):
    """Pickles name their classes; members are known by value, elements by place."""
    file = archive(program=scriptlang.script(Typed()))
    m = scriptlang.load(file, engine=engine)
    assert m(np.array([1, 2], np.float32)).tolist() == [38, 76]


def test_a_name_of_a_class_and_of_an_enum_is_refused():
    data = archive(
        lambda name, data: data.replace(b"Color", b"Typed") if name == "data.pkl" else data,
        scriptlang.script(Typed()),
    )
    with pytest.raises(ArchiveError, match="is a class and an enum|no member|has no attributes"):
        scriptlang.load(data, engine="python")


def test_its_schema_is_known():
    m = scriptlang.load(archive(), engine="python")
    assert str(m.forward.schema) == (
        "forward(__torch__.PlaceholderModule self, Tensor x, float by=2.0, bool deep=False)"
        " -> Tensor"
    )


def test_unsound_bytecode_is_refused():
    def swap(name, data):
        return data.replace(b"RET", b"DIM") if name == "bytecode.pkl" else data

    with pytest.raises(ArchiveError, match="bytecode.pkl: .*past its end|stack"):
        scriptlang.load(archive(swap), engine="python")


def test_an_unknown_opcode_is_refused():
    def swap(name, data):
        return data.replace(b"RET", b"HLT") if name == "bytecode.pkl" else data

    with pytest.raises(ArchiveError, match="unknown opcode 'HLT'"):
        scriptlang.load(archive(swap), engine="python")
