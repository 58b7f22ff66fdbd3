"""Turns a module's attributes into constants of its methods.

    %w : Tensor = prim::GetAttr[name="weight"](%self)    ->    prim::Constant[value=<Tensor>]

`freeze(module)` depends only on the module and the names of what to keep. It does not change the
module, but returns a new one, whose class has the chosen methods, optimised, and only the
attributes that these still need. Those are attributes that a method sets, writes to or asks a
gradient of, and those whose values cannot be constants (dicts, lists that are returned, objects
that are used as values). `training` is folded as it is, so a module should be put into eval mode
first. Tensors are shared with the module, not copied. Arguments of calls are assumed not to share
memory with attributes. All attributes are read once, at one moment (`Snapshot`): what the native
engine has becomes new lists at each read, which would hide that two attributes share one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .. import types as T
from ..ir import Function, Graph, Node, Value
from ..objects import Device, EnumValue, ScriptObject, Snapshot, walk
from ..records import replace
from ..tensors import Tensor
from . import pipeline, take_numbers
from .alias import AliasAnalysis, memory_kinds
from .effects import is_opaque
from .points_to import Locations
from .shrink import Shrinking, objects_known

SCALARS = (bool, int, float, complex, str, type(None), Device, EnumValue)
"""Classes of immutable values."""

ASKING = frozenset(("aten::grad", "aten::backward", "aten::_backward", "prim::grad"))
"""Operators that ask for gradients, or read gradients that were computed before."""

PLACES = {Tensor: "tensor", list: "list", dict: "dict", tuple: "tuple"}
"""The kind of memory of each class of values."""


def freeze(
    module: ScriptObject, methods: Iterable[str] = ("forward",), preserved: Iterable[str] = ()
) -> ScriptObject:
    """A copy of a module with the given methods, in which attributes are constants where possible.

    preserved: attributes that are kept, and submodules that are kept whole. Methods and preserved
    names may be dotted. Raises KeyError for a name that the module does not have, and RuntimeError
    for a module that returns itself.
    """
    known = Snapshot()
    kept = [find_attribute(module, path) for path in preserved]
    entries = [find_method(module, path) for path in methods]
    graphs = [function.graph.copy() for _, function in entries]
    for graph in graphs:
        pipeline.optimize(graph)
    roots = [
        root
        for graph, (obj, _) in zip(graphs, entries)
        for root in with_forks(graph, {graph.inputs[0]: obj}, known)
    ]
    fold(roots, known, kept)
    for graph, _ in roots:
        take_numbers.run(graph)
        pipeline.optimize(graph)
    if any(v is graph.inputs[0] for graph in graphs for v in graph.outputs):
        raise RuntimeError("attempted to freeze a module that return itself")
    return assemble(module, entries, graphs, roots, kept, known)


Root = tuple[Graph, dict[Value, ScriptObject]]
"""A graph, and which objects some of its inputs are."""


def with_forks(
    graph: Graph, objects: dict[Value, ScriptObject], attributes: Snapshot
) -> Iterator[Root]:
    """The graph and copies of the bodies of its forks; the copies replace the originals."""
    yield graph, objects
    known = objects_known(graph, objects, attributes)
    for node in graph.walk():
        body = node.attributes.get("Subgraph")
        if isinstance(body, Graph):
            body = node.attributes["Subgraph"] = body.copy()
            pipeline.optimize(body)
            passed = {inner: known[v] for inner, v in zip(body.inputs, node.inputs) if v in known}
            yield from with_forks(body, passed, attributes)


def find_method(module: ScriptObject, path: str) -> tuple[ScriptObject, Function]:
    """Return (object, method) of a dotted name. Raises KeyError."""
    obj, name = _owner(module, path)
    if name not in obj.type.methods:
        raise KeyError(path)
    return obj, obj.type.methods[name]


def find_attribute(module: ScriptObject, path: str) -> tuple[ScriptObject, str]:
    """Return (object, attribute) of a dotted name. Raises KeyError."""
    obj, name = _owner(module, path)
    if obj.type.slot(name) is None:
        raise KeyError(path)
    return obj, name


def _owner(module: ScriptObject, path: str) -> tuple[ScriptObject, str]:
    *parents, name = path.split(".")
    for part in parents:
        if module.type.slot(part) is None or not isinstance(module.get(part), ScriptObject):
            raise KeyError(path)
        module = module.get(part)
    return module, name


def fold(roots: list[Root], known: Snapshot, kept: Iterable[tuple[ScriptObject, str]]) -> bool:
    """Replace reads of attributes in the graphs by constants, in place."""
    set_names = {
        n.attributes["name"]
        for graph, _ in roots
        for n in graph.walk_all()
        if n.kind == "prim::SetAttr"
    }
    hidden = hidden_in(known, [obj for _, objects in roots for obj in objects.values()], set_names)
    readings = [Reading(graph, objects, set_names, known, hidden) for graph, objects in roots]
    stays = stay(kept, known)
    changed = False
    for reading in readings:
        for node in reading.objects_read():
            obj, name = reading.objects[node.inputs[0]], node.attributes["name"]
            value = known.get(obj, name)
            if (
                name not in set_names
                and (id(obj), name) not in stays
                and not any(r.writes_to(value) or r.differentiates_by(value) for r in readings)
            ):
                changed |= reading.replace(node, value)
    return changed


def hidden_in(known: Snapshot, roots: Iterable[ScriptObject], set_names: set[str]) -> set[int]:
    """The memory of attributes that may be reached in ways that are not followed: in containers
    that are not folded (through dicts, and objects in lists), or in attributes that change."""
    unfolded = [
        value
        for obj in walk(*roots, slots_of=known.slots)
        if isinstance(obj, ScriptObject)
        for a, value in zip(obj.type.attributes, known.slots(obj))
        if a.name in set_names or not (isinstance(value, ScriptObject) or is_foldable(value))
    ]
    inside = walk(*unfolded, slots_of=known.slots)
    return {memory_of(v) for v in inside if not isinstance(v, SCALARS)}


def memory_of(value: Any) -> int:
    """The identity of a value's memory; tensors that share a storage share it."""
    return id(value._storage) if isinstance(value, Tensor) else id(value)


def stay(kept: Iterable[tuple[ScriptObject, str]], known: Snapshot) -> set[tuple[int, str]]:
    """The attributes that are not folded: preserved ones, and all inside preserved objects."""
    found: set[tuple[int, str]] = set()
    pending = list(kept)
    while pending:
        obj, name = pending.pop()
        value = known.get(obj, name)
        if (id(obj), name) not in found:
            found.add((id(obj), name))
            if isinstance(value, ScriptObject):
                pending += [(value, a.name) for a in value.type.attributes]
    return found


class Reading(AliasAnalysis):
    """The alias analysis of a graph that also knows which objects its values are.

    objects: value -> the object that it always is. set_names: names of attributes that may change.
    attributes: the values of attributes. hidden: see `hidden_in`. places: the location of each
    attribute's value, by the identity of its memory; attributes that share a tensor's storage share
    a location.
    """

    def __init__(
        self,
        graph: Graph,
        objects: dict[Value, ScriptObject],
        set_names: set[str],
        attributes: Snapshot,
        hidden: set[int],
    ) -> None:
        self.objects: dict[Value, ScriptObject] = dict(objects)
        self.set_names, self.attributes, self.hidden = set_names, attributes, hidden
        self.places: dict[int, Locations] = {}
        self.hands_objects_on = any(
            is_opaque(n)
            and "Subgraph" not in n.attributes
            and any("object" in memory_kinds(v.type) for v in n.inputs)
            for n in graph.walk()
        )
        super().__init__(graph)
        asking = [n for n in graph.walk_all() if n.kind in ASKING]
        self.asks_for_all = any(n.kind != "aten::grad" for n in asking)
        self.asked = self.reached(n.inputs[1] for n in asking if n.kind == "aten::grad")

    def objects_read(self) -> list[Node]:
        """The nodes that read attributes of known objects."""
        return [
            n
            for n in self.graph.walk()
            if n.kind == "prim::GetAttr" and n.inputs[0] in self.objects
        ]

    def _constrain(self, node: Node) -> None:
        owner = self.objects.get(node.inputs[0]) if node.kind == "prim::GetAttr" else None
        if owner is None or node.attributes["name"] in self.set_names:
            super()._constrain(node)
            return
        value = self.attributes.get(owner, node.attributes["name"])
        if isinstance(value, ScriptObject):
            self.objects[node.output] = value
            super()._constrain(node)
        elif memory_kinds(node.output.type):
            self.points[node.output] = self.place(value)

    def place(self, value: Any) -> Locations:
        """The location of an attribute's value; values that share memory share one."""
        key = memory_of(value)
        if key in self.hidden:
            self.places[key] = self.all_opaque
        elif key not in self.places:
            self.places[key] = place = self.new(PLACES.get(type(value), "other"))
            if is_foldable(value) and isinstance(value, (list, tuple)):
                held = {self.place(part) for part in value if not isinstance(part, SCALARS)}
                self.put(place, "*", sum(held))
            elif not isinstance(value, Tensor):
                self.put(place, "*", self.all_opaque)
        return self.places[key]

    def writes_to(self, value: Any) -> bool:
        """Whether the graph, or unknown code that it calls, may write to an attribute's value."""
        if (
            self.hands_objects_on
            or isinstance(value, (list, tuple))
            and any(self.writes_to(part) for part in value if not isinstance(part, SCALARS))
        ):
            return True
        place = self.places.get(memory_of(value), 0)
        return bool(self.seen(place) & self.written)

    def differentiates_by(self, value: Any) -> bool:
        """Whether the graph asks for the gradient of an attribute's value; constants have no
        gradients. `backward` asks for the gradients of all tensors."""
        tensors = value if isinstance(value, (list, tuple)) else [value]
        wanted = [v for v in tensors if isinstance(v, Tensor) and v.requires_grad]
        if self.asks_for_all and wanted:
            return True
        places = (self.places.get(memory_of(v), 0) for v in wanted)
        return any(self.seen(place) & self.asked for place in places)

    def replace(self, node: Node, value: Any) -> bool:
        """Replace a node that reads an attribute by a constant, if its value can be one."""
        if not is_foldable(value):
            return False
        if any(isinstance(part, list) for part in walk(value)):
            lists = self.reach(self.of(node.output)) & self.by_kind["list"]
            if lists & (self.outside | self.returned):
                return False
        with node.graph.at(node):
            new = constant_of(value, node.output.type, node)
            for user, i in list(node.output.uses) if value is None else ():
                if user.kind == "aten::_unwrap_optional":  # its result has the type of this None
                    user.replace_input(i, node.graph.constant(None, node.output.type, like=node))
        new.name = node.output.name
        node.output.replace_all_uses_with(new)
        node.destroy()
        return True


def is_foldable(value: Any) -> bool:
    """Whether a value is a scalar, a tensor, or a list or tuple of these."""
    if isinstance(value, (list, tuple)):
        return all(map(is_foldable, value))
    return isinstance(value, (Tensor, *SCALARS))


def constant_of(value: Any, t: T.Type, like: Node) -> Value:
    """Insert nodes that produce a foldable value; a list of tensors is created anew each time."""
    graph = like.graph
    if value is None:
        return graph.constant(None, T.NONE, like=like)
    if isinstance(value, Tensor):  # PyTorch cannot load a constant that requires a gradient
        return graph.constant(value.detach() if value.requires_grad else value, T.TENSOR, like=like)
    t = T.without_none(t)
    parts = list(value) if isinstance(value, (list, tuple)) else []
    if all(isinstance(part, SCALARS) for part in parts):
        return graph.constant(parts if isinstance(value, list) else value, t, like=like)
    types = t.elements if isinstance(t, T.TupleType) else (t.contained[0],) * len(parts)
    inputs = [constant_of(part, element, like) for part, element in zip(parts, types)]
    kind = "prim::TupleConstruct" if isinstance(value, tuple) else "prim::ListConstruct"
    return graph.insert(kind, inputs, [t], like=like).output


def assemble(
    module: ScriptObject,
    entries: list[tuple[ScriptObject, Function]],
    graphs: list[Graph],
    roots: list[Root],
    kept: list[tuple[ScriptObject, str]],
    known: Snapshot,
) -> ScriptObject:
    """A module of a new class with the graphs as methods and the attributes they still read."""
    inner = [
        (parent, a.name)
        for parent in objects_in(module)
        for a in parent.type.attributes
        if any(obj is parent.get(a.name) for obj, _ in (*entries, *kept))
    ]
    shrinking = Shrinking(roots, known)
    for obj, name in kept:
        shrinking.keep(obj, name)
    for obj, name in inner:
        shrinking.used.setdefault(id(obj), set()).add(name)
    if id(module) in shrinking.whole:  # it needs a new class even if it is kept whole
        shrinking.whole.discard(id(module))
        shrinking.used[id(module)] = {a.name for a in module.type.attributes}
    result = shrinking.object(module)
    shrinking.retype()
    for (obj, function), graph in zip(entries, graphs):
        owner = shrinking.object(obj).type
        schema = function.schema
        first = replace(schema.arguments[0], type=owner)
        owner.methods[function.name.rpartition(".")[2]] = Function(
            function.name, replace(schema, arguments=(first, *schema.arguments[1:])), graph
        )
    return result


def objects_in(obj: ScriptObject) -> list[ScriptObject]:
    """An object and all objects that its attributes hold."""
    found: dict[int, ScriptObject] = {}
    pending = [obj]
    while pending:
        obj = pending.pop()
        if id(obj) not in found:
            found[id(obj)] = obj
            pending += [v for v in obj.slots if isinstance(v, ScriptObject)]
    return list(found.values())
