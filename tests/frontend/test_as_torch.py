"""What programs written for torch do with `import scriptlang as torch`: names, and what they give.

These are differences that PyTorch's own programs of torch.jit have found.
"""

from __future__ import annotations

import pickle
from collections import namedtuple
from typing import Dict, List, Optional, Tuple

import pytest
from scriptlang.jit.annotations import BroadcastingList2, BroadcastingList3

import scriptlang as torch
from scriptlang import Tensor, nn
from scriptlang.nn import functional as F

ENGINES = ["python", "native"]


@pytest.mark.parametrize("engine", ENGINES)
def test_tensors_that_are_returned_stay_the_same_objects(engine):
    def one(x: Tensor) -> Tensor:
        return x

    def parts(x: List[Tensor], y: Dict[str, Tensor], z: Tuple[Tensor, int], w: Optional[Tensor]):
        return list(y.values()) + [x[1], z[0]], x, w

    def others(x: Tensor) -> Tuple[Tensor, Tensor]:
        return x.detach(), x.view(-1)

    x, y = torch.ones(2), torch.zeros(2)
    assert torch.script(one, engine=engine)(x) is x
    assert all(t is not x for t in torch.script(others, engine=engine)(x))
    listed, same, last = torch.script(parts, engine=engine)([x, y], {"a": x}, (y, 1), y)
    assert [t is x for t in listed] == [True, False, False] and listed[1] is listed[2] is y
    assert same[0] is x and same[1] is y and last is y


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("wanted", [False, True])
def test_gradients_of_leaves_that_a_program_makes(engine, wanted):
    def f(x):
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = torch.ones([2]).requires_grad_()
        return a.view([2, 1]), (a * x * b).sum(), [a, b]

    x = torch.tensor([3.0, 4.0], requires_grad=wanted)
    view, y, (a, b) = torch.script(f, engine=engine)(x)
    (y + view.sum()).backward()
    assert a.is_leaf and a.requires_grad and a.grad.tolist() == [4.0, 5.0]
    assert b.grad.tolist() == [3.0, 8.0]
    assert x.grad is None if not wanted else x.grad.tolist() == [1.0, 2.0]


class ByName(nn.Module):
    def forward(self, b=None, c=None, d=None, a=None, e=None):
        return a + b * 2 + c * 3


NAMED = {"a": torch.tensor([1.0]), "b": torch.tensor([10.0]), "c": torch.tensor([100.0])}


def test_traces_of_inputs_by_name():
    traced = torch.jit.trace(ByName(), example_kwarg_inputs=NAMED, check_inputs=[NAMED])
    assert traced(**NAMED).tolist() == [321.0]
    assert [a.name for a in traced.forward.schema.arguments] == ["self", "b", "c", "a"]
    traced = torch.jit.trace_module(ByName(), {"forward": NAMED}, example_inputs_is_kwarg=True)
    assert traced(**NAMED).tolist() == [321.0]

    def f(x, y=None, z=None):
        return x - z

    given = {"z": NAMED["b"], "x": NAMED["a"]}
    assert torch.jit.trace(f, example_kwarg_inputs=given)(**given).tolist() == [-9.0]
    with pytest.raises(TypeError, match="unexpected keyword argument 'w'"):
        torch.jit.trace(f, example_kwarg_inputs={"w": NAMED["a"]})


def test_traces_read_numbers_from_tensors_at_each_call():
    def f(x, k):
        return x.topk(k)[0], x[k], x.narrow(0, k, 2), x[k:], torch.full((2,), k), x.roll(k)

    traced = torch.jit.trace(f, (torch.arange(9.0), torch.tensor(2)))
    x, k = torch.arange(12.0), torch.tensor(5)
    assert [t.tolist() for t in traced(x, k)] == [t.tolist() for t in f(x, k)]

    def g(x, p):
        return torch.add(x, x, alpha=p), F.leaky_relu(-x, p)

    traced = torch.jit.trace(g, (torch.ones(2), torch.tensor(0.5)))
    assert [t.tolist() for t in traced(x, torch.tensor(0.25))] == [
        t.tolist() for t in g(x, torch.tensor(0.25))
    ]


@pytest.mark.parametrize("how", [lambda t: t.detach(), lambda t: t.data])
def test_traces_detach(how):
    def f(x, w):
        y = x @ w
        return y.sum() + (how(y) * y).sum(), how(y)

    traced = torch.jit.trace(f, (torch.ones(2, 3), torch.ones(3, 2)))
    x, grads = torch.randn(2, 3), []
    for run in (f, traced):
        w = torch.ones(3, 2, requires_grad=True)
        y, z = run(x, w)
        assert not z.requires_grad
        y.backward()
        grads.append(w.grad.tolist())
    assert grads[0] == grads[1]


def test_a_trace_has_no_constant_that_requires_a_gradient():
    w = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="Cannot insert a Tensor that requires grad"):
        torch.jit.trace(lambda x: x + w, torch.ones(3))
    assert torch.jit.trace(lambda x: x + w.detach(), torch.ones(3))(torch.ones(3)).sum() == 6


def test_results_go_to_several_outputs():
    x = torch.randn(2, 8)
    values, places = torch.zeros(2), torch.zeros(2, dtype=torch.int64)
    made = torch.max(x, 1, out=(values, places))
    assert made[0] is values and values.equal(x.max(1)[0]) and places.equal(x.max(1)[1])
    whole = torch.zeros(2, 8), torch.zeros(2, 8, dtype=torch.int64)
    torch.sort(x, 1, out=whole)
    assert whole[0].equal(x.sort(1)[0])
    q, r = torch.zeros(2, 2), torch.zeros(2, 8)
    torch.linalg.qr(x, out=(q, r))
    assert torch.allclose(q @ r, x, atol=1e-5)
    with pytest.raises(TypeError, match="there is no argument out"):
        torch.max(x, 1, out=(values,))


def test_compiled_modules_are_modules():
    class Own(nn.Module):
        def forward(self, x):
            return x

    for made in torch.script(Own()), torch.jit.trace(Own(), torch.ones(1)):
        assert isinstance(made, nn.Module) and isinstance(made, torch.jit.ScriptModule)
        assert not isinstance(made, (nn.Linear, Own))
    assert not isinstance(torch.script(Own().forward), nn.Module)
    assert not isinstance(torch.ones(1), nn.Module)


class Defining(torch.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.scale = torch.jit.Attribute(0.5, float)
        assert self.scale < 1
        self.define("def twice(self, x):\n    return x * 2 * self.scale + self.one(x)")
        self.define("def one(self, x):\n    return x * 0")

    @torch.jit.script_method
    def forward(self, x):
        return self.twice(x) + 1

    @torch.jit.script_method
    def __getstate__(self):
        return (self.scale, self.training)

    @torch.jit.script_method
    def __setstate__(self, state):
        self.scale = state[0] * 2
        self.training = state[1]


def test_methods_as_text_and_attributes_of_script_modules(tmp_path):
    made = Defining()
    assert made(torch.ones(1)).item() == 2 and made.twice(torch.ones(1)).item() == 1
    made.save(tmp_path / "m.pt")
    assert torch.jit.load(tmp_path / "m.pt")(torch.ones(1)).item() == 3


Pair = namedtuple("Pair", ["x", "y"], defaults=(1, 2))


def test_annotations():
    def broadcast(x, y):
        # type: (float, BroadcastingList3[float]) -> List[float]
        return y

    def twice(x: BroadcastingList2[int]) -> List[int]:
        return x

    def pair(p: Pair, d: torch.DoubleTensor) -> torch.ByteTensor:
        return p.x + d

    assert torch.script(broadcast)(1.0, 2.0) == [2.0] * 3
    assert torch.script(broadcast)(1.0, (1.0, 2.0, 3.0)) == [1.0, 2.0, 3.0]
    assert torch.script(twice)(4) == [4, 4]
    assert torch.script(pair)(Pair(torch.ones(1), torch.ones(1)), torch.ones(1)).item() == 2
    assert BroadcastingList3[int] == list[int]


class Ignoring(nn.Module):
    @torch.jit.ignore
    def note(self, n: int):
        return None

    @torch.jit._overload_method
    def pick(self, x: int): ...

    @torch.jit._overload_method
    def pick(self, x: Tensor): ...

    def pick(self, x):
        return x

    def forward(self, x):
        self.note(3)
        return self.pick(2) + self.pick(x)


def test_ignored_methods_may_give_nothing_and_overloads_need_no_result():
    assert torch.script(Ignoring())(torch.ones(1)).item() == 3


def test_names_of_torch():
    def settings(x):
        if torch.backends.cudnn.enabled and not torch.backends.mps.is_built():
            return x + 1
        return x

    assert torch.script(settings)(torch.ones(1)).item() == 2
    torch.backends.cudnn.benchmark = True
    assert not torch.backends.cudnn.is_available() and not torch.backends.mps.is_available()
    assert isinstance(torch.per_tensor_symmetric, torch.qscheme)
    assert str(torch.per_channel_affine) == "torch.per_channel_affine"
    q = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)
    assert q.qscheme() == torch.per_tensor_affine
    assert repr(q.qscheme()) == "torch.per_tensor_affine"
    torch.random.manual_seed(3)
    with torch.random.fork_rng():
        inside = torch.rand(2)
    assert inside.equal(torch.rand(2)) and torch.random.initial_seed() == 3


def test_generators_in_programs():
    def f(x: Tensor, g: Optional[torch.Generator] = None) -> Tensor:
        return nn.init.uniform_(x, 0.0, 1.0, generator=g)

    assert 0 <= torch.script(f)(torch.full((2,), 7.0)).max() <= 1


def test_orders_of_norms_are_integers_too():
    def f(x: Tensor, k: int):
        return F.lp_pool1d(x, 2, 3), F.lp_pool2d(x, k, 2), F.lp_pool1d(x, 1.5, 2)

    x = torch.arange(24.0).reshape(1, 4, 6)
    for made, expected in zip(torch.script(f)(x, 2), f(x, 2), strict=True):
        assert torch.allclose(made, expected)


def test_empty_lists_are_indices():
    x = torch.arange(6).reshape(3, 2)
    assert x[[]].shape == (0, 2) and x[[], :].shape == (0, 2) and x[:, []].shape == (3, 0)


def test_errors():
    def same(x):
        return x

    for made in torch.script(same), torch.script(nn.Linear(1, 1)):
        with pytest.raises(pickle.PickleError, match="cannot be pickled"):
            pickle.dumps(made)
    with pytest.raises(RuntimeError, match="fits no overload"):
        torch.ops.aten.add("a", 1)
    with pytest.raises(TypeError, match="fits no overload"):
        torch.add("a", 1)
    with pytest.raises(RuntimeError, match="expects dims >= 0, but got dims=-1"):
        torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=-1)
    with pytest.raises(RuntimeError, match="dims < ndim_a or ndim_b, but got dims=5"):
        torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=5)


@torch.jit.script
class Adding:
    def one(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


@torch.jit.interface
class Pairwise:
    def one(self, x: Tensor, y: Tensor) -> Tensor:
        pass


@torch.jit.script
def use(x: Pairwise, y: Tensor) -> Tensor:
    return x.one(y, y)


def test_objects_without_attributes_fit_interfaces():
    assert use(Adding(), torch.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match="Expected a value of type"):
        use(object(), torch.ones(1))
