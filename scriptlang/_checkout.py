"""Lets a fresh clone run uninstalled.

`frontend/`, `interpreter/` and `serialization/` lie beside `scriptlang/` in the repository and
inside it once installed.  The finder below maps the three names; it is appended to
`sys.meta_path`, so an installed copy wins.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import pathlib
import sys

BESIDE = ("frontend", "interpreter", "serialization")
ROOT = pathlib.Path(__file__).resolve().parent.parent


class CheckoutFinder:
    """Finds `scriptlang.frontend` and its two neighbours beside the `scriptlang` folder."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        parent, _, name = fullname.rpartition(".")
        if parent != "scriptlang" or name not in BESIDE:
            return None
        folder = ROOT / name
        return importlib.util.spec_from_file_location(
            fullname, folder / "__init__.py", submodule_search_locations=[str(folder)])


def install() -> None:
    """Append the finder where this is a checkout (the three folders lie beside the package)."""
    if CheckoutFinder not in sys.meta_path and (ROOT / "frontend" / "__init__.py").is_file():
        sys.meta_path.append(CheckoutFinder)
