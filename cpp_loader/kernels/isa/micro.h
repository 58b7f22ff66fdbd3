// The innermost part of matrix product and convolution: a tile of the result in registers.
#pragma once
#include "../gemm.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

// Rows and vectors of a tile: as many accumulators as leave registers for one row of B and one
// element of A.
#if defined(__AVX512F__)
constexpr int kTileRows = 14, kTileVectors = 2;
constexpr int kPairRows = 7, kQuadRows = 2;  // rows of tiles two and four panels wide
#elif defined(__aarch64__)
constexpr int kTileRows = 6, kTileVectors = 4;
constexpr int kPairRows = 3, kQuadRows = 1;
#else
constexpr int kTileRows = 6, kTileVectors = 2;
constexpr int kPairRows = 2, kQuadRows = 1;
#endif

template <class T>
constexpr int kPanel = kTileVectors * kLanes<T>;  // columns of a packed panel of B

template <class T>
struct Tile {
  int64_t k;            // products to add
  const T* a;           // a packed tile [k][rows], or rows of A
  int64_t a_row;        // stride of the rows of A when not packed
  const T* b;           // packed panels [k][kPanel], or rows of B
  int64_t b_stride;     // from panel to panel, or from row to row of B
  T* c;
  int64_t c_row;
  int columns;          // of c that exist, at most the width of the tile
  Start start;
  const T* bias;        // per column or per row, by `start`
  Activation activation;
  Finish<T> finish = nullptr;
  const T* added = nullptr;  // null, or another result to add, laid out as c
  const int64_t* taps = nullptr;  // kTaps: where the rows of A begin, for each run of k products
  int64_t tap_count = 1;
  // Null, or what to bring into the second cache meanwhile: so many elements for each product.
  const T *b_ahead = nullptr, *a_ahead = nullptr;
  int64_t b_ahead_step = 0, a_ahead_step = 0;
};

template <class T>
SL_INLINE Vector<T> activate(Vector<T> x, Activation activation) {
  if (activation == Activation::kNone) return x;
  // A NaN stays: every comparison with it is false.
  x = x < splat(T(0)) ? splat(T(0)) : x;
  if (activation == Activation::kRelu6) x = x > splat(T(6)) ? splat(T(6)) : x;
  return x;
}

enum class Operand : int { kPacked, kDirect, kDirectBoth, kTaps };

// kPacked: A and B packed. kDirect: rows of A as they lie. kDirectBoth: B too, its last columns
// read with a mask. kTaps: as kDirect, the rows of A in several runs. Vectors may span several
// panels.
template <class T, int Rows, int Vectors, Operand kind>
SL_NOINLINE void multiply_tile(const Tile<T>& t) {
  constexpr int W = kLanes<T>;
  Vector<T> sum[Rows][Vectors];
  const int columns = t.columns;
  const bool whole = columns >= Vectors * W;
  constexpr bool kStreams = Vectors > kTileVectors;  // B is read once: fetch it ahead
  switch (t.start) {
    default:
      SL_UNROLL for (int r = 0; r < Rows; ++r)
        SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] = Vector<T>{};
      break;
    case Start::kResult:
      SL_UNROLL for (int r = 0; r < Rows; ++r)
        SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] =
            whole ? load(t.c + r * t.c_row + j * W)
                  : load_first(t.c + r * t.c_row + j * W, columns - j * W);
      break;
    case Start::kColumnBias:
      SL_UNROLL for (int j = 0; j < Vectors; ++j) {
        Vector<T> bias = load_first(t.bias + j * W, columns - j * W);
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
            row[j] = whole ? load(b + j * W) : load_first(b + j * W, columns - j * W);
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
          load_first(t.added + r * t.c_row + j * W, columns - j * W);
  }
  if (t.activation != Activation::kNone) {
    SL_UNROLL for (int r = 0; r < Rows; ++r)
      SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] =
          activate<T>(sum[r][j], t.activation);
  }
  if (whole) {
    SL_UNROLL for (int r = 0; r < Rows; ++r)
      SL_UNROLL for (int j = 0; j < Vectors; ++j) store(t.c + r * t.c_row + j * W, sum[r][j]);
  } else {
    SL_UNROLL for (int r = 0; r < Rows; ++r)
      SL_UNROLL for (int j = 0; j < Vectors; ++j) {
        if (columns > j * W) store_first(t.c + r * t.c_row + j * W, sum[r][j], columns - j * W);
      }
  }
  if (t.finish) t.finish(t.c, t.c_row, Rows, columns);
}

template <class T>
using TileFunction = void (*)(const Tile<T>&);

template <class T, int MaxRows, int Vectors, Operand kind>
struct TileTable {
  TileFunction<T> rows[MaxRows + 1];
  template <int... R>
  constexpr explicit TileTable(std::integer_sequence<int, R...>)
      : rows{nullptr, &multiply_tile<T, R + 1, Vectors, kind>...} {}
  constexpr TileTable() : TileTable(std::make_integer_sequence<int, MaxRows>{}) {}
};

// kTiles<...>.rows[r] multiplies a tile of r rows; kHalfTiles are for a last panel half of which is
// missing.
template <class T, Operand kind>
constexpr TileTable<T, kTileRows, kTileVectors / 2, kind> kHalfTiles{};
template <class T, Operand kind>
constexpr TileTable<T, kTileRows, kTileVectors, kind> kTiles{};
template <class T, Operand kind>
constexpr TileTable<T, kPairRows, 2 * kTileVectors, kind> kPairTiles{};
template <class T, Operand kind>
constexpr TileTable<T, kQuadRows, 4 * kTileVectors, kind> kQuadTiles{};

// A tile of one panel, `columns` of which exist.
template <class T, Operand kind>
TileFunction<T> panel_tile(int rows, int columns) {
  return columns <= kPanel<T> / 2 ? kHalfTiles<T, kind>.rows[rows] : kTiles<T, kind>.rows[rows];
}

// m rows in tiles of nearly equal height: 128 rows are 8 x 13 + 2 x 12, not 9 x 14 + 2.
struct RowTiles {
  int64_t count, base, longer;
  explicit RowTiles(int64_t m)
      : count(ceil_div(m, kTileRows)), base(m / count), longer(m % count) {}
  int height(int64_t i) const { return static_cast<int>(base + (i < longer)); }
  int64_t first(int64_t i) const { return i * base + min_of(i, longer); }
};

// Packs m rows of k elements as the tiles of RowTiles(m): [k][height] each. The result may be
// overrun by one vector.
template <class T>
SL_NOINLINE void pack_rows(int64_t m, int64_t k, const T* a, int64_t row, int64_t column, T* out) {
  constexpr int W = kLanes<T>;
  RowTiles tiles(m);
  for (int64_t i = 0; i < tiles.count; ++i) {
    int height = tiles.height(i);
    const T* from = a + tiles.first(i) * row;
    T* to = out + tiles.first(i) * k;
    int64_t p = 0;
    if (column == 1 && height > 1) {
      for (; p + W <= k; p += W) {
        // Rows beyond the tile are written too, and overwritten by the next element's.
        for (int part = 0; part < height; part += W) {
          Vector<T> square[W];
          SL_UNROLL for (int r = 0; r < W; ++r) {
            square[r] = part + r < height ? load(from + (part + r) * row + p) : Vector<T>{};
          }
          transpose<T>(square);
          int here = height - part < W ? height - part : W;
          if (part + W >= height && part == 0) {
            SL_UNROLL for (int r = 0; r < W; ++r) store(to + (p + r) * height, square[r]);
          } else {
            SL_UNROLL for (int r = 0; r < W; ++r)
              store_first(to + (p + r) * height + part, square[r], here);
          }
        }
      }
    }
    for (; p < k; ++p)
      for (int r = 0; r < height; ++r) to[p * height + r] = from[r * row + p * column];
  }
}

}  // namespace
}  // namespace scriptlang::kernels::SL_ISA
