"""Access to the native engine's extension module, `scriptlang.interpreter._native`: loading it, the
reason if it is not available, and its process-wide settings.  The package may be installed without
it.
"""

from __future__ import annotations

import os
import warnings
from functools import cache
from types import ModuleType

from .. import _checkout, allocations
from ..ops.calling.current import calls, engine, marks, mode
from ..ops.shared.generator import default_generator

REASON = os.path.join(os.path.dirname(__file__), "native_build.txt")
"""The file in which a build that made no extension module writes the reason."""


@cache
def load() -> tuple[ModuleType | None, str]:
    """(extension module, ""), or (None, the reason why it is not available).  It also gives the
    module to the parts of the package that use it if it is loaded."""
    try:
        from . import _native  # type: ignore[attr-defined]  # where it is built
    except ImportError as e:
        if "_native" in str(e) and "cannot import name" in str(e):
            return None, reason()
        return None, f"its extension module does not load ({e})"
    default_generator.native = allocations.native = _native
    engine[:] = [_native]
    _native.watch_eager_calls(calls, default_generator, marks)
    calls.eager = _native.EagerCalls()
    mode.turn(mode.enabled)
    mode.tell()
    return _native, ""


def reason() -> str:
    """Why there is no extension module, and what to do."""
    hidden = _checkout.hidden_package()
    if hidden:
        return (
            f"it was not built in the checkout {_checkout.ROOT}, which hides the package installed "
            f"in {hidden}; run Python from another folder, or with -I"
        )
    why = "it was not built"
    if os.path.exists(REASON):
        with open(REASON, encoding="utf-8") as file:
            why = file.read().strip()
    return f"{why}; with a C++17 compiler and zlib at hand, install again"


@cache
def warn_if_lost() -> None:
    """Warn once if the engine should be available but is not: its build failed, or the module that
    was built does not load.  pip shows neither."""
    why = why_absent()
    was_left_out = "SCRIPTLANG_NATIVE=0" in why
    if why and (os.path.exists(REASON) or "does not load" in why) and not was_left_out:
        warnings.warn(f"programs run on the slower numpy engine: {why}", stacklevel=2)


def why_absent() -> str:
    """A clause that says why the engine is not available; empty if it is available."""
    return load()[1]


def describe() -> str:
    """Whether the engine is available, and its features or the reason, in one line."""
    native, why = load()
    return f"no: {why}" if native is None else f"yes, {native.describe()}"


def set_num_threads(n: int) -> None:
    native, _ = load()
    if native is not None:
        native.set_num_threads(n)


def get_num_threads() -> int:
    native, _ = load()
    return 1 if native is None else native.get_num_threads()
