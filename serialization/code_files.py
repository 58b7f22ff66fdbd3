"""The sources in code/ of an archive as Python `ast`.  Each is parsed when a name in it is first
looked up.

`__torch__.vad.model.X` is `X` in `code/__torch__/vad/model.py`.  Before it is parsed, the size of a
source is limited.  The archive's budget limits all of them together: their bytes, and their words
and signs, since the parser may make a node from each.  Sources that Python's parser refuses, or
that are nested too deep for it, raise ArchiveError.
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
"""A source may have SOURCE_FLOOR bytes plus SOURCE_RATIO times its compressed size, since a parsed
source takes much more memory than its text."""

DAMAGED = "the code in the archive is damaged, or not written by torch.jit.save"
SPACE = bytes(range(33))
WORDS = bytes(c for c in range(256) if c > 127 or chr(c).isalnum() or c == ord("_"))
WITHOUT_SIGNS = bytes(c if c in WORDS else ord(" ") for c in range(256))

OCTAL_ESCAPE = re.compile(r"\\[2-3][0-7][0-7]")


@record
class CodeFile:
    """One source: its text, its top-level definitions by name, and its debug record.

    is_ascii: whether columns in the ast, which count bytes, are columns in the text, too.
    """

    record: str
    source: Source
    definitions: dict[str, ast.FunctionDef | ast.ClassDef]
    debug: DebugInfo
    is_ascii: bool

    def span(self, node: Any) -> Span:
        """The span of a node in the code of the archive."""
        return Span(
            self.source,
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno, node.end_col_offset),
        )

    def original(self, span: Span) -> Span:
        """The span in the program from which the archive was made; the same span if that is not
        known."""
        return OriginalSpan(self.debug, span)

    def character(self, offset: int) -> int:
        """The offset in the text of the byte at `offset` in the record."""
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

    records: those of the archive, without the top folder.  read: returns the bytes of a record.
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
        """The source that defines names of the form `qualifier.name`; None if there is none."""
        if qualifier not in self.files:
            record = f"code/{qualifier.replace('.', '/')}.py"
            self.files[qualifier] = self._parse(record) if record in self.records else None
        return self.files[qualifier]

    def has_folder(self, qualifier: str) -> bool:
        """Whether there is a source for `qualifier`, or for a longer qualifier that begins with
        it."""
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
        """The definition of a qualified name and the file that contains it; None if there is
        none."""
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
    """The number of words and signs in a source, which is at least that of its tokens, since those
    in strings and comments count, too."""
    words = sum(
        len(raw[i : i + CHUNK].translate(WITHOUT_SIGNS).split()) for i in range(0, len(raw), CHUNK)
    )
    return words + len(raw.translate(None, WORDS + SPACE))


CHUNK = 1 << 16
"""The number of bytes that are translated at once, which limits the memory for that."""


def parse(text: str, record: str) -> ast.Module:
    """The `ast` of a source.  Raises ArchiveError for whatever reason parsing fails."""
    try:
        if sys.version_info < (3, 11):
            # In these versions only compiling checks the depth, not parsing.  Nothing is run.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(text, record, "exec", dont_inherit=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as those about invalid escape sequences
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
    """The functions and classes of a source by name.

    The first versions of the format also have imports, which are ignored: names are found by their
    qualifier.  Raises ArchiveError for other statements.
    """
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
    """Whether a statement is `op_version_set = 1`, with which the sources of the first versions of
    the format begin."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "op_version_set"
    )


def imports_source(node: ast.stmt) -> bool:
    """Whether a statement imports another source of the archive, as `import __torch__.a.b` does."""
    return isinstance(node, ast.Import) and all(
        a.asname is None and f"{a.name}.".startswith("__torch__.") for a in node.names
    )


def decode_strings(tree: ast.AST) -> None:
    """Decode strings in which PyTorch wrote UTF-8 as one escape per byte (`"\\303\\274"`)."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and not node.value.isascii()
        ):
            try:
                node.value = node.value.encode("latin-1").decode("utf-8")
            except UnicodeError:
                pass  # its characters are not bytes of UTF-8, so it is plain text
