"""aot_backward: calls that are one node of the tape; what they keep, and compute again."""

from __future__ import annotations

import numpy as np
import pytest

import scriptlang
from scriptlang import aot_backward
from tests.ahead.test_value_and_grad import ENGINES, Counting, Net, batch, equal, ours, tensor

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("engine", ENGINES)
def test_a_module_is_trained(engine):
    torch.manual_seed(0)
    model = Net()
    mine = scriptlang.script(model, engine=engine)
    step = aot_backward(mine, engine=engine)
    theirs = Net()
    theirs.load_state_dict({k: v.clone() for k, v in model.state_dict().items()})
    for n in (6, 6, 4, 5):
        args = batch(n)
        (theirs(*args) * 2).backward()
        loss = step(*map(ours, args))
        assert loss.grad_fn.name() == "AheadBackward0"
        (loss * 2).backward()
        assert step.why(*map(ours, args)) == ""
        for (_, p), q in zip(mine.named_parameters(), theirs.parameters()):
            equal(p.grad, q.grad)
        with torch.no_grad(), scriptlang.no_grad():
            for p, q in zip(mine.parameters(), theirs.parameters()):
                q -= 0.1 * q.grad
                p.sub_(p.grad * 0.1)
        theirs.zero_grad()
        mine.zero_grad()


def several(x, y):
    h = torch.tanh(x * y)
    return h.sum(1), (h * h, x.size(0)), [y.exp()]


@pytest.mark.parametrize("engine", ENGINES)
def test_several_results_and_missing_gradients(engine):
    x, y = tensor(2, 3).requires_grad_(), tensor(1, 3, seed=1).requires_grad_()
    theirs = several(x, y)
    want = torch.autograd.grad(theirs[1][0].sum() + theirs[0].prod(), [x, y])
    a, b = ours(x).requires_grad_(), ours(y).requires_grad_()
    first, (second, number), (third,) = aot_backward(several, engine=engine)(a, b)
    assert number == 2
    assert third.requires_grad
    found = scriptlang.autograd.grad(second.sum() + first.prod(), [a, b])
    equal(list(found), list(want))


def test_only_what_requires_a_gradient_is_differentiated():
    a, b = ours(tensor(2, 3)).requires_grad_(), ours(tensor(1, 3))
    step = aot_backward(several)
    step(a, b)[0].sum().backward()
    assert a.grad is not None
    assert b.grad is None
    with scriptlang.no_grad():
        assert not step(a, b)[0].requires_grad


@pytest.mark.parametrize("engine", ENGINES)
def test_second_derivatives_record_the_program_again(engine):
    x, y = tensor(2, 3).requires_grad_(), tensor(1, 3, seed=1).requires_grad_()
    first = torch.autograd.grad(several(x, y)[0].sum(), [x, y], create_graph=True)
    want = torch.autograd.grad(sum((g * g).sum() for g in first), [x, y])
    a, b = ours(x).requires_grad_(), ours(y).requires_grad_()
    mine = scriptlang.autograd.grad(
        aot_backward(several, engine=engine)(a, b)[0].sum(), [a, b], create_graph=True
    )
    found = scriptlang.autograd.grad((mine[0] ** 2).sum() + (mine[1] ** 2).sum(), [a, b])
    equal(list(found), list(want))


def test_errors_of_the_tape():
    a, b = ours(tensor(2, 3)).requires_grad_(), ours(tensor(1, 3))
    loss = aot_backward(several)(a, b)[0].sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    loss = aot_backward(several)(a, b)[0].sum()
    b.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_what_is_written_is_recorded():
    step = aot_backward(scriptlang.script(Counting()))
    loss = step(ours(batch()[0]))
    assert "are written" in step.why(ours(batch()[0]))
    loss.backward()


# The partition


class Chain(torch.nn.Module):
    """Cheap operators between products, and a mask."""

    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(4, 64), torch.nn.Linear(64, 1)

    def forward(self, x):
        h = torch.exp(torch.sin(torch.nn.functional.gelu(self.first(x))) * 0.5)
        h = torch.nn.functional.dropout(h, 0.5, True)
        return self.last(h * h).mean()


def report_of(step, *args):
    return scriptlang.inspect(step, args)


def test_cheap_operators_are_computed_again():
    report = report_of(aot_backward(scriptlang.script(Chain())), ours(batch(32)[0]))
    again = {name.partition(".")[0] for name in report.again}
    assert {"aten::gelu", "aten::sin", "aten::exp"} <= again
    assert not again & {"aten::linear", "aten::bernoulli", "aten::bernoulli_"}
    wide = [size for _, shape, size in report.kept if shape == "Float(32, 64)"]
    assert len(wide) == 2  # the first product and the mask
    assert report.kept_bytes < 3 * 32 * 64 * 4
    drawn = [n for n in report.forward.walk() if "bernoulli" in n.kind]
    assert len(drawn) == 1
    assert not [n for n in report.backward.walk() if "bernoulli" in n.kind]
    text = str(report)
    for part in ("kept for going backward", "computed again: ", "forward:", "backward:"):
        assert part in text


@pytest.mark.parametrize("engine", ENGINES)
def test_dropout_is_drawn_once(engine):
    torch.manual_seed(0)
    model, x = Chain(), batch(8)[0]
    mine = scriptlang.script(model, engine=engine)
    step = aot_backward(mine, engine=engine)
    for seed in (1, 2):
        torch.manual_seed(seed)
        model.zero_grad()
        model(x).backward()
        scriptlang.manual_seed(seed)
        mine.zero_grad()
        step(ours(x)).backward()
        for p, q in zip(mine.parameters(), model.parameters()):
            equal(p.grad, q.grad)
        assert np.asarray(scriptlang.rand(1).numpy()) == torch.rand(1).numpy()


def test_reports_say_why_there_is_no_graph():
    def until(x):
        while bool(x.sum() > 1):
            x = x / 2
        return x.sum()

    report = report_of(scriptlang.value_and_grad(until), ours(tensor(3)))
    assert "depends on elements" in str(report)
    assert report.graph is None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", [Chain, Net])
def test_one_graph_computes_again_what_takes_memory(make, engine, monkeypatch):
    from scriptlang.ir import OPTIMIZED
    from scriptlang.passes.ahead import again

    torch.manual_seed(0)
    model = scriptlang.script(make())
    args = [ours(a) for a in batch(16)[: 1 if make is Chain else 2]]
    results, counts = [], []
    for least in (1 << 60, 1):
        monkeypatch.setattr(again, "LEAST_BYTES", least)
        both = scriptlang.value_and_grad(model, engine=engine)
        scriptlang.manual_seed(3)
        value, grads = both(*args)
        results.append([value.numpy(), *(g.numpy() for g in grads.values())])
        made = next(iter(both.kinds.exact.values())).function._function.attributes[OPTIMIZED]
        counts.append(sum(node.kind == "aten::gelu" for node in made.walk_all()))
    assert counts == [1, 2]
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, 1e-6, 1e-7)
