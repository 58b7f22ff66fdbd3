"""nn.TransformerEncoder with padding: in evaluation it is not computed, as in PyTorch, but 0."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import scriptlang as torch
from scriptlang import nn

RIGHT = [[False, False, False, True], [False, True, True, True]]
MIDDLE = [[False, True, False, False], [False, False, False, False]]


def encoder(library, norm=False, **options):
    layer = library.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
    last = library.nn.LayerNorm(8) if norm else None
    return library.nn.TransformerEncoder(layer, 2, last, **options).eval()


def inputs(library, padding, kind="bool"):
    x = np.random.default_rng(0).standard_normal((2, 4, 8)).astype(np.float32)
    mask = library.tensor(padding)
    if kind == "float":
        mask = library.zeros(2, 4).masked_fill(mask, float("-inf"))
    return library.from_numpy(x), mask


def test_padding_is_zero_where_nothing_is_recorded():
    m = encoder(torch)
    x, mask = inputs(torch, RIGHT)
    with torch.no_grad():
        y = m(x, src_key_padding_mask=mask)
    assert torch.equal((y == 0).all(2), mask)
    computed = m(x, src_key_padding_mask=mask)
    assert computed.requires_grad and not (computed == 0).any()
    np.testing.assert_allclose(y[0, :3].numpy(), computed.detach()[0, :3].numpy(), 1e-5, 1e-6)
    m.requires_grad_(False)
    assert torch.equal(m(x, src_key_padding_mask=mask), y)
    assert not (m.train()(x, src_key_padding_mask=mask) == 0).any()


@pytest.mark.parametrize("engine", ["python", "native"])
def test_programs_do_as_the_module_does(engine):
    m = encoder(torch, norm=True)
    program = torch.jit.script(m, engine=engine)
    x, mask = inputs(torch, RIGHT)
    with torch.no_grad():
        expected = m(x, src_key_padding_mask=mask)
        for _ in range(2):
            y = program(x, src_key_padding_mask=mask)
            np.testing.assert_allclose(y.numpy(), expected.numpy(), 1e-5, 1e-6)
        assert torch.equal(expected[1, 1], m.norm(torch.zeros(8)))


class Doubling(nn.Module):
    """A layer of a user, with what an encoder asks of any layer."""

    def __init__(self):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(
        self,
        src: torch.Tensor,
        src_mask: torch.Tensor | None = None,
        src_key_padding_mask: torch.Tensor | None = None,
        is_causal: bool = False,
    ) -> torch.Tensor:
        return src * 2


def test_other_layers_are_warned_of_and_compile():
    with pytest.warns(UserWarning, match="encoder_layer was not TransformerEncoderLayer"):
        m = nn.TransformerEncoder(Doubling(), 3).eval()
    x, mask = inputs(torch, RIGHT)
    assert torch.equal(m(x, src_key_padding_mask=mask), x * 8)
    assert torch.equal(torch.jit.script(m)(x, src_key_padding_mask=mask), x * 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.TransformerEncoder(Doubling(), 1, enable_nested_tensor=False)


@pytest.mark.oracle
@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("padding", [RIGHT, MIDDLE], ids=["right", "middle"])
@pytest.mark.parametrize("options", [{}, {"enable_nested_tensor": False}, {"mask_check": False}])
@pytest.mark.parametrize("records", [False, True])
def test_as_in_pytorch(kind, padding, options, records):
    oracle = pytest.importorskip("torch")
    ours, theirs = encoder(torch, True, **options), encoder(oracle, True, **options)
    ours.load_state_dict(
        {k: torch.from_numpy(v.numpy().copy()) for k, v in theirs.state_dict().items()}
    )
    found = []
    for library, m in ((torch, ours), (oracle, theirs)):
        x, mask = inputs(library, padding, kind)
        with library.set_grad_enabled(records):
            found.append(m(x, src_key_padding_mask=mask).detach().numpy())
    np.testing.assert_allclose(*found, 1e-4, 1e-5)
