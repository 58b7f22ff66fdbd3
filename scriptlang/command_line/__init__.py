"""The command line, `scriptlang COMMAND ...`: a module per command; `output.py` prints results."""

from .main import main

__all__ = ["main"]
