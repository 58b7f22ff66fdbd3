"""scriptlang.func: what transforms see of their surroundings, and what they refuse."""

from __future__ import annotations

import pytest

import scriptlang
from scriptlang import func, nn
from scriptlang.autograd import forward_ad

# What transforms see of what is around them; expected values are PyTorch's.


def test_gradients_have_the_history_of_what_the_function_captures():
    w = scriptlang.tensor(3.0, requires_grad=True)
    g = func.grad(lambda x: w * x**2)(scriptlang.tensor(2.0))
    g.backward()
    assert w.grad.item() == 4.0


def test_gradients_carry_tangents():
    """Forward mode over a backward pass: hessians of x^3."""
    x = scriptlang.tensor([1.0, 2.0])
    wanted = [[6.0, 0.0], [0.0, 12.0]]

    def cube(x):
        return (x**3).sum()

    for first in (func.grad(cube), func.jacrev(cube)):
        assert func.jacfwd(first)(x).tolist() == wanted
    leaf = x.clone().requires_grad_()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(leaf, scriptlang.ones(2))
        (slope,) = scriptlang.autograd.grad(cube(dual), dual)
        assert forward_ad.unpack_dual(slope).tangent.tolist() == [6.0, 12.0]


def test_what_is_computed_under_no_grad_is_constant_for_transforms_around():
    def f(x):
        with scriptlang.no_grad():
            shift = func.grad(lambda t: 0.25 * t**4)(x)
        return x**3 - shift

    assert func.grad(f)(scriptlang.tensor(1.5)).item() == pytest.approx(6.75)
    x = scriptlang.tensor(2.0, requires_grad=True)
    with scriptlang.no_grad():
        value, back = func.vjp(lambda t: t**2, x)
        assert not value.requires_grad and not back(scriptlang.tensor(1.0))[0].requires_grad


AUX = {
    "grad": lambda f, x: func.grad(lambda x: (f(x)[0].sum(), f(x)[1]), has_aux=True)(x)[1],
    "grad_and_value": lambda f, x: func.grad_and_value(
        lambda x: (f(x)[0].sum(), f(x)[1]), has_aux=True
    )(x)[1][1],
    "vjp": lambda f, x: func.vjp(f, x, has_aux=True)[2],
    "jacrev": lambda f, x: func.jacrev(f, has_aux=True)(x)[1],
    "jvp": lambda f, x: func.jvp(f, (x,), (x,), has_aux=True)[2],
    "jacfwd": lambda f, x: func.jacfwd(f, has_aux=True)(x)[1],
}
"""What transforms give besides their result, for f(x) -> (result, aux)."""


@pytest.mark.parametrize("name", AUX)
def test_what_is_given_besides_has_the_history_that_others_follow(name):
    x, w = scriptlang.tensor([1.0, 2.0]), scriptlang.tensor([3.0, 4.0], requires_grad=True)
    aux = AUX[name](lambda x: (x**3, [x * 2, {"of w": x * w, "x": x}, x > 1]), x)
    assert not aux[0].requires_grad and not aux[1]["x"].requires_grad
    assert aux[0].numpy().tolist() == [2.0, 4.0] and aux[2].tolist() == [False, True]
    assert scriptlang.autograd.grad(aux[1]["of w"].sum(), w)[0].tolist() == [1.0, 2.0]
    with scriptlang.no_grad():
        assert not AUX[name](lambda x: (x**3, x * w), x).requires_grad

    def outer(x):
        return (AUX[name](lambda x: (x**3, x**2), x) * x).sum()

    assert func.grad(outer)(x).tolist() == [3.0, 12.0]
    assert func.jvp(outer, (x,), (x,))[1].item() == 27.0


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: func.grad(cubes, argnums=3)(x), "Got argnum=3, but only 1 positional inputs"),
        (lambda x: func.jacrev(cubes, argnums=())(x), "argnums must be non-empty"),
        (lambda x: func.jacfwd(cubes, argnums=0.0)(x), "argnums must be int or Tuple"),
        (lambda x: func.grad(cubes, argnums=(0, 0))(x), "argnums elements must be unique"),
        (lambda x: func.grad(cubes, has_aux=True)(x), "output of function f should be a tuple"),
        (lambda x: func.vjp(lambda t: None, x), "function that has non-empty output"),
        (lambda x: func.vjp(lambda t: [t, t], x)[1](x), "pytree structure of cotangents"),
        (lambda x: func.jacrev(cubes)(x.to(scriptlang.complex64)), "Expected all inputs to be re"),
        (lambda x: func.jvp(cubes, (x,), (1.0,)), "Expected tangents to only contain Tensors"),
    ],
)
def test_transforms_check_what_they_are_given(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(scriptlang.ones(2))


def cubes(x):
    return (x**3).sum()


def test_a_module_is_called_with_other_parameters():
    layer = nn.Linear(2, 1)
    own = layer.weight
    weight = scriptlang.ones(1, 2, requires_grad=True)
    y = func.functional_call(layer, {"weight": weight}, scriptlang.ones(2))
    assert y.item() == pytest.approx(2 + layer.bias.item()) and layer.weight is own
    y.sum().backward()
    assert weight.grad.tolist() == [[1.0, 1.0]] and own.grad is None
    with pytest.raises(RuntimeError, match="Missing key"):
        func.functional_call(layer, {"weight": weight}, scriptlang.ones(2), strict=True)


def test_several_modules_at_once():
    layers = [nn.Linear(2, 1) for _ in range(3)]
    parameters, buffers = func.stack_module_state(layers)
    assert parameters["weight"].shape == (3, 1, 2) and buffers == {}
    x = scriptlang.randn(2)
    found = func.vmap(lambda p: func.functional_call(layers[0], p, x))(parameters)
    own = [layer(x).item() for layer in layers]
    assert found[:, 0].tolist() == pytest.approx(own)


def test_a_function_may_go_forward_in_its_own_forward():
    class Sine(scriptlang.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return -func.jvp(scriptlang.cos, (x,), (scriptlang.ones_like(x),))[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0].cos()

    x = scriptlang.tensor(0.5, requires_grad=True)
    assert Sine.apply(x).item() == pytest.approx(0.479426, rel=1e-5)


def test_batch_normalisations_forget_their_running_statistics():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Sequential(nn.BatchNorm1d(2)))
    assert func.replace_all_batch_norm_modules_(model) is model
    assert not list(model.buffers())
    parameters = dict(model.named_parameters())
    batches = scriptlang.tensor([[[1.0, 2.0], [3.0, 5.0]], [[0.0, 1.0], [4.0, 2.0]]])

    def loss(given, x):
        return func.functional_call(model.eval(), given, (x,)).pow(2).sum()

    found = func.vmap(func.grad(loss), in_dims=(None, 0))(parameters, batches)
    assert found["0.weight"].shape == (2, 2, 2)
    whole = func.grad(loss)(parameters, batches[1])
    assert found["1.bias"][1].tolist() == pytest.approx(whole["1.bias"].tolist())
