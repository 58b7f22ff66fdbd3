"""Reads and sets the modifiers by which decorators say how a function is compiled.

Modifiers are words such as export, ignore and unused.  They are stored as PyTorch stores them: in
an attribute `_torchscript_modifier` of the function, as one of the TEXTS.
"""

from __future__ import annotations

from typing import Any

MARK = "_torchscript_modifier"

TEXTS: dict[str, str] = {
    "export": "export (compile this function even if nothing calls it)",
    "ignore": "ignore (leave as a call to Python, cannot be torch.jit.save'd)",
    "unused": "unused (ignored and replaced with raising of an exception)",
    "default": "default (compile if called from an exported function / forward)",
    "_drop": "_drop (function is fully ignored, declaration can be unscriptable)",
    "copy": "if this method is not scripted, copy the python method onto the scripted model",
}
"""Modifier -> the text that PyTorch stores in the attribute."""

DROPPED = ("unused", "_drop")
IGNORED = ("ignore", *DROPPED)
"""Modifiers of functions whose body is not compiled."""

_WORDS = {text: word for word, text in TEXTS.items()}


def modifier(obj: Any) -> str | None:
    """The modifier of a function or method; None if it has none."""
    text = getattr(obj, MARK, None)
    return _WORDS.get(text) if isinstance(text, str) else None


def is_ignored(obj: Any) -> bool:
    """Whether the body of a function is not compiled."""
    return modifier(obj) in IGNORED


def mark(obj: Any, word: str) -> Any:
    """Set the modifier of a function, and return the function."""
    setattr(obj, MARK, TEXTS[word])
    return obj
