// Samples images at the positions of a grid, a vector of positions at a time.
//
// Positions are computed in PyTorch's order of operations, without fused multiply-adds, because
// rounding decides for a position halfway between two pixels. A NaN position selects the first
// pixel if border pixels are repeated; otherwise it makes the sample NaN.
#include "../grid.h"

#include "entry.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

template <class T>
struct IndexOf;
template <>
struct IndexOf<float> {
  typedef int32_t type __attribute__((vector_size(SL_VECTOR_BYTES)));
};
template <>
struct IndexOf<double> {
  typedef int64_t type __attribute__((vector_size(SL_VECTOR_BYTES)));
};
template <class T>
using Index = typename IndexOf<T>::type;

#if defined(__AVX512F__)
template <int How>
SL_INLINE Vector<float> to_integers(Vector<float> x) {
  return (Vector<float>)_mm512_maskz_roundscale_ps(0xffff, (__m512)x, How);
}
template <int How>
SL_INLINE Vector<double> to_integers(Vector<double> x) {
  return (Vector<double>)_mm512_maskz_roundscale_pd(0xff, (__m512d)x, How);
}
// Loads elements where the mask is -1; others are zero.
SL_INLINE Vector<float> gather(const float* from, Index<float> at, Index<float> mask) {
  __mmask16 lanes = _mm512_movepi32_mask((__m512i)mask);
  return (Vector<float>)_mm512_mask_i32gather_ps(_mm512_setzero_ps(), lanes, (__m512i)at, from, 4);
}
SL_INLINE Vector<double> gather(const double* from, Index<double> at, Index<double> mask) {
  __mmask8 lanes = _mm512_movepi64_mask((__m512i)mask);
  return (Vector<double>)_mm512_mask_i64gather_pd(_mm512_setzero_pd(), lanes, (__m512i)at, from, 8);
}
#elif defined(__AVX2__)
template <int How>
SL_INLINE Vector<float> to_integers(Vector<float> x) {
  return (Vector<float>)_mm256_round_ps((__m256)x, How);
}
template <int How>
SL_INLINE Vector<double> to_integers(Vector<double> x) {
  return (Vector<double>)_mm256_round_pd((__m256d)x, How);
}
SL_INLINE Vector<float> gather(const float* from, Index<float> at, Index<float> mask) {
  return (Vector<float>)_mm256_mask_i32gather_ps(_mm256_setzero_ps(), from, (__m256i)at,
                                                 (__m256)mask, 4);
}
SL_INLINE Vector<double> gather(const double* from, Index<double> at, Index<double> mask) {
  return (Vector<double>)_mm256_mask_i64gather_pd(_mm256_setzero_pd(), from, (__m256i)at,
                                                  (__m256d)mask, 8);
}
#else
template <int How, class V>
SL_INLINE V to_integers(V x) {
  for (size_t i = 0; i < sizeof(V) / sizeof(x[0]); ++i) {
    x[i] = How == 9    ? __builtin_floor(x[i])
           : How == 11 ? __builtin_trunc(x[i])
                       : __builtin_rint(x[i]);
  }
  return x;
}
template <class T>
SL_NOINLINE Vector<T> gather(const T* from, Index<T> at, Index<T> mask) {
  Vector<T> v{};
  for (int i = 0; i < kLanes<T>; ++i) {
    if (mask[i]) v[i] = from[at[i]];
  }
  return v;
}
#endif
// Rounding modes: to nearest, down, towards zero; without floating-point exceptions.
constexpr int kNearest = 8, kDown = 9, kTowardsZero = 11;

struct Exact {
  explicit Exact(Steps) {}
  template <class V>
  SL_INLINE V operator()(V x) const {
    return x;
  }
};

// Rounds float32 to a 16-bit type, keeping the result in float32. `narrow` means float16, whose
// exponent has 5 bits: small numbers lose digits, large ones overflow. Not inlined, as it is used
// in many places.
SL_NOINLINE Vector<float> rounded_to_half(Vector<float> x, bool narrow) {
  using V = Vector<float>;
  using I = Index<float>;
  const int shift = narrow ? 13 : 16;
  I bits = (I)x, odd = (bits >> shift) & 1;
  I near = (bits + ((1 << (shift - 1)) - 1) + odd) & ~((1 << shift) - 1);
  V y = x != x ? x : (V)near;
  if (narrow) {
    I size = bits & 0x7fffffff, sign = bits ^ size;
    V magic = splat(0.75f);  // its last bit is the smallest float16
    V small = (V)((I)(((V)size + magic) - magic) | sign);
    y = size < 0x38800000 ? small : y;
    I infinite = I{} + 0x7f800000;
    y = (size >= 0x477ff000) & (size < infinite) ? (V)(infinite | sign) : y;
  }
  return y;
}
struct ToHalf {
  bool narrow;

  explicit ToHalf(Steps steps) : narrow(steps == Steps::kFloat16) {}
  SL_INLINE Vector<float> operator()(Vector<float> x) const { return rounded_to_half(x, narrow); }
};

template <class T, class Round>
struct Sampler {
  using V = Vector<T>;
  using I = Index<T>;
  static constexpr int L = kLanes<T>;

  const GridSample& s;
  const Round r;
  const bool repeated;
  const T half_x, half_y;  // half the extent of the range from -1 to 1, in pixels

  explicit Sampler(const GridSample& sample)
      : s(sample),
        r(sample.steps),
        repeated(sample.outside != Outside::kZeros),
        half_x(half(sample.width)),
        half_y(half(sample.height)) {}

  T half(int64_t size) const {
    return r(splat(static_cast<T>(size - (s.align_corners ? 1 : 0)) / 2))[0];
  }
  SL_INLINE V position(V x, T by) const {
    V at = r(r(x + T(1)) * by);
    return s.align_corners ? at : r(at - T(0.5));
  }

  // Moves an outside position back inside if the mode asks for it.
  SL_INLINE V inside(V x, int64_t size) const { return repeated ? moved_in(x, size) : x; }
  SL_NOINLINE V moved_in(V x, int64_t size) const {
    if (s.outside == Outside::kReflection) x = reflected(x, size);
    V last = r(splat(static_cast<T>(size - 1)));
    x = x > T(0) ? x : V{};
    return x < last ? x : last;
  }
  SL_INLINE V reflected(V x, int64_t size) const {
    const T low = s.align_corners ? T(0) : T(-0.5);
    const T span = static_cast<T>(s.align_corners ? size - 1 : size);
    if (span <= T(0)) return V{};
    const V twice = r(splat(2 * span));
    V distance = r(x - low);
    distance = distance < T(0) ? -distance : distance;
    V extra = r(distance - r(to_integers<kTowardsZero>(r(distance / twice)) * twice));
    V back = r(twice - extra);
    return r((back < extra ? back : extra) + low);
  }

  // The index of a pixel in its dimension, and a mask that is -1 where it is inside the image.
  struct Place {
    using Number = std::remove_reference_t<decltype(I{}[0])>;
    I at, there;
    // In a wide image the last index may have been rounded up beyond it.
    SL_INLINE void find(V x, int64_t size, bool repeated) {
      at = __builtin_convertvector(x, I);
      const I last = I{} + static_cast<Number>(size - 1);
      if (repeated) at = at < last ? at : last;
      limit(size);
    }
    SL_INLINE void limit(int64_t size) { there = (at >= 0) & (at < static_cast<Number>(size)); }
  };
  SL_INLINE I row(I y) const { return y * static_cast<typename Place::Number>(s.width); }

  template <class F>
  SL_INLINE void for_planes(int64_t channels, const T* plane, T* to, int64_t to_step, int lanes,
                            F f) const {
    for (int64_t c = 0; c < channels; ++c, plane += s.height * s.width, to += to_step) {
      V v = f(plane);
      if (lanes == L) store(to, v);
      else store_first(to, v, lanes);
    }
  }

  SL_INLINE void bilinear(V x, V y, int64_t channels, const T* planes, T* to, int64_t to_step,
                          int lanes) const {
    x = inside(x, s.width);
    y = inside(y, s.height);
    V left = to_integers<kDown>(x), top = to_integers<kDown>(y);
    V w = r(x - left), e = r(T(1) - w), n = r(y - top), so = r(T(1) - n);
    V weight[4] = {r(e * so), r(w * so), r(e * n), r(w * n)};
    Place px[2], py[2];
    px[0].find(left, s.width, repeated);
    py[0].find(top, s.height, repeated);
    px[1].at = px[0].at + 1;
    py[1].at = py[0].at + 1;
    px[1].limit(s.width);
    py[1].limit(s.height);
    const I upper = row(py[0].at), lower = row(py[1].at);
    for_planes(channels, planes, to, to_step, lanes, [&](const T* plane) SL_ALWAYS {
      V a = gather(plane, upper + px[0].at, px[0].there & py[0].there);
      V b = gather(plane, upper + px[1].at, px[1].there & py[0].there);
      V c = gather(plane, lower + px[0].at, px[0].there & py[1].there);
      V d = gather(plane, lower + px[1].at, px[1].there & py[1].there);
      return r(r(r(r(a * weight[0]) + r(b * weight[1])) + r(c * weight[2])) + r(d * weight[3]));
    });
  }

  SL_INLINE void nearest(V x, V y, int64_t channels, const T* planes, T* to, int64_t to_step,
                         int lanes) const {
    Place px, py;
    px.find(to_integers<kNearest>(inside(x, s.width)), s.width, repeated);
    py.find(to_integers<kNearest>(inside(y, s.height)), s.height, repeated);
    const I at = row(py.at) + px.at, there = px.there & py.there;
    for_planes(channels, planes, to, to_step, lanes,
               [&](const T* plane) SL_ALWAYS { return gather(plane, at, there); });
  }

  SL_INLINE void cubic_weights(V t, V* weights) const {
    constexpr T a = T(-0.75);
    auto far = [&](V x)
                   SL_ALWAYS { return r(r(r(r(r(r(a * x) - 5 * a) * x) + 8 * a) * x) - 4 * a); };
    auto near = [&](V x) SL_ALWAYS { return r(r(r(r(r((a + 2) * x) - (a + 3)) * x) * x) + T(1)); };
    weights[0] = far(r(t + T(1)));
    weights[1] = near(t);
    weights[2] = near(r(T(1) - t));
    weights[3] = far(r(T(2) - t));
  }
  SL_INLINE void bicubic(V x, V y, int64_t channels, const T* planes, T* to, int64_t to_step,
                         int lanes) const {
    V left = to_integers<kDown>(x), top = to_integers<kDown>(y), wx[4], wy[4];
    cubic_weights(r(x - left), wx);
    cubic_weights(r(y - top), wy);
    Place px[4], py[4];
#pragma GCC unroll 1
    for (int k = 0; k < 4; ++k) {
      px[k].find(inside(r(left + static_cast<T>(k - 1)), s.width), s.width, repeated);
      py[k].find(inside(r(top + static_cast<T>(k - 1)), s.height), s.height, repeated);
    }
    for_planes(channels, planes, to, to_step, lanes, [&](const T* plane) SL_ALWAYS {
      V total{};
#pragma GCC unroll 1
      for (int k = 0; k < 4; ++k) {
        const I from = row(py[k].at), there = py[k].there;
        V sum = r(wx[0] * gather(plane, from + px[0].at, px[0].there & there));
        for (int j = 1; j < 4; ++j) {
          sum = r(sum + r(wx[j] * gather(plane, from + px[j].at, px[j].there & there)));
        }
        total = r(total + r(wy[k] * sum));
      }
      return total;
    });
  }

  template <Interpolation How>
  void run(int64_t pixels, const T* grid, int64_t channels, const T* planes, T* to,
           int64_t to_step) const {
    for (int64_t i = 0; i < pixels; i += L, grid += 2 * L, to += L) {
      int lanes = static_cast<int>(min_of(L, pixels - i));
      V a = lanes == L ? load(grid) : load_first(grid, 2 * lanes);
      V b = lanes == L ? load(grid + L) : load_first(grid + L, 2 * lanes - L);
      V x, y;
      part(a, b, x, y, std::make_integer_sequence<int, L>{});
      x = position(x, half_x);
      y = position(y, half_y);
      if constexpr (How == Interpolation::kBilinear) {
        bilinear(x, y, channels, planes, to, to_step, lanes);
      } else if constexpr (How == Interpolation::kNearest) {
        nearest(x, y, channels, planes, to, to_step, lanes);
      } else {
        bicubic(x, y, channels, planes, to, to_step, lanes);
      }
    }
  }
  template <int... K>
  static SL_INLINE void part(V a, V b, V& x, V& y, std::integer_sequence<int, K...>) {
    x = __builtin_shufflevector(a, b, (2 * K)...);
    y = __builtin_shufflevector(a, b, (2 * K + 1)...);
  }
};

template <class T, class Round>
void sample_as(const GridSample& s, int64_t pixels, const T* grid, int64_t channels,
               const T* planes, T* to, int64_t to_step) {
  Sampler<T, Round> sampler(s);
  switch (s.interpolation) {
    case Interpolation::kBilinear:
      return sampler.template run<Interpolation::kBilinear>(pixels, grid, channels, planes, to,
                                                            to_step);
    case Interpolation::kNearest:
      return sampler.template run<Interpolation::kNearest>(pixels, grid, channels, planes, to,
                                                           to_step);
    case Interpolation::kBicubic:
      return sampler.template run<Interpolation::kBicubic>(pixels, grid, channels, planes, to,
                                                           to_step);
  }
}

void sample_f32(const GridSample& s, int64_t pixels, const float* grid, int64_t channels,
                const float* planes, float* to, int64_t to_step) {
  auto run = s.steps == Steps::kExact ? sample_as<float, Exact> : sample_as<float, ToHalf>;
  run(s, pixels, grid, channels, planes, to, to_step);
}

}  // namespace

const GridFunctions grid{&sample_f32, &sample_as<double, Exact>};

}  // namespace scriptlang::kernels::SL_ISA
