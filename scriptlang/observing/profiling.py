"""profile: where the time of programs goes, by operator, module and line.

    with scriptlang.profile() as p:
        model(x)
    print(p)                        # a table
    p.table("module"), p.rows("line")
    p.save_trace("trace.json")      # for chrome://tracing or https://ui.perfetto.dev

While the block runs, all calls of programs in the process are profiled, on either engine. The start
and end of each operator are recorded; the time between operators is shown as "the program".
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import dtypes
from .. import types as T
from ..dtypes import DType
from ..interpreter.engine import Engine
from ..interpreter.native import load
from ..ir import Function, Graph, Node, Value
from ..limits import Limits
from ..ops import table
from ..ops.shared.observed import observed
from .observer import ObservedEngine, Observer, Place, tensor_values
from .paths import module_path
from .roofline import Roof
from .work import bytes_of, flops_of

OBSERVE = "scriptlang::observe"

Tensors = tuple[tuple[DType, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Event:
    """One run of an operator: where, when (nanoseconds), on which thread, with which tensors."""

    place: Place
    start: int
    end: int
    thread: int
    inputs: Tensors
    outputs: Tensors

    @property
    def flops(self) -> int:
        taken, given = [s for _, s in self.inputs], [s for _, s in self.outputs]
        return flops_of(self.place.kind, taken, given, self.place.inside)

    @property
    def bytes(self) -> int:
        return bytes_of(self.inputs) + bytes_of(self.outputs)


@dataclass
class Call:
    """One call of a program from outside: the function, the engine, and when it ran."""

    function: str
    engine: str
    start: int
    end: int


@dataclass
class Row:
    """The totals of all runs of an operator, module or line.

    seconds: the time in it. shapes: the shapes of its first run. least: the seconds that the
    machine needs at least for such work, if a roof was given."""

    name: str
    count: int = 0
    seconds: float = 0.0
    flops: int = 0
    bytes: int = 0
    share: float = 0.0
    shapes: str = ""
    least: float = 0.0
    kinds: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k != "kinds"}


class Profile(Observer):
    """A context manager that profiles; afterwards it has the results.

    events, calls: what ran. seconds: the time of all calls. unseen: the number of calls that were
    not profiled, such as those that record derivatives.
    """

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []
        self.calls: list[Call] = []

    def __enter__(self) -> Profile:
        self.start()
        native = load()[0]
        if native is not None:
            native.start_observing()
        observed.notes = []
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        native = load()[0]
        rows = list(notes_in(observed.notes or []))
        observed.notes = None
        if native is not None:
            rows += notes_in(np.frombuffer(native.end_observing(), np.int64).tolist())
        self.events += events_of(rows, self.places)
        self.programs.clear()

    def forget_first(self, count: int) -> None:
        """Forget the first calls, which include one-time work, and their events."""
        del self.calls[:count]
        start = min((c.start for c in self.calls), default=0)
        self.events = [e for e in self.events if e.start >= start]

    def put_in(self, graph: Graph, places: list[Place]) -> None:
        for place in places:
            note(graph, place.node, 2 * place.number, tensor_values(place.node.inputs), False)
            note(graph, place.node, 2 * place.number + 1, tensor_values(place.node.outputs), True)

    def instead_of(self, engine: Engine) -> ObservedEngine:
        return TimedEngine(self, engine)

    @property
    def seconds(self) -> float:
        return sum(c.end - c.start for c in self.calls) / 1e9

    def rows(self, by: str = "operator", roof: Roof | None = None) -> list[Row]:
        """One row for each "operator", "module", "line" or "node", the longest time first.

        roof: what the machine can do (roofline.measure()); it adds the least possible time to the
        rows."""
        if by not in KEYS:
            raise ValueError(f"by is one of {', '.join(KEYS)}, not {by!r}")
        key = KEYS[by]
        found: dict[str, Row] = {}
        names: dict[int, str] = {}
        for event in self.events:
            number = event.place.number
            if number not in names:
                names[number] = key(event.place)
            row = found.setdefault(names[number], Row(names[number]))
            if not row.count:
                row.shapes = shapes_text(event)
            row.count += 1
            row.seconds += (event.end - event.start) / 1e9
            row.flops += event.flops
            row.bytes += event.bytes
            row.least += 0.0 if roof is None else roof.least(event.flops, event.bytes)
            kind = event.place.kind
            row.kinds[kind] = row.kinds.get(kind, 0) + 1
        rest = self.seconds - sum(r.seconds for r in found.values())
        if self.calls:
            found[PROGRAM] = Row(PROGRAM, len(self.calls), max(rest, 0.0))
        rows = sorted(found.values(), key=lambda r: -r.seconds)
        for row in rows:
            row.share = row.seconds / self.seconds if self.seconds else 0.0
        return rows

    def table(self, by: str = "operator", top: int = 20) -> str:
        """The rows with the longest times, as text."""
        rows = self.rows(by)
        lines = [("time", "share", "runs", "GFLOP/s", "GB/s", by, "shapes of the first run")]
        for r in rows[:top]:
            lines.append(
                (
                    time_text(r.seconds),
                    f"{r.share:.1%}",
                    str(r.count),
                    rate_text(r.flops, r.seconds),
                    rate_text(r.bytes, r.seconds),
                    r.name or "(the module itself)",
                    r.shapes if by in ("node", "operator") else "",
                )
            )
        widths = [max(map(len, column)) for column in zip(*lines)]
        text = [
            "  ".join(
                cell.rjust(w) if i < 5 else cell.ljust(w)
                for i, (cell, w) in enumerate(zip(line, widths))
            ).rstrip()
            for line in lines
        ]
        head = f"{time_text(self.seconds)} in {len(self.calls)} calls, {len(self.events)} operators"
        if self.unseen:
            head += f"; {self.unseen} calls were not looked into: they record derivatives, which"
            head += " scriptlang.no_grad() leaves out, or do not compile"
        if len(rows) > top:
            text.append(f"and {len(rows) - top} more")
        return "\n".join([head, *text])

    def __str__(self) -> str:
        return self.table()

    def trace(self) -> dict[str, Any]:
        """The events in Chrome's trace format, which Perfetto can read too."""
        start = min([e.start for e in self.events] + [c.start for c in self.calls], default=0)
        threads = {e.thread: 0 for e in self.events}
        for number, thread in enumerate(threads, 1):
            threads[thread] = number
        made = [
            entry(c.function, "call", c.start - start, c.end - c.start, 0, {"engine": c.engine})
            for c in self.calls
        ]
        for e in self.events:
            facts = {
                "module": path_of(e.place),
                "line": e.place.line,
                "inputs": [text_of(t) for t in e.inputs],
                "outputs": [text_of(t) for t in e.outputs],
                "flops": e.flops,
                "bytes": e.bytes,
            }
            lane = threads[e.thread]
            name = e.place.kind
            made.append(entry(name, "operator", e.start - start, e.end - e.start, lane, facts))
        return {"traceEvents": made, "displayTimeUnit": "ms"}

    def save_trace(self, path: Any) -> None:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.trace(), file)


PROGRAM = "(the program between operators)"


def profile() -> Profile:
    """A context manager that profiles the calls of programs made in it; see Profile."""
    return Profile()


class TimedEngine(ObservedEngine):
    """Records when calls begin and end."""

    def run(
        self,
        function: Function,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
    ) -> Any:
        call = self.observed(function, args, kwargs, limits)
        if call is None:
            self.observer.unseen += 1
            return self.engine.run(function, args, kwargs, limits)
        profile: Any = self.observer
        start = time.perf_counter_ns()
        try:
            return call()
        finally:
            end = time.perf_counter_ns()
            profile.calls.append(Call(function.name, self.engine.name, start, end))


def note(graph: Graph, node: Node, number: int, values: list[Value], after: bool) -> None:
    """Insert the recording operator before or after a node."""
    operator = table.find(OBSERVE)
    assert operator is not None
    made = graph.create(OBSERVE, (), (), schema=operator.schema, like=node)
    made = made.insert_after(node) if after else made.insert_before(node)
    with graph.at(made):
        constant = graph.insert("prim::Constant", (), [T.INT], attributes={"value": number})
    for v in (constant.output, *values):
        made.add_input(v)


Note = tuple[int, int, int, Tensors]


def notes_in(numbers: list[int]) -> Iterator[Note]:
    """The (place, nanoseconds, thread, tensors) of each record in a flat list of numbers."""
    at = 0
    while at < len(numbers):
        place, when, thread, count = numbers[at : at + 4]
        at += 4
        tensors = []
        for _ in range(count):
            dims = numbers[at + 1]
            shape = tuple(numbers[at + 2 : at + 2 + dims])
            tensors.append((dtypes.by_code(numbers[at]), shape))
            at += 2 + dims
        yield place, when, thread, tuple(tensors)


def events_of(notes: Iterable[Note], places: list[Place]) -> Iterator[Event]:
    """The events from pairs of records before and after operators.
    An operator that raised has none."""
    pending: dict[tuple[int, int], Note] = {}
    for number, when, thread, tensors in notes:
        if not 0 <= number < 2 * len(places):
            continue  # the program itself called the recording operator
        if number % 2 == 0:
            pending[number, thread] = (number, when, thread, tensors)
            continue
        before = pending.pop((number - 1, thread), None)
        if before is not None:
            yield Event(places[number // 2], before[1], when, thread, before[3], tensors)


def path_of(place: Place) -> str:
    return module_path(place.function, place.callers)


def node_name(place: Place) -> str:
    names = [f"%{v.name}" for v in place.node.outputs if v.name]
    where = path_of(place)
    return " ".join(filter(None, (where, place.kind, ", ".join(names) or place.line)))


KEYS: dict[str, Callable[[Place], str]] = {
    "operator": lambda place: place.kind,
    "module": path_of,
    "line": lambda place: place.line or "(unknown)",
    "node": node_name,
}


def entry(
    name: str, category: str, start: int, length: int, lane: int, facts: dict[str, Any]
) -> dict[str, Any]:
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "ts": start / 1e3,
        "dur": length / 1e3,
        "pid": 1,
        "tid": lane,
        "args": facts,
    }


def text_of(tensor: tuple[DType, tuple[int, ...]]) -> str:
    return f"{tensor[0].name}[{', '.join(map(str, tensor[1]))}]"


def shapes_text(event: Event) -> str:
    inputs = " ".join(str(list(s)) for _, s in event.inputs[:3])
    return inputs.replace(", ", ",")


def time_text(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def rate_text(amount: int, seconds: float) -> str:
    return f"{amount / seconds / 1e9:.3g}" if amount and seconds else ""
