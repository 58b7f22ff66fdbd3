"""Batches of sequences of different lengths: padded, or packed step by step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, List, NamedTuple, Optional, Tuple, Union

from ... import jit
from ...ops.calling import functions as torch
from ...tensors import Tensor, as_tensor


class PackedSequence_(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Optional[Tensor]
    unsorted_indices: Optional[Tensor]


class PackedSequence(PackedSequence_):
    """A packed batch of sequences: the values of all sequences, step by step.

    data: the values. batch_sizes: how many sequences have each step. sorted_indices: the order by
    length, and unsorted_indices its inverse; None if the batch was sorted. The functions here
    create it.
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Any = None,
        sorted_indices: Any = None,
        unsorted_indices: Any = None,
    ) -> Any:
        if batch_sizes is None:
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same sequences, with data converted like in `Tensor.to`."""
        return PackedSequence(self.data.to(*args, **kwargs), *self[1:])

    def double(self) -> PackedSequence:
        return self.to(torch.double)

    def float(self) -> PackedSequence:
        return self.to(torch.float)

    def half(self) -> PackedSequence:
        return self.to(torch.half)

    def cpu(self) -> PackedSequence:
        return self

    @property
    def is_cuda(self) -> bool:
        return False


def invert_permutation(permutation: Optional[Tensor]) -> Optional[Tensor]:
    """The inverse of a permutation; None for None."""
    if permutation is None:
        return None
    places = torch.empty_like(permutation)
    places.scatter_(0, permutation, torch.arange(0, permutation.numel()))
    return places


def pack_padded_sequence(
    input: Tensor, lengths: Tensor, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences (T, B, *), or (B, T, *) with batch_first.

    lengths: a tensor or list with the lengths.
    enforce_sorted: raise RuntimeError unless the lengths decrease.
    """
    if not jit.is_scripting():
        given: Any = lengths
        taken: Any = torch.tensor(given) if isinstance(given, (list, tuple)) else as_tensor(given)
        lengths = taken
    lengths = lengths.to(dtype=torch.int64)
    order: Optional[Tensor] = None
    if not enforce_sorted:
        lengths, places = torch.sort(lengths, descending=True)
        input = input.index_select(0 if batch_first else 1, places)
        order = places
    data, batch_sizes = torch._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, order, invert_permutation(order))


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: Optional[int] = None,
) -> Tuple[Tensor, Tensor]:
    """Return (padded sequences, their lengths). total_length: the padded length, if given."""
    steps = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, "
                f"but got total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    padded, lengths = torch._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, steps
    )
    back = sequence.unsorted_indices
    if back is not None:
        return padded.index_select(0 if batch_first else 1, back), lengths[back]
    return padded, lengths


def pad_sequence(
    sequences: Union[Tensor, List[Tensor]],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Pad sequences (L, *) to the longest: (T, B, *), or (B, T, *) with batch_first."""
    if not jit.is_scripting():
        if not isinstance(sequences, Iterable):
            raise RuntimeError(
                "pad_sequence: Expected iterable for input sequences, but got arg "
                f"of type: {type(sequences)}"
            )
        sequences = list(sequences)
    if isinstance(sequences, Tensor):
        parts = sequences.unbind(0)
    else:
        parts = sequences
    return torch.pad_sequence(parts, batch_first, padding_value, padding_side)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> List[Tensor]:
    """The list of sequences (L, *) without their padding."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    result: List[Tensor] = []
    for i in range(padded_sequences.size(0)):
        result.append(padded_sequences[i, : int(lengths[i])])
    return result


def pack_sequence(sequences: List[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences (L, *)."""
    lengths = torch.tensor([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> List[Tensor]:
    """The list of sequences that were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
