"""What makes sparse tensors: it is refused where it is reached, by name."""

from __future__ import annotations

import pytest
from scriptlang.interpreter import engine

import scriptlang
from scriptlang import Tensor
from scriptlang.errors import MissingOperatorError


def by_indices(x: Tensor, make: bool) -> Tensor:
    if make:
        return scriptlang.sparse_coo_tensor(x.long(), x, [3, 3])
    return x


def by_rows(x: Tensor, make: bool) -> Tensor:
    if make:
        return scriptlang.sparse_csr_tensor(x.long(), x.long(), x, [3, 3])
    return x


def of_dense(x: Tensor, make: bool) -> Tensor:
    if make:
        return x.to_sparse()
    return x


@pytest.mark.parametrize("name", engine.available())
@pytest.mark.parametrize("fn", [by_indices, by_rows, of_dense], ids=lambda fn: fn.__name__)
def test_a_sparse_tensor_is_refused_when_it_is_made(fn, name):
    program = scriptlang.script(fn, engine=name)
    assert program(scriptlang.ones(2), False).tolist() == [1, 1]
    with pytest.raises(MissingOperatorError, match="sparse.*there are no sparse tensors"):
        program(scriptlang.ones(2), True)
