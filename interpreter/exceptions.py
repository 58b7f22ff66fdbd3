"""Exceptions that programs raise, as Python classes."""

from __future__ import annotations

import builtins
from functools import lru_cache

from ..errors import RunError

PREFIX = "builtins."


class UserException(RunError):
    """Base of the exception classes that programs define; `class_name` is the qualified name."""

    class_name = ""


@lru_cache(maxsize=256)
def exception_class(qualified_name: str | None) -> type[Exception]:
    """The class to raise for a qualified name in a program: the builtin exception, a subclass of
    UserException of that name, or RunError where there is no name.

    Only builtin subclasses of Exception that a single message makes are taken: a program cannot
    raise SystemExit or KeyboardInterrupt.
    """
    if not qualified_name:
        return RunError
    if qualified_name.startswith(PREFIX) or "." not in qualified_name:
        cls = getattr(builtins, qualified_name.removeprefix(PREFIX), None)
        if isinstance(cls, type) and issubclass(cls, Exception) and _takes_message(cls):
            return cls
    short = qualified_name.rpartition(".")[2]
    return type(short, (UserException,), {"class_name": qualified_name})


def _takes_message(cls: type[Exception]) -> bool:
    try:
        cls("")
    except TypeError:
        return False
    return True


def make(message: str, qualified_name: str | None) -> Exception:
    """The exception that `raise` in a program stands for."""
    return exception_class(qualified_name)(message)
