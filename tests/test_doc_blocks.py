"""Every code block of the documents does what the document says; see doc_blocks.py."""

from __future__ import annotations

import contextlib
import importlib
import io
import linecache
import random
import re
import shlex
import shutil
import subprocess
import sys
import types
from itertools import repeat
from pathlib import Path

import pytest

from tests.doc_blocks import Block, blocks_of

ROOT = Path(__file__).resolve().parent.parent

DOCUMENTS = [
    path
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
    if path.parent.name != "errors"  # compared with the cases that they are made of
]

LANGUAGES = {"python", "sh", "text", "cpp", "c", "cmake", "json", "yaml", "", "mermaid"}
"""What blocks are written in; one without a language is a drawing, or is tested by test_docs.py."""

PROGRAMS = ("pip", "cmake", "cc", "pytest", "apt-get", "git", "source", "gh", "twine", "cd")
"""Programs whose lines are not run: they install and build."""

COMMAND = re.compile(r"^ {4,}(?:\$ )?(?:scriptlang|pip|cmake|python -m|pytest) ", re.MULTILINE)

IDS = {"ids": lambda path: path.relative_to(ROOT).as_posix()}


def native_is_absent() -> str:
    return importlib.import_module("scriptlang.interpreter.native").why_absent()


class Session:
    """What the blocks of a document share: names, and a folder."""

    def __init__(self, document: Path):
        self.document = document
        self.module = sys.modules["document"] = types.ModuleType("document")

    def python(self, block: Block) -> str:
        """Run a block; what it prints, with the text of an exception that it says it raises."""
        self.execute(block.directives.get("before", ""), block, "before ")
        out = io.StringIO()
        wanted = block.directives.get("raises")
        with contextlib.redirect_stdout(out):
            try:
                self.execute(block.text, block)
            except Exception as e:
                if type(e).__name__ != wanted:
                    raise
                print(e)
            else:
                assert not wanted, f"{block} raises no {wanted}"
        return out.getvalue()

    def execute(self, text: str, block: Block, what: str = "") -> None:
        """Run text with its source where tracebacks and the front end look for it."""
        name = "example.py" if not what else f"<{what}{self.document.name}:{block.line}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        self.module.__file__ = name
        exec(compile(text, name, "exec"), self.module.__dict__)

    def shell(self, block: Block) -> str:
        """Run the lines that call scriptlang; others have to be what is known not to be run."""
        self.execute(block.directives.get("before", ""), block, "before ")
        out = io.StringIO()
        lines = re.sub(r"\\\n", " ", block.text).splitlines()
        for line in lines:
            line = line.removeprefix("$ ").partition("  #")[0].strip()
            if not line:
                continue
            words = shlex.split(line)
            if words[0] == "scriptlang":
                with contextlib.redirect_stdout(out):
                    run_command(words[1:])
            elif words[:2] == ["python", "-m"]:
                assert is_module(words[2]), line
            elif words[0] == "python" and words[1].endswith(".py"):
                assert (ROOT / words[1]).exists(), line
            elif words[0].startswith(("./", ".ci/")) or "=" in words[0]:
                assert "=" in words[0] or (ROOT / words[0]).exists(), line
            else:
                assert words[0] in PROGRAMS or words[0] == "python", line
        return out.getvalue()


def is_module(name: str) -> bool:
    """Is there something of ours, or of the tools, that `python -m` finds?"""
    path = ROOT / name.replace(".", "/")
    inside = name.removeprefix("scriptlang.").replace(".", "/")
    return (
        path.is_dir()
        or path.with_suffix(".py").exists()
        or (ROOT / inside).with_suffix(".py").exists()
        or name in ("venv", "pip")
    )


def run_command(words: list[str]) -> None:
    """Run the command line, in this process."""
    main = importlib.import_module("scriptlang.command_line").main
    code, redirect = 0, words[-2:-1] == [">"]
    target = words[-1] if redirect else None
    out = io.StringIO()
    with contextlib.redirect_stdout(out) if redirect else contextlib.nullcontext():
        code = main(words[:-2] if redirect else words)
    if target:
        Path(target).write_text(out.getvalue(), encoding="utf-8")
    assert code == 0, f"scriptlang {' '.join(words)} gave {code}"


def runnable(document: Path) -> bool:
    return any(block.language in ("python", "sh") for block in blocks_of(document))


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if runnable(d)], **IDS)
def test_blocks_do_what_is_shown(document, tmp_path, monkeypatch, request):
    if native_is_absent():
        pytest.skip(f"examples run natively: {native_is_absent()}")
    monkeypatch.chdir(tmp_path)
    random.seed(0)
    session = Session(document)
    for block in blocks_of(document):
        if "not run" in block.directives or block.language not in ("python", "sh"):
            continue
        run = session.python if block.language == "python" else session.shell
        try:
            printed = "\n".join(line.rstrip() for line in run(block).splitlines())
        except BaseException as e:
            raise AssertionError(f"{document.name}, {block}: {e}") from e
        if block.output is not None:
            shown = block.output.rstrip("\n")
            if request.config.getoption("--update") and printed != shown:
                whole = document.read_text(encoding="utf-8")
                at = whole.index(
                    f"```text\n{block.output}", whole.index(block.text.splitlines()[-1])
                )
                end = at + len(f"```text\n{block.output}")
                document.write_text(f"{whole[:at]}```text\n{printed}\n{whole[end:]}", "utf-8")
            else:
                assert printed == shown, f"{document.name}, {block}"


@pytest.mark.parametrize("document", DOCUMENTS, **IDS)
def test_every_block_has_a_language_and_a_reason(document):
    for block in blocks_of(document):
        assert block.language in LANGUAGES, f"{document.name}, {block}"
        assert block.directives.get("not run", "because"), f"{document.name}, {block}: why?"


@pytest.mark.parametrize("document", DOCUMENTS, **IDS)
def test_commands_stand_in_fences(document):
    """A command that is only indented is none that tests read."""
    text = re.sub(r"^( *)```.*?^\1```$", "", document.read_text("utf-8"), flags=re.M | re.S)
    assert not COMMAND.findall(text)


@pytest.mark.parametrize("compiler, language", [("g++ -std=c++17", "cpp"), ("gcc -std=c99", "c")])
def test_blocks_of_c_compile(compiler, language, tmp_path):
    """All of a language at once, since the headers take longest."""
    if shutil.which(compiler.split()[0]) is None:
        pytest.skip("no compiler")
    source = tmp_path / f"blocks.{language}"
    source.write_text("\n".join(map(c_source, repeat(language), DOCUMENTS)), encoding="utf-8")
    command = [*compiler.split(), "-fsyntax-only", "-I", str(ROOT / "cpp_loader" / "include")]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def c_source(language: str, document: Path) -> str:
    """The blocks of a document in a language, each as a function.  A block of C in front of which
    nothing stands has functions of its own."""
    parts = []
    for block in blocks_of(document):
        if block.language != language or "not run" in block.directives:
            continue
        includes = "\n".join(re.findall(r"^#include.*$", block.text, re.MULTILINE))
        code = re.sub(r"^#include.*$", "", block.text, flags=re.MULTILINE)
        code = f'#line {block.line} "{document.relative_to(ROOT).as_posix()}"\n{code}'
        if language == "cpp" or "before" in block.directives:
            name = re.sub(r"\W", "_", f"{document.stem}_{block.line}")
            code = f"void {name}(void) {{\n{block.directives.get('before', '')}\n{code}}}"
        parts += [includes, code]
    return "\n".join(parts)
