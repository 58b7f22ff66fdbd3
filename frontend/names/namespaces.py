"""Namespaces of programs: `torch`, `torch.nn.functional`, `torch.jit`, `torch.ops`, `math`.

Their attributes are looked up by name in tables, so a program compiles without PyTorch installed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError

from ..bodies.ignore_context import IGNORE_CONTEXT
from ..overloads.language_functions import PYTHON_ONLY
from ..overloads.operators import find_operator, overloads
from ..values.sugared import (
    Arg,
    BuiltinFunction,
    BuiltinOperator,
    ConstantValue,
    Namespace,
    SugaredValue,
    TypeValue,
)
from ..whole import whole
from . import special_forms, typed_tensors
from .checks import CHECKS
from .library_classes import library_class

if TYPE_CHECKING:
    from ...source import Span
    from ..values.builder import Builder

DTYPES: dict[str, int] = {
    "uint8": 0,
    "int8": 1,
    "int16": 2,
    "short": 2,
    "int32": 3,
    "int": 3,
    "int64": 4,
    "long": 4,
    "float16": 5,
    "half": 5,
    "float32": 6,
    "float": 6,
    "float64": 7,
    "double": 7,
    "complex32": 8,
    "chalf": 8,
    "complex64": 9,
    "cfloat": 9,
    "complex128": 10,
    "cdouble": 10,
    "bool": 11,
    "qint8": 12,
    "quint8": 13,
    "qint32": 14,
    "bfloat16": 15,
    "quint4x2": 16,
    "quint2x4": 17,
    "uint16": 27,
    "uint32": 28,
    "uint64": 29,
}
"""Name of a dtype -> its code in the IR."""

CONSTANTS: dict[str, object] = {
    **DTYPES,
    "strided": 0,
    "sparse_coo": 1,
    "sparse_csr": 2,
    "_mkldnn": 3,
    "sparse_csc": 4,
    "sparse_bsr": 5,
    "sparse_bsc": 6,
    "jagged": 7,
    "contiguous_format": 0,
    "preserve_format": 1,
    "channels_last": 2,
    "channels_last_3d": 3,
    "inf": math.inf,
    "nan": math.nan,
    "pi": math.pi,
    "e": math.e,
    "per_tensor_affine": 0,
    "per_channel_affine": 1,
    "per_tensor_symmetric": 2,
    "per_channel_symmetric": 3,
}
"""Name of a constant of the module torch, dtypes included -> value."""

RENAMED: dict[str, str] = {
    "manual_seed": "aten::manual_seed",
    "device": "aten::device",
    "Size": "aten::Size",
    "split": "aten::split",
    "is_grad_enabled": "aten::is_grad_enabled",
    "_wait": "aten::wait",
}
"""Name in torch -> operator, where the lookup of an operator of the same name does not find it."""

TYPES: dict[str, T.Type] = {"Tensor": T.TENSOR}

MATH_CONSTANTS = {
    "pi": math.pi,
    "e": math.e,
    "inf": math.inf,
    "nan": math.nan,
    "tau": math.tau,
    "infj": complex(0, math.inf),
    "nanj": complex(0, math.nan),
}

MATH_RENAMED = {"phase": "aten::angle", "rect": "aten::polar", "remainder": "aten::mathremainder"}
"""Function of math or cmath -> the operator, if it has another name."""


def _known(name: str, answer: bool) -> Callable[..., SugaredValue]:
    """A function without arguments, whose result is always the same."""

    def emit(
        b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        if args or kwargs:
            raise CompileError(f"{name} takes no arguments", span, f"write {name}()")
        return ConstantValue(answer)

    return emit


JIT: dict[str, SugaredValue] = {
    "annotate": special_forms.ANNOTATE,
    "_fork": special_forms.FORK,
    "fork": special_forms.FORK,
    "_wait": BuiltinOperator("aten::wait"),
    "wait": BuiltinOperator("aten::wait"),
    "_awaitable": special_forms.AWAITABLE,
    "_awaitable_wait": BuiltinOperator("prim::awaitable_wait"),
    "_awaitable_nowait": BuiltinOperator("prim::awaitable_nowait"),
    "isinstance": special_forms.ISINSTANCE,
    "is_scripting": BuiltinFunction("is_scripting", _known("is_scripting", True)),
    "is_tracing": BuiltinFunction("is_tracing", _known("is_tracing", False)),
    "_unwrap_optional": BuiltinOperator("aten::_unwrap_optional"),
    "_IgnoreContextManager": IGNORE_CONTEXT,
}
"""Attribute of torch.jit -> its meaning in programs."""


def _cached(find: Callable[..., Any]) -> Any:
    return lru_cache(maxsize=None)(find)


@_cached
def _torch(name: str) -> SugaredValue | None:
    if name in CONSTANTS:
        return ConstantValue(CONSTANTS[name])
    if name in MODULES:
        return MODULES[name]
    if name in TYPES:
        return TypeValue(TYPES[name])

    found = library_class(name)
    if found is not None:
        return found
    if name in ("tensor", "as_tensor"):
        return BuiltinFunction(name, _of_list(f"aten::{name}"))
    qualified = RENAMED.get(name) or find_operator(name)
    return BuiltinOperator(qualified) if qualified else None


LIST_DTYPES: dict[T.Type, int] = {
    T.INT: DTYPES["int64"],
    T.BOOL: DTYPES["bool"],
    T.COMPLEX: DTYPES["complex64"],
}
"""Type of the numbers of a list -> dtype of a tensor of them, if not the default dtype."""


def _of_list(operator: str) -> Callable[..., Any]:
    """`torch.tensor(x)`: the type of a list determines the dtype, even if the list is empty."""

    def emit(
        b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        if len(args) == 1 and "dtype" not in kwargs:
            value = args[0].value.value(b, args[0].span)
            element = value.type
            while isinstance(element, T.ListType):
                element = element.element
            if element in LIST_DTYPES and not _has_numbers(value):
                kwargs = {**kwargs, "dtype": Arg(ConstantValue(LIST_DTYPES[element]), span)}
            args = [Arg(b.simple(value), args[0].span)]
        return b.call_operator(operator, args, kwargs, span)

    return emit


def _has_numbers(value: Any) -> bool:
    """Whether a value is not a list, or is a list literal that contains such a value."""
    if not isinstance(value.type, T.ListType):
        return True
    return value.node.kind == "prim::ListConstruct" and any(map(_has_numbers, value.node.inputs))


@_cached
def _operator(name: str) -> SugaredValue | None:
    qualified = find_operator(name)
    return BuiltinOperator(qualified) if qualified else None


@_cached
def _math(name: str) -> SugaredValue | None:
    if name in MATH_CONSTANTS:
        return ConstantValue(MATH_CONSTANTS[name])
    qualified = MATH_RENAMED.get(name, f"aten::{name}")
    return BuiltinOperator(qualified) if overloads(qualified) else None


@_cached
def _ops(namespace: str) -> SugaredValue | None:
    return Namespace(
        f"torch.ops.{namespace}", _cached(lambda name: _namespaced(f"{namespace}::{name}"))
    )


def _namespaced(qualified: str) -> SugaredValue | None:
    """An operator of any namespace.

    It need not be known: archives may name unknown operators.
    """
    return BuiltinOperator(qualified)


def _functional(name: str) -> SugaredValue | None:
    return whole.functional(name) or _operator(name)


def _nn(name: str) -> SugaredValue | None:
    return FUNCTIONAL if name == "functional" else None


def _jit(name: str) -> SugaredValue | None:
    return JIT.get(name) or (library_class(name) if name == "strict_fusion" else None)


def _autocast(package: str, name: str) -> SugaredValue | None:
    return library_class(f"{package}autocast") if name == "autocast" else None


FUNCTIONAL = Namespace("torch.nn.functional", _functional)
OPS = Namespace("torch.ops", _ops)
MATH = Namespace("math", _math)
MODULES: dict[str, SugaredValue] = {
    "nn": Namespace("torch.nn", _nn),
    "ops": OPS,
    "jit": Namespace("torch.jit", _jit),
    "special": Namespace("torch.special", _cached(lambda n: _operator(f"special_{n}"))),
    "linalg": Namespace("torch.linalg", _cached(lambda n: _operator(f"linalg_{n}"))),
    "fft": Namespace("torch.fft", _cached(lambda n: _operator(f"fft_{n}"))),
    "functional": Namespace("torch.functional", _operator),
    "_C": Namespace("torch._C", lambda n: MODULES["_nn"] if n == "_nn" else _operator(n)),
    "autograd": Namespace(
        "torch.autograd", lambda n: MODULES["profiler"] if n == "profiler" else _torch(n)
    ),
    "profiler": Namespace("torch.autograd.profiler", lambda n: _torch(n)),
    "_nn": Namespace("torch._C._nn", _operator),
    "_VF": Namespace("torch._VF", _operator),
    "cuda": Namespace("torch.cuda", lambda n: MODULES["cuda.amp"] if n == "amp" else None),
    "cpu": Namespace("torch.cpu", lambda n: MODULES["cpu.amp"] if n == "amp" else None),
    "amp": Namespace("torch.amp", lambda n: _autocast("", n)),
    "cuda.amp": Namespace("torch.cuda.amp", lambda n: _autocast("cuda.amp.", n)),
    "cpu.amp": Namespace("torch.cpu.amp", lambda n: _autocast("cpu.amp.", n)),
}
"""Submodule of torch -> namespace."""

TORCH = Namespace("torch", _torch)


def _program_torch(name: str) -> SugaredValue | None:
    """What `torch.name` means in Python source; archives lack some of these functions."""
    if name in typed_tensors.BY_NAME:
        return typed_tensors.BY_NAME[name]
    if name in CHECKS:
        return CHECKS[name]
    return BuiltinOperator(PYTHON_ONLY[name]) if name in PYTHON_ONLY else _torch(name)


PROGRAM_TORCH = Namespace("torch", _program_torch)

BY_NAME: dict[str, SugaredValue] = {
    "torch": TORCH,
    "scriptlang": TORCH,
    "math": MATH,
    "cmath": MATH,
    "torch.nn.functional": FUNCTIONAL,
    "scriptlang.nn.functional": FUNCTIONAL,
    "torch.nn": MODULES["nn"],
    "scriptlang.nn": MODULES["nn"],
    "torch.jit": MODULES["jit"],
    "scriptlang.jit": MODULES["jit"],
    "torch.ops": OPS,
    "scriptlang.ops": OPS,
    "torch.functional": MODULES["functional"],
    "torch.special": MODULES["special"],
    "scriptlang.ops.calling.functions": TORCH,
    "torch._C": MODULES["_C"],
    "torch._VF": MODULES["_VF"],
    "torch.linalg": MODULES["linalg"],
    "torch.fft": MODULES["fft"],
    "scriptlang.linalg": MODULES["linalg"],
    "scriptlang.fft": MODULES["fft"],
    "scriptlang.special": MODULES["special"],
    **{f"torch.{name}": MODULES[name] for name in ("cuda", "cpu", "amp", "cuda.amp", "cpu.amp")},
}
"""Qualified name of a module -> namespace."""

ARCHIVE_NAMES: dict[str, SugaredValue] = {
    "torch": TORCH,
    "ops": OPS,
    "inf": ConstantValue(math.inf),
    "nan": ConstantValue(math.nan),
    "infj": ConstantValue(complex(0, math.inf)),
    "nanj": ConstantValue(complex(0, math.nan)),
    **special_forms.ARCHIVE_FORMS,
}
"""Name -> meaning, for the code of every archive; each archive adds CONSTANTS and __torch__."""
