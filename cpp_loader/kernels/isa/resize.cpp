// Weighted sums of a few pixels of a row. As many rows as a vector has lanes are transposed, so
// that each tap of an output is one load and one product.
#include "../resize.h"

#include "../scratch.h"
#include "entry.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int L = kLanes<float>;
using V = Vector<float>;

// Transposes n columns of `rows` <= L rows with stride `stride`; missing rows repeat the first one.
void to_columns(int64_t n, int rows, const float* x, int64_t stride, float* columns) {
  const float* from[L];
  for (int r = 0; r < L; ++r) from[r] = x + (r < rows ? r * stride : 0);
  int64_t i = 0;
  for (; i + L <= n; i += L) {
    V v[L];
    SL_UNROLL for (int r = 0; r < L; ++r) v[r] = load(from[r] + i);
    transpose<float>(v);
    SL_UNROLL for (int r = 0; r < L; ++r) store(columns + (i + r) * L, v[r]);
  }
  for (; i < n; ++i) {
    for (int r = 0; r < L; ++r) columns[i * L + r] = from[r][i];
  }
}
void to_rows(int64_t n, int rows, const float* columns, float* y, int64_t stride) {
  int64_t i = 0;
  for (; i + L <= n; i += L) {
    V v[L];
    SL_UNROLL for (int r = 0; r < L; ++r) v[r] = load(columns + (i + r) * L);
    transpose<float>(v);
    if (rows == L) {
      SL_UNROLL for (int r = 0; r < L; ++r) store(y + r * stride + i, v[r]);
    } else {
      for (int r = 0; r < rows; ++r) store(y + r * stride + i, v[r]);
    }
  }
  for (; i < n; ++i) {
    for (int r = 0; r < rows; ++r) y[r * stride + i] = columns[i * L + r];
  }
}

void resize_rows(const ResizeRows& r) {
  Scratch space(uint64_t((r.in + r.out) * L) * sizeof(float));
  float *columns = space.as<float>(), *done = columns + r.in * L;
  for (int64_t row = 0; row < r.rows; row += L) {
    const int rows = static_cast<int>(min_of(L, r.rows - row));
    to_columns(r.in, rows, r.x + row * r.in, r.in, columns);
    const int32_t* place = r.place;
    const float* weight = r.weight;
    for (int64_t i = 0; i < r.out; ++i, place += r.width, weight += r.width) {
      V sum{};
      for (int32_t k = 0; k < r.count[i]; ++k) {
        sum += load(columns + int64_t{place[k]} * L) * weight[k];
      }
      store(done + i * L, sum);
    }
    to_rows(r.out, rows, done, r.y + row * r.out, r.out);
  }
}

void combine(int64_t n, int64_t count, const float* const* from, const float* weight, float* to) {
  if (count == 2) {
    const float *a = from[0], *b = from[1], u = weight[0], v = weight[1];
    SL_INDEPENDENT
    for (int64_t j = 0; j < n; ++j) to[j] = a[j] * u + b[j] * v;
    return;
  }
  for (int64_t j = 0; j < n; j += L) {
    const int lanes = static_cast<int>(min_of(L, n - j));
    V sum{};
    for (int64_t k = 0; k < count; ++k) {
      sum += (lanes == L ? load(from[k] + j) : load_first(from[k] + j, lanes)) * weight[k];
    }
    if (lanes == L) store(to + j, sum);
    else store_first(to + j, sum, lanes);
  }
}

// ---- bytes: integer sums of kByteRows rows side by side

constexpr int kByteRows = 64;

// Transposes 8 x 8 bytes: element r of column i becomes element i of row r.
void turn_eight(const uint8_t* x, int64_t stride, uint8_t* y, int64_t y_stride) {
  uint64_t v[8];
  for (int r = 0; r < 8; ++r) __builtin_memcpy(&v[r], x + r * stride, 8);
  constexpr uint64_t masks[] = {0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff};
  SL_UNROLL for (int s = 0; s < 3; ++s) {
    const int step = 1 << s;
    SL_UNROLL for (int r = 0; r < 8; ++r) {
      if (r & step) continue;
      uint64_t &a = v[r], &b = v[r + step], moved = ((a >> (8 * step)) ^ b) & masks[s];
      b ^= moved;
      a ^= moved << (8 * step);
    }
  }
  for (int r = 0; r < 8; ++r) __builtin_memcpy(y + r * y_stride, &v[r], 8);
}

// Transposes a matrix: y[i][r] = x[r][i].
void turn(int64_t rows, int64_t columns, const uint8_t* x, int64_t stride, uint8_t* y,
          int64_t y_stride) {
  const int64_t whole_rows = rows / 8 * 8, whole = columns / 8 * 8;
  for (int64_t r = 0; r < whole_rows; r += 8) {
    for (int64_t i = 0; i < whole; i += 8) {
      turn_eight(x + r * stride + i, stride, y + i * y_stride + r, y_stride);
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = r < whole_rows ? whole : 0; i < columns; ++i) {
      y[i * y_stride + r] = x[r * stride + i];
    }
  }
}

struct ByteSums {
  explicit ByteSums(int bits) {
    for (int32_t& s : sum) s = int32_t{1} << (bits - 1);
  }
  void add(const uint8_t* x, int32_t weight, int n) {
    if (n == kByteRows) {
      SL_INDEPENDENT
      for (int j = 0; j < kByteRows; ++j) sum[j] += weight * x[j];
      return;
    }
    for (int j = 0; j < n; ++j) sum[j] += weight * x[j];
  }
  void give(int bits, uint8_t* to, int n) const {
    for (int j = 0; j < n; ++j) {
      const int32_t v = sum[j] >> bits;
      to[j] = static_cast<uint8_t>(v < 0 ? 0 : v > 255 ? 255 : v);
    }
  }
  int32_t sum[kByteRows];
};

void byte_rows(const ResizeByteRows& r, int bits) {
  Scratch space(uint64_t((r.in + r.out) * kByteRows));
  uint8_t *columns = space.as<uint8_t>(), *done = columns + r.in * kByteRows;
  __builtin_memset(columns, 0, static_cast<size_t>(r.in * kByteRows));
  for (int64_t row = 0; row < r.rows; row += kByteRows) {
    const int64_t rows = min_of(kByteRows, r.rows - row);
    turn(rows, r.in, r.x + row * r.in, r.in, columns, kByteRows);
    const int32_t *place = r.place, *weight = r.weight;
    for (int64_t i = 0; i < r.out; ++i, place += r.width, weight += r.width) {
      ByteSums sums(bits);
      for (int32_t k = 0; k < r.count[i]; ++k) {
        sums.add(columns + int64_t{place[k]} * kByteRows, weight[k], kByteRows);
      }
      sums.give(bits, done + i * kByteRows, kByteRows);
    }
    turn(r.out, rows, done, kByteRows, r.y + row * r.out, r.out);
  }
}

void combine_bytes(int64_t n, int64_t count, const uint8_t* const* from, const int32_t* weight,
                   int bits, uint8_t* to) {
  for (int64_t j = 0; j < n; j += kByteRows) {
    const int lanes = static_cast<int>(min_of(kByteRows, n - j));
    ByteSums sums(bits);
    for (int64_t k = 0; k < count; ++k) sums.add(from[k] + j, weight[k], lanes);
    sums.give(bits, to + j, lanes);
  }
}

}  // namespace

const ResizeFunctions resize{&resize_rows, &combine, &byte_rows, &combine_bytes};

}  // namespace scriptlang::kernels::SL_ISA
