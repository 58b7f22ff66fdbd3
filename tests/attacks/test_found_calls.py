"""Calls that random calls have found: both engines and PyTorch refuse them, or give the same."""

from __future__ import annotations

from functools import cache

import pytest
from scriptlang.interpreter import native

from tests.attacks.random_calls import compare, runner

VECTOR = "T('float32', (3,), (1,), 0, 3, 'unit', 4)"
INTS = "T('int32', (3,), (1,), 0, 3, 'unit', 4)"
IMAGE = "T('float32', (1, 1, 3, 3), (9, 9, 3, 1), 0, 9, 'plain', 1)"
SIGNAL = "T('float32', (1, 1, 3), (3, 3, 1), 0, 3, 'plain', 1)"
CUBE = "T('int8', (3, 3, 3), (9, 3, 1), 0, 27, 'plain', 2021542329)"
TURNED = "T('float64', (3, 7, 5), (1, 3, 21), 0, 105, 'plain', 491668345)"
PAIR = "T('float32', (2, 2, 2), (4, 2, 1), 0, 8, 'plain', 1)"

BOOLS = "T('bool', (3,), (1,), 0, 3, 'ones', 4)"
PLACES = "T('int64', (3,), (1,), 0, 3, 'index:3', 4)"
COMPLEX = "T('complex64', (3, 2), (2, 1), 0, 6, 'unit', 4)"
TALL = "T('float32', (3, 2), (2, 1), 0, 6, 'plain', 4)"
MATRIX = "T('float32', (2, 2), (2, 1), 0, 4, 'unit', 4)"
WHOLE = "T('int32', (2, 2), (2, 1), 0, 4, 'positive', 4)"
BYTES = "Q(T('uint8', (2, 2), (2, 1), 0, 4, 'plain', 3), 0.5, 3, None)"
SIGNED = "Q(T('int8', (2, 2), (2, 1), 0, 4, 'plain', 3), 0.5, 3, None)"

HALVES = "T('float32', (2, 2), (2, 1), 0, 4, 'unit', 3)"
NONE_YET = "T('{}', (0,), (1,), 0, 0, 'zeros', 0)"
SINGULAR = "T('float32', (2, 2), (2, 1), 0, 4, 'zeros', 4)"
ONE = "T('float32', (1,), (1,), 0, 1, 'ones', 4)"
THREE_BY_THREE = "T('complex64', (3, 3), (3, 1), 0, 9, 'plain', 4)"
ONES = "T('float32', (3,), (1,), 0, 3, 'ones', 4)"
SIX = "T('float32', (2, 3), (1, 2), 0, 6, 'zeros', 0)"
CODES = "Q(T('int8', (2, 2), (2, 1), 0, 4, 'plain', 3), 0.5, 0, None)"

REFUSED = {
    "places of a triangle as floats": "aten::tril_indices(3, 3, 0, 6, None, None, None)",
    "places of a triangle as bytes": "aten::triu_indices(3, 3, 0, 0, None, None, None)",
    "a triangle of endless rows": "aten::tril_indices(9223372036854775807, 1, 0, None, None, None, "
    "None)",
    "a triangle of endless columns": "aten::triu_indices(1, 9223372036854775807, 0, None, None, "
    "None, None)",
    "a bool among floats": f"aten::isin.Tensor_Scalar({VECTOR}, True, False, False)",
    "floats for a bool": f"aten::isin.Scalar_Tensor(True, {VECTOR}, False, False)",
    "codes of two types multiplied": f"quantized::matmul({BYTES}, {CODES}, 1.0, 0)",
    "a factor of a triangle with a zero": f"aten::cholesky_inverse({SINGULAR}, False)",
    "a vector to fill all with": f"aten::fill_.Tensor({VECTOR}, {ONE})",
    "a copy filled with a vector": f"aten::fill.Tensor({VECTOR}, {ONE})",
    "truths multiplied": f"aten::vdot({BOOLS}, {BOOLS})",
    "places along of fewer dimensions": f"aten::take_along_dim({TALL}, {PLACES}, 0)",
    "sizes of four for three": "aten::max_unpool3d(T('float32', (1, 1, 1, 2, 2), (4, 4, 4, 2, 1), "
    "0, 4, 'unit', 4), T('int64', (1, 1, 1, 2, 2), (4, 4, 4, 2, 1), 0, 4, 'index:4', 4), "
    "[1, 4, 4, 4], [1, 2, 2], [0, 0, 0])",
    "a complex factor of 1": f"aten::addr({WHOLE}, T('int32', (2,), (1,), 0, 2, 'ones', 4), "
    "T('int32', (2,), (1,), 0, 2, 'ones', 4), 1, complex(1.0, 0.0))",
    "a complex tolerance": f"aten::linalg_pinv.atol_rtol_tensor({MATRIX}, None, T('complex64', (), "
    "(), 0, 1, 'ones', 4), False)",
    "an integral over no dimension": "aten::trapezoid.dx(T('float32', (), (), 0, 1, 'ones', 4), "
    "1, -1)",
    "an integral by complex steps": f"aten::trapezoid.dx({VECTOR}, complex(1.0, 1.0), -1)",
    "integrals by a bool": f"aten::cumulative_trapezoid.dx({VECTOR}, True, -1)",
    "one dimension moved twice": "aten::moveaxis.intlist(T('int64', (), (), 0, 1, 'ones', 4), "
    "[-1, -1], [0, 0])",
    "complex logarithms of 1 + x": f"aten::special_xlog1py({COMPLEX}, {COMPLEX})",
    "complex gates": f"aten::glu({COMPLEX}, 1)",
    "angles of complex numbers": f"aten::cosine_similarity({COMPLEX}, {COMPLEX}, 1, 1e-08)",
    "a matrix added to a vector, by 0": f"aten::addmv({MATRIX}, {MATRIX}, T('float32', (2,), (1,), "
    "0, 2, 'ones', 4), False, -1)",
    "labels that spread a loss": "aten::soft_margin_loss(T('float64', (4,), (1,), 0, 4, 'unit', "
    "1), T('int64', (2, 4), (4, 1), 0, 8, 'ones', 1), 0)",
    "an order of transforms of nothing": f"aten::fft_fftn({TALL}, None, [], 'nonsense')",
    "complex bounds of codes": f"quantized::threshold({BYTES}, complex(-1.0, 1.0), -1.0)",
    "slopes of integers": f"aten::prelu({INTS}, T('int32', (1,), (1,), 0, 1, 'ones', 4))",
    "means of small integers": "aten::avg_pool1d(T('int32', (1, 1, 4), (4, 4, 1), 0, 4, 'plain', "
    "4), [2], [], [0], True, True)",
    "an infinite range of bins": f"aten::histogramdd.int_bins({TALL}, 2, [0.0, inf, 0.0, 1.0], "
    "None, False)",
    "masked writes of another type": "aten::_unsafe_masked_index_put_accumulate("
    f"{VECTOR}, {BOOLS}, [{PLACES}], {INTS})",
    "a complex number among floats": f"aten::isin.Scalar_Tensor(complex(1.0, 0.0), {VECTOR}, "
    "False, False)",
    "segments of integers": f"aten::segment_reduce({INTS}, 'sum', T('int64', (1,), (1,), 0, 1, "
    "'ones', 4), None, None, 0, True, None)",
    "bins up to a complex number": f"aten::histc({VECTOR}, 4, 0, complex(1.0, 1.0))",
    "a range too many": f"aten::histogramdd({TALL}, [3, 2], [0.0, 3.0, 1.0, 4.0, 4.0], None, True)",
    "a complex end of a range": "aten::arange(complex(3.0, 1.0), None, None, None, None)",
    "a driver of singular values": f"aten::linalg_svd({MATRIX}, True, 'gesvd')",
    "a driver of singular values alone": f"aten::linalg_svdvals({MATRIX}, 'gesvd')",
    "random slopes of integers": f"aten::rrelu({INTS}, 0.125, 0.5, True, None)",
    "a range of an infinite step away": "aten::range.step(9.0, 4.0, inf, None, None, None, None)",
    "no strides of unpooling": "aten::max_unpool3d(T('float32', (1, 1, 1, 2, 2), (4, 4, 4, 2, 1), "
    "0, 4, 'unit', 4), T('int64', (1, 1, 1, 2, 2), (4, 4, 4, 2, 1), 0, 4, 'index:4', 4), "
    "[1, 4, 4], [1, 2, 0], [0, 0, 0])",
    "too much for uint16": "aten::fill_.Scalar(T('uint16', (2,), (1,), 0, 2, 'zeros', 4), 70000)",
    "too much for uint32": "aten::fill_.Scalar(T('uint32', (2,), (1,), 0, 2, 'zeros', 4), 1e30)",
    "a bias that would broadcast": "aten::bilinear(T('float32', (1, 1), (1, 1), 0, 1, 'ones', 4), "
    "T('float32', (1, 1), (1, 1), 0, 1, 'ones', 4), "
    "T('float32', (1, 1, 1), (1, 1, 1), 0, 1, 'ones', 4), T('float32', (2,), (1,), 0, 2, 'ones', "
    "4))",
    "a vector to fill with": f"aten::index_fill_.int_Tensor({VECTOR}, 0, {PLACES}, "
    "T('float32', (1,), (1,), 0, 1, 'ones', 4))",
    "powers of bools": f"aten::linalg_vander({BOOLS}, None)",
    "gammas of bools": f"aten::mvlgamma({BOOLS}, 1)",
    "an axis from the end": f"aten::quantize_per_channel({MATRIX}, T('float32', (2,), (1,), 0, 2, "
    "'ones', 4), T('int64', (2,), (1,), 0, 2, 'zeros', 4), -1, 13)",
    "a pool that could not have been": f"aten::max_pool2d_with_indices_backward({IMAGE}, {IMAGE}, "
    "[1, 1], [1, 1], [3, 3], [1, 1], False, T('int64', (1, 1, 3, 3), (9, 9, 3, 1), 0, 9, "
    "'index:9', 4))",
    "one size of a pool of images": f"aten::adaptive_avg_pool2d({IMAGE}, [2])",
    "many places of a number": "aten::index_select(T('float32', (), (), 0, 1, 'ones', 4), 0, "
    "T('int64', (3,), (1,), 0, 3, 'zeros', 4))",
    "no factors of reflections": f"aten::ormqr({TALL}, T('float32', (0,), (1,), 0, 0, 'ones', 4), "
    f"{TALL}, True, True)",
    "smooth codes of no slope": f"quantized::celu({BYTES}, 0.5, 0, 0.0)",
    "no shifts": "aten::roll(T('float32', (0, 2), (2, 1), 0, 0, 'ones', 4), [], [])",
    "a matrix before a vector's differences": f"aten::diff({VECTOR}, 1, -1, {MATRIX}, None)",
    "targets in a row": f"aten::multi_margin_loss({TALL}, T('int64', (1, 3), (3, 1), 0, 3, "
    "'zeros', 4), 1, 1.0, None, 1)",
    "pivots for one of many": "aten::linalg_lu_solve(T('float32', (2, 2, 2), (4, 2, 1), 0, 8, "
    "'ones', 4), T('int32', (2,), (1,), 0, 2, 'ones', 4), T('float32', (2, 2, 2), (4, 2, 1), 0, 8, "
    "'ones', 4), True, False)",
    "codes of two types side by side": f"quantized::cat([{CODES}, {BYTES}], 0, None, None)",
    "codes beside a zero point that is none": f"quantized::cat([{BYTES}], 0, 1.0, 256)",
    "statistics of nothing": "aten::_native_batch_norm_legit.no_stats(T('float32', (0, 17, 0), "
    "(17, 1, 17), 0, 0, 'zeros', 1), None, None, True, 0.1, 1e-05)",
    "any into floats": f"aten::any.out({HALVES}, 1, False, {NONE_YET.format('float32')})",
    "all of all into int64": f"aten::all.all_out({HALVES}, {NONE_YET.format('int64')})",
    "sizes into another type": f"aten::abs.out({HALVES}, {NONE_YET.format('float64')})",
    "mean into integers": f"aten::mean.out({HALVES}, [1], False, None, {NONE_YET.format('int64')})",
    "mean into another type than asked for": f"aten::mean.out({HALVES}, [1], False, 7, "
    f"{NONE_YET.format('float32')})",
    "sum into another type than asked for": f"aten::sum.IntList_out({HALVES}, [1], False, 7, "
    f"{NONE_YET.format('float32')})",
    "complex mean into floats": f"aten::mean.dtype_out({COMPLEX}, None, "
    f"{NONE_YET.format('float32')})",
    "means that do not broadcast with the output": f"aten::normal.Tensor_float_out({VECTOR}, 1.0, "
    f"None, {NONE_YET.format('float32')})",
    "one size of an image to come": f"aten::upsample_nearest2d({IMAGE}, [5], None, None)",
    "one number of padding": f"aten::im2col({IMAGE}, [2, 2], [1, 1], [0], [1, 1])",
    "rows by places of int16": f"aten::embedding_renorm({MATRIX}, T('int16', (1,), (1,), 0, 1, "
    "'ones', 4), 0.5, 2.0)",
    "integer rows to shorten": f"aten::embedding_renorm({WHOLE}, T('int64', (1,), (1,), 0, 1, "
    "'ones', 4), 0.5, 2.0)",
    "slopes of bytes": "aten::gradient.array(T('uint8', (3,), (1,), 0, 3, 'ones', 4), [0], 1)",
    "slopes of bools": f"aten::gradient.array({BOOLS}, [0], 1)",
    "a complex end of real numbers": "aten::logspace(0, complex(-1.0, 0.1), 1, 2.0, 6, None, None, "
    "None)",
    "addr of matrices": "aten::addr(T('int32', (3, 3), (3, 1), 0, 9, 'ones', 5), "
    "T('int32', (3, 3), (3, 1), 0, 9, 'ones', 4), A(0), 3, 1)",
    "pivots below the first": "aten::lu_unpack(T('float32', (4, 4), (4, 1), 0, 16, 'plain', 1), "
    "T('int32', (4,), (1,), 2, 6, 'wild', 2102022850), True, True)",
    "addbmm of two types": f"aten::addbmm(T('float64', (2, 2), (2, 1), 0, 4, 'plain', 1), {PAIR}, "
    f"{PAIR}, 1, 1)",
    "addcdiv by integers": f"aten::addcdiv({VECTOR}, {INTS}, {INTS}, 1)",
    "dropout of integers": f"aten::dropout({INTS}, 0.5, True)",
    "lerp by a complex number": f"aten::lerp.Scalar({VECTOR}, {VECTOR}, complex(0.5, 1.5))",
    "prelu of two types": f"aten::_prelu_kernel({INTS}, {VECTOR})",
    "vecdot of integers": f"aten::linalg_vecdot({INTS}, {INTS}, -1)",
    "complex heaviside": "aten::heaviside(T('complex64', (3,), (1,), 0, 3, 'unit', 4), "
    "T('complex64', (3,), (1,), 0, 3, 'unit', 4))",
    "volumes as images": "aten::grid_sampler_2d(T('float32', (1, 1, 2, 2, 2), (8, 8, 4, 2, 1), 0, "
    "8, 'unit', 4), T('float32', (1, 2, 2, 2, 3), (24, 12, 6, 3, 1), 0, 24, "
    "'unit', 4), 0, 0, False)",
    "sizes and scales": f"aten::upsample_nearest2d.vec({IMAGE}, [3, 3], [1.5, 1.5])",
    "fewer strides than sizes": "aten::empty_strided([2, 2], [1], None, None, None, None)",
    "deviation that is NaN": f"aten::normal_({VECTOR}, 0.0, nan, None)",
    "range that is NaN": f"aten::uniform_({VECTOR}, nan, nan, None)",
    "factors of another type": "aten::linalg_lu_solve(T('float32', (2, 2), (2, 1), 0, 4, 'unit', "
    "4), T('int32', (2,), (1,), 0, 2, 'ones', 4), T('float64', (2, 2), "
    "(2, 1), 0, 4, 'unit', 4), True, False)",
    "complex slope": f"aten::leaky_relu({VECTOR}, complex(0.5, 1.5))",
    "complex limits": f"aten::hardtanh({VECTOR}, complex(0.0, 1.0), 1)",
    "slope beyond the type": f"aten::elu({VECTOR}, 1e+300, 1, 1)",
    "inverse slope beyond the type": f"aten::celu({VECTOR}, 1e-300)",
    "factor beyond the type": f"aten::add.Tensor({INTS}, {INTS}, 4611686018427387904)",
    "complex factor": f"aten::addcmul({VECTOR}, {VECTOR}, {VECTOR}, complex(1.0, 0.5))",
    "factor of a product beyond the type": f"aten::addmm({MATRIX}, {MATRIX}, {MATRIX}, 1e+300, 1)",
    "bool factor": f"aten::addr({INTS}, {INTS}, {INTS}, 1, True)",
    "complex order of a norm": f"aten::dist({VECTOR}, {VECTOR}, complex(1.0, 0.0))",
    "vector to invert": f"aten::cholesky_inverse({VECTOR}, False)",
    "integers to solve": f"aten::cholesky_solve({WHOLE}, {WHOLE}, False)",
    "system of two types": f"aten::linalg_solve_ex({MATRIX}, {WHOLE}, True, False)",
    "batches in a chain": f"aten::chain_matmul([{PAIR}, {PAIR}])",
    "matrix of boundaries": f"aten::bucketize.Tensor({VECTOR}, {MATRIX}, False, False)",
    "a number among vectors": "aten::cartesian_prod([T('float32', (), (), 0, 1, 'unit', 4)])",
    "bool limits": "aten::clamp_max(T('bool', (3,), (1,), 0, 3, 'unit', 4), True)",
    "tolerance that is NaN": f"aten::isclose({VECTOR}, {VECTOR}, 1e-05, nan, False)",
    "probability that is NaN": f"aten::dropout({VECTOR}, nan, False)",
    "rate that is NaN": f"aten::exponential({VECTOR}, nan, None)",
    "similarity with NaN": f"aten::cosine_similarity({VECTOR}, {VECTOR}, 0, nan)",
    "smoothing beyond one": f"aten::cross_entropy_loss({VECTOR}, {VECTOR}, {VECTOR}, 2, -100, 3.0)",
    "no index": f"aten::index.Tensor({VECTOR}, [])",
    "samples of other planes": f"aten::fractional_max_pool2d({IMAGE}, [2, 2], [1, 1], {IMAGE})",
    "shift of no dimensions": "aten::fft_fftshift(T('float32', (), (), 0, 1, 'unit', 4), None)",
    "complex part of a complex number": "aten::Complex.Tensor_float(T('complex64', (), (), 0, 1, "
    "'positive', 4), 3.0)",
    "bias of another width": f"aten::conv_tbc({PAIR}, {PAIR}, T('float32', (1,), (1,), 0, 1, "
    "'unit', 4), 0)",
    "complex number for codes": f"quantized::add_scalar({BYTES}, complex(1.0, 1.0))",
    "negative limits of bytes": "aten::hardtanh(T('uint8', (3,), (1,), 0, 3, 'wild', 4), -1, 2)",
    "sum of two kinds of codes": f"quantized::add({BYTES}, {SIGNED}, 1.0, 3)",
    "ends with dimensions": f"aten::linspace.Scalar_Tensor(0, {VECTOR}, 3, 6, None, None, None)",
    "coin tosses by integers": f"aten::bernoulli({INTS}, None)",
    "a real range that is complex": "aten::linspace(1, complex(0.0, 2.0), 3, 6, None, None, None)",
    "range that is complex": "aten::range(complex(1.0, 2.0), 3, None, None, None, None)",
    "parts for no tensors": f"aten::split_copy.Tensor_out({VECTOR}, 1, 0, [])",
    "reflections of another type": f"aten::orgqr({TALL}, T('float64', (2,), (1,), 0, 2, 'unit', "
    "1))",
    "reflections of other rows": f"aten::ormqr({TALL}, T('float32', (2,), (1,), 0, 2, 'unit', "
    f"1), T('float32', (2, 2), (2, 1), 0, 4, 'unit', 1), True, False)",
    "prelu of bools": f"aten::_prelu_kernel({BOOLS}, {BOOLS})",
    "negated bools": f"aten::_neg_view({BOOLS})",
    "distances of complex numbers": f"aten::pdist({COMPLEX}, 2.0)",
    "repeats that are bools": f"aten::repeat_interleave.Tensor({BOOLS}, None)",
    "rounded integers": f"aten::round.decimals({INTS}, 0)",
    "a number minus bools": f"aten::rsub.Scalar({BOOLS}, 1, 2)",
    "scatter with a reduction": f"aten::scatter.value_reduce({VECTOR}, 0, {PLACES}, 2.0, 'amin')",
    "scatter of another type": f"aten::scatter_reduce.two({VECTOR}, 0, {PLACES}, {INTS}, 'sum', "
    "True)",
    "spatial loss of a vector": f"aten::nll_loss2d({VECTOR}, {PLACES}, None, 1, -100)",
    "margins of integers": f"aten::multilabel_margin_loss({INTS}, {PLACES}, 1)",
    "dropped integers": f"aten::native_dropout({INTS}, 0.5, True)",
    "slopes that are NaN": f"aten::rrelu({VECTOR}, nan, 0.5, False, None)",
    "norm of NaN": f"aten::renorm({TALL}, 2.0, 0, nan)",
    "random complex numbers": f"aten::random_({COMPLEX}, None)",
    "spectrum longer than memory": "aten::fft_hfftn(T('complex64', (4, 6), (6, 1), 0, 24, 'plain', "
    "4), [9223372036854775806, 4], [0, 1], 'ortho')",
    "spectrum of nothing, longer than memory": "aten::fft_irfftn(T('float32', (5, 4, 0), (0, 1, "
    "1), 0, 0, 'plain', 1), [9223372036854775807, 9223372036854775807], None, None)",
    "signal longer than memory": "aten::istft(T('complex64', (10, 2), (2, 1), 0, 20, 'plain', 4), "
    "10, None, None, None, True, False, None, 4611686018427387904, False)",
    "random numbers beyond the type": "aten::random_.from(T('int8', (3,), (1,), 0, 3, 'ones', 1), "
    "-200, 100, None)",
    "floats as ints": "aten::_tensor_to_list(T('float32', (2, 2), (2, 1), 0, 4, 'plain', 5))",
    "ints that int32 has no place for": "aten::_list_to_tensor([2147483648])",
    "shift of no dimensions at all": f"aten::fft_ifftshift({TALL}, [])",
    "frequencies that are bytes": "aten::fft_fftfreq(5, 1.0, 0, None, None, None)",
    "zeros of int64": "aten::fake_quantize_per_channel_affine(T('float32', (2, 3), (3, 1), 0, "
    "6, 'plain', 4), T('float32', (2,), (1,), 0, 2, 'positive', 1), T('int64', (2,), (1,), 0, 2, "
    "'ones', 1), 0, 0, 255)",
    "zero point that is no code": f"aten::fake_quantize_per_tensor_affine({VECTOR}, 0.5, 300, 0, "
    "255)",
    "codes in reverse": f"aten::fake_quantize_per_tensor_affine({VECTOR}, 0.5, 3, 10, 5)",
    "flags of fake quantization": f"aten::fused_moving_avg_obs_fake_quant({VECTOR}, {BOOLS}, "
    f"{BOOLS}, {VECTOR}, {VECTOR}, {VECTOR}, {INTS}, 0.01, 0, 255, 0, False, False)",
    "mode of distances": f"aten::_cdist_forward({TALL}, {TALL}, 3.0, 7)",
    "norm of ints as floats": f"aten::norm.ScalarOpt_dtype({INTS}, 2, 6)",
    "norm in less precision": f"aten::linalg_vector_norm({VECTOR}, 2, None, False, 5)",
    "complex norm of real numbers": f"aten::linalg_vector_norm({VECTOR}, 2, None, False, 9)",
    "softmax of halves as floats": f"aten::_softmax({VECTOR}, 0, True)",
    "bool that has a gradient": "aten::tensor.bool(True, None, None, True)",
    "quantized tensor of floats": "aten::_empty_affine_quantized([2], 6, None, None, None, 1.0, 0, "
    "0)",
    "norm of a batch without a weight": f"quantized::batch_norm({BYTES}, None, {VECTOR}, {VECTOR}, "
    f"{VECTOR}, 1e-05, 0.1, 3)",
    "norm of a batch of images": f"quantized::batch_norm2d({BYTES}, {VECTOR}, {VECTOR}, {VECTOR}, "
    f"{VECTOR}, 1e-05, 0.1, 3)",
    "dynamic layer of ints": f"quantized::linear_dynamic({WHOLE}, P('quantized::linear_prepack', "
    "[Q(T('int8', (3, 2), (2, 1), 0, 6, 'plain', 1), 0.5, 0, None), None]), False)",
    "packed vector": f"quantized::linear_prepack_fp16({VECTOR}, None)",
    "norms of a number": "aten::norm_except_dim(T('float32', (), (), 0, 1, 'unit', 4), 2, 0)",
    "angles that are bools": f"aten::polar({VECTOR}, {BOOLS})",
}

ANSWERED = {
    "gradients of samples of no image": "aten::grid_sampler_2d_backward("
    "T('float32', (0, 1, 2, 2), (4, 4, 2, 1), 0, 0, 'zeros', 0), "
    "T('float32', (0, 1, 3, 3), (9, 9, 3, 1), 0, 0, 'zeros', 0), "
    "T('float32', (0, 2, 2, 2), (8, 4, 2, 1), 0, 0, 'zeros', 0), 0, 0, False, [True, True])",
    "a signal that a window just covers": "aten::conv_tbc(T('float32', (0, 2, 4), (8, 4, 1), 0, 0, "
    "'zeros', 0), T('float32', (3, 4, 5), (20, 5, 1), 0, 60, 'plain', 0), T('float32', (5,), (1,), "
    "0, 5, 'plain', 0), 1)",
    "one slope for a number": "quantized::prelu(Q(T('uint8', (), (), 0, 1, 'plain', 4), 1.0, 3, "
    "None), T('float32', (1,), (1,), 0, 1, 'plain', 4), 0.5, 3)",
    "an integral over nothing": "aten::trapz.dx(T('int64', (3, 0), (1, 1), 0, 0, 'unit', 4), -0.5, "
    "-1)",
    "a triangle with a zero": f"aten::cholesky_solve({MATRIX}, {SINGULAR}, False)",
    "a weight of another type": "aten::lerp.Tensor(T('float64', (3,), (1,), 0, 3, 'plain', 4), "
    "T('float64', (), (), 0, 1, 'plain', 4), T('uint8', (), (), 0, 1, 'plain', 4))",
    "one power, whatever the end": "aten::logspace.out(1.0, 1e+300, 1, 0.0, T('int16', (0,), (1,), "
    "0, 0, 'zeros', 0))",
    "the real part": "aten::Float.Scalar(complex(3.0, 4.0))",
    "differences by infinite steps": f"aten::gradient.scalararray({THREE_BY_THREE}, inf, [0], 2)",
    "a real end of a range": "aten::arange(complex(3.0, 0.0), None, None, None, None)",
    "a number beyond bytes among them": "aten::isin.Tensor_Scalar(T('uint8', (3,), (1,), 0, 3, "
    "'ones', 4), 8589934593, False, False)",
    "nothing padded by a number that fits nowhere": f"aten::constant_pad_nd({INTS}, [0, 0], 1e30)",
    "less than nothing as uint16": "aten::fill_.Scalar(T('uint16', (2,), (1,), 0, 2, 'zeros', 4), "
    "-1)",
    "places with more dimensions than values": f"aten::trapezoid.x({VECTOR}, T('float32', (3, 1), "
    "(1, 1), 0, 3, 'plain', 4), -1)",
    "sums with more dimensions than values": f"aten::cumulative_trapezoid.x({VECTOR}, "
    "T('float32', (3, 1), (1, 1), 0, 3, 'plain', 4), -1)",
    "a fraction of a product of floats": f"aten::addr({INTS}, {VECTOR}, {VECTOR}, 1.5, 1)",
    "any of numbers as bytes": f"aten::any.out({HALVES}, 1, False, {NONE_YET.format('uint8')})",
    "all of no dimensions": "aten::all.dims(T('uint8', (1,), (1,), 0, 1, 'positive', 4), [], True)",
    "complex sizes into complex": f"aten::abs.out({COMPLEX}, {NONE_YET.format('complex64')})",
    "mean in halves": f"aten::mean.out({HALVES}, [1], False, None, {NONE_YET.format('float16')})",
    "complex normal numbers": f"aten::normal.float_Tensor_out(1.0, {ONES}, None, "
    f"{NONE_YET.format('complex64')})",
    "normal numbers in halves": f"aten::normal.Tensor_Tensor_out({VECTOR}, {ONES}, None, "
    f"{NONE_YET.format('float16')})",
    "complex normal numbers with gaps": "aten::normal_(T('complex128', (4, 3), (6, 2), 1, 24, "
    "'plain', 1), 0.0, 1.0, None)",
    "a row written into a matrix": f"aten::linspace.out(0, 5, 6, {SIX})",
    "counts written into a matrix": f"aten::arange.out(6, {SIX})",
    "a type that is given as None": "aten::randint(7, [3], None, None, None, None)",
    "dropout that does nothing": f"aten::native_dropout({VECTOR}, 0.5, False)",
    "packed weights": f"quantized::linear_unpack(P('quantized::linear_prepack', [{CODES}, None]))",
    "factors with zeros": "aten::_lu_with_info(T('float32', (2, 2), (2, 1), 0, 4, 'zeros', 4), "
    "True, True)",
    "complex distances": f"aten::gradient.scalarint({MATRIX}, complex(0.5, -1.0), None, 1)",
    "masked places from behind": "aten::_unsafe_masked_index(T('float32', (3, 4), (4, 1), 0, 12, "
    "'plain', 1), T('bool', (3, 4), (4, 1), 0, 12, 'ones', 4), [None, T('int32', (4,), (1,), 0, 4, "
    "'signed:4', 4)], 9.0)",
    "sums at masked places from behind": "aten::_unsafe_masked_index_put_accumulate(T('float32', "
    "(3, 4), (4, 1), 0, 12, 'plain', 1), T('bool', (3, 4), (4, 1), 0, 12, 'ones', 4), [None, "
    "T('int64', (4,), (1,), 0, 4, 'signed:4', 4)], T('float32', (3, 4), (4, 1), 0, 12, 'plain', "
    "2))",
    "labels that are the blank one": "aten::_ctc_loss(T('float32', (8, 2, 4), (8, 4, 1), 0, 64, "
    "'unit', 1), T('int64', (2, 3), (3, 1), 0, 6, 'index:3', 2), [8, 8], [3, 3], 1, False)",
    "weight norm of a vector": f"aten::_weight_norm({VECTOR}, {ONES}, 0)",
    "bags without the last row": f"aten::embedding_bag.padding_idx({MATRIX}, T('int64', (3,), "
    "(1,), 0, 3, 'index:2', 4), T('int64', (1,), (1,), 0, 1, 'zeros', 4), False, 0, False, None, "
    "False, -1)",
    "words without a bag": f"aten::embedding_bag({MATRIX}, T('int64', (3,), (1,), 0, 3, 'index:2', "
    "4), T('int64', (0,), (1,), 0, 0, 'zeros', 4), False, 1, False, None, False)",
    "gamma of vast numbers": "aten::special_gammaincc(T('float64', (3,), (1,), 0, 3, 'wild', 4), "
    "T('float64', (3,), (1,), 0, 3, 'wild', 4))",
    "complex range": "aten::linspace(complex(1.5, 1.5), -4.0, 3, None, None, None, None)",
    "spectrum without points": "aten::fft_irfftn(T('float32', (4, 0), (1, 1), 0, 0, 'unit', 5), "
    "[4, 4], [0, 1], 'ortho')",
    "complex value": "aten::addcmul(T('complex64', (3,), (1,), 0, 3, 'unit', 4), T('complex64', "
    "(3,), (1,), 0, 3, 'unit', 5), A(1), complex(1.5, 0.5))",
    "limits that cross": f"aten::logit({VECTOR}, 1.0)",
    "limits that cross, of integers": "aten::logit(T('uint8', (3,), (1,), 0, 3, 'positive', 4), "
    "1.0)",
    "limits that cross, many": "aten::logit(T('float32', (40,), (1,), 0, 40, 'plain', 4), 1.0)",
    "loss that nothing reduces": "aten::ctc_loss.IntList(T('float32', (3, 2, 3), (6, 3, 1), 0, 18, "
    "'unit', 1), T('int64', (2, 1), (1, 1), 0, 2, 'ones', 2), [3, 3], "
    "[1, 1], 0, -1, False)",
    "half a frequency": "aten::fft_rfftfreq(-1, 1.0, None, None, None, None)",
    "numbers among bytes": "aten::isin.Tensor_Scalar(T('int8', (3,), (1,), 0, 3, 'plain', 4), "
    "-2147483648, False, False)",
    "edges that are given": "aten::histogramdd.TensorList_bins(T('float32', (4, 2), (2, 1), 0, 8, "
    f"'unit', 4), [{VECTOR}, {VECTOR}], None, None, False)",
    "nothing to dequantize": f"aten::dequantize.self({VECTOR})",
    "lifted": f"aten::lift({VECTOR})",
    "condition of nothing": "aten::linalg_cond(T('float32', (0, 3), (3, 1), 0, 0, 'unit', 4), "
    "None)",
    "pixels that are infinite": "aten::grid_sampler_2d(T('float64', (3, 3, 3, 2), (36, 12, 4, 2), "
    "5, 112, 'wild', 628596393), T('float64', (3, 3, 4, 2), (1, 12, 3, "
    "36), 0, 72, 'wild', 1078984356), 0, 1, True)",
    "no dimensions to reduce": f"aten::any.dims({CUBE}, [], True)",
    "tolerances of more matrices": "aten::linalg_matrix_rank.tol_tensor(T('float32', (2, 2, 3), "
    "(6, 3, 1), 0, 12, 'plain', 1), T('float32', (4, 1), (1, 1), 0, "
    "4, 'unit', 1), False)",
    "tolerances of one matrix": "aten::linalg_matrix_rank.tol_tensor(T('float64', (4, 2), (2, 1), "
    "0, 8, 'plain', 2), T('float64', (4, 2), (2, 1), 0, 8, 'plain', "
    "3), False)",
    "tolerances of empty matrices": "aten::linalg_matrix_rank.tol_tensor(T('float32', (2, 0, 3), "
    "(3, 3, 1), 0, 0, 'plain', 1), T('float32', (4, 1), (1, 1), "
    "0, 4, 'unit', 1), False)",
    "powers of bytes": "aten::linalg_vander(T('uint8', (3,), (1,), 0, 3, 'plain', 1))",
    "no blocks": "aten::block_diag([])",
    "median of nothing": "aten::median(T('int16', (0, 3), (3, 1), 0, 0, 'ones', 1))",
    "division by infinity": "aten::div.complex(complex(0.0, 3.0), complex(inf, inf))",
    "logarithm to a negative base": "aten::log.complex_float(complex(2.0, 1.0), -3.0)",
    "angle of NaN": "aten::angle.Scalar(nan)",
    "angle of minus zero": "aten::angle.float(-0.0)",
    "no frequencies": "aten::fft_rfftfreq(0, 1.0, None, None, None, None)",
    "unasked counts": "aten::unique_dim(T('float32', (5,), (0,), 0, 1, 'plain', 2), -1, False, "
    "False, False)",
    "nothing is dense": "aten::is_non_overlapping_and_dense(T('float32', (2, 0), (1, 1), 1, 1, "
    "'plain', 2))",
    "random numbers in the order of memory": f"aten::uniform({TURNED}, 0.0, 1.0, None)",
    "random numbers in a row": f"aten::bernoulli.p({TURNED}, 0.5, None)",
    "norm of minus infinity": "aten::embedding_renorm_(T('float32', (5, 4), (4, 1), 0, 20, "
    "'positive', 2), T('int64', (2,), (1,), 0, 2, 'index:5', 3), 0.5, "
    "-inf)",
    "logarithm of the largest int": "aten::special_xlog1py.other_scalar(T('float64', (3,), (1,), "
    "0, 3, 'positive', 6), 9223372036854775807)",
    "shift of bytes by more than they have": "aten::__rshift__.Scalar(T('uint8', (3,), (1,), 0, "
    "3, 'wild', 1), 16)",
    "no memory is left of a mask": "aten::native_dropout(T('uint8', (0, 2), (2, 1), 0, 0, 'ones', "
    "1), 0.5, True)",
    "list as a tensor": "aten::_list_to_tensor([-1, 1, 1, 2])",
    "batch statistics that are not used": "aten::native_batch_norm(T('float32', (2, 3), (3, 1), "
    "0, 6, 'plain', 1), None, None, T('float32', (3,), "
    "(1,), 0, 3, 'ones', 1), T('float32', (3,), (1,), 0, 3, "
    "'ones', 1), False, 0.1, 1e-05)",
    "resized to the least scale": f"aten::upsample_nearest2d({IMAGE}, [5, 5], 1e-07, 1e-12)",
    "kept size beside a factor": f"aten::upsample_bilinear2d({IMAGE}, [3, 5], False, 3.0, None)",
    "empty separator": "aten::partition('0', '')",
    "angle that is infinite": "aten::polar.float(-1.0, inf)",
    "rounded to no decimals": f"aten::round.decimals({VECTOR}, -9223372036854775808)",
    "clamped to NaN": f"aten::special_logit({VECTOR}, nan)",
    "random numbers up to the largest": "aten::random_.from(T('int64', (9,), (1,), 0, 9, 'ones', "
    "1), 0, None, None)",
    "mean that is infinite": f"aten::normal_({VECTOR}, -inf, 1.0, None)",
    "deviations of another type": f"aten::normal.Tensor_Tensor({VECTOR}, T('float64', (3,), (1,), "
    "0, 3, 'positive', 1), None)",
    "convolution of no pixels": "quantized::conv_transpose3d_dynamic(T('float32', (1, 4, 1, "
    "0, 3), (12, 3, 3, 3, 1), 0, 0, 'plain', 2), P('quantized::conv_transpose3d_prepack', "
    "[Q(T('int8', (4, 4, 3, 2, 3), (72, 18, 6, 3, 1), 0, 288, 'plain', 3), 0.05, 0, None), "
    "T('float32', (4,), (1,), 0, 4, 'plain', 1), [2, 2, 2], [0, 0, 0], [0, 0, 0], [2, 2, 2], 1]), "
    "False)",
    "convolution beyond its input": "quantized::conv1d_dynamic(T('float32', (2, 3, 5), (15, "
    "5, 1), 0, 30, 'plain', 2), P('quantized::conv1d_prepack', [Q(T('int8', (4, 3, 3), (9, 3, 1), "
    "0, 36, 'plain', 3), 0.5, 0, None), T('float32', (4,), (1,), 0, 4, 'plain', 1), [1], [1], "
    "[1], 1]), False)",
    "slopes from bytes": f"aten::tanh_backward({VECTOR}, T('uint8', (3,), (1,), 0, 3, 'wild', 1))",
    "slopes of a curve from bytes": f"aten::sigmoid_backward({VECTOR}, T('uint8', (3,), (1,), 0, "
    "3, 'wild', 1))",
    "norms of the parts of a vector": f"aten::norm_except_dim({VECTOR}, 2, 0)",
    "repeats of int32": "aten::repeat_interleave.Tensor(T('int32', (3,), (1,), 0, 3, 'ones', 1), "
    "None)",
    "triangle of endless rows": "aten::tril_indices(3, 9223372036854775807, 0, None, None, None, "
    "None)",
    "triangle of long columns": "aten::triu_indices(9223372036854775807, 3, 0, None, None, None, "
    "None)",
    "infinite part times a number": "aten::mul.float_complex(3.0, complex(2.0, -inf))",
    "infinite part times an int": "aten::mul(complex(2.0, inf), 2147483648)",
    "how many NaN differ": "aten::_cdist_forward(T('float32', (3, 2), (2, 1), 0, 6, 'wild', 1), "
    f"{TALL}, 0.0, None)",
    "logarithm near one": f"aten::special_xlog1py.other_scalar({TALL}, 1e-08)",
    "logarithm near one of ints": f"aten::special_xlog1py.other_scalar({WHOLE}, 1e-08)",
    "coarse random numbers": "aten::random.from(T('bfloat16', (3,), (1,), 0, 3, 'ones', 1), 2, "
    "2147483648, None)",
    "coarse random numbers below zero": "aten::random.from(T('float32', (3,), (1,), 0, 3, 'ones', "
    "1), -2147483649, 5, None)",
    "loss in bfloat16": "aten::poisson_nll_loss(T('bfloat16', (3,), (1,), 0, 3, 'unit', 4), "
    "T('int64', (3,), (1,), 0, 3, 'index:4', 4), True, True, 1e-05, 0)",
    "negative Scalar": "aten::neg.Scalar(0.1)",
    "slope of a part": "aten::slice_backward(T('float32', (), (), 0, 1, 'unit', 4), [3], -1, 0, 4, "
    "2)",
    "one tensor in order": f"aten::sorted.Tensor([{TALL}])",
    "infinite number before the last": "aten::std_mean.dim(T('float32', (7, 3, 4), (12, 1, 3), 0, "
    "84, 'wild', 325964322), [-2], True, True)",
    "corrections of complex numbers": "aten::var.correction(T('complex64', (2, 3), (3, 1), 0, 6, "
    "'ones', 0), [0], inf, False)",
    "deviations in half precision": "aten::std.correction_out(T('float64', (2, 3), (3, 1), 0, 6, "
    "'sample:corners/154/0', 0), [0], 0.5, False, T('float16', (0,), (1,), 0, 0, 'zeros', 0))",
    "one deviation of large numbers": "aten::std.correction_out(T('float64', (3,), (1,), 0, 3, "
    "'sample:corners/154/0', 1226454568), [0], 0.5, False, T('float32', (0,), (1,), 0, 0, "
    "'zeros', 0))",
    "powers that vanish": f"aten::_cdist_forward({TALL}, {HALVES}, 9.223372036854776e+18, None)",
    "power beyond float32": f"aten::_cdist_forward({TALL}, {HALVES}, 1e+300, 0)",
    "power below float32": f"aten::pdist({TALL}, 1e-300)",
    "distances as a product": "aten::_euclidean_dist(T('float32', (1, 3), (3, 1), 0, 3, 'wild', "
    "1036139915), T('float32', (2, 3), (3, 1), 3, 9, 'wild', 1244066844))",
    "sum by any other number": "aten::nll_loss_forward(T('float32', (3, 4), (4, 1), 0, 12, "
    "'plain', 1), T('int64', (3,), (1,), 0, 3, 'index:4', 1), None, -2, -100)",
    "margins by any other number": "aten::multi_margin_loss(T('float32', (3, 4), (4, 1), 0, 12, "
    "'plain', 1), T('int64', (3,), (1,), 0, 3, 'index:4', 1), 1, 1, None, 7)",
    "loss of large halves": "aten::huber_loss(T('float16', (3, 4, 7, 1), (56, 14, 2, 2), 0, 167, "
    "'wild', 1168939331), T('int32', (3, 4, 7, 1), (28, 7, 1, 1), 0, 84, 'index:1', 1), 0, 1.0)",
    "zeta of terms that vanish": f"aten::special_zeta.self_scalar(1e+300, {TALL})",
    "window of no width": "aten::kaiser_window.beta(6, True, -1e+300, None, None, None, None)",
    "window of float32": "aten::kaiser_window.beta(6, True, -300.0, None, None, None, None)",
    "polynomials that overflow": "aten::special_hermite_polynomial_h.x_scalar("
    "9.223372036854776e+18, T('int64', (9,), (1,), 0, 9, 'index:12', 1))",
    "poles of float32": "aten::special_multigammaln(T('float32', (9,), (1,), 0, 9, 'wild', "
    "1955638453), 1000)",
    "quotients by infinite numbers": "aten::true_divide.Tensor(T('bool', (4, 4, 4, 4, 4), (256, "
    "64, 16, 4, 1), 0, 1024, 'wild', 2073061190), T('complex128', (4, 4, 4, 4, 4), (256, 1, 64, "
    "16, 4), 1, 1025, 'wild', 811372069))",
    "inverses of infinite numbers": "aten::reciprocal(T('complex64', (5, 5, 5), (25, 5, 1), 0, "
    "125, 'wild', 121338726))",
    "slope at the far edge": "aten::gradient.scalararray(T('complex64', (4, 3), (0, 1), 0, 3, "
    "'plain', 2057097955), 2.0, [0, 1], 2)",
    "sign of what is no number": "aten::slogdet(T('float32', (1, 1, 1), (1, 1, 1), 0, 1, 'wild', "
    "1203211592))",
    "norm of no order": "aten::linalg_vector_norm(T('complex128', (), (), 0, 1, 'plain', 1), nan, "
    "[0], True, None)",
    "power of NaN": "aten::pow.float_complex(1.0, nan)",
    "power to minus zero": "aten::pow.float_complex(inf, complex(-1.0, -0.0))",
    "root of an infinite part": "aten::pow.complex_float(complex(1e+300, -inf), -1.0)",
    "factor beyond half precision": "aten::special_xlogy.other_scalar(T('float16', (7,), (1,), 0, "
    "7, 'positive', 1151432286), 1099511627775)",
    "bound beyond bytes": "aten::softshrink_backward(T('float32', (4, 4), (4, 1), 0, 16, 'plain', "
    "1), T('int8', (1, 4), (4, 1), 0, 4, 'plain', 2), 9223372036854775807)",
    "pivots of all matrices": "aten::lu_unpack(T('float32', (2, 2, 2, 1, 7), (28, 14, 7, 7, 1), "
    "0, 56, 'plain', 1379259788), T('int32', (1,), (1,), 0, 1, 'ones', 1), True, True)",
    "points without coordinates": "aten::histogramdd.int_bins(T('float32', (9, 0), (1, 1), 0, 0, "
    "'unit', 1), 1, None, None, False)",
    "lengths in another shape": "aten::_weight_norm(T('float32', (5, 3), (3, 1), 0, 15, 'plain', "
    "1), T('float32', (5,), (1,), 0, 5, 'plain', 2), 0)",
    "long rows": "aten::embedding_renorm(T('float32', (3, 2), (2, 1), 0, 6, 'wild', 1767807016), "
    "T('int64', (2,), (1,), 0, 2, 'index:3', 1183940590), 0.5, 2.0)",
    "halves in products of codes": "quantized::matmul(Q(T('uint8', (5, 5, 5), (25, 5, 1), 0, 125, "
    "'plain', 1), 0.5, 0, None), Q(T('uint8', (5, 5, 5), (25, 5, 1), 0, 125, 'plain', 2), 1.0, 0, "
    "None), 1.0, 1)",
    "statistics of half precision": "aten::_native_batch_norm_legit_no_training(T('bfloat16', (1, "
    "1), (1, 1), 2, 3, 'plain', 1), None, None, T('bfloat16', (1,), (1,), 0, 1, 'plain', 2), "
    "T('bfloat16', (1,), (1,), 0, 1, 'positive', 3), 0.1, 3.0)",
}

OURS = {
    "number of a tensor's type": "aten::as_tensor.list([T('int32', (1,), (1,), 0, 1, 'ones', 1)], "
    "None, D('cpu'))",
    "size of a bool": "prim::abs.Scalar(True)",
    "dropout of codes": f"quantized::dropout({BYTES}, 1e-05, 7, 1.0, True)",
    "nearest at no scale": f"aten::upsample_nearest1d({SIGNAL}, [5], 1e-300)",
    "linear at no scale": f"aten::upsample_linear1d({SIGNAL}, [5], False, 1e-300)",
    "bicubic at no scale": f"aten::upsample_bicubic2d({IMAGE}, [5, 5], False, 1e-30, 1e-07)",
    "hash of a text": "aten::hash.generic('nan')",
    "hash of a number": "aten::hash.generic(0.1)",
    "power that does not fit": "aten::pow.int_to_int(-9223372036854775808, 2)",
    "sum that wraps": "aten::sum.int([1, 1, 9223372036854775806])",
}
"""Where PyTorch reads outside the image, has other ideas of ints, or gives what it is given."""

LONGS = "T('int64', (2, 3), (3, 1), 0, 6, 'plain', 4)"

CLASSES = {
    f"aten::softmax.int({LONGS}, 7, None)": "IndexError",
    f"aten::softmax.int({LONGS}, 1, None)": "NotImplementedError",
    f"aten::topk({COMPLEX}, 9, 7, True, True)": "IndexError",
    f"aten::gelu({LONGS}, 'nonsense')": "RuntimeError",
    f"aten::bitwise_and_.Scalar({LONGS}, 0.5)": "RuntimeError",
    f"aten::__iand__.Scalar({LONGS}, 0.5)": "RuntimeError",
    f"aten::remainder_.Scalar({LONGS}, complex(1.0, 2.0))": "RuntimeError",
    f"aten::bitwise_and.Tensor({VECTOR}, {SIX})": "NotImplementedError",
    f"aten::bitwise_and.Tensor({VECTOR}, {TALL})": "RuntimeError",
    f"aten::relu({BOOLS})": "RuntimeError",
    f"aten::hinge_embedding_loss({BOOLS}, {PLACES}, 1.0, 1)": "RuntimeError",
    f"aten::sign({COMPLEX})": "NotImplementedError",
    f"aten::median({BOOLS})": "NotImplementedError",
    f"aten::median.dim({BOOLS}, 7, False)": "IndexError",
    f"aten::scatter_.value_reduce({LONGS}, 7, {LONGS}, 1, 'nonsense')": "IndexError",
    f"aten::scatter_.value({LONGS}, 7, {PLACES}, 1)": "IndexError",
    f"aten::std.dim({LONGS}, [7], True, False)": "RuntimeError",
    f"aten::mT({VECTOR})": "RuntimeError",
    f"aten::fft_hfft2({VECTOR}, None, [-2, -1], None)": "IndexError",
    f"aten::linalg_matrix_rank({TALL}, 0.1, True)": "RuntimeError",
    f"aten::adaptive_avg_pool1d({SIGNAL}, [9223372036854775807])": "RuntimeError",
    "aten::remove.int([1, 2], 3)": "RuntimeError",
    "aten::index.list_float([1.0, 2.0], 3.0)": "RuntimeError",
    "prim::min.self_int([])": "RuntimeError",
    f"aten::nll_loss_nd({TALL}, T('int64', (2,), (1,), 0, 2, 'index:2', 4), None, 1, -100)": (
        "ValueError"
    ),
    f"aten::nll_loss_forward({TALL}, T('int64', (2,), (1,), 0, 2, 'index:2', 4), None, 1, -100)": (
        "RuntimeError"
    ),
}
"""Calls that are wrong, most of them in two ways -> the class of the first error."""

HOSTILE = {
    "rows of nothing, very long": "aten::fft_hfft(T('complex64', (4611686018427387904, 0, 54), "
    "(1, 1, 1), 0, 0, 'ones', 1), None, -1, None)",
    "pairs at an odd place": "aten::stack([T('float32', (3, 2), (2, 1), 3, 9, 'plain', 1)], 1)",
    "pairs that repeat from an odd place": "aten::repeat_interleave.self_int(T('float32', (3, 2), "
    "(2, 1), 3, 9, 'plain', 1), 2, 0, None)",
    "endless rows": "aten::_convert_indices_from_coo_to_csr(T('int8', (5,), (1,), 0, 5, "
    "'positive', 1), 9223372036854775807, False)",
    "format that is none": f"aten::resize({VECTOR}, [2], 9223372036854775806)",
}


@cache
def outcomes(engine: str) -> dict[str, tuple]:
    """What an engine gives for each call, by its text."""
    worker = runner.Worker(engine)
    tables = (REFUSED, ANSWERED, OURS, HOSTILE)
    calls = (c for table in tables for c in table.values())
    told = worker.run_texts([*calls, *CLASSES])
    worker.close()
    return told


def is_there(engine: str) -> bool:
    return engine != "native" or not native.why_absent()


def agree(text: str, a: str, b: str, kind: str) -> None:
    if not is_there(a) or not is_there(b):
        pytest.skip("an engine is not there")
    x, y = outcomes(a)[text], outcomes(b)[text]
    assert (x[0], y[0]) == (kind, kind), (x, y)
    assert compare.difference(x, y, classes=False) is None


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    agree(REFUSED[name], "native", "python", "error")


@pytest.mark.parametrize("name", [*ANSWERED, *OURS])
def test_answered(name):
    agree({**ANSWERED, **OURS}[name], "native", "python", "ok")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name):
    for engine in filter(is_there, ("native", "python")):
        assert outcomes(engine)[HOSTILE[name]][0] in ("ok", "error"), engine


@pytest.mark.parametrize(
    "engine", ["native", "python", pytest.param("torch", marks=pytest.mark.oracle)]
)
@pytest.mark.parametrize("text", CLASSES)
def test_class(engine, text):
    if not is_there(engine):
        pytest.skip("the engine is not there")
    assert outcomes(engine)[text][:2] == ("error", CLASSES[text])


@pytest.mark.oracle
@pytest.mark.parametrize("name", [*REFUSED, *ANSWERED])
def test_pytorch(name):
    text = {**REFUSED, **ANSWERED}[name]
    agree(text, "python", "torch", "error" if name in REFUSED else "ok")
