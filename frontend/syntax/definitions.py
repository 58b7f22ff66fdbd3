"""Reads definitions of Python functions and classes: their syntax tree, name and defaults."""

from __future__ import annotations

import ast
import inspect
import re
import types as python_types
from collections.abc import Callable
from typing import Any

from scriptlang.errors import CompileError
from scriptlang.source import Source, Span

from .source_lines import source_lines

# A line that is the type comment of a function: `# type: (int) -> int`.
SIGNATURE = re.compile(r"[ \t]*# type:[ \t]*(\(.*\)[ \t]*->.*)")


STRAY = re.compile(r"(?m)^([ \t]*#)[ \t]type:(?!.*->)")
"""A line that consists of a type comment, but not that of a function.

`ast.parse(..., type_comments=True)` refuses such a line as a syntax error.
"""


# A type comment with any spacing, such as `#type :`.
MISSPELT = re.compile(r"#[\t ]*type[\t ]*(?!: ignore(?:\[.*\])?$):", re.MULTILINE)


# A type comment with the spacing that Python wants.
TYPE_COMMENT = re.compile(r"# type:(?! ignore(?:\[[a-zA-Z-]+\])?$)", re.MULTILINE)


OF_OPERATORS = re.compile(r"(scriptlang\.ops)\.\w+\.(\w+)")


def qualified_name(obj: Any) -> str:
    """The name under which archives store a function or class, in the form that PyTorch uses.

    Names of scriptlang's own operators leave out the subfolder of `scriptlang.ops`, so that
    archives do not depend on it.
    """
    module = OF_OPERATORS.sub(r"\1.\2", obj.__module__ or "__main__")
    name = obj.__name__
    if name == "<lambda>":
        name = "_lambda"
    return f"__torch__.{name}" if module == "__main__" else f"__torch__.{module}.{name}"


def defaults_of(fn: Callable[..., Any]) -> dict[str, Any]:
    """Argument name -> default value, for the arguments of a function that have one."""
    fn = inspect.unwrap(fn)
    if not isinstance(fn, python_types.FunctionType):
        return {
            p.name: p.default
            for p in inspect.signature(fn).parameters.values()
            if p.default is not p.empty
        }
    code, last = fn.__code__, fn.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(last) : code.co_argcount]
    return dict(zip(names, last)) | (fn.__kwdefaults__ or {})


def source_of(obj: Any) -> tuple[Any, Source]:
    """The syntax tree of a function or class, and its source.

    Positions in the source are positions in its file.  Raises CompileError if the text cannot be
    found or is not Python.
    """
    try:
        lines, first = source_lines(obj)
    except (OSError, TypeError):
        name = getattr(obj, "__name__", type(obj).__name__)
        raise CompileError(
            f"the source of {name} is not there to be read",
            None,
            "define it in a file; text can be compiled by compile_text",
        ) from None
    dedented = _dedented(lines)
    indent = len(lines[0]) - len(lines[0].lstrip())
    name = inspect.getsourcefile(inspect.unwrap(obj)) or "<string>"
    source = Source(dedented, name, max(first, 1), indent)
    if isinstance(obj, python_types.FunctionType) and obj.__name__ == "<lambda>":
        return _lambda(source), source
    if not isinstance(obj, type):
        _refuse_misspelt(source)
    node = parse(source).body[0]
    if isinstance(node, ast.FunctionDef) and node.type_comment is None:
        node.type_comment = _after_docstring(node, source)
    if isinstance(node, ast.AsyncFunctionDef):
        start = source.text.index("async")
        raise CompileError(
            "async def is not part of the language",
            Span(source, start, start + len("async def")),
            "write def",
        )
    return node, source


def _after_docstring(node: ast.FunctionDef, source: Source) -> str | None:
    """The type comment of a function if it follows the docstring; else None.

    PyTorch accepts it there; Python's parser does not.
    """
    first = node.body[0]
    if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
        return None
    lines = source.text.splitlines()
    last = node.body[1].lineno - 1 if len(node.body) > 1 else len(lines)
    found = filter(None, map(SIGNATURE.fullmatch, lines[first.end_lineno : last]))
    return next((m[1].strip() for m in found), None)


def _dedented(lines: list[str]) -> str:
    """The lines without the indentation of the first; comments may be indented less."""
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "".join(
        line[indent:]
        if not line[:indent].strip()
        else line.lstrip()
        if line.lstrip().startswith("#")
        else line
        for line in lines
    )


def _refuse_misspelt(source: Source) -> None:
    """Raises CompileError for a misspelt type comment if the source has no correct one."""
    found = MISSPELT.search(source.text)
    if found and not TYPE_COMMENT.search(source.text):
        raise CompileError(
            "this comment is nearly a type comment",
            Span(source, *found.span()),
            "write `# type:` with one blank before `type` and none after it",
        )


def parse(source: Source) -> ast.Module:
    """The syntax tree of a source, with type comments.

    Type comments where Python does not expect them are ignored.  Raises CompileError.
    """
    try:
        return ast.parse(source.text, type_comments=True)
    except (RecursionError, MemoryError):
        raise CompileError(
            "the text is nested too deeply", Span(source, 0, 1), "break long expressions into parts"
        ) from None
    except SyntaxError as e:
        for text in (STRAY.sub(r"\1 typ_:", source.text), source.text.replace("type:", "typ_:")):
            try:
                return ast.parse(text, type_comments=True)
            except SyntaxError:
                continue
        at = source.offset(e.lineno or 1, max((e.offset or 1) - 1, 0))
        raise CompileError(
            f"not Python: {e.msg}", Span(source, at, at + 1), "mend the syntax"
        ) from None


def _lambda(source: Source) -> ast.FunctionDef:
    """The lambda in a source as the definition of a function `_lambda` that returns its body.

    `inspect` finds only the lines of a lambda.  So these must contain exactly one lambda, and must
    parse by themselves.
    """
    try:
        tree = ast.parse(source.text)
    except SyntaxError:
        tree = None
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda)] if tree else []
    if len(found) != 1:
        raise CompileError(
            "this lambda cannot be told from its surroundings",
            Span(source, 0, 1),
            "define a function",
        )
    node = found[0]
    result = ast.copy_location(ast.Return(node.body), node.body)
    made = ast.FunctionDef("_lambda", node.args, [result], [])
    made.type_comment = None
    return ast.copy_location(made, node)


def has_result_type(definition: ast.FunctionDef) -> bool:
    """Whether an annotation or type comment declares the type of the result."""
    return definition.returns is not None or "->" in (definition.type_comment or "")
