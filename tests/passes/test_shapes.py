"""Shapes and types that are known before a run are those of the run."""

from __future__ import annotations

import importlib
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import scriptlang
from scriptlang import types as T
from scriptlang.dtypes import float32, int64
from scriptlang.ir import Graph
from scriptlang.ops import table
from scriptlang.passes import fold_shapes, optimize, pipeline
from scriptlang.passes.shape_facts import (
    UNKNOWN,
    TensorFacts,
    Unknown,
    fact_of,
    is_size,
    map_sizes,
    tensor_facts,
)
from scriptlang.passes.shape_rules import RULES, Call, rule_of
from scriptlang.passes.shapes import propagate
from scriptlang.passes.sizes import (
    TooLong,
    add,
    division,
    equal,
    floordiv,
    less,
    minimum,
    mul,
    sub,
    substitute,
    symbol,
)
from scriptlang.tensors import Tensor
from tests.golden import parse
from tests.ops.harness import convert
from tests.ops.one_operator import chosen
from tests.passes.observed import Comparison, NotRun, run
from tests.passes.random_graphs import random_graph
from tests.passes.test_pipeline import check_random

DATA = Path(__file__).resolve().parent.parent / "data"
FAMILIES = sorted(p.stem for p in (DATA.parent / "ops").glob("test_*.py"))
S, U = symbol("s0"), symbol("s1")

MOST_SAMPLES = 6
"""How many samples of an operator are compared."""


@pytest.mark.parametrize(
    "size, text",
    [
        (add(S, 2), "s0+2"),
        (mul(2, S), "2*s0"),
        (sub(S, S), "0"),
        (sub(mul(S, 3), U), "3*s0-s1"),
        (floordiv(add(U, 1), 2), "(s1+1)//2"),
        (floordiv(add(mul(4, S), 3), 2), "2*s0+1"),
        (floordiv(add(floordiv(add(U, 1), 2), 1), 2), "(s1+3)//4"),
        (mul(add(S, 1), add(U, 1)), "s0+s1+s0*s1+1"),
        (division(mul(add(S, 2), U), U), "s0+2"),
        (division(mul(mul(3, S), add(U, 2)), add(U, 2)), "3*s0"),
        (mul(2, floordiv(U, 2)), "2*(s1//2)"),
        (floordiv(S, add(U, 1)), "s0//(s1+1)"),
    ],
)
def test_sizes_have_one_form(size, text):
    assert str(size) == text


def test_what_holds_for_every_size_is_known():
    assert equal(add(S, 1), 0) is False and equal(S, 0) is None and equal(mul(S, 2), add(S, S))
    assert less(S, add(S, 1)) is True and less(add(S, 1), S) is False and less(S, U) is None
    assert less(-1, S) is True and minimum(add(floordiv(S, 2), 3)) == 3
    assert floordiv(S, 0) is None and floordiv(4, U) is None


def test_sizes_compute_what_integers_do():
    draw = random.Random(5)
    names = [symbol(f"s{i}") for i in range(3)]
    for _ in range(3000):
        numbers = {s.terms[0][0][0]: draw.randint(0, 9) for s in names}
        pool = [(s, numbers[s.terms[0][0][0]]) for s in names] + [(k, k) for k in (-3, 0, 1, 2, 7)]
        for _ in range(6):
            (a, x), (b, y) = draw.choice(pool), draw.choice(pool)
            f, g = draw.choice(
                [
                    (add, int.__add__),
                    (sub, int.__sub__),
                    (mul, int.__mul__),
                    (floordiv, int.__floordiv__),
                ]
            )
            try:
                size = f(a, b)
            except TooLong:
                continue
            if size is None or g is int.__floordiv__ and y == 0:
                continue
            pool.append((size, g(x, y)))
            assert substitute(size, numbers.get) == g(x, y), (f, str(a), str(b))
            for fact, truth in ((equal(a, b), x == y), (less(a, b), x < y)):
                assert fact is None or fact == truth, (str(a), str(b))


# Against real runs


def compared(graph: Graph, facts, args) -> Comparison:
    """The facts of a graph for facts of its inputs, compared with a run."""
    seen = Comparison(propagate(graph, dict(zip(graph.inputs, facts))))
    try:
        run(graph, args, seen, seen.turn)
    except NotRun:
        pass
    assert not seen.wrong, "\n".join(seen.wrong)
    return seen


def unsized(fact):
    """The fact with a symbol for each size, and no types."""
    if isinstance(fact, tuple):
        return tuple(map(unsized, fact))
    if isinstance(fact, TensorFacts):
        return tensor_facts([symbol(f"x{i}") for i, _ in enumerate(fact.shape)])
    return fact


def samples(family: str) -> list:
    return getattr(importlib.import_module(f"tests.ops.{family}"), "SAMPLES", [])


def graph_of(operator, values) -> Graph:
    """A graph that calls an operator; numbers are constants."""
    graph = Graph()
    inputs = []
    for a, value in zip(operator.schema.arguments, values):
        if fact_of(value) is UNKNOWN or isinstance(value, (Tensor, list, tuple)):
            inputs.append(graph.block.add_parameter(a.type, a.name))
        else:
            inputs.append(graph.constant(value, T.NONE if value is None else None))
    node = graph.insert(
        operator.name, inputs, [r.type for r in operator.schema.returns], schema=operator.schema
    )
    for v in node.outputs:
        graph.block.add_return(v)
    return graph


@pytest.mark.parametrize("family", FAMILIES)
def test_of_every_operator(family):
    met: Counter[str] = Counter()
    for sample in samples(family):
        given = convert((sample.args, list(sample.kwargs.values())), Tensor._wrap)
        try:
            operator, values = chosen(sample.name, given[0], dict(zip(sample.kwargs, given[1])))
            if operator.schema.is_vararg or any(
                isinstance(t, T.VarType)
                for a in (*operator.schema.arguments, *operator.schema.returns)
                for t in a.type.walk()
            ):
                continue
        except Exception:
            continue  # a sample of an error
        graph = graph_of(operator, values)
        args = [
            v
            for a, v in zip(operator.schema.arguments, values)
            if fact_of(v) is UNKNOWN or isinstance(v, (Tensor, list, tuple))
        ]
        known = [*map(fact_of, args)]
        more = [[UNKNOWN] * len(args)] if not met[operator.qualified_name] else []
        met[operator.qualified_name] += 1
        if met[operator.qualified_name] > MOST_SAMPLES:
            continue
        for facts in (known, [*map(unsized, known)], *more):
            try:
                compared(graph, facts, args)
            except AssertionError as e:
                raise AssertionError(f"{sample}: {e}") from None
            except Exception:
                break  # the operator fails, as it should


@pytest.mark.parametrize("seed", range(40))
def test_of_random_programs(seed):
    args = [
        scriptlang.from_numpy(np.arange(9, dtype=np.float32).reshape(3, 3) * k - 4)
        for k in (1, -1, 2)
    ]
    args = [args[0], args[1], 3, [args[2]]]
    for facts in ([*map(fact_of, args)], [*map(unsized, map(fact_of, args))], []):
        graph = parse(random_graph(seed))
        compared(graph, facts, args)
        pipeline.optimize(graph)
        compared(graph, facts, args)


@pytest.mark.parametrize("seed", range(40))
def test_folding_keeps_what_random_programs_give(seed):
    def fold(graph: Graph) -> None:
        square = tensor_facts((3, 3), float32)
        fold_shapes.run(graph, {v: square for v in graph.inputs if v.type == T.TENSOR})

    check_random(seed, fold)
    check_random(seed, fold_shapes.run)


ARCHIVES = sorted(p.name for p in DATA.glob("*.pt") if not p.name.startswith("counter"))


@pytest.mark.parametrize("name", ARCHIVES)
def test_of_archives(name):
    module = scriptlang.load(DATA / name, engine="python")
    stored = np.load(DATA / name.replace(".pt", ".npz"))
    inputs = [scriptlang.from_numpy(stored[k]) for k in stored.files if k[0] == "i"]
    for make in (scriptlang.freeze, scriptlang.optimize):
        fast = make(module)
        function = fast._type.methods["forward"]
        graph = function.attributes.get(optimize.OPTIMIZED, function.graph)
        args = [fast._object_, *inputs]
        args += [a.default for a in function.schema.arguments[len(args) :]]
        seen = compared(graph, [*map(fact_of, args)], args)
        assert len(seen.numbers) == len(seen.typed) == len(seen.seen)
        with_symbols = [map_sizes(fact_of(v), lambda n: symbol("x")) for v in args[1:]]
        compared(graph, [UNKNOWN, *with_symbols], args)


# One thing each


def facts_of(text: str, *inputs):
    """The facts of what a graph returns."""
    graph = parse(text)
    facts = propagate(graph, dict(zip(graph.inputs, inputs)))
    return [facts[v] for v in graph.outputs]


def test_symbols_stay_equal_through_views():
    (x,) = facts_of(
        """graph(%x : Tensor):
  %zero : int = prim::Constant[value=0]()
  %last : int = prim::Constant[value=-1]()
  %n : int = aten::size(%x, %zero)
  %s : int[] = prim::ListConstruct(%n, %last)
  %y : Tensor = aten::view(%x, %s)
  return (%y)""",
        tensor_facts((S, 3, U), float32),
    )
    assert str(x) == "Float(s0, 3*s1)"


def test_a_rank_that_a_check_has_settled_is_known():
    before, after = facts_of("""graph(%x : Tensor):
  %four : int = prim::Constant[value=4]()
  %text : str = prim::Constant[value="no"]()
  %none : NoneType = prim::Constant()
  %a : Tensor = aten::relu(%x)
  %d : int = aten::dim(%a)
  %c : bool = aten::ne(%d, %four)
   = prim::If(%c)
    block0():
       = prim::RaiseException(%text, %none)
      -> ()
    block1():
      -> ()
  %b : Tensor = aten::relu(%x)
  return (%a, %b)""")
    assert before.shape is None and len(after.shape) == 4


LOOP = """graph(%x : Tensor, %n : int, %c : bool):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %y : Tensor, %k : int = prim::Loop(%n, %c, %x, %one)
    block0(%i : int, %z : Tensor, %m : int):
      %l : Tensor[] = prim::ListConstruct(%z, %x)
      %w : Tensor = aten::cat(%l, %zero)
      %s : int = aten::size(%w, %zero)
      -> (%c, %w, %s)
  return (%y, %k)"""


def test_what_grows_in_a_loop_is_unknown_after_it_and_the_rest_is_not():
    y, k = facts_of(LOOP, tensor_facts((2, U), int64), UNKNOWN, UNKNOWN)
    assert y.dtype is int64 and y.shape[1] == U and is_size(y.shape[0])
    assert not isinstance(y.shape[0], int) and not isinstance(k, int)
    assert len(str(y.shape[0])) < 4


def test_a_tensor_that_is_reshaped_in_place_is_unknown():
    x, y = facts_of(
        """graph(%x : Tensor):
  %y : Tensor = aten::relu(%x)
  %z : Tensor = aten::t_(%x)
  return (%x, %y)""",
        tensor_facts((2, 3), float32),
    )
    assert x.shape is None and y.shape is None


def test_a_list_that_is_written_is_unknown():
    (x,) = facts_of(
        """graph(%x : Tensor, %n : int):
  %s : int[] = aten::size(%x)
  %t : int[] = aten::append(%s, %n)
  %none : NoneType = prim::Constant()
  %y : Tensor = aten::zeros(%s, %none, %none, %none, %none)
  return (%y)""",
        tensor_facts((2, 3), float32),
    )
    assert x.shape is None and x.dtype is float32


def test_every_rule_is_of_an_operator():
    rule_of("aten::relu", "")
    names = {f"{op.name.partition('::')[2]}" for op in table.all_operators()}
    names |= {op.qualified_name.partition("::")[2] for op in table.all_operators()}
    assert not sorted(name for name in RULES if name not in names)


def drawn_fact(t: T.Type, draw: random.Random):
    """Something that may be known of a value of a type."""
    if isinstance(t, T.OptionalType):
        return None if draw.random() < 0.4 else drawn_fact(t.element, draw)
    if t == T.TENSOR:
        return draw.choice(
            [
                TensorFacts((2, 3), float32, 2),
                TensorFacts((S, U, 4), None, 3),
                TensorFacts((), int64, 0),
                TensorFacts(None, None, symbol("s2")),
                TensorFacts(None, float32, 4),
                TensorFacts((1, 3, S, 8), float32, 4),
            ]
        )
    if isinstance(t, T.ListType):
        if draw.random() < 0.2:
            return UNKNOWN
        return tuple(drawn_fact(t.element, draw) for _ in range(draw.randrange(4)))
    known = {
        T.INT: [0, 1, 2, -1, 6, S, U],
        T.FLOAT: [0.5, 2.0],
        T.BOOL: [True, False],
        T.STR: ["none", "ij,jk->ik"],
        T.NUMBER: [1, 2.5, S],
    }.get(t, [])
    return draw.choice([*known, UNKNOWN])


def test_a_rule_says_that_it_does_not_know():
    """A rule raises Unknown where it needs what is not known; other errors are only those of
    sizes that no kernel takes."""
    draw, asked = random.Random(3), 0
    for op in table.every_operator():
        rule = rule_of(op.name, op.overload)
        if rule is None or op.schema.is_mutable:
            continue
        for _ in range(40):
            facts = [drawn_fact(a.type, draw) for a in op.schema.arguments]
            asked += 1
            try:
                rule.run(Call(None, op.schema, facts, lambda: symbol("f")))
            except (Unknown, TooLong, ArithmeticError, LookupError, ValueError):
                continue
            except Exception as e:
                raise AssertionError(f"{op.qualified_name} of {facts}") from e
    assert asked > 10000


def test_code_that_no_run_reaches_needs_no_facts():
    graph = parse("""graph(%n : int):
  %x : Tensor = prim::Uninitialized()
  %s : int[] = prim::ListConstruct(%n)
  %y : Tensor = aten::view(%x, %s)
  return (%y)""")
    assert propagate(graph)[graph.outputs[0]].shape is None
