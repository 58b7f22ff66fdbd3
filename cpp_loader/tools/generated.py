"""What the generators share: where they write, and `--check`."""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Callable, Mapping

LOADER = pathlib.Path(__file__).resolve().parent.parent
"""The folder cpp_loader."""

sys.path.insert(0, str(LOADER.parent))  # the checkout as a package


def write_or_check(description: str, texts: Callable[[], Mapping[pathlib.Path, str]]) -> None:
    """The main program of a generator whose docstring is `description`.

    Writes each text to its file.  With `--check` it compares instead, and ends with exit status 1
    when a file is stale.  The texts are made after the arguments are read: that takes long.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    for target, text in texts().items():
        if not check:
            target.write_text(text)
            print(f"wrote {target.relative_to(LOADER)}: {text.count(chr(10))} lines")
        elif target.read_text() != text:
            name = target.relative_to(LOADER.parent)
            sys.exit(f"{name} is stale: run python {sys.argv[0]}, or generate.py, which runs all")
