"""Trains a small network on scikit-learn's handwritten digits, to above 97 % of unseen ones.

    pip install 'scriptlang[examples]'
    python examples/train_digits.py                  # digits.pt, after every epoch
    python examples/train_digits.py --epochs 20      # goes on from where it stopped
    python examples/train_digits.py --data digits.bin        # what the C++ program reads

The archive is a whole training step: the network, the loss, and Adam with its state. The C++
program cpp_loader/examples/train_digits trains it further.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import scriptlang as sl
from scriptlang import nn, optim

BATCH, TRAINED = 64, 1437
"""Images of a step; images that are learned from, of 1797."""


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(32 * 4 * 4, 10),
    )


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Images of 8 x 8 numbers from 0 to 1, and which digits they show, in an order by chance."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        sys.exit("the digits are those of scikit-learn: pip install 'scriptlang[examples]'")
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    images = (data.images[order, None] / 16).astype(np.float32)
    return images, data.target[order].astype(np.int64)


def fresh() -> sl.ScriptModule:
    sl.manual_seed(0)
    made = network()
    return optim.training_step(
        made, nn.CrossEntropyLoss(), optim.Adam(made.parameters(), lr=2e-3), max_norm=5.0
    )


def train(step: sl.ScriptModule, images: np.ndarray, labels: np.ndarray, epoch: int) -> None:
    """One epoch, with a line that says how it goes."""
    order = np.random.default_rng(epoch).permutation(len(labels))
    step.train()
    step.set_lr([2e-3 * 0.9**epoch])
    start, total = time.perf_counter(), 0.0
    for first in range(0, len(order), BATCH):
        chosen = order[first : first + BATCH]
        loss = step.step(sl.from_numpy(images[chosen]), sl.from_numpy(labels[chosen]))
        total += loss.item() * len(chosen)
        done = first + len(chosen)
        speed = done / (time.perf_counter() - start)
        print(
            f"\repoch {epoch + 1:3}  {done:4}/{len(order)}  loss {total / done:.4f}  "
            f"{speed:6.0f} images/s",
            end="",
            flush=True,
        )


def accuracy(step: sl.ScriptModule, images: np.ndarray, labels: np.ndarray) -> float:
    step.eval()
    with sl.no_grad():
        found = step(sl.from_numpy(images)).argmax(1).numpy()
    return float((found == labels).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description="train on handwritten digits")
    parser.add_argument("--epochs", type=int, default=12, help="how many there are to be in all")
    parser.add_argument("--archive", type=Path, default=Path("digits.pt"))
    parser.add_argument("--data", type=Path, help="write the images and labels there, and end")
    options = parser.parse_args()
    images, labels = digits()
    if options.data:
        options.data.write_bytes(images.tobytes() + labels.tobytes())
        return
    done = {"epochs": b"0"}
    if options.archive.exists():
        step = sl.load(options.archive, _extra_files=done)
        print(f"{options.archive} has {int(done['epochs'])} epochs")
    else:
        step = fresh()
    for epoch in range(int(done["epochs"]), options.epochs):
        train(step, images[:TRAINED], labels[:TRAINED], epoch)
        right = accuracy(step, images[TRAINED:], labels[TRAINED:])
        print(f"  {right:.1%} of unseen digits right")
        step.save(options.archive, _extra_files={"epochs": str(epoch + 1)})


if __name__ == "__main__":
    main()
