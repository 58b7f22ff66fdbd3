"""What functions may do while they are transformed, and what is refused as in PyTorch.

Each test calls the same function of both libraries, and compares values or the text of errors.
"""

from __future__ import annotations

import pytest

import scriptlang
from scriptlang.utils import checkpoint as our_checkpoint
from tests.derivatives.both import check

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


TRANSFORMS = {
    "grad": lambda lib, f, x: lib.func.grad(f)(x),
    "vjp": lambda lib, f, x: lib.func.vjp(f, x)[0],
    "jvp": lambda lib, f, x: lib.func.jvp(f, (x,), (x,))[0],
    "vmap": lambda lib, f, x: lib.func.vmap(f)(lib.stack([x, x])),
    "jacrev": lambda lib, f, x: lib.func.jacrev(f)(x),
    "jacfwd": lambda lib, f, x: lib.func.jacfwd(f)(x),
    "hessian": lambda lib, f, x: lib.func.hessian(f)(x),
}


def asks(lib, x):
    return (x * lib.ones(2).requires_grad_()).sum()


def releases(lib, x):
    x.requires_grad_(False)
    return x.sum()


def makes_a_leaf(lib, x):
    return (x * x * lib.ones(2, requires_grad=True)).sum()


def retains(lib, x):
    y = x.sin()
    y.retain_grad()
    return y.sum()


def goes_back(lib, x):
    y = (x * lib.ones(2, requires_grad=True)).sum()
    y.backward()
    return y


def nests(lib, x):
    return lib.autograd.functional.jacobian(lambda t: t.exp().sum(), x).sum()


def saves_with_hooks(lib, x):
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return (x**3).sum()


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize(
    "function", [asks, releases, makes_a_leaf, goes_back, nests, saves_with_hooks]
)
def test_functions_that_are_transformed_may_do_what_they_may_in_pytorch(name, function):
    check(lambda lib: TRANSFORMS[name](lib, lambda x: function(lib, x), lib.tensor([1.0, 2.0])))


def test_gradients_are_not_retained_in_transforms():
    call = TRANSFORMS["grad"]
    found = check(lambda lib: call(lib, lambda x: retains(lib, x), lib.tensor([1.0, 2.0])))
    assert "Tensor.retain_grad()" in found


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_that_go_backward_refuse_hooks_of_saved_tensors(name):
    def call(lib):
        with lib.autograd.graph.save_on_cpu():
            return TRANSFORMS[name](lib, lambda x: (x**3).sum(), lib.tensor([1.0, 2.0]))

    check(call)


def test_refusals_end_with_the_transform():
    with pytest.raises(RuntimeError, match="functorch transform"):
        scriptlang.func.grad(lambda x: asks(scriptlang, x))(scriptlang.ones(2))
    x = scriptlang.ones(2).requires_grad_()
    our_checkpoint.checkpoint(lambda t: t.exp().sum(), x, use_reentrant=False).backward()
    assert x.grad is not None


# autograd.Function


def plain(lib):
    class Sine(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0].cos()

    return Sine


def test_a_function_without_setup_context_is_not_transformed():
    for name in TRANSFORMS:
        found = check(
            lambda lib, name=name: TRANSFORMS[name](lib, plain(lib).apply, lib.tensor([1.0, 2.0]))
        )
        assert "must override the setup_context" in found


def returning(lib, saver, which, is_dirty):
    class Same(lib.autograd.Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            if is_dirty:
                ctx.mark_dirty(inputs[0])
            if which:
                getattr(ctx, saver)(inputs[0] if which == "input" else output)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

        @staticmethod
        def jvp(ctx, t):
            return t.add_(0) if is_dirty else t.view_as(t)

    return Same


@pytest.mark.parametrize("saver", ["save_for_backward", "save_for_forward"])
@pytest.mark.parametrize("which", ["input", "output", ""])
@pytest.mark.parametrize("is_dirty", [False, True])
def test_an_argument_that_is_returned_as_it_is_cannot_be_saved(saver, which, is_dirty):
    def call(lib, needs):
        x = lib.tensor([1.0, 2.0], requires_grad=needs).clone()
        made = returning(lib, saver, which, is_dirty).apply(x)
        return made is x, made.requires_grad, made._is_view(), made

    def transformed(lib, name):
        function = returning(lib, saver, which, is_dirty)
        return TRANSFORMS[name](lib, lambda x: function.apply(x.clone()).sum(), lib.ones(2))

    for needs in (False, True):
        check(lambda lib, needs=needs: call(lib, needs))
    for name in ("grad", "jvp"):
        check(lambda lib, name=name: transformed(lib, name))


def test_what_a_function_returns_as_it_is_is_a_view_without_gradients_too():
    def call(lib, needs, constant):
        class Both(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x, n):
                if constant:
                    ctx.mark_non_differentiable(x)
                return x, n

            @staticmethod
            def backward(ctx, grad, _):
                return grad, None

        x, n = lib.ones(2, requires_grad=needs), lib.arange(3)
        made, same = Both.apply(x, n)
        told = [made is x, made._is_view(), made.requires_grad, same is n, same._is_view()]
        made.mul_(lib.ones(2, requires_grad=True))
        return (*told, made)

    for needs in (False, True):
        for constant in (False, True):
            check(lambda lib, a=needs, b=constant: call(lib, a, b))


def test_a_tangent_of_what_is_returned_as_it_is_shares_memory():
    def call(lib):
        class Same(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x

            @staticmethod
            def jvp(ctx, t):
                return t.view_as(t)

        ad = lib.autograd.forward_ad
        with ad.dual_level():
            t = lib.ones(2)
            x = ad.make_dual(lib.ones(2), t)
            y = Same.apply(x)
            is_base = ad.unpack_dual(y).tangent._base is t
            y.mul_(3)
            return is_base, ad.unpack_dual(y).tangent, t, ad.unpack_dual(x).tangent

    assert check(call)[0]


def test_jvp_writes_the_tangent_of_what_forward_writes():
    def call(lib, writes):
        class Double(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.mul_(2)

            @staticmethod
            def jvp(ctx, t):
                return t.mul_(2) if writes else t

        ad = lib.autograd.forward_ad
        with ad.dual_level():
            x = ad.make_dual(lib.ones(2), lib.ones(2))
            return ad.unpack_dual(Double.apply(x)).tangent

    check(lambda lib: call(lib, True))
    assert "not modifying the forward mode gradients" in check(lambda lib: call(lib, False))


def test_arguments_that_have_a_name_alone_are_refused():
    def call(lib, **kwargs):
        class Scaled(lib.autograd.Function):
            @staticmethod
            def forward(x, *, by=2.0):
                return x * by

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

        return Scaled.apply(lib.ones(2), **kwargs)

    check(lambda lib: call(lib, by=3.0))
    assert "unexpected keyword argument" in check(call)


def test_names_of_nodes_tell_that_a_function_was_transformed():
    def call(lib):
        names = []

        def f(x):
            y = returning(lib, "", "", False).apply(x)
            names.append(type(y.grad_fn).__name__)
            return y

        lib.func.grad(f)(lib.tensor(1.0))
        return tuple(names)

    assert check(call) == ["SameGeneratedBackward"]
