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

// What the inner loops do otherwise on NEON, whose instructions multiply by a lane of a vector: it
// is loaded for several rows at once. Each row has an address of its own, two steps make a pass,
// and a vector is a quarter of a cache line.
#if defined(__aarch64__)
constexpr int kRowsOfPointer = 1;
constexpr int kSteps = 2;
constexpr int kLineVectors = kTileVectors;  // of which one is prefetched
constexpr bool kWholeApart = true;          // whole rows of B have a loop without tests for lanes
// The elements of A for each row of a tile; what follows them is read, too, up to a whole vector.
template <class T, int Rows>
struct Column {
  static constexpr int W = kLanes<T>;
  Vector<T> part[(Rows + W - 1) / W];
  SL_INLINE explicit Column(const T* a) {
    SL_UNROLL for (int i = 0; i < (Rows + W - 1) / W; ++i) part[i] = load(a + i * W);
  }
  SL_INLINE Vector<T> operator[](int r) const { return splat(part[r / W][r % W]); }
};
// Neighbours in a row of A.
template <class T>
struct Neighbours {
  typedef T Few __attribute__((vector_size(kSteps * sizeof(T)), aligned(sizeof(T)), may_alias));
  Few few;
  SL_INLINE explicit Neighbours(const T* a) : few(*reinterpret_cast<const Few*>(a)) {
    asm("" : "+w"(few));  // or compilers load them one by one
  }
  SL_INLINE Vector<T> operator[](int n) const { return splat(few[n]); }
};
#else
constexpr int kRowsOfPointer = 3;  // x86 addresses base, base + s and base + 2s
constexpr int kSteps = 1;
constexpr int kLineVectors = 1;
constexpr bool kWholeApart = false;
template <class T>
struct Neighbours;  // not needed
template <class T, int Rows>
struct Column {
  const T* a;
  SL_INLINE explicit Column(const T* a_) : a(a_) {}
  SL_INLINE Vector<T> operator[](int r) const { return splat(a[r]); }
};
#endif

// Hides an address from the optimiser, so that it neither generates special code for a table's
// constants nor keeps the addresses of all rows in registers.
template <class T>
SL_INLINE T* unknown(T* address) {
  asm("" : "+r"(address));
  return address;
}

template <class T>
SL_NOINLINE void prefetch_added(const T* row, int64_t stride, int rows, int vectors) {
  for (int r = 0; r < rows; ++r, row += stride) {
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

// Adds `added`, applies activation and finish to sums in `piece`, and writes them to `c`. This is
// done in `piece` because the result's memory may be far: reading it back would wait for the
// stores.
template <class T>
SL_NOINLINE void finish_tile(const Tile<T>& t, const T* added, T* piece, T* c, int rows,
                             int vectors) {
  constexpr int W = kLanes<T>;
  if (added != nullptr || t.activation != Activation::kNone) {
    const Bounds<T> bounds(t.activation);
    for (int r = 0; r < rows; ++r) {
      for (int j = 0; j < vectors; ++j) {
        T* at = piece + (r * vectors + j) * W;
        Vector<T> x = load(at);
        if (added != nullptr) {
          if constexpr (!kSmallGemm) x *= t.scale;
          x += load_first(added + r * t.c_row + j * W, t.columns - j * W);
        }
        store(at, bounds.apply(x));
      }
    }
  }
  if (t.finish != nullptr && t.columns == vectors * W) {
    return t.finish(piece, t.columns, c, t.c_row, rows, t.columns);
  }
  if (t.finish != nullptr) t.finish(piece, 0, piece, 0, 1, int64_t(rows) * vectors * W);
  for (int j = 0; j < vectors; ++j) {
    const Lanes<T> lanes = first_lanes<T>(t.columns - j * W);
    T* to = c + j * W;
    const T* from = piece + j * W;
    for (int r = 0; r < rows; ++r, to += t.c_row, from += vectors * W) {
      store_lanes(to, load(from), lanes);
    }
  }
}

// The sums of a tile to begin with.
template <class T, int Rows, int Vectors, Operand kind>
SL_INLINE void start_sums(const Tile<T>& t, const T* bias, const T* c, const Lanes<T>* lanes,
                          T* piece, Vector<T> (&sum)[Rows][Vectors]) {
  constexpr int W = kLanes<T>;
  if constexpr (kind == Operand::kPlaces) {
    if (t.start == Start::kResult) {
      SL_UNROLL for (int r = 0; r < Rows; ++r) {
        SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] = load(c + t.c_places[j]);
        c = unknown(c + t.c_row);
      }
      return;
    }
  }
  if (t.start == Start::kResult || t.start == Start::kColumnBias) {
    const T* from = t.start == Start::kResult ? c : bias;
    int64_t stride = t.start == Start::kResult ? t.c_row : 0;
    if (!kLeavesOut && t.columns < Vectors * W) {
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
    const T* each = unknown(t.start == Start::kRowBias ? bias : kNoBias<T>);
    SL_UNROLL for (int r = 0; r < Rows; ++r) SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] =
        splat(each[r]);
  }
}

// Memory that the products of a tile prefetch into the second-level cache as they go.
template <class T>
struct Ahead {
  const T* at;
  int64_t step;
  // Without memory to prefetch, the same place again and again, which costs least.
  Ahead(const T* from, int64_t step_, const T* place)
      : at(from ? from : place), step(from ? step_ : 0) {}
  SL_INLINE void prefetch(int steps = 1) {
    SL_UNROLL for (int i = 0; i < steps; ++i) prefetch_second(at + i * step);
    at += steps * step;
  }
};

template <class T, int Rows, int Vectors, Operand kind, bool Whole = false>
SL_INLINE void add_products(const Tile<T>& t, const T* first_a, const Lanes<T>* lanes,
                            Ahead<T>& b_ahead, Ahead<T>& a_ahead, Vector<T> (&sum)[Rows][Vectors]) {
  constexpr int W = kLanes<T>;
  constexpr bool kStreams = Vectors > kTileVectors;  // prefetches B, which is read once
  const T* b = t.b;
  if constexpr (kind == Operand::kPlaces) {
    const T *a = first_a, *from[Vectors];
    SL_UNROLL for (int j = 0; j < Vectors; ++j) from[j] = b + t.b_places[j];
    for (int64_t k = 0; k < t.k; ++k) {
      const int64_t at = t.b_rows[k];
      Vector<T> row[Vectors];
      SL_UNROLL for (int j = 0; j < Vectors; ++j) row[j] = load(from[j] + at);
      const Column<T, Rows> column(a);
      SL_UNROLL for (int r = 0; r < Rows; ++r) {
        const Vector<T> x = column[r];
        SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] += x * row[j];
      }
      a += Rows;
    }
  } else if constexpr (kind == Operand::kPacked) {
    const T* a = first_a;
    const auto add = [&](int step) SL_ALWAYS {
      const T* here = b + step * kPanel<T>;
      Vector<T> row[Vectors];
      SL_UNROLL for (int j = 0; j < Vectors; ++j) {
        row[j] = load(here + (j / kTileVectors) * t.b_stride + (j % kTileVectors) * W);
      }
      const Column<T, Rows> column(a + step * Rows);
      SL_UNROLL for (int r = 0; r < Rows; ++r) {
        const Vector<T> x = column[r];
        SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] += x * row[j];
      }
    };
    for (int64_t k = kSteps > 1 ? t.k / kSteps : 0; k > 0; --k) {
      b_ahead.prefetch(kSteps);
      SL_UNROLL for (int i = 0; i < kSteps; ++i) add(i);
      a += kSteps * Rows;
      b += kSteps * kPanel<T>;
    }
    for (int64_t k = kSteps > 1 ? t.k % kSteps : t.k; k > 0; --k) {
      b_ahead.prefetch();
      add(0);
      a += Rows;
      b += kPanel<T>;
    }
  } else {
    constexpr int P = kRowsOfPointer, kPointers = (Rows + P - 1) / P;
    const int64_t runs = kind == Operand::kTaps ? t.tap_count : 1;
    for (int64_t run = 0; run < runs; ++run) {
      const T* first = kind == Operand::kTaps ? first_a + t.taps[run] : first_a;
      if constexpr (kind == Operand::kTaps) b = t.b + t.b_taps[run];
      const T* a[kPointers];
      SL_UNROLL for (int i = 0; i < kPointers; ++i) a[i] = first + P * i * t.a_row;
      int64_t k = 0;
      if constexpr (kSteps > 1 && !kStreams && (kind != Operand::kDirectBoth || Whole)) {
        const int64_t b_step = kind == Operand::kDirectBoth ? t.b_stride : kPanel<T>;
        for (; k + kSteps <= t.k; k += kSteps, b += kSteps * b_step) {
          if constexpr (kind != Operand::kDirectBoth) b_ahead.prefetch(kSteps);
          if constexpr (kind == Operand::kDirect) a_ahead.prefetch(kSteps);
          Vector<T> row[kSteps][Vectors];
          SL_UNROLL for (int n = 0; n < kSteps; ++n) {
            SL_UNROLL for (int j = 0; j < Vectors; ++j) row[n][j] = load(b + n * b_step + j * W);
            if (kind == Operand::kDirectBoth) prefetch(b + (8 + n) * b_step);
          }
          SL_UNROLL for (int r = 0; r < Rows; ++r) {
            const Neighbours<T> few(a[r] + k);
            SL_UNROLL for (int n = 0; n < kSteps; ++n) {
              const Vector<T> x = few[n];
              SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] += x * row[n][j];
            }
          }
        }
      }
      for (; k < t.k; ++k) {
        if constexpr (kind != Operand::kDirectBoth && !kStreams) {
          b_ahead.prefetch();
          if constexpr (kind == Operand::kDirect) a_ahead.prefetch();
        }
        Vector<T> row[Vectors];
        SL_UNROLL for (int j = 0; j < Vectors; ++j) {
          if constexpr (kind == Operand::kDirectBoth) {
            row[j] = Whole ? load(b + j * W) : load_lanes(b + j * W, lanes[j]);
            if (j % kLineVectors == 0) prefetch(b + j * W + 8 * t.b_stride);
          } else {
            const T* from = b + (j / kTileVectors) * t.b_stride + (j % kTileVectors) * W;
            row[j] = load(from);
            if (kStreams && j % kLineVectors == 0) prefetch(from + 64 * W);
          }
        }
        SL_UNROLL for (int r = 0; r < Rows; ++r) {
          const Vector<T> x = splat(P == 1 ? a[r / P][k] : a[r / P][(r % P) * t.a_row]);
          SL_UNROLL for (int j = 0; j < Vectors; ++j) sum[r][j] += x * row[j];
        }
        SL_UNROLL for (int i = 0; P > 1 && i < kPointers; ++i) a[i] += 1;
        b += kind == Operand::kDirectBoth ? t.b_stride : kPanel<T>;
      }
    }
  }
}

template <class T, int Rows, int Vectors, Operand kind>
SL_NOINLINE void multiply_tiles(const Tile<T>& t) {
  constexpr int W = kLanes<T>;
  alignas(64) T piece[Rows * Vectors * W];  // for tiles that go through memory
  Lanes<T> lanes[Vectors];                  // existing ones
  SL_UNROLL for (int j = 0; j < Vectors; ++j) lanes[j] = first_lanes<T>(t.columns - j * W);
  const bool apart = t.finish != nullptr || (!kLeavesOut && t.columns < Vectors * W);
  constexpr bool kIsPacked = kind == Operand::kPacked || kind == Operand::kPlaces;
  const int64_t a_step = Rows * (kIsPacked ? t.k : t.a_row);
  const T *a = t.a, *bias = t.bias, *added = t.added;
  T* c = t.c;
  Ahead<T> b_ahead(t.b_ahead, t.b_ahead_step, c), a_ahead(t.a_ahead, t.a_ahead_step, c);
  for (int64_t tile = 0; tile < t.tiles; ++tile) {
    if (added != nullptr) prefetch_added(added, t.c_row, Rows, Vectors);  // needed after products
    Vector<T> sum[Rows][Vectors];
    start_sums<T, Rows, Vectors, kind>(t, bias, c, lanes, piece, sum);
    if (kWholeApart && kind == Operand::kDirectBoth && t.columns == Vectors * W) {
      add_products<T, Rows, Vectors, kind, true>(t, a, lanes, b_ahead, a_ahead, sum);
    } else {
      add_products<T, Rows, Vectors, kind>(t, a, lanes, b_ahead, a_ahead, sum);
    }
    if (apart) {
      SL_UNROLL for (int r = 0; r < Rows; ++r) SL_UNROLL for (int j = 0; j < Vectors; ++j)
          store(piece + (r * Vectors + j) * W, sum[r][j]);
      finish_tile(t, added, piece, c, Rows, Vectors);
    } else {
      if (added != nullptr) {
        const T* from = added;
        SL_UNROLL for (int r = 0; r < Rows; ++r) {
          SL_UNROLL for (int j = 0; j < Vectors; ++j) {
            if constexpr (!kSmallGemm) sum[r][j] *= splat(t.scale);
            sum[r][j] += kLeavesOut ? load_lanes(from + j * W, lanes[j]) : load(from + j * W);
          }
          from = unknown(from + t.c_row);
        }
      }
      if (t.activation != Activation::kNone) {
        const Bounds<T> bounds(t.activation);
        SL_UNROLL for (int r = 0; r < Rows; ++r) SL_UNROLL for (int j = 0; j < Vectors; ++j)
            sum[r][j] = bounds.apply(sum[r][j]);
      }
      T* to = c;
      SL_UNROLL for (int r = 0; r < Rows; ++r) {
        SL_UNROLL for (int j = 0; j < Vectors; ++j) {
          if constexpr (kind == Operand::kPlaces) store(to + t.c_places[j], sum[r][j]);
          else if constexpr (kLeavesOut) store_lanes(to + j * W, sum[r][j], lanes[j]);
          else store(to + j * W, sum[r][j]);
        }
        to = unknown(to + t.c_row);
      }
    }
    a += a_step;
    c += Rows * t.c_row;
    if (added != nullptr) added += Rows * t.c_row;
    if (t.start == Start::kRowBias) bias += Rows;
  }
}

template <class T, int Rows, int Vectors, Operand kind, int... R>
constexpr TileTable<T, Rows> table_of(std::integer_sequence<int, R...>) {
  return {{nullptr, &multiply_tiles<T, R + 1, Vectors, kind>...}};
}

template <class T, Operand kind, int... V>
constexpr NarrowTiles<T> narrow_of(std::integer_sequence<int, V...>) {
  return {{table_of<T, kTileRows, V + 1, kind>(std::make_integer_sequence<int, kTileRows>{})...}};
}

}  // namespace

template <class T, Operand kind>
const NarrowTiles<T> TileSet<T, kind>::narrow =
    narrow_of<T, kind>(std::make_integer_sequence<int, kTileVectors - 1>{});
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
