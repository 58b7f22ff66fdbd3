"""Processes that tests start: they import the scriptlang that the test has.

Where scriptlang is installed, the checkout must not hide it: a child started in the checkout would
import the sources there, which have no native engine.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import scriptlang

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOME = pathlib.Path(scriptlang.__file__).resolve().parent.parent


def places(**variables: str) -> dict[str, Any]:
    """Keywords of subprocess.run and Popen: a folder without packages, and the way to both.

    variables: more of the environment.
    """
    way = os.pathsep.join([str(HOME), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": way, **variables}
    return {"cwd": ROOT / "tests" / "data", "env": environment}


def run(
    *arguments: Any, variables: Mapping[str, str] = MappingProxyType({}), **keywords: Any
) -> subprocess.CompletedProcess:
    """Run Python with these arguments to its end; keywords as of subprocess.run.

    variables: more of the environment.
    """
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, **places(**variables), **keywords)


def start(*arguments: Any, **keywords: Any) -> subprocess.Popen:
    """Start Python with these arguments; keywords as of Popen."""
    return subprocess.Popen([sys.executable, *map(str, arguments)], **places(), **keywords)
