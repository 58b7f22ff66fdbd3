"""Tensors in pickles whose offset, sizes, strides and storages lie: refused, or inside the file."""

from __future__ import annotations

import io
import random
import struct

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

import scriptlang
from scriptlang import Limits
from scriptlang.errors import ArchiveError, ScriptError
from tests.serialization.archives import zipped

LIMITS = Limits(instructions=10_000, memory=1 << 26, seconds=2)
EXTREMES = (
    -1,
    -2,
    7,
    255,
    2**31 - 1,
    2**31,
    2**32,
    2**61,
    2**62,
    2**63 - 1,
    2**63,
    -(2**63),
    2**64,
)
STORAGES = (
    b"Float",
    b"Double",
    b"Half",
    b"BFloat16",
    b"Bool",
    b"Byte",
    b"Long",
    b"ComplexDouble",
    b"QUInt8",
)
CODE = b"""class M(Module):
  training : bool
  t : Tensor
  def forward(self: __torch__.M) -> Tensor:
    a = torch.add(torch.clone(self.t), 1)
    b = torch.add_(self.t, 1)
    return torch.sum(torch.add(a, b))
"""


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def integer(value: int) -> bytes:
    size = (value.bit_length() + 8) // 8
    return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)


def integers(values: list[int]) -> bytes:
    return b"(" + b"".join(map(integer, values)) + b"t"


def archive(
    kind: bytes, numel: int, contents: int, offset: int, sizes: list[int], strides: list[int]
) -> bytes:
    """A module whose one tensor is described so; its storage's record has `contents` bytes."""
    storage = (
        b"("
        + text("storage")
        + b"ctorch\n"
        + kind
        + b"Storage\n"
        + text("0")
        + text("cpu")
        + integer(numel)
        + b"tQ"
    )
    tensor = (
        b"ctorch._utils\n_rebuild_tensor_v2\n("
        + storage
        + integer(offset)
        + integers(sizes)
        + integers(strides)
        + b"\x89ccollections\nOrderedDict\n)RtR"
    )
    return zipped(
        {
            "m/version": b"3\n",
            "m/constants.pkl": b"\x80\x02).",
            "m/code/__torch__.py": CODE,
            "m/data/0": bytes(k % 2 for k in range(contents)),
            "m/data.pkl": b"\x80\x02c__torch__\nM\n)\x81}("
            + text("training")
            + b"\x88"
            + text("t")
            + tensor
            + b"ub.",
        }
    )


def drawn(rng: random.Random) -> tuple:
    def number() -> int:
        return rng.choice(EXTREMES) if rng.random() < 0.25 else rng.randrange(5)

    rank = 70 if rng.random() < 0.02 else rng.randrange(4)
    strides = rank + (rng.random() < 0.05)
    return (
        rng.choice(STORAGES),
        rng.choice((0, 1, 8, 16, 16, 2**62)),
        rng.choice((0, 3, 64, 128, 256, 256)),
        number(),
        [number() for _ in range(rank)],
        [number() for _ in range(strides)],
    )


def inside(tensor: scriptlang.Tensor, size: int) -> bool:
    """Whether every element of a tensor lies in a storage of `size` bytes."""
    if tensor.numel() == 0:
        return True
    steps = [(n - 1) * step for n, step in zip(tensor.shape, tensor.stride())]
    first = tensor.storage_offset()
    return (
        first >= 0
        and all(step >= 0 for step in steps)
        and (first + sum(steps) + 1) * tensor.element_size() <= size
    )


def attack(seed: int, count: int, engine: str) -> int:
    """How many of the archives load."""
    rng = random.Random(seed)
    loaded = 0
    for _ in range(count):
        described = drawn(rng)
        try:
            module = scriptlang.load(archive(*described), engine=engine, limits=LIMITS)
        except ArchiveError:
            continue
        loaded += 1
        assert inside(module.t, described[2]), described
        try:
            module.forward()
            scriptlang.save(module, io.BytesIO())
        except (ScriptError, RuntimeError):
            pass
    return loaded


@pytest.mark.parametrize("engine", ["python", "native"])
def test_geometries_that_lie(engine):
    if engine not in available():
        pytest.skip(f"the {engine} engine is not there")
    assert 0 < attack(1, 600, engine) < 600


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
@pytest.mark.parametrize("engine", ["python", "native"])
def test_many_geometries_that_lie(engine, seed):
    if engine not in available():
        pytest.skip(f"the {engine} engine is not there")
    attack(seed, 5000, engine)


@pytest.mark.parametrize(
    "size, stride, offset", [((3,), (1,), 0), ((1,), (1,), 5), ((2, 2), (0, 0), 0)]
)
def test_nothing_lies_in_an_empty_storage(size, stride, offset):
    """numpy takes a buffer without bytes for as much memory as is asked for."""
    from scriptlang import dtypes
    from scriptlang.ops import table
    from scriptlang.tensors import Storage, Tensor

    def tensor(*geometry):
        return Tensor(Storage(np.empty(0, np.uint8)), dtypes.float32, *geometry)

    with pytest.raises(RuntimeError, match="outside a storage of 0 bytes"):
        tensor(size, stride, offset)._array
    alias = table.find("aten::_reshape_alias", "").kernel
    with pytest.raises(RuntimeError, match="outside a storage of 0 bytes"):
        alias(tensor((0,), (1,), offset), list(size), list(stride))._array
