"""One operator as a program of its own, for the native engine."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Sequence

from scriptlang.interpreter.code import Code, Instruction, OperatorRef
from scriptlang.interpreter.engine import engine
from scriptlang.interpreter.native_program import has_kernel
from scriptlang.interpreter.prepare import CODE

from scriptlang import types as T
from scriptlang.ir import Function
from scriptlang.ops import table
from scriptlang.ops.calling import dispatch
from scriptlang.ops.calling.kernels import numpy_only
from scriptlang.ops.families import random
from scriptlang.ops.table import Operator
from scriptlang.records import replace
from scriptlang.schema import Argument
from scriptlang.type_variables import substitute


class Chosen(Exception):
    """The operator and the arguments that an eager call comes to."""


def chosen(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Operator, list]:
    """(operator, all its arguments) of a call; `name` is `conv2d`, or `aten::add.int`."""
    if "::" in name:
        name, _, overload = name.partition(".")
        return table.find(name, overload), list(args)

    def choose(operator, values):
        raise Chosen(operator, list(values))

    run, dispatch.run = dispatch.run, choose
    try:
        with numpy_only():
            dispatch.call(f"aten::{name}", args, kwargs)
    except Chosen as choice:
        return choice.args
    finally:
        dispatch.run = run
    raise AssertionError(f"{name} was not called")


def is_native(operator: Operator) -> bool:
    return has_kernel(operator.qualified_name)


def run_natively(operator: Operator, args: Sequence[Any], seed: int = 0) -> Any:
    """What the native kernel gives.  Bools that stand for numbers are constants of the program:
    a function of numbers takes none."""
    constants = [
        i
        for i, (a, value) in enumerate(zip(operator.schema.arguments, args))
        if isinstance(value, bool) and a.type.annotation == "number"
    ]
    given = [value for i, value in enumerate(args) if i not in constants]
    random.manual_seed(seed)
    function = program(operator, tuple((i, args[i]) for i in constants))
    return engine("native").run(function, given)


def typed(argument: Argument, variables: tuple[tuple[str, T.Type], ...]) -> Argument:
    return (
        replace(argument, type=substitute(argument.type, dict(variables)))
        if variables
        else argument
    )


@lru_cache(maxsize=None)
def program(
    operator: Operator,
    constants: tuple[tuple[int, bool], ...],
    variables: tuple[tuple[str, T.Type], ...] = (),
) -> Function:
    """A function that calls one operator; arguments with an index in `constants` are not its.
    variables: what type variables of the schema are."""
    schema, fixed = operator.schema, dict(constants)
    taken = tuple(
        typed(replace(a, kwarg_only=False), variables)
        for i, a in enumerate(schema.arguments)
        if i not in fixed
    )
    returns = tuple(typed(r, variables) for r in schema.returns)
    if not returns:
        returns = (Argument("", T.NONE),)
    if len(returns) > 1:
        returns = (
            replace(
                returns[0], name="", alias=None, type=T.TupleType(tuple(r.type for r in returns))
            ),
        )
    code = Code(
        "f",
        replace(schema, name="f", overload="", arguments=taken, returns=returns),
        register_size=len(taken),
        register_types=[a.type for a in taken],
        constants=[None, *fixed.values()],
        operators=[OperatorRef(operator.name, operator.overload, len(schema.arguments))],
    )
    registers = iter(range(1, len(taken) + 1))
    loads = [
        Instruction("LOADC", 1 + list(fixed).index(i))
        if i in fixed
        else Instruction("MOVE", next(registers))
        for i in range(len(schema.arguments))
    ]
    code.instructions = [
        *([Instruction("STOREN", 1, len(taken))] if taken else []),
        *loads,
        Instruction("OP", 0),
        *([Instruction("TUPLE_CONSTRUCT", len(schema.returns))] if len(schema.returns) > 1 else []),
        *([] if schema.returns else [Instruction("LOADC", 0)]),
        Instruction("RET"),
    ]
    function = Function("f", code.schema)
    function.attributes[CODE] = code
    return function
