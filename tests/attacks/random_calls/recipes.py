"""Arguments that fit together, for operators whose arguments depend on each other.

A recipe says what each argument is made of.  Sizes are names, numbers and products of these; each
name is one random number in a call:

    "B,I"        a tensor of floats          "i:V B,I"    indices below V
    "q B,I"      a quantized tensor          "4*H,I"      sizes that are computed
    ["B,H"]      a list                      (1, 2)       one of these
    other things are themselves
"""

from __future__ import annotations

from typing import Any

RNN = {"has_biases": True, "num_layers": 1, "dropout": 0.0, "train": False, "bidirectional": False}

RECIPES: dict[str, dict[str, Any]] = {
    "lstm.input": {
        "input": "L,B,I",
        "hx": ["1,B,H", "1,B,H"],
        "batch_first": False,
        **RNN,
        "params": ["4*H,I", "4*H,H", "4*H", "4*H"],
    },
    "gru.input": {
        "input": "L,B,I",
        "hx": "1,B,H",
        "batch_first": False,
        **RNN,
        "params": ["3*H,I", "3*H,H", "3*H", "3*H"],
    },
    "embedding": {"weight": "V,D", "indices": "i:V B,L"},
    "embedding_renorm": {
        "self": "V,D",
        "indices": "i:V B",
        "max_norm": (0.5, 2.0),
        "norm_type": (1.0, 2.0, 3.0),
    },
    "grid_sampler_2d": {"input": "B,C,H,W", "grid": "B,M,N,2"},
    "grid_sampler_3d": {"input": "B,C,D,H,W", "grid": "B,M,N,K,3"},
    "affine_grid_generator": {"theta": "1,2,3", "size": [1, 2, 3, 4]},
    "_cdist_forward": {
        "x1": "B,M,D",
        "x2": "B,N,D",
        "p": (0.0, 1.0, 2.0, 3.0),
        "compute_mode": (None, 0, 1, 2),
    },
    "_euclidean_dist": {"x1": "M,D", "x2": "N,D"},
    "_batch_norm_with_update": {
        "input": "B,C,L",
        "weight": "C",
        "bias": "C",
        "running_mean": "C",
        "running_var": "C",
        "momentum": 0.1,
        "eps": 1e-5,
    },
    "_fused_rms_norm": {"input": "B,3", "normalized_shape": [3], "weight": "3", "eps": 1e-5},
    "_grouped_mm": {
        "self": "G,M,K",
        "mat2": "G,K,N",
        "offs": None,
        "bias": None,
        "out_dtype": None,
    },
    "chain_matmul": {"matrices": ["M,K", "K,N", "N,L"]},
    "copy": {"self": "M,N", "src": ("M,N", "N", "1,N")},
    "ger": {"self": "M", "vec2": "N"},
    "det": {"self": "B,N,N"},
    "cholesky": {"self": "1,1"},
    "linalg_eig": {"self": "B,N,N"},
    "linalg_eigvals": {"self": "B,N,N"},
    "_linalg_eigvals": {"self": "B,N,N"},
    "linalg_eigh": {"self": "B,N,N"},
    "linalg_qr": {"A": "B,M,N"},
    "linalg_svd": {"A": "B,M,N"},
    "linalg_lstsq": {"self": "M,N", "b": "M,K"},
    "linalg_solve_ex": {"A": "N,N", "B": "N,K"},
    "linalg_lu_factor_ex": {"A": "B,M,N"},
    "_lu_with_info": {"self": "B,M,N"},
    "index_reduce": {"self": "M,N", "dim": 0, "index": "i:M K", "source": "K,N"},
    "frobenius_norm.dim": {"self": "M,N", "dim": ([0], [1], [0, 1])},
    "fake_quantize_per_channel_affine": {
        "self": "M,N",
        "scale": "M",
        "zero_point": "i:9 M",
        "axis": 0,
        "quant_min": 0,
        "quant_max": 255,
    },
    "convolution_overrideable": {
        "input": "B,C,L",
        "weight": "N,C,1",
        "bias": "N",
        "stride": [1],
        "padding": [0],
        "dilation": [1],
        "transposed": False,
        "output_padding": [0],
        "groups": 1,
    },
    "deform_conv2d": {
        "input": "B,C,4,4",
        "weight": "N,C,2,2",
        "offset": "B,8,3,3",
        "mask": "B,4,3,3",
        "bias": "N",
        "stride_h": 1,
        "stride_w": 1,
        "pad_h": 0,
        "pad_w": 0,
        "dilation_h": 1,
        "dilation_w": 1,
        "groups": 1,
        "offset_groups": 1,
        "use_mask": (True, False),
    },
    "add": {"qa": "q M,N", "qb": "q M,N"},
    "add_relu": {"qa": "q M,N", "qb": "q M,N"},
    "cat_relu": {"qx": ["q M,N", "q M,N"], "dim": (0, 1)},
}
"""Operator, perhaps with its overload -> argument -> what it is made of."""


def arguments_for(overload: str, maker) -> dict:
    """The arguments of a recipe, with sizes and types of this call; {} where there is none."""
    name, _, short = overload.partition("::")[2].partition(".")
    base = name.removesuffix("_")
    recipe = (
        RECIPES.get(f"{name}.{short}")
        or RECIPES.get(f"{base}.{short.removesuffix('out')}")
        or RECIPES.get(name)
        or RECIPES.get(base)
    )
    if recipe is None:
        return {}
    sizes = {k: maker.pick((1, 2, 3, 4)) for k in "BCDGHIKLMNVW"}
    dtype = maker.pick(("float32", "float32", "float32", "float64", "float64", maker.dtype))
    return {k: made(v, sizes, dtype, maker) for k, v in recipe.items()}


def made(what: Any, sizes: dict[str, int], dtype: str, maker) -> Any:
    if isinstance(what, tuple):
        return made(maker.pick(what), sizes, dtype, maker)
    if isinstance(what, list):
        return [made(v, sizes, dtype, maker) for v in what]
    if not isinstance(what, str):
        return what
    kind, _, size = what.rpartition(" ")
    shape = tuple(eval(n, {}, sizes) for n in size.split(","))
    if kind.startswith("i:"):
        below = kind[2:]
        return maker.layout("int64", shape, f"index:{sizes.get(below) or int(below)}")
    made_tensor = maker.layout(dtype, shape, maker.spread)
    return maker.quantize(made_tensor) if kind == "q" else made_tensor
