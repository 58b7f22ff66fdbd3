"""The names of torch.jit, so that `import scriptlang as torch` serves scripts that say torch.jit.script."""

from __future__ import annotations

from .api import load, save, script, trace
from .module import ScriptFunction, ScriptModule

__all__ = ["ScriptFunction", "ScriptModule", "annotate", "is_scripting", "load", "save", "script",
           "trace"]


def annotate(the_type, value):
    """`value`, to be taken as a `the_type` by the compiler; in plain Python just the value."""
    return value


def is_scripting() -> bool:
    """False in plain Python, True in compiled programs."""
    return False
