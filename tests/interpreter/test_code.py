"""The tuple layout of code, both ways, and its listing."""

import pytest
from scriptlang.interpreter.code import MalformedCode, from_tuple, listing, to_tuple
from scriptlang.interpreter.engine import engine
from scriptlang.serialization.bytecode import (
    PROGRAM,
    RECORD,
    TypeReader,
    bytecode_records,
    read_functions,
)

from scriptlang import type_text
from scriptlang import types as T
from scriptlang.errors import ArchiveError
from tests.interpreter.assemble import assemble, function

TEXT = """f(int x, int y=3) -> int
    STOREN 1 2
    MOVE 1
    LOADC 5
    OP aten::add.int/2
    OPN prim::Print 1
    RET"""

TREE = (
    "f",
    (
        (
            "instructions",
            (
                ("STOREN", 1, 2),
                ("MOVE", 1, 0),
                ("LOADC", 0, 0),
                ("OP", 0, 0),
                ("OPN", 1, 1),
                ("RET", 0, 0),
            ),
        ),
        ("operators", (("aten::add", "int", 2), ("prim::Print", "", -1))),
        ("constants", (5,)),
        ("types", ()),
        ("register_size", 9),
    ),
    (
        (
            "arguments",
            (
                (("name", "x"), ("type", "int"), ("default_value", None)),
                (("name", "y"), ("type", "int"), ("default_value", 3)),
            ),
        ),
        ("returns", ((("name", ""), ("type", "int"), ("default_value", None)),)),
    ),
)


def read(tree):
    return from_tuple(tree, type_text.parse_annotation, {}.__getitem__)


def test_the_layout_is_that_of_pytorch():
    assert to_tuple(assemble(TEXT)) == TREE


def test_reading_gives_what_was_written():
    assert to_tuple(read(TREE)) == TREE
    assert listing(read(TREE)) == listing(assemble(TEXT))


def test_old_layouts_have_no_argument_counts_and_no_schema():
    operators = (("aten::add", "int"), ("prim::Print", ""))
    old = (TREE[0], tuple((k, operators if k == "operators" else v) for k, v in TREE[1]))
    code = read(old)
    assert [o.num_args for o in code.operators] == [None, None]
    assert [a.name for a in code.schema.arguments] == ["arg0", "arg1"]


def test_listing():
    assert listing(assemble(TEXT)).splitlines()[1:4] == [
        "    0 STOREN r1 2",
        "    1 MOVE   r1",
        "    2 LOADC  5",
    ]


def changed(field, value):
    return (TREE[0], tuple((k, value if k == field else v) for k, v in TREE[1]), TREE[2])


MALFORMED = {
    "no tuple": 5,
    "too short": ("f",),
    "no name": (5, (), ()),
    "a table of numbers": ("f", (1, 2)),
    "no instructions": changed("instructions", None),
    "an instruction of two": changed("instructions", (("RET", 0),)),
    "an operand that is a string": changed("instructions", (("RET", "a", 0),)),
    "an unknown opcode": changed("instructions", (("HALT", 0, 0),)),
    "an opcode that is no string": changed("instructions", ((["RET"], 0, 0),)),
    "an operator without overload": changed("operators", (("aten::add",),)),
    "an operator with a text count": changed("operators", (("aten::add", "int", "2"),)),
    "a type that is a number": changed("types", (5,)),
    "registers that are no number": changed("register_size", "9"),
    "fewer than no registers": changed("register_size", -1),
    "an argument without a type": (
        *TREE[:2],
        (("arguments", ((("name", "x"),),)), ("returns", ())),
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_tree(name):
    with pytest.raises(MalformedCode):
        read(MALFORMED[name])
    with pytest.raises(ArchiveError, match="bytecode.pkl"):
        read_functions((8, MALFORMED[name]), lambda name: None)


@pytest.mark.parametrize(
    "tree", [5, (), ("x",), (3, TREE), (10, TREE), (True, TREE), (8, TREE, TREE)]
)
def test_malformed_record(tree):
    with pytest.raises(ArchiveError):
        read_functions(tree, lambda name: None)


def test_functions_of_a_record_call_each_other():
    g = function("g(int x) -> int\n STORE 1\n LOAD 1\n LOADC 2\n OP aten::add.int/2\n RET")
    f = function("f(int x) -> int\n STORE 1\n MOVE 1\n CALL g\n CALL g\n RET", functions={"g": g})
    records = bytecode_records([f])
    assert [entry[0] for entry in records[RECORD][1:]] == ["g"]  # lite has no calls
    tree = records[PROGRAM]
    assert [entry[0] for entry in tree[1:]] == ["f", "g"]
    assert set(bytecode_records([g])) == {RECORD}
    functions = read_functions(tree, lambda name: None)
    assert engine("python").run(functions["f"], [1]) == 5
    with pytest.raises(ArchiveError, match="f calls g, which is not in the record"):
        read_functions((8, tree[1]), lambda name: None)


def test_named_tuples_are_spelled_out():
    t = T.TupleType((T.INT, T.DictType(T.STR, T.TENSOR)), "__torch__.NT", ("a", "b"))
    reader = TypeReader(lambda name: None)
    text = "__torch__.NT[NamedTuple, [[a, int],[b, Dict[str, Tensor]]]]"
    assert reader.read(text) == t
    assert reader.read("List[__torch__.NT]") == T.ListType(t)


@pytest.mark.parametrize(
    "text",
    [
        "X[NamedTuple, [[a, int]",
        "X[NamedTuple, [[a int]]]",
        "[NamedTuple, [[a, int]]]",
        "List[",
        "X[NamedTuple, [[a, " + "List[" * 100 + "]" * 100 + "]]]",
        "Nonsense",
    ],
)
def test_types_that_are_none(text):
    with pytest.raises(type_text.TypeSyntaxError):
        TypeReader(lambda name: None).read(text)
