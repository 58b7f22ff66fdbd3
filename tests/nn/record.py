"""`python -m tests.nn.record` records PyTorch's results of the samples (needs torch)."""

from __future__ import annotations

import pathlib
import warnings

import numpy as np

from tests.nn import samples

FILE = pathlib.Path(__file__).parent / "recorded.npz"


def results(torch) -> dict[str, np.ndarray]:
    """`kind:number:text` -> array: reprs, weights, results in train and eval, of all samples."""
    found = {}
    for family, texts in samples.MODULES.items():
        for text in texts:
            for key, value in of_module(text, torch).items():
                found[f"{key}:{text}"] = value
    for text in samples.FUNCTIONS:
        for i, a in enumerate(samples.arrays(samples.value_of(text, torch))):
            found[f"value {i}:{text}"] = a
    return found


def of_module(
    text: str, torch, run=lambda m: m, modes: tuple[str, ...] = ("train", "eval")
) -> dict[str, np.ndarray]:
    """run: makes of the module what is called (`torch.jit.script`)."""
    module = samples.module_of(text, torch)
    found = {"repr": np.array(repr(module))}
    for name, value in module.state_dict().items():
        found[f"state {name}"] = value.numpy().copy()
    for mode in modes:
        module.train(mode == "train")
        inputs = samples.inputs_of(text, torch)
        for i, a in enumerate(samples.arrays(run(module)(*inputs))):
            found[f"{mode} {i}"] = a
    return found


if __name__ == "__main__":
    import torch

    warnings.simplefilter("ignore")
    np.savez_compressed(FILE, **results(torch))
    print(FILE, FILE.stat().st_size, "bytes")
