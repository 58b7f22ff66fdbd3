"""What a node does besides computing its outputs: the facts that every pass asks for.

Writing to memory (in-place operators, SetAttr) is alias.py's; here are the effects that no analysis
of memory sees: output, errors, calls of unknown code, the state of the random generator.
"""

from __future__ import annotations

from functools import cache

from .. import types as T
from ..ir import Node
from ..schema import Schema

EFFECTS = frozenset({
    "prim::Print", "prim::RaiseException", "prim::Enter", "prim::Exit", "prim::CallFunction",
    "prim::CallMethod", "prim::fork", "prim::awaitable", "prim::awaitable_wait", "aten::wait",
    "aten::warn", "aten::manual_seed", "aten::seed", "aten::Generator", "aten::set_grad_enabled",
    "aten::is_grad_enabled", "aten::save", "prim::AddStatValue",
    "aten::sym_constrain_range", "prim::profile",
    "prim::IgnoredPythonOp",
})
"""Kinds that have to run, once, and in this order."""

CALLS = frozenset({"prim::CallFunction", "prim::CallMethod", "prim::fork", "prim::Enter",
                   "prim::Exit", "prim::awaitable", "prim::awaitable_wait", "aten::wait",
                   "prim::IgnoredPythonOp"})
"""Kinds that run code not seen here: they may read and write whatever they can reach."""

CONTROL = frozenset({"prim::If", "prim::Loop", "prim::Param", "prim::Return"})

ALLOCATIONS = frozenset({"prim::ListConstruct", "prim::DictConstruct", "prim::TupleConstruct",
                         "prim::CreateObject"})
"""Kinds that make a new container of their inputs."""

UNPACKS = frozenset({"prim::TupleUnpack", "prim::TupleIndex", "prim::TupleSlice",
                     "prim::ListUnpack", "prim::DictIndex"})
"""Kinds that give what is inside their first input."""

PASSES_ON = frozenset({"prim::unchecked_cast", "prim::unchecked_unwrap_optional",
                       "prim::TupleCast"})
"""Kinds whose output is their first input."""

FUSED = "scriptlang::fused_pointwise"
"""Operators in a graph of their own, which do nothing but compute new tensors."""

PURE_PRIM = frozenset({FUSED, "prim::Constant", "prim::GetAttr", "prim::isinstance",
                       "prim::Uninitialized", *ALLOCATIONS, *UNPACKS, *PASSES_ON, *CONTROL})
"""Kinds of the IR itself, without schema or effect (control: the effects of its blocks)."""

VISIBLE = frozenset({"prim::Print", "prim::RaiseException", "prim::SetAttr"})
"""Kinds of the IR itself whose effect is known: they run no other code."""

RANDOM = frozenset(f"aten::{name}" for name in (
    "rand rand_like randn randn_like randint randint_like randperm normal bernoulli multinomial"
    " poisson binomial dropout alpha_dropout feature_dropout feature_alpha_dropout native_dropout"
    " rrelu rrelu_with_noise rrelu_with_noise_functional _standard_gamma _sample_dirichlet"
    " _fused_dropout fractional_max_pool2d fractional_max_pool3d scaled_dot_product_attention lstm"
    " gru rnn_tanh rnn_relu uniform exponential geometric cauchy log_normal random"
    " _scaled_dot_product_flash_attention_for_cpu").split())
"""Operators whose result comes from the random generator, as that of their in-place forms does."""

SWITCHES = {"train": False, "training": False, "dropout_p": 0.0}
"""Arguments that switch randomness on, and the value at which an operator is not random."""

NAMESPACES = ("aten::", "prim::", "scriptlang::", "quantized::", "prepacked::")
"""Namespaces whose operators do what their schemas say; others may do anything."""

TOTAL = frozenset(f"{ns}::{name}" for ns, names in {
    "aten": "add sub mul neg eq ne lt le gt ge __and__ __or__ __xor__ __not__ __is__ __isnot__"
            " Float.int Int.bool Bool.int Bool.float len dim",
    "prim": "max min abs isinstance TupleConstruct TupleIndex TupleUnpack dtype device is_cuda",
}.items() for name in names.split())
"""Operators that never fail on scalars and tuples of them."""

OF_ANYTHING = frozenset({"aten::__is__", "aten::__isnot__", "aten::len", "aten::dim", "prim::dtype",
                         "prim::device", "prim::is_cuda", "prim::TupleIndex", "prim::TupleUnpack",
                         "prim::isinstance"})
"""Those of them that never fail on tensors and lists, either."""


def is_opaque(node: Node) -> bool:
    """Whether the node runs code not seen here, which may do anything to what it can reach."""
    if is_foreign(node.kind):
        return True
    return node.schema is None and node.kind not in PURE_PRIM and node.kind not in VISIBLE


@cache
def is_foreign(kind: str) -> bool:
    """Whether a kind stands for code not seen here."""
    return kind in CALLS or not kind.startswith(NAMESPACES)


def has_side_effects(node: Node) -> bool:
    """Whether the node, or one inside it, does more than give outputs and write to memory."""
    if node.blocks:
        return any(has_side_effects(n) for block in node.blocks for n in block.nodes)
    return node.kind in EFFECTS or is_random(node) or is_opaque(node) or gives_nothing(node)


DROPPED = frozenset({"aten::_assert_async", "aten::_assert_scalar",
                     "aten::_assert_tensor_metadata"})
"""Checks without results that PyTorch's JIT takes out of programs."""


def gives_nothing(node: Node) -> bool:
    """Whether an operator has no results and writes nothing: what it runs for is not seen here."""
    schema = node.schema
    return schema is not None and not schema.returns and not schema.is_mutable \
        and not schema.is_varret and node.kind not in DROPPED


def is_random(node: Node) -> bool:
    """Whether the node draws from the random generator."""
    schema = node.schema
    if not (may_draw(node.kind) or schema is not None and takes_generator(schema)):
        return False
    if schema is not None:
        for name, off in SWITCHES.items():
            i = schema.index(name)
            if i is not None:
                v = node.inputs[i]
                if v.is_constant and v.constant == off:
                    return False
    return True


@cache
def may_draw(kind: str) -> bool:
    return kind.removesuffix("_") in RANDOM


def takes_generator(schema: Schema) -> bool:
    """Whether an operator has an argument for a generator; asked of every node, so kept."""
    known = schema.__dict__.get("_takes_generator")
    if known is None:
        known = schema.__dict__["_takes_generator"] = schema.index("generator") is not None
    return known


def may_fail(node: Node) -> bool:
    """Whether running the node can raise an error.

    A cast counts: what follows it may rest on a check that stands before it.
    """
    if node.kind in ("prim::Constant", "prim::GetAttr", "prim::Uninitialized", *ALLOCATIONS):
        return False
    if node.blocks:
        return any(may_fail(n) for block in node.blocks for n in block.nodes)
    if node.kind not in TOTAL and node.qualified_name not in TOTAL:
        return True
    return node.kind not in OF_ANYTHING and any(
        isinstance(t, T.ListType) or t == T.TENSOR for v in node.inputs for t in v.type.walk())
