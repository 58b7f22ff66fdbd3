"""Values of every kind are told apart: results of programs, and attributes of archives."""

from __future__ import annotations

import enum
from typing import Dict, List, Tuple

import pytest

import scriptlang
from scriptlang import Tensor, nn
from scriptlang.command_line.main import DIFFERS, OK, main


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@scriptlang.script
class Box:
    def __init__(self, x: Tensor, name: str):
        self.x = x
        self.name = name
        self.inner: List[int] = [1]


class Packing(nn.Module):
    def __init__(self, number, color, device, shift, name):
        super().__init__()
        self.shift: float = shift
        self.name: str = name
        self.number = number
        self.colors: Dict[str, Color] = {"a": color}
        self.places: List[Tuple[int, scriptlang.device]] = [(1, scriptlang.device(device))]
        self.boxes: List[Box] = [Box(scriptlang.zeros(2) + shift, name)]

    def forward(self, x: Tensor):
        box = Box(x + self.shift, self.name)
        return {"n": (self.number, self.colors["a"])}, self.places[0], box, None


def packing(number=1j, color=Color.RED, device="cpu", shift=0.0, name="a"):
    return scriptlang.script(Packing(number, color, device, shift, name))


CHANGES = [
    ({"number": 2j}, "result[0]['n'][0]", "number"),
    ({"number": True}, "result[0]['n'][0]", "number"),
    ({"color": Color.BLUE}, "result[0]['n'][1]", "colors"),
    ({"device": "cuda:1"}, "result[1][1]", "places"),
    ({"shift": 1.0}, "result[2].x", "boxes"),
    ({"name": "b"}, "result[2].name", "boxes"),
]


@pytest.mark.parametrize("changed, place, attribute", CHANGES)
def test_results_of_every_kind_are_compared(changed, place, attribute):
    x = scriptlang.ones(2)
    assert scriptlang.compare(packing(), "python", (x,)).equal
    found = scriptlang.compare(packing(), packing(**changed), (x,))
    assert found.result.startswith(place + ":"), found


@pytest.mark.parametrize("changed, place, attribute", CHANGES)
def test_attributes_of_every_kind_are_compared(changed, place, attribute, tmp_path, capsys):
    a, same, b = (str(tmp_path / name) for name in ("a.pt", "same.pt", "b.pt"))
    packing().save(a)
    packing().save(same)
    packing(**changed).save(b)
    assert main(["diff", a, same]) == OK
    assert main(["diff", a, b]) == DIFFERS
    assert attribute in capsys.readouterr().out
