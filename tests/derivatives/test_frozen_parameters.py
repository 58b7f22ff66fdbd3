"""Parameters whose `requires_grad` changes between calls of a program."""

from __future__ import annotations

import io

import pytest
from scriptlang.interpreter.engine import available

import scriptlang as sl
from scriptlang import nn
from scriptlang.ops.derivatives.state import turned


class Product(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(sl.ones(3)), nn.Parameter(sl.ones(3))

    def forward(self, x):
        return (x * self.a * self.b).sum()

    @sl.jit.export
    def by_a(self, x: sl.Tensor) -> sl.Tensor:
        found = torch.autograd.grad([(x * self.a * self.b).sum()], [self.a])[0]
        assert found is not None
        return found


def gradients(program, x):
    program.zero_grad()
    program(x).backward()
    return [None if p.grad is None else p.grad.tolist() for p in (program.a, program.b)]


@pytest.mark.parametrize("engine", available())
def test_calls_follow_the_flags(engine):
    program, x = sl.script(Product(), engine=engine), sl.full((3,), 2.0)
    both = [[2.0] * 3] * 2
    list(program.parameters())
    assert gradients(program, x) == both
    program.a.requires_grad_(False)
    assert gradients(program, x) == [None, [2.0] * 3]
    program.a.requires_grad_(True)
    assert gradients(program, x) == both
    program.b.requires_grad = False
    assert gradients(program, x) == [[2.0] * 3, None]


@pytest.mark.parametrize("engine", available())
def test_programs_that_ask_follow_the_flags(engine):
    program, x = sl.script(Product(), engine=engine), sl.full((3,), 2.0)
    for _ in range(2):
        assert program.by_a(x).tolist() == [2.0] * 3
        program.a.requires_grad_(False)
        with pytest.raises(
            RuntimeError, match="element 0 of the input tensors does not require grad"
        ):
            program.by_a(x)
        program.a.requires_grad_(True)


@pytest.mark.parametrize("engine", available())
def test_who_has_one_parameter_gets_all_gradients(engine):
    program, x = sl.script(Product(), engine=engine), sl.full((3,), 2.0)
    program.a.requires_grad_(False)
    y = program(x)
    assert y.requires_grad
    y.backward()
    assert program.a.grad is None
    assert program.b.grad.tolist() == [2.0] * 3


def test_native_programs_do_not_look_at_frozen_leaves_elsewhere():
    module = sl.script(nn.Linear(2, 2), engine="native")
    assert list(module.parameters())
    others = [sl.ones(2, requires_grad=True) for _ in range(3)]
    module(sl.ones(1, 2))
    before = len(turned)
    for other in others:
        other.requires_grad_(False)
    assert len(turned) == before
    module.weight.requires_grad_(False)
    assert len(turned) == before + 1
    module(sl.ones(1, 2)).sum().backward()
    assert module.weight.grad is None and module.bias.grad is not None


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.ws = [sl.ones(2, requires_grad=True), sl.ones(2)]

    def forward(self, x: sl.Tensor) -> sl.Tensor:
        return (x * self.ws[0] * self.ws[1]).sum()


@pytest.mark.parametrize("engine", ["native", "python"])
def test_leaves_in_lists_may_begin_to_require_gradients(engine):
    plain = Listed()
    module, (a, b) = sl.script(plain, engine=engine), plain.ws
    for first, second in [(True, False), (True, True), (False, True), (False, False)]:
        a.requires_grad_(first)
        b.requires_grad_(second)
        a.grad = b.grad = None
        module(sl.ones(2).requires_grad_()).backward()
        assert [a.grad is not None, b.grad is not None] == [first, second]


def test_leaves_in_lists_stay_those_of_python_when_another_module_is_read():
    plain = Listed()
    module, (a, _) = sl.script(plain, engine=available()[-1]), plain.ws
    for _ in range(2):
        a.grad = None
        module(sl.ones(2).requires_grad_()).backward()
        assert a.grad is not None
        list(sl.script(nn.Linear(2, 2)).parameters())


def by_attribute(module):
    module.weight.requires_grad_(True)


def by_property(module):
    module.weight.requires_grad = True


def by_parameters(module):
    for p in module.parameters():
        p.requires_grad_(True)


def by_name(module):
    dict(module.named_parameters())["weight"].requires_grad_(True)


def by_module(module):
    module.requires_grad_(True)


@pytest.mark.parametrize("engine", available())
@pytest.mark.parametrize("unfreeze", [by_attribute, by_property, by_parameters, by_name, by_module])
def test_a_frozen_archive_can_learn(engine, unfreeze):
    """What requires no gradient when Python gets it may do so later."""
    frozen = nn.Linear(3, 2)
    for p in frozen.parameters():
        p.requires_grad_(False)
    file = io.BytesIO()
    sl.script(frozen).save(file)
    module = sl.load(io.BytesIO(file.getvalue()), engine=engine)
    x = sl.ones(4, 3)
    assert not module(x).requires_grad
    unfreeze(module)
    module(x).sum().backward()
    assert module.weight.grad.tolist() == [[4.0] * 3] * 2
    module.weight.requires_grad_(False)
    module.bias.requires_grad_(False)
    assert not module(x).requires_grad
