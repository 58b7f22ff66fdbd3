"""Optimizers and schedules against numbers that PyTorch gave (`record.py`), without PyTorch."""

from __future__ import annotations

import json

import numpy as np
import pytest

import scriptlang as sl

from . import cases, record
from .test_lr_scheduler import SCHEDULES, rates

RECORDED = json.loads(record.FILE.read_text())


@pytest.mark.parametrize("case", cases.CASES)
def test_steps_end_where_those_of_pytorch_do(case):
    name, options = cases.CASES[case]
    steps, _ = cases.run(sl, name, options)
    for ours, theirs in zip(steps[-1], RECORDED["ends"][case]):
        np.testing.assert_allclose(ours.ravel(), theirs, 1e-5, 1e-6)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_rates_are_those_that_pytorch_gave(schedule):
    seen, _ = rates(sl, SCHEDULES[schedule], steps=12)
    for (_, ours), theirs in zip(seen, RECORDED["rates"][schedule]):
        assert ours == pytest.approx(theirs, rel=1e-14)
