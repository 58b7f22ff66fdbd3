"""Table look-ups: embedding, embedding_bag, one_hot."""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ...tensors import Tensor
from ..shared.elementwise import DISPLAY, check_kind
from ..shared.layout import rows
from ..table import declare, find, primitive


@primitive(
    "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, "
    "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor"
)
def embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse):
    if len(weight._size) != 2:
        raise RuntimeError("'weight' must be 2-D")
    check_indices("embedding", 1, indices.dtype)
    at = indices._array
    if at.size and (at.min() < 0 or at.max() >= weight._size[0]):
        raise IndexError("index out of range in self")
    return Tensor._wrap(weight._array[at])


LEGACY = frozenset({"uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"})
"""Element types that PyTorch's messages name as `torch.FloatTensor`."""


def check_indices(operator: str, position: int, dtype: dtypes.DType) -> None:
    """Raise RuntimeError if indices of this type cannot be looked up."""
    if dtype in (dtypes.int64, dtypes.int32):
        return
    name = DISPLAY[dtype.name]
    shown = f"torch.{name}Tensor" if dtype.name in LEGACY else f"CPU{name}Type"
    raise RuntimeError(
        f"Expected tensor for argument #{position} 'indices' to have one of the following scalar "
        f"types: Long, Int; but got {shown} instead (while checking arguments for {operator})"
    )


def with_common_type(indices: Tensor, offsets: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The indices and offsets of bags, converted to the type that both promote to."""
    if indices.dim() != 1 or offsets.dim() != 1:
        raise RuntimeError("embedding_bag: input and offsets have to be 1D Tensors")
    common = dtypes.promote(indices.dtype, offsets.dtype)
    check_indices("embedding_bag", 1, common)
    at, starts = (x._array.astype(common.numpy, copy=False) for x in (indices, offsets))
    return at, starts


def embedding_bag(
    weight,
    indices,
    offsets,
    scale_grad_by_freq=False,
    mode=0,
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    at, starts = with_common_type(indices, offsets)
    check_kind("embedding_bag", weight.dtype, "f")
    if mode not in (0, 1, 2):
        raise RuntimeError(f"embedding_bag: unknown mode {mode}")
    if at.size and (at.min() < 0 or at.max() >= weight._size[0]):
        raise RuntimeError("embedding_bag: Expected idx >= 0 && idx < num_embeddings")
    if len(starts) and (starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] > at.size):
        raise RuntimeError(
            "embedding_bag: offsets have to be increasing, start at 0 and not pass "
            f"the length of the input, {at.size}"
        )
    if per_sample_weights is not None and mode != 0:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    bags = len(starts) - (1 if include_last_offset else 0)
    ends = np.append(starts[1:], at.size) if not include_last_offset else starts[1:]
    rows = weight._array[at].astype(dtypes.working_type(weight.dtype))
    if per_sample_weights is not None:
        rows = rows * per_sample_weights._array[:, None].astype(rows.dtype)
    made = np.zeros((bags, weight._size[1]), rows.dtype)
    sizes = np.zeros(bags, at.dtype)
    bag_of = np.full(at.size, bags - 1, at.dtype)  # after the last offset
    top = np.zeros((bags, weight._size[1]), at.dtype) if mode == 2 else sizes
    for b in range(bags):
        chosen = np.arange(starts[b], ends[b])
        bag_of[starts[b] : ends[b]] = b
        if padding_idx is not None:
            chosen = chosen[at[chosen] != padding_idx % weight._size[0]]
        sizes[b] = len(chosen) if mode else 0  # PyTorch only counts for means and maxima
        if not len(chosen):
            continue
        part = rows[chosen]
        made[b] = part.sum(0) if mode == 0 else part.mean(0) if mode == 1 else part.max(0)
        if mode == 2:
            top[b] = at[chosen][part.argmax(0)]
    if (
        mode == 0
        and padding_idx is None
        and weight._stride[1] == 1
        and weight.dtype is not dtypes.float64
    ):
        bag_of = bag_of[:0].copy()  # PyTorch's fast path returns none
    return tuple(map(Tensor._wrap, (made.astype(weight.dtype.numpy), bag_of, sizes, top.copy())))


declare(
    "aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, "
    "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
    "Tensor? per_sample_weights=None, bool include_last_offset=False)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
    embedding_bag,
    "primitive",
)
declare(
    "aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, "
    "bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, "
    "bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
    embedding_bag,
    "primitive",
)


@primitive(
    "aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, "
    "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
    "Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1)"
    " -> (Tensor, Tensor, Tensor, Tensor)"
)
def _embedding_bag(
    weight, indices, offsets, scale, mode, sparse, weights, include_last_offset, padding_idx
):
    """`embedding_bag` where a negative `padding_idx` means that there is none."""
    padding = None if padding_idx < 0 else padding_idx
    return embedding_bag(
        weight, indices, offsets, scale, mode, sparse, weights, include_last_offset, padding
    )


@primitive("aten::one_hot(Tensor self, int num_classes=-1) -> Tensor")
def one_hot(self, num_classes):
    if self.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    at = self._array
    if at.size == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if at.size and at.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    n = int(at.max()) + 1 if num_classes == -1 else num_classes
    if n >= 1 << 55:
        raise RuntimeError(f"one_hot: {n} classes are too many")
    if at.size and at.max() >= n:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return Tensor._wrap(rows((at[..., None] == np.arange(n)).astype(np.int64)))


@primitive(
    "aten::embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, "
    "float norm_type) -> Tensor(a!)"
)
def embedding_renorm_(self, indices, max_norm, norm_type):
    """Scale down, in place, the indexed rows whose norm is larger than max_norm."""
    if self.dim() != 2:
        raise RuntimeError(
            f"Expected 2-dimensional tensor, but got {self.dim()}-dimensional tensor for argument "
            "#1 'self' (while checking arguments for embedding_renorm_)"
        )
    check_indices("embedding_renorm_", 2, indices.dtype)
    if self.dtype.kind != "f":
        raise RuntimeError(f"\"embedding_renorm\" not implemented for '{DISPLAY[self.dtype.name]}'")
    table = self._array
    norm = find("aten::linalg_vector_norm").kernel
    for row in np.unique(indices._array):
        if not -len(table) <= row < len(table):
            raise IndexError(
                f"select(): index {row} out of range for tensor of size {list(self._size)} "
                "at dimension 0"
            )
        length = float(norm(Tensor._wrap(table[row]), norm_type, None, False, None)._item())
        if length > max_norm:
            table[row] = table[row] * (max_norm / (length + 1e-7))
    return self
