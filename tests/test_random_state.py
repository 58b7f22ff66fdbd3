"""The state of the random generator: PyTorch's bytes, taken and given back."""

from __future__ import annotations

import io
from typing import Optional

import pytest
from scriptlang.interpreter import engine as engines

import scriptlang

ENGINES = engines.available()


def draw(n: int):
    return scriptlang.randn(n).tolist(), scriptlang.rand(3).tolist()


@pytest.mark.parametrize("drawn", [0, 1, 3, 5, 16, 624, 700])
def test_a_state_brings_the_stream_back(drawn):
    scriptlang.manual_seed(3)
    scriptlang.randn(drawn)
    state = scriptlang.get_rng_state()
    assert state.dtype is scriptlang.uint8 and state.shape == (5056,)
    expected = draw(5)
    scriptlang.manual_seed(8)
    scriptlang.set_rng_state(state)
    assert draw(5) == expected and scriptlang.initial_seed() == 3


def drawn_from(generator: scriptlang.Generator):
    return scriptlang.rand(2, generator=generator)


def drawn_perhaps_from(generator: Optional[scriptlang.Generator] = None):
    return scriptlang.rand(2, generator=generator)


class Draws(scriptlang.nn.Module):
    def forward(self, generator: scriptlang.Generator):
        return scriptlang.rand(2, generator=generator)


@pytest.mark.parametrize("engine", ["auto", "python"])
def test_programs_take_generators(engine):
    def fresh():
        return scriptlang.Generator().manual_seed(3)

    expected = drawn_from(fresh()).tolist()
    for function in (drawn_from, drawn_perhaps_from):
        assert scriptlang.script(function, engine=engine)(fresh()).tolist() == expected
    assert scriptlang.script(drawn_perhaps_from, engine=engine)().shape == (2,)
    file = io.BytesIO()
    scriptlang.save(scriptlang.script(Draws()), file)
    loaded = scriptlang.load(file.getvalue(), engine=engine)
    assert loaded(fresh()).tolist() == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_programs_make_generators(engine):
    def f(seed: int):
        generator = scriptlang.Generator(device="cpu")
        generator.manual_seed(seed)
        return scriptlang.rand(2, generator=generator), isinstance(generator, scriptlang.Generator)

    drawn, known = scriptlang.script(f, engine=engine)(3)
    assert known and drawn.tolist() == drawn_from(scriptlang.Generator().manual_seed(3)).tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_programs_draw_from_the_state(engine):
    def f(n: int):
        return scriptlang.rand(n)

    program = scriptlang.script(f, engine=engine)
    scriptlang.manual_seed(1)
    program(5)
    state = scriptlang.get_rng_state()
    expected = program(4).tolist()
    scriptlang.set_rng_state(state)
    assert scriptlang.rand(4).tolist() == expected
    scriptlang.set_rng_state(state)
    assert program(4).tolist() == expected


def test_generators_have_states_of_their_own():
    one, other = scriptlang.Generator(), scriptlang.Generator()
    one.manual_seed(4)
    scriptlang.rand(2, generator=one)
    other.set_state(one.get_state())
    assert (
        scriptlang.rand(3, generator=one).tolist() == scriptlang.rand(3, generator=other).tolist()
    )
    assert one.initial_seed() == 4 and one.device == scriptlang.device("cpu")


def test_what_is_no_state_is_refused():
    good = scriptlang.get_rng_state()
    for wrong, error in (
        (good[:-1], RuntimeError),
        (good.long(), TypeError),
        (3, TypeError),
        (scriptlang.zeros(5056, dtype=scriptlang.uint8), RuntimeError),
        (good.fill_(255), RuntimeError),
    ):
        with pytest.raises(error):
            scriptlang.set_rng_state(wrong)


@pytest.mark.oracle
@pytest.mark.parametrize("drawn", [0, 1, 3, 7, 16, 623, 624, 1000])
def test_pytorchs_bytes(drawn):
    import torch

    for draws in (0, drawn):
        scriptlang.manual_seed(11)
        torch.manual_seed(11)
        scriptlang.randn(draws), torch.randn(draws)
        scriptlang.set_rng_state(torch.get_rng_state())
        expected = torch.randn(5).tolist(), torch.rand(3).tolist()
        assert draw(5) == expected
        torch.set_rng_state(torch.from_numpy(scriptlang.get_rng_state().numpy()))
        assert draw(5) == (torch.randn(5).tolist(), torch.rand(3).tolist())
