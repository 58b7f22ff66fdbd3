// Copying elements regardless of their type.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// Functions for elements of 1, 2, 4 and 8 bytes, indexed by the logarithm of the size. Source and
// destination must not overlap.
struct CopyFunctions {
  // to[i] = from[i * stride]
  using Line = void (*)(int64_t n, void* to, const void* from, int64_t stride);
  // to[r][c] = from[c][r]; to_row and from_row are the strides of rows, in bytes.
  using Transpose = void (*)(int64_t rows, int64_t columns, char* to, int64_t to_row,
                             const char* from, int64_t from_row);

  Line line[4];
  Transpose transpose[4];
  // Copies rows of at most kShortRow bytes.
  void (*short_rows)(int64_t rows, int64_t bytes, char* to, int64_t to_row, const char* from,
                     int64_t from_row);
};

constexpr int64_t kShortRow = 128;

// The index of the functions for elements of a size; -1 if there are none.
inline int copy_functions_of(int64_t itemsize) {
  return itemsize == 1 ? 0 : itemsize == 2 ? 1 : itemsize == 4 ? 2 : itemsize == 8 ? 3 : -1;
}

}  // namespace scriptlang::kernels
