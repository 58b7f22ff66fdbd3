"""Composites as functions of a program, for an engine that has no kernel of its own for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..building import kept
from ..ir import Function
from ..ops import table
from ..records import replace
from ..schema import Schema
from .code import Code, Instruction, OperatorRef
from .link import filled, is_lacking
from .prepare import CODE


def link_composites(code: Code, has_kernel: Callable[[str], bool]) -> Code:
    """`code` with CALL of a composite's compiled body for each OP that `has_kernel` denies.

    The code is returned as it is when nothing changes.
    """
    return replace_operators(
        code, lambda ref: None if has_kernel(ref.qualified_name) else body_of(ref)
    )


def replace_operators(code: Code, body_of: Callable[[OperatorRef], Function | None]) -> Code:
    """`code` with CALL of a function for each OP that `body_of` gives one for."""
    bodies = {i: body for i, ref in enumerate(code.operators) if (body := body_of(ref)) is not None}
    if not bodies:
        return code
    functions = list(code.functions)
    called = {}
    for i, body in bodies.items():
        if body not in functions:
            functions.append(body)
        called[i] = functions.index(body)
    instructions = [
        Instruction("CALL", called[i.x]) if i.op == "OP" and i.x in called else i
        for i in code.instructions
    ]
    return replace(code, instructions=instructions, functions=functions)


def body_of(ref: OperatorRef) -> Function | None:
    """The function that a call of a composite runs, taking the arguments that the call gives."""
    operator = table.find(ref.name, ref.overload)
    if operator is None or not operator.is_composite or is_lacking(ref):
        return None
    return taking(operator.compile_body(), ref, operator.schema)


def taking(body: Function, ref: OperatorRef, schema: Schema) -> Function:
    """`body`, or a function that calls it, which takes the arguments that a call gives."""
    given, defaults, outs = filled(ref, schema)
    return with_defaults(body, schema, given, defaults, outs) if defaults else body


def with_defaults(
    body: Function, schema: Schema, given: int, defaults: tuple[Any, ...], outs: int
) -> Function:
    """A function of the `given` arguments that calls `body` with the defaults in their place."""
    made = body.attributes.setdefault("with_defaults", {})
    return kept(made, given, lambda: calling(body, schema, given, defaults, outs))


def calling(
    body: Function, schema: Schema, given: int, defaults: tuple[Any, ...], outs: int
) -> Function:
    first = given - outs
    taken = schema.arguments[:first] + schema.arguments[len(schema.arguments) - outs :]
    name = f"{body.name}/{given}"
    code = Code(
        name,
        replace(schema, name=name, overload="", arguments=taken),
        register_size=given,
        register_types=[a.type for a in taken],
        constants=list(defaults),
        functions=[body],
    )
    code.instructions = [
        *([Instruction("STOREN", 1, given)] if given else []),
        *(Instruction("MOVE", r) for r in range(1, first + 1)),
        *(Instruction("LOADC", c) for c in range(len(defaults))),
        *(Instruction("MOVE", r) for r in range(first + 1, given + 1)),
        Instruction("CALL", 0),
        Instruction("RET"),
    ]
    function = Function(name, code.schema)
    function.attributes[CODE] = code
    return function
