// Weighted sums of a few pixels of a row: as many rows as a vector has lanes are turned into
// columns, so that each tap of an output is one load and one product.
#include "../resize.h"

#include "../scratch.h"
#include "entry.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int L = kLanes<float>;
using V = Vector<float>;

// n columns of `rows` <= L rows that are `stride` apart, column by column; rows that are not there
// are the first one again.
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
  Scratch space(static_cast<size_t>((r.in + r.out) * L) * sizeof(float));
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

void to_bytes(int64_t n, const float* from, uint8_t* to) {
  SL_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    float x = from[i] < 0.0f ? 0.0f : from[i] > 255.0f ? 255.0f : from[i];
    to[i] = static_cast<uint8_t>(static_cast<int32_t>(__builtin_rintf(x)));
  }
}
void from_bytes(int64_t n, const uint8_t* from, float* to) {
  SL_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

}  // namespace

const ResizeFunctions resize{&resize_rows, &combine, &to_bytes, &from_bytes};

}  // namespace scriptlang::kernels::SL_ISA
