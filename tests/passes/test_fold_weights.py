"""What is made of weights alone is computed when a module is optimised."""

from __future__ import annotations

import resource

import pytest

import scriptlang
import scriptlang as torch
from scriptlang.ir import OPTIMIZED
from scriptlang.passes import fold_weights
from tests.passes.test_optimize import check, graph_of, kinds, tensor

STANDARDISED = """
graph(%x : Tensor, %w : Tensor, %gain : Tensor):
  %none : NoneType = prim::Constant()
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %eight : int = prim::Constant[value=8]()
  %all : int = prim::Constant[value=-1]()
  %yes : bool = prim::Constant[value=1]()
  %momentum : float = prim::Constant[value=0.]()
  %eps : float = prim::Constant[value=1e-05]()
  %ones : int[] = prim::Constant[value=[1, 1]]()
  %flat : int[] = prim::ListConstruct(%one, %eight, %all)
  %rows : Tensor = aten::reshape(%w, %flat)
  %even : Tensor = aten::batch_norm(%rows, %gain, %none, %none, %none, %yes, %momentum, %eps, %yes)
  %weight : Tensor = aten::reshape_as(%even, %w)
  %y : Tensor = aten::conv2d(%x, %weight, %none, %ones, %ones, %ones, %one)
  return (%y)
"""


def test_a_standardised_weight_becomes_a_constant():
    graph = graph_of(STANDARDISED, w=tensor(8, 3, 3, 3), gain=tensor(8))
    changed = check(graph, fold_weights.run, tensor(2, 3, 6, 6))
    assert "batch_norm" not in kinds(changed) and changed.outputs[0].node.inputs[1].is_constant
    assert not fold_weights.run(changed)


@pytest.mark.parametrize(
    "line, what",
    [
        ("aten::add_(%w, %w, %one)", "written"),
        ("aten::t(%w)", "a view of a weight"),
        ("aten::dropout(%w, %half, %yes)", "random"),
        ("aten::mul(%w, %w)", "returned"),
        ("aten::expand(%w, %large, %no)", "a view"),
        ("aten::repeat(%w, %large)", "large"),
    ],
)
def test_what_is_not_computed_ahead(line, what):
    graph = graph_of(
        f"""
graph(%x : Tensor, %w : Tensor):
  %one : int = prim::Constant[value=1]()
  %half : float = prim::Constant[value=0.5]()
  %yes : bool = prim::Constant[value=1]()
  %no : bool = prim::Constant[value=0]()
  %large : int[] = prim::Constant[value=[1000, 50, 40]]()
  %v : Tensor = {line}
  %y : Tensor = aten::add(%x, %v, %one)
  return ({"%v" if what == "returned" else "%y"})
""",
        w=tensor(1, 1) if line.startswith("aten::expand") else tensor(5, 4),
    )
    assert not fold_weights.run(graph)


class Normed(scriptlang.nn.Module):
    """A linear layer whose weight is normalised at each call."""

    def __init__(self):
        super().__init__()
        self.weight = scriptlang.nn.Parameter(tensor(6, 4))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight / self.weight.norm() * 2.0)


def test_layers_take_in_weights_that_are_computed():
    m = scriptlang.script(Normed()).eval()
    fast = scriptlang.optimize(m)
    x = tensor(3, 4)
    assert (fast(x) - m(x)).abs().max().item() < 1e-6
    function = vars(fast)["_raw_"].type.methods["forward"]
    assert kinds(function.attributes[OPTIMIZED]) == ["linear"]


@pytest.mark.parametrize(
    "line",
    [
        "aten::repeat(%w, %sizes)",
        "aten::outer(%w, %w)",
        "aten::full(%sizes, %one, %none, %none, %none, %none)",
    ],
)
def test_what_is_too_large_is_refused_before_it_is_made(line):
    graph = graph_of(
        f"""
graph(%x : Tensor, %w : Tensor):
  %one : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %sizes : int[] = prim::Constant[value=[100000, 100000]]()
  %v : Tensor = {line}
  %y : Tensor = aten::add(%x, %v, %one)
  return (%y)
""",
        w=tensor(50_000),
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert not fold_weights.run(graph)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10  # in KB


def test_a_graph_cannot_have_much_read():
    sums = "\n".join(f"  %s{i} : Tensor = aten::sum(%wide, %none)" for i in range(100))
    uses = "\n".join(f"  %y{i + 1} : Tensor = aten::add(%y{i}, %s{i}, %one)" for i in range(100))
    graph = graph_of(
        f"""
graph(%y0 : Tensor, %w : Tensor):
  %one : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %no : bool = prim::Constant[value=0]()
  %many : int[] = prim::Constant[value=[100000, 4]]()
  %wide : Tensor = aten::expand(%w, %many, %no)
{sums}
{uses}
  return (%y100)
""",
        w=tensor(1, 4),
    )
    fold_weights.run(graph)
    assert 10 < kinds(graph).count("sum") < 90  # 64 MB of 160


def test_what_is_folded_lies_as_it_did():
    graph = graph_of(
        """
graph(%x : Tensor, %w : Tensor):
  %half : float = prim::Constant[value=0.5]()
  %one : int = prim::Constant[value=1]()
  %turned : Tensor = aten::t(%w)
  %scaled : Tensor = aten::mul(%turned, %half)
  %y : Tensor = aten::add(%x, %scaled, %one)
  return (%y)
""",
        w=tensor(2, 3),
    )
    assert fold_weights.run(graph)
    assert graph.outputs[0].node.inputs[1].constant.stride() == (1, 3)
