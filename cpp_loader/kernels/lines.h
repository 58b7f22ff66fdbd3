// Kernels over rows and columns of float, double and int64.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// Place is an integer type of the size of an element, for indices.
template <class T, class Place_>
struct LineFunctions {
  using Place = Place_;
  using Row = void (*)(int64_t n, const T* x, T* to);
  using Columns = void (*)(int64_t rows, int64_t width, const T* x, int64_t stride, T* to);
  using Places = void (*)(int64_t first, int64_t rows, int64_t width, const T* x, int64_t stride,
                          T* kept, Place* place);

  // *to = the reduction of all n >= 1 elements; a maximum or minimum is NaN if there is a NaN.
  Row sum, product, maximum, minimum;
  // The index of the first occurrence of a value, which must be in the row; for NaN, of the first
  // NaN.
  int64_t (*place)(int64_t n, const T* x, T value);
  // Reduces column j of x into to[j]: adds, multiplies, or takes the maximum or minimum.
  Columns add_columns, multiply_columns, maximum_of_columns, minimum_of_columns;
  // Like add_columns, with NaN counted as 0.
  Columns add_numbers;
  // Updates the maxima (minima) so far and the rows where they first occurred with more rows, which
  // are numbered from `first`.
  Places maximum_places, minimum_places;
  // to[j] += (x[j] - center[j])^2 for every row.
  void (*add_squares)(int64_t rows, int64_t width, const T* x, int64_t stride, const T* center,
                      T* to);
  // y = x * scale[j] + shift[j] for each of `rows` contiguous rows of `width` elements.
  void (*scale_shift_rows)(int64_t rows, int64_t width, const T* x, const T* scale, const T* shift,
                           T* y);
};

struct AllLineFunctions {
  LineFunctions<float, int32_t> f32;
  LineFunctions<double, int64_t> f64;
  LineFunctions<int64_t, int64_t> i64;
  // Maximum and minimum of a row of other integer types.
  void (*maximum_i32)(int64_t n, const int32_t* x, int32_t* to);
  void (*minimum_i32)(int64_t n, const int32_t* x, int32_t* to);
  void (*maximum_u8)(int64_t n, const uint8_t* x, uint8_t* to);
  void (*minimum_u8)(int64_t n, const uint8_t* x, uint8_t* to);
  // count_row returns the number of nonzero bytes of a row; count_columns sets to[j] to that of
  // column j.
  int64_t (*count_row)(int64_t n, const uint8_t* x);
  void (*count_columns)(int64_t rows, int64_t width, const uint8_t* x, int64_t stride, int64_t* to);
  // to[j] += x[j] for every row of float16 or bfloat16; null if the instruction set cannot convert
  // them.
  void (*add_float16)(int64_t rows, int64_t width, const uint16_t* x, int64_t stride, float* to);
  void (*add_bfloat16)(int64_t rows, int64_t width, const uint16_t* x, int64_t stride, float* to);
  // to[j] = the maximum of to[j] and x[j] ^ mask over all rows, unsigned. A suitable mask maps
  // signed integers to their order, or reverses the order.
  void (*greatest_8)(int64_t rows, int64_t width, const uint8_t* x, int64_t stride, uint8_t mask,
                     uint8_t* to);
  void (*greatest_16)(int64_t rows, int64_t width, const uint16_t* x, int64_t stride, uint16_t mask,
                      uint16_t* to);
  void (*greatest_32)(int64_t rows, int64_t width, const uint32_t* x, int64_t stride, uint32_t mask,
                      uint32_t* to);
  // to[k] = distance of the row a from row k of b, each of `width` elements: the sum of absolute
  // differences, or with `squares` of their squares.
  void (*distances)(int64_t width, const float* a, const float* b, int64_t rows, bool squares,
                    float* to);
  void (*distances_f64)(int64_t width, const double* a, const double* b, int64_t rows, bool squares,
                        double* to);

  constexpr const auto& of(float) const { return f32; }
  constexpr const auto& of(double) const { return f64; }
  constexpr const auto& of(int64_t) const { return i64; }
};

}  // namespace scriptlang::kernels
