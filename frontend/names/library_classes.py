"""Classes of torch that programs use, such as `no_grad`, written in the scripted language.

Archives store them under the names that they have in PyTorch, which PyTorch recognizes.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from scriptlang import types as T
from scriptlang.dtypes import bfloat16, float16
from scriptlang.source import Source

from ..overloads.language_functions import LanguageResolver
from ..values.sugared import ClassValue, SugaredValue
from ..whole import whole

if TYPE_CHECKING:
    from ...source import Span
    from ..values.builder import Builder
    from ..values.sugared import Arg

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

_AUTOCAST = """
class autocast:
    def __init__(self, {parameters}) -> None:
        self.fast_dtype = {dtype}
        self._enabled = enabled
        self.device = {device}

    def __enter__(self) -> None:
        pass

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        pass
"""

_OF_ONE_DEVICE = "enabled: bool = True, dtype: int = {}, cache_enabled: bool = True"

SOURCES: dict[str, tuple[str, str]] = {
    "no_grad": ("torch.autograd.grad_mode", _GRAD_MODE.format(name="no_grad", mode=False)),
    "record_function": ("torch.autograd.profiler", _RECORD_FUNCTION),
    "strict_fusion": ("torch.jit", _STRICT_FUSION),
    "autocast": (
        "torch.amp.autocast_mode",
        _AUTOCAST.format(
            parameters="device_type: str, dtype: Optional[int] = None, enabled: bool = True, "
            "cache_enabled: Optional[bool] = None",
            device="device_type",
            dtype="torch.get_autocast_dtype(device_type) if dtype is None else dtype",
        ),
    ),
    "cpu.amp.autocast": (
        "torch.cpu.amp.autocast_mode",
        _AUTOCAST.format(
            parameters=_OF_ONE_DEVICE.format(bfloat16.code), device="'cpu'", dtype="dtype"
        ),
    ),
    "cuda.amp.autocast": (
        "torch.cuda.amp.autocast_mode",
        _AUTOCAST.format(
            parameters=_OF_ONE_DEVICE.format(float16.code), device="'cuda'", dtype="dtype"
        ),
    ),
}
"""Name in torch -> (module of the class, source text of the class)."""

_MODE = "use torch.no_grad(), or set the mode around the call of the program"

REFUSED: dict[str, str] = {"enable_grad": _MODE, "inference_mode": _MODE, "set_grad_enabled": _MODE}
"""Context manager of torch that programs cannot use -> the help of the error."""


class RefusedContext(SugaredValue):
    """A context manager of torch that is not part of the language; calling it raises an error."""

    def __init__(self, name: str) -> None:
        self.name, self.kind = name, f"'torch.{name}'"

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        self.fail("is not part of the language", span, REFUSED[self.name])


def refused_context(cls: type) -> RefusedContext | None:
    of_torch = cls.__module__.partition(".")[0] in ("torch", "scriptlang")
    return RefusedContext(cls.__name__) if of_torch and cls.__name__ in REFUSED else None


def library_name(cls: type) -> str | None:
    """The name in SOURCES of a class of torch or scriptlang; None if it has none."""
    package = cls.__module__.partition(".")[0]
    if package not in ("torch", "scriptlang"):
        return None
    for name, (module, _) in SOURCES.items():
        if name.rpartition(".")[2] == cls.__name__ and (
            module == cls.__module__ or package == "scriptlang"
        ):
            return name
    return None


@cache
def library_class(name: str) -> ClassValue | None:
    """The class of this name in torch, compiled when it is first used; None if there is none."""
    if name not in SOURCES:
        return None
    module, text = SOURCES[name]
    source = Source(text, "<torch>")
    type = T.ClassType(f"__torch__.{module}.{name.rpartition('.')[2]}")
    whole.define_from_syntax(
        ast.parse(text).body[0], source, type, lambda statement: LanguageResolver()
    )
    return ClassValue(type)
