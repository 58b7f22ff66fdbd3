"""Brings everything that is made from the operator table up to date.

    python cpp_loader/tools/generate.py

Run it after a declaration, a fact or a native kernel has changed; it needs a C++ compiler.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

STEPS = (
    ("-m", "scriptlang.ops.lacking"),  # the lists, with facts: all others read it
    ("cpp_loader/tools/generate_ops_def.py",),
    ("cpp_loader/tools/families.py", "--check"),
    ("cpp_loader/tools/generate_overloads.py",),  # reads ops.def
    ("cpp_loader/tools/generate_bodies.py",),
    ("cpp_loader/tools/generate_derivatives.py",),
    ("cpp_loader/tools/generate_source_rules.py",),
    ("-m", "scriptlang.ops.document"),  # reads ops.def
    ("-m", "scriptlang.ops.stubs"),  # what editors and type checkers know
)
"""Arguments of Python, in this order."""


def main() -> None:
    for step in STEPS:
        print("python", *step, flush=True)
        subprocess.run([sys.executable, *step], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
