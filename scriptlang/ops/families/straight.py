"""What straight graphs of compiled archives ask of a call before they run."""

from __future__ import annotations

from ..shared.elementwise import overlaps_itself
from ..shared.layout import place_of
from ..table import primitive


@primitive("scriptlang::are_like(Tensor[] tensors, int[] expected) -> bool")
def are_like(tensors, expected):
    """Whether tensors have the dtypes and sizes that a graph was made for.

    expected: for each tensor its dtype, its rank and its sizes; a negative number is a size that is
    not known, of at least 2, and the same wherever this number stands.
    """
    rest = iter(expected)
    sizes = {}
    for t in tensors:
        if t.dtype.code != next(rest, None) or len(t._size) != next(rest, None):
            return False
        for n in t._size:
            wanted = next(rest, 0)
            if wanted >= 0 and n != wanted:
                return False
            if wanted < 0 and (n < 2 or sizes.setdefault(wanted, n) != n):
                return False
    return True


@primitive("scriptlang::are_equal(...) -> bool")
def are_equal(*values):
    """Whether each value with an even index equals the one behind it."""
    return all(
        type(a) is type(b) and a == b for a, b in zip(values[::2], values[1::2], strict=True)
    )


@primitive("scriptlang::are_apart(Tensor[] written, Tensor[] others) -> bool")
def are_apart(written, others):
    """Whether no element of the written tensors shares memory with another element of them, or of
    the others."""
    if any(map(overlaps_itself, written)):
        return False
    places = sorted(
        [(*place_of(t), True) for t in written] + [(*place_of(t), False) for t in others]
    )
    end = end_written = 0
    for first, last, is_written in places:
        if first == last:
            continue
        if first < end_written or is_written and first < end:
            return False
        end = max(end, last)
        if is_written:
            end_written = max(end_written, last)
    return True
