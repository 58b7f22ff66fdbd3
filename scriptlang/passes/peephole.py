"""Algebraic identities as a table of rewrite rules (rewrite.py explains how to read them).

To add a rule, add a line. It has to hold for every value of its types: `x + 0.0` is missing since
it turns -0.0 into 0.0. A rule whose result is an existing value only applies if nobody can observe
that memory is shared, unless the operator returns that value, or its memory, anyway (`gives`).
"""

from __future__ import annotations

from .. import types as T
from ..ir import Graph, Value
from ..ops import table
from ..rewrite import Match, Rule, RuleSet
from ..schema import Schema
from .alias import AliasAnalysis, analysis_of, memory_kinds
from .effects import has_side_effects


def never_none(m: Match) -> str | None:
    return f"{m['x'].type} may be None" if T.may_be_none(m["x"].type) else None


def always_none(m: Match) -> str | None:
    return None if m["x"].type == T.NONE else f"{m['x'].type} may be something else than None"


def same_type(m: Match) -> str | None:
    a, b = m["x"].type, m.node.output.type
    return None if a == b else f"{a} is not {b}"


NUMBERS = (
    Rule("add_zero", "x: int", "aten.add(x, 0)", "x"),
    Rule("zero_add", "x: int", "aten.add(0, x)", "x"),
    Rule("sub_zero", "x: int", "aten.sub(x, 0)", "x"),
    Rule("sub_zero_float", "x: float", "aten.sub(x, 0.0)", "x"),
    Rule("sub_itself", "x: int", "aten.sub(x, x)", "0"),
    Rule("mul_one", "x: int", "aten.mul(x, 1)", "x"),
    Rule("one_mul", "x: int", "aten.mul(1, x)", "x"),
    Rule("mul_one_float", "x: float", "aten.mul(x, 1.0)", "x"),
    Rule("one_mul_float", "x: float", "aten.mul(1.0, x)", "x"),
    Rule("mul_zero", "x: int", "aten.mul(x, 0)", "0"),
    Rule("floordiv_one", "x: int", "aten.floordiv(x, 1)", "x"),
    Rule("div_one_float", "x: float", "aten.div(x, 1.0)", "x"),
    Rule("neg_neg", "x: int", "aten.neg(aten.neg(x))", "x"),
    Rule("neg_neg_float", "x: float", "aten.neg(aten.neg(x))", "x"),
    Rule("eq_itself", "x: int", "aten.eq(x, x)", "True"),
    Rule("ne_itself", "x: int", "aten.ne(x, x)", "False"),
    Rule("lt_itself", "x: int", "aten.lt(x, x)", "False"),
    Rule("le_itself", "x: int", "aten.le(x, x)", "True"),
    Rule("gt_itself", "x: int", "aten.gt(x, x)", "False"),
    Rule("ge_itself", "x: int", "aten.ge(x, x)", "True"),
)

TRUTH = (
    Rule("not_not", "x: bool", "aten.__not__(aten.__not__(x))", "x"),
    Rule("and_true", "x: bool", "aten.__and__(x, True)", "x"),
    Rule("true_and", "x: bool", "aten.__and__(True, x)", "x"),
    Rule("and_false", "x: bool", "aten.__and__(x, False)", "False"),
    Rule("or_false", "x: bool", "aten.__or__(x, False)", "x"),
    Rule("false_or", "x: bool", "aten.__or__(False, x)", "x"),
    Rule("or_true", "x: bool", "aten.__or__(x, True)", "True"),
    Rule("eq_true", "x: bool", "aten.eq(x, True)", "x"),
    Rule("ne_false", "x: bool", "aten.ne(x, False)", "x"),
    Rule("not_is", "x: Any, y: Any", "aten.__not__(aten.__is__(x, y))", "aten.__isnot__(x, y)"),
    Rule("not_isnot", "x: Any, y: Any", "aten.__not__(aten.__isnot__(x, y))", "aten.__is__(x, y)"),
    Rule("not_eq", "x: int, y: int", "aten.__not__(aten.eq(x, y))", "aten.ne(x, y)"),
    Rule("not_ne", "x: int, y: int", "aten.__not__(aten.ne(x, y))", "aten.eq(x, y)"),
    # Not for floats: with a nan both x < y and x >= y are false.
    Rule("not_lt", "x: int, y: int", "aten.__not__(aten.lt(x, y))", "aten.ge(x, y)"),
    Rule("not_le", "x: int, y: int", "aten.__not__(aten.le(x, y))", "aten.gt(x, y)"),
    Rule("not_gt", "x: int, y: int", "aten.__not__(aten.gt(x, y))", "aten.le(x, y)"),
    Rule("not_ge", "x: int, y: int", "aten.__not__(aten.ge(x, y))", "aten.lt(x, y)"),
)

NONE = (
    Rule(
        "is_none_never",
        "x: Any",
        "aten.__is__(x, None)",
        "False",
        never_none,
        samples={"x": (1, "a")},
    ),
    Rule(
        "isnot_none_never",
        "x: Any",
        "aten.__isnot__(x, None)",
        "True",
        never_none,
        samples={"x": (1, "a")},
    ),
    Rule(
        "is_none_always",
        "x: Any",
        "aten.__is__(x, None)",
        "True",
        always_none,
        samples={"x": (None,)},
    ),
    Rule(
        "isnot_none_always",
        "x: Any",
        "aten.__isnot__(x, None)",
        "False",
        always_none,
        samples={"x": (None,)},
    ),
)

CASTS = (
    Rule(
        "cast_to_itself",
        "x: Any",
        "prim.unchecked_cast(x)",
        "x",
        same_type,
        gives="object",
        samples={"x": (1, "a")},
    ),
    Rule("int_of_int", "x: int", "aten.Int(prim.NumToTensor(x))", "x"),
    Rule("implicit_int_of_int", "x: int", "aten.IntImplicit(prim.NumToTensor(x))", "x"),
    Rule("float_of_float", "x: float", "aten.Float(prim.NumToTensor(x))", "x"),
    Rule("implicit_float_of_float", "x: float", "aten.FloatImplicit(prim.NumToTensor(x))", "x"),
    Rule("bool_of_bool", "x: bool", "aten.Bool(prim.NumToTensor(x))", "x"),
    Rule("item_of_bool", "x: bool", "aten.Bool(aten.Int(x))", "x"),
)

TENSORS = (
    Rule("len_of_size", "x: Tensor", "aten.len(aten.size(x))", "aten.dim(x)"),
    Rule(
        "item_of_size",
        "x: Tensor, i: int",
        "aten.__getitem__(aten.size(x), i)",
        "aten.size(x, i)",
        samples={"i": (0, -1)},
    ),
    Rule("relu_of_relu", "x: Tensor", "aten.relu((y := aten.relu(x)))", "y"),
    Rule(
        "double_contiguous",
        "x: Tensor",
        "aten.contiguous((y := aten.contiguous(x)))",
        "y",
        gives="object",
    ),
    Rule(
        "dropout_in_eval",
        "x: Tensor, p: float",
        "aten.dropout(x, p, False)",
        "x",
        gives="object",
        samples={"p": (0.5,)},
    ),
    Rule(
        "dropout_in_place_in_eval",
        "x: Tensor, p: float",
        "aten.dropout_(x, p, False)",
        "x",
        gives="object",
        samples={"p": (0.5,)},
    ),
    Rule(
        "feature_dropout_in_eval",
        "x: Tensor, p: float",
        "aten.feature_dropout(x, p, False)",
        "x",
        gives="object",
        samples={"p": (0.5,)},
    ),
)

UNRECORDED = (
    Rule("detach", "x: Tensor", "aten.detach(x)", "x", gives="memory"),
    Rule("data", "x: Tensor", "prim.data(x)", "x", gives="memory"),
)
"""Operators that only return their tensor again when no derivatives are recorded."""

RULES = RuleSet((*NUMBERS, *TRUTH, *NONE, *CASTS, *TENSORS))


def run(graph: Graph) -> bool:
    return RULES.apply(graph, schemas, Guard(graph))


def run_unrecorded(graph: Graph) -> bool:
    """Apply the rules that hold for a program that runs without derivatives."""
    return RuleSet(UNRECORDED).apply(graph, schemas, Guard(graph))


def schemas(kind: str) -> list[Schema]:
    return [op.schema for op in table.overloads(kind)]


class Guard:
    """Decides whether a match may be rewritten, given what the graph does to memory.
    Returns the reason why not, or None."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._analysis: AliasAnalysis | None = None

    @property
    def analysis(self) -> AliasAnalysis:
        if self._analysis is None:
            self._analysis = analysis_of(self.graph)
        return self._analysis

    def __call__(self, match: Match, existing: Value | None) -> str | None:
        held = [v for n in match.nodes for v in (*n.inputs, *n.outputs) if memory_kinds(v.type)]
        for node in match.nodes:
            if has_side_effects(node) or node.schema is not None and node.schema.is_mutable:
                return f"{node.kind} has an effect"
        if not held:
            return None
        if any(v not in self.analysis.points for v in held):
            return "another rule made one of its values just now"
        if self.analysis.is_written(*held):
            return "its memory is written"
        result = match.node.output
        if existing is not None and memory_kinds(result.type) and self.analysis.escapes(result):
            return f"code outside would see that the result shares memory with {existing!r}"
        return None
