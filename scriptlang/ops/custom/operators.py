"""One operator that a user has defined: its implementations, and checks of its results.

The kernel of such an operator, for both engines, is `CustomOperator.call`: it finds the function
for the engine, passes it the arguments as Python values, and checks and converts the results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import dtypes
from ... import types as T
from ...errors import MissingOperatorError
from ...schema import Argument, Schema, SchemaSyntaxError, parse_schema
from ...tensors import Tensor
from .. import table
from ..calling.binding import MISFIT, convert, describe

OWN = ("aten", "prim", "prims", "quantized", "prepacked", "scriptlang")
"""Namespaces in which users cannot define operators."""

KIND = "custom"
"""The `kind` of these operators in the table."""

Body = Callable[..., Any]


class CustomOperator:
    """One overload.

    schema: its arguments and results.  for_both, for_python: the functions that run it on both
    engines, or on the Python engine alone.  for_native: for an operator of a plug-in, the function
    that calls the native one.  fake: returns tensors of the right sizes and dtypes without
    computing. is_apart: results must not share memory with arguments or each other (set and checked
    for custom_op).
    """

    def __init__(self, text: str, is_conservative: bool = False) -> None:
        self.schema = checked_schema(text)
        self.text = text
        self.name = self.schema.qualified_name
        self.for_both: Body | None = None
        self.for_python: Body | None = None
        self.for_native: Body | None = None
        self.fake: Body | None = None
        self.is_apart = False
        self.entry = table.register(
            text, self.call, KIND, is_conservative, effect="ordered", may_share=True
        )
        self.entry.__dict__["custom"] = self

    def call(self, *values: Any) -> Any:
        """The results, in the form in which kernels of the table return them."""
        body = self.for_python or self.for_both
        if body is None:
            if self.for_native is not None:
                return self.for_native(*values)
            raise MissingOperatorError(self.missing("python"))
        results = self.results(body, values)
        return results[0] if len(results) == 1 else results if results else None

    def call_natively(self, values: list[Any]) -> tuple[Any, ...]:
        """All results as a tuple; the native engine calls this."""
        assert self.for_both is not None, "it is registered there when this is set"
        return self.results(self.for_both, values)

    def missing(self, engine: str) -> str:
        return (
            f"the operator {self.name} is defined, but nobody implements it for the {engine} "
            f"engine: scriptlang.library.impl({self.name!r}, ...) does"
        )

    def results(self, body: Body, values: Any) -> tuple[Any, ...]:
        """Call a function with all arguments of the schema and return its results as a tuple.

        Raises RuntimeError if the results do not match the schema.
        """
        by_place, by_name = [], {}
        for a, value in zip(self.schema.arguments, values):
            value = as_python(value, a)
            if a.kwarg_only:
                by_name[a.name] = value
            else:
                by_place.append(value)
        given = body(*by_place, **by_name)
        wanted = self.schema.returns
        results: Any = given if len(wanted) > 1 else () if not wanted else (given,)
        if not wanted and given is not None or not isinstance(results, (tuple, list)):
            expected = f"{len(wanted)} results" if wanted else "nothing"
            raise RuntimeError(
                f"the operator {self.name} gave a {describe(given)} where its schema says "
                f"{expected}: {self.schema}"
            )
        if len(results) != len(wanted):
            raise RuntimeError(
                f"the operator {self.name} gave {len(results)} results where its schema says "
                f"{len(wanted)}: {self.schema}"
            )
        made = tuple(self.result(r, a) for r, a in zip(results, wanted))
        if self.is_apart:
            self.check_apart(values, made)
        return made

    def result(self, value: Any, wanted: Argument) -> Any:
        made = convert(value, wanted.type)
        if made is MISFIT:
            raise RuntimeError(
                f"the operator {self.name} gave a {describe(value)} where its schema says "
                f"{wanted.text or wanted.type}: {self.schema}"
            )
        return made

    def check_apart(self, values: Any, results: tuple[Any, ...]) -> None:
        """Raise RuntimeError if a result shares memory with an argument or another result."""
        owners = {
            id(t._storage): a.name
            for v, a in zip(values, self.schema.arguments)
            for t in tensors_in(v)
        }
        for result in results:
            for t in tensors_in(result):
                owner = owners.get(id(t._storage))
                if owner is not None:
                    raise RuntimeError(
                        f"{self.name} gives memory that {owner} has, too; what custom_op makes "
                        f"has to give memory of its own: return a clone()"
                    )
                owners[id(t._storage)] = "another result"


def as_python(value: Any, a: Argument) -> Any:
    """An argument as Python functions expect it: a dtype, which is a number in programs."""
    if a.text.startswith("ScalarType") and isinstance(value, int):
        return dtypes.BY_CODE[value]
    return value


def tensors_in(value: Any) -> list[Tensor]:
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors_in(v)]
    return [value] if isinstance(value, Tensor) else []


def checked_schema(text: str) -> Schema:
    """Parse the schema of a user's operator.

    Raises ValueError for an invalid schema, RuntimeError for a reserved namespace.
    """
    if "(" not in text:
        raise ValueError(f"{text!r} is no schema: 'my::op(Tensor x, int k=1) -> Tensor' is one")
    try:
        schema = parse_schema(text)
    except SchemaSyntaxError as e:
        raise ValueError(f"{text!r} is no schema: {e}") from None
    namespace, colons, name = schema.name.partition("::")
    if not (colons and namespace.isidentifier() and name.isidentifier()):
        raise ValueError(f"{schema.name!r} is no name of an operator: my::op is one")
    if namespace in OWN:
        raise RuntimeError(f"operators of {namespace}:: are built in; choose another namespace")
    if schema.is_vararg or schema.is_varret:
        raise ValueError(f"an operator says all its arguments and results, but not {text!r}")
    for a in (*schema.arguments, *schema.returns):
        if any(isinstance(t, (T.ClassType, T.VarType)) for t in a.type.walk()):
            raise ValueError(f"operators of Python take no {a.type}: {text!r}")
    return schema


def find(name: str) -> CustomOperator | None:
    """The custom operator with a qualified name, `my::op` or `my::op.overload`; None if unknown."""
    base, _, overload = name.partition(".")
    found = table.find(base, overload) if "::" in name else None
    return None if found is None else found.__dict__.get("custom")
