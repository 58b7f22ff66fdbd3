// Kernels on the codes of quantized tensors, one byte each. They run on the calling thread.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// How numbers become codes: multiply by `factor`, round to nearest even, add `zero`, clamp to [low,
// high]. NaN becomes low. |zero| is at most kLargestZero. With `moved_first`, zero is added before
// rounding, which rounds halves differently if it is odd.
struct Encoding {
  float factor = 1;
  int32_t zero = 0, low = 0, high = 255;
  bool moved_first = false;
};
constexpr int64_t kLargestZero = 1 << 16;

// How the sums of a product are turned into results.
enum class Sums : int {
  kCodes,    // (sum + bias) * factor, encoded
  kNumbers,  // sum * factor + bias, float32
  kPlain,    // the sums as int32
};

// c[m][n] is computed from sum over k of a[m][k] * (b[k][n] - b_zero[n]) + offset[n]. All sums must
// fit into int32. offset, b_zero, bias and factor must be readable up to the next multiple of
// kQuantizedColumns columns.
constexpr int64_t kQuantizedColumns = 64;
struct QuantizedProduct {
  int64_t m = 0, n = 0, k = 0;
  const uint8_t* a = nullptr;  // rows must be readable up to the next multiple of 4
  int64_t a_row = 0;
  const void* packed = nullptr;  // packed b, from a multiple of kQuantizedColumns on
  const int32_t* offset = nullptr;
  const int32_t* b_zero = nullptr;  // null: all zero
  const float* bias = nullptr;      // null: none
  const float* factor = nullptr;
  Sums sums = Sums::kCodes;
  bool relu = false;
  Encoding encoding;  // its `factor` is not used
  void* c = nullptr;  // uint8_t, float or int32_t
  int64_t c_row = 0;  // in elements
};

// Depthwise convolution of one row of output pixels, channels last: y[i][c] = sum over taps of
// (x[t][i * step + c] - zero) * w[t][c], then as for the sums of a product. Every sum must be exact
// in float32.
struct DepthwiseRow {
  int64_t pixels = 0, channels = 0, step = 0, taps = 0;
  const uint8_t* const* x = nullptr;  // per tap, for the first pixel; null: padding
  int64_t zero = 0;
  bool is_signed = false;
  const float* w = nullptr;  // [taps][w_row]
  int64_t w_row = 0;
  const float* bias = nullptr;  // as in QuantizedProduct
  const float* factor = nullptr;
  Sums sums = Sums::kCodes;  // kCodes or kNumbers
  bool relu = false;
  Encoding encoding;
  void* y = nullptr;
  int64_t y_row = 0;
};

// The number for which a code stands in an addition: code * scale + shift, rounded once.
struct Scaled {
  float scale = 1, shift = 0;
};

struct QuantizedProductFunctions {
  // packed_size: bytes of a packed k x n matrix. packed_start: bytes of its columns before `first`,
  // which is a multiple of kQuantizedColumns.
  int64_t (*packed_size)(int64_t k, int64_t n);
  int64_t (*packed_start)(int64_t k, int64_t first);
  void (*pack)(int64_t k, int64_t n, const int8_t* b, int64_t b_row, int64_t b_column, void* to);
  void (*multiply)(const QuantizedProduct& p);
};

struct QuantizedRowFunctions {
  void (*depthwise)(const DepthwiseRow& r);
  // Minimum and maximum of n > 0 numbers; NaN if there is one.
  void (*range)(int64_t n, const float* x, float* smallest, float* largest);
  void (*encode)(int64_t n, const float* x, const Encoding& e, uint8_t* codes);
  void (*decode)(int64_t n, const uint8_t* codes, bool is_signed, int32_t zero, float scale,
                 float* x);
  // add: the sum of the numbers that the codes stand for. multiply: the product of the codes minus
  // their zero points.
  void (*add)(int64_t n, const uint8_t* a, Scaled as, const uint8_t* b, Scaled bs, bool is_signed,
              bool relu, const Encoding& e, uint8_t* codes);
  void (*multiply)(int64_t n, const uint8_t* a, int32_t a_zero, const uint8_t* b, int32_t b_zero,
                   bool is_signed, bool relu, const Encoding& e, uint8_t* codes);
  // y[i] = max(y[i], x[i])
  void (*larger)(int64_t n, const uint8_t* x, bool is_signed, uint8_t* y);
  void (*clamp)(int64_t n, const uint8_t* x, bool is_signed, int32_t low, int32_t high, uint8_t* y);
};

}  // namespace scriptlang::kernels
