"""The code/ of an archive as Python `ast`, file by file, parsed when a name in it is first wanted.

`__torch__.vad.model.X` is `X` in `code/__torch__/vad/model.py`.  Before they are parsed, sources
are bounded one by one, and all together by the archive's budget: their bytes, and their words and
signs, of each of which the parser may make a node.  What Python's parser refuses, or is too deep
for it, is an ArchiveError.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

from ..budgets import Budget
from ..errors import ArchiveError
from ..records import record
from ..source import Source, Span
from .debug_info import DebugInfo, OriginalSpan
from .zip_reader import Record

MAX_SOURCE = 16 << 20
SOURCE_FLOOR = 256 << 10
SOURCE_RATIO = 40
"""A source may have SOURCE_FLOOR bytes + SOURCE_RATIO times those it is packed in: a parsed
source takes much more memory than its text."""

DAMAGED = "the code in the archive is damaged, or not written by torch.jit.save"
SPACE = bytes(range(33))
WORDS = bytes(c for c in range(256) if c > 127 or chr(c).isalnum() or c == ord("_"))
WITHOUT_SIGNS = bytes(c if c in WORDS else ord(" ") for c in range(256))

OCTAL_ESCAPE = re.compile(r"\\[2-3][0-7][0-7]")


@record
class CodeFile:
    """One source: its text, the top-level definitions by name, and where they came from.

    `is_ascii`: columns of the ast, which count bytes, are then columns of the text.
    """

    record: str
    source: Source
    definitions: dict[str, ast.FunctionDef | ast.ClassDef]
    debug: DebugInfo
    is_ascii: bool

    def span(self, node: Any) -> Span:
        """The place of a node in the code of the archive."""
        return Span(
            self.source,
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno, node.end_col_offset),
        )

    def original(self, span: Span) -> Span:
        """The place in the program that the archive was made from; the same place where unknown."""
        return OriginalSpan(self.debug, span)

    def character(self, offset: int) -> int:
        """The offset in the text of a byte of the record."""
        if self.is_ascii:
            return offset
        return len(self.source.text.encode("utf-8")[:offset].decode("utf-8", "ignore"))

    def offset(self, line: int, column: int) -> int:
        if not self.is_ascii:
            _, text = self.source.line_text(self.source.line_starts[line - 1])
            column = len(text.encode("utf-8")[:column].decode("utf-8", "ignore"))
        return self.source.line_starts[line - 1] + column


class CodeFiles:
    """The sources of an archive by qualifier (`__torch__.vad.model`).

    read: gives the bytes of a record.  records: those of the archive, with the top folder cut off.
    budget: what reading the archive may use.
    """

    def __init__(
        self,
        records: dict[str, Record],
        read: Callable[[str], bytes | memoryview],
        budget: Budget | None = None,
    ) -> None:
        self.records, self.read, self.budget = records, read, budget or Budget()
        self.files: dict[str, CodeFile | None] = {}
        self.folders: set[str] | None = None

    def file(self, qualifier: str) -> CodeFile | None:
        """The source that holds `qualifier.something`, None where there is none."""
        if qualifier not in self.files:
            record = f"code/{qualifier.replace('.', '/')}.py"
            self.files[qualifier] = self._parse(record) if record in self.records else None
        return self.files[qualifier]

    def has_folder(self, qualifier: str) -> bool:
        """Whether some source lies at or below `qualifier`."""
        if self.folders is None:
            self.folders = set()
            for record in self.records:
                if record.startswith("code/") and record.endswith(".py"):
                    path = record[len("code/") : -len(".py")]
                    while path and path.replace("/", ".") not in self.folders:
                        self.folders.add(path.replace("/", "."))
                        path = path.rpartition("/")[0]
        return qualifier in self.folders

    def find(self, name: str) -> tuple[CodeFile, ast.FunctionDef | ast.ClassDef] | None:
        """The definition of a qualified name, with the file it is in."""
        qualifier, _, short = name.rpartition(".")
        file = self.file(qualifier)
        definition = file.definitions.get(short) if file else None
        return None if definition is None or file is None else (file, definition)

    def _parse(self, record: str) -> CodeFile:
        entry = self.records[record]
        if entry.size > min(MAX_SOURCE, SOURCE_FLOOR + SOURCE_RATIO * entry.stored_size):
            raise ArchiveError(
                f"a source of {entry.size:,} bytes, packed in "
                f"{entry.stored_size:,}, is more than is read",
                record,
                "no model is written like this; do not use the file",
            )
        self.budget.spend("source_bytes", entry.size, record)
        raw = bytes(self.read(record))
        self.budget.spend("syntax_nodes", count_tokens(raw), record)
        self.budget.look()
        try:
            text = raw.decode("utf-8").replace("\r", " ")
        except UnicodeDecodeError:
            raise ArchiveError("the source is not UTF-8", record, DAMAGED) from None
        tree = parse(text, record)
        if OCTAL_ESCAPE.search(text):
            decode_strings(tree)
        debug = DebugInfo(record + ".debug_pkl", self.records, self.read)
        return CodeFile(
            record, Source(text, record), definitions(tree, record), debug, len(raw) == len(text)
        )


def count_tokens(raw: bytes) -> int:
    """The words and signs of a source, those in strings, too; no fewer than its tokens."""
    words = sum(
        len(raw[i : i + CHUNK].translate(WITHOUT_SIGNS).split()) for i in range(0, len(raw), CHUNK)
    )
    return words + len(raw.translate(None, WORDS + SPACE))


CHUNK = 1 << 16
"""Bytes that are looked at together."""


def parse(text: str, record: str) -> ast.Module:
    """Python's ast of a source; every way in which parsing can fail is an ArchiveError."""
    try:
        if sys.version_info < (3, 11):
            # Building the tree has no depth check there, compiling has.  Nothing is run.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(text, record, "exec", dont_inherit=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's opinion of its literals
            return ast.parse(text)
    except SyntaxError as e:
        raise ArchiveError(f"line {e.lineno}: {e.msg}", record, DAMAGED) from None
    except (RecursionError, MemoryError):
        raise ArchiveError(
            "the source is nested deeper than can be read",
            record,
            "no model is written like this; do not use the file",
        ) from None
    except ValueError as e:
        raise ArchiveError(str(e), record, DAMAGED) from None


def definitions(tree: ast.Module, record: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """What a source defines by name.  The first formats import other sources; names are found
    without that."""
    found: dict[str, ast.FunctionDef | ast.ClassDef] = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if node.name in found:
                raise ArchiveError(
                    f"line {node.lineno}: {node.name} is defined twice", record, DAMAGED
                )
            found[node.name] = node
        elif not is_version_mark(node) and not imports_source(node):
            raise ArchiveError(
                f"line {node.lineno}: a statement outside of functions and classes", record, DAMAGED
            )
    return found


def is_version_mark(node: ast.stmt) -> bool:
    """`op_version_set = 1`, which the first formats wrote at the top of each source."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "op_version_set"
    )


def imports_source(node: ast.stmt) -> bool:
    """`import __torch__.a.b`: another source of the archive."""
    return isinstance(node, ast.Import) and all(
        a.asname is None and f"{a.name}.".startswith("__torch__.") for a in node.names
    )


def decode_strings(tree: ast.AST) -> None:
    """Turn strings whose escapes spell UTF-8 byte by byte (`"\\303\\274"`) into their text."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and not node.value.isascii()
        ):
            try:
                node.value = node.value.encode("latin-1").decode("utf-8")
            except UnicodeError:
                pass  # not bytes after all: the text is what it says
