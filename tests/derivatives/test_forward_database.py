"""Derivatives forward are PyTorch's, for the samples of its operator database."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import scriptlang

torch = pytest.importorskip("torch")

from tests.derivatives import database as db  # noqa: E402
from tests.derivatives.test_database import operators  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.slow]


OTHERS = {
    "triangular_solve": "PyTorch's reads the tangent outside of the triangle",
    "cholesky_inverse": "PyTorch's is not the limit of its differences; ours is",
    "linalg.eig": "its vectors are known up to a factor",
}
"""Entries that are left out besides those of test_database, each with the reason."""


def pytest_generate_tests(metafunc) -> None:
    """The database takes seconds to import: only a run that wants slow tests does."""
    if "op" in metafunc.fixturenames:
        wanted = operators() if metafunc.config.getoption("--slow") else []
        wanted = [op for op in wanted if op.supports_forward_ad and op.name not in OTHERS]
        metafunc.parametrize("op", wanted, ids=db.name_of)


def difference(mine, theirs) -> str:
    """How two tangents differ; None stands for zero."""
    x = None if mine is None else np.array(mine.detach().resolve_conj().resolve_neg().numpy())
    y = None if theirs is None else db.array(theirs)
    if x is None or y is None:
        other = y if x is None else x
        is_zero = other is None or np.allclose(other, 0, 0, 1e-9)
        return "" if is_zero else f"{'none' if x is None else 'one'} that is not zero"
    if x.shape != y.shape or x.dtype != y.dtype:
        return f"{x.dtype} {x.shape}, not {y.dtype} {y.shape}"
    if np.isfinite(y).all() and not np.allclose(x, y, 1e-6, 1e-5):
        return f"differs by {np.abs(x - y).max()}"
    return ""


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["real", "complex"])
def test_tangents(op, dtype):
    if dtype not in op.supported_dtypes("cpu"):
        pytest.skip("not for the type")
    function, count = db.function_of(op), 0
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in db.samples(op, dtype, 6):
            given = sample.input, sample.args, sample.kwargs
            try:
                wanted = db.forward(torch, torch.from_numpy, op.op, given)
            except (RuntimeError, NotImplementedError):
                continue  # what PyTorch cannot differentiate
            if all(tangent is None for _, tangent in wanted):
                continue
            made: dict = {}
            mine = tuple(db.ours(v, made) for v in given)
            got = db.forward(scriptlang, scriptlang.from_numpy, function, mine)
            if op.name == "linalg.lstsq":
                got = got[: len(wanted)]  # PyTorch's entry gives the solution alone
            assert len(got) == len(wanted)
            for (_, a), (_, b) in zip(got, wanted):
                assert not difference(a, b), f"{difference(a, b)}: {sample.args} {sample.kwargs}"
            count += 1
    if not count:
        pytest.skip("PyTorch gives no tangents")
