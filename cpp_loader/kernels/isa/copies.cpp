// Copies and transposes of elements with vectors.
#include "../copies.h"

#include "entry.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

template <class T>
SL_INLINE const T* row_of(const char* from, int64_t bytes) {
  return reinterpret_cast<const T*>(from + bytes);
}
template <class T>
SL_INLINE T* row_of(char* to, int64_t bytes) {
  return reinterpret_cast<T*>(to + bytes);
}

template <class T>
void copy_line(int64_t n, void* to, const void* from, int64_t stride) {
  T* SL_RESTRICT o = static_cast<T*>(to);
  const T* SL_RESTRICT a = static_cast<const T*>(from);
  if (stride == 1) {
    __builtin_memcpy(o, a, static_cast<size_t>(n) * sizeof(T));
  } else if (stride == 0) {
    const T one = *a;
    for (int64_t i = 0; i < n; ++i) o[i] = one;
  } else if (stride == -1) {
    for (int64_t i = 0; i < n; ++i) o[i] = a[-i];
  } else if (stride == 2) {
    for (int64_t i = 0; i < n; ++i) o[i] = a[2 * i];
  } else {
    for (int64_t i = 0; i < n; ++i) o[i] = a[i * stride];
  }
}

// Square tiles for transposition. For elements of 1 and 2 bytes, vectors have 16 bytes, because
// wider ones have no cheap interleaving.
template <class T>
struct Square {
  typedef T V __attribute__((vector_size(16)));
  typedef T Loose __attribute__((vector_size(16), aligned(1), may_alias));
  static constexpr int kSide = 16 / static_cast<int>(sizeof(T));

  template <int... I>
  static SL_INLINE void interleave(V a, V b, V& low, V& high, std::integer_sequence<int, I...>) {
    low = __builtin_shufflevector(a, b, (I / 2 + (I % 2) * kSide)...);
    high = __builtin_shufflevector(a, b, (I / 2 + kSide / 2 + (I % 2) * kSide)...);
  }
  static SL_INLINE void transpose(V* rows) {
    SL_UNROLL for (int stage = 1; stage < kSide; stage *= 2) {
      V mixed[kSide];
      SL_UNROLL for (int i = 0; i < kSide / 2; ++i) {
        interleave(rows[i], rows[i + kSide / 2], mixed[2 * i], mixed[2 * i + 1],
                   std::make_integer_sequence<int, kSide>{});
      }
      SL_UNROLL for (int i = 0; i < kSide; ++i) rows[i] = mixed[i];
    }
  }
  static SL_INLINE V load(const T* p) { return *reinterpret_cast<const Loose*>(p); }
  static SL_INLINE void store(T* p, V v) { *reinterpret_cast<Loose*>(p) = v; }
};
template <class T>
struct FloatSquare {
  using V = Vector<T>;
  static constexpr int kSide = kLanes<T>;
  static SL_INLINE void transpose(V* rows) { SL_ISA::transpose<T>(rows); }
  static SL_INLINE V load(const T* p) { return SL_ISA::load(p); }
  static SL_INLINE void store(T* p, V v) { SL_ISA::store(p, v); }
};
template <>
struct Square<uint32_t> : FloatSquare<float> {};
template <>
struct Square<uint64_t> : FloatSquare<double> {};

// Interleaves N rows into one, or splits one into N: as with the channels of images.
template <class T, int N>
void join_rows(int64_t n, T* SL_RESTRICT to, const char* from, int64_t from_row) {
  const T* a[N];
  for (int k = 0; k < N; ++k) a[k] = row_of<T>(from, k * from_row);
  SL_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < N; ++k) to[i * N + k] = a[k][i];
  }
}
template <class T, int N>
void part_rows(int64_t n, char* to, int64_t to_row, const T* SL_RESTRICT from) {
  T* o[N];
  for (int k = 0; k < N; ++k) o[k] = row_of<T>(to, k * to_row);
  SL_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < N; ++k) o[k][i] = from[i * N + k];
  }
}

template <class T>
void transpose_few(int64_t rows, int64_t columns, char* to, int64_t to_row, const char* from,
                   int64_t from_row) {
  for (int64_t r = 0; r < rows; ++r) {
    T* o = row_of<T>(to, r * to_row);
    const char* a = from + r * static_cast<int64_t>(sizeof(T));
    for (int64_t c = 0; c < columns; ++c) o[c] = *row_of<T>(a, c * from_row);
  }
}

template <class T>
bool transpose_narrow(int64_t rows, int64_t columns, char* to, int64_t to_row, const char* from,
                      int64_t from_row) {
  constexpr int64_t kSize = sizeof(T);
  if (to_row == columns * kSize) {
    T* o = reinterpret_cast<T*>(to);
    if (columns == 2) return join_rows<T, 2>(rows, o, from, from_row), true;
    if (columns == 3) return join_rows<T, 3>(rows, o, from, from_row), true;
    if (columns == 4) return join_rows<T, 4>(rows, o, from, from_row), true;
  }
  if (from_row == rows * kSize) {
    const T* a = reinterpret_cast<const T*>(from);
    if (rows == 2) return part_rows<T, 2>(columns, to, to_row, a), true;
    if (rows == 3) return part_rows<T, 3>(columns, to, to_row, a), true;
    if (rows == 4) return part_rows<T, 4>(columns, to, to_row, a), true;
  }
  return false;
}

template <class T>
void transpose_rows(int64_t rows, int64_t columns, char* to, int64_t to_row, const char* from,
                    int64_t from_row) {
  using S = Square<T>;
  constexpr int64_t kSize = sizeof(T), kSide = S::kSide;
  if constexpr (kSize == 1 || kSize == 4) {
    if (transpose_narrow<T>(rows, columns, to, to_row, from, from_row)) return;
  }
  int64_t r = 0;
  for (; r + kSide <= rows; r += kSide) {
    int64_t c = 0;
    for (; c + kSide <= columns; c += kSide) {
      typename S::V v[kSide];
      using E = std::remove_cv_t<std::remove_reference_t<decltype(v[0][0])>>;
      const char* a = from + r * kSize + c * from_row;
      char* o = to + r * to_row + c * kSize;
      SL_UNROLL for (int i = 0; i < kSide; ++i) v[i] = S::load(row_of<E>(a, i * from_row));
      S::transpose(v);
      SL_UNROLL for (int i = 0; i < kSide; ++i) S::store(row_of<E>(o, i * to_row), v[i]);
    }
    transpose_few<T>(kSide, columns - c, to + r * to_row + c * kSize, to_row,
                     from + r * kSize + c * from_row, from_row);
  }
  transpose_few<T>(rows - r, columns, to + r * to_row, to_row, from + r * kSize, from_row);
}

// Copies the first and the last word, which may overlap.
template <class W>
SL_INLINE void copy_ends(int64_t bytes, char* to, const char* from) {
  W first, last;
  int64_t at = bytes - static_cast<int64_t>(sizeof(W));
  __builtin_memcpy(&first, from, sizeof(W));
  __builtin_memcpy(&last, from + at, sizeof(W));
  __builtin_memcpy(to, &first, sizeof(W));
  __builtin_memcpy(to + at, &last, sizeof(W));
}

void short_rows(int64_t rows, int64_t bytes, char* to, int64_t to_row, const char* from,
                int64_t from_row) {
#if defined(__AVX512BW__)
  const int64_t whole = bytes > 64 ? 64 : 0, rest = bytes - whole;
  const __mmask64 lanes = rest >= 64 ? ~__mmask64(0) : (__mmask64(1) << rest) - 1;
  for (; rows > 0; --rows, to += to_row, from += from_row) {
    if (whole) _mm512_storeu_si512(to, _mm512_loadu_si512(from));
    _mm512_mask_storeu_epi8(to + whole, lanes, _mm512_maskz_loadu_epi8(lanes, from + whole));
  }
#else
  typedef char Word __attribute__((vector_size(16)));
  for (; rows > 0; --rows, to += to_row, from += from_row) {
    if (bytes > 64) {
      for (int64_t i = 0; i < 64; i += 32) copy_ends<Word>(32, to + i, from + i);
      for (int64_t i = bytes - 64; i < bytes; i += 32) copy_ends<Word>(32, to + i, from + i);
    } else if (bytes > 32) {
      copy_ends<Word>(32, to, from);
      copy_ends<Word>(32, to + bytes - 32, from + bytes - 32);
    } else if (bytes >= 16) {
      copy_ends<Word>(bytes, to, from);
    } else if (bytes >= 8) {
      copy_ends<uint64_t>(bytes, to, from);
    } else if (bytes >= 4) {
      copy_ends<uint32_t>(bytes, to, from);
    } else {
      for (int64_t i = 0; i < bytes; ++i) to[i] = from[i];
    }
  }
#endif
}

}  // namespace

namespace {

template <class T>
constexpr CopyFunctions::Line line_of() {
  if constexpr (copies_size(sizeof(T))) return &copy_line<T>;
  return nullptr;
}
template <class T>
constexpr CopyFunctions::Transpose transpose_of() {
  if constexpr (copies_size(sizeof(T))) return &transpose_rows<T>;
  return nullptr;
}

}  // namespace

const CopyFunctions copies{
    {line_of<uint8_t>(), line_of<uint16_t>(), line_of<uint32_t>(), line_of<uint64_t>()},
    {transpose_of<uint8_t>(), transpose_of<uint16_t>(), transpose_of<uint32_t>(),
     transpose_of<uint64_t>()},
    &short_rows};

}  // namespace scriptlang::kernels::SL_ISA
