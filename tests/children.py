"""Processes that tests start: they import the scriptlang that the test has.

Where scriptlang is installed, the checkout must not hide it: a child started in the checkout would
import the sources there, which have no native engine.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Any

import scriptlang

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOME = pathlib.Path(scriptlang.__file__).resolve().parent.parent


def places() -> dict[str, Any]:
    """Keywords of subprocess.run and Popen: a folder without packages, and the way to both."""
    way = os.pathsep.join([str(HOME), str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {"cwd": ROOT / "tests" / "data", "env": {**os.environ, "PYTHONPATH": way}}


def run(*arguments: Any, **keywords: Any) -> subprocess.CompletedProcess:
    """Run Python with these arguments to its end; keywords as of subprocess.run."""
    return subprocess.run([sys.executable, *map(str, arguments)], **places(), **keywords)


def start(*arguments: Any, **keywords: Any) -> subprocess.Popen:
    """Start Python with these arguments; keywords as of Popen."""
    return subprocess.Popen([sys.executable, *map(str, arguments)], **places(), **keywords)
