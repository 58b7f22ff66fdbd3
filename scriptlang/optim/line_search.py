"""A line search for the strong Wolfe conditions, with cubic interpolation.

These are algorithms 3.5 and 3.6 of Nocedal and Wright, Numerical Optimization, with the safeguards
of minFunc (Schmidt, 2005), which PyTorch uses too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ..tensors import Tensor

DECREASE = 1e-4
"""c1 of the sufficient decrease condition: the required part of the predicted decrease."""

CURVATURE = 0.9
"""c2 of the curvature condition: which part of the initial slope may remain."""

LEAST = 1e-9
"""Changes of a parameter below this are ignored."""


class Point(NamedTuple):
    """The loss, gradient and slope at a distance t along the search direction."""

    t: float
    loss: float
    grad: Tensor
    slope: float


def strong_wolfe(
    at: Callable[[float], Point], t: float, start: Point, reach: float, most: int = 25
) -> tuple[Point, int]:
    """Return (a point that satisfies both conditions, or the best one; number of evaluated points).

    at: evaluates the point at a distance. t: the first distance to try. reach: the largest absolute
    element of the direction. most: the limit of further evaluations.
    """
    is_too_high, is_flat = partial(rises_from, start), partial(is_flatter_than, start)
    # move outwards until two points enclose a minimum
    before, point, tried = start, at(t), 0
    while tried < most:
        is_beyond = is_too_high(point) or tried > 1 and point.loss >= before.loss
        if not is_beyond and is_flat(point):
            return point, tried + 1
        if is_beyond or point.slope >= 0:
            ends = [before, point]
            break
        nearest, farthest = point.t + 0.01 * (point.t - before.t), point.t * 10
        t = cubic_minimum(before, point, nearest, farthest)
        before, point = point, at(t)
        tried += 1
    else:
        ends = [start, point]

    return narrowed(at, start, ends, tried, most, reach)


def rises_from(start: Point, point: Point) -> bool:
    """Whether the loss violates the sufficient decrease condition."""
    return point.loss > start.loss + DECREASE * point.t * start.slope


def is_flatter_than(start: Point, point: Point) -> bool:
    return abs(point.slope) <= -CURVATURE * start.slope


def narrowed(
    at: Callable[[float], Point],
    start: Point,
    ends: list[Point],
    tried: int,
    most: int,
    reach: float,
) -> tuple[Point, int]:
    """Narrow the interval between two points until a point in it satisfies both conditions."""
    low, high = (0, 1) if ends[0].loss <= ends[1].loss else (1, 0)
    is_stuck = False
    count = tried + 1
    while tried < most and abs(ends[1].t - ends[0].t) * reach >= LEAST:
        first, last = sorted((ends[0].t, ends[1].t))
        t = cubic_minimum(ends[0], ends[1], first, last)
        margin = 0.1 * (last - first)
        is_near = min(last - t, t - first) < margin
        if is_near and (is_stuck or t >= last or t <= first):
            t = last - margin if abs(t - last) < abs(t - first) else first + margin
            is_stuck = False
        else:
            is_stuck = is_near
        point = at(t)
        tried, count = tried + 1, count + 1
        if rises_from(start, point) or point.loss >= ends[low].loss:
            ends[high] = point
            low, high = (0, 1) if ends[0].loss <= ends[1].loss else (1, 0)
        else:
            if is_flatter_than(start, point):
                return point, count
            if point.slope * (ends[high].t - ends[low].t) >= 0:
                ends[high] = ends[low]
            ends[low] = point
    return ends[low], count


def cubic_minimum(a: Point, b: Point, least: float, most: float) -> float:
    """The minimum of the cubic through two points with their slopes, clamped to [least, most]."""
    if a.t > b.t:
        a, b = b, a
    if a.t == b.t:
        return (least + most) / 2
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (least + most) / 2
    d2 = math.sqrt(square)
    below = b.slope - a.slope + 2 * d2
    if below == 0:
        return (least + most) / 2
    found = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / below)
    return min(max(found, least), most)
