"""Writes `recorded.json`: what PyTorch's optimizers and schedules give for the cases of the tests.

python -m tests.optim.record        # where PyTorch is installed
"""

from __future__ import annotations

import json
from pathlib import Path

from . import cases

FILE = Path(__file__).with_name("recorded.json")


def recorded(package) -> dict:
    """The parameters after the last step of each case, and the first rates of each schedule."""
    from .test_lr_scheduler import SCHEDULES, rates

    ends = {}
    for case, (name, options) in cases.CASES.items():
        steps, _ = cases.run(package, name, options)
        ends[case] = [p.astype("float64").ravel().tolist() for p in steps[-1]]
    return {
        "ends": ends,
        "rates": {
            name: [last for _, last in rates(package, make, steps=12)[0]]
            for name, make in SCHEDULES.items()
        },
    }


if __name__ == "__main__":
    import torch

    FILE.write_text(json.dumps(recorded(torch), indent=None, separators=(",", ":")) + "\n")
