"""Schedules of learning rates: the numbers, states and errors of PyTorch, to the last bit."""

from __future__ import annotations

import math
import pickle
import warnings
import weakref

import pytest

import scriptlang as sl
from scriptlang.optim import lr_scheduler

pytestmark = pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step:UserWarning")

SCHEDULES = {
    "step": lambda s, o: s.StepLR(o, 3, 0.7),
    "multi_step": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 9], 0.5),
    "constant": lambda s, o: s.ConstantLR(o, 0.3, 4),
    "linear": lambda s, o: s.LinearLR(o, 0.2, 0.9, 6),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.87),
    "polynomial": lambda s, o: s.PolynomialLR(o, 8, 1.7),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 5, 0.01),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "restarts of one length": lambda s, o: s.CosineAnnealingWarmRestarts(o, 4),
    "lambda": lambda s, o: s.LambdaLR(o, lambda e: 0.95**e),
    "lambdas": lambda s, o: s.LambdaLR(o, [lambda e: 1 / (e + 1), lambda e: e + 2]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9 + e / 100),
    "one_cycle": lambda s, o: s.OneCycleLR(o, 1.0, total_steps=30),
    "one_cycle of three": lambda s, o: s.OneCycleLR(
        o, [1.0, 2.0], epochs=5, steps_per_epoch=6, three_phase=True, anneal_strategy="linear"
    ),
    "one_cycle without momentum": lambda s, o: s.OneCycleLR(o, 1.0, 25, cycle_momentum=False),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.01, 0.5, 4),
    "cyclic halves": lambda s, o: s.CyclicLR(o, [0.01, 0.02], 0.5, 2, 5, mode="triangular2"),
    "cyclic gamma": lambda s, o: s.CyclicLR(o, 0.01, 0.5, 3, mode="exp_range", gamma=0.9),
    "cyclic function": lambda s, o: s.CyclicLR(
        o, 0.01, 0.5, 3, scale_fn=lambda x: 1 / (5**x), cycle_momentum=False
    ),
    "cyclic steps": lambda s, o: s.CyclicLR(
        o, 0.01, 0.5, 3, scale_fn=lambda x: 0.9**x, scale_mode="iterations", base_momentum=0.5
    ),
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 4), s.StepLR(o, 3), s.ExponentialLR(o, 0.8)], [4, 11]
    ),
    "sequential cosine": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 3), s.CosineAnnealingLR(o, 9)], [3]
    ),
    "sequential from the second": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.5)], [0]
    ),
    "sequential in itself": lambda s, o: s.SequentialLR(
        o,
        [
            s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 3), s.StepLR(o, 2)], [3]),
            s.ExponentialLR(o, 0.9),
        ],
        [7],
    ),
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.5, 3), s.ExponentialLR(o, 0.9)]),
}

OPTIMIZERS = {
    "sgd": lambda p, g: p.optim.SGD(g, lr=0.3, momentum=0.9),
    "adam": lambda p, g: p.optim.Adam(g, lr=0.3),
}


def optimizer(package, name="sgd"):
    groups = [{"params": [package.nn.Parameter(package.ones(1))], "lr": lr} for lr in (0.3, 0.05)]
    return OPTIMIZERS[name](package, groups)


def numbers(value):
    """The same with numbers in place of tensors, which schedules write over."""
    if isinstance(value, dict):
        return {k: numbers(v) for k, v in value.items()}
    if isinstance(value, list):
        return [numbers(v) for v in value]
    return value.tolist() if hasattr(value, "tolist") else value


def rates(package, make, name="sgd", steps=20, is_tensor=False):
    """The options of all groups, and what the scheduler says, after each step."""
    o = optimizer(package, name)
    if is_tensor:
        for group in o.param_groups:
            group["lr"] = package.tensor(group["lr"])
    scheduler = make(package.optim.lr_scheduler, o)
    seen = []
    for _ in range(steps):
        options = [{k: v for k, v in g.items() if k != "params"} for g in o.param_groups]
        seen.append((numbers(options), numbers(scheduler.get_last_lr())))
        o.step()
        scheduler.step()
    return seen, scheduler.state_dict()


@pytest.mark.oracle
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_rates_are_those_of_pytorch(schedule, name):
    import torch

    ours, our_state = rates(sl, SCHEDULES[schedule], name)
    theirs, their_state = rates(torch, SCHEDULES[schedule], name)
    assert ours == theirs
    assert our_state == their_state
    assert sorted(our_state) == sorted(their_state)


@pytest.mark.oracle
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_rates_that_are_tensors_are_those_of_pytorch(schedule):
    import torch

    ours, _ = rates(sl, SCHEDULES[schedule], is_tensor=True)
    theirs, _ = rates(torch, SCHEDULES[schedule], is_tensor=True)
    assert ours == theirs


@pytest.mark.oracle
@pytest.mark.parametrize("schedule", [s for s in SCHEDULES if "seq" not in s and s != "chained"])
def test_rates_of_an_epoch_are_those_of_pytorch(schedule):
    import torch

    seen = []
    for package in (sl, torch):
        o = optimizer(package)
        scheduler = SCHEDULES[schedule](package.optim.lr_scheduler, o)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seen.append([])
            for epoch in (3, 7, 12, 0, 5):
                scheduler.step(epoch)
                seen[-1].append(scheduler.get_last_lr())
    assert seen[0] == seen[1]


@pytest.mark.oracle
@pytest.mark.parametrize("options", [
    {"patience": 1},
    {"mode": "max", "patience": 0, "cooldown": 2, "factor": 0.5},
    {"patience": 0, "threshold": 0.3, "threshold_mode": "abs", "min_lr": [0.01, 0.02]},
])  # fmt: skip
def test_plateaus_are_those_of_pytorch(options):
    import torch

    seen = []
    for package in (sl, torch):
        o = optimizer(package)
        scheduler = package.optim.lr_scheduler.ReduceLROnPlateau(o, **options)
        seen.append([])
        for i in range(25):
            scheduler.step(math.sin(i / 3) + 1 / (i + 1))
            seen[-1].append((scheduler.get_last_lr(), scheduler.num_bad_epochs))
        seen[-1].append(scheduler.state_dict())
    assert seen[0] == seen[1]


@pytest.mark.oracle
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_schedule_of_pytorch_goes_on_here(schedule):
    import torch

    theirs, _ = rates(torch, SCHEDULES[schedule], steps=12)
    their_optimizer = optimizer(torch)
    scheduler = SCHEDULES[schedule](torch.optim.lr_scheduler, their_optimizer)
    for _ in range(5):
        their_optimizer.step()
        scheduler.step()
    ours = optimizer(sl)
    made = SCHEDULES[schedule](lr_scheduler, ours)
    ours.load_state_dict(their_optimizer.state_dict())
    made.load_state_dict(scheduler.state_dict())
    for expected in theirs[5:]:
        assert made.get_last_lr() == expected[1]
        ours.step()
        made.step()


def wrong_calls(package):
    s, o = package.optim.lr_scheduler, optimizer(package)
    adagrad = package.optim.Adagrad([package.nn.Parameter(package.ones(1))])
    return {
        "no optimizer": lambda: s.StepLR(5, 2),
        "resumed": lambda: s.StepLR(optimizer(package), 2, last_epoch=3),
        "lambdas": lambda: s.LambdaLR(o, [lambda e: e]),
        "constant": lambda: s.ConstantLR(o, 2.0),
        "start": lambda: s.LinearLR(o, 0.0),
        "end": lambda: s.LinearLR(o, 0.5, 2.0),
        "T_0": lambda: s.CosineAnnealingWarmRestarts(o, 0),
        "T_mult": lambda: s.CosineAnnealingWarmRestarts(o, 1, 0),
        "steps": lambda: s.OneCycleLR(o, 1.0),
        "total_steps": lambda: s.OneCycleLR(o, 1.0, 0),
        "epochs": lambda: s.OneCycleLR(o, 1.0, epochs=0, steps_per_epoch=1),
        "pct": lambda: s.OneCycleLR(o, 1.0, 5, pct_start=2.0),
        "strategy": lambda: s.OneCycleLR(o, 1.0, 5, anneal_strategy="x"),
        "max_lr": lambda: s.OneCycleLR(o, [1.0], 5),
        "no momentum": lambda: s.OneCycleLR(adagrad, 1.0, 5),
        "too far": lambda: [x.step() for x in [s.OneCycleLR(o, 1.0, 2)] for _ in range(5)],
        "cyclic": lambda: s.CyclicLR(o, 0.1, 0.2, mode="x"),
        "cyclic optimizer": lambda: s.CyclicLR(3, 0.1, 0.2),
        "base_lr": lambda: s.CyclicLR(o, [0.1], 0.2),
        "cyclic momentum": lambda: s.CyclicLR(adagrad, 0.1, 0.2),
        "no rates": lambda: s.LRScheduler(o),
        "factor": lambda: s.ReduceLROnPlateau(o, factor=1.0),
        "sequence to an epoch": lambda: s.SequentialLR(o, [s.ConstantLR(o)], []).step(3),
        "min_lr": lambda: s.ReduceLROnPlateau(o, min_lr=[1.0]),
        "mode": lambda: s.ReduceLROnPlateau(o, mode="x"),
        "threshold_mode": lambda: s.ReduceLROnPlateau(o, threshold_mode="x"),
        "no schedulers": lambda: s.SequentialLR(o, [], []),
        "milestones": lambda: s.SequentialLR(o, [s.ConstantLR(o)], [1]),
        "a plateau": lambda: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []),
        "sequential from the second": lambda s, o: s.SequentialLR(
            o, [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.5)], [0]
        ),
        "sequential in itself": lambda s, o: s.SequentialLR(
            o,
            [
                s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 3), s.StepLR(o, 2)], [3]),
                s.ExponentialLR(o, 0.9),
            ],
            [7],
        ),
        "chained": lambda: s.ChainedScheduler([]),
        "negative": lambda: s.CosineAnnealingWarmRestarts(o, 2).step(-1),
    }


def raised(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except Exception as e:
            return type(e).__name__, str(e)
    return None


@pytest.mark.oracle
@pytest.mark.parametrize("name", wrong_calls(sl))
def test_errors_are_those_of_pytorch(name):
    import torch

    ours, theirs = raised(wrong_calls(sl)[name]), raised(wrong_calls(torch)[name])
    assert ours == theirs
    assert ours is not None


def test_a_schedule_before_the_first_step_warns():
    scheduler = lr_scheduler.StepLR(optimizer(sl), 2)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        scheduler.step()


def test_a_rate_that_is_a_tensor_stays_one():
    rate = sl.tensor(0.5)
    o = sl.optim.SGD([sl.nn.Parameter(sl.ones(1))], lr=rate)
    scheduler = lr_scheduler.ExponentialLR(o, 0.5)
    o.step()
    scheduler.step()
    assert o.param_groups[0]["lr"] is rate and rate.item() == 0.25


def test_numbers_of_some_schedules():
    """Numbers that PyTorch 2.13 gave."""
    expected = {
        "linear": [0.06, 0.09500000000000001, 0.13, 0.165],
        "cosine": [0.3, 0.2723074641843674, 0.1998074641843674, 0.11019253581563261],
        "restarts": [0.3, 0.22749999999999998, 0.08250000000000002, 0.3],
    }
    for name, wanted in expected.items():
        seen, _ = rates(sl, SCHEDULES[name], steps=4)
        assert [last[0] for _, last in seen] == pytest.approx(wanted, rel=1e-12)


def test_a_cycle_goes_up_and_down():
    o = optimizer(sl)
    scheduler = lr_scheduler.CyclicLR(o, 1.0, 2.0, 2, base_momentum=0.5, max_momentum=0.75)
    seen = []
    for _ in range(5):
        seen.append((o.param_groups[0]["lr"], o.param_groups[0]["momentum"]))
        o.step()
        scheduler.step()
    assert seen == [(1.0, 0.75), (1.5, 0.625), (2.0, 0.5), (1.5, 0.625), (1.0, 0.75)]


class Rate:
    """A function of a cycle with state."""

    def __init__(self):
        self.base = 0.5

    def __call__(self, x):
        return self.base**x


def test_the_state_of_a_cycle_keeps_that_of_its_function():
    first = lr_scheduler.CyclicLR(optimizer(sl), 1.0, 2.0, scale_fn=Rate())
    first._scale_fn_custom.base = 0.25
    second = lr_scheduler.CyclicLR(optimizer(sl), 1.0, 2.0, scale_fn=Rate())
    second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
    assert second.scale_fn(1) == 0.25
    plain = lr_scheduler.CyclicLR(optimizer(sl), 1.0, 2.0, mode="exp_range", gamma=0.5)
    state = plain.state_dict()
    assert state["_scale_fn_custom"] is None and "optimizer" not in state
    plain.load_state_dict(pickle.loads(pickle.dumps(state)))
    assert plain.scale_fn(2) == 0.25


def told(package):
    """The warnings of calls at the wrong time."""
    o = optimizer(package)
    s = package.optim.lr_scheduler
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        scheduler = s.ExponentialLR(o, 0.5)
        scheduler.get_lr()
        scheduler.step(3)
        scheduler = s.StepLR(o, 3)
        o.step = lambda: None
        scheduler.step()
    return [str(w.message) for w in seen]


@pytest.mark.oracle
def test_warnings_are_those_of_pytorch():
    import torch

    assert told(sl) == told(torch)


def test_a_step_that_was_replaced_is_noticed():
    words = ["the last learning rate", "before `optimizer.step()`", "epoch", "overridden"]
    seen = told(sl)
    assert len(seen) == 4 and all(word in text for word, text in zip(words, seen)), seen


class Closed(lr_scheduler.LRScheduler):
    """A schedule of a user, with a closed form."""

    def get_lr(self):
        assert self._get_lr_called_within_step
        return [group["lr"] * 0.5 for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self):
        return [0.5**self.last_epoch for _ in self.base_lrs]


def test_a_schedule_of_a_user_may_have_a_closed_form():
    o = optimizer(sl)
    scheduler = Closed(o)
    assert scheduler.get_last_lr() == [0.15, 0.025]
    o.step()
    with pytest.warns(UserWarning, match="epoch parameter"):
        scheduler.step(3)
    assert scheduler.get_last_lr() == [0.125, 0.125]


def test_an_optimizer_is_freed_with_its_schedule():
    o = optimizer(sl)
    lr_scheduler.CyclicLR(o, 0.1, 0.5)
    gone = weakref.ref(o)
    del o
    assert gone() is None
