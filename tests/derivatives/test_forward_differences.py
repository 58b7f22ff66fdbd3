"""Derivatives forward equal finite differences, also through programs, archives and modules."""

from __future__ import annotations

import numpy as np
import pytest

import scriptlang
from scriptlang import Tensor, func
from scriptlang.autograd import Function, GradcheckError, forward_ad, gradcheck

F = scriptlang.nn.functional


def real(*size: int, seed: int = 0) -> Tensor:
    values = np.random.default_rng(seed).uniform(0.2, 1.5, size)
    return scriptlang.from_numpy(values).requires_grad_()


def complex_(*size: int) -> Tensor:
    random = np.random.default_rng(1)
    values = random.standard_normal(size) + 1j * random.standard_normal(size)
    return scriptlang.from_numpy(values).requires_grad_()


def written(x, y):
    made = x.clone()
    made[0] = y[0]
    made[:, 1:].mul_(y[:, 1:])
    return made.t().div_(x.t())


FUNCTIONS = {
    "pointwise": (lambda x, y: (x * y.sin()).exp() / (x + y).sqrt() - x.pow(y), 2),
    "broadcast": (lambda x, y: x[0] * y + y[:, :1] / x, 2),
    "activations": (lambda x: F.gelu(x) + F.silu(x) * F.softplus(x) - F.elu(x) + F.mish(x), 1),
    "sums": (lambda x: x.sum(0) * x.mean() + x.var(0) - x.std(1)[:1] + x.prod(0), 1),
    "norms": (lambda x: x.norm(dim=1) + x.norm(3.0) + x.logsumexp(1), 1),
    "extremes": (lambda x: (x.max(1)[0] + x.amin(1)) * x.max() + x.median(1)[0], 1),
    "moments": (lambda x: scriptlang.var_mean(x, 1)[0] * scriptlang.std_mean(x, 1)[1], 1),
    "sorted": (lambda x: x.sort(1)[0] * x.topk(3, 1)[0] + x.cumsum(0) + x.cummax(1)[0], 1),
    "products": (lambda x, y: x @ y.t() + scriptlang.einsum("ij,kj,il->kl", x, y, x[:, :3]), 2),
    "with alpha": (lambda x, y: scriptlang.addmm(x, x, y, beta=0.5, alpha=2.0), 2),
    "softmax": (lambda x: x.softmax(1) * x.log_softmax(0), 1),
    "layer_norm": (lambda x, y: F.layer_norm(x, (3,), y[0], y[1]), 2),
    "rms_norm": (lambda x, y: F.rms_norm(x, (3,), y[0]), 2),
    "batch_norm": (lambda x, y: F.batch_norm(x, None, None, y[0], y[1], training=True), 2),
    "joined": (lambda x, y: scriptlang.cat([x, y * x], 1).flip(0).roll(1, 1).tril(), 2),
    "picked": (lambda x: x[[0, 2, 0]] * x.gather(1, scriptlang.tensor([[1], [0], [2]])), 1),
    "written": (written, 2),
    "inverse": (lambda x: scriptlang.linalg.inv(x) @ scriptlang.linalg.solve(x, x.t()), 1),
    "twice": (lambda x: scriptlang.linalg.svdvals(x) * x.renorm(2, 0, 0.5).sum(), 1),
    "scan": (lambda x: x.logcumsumexp(1) + x.cumprod(0), 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_differences(name):
    function, count = FUNCTIONS[name]
    given = [real(3, 3, seed=k) for k in range(count)]
    assert gradcheck(function, given, check_forward_ad=True, check_backward_ad=False)


COMPLEX = {
    "pointwise": lambda z: z.sin() * z.abs() + z.conj() / z.angle() + z.sgn() * z.real,
    "products": lambda z: z @ z.conj().t() + z.sum(0),
    "norms": lambda z: z.norm(dim=1) + z.abs().prod(0) + z.prod(0).imag,
    "parts": lambda z: scriptlang.view_as_real(z * z).sum(-1) + z.imag * z.real,
    "moments": lambda z: z.var(0) + z.mean(1).abs() + z.std(0),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_as_differences(name):
    assert gradcheck(COMPLEX[name], complex_(3, 3), check_forward_ad=True)


def test_images():
    x, weight, bias = real(2, 2, 5, 5), real(4, 1, 3, 3, seed=1), real(4, seed=2)

    def network(x, weight, bias):
        y = F.conv2d(x, weight, bias, stride=2, padding=1, groups=2)
        y = F.conv_transpose2d(F.group_norm(y, 2), weight, None, padding=1, groups=4)
        y = F.pad(y, (1, 1, 1, 1), mode="reflect") + F.pad(y, (2, 0, 0, 2), value=3.0)
        return F.avg_pool2d(y, 2) + F.max_pool2d(y, 2) + F.interpolate(y, size=(2, 3)).mean()

    assert gradcheck(network, (x, weight, bias), check_forward_ad=True, check_backward_ad=False)


def test_attention():
    q, k, v = (real(1, 2, 3, 4, seed=n) for n in range(3))
    attention = F.scaled_dot_product_attention
    assert gradcheck(attention, (q, k, v), check_forward_ad=True, check_backward_ad=False)

    def causal(q, k, v):
        return attention(q, k, v, is_causal=True, scale=0.3)

    assert gradcheck(causal, (q, k, v), check_forward_ad=True, check_backward_ad=False)


def test_a_wrong_derivative_is_found():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 3

    assert gradcheck(Wrong.apply, real(2))
    with pytest.raises(GradcheckError):
        gradcheck(Wrong.apply, real(2), check_forward_ad=True)


# Programs


def program(x: Tensor, y: Tensor, n: int) -> tuple[Tensor, Tensor]:
    z = x.clone()
    for i in range(n):
        if bool(z.sum() > 0):
            z = z * y.sin() + float(i)
    z[0] = y[0]
    return z, (x @ y).softmax(0)


class Model(scriptlang.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = scriptlang.nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(self.layer(x)) * x


@pytest.mark.parametrize("engine", ["python", "native"])
def test_a_program(engine):
    try:
        scripted = scriptlang.script(program, engine=engine)
    except Exception as error:
        pytest.skip(str(error))
    x, y, v = real(3, 3).detach(), real(3, 3, seed=1).detach(), real(3, 3, seed=2).detach()
    want = func.jvp(lambda a, b: program(a, b, 3), (x, y), (v, x))
    got = func.jvp(lambda a, b: scripted(a, b, 3), (x, y), (v, x))
    for a, b in zip([*want[0], *want[1]], [*got[0], *got[1]]):
        assert np.allclose(a.numpy(), b.numpy())
        assert not b.requires_grad


@pytest.mark.parametrize("engine", ["python", "native"])
def test_an_archive(engine, tmp_path):
    model = Model().double()
    scriptlang.script(model).save(str(tmp_path / "model.pt"))
    try:
        loaded = scriptlang.load(str(tmp_path / "model.pt"), engine=engine)
    except RuntimeError as error:
        pytest.skip(str(error))
    x, v = real(2, 3).detach(), real(2, 3, seed=1).detach()
    want, got = func.jvp(model, (x,), (v,)), func.jvp(loaded, (x,), (v,))
    for a, b in zip(want, got):
        assert np.allclose(a.detach().numpy(), b.detach().numpy())
    turned = func.jacfwd(func.jacfwd(lambda a: loaded(a).sum()))(x)
    assert np.allclose(turned.detach().numpy(), func.hessian(lambda a: model(a).sum())(x).detach())


def test_a_program_in_two_levels():
    scripted = scriptlang.script(program)
    x, y = real(3, 3).detach(), real(3, 3, seed=1).detach()

    def inner(f):
        return lambda a: func.jvp(lambda b: f(a, b, 2)[0], (y,), (a,))[1]

    want, got = (func.jvp(inner(f), (x,), (y,)) for f in (program, scripted))
    assert np.allclose(want[1].numpy(), got[1].numpy())


def test_parameters_of_a_program_stay_leaves():
    model = scriptlang.script(Model())
    x = scriptlang.ones(2, 3)
    weight = dict(model.named_parameters())["layer.weight"]
    _, tangent = func.jvp(model, (x,), (x * 2,))
    tangent.sum().backward()
    assert weight.grad is not None and weight.is_leaf


def test_an_optimized_program():
    model = Model().eval()
    fast = scriptlang.optimize(scriptlang.script(model))
    x, v = scriptlang.rand(2, 3), scriptlang.rand(2, 3)
    want, got = func.jvp(model, (x,), (v,)), func.jvp(fast, (x,), (v,))
    assert np.allclose(want[1].detach().numpy(), got[1].detach().numpy(), atol=1e-5)


def loss(x: Tensor) -> Tensor:
    return (x * x).sin().sum()


def test_gradients_of_a_loaded_program(tmp_path):
    scriptlang.script(Model()).save(str(tmp_path / "model.pt"))
    loaded = scriptlang.load(str(tmp_path / "model.pt"))
    model = Model()
    model.load_state_dict(loaded.state_dict())
    x, v = scriptlang.rand(2, 3), scriptlang.rand(2, 3)
    want = func.jvp(func.grad(lambda a: model(a).sum()), (x,), (v,))
    got = func.jvp(func.grad(lambda a: loaded(a).sum()), (x,), (v,))
    assert np.allclose(want[1].detach().numpy(), got[1].detach().numpy(), atol=1e-5)


def test_gradients_of_a_program_compiled_ahead():
    both = scriptlang.value_and_grad(loss, wrt=0)
    x, v = scriptlang.rand(3), scriptlang.rand(3)
    assert both(x)[0].item() == pytest.approx(loss(x).item())
    want = func.jvp(func.grad(loss), (x,), (v,))
    got = func.jvp(lambda a: both(a)[1], (x,), (v,))
    assert np.allclose(want[1].numpy(), got[1].numpy(), atol=1e-5)


# What there is beside PyTorch


def test_an_operator_of_a_user():
    from scriptlang.library import custom_op

    @custom_op("forward_test::cube", mutates_args=())
    def cube(x: Tensor) -> Tensor:
        return scriptlang.from_numpy(x.detach().numpy() ** 3)

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    cube.register_autograd(lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2, setup_context=keep)
    assert gradcheck(lambda x: cube(x * x), real(3), check_forward_ad=True)
    y, _ = func.jvp(cube, (real(3).detach(),), (real(3).detach(),))
    assert not y.requires_grad


def test_an_operator_without_derivative_is_named():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(scriptlang.ones(2), scriptlang.ones(2))
        with pytest.raises(scriptlang.MissingOperatorError, match="igamma"):
            scriptlang.igamma(x, scriptlang.ones(2))
        y = scriptlang.igamma(scriptlang.ones(2), x)
        assert forward_ad.unpack_dual(y).tangent is not None


def test_a_tangent_of_another_type():
    x = scriptlang.ones(2)
    _, tangent = func.jvp(scriptlang.sin, (x,), (x.double(),))
    assert tangent.dtype is scriptlang.float32
    with pytest.raises(RuntimeError, match=r"real tensor is real: take torch.real"):
        func.jvp(scriptlang.sin, (x,), (x * 1j,))


def test_two_levels_raise():
    with forward_ad.dual_level():
        with pytest.raises(RuntimeError, match=r"Nested forward mode AD .*func.jvp nests"):
            forward_ad.enter_dual_level()


def test_tangents_end_with_their_level():
    x, kept = scriptlang.ones(2), scriptlang.zeros(2)
    with forward_ad.dual_level():
        y = forward_ad.make_dual(x, x * 3) * 2
        kept.copy_(y)
        assert forward_ad.unpack_dual(kept).tangent.tolist() == [6, 6]
    assert y._autograd.tangents == {}
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(y).tangent is None
        assert forward_ad.unpack_dual(kept).tangent is None
        assert forward_ad.unpack_dual(x).tangent is None


def test_other_levels_see_no_tangents():
    from scriptlang.ops.calling.current import calls

    before = type(calls.recorder)
    with pytest.raises(ZeroDivisionError), forward_ad.dual_level():
        assert type(calls.recorder) is not before or before is None
        raise ZeroDivisionError
    assert type(calls.recorder).__name__ == "Recorder"
