// Tiles of matrix products: one function per height, width and kind of operands (micro.h).
#pragma once
#include <utility>

#include "micro.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

// AVX-512 masks missing lanes at no cost. Without it, tiles with missing columns go through memory.
#if defined(__AVX512F__)
constexpr bool kLeavesOut = true;
#else
constexpr bool kLeavesOut = false;
#endif

template <class T>
alignas(64) constexpr T kNoBias[kTileRows] = {};

// Hides an address from the optimiser, so that it neither generates special code for a table's
// constants nor keeps the addresses of all rows in registers.
template <class T>
SL_INLINE T* unknown(T* address) {
  asm("" : "+r"(address));
  return address;
}

template <class T>
SL_NOINLINE void prefetch_added(const Tile<T>& t, int rows, int vectors) {
  const T* row = t.added;
  for (int r = 0; r < rows; ++r, row += t.c_row) {
    for (int j = 0; j < vectors; ++j) prefetch(row + j * kLanes<T>);
  }
}

// Copies the initial values of the sums for existing columns.
template <class T>
SL_NOINLINE void copy_start(const T* from, int64_t stride, int columns, T* piece, int rows,
                            int vectors) {
  constexpr int W = kLanes<T>;
  for (int r = 0; r < rows; ++r, from += stride, piece += vectors * W) {
    for (int j = 0; j < vectors; ++j) {
      store(piece + j * W, load_first(from + j * W, columns - j * W));
    }
  }
}

// Adds `added`, applies activation and finish to sums in `piece`, and writes the result. This is
// done in `piece` because the result's memory may be far: reading it back would wait for the
// stores.
template <class T>
SL_NOINLINE void finish_tile(const Tile<T>& t, T* piece, int rows, int vectors) {
  constexpr int W = kLanes<T>;
  const T* added = t.added;
  if (added != nullptr || t.activation != Activation::kNone) {
    const Bounds<T> bounds(t.activation);
    for (int r = 0; r < rows; ++r) {
      for (int j = 0; j < vectors; ++j) {
        T* at = piece + (r * vectors + j) * W;
        Vector<T> x = load(at);
        if (added != nullptr) x += load_first(added + r * t.c_row + j * W, t.columns - j * W);
        store(at, bounds.apply(x));
      }
    }
  }
  if (t.finish != nullptr && t.columns == vectors * W) {
    return t.finish(piece, t.columns, t.c, t.c_row, rows, t.columns);
  }
  if (t.finish != nullptr) t.finish(piece, 0, piece, 0, 1, int64_t(rows) * vectors * W);
  for (int j = 0; j < vectors; ++j) {
    const Lanes<T> lanes = first_lanes<T>(t.columns - j * W);
    T* to = t.c + j * W;
    const T* from = piece + j * W;
    for (int r = 0; r < rows; ++r, to += t.c_row, from += vectors * W) {
      store_lanes(to, load(from), lanes);
    }
  }
}

template <class T, int Rows, int Vectors, Operand kind>
SL_NOINLINE void multiply_tile(const Tile<T>& t) {
  constexpr int W = kLanes<T>;
  alignas(64) T piece[Rows * Vectors * W];  // for tiles that go through memory
  Vector<T> sum[Rows][Vectors];
  Lanes<T> lanes[Vectors];  // existing ones
  SL_UNROLL for (int j = 0; j < Vectors; ++j) lanes[j] = first_lanes<T>(t.columns - j * W);
  const bool through_memory = !kLeavesOut && t.columns < Vectors * W;
  constexpr bool kStreams = Vectors > kTileVectors;          // prefetches B, which is read once
  if (t.added != nullptr) prefetch_added(t, Rows, Vectors);  // needed after the products
  if (t.start == Start::kResult || t.start == Start::kColumnBias) {
    const T* from = t.start == Start::kResult ? t.c : t.bias;
    int64_t stride = t.start == Start::kResult ? t.c_row : 0;
    if (through_memory) {
      copy_start(from, stride, t.columns, piece, Rows, Vectors);
      from = piece;
      stride = Vectors * W;
    }
    SL_UNROLL for (int r = 0; r < Rows; ++r) {
      SL_UNROLL for (int j = 0; j < Vectors; ++j) {
        sum[r][j] = kLeavesOut ? load_lanes(from + j * W, lanes[j]) : load(from + j * W);
      }
      from = unknown(from + stride);
    }
  } else {
    const T* bias = unknown(t.start == Start::kRowBias ? t.bias : kNoBias<T>);
    SL_UNROLL for (int r = 0; r < Rows; ++r) SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] =
        splat(bias[r]);
  }
  const T* b = t.b;
  const T* b_ahead = t.b_ahead ? t.b_ahead : t.c;
  const T* a_ahead = t.a_ahead ? t.a_ahead : t.c;
  const int64_t b_ahead_step = t.b_ahead ? t.b_ahead_step : 0;
  const int64_t a_ahead_step = t.a_ahead ? t.a_ahead_step : 0;
  if constexpr (kind == Operand::kPacked) {
    const T* a = t.a;
    for (int64_t k = t.k; k > 0; --k) {
      prefetch_second(b_ahead);
      b_ahead += b_ahead_step;
      Vector<T> row[Vectors];
      SL_UNROLL for (int j = 0; j < Vectors; ++j) {
        row[j] = load(b + (j / kTileVectors) * t.b_stride + (j % kTileVectors) * W);
      }
      SL_UNROLL for (int r = 0; r < Rows; ++r) {
        Vector<T> x = splat(a[r]);
        SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] += x * row[j];
      }
      a += Rows;
      b += kPanel<T>;
    }
  } else {
    // One pointer per three rows: x86 can address base, base + s and base + 2s.
    constexpr int kPointers = (Rows + 2) / 3;
    const int64_t runs = kind == Operand::kTaps ? t.tap_count : 1;
    for (int64_t run = 0; run < runs; ++run) {
      const T* first = kind == Operand::kTaps ? t.a + t.taps[run] : t.a;
      if constexpr (kind == Operand::kTaps) b = t.b + t.b_taps[run];
      const T* a[kPointers];
      SL_UNROLL for (int i = 0; i < kPointers; ++i) a[i] = first + 3 * i * t.a_row;
      for (int64_t k = 0; k < t.k; ++k) {
        if constexpr (kind != Operand::kDirectBoth && !kStreams) {
          prefetch_second(b_ahead);
          b_ahead += b_ahead_step;
          if constexpr (kind == Operand::kDirect) {
            prefetch_second(a_ahead);
            a_ahead += a_ahead_step;
          }
        }
        Vector<T> row[Vectors];
        SL_UNROLL for (int j = 0; j < Vectors; ++j) {
          if constexpr (kind == Operand::kDirectBoth) {
            row[j] = load_lanes(b + j * W, lanes[j]);
            prefetch(b + j * W + 8 * t.b_stride);
          } else {
            const T* from = b + (j / kTileVectors) * t.b_stride + (j % kTileVectors) * W;
            row[j] = load(from);
            if constexpr (kStreams) prefetch(from + 64 * W);
          }
        }
        SL_UNROLL for (int r = 0; r < Rows; ++r) {
          Vector<T> x = splat(a[r / 3][(r % 3) * t.a_row]);
          SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] += x * row[j];
        }
        SL_UNROLL for (int i = 0; i < kPointers; ++i) a[i] += 1;
        b += kind == Operand::kDirectBoth ? t.b_stride : kPanel<T>;
      }
    }
  }
  T* to = t.c;
  int64_t stride = t.c_row;
  const bool apart = t.finish != nullptr || through_memory;
  if (apart) {
    to = piece;
    stride = Vectors * W;
    SL_UNROLL for (int j = 0; j < Vectors; ++j) lanes[j] = first_lanes<T>(W);
  } else {
    if (t.added != nullptr) {
      const T* from = t.added;
      SL_UNROLL for (int r = 0; r < Rows; ++r) {
        SL_UNROLL for (int j = 0; j < Vectors; ++j) {
          sum[r][j] += kLeavesOut ? load_lanes(from + j * W, lanes[j]) : load(from + j * W);
        }
        from = unknown(from + stride);
      }
    }
    if (t.activation != Activation::kNone) {
      const Bounds<T> bounds(t.activation);
      SL_UNROLL for (int r = 0; r < Rows; ++r) SL_UNROLL for (int j = 0; j < Vectors; ++j)
          sum[r][j] = bounds.apply(sum[r][j]);
    }
  }
  SL_UNROLL for (int r = 0; r < Rows; ++r) {
    SL_UNROLL for (int j = 0; j < Vectors; ++j) {
      if constexpr (kLeavesOut) store_lanes(to + j * W, sum[r][j], lanes[j]);
      else store(to + j * W, sum[r][j]);
    }
    to = unknown(to + stride);
  }
  if (apart) finish_tile(t, piece, Rows, Vectors);
}

template <class T, int Rows, int Vectors, Operand kind, int... R>
constexpr TileTable<T, Rows> table_of(std::integer_sequence<int, R...>) {
  return {{nullptr, &multiply_tile<T, R + 1, Vectors, kind>...}};
}

}  // namespace

template <class T, Operand kind>
const TileTable<T, kTileRows> TileSet<T, kind>::half =
    table_of<T, kTileRows, kTileVectors / 2, kind>(std::make_integer_sequence<int, kTileRows>{});
template <class T, Operand kind>
const TileTable<T, kTileRows> TileSet<T, kind>::one =
    table_of<T, kTileRows, kTileVectors, kind>(std::make_integer_sequence<int, kTileRows>{});
template <class T, Operand kind>
const TileTable<T, kPairRows> TileSet<T, kind>::pair =
    table_of<T, kPairRows, 2 * kTileVectors, kind>(std::make_integer_sequence<int, kPairRows>{});
template <class T, Operand kind>
const TileTable<T, kQuadRows> TileSet<T, kind>::quad =
    table_of<T, kQuadRows, 4 * kTileVectors, kind>(std::make_integer_sequence<int, kQuadRows>{});

}  // namespace scriptlang::kernels::SL_ISA
