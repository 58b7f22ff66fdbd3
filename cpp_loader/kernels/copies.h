// Copying elements regardless of their type.
#pragma once
#include <cstdint>

#include "kept_types.h"

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

// Whether a build has the functions for elements of a size: where a type of this size is kept.
constexpr bool copies_size(int64_t size) {
  bool kept = false;
#define X(name, number, bytes, category, text) \
  kept = kept || (bytes == size && is_kept(ScalarType::name));
  SL_SCALAR_TYPES(X)
#undef X
  return kept;
}

// The index of the functions for elements of a size; -1 if there are none.
inline int copy_functions_of(int64_t itemsize) {
  switch (itemsize) {
    case 1: return copies_size(1) ? 0 : -1;
    case 2: return copies_size(2) ? 1 : -1;
    case 4: return copies_size(4) ? 2 : -1;
    case 8: return copies_size(8) ? 3 : -1;
    default: return -1;
  }
}

}  // namespace scriptlang::kernels
