"""Expressions of one operator or a few, for benchmarks.one_by_one.

A line has the element types of x, and an expression; {a|b} stands for one with a and one with b.
The names are tensors: x, y of rows x columns; m, n masks; v a row, c a column; i places in a row,
one a row; j numbers of rows; k, l places in rows and in columns, for each element; s 64 rising
numbers; w one number; p five positive numbers; q a square part of x; b and a: x as matrices
and as pictures of four channels.
"""

from __future__ import annotations

import re

NAMES = tuple("xymnvcijklswpqba")

_LINES = """
f32: torch.{exp2|expm1|log2|log10|log1p|rsqrt|cos|tan|asin|acos|atan|sinh|cosh|asinh|acosh}(x)
f32: torch.{atanh|erf|erfc|erfinv|reciprocal|ceil|round|trunc|frac|lgamma|digamma|i0|sinc}(x)
f32 f16 bf16 f64: torch.{exp|tanh|sigmoid|sqrt|floor|log|sin}(x)
f32 i64 f16 bf16 i32 u8 f64: torch.{abs|neg|sign|square|relu}(x)
f32 f16: torch.{isnan|isinf|isfinite|signbit}(x)
f32 i64 f16 bool: torch.logical_not(x)
i64 bool: torch.bitwise_not(x)
f32: torch.nn.functional.{elu|selu|celu|leaky_relu|hardtanh|hardsigmoid|relu6|mish|softplus}(x)
f32: torch.nn.functional.{logsigmoid|softsign|tanhshrink|hardshrink|softshrink}(x)
f32 f16 bf16: torch.nn.functional.{silu|gelu|hardswish}(x)
f32 f16: torch.nn.functional.gelu(x, approximate='tanh')
f32: torch.nn.functional.{threshold(x, 0.1, 0.2)|prelu(x, w)|glu(x, -1)|glu(x, 0)}
f32: torch.{logit(x, 1e-3)|nan_to_num(x)|polar(x, y)|complex(x, y)}

f32 i64 f16 bf16 i32 u8 f64: torch.{add|sub|mul|maximum|minimum}(x, y)
f32 i64 f16: {torch.clamp(x, -1, 1)|x + 1|x * 2|x > 0|x / 3|x + v|x / y|torch.where(m, x, y)}
f32 i64: {torch.clamp_min(x, 0)|x - 2.5|torch.add(x, y, alpha=2)|x % 3|torch.fmod(x, y)|x ** 2}
f32 i64: torch.div(x, y, rounding_mode={'floor'|'trunc'})
f32: {2 - x|x * c|x.t() + x.t()|x ** 3|x ** 0.5|2.0 ** x|x.abs() ** 1.7|x.abs() ** y|(x > 0) & m}
i64: {x // 3|x == 3|x << 2|x >> 1|x & y|x.masked_fill(m, -1)|torch.gcd(x, y)}
f32: torch.{fmax|fmin|atan2|hypot|copysign|logaddexp|xlogy|heaviside}(x, y)
f32 i64 f16: torch.{eq|ne|lt|le|gt|ge}(x, y)
bool: {m & n|m ^ n|~m}
f32 bool i64: torch.logical_and(x, y)
f32 f16: x.masked_fill(m, 0.0)
f32: {torch.where(m, x, 0.0)|torch.where(x > 0, x, y)|torch.lerp(x, y, 0.3)}
f32: torch.{addcmul|addcdiv}(x, x, y)

f64 f16 bf16 i64 i32 u8 bool: x.to(torch.float32)
f32 f16 i64 bool: x.to(torch.{float64|float16|bfloat16|int64|int32|uint8|bool})

f32 i64: torch.{sum|amax|amin|argmax|argmin|max|min|prod}(x)
f32 f64: torch.{mean|std|var}(x)
f32 i64 f16 i32 bf16 f64: torch.{sum|amax|argmax}(x, -1)
f32 i64 f16 f64: torch.{sum|amax|argmax}(x, 0)
f32: torch.{mean|amin|argmin|std|var|prod}(x, {-1|0})
f32 i64 f16: torch.max(x, {-1|0})[0]
f32: torch.min(x, {-1|0})[0]
f32: torch.aminmax(x, dim={-1|0})[1]
bool: {torch.any(m)|torch.any(m, -1)|torch.any(m, 0)|torch.all(m, -1)|m.sum()|m.sum(-1)|m.sum(0)}
f32 i64 bool: torch.count_nonzero(x{|, -1|, 0})
f32: {torch.norm(x)|torch.norm(x, 2.0, 0)|torch.nansum(x, -1)|torch.nanmean(x, -1)|torch.dist(x, y)}
f32: torch.linalg.vector_norm(x, {1|2|3}, {-1|0})
f32: torch.{logsumexp|var_mean}(x, {-1|0})
f32 f16: torch.{softmax|log_softmax}(x, {-1|0})
f32 i64: torch.cumsum(x, {-1|0})
f32: torch.{cumprod|logcumsumexp}(x, {-1|0})
f32: torch.{cummax|cummin}(x, {-1|0})[0]
f32 f16: torch.nn.functional.layer_norm(x, [x.size(-1)]{|, v, v})
f32: torch.nn.functional.{rms_norm(x, [x.size(-1)], v)|normalize(x, dim=-1)|normalize(x, dim=0)}
f32: torch.nn.functional.group_norm(x.view(x.size(0) // 2, 10, -1), 5)
f32: torch.nn.functional.batch_norm(x, {None, None, v, v, True|v, v.abs() + 1, v, v, False})
f32: torch.nn.functional.batch_norm(a.view(-1, 5, a.size(2), a.size(3)), p, p, p, p, {True|False})
f32: torch.nn.functional.{instance_norm(a)|local_response_norm(a, 5)}

f32: torch.nn.functional.{mse_loss|l1_loss|smooth_l1_loss|huber_loss|soft_margin_loss}(x, y)
f32: torch.nn.functional.{binary_cross_entropy_with_logits|cosine_similarity}(x, y)
f32: torch.nn.functional.{pairwise_distance|poisson_nll_loss|hinge_embedding_loss}(x, y)
f32: torch.nn.functional.{cross_entropy|nll_loss|multi_margin_loss}(x, i)
f32: torch.nn.functional.cross_entropy(x, i, label_smoothing=0.1)
f32: torch.nn.functional.kl_div(x, y, reduction='batchmean')
f32: torch.nn.functional.binary_cross_entropy(x.sigmoid(), y.sigmoid())

f32 i64 f16 bool u8: {torch.cat([x, y], 0)|x.t().contiguous()|x.clone()}
f32 i64: torch.{cat([x, y], -1)|stack([x, y], -1)|stack([x, y], 0)}
f32 i64 u8: {x.flip(-1)|x.flip(0)|x.roll(3, -1)|x.roll(3, 0)}
f32: x.view(-1, 2, x.size(1)).permute({1, 2, 0|0, 2, 1|2, 0, 1}).contiguous()
f32: x.view(x.size(0), -1, 2).permute({2, 0, 1|0, 2, 1}).contiguous()
f32: {x.repeat(2, 1)|x.repeat(1, 2)|torch.tril(x)|torch.triu(x, 1)|torch.rot90(x)}
f32: x[{:, ::2|::2|:, 1:-1}].contiguous()
f32: {v|c}.expand_as(x).contiguous()
f32: {a.contiguous(memory_format=torch.channels_last)|x.unfold(1, 10, 5).contiguous()}
f32: torch.{diff(x)|diff(x, 1, 0)|outer(v, v)|diag(v)|diag_embed(x[:5])|vander(v, 5)}
f32: torch.meshgrid(v, v)[{0|1}].contiguous()
f32: torch.repeat_interleave(x, 2, {0|1})
f32: torch.nn.functional.pad(x, [1, 2, 1, 1])
f32: torch.nn.functional.pad(x.unsqueeze(0), [1, 2], mode={'reflect'|'replicate'|'circular'})
f32: torch.nn.functional.pad(a, [1, 1, 1, 1]{|, mode='reflect'})
f32 i64: torch.zeros_like(x)
f32: torch.{ones_like(x)|full_like(x, 2)|arange(x.numel())|arange(x.numel(), dtype=torch.float32)}
f32: torch.{linspace(0, 1, x.numel())|logspace(0, 1, x.numel())|eye(q.size(0))}

f32 i64: x[j]
f32: {x[:, i % x.size(1)]|x[m]|x[j, i]|torch.masked_select(x, m)|torch.take(x, k)}
f32: torch.index_select(x, {0, j|1, i % x.size(1)})
f32: torch.gather(x, {1, k|0, l})
f32: {x.scatter(1, k, x)|x.scatter_add(1, k, x)|x.scatter_add(0, l, x)}
f32: {x.scatter_reduce(1, k, x, 'amax')|x.index_add(0, j, x)|x.index_copy(0, j, x)}
f32: {x.index_fill(0, j, 1.0)|x.index_put([j], v)|x.masked_scatter(m, y)}
f32: torch.nn.functional.{one_hot(i % 10, 10)|embedding(j, x)|embedding_bag(j.view(-1, 5), x)}
bool: torch.nonzero(m)
i64: torch.{bincount(x.flatten().abs())|unique(x)|isin(x, y[0])}

f32 i64 f16: torch.sort(x, -1)[0]
f32: torch.{argsort(x, -1)|argsort(x, 0)|sort(x, -1, descending=True)[1]|sort(x.flatten())[0]}
f32: torch.{topk(x, 5)[0]|topk(x, 5, 0)[0]|topk(x, 50)[0]|median(x, -1)[0]|median(x)}
f32: torch.{kthvalue(x, 3)[0]|quantile(x[:50], 0.3, -1)|searchsorted(s, x)|bucketize(x, s)}
f32: torch.{mode(x[:20], -1)[0]|histc(x, 10)|unique(x.round())}
i64: torch.searchsorted(torch.sort(y[0])[0], x)

f32 f64 f16: torch.{rand_like|randn_like}(x)
f32: torch.nn.functional.{dropout|alpha_dropout}(x, 0.5, True)
f32: torch.{randint_like(x, 10)|bernoulli(x.sigmoid())|bernoulli(x, 0.3)|randperm(x.numel())}
f32: torch.{empty_like(x).exponential_()|multinomial(x.abs(), 3)}

f32: torch.{cdist(x[:20], x[:20])|cdist(q, q)|cdist(q, q, 1.0)|pdist(x[:20])|trace(q)|mv(x, v)}
f32: torch.{matmul(q, q)|mm(q, q.t())|matmul(b, b.transpose(1, 2))|dot(v, v)|addmm(q, q, q)}
f32: torch.einsum({'ij,kj->ik', x[:20], y[:20]|'ij,ij->i', x, y|'bij,bkj->bik', b, b})
f32: torch.{cross(x[:, :3], y[:, :3], dim=1)|kron(q[:8, :8], q[:8, :8])|tensordot(q, q, 1)}
f32: torch.{trapz(x)|cumulative_trapezoid(x)|fft.rfft(x)|fft.fft(x)}
f32: torch.linalg.{det(q[:20, :20])|inv(q[:20, :20])|solve(q[:20, :20], q[:20, :1])}
f32: torch.nn.functional.{max|avg}_pool2d(a, {2|3, 2, 1})
f32: torch.nn.functional.{max|avg}_pool1d(a.flatten(2), 2{|, 1})
f32: torch.nn.functional.lp_pool2d(a, 2.0, 2)
f32: torch.nn.functional.adaptive_{avg|max}_pool2d(a, [{1, 1|3, 3}])
f32: torch.nn.functional.conv2d(a, a[:1, :, :3, :3])
f32: torch.nn.functional.conv1d(a.flatten(2), a[:1, :, 0, :3])
f32: torch.nn.functional.conv_transpose2d(a, a[:1, :, :2, :2].transpose(0, 1), None, 2)
f32: torch.nn.functional.interpolate(a, scale_factor=2.0{|, mode='bilinear'|, mode='bicubic'})
f32: torch.nn.functional.interpolate(a, scale_factor=0.5, mode='bilinear', antialias={True|False})
f32: torch.nn.functional.{unfold(a, [3, 3])|pixel_shuffle(a, 2)|pixel_unshuffle(a, 2)}
f32: torch.nn.functional.fold(a.flatten(2), [a.size(2) * 2, a.size(3) * 2], [2, 2], stride=[2, 2])
f32: torch.nn.functional.{channel_shuffle(a, 2)|scaled_dot_product_attention(b, b, b)}
f32: torch.nn.functional.grid_sample(a, torch.tanh(a[:, :2]).permute(0, 2, 3, 1))

f32: torch.tanh(1.5 * x + 0.25) * torch.sigmoid(x) + torch.exp(-(x * x))
f32: {x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)|((x - 0.5) ** 2).mean()}
f32: {torch.softmax(x * 0.125 + y, -1)|(x * y).sum(0)|(x - x.mean(0)) / x.std(0)}
f32: {(x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)|torch.relu(x * v + v)}
f32: {x * torch.sigmoid(1.702 * x)|torch.where(x > 0, x, 0.1 * x) + y|(x - y).abs().amax()}
f32: {((x > 0) & (y > 0)).sum()|(x.argmax(-1) == i).sum()|(x.abs() + 1).log().sum(-1)}
f32: x.clamp(0, 1).pow(2.2)
"""


def expressions() -> list[tuple[str, str]]:
    """Every expression with an element type of x to measure it on."""
    found = []
    for line in _LINES.split("\n"):
        types, _, pattern = line.partition(": ")
        found += [(text, t) for text in _expanded(pattern) for t in types.split()]
    return found


def names(expression: str) -> list[str]:
    """The tensors that an expression needs."""
    return [n for n in NAMES if re.search(rf"(?<![\w.']){n}(?![\w'])", expression)]


def _expanded(pattern: str) -> list[str]:
    before, brace, rest = pattern.partition("{")
    if not brace:
        return [pattern]
    words, _, after = rest.partition("}")
    return [before + word + end for word in words.split("|") for end in _expanded(after)]
