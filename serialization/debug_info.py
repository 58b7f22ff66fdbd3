"""Debug records, which map the code of an archive to the program from which it was made.

A debug record is a pickle: `("FORMAT_WITH_STRING_TABLE", strings, (offset, ((lines, file,
first_line), start, end), tag), ...)`.  Offsets ascend, and `lines` has the indices of the strings
that make up the source.  The first versions of the format have no table but the text itself.  A
record is read when a place is first looked up.  If it is damaged, places are unknown, but the
archive loads.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any

from ..building import made_once
from ..errors import ArchiveError
from ..records import record
from ..source import Source, Span
from .unpickle import unpickle

STRING_TABLE = "FORMAT_WITH_STRING_TABLE"


@record(frozen=True, eq=False)
class Mark:
    """The origin of the code from `offset` on: bytes [start, end) of `source`; none if that is
    None."""

    offset: int
    source: Source | None = None
    start: int = 0
    end: int = 0

    @property
    def span(self) -> Span | None:
        """The origin as a span, which counts characters; None if there is none or it is wrong."""
        if self.source is None:
            return None
        text, start, end = self.source.text, self.start, self.end
        if not text.isascii():
            raw = text.encode("utf-8", "surrogatepass")
            start, end = (len(raw[:n].decode("utf-8", "ignore")) for n in (start, end))
        if not 0 <= start <= end <= len(text) or end == 0:
            return None
        return Span(self.source, start, end)


class DebugInfo:
    """The debug record of one source, read on first use."""

    def __init__(self, record: str, records: Mapping[str, Any], read: Callable[[str], Any]) -> None:
        self.record, self.records, self.read = record, records, read

    @made_once
    def marks(self) -> list[Mark]:
        if self.record not in self.records:
            return []
        try:
            return read_marks(unpickle(self.read(self.record), self.record).value)
        except ArchiveError:
            return []  # a program runs without its places

    @made_once
    def offsets(self) -> list[int]:
        return [m.offset for m in self.marks]

    def find(self, offset: int) -> Span | None:
        """The span in the program from which the code at `offset` was made; None if unknown."""
        marks = self.marks
        i = bisect_right(self.offsets, offset) - 1
        return marks[i].span if i >= 0 else None


class OriginalSpan(Span):
    """The span in the program from which a place in an archive's code was made.

    It is looked up on first use.  If it is not known, it is the place in the archive's code itself.
    """

    def __init__(self, debug: DebugInfo, code: Span) -> None:
        object.__setattr__(self, "debug", debug)
        object.__setattr__(self, "code", code)

    def __getattr__(self, name: str) -> Any:
        if name not in ("source", "start", "end"):
            raise AttributeError(name)
        code = self.__dict__["code"]
        found = self.__dict__["debug"].find(code.start) or code
        for field in ("source", "start", "end"):
            object.__setattr__(self, field, getattr(found, field))
        return self.__dict__[name]

    @property
    def is_known(self) -> bool:
        """Whether the debug record knows the place."""
        return self.source is not self.code.source

    def __reduce__(self) -> tuple[Any, ...]:
        return Span, (self.source, self.start, self.end)


def read_marks(tree: Any) -> list[Mark]:
    """The marks of an unpickled debug record, without those that are malformed or out of order."""
    if not isinstance(tree, tuple):
        return []
    strings: tuple[Any, ...] = ()
    if len(tree) >= 2 and tree[0] == STRING_TABLE and isinstance(tree[1], tuple):
        strings = tuple(s if isinstance(s, str) else "" for s in tree[1])
        tree = tree[2:]
        if (
            len(tree) == 1
            and isinstance(tree[0], tuple)
            and all(isinstance(m, tuple) for m in tree[0])
        ):
            tree = tree[0]
    sources: dict[int, Source | None] = {}
    marks, last = [], -1
    for item in tree:
        mark = read_mark(item, strings, sources)
        if mark is not None and mark.offset >= last:
            marks.append(mark)
            last = mark.offset
    return marks


def read_mark(
    item: Any, strings: tuple[str, ...], sources: dict[int, Source | None]
) -> Mark | None:
    if not (isinstance(item, tuple) and len(item) >= 2 and isinstance(item[0], int)):
        return None
    place = item[1]
    if not (
        isinstance(place, tuple)
        and len(place) >= 3
        and isinstance(place[1], int)
        and isinstance(place[2], int)
    ):
        return None
    described, start, end = place[:3]
    if id(described) not in sources:
        sources[id(described)] = read_source(described, strings)
    return Mark(item[0], sources[id(described)], start, end)


def read_source(described: Any, strings: tuple[str, ...]) -> Source | None:
    """The source described by (text or indices of its lines, file name, number of the first
    line)."""
    if not isinstance(described, tuple) or len(described) < 3:
        return None
    text, name, first_line = described[:3]
    if isinstance(text, list):
        if not all(isinstance(i, int) and 0 <= i < len(strings) for i in text):
            return None
        if sum(len(strings[i]) for i in text) > MAX_ORIGINAL:
            return None
        text = "".join(strings[i] for i in text)
    if isinstance(name, int):
        name = strings[name] if 0 <= name < len(strings) else ""
    if not isinstance(text, str) or not isinstance(first_line, int):
        return None
    if not text:
        return None
    return Source(text, name if isinstance(name, str) and name else "<unknown>", first_line)


MAX_ORIGINAL = 16 << 20
"""The largest number of characters of a source.  A small record could repeat a long line often."""
