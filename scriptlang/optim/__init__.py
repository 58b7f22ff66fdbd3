"""Optimizers, as torch.optim has them, and whole training steps as programs.

optimizer = scriptlang.optim.Adam(model.parameters(), lr=1e-3)
optimizer.zero_grad()
loss(model(x), y).backward()
optimizer.step()
"""

from __future__ import annotations

from . import lr_scheduler
from .algorithms import SGD, Adagrad, Adam, AdamW, RMSprop
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .training import optimizer_of, training_step
