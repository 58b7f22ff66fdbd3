"""Operators by qualified name, as in torch.ops: `ops.aten.add.Tensor`."""

from __future__ import annotations

from typing import Any

from .. import table
from . import dispatch
from .binding import bind


class Overload:
    """One overload of an operator, callable."""

    def __init__(self, operator: table.Operator) -> None:
        self.operator = operator
        self.__name__ = f"{operator.name.partition('::')[2]}.{operator.overload or 'default'}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = bind(self.operator.schema, args, kwargs)
        if not isinstance(values, list):
            raise RuntimeError(f"{self.operator.schema}: {values}")
        return dispatch.run(self.operator, values)

    def name(self) -> str:
        return self.operator.qualified_name

    @property
    def _schema(self) -> Any:
        return self.operator.schema

    def __repr__(self) -> str:
        return (
            f"<OpOverload(op='{self.operator.name.replace('::', '.')}', "
            f"overload='{self.operator.overload or 'default'}')>"
        )


class Packet:
    """All overloads of a name; a call takes the first whose arguments accept the values."""

    def __init__(self, name: str) -> None:
        self._qualified_name = name
        self.__name__ = name.partition("::")[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return dispatch.call(self._qualified_name, args, kwargs)
        except dispatch.NoOverload as error:  # of this class for functions of the package alone
            raise RuntimeError(str(error)) from None

    def overloads(self) -> list[str]:
        return [op.overload or "default" for op in table.overloads(self._qualified_name)]

    def __getattr__(self, name: str) -> Overload:
        found = (
            None
            if name.startswith("__")
            else table.find(self._qualified_name, "" if name == "default" else name)
        )
        if found is None:
            raise AttributeError(
                f"{self._qualified_name} has no overload {name!r}; it has "
                f"{', '.join(self.overloads())}"
            )
        return Overload(found)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._qualified_name.replace('::', '.')}')>"


class OperatorNamespace:
    """A namespace such as `ops.aten`: its attributes are operators.

    Raises AttributeError for an unknown operator.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Packet:
        qualified = f"{self.name}::{name}"
        if name.startswith("__") or not table.overloads(qualified):
            raise AttributeError(f"there is no operator {qualified}")
        packet = Packet(qualified)
        setattr(self, name, packet)
        return packet

    def __repr__(self) -> str:
        return f"<operators of {self.name}>"
