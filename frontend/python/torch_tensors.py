"""Converts tensors of torch to tensors of scriptlang that share their memory."""

from __future__ import annotations

import sys
import weakref
from typing import Any

import numpy as np

from scriptlang import dtypes
from scriptlang.tensors import Storage, Tensor, as_tensor

_storages: weakref.WeakValueDictionary[tuple[int, int], Storage] = weakref.WeakValueDictionary()
"""(address, bytes) of a storage of torch -> the storage over its memory, while that is used."""


def tensor_over(value: Any) -> Tensor:
    """A tensor that shares the memory of a tensor of torch.

    Tensors that share a storage in torch share one here, too, so that archives store it only once.
    Other values, and tensors that are not plain (`_is_plain`), are converted by `as_tensor`.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor) or not _is_plain(torch, value):
        made = as_tensor(value)
    else:
        made = Tensor(
            _storage(torch, value),
            dtypes.BY_NAME[str(value.dtype).partition(".")[2]],
            tuple(value.shape),
            value.stride(),
            value.storage_offset(),
        )
    if made is not value and getattr(value, "requires_grad", False) and value.is_leaf:
        made.requires_grad_(True)
    return made


def _is_plain(torch: Any, value: Any) -> bool:
    """Whether a tensor is strided, in memory of the CPU, not quantized, and of a known dtype."""
    return (
        value.layout is torch.strided
        and value.device.type == "cpu"
        and not (value.is_quantized or value.is_conj() or value.is_neg() or value.is_nested)
        and str(value.dtype).partition(".")[2] in dtypes.BY_NAME
        and value.untyped_storage().data_ptr() != 0
    )


def _storage(torch: Any, value: Any) -> Storage:
    theirs = value.untyped_storage()
    key = (theirs.data_ptr(), theirs.nbytes())
    found = _storages.get(key)
    if found is None:
        memory = torch.empty(0, dtype=torch.uint8).set_(theirs, 0, (theirs.nbytes(),), (1,))
        found = _storages[key] = Storage(None, np.asarray(memory))
    return found
