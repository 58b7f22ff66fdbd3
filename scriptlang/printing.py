"""Texts of tensors, as PyTorch prints them: 4 digits, 80 columns, summarised over 1000 elements."""

from __future__ import annotations

import math

import numpy as np

from . import dtypes
from .tensors import Tensor

PRECISION = 4
THRESHOLD = 1000
EDGE = 3
WIDTH = 80


class _Format:
    """How the elements of one tensor are written: all at one width, in one style."""

    def __init__(self, values: np.ndarray, kind: str):
        self.kind = kind
        self.whole, self.science, self.width = True, False, 1
        if kind != "f":
            self.width = max([len(str(v)) for v in values.reshape(-1).tolist()], default=1) \
                if kind != "b" else max((len(str(bool(v))) for v in values.reshape(-1)), default=1)
            return
        finite = values[np.isfinite(values) & (values != 0)]
        if not finite.size:
            self.width = max((len(self(v)) for v in values.reshape(-1)), default=1)
            return
        size = np.abs(finite)
        low, high = float(size.min()), float(size.max())
        self.whole = bool(np.all(finite == np.ceil(finite)))
        if self.whole:
            self.science = high / low > 1000.0 or high > 1.0e8
        else:
            self.science = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
        self.width = max(len(self(v)) for v in values.reshape(-1))

    def __call__(self, value) -> str:
        if self.kind == "b":
            return str(bool(value))
        if self.kind != "f":
            return str(int(value))
        value = float(value)
        if self.science:
            return f"{value:.{PRECISION}e}"
        if self.whole:
            return f"{value:.0f}" + ("." if math.isfinite(value) else "")
        return f"{value:.{PRECISION}f}"

    def padded(self, value) -> str:
        return self(value).rjust(self.width)


def tensor_text(x: Tensor, contents: str | None = None) -> str:
    """`tensor([1., 2.])`, with the dtype where it is not the one that the numbers imply.

    contents: what to write instead of the elements.
    """
    array = x._array
    if x.dtype.name == "bfloat16" or x.dtype.name == "float16":
        array = array.astype(np.float32)
    suffix = []
    implied = {"b": "bool", "f": dtypes.get_default_dtype().name, "c": "complex64"}.get(
        array.dtype.kind, "int64")
    if x.dtype.name != implied or x.numel() == 0 and x.dtype.name != "float32":
        suffix.append(f"dtype=torch.{x.dtype.name}")
    if x.requires_grad:
        suffix.append("requires_grad=True")
    if x.numel() == 0:
        body = "[]"
        if x.dim() != 1:
            suffix.insert(0, f"size={x._size if len(x._size) != 1 else tuple(x._size)}")
    else:
        body = array_text(array, x.numel() > THRESHOLD)
    body = body if contents is None else contents
    text = f"tensor({body}"
    joined = ", ".join(suffix)
    if not joined:
        return text + ")"
    last = text.rfind("\n") + 1
    if len(text) - last + len(joined) + 3 > WIDTH:
        return f"{text},\n       {joined})"
    return f"{text}, {joined})"


def array_text(array: np.ndarray, summarise: bool, indent: int = 7) -> str:
    shown = _edges(array) if summarise else array
    if array.dtype.kind == "c":
        real, imag = _Format(shown.real, "f"), _Format(np.abs(shown.imag), "f")

        def write(v):
            sign = "-" if v.imag < 0 or (v.imag == 0 and math.copysign(1, v.imag) < 0) else "+"
            return f"{real.padded(v.real)}{sign}{imag(abs(v.imag))}j"
    else:
        write = _Format(shown, array.dtype.kind).padded
    return _nested(array, write, summarise, indent)


def _edges(array: np.ndarray) -> np.ndarray:
    """Only the elements that a summary shows."""
    for axis, n in enumerate(array.shape):
        if n > 2 * EDGE:
            array = np.concatenate([np.take(array, range(EDGE), axis),
                                    np.take(array, range(n - EDGE, n), axis)], axis)
    return array


def _nested(array: np.ndarray, write, summarise: bool, indent: int) -> str:
    if array.ndim == 0:
        return write(array.item() if array.dtype.kind != "c" else complex(array)).strip()
    n = array.shape[0]
    short = summarise and n > 2 * EDGE
    if array.ndim == 1:
        items = [write(v) for v in (array[:EDGE] if short else array)]
        if short:
            items += [" ..."] + [write(v) for v in array[-EDGE:]]
        each = max(1, (WIDTH - indent) // (max(map(len, items)) + 2))
        lines = [", ".join(items[i:i + each]) for i in range(0, len(items), each)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [_nested(a, write, summarise, indent + 1) for a in (array[:EDGE] if short else array)]
    if short:
        parts += ["..."] + [_nested(a, write, summarise, indent + 1) for a in array[-EDGE:]]
    gap = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + gap.join(parts) + "]"


def quantized_text(x) -> str:
    """A quantized tensor: its numbers, then how they are quantized."""
    q = x.quantizer
    how = f"torch.per_tensor_affine, scale={q.scale}, zero_point={q.zero_point}" if q.scheme == 0 \
        else (f"torch.per_channel_affine{'_float_qparams' if q.scheme == 4 else ''}, "
              f"scale={tensor_text(q.scales)}, zero_point={tensor_text(q.zero_points)}, "
              f"axis={q.axis}")
    numbers = x.numbers()
    body = array_text(numbers, x.numel() > THRESHOLD) if numbers.size else "[]"
    return (f"tensor({body}, size={tuple(x._size)}, dtype=torch.{x.dtype.name},\n"
            f"       quantization_scheme={how})")
