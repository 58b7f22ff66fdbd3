"""Packed weights of quantized and prepacked layers, as P values."""

from __future__ import annotations

from . import values

KINDS = {
    "Linear": ("quantized::linear_prepack", "quantized::linear_prepack_fp16"),
    "Conv2dPacked": (
        "quantized::conv2d_prepack",
        "quantized::conv_transpose2d_prepack",
        "quantized::conv1d_prepack",
    ),
    "Conv3dPacked": ("quantized::conv3d_prepack", "quantized::conv_transpose3d_prepack"),
    "Embedding": ("quantized::embedding_bag_prepack",),
    "xnnpack.Conv2d": ("prepacked::conv2d_clamp_prepack",),
    "xnnpack.Transpose": ("prepacked::conv2d_transpose_clamp_prepack",),
    "xnnpack.Linear": ("prepacked::linear_clamp_prepack",),
}
"""Part of a class's name -> operators that make such objects."""


def packed(maker, class_name: str):
    """An object of a class; None where nothing here makes one."""
    kind = next((k for k in reversed(KINDS) if k in class_name), None)
    if kind is None:
        return None
    operator = maker.pick(KINDS[kind])
    n, m = maker.pick((1, 2, 3, 4)), maker.size[-1] if maker.size else 2
    if "linear" in operator:
        size = (n, m)
    elif "embedding" in operator:
        size = (maker.pick((3, 7)), maker.pick((4, 8)))
    else:
        planes = 1 if "1d" in operator else 3 if "3d" in operator else 2
        channels = maker.size[-planes - 1] if len(maker.size) > planes else 2
        size = (n, channels, *(maker.pick((1, 2, 3)) for _ in range(planes)))
        if "transpose" in operator:
            size = (channels, n, *size[2:])
    weight = maker.layout("float32", size, "plain")
    if operator.startswith("quantized::") and not operator.endswith("fp16"):
        codes = "uint8" if "embedding" in operator else "int8"
        axis = None if "embedding" not in operator else 0
        weight = values.Q(weight._replace(dtype=codes), 0.05, 3 * (codes == "uint8"), axis)
    bias = None if maker.chance(0.4) else maker.layout("float32", (n,), "plain")
    if "embedding" in operator:
        return values.P(operator, [weight])
    if "linear" in operator:
        limits = [None, None] if operator.startswith("prepacked") else []
        return values.P(operator, [weight, bias, *limits])
    planes = len(size) - 2
    lists = [[maker.pick((1, 1, 2))] * planes, [maker.pick((0, 0, 1))] * planes]
    if "transpose" in operator:
        lists.append([0] * planes)
    lists.append([maker.pick((1, 1, 2))] * planes)
    limits = [None, None] if operator.startswith("prepacked") else []
    return values.P(operator, [weight, bias, *lists, 1, *limits])
