"""Gradients and their gradients are PyTorch's, for the samples of its operator database."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import scriptlang

torch = pytest.importorskip("torch")

from tests.derivatives import database as db  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

RANDOM = (
    "bernoulli normal normal/number_mean nn.functional.dropout nn.functional.dropout2d "
    "nn.functional.dropout3d nn.functional.alpha_dropout nn.functional.rrelu "
    "nn.functional.feature_alpha_dropout/with_train nn.functional.fractional_max_pool2d "
    "nn.functional.fractional_max_pool3d svd_lowrank pca_lowrank "
    "nn.functional.scaled_dot_product_attention nn.functional.multi_head_attention_forward"
).split()

NOT_THERE = {
    "chalf": "half precision complex numbers",
    "to_sparse": "sparse tensors",
    "sparse.sampled_addmm": "sparse tensors",
    "lu": "a method of Python's; scriptlang.linalg.lu_factor is the operator",
    "linalg.eigh": "its entry compares vectors only up to a factor",
    "max_pool2d_with_indices_backward": "its entry is another function",
    "nn.functional.triplet_margin_with_distance_loss": "its samples hold functions of torch",
    "as_strided/partial_views": "its samples are views of larger memory",
    "bfloat16": "numpy has no such type",
    "half": "compared at higher precision than it has",
    "torch.ops.aten._safe_softmax.default": "its entry is an overload of torch",
    "zero_": "its samples write into leaves",
}
"""Entries that are left out, each with the reason."""


def operators() -> list:
    return [
        op
        for op in db.operators()
        if db.name_of(op) not in RANDOM
        and op.name not in NOT_THERE
        and db.name_of(op) not in NOT_THERE
        and not op.name.startswith("masked.")  # functions of Python that scriptlang has not
    ]


def pytest_generate_tests(metafunc) -> None:
    """The database takes seconds to import: only a run that wants slow tests does."""
    if "op" in metafunc.fixturenames:
        wanted = operators() if metafunc.config.getoption("--slow") else []
        metafunc.parametrize("op", wanted, ids=db.name_of)


def differences(mine: list, theirs: list) -> list[str]:
    found = []
    for i, (a, b) in enumerate(zip(mine, theirs)):
        if a is None and b is None:
            continue
        x = None if a is None else np.array(a.detach().resolve_conj().resolve_neg().numpy())
        y = None if b is None else db.array(b)
        if x is None or y is None:
            other = y if x is None else x
            if not np.allclose(other, 0, 0, 1e-9):
                found.append(f"input {i} has {'none' if x is None else 'one'}")
        elif x.shape != y.shape or x.dtype != y.dtype:
            found.append(f"input {i}: {x.dtype} {x.shape}, not {y.dtype} {y.shape}")
        elif np.isfinite(y).all() and not np.allclose(x, y, 1e-6, 1e-5):
            found.append(f"input {i} differs by {np.abs(x - y).max()}")
    return found


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["real", "complex"])
def test_gradients(op, dtype):
    if dtype not in op.supported_dtypes("cpu"):
        pytest.skip("not for the type")
    function, count = db.function_of(op), 0
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in db.samples(op, dtype, 6):
            given = [sample.input, sample.args, list(sample.kwargs.values())]
            inputs = {
                id(t): t for t in db.flat(given) if isinstance(t, torch.Tensor) and t.requires_grad
            }
            try:
                result = op.op(sample.input, *sample.args, **sample.kwargs)
                outputs = [
                    y for y in db.flat(result) if isinstance(y, torch.Tensor) and y.requires_grad
                ]
                if not outputs or not inputs:
                    continue
                wanted = db.gradients(torch, torch.from_numpy, outputs, list(inputs.values()))
            except RuntimeError:
                continue  # what PyTorch cannot differentiate
            made: dict = {}
            x, args, kwargs = (db.ours(v, made) for v in (sample.input, sample.args, sample.kwargs))
            mine = [
                y
                for y in db.flat(function(x, *args, **kwargs))
                if isinstance(y, scriptlang.Tensor) and y.requires_grad
            ]
            got = db.gradients(scriptlang, scriptlang.from_numpy, mine, [made[i] for i in inputs])
            for order, a, b in zip(("first", "second"), got, wanted):
                assert not differences(a, b), f"{order}: {sample.args} {sample.kwargs}"
            count += 1
    if not count:
        pytest.skip("PyTorch gives no gradients")
