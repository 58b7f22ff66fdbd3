"""The update rules of the optimizers: functions in the scripted language, a file a family.

Optimizers run them eagerly, and programs made by `training_step` call them. A parameter without a
gradient is not changed. Everything is written in place, since programs keep their state in buffers.
The order of operations is that of PyTorch, so that results are equal.
"""

from __future__ import annotations

from .adam import adam as adam
from .adam import adamax as adamax
from .adam import nadam as nadam
from .adam import radam as radam
from .gradient import asgd as asgd
from .gradient import rprop as rprop
from .gradient import sgd as sgd
from .matrices import adafactor as adafactor
from .matrices import muon as muon
from .program import joined as joined
from .program import present as present
from .quasi_newton import quasi_newton as quasi_newton
from .scaled import adadelta as adadelta
from .scaled import adagrad as adagrad
from .scaled import rmsprop as rmsprop
from .shared import real as real
