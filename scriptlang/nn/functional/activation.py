"""Activations: pointwise functions, softmaxes and gates."""

from __future__ import annotations

import warnings

from ...ops.calling import functions as torch
from ...tensors import Tensor

celu_, elu_, hardtanh_, leaky_relu_ = torch.celu_, torch.elu_, torch.hardtanh_, torch.leaky_relu_
relu_, rrelu_, selu_, threshold_ = torch.relu_, torch.rrelu_, torch.selu_, torch.threshold_
gelu, hardshrink, logsigmoid = torch.gelu, torch.hardshrink, torch.log_sigmoid
prelu, softplus, softshrink = torch.prelu, torch.softplus, torch.softshrink


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Replace elements that are at most `threshold` by `value`."""
    return (
        torch.threshold_(input, threshold, value)
        if inplace
        else torch.threshold(input, threshold, value)
    )


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """The element-wise max(0, x)."""
    return torch.relu_(input) if inplace else torch.relu(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim` times the sigmoid of the second half.
    Raises RuntimeError for a scalar."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return torch.glu(input, dim)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Clamp elements to [min_val, max_val].
    Raises ValueError if min_val is greater than max_val."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return (
        torch.hardtanh_(input, min_val, max_val)
        if inplace
        else torch.hardtanh(input, min_val, max_val)
    )


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """The element-wise min(max(0, x), 6)."""
    return torch.relu6_(input) if inplace else torch.relu6(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The element-wise x if x > 0, else alpha * (exp(x) - 1)."""
    return torch.elu_(input, alpha) if inplace else torch.elu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu, scaled with the two constants that preserve mean 0 and variance 1."""
    return torch.selu_(input) if inplace else torch.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The element-wise max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """The element-wise x if x >= 0, else negative_slope * x."""
    return (
        torch.leaky_relu_(input, negative_slope)
        if inplace
        else torch.leaky_relu(input, negative_slope)
    )


def rrelu(
    input: Tensor,
    lower: float = 0.125,
    upper: float = 0.3333333333333333,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """leaky_relu with a random slope in [lower, upper] in training, else with their mean."""
    return (
        torch.rrelu_(input, lower, upper, training)
        if inplace
        else torch.rrelu(input, lower, upper, training)
    )


def tanhshrink(input: Tensor) -> Tensor:
    """The element-wise x - tanh(x)."""
    return input - input.tanh()


def softsign(input: Tensor) -> Tensor:
    """The element-wise x / (1 + |x|)."""
    return input / (input.abs() + 1)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element."""
    return input.tanh()


def sigmoid(input: Tensor) -> Tensor:
    """The element-wise 1 / (1 + exp(-x))."""
    return input.sigmoid()


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """The element-wise relu6(x + 3) / 6."""
    return torch.hardsigmoid_(input) if inplace else torch.hardsigmoid(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """The element-wise x * sigmoid(x)."""
    return torch.silu_(input) if inplace else torch.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """The element-wise x * tanh(softplus(x))."""
    return torch.mish_(input) if inplace else torch.mish(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """The element-wise x * relu6(x + 3) / 6."""
    return torch.hardswish_(input) if inplace else torch.hardswish(input)


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The default dimension of softmax, with a warning: 0 or 1, as in PyTorch."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to "
        "include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim == 0 or ndim == 1 or ndim == 3 else 1


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None
) -> Tensor:
    """softmax(-x) along `dim`."""
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None
) -> Tensor:
    """exp(x) divided by its sum along `dim`.
    If `dtype` is given, the input is converted to it first."""
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None
) -> Tensor:
    """log(softmax(x)) along `dim`, computed in a numerically stable way."""
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Sample from the Gumbel-softmax distribution along `dim`; hard: return one-hot vectors."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.")
    noise = -torch.empty_like(logits, memory_format=torch.contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    chosen = torch.zeros_like(logits, memory_format=torch.contiguous_format)
    return chosen.scatter_(dim, index, 1.0) - soft.detach() + soft
