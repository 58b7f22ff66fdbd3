"""The errors of scriptlang: one base class; errors say where they occurred and what to do."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .records import record
from .source import Span

COMPILING, CALLED = "compiling ", ", called at "
"""Parts of the lines of `CompileError.chain`: `compiling f, called at place`."""


class ScriptError(RuntimeError):
    """The base class of all errors that scriptlang itself raises: RuntimeErrors, as PyTorch's."""


class CompileError(ScriptError):
    """The program is not in the language, or its types do not fit.

    message: what is wrong, in one sentence. span: where. help: what to write instead. notes:
    further lines (candidates, reasons). chain: lines such as "compiling f, called from g
    (place)".
    """

    def __init__(
        self,
        message: str,
        span: Span | None = None,
        help: str | None = None,
        notes: tuple[str, ...] = (),
        chain: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.help = help
        self.notes = tuple(notes)
        self.chain = tuple(chain)

    def while_compiling(self, line: str) -> CompileError:
        """Add a line to the chain of calls that led here; returns self."""
        if line not in self.chain:
            self.chain += (line,)
        return self

    def __str__(self) -> str:
        head = f"{self.span.place}: error: " if self.span else "error: "
        lines = [head + self.message]
        if self.span:
            lines.append(self.span.excerpt())
        lines += [f"  {note}" for note in self.notes]
        lines += [f"  {line}" for line in self._calls()]
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)

    def _calls(self) -> Iterator[str]:
        """The lines of the chain; of a function that was called they say by which one."""
        for line, outer in zip(self.chain, [*self.chain[1:], ""]):
            inner, called, place = line.partition(CALLED)
            if not called:
                yield f"while {line}"
                continue
            inner, caller = (t.removeprefix(COMPILING) for t in (inner, outer.partition(CALLED)[0]))
            by = f"{caller!r} at {place}" if outer.startswith(COMPILING) else place
            yield f"{inner!r} is being compiled since it was called from {by}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.span, self.help, self.notes, self.chain)


class NotCompilable(CompileError, TypeError):
    """Raised if `script` gets an object that has no source."""


@record(frozen=True)
class Frame:
    """One entry of a script stack: the function, and the location in it that was running."""

    function: str
    span: Span | None = None

    def __str__(self) -> str:
        if self.span is None:
            return f"  in {self.function}"
        return f"  at {self.span.place} in {self.function}\n{self.span.excerpt()}"


class RunError(ScriptError):
    """A running program failed. `stack` is the script-level stack, outermost call first."""

    def __init__(self, message: str, stack: tuple[Frame, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.stack = tuple(stack)

    @property
    def script_stack(self) -> tuple[Frame, ...]:
        """The stack, under the name that it has on other exceptions."""
        return self.stack

    def __str__(self) -> str:
        if not self.stack:
            return self.message
        return f"{self.message}\n{stack_text(self.stack)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.stack)


class MissingOperatorError(RunError, NotImplementedError):
    """A program reached an operator that the engine lacks, or one without a derivative.

    It is a NotImplementedError, as what PyTorch raises is.
    """


class LimitError(RunError):
    """A program exceeded one of its limits (instructions, bytes, depth, time)."""


class ArchiveError(ScriptError):
    """A file is malformed, unsafe, too large, or of a kind that cannot be loaded.

    `path` is the file, if it was given by its path, `record` the part of the archive; `help` says
    what to do.
    """

    path: str | None = None

    def __init__(self, message: str, record: str | None = None, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.record = record
        self.help = help

    def __str__(self) -> str:
        text = ": ".join(part for part in (self.path, self.record, self.message) if part)
        return f"{text}\n  help: {self.help}" if self.help else text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.record, self.help), {"path": self.path}


@contextmanager
def reading(source: Any) -> Iterator[None]:
    """Errors of archives that are raised inside name the file, if `source` is a path."""
    try:
        yield
    except ArchiveError as e:
        if e.path is None and isinstance(source, (str, os.PathLike)):
            e.path = os.fspath(source)
        raise


class GraphError(ScriptError):
    """A graph violates an invariant of the IR; raised by `irverify.verify`."""


_raised_classes: weakref.WeakValueDictionary[str, type] = weakref.WeakValueDictionary()


def may_be_raised(qualified_name: str, cls: type) -> None:
    """Register the Python class of an exception that a program mentions."""
    _raised_classes[qualified_name] = cls


def raised_class(qualified_name: str) -> type | None:
    """The Python class with that name, if a program compiled here mentions it; else None."""
    return _raised_classes.get(qualified_name)


def attach_stack(error: BaseException, stack: tuple[Frame, ...]) -> BaseException:
    """Attach the script stack to an exception that a program raised; returns the exception.

    Exceptions of other classes show it in their traceback (as a note, from Python 3.11 on).
    """
    if script_stack(error):
        return error
    if isinstance(error, RunError):
        error.stack = tuple(stack)
    else:
        error.script_stack = tuple(stack)  # type: ignore[attr-defined]
    if stack and hasattr(error, "add_note") and str(error) == error_text(error):
        error.add_note(stack_text(stack))
    return error


def error_text(error: BaseException) -> str:
    """The text of an error without its script stack."""
    return error.message if isinstance(error, RunError) else str(error)


def stack_text(stack: tuple[Frame, ...]) -> str:
    """The text of a script stack, one call per line, outermost first."""
    return "\n".join(["script stack (outermost first):", *map(str, stack)])


def script_stack(error: BaseException) -> tuple[Frame, ...]:
    """The script stack of an exception raised by a script, outermost call first, or ()."""
    return getattr(error, "script_stack", ())
