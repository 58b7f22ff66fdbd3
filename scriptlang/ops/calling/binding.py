"""Binds the values of a call from Python to the arguments of a schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import dtypes
from ... import types as T
from ...objects import Device
from ...schema import NO_DEFAULT, Argument, Schema
from ...tensors import Tensor, as_tensor
from . import options
from .current import calls, tracing

MISFIT = object()
"""What conversions give for a value that does not fit."""


def bind(
    schema: Schema, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool = False
) -> list[Any] | str:
    """Bind values to the arguments of a schema and fill in defaults.

    Returns the values of all arguments, or the reason why the call does not fit as text.
    """
    plan: BindingPlan | None = schema.__dict__.get("binding_plan")
    if plan is None:
        plan = schema.__dict__["binding_plan"] = BindingPlan(schema)
    arguments, positional = schema.arguments, plan.positional
    if kwargs:
        kwargs = {
            k if schema.index(k) is not None else SPELLINGS.get(k, k): v for k, v in kwargs.items()
        }
        if isinstance(kwargs.get("out"), (tuple, list)) and schema.index("out") is None:
            kwargs = apart(kwargs, [a.name for a in arguments if a.is_out])
    args = list(args)
    if method and plan.own:
        if plan.own >= len(args):
            return f"argument {positional[len(args) - 1].name} is missing"
        args.insert(plan.own, args.pop(0))
    if plan.ints is not None:
        args = gather_ints(plan.ints, positional[-1].size, args)
    if len(args) > len(positional):
        return f"takes {len(positional)} positional arguments, not {len(args)}"
    values = []
    used = 0
    for i, (a, convert_one) in enumerate(zip(arguments, plan.converters)):
        if i < len(args) and not a.kwarg_only:
            if a.name in kwargs:
                return f"argument {a.name} is given twice"
            given = args[i]
        elif a.name in kwargs:
            used += 1
            given = kwargs[a.name]
        elif a.default is not NO_DEFAULT:
            value = list(a.default) if isinstance(a.default, list) else a.default
            if a.size and isinstance(value, (int, float)):
                value = [value] * a.size
            values.append(value)
            continue
        else:
            return f"argument {a.name} is missing"
        value = fit(given, a) if convert_one is None else convert_one(given)
        if value is MISFIT:
            return f"argument {a.name} takes {a.text or a.type}, not {describe(given)}"
        values.append(value)
    if used != len(kwargs):
        unknown = [k for k in kwargs if schema.index(k) is None]
        return f"there is no argument {', '.join(unknown)}"
    return values


def apart(kwargs: Mapping[str, Any], names: Sequence[str]) -> Mapping[str, Any]:
    """The arguments with `out=(values, indices)` as the arguments of these names."""
    outs = kwargs["out"]
    if len(outs) != len(names):
        return kwargs
    return {k: v for k, v in kwargs.items() if k != "out"} | dict(zip(names, outs))


class BindingPlan:
    """What `bind` needs to know of a schema, found once.

    own: the place of `self` among the positional arguments.  ints: that of sizes, if they are the
    only argument besides `self`; else None.  converters: of each argument, the function that does
    all that `fit` does; None if it takes more.
    """

    def __init__(self, schema: Schema) -> None:
        self.positional = positional = [a for a in schema.arguments if not a.kwarg_only]
        self.own = next((i for i, a in enumerate(positional) if a.name == "self"), 0)
        sizes = 1 if positional and positional[0].type == T.TENSOR else 0
        has_sizes = len(positional) == sizes + 1 and positional[sizes].type == INTS
        self.ints = sizes if has_sizes else None
        self.converters = [
            None if a.size or a.text in CHECKS or a.name == "pin_memory" else CONVERTERS.get(a.type)
            for a in schema.arguments
        ]


def gather_ints(place: int, size: int | None, args: list[Any]) -> list[Any]:
    """Turn `x.view(2, 3)` into `x.view([2, 3])`.  size: how many there have to be, if told."""
    rest = args[place:]
    if (
        rest
        and all(isinstance(v, int) and not isinstance(v, bool) for v in rest)
        and (len(rest) > 1 or not size)
    ):
        return [*args[:place], rest]
    return args


INTS = T.ListType(T.INT)

SPELLINGS = {
    "input": "self",
    "axis": "dim",
    "keepdims": "keepdim",
    "x": "self",
    "x1": "self",
    "x2": "other",
}
"""Argument names of PyTorch's and numpy's Python functions -> the names in schemas."""


def fit(value: Any, a: Argument) -> Any:
    """Convert a value to the type of an argument; MISFIT if that is impossible.

    Raises RuntimeError or TypeError for a device, layout or memory format that is not supported.
    """
    if value is not None and a.text:
        check = CHECKS.get(a.text)
        if check is not None:
            value = check(value)
        elif value is True and a.name == "pin_memory":
            options.refuse_pinning()
    result = convert(value, a.type)
    if result is MISFIT and a.size and not isinstance(value, (list, tuple)):
        element = T.without_none(a.type).contained[0]
        one = convert(value, element)
        return MISFIT if one is MISFIT else [one] * a.size
    return result


def convert(value: Any, type: T.Type) -> Any:
    """Convert a Python value to a run-time value of a schema type; MISFIT if impossible."""
    converter = CONVERTERS.get(type)
    if converter is not None:
        return converter(value)
    if isinstance(type, T.OptionalType):
        return None if value is None else convert(value, type.element)
    if isinstance(type, T.ListType):
        if not isinstance(value, (list, tuple)):
            return MISFIT
        items = [convert(v, type.element) for v in value]
        if any(v is MISFIT for v in items):
            return MISFIT
        if isinstance(value, list) and all(a is b for a, b in zip(items, value)):
            return value  # the same list object, so that the caller sees in-place changes
        return items
    if isinstance(type, T.DictType):
        return value if isinstance(value, dict) else MISFIT
    if isinstance(type, T.TupleType):
        return value if isinstance(value, tuple) else MISFIT
    return value


def _tensor(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int, float, complex, str, list, tuple)) or value is None:
        return MISFIT
    found = as_tensor(value)
    return MISFIT if found is None else found


def is_followed(tensor: Tensor) -> bool:
    """Whether a derivative of what is computed of the tensor is wanted."""
    state = tensor._autograd
    return tensor.requires_grad or state is not None and state.is_dual(tensor)


def _number(value: Any) -> Any:
    if isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, Tensor) and value.dim() == 0:
        return MISFIT if is_followed(value) else in_tensor(value)  # its derivative would be lost
    return (
        value.item()
        if hasattr(value, "dtype")
        and hasattr(value, "item")
        and not isinstance(value, Tensor)
        and getattr(value, "ndim", 1) == 0
        else MISFIT
    )


def in_tensor(tensor: Tensor, operator: str = "") -> Any:
    """The number in a tensor; a tracer records that `operator` reads it."""
    tracer = None if calls.tracer is None else tracing()
    return tensor.item() if tracer is None else tracer.read(tensor, operator)


def _int(value: Any) -> Any:
    if isinstance(value, dtypes.DType):
        return value.code
    if isinstance(value, int):
        return int(value) if isinstance(value, bool) else value
    if isinstance(value, Tensor) and value.dim() == 0 and value.dtype.kind in "iu":
        return in_tensor(value, "aten::Int")
    found = None if isinstance(value, str) else options.find_dtype(value)
    return MISFIT if found is None else found.code


def _float(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, Tensor) and value.dim() == 0 and value.dtype.kind in "fiu":
        return in_tensor(value, "aten::Float")
    return MISFIT


def _device(value: Any) -> Any:
    if isinstance(value, (str, Device)) or options.is_torchs(value, "device"):
        return options.device_argument(value)
    return MISFIT


def _dtype(value: Any) -> Any:
    if not options.is_code(value):
        found = None if isinstance(value, str) else options.find_dtype(value)
        return MISFIT if found is None else found.code
    return value


def _layout(value: Any) -> Any:
    is_one = options.is_torchs(value, "layout") or isinstance(value, int)
    return options.layout_argument(value) if is_one else MISFIT


def _memory_format(value: Any) -> Any:
    is_one = options.is_torchs(value, "memory_format") or isinstance(value, int)
    return options.memory_format_argument(value) if is_one else MISFIT


CHECKS = {
    f"{name}{mark}": check
    for mark in ("", "?")
    for name, check in (
        ("ScalarType", _dtype),
        ("Layout", _layout),
        ("MemoryFormat", _memory_format),
    )
}
"""Schema types whose values are ints in programs -> the function that reads a Python value."""


CONVERTERS: dict[T.Type, Callable[[Any], Any]] = {
    T.TENSOR: _tensor,
    T.NUMBER: _number,
    T.INT: _int,
    T.FLOAT: _float,
    T.DEVICE: _device,
    T.BOOL: lambda v: v if isinstance(v, bool) else MISFIT,
    T.STR: lambda v: v if isinstance(v, str) else MISFIT,
    T.COMPLEX: lambda v: complex(v) if isinstance(v, (int, float, complex)) else MISFIT,
    T.NONE: lambda v: v if v is None else MISFIT,
}


def describe(value: Any) -> str:
    """A value as error messages show it: its type, and for tensors dtype and shape."""
    if isinstance(value, Tensor):
        return f"Tensor({value.dtype}{list(value._size)})"
    if isinstance(value, (list, tuple)):
        inside = ", ".join(sorted({type(v).__name__ for v in value}))
        return f"{type(value).__name__}[{inside}]"
    return type(value).__name__
