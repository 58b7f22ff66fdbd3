"""Verification of Code that was read from a file, before its first instruction runs.

There are two passes, both driven by the table of opcodes.  `check_structure` looks at every operand
on its own: indices, counts, jump targets, kinds of types.  `Flow` then follows every path and
checks stack depth, registers and types at each instruction and where paths meet.  An unknown type
is None and fits everything, since PyTorch's bytecode is not fully typed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .. import types as T
from ..errors import ArchiveError
from ..ops import table
from ..schema import Schema
from .code import Code, Instruction
from .inference import bind, compatible, join, substitute
from .link import is_lacking, out_arguments
from .opcodes import FREE_MOVES, MAX_CODE, MAX_MOVED, MAX_REGISTERS, MAX_STACK, OPCODES

MAX_MERGES = 8
"""How often the types at one instruction may be joined; after that, those that differ become None.
It bounds the number of rounds until the analysis reaches its fixed point."""


def verify(code: Code) -> None:
    """Raise ArchiveError, which names the function and the instruction, if code is not sound."""
    check_structure(code)
    Flow(code).run()


def fail(code: Code, pc: int, why: str) -> NoReturn:
    i = code.instructions[pc]
    raise ArchiveError(
        f"{code.name}, instruction {pc} ({i.op} {i.x} {i.n}): {why}",
        record="bytecode.pkl",
        help="the file is damaged, or was not made by PyTorch",
    )


def check_structure(code: Code) -> None:
    """Check that every operand of every instruction is in range and of the right kind."""

    def refuse(why: str) -> NoReturn:
        raise ArchiveError(f"{code.name} {why}", record="bytecode.pkl")

    if not code.instructions:
        refuse("has no instructions")
    if len(code.instructions) > MAX_CODE:
        refuse(f"has {len(code.instructions)} instructions; at most {MAX_CODE} are allowed")
    if code.register_size > MAX_REGISTERS:
        refuse(f"wants {code.register_size} registers; at most {MAX_REGISTERS} are allowed")
    if code.register_types and len(code.register_types) != code.register_size:
        refuse(f"has {code.register_size} registers but types for {len(code.register_types)}")
    for pc, i in enumerate(code.instructions):
        opcode = OPCODES[i.op]
        if not opcode.runs:
            fail(code, pc, "only PyTorch's own executor makes this opcode; it cannot be run")
        for kind, value in ((opcode.x, i.x), (opcode.n, i.n)):
            if kind:
                OPERAND_CHECKS[kind](code, pc, value)


def _index(field: str) -> Callable[[Code, int, int], None]:
    def check(code: Code, pc: int, value: int) -> None:
        size = len(getattr(code, field))
        if not 0 <= value < size:
            fail(code, pc, f"index {value} into {size} {field}")

    return check


def _register(code: Code, pc: int, value: int) -> None:
    if not 1 <= value <= code.register_size:
        fail(code, pc, f"register {value} of {code.register_size}")


def _registers(code: Code, pc: int, value: int) -> None:
    last = value + code.instructions[pc].n - 1
    _register(code, pc, value)
    if last > code.register_size:
        fail(code, pc, f"registers {value} to {last} of {code.register_size}")


def _types(code: Code, pc: int, value: int) -> None:
    last = value + code.instructions[pc].n - 1
    _index("types")(code, pc, value)
    if last >= len(code.types):
        fail(code, pc, f"types {value} to {last} of {len(code.types)}")


def _type_of(what: str, cls: Any) -> Callable[[Code, int, int], None]:
    def check(code: Code, pc: int, value: int) -> None:
        _index("types")(code, pc, value)
        t: Any = code.types[value]
        if not isinstance(t, cls) or cls is T.TupleType and t.name is None:
            fail(code, pc, f"{t} is no {what}")

    return check


def _target(code: Code, pc: int, value: int) -> None:
    if not 0 <= pc + value < len(code.instructions):
        fail(code, pc, f"jump to {pc + value}, outside of {len(code.instructions)} instructions")


def _count(least: int) -> Callable[[Code, int, int], None]:
    def check(code: Code, pc: int, value: int) -> None:
        if not least <= value <= MAX_STACK:
            fail(code, pc, f"a count of {value}, which is from {least} to {MAX_STACK}")

    return check


def _even_count(code: Code, pc: int, value: int) -> None:
    _count(0)(code, pc, value)
    if value % 2:
        fail(code, pc, f"a count of {value}, which has to be even")


def _fields(code: Code, pc: int, value: int) -> None:
    t: Any = code.types[code.instructions[pc].x]
    if len(t.elements) != value:
        fail(code, pc, f"a named tuple of type {t} from {value} values")


def _arguments(code: Code, pc: int, value: int) -> None:
    schema = code.functions[code.instructions[pc].x].schema
    if len(schema.arguments) != value:
        fail(code, pc, f"{value} arguments for {schema}")


def _method_name(code: Code, pc: int, value: int) -> None:
    _index("constants")(code, pc, value)
    if not isinstance(code.constants[value], str):
        fail(code, pc, "the method's name is not a string")


def _slot(code: Code, pc: int, value: int) -> None:
    if not 0 <= value <= MAX_STACK:
        fail(code, pc, f"slot {value}")


OPERAND_CHECKS: dict[str, Callable[[Code, int, int], None]] = {
    "operator": _index("operators"),
    "register": _register,
    "registers": _registers,
    "constant": _index("constants"),
    "method": _method_name,
    "type": _index("types"),
    "list type": _type_of("list type", T.ListType),
    "dict type": _type_of("dict type", T.DictType),
    "named tuple type": _type_of("named tuple", T.TupleType),
    "class": _type_of("class", T.ClassType),
    "types": _types,
    "function": _index("functions"),
    "jump": _target,
    "slot": _slot,
    "count": _count(0),
    "count from 1": _count(1),
    "count from 2": _count(2),
    "even count": _even_count,
    "fields": _fields,
    "arguments": _arguments,
}
"""The check for each kind of operand.  x is checked before n, so checks of n may rely on x."""

State = tuple[list[Any], dict[Any, Any]]
"""Types on the stack, bottom first, and types of the registers that hold a value."""


class Flow:
    """Follows every path through a code, with types in place of values.

    states: for each instruction at which a walk starts, what all paths to it have in common.
    merges: how often a state was joined there.  pending: instructions whose state has changed, to
    walk from again.  meetings: the targets of jumps.  moves: see `count_moves`.
    """

    def __init__(self, code: Code) -> None:
        self.code = code
        self.states: dict[int, State] = {}
        self.merges: dict[int, int] = {}
        self.pending: list[int] = []
        self.meetings = {
            pc + i.x for pc, i in enumerate(code.instructions) if OPCODES[i.op].x == "jump"
        }
        self.moves: dict[int, int] = {}

    def run(self) -> None:
        self.arrive(0, ([a.type for a in self.code.schema.arguments], {}), 0)
        while self.pending:
            pc = self.pending.pop()
            stack, registers = self.states[pc]
            self.walk(pc, list(stack), dict(registers))

    def arrive(self, pc: int, state: State, source: int) -> None:
        """Join `state` into the one of instruction `pc`, which is walked from again if it changed.

        source: the instruction that goes on to `pc`, for the error message.
        """
        known = self.states.get(pc)
        if known is None:
            self.states[pc] = (list(state[0]), dict(state[1]))
            self.pending.append(pc)
            return
        if len(known[0]) != len(state[0]):
            fail(
                self.code,
                source,
                f"{len(state[0])} values on the stack, but {len(known[0])} "
                f"on another way to instruction {pc}",
            )
        self.merges[pc] = self.merges.get(pc, 0) + 1
        merge = join if self.merges[pc] <= MAX_MERGES else (lambda a, b: a if a == b else None)
        stack = [merge(a, b) for a, b in zip(known[0], state[0])]
        registers = {r: merge(t, state[1][r]) for r, t in known[1].items() if r in state[1]}
        if (stack, registers) != known:
            self.states[pc] = (stack, registers)
            if pc not in self.pending:
                self.pending.append(pc)

    def walk(self, pc: int, stack: list[Any], registers: dict[Any, Any]) -> None:
        """Apply instructions from `pc` on, until one of them jumps, returns or raises, or until the
        next one is the target of a jump."""
        while True:
            if pc >= len(self.code.instructions):
                fail(
                    self.code,
                    pc - 1,
                    "the function runs past its end: the last instruction has to return",
                )
            i = self.code.instructions[pc]
            following = OPCODES[i.op].next
            if following == "return":
                return self.returns(pc, stack)
            if following == "raise":
                return self.plain(pc, i, stack)
            if following != "next":
                return self.jump(pc, i, stack, registers)
            if i.op in ("OP", "OPN") and is_lacking(self.code.operators[i.x]):
                return None  # the call raises, so nothing after it runs
            self.step(pc, i, stack, registers)
            pc += 1
            if pc in self.meetings:
                return self.arrive(pc, (stack, registers), pc - 1)

    def jump(self, pc: int, i: Instruction, stack: list[Any], registers: dict[Any, Any]) -> None:
        target, following = pc + i.x, OPCODES[i.op].next
        popped = self.pop(pc, stack, types_of(OPCODES[i.op].pops, i))
        if following == "loop":
            carried = popped[3:]
            self.arrive(target, (stack + carried, registers), pc)
            return self.arrive(pc + 1, ([*stack, T.INT, T.INT, T.INT, *carried], registers), pc)
        if following == "branch":
            self.arrive(pc + 1, (stack, registers), pc)
        self.arrive(target, (stack, registers), pc)

    def pop(self, pc: int, stack: list[Any], wanted: list[Any]) -> list[Any]:
        """Pop values that fit the types `wanted`; return their types, bottom first."""
        if len(stack) < len(wanted):
            fail(self.code, pc, f"takes {len(wanted)} values off a stack of {len(stack)}")
        at = len(stack) - len(wanted)
        values = stack[at:]
        del stack[at:]
        for k, (value, want) in enumerate(zip(values, wanted)):
            if not compatible(value, want):
                fail(self.code, pc, f"value {k} is {value.annotation}, wanted {want.annotation}")
        return values

    def returns(self, pc: int, stack: list[Any]) -> None:
        wanted = [r.type for r in self.code.schema.returns]
        if wanted:
            if len(stack) != len(wanted):
                fail(
                    self.code,
                    pc,
                    f"returns with {len(stack)} values on the stack; the schema has {len(wanted)}",
                )
            self.pop(pc, stack, wanted)

    def step(self, pc: int, i: Instruction, stack: list[Any], registers: dict[Any, Any]) -> None:
        """Apply an instruction that goes on to the next one."""
        before = len(stack)
        if i.op in ("LOAD", "MOVE"):
            if i.x not in registers:
                fail(self.code, pc, f"register {i.x} holds no value here")
            stack.append(registers[i.x])
            if i.op == "MOVE":
                del registers[i.x]
        elif i.op == "DROPR":
            registers.pop(i.x, None)
        elif i.op in ("STORE", "STOREN"):
            count = 1 if i.op == "STORE" else i.n
            for r, t in enumerate(self.pop(pc, stack, [None] * count), i.x):
                registers[r] = self.stored(pc, r, t)
        else:
            EFFECTS.get(i.op, Flow.plain)(self, pc, i, stack)
        if abs(len(stack) - before) > FREE_MOVES:
            self.count_moves(pc, abs(len(stack) - before) - FREE_MOVES)
        if len(stack) > MAX_STACK:
            fail(self.code, pc, f"over {MAX_STACK} values on the stack")

    def stored(self, pc: int, register: int, t: T.Type | None) -> T.Type | None:
        """The type of a register after a value of type `t` is stored: the declared one, if any."""
        if not self.code.register_types or self.code.register_types[register - 1] is None:
            return t
        declared: Any = self.code.register_types[register - 1]
        if not compatible(t, declared):
            fail(
                self.code,
                pc,
                f"register {register} is {declared.annotation}, the value {t and t.annotation}",
            )
        return declared

    def count_moves(self, pc: int, values: int) -> None:
        """Count values that an instruction takes or gives beyond FREE_MOVES; at most MAX_MOVED fit.

        An instruction in a loop may be walked several times but counts once.
        """
        self.moves[pc] = max(self.moves.get(pc, 0), values)
        if sum(self.moves.values()) > MAX_MOVED:
            fail(self.code, pc, f"the code takes and gives more than {MAX_MOVED} values")

    # Effects of the opcodes that neither jump nor touch registers

    def plain(self, pc: int, i: Instruction, stack: list[Any]) -> None:
        """Apply the effect that the opcode's row states."""
        opcode = OPCODES[i.op]
        self.pop(pc, stack, types_of(opcode.pops, i))
        stack += types_of(opcode.pushes, i)

    def constant(self, pc: int, i: Instruction, stack: list[Any]) -> None:
        value = self.code.constants[i.x]
        simple = {bool: T.BOOL, int: T.INT, float: T.FLOAT, str: T.STR, type(None): T.NONE}
        stack.append(simple.get(type(value)))

    def operator(self, pc: int, i: Instruction, stack: list[Any]) -> None:
        ref = self.code.operators[i.x]
        operator = table.find(ref.name, ref.overload)
        if ref.name == "prim::TupleUnpack":
            return self.tuple_unpack(pc, stack)
        if ref.name == "prim::unchecked_cast":
            self.pop(pc, stack, [None])
            return stack.append(None)
        count = i.n if i.op == "OPN" else ref.num_args
        if operator is None:  # it is not lacking, so it is one of link.AS_OPCODES
            self.pop(pc, stack, [None] * (count or 0))
            return stack.append(None)
        self.called(pc, operator.schema, count, stack)

    def called(self, pc: int, schema: Schema, count: int | None, stack: list[Any]) -> None:
        """Apply a call of something with this schema, with `count` arguments on the stack."""
        env: dict[str, T.Type] = {}
        if schema.is_vararg:
            self.pop(pc, stack, [None] * (count or 0))
        else:
            wanted = self.given(pc, schema, count)
            values = self.pop(pc, stack, [None] * len(wanted))
            for a, t in zip(wanted, values):
                if not bind(a.type, t, env, a.size is not None):
                    fail(
                        self.code,
                        pc,
                        f"argument {a.name} of {schema.qualified_name} is "
                        f"{t.annotation}, wanted {a.type.annotation}",
                    )
        if schema.is_varret:
            fail(self.code, pc, f"{schema.qualified_name} has no fixed number of results")
        stack += [substitute(r.type, env) for r in schema.returns]

    def given(self, pc: int, schema: Schema, count: int | None) -> list[Any]:
        """The arguments of the schema that a call with `count` arguments passes."""
        arguments = list(schema.arguments)
        if count is None or count == len(arguments):
            return arguments
        outs = out_arguments(schema)
        skipped = arguments[count - outs : len(arguments) - outs]
        if count > len(arguments) or count < outs or not all(a.has_default for a in skipped):
            fail(self.code, pc, f"{count} arguments for {schema}")
        return arguments[: count - outs] + arguments[len(arguments) - outs :]

    def tuple_unpack(self, pc: int, stack: list[Any]) -> None:
        (t,) = self.pop(pc, stack, [None])
        if not isinstance(t, T.TupleType):
            # The type does not tell the number of values, but the store that follows does.
            following = self.code.instructions[pc + 1 : pc + 2]
            if not following or following[0].op not in ("STORE", "STOREN"):
                fail(self.code, pc, "the tuple's type is not known")
            stack += [None] * (1 if following[0].op == "STORE" else following[0].n)
        else:
            stack += t.elements

    def function(self, pc: int, i: Instruction, stack: list[Any]) -> None:
        schema = self.code.functions[i.x].schema
        self.called(pc, schema, len(schema.arguments), stack)

    def deferred(self, pc: int, i: Instruction, stack: list[Any]) -> None:
        """Apply FORK or AWAITABLE, a call whose result is wrapped in a future."""
        schema = self.code.functions[i.x].schema
        if len(schema.returns) > 1:
            fail(self.code, pc, f"one result for {schema}")
        self.called(pc, schema, i.n, stack)
        result = stack.pop() if schema.returns else None
        stack.append(T.FutureType(result or T.ANY) if i.op == "FORK" else None)

    def wait(self, pc: int, i: Instruction, stack: list[Any]) -> None:
        (future,) = self.pop(pc, stack, [None])
        if not compatible(future, T.FutureType(T.ANY)) and not isinstance(
            future, (T.RRefLikeType, T.ClassType)
        ):
            fail(self.code, pc, f"waits for {future.annotation}")
        stack.append(future.element if isinstance(future, T.FutureType) else None)

    def method(self, pc: int, i: Instruction, stack: list[Any]) -> None:
        owner = self.pop(pc, stack, [None] * i.n)[0]
        name = self.code.constants[i.x]
        methods = getattr(owner, "methods", None)
        if methods is not None and name not in methods:
            fail(self.code, pc, f"{owner.annotation} has no method {name!r}")
        signature = getattr(methods[name], "schema", methods[name]) if methods else None
        stack.append(signature.returns[0].type if signature and signature.returns else None)

    def get_attr(self, pc: int, i: Instruction, stack: list[Any]) -> None:
        (owner,) = self.pop(pc, stack, [None])
        stack.append(self.attribute(pc, owner, i.x))

    def set_attr(self, pc: int, i: Instruction, stack: list[Any]) -> None:
        owner, value = self.pop(pc, stack, [None, None])
        wanted: Any = self.attribute(pc, owner, i.x)
        if not compatible(value, wanted):
            fail(
                self.code,
                pc,
                f"stores {value.annotation} in an attribute of type {wanted.annotation}",
            )

    def attribute(self, pc: int, owner: T.Type | None, slot: int) -> T.Type | None:
        if owner is None or owner == T.ANY:
            return None
        if not isinstance(owner, T.ClassType):
            fail(self.code, pc, f"{owner.annotation} is no object with attributes")
        if slot >= len(owner.attributes):
            fail(self.code, pc, f"slot {slot} of {owner.name}, which has {len(owner.attributes)}")
        return owner.attributes[slot].type

    def construct(self, pc: int, i: Instruction, stack: list[Any]) -> None:
        t = self.code.types[i.x]
        assert isinstance(t, (T.ListType, T.DictType, T.TupleType)), "as the operand's kind says"
        if isinstance(t, T.ListType):
            wanted = [t.element] * i.n
        elif isinstance(t, T.DictType):
            wanted = [t.key, t.value] * (i.n // 2)
        else:
            wanted = list(t.elements)
        self.pop(pc, stack, wanted)
        stack.append(t)

    def make_tuple(self, pc: int, i: Instruction, stack: list[Any]) -> None:
        parts = self.pop(pc, stack, [None] * i.x)
        stack.append(T.TupleType(tuple(T.ANY if p is None else p for p in parts)))

    def tuple_slice(self, pc: int, i: Instruction, stack: list[Any]) -> None:
        (t,) = self.pop(pc, stack, [T.ANY_TUPLE])
        known = isinstance(t, T.TupleType)
        stack.append(T.TupleType(t.elements[i.x : i.x + i.n]) if known else T.ANY_TUPLE)

    def list_unpack(self, pc: int, i: Instruction, stack: list[Any]) -> None:
        (t,) = self.pop(pc, stack, [T.ANY_LIST])
        stack += [t.element if isinstance(t, T.ListType) else None] * i.x

    def create_object(self, pc: int, i: Instruction, stack: list[Any]) -> None:
        stack.append(self.code.types[i.x])


EFFECTS: dict[str, Callable[[Flow, int, Instruction, list[Any]], None]] = {
    "LOADC": Flow.constant,
    "OP": Flow.operator,
    "OPN": Flow.operator,
    "CALL": Flow.function,
    "FUSED": Flow.function,
    "FORK": Flow.deferred,
    "AWAITABLE": Flow.deferred,
    "WAIT": Flow.wait,
    "INTERFACE_CALL": Flow.method,
    "GET_ATTR": Flow.get_attr,
    "SET_ATTR": Flow.set_attr,
    "LIST_CONSTRUCT": Flow.construct,
    "DICT_CONSTRUCT": Flow.construct,
    "NAMED_TUPLE_CONSTRUCT": Flow.construct,
    "TUPLE_CONSTRUCT": Flow.make_tuple,
    "TUPLE_SLICE": Flow.tuple_slice,
    "LIST_UNPACK": Flow.list_unpack,
    "CREATE_OBJECT": Flow.create_object,
}
"""The effects of opcodes whose results have more precise types than their rows state."""

TYPES: dict[str, T.Type | None] = {
    "any": None,
    "bool": T.BOOL,
    "int": T.INT,
    "number": T.NUMBER,
    "str": T.STR,
    "Tensor": T.TENSOR,
    "Device": T.DEVICE,
    "tuple": T.ANY_TUPLE,
    "list": T.ANY_LIST,
    "dict": None,
    "object": None,
    "future": None,
}
"""The types of the kinds of values in the table.  None accepts every value; EFFECTS checks some of
these kinds more closely."""

NUMBERS: dict[str, Callable[[Instruction], int]] = {
    "n": lambda i: i.n,
    "x": lambda i: i.x,
    "n-1": lambda i: i.n - 1,
    "n-2": lambda i: i.n - 2,
    "x-1": lambda i: i.x - 1,
}
"""The values of the counts after a star that depend on the operands alone."""


def types_of(kinds: tuple[str, ...], i: Instruction) -> list[Any]:
    """The types of the values that `pops` or `pushes` of a row names, for one instruction."""
    types: list[Any] = []
    for kind in kinds:
        types += [None] * NUMBERS[kind[1:]](i) if kind[0] == "*" else [TYPES[kind]]
    return types
