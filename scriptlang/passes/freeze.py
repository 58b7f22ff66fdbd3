"""Turn a module's attributes into constants of its methods.

    %w : Tensor = prim::GetAttr[name="weight"](%self)    ->    prim::Constant[value=<Tensor>]

`freeze(module)` is a function of the module and the names of the methods to keep: it leaves the
module as it is and gives a new one, of a class that has those methods, optimised, and only the
attributes that they still need: those that a kept method sets or writes to, and those whose values
cannot be constants (dicts, lists that the caller gets, objects that are used as values).
`training` is folded as it stands, so a module is put into eval mode first.  Tensors are shared with
the module, not copied.  Arguments of calls are taken not to share memory with attributes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Iterable

from .. import types as T
from ..ir import Function, Graph, Node, Value
from ..objects import Device, EnumValue, ScriptObject
from ..tensors import Tensor
from . import pipeline
from .alias import AliasAnalysis, memory_kinds
from .effects import is_opaque
from .points_to import Locations

SCALARS = (bool, int, float, complex, str, type(None), Device, EnumValue)
"""Classes of values that nothing can change."""

PLACES = {Tensor: "tensor", list: "list", dict: "dict", tuple: "tuple"}
"""Kind of memory by class of value."""


def freeze(module: ScriptObject, methods: Iterable[str] = ("forward",)) -> ScriptObject:
    """A module with the given methods whose attributes are constants where they can be.

    Raises KeyError for a method that the module does not have.
    """
    functions = {name: module.type.methods[name] for name in methods}
    graphs = {name: function.graph.copy() for name, function in functions.items()}
    for graph in graphs.values():
        pipeline.optimize(graph)
    fold(module, list(graphs.values()))
    for graph in graphs.values():
        pipeline.optimize(graph)
    return assemble(module, functions, graphs)


def fold(module: ScriptObject, graphs: list[Graph]) -> bool:
    """Replace what the graphs, all of methods of `module`, read of it by constants, in place."""
    set_names = {n.attributes["name"] for graph in graphs for n in graph.walk()
                 if n.kind == "prim::SetAttr"}
    readings = [Reading(graph, module, set_names) for graph in graphs]
    changed = False
    for reading in readings:
        for node in reading.objects_read():
            obj, name = reading.objects[node.inputs[0]], node.attributes["name"]
            value = obj.get(name)
            if name not in set_names and not any(r.writes_to(value) for r in readings):
                changed |= reading.replace(node, value)
    return changed


class Reading(AliasAnalysis):
    """A graph with the objects that its values stand for, and their attributes as memory.

    objects: value -> the object it always is; attributes of the names in `set_names` may change.
    places: what an attribute points to, by identity, so that attributes that share a tensor's
    storage share a location.
    """

    def __init__(self, graph: Graph, module: ScriptObject, set_names: set[str]):
        self.objects: dict[Value, ScriptObject] = {graph.inputs[0]: module}
        self.set_names = set_names
        self.places: dict[int, Locations] = {}
        self.hands_objects_on = any(
            is_opaque(n) and any("object" in memory_kinds(v.type) for v in n.inputs)
            for n in graph.walk())
        super().__init__(graph)

    def objects_read(self) -> list[Node]:
        """The reads of attributes of known objects."""
        return [n for n in self.graph.walk()
                if n.kind == "prim::GetAttr" and n.inputs[0] in self.objects]

    def _constrain(self, node: Node) -> None:
        owner = self.objects.get(node.inputs[0]) if node.kind == "prim::GetAttr" else None
        if owner is None or node.attributes["name"] in self.set_names:
            super()._constrain(node)
            return
        value = owner.get(node.attributes["name"])
        if isinstance(value, ScriptObject):
            self.objects[node.output] = value
            super()._constrain(node)
        elif memory_kinds(node.output.type):
            self.points[node.output] = self.place(value)

    def place(self, value: Any) -> Locations:
        """The location of an attribute's value; one for all values with the same memory."""
        key = id(value.storage) if isinstance(value, Tensor) else id(value)
        if key not in self.places:
            self.places[key] = place = self.new(PLACES.get(type(value), "other"))
            if is_foldable(value) and isinstance(value, (list, tuple)):
                held = {self.place(part) for part in value if not isinstance(part, SCALARS)}
                self.put(place, "*", sum(held))
            elif not isinstance(value, Tensor):
                self.put(place, "*", self.all_opaque)
        return self.places[key]

    def writes_to(self, value: Any) -> bool:
        """Whether the graph may write to what an attribute holds, or runs code that may."""
        if self.hands_objects_on or isinstance(value, (list, tuple)) and any(
                self.writes_to(part) for part in value if not isinstance(part, SCALARS)):
            return True
        place = self.places.get(id(value.storage) if isinstance(value, Tensor) else id(value), 0)
        return bool(self.seen(place) & self.written)

    def replace(self, node: Node, value: Any) -> bool:
        """Let a constant stand for a read of an attribute, where the value can be one."""
        if not is_foldable(value) or isinstance(value, list) and (
                self.of(node.output) & (self.outside | self.returned)):
            return False
        with node.graph.at(node):
            new = constant_of(value, node.output.type, node)
        new.name = node.output.name
        node.output.replace_all_uses_with(new)
        node.destroy()
        return True


def is_foldable(value: Any) -> bool:
    """Whether a value is a scalar, a tensor, or a list or tuple of such."""
    if isinstance(value, (list, tuple)):
        return all(map(is_foldable, value))
    return isinstance(value, (Tensor, *SCALARS))


def constant_of(value: Any, t: T.Type, like: Node) -> Value:
    """Nodes that give a foldable value; a list of tensors is made anew each time."""
    graph = like.graph
    if value is None or isinstance(value, Tensor):
        return graph.constant(value, T.NONE if value is None else T.TENSOR, like=like)
    t = T.without_none(t)
    parts = list(value) if isinstance(value, (list, tuple)) else []
    if all(isinstance(part, SCALARS) for part in parts):
        return graph.constant(parts if isinstance(value, list) else value, t, like=like)
    types = t.elements if isinstance(t, T.TupleType) else [t.element] * len(parts)
    inputs = [constant_of(part, element, like) for part, element in zip(parts, types)]
    kind = "prim::TupleConstruct" if isinstance(value, tuple) else "prim::ListConstruct"
    return graph.insert(kind, inputs, [t], like=like).output


def assemble(module: ScriptObject, functions: dict[str, Function], graphs: dict[str, Graph]
             ) -> ScriptObject:
    """A module of a new class with the graphs for methods and the attributes they still read."""
    old = module.type
    used = {node.attributes["name"] for graph in graphs.values()
            for node, _ in graph.inputs[0].uses if node.kind in ("prim::GetAttr", "prim::SetAttr")}
    if any(node.kind not in ("prim::GetAttr", "prim::SetAttr") or i == 1
           for graph in graphs.values() for node, i in graph.inputs[0].uses):
        used = {a.name for a in old.attributes}            # the object itself is a value
    new = T.ClassType(old.name, old.is_module, [T.Attribute(a.name, a.type, a.kind)
                                                for a in old.attributes if a.name in used],
                      doc=old.doc)
    for name, graph in graphs.items():
        graph.inputs[0].type = new
        schema = functions[name].schema
        first = replace(schema.arguments[0], type=new)
        new.methods[name] = Function(
            functions[name].name, replace(schema, arguments=(first, *schema.arguments[1:])), graph)
    return ScriptObject(new, [module.get(a.name) for a in new.attributes])
