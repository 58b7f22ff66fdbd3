"""Operators that ask about gradients, identity or sizes; the evaluator answers them itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import types as T
from ...ops import table
from . import writes
from .backward import differentiate, raise_if
from .values import NotFollowed, NotStraight, Tensor, Unknown, is_known

if TYPE_CHECKING:
    from .evaluate import Evaluator

Special = Callable[["Evaluator", list[Any]], Any]
SPECIAL: dict[str, Special] = {}
"""The operators that have a handler here instead of being run or emitted as usual."""


def special(*names: str) -> Callable[[Special], Special]:
    def register(f: Special) -> Special:
        SPECIAL.update(dict.fromkeys(names, f))
        return f

    return register


@special("aten::detach", "prim::data")
def detach(e: Evaluator, args: list[Any]) -> Any:
    operator: Any = table.find("aten::detach")
    results = e.emit(operator, args)
    writes.note_views(e, operator, args, results)
    return results[0]


@special("aten::requires_grad_")
def requires_grad_(e: Evaluator, args: list[Any]) -> Any:
    tensor, flag = args
    if flag is not True and tensor.active or not is_known(flag):
        raise NotStraight("requires_grad_ takes a gradient away")
    if flag and not tensor.active:
        e.turned.append(tensor)
    tensor.active = tensor.active or flag
    return tensor


def leaf(e: Evaluator, operator: table.Operator, args: list[Any]) -> Any:
    """`torch.tensor(x, requires_grad=True)`."""
    if not is_known(args[-1]):
        raise NotStraight("whether a new tensor requires a gradient is not known")
    made = e.operator(operator, [*args[:-1], False])
    made.active = args[-1]
    return made


@special("aten::requires_grad", "prim::requires_grad")
def requires_grad(e: Evaluator, args: list[Any]) -> Any:
    return args[0].active


@special("aten::set_grad_enabled")
def set_grad_enabled(e: Evaluator, args: list[Any]) -> Any:
    if not is_known(args[0]) or e.inside:
        raise NotStraight("whether gradients are recorded is not known")
    e.records = args[0]
    return None


@special("aten::is_grad_enabled")
def is_grad_enabled(e: Evaluator, args: list[Any]) -> Any:
    return e.records


def answer(e: Evaluator, a: Any, b: Any) -> Any:
    """Whether two values are the same object."""
    if a is None or b is None:
        other = b if a is None else a
        if isinstance(other, Unknown) and T.may_be_none(other.value.type):
            operator: Any = table.find("aten::__is__")
            return e.emit(operator, [a, b])[0]
        return other is None
    if isinstance(a, (Unknown, Tensor)) or isinstance(b, (Unknown, Tensor)):
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            return a is b
        raise NotStraight("whether two values are one is not known")
    if type(a) in (bool, int, float, complex, str):
        return type(a) is type(b) and a == b
    return a is b


@special("aten::__is__")
def is_(e: Evaluator, args: list[Any]) -> Any:
    return answer(e, *args)


@special("aten::__isnot__")
def isnot(e: Evaluator, args: list[Any]) -> Any:
    found = answer(e, *args)
    return e.run("aten::__not__", found) if isinstance(found, Unknown) else not found


@special("aten::size")
def size(e: Evaluator, args: list[Any]) -> Any:
    """The sizes of a tensor: numbers where they are known, nodes for the others."""
    tensor = args[0]
    v = e.value(tensor)
    shape = e.facts.shape(v)
    whole: Any = table.find("aten::size")
    one: Any = table.find("aten::size", "int")
    if len(args) == 2:
        if shape is not None and is_known(args[1]) and -len(shape) <= args[1] < len(shape):
            found = shape[args[1]]
            return found if isinstance(found, int) else e.emit(one, args)[0]
        return e.emit(one, args)[0]
    if shape is None:
        return e.emit(whole, args)[0]
    return [n if isinstance(n, int) else e.emit(one, [tensor, i])[0] for i, n in enumerate(shape)]


@special("aten::grad")
def grad(e: Evaluator, args: list[Any]) -> Any:
    """`torch.autograd.grad` in a program."""
    outputs, inputs, given, _, creates, allows_unused = args
    if not (isinstance(outputs, list) and isinstance(inputs, list) and is_known(creates)):
        raise NotStraight("what is differentiated is not known")
    if given is not None and not isinstance(given, list):
        raise NotStraight("the gradients that are given are not known")
    if not all(isinstance(t, Tensor) for t in (*outputs, *inputs)):
        raise NotStraight("what is differentiated is not known")
    if left := e.left_out([t for t in inputs if not t.active]):
        raise NotFollowed(left)
    for name, tensors in (("outputs", outputs), ("inputs", inputs)):
        for k, t in enumerate(tensors):
            if not t.active:
                raise NotStraight(
                    f"{name}[{k}] of autograd.grad requires no gradient in calls like this one"
                )
    if given and len(given) != len(outputs):
        raise NotStraight(f"{len(given)} gradients are given for {len(outputs)} tensors")
    for k, (output, gradient) in enumerate(zip(outputs, given or ())):
        if isinstance(gradient, Tensor):
            check_given(e, k, output, gradient)
        elif gradient is not None:
            raise NotStraight("the gradients that are given are not known")
    found = differentiate(e, outputs, inputs, given or [None] * len(outputs), creates)
    if None in found and allows_unused is not True:
        raise NotStraight("a gradient is asked for of what was not used")
    return found


def check_given(e: Evaluator, k: int, output: Tensor, gradient: Tensor) -> None:
    """Raise NotStraight if a given gradient is not of the shape and type of what it is for; where
    only a run knows the shape, insert a check."""
    of, given = e.value(output), e.value(gradient)
    node = None if given.is_parameter else given.node
    if node is not None and node.kind.endswith("_like") and node.inputs[0] is of:  # ones_like
        dtype = node.argument("dtype")
        if dtype.is_constant and dtype.constant is None:
            return
    wanted, found = e.facts.tensor(of), e.facts.tensor(given)
    if None not in (wanted.dtype, found.dtype) and wanted.dtype is not found.dtype:
        raise NotStraight(f"the gradient that is given for tensor {k} has another type")
    if wanted.shape is not None and wanted.shape == found.shape:
        return
    ranks = {fact.rank for fact in (wanted, found) if isinstance(fact.rank, int) and fact.rank >= 0}
    if wanted.is_exact and found.is_exact or len(ranks) > 1:
        raise NotStraight(f"the gradient that is given for tensor {k} has another shape")
    sizes = [e.run("aten::size", t) for t in (output, gradient)]
    different = e.run("aten::ne.int_list", *sizes)
    if isinstance(different, Unknown):
        raise_if(e, different, f"invalid gradient at index {k} - its shape is another one")
