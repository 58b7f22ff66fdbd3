"""Some names of torch that model code uses: typed tensors, random generators, cuda."""

from __future__ import annotations

from typing import Any

from . import dtypes
from .ops.calling import options
from .ops.calling.creation import requiring
from .ops.calling.eager import as_tensor, chosen_dtype
from .ops.calling.tensor_methods import constructed
from .ops.shared.generator import Generator, default_generator
from .tensors import Tensor, from_numpy

TYPED = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "ShortTensor": "int16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "BoolTensor": "bool",
}
"""Classes of tensors with a fixed dtype."""


class _TensorType(type):
    """`FloatTensor([1, 2])` and `FloatTensor(2, 3)` make tensors; isinstance checks the dtype."""

    dtype: dtypes.DType

    def __call__(cls, *args: Any) -> Tensor:
        return constructed(cls.dtype, args)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype is cls.dtype


for _name, _dtype in TYPED.items():
    globals()[_name] = _TensorType(
        _name,
        (),
        {
            "dtype": dtypes.BY_NAME[_dtype],
            "__module__": __name__,
            "__doc__": f"Tensors of {_dtype}: `{_name}([1, 2])`, `{_name}(2, 3)` make one.",
        },
    )


def manual_seed(seed: int) -> Generator:
    """Seed the default generator, which eager code and programs use; returns it."""
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator from the operating system; returns the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator: a uint8 tensor of 5056 bytes in PyTorch's format."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restore a state from `get_rng_state`, of this package or PyTorch.

    new_state: a uint8 tensor. Raises TypeError or RuntimeError if it is no valid state.
    """
    default_generator.set_state(new_state)


def from_dlpack(value: Any) -> Tensor:
    """A tensor that shares the memory of an object with DLPack's protocol."""
    return as_tensor(value)


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor that shares an array's memory, or a copy."""
    if device is not None:
        options.device_argument(device)
    made = as_tensor(obj, dtype=dtype)
    made = made.clone() if copy else made
    return requiring(made) if requires_grad else made


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A tensor that shares the memory of a buffer, from a byte offset on."""
    import numpy as np

    made = from_numpy(np.frombuffer(buffer, chosen_dtype("frombuffer", dtype).numpy, count, offset))
    return requiring(made) if requires_grad else made


def typename(obj: Any) -> str:
    """The name of an object's class, with its module unless it is builtin."""
    if isinstance(obj, Tensor):
        return obj.type()
    cls = (
        obj
        if isinstance(obj, type) or callable(obj) and hasattr(obj, "__qualname__")
        else type(obj)
    )
    module = getattr(cls, "__module__", None)
    return cls.__qualname__ if module in (None, "builtins") else f"{module}.{cls.__qualname__}"


def compile(model: Any = None, **settings: Any) -> Any:
    """Return the model itself: eager code is not compiled; `scriptlang.script` compiles."""
    return (lambda m: m) if model is None else model


class cuda:
    """The interface of torch.cuda without a GPU."""

    @staticmethod
    def is_available() -> bool:
        return False

    @staticmethod
    def device_count() -> int:
        return 0
