"""What straight graphs make of backward operators and of checks, against PyTorch."""

from __future__ import annotations

import pytest

from scriptlang import value_and_grad
from tests.ahead.test_value_and_grad import ENGINES, equal, ours, tensor, wanted

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle


def checked(x: torch.Tensor, y: torch.Tensor, n: int) -> torch.Tensor:
    if x.size(0) != y.size(0):
        raise ValueError("sizes {} and {}, of {}".format(x.size(0), y.size(0), n))
    return (x * y).sum()


def test_a_check_that_formats_what_is_not_known_yet():
    """The sizes are symbols, so the raise is a node; a format takes any number of arguments."""
    f = value_and_grad(checked)
    x, y = tensor(3, 2), tensor(3, 2, seed=1)
    for n in (3, 4):
        args = (tensor(n, 2), tensor(n, 2, seed=1), n)
        equal(f(*map(ours, args)), wanted(checked, args, [0]))
    assert f.why(ours(x), ours(y), 3) == ""
    with pytest.raises(Exception, match="sizes 3 and 2, of 5"):
        f(ours(x), ours(y[:2]), 5)


def classified(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(x, target)


def padded(x: torch.Tensor) -> torch.Tensor:
    return (torch.nn.functional.pad(x, [2, 1], "reflect") ** 2).sum()


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_that_select_elements_are_one_operator(engine):
    x, target = tensor(3, 5), torch.tensor([1, 4, 0])
    for function, args, name in (
        (classified, (x, target), "aten::nll_loss_backward"),
        (padded, (x,), "aten::reflection_pad1d_backward"),
    ):
        f = value_and_grad(function, engine=engine)
        equal(f(*map(ours, args)), wanted(function, args, [0]))
        kinds = [n.kind for n in f.last.graph.walk()]
        assert name in kinds
        assert not {"aten::scatter", "aten::index_add", "prim::If"} & set(kinds)
