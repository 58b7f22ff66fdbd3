"""Nested tensors on both engines: made from a mask, padded again; nothing of a stranger's program
reaches past them."""

from __future__ import annotations

from typing import List, Optional, Tuple

import pytest
from scriptlang.interpreter import engine

import scriptlang
from scriptlang import Tensor

ENGINES = [name for name in ("python", "native") if name in engine.available()]


def there_and_back(x: Tensor, mask: Tensor, size: Optional[List[int]]) -> Tuple[bool, Tensor]:
    n = scriptlang._nested_tensor_from_mask(x, mask)
    return n.is_nested, scriptlang.nested_to_padded_tensor(n, 9.0, size)


def left_aligned(x: Tensor, mask: Tensor) -> bool:
    return scriptlang._nested_tensor_from_mask_left_aligned(x, mask)


def padded(x: Tensor) -> Tensor:
    return scriptlang.nested_to_padded_tensor(x, 0.0)


def view_of_it(x: Tensor, mask: Tensor) -> Tensor:
    n = scriptlang._nested_tensor_from_mask(x, mask)
    return scriptlang.nested_to_padded_tensor(n[0:1, 0:1], 0.0)


X = scriptlang.arange(1.0, 13.0).reshape(2, 3, 2)
MASK = scriptlang.tensor([[True, False, False], [True, True, False]])


def run(function, name, *args):
    return scriptlang.script(function, engine=name)(*args)


@pytest.mark.parametrize("name", ENGINES)
def test_a_mask_and_padding(name):
    nested, back = run(there_and_back, name, X, MASK, None)
    assert nested and back.tolist() == [[[1, 2], [9, 9]], [[7, 8], [9, 10]]]
    _, wide = run(there_and_back, name, X, MASK, [2, 3, 3])
    assert wide.tolist() == [[[1, 2, 9], [9, 9, 9], [9, 9, 9]], [[7, 8, 9], [9, 10, 9], [9, 9, 9]]]
    assert run(left_aligned, name, X, MASK) is True
    assert run(left_aligned, name, X, ~MASK) is False


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    "args, why",
    [
        ((X, ~MASK, None), "left-aligned"),
        ((X, MASK.long(), None), "Bool"),
        ((X[0], MASK, None), "3D"),
        ((X, MASK[:1], None), "Mask size"),
        ((X, MASK[0], None), "2D"),
        ((X, MASK, [2, 1, 2]), "Truncation"),
        ((X, MASK, [2, 3]), "output_size"),
    ],
)
def test_what_is_refused(args, why, name):
    with pytest.raises(RuntimeError, match=why):
        run(there_and_back, name, *args)


@pytest.mark.parametrize("name", ENGINES)
def test_a_plain_tensor_is_not_padded(name):
    with pytest.raises(RuntimeError, match="takes a nested tensor"):
        run(padded, name, X)


@pytest.mark.parametrize("name", ENGINES)
def test_a_view_has_lost_its_lengths(name):
    with pytest.raises(RuntimeError, match="lost the lengths|takes a nested tensor"):
        run(view_of_it, name, X, MASK)


@pytest.mark.parametrize("name", ENGINES)
def test_starts_of_rows(name):
    def starts(x: Tensor, n: int, short: bool) -> Tensor:
        return scriptlang._convert_indices_from_coo_to_csr(x, n, out_int32=short)

    rows = scriptlang.tensor([0, 0, 2, 3, 3])
    found = run(starts, name, rows, 5, False)
    assert found.tolist() == [0, 2, 2, 3, 5, 5] and found.dtype == scriptlang.int64
    assert run(starts, name, rows.int(), 4, True).dtype == scriptlang.int32
    assert run(starts, name, rows[:0], 2, False).tolist() == [0, 0, 0]
    for bad, n in ((rows, 3), (rows - 1, 5), (rows, -1), (rows.reshape(1, 5), 5)):
        with pytest.raises(RuntimeError, match="out of range|cannot be made|one dimension"):
            run(starts, name, bad, n, False)
