"""Calls of operators in an archive.  Operators and overloads that are not in the table are kept as
nodes, and raise when they are reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import types as T
from ..frontend.overloads import operators
from ..frontend.overloads.matching import NoOverload
from ..frontend.values.simple import SimpleValue
from ..frontend.values.sugared import Arg, BuiltinOperator, ConstantValue, SugaredValue
from ..passes import take_numbers
from ..type_variables import has_variables

if TYPE_CHECKING:
    from ..frontend.values.builder import Builder
    from ..source import Span


class KnownOperator(BuiltinOperator):
    """An operator of the table.  If no overload accepts the arguments, the call is of an unknown
    overload, from a later version of PyTorch.  It becomes a node whose kind is the name with the
    types of the arguments."""

    def attr(self, b: Builder, name: str, span: Span) -> SugaredValue:
        b.unknown.append(f"{self.name}.{name}")
        return super().attr(b, name, span)

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        if self.name in take_numbers.OPERATORS and not (self.name == "aten::div" and kwargs):
            args = with_number(b, args)
        try:
            return self.known(b, args, kwargs, span)
        except NoOverload as e:
            if e.called not in (self.name, self.name.partition("::")[2]):
                raise
        given = [a.value.value(b, a.span).type.annotation for a in args]
        given += [f"{n}={a.value.value(b, a.span).type.annotation}" for n, a in kwargs.items()]
        unknown = UnknownOperator(f"{self.name}({', '.join(given)})", usual_result(self.name))
        return unknown.call(b, args, kwargs, span)

    def known(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        """A call of a known overload.  Raises NoOverload if none accepts the arguments."""
        return b.call_operator(self.name, args, kwargs, span)


def with_number(b: Builder, args: Sequence[Arg]) -> Sequence[Arg]:
    """The arguments of a call, the second one as a number if it is a constant tensor of rank 0."""
    constant = getattr(args[1].value, "constant", None) if len(args) > 1 else None
    number = take_numbers.number_in(constant)
    if number is None or args[0].value.type(b, args[0].span) != T.TENSOR:
        return args
    return [args[0], Arg(ConstantValue(number), args[1].span), *args[2:]]


def usual_result(name: str) -> T.Type:
    """The type that all known overloads of an operator return, if that is one type; else Tensor."""
    known = {tuple(r.type for r in schema.returns) for schema in operators.overloads(name)}
    if len(known) == 1:
        (types,) = known
        if len(types) == 1 and not has_variables(types[0]):
            return types[0]
    return T.TENSOR


class UnknownOperator(SugaredValue):
    """An operator that is not in the table.  A call is kept as a node, and raises when reached.

    Its result has the type that the program declares (`y : int = ops.lib.op(x)`, `annotate`, the
    result of the function, the other branch).  Otherwise it is a Tensor, which most operators of
    libraries return, or as many Tensors as the program unpacks.  Statements that do not compile
    with that type are left out (frontend.bodies.statements.leave_out).

    The attribute `keywords` of the node names its last inputs, which were passed by keyword.
    `named_by_archive` distinguishes operators in `prim` from nodes of the language.
    """

    def __init__(self, name: str, type: T.Type = T.TENSOR) -> None:
        self.name, self.declared = name, type
        self.kind = f"operator '{name}'"

    def attr(self, b: Builder, name: str, span: Span) -> SugaredValue:
        if self.name == "aten::autograd":  # `torch.autograd.grad` is aten::grad
            return KnownOperator(f"aten::{name}")
        b.unknown.append(self.name)
        return super().attr(b, name, span)

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        inputs = [a.value.value(b, a.span) for a in (*args, *kwargs.values())]
        attributes: dict[str, Any] = {"keywords": tuple(kwargs)} if kwargs else {}
        if self.name.startswith("prim::"):  # otherwise it would look like a node of the language
            attributes["named_by_archive"] = True
        b.unknown.append(self.name)
        return UnknownResult(
            b.insert(self.name, inputs, (self.declared,), span, **attributes).output
        )


class UnknownResult(SimpleValue):
    """The result of an unknown operator: of the declared type, one Tensor, or several."""

    def declare(self, type: T.Type) -> None:
        if not self.simple_value.uses:
            self.simple_value.type = type

    def unpack(self, b: Builder, span: Span, count: int | None = None) -> list[SugaredValue] | None:
        node = self.simple_value.node
        for _ in range(len(node.outputs), count or 1):
            node.add_output(T.TENSOR)
        return [SimpleValue(v) for v in node.outputs]
