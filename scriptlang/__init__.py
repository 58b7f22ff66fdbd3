"""scriptlang: TorchScript without PyTorch.

Load, run, write and embed `.pt` archives with numpy, or with a small native engine. Packages are
imported when needed: numpy, which a loaded program on the native engine does not need; ml_dtypes
for bfloat16 and float8; astunparse to write or show code. Names are those of PyTorch. They are
loaded on first use, so that `import scriptlang` takes a few milliseconds.

    m = scriptlang.load("model.pt")
    y = m(scriptlang.from_numpy(x))
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from . import _checkout
from ._version import __version__

_checkout.install()

HOMES = {
    ".api": (
        "load",
        "load_state_dict",
        "save",
        "script",
        "trace",
        "trace_module",
        "info",
        "on_save",
        "set_num_threads",
        "get_num_threads",
    ),
    ".compiling": ("compile_archive",),
    ".programs.module": ("ScriptModule", "ScriptFunction"),
    ".grad_mode": (
        "enable_grad",
        "inference_mode",
        "is_grad_enabled",
        "is_inference_mode_enabled",
        "no_grad",
        "set_grad_enabled",
    ),
    ".batching": ("vmap",),
    ".programs.freezing": ("freeze", "optimize_for_inference"),
    ".programs.optimizing": ("optimize",),
    ".programs.ahead.functions": ("value_and_grad", "aot_backward"),
    ".programs.shape_report": ("inspect", "memory_plan"),
    ".observing.profiling": ("profile",),
    ".observing.comparing": ("compare",),
    ".errors": (
        "ScriptError",
        "CompileError",
        "RunError",
        "ArchiveError",
        "LimitError",
        "MissingOperatorError",
    ),
    ".tensors": ("Tensor", "Size", "from_numpy"),
    ".tensor_types": (
        "FloatTensor",
        "DoubleTensor",
        "HalfTensor",
        "BFloat16Tensor",
        "ByteTensor",
        "CharTensor",
        "ShortTensor",
        "IntTensor",
        "LongTensor",
        "BoolTensor",
        "Generator",
        "default_generator",
        "manual_seed",
        "seed",
        "initial_seed",
        "get_rng_state",
        "set_rng_state",
        "from_dlpack",
        "asarray",
        "frombuffer",
        "typename",
        "compile",
        "cuda",
    ),
    ".nn.functional.unique": ("unique", "unique_consecutive"),
    ".printing": ("set_printoptions",),
    ".objects": ("Device",),
    ".dtypes": (
        "DType",
        "dtype",
        "finfo",
        "iinfo",
        "float32",
        "float64",
        "float16",
        "bfloat16",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
        "complex64",
        "complex128",
        "float",
        "double",
        "half",
        "int",
        "long",
        "short",
        "get_default_dtype",
        "set_default_dtype",
    ),
    ".limits": ("Limits",),
    ".layouts": ("layout", "memory_format", "qscheme"),
}
"""The modules that define the public names."""

SUBMODULES = (
    "device",
    "jit",
    "autograd",
    "func",
    "utils",
    "library",
    "optim",
    "nn",
    "ops",
    "random",
    "backends",
    "linalg",
    "fft",
    "special",
    "frontend",
    "interpreter",
    "serialization",
)
"""Modules that are available as attributes without being imported, and the class `device`."""

FOLDER = os.path.dirname(__file__)

HOME = {name: module for module, names in HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Return a public name from its module; any other name may be an operator
    (`scriptlang.relu`)."""
    if name in HOME:
        value = getattr(importlib.import_module(HOME[name], __name__), name)
    elif name in SUBMODULES:
        value = _other(name)
    elif name.startswith("__") or os.path.exists(os.path.join(FOLDER, name + ".py")):
        # `from . import types` calls this first; it must not load the operators.
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    else:
        try:
            value = getattr(importlib.import_module(".ops.calling.eager", __name__), name)
        except AttributeError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    globals()[name] = value
    return value


def _other(name: str) -> Any:
    if name == "random":  # a module of that name would hide the operator
        return importlib.import_module(".seeding", __name__)
    if name == "device":
        from .objects import Device

        return Device
    return importlib.import_module(f".{name}", __name__)


def __dir__() -> list[str]:
    # No builtin is called here: once they have been asked for, names of this module hide Python's
    # (`set`, `sorted` and `any` are operators).
    return [*{*globals(), *HOME, "jit", "device"}]
