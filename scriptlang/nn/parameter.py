"""Parameter and Buffer: tensors that a Module registers when they are assigned to it."""

from __future__ import annotations

import copy
from typing import Any

from ..dtypes import get_default_dtype
from ..ops.derivatives.recorder import activate
from ..tensors import Storage, Tensor


class _Kept(Tensor):
    """A tensor subclass that shares the memory of `data`."""

    def __new__(cls, data: Any = None, *args: Any, **kwargs: Any) -> Any:
        return object.__new__(cls)

    def _over(self, data: Tensor | None, requires_grad: bool) -> None:
        if data is None:
            data = Tensor(Storage.allocate(0), get_default_dtype(), (0,))
        if not isinstance(data, Tensor):
            raise TypeError(
                f"cannot make a {type(self).__name__} of a {type(data).__name__}; pass a Tensor"
            )
        if requires_grad:
            activate()
        Tensor.__init__(
            self, data._storage, data.dtype, data._size, data._stride, data._offset, requires_grad
        )

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self)._restored, (self.detach(), self.requires_grad, dict(self.__dict__))

    @classmethod
    def _restored(cls, data: Tensor, requires_grad: bool, attributes: dict) -> Any:
        made = cls(data)
        made._requires_grad = requires_grad
        made.__dict__.update(attributes)
        return made

    def __deepcopy__(self, memo: Any) -> Any:
        if id(self) not in memo:
            memo[id(self)] = self._restored(
                copy.deepcopy(self.detach(), memo),
                self.requires_grad,
                copy.deepcopy(self.__dict__, memo),
            )
        return memo[id(self)]


class Parameter(_Kept):
    """A tensor that becomes a parameter of the Module to which it is assigned.

    data: a Tensor, whose memory is shared; None stands for an empty one.
    Raises TypeError for other data, and RuntimeError for integer tensors with requires_grad.
    """

    is_parameter = True

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        if (
            requires_grad
            and data is not None
            and getattr(data, "dtype", None) is not None
            and data.dtype.kind not in "fc"
        ):
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        self._over(data, requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


class Buffer(_Kept):
    """A tensor that becomes a buffer of the Module to which it is assigned; see
    `register_buffer`."""

    def __init__(self, data: Tensor | None = None, *, persistent: bool = True) -> None:
        self._over(data, data is not None and data.requires_grad)
        self.persistent = persistent
