"""The Python engine's interpreter, which defines what bytecode does.

All frames share one stack of values, as in PyTorch's interpreter: a caller pushes the arguments,
the callee stores them into its registers, and leaves its results on the stack when it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, TypeVar, cast

import numpy

from .. import exceptions
from .. import types as T
from ..errors import Frame, LimitError, RunError, attach_stack
from ..ir import Function
from ..limits import Limits, check_time, until
from ..objects import Await, Future
from ..ops.calling.current import mode
from ..records import field, record
from .code import Code, stack_frames
from .handlers import HANDLERS, pop_n
from .link import Call
from .meter import MemoryMeter
from .values import type_name

R = TypeVar("R")

CHECK_EVERY = 1024
"""The number of instructions between two checks of the time limit."""


@record(frozen=True, eq=False)
class Program:
    """A function ready to run: its code, and its operators resolved."""

    code: Code
    calls: list[Call]


@record(frozen=True, eq=False)
class Pending:
    """What an awaitable calls.  An interpreter that waits for it enters `program` as a frame;
    Python calls this object."""

    program: Program
    program_of: Callable[[Function], Program]
    limits: Limits

    def __call__(self, *args: Any) -> Any:
        return Interpreter(self.program_of, self.limits).run(self.program, list(args))


@record(eq=False)
class Activation:
    """The frame of a running function.

    pc: the index of the current instruction; in a caller, that of its call.
    registers: from index 1 on.  entered: the objects whose `__enter__` ran, innermost last.
    future: the future that gets the result, if the call is that of a fork or an awaitable.
    base: for a fork, the height to which the stack is cut if it raises; None for other calls.
    """

    program: Program
    pc: int = 0
    registers: list[Any] = field(default_factory=list)
    entered: list[Any] = field(default_factory=list)
    future: Future[Any] | None = None
    base: int | None = None

    def __post_init__(self) -> None:
        self.registers = [None] * (self.program.code.register_size + 1)


class Interpreter:
    """Runs one call.  `program_of` returns the Program of a function that the program calls.

    `run` raises what the program raises, with the script stack attached (`errors.script_stack`);
    LimitError if it exceeds `limits`; MissingOperatorError if it reaches an operator that the
    engine lacks.
    """

    def __init__(
        self, program_of: Callable[[Function], Program], limits: Limits | None = None
    ) -> None:
        self.program_of = program_of
        self.limits = limits or Limits()
        self.frames: list[Activation] = []
        self.stack: list[Any] = []
        self.steps = 0
        self.meter: MemoryMeter | None = None
        self.is_limited = False
        self._mirrors: Any = None

    def run(self, program: Program, args: list[Any]) -> Any:
        """Call a program with all its arguments; return its result, or a tuple of its results."""
        if self.limits.memory is not None:
            self.meter = MemoryMeter(self.limits.memory, self.held)
        self.is_limited = self.limits.seconds is not None or self.meter is not None
        self.stack.extend(args)
        self.frames.append(Activation(program))
        was_enabled, outer = mode.enabled, mode.enter(self)
        try:
            with numpy.errstate(all="ignore"), self.in_time(), self.asked_first():
                self.loop_with_forks()
        except (RecursionError, MemoryError) as error:
            out = isinstance(error, MemoryError)
            why = "out of memory" if out else "a value is nested too deep"
            raise attach_stack(RunError(why), self.script_stack()) from None
        except Exception as error:
            raise attach_stack(exceptions.failure(error), self.script_stack()) from None
        finally:
            if mode.enabled is not was_enabled:
                mode.turn(was_enabled)
            mode.enter(outer)
            self.store()
        return self.stack[0] if len(self.stack) == 1 else tuple(self.stack)

    @property
    def mirrors(self) -> Any:
        """The lists and dicts of the native engine that this run uses."""
        if self._mirrors is None:
            from .native import load

            self._mirrors = cast(Any, load()[0]).Mirrors()
        return self._mirrors

    def store(self) -> None:
        """Store what the run has changed in lists and dicts of the native engine there."""
        if self._mirrors is not None:
            self._mirrors.store()

    def outside(self, function: Callable[..., R], *args: Any) -> R:
        """Call a function of Python, which may look at objects and run programs."""
        self.store()
        try:
            return function(*args)
        finally:
            if self._mirrors is not None:
                self._mirrors.expire()

    def asked_first(self) -> AbstractContextManager[Any]:
        if not self.is_limited:
            return nullcontext()
        from ..allocations import asked_first
        from .native import load

        load()  # numpy's allocator with limits is in the extension module
        return asked_first(self.allow, self.limits.memory)

    def allow(self, size: int) -> None:
        """Raise LimitError if `size` more bytes exceed the limit, or the time limit has passed."""
        check_time()
        if self.meter is not None:
            self.meter.allow(size)

    def in_time(self) -> AbstractContextManager[Any]:
        return nullcontext() if self.limits.seconds is None else until(self.limits.seconds)

    def held(self) -> list[Any]:
        """Every value that the run can still reach."""
        return [*self.stack, *(v for frame in self.frames for v in frame.registers)]

    def script_stack(self) -> tuple[Frame, ...]:
        return stack_frames((a.program.code.name, a.program.code, a.pc) for a in self.frames)

    def place(self) -> Callable[[], str]:
        """A function that returns the current place in the program as text.  Making it is cheap,
        and the text is only made if it is needed."""
        frame = self.frames[-1]
        return partial(place_of, frame.program.code, frame.pc)

    def loop_with_forks(self) -> None:
        """Run until the first frame returns.  An error in a fork ends only the fork: its future
        holds the error, which is raised when the program waits for it."""
        while self.frames:
            try:
                self.loop()
            except LimitError:
                raise
            except Exception as error:
                forks = [k for k, f in enumerate(self.frames) if f.base is not None]
                if not forks or isinstance(error, (RecursionError, MemoryError)):
                    raise
                fork = self.frames[forks[-1]]
                assert fork.future is not None
                fork.future.error = attach_stack(exceptions.failure(error), self.script_stack())
                del self.frames[forks[-1] :], self.stack[fork.base :]
                self.stack.append(fork.future)
                self.frames[-1].pc += 1

    def loop(self) -> None:
        """Run until the first frame returns."""
        stack, check_at = self.stack, self.next_check()
        while self.frames:
            frame = self.frames[-1]
            code, calls, registers = frame.program.code, frame.program.calls, frame.registers
            instructions, constants, pc = code.instructions, code.constants, frame.pc
            while True:
                frame.pc = pc
                self.steps += 1
                if self.steps >= check_at:
                    check_at = self.check()
                op, x, n = instructions[pc]
                if op == "LOAD":
                    stack.append(registers[x])
                elif op == "MOVE":
                    stack.append(registers[x])
                    registers[x] = None
                elif op == "LOADC":
                    stack.append(constants[x])
                elif op == "OP" or op == "OPN":
                    calls[x].run(stack, n)
                    if self.is_limited:
                        self.after_operator()
                elif op == "STORE":
                    registers[x] = stack.pop()
                elif op == "STOREN":
                    registers[x : x + n] = pop_n(stack, n)
                elif op == "DROPR":
                    registers[x] = None
                elif op in JUMPS:
                    pc += JUMPS[op](stack, x, n)
                    continue
                elif op in SWITCHES:
                    SWITCHES[op](self, frame, x, n)
                    break
                else:
                    HANDLERS[op](stack, code, x, n)
                    if self.is_limited:
                        self.after_operator()
                pc += 1

    def next_check(self) -> float:
        """The value of `steps` at which the limits are checked next."""
        at = float("inf") if self.limits.seconds is None else self.steps + CHECK_EVERY
        most = self.limits.instructions
        return at if most is None else min(at, most + 1)

    def check(self) -> float:
        most = self.limits.instructions
        if most is not None and self.steps > most:
            raise LimitError(f"the program ran {most} instructions, the most that its limits allow")
        check_time()
        return self.next_check()

    def after_operator(self) -> None:
        """Check time and memory, since a single operator may exceed them."""
        if self.meter is not None:
            self.meter.look(self.stack)
        check_time()

    # Switching frames

    def enter(self, function: Function) -> None:
        """Push a frame for a call of `function`, whose arguments are on the stack."""
        self.enter_program(self.program_of(function))

    def enter_program(self, program: Program) -> None:
        if len(self.frames) >= self.limits.depth:
            raise LimitError(
                f"calls are nested {self.limits.depth} deep, the most that the limits allow"
            )
        self.frames.append(Activation(program))

    def call(self, frame: Activation, x: int, n: int) -> None:
        self.enter(frame.program.code.functions[x])

    def interface_call(self, frame: Activation, x: int, n: int) -> None:
        self.enter(method_of(self.stack[-n], frame.program.code.constants[x]))

    def enter_context(self, frame: Activation, x: int, n: int) -> None:
        frame.entered.append(self.stack[-1])
        self.enter(method_of(self.stack[-1], "__enter__"))

    def exit_context(self, frame: Activation, x: int, n: int) -> None:
        self.stack += [frame.entered.pop(), None, None, None]
        self.enter(method_of(self.stack[-4], "__exit__"))

    def fork(self, frame: Activation, x: int, n: int) -> None:
        """Run the call to its end now, one of the orders in which concurrent calls may run."""
        self.enter(frame.program.code.functions[x])
        self.frames[-1].future, self.frames[-1].base = Future(), len(self.stack) - n

    def awaitable(self, frame: Activation, x: int, n: int) -> None:
        program = self.program_of(frame.program.code.functions[x])
        pending = Pending(program, self.program_of, self.limits)
        self.stack.append(Await(call=(pending, pop_n(self.stack, n))))
        frame.pc += 1

    def wait(self, frame: Activation, x: int, n: int) -> None:
        future = self.stack.pop()
        if not isinstance(future, Future):
            raise RunError(f"{type_name(future)} cannot be waited for")
        if future.call is not None and isinstance(future.call[0], Pending):
            pending, args = future.call
            self.stack += args
            self.enter_program(pending.program)
            self.frames[-1].future = future
        else:
            self.stack.append(future.wait())
            frame.pc += 1

    def return_(self, frame: Activation, x: int, n: int) -> None:
        self.frames.pop()
        if frame.future is not None:
            frame.future.settle(self.stack[-1])
            if frame.base is not None:
                self.stack[-1] = frame.future
        if self.frames:
            self.frames[-1].pc += 1  # go on behind the call


def place_of(code: Code, pc: int) -> str:
    """The source position of an instruction, as the innermost line of a script stack."""
    return str(stack_frames([(code.name, code, pc)])[-1])


def method_of(value: Any, name: str) -> Function:
    """The method of that name of an object's class.  Raises RunError if there is none."""
    cls = getattr(value, "type", None)
    if not isinstance(cls, T.ClassType) or name not in cls.methods:
        raise RunError(f"{getattr(cls, 'annotation', type(value).__name__)} has no method {name!r}")
    return cls.methods[name]


def jump_if_false(stack: list[Any], x: int, n: int) -> int:
    return 1 if stack.pop() else x


def jump(stack: list[Any], x: int, n: int) -> int:
    return x


def loop(stack: list[Any], x: int, n: int) -> int:
    """Enter the body of a loop, or leave the loop; LOOP in the opcode table has the layout."""
    at = len(stack) - (n + 1)
    trip, most, condition = stack[at : at + 3]
    if trip < most and condition:
        stack[at] = trip + 1
        stack[at + 2] = trip
        return 1
    del stack[at : at + 3]
    return x


JUMPS: dict[str, Callable[[list[Any], int, int], int]] = {
    "JF": jump_if_false,
    "JMP": jump,
    "LOOP": loop,
}
"""Opcodes within a frame that jump.  Their handlers return the distance."""

SWITCHES: dict[str, Callable[[Interpreter, Activation, int, int], None]] = {
    "CALL": Interpreter.call,
    "FUSED": Interpreter.call,
    "INTERFACE_CALL": Interpreter.interface_call,
    "FORK": Interpreter.fork,
    "AWAITABLE": Interpreter.awaitable,
    "WAIT": Interpreter.wait,
    "RET": Interpreter.return_,
    "ENTER": Interpreter.enter_context,
    "EXIT": Interpreter.exit_context,
}
"""Opcodes that may change the running frame.  Their handlers advance its `pc` where they do not."""
