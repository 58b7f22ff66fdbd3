"""watch: the values inside a program while it runs.

    with model.watch("layer1.*", operators="aten::conv2d") as seen:
        model(x)
    for value in seen:
        print(value.module, value.operator, value.line, value.tensor)

Each value is copied right after its operator has computed it, so later writes do not change it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from .. import types as T
from ..ir import Graph
from ..ops import table
from ..ops.calling.current import calls
from ..tensors import Tensor
from .observer import Observer, Place
from .paths import module_path

SEE = "scriptlang_watch::see"
MOST_TOLD = 6
"""How many names a warning tells."""


@dataclass(frozen=True)
class Watched:
    """A recorded value.

    module: the path of the submodule. name: the value's name in the graph. line: `file:line`.
    tensor: the result of `keep`, by default a copy of the value."""

    module: str
    operator: str
    name: str
    line: str
    tensor: Any


class Watch(Observer):
    """A context manager, and the sequence of the values it has recorded, in order.

    `seen["layer1.0.conv1"]` is the list of values of one submodule.
    """

    def __init__(
        self,
        owner: Any = None,
        modules: str = "*",
        operators: str = "*",
        keep: Callable[[Tensor], Any] | None = None,
    ) -> None:
        super().__init__()
        self.owner, self.modules, self.operators = owner, modules, operators
        self.keep = keep or copy_of
        self.values: list[Watched] = []

    def __enter__(self) -> Watch:
        define_see()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self.unseen:
            warnings.warn(
                f"{self.unseen} calls were not watched: they record derivatives, which "
                "scriptlang.no_grad() leaves out, or do not compile",
                stacklevel=2,
            )
        if self.places and not any(self.wants(p) for p in self.places):
            warnings.warn(self.no_match(), stacklevel=2)

    def no_match(self) -> str:
        """What to say where no operator of the calls is of the wanted modules and operators."""
        paths = list(dict.fromkeys(path_of(p) for p in self.places))
        if not any(fnmatchcase(path, self.modules) for path in paths):
            what, wanted, there = "module", self.modules, paths
        else:
            inside = [p for p in self.places if fnmatchcase(path_of(p), self.modules)]
            what, wanted = "operator", self.operators
            there = list(dict.fromkeys(p.kind for p in inside))
        near = get_close_matches(wanted, there, 3, 0.5) or there[:MOST_TOLD]
        names = ", ".join(repr(name) for name in near)
        return f"no {what} of the calls matches {wanted!r}; there are {names}"

    def __iter__(self) -> Iterator[Watched]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, key: int | str) -> Any:
        """The value with an index, or the list of those of a submodule.
        Raises KeyError if there are none."""
        if isinstance(key, int):
            return self.values[key]
        found = [v for v in self.values if v.module == key]
        if not found:
            known = ", ".join(dict.fromkeys(v.module for v in self.values)) or "nothing"
            raise KeyError(f"no value of {key!r} was seen; there are those of {known}")
        return found

    def applies(self, args: Sequence[Any]) -> bool:
        return self.owner is None or bool(args) and args[0] is self.owner

    def wants(self, place: Place) -> bool:
        return fnmatchcase(path_of(place), self.modules) and (
            fnmatchcase(place.kind, self.operators)
            or any(fnmatchcase(kind, self.operators) for kind in place.inside)
        )

    def put_in(self, graph: Graph, places: list[Place]) -> None:
        operator = table.find(SEE)
        assert operator is not None
        for place in places:
            after = place.node
            for v in [v for v in place.node.outputs if v.type == T.TENSOR]:
                node = graph.create(SEE, (), (), schema=operator.schema, like=place.node)
                after = node.insert_after(after)
                number = graph.create(
                    "prim::Constant", (), [T.INT], attributes={"value": place.number}
                )
                node.add_input(number.insert_before(node).output)
                node.add_input(v)

    def see(self, number: int, value: Tensor) -> None:
        if not 0 <= number < len(self.places):
            return  # the program itself called the operator
        place = self.places[number]
        names = [v.name for v in place.node.outputs if v.name]
        path = path_of(place)
        name = names[0] if names else ""
        self.values.append(Watched(path, place.kind, name, place.line, self.keep(value)))


def path_of(place: Place) -> str:
    """The path of the submodule that a place is in; "" for the program itself."""
    return module_path(place.function, place.callers)


def copy_of(value: Tensor) -> Any:
    return value.detach().clone()


@cache
def define_see() -> None:
    """Register the operator that is added to watched programs."""
    from ..library import define, impl

    def see(place: int, value: Tensor) -> None:
        observer = calls.observer
        if isinstance(observer, Watch):
            observer.see(place, value)

    define(SEE, "(int place, Tensor value) -> ()")
    impl(SEE, "CPU", see)
