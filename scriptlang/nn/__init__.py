"""Neural networks: Module, its containers, layers and functions, as torch.nn has them.

    from scriptlang import nn
    import scriptlang.nn.functional as F

Everything runs eagerly on the operator table; `scriptlang.script` compiles modules and functions.
"""

from __future__ import annotations

from . import functional
from .parameter import Buffer, Parameter
from . import init, modules, utils
from .modules import *
