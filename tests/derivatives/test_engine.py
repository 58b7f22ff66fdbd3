"""The backward pass as users see it: edges, hooks of leaves, passes in each other, nodes.

Each test calls the same function of both libraries.
"""

from __future__ import annotations

import functools
from collections import OrderedDict

import pytest

import scriptlang
from scriptlang.autograd import Function
from tests.derivatives.both import check

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("is_summed", [True, False])
@pytest.mark.parametrize("size", [None, (), (2,), (4,)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_an_edge_among_the_outputs_stands_for_its_tensor(is_summed, size, dtype):
    def call(lib):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = (x * x).sum() if is_summed else x * x
        given = None if size is None else lib.ones(size, dtype=getattr(lib, dtype))
        return lib.autograd.grad(lib.autograd.graph.get_gradient_edge(y), x, given)[0]

    check(call)


def test_an_edge_of_a_leaf_goes_back_by_itself():
    def call(lib):
        x = lib.tensor(1.0, requires_grad=True)
        lib.autograd.backward(lib.autograd.graph.get_gradient_edge(x))
        return x.grad

    check(call)


def test_hooks_behind_a_leaf_see_the_gradient_that_it_has():
    def call(lib):
        x = lib.ones(3, requires_grad=True)
        node = x.view_as(x).grad_fn.next_functions[0][0]

        def scale(inputs, outputs):
            x.grad = outputs[0] * 10

        x.register_hook(lambda g: g - 2)
        node.register_prehook(lambda gs: (gs[0] / 4,))
        x.register_post_accumulate_grad_hook(lambda t: t.grad.add_(0.5) and None)
        node.register_hook(scale)
        (x * 1).sum().backward()
        return x.grad

    def add(t):
        t.grad.add_(0.5)

    def each(lib):
        x = lib.ones(3, requires_grad=True)
        node = x.view_as(x).grad_fn.next_functions[0][0]
        seen = []
        x.register_post_accumulate_grad_hook(add)
        node.register_hook(lambda inputs, outputs: seen.append(outputs[0].tolist()))
        x.sum().backward()
        return seen[0], x.grad

    check(each)
    check(call)


def test_hooks_of_a_tensor_can_be_replaced_together():
    def of_leaf(lib):
        x = lib.ones(2, requires_grad=True)
        x.register_hook(lambda g: g * 100)
        x._backward_hooks = OrderedDict(a=lambda g: g * 2)
        (x * 3).sum().backward()
        return len(x._backward_hooks), x.grad

    def of_result(lib):
        x = lib.ones(2, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: g * 2)
        y._backward_hooks = None
        y.sum().backward()
        return x.grad

    check(of_leaf)
    check(of_result)


@pytest.mark.parametrize("name", ["requires_grad", "_grad_fn", "_backward_hooks", "data", "grad"])
def test_what_cannot_be_deleted(name):
    def call(lib):
        x = lib.ones(2, requires_grad=True)
        try:
            delattr(x, name)
        except RuntimeError:
            return "refused"
        return "deleted"

    check(call)


def test_nodes_are_told_by_isinstance():
    def call(lib):
        kind = lib.autograd.graph.Node
        node = lib.ones(2, requires_grad=True).exp().grad_fn
        return (
            isinstance(node, kind),
            issubclass(type(node), kind),
            kind in type(node).mro(),
            isinstance(node.next_functions[0][0], kind),
            isinstance(kind, kind),
            issubclass(kind, kind),
            isinstance(1, kind),
        )

    check(call)
    with pytest.raises(TypeError, match="made by operators"):
        scriptlang.autograd.graph.Node()


class Deep(Function):
    """Goes back through itself, as often as its argument says."""

    @staticmethod
    def forward(ctx, x):
        ctx.left = x.detach()
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        if ctx.left < 0:
            raise ValueError("deep")
        if ctx.left > 0:
            with scriptlang.enable_grad():
                Deep.apply((ctx.left - 1).requires_grad_()).backward()
        return grad * 2


def test_passes_may_be_inside_of_each_other_at_any_depth():
    x = scriptlang.tensor(1500.0, requires_grad=True)
    Deep.apply(x).backward()
    assert x.grad.item() == 2
    with pytest.raises(ValueError, match="deep"):
        Deep.apply(scriptlang.tensor(100.5, requires_grad=True)).backward()
    assert scriptlang.is_grad_enabled()


def test_forward_mode_names_what_it_cannot_follow():
    with scriptlang.autograd.forward_ad.dual_level():
        x = scriptlang.autograd.forward_ad.make_dual(scriptlang.ones(2), scriptlang.ones(2))
        with pytest.raises(NotImplementedError, match="Trying to use forward AD with igamma that"):
            scriptlang.igamma(x, x)


# gradcheck


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("size", [(0,), (0, 2), (2, 0), (2,)])
def test_gradients_of_empty_tensors_are_checked(dtype, size):
    def call(lib):
        x = lib.ones(size, dtype=getattr(lib, dtype), requires_grad=True)
        return (
            lib.autograd.gradcheck(lambda t: t * 2, (x,), check_forward_ad=True),
            lib.autograd.gradcheck(lambda t: t.sum(), (x,), check_forward_ad=True),
        )

    check(call)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_mismatch_says_which_part_of_complex_numbers_it_is_in(dtype):
    def call(lib):
        def wrong(x):
            y = x.clone()
            y.register_hook(lambda g: g + 0.01)
            return y

        try:
            lib.autograd.gradcheck(
                wrong, (lib.ones(2, dtype=getattr(lib, dtype)).requires_grad_(),)
            )
        except RuntimeError as error:
            return str(error).splitlines()[0]

    assert "mismatch for output 0" in check(call)


def test_tangents_of_views_that_a_function_gives_are_views_of_the_same_base():
    def call(lib, is_view):
        class First(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x[:1]

            @staticmethod
            def jvp(ctx, t):
                made = t[:1].clone()
                return made.view_as(made)

        ad = lib.autograd.forward_ad
        with ad.dual_level():
            x = ad.make_dual(lib.ones(2), lib.ones(2))
            return First.apply(x.view_as(x) if is_view else x)

    for is_view in (False, True):
        found = check(lambda lib, is_view=is_view: call(lib, is_view))
        assert "not returning a view of the" in found


def test_calls_at_the_end_of_a_pass():
    def call(lib):
        told = []

        class Queueing(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, grad):
                engine = lib.autograd.Variable._execution_engine
                engine.queue_callback(lambda: told.append("first"))
                engine.queue_callback(lambda: engine.queue_callback(lambda: told.append("added")))
                told.append("backward")
                return grad

        Queueing.apply(lib.ones(2, requires_grad=True)).sum().backward()
        return tuple(told)

    check(call)
    check(lambda lib: lib.autograd.Variable._execution_engine.queue_callback(print))


def test_threads_of_passes_can_be_forbidden():
    def call(lib):
        ask, told = lib.autograd.is_multithreading_enabled, []
        with lib.autograd.set_multithreading_enabled(False):
            told.append(ask())
        told.append(ask())
        lib.autograd.set_multithreading_enabled(False)
        told.append(ask())
        lib.autograd.set_multithreading_enabled(True)
        return (*told, ask())

    check(call)


def test_gradcheck_runs_forward_once_for_each_element_on_tensors_without_gradients():
    def call(lib):
        told = []

        class Both(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                told.append((x.requires_grad, y.requires_grad))
                return x.clone(), y.clone()

            @staticmethod
            def jvp(ctx, s, t):
                told.append((s.tolist(), t.tolist()))
                return s, t

        args = [lib.ones(1, dtype=lib.float64, requires_grad=True) for _ in range(2)]
        lib.autograd.gradcheck(
            Both.apply, args, check_forward_ad=True, check_backward_ad=False,
            check_undefined_grad=False,
        )  # fmt: skip
        return tuple(t for t in told if not isinstance(t[0], bool))

    check(call)


# What is said of mistakes


def tripled(g):
    return g.double()


MISTAKES = {
    "integers": lambda lib: lib.ones(2, dtype=lib.int32, requires_grad=True),
    "a list of integers": lambda lib: lib.tensor([1, 2], requires_grad=True),
    "an array of integers": lambda lib: lib.asarray([1, 2], requires_grad=True),
    "a hook": lambda lib: hooked(lib, tripled),
    "a hook without a name": lambda lib: hooked(lib, functools.partial(tripled)),
    "more gradients": lambda lib: lib.autograd.grad(
        lib.ones(2, requires_grad=True) * 2, lib.ones(2), (lib.ones(2), lib.ones(2))
    ),
    "an input without gradient": lambda lib: (
        lib.ones(2, requires_grad=True).sum().backward(inputs=[lib.ones(2)])
    ),
}


def going_back(backward):
    """A mistake of a Function: it goes back by a function of (library, gradient)."""

    def call(lib):
        class Mistaken(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x, n):
                return x * n

            @staticmethod
            def backward(ctx, grad):
                return backward(lib, grad)

        x = lib.ones(2, requires_grad=True)
        Mistaken.apply(x, 3).sum().backward()
        return x.grad

    return call


MISTAKES.update(
    {
        "backward gives a number": going_back(lambda lib, g: (3, None)),
        "backward gives a list": going_back(lambda lib, g: ([g], None)),
        "backward gives complex numbers": going_back(lambda lib, g: (g * 1j, None)),
        "backward gives too many": going_back(lambda lib, g: (g, g)),
        "backward gives too few": going_back(lambda lib, g: g),
        "backward gives another shape": going_back(lambda lib, g: (lib.ones(3), None)),
        "forward writes a leaf": lambda lib: written(lib),
        "a second derivative of what has one": lambda lib: again(lib, lambda y: y.sum()),
        "a second derivative behind it": lambda lib: again(lib, lambda y: y.pow(2).sum()),
        "a node of a leaf": lambda lib: (
            (lib.ones(2, requires_grad=True) * 2).grad_fn.next_functions[0][0].name()
        ),
    }
)


def written(lib):
    class Double(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    Double.apply(lib.ones(2, requires_grad=True))


def again(lib, loss):
    once = lib.autograd.function.once_differentiable

    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        backward = staticmethod(once(lambda ctx, grad: grad * 2 * ctx.saved_tensors[0]))

    x = lib.ones(2, requires_grad=True)
    (g,) = lib.autograd.grad(loss(Square.apply(x)), x, create_graph=True)
    return lib.autograd.grad(g.sum(), x)


def hooked(lib, hook):
    y = lib.ones(2, requires_grad=True) * 2
    y.register_hook(hook)
    y.sum().backward()


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told_as_in_pytorch(name):
    check(MISTAKES[name])


@pytest.mark.parametrize("name", ["float16", "float64", "complex64", "int64", "uint8", "bool"])
def test_the_type_of_an_assigned_gradient_is_named(name):
    def call(lib):
        x = lib.ones(2, requires_grad=True)
        try:
            x.grad = lib.ones(2, dtype=getattr(lib, name))
        except RuntimeError as error:
            return str(error).partition(" You can set")[0]

    check(call)


NAMED = {
    "a power": lambda lib, x, y: x**2,
    "a power of a tensor": lambda lib, x, y: x**y,
    "a number to a power": lambda lib, x, y: 2**x,
    "a difference": lambda lib, x, y: 1 - x,
    "a variance": lambda lib, x, y: x.var(0),
    "a maximum": lambda lib, x, y: x.max(0)[0],
    "all of it": lambda lib, x, y: x.max(),
    "limits": lambda lib, x, y: x.clamp(0, 1),
    "limits that are tensors": lambda lib, x, y: x.clamp(y, y),
    "a mask": lambda lib, x, y: x.masked_fill(x > 0, y.sum()),
    "a remainder": lambda lib, x, y: x.remainder(y),
    "digits": lambda lib, x, y: lib.nn.functional.avg_pool2d(x[None], 2),
    "digits and letters": lambda lib, x, y: x.log1p(),
}


@pytest.mark.parametrize("name", NAMED)
def test_nodes_have_the_names_of_pytorch(name):
    def call(lib):
        x, y = (lib.ones(2, 2, requires_grad=True) for _ in range(2))
        node = NAMED[name](lib, x, y).grad_fn
        return node.name(), type(node).__name__

    check(call)


HOOKED = {
    "all": lambda gs: tuple(None if g is None else g * 5 for g in gs),
    "none": lambda gs: None,
    "one more": lambda gs: (gs[0] * 2, gs[0]),
    "too few": lambda gs: (),
    "a number": lambda gs: 3,
    "a list": lambda gs: [gs[0]],
    "a tensor": lambda gs: gs[0] * 3,
}


@pytest.mark.parametrize("name", HOOKED)
def test_what_hooks_of_nodes_may_give(name):
    def call(lib, registers):
        x = lib.ones(2, requires_grad=True)
        y = x.exp()
        getattr(y.grad_fn, registers)(lambda *gradients: HOOKED[name](gradients[0]))
        (y * 0 + x.detach()).sum().backward()
        return x.grad

    for registers in ("register_hook", "register_prehook"):
        check(lambda lib, registers=registers: call(lib, registers))


def test_leaves_get_their_gradients_in_the_order_of_the_arguments():
    def call(lib):
        told = []
        leaves = [lib.tensor(float(k), requires_grad=True) for k in range(1, 4)]
        for k, x in enumerate(leaves):
            x.register_hook(lambda g, k=k: told.append(k))
        lib.autograd.graph.register_multi_grad_hook(
            leaves, lambda g: told.append("any"), mode="any"
        )
        lib.stack(leaves).sum().backward()
        (leaves[0] * leaves[1]).backward()
        return tuple(told)

    check(call)


def test_a_hook_of_several_tensors_takes_those_that_require_gradients():
    def call(lib):
        try:
            lib.autograd.graph.register_multi_grad_hook((lib.ones(2),), print)
        except AssertionError as error:
            return str(error)

    check(call)
