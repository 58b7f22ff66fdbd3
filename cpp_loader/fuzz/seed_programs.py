"""Programs that between them use every part of the language, for the fuzzers to change."""

import math
from typing import Any

import scriptlang as torch
from scriptlang import Tensor

SCRIPTED = ("language", "tensors", "operators", "numbers", "use", "parts", "gradients", "writes")


def helper(x: int, y: float = 2.0) -> float:
    return x * y + 1


def language(n: int, words: list[str], table: dict[str, int], pair: tuple[int, float]):
    best: str | None = None
    for i, w in enumerate(words):
        if w in table and table[w] > n:
            best = w
        table[w] = i + len(w)
    while n > 0:
        n = n // 2 - 1
        if n % 3 == 1:
            continue
        table["n"] = n
    a, b = pair
    assert a < 100, f"too much: {a}"
    return best, helper(a, b), [str(x) for x in words], "abc"[1:], words[::-1], n << 3


def tensors(x: Tensor, ys: list[Tensor], flag: bool):
    future = torch.jit.fork(helper, 3, 0.5)
    total = torch.zeros_like(x)
    for y in ys:
        if y.dim() == x.dim():
            total = total + y.sum() * 2
    parts = torch.cat([total.reshape(-1), x.reshape(-1)])
    values = [float(parts[i]) for i in range(min(4, parts.numel()))]
    values[0] = 3.5
    values.append(torch.jit.wait(future))
    return parts.view(-1, 1) if flag else parts, values, x.size(), x.dtype


def operators(x: Tensor, weight: Tensor, n: int):
    y = torch.nn.functional.linear(x, weight)
    z = torch.softmax(y, -1)
    k = torch.relu(x * 2 + 1).sigmoid() - torch.where(x > 0, x, -x)
    m = torch.tanh(k).to(torch.float64) * k.exp().clamp(0.0, 3.0) + n
    c = x[..., 1:] if x.dim() > 1 else x.unsqueeze(0)
    v, i = torch.max(m, -1)
    x.add_(1)
    rows: list[list[float]] = m.tolist()
    return z, m, c.transpose(0, 1), v, i, x.argmax(), rows


def numbers(values: list[int], limit: float):
    # numbers of every kind, lists of lists
    grid = [[0 for _ in range(4)] for _ in range(3)]
    for a in range(3):
        for b in range(4):
            grid[a][b] = a * b ^ 5
            if float(grid[a][b]) > limit:
                break
    grid[1].insert(0, 7)
    s = 0
    for row in grid:
        s += row.pop()
    q = (limit**2, math.sqrt(abs(limit)), int(limit), s / 3, s % 2 == 0, not s > 1)
    values.sort()
    values.reverse()
    del values[0]
    return grid, q, max(values), sum(values), {i: str(i) for i in values}, 1.5 + 2j


def halves(n: int, k: int) -> tuple[int, str]:
    if n < 2:
        return k, str(n)
    left, name = halves(n // 2, k + 1)
    return left + n, name + "b"


def parts(pairs: list[tuple[int, str]], rows: list[list[int]], text: str):
    # tuples that are taken apart, elements of rows, characters, keys that are found twice
    counts: dict[str, int] = {}
    spans: dict[int, tuple[int, int]] = {}
    for i, (n, name) in enumerate(pairs):
        key = name[0] + text[i]
        counts[key] = counts.get(key, 0) + ord(name[0])
        rows[i][n] = rows[n][i] + pairs[0][0]
        if n in spans:
            first, last = spans[n]
            spans[n] = (first, i)
        else:
            spans[n] = (i, i)
    best, who = pairs[0]
    for c in text:
        if c >= "a" and c < "n" or c.isdigit():
            best, who = halves(best + 5, ord(c))
    while best > 0:
        best -= 7
        if who == "b":
            break
    return counts, spans, "-".join(text.split("a")), who, best


def gradients(x: Tensor, ys: list[Tensor], n: int):
    # forces, their own gradients, and what a training step does
    w = torch.ones([3], dtype=x.dtype).requires_grad_()
    r = (x * w.sum()).requires_grad_()
    energy = (r * r).sum() + torch.tanh(r).sum() * n
    force = torch.autograd.grad([energy], [r], create_graph=True)[0]
    assert force is not None
    again = torch.autograd.grad([force.sum()], [w, r], None, True, False, True)
    for y in ys:
        if y.requires_grad:
            (y * y).sum().backward(retain_graph=True)
    (w * w.detach()).sum().backward()
    with torch.no_grad():
        w.sub_(0.1)
    return force, again, w, x * 2.0


def writes(x: Tensor, n: int):
    y = x * 2.0
    row = y if y.dim() == 0 else y[0]
    other = y.t() if y.dim() == 2 else y.view(-1)
    row.mul_(x.sum())
    other.sin_()
    y.add_(1.0)
    for _ in range(n % 4):
        row.copy_(row * row)
        other = other.unsqueeze(0).expand([2] + list(other.size()))
    return row.sum() + other.sum(), y.detach_().sum(), torch.cat([y.view(-1), row.reshape([-1])])


class Point:
    def __init__(self, x: int, y: float):
        self.x = x
        self.y = y

    def moved(self, by: int) -> int:
        self.x += by
        return self.x

    def __enter__(self) -> int:
        return self.moved(1)

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.y = 0.0


def use(n: int) -> tuple[int, float]:
    p = Point(n, 0.5)
    with p as inside:
        for _ in range(n % 5):
            p.moved(inside)
    if isinstance(p.y, float):
        p.y = p.y + 1.0
    return p.moved(3), p.y


class Whole(torch.nn.Module):
    """A module with attributes of several kinds, whose methods use the functions above."""

    seen: list[int]
    table: dict[str, int]

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
        self.scale = torch.nn.Parameter(torch.ones(3))
        self.seen = []
        self.table = {"a": 1}
        self.count = 0

    def forward(self, x: Tensor, n: int) -> tuple[Tensor, int]:
        self.count += 1
        self.seen.append(n)
        y = torch.relu(x * 2 + 1).sigmoid() - torch.tanh(x).exp() * n
        if x.dim() == 2 and x.size(1) == 3:
            y = y * self.scale + self.linear(x).sum()
        for k in range(len(self.seen)):
            y = y + float(self.seen[k]) / 3
        return y, self.count

    @torch.jit.export
    def words(self, words: list[str], n: int) -> dict[str, int]:
        for w in words:
            if w in self.table:
                self.table[w] += n
            else:
                self.table[w] = numbers([n, 3, 1], 2.5)[2] + use(n)[0]
        return self.table

    @torch.jit.export
    def many(self, xs: list[Tensor], weight: Tensor | None, flag: bool):
        results = [tensors(x, xs, flag)[0] for x in xs]
        if weight is not None:
            results.append(operators(weight, weight, 3)[1])
        return results
