"""Records PyTorch's results for expressions.py: `python -m tests.frontend.record_expressions`.

For each entry it writes the results of its runs and what they print, "raises" for an exception, or
"refused" if torch.jit does not compile it.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import runpy
import sys
import tempfile
from pathlib import Path

from tests.frontend import expressions

FILE = Path(__file__).with_name("expressions.json")


def recorded(run, args: tuple) -> list[str]:
    """[the result, what was printed], whether by Python or by the process itself."""
    sys.stdout.flush()
    saved, written = os.dup(1), io.StringIO()
    with tempfile.TemporaryFile() as file, contextlib.redirect_stdout(written):
        os.dup2(file.fileno(), 1)
        try:
            result = expressions.text_of(run(*copy.deepcopy(args)))
        except Exception:
            result = "raises"
        finally:
            os.dup2(saved, 1)
            os.close(saved)
        file.seek(0)
        return [result, file.read().decode() + written.getvalue()]


def functions(table: expressions.Table, folder: str):
    """(entry, Python function) for each entry of a table; they stand in a file of their own."""
    path = Path(folder, "entries.py")
    entries = expressions.bodies(table)
    texts = [
        expressions.function_text(table[0], body).replace("def f(", f"def f{i}(")
        for i, body in enumerate(entries)
    ]
    path.write_text("import math, cmath, torch\nfrom typing import *\n" + "".join(texts))
    names = runpy.run_path(str(path))
    return [(body, names[f"f{i}"]) for i, body in enumerate(entries)]


def main() -> None:
    import torch

    found: dict[str, dict[str, list | str]] = {}
    for name, table in expressions.TABLES.items():
        rows = found[name] = {}
        with tempfile.TemporaryDirectory() as folder:
            for body, function in functions(table, folder):
                try:
                    scripted = torch.jit.script(function)
                except Exception:
                    rows[body] = "refused"
                    continue
                rows[body] = [recorded(scripted, args) for args in table[2]]
    FILE.write_text(json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
    main()
