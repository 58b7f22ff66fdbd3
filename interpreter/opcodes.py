"""The instruction set: the table of opcodes.

Names and numbers are those of PyTorch's interpreter; only FUSED is an addition.  An instruction is
(opcode, x, n).  A row of the table states what the operands are, which values the instruction pops
and pushes, and what runs next.  Both verifiers check programs by these rows, and tests check that
both engines have every opcode.  CONTRIBUTING.md has a recipe for adding one.
"""

from __future__ import annotations

from ..records import record

OPERANDS = {
    "": "unused",
    "operator": "index into the operators",
    "register": "a register, from 1",
    "registers": "the first of n registers, from 1",
    "constant": "index into the constants",
    "method": "index into the constants, of a string: the name of a method",
    "type": "index into the types",
    "list type": "index into the types, of a list",
    "dict type": "index into the types, of a dict",
    "named tuple type": "index into the types, of a named tuple",
    "class": "index into the types, of a class",
    "types": "index into the types, of the first of n",
    "function": "index into the functions",
    "jump": "distance of a jump, relative to this instruction",
    "slot": "a slot of the object's class, from 0",
    "count": "a count, from 0",
    "count from 1": "a count, from 1",
    "count from 2": "a count, from 2",
    "even count": "a count, even",
    "fields": "how many fields the named tuple x has",
    "arguments": "how many arguments the function x takes",
}
"""Kinds of operands."""

TYPE_OPERANDS = ("type", "types", "list type", "dict type", "named tuple type", "class")
"""The kinds of operands that are indices into the types."""

VALUES = (
    "any",
    "bool",
    "int",
    "number",
    "str",
    "Tensor",
    "Device",
    "tuple",
    "list",
    "dict",
    "object",
    "future",
)
"""Kinds of values that rows name."""

COUNTS = ("n", "x", "n-1", "n-2", "x-1", "operator", "function")
"""The counts that may follow a star in a row: computed from the operands, or as many values as the
operator or function x takes or returns."""

NEXT = ("next", "jump", "branch", "loop", "return", "raise")
"""What runs after an instruction: the next one; the target of the jump; one of both ("branch"); one
of both, with the values of a loop on the stack ("loop"); nothing in this function, since it returns
or raises."""

DOES = {
    "acts": "it may call, write to memory, raise an error or end the function",
    "gives": "it only makes values of those it takes; such instructions may be reordered",
    "moves": "it only moves values between the stack and registers, or jumps",
}
"""Effects of instructions, by which passes of the native engine decide what they may move or
remove."""

MAX_STACK = 1 << 20
"""Values on the stack of one function, and the largest count that an operand may be."""
MAX_REGISTERS = 1 << 20
MAX_CODE = 1 << 24
"""Instructions of one function."""
MAX_MOVED = 1 << 24
"""The sum, over the instructions of one function, of the values by which each changes the height of
the stack beyond FREE_MOVES."""
FREE_MOVES = 8


@record(frozen=True)
class Opcode:
    """One kind of instruction.

    x, n: the kinds of the operands (OPERANDS).
    pops, pushes: the kinds of the values that it pops and pushes, the last one on top (VALUES).  A
    final "*n" stands for n values of any kind (COUNTS).
    next: what runs after it (NEXT).  does: its effect (DOES).
    runs: False for opcodes that only PyTorch's profiling executor makes.  The verifier refuses
    them; they are in the table so that its error can explain why.
    """

    name: str
    number: int
    x: str
    n: str
    pops: tuple[str, ...]
    pushes: tuple[str, ...]
    meaning: str
    next: str = "next"
    does: str = "acts"
    runs: bool = True


def row(
    name: str,
    number: int,
    operands: str,
    effect: str,
    meaning: str,
    next: str = "next",
    does: str = "acts",
    runs: bool = True,
) -> Opcode:
    """An Opcode from the texts "x, n" of its operands and "pops -> pushes" of its effect."""
    x, _, n = operands.partition(", ")
    pops, pushes = (tuple(filter(None, side.strip().split(", "))) for side in effect.split("->"))
    return Opcode(name, number, x, n, pops, pushes, meaning, next, does, runs)


TABLE: tuple[Opcode, ...] = (
    row("OP", 0, "operator", "*operator -> *operator", "call operator x"),
    row("OPN", 1, "operator, count", "*n -> *operator", "call vararg operator x with n arguments"),
    row("LOAD", 2, "register", "-> any", "push register x", does="moves"),
    row("MOVE", 3, "register", "-> any", "push register x and clear it", does="moves"),
    row(
        "STOREN",
        4,
        "registers, count from 1",
        "*n ->",
        "pop n values into registers x, x+1, ...",
        does="moves",
    ),
    row("STORE", 5, "register", "any ->", "pop into register x", does="moves"),
    row("DROP", 6, "", "any ->", "pop and forget", does="moves"),
    row("DROPR", 7, "register", "->", "clear register x", does="moves"),
    row("LOADC", 8, "constant", "-> any", "push constant x", does="moves"),
    row(
        "JF",
        9,
        "jump",
        "bool ->",
        "pop a bool; when false, go x instructions on",
        "branch",
        does="moves",
    ),
    row(
        "JMP", 10, "jump", "->", "go x instructions on (back, when negative)", "jump", does="moves"
    ),
    row(
        "LOOP",
        11,
        "jump, count from 2",
        "int, int, bool, *n-2 -> *n-2",
        "with (trip, max, cond, n-2 carried values): go on below with "
        "(trip+1, max, trip, carried), or leave the carried values and go x on",
        "loop",
        does="moves",
    ),
    row("RET", 12, "", "->", "return; the stack holds the results", "return"),
    row("WAIT", 13, "", "future -> any", "the result of a future; raise what its call raised"),
    row("CALL", 14, "function", "*function -> *function", "call function x"),
    row("GUARD", 15, "type", "-> any", "check a profiled type", runs=False),
    row("TYPECHECK", 16, "type, count", "-> any", "check n profiled types", runs=False),
    row("FAIL_GUARD", 17, "type", "->", "a guard that always fails", runs=False),
    row("PROFILE_OP", 18, "function", "->", "record a profile", runs=False),
    row(
        "TAIL_CALL",
        19,
        "function",
        "*function -> *function",
        "replace the frame by function x",
        runs=False,
    ),
    row(
        "INTERFACE_CALL",
        20,
        "method, count from 1",
        "any, *n-1 -> any",
        "call the method named by constant x of the first of n arguments",
    ),
    row("GET_ATTR", 21, "slot", "object -> any", "slot x of an object", does="gives"),
    row("SET_ATTR", 22, "slot", "object, any ->", "with (object, value): set slot x"),
    row("LIST_UNPACK", 23, "count", "list -> *x", "push the x elements of a list", does="gives"),
    row("TUPLE_CONSTRUCT", 24, "count", "*x -> tuple", "a tuple of x values", does="gives"),
    row(
        "NAMED_TUPLE_CONSTRUCT",
        25,
        "named tuple type, fields",
        "*n -> tuple",
        "a tuple of type x of n values",
        does="gives",
    ),
    row(
        "LIST_CONSTRUCT",
        26,
        "list type, count",
        "*n -> list",
        "a list of type x of n values",
        does="gives",
    ),
    row(
        "DICT_CONSTRUCT",
        27,
        "dict type, even count",
        "*n -> dict",
        "a dict of type x of n values: key, value, key, value, ...",
        does="gives",
    ),
    row("CREATE_OBJECT", 28, "class", "-> object", "an object of class x with empty slots"),
    row(
        "ISINSTANCE",
        29,
        "types, count from 1",
        "any -> bool",
        "whether a value is of one of types x, ..., x+n-1",
        does="gives",
    ),
    row(
        "TUPLE_SLICE",
        30,
        "count, count",
        "tuple -> tuple",
        "elements x up to x+n of a tuple",
        does="gives",
    ),
    row(
        "TUPLE_INDEX", 31, "", "tuple, int -> any", "with (tuple, int): that element", does="gives"
    ),
    row(
        "RAISE_EXCEPTION",
        32,
        "",
        "str, any ->",
        "with (message, qualified class name or None): raise it",
        "raise",
    ),
    row("DICT_INDEX", 33, "", "any, any -> any", "with (dict, key): the value", does="gives"),
    row(
        "UNCHECKED_CAST",
        34,
        "",
        "any -> any",
        "the value, known to be of a narrower type",
        does="gives",
    ),
    row(
        "__IS__", 35, "", "any, any -> bool", "whether two values are the same object", does="gives"
    ),
    row("UN_INITIALIZED", 36, "", "-> any", "a value that is never looked at", does="gives"),
    row(
        "__ISNOT__",
        37,
        "",
        "any, any -> bool",
        "whether two values are different objects",
        does="gives",
    ),
    row(
        "FORMAT",
        38,
        "count from 1",
        "str, *x-1 -> str",
        "str.format of the first of x values with the others",
        does="gives",
    ),
    row("DEVICE", 39, "", "Tensor -> Device", "device of a tensor", does="gives"),
    row("DTYPE", 40, "", "Tensor -> int", "dtype of a tensor, as its number", does="gives"),
    row("DIM", 41, "", "Tensor -> int", "number of dimensions of a tensor", does="gives"),
    row("__NOT__", 42, "", "bool -> bool", "not of a bool", does="gives"),
    row(
        "TO_LIST",
        43,
        "",
        "Tensor, int, int -> any",
        "with (tensor, dimensions, element code): nested lists of its elements",
        does="gives",
    ),
    row(
        "NUM_TO_TENSOR",
        44,
        "",
        "number -> Tensor",
        "a zero-dimensional tensor of a number",
        does="gives",
    ),
    row(
        "IS_CUDA",
        45,
        "",
        "Tensor -> bool",
        "whether a tensor is on a CUDA device: no",
        does="gives",
    ),
    row(
        "FORK",
        46,
        "function, arguments",
        "*n -> future",
        "call function x with n arguments; a future of its result",
    ),
    row(
        "WARN",
        47,
        "count",
        "str, int ->",
        "with (message, stack level): give the message as a warning",
    ),
    row("ENTER", 48, "", "any -> any", "call __enter__ of an object and remember it"),
    row("EXIT", 49, "", "-> any", "call __exit__ of the object entered last"),
    row(
        "AWAITABLE",
        50,
        "function, arguments",
        "*n -> future",
        "a future of a call of function x with n arguments that WAIT will make",
    ),
    row(
        "FUSED",
        51,
        "function, arguments",
        "*function -> *function",
        "call function x with n arguments: pointwise operators, which may be done at once",
    ),
)

OPCODES: dict[str, Opcode] = {op.name: op for op in TABLE}
"""Opcodes by name."""
