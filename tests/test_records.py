"""Records against dataclasses.dataclass, which they stand for."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from scriptlang import records


@records.record(frozen=True)
class Point:
    x: int
    y: int = 0
    note: str = records.field(default="", compare=False)


@records.record(frozen=True)
class Point3(Point):
    z: int = 0


@records.record
class Bag:
    name: str
    things: list = records.field(default_factory=list)

    def __post_init__(self):
        self.size = len(self.things)


@records.record(eq=False)
class Thing:
    name: str


def test_arguments_and_defaults():
    assert Point(1) == Point(x=1, y=0) and Point(1).note == "" and Point3(1, 2, "n", 3).z == 3
    with pytest.raises(TypeError, match="'x'"):
        Point()
    with pytest.raises(TypeError, match="unexpected keyword argument 'w'"):
        Point(1, w=2)


def test_factories_make_a_new_object_each_time():
    first, second = Bag("a"), Bag("a")
    first.things.append(1)
    assert second.things == [] and first != second and Bag("a", [1]).size == 1


def test_comparison_leaves_out_what_is_not_compared():
    assert Point(1, 2, "a") == Point(1, 2, "b") and hash(Point(1, 2, "a")) == hash(Point(1, 2, "b"))
    assert Point(1, 2) != Point(1, 3) and Point(1, 2) != Point3(1, 2) and Point(1) != (1, 0, "")


def test_hashing_is_that_of_dataclasses():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Bag("a"))
    thing = Thing("a")
    assert hash(thing) == object.__hash__(thing) and thing != Thing("a")


def test_frozen_ones_do_not_change():
    point = Point(1)
    with pytest.raises(AttributeError, match="Point.x cannot change"):
        point.x = 2
    with pytest.raises(AttributeError, match="frozen"):
        del point.y
    assert point.x == 1


def test_copies():
    point = Point3(1, 2, "n", 3)
    assert copy.deepcopy(point) == point == pickle.loads(pickle.dumps(point))
    changed = records.replace(point, z=4)
    assert (changed.x, changed.note, changed.z) == (1, "n", 4)


def test_text_is_that_of_dataclasses():
    made = dataclasses.make_dataclass("Point", [("x", int), ("y", int), ("note", str)])
    assert repr(Point(1, 2, "a")) == repr(made(1, 2, "a"))
