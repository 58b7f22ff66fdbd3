"""Scripted modules of torch.nn: PyTorch's results, shared memory, archives that PyTorch loads."""

from __future__ import annotations

import io
import warnings

import pytest

import scriptlang

torch = pytest.importorskip("torch")
nn = torch.nn

pytestmark = pytest.mark.oracle


def flat(value) -> list:
    if isinstance(value, scriptlang.Tensor):
        return [torch.from_numpy(value.numpy())]
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in flat(v)]
    return [] if value is None else [value]


def agree(a, b) -> None:
    a, b = flat(a), flat(b)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        torch.testing.assert_close(y, x.detach(), rtol=1e-4, atol=1e-5, equal_nan=True)


def check(module, *args, archive: bool = True) -> None:
    """Eager PyTorch, the scripted module, and its archive read by PyTorch all agree."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        module = module.eval()
        expected = module(*args)
        scripted = scriptlang.script(module, engine="python")
        agree(expected, scripted(*args))
        if archive:
            file = io.BytesIO()
            scripted.save(file)
            file.seek(0)
            agree(expected, torch.jit.load(file)(*args))


class Residual(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.conv = nn.Conv2d(n, n, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(n)
        self.act = nn.ReLU(inplace=True)
        self.down = None

    def forward(self, x):
        y = self.act(self.norm(self.conv(x)))
        return y + (x if self.down is None else self.down(x))


CASES = {
    "residual": lambda: (
        nn.Sequential(nn.Conv2d(3, 4, 3), Residual(4), Residual(4)),
        torch.randn(2, 3, 6, 6),
    ),
    "gelu and norm": lambda: (
        nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.LayerNorm(4)),
        torch.randn(2, 4),
    ),
    "transformer layer": lambda: (nn.TransformerEncoderLayer(8, 2, 16), torch.randn(5, 3, 8)),
    "attention": lambda: (nn.MultiheadAttention(8, 2), *torch.randn(3, 5, 2, 8).unbind()),
    "upsample": lambda: (nn.Upsample(scale_factor=2.0, mode="bilinear"), torch.randn(1, 2, 3, 3)),
    "pooling with indices": lambda: (nn.MaxPool2d(2, return_indices=True), torch.randn(1, 2, 4, 4)),
    "embedding": lambda: (nn.Embedding(5, 3, padding_idx=0), torch.tensor([[0, 4], [2, 1]])),
    "loss": lambda: (
        nn.CrossEntropyLoss(label_smoothing=0.1),
        torch.randn(3, 4),
        torch.tensor([0, 3, 1]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_modules_give_what_pytorch_gives(name):
    torch.manual_seed(0)
    check(*CASES[name]())


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers(make):
    torch.manual_seed(0)
    check(make(3, 4, num_layers=2, bidirectional=True), torch.randn(5, 2, 3), archive=False)


def test_a_transformer():
    torch.manual_seed(0)
    check(nn.Transformer(8, 2, 1, 1, 16), torch.randn(4, 2, 8), torch.randn(3, 2, 8))


def test_the_tensors_are_those_of_the_torch_module():
    module = nn.Linear(2, 2)
    scripted = scriptlang.script(module)
    with torch.no_grad():
        module.weight.zero_()
    assert scripted.weight.tolist() == [[0.0, 0.0], [0.0, 0.0]]


class Outer(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) + 1


def test_a_part_that_torch_compiled_is_taken_over():
    module = Outer(torch.jit.script(nn.Linear(2, 2)))
    check(module, torch.randn(1, 2))
    traced = Outer(torch.jit.trace(nn.Linear(2, 2), torch.randn(1, 2)))
    check(traced, torch.randn(1, 2))


def types_of(module) -> dict[str, str]:
    return {name: m._type.short_name for name, m in module.named_modules()}


def test_types_and_attributes_are_those_of_pytorch():
    module = nn.Sequential(Residual(2), Residual(2))
    theirs = torch.jit.script(module)
    ours = scriptlang.script(module)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [n for n, _ in ours.named_modules()] == [n for n, _ in theirs.named_modules()]
    assert types_of(ours) == {n: m.original_name for n, m in theirs.named_modules()}
    assert set(getattr(theirs, "0")._c._method_names()) == set(ours[0]._type.methods)


@pytest.mark.slow
def test_every_module_that_pytorch_scripts():
    """`torch.testing`'s own samples of every layer; those that PyTorch refuses are passed over.

    With gradients, as without them PyTorch's transformers take ways that give other numbers where
    a mask hides everything.
    """
    from torch.testing._internal.common_modules import module_db

    count = 0
    for info in module_db:
        for sample in info.module_inputs_func(
            info, device="cpu", dtype=torch.float32, requires_grad=False, training=False
        )[:6]:
            given, made = sample.forward_input, sample.constructor_input
            if given is None:
                continue
            torch.manual_seed(0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    module = info.module_cls(*made.args, **made.kwargs).eval()
                    theirs = torch.jit.script(module)
                    callee = theirs if hasattr(theirs, "forward") else module  # overloads: eager
                    expected = callee(*given.args, **given.kwargs)
                except Exception:
                    continue
                scripted = scriptlang.script(module, engine="python")
                try:
                    agree(expected, scripted(*given.args, **given.kwargs))
                except Exception as error:
                    raise AssertionError(f"{info.name} {made.args} {made.kwargs}") from error
            count += 1
    assert count > 300


def test_overloads_that_pytorch_compiled_first():
    """PyTorch forgets the declarations of `interpolate` when it has compiled them."""

    class Resize(nn.Module):
        def forward(self, x):
            return nn.functional.interpolate(x, size=[4, 6]) + nn.functional.interpolate(
                x, size=(4, 6), mode="bilinear"
            )

    torch.jit.script(Resize())
    check(Resize(), torch.rand(1, 2, 8, 5))


class Views(nn.Module):
    """Attributes and parameters that lie in one storage."""

    def __init__(self, dtype):
        super().__init__()
        whole = torch.arange(12).to(dtype)
        self.register_buffer("whole", whole)
        self.register_buffer("rows", whole.view(3, 4)[1:])
        self.columns = whole.view(3, 4).t()[1:3]

    def forward(self, n: int):
        self.whole.add_(n)
        return self.rows, self.columns


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.complex64, torch.uint8))
def test_views_of_one_storage_stay_views_of_one_in_archives(dtype):
    """As scripted, as traced, and in what PyTorch and scriptlang load of them."""
    file = io.BytesIO()
    scriptlang.script(Views(dtype)).save(file)
    file.seek(0)
    expected = Views(dtype)(5)
    for a, b in zip(expected, torch.jit.load(file)(5)):
        assert torch.equal(a, b) and a.stride() == b.stride()
    for a, b in zip(expected, scriptlang.load(file.getvalue())(5)):
        assert a.tolist() == b.tolist() and a.stride() == b.stride()


def test_parameters_of_a_traced_module_share_their_storage():
    module = nn.Linear(2, 2)
    module.register_buffer("part", module.weight.detach()[1])
    traced = scriptlang.trace(module, torch.ones(1, 2))
    assert traced.part._storage is traced.weight._storage
    assert traced.part.storage_offset() == 2
