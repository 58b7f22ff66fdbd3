// Resizing: every output row or column is a weighted sum of a few input rows or columns. The
// weights are computed once per dimension.
#include <algorithm>
#include <cmath>
#include <memory>

#include "../../kernels/parallel.h"
#include "../../kernels/resize.h"
#include "layout.h"
#include "pointwise.h"
#include "row_kernels.h"
#include "scratch.h"
#include "upsample_taps.h"
#include "view.h"

namespace scriptlang {

namespace {

enum class Filter { kNearest, kNearestExact, kLinear, kCubic };

// PyTorch computes positions in float64 for float64 inputs, else in float32.
template <class T>
T scale_of(int64_t in, int64_t out, bool align_corners, double given) {
  if (align_corners) return out > 1 ? T(in - 1) / T(out - 1) : T(0);
  return given > 0 ? T(1.0 / given) : T(in) / T(out);
}

template <class T>
T cubic_near(T x) {
  constexpr T a = T(-0.75);
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <class T>
T cubic_far(T x) {
  constexpr T a = T(-0.75);
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

// A position as an index in [0, size): positions outside are clamped, and NaN becomes 0.
template <class T>
int64_t index_at(T at, int64_t size) {
  if (!(at > 0)) return 0;
  return at >= T(size) ? size - 1 : std::min(int64_t(at), size - 1);
}

template <class T>
void fill_taps(Taps& taps, Filter filter, int64_t in, int64_t out, bool align_corners,
               double given) {
  T scale = scale_of<T>(in, out, align_corners, given);
  auto clamp = [in](int64_t i) { return std::clamp<int64_t>(i, 0, in - 1); };
  for (int64_t i = 0; i < out; ++i) {
    int64_t* place = &taps.places[size_t(i * taps.width)];
    double* weight = &taps.weights[size_t(i * taps.width)];
    taps.count[size_t(i)] = taps.width;
    kernels::worked(8);
    if (filter == Filter::kNearest || filter == Filter::kNearestExact) {
      T at = filter == Filter::kNearest ? T(i) * scale : (T(i) + T(0.5)) * scale;
      place[0] = index_at(at, in);
      weight[0] = 1;
      continue;
    }
    // Rounded once, as in PyTorch, whose kernels are compiled to fused multiply-adds.
    T at = align_corners ? scale * T(i) : std::fma(scale, T(i) + T(0.5), T(-0.5));
    if (filter == Filter::kLinear) {
      if (at < 0) at = 0;
      int64_t first = index_at(at, in);
      T rest = std::min(std::max(at - T(first), T(0)), T(1));
      place[0] = first;
      place[1] = first + (first < in - 1);
      weight[0] = T(1) - rest;
      weight[1] = rest;
      continue;
    }
    T floor = std::floor(at), t = at - floor;
    // Far outside, all taps are clamped to the edge; for NaN as well.
    int64_t first = (floor > T(-4) ? int64_t(std::min(floor, T(in) + T(4))) : -4) - 1;
    for (int64_t k = 0; k < 4; ++k) place[k] = clamp(first + k);
    weight[0] = cubic_far(t + 1);
    weight[1] = cubic_near(t);
    weight[2] = cubic_near(1 - t);
    weight[3] = cubic_far(2 - t);
  }
}

Taps taps_for(Filter filter, int64_t in, int64_t out, bool align_corners, double given, bool wide) {
  Taps taps;
  taps.width = filter == Filter::kLinear ? 2 : filter == Filter::kCubic ? 4 : 1;
  memory::ask(checked_numel({out, taps.width}), 3 * sizeof(double));
  taps.make(out);
  if (wide) fill_taps<double>(taps, filter, in, out, align_corners, given);
  else fill_taps<float>(taps, filter, in, out, align_corners, given);
  return taps;
}

// ---- anti-aliased: when shrinking, the filter widens by the scale

double filter_at(Filter filter, bool lanczos, double x) {
  x = std::abs(x);
  if (lanczos) {
    if (x >= 3) return 0;
    if (x == 0) return 1;
    double y = x * 3.14159265358979323846;
    return std::sin(y) / y * std::sin(y / 3) / (y / 3);
  }
  if (filter == Filter::kLinear) return x < 1 ? 1 - x : 0;
  constexpr double a = -0.5;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

Taps smooth_taps(Filter filter, bool lanczos, int64_t in, int64_t out, bool align_corners,
                 double given) {
  double scale = scale_of<double>(in, out, align_corners, given);
  double radius = lanczos ? 3 : filter == Filter::kLinear ? 1 : 2;
  double support = scale >= 1 ? radius * scale : radius;
  double inverse = scale >= 1 ? 1 / scale : 1;
  SL_CHECK(support < 1e9, "a scale of ", 1 / scale, " is too small to resize by");
  Taps taps;
  taps.width = std::min<int64_t>(int64_t(std::ceil(support)) * 2 + 1, in);
  memory::ask(checked_numel({out, taps.width}), 3 * sizeof(double));
  taps.make(out);
  for (int64_t i = 0; i < out; ++i) {
    kernels::worked(16 * taps.width);
    double center = scale * (double(i) + 0.5);
    double from = center - support + 0.5, to = center + support + 0.5;
    int64_t first = std::max<int64_t>(int64_t(from), 0);
    int64_t last = std::min<int64_t>(int64_t(to), in);
    int64_t count = std::clamp<int64_t>(last - first, 0, taps.width);
    double total = 0;
    for (int64_t k = 0; k < count; ++k) {
      size_t at = size_t(i * taps.width + k);
      taps.places[at] = first + k;
      taps.weights[at] = filter_at(filter, lanczos, (double(k + first) - center + 0.5) * inverse);
      total += taps.weights[at];
    }
    for (int64_t k = 0; k < count && total != 0; ++k) {
      taps.weights[size_t(i * taps.width + k)] /= total;
    }
    taps.count[size_t(i)] = count;
  }
  return taps;
}

// ---- one dimension after the other: [outer][in][inner] to [outer][out][inner]

template <class T>
void resize_rows(const Taps& taps, int64_t outer, int64_t in, int64_t out, const T* x, T* y);

template <class T>
void resize(const Taps& taps, int64_t outer, int64_t in, int64_t out, int64_t inner, const T* x,
            T* y) {
  if (inner == 1) return resize_rows(taps, outer, in, out, x, y);
  int64_t grain = 16384 / std::max<int64_t>(1, inner * taps.width) + 1;
  kernels::parallel_for(outer * out, grain, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      int64_t i = line % out;
      const T* from = x + line / out * in * inner;
      T* to = y + line * inner;
      const int64_t* place = &taps.places[size_t(i * taps.width)];
      const double* weight = &taps.weights[size_t(i * taps.width)];
      int64_t count = taps.count[size_t(i)];
      if (taps.width == 1 && weight[0] == 1) {
        std::copy_n(from + place[0] * inner, inner, to);
        continue;
      }
      T w = count > 0 ? T(weight[0]) : T(0);
      const T* source = from + place[0] * inner;
      for (int64_t j = 0; j < inner; ++j) to[j] = source[j] * w;
      for (int64_t k = 1; k < count; ++k) {
        w = T(weight[k]);
        source = from + place[k] * inner;
        for (int64_t j = 0; j < inner; ++j) to[j] += source[j] * w;
      }
    }
  });
}

// The last dimension: each output is a weighted sum of a few numbers.
template <class T>
void resize_rows(const Taps& taps, int64_t outer, int64_t in, int64_t out, const T* x, T* y) {
  std::vector<T> weights;
  append(taps.weights, &weights);
  int64_t width = taps.width;
  bool pairs = width == 2 && std::count(taps.count.begin(), taps.count.end(), 2) == out;
  kernels::parallel_for(
      outer, 16384 / std::max<int64_t>(1, out * width) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t line = begin; line < end; ++line) {
          const T* from = x + line * in;
          T* to = y + line * out;
          const int64_t* place = taps.places.data();
          const T* w = weights.data();
          kernels::worked(out * width);
          if (width == 1) {
            for (int64_t i = 0; i < out; ++i) to[i] = from[place[i]] * w[i];
          } else if (pairs) {
            for (int64_t i = 0; i < out; ++i) {
              to[i] = from[place[2 * i]] * w[2 * i] + from[place[2 * i + 1]] * w[2 * i + 1];
            }
          } else {
            for (int64_t i = 0; i < out; ++i, place += width, w += width) {
              T sum = T(0);
              for (int64_t k = 0; k < taps.count[size_t(i)]; ++k) sum += from[place[k]] * w[k];
              to[i] = sum;
            }
          }
        }
      });
}

// ---- images of float32 and half types: rows, then columns, for a band of rows of one plane at a
// time

using FloatTaps = PackedTaps<float>;

struct Plane {
  int64_t in_rows, in_columns, out_rows, out_columns;
};

// Rows of half types as float32, and back.
void read_rows(ScalarType type, int64_t n, const char* from, float* to) {
  kernels::converter(ScalarType::Float32, type)(n, to, sizeof(float), from, itemsize(type));
}
void write_row(ScalarType type, int64_t n, const float* from, char* to) {
  kernels::converter(type, ScalarType::Float32)(n, to, itemsize(type), from, sizeof(float));
}

// Computes the output rows [first, last) of a plane. `space` is scratch memory.
void resize_band(const Plane& p, ScalarType type, const FloatTaps* down, const FloatTaps& across,
                 int64_t first, int64_t last, const char* x, char* y, std::vector<float>& space) {
  const auto& f = *kernels::kernels().resize;
  const int64_t size = itemsize(type);
  const bool plain = type == ScalarType::Float32;
  auto [top, bottom] = down ? down->inputs(first, last) : std::pair(first, last);
  const int64_t rows = bottom - top;
  const int64_t wide = rows * p.in_columns, done = rows * p.out_columns;
  space.resize(as_size((plain ? 0 : wide) + done + p.out_columns));
  float *narrow = space.data(), *row = narrow + done, *in = row + p.out_columns;
  const char* from = x + top * p.in_columns * size;
  if (!plain) read_rows(type, wide, from, in);
  kernels::ResizeRows r{rows,
                        p.in_columns,
                        p.out_columns,
                        plain ? reinterpret_cast<const float*>(from) : in,
                        narrow,
                        across.width,
                        across.place.data(),
                        across.count.data(),
                        across.weight.data()};
  f.rows(r);
  std::vector<const float*> taps(as_size(down ? down->width : 1));
  for (int64_t i = first; i < last; ++i) {
    char* to = y + i * p.out_columns * size;
    float* sum = plain ? reinterpret_cast<float*>(to) : row;
    if (down) {
      const int32_t* place = &down->place[size_t(i * down->width)];
      const int32_t count = down->count[size_t(i)];
      for (int32_t k = 0; k < count; ++k) {
        taps[size_t(k)] = narrow + (place[k] - top) * p.out_columns;
      }
      kernels::worked(p.out_columns * count);
      f.combine(p.out_columns, count, taps.data(), &down->weight[size_t(i * down->width)], sum);
    } else if (plain) {
      std::copy_n(narrow + (i - first) * p.out_columns, p.out_columns, sum);
    } else {
      sum = narrow + (i - first) * p.out_columns;
    }
    if (!plain) write_row(type, p.out_columns, sum, to);
  }
}

// Resizes the last dimension, or the last two; `down` is null for one.
Tensor resize_planes(const Tensor& x, IntSpan shape, const Taps* down, const Taps& across) {
  const int64_t n = x.dim();
  Tensor y = Tensor::empty(shape, x.dtype());
  if (y.numel() == 0) return y;
  const FloatTaps wide(across);
  std::unique_ptr<FloatTaps> tall(down ? new FloatTaps(*down) : nullptr);
  Plane p{1, x.size(n - 1), 1, shape[n - 1]};
  int64_t planes = 1;
  for (int64_t d = 0; d < n - 2; ++d) planes *= x.size(d);
  p.in_rows = x.size(n - 2);
  p.out_rows = shape[n - 2];
  if (!down) {  // all rows of all planes are treated alike
    p.in_rows = p.out_rows = planes * p.in_rows;
    planes = 1;
  }
  // As many output rows at a time as fit the L2 cache with their inputs, but at least a few.
  constexpr int64_t kBand = 1 << 17;
  const int64_t most = std::max(p.in_columns, p.out_columns);
  const double needed = double(p.in_rows) / double(p.out_rows) * double(most) * 2;
  const int64_t rows = std::min(p.out_rows, std::max<int64_t>(16, int64_t(kBand / needed)));
  const int64_t bands = (p.out_rows + rows - 1) / rows, size = x.itemsize();
  for (int64_t band = 0; tall && band < bands; ++band) {
    auto [top, bottom] = tall->inputs(band * rows, std::min((band + 1) * rows, p.out_rows));
    memory::ask(bottom - top, 2 * most * int64_t(sizeof(float)));
  }
  int64_t grain = 16384 / std::max<int64_t>(1, rows * most) + 1;
  kernels::parallel_for(planes * bands, grain, [&](int64_t begin, int64_t end) {
    std::vector<float> space;
    for (int64_t task = begin; task < end; ++task) {
      int64_t plane = task / bands, first = task % bands * rows;
      resize_band(p, x.dtype(), tall.get(), wide, first, std::min(first + rows, p.out_rows),
                  static_cast<const char*>(x.raw()) + plane * p.in_rows * p.in_columns * size,
                  static_cast<char*>(y.raw()) + plane * p.out_rows * p.out_columns * size, space);
    }
  });
  return y;
}

// ---- nearest: elements are moved, whatever their type

template <class E>
void pick(const int64_t* places, int64_t n, const void* from, void* to) {
  const E* x = static_cast<const E*>(from);
  E* y = static_cast<E*>(to);
  for (int64_t i = 0; i < n; ++i) y[i] = x[places[i]];
}

// Resizes the last dimensions of a contiguous tensor, one for each of `taps`, in their order.
Tensor pick_nearest(const Tensor& x, IntSpan shape, const std::vector<Taps>& taps) {
  Tensor y = Tensor::empty(shape, x.dtype());
  const int64_t n = int64_t(taps.size()), dims = x.dim(), size = x.itemsize();
  const int64_t in = x.size(dims - 1), out = shape[dims - 1];
  int64_t lines = y.numel() / out;
  auto source = [&](int64_t line) {  // the row of x that a row of y is made from
    int64_t place = 0, step = 1;
    for (int64_t d = n - 2; d >= 0; --d) {
      place += taps[size_t(d)].places[size_t(line % shape[dims - n + d])] * step;
      line /= shape[dims - n + d];
      step *= x.size(dims - n + d);
    }
    return place + line * step;
  };
  auto* run = size == 1   ? &pick<uint8_t>
              : size == 2 ? &pick<uint16_t>
              : size == 4 ? &pick<uint32_t>
                          : &pick<uint64_t>;
  const char* from = static_cast<const char*>(x.raw());
  char* to = static_cast<char*>(y.raw());
  kernels::parallel_for(lines, 16384 / out + 1, [&](int64_t begin, int64_t end) {
    int64_t before = -1;
    for (int64_t line = begin; line < end; ++line) {
      char* at = to + line * out * size;
      const int64_t row = source(line);
      if (row == before) std::copy_n(at - out * size, out * size, at);
      else run(taps.back().places.data(), out, from + row * in * size, at);
      before = row;
    }
  });
  return y;
}

struct Request {
  const char* name;
  int64_t n;  // dimensions to resize
  Filter filter;
  bool align_corners = false, smooth = false, lanczos = false;
};

// A dimension that keeps its size is not interpolated, whatever the scale given.
Taps taps_of(const Request& q, int64_t in, int64_t out, double given, ScalarType computed) {
  if (in == out && (q.smooth || q.filter == Filter::kLinear)) given = 0;
  return q.smooth
             ? smooth_taps(q.filter, q.lanczos, in, out, q.align_corners, given)
             : taps_for(q.filter, in, out, q.align_corners, given, computed == ScalarType::Float64);
}

bool fits_int32(const Tensor& t, int64_t dims) {
  for (int64_t d = t.dim() - dims; d < t.dim(); ++d) {
    if (t.size(d) > INT32_MAX) return false;
  }
  return true;
}

Tensor upsample(const Request& q, const Tensor& self, const std::vector<int64_t>& sizes,
                const std::vector<double>& scales) {
  SL_CHECK(self.dim() == q.n + 2, q.name, ": It is expected input_size equals to ", q.n + 2,
           ", but got size ", self.dim());
  bool fits = self.size(1) > 0;
  for (int64_t i = 0; i < q.n; ++i) {
    fits = fits && self.size(i + 2) > 0 && sizes[size_t(i)] > 0;
    SL_CHECK(sizes[size_t(i)] < int64_t{1} << 31, q.name, ": output size ", sizes[size_t(i)],
             " is too large");
  }
  SL_CHECK(fits, "Input and output sizes should be greater than 0, but got input ",
           to_string(self.sizes()), " output ", to_string(sizes));
  const bool moved = q.filter == Filter::kNearest || q.filter == Filter::kNearestExact;
  const bool bytes = self.dtype() == ScalarType::UInt8 && !moved;
  if (bytes && !(q.n == 2 && fits_int32(self, 2)))
    raise(ErrorKind::NotImplementedError,
          "\"compute_indices_weights_linear\" not implemented for 'Byte'");
  const ScalarType computed = bytes ? ScalarType::Float64
                              : self.dtype() == ScalarType::UInt8
                                  ? ScalarType::Float32
                                  : computed_type(self.dtype(), q.name);
  std::vector<int64_t> shape(self.sizes().begin(), self.sizes().end());
  if (moved || bytes || (computed == ScalarType::Float32 && q.n <= 2 && fits_int32(self, q.n))) {
    std::vector<Taps> taps;
    for (int64_t i = 0; i < q.n; ++i) {
      double given = scales.empty() ? 0 : scales[size_t(i)];
      shape[size_t(i + 2)] = sizes[size_t(i)];
      taps.push_back(taps_of(q, self.size(i + 2), sizes[size_t(i)], given, computed));
    }
    Tensor x = to_contiguous(self);
    x = moved   ? pick_nearest(x, shape, taps)
        : bytes ? resize_bytes(x, shape, taps[0], taps[1])
                : resize_planes(x, shape, q.n == 2 ? &taps[0] : nullptr, taps.back());
    return in_format_of(x, self);
  }
  Tensor x = contiguous_as(self, computed);
  // The last dimension first, whose lines have an inner size of one; then the rows.
  for (int64_t i = q.n - 1; i >= 0; --i) {
    int64_t in = self.size(i + 2), out = sizes[size_t(i)];
    double given = scales.empty() ? 0 : scales[size_t(i)];
    Taps taps = taps_of(q, in, out, given, computed);
    shape[size_t(i + 2)] = out;
    Tensor y = Tensor::empty(shape, computed);
    int64_t outer = 1, inner = 1;
    for (int64_t d = 0; d < i + 2; ++d) outer *= shape[size_t(d)];
    for (int64_t d = i + 3; d < x.dim(); ++d) inner *= shape[size_t(d)];
    for_float_type(computed, [&](auto zero) {
      using T = decltype(zero);
      resize<T>(taps, outer, in, out, inner, x.data<T>(), y.data<T>());
    });
    x = y;
  }
  return in_format_of(to_dtype(x, self.dtype()), self);
}

// upsample_*: output sizes and scales per dimension, each a float or None.
Tensor by_sizes(Request q, Args args, int scales_at) {
  Ints given = args.ints(1);
  SL_CHECK(given.size() == q.n, "It is expected output_size equals to ", q.n, ", but got size ",
           given.size());
  std::vector<double> scales;
  for (int64_t i = 0; i < q.n; ++i) scales.push_back(args.number(scales_at + int(i), 0.0));
  return upsample(q, args.tensor(0), {given.begin(), given.end()}, scales);
}

// upsample_*.vec: either output sizes or scale factors.
Tensor by_factors(Request q, Args args, int factors_at) {
  const Tensor& self = args.tensor(0);
  SL_CHECK(self.dim() == q.n + 2, q.name, ": It is expected input_size equals to ", q.n + 2,
           ", but got size ", self.dim());
  SL_CHECK(args.none(1) != args.none(factors_at),
           "Must specify exactly one of output_size and scale_factors");
  std::vector<int64_t> sizes;
  std::vector<double> factors = args.doubles(factors_at);
  if (args.none(1)) {
    SL_CHECK(int64_t(factors.size()) == q.n, "scale_factors must have ", q.n, " values");
    for (int64_t i = 0; i < q.n; ++i) {
      double size = double(self.size(i + 2)) * factors[size_t(i)];
      SL_CHECK(size >= 0 && size < 9e15, q.name, ": a scale factor of ", factors[size_t(i)],
               " makes no size");
      sizes.push_back(int64_t(size));
    }
  } else {
    Ints given = args.ints(1);
    SL_CHECK(given.size() == q.n, "It is expected output_size equals to ", q.n, ", but got size ",
             given.size());
    sizes.assign(given.begin(), given.end());
  }
  return upsample(q, self, sizes, factors);
}

Request with_corners(Request q, Args args) {
  q.align_corners = args.boolean(2);
  return q;
}

constexpr Request kNearest1{"upsample_nearest1d", 1, Filter::kNearest};
constexpr Request kNearest2{"upsample_nearest2d", 2, Filter::kNearest};
constexpr Request kNearest3{"upsample_nearest3d", 3, Filter::kNearest};
constexpr Request kExact1{"_upsample_nearest_exact1d", 1, Filter::kNearestExact};
constexpr Request kExact2{"_upsample_nearest_exact2d", 2, Filter::kNearestExact};
constexpr Request kExact3{"_upsample_nearest_exact3d", 3, Filter::kNearestExact};
constexpr Request kLinear1{"upsample_linear1d", 1, Filter::kLinear};
constexpr Request kLinear2{"upsample_bilinear2d", 2, Filter::kLinear};
constexpr Request kLinear3{"upsample_trilinear3d", 3, Filter::kLinear};
constexpr Request kCubic2{"upsample_bicubic2d", 2, Filter::kCubic};
constexpr Request kSmoothLinear{"_upsample_bilinear2d_aa", 2, Filter::kLinear, false, true};
constexpr Request kSmoothCubic{"_upsample_bicubic2d_aa", 2, Filter::kCubic, false, true};
constexpr Request kLanczos{"_upsample_lanczos2d_aa", 2, Filter::kCubic, false, true, true};

}  // namespace

SL_OP(aten_upsample_nearest1d) { out[0] = by_sizes(kNearest1, args, 2); }
SL_OP(aten_upsample_nearest2d) { out[0] = by_sizes(kNearest2, args, 2); }
SL_OP(aten_upsample_nearest3d) { out[0] = by_sizes(kNearest3, args, 2); }
SL_OP(aten__upsample_nearest_exact1d) { out[0] = by_sizes(kExact1, args, 2); }
SL_OP(aten__upsample_nearest_exact2d) { out[0] = by_sizes(kExact2, args, 2); }
SL_OP(aten__upsample_nearest_exact3d) { out[0] = by_sizes(kExact3, args, 2); }
SL_OP(aten_upsample_linear1d) { out[0] = by_sizes(with_corners(kLinear1, args), args, 3); }
SL_OP(aten_upsample_bilinear2d) { out[0] = by_sizes(with_corners(kLinear2, args), args, 3); }
SL_OP(aten_upsample_trilinear3d) { out[0] = by_sizes(with_corners(kLinear3, args), args, 3); }
SL_OP(aten_upsample_bicubic2d) { out[0] = by_sizes(with_corners(kCubic2, args), args, 3); }
SL_OP(aten__upsample_bilinear2d_aa) {
  out[0] = by_sizes(with_corners(kSmoothLinear, args), args, 3);
}
SL_OP(aten__upsample_bicubic2d_aa) { out[0] = by_sizes(with_corners(kSmoothCubic, args), args, 3); }
SL_OP(aten__upsample_lanczos2d_aa) { out[0] = by_sizes(with_corners(kLanczos, args), args, 3); }

SL_OP(aten_upsample_nearest1d_vec) { out[0] = by_factors(kNearest1, args, 2); }
SL_OP(aten_upsample_nearest2d_vec) { out[0] = by_factors(kNearest2, args, 2); }
SL_OP(aten_upsample_nearest3d_vec) { out[0] = by_factors(kNearest3, args, 2); }
SL_OP(aten__upsample_nearest_exact1d_vec) { out[0] = by_factors(kExact1, args, 2); }
SL_OP(aten__upsample_nearest_exact2d_vec) { out[0] = by_factors(kExact2, args, 2); }
SL_OP(aten__upsample_nearest_exact3d_vec) { out[0] = by_factors(kExact3, args, 2); }
SL_OP(aten_upsample_linear1d_vec) { out[0] = by_factors(with_corners(kLinear1, args), args, 3); }
SL_OP(aten_upsample_bilinear2d_vec) { out[0] = by_factors(with_corners(kLinear2, args), args, 3); }
SL_OP(aten_upsample_trilinear3d_vec) { out[0] = by_factors(with_corners(kLinear3, args), args, 3); }
SL_OP(aten_upsample_bicubic2d_vec) { out[0] = by_factors(with_corners(kCubic2, args), args, 3); }
SL_OP(aten__upsample_bilinear2d_aa_vec) {
  out[0] = by_factors(with_corners(kSmoothLinear, args), args, 3);
}
SL_OP(aten__upsample_bicubic2d_aa_vec) {
  out[0] = by_factors(with_corners(kSmoothCubic, args), args, 3);
}
SL_OP(aten__upsample_lanczos2d_aa_vec) {
  out[0] = by_factors(with_corners(kLanczos, args), args, 3);
}

}  // namespace scriptlang
