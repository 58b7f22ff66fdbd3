"""Turns an `ast` into text that PyTorch's parser reads, and notes the origin of every part.

astunparse writes the text.  It differs from Python's usual form in a few points: tuples in
subscripts (`Tuple[int, int]`) and classes without bases (`class C:`) have no parentheses, a target
of several names ends with a comma, and floats and strings have the form that PyTorch writes.
"""

from __future__ import annotations

import ast
import math
from typing import Any

import astunparse

from ..records import field, record
from ..source import Span
from .debug_info import OriginalSpan


@record
class Text:
    """Text that is being written, with its origin.

    marks: (offset, span) pairs: from that offset on the text was made from the span, or from none.
    """

    parts: list[str] = field(default_factory=list)
    size: int = 0
    marks: list[tuple[int, Span | None]] = field(default_factory=list)

    def write(self, part: str) -> None:
        self.parts.append(part)
        self.size += len(part)

    def flush(self) -> None:
        """Do nothing; astunparse calls it."""

    def mark(self, span: Span | None) -> None:
        if self.marks and self.marks[-1][0] == self.size:
            self.marks.pop()
        if not same_place(self.marks[-1][1] if self.marks else None, span):
            self.marks.append((self.size, span))

    def __str__(self) -> str:
        return "".join(self.parts)


class Unparser(astunparse.Unparser):  # type: ignore[misc]  # a package without types
    """astunparse for archives.  A node of the tree may have its origin as an attribute `span`."""

    def __init__(self, tree: ast.AST, text: Text) -> None:
        self.span: Span | None = None
        self.opened_at = -1
        super().__init__(tree, text)

    def dispatch(self, tree: Any) -> None:
        """Print a node and note its origin.  If two nodes begin at the same offset, as `self.conv`
        and `self.conv.forward(x)` do, that of the outer one is noted."""
        span = getattr(tree, "span", None)
        if span is None or not is_known(span) or same_place(span, self.span):
            if span is not None and not isinstance(tree, ast.stmt) and is_known(span):
                self.opened_at = self.f.size  # the text here is already marked with this span
            super().dispatch(tree)
            return
        if not isinstance(tree, ast.stmt):
            if self.opened_at == self.f.size:
                super().dispatch(tree)
                return
            self.opened_at = self.f.size
        outer, self.span = self.span, span
        if not isinstance(tree, ast.stmt):
            self.f.mark(span)
        super().dispatch(tree)
        self.span = outer
        self.f.mark(outer)

    def fill(self, text: str = "") -> None:
        """Begin a new line, indented by two columns per block, and note the statement's origin."""
        if self.f.size:
            self.f.write("\n")
        self.f.write("  " * self._indent)
        self.f.mark(self.span)
        self.f.write(text)

    def _ClassDef(self, t: ast.ClassDef) -> None:
        bases = ", ".join(b.id for b in t.bases if isinstance(b, ast.Name))
        self.fill(f"class {t.name}({bases})" if bases else f"class {t.name}")
        self.enter()
        self.dispatch(t.body)
        self.leave()

    def _FunctionDef(self, t: ast.FunctionDef) -> None:
        self.fill(f"def {t.name}(")
        defaults = [None] * (len(t.args.args) - len(t.args.defaults)) + t.args.defaults
        for i, (arg, default) in enumerate(zip(t.args.args, defaults)):
            if i:
                self.write(",\n" + "  " * (self._indent + 2))
            self.dispatch(arg)
            if default is not None:
                self.write("=")
                self.dispatch(default)
        self.write(")")
        if t.returns is not None:
            self.write(" -> ")
            self.dispatch(t.returns)
        self.enter()
        self.dispatch(t.body)
        self.leave()

    def _Assign(self, t: ast.Assign) -> None:
        self.fill()
        target = t.targets[0]
        if isinstance(target, ast.Tuple):
            for name in target.elts:
                self.dispatch(name)
                self.write(", ")
            self.write("= ")
        else:
            self.dispatch(target)
            self.write(" = ")
        self.dispatch(t.value)

    def _AnnAssign(self, t: ast.AnnAssign) -> None:
        self.fill()
        self.dispatch(t.target)
        self.write(" : ")
        self.dispatch(t.annotation)
        if t.value is not None:
            self.write(" = ")
            self.dispatch(t.value)

    def _Subscript(self, t: ast.Subscript) -> None:
        self.dispatch(t.value)
        self.write("[")
        if isinstance(t.slice, ast.Tuple) and t.slice.elts:
            for i, part in enumerate(t.slice.elts):
                self.write(", " if i else "")
                self.dispatch(part)
        else:
            self.dispatch(t.slice)
        self.write("]")

    def _Constant(self, t: ast.Constant) -> None:
        value = t.value
        if isinstance(value, str):
            self.write(quote(value))
        elif isinstance(value, float):
            self.write(float_text(value))
        elif isinstance(value, complex):
            self.write(complex_text(value))
        else:
            self.write(repr(value))


def is_known(span: Span) -> bool:
    """Whether a span is in a program, not only in the code of an archive."""
    return not isinstance(span, OriginalSpan) or span.is_known


def same_place(a: Span | None, b: Span | None) -> bool:
    if a is None or b is None:
        return a is b
    return a is b or (a.source is b.source and a.start == b.start and a.end == b.end)


ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
"""The escapes that PyTorch's reader accepts, besides octal ones."""


def quote(text: str) -> str:
    """A string literal that PyTorch reads.  Characters outside of ASCII, and those that do not
    print, become one octal escape for each byte of their UTF-8."""
    out = []
    for c in text:
        if c in ESCAPES:
            out.append(ESCAPES[c])
        elif " " <= c <= "~":
            out.append(c)
        else:
            out += (f"\\{byte:03o}" for byte in c.encode("utf-8", "surrogatepass"))
    return f'"{"".join(out)}"'


def float_text(value: float) -> str:
    """A literal that reads back as the same float, or the name `inf`, `-inf` or `nan`."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(value)


def complex_text(value: complex) -> str:
    """A complex number as a sum, such as `1.0+2.0j`."""
    imaginary = float_text(value.imag)
    sign = "" if imaginary.startswith("-") else "+"
    return f"{float_text(value.real)}{sign}{imaginary}j"


def unparse(tree: ast.AST) -> Text:
    """The text of a module, class, function or expression."""
    text = Text()
    Unparser(tree, text)
    return text
