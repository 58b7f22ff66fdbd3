"""Rules for batches: pools, sizes of images, norms, losses by class."""

from __future__ import annotations

from typing import Any

from ..calling import functions
from ..derivatives.tangents import NotMapped
from .call import RULES, Call, flat, rule


def folded(made: Call, last: int) -> Any:
    """An operator on images, whose examples and images become images: all but the last dimensions
    of the first argument are one."""
    x = made.part()
    if made.rank() <= last:
        return made.run(*made.with_parts({0: x}))
    flat = functions.reshape(x, [-1, *x._size[2:]])
    found = made.run(*made.with_parts({0: flat}))
    results = list(found) if isinstance(found, (list, tuple)) else [found]
    made_again = [functions.reshape(r, [made.size, -1, *r._size[1:]]) for r in results]
    return made_again if isinstance(found, (list, tuple)) else made_again[0]


for _dims in (1, 2, 3):
    for _name in (
        f"avg_pool{_dims}d", f"adaptive_avg_pool{_dims}d", f"_adaptive_avg_pool{_dims}d",
        f"adaptive_max_pool{_dims}d", f"max_pool{_dims}d_with_indices", f"reflection_pad{_dims}d",
        f"replication_pad{_dims}d",
    ):  # fmt: skip

        def image(made: Call, last: int = _dims + 1) -> Any:
            if not made.only(0):
                raise NotMapped
            return folded(made, last)

        RULES[f"aten::{_name}"] = image

RESIZED = """
upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d
upsample_bicubic2d upsample_trilinear3d _upsample_nearest_exact1d _upsample_nearest_exact2d
_upsample_nearest_exact3d _upsample_bilinear2d_aa _upsample_bicubic2d_aa _upsample_lanczos2d_aa
channel_shuffle native_channel_shuffle
"""

for _name in RESIZED.split():

    def scaled(made: Call) -> Any:
        if not made.only(0):
            raise NotMapped
        return folded(made, made.rank() - 1)

    RULES[f"aten::{_name}"] = scaled


@rule("layer_norm", "native_layer_norm", "rms_norm", "_fused_rms_norm")
def normalized(made: Call) -> Any:
    if not made.only(0):
        raise NotMapped
    return made.run(*made.with_parts({0: made.part()}))


@rule("batch_norm", "native_batch_norm")
def batch_normalized(made: Call) -> Any:
    """The channels of all examples are channels of one image."""
    x = functions.movedim(made.stacked(), 0, 1)
    parts: dict[int, Any] = {0: functions.reshape(x, [x._size[0], -1, *x._size[3:]])}
    for i in range(1, 5):
        if made.values[i] is not None:
            parts[i] = functions.reshape(made.stacked(i), [-1])
    found, *rest = flat(made.run(*made.with_parts(parts)))
    found = functions.reshape(found, [found._size[0], made.size, -1, *found._size[2:]])
    return [functions.movedim(found, 1, 0), *rest]


@rule("nll_loss_forward")
def loss_by_class(made: Call) -> Any:
    scores, target = made.stacked(0), made.stacked(1)
    _, _, weight, reduction, ignored = made.values
    if weight is not None or reduction == 0 and made.rank() == 2:
        raise NotMapped
    rows = functions.reshape(scores, [-1, scores._size[-1]])
    losses = functions.nll_loss_forward(rows, functions.reshape(target, [-1]), None, 0, ignored)[0]
    losses = functions.sum(functions.reshape(losses, [made.size, -1]), 1)
    used = functions.ne(functions.reshape(target, [made.size, -1]), ignored)
    count = functions.sum(used, 1, dtype=scores.dtype)
    return [functions.div(losses, count) if reduction == 1 else losses, count]


@rule("nll_loss_backward")
def gradient_by_class(made: Call) -> Any:
    _, scores, target, weight, reduction, ignored, _ = made.values
    if weight is not None:
        raise NotMapped
    x, rows = made.stacked(1), made.stacked(2)
    index = functions.reshape(rows, [made.size, -1])
    valid = functions.ne(index, ignored)
    grad = functions.reshape(made.stacked(0), [made.size, -1])
    if reduction == 1:
        grad = functions.div(grad, functions.reshape(made.stacked(6), [made.size, 1]))
    grad = functions.where(valid, functions.neg(grad), functions.zeros_like(grad))
    index = functions.unsqueeze(functions.where(valid, index, 0), -1)
    found = functions.new_zeros(x, [*index._size[:2], x._size[-1]])
    return functions.scatter_add(found, 2, index, functions.unsqueeze(grad, -1))


@rule("grid_sampler_2d", "grid_sampler_3d")
def sampled(made: Call) -> Any:
    x, grid = made.stacked(0), made.stacked(1)
    parts = {i: functions.reshape(t, [-1, *t._size[2:]]) for i, t in enumerate((x, grid))}
    return made.run(*made.with_parts(parts))


@rule("native_group_norm")
def group_normalized(made: Call) -> Any:
    if not made.only(0):
        raise NotMapped
    x, count = made.part(), made.index("N")
    parts = {0: functions.reshape(x, [-1, *x._size[2:]]), count: made.values[count] * made.size}
    found = made.run(*made.with_parts(parts))
    return [functions.reshape(r, [made.size, -1, *r._size[1:]]) for r in found]
