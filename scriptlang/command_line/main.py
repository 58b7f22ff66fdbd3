"""The entry point of the command line: parser, errors, exit codes."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import os
import pathlib
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from .._version import __version__
from ..errors import ScriptError
from ..limits import Limits
from .output import Output

OK, FAULT, USAGE, LACKING, DIFFERS, INTERRUPTED = 0, 1, 2, 3, 4, 130

CODES = {
    OK: "done",
    FAULT: "the file or the program is at fault",
    USAGE: "the command line is at fault",
    LACKING: "(check) the archive is sound but needs operators that no engine here has",
    DIFFERS: "(diff, verify, run --compare) what was compared differs",
    INTERRUPTED: "interrupted",
}

EPILOG = "exit codes: " + "; ".join(f"{code} {text}" for code, text in CODES.items())

DESCRIPTION = """TorchScript without PyTorch: looks into .pt files of torch.jit.save, runs, times
and compares them. Begin with `scriptlang inspect FILE.pt`; `scriptlang COMMAND --help` shows the
options of a command."""

COMMANDS = {
    "inspect": "show the modules, methods and operators of an archive; as a page with --html",
    "code": "print the source code in an archive",
    "graph": "show the graph of a method, as text, SVG or HTML",
    "bytecode": "print the bytecode of a method, which the engines run",
    "run": "run a method on files, or on random inputs",
    "check": "load and verify an archive; list the operators that are missing",
    "verify": "compare the results with PyTorch's, value by value",
    "bench": "measure how long a method takes",
    "profile": "show where the time goes: by operator, module or line",
    "compile": "write an optimised archive, which starts at once and runs faster",
    "diff": "compare two archives: code, weights, attributes",
    "convert": "write the weights of an archive as .npz or .safetensors",
    "ops": "list the operators that archives reach, for a C++ library that has no others",
    "info": "print the engines, CPU features and versions",
    "completion": "print the completions for a shell",
}
"""The commands and their descriptions; each is a module of this package with `add` and `run`."""


class InputError(ScriptError):
    """Raised if a file named by an option, or the value of an option, cannot be used."""


class UsageError(Exception):
    """Raised for errors in the command line that the parser does not detect."""


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code. Errors are printed without a traceback."""
    given = sys.argv[1:] if argv is None else argv
    try:
        return run_command(given)
    except BrokenPipeError:
        return OK
    finally:
        write_rest()


def no_command(word: str) -> str:
    near = difflib.get_close_matches(word, COMMANDS, 1)
    if near:
        return f"there is no command {word!r}; did you mean {near[0]!r}?"
    if os.path.exists(word):
        return f"{word!r} is no command; to look into that file: scriptlang inspect {word}"
    return f"there is no command {word!r}; the commands are {', '.join(COMMANDS)}"


def write_rest() -> None:
    """Flush stdout here: at exit, Python would print an error if the reader has gone."""
    try:
        print(end="", flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader has closed the pipe


def run_command(given: list[str]) -> int:
    made = parser(given)
    if not given:
        made.print_help(sys.stderr)
        return USAGE
    if not given[0].startswith("-") and given[0] not in COMMANDS:
        made.error(no_command(given[0]))
    options = made.parse_args(given)
    out = Output(options.json, options.quiet)
    try:
        with warnings_as_remarks(out):
            for library in getattr(options, "load", ()):
                load_plugin(library)
            return options.run(options, out)
    except UsageError as e:
        out.error(str(e))
        return USAGE
    except ScriptError as e:
        if getattr(e, "class_name", ""):  # raised by the program, not by us
            return failed(e, out)
        out.error(str(e))
        return FAULT
    except BrokenPipeError:  # an OSError, but `main` ends quietly
        raise
    except OSError as e:
        out.error(f"{e.filename or ''}: {e.strerror or e}{help_with(e)}")
        return FAULT
    except KeyboardInterrupt:
        out.error("interrupted")
        return INTERRUPTED
    except (RecursionError, MemoryError) as e:
        why = "the file is nested too deep" if isinstance(e, RecursionError) else "out of memory"
        out.error(f"{why}: it is no archive of a model that this machine can load")
        return FAULT
    except Exception as e:
        return failed(e, out)


@contextlib.contextmanager
def warnings_as_remarks(out: Output) -> Iterator[None]:
    """What a program warns of is printed without a place of ours, and harmless for a terminal."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: out.remark(f"warning: {message}")
        yield


def failed(error: Exception, out: Output) -> int:
    """Print the error that a program raised.
    Unexpected errors are printed too, without a traceback."""
    from ..errors import script_stack

    stack = script_stack(error)
    text = f"{type(error).__name__}: {error}"
    if stack:
        out.error(f"the program raised {text}")
        for frame in stack:
            out.complaint(str(frame))
        given = getattr(error, "given", "")
        if given:
            out.complaint(f"  the inputs were {given}")
        return FAULT
    if os.environ.get("SCRIPTLANG_DEBUG"):
        raise error
    out.error(f"{text}\n  SCRIPTLANG_DEBUG=1 shows where it was raised")
    return FAULT


def help_with(error: OSError) -> str:
    """A line that says which file is meant, if a name like that of the missing one exists."""
    path = pathlib.Path(os.fsdecode(error.filename or ""))
    if isinstance(error, IsADirectoryError):
        return "\n  help: give the path of a file"
    if not isinstance(error, FileNotFoundError):
        return ""
    if not path.parent.is_dir():
        return f"\n  help: there is no directory {path.parent}"
    near = difflib.get_close_matches(path.name, os.listdir(path.parent), 1, 0.7)
    return f"\n  help: did you mean {path.parent / near[0]}?" if near else ""


def load_plugin(path: str) -> None:
    from ..library import load_library

    try:
        load_library(path)
    except (OSError, RuntimeError) as e:
        raise InputError(f"--load: {e}") from None


def parser(given: list[str] | None = None) -> argparse.ArgumentParser:
    """The parser. Importing a command's module is slow, so only the command in `given` gets its
    options; with None, all commands do."""
    top = argparse.ArgumentParser(prog="scriptlang", description=DESCRIPTION, epilog=EPILOG)
    top.add_argument("--version", action="version", version=f"scriptlang {__version__}")
    commands = top.add_subparsers(required=True, title="commands", metavar="COMMAND")
    for name, help in COMMANDS.items():
        text = f"{help[0].upper()}{help[1:]}."
        command = commands.add_parser(name, help=help, description=text, epilog=EPILOG)
        if given is None or name in given:
            module = importlib.import_module(f".{name}", __package__)
            module.add(command)
            common(command)
            command.set_defaults(run=module.run)
    return top


def positive(kind: type) -> Any:
    """A type of options for the parser: numbers above zero."""

    def read(text: str) -> Any:
        value = kind(text)
        if not 0 < value < float("inf"):
            raise ValueError
        return value

    read.__name__ = f"positive {kind.__name__}"
    return read


def add_archive(command: argparse.ArgumentParser) -> None:
    command.add_argument("archive", help="a .pt, .jit or .ptl file of torch.jit.save or scriptlang")


def add_method(command: argparse.ArgumentParser, help: str) -> None:
    command.add_argument("--method", default="forward", metavar="NAME", help=f"{help} (forward)")


def add_engine(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--engine",
        choices=("auto", "python", "native"),
        default="auto",
        help="what runs it (auto: the native engine, if it is there and has all operators)",
    )


def common(command: argparse.ArgumentParser) -> None:
    """Add the options of all commands."""
    group = command.add_argument_group("common options")
    group.add_argument("--json", action="store_true", help="print the result as JSON")
    group.add_argument(
        "--quiet", "-q", action="store_true", help="print no progress and no remarks"
    )
    group.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="a field of scriptlang.Limits: seconds=10, source_bytes=100000000; repeatable",
    )
    group.add_argument(
        "--load",
        action="append",
        default=[],
        metavar="LIB.so",
        help="a plug-in with operators that the archive calls: its code runs; repeatable",
    )


def limits_of(options: argparse.Namespace) -> Limits | None:
    """The limits of --limit; None if it is not given."""
    given: dict[str, Any] = {}
    for text in options.limit:
        name, _, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if name not in Limits.__match_args__ or not value >= 0 or value == float("inf"):
            raise UsageError(
                f"--limit takes NAME=NUMBER with a name among "
                f"{', '.join(Limits.__match_args__)}, not {text!r}"
            )
        given[name] = value if name.endswith("seconds") else int(value)
    return Limits(**given) if given else None


def load_module(path: str, options: argparse.Namespace, out: Output, engine: str = "auto") -> Any:
    """Load the module of an archive, in the mode in which it was saved."""
    from ..api import load

    with out.working(f"reading {path}"):
        module = load(path, engine=engine, limits=limits_of(options))
        if module._type.slot("training") is not None and module._object_.get("training"):
            out.remark(
                "the module is in training mode, as it was saved: dropout and batch norm act as in "
                "training; call .eval() before you save a model to be used"
            )
    return module


def method_of(module: Any, name: str, path: str) -> Any:
    """A method of a module. Raises UsageError if there is none with that name."""
    if name not in module._type.methods:
        names = ", ".join(module._type.methods)
        raise UsageError(f"{path} has no method {name!r}; it has {names}")
    return getattr(module, name)


if __name__ == "__main__":
    sys.exit(main())
