"""Backward operators of batch, layer and group normalization."""

from __future__ import annotations

from ...tensors import Tensor
from ..calling import functions as torch
from ..table import composite


def _check(grad_out: Tensor, input: Tensor, weight: Tensor | None, mask: list[bool]) -> None:
    if grad_out.size() != input.size() or grad_out.dtype != input.dtype:
        raise RuntimeError(
            "a gradient of size {} does not fit an input of size {}".format(
                grad_out.size(), input.size()
            )
        )
    if not input.is_floating_point():
        raise NotImplementedError("gradients of norms are not implemented for this type")
    if len(mask) != 3:
        raise RuntimeError("output_mask must be three bools")


def _check_channels(input: Tensor, weight: Tensor | None) -> None:
    if input.dim() < 2:
        raise RuntimeError("expected an input of at least 2 dimensions")
    if weight is not None and weight.numel() != input.size(1):
        raise RuntimeError("a weight of size {} does not fit the channels".format(weight.size()))


def _wide(x: Tensor) -> Tensor:
    """The tensor in the type that statistics are computed in: float32 for half types."""
    if x.dtype == torch.float16 or x.dtype == torch.bfloat16:
        return x.to(dtype=torch.float32)
    return x


def _statistic(x: Tensor, like: Tensor, shape: list[int]) -> Tensor:
    number = 1
    for n in shape:
        number *= n
    if x.numel() != number:
        raise RuntimeError("statistics of size {} do not fit {}".format(x.size(), shape))
    return x.to(dtype=like.dtype).reshape(shape)


def _normalized(
    grad: Tensor, normal: Tensor, invstd: Tensor, dims: list[int], moves: bool
) -> Tensor:
    """The gradient of (x - mean) * invstd, whose value is `normal`.

    moves: whether the statistics depend on x; then shifting or scaling all of x has no effect.
    """
    if moves:
        grad = grad - grad.mean(dims, True) - normal * (grad * normal).mean(dims, True)
    return grad * invstd


def _given(
    of_x: Tensor,
    of_weight: Tensor,
    of_bias: Tensor,
    input: Tensor,
    weight: Tensor | None,
    mask: list[bool],
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients in the types of input and weight; those that the mask excludes are empty."""
    none = torch.zeros([0], dtype=input.dtype)
    dtype = input.dtype if weight is None else weight.dtype
    return (
        of_x.to(dtype=input.dtype) if mask[0] else none,
        of_weight.to(dtype=dtype) if mask[1] else none,
        of_bias.to(dtype=dtype) if mask[2] else none,
    )


@composite(
    "aten::native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? "
    "running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, "
    "float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
)
def native_batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor | None,
    save_invstd: Tensor | None,
    train: bool,
    eps: float,
    output_mask: list[bool],
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of batch_norm; in training, missing statistics are those of the input."""
    _check_channels(input, weight)
    _check(grad_out, input, weight, output_mask)
    grad, x = _wide(grad_out), _wide(input)
    shape = [1 for _ in range(x.dim())]
    shape[1] = x.size(1)
    dims = [d for d in range(x.dim()) if d != 1]
    if x.numel() == 0:
        none = torch.zeros([x.size(1)], dtype=x.dtype) + grad.sum()
        return _given(grad + x, none, none, input, weight, output_mask)
    if train:
        if save_mean is not None and save_invstd is not None:
            centred = x - _statistic(save_mean, x, shape)
            invstd = _statistic(save_invstd, x, shape)
        else:
            centred = x - x.mean(dims, True)
            invstd = torch.rsqrt((centred * centred).mean(dims, True) + eps)
    elif running_mean is not None and running_var is not None:
        centred = x - _statistic(running_mean, x, shape)
        invstd = torch.rsqrt(_statistic(running_var, x, shape) + eps)
    else:
        raise RuntimeError("running_mean and running_var must be given")
    normal = centred * invstd
    scaled = grad if weight is None else grad * weight.to(dtype=x.dtype).reshape(shape)
    of_x = _normalized(scaled, normal, invstd, dims, train)
    of_weight, of_bias = (grad * normal).sum(dims), grad.sum(dims)
    return _given(of_x, of_weight, of_bias, input, weight, output_mask)


@composite(
    "aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, "
    "Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) "
    "-> (Tensor, Tensor, Tensor)"
)
def native_layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: list[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: list[bool],
) -> tuple[Tensor, Tensor, Tensor]:
    axis = input.dim() - len(normalized_shape)
    if axis < 0 or len(normalized_shape) == 0 or list(input.size()[axis:]) != normalized_shape:
        raise RuntimeError(
            "normalized_shape={} does not fit an input of size {}".format(
                normalized_shape, input.size()
            )
        )
    _check(grad_out, input, weight, output_mask)
    if weight is not None and list(weight.size()) != normalized_shape:
        raise RuntimeError("a weight of size {} does not fit".format(weight.size()))
    grad, x = _wide(grad_out), _wide(input)
    dims = list(range(axis, x.dim()))
    rows = list(range(axis))
    if x.numel() == 0:
        none = torch.zeros(normalized_shape, dtype=x.dtype) + grad.sum()
        return _given(grad + x, none, none, input, weight, output_mask)
    shape = list(input.size()[:axis]) + [1 for _ in dims]
    invstd = _statistic(rstd, x, shape)
    normal = (x - _statistic(mean, x, shape)) * invstd
    scaled = grad if weight is None else grad * weight.to(dtype=x.dtype)
    of_x = _normalized(scaled, normal, invstd, dims, True)
    of_weight, of_bias = grad * normal, grad
    if axis > 0:
        of_weight, of_bias = of_weight.sum(rows), of_bias.sum(rows)
    return _given(of_x, of_weight, of_bias, input, weight, output_mask)


@composite(
    "aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, "
    "Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) "
    "-> (Tensor, Tensor, Tensor)"
)
def native_group_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: list[bool],
) -> tuple[Tensor, Tensor, Tensor]:
    _check(grad_out, input, weight, output_mask)
    if N * C * HxW != input.numel():
        raise RuntimeError("N, C and HxW do not fit an input of size {}".format(input.size()))
    if group <= 0 or C % group != 0:
        raise RuntimeError("{} channels are not divisible by {} groups".format(C, group))
    if weight is not None and weight.numel() != C:
        raise RuntimeError("a weight of size {} does not fit the channels".format(weight.size()))
    if input.numel() == 0:
        none = torch.zeros([C], dtype=_wide(input).dtype) + _wide(grad_out).sum()
        return _given(grad_out + input, none, none, input, weight, output_mask)
    parts = [N, group, C // group, HxW]
    x, flat = _wide(input).reshape(parts), _wide(grad_out).reshape([N, C, HxW])
    invstd = _statistic(rstd, x, [N, group, 1, 1])
    normal = (x - _statistic(mean, x, [N, group, 1, 1])) * invstd
    scaled = flat if weight is None else flat * weight.to(dtype=x.dtype).reshape([1, C, 1])
    of_x = _normalized(scaled.reshape(parts), normal, invstd, [2, 3], True)
    of_weight = (flat * normal.reshape([N, C, HxW])).sum([0, 2])
    of_x = of_x.reshape(input.size())
    return _given(of_x, of_weight, flat.sum([0, 2]), input, weight, output_mask)
