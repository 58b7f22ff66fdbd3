"""Places for the boxes of a directed graph without cycles, in layers from above to below.

    places, routes, width, height = lay_out(sizes, edges)

As Sugiyama's method has it: each box lies in the layer below all that it needs, edges over several
layers go through points in those between, boxes of a layer are ordered by the middle of their
neighbours, to and fro, and then pushed as near to these as room allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

GAP_X, GAP_Y = 18.0, 38.0
SWEEPS = 6
POINT = 6.0
"""The width of the point that an edge goes through."""

MOST_POINTS = 20_000
"""With more of them, edges go straight."""


class Layout(NamedTuple):
    """places: left and top of each box.  routes: the points of each edge.  All from (0, 0) on."""

    places: list[tuple[float, float]]
    routes: list[list[tuple[float, float]]]
    width: float
    height: float


def lay_out(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layout:
    """sizes: (width, height) of the boxes, in an order in which edges go forward only."""
    if not sizes:
        return Layout([], [], 0.0, 0.0)
    layer = layers_of(len(sizes), edges)
    widths = [w for w, _ in sizes]
    chains, links = with_points(edges, layer, widths)
    rows: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for box, number in enumerate(layer):  # points, too
        rows[number].append(box)
    before: list[list[int]] = [[] for _ in widths]
    after: list[list[int]] = [[] for _ in widths]
    for a, b in links:
        after[a].append(b)
        before[b].append(a)
    order(rows, before, after)
    middle = spread(rows, widths, before, after)
    tops, at = [], 0.0
    heights = []
    for row in rows:
        tall = max((sizes[b][1] for b in row if b < len(sizes)), default=0.0)
        tops.append(at)
        heights.append(tall)
        at += tall + GAP_Y
    left = min(middle[i] - widths[i] / 2 for row in rows for i in row)
    right = max(middle[i] + widths[i] / 2 for row in rows for i in row)
    places = [(middle[i] - widths[i] / 2 - left, tops[layer[i]]) for i in range(len(sizes))]
    routes = []
    for (a, b), points in zip(edges, chains):
        route = [(middle[a] - left, tops[layer[a]] + sizes[a][1])]
        for p in points:
            y = tops[layer[p]]
            route += [(middle[p] - left, y), (middle[p] - left, y + heights[layer[p]])]
        route.append((middle[b] - left, tops[layer[b]]))
        routes.append(route)
    return Layout(places, routes, right - left, at - GAP_Y)


def layers_of(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    layer = [0] * count
    incoming: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        if not a < b:
            raise ValueError(f"the edge {a} -> {b} goes back")
        incoming[b].append(a)
    for b in range(count):
        layer[b] = max((layer[a] + 1 for a in incoming[b]), default=0)
    return layer


def with_points(
    edges: Sequence[tuple[int, int]], layer: list[int], widths: list[float]
) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """Add points for edges over several layers, to `layer` and `widths`; (the points of each edge,
    edges between neighbouring layers).  Edges from one box that go the same way share points."""
    needed = sum(max(layer[b] - layer[a] - 1, 0) for a, b in edges)
    chains: list[list[int]] = []
    links: list[tuple[int, int]] = []
    shared: dict[tuple[int, int], int] = {}
    for a, b in edges:
        points: list[int] = []
        last = a
        for row in range(layer[a] + 1, layer[b]) if needed <= MOST_POINTS else ():
            point = shared.get((a, row))
            if point is None:
                point = shared[a, row] = len(layer)
                layer.append(row)
                widths.append(POINT)
                links.append((last, point))
            points.append(point)
            last = point
        links.append((last, b))
        chains.append(points)
    return chains, links


def order(rows: list[list[int]], before: list[list[int]], after: list[list[int]]) -> None:
    """Sort each row by the middle of its neighbours, so that fewer edges cross."""
    place: dict[int, float] = {}
    for row in rows:
        for k, i in enumerate(row):
            place[i] = k
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        near = before if down else after
        for row in rows if down else reversed(rows):
            row.sort(key=lambda i: mean([place[n] for n in near[i]], place[i]))
            for k, i in enumerate(row):
                place[i] = k


def mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def spread(
    rows: list[list[int]], widths: list[float], before: list[list[int]], after: list[list[int]]
) -> list[float]:
    """The middle of each box: near that of its neighbours, without meeting others of its row."""
    middle = [0.0] * len(widths)
    for row in rows:
        at = 0.0
        for i in row:
            middle[i] = at + widths[i] / 2
            at += widths[i] + GAP_X
        for i in row:
            middle[i] -= at / 2
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        near = before if down else after
        for row in rows if down else reversed(rows):
            wanted = [mean([middle[n] for n in near[i]], middle[i]) for i in row]
            place_row(row, wanted, middle, widths)
    return middle


def place_row(
    row: list[int], wanted: list[float], middle: list[float], widths: list[float]
) -> None:
    """Least squares with an order: boxes that would meet become one that is moved as a whole."""
    groups: list[tuple[float, float, list[int]]] = []  # (sum of wishes, count, boxes)
    offsets: list[float] = []
    at = 0.0
    for k, i in enumerate(row):
        if k:
            at += widths[row[k - 1]] / 2 + GAP_X + widths[i] / 2
        offsets.append(at)
    for k in range(len(row)):
        total, count, boxes = wanted[k] - offsets[k], 1.0, [k]
        while groups and groups[-1][0] / groups[-1][1] >= total / count:
            t, c, b = groups.pop()
            total, count, boxes = total + t, count + c, b + boxes
        groups.append((total, count, boxes))
    for total, count, boxes in groups:
        for k in boxes:
            middle[row[k]] = total / count + offsets[k]
