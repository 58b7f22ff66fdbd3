// Matrix product: blocking around the micro-kernels of micro.h.
//
// B is packed into panels [n / kPanel][k][kPanel] (ahead of time, or here), A into row tiles when
// needed. A block of A stays in the second-level cache; for every panel of B, kBlockDepth deep, it
// is read from there tile by tile, which the micro-kernel hides. The tiles of a panel prefetch the
// next panel from memory and, if A is not packed, also its next rows. For few rows there are other
// ways: B is not packed if its rows are contiguous, and dot products are used if its columns are.
// If there are fewer rows than columns of such a B, the operands may be exchanged.
#include "micro.h"

#include "../caches.h"
#include "../parallel.h"
#include "../scratch.h"
#include "dots.h"
#include "entry.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int64_t kBlockDepth = kOnePassDepth;
// Bytes of A that stay in the second-level cache, for a cache of half a megabyte and for one of a
// megabyte or more.
constexpr int64_t kBlockBytes = 160 << 10, kLargeBlockBytes = 384 << 10;
// Multiply-adds that are worth a chunk for another thread.
constexpr int64_t kChunkWork = 400'000;
// Pieces per thread, so that idle threads can take over work from others.
constexpr int64_t kPiecesPerThread = 4;
// If B is larger than this (in elements), it does not stay in a second-level cache and is read for
// more rows at a time.
constexpr int64_t kManyWeights = 128 << 10;
// Pieces with fewer rows than this are not worth splitting off.
constexpr int64_t kHalfTileRows = kTileRows / 2;
// Bytes of B that are packed at once and used while in the second-level cache.
constexpr int64_t kPackBytes = 384 << 10;
// The same if A has to be packed, too.
constexpr int64_t kTurnedBytes = 4 << 20;
constexpr int64_t kDotRows = 8;
// For up to this many panels A is not packed, which would cost more than it saves.
constexpr int64_t kDirectPanels = 8;

template <class T>
int64_t packed_size(int64_t k, int64_t n) {
  return ceil_div(n, kPanel<T>) * kPanel<T> * k;
}

// Packs one panel of B: `width` columns, which are all if it is `Whole`, and rows [0, k). Missing
// columns are zero.
template <class T, bool Whole>
SL_INLINE void pack_columns(int64_t k, int width, const T* b, int64_t row, int64_t column, T* out) {
  constexpr int W = kLanes<T>;
  if (column == 1) {
    for (int64_t p = 0; p < k; ++p, out += kPanel<T>, b += row) {
      SL_UNROLL for (int j = 0; j < kTileVectors; ++j) {
        store(out + j * W, Whole ? load(b + j * W) : load_first(b + j * W, width - j * W));
      }
    }
    return;
  }
  int64_t p = 0;
  if (row == 1) {
    for (; p + W <= k; p += W) {
      SL_UNROLL for (int j = 0; j < kTileVectors; ++j) {
        Vector<T> square[W];
        SL_UNROLL for (int r = 0; r < W; ++r) {
          const T* from = b + (j * W + r) * column + p;
          square[r] = Whole || j * W + r < width ? load(from) : Vector<T>{};
          // The next panel, into the second-level cache: in the first one, rows that lie 2 KB apart
          // would push each other out.
          __builtin_prefetch(from + kPanel<T> * column, 0, 2);
        }
        transpose<T>(square);
        SL_UNROLL for (int r = 0; r < W; ++r) store(out + (p + r) * kPanel<T> + j * W, square[r]);
      }
    }
  }
  for (; p < k; ++p) {
    for (int j = 0; j < kPanel<T>; ++j) {
      out[p * kPanel<T> + j] = Whole || j < width ? b[p * row + j * column] : T(0);
    }
  }
}
template <class T>
SL_NOINLINE void pack_panel(int64_t k, int width, const T* b, int64_t row, int64_t column, T* out) {
  if (width == kPanel<T>) pack_columns<T, true>(k, width, b, row, column, out);
  else pack_columns<T, false>(k, width, b, row, column, out);
}

// Packs panels of a B whose rows are contiguous, some at a time, so that memory is read in order.
template <class T>
SL_NOINLINE void pack_contiguous(int64_t k, int64_t panels, const T* b, int64_t row, T* out) {
  constexpr int W = kLanes<T>;
  constexpr int64_t kTogether = 8, kAhead = 8;  // panels, rows
  for (int64_t first = 0; first < panels; first += kTogether) {
    const int64_t count = min_of(kTogether, panels - first);
    const T* from = b + first * kPanel<T>;
    T* to = out + first * kPanel<T> * k;
    for (int64_t p = 0; p < k; ++p, from += row, to += kPanel<T>) {
      for (int64_t j = 0; j < count; ++j) {
        const T* part = from + j * kPanel<T>;
        __builtin_prefetch(part + kAhead * row);
        SL_UNROLL for (int v = 0; v < kTileVectors; ++v) {
          store(to + j * kPanel<T> * k + v * W, load(part + v * W));
        }
      }
    }
  }
}

// Packs panels [begin, end) of a B with n columns.
template <class T>
void pack_panels(int64_t k, int64_t n, const T* b, int64_t row, int64_t column, int64_t begin,
                 int64_t end, T* out) {
  int64_t p = begin;
  if (column == 1 && min_of(end, n / kPanel<T>) > begin) {
    p = min_of(end, n / kPanel<T>);
    pack_contiguous(k, p - begin, b + begin * kPanel<T>, row, out);
  }
  for (; p < end; ++p) {
    int width = static_cast<int>(min_of(kPanel<T>, n - p * kPanel<T>));
    pack_panel(k, width, b + p * kPanel<T> * column, row, column,
               out + (p - begin) * kPanel<T> * k);
  }
}

template <class T>
void pack(int64_t k, int64_t n, const T* b, int64_t row, int64_t column, T* packed) {
  int64_t panels = ceil_div(n, kPanel<T>);
  int64_t grain = max_of(1, 64 * 1024 / max_of(1, k * kPanel<T>));
  parallel_for(panels, grain, [&](int64_t begin, int64_t end) {
    pack_panels(k, n, b, row, column, begin, end, packed + begin * kPanel<T> * k);
  });
}

template <class T>
const T* bias_at(const Gemm<T>& g, int64_t row, int64_t column) {
  return g.start == Start::kColumnBias ? g.bias + column
         : g.start == Start::kRowBias  ? g.bias + row
                                       : nullptr;
}

// The groups of panels of a product with few rows: as many panels at a time as there are registers
// for, first groups of four, then of two, then single ones.
struct PanelGroups {
  int64_t first, quads, pairs, ones;

  PanelGroups(int64_t rows, int64_t first, int64_t last)
      : first(first),
        quads(rows <= kQuadRows ? (last - first) / 4 : 0),
        pairs(rows <= kPairRows ? (last - first - 4 * quads) / 2 : 0),
        ones(last - first - 4 * quads - 2 * pairs) {}
  int64_t count() const { return quads + pairs + ones; }
  int64_t width(int64_t i) const { return i < quads ? 4 : i < quads + pairs ? 2 : 1; }
  int64_t start(int64_t i) const {
    const int64_t fours = min_of(i, quads), twos = min_of(i - fours, pairs);
    return first + 4 * fours + 2 * twos + (i - fours - twos);
  }
};

// Multiplies at most kTileRows rows by the panels [first, last) of a packed B, over all of k at
// once.
template <class T>
void multiply_flat(const Gemm<T>& g, int64_t first, int64_t last) {
  Tile<T> t;
  t.k = g.k;
  t.a = g.a;
  t.a_row = g.a_row;
  t.b_stride = kPanel<T> * g.k;
  t.c_row = g.c_row;
  t.start = g.start;
  if constexpr (!kSmallGemm) t.scale = g.scale;
  t.activation = g.activation;
  t.finish = g.finish;
  const int rows = static_cast<int>(g.m);
  const PanelGroups groups(g.m, first, last);
  for (int64_t i = 0; i < groups.count(); ++i) {
    const int64_t group = g.last_panel_first ? groups.count() - 1 - i : i;
    const int64_t p = groups.start(group), width = groups.width(group), column = p * kPanel<T>;
    t.b = g.packed_b + p * t.b_stride;
    t.c = g.c + column;
    t.added = g.added ? g.added + column : nullptr;
    t.bias = bias_at(g, 0, column);
    t.columns = static_cast<int>(min_of(width * kPanel<T>, g.n - column));
    TileFunction<T> f = width == 4   ? TileSet<T, Operand::kDirect>::quad.rows[g.m]
                        : width == 2 ? TileSet<T, Operand::kDirect>::pair.rows[g.m]
                                     : panel_tile<T, Operand::kDirect>(rows, t.columns);
    f(t);
    multiplied(g.m * g.k * width * kPanel<T>);
  }
}

// Multiplies rows [top, bottom) by the panels [first, last) of a packed B.
template <class T>
void multiply_block(const Gemm<T>& g, int64_t top, int64_t bottom, int64_t first, int64_t last) {
  const bool direct = g.a_column == 1 && last - first <= kDirectPanels;
  int64_t blocks = ceil_div(g.k, kBlockDepth);
  int64_t depth = ceil_div(ceil_div(g.k, blocks), 16) * 16;
  const bool large = second_cache_bytes() > kUsualSecondCache;
  int64_t bytes = large ? kLargeBlockBytes : second_cache_block(kBlockBytes);
  int64_t tall = bytes / (depth * static_cast<int64_t>(sizeof(T))) / kTileRows * kTileRows;
  int64_t row_blocks = ceil_div(bottom - top, max_of(4 * kTileRows, tall));
  int64_t row_step = ceil_div(bottom - top, row_blocks);
  Scratch space(direct ? 0 : sizeof(T) * (row_step * depth + 2 * kLanes<T>));
  Tile<T> t;
  t.a_row = g.a_row;
  t.b_stride = kPanel<T> * g.k;
  t.c_row = g.c_row;
  if constexpr (!kSmallGemm) t.scale = g.scale;
  for (int64_t k0 = 0; k0 < g.k; k0 += depth) {
    t.k = min_of(depth, g.k - k0);
    t.start = k0 == 0 ? g.start : Start::kResult;
    const bool ends = k0 + t.k == g.k, adds = g.added != nullptr && ends;
    t.activation = ends ? g.activation : Activation::kNone;
    t.finish = ends ? g.finish : nullptr;
    for (int64_t r0 = top; r0 < bottom; r0 += row_step) {
      int64_t rows = min_of(row_step, bottom - r0);
      const T* a = g.a + r0 * g.a_row + k0 * g.a_column;
      T* packed_a = space.as<T>();
      if (!direct) pack_rows<T>(rows, t.k, a, g.a_row, g.a_column, packed_a);
      RowTiles tiles(rows);
      t.b_ahead_step = ceil_div(kPanel<T>, tiles.count);
      for (int64_t p = first; p < last; ++p) {
        int64_t column = p * kPanel<T>;
        t.b = g.packed_b + p * t.b_stride + k0 * kPanel<T>;
        t.columns = static_cast<int>(min_of(kPanel<T>, g.n - column));
        const T* next = p + 1 < last ? t.b + t.b_stride : nullptr;
        tiles.each_height([&](int64_t row, int height, int64_t count) SL_ALWAYS {
          t.tiles = count;
          t.c = g.c + (r0 + row) * g.c_row + column;
          t.added = adds ? g.added + (r0 + row) * g.c_row + column : nullptr;
          t.bias = bias_at(g, r0 + row, column);
          t.b_ahead = next;
          if (next) next += count * t.b_ahead_step * t.k;
          if (direct) {
            t.a = a + row * g.a_row;
            t.a_ahead = p == first ? t.a + height * g.a_row : nullptr;
            t.a_ahead_step = height;
            panel_tile<T, Operand::kDirect>(height, t.columns)(t);
          } else {
            t.a = packed_a + row * t.k;
            panel_tile<T, Operand::kPacked>(height, t.columns)(t);
          }
        });
        multiplied(rows * t.k * kPanel<T>);
      }
    }
  }
}

// The numbers of pieces of rows and of panels into which a product is split for threads, and their
// order: neighbouring pieces go to one thread.
struct Pieces {
  int64_t rows = 1, panels = 1;
  bool panels_first = false;
};

// Splitting by rows lets each thread reuse its own results: the next operator gives it the same
// rows. Splitting by panels lets each weight be read by one thread only, but all of A by every
// thread.
template <class T>
Pieces pieces_of(const Gemm<T>& g, int64_t panels, int64_t work) {
  const int64_t threads = min_of(thread_count(), max_of(1, work / kChunkWork));
  if (threads == 1) return {};
  const int64_t most = kPiecesPerThread * threads;
  const bool weighty = g.k * g.n > 4 * g.m * (g.k + g.n) && panels >= 2;
  const bool many = g.k * g.n > kManyWeights;
  const int64_t height = many ? 4 * kTileRows : kTileRows;
  const int64_t rows = max_of(1, min_of(most, g.m / height) / threads) * threads;
  if (!weighty && g.m >= rows * kHalfTileRows) return {rows, 1, false};
  Pieces pieces{1, panels <= most ? panels : 2 * threads, true};
  if (pieces.panels < most && pieces.panels % threads != 0 && g.m >= 2 * kHalfTileRows) {
    pieces.rows = min_of(ceil_div(most, pieces.panels), g.m / kHalfTileRows);
  }
  return pieces;
}

template <class T>
void multiply_packed(const Gemm<T>& g) {
  int64_t panels = ceil_div(g.n, kPanel<T>);
  int64_t panel_work = max_of(1, g.k * kPanel<T> * max_of(g.m, 8));
  if (g.m <= kTileRows && g.a_column == 1) {
    int64_t grain = max_of(4, kChunkWork / panel_work);
    parallel_for(panels, grain, [&](int64_t begin, int64_t end) { multiply_flat(g, begin, end); });
    return;
  }
  const Pieces pieces = pieces_of(g, panels, panel_work * panels);
  parallel_for(pieces.rows * pieces.panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      int64_t r = pieces.panels_first ? task % pieces.rows : task / pieces.panels;
      int64_t p = pieces.panels_first ? task / pieces.rows : task % pieces.panels;
      multiply_block(g, g.m * r / pieces.rows, g.m * (r + 1) / pieces.rows,
                     panels * p / pieces.panels, panels * (p + 1) / pieces.panels);
    }
  });
}

// Multiplies at most kTileRows rows by a B with contiguous rows, which is read once, without
// packing.
template <class T>
void multiply_unpacked(const Gemm<T>& g) {
  int64_t panels = ceil_div(g.n, kPanel<T>);
  int64_t grain = max_of(4, kChunkWork / max_of(1, g.k * kPanel<T> * max_of(g.m, 8)));
  parallel_for(panels, grain, [&](int64_t begin, int64_t end) {
    Tile<T> t;
    t.k = g.k;
    t.a = g.a;
    t.a_row = g.a_row;
    t.b_stride = g.b_row;
    t.c_row = g.c_row;
    t.start = g.start;
    if constexpr (!kSmallGemm) t.scale = g.scale;
    t.activation = g.activation;
    t.finish = g.finish;
    const PanelGroups groups(g.m, begin, end);
    for (int64_t i = 0; i < groups.count(); ++i) {
      const int64_t width = groups.width(i), column = groups.start(i) * kPanel<T>;
      t.b = g.b + column;
      t.c = g.c + column;
      t.added = g.added ? g.added + column : nullptr;
      t.bias = bias_at(g, 0, column);
      t.columns = static_cast<int>(min_of(width * kPanel<T>, g.n - column));
      TileFunction<T> f = width == 4   ? TileSet<T, Operand::kDirectBoth>::quad.rows[g.m]
                          : width == 2 ? TileSet<T, Operand::kDirectBoth>::pair.rows[g.m]
                                       : TileSet<T, Operand::kDirectBoth>::one.rows[g.m];
      f(t);
      multiplied(g.m * g.k * width * kPanel<T>);
    }
  });
}

// Columns of a tile of one row and of two rows: enough sums to hide the latency of multiply-adds.
constexpr int kDotColumns = 8, kDotPairColumns = 4, kDotTileRows = 2;

template <class T>
T start_value(const Gemm<T>& g, int64_t row, int64_t column, const T* c) {
  switch (g.start) {
    case Start::kResult: return *c;
    case Start::kColumnBias: return g.bias[column];
    case Start::kRowBias: return g.bias[row];
    default: return T(0);
  }
}

template <class T>
T joined(const Gemm<T>& g, T value, T added) {
  if constexpr (!kSmallGemm) value *= g.scale;
  return value + added;
}

template <class T>
T activate_one(T x, Activation activation) {
  if (activation == Activation::kNone) return x;
  if (x < T(0)) x = T(0);
  if (activation == Activation::kRelu6 && x > T(6)) x = T(6);
  return x;
}

// Finishes rows [m, m + rows) and columns [n, n + columns), whose products are in `sums`.
// `c_column` is the stride of columns of c, which differs from 1 if A and B were exchanged.
template <class T>
SL_INLINE void finish_dots(const Gemm<T>& g, int64_t c_column, int64_t m, int rows, int64_t n,
                           int columns, const T* sums) {
  T* to = g.c + m * g.c_row + n * c_column;
  if (rows == 1 && c_column == 1 && !g.added && !g.finish && g.activation == Activation::kNone &&
      g.start == Start::kColumnBias) {
    for (int c = 0; c < columns; ++c) to[c] = g.bias[n + c] + sums[c];
    return;
  }
  for (int r = 0; r < rows; ++r, to += g.c_row) {
    for (int c = 0; c < columns; ++c) {
      T* one = to + c * c_column;
      T value = start_value(g, m + r, n + c, one) + sums[r * columns + c];
      if (g.added) value = joined(g, value, g.added[one - g.c]);
      *one = activate_one(value, g.activation);
      if (g.finish) g.finish(one, 0, one, 0, 1, 1);
    }
  }
}

template <class T>
void multiply_dots(const Gemm<T>& g, int64_t c_column) {
  int64_t grain = max_of(16, kChunkWork / max_of(1, g.k * max_of(g.m, 8)));
  const int wide = g.m == 1 ? kDotColumns : kDotPairColumns;
  parallel_for(g.n, grain, [&](int64_t begin, int64_t end) {
    T sums[kDotColumns];
    Dots<T> d{g.k, nullptr, nullptr, g.a_row, g.b_column, sums};
    for (int64_t n = begin; n < end;) {
      const int columns = end - n >= wide ? wide : 1;
      d.b = g.b + n * g.b_column;
      for (int64_t m = 0; m < g.m;) {
        const int rows = g.m - m >= kDotTileRows ? kDotTileRows : 1;
        d.a = g.a + m * g.a_row;
        if (columns == 1) (rows == 1 ? long_dot<T> : dot_tile<T, kDotTileRows, 1>)(d);
        else if (wide == kDotColumns) dot_tile<T, 1, kDotColumns>(d);
        else if (rows == 1) dot_tile<T, 1, kDotPairColumns>(d);
        else dot_tile<T, kDotTileRows, kDotPairColumns>(d);
        finish_dots(g, c_column, m, rows, n, columns, sums);
        multiplied(rows * columns * g.k);
        m += rows;
      }
      n += columns;
    }
  });
}

// Exchanges the operands, c^T = b^T a^T, for functions that need few rows.
template <class T>
Gemm<T> exchanged(const Gemm<T>& g) {
  Gemm<T> x = g;
  x.m = g.n;
  x.n = g.m;
  x.a = g.b;
  x.a_row = g.b_column;
  x.a_column = g.b_row;
  x.b = g.a;
  x.b_row = g.a_column;
  x.b_column = g.a_row;
  x.c_row = 1;
  if (g.start == Start::kColumnBias) x.start = Start::kRowBias;
  if (g.start == Start::kRowBias) x.start = Start::kColumnBias;
  return x;
}

template <class T>
void fill_start(const Gemm<T>& g) {
  for (int64_t m = 0; m < g.m; ++m) {
    for (int64_t n = 0; n < g.n; ++n) {
      T* to = g.c + m * g.c_row + n;
      T value = start_value(g, m, n, to);
      if (g.added) value = joined(g, value, g.added[to - g.c]);
      *to = activate_one(value, g.activation);
    }
  }
  if (g.finish) g.finish(g.c, g.c_row, g.c, g.c_row, g.m, g.n);
}

// Packs the panels [first, last) of B into `space` and multiplies by them at once.
template <class T>
void multiply_piece(const Gemm<T>& g, int64_t first, int64_t last, T* space) {
  int64_t column = first * kPanel<T>;
  Gemm<T> part = g;
  part.n = min_of((last - first) * kPanel<T>, g.n - column);
  part.c = g.c + column;
  if (g.added) part.added = g.added + column;
  if (g.start == Start::kColumnBias) part.bias = g.bias + column;
  pack_panels(g.k, g.n, g.b, g.b_row, g.b_column, first, last, space);
  part.packed_b = space;
  if (g.m <= kTileRows && g.a_column == 1) multiply_flat(part, 0, last - first);
  else multiply_block(part, 0, g.m, 0, last - first);
}

// For an A whose rows are not contiguous, as in gradients of weights. To pack A once for many
// columns, B is packed first, in blocks of depth kBlockDepth.
template <class T>
void multiply_turned(const Gemm<T>& g) {
  const int64_t blocks = ceil_div(g.k, kBlockDepth);
  const int64_t depth = min_of(g.k, ceil_div(ceil_div(g.k, blocks), 16) * 16);
  const int64_t fits = kTurnedBytes / (depth * static_cast<int64_t>(sizeof(T)));
  const int64_t wide = max_of(kPanel<T>, fits / kPanel<T> * kPanel<T>);
  Scratch space(sizeof(T) * uint64_t(packed_size<T>(depth, min_of(wide, g.n))));
  for (int64_t column = 0; column < g.n; column += wide) {
    Gemm<T> part = g;
    part.n = min_of(wide, g.n - column);
    part.c = g.c + column;
    for (int64_t k0 = 0; k0 < g.k; k0 += depth) {
      const bool ends = k0 + depth >= g.k;
      part.k = min_of(depth, g.k - k0);
      part.a = g.a + k0 * g.a_column;
      part.start = k0 == 0 ? g.start : Start::kResult;
      part.bias = k0 == 0 && g.start == Start::kColumnBias ? g.bias + column : g.bias;
      part.added = g.added != nullptr && ends ? g.added + column : nullptr;
      part.activation = ends ? g.activation : Activation::kNone;
      part.finish = ends ? g.finish : nullptr;
      pack(part.k, part.n, g.b + k0 * g.b_row + column * g.b_column, g.b_row, g.b_column,
           space.as<T>());
      part.packed_b = space.as<T>();
      multiply_packed(part);
    }
  }
}

// to[i][j] = from[j][i] for rows [0, m) of n elements.
template <class T>
void turn(int64_t m, int64_t n, const T* from, T* to, int64_t to_row) {
  constexpr int W = kLanes<T>;
  const int64_t high = m / W * W, wide = n / W * W;
  for (int64_t i = 0; i < high; i += W) {
    for (int64_t j = 0; j < wide; j += W) {
      Vector<T> square[W];
      SL_UNROLL for (int r = 0; r < W; ++r) square[r] = load(from + (j + r) * m + i);
      transpose<T>(square);
      SL_UNROLL for (int r = 0; r < W; ++r) store(to + (i + r) * to_row + j, square[r]);
    }
  }
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = i < high ? wide : 0; j < n; ++j) to[i * to_row + j] = from[j * m + i];
  }
}

// Whether less has to be laid out if the operands are exchanged: A instead of a B whose columns are
// contiguous, such as the weights of a layer in training, and the result.
template <class T>
bool pays_to_exchange(const Gemm<T>& g) {
  constexpr int64_t kMost = 1 << 18;  // elements of the result, which should stay in the cache
  const int64_t whole = ceil_div(g.m, kLanes<T>) * kLanes<T>;  // rows become columns of vectors
  return g.a_column == 1 && g.b_row == 1 && g.m > kTileRows && 8 * whole <= 9 * g.m &&
         g.m * g.n <= kMost && g.k * (g.n - g.m) > g.m * g.n && !g.added && !g.finish &&
         g.start != Start::kResult;
}

template <class T>
void multiply_exchanged(const Gemm<T>& g) {
  Gemm<T> x = exchanged(g);
  Scratch space(sizeof(T) * uint64_t(packed_size<T>(x.k, x.n) + x.m * x.n));
  T* packed = space.as<T>();
  pack(x.k, x.n, x.b, x.b_row, x.b_column, packed);
  x.packed_b = packed;
  x.c = packed + packed_size<T>(x.k, x.n);
  x.c_row = x.n;
  multiply_packed(x);
  turn(g.m, g.n, x.c, g.c, g.c_row);
}

template <class T>
void multiply(const Gemm<T>& g) {
  if (g.m <= 0 || g.n <= 0) return;
  if (g.k <= 0) return fill_start(g);
  if (g.packed_b != nullptr) return multiply_packed(g);
  if (g.n == 1 && g.b_row == 1 && g.c_row == 1) {
    // A matrix times a vector: dot products, or a sum of contiguous columns.
    if (g.a_column == 1) return multiply_dots(exchanged(g), g.c_row);
    if (g.a_row == 1 && !g.added && !g.finish) return multiply_unpacked(exchanged(g));
  }
  if (g.a_column == 1 && g.b_column == 1 && g.m <= kTileRows) return multiply_unpacked(g);
  if (g.a_column == 1 && g.b_row == 1) {
    if (g.m <= kDotRows) return multiply_dots(g, 1);
    if (g.n <= kDotRows) return multiply_dots(exchanged(g), g.c_row);
  }
  if constexpr (!kSmallGemm) {
    if (pays_to_exchange(g)) return multiply_exchanged(g);
  }
  int64_t panels = ceil_div(g.n, kPanel<T>);
  int64_t panel_bytes = kPanel<T> * g.k * static_cast<int64_t>(sizeof(T));
  if (g.a_column != 1 && panels > 1 && g.m > kTileRows) return multiply_turned(g);
  // At most three panels, so that A is not packed.
  int64_t step = max_of(1, min_of(min_of(panels, 3), kPackBytes / panel_bytes));
  int64_t pieces = ceil_div(panels, step);
  int64_t piece_work = max_of(1, step * kPanel<T> * g.k * g.m);
  parallel_for(pieces, max_of(1, kChunkWork / piece_work), [&](int64_t begin, int64_t end) {
    Scratch space(uint64_t(step * panel_bytes));
    for (int64_t piece = begin; piece < end; ++piece) {
      int64_t first = piece * step, last = min_of(panels, first + step);
      multiply_piece(g, first, last, space.as<T>());
    }
  });
}

}  // namespace

void matrix_product(const Gemm<float>& g) { multiply(g); }
void matrix_product(const Gemm<double>& g) { multiply(g); }
void dot_products(const Gemm<float>& g, int64_t c_column) { multiply_dots(g, c_column); }
void dot_products(const Gemm<double>& g, int64_t c_column) { multiply_dots(g, c_column); }

const GemmFunctions<float> gemm_f32{&multiply<float>, &packed_size<float>, &pack<float>};
const GemmFunctions<double> gemm_f64{&multiply<double>, &packed_size<double>, &pack<double>};

}  // namespace scriptlang::kernels::SL_ISA
