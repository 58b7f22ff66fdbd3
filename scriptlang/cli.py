"""The command line: scriptlang run, inspect, check, compile, ops, info."""

from __future__ import annotations

import argparse
import ast
import pathlib
import sys
import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .errors import ScriptError
from .limits import Limits

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

EPILOG = """exit codes: 0 done; 1 the file or the program is at fault; 2 the command line is;
3 (check) the archive is sound but needs operators that no engine here has"""


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code.  Errors of ours print without a traceback."""
    options = parser().parse_args(argv)
    try:
        for library in getattr(options, "load", ()):
            load_plugin(library)
        return options.command(options)
    except ScriptError as e:
        print(f"scriptlang: {e}", file=sys.stderr)
        return 1
    except OSError as e:
        print(f"scriptlang: {e.filename or ''}: {e.strerror or e}", file=sys.stderr)
        return 1


def common_options() -> argparse.ArgumentParser:
    """What every command on archives takes."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="a field of scriptlang.Limits: source_bytes=100000000; repeatable",
    )
    common.add_argument(
        "--load",
        action="append",
        default=[],
        metavar="LIB.so",
        help="a plug-in with operators that the archive calls: its code runs; repeatable",
    )
    return common


def add_run(commands: Commands, common: argparse.ArgumentParser) -> None:
    run = commands.add_parser("run", help="run a method on arrays", parents=[common])
    run.add_argument("archive")
    run.add_argument(
        "--input",
        dest="values",
        action=Given,
        kind="input",
        metavar="FILE",
        help=".npy is one Tensor; .npz one for each array, in order; repeatable",
    )
    run.add_argument(
        "--arg",
        dest="values",
        action=Given,
        kind="arg",
        metavar="[NAME=]VALUE",
        help="a Python literal (16000, 0.5, True, None, 'text', [1, 2]); repeatable; "
        "arguments are passed in the order given",
    )
    run.add_argument("--method", default="forward")
    run.add_argument("-o", "--output", metavar="FILE.npz", help="write the results there")
    run.add_argument("--engine", choices=("auto", "python", "native"), default="auto")
    run.set_defaults(command=run_command, values=[])


def add_inspect(commands: Commands, common: argparse.ArgumentParser) -> None:
    inspect = commands.add_parser(
        "inspect", help="methods, parameters, operators of an archive", parents=[common]
    )
    inspect.add_argument("archive")
    inspect.add_argument("--code", action="store_true", help="print the program too")
    inspect.add_argument(
        "--shapes",
        action="append",
        metavar="NAME=SIZES",
        help="print the graph with the shapes that follow from inputs' "
        "(x=1,3,224,224, ids=int64[1,s0]; names are unknown sizes); "
        "repeatable",
    )
    inspect.add_argument(
        "--memory",
        action="store_true",
        help="print where the tensors may lie, for inputs of --shapes",
    )
    inspect.add_argument("--method", default="forward", help="of --shapes and --memory")
    inspect.add_argument(
        "--optimized",
        action="store_true",
        help="show the optimised graph with --shapes and --memory",
    )
    inspect.add_argument(
        "--registers",
        action="store_true",
        help="print the register code that the native engine runs, too",
    )
    inspect.set_defaults(command=inspect_command)


def add_check(commands: Commands, common: argparse.ArgumentParser) -> None:
    check = commands.add_parser(
        "check", help="load and verify; list what is missing", parents=[common]
    )
    check.add_argument("archive")
    check.set_defaults(command=check_command)


def add_compile(commands: Commands, common: argparse.ArgumentParser) -> None:
    compile = commands.add_parser(
        "compile",
        help="write an archive that starts at once, and runs faster; the C++ engine needs it",
        parents=[common],
    )
    compile.add_argument("archive")
    compile.add_argument(
        "--keep-parameters",
        action="store_true",
        help="do not optimise: parameters stay attributes that can be changed",
    )
    compile.add_argument("-o", "--output", required=True, metavar="FILE.pt")
    compile.set_defaults(command=compile_command)


def add_ops(commands: Commands) -> None:
    ops = commands.add_parser(
        "ops", help="list the operators that archives reach, for a C++ library that has no others"
    )
    ops.add_argument("archives", nargs="+", metavar="archive")
    which = ops.add_mutually_exclusive_group()
    which.add_argument(
        "--method",
        dest="methods",
        action="append",
        metavar="NAME",
        help="what will be called, instead of forward; repeatable",
    )
    which.add_argument(
        "--all-methods", action="store_true", help="whatever the archives hold may be called"
    )
    ops.set_defaults(command=ops_command)


def add_info(commands: Commands) -> None:
    info = commands.add_parser("info", help="engines, CPU features, versions")
    info.set_defaults(command=info_command)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="scriptlang", description="TorchScript without PyTorch.", epilog=EPILOG
    )
    common = common_options()
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    add_run(commands, common)
    add_inspect(commands, common)
    add_check(commands, common)
    add_compile(commands, common)
    add_ops(commands)
    add_info(commands)
    return top


class Given(argparse.Action):
    """Collects --input and --arg into one list, in the order they were written."""

    def __init__(self, *args: Any, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        value: Any,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), (self.kind, value)])


def run_command(options: argparse.Namespace) -> int:
    import numpy as np

    from .api import load

    module = load(options.archive, engine=options.engine, limits=limits_of(options))
    method = getattr(module, options.method, None)
    if not callable(method):
        names = ", ".join(module._type.methods)
        print(
            f"scriptlang: {options.archive} has no method {options.method!r}; it has {names}",
            file=sys.stderr,
        )
        return 2
    args, kwargs = arguments(options.values, method.schema)
    try:
        result = method(*args, **kwargs)
    except Exception as e:
        from .errors import script_stack

        of_program = getattr(e, "class_name", "")  # it raised it: not an error of ours
        if not script_stack(e) or isinstance(e, ScriptError) and not of_program:
            raise
        print(f"scriptlang: the program raised {type(e).__name__}: {e}", file=sys.stderr)
        for frame in script_stack(e):
            print(frame, file=sys.stderr)
        return 1
    arrays = dict(flatten(result, "output"))
    for name, value in arrays.items():
        print(describe_value(name, value))
    if options.output:
        with open(options.output, "wb") as file:
            saved: dict[str, Any] = {k: np.asarray(v) for k, v in arrays.items()}
            np.savez(file, **saved)
    return 0


def load_plugin(path: str) -> None:
    from .library import load_library

    try:
        load_library(path)
    except (OSError, RuntimeError) as e:
        raise InputError(f"--load: {e}") from None


def arguments(values: list[tuple[str, str]], schema: Any) -> tuple[list[Any], dict[Any, Any]]:
    """Positional and named arguments from --input and --arg."""

    from .tensors import from_numpy

    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for kind, text in values:
        if kind == "input":
            args += map(from_numpy, arrays_of(text))
            continue
        name, equals, rest = text.partition("=")
        if equals and schema.index(name) is not None:
            kwargs[name] = literal(rest)
        else:
            args.append(literal(text))
    return args, kwargs


def arrays_of(path: str) -> list[Any]:
    """The arrays in a .npy or .npz file.  Raises InputError for another."""
    import numpy as np

    try:
        data = np.load(path, allow_pickle=False)
        return [data[k] for k in data.files] if hasattr(data, "files") else [data]
    except (ValueError, EOFError, zipfile.BadZipFile) as e:
        raise InputError(
            f"{path} is no .npy or .npz file of numbers ({e}): write one with numpy.save"
        ) from None


class InputError(ScriptError):
    """A file that --input names, or a value of an option, cannot be used."""


def limits_of(options: argparse.Namespace) -> Limits | None:
    """What --limit says; None where it is not given."""
    given: dict[str, Any] = {}
    for text in options.limit:
        name, _, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if name not in Limits.__match_args__ or value < 0:
            raise InputError(
                f"--limit takes NAME=NUMBER with a name among "
                f"{', '.join(Limits.__match_args__)}, not {text!r}"
            )
        given[name] = value if name.endswith("seconds") else int(value)
    return Limits(**given) if given else None


def literal(text: str) -> Any:
    """A Python literal; text that is none is a string."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def flatten(value: Any, name: str) -> Iterator[Any]:
    """(name, Tensor or scalar) for every leaf of a result."""
    if isinstance(value, (list, tuple)):
        names = getattr(value, "_fields", None) or range(len(value))
        for n, v in zip(names, value):
            yield from flatten(v, f"{name}.{n}")
    elif isinstance(value, dict):
        for k, v in value.items():
            yield from flatten(v, f"{name}.{k}")
    elif value is not None:
        yield name, value.detach().numpy() if hasattr(value, "detach") else value


def describe_value(name: str, value: Any) -> str:
    import numpy as np

    if not isinstance(value, np.ndarray):
        return f"{name}: {type(value).__name__} = {value!r}"
    text = np.array2string(value, threshold=12, edgeitems=2, precision=6)
    return f"{name}: {value.dtype}{list(value.shape)}\n{text}"


def inspect_command(options: argparse.Namespace) -> int:
    from .programs.inspection import inspect_archive

    if options.shapes or options.memory:
        return shapes_command(options)
    report = inspect_archive(options.archive, limits_of(options))
    print(report.text())
    if options.code:
        for function in report.functions:
            from .serialization.printer import print_function

            print(print_function(function))
    if options.registers:
        from .interpreter.native_program import register_code

        for function in report.functions:
            print(register_code(function))
    return 0


def shapes_command(options: argparse.Namespace) -> int:
    from .programs.shape_report import inspect
    from .programs.shape_text import ShapeError

    given: dict[str, Any] = {}
    for text in options.shapes or ():
        name, equals, sizes = text.partition("=")
        if not equals:
            print(
                f"scriptlang: --shapes takes NAME=SIZES, not {text!r}: write x=1,3,224,224",
                file=sys.stderr,
            )
            return 2
        given[name] = sizes
    try:
        shaped = inspect(
            options.archive,
            given,
            method=options.method,
            optimized=options.optimized,
            limits=limits_of(options),
        )
    except (ShapeError, AttributeError) as e:
        print(f"scriptlang: {e}", file=sys.stderr)
        return 2
    if options.memory:
        print(shaped.memory_plan)
        return 0
    tensors, shaped_ones, typed = shaped.coverage
    print(str(shaped) + f"# {tensors} tensors; shape known of {shaped_ones}, type of {typed}")
    return 0


def check_command(options: argparse.Namespace) -> int:
    from .programs.inspection import inspect_archive

    report = inspect_archive(options.archive, limits_of(options))
    for error in report.errors:
        print(error, file=sys.stderr)
    if report.errors:
        print(f"{options.archive}: {len(report.errors)} methods do not compile")
        return 1
    print(report.availability())
    return 3 if report.missing("python") else 0


def compile_command(options: argparse.Namespace) -> int:
    from .api import compile_archive

    before = pathlib.Path(options.archive).stat().st_size
    module = compile_archive(
        options.archive,
        options.output,
        optimize=not options.keep_parameters,
        limits=limits_of(options),
    )
    if not options.keep_parameters and module._object_.type.slot("training") is not None:
        print(
            "the module is in training mode: compiled, but not optimised; call .eval() on it "
            "and save it again to have both"
        )
    after = pathlib.Path(options.output).stat().st_size
    print(f"{options.output}: {after} bytes (the source has {before})")
    return 0


def ops_command(options: argparse.Namespace) -> int:
    from .programs.inspection import reached_operators

    methods = [] if options.all_methods else options.methods or ["forward"]
    names: set[str] = set()
    print("# Operators of these programs, for -DSCRIPTLANG_OPS (scriptlang ops):")
    for archive in options.archives:
        names.update(reached_operators(archive, methods))
        called = ", ".join(methods) or "all methods"
        print(f"#   {pathlib.Path(archive).name}: {called}")
    print("\n".join(sorted(names)))
    return 0


def info_command(options: argparse.Namespace) -> int:
    from .api import info

    info()
    return 0


if __name__ == "__main__":
    sys.exit(main())
