"""Another build of the native engine, such as one with sanitizers, in place of the checkout's own.

python -m pytest --native build/asan/out/_native.cpython-311-x86_64-linux-gnu.so tests/...
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import subprocess
import sys

NAME = "scriptlang.interpreter._native"


def use(path: str) -> None:
    """Make the extension module at `path` the native engine; before anything imports that."""
    if NAME in sys.modules:
        raise RuntimeError("the native engine is loaded already")
    import scriptlang.interpreter

    loader = importlib.machinery.ExtensionFileLoader(NAME, path)
    spec = importlib.util.spec_from_file_location(NAME, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    loader.exec_module(module)
    scriptlang.interpreter._native = module


def environment(path: str) -> dict[str, str]:
    """What a Python process needs in its environment to load a build with AddressSanitizer; {} for
    other builds."""
    with open(path, "rb") as file:
        if b"__asan_init" not in file.read():
            return {}
    libraries = [
        subprocess.run(
            ["c++", f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in ("libasan.so", "libstdc++.so")
    ]
    return {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4000"
        ":handle_segv=1:print_summary=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
