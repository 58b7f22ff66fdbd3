"""The names of torch.backends that programs set and ask for.

There is one CPU engine with deterministic kernels. What is set is kept, and has no effect.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


def _made(name: str, available: bool = False, **settings: Any) -> ModuleType:
    module = ModuleType(f"{__name__}.{name}", f"What torch.backends.{name} has.")
    vars(module).update(settings, is_available=lambda: available)
    sys.modules[module.__name__] = module
    return module


cudnn = _made(
    "cudnn",
    enabled=True,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
    version=lambda: None,
)
cuda = _made("cuda", is_built=lambda: False)
cuda.matmul = _made("cuda.matmul", allow_tf32=False)  # type: ignore[attr-defined]
mps = _made("mps", is_built=lambda: False)
mkl = _made("mkl")
mkldnn = _made("mkldnn", enabled=True, deterministic=False, allow_tf32=True)
openmp = _made("openmp")
quantized = _made("quantized", True, engine="x86", supported_engines=["x86", "none"])
