// Products with packed int8 matrices, for quantized linear layers and convolutions.
#include "product.h"

#include <algorithm>

#include "ops/pointwise.h"

namespace scriptlang {

namespace {

int64_t padded(int64_t n) {
  return (n + kernels::kQuantizedColumns - 1) / kernels::kQuantizedColumns *
         kernels::kQuantizedColumns;
}

// The parameters of `n` channels from `first` on, padded for the kernels.
template <class T>
std::vector<T> parameters(const Tensor& t, ScalarType type, int64_t first, int64_t n) {
  std::vector<T> made(as_size(padded(n)), T());
  Tensor all = contiguous_as(t, type);
  SL_CHECK(first + n <= all.numel(), "a layer of ", first + n, " channels has parameters for ",
           all.numel());
  std::copy_n(all.data<T>() + first, n, made.begin());
  return made;
}

}  // namespace

int64_t code_matrix_bytes(int64_t k, int64_t n) {
  return padded(n) * 4 + kernels::kernels().quantized_product->packed_size(k, n);
}

void pack_matrix(int64_t k, int64_t n, const int8_t* b, int64_t b_row, void* to) {
  int32_t* sums = static_cast<int32_t*>(to);
  std::fill_n(sums, padded(n), 0);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < k; ++i) sums[j] += b[j * b_row + i];
  }
  kernels::kernels().quantized_product->pack(k, n, b, 1, b_row, sums + padded(n));
}

CodeMatrix matrix_at(int64_t k, int64_t n, const void* packed) {
  const int32_t* sums = static_cast<const int32_t*>(packed);
  return {k, n, sums, sums + padded(n)};
}

ColumnTerms column_terms(const Quantizer& q, const int32_t* column_sums, int64_t k, int64_t first,
                         int64_t n, float x_scale, int64_t x_zero, const Tensor& bias,
                         const Finish& finish) {
  ColumnTerms terms;
  terms.offset.assign(as_size(padded(n)), 0);
  terms.factor.assign(as_size(padded(n)), float(q.scale));
  std::vector<int64_t> zeros(as_size(padded(n)), q.zero_point);
  if (!q.is_per_tensor()) {
    terms.factor = parameters<float>(q.scales, ScalarType::Float32, first, n);
    zeros = parameters<int64_t>(q.zero_points, ScalarType::Int64, first, n);
  }
  bool moved = std::any_of(zeros.begin(), zeros.begin() + n, [](int64_t z) { return z != 0; });
  if (moved) terms.zeros.assign(zeros.begin(), zeros.end());
  for (int64_t j = 0; j < n; ++j) {
    uint64_t centred = uint64_t(int64_t(column_sums[j])) - uint64_t(k) * uint64_t(zeros[size_t(j)]);
    terms.offset[size_t(j)] = int32_t(uint32_t(-uint64_t(x_zero) * centred));
    terms.factor[size_t(j)] *= x_scale;
  }
  if (bias.defined()) { terms.bias = parameters<float>(bias, ScalarType::Float32, first, n); }
  if (finish.sums != kernels::Sums::kCodes) return terms;
  float scale = float(finish.scale);
  for (size_t j = 0; j < size_t(n); ++j) {
    if (bias.defined()) terms.bias[j] /= terms.factor[j];
    terms.factor[j] /= scale;
  }
  return terms;
}

}  // namespace scriptlang
