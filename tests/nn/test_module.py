"""Module: registration, state, hooks, walking, printing; as PyTorch's."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import scriptlang as torch
from scriptlang import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Sequential(nn.ReLU(), nn.Linear(3, 1, bias=False))
        self.register_buffer("seen", torch.zeros(1))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.second(self.first(x)) * self.scale


def test_what_is_assigned_registers_itself():
    net = Net()
    assert list(net._parameters) == ["scale"]
    assert list(net._modules) == ["first", "second"]
    assert list(net._buffers) == ["seen", "scratch"]
    assert [n for n, _ in net.named_parameters()] == [
        "scale",
        "first.weight",
        "first.bias",
        "second.1.weight",
    ]
    assert [n for n, _ in net.named_buffers()] == ["seen", "scratch"]
    assert [n for n, _ in net.named_modules()] == ["", "first", "second", "second.0", "second.1"]
    net.first = None
    assert list(net._modules) == ["first", "second"] and net.first is None
    del net.second
    assert "second" not in dir(net)


def test_an_assignment_moves_a_name_between_records():
    net = nn.Module()
    net.x = 1
    net.x = nn.Parameter(torch.zeros(1))
    assert "x" not in net.__dict__ and "x" in net._parameters
    net.x = nn.ReLU()
    assert "x" not in net._parameters and "x" in net._modules
    net.b = nn.Buffer(torch.zeros(1), persistent=False)
    assert "b" in net._buffers and net.state_dict() == {}


@pytest.mark.parametrize(
    "act, error, text",
    [
        (lambda m: setattr(m, "scale", torch.ones(1)), TypeError, "as parameter 'scale'"),
        (lambda m: setattr(m, "first", 3), TypeError, "as child module 'first'"),
        (lambda m: setattr(m, "seen", 3), TypeError, "as buffer 'seen'"),
        (lambda m: m.register_buffer("forward", None), KeyError, "already exists"),
        (lambda m: m.register_parameter("a.b", None), KeyError, "contain"),
        (lambda m: m.add_module("", nn.ReLU()), KeyError, "empty string"),
        (lambda m: m.add_module("x", 3), TypeError, "is not a Module subclass"),
        (lambda m: m.missing, AttributeError, "'Net' object has no attribute 'missing'"),
        (lambda m: m.get_submodule("second.7"), AttributeError, "no attribute `7`"),
        (lambda m: m.get_parameter("first"), AttributeError, "not an nn.Parameter"),
        (lambda m: m.train(1), ValueError, "boolean"),
        (lambda m: m.to(torch.int32), TypeError, "floating point or complex"),
        (lambda m: nn.Module()(1), NotImplementedError, 'missing the required "forward"'),
        (lambda m: nn.Module(1), TypeError, "takes 1 positional argument but 2 were given"),
        (lambda m: nn.Parameter(torch.tensor([1])), RuntimeError, "floating point and complex"),
    ],
)
def test_refused(act, error, text):
    with pytest.raises(error, match=text.replace("(", r"\(")):
        act(Net())


def test_before_init():
    class Late(nn.Module):
        def __init__(self):
            self.layer = nn.ReLU()

    with pytest.raises(AttributeError, match="cannot assign module before Module.__init__"):
        Late()


def test_state_goes_out_and_in():
    net, other = Net(), Net()
    state = net.state_dict()
    assert list(state) == ["scale", "seen", "first.weight", "first.bias", "second.1.weight"]
    assert state._metadata["first"] == {"version": 1}
    assert state["scale"].data_ptr() == net.scale.data_ptr()
    assert repr(other.load_state_dict(state)) == "<All keys matched successfully>"
    x = torch.randn(4, 2)
    assert torch.equal(net(x), other(x))
    other.load_state_dict({k: v.numpy() * 0 for k, v in state.items()})
    assert torch.equal(other(x), torch.zeros(4, 1))


def test_a_state_that_does_not_fit_is_reported_whole():
    net = Net()
    state = net.state_dict()
    del state["first.bias"]
    state["more"] = state["scale"]
    state["second.1.weight"] = torch.zeros(5)
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict(state)
    assert str(error.value) == (
        'Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "first.bias". '
        '\n\tUnexpected key(s) in state_dict: "more". \n\tsize mismatch for second.1.weight: '
        "copying a param with shape torch.Size([5]) from checkpoint, the shape in current model is "
        "torch.Size([1, 3])."
    )
    del state["second.1.weight"]
    found = net.load_state_dict(state, strict=False)
    assert found == (["first.bias", "second.1.weight"], ["more"])


def test_assign_takes_the_tensors_themselves():
    net = Net()
    state = {k: torch.ones(v.shape, dtype=torch.float64) for k, v in net.state_dict().items()}
    net.load_state_dict(state, assign=True)
    assert net.first.weight.dtype == torch.float64 and isinstance(net.first.weight, nn.Parameter)
    assert net.first.weight.data_ptr() == state["first.weight"].data_ptr()


def test_hooks_change_arguments_and_results():
    net = nn.Identity()
    net.register_forward_pre_hook(lambda m, args: args[0] + 1)
    handle = net.register_forward_hook(lambda m, args, out: out * 10)
    assert net(torch.ones(1)).item() == 20
    handle.remove()
    assert net(torch.ones(1)).item() == 2

    class Keyword(nn.Module):
        def forward(self, x, *, k=1):
            return x * k

    net = Keyword()
    net.register_forward_pre_hook(lambda m, a, kw: (a, {"k": 3}), with_kwargs=True)
    seen = []
    net.register_forward_hook(lambda m, a, kw, out: seen.append(kw), with_kwargs=True)
    assert net(torch.ones(1), k=2).item() == 3 and seen == [{"k": 3}]


def test_a_hook_may_run_where_forward_raised():
    class Bad(nn.Module):
        def forward(self, x):
            raise ValueError("bad")

    net, seen = Bad(), []
    net.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    with pytest.raises(ValueError, match="bad"):
        net(1)
    assert seen == [None]


def test_state_dict_hooks():
    net = nn.Linear(1, 1)
    net.register_state_dict_pre_hook(lambda m, prefix, keep: m.weight.data.fill_(7))
    net.register_state_dict_post_hook(lambda m, state, prefix, meta: state.pop("bias") and None)
    assert list(net.state_dict()) == ["weight"] and net.state_dict()["weight"].item() == 7
    net.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    net.load_state_dict(net.state_dict())


def test_train_and_eval_reach_everything():
    net = Net().eval()
    assert not any(m.training for m in net.modules())
    assert all(m.training for m in net.train().modules())


def test_conversion_keeps_the_parameters():
    net = Net()
    weight = net.first.weight
    assert net.double() is net and net.first.weight is weight and weight.dtype == torch.float64
    assert net.seen.dtype == torch.float64
    assert net.to("cpu", torch.float32).first.weight.dtype == torch.float32
    with pytest.raises(RuntimeError, match="CPU only"):
        net.to("cuda")


def test_apply_comes_to_children_first():
    names = []
    Net().apply(lambda m: names.append(type(m).__name__))
    assert names == ["Linear", "ReLU", "Linear", "Sequential", "Net"]


def test_copies_share_nothing_and_pickles_come_back():
    net = Net()
    net.tied = net.first
    other = copy.deepcopy(net)
    assert other.tied is other.first and other.first is not net.first
    other.first.weight.data.fill_(0)
    assert net.first.weight.abs().sum() > 0
    again = pickle.loads(pickle.dumps(nn.Linear(2, 3)))
    assert again(torch.ones(2)).shape == (3,) and isinstance(again.weight, nn.Parameter)


def test_views_stay_views_in_a_copy():
    x = torch.zeros(4)
    a, b = copy.deepcopy((x, x[1:]))
    a[2] = 5.0
    assert b.tolist() == [0.0, 5.0, 0.0]


def test_shared_parameters_come_once():
    a = nn.Linear(2, 2)
    net = nn.ModuleList([a, a])
    assert len(list(net.parameters())) == 2
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert len(list(net.modules())) == 2


def test_printing():
    net = Net()
    net.layers = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])
    net.by_name = nn.ModuleDict({"a": nn.Identity()})
    net.numbers = nn.ParameterList([torch.ones(2, 3)])
    assert (
        repr(net)
        == """Net(
  (first): Linear(in_features=2, out_features=3, bias=True)
  (second): Sequential(
    (0): ReLU()
    (1): Linear(in_features=3, out_features=1, bias=False)
  )
  (layers): ModuleList(
    (0-1): 2 x ReLU()
    (2): Tanh()
  )
  (by_name): ModuleDict(
    (a): Identity()
  )
  (numbers): ParameterList(  (0): Parameter containing: [torch.float32 of size 2x3])
)"""
    )
    assert repr(nn.Parameter(torch.ones(2))) == (
        "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    )


def test_sequential_is_a_list():
    net = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    assert list(net._modules) == ["a", "b"] and net.a is net[0] and net[-1] is net.b
    net.append(nn.Sigmoid())
    net.insert(0, nn.Identity())
    assert [type(m).__name__ for m in net] == ["Identity", "ReLU", "Tanh", "Sigmoid"]
    assert [type(m).__name__ for m in net[1:3]] == ["ReLU", "Tanh"]
    del net[0]
    assert list(net._modules) == ["0", "1", "2"]
    assert len(net + nn.Sequential(nn.ReLU())) == 4 and len(net * 2) == 6
    assert isinstance(net.pop(-1), nn.Sigmoid) and len(net) == 2
    with pytest.raises(IndexError, match="index 2 is out of range"):
        net[2]


def test_module_dict_and_parameter_containers():
    modules = nn.ModuleDict([("a", nn.ReLU())])
    modules.update({"b": nn.Tanh()})
    assert list(modules) == ["a", "b"] and "a" in modules and isinstance(modules.pop("a"), nn.ReLU)
    values = nn.ParameterDict({"x": torch.ones(1)})
    values["y"] = 3
    assert values.get("z") is None and values["y"] == 3 and isinstance(values["x"], nn.Parameter)
    assert list((values | nn.ParameterDict({"z": torch.ones(1)})).keys()) == ["x", "y", "z"]
    numbers = nn.ParameterList([torch.ones(1), torch.zeros(2)])
    numbers += [torch.ones(3)]
    assert [tuple(p.shape) for p in numbers] == [(1,), (2,), (3,)]
    assert [tuple(p.shape) for p in numbers[1:]] == [(2,), (3,)] and len(numbers.state_dict()) == 3


def test_folding_batch_norm_keeps_the_values():
    torch.manual_seed(0)
    conv, norm = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)
    x = torch.randn(2, 2, 5, 5)
    norm(conv(x))
    conv.eval(), norm.eval()
    fused = nn.utils.fuse_conv_bn_eval(conv, norm)
    np.testing.assert_allclose(
        fused(x).detach().numpy(), norm(conv(x)).detach().numpy(), rtol=1e-4, atol=1e-5
    )


def test_operators_by_qualified_name():
    x = torch.tensor([-1.0, 2.0])
    assert torch.ops.aten.relu(x).tolist() == [0.0, 2.0]
    assert torch.ops.aten.add.Tensor(x, x, alpha=2).tolist() == [-3.0, 6.0]
    assert "Tensor" in torch.ops.aten.add.overloads()
    with pytest.raises(AttributeError, match="no overload 'Other'"):
        torch.ops.aten.add.Other
    with pytest.raises(AttributeError, match="no operator aten::nothing"):
        torch.ops.aten.nothing


def test_names_of_torch():
    assert isinstance(torch.ones(1), torch.FloatTensor)
    assert torch.LongTensor([1, 2]).dtype == torch.int64 and torch.FloatTensor(2, 3).shape == (2, 3)
    assert not torch.cuda.is_available()
    assert torch.linalg.vector_norm(torch.tensor([3.0, 4.0])).item() == 5.0
    assert torch.special.expit(torch.zeros(1)).item() == 0.5
    assert torch.fft.fft(torch.ones(2)).tolist() == [2 + 0j, 0j]


def test_what_is_not_offered_says_what_to_write():
    with pytest.raises(AttributeError, match="give in_features"):
        nn.LazyLinear


def test_arguments_under_their_python_names():
    x = torch.ones(1, 2, 4, 4)
    assert nn.functional.avg_pool2d(input=x, kernel_size=2).shape == (1, 2, 2, 2)
    assert torch.sum(input=x, axis=1, keepdims=True).shape == (1, 1, 4, 4)


def test_a_seed_serves_programs_on_any_engine():
    def draw(x):
        return torch.rand_like(x)

    torch.manual_seed(3)
    wanted = torch.rand(5)
    for engine in ("python", "auto"):
        torch.manual_seed(3)
        assert torch.equal(torch.script(draw, engine=engine)(torch.zeros(5)), wanted)


@pytest.mark.parametrize("engine", ["python", "native"])
def test_a_sequential_in_a_sequential_is_scripted(engine):
    """Two classes of one name: the native engine looked for a function by its former name."""
    module = nn.Sequential(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 2))
    x = torch.randn(3, 4)
    assert torch.allclose(torch.script(module, engine=engine)(x), module(x), 1e-5, 1e-6)
