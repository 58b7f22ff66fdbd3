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


def fib(n: int) -> int:
    """Fibonacci's numbers by two calls each."""
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def matrices(n: int) -> float:
    """The trace of a product of two matrices that are lists of rows."""
    a: List[List[float]] = []
    b: List[List[float]] = []
    for i in range(n):
        a.append([float(i * j % 5) for j in range(n)])
        b.append([float((i + j) % 3) for j in range(n)])
    product: List[List[float]] = []
    for i in range(n):
        row: List[float] = []
        for j in range(n):
            total = 0.0
            for k in range(n):
                total += a[i][k] * b[k][j]
            row.append(total)
        product.append(row)
    trace = 0.0
    for i in range(n):
        trace += product[i][i]
    return trace


def bubble_sort(n: int) -> int:
    """The middle of n numbers, sorted by exchanges of neighbours."""
    items: List[int] = []
    seed = 1
    for _ in range(n):
        seed = seed * 1103515245 % 2147483648 + 12345
        items.append(seed % 1000)
    for i in range(n):
        for j in range(n - 1 - i):
            if items[j] > items[j + 1]:
                items[j], items[j + 1] = items[j + 1], items[j]
    return items[n // 2]


def prefixes(n: int) -> int:
    """The prefix function of Knuth, Morris and Pratt for a word of n characters."""
    word = ""
    for i in range(n):
        word += "ab" if i % 7 else "c"
    lengths = [0]
    for i in range(1, len(word)):
        k = lengths[i - 1]
        while k > 0 and word[i] != word[k]:
            k = lengths[k - 1]
        if word[i] == word[k]:
            k += 1
        lengths.append(k)
    return lengths[-1]


def words(n: int) -> int:
    """How often the commonest word comes in a text of n lines."""
    names: List[str] = []
    for i in range(14):
        names.append("word" + str((i * i + n) % 11))
    line = " ".join(names)
    counts: Dict[str, int] = {}
    for _ in range(n):
        for word in line.split(" "):
            counts[word] = counts.get(word, 0) + 1
    most = 0
    for word, count in counts.items():
        if count > most:
            most = count
    return most


class Counter:
    """A running mean of what it is given."""

    def __init__(self) -> None:
        self.total = 0
        self.steps = 0

    def add(self, value: int) -> None:
        self.total += value
        self.steps += 1

    def mean(self) -> float:
        return self.total / self.steps


def instance(n: int) -> float:
    """An instance of a class that counts."""
    counter = Counter()
    for i in range(n):
        counter.add(i % 11)
    return counter.mean()


def neighbours(n: int) -> int:
    """Loops over lists as Python writes them: by element, by pairs, by number and element."""
    items = [i % 13 for i in range(n)]
    total = 0
    for item in items:
        total += item
    for left, right in zip(items, items[1:]):
        total += left * right
    for i, item in enumerate(items):
        if i % 3 == item % 3:
            total -= item
    return total
