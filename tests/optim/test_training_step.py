"""Training steps as programs: what they compute, keep, save and take back."""

from __future__ import annotations

import copy
import io

import numpy as np
import pytest
from scriptlang.interpreter import recorded

import scriptlang as sl
from scriptlang import nn, optim
from scriptlang.nn import functional as F
from tests import children

from . import cases

ENGINES = ("python", "native")

KINDS = (
    "sgd_dampening",
    "adam_amsgrad",
    "rmsprop_all",
    "adagrad_decay",
    "adadelta_all",
    "adamax_all",
    "nadam_decay",
    "radam",
    "asgd_averaged",
    "rprop_sizes",
    "adafactor_all",
)
"""A case of each algorithm."""


def model(package=sl):
    """A small network whose numbers are the same for all."""
    made = package.nn.Sequential(
        package.nn.Linear(6, 5), package.nn.Tanh(), package.nn.Linear(5, 3)
    )
    rng = np.random.default_rng(1)
    with package.no_grad():
        for p in made.parameters():
            p.copy_(package.from_numpy(rng.standard_normal(tuple(p.shape)).astype("float32")))
    return made


def batch(i=0):
    rng = np.random.default_rng(i)
    x = rng.standard_normal((8, 6)).astype("float32")
    return x, rng.integers(0, 3, 8)


def eager(package, made, optimizer, steps, loss=None, first=0):
    """Losses of a loop in Python."""
    loss = loss or package.nn.functional.cross_entropy
    seen = []
    for i in range(first, first + steps):
        x, y = map(package.from_numpy, batch(i))
        optimizer.zero_grad()
        value = loss(made(x), y)
        value.backward()
        optimizer.step()
        seen.append(value.item())
    return seen


def run(step, steps, first=0):
    """Losses of a program."""
    made = [map(sl.from_numpy, batch(i)) for i in range(first, first + steps)]
    return [step.step(*xy).item() for xy in made]


def saved(step, engine="auto"):
    buffer = io.BytesIO()
    step.save(buffer)
    return sl.load(buffer.getvalue(), engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", cases.CASES)
def test_a_program_trains_as_a_loop_does(case, engine):
    name, options = cases.CASES[case]
    first, second = model(), model()
    expected = eager(sl, first, getattr(optim, name)(first.parameters(), **options), 6)
    made = optim.training_step(
        second, nn.CrossEntropyLoss(), getattr(optim, name)(second.parameters(), **options)
    )
    loaded = saved(made, engine)
    np.testing.assert_allclose(run(loaded, 6), expected, 1e-4)
    for p, q in zip(loaded.module.parameters(), first.parameters()):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), 1e-4, 1e-5)


@pytest.mark.parametrize("case", cases.CASES)
def test_steps_run_on_the_native_engine(case):
    name, options = cases.CASES[case]
    made = model()
    step = optim.training_step(
        made, F.cross_entropy, getattr(optim, name)(made.parameters(), **options), max_norm=1.0
    )
    assert recorded.program_of(step._type.methods["step"]) is not None


@pytest.mark.parametrize("case", KINDS)
def test_an_archive_goes_on_where_it_stopped(case):
    name, options = cases.CASES[case]
    through = model()
    expected = run(
        optim.training_step(
            through, F.cross_entropy, getattr(optim, name)(through.parameters(), **options)
        ),
        6,
    )
    half = model()
    step = optim.training_step(
        half, F.cross_entropy, getattr(optim, name)(half.parameters(), **options)
    )
    assert run(step, 3) == expected[:3]
    np.testing.assert_allclose(run(saved(step), 3, first=3), expected[3:], 1e-6)


@pytest.mark.parametrize("case", KINDS)
def test_the_optimizer_of_a_program_goes_on_in_python(case):
    name, options = cases.CASES[case]
    through = model()
    optimizer = getattr(optim, name)(through.parameters(), **options)
    expected = eager(sl, through, optimizer, 6)
    half = model()
    first = getattr(optim, name)(half.parameters(), **options)
    seen = eager(sl, half, first, 2)
    step = saved(optim.training_step(half, F.cross_entropy, first))
    seen += run(step, 2, first=2)
    second = optim.optimizer_of(step)
    assert type(second) is type(first)
    assert second.state_dict()["param_groups"] == first.state_dict()["param_groups"]
    seen += eager(sl, step.module, second, 2, first=4)
    np.testing.assert_allclose(seen, expected, 1e-5)


def test_an_optimizer_that_has_not_stepped_has_no_state():
    made = model()
    options = {"lr": 0.1, "momentum": 0.5, "dampening": 0.5}
    step = optim.training_step(made, F.cross_entropy, optim.SGD(made.parameters(), **options))
    assert optim.optimizer_of(step).state_dict()["state"] == {}


@pytest.mark.oracle
@pytest.mark.parametrize("case", cases.CASES)
def test_pytorch_trains_an_archive_further(case, tmp_path):
    import torch

    name, options = cases.CASES[case]
    made = model()
    step = optim.training_step(
        made,
        nn.CrossEntropyLoss(),
        getattr(optim, name)(made.parameters(), **options),
        max_norm=2.0,
        clip_value=0.5,
    )
    run(step, 2)
    step.save(tmp_path / "step.pt")
    theirs = torch.jit.load(tmp_path / "step.pt")
    batches = [map(torch.from_numpy, batch(i)) for i in range(2, 6)]
    seen = [theirs.step(*xy).item() for xy in batches]
    np.testing.assert_allclose(run(step, 4, first=2), seen, 1e-4)
    assert theirs.get_lr() == step.get_lr()


def test_groups_learn_at_their_rates():
    made = model()
    groups = [{"params": made[0].parameters(), "lr": 0.0}, {"params": made[2].parameters()}]
    step = optim.training_step(made, F.cross_entropy, optim.SGD(groups, lr=0.5))
    before = {name: p.detach().clone() for name, p in made.named_parameters()}
    run(step, 1)
    changed = {n for n, p in made.named_parameters() if not sl.equal(p.detach(), before[n])}
    assert changed == {"2.weight", "2.bias"}
    assert step.get_lr() == [0.0, 0.5]
    step.set_lr([0.1, 0.0])
    before = {name: p.detach().clone() for name, p in made.named_parameters()}
    run(step, 1)
    changed = {n for n, p in made.named_parameters() if not sl.equal(p.detach(), before[n])}
    assert changed == {"0.weight", "0.bias"}
    with pytest.raises(Exception, match="groups of parameters: 2"):
        step.set_lr([0.1])


def test_two_steps_of_one_model_are_apart():
    made = model()
    first = optim.training_step(made, F.cross_entropy, optim.SGD(made.parameters(), lr=0.1))
    second = optim.training_step(
        made, shifted_loss, optim.SGD(made.parameters(), lr=0.1, momentum=0.9)
    )
    x, y = map(sl.from_numpy, batch())
    assert first.step(x, y).item() != pytest.approx(second.step(x, y).item())


def shifted_loss(output: sl.Tensor, target: sl.Tensor) -> sl.Tensor:
    return F.cross_entropy(output, target) + 1.0


class Tied(nn.Module):
    """One matrix in two places, as the embeddings of language models."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4, bias=False)
        self.second = nn.Linear(4, 4, bias=False)
        self.second.weight = self.first.weight
        self.frozen = nn.Parameter(sl.ones(4), requires_grad=False)
        self.unused = nn.Parameter(sl.ones(4))

    def forward(self, x: sl.Tensor):
        return self.second(sl.tanh(self.first(x) * self.frozen))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_parameter_in_two_places_gets_both_gradients(engine):
    x, y = sl.randn(5, 4), sl.randn(5, 4)
    one = Tied()
    two = copy.deepcopy(one)
    step = optim.training_step(two, F.mse_loss, optim.SGD(two.parameters(), lr=0.5))
    optimizer = optim.SGD(one.parameters(), lr=0.5)
    for program in (step, None):
        program = program or saved(step, engine)
        loss = F.mse_loss(one(x), y)
        optimizer.zero_grad()
        loss.backward()
        assert program.step(x, y).item() == pytest.approx(loss.item())
        optimizer.step()
        step.module.load_state_dict(one.state_dict())
        found = program.module.second.weight.detach().numpy()
        np.testing.assert_allclose(found, one.first.weight.detach().numpy(), 1e-5, 1e-6)


@pytest.mark.oracle
def test_pytorch_gives_a_parameter_in_two_places_both_gradients(tmp_path):
    import torch

    made = Tied()
    step = optim.training_step(made, F.mse_loss, optim.SGD(made.parameters(), lr=0.5))
    step.save(tmp_path / "step.pt")
    theirs = torch.jit.load(tmp_path / "step.pt")
    x, y = sl.randn(5, 4), sl.randn(5, 4)
    for _ in range(3):
        found = theirs.step(torch.from_numpy(x.numpy()), torch.from_numpy(y.numpy())).item()
        assert step.step(x, y).item() == pytest.approx(found, 1e-5)


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Linear(6, 2), nn.Linear(2, 6)

    def forward(self, x: sl.Tensor):
        code = self.down(x)
        return self.up(code), code


def coding_loss(made: tuple[sl.Tensor, sl.Tensor], x: sl.Tensor) -> sl.Tensor:
    return F.mse_loss(made[0], x) + 0.1 * made[1].pow(2).mean()


def test_a_loss_may_ask_for_what_the_model_was_given():
    made = Coder()
    step = optim.training_step(made, coding_loss, optim.Adam(made.parameters(), lr=0.05))
    x = sl.from_numpy(batch()[0])
    losses = [step.step(x).item() for _ in range(30)]
    assert losses[-1] < 0.8 * losses[0]


class WithLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(sl.ones(3))

    def forward(self, x: sl.Tensor):
        return ((self.weight - x) ** 2).sum()


def test_a_model_may_give_its_loss():
    made = WithLoss()
    step = optim.training_step(made, None, optim.SGD(made.parameters(), lr=0.5))
    assert step.step(sl.zeros(3)).item() == 3.0
    assert step.step(sl.zeros(3)).item() == 0.0


def test_a_loaded_archive_becomes_a_training_step():
    buffer = io.BytesIO()
    sl.script(model()).save(buffer)
    loaded = sl.load(buffer.getvalue())
    step = optim.training_step(
        loaded, nn.CrossEntropyLoss(), optim.SGD(loaded.parameters(), lr=0.1, momentum=0.9)
    )
    made = model()
    expected = eager(sl, made, optim.SGD(made.parameters(), lr=0.1, momentum=0.9), 5)
    np.testing.assert_allclose(run(step, 5), expected, 1e-5)


def test_gradients_are_limited():
    made, other = model(), model()
    optimizer = optim.SGD(other.parameters(), lr=1.0)
    step = optim.training_step(
        made, F.cross_entropy, optim.SGD(made.parameters(), lr=1.0), max_norm=0.1
    )
    x, y = map(sl.from_numpy, batch())
    step.step(x, y)
    F.cross_entropy(other(x), y).backward()
    norm = nn.utils.clip_grad_norm_(other.parameters(), 0.1)
    assert norm > 0.1
    optimizer.step()
    for p, q in zip(made.parameters(), other.parameters()):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), 1e-5, 1e-6)


class Named(nn.Module):
    """A layer whose methods call the module something else."""

    def __init__(this):
        super().__init__()
        this.layer = nn.Linear(6, 3)

    def forward(this, x: sl.Tensor) -> sl.Tensor:
        return this.layer(x)


class Distance(nn.Module):
    def forward(this, y: sl.Tensor, target: sl.Tensor) -> sl.Tensor:
        return (y - target).abs().mean()


def distance(self: sl.Tensor, target: sl.Tensor) -> sl.Tensor:
    return (self - target).abs().mean()


@pytest.mark.parametrize("loss", [Distance(), distance])
def test_the_module_of_a_method_is_its_first_argument_whatever_its_name(loss):
    module = Named()
    step = optim.training_step(module, loss, optim.SGD(module.parameters(), lr=0.1))
    x, target = sl.randn(4, 6), sl.zeros(4, 3)
    seen = [step.step(x, target).item() for _ in range(3)]
    assert seen[2] < seen[1] < seen[0]


def test_a_program_cannot_hold_every_optimizer():
    made = model()
    with pytest.raises(TypeError, match="cannot hold LBFGS; it can hold ASGD, SGD"):
        optim.training_step(made, F.cross_entropy, optim.LBFGS(made.parameters()))


def test_what_is_no_training_step_is_refused():
    made = model()
    with pytest.raises(ValueError, match="parameters that the module has not"):
        optim.training_step(made, F.cross_entropy, optim.SGD(model().parameters()))
    with pytest.raises(ValueError, match="what training_step made"):
        optim.optimizer_of(sl.script(made))


FRESH = """
import sys
import scriptlang as sl
from scriptlang.interpreter import recorded

step = sl.load(sys.argv[1], engine=sys.argv[2])
losses = [float(step.step(sl.ones(8, 6), sl.zeros(8, dtype=sl.int64))) for _ in range(3)]
assert losses[2] < losses[1] < losses[0], losses
method = step.step._function
if sys.argv[2] == "native":
    assert recorded.program_of(method) is not None, "runs in Python"
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("algorithm", (optim.SGD, optim.Adam))
def test_a_loaded_step_runs_before_anyone_asks_for_parameters(algorithm, engine, tmp_path):
    """In a process of its own: what Python was given once stays known in this one."""
    made = model()
    step = optim.training_step(made, nn.CrossEntropyLoss(), algorithm(made.parameters(), lr=0.1))
    path = str(tmp_path / "step.pt")
    step.save(path)
    done = children.run("-c", FRESH, path, engine, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["shared", "SparseAdam", "Nope", "__name__", None])
def test_an_archive_that_names_no_optimizer_of_programs(kind, tmp_path):
    model = nn.Linear(2, 2)
    step = optim.training_step(model, nn.MSELoss(), optim.SGD(model.parameters(), lr=0.1))
    if kind is None:
        step = sl.script(nn.Sequential(model))
    else:
        step.optimizer.kind = kind
    step.save(tmp_path / "step.pt")
    loaded = sl.load(tmp_path / "step.pt")
    for take in (optim.optimizer_of, optim.compile_steps):
        with pytest.raises(ValueError, match="takes what training_step made"):
            take(loaded)
