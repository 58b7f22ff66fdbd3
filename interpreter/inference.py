"""Reasoning about types that may be unknown (None), for the verifier."""

from __future__ import annotations

from .. import type_variables
from .. import types as T

MaybeType = T.Type | None


def compatible(given: MaybeType, wanted: MaybeType) -> bool:
    """Whether a value of type `given` may turn out to be one of type `wanted`."""
    if given is None or wanted is None or T.ANY in (given, wanted) or given == wanted:
        return True
    if isinstance(wanted, T.VarType) or isinstance(given, T.VarType):
        return True
    for a, b in ((given, wanted), (wanted, given)):
        if isinstance(a, T.OptionalType):
            return compatible(a.element, b) or compatible(T.NONE, b)
        if isinstance(a, T.UnionType):
            return any(compatible(o, b) for o in a.options)
    if T.NUMBER in (given, wanted):
        return {given, wanted} & {*T.NUMBERS, T.BOOL} != set()
    if isinstance(given, T.ListType) and isinstance(wanted, T.ListType):
        return compatible(given.element, wanted.element)
    if isinstance(given, T.DictType) and isinstance(wanted, T.DictType):
        return compatible(given.key, wanted.key) and compatible(given.value, wanted.value)
    if isinstance(given, T.TupleType) and isinstance(wanted, T.TupleType):
        return len(given.elements) == len(wanted.elements) and all(
            map(compatible, given.elements, wanted.elements)
        )
    if isinstance(given, (T.ClassType, T.InterfaceType)) and isinstance(wanted, T.InterfaceType):
        return True  # methods are looked up when called
    if isinstance(given, T.FutureType) and isinstance(wanted, T.FutureType):
        return compatible(given.element, wanted.element)
    return T.is_subtype(given, wanted) or T.is_subtype(wanted, given)


def join(a: MaybeType, b: MaybeType) -> MaybeType:
    """The type of a value that has type `a` on one path and type `b` on another."""
    if a is None or b is None:
        return None
    return a if a == b else T.unify(a, b)


def bind(formal: T.Type, given: MaybeType, env: dict[str, T.Type], broadcast: bool = False) -> bool:
    """Whether an argument's type fits the type in a schema.  Type variables are bound in `env`.

    broadcast: a single element is accepted for a list, as the schema type `int[2]` allows.
    """
    if isinstance(formal, T.VarType):
        if given is not None:
            known = env.get(formal.name)
            env[formal.name] = given if known is None else (join(known, given) or T.ANY)
        return True
    if given is None:
        return True
    if isinstance(formal, T.OptionalType):
        return given == T.NONE or bind(formal.element, T.without_none(given), env, broadcast)
    if isinstance(formal, T.ListType):
        if isinstance(given, T.ListType):
            return bind(formal.element, given.element, env)
        return compatible(given, formal) or (broadcast and compatible(given, formal.element))
    if isinstance(formal, T.DictType) and isinstance(given, T.DictType):
        return bind(formal.key, given.key, env) and bind(formal.value, given.value, env)
    if isinstance(formal, T.TupleType) and isinstance(given, T.TupleType):
        return len(formal.elements) == len(given.elements) and all(
            bind(f, g, env) for f, g in zip(formal.elements, given.elements)
        )
    if formal == T.FLOAT and given in (T.INT, T.BOOL):
        return True
    return compatible(given, formal)


def substitute(t: T.Type, env: dict[str, T.Type]) -> MaybeType:
    """A schema's type with its variables replaced; None if a variable is not bound."""
    if any(isinstance(p, T.VarType) and p.name not in env for p in t.walk()):
        return None
    return type_variables.substitute(t, env)
