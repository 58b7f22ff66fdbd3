"""torchvision's operators against their definitions written out as loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scriptlang.ops import table
from scriptlang.ops.calling import functions as F
from scriptlang.tensors import from_numpy

R = np.random.RandomState(3)


def run(name: str, *args):
    kernel = table.find(f"torchvision::{name}", "").kernel
    result = kernel(*(from_numpy(a) if isinstance(a, np.ndarray) else a for a in args))
    return [r.numpy() for r in result] if isinstance(result, tuple) else result.numpy()


def boxes(n: int, size: float) -> np.ndarray:
    corners = R.rand(n, 2) * size * 0.6
    return np.concatenate([corners, corners + R.rand(n, 2) * size * 0.5], 1).astype(np.float32)


def overlap(a, b) -> float:
    width = max(0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0, min(a[3], b[3]) - max(a[1], b[1]))
    areas = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    return width * height / (areas - width * height)


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.9])
def test_nms(threshold):
    b, scores = boxes(30, 10), R.rand(30).astype(np.float32)
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if all(overlap(b[i], b[j]) <= threshold for j in kept):
            kept.append(i)
    assert run("nms", b, scores, threshold).tolist() == kept


def test_nms_of_nothing():
    assert run("nms", np.zeros((0, 4), np.float32), np.zeros(0, np.float32), 0.5).shape == (0,)


def bilinear(plane: np.ndarray, y: float, x: float) -> float:
    """torchvision's interpolation: zero beyond one element outside, clamped within it."""
    height, width = plane.shape
    if y < -1 or y > height or x < -1 or x > width:
        return 0.0
    y, x = max(y, 0), max(x, 0)
    top, left = min(int(y), height - 1), min(int(x), width - 1)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    ly, lx = (0 if top == height - 1 else y - top), (0 if left == width - 1 else x - left)
    return (
        (1 - ly) * (1 - lx) * plane[top, left]
        + (1 - ly) * lx * plane[top, right]
        + ly * (1 - lx) * plane[bottom, left]
        + ly * lx * plane[bottom, right]
    )


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("ratio", [-1, 2])
def test_roi_align(aligned, ratio):
    x = R.randn(2, 2, 9, 8).astype(np.float32)
    rois = np.concatenate([[[0], [1], [1]], boxes(3, 24)], 1).astype(np.float32)
    got = run("roi_align", x, rois, 0.5, 3, 2, ratio, aligned)
    for i, roi in enumerate(rois):
        x1, y1, x2, y2 = roi[1:] * 0.5 - (0.5 if aligned else 0)
        width, height = (x2 - x1, y2 - y1) if aligned else (max(x2 - x1, 1), max(y2 - y1, 1))
        rows = ratio if ratio > 0 else math.ceil(height / 3)
        columns = ratio if ratio > 0 else math.ceil(width / 2)
        for c, j, k in np.ndindex(2, 3, 2):
            values = [
                bilinear(
                    x[int(roi[0]), c],
                    y1 + (j + (a + 0.5) / rows) * height / 3,
                    x1 + (k + (b + 0.5) / columns) * width / 2,
                )
                for a in range(rows)
                for b in range(columns)
            ]
            assert got[i, c, j, k] == pytest.approx(np.mean(values), abs=1e-4)


def test_roi_pool_of_the_whole_image_is_its_maximum():
    x = R.randn(1, 3, 5, 6).astype(np.float32)
    best, places = run("roi_pool", x, np.array([[0, 0, 0, 5, 4]], np.float32), 1.0, 1, 1)
    assert (best.reshape(3) == x.max((0, 2, 3))).all()
    assert (places.reshape(3) == x.reshape(3, -1).argmax(1)).all() and places.dtype == np.int32


def test_roi_pool_outside_is_empty():
    best, places = run(
        "roi_pool",
        R.randn(1, 1, 4, 4).astype(np.float32),
        np.array([[0, 20, 20, 22, 22]], np.float32),
        1.0,
        2,
        2,
    )
    assert (best == 0).all() and (places == -1).all()


def test_deform_conv2d_without_offsets_is_a_convolution():
    x, w = R.randn(2, 4, 6, 7).astype(np.float32), R.randn(6, 2, 3, 3).astype(np.float32)
    bias, offset = R.randn(6).astype(np.float32), np.zeros((2, 2 * 2 * 9, 3, 4), np.float32)
    got = run(
        "deform_conv2d",
        x,
        w,
        offset,
        np.zeros((2, 0, 3, 4), np.float32),
        bias,
        2,
        2,
        1,
        1,
        1,
        1,
        2,
        2,
        False,
    )
    want = F.conv2d(
        from_numpy(x), from_numpy(w), from_numpy(bias), [2, 2], [1, 1], [1, 1], 2
    ).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_deform_conv2d_moves_and_weighs():
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    offset = np.zeros((1, 2, 4, 4), np.float32)
    offset[0, 1] = 0.5  # half a column to the right
    mask = np.full((1, 1, 4, 4), 2, np.float32)
    got = run(
        "deform_conv2d",
        x,
        np.ones((1, 1, 1, 1), np.float32),
        offset,
        mask,
        np.zeros(1, np.float32),
        1,
        1,
        0,
        0,
        1,
        1,
        1,
        1,
        True,
    )
    assert got[0, 0, 0].tolist() == [1, 3, 5, 3]  # the last place reaches over the border


def test_shapes_that_do_not_fit():
    with pytest.raises(RuntimeError, match="4 elements in dimension 1"):
        run("nms", np.zeros((3, 5), np.float32), np.zeros(3, np.float32), 0.5)
    with pytest.raises(RuntimeError, match="5 columns"):
        run(
            "roi_align",
            np.zeros((1, 1, 4, 4), np.float32),
            np.zeros((3, 4), np.float32),
            1.0,
            2,
            2,
            -1,
            False,
        )
