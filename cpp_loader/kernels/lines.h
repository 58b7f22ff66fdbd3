// Kernels over rows and columns of float, double and int64.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// Place is an integer of the size of an element.
template <class T, class Place_>
struct LineFunctions {
  using Place = Place_;
  using Row = void (*)(int64_t n, const T* x, T* to);
  using Columns = void (*)(int64_t rows, int64_t width, const T* x, int64_t stride, T* to);
  using Places = void (*)(int64_t first, int64_t rows, int64_t width, const T* x, int64_t stride,
                          T* kept, Place* place);

  // *to = all n >= 1 elements together; the extreme is NaN if there is one.
  Row sum, product, maximum, minimum;
  // The first place of a value that is in the row; of a NaN the first NaN.
  int64_t (*place)(int64_t n, const T* x, T value);
  // to[j] together with x[j] of every row.
  Columns add_columns, multiply_columns, maximum_of_columns, minimum_of_columns;
  // Extremes so far and the rows where they were first seen, brought up to date with more rows,
  // which are numbered from `first`.
  Places maximum_places, minimum_places;
  // to[j] += (x[j] - center[j])^2 for every row.
  void (*add_squares)(int64_t rows, int64_t width, const T* x, int64_t stride, const T* center,
                      T* to);
  // y = x * scale[j] + shift[j] in every row of `width` elements, which follow each other.
  void (*scale_shift_rows)(int64_t rows, int64_t width, const T* x, const T* scale,
                           const T* shift, T* y);
};

struct AllLineFunctions {
  LineFunctions<float, int32_t> f32;
  LineFunctions<double, int64_t> f64;
  LineFunctions<int64_t, int64_t> i64;

  const auto& of(float) const { return f32; }
  const auto& of(double) const { return f64; }
  const auto& of(int64_t) const { return i64; }
};

}  // namespace scriptlang::kernels
