"""The schemas of operators and functions.

    aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor

`parse_schema` is a hand-written parser of PyTorch's schema language; the arguments and returns that
it parses are cached. Tests check it against the lark grammar of irtext. Alias annotations:
`Tensor(a)` is in alias set a, `Tensor(a!)` is also written, `Tensor(a -> *)` may alias anything
afterwards.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import Any, NoReturn

from . import type_text
from . import types as T
from .records import field, record
from .types import Type


@record(frozen=True)
class Alias:
    """An alias annotation: the alias sets before and after, and whether the value is written."""

    before: frozenset[str]
    after: frozenset[str]
    is_write: bool = False

    def __str__(self) -> str:
        text = "|".join(sorted(self.before)) + ("!" if self.is_write else "")
        if self.before == self.after:
            return f"({text})"
        return f"({text} -> {'|'.join(sorted(self.after))})"


class NoDefault:
    """The class of the marker for an argument without a default (None is a valid default)."""

    def __repr__(self) -> str:
        return "<no default>"

    def __reduce__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT = NoDefault()


@record(frozen=True)
class Argument:
    """One argument or return of a schema.

    size: the N of a fixed-size list `int[N]`; a single number broadcasts to it. text: the type as
    it is spelled in the parsed schema (`ScalarType?`, `SymInt[]`), else "".
    """

    name: str
    type: Type
    default: Any = NO_DEFAULT
    kwarg_only: bool = False
    alias: Alias | None = None
    size: int | None = None
    text: str = field(default="", compare=False)

    @property
    def has_default(self) -> bool:
        return self.default is not NO_DEFAULT

    # The names of torch._C.Argument

    def has_default_value(self) -> bool:
        return self.has_default

    @property
    def default_value(self) -> Any:
        """The default; None if there is none."""
        return self.default if self.has_default else None

    @property
    def real_type(self) -> Type:
        return self.type

    @property
    def N(self) -> int | None:
        return self.size

    @property
    def alias_info(self) -> Alias | None:
        return self.alias

    @property
    def is_write(self) -> bool:
        return self.alias is not None and self.alias.is_write

    @property
    def is_out(self) -> bool:
        return self.kwarg_only and self.is_write

    @property
    def is_elementwise(self) -> bool:
        """Whether the alias set refers to the elements of a list: `Tensor(a!)[]`, not `t[](a!)`."""
        return isinstance(self.type, T.ListType) and self.text.rstrip("?").endswith("]")


@record(frozen=True)
class Schema:
    """Name, overload, arguments and returns of an operator or function."""

    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    is_vararg: bool = False
    is_varret: bool = False

    @property
    def qualified_name(self) -> str:
        """`aten::add.Tensor`; without the dot if the overload is empty."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def overload_name(self) -> str:
        return self.overload

    @cached_property
    def inputs(self) -> tuple[Argument, ...]:
        """The arguments without the object of a method, which is the first: it is named `self`, or
        its class has the method."""
        first = self.arguments[0] if self.arguments else None
        short = self.name.rpartition(".")[2]
        is_bound = first is not None and (
            first.name == "self"
            or (isinstance(first.type, T.ClassType) and short in first.type.methods)
        )
        return self.arguments[is_bound:]

    @cached_property
    def is_mutable(self) -> bool:
        return any(a.alias and a.alias.is_write for a in self.arguments)

    @cached_property
    def takes_generator(self) -> bool:
        return self.index("generator") is not None

    @cached_property
    def written(self) -> tuple[tuple[int, bool], ...]:
        """The indices of arguments that are written, with whether it is their elements."""
        return tuple((i, a.is_elementwise) for i, a in enumerate(self.arguments) if a.is_write)

    @cached_property
    def leaking(self) -> tuple[int, ...]:
        """The indices of arguments that code outside may keep (`t(a -> *)`)."""
        return tuple(
            i
            for i, a in enumerate(self.arguments)
            if a.alias and "*" in a.alias.after and a.type != T.TENSOR
        )

    @cached_property
    def shared(self) -> tuple[tuple[int, ...], ...]:
        """For each result, the indices of arguments whose memory it shares by its alias set."""
        return tuple(
            tuple(
                i
                for i, a in enumerate(self.arguments)
                if a.alias and r.alias and (a.alias.before | a.alias.after) & r.alias.before - {"*"}
            )
            for r in self.returns
        )

    def index(self, name: str) -> int | None:
        """The index of the argument with that name, or None."""
        for i, a in enumerate(self.arguments):
            if a.name == name:
                return i
        return None

    def __str__(self) -> str:
        parts, starred = [], False
        for a in self.arguments:
            if a.kwarg_only and not starred:
                parts.append("*")
                starred = True
            default = f"={format_default(a.default)}" if a.has_default else ""
            parts.append(f"{argument_type(a)} {a.name}{default}")
        if self.is_vararg:
            parts.append("...")
        rets = [f"{argument_type(r)}{' ' + r.name if r.name else ''}" for r in self.returns]
        if self.is_varret:
            rets.append("...")
        bare = len(rets) == 1 and not self.is_varret and not rets[0].startswith("(")
        result = rets[0] if bare else f"({', '.join(rets)})"
        return f"{self.qualified_name}({', '.join(parts)}) -> {result}"


def argument_type(a: Argument) -> str:
    """The type of an argument as schemas spell it, with alias set and list size."""
    if a.text:
        return a.text
    text = str(a.type)
    return text if a.alias is None else f"{text}{a.alias}"


ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "b": "\b"}
"""The escape sequences in the strings of defaults."""


def format_default(value: Any) -> str:
    if isinstance(value, str):
        text = value.replace("\\", "\\\\").replace('"', '\\"')
        for letter, character in ESCAPES.items():
            text = text.replace(character, "\\" + letter)
        return f'"{text}"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(format_default, value)) + "]"
    return str(value)


class SchemaSyntaxError(ValueError):
    """Raised if a text is not a schema."""


CONSTANTS = {
    "contiguous_format": 0,
    "strided": 0,
    "Mean": 1,
    "long": 4,
    "float": 6,
    "True": True,
    "False": False,
    "None": None,
    "inf": float("inf"),
    "nan": float("nan"),
    "double": 7,
    "channels_last": 2,
    "preserve_format": 1,
}
"""Names that stand for values in the defaults of schemas."""

_TOKEN = re.compile(
    r"\s*(->|\.\.\.|[A-Za-z_][\w.]*(?:::[\w.]+)?|-?\d+\.?\d*(?:e[+-]?\d+)?j?"
    r'|"(?:[^"\\]|\\.)*"'
    r"|'(?:[^'\\]|\\.)*'|[()\[\],?!|*=:]|\Z)"
)


def split_name(text: str) -> tuple[str, str]:
    """('aten::add', 'Tensor') of a schema text, without parsing the rest."""
    head = text[: text.index("(")].strip()
    name, _, overload = head.partition(".")
    return name, overload


def parse_schema(text: str) -> Schema:
    """Parse one schema. Raises SchemaSyntaxError, which says what is wrong and where."""
    try:
        return _of_known_parts(text)
    except SchemaSyntaxError:
        return _SchemaParser(text, text.index("(")).schema(*split_name(text))


def _of_known_parts(text: str) -> Schema:
    """The schema, assembled from cached arguments and returns.

    Raises SchemaSyntaxError if that fails; the full parser then finds the reason.
    """
    start = text.index("(")
    head, arrow, tail = text[start + 1 :].partition(") -> ")
    if not arrow:
        raise SchemaSyntaxError(text)
    arguments, kwarg_only, vararg = [], False, False
    for part in _at_commas(head):
        if part == "*":
            kwarg_only = True
        elif part == "...":
            vararg = True
        else:
            arguments.append(_argument(part, kwarg_only))
    returns, varret = _returns(tail)
    name, _, overload = text[:start].strip().partition(".")
    return Schema(name, overload, tuple(arguments), returns, vararg, varret)


def _at_commas(text: str) -> list[str]:
    """Split the text at commas that are not inside brackets or strings."""
    parts = text.split(", ") if text else []
    if "(" not in text and "[" not in text and '"' not in text and "'" not in text:
        return parts
    whole, begun = [], ""
    for part in parts:
        begun = f"{begun}, {part}" if begun else part
        if (
            begun.count("(") + begun.count("[") == begun.count(")") + begun.count("]")
            and begun.count('"') % 2 == begun.count("'") % 2 == 0
        ):
            whole.append(begun)
            begun = ""
    return [*whole, begun] if begun else whole


@lru_cache(maxsize=4096)
def _argument(text: str, kwarg_only: bool) -> Argument:
    parser = _SchemaParser(text, 0)
    found = parser.argument(kwarg_only)
    parser.expect("")
    return found


@lru_cache(maxsize=4096)
def _returns(text: str) -> tuple[tuple[Argument, ...], bool]:
    parser = _SchemaParser(text, 0)
    found, varret = parser.returns()
    parser.expect("")
    return tuple(found), varret


class _SchemaParser:
    """Parses a schema, or a part of one, beginning at a position in a text."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at
        self.token = ""
        self.advance()

    def advance(self) -> str:
        token = self.token
        m = _TOKEN.match(self.text, self.at)
        if not m:
            self.fail(f"unexpected {self.text[self.at : self.at + 8]!r}")
        self.token, self.at = m.group(1), m.end()
        return token

    def fail(self, why: str) -> NoReturn:
        raise SchemaSyntaxError(f"{why} at {self.at} in schema {self.text!r}")

    def expect(self, token: str) -> None:
        if self.token != token:
            self.fail(f"expected {token!r} before {self.token!r}")
        self.advance()

    def schema(self, name: str, overload: str) -> Schema:
        self.expect("(")
        arguments, kwarg_only, vararg = [], False, False
        while self.token != ")":
            if self.token == "*":
                self.advance()
                kwarg_only = True
            elif self.token == "...":
                self.advance()
                vararg = True
            else:
                arguments.append(self.argument(kwarg_only))
            if self.token != ")":
                self.expect(",")
        self.expect(")")
        self.expect("->")
        returns, varret = self.returns()
        if self.token:
            self.fail(f"unexpected {self.token!r}")
        return Schema(name, overload, tuple(arguments), tuple(returns), vararg, varret)

    def argument(self, kwarg_only: bool) -> Argument:
        type, alias, size, text = self.type()
        name = self.advance()
        default = NO_DEFAULT
        if self.token == "=":
            self.advance()
            default = self.default(type)
        return Argument(name, type, default, kwarg_only, alias, size, text)

    def returns(self) -> tuple[list[Argument], bool]:
        if self.token == "...":
            self.advance()
            return [], True
        if self.token != "(":
            type, alias, size, text = self.type()
            name = self.advance() if self.token else ""
            return [Argument(name, type, alias=alias, size=size, text=text)], False
        self.advance()
        items, varret = [], False
        while self.token != ")":
            if self.token == "...":
                self.advance()
                varret = True
            else:
                type, alias, size, text = self.type()
                name = self.advance() if self.token not in (",", ")") else ""
                items.append(Argument(name, type, alias=alias, size=size, text=text))
            if self.token != ")":
                self.expect(",")
        self.expect(")")
        return items, varret

    def type(self) -> tuple[Type, Alias | None, int | None, str]:
        """Return (type, alias set, size of a fixed-size list, the text of the type)."""
        start = self.at - len(self.token)
        type, alias, size = self.base_type(), None, None
        end = self.at - len(self.token)
        while self.token in ("(", "[", "?"):
            if self.token == "(":
                alias = self.alias()
            elif self.token == "?":
                self.advance()
                type = T.optional(type)
            else:
                self.advance()
                if self.token != "]":
                    size = int(self.advance())
                self.expect("]")
                type = T.ListType(type)
            end = self.at - len(self.token)
        return type, alias, size, self.text[start:end].strip()

    def base_type(self) -> Type:
        if self.token == "(":  # a tuple type
            self.advance()
            items = []
            while self.token != ")":
                items.append(self.type()[0])
                if self.token != ")":
                    self.expect(",")
            self.advance()
            return T.TupleType(tuple(items))
        name = self.advance()
        if name in ("Dict", "Future", "RRef", "Await") and self.token == "(":
            self.advance()
            items = [self.type()[0]]
            while self.token == ",":
                self.advance()
                items.append(self.type()[0])
            self.expect(")")
            return type_text.GENERICS[name](*items)
        known = type_text.SPELLINGS.get(name) or T.ATOMS.get(name)
        if known is not None:
            return known
        if name.startswith("__torch__"):
            return T.custom_class(name)
        if re.fullmatch(r"t[A-Z]?\w*|[a-z]\d?|k|v", name):
            return T.VarType(name)
        self.fail(f"unknown type {name!r}")

    def alias(self) -> Alias:
        self.expect("(")
        before, write = self.alias_sets()
        after = before
        if self.token == "->":
            self.advance()
            after, _ = self.alias_sets()
        self.expect(")")
        return Alias(before, after, write)

    def alias_sets(self) -> tuple[frozenset[str], bool]:
        names, write = {self.advance()}, False
        while self.token in ("|", "!"):
            if self.advance() == "!":
                write = True
            else:
                names.add(self.advance())
        return frozenset(names), write

    def default(self, type: Type) -> Any:
        if self.token == "[":
            self.advance()
            items = []
            element = type
            while isinstance(element, (T.ListType, T.OptionalType)):
                element = element.element
            while self.token != "]":
                items.append(self.default(element))
                if self.token != "]":
                    self.expect(",")
            self.advance()
            return items
        token = self.advance()
        if token[:1] in "\"'":
            return re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), token[1:-1])
        if token in CONSTANTS:
            return CONSTANTS[token]
        try:
            number = int(token)
        except ValueError:
            try:
                return float(token)
            except ValueError:
                try:
                    return complex(token)
                except ValueError:
                    self.fail(f"unknown default {token!r}")
        element = T.without_none(type)
        return float(number) if element == T.FLOAT else number
