"""Where tangents lie in memory, and what writes do to them, as in PyTorch."""

from __future__ import annotations

import pytest

import scriptlang
from tests.derivatives.both import check

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

LAYOUTS = {
    "alike": lambda lib: (lib.ones(2, 3), lib.ones(2, 3)),
    "transposed": lambda lib: (lib.ones(2, 3), lib.ones(3, 2).t()),
    "a column": lambda lib: (lib.ones(2, 1), lib.ones(1, 2).t()),
    "expanded": lambda lib: (lib.ones(2, 3), lib.ones(()).expand(2, 3)),
    "a part": lambda lib: (lib.ones(5)[:4], lib.ones(4)),
    "tangent a part": lambda lib: (lib.ones(4), lib.ones(5)[:4]),
    "another part": lambda lib: (lib.ones(5)[1:], lib.ones(5)[:4]),
    "the same part": lambda lib: (lib.ones(5)[1:], lib.ones(5)[1:]),
    "with gaps": lambda lib: (lib.ones(4, 4)[:, :2], lib.ones(4, 2)),
    "empty": lambda lib: (lib.ones(0), lib.ones(3)[:0]),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_tangent_that_does_not_lie_as_its_tensor_is_copied(name):
    def call(lib):
        primal, tangent = LAYOUTS[name](lib)
        with lib.autograd.forward_ad.dual_level():
            x = lib.autograd.forward_ad.make_dual(primal, tangent)
            found = lib.autograd.forward_ad.unpack_dual(x).tangent
            return found is tangent, list(found.stride()), found.storage_offset(), found

    check(call)


def test_all_memory_of_a_part_has_a_tangent():
    def call(lib):
        with lib.autograd.forward_ad.dual_level():
            x = lib.autograd.forward_ad.make_dual(lib.ones(5)[:4], lib.ones(4))
            y = x.as_strided((5,), (1,), 0)
            return lib.autograd.forward_ad.unpack_dual(y).tangent

    check(call)


WRITES = {
    "mul": lambda lib, x: x.mul_(2),
    "by itself": lambda lib, x: x.mul_(x),
    "zero": lambda lib, x: x.zero_(),
    "fill": lambda lib, x: x.fill_(3.0),
    "copy": lambda lib, x: x.copy_(lib.ones(2)),
    "copy of its own": lambda lib, x: x.copy_(x.flip(0)),
    "element": lambda lib, x: x.__setitem__(0, 7.0),
    "part": lambda lib, x: x[0:1].mul_(3),
    "view": lambda lib, x: x.view(2, 1).mul_(3),
    "clamp": lambda lib, x: x.clamp_(0, 2.5),
    "masked": lambda lib, x: x.masked_fill_(lib.tensor([True, False]), 0.0),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_writes_the_tangent_in_place(name):
    def call(lib):
        tangent = lib.tensor([1.0, 5.0])
        with lib.autograd.forward_ad.dual_level():
            x = lib.autograd.forward_ad.make_dual(lib.tensor([2.0, 3.0]), tangent)
            WRITES[name](lib, x)
            found = lib.autograd.forward_ad.unpack_dual(x).tangent
            return found is tangent, tangent, found

    assert check(call)[0]


def test_tangents_of_copies_are_not_written():
    def call(lib):
        ad = lib.autograd.forward_ad
        with ad.dual_level():
            x = ad.make_dual(lib.ones(2), lib.tensor([3.0, 4.0]))
            copied = lib.ones(2)
            copied.copy_(x)
            for other in (x.clone(), x + 0, copied):
                other.mul_(5)
            return ad.unpack_dual(x).tangent, ad.unpack_dual(copied).tangent

    check(call)


FUNCTIONS = {
    "scaled": lambda x: (y := x.clone(), y.mul_(x), y.sum() * x.prod())[2],
    "sine": lambda x: (y := x * x, y.sin_(), y.sum())[2],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangents_that_are_recorded_keep_what_they_were_computed_of(name):
    def call(lib):
        f, x = FUNCTIONS[name], lib.tensor([1.0, 2.0, 4.0])
        v = lib.ones(3)
        found = lib.func.grad(lambda t: lib.func.jvp(f, (t,), (v,))[1])(x)
        return tuple((found * 64).round().tolist())

    check(call)


def test_jacfwd_of_a_function_that_writes_its_argument():
    def call(lib):
        x = lib.tensor([2.0, 3.0])
        return lib.func.jacfwd(lambda t: t.mul_(t))(x), x

    check(call)


def test_what_a_saved_tangent_was_is_missed_when_it_is_written():
    def call(lib):
        w = lib.tensor([2.0, 3.0], requires_grad=True)
        ad = lib.autograd.forward_ad
        with ad.dual_level():
            x = ad.make_dual(lib.ones(2), lib.tensor([3.0, 4.0]))
            tangent = ad.unpack_dual(w * x).tangent
            x.mul_(2)
            return lib.autograd.grad(tangent.sum(), w)[0]

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        call(scriptlang)


def test_forward_mode_is_turned_off_for_a_block():
    def call(lib):
        off = lib.autograd.forward_ad._set_fwd_grad_enabled

        def f(x):
            with off(False):
                shift = x**2
            return x**2 - shift

        x, v = lib.tensor(3.0), lib.tensor(1.0)
        with off(False):
            outside = lib.func.jvp(lambda t: t**3, (x,), (v,))[1]
        return (
            outside,
            lib.func.jvp(f, (x,), (v,))[1],
            lib.func.jvp(lambda t: lib.func.jvp(f, (t,), (v,))[1], (x,), (v,))[1],
            lib.autograd.forward_ad._is_fwd_grad_enabled(),
        )

    check(call)


def test_hessian_of_autograd_functional_goes_forward_over_backward():
    def call(lib):
        return lib.autograd.functional.hessian(
            lambda x: (x**3).sum(), lib.tensor([1.0, 2.0]), vectorize=True,
            outer_jacobian_strategy="forward-mode",
        )  # fmt: skip

    check(call)


def test_duals_are_seen_in_levels_that_others_opened():
    def unpacked(lib, x):
        primal, tangent = lib.autograd.forward_ad.unpack_dual(x)
        return lib.autograd.forward_ad.make_dual(primal, tangent * 2)

    def jvp(lib):
        x, v = lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0])
        return lib.func.jvp(lambda t: unpacked(lib, t).sum(), (x,), (v,))

    def checked(lib):
        def wrong(x):
            is_dual = lib.autograd.forward_ad.unpack_dual(x).tangent is not None
            return (unpacked(lib, x) if is_dual else x) * 1

        x = lib.ones(2, dtype=lib.float64, requires_grad=True)
        try:
            return lib.autograd.gradcheck(wrong, (x,), check_forward_ad=True)
        except RuntimeError as error:
            return str(error).splitlines()[0]

    check(jvp)
    assert "forward mode mismatch" in check(checked)
