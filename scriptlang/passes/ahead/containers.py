"""Lists, tuples and dicts. Their structure is known ahead, even if their elements are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import types as T
from ...ir import Node
from ...ops import table
from ...tensors import Tensor as Constant
from ...type_variables import has_variables
from .values import NotStraight, Tensor, Unknown, is_known, tensors_in

if TYPE_CHECKING:
    from .evaluate import Evaluator

MOVING = frozenset(
    f"aten::{name}"
    for name in "append extend insert pop clear copy reverse list len __getitem__ _set_item slice "
    "add add_ mul keys values items get setdefault update Delete popitem dict".split()
)
"""Operators that only move the elements of containers and do not depend on their values."""


def is_generic(operator: table.Operator) -> bool:
    """Whether an operator takes containers of any element type."""
    schema = operator.schema
    return any(has_variables(a.type) for a in schema.arguments) and not any(
        T.TENSOR in r.type.walk() for r in schema.returns
    )


def run(e: Evaluator, operator: table.Operator, args: list[Any]) -> Any:
    """The result of an operator on containers."""
    schema = operator.schema
    held = [a for a in args if isinstance(a, (list, dict))]
    if not held or any(
        isinstance(a, Unknown) and not isinstance(s.type, T.VarType)
        for a, s in zip(args, schema.arguments)
    ):
        if schema.is_mutable:
            raise NotStraight("a list that is not known is changed")
        made = e.emit(operator, args)[0]
        for t in tensors_in(made):
            t.is_outside = True
        return made
    if operator.name not in MOVING and not is_known(args):
        raise NotStraight(f"{operator.name} looks at what is in a list")
    if schema.is_mutable and e.inside and id(args[0]) not in e.local:
        raise NotStraight("a branch that nothing decides changes a list")
    if schema.is_mutable and id(args[0]) in e.lasting:
        raise NotStraight("a list of a module is changed")
    return local(e, computed(operator, args))


def computed(operator: table.Operator, args: list[Any]) -> Any:
    """The result of an operator on known values."""
    kernel: Any = operator.kernel
    try:
        return kernel(*args)
    except Exception as error:
        raise NotStraight(f"it raises {type(error).__name__}: {error}") from error


MAKING = frozenset(
    f"aten::{name}"
    for name in "arange linspace eye triu_indices tril_indices tensor scalar_tensor logspace "
    "hann_window hamming_window".split()
)
"""Operators that always return the same tensor for the same arguments."""

MOST_ELEMENTS = 1 << 16
"""The most elements of a tensor that is computed ahead."""


def made_ahead(operator: table.Operator, args: list[Any]) -> Constant | None:
    """The tensor that a factory returns for known numbers, if it is small; else None."""
    if operator.name not in MAKING:
        return None
    made = computed(operator, args)
    fits = isinstance(made, Constant) and made.numel() <= MOST_ELEMENTS
    return made if fits else None


def local(e: Evaluator, made: Any) -> Any:
    """Note that a container was created inside a branch that stays; returns the container."""
    if e.inside and isinstance(made, (list, dict)):
        e.local[id(made)] = made
    return made


def make_list(e: Evaluator, node: Node, args: list[Any]) -> tuple[Any, ...]:
    return (local(e, list(args)),)


def make_tuple(e: Evaluator, node: Node, args: list[Any]) -> tuple[Any, ...]:
    type: Any = node.output.type
    return (type.make(args),)


def make_dict(e: Evaluator, node: Node, args: list[Any]) -> tuple[Any, ...]:
    if not is_known(args[::2]):
        raise NotStraight("the keys of a dict are not known")
    return (local(e, dict(zip(args[::2], args[1::2]))),)


def unpack(e: Evaluator, node: Node, args: list[Any]) -> Any:
    if isinstance(args[0], Unknown):
        made = e.insert(node.kind, [args[0].value], [v.type for v in node.outputs])
        e.facts.node(made)
        return [e.foreign(v) for v in made.outputs]
    if len(args[0]) != len(node.outputs):
        raise NotStraight("a list of another length is unpacked")
    return args[0]


def item(e: Evaluator, node: Node, args: list[Any]) -> tuple[Any, ...]:
    if isinstance(args[0], Unknown) and is_known(args[1]):
        made = e.insert(
            node.kind, [args[0].value, e.materialized(args[1], T.ANY)], [node.output.type]
        )
        e.facts.node(made)
        return (e.foreign(made.output),)
    if not isinstance(args[0], (tuple, dict)) or not is_known(args[1]):
        raise NotStraight("an element that is not known is taken")
    return (args[0][args[1]],)


def part(e: Evaluator, node: Node, args: list[Any]) -> tuple[Any, ...]:
    return (args[0][node.attributes["beg"] : node.attributes["end"]],)


def uninitialized(e: Evaluator, node: Node, args: list[Any]) -> tuple[Any, ...]:
    return (None,)


def is_instance(e: Evaluator, node: Node, args: list[Any]) -> tuple[Any, ...]:
    types = node.attributes.get("types", ())
    if isinstance(args[0], Tensor):
        return (any(t == T.TENSOR for t in types),)
    raise NotStraight("the class of a value is asked for")


KINDS: dict[str, Callable[..., Any]] = {
    "prim::ListConstruct": make_list,
    "prim::TupleConstruct": make_tuple,
    "prim::DictConstruct": make_dict,
    "prim::ListUnpack": unpack,
    "prim::TupleUnpack": unpack,
    "prim::TupleIndex": item,
    "prim::DictIndex": item,
    "prim::TupleSlice": part,
    "prim::Uninitialized": uninitialized,
    "prim::isinstance": is_instance,
}
"""Node kinds that create containers or take them apart."""
