"""Programs as users write them, which have to pass `mypy --strict` against the package.

Checked by .ci/types; `test_typing.py` runs it, too.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import scriptlang
from scriptlang import Limits, ScriptModule, Tensor, nn


@scriptlang.script
def scaled(x: Tensor, by: float = 2.0) -> Tensor:
    return x * by + 1


class Model(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.rest(self.first(x)) - x.mean()
        return hidden


def run(path: Path) -> list[int]:
    """Load, run, look at the result."""
    model: ScriptModule = scriptlang.load(path, limits=Limits(seconds=1.0))
    given = scriptlang.from_numpy(np.zeros((2, 3), np.float32))
    result = model(given)
    assert isinstance(result, Tensor)
    shape: tuple[int, ...] = result.shape
    array = result.numpy()
    print(array.sum(), model.code, [name for name, _ in model.named_parameters()])
    return list(shape)


def compile_and_save(path: Path) -> None:
    compiled: ScriptModule = scriptlang.script(Model(3))
    compiled.eval()
    scriptlang.save(scriptlang.freeze(compiled), path)
    out: Tensor = scaled(scriptlang.from_numpy(np.ones(3)), by=0.5)
    doubled = -out + 2 * out
    print(bool((doubled > 0).all()), len(doubled), doubled[0].item())


def report(path: Path) -> str:
    try:
        scriptlang.load(path)
    except scriptlang.ArchiveError as error:
        return f"{error.record}: {error.message}"
    return ""
