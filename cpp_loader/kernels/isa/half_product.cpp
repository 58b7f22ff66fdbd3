// Matrix products of 16-bit floats. A few columns of B at a time are widened into float32 panels,
// which the float32 tiles use while they are in the caches. If the processor multiplies pairs of
// bfloat16, panels and tiles consist of such pairs.
#include "../half_product.h"

#include "../parallel.h"
#include "../processor.h"
#include "../scratch.h"
#include "entry.h"
#include "micro.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int64_t kPanelColumns = kPanel<float>;
constexpr int64_t kPiecePanels = 3;         // so few that A is not packed
constexpr int64_t kPieceBytes = 384 << 10;  // of B, widened at once
constexpr int64_t kDotRows = 8;             // up to this many rows of A, dot products are used
constexpr int64_t kDotBytes = 64 << 10;
constexpr int64_t kChunkWork = 400'000;  // multiply-adds that are worth a chunk for a thread

// Conversion between float32 and a 16-bit type; `step` is the stride in elements.
struct Widening {
  Convert to_float, from_float;
  explicit Widening(bool bfloat) {
    const ScalarType type = bfloat ? ScalarType::BFloat16 : ScalarType::Float16;
    to_float = converter(ScalarType::Float32, type);
    from_float = converter(type, ScalarType::Float32);
  }
  void widen(int64_t n, float* to, const uint16_t* from, int64_t step = 1) const {
    to_float(n, to, sizeof *to, from, step * static_cast<int64_t>(sizeof *from));
  }
  void narrow(int64_t n, uint16_t* to, const float* from) const {
    from_float(n, to, sizeof *to, from, sizeof *from);
  }
};

// Calls f(first, last) for pieces of panels of kPanelColumns columns, in parallel.
template <class F>
void for_pieces(const HalfProduct& p, int64_t panel_bytes, F f) {
  const int64_t panels = ceil_div(p.n, kPanelColumns);
  const int64_t step = max_of(1, min_of(kPiecePanels, kPieceBytes / max_of(1, panel_bytes)));
  const int64_t work = max_of(1, step * kPanelColumns * p.k * max_of(p.m, 8));
  parallel_for(ceil_div(panels, step), max_of(1, kChunkWork / work),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) f(i * step, min_of(panels, (i + 1) * step));
               });
}

// Computes dot products, with some columns of B at a time widened to rows of float32.
void multiply_dots(const HalfProduct& p, const Widening& w, const float* a, const float* bias) {
  const int64_t together =
      max_of(8, kDotBytes / (max_of(1, p.k) * static_cast<int64_t>(sizeof(float))));
  parallel_for(ceil_div(p.n, together), max_of(1, kChunkWork / max_of(1, together * p.k * 8)),
               [&](int64_t begin, int64_t end) {
                 Scratch space(sizeof(float) * uint64_t(together * (p.k + p.m)));
                 float *rows = space.as<float>(), *result = rows + together * p.k;
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t first = i * together, count = min_of(together, p.n - first);
                   for (int64_t j = 0; j < count; ++j) {
                     w.widen(p.k, rows + j * p.k, p.b + (first + j) * p.b_column);
                   }
                   Gemm<float> g;
                   g.m = p.m;
                   g.n = g.c_row = count;
                   g.k = g.a_row = g.b_column = p.k;
                   g.b_row = 1;
                   g.a = a;
                   g.b = rows;
                   g.c = result;
                   g.start = bias ? Start::kColumnBias : Start::kZero;
                   g.bias = bias ? bias + first : nullptr;
                   dot_products(g, 1);
                   for (int64_t r = 0; r < p.m; ++r)
                     w.narrow(count, p.c + r * p.n + first, result + r * count);
                 }
               });
}

// Widens one panel of B with `width` columns; missing columns are zero.
SL_NOINLINE void widen_panel(const HalfProduct& p, const Widening& w, int64_t column, int64_t width,
                             float* to) {
  constexpr int W = kLanes<float>;
  const uint16_t* from = p.b + column * p.b_column;
  if (p.b_row != 1) {
    for (int64_t k = 0; k < p.k; ++k, from += p.b_row, to += kPanelColumns) {
      w.widen(width, to, from, p.b_column);
      for (int64_t j = width; j < kPanelColumns; ++j) to[j] = 0.0f;
    }
    return;
  }
  // Columns are contiguous: square tiles are widened, then transposed.
  constexpr int64_t kDeep = 256;
  float rows[W * kDeep];
  for (int64_t k = 0; k < p.k; k += kDeep) {
    const int64_t depth = min_of(kDeep, p.k - k);
    for (int64_t part = 0; part < kPanelColumns; part += W) {
      for (int64_t j = 0; j < W; ++j) {
        if (part + j < width) w.widen(depth, rows + j * kDeep, from + (part + j) * p.b_column + k);
        else
          for (int64_t i = 0; i < depth; ++i) rows[j * kDeep + i] = 0.0f;
      }
      int64_t i = 0;
      for (; i + W <= depth; i += W) {
        Vector<float> square[W];
        SL_UNROLL for (int j = 0; j < W; ++j) square[j] = load(rows + j * kDeep + i);
        transpose<float>(square);
        SL_UNROLL for (int j = 0; j < W; ++j) {
          store(to + (k + i + j) * kPanelColumns + part, square[j]);
        }
      }
      for (; i < depth; ++i) {
        for (int j = 0; j < W; ++j) to[(k + i) * kPanelColumns + part + j] = rows[j * kDeep + i];
      }
    }
  }
}

void multiply_widened(const HalfProduct& p) {
  const Widening w(p.bfloat);
  Scratch space(sizeof(float) * uint64_t(p.m * p.k + p.n));
  float *a = space.as<float>(), *bias = a + p.m * p.k;
  const int64_t grain = max_of(1, 65536 / max_of(1, p.k));
  parallel_for(p.m, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      w.widen(p.k, a + r * p.k, p.a + r * p.a_row, p.a_column);
    }
  });
  if (p.bias) w.widen(p.n, bias, p.bias);
  if (p.m <= kDotRows && p.b_row == 1 && p.k > 0) {
    return multiply_dots(p, w, a, p.bias ? bias : nullptr);
  }
  const int64_t panel = kPanelColumns * p.k;
  for_pieces(p, panel * static_cast<int64_t>(sizeof(float)), [&](int64_t first, int64_t last) {
    const int64_t column = first * kPanelColumns;
    Gemm<float> g;
    g.m = p.m;
    g.n = min_of((last - first) * kPanelColumns, p.n - column);
    g.k = g.a_row = p.k;
    g.c_row = ceil_div(g.n, 16) * 16;
    Scratch piece(sizeof(float) * uint64_t((last - first) * panel + g.m * g.c_row));
    float* packed = piece.as<float>();
    for (int64_t i = first; i < last; ++i) {
      const int64_t width = min_of(kPanelColumns, p.n - i * kPanelColumns);
      widen_panel(p, w, i * kPanelColumns, width, packed + (i - first) * panel);
      worked(p.k * width);
    }
    g.a = a;
    g.packed_b = packed;
    g.c = packed + (last - first) * panel;
    g.start = p.bias ? Start::kColumnBias : Start::kZero;
    g.bias = p.bias ? bias + column : nullptr;
    matrix_product(g);
    for (int64_t r = 0; r < g.m; ++r) w.narrow(g.n, p.c + r * p.n + column, g.c + r * g.c_row);
  });
}

#if defined(__AVX512F__)
// Pairs of neighbours in k are treated as one element of 32 bits. Processors that multiply such
// pairs flush subnormal numbers (below 2^-126) to zero.
constexpr int64_t kPairDotRows = 2;
#define SL_PAIRS __attribute__((target("avx512bf16")))

bool has_pairs() {
  static const bool has = processor_has("avx512bf16");
  return has;
}

struct PairTile {
  int64_t pairs;
  const uint16_t* a;
  int64_t a_row;
  const uint16_t* b;  // panel [pairs][columns][2]
  uint16_t* c;
  int64_t c_row;
  int columns;
  const uint16_t* bias;
};

SL_INLINE __m256i rounded_to_bfloat(__m512 x) {
  __m512i bits = _mm512_castps_si512(x), odd = _mm512_srli_epi32(bits, 16);
  odd = _mm512_and_si512(odd, _mm512_set1_epi32(1));
  __m512i near = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  near = _mm512_mask_or_epi32(near, nan, bits, _mm512_set1_epi32(0x400000));
  return _mm512_maskz_cvtepi32_epi16(0xffff, _mm512_srli_epi32(near, 16));
}

// Adds the bias to a tile of sums and rounds it. Not inlined into the many functions that compute
// tiles.
SL_NOINLINE void finish_pairs(const PairTile& t, int rows, const float* sums) {
  const __mmask16 lanes[2] = {first_lanes(0.f, t.columns), first_lanes(0.f, t.columns - 16)};
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < 2; ++j) {
      __m512 x = _mm512_load_ps(sums + r * kPanelColumns + j * 16);
      if (t.bias) {
        __m512i bias = _mm512_maskz_cvtepu16_epi32(
            0xffff, _mm256_maskz_loadu_epi16(lanes[j], t.bias + j * 16));
        x = _mm512_add_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(bias, 16)));
      }
      _mm256_mask_storeu_epi16(t.c + r * t.c_row + j * 16, lanes[j], rounded_to_bfloat(x));
    }
  }
}

template <int Rows>
SL_PAIRS SL_NOINLINE void multiply_pairs(const PairTile& t) {
  __m512 sum[Rows][2] = {};
  constexpr int kPointers = (Rows + 2) / 3;
  const uint16_t *a[kPointers], *b = t.b;
  SL_UNROLL for (int i = 0; i < kPointers; ++i) a[i] = t.a + 3 * i * t.a_row;
  for (int64_t k = 0; k < t.pairs; ++k, b += 2 * kPanelColumns) {
    __m512bh low = (__m512bh)_mm512_loadu_si512(b), high = (__m512bh)_mm512_loadu_si512(b + 32);
    SL_UNROLL for (int r = 0; r < Rows; ++r) {
      int pair;
      __builtin_memcpy(&pair, a[r / 3] + (r % 3) * t.a_row, sizeof pair);
      __m512bh x = (__m512bh)_mm512_set1_epi32(pair);
      sum[r][0] = _mm512_dpbf16_ps(sum[r][0], x, low);
      sum[r][1] = _mm512_dpbf16_ps(sum[r][1], x, high);
    }
    SL_UNROLL for (int i = 0; i < kPointers; ++i) a[i] += 2;
  }
  alignas(64) float sums[Rows * kPanelColumns];
  SL_UNROLL for (int r = 0; r < Rows; ++r) SL_UNROLL for (int j = 0; j < 2; ++j) {
    _mm512_store_ps(sums + r * kPanelColumns + j * 16, sum[r][j]);
  }
  finish_pairs(t, Rows, sums);
}

template <int... R>
SL_INLINE auto pair_tile(int rows, std::integer_sequence<int, R...>) {
  static constexpr void (*kTiles[])(const PairTile&) = {&multiply_pairs<R + 1>...};
  return kTiles[rows - 1];
}

SL_INLINE __m512i pair_rows(const uint16_t* from, const uint16_t* next, int64_t width) {
  const __mmask16 lanes = first_lanes(0.f, static_cast<int>(width));
  __m512i low = _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_maskz_loadu_epi16(lanes, from));
  if (next == nullptr) return low;
  __m512i high = _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_maskz_loadu_epi16(lanes, next));
  return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

SL_NOINLINE void pair_panel(const HalfProduct& p, int64_t column, int64_t width, uint16_t* to) {
  const uint16_t* from = p.b + column * p.b_column;
  const int64_t pairs = ceil_div(p.k, 2);
  if (p.b_column == 1) {
    for (int64_t k = 0; k < p.k; k += 2, from += 2 * p.b_row, to += 2 * kPanelColumns) {
      const uint16_t* next = k + 1 < p.k ? from + p.b_row : nullptr;
      _mm512_storeu_si512(to, pair_rows(from, next, width));
      _mm512_storeu_si512(to + 32, pair_rows(from + 16, next ? next + 16 : next, width - 16));
    }
    return;
  }
  int64_t k = 0;
  if (p.b_row == 1) {
    // Pairs are contiguous already: square tiles of pairs are transposed.
    for (; k + 32 <= p.k; k += 32) {
      for (int part = 0; part < kPanelColumns; part += 16) {
        Vector<float> square[16];
        SL_UNROLL for (int j = 0; j < 16; ++j) {
          square[j] = part + j < width
                          ? load(reinterpret_cast<const float*>(from + (part + j) * p.b_column + k))
                          : Vector<float>{};
        }
        transpose<float>(square);
        SL_UNROLL for (int j = 0; j < 16; ++j) {
          store(reinterpret_cast<float*>(to + ((k / 2 + j) * kPanelColumns + part) * 2), square[j]);
        }
      }
    }
  }
  for (int64_t i = k / 2; i < pairs; ++i)
    for (int64_t j = 0; j < kPanelColumns; ++j)
      for (int64_t half = 0; half < 2; ++half) {
        const bool there = j < width && 2 * i + half < p.k;
        to[(i * kPanelColumns + j) * 2 + half] =
            there ? from[(2 * i + half) * p.b_row + j * p.b_column] : uint16_t{0};
      }
}

// Multiplies few rows by contiguous columns; a row has a whole number of pairs. Each lane has its
// own partial sum.
SL_PAIRS void pair_dots(const HalfProduct& p, const uint16_t* a, int64_t a_row, int64_t first,
                        int64_t last) {
  constexpr int kTogether = 4;
  for (int64_t n = first; n < last; n += kTogether) {
    const int64_t there = min_of(kTogether, last - n);
    const uint16_t* b[kTogether];
    SL_UNROLL for (int j = 0; j < kTogether; ++j) b[j] = p.b + min_of(n + j, last - 1) * p.b_column;
    for (int64_t m = 0; m < p.m; m += 2) {
      multiplied(2 * kTogether * p.k / 2);
      const uint16_t *low = a + m * a_row, *high = m + 1 < p.m ? low + a_row : low;
      __m512 sum[2][kTogether] = {};
      for (int64_t k = 0; k < p.k; k += 32) {
        const int64_t left = p.k - k;
        const __mmask32 lanes = left >= 32 ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
        __m512bh x = (__m512bh)_mm512_maskz_loadu_epi16(lanes, low + k);
        __m512bh y = (__m512bh)_mm512_maskz_loadu_epi16(lanes, high + k);
        SL_UNROLL for (int j = 0; j < kTogether; ++j) {
          __m512bh z = (__m512bh)_mm512_maskz_loadu_epi16(lanes, b[j] + k);
          sum[0][j] = _mm512_dpbf16_ps(sum[0][j], x, z);
          sum[1][j] = _mm512_dpbf16_ps(sum[1][j], y, z);
        }
      }
      for (int r = 0; r < 2 && m + r < p.m; ++r) {
        for (int64_t j = 0; j < there; ++j) {
          float bias = 0.0f, value;
          if (p.bias) half_loops.from_bfloat(1, &bias, p.bias + n + j);
          value = bias + sum_lanes<float>((Vector<float>)sum[r][j]);
          half_loops.to_bfloat(1, p.c + (m + r) * p.n + n + j, &value);
        }
      }
    }
  }
}

void multiply_by_pairs(const HalfProduct& p) {
  const int64_t pairs = ceil_div(p.k, 2);
  // Rows of A are copied unless they are contiguous and have a whole number of pairs.
  const bool copies = p.a_column != 1 || p.k % 2 != 0;
  Scratch space(copies ? uint64_t(p.m * pairs) * 4 : 0);
  const uint16_t* a = p.a;
  const int64_t a_row = copies ? 2 * pairs : p.a_row;
  if (copies) {
    uint16_t* to = space.as<uint16_t>();
    a = to;
    for (int64_t r = 0; r < p.m; ++r, to += 2 * pairs) {
      for (int64_t k = 0; k < p.k; ++k) to[k] = p.a[r * p.a_row + k * p.a_column];
      if (p.k % 2 != 0) to[p.k] = 0;
    }
  }
  if (p.m <= kPairDotRows && p.b_row == 1) {
    const int64_t grain = max_of(16, kChunkWork / max_of(1, p.k * 8));
    parallel_for(p.n, grain,
                 [&](int64_t begin, int64_t end) { pair_dots(p, a, a_row, begin, end); });
    return;
  }
  for_pieces(p, pairs * kPanelColumns * 4, [&](int64_t first, int64_t last) {
    Scratch piece(uint64_t((last - first) * pairs * kPanelColumns) * 4);
    for (int64_t i = first; i < last; ++i) {
      const int64_t width = min_of(kPanelColumns, p.n - i * kPanelColumns);
      pair_panel(p, i * kPanelColumns, width,
                 piece.as<uint16_t>() + (i - first) * pairs * kPanelColumns * 2);
      worked(pairs * width);
    }
    RowTiles tiles(p.m);
    for (int64_t tile = 0; tile < tiles.count; ++tile) {
      const int64_t row = tiles.first(tile);
      for (int64_t i = first; i < last; ++i) {
        const int64_t column = i * kPanelColumns;
        PairTile t{pairs,
                   a + row * a_row,
                   a_row,
                   piece.as<uint16_t>() + (i - first) * pairs * kPanelColumns * 2,
                   p.c + row * p.n + column,
                   p.n,
                   static_cast<int>(min_of(kPanelColumns, p.n - column)),
                   p.bias ? p.bias + column : nullptr};
        pair_tile(tiles.height(tile), std::make_integer_sequence<int, kTileRows>{})(t);
        multiplied(tiles.height(tile) * kPanelColumns * p.k / 2);
      }
    }
  });
}
#endif

void multiply(const HalfProduct& p) {
  if (p.m <= 0 || p.n <= 0) return;
#if defined(__AVX512F__)
  if (p.bfloat && p.k > 0 && has_pairs()) return multiply_by_pairs(p);
#endif
  multiply_widened(p);
}

}  // namespace

const HalfProductFunctions half_product{&multiply};

}  // namespace scriptlang::kernels::SL_ISA
