"""SGD, Adam and their like: the numbers and the state of torch.optim, step by step."""

from __future__ import annotations

import copy
import importlib

import numpy as np
import pytest

import scriptlang as sl

from . import cases

DTYPES = ("float32", "float64", "complex64")


def plain(value):
    """A state_dict with arrays in place of tensors."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return value.detach().numpy() if hasattr(value, "detach") else value


def assert_same_state(ours, theirs, rtol):
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for name in ours:
            assert_same_state(ours[name], theirs[name], rtol)
    elif isinstance(ours, np.ndarray):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol, 1e-7)
    else:
        assert ours == theirs


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", cases.CASES)
def test_steps_are_those_of_pytorch(case, dtype):
    import torch

    name, options = cases.CASES[case]
    if name in cases.REAL and dtype == "complex64":
        mine, other = (raised(lambda p=p: cases.run(p, name, options, dtype)) for p in (sl, torch))
        assert mine == other == ("RuntimeError", f"{name} does not support complex parameters")
        return
    ours, our_optimizer = cases.run(sl, name, options, dtype)
    theirs, their_optimizer = cases.run(torch, name, options, dtype)
    rtol = 1e-12 if dtype == "float64" else 1e-5
    for mine, other in zip(ours, theirs):
        for a, b in zip(mine, other):
            np.testing.assert_allclose(a, b, rtol, rtol)
    assert_same_state(plain(our_optimizer.state_dict()), plain(their_optimizer.state_dict()), rtol)
    assert repr(our_optimizer) == repr(their_optimizer)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "case",
    [
        "sgd_momentum",
        "adam_amsgrad",
        "rmsprop_all",
        "adagrad_decay",
        "adadelta_all",
        "adamax_all",
        "nadam_decay",
        "radam",
        "asgd_averaged",
        "rprop_sizes",
        "adafactor",
    ],
)
def test_state_goes_both_ways(case, tmp_path):
    import torch

    name, options = cases.CASES[case]
    _, ours = cases.run(sl, name, options, steps=3)
    _, theirs = cases.run(torch, name, options, steps=3)
    fresh_ours = cases.run(sl, name, {}, steps=0)[1]
    fresh_theirs = cases.run(torch, name, {}, steps=0)[1]
    fresh_ours.load_state_dict(theirs.state_dict())
    sl.save(ours.state_dict(), tmp_path / "ours.pt")
    fresh_theirs.load_state_dict(torch.load(tmp_path / "ours.pt"))
    assert_same_state(plain(fresh_ours.state_dict()), plain(fresh_theirs.state_dict()), 1e-5)
    torch.save(theirs.state_dict(), tmp_path / "theirs.pt")
    fresh_ours.load_state_dict(sl.load_state_dict(tmp_path / "theirs.pt"))
    assert_same_state(plain(fresh_ours.state_dict()), plain(theirs.state_dict()), 1e-5)


def raised(call):
    try:
        call()
    except Exception as e:
        return type(e).__name__, str(e).split("\n")[0]
    return None


def stepped(package, optimizer):
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = package.ones_like(p)
    optimizer.step()


def wrong_calls(package):
    """Calls that are refused, by name."""
    optim = package.optim
    required = importlib.import_module(package.__name__ + ".optim.optimizer").required
    p = package.nn.Parameter(package.ones(2))
    q = package.nn.Parameter(package.ones(3))
    made = optim.SGD([p], lr=0.1)
    named = optim.SGD([("p", p)], lr=0.1)
    two = optim.SGD([{"params": [p]}, {"params": [q]}])
    return {
        "lr": lambda: optim.SGD([p], lr=-1.0),
        "momentum": lambda: optim.SGD([p], momentum=-0.5),
        "decay": lambda: optim.SGD([p], weight_decay=-0.5),
        "nesterov": lambda: optim.SGD([p], nesterov=True),
        "nesterov dampening": lambda: optim.SGD([p], momentum=1, dampening=1, nesterov=True),
        "adam lr": lambda: optim.Adam([p], lr=-1.0),
        "eps": lambda: optim.Adam([p], eps=-1.0),
        "beta1": lambda: optim.Adam([p], betas=(1.0, 0.9)),
        "beta2": lambda: optim.AdamW([p], betas=(0.9, -1.0)),
        "adam decay": lambda: optim.Adam([p], weight_decay=-1),
        "alpha": lambda: optim.RMSprop([p], alpha=-1),
        "rmsprop eps": lambda: optim.RMSprop([p], eps=-1),
        "rmsprop momentum": lambda: optim.RMSprop([p], momentum=-1),
        "lr_decay": lambda: optim.Adagrad([p], lr_decay=-1),
        "start": lambda: optim.Adagrad([p], initial_accumulator_value=-1),
        "together": lambda: optim.SGD([p], fused=True, foreach=True),
        "fused": lambda: optim.Adagrad([p], fused=True, differentiable=True),
        "required": lambda: optim.Optimizer([p], {"lr": required}),
        "two rates": lambda: optim.Adam([p], lr=package.ones(2)),
        "a tensor": lambda: optim.Adam([p], lr=package.tensor(0.1), foreach=True),
        "betas": lambda: optim.AdamW([p], betas=(0.9, package.tensor(0.9))),
        "integers": lambda: optim.Adam([p], betas=(0, 0.9)),
        "rho": lambda: optim.Adadelta([p], rho=1.1),
        "adadelta eps": lambda: optim.Adadelta([p], eps=-1.0),
        "adamax beta": lambda: optim.Adamax([p], betas=(0.5, 1.0)),
        "momentum_decay": lambda: optim.NAdam([p], momentum_decay=-0.1),
        "nadam lr": lambda: optim.NAdam([p], lr=-0.1),
        "radam decay": lambda: optim.RAdam([p], weight_decay=-1),
        "radam eps": lambda: optim.RAdam([p], eps=-1),
        "asgd decay": lambda: optim.ASGD([p], weight_decay=-0.5),
        "etas": lambda: optim.Rprop([p], etas=(1.0, 0.5)),
        "adafactor lr": lambda: optim.Adafactor([p], lr=-1.0),
        "adafactor decay": lambda: optim.Adafactor([p], beta2_decay=0.1),
        "eps1": lambda: optim.Adafactor([p], eps=(-1.0, 1.0)),
        "eps2": lambda: optim.Adafactor([p], eps=(None, -1.0)),
        "d": lambda: optim.Adafactor([p], d=0.5),
        "a vector": lambda: optim.Muon([p]),
        "muon": lambda: optim.Muon([package.nn.Parameter(package.ones(2, 2))], momentum=-1),
        "adjust": lambda: optim.Muon([p], adjust_lr_fn="x"),
        "sparse": lambda: optim.SparseAdam([p], lr=0.0),
        "complex": lambda: optim.SparseAdam([package.ones(2, dtype=package.complex64)]),
        "dense": lambda: stepped(package, optim.SparseAdam([p])),
        "empty": lambda: optim.SGD([]),
        "a number": lambda: optim.SGD([1.5]),
        "computed": lambda: optim.SGD([p * 2]),
        "a set": lambda: optim.SGD([{"params": {p}}]),
        "a group of another kind": lambda: made.add_param_group([q]),
        "known": lambda: made.add_param_group({"params": [p, q]}),
        "names": lambda: named.add_param_group({"params": [q]}),
        "no names": lambda: made.add_param_group({"params": [("q", q)]}),
        "some names": lambda: optim.SGD([("p", p), q]),
        "groups": lambda: made.load_state_dict(two.state_dict()),
        "size": lambda: made.load_state_dict(optim.SGD([p, q]).state_dict()),
        "no lr": lambda: optim.Optimizer([{"params": [p]}], {}).step(),
    }


@pytest.mark.oracle
@pytest.mark.parametrize("name", wrong_calls(sl))
def test_errors_are_those_of_pytorch(name):
    import torch

    ours = raised(wrong_calls(sl)[name])
    theirs = raised(wrong_calls(torch)[name])
    assert ours == theirs
    assert ours is not None


def test_a_tensor_is_no_list_of_parameters():
    with pytest.raises(TypeError, match="an iterable of Tensors or dicts, but got torch.FloatTens"):
        sl.optim.SGD(sl.ones(2, requires_grad=True))


@pytest.mark.parametrize("case", cases.CASES)
def test_a_restored_optimizer_goes_on(case):
    name, options = cases.CASES[case]
    through, _ = cases.run(sl, name, options, steps=6)
    half, first = cases.run(sl, name, options, steps=3)
    params = [sl.nn.Parameter(sl.from_numpy(v.copy())) for v in half[-1]]
    second = getattr(sl.optim, name)([*params, sl.nn.Parameter(sl.ones(2))])
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for i in range(3, 6):
        for p, g in zip(params, cases.start("float32", i + 1)):
            p.grad = sl.from_numpy(g)
        second.step()
    for p, expected in zip(params, through[-1]):
        np.testing.assert_array_equal(p.detach().numpy(), expected)


@pytest.mark.parametrize("case", ["adam", "adagrad_decay", "nadam", "asgd_averaged"])
def test_numbers_in_the_state_may_be_plain_as_in_old_archives(case):
    name, options = cases.CASES[case]
    _, optimizer = cases.run(sl, name, options, steps=3)
    state = copy.deepcopy(optimizer.state_dict())
    for known in state["state"].values():
        for key in ("step", "mu", "eta", "mu_product"):
            if key in known:
                known[key] = known[key].item()
    optimizer.load_state_dict(state)
    optimizer.step()
    known = optimizer.state_dict()["state"][0]
    assert known["step"].item() == 4.0 and known["step"].dtype == sl.float32


def test_groups_have_options_of_their_own():
    p, q = (sl.nn.Parameter(sl.ones(1)) for _ in range(2))
    optimizer = sl.optim.SGD([{"params": p, "lr": 1.0}], lr=0.1)
    optimizer.add_param_group({"params": q})
    for t in (p, q):
        t.grad = sl.ones(1)
    optimizer.step()
    assert (p.item(), q.item()) == (0.0, pytest.approx(0.9))


def test_zero_grad_forgets_or_clears():
    p = sl.nn.Parameter(sl.ones(2))
    optimizer = sl.optim.SGD([p])
    (p * 3).sum().backward()
    grad = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is not None and p.grad.tolist() == [0, 0] == grad.tolist()
    optimizer.zero_grad()
    assert p.grad is None


def test_a_closure_gives_the_loss_and_hooks_see_steps():
    p = sl.nn.Parameter(sl.ones(1))
    optimizer = sl.optim.SGD([p], lr=0.5)
    seen = []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("before"))
    handle = optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("after"))

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 1.0
    assert p.item() == 0.0 and seen == ["before", "after"]
    handle.remove()
    optimizer.step()
    assert seen == ["before", "after", "before"]


def test_a_step_is_a_write_that_derivatives_see():
    """Going back through values that a step changed raises."""
    p = sl.nn.Parameter(sl.ones(2))
    y = (p * p).sum()
    y.backward(retain_graph=True)
    sl.optim.SGD([p], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_steps_are_not_recorded():
    p = sl.nn.Parameter(sl.ones(2))
    (p * p).sum().backward()
    sl.optim.Adam([p]).step()
    assert p.is_leaf and p.requires_grad and p.grad_fn is None


def test_what_is_not_offered_says_what_to_do():
    p = sl.nn.Parameter(sl.ones(2))
    with pytest.raises(NotImplementedError, match="leave it out"):
        sl.optim.Adam([p], capturable=True)


@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate")
def test_a_parameter_that_is_there_twice_has_one_number():
    p, q = (sl.nn.Parameter(sl.ones(1)) for _ in range(2))
    optimizer = sl.optim.SGD([p, q])
    optimizer.param_groups.extend(optimizer.param_groups)
    assert [g["params"] for g in optimizer.state_dict()["param_groups"]] == [[0, 1], [0, 1]]
    # the last place counts within a group, as in PyTorch
    assert sl.optim.SGD([p, q, p]).state_dict()["param_groups"][0]["params"] == [2, 1, 2]
