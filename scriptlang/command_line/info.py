"""scriptlang info: engines, CPU features, versions."""

from __future__ import annotations

import argparse

from .output import Output


def add(command: argparse.ArgumentParser) -> None:
    pass


def run(options: argparse.Namespace, out: Output) -> int:
    from ..api import facts_of_installation, info

    if out.json:
        out.data(facts_of_installation())
    else:
        info()
    return 0
