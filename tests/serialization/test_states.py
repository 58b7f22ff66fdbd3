"""`__getstate__` and `__setstate__` of classes in an archive."""

import io

import pytest
from scriptlang.serialization.archive import read_archive, write_archive

import scriptlang
from scriptlang.errors import ArchiveError, LimitError
from scriptlang.limits import Limits
from tests.serialization.archives import zipped

CODE = """\
class M(Module):
  x : int
  y : List[int]
  def __getstate__(self: __torch__.M) -> Tuple[int, int]:
    x = self.x
    return (x, 7)
  def __setstate__(self: __torch__.M,
      state: Tuple[int, int]) -> NoneType:
    a, b, = state
    self.x = torch.add(a, 1)
    {rest}
    return None
"""


def archive(rest: str, state: bytes = b"K\x05K\x06\x86") -> bytes:
    return zipped(
        {
            "m/version": b"10\n",
            "m/constants.pkl": b"\x80\x02).",
            "m/data.pkl": b"\x80\x02c__torch__\nM\n)\x81" + state + b"b.",
            "m/code/__torch__.py": CODE.replace("{rest}", rest).encode(),
        }
    )


def test_setstate_runs_when_it_is_asked_to():
    loaded = read_archive(archive("self.y = [a, b]"))
    assert loaded.root.slots == [None, None]
    loaded.restore()
    assert loaded.root.get("x") == 6 and loaded.root.get("y") == [5, 6] and not loaded.pending


def test_getstate_is_what_is_saved():
    loaded = read_archive(archive("self.y = [a, b]"))
    loaded.restore()
    file = io.BytesIO()
    write_archive(loaded.root, file)
    again = read_archive(file.getvalue())
    assert [p.state for p in again.pending] == [(6, 7)]
    again.restore()
    assert again.root.get("x") == 7 and again.root.get("y") == [6, 7]


def test_a_state_of_another_type_is_refused():
    with pytest.raises(ArchiveError, match="the state of __torch__.M is declared Tuple"):
        read_archive(archive("pass", b"K\x05"))


def test_an_attribute_left_out_is_named():
    with pytest.raises(ArchiveError, match="left 'y' without a value"):
        read_archive(archive("pass")).restore()


def test_endless_states_meet_a_limit():
    endless = "go = True\n    while go:\n      self.x = torch.add(a, b)\n    self.y = [a]"
    with pytest.raises(LimitError):
        read_archive(archive(endless)).restore(Limits(instructions=10_000))


def test_a_lacking_operator_leaves_the_state_pending():
    loaded = read_archive(archive("u = ops.mylib.unpack(a)\n    self.y = [a]"))
    loaded.restore()
    assert len(loaded.pending) == 1


def test_loading_runs_nothing_and_first_use_runs_setstate():
    module = scriptlang.load(archive("self.y = [a, b]"), engine="python")
    assert module._raw_.slots == [None, None]
    assert module.x == 6 and module.y == [5, 6]


def test_a_setstate_that_spins_hits_its_limit_at_first_use_and_again():
    endless = "go = True\n    while go:\n      self.x = torch.add(a, b)\n    self.y = [a]"
    limits = Limits(instructions=10_000)
    module = scriptlang.load(archive(endless), engine="python", limits=limits)
    for _ in range(2):
        with pytest.raises(LimitError):
            module.x
