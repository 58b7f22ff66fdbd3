"""The layers of torch.nn, by family, under PyTorch's names for the files."""

from __future__ import annotations

from .activation import *
from .batchnorm import *
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .conv import *
from .linear import *
from .module import Module
