// Derivatives of softmax and log_softmax, along any dimension.
#include "../../kernels/backward.h"
#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "express.h"
#include "layout.h"
#include "row_kernels.h"
#include "values/pooled.h"
#include "view.h"

namespace scriptlang {

namespace {

// y = result * (g - sum(g * result)) for softmax; g - exp(result) * sum(g) for log_softmax.
template <class T>
void row_back(int64_t n, const T* g, const T* result, bool log, T* powers, T* y) {
  const auto& rows = kernels::kernels().backward<T>();
  const T* weight = result;
  T sums[2];
  rows.sums(n, g, nullptr, result, T(0), sums);
  if (!log) return rows.combine(n, g, weight, result, T(1), -sums[1], T(0), y);
  const void* in[1] = {result};
  const int64_t step[1] = {1};
  kernels::loops(
      kernels::Unary::k_exp)[std::is_same_v<T, double> ? ScalarType::Float64 : ScalarType::Float32](
      n, powers, in, step, nullptr);
  rows.combine(n, g, nullptr, powers, T(1), -sums[0], T(0), y);
}

template <class T>
void rows_back(const Tensor& g, const Tensor& result, bool log, const Tensor& y) {
  const int64_t n = y.size(y.dim() - 1), rows = y.numel() / n;
  const int64_t grain = std::max<int64_t>(1, 16384 / n);
  kernels::parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    Pooled<T> powers(as_size(log ? n : 0), T(0));
    for (int64_t r = begin; r < end; ++r) {
      row_back(n, g.data<T>() + r * n, result.data<T>() + r * n, log, powers.data(),
               y.data<T>() + r * n);
    }
  });
}

// The general path, composed of other operators, for types without row kernels.
Tensor composed(const Tensor& g, const Tensor& result, int64_t dim, bool log) {
  using namespace express;
  Dims dims;
  dims.push_back(dim);
  if (log) return sub(g, mul(exp(result), sum_over(g, dims, true)));
  const Tensor product = mul(g, result);
  return sub(product, mul(result, sum_over(product, dims, true)));
}

Tensor softmax_back(const Tensor& g, const Tensor& result, int64_t dim, bool log) {
  if (g.dim() == 0) {
    return view_squeeze(softmax_back(view_unsqueeze(g, 0), view_unsqueeze(result, 0), 0, log), {0});
  }
  dim = wrap_dim(dim, g.dim());
  if (!is_floating(g.dtype())) return composed(g, result, dim, log);
  const ScalarType computed = computed_type(g.dtype(), "softmax_backward");
  const bool last = dim == g.dim() - 1;
  const auto moved = [&](const Tensor& t) {
    return contiguous_as(last ? t : view_transpose(t, dim, -1), computed);
  };
  const Tensor from = moved(g), made = moved(result);
  const Tensor y = Tensor::empty(from.sizes(), computed);
  if (y.numel() > 0) {
    for_float_type(computed, [&](auto zero) { rows_back<decltype(zero)>(from, made, log, y); });
  }
  return contiguous_as(last ? y : view_transpose(y, dim, -1), g.dtype());
}

void softmax_backward(Args args, Value* out, bool log) {
  const Tensor &g = args.tensor(0), &result = args.tensor(1);
  SL_CHECK(g.sizes() == result.sizes(),
           "Expected the gradient to have the same size as the output; but got ",
           to_string(g.sizes()), " and ", to_string(result.sizes()));
  SL_CHECK(g.dtype() == result.dtype(),
           "Expected the gradient to have the element type of the output");
  out[0] = to_dtype(softmax_back(g, result, args.integer(2), log), args.dtype(3));
}

}  // namespace

SL_OP(aten__softmax_backward_data) { softmax_backward(args, out, false); }
SL_OP(aten__log_softmax_backward_data) { softmax_backward(args, out, true); }

}  // namespace scriptlang
