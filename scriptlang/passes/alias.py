"""Which values may share memory, and which nodes read and write it.

A value points to locations.  A location is made by a node (a fresh tensor's storage, a container,
an object) or is one of `OUTSIDE`: memory that lived before the graph ran, or that code outside may
see, one per kind of memory.  Locations hold pointers in fields (list and dict elements in "*",
tuple elements and attributes by name).  The constraints that nodes put on pointers come from the
alias sets of schemas and from a few handlers; they are solved by repeating them until nothing
changes, without regard to order (a field holds whatever was ever stored in it).  Sound: what is not
known is outside.

    analysis = AliasAnalysis(graph)
    analysis.may_alias(a, b); analysis.is_written(v); analysis.may_move_before(node, point)

An analysis describes the graph as it was; a pass that adds writes or pointers makes a new one.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import Callable, Iterable, Iterator

from .. import types as T
from ..ir import Graph, Node, Value
from ..schema import Argument
from .effects import ALLOCATIONS, PASSES_ON, UNPACKS, has_side_effects, is_opaque

ATOMS: dict[str, tuple[str, ...]] = {
    "Tensor": ("tensor",),
    **{t.text: () for t in (T.INT, T.FLOAT, T.BOOL, T.COMPLEX, T.STR, T.NONE, T.NUMBER, T.DEVICE,
                            T.QUANTIZER)},
}
"""Kinds of memory of the atomic types, by their text; others may be anything."""

KINDS = {T.ListType: "list", T.DictType: "dict", T.TupleType: "tuple", T.ClassType: "object"}
"""Kind of memory by class of type; tensors are "tensor"."""

MAY_RETURN_INPUT = frozenset(f"aten::{name}" for name in (
    "dropout feature_dropout alpha_dropout feature_alpha_dropout type_as atleast_1d atleast_2d"
    " atleast_3d broadcast_tensors meshgrid cartesian_prod combinations pad einsum block_diag lstm"
    " gru rnn_tanh rnn_relu concat column_stack hstack vstack dstack tensor as_tensor to rms_norm"
    " squeeze_copy repeat_interleave float_power flatten_dense_tensors resolve_conj"
    " conj_physical quantize_per_tensor scaled_dot_product_attention _unsafe_view unsafe_split"
    " unsafe_split_with_sizes unsafe_chunk sum_to_size channel_shuffle _pad_circular set").split())
"""Operators that may give an input, or a view of it, though their schema does not say so."""

MAY_COPY = frozenset(f"aten::{name}" for name in (
    "contiguous reshape reshape_as flatten ravel to type_as cpu cuda pin_memory conj _conj"
    " _conj_physical adjoint mH matrix_H resolve_conj resolve_neg real imag to_dense"
    " atleast_1d atleast_2d atleast_3d lift_fresh unflatten expand_as positive dequantize"
    " tensor_split _neg_view").split())
"""Operators whose schema says that the result shares an input's memory, though it may be a copy."""

STORES = {
    "aten::append": (0, 1), "aten::insert": (0, 2), "aten::extend": (0, 1),
    "aten::_set_item": (0, 2),
    "aten::setdefault": (0, 2), "aten::update": (0, 1), "aten::add_": (0, 1),
}
"""Operators that put an input, or its elements, into another: (container, stored)."""

EVERYTHING = ("tensor", "list", "dict", "tuple", "object", "other")


class Location:
    """A piece of memory; `outside` says that code outside the graph may reach it."""

    __slots__ = ("kind", "fields", "outside", "returned")

    def __init__(self, kind: str, outside: bool = False):
        self.kind = kind
        self.fields: dict[str, set[Location]] = {}
        self.outside = outside
        self.returned = False

    def __repr__(self) -> str:
        return f"<{'outside ' if self.outside else ''}{self.kind}>"


def memory_kinds(t: T.Type) -> tuple[str, ...]:
    """Kinds of memory that a value of a type may point to; () for immutable ones."""
    if isinstance(t, T.AtomType):
        return ATOMS.get(t.text, EVERYTHING)
    if isinstance(t, (T.EnumType, T.FunctionType)):
        return ()
    if isinstance(t, T.OptionalType):
        return memory_kinds(t.element)
    if isinstance(t, T.UnionType):
        return tuple({k for o in t.options for k in memory_kinds(o)})
    if isinstance(t, T.TupleType) and not any(map(memory_kinds, t.elements)):
        return ()
    kind = KINDS.get(type(t))
    return (kind,) if kind else EVERYTHING


class AliasAnalysis:
    """The solved constraints of one graph."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.points: dict[Value, set[Location]] = {}
        self.outside = {kind: Location(kind, outside=True) for kind in EVERYTHING}
        self.rules: list[tuple] = []
        self.made: dict[tuple[Node, int], Location] = {}
        self._nodes: list[Node] = list(graph.walk())
        for v in graph.inputs:
            self.points[v] = self._outside(v.type)
        for node in self._nodes:
            self._constrain(node)
        self._solve()
        self._mark_returned()

    # Questions

    def may_alias(self, a: Value, b: Value) -> bool:
        """Whether writing to one may change the other (not what is inside them)."""
        return not self._seen(self._pts(a)).isdisjoint(self._seen(self._pts(b)))

    def may_contain_alias(self, a: Iterable[Value], b: Iterable[Value]) -> bool:
        """Whether something reached from `a` may share memory with something reached from `b`."""
        return not self._seen(self._reach_all(a)).isdisjoint(self._seen(self._reach_all(b)))

    def escapes(self, v: Value) -> bool:
        """Whether code outside may hold the value's memory, now or once the graph has returned."""
        return any(l.outside or l.returned for l in self._reach(self._pts(v)))

    @cached_property
    def writers(self) -> list[Node]:
        """Nodes without blocks that write to memory (calls are among them)."""
        return [n for n in self._nodes if not n.blocks and self.writes(n)]

    @cached_property
    def _written(self) -> set[Location]:
        return {l for n in self.writers for l in self.writes(n)}

    def is_written(self, *values: Value) -> bool:
        """Whether any node of the graph may write to memory reached from the values."""
        return not self._seen(self._reach_all(values)).isdisjoint(self._written)

    def has_writers(self, node: Node) -> bool:
        """Whether memory of the node's inputs or outputs is written anywhere in the graph."""
        return self.is_written(*node.inputs, *node.outputs)

    def writes(self, node: Node) -> set[Location]:
        """Locations that a node, or one inside it, may write; all outside of a kind are one."""
        if node.blocks:
            return {l for b in node.blocks for n in b.nodes for l in self.writes(n)}
        if is_opaque(node):
            return self._seen({*self._reach_all(node.inputs), *self.outside.values()})
        if node.kind == "prim::SetAttr":
            return self._seen(self._pts(node.inputs[0]))
        found: set[Location] = set()
        if node.schema is not None and node.schema.is_mutable:
            for a, v in zip(node.schema.arguments, node.inputs):
                if a.alias and a.alias.is_write:
                    found |= self._contents(v) if _is_elementwise(a) else self._pts(v)
        return self._seen(found)

    def reads(self, node: Node) -> set[Location]:
        """Locations whose content a node, or one inside it, may look at."""
        if node.blocks:
            return {l for b in node.blocks for n in b.nodes for l in self.reads(n)}
        if node.kind in ALLOCATIONS or node.kind in PASSES_ON or node.kind == "prim::Constant":
            return set()
        if node.kind in ("prim::GetAttr", "prim::isinstance") or node.kind in UNPACKS:
            return self._seen(self._pts(node.inputs[0]))
        if is_opaque(node):
            return self._seen({*self._reach_all(node.inputs), *self.outside.values()})
        return self._seen(self._reach_all(node.inputs))

    def may_move_before(self, node: Node, point: Node) -> bool:
        """Whether `node` may run right before `point`, an earlier node of the same block."""
        return self._may_pass(node, self._between(point, node, first=True))

    def may_move_after(self, node: Node, point: Node) -> bool:
        """Whether `node` may run right after `point`, a later node of the same block."""
        return self._may_pass(node, self._between(node, point, first=False))

    # Moving

    def _between(self, first_node: Node, last_node: Node, first: bool) -> Iterator[Node]:
        """The nodes that lie between, with the first or with the last of the two."""
        node = first_node if first else first_node.next
        while node is not last_node:
            if node is None or node is node.block.end:
                raise ValueError(f"{first_node!r} does not come before {last_node!r}")
            yield node
            node = node.next
        if not first:
            yield last_node

    def _may_pass(self, node: Node, others: Iterator[Node]) -> bool:
        reads, writes, effect = self.reads(node), self.writes(node), has_side_effects(node)
        for other in others:
            if _depends(node, other) or _depends(other, node) or effect and has_side_effects(other):
                return False
            if not (writes.isdisjoint(self.reads(other)) and reads.isdisjoint(self.writes(other))
                    and writes.isdisjoint(self.writes(other))):
                return False
        return True

    # Points-to sets

    def _outside(self, t: T.Type) -> set[Location]:
        return {self.outside[kind] for kind in memory_kinds(t)}

    def _pts(self, v: Value) -> set[Location]:
        return self.points.get(v, set())

    def _seen(self, found: Iterable[Location]) -> set[Location]:
        """Locations with all outside ones of a kind made one, since they may be the same."""
        seen: set[Location] = set()
        for l in found:
            if not l.outside:
                seen.add(l)
            elif l.kind == "other":
                seen.update(self.outside.values())
            else:
                seen.add(self.outside[l.kind])
        return seen

    def _reach(self, found: set[Location]) -> set[Location]:
        """Locations and all that is inside them."""
        seen, pending = set(found), list(found)
        while pending:
            l = pending.pop()
            inner = set(self.outside.values()) if l.outside and l.kind != "tensor" else set()
            for field in l.fields.values():
                inner |= field
            pending += inner - seen
            seen |= inner
        return seen

    def _reach_all(self, values: Iterable[Value]) -> set[Location]:
        return self._reach(set().union(*map(self._pts, values)))

    def _contents(self, v: Value) -> set[Location]:
        """What lies directly inside a container."""
        found: set[Location] = set()
        for l in self._pts(v):
            found |= set().union(*l.fields.values())
            if l.outside:
                found |= set(self.outside.values())
        return found

    # Constraints: (copy, target, source), (load, target, source, field), (store, target, source,
    # field), (inside, target, source): all that is reached from it, (leak, source)

    def _constrain(self, node: Node) -> None:
        kind = node.kind
        if kind == "prim::If":
            for i, v in enumerate(node.outputs):
                for block in node.blocks:
                    self._copy(v, block.returns[i])
        elif kind == "prim::Loop":
            body = node.blocks[0]
            for i, v in enumerate(node.outputs):
                for source in (node.inputs[i + 2], body.returns[i + 1]):
                    self._copy(v, source)
                    self._copy(body.parameters[i + 1], source)
        elif kind == "prim::Constant":
            self.points[node.output] = self._outside(node.output.type)
        elif kind in ALLOCATIONS:
            self._fresh(node.output)
            for i, v in enumerate(node.inputs):
                field = str(i) if kind == "prim::TupleConstruct" else "*"
                if memory_kinds(v.type):
                    self.rules.append(("store", node.output, v, field))
        elif kind in UNPACKS:
            self._unpack(node)
        elif kind == "prim::GetAttr":
            self.rules.append(("load", node.output, node.inputs[0], node.attributes["name"]))
        elif kind == "prim::SetAttr":
            self.rules.append(("store", *node.inputs, node.attributes["name"]))
        elif kind in PASSES_ON:
            self._copy(node.output, node.inputs[0])
        elif is_opaque(node):
            self._unknown(node)
        elif node.schema is not None:
            self._operator(node)

    def _unpack(self, node: Node) -> None:
        for i, v in enumerate(node.outputs):
            field = "*"
            if node.kind == "prim::TupleUnpack":
                field = str(i)
            elif node.kind == "prim::TupleIndex" and node.inputs[1].is_constant:
                n = len(node.inputs[0].type.elements)
                field = str(node.inputs[1].constant % n)
            if node.kind == "prim::TupleSlice":
                self._fresh(v)
                self.rules.append(("keep", v, node.inputs[0]))
            elif field == "*" and node.kind == "prim::TupleIndex":
                self.rules.append(("inside", v, node.inputs[0]))
            else:
                self.rules.append(("load", v, node.inputs[0], field))

    def _operator(self, node: Node) -> None:
        """An operator by its schema's alias sets."""
        schema = node.schema
        arguments = list(zip(schema.arguments, node.inputs))
        if node.kind in STORES and memory_kinds(node.inputs[0].type) != ("tensor",):
            container, stored = (node.inputs[i] for i in STORES[node.kind])
            self.rules.append(("store", container, stored, "*"))
            self.rules.append(("keep", container, stored))
        else:
            self.rules += [("leak", v) for a, v in arguments
                           if a.alias and "*" in a.alias.after and a.type != T.TENSOR]
        if schema.is_vararg or schema.is_varret:
            self._unknown(node)
            return
        for result, v in zip(schema.returns, node.outputs):
            if memory_kinds(v.type):
                self._result(node, result, v, arguments)

    def _result(self, node: Node, result: Argument, v: Value, arguments) -> None:
        sources = [w for a, w in arguments if result.alias and a.alias
                   and (a.alias.before | a.alias.after) & result.alias.before - {"*"}]
        elementwise = _is_elementwise(result)
        for w in sources:
            if memory_kinds(w.type) == ("tensor",) and memory_kinds(v.type) != ("tensor",):
                elementwise = True
            self.rules.append(("store", v, w, "*") if elementwise else ("copy", v, w))
        if elementwise or not sources or node.kind in MAY_COPY:
            self._fresh(v)
        if result.alias is not None and "*" in result.alias.before:
            self.rules += [("inside", v, w) for _, w in arguments if memory_kinds(w.type)]
        elif result.alias is None and (memory_kinds(v.type) != ("tensor",)
                                       or isinstance(result.type, T.VarType)
                                       or node.kind in MAY_RETURN_INPUT):
            self._shares(v, result, arguments)

    def _shares(self, v: Value, result: Argument, arguments) -> None:
        """A result without alias set: containers hold what arguments hold, others may be it."""
        for _, w in arguments:
            if memory_kinds(w.type):
                if memory_kinds(result.type) not in (("list",), ("dict",)):
                    self.rules.append(("inside", v, w))
                if memory_kinds(v.type) != ("tensor",):
                    self.rules.append(("keep", v, w))

    def _unknown(self, node: Node) -> None:
        """Code that is not seen: what it is given escapes, what it gives is from outside."""
        self.rules += [("leak", v) for v in node.inputs if memory_kinds(v.type)]
        for v in node.outputs:
            self.points[v] = self._outside(v.type)

    def _copy(self, target: Value, source: Value) -> None:
        if memory_kinds(target.type) or memory_kinds(source.type):
            self.rules.append(("copy", target, source))

    def _fresh(self, v: Value) -> None:
        """Point a value to memory of its own, which holds tensors of its own where it can."""
        kinds = memory_kinds(v.type)
        if kinds:
            location = Location(kinds[0] if len(kinds) == 1 else "other")
            self.made[v.node, v.index] = location
            self.points.setdefault(v, set()).add(location)
            if v.node.kind not in ALLOCATIONS and kinds != ("tensor",):
                inner = {k for t in list(v.type.walk())[1:] for k in memory_kinds(t)}
                parts = {Location(k) for k in inner}
                for part in (location, *parts):
                    if part.kind != "tensor":
                        for field in ("*", *map(str, range(len(v.type.contained)))):
                            part.fields[field] = set(parts)

    # Solving

    def _solve(self) -> None:
        """Apply the rules, in program order, until a round changes nothing that was read before."""
        rules = [(getattr(self, f"_rule_{kind}"), kind, rest) for kind, *rest in self.rules]
        again = True
        while again:
            again, seen, memory_seen = False, set(), False
            for apply, kind, rest in rules:
                if apply(*rest):
                    again = again or (rest[0] in seen if kind in ("copy", "load", "inside")
                                      else memory_seen)
                seen.update(rest[:2] if kind in ("store", "keep", "leak") else rest[1:2])
                memory_seen = memory_seen or kind != "copy"

    def _rule_copy(self, target: Value, source: Value) -> bool:
        return _grow(self.points.setdefault(target, set()), self._pts(source))

    def _rule_load(self, target: Value, source: Value, field: str) -> bool:
        found: set[Location] = set()
        for l in self._pts(source):
            found |= l.fields.get(field, set()) | l.fields.get("*", set())
            if field == "*":
                found |= set().union(*l.fields.values())
            if l.outside:
                found |= self._outside(target.type)
        return _grow(self.points.setdefault(target, set()), found)

    def _rule_inside(self, target: Value, source: Value) -> bool:
        found = self._reach(self._pts(source))
        kinds = memory_kinds(target.type)
        return _grow(self.points.setdefault(target, set()), {l for l in found if l.kind in kinds
                                                             or l.kind == "other"})

    def _rule_store(self, target: Value, source: Value, field: str) -> bool:
        found, changed = self._pts(source), False
        for l in self._pts(target):
            changed |= _grow(l.fields.setdefault(field, set()), found)
            if l.outside:
                changed |= self._leak(found)
        return changed

    def _rule_keep(self, target: Value, source: Value) -> bool:
        """Whatever is inside the source may be anywhere inside the target."""
        inner = self._reach(self._pts(source)) - self._pts(source)
        changed = False
        for l in self._pts(target):
            for field in ("*", *l.fields):
                changed |= _grow(l.fields.setdefault(field, set()), inner)
            if l.outside:
                changed |= self._leak(inner)
        return changed

    def _rule_leak(self, source: Value) -> bool:
        return self._leak(self._pts(source))

    def _leak(self, found: Iterable[Location]) -> bool:
        """Let code outside see locations and all that is in them."""
        new = [l for l in self._reach(set(found)) if not l.outside]
        for l in new:
            l.outside = True
        return bool(new)

    def _mark_returned(self) -> None:
        for l in self._reach_all(self.graph.outputs):
            l.returned = True


_shared: dict[Graph, AliasAnalysis | None] = {}


@contextmanager
def shared_analysis(graph: Graph) -> Iterator[Callable[[], None]]:
    """While it is open `analysis_of` makes one analysis; calling what it gives drops that one."""
    def drop() -> None:
        _shared[graph] = None

    drop()
    try:
        yield drop
    finally:
        del _shared[graph]


def analysis_of(graph: Graph) -> AliasAnalysis:
    """An analysis of the graph as it is, or as it was when no pass had changed it since."""
    known = _shared.get(graph)
    if known is None:
        known = AliasAnalysis(graph)
        if graph in _shared:
            _shared[graph] = known
    return known


def _grow(target: set, more: set) -> bool:
    before = len(target)
    target |= more
    return len(target) > before


def _is_elementwise(a: Argument) -> bool:
    """Whether an alias set is about the elements of a list: `Tensor(a!)[]`, not `t[](a!)`."""
    return isinstance(a.type, T.ListType) and a.text.rstrip("?").endswith("]")


def _depends(node: Node, other: Node) -> bool:
    """Whether `node`, or one inside it, uses an output of `other` or of one inside it."""
    inner = {n for n in _all_nodes(node)}
    return any(user in inner or user.block is not None and user.kind == "prim::Return"
               and user.block.owner in inner
               for n in _all_nodes(other) for v in n.outputs for user, _ in v.uses)


def _all_nodes(node: Node) -> Iterator[Node]:
    yield node
    for block in node.blocks:
        yield from block.walk()
