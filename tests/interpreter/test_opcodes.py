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


def test_rows_are_of_known_words():
    for op in opcodes.TABLE:
        assert {op.x, op.n} <= set(opcodes.OPERANDS) and op.next in opcodes.NEXT, op
        for kinds in (op.pops, op.pushes):
            starred = [k[1:] for k in kinds if k[0] == "*"]
            assert {k for k in kinds if k[0] != "*"} <= set(opcodes.VALUES), op
            assert set(starred) <= set(opcodes.COUNTS) and len(starred) <= 1, op
            assert not starred or kinds[-1] == f"*{starred[0]}", op


def test_every_opcode_runs_in_one_place():
    places = [REGISTERS, set(handlers.HANDLERS), set(vm.JUMPS), set(vm.SWITCHES)]
    assert sum(map(len, places)) == len(RUNNING)
    assert set().union(*places) == RUNNING


def test_every_row_is_verified():
    """What the table does not say, an effect in the verifier does."""
    registers = {"LOAD", "MOVE", "DROPR", "STORE", "STOREN"}
    needed = {op.name for op in opcodes.TABLE if op.runs and any(
        k in ("*operator", "*function") or verify.TYPES.get(k, k) is None and k != "any"
        for k in (*op.pops, *op.pushes))}
    assert needed - registers <= set(verify.EFFECTS) <= RUNNING - registers
    assert set(opcodes.OPERANDS) - {""} == set(verify.OPERAND_CHECKS)
    assert set(opcodes.VALUES) == set(verify.TYPES)
    assert set(opcodes.COUNTS) - {"operator", "function"} == set(verify.NUMBERS)
