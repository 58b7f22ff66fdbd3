// Pooling over the last one, two or three dimensions; the dimensions before them form planes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "../../kernels/kernel_set.h"
#include "../../kernels/loop_templates.h"
#include "../../kernels/parallel.h"
#include "layout.h"
#include "pool.h"
#include "pool_planes.h"
#include "reduce.h"
#include "row_kernels.h"
#include "scratch.h"
#include "values/raw_view.h"

namespace scriptlang {

namespace pools {

namespace {

int64_t pick(const Ints& values, int64_t i, int64_t if_empty) {
  if (values.empty()) return if_empty;
  return values.size() == 1 ? values[0] : values[i];
}

void check_count(const char* name, const char* what, const Ints& values, int64_t n,
                 bool may_be_empty) {
  SL_CHECK(values.size() == 1 || values.size() == n || (may_be_empty && values.empty()), name, ": ",
           what, " must either be a single int, or a tuple of ", n, " ints");
}

void check_planes(const char* name, const Tensor& self, int64_t n) {
  SL_CHECK(self.dim() == n + 1 || self.dim() == n + 2, name, "(): Expected ", n + 1, "D or ", n + 2,
           "D input tensor, but got: ", to_string(self.sizes()));
  // Without channels, adaptive averages are empty results, and so are adaptive maxima of a single
  // image.
  const std::string_view kind(name);
  const bool adaptive = kind.substr(0, 8) == "adaptive";
  bool any_channels = kind.substr(0, 12) == "adaptive_avg" || (adaptive && self.dim() == n + 1);
  int64_t first = any_channels ? self.dim() - n : self.dim() == n + 2;
  for (int64_t i = first; i < self.dim(); ++i) {
    SL_CHECK(self.size(i) > 0, name,
             "(): Expected input to have non-zero size for "
             "non-batch dimensions, but got sizes ",
             to_string(self.sizes()));
  }
}

}  // namespace

Window window(const char* name, const Tensor& self, int64_t n, const Ints& kernel,
              const Ints& stride, const Ints& padding, const Ints& dilation, bool ceil_mode) {
  check_planes(name, self, n);
  check_count(name, "kernel_size", kernel, n, false);
  check_count(name, "stride", stride, n, true);
  check_count(name, "padding", padding, n, false);
  check_count(name, "dilation", dilation, n, true);
  Window w;
  w.n = n;
  for (int64_t i = 0; i < n; ++i) {
    int64_t d = 3 - n + i;
    constexpr int64_t kLimit = int64_t{1} << 40;  // keeps the products below in range
    int64_t in = self.size(self.dim() - n + i), k = pick(kernel, i, 1), s = pick(stride, i, k);
    int64_t p = pick(padding, i, 0), dil = pick(dilation, i, 1);
    SL_CHECK(k > 0, "kernel size should be greater than zero, but got ", to_string(kernel));
    SL_CHECK(s > 0, "stride should be greater than zero, but got ", to_string(stride));
    SL_CHECK(dil > 0, "dilation should be greater than zero, but got ", to_string(dilation));
    SL_CHECK(p >= 0, "pad must be non-negative, but got pad: ", p);
    SL_CHECK(k < kLimit && s < kLimit && dil < (int64_t{1} << 20) && p < kLimit, name,
             ": a window setting is too large");
    int64_t extent = dil * (k - 1) + 1;
    SL_CHECK(p <= extent / 2,
             "pad should be at most half of effective kernel size, but got pad=", p,
             ", kernel_size=", k, " and dilation=", dil);
    int64_t room = in + 2 * p - extent + (ceil_mode ? s - 1 : 0);
    int64_t out = room >= 0 ? room / s + 1 : 0;
    // The last window must start inside the input or its left padding.
    if (ceil_mode && (out - 1) * s >= in + p) --out;
    SL_CHECK(out >= 1, "Given input size: ", to_string(self.sizes()),
             ". Calculated output size along dimension ", i, ": ", out,
             ". Output size is too small");
    w.in[d] = in;
    w.out[d] = out;
    w.kernel[d] = k;
    w.stride[d] = s;
    w.padding[d] = p;
    w.dilation[d] = dil;
  }
  return w;
}

Sizes result_sizes(const Tensor& self, const Window& w) {
  Sizes sizes(self.sizes().begin(), self.sizes().end() - w.n);
  for (int64_t d = 3 - w.n; d < 3; ++d) sizes.push_back(w.out[d]);
  return sizes;
}

Tensor as_input(const Tensor& y, const Tensor& input, int64_t n) {
  if (input.dim() != n + 2) return y;
  return in_format(y, n == 1 ? suggested_format_of_signal(input) : suggested_format(input));
}

Window adaptive_window(const char* name, const Tensor& self, int64_t n, const Value& sizes) {
  check_planes(name, self, n);
  Window w;
  w.n = n;
  Sizes wanted;
  if (sizes.is_int()) {
    wanted.assign(as_size(n), sizes.as_int());
  } else {
    Ints given(sizes);
    SL_CHECK(given.size() == n || given.size() == 1, name, ": output_size must be ", n);
    for (int64_t i = 0; i < n; ++i) wanted.push_back(pick(given, i, 1));
  }
  for (int64_t i = 0; i < n; ++i) {
    w.in[3 - n + i] = self.size(self.dim() - n + i);
    w.out[3 - n + i] = wanted[size_t(i)];
    SL_CHECK(wanted[size_t(i)] >= 0,
             "elements of output_size must be greater than or equal to 0 "
             "but received ",
             wanted[size_t(i)]);
  }
  checked_numel(wanted);
  return w;
}

}  // namespace pools

using namespace pools;

namespace {

template <class T>
bool beats(T x, T best) {
  if constexpr (std::is_floating_point_v<T>) return int(x > best) | int(std::isnan(x));
  else return x > best;
}

template <class T>
T lowest() {
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  else return std::numeric_limits<T>::lowest();
}

// Updates a row of maxima and their places with the input row that starts at `begin`: one tap after
// the other, without branches, which unsorted elements would mispredict.
template <class T>
void raise_row(const Window& w, const T* x, int64_t begin, T* y, int64_t* places) {
  const int64_t stride = w.stride[2];
  for (int64_t k = 0; k < w.kernel[2]; ++k) {
    int64_t shift = k * w.dilation[2] - w.padding[2];  // input offset of the tap for o = 0
    if (shift >= w.in[2]) break;
    int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    int64_t end = std::min(w.out[2], (w.in[2] - 1 - shift) / stride + 1);
    for (int64_t o = first; o < end; ++o) {
      int64_t at = begin + o * stride + shift;
      const T values[2] = {y[o], x[at]};  // selected by index, so that it compiles without a branch
      const int64_t better = beats(values[1], values[0]);
      y[o] = values[better];
      places[o] ^= (places[o] ^ at) & -better;
    }
    kernels::worked(std::max<int64_t>(1, end - first));
  }
}

template <class T>
void max_plane(const Window& w, const T* x, T* y, int64_t* places) {
  for (int64_t d = 0; d < w.out[0]; ++d) {
    Range rd = inside(w, 0, d);
    for (int64_t h = 0; h < w.out[1]; ++h, y += w.out[2], places += w.out[2]) {
      Range rh = inside(w, 1, h);
      int64_t row = (rd.first * w.in[1] + rh.first) * w.in[2];
      for (int64_t o = 0; o < w.out[2]; ++o) {
        y[o] = lowest<T>();
        places[o] = row + inside(w, 2, o).first;
      }
      for (int64_t i = rd.first; i < rd.last; i += w.dilation[0])
        for (int64_t j = rh.first; j < rh.last; j += w.dilation[1]) {
          raise_row(w, x, (i * w.in[1] + j) * w.in[2], y, places);
        }
    }
  }
}

// y[i] = max(y[i], x[i]), where NaN is the greatest.
template <class T>
void raise_to(int64_t n, T* y, const T* x) {
  constexpr ScalarType kType = kernels::scalar_type<T>();
  const void* in[2] = {y, x};
  const int64_t step[2] = {1, 1};
  kernels::loops(kernels::Binary::k_maximum)[kType](n, y, in, step, nullptr);
}

// A row of maxima, in one pass for every tap. The tap's elements are first copied side by side.
template <class T>
void max_row(const Window& w, const T* row, T* y, T* taps) {
  int64_t n = w.out[2], stride = w.stride[2];
  const auto& copies = *kernels::kernels().copies;
  bool empty = true;
  for (int64_t k = 0; k < w.kernel[2]; ++k) {
    int64_t shift = k * w.dilation[2] - w.padding[2];  // input offset of the tap for o = 0
    int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    int64_t end = std::min(n, w.in[2] > shift ? (w.in[2] - 1 - shift) / stride + 1 : 0);
    if (first >= end) continue;
    const T* from = row + first * stride + shift;
    if (empty) {  // nothing to compare with yet
      std::fill_n(y, first, lowest<T>());
      copies.line[kernels::copy_functions_of(sizeof(T))](end - first, y + first, from, stride);
      std::fill_n(y + end, n - end, lowest<T>());
      empty = false;
      continue;
    }
    if (stride != 1) {
      copies.line[kernels::copy_functions_of(sizeof(T))](end - first, taps, from, stride);
      from = taps;
    }
    raise_to(end - first, y + first, from);
    kernels::multiplied(2 * n);
  }
  if (empty) std::fill_n(y, n, lowest<T>());
}

// Where no places are wanted, the rows of a window are first combined into one row of maxima.
template <class T>
void max_plane_fast(const Window& w, const T* x, T* y, T* row, T* taps) {
  if constexpr (std::is_same_v<T, float>) {
    if (w.n < 3) return max_plane_of_floats(w, x, y);
  }
  int64_t width = w.in[2];
  for (int64_t d = 0; d < w.out[0]; ++d) {
    Range rd = inside(w, 0, d);
    for (int64_t h = 0; h < w.out[1]; ++h) {
      Range rh = inside(w, 1, h);
      const T* combined = nullptr;  // the first row in place, until there is another
      for (int64_t i = rd.first; i < rd.last; i += w.dilation[0])
        for (int64_t j = rh.first; j < rh.last; j += w.dilation[1]) {
          const T* from = x + (i * w.in[1] + j) * width;
          if (combined && combined != row) std::copy_n(combined, width, row);
          if (combined) raise_to(width, row, from);
          kernels::multiplied(width);
          combined = combined ? row : from;
        }
      if (combined) max_row(w, combined, y, taps);
      else std::fill_n(y, w.out[2], lowest<T>());
      y += w.out[2];
    }
  }
}

// Whether float32 images in channels-last format can be pooled without a conversion.
bool pools_last(const Tensor& self, const Window& w) {
  return w.n == 2 && self.dim() == 4 && self.dtype() == ScalarType::Float32 &&
         suggested_format(self) == kChannelsLast && is_in_format(self, kChannelsLast) &&
         self.numel() > 0;
}

// Calls f(window, output row, output column) for every output pixel; f chooses the window's pixels
// and computes the output. The result is channels last.
template <class F>
Tensor pool_last(const Tensor& self, const Window& w, F f) {
  Tensor y = Tensor::empty(result_sizes(self, w), ScalarType::Float32);
  int64_t channels = self.size(1), rows = w.out[1];
  lay(y, {w.out_pixels() * channels, 1, w.out[2] * channels, channels});
  if (y.numel() == 0) return y;
  int64_t taps = std::max<int64_t>(1, w.kernel[1] * w.kernel[2]);
  int64_t work = std::max<int64_t>(1, channels * w.out[2] * taps);
  kernels::parallel_for(self.size(0) * rows, 65536 / work + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t o = 0; o < w.out[2]; ++o) {
        kernels::PoolWindow p;
        p.x = self.data<float>() + i / rows * w.in_pixels() * channels;
        p.channels = channels;
        p.y = y.data<float>() + (i * w.out[2] + o) * channels;
        f(p, i % rows, o);
        kernels::multiplied(taps * channels);
      }
    }
  });
  return y;
}

// Sets a window to the pixels of two ranges; false where they are empty.
bool lay_window(const Window& w, Range h, Range o, kernels::PoolWindow* p) {
  auto steps = [&](Range r, int d) {
    return r.last > r.first ? (r.last - r.first - 1) / w.dilation[d] + 1 : 0;
  };
  p->rows = steps(h, 1);
  p->columns = steps(o, 2);
  if (p->rows == 0 || p->columns == 0) return false;
  p->x += (h.first * w.in[2] + o.first) * p->channels;
  p->row = w.dilation[1] * w.in[2] * p->channels;
  p->pixel = w.dilation[2] * p->channels;
  return true;
}

Tensor max_pool_last(const Tensor& self, const Window& w) {
  const auto maximum = kernels::kernels().pool->maximum;
  return pool_last(self, w, [&](kernels::PoolWindow& p, int64_t h, int64_t o) {
    if (lay_window(w, inside(w, 1, h), inside(w, 2, o), &p)) maximum(p);
    else std::fill_n(p.y, p.channels, lowest<float>());
  });
}

int64_t plane_grain(const Window& w) {
  int64_t work = w.out_pixels() * w.kernel[0] * w.kernel[1] * w.kernel[2];
  return 32768 / std::max<int64_t>(1, work) + 1;
}

void max_pool(const char* name, const Tensor& self, const Window& w, Value* out, bool with_places) {
  if (!with_places && pools_last(self, w)) {
    out[0] = max_pool_last(self, w);
    return;
  }
  ScalarType computed = comparable(self.dtype());
  Sizes sizes = result_sizes(self, w);
  Tensor x = contiguous_as(self, computed), y = Tensor::empty(sizes, computed);
  Tensor places = with_places ? Tensor::empty(sizes, ScalarType::Int64) : Tensor();
  int64_t planes = w.in_pixels() ? x.numel() / w.in_pixels() : 0;
  for_type(computed, name, [&](auto zero) {
    using T = decltype(zero);
    const T* from = x.data<T>();
    T* to = y.data<T>();
    kernels::parallel_for(planes, plane_grain(w), [&](int64_t begin, int64_t end) {
      Pooled<char> room(as_size((w.in[2] + w.out[2]) * int64_t(sizeof(T))));
      T *row = reinterpret_cast<T*>(room.data()), *taps = row + w.in[2];
      for (int64_t p = begin; p < end; ++p) {
        const T* plane = from + p * w.in_pixels();
        T* result = to + p * w.out_pixels();
        if (with_places) {
          max_plane(w, plane, result, places.data<int64_t>() + p * w.out_pixels());
        } else {
          max_plane_fast(w, plane, result, row, taps);
        }
      }
    });
  });
  y = to_dtype(y, self.dtype());
  const bool rows = w.n == 1 && !with_places;
  out[0] = rows ? y : as_input(y, self, w.n);
  if (with_places) out[1] = as_input(places, self, w.n);
}

void max_pool_op(const char* name, int64_t n, Args args, Value* out, bool with_places) {
  const Tensor& self = args.tensor(0);
  check_count(name, "dilation", args.ints(4), n, false);
  Window w = window(name, self, n, args.ints(1), args.ints(2), args.ints(3), args.ints(4),
                    args.boolean(5));
  if (self.dtype() == ScalarType::Bool || is_complex(self.dtype())) {
    raise(ErrorKind::NotImplementedError, '"', name, "\" not implemented for '",
          dtype_display_name(self.dtype()), "'");
  }
  max_pool(name, self, w, out, with_places);
}

// ---- averages

Tensor average_pool_last(const Tensor& self, const Average& a) {
  const Window& w = a.w;
  const auto sum = kernels::kernels().pool->sum;
  return pool_last(self, w, [&](kernels::PoolWindow& p, int64_t h, int64_t o) {
    if (!lay_window(w, inside(w, 1, h), inside(w, 2, o), &p)) {
      std::fill_n(p.y, p.channels, 0.0f);
      return;
    }
    sum(p, float(a.part(1, h) * a.part(2, o)));
  });
}

template <class T>
void average_plane(const Average& a, const T* x, T* y) {
  const Window& w = a.w;
  for (int64_t d = 0; d < w.out[0]; ++d) {
    Range rd = a.range(0, d);
    for (int64_t h = 0; h < w.out[1]; ++h) {
      Range rh = a.range(1, h);
      for (int64_t o = 0; o < w.out[2]; ++o) {
        Range rw = a.range(2, o);
        kernels::worked(taps_of(rd, rh, rw));
        T total = 0;
        for (int64_t i = rd.first; i < rd.last; ++i)
          for (int64_t j = rh.first; j < rh.last; ++j)
            for (int64_t k = rw.first; k < rw.last; ++k) {
              total += x[(i * w.in[1] + j) * w.in[2] + k];
            }
        *y++ = total / T(a.part(0, d) * a.part(1, h) * a.part(2, o));
      }
    }
  }
}

Tensor average_pool(const char* name, int64_t n, Args args, bool has_divisor) {
  const Tensor& self = args.tensor(0);
  Average a;
  a.w = window(name, self, n, args.ints(1), args.ints(2), args.ints(3), Ints(), args.boolean(4));
  const Window& w = a.w;
  a.count_padding = args.boolean(5);
  a.divisor = has_divisor && !args.none(6) ? args.integer(6) : 0;
  SL_CHECK(!has_divisor || args.none(6) || a.divisor != 0, "divisor must be not zero");
  if (pools_last(self, w)) return average_pool_last(self, a);
  bool integers = self.dtype() == ScalarType::Int64;
  ScalarType computed = integers ? ScalarType::Float64 : computed_type(self.dtype(), name);
  Tensor x = contiguous_as(self, computed), y = Tensor::empty(result_sizes(self, w), computed);
  int64_t planes = w.in_pixels() ? x.numel() / w.in_pixels() : 0;
  Working<double> columns(as_size(w.out[2]));
  for (int64_t o = 0; o < w.out[2]; ++o) columns[size_t(o)] = a.part(2, o);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    kernels::parallel_for(planes, plane_grain(w), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const T* from = x.data<T>() + p * w.in_pixels();
        T* to = y.data<T>() + p * w.out_pixels();
        if constexpr (std::is_same_v<T, float>) {
          if (n < 3) {
            average_plane_of_floats(a, columns.data(), from, to);
            continue;
          }
        }
        average_plane(a, from, to);
      }
    });
  });
  y = to_dtype(y, self.dtype());
  return n < 3 ? as_input(y, self, n) : y;
}

// ---- adaptive: windows of nearly equal size that cover the input

// Calls f(depth range, height range, width range, index of the result) for every window.
template <class F>
void for_windows(const Window& w, F f) {
  int64_t at = 0;
  if (w.out_pixels() == 0) return;
  for (int64_t d = 0; d < w.out[0]; ++d)
    for (int64_t h = 0; h < w.out[1]; ++h)
      for (int64_t o = 0; o < w.out[2]; ++o) {
        f(adaptive_range(w, 0, d), adaptive_range(w, 1, h), adaptive_range(w, 2, o), at++);
      }
}

// The elements of a piece of an image that is worth a thread, and the most pieces of an image.
constexpr int64_t kPieceElements = 16384, kMostPieces = 16;

// The means over all pixels. The rows of an image are summed in pieces, and then the pieces. Their
// number does not depend on the number of threads, so that the sums do not either.
Tensor whole_average_last(const Tensor& self, const Window& w) {
  const auto sum = kernels::kernels().pool->sum;
  const int64_t images = self.size(0), channels = self.size(1), pixels = w.in_pixels();
  const int64_t most = std::clamp<int64_t>(channels * pixels / kPieceElements, 1, kMostPieces);
  const int64_t pieces = std::min(most, w.in[1]), row = w.in[2] * channels;
  Tensor sums = Tensor::empty({images * pieces, channels}, ScalarType::Float32);
  float* partial = sums.data<float>();
  const int64_t grain = kPieceElements * pieces / (channels * pixels) + 1;
  kernels::parallel_for(images * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t first = w.in[1] * (i % pieces) / pieces, last = w.in[1] * (i % pieces + 1) / pieces;
      const float* x = self.data<float>() + i / pieces * pixels * channels + first * row;
      sum({x, row, channels, last - first, w.in[2], channels, partial + i * channels}, 1);
    }
  });
  Tensor y = Tensor::empty(result_sizes(self, w), ScalarType::Float32);
  lay(y, {channels, 1, channels, channels});
  for (int64_t i = 0; i < images; ++i) {
    float* to = y.data<float>() + i * channels;
    sum({partial + i * pieces * channels, 0, channels, 1, pieces, channels, to}, float(pixels));
  }
  return y;
}

Tensor adaptive_average_last(const Tensor& self, const Window& w) {
  if (w.out_pixels() == 1) return whole_average_last(self, w);
  const auto sum = kernels::kernels().pool->sum;
  return pool_last(self, w, [&](kernels::PoolWindow& p, int64_t h, int64_t o) {
    lay_window(w, adaptive_range(w, 1, h), adaptive_range(w, 2, o), &p);
    sum(p, float(p.rows * p.columns));
  });
}

Tensor adaptive_average(const char* name, int64_t n, const Tensor& self, const Value& sizes) {
  SL_CHECK(sizes.is_int() || Ints(sizes).size() == n, name, ": output_size must be ", n);
  Window w = adaptive_window(name, self, n, sizes);
  if (pools_last(self, w)) return adaptive_average_last(self, w);
  ScalarType computed = computed_type(self.dtype(), name);
  Tensor x = contiguous_as(self, computed), y = Tensor::empty(result_sizes(self, w), computed);
  int64_t planes = w.in_pixels() ? x.numel() / w.in_pixels() : 0;
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    const T* from = x.data<T>();
    T* to = y.data<T>();
    int64_t pixels = w.in_pixels();
    kernels::parallel_for(
        planes, 32768 / std::max<int64_t>(1, pixels) + 1, [&](int64_t begin, int64_t end) {
          if (w.out_pixels() == 1) {
            Rows<T>::sums(end - begin, pixels, from + begin * pixels, to + begin);
            for (int64_t p = begin; p < end; ++p) to[p] /= T(pixels);
            return;
          }
          for (int64_t p = begin; p < end; ++p) {
            const T* plane = from + p * pixels;
            for_windows(w, [&](Range rd, Range rh, Range rw, int64_t at) {
              T total = 0;
              for (int64_t i = rd.first; i < rd.last; ++i)
                for (int64_t j = rh.first; j < rh.last; ++j)
                  for (int64_t k = rw.first; k < rw.last; ++k) {
                    total += plane[(i * w.in[1] + j) * w.in[2] + k];
                  }
              int64_t count = (rd.last - rd.first) * (rh.last - rh.first) * (rw.last - rw.first);
              to[p * w.out_pixels() + at] = total / T(count);
            });
          }
        });
  });
  y = to_dtype(y, self.dtype());
  return n < 3 ? as_input(y, self, n) : y;
}

void adaptive_max(const char* name, int64_t n, Args args, Value* out) {
  const Tensor& self = args.tensor(0);
  if (!is_floating(self.dtype())) {
    raise(ErrorKind::NotImplementedError, "\"", name, "\" not implemented for '",
          dtype_display_name(self.dtype()), "'");
  }
  Window w = adaptive_window(name, self, n, args[1]);
  ScalarType computed = comparable(self.dtype());
  Sizes sizes = result_sizes(self, w);
  Tensor x = contiguous_as(self, computed), y = Tensor::empty(sizes, computed);
  Tensor places = Tensor::empty(sizes, ScalarType::Int64);
  int64_t planes = w.in_pixels() ? x.numel() / w.in_pixels() : 0;
  for_type(computed, name, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t p = 0; p < planes; ++p) {
      const T* plane = x.data<T>() + p * w.in_pixels();
      for_windows(w, [&](Range rd, Range rh, Range rw, int64_t at) {
        kernels::worked(taps_of(rd, rh, rw));
        T best = lowest<T>();
        int64_t place = (rd.first * w.in[1] + rh.first) * w.in[2] + rw.first;
        for (int64_t i = rd.first; i < rd.last; ++i)
          for (int64_t j = rh.first; j < rh.last; ++j)
            for (int64_t k = rw.first; k < rw.last; ++k) {
              int64_t here = (i * w.in[1] + j) * w.in[2] + k;
              if (beats(plane[here], best)) {
                best = plane[here];
                place = here;
              }
            }
        y.data<T>()[p * w.out_pixels() + at] = best;
        places.data<int64_t>()[p * w.out_pixels() + at] = place;
      });
    }
  });
  y = to_dtype(y, self.dtype());
  out[0] = n < 3 ? as_input(y, self, n) : y;
  out[1] = n < 3 ? as_input(places, self, n) : places;
}

}  // namespace

SL_OP(aten_max_pool1d) { max_pool_op("max_pool1d", 1, args, out, false); }
SL_OP(aten_max_pool2d) { max_pool_op("max_pool2d", 2, args, out, false); }
SL_OP(aten_max_pool3d) { max_pool_op("max_pool3d", 3, args, out, false); }
SL_OP(aten_max_pool1d_with_indices) { max_pool_op("max_pool1d", 1, args, out, true); }
SL_OP(aten_max_pool2d_with_indices) { max_pool_op("max_pool2d", 2, args, out, true); }
SL_OP(aten_max_pool3d_with_indices) { max_pool_op("max_pool3d", 3, args, out, true); }
SL_OP(aten_avg_pool1d) { out[0] = average_pool("avg_pool1d", 1, args, false); }
SL_OP(aten_avg_pool2d) { out[0] = average_pool("avg_pool2d", 2, args, true); }
SL_OP(aten_avg_pool3d) { out[0] = average_pool("avg_pool3d", 3, args, true); }
SL_OP(aten_adaptive_avg_pool1d) {
  out[0] = adaptive_average("adaptive_avg_pool1d", 1, args.tensor(0), args[1]);
}
SL_OP(aten_adaptive_avg_pool2d) {
  out[0] = adaptive_average("adaptive_avg_pool2d", 2, args.tensor(0), args[1]);
}
SL_OP(aten_adaptive_avg_pool3d) {
  // Means over whole volumes are allowed without channels; other output sizes are not.
  const Tensor& self = args.tensor(0);
  bool whole = true;
  for (int64_t n : args.ints(1, 3)) whole = whole && n == 1;
  SL_CHECK(whole || self.dim() < 4 || self.size(self.dim() - 4) > 0,
           "adaptive_avg_pool3d(): "
           "Expected input to have non-zero size for non-batch dimensions, but got sizes ",
           to_string(self.sizes()));
  out[0] = adaptive_average("adaptive_avg_pool3d", 3, args.tensor(0), args[1]);
}
SL_OP(aten__adaptive_avg_pool2d) { op_aten_adaptive_avg_pool2d(ctx, args, out); }
SL_OP(aten__adaptive_avg_pool3d) { op_aten_adaptive_avg_pool3d(ctx, args, out); }
SL_OP(aten_adaptive_max_pool1d) { adaptive_max("adaptive_max_pool1d", 1, args, out); }
SL_OP(aten_adaptive_max_pool2d) { adaptive_max("adaptive_max_pool2d", 2, args, out); }
SL_OP(aten_adaptive_max_pool3d) { adaptive_max("adaptive_max_pool3d", 3, args, out); }

}  // namespace scriptlang
