"""Methods of tensors whose signature differs from the operator's, or that are no operators.

`method(name)` returns any method: one of those here, or one that calls the operator of that name,
with the schemas as the docstring.  `tensors.Tensor` asks for each method on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn

from ... import dtypes
from ...dtypes import DType
from ...errors import MissingOperatorError
from ...layouts import qscheme
from ...storages import STORAGE_NAMES, TypedStorage, UntypedStorage, is_shared, share
from ...tensors import Size, Tensor, as_tensor
from .. import table
from . import eager
from .creation import makes_tensors, requiring_grad
from .dispatch import call
from .options import ONLY_CPU, To, device_argument, find_dtype, memory_format_argument

NAMESPACES = ("aten", "prim")

TYPE_NAMES = {d.name: f"torch.{dtypes.DISPLAY[d.name]}Tensor" for d in dtypes.BY_CODE.values()}
"""Name of a dtype -> the text that `x.type()` returns."""

BY_TYPE_NAME = {text: dtypes.BY_NAME[name] for name, text in TYPE_NAMES.items()}


def method(name: str) -> Callable[..., Any]:
    """The method of that name as a function of the tensor and its arguments."""
    own = METHODS.get(name)
    if own is not None and own is eager.FUNCTIONS.get(name):
        own = copied(own)  # a copy, since `scriptlang.split` keeps its own __name__
    function = own if own is not None else of_operator(name)
    function.__name__ = name
    function.__qualname__ = f"Tensor.{name}"
    if function.__doc__ is None:
        function.__doc__ = schemas(name) or f"As torch.Tensor.{name}."
    return function


def copied(function: Callable[..., Any]) -> Callable[..., Any]:
    made = FunctionType(
        function.__code__, function.__globals__, None, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__, made.__doc__ = function.__kwdefaults__, function.__doc__
    return made


def of_operator(name: str) -> Callable[..., Any]:
    qualified = next((f"{n}::{name}" for n in NAMESPACES if table.overloads(f"{n}::{name}")), None)
    if qualified is None:
        raise AttributeError(f"there is no operator for the method {name}")

    def function(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call(qualified, (self, *args), kwargs, method=True)

    return requiring_grad(function) if makes_tensors(qualified) else function


def schemas(name: str) -> str | None:
    """The schemas of the operators of a name, one per line; None if there are none."""
    texts = [
        op.text
        for n in NAMESPACES
        for op in table.overloads(f"{n}::{name}")
        if "out" not in op.overload
    ]
    return (
        f"aten::{name}, whichever overload the arguments fit:\n\n" + "\n".join(texts)
        if texts
        else None
    )


# Conversions


def to(self: Any, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor with another dtype or memory format; itself if nothing changes.

    to(dtype), to(device), to(device, dtype), to(other), with non_blocking, copy and memory_format.
    A dtype is one of ours or torch's, a type of Python or numpy, or a name; the device is the CPU.
    Raises TypeError for other values, RuntimeError for other devices.
    """
    To(args, kwargs)  # raises for arguments that would otherwise be ignored
    if "tensor" in kwargs:
        kwargs["other"] = kwargs.pop("tensor")
    args = tuple(find_dtype(a) or a if not isinstance(a, (Tensor, bool)) else a for a in args)
    if args and args[0] is None and len(args) > 1 and isinstance(args[1], DType):
        args = ("cpu", *args[1:])
    kwargs = {
        k: v if isinstance(v, (Tensor, int)) else find_dtype(v) or v
        for k, v in kwargs.items()
        if v is not None
    }
    return call("aten::to", (self, *args), kwargs)


def cast(code: int) -> Callable[..., Any]:
    def function(self: Any, memory_format: Any = None) -> Tensor:
        if memory_format is not None:
            memory_format = memory_format_argument(memory_format)
        return call("aten::to", (self, code, False, False, memory_format))

    function.__doc__ = f"The tensor as one of {dtypes.by_code(code)!r}: itself if it is one."
    return function


CASTS = {
    "byte": 0,
    "char": 1,
    "short": 2,
    "int": 3,
    "long": 4,
    "half": 5,
    "float": 6,
    "double": 7,
    "cfloat": 9,
    "cdouble": 10,
    "bool": 11,
    "bfloat16": 15,
}
"""Conversion methods -> the ScalarType that each converts to."""


def scheme_of(self: Any) -> qscheme:
    """How the tensor is quantized.  Raises RuntimeError if it is not."""
    return qscheme(call("aten::qscheme", (self,), method=True))


def type_of(self: Any, dtype: Any = None, non_blocking: Any = False, **kwargs: Any) -> Any:
    """The name of the tensor's type, or the tensor converted to another type.

    dtype: a dtype, the name of a tensor type (`"torch.DoubleTensor"`) or its class.  Raises
    ValueError for unknown names.
    """
    if dtype is None:
        return TYPE_NAMES[self.dtype.name]
    return call("aten::to", (self, type_argument(dtype)))


def type_argument(value: Any) -> DType:
    """The dtype that the argument of `type(...)` names: a dtype, a tensor class or its name."""
    if isinstance(value, str):
        found = BY_TYPE_NAME.get(value)
        if found is None and ".cuda." in value:
            raise RuntimeError(f"there is no type {value}; {ONLY_CPU}")
    else:
        found = (
            value.dtype  # type: ignore[attr-defined]
            if isinstance(value, type) and isinstance(getattr(value, "dtype", None), DType)
            else find_dtype(value)
        )
    if found is None:
        raise ValueError(
            f"invalid type: {value!r}; pass a dtype or a name such as 'torch.DoubleTensor'"
        )
    return found


# New tensors


def constructed(dtype: DType, args: tuple[Any, ...], size: Any = None) -> Tensor:
    """The tensor that `torch.Tensor(...)` and similar classes make.

    args: sizes, or a sequence, an array or a tensor.
    """
    if size is not None:
        args = (Size(size),)
    if not args or all(isinstance(a, int) and not isinstance(a, bool) for a in args):
        return call("aten::empty", (list(args) or [0],), {"dtype": dtype})
    if len(args) == 1 and isinstance(args[0], Size):
        return call("aten::empty", (list(args[0]),), {"dtype": dtype})
    if len(args) == 1 and isinstance(args[0], Tensor):
        if args[0].dtype is not dtype:
            raise TypeError(
                f"expected {dtypes.DISPLAY[dtype.name]} (got "
                f"{dtypes.DISPLAY[args[0].dtype.name]}); convert it with .to(dtype)"
            )
        return call("aten::alias", args)
    if len(args) == 1 and (
        isinstance(args[0], (list, tuple, range)) or as_tensor(args[0]) is not None
    ):
        value = list(args[0]) if isinstance(args[0], range) else args[0]
        return eager.tensor(value, dtype=dtype)
    given = ", ".join(type(a).__name__ for a in args)
    raise TypeError(
        f"a Tensor is made of sizes, a sequence, an array or a tensor, not of "
        f"({given}); scriptlang.tensor makes one of a number"
    )


def new(self: Any, *args: Any, size: Any = None, device: Any = None) -> Any:
    """A tensor of the same dtype, from sizes or a sequence."""
    if device is not None:
        device_argument(device)
    return constructed(self.dtype, args, size)


def new_tensor(
    self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False
) -> Any:
    """A tensor from the data, with the dtype of `self` unless another is given."""
    return eager.tensor(
        data,
        dtype=self.dtype if dtype is None else dtype,
        device=device,
        requires_grad=requires_grad,
    )


# Python functions on elements


def apply_(self: Any, callable: Any) -> Any:
    """Replace each element by the result of a Python function of it."""
    return self.map_(self, lambda value, _: callable(value))


def map_(self: Any, tensor: Any, callable: Any) -> Any:
    """Replace each element by a function of it and of the other tensor's element."""
    return map2_(self, tensor, tensor, lambda a, b, _: callable(a, b))


def map2_(self: Any, x: Any, y: Any, callable: Any) -> Any:
    """Replace each element by a function of it and of the elements of two other tensors."""
    others = [call("aten::expand", (t, list(self._size))).reshape(-1).tolist() for t in (x, y)]
    values = [callable(*v) for v in zip(self.reshape(-1).tolist(), *others)]
    made = eager.tensor(values, dtype=self.dtype).reshape(list(self._size))
    return call("aten::copy_", (self, made))


# Memory


def storage(self: Any) -> Any:
    """The tensor's memory as a typed storage."""
    return TypedStorage(self._storage, self.dtype)


def untyped_storage(self: Any) -> UntypedStorage:
    """The tensor's memory as an untyped storage of bytes."""
    return UntypedStorage(self._storage)


def storage_type(self: Any) -> str:
    return f"torch.{STORAGE_NAMES[self.dtype.name]}Storage"


def const_data_ptr(self: Any) -> Any:
    return self.data_ptr()


def shares(self: Any) -> Any:
    """Whether the tensor's memory is shared with forked processes."""
    return is_shared(self._storage)


def share_memory_(self: Any) -> Any:
    """Move the tensor to memory that this process and processes forked from it share."""
    share(self._storage)
    return self


def dim_order(self: Any, ambiguity_check: Any = False) -> Any:
    """The dimensions, sorted from the outermost in memory to the innermost."""
    if ambiguity_check is not False:
        raise NotImplementedError("dim_order takes no ambiguity_check here")
    order = sorted(range(self.dim()), key=lambda d: (-self._stride[d], d))
    return tuple(order)


# Unsupported methods: they raise an error that says why


def refused(why: str) -> Callable[..., Any]:
    def function(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise MissingOperatorError(f"Tensor.{function.__name__}: {why}")

    return function


ACCELERATORS = ("cuda", "ipu", "mtia", "xpu", "pin_memory", "record_stream")

METHODS: dict[str, Callable[..., Any]] = {
    name: eager.FUNCTIONS[name]
    for name in ("nonzero", "norm", "stft", "unique", "unique_consecutive", "split", *eager.TUPLES)
}
METHODS.update(
    {
        f.__name__: f
        for f in (
            to,
            new,
            new_tensor,
            apply_,
            map_,
            map2_,
            storage,
            untyped_storage,
            storage_type,
            const_data_ptr,
            share_memory_,
            dim_order,
        )
    }
)
METHODS.update({name: cast(code) for name, code in CASTS.items()})
METHODS.update({name: refused(ONLY_CPU) for name in ACCELERATORS})
METHODS.update(
    type=type_of,
    qscheme=scheme_of,
    is_shared=shares,
    lu=refused("call scriptlang.linalg.lu"),
    to_sparse_coo=refused("there are no sparse tensors here"),
)
