"""What arguments mean by their names: pools and kinds for plausible values."""

from __future__ import annotations

TEXTS = {
    "reduce": ("sum", "prod", "mean", "amax", "amin", "max", "min"),
    "rounding_mode": ("trunc", "floor"),
    "norm": ("ortho", "forward", "backward"),
    "interpolation": ("linear", "lower", "higher", "midpoint", "nearest"),
    "padding": ("same", "valid"),
    "mode": ("reduced", "complete", "r", "reflect", "constant", "replicate", "circular"),
    "pad_mode": ("reflect", "constant", "replicate", "circular"),
    "equation": ("ij->ji", "i,j->ij", "ii->i", "...i,ij->...j", "ij,jk", "i,i", "bij,bjk->bik"),
    "approximate": ("none", "tanh"),
    "activation": ("relu", "gelu", "tanh"),
    "driver": ("gels", "gelsy", "gelsd", "gelss", "gesvd"),
    "UPLO": ("L", "U"),
    "side": ("left", "right"),
    "ord": ("fro", "nuc"),
    "indexing": ("ij", "xy"),
    "axis": ("row", "column"),
    "format": ("{}", "{} {}", "%d", "%s"),
}
"""Argument -> strings that operators take."""

ANY_TEXT = (
    "",
    "a",
    "ab",
    "abc abc",
    "A b\tc\n",
    "0",
    "-12",
    "1e3",
    "nan",
    "sum",
    "mean",
    "none",
    "linear",
    "%s%d",
    "{}",
    "é\u4e16",
    "x" * 40,
    "fro",
    "floor",
    "int",
)

HOSTILE_TEXT = (
    "",
    "nonsense",
    "\0",
    "reduced\0",
    "x" * 300,
    "i" * 60 + "->",
    "...",
    "->",
    "%",
    "{",
    "-1",
)

DIMS = frozenset(
    "dim dim0 dim1 dim2 axis axis0 axis1 start_dim end_dim dim_a dim_b source "
    "destination dims axes start_axis normalized_dim ch_axis batch_dim".split()
)
"""Numbers of dimensions, alone or in lists."""

NUMBERS = {
    "groups": (1, 1, 1, 2),
    "reduction": (0, 1, 2),
    "k": (0, 1, 2),
    "n": (0, 1, 2, 3),
    "decimals": (0, 1, -1, 3),
    "p": (0, 1, 2),
    "diagonal": (0, 0, 1, -1),
    "offset": (0, 0, 1, -1),
    "window_length": (0, 1, 2, 5),
    "num_classes": (-1, 3, 9),
    "sections": (1, 2, 3),
    "chunks": (1, 2, 3),
    "upscale_factor": (1, 2),
    "downscale_factor": (1, 2),
    "bins": (1, 2, 5),
    "num_heads": (1, 2),
    "num_layers": (1, 2),
    "ignore_index": (-100, 0),
    "edge_order": (1, 2),
    "n_fft": (2, 4),
    "hop_length": (1, 2),
    "win_length": (2, 4),
    "steps": (0, 1, 2, 5),
    "storage_offset": (0, 0, 1),
    "step": (1, 1, 2),
    "quant_min": (0, -128),
    "quant_max": (127, 255),
    "interpolation_mode": (0, 1, 2),
    "padding_mode": (0, 1, 2),
    "N": (1, 2, 3),
    "memory_format": (0, 0, 1, 2, 3),
    "layout": (0,),
    "mask_type": (0, 1, 2),
    "blank": (0, 0, 1),
    "high": (1, 5, 100),
    "low": (-3, 0),
    "size": (1, 2, 3),
    "length": (0, 1, 2),
    "to": (1, 5),
    "num_samples": (1, 2),
    "minlength": (0, 0, 3),
    "output_zero_point": (0, 3, 128),
    "zero_point": (0, 3, 128),
    "scheme": (0,),
    "qscheme": (0,),
    "cardinality": (3,),
    "embed_dim": (2, 4),
    "mode": (0, 1, 2),
    "repeats": (0, 1, 2),
    "dim_size": (2, 3),
    "batch_size": (1, 2),
    "max_norm": (1, 2),
    "row": (0, 2, 3),
    "col": (0, 2, 3),
    "M": (2, 3),
    "divisor_override": (1, 2, 3),
    "index": (0, 1, -1, 2),
    "split_size": (1, 2),
    "base": (2, 10),
}
"""Argument -> ints that operators take."""

LISTS = {
    "kernel_size": (1, 2, 3),
    "stride": (1, 1, 2),
    "padding": (0, 0, 1),
    "dilation": (1, 1, 2),
    "output_padding": (0, 0, 1),
    "output_size": (1, 2, 3, 4),
    "size": (0, 1, 2, 3),
    "sizes": (0, 1, 2, 3),
    "shape": (1, 2, 3),
    "pad": (0, 0, 1, -1),
    "shifts": (0, 1, -1, 5),
    "repeats": (0, 1, 2),
    "dims": (0, 1, -1, 2),
    "split_sizes": (0, 1, 2),
    "block_size": (1, 2),
    "normalized_shape": (1, 2, 3),
    "target_lengths": (1, 2),
    "input_lengths": (2, 3),
    "new_shape": (1, 2),
    "indices": (1, 2),
    "sections": (1, 2),
    "bins": (1, 2, 3),
    "s": (1, 2, 4),
}
"""Argument -> ints that lists have."""

INDICES = frozenset(
    "index indices ind offsets target targets batch_sizes lengths pivots LU_pivots "
    "input_lengths target_lengths sorter boundaries_index segment_ids bags "
    "repeats counts offset2bag bag_size maximum_indices".split()
)
"""Tensors of indices."""

MASKS = frozenset(
    "mask condition found attn_mask padding_mask src_key_padding_mask key_padding_mask".split()
)
VECTORS = frozenset(
    "bias running_mean running_var weight_bias vec vec2 tau scales zero_points "
    "b_ih b_hh w_ih_bias save_mean save_invstd mean var rstd invstd tensor1d "
    "boundaries sorted_sequence window pos_weight per_sample_weights".split()
)
"""Tensors of one dimension, mostly."""

POSITIVE = frozenset("running_var var std q scales scale rate probs lambd a b".split())

DTYPES = (
    "float32",
    "float64",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
)
COMMON = (
    ("float32",) * 7
    + ("float64",) * 2
    + (
        "int64",
        "int64",
        "int32",
        "uint8",
        "bool",
        "complex64",
        "float16",
        "bfloat16",
        "int8",
        "int16",
        "complex128",
    )
)
RARE = ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2")

EXTREME_INTS = (
    -1,
    -2,
    0,
    1,
    3,
    7,
    64,
    1000,
    2**31 - 1,
    2**31,
    -(2**31),
    2**32,
    2**40,
    2**62,
    -(2**62),
    2**63 - 1,
    -(2**63),
    2**63 - 2,
    2**33 + 1,
)

EXTREME_FLOATS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1e-300,
    1e300,
    -1e300,
    float("nan"),
    float("inf"),
    float("-inf"),
    2.0**63,
    -(2.0**31),
    1e-8,
    3.0,
)
