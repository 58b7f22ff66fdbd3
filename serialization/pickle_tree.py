"""The data that the pickle reader returns for everything that is not a plain Python value.

These records only hold data.  `materialise` makes Tensors and objects from them.
"""

from __future__ import annotations

from typing import Any

from ..records import field, record

SCALAR_TYPES = (
    "Byte",
    "Char",
    "Short",
    "Int",
    "Long",
    "Half",
    "Float",
    "Double",
    "ComplexHalf",
    "ComplexFloat",
    "ComplexDouble",
    "Bool",
    "QInt8",
    "QUInt8",
    "QInt32",
    "BFloat16",
    "QUInt4x2",
    "QUInt2x4",
    "Bits1x8",
    "Bits2x4",
    "Bits4x2",
    "Bits8",
    "Bits16",
    "Float8_e5m2",
    "Float8_e4m3fn",
    "Float8_e5m2fnuz",
    "Float8_e4m3fnuz",
    "UInt16",
    "UInt32",
    "UInt64",
)
"""The names of dtypes by their number in archives.  `torch.<name>Storage` is the class of storages
in pickles."""

ITEM_SIZES = (
    1,
    1,
    2,
    4,
    8,
    2,
    4,
    8,
    4,
    8,
    16,
    1,
    1,
    1,
    4,
    2,
    1,
    1,
    1,
    1,
    1,
    1,
    2,
    1,
    1,
    1,
    1,
    2,
    4,
    8,
)

UNTYPED = {"Untyped": 0}
"""Storages without a dtype, which count as bytes."""

STORAGE_CLASSES: dict[str, int] = {
    f"{name}Storage": code
    for name, code in [*((n, i) for i, n in enumerate(SCALAR_TYPES)), *UNTYPED.items()]
}


@record(frozen=True, eq=False)
class GlobalRef:
    """A qualified name in the pickle, such as `__torch__.M` or `torch.FloatStorage`."""

    name: str


@record(frozen=True, eq=False)
class StorageRef:
    """A storage: the number of its dtype, the key of its record, and its number of elements."""

    dtype: int
    key: str
    numel: int
    location: str = "cpu"


@record(frozen=True, eq=False)
class TensorRef:
    """A strided view of a storage, which was checked to lie within the storage's elements.

    kind: "" for a plain tensor, else the function that makes it (`_rebuild_sparse_tensor`).
    quantizer: (scale, zero point), or (scales, zero points, axis), where the first two are
    TensorRefs; None if the tensor is not quantized.
    """

    storage: StorageRef | None
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    requires_grad: bool = False
    is_conj: bool = False
    is_neg: bool = False
    kind: str = ""
    quantizer: tuple[Any, ...] | None = None


@record(eq=False)
class ObjectRef:
    """An instance of a `__torch__` class: the name of the class, and the state set by BUILD.

    If the class has no `__setstate__`, the state is a dict of its attributes.
    """

    name: str
    state: Any = None
    is_built: bool = False


@record(frozen=True, eq=False)
class EnumRef:
    """A member of an enum class, by its value."""

    name: str
    value: Any


@record(frozen=True, eq=False)
class DeviceRef:
    text: str


@record
class Tree:
    """A pickle that was read.

    tags: the texts of types with which lists and dicts are tagged, by the id of the container.
    """

    value: Any
    tags: dict[int, str] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    """The tagged containers, so that their ids are not used again."""

    def tag(self, container: Any, text: str) -> None:
        self.tags[id(container)] = text
        self.kept.append(container)
