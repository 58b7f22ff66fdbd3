"""Removes attributes that a program no longer uses from objects.

After constants are folded, methods read few attributes of a module. `Shrinking` finds which, and
makes new objects of new classes with only those. The values of the graphs get the new types.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import types as T
from ..ir import Graph, Value
from ..objects import ScriptObject, Snapshot, walk

ACCESSES = ("prim::GetAttr", "prim::SetAttr")


def objects_known(
    graph: Graph, objects: dict[Value, ScriptObject], attributes: Snapshot
) -> dict[Value, ScriptObject]:
    """The values that are always the same object, with that object."""
    known = dict(objects)
    for node in graph.walk():
        owner = known.get(node.inputs[0]) if node.kind == "prim::GetAttr" else None
        held = None if owner is None else attributes.get(owner, node.attributes["name"])
        if isinstance(held, ScriptObject):
            known[node.output] = held
    return known


class Shrinking:
    """Which parts of objects graphs use.

    used: id of an object -> the names of attributes that stay. whole: ids of objects that stay as
    they are, since they are used as values. attributes: the values of attributes.
    """

    def __init__(
        self, roots: Iterable[tuple[Graph, dict[Value, ScriptObject]]], attributes: Snapshot
    ) -> None:
        self.attributes = attributes
        self.objects: dict[Value, ScriptObject] = {}
        self.used: dict[int, set[str]] = {}
        self.whole: set[int] = set()
        self.made: dict[int, ScriptObject] = {}
        for _, objects in roots:
            for v, obj in objects.items():
                self._follow(v, obj)

    def keep(self, obj: ScriptObject, name: str) -> None:
        """Keep an attribute and everything inside it."""
        self.used.setdefault(id(obj), set()).add(name)
        self._all_inside(self.attributes.get(obj, name))

    def _follow(self, v: Value, obj: ScriptObject) -> None:
        """Note the uses of a value that is always the object `obj`."""
        self.objects[v] = obj
        used = self.used.setdefault(id(obj), set())
        for node, i in v.uses:
            if "Subgraph" in node.attributes:
                continue  # its body is one of the roots
            if node.kind not in ACCESSES or i == 1:
                self._all_of(obj)
                continue
            used.add(node.attributes["name"])
            held = self.attributes.get(obj, node.attributes["name"])
            if node.kind == "prim::SetAttr" and isinstance(held, ScriptObject):
                self._all_of(held)
            elif node.kind == "prim::GetAttr" and isinstance(held, ScriptObject):
                if isinstance(node.output.type, T.ClassType):
                    self._follow(node.output, held)
                else:
                    self._all_of(held)
            elif isinstance(held, (list, dict, tuple)):
                self._all_inside(held)

    def _all_inside(self, value: Any) -> None:
        """Keep the objects in a container, and what they hold, as they are."""
        for part in walk(value, slots_of=self.attributes.slots):
            if isinstance(part, ScriptObject):
                self.whole.add(id(part))

    def _all_of(self, obj: ScriptObject) -> None:
        if id(obj) not in self.whole:
            self._all_inside(obj)

    def object(self, obj: ScriptObject) -> ScriptObject:
        """The object that replaces `obj`."""
        if id(obj) in self.whole:
            return obj
        if id(obj) not in self.made:
            self.made[id(obj)] = self._make(obj)
        return self.made[id(obj)]

    def _make(self, obj: ScriptObject) -> ScriptObject:
        old, used = obj.type, self.used.get(id(obj), set())
        made = T.ClassType(old.name, old.is_module, doc=old.doc)
        result = ScriptObject(made, [])
        for a in old.attributes:
            if a.name not in used:
                continue
            value = self.attributes.get(obj, a.name)
            shrunk = self.object(value) if isinstance(value, ScriptObject) else value
            made.add_attribute(
                a.name,
                shrunk.type
                if isinstance(shrunk, ScriptObject) and isinstance(a.type, T.ClassType)
                else a.type,
                a.kind,
            )
            result.slots.append(shrunk)
        return result

    def retype(self) -> None:
        """Give the values of the graphs the types of the new objects."""
        for v, obj in self.objects.items():
            if id(obj) in self.made:
                v.type = self.made[id(obj)].type
