"""Fourier transforms, including short-time ones, and window functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...tensors import Tensor, wrap_dim
from ..shared.fresh import check_size
from ..shared.layout import dense_strides, format_of, format_order, laid, order_of, rows
from ..table import declare, describe, primitive
from .create import OPTIONS, chosen

SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
"""Normalization mode -> that of the inverse transform."""


def check_norm(norm: str | None) -> str:
    if norm is None:
        return "backward"
    if norm not in SWAPPED:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return norm


def floating_array(x: Tensor) -> np.ndarray:
    """The array, with integers as the default float.  Raises RuntimeError for half types."""
    if dtypes.is_half(x.dtype):
        raise RuntimeError(f"Unsupported dtype {x.dtype} of a Fourier transform")
    return x._array if x.dtype.kind in "fc" else x._array.astype(dtypes.get_default_dtype().numpy)


def with_points(array: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The array; empty transformed axes get a zero, as numpy does not pad empty axes."""
    if all(array.shape[d] for d in axes):
        return array
    return np.zeros([max(n, int(d in axes)) for d, n in enumerate(array.shape)], array.dtype)


def check_points(n: int) -> None:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")


def one_dimension(name: str):
    """Make the kernel of a transform along one dimension, by numpy's function of that name."""

    def kernel(self, n, dim, norm):
        axis = wrap_dim(dim, len(self._size))
        array = floating_array(self)
        if name in ("rfft", "ihfft") and array.dtype.kind == "c":
            raise RuntimeError(
                f"{name} expects a real input tensor, but got {dtypes.of_numpy(array.dtype)}"
            )
        half = name in ("irfft", "hfft")
        points = n if n is not None else 2 * (array.shape[axis] - 1) if half else array.shape[axis]
        check_points(points)
        array = with_points(array, [axis])
        value = getattr(np.fft, name)(array, n=points, axis=axis, norm=check_norm(norm))
        given = points // 2 + 1 if half else points
        strides = resized_strides(self, [axis], [given], half)
        order = transformed_order(name, strides, value.shape, [axis])
        return Tensor._wrap(laid(in_precision(value, array), order))

    return kernel


def resized_strides(
    x: Tensor, axes: list[int], sizes: list[int], wants_complex: bool
) -> Sequence[int]:
    """The strides of a signal after it is cut, or padded with zeros, to `sizes` along the axes.

    wants_complex: whether real numbers are converted before; integers always are.
    """
    same = x.dtype.kind == "c" or x.dtype.kind == "f" and not wants_complex
    strides = x._stride if same else dense_strides(x._size, order_of(x))
    cut, padded = list(x._size), list(x._size)
    for axis, n in zip(axes, sizes):
        cut[axis], padded[axis] = min(cut[axis], n), n
    if cut == padded:
        return strides
    image = x._as_view(cut, strides, x._offset)
    return dense_strides(padded, format_order(len(padded), format_of(image)))


def transformed_order(
    name: str, strides: Sequence[int], shape: Sequence[int], axes: list[int]
) -> list[int]:
    """The order of a transform's dimensions in memory, from the strides of its input.

    PyTorch puts the transformed axes innermost and sorts the others by their strides; transforms of
    half spectra handle the last axis separately.
    """

    def after(strides, axes) -> list[int]:
        rest = (d for d in range(len(shape)) if d not in axes)
        return [*sorted(rest, key=lambda d: -strides[d]), *axes]

    def by_stride(strides, axes) -> list[int]:
        return sorted(axes, key=lambda d: -strides[d])

    first, last = axes[:-1], axes[-1:]
    if name.startswith("rfft"):
        return after(strides, [*by_stride(strides, first), *last])
    if name.startswith(("irfft", "hfft")):
        if first:
            strides = dense_strides(shape, after(strides, by_stride(strides, first)))
        return after(strides, last)
    if name.startswith("ihfft"):
        order = after(strides, last)
        strides = dense_strides(shape, order)
        return after(strides, by_stride(strides, first)) if first else order
    return after(strides, by_stride(strides, axes))


def in_precision(value: np.ndarray, of: np.ndarray) -> np.ndarray:
    """A transform cast to the precision of the array it was computed from."""
    wide = of.dtype in (np.float64, np.complex128)
    kind = {"c": (np.complex64, np.complex128), "f": (np.float32, np.float64)}[value.dtype.kind]
    return value.astype(kind[wide], copy=False)


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    declare(
        f"aten::fft_{_name}(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
        one_dimension(_name),
        "primitive",
    )


def axes_and_sizes(x: np.ndarray, s, dim, last_doubled=False) -> tuple[list[int], list[int]]:
    """The axes of a transform and the number of points along each."""
    if dim is not None:
        axes = [wrap_dim(d, x.ndim) for d in dim]
        if len(set(axes)) != len(axes):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(axes):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    else:
        axes = list(range(x.ndim)) if s is None else list(range(x.ndim - len(s), x.ndim))
        if s is not None and len(s) > x.ndim:
            raise RuntimeError(
                f"Got shape with {len(s)} values but input tensor only has {x.ndim} dimensions."
            )
    sizes = [x.shape[a] if s is None or s[i] == -1 else s[i] for i, a in enumerate(axes)]
    if last_doubled and axes and (s is None or s[-1] == -1):
        sizes[-1] = 2 * (x.shape[axes[-1]] - 1)
    for n in sizes:
        check_points(n)
    return axes, sizes


def many_dimensions(name: str):
    """Make the kernel of a transform along several dimensions, half spectra along the last."""

    def kernel(self, s, dim, norm):
        array = floating_array(self)
        if name in ("rfftn", "ihfftn") and array.dtype.kind == "c":
            raise RuntimeError(
                f"{name} expects a real-valued input tensor, but got {dtypes.of_numpy(array.dtype)}"
            )
        axes, sizes = axes_and_sizes(array, s, dim, name in ("irfftn", "hfftn"))
        norm = check_norm(norm)
        if not axes:
            if name in ("rfftn", "ihfftn", "irfftn", "hfftn"):
                raise RuntimeError(f"{name} must transform at least one axis")
            return Tensor._wrap(array.astype(np.result_type(array.dtype, np.complex64)))
        array = with_points(array, axes)
        if name in ("hfftn", "ihfftn"):
            function = np.fft.irfftn if name == "hfftn" else np.fft.rfftn
            given = array.conj() if name == "hfftn" else array
            value = function(given, s=sizes, axes=axes, norm=SWAPPED[norm])
            value = value.conj() if name == "ihfftn" else value
        else:
            value = getattr(np.fft, name)(array, s=sizes, axes=axes, norm=norm)
        given = [*sizes[:-1], sizes[-1] // 2 + 1] if name in ("irfftn", "hfftn") else sizes
        strides = resized_strides(self, axes, given, name not in ("rfftn", "ihfftn"))
        order = transformed_order(name, strides, value.shape, axes)
        return Tensor._wrap(laid(in_precision(value, array), order))

    return kernel


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    declare(
        f"aten::fft_{_name}n(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None)"
        " -> Tensor",
        many_dimensions(_name + "n"),
        "primitive",
    )
    declare(
        f"aten::fft_{_name}2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], "
        "str? norm=None) -> Tensor",
        many_dimensions(_name + "n"),
        "primitive",
    )


def shift(inverse: bool):
    def kernel(self, dim):
        n = len(self._size)
        axes = range(n) if dim is None else [wrap_dim(d, n) for d in dim]
        if not n:
            raise RuntimeError("fftshift: the tensor has no dimensions")
        if not axes:
            raise RuntimeError("`shifts` required")
        move = [-(self._size[a] // 2) if inverse else self._size[a] // 2 for a in axes]
        return Tensor._wrap(rows(np.roll(self._array, move, tuple(axes))))

    return kernel


declare("aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", shift(False), "primitive")
declare("aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", shift(True), "primitive")


def frequencies(n: int, d: float, half: bool) -> np.ndarray:
    """The sample frequencies of n points at distance d; n = 0 divides 0 by 0, which gives nan."""
    count = int(n / 2) + 1 if half else n
    if not 0 <= count < 1 << 40:
        raise RuntimeError(f"fftfreq: {count} frequencies")
    k = np.arange(count)
    with np.errstate(all="ignore"):
        return (k if half else np.where(k < (n + 1) // 2, k, k - n)) / np.float64(n * d)


def type_of_frequencies(name: str, code: int | None):
    dtype = chosen(code)
    if dtype.kind not in "fc":
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    return dtype


for _name in ("fftfreq", "rfftfreq"):
    declare(
        f"aten::fft_{_name}(int n, float d=1., *, {OPTIONS}) -> Tensor",
        lambda n, d, dtype, *_, name=_name: Tensor._wrap(
            frequencies(n, d, name[0] == "r").astype(type_of_frequencies(name, dtype).numpy)
        ),
        "primitive",
    )

# short-time transforms


def padded_window(window: Tensor | None, win_length: int, n_fft: int, dtype) -> np.ndarray:
    """The window (ones if it is None), centered in n_fft points."""
    array = np.ones(win_length, dtype) if window is None else window._array
    left = (n_fft - win_length) // 2
    return np.pad(array, (left, n_fft - win_length - left))


def check_window(name, n_fft, hop_length, win_length, window) -> None:
    if not 0 < win_length <= n_fft:
        raise RuntimeError(
            f"{name}: expected 0 < win_length <= n_fft, but got win_length={win_length}"
        )
    if hop_length <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop_length}")
    if window is not None and window._size != (win_length,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length="
            f"{win_length}, but got window with size {list(window._size)}"
        )


PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""PyTorch's names of padding modes -> numpy's."""


def padded_ends(rows: np.ndarray, count: int, pad_mode: str) -> np.ndarray:
    """Pad rows (batch, time) with `count` elements at each end."""
    mode: Any = PAD_MODES.get(pad_mode)
    if mode is None:
        raise RuntimeError(f"stft: unknown pad_mode {pad_mode}")
    if mode == "reflect" and count >= rows.shape[1]:
        raise RuntimeError(
            "Argument #4: Padding size should be less than the corresponding "
            f"input dimension, but got: padding ({count}, {count}) at "
            f"dimension 2 of input {[1, *rows.shape]}"
        )
    return np.pad(rows, ((0, 0), (count, count)), mode=mode)


def stft_center(
    self,
    n_fft,
    hop_length,
    win_length,
    window,
    center,
    pad_mode,
    normalized,
    onesided,
    return_complex,
    align_to_window,
):
    """Spectra of overlapping frames: (batch, frequencies, frames)."""
    if len(self._size) not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {len(self._size)}D")
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    check_window("stft", n_fft, hop_length, win_length, window)
    signal = self._array.astype(np.float32) if dtypes.is_half(self.dtype) else floating_array(self)
    is_complex = signal.dtype.kind == "c" or window is not None and window.dtype.kind == "c"
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, "
            "and will further require that return_complex=True in a future PyTorch "
            "release."
        )
    rows = np.atleast_2d(signal)
    if center:
        rows = padded_ends(rows, n_fft // 2, pad_mode)
    if n_fft <= 0 or n_fft > rows.shape[1]:
        raise RuntimeError(f"stft: expected 0 < n_fft < {rows.shape[1]}, but got n_fft={n_fft}")
    framed = self.dtype if window is None else dtypes.promote(self.dtype, window.dtype)
    if dtypes.is_half(framed):
        raise RuntimeError(
            f"MKL FFT doesn't support tensors of type: {dtypes.DISPLAY[framed.name]}"
        )
    count = 1 + (rows.shape[1] - n_fft) // hop_length
    at = np.arange(count)[:, None] * hop_length + np.arange(n_fft)
    frames = rows[:, at] * padded_window(window, win_length, n_fft, signal.real.dtype)
    half = (not is_complex) if onesided is None else onesided
    if half and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    value = (np.fft.rfft if half else np.fft.fft)(
        frames, axis=-1, norm="ortho" if normalized else "backward"
    )
    value = np.swapaxes(np.ascontiguousarray(in_precision(value, signal)), -1, -2)
    value = value if len(self._size) == 2 else value[0]
    if return_complex or (return_complex is None and is_complex):
        return Tensor._wrap(value)
    return Tensor._wrap(np.stack([value.real, value.imag], -1))


_TAIL = (
    "bool normalized=False, bool? onesided=None, bool? return_complex=None, "
    "bool? align_to_window=None"
)
declare(
    "aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
    f"Tensor? window=None, {_TAIL}) -> Tensor",
    lambda self, n, hop, win, window, *rest: stft_center(
        self, n, hop, win, window, False, "reflect", *rest
    ),
    "primitive",
)
declare(
    "aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
    f'Tensor? window=None, bool center=True, str pad_mode="reflect", {_TAIL}) -> Tensor',
    stft_center,
    "primitive",
)


@primitive(
    "aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
    "Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, "
    "int? length=None, bool return_complex=False) -> Tensor"
)
def istft(
    self,
    n_fft,
    hop_length,
    win_length,
    window,
    center,
    normalized,
    onesided,
    length,
    return_complex,
):
    """The signal with these spectra, by overlap-add, divided by the sum of the squared windows."""
    if self.dtype.kind != "c":
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from "
            "stft with return_complex=True."
        )
    if len(self._size) not in (2, 3):
        raise RuntimeError(
            f"istft: expected a tensor with 2 or 3 dimensions, but got {len(self._size)}"
        )
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    check_window("istft", n_fft, hop_length, win_length, window)
    spectra = self._array if len(self._size) == 3 else self._array[None]
    half = n_fft != spectra.shape[1] if onesided is None else onesided
    if spectra.shape[1] != (n_fft // 2 + 1 if half else n_fft):
        raise RuntimeError(
            "istft: expected the frequency dimension (3rd to the last) of the "
            f"input tensor to match {'n_fft / 2 + 1' if half else 'n_fft'} when "
            f"onesided={half}, but got {spectra.shape[1]}"
        )
    norm = "ortho" if normalized else "backward"
    frames = np.swapaxes(spectra, 1, 2)
    if return_complex:
        frames = np.fft.ifft(frames, n_fft, axis=-1, norm=norm)
    else:
        frames = np.fft.irfft(frames[..., : n_fft // 2 + 1], n_fft, axis=-1, norm=norm)
    shape = padded_window(window, win_length, n_fft, frames.real.dtype)
    count = frames.shape[1]
    total = n_fft + hop_length * (count - 1)
    signal, weight = np.zeros((len(frames), total), frames.dtype), np.zeros(total, shape.dtype)
    for i in range(count):
        part = slice(i * hop_length, i * hop_length + n_fft)
        signal[:, part] += frames[:, i] * shape
        weight[part] += shape * shape
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    kept = weight[start : min(end, total)]
    if kept.size == 0 or np.abs(kept).min() < 1e-11:
        raise RuntimeError("istft(...) window overlap add min: 1")
    signal = signal[:, start:end] / weight[start:end]
    if length is not None and signal.shape[1] < length:
        signal = np.pad(signal, ((0, 0), (0, length - signal.shape[1])))
    signal = in_precision(signal, self._array)
    return Tensor._wrap(np.ascontiguousarray(signal if len(self._size) == 3 else signal[0]))


# windows


def cosines(*weights: float):
    """Make the window w0 - w1 cos(2 pi t) + w2 cos(4 pi t)."""
    return lambda t, _: sum(
        (-1) ** k * w * np.cos(2 * np.pi * k * t) for k, w in enumerate(weights)
    )


def kaiser(beta: float):
    def shape(t, kept):  # in float32, beta and the divided values may be infinite
        angle = kept(beta) * np.sqrt(np.maximum(1 - (2 * t - 1) ** 2, 0))
        return np.i0(angle).astype(kept) / np.i0(np.float64(kept(beta))).astype(kept)

    return shape


def window(shape, length: int, periodic: bool, dtype: int | None) -> Tensor:
    """A window from shape(times in [0, 1], type to compute in).

    A periodic window is the first `length` points of a window with one more.
    """
    target: DType = chosen(dtype)
    if target.kind != "f":
        raise RuntimeError(f"window functions expect floating point dtypes, got: {target}")
    if length < 0:
        raise RuntimeError(
            f"window functions require a non-negative window_length, got window_length={length}"
        )
    check_size([length])
    if length == 1:
        return Tensor._wrap(np.ones(1, target.numpy))
    points = np.arange(length) / max(length if periodic else length - 1, 1)
    kept = np.float64 if target.itemsize == 8 else np.float32
    with np.errstate(all="ignore"):
        return Tensor._wrap(shape(points, kept).astype(target.numpy))


def declare_window(name: str, extra: str, shape_of, *, defaults: tuple = ()) -> None:
    """Declare one overload of a window; `extra` are the arguments after window_length."""
    count = extra.count(",")
    dot = {
        "": "",
        ", bool periodic": ".periodic",
        ", bool periodic, float beta": ".beta",
        ", bool periodic, float alpha": ".periodic_alpha",
        ", bool periodic, float alpha, float beta": ".periodic_alpha_beta",
    }[extra]

    def kernel(length, *args):
        given, options = args[:count], args[count:]
        periodic = given[0] if given else True
        parameters = given[1:] + defaults[len(given[1:]) :]
        return window(shape_of(*parameters), length, periodic, options[0])

    declare(
        f"aten::{name}_window{dot}(int window_length{extra}, *, {OPTIONS}) -> Tensor",
        kernel,
        "primitive",
    )


for _extra in ("", ", bool periodic"):
    declare_window("hann", _extra, lambda: cosines(0.5, 0.5))
    declare_window("blackman", _extra, lambda: cosines(0.42, 0.5, 0.08))
    declare_window("bartlett", _extra, lambda: lambda t, _: 1 - np.abs(2 * t - 1))
for _extra in (
    "",
    ", bool periodic",
    ", bool periodic, float alpha",
    ", bool periodic, float alpha, float beta",
):
    declare_window("hamming", _extra, cosines, defaults=(0.54, 0.46))
for _extra in ("", ", bool periodic", ", bool periodic, float beta"):
    declare_window("kaiser", _extra, kaiser, defaults=(12.0,))


describe(
    """fft_fft fft_fft2 fft_fftn fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn
         fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn""",
    out="converts",
)
describe(
    """fft_fft fft_fft2 fft_fftn fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn
         fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2
         fft_rfftn""",
    out_memory="free",
)
describe("fft_fftshift fft_ifftshift", shape="like_first")
