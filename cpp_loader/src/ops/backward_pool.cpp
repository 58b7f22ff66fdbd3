// Derivatives of pooling: the gradient of an average is divided among its window, that of a maximum
// goes to the element it came from.
#include <algorithm>

#include "../../kernels/parallel.h"
#include "layout.h"
#include "pool.h"
#include "pool_planes.h"
#include "pointwise.h"
#include "reduce.h"
#include "row_kernels.h"
#include "scratch.h"

namespace scriptlang {

using namespace pools;

namespace {

// Checks that the gradient has the input's type and the same planes.
void check_gradient(const char* name, const Tensor& grad, const Tensor& self, int64_t n) {
  SL_CHECK(self.dim() == n + 1 || self.dim() == n + 2, name, "(): Expected ", n + 1, "D or ", n + 2,
           "D input tensor, but got: ", to_string(self.sizes()));
  SL_CHECK(grad.dtype() == self.dtype(), name, "(): expected a gradient of type ",
           dtype_name(self.dtype()), ", but got ", dtype_name(grad.dtype()));
  bool fits = grad.dim() == self.dim();
  for (int64_t d = 0; fits && d + n < self.dim(); ++d) fits = grad.size(d) == self.size(d);
  SL_CHECK(fits, name, "(): a gradient of size ", to_string(grad.sizes()),
           " does not fit an input of size ", to_string(self.sizes()));
}

// The memory layout of planes: one after the other, or, in channels-last format, those of an image
// interleaved. Threads work on blocks of up to kBlock channels.
struct Planes {
  int64_t images = 1, channels = 1;  // contiguous: all planes count as images of one channel
  int64_t in = 1, out = 1;           // elements of a plane, and of its result

  static constexpr int64_t kBlock = 64;  // channels

  Planes(const Tensor& self, int64_t n, int64_t in_pixels, int64_t out_pixels, bool last)
      : in(in_pixels), out(out_pixels) {
    for (int64_t d = 0; d + n < self.dim(); ++d) images *= self.size(d);
    if (!last) return;
    images = self.size(0);
    channels = self.size(1);
  }
  // Calls f(image, first channel, number of channels) for every block.
  template <class F>
  void for_each(int64_t work, F f) const {
    int64_t blocks = (channels + kBlock - 1) / kBlock;
    int64_t each = std::max<int64_t>(1, work * std::min(channels, kBlock));
    kernels::parallel_for(images * blocks, 32768 / each + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t first = i % blocks * kBlock;
        f(i / blocks, first, std::min(kBlock, channels - first));
      }
    });
  }
};

int64_t last_format(int64_t n) { return n == 2 ? kChannelsLast : kChannelsLast3d; }

// Whether the result is channels last.
bool goes_last(const Tensor& self, int64_t n) {
  return self.dim() == n + 2 && suggested_format(self) == last_format(n);
}

Tensor zeros_in_format(IntSpan sizes, ScalarType dtype, int64_t format) {
  Tensor t = empty_in_format(sizes, dtype, format);
  fill(t, Scalar(int64_t{0}));
  return t;
}

// ---- maxima

int64_t pixels_of(const Tensor& t, int64_t n) {
  int64_t pixels = 1;
  for (int64_t d = t.dim() - n; d < t.dim(); ++d) pixels *= t.size(d);
  return pixels;
}

[[noreturn]] void raise_index(int64_t index, int64_t size) {
  raise(ErrorKind::RuntimeError, "index ", index, " is out of bounds for dimension 2 with size ",
        size);
}

// Adds each gradient to the element at its index, which counts within its plane.
Tensor put_back(const char* name, const Tensor& grad, const Tensor& self, const Tensor& indices,
                int64_t n, bool keeps_format) {
  check_gradient(name, grad, self, n);
  SL_CHECK(grad.sizes() == indices.sizes(), name,
           ": grad_output and indices must have the same size");
  SL_CHECK(indices.dtype() == ScalarType::Int64, "expected scalar type Long but found ",
           dtype_display_name(indices.dtype()));
  ScalarType computed = computed_type(self.dtype(), name);
  const bool last = keeps_format && goes_last(self, n);
  const int64_t format = last ? last_format(n) : int64_t(kContiguous);
  Planes p(self, n, pixels_of(self, n), pixels_of(grad, n), last);
  Tensor g = in_format(to_dtype(grad, computed), format), at = in_format(indices, format);
  Tensor y = zeros_in_format(self.sizes(), computed, format);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    p.for_each(p.out, [&](int64_t image, int64_t first, int64_t count) {
      const T* from = g.data<T>() + image * p.out * p.channels + first;
      const int64_t* place = at.data<int64_t>() + image * p.out * p.channels + first;
      T* to = y.data<T>() + image * p.in * p.channels + first;
      for (int64_t o = 0; o < p.out; ++o, from += p.channels, place += p.channels) {
        if ((o & 1023) == 0) kernels::worked(std::min<int64_t>(1024, p.out - o) * count);
        for (int64_t c = 0; c < count; ++c) {
          if (uint64_t(place[c]) >= uint64_t(p.in)) raise_index(place[c], p.in);
          to[place[c] * p.channels + c] += from[c];
        }
      }
    });
  });
  return to_dtype(y, self.dtype());
}

// ---- averages

template <class T>
void add_to(int64_t n, T* y, const T* x) {
  for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}

// The columns of a pool: what each place of a row reads, and what it divides by.
struct Columns {
  Working<Range> ranges;
  Working<double> divisors;
  bool is_tiled = true;  // place o reads `tile` columns, from o * tile on
  int64_t tile;

  explicit Columns(const Average& a)
      : ranges(size_t(a.w.out[2])),
        divisors(size_t(a.w.out[2])),
        tile(a.w.out[2] > 0 ? a.w.in[2] / a.w.out[2] : 0) {
    for (int64_t o = 0; o < a.w.out[2]; ++o) {
      const Range r = ranges.data()[o] = a.range(2, o);
      divisors.data()[o] = a.part(2, o);
      is_tiled = is_tiled && r.first == o * tile && r.last == r.first + tile;
    }
  }
};

// Spreads the gradients of one plane. Each row is first spread over one row of the input, which is
// then added to all rows of its windows.
template <class T>
void spread_plane(const Average& a, const Columns& columns, const T* g, T* y, T* row) {
  const Window& w = a.w;
  const int64_t width = w.in[2], n = w.out[2];
  T* shares = row + width;
  for (int64_t d = 0; d < w.out[0]; ++d) {
    Range rd = a.range(0, d);
    for (int64_t h = 0; h < w.out[1]; ++h, g += n) {
      Range rh = a.range(1, h);
      if (rd.last <= rd.first || rh.last <= rh.first) continue;
      const double by = a.part(0, d) * a.part(1, h);
      const double* divisors = columns.divisors.data();
      for (int64_t o = 0; o < n; ++o) shares[o] = g[o] / T(by * divisors[o]);
      if (columns.is_tiled && columns.tile == 2) {
        for (int64_t o = 0; o < n; ++o) row[2 * o] = row[2 * o + 1] = shares[o];
        std::fill(row + 2 * n, row + width, T(0));
      } else {
        std::fill_n(row, width, T(0));
        for (int64_t o = 0; o < n; ++o) {
          const Range r = columns.ranges.data()[o];
          for (int64_t k = r.first; k < r.last; ++k) row[k] += shares[o];
          kernels::worked(std::max<int64_t>(1, r.last - r.first));
        }
      }
      for (int64_t i = rd.first; i < rd.last; ++i)
        for (int64_t j = rh.first; j < rh.last; ++j) {
          add_to(width, y + (i * w.in[1] + j) * width, row);
          kernels::multiplied(width);
        }
    }
  }
}

// Spreads `count` channels of a channels-last 2-d image; `share` is scratch memory for them.
template <class T>
void spread_last(const Average& a, int64_t channels, int64_t count, const T* g, T* y, T* share) {
  const Window& w = a.w;
  for (int64_t h = 0; h < w.out[1]; ++h) {
    Range rh = a.range(1, h);
    for (int64_t o = 0; o < w.out[2]; ++o, g += channels) {
      Range rw = a.range(2, o);
      T by = T(a.part(1, h) * a.part(2, o));
      for (int64_t c = 0; c < count; ++c) share[c] = g[c] / by;
      for (int64_t j = rh.first; j < rh.last; ++j)
        for (int64_t k = rw.first; k < rw.last; ++k) {
          add_to(count, y + (j * w.in[2] + k) * channels, share);
        }
      kernels::multiplied(taps_of({0, 1}, rh, rw) * count + 8);
    }
  }
}

Tensor average_back(const char* name, const Tensor& grad, const Tensor& self, const Average& a) {
  const Window& w = a.w;
  ScalarType computed = computed_type(self.dtype(), name);
  const bool last = w.n == 2 && goes_last(self, w.n);
  const int64_t format = last ? last_format(w.n) : int64_t(kContiguous);
  Planes p(self, w.n, w.in_pixels(), w.out_pixels(), last);
  Tensor g = in_format(to_dtype(grad, computed), format);
  Tensor y = zeros_in_format(self.sizes(), computed, format);
  const Columns columns(a);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    p.for_each(w.in_pixels() + w.out_pixels(), [&](int64_t image, int64_t first, int64_t count) {
      const T* from = g.data<T>() + image * p.out * p.channels + first;
      T* to = y.data<T>() + image * p.in * p.channels + first;
      Working<T> room(as_size(last ? count : w.in[2] + w.out[2]));
      if (last) spread_last(a, p.channels, count, from, to, room.data());
      else spread_plane(a, columns, from, to, room.data());
    });
  });
  return to_dtype(y, self.dtype());
}

Tensor average_pool_back(const char* name, int64_t n, Args args) {
  const Tensor &grad = args.tensor(0), &self = args.tensor(1);
  check_gradient(name, grad, self, n);
  Average a;
  a.w = window(name, self, n, args.ints(2), args.ints(3), args.ints(4), Ints(), args.boolean(5));
  a.count_padding = args.boolean(6);
  if (!args.none(7)) {
    a.divisor = args.integer(7);
    SL_CHECK(a.divisor != 0, "divisor must be not zero");
  }
  Sizes expected = result_sizes(self, a.w);
  SL_CHECK(grad.sizes() == IntSpan(expected), name, "(): a gradient of size ",
           to_string(grad.sizes()), " does not fit a pool of size ", to_string(IntSpan(expected)));
  return average_back(name, grad, self, a);
}

Tensor adaptive_average_back(const char* name, int64_t n, const Tensor& grad, const Tensor& self) {
  check_gradient(name, grad, self, n);
  Average a;
  a.adaptive = true;
  a.w.n = n;
  for (int64_t i = 0; i < n; ++i) {
    a.w.in[3 - n + i] = self.size(self.dim() - n + i);
    a.w.out[3 - n + i] = grad.size(grad.dim() - n + i);
    SL_CHECK(a.w.in[3 - n + i] > 0 && a.w.out[3 - n + i] > 0, name,
             "(): Expected grad_output to have non-zero size for non-batch dimensions, but "
             "grad_output has sizes ",
             to_string(grad.sizes()), ", and the input ", to_string(self.sizes()));
  }
  return average_back(name, grad, self, a);
}

}  // namespace

static void check_window(const char* name, int64_t n, Args args) {
  window(name, args.tensor(1), n, args.ints(2), args.ints(3), args.ints(4), args.ints(5),
         args.boolean(6));
}
SL_OP(aten_max_pool2d_with_indices_backward) {
  check_window("max_pool2d", 2, args);
  out[0] = put_back("max_pool2d_with_indices_backward", args.tensor(0), args.tensor(1),
                    args.tensor(7), 2, true);
}
SL_OP(aten_max_pool3d_with_indices_backward) {
  check_window("max_pool3d", 3, args);
  out[0] = put_back("max_pool3d_with_indices_backward", args.tensor(0), args.tensor(1),
                    args.tensor(7), 3, true);
}
SL_OP(aten_adaptive_max_pool2d_backward) {
  out[0] = put_back("adaptive_max_pool2d_backward", args.tensor(0), args.tensor(1), args.tensor(2),
                    2, true);
}
SL_OP(aten_adaptive_max_pool3d_backward) {
  out[0] = put_back("adaptive_max_pool3d_backward", args.tensor(0), args.tensor(1), args.tensor(2),
                    3, false);
}
SL_OP(aten_fractional_max_pool2d_backward) {
  out[0] = put_back("fractional_max_pool2d_backward", args.tensor(0), args.tensor(1),
                    args.tensor(4), 2, false);
}
SL_OP(aten_fractional_max_pool3d_backward) {
  out[0] = put_back("fractional_max_pool3d_backward", args.tensor(0), args.tensor(1),
                    args.tensor(4), 3, false);
}
SL_OP(aten_avg_pool2d_backward) { out[0] = average_pool_back("avg_pool2d_backward", 2, args); }
SL_OP(aten_avg_pool3d_backward) { out[0] = average_pool_back("avg_pool3d_backward", 3, args); }
SL_OP(aten__adaptive_avg_pool2d_backward) {
  out[0] = adaptive_average_back("adaptive_avg_pool2d_backward", 2, args.tensor(0), args.tensor(1));
}
SL_OP(aten__adaptive_avg_pool3d_backward) {
  out[0] = adaptive_average_back("adaptive_avg_pool3d_backward", 3, args.tensor(0), args.tensor(1));
}

}  // namespace scriptlang
