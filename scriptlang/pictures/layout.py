"""Positions for the boxes of an acyclic directed graph, in layers from top to bottom.

    places, routes, width, height = lay_out(sizes, edges)

This is Sugiyama's method: each box is in the layer below all boxes that it depends on. Edges across
several layers pass through points in the layers between. The boxes of a layer are sorted by the
mean position of their neighbours in sweeps down and up, and then moved as close to them as
possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

GAP_X, GAP_Y = 18.0, 38.0
SWEEPS = 6
POINT = 6.0
"""The width of a point that an edge passes through."""

MOST_POINTS = 20_000
"""If more points were needed, edges are drawn straight."""


class Layout(NamedTuple):
    """places: the left and top of each box. routes: the points of each edge.
    All start at (0, 0)."""

    places: list[tuple[float, float]]
    routes: list[list[tuple[float, float]]]
    width: float
    height: float


def lay_out(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layout:
    """Compute a layout. sizes: (width, height) of boxes in topological order; edges: index pairs.

    Raises ValueError for an edge that goes backward."""
    if not sizes:
        return Layout([], [], 0.0, 0.0)
    layer = layers_of(len(sizes), edges)
    widths = [w for w, _ in sizes]
    chains, links = with_points(edges, layer, widths)
    rows: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for box, number in enumerate(layer):  # boxes and points
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
    """Add points for edges across several layers to `layer` and `widths`.

    Returns (the points of each edge, edges between neighbouring layers). Edges that leave the same
    box share points."""
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
    """Sort each row by the mean position of neighbours, so that fewer edges cross."""
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
    """The x of the middle of each box: close to its neighbours, without overlaps within a row."""
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
    """Place a row by least squares: boxes that would overlap become a group that moves as one."""
    groups: list[tuple[float, float, list[int]]] = []  # (sum of wanted offsets, count, boxes)
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
