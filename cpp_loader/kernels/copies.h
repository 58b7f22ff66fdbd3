// Moving elements without looking at them.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// Elements of 1, 2, 4 and 8 bytes, by the logarithm of their size. Source and result lie apart.
struct CopyFunctions {
  // to[i] = from[i * stride]
  using Line = void (*)(int64_t n, void* to, const void* from, int64_t stride);
  // to[r][c] = from[c][r]; rows of `to` and of `from` are that many bytes apart.
  using Transpose = void (*)(int64_t rows, int64_t columns, char* to, int64_t to_row,
                             const char* from, int64_t from_row);

  Line line[4];
  Transpose transpose[4];
  // Rows of at most kShortRow bytes.
  void (*short_rows)(int64_t rows, int64_t bytes, char* to, int64_t to_row, const char* from,
                     int64_t from_row);
};

constexpr int64_t kShortRow = 128;

// Which functions are for elements of a size; -1: none.
inline int copy_functions_of(int64_t itemsize) {
  return itemsize == 1 ? 0 : itemsize == 2 ? 1 : itemsize == 4 ? 2 : itemsize == 8 ? 3 : -1;
}

}  // namespace scriptlang::kernels
