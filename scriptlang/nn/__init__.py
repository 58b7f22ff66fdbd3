"""Neural networks: Module, its containers, layers and functions, compatible with torch.nn.

    from scriptlang import nn
    import scriptlang.nn.functional as F

Everything runs eagerly on the operator table; `scriptlang.script` compiles modules and
functions.
"""

from __future__ import annotations

from typing import Any

from . import functional as functional
from . import init as init
from . import modules as modules
from . import utils as utils
from .modules import *
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter

REFUSED = {
    "Lazy": "layers here have their sizes from the start; give in_features, in_channels or "
    "num_features to the layer without Lazy",
    "Uninitialized": "tensors here have their sizes from the start; use Parameter or Buffer",
    "SyncBatchNorm": "there is one process; use BatchNorm1d, BatchNorm2d or BatchNorm3d",
    "DataParallel": "there are no devices but the CPU; call the module itself",
}
"""Prefixes of names in torch.nn that are not offered, with what to use instead."""


def __getattr__(name: str) -> Any:
    for start, help in REFUSED.items():
        if name.startswith(start):
            raise AttributeError(f"nn.{name} is not offered: {help}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
