"""The opcode table, and that everything made from it agrees."""

import pathlib

from scriptlang.interpreter import generate, handlers, opcodes, verify, vm

REGISTERS = {"LOAD", "MOVE", "LOADC", "OP", "OPN", "STORE", "STOREN", "DROPR"}
"""Opcodes that the interpreter's loop does itself."""

RUNNING = {op.name for op in opcodes.TABLE if op.runs}


def test_the_generated_file_is_not_stale():
    committed = pathlib.Path(__file__).parents[2] / "cpp_loader" / "src" / "program" / "opcodes.def"
    assert committed.read_text() == generate.text(), \
        "run python -m scriptlang.interpreter.generate"


def test_numbers_are_those_of_the_rows():
    assert [op.number for op in opcodes.TABLE] == list(range(len(opcodes.TABLE)))


def test_operand_kinds_are_explained():
    assert {kind for op in opcodes.TABLE for kind in (op.x, op.n)} <= set(opcodes.OPERANDS)


def test_every_opcode_runs_in_one_place():
    places = [REGISTERS, set(handlers.HANDLERS), set(vm.JUMPS), set(vm.SWITCHES)]
    assert sum(map(len, places)) == len(RUNNING)
    assert set().union(*places) == RUNNING


def test_every_opcode_is_verified():
    flow = {"RET", "RAISE_EXCEPTION", "JF", "JMP", "LOOP", "LOAD", "MOVE", "DROPR", "STORE",
            "STOREN"}
    assert flow | set(verify.EFFECTS) == RUNNING
    assert {kind for op in opcodes.TABLE for kind in (op.x, op.n)} - {""} \
        == set(verify.OPERAND_CHECKS)
