"""The command line, `scriptlang COMMAND ...`: a module a command, `output.py` for what they say."""

from .main import main

__all__ = ["main"]
