"""Scripted modules of scriptlang.nn: attributes, methods, containers, sharing, hooks, state."""

from __future__ import annotations

import copy
import io
from typing import Dict, Final, List, Optional, Tuple

import numpy as np
import pytest
from scriptlang.interpreter import engine as engines

import scriptlang
from scriptlang import CompileError, Tensor, jit, nn


def tensor(*values: float) -> Tensor:
    return scriptlang.from_numpy(np.array(values, np.float32))


def run(module: nn.Module, *args):
    """What the scripted module gives on both engines and after a round trip: all the same."""
    results = []
    for engine in ("python", "auto"):
        results.append(jit.script(module, engine=engine)(*args))
    file = io.BytesIO()
    jit.script(module).save(file)
    results.append(scriptlang.load(file.getvalue(), engine="python")(*args))
    for other in results[1:]:
        np.testing.assert_allclose(results[0].numpy(), other.numpy(), rtol=1e-6)
    return results[0].tolist()


class Scale(nn.Module):
    def __init__(self, by: float = 2.0):
        super().__init__()
        self.by = by

    def forward(self, x):
        return x * self.by


class ShiftedScale(Scale):
    def forward(self, x):
        return super().forward(x) + 1


def test_super_is_the_method_of_the_base():
    assert run(ShiftedScale(3.0), tensor(1, 2)) == [4.0, 7.0]


class Attributes(nn.Module):
    steps: List[int]
    seen: Dict[str, Tensor]
    limit: Final[int]

    def __init__(self):
        super().__init__()
        self.steps = []
        self.seen = {}
        self.limit = 3
        self.shape = (1, 2.5, "a")
        self.maybe = jit.Attribute(None, Optional[Tensor])
        self.unusable = object()
        self.function = scriptlang.relu
        self.register_buffer("offset", tensor(1, 1))
        self.nothing = None

    def forward(self, x):
        self.steps.append(self.limit)
        self.seen["x"] = x
        if self.nothing is not None:
            x = self.nothing(x)
        if self.maybe is None:
            self.maybe = x
        return self.function(x + self.offset) * self.shape[1] + self.steps[0]


def test_attributes_have_their_annotated_or_inferred_types():
    scripted = jit.script(Attributes(), engine="python")
    assert scripted(tensor(-3, 1)).tolist() == [3.0, 8.0]
    assert scripted.steps == [3] and list(scripted.seen) == ["x"]
    assert scripted.maybe.tolist() == [-3.0, 1.0]


class UsesUnusable(nn.Module):
    def __init__(self):
        super().__init__()
        self.unusable = object()

    def forward(self, x):
        return self.unusable


def test_an_attribute_without_a_type_is_refused_where_it_is_used():
    with pytest.raises(CompileError, match="no type of the language fits a value of") as caught:
        jit.script(UsesUnusable())
    assert caught.value.span.text == "self.unusable"


class Containers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Scale(2.0), Scale(3.0)])
        self.named = nn.ModuleDict({"a": Scale(5.0), "b": Scale(7.0)})
        self.weights = nn.ParameterList([nn.Parameter(tensor(1, 2)), nn.Parameter(tensor(3, 4))])

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
        for name, layer in self.named.items():
            if name in self.named:
                x = layer(x)
        for layer in self.layers[1:]:
            x = layer(x)
        for weight in self.weights:
            x = x + weight
        for layer in reversed(self.layers):
            x = layer(x)
        return self.named["a"](self.layers[-1](x)) + len(self.layers) + len(self.named)


def test_containers_are_unrolled():
    x = tensor(1, -1)
    assert run(Containers(), x) == Containers()(x).tolist()


@jit.interface
class Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class ChosenAtRunTime(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Scale(2.0), ShiftedScale(10.0)])

    def forward(self, x, i: int):
        layer: Step = self.layers[i]
        return layer.forward(x)


def test_members_are_chosen_at_run_time_through_an_interface():
    assert run(ChosenAtRunTime(), tensor(1), 1) == [11.0]
    assert run(ChosenAtRunTime(), tensor(1), 0) == [2.0]


class ChosenByKey(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"twice": Scale(2.0), "shifted": ShiftedScale(10.0)})

    def forward(self, x, key: str):
        layer: Step = self.layers[key]
        return layer.forward(x)


@pytest.mark.parametrize("engine", engines.available())
def test_both_engines_choose_members_at_run_time(engine):
    by_index = jit.script(ChosenAtRunTime(), engine=engine)
    assert [by_index(tensor(1), i).tolist() for i in (0, 1, -1)] == [[2.0], [11.0], [11.0]]
    by_key = jit.script(ChosenByKey(), engine=engine)
    assert by_key(tensor(1), "shifted").tolist() == [11.0]
    for chosen, wrong in ((by_index, 2), (by_key, "none")):
        with pytest.raises(RuntimeError, match="has no submodule"):
            chosen(tensor(1), wrong)


class ChosenWithoutInterface(ChosenAtRunTime):
    def forward(self, x, i: int):
        return self.layers[i](x)


def test_a_variable_index_without_an_interface_is_refused():
    with pytest.raises(CompileError, match="Expected integer literal for index"):
        jit.script(ChosenWithoutInterface())


class Walks(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = nn.Sequential(nn.Linear(2, 2), Scale())

    def forward(self, x):
        for name, child in self.named_children():
            x = x + len(name)
        for name, p in self.named_parameters():
            x = x + p.sum() * len(name)
        for m in self.modules():
            x = x + 1
        return x


def test_walks_over_modules_and_parameters():
    m = Walks()
    expected = 2 + 5 + sum(float(p.sum()) * len(n) for n, p in m.named_parameters())
    assert run(m, tensor(0))[0] == pytest.approx(expected, rel=1e-5)


class Methods(nn.Module):
    __jit_unused_properties__ = ["python_only"]

    def __init__(self):
        super().__init__()
        self.n = 1

    @property
    def double(self) -> int:
        return self.n * 2

    @double.setter
    def double(self, value: int):
        self.n = value // 2

    @property
    def python_only(self):
        return eval("1")

    @staticmethod
    def twice(n: int):
        return 2 * n

    @jit.export
    def exported(self, n: int = 4) -> int:
        return self.helper(n) + self.double

    def helper(self, n):
        # type: (int) -> int
        return self.twice(n)

    @jit.unused
    def unused(self, x, options=[]):
        return {x: options}

    def forward(self, x):
        if x.dim() > 5:
            self.unused(x)
        self.double = 10
        return x + self.double


def test_methods_properties_and_exports():
    scripted = jit.script(Methods())
    assert scripted.exported() == 10 and scripted.exported(n=1) == 4
    assert scripted(tensor(1)).tolist() == [11.0]
    assert scripted.n == 5 and scripted.double == 10
    scripted.double = 8
    assert scripted.n == 4


class Ignoring(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 3

    @jit.ignore
    def in_python(self, x: Tensor) -> Tensor:
        return scriptlang.from_numpy(np.sort(x.numpy()) * self.n)

    def forward(self, x):
        return self.in_python(x) + 1


def test_ignored_methods_run_in_python_and_cannot_be_saved():
    scripted = jit.script(Ignoring())
    assert scripted(tensor(2, 1)).tolist() == [4.0, 7.0]
    assert scripted.in_python(tensor(2, 1)).tolist() == [3.0, 6.0]
    with pytest.raises(scriptlang.ArchiveError, match="export Python function call 'in_python'"):
        scripted.save(io.BytesIO())


def test_equal_modules_share_a_type_and_different_constants_do_not():
    scripted = jit.script(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2, False)))
    first, second, third = scripted
    assert first._type is second._type
    assert first._type is not third._type


def test_tensors_are_shared_with_the_module():
    m = nn.Linear(2, 2)
    scripted = jit.script(m)
    scripted.weight.detach().zero_()
    assert m.weight.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def before(self, input: Tuple[Tensor]) -> Tensor:
    return input[0] + 1


def after(self, input: Tuple[Tensor], output: Tensor) -> Tensor:
    return output * 10


def wrong(self, input: Tuple[int], output: Tensor) -> Tensor:
    return output


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = ShiftedScale(2.0)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


def test_hooks_run_around_forward():
    m = Hooked()
    m.register_forward_pre_hook(before)
    m.inner.register_forward_hook(after)
    assert run(m, tensor(1)) == [50.0]


def test_a_hook_has_to_fit_forward():
    m = Hooked()
    m.register_forward_hook(wrong)
    with pytest.raises(CompileError, match="wrong inner types for the input"):
        jit.script(m)


class Swapped(nn.Module):
    step: Step

    def __init__(self):
        super().__init__()
        self.step = Scale(2.0)

    def forward(self, x):
        return self.step.forward(x)


def test_a_submodule_behind_an_interface_can_be_swapped():
    scripted = jit.script(Swapped(), engine="python")
    assert scripted(tensor(1)).tolist() == [2.0]
    scripted.step = jit.script(ShiftedScale(2.0))
    assert scripted(tensor(1)).tolist() == [3.0]
    with pytest.raises(RuntimeError, match="is not compatible with interface"):
        scripted.step = jit.script(nn.Linear(2, 2))


def test_state_and_copies():
    scripted = jit.script(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))
    assert list(scripted.state_dict()) == [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
        "1.running_mean",
        "1.running_var",
        "1.num_batches_tracked",
    ]
    copied = copy.deepcopy(scripted)
    copied[0].weight.detach().zero_()
    assert scripted[0].weight.abs().sum().item() > 0
    missing, unexpected = scripted.load_state_dict(copied.state_dict())
    assert not missing and not unexpected and scripted[0].weight.abs().sum().item() == 0
    with pytest.raises(RuntimeError, match="Missing key"):
        scripted.load_state_dict({})
    assert scripted.training and not scripted.eval().training and not scripted[1].training


def test_attributes_are_checked_when_they_are_set():
    scripted = jit.script(Scale())
    scripted.by = 4
    assert scripted(tensor(1)).tolist() == [4.0]
    with pytest.raises(RuntimeError, match="value of type 'float'"):
        scripted.by = "text"


def test_methods_are_defined_from_a_text():
    scripted = jit.script(Scale())
    scripted.define("def twice(self, x):\n    return self.forward(self.forward(x))\n")
    assert scripted.twice(tensor(1)).tolist() == [4.0]


def test_a_recurrent_layer_takes_the_overload_that_fits():
    scripted = jit.script(nn.LSTM(2, 3).eval())
    output, (h, c) = scripted(scriptlang.ones(4, 1, 2))
    assert list(output.shape) == [4, 1, 3] and list(h.shape) == [1, 1, 3] == list(c.shape)


class ClassConstant(nn.Module):
    SIZE = 3

    def forward(self, x):
        return x + self.SIZE


def test_class_attributes_have_to_be_final():
    with pytest.raises(CompileError, match="an attribute of the class ClassConstant") as caught:
        jit.script(ClassConstant())
    assert caught.value.span.text == "self.SIZE" and "Final" in caught.value.help


class ByName(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleDict({"relu": nn.ReLU(), "sigmoid": nn.Sigmoid()})

    def forward(self, x) -> Dict[str, Tensor]:
        return {name: step(x) for name, step in self.steps.items()}


@pytest.mark.parametrize("engine", ["python", "auto"])
def test_a_dict_comprehension_runs_over_modules(engine):
    found = scriptlang.script(ByName(), engine=engine)(scriptlang.zeros(2))
    assert {n: t.tolist() for n, t in found.items()} == {"relu": [0, 0], "sigmoid": [0.5, 0.5]}


relu_of_python = nn.ReLU()


def calls_a_module(x):
    return relu_of_python(x) + 1


def test_a_module_among_the_globals_runs_in_python(tmp_path):
    compiled = scriptlang.script(calls_a_module, engine="python")
    assert compiled(scriptlang.tensor([-1.0, 2.0])).tolist() == [1, 3]
    with pytest.raises(scriptlang.ScriptError, match="Python function"):
        scriptlang.save(compiled, tmp_path / "f.pt")


class Stars(nn.Module):
    def __init__(self):
        super().__init__()
        self.by = 3

    def forward(self, *xs, **named):
        total = xs[0] * self.by
        for x in xs[1:]:
            total = total + x
        for name, value in named.items():
            total = total * value + len(name)
        return total


class CallsStars(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Stars()

    def add(self, x, *args: int, scale: float = 2.0, **named):
        for i in args:
            x = x + i
        if "by" in named:
            x = x * named["by"]
        return x * scale

    def forward(self, x):
        return scriptlang.cat(
            [
                self.add(x, 1, 2),
                self.add(x, by=3),
                self.add(x, 5, scale=1.0, by=x),
                self.inner(x),
                self.inner(x, x, q=2.0),
            ]
        )


def test_methods_with_stars_where_every_call_is_known():
    expected = [8.0, 6.0, 6.0, 3.0, 9.0]
    assert run(CallsStars(), tensor(1)) == expected
    assert CallsStars()(tensor(1)).tolist() == expected


def test_a_forward_with_stars_cannot_be_called_from_outside():
    with pytest.raises(CompileError, match="variable number of arguments"):
        scriptlang.script(Stars())


@jit.script
class Counter:
    def __init__(self, start: int):
        self.count = start

    def add(self, *more: int) -> int:
        for i in more:
            self.count += i
        return self.count

    def both(self, x: int, **named):
        return self.add(x, named["p"]), len(named)


def counts(x: int):
    c = Counter(x)
    return c.add(1, 2, 3), c.add(), c.both(4, p=5, q="s"), c.count


def test_methods_of_classes_with_stars(tmp_path):
    compiled = scriptlang.script(counts)
    assert compiled(1) == (7, 7, (16, 2), 16)
    scriptlang.save(compiled, tmp_path / "f.pt")
    assert scriptlang.load(tmp_path / "f.pt")(1) == (7, 7, (16, 2), 16)


class WithClassMethod(nn.Module):
    @classmethod
    def twice(cls, x: int) -> int:
        return cls.once(x) + cls.once(x)

    @staticmethod
    def once(x: int) -> int:
        return x

    def forward(self, x, n: int = 2):
        return x + self.twice(n)


def test_class_methods_of_modules():
    assert run(WithClassMethod(), tensor(1)) == [5.0]


@jit.script
class HoldsATensor:
    def __init__(self, value: Tensor):
        self.value = value


class HoldsAHolder(nn.Module):
    def __init__(self):
        super().__init__()
        self.holder = HoldsATensor("not a tensor")

    def forward(self, x):
        return x + self.holder.value


def test_an_object_with_a_wrong_attribute_is_shown_at_its_class():
    with pytest.raises(CompileError, match="'value' of HoldsATensor to type Tensor") as e:
        scriptlang.script(HoldsAHolder())
    assert e.value.span.text == "class HoldsATensor"
