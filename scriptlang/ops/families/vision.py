"""torchvision's operators: non-maximum suppression, pooling of regions, deformable convolution."""

from __future__ import annotations

import numpy as np

from ...limits import reserve
from ...tensors import Tensor
from ..shared.numeric import check_floating, finish, working
from ..table import describe, primitive


@primitive("torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
def nms(dets, scores, iou_threshold):
    """The indices of the boxes (x1, y1, x2, y2) to keep, best first.

    A box is dropped if a better one overlaps it by more than the threshold.
    """
    if dets.dim() != 2 or dets._size[1] != 4:
        raise RuntimeError(
            "boxes should be a 2d tensor with 4 elements in dimension 1, got size "
            f"{list(dets._size)}"
        )
    if scores.dim() != 1 or scores._size[0] != dets._size[0]:
        raise RuntimeError(
            "boxes and scores should have same number of elements in dimension 0, "
            f"got {dets._size[0]} and {list(scores._size)}"
        )
    x1, y1, x2, y2 = working(dets).T
    areas = (x2 - x1) * (y2 - y1)
    order = np.argsort(-working(scores), kind="stable")
    suppressed = np.zeros(len(order), bool)
    kept = []
    for at, i in enumerate(order):
        if suppressed[i]:
            continue
        kept.append(i)
        rest = order[at + 1 :]
        width = np.minimum(x2[i], x2[rest]) - np.maximum(x1[i], x1[rest])
        height = np.minimum(y2[i], y2[rest]) - np.maximum(y1[i], y1[rest])
        shared = np.maximum(width, 0) * np.maximum(height, 0)
        with np.errstate(all="ignore"):
            suppressed[rest] |= shared / (areas[i] + areas[rest] - shared) > iou_threshold
    return Tensor._wrap(np.array(kept, np.int64))


def check_rois(input: Tensor, rois: Tensor) -> None:
    if input.dim() != 4:
        raise RuntimeError(
            f"input should be a 4D tensor (N, C, H, W), got size {list(input._size)}"
        )
    if rois.dim() != 2 or rois._size[1] != 5:
        raise RuntimeError(
            "Tensor rois should have 5 columns: batch index, x1, y1, x2, y2; got "
            f"size {list(rois._size)}"
        )


def averaging(start: float, length: float, pooled: int, samples: int, size: int) -> np.ndarray:
    """A matrix (pooled, size): each bin's mean of `samples` linear interpolations."""
    samples = samples if samples > 0 else int(np.ceil(length / pooled))
    step = np.float32(length) / np.float32(pooled)
    matrix = np.zeros((pooled, size), np.float32)
    for i in range(pooled):
        for j in range(samples):
            at = np.float32(start) + i * step + np.float32(j + 0.5) * step / samples
            if at < -1 or at > size:
                continue
            at = max(at, np.float32(0))
            low = int(at)
            if low >= size - 1:
                matrix[i, size - 1] += 1
                continue
            matrix[i, low] += 1 - (at - low)
            matrix[i, low + 1] += at - low
    return matrix / max(samples, 1)


@primitive(
    "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt "
    "pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor"
)
def roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned):
    """Resample regions to one size; interpolation is separable: one matrix product per side."""
    check_rois(input, rois)
    x = working(input)
    result = np.zeros((rois._size[0], x.shape[1], pooled_height, pooled_width), x.dtype)
    offset = 0.5 if aligned else 0.0
    for i, row in enumerate(working(rois)):
        x1, y1, x2, y2 = row[1:] * row.dtype.type(spatial_scale) - row.dtype.type(offset)
        width, height = x2 - x1, y2 - y1
        if not aligned:
            width, height = max(width, 1), max(height, 1)
        rows = averaging(y1, height, pooled_height, sampling_ratio, x.shape[2])
        columns = averaging(x1, width, pooled_width, sampling_ratio, x.shape[3])
        result[i] = rows.astype(x.dtype) @ x[int(row[0])] @ columns.T.astype(x.dtype)
    return finish(result, input.dtype)


def half_up(x: float) -> int:
    """Round as in C: halves away from zero."""
    return int(np.copysign(np.floor(abs(x) + 0.5), x))


def bins(start: int, end: int, pooled: int, size: int) -> list[slice]:
    """The bins of one side of a region, clipped to the image."""
    reserve(pooled * 128)
    length = max(end - start + 1, 1) / pooled
    return [
        slice(
            min(max(int(np.floor(i * length)) + start, 0), size),
            min(max(int(np.ceil((i + 1) * length)) + start, 0), size),
        )
        for i in range(pooled)
    ]


@primitive(
    "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt "
    "pooled_height, SymInt pooled_width) -> (Tensor, Tensor)"
)
def roi_pool(input, rois, spatial_scale, pooled_height, pooled_width):
    """(maxima of the bins of each region, their flat positions); 0 and -1 for empty bins."""
    check_rois(input, rois)
    x = working(input)
    shape = (rois._size[0], x.shape[1], pooled_height, pooled_width)
    best, places = np.zeros(shape, x.dtype), np.full(shape, -1, np.int32)
    plane = np.arange(x.shape[2] * x.shape[3]).reshape(x.shape[2:])
    for i, row in enumerate(working(rois)):
        x1, y1, x2, y2 = (half_up(v * spatial_scale) for v in row[1:])
        across = bins(x1, x2, pooled_width, x.shape[3])
        for j, rows in enumerate(bins(y1, y2, pooled_height, x.shape[2])):
            for k, columns in enumerate(across):
                window = x[int(row[0]), :, rows, columns].reshape(x.shape[1], -1)
                if window.shape[1]:
                    at = window.argmax(1)
                    best[i, :, j, k] = window[np.arange(len(at)), at]
                    places[i, :, j, k] = plane[rows, columns].reshape(-1)[at]
    return finish(best, input.dtype), Tensor._wrap(places)


def sample(x: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Bilinear samples (channels, *positions) of planes (channels, H, W); zero outside."""
    height, width = x.shape[1:]
    top, left = np.floor(rows).astype(np.int64), np.floor(columns).astype(np.int64)
    result = np.zeros((x.shape[0], *rows.shape), x.dtype)
    for dy in (0, 1):
        for dx in (0, 1):
            i, j = top + dy, left + dx
            weight = (1 - abs(rows - i)) * (1 - abs(columns - j))
            inside = (i >= 0) & (i < height) & (j >= 0) & (j < width)
            value = x[:, np.clip(i, 0, height - 1), np.clip(j, 0, width - 1)]
            result += value * np.where(inside, weight, 0).astype(x.dtype)
    return result


@primitive(
    "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, "
    "Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt "
    "dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> "
    "Tensor"
)
def deform_conv2d(
    input,
    weight,
    offset,
    mask,
    bias,
    stride_h,
    stride_w,
    pad_h,
    pad_w,
    dilation_h,
    dilation_w,
    groups,
    offset_groups,
    use_mask,
):
    """A convolution with windows sampled at positions moved by `offset`, weighted by `mask`."""
    if input.dim() != 4 or weight.dim() != 4 or offset.dim() != 4:
        raise RuntimeError(
            "deform_conv2d: input, weight and offset must have 4 dimensions, got "
            f"sizes {list(input._size)}, {list(weight._size)}, {list(offset._size)}"
        )
    check_floating("deform_conv2d", input, "f")
    x, w, moves = working(input), working(weight), working(offset)
    n, channels = x.shape[:2]
    out_channels, _, kh, kw = w.shape
    oh = (x.shape[2] + 2 * pad_h - dilation_h * (kh - 1) - 1) // stride_h + 1
    ow = (x.shape[3] + 2 * pad_w - dilation_w * (kw - 1) - 1) // stride_w + 1
    if moves.shape != (n, offset_groups * 2 * kh * kw, oh, ow):
        raise RuntimeError(
            f"offset.shape is not valid: got {list(moves.shape)}, expected "
            f"{[n, offset_groups * 2 * kh * kw, oh, ow]}"
        )
    moves = moves.reshape(n, offset_groups, kh * kw, 2, oh, ow)
    i, j = np.meshgrid(np.arange(kh) * dilation_h, np.arange(kw) * dilation_w, indexing="ij")
    rows = i.reshape(-1, 1, 1) + (np.arange(oh) * stride_h - pad_h).reshape(1, -1, 1)
    columns = j.reshape(-1, 1, 1) + (np.arange(ow) * stride_w - pad_w).reshape(1, 1, -1)
    each = channels // offset_groups
    result = np.empty((n, out_channels, oh * ow), x.dtype)
    for b in range(n):
        parts = []
        for g in range(offset_groups):
            window = sample(
                x[b, g * each : (g + 1) * each],
                rows + moves[b, g, :, 0],
                columns + moves[b, g, :, 1],
            )
            if use_mask:
                window = window * working(mask)[b].reshape(offset_groups, kh * kw, oh, ow)[g]
            parts.append(window)
        gathered = np.concatenate(parts).reshape(groups, -1, oh * ow)
        result[b] = (w.reshape(groups, out_channels // groups, -1) @ gathered).reshape(-1, oh * ow)
    result += working(bias).reshape(1, -1, 1)
    return finish(result.reshape(n, out_channels, oh, ow), input.dtype)


describe("torchvision::nms", dynamic_shape=True)
