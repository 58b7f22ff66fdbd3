"""Programs without tensors: the same text runs in CPython and, scripted, everywhere else."""

from __future__ import annotations

from typing import Dict, List


def remainders(n: int) -> int:
    """Sum of the squares' remainders by 7."""
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def logistic(n: int) -> float:
    """The logistic map, iterated."""
    x = 0.5
    for _ in range(n):
        x = 3.7 * x * (1.0 - x)
    return x


def sieve(n: int) -> int:
    """How many primes are below n."""
    flags: List[int] = []
    for _ in range(n):
        flags.append(1)
    count = 0
    for i in range(2, n):
        if flags[i] == 1:
            count += 1
            j = i * i
            while j < n:
                flags[j] = 0
                j += i
    return count


def mandelbrot(n: int) -> int:
    """Steps that the points of an n x n grid take to leave the circle of radius 2."""
    total = 0
    for row in range(n):
        for column in range(n):
            a = 3.0 * column / n - 2.0
            b = 2.0 * row / n - 1.0
            x = 0.0
            y = 0.0
            steps = 0
            while steps < 50 and x * x + y * y < 4.0:
                t = x * x - y * y + a
                y = 2.0 * x * y + b
                x = t
                steps += 1
            total += steps
    return total


def text(n: int) -> int:
    """A string built piece by piece, then searched."""
    parts: List[str] = []
    for i in range(n):
        parts.append("item " + str(i % 97))
    return len(", ".join(parts).replace("item", "x"))


def counting(n: int) -> int:
    """Counts kept in a dictionary."""
    counts: Dict[int, int] = {}
    for i in range(n):
        key = i * 7919 % 101
        if key in counts:
            counts[key] += 1
        else:
            counts[key] = 1
    return len(counts)

