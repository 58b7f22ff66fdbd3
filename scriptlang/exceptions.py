"""Exceptions that programs and their operators raise, as Python classes.

`raise ValueError("no")` in a program raises an exception that is a ValueError, a
`scriptlang.jit.Error` (a RunError, with the script stack) and a RuntimeError. So it can be caught
as in Python and as in PyTorch. An IndexError of an operator is an IndexError and a RuntimeError.
"""

from __future__ import annotations

import builtins
import opcode
from functools import lru_cache
from typing import Any

from .errors import Frame, RunError, raised_class

PREFIX = "builtins."


class RaisedError(RunError):
    """Raised for `raise` in a program; `class_name` is the exception's qualified name."""

    class_name = ""

    def __init__(self, message: str = "", stack: tuple[Frame, ...] = ()) -> None:
        Exception.__init__(self, message)  # do not run the __init__ of the program's class
        self.message = message
        self.stack = tuple(stack)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (self.message, self.class_name, self.stack)


def restored(message: str, class_name: str, stack: tuple[Frame, ...]) -> Exception:
    """The exception that was pickled."""
    error = make(message, class_name)
    error.stack = stack  # type: ignore[attr-defined]  # a class that the program names
    return error


@lru_cache(maxsize=256)
def exception_class(qualified_name: str | None) -> type[Exception]:
    """The class to raise for a qualified name in a program.

    It is a RaisedError that also derives from the builtin exception of that name, or from the class
    that a script of this process refers to. Without a name it is RunError. Only subclasses of
    Exception count as builtins: a program cannot raise SystemExit or KeyboardInterrupt.
    """
    if not qualified_name:
        return RunError
    named = raised_class(qualified_name)
    if named is None and (qualified_name.startswith(PREFIX) or "." not in qualified_name):
        named = getattr(builtins, qualified_name.removeprefix(PREFIX), None)
    short = qualified_name.rpartition(".")[2]
    facts = {"class_name": qualified_name, "__module__": qualified_name.rpartition(".")[0]}
    if isinstance(named, type) and issubclass(named, Exception):
        facts["__module__"] = named.__module__
        try:
            return type(short, (RaisedError, named), facts)
        except TypeError:
            pass  # incompatible instance layouts
    return type(short, (RaisedError,), facts)


def make(message: str, qualified_name: str | None) -> Exception:
    """The exception for a `raise` in a program."""
    return exception_class(qualified_name)(message)


@lru_cache(maxsize=256)
def failure_class(cls: type[Exception]) -> type[Exception]:
    """A class of the same name that is also a RuntimeError."""
    if issubclass(cls, RuntimeError):
        return cls
    try:
        return type(cls.__name__, (cls, RuntimeError), {"__module__": cls.__module__})
    except TypeError:
        return cls


def failure(error: Exception) -> Exception:
    """The error of an operator as a run raises it: with its class, and as a RuntimeError.

    The class is the one that the operator raises. If numpy or Python raise an error because the
    operator did not check its arguments, the class is RuntimeError, as in the native engine.
    """
    if is_unforeseen(error):
        return RuntimeError(str(error)).with_traceback(error.__traceback__)
    cls = type(error)
    if isinstance(error, RuntimeError) or cls.__module__ != "builtins":
        return error
    raised: Any = cls
    try:
        new: Exception = failure_class(raised)(*error.args)
    except TypeError:
        return error
    new.__cause__ = error.__cause__
    return new.with_traceback(error.__traceback__)


RAISE = opcode.opmap["RAISE_VARARGS"]
OURS = __package__ + "."
OPERATORS = f"{__package__}.ops."
BELOW = ("numpy.", "ml_dtypes.")


def is_unforeseen(error: Exception) -> bool:
    """Whether an operator failed without a `raise` of our own code.

    Functions of users that operators call, as derivatives do, may raise anything.
    """
    if isinstance(error, (RuntimeError, MemoryError, Warning)):
        return False
    at, within = error.__traceback__, False
    name, last = "", at
    while at is not None:
        name, last = at.tb_frame.f_globals.get("__name__", "") + ".", at
        within = within or name.startswith(OPERATORS)
        if within and not name.startswith((OURS, *BELOW)):
            return False
        at = at.tb_next
    if not within or last is None:
        return False
    return name.startswith(BELOW) or last.tb_frame.f_code.co_code[last.tb_lasti] != RAISE


def failed(kind: str, message: str) -> Exception:
    """The error of an operator of the native engine, given the name of a builtin class."""
    cls: Any = getattr(builtins, kind, None)
    if not (isinstance(cls, type) and issubclass(cls, Exception)):
        return RunError(message)
    if issubclass(cls, KeyError):  # KeyError would quote its text
        return RuntimeError("KeyError: " + message.removeprefix("'").removesuffix("'"))
    raised: Any = cls
    return failure_class(raised)(message)
