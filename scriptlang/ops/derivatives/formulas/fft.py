"""Derivatives of Fourier transforms, and transforms composed of simpler ones."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def swapped(norm: str | None) -> str:
    """The norm of the adjoint transform, which has the scale factor that the transform lacks."""
    if norm is None or norm == "backward":
        return "forward"
    return "backward" if norm == "forward" else "ortho"


def resized(grad: Tensor, size: list[int], dim: int) -> Tensor:
    """Undo the cutting or padding of a dimension before a transform: pad with zeros, or cut."""
    missing = size[dim] - grad.size(dim)
    if missing <= 0:
        return grad.narrow(dim, 0, size[dim])
    at = dim + grad.dim() if dim < 0 else dim
    pads = [0 for _ in range(2 * (grad.dim() - at))]
    pads[-1] = missing
    return torch.constant_pad_nd(grad, pads)


def resized_all(grad: Tensor, size: list[int]) -> Tensor:
    for d in range(len(size)):
        grad = resized(grad, size, d)
    return grad


def dims_of(size: list[int], s: list[int] | None, dim: list[int] | None) -> list[int]:
    """The dimensions of a multidimensional transform."""
    if dim is not None:
        return dim
    number = len(size) if s is None else len(s)
    return list(range(len(size) - number, len(size)))


def doubled(half: Tensor, n: int, dim: int) -> Tensor:
    """Double the elements that stand for two: all but the first and the middle of a spectrum."""
    middle = (n - 1) // 2
    if middle == 0:
        return half
    shape = [1 for _ in range(half.dim())]
    shape[dim] = half.size(dim)
    place = torch.arange(half.size(dim)).reshape(shape)
    return half * torch.where((place > 0) & (place <= middle), 2.0, 1.0).to(
        dtype=torch.real(half).dtype
    )


def last(s: list[int] | None) -> int | None:
    if s is None:
        return None
    return None if s[-1] == -1 else s[-1]


def rest(s: list[int] | None) -> list[int] | None:
    return None if s is None else s[:-1]


def rfftn(x: Tensor, s: list[int] | None, dim: list[int], norm: str | None) -> Tensor:
    half = torch.fft_rfft(x, last(s), dim[-1], norm)
    return half if len(dim) < 2 else torch.fft_fftn(half, rest(s), dim[:-1], norm)


def irfftn(x: Tensor, s: list[int] | None, dim: list[int], norm: str | None) -> Tensor:
    if len(dim) > 1:
        x = torch.fft_ifftn(x, rest(s), dim[:-1], norm)
    return torch.fft_irfft(x, last(s), dim[-1], norm)


def hfftn(x: Tensor, s: list[int] | None, dim: list[int], norm: str | None) -> Tensor:
    if len(dim) > 1:
        x = torch.fft_fftn(x, rest(s), dim[:-1], norm)
    return torch.fft_hfft(x, last(s), dim[-1], norm)


def ihfftn(x: Tensor, s: list[int] | None, dim: list[int], norm: str | None) -> Tensor:
    half = torch.fft_ihfft(x, last(s), dim[-1], norm)
    return half if len(dim) < 2 else torch.fft_ifftn(half, rest(s), dim[:-1], norm)


def whole_window(window: Tensor | None, win_length: int | None, n_fft: int, like: Tensor) -> Tensor:
    """The window, padded to the length of a frame and centered in it."""
    width = n_fft if win_length is None else win_length
    real = torch.real(like).dtype if like.is_complex() else like.dtype
    values = torch.ones([width], dtype=real) if window is None else window
    left = (n_fft - width) // 2
    return torch.constant_pad_nd(values, [left, n_fft - width - left])


def spectra(
    x: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    center: bool,
    pad_mode: str,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
) -> Tensor:
    """stft: transforms of overlapping frames; frequencies come before frames in the result."""
    hop = n_fft // 4 if hop_length is None else hop_length
    rows = x.unsqueeze(0) if x.dim() == 1 else x
    if center:
        half = n_fft // 2
        rows = torch.pad(rows.unsqueeze(1), [half, half], pad_mode).squeeze(1)
    frames = rows.unfold(-1, n_fft, hop) * whole_window(window, win_length, n_fft, x)
    whole = frames.is_complex()
    if return_complex is None and not whole:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further "
            "require that return_complex=True in a future PyTorch release."
        )
    one = not whole if onesided is None else onesided
    norm = "ortho" if normalized else "backward"
    made = torch.fft_rfft(frames, None, -1, norm) if one else torch.fft_fft(frames, None, -1, norm)
    made = made.transpose(1, 2)
    if x.dim() == 1:
        made = made.squeeze(0)
    as_complex = whole if return_complex is None else return_complex
    return made if as_complex else torch.view_as_real(made)


def signal_of(
    x: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    center: bool,
    normalized: bool,
    onesided: bool | None,
    length: int | None,
    return_complex: bool,
) -> Tensor:
    """istft: overlapping frames are added, and divided by the sum of the squared windows."""
    hop = n_fft // 4 if hop_length is None else hop_length
    if not x.is_complex():
        x = torch.view_as_complex(x.contiguous())
    rows = x.unsqueeze(0) if x.dim() == 2 else x
    one = rows.size(1) != n_fft if onesided is None else onesided
    norm = "ortho" if normalized else "backward"
    spectrum = rows.transpose(1, 2)
    if return_complex:
        frames = torch.fft_ifft(spectrum, None, -1, norm)
    else:
        if not one:
            spectrum = spectrum.narrow(-1, 0, n_fft // 2 + 1)
        frames = torch.fft_irfft(spectrum, n_fft, -1, norm)
    shape = whole_window(window, win_length, n_fft, frames)
    frames = frames * shape
    number = frames.size(1)
    total = n_fft + hop * (number - 1)
    index = torch.arange(total).unfold(0, n_fft, hop).reshape([-1])
    flat = frames.reshape([frames.size(0), number * n_fft])
    made = torch.zeros([flat.size(0), total], dtype=flat.dtype).index_add(1, index, flat)
    squares = (shape * shape).unsqueeze(0).expand([number, n_fft]).reshape([-1])
    weight = torch.zeros([total], dtype=squares.dtype).index_add(0, index, squares)
    start = n_fft // 2 if center else 0
    end = total - n_fft // 2 if center else total
    if length is not None:
        end = start + length
    stop = min(end, total)
    torch._assert_async(
        (weight.narrow(0, start, stop - start).abs() > 1e-11).all(),
        "istft(...) window overlap add min: 1",
    )
    made = made.narrow(1, start, stop - start) / weight.narrow(0, start, stop - start)
    if end > total:
        made = torch.constant_pad_nd(made, [0, end - total])
    return made.squeeze(0) if x.dim() == 2 else made
