"""The algorithms of torch.optim: options, checks and state; `updates` says what they compute."""

from __future__ import annotations

from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .gradient import ASGD, SGD, Rprop
from .matrices import Adafactor, Muon, SparseAdam
from .scaled import Adadelta, Adagrad, RMSprop

__all__ = [
    "ASGD",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
]
