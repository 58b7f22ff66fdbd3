"""Schedules of learning rates, as torch.optim.lr_scheduler has them.

scheduler = StepLR(optimizer, step_size=10)
for epoch in range(30):
    train(); scheduler.step()
"""

from __future__ import annotations

from .base import LRScheduler
from .combined import ChainedScheduler, SequentialLR
from .cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts, OneCycleLR
from .factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from .plateau import ReduceLROnPlateau

_LRScheduler = LRScheduler
