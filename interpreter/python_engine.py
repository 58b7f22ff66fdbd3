"""The Python engine, which runs bytecode with numpy kernels.  It defines what programs do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import types as T
from ..building import alone, kept
from ..errors import ScriptError
from ..ir import Function
from ..limits import Limits
from ..objects import ScriptObject
from ..ops.calling.current import calls, mode
from ..ops.derivatives.recorder import activate
from .arguments import bind
from .code import Code
from .gradients import give_all, is_wanted, leaves, note_kept, refuse_batches, straight_result
from .link import link
from .prepare import code_of, running_code
from .reach import asks_for_gradients, calls_by_name, classes_behind, may_keep, reachable
from .vm import Interpreter, Program

PROGRAM = "python_program"
"""Attribute of a Function that holds its Program."""

ASKS = "asks_for_gradients"
"""Attribute of a Function: by the classes behind interfaces, "yes" if it asks for gradients itself,
as `backward` does, else "no"; for "", "depends" if that depends on these classes."""

KEEPS = "keeps_values"
"""Attribute of a Function: "yes" if it may store values in what it is passed, else "no"."""

LOOKS_BACK = "looks_back"
"""Attribute of a Function: whether it uses gradients that Python's Tensors have."""

RECORDED = "recorded_program"
"""Attribute of a Function that holds the Program that runs if a gradient is wanted."""


class PythonEngine:
    name = "python"

    def run(
        self,
        function: Function,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
    ) -> Any:
        if calls.recorder is not None or function_asks(function, args, kwargs):
            return run_seen(function, args, kwargs, limits)
        program = program_of(function)
        return Interpreter(program_of, limits).run(program, bind(program.code.schema, args, kwargs))

    def direct(self, function: Function) -> None:
        return None

    def missing(self, function: Function, classes: Iterable[T.ClassType] = ()) -> Counter[str]:
        counts: Counter[str] = Counter()
        for code in reachable(function, classes=classes).values():
            lacking = {i for i, call in enumerate(link(sound(code))) if call.kernel is None}
            counts.update(
                code.operators[i.x].qualified_name
                for i in code.instructions
                if i.op in ("OP", "OPN") and i.x in lacking
            )
        return counts

    def adopt(self, obj: Any) -> Any:
        return obj


def function_asks(
    function: Function, args: Sequence[Any], kwargs: Mapping[str, Any] | None
) -> bool:
    """Whether a function, or one that it calls, asks for gradients itself, as `backward` does.  If
    one does not compile, this is not known, and the answer is yes.

    Which methods it calls by an interface depends on the objects in the arguments.
    """
    answers: dict[Any, str] = kept(function.attributes, ASKS, dict)

    def find(classes: Iterable[T.ClassType] = (), by_name: str = "") -> str:
        try:
            codes = reachable(function, classes=classes).values()
        except ScriptError:
            return "yes"
        return by_name if by_name and any(map(calls_by_name, codes)) else asked(codes)

    answer = kept(answers, "", lambda: find(by_name="depends"))
    if answer == "depends":
        classes = classes_behind(function, bind(function.schema, args, kwargs))
        answer = kept(answers, classes, lambda: find(classes))
    return answer == "yes"


def asked(codes: Iterable[Code]) -> str:
    return "yes" if asks_for_gradients(codes) else "no"


def function_keeps(function: Function) -> bool:
    """Whether a function, or one that it calls, may store values in objects, containers or tensors
    that it is passed.  If one does not compile, the answer is yes."""

    def find() -> str:
        try:
            return "yes" if any(map(may_keep, reachable(function).values())) else "no"
        except ScriptError:
            return "yes"

    return kept(function.attributes, KEEPS, find) == "yes"


def looks_back(function: Function) -> bool:
    """Whether a function, or one that it calls, uses gradients that Python's Tensors have (`.grad`,
    `backward`)."""
    found = function.attributes.get(LOOKS_BACK)
    if found is None:
        from ..ops.table import having

        names = having("looks_back")
        found = any(
            ref.qualified_name in names
            for code in reachable(function).values()
            for ref in code.operators
        )
        function.attributes[LOOKS_BACK] = found
    return bool(found)


def run_seen(
    function: Function, args: Sequence[Any], kwargs: Mapping[str, Any] | None, limits: Limits | None
) -> Any:
    """Run a call that may have to be recorded for derivatives: some tensor of the process requires
    a gradient, or the function asks for gradients itself."""
    result = straight_result(function, "python", args, kwargs, limits)
    if result is not NotImplemented:
        return result
    if looks_back(function):
        for value in leaves(args if not kwargs else (*args, *kwargs.values())):
            if isinstance(value, ScriptObject):
                give_all(value)  # keeps its Tensors, which have the gradients
    is_seen = is_wanted(args, kwargs)
    refuse_batches(args, kwargs)
    if not is_seen and function_asks(function, args, kwargs):
        is_seen = True
        activate()  # parameters that Python was never given may require gradients
    find = recorded_program_of if is_seen else program_of
    program = find(function)
    values = bind(program.code.schema, args, kwargs)
    was_quiet, mode.is_quiet = mode.is_quiet, not is_seen
    interpreter = Interpreter(find, limits)
    try:
        return interpreter.run(program, values)
    finally:
        mode.is_quiet = was_quiet
        if function_keeps(function):  # the interpreter still has the tensors that were stored
            note_kept(args, kwargs)


@alone
def recorded_program_of(function: Function) -> Any:
    """The Program of the function's own graph, not of the one that `optimize` made, made once."""
    found = function.attributes.get(RECORDED)
    if found is None:
        if not function.is_defined and function.ready() is None:
            return program_of(function)
        code = sound(code_of(function))
        found = function.attributes[RECORDED] = Program(code, link(code))
    return found


def program_of(function: Function) -> Program:
    """The Program that runs if no gradient is wanted, made once."""
    return function.attributes.get(PROGRAM) or make_program(function)


@alone
def make_program(function: Function) -> Program:
    code = sound(running_code(function))
    return kept(function.attributes, PROGRAM, lambda: Program(code, link(code)))


def sound(code: Code) -> Code:
    """Return the code, after verifying it if that has not been done yet.

    Raises ArchiveError if it is not sound.
    """
    if not code.is_sound:
        from .verify import verify

        verify(code)
        code.is_sound = True
    return code
