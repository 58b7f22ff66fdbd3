// The micro-kernel of matrix product and convolution: a tile of the result in registers. The
// functions are in tile.h, instantiated in tiles_f32.cpp and tiles_f64.cpp.
#pragma once
#include "../gemm.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {

// Rows and vectors of a tile: as many accumulators as possible, leaving registers for one row of B
// and one element of A. NEON multiplies by a lane of a vector, so there it is two vectors of A.
#if defined(__AVX512F__)
constexpr int kTileRows = 14, kTileVectors = 2;
constexpr int kPairRows = 7, kQuadRows = 2;  // rows of tiles two and four panels wide
#elif defined(__aarch64__)
constexpr int kTileRows = 8, kTileVectors = 3;
constexpr int kPairRows = 4, kQuadRows = 1;
#else
constexpr int kTileRows = 6, kTileVectors = 2;
constexpr int kPairRows = 2, kQuadRows = 1;
#endif

template <class T>
constexpr int kPanel = kTileVectors * kLanes<T>;  // columns of a packed panel of B

template <class T>
struct Tile {
  int64_t k;         // products to add
  const T* a;        // a packed tile [k][rows], or rows of A
  int64_t a_row;     // stride of the rows of A if not packed
  const T* b;        // packed panels [k][kPanel], or rows of B
  int64_t b_stride;  // stride of panels, or of rows of B
  T* c;
  int64_t c_row;
  int columns;  // existing columns of c, at most the tile's width
  Start start;
  const T* bias;  // per column or per row, by `start`
  Activation activation;
  Finish<T> finish = nullptr;
  const T* added = nullptr;  // may be null; with the layout of c
#ifndef SL_NO_OPTIMIZER
  T scale = T(1);  // of the sums that `added` is added to
#endif
  // kTaps only: offsets in the rows of A and the panels of B, for each run of k products.
  const int64_t *taps = nullptr, *b_taps = nullptr;
  int64_t tap_count = 1;
  // kPlaces only: the offset in B of each of the k rows, and the places of the vectors in the rows
  // of B and of C, ascending.
  const int64_t* b_rows = nullptr;
  int64_t b_places[kTileVectors] = {}, c_places[kTileVectors] = {};
  // Memory to prefetch into the second-level cache, or null; the steps are elements per product.
  const T *b_ahead = nullptr, *a_ahead = nullptr;
  int64_t b_ahead_step = 0, a_ahead_step = 0;
  int64_t tiles = 1;  // of this height, one under the other: where A, C and what is added go on
};

// kPacked: A and B are packed. kDirect: A is not packed. kDirectBoth: neither is packed, and the
// last columns of B are read with a mask. kTaps: like kDirect, with the rows of A in several runs.
// kPlaces: A is packed, and each vector of a row of B lies where it lies. Vectors may span several
// panels.
enum class Operand : int { kPacked, kDirect, kDirectBoth, kTaps, kPlaces };

template <class T>
using TileFunction = void (*)(const Tile<T>&);

template <class T, int MaxRows>
struct TileTable {
  TileFunction<T> rows[MaxRows + 1];
};
template <class T>
struct NarrowTiles {
  TileTable<T, kTileRows> less_one[kTileVectors - 1];  // by the number of vectors, less one
};

// TileSet<...>::one.rows[r] multiplies a tile of r rows and one panel. `pair` and `quad` are for
// two and four panels, `narrow` for the first vectors of a last panel.
template <class T, Operand kind>
struct TileSet {
  static const NarrowTiles<T> narrow;
  static const TileTable<T, kTileRows> one;
  static const TileTable<T, kPairRows> pair;
  static const TileTable<T, kQuadRows> quad;
};

// The function for a tile of one panel, of which `columns` columns exist.
template <class T, Operand kind>
SL_INLINE TileFunction<T> panel_tile(int rows, int columns) {
  constexpr int W = kLanes<T>;
  if (columns > kPanel<T> - W) return TileSet<T, kind>::one.rows[rows];
  return TileSet<T, kind>::narrow.less_one[kTileVectors > 2 ? (columns - 1) / W : 0].rows[rows];
}

namespace {

// The bounds of an activation. A NaN stays: every comparison with it is false.
template <class T>
struct Bounds {
  Vector<T> low, high;
  SL_INLINE explicit Bounds(Activation activation)
      : low(splat(activation == Activation::kNone ? -T(__builtin_inf()) : T(0))),
        high(splat(activation == Activation::kRelu6 ? T(6) : T(__builtin_inf()))) {}
  SL_INLINE Vector<T> apply(Vector<T> x) const { return at_most(at_least(x, low), high); }
};

template <class T>
SL_INLINE Vector<T> activate(Vector<T> x, Activation activation) {
  return activation == Activation::kNone ? x : Bounds<T>(activation).apply(x);
}

// Splits m rows into tiles of nearly equal height: 128 rows are 8 x 13 + 2 x 12, not 9 x 14 + 2.
struct RowTiles {
  int64_t count, base, longer;
  explicit RowTiles(int64_t m)
      : count(ceil_div(m, kTileRows)), base(m / count), longer(m % count) {}
  int height(int64_t i) const { return static_cast<int>(base + (i < longer)); }
  int64_t first(int64_t i) const { return i * base + min_of(i, longer); }
  // Calls f(first, height, tiles) for the tiles of each height, which follow each other.
  template <class F>
  SL_INLINE void each_height(F f) const {
    each_height(0, count, f);
  }
  // The same for the tiles [begin, end).
  template <class F>
  SL_INLINE void each_height(int64_t begin, int64_t end, F f) const {
    const int64_t change = max_of(begin, min_of(end, longer));
    if (begin < change) f(first(begin), static_cast<int>(base + 1), change - begin);
    if (change < end) f(first(change), static_cast<int>(base), end - change);
  }
};

// Packs rows that lie side by side, as those of a transposed matrix, some tiles at a time, so that
// each line of memory is read once. Elements are copied as vectors, which reach into the next rows
// and into the places of the next elements: columns have to be at least a vector apart.
template <class T>
SL_NOINLINE void pack_side_by_side(const RowTiles& tiles, int64_t k, const T* a, int64_t column,
                                   T* out) {
  constexpr int W = kLanes<T>;
  constexpr int64_t kTogether = 8, kAhead = 12;
  tiles.each_height([&](int64_t first, int height, int64_t count) SL_ALWAYS {
    const int64_t reach = ceil_div(height, W) * W;
    const int64_t whole = max_of(0, k - ceil_div(reach, height));
    for (int64_t i = 0; i < count; i += kTogether) {
      const int64_t end = min_of(i + kTogether, count);
      const T* from = a + first + i * height;
      T* to = out + (first + i * height) * k;
      for (int64_t p = 0; p < whole; ++p, from += column, to += height) {
        for (int64_t j = 0; j < end - i; ++j) {
          const T* element = from + j * height;
          if (j % 2 == 0) __builtin_prefetch(element + kAhead * column);
          for (int part = 0; part < reach; part += W) {
            store(to + j * height * k + part, load(element + part));
          }
        }
      }
      for (int64_t p = whole; p < k; ++p, from += column, to += height) {
        for (int64_t j = 0; j < end - i; ++j) {
          for (int r = 0; r < height; ++r) to[j * height * k + r] = from[j * height + r];
        }
      }
    }
  });
}

// Packs m rows of k elements as the tiles of RowTiles(m): [k][height] each. It may write one vector
// beyond the result.
template <class T>
SL_NOINLINE void pack_rows(int64_t m, int64_t k, const T* a, int64_t row, int64_t column, T* out) {
  constexpr int W = kLanes<T>;
  RowTiles tiles(m);
#ifndef SL_NO_OPTIMIZER  // the smallest builds take what follows
  const bool side_by_side = row == 1 && column >= W && m >= W + kTileRows;
  if (side_by_side) return pack_side_by_side(tiles, k, a, column, out);
#endif
  for (int64_t i = 0; i < tiles.count; ++i) {
    int height = tiles.height(i);
    const T* from = a + tiles.first(i) * row;
    T* to = out + tiles.first(i) * k;
    int64_t p = 0;
    if (column == 1 && height > 1) {
      for (; p + W <= k; p += W) {
        // Lanes beyond the tile are stored, too, and overwritten by the next element's.
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
