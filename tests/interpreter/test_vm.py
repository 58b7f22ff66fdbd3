"""Programs in bytecode on the Python engine: values, errors with their stacks, limits."""

import pytest
from scriptlang.interpreter.engine import engine

from scriptlang import types as T
from scriptlang.errors import LimitError, MissingOperatorError, RunError, script_stack
from scriptlang.limits import Limits
from tests.interpreter.assemble import function

SUM = """f(int n) -> int
    STORE 1
    LOADC 0
    MOVE 1
    LOADC True
    LOADC 0
    LOOP 7 3
    STOREN 2 2
    LOADC True
    MOVE 2
    MOVE 3
    OP aten::add.int/2
    JMP -6
    RET"""

FOREVER = """f(int n) -> int
    STORE 1
    LOADC 0
    LOADC 9223372036854775807
    LOADC True
    LOOP 4 2
    DROP
    LOADC True
    JMP -3
    LOADC 0
    RET"""


def run(f, *args, **options):
    return engine("python").run(f, args, **options)


def body(head: str, *lines: str, **options):
    return function("\n".join([head, *lines]), **options)


def test_a_loop_counts_and_carries():
    assert run(function(SUM), 5) == 0 + 1 + 2 + 3 + 4
    assert run(function(SUM), 0) == 0
    assert run(function(SUM), -3) == 0


def test_calls_share_the_stack_and_return_their_results():
    g = body("g(int x) -> int", "STORE 1", "LOAD 1", "LOADC 1", "OP aten::add.int/2", "RET")
    f = body(
        "f(int x) -> int",
        "STORE 1",
        "LOADC 100",
        "LOAD 1",
        "CALL g",
        "CALL g",
        "OP aten::add.int/2",
        "RET",
        functions={"g": g},
    )
    assert run(f, 1) == 103


def test_recursion():
    f = body(
        "f(int x) -> int",
        "STORE 1",
        "LOAD 1",
        "LOADC 1",
        "OP aten::lt.int/2",
        "JF 3",
        "LOADC 0",
        "RET",
        "LOAD 1",
        "LOADC -1",
        "OP aten::add.int/2",
        "CALL f",
        "LOAD 1",
        "OP aten::add.int/2",
        "RET",
        functions={"f": None},
    )
    f.attributes["code"].functions = [f]
    assert run(f, 10) == 55
    with pytest.raises(LimitError, match="nested 1000 deep"):
        run(f, 5000)


def test_interface_call_and_with_find_methods_by_name():
    cls = T.ClassType("__torch__.C")
    cls.add_attribute("n", T.INT)
    cls.methods["__enter__"] = body(
        "C.__enter__(Any self) -> int",
        "STORE 1",
        "LOAD 1",
        "LOADC 5",
        "SET_ATTR 0",
        "LOADC 7",
        "RET",
    )
    cls.methods["__exit__"] = body(
        "C.__exit__(Any self, Any a, Any b, Any c) -> None",
        "STOREN 1 4",
        "LOAD 1",
        "LOADC 6",
        "SET_ATTR 0",
        "LOADC None",
        "RET",
    )
    cls.methods["get"] = body("C.get(Any self) -> int", "STORE 1", "LOAD 1", "GET_ATTR 0", "RET")
    f = body(
        "f() -> (int, int, int)",
        "CREATE_OBJECT C",
        "STORE 1",
        "LOAD 1",
        "ENTER",
        "LOAD 1",
        "INTERFACE_CALL 'get' 1",
        "EXIT",
        "DROP",
        "LOAD 1",
        "INTERFACE_CALL 'get' 1",
        "TUPLE_CONSTRUCT 3",
        "RET",
        classes={"C": cls},
    )
    assert run(f) == (7, 5, 6)
    f = body("f() -> int", "CREATE_OBJECT C", "INTERFACE_CALL 'put' 1", "RET", classes={"C": cls})
    with pytest.raises(RunError, match="has no method 'put'"):
        run(f)


def test_values():
    t = T.TupleType((T.INT, T.STR), "__torch__.P", ("a", "b"))
    cases = {
        ("LOADC 1", "LOADC 2", "LIST_CONSTRUCT List[int] 2"): [1, 2],
        ("LOADC 'a'", "LOADC 2", "DICT_CONSTRUCT Dict[str, int] 2"): {"a": 2},
        ("LOADC 1", "LOADC 'x'", "NAMED_TUPLE_CONSTRUCT P 2"): t.make((1, "x")),
        ("LOADC (1, 2, 3, 4)", "TUPLE_SLICE 1 2"): (2, 3),
        ("LOADC (1, 2, 3, 4)", "LOADC -1", "TUPLE_INDEX"): 4,
        ("LOADC [4, 5]", "LIST_UNPACK 2", "TUPLE_CONSTRUCT 2"): (4, 5),
        ("LOADC {'a': 3}", "LOADC 'a'", "DICT_INDEX"): 3,
        ("LOADC None", "LOADC None", "__IS__"): True,
        ("LOADC 1", "LOADC None", "__ISNOT__"): True,
        ("LOADC True", "__NOT__"): False,
        ("LOADC 5", "ISINSTANCE int 1"): True,
        ("LOADC True", "ISINSTANCE int 1"): False,
        ("LOADC [1, 2]", "ISINSTANCE List[str] 1"): False,
        ("LOADC 5", "UNCHECKED_CAST"): 5,
    }
    for lines, value in cases.items():
        result = run(body("f() -> Any", *lines, "RET", classes={"P": t}))
        assert result == value and type(result) is type(value), lines


RAISE = """f(int n) -> int
    STORE 1
    LOADC 'went wrong'
    LOADC {name}
    RAISE_EXCEPTION"""


def test_an_exception_is_raised_as_its_own_class_with_the_stack():
    g = function(RAISE.format(name="'builtins.ValueError'").replace("f(", "g("))
    f = body("f(int n) -> int", "STORE 1", "LOAD 1", "CALL g", "RET", functions={"g": g})
    with pytest.raises(ValueError, match="went wrong") as e:
        run(f, 1)
    assert [(s.function, s.span.text.strip()) for s in script_stack(e.value)] == [
        ("f", "CALL g"),
        ("g", "RAISE_EXCEPTION"),
    ]


def test_an_exception_of_the_program_is_a_run_error_of_its_name():
    with pytest.raises(RunError, match="went wrong") as e:
        run(function(RAISE.format(name="'__torch__.model.TooLoud'")), 1)
    assert type(e.value).__name__ == "TooLoud"
    assert "RAISE_EXCEPTION" in str(script_stack(e.value)[-1])


@pytest.mark.parametrize(
    "name",
    [
        "SystemExit",
        "KeyboardInterrupt",
        "GeneratorExit",
        "open",
        "UnicodeDecodeError",
        "BaseException",
    ],
)
def test_a_program_cannot_raise_what_ends_python(name):
    with pytest.raises(RunError, match="went wrong"):
        run(function(RAISE.format(name=repr(f"builtins.{name}"))), 1)


def test_a_missing_operator_is_an_error_only_when_reached():
    f = body(
        "f(bool b) -> int",
        "STORE 1",
        "LOAD 1",
        "JF 3",
        "OP nosuch::operator/0",
        "RET",
        "LOADC 4",
        "RET",
    )
    assert run(f, False) == 4
    assert engine("python").missing(f) == {"nosuch::operator": 1}
    with pytest.raises(MissingOperatorError, match="nosuch::operator") as e:
        run(f, True)
    assert e.value.stack[-1].span.text.strip() == "OP nosuch::operator/0"


def test_an_error_of_an_operator_has_the_stack():
    f = body("f(int[] l) -> int", "STORE 1", "LOAD 1", "LOADC 7", "OP aten::__getitem__.t/2", "RET")
    with pytest.raises(IndexError) as e:
        run(f, [1, 2])
    assert script_stack(e.value)[0].function == "f"


def test_limit_of_instructions():
    assert run(function(SUM), 10, limits=Limits(instructions=6 + 7 * 11)) == 45
    with pytest.raises(LimitError, match="ran 50 instructions"):
        run(function(SUM), 10, limits=Limits(instructions=50))


def test_limit_of_time():
    with pytest.raises(LimitError, match="0.05 s"):
        run(function(FOREVER), 1, limits=Limits(seconds=0.05))


def test_a_failed_run_leaves_nothing_behind():
    f = function(SUM)
    with pytest.raises(LimitError):
        run(f, 10, limits=Limits(instructions=20))
    assert run(f, 4) == 6
