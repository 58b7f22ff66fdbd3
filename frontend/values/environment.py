"""Scopes: which value each name of the program has, for each block.

Every block of the graph that a statement opens (a branch, a loop body) has its own frame.  A name
that is bound in an outer frame keeps its type in inner frames, because its value after the
statement depends on the path of control.  Within one frame a name may be rebound with another type.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.records import field, record
from scriptlang.source import Span

from ..overloads.conversions import openness, remedy, settle
from .sugared import ConstantValue, SugaredValue

if TYPE_CHECKING:
    from .builder import Builder


class Consequence(CompileError):
    """An error that only follows from an earlier one; it is not reported."""


@record
class Unusable:
    """Why a name has no value here although it is assigned somewhere.

    The message is empty if the statement that assigns it had an error, which is reported anyway.
    """

    message: str
    help: str | None = None

    def error(self, span: Span) -> CompileError:
        if not self.message:
            return Consequence("an earlier error", span)
        return CompileError(self.message, span, self.help)


@record
class Frame:
    """The names of one block.

    `values` are the names that are bound here.  `unusable` are those that have no value, with the
    reason.  `exits`: control never reaches the end of the block (return, break, continue, raise).
    `refined` are names that were not assigned here but whose type is known better (after
    `x is not None`), with their values before.  `is_scope`: this is the outermost frame of a nested
    function, whose assignments do not change outer variables.  `nones` are names that a test found
    to be None.
    """

    parent: Frame | None = None
    values: dict[str, SugaredValue] = field(default_factory=dict)
    unusable: dict[str, Unusable] = field(default_factory=dict)
    exits: bool = False
    refined: dict[str, SugaredValue] = field(default_factory=dict)
    is_scope: bool = False
    nones: set[str] = field(default_factory=set)

    def find_outer(self, name: str) -> SugaredValue | None:
        """The value that a name has in outer frames of the same function; None if it has none."""
        frame: Frame | None = self
        while frame.parent is not None and not frame.is_scope:
            frame = frame.parent
            if name in frame.values:
                return frame.values[name]
            if name in frame.unusable:
                return None
        return None

    def find(self, name: str) -> SugaredValue | None:
        """The value of a name in this frame or in outer ones; None if it has none."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.values:
                return frame.values[name]
            if name in frame.unusable:
                return None
            frame = frame.parent
        return None

    def declared(self, name: str, b: Builder, span: Span) -> T.Type:
        """The declared type of a variable, without refinements; NoneType if it has none."""
        frame: Frame | None = self
        while frame is not None:
            known = frame.refined.get(name) or frame.values.get(name)
            if known is not None:
                return known.type(b, span) if b.is_simple(known) else T.NONE
            frame = None if name in frame.unusable else frame.parent
        return T.NONE

    def is_none(self, name: str) -> bool:
        """Whether a test in this frame or an outer one found that the variable is None."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.nones:
                return True
            frame = None if name in frame.values or name in frame.unusable else frame.parent
        return False

    def find_unusable(self, name: str) -> Unusable | None:
        frame: Frame | None = self
        while frame is not None:
            if name in frame.unusable:
                return frame.unusable[name]
            frame = frame.parent
        return None

    def names(self) -> builtins.set[str]:
        """All names that have a value in this frame or in outer ones."""
        names: builtins.set[str] = builtins.set()
        frame: Frame | None = self
        while frame is not None:
            names |= frame.values.keys()
            frame = frame.parent
        return names

    def set(self, name: str, value: SugaredValue) -> None:
        """Bind a name in this frame, without checks."""
        self.values[name] = value
        self.unusable.pop(name, None)
        self.refined.pop(name, None)
        self.nones.discard(name)

    def refine(self, name: str, value: SugaredValue, known: SugaredValue) -> None:
        """Bind a name to a value of a narrower type, without counting it as an assignment.

        `known` is the value that the name has had so far.
        """
        original = self.refined.get(name, known)
        assigned_here = name in self.values and name not in self.refined
        self.set(name, value)
        if not assigned_here:
            self.refined[name] = original

    def assigned(self) -> builtins.set[str]:
        """The names that were assigned in this frame, not only refined."""
        return self.values.keys() - self.refined.keys()

    def forget(self, name: str, why: Unusable) -> None:
        """Remove the value of a name; `why` is the reason for errors about later uses."""
        self.values.pop(name, None)
        self.refined.pop(name, None)
        self.nones.discard(name)
        self.unusable[name] = why


def bind(
    frame: Frame,
    b: Builder,
    name: str,
    value: SugaredValue,
    span: Span,
    annotated: T.Type | None = None,
) -> None:
    """Assign to a name: `name = value`, or `name: annotated = value`.

    A name of an outer frame keeps its type: the value is converted to it.  Raises CompileError if
    the types do not fit.
    """
    outer = frame.find_outer(name)
    if outer is not None:
        if annotated is not None:
            raise CompileError(
                f"{name!r} is already defined in an outer block and cannot be annotated again",
                span,
                "annotate its first assignment",
            )
        value = _rebind(b, name, outer, value, span)
    elif annotated is not None:
        value = _annotate(b, name, value, annotated, span)
    elif isinstance(value, ConstantValue):
        value = value.simple(b, span)
    frame.set(name, value)
    if b.is_simple(value):
        plain = value.value(b, span)
        settle(plain)
        b.name_value(plain, name)


def _rebind(
    b: Builder, name: str, outer: SugaredValue, value: SugaredValue, span: Span
) -> SugaredValue:
    """The value to bind in an inner block to a name of an outer block: it has the outer type."""
    if not b.is_simple(value):
        raise CompileError(
            f"{name!r} is defined in an outer block and cannot become {value.kind} here",
            span,
            "use another name",
        )
    if not b.is_simple(outer):
        raise CompileError(
            f"{name!r} is {outer.kind} in an outer block and cannot be assigned here",
            span,
            "use another name",
        )
    wanted = outer.type(b, span)
    value.declare(wanted)
    converted = b.convert(value.value(b, span), wanted, span, True)
    if not T.is_subtype(converted.type, wanted):
        raise CompileError(
            f"Variable {name!r} previously had type {wanted.annotation} but is now being assigned "
            f"to a value of type {converted.type.annotation}",
            span,
            "use another name, or annotate its first assignment with a type that fits both",
        )
    return b.simple(converted)


def _annotate(
    b: Builder, name: str, value: SugaredValue, annotated: T.Type, span: Span
) -> SugaredValue:
    """The value with exactly the annotated type.

    The annotation determines the type of an empty list; other values are not converted.
    """
    plain = value.value(b, span)
    if openness(plain) is True:
        plain = b.convert(plain, annotated, span, False)
    if not T.is_subtype(plain.type, annotated):
        raise CompileError(
            f"Variable {name!r} is annotated with type {annotated.annotation} but is being "
            f"assigned to a value of type {plain.type.annotation}",
            span,
            remedy(annotated, plain.type) or "convert it, or annotate the type that it has",
        )
    return b.simple(b.cast(plain, annotated, span))
