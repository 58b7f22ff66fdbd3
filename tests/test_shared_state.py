"""What objects share stays shared when it is saved, copied or returned, on each engine."""

from __future__ import annotations

import copy
import gc
import io
from typing import Dict, List

import pytest
from scriptlang.interpreter.engine import available

import scriptlang
from scriptlang import nn
from scriptlang.objects import Snapshot


class Linked(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = [1, 2]
        self.other = [0]

    @scriptlang.jit.export
    def link(self):
        self.other = self.one

    def forward(self, k: int) -> int:
        self.one.append(k)
        return len(self.other)


@pytest.fixture(params=available())
def linked(request):
    module = scriptlang.script(Linked(), engine=request.param)
    module.link()
    assert module(7) == 3
    return module


def test_a_saved_list_of_two_attributes_is_one_list(linked):
    file = io.BytesIO()
    linked.save(file)
    file.seek(0)
    assert scriptlang.load(file, engine=linked._engine_.name)(8) == 4


def test_a_copied_list_of_two_attributes_is_one_list(linked):
    copied = copy.deepcopy(linked)
    assert copied(8) == 4
    assert linked(9) == 4


def test_a_snapshot_is_of_one_moment(linked):
    snapshot = Snapshot()
    slots = snapshot.slots(linked._object_)
    assert sum(part is other for part in slots for other in slots if isinstance(part, list)) == 4
    linked(8)
    assert snapshot.slots(linked._object_) is slots
    assert [len(v) for v in slots if isinstance(v, list)] in ([3, 3], [4, 4])  # a copy, or itself


@scriptlang.script
class Parts:
    def __init__(self, k: int):
        self.a: List[List[int]] = [[k]]
        self.b: List[List[int]] = [[k + 1]]
        self.c: Dict[str, List[int]] = {"x": [k + 2]}
        self.d: Dict[str, List[int]] = {"x": [k + 3]}


class Maker(nn.Module):
    def forward(self, k: int):
        return [Parts(k), Parts(k + 10)]


@pytest.mark.parametrize("engine", available())
def test_attributes_of_returned_objects_are_their_own(engine):
    made = scriptlang.script(Maker(), engine=engine)(5)
    gc.collect()
    for k, parts in zip((5, 15), made):
        assert (parts.a, parts.b) == ([[k]], [[k + 1]])
        assert (parts.c, parts.d) == ({"x": [k + 2]}, {"x": [k + 3]})
