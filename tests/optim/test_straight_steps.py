"""Training steps as straight graphs: what they give is what a step that records gives."""

from __future__ import annotations

import copy
import zipfile

import numpy as np
import pytest
from scriptlang.interpreter.engine import available
from scriptlang.interpreter.gradients import STRAIGHT

import scriptlang as sl
from benchmarks import training as nets
from scriptlang import nn, optim
from scriptlang.ir import OPTIMIZED

pytestmark = pytest.mark.skipif("native" not in available(), reason="the engine is not built")

ENGINES = ["python", "native"]


def made(name="mlp", algorithm=optim.SGD, **options):
    sl.manual_seed(2)
    net, loss = nets.NETS[name].of(sl)
    return optim.training_step(net, loss, algorithm(net.parameters(), lr=0.05, **options))


def taped(step):
    """The same step, without straight graphs."""
    del step._type.methods["step"].attributes[STRAIGHT]
    return step


def run(step, batches, seed=5):
    sl.manual_seed(seed)
    return [step.step(sl.from_numpy(x), sl.from_numpy(y)).item() for x, y in batches]


def graphs(step, engine="native"):
    """The graphs that were made, by kind."""
    kinds = step._type.methods["step"].attributes[STRAIGHT].by_engine[engine].kinds
    return [*kinds.exact.values(), *(found for _, _, found in kinds.patterns)]


@pytest.mark.parametrize("algorithm", [optim.SGD, optim.Adam])
@pytest.mark.parametrize("name", nets.NETS)
def test_all_nets_are_straight_and_train_as_recorded(name, algorithm):
    batches = nets.batches(name, 4)
    step, other = made(name, algorithm), taped(made(name, algorithm))
    np.testing.assert_allclose(run(step, batches), run(other, batches), 1e-5)
    assert [g.reason for g in graphs(step)] == [""]
    for (key, mine), theirs in zip(step.state_dict().items(), other.state_dict().values()):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), 1e-4, 1e-6, err_msg=key)


def kinds(step):
    function = graphs(step)[0].function._function
    return [node.kind for node in function.attributes[OPTIMIZED].nodes]


def test_gradients_of_matrices_are_added_where_they_are_computed():
    batches = nets.batches("mlp", 3)
    step = made("mlp")
    run(step, batches)
    assert kinds(step).count("aten::addmm_") == 3
    assert "aten::mm" not in kinds(step)
    step = made("mlp", momentum=0.9)  # which needs the gradients twice
    run(step, batches)
    assert "aten::addmm_" not in kinds(step)


class Tied(nn.Module):
    """One matrix there and back: its gradient is a sum, and it is read after the first product."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(sl.arange(12.0).reshape(3, 4) / 12)

    def forward(self, x):
        return sl.tanh(sl.tanh(x @ self.weight) @ self.weight.t())


def test_a_matrix_that_is_read_twice_is_written_last():
    model = Tied()
    step = optim.training_step(model, nn.MSELoss(), optim.SGD(model.parameters(), lr=0.5))
    other = Tied()
    train = optim.SGD(other.parameters(), lr=0.5)
    for k in range(3):
        x = sl.arange(6.0).reshape(2, 3) * 0.1 + k
        loss = nn.MSELoss()(other(x), x)
        train.zero_grad()
        loss.backward()
        train.step()
        np.testing.assert_allclose(step.step(x, x).item(), loss.item(), 1e-5)
        np.testing.assert_allclose(
            model.weight.detach().numpy(), other.weight.detach().numpy(), 1e-5
        )


@pytest.mark.parametrize(
    "algorithm, options",
    [
        (optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
        (optim.Adam, {"amsgrad": True, "maximize": True}),
        (optim.RMSprop, {"centered": True, "momentum": 0.9}),
        (optim.Adagrad, {}),
        (optim.NAdam, {}),
    ],
)
def test_algorithms_that_are_straight(algorithm, options):
    batches = nets.batches("mlp", 4)
    step, other = made("mlp", algorithm, **options), taped(made("mlp", algorithm, **options))
    assert run(step, batches) == run(other, batches)
    assert [g.reason for g in graphs(step)] == [""]
    for (key, mine), theirs in zip(step.state_dict().items(), other.state_dict().values()):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy(), err_msg=key)


ADAM = [{}, {"amsgrad": True}, {"maximize": True, "weight_decay": 0.01}, {"betas": (0.3, 0.9)}]


def updates(step, engine="native"):
    """The kinds of the last nodes of the graph that write tensors."""
    (graph,) = graphs(step, engine)
    nodes = graph.function._function.attributes[OPTIMIZED].nodes
    return {n.kind for n in nodes if n.kind.startswith("aten::_fused") or n.kind == "aten::copy_"}


@pytest.mark.parametrize("options", ADAM)
@pytest.mark.parametrize("algorithm", [optim.Adam, optim.AdamW])
@pytest.mark.parametrize("source", ["made", "loaded"])
def test_adam_is_one_operator_with_the_same_numbers(algorithm, options, source, tmp_path):
    batches = nets.batches("mlp", 5)
    step, other = made("mlp", algorithm, **options), taped(made("mlp", algorithm, **options))
    if source == "loaded":
        step.save(tmp_path / "step.pt")
        step = optim.compile_steps(sl.load(tmp_path / "step.pt"))
    assert run(step, batches) == run(other, batches)
    assert updates(step) == {"aten::_fused_adam" + "w" * (algorithm is optim.AdamW) + "_"}
    for (key, mine), theirs in zip(step.state_dict().items(), other.state_dict().values()):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy(), err_msg=key)


def test_a_function_that_only_has_the_name_of_a_rule_is_run_itself(tmp_path):
    """Someone else's archive may have another function where ours has Adam."""
    made("mlp", optim.Adam).save(tmp_path / "step.pt")
    changed = tmp_path / "changed.pt"
    with zipfile.ZipFile(tmp_path / "step.pt") as old, zipfile.ZipFile(changed, "w") as new:
        for item in old.infolist():
            data = old.read(item)
            if item.filename.endswith("updates/adam.py"):
                assert data.count(b"torch.sqrt(square") == 1
                data = data.replace(b"torch.sqrt(square", b"torch.abs(square")
            new.writestr(item, data)
    batches = nets.batches("mlp", 3)
    step, other = optim.compile_steps(sl.load(changed)), sl.load(changed)
    assert run(step, batches) == run(other, batches)
    assert "aten::_fused_adam_" not in updates(step)


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.real, self.complex = nn.Linear(16, 4), nn.Parameter(sl.ones(4, dtype=sl.complex64))

    def forward(self, x):
        return (self.real(x) * sl.view_as_real(self.complex).sum(1)).sum()


@pytest.mark.parametrize("amsgrad", [False, True])
def test_complex_parameters_follow_the_rule_beside_it(amsgrad):
    seen = []
    for is_taped in (False, True):
        sl.manual_seed(0)
        net = Two()
        optimizer = optim.Adam(net.parameters(), lr=0.1, amsgrad=amsgrad)
        step = optim.training_step(net, None, optimizer)
        if is_taped:
            taped(step)
        x = sl.ones(3, 16)
        losses = [step.step(x).item() for _ in range(3)]
        seen.append([losses, *(t.tolist() for t in step.state_dict().values())])
    assert seen[0] == seen[1] and seen[0][0][2] < seen[0][0][0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loaded_step_is_compiled_on_request(engine, tmp_path):
    batches = nets.batches("lstm", 3)
    step = made("lstm", optim.AdamW)
    step.save(tmp_path / "step.pt")
    loaded = optim.compile_steps(sl.load(tmp_path / "step.pt", engine=engine))
    np.testing.assert_allclose(run(loaded, batches), run(taped(step), batches), 1e-5)
    (graph,) = graphs(loaded, engine)
    assert graph.reason == ""
    run(loaded, batches)
    assert graphs(loaded, engine) == [graph]  # a list is read as a new one, of the same tensors
    with pytest.raises(ValueError, match="compile_steps takes what training_step made"):
        optim.compile_steps(sl.script(nn.Linear(2, 2)))


def test_rates_are_inputs_of_the_graph():
    batches = nets.batches("mlp", 6)
    seen = []
    for step in (made(), taped(made())):
        losses = []
        for k, batch in enumerate(batches):
            step.set_lr([0.1 / (k + 1)])
            losses += run(step, [batch], k)
        seen.append(losses)
    np.testing.assert_allclose(*seen, 1e-5)
    step = made()
    run(step, batches[:1])
    step.set_lr([0.5])
    run(step, batches[:1])
    assert len(graphs(step)) == 1


def test_other_options_make_another_graph():
    batches = nets.batches("mlp", 2)
    seen = []
    for step in (made(momentum=0.5), taped(made(momentum=0.5))):
        losses = run(step, batches)
        getattr(step.optimizer, "0").momentum = 0.9
        seen.append(losses + run(step, batches) + run(step, batches))
    np.testing.assert_allclose(*seen, 1e-5)


def test_a_frozen_parameter_is_an_error_until_it_moves_again():
    batches = nets.batches("mlp", 2)
    seen = []
    for step in (made(), taped(made())):
        losses = run(step, batches)
        weight = step.get_parameter("module.1.weight")
        before = weight.detach().clone()
        weight.requires_grad_(False)
        with pytest.raises(RuntimeError, match="does not require grad"):
            run(step, batches)
        assert (weight == before).all()
        weight.requires_grad_(True)
        losses += run(step, batches)
        assert not (weight == before).all()
        seen.append(losses)
    np.testing.assert_allclose(*seen, 1e-5)


def test_memory_that_changes_is_seen():
    batches = nets.batches("mlp", 2)
    seen = []
    for step in (made(), taped(made())):
        losses = run(step, batches)
        with sl.no_grad():
            step.get_parameter("module.1.weight").mul_(0.5)
        losses += run(step, batches)
        step.eval()
        losses.append(step(sl.from_numpy(batches[0][0])).sum().item())
        step.train()
        weight = step.get_parameter("module.1.weight")
        weight.data = weight.detach() * 2
        seen.append(losses + run(step, batches))
    np.testing.assert_allclose(*seen, 1e-5)


def test_batches_of_other_sizes():
    (x, y), seen = nets.batches("mlp", 1)[0], []
    parts = [(x[:n], y[:n]) for n in (8, 5, 3, 8, 1, 6)]
    for step in (made(), taped(made())):
        seen.append(run(step, parts))
    np.testing.assert_allclose(*seen, 1e-5)


class Turning(nn.Module):
    """A recurrent net whose loop is another graph for each length."""

    def __init__(self):
        super().__init__()
        self.turn = nn.Linear(3, 3)

    def forward(self, x: sl.Tensor):
        h = torch.zeros(x.size(0), 3)
        for t in range(x.size(1)):
            h = torch.tanh(self.turn(h) + x[:, t])
        return h.sum()


def test_many_lengths_are_recorded_in_the_end():
    seen = []
    for take in (lambda s: s, taped):
        sl.manual_seed(1)
        model = Turning()
        step = take(optim.training_step(model, None, optim.SGD(model.parameters(), lr=0.1)))
        seen.append([step.step(sl.ones(2, n, 3)).item() for n in (*range(1, 13), *range(1, 13))])
    np.testing.assert_allclose(*seen, 1e-5)


class Scaled(nn.Module):
    def __init__(self, memory):
        super().__init__()
        self.first = nn.Parameter(sl.from_numpy(memory[:4]))
        self.second = nn.Parameter(sl.from_numpy(memory[2:]))

    def forward(self, x):
        return (x * self.first * self.second).sum()


def test_memory_of_two_parameters_is_recorded():
    memories = np.ones(6, "float32"), np.ones(6, "float32")
    steps = []
    for memory in memories:
        model = Scaled(memory)
        step = optim.training_step(model, None, optim.SGD(model.parameters(), lr=0.1))
        steps.append(step if not steps else taped(step))
    for step in steps:
        for _ in range(3):
            step.step(sl.ones(4))
    np.testing.assert_array_equal(*memories)
    assert [g.reason for g in graphs(steps[0])] == ["memory that is written belongs to two tensors"]


def test_an_argument_that_is_a_part_of_the_module_is_recorded():
    results = []
    for take in (lambda s: s, taped):
        model = Scaled(np.ones(8, "float32")[[0, 1, 2, 3, 4, 5, 6, 7]])
        model.second = nn.Parameter(sl.ones(4))
        step = take(optim.training_step(model, None, optim.SGD(model.parameters(), lr=0.1)))
        step.step(sl.ones(4))
        for _ in range(2):
            step.step(model.first.detach())
        results.append(model.first.tolist() + model.second.tolist())
    assert results[0] == results[1]


def test_what_elements_decide_is_recorded():
    def loss(made: sl.Tensor, target: sl.Tensor) -> sl.Tensor:
        if bool((made > 0).any()):
            return (made * target).sum()
        return (made - target).abs().sum()

    seen = []
    for take in (lambda s: s, taped):
        sl.manual_seed(1)
        model = nn.Linear(3, 2)
        step = take(optim.training_step(model, loss, optim.SGD(model.parameters(), lr=0.1)))
        seen.append([step.step(sl.ones(2, 3), sl.ones(2, 2)).item() for _ in range(4)])
    assert seen[0] == seen[1]


def test_a_copy_trains_its_own_parameters():
    batches = nets.batches("lstm", 3)
    step = made("lstm")
    run(step, batches)
    other = copy.deepcopy(step)
    kept = [p.detach().clone() for p in step.parameters()]
    losses = run(other, batches)
    assert all((p == k).all() for p, k in zip(step.parameters(), kept))
    assert losses == run(step, batches)
    assert [g.reason for g in graphs(step)] == ["", ""]


class Branching(nn.Module):
    """Its control flow depends on elements, so that there is no straight graph."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: sl.Tensor) -> sl.Tensor:
        made = self.linear(x)
        if bool(made.sum() > 100.0):
            made = made * 2.0
        return made.pow(2).sum()


class Straight(Branching):
    def forward(self, x: sl.Tensor) -> sl.Tensor:
        return self.linear(x).pow(2).sum()


@pytest.mark.parametrize("model", [Branching, Straight])
def test_a_step_is_a_write_to_parameters(model):
    net, x = model(), sl.ones(2, 3)
    step = optim.training_step(net, None, optim.SGD(net.parameters(), lr=0.1))
    step.step(x)
    before = (net.linear.weight * net.linear.weight).sum()
    step.step(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        before.backward()
    (net.linear.weight * net.linear.weight).sum().backward()
