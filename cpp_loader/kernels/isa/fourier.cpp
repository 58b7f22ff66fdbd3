// Fourier transforms of many lines side by side: each lane of a vector is a line of its own, so
// that the passes (Stockham's, which keep points in order) are the same for every length. A single
// line is split into as many interleaved parts as there are lanes.
#include "../fourier.h"

#include "../parallel.h"
#include "../scratch.h"
#include "entry.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

// Points that are worth a chunk for another thread.
constexpr int64_t kChunkPoints = 16384;

// V is a vector, or a scalar for a line by itself.
template <class V>
struct Lane {
  using Number = V;
  static constexpr int count = 1;
  static V load(const V* p) { return *p; }
  static V load_first(const V* p, int) { return *p; }
  static void store(V* p, V v) { *p = v; }
  static void store_first(V* p, V v, int) { *p = v; }
  static void transpose(V*) {}
  static V number(V v, int) { return v; }
};
template <class T>
struct VectorLane {
  using Number = T;
  static constexpr int count = kLanes<T>;
  static SL_INLINE Vector<T> load(const T* p) { return SL_ISA::load(p); }
  static SL_INLINE Vector<T> load_first(const T* p, int n) { return SL_ISA::load_first(p, n); }
  static SL_INLINE void store(T* p, Vector<T> v) { SL_ISA::store(p, v); }
  static SL_INLINE void store_first(T* p, Vector<T> v, int n) { SL_ISA::store_first(p, v, n); }
  static SL_INLINE void transpose(Vector<T>* rows) { SL_ISA::transpose<T>(rows); }
  static SL_INLINE T number(Vector<T> v, int i) { return v[i]; }
};
template <>
struct Lane<Vector<float>> : VectorLane<float> {};
template <>
struct Lane<Vector<double>> : VectorLane<double> {};

template <class V>
using Number = typename Lane<V>::Number;

template <class V>
struct Point {
  V re, im;
};
template <class V>
SL_INLINE Point<V> operator+(Point<V> a, Point<V> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
SL_INLINE Point<V> operator-(Point<V> a, Point<V> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class V, class R>
SL_INLINE Point<V> times(Point<V> a, R re, R im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}
template <class V>
SL_INLINE Point<V> times(Point<V> a, const Number<V>* pair) {
  return times(a, pair[0], pair[1]);
}
template <class V>
SL_INLINE Point<V> scaled(Point<V> a, Number<V> by) {
  return {a.re * by, a.im * by};
}
template <class V>
SL_INLINE Point<V> turned_back(Point<V> a) {
  return {a.im, -a.re};
}  // times -i
template <class V>
SL_INLINE Point<V> exchanged(Point<V> a) {
  return {a.im, a.re};
}
template <class V>
SL_INLINE Point<V> conjugate(Point<V> a) {
  return {a.re, -a.im};
}

template <class V>
SL_INLINE Point<V> load_point(const Number<V>* x, int64_t at) {
  constexpr int W = Lane<V>::count;
  return {Lane<V>::load(x + 2 * W * at), Lane<V>::load(x + 2 * W * at + W)};
}
template <class V>
SL_INLINE void store_point(Number<V>* x, int64_t at, Point<V> p) {
  constexpr int W = Lane<V>::count;
  Lane<V>::store(x + 2 * W * at, p.re);
  Lane<V>::store(x + 2 * W * at + W, p.im);
}

// ---- passes over [points][2][lanes]

template <class V>
SL_INLINE void butterfly(Point<V> (&a)[2]) {
  Point<V> sum = a[0] + a[1];
  a[1] = a[0] - a[1];
  a[0] = sum;
}
template <class V>
SL_INLINE void butterfly(Point<V> (&a)[3]) {
  Point<V> sum = a[1] + a[2];
  Point<V> apart = scaled(turned_back(a[1] - a[2]), Number<V>(0.86602540378443864676));
  Point<V> middle = a[0] - scaled(sum, Number<V>(0.5));
  a[0] = a[0] + sum;
  a[1] = middle + apart;
  a[2] = middle - apart;
}
template <class V>
SL_INLINE void butterfly(Point<V> (&a)[4]) {
  Point<V> p = a[0] + a[2], q = a[0] - a[2], r = a[1] + a[3], s = turned_back(a[1] - a[3]);
  a[0] = p + r;
  a[1] = q + s;
  a[2] = p - r;
  a[3] = q - s;
}
template <class V>
SL_INLINE void butterfly(Point<V> (&a)[5]) {
  using T = Number<V>;
  const T c1 = T(0.30901699437494742410), c2 = T(-0.80901699437494742410),
          s1 = T(0.95105651629515357212), s2 = T(0.58778525229247312917);
  Point<V> p = a[1] + a[4], q = a[2] + a[3], r = turned_back(a[1] - a[4]),
           s = turned_back(a[2] - a[3]);
  Point<V> u = a[0] + scaled(p, c1) + scaled(q, c2), v = a[0] + scaled(p, c2) + scaled(q, c1);
  Point<V> x = scaled(r, s1) + scaled(s, s2), y = scaled(r, s2) - scaled(s, s1);
  a[0] = a[0] + p + q;
  a[1] = u + x;
  a[2] = v + y;
  a[3] = v - y;
  a[4] = u - x;
}

// Reports progress in loops over the points of a line, which may be very many.
SL_INLINE void worked_along(int64_t i) {
  constexpr int64_t kStretch = 1 << 14;  // a multiple of every loop step
  if (i % kStretch == 0 && i > 0) worked(4 * kStretch);
}

// The state of a pass: `done` is the product of the radices of earlier passes, `left` of this one
// and later ones.
struct Progress {
  int64_t done, left;
};

template <class V, int R, class T>
SL_NOINLINE void pass(const FourierPlan<T>& f, Progress at, const T* x, T* y) {
  constexpr int64_t kPiece = 1 << 12, kPieces = 1 << 8;  // between checks for a stop
  const int64_t next = at.left / R;
  for (int64_t p = 0; p < next; ++p) {
    T roots[R][2];
    for (int k = 1; k < R; ++k) {
      const T* root = f.roots + 2 * p * k * at.done;
      roots[k][0] = root[0];
      roots[k][1] = root[1];
    }
    for (int64_t q = 0; q < at.done;) {
      const int64_t end = min_of(at.done, q + kPiece);
      for (; q < end; ++q) {
        Point<V> a[R];
        SL_UNROLL for (int k = 0; k < R; ++k) a[k] = load_point<V>(x, q + at.done * (p + next * k));
        butterfly(a);
        store_point(y, q + at.done * R * p, a[0]);
        SL_UNROLL for (int k = 1; k < R; ++k) {
          store_point(y, q + at.done * (R * p + k), times(a[k], roots[k]));
        }
      }
      if (end < at.done) worked(4 * R * kPiece);
    }
    if (p % kPieces == kPieces - 1) worked(4 * R * kPieces * at.done);
  }
}

// A pass of any radix, with O(radix^2) operations.
template <class V, class T>
SL_NOINLINE void pass_of(const FourierPlan<T>& f, int64_t radix, Progress at, const T* x, T* y) {
  const int64_t next = at.left / radix, turn = f.n / radix;
  for (int64_t p = 0; p < next; ++p) {
    for (int64_t q = 0; q < at.done; ++q) {
      worked(radix * radix);
      for (int64_t k = 0; k < radix; ++k) {
        Point<V> sum = load_point<V>(x, q + at.done * p);
        for (int64_t j = 1; j < radix; ++j) {
          sum = sum + times(load_point<V>(x, q + at.done * (p + next * j)),
                            f.roots + 2 * (j * k % radix * turn));
        }
        store_point(y, q + at.done * (radix * p + k), times(sum, f.roots + 2 * p * k * at.done));
      }
    }
  }
}

// Transforms the lines in x; y is scratch memory for as many points. Returns the result, which is
// in x or y.
template <class V, class T>
T* transform(const FourierPlan<T>& f, T* x, T* y);
template <class V, class T>
T* transform_lanes(const FourierPlan<T>& f, T* x, T* y);  // the same; splits a single line

template <class V, class T>
T* convolve(const FourierPlan<T>& f, T* x, T* y) {
  const int64_t n = f.n, length = f.around->n;
  for (int64_t j = 0; j < n; ++j) {
    worked_along(j);
    store_point(y, j, times(load_point<V>(x, j), f.chirp + 2 * j));
  }
  for (int64_t j = n; j < length; ++j) {
    worked_along(j);
    store_point(y, j, Point<V>{});
  }
  T* there = transform_lanes<V>(*f.around, y, x);
  T* other = there == x ? y : x;
  for (int64_t j = 0; j < length; ++j) {
    worked_along(j);
    Point<V> p = times(load_point<V>(there, j), f.kernel + 2 * j);
    store_point(there, j, exchanged(p));  // exchanged parts: the same transform inverts
  }
  T* back = transform_lanes<V>(*f.around, there, other);
  for (int64_t j = 0; j < n; ++j) {
    worked_along(j);
    Point<V> p = load_point<V>(back, j);
    store_point(back, j, times(exchanged(p), f.chirp + 2 * j));
  }
  return back;
}

template <class V, class T>
T* transform(const FourierPlan<T>& f, T* x, T* y) {
  if (f.around) return convolve<V>(f, x, y);
  Progress at{1, f.n};
  for (int i = 0; i < f.passes; ++i) {
    const int radix = f.radices[i];
    if (radix == 4) pass<V, 4>(f, at, x, y);
    else if (radix == 2) pass<V, 2>(f, at, x, y);
    else if (radix == 3) pass<V, 3>(f, at, x, y);
    else if (radix == 5) pass<V, 5>(f, at, x, y);
    else pass_of<V>(f, radix, at, x, y);
    worked(f.n * radix);
    at = {at.done * radix, at.left / radix};
    T* swapped = x;
    x = y;
    y = swapped;
  }
  return x;
}

template <class T>
int64_t points_of(const FourierPlan<T>& f) {
  return f.around ? f.around->n : f.n;
}

// ---- lines to lanes and back

// Conversion between consecutive pairs and separate vectors of real and imaginary parts.
template <class T, int... I>
SL_INLINE Point<Vector<T>> take_apart(const T* pairs, std::integer_sequence<int, I...>) {
  Vector<T> a = load(pairs), b = load(pairs + kLanes<T>);
  return {__builtin_shufflevector(a, b, (2 * I)...), __builtin_shufflevector(a, b, (2 * I + 1)...)};
}
template <class T, int... I>
SL_INLINE void put_together(T* pairs, Point<Vector<T>> p, std::integer_sequence<int, I...>) {
  constexpr int W = kLanes<T>;
  store<T>(pairs, __builtin_shufflevector(p.re, p.im, (I / 2 + I % 2 * W)...));
  store<T>(pairs + W, __builtin_shufflevector(p.re, p.im, (W / 2 + I / 2 + I % 2 * W)...));
}

// Maps a number of a line to its row. `spread` puts real numbers into every second row, with zeros
// in the others; `flip` exchanges the two rows of a pair.
struct Order {
  bool spread;
  int flip;
  int64_t row(int64_t i) const { return (spread ? 2 * i : i) ^ flip; }
};

// Loads numbers [0, n) of `lines` lines, beginning at `at`; missing ones are 0.
template <class V, class T>
void load_lines(const FourierSide<const T>& x, const T* at, int lines, int64_t n, Order order,
                T* rows) {
  constexpr int W = Lane<V>::count;
  const int64_t given = min_of(n, x.count);
  int64_t i = 0;
  for (; x.pair == 2 && x.number == 1 && i < given; i += W) {
    worked_along(i);
    const int some = static_cast<int>(min_of(W, given - i));
    V square[W];
    SL_UNROLL for (int r = 0; r < W; ++r) {
      square[r] = r < lines ? Lane<V>::load_first(at + r * x.line + i, some) : V{};
    }
    Lane<V>::transpose(square);
    for (int r = 0; r < some; ++r) Lane<V>::store(rows + order.row(i + r) * W, square[r]);
  }
  if constexpr (W > 1) {  // adjacent lines: a complex number lies beside that of the next line
    constexpr auto lanes = std::make_integer_sequence<int, W>{};
    for (; x.line == 2 && x.number == 1 && lines == W && i < given; i += 2) {
      worked_along(i);
      Point<V> p = take_apart<T>(at + i / 2 * x.pair, lanes);
      store_point(rows, i / 2, order.flip ? exchanged(p) : p);
    }
  }
  for (; i < given; ++i) {
    worked_along(i);
    const T* from = at + i / 2 * x.pair + i % 2 * x.number;
    T* row = rows + order.row(i) * W;
    if (x.line == 1) {
      Lane<V>::store(row, Lane<V>::load_first(from, lines));
      continue;
    }
    for (int r = 0; r < W; ++r) row[r] = r < lines ? from[r * x.line] : T(0);
  }
  for (i = given; i < n; ++i) {
    worked_along(i);
    Lane<V>::store(rows + order.row(i) * W, V{});
  }
  for (i = 0; order.spread && i < n; ++i) {
    worked_along(i);
    Lane<V>::store(rows + (order.row(i) ^ 1) * W, V{});
  }
}

// Stores them likewise, multiplied by `scales` for the first and second number of a pair.
template <class V, class T>
void store_lines(const FourierSide<T>& y, T* at, int lines, int64_t n, Order order,
                 const T (&scales)[2], const T* rows) {
  constexpr int W = Lane<V>::count;
  auto row = [&](int64_t i)
                 SL_ALWAYS { return Lane<V>::load(rows + order.row(i) * W) * scales[i % 2]; };
  int64_t i = 0;
  for (; y.pair == 2 && y.number == 1 && i < n; i += W) {
    worked_along(i);
    const int some = static_cast<int>(min_of(W, n - i));
    V square[W];
    SL_UNROLL for (int r = 0; r < W; ++r) square[r] = r < some ? row(i + r) : V{};
    Lane<V>::transpose(square);
    SL_UNROLL for (int r = 0; r < W; ++r) {
      if (r < lines) Lane<V>::store_first(at + r * y.line + i, square[r], some);
    }
  }
  if constexpr (W > 1) {
    constexpr auto lanes = std::make_integer_sequence<int, W>{};
    for (; y.line == 2 && y.number == 1 && lines == W && i < n; i += 2) {
      worked_along(i);
      put_together<T>(at + i / 2 * y.pair, Point<V>{row(i), row(i + 1)}, lanes);
    }
  }
  for (; i < n; ++i) {
    worked_along(i);
    T* to = at + i / 2 * y.pair + i % 2 * y.number;
    V values = row(i);
    if (y.line == 1) {
      Lane<V>::store_first(to, values, lines);
      continue;
    }
    for (int r = 0; r < lines; ++r) to[r * y.line] = Lane<V>::number(values, r);
  }
}

// ---- a single line

// Transforms the pairs in x; y is room for points_of(f) pairs. Returns the result, like
// `transform`.
template <class T>
T* transform_parts(const FourierPlan<T>& f, const T* x, T* y) {
  using V = Vector<T>;
  constexpr int W = kLanes<T>;
  constexpr auto lanes = std::make_integer_sequence<int, W>{};
  const int64_t m = f.n / W, area = 2 * W * points_of(*f.part);
  Scratch space(sizeof(T) * uint64_t(2 * area + 4 * W * W));
  T *parts = space.as<T>(), *a = parts + 2 * area, *b = a + 2 * W * W;
  for (int64_t j = 0; j < m; ++j) {
    worked_along(j);
    store_point(parts, j, take_apart<T>(x + 2 * W * j, lanes));
  }
  const T* done = transform<V>(*f.part, parts, parts + area);
  for (int64_t k = 0; k < m; k += W) {
    worked_along(k);
    V re[W], im[W];
    SL_UNROLL for (int i = 0; i < W; ++i) {
      Point<V> turn = load_point<V>(f.twist, k + i);
      Point<V> p = times(load_point<V>(done, k + i), turn.re, turn.im);
      re[i] = p.re;
      im[i] = p.im;
    }
    transpose<T>(re);
    transpose<T>(im);
    SL_UNROLL for (int i = 0; i < W; ++i) store_point(a, i, Point<V>{re[i], im[i]});
    const T* last = transform<V>(*f.across, a, b);
    for (int i = 0; i < W; ++i) {
      put_together<T>(y + 2 * (m * i + k), load_point<V>(last, i), lanes);
    }
  }
  return y;
}

template <class V, class T>
T* transform_lanes(const FourierPlan<T>& f, T* x, T* y) {
  if constexpr (Lane<V>::count == 1) {
    if (f.part) return transform_parts(f, x, y);
  }
  return transform<V>(f, x, y);
}

// ---- whole transforms

// Calls f(V, first line, lines, two areas of `points`) for all lines: as many at a time as there
// are lanes, or one by one if there are few.
template <class T, class F>
void for_each_lanes(int64_t lines, int64_t points, F f) {
  const int64_t width = lines < kLanes<T> / 2 ? 1 : kLanes<T>, area = 2 * width * points;
  const int64_t grain = max_of(1, kChunkPoints / (points * width));
  parallel_for(ceil_div(lines, width), grain, [&](int64_t begin, int64_t end) {
    Scratch space(sizeof(T) * 2 * uint64_t(area));
    T* areas = space.as<T>();
    for (int64_t i = begin; i < end; ++i) {
      worked(area);
      const int some = static_cast<int>(min_of(width, lines - i * width));
      if (width == 1) f(T{}, i, 1, areas, areas + area);
      else f(Vector<T>{}, i * width, some, areas, areas + area);
    }
  });
}

template <class T>
void complex_lines(const FourierLines<T>& f) {
  const FourierPlan<T>& plan = *f.plan;
  const Order order{false, f.inverse};
  const T scales[2] = {f.scale, f.scale};
  for_each_lanes<T>(f.lines, points_of(plan), [&](auto v, int64_t first, int lines, T* a, T* b) {
    using V = decltype(v);
    load_lines<V>(f.x, f.x.at + first * f.x.line, lines, 2 * plan.n, order, a);
    const T* done = transform_lanes<V>(plan, a, b);
    store_lines<V>(f.y, f.y.at + first * f.y.line, lines, 2 * plan.n, order, scales, done);
  });
}

// Computes the transform of n real numbers (n / 2 + 1 points) from that of their pairs, in place.
template <class V, class T>
void unfold(const FourierPlan<T>& f, T* x) {
  const int64_t h = f.n / 2;
  for (int64_t k = 0; 2 * k <= h; ++k) {
    worked_along(k);
    Point<V> p = load_point<V>(x, k), q = conjugate(load_point<V>(x, k == 0 ? 0 : h - k));
    Point<V> even = scaled(p + q, T(0.5)), odd = scaled(turned_back(p - q), T(0.5));
    odd = times(odd, f.turns + 2 * k);
    store_point(x, k, even + odd);
    store_point(x, h - k, conjugate(even - odd));
  }
}

// The inverse of unfold, without its factor 1 / 2.
template <class V, class T>
void fold(const FourierPlan<T>& f, T* x) {
  const int64_t h = f.n / 2;
  for (int64_t k = 0; 2 * k <= h; ++k) {
    worked_along(k);
    Point<V> p = load_point<V>(x, k), q = conjugate(load_point<V>(x, h - k));
    if (k == 0) p.im = q.im = V{};
    Point<V> even = p + q, odd = times(p - q, f.turns[2 * k], -f.turns[2 * k + 1]);
    odd = {-odd.im, odd.re};  // times i
    store_point(x, k, even + odd);
    if (k > 0) store_point(x, h - k, conjugate(even - odd));
  }
}

// The plan in use for real numbers: if n is even, they are transformed as n / 2 pairs.
template <class T>
const FourierPlan<T>& real_plan(const FourierPlan<T>& plan) {
  return plan.half ? *plan.half : plan;
}

template <class T>
void from_real(const FourierLines<T>& f) {
  const FourierPlan<T>&plan = *f.plan, &used = real_plan(plan);
  const int64_t pairs = plan.n / 2 + 1;
  const T scales[2] = {f.scale, f.inverse ? -f.scale : f.scale};
  for_each_lanes<T>(
      f.lines, max_of(points_of(used), pairs), [&](auto v, int64_t first, int lines, T* a, T* b) {
        using V = decltype(v);
        load_lines<V>(f.x, f.x.at + first * f.x.line, lines, plan.n, Order{!plan.half, 0}, a);
        T* done = transform_lanes<V>(used, a, b);
        if (plan.half) unfold<V>(plan, done);
        store_lines<V>(f.y, f.y.at + first * f.y.line, lines, 2 * pairs, Order{false, 0}, scales,
                       done);
      });
}

template <class T>
void to_real(const FourierLines<T>& f) {
  const FourierPlan<T>&plan = *f.plan, &used = real_plan(plan);
  const int64_t n = plan.n, pairs = n / 2 + 1;
  const T scales[2] = {f.scale, f.scale};
  for_each_lanes<T>(
      f.lines, max_of(points_of(used), pairs), [&](auto v, int64_t first, int lines, T* a, T* b) {
        using V = decltype(v);
        load_lines<V>(f.x, f.x.at + first * f.x.line, lines, 2 * pairs, Order{false, 0}, a);
        if (!f.inverse) {
          for (int64_t k = 0; k < pairs; ++k) {
            worked_along(k);
            store_point(a, k, conjugate(load_point<V>(a, k)));
          }
        }
        if (plan.half) {
          fold<V>(plan, a);
        } else {
          store_point(a, 0, Point<V>{load_point<V>(a, 0).re, V{}});
          for (int64_t k = 1; k < pairs; ++k) {
            worked_along(k);
            store_point(a, n - k, conjugate(load_point<V>(a, k)));
          }
        }
        for (int64_t k = 0; k < used.n; ++k) {
          worked_along(k);
          store_point(a, k, exchanged(load_point<V>(a, k)));
        }
        const T* done = transform_lanes<V>(used, a, b);
        store_lines<V>(f.y, f.y.at + first * f.y.line, lines, n, Order{!plan.half, 1}, scales,
                       done);
      });
}

}  // namespace

const FourierFunctions<float> fourier_f32{kLanes<float>, &complex_lines<float>, &from_real<float>,
                                          &to_real<float>};
const FourierFunctions<double> fourier_f64{kLanes<double>, &complex_lines<double>,
                                           &from_real<double>, &to_real<double>};

}  // namespace scriptlang::kernels::SL_ISA
