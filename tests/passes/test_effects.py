"""What the passes believe about operators holds for their kernels."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import scriptlang
from scriptlang import types as T
from scriptlang.objects import Device
from scriptlang.ops import table
from scriptlang.ops.families import random
from scriptlang.passes import effects
from scriptlang.tensors import Tensor
from tests.golden import parse

SCALARS = {T.INT: 1, T.FLOAT: 0.5, T.BOOL: False, T.NUMBER: 2, T.STR: "a", T.NONE: None}


def tensors() -> list[Tensor]:
    return [
        scriptlang.from_numpy(a)
        for a in (
            np.arange(1, 10, dtype=np.float32).reshape(3, 3) / 10,
            np.arange(9).reshape(3, 3),
            np.array([True, False, True]),
            np.arange(6, dtype=np.complex64).reshape(2, 3).T,
            np.array(1.5, np.float32),
            np.zeros((0, 2), np.float32),
        )
    ]


def arguments(op, tensor: Tensor, flag: bool = False) -> list | None:
    """Arguments for a kernel: `tensor` for its first tensor, `flag` for every bool that it takes;
    None where we have none."""
    found = []
    for a in op.schema.arguments:
        if a.type == T.BOOL and flag:
            found.append(True)
        elif a.has_default:
            found.append(a.default)
        elif a.type == T.TENSOR:
            found.append(
                tensor
                if not found
                else scriptlang.from_numpy(np.ones(tensor.shape, tensor.numpy().dtype))
            )
        elif a.type == T.ListType(T.INT):
            found.append(list(tensor.shape))
        elif a.type == T.ListType(T.TENSOR):
            found.append([tensor])
        elif a.type in SCALARS:
            found.append(SCALARS[a.type])
        elif isinstance(a.type, T.OptionalType):
            found.append(None)
        else:
            return None
    return found


def leaves(value) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for part in value for t in leaves(part)]
    return []


OPERATORS = [
    op
    for op in table.all_operators()
    if op.kernel is not None and any(T.TENSOR in a.type.walk() for a in op.schema.arguments)
]


def test_there_are_operators_to_look_at():
    assert len(OPERATORS) > 200


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.qualified_name)
def test_a_kernel_shares_and_writes_only_what_its_schema_says(op):
    for tensor in tensors():
        given = arguments(op, tensor)
        if given is None:
            return
        before = [t.numpy().copy() for t in leaves(given)]
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                result = op.kernel(*given)
                [t.numpy() for t in leaves(result)]
        except Exception:
            continue  # not an argument for this operator
        inputs = leaves(given)
        if not op.schema.is_mutable:
            for t, old in zip(inputs, before):
                assert t.numpy().tobytes() == old.tobytes(), "an input was written"
        if not op.schema.is_mutable and any(r.alias for r in op.schema.returns):
            assert op.facts.may_copy or all(
                any(np.shares_memory(out.numpy(), t.numpy()) for t in inputs)
                for out in leaves(result)
                if out.numel()
            ), "the result may be a copy"
        if (
            op.schema.is_mutable
            or op.facts.may_share
            or any(r.alias for r in op.schema.returns)
            or any(
                isinstance(a.type, T.ListType) and T.TENSOR in a.type.contained
                for a in op.schema.arguments
            )
        ):
            continue
        for out in leaves(result):
            assert not any(np.shares_memory(out.numpy(), t.numpy()) for t in inputs), (
                "the result shares memory with an input, which the schema does not say"
            )


@pytest.mark.parametrize("flag", [False, True])
def test_every_operator_that_draws_random_numbers_is_known(flag, monkeypatch):
    drawn = []

    def words(self, n):
        drawn.append(n)
        return np.zeros(n, np.uint32)

    monkeypatch.setattr(random.Generator, "words", words)
    monkeypatch.setattr(random.Generator, "double_words", words)
    unknown = []
    for op in table.all_operators():
        if op.kernel is None or op.facts.random or op.schema.takes_generator:
            continue
        drawn.clear()
        for tensor in tensors():
            given = arguments(op, tensor, flag)
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"), scriptlang.enable_grad():
                    warnings.simplefilter("ignore")
                    op.kernel(*given or ())
            except Exception:
                continue
        if drawn and not op.facts.effect:
            unknown.append(op.qualified_name)
    assert not unknown


@pytest.mark.parametrize(
    "text, is_random",
    [
        ("aten::dropout(%x, %p, %true)", True),
        ("aten::dropout(%x, %p, %false)", False),
        ("aten::dropout(%x, %p, %c)", True),
        ("aten::bernoulli(%x, %none)", True),
        ("aten::relu(%x)", False),
        ("aten::rand_like(%x, %none, %none, %none, %none, %none)", True),
    ],
)
def test_randomness_follows_from_the_arguments(text, is_random):
    graph = parse(f"""graph(%x : Tensor, %p : float, %c : bool):
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %none : NoneType = prim::Constant()
  %r : Tensor = {text}
  return (%r)
""")
    assert effects.is_random(list(graph.nodes)[-1]) is is_random


NUMBERS = [
    0,
    -1,
    2**63 - 1,
    -(2**63),
    0.0,
    -1.5e308,
    float("nan"),
    float("inf"),
    1j,
    complex(1.7e308, 1.7e308),
    complex("nan"),
]
VALUES = {
    "int": NUMBERS[:4],
    "float": NUMBERS[4:8],
    "complex": NUMBERS[8:],
    "bool": [True, False],
    "Scalar": NUMBERS,
    "str": ["", "aé"],
    "Device": [Device("cpu")],
    "Tensor": tensors(),
    "t[]": [[], [1, 2]],
    "Any[]": [[], ["a", 1]],
}
VALUES["t1"] = VALUES["t2"] = [*NUMBERS, None, "a", [1]]


def values_of(a) -> list:
    text = a.text or str(a.type)
    if text.startswith("Dict("):
        return [{}, {1: 2}]
    return VALUES.get(text, [])


def test_what_never_fails_never_fails():
    total = [op for op in table.every_operator() if op.facts.total]
    assert len(total) > 80
    failing, unseen = {}, []
    for op in total:
        choices = [values_of(a) for a in op.schema.arguments]
        if not all(choices):
            unseen.append(op.overload)
        for given in itertools.product(*choices):
            try:
                with np.errstate(all="ignore"):
                    op.kernel(*given)
            except Exception as e:
                failing.setdefault(op.qualified_name, (given, e))
    assert not failing
    assert set(unseen) <= {"enum"}


def test_what_keeps_a_type_keeps_it():
    """Of floating tensors all of one type the result has that type, whatever it is."""
    kept = [op for op in table.all_operators() if op.facts.keeps_type and op.kernel is not None]
    ran, wrong = set(), {}
    for op in kept:
        for dtype in (np.float16, np.float32, np.float64):
            for shape in ((2, 3), (1, 2, 4, 4)):
                x = scriptlang.from_numpy(np.ones(shape, dtype))
                given = arguments(op, x)
                if given is None:
                    continue
                try:
                    with warnings.catch_warnings(), np.errstate(all="ignore"):
                        warnings.simplefilter("ignore")
                        result = op.kernel(*given)
                except Exception:
                    continue
                ran.add(op.qualified_name)
                for out in leaves(result):
                    if out.dtype is not x.dtype:
                        wrong[op.qualified_name] = str(out.dtype)
    assert not wrong
    assert len(ran) > 0.7 * len(kept), sorted({op.qualified_name for op in kept} - ran)
