"""Objects that change between calls: engines look at what they hold now, not at what they held when
they were first passed."""

from __future__ import annotations

import io
from typing import Any, Dict, List, Optional

import pytest
from scriptlang.interpreter.engine import available

import scriptlang
from scriptlang import Tensor, jit, nn

ENGINES = [*available(), "auto"]


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


@jit.interface
class Adds:
    def add(self, x: int) -> int:
        pass


@jit.script
class AddsOne:
    def __init__(self):
        self.n = 1

    def add(self, x: int) -> int:
        return x + self.n


@jit.script
class AddsTen:
    def __init__(self):
        self.n = 10

    def add(self, x: int) -> int:
        return x + self.n


@jit.script
class Holds:
    adds: Adds
    many: List[Adds]
    named: Dict[str, Adds]
    perhaps: Optional[Adds]

    def __init__(self):
        many: List[Adds] = []
        named: Dict[str, Adds] = {}
        perhaps: Optional[Adds] = None
        self.adds = AddsOne()
        self.many = many
        self.named = named
        self.perhaps = perhaps


class Sum(nn.Module):
    held: Holds

    def __init__(self):
        super().__init__()
        self.held = Holds()

    def forward(self, x: int) -> int:
        x = self.held.adds.add(x)
        for a in self.held.many:
            x = a.add(x)
        for a in self.held.named.values():
            x = a.add(x)
        perhaps = self.held.perhaps
        return x if perhaps is None else perhaps.add(x)

    @jit.export
    def attribute(self):
        self.held.adds = AddsTen()

    @jit.export
    def item_of_list(self):
        self.held.many.append(AddsTen())

    @jit.export
    def item_of_dict(self):
        self.held.named["ten"] = AddsTen()

    @jit.export
    def optional(self):
        self.held.perhaps = AddsTen()


@pytest.mark.parametrize("change", ["attribute", "item_of_list", "item_of_dict", "optional"])
def test_an_object_of_another_class_behind_an_interface(engine, change):
    module = scriptlang.script(Sum(), engine=engine)
    assert module(0) == 1
    getattr(module, change)()
    assert module(0) == (10 if change == "attribute" else 11)


@jit.interface
class Makes:
    def make(self) -> Adds:
        pass


@jit.script
class MakesTen:
    def __init__(self):
        self.n = 0

    def make(self) -> Adds:
        return AddsTen()


@jit.script
class HoldsMaker:
    maker: Makes

    def __init__(self):
        self.maker = MakesTen()


class Maker(nn.Module):
    held: HoldsMaker

    def __init__(self):
        super().__init__()
        self.held = HoldsMaker()

    def forward(self, x: int) -> int:
        return self.held.maker.make().add(x)


def test_an_object_that_a_method_behind_an_interface_makes(engine):
    assert scriptlang.script(Maker(), engine=engine)(0) == 10


@jit.script
class Counts:
    def __init__(self):
        self.n = 0

    def __enter__(self):
        self.n += 1

    def __exit__(self, kind: Any, value: Any, trace: Any):
        self.n += 100


class Enters(nn.Module):
    held: Holds
    counts: Counts

    def __init__(self):
        super().__init__()
        self.held, self.counts = Holds(), Counts()

    def forward(self, x: int) -> int:
        counts = self.counts
        with counts:
            x = self.held.adds.add(x)
        return x + counts.n


def test_with_beside_a_call_by_an_interface(engine):
    assert scriptlang.script(Enters(), engine=engine)(0) == 102


@jit.interface
class Transforms(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Doubles(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Scales(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(scriptlang.full([2], 3.0))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


class CallsPython(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        self.look(x)
        return x * 5

    @jit.ignore
    def look(self, x: Tensor) -> None:
        pass


class Outer(nn.Module):
    inner: Transforms

    def __init__(self):
        super().__init__()
        self.inner = Doubles()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner.forward(x)


def test_a_module_that_takes_the_place_of_another(engine):
    module = scriptlang.script(Outer(), engine=engine)
    assert module(scriptlang.ones(2)).tolist() == [2, 2]
    inner = module.inner = scriptlang.script(Scales(), engine=engine)
    (scale,) = inner.parameters()
    module(scriptlang.ones(2)).sum().backward()
    assert scale.grad.tolist() == [1, 1]


def test_auto_chooses_again_for_an_object_that_native_cannot_run():
    module = scriptlang.script(Outer())
    assert module(scriptlang.ones(2)).tolist() == [2, 2]
    module.inner = scriptlang.script(CallsPython())
    assert module(scriptlang.ones(2)).tolist() == [5, 5]


# Gradients


@jit.interface
class Computes:
    def compute(self, x: Tensor) -> Tensor:
        pass


@jit.script
class Nothing:
    def __init__(self):
        self.n = 0

    def compute(self, x: Tensor) -> Tensor:
        return x


@jit.script
class Gradient:
    def __init__(self):
        self.n = 0

    def compute(self, x: Tensor) -> Tensor:
        y = scriptlang.ones([2])
        y.requires_grad_()
        (y * y * x).sum().backward()
        grad = y.grad
        assert grad is not None
        return grad


@jit.script
class HoldsComputes:
    computes: Computes

    def __init__(self):
        self.computes = Nothing()


class Asks(nn.Module):
    held: HoldsComputes

    def __init__(self):
        super().__init__()
        self.held = HoldsComputes()

    def forward(self, x: Tensor) -> Tensor:
        return self.held.computes.compute(x)

    @jit.export
    def change(self):
        self.held.computes = Gradient()


def test_an_object_that_asks_for_gradients_behind_an_interface(engine):
    module = scriptlang.script(Asks(), engine=engine)
    assert module(scriptlang.ones(2)).tolist() == [1, 1]
    module.change()
    assert module(scriptlang.ones(2)).tolist() == [2, 2]


class Keeps(nn.Module):
    """It keeps tensors that it is passed, and those that it computes."""

    kept: Tensor
    many: List[Tensor]

    def __init__(self):
        super().__init__()
        self.kept, self.many = scriptlang.ones(2), [scriptlang.ones(2)]
        self.p = nn.Parameter(scriptlang.full([2], 2.0))

    def forward(self, x: Tensor) -> Tensor:
        for t in self.many:
            x = x * t
        return x * self.kept * self.p

    @jit.export
    def keep(self, x: Tensor):
        self.kept = x

    @jit.export
    def keep_list(self, many: List[Tensor]):
        self.many = many

    @jit.export
    def keep_item(self, x: Tensor):
        self.many[0] = x

    @jit.export
    def step(self, x: Tensor) -> Tensor:
        self.kept = self.kept * self.p + x
        return self.kept

    @jit.export
    def step_in_list(self, x: Tensor) -> Tensor:
        self.many[0] = self.many[0] * self.p + x
        return self.many[0]

    @jit.export
    def write(self, x: Tensor) -> Tensor:
        self.kept.copy_(x * self.p)
        return x


def keeps(engine):
    """A scripted Keeps that has run before, so that the engine knows it."""
    module = scriptlang.script(Keeps(), engine=engine)
    assert module(scriptlang.ones(2)).tolist() == [2, 2]
    return module


def wanted():
    return scriptlang.full([2], 3.0).requires_grad_()


@pytest.mark.parametrize("enabled", [True, False], ids=["recorded", "no_grad"])
@pytest.mark.parametrize("how", ["keep", "keep_list", "keep_item"])
def test_the_gradient_of_a_tensor_that_a_program_has_kept(engine, how, enabled):
    module, x = keeps(engine), wanted()
    with scriptlang.set_grad_enabled(enabled):
        getattr(module, how)([x] if how == "keep_list" else x)
    module(scriptlang.ones(2)).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2]


def test_a_tensor_that_is_kept_after_others_were_handed_out(engine):
    module = keeps(engine)
    (p,) = module.parameters()
    module(scriptlang.ones(2)).sum().backward()
    assert p.grad.tolist() == [1, 1]
    x = wanted()
    module.keep(x)
    module(scriptlang.ones(2)).sum().backward()
    assert p.grad.tolist() == [4, 4] and x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("how", ["step", "step_in_list"])
def test_what_a_program_computed_leads_back_through_the_call_before(engine, how):
    module, x = keeps(engine), scriptlang.ones(2).requires_grad_()
    getattr(module, how)(x)
    getattr(module, how)(x).sum().backward()
    assert x.grad.tolist() == [3, 3] and module.p.grad.tolist() == [5, 5]


def test_a_tensor_of_an_object_that_a_program_has_written(engine):
    for x in (scriptlang.ones(2).requires_grad_(), scriptlang.ones(2)):
        module = keeps(engine)
        (p,) = module.parameters()
        module.write(x)
        module(scriptlang.ones(2)).sum().backward()
        assert x.grad is None or x.grad.tolist() == [4, 4]
        assert p.grad.tolist() == [4, 4]  # once in write, once in forward


# Containers that both engines use


class Lists(nn.Module):
    """`native` runs on the native engine, `python` calls Python, so it runs on the Python one."""

    items: List[int]
    same: List[int]
    nested: Dict[str, List[int]]

    def __init__(self):
        super().__init__()
        self.items, self.same, self.nested = [], [], {"a": [1]}
        self.seen: int = 0

    def forward(self, k: int) -> int:
        self.items.append(k)
        return len(self.items)

    @jit.export
    def python(self, k: int) -> int:
        items = self.items
        items.append(k)
        self.look()
        items.append(self.seen)
        self.nested["a"].append(k)
        self.nested["b"] = [k]
        del self.nested["b"][0]
        return len(self.items) * 10 + len(self.nested["a"])

    @jit.export
    def share(self) -> int:
        self.same = self.items
        self.look()
        self.same.append(7)
        return len(self.items)

    @jit.export
    def fresh(self) -> bool:
        items: List[int] = []
        self.items = items
        self.look()
        items.append(1)
        return self.items is items and len(self.items) == 1

    @jit.export
    def fails(self):
        self.items.append(9)
        self.look()
        raise ValueError("no")

    @jit.ignore
    def look(self) -> None:
        self.seen = len(self.items)


def test_lists_and_dicts_that_both_engines_change(engine):
    module = scriptlang.script(Lists(), engine="python" if engine == "native" else engine)
    assert module(1) == 1
    assert module.python(2) == 32
    assert list(module.items) == [1, 2, 2]
    assert dict(module.nested) == {"a": [1, 2], "b": []}
    assert module(3) == 4
    assert module.share() == 5
    assert module(4) == 6 and list(module.same) == [1, 2, 2, 3, 7, 4]
    with pytest.raises(ValueError, match="no"):
        module.fails()
    assert list(module.same)[-1] == 9
    assert module.fresh()
    assert module(5) == 2 and len(module.same) == 7


class Calls(nn.Module):
    items: List[int]

    def __init__(self):
        super().__init__()
        self.items = []

    def forward(self, k: int) -> int:
        self.items.append(k)
        return len(self.items)

    @jit.export
    def around(self) -> List[int]:
        self.items.append(1)
        self.again()
        self.items.append(3)
        return self.items

    @jit.ignore
    def again(self) -> None:
        scripted[0](2)


scripted: List[Any] = []


def test_a_program_that_is_called_from_python_meanwhile():
    module = scriptlang.script(Calls())
    module(0)
    scripted[:] = [module]
    assert module.around() == [0, 1, 2, 3]
    assert module(4) == 5


def test_an_archive_whose_lists_both_engines_change():
    file = io.BytesIO()
    scriptlang.save(scriptlang.script(Sum()), file)
    file.seek(0)
    module = scriptlang.load(file)
    assert module(0) == 1
    module.item_of_list()
    assert module(0) == 11
