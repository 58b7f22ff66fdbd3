"""Operators of the language itself: attributes of tensors, casts, warnings, printing, modes.

Modes that only matter to PyTorch, such as autocast, have the values that they have in inference.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...exceptions import make
from ...limits import reserve
from ...objects import Device, is_same
from ...tensors import Tensor
from ..calling.current import mode
from ..shared.observed import observed
from ..table import declare, describe, primitive
from .string import value_text

# attributes of tensors

declare("prim::dtype(Tensor a) -> int", lambda a: a.dtype.code, "primitive")
declare("prim::device(Tensor a) -> Device", lambda a: a.device, "primitive")
declare("prim::layout(Tensor a) -> Layout", lambda a: 0, "primitive")
declare("prim::itemsize(Tensor a) -> int", lambda a: a.dtype.itemsize, "primitive")
declare("prim::nbytes(Tensor a) -> int", lambda a: a.nbytes, "primitive")
declare("prim::name(Tensor a) -> str?", lambda a: None, "primitive")
declare("aten::get_device(Tensor self) -> int", lambda self: -1, "primitive")
declare("prim::is_cpu(Tensor a) -> bool", lambda a: True, "primitive")
for _kind in (
    "cuda",
    "ipu",
    "maia",
    "meta",
    "mkldnn",
    "mps",
    "mtia",
    "nested",
    "quantized",
    "sparse",
    "sparse_csr",
    "vulkan",
    "xla",
    "xpu",
):
    declare(
        f"prim::is_{_kind}(Tensor a) -> bool",
        lambda a, _k=f"is_{_kind}": getattr(a, _k, False),
        "primitive",
    )
declare("prim::type(Device self) -> str", lambda self: self.type, "primitive")
declare("prim::index(Device self) -> int?", lambda self: self.index, "primitive")


@primitive("aten::device(str a) -> Device")
def device(text):
    return Device(text)


@primitive("aten::device.with_index(str type, int index) -> Device")
def device_with_index(type, index):
    return device(f"{type}:{index}")


# tensors and numbers


def number_tensor(value) -> Tensor:
    """A tensor without dimensions: int64, float64, complex128 or bool, as the number is."""
    return Tensor._wrap(np.array(value))


declare("prim::NumToTensor.Scalar(Scalar a) -> Tensor", number_tensor, "primitive")
declare("prim::NumToTensor.bool(bool a) -> Tensor", number_tensor, "primitive")

ELEMENT_TYPES = (
    ("int64",),
    ("float64", "float32", "float16", "bfloat16"),
    ("bool",),
    ("complex64", "complex128"),
)
"""The dtypes that `tolist` accepts for each annotated element type: int, float, bool, complex."""


@primitive("prim::tolist(...) -> ...")
def tolist(tensor, depth, element):
    """The elements as nested lists, `depth` deep.

    Raises RuntimeError if depth or type differ from the program's annotation.
    """
    if tensor.dim() != depth:
        raise RuntimeError(
            "Output annotation list dimension and runtime tensor dimension must "
            f"match for tolist(): {depth} and {tensor.dim()}"
        )
    if tensor.dtype.name not in ELEMENT_TYPES[element]:
        raise RuntimeError(
            "Output annotation element type and runtime tensor element type must "
            f"match for tolist(): the tensor's is {tensor.dtype}"
        )
    reserve(tensor.numel() * 8)
    return tensor.tolist()


# values


declare("aten::__is__(t1 self, t2 obj) -> bool", is_same, "primitive")
declare("aten::__isnot__(t1 self, t2 obj) -> bool", lambda a, b: not is_same(a, b), "primitive")


@primitive(
    "aten::_unwrap_optional(t(a)? optional) -> t(a)",
    "prim::unchecked_unwrap_optional(t(a)? optional) -> t(a)",
)
def unwrap_optional(value):
    if value is None:
        raise RuntimeError("Unwrapping null optional")
    return value


declare("prim::unchecked_cast(t x) -> t", lambda x: x, "primitive")
declare("prim::Uninitialized() -> Any", lambda: None, "primitive")
declare(
    "prim::IfThenElse(bool cond, Any(a) x, Any(b) y) -> Any(b|a)",
    lambda condition, x, y: x if condition else y,
    "primitive",
)
declare("prim::id(AnyClassType? x) -> int", lambda x: 0 if x is None else id(x), "primitive")
declare("prim::EnumName(AnyEnumType enum) -> str", lambda e: e.name, "primitive")
for _type in ("int", "float", "str"):
    declare(f"prim::EnumValue.{_type}(AnyEnumType enum) -> {_type}", lambda e: e.value, "primitive")


@primitive(
    "prim::ModuleContainerIndex.list(Any self, int ind) -> Any",
    "prim::ModuleContainerIndex.dict(Any self, str ind) -> Any",
)
def container_index(self, index):
    """A submodule of a ModuleList or ModuleDict, whose names are the indices or keys."""
    if isinstance(index, int) and index < 0:
        index += sum(1 for a in self.type.attributes if a.name.isdigit())
    if self.type.slot(str(index)) is None:
        raise RuntimeError(f"{self.type.name} has no submodule {index!r}")
    return self.get(str(index))


# output and errors of programs


@primitive("prim::Print(...) -> ()")
def print_values(*values):
    sys.stdout.write(" ".join(map(value_text, values)) + "\n")


@primitive("prim::IgnoredPythonOp(...) -> ...")
def call_python(function, *args):
    """Call a function that a program leaves to Python; its result counts as one value."""
    program = mode.program
    return (function(*args) if program is None else program.outside(function, *args),)


@primitive("scriptlang::observe(...) -> ()", effect="ordered")
def observe(place, *values):
    """Record a note; the profiler inserts this before and after the operators of a program."""
    observed.note(place, values)


@primitive("aten::_print(str s) -> ()")
def print_text(text):
    sys.stdout.write(text + "\n")


@primitive("aten::warn(str message, int stacklevel=2) -> ()", effect="repeatable")
def warn(message, stacklevel):
    warnings.warn(message, UserWarning, stacklevel=2)


@primitive("prim::RaiseException(str msg, str? cls=None) -> ()")
def raise_exception(message, class_name):
    raise make(message, class_name)


@primitive("aten::_assert_scalar(Scalar self, str assert_msg) -> ()", effect="check")
def assert_scalar(condition, message):
    if not condition:
        raise RuntimeError(message)


SAVE_REFUSED = (
    "torch.save in a program is refused: programs write no files. A host that wants it "
    "gives scriptlang.on_save a function of the value and the name"
)

save_handler: Callable[[Any, str], None] | None = None
"""What `torch.save` in programs calls, if the host has set it (api.on_save)."""


@primitive("aten::save(t item, str filename) -> ()", effect="ordered")
def save(item, filename):
    if save_handler is None:
        raise RuntimeError(SAVE_REFUSED)
    save_handler(item, filename)


def assert_one(condition: Tensor, message: str) -> None:
    if condition.numel() != 1:
        raise RuntimeError(f"Boolean value of Tensor with {condition.numel()} values is ambiguous")
    if not condition.item():
        raise RuntimeError(message)


@primitive("aten::_assert_async(Tensor self) -> ()", effect="check")
def assert_async(condition):
    assert_one(condition, "Expected Tensor with single nonzero value, but got zero")


@primitive("aten::_assert_async.msg(Tensor self, str assert_msg) -> ()", effect="check")
def assert_async_saying(condition, message):
    assert_one(condition, message)


@primitive(
    "aten::_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token) -> Tensor"
)
def functional_assert_async(condition, message, token):
    assert_one(condition, message)
    return token.clone()


# modes

for _text, _value in (
    ("is_scripting() -> bool", True),
    ("is_autocast_enabled() -> bool", False),
    ("is_autocast_cpu_enabled() -> bool", False),
    ("is_vulkan_available() -> bool", False),
    ("_get_tracing_state() -> bool", False),
    ("has_torch_function(...) -> bool", False),
    ("_nnpack_available() -> bool", False),
    ("get_autocast_dtype(str device_type) -> ScalarType", dtypes.bfloat16.code),
):
    declare(f"aten::{_text}", lambda *args, _v=_value: _v, "primitive")

# types and shapes

declare(
    "aten::promote_types(ScalarType type1, ScalarType type2) -> ScalarType",
    lambda a, b: dtypes.promote(dtypes.by_code(a), dtypes.by_code(b)).code,
    "primitive",
)
declare(
    "aten::can_cast(ScalarType from_, ScalarType to) -> bool",
    lambda a, b: dtypes.category(dtypes.by_code(a)) <= dtypes.category(dtypes.by_code(b)),
    "primitive",
)
for _a, _b, _overload in (
    ("Tensor tensor", "Tensor other", "Tensor"),
    ("Tensor tensor", "Scalar other", "Scalar"),
    ("Scalar scalar", "Tensor tensor", "Scalar_Tensor"),
    ("Scalar scalar1", "Scalar scalar2", "Scalar_Scalar"),
):
    declare(
        f"aten::result_type.{_overload}({_a}, {_b}) -> ScalarType",
        lambda a, b: dtypes.result_type(a, b).code,
        "primitive",
    )


@primitive(
    "aten::_infer_size(int[] a, int[] b) -> int[]",
    "aten::broadcast_shapes(int[] a, int[] b) -> int[]",
)
def broadcast_sizes(a, b):
    n = max(len(a), len(b))
    left, right = [1] * (n - len(a)) + a, [1] * (n - len(b)) + b
    for d in reversed(range(n)):
        if left[d] != right[d] and 1 not in (left[d], right[d]):
            raise RuntimeError(
                f"The size of tensor a ({left[d]}) must match the size of tensor b "
                f"({right[d]}) at non-singleton dimension {d}"
            )
    return [q if p == 1 else p for p, q in zip(left, right)]


@primitive("aten::_size_if_not_equal(int[] self_size, int[] other_size) -> int[]?")
def size_if_not_equal(self_size, other_size):
    return None if self_size == other_size else self_size


describe("_assert_tensor_metadata", effect="check")
describe("sym_constrain_range. wait.", effect="ordered")
describe("__is__. __isnot__. prim::device prim::dtype prim::is_cuda", total=True)
