"""Custom operators of users: the rule runs the fake (`scriptlang.library.register_fake`).

A fake is called with tensors of the right sizes and dtypes whose elements are meaningless (a single
element, expanded). The sizes and dtypes of its results are those of the operator's results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops import table
from ...ops.calling.current import mode
from ...tensors import Tensor
from ..shape_facts import TensorFacts, Unknown, is_known, is_size
from . import Call, Several, shared_rule


@shared_rule(dtype=None)
def custom(c: Call) -> Any:
    op = table.known(c.schema.name)[c.schema.overload].__dict__["custom"]
    values = [stand_in(fact) for fact in c.facts]
    quiet, mode.is_quiet = mode.is_quiet, True
    try:
        results = op.results(op.fake, values)
    except Exception as e:
        raise Unknown from e  # the call itself will report the error
    finally:
        mode.is_quiet = quiet
    facts = [fact_of_result(r) for r in results]
    return facts[0] if len(facts) == 1 else Several(facts)


def stand_in(fact: Any) -> Any:
    """The argument that a fake gets for a fact. Raises Unknown if the fact does not say enough."""
    if isinstance(fact, TensorFacts):
        if not fact.is_exact or fact.dtype is None:
            raise Unknown
        assert fact.shape is not None
        one = Tensor._wrap(np.zeros((), fact.dtype.numpy))
        sizes: Any = list(fact.shape)  # some are symbols
        return one.expand(sizes)
    if isinstance(fact, tuple):
        return [stand_in(f) for f in fact]
    if is_known(fact) and not (is_size(fact) and not isinstance(fact, int)):
        return fact
    raise Unknown


def fact_of_result(value: Any) -> Any:
    if isinstance(value, Tensor):
        return TensorFacts(tuple(value._size), value.dtype, value.dim())
    if isinstance(value, (list, tuple)):
        return tuple(map(fact_of_result, value))
    return value
