"""Sizes that may be unknown: integers, and polynomials over symbols in a normal form.

    s = Symbol("s0");  add(s, 2)  prints `s0+2`;  floordiv(add(s, 1), 2)  prints `(s0+1)//2`

A size is an int or an `Expression`. Equal expressions are equal for all values of their symbols;
expressions that differ may still be equal for some. Division rounds down, as in the language. The
integers of the language wrap at 64 bits; sizes are assumed not to get that large.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

MOST_TERMS = 16
"""An expression with more terms is given up as unknown."""


@dataclass(frozen=True, eq=False)
class Symbol:
    """An unknown number.

    at_least: a lower bound, or None. home: the block of a graph in which it is made, or None.
    likely: a value that it has had, or None; for decisions that only cost time or memory.
    """

    name: str
    at_least: int | None = 0
    home: Any = None
    likely: int | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Quotient:
    """A division that rounds down and cannot be simplified."""

    dividend: Expression
    divisor: Size

    def __str__(self) -> str:
        return f"{factor_text(self.dividend)}//{factor_text(self.divisor)}"


Atom: TypeAlias = "Symbol | Quotient"
Term = tuple[Atom, ...]
"""A product of atoms, sorted."""


@dataclass(frozen=True)
class Expression:
    """A sum of sorted terms with nonzero coefficients, and a constant."""

    terms: tuple[tuple[Term, int], ...]
    constant: int

    @cached_property
    def _hash(self) -> int:
        return hash((self.terms, self.constant))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        parts = [term_text(term, k) for term, k in self.terms]
        if self.constant:
            parts.append(str(self.constant))
        return "+".join(parts).replace("+-", "-")

    __repr__ = __str__


Size: TypeAlias = "int | Expression"


class TooLong(Exception):
    """Raised if an expression would have more than MOST_TERMS terms."""


def symbol(
    name: str, at_least: int | None = 0, home: Any = None, likely: int | None = None
) -> Expression:
    """A new symbol as an expression; it differs from other symbols with the same name."""
    return expression_of(Symbol(name, at_least, home, likely))


def expression_of(s: Symbol) -> Expression:
    """A symbol as an expression."""
    return Expression((((s,), 1),), 0)


def term_text(term: Term, k: int) -> str:
    text = "*".join(
        f"({a})" if isinstance(a, Quotient) and (k != 1 or len(term) > 1) else str(a) for a in term
    )
    return text if k == 1 else f"-{text}" if k == -1 else f"{k}*{text}"


def factor_text(e: Size) -> str:
    text = str(e)
    return text if text.isalnum() else f"({text})"


def terms_of(e: Size) -> dict[Term, int]:
    """The coefficients by term; the term () stands for the constant."""
    if isinstance(e, int):
        return {(): e} if e else {}
    found = dict(e.terms)
    if e.constant:
        found[()] = e.constant
    return found


def made_of(terms: Mapping[Term, int]) -> Size:
    rest = [(term, k) for term, k in terms.items() if term and k]
    if not rest:
        return terms.get((), 0)
    if len(rest) > MOST_TERMS:
        raise TooLong
    rest.sort(key=lambda pair: term_key(pair[0]))
    return Expression(tuple(rest), terms.get((), 0))


def term_key(term: Term) -> tuple[Any, ...]:
    return len(term), tuple(map(atom_key, term))


def atom_key(a: Atom) -> tuple[Any, ...]:
    if isinstance(a, Symbol):
        return len(a.name), a.name, id(a)
    return 1000, str(a), 0


def add(a: Size, b: Size) -> Size:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    found = terms_of(a)
    for term, k in terms_of(b).items():
        found[term] = found.get(term, 0) + k
    return made_of(found)


def sub(a: Size, b: Size) -> Size:
    return add(a, mul(b, -1))


def mul(a: Size, b: Size) -> Size:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    found: dict[Term, int] = {}
    for s, j in terms_of(a).items():
        for t, k in terms_of(b).items():
            term = tuple(sorted(s + t, key=atom_key))
            found[term] = found.get(term, 0) + j * k
    return made_of(found)


def product(sizes: Any) -> Size:
    result: Size = 1
    for s in sizes:
        result = mul(result, s)
    return result


def total(sizes: tuple[Any, ...]) -> Size:
    result: Size = 0
    for s in sizes:
        result = add(result, s)
    return result


def exact_quotient(a: Size, b: Size) -> Size | None:
    """The q with q * b == a for all values of the symbols; None if there is none."""
    rest, divisor = terms_of(a), terms_of(b)
    if not divisor:
        return None
    lead = max(divisor, key=term_key)
    result: dict[Term, int] = {}
    while rest:
        top = max(rest, key=term_key)
        left = without(top, lead)
        if left is None or rest[top] % divisor[lead]:
            return None
        k = rest[top] // divisor[lead]
        result[left] = result.get(left, 0) + k
        for term, j in divisor.items():
            t = tuple(sorted(left + term, key=atom_key))
            rest[t] = rest.get(t, 0) - j * k
            if not rest[t]:
                del rest[t]
        if len(result) > MOST_TERMS:
            return None
    return made_of(result)


def without(term: Term, part: Term) -> Term | None:
    """A product without the given factors; None if it does not contain one of them."""
    left = list(term)
    for a in part:
        if a not in left:
            return None
        left.remove(a)
    return tuple(left)


def floordiv(a: Size, b: Size) -> Size | None:
    """a // b; None if b may be zero or negative."""
    if isinstance(b, int):
        if b == 0:
            return None
        if isinstance(a, int):
            return a // b
        return floordiv(mul(a, -1), -b) if b < 0 else divided(a, b)
    if not is_at_least(b, 1):
        return None
    exact = exact_quotient(a, b)
    if exact is not None:
        return exact
    if isinstance(a, int):
        return 0 if a == 0 else None
    return Expression((((Quotient(a, b),), 1),), 0)


def divided(a: Expression, b: int) -> Size:
    """a // b: terms that b divides are divided exactly, and nested quotients are merged."""
    whole: Size = made_of({term: k // b for term, k in terms_of(a).items() if k % b == 0 and term})
    rest = made_of({term: k for term, k in a.terms if k % b})
    whole = add(whole, a.constant // b)
    rest = add(rest, a.constant % b) if rest != 0 else 0
    if not isinstance(rest, Expression):
        return whole
    inner = rest.terms[0][0]
    if (
        len(rest.terms) == 1
        and rest.terms[0][1] == 1
        and len(inner) == 1
        and isinstance(inner[0], Quotient)
        and isinstance(inner[0].divisor, int)
    ):
        d = inner[0].divisor
        return add(whole, divided_once(add(inner[0].dividend, rest.constant * d), d * b))
    return add(whole, Expression((((Quotient(rest, b),), 1),), 0))


def divided_once(a: Size, b: int) -> Size:
    return a // b if isinstance(a, int) else divided(a, b)


def division(a: Size, b: Size) -> Size | None:
    """a / b for programs that check that there is no remainder; None if it is unknown."""
    exact = exact_quotient(a, b) if not isinstance(b, int) or b else None
    return exact if exact is not None else floordiv(a, b)


def is_at_least(e: Size, bound: int) -> bool:
    """Whether a size is certainly at least `bound`."""
    least = minimum(e)
    return least is not None and least >= bound


def minimum(e: Size) -> int | None:
    """A lower bound of a size; None if none is known."""
    if isinstance(e, int):
        return e
    found = e.constant
    for term, k in e.terms:
        least = 1
        for a in term:
            m = a.at_least if isinstance(a, Symbol) else quotient_minimum(a)
            if m is None or m < 0:
                return None
            least *= m
        if k < 0:
            return None
        found += k * least
    return found


def quotient_minimum(q: Quotient) -> int | None:
    least = minimum(q.dividend)
    if least is None or not isinstance(q.divisor, int):
        return 0 if least is not None and least >= 0 else None
    return least // q.divisor


def equal(a: Size, b: Size) -> bool | None:
    """Whether two sizes are equal for all values of the symbols; None if that depends on them."""
    if a == b:
        return True
    if isinstance(a, int) and isinstance(b, int):
        return False
    difference = sub(a, b)
    if isinstance(difference, int):
        return difference == 0
    for d in (difference, mul(difference, -1)):
        least = minimum(d)
        if least is not None and least > 0:
            return False
    return None


def less(a: Size, b: Size) -> bool | None:
    """Whether a < b for all values of the symbols; None if that depends on them."""
    difference = sub(b, a)
    least = minimum(difference)
    if least is not None and least > 0:
        return True
    most = minimum(mul(difference, -1))
    return False if most is not None and most >= 0 else None


def symbols_of(e: Size) -> set[Symbol]:
    """The symbols in an expression."""
    found: set[Symbol] = set()
    if isinstance(e, int):
        return found
    for term, _ in e.terms:
        for a in term:
            if isinstance(a, Symbol):
                found.add(a)
            else:
                found |= symbols_of(a.dividend) | symbols_of(a.divisor)
    return found


def substitute(e: Size, value: Callable[[Symbol], Size | None]) -> Size | None:
    """The expression with symbols replaced; a symbol for which `value` returns None stays.

    The result is None if the expression would divide by something that may be zero.
    """
    if isinstance(e, int):
        return e
    result: Size = e.constant
    for term, k in e.terms:
        part: Size = k
        for a in term:
            factor = atom_value(a, value)
            if factor is None:
                return None
            part = mul(part, factor)
        result = add(result, part)
    return result


def atom_value(a: Atom, value: Callable[[Symbol], Size | None]) -> Size | None:
    if isinstance(a, Symbol):
        found = value(a)
        return expression_of(a) if found is None else found
    dividend, divisor = substitute(a.dividend, value), substitute(a.divisor, value)
    return None if dividend is None or divisor is None else floordiv(dividend, divisor)
