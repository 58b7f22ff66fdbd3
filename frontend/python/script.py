"""script: Python functions and classes become functions and types of the IR.

def f(x: Tensor, n: int = 2): ...
script_function(f)   ->  ir.Function "__torch__.f" with its graph
"""

from __future__ import annotations

import ast
import copy
import inspect
import re
import textwrap
import types as python_types
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from scriptlang.building import alone, uncollected
from scriptlang.errors import CompileError
from scriptlang.ir import Function
from scriptlang.source import Source, Span

from ..bodies.emit import emit_function, friendly
from ..bodies.emitter import span_of
from ..bodies.signatures import function_schema, has_result_type, infer_schema
from ..syntax.modifiers import DROPPED, modifier
from ..syntax.source_lines import source_lines
from ..values.builder import called_at
from ..values.variadic import VariadicValue
from .classes import script_class
from .declared_overloads import function_overloads
from .ignored import DIRECTLY, ignored_function
from .resolver import PythonResolver

__all__ = ["compile_text", "script_class", "script_function", "source_of"]

_functions: weakref.WeakKeyDictionary[Callable, Function] = weakref.WeakKeyDictionary()


@uncollected
@alone
def script_function(fn: Callable, place: Span | None = None) -> Function:
    """Compile a Python function, and the functions it calls; each is compiled once.

    place: that of the call that led here.  Raises CompileError.
    """
    fn = inspect.unwrap(fn)
    known = _functions.get(fn)
    if known is not None:
        return known
    definition, source = source_of(fn)
    if place is None and function_overloads(fn):
        raise CompileError(
            f"{definition.name} has overloads and cannot be compiled by itself",
            Span(source, 0, source.text.index(":")),
            "call it in a function: its arguments choose the overload",
        )
    name = qualified_name(fn)
    try:
        if modifier(fn) in DROPPED:
            function = ignored_function(fn, name, said=DIRECTLY)
        else:
            function = declare(definition, source, PythonResolver.of(fn), name, defaults_of(fn))
        _functions[fn] = function
        function.ensure_defined()
    except CompileError as error:
        _functions.pop(fn, None)
        error.while_compiling(f"compiling {friendly(name)}")
        if place is not None:
            called_at(error, name, place)
        raise
    except BaseException:
        _functions.pop(fn, None)
        raise
    return function


_variadic: weakref.WeakKeyDictionary[Callable, VariadicValue] = weakref.WeakKeyDictionary()


@alone
def variadic_function(fn: Callable) -> VariadicValue:
    """A Python function with `*args` or `**kwargs`, compiled for each form of call."""
    known = _variadic.get(fn)
    if known is None:
        definition, source = source_of(fn)
        known = _variadic[fn] = VariadicValue(
            definition, source, PythonResolver.of(fn), qualified_name(fn), defaults_of(fn)
        )
    return known


def declare(
    definition: ast.FunctionDef,
    source: Source,
    resolver: Any,
    name: str,
    defaults: Mapping[str, Any] | None = None,
    self_type=None,
) -> Function:
    """A function whose body is compiled on first use.

    Without a declared result its schema is not known before that.
    """
    schema = function_schema(definition, source, resolver, name, self_type, defaults)

    def define(function: Function) -> None:
        graph = emit_function(definition, source, resolver, name, schema, self_type)
        if function.schema is None:
            function.schema = infer_schema(schema, graph)
        function.graph = graph

    return Function(name, schema if has_result_type(definition) else None, define=define)


OF_OPERATORS = re.compile(r"(scriptlang\.ops)\.\w+\.(\w+)")


def qualified_name(obj: Any) -> str:
    """The name under which a function or class of Python is stored, as PyTorch has it.

    Archives hold such names: those of ours do not say in which room of `scriptlang.ops` they are.
    """
    module = OF_OPERATORS.sub(r"\1.\2", obj.__module__ or "__main__")
    name = obj.__name__
    if name == "<lambda>":
        name = "_lambda"
    return f"__torch__.{name}" if module == "__main__" else f"__torch__.{module}.{name}"


def defaults_of(fn: Callable) -> dict[str, Any]:
    """Values of the defaults of a function, by argument."""
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


def source_of(obj: Any) -> tuple[ast.FunctionDef | ast.ClassDef, Source]:
    """The syntax of a function or class, and its source with places in its file."""
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
    node = _parse(source).body[0]
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


SIGNATURE = re.compile(r"[ \t]*# type:[ \t]*(\(.*\)[ \t]*->.*)")


def _after_docstring(node: ast.FunctionDef, source: Source) -> str | None:
    """The type comment of a function that stands behind its docstring, where PyTorch reads it."""
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


STRAY = re.compile(r"(?m)^([ \t]*#)[ \t]type:(?!.*->)")
"""A line that is only a type comment but not that of a function: Python does not parse those."""


MISSPELT = re.compile(r"#[\t ]*type[\t ]*(?!: ignore(?:\[.*\])?$):", re.MULTILINE)
TYPE_COMMENT = re.compile(r"# type:(?! ignore(?:\[[a-zA-Z-]+\])?$)", re.MULTILINE)


def _refuse_misspelt(source: Source) -> None:
    """A comment that was meant to declare types and does not."""
    found = MISSPELT.search(source.text)
    if found and not TYPE_COMMENT.search(source.text):
        raise CompileError(
            "this comment is nearly a type comment",
            Span(source, *found.span()),
            "write `# type:` with one blank before `type` and none after it",
        )


def _parse(source: Source) -> ast.Module:
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
    """A lambda as a function that returns its body; the source must hold exactly one."""
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


@alone
def compile_text(
    text: str, names: Mapping[str, Any] | None = None, file: str = "<string>"
) -> dict[str, Function]:
    """Compile every function of a text; `names` are further names it may use.

    The functions see each other.  Raises CompileError.
    """
    functions: dict[str, Function] = {}
    known = copy.copy(names) if isinstance(names, dict) else dict(names or {})

    class Compiled:
        def __init__(self, function: Function):
            self._function = function

    resolver = PythonResolver.of_mapping(known)
    for node, source in functions_of_text(text, file):
        functions[node.name] = declare(node, source, resolver, f"__torch__.{node.name}")
        known[node.name] = Compiled(functions[node.name])
    for function in functions.values():
        function.ensure_defined()
    return functions


def _refuse_several_iterables(function: ast.FunctionDef, source: Source) -> None:
    """`for x in a, b` without parentheses: as in PyTorch, texts do not have it."""
    for node in ast.walk(function):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple):
            place = span_of(node.iter, source)
            if not place.text.startswith("("):
                raise CompileError(
                    "a loop runs over one iterable",
                    place,
                    "write the tuple in parentheses, or zip(a, b)",
                )


def functions_of_text(text: str, file: str = "<string>") -> list[tuple[ast.FunctionDef, Source]]:
    """The functions that a text defines; imports are passed over.  Raises CompileError."""
    source = Source(textwrap.dedent(text), file)
    found: list[tuple[ast.FunctionDef, Source]] = []
    for node in _parse(source).body:
        if isinstance(node, ast.FunctionDef):
            _refuse_several_iterables(node, source)
            found.append((node, source))
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):
            place = Span(
                source,
                source.offset(node.lineno, node.col_offset),
                source.offset(node.lineno, node.col_offset) + 1,
            )
            raise CompileError(
                "only functions can be compiled from a text",
                place,
                "leave out all but def and import",
            )
    return found
