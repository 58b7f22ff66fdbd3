"""Optimizers with the interface of torch.optim, and whole training steps as programs.

optimizer = scriptlang.optim.Adam(model.parameters(), lr=1e-3)
optimizer.zero_grad()
loss(model(x), y).backward()
optimizer.step()
"""

from __future__ import annotations

from . import lr_scheduler as lr_scheduler
from . import swa_utils as swa_utils
from .algorithms import ASGD as ASGD
from .algorithms import SGD as SGD
from .algorithms import Adadelta as Adadelta
from .algorithms import Adafactor as Adafactor
from .algorithms import Adagrad as Adagrad
from .algorithms import Adam as Adam
from .algorithms import Adamax as Adamax
from .algorithms import AdamW as AdamW
from .algorithms import Muon as Muon
from .algorithms import NAdam as NAdam
from .algorithms import RAdam as RAdam
from .algorithms import RMSprop as RMSprop
from .algorithms import Rprop as Rprop
from .algorithms import SparseAdam as SparseAdam
from .lbfgs import LBFGS as LBFGS
from .optimizer import Optimizer as Optimizer
from .training import compile_steps as compile_steps
from .training import optimizer_of as optimizer_of
from .training import training_step as training_step
