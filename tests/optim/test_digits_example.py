"""examples/train_digits.py: what it does with data, without scikit-learn."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "train_digits.py"


@pytest.fixture
def example(monkeypatch):
    spec = importlib.util.spec_from_file_location("train_digits", EXAMPLE)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    images = np.zeros((1600, 1, 8, 8), "float32")
    labels = np.arange(1600) % 10
    images[np.arange(1600), 0, labels // 2, labels % 2 * 4] = 1.0
    monkeypatch.setattr(made, "digits", lambda: (images, labels.astype("int64")))
    return made


def run(example, monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["train_digits.py", *arguments])
    example.main()
    return capsys.readouterr().out


def test_it_learns_saves_and_goes_on(example, monkeypatch, capsys, tmp_path):
    archive = str(tmp_path / "digits.pt")
    first = run(example, monkeypatch, capsys, "--archive", archive, "--epochs", "1")
    assert "epoch   1" in first and "1437/1437" in first and "images/s" in first
    second = run(example, monkeypatch, capsys, "--archive", archive, "--epochs", "2")
    assert "has 1 epochs" in second and "epoch   2" in second and "epoch   1" not in second
    assert "100.0% of unseen digits right" in second
    data = tmp_path / "digits.bin"
    run(example, monkeypatch, capsys, "--data", str(data))
    assert data.stat().st_size == 1600 * (64 * 4 + 8)


def test_without_scikit_learn_it_says_what_to_install(monkeypatch):
    spec = importlib.util.spec_from_file_location("train_digits", EXAMPLE)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(SystemExit, match="pip install 'scriptlang.examples.'"):
        made.digits()
