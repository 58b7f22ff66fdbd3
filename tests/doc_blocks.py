"""The code blocks of a document, as tests run them (tests/test_doc_blocks.py).

A fenced block has a language.  Comments directly above it, which readers do not see, say more:

    <!-- not run: why -->     it is not run; the reason is for people
    <!-- before: code -->     code that runs before it, in its language
    <!-- raises: Error -->    its last statement raises this exception

A `text` block directly behind a `python` or `sh` block is what that prints, and what the exception
says.  Blocks of one document run in order, and share their names.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w+-]*)\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S
)
COMMENT = re.compile(r"<!-- *(not run|before|raises): *((?:(?!-->).)*?)\s*-->\s*\Z", re.S)
OUTPUT = re.compile(r"\s*```text\n(.*?)^```$", re.M | re.S)


@dataclass
class Block:
    """A block: its language, its text, its line in the document, and what is said of it."""

    language: str
    text: str
    line: int
    directives: dict[str, str]
    output: str | None
    """What the document shows of what it prints."""

    def __str__(self) -> str:
        return f"line {self.line}"


def blocks_of(path: Path) -> list[Block]:
    """The fenced blocks of a document."""
    whole = path.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(whole):
        above, directives = whole[: match.start()], {}
        while comment := COMMENT.search(above):
            directives[comment[1]] = textwrap.dedent(comment[2])
            above = above[: comment.start()]
        output = OUTPUT.match(whole, match.end())
        found.append(
            Block(
                match["language"],
                textwrap.dedent(match["text"]),
                whole.count("\n", 0, match.start()) + 2,
                directives,
                output[1] if output else None,
            )
        )
    return found
