"""The documents are current: what they show is what tools print, what they name exists."""

from __future__ import annotations

import importlib
import re
import runpy
import sys
from pathlib import Path

import pytest

from tests import document_errors

ROOT = Path(__file__).resolve().parent.parent
ONE_PROGRAM = ROOT / "docs" / "architecture" / "one_program.md"
MADE = ("build/", "code/")
"""Where builds and archives have files."""

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

SHOWN = re.compile(r"(?<=```\n)\$ python examples/one_program\.py (\w+)\n(.*?)(?=```\n)", re.DOTALL)
"""A block of a document that shows what a command prints."""

NAMED = re.compile(r"`([\w.-]+(?:/[\w.-]+)+/?)`")
"""A path in backticks, of at least two parts."""

LINK = re.compile(r"\]\(([^)\s]+)\)")

FOLDERS = (
    "",
    "cpp_loader",
    "cpp_loader/src",
    "cpp_loader/include",
    "cpp_loader/kernels",
    "scriptlang",
    "docs",
    "tests",
)
"""What paths in documents are relative to."""


EXAMPLE = ROOT / "examples" / "one_program.py"


def shown(path: Path) -> dict[str, str]:
    """Name of a stage -> what the document shows of it."""
    return dict(SHOWN.findall(path.read_text(encoding="utf-8")))


def test_every_stage_is_shown():
    stages = re.findall(r"^def print_(\w+)", EXAMPLE.read_text(encoding="utf-8"), re.MULTILINE)
    assert stages and set(shown(ONE_PROGRAM)) == set(stages)


@pytest.mark.parametrize("name", shown(ONE_PROGRAM))
def test_what_is_shown_is_what_the_stage_prints(name, capsys, monkeypatch, request):
    if name in ("registers", "result"):
        why = importlib.import_module("scriptlang.interpreter.native").why_absent()
        if why:
            pytest.skip(f"no native engine: {why}")
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), name])
    capsys.readouterr()
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    printed = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines()) + "\n"
    if request.config.getoption("--update"):
        text = ONE_PROGRAM.read_text(encoding="utf-8")
        ONE_PROGRAM.write_text(
            SHOWN.sub(
                lambda m: (
                    m[0] if m[1] != name else f"$ python examples/one_program.py {name}\n{printed}"
                ),
                text,
            ),
            encoding="utf-8",
        )
    assert shown(ONE_PROGRAM)[name] == printed


def named_paths(text: str) -> list[str]:
    """Paths in backticks whose last part looks like a file, or that end with a slash."""
    return [
        path
        for path in NAMED.findall(text)
        if path.endswith("/") or re.search(r"\.(py|cpp|h|hpp|inc|def|md|txt|svg|csv)$", path)
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_files_that_are_named_exist(document):
    if document in (ROOT / "CHANGELOG.md", ROOT / "docs" / "operators.md"):
        pytest.skip("names what was, or what is generated")
    text = document.read_text(encoding="utf-8")
    lacking = [
        path
        for path in named_paths(text)
        if not path.startswith(MADE)
        and not any((ROOT / folder / path).exists() for folder in FOLDERS)
    ]
    assert not lacking


def anchor(heading: str) -> str:
    """What a heading is called in links."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def without_code(text: str) -> str:
    """A document without its blocks of code."""
    return re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document):
    broken = []
    for target in LINK.findall(without_code(document.read_text(encoding="utf-8"))):
        if re.match(r"\w+:", target):
            continue
        name, _, part = target.partition("#")
        path = (document.parent / name) if name else document
        if not path.exists():
            broken.append(target)
        elif part:
            headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            names = [anchor(heading) for heading in headings]
            names += [f"{name}-{names[:k].count(name)}" for k, name in enumerate(names)]
            if part not in names:
                broken.append(target)
    assert not broken


def test_errors_are_those_of_the_cases(request):
    if request.config.getoption("--update"):
        document_errors.main()
    assert not document_errors.stale(), "run python -m tests.document_errors"


def test_the_site_has_every_page():
    assert not runpy.run_path(str(ROOT / ".ci" / "docs"))["not_in_the_menu"]()


def test_figures_are_drawn_from_their_numbers(request):
    sys.path.insert(0, str(ROOT / "docs" / "figures"))
    try:
        draw = importlib.import_module("draw")
    finally:
        sys.path.pop(0)
    if request.config.getoption("--update"):
        draw.main()
    assert draw.NUMBERS.read_text(encoding="utf-8") == draw.numbers(), "run docs/figures/draw.py"
    for figure in draw.FIGURES:
        path = draw.FOLDER / f"{figure.name}.svg"
        assert path.read_text(encoding="utf-8") == draw.svg(figure), "run docs/figures/draw.py"
