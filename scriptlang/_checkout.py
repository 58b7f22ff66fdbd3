"""Lets a fresh clone run without being installed.

In the repository, `frontend/`, `interpreter/` and `serialization/` are next to `scriptlang/`; once
installed they are inside it. The finder below maps the three names. It is appended to
`sys.meta_path`, so an installed copy takes precedence.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from typing import Any

BESIDE = ("frontend", "interpreter", "serialization")
ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


class CheckoutFinder:
    """Finds `scriptlang.frontend` and the two others next to the `scriptlang` folder."""

    @staticmethod
    def find_spec(fullname: str, path: list[Any] | None = None, target: Any = None) -> Any:
        parent, _, name = fullname.rpartition(".")
        if parent != "scriptlang" or name not in BESIDE:
            return None
        folder = os.path.join(ROOT, name)
        return importlib.util.spec_from_file_location(
            fullname, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )


def hidden_package() -> str:
    """The folder of an installed scriptlang that this checkout hides on sys.path, or ""."""
    if not is_checkout():
        return ""
    others = [p for p in sys.path if os.path.realpath(p or os.curdir) != ROOT]
    found = importlib.machinery.PathFinder.find_spec("scriptlang", others)
    if found is None or found.origin is None:
        return ""
    return os.path.dirname(os.path.dirname(os.path.realpath(found.origin)))


def is_checkout() -> bool:
    """Whether the three folders are next to the package."""
    return os.path.isfile(os.path.join(ROOT, "frontend", "__init__.py"))


def install() -> None:
    """Append the finder if this is a checkout."""
    finders: list[Any] = sys.meta_path
    if is_checkout() and CheckoutFinder not in finders:
        finders.append(CheckoutFinder)
