// The optimiser's own operators: activations that follow a layer, and the linear layer with a
// packed weight, with an addition and an activation done in the same pass over memory.
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

const Ending& ending(std::string_view name) {
  for (const Ending& e : kEndings) {
    if (e.text == name) return e;
  }
  raise(ErrorKind::RuntimeError, "unknown activation '", name, "' of a fused operator");
}

kernels::Finish<float> finish_of(const Ending& e) {
  return e.fused ? nullptr : kernels::kernels().finish->at[int(e.after)];
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

// Checks whether the fast path applies, input [..., k] times a constant weight [n, k], and computes
// the result's sizes.
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

// The tensor if it is contiguous, else a contiguous copy, held by *copy.
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
  g.packed_b = Prepared::get(
      w.storage(), Prepared::Key(w, kLinearWeight), gemm.packed_size(g.k, g.n),
      [&](float* to) { gemm.pack(g.k, g.n, w.data<float>(), w.stride(1), w.stride(0), to); });
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
