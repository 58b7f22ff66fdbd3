"""`python -m tests.ops.record [family ...]` records PyTorch's results of the samples (needs
torch)."""

from __future__ import annotations

import importlib
import pathlib
import sys

from tests.ops import harness


def main(families: list[str]) -> None:
    here = pathlib.Path(__file__).parent
    for family in families or sorted(p.stem[5:] for p in here.glob("test_*.py")):
        module = importlib.import_module(f"tests.ops.test_{family}")
        samples = getattr(module, "SAMPLES", None)
        if hasattr(module, "record"):  # a family that has results of its own
            module.record()
        elif samples is not None:
            harness.write(family, samples)
            print(f"{family}: {len(samples)} samples")


if __name__ == "__main__":
    main(sys.argv[1:])
