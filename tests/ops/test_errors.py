"""Errors of samples: other_errors.txt tells neither more nor less than where engines raise other
errors than PyTorch; each sample's own error is checked by the test of its family."""

from __future__ import annotations

import pytest

from tests.ops import harness, record, test_native


@pytest.mark.slow
def test_other_errors_are_those_of_the_engines():
    lines = harness.OTHER_ERRORS.read_text(encoding="utf-8").splitlines()
    assert lines == record.other_errors(), "python -m tests.ops.record errors"


def test_another_error_does_not_pass():
    """Of the same class with another text, and of another class with the same text."""
    want = harness.RecordedError("IndexError", "index 4 is out of bounds")
    sample = harness.call("select", 1)
    harness.check_error(IndexError("index 4 is out of bounds\nmore"), want, "python", "", sample)
    for other in (IndexError("index 5 is out of bounds"), ValueError("index 4 is out of bounds")):
        with pytest.raises(AssertionError):
            harness.check_error(other, want, "python", "", sample)
    with pytest.raises(AssertionError):
        harness.check_error(4, want, "python", "", sample)


def test_errors_of_subclasses_count_as_builtin_ones():
    class Refused(IndexError):
        pass

    assert harness.error_line(Refused("no")) == "IndexError: no"


def test_no_error_names_a_function_without_a_name():
    assert "<lambda>" not in harness.OTHER_ERRORS.read_text(encoding="utf-8")


def test_engines_of_a_line():
    engines = {row[0] for row in harness.other_errors()}
    assert engines == {"python", "native"} and test_native.FAMILIES
