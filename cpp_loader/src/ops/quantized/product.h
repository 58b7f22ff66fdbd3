// Products with a packed matrix of codes, for linear layers and convolutions.
#pragma once

#include "kernels/parallel.h"
#include "kernels/scratch.h"
#include "quantized.h"

namespace scriptlang {

// The weights of a layer as a matrix of k rows and n columns, packed.
struct CodeMatrix {
  int64_t k = 0, n = 0;
  const int32_t* column_sums = nullptr;
  const void* panels = nullptr;
};

// The number of bytes that `pack_matrix` writes: the column sums, then the panels.
int64_t code_matrix_bytes(int64_t k, int64_t n);
// Packs codes b, of n contiguous rows of k elements that are `b_row` apart.
void pack_matrix(int64_t k, int64_t n, const int8_t* b, int64_t b_row, void* to);
CodeMatrix matrix_at(int64_t k, int64_t n, const void* packed);

// Terms of each result column that do not depend on the rows, padded for the kernels.
struct ColumnTerms {
  std::vector<int32_t> offset, zeros;
  std::vector<float> factor, bias;
};

// What becomes of the sums of products.
struct Finish {
  kernels::Sums sums = kernels::Sums::kCodes;
  bool relu = false;
  double scale = 1;  // of the result's codes
  int64_t zero_point = 0;
};

// The terms for columns [first, first + n) of the weights, for products with codes x of the given
// scale and zero point. bias: undefined, or float32 with one number for each column of the weights.
ColumnTerms column_terms(const Quantizer& weights, const int32_t* column_sums, int64_t k,
                         int64_t first, int64_t n, float x_scale, int64_t x_zero,
                         const Tensor& bias, const Finish& finish);

// The zero point of an activation's codes as kernels take them: int8 codes are shifted up by 128.
constexpr int64_t unsigned_zero(ScalarType type, int64_t zero_point) {
  return type == ScalarType::QInt8 ? zero_point + 128 : zero_point;
}

// Sums of up to this many products of two codes fit int32.
constexpr int64_t kMostProducts = 33000;

constexpr int64_t kRowsAtOnce = 48;

// Computes p.m rows of p.n results, split among threads. p.a points to all rows; where it is null,
// `fill(first, last, to)` writes the codes of these rows to `to`, p.a_row apart.
template <class Fill>
void multiply_codes(const kernels::QuantizedProduct& p, const CodeMatrix& b, Fill fill) {
  if (p.m == 0 || p.n == 0) return;
  const kernels::QuantizedProductFunctions& f = *kernels::kernels().quantized_product;
  int64_t blocks = (p.m + kRowsAtOnce - 1) / kRowsAtOnce, threads = kernels::thread_count();
  int64_t panels = (p.n + kernels::kQuantizedColumns - 1) / kernels::kQuantizedColumns;
  int64_t parts = blocks >= 2 * threads ? 1 : std::min(panels, (2 * threads + blocks - 1) / blocks);
  if (p.m * p.n * p.k < 500'000) parts = 1;
  int64_t width = (panels + parts - 1) / parts * kernels::kQuantizedColumns;
  int64_t element = p.sums == kernels::Sums::kCodes ? 1 : 4;
  int64_t work = std::max<int64_t>(1, std::min(p.m, kRowsAtOnce) * std::min(p.n, width) * p.k);
  kernels::parallel_for(
      blocks * parts, std::max<int64_t>(1, 250'000 / work), [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          int64_t row = task / parts * kRowsAtOnce, column = task % parts * width;
          if (column >= p.n) continue;
          kernels::QuantizedProduct part = p;
          part.m = std::min(kRowsAtOnce, p.m - row);
          part.n = std::min(width, p.n - column);
          part.packed = static_cast<const char*>(b.panels) + f.packed_start(p.k, column);
          if (p.offset) part.offset += column;
          if (p.b_zero) part.b_zero += column;
          if (p.bias) part.bias += column;
          if (p.factor) part.factor += column;
          part.c = static_cast<char*>(p.c) + (row * p.c_row + column) * element;
          if (p.a) {
            part.a = p.a + row * p.a_row;
            f.multiply(part);
            continue;
          }
          kernels::Scratch rows(uint64_t(part.m * p.a_row + 64));
          fill(row, row + part.m, rows.as<uint8_t>());
          part.a = rows.as<uint8_t>();
          f.multiply(part);
        }
      });
}

}  // namespace scriptlang
