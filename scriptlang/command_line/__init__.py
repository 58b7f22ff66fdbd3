"""The command line, `scriptlang COMMAND ...`: one module per command; `output.py` prints
results."""

from .main import main

__all__ = ["main"]
