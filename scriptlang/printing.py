"""The text of tensors in PyTorch's format: by default 4 digits, 80 columns, and a summary of more
than 1000 elements; see `set_printoptions`."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import dtypes
from .tensors import Tensor


class PrintOptions:
    """How tensors are printed.

    precision: digits after the point. threshold: with more elements than that, only `edgeitems` at
    both ends of each dimension are printed. linewidth: columns of a line. sci_mode: whether to use
    scientific notation; None decides by the values."""

    def __init__(self) -> None:
        self.precision, self.threshold, self.edgeitems, self.linewidth = 4, 1000, 3, 80
        self.sci_mode: bool | None = None


options = PrintOptions()

PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}
"""Precision, threshold, edgeitems and linewidth of each profile."""


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed, with the arguments of torch.set_printoptions.

    profile: "default", "short" or "full"; other arguments override it. sci_mode: whether to use
    scientific notation; None decides by the values. Raises ValueError for an unknown profile, and
    TypeError for options that are no numbers.
    """
    if profile is not None:
        if profile not in PROFILES:
            raise ValueError(f"profile must be one of {', '.join(PROFILES)}, not {profile!r}")
        for name, value in zip(
            ("precision", "threshold", "edgeitems", "linewidth"), PROFILES[profile]
        ):
            setattr(options, name, value)
    given: tuple[tuple[str, float | None], ...] = (
        ("precision", precision),
        ("threshold", threshold),
        ("edgeitems", edgeitems),
        ("linewidth", linewidth),
    )
    for name, number in given:
        if number is not None:
            if isinstance(number, bool) or not isinstance(number, (int, float)) or number < 0:
                raise TypeError(f"{name} must be a number of at least 0, not {number!r}")
            setattr(options, name, number)
    options.sci_mode = sci_mode


class _Format:
    """The format of the elements of one tensor: all have the same width and style."""

    def __init__(self, values: np.ndarray, kind: str) -> None:
        self.kind = kind
        self.whole, self.science, self.width = True, False, 1
        if kind != "f":
            self.width = (
                max([len(str(v)) for v in values.reshape(-1).tolist()], default=1)
                if kind != "b"
                else max((len(str(bool(v))) for v in values.reshape(-1)), default=1)
            )
            return
        finite = values[np.isfinite(values) & (values != 0)]
        if not finite.size:
            return
        size = np.abs(finite)
        low, high = float(size.min()), float(size.max())
        self.whole = bool(np.all(finite == np.ceil(finite)))
        if self.whole:
            self.science = high / low > 1000.0 or high > 1.0e8
        else:
            self.science = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
        if options.sci_mode is not None:
            self.science = options.sci_mode
        self.width = max(len(self(v)) for v in finite)  # zeros, inf and nan do not count

    def __call__(self, value: Any) -> str:
        if self.kind == "b":
            return str(bool(value))
        if self.kind != "f":
            return str(int(value))
        value = float(value)
        if self.science:
            return f"{value:.{options.precision}e}"
        if self.whole:
            return f"{value:.0f}" + ("." if math.isfinite(value) else "")
        return f"{value:.{options.precision}f}"

    def padded(self, value: Any) -> str:
        return self(value).rjust(self.width)


def tensor_text(x: Tensor, contents: str | None = None) -> str:
    """`tensor([1., 2.])`, with the dtype if it is not implied by the numbers.

    contents: text to print instead of the elements.
    """
    array = x._array
    if x.dtype.name == "bfloat16" or x.dtype.name == "float16":
        array = array.astype(np.float32)
    suffix = []
    implied = {"b": "bool", "f": dtypes.get_default_dtype().name, "c": "complex64"}.get(
        array.dtype.kind, "int64"
    )
    if x.dtype.name != implied or x.numel() == 0 and x.dtype.name != "float32":
        suffix.append(f"dtype=torch.{x.dtype.name}")
    if (name := name_of_node(x)) is not None:
        suffix.append(f"grad_fn=<{name}>")
    elif x.requires_grad:
        suffix.append("requires_grad=True")
    if (tangent := tangent_seen(x)) is not None:
        suffix.append(f"tangent={tensor_text(tangent)}")
    if x.numel() == 0:
        body = "[]"
        if x.dim() != 1:
            suffix.insert(0, f"size={x._size if len(x._size) != 1 else tuple(x._size)}")
    else:
        body = array_text(array, x.numel() > options.threshold)
    body = body if contents is None else contents
    return with_facts(f"tensor({body}", suffix)


def tangent_seen(x: Tensor) -> Tensor | None:
    """The tangent of a tensor in the innermost level of forward mode, if there is one."""
    if x._autograd is None or not x._autograd.is_dual(x):
        return None
    from .ops.derivatives.tangents import tangent_of, top_level

    level = top_level((x,))
    return None if level is None else tangent_of(x, level)


def name_of_node(x: Tensor) -> str | None:
    """The name of the operator that computed a tensor; None for a leaf.

    A view that was made without a history, and is written with one, has none: "Invalid".
    """
    try:
        node = x.grad_fn
    except RuntimeError:
        return "Invalid"
    return None if node is None else node.name()


TABLE_ROWS, TABLE_COLUMNS = 20, 12


def tensor_html(x: Tensor) -> str:
    """An HTML table of a tensor's first elements, for notebooks; of more than two dimensions, only
    the first matrix is shown."""
    facts = f"{x.dtype.name}[{', '.join(map(str, x._size))}]"
    head = f"<small>{facts}</small>"
    if x.numel() == 0 or x.is_quantized:
        return f"<div>{head}<pre>{html.escape(repr(x))}</pre></div>"
    array = x._array
    at = (0,) * max(array.ndim - 2, 0)
    table = np.atleast_2d(array[at])
    if at:
        head += f" <small>[{', '.join('0' for _ in at)}]</small>"
    rows = []
    for row in table[:TABLE_ROWS]:
        cells = "".join(f"<td>{html.escape(cell_text(v))}</td>" for v in row[:TABLE_COLUMNS])
        rows.append(f"<tr>{cells}{'<td>…</td>' * (len(row) > TABLE_COLUMNS)}</tr>")
    rows += ["<tr><td>…</td></tr>"] * (len(table) > TABLE_ROWS)
    return f"<div>{head}<table>{''.join(rows)}</table></div>"


def cell_text(value: Any) -> str:
    kind = getattr(value, "dtype", np.dtype(object)).kind
    if kind == "b":
        return str(bool(value))
    if kind in "iu":
        return str(int(value))
    if kind == "c":
        return f"{complex(value):.4g}"
    return f"{float(value):.4g}"


def with_facts(text: str, facts: list[str]) -> str:
    """The text with facts appended, each on a new line if the line would be too long."""
    last = len(text) - text.rfind("\n") + 1
    for fact in facts:
        if last + len(fact) + 2 > options.linewidth:
            text, last = f"{text},\n       {fact}", 7 + len(fact)
        else:
            text, last = f"{text}, {fact}", last + len(fact) + 2
    return text + ")"


def array_text(array: np.ndarray, summarise: bool, indent: int = 7) -> str:
    shown = _edges(array) if summarise else array
    write: Callable[[Any], str]
    if array.dtype.kind == "c":
        real, imag = _Format(shown.real, "f"), _Format(np.abs(shown.imag), "f")

        def complex_text(v: Any) -> str:
            sign = "-" if v.imag < 0 or (v.imag == 0 and math.copysign(1, v.imag) < 0) else "+"
            return f"{real.padded(v.real)}{sign}{imag(abs(v.imag))}j"

        write = complex_text
    else:
        write = _Format(shown, array.dtype.kind).padded
    return _nested(array, write, summarise, indent)


def _edges(array: np.ndarray) -> np.ndarray:
    """Only the elements that a summary shows."""
    for axis, n in enumerate(array.shape):
        if n > 2 * options.edgeitems:
            array = np.concatenate(
                [
                    np.take(array, range(options.edgeitems), axis),
                    np.take(array, range(n - options.edgeitems, n), axis),
                ],
                axis,
            )
    return array


def _nested(array: np.ndarray, write: Callable[[Any], str], summarise: bool, indent: int) -> str:
    if array.ndim == 0:
        return write(array.item() if array.dtype.kind != "c" else complex(array)).strip()
    n = array.shape[0]
    short = summarise and n > 2 * options.edgeitems
    if array.ndim == 1:
        items = [write(v) for v in (array[: options.edgeitems] if short else array)]
        widest = max(map(len, items), default=1)
        if short:
            items += [" ..."] + [write(v) for v in array[n - options.edgeitems :]]
        each = max(1, (options.linewidth - indent) // (widest + 2))
        lines = [", ".join(items[i : i + each]) for i in range(0, len(items), each)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    first, last = (options.edgeitems, n - options.edgeitems) if short else (n, n)
    parts = [_nested(a, write, summarise, indent + 1) for a in array[:first]]
    if short:
        parts += ["..."] + [_nested(a, write, summarise, indent + 1) for a in array[last:]]
    gap = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + gap.join(parts) + "]"


def quantized_text(x: Any) -> str:
    """The text of a quantized tensor: its numbers and its quantization parameters."""
    q = x.quantizer
    how = (
        f"torch.per_tensor_affine, scale={q.scale}, zero_point={q.zero_point}"
        if q.scheme == 0
        else (
            f"torch.per_channel_affine{'_float_qparams' if q.scheme == 4 else ''}, "
            f"scale={tensor_text(q.scales)}, zero_point={tensor_text(q.zero_points)}, "
            f"axis={q.axis}"
        )
    )
    numbers = x.numbers()
    body = array_text(numbers, x.numel() > options.threshold) if numbers.size else "[]"
    return (
        f"tensor({body}, size={tuple(x._size)}, dtype=torch.{x.dtype.name},\n"
        f"       quantization_scheme={how})"
    )
