// Tiles of products: one function for each height, width and kind of operands (micro.h).
#pragma once
#include <utility>

#include "micro.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

// Applies what comes after the activation to sums that lie in `piece`, and writes them. In the
// result itself, whose memory may be far, they could not be read again before they are there.
template <class T>
SL_NOINLINE void finish_tile(const Tile<T>& t, T* piece, int rows, int vectors) {
  constexpr int W = kLanes<T>;
  t.finish(piece, 0, 1, int64_t(rows) * vectors * W);
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
  Vector<T> sum[Rows][Vectors];
  Lanes<T> lanes[Vectors];  // that exist
  SL_UNROLL for (int j = 0; j < Vectors; ++j) lanes[j] = first_lanes<T>(t.columns - j * W);
  constexpr bool kStreams = Vectors > kTileVectors;  // B is read once: fetch it ahead
  switch (t.start) {
    default:
      SL_UNROLL for (int r = 0; r < Rows; ++r)
        SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] = Vector<T>{};
      break;
    case Start::kResult:
      SL_UNROLL for (int r = 0; r < Rows; ++r)
        SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] =
            load_lanes(t.c + r * t.c_row + j * W, lanes[j]);
      break;
    case Start::kColumnBias:
      SL_UNROLL for (int j = 0; j < Vectors; ++j) {
        Vector<T> bias = load_lanes(t.bias + j * W, lanes[j]);
        SL_UNROLL for (int r = 0; r < Rows; ++r) sum[r][j] = bias;
      }
      break;
    case Start::kRowBias:
      SL_UNROLL for (int r = 0; r < Rows; ++r)
        SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] = splat(t.bias[r]);
      break;
  }
  if (t.added != nullptr) {  // needed when the products are done
    SL_UNROLL for (int r = 0; r < Rows; ++r)
      SL_UNROLL for (int j = 0; j < Vectors; ++j) prefetch(t.added + r * t.c_row + j * W);
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
    // One pointer for three rows: x86 addresses base, base + s and base + 2s.
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
  if (t.added != nullptr) {
    SL_UNROLL for (int r = 0; r < Rows; ++r)
      SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] +=
          load_lanes(t.added + r * t.c_row + j * W, lanes[j]);
  }
  if (t.activation != Activation::kNone) {
    SL_UNROLL for (int r = 0; r < Rows; ++r)
      SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] =
          activate<T>(sum[r][j], t.activation);
  }
  if (t.finish != nullptr) {
    alignas(64) T piece[Rows * Vectors * W];
    SL_UNROLL for (int r = 0; r < Rows; ++r)
      SL_UNROLL for (int j = 0; j < Vectors; ++j) store(piece + (r * Vectors + j) * W, sum[r][j]);
    return finish_tile(t, piece, Rows, Vectors);
  }
  SL_UNROLL for (int r = 0; r < Rows; ++r)
    SL_UNROLL for (int j = 0; j < Vectors; ++j) {
      store_lanes(t.c + r * t.c_row + j * W, sum[r][j], lanes[j]);
    }
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
