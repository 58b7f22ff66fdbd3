"""The instruction set: one table, from which everything else about opcodes is made.

Names and numbers are those of PyTorch's interpreter; FUSED is our own.  An instruction is
(opcode, x, n).  `x` and `n` say what the operands are (see OPERANDS); `pops` and `pushes` are
numbers of stack values, or a text where they depend on the operands: "n", "x", "n+1", "n-2", "op"
(the operator's), "call" (the function's).

Adding an opcode: one line here, `python -m scriptlang.interpreter.generate`, and its meaning in the
two engines (`vm.py`, cpp_loader).
"""

from __future__ import annotations

from ..records import record

OPERANDS = {
    "": "unused, 0",
    "O": "index into the operators",
    "R": "register, from 1",
    "C": "index into the constants",
    "T": "index into the types",
    "F": "index into the functions",
    "P": "jump distance, relative to this instruction",
    "S": "slot of the object's class",
    "I": "a count",
    "M": "index into the constants, of a method name",
}
"""Operand kinds, by letter."""


@record(frozen=True)
class Opcode:
    """One kind of instruction.

    `runs` is False for the opcodes that only PyTorch's profiling executor makes: they are known by
    name, so that an error can say what they are, and refused.
    """

    name: str
    number: int
    x: str
    n: str
    pops: int | str
    pushes: int | str
    meaning: str
    runs: bool = True


TABLE: tuple[Opcode, ...] = (
    Opcode("OP", 0, "O", "", "op", "op", "call operator x"),
    Opcode("OPN", 1, "O", "I", "n", "op", "call vararg operator x with n arguments"),
    Opcode("LOAD", 2, "R", "", 0, 1, "push register x"),
    Opcode("MOVE", 3, "R", "", 0, 1, "push register x and clear it"),
    Opcode("STOREN", 4, "R", "I", "n", 0, "pop n values into registers x, x+1, ..."),
    Opcode("STORE", 5, "R", "", 1, 0, "pop into register x"),
    Opcode("DROP", 6, "", "", 1, 0, "pop and forget"),
    Opcode("DROPR", 7, "R", "", 0, 0, "clear register x"),
    Opcode("LOADC", 8, "C", "", 0, 1, "push constant x"),
    Opcode("JF", 9, "P", "", 1, 0, "pop a bool; when false, go x instructions on"),
    Opcode("JMP", 10, "P", "", 0, 0, "go x instructions on (back, when negative)"),
    Opcode("LOOP", 11, "P", "I", "n+1", "n-2",
           "with (trip, max, cond, n-2 carried values): go on below with "
           "(trip+1, max, trip, carried), or leave the carried values and go x on"),
    Opcode("RET", 12, "", "", 0, 0, "return; the stack holds the results"),
    Opcode("WAIT", 13, "", "", 1, 1, "the result of a future; raise what its call raised"),
    Opcode("CALL", 14, "F", "", "call", "call", "call function x"),
    Opcode("GUARD", 15, "T", "", 0, 1, "check a profiled type", False),
    Opcode("TYPECHECK", 16, "T", "I", 0, 1, "check n profiled types", False),
    Opcode("FAIL_GUARD", 17, "T", "", 0, 0, "a guard that always fails", False),
    Opcode("PROFILE_OP", 18, "F", "", 0, 0, "record a profile", False),
    Opcode("TAIL_CALL", 19, "F", "", "call", "call", "replace the frame by function x", False),
    Opcode("INTERFACE_CALL", 20, "M", "I", "n", 1,
           "call the method named by constant x of the first of n arguments"),
    Opcode("GET_ATTR", 21, "S", "", 1, 1, "slot x of an object"),
    Opcode("SET_ATTR", 22, "S", "", 2, 0, "with (object, value): set slot x"),
    Opcode("LIST_UNPACK", 23, "I", "", 1, "x", "push the x elements of a list"),
    Opcode("TUPLE_CONSTRUCT", 24, "I", "", "x", 1, "a tuple of x values"),
    Opcode("NAMED_TUPLE_CONSTRUCT", 25, "T", "I", "n", 1, "a tuple of type x of n values"),
    Opcode("LIST_CONSTRUCT", 26, "T", "I", "n", 1, "a list of type x of n values"),
    Opcode("DICT_CONSTRUCT", 27, "T", "I", "n", 1,
           "a dict of type x of n values: key, value, key, value, ..."),
    Opcode("CREATE_OBJECT", 28, "T", "", 0, 1, "an object of class x with empty slots"),
    Opcode("ISINSTANCE", 29, "T", "I", 1, 1, "whether a value is of one of types x, ..., x+n-1"),
    Opcode("TUPLE_SLICE", 30, "I", "I", 1, 1, "elements x up to x+n of a tuple"),
    Opcode("TUPLE_INDEX", 31, "", "", 2, 1, "with (tuple, int): that element"),
    Opcode("RAISE_EXCEPTION", 32, "", "", 2, 0,
           "with (message, qualified class name or None): raise it"),
    Opcode("DICT_INDEX", 33, "", "", 2, 1, "with (dict, key): the value"),
    Opcode("UNCHECKED_CAST", 34, "", "", 1, 1, "the value, known to be of a narrower type"),
    Opcode("__IS__", 35, "", "", 2, 1, "whether two values are the same object"),
    Opcode("UN_INITIALIZED", 36, "", "", 0, 1, "a value that is never looked at"),
    Opcode("__ISNOT__", 37, "", "", 2, 1, "whether two values are different objects"),
    Opcode("FORMAT", 38, "I", "", "x", 1, "str.format of the first of x values with the others"),
    Opcode("DEVICE", 39, "", "", 1, 1, "device of a tensor"),
    Opcode("DTYPE", 40, "", "", 1, 1, "dtype of a tensor, as its number"),
    Opcode("DIM", 41, "", "", 1, 1, "number of dimensions of a tensor"),
    Opcode("__NOT__", 42, "", "", 1, 1, "not of a bool"),
    Opcode("TO_LIST", 43, "", "", 3, 1,
           "with (tensor, dimensions, element code): nested lists of its elements"),
    Opcode("NUM_TO_TENSOR", 44, "", "", 1, 1, "a zero-dimensional tensor of a number"),
    Opcode("IS_CUDA", 45, "", "", 1, 1, "whether a tensor is on a CUDA device: no"),
    Opcode("FORK", 46, "F", "I", "n", 1,
           "call function x with n arguments; a future of its result"),
    Opcode("WARN", 47, "I", "", 2, 0, "with (message, stack level): give the message as a warning"),
    Opcode("ENTER", 48, "", "", 1, 1, "call __enter__ of an object and remember it"),
    Opcode("EXIT", 49, "", "", 0, 1, "call __exit__ of the object entered last"),
    Opcode("AWAITABLE", 50, "F", "I", "n", 1,
           "a future of a call of function x with n arguments that WAIT will make"),
    Opcode("FUSED", 51, "F", "I", "call", "call",
           "call function x with n arguments: pointwise operators, which may be done at once"),
)

OPCODES: dict[str, Opcode] = {op.name: op for op in TABLE}
"""Opcodes by name."""
