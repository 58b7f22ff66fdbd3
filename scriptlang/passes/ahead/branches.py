"""Branches: the ones whose condition is known disappear, the others stay in the straight graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import types as T
from ...ir import Block, Node, Value
from .values import NotStraight, Tensor, Unknown, is_known

if TYPE_CHECKING:
    from .evaluate import Evaluator


class Ended(NotStraight):
    """Raised when the program certainly raises an error at this point."""

    def __init__(self, node: Node, args: list[Any]) -> None:
        where = f", at {node.span.place}" if node.span is not None else ""
        super().__init__(f"it raises an error{where}")
        self.node, self.args_ = node, args


def branch(e: Evaluator, node: Node, condition: Any, env: dict[Value, Any]) -> list[Any]:
    """The results of an If; if its condition is known, those of the branch that is taken."""
    if is_known(condition):
        block = node.blocks[0 if condition else 1]
        e.block(block, env)
        return [env[v] for v in block.returns]
    return Staying(e, node).results(condition.value, env)


class Staying:
    """A branch with an unknown condition, which becomes an If of the straight graph."""

    def __init__(self, e: Evaluator, node: Node) -> None:
        self.e, self.node = e, node

    def results(self, condition: Value, env: dict[Value, Any]) -> list[Any]:
        e = self.e
        made = e.insert("prim::If", [condition], [])
        e.inside += 1
        local, e.local = e.local, dict(e.local)
        try:
            sides = [self.side(made.add_block(), block, env) for block in self.node.blocks]
        finally:
            e.inside -= 1
            e.local = local
        if None in sides:
            taken = next((side for side in sides if side is not None), None)
            if taken is None:
                raise NotStraight("every branch raises an error")
            return [self.passed(made, sides, v) for v in taken]
        left, right = (side or [] for side in sides)
        return [
            self.joined(made, a, b, v.type)
            for a, b, v in zip(left, right, self.node.outputs, strict=True)
        ]

    def side(self, target: Block, block: Block, env: dict[Value, Any]) -> list[Any] | None:
        """The results of one branch, whose nodes are inserted into `target`; None if it raises."""
        e = self.e
        env = dict(env)
        with e.graph.at(target):
            try:
                e.block(block, env)
            except Ended as end:
                text, *more = end.args_
                e.insert(
                    "prim::RaiseException", [e.materialized(a, T.STR) for a in (text, *more)], []
                )
                return None
        return [env[v] for v in block.returns]

    def passed(self, made: Node, sides: list[Any], value: Any) -> Any:
        """A result of the branch that does not raise, as it is visible after the If."""
        if isinstance(value, (list, tuple)):
            return type(value)(self.passed(made, sides, part) for part in value)
        if not isinstance(value, (Tensor, Unknown)):
            return value
        return self.output(made, [None if s is None else value for s in sides], value)

    def joined(self, made: Node, a: Any, b: Any, type_: T.Type) -> Any:
        """The value after the If of something that is `a` in one branch and `b` in the other."""
        if a is b:
            return a
        if isinstance(a, (list, tuple)) and type(a) is type(b) and len(a) == len(b):
            inner = T.without_none(type_)
            types = (
                inner.elements
                if isinstance(inner, T.TupleType)
                else (getattr(inner, "element", T.ANY),) * len(a)
            )
            return type(a)(self.joined(made, x, y, t) for x, y, t in zip(a, b, types))
        if is_known(a) and is_known(b) and type(a) is type(b) and a == b:
            return a
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            return self.output(made, [a, b], a)
        if a is None or b is None or isinstance(a, Tensor) or isinstance(b, Tensor):
            raise NotStraight(f"a branch decides whether there is a tensor{self.e.place()}")
        return self.output(made, [a, b], a, type_)

    def output(self, made: Node, values: list[Any], like: Any, type_: Any = None) -> Any:
        """An output of the If; None in `values` stands for a side that raises and has no value."""
        e = self.e
        type_ = T.TENSOR if isinstance(like, Tensor) else type_ or like.value.type
        known = [e.materialized(v, type_) for v in values if isinstance(v, (Tensor, Unknown))]
        if len(set(known)) == 1 and len(known) == len(values) - values.count(None):
            if not made_in(known, made):
                return like  # it is computed outside of the If
        if any(isinstance(v, Tensor) and v.active for v in values):
            raise NotStraight(f"a derivative goes through a branch{e.place()}")
        found = []
        for block, value in zip(made.blocks, values):
            with e.graph.at(block):
                if value is None:
                    v = e.insert("prim::Uninitialized", [], [type_]).output
                else:
                    v = e.materialized(value, type_)
                    found.append(e.facts.get(v))
            block.add_return(v)
        out = made.add_output(type_)
        fact = found[0]
        for other in found[1:]:
            fact = e.facts.join(fact, other, out, ())
        e.facts.put(out, fact)
        return Tensor(out) if type_ == T.TENSOR else Unknown(out)


def made_in(values: Sequence[Value], node: Node) -> bool:
    """Whether one of the values is computed inside a node."""
    return any(v.node.block.is_inside(block) for v in values for block in node.blocks)
