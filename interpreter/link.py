"""Resolves the operators of a Code to kernels of the Python engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import MissingOperatorError, RunError
from ..ops import table
from ..ops.calling.current import calls
from ..records import record
from ..schema import Argument, Schema
from .code import Code, OperatorRef
from .compiler import COUNTED, PROMOTED
from .handlers import HANDLERS
from .refusals import whatever_the_type

AS_OPCODES: dict[str, str] = {**PROMOTED, **COUNTED, "prim::unchecked_cast": "UNCHECKED_CAST"}
"""The opcodes that do the same as operators of these names, which code may call instead."""


@record(frozen=True)
class Call:
    """An operator ready to be called.

    kernel: takes all arguments of the schema; None if the engine lacks the operator.
    given: how many arguments the call takes from the stack; None if the instruction states it.
    defaults: the values of the arguments that are not given.  They are inserted after the given
    ones, but before `out` arguments.
    outs: how many of the given arguments are `out` arguments.
    results: how many values the kernel returns; None for a tuple of any length.
    operator: the operator of the table by which calls are recorded for derivatives; None if they
    are not recorded.
    """

    ref: OperatorRef
    kernel: Callable[..., Any] | None
    given: int | None
    defaults: tuple[Any, ...] = ()
    outs: int = 0
    results: int | None = 1
    operator: table.Operator | None = None

    def run(self, stack: list[Any], count: int | None = None) -> None:
        """Replace the arguments on the stack by the results.

        count: the number of arguments, if `given` is None.  Raises MissingOperatorError if the
        engine lacks the operator.
        """
        if self.kernel is None:
            raise MissingOperatorError(missing_text(self.ref))
        given = self.given if self.given is not None else count or 0
        at = len(stack) - given
        args = stack[at:]
        del stack[at:]
        if self.defaults:
            args[len(args) - self.outs : len(args) - self.outs] = self.defaults
        try:
            if calls.recorder is None or self.operator is None:
                result = self.kernel(*args)
            else:
                result = calls.recorder.run(self.operator, self.kernel, args)
        except NotImplementedError as refused:
            if not self.is_repeatable():
                raise
            raise whatever_the_type(self.kernel, args, refused) from None
        if self.results == 1:
            stack.append(result)
        elif self.results != 0:
            stack.extend(result)

    def is_repeatable(self) -> bool:
        """Whether calling the operator again has no visible effect, so that `whatever_the_type` may
        do so."""
        operator = self.operator
        if operator is None or operator.kind == "custom":
            return False
        facts = operator.facts
        return not (facts.random or facts.effect or operator.schema.takes_generator)


BUILT_IN = (
    *("aten::", "prim::", "prims::", "quantized::", "prepacked::"),
    *("scriptlang::", "torchvision::"),
)
"""Prefixes of the operators that PyTorch, torchvision and scriptlang define."""


def missing_text(ref: OperatorRef) -> str:
    if table.find(ref.name, ref.overload) is not None and is_lacking(ref):
        return (
            f"the program calls {ref.qualified_name} with {ref.num_args} arguments, which this "
            "overload does not take"
        )
    if "sparse" in ref.name:
        return f"the python engine does not have {ref.qualified_name}: there are no sparse tensors"
    if not ref.name.startswith(BUILT_IN):
        return (
            f"nobody has registered the operator {ref.qualified_name}: scriptlang.library, or a "
            "plug-in by scriptlang.ops.load_library, does before the archive is loaded"
        )
    return (
        f"the python engine does not have the operator {ref.qualified_name}; "
        "`scriptlang check` lists all that are missing from an archive"
    )


def link(code: Code) -> list[Call]:
    """The operators of a code, in order.  Missing ones raise only when they are called."""
    return [resolve(ref) for ref in code.operators]


def resolve(ref: OperatorRef) -> Call:
    operator = table.find(ref.name, ref.overload)
    if is_lacking(ref):
        return Call(ref, None, ref.num_args)
    kernel = None if operator is None else operator.kernel
    if ref.name == "prim::TupleUnpack" and kernel is None:
        return Call(ref, _tuple_unpack, 1, results=None)
    if kernel is None and ref.name in AS_OPCODES:
        return Call(ref, opcode_kernel(AS_OPCODES[ref.name]), ref.num_args)
    if kernel is None:
        return Call(ref, None, ref.num_args)
    assert operator is not None
    schema = operator.schema
    results = None if schema.is_varret else len(schema.returns)
    if schema.is_vararg:
        return Call(ref, kernel, ref.num_args, results=results)
    return Call(ref, kernel, *filled(ref, schema), results, operator)


def is_lacking(ref: OperatorRef) -> bool:
    """Whether a call fits no operator of the table: either there is none of that name, or it does
    not accept that number of arguments, as in another version of PyTorch.  Such a call raises when
    it is reached."""
    operator = table.find(ref.name, ref.overload)
    if operator is None:
        return ref.name != "prim::TupleUnpack" and ref.name not in AS_OPCODES
    return not operator.schema.is_vararg and skipped(ref, operator.schema) is None


NO_CODE: Any = None
"""Passed as the code to handlers of opcodes that do not use it."""


def opcode_kernel(op: str) -> Callable[..., Any]:
    """A kernel that applies an opcode to its arguments and returns the one result."""

    def kernel(*args: Any) -> Any:
        stack = list(args)
        HANDLERS[op](stack, NO_CODE, len(args), 0)
        return stack.pop()

    return kernel


def _tuple_unpack(value: tuple[Any, ...]) -> tuple[Any, ...]:
    return value


def filled(ref: OperatorRef, schema: Schema) -> tuple[int, tuple[Any, ...], int]:
    """(given, defaults, outs) of the Call for a call with `ref.num_args` arguments.

    Raises RunError if an argument without a default is not given.
    """
    given = len(schema.arguments) if ref.num_args is None else ref.num_args
    if given >= len(schema.arguments):
        return given, (), 0
    arguments = skipped(ref, schema)
    if arguments is None:
        raise RunError(
            f"{ref.qualified_name} is given {given} arguments, but it needs more: {schema}"
        )
    return given, tuple(a.default for a in arguments), out_arguments(schema)


def skipped(ref: OperatorRef, schema: Schema) -> tuple[Argument, ...] | None:
    """The arguments that a call leaves to their defaults; None if it does not fit the schema."""
    arguments = schema.arguments
    given = len(arguments) if ref.num_args is None else ref.num_args
    if given == len(arguments):
        return ()
    outs = out_arguments(schema)
    left = arguments[given - outs : len(arguments) - outs]
    fits = outs <= given < len(arguments) and all(a.has_default for a in left)
    return left if fits else None


def out_arguments(schema: Schema) -> int:
    """How many arguments at the end of a schema are `out` arguments."""
    count = 0
    for a in reversed(schema.arguments[1:]):
        if not (a.kwarg_only and a.alias and a.alias.is_write):
            break
        count += 1
    return count
