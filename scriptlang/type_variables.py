"""Type variables in schemas, such as `t` in `aten::append.t(t[] self, t el)`."""

from __future__ import annotations

from . import types as T


def has_variables(t: T.Type) -> bool:
    """Whether a type contains type variables."""
    return isinstance(t, T.VarType) or any(map(has_variables, t.contained))


def substitute(t: T.Type, variables: dict[str, T.Type]) -> T.Type:
    """The type with its bound variables replaced."""
    if isinstance(t, T.VarType):
        return variables.get(t.name, t)
    if not t.contained:
        return t
    return t.map(lambda part: substitute(part, variables))


def bind_variables(formal: T.Type, actual: T.Type, variables: dict[str, T.Type]) -> str | None:
    """Bind the variables of `formal` so that `actual` fits; returns the reason if that fails."""
    if isinstance(formal, T.VarType):
        bound = variables.get(formal.name)
        if bound is None:
            variables[formal.name] = actual
            return None
        if T.unify(bound, actual) is None:
            return (
                f"Could not match type {actual.annotation} to {formal.name}, which is "
                f"{bound.annotation} already,"
            )
        return None
    if not has_variables(formal):
        return None
    if isinstance(formal, T.OptionalType):
        if isinstance(actual, T.OptionalType):
            return bind_variables(formal.element, actual.element, variables)
        return None if actual == T.NONE else bind_variables(formal.element, actual, variables)
    if isinstance(formal, T.ListType) and isinstance(actual, T.TupleType):
        elements = actual.elements
        if elements and all(t == elements[0] for t in elements):
            return bind_variables(formal.element, elements[0], variables)
        return f"{actual.annotation} is not a list"
    if type(formal) is not type(actual) or len(formal.contained) != len(actual.contained):
        return f"Could not match type {actual.annotation} to {formal}"
    for f, a in zip(formal.contained, actual.contained):
        why = bind_variables(f, a, variables)
        if why:
            return why
    return None


def fits(actual: T.Type, formal: T.Type, variables: dict[str, T.Type]) -> bool:
    """Whether a type fits a schema's type; unbound variables are bound to the first type."""
    if not has_variables(formal):
        return T.is_subtype(actual, formal)
    if bind_variables(formal, actual, variables) is not None:
        return False
    return T.is_subtype(actual, substitute(formal, variables))
