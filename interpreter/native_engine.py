"""The native engine behind the Engine protocol.

A function runs as a program that was read from an archive (serialization/native_archive.py) or one
that is made from its code (native_program.py, which is only imported for that).  Once an instance
of a script class is passed to a program, its slots live in the engine, so that Python and both
engines see the same state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .. import exceptions
from .. import types as T
from ..building import alone
from ..errors import ArchiveError, Frame, LimitError, MissingOperatorError, RunError, attach_stack
from ..ir import Function
from ..limits import Limits
from ..objects import ScriptObject
from ..ops.calling.current import calls, mode
from ..ops.shared.generator import default_generator
from . import gradients
from .native import load

PROGRAM = "native_program"
"""Attribute of a Function that holds its NativeProgram.  If it calls methods by name, this one does
not depend on the objects that are passed; see `native_program.program_for`."""

NativeError: type[Exception] = getattr(load()[0], "NativeError", RunError)
"""The exception of the extension module, with arguments (kind, class name, message, stack)."""


def failure(
    frames_of: Callable[[Iterable[tuple[str, int]]], tuple[Frame, ...]],
    e: Exception,
    limits: Limits | None = None,
) -> Exception:
    """The exception to raise for an error of the extension module, with the script stack attached.

    frames_of: turns the (function, instruction) pairs of the engine into the script stack.
    """
    kind, class_name, message, stack = e.args
    raised = getattr(e, "original", None)  # raised by a Python function that the program called
    error: Exception = translate(kind, class_name, message) if raised is None else raised
    if kind == "MemoryError" and limits and limits.memory is not None:
        error = LimitError(message)
    error = exceptions.failure(error)
    attach_stack(error, frames_of(stack))
    return error


class NativeEngine:
    name = "native"

    def run(
        self,
        function: Function,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
    ) -> Any:
        program = function.attributes.get(PROGRAM) or program_of(function)
        if program.asks or calls.recorder is not None and gradients.is_wanted(args, kwargs):
            return run_recorded(function, args, kwargs, limits)
        if default_generator.is_ahead:
            default_generator.hand_over()
        try:
            allowed = NO_LIMITS if limits is None else native_limits(limits)
            result = program.program.call(tuple(args), dict(kwargs or {}), *allowed)
            if result is not NotImplemented:
                return result
            from .arguments import bind

            values = bind(program.schema, args, kwargs)
            if program.calls_by_name:
                from .native_program import program_for

                program = program_for(function, values)
                if program.asks:
                    return run_recorded(function, args, kwargs, limits)
            return program.program.run(program.name, values, *allowed)
        except NativeError as e:
            raise program.failure(e, limits) from None
        finally:
            if calls.recorder is not None and program.program.keeps_values(program.name):
                gradients.note_kept(args, kwargs)

    def direct(self, function: Function) -> Any:
        return function.direct

    def missing(self, function: Function, classes: Iterable[T.ClassType] = ()) -> Counter[str]:
        from ..ops.table import having
        from .native_program import PYTHON_CALL, for_classes

        try:
            program = program_of(function)
            if program.calls_by_name and classes:
                program = for_classes(function, frozenset(classes))
        except MissingOperatorError:
            return Counter({PYTHON_CALL: 1})
        if function.ready() is program:
            return Counter()
        missing = program.program.missing
        return Counter({name: n for name, n in missing.items() if name not in having("asks")})

    def adopt(self, obj: ScriptObject) -> ScriptObject:
        return obj


def run_recorded(
    function: Function, args: Sequence[Any], kwargs: Mapping[str, Any] | None, limits: Limits | None
) -> Any:
    """Run a call that has to be recorded for derivatives: on the native engine if it can record the
    call, else on the Python engine."""
    from . import recorded

    result = gradients.straight_result(function, "native", args, kwargs, limits)
    if result is not NotImplemented:
        return result
    has_tangent = bool(mode.levels) and gradients.has_tangent(args, kwargs)
    program: Any = recorded.program_of(function) if mode.enabled or has_tangent else None

    def run(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
        from .arguments import bind, fit_already

        def wrap(call: Callable[[], Any]) -> Any:
            try:
                return call()
            except NativeError as e:
                raise program.failure(e, limits) from None

        if default_generator.is_ahead:
            default_generator.hand_over()
        if not kwargs and fit_already(program.schema, args):
            values = [*args]
        else:
            values = bind(program.schema, args, kwargs)
        allowed = NO_LIMITS if limits is None else native_limits(limits)
        return recorded.run(program, values, allowed, wrap)

    if program is not None and recorded.sees_too_little(function, program, args, kwargs):
        program = None
    if has_tangent:
        from . import forward

        return forward.run(function, args, kwargs, limits, run if program else None)
    if program is None:
        from .python_engine import run_seen

        return run_seen(function, args, kwargs, limits)
    return run(args, kwargs)


def program_of(function: Function) -> Any:
    """The native program of a function, made once."""
    return function.attributes.get(PROGRAM) or make_program(function)


@alone
def make_program(function: Function) -> Any:
    program = function.attributes.get(PROGRAM)
    if program is None:
        program = function.attributes[PROGRAM] = function.ready() or made_of(function)
        if program.is_entered and not program.asks:
            function.direct = program.program
    return program


def made_of(function: Function) -> Any:
    """The NativeProgram of the code that Python compiles for a function."""
    from .native_program import NativeProgram

    return NativeProgram(function)


def native_limits(limits: Limits) -> tuple[int, int, int, int, int]:
    """The limits as the extension module takes them, 0 for no limit: instructions, bytes,
    milliseconds, depth of calls, values in the result."""
    return (
        limits.instructions or 0,
        limits.memory or 0,
        0 if limits.seconds is None else max(1, round(limits.seconds * 1000)),
        limits.depth,
        limits.result_values or 0,
    )


NO_LIMITS = native_limits(Limits())


OWN = {
    "ArchiveError": ArchiveError,
    "MissingOperator": MissingOperatorError,
    "LimitError": LimitError,
    "MemoryError": RunError,
    "Raised": RunError,
}
"""Kinds of errors of the engine that are not builtin exceptions of the same name."""


def translate(kind: str, class_name: str, message: str) -> Exception:
    """The exception that the Python engine would have raised."""
    if kind in OWN and not class_name:
        return OWN[kind](message)
    return exceptions.make(message, class_name) if class_name else exceptions.failed(kind, message)
