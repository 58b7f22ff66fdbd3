"""Interpolation: every mode, both conventions of corners, and images wide enough to show how
the coordinates are rounded; sampling on grids, also where there is no position."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, both_tests, call

A = Arrays("resize")  # the seed of what is recorded


def samples():
    image = A.normal(1, 2, 5, 6)
    for size in ([9, 4], [3, 13], [5, 6]):
        for align in (False, True):
            yield call("upsample_bilinear2d", image, size, align)
            yield call("upsample_bicubic2d", image, size, align)
            yield call("_upsample_bilinear2d_aa", image, size, align)
            yield call("_upsample_bicubic2d_aa", image, size, align)
        yield call("upsample_nearest2d", image, size)
        yield call("_upsample_nearest_exact2d", image, size)
    line, block = A.normal(2, 1, 7), A.normal(1, 1, 3, 4, 2)
    for align in (False, True):
        yield call("upsample_linear1d", line, [17], align)
        yield call("upsample_trilinear3d", block, [5, 3, 6], align)
        yield call("upsample_bilinear2d", image.astype("float64"), [7, 11], align)
    # A coordinate near 500 has few bits left for the weights of its neighbours.
    wide = A.normal(1, 1, 1, 500)
    for width in (333, 777):
        yield call("upsample_bilinear2d", wide, [1, width], False)
        yield call("upsample_bicubic2d", wide, [1, width], False)
        yield call("upsample_linear1d", wide[0], [width], False)

    # Positions inside, outside, half-way between two pixels, and none at all.
    grid = 2.8 * A.uniform(1, 4, 5, 2) - 1.4
    grid[0, 1] = [[-1, 1], [0, 0.5], [0.25, -0.75], [0.5, 1], [-0.6, 0.2]]
    grid[0, 2] = [[np.nan, np.nan], [np.nan, 0], [0, np.nan], [np.inf, 0.3], [-np.inf, 1e30]]
    volumes = A.normal(1, 2, 2, 4, 3)
    for padding in (0, 1, 2):
        for align in (False, True):
            for mode in (0, 1, 2):
                yield call("grid_sampler", image, grid, mode, padding, align)
            yield call(
                "grid_sampler", volumes, grid[:, None, :2][..., [0, 1, 1]], 0, padding, align
            )
            # Each step is rounded to the type of the elements.
            for mode in (0, 1, 2):
                yield call(
                    "grid_sampler",
                    image.astype("float16"),
                    grid[:, :1].astype("float16"),
                    mode,
                    padding,
                    align,
                )

    # Bytes: weights are integers, rows are rounded before columns are summed.
    pixels = A.integers(0, 256, 1, 2, 11, 30, dtype="uint8")
    for size in ([6, 13], [15, 37], [1, 5]):
        for name in (
            "upsample_bilinear2d",
            "upsample_bicubic2d",
            "_upsample_bilinear2d_aa",
            "_upsample_bicubic2d_aa",
        ):
            for align in (False, True):
                yield call(name, pixels, size, align)


def shuffles():
    """Channels that become places or change their order, also of nothing."""
    for shape in ((0, 4, 4, 4), (0, 4, 6), (2, 0, 4, 4)):
        yield call("pixel_unshuffle", np.zeros(shape, "float32"), 2)
    yield call("native_channel_shuffle", A.normal(1, 4, 2, 4), 2)
    yield call("channel_shuffle", A.normal(2, 4), 1)


SAMPLES = [*samples(), *shuffles()]
test_recorded, test_pytorch = both_tests("upsample", SAMPLES)
