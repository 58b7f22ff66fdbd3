"""Annotations that Python evaluates only when they are read (PEP 649, from 3.14 on)."""

from __future__ import annotations

import importlib.util
import sys
import textwrap
import typing

import pytest

from scriptlang import nn, script, zeros

PROGRAM = """
    import dataclasses
    from typing import Dict, Final, List, NamedTuple, Optional, Tuple
    import scriptlang as torch
    from scriptlang import Tensor, nn

    def first(x: List[Later], y: Optional[Tensor] = None) -> Later:
        return x[0]

    class Later(NamedTuple):
        value: int
        name: str = "later"

    @torch.jit.script
    class Counter:
        seen: List[int]

        def __init__(self, start: int):
            self.start = start
            self.seen = []

        def plus(self, other: Counter) -> Counter:
            return Counter(self.start + other.start)

    @torch.jit.script
    @dataclasses.dataclass
    class Record:
        a: int
        b: float = 2.5

    class Keeps(nn.Module):
        by: Final[int]
        seen: List[int]
        last: Optional[Tensor]
        other: NotDefined

        def __init__(self):
            super().__init__()
            self.by, self.seen, self.last = 3, [], None

        def forward(self, x: Tensor, n: int | None = None) -> Tensor:
            self.seen.append(self.by)
            return x + len(self.seen) if n is None else x + n

    @torch.jit.ignore
    def in_python(x: List[int]) -> List[int]:
        return x + [1]

    def program(x: int, p: Later):
        return first([p]).value + Counter(x).plus(Counter(2)).start, Record(x).b, p.name

    def calls_python(x: int) -> List[int]:
        return in_python([x])

    Table = Dict[str, Tuple[int, float]]

    def by_alias(x: Table) -> Table:
        return x
"""


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated at once")
def test_a_module_with_lazy_annotations(tmp_path):
    file = tmp_path / "lazy.py"
    file.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("lazy", file)
    lazy = sys.modules["lazy"] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(lazy)
        torch = lazy.torch
        assert torch.script(lazy.program)(3, lazy.Later(4)) == (9, 2.5, "later")
        keeps = torch.script(lazy.Keeps())
        assert [keeps(torch.zeros(1)).item(), keeps(torch.zeros(1), 5).item()] == [1, 5]
        assert torch.script(lazy.calls_python, engine="python")(3) == [3, 1]
        assert torch.script(lazy.by_alias)({"a": (1, 2.0)}) == {"a": (1, 2.0)}
    finally:
        del sys.modules["lazy"]


class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.by, self.seen, self.other, self.named = 3, [], 1, {}

    def forward(self, x):
        self.seen.append(self.by)
        self.named["x"] = x
        return x + len(self.seen)


Keeps.__annotations__ = {
    "by": typing.Final[int],
    "seen": typing.ForwardRef("typing.List[int]"),
    "held": typing.ForwardRef("NotDefined"),
    "named": typing.Dict["str", "Tensor"],
    "other": typing.ForwardRef("NotDefined"),
}
"""As Python 3.14 reads annotations with names that are not defined, or are defined later."""


def test_a_name_that_is_not_defined_spoils_no_other_annotation():
    keeps = script(Keeps(), engine="python")
    assert [keeps(zeros(1)).item(), keeps(zeros(1)).item()] == [1, 2]
    assert "by" not in [name for name, _ in keeps.named_parameters()]
    assert keeps.code.count("self.by") == 0
