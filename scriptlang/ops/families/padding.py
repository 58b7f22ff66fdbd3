"""Padding by pairs of (before, after), starting with the last dimension."""

from __future__ import annotations

import math

import numpy as np

from ...tensors import Tensor
from ..shared.elementwise import array_of, check_fits
from ..shared.layout import copied, in_format_of
from ..table import composite, declare, primitive


def constant_pad_nd(self, pad, value=0):
    n = len(self._size)
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) // 2 > n:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of "
            f"the input. Pad length is {len(pad)} while the input has {n} "
            "dimensions."
        )
    size, inside, outside = list(self._size), [slice(None)] * n, [slice(None)] * n
    for i in range(len(pad) // 2):
        d, (before, after) = n - 1 - i, pad[2 * i : 2 * i + 2]
        size[d] = self._size[d] + before + after
        if size[d] < 0:
            raise RuntimeError(
                f"The input size {self._size[d]}, plus negative padding {before} "
                f"and {after} resulted in a negative output size, which is "
                f"invalid. Check dimension {d} of your input."
            )
        if self._size[d] + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
        inside[d] = slice(max(before, 0), size[d] - max(after, 0))
        outside[d] = slice(max(-before, 0), self._size[d] - max(-after, 0))
    if math.prod(size) > 1 << 55:
        raise RuntimeError(f"constant_pad_nd: a result of size {size} is too large")
    if max(pad, default=0) <= 0:  # nothing is added
        return Tensor._wrap(copied(Tensor._wrap(self._array[tuple(outside)])))
    check_fits(value, self.dtype)
    made = np.full(size, array_of(value, self.dtype), self.dtype.numpy)
    made[tuple(inside)] = self._array[tuple(outside)]
    return Tensor._wrap(in_format_of(made, self))


declare(
    "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
    constant_pad_nd,
    "primitive",
)


def edge_pad(mode: str, dims: int):
    """Make the kernel of reflection or replication padding of the last `dims` dimensions."""

    def kernel(self, pad):
        if self.dtype.kind == "b":
            name = "reflection" if mode == "reflect" else "replication"
            raise NotImplementedError(f"\"{name}_pad{dims}d\" not implemented for 'Bool'")
        if len(pad) != 2 * dims:
            raise RuntimeError(f"padding size is expected to be {2 * dims}, but got: {len(pad)}")
        n = len(self._size)
        if n not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Expected {dims + 1}D or {dims + 2}D input with possibly 0 batch "
                f"size, but got: {list(self._size)}"
            )
        array = self._array
        for i in range(dims):
            axis, (before, after) = n - 1 - i, pad[2 * i : 2 * i + 2]
            length = self._size[axis]
            if mode == "reflect" and (before >= length or after >= length):
                raise RuntimeError(
                    "Argument #4: Padding size should be less than the "
                    "corresponding input dimension, but got: padding "
                    f"({before}, {after}) at dimension {axis} of input "
                    f"{list(self._size)}"
                )
            if before + length + after < 1 or max(before, after) >= 1 << 55:
                raise RuntimeError(
                    f"input of {length} elements is too small for the padding "
                    f"({before}, {after}), or the result too large"
                )
            at = np.arange(-before, length + after)
            if mode == "reflect":
                at = np.abs(at)
                at = np.where(at >= length, 2 * (length - 1) - at, at)
            else:
                at = np.clip(at, 0, length - 1)
            array = np.take(array, at, axis=axis)
        return Tensor._wrap(in_format_of(array, self))

    return kernel


REFLECT = {d: edge_pad("reflect", d) for d in (1, 2, 3)}
REPLICATE = {d: edge_pad("edge", d) for d in (1, 2, 3)}
for _d in (1, 2, 3):
    declare(
        f"aten::reflection_pad{_d}d(Tensor self, SymInt[{2 * _d}] padding) -> Tensor",
        REFLECT[_d],
        "primitive",
    )
    declare(
        f"aten::replication_pad{_d}d(Tensor self, SymInt[{2 * _d}] padding) -> Tensor",
        REPLICATE[_d],
        "primitive",
    )


@primitive("aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor")
def pad_circular(self, pad):
    dims = len(pad) // 2
    array, n = self._array, len(self._size)
    if len(pad) % 2 or n - dims not in (1, 2):
        raise RuntimeError(
            "Invalid padding size, expected 1 or 2 non-padded dimensions, got an "
            f"input of {n} dimensions and a padding of {len(pad)} values"
        )
    for i in range(dims):
        axis, (before, after) = n - 1 - i, pad[2 * i : 2 * i + 2]
        length = self._size[axis]
        if before > length or after > length:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        first, kept = max(-before, 0), length + min(before, 0) + min(after, 0)
        if kept < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        places = np.arange(-max(before, 0), kept + max(after, 0)) % max(kept, 1)
        array = np.take(array, first + places, axis=axis)
    return Tensor._wrap(np.array(array, order="C"))  # always a copy


MODES = {"reflect": REFLECT, "replicate": REPLICATE}


@primitive(
    'aten::pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor',
    may_share=True,
)
def pad(self, pad, mode, value):
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * len(self._size):
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input "
            f"dimension but got padding length {len(pad)} and input of dimension "
            f"{len(self._size)}"
        )
    if mode == "constant":
        return constant_pad_nd(self, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode == "circular":
        return pad_circular(self, pad)
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    dims = len(pad) // 2
    if dims not in MODES[mode] or len(self._size) - dims not in (1, 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {len(self._size)}D input tensor."
        )
    return MODES[mode][dims](self, pad)


@composite(
    "aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float "
    'padding_value=0., str padding_side="right") -> Tensor'
)
def pad_sequence(
    sequences: list[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Pad sequences (L, *) and stack them into one tensor, (longest, n, *) or (n, longest, *)."""
    if len(sequences) == 0:
        raise RuntimeError("received an empty list of sequences")
    if padding_side != "left" and padding_side != "right":
        raise RuntimeError(
            "Expected padding_side to be one of left or right, but got {}.".format(padding_side)
        )
    longest = 0
    for s in sequences:
        longest = max(longest, s.size(0))
    rest = list(sequences[0].size()[1:])
    result = sequences[0].new_full([len(sequences), longest] + rest, padding_value)
    for i in range(len(sequences)):
        n = sequences[i].size(0)
        start = 0 if padding_side == "right" else longest - n
        result.select(0, i).narrow(0, start, n).copy_(sequences[i])
    return result if batch_first else result.transpose(0, 1).contiguous()
