"""The names of torch.autograd besides `grad`: functional, graph, anomalies, inference mode.

Expected values were recorded from PyTorch 2.13.
"""

from __future__ import annotations

import warnings

import pytest

import scriptlang
import scriptlang.autograd.functional as F
import scriptlang.autograd.graph as graph
from scriptlang.autograd import Function, Variable, detect_anomaly, grad, gradcheck
from tests import children


def leaf(*values: float) -> scriptlang.Tensor:
    return scriptlang.tensor(list(values), requires_grad=True)


def cube(x):
    return (x**3).sum()


# functional


def test_jacobian_has_a_block_for_each_result_and_input():
    x, y = leaf(1.0, 2.0), leaf(3.0)
    found = F.jacobian(lambda a, b: (a * b, a.sum()), (x, y))
    assert [[list(b.shape) for b in row] for row in found] == [[[2, 2], [2, 1]], [[2], [1]]]
    assert found[0][0].tolist() == [[3.0, 0.0], [0.0, 3.0]]
    assert found[1][1].tolist() == [0.0]
    forward = F.jacobian(lambda a: a * a, x, vectorize=True, strategy="forward-mode")
    assert forward.tolist() == [[2.0, 0.0], [0.0, 4.0]]


@pytest.mark.parametrize("name", ["hvp", "vhp"])
def test_products_with_the_hessian(name):
    x = leaf(1.0, 2.0)
    assert F.hessian(cube, x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    value, product = getattr(F, name)(cube, x, scriptlang.tensor([1.0, -1.0]))
    assert (value.item(), product.tolist()) == (9.0, [6.0, -12.0])


def test_products_with_the_jacobian_keep_a_history_if_asked():
    x = leaf(1.0, 2.0)
    _, product = F.vjp(lambda a: a**2, x, scriptlang.ones(2), create_graph=True)
    assert grad(product.sum(), x)[0].tolist() == [2.0, 2.0]
    assert F.jvp(lambda a: a**2, x, scriptlang.ones(2))[1].requires_grad is False


def test_strict_says_what_nothing_depends_on():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function does not req"):
        F.vjp(lambda a: scriptlang.ones(1), x, scriptlang.ones(1), strict=True)
    with pytest.raises(RuntimeError, match="jacobian of the user-provided function with respect"):
        F.hessian(lambda a: a.sum(), x, strict=True)
    with pytest.raises(RuntimeError, match=r"v has invalid size: should be torch.Size\(\[1\]\)"):
        F.jvp(lambda a: a, x, scriptlang.ones(2))


# graph


def test_hooks_keep_what_nodes_save():
    packed = []

    def pack(t):
        packed.append(t.tolist())
        return t * 10

    x = leaf(2.0)
    with graph.saved_tensors_hooks(pack, lambda kept: kept / 10):
        y = x.exp() * x
    assert packed[0] == pytest.approx([7.389056], rel=1e-5) and [2.0] in packed
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx([22.167168], rel=1e-5)


def test_hooks_must_not_write_and_may_be_forbidden():
    x = leaf(2.0).clone()
    with graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        with pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
            x.exp()
    with graph.disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not he"):
        with graph.save_on_cpu():
            pass


def test_what_is_saved_is_copied_before_it_is_written():
    with graph.allow_mutation_on_saved_tensors():
        a = leaf(1.0, 2.0)
        b = a.clone()
        y = (b**2).sum()
        b.zero_()
        assert grad(y, a)[0].tolist() == [2.0, 4.0]


def test_an_edge_stands_for_a_tensor():
    x = leaf(1.0)
    y = x * 3
    edge = graph.get_gradient_edge(y)
    assert isinstance(edge.node, graph.Node) and type(edge.node).__name__ == "MulBackward0"
    assert grad((y * y).sum(), edge)[0].tolist() == [6.0]


def test_a_hook_gets_the_gradients_of_several_tensors():
    x, y, z = leaf(1.0), leaf(2.0), leaf(3.0)
    seen, first = [], []
    graph.register_multi_grad_hook([x, y, z], lambda gs: seen.append([g and g.item() for g in gs]))
    graph.register_multi_grad_hook([x, y], lambda g: first.append(g.item()), mode="any")
    (x * y).sum().backward()
    assert seen == [[2.0, 1.0, None]] and len(first) == 1


def test_increment_version_counts_a_write():
    x = leaf(2.0)
    a = x * 1
    y = a.exp() * a
    graph.increment_version(a)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# hooks of nodes


def test_hooks_of_a_leaf_run_in_order_with_those_of_its_node():
    log = []
    a = leaf(1.0)
    b = a.clone()
    node = b.grad_fn.next_functions[0][0]
    a.register_hook(lambda g: log.append("tensor"))
    node.register_prehook(lambda gs: log.append("before"))
    a.register_post_accumulate_grad_hook(lambda t: log.append("added"))
    node.register_hook(lambda made, gs: log.append(("after", len(made), len(gs))))
    b.sum().backward(retain_graph=True)
    assert log == ["tensor", "before", "added", ("after", 0, 1)]
    log.clear()
    grad(b.sum(), a)
    assert log == ["tensor"]


def test_a_hook_of_a_result_without_gradient_is_called_with_none():
    x = leaf(1.0, 2.0)
    parts, seen = x.unbind(), []
    parts[0].register_hook(seen.append)
    parts[1].backward()
    assert seen == [None]


def test_backward_runs_the_nodes_of_its_inputs_and_retains_their_gradients():
    b = leaf(1.0) * 2
    seen = []
    b.register_hook(lambda g: g * 3)
    b.grad_fn.register_prehook(lambda gs: seen.append(gs[0].item()))
    b.sum().backward(inputs=(b,))
    assert (seen, b.grad.item(), b.retains_grad) == ([3.0], 3.0, True)


# errors that were wrong


def test_results_of_other_arguments_have_no_history():
    x, s = scriptlang.ones(2), leaf(1.0, 1.0)
    assert not x.view_as(s).requires_grad and not x.expand_as(s).requires_grad


@pytest.mark.parametrize("engine", ["python", "native"])
def test_an_unknown_derivative_raises(engine):
    if engine == "native":
        pytest.importorskip("scriptlang.interpreter._native")
    a = leaf(1.0)
    y = scriptlang.script(igamma, engine=engine)(a, scriptlang.ones(1))
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="not implemented"):
        y.sum().backward()


def igamma(a: scriptlang.Tensor, b: scriptlang.Tensor):
    return scriptlang.igamma(a, b)


def test_second_derivatives_go_through_writes_to_views():
    x = leaf(0.3, -0.2)
    y = (x * 2).view(-1)
    y.exp_()
    (g,) = grad(y.pow(3).sum(), x, create_graph=True)
    assert grad(g.sum(), x)[0].tolist() == pytest.approx([217.7873, 10.8430], rel=1e-4)


def test_powers_of_negative_numbers_with_complex_exponents():
    x = scriptlang.tensor([-1.5], dtype=scriptlang.float64)
    e = scriptlang.tensor([0.5 + 0.25j], dtype=scriptlang.complex128, requires_grad=True)
    assert gradcheck(lambda p: scriptlang.pow(x, p), (e,))


def test_detaching_in_place_is_noticed_where_the_tensor_is_saved():
    a = leaf(1.0).clone()
    y = a.sin()
    a.detach_()
    with pytest.raises(RuntimeError, match="has been detached in-place"):
        y.sum().backward()


def test_materialized_gradients_can_be_differentiated():
    x, a = leaf(0.5), leaf(1.0)
    first = grad(x * a, x, create_graph=True)
    (second,) = grad(first, x, create_graph=True, materialize_grads=True)
    assert second.requires_grad and grad(second, x, materialize_grads=True)[0].item() == 0
    assert not grad(first, x, materialize_grads=True)[0].requires_grad


def test_lists_that_hold_slices_or_lists_are_keys_of_several_dimensions():
    x = scriptlang.arange(16).view(4, 4)
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        assert x[[slice(None), [2, 3]]].shape == (4, 2)
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        assert x[[[1, 2], [3, 0]]].tolist() == [7, 8]


# functions of users


def test_a_function_has_defaults_and_nodes_of_its_name():
    class Power(Function):
        @staticmethod
        def forward(x, n=3):
            return x**n

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.n = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.n * x ** (ctx.n - 1), None

    x = leaf(2.0)
    y = Power.apply(x)
    assert type(y.grad_fn).__name__ == "PowerBackward"
    assert grad(y, x)[0].item() == 12.0


def test_what_is_marked_dirty_has_to_be_returned():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2).clone()

    with pytest.raises(RuntimeError, match="marked as dirty"):
        Wrong.apply(leaf(1.0).clone())


def test_views_that_a_function_gives_must_not_be_written():
    class Half(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()[:1]

        @staticmethod
        def backward(ctx, g):
            return scriptlang.cat([g, g])

    y = Half.apply(leaf(1.0, 2.0))
    with pytest.raises(RuntimeError, match="Output 0 of Half is a view and is being modified inp"):
        y.mul_(2)


def test_gradients_forward_of_what_is_shared_are_shared():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def jvp(ctx, t):
            return t * 2

    ad = scriptlang.autograd.forward_ad
    with ad.dual_level():
        x = ad.make_dual(scriptlang.ones(2), scriptlang.ones(2))
        with pytest.raises(
            RuntimeError, match="returning a view .or an input as-is. but the jvp i"
        ):
            Same.apply(x)


# modes


def test_anomalies_are_told_with_the_place_of_the_call():
    x = leaf(-1.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with detect_anomaly():
            y = x.sqrt() * 0
            with pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan values in its 0t"):
                y.sum().backward()
    assert any("test_autograd_names" in str(w.message) for w in told)


def test_anomalies_are_printed_where_warnings_are_errors(capsys):
    x = leaf(1.0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Anomaly Detection")
        with detect_anomaly():
            y = x * 2
            z = y**2
            y += 1
            warnings.simplefilter("error")
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                z.sum().backward()
    assert "Error detected in PowBackward0" in capsys.readouterr().err


def test_tensors_of_inference_mode_stay_out_of_graphs():
    with scriptlang.inference_mode():
        x = scriptlang.ones(2) * 2
        assert x.is_inference() and scriptlang.is_inference_mode_enabled()
    assert not (x + 1).is_inference() and x.view(2).is_inference()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside Inference"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * leaf(1.0, 1.0)
    with pytest.raises(RuntimeError, match="requires_grad=True on inference tensor outside"):
        x.requires_grad_()


def test_inference_mode_loads_nothing_by_itself():
    program = """
import sys
import scriptlang
with scriptlang.inference_mode():
    pass
assert "numpy" not in sys.modules and "scriptlang.ops.table" not in sys.modules
with scriptlang.inference_mode():
    assert (scriptlang.ones(2) * 2).is_inference()
"""
    children.run("-c", program, check=True)


def test_views_made_in_inference_mode_must_not_be_written_outside():
    x = leaf(1.0, 2.0).clone()
    with scriptlang.inference_mode():
        v = x[:1]
    assert not v.is_inference()
    with pytest.raises(RuntimeError, match="A view was created in inference mode and is being mod"):
        v.mul_(2)


def test_generators_run_in_the_mode_that_decorates_them():
    @scriptlang.no_grad()
    def values():
        for _ in range(2):
            yield scriptlang.is_grad_enabled()

    made = []
    for value in values():
        made.append((value, scriptlang.is_grad_enabled()))
    assert made == [(False, True), (False, True)]


def test_variable_is_what_tensors_were():
    x = Variable(scriptlang.ones(2), requires_grad=True)
    assert isinstance(x, Variable) and isinstance(scriptlang.ones(1), Variable)
    assert x.requires_grad and not Variable(x).requires_grad


def test_mutation_of_a_tensor_whose_id_another_one_gets():
    x = scriptlang.tensor([1.0, 2.0], requires_grad=True)
    with graph.allow_mutation_on_saved_tensors():
        first = x * 1
        kept = [first.sin()]
        place = id(first)
        first.mul_(3)
        del first
        for _ in range(50):
            second = x * 7
            if id(second) == place:
                break
            kept.append(second)
        second.sin().sum().backward()
    assert x.grad.tolist() == pytest.approx((7 * scriptlang.cos(7 * x)).tolist())


INFERENCE_IN_THREADS = """
import threading
import scriptlang
entered, left, found = threading.Event(), threading.Event(), []

def other():
    with scriptlang.inference_mode():
        entered.set()
        left.wait()
        found.append((scriptlang.ones(2) * 2).is_inference())

thread = threading.Thread(target=other)
thread.start()
entered.wait()
with scriptlang.inference_mode():
    pass
left.set()
thread.join()
assert found == [True]
assert not (scriptlang.ones(2) * 2).is_inference()
"""


def test_inference_mode_of_a_thread_lasts_when_another_one_leaves_it():
    children.run("-c", INFERENCE_IN_THREADS, check=True)
