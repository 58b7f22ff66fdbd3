"""What decorators say about how a function is compiled: export, ignore, unused.

The mark is PyTorch's: an attribute `_torchscript_modifier` whose text begins with the word.
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
"""Word -> the text that PyTorch writes."""

DROPPED = ("unused", "_drop")
IGNORED = ("ignore", *DROPPED)
"""Marks of functions whose body is not compiled."""

_WORDS = {text: word for word, text in TEXTS.items()}


def modifier(obj: Any) -> str | None:
    """The word that a function or method is marked with; None for no mark."""
    text = getattr(obj, MARK, None)
    return _WORDS.get(text) if isinstance(text, str) else None


def is_ignored(obj: Any) -> bool:
    """Whether the body of a function is left out of programs."""
    return modifier(obj) in IGNORED


def mark(obj: Any, word: str) -> Any:
    """Mark a function; returns it."""
    setattr(obj, MARK, TEXTS[word])
    return obj
