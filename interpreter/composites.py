"""Replaces composite operators in code by calls of their bodies, for an engine that has no kernel
for them."""

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
    """`code` in which each OP of a composite operator without a kernel is a CALL of its body.

    has_kernel: takes an operator's qualified name.  If nothing changes, `code` itself is returned.
    """
    return replace_operators(
        code, lambda ref: None if has_kernel(ref.qualified_name) else body_of(ref)
    )


def replace_operators(code: Code, body_of: Callable[[OperatorRef], Function | None]) -> Code:
    """`code` in which each OP is a CALL of the function that `body_of` returns for it, if any."""
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
    """The body of a composite operator as a function of the arguments that the call passes; None
    for other operators."""
    operator = table.find(ref.name, ref.overload)
    if operator is None or not operator.is_composite or is_lacking(ref):
        return None
    return taking(operator.compile_body(), ref, operator.schema)


def taking(body: Function, ref: OperatorRef, schema: Schema) -> Function:
    """A function of the arguments that a call passes: `body`, or one that calls it with defaults
    for the others."""
    given, defaults, outs = filled(ref, schema)
    return with_defaults(body, schema, given, defaults, outs) if defaults else body


def with_defaults(
    body: Function, schema: Schema, given: int, defaults: tuple[Any, ...], outs: int
) -> Function:
    """A function of `given` arguments that calls `body` with the defaults inserted, made once.  The
    defaults go before the last `outs` arguments."""
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
