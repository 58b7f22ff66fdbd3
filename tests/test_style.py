"""What CONTRIBUTING.md says of files: lines have at most 100 columns, a file says what it is, and
whoever sets the geometry of a tensor without a check says beside it why its elements lie in its
memory."""

from __future__ import annotations

import ast
import io
import os
import re
import tokenize
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

COLUMNS = 100

SOURCES = (
    "*.py",
    "*.cpp",
    "*.h",
    "*.hpp",
    "*.inc",
    "*.def",
    "*.lark",
    "*.cmake",
    "*.cmake.in",
    "CMakeLists.txt",
    ".ci/*",
)
"""Files of the repository whose lines are counted."""

NOT_OURS = ("build", "dist", "*.egg-info", "__pycache__", ".*")
"""Folders that tools make.  So are environments and builds, whatever their names (`MARKS`)."""

MARKS = ("pyvenv.cfg", "CMakeCache.txt")
"""Files that only folders made by tools have."""

EXEMPT = {"cpp_loader/src/ops/ops.def": "generated; an operator a line, with its schema"}
"""Files whose lines may be longer, each with its reason."""


def is_ours(folder: Path) -> bool:
    if folder.name == ".ci":
        return True
    return not any(fnmatch(folder.name, pattern) for pattern in NOT_OURS) and not any(
        (folder / mark).exists() for mark in MARKS
    )


def sources(root: Path) -> Iterator[str]:
    """The names, from `root` on, of the files below it that are sources."""
    for folder, inner, files in os.walk(root):
        inner[:] = sorted(name for name in inner if is_ours(Path(folder, name)))
        for file in sorted(files):
            name = Path(folder, file).relative_to(root).as_posix()
            if any(fnmatch(text, pattern) for pattern in SOURCES for text in (file, name)):
                yield name


def long_lines(root: Path, name: str) -> list[str]:
    """Where, and how long, the lines of a file are that have too many columns."""
    lines = (root / name).read_text(encoding="utf-8").split("\n")
    return [
        f"{name}:{number}: {len(line)} columns"
        for number, line in enumerate(lines, 1)
        if len(line) > COLUMNS
    ]


def test_lines_are_not_too_long():
    found = [
        line for name in sources(ROOT) if name not in EXEMPT for line in long_lines(ROOT, name)
    ]
    assert not found, f"over {COLUMNS} columns:\n" + "\n".join(found)


def test_no_merge_was_left_undone():
    marks = re.compile("^(<{7}|>{7}) ", re.M)
    named = [*sources(ROOT), *documents(ROOT)]
    found = [n for n in named if marks.search((ROOT / n).read_text(encoding="utf-8"))]
    assert not found


def test_exempt_files_have_long_lines():
    assert set(EXEMPT) <= set(sources(ROOT))
    for name in EXEMPT:
        assert long_lines(ROOT, name), f"{name} needs no exemption any more"


def test_a_long_line_is_found(tmp_path):
    texts = {
        "a.py": "é" * 100 + "\n" + "x" * 101,
        "b/CMakeLists.txt": "y" * 102 + "\n",
        ".ci/run": "\n\n" + "z" * 103,
        "notes.md": "x" * 200,
        "build/c.py": "x" * 200,
        "env/d.py": "x" * 200,
        "env/pyvenv.cfg": "",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = [line for name in sources(tmp_path) for line in long_lines(tmp_path, name)]
    assert sorted(found) == [
        ".ci/run:3: 103 columns",
        "a.py:2: 101 columns",
        "b/CMakeLists.txt:1: 102 columns",
    ]


def prose(name: str, text: str) -> Iterator[tuple[int, str]]:
    """(number, line) of the lines of a Markdown file that are no rows of a table, nor printed.

    Of the changelog the section that is being written is left out: many hands add to it at once.
    """
    section, printed = 0, False
    for number, line in enumerate(text.split("\n"), 1):
        section += line.startswith("## ")
        printed = line == "```text" or (printed and line != "```")
        if (
            not printed
            and not line.startswith("|")
            and not (name == "CHANGELOG.md" and section == 1)
        ):
            yield number, line


def documents(root: Path) -> Iterator[str]:
    """The names, from `root` on, of the Markdown files below it."""
    for folder, inner, files in os.walk(root):
        inner[:] = sorted(name for name in inner if is_ours(Path(folder, name)))
        yield from (
            Path(folder, file).relative_to(root).as_posix()
            for file in sorted(files)
            if file.endswith(".md")
        )


def test_lines_of_documents_wrap():
    found = [
        f"{name}:{number}: {len(line)} columns"
        for name in documents(ROOT)
        for number, line in prose(name, (ROOT / name).read_text(encoding="utf-8"))
        if len(line) > COLUMNS
    ]
    assert not found, "\n".join(found)


def test_long_prose_is_found_and_tables_are_not():
    text = "## A\n" + "x " * 60 + "\n| " + "y" * 120 + " |\n## B\n" + "z" * 101
    assert [n for n, line in prose("a.md", text) if len(line) > COLUMNS] == [2, 5]
    assert [n for n, line in prose("CHANGELOG.md", text) if len(line) > COLUMNS] == [5]
    shown = "```text\n" + "x" * 101 + "\n```\n" + "y" * 101
    assert [n for n, line in prose("a.md", shown) if len(line) > COLUMNS] == [4]


CPP = (".cpp", ".h", ".hpp", ".inc", ".def", ".c")


def opening(text: str) -> str:
    """The comment that a C or C++ file begins with, in one line; empty where there is none."""
    lines = []
    for line in text.split("\n"):
        if not line.startswith(("//", "/*", " *")):
            break
        lines.append(line.strip("/* "))
    return " ".join(lines).strip()


def says_something(text: str | None) -> bool:
    """Whether a description is a sentence, and more than the name of the file again."""
    return bool(text) and len(re.findall(r"\w+", text)) >= 4 and "." in text


def test_cpp_files_say_what_they_are():
    silent = [
        name
        for name in sources(ROOT)
        if name.endswith(CPP)
        and not says_something(opening((ROOT / name).read_text(encoding="utf-8")))
    ]
    assert not silent


def docstring(text: str) -> str | None:
    """The docstring of a module, found without parsing what follows it."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING:
            return ast.literal_eval(token.string)
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            break
    return None


def test_python_modules_say_what_they_are():
    silent = []
    for name in sources(ROOT):
        if name.endswith(".py"):
            text = (ROOT / name).read_text(encoding="utf-8")
            if text.strip() and not says_something(docstring(text)):
                silent.append(name)
    assert not silent


FUNCTION_LINES = 45
FILE_LINES = 600

PARTS = ("scriptlang/", "frontend/", "interpreter/", "serialization/", "cpp_loader/")
"""Where functions and files are counted: tests hold long lists of samples."""

WHOLE = "written in one piece; to be taken apart"

LONG_FUNCTIONS: dict[str, str] = {}
"""Python functions that may have more lines, each with its reason.  The list gets shorter."""

LONG_FILES: dict[str, str] = {"cpp_loader/kernels/special_tables.cpp": "a generated table"}
"""Files that may have more lines, each with its reason.  The list gets shorter."""


def long_functions(text: str) -> Iterator[tuple[str, int]]:
    """(name, lines of its statements) of each function that has too many."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node, clean=False) else node.body
            lines = node.end_lineno - body[0].lineno + 1 if body else 0
            if lines > FUNCTION_LINES:
                yield node.name, lines


def test_functions_fit_a_screen():
    found = {
        f"{name}:{function}": lines
        for name in sources(ROOT)
        if name.endswith(".py") and name.startswith(PARTS)
        for function, lines in long_functions((ROOT / name).read_text(encoding="utf-8"))
    }
    assert found.keys() == LONG_FUNCTIONS.keys(), found


def test_files_are_not_too_long():
    found = {
        name: lines
        for name in sources(ROOT)
        if name.endswith((".py", *CPP)) and name.startswith(PARTS) and not name.endswith(".def")
        for lines in [(ROOT / name).read_text(encoding="utf-8").count("\n")]
        if lines > FILE_LINES
    }
    assert found.keys() == LONG_FILES.keys(), found


def test_a_long_function_is_found():
    text = 'def f():\n    """What it does."""\n' + "    x = 1\n" * 46 + "def g():\n    pass\n"
    assert list(long_functions(text)) == [("f", 46)]


def test_a_file_that_says_nothing_is_found():
    assert not says_something(opening("#include <vector>\n// A comment of something below it."))
    assert not says_something("Padding.")
    assert says_something(opening("// Lists: growth,\n// and conversion.\n#pragma once\n"))


RAW_GEOMETRY = re.compile(
    r"(?:->|\.)set_(?:geometry|contiguous)\(|\bunchecked_(?:on_storage|view)\(|"
    r"\bimpl\(\)->(?:offset|ndim|numel|sizes|strides)\b[^=;]*[^=!<>]=[^=]"
)
"""Where C++ says where the elements of a tensor lie, and nothing checks it."""

GEOMETRY_ITSELF = (
    "cpp_loader/src/values/tensor.cpp",
    "cpp_loader/src/values/tensor.h",
    "cpp_loader/src/values/raw_view.h",
)
"""What defines these functions, and the checked ones by them."""


def unproven(text: str) -> list[int]:
    """The lines of a C++ source that set geometry without a check and have no comment: behind them,
    or above them and others of their kind."""
    found, proven = [], False
    for number, line in enumerate(text.split("\n"), 1):
        raw, above = RAW_GEOMETRY.search(line.partition("//")[0]), proven
        proven = above if raw else line.lstrip().startswith("//")
        if raw and not above and "//" not in line:
            found.append(number)
    return found


def test_raw_geometry_is_proven():
    """Tensor::as_strided, Tensor::on_storage and lay() check what they are given."""
    found = [
        f"{name}:{number}"
        for name in sources(ROOT)
        if name.startswith(("cpp_loader/src/", "cpp_loader/python/"))
        and name not in GEOMETRY_ITSELF
        for number in unproven((ROOT / name).read_text(encoding="utf-8"))
    ]
    assert not found, "use as_strided, on_storage or lay, or say why it holds: " + ", ".join(found)


def test_raw_geometry_is_found():
    text = """
  lay(t, strides);
  t.impl()->set_geometry(sizes, strides);
  // Its own.
  t.impl()->set_geometry(sizes, strides);
  t.impl()->offset = 4;
  f();
  t.impl()->offset += 4;
  return unchecked_view(t, sizes, strides, 0);  // Its own.
  return unchecked_view(t, sizes, strides, 0);
  return unchecked_view(t, sizes, strides, 0);
  if (t.impl()->offset == 4) t.impl()->set_contiguous(sizes);
"""
    assert unproven(text) == [3, 8, 10, 11, 12]


CUT_SIZE = re.compile(
    r"(?:\b(?:vector|Working|Pooled|Space|WorkingBlock)<[^;()]*>+ \w+[({]|\bScratch \w+\(|"
    r"\.(?:resize|reserve|assign|append)\(|\bmake_unique<[^;()]*\[\]>\(|\bnew \w+\[|"
    r"\bmemory::take(?:_checked)?\(|\bstring \w+\()[^;]*?\bsize_t(?:>\(|\()"
)
"""A container or block whose size is a number of 64 bits, made a size_t without a look."""

SIZED = ("cpp_loader/src/ops/", "cpp_loader/src/fusion/", "cpp_loader/kernels/")
"""Where programs choose sizes."""


def test_no_size_loses_its_high_bits():
    """Where addresses have 32 bits, as_size refuses what does not fit; Scratch takes a uint64_t."""
    found = [
        f"{name}:{number}"
        for name in sources(ROOT)
        if name.startswith(SIZED) and name.endswith(CPP)
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").split("\n"), 1)
        if CUT_SIZE.search(line)
    ]
    assert not found, "write as_size(n), or uint64_t(n) for Scratch: " + ", ".join(found)


def test_a_cut_size_is_found():
    assert CUT_SIZE.search("  std::vector<T> rows(size_t(n * width));")
    assert CUT_SIZE.search("  Scratch space(sizeof(T) * static_cast<size_t>(k * pixels));")
    assert CUT_SIZE.search("  from.resize(size_t(total));")
    assert not CUT_SIZE.search("  std::vector<T> rows(as_size(n * width));")
    assert not CUT_SIZE.search("  rows.push_back(x[size_t(n)]);")


GUARDED_LIST = re.compile(r"[?:] [\w:]+\(\{[^?;]*?\b(?:Tensor::|view_|cat\(|to_\w+\()[^;]*\}")
"""A list of tensors that is made in one branch of `? :`, and whose parts may raise."""


def guarded_lists(text: str) -> list[str]:
    return [found[0] for found in GUARDED_LIST.finditer(re.sub(r"\s+", " ", text))]


def test_no_list_is_made_in_a_branch():
    """If a part of it raises, GCC 12 destroys the parts before it outside of their scope."""
    found = {
        name: made
        for name in sources(ROOT)
        if name.startswith("cpp_loader/") and name.endswith(CPP)
        for made in guarded_lists((ROOT / name).read_text(encoding="utf-8"))
    }
    assert not found, "make it in a statement of its own"


def test_a_list_in_a_branch_is_found():
    assert guarded_lists("return n > 0 ? cat({result,\n  Tensor::zeros({n}, type)}, 1) : result;")
    assert not guarded_lists("return n > 0 ? Tensor::zeros({n, m}, type) : cat(parts, 1);")
    assert not guarded_lists("if (n > 0) return cat({result, Tensor::zeros({n}, type)}, 1);")
