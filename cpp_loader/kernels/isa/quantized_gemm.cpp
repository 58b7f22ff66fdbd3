// Matrix products of codes: int32 sums over all of k in registers, finished when they leave these.
//
// b is packed in panels of kColumns columns. For each step of k, a panel holds one word per column.
// With VNNI or ARM's dot products a word is four bytes of k, otherwise two int16, because older
// instructions for bytes saturate. a is read word by word; each word meets all columns.
#include "../processor.h"
#include "../scratch.h"
#include "codes.h"
#include "entry.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

#if defined(__AVX512BW__) || defined(__aarch64__)
constexpr int kRows = 6, kVectors = 4;
#else
constexpr int kRows = 4, kVectors = 2;
#endif
constexpr int64_t kColumns = kVectors * kWords;
static_assert(kQuantizedColumns % kColumns == 0, "a product may start at a panel");

constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

#if defined(__aarch64__)
// A word of a in the first lane, from where instructions multiply by it.
typedef float Word;
SL_INLINE Word word_at(const int32_t* a) {
  Word word;
  __builtin_memcpy(&word, a, sizeof word);
  return word;
}
constexpr bool kApart = true;  // the two int16 of a word lie in different halves of a vector
constexpr uint32_t kUnsignedBy = 128;  // udot takes no sign: what is added to the bytes of b for it
constexpr bool kLongSteps = false;     // a step is one cache line

struct Pairs {
  static SL_INLINE Words add(Words sum, Word a, Words b) {
    const int16x4_t pair = vreinterpret_s16_f32(float32x2_t{a, 0});
    const int16x8_t both = vreinterpretq_s16_s32((int32x4_t)b);
    sum = (Words)vmlal_lane_s16((int32x4_t)sum, vget_low_s16(both), pair, 0);
    return (Words)vmlal_high_lane_s16((int32x4_t)sum, both, pair, 1);
  }
};
#if defined(__ARM_FEATURE_DOTPROD)
struct Quads {
  static SL_INLINE Words add(Words sum, Word a, Words b) {
    return (Words)vdotq_lane_u32((uint32x4_t)sum, (uint8x16_t)b,
                                 vreinterpret_u8_f32(float32x2_t{a, 0}), 0);
  }
};
constexpr bool has_quads() { return true; }
#else
using Quads = Pairs;
constexpr bool has_quads() { return false; }
#endif
#else
typedef Words Word;  // in all lanes
SL_INLINE Word word_at(const int32_t* a) { return *a - Words{}; }
constexpr bool kApart = false;
constexpr uint32_t kUnsignedBy = 0;
constexpr bool kLongSteps = true;

struct Pairs {
  static SL_INLINE Words add(Words sum, Words a, Words b) {
#if defined(__AVX512BW__)
    return sum + (Words)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return sum + (Words)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#else
    return sum + (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
  }
};

#if defined(__AVX512BW__)
struct Quads {
  // Assembly, because this file is also compiled for processors without the instruction.
  static SL_INLINE Words add(Words sum, Words a, Words b) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
  }
};
bool has_quads() {
  static const bool has = processor_has("avx512vnni");
  return has;
}
#else
using Quads = Pairs;
constexpr bool has_quads() { return false; }
#endif
#endif

int64_t depth() { return has_quads() ? 4 : 2; }
int64_t steps_of(int64_t k) { return (k + depth() - 1) / depth(); }

int64_t packed_size(int64_t k, int64_t n) { return steps_of(k) * round_up(n, kWords) * 4; }
int64_t packed_start(int64_t k, int64_t first) { return steps_of(k) * first * 4; }

void pack(int64_t k, int64_t n, const int8_t* b, int64_t b_row, int64_t b_column, void* to) {
  uint8_t* bytes = static_cast<uint8_t*>(to);
  int64_t steps = steps_of(k), d = depth();
  for (int64_t j0 = 0; j0 < n; j0 += kColumns) {
    int64_t width = n - j0 < kColumns ? round_up(n - j0, kWords) : kColumns;
    for (int64_t s = 0; s < steps; ++s) {
      for (int64_t j = 0; j < width; ++j, bytes += 4) {
        for (int64_t i = 0; i < d; ++i) {
          int64_t row = s * d + i;
          const bool exists = row < k && j0 + j < n;
          int8_t value = exists ? b[row * b_row + (j0 + j) * b_column] : int8_t{0};
          if (d == 4) {
            bytes[i] =
                static_cast<uint8_t>(static_cast<uint8_t>(value) + (exists ? kUnsignedBy : 0));
          } else {
            int16_t wide = value;
            const int64_t apart = (2 * kWords - 2) * i - j % kWords * 2;
            __builtin_memcpy(bytes + 2 * i + (kApart ? apart : 0), &wide, 2);
          }
        }
      }
    }
  }
}

// Rows of a as words, and other arguments of a tile. Weights are not in the second-level cache when
// they are needed, so each tile of a panel prefetches its share of the next panel.
struct Tile {
  const QuantizedProduct& p;
  const int32_t* a;
  int64_t a_row, steps;
  const int32_t* row_sums;  // of the codes of a; null: not needed
  const int32_t* ahead = nullptr;
  int64_t ahead_step = 0;  // words per step
};

SL_INLINE int32_t sum_of_row(const QuantizedProduct& p, int64_t row) {
  int32_t sum = 0;
  for (int64_t i = 0; i < p.k; ++i) sum += p.a[row * p.a_row + i];
  return sum;
}

// row_sum is the sum of the codes of the row of a; needed if there is p.b_zero, or if b was made
// unsigned.
SL_INLINE void finish(const QuantizedProduct& p, Words sums, int32_t row_sum, int64_t row,
                      int64_t column) {
  int n = static_cast<int>(p.n - column < kWords ? p.n - column : kWords);
  if (p.offset) sums += load_words(p.offset + column);
  if (p.b_zero) sums -= load_words(p.b_zero + column) * row_sum;
  if (kUnsignedBy != 0 && has_quads()) {  // what was added may be beyond int32, unlike the sums
    typedef uint32_t Wrapping __attribute__((vector_size(SL_VECTOR_BYTES)));
    sums = (Words)((Wrapping)sums - kUnsignedBy * static_cast<uint32_t>(row_sum));
  }
  int64_t at = row * p.c_row + column;
  if (p.sums == Sums::kPlain) {
    int32_t* c = static_cast<int32_t*>(p.c) + at;
    if (n >= kWords) *reinterpret_cast<LooseWords*>(c) = sums;
    else
      for (int i = 0; i < n; ++i) c[i] = sums[i];
    return;
  }
  finish_sums(p, __builtin_convertvector(sums, Vector<float>), column, n,
              static_cast<uint8_t*>(p.c) + at, static_cast<float*>(p.c) + at);
}

// Finishes the sums of a tile, row by row; one function for tiles of all heights.
SL_NOINLINE void finish_tile(const QuantizedProduct& p, const Words* sums, int rows, int vectors,
                             int64_t row, int64_t column, const int32_t* row_sums) {
  for (int r = 0; r < rows; ++r) {
    int32_t row_sum = row_sums ? row_sums[row + r] : 0;
    for (int v = 0; v < vectors && column + v * kWords < p.n; ++v) {
      finish(p, sums[r * vectors + v], row_sum, row + r, column + v * kWords);
    }
  }
}

// Split is the number of partial sums per element, so that tiles of few rows are not limited by the
// latency of additions.
template <class Dot, int Rows, int Vectors, int Split>
SL_INLINE void tile(const Tile& t, const int32_t* b, int64_t row, int64_t column) {
  Words sums[Split][Rows][Vectors] = {};
  const int32_t *a = t.a + row * t.a_row, *ahead = t.ahead;
  int64_t s = 0;
  for (; s + Split <= t.steps; s += Split) {
    SL_UNROLL for (int i = 0; i < Split; ++i) {
      Words panel[Vectors];
      prefetch_second(ahead);
      if (kLongSteps) prefetch_second(ahead + t.ahead_step / 2);
      ahead += t.ahead_step;
      SL_UNROLL for (int v = 0; v < Vectors; ++v) {
        panel[v] = load_words(b + ((s + i) * Vectors + v) * kWords);
      }
      SL_UNROLL for (int r = 0; r < Rows; ++r) {
        const Word all = word_at(a + r * t.a_row + s + i);
        SL_UNROLL for (int v = 0; v < Vectors; ++v) {
          sums[i][r][v] = Dot::add(sums[i][r][v], all, panel[v]);
        }
      }
    }
  }
  for (; s < t.steps; ++s) {
    SL_UNROLL for (int r = 0; r < Rows; ++r) {
      const Word all = word_at(a + r * t.a_row + s);
      SL_UNROLL for (int v = 0; v < Vectors; ++v) {
        sums[0][r][v] = Dot::add(sums[0][r][v], all, load_words(b + (s * Vectors + v) * kWords));
      }
    }
  }
  Words totals[Rows * Vectors];
  SL_UNROLL for (int r = 0; r < Rows; ++r) {
    SL_UNROLL for (int v = 0; v < Vectors; ++v) {
      Words total = sums[0][r][v];
      SL_UNROLL for (int i = 1; i < Split; ++i) total += sums[i][r][v];
      totals[r * Vectors + v] = total;
    }
  }
  finish_tile(t.p, totals, Rows, Vectors, row, column, t.row_sums);
}

// Splits rows into tiles of nearly equal height: 8 rows are 4 + 4, not 6 + 2.
template <class Dot, int Vectors>
SL_NOINLINE void panel(Tile t, const int32_t* b, int64_t column, const int32_t* next) {
  const int64_t count = round_up(t.p.m, kRows) / kRows;
  t.ahead_step = next ? round_up(round_up(kColumns, count) / count, 2) : 0;
  for (int64_t i = 0, row = 0; i < count; ++i) {
    t.ahead = next ? next + i * t.steps * t.ahead_step : t.a;
    int64_t height = t.p.m / count + (i < t.p.m % count);
    switch (height) {
      case 6: tile<Dot, kRows, Vectors, 1>(t, b, row, column); break;
      case 5: tile < Dot, kRows<5 ? kRows : 5, Vectors, 1>(t, b, row, column); break;
      case 4: tile<Dot, 4, Vectors, 1>(t, b, row, column); break;
      case 3: tile<Dot, 3, Vectors, 1>(t, b, row, column); break;
      case 2: tile<Dot, 2, Vectors, 2>(t, b, row, column); break;
      case 1: tile<Dot, 1, Vectors, 4>(t, b, row, column); break;
      default: break;
    }
    row += height;
  }
}

template <class Dot>
void all_panels(const Tile& t) {
  const int32_t* b = static_cast<const int32_t*>(t.p.packed);
  for (int64_t column = 0; column < t.p.n; column += kColumns) {
    int64_t vectors = round_up(t.p.n - column, kWords) / kWords;
    const int32_t* next = column + kColumns < t.p.n ? b + t.steps * kColumns : nullptr;
    if (vectors >= kVectors) panel<Dot, kVectors>(t, b, column, next);
    else if (vectors == 1) panel<Dot, 1>(t, b, column, next);
    else if (vectors == 2) panel<Dot, 2>(t, b, column, next);
    else panel<Dot, 3>(t, b, column, next);
    b += t.steps * kColumns;
  }
}

// Widens the rows of a to two bytes per element.
void widen(const QuantizedProduct& p, int64_t words, int16_t* to) {
  for (int64_t r = 0; r < p.m; ++r, to += 2 * words) {
    const uint8_t* a = p.a + r * p.a_row;
    for (int64_t i = 0; i < p.k; ++i) to[i] = a[i];
    for (int64_t i = p.k; i < 2 * words; ++i) to[i] = 0;
  }
}

void multiply(const QuantizedProduct& p) {
  const int64_t steps = steps_of(p.k);
  const bool quads = has_quads(), sums = p.b_zero || (quads && kUnsignedBy != 0);
  const bool direct = quads && p.a_row % 4 == 0 && reinterpret_cast<uintptr_t>(p.a) % 4 == 0;
  const int64_t count = direct ? 0 : p.m * steps;
  Scratch words(uint64_t(count + (sums ? p.m : 0)) * 4);
  int32_t *to = words.as<int32_t>(), *row_sums = sums ? to + count : nullptr;
  for (int64_t r = 0; sums && r < p.m; ++r) row_sums[r] = sum_of_row(p, r);
  if (direct) {
    return all_panels<Quads>(
        {p, reinterpret_cast<const int32_t*>(p.a), p.a_row / 4, steps, row_sums});
  }
  if (!quads) {
    widen(p, steps, words.as<int16_t>());
    return all_panels<Pairs>({p, to, steps, steps, row_sums});
  }
  for (int64_t r = 0; r < p.m; ++r) {
    __builtin_memcpy(to + r * steps, p.a + r * p.a_row, static_cast<size_t>(p.k));
  }
  all_panels<Quads>({p, to, steps, steps, row_sums});
}

}  // namespace

const QuantizedProductFunctions quantized_product{&packed_size, &packed_start, &pack, &multiply};

}  // namespace scriptlang::kernels::SL_ISA
