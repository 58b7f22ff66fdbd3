"""What the fuzzers begin with: the archives of the tests, and programs compiled here.

Nothing of it is kept in the repository: it is made anew, in a few seconds, for each run.
"""

from __future__ import annotations

import functools
import io
import math
import pathlib
import pickle
import random
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"

PARTS = (
    "data.pkl",
    "bytecode.pkl",
    "constants.pkl",
    "data/0",
    "scriptlang/program.pkl",
    "constants/0",
    "scriptlang/names.pkl",
)
"""The records that `fuzz_parts` takes, in its order."""


def functions() -> Iterator[object]:
    """Functions that between them use every part of the language, and random ones."""
    sys.path[:0] = [str(ROOT)]
    import seed_programs
    from scriptlang.frontend.python.script import compile_text

    import scriptlang
    import tests.conftest  # noqa: F401  the checkout as a package
    from tests.interpreter import random_bytecode, random_programs
    from tests.interpreter.assemble import function
    from tests.interpreter.test_fused_groups import BINARY, UNARY, function_of

    for name in seed_programs.SCRIPTED:
        yield scriptlang.jit.script(getattr(seed_programs, name))._function
    for seed in range(40):
        try:
            yield compile_text(random_programs.program(seed), {"math": math})["f"]
        except scriptlang.CompileError:
            continue
    for seed in range(40):
        yield function(random_bytecode.Writer(seed).text())
    for k in range(0, len(UNARY), 3):
        lines = [
            f"    v{j} = {text.format('a' if j == 0 else f'v{j - 1}', 'b')}"
            for j, text in enumerate((*UNARY[k : k + 3], BINARY[k % len(BINARY)]))
        ]
        yield function_of(
            "\n".join(
                [
                    "def f(a: Tensor, b: Tensor, s: float, n: int):",
                    *lines,
                    f"    return v{len(lines) - 1}, v1, n",
                ]
            )
        )


def bytecode() -> Iterator[tuple[str, bytes]]:
    """(name, bytecode.pkl) of each function with all that it calls, fused and not."""
    made = list(functions())
    from scriptlang.interpreter.code import to_tuple
    from scriptlang.interpreter.prepare import code_of, fused_code
    from scriptlang.interpreter.reach import reachable, unique_names

    for k, function in enumerate(made):
        for how, compile_ in (("plain", code_of), ("fused", fused_code)):
            codes = reachable(function, code_of=compile_)
            names = unique_names(codes)
            tree = (8, *(to_tuple(code, names[f], names) for f, code in codes.items()))
            if how == "plain" or any(
                i.op == "FUSED" for c in codes.values() for i in c.instructions
            ):
                yield f"{how}{k}", pickle.dumps(tree, protocol=2)


@functools.cache
def archives() -> tuple[tuple[str, bytes], ...]:
    return tuple(make_archives())


def make_archives() -> Iterator[tuple[str, bytes]]:
    """(name, archive) of the tests, and of the same with bytecode."""
    sys.path[:0] = [str(ROOT)]
    import scriptlang
    import tests.conftest  # noqa: F401  the checkout as a package
    from scriptlang.errors import ScriptError

    for name in ("derivatives_straight.pt", "forces.pt"):  # graphs of forward and backward
        yield name, (ROOT / "cpp_loader" / "tests" / "data" / name).read_bytes()
    for path in sorted(DATA.rglob("*.pt*")):
        if path.suffix not in (".pt", ".ptl"):
            continue
        yield path.name, path.read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "m.pt"
            try:
                scriptlang.save(scriptlang.load(path), target)
            except (ScriptError, ValueError):
                continue
            yield f"ours-{path.name}", target.read_bytes()
    import seed_programs

    module = scriptlang.jit.script(seed_programs.Whole().eval())
    optimised = scriptlang.optimize(scriptlang.jit.script(seed_programs.Whole().eval()))
    for name, made in (("whole", module), ("optimised", optimised)):
        file = io.BytesIO()
        scriptlang.save(made, file)
        yield f"{name}.pt", file.getvalue()


def parts(archive: bytes) -> bytes:
    """The records of an archive that `fuzz_parts` takes, one behind the other."""
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        records = {name.partition("/")[2]: file.read(name) for name in file.namelist()}
    return b"#record#".join(records.get(name, b"") for name in PARTS)


def sources() -> Iterator[tuple[str, bytes]]:
    """Functions as archives have them, and the sources of archives, whose names are shortened: the
    fuzzer's one file is `__torch__`."""
    made = list(functions())
    from scriptlang.serialization.printer import print_function

    from scriptlang.errors import ScriptError

    for k, function in enumerate(made):
        try:
            yield f"function{k}", print_function(function).encode()
        except (ScriptError, ValueError):
            continue
    for name, contents in archives():
        with zipfile.ZipFile(io.BytesIO(contents)) as file:
            for record in file.namelist():
                if record.endswith(".py"):
                    text = re.sub(
                        r"__torch__\.(\w+\.)*(\w+)", r"__torch__.\2", file.read(record).decode()
                    )
                    yield f"{name}.{record.replace('/', '-')}", text.encode()


def operators() -> Iterator[tuple[str, bytes]]:
    """Two random calls of each operator of the native engine, with as few bytes as there are
    choices at the beginning: the fuzzer makes them longer where that reaches more."""
    count = (ROOT / "cpp_loader" / "src" / "ops" / "ops.def").read_text().count("\nSL_")
    for k in range(2 * count):
        yield f"{k}", (k % count).to_bytes(2, "little") + random.Random(k).randbytes(24)


def seeds(target: str) -> Iterator[tuple[str, bytes]]:
    """(name, contents) of the inputs that a target begins with."""
    if target == "bytecode":
        yield from bytecode()
        return
    if target == "operators":
        yield from operators()
        return
    if target == "source":
        yield from sources()
        return
    if target == "capi":
        yield from ((f"calls-{k}", random.Random(k).randbytes(1000)) for k in range(50))
        return
    for name, contents in archives():
        if target in ("zip", "archive"):
            yield name, contents
        elif target == "parts":
            yield name, parts(contents)
        else:
            with zipfile.ZipFile(io.BytesIO(contents)) as file:
                for record in file.namelist():
                    if record.endswith(".pkl"):
                        yield f"{name}.{record.replace('/', '-')}", file.read(record)
