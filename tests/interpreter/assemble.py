"""Bytecode written by hand, for tests: one instruction a line, operands by what they name.

    f(int x) -> int
    STORE 1
    LOAD 1
    LOADC 5
    OP aten::add.int/2
    RET

Operands: registers, counts and jump distances are numbers; constants are Python literals; operators
are `name.overload/arguments`; types are annotations; functions are names in `functions`.
"""

from __future__ import annotations

import ast

from scriptlang.interpreter.code import Code, Instruction, OperatorRef, Place
from scriptlang.interpreter.opcodes import OPCODES, TYPE_OPERANDS

from scriptlang import type_text
from scriptlang import types as T
from scriptlang.ir import Function
from scriptlang.records import replace
from scriptlang.schema import parse_schema
from scriptlang.source import Source, Span


def assemble(
    text: str,
    functions: dict[str, Function] | None = None,
    classes: dict[str, T.Type] | None = None,
    registers: int = 9,
    constants: dict[str, object] | None = None,
) -> Code:
    """Code of the listing; the span of an instruction is its line."""
    head, *lines = [line.strip() for line in text.strip().splitlines()]
    name, _, rest = head.partition("(")
    schema = replace(parse_schema("f(" + rest), name=name)
    code = Code(schema.name, schema, register_size=registers)
    source = Source(text, f"{schema.name}.asm")
    resolve = (classes or {}).get
    for line in lines:
        op, _, rest = line.partition(" ")
        operands = rest.rsplit(" ", 1) if OPCODES[op].n else [rest] if rest else []
        kinds = [OPCODES[op].x, OPCODES[op].n]
        values = [
            operand(code, kind, o, functions or {}, resolve, constants or {})
            for kind, o in zip(kinds, operands)
        ]
        code.instructions.append(Instruction(op, *values))
        start = text.index(line)
        code.places.append(Place(Span(source, start, start + len(line))))
    return code


def operand(code: Code, kind: str, text: str, functions, resolve, constants) -> int:
    if kind == "operator":
        name, _, count = text.partition("/")
        name, _, overload = name.partition(".")
        return place(code.operators, OperatorRef(name, overload, int(count) if count else None))
    if kind in ("constant", "method"):
        value = constants[text] if text in constants else ast.literal_eval(text)
        code.constants.append(value)
        return len(code.constants) - 1
    if kind in TYPE_OPERANDS:
        code.types.append(type_text.parse_annotation(text, resolve))
        return len(code.types) - 1
    if kind == "function":
        return place(code.functions, functions[text])
    return int(text)


def place(items: list, item) -> int:
    if item not in items:
        items.append(item)
    return items.index(item)


def function(text: str, **options) -> Function:
    """A Function whose body is the listing."""
    code = assemble(text, **options)
    made = Function(code.name, code.schema)
    made.attributes["code"] = code
    return made
