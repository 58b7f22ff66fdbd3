"""Fourier transforms, short-time ones with their inverse, and windows."""

from __future__ import annotations

import numpy as np
import pytest

import scriptlang
from scriptlang.ops.calling import functions as F
from scriptlang.tensors import from_numpy
from tests.ops import test_fused
from tests.ops.harness import Arrays, TorchDtype, both_tests, call

A = Arrays("fft")


def samples():
    real, double = A.normal(4, 6), A.normal(3, 5, dtype="float64")
    wave = (A.normal(4, 6) + 1j * A.normal(4, 6)).astype(np.complex64)
    for x in (real, double, wave, A.integers(0, 9, 4, 5)):
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
            for norm in (None, "ortho", "forward", "odd"):
                yield call(f"fft_{name}", x, None, -1, norm)
            yield call(f"fft_{name}", x, 8, 0)
            yield call(f"fft_{name}", x, 3, 1)
            yield call(f"fft_{name}", x, 0)
            yield call(f"fft_{name}n", x)
            yield call(f"fft_{name}n", x, [4, 4], [0, 1], "ortho")
            yield call(f"fft_{name}2", x)
        yield call("fft_fftshift", x)
        yield call("fft_ifftshift", x, [1])
    yield call("fft_fft", A.normal(4).astype(np.float16))
    yield call("fft_fftfreq", 5, 0.5)
    yield call("fft_rfftfreq", 6)
    signal, window = A.normal(2, 50), A.uniform(8)
    for normalized in (False, True):
        yield call("stft", signal, 8, 4, 8, window, normalized, None, True)
        yield call("stft", signal, 10, 3, 8, window, normalized, True, False)
    yield call("stft", signal, 8, 4, 8, window, True, "reflect", False, None, True)
    yield call("stft", signal[0], 8, 4, 8, None, True, "constant", False, False, True)
    yield call("stft", signal, 8, 4, 9, window, False, None, True)
    yield call("stft", signal, 8, 4, 8, window, False)
    spectra = np.fft.rfft(A.normal(2, 9, 8)).astype(np.complex64).swapaxes(1, 2).copy()
    yield call("istft", spectra, 8, 4, 8, window + 1)
    yield call("istft", spectra, 8, 4, 8, window + 1, True, True, None, 30)
    yield call("istft", spectra, 8, 4, 8, window + 1, False)
    yield call("istft", spectra, 8, 9)
    for n in (0, 1, 2, 5, -1):
        for name in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
            yield call(f"{name}_window", n)
            yield call(f"{name}_window", n, False, dtype=TorchDtype(7))
    yield call("hamming_window", 6, True, 0.6, 0.3)
    yield call("kaiser_window", 6, True, 3.0)
    yield call("hann_window", 6, dtype=TorchDtype(4))


def signals_again():
    """istft of all frequencies, of those that are missing, and with a length."""
    for x in (A.complex(10, 6), A.complex(2, 10, 6)):
        for return_complex in (False, True):
            yield call(
                "istft",
                x,
                10,
                onesided=False,
                center=True,
                tolerance=1e-4,
                return_complex=return_complex,
            )
    yield call("istft", A.complex(6, 4), 10, tolerance=1e-4)
    yield call("istft", A.complex(10, 2), 10, length=40, tolerance=1e-4)


def short_types():
    """stft of half types, which only a window of another type allows."""
    x, window = A.normal(2, 50), A.uniform(8)
    for dtype in (np.float16, np.float32):
        for w in (None, window.astype(np.float16), window):
            if dtype is np.float16 or w is not None and w.dtype == np.float16:
                yield call("stft", x.astype(dtype), 8, 4, 8, w, return_complex=True, tolerance=1e-4)


SAMPLES = [*samples(), *signals_again(), *short_types()]
test_recorded, test_pytorch = both_tests("fft", SAMPLES)


def test_the_inverse_of_a_short_time_transform_gives_the_signal_back():
    x = A.normal(2, 64)
    window = F.hann_window(16)
    spectra = F.stft(from_numpy(x), 16, 4, 16, window, center=True, return_complex=True)
    y = F.istft(spectra, 16, 4, 16, window, length=64)
    np.testing.assert_allclose(y.numpy(), x, atol=1e-5)


COMPLEX = {"float32": "complex64", "float64": "complex128"}
LENGTHS = (
    1,
    2,
    3,
    4,
    5,
    7,
    9,
    12,
    16,
    30,
    31,
    37,
    60,
    64,
    74,
    100,
    256,
    257,
    400,
    1000,
    1024,
    2310,
    4099,
    8192,
)


@pytest.mark.skipif("native" not in test_fused.ENGINES, reason="needs the native engine")
@pytest.mark.parametrize("lines", [1, 3, 7, 8, 17, 40])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lines_of_every_kind_of_length(lines, dtype):
    """Products of small primes, primes, powers of 2; alone, and as many as fill vectors or not."""
    random = np.random.default_rng(lines)
    tolerance = {"float32": 3e-6, "float64": 1e-13}[dtype]

    def agree(name: str, x, n: int, dim: int, wanted) -> None:
        given = scriptlang.from_numpy(np.ascontiguousarray(x))
        for scale, norm in ((1, None), (n**0.5, "ortho")):
            got = test_fused.call("native", f"aten::{name}", given, n, dim, norm).numpy()
            if norm:
                got = got * scale if name in ("fft_fft", "fft_rfft", "fft_hfft") else got / scale
            error = np.abs(got - wanted).max() / max(np.abs(wanted).max(), 1e-30)
            assert error < tolerance, (name, n, dim, norm)

    for n in LENGTHS:
        x = random.standard_normal((lines, n)).astype(dtype)
        z = x.astype(COMPLEX[dtype])
        z.imag = random.standard_normal((lines, n))
        short = z[:, : n // 2 + 1]
        for dim in (1, 0):

            def turned(a):
                return a if dim else a.T

            agree("fft_fft", turned(z), n, dim, turned(np.fft.fft(z)))
            agree("fft_ifft", turned(z), n, dim, turned(np.fft.ifft(z)))
            agree("fft_rfft", turned(x), n, dim, turned(np.fft.rfft(x)))
            agree("fft_ihfft", turned(x), n, dim, turned(np.fft.ihfft(x)))
            agree("fft_irfft", turned(short), n, dim, turned(np.fft.irfft(short, n)))
            agree("fft_hfft", turned(short), n, dim, turned(np.fft.hfft(short, n)))
