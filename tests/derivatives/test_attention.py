"""Attention is refused in the same cases and words, whether a gradient is wanted or not."""

from typing import Optional

import pytest
from scriptlang.interpreter import engine as engines

import scriptlang
from scriptlang import Tensor


@scriptlang.script
def attention(q: Tensor, k: Tensor, mask: Optional[Tensor], dropout: float, causal: bool):
    return scriptlang.nn.functional.scaled_dot_product_attention(q, k, k, mask, dropout, causal)


IMAGE, ROWS = (1, 2, 4, 8), (4, 4)
BOTH = "Explicit attn_mask should not be set"
CASES = {
    "a mask and is_causal": (IMAGE, IMAGE, ROWS, 0.0, True, None),
    "a mask of four dimensions": (IMAGE, IMAGE, (1, 1, 4, 4), 0.0, True, None),
    "no mask": (IMAGE, IMAGE, None, 0.0, True, None),
    "a mask of one dimension": (IMAGE, IMAGE, (4,), 0.0, False, "Dimension out of range"),
    "three dimensions": ((2, 4, 8), (2, 4, 8), ROWS, 0.0, True, BOTH),
    "a mask of three dimensions": (IMAGE, IMAGE, (1, 4, 4), 0.0, True, BOTH),
    "one head of keys": (IMAGE, (1, 1, 4, 8), ROWS, 0.0, True, BOTH),
    "dropout": (IMAGE, IMAGE, ROWS, 0.5, True, BOTH),
}


@pytest.mark.parametrize("engine", engines.available())
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("is_wanted", (False, True))
def test_refusals_do_not_depend_on_gradients(engine, case, is_wanted):
    query, key, mask, dropout, causal, refusal = CASES[case]
    call = scriptlang.ScriptFunction(attention._function, engine)
    q, k = scriptlang.ones(query, requires_grad=is_wanted), scriptlang.ones(key)
    m = None if mask is None else scriptlang.zeros(mask)
    if refusal is None:
        made = call(q, k, m, dropout, causal)
        assert made.shape == query and made.requires_grad is is_wanted
        return
    with pytest.raises((RuntimeError, IndexError), match=refusal):
        call(q, k, m, dropout, causal)


@pytest.mark.parametrize("engine", engines.available())
def test_a_mask_that_wants_a_gradient_does_not_go_with_is_causal(engine):
    call = scriptlang.ScriptFunction(attention._function, engine)
    q, mask = scriptlang.ones(IMAGE), scriptlang.zeros(ROWS, requires_grad=True)
    with pytest.raises(RuntimeError, match=BOTH):
        call(q, q, mask, 0.0, True)
    assert call(q, q, mask, 0.0, False).requires_grad
