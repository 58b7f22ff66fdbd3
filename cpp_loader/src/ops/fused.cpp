// The optimiser's own operators: convolution and linear layer with packed weights and what follows
// them (a result to add, an activation) done in the same pass over memory.
#include <algorithm>
#include <string>

#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "../../kernels/scratch.h"
#include "values/prepared.h"
#include "fused.h"
#include "linalg.h"
#include "view.h"

namespace scriptlang {

void op_aten_conv2d(Context& ctx, Args args, Value* out);

using kernels::Activation;
using kernels::ConvShape;
using kernels::ConvWay;
using kernels::LastConv;

namespace {

constexpr Ending kEndings[] = {
    {"none", kernels::Activation::kNone, kernels::Unary::k_copy, true},
    {"relu", kernels::Activation::kRelu, kernels::Unary::k_relu, true},
    {"relu6", kernels::Activation::kRelu6, kernels::Unary::k_clamp, true},
    {"silu", kernels::Activation::kNone, kernels::Unary::k_silu, false},
    {"gelu", kernels::Activation::kNone, kernels::Unary::k_gelu, false},
    {"gelu_tanh", kernels::Activation::kNone, kernels::Unary::k_gelu_tanh, false},
    {"hardswish", kernels::Activation::kNone, kernels::Unary::k_hardswish, false},
    {"hardsigmoid", kernels::Activation::kNone, kernels::Unary::k_hardsigmoid, false},
    {"sigmoid", kernels::Activation::kNone, kernels::Unary::k_sigmoid, false},
    {"tanh", kernels::Activation::kNone, kernels::Unary::k_tanh, false},
};

}  // namespace

const Ending& ending(const std::string& name) {
  for (const Ending& e : kEndings) {
    if (e.text == name) return e;
  }
  raise(ErrorKind::RuntimeError, "unknown activation '", name, "' of a fused operator");
}

kernels::Finish<float> finish_of(const Ending& e) {
  return e.fused ? nullptr : kernels::kernels().loops->finish[int(e.after)];
}

Tensor activated(const Tensor& y, const Ending& e, bool in_place) {
  if (&e == kEndings) return y;
  const double six[kernels::kParams] = {0, 6};
  bool whole = e.after == kernels::Unary::k_relu || e.after == kernels::Unary::k_clamp;
  return unary_result(y, e.after, e.name(), whole ? Rule::kSame : Rule::kFloat,
                      e.after == kernels::Unary::k_clamp ? six : nullptr, in_place ? y : Tensor());
}

Tensor added_to(const Tensor& y, const Tensor& added) {
  return binary_result(y, added, kernels::Binary::k_add, "add", Rule::kSame);
}

Tensor in_last(const Tensor& t) {
  if (is_in_format(t, kChannelsLast)) return t;
  Tensor last = empty_in_format(t, t.dtype(), kChannelsLast);
  copy_into(last, t);
  return last;
}

Tensor in_wanted_format(const Tensor& y, int64_t format) {
  if (y.numel() == 0 || is_in_format(y, format)) return y;
  if (format == kChannelsLast && y.dim() != 4) return y;
  Tensor out = empty_in_format(y, y.dtype(), format);
  copy_into(out, y);
  return out;
}

namespace {

// What the kernel of conv2d handles itself; everything else takes the way of aten::conv2d, which
// also finds fault with arguments.
bool settle_shape(Args args, ConvShape* s, int64_t* groups, std::vector<int64_t>* sizes) {
  const Tensor &x = args.tensor(0), &w = args.tensor(1), &bias = args.opt_tensor(2);
  const Tensor& added = args.opt_tensor(7);
  *groups = args.integer(6);
  if (x.dim() != 4 || w.dim() != 4 || !is_float(x) || !is_float(w) || *groups < 1) return false;
  if (w.size(0) < *groups || w.size(0) % *groups || x.size(1) != w.size(1) * *groups) return false;
  if (bias.defined() && (bias.dim() != 1 || bias.size(0) != w.size(0) || !is_float(bias))) {
    return false;
  }
  s->channels = w.size(1);
  s->outputs = w.size(0) / *groups;
  *sizes = {x.size(0), w.size(0)};
  Ints settings[3] = {args.ints(3, 2), args.ints(4, 2), args.ints(5, 2)};
  constexpr int64_t kLimit = 1 << 20;
  int64_t framed = x.size(1);
  for (int64_t i = 0; i < 2; ++i) {
    for (const Ints& v : settings) {
      if (v.size() != 2 || v[i] < 0 || v[i] >= kLimit) return false;
    }
    int64_t d = i + 1, in = x.size(i + 2), k = w.size(i + 2);
    s->in[d] = in;
    s->kernel[d] = k;
    s->stride[d] = settings[0][i];
    s->padding[d] = settings[1][i];
    s->dilation[d] = settings[2][i];
    if (k < 1 || k >= kLimit || in >= kLimit) return false;
    if (s->stride[d] < 1 || s->dilation[d] < 1) return false;
    int64_t room = in + 2 * s->padding[d] - s->dilation[d] * (k - 1) - 1;
    if (room < 0 || __builtin_mul_overflow(framed, in + 2 * s->padding[d], &framed)) return false;
    s->out[d] = room / s->stride[d] + 1;
    sizes->push_back(s->out[d]);
  }
  if (framed >= int64_t(1) << 40 || w.numel() == 0 || !is_whole(w)) return false;
  return !added.defined() || (is_float(added) && added.sizes() == IntSpan(*sizes));
}

const float* packed_conv(const Tensor& w, const ConvShape& s, int64_t groups, ConvWay way) {
  const auto& functions = *kernels::kernels().last_conv;
  Prepared::Key key(w, kConvWeight);
  key.details[0] = int64_t(way);
  key.details[1] = groups;
  return Prepared::get(w.storage(), key, functions.packed_size(s, groups, way), [&](float* to) {
    functions.pack(s, groups, way, contiguous_as(w, ScalarType::Float32).data<float>(), to);
  });
}

// The result, channels last.
Tensor convolve_last(Args args, const ConvShape& s, int64_t groups, IntSpan sizes,
                     const Ending& e) {
  const Tensor &x = args.tensor(0), &w = args.tensor(1), &bias = args.opt_tensor(2);
  const auto& functions = *kernels::kernels().last_conv;
  checked_numel(sizes);
  int64_t outputs = sizes[1], image = outputs * s.out_pixels();
  Tensor y = Tensor::empty(sizes, ScalarType::Float32);
  if (y.numel() == 0) return y;
  y.impl()->set_geometry(sizes, {image, 1, outputs * s.out[2], outputs});
  Tensor added = args.none(7) ? Tensor() : in_last(args.tensor(7));
  Tensor row = bias.defined() ? to_contiguous(bias) : bias;
  LastConv c;
  c.shape = s;
  c.groups = groups;
  c.way = functions.choose(s, groups);
  c.x_channel = x.stride(1);
  c.x_row = x.stride(2);
  c.x_column = x.stride(3);
  c.packed = packed_conv(w, s, groups, c.way);
  c.bias = row.defined() ? row.data<float>() : nullptr;
  c.activation = e.inside;
  c.finish = finish_of(e);
  int64_t frame = x.size(1);
  for (int d = 1; d < 3; ++d) frame *= s.in[d] + 2 * s.padding[d];
  Charged working(frame * int64_t(sizeof(float)));
  for (int64_t i = 0; i < sizes[0]; ++i) {
    c.x = x.data<float>() + i * x.stride(0);
    c.added = added.defined() ? added.data<float>() + i * image : nullptr;
    c.y = y.data<float>() + i * image;
    functions.convolve(c);
  }
  return y;
}

// input [..., k] times a constant weight [n, k].
bool settle_linear(Args args, int64_t* sizes) {
  const Tensor &x = args.tensor(0), &w = args.tensor(1), &bias = args.opt_tensor(2);
  const Tensor& added = args.opt_tensor(3);
  if (w.dim() != 2 || x.dim() < 1 || !is_float(x) || !is_float(w)) return false;
  if (x.size(x.dim() - 1) != w.size(1) || x.numel() == 0 || w.numel() == 0 || !is_whole(w)) {
    return false;
  }
  if (bias.defined() && (bias.dim() != 1 || bias.size(0) != w.size(0) || !is_float(bias))) {
    return false;
  }
  std::copy_n(x.sizes().data, x.dim(), sizes);
  sizes[x.dim() - 1] = w.size(0);
  return !added.defined() || (is_float(added) && added.sizes() == IntSpan(sizes, x.dim()));
}

// The tensor, or a copy that lies contiguous.
const Tensor& contiguous(const Tensor& t, Tensor* copy) {
  if (!t.defined() || t.is_contiguous()) return t;
  return *copy = to_contiguous(t);
}

Tensor multiply_linear(Args args, IntSpan sizes, const Ending& e) {
  const Tensor& w = args.tensor(1);
  const auto& gemm = kernels::kernels().gemm<float>();
  Tensor copies[3], y = Tensor::empty(sizes, ScalarType::Float32);
  const Tensor& x = contiguous(args.tensor(0), &copies[0]);
  const Tensor& row = contiguous(args.opt_tensor(2), &copies[1]);
  const Tensor& sum = contiguous(args.opt_tensor(3), &copies[2]);
  kernels::Gemm<float> g;
  g.n = w.size(0);
  g.k = w.size(1);
  g.m = x.numel() / g.k;
  g.a = x.data<float>();
  g.a_row = g.k;
  g.packed_b = Prepared::get(w.storage(), Prepared::Key(w, kLinearWeight),
                             gemm.packed_size(g.k, g.n), [&](float* to) {
    gemm.pack(g.k, g.n, w.data<float>(), w.stride(1), w.stride(0), to);
  });
  g.c = y.data<float>();
  g.c_row = g.n;
  g.start = row.defined() ? kernels::Start::kColumnBias : kernels::Start::kZero;
  g.bias = row.defined() ? row.data<float>() : nullptr;
  g.added = sum.defined() ? sum.data<float>() : nullptr;
  g.activation = e.inside;
  g.finish = finish_of(e);
  gemm.multiply(g);
  return y;
}

}  // namespace

SL_OP(scriptlang_conv2d) {
  const Ending& e = ending(args.string(8));
  int64_t groups, format = args.integer(9);
  ConvShape s;
  std::vector<int64_t> sizes;
  Tensor y;
  if (settle_shape(args, &s, &groups, &sizes)) {
    y = convolve_last(args, s, groups, sizes, e);
  } else {
    Value values[7] = {args[0], args[1], args[2], args[3], args[4], args[5], args[6]};
    Value result;
    op_aten_conv2d(ctx, Args(values, 7), &result);
    y = result.as_tensor();
    if (!args.none(7)) y = added_to(y, args.tensor(7));
    y = activated(y, e, false);
  }
  out[0] = in_wanted_format(y, format);
}

SL_OP(scriptlang_linear) {
  const Ending& e = ending(args.string(4));
  int64_t sizes[kMaxDims];
  if (settle_linear(args, sizes)) {
    out[0] = multiply_linear(args, {sizes, args.tensor(0).dim()}, e);
    return;
  }
  Tensor y = linear(args.tensor(0), args.tensor(1), args.opt_tensor(2));
  if (!args.none(3)) y = added_to(y, args.tensor(3));
  out[0] = activated(y, e, false);
}

}  // namespace scriptlang
