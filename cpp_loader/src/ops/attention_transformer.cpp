// The fused operators that a traced nn.TransformerEncoder and nn.MultiheadAttention call.
#include <cmath>
#include <limits>

#include "layers.h"
#include "linalg.h"
#include "nested.h"
#include "pointwise.h"
#include "reduce.h"
#include "view.h"

namespace scriptlang {

using kernels::Binary;
using kernels::Unary;

namespace {

enum MaskType : int64_t { kAttentionMask = 0, kPaddingMask = 1, kMergedMask = 2 };

// Broadcasts a mask to [batch, heads, rows, keys]. It is true, or not zero, where a query must not
// look. The type says which two dimensions a 2-d mask has.
Tensor spread_mask(const Tensor& given, const Value& type, IntSpan scores) {
  int64_t batch = scores[0], keys = scores[3];
  if (given.dim() == 2) {
    SL_CHECK(!type.is_none(),
             "Mask Type should be defined: 0 for a mask (L, L), 1 for one of (B, L)");
  }
  int64_t kind = given.dim() == 2 ? type.as_int() : kMergedMask;
  Tensor mask = to_dtype(given, ScalarType::Bool);
  auto is = [&](IntSpan size) { return IntSpan(mask.sizes()) == size; };
  if (kind == kPaddingMask) {
    SL_CHECK(is({batch, keys}), "For mask_type == 1 mask shape should be (B, L)");
    return view_expand(view_unsqueeze(view_unsqueeze(mask, 1), 1), scores);
  }
  if (kind == kAttentionMask) {
    SL_CHECK(is({scores[2], keys}), "For mask_type == 0 mask shape should be (L, L)");
    return view_expand(mask, scores);
  }
  SL_CHECK(is(scores), "For mask_type == ", kind, " mask shape should match input shape");
  return mask;
}

struct Attended {
  Tensor result, weights;
};

struct Heads {
  Tensor qkv_weight, qkv_bias, proj_weight, proj_bias;
  int64_t embed, count;
};

// [batch, rows, embed] to [batch, heads, rows, embed / heads]
Tensor split_heads(const Tensor& t, int64_t heads) {
  int64_t embed = t.size(2);
  return view_transpose(reshape(t, {t.size(0), t.size(1), heads, embed / heads}), 1, 2);
}

Attended attend(const Tensor& query, const Tensor& key, const Tensor& value, const Heads& h,
                const Tensor& mask, const Value& mask_type) {
  SL_CHECK(query.dim() == 3 && key.dim() == 3 && value.dim() == 3, "expected 3-D `query`, got ",
           query.dim(), "-D tensor");
  SL_CHECK(h.count > 0 && h.embed % h.count == 0 && query.size(2) == h.embed,
           "passed-in embed_dim ", h.embed, " didn't match last dim of query ", query.size(2));
  SL_CHECK(h.qkv_weight.dim() == 2 && h.qkv_weight.size(0) == 3 * h.embed,
           "expected `qkv_weight` first dim to be 3x embed_dim");
  SL_CHECK(h.qkv_bias.dim() == 1 && h.qkv_bias.size(0) == 3 * h.embed,
           "expected `qkv_bias` first dim and first dim of query to be equal");
  Tensor inputs[3] = {query, key, value}, parts[3];
  bool same = query.is(key) && key.is(value);
  Tensor all = same ? linear(query, h.qkv_weight, h.qkv_bias) : Tensor();
  for (int i = 0; i < 3; ++i) {
    Tensor part = same ? view_narrow(all, 2, i * h.embed, h.embed)
                       : linear(inputs[i], view_narrow(h.qkv_weight, 0, i * h.embed, h.embed),
                                view_narrow(h.qkv_bias, 0, i * h.embed, h.embed));
    parts[i] = split_heads(part, h.count);
  }
  const int64_t width = h.embed / h.count;
  double scale = 1.0 / std::sqrt(double(width));
  Tensor q = binary_result(parts[0], Scalar(scale), Binary::k_mul, "mul", Rule::kSame);
  Tensor scores = matmul(q, view_transpose(parts[1], 2, 3));
  if (mask.defined()) {
    double nothing = -std::numeric_limits<double>::infinity();
    scores = where_result(spread_mask(mask, mask_type, scores.sizes()), Scalar(nothing), scores,
                          scores.dtype());
  }
  Attended a;
  a.weights = softmax(scores, -1);
  Tensor joined = reshape(view_transpose(matmul(a.weights, parts[2]), 1, 2),
                          {query.size(0), query.size(1), h.embed});
  a.result = linear(joined, h.proj_weight, h.proj_bias);
  return a;
}

Tensor plus(const Tensor& a, const Tensor& b) {
  return binary_result(a, b, Binary::k_add, "add", Rule::kSame);
}

}  // namespace

SL_OP(aten__native_multi_head_attention) {
  Heads h{args.tensor(5), args.tensor(6),  args.tensor(7),
          args.tensor(8), args.integer(3), args.integer(4)};
  Attended a =
      attend(args.tensor(0), args.tensor(1), args.tensor(2), h, args.opt_tensor(9), args[12]);
  out[0] = a.result;
  if (!args.boolean(10)) return;
  if (args.boolean(11)) {
    Tensor total = sum_over(a.weights, {1});
    a.weights = binary_result(total, Scalar(double(h.count)), Binary::k_div, "div", Rule::kSame);
  }
  out[1] = a.weights;
}

SL_OP(aten__transformer_encoder_layer_fwd) {
  Heads h{args.tensor(3), args.tensor(4),  args.tensor(5),
          args.tensor(6), args.integer(1), args.integer(2)};
  bool norm_first = args.boolean(8);
  double eps = args.number(9);
  auto norm = [&](const Tensor& t, int weight) {
    return layer_norm_of(t, {h.embed}, args.tensor(weight), args.tensor(weight + 1), eps);
  };
  auto layer = [&](const Tensor& src, const Tensor& mask, const Value& mask_type) {
    Tensor x = norm_first ? norm(src, 10) : src;
    x = plus(attend(x, x, x, h, mask, mask_type).result, src);
    if (!norm_first) x = norm(x, 10);
    Tensor before = x;
    if (norm_first) x = norm(x, 12);
    x = linear(x, args.tensor(14), args.tensor(15));
    x = unary_result(x, args.boolean(7) ? Unary::k_gelu : Unary::k_relu, "gelu", Rule::kSame);
    x = plus(linear(x, args.tensor(16), args.tensor(17)), before);
    return norm_first ? x : norm(x, 12);
  };
  const Tensor& src = args.tensor(0);
  if (is_nested(src)) {
    out[0] = each_sequence(src, [&](const Tensor& x) { return layer(x, Tensor(), Value()); });
  } else {
    out[0] = layer(src, args.opt_tensor(18), args[19]);
  }
}

}  // namespace scriptlang
