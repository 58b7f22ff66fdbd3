"""Tensor: a strided view of a Storage, backed by numpy.

Views share the Storage, and in-place operators write to it; `from_numpy` and `numpy()` do not copy.
As in PyTorch, strides and offsets count elements and are never negative. Methods that are not
defined below (`tensor_members.METHODS`) are created when they are first used.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import dtypes, tensor_members, tensor_memory
from .lazy_numpy import is_array, is_scalar, np
from .tensor_memory import Size, Storage, contiguous_strides, memory_of, wrap_dim
from .tensor_operators import call, define_operators

if TYPE_CHECKING:
    from .objects import Device
    from .tensor_typing import Operators
else:
    Operators = object


class Tensor(Operators):
    """A view with `size`, `stride` and `offset` (in elements) of a storage of `dtype`.

    Users can call it like torch.Tensor, for the default dtype: `Tensor(2, 3)` with sizes, or
    `Tensor([1, 2])` with a sequence, array or tensor. Raises TypeError for anything else.
    """

    __slots__ = (
        "__weakref__",
        "_autograd",
        "_offset",
        "_requires_grad",
        "_size",
        "_storage",
        "_stride",
        "_trace",
        "_view",
        "dtype",
    )

    def __init__(
        self,
        storage: Any = None,
        dtype: Any = None,
        size: Any = None,
        stride: Any = None,
        offset: int | None = None,
        requires_grad: bool = False,
        *more: Any,
        device: Any = None,
    ) -> None:
        if type(storage) is not Storage:
            self._construct((storage, dtype, size, stride, offset, requires_grad, *more), device)
            return
        self._storage = storage
        self.dtype = dtype
        self._size = tuple(size)
        self._stride = contiguous_strides(self._size) if stride is None else tuple(stride)
        self._offset = 0 if offset is None else offset
        self._requires_grad = requires_grad
        self._autograd: Any = None
        self._view: np.ndarray[Any, Any] | None = None
        self._trace: Any = None

    def _construct(self, given: tuple[Any, ...], device: Any) -> None:
        """Initialise the tensor with what torch.Tensor makes of the arguments."""
        from .ops.calling.tensor_methods import constructed, device_argument

        if device is not None:
            device_argument(device)
        is_size = given[0] is None and given[2] is not None
        args = [a for a in given[:5] if a is not None] + [a for a in given[5:] if a is not False]
        made = constructed(
            dtypes.get_default_dtype(),
            () if is_size else tuple(args),
            given[2] if is_size else None,
        )
        Tensor.__init__(self, made._storage, made.dtype, made._size, made._stride, made._offset)

    @property
    def _array(self) -> np.ndarray:
        """A numpy view of the memory. Raises RuntimeError if it would reach outside the storage."""
        view = self._view
        if view is None or self._storage.has_grown:
            view = self._view = self._make_view()
        return view

    def _make_view(self) -> np.ndarray:
        size, dtype, storage = self._size, self.dtype, self._storage
        if 0 in size:
            return np.empty(size, dtype.numpy)
        memory = storage._data
        if memory is None:  # the native engine's memory has the buffer protocol
            memory = storage.data if is_array(storage.owner) else storage.owner
        item = dtype.itemsize
        try:
            if storage.nbytes == 0:  # numpy would not check the bounds
                raise ValueError
            return np.ndarray(
                size, dtype.numpy, memory, self._offset * item, [s * item for s in self._stride]
            )
        except (TypeError, ValueError):
            raise RuntimeError(
                f"a view of size {list(size)}, stride {list(self._stride)}, offset {self._offset} "
                f"reaches outside a storage of {storage.nbytes} bytes"
            ) from None

    @classmethod
    def _wrap(cls, array: np.ndarray) -> Tensor:
        """A tensor over an array's memory, or a copy if the array's strides do not fit."""
        array = np.asarray(array)
        dtype = dtypes.of_numpy(array.dtype)
        item = dtype.itemsize
        if array.flags.c_contiguous:
            if array.base is None:
                made = cls(Storage(None, array), dtype, array.shape)
                made._view = array
                return made
            stride = contiguous_strides(array.shape)
        elif any(s < 0 or s % item for s in array.strides):
            return cls._wrap(np.ascontiguousarray(array))
        else:
            stride = tuple(s // item for s in array.strides)
        storage, offset = memory_of(array)
        if offset % item:
            return cls._wrap(array.copy())
        made = cls(storage, dtype, array.shape, stride, offset // item)
        made._view = array
        return made

    def _as_view(self, size: Any, stride: Any, offset: int) -> Tensor:
        """Another view of the same storage."""
        return Tensor(self._storage, self.dtype, size, stride, offset)

    # ---- shape and memory

    @property
    def shape(self) -> Size:
        hook = shape_hook
        return hook(self) if hook is not None else Size(self._size)

    def size(self, dim: int | None = None) -> Any:
        """The sizes as a `Size`, or the size of one dimension."""
        shape = self.shape
        return shape if dim is None else shape[wrap_dim(dim, len(self._size))]

    def stride(self, dim: int | None = None) -> Any:
        """The strides in elements as a tuple, or that of one dimension."""
        return self._stride if dim is None else self._stride[wrap_dim(dim, len(self._size))]

    def storage_offset(self) -> int:
        """The index of the first element in the storage."""
        return self._offset

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self._size)

    ndimension = dim

    @property
    def ndim(self) -> int:
        return len(self._size)

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self._size if shape_hook is None else self.shape)

    nelement = numel

    def element_size(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.numel() * self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._array.__array_interface__["data"][0]

    def is_contiguous(self, memory_format: int = 0) -> bool:
        """Whether the elements are in row-major order, or in the memory format, without gaps."""
        if not isinstance(memory_format, int):  # a memory format of torch
            from .ops.calling.options import memory_format_argument

            memory_format = memory_format_argument(memory_format)
        order = {2: (0, 2, 3, 1), 3: (0, 2, 3, 4, 1)}.get(memory_format)
        size: Sequence[int] = self._size
        stride: Sequence[int] = self._stride
        if order is not None:
            if len(order) != len(size):
                return False
            size, stride = [size[d] for d in order], [stride[d] for d in order]
        step = 1
        if 0 in size:
            return True
        for n, s in zip(reversed(size), reversed(stride)):
            if n != 1 and s != step:
                return False
            step *= n
        return True

    @property
    def device(self) -> Device:
        from .objects import CPU

        return CPU

    def __reduce__(self) -> tuple[Any, ...]:
        return Tensor, (
            self._storage,
            self.dtype,
            self._size,
            self._stride,
            self._offset,
            self._requires_grad,
        )

    def is_floating_point(self) -> bool:
        """Whether the dtype is floating-point (not complex)."""
        return self.dtype.kind == "f"

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return self.dtype.kind == "c"

    def is_signed(self) -> bool:
        """Whether the dtype has negative numbers."""
        return self.dtype.is_signed

    def numpy(self) -> np.ndarray:
        """A numpy array with the same memory. Raises RuntimeError if a gradient is required."""
        if look_hook is not None:
            look_hook("a NumPy array", self)
        if self._requires_grad:
            self._refuse_numpy()
        return self._array

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        if self._requires_grad:
            self._refuse_numpy()
        if look_hook is not None:
            look_hook("a NumPy array", self)
        array = self._array
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **kwargs: Any) -> Any:
        if self._requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        from .dlpack_types import capsule_of

        return capsule_of(self._array, self.dtype, **kwargs)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def item(self) -> Any:
        """The only element as a Python number. Raises RuntimeError if there are none or several."""
        return self._look("a Python number")._item()

    def _look(self, what: str) -> Tensor:
        """While tracing, report that Python reads the value; returns the tensor."""
        if look_hook is not None:
            look_hook(what, self)
        return self

    def _item(self) -> Any:
        if self.numel() != 1:
            raise RuntimeError(
                f"a Tensor with {self.numel()} elements cannot be converted to Scalar"
            )
        if (view := tensor_memory.view_without_numpy(self)) is not None:
            return view[(0,) * view.ndim]
        value = self._array.reshape(()).item()
        return float(value) if self.dtype.name == "bfloat16" else value

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; a single number without dimensions."""
        self._look("a Python list")
        if (view := tensor_memory.view_without_numpy(self)) is not None:
            return view.tolist()
        array = self._array
        return (array.astype(np.float32) if self.dtype.name == "bfloat16" else array).tolist()

    def detach(self) -> Tensor:
        """A tensor with the same memory, but without history."""
        made = self._as_view(self._size, self._stride, self._offset)
        return made if detach_hook is None else detach_hook(self, made)

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are computed for this tensor."""
        state = self._autograd
        return self._requires_grad or state is not None and state.requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._require(value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad cannot be deleted")

    def cpu(self, memory_format: int = 1) -> Tensor:
        """The tensor itself, unless another memory format is wanted."""
        return self if memory_format == 1 else self.to(memory_format=memory_format)

    def __bool__(self) -> bool:
        if self.numel() != 1:
            what = "no values" if self.numel() == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        return bool(self._look("a Python boolean")._item())

    def __int__(self) -> int:
        return int(self._look("a Python integer")._item())

    def __float__(self) -> float:
        return float(self._look("a Python float")._item())

    def __complex__(self) -> complex:
        return complex(self._look("a Python number")._item())

    def __index__(self) -> int:
        if self.dtype.kind not in "uib" or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._look("a Python index")._item())

    def __len__(self) -> int:
        if not self._size:
            raise TypeError("len() of a 0-d tensor")
        self._look("its length in Python")
        return self._size[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._size:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self._look("its elements")._operator("unbind", 0))

    def __contains__(self, element: Any) -> bool:
        return bool((self == element).any())

    def __reversed__(self) -> Tensor:
        """The elements in reverse order along every dimension."""
        return self._operator("flip", list(range(len(self._size)))) if self._size else self

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: Any = False) -> Tensor:
        """The result of a numpy function as a tensor."""
        return from_numpy(np.asarray(array))

    __array_priority__ = 1000

    def __hash__(self) -> int:
        return id(self)

    def _repr_html_(self) -> str:
        from .printing import tensor_html

        return tensor_html(self.detach())

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        """The text of the tensor; tensor_contents replaces the elements in it."""
        from .printing import tensor_text

        return tensor_text(self, tensor_contents)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and not self._size else repr(self)

    def __getitem__(self, key: Any) -> Tensor:
        from .ops.calling.indexing import get_item

        return get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from .ops.calling.indexing import set_item

        set_item(self, key, value)

    if TYPE_CHECKING:  # of attributes that are set below

        def __getattr__(self, name: str) -> Any: ...

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in LACKING]

    @property
    def T(self) -> Tensor:
        return self._operator("numpy_T")

    @property
    def mT(self) -> Tensor:
        return self._operator("mT")

    @property
    def mH(self) -> Tensor:
        return self._operator("mH")

    @property
    def H(self) -> Tensor:
        return self._operator("matrix_H")

    @property
    def real(self) -> Tensor:
        return self._operator("real")

    @property
    def imag(self) -> Tensor:
        return self._operator("imag")

    def _operator(self, name: str, *args: Any) -> Any:
        return call(f"aten::{name}", self, *args)


define_operators(Tensor)


class _Lacking:
    """An attribute of PyTorch's that there is not. A `__getattr__` that says why would make every
    access to an attribute three times as slow."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, tensor: Any, cls: Any = None) -> Any:
        raise AttributeError(tensor_members.explain(self.name))


LACKING = tensor_members.REFUSED.keys() - {"__dict__", "__annotations__"}  # of Python itself
for _name in LACKING:
    setattr(Tensor, _name, _Lacking(_name))


class _Derived:
    """An attribute for derivatives, implemented in ops/derivatives/members.py."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find(self) -> Any:
        found = self.__dict__.get("found")
        if found is None:
            from .ops.derivatives import members

            found = self.found = members.PROPERTIES[self.name]
        return found

    def __get__(self, tensor: Any, cls: Any = None) -> Any:
        return self if tensor is None else self.find().get(tensor)

    def __set__(self, tensor: Any, value: Any) -> None:
        self.find().set(tensor, value)

    def __delete__(self, tensor: Any) -> None:
        self.find().delete(tensor)


for _name in tensor_members.DERIVED:
    setattr(Tensor, _name, _Derived(_name))


class _Method:
    """A descriptor that replaces itself on the class by the method when it is first used."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, tensor: Any, cls: Any = None) -> Callable[..., Any]:
        made = self.find()
        setattr(Tensor, self.name, made)
        return made if tensor is None else made.__get__(tensor)

    def find(self) -> Any:
        if self.name in tensor_members.DERIVED_METHODS:
            from .ops.derivatives.members import METHODS

            return METHODS[self.name]
        from .ops.calling.tensor_methods import method

        return method(self.name)


for _name in (*tensor_members.METHODS, *tensor_members.DERIVED_METHODS):
    setattr(Tensor, _name, _Method(_name))
for _name, _fact in tensor_members.FACTS.items():
    setattr(Tensor, _name, _fact)

look_hook: Callable[[str, Tensor], None] | None = None
"""Set while tracing or mapping: called with a description when Python reads a tensor's value."""

detach_hook: Callable[[Tensor, Tensor], Tensor] | None = None
"""Set while mapping: gives what `detach` makes of a tensor what it is for other examples."""

shape_hook: Callable[[Tensor], Size] | None = None
"""Set while tracing: returns the shape of a tensor, as ints that remember where they come from."""


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares the array's memory and strides; foreign byte orders are converted.

    Raises TypeError if it is no array or its dtype is not supported, ValueError for negative
    strides.
    """
    if not is_array(array):
        raise TypeError(f"from_numpy takes a numpy array, not {type(array).__name__}")
    if any(s < 0 for s in array.strides):
        raise ValueError("from_numpy takes no array with negative strides; pass array.copy()")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return Tensor._wrap(array)


def as_tensor(value: Any) -> Tensor | None:
    """A tensor over an object with numpy's or DLPack's protocol (torch tensors too), or None."""
    if isinstance(value, Tensor):
        return value
    if is_array(value):
        return from_numpy(value)
    if is_scalar(value):
        return Tensor._wrap(np.array(value))
    if hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        if hasattr(value, "detach"):
            value = value.detach()
        if str(getattr(value, "dtype", "")) == "torch.bfloat16":
            import ml_dtypes

            bits = value.view(sys.modules["torch"].int16).numpy()
            return from_numpy(bits.view(ml_dtypes.bfloat16))
        array = np.asarray(value) if hasattr(value, "__array__") else np.from_dlpack(value)
        return from_numpy(array)
    return None
