"""Classes of torch that programs use, written in the language: `with torch.no_grad():`.

They are stored in archives under PyTorch's names, so that PyTorch finds what it knows.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from scriptlang import types as T
from scriptlang.source import Source

from .sugared import ClassValue, SugaredValue

_GRAD_MODE = """
class {name}:
    def __init__(self) -> None:
        self.prev = False

    def __enter__(self) -> None:
        self.prev = torch.is_grad_enabled()
        torch.set_grad_enabled({mode})

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        torch.set_grad_enabled(self.prev)
"""

_RECORD_FUNCTION = """
class record_function:
    def __init__(self, name: str, args: Optional[str] = None) -> None:
        self.name = name
        self.args = args

    def __enter__(self) -> None:
        pass

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        pass
"""

_STRICT_FUSION = """
class strict_fusion:
    def __init__(self) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, type: Any, value: Any, tb: Any) -> None:
        pass
"""

SOURCES: dict[str, tuple[str, str]] = {
    "no_grad": ("torch.autograd.grad_mode", _GRAD_MODE.format(name="no_grad", mode=False)),
    "record_function": ("torch.autograd.profiler", _RECORD_FUNCTION),
    "strict_fusion": ("torch.jit", _STRICT_FUSION),
}
"""Name in torch -> (its module, the text of the class)."""

_MODE = "use torch.no_grad(), or set the mode around the call of the program"

REFUSED: dict[str, str] = {
    "enable_grad": _MODE, "inference_mode": _MODE, "set_grad_enabled": _MODE,
    "autocast": "convert the tensors that shall be of lower precision: x.to(torch.bfloat16)",
}
"""Contexts of torch that stand after no `with` of a program -> what to do instead."""


class RefusedContext(SugaredValue):
    """A context of torch that is not part of the language."""

    def __init__(self, name: str):
        self.name, self.kind = name, f"'torch.{name}'"

    def call(self, b, args, kwargs, span):
        self.fail("is not part of the language", span, REFUSED[self.name])


def refused_context(cls: type) -> RefusedContext | None:
    of_torch = cls.__module__.partition(".")[0] in ("torch", "scriptlang")
    return RefusedContext(cls.__name__) if of_torch and cls.__name__ in REFUSED else None


def is_library_class(cls: type) -> bool:
    """Whether a class of torch or scriptlang is one that programs may use."""
    return cls.__name__ in SOURCES and cls.__module__.partition(".")[0] in ("torch", "scriptlang")


@lru_cache(maxsize=None)
def library_class(name: str) -> ClassValue | None:
    """A class of torch by its name in torch; compiled on first use."""
    from .classes import define_from_syntax
    from .language_functions import LanguageResolver

    if name not in SOURCES:
        return None
    module, text = SOURCES[name]
    source = Source(text, "<torch>")
    type = T.ClassType(f"__torch__.{module}.{name}")
    define_from_syntax(ast.parse(text).body[0], source, type, lambda statement: LanguageResolver())
    return ClassValue(type)
