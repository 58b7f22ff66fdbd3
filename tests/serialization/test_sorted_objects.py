"""Lists of objects that code of archives sorts, as PyTorch prints it: on each engine."""

from __future__ import annotations

import io

import pytest
from scriptlang.interpreter.engine import available

import scriptlang

from .archives import zipped

CODE = """\
class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.M,
    keys: List[int],
    reverse: bool) -> List[int]:
    boxes = annotate(List[__torch__.Box], [])
    for i in range(torch.len(keys)):
      box = __torch__.Box.__new__(__torch__.Box)
      _0 = (box).__init__(keys[i], i, )
      _1 = torch.append(boxes, box)
    torch.sort(boxes, reverse)
    places = annotate(List[int], [])
    for i0 in range(torch.len(boxes)):
      _2 = torch.append(places, boxes[i0].place)
    return places
  def pairs(self: __torch__.M,
    keys: List[int]) -> List[Tuple[str, int]]:
    pairs = annotate(List[Tuple[Tuple[int, str], __torch__.Box]], [])
    for i in range(torch.len(keys)):
      box = __torch__.Box.__new__(__torch__.Box)
      _0 = (box).__init__(torch.neg(i), i, )
      _1 = torch.append(pairs, ((keys[i], "a"), box))
    sorted0 = torch.sorted(pairs)
    found = annotate(List[Tuple[str, int]], [])
    for i0 in range(torch.len(sorted0)):
      pair, box0, = sorted0[i0]
      _2 = torch.append(found, (pair[1], box0.place))
    return found
class Box:
  __parameters__ = []
  __buffers__ = []
  key : int
  place : int
  def __init__(self: __torch__.Box,
    key: int,
    place: int) -> NoneType:
    self.key = key
    self.place = place
    return None
  def __lt__(self: __torch__.Box,
    other: __torch__.Box) -> bool:
    if torch.eq(self.key, 99):
      ops.prim.RaiseException("no order", "builtins.ValueError")
    else:
      pass
    return torch.lt(self.key, other.key)
"""


ARCHIVE = {
    "m/version": b"10",
    "m/data.pkl": b"\x80\x02c__torch__\nM\nq\x00)\x81}(X\x08\x00\x00\x00trainingq\x01\x89ubq\x02.",
    "m/constants.pkl": b"\x80\x02).",
    "m/code/__torch__.py": CODE.encode(),
}


@pytest.fixture(params=available())
def module(request):
    return scriptlang.load(io.BytesIO(zipped(ARCHIVE)), engine=request.param)


def test_objects_are_sorted_by_their_method(module):
    keys = [(i * 7) % 5 for i in range(40)]
    order = sorted(range(40), key=keys.__getitem__)
    assert module(keys, False) == order
    assert module(keys, True) == sorted(range(40), key=keys.__getitem__, reverse=True)
    assert module([], False) == [] and module([4], True) == [0]


def test_tuples_with_objects_are_sorted(module):
    assert module.pairs([2, 1, 2, 0]) == [("a", 3), ("a", 1), ("a", 2), ("a", 0)]


def test_an_error_of_the_method_is_raised(module):
    with pytest.raises(ValueError, match="no order"):
        module([1, 99, 2], False)
