"""Reads what users pass as dtype, device, layout and memory format; nothing is ignored.

A dtype may be given as one of ours, torch's or numpy's, as float, int, bool or complex, or by its
name; a device as a name or an object.  Only strided tensors in the memory of the CPU are supported:
asking for anything else is an error that says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ... import dtypes, layouts
from ...dtypes import DType
from ...layouts import Named
from ...lazy_numpy import is_dtype, np
from ...objects import Device
from ...tensors import Tensor

PYTHON_TYPES = {
    float: dtypes.float64,
    int: dtypes.int64,
    bool: dtypes.bool,
    complex: dtypes.complex128,
}
"""Python types that PyTorch accepts as dtypes."""

SIGNATURES = (
    "to(device=None, dtype=None, non_blocking=False, copy=False, *, memory_format=None)"
    ", to(dtype, ...) or to(other, ...)"
)

MEMORY_FORMATS = range(4)
"""The codes of contiguous, preserve, channels_last and channels_last_3d."""


def find_dtype(value: Any) -> DType | None:
    """The dtype that a value stands for; None if it stands for none."""
    if isinstance(value, DType):
        return value
    if isinstance(value, str):
        return dtypes.BY_NAME.get(value.removeprefix("torch."))
    if is_dtype(value):
        return dtypes.BY_NAME.get(np.dtype(value).name)
    if isinstance(value, type):
        return PYTHON_TYPES.get(value)
    if is_torchs(value, "dtype"):
        return dtypes.BY_NAME.get(str(value).removeprefix("torch."))
    return None


def is_code(value: Any) -> bool:
    """Whether a value is a plain number; inside programs, dtypes are numbers."""
    return isinstance(value, int) and not isinstance(value, (bool, Named))


def is_torchs(value: Any, name: str) -> bool:
    """Whether a value is torch's own dtype, device, layout or memory_format."""
    return type(value).__name__ == name and type(value).__module__ == "torch"


def dtype_argument(value: Any, what: str) -> DType:
    """The dtype that a user passed.  Raises TypeError that names the argument `what`."""
    found = find_dtype(value)
    if found is None:
        raise TypeError(
            f"{what} must be a dtype, not {shown(value)}; pass one such as scriptlang.float32"
        )
    return found


def shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else type(value).__name__


def device_argument(value: Any, what: str = "device") -> Device:
    """The device that a user passed, which must be the CPU.

    Raises TypeError if the value is not a device, RuntimeError for unknown names and other devices.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        raise RuntimeError(f"{what} {value} is an accelerator; {ONLY_CPU}")
    if is_torchs(value, "device"):
        value = str(value)
    if not isinstance(value, (str, Device)):
        raise TypeError(f"{what} must be a device or its name, not {shown(value)}; pass 'cpu'")
    device = Device(value)  # type: ignore[arg-type]  # a Device is accepted, too
    if device.type != "cpu":
        raise RuntimeError(f"there is no device {device}; {ONLY_CPU}")
    return device


ONLY_CPU = "scriptlang runs on the CPU only: leave the device out, or pass 'cpu'"


def map_location_argument(value: Any) -> None:
    """Check the `map_location` of `load`.

    It may be the CPU, a dict that maps to the CPU, or a function, which has nothing to move as all
    storages are on the CPU.  Raises as `device_argument` does for others.
    """
    if value is None or callable(value):
        return
    if isinstance(value, Mapping):
        for target in value.values():
            device_argument(target, "map_location")
    else:
        device_argument(value, "map_location")


class To:
    """The arguments of a call of `to`; those that were not given are None."""

    __slots__ = ("copy", "device", "dtype", "memory_format", "non_blocking")

    def __init__(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Read the arguments.  Raises TypeError if invalid, RuntimeError for other devices."""
        self.dtype: DType | None = None
        self.device: Device | None = None
        self.memory_format: int | None = None
        self.non_blocking = self.copy = False
        rest = self.first(list(args), kwargs)
        names = ["non_blocking", "copy"]
        if len(rest) > len(names):
            self.refuse(f"takes no {shown(rest[len(names)])} there")
        given = dict(zip(names, rest))
        for name, value in kwargs.items():
            if name in given or name not in (
                *names,
                "dtype",
                "device",
                "other",
                "tensor",
                "memory_format",
            ):
                self.refuse(f"has no argument {name!r}, or it is given twice")
            given[name] = value
        for name, value in given.items():
            self.named(name, value)

    def first(self, args: list[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Read the first one or two positional arguments; return those after them."""
        if not args:
            return args
        head = args.pop(0)
        if isinstance(head, Tensor):
            self.named("other", head)
            return args
        dtype = None if isinstance(head, int) else find_dtype(head)
        if dtype is not None:
            self.dtype = dtype
            return args
        if head is not None:
            self.device = device_argument(head, "the first argument of to()")
        if args and not isinstance(args[0], bool):
            second = args.pop(0)
            if second is not None:
                self.dtype = dtype_argument(second, "the second argument of to()")
        return args

    def named(self, name: str, value: Any) -> None:
        if name in ("other", "tensor"):
            if not isinstance(value, Tensor):
                self.refuse(f"{name} must be a Tensor, not {shown(value)}")
            self.once("dtype", value.dtype)
        elif name == "device" and value is not None:
            self.once("device", device_argument(value))
        elif name == "dtype" and value is not None:
            self.once(
                "dtype", dtypes.by_code(value) if is_code(value) else dtype_argument(value, "dtype")
            )
        elif name == "memory_format" and value is not None:
            self.memory_format = memory_format_argument(value)
        elif name in ("non_blocking", "copy"):
            if not isinstance(value, bool):
                self.refuse(f"{name} must be a bool, not {shown(value)}")
            setattr(self, name, value)

    def once(self, name: str, value: Any) -> None:
        if getattr(self, name) is not None:
            self.refuse(f"{name} is given twice")
        setattr(self, name, value)

    def convert(self, tensor: Tensor) -> Tensor:
        """Convert a module's tensor as `module.to` does: integers and bools keep their dtype."""
        if self.memory_format is not None and tensor.dim() == 4 + (self.memory_format == 3):
            tensor = tensor.contiguous(memory_format=self.memory_format)
        is_changed = self.dtype is not None and tensor.dtype.kind in "fc"
        return tensor.to(self.dtype) if is_changed else tensor

    @staticmethod
    def refuse(why: str) -> None:
        raise TypeError(f"to(): {why}; call {SIGNATURES}")


def memory_format_argument(value: Any) -> int:
    """The number of a memory format that a user passed.  Raises TypeError."""
    if is_torchs(value, "memory_format"):
        value = layouts.BY_NAME.get(str(value).removeprefix("torch."))
    if isinstance(value, bool) or not isinstance(value, int) or value not in MEMORY_FORMATS:
        raise TypeError(
            f"memory_format must be scriptlang.contiguous_format, preserve_format, "
            f"channels_last or channels_last_3d, not {value!r}"
        )
    return int(value)


def layout_argument(value: Any) -> int:
    """The number of a layout that a user passed, which must be strided."""
    if is_torchs(value, "layout"):
        value = 0 if str(value) == "torch.strided" else str(value)
    if isinstance(value, int) and not isinstance(value, bool) and value == 0:
        return 0
    raise TypeError(
        f"layout must be scriptlang.strided, not {value!r}; there are no sparse tensors here"
    )


def refuse_pinning() -> None:
    """Raise RuntimeError: pinned memory is for accelerators, which are not supported."""
    raise RuntimeError(f"pin_memory=True needs an accelerator; {ONLY_CPU}")


def check_module_to(to: To) -> None:
    """Raise for arguments that `module.to` refuses: copy, and dtypes that are not floating."""
    if to.copy:
        raise RuntimeError(".to() does not accept copy argument")
    if to.dtype is not None and to.dtype.kind not in "fc":
        raise TypeError(
            "nn.Module.to only accepts floating point or complex dtypes, but got "
            f"desired dtype={to.dtype!r}"
        )
