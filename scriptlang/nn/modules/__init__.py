"""The layers of torch.nn, by family, mostly with PyTorch's file names."""

from __future__ import annotations

from .activation import *
from .adaptive import *
from .attention import *
from .batchnorm import *
from .container import ModuleDict as ModuleDict
from .container import ModuleList as ModuleList
from .container import ParameterDict as ParameterDict
from .container import ParameterList as ParameterList
from .container import Sequential as Sequential
from .conv import *
from .distance import *
from .dropout import *
from .instancenorm import *
from .linear import *
from .loss import *
from .module import Module as Module
from .normalization import *
from .padding import *
from .pooling import *
from .rnn import *
from .shape import *
from .sparse import *
from .transformer import *
