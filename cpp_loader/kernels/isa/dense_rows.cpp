// Passes over the rows of dense matrices: rank-2 updates, products with vectors, rotations.
#include "../dense_rows.h"

#include "../parallel.h"
#include "entry.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int W = kLanes<double>;
constexpr int kTogether = 4;  // rows per pass

template <int Rows, bool Updates, bool Multiplies, bool Adds>
SL_INLINE void sweep_rows(const RowSweep<double>& s, int64_t first) {
  double* a[Rows];
  Vector<double> left[Rows], right[Rows], factor[Rows], dot[Rows];
  SL_UNROLL for (int r = 0; r < Rows; ++r) {
    a[r] = s.a + (first + r) * s.stride;
    left[r] = splat(Updates ? s.left[first + r] : 0.0);
    right[r] = splat(Updates ? s.right[first + r] : 0.0);
    factor[r] = splat(Adds ? s.s[first + r] : 0.0);
    dot[r] = Vector<double>{};
  }
  for (int64_t j = 0; j < s.n; j += W) {
    const Lanes<double> lanes = first_lanes<double>(static_cast<int>(min_of(s.n - j, W)));
    Vector<double> p{}, q{}, v{}, sum{};
    if constexpr (Updates) {
      p = load_lanes(s.p + j, lanes);
      q = load_lanes(s.q + j, lanes);
    }
    if constexpr (Multiplies) v = load_lanes(s.v + j, lanes);
    if constexpr (Adds) sum = load_lanes(s.sums + j, lanes);
    SL_UNROLL for (int r = 0; r < Rows; ++r) {
      Vector<double> x = load_lanes(a[r] + j, lanes);
      if constexpr (Updates) {
        x -= left[r] * p + right[r] * q;
        store_lanes(a[r] + j, x, lanes);
      }
      if constexpr (Multiplies) dot[r] += x * v;
      if constexpr (Adds) sum += factor[r] * x;
    }
    if constexpr (Adds) store_lanes(s.sums + j, sum, lanes);
  }
  if constexpr (Multiplies) {
    SL_UNROLL for (int r = 0; r < Rows; ++r) s.dots[first + r] = sum_lanes<double>(dot[r]);
  }
}

template <bool Updates, bool Multiplies, bool Adds>
SL_NOINLINE void sweep_as(const RowSweep<double>& s) {
  int64_t i = 0;
  for (; i + kTogether <= s.rows; i += kTogether) {
    sweep_rows<kTogether, Updates, Multiplies, Adds>(s, i);
  }
  for (; i < s.rows; ++i) sweep_rows<1, Updates, Multiplies, Adds>(s, i);
}

void sweep(const RowSweep<double>& s) {
  if (s.left && s.v) sweep_as<true, true, false>(s);
  else if (s.left && s.s) sweep_as<true, false, true>(s);
  else if (s.left) sweep_as<true, false, false>(s);
  else if (s.v) sweep_as<false, true, false>(s);
  else if (s.s) sweep_as<false, false, true>(s);
}

template <int Rows>
SL_INLINE void reflect_rows(int64_t n, double* a, int64_t stride, const double* v, double factor) {
  Vector<double> dot[Rows];
  SL_UNROLL for (int r = 0; r < Rows; ++r) dot[r] = Vector<double>{};
  for (int64_t j = 0; j < n; j += W) {
    const Lanes<double> lanes = first_lanes<double>(static_cast<int>(min_of(n - j, W)));
    Vector<double> x = load_lanes(v + j, lanes);
    SL_UNROLL for (int r = 0; r < Rows; ++r) dot[r] += load_lanes(a + r * stride + j, lanes) * x;
  }
  SL_UNROLL for (int r = 0; r < Rows; ++r) dot[r] = splat(factor * sum_lanes<double>(dot[r]));
  for (int64_t j = 0; j < n; j += W) {
    const Lanes<double> lanes = first_lanes<double>(static_cast<int>(min_of(n - j, W)));
    Vector<double> x = load_lanes(v + j, lanes);
    SL_UNROLL for (int r = 0; r < Rows; ++r) {
      double* to = a + r * stride + j;
      store_lanes(to, load_lanes(to, lanes) - dot[r] * x, lanes);
    }
  }
}

void reflect(int64_t rows, int64_t n, double* a, int64_t stride, const double* v, double factor) {
  int64_t i = 0;
  for (; i + kTogether <= rows; i += kTogether) {
    reflect_rows<kTogether>(n, a + i * stride, stride, v, factor);
  }
  for (; i < rows; ++i) reflect_rows<1>(n, a + i * stride, stride, v, factor);
}

// Applies all rotations to a few columns, which stay in the first-level cache.
template <int Vectors>
SL_NOINLINE void turn_columns(const Turns* turns, int64_t count, const double* angles, double* a,
                              int64_t stride, int64_t left) {
  Lanes<double> lanes[Vectors];
  SL_UNROLL for (int j = 0; j < Vectors; ++j) {
    lanes[j] = first_lanes<double>(static_cast<int>(min_of(left - j * W, W)));
  }
  for (int64_t t = 0; t < count; ++t) {
    double* row = a + turns[t].first * stride;
    const int64_t step = turns[t].step * stride;
    Vector<double> x[Vectors];
    SL_UNROLL for (int j = 0; j < Vectors; ++j) x[j] = load_lanes(row + j * W, lanes[j]);
    for (int64_t i = 0; i < turns[t].count; ++i, angles += 2, row += step) {
      const Vector<double> c = splat(angles[0]), s = splat(angles[1]);
      SL_UNROLL for (int j = 0; j < Vectors; ++j) {
        Vector<double> y = load_lanes(row + step + j * W, lanes[j]);
        store_lanes(row + j * W, c * x[j] + s * y, lanes[j]);
        x[j] = c * y - s * x[j];
      }
    }
    SL_UNROLL for (int j = 0; j < Vectors; ++j) store_lanes(row + j * W, x[j], lanes[j]);
  }
}

void turn(const Turns* turns, int64_t count, const double* angles, int64_t columns, double* a,
          int64_t stride) {
  constexpr int64_t kChunk = 4 * W;
  parallel_for(ceil_div(columns, kChunk), 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double* at = a + i * kChunk;
      const int64_t left = columns - i * kChunk;
      if (left > 2 * W) turn_columns<4>(turns, count, angles, at, stride, left);
      else if (left > W) turn_columns<2>(turns, count, angles, at, stride, left);
      else turn_columns<1>(turns, count, angles, at, stride, left);
    }
  });
}

}  // namespace

const DenseFunctions dense_rows{&sweep, &reflect, &turn};

}  // namespace scriptlang::kernels::SL_ISA
