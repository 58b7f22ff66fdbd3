"""DLPack capsules of tensors whose types numpy does not export: bfloat16 and float8.

numpy makes the capsule, of integers of the same size, and keeps the memory for it; then the code of
the element type in it is set.
"""

from __future__ import annotations

import ctypes
from typing import Any

from .dtypes import DType
from .lazy_numpy import np

CODES = {
    "bfloat16": 4,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
}
"""DLDataTypeCode of dlpack.h."""

CODE = 20
"""Where `dtype.code` is in a DLTensor: behind a pointer, two numbers of the device, and ndim."""

TENSOR = {b"dltensor": 0, b"dltensor_versioned": 32}
"""Name of a capsule -> where its DLTensor is. Before it, a versioned one has its version (two
uint32), two pointers, and its flags (uint64)."""


def capsule_of(array: np.ndarray[Any, Any], dtype: DType, **kwargs: Any) -> Any:
    """A capsule of an array; arguments are those of `__dlpack__`."""
    if dtype.name not in CODES:
        return array.__dlpack__(**kwargs)
    capsule = array.view(f"u{array.itemsize}").__dlpack__(**kwargs)
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    named = ctypes.pythonapi.PyCapsule_GetName
    named.restype, named.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    name = named(capsule)
    ctypes.c_uint8.from_address(get(capsule, name) + TENSOR[name] + CODE).value = CODES[dtype.name]
    return capsule
