"""The opcode table, and that everything made from it agrees."""

import pathlib
import re
from collections import Counter

from scriptlang.interpreter import generate, handlers, opcodes, verify, vm

REGISTERS = {"LOAD", "MOVE", "LOADC", "OP", "OPN", "STORE", "STOREN", "DROPR"}
"""Opcodes that the interpreter's loop does itself."""

ROOT = pathlib.Path(__file__).parents[2]

RUNNING = {op.name for op in opcodes.TABLE if op.runs}


def test_the_generated_file_is_not_stale():
    committed = ROOT / "cpp_loader" / "src" / "program" / "opcodes.def"
    assert committed.read_text() == generate.text(), "run python -m scriptlang.interpreter.generate"


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
    places = Counter([*REGISTERS, *handlers.HANDLERS, *vm.JUMPS, *vm.SWITCHES])
    missing = sorted(RUNNING - set(places))
    assert not missing, (
        f"the Python engine does not run {missing}: interpreter/handlers.py has HANDLERS, "
        "interpreter/vm.py has JUMPS and SWITCHES"
    )
    assert set(places.values()) == {1} and set(places) == RUNNING, places - Counter(RUNNING)


def test_every_opcode_comes_from_the_compiler():
    """A row without a node that becomes the opcode is never run."""
    files = "compiler.py", "layout.py"
    text = "".join((ROOT / "interpreter" / name).read_text() for name in files)
    made = set(re.findall(r"\w+", text)) | {"ENTER", "EXIT"}  # `with` is compiled to calls
    assert RUNNING <= made, (
        f"no node becomes {sorted(RUNNING - made)}: interpreter/compiler.py says which does, "
        "for an opcode without operands in PROMOTED"
    )


ONLY_IN_SEEDS = set(
    "OPN INTERFACE_CALL NAMED_TUPLE_CONSTRUCT TUPLE_SLICE UNCHECKED_CAST FORMAT DEVICE TO_LIST"
    " NUM_TO_TENSOR IS_CUDA WARN ENTER EXIT FUSED".split()
)
"""Opcodes that fuzzers meet in archives and programs alone."""


def test_the_fuzzers_write_every_opcode():
    written = set(re.findall(r"\w+", (ROOT / "cpp_loader/fuzz/mutations.cpp").read_text()))
    missing = sorted(RUNNING - written - ONLY_IN_SEEDS)
    assert not missing, (
        f"cpp_loader/fuzz/mutations.cpp has no snippet with {missing}; a line of "
        "cpp_loader/fuzz/seed_programs.py should use it, too"
    )
    assert not ONLY_IN_SEEDS & written


IN_PROGRAMS = set("UN_INITIALIZED DTYPE TO_LIST NUM_TO_TENSOR IS_CUDA AWAITABLE".split())
"""Opcodes that tests meet in compiled programs alone."""


def test_every_opcode_is_named_in_a_test():
    folder = pathlib.Path(__file__).parent
    text = "".join(p.read_text() for p in folder.glob("*.py") if p != pathlib.Path(__file__))
    untested = RUNNING - set(re.findall(r"\w+", text)) - IN_PROGRAMS
    assert not untested, f"tests/interpreter/test_vm.py has no case for {sorted(untested)}"


def test_every_row_is_verified():
    """What the table does not say, an effect in the verifier does."""
    registers = {"LOAD", "MOVE", "DROPR", "STORE", "STOREN"}
    needed = {
        op.name
        for op in opcodes.TABLE
        if op.runs
        and any(
            k in ("*operator", "*function") or verify.TYPES.get(k, k) is None and k != "any"
            for k in (*op.pops, *op.pushes)
        )
    }
    assert needed - registers <= set(verify.EFFECTS) <= RUNNING - registers
    assert set(opcodes.OPERANDS) - {""} == set(verify.OPERAND_CHECKS)
    assert set(opcodes.VALUES) == set(verify.TYPES)
    assert set(opcodes.COUNTS) - {"operator", "function"} == set(verify.NUMBERS)


LITE_RUNS = set(
    "DEVICE DICT_CONSTRUCT DICT_INDEX DIM DROP DROPR DTYPE FORMAT GET_ATTR INTERFACE_CALL IS_CUDA"
    " ISINSTANCE JF JMP LIST_CONSTRUCT LIST_UNPACK LOAD LOADC LOOP MOVE NAMED_TUPLE_CONSTRUCT"
    " NUM_TO_TENSOR OP OPN RAISE_EXCEPTION RET SET_ATTR STORE STOREN TO_LIST TUPLE_CONSTRUCT"
    " TUPLE_INDEX TUPLE_SLICE UN_INITIALIZED WARN CREATE_OBJECT __IS__ __ISNOT__ __NOT__".split()
)
"""Opcodes that PyTorch's lite interpreter runs."""


def test_it_is_decided_of_every_opcode_whether_the_lite_interpreter_runs_it():
    from scriptlang.serialization.bytecode import LITE_LACKS

    decided = LITE_RUNS | set(LITE_LACKS)
    assert RUNNING <= decided, (
        f"{sorted(RUNNING - decided)}: if PyTorch's lite interpreter runs it, it belongs into "
        "LITE_RUNS of this file, else into LITE_LACKS of serialization/bytecode.py"
    )
    assert decided <= RUNNING and not LITE_RUNS & set(LITE_LACKS)


def test_every_plain_step_of_the_native_machine_has_a_case():
    """`plain_step` switches over all steps, so the C++ compiler cannot tell."""
    sources = ROOT / "cpp_loader" / "src"
    macro = re.search(
        r"#define SL_PLAIN_STEPS\(X\)((?:.*\\\n)*.*)\n", (sources / "lower" / "code.h").read_text()
    )[1]
    cases = (sources / "machine" / "plain_steps.cpp").read_text()
    steps = re.findall(r"X\((\w+)\)", macro)
    missing = [s for s in steps if f"case StepOp::{s}:" not in cases]
    assert steps and not missing, f"cpp_loader/src/machine/plain_steps.cpp has no case {missing}"
