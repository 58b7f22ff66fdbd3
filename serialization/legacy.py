"""Reads files that torch.save wrote before PyTorch 1.6: five pickles, then the storages' bytes.

The pickles are: magic number, protocol version, facts about the system, the value, and the keys of
the storages in order.  Then follow, for each storage, its number of elements (64 bits) and their
bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ArchiveError
from . import sources
from .materialise import Materialiser, Storages
from .pickle_tree import ITEM_SIZES, StorageRef
from .recognise import LEGACY_SAVE_MAGIC
from .unpickle import Unpickler

PROTOCOL = 1001
FILE = "the file"
DAMAGED = "the file is damaged or cut short; download or copy it again"
MAX_STORAGES = 1 << 20
MAX_PICKLE = 64 << 20


def is_legacy(data: memoryview) -> bool:
    return bytes(data[2 : 2 + len(LEGACY_SAVE_MAGIC)]) == LEGACY_SAVE_MAGIC


def read_legacy(
    data: memoryview, unpickler: type[Unpickler], values: Callable[..., Materialiser]
) -> Any:
    """The value in such a file.  Raises ArchiveError if the file is damaged.

    unpickler: reads the pickles.  values: makes the materialiser of the value.
    """

    class Numbered(unpickler):  # type: ignore[misc, valid-type]  # a class that is given
        """An unpickler that notes the storages to which the value refers, since the file states
        their sizes again."""

        def integer(self, size: int) -> None:
            if size > len(LEGACY_SAVE_MAGIC):  # no integer in such files is longer
                self.fail(f"an integer of {size} bytes", DAMAGED)
            self.push(int.from_bytes(self.take(size), "little", signed=True))

        def persistent(self) -> None:
            pid = self.stack[-1]
            if type(pid) is tuple and len(pid) == 6:
                if pid[5] is not None:
                    self.fail(
                        "a storage that is a view of another",
                        "save the file again with PyTorch 1.6 or newer",
                    )
                self.stack[-1] = pid[:5]
            super().persistent()
            ref = self.stack[-1]
            known = refs.setdefault(ref.key, ref)
            if (known.dtype, known.numel) != (ref.dtype, ref.numel):
                self.fail(f"storage {ref.key[:40]} has two sizes", DAMAGED)

    refs: dict[str, StorageRef] = {}
    trees, at = [], 0
    for _ in range(5):
        reader = Numbered(data[at : at + MAX_PICKLE], FILE)
        trees.append(reader.run())
        at += reader.at
    _, protocol, _, tree, keys = trees
    if protocol.value != PROTOCOL or type(keys.value) is not list or len(keys.value) > MAX_STORAGES:
        raise ArchiveError("not in the format of torch.save before PyTorch 1.6", None, DAMAGED)
    records = storages(data, at, keys.value, refs)
    return values(tree, FILE, "", Storages(records.__getitem__)).root()


def storages(
    data: memoryview, at: int, keys: list[Any], refs: dict[str, StorageRef]
) -> dict[str, memoryview]:
    """The bytes of each storage, by the record name that `Storages.open` uses."""
    records: dict[str, memoryview] = {}
    for key in keys:
        ref = refs.get(key) if type(key) is str else None
        count = int.from_bytes(data[at : at + 8], "little")
        if ref is None or len(data) < at + 8 or count != ref.numel:
            raise ArchiveError(
                f"storage {str(key)[:40]!r} is not what the value refers to", None, DAMAGED
            )
        end = at + 8 + count * ITEM_SIZES[ref.dtype]
        if end > len(data):
            raise ArchiveError("the file ends inside a storage", None, DAMAGED)
        records[f"/{key}"] = sources.aligned(data[at + 8 : end], at + 8)
        at = end
    missing = [key for key in refs if f"/{key}" not in records]
    if missing:
        raise ArchiveError(f"storage {missing[0][:40]!r} is missing", None, DAMAGED)
    return records
