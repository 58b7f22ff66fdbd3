"""The effects of plain opcodes, which change nothing but the stack and the objects on it.

A handler takes (stack, code, x, n) and changes the stack.  `vm.py` handles the opcodes that jump,
call or use registers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .. import exceptions
from ..errors import RunError
from ..objects import ScriptObject
from ..ops import table
from ..ops.calling.current import mode
from .code import Code
from .values import is_instance, type_name

UNINITIALIZED = None
"""The value of a variable that is not assigned on this path.  The program does not use it."""


def drop(stack: list[Any], code: Code, x: int, n: int) -> None:
    stack.pop()


def pop_n(stack: list[Any], n: int) -> list[Any]:
    at = len(stack) - n
    values = stack[at:]
    del stack[at:]
    return values


def slots_of(value: Any, x: int) -> Any:
    """The slots of an object.  Raises RunError if there is no slot x, which code that was read from
    a file may name."""
    if not isinstance(value, ScriptObject) or x >= len(value.slots):
        raise RunError(f"{type_name(value)} has no attribute slot {x}")
    return value.slots


def get_attr(stack: list[Any], code: Code, x: int, n: int) -> None:
    slots = slots_of(stack[-1], x)
    stack[-1] = slots[x] if isinstance(slots, list) else mode.program.mirrors.get(slots, x)


def set_attr(stack: list[Any], code: Code, x: int, n: int) -> None:
    value = stack.pop()
    slots = slots_of(stack.pop(), x)
    if isinstance(slots, list):
        slots[x] = value
    else:
        mode.program.mirrors.set(slots, x, value)


def list_unpack(stack: list[Any], code: Code, x: int, n: int) -> None:
    values = stack.pop()
    if len(values) != x:
        raise RuntimeError(f"Expected {x} elements in a list but found {len(values)}")
    stack.extend(values)


def tuple_construct(stack: list[Any], code: Code, x: int, n: int) -> None:
    stack.append(tuple(pop_n(stack, x)))


def named_tuple_construct(stack: list[Any], code: Code, x: int, n: int) -> None:
    made: Any = code.types[x]
    stack.append(made.make(pop_n(stack, n)))


def list_construct(stack: list[Any], code: Code, x: int, n: int) -> None:
    stack.append(pop_n(stack, n))


def dict_construct(stack: list[Any], code: Code, x: int, n: int) -> None:
    values = pop_n(stack, n)
    stack.append(dict(zip(values[::2], values[1::2])))


def create_object(stack: list[Any], code: Code, x: int, n: int) -> None:
    made: Any = code.types[x]
    stack.append(ScriptObject(made))


def isinstance_(stack: list[Any], code: Code, x: int, n: int) -> None:
    stack[-1] = any(is_instance(stack[-1], t) for t in code.types[x : x + n])


def tuple_slice(stack: list[Any], code: Code, x: int, n: int) -> None:
    stack[-1] = tuple(stack[-1][x : x + n])


def tuple_index(stack: list[Any], code: Code, x: int, n: int) -> None:
    i = stack.pop()
    values = stack[-1]
    if not -len(values) <= i < len(values):
        raise IndexError("tuple index out of range")
    stack[-1] = values[i]


def raise_exception(stack: list[Any], code: Code, x: int, n: int) -> None:
    name = stack.pop()
    raise exceptions.make(stack.pop(), name)


def dict_index(stack: list[Any], code: Code, x: int, n: int) -> None:
    key = stack.pop()
    values = stack[-1]
    if key not in values:
        raise KeyError(key)
    stack[-1] = values[key]


def nothing(stack: list[Any], code: Code, x: int, n: int) -> None:
    pass


def is_(stack: list[Any], code: Code, x: int, n: int) -> None:
    other = stack.pop()
    stack[-1] = same(stack[-1], other)


def isnot(stack: list[Any], code: Code, x: int, n: int) -> None:
    other = stack.pop()
    stack[-1] = not same(stack[-1], other)


def same(a: Any, b: Any) -> bool:
    """Whether `a is b` holds in the language.  Plain values are identical if they are equal and of
    the same type."""
    if type(a) in (bool, int, float, complex, str):
        return type(a) is type(b) and a == b
    return a is b


def un_initialized(stack: list[Any], code: Code, x: int, n: int) -> None:
    stack.append(UNINITIALIZED)


def format_(stack: list[Any], code: Code, x: int, n: int) -> None:
    stack.append(_operator("aten::format")(*pop_n(stack, x)))


def not_(stack: list[Any], code: Code, x: int, n: int) -> None:
    stack[-1] = not stack[-1]


def is_cuda(stack: list[Any], code: Code, x: int, n: int) -> None:
    stack[-1] = False


def warn(stack: list[Any], code: Code, x: int, n: int) -> None:
    message, _ = pop_n(stack, 2)
    warnings.warn(message, UserWarning, stacklevel=2)


def by_operator(name: str, overload: str = "", count: int = 1) -> Callable[..., Any]:
    """A handler that calls an operator of the table with `count` values from the stack."""

    def handler(stack: list[Any], code: Code, x: int, n: int) -> None:
        stack.append(_operator(name, overload)(*pop_n(stack, count)))

    return handler


def _operator(name: str, overload: str = "") -> Callable[..., Any]:
    operator = table.find(name, overload)
    if operator is None or operator.kernel is None:
        raise RunError(f"the python engine does not have the operator {name}")
    return operator.kernel


HANDLERS: dict[str, Callable[[list[Any], Code, int, int], None]] = {
    "DROP": drop,
    "GET_ATTR": get_attr,
    "SET_ATTR": set_attr,
    "LIST_UNPACK": list_unpack,
    "TUPLE_CONSTRUCT": tuple_construct,
    "NAMED_TUPLE_CONSTRUCT": named_tuple_construct,
    "LIST_CONSTRUCT": list_construct,
    "DICT_CONSTRUCT": dict_construct,
    "CREATE_OBJECT": create_object,
    "ISINSTANCE": isinstance_,
    "TUPLE_SLICE": tuple_slice,
    "TUPLE_INDEX": tuple_index,
    "RAISE_EXCEPTION": raise_exception,
    "DICT_INDEX": dict_index,
    "UNCHECKED_CAST": nothing,
    "__IS__": is_,
    "__ISNOT__": isnot,
    "UN_INITIALIZED": un_initialized,
    "FORMAT": format_,
    "__NOT__": not_,
    "IS_CUDA": is_cuda,
    "WARN": warn,
    "DEVICE": by_operator("prim::device"),
    "DTYPE": by_operator("prim::dtype"),
    "DIM": by_operator("aten::dim"),
    "NUM_TO_TENSOR": by_operator("prim::NumToTensor", "Scalar"),
    "TO_LIST": by_operator("prim::tolist", "", 3),
}
"""Handlers by opcode."""
