"""Attacks on the verifier: code that would run off its stack, tables, registers or types."""

import pytest
from scriptlang.interpreter.code import Instruction, to_tuple
from scriptlang.interpreter.verify import verify

from scriptlang import types as T
from scriptlang.errors import ArchiveError
from scriptlang.records import replace
from tests.interpreter.assemble import assemble, function

POINT = T.ClassType("__torch__.Point")
POINT.add_attribute("x", T.INT)
CLASSES = {"__torch__.Point": POINT}


def lines(*body: str, head: str = "f(int x) -> int") -> str:
    return "\n".join([head, *body])


GOOD = {
    "a straight line": lines("STORE 1", "LOAD 1", "MOVE 1", "OP aten::add.int/2", "RET"),
    "a branch": lines("STORE 1", "LOADC True", "JF 3", "MOVE 1", "JMP 2", "LOADC 3", "RET"),
    "a loop": lines(
        "STORE 1",
        "LOADC 0",
        "LOADC 10",
        "LOADC True",
        "MOVE 1",
        "LOOP 7 3",
        "STOREN 2 2",
        "LOADC True",
        "MOVE 2",
        "MOVE 3",
        "OP aten::add.int/2",
        "JMP -6",
        "RET",
    ),
    "a raise": lines("STORE 1", "LOADC 'no'", "LOADC None", "RAISE_EXCEPTION"),
    "a list": lines(
        "STORE 1",
        "MOVE 1",
        "LOADC 2",
        "LIST_CONSTRUCT List[int] 2",
        "LIST_UNPACK 2",
        "OP aten::add.int/2",
        "RET",
    ),
    "an unknown operator": lines("STORE 1", "MOVE 1", "OP nosuch::operator.x/1", "RET"),
    "more arguments than an operator takes": lines("STORE 1", "OP aten::add.int/3", "RET"),
    "fewer arguments than an operator takes": lines("OP aten::add.int/1", "RET"),
    "results that nobody knows": lines("OP nosuch::operator.x/0", "STOREN 1 3", "MOVE 1", "RET"),
}


@pytest.mark.parametrize("name", GOOD)
def test_sound_code_passes(name):
    verify(assemble(GOOD[name]))


ATTACKS = {
    "takes from an empty stack": (lines("STORE 1", "DROP", "RET"), "1 values off a stack of 0"),
    "runs past its end": (lines("STORE 1", "LOAD 1"), "runs past its end"),
    "returns two values": (lines("STORE 1", "LOAD 1", "LOAD 1", "RET"), "2 values on the stack"),
    "returns nothing": (lines("STORE 1", "RET"), "0 values on the stack"),
    "reads an empty register": (lines("STORE 1", "LOAD 2", "RET"), "register 2 holds no value"),
    "reads a moved register": (
        lines("STORE 1", "MOVE 1", "DROP", "LOAD 1", "RET"),
        "register 1 holds no value",
    ),
    "reads a register of one branch": (
        lines("STORE 1", "LOADC True", "JF 4", "LOADC 2", "STORE 2", "JMP 1", "LOAD 2", "RET"),
        "register 2 holds no value",
    ),
    "register 0": (lines("STORE 0", "LOADC 1", "RET"), "register 0 of 9"),
    "register beyond the last": (lines("STORE 10", "LOADC 1", "RET"), "register 10 of 9"),
    "stores beyond the last register": (lines("STOREN 9 2", "LOADC 1", "RET"), "registers 9 to 10"),
    "jumps before the start": (lines("STORE 1", "JMP -2", "RET"), "jump to -1"),
    "jumps past the end": (lines("STORE 1", "JMP 9", "RET"), "jump to 10"),
    "branches meet with different depths": (
        lines("STORE 1", "LOADC True", "JF 2", "LOADC 1", "LOAD 1", "RET"),
        "on another way",
    ),
    "a loop that grows the stack": (lines("STORE 1", "LOADC 1", "JMP -1"), "on another way"),
    "a branch on an int": (lines("STORE 1", "LOAD 1", "JF 1", "LOAD 1", "RET"), "wanted bool"),
    "a loop over a string": (
        lines("STORE 1", "LOADC 0", "LOADC 'x'", "LOADC True", "LOOP 1 2", "LOADC 1", "RET"),
        "wanted int",
    ),
    "a loop without a condition": (
        lines("STORE 1", "LOADC 0", "LOADC 1", "LOOP 1 1", "LOADC 1", "RET"),
        "a count of 1, which is from 2",
    ),
    "an argument of another type": (
        lines("STORE 1", "LOADC 'x'", "LOAD 1", "OP aten::add.int/2", "RET"),
        "argument a of aten::add.int is str",
    ),
    "a result of another type": (lines("STORE 1", "LOADC 'x'", "RET"), "is str, wanted int"),
    "a dict of three values": (
        lines("STORE 1", "LOAD 1", "LOAD 1", "LOAD 1", "DICT_CONSTRUCT Dict[int, int] 3", "RET"),
        "a count of 3, which has to be even",
    ),
    "a list that is no list": (
        lines("STORE 1", "LOAD 1", "LIST_CONSTRUCT int 1", "RET"),
        "no list type",
    ),
    "a list of other values": (
        lines("STORE 1", "LOADC 'x'", "LIST_CONSTRUCT List[int] 1", "LIST_UNPACK 1", "RET"),
        "is str, wanted int",
    ),
    "an object of no class": (lines("STORE 1", "CREATE_OBJECT int", "RET"), "no class"),
    "a slot beyond the last": (
        lines("STORE 1", "CREATE_OBJECT __torch__.Point", "GET_ATTR 1", "RET"),
        "slot 1 of __torch__.Point, which has 1",
    ),
    "a negative slot": (
        lines("STORE 1", "CREATE_OBJECT __torch__.Point", "GET_ATTR -1", "RET"),
        "slot -1",
    ),
    "a slot of an int": (lines("STORE 1", "LOAD 1", "GET_ATTR 0", "RET"), "no object"),
    "stores another type in a slot": (
        lines(
            "STORE 1", "CREATE_OBJECT __torch__.Point", "LOADC 'x'", "SET_ATTR 0", "LOADC 1", "RET"
        ),
        "stores str",
    ),
    "an opcode of the profiling executor": (
        lines("STORE 1", "PROFILE_OP 0", "LOADC 1", "RET"),
        "cannot be run",
    ),
    "a negative count": (lines("STORE 1", "TUPLE_CONSTRUCT -1", "RET"), "a count of -1"),
    "a huge count": (lines("STORE 1", "LIST_UNPACK 1000000000", "RET"), "a count of 1000000000"),
}


BOTH = {
    "no registers to store into": lines("STOREN 1 0", "LOADC 1", "RET"),
    "an instance of no type": lines(
        "STORE 1", "LOAD 1", "ISINSTANCE int 0", "DROP", "LOADC 1", "RET"
    ),
    "a method of nothing": lines(
        "STORE 1", "LOAD 1", "INTERFACE_CALL 'm' 0", "DROP", "LOADC 1", "RET"
    ),
    "a format of nothing": lines("STORE 1", "FORMAT 0", "DROP", "LOADC 1", "RET"),
    "a fork with too few arguments": lines("STORE 1", "FORK 0 0", "DROP", "LOADC 1", "RET"),
    "a fused group with too many arguments": lines("STORE 1", "LOAD 1", "FUSED 0 2", "RET"),
    "the size of an int": lines("STORE 1", "LOAD 1", "DIM", "RET"),
    "the device of a string": lines("STORE 1", "LOADC 'x'", "DEVICE", "DROP", "LOADC 1", "RET"),
    "not of an int": lines("STORE 1", "LOAD 1", "__NOT__", "DROP", "LOADC 1", "RET"),
    "an element of an int": lines("STORE 1", "LOAD 1", "LOADC 0", "TUPLE_INDEX", "RET"),
    "unpacks a tuple as a list": lines(
        "STORE 1", "LOAD 1", "TUPLE_CONSTRUCT 1", "LIST_UNPACK 1", "RET"
    ),
    "raises an int": lines("STORE 1", "LOAD 1", "LOADC None", "RAISE_EXCEPTION"),
    "warns of an int": lines("STORE 1", "LOAD 1", "LOADC 2", "WARN", "LOADC 1", "RET"),
    "waits for an int": lines("STORE 1", "LOAD 1", "WAIT", "RET"),
    "a named tuple that is a list": lines(
        "STORE 1", "LOAD 1", "NAMED_TUPLE_CONSTRUCT List[int] 1", "DROP", "LOADC 1", "RET"
    ),
    "an attribute of an int": lines("STORE 1", "LOAD 1", "GET_ATTR 0", "RET"),
    "a slot above the largest count": lines(
        "STORE 1", "CREATE_OBJECT __torch__.Point", "GET_ATTR 2000000", "DROP", "LOADC 1", "RET"
    ),
    "a stack above the largest": lines(
        "STORE 1", "LOADC None", "UNCHECKED_CAST", "LIST_UNPACK 1048576", "LOADC 1", "RET"
    ),
    "many large lists": lines(
        "STORE 1",
        *[
            "LOADC None",
            "UNCHECKED_CAST",
            "LIST_UNPACK 1000000",
            "LIST_CONSTRUCT List[int] 1000000",
            "DROP",
        ]
        * 20,
        "LOADC 1",
        "RET",
    ),
}
"""What the table of opcodes says, and so both verifiers refuse."""

ACCEPTED_NATIVELY = {
    "reads an empty register": "a register is None until it is stored to",
    "reads a moved register": "as above",
    "reads a register of one branch": "as above",
    "a result of another type": "types inside the stack are checked when they are used",
    "a list of other values": "as above",
    "a slot beyond the last": "GET_ATTR asks the object how many slots it has",
    "stores another type in a slot": "SET_ATTR checks the value against the object's class",
}
"""Attacks that the C++ verifier lets pass, and what stands between them and harm."""


def assembled(text: str):
    functions = {"0": function(lines("STORE 1", "LOAD 1", "RET", head="g(int x) -> int"))}
    return assemble(text, functions=functions, classes=CLASSES)


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_is_refused(name):
    text, why = ATTACKS[name]
    with pytest.raises(ArchiveError) as e:
        verify(assembled(text))
    assert why in str(e.value)
    assert "f, instruction" in str(e.value)


@pytest.mark.parametrize("name", BOTH)
def test_what_the_table_says_is_checked(name):
    with pytest.raises(ArchiveError, match="f, instruction"):
        verify(assembled(BOTH[name]))


@pytest.mark.parametrize("name", [*ATTACKS, *BOTH])
def test_the_native_verifier_refuses_it_too(name):
    native = pytest.importorskip("scriptlang.interpreter._native")
    text = BOTH[name] if name in BOTH else ATTACKS[name][0]
    code = assembled(text)
    g = next(iter(code.functions), None)
    trees = [to_tuple(code, "f", {g: "g"} if g else {}, whole=True)]
    if g:
        trees.append(to_tuple(g.attributes["code"], "g", whole=True))

    def load():
        return native.Program(tuple(trees), CLASSES)

    if name in ACCEPTED_NATIVELY:
        load()
    else:
        with pytest.raises(native.NativeError, match="of f is (unsound|malformed)|not supported"):
            load()


@pytest.mark.parametrize("name", GOOD)
def test_the_native_verifier_takes_sound_code(name):
    native = pytest.importorskip("scriptlang.interpreter._native")
    native.Program((to_tuple(assembled(GOOD[name]), "f", whole=True),), CLASSES)


@pytest.mark.parametrize(
    "op, field",
    [
        ("LOADC", "constants"),
        ("OP", "operators"),
        ("CREATE_OBJECT", "types"),
        ("CALL", "functions"),
    ],
)
@pytest.mark.parametrize("index", [-1, 7])
def test_index_outside_of_a_table_is_refused(op, field, index):
    code = assemble(lines("STORE 1", "LOAD 1", "RET"))
    code.instructions.insert(1, Instruction(op, index, 0))
    with pytest.raises(ArchiveError, match=f"index {index} into 0 {field}"):
        verify(code)


def test_no_instructions():
    code = assemble("f() -> int")
    with pytest.raises(ArchiveError, match="no instructions"):
        verify(code)


def test_too_many_registers():
    code = replace(assemble(GOOD["a straight line"]), register_size=1 << 30)
    with pytest.raises(ArchiveError, match="registers"):
        verify(code)


def test_calls_are_checked_against_the_schema_of_the_callee():
    g = function(lines("STOREN 1 2", "LOAD 1", "RET", head="g(int x, str y) -> int"))
    with pytest.raises(ArchiveError, match="argument y of g is int"):
        verify(assemble(lines("STORE 1", "LOAD 1", "LOAD 1", "CALL g", "RET"), functions={"g": g}))


def test_many_branches_take_no_exponential_time():
    body = ["STORE 1"] + ["LOADC True", "JF 2", "JMP 1"] * 2000 + ["LOADC 1", "RET"]
    verify(assemble(lines(*body)))
