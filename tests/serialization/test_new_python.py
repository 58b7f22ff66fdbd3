"""Archives are written where Python has no longer what astunparse reads of `ast`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import ast, io
for name in ("n", "s"):                              # Python 3.14 removed these
    if hasattr(ast.Constant, name):
        delattr(ast.Constant, name)
for name in ("Num", "Str", "Bytes", "NameConstant", "Ellipsis"):
    if hasattr(ast, name):
        delattr(ast, name)
import scriptlang
module = scriptlang.load("tests/data/resnet.script.pt")
out = io.BytesIO()
module.save(out)
assert scriptlang.load(io.BytesIO(out.getvalue())).code == module.code
print(module.code)
"""


def test_code_is_printed_without_the_old_classes_of_constants():
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "def forward" in done.stdout
