"""PyTorch's CPU generator: the 32-bit Mersenne twister, and the conversion of its words to numbers.

Both engines draw from one stream, as eager code and programs do in PyTorch: the engine that drew
last has the current state, and the other one copies it before it draws.
"""

from __future__ import annotations

import math
import os
import struct
from typing import Any

from ... import dtypes
from ...dtypes import DType
from ...lazy_numpy import np
from ...objects import CPU, Device
from ...tensors import Tensor, as_tensor, from_numpy

DEFAULT_SEED = 67280421310721

WORDS = 624
STATE = struct.Struct(f"<QiiQ{WORDS}Q3di4xf?3x")
"""PyTorch's state: the seed, how many words are left before new ones are made, whether it is
seeded, the index of the next word, all words; then the cached half of a pair of normal numbers."""


class Generator:
    """A Mersenne twister.

    spare: the second value of a pair of normal numbers, kept for the next call.
    """

    __slots__ = ("first_seed", "spare", "twister")

    def __init__(self, seed: int = DEFAULT_SEED):
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> Generator:
        """Restart from a seed; return the generator."""
        self.first_seed = seed & (2**64 - 1)
        self.twister: Any = None
        self.spare: float | None = None
        return self

    def initial_seed(self) -> int:
        """The seed that the current stream started from."""
        return self.first_seed

    @property
    def device(self) -> Device:
        return CPU

    def get_state(self) -> Tensor:
        """The state in PyTorch's format (5056 bytes), which torch.set_rng_state accepts."""
        _, bits, spare = self.snapshot()
        words, position = bits["state"]["key"], bits["state"]["pos"]
        at, left = (0, 1) if position == WORDS else (position, WORDS - position + 1)
        packed = STATE.pack(
            self.first_seed,
            left,
            1,
            at,
            *words.tolist(),
            0.0,
            spare or 0.0,
            0.0,
            spare is not None,
            0.0,
            False,
        )
        return from_numpy(np.frombuffer(packed, np.uint8).copy())

    def set_state(self, new_state: Any) -> Generator:
        """Restore a state from `get_state`, of this generator or PyTorch's.

        Raises TypeError for anything but a tensor of bytes, RuntimeError for an invalid state.
        """
        given = as_tensor(new_state)
        if given is None or given.dtype is not dtypes.uint8:
            raise TypeError("a state is a tensor of bytes (uint8), as get_rng_state gives it")
        packed = given._array.tobytes()
        if len(packed) != STATE.size:
            raise RuntimeError(f"a state has {STATE.size} bytes, not {len(packed)}")
        seed, left, is_seeded, at, *words = STATE.unpack(packed)
        *words, _, spare, _, has_spare, _, _ = words
        if (
            is_seeded != 1
            or not 0 < left <= WORDS
            or left > 1
            and at != WORDS - left + 1
            or max(words) > 0xFFFFFFFF
        ):
            raise RuntimeError("these bytes are no state of PyTorch's generator")
        position = WORDS if left == 1 else at
        self.restore(
            (
                seed,
                {
                    "bit_generator": "MT19937",
                    "state": {"key": np.array(words, np.uint32), "pos": position},
                },
                spare if has_spare else None,
            )
        )
        return self

    def snapshot(self) -> tuple:
        """The current state, for `restore`."""
        return self.first_seed, self.bits.state, self.spare

    def restore(self, snapshot: tuple) -> None:
        """Restore a state that `snapshot` returned."""
        self.first_seed, self.bits.state, self.spare = snapshot

    @property
    def bits(self) -> Any:
        """numpy's bit generator; `numpy.random` is imported when a number is first drawn."""
        if self.twister is None:
            self.twister = np.random.RandomState(self.first_seed & 0xFFFFFFFF)._bit_generator
        return self.twister

    def seed(self) -> int:
        """Take a seed from the operating system; return it."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little") >> 11)
        return self.first_seed

    def words(self, n: int) -> np.ndarray:
        """n words of 32 bits."""
        return np.asarray(self.bits.random_raw(n), np.uint64)

    def double_words(self, n: int) -> np.ndarray:
        """n words of 64 bits; of two 32-bit draws, the first is the high half."""
        pairs = self.words(2 * n).reshape(n, 2)
        return (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]

    def uniform(self, n: int) -> np.ndarray:
        """n float64 numbers in [0, 1), with 53 random bits."""
        return (self.double_words(n) & np.uint64(2**53 - 1)).astype(np.float64) * 2.0**-53

    def uniform_single(self, n: int) -> np.ndarray:
        """n float32 numbers in [0, 1), with 24 random bits."""
        return (self.words(n) & np.uint64(2**24 - 1)).astype(np.float32) * np.float32(2**-24)

    def uniform_of(self, n: int, dtype: DType) -> np.ndarray:
        """n uniform numbers in [0, 1), drawn as PyTorch draws them for the dtype."""
        return self.uniform(n) if dtype is dtypes.float64 else self.uniform_single(n)

    def below(self, n: int, size: int) -> np.ndarray:
        """n integers in [0, size)."""
        words = self.double_words(n) if size >= 2**28 else self.words(n)
        return (words if size >= 2**64 else words % np.uint64(size)).astype(np.int64)

    def normal(self, n: int, dtype: DType) -> np.ndarray:
        """n normal numbers: in blocks of 16 if n is at least 16, else in pairs in float64."""
        return self.normal_blocks(n, dtype) if n >= 16 else self.normal_pairs(n)

    def normal_blocks(self, n: int, dtype: DType) -> np.ndarray:
        """n normal numbers by the Box-Muller transform of each eight numbers with the next eight.

        If n is not a multiple of 16, the last 16 numbers are drawn anew.
        """
        full = n - n % 16
        values = self.uniform_of(n if dtype.itemsize > 2 else full, dtype)
        transform = _transform_single if dtype is dtypes.float32 else _transform
        result = np.resize(transform(values[:full]), n)
        if n % 16:
            result[-16:] = transform(self.uniform_of(16, dtype))
        return result

    def normal_pairs(self, n: int) -> np.ndarray:
        """n normal numbers, drawn in pairs, as PyTorch does for fewer than 16."""
        result = []
        while len(result) < n:
            if self.spare is not None:
                result.append(self.spare)
                self.spare = None
                continue
            u, v = self.uniform(2)
            radius = math.sqrt(-2 * math.log1p(-v))
            result.append(radius * math.cos(2 * math.pi * u))
            self.spare = radius * math.sin(2 * math.pi * u)
        return np.array(result)


def _transform(u: np.ndarray) -> np.ndarray:
    pairs = u.reshape(-1, 2, 8)
    radius = np.sqrt(-2 * np.log(1 - pairs[:, 0]))
    angle = u.dtype.type(2 * math.pi) * pairs[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1).astype(u.dtype)


def _transform_single(u: np.ndarray) -> np.ndarray:
    """`_transform` with the rounding of PyTorch's vectorized code."""
    from . import vector_math

    pairs = u.reshape(-1, 2, 8)
    radius = np.sqrt(np.float32(-2) * vector_math.log(1 - pairs[:, 0]))
    sin, cos = vector_math.sin_cos(np.float32(2 * math.pi) * pairs[:, 1])
    return np.stack([radius * cos, radius * sin], 1).reshape(-1)


def fused(x: np.ndarray, scale: np.floating, shift: np.floating) -> np.ndarray:
    """x * scale + shift, rounded once, as in PyTorch's vectorized code."""
    if x.dtype != np.float64:
        return (x * np.float64(scale) + np.float64(shift)).astype(x.dtype)
    if not np.isfinite(shift) or not np.isfinite(scale):
        return x * scale + shift
    product = x * scale  # its rounding error comes from Dekker's product, the sum's from Knuth's
    (a, b), (c, d) = _halves(x), _halves(scale)
    error = ((a * c - product) + a * d + b * c) + b * d
    total = product + shift
    back = total - product
    return total + ((product - (total - back)) + (shift - back) + error)


def _halves(x):
    """Split a float64 into a sum of two with half of its digits each."""
    high = x * 134217729.0
    high = high - (high - x)
    return high, x - high


class DefaultGenerator(Generator):
    """The default generator of the process, whose stream the native engine shares.

    native: the extension module once it is loaded.  is_ahead: whether numbers were drawn here since
    the native engine last got the state.
    """

    __slots__ = ("is_ahead", "native")

    def __init__(self):
        self.native: Any = None
        super().__init__()
        self.is_ahead = False  # the native engine starts from the same seed

    def manual_seed(self, seed: int) -> Generator:
        if self.native:
            self.native.generator_state()  # which is obsolete, and told by this
        self.is_ahead = True
        return super().manual_seed(seed)

    def words(self, n: int) -> np.ndarray:
        self.take_over()
        self.is_ahead = True
        return super().words(n)

    def normal_pairs(self, n: int) -> np.ndarray:
        self.take_over()
        self.is_ahead = True
        return super().normal_pairs(n)

    def take_over(self) -> None:
        """Copy the native engine's state if it drew numbers since it last got this one."""
        state = self.native and self.native.generator_state()
        if state:
            seed, key, position, self.spare = state
            self.first_seed = seed
            self.bits.state = {
                "bit_generator": "MT19937",
                "state": {"key": np.frombuffer(key, np.uint32), "pos": position},
            }

    def hand_over(self) -> None:
        """Pass the state to the native engine if numbers were drawn here."""
        if self.is_ahead:
            self.is_ahead = False
            if self.twister is None:  # nothing was drawn since it was seeded
                self.native.seed_generator(self.first_seed)
                return
            state = self.twister.state["state"]
            self.native.set_generator_state(
                self.first_seed, state["key"].tobytes(), state["pos"], self.spare
            )

    def snapshot(self) -> tuple:
        """The current state, for `restore`."""
        self.take_over()
        return self.first_seed, self.bits.state, self.spare

    def restore(self, snapshot: tuple) -> None:
        self.take_over()
        self.first_seed, self.bits.state, self.spare = snapshot
        self.is_ahead = True


default_generator = DefaultGenerator()


def manual_seed(seed: int) -> Generator:
    """Seed the default generator; return it."""
    return default_generator.manual_seed(seed)


def of(generator: Generator | None) -> Generator:
    return default_generator if generator is None else generator
