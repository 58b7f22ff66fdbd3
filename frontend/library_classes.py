"""Classes of torch that programs use, written in the language: `with torch.no_grad():`.

They are stored in archives under PyTorch's names, so that PyTorch finds what it knows.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from scriptlang import types as T
from scriptlang.source import Source

from .sugared import ClassValue

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

SOURCES: dict[str, tuple[str, str]] = {
    "no_grad": ("torch.autograd.grad_mode", _GRAD_MODE.format(name="no_grad", mode=False)),
    "inference_mode": ("torch.autograd.grad_mode", _GRAD_MODE.format(name="inference_mode",
                                                                     mode=False)),
    "record_function": ("torch.autograd.profiler", _RECORD_FUNCTION),
    "enable_grad": ("torch.autograd.grad_mode", _GRAD_MODE.format(name="enable_grad", mode=True)),
}
"""Name in torch -> (its module, the text of the class)."""


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
