"""The samples of every family on the native engine, against the recorded results of PyTorch.

Operators without a native kernel run as composites, or on the Python engine, and are left out.
"""

from __future__ import annotations

import importlib
import re

import pytest
from scriptlang.interpreter import native
from scriptlang.interpreter.native_program import has_kernel

from scriptlang.tensors import Tensor
from tests.ops import harness, lacks
from tests.ops.one_operator import chosen, is_native, run_natively

pytestmark = pytest.mark.skipif(bool(native.why_absent()), reason="the native engine is not built")

FAMILIES = sorted(path.stem for path in harness.RECORDED.glob("*.npz"))


COMPOSED = ("nested", "sequences")
"""Families without a native kernel."""


def samples_of(family: str) -> list[harness.Sample]:
    return importlib.import_module(f"tests.ops.test_{family}").SAMPLES


def run(sample: harness.Sample):
    """(whether there is a native kernel, what it computes: arrays, numbers or the exception)."""
    args = harness.convert(sample.args, Tensor._wrap)
    kwargs = {k: harness.convert(v, Tensor._wrap) for k, v in sample.kwargs.items()}
    try:
        operator, bound = chosen(sample.name, args, kwargs)
    except Exception:
        return False, None  # refused before any engine is asked
    if not is_native(operator):
        return False, None
    try:
        return True, harness.plain(run_natively(operator, bound, harness.SEED))
    except Exception as error:
        return True, error


def test_the_engine_is_built_of_these_sources():
    """Samples of an operator that the engine does not have would be passed over."""
    listed = re.findall(r'"([\w:]+(?:\.\w+)?)\(', lacks.NATIVE.read_text())
    missing = [name for name in listed if not has_kernel(name)]
    assert not missing, (
        f"the native engine was built before it had {missing[:9]}: build it again, "
        "SCRIPTLANG_NATIVE=1 pip install --no-build-isolation -e ."
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_recorded_results(family):
    wrong, count = [], 0
    for sample, (text, want) in zip(samples_of(family), harness.read(family)):
        native_kernel, got = run(sample)
        count += native_kernel
        try:
            if native_kernel and (isinstance(got, Exception) or isinstance(want, Exception)):
                harness.check_error(got, want, "native", family, sample)
            elif native_kernel:
                harness.check(got, want, sample.tolerance)
        except AssertionError as error:
            wrong.append(
                f"{sample}: {got!r} {str(error)[:400]}"
                if isinstance(got, Exception)
                else f"{sample}: {str(error)[:400]}"
            )
    assert count or family in COMPOSED
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong)
