"""Compile a function, run it on both engines, save it, load it again.  Needs only scriptlang."""

import os
import tempfile

import numpy as np

import scriptlang
import scriptlang as torch
from scriptlang import Tensor


@scriptlang.script
def smooth(x: Tensor, steps: int, weight: float = 0.5) -> Tensor:
    """Repeatedly mix every element with its left neighbour."""
    if x.dim() != 1:
        raise ValueError(f"smooth takes a vector, not {x.dim()} dimensions")
    for i in range(steps):
        x = weight * x + (1.0 - weight) * torch.cat([x[:1], x[:-1]])
    return x


def main() -> None:
    print(smooth.graph)
    print(smooth.code)
    x = scriptlang.from_numpy(np.array([0, 0, 8, 0, 0], np.float32))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "smooth.pt")
        smooth.save(path)
        for engine in ("python", "native"):
            try:
                program = scriptlang.load(path, engine=engine)
            except scriptlang.ScriptError as e:
                print(f"{engine} engine: {e}")
                continue
            print(f"{engine} engine: {program(x, 2).numpy()}")


if __name__ == "__main__":
    main()
