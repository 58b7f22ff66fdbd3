"""Lists and dicts across the boundary of programs: what is copied, and what is shared."""

from __future__ import annotations

from typing import Dict, List

import pytest
from scriptlang.interpreter import engine as engines

import scriptlang
from scriptlang import Tensor, jit, nn

ENGINES = engines.available()


def put(d: Dict[int, int], key: int, value: int):
    d[key] = value


def append(values: List[int], value: int) -> List[int]:
    values.append(value)
    return values


def grown(xs: Dict[str, Tensor]) -> Dict[str, Tensor]:
    xs["a"] += 1
    return xs


@pytest.mark.parametrize("engine", ENGINES)
def test_a_script_dict_is_changed_by_programs(engine):
    shared, plain = jit.script({1: 2}), {1: 2}
    program = scriptlang.script(put, engine=engine)
    program(shared, 3, 4)
    program(plain, 3, 4)
    assert dict(shared.items()) == {1: 2, 3: 4}
    assert plain == {1: 2}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_script_list_is_changed_by_programs(engine):
    shared = jit.script([1, 2])
    result = scriptlang.script(append, engine=engine)(shared, 3)
    assert list(shared) == result == [1, 2, 3]
    result.append(4)
    assert len(shared) == 3


def test_a_script_list_is_like_a_list():
    values = jit.script([1, 2, 3, 4])
    assert repr(values) == "[1, 2, 3, 4]" and len(values) == 4 and 3 in values and values
    assert values[-1] == 4 and list(values[1:3]) == [2, 3] and values.count(1) == 1
    values[:4:2] = [10, 11]
    values.insert(0, 7)
    values.extend({8: 1})
    values.remove(4)
    del values[0]
    assert list(values) == [10, 2, 11, 8] and values.pop(1) == 2
    values.clear()
    assert not values


@pytest.mark.parametrize(
    "act",
    [
        lambda v: v.append("a"),
        lambda v: v.extend(["a"]),
        lambda v: v.count("a"),
        lambda v: v.remove("a"),
        lambda v: "a" in v,
        lambda v: v["a"],
        lambda v: v.__setitem__(0, "a"),
    ],
)
def test_elements_of_another_type_are_refused(act):
    with pytest.raises(TypeError):
        act(jit.script([1]))


def test_a_script_dict_is_like_a_dict():
    values = jit.script({1: 2, 3: 4})
    assert repr(values) == "{1: 2, 3: 4}" and len(values) == 2 and list(values) == [1, 3]
    del values[1]
    assert 1 not in values and values[3] == 4
    for act in (lambda: values["a"], lambda: "a" in values, lambda: values[9]):
        with pytest.raises(KeyError):
            act()
    for change in (lambda: values.__setitem__("a", 1), lambda: values.__setitem__(1, "a")):
        with pytest.raises(TypeError):
            change()


def test_lists_of_no_one_type_are_refused():
    with pytest.raises(TypeError, match="whose type is known"):
        jit.script([object()])


class Counts(nn.Module):
    seen: List[int]

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, n: int):
        self.seen.append(n)
        return self.seen


@pytest.mark.parametrize("engine", ENGINES)
def test_a_result_is_no_attribute(engine):
    module = scriptlang.script(Counts(), engine=engine)
    first = module(1)
    first.append(9)
    assert module(2) == [1, 2] and first == [1, 9]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_tensor_in_a_dict_is_replaced_by_an_augmented_assignment(engine):
    given = {"a": scriptlang.ones(1)}
    result = scriptlang.script(grown, engine=engine)(given)
    assert result["a"].item() == 2 and given["a"].item() == 1


@pytest.mark.oracle
def test_pytorch_replaces_it_too():
    torch = pytest.importorskip("torch")

    def replaced(xs: Dict[str, torch.Tensor]):
        xs["a"] += 1
        return xs

    given = {"a": torch.ones(1)}
    assert torch.jit.script(replaced)(given)["a"].item() == 2 and given["a"].item() == 1


def hashed(values: List[int]) -> int:
    return hash(values)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_list_has_no_hash(engine):
    with pytest.raises(RuntimeError, match=r"unhashable type: 'List\[int\]'"):
        scriptlang.script(hashed, engine=engine)([1])
