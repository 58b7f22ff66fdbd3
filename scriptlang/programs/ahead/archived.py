"""Straight graphs as functions of a compiled archive, for calls without Python.

For each kind of arguments there are two functions beside the method, with its arguments. `takes`
tells whether a call is of that kind, and the objects are as they were when the graph was made;
`run` is the graph. Engines call them before they record anything.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ... import budgets
from ... import types as T
from ...building import alone, uncollected
from ...dtypes import float32, get_default_dtype
from ...errors import CompileError
from ...interpreter.engine import available
from ...interpreter.gradients import STRAIGHT
from ...interpreter.prepare import FUSED, fused_code
from ...interpreter.reach import asks_for_gradients, reachable
from ...ir import OPTIMIZED, Function, Graph, Node, Value, clone_block
from ...objects import ScriptObject
from ...ops import table
from ...passes.ahead.joint import has_tensors
from ...passes.ahead.values import NotStraight
from ...passes.shape_facts import TensorFacts
from ...records import replace
from ...schema import Argument, Schema
from ...tensors import Tensor
from ..module import ScriptModule
from ..shape_text import Inputs, ShapeError
from .examples import exact, example_of
from .inside import Inside, Straights
from .steps import StepInside
from .straight import Slot, Straight


def keep_straights(module: ScriptModule, inputs: Mapping[str, Any]) -> None:
    """Make the straight graphs of methods of a module that is written as a compiled archive.

    inputs: as `compile_archive` takes them. Raises ShapeError for a method that is not there or
    asks for no gradients, and for inputs that do not fit; CompileError if there is no such graph.
    """
    for method, given in inputs.items():
        function = module._type.methods.get(method)
        if function is None:
            raise ShapeError(
                f"the module has no method {method!r}; it has {', '.join(module._type.methods)}"
            )
        is_several = isinstance(given, list) and all(isinstance(g, (dict, tuple)) for g in given)
        keep_straight(function, module._object_, given if is_several else [given])


@uncollected
@alone
def keep_straight(function: Function, owner: ScriptObject, calls: Iterable[Inputs]) -> None:
    """Give the code of a method its straight graphs for some calls."""
    if not asks_for_gradients(reachable(function).values()):
        raise ShapeError(
            f"{function.name} asks for no gradients, so that it has no graph with them: give no "
            "inputs for it"
        )
    if get_default_dtype() is not float32:
        raise CompileError(
            f"straight graphs of archives are made for the default dtype float32, and it is "
            f"{get_default_dtype()}",
            help="call set_default_dtype(float32) first",
        )
    straights: Straights = function.attributes.get(STRAIGHT) or Parameterised(function)
    inside = straights.of(available()[-1])
    pairs = []
    with budgets.use(function.budget, function.name):
        for i, inputs in enumerate(calls):
            values, facts = example_of(function.schema, [owner], inputs)
            try:
                made = inside.straight(values, facts)
                pairs.append(functions_of(function, f"straight_{i}", made, values, facts))
            except NotStraight as reason:
                raise CompileError(
                    f"{function.name} has no straight graph: {reason}",
                    help="give no inputs for it: its calls are then recorded",
                ) from None
    code = replace(fused_code(function), straights=pairs, is_closed=straights.is_closed)
    function.attributes[FUSED] = code


class Parameterised(Straights):
    """The straight graphs of a method of a module that is not optimised: some of its parameters
    require a gradient, and the program may ask for theirs."""

    def of(self, engine: str) -> Inside:
        return StepInside(self.function, engine, lambda called: called)


def functions_of(
    function: Function,
    name: str,
    made: Straight,
    values: Sequence[Any],
    facts: Sequence[TensorFacts],
) -> tuple[Function, Function]:
    """Return (takes, run) of a straight graph."""
    schema = function.schema
    takes = Graph(f"{function.name}.{name}.takes")
    guard = Guard(takes, schema, values, made)
    guard.check(facts)
    run = Graph(f"{function.name}.{name}")
    add_body(run, Reader(run, schema, values, made), schema.returns[0].type)
    return (
        function_of(takes, schema.arguments, (Argument("", T.BOOL),)),
        function_of(run, schema.arguments, schema.returns),
    )


def function_of(graph: Graph, arguments: Any, returns: Any) -> Function:
    """A function that runs a graph as it is."""
    made = Function(graph.name, Schema(graph.name, "", arguments, returns), graph)
    made.attributes[OPTIMIZED] = graph
    return made


class Reader:
    """Inserts the nodes that read what a straight graph gets: parts of the arguments of a method,
    and attributes of its object.

    leaves: the tensors and floats in the arguments, in order. held: what the graph gets of objects.
    """

    def __init__(self, graph: Graph, schema: Schema, values: Sequence[Any], made: Straight) -> None:
        self.graph, self.made = graph, made
        graph.insert_point = graph.block.end
        self.arguments = [graph.block.add_parameter(a.type, a.name) for a in schema.arguments]
        self.objects: dict[int, Value] = {}
        self.containers: dict[int, Value] = {}
        self.parents: dict[int, tuple[ScriptObject, str]] = {}
        self.leaves: list[Value] = []
        for value, v in zip(values, self.arguments, strict=True):
            if isinstance(value, ScriptObject) and not self.objects:
                self.root, self.objects[id(value)] = value, v
                self.note_parents(value)
            else:
                self.take(value, v)
        for obj, attribute, container in made.joint.containers:
            self.take_container(container, self.attribute(obj, attribute))
        self.held = [self.read(owner, key) for owner, key, _ in made.joint.lifted]

    # Nodes

    def operator(self, name: str, overload: str, *inputs: Value) -> Value:
        """The result of an operator."""
        operator: Any = table.find(name, overload)
        types = [r.type for r in operator.schema.returns]
        return self.graph.insert(name, inputs, types, schema=operator.schema).output

    def element(self, container: Value, key: Any) -> Value:
        """An element of a list, tuple or dict."""
        k, t = self.graph.constant(key), container.type
        if isinstance(t, T.TupleType):
            return self.graph.insert("prim::TupleIndex", [container, k], [t.elements[key]]).output
        overload, type = "t", None
        if isinstance(t, T.DictType):
            overload, type = f"Dict_{t.key.annotation}", t.value
        elif isinstance(t, T.ListType):
            type = t.element
        operator = table.find("aten::__getitem__", overload)
        if operator is None or type is None:
            raise NotStraight(f"an element of a {t.annotation} cannot be read in an archive")
        node = self.graph.insert(
            "aten::__getitem__", [container, k], [type], schema=operator.schema
        )
        return node.output

    def present(self, v: Value) -> Value:
        """A value whose type may be None, and which is not."""
        if not isinstance(v.type, T.OptionalType):
            return v
        kind = "prim::unchecked_unwrap_optional"
        operator: Any = table.find(kind)
        type = T.without_none(v.type)
        return self.graph.insert(kind, [v], [type], schema=operator.schema).output

    # Parts of arguments

    def take(self, value: Any, v: Value) -> None:
        """Add the tensors and floats of an argument to `leaves`."""
        if value is None:
            return self.require_equal(v, None)
        v = self.present(self.require_present(v))
        if isinstance(value, (Tensor, float)):
            self.leaves.append(v)
        elif isinstance(value, (list, tuple, dict)):
            self.take_container(value, v)
        elif isinstance(value, (bool, int, str, complex)):
            self.require_equal(v, value)
        else:
            raise NotStraight(f"an argument is a {type(value).__name__}")

    def take_container(self, container: Any, v: Value) -> None:
        """Take the parts of a container apart. In objects they are kept to be read from there."""
        self.require_length(v, container)
        self.containers[id(container)] = v
        is_argument = not any(container is c for _, _, c in self.made.joint.containers)
        keys = container if isinstance(container, dict) else range(len(container))
        for key in keys:
            part = container[key]
            if is_argument:
                self.take(part, self.element(v, key))
            elif has_tensors(part):
                raise NotStraight("an attribute has containers of tensors in each other")
            elif not isinstance(part, Tensor):
                self.require_part(v, key, part)

    def require_present(self, v: Value) -> Value:
        return v

    def require_equal(self, v: Value, value: Any) -> None:
        pass

    def require_length(self, v: Value, container: Any) -> None:
        pass

    def require_part(self, container: Value, key: Any, part: Any) -> None:
        pass

    # Attributes

    def note_parents(self, root: ScriptObject) -> None:
        """Note the object and the attribute by which each object is reached."""
        pending = [root]
        for obj in pending:
            for attribute in obj.type.attributes:
                part = obj.get(attribute.name)
                if isinstance(part, ScriptObject) and part is not root:
                    if id(part) not in self.parents:
                        self.parents[id(part)] = obj, attribute.name
                        pending.append(part)

    def object(self, obj: ScriptObject) -> Value:
        path = []
        while id(obj) not in self.objects:
            if id(obj) not in self.parents:
                raise NotStraight(f"an object of {obj.type.name} is in no attribute")
            parent, name = self.parents[id(obj)]
            path.append((obj, parent, name))
            obj = parent
        for child, parent, name in reversed(path):
            v = self.require_present(self.attribute(parent, name))
            self.objects[id(child)] = self.present(v)
        return self.objects[id(path[0][0] if path else obj)]

    def attribute(self, obj: ScriptObject, name: str) -> Value:
        """The value of an attribute, of its declared type."""
        declared: Any = obj.type.attribute(name)
        return self.graph.insert(
            "prim::GetAttr", [self.object(obj)], [declared.type], attributes={"name": name}
        ).output

    def read(self, owner: Any, key: Any) -> Value:
        """What an attribute, or a container in one, has."""
        if isinstance(owner, ScriptObject):
            return self.present(self.require_present(self.attribute(owner, key)))
        container = self.containers.get(id(owner))
        if container is None:
            raise NotStraight("a container is in no attribute")
        return self.present(self.require_present(self.element(container, key)))


class Guard(Reader):
    """Inserts the nodes that tell whether a call is of the kind that a graph was made for. Each
    condition is a branch: what follows is only looked at if it is met."""

    def __init__(self, graph: Graph, *rest: Any) -> None:
        self.branches: list[Node] = []
        super().__init__(graph, *rest)

    def require(self, condition: Value) -> None:
        branch = self.graph.insert("prim::If", [condition], [T.BOOL])
        self.branches.append(branch)
        met, other = branch.add_block(), branch.add_block()
        self.graph.insert_point = other.end
        other.add_return(self.graph.constant(False))
        self.graph.insert_point = met.end

    def require_present(self, v: Value) -> Value:
        if isinstance(v.type, T.OptionalType):
            self.require(self.operator("aten::__isnot__", "", v, self.graph.constant(None)))
        return v

    def require_equal(self, *pairs: Any) -> None:
        """Values, each with what it has to be behind it."""
        inputs = [v if isinstance(v, Value) else self.graph.constant(v) for v in pairs]
        if inputs:
            self.require(self.operator("scriptlang::are_equal", "", *inputs))

    def require_length(self, v: Value, container: Any) -> None:
        if isinstance(container, dict):
            keys = T.ListType(v.type.key)  # type: ignore[attr-defined]
            overload = v.type.key.annotation  # type: ignore[attr-defined]
            operator: Any = table.find("aten::keys", overload)
            if operator is None:
                raise NotStraight(f"an argument is a dict of {overload}")
            found = self.graph.insert("aten::keys", [v], [keys], schema=operator.schema).output
            self.require_equal(found, self.graph.constant(list(container), keys))
        elif isinstance(v.type, T.ListType):
            self.require_equal(self.operator("aten::len", "t", v), len(container))

    def require_part(self, container: Value, key: Any, part: Any) -> None:
        if not is_comparable(part):
            raise NotStraight(f"an attribute has a {type(part).__name__} beside tensors")
        self.require_equal(self.element(container, key), part)

    def require_objects(self) -> None:
        """Objects that the program reads in another attribute than the graph does."""
        for owner, name, found in self.made.joint.objects:
            if found is not self.root and self.parents.get(id(found)) != (owner, name):
                v = self.present(self.require_present(self.attribute(owner, name)))
                self.require(self.operator("aten::__is__", "", v, self.object(found)))

    def check(self, facts: Sequence[TensorFacts]) -> None:
        """Insert all conditions, and return whether they are met."""
        made, joint = self.made, self.made.joint
        self.require_objects()
        pairs: list[Any] = []
        for obj, name, value in joint.read:
            if not is_comparable(value):
                raise NotStraight(f"the attribute {name} is a {type(value).__name__}")
            declared: Any = obj.type.attribute(name)
            plain = T.NONE if value is None else T.without_none(declared.type)
            pairs += [self.attribute(obj, name), self.graph.constant(value, plain)]
        tensors = [v for v in self.leaves if v.type == T.TENSOR]
        symbols: dict[str, int] = {}
        expected = [n for fact in facts for n in numbers_of(fact, symbols)]
        owned = []
        for v, (_, _, value) in zip(self.held, joint.lifted, strict=True):
            if isinstance(value, Tensor):
                owned.append((v, value))
                expected += numbers_of(exact(value), symbols)
        flags = {id(t): flag for t, flag in made.flags}
        for v, t in owned:
            if id(t) in flags:
                pairs += [self.operator("prim::requires_grad", "", v), flags[id(t)]]
        self.require_equal(*pairs)
        read = [*tensors, *(v for v, _ in owned)]
        sizes = self.graph.constant(expected, T.ListType(T.INT))
        self.require(self.operator("scriptlang::are_like", "", self.listed(read), sizes))
        for owner, key, at in joint.again:
            other = self.read(owner, key)
            self.require(self.operator("aten::is_set_to", "", other, self.held[at]))
        written, others = self.parted([t for _, t in owned], [v for v, _ in owned], tensors)
        if written:
            apart = self.operator(
                "scriptlang::are_apart", "", self.listed(written), self.listed(others)
            )
            self.require(apart)
        result = self.graph.constant(True)
        for branch in reversed(self.branches):
            branch.blocks[0].add_return(result)
            result = branch.outputs[0]
        self.graph.block.add_return(result)

    def parted(
        self, held: Sequence[Tensor], owned: Sequence[Value], tensors: Sequence[Value]
    ) -> tuple[list[Value], list[Value]]:
        """Return (the tensors that the graph writes, or makes require a gradient; the others)."""
        writes, turned = self.made.writes, self.made.turned
        if writes is None and not turned:
            return [], []
        ids = {id(t) for t in self.made.joint.written_tensors()}
        written = [v for v, t in zip(owned, held) if id(t) in ids]
        places = {*turned, *(writes.arguments if writes else ())}
        written += [self.leaves[i] for i in sorted(places)]
        return written, [v for v in (*owned, *tensors) if v not in written]

    def listed(self, tensors: Sequence[Value]) -> Value:
        return self.graph.insert("prim::ListConstruct", tensors, [T.ListType(T.TENSOR)]).output


def is_comparable(value: Any) -> bool:
    """Whether a value is a constant that programs compare."""
    if isinstance(value, (list, tuple)):
        return all(map(is_comparable, value))
    return value is None or isinstance(value, (bool, int, float, str, complex))


def numbers_of(fact: TensorFacts, symbols: dict[str, int]) -> list[int]:
    """The dtype, rank and sizes of a tensor, as scriptlang::are_like takes them."""
    if fact.dtype is None or fact.shape is None:
        raise NotStraight("the sizes of a tensor are not known")
    sizes = [n if isinstance(n, int) else symbols.setdefault(str(n), -1 - len(symbols))
             for n in fact.shape]  # fmt: skip
    return [fact.dtype.code, len(sizes), *sizes]


def add_body(graph: Graph, reader: Reader, returns: T.Type) -> None:
    """Insert a straight graph that gets what the reader has read, and return what a call gives."""
    made = reader.made
    body: Graph = made.function._function.attributes[OPTIMIZED]
    env = dict(zip(body.inputs, (*reader.leaves, *reader.held), strict=True))
    clone_block(body.block, graph.block, env, parameters=False, returns=False)
    packed = env[body.outputs[0]].node
    results = list(packed.inputs)
    packed.destroy()
    graph.insert_point = graph.block.end
    ids = set(map(id, made.joint.written_tensors()))
    changed = [
        v for v, (_, _, t) in zip(reader.held, made.joint.lifted, strict=True) if id(t) in ids
    ]
    changed += [reader.leaves[i] for i in (made.writes.arguments if made.writes else ())]
    if changed:
        listed = graph.insert("prim::ListConstruct", changed, [T.ListType(T.TENSOR)]).output
        operator: Any = table.find("scriptlang::note_writes")
        graph.insert("scriptlang::note_writes", [listed], (), schema=operator.schema)
    graph.block.add_return(put_together(graph, made.template, returns, results))


def put_together(graph: Graph, part: Any, type: T.Type, results: Sequence[Value]) -> Value:
    """Insert the nodes that make a result of a method.

    part: its template. results: those of the straight graph, for the Slots.
    """
    if isinstance(part, Slot):
        return results[part.number]
    plain = T.without_none(type)
    if isinstance(part, tuple) and isinstance(plain, T.TupleType):
        made = [
            put_together(graph, p, t, results) for p, t in zip(part, plain.elements, strict=True)
        ]
        return graph.insert("prim::TupleConstruct", made, [plain]).output
    if isinstance(part, list) and isinstance(plain, T.ListType):
        made = [put_together(graph, p, plain.element, results) for p in part]
        return graph.insert("prim::ListConstruct", made, [plain]).output
    if isinstance(part, dict) and isinstance(plain, T.DictType):
        made = []
        for key, value in part.items():
            made.append(put_together(graph, key, plain.key, results))
            made.append(put_together(graph, value, plain.value, results))
        return graph.insert("prim::DictConstruct", made, [plain]).output
    if part is None or isinstance(part, (bool, int, float, str, complex)):
        return graph.constant(part)
    raise NotStraight(f"a result is a {builtins.type(part).__name__}")
