"""`python -m tests.document_errors` writes the tables of docs/errors.md; `--check` compares.

The front end's errors come from tests/cases/errors, which has a case for each message.
docs/errors.md keeps what stands before the mark and gets a table for each file of cases;
docs/errors/<file>.md shows every case: the program, the error, the cure.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests import golden

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases" / "errors"
GUIDE = ROOT / "docs" / "errors.md"
FOLDER = ROOT / "docs" / "errors"

MARK = "<!-- What follows is written by `python -m tests.document_errors`. -->\n"

SUBJECTS = {
    "names": "Names that are not found",
    "calls": "Calls",
    "types": "Types",
    "expressions": "Expressions",
    "indexing": "Indices and slices",
    "statements": "Statements",
    "classes": "Classes, enums and tuples with names",
    "modules": "Modules",
    "texts": "Source that cannot be read",
    "refused": "Parts of Python that the language leaves out",
}
"""File of cases -> heading, in the order of the page."""

Error = tuple[golden.Case, golden.Section]


def errors(subject: str) -> Iterator[Error]:
    """The cases of a file, each with its error."""
    for case in golden.read_cases(CASES / f"{subject}.case"):
        for section in case.sections:
            if section.kind == "error":
                yield case, section


def message(section: golden.Section) -> str:
    return re.search(r"error: (.*)", section.text)[1]


def cure(section: golden.Section) -> str:
    """What the error says to do; the last of several."""
    found = re.findall(r"^  help: (.*)", section.text, re.MULTILINE)
    assert found, f"no help: {message(section)}"
    return found[-1]


def heading(case: golden.Case) -> str:
    """The title of a case as a heading: plain text, so that links to it are simple."""
    title = re.sub(r"\s+", " ", case.title)
    return (title[0].upper() + title[1:]).replace("*", "\\*").replace("_", "\\_")


def anchor(text: str) -> str:
    """What GitHub and the site call a heading in links."""
    return re.sub(r"[^\w\- ]", "", text.replace("\\", "").lower()).strip().replace(" ", "-")


def anchors(subject: str) -> list[str]:
    """The links to the cases of a page: a heading that comes again has a number behind it."""
    found: list[str] = []
    for case, _ in errors(subject):
        name, number = anchor(heading(case)), 0
        while (f"{name}-{number}" if number else name) in found:
            number += 1
        found.append(f"{name}-{number}" if number else name)
    return found


def cell(text: str) -> str:
    """Text of a message as code in a table."""
    marks = "``" if "`" in text else "`"
    space = " " if "`" in text else ""
    return f"{marks}{space}{text}{space}{marks}".replace("|", "\\|")


def plain(text: str) -> str:
    """Text of a cure in a table: what is no code there must not look like marks."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"([*_<>\[\]])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts).replace("|", "\\|")


def table(subject: str) -> str:
    """The messages of a file, each once."""
    lines = [f"### {SUBJECTS[subject]}", "", "| error | what to do | example |", "|---|---|---|"]
    seen = set()
    for (_, section), name in zip(errors(subject), anchors(subject)):
        if message(section) in seen:
            continue
        seen.add(message(section))
        link = f"[program](errors/{subject}.md#{name})"
        lines.append(f"| {cell(message(section))} | {plain(cure(section))} | {link} |")
    return "\n".join([*lines, ""])


def page(subject: str) -> str:
    """Every case of a file in full."""
    lines = [
        f"# Errors: {SUBJECTS[subject][0].lower()}{SUBJECTS[subject][1:]}",
        "",
        "Each program below is refused with the error that is shown behind it.",
        "[All errors](../errors.md)",
        "",
    ]
    for case, section in errors(subject):
        lines += [f"## {heading(case)}", ""]
        if case.remarks.strip():
            lines += [case.remarks.strip(), ""]
        source = case.input("source") or ""
        if source.strip() not in ("", "pass"):
            lines += ["```python", source.strip("\n"), "```", ""]
        if section.argument:
            lines += ["What is compiled:", "", "```text", section.argument, "```", ""]
        lines += ["```text", section.text.strip("\n"), "```", ""]
    return "\n".join(lines)


def documents() -> dict[Path, str]:
    """Path -> text of all pages."""
    head = GUIDE.read_text(encoding="utf-8").partition(MARK)[0]
    tables = "\n".join(map(table, SUBJECTS))
    pages = {FOLDER / f"{subject}.md": page(subject) for subject in SUBJECTS}
    return {GUIDE: f"{head}{MARK}\n{tables}", **pages}


def stale() -> list[str]:
    """The pages that are not what the cases say."""
    return [
        path.relative_to(ROOT).as_posix()
        for path, text in documents().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for path, text in documents().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if "--check" not in sys.argv[1:]:
        main()
    elif stale():
        sys.exit(f"run python -m tests.document_errors: {', '.join(stale())} are not current")
