"""The texts of types: spellings in schemas and archives, and the parser of annotations."""

from __future__ import annotations

import re
from collections.abc import Callable

from .types import (
    ATOMS,
    BOOL,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STR,
    TENSOR,
    DictType,
    FutureType,
    ListType,
    RRefLikeType,
    TupleType,
    Type,
    optional,
    union,
)

SPELLINGS: dict[str, Type] = {
    "None": NONE,
    "Scalar": NUMBER,
    "number": NUMBER,
    "SymInt": INT,
    "ScalarType": INT,
    "Layout": INT,
    "MemoryFormat": INT,
    "QScheme": INT,
    "DeviceIndex": INT,
    "Dimname": STR,
    "torch.Tensor": TENSOR,
    "torch.device": DEVICE,
    "Device": DEVICE,
    "device": DEVICE,
    "SymBool": BOOL,
    "SymFloat": FLOAT,
    "DeviceObjType": DEVICE,
}
"""Further spellings of atomic types in schemas and archives."""

_TOKEN = re.compile(r"\s*([A-Za-z_][\w.$<>]*|\d+|[\[\](),?|]|\Z)")


class TypeSyntaxError(ValueError):
    """Raised if a text is not a type; the message contains the text."""


def parse_annotation(text: str, resolve: Callable[[str], Type | None] | None = None) -> Type:
    """Parse a type annotation of an archive (`Dict[str, List[Tensor]]`, `__torch__.X`).

    resolve: maps qualified names of classes, enums, interfaces and named tuples to types, or None.
    Raises TypeSyntaxError if the text is not a type.
    """
    parser = _AnnotationParser(text, resolve or (lambda name: None))
    t = parser.type()
    if parser.token:
        raise TypeSyntaxError(f"unexpected {parser.token!r} in type {text!r}")
    return t


class _AnnotationParser:
    """A recursive descent parser of annotations; the nesting is limited."""

    MAX_DEPTH = 64

    def __init__(self, text: str, resolve: Callable[[str], Type | None]) -> None:
        self.text, self.resolve, self.at, self.depth = text, resolve, 0, 0
        self.token = ""
        self.advance()

    def advance(self) -> str:
        token = self.token
        m = _TOKEN.match(self.text, self.at)
        if not m:
            raise TypeSyntaxError(
                f"unexpected {self.text[self.at : self.at + 10]!r} in type {self.text!r}"
            )
        self.token, self.at = m.group(1), m.end()
        return token

    def expect(self, token: str) -> None:
        if self.token != token:
            raise TypeSyntaxError(f"expected {token!r} before {self.token!r} in type {self.text!r}")
        self.advance()

    def type(self) -> Type:
        self.depth += 1
        if self.depth > self.MAX_DEPTH:
            raise TypeSyntaxError(f"type nested over {self.MAX_DEPTH} deep: {self.text[:60]!r}...")
        t = self.single()
        while self.token == "|":
            self.advance()
            t = union(t, self.single())
        self.depth -= 1
        return t

    def arguments(self) -> list[Type]:
        self.expect("[")
        if self.token == "(":  # Tuple[()]
            self.advance()
            self.expect(")")
            self.expect("]")
            return []
        args = [self.type()]
        while self.token == ",":
            self.advance()
            args.append(self.type())
        self.expect("]")
        return args

    def single(self) -> Type:
        name = self.advance()
        short = name.rpartition(".")[2] if name.startswith(("typing.", "torch.jit.")) else name
        generic = GENERICS.get(short)
        if generic and self.token == "[":
            try:
                return generic(*self.arguments())
            except TypeError:
                raise TypeSyntaxError(f"wrong number of parts of {name} in {self.text!r}") from None
        t = SPELLINGS.get(name) or ATOMS.get(name) or self.resolve(name)
        if t is None:
            raise TypeSyntaxError(f"unknown type {name!r} in {self.text!r}")
        return t


GENERICS: dict[str, Callable[..., Type]] = {
    "List": ListType,
    "list": ListType,
    "Optional": lambda t: optional(t),
    "Dict": DictType,
    "dict": DictType,
    "Union": lambda *ts: union(*ts),
    "Tuple": lambda *ts: TupleType(ts),
    "tuple": lambda *ts: TupleType(ts),
    "Future": FutureType,
    "Await": lambda t: RRefLikeType("Await", t),
    "RRef": lambda t: RRefLikeType("RRef", t),
    "Final": lambda t: t,
}
"""Type constructors by the names that annotations use."""
