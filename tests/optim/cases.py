"""Options of each algorithm, and a small problem that they are tried on."""

from __future__ import annotations

import numpy as np

CASES = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd_momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}),
    "sgd_dampening": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    "sgd_nesterov": ("SGD", {"lr": 0.1, "momentum": 0.8, "nesterov": True}),
    "sgd_maximize": ("SGD", {"lr": 0.1, "weight_decay": 0.2, "maximize": True}),
    "adam": ("Adam", {}),
    "adam_amsgrad": ("Adam", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.1}),
    "adam_betas": ("Adam", {"lr": 0.05, "betas": (0.5, 0.8), "eps": 1e-4, "maximize": True}),
    "adam_decoupled": ("Adam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    "adamw": ("AdamW", {"lr": 0.05}),
    "adamw_amsgrad": ("AdamW", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.3}),
    "rmsprop": ("RMSprop", {}),
    "rmsprop_centered": ("RMSprop", {"lr": 0.03, "centered": True, "weight_decay": 0.1}),
    "rmsprop_momentum": ("RMSprop", {"alpha": 0.8, "momentum": 0.7, "eps": 1e-5}),
    "rmsprop_all": ("RMSprop", {"momentum": 0.7, "centered": True, "maximize": True}),
    "adagrad": ("Adagrad", {}),
    "adagrad_decay": ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.05}),
    "adagrad_start": ("Adagrad", {"initial_accumulator_value": 0.5, "maximize": True}),
    "adadelta": ("Adadelta", {}),
    "adadelta_all": ("Adadelta", {"lr": 0.5, "rho": 0.7, "weight_decay": 0.1, "maximize": True}),
    "adamax": ("Adamax", {}),
    "adamax_all": ("Adamax", {"lr": 0.05, "betas": (0.5, 0.8), "weight_decay": 0.1}),
    "nadam": ("NAdam", {"lr": 0.05, "maximize": True}),
    "nadam_decay": ("NAdam", {"weight_decay": 0.1, "momentum_decay": 0.1}),
    "nadam_decoupled": ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    "radam": ("RAdam", {"lr": 0.05, "betas": (0.8, 0.9)}),
    "radam_decay": ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "maximize": True}),
    "radam_decoupled": ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    "asgd": ("ASGD", {"lr": 0.1}),
    "asgd_averaged": ("ASGD", {"t0": 2, "lambd": 0.1, "alpha": 0.5, "weight_decay": 0.1}),
    "rprop": ("Rprop", {}),
    "adafactor": ("Adafactor", {}),
    "adafactor_all": ("Adafactor", {"lr": 0.1, "eps": (1e-5, 1e-2), "d": 2.0, "weight_decay": 0.1}),
    "rprop_sizes": ("Rprop", {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (0.05, 0.2)}),
}
"""Name -> class, options."""

REAL = ("Adafactor",)
"""Classes that refuse complex parameters."""

SHAPES = ((3, 2), (4,), ())


def start(dtype: str, seed: int = 0) -> list[np.ndarray]:
    """Values of parameters, or gradients of one step."""
    rng = np.random.default_rng(seed)
    made = [rng.standard_normal(shape) for shape in SHAPES]
    if dtype.startswith("complex"):
        made = [m + 1j * rng.standard_normal(m.shape) for m in made]
    return [np.asarray(m, dtype) for m in made]


def run(package, name: str, options: dict, dtype: str = "float32", steps: int = 6):
    """The parameters after each step, and the optimizer.  The last one lacks a gradient at first;
    one never has any."""
    params = [package.nn.Parameter(package.from_numpy(v.copy())) for v in start(dtype)]
    unused = package.nn.Parameter(package.ones(2))
    optimizer = getattr(package.optim, name)([*params, unused], **options)
    seen = []
    for i in range(steps):
        optimizer.zero_grad()
        for p, g in zip(params, start(dtype, i + 1)):
            p.grad = package.from_numpy(g.copy())
        if i < 2:
            params[-1].grad = None
        optimizer.step()
        seen.append([p.detach().numpy().copy() for p in params])
    return seen, optimizer
