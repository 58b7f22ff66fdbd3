// Max-unpooling, and max-pooling over pseudo-random windows.
#include <algorithm>
#include <cmath>

#include "scratch.h"
#include "express.h"
#include "layout.h"
#include "pieces.h"
#include "reduce.h"

namespace scriptlang {

using namespace express;

namespace {

// Writes each value at its index into an otherwise zero plane of `n` dimensions.
Tensor max_unpool(const Tensor& self, const Tensor& indices, const Ints& output, int64_t n) {
  SL_CHECK(output.size() == n, "There should be exactly ", n, " elements in output_size, but got ",
           output.size(), " elements.");
  SL_CHECK(self.dim() == n + 1 || self.dim() == n + 2, "Input to max_unpooling", n,
           "d should be a ", n + 1, "d or ", n + 2, "d Tensor, but got size ",
           to_string(self.sizes()));
  SL_CHECK(indices.dtype() == ScalarType::Int64,
           "elements in indices should be type int64 but got: ", dtype_name(indices.dtype()));
  SL_CHECK(indices.sizes() == self.sizes(),
           "Expected shape of indices to be same as that of the "
           "input tensor (",
           to_string(self.sizes()),
           "), but got indices tensor with shape: ", to_string(indices.sizes()));
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end() - n);
  int64_t planes = checked_numel(sizes), volume = checked_numel(output);
  sizes.insert(sizes.end(), output.begin(), output.end());
  Tensor result = Tensor::zeros(sizes, self.dtype());
  Tensor x = to_contiguous(self), at = to_contiguous(indices);
  int64_t each = planes ? x.numel() / planes : 0, item = x.itemsize();
  const char* from = static_cast<const char*>(x.raw());
  char* to = static_cast<char*>(result.raw());
  in_pieces(x.numel(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t place = at.data<int64_t>()[i];
      SL_CHECK(place >= 0 && place < volume, "Found an invalid max index: ", place,
               " (output volumes are of size ", to_string(output), ")");
      std::copy_n(from + i * item, item, to + (i / each * volume + place) * item);
    }
  });
  return n == 2 ? in_format_of(result, self) : result;
}

// The starts of the windows: a pseudo-random sequence computed from `sample`.
template <class T>
Working<int64_t> intervals(T sample, int64_t size, int64_t out, int64_t kernel) {
  Working<int64_t> starts(as_size(out), size - kernel);
  if (out <= 1) return starts;
  T alpha = T(size - kernel) / T(out - 1);
  for (int64_t i = 0; i + 1 < out; ++i) {
    starts[size_t(i)] = int64_t((T(i) + sample) * alpha) - int64_t(sample * alpha);
    starts[size_t(i)] = std::clamp<int64_t>(starts[size_t(i)], 0, size - kernel);
  }
  return starts;
}

struct Fraction {
  int64_t sizes[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t volume() const { return sizes[0] * sizes[1] * sizes[2]; }
  int64_t results() const { return out[0] * out[1] * out[2]; }
};

template <class T>
void pool_plane(const Fraction& p, const T* x, const Working<int64_t>* starts, T* best,
                int64_t* places) {
  for (int64_t i = 0; i < p.out[0]; ++i)
    for (int64_t j = 0; j < p.out[1]; ++j)
      for (int64_t k = 0; k < p.out[2]; ++k, ++best, ++places) {
        kernels::worked(p.kernel[0] * p.kernel[1] * p.kernel[2]);
        int64_t a = starts[0][size_t(i)], b = starts[1][size_t(j)], c = starts[2][size_t(k)];
        *places = (a * p.sizes[1] + b) * p.sizes[2] + c;
        *best = x[*places];
        for (int64_t u = a; u < a + p.kernel[0]; ++u)
          for (int64_t v = b; v < b + p.kernel[1]; ++v)
            for (int64_t w = c; w < c + p.kernel[2]; ++w) {
              int64_t at = (u * p.sizes[1] + v) * p.sizes[2] + w;
              if (x[at] > *best || (std::isnan(x[at]) && !std::isnan(*best))) {
                *best = x[at];
                *places = at;
              }
            }
      }
}

void fractional_max_pool(const Tensor& self, int64_t n, const Ints& kernel, const Ints& output,
                         const Tensor& samples, Value* out) {
  SL_CHECK(self.dim() == n + 1 || self.dim() == n + 2, "fractional_max_pool", n, "d(): Expected a ",
           n + 1, "D or ", n + 2, "D tensor, but got size ", to_string(self.sizes()));
  SL_CHECK(samples.dtype() == self.dtype(),
           "Expect _random_samples to have the same dtype as input");
  SL_CHECK(kernel.size() == n && output.size() == n, "fractional_max_pool", n,
           "d: kernel_size and output_size must be a single int or a tuple of ", n, " ints");
  Fraction p;
  for (int64_t d = 0; d < n; ++d) {
    int64_t at = d + 3 - n;
    p.sizes[at] = self.size(self.dim() - n + d);
    p.kernel[at] = kernel[d];
    p.out[at] = output[d];
    SL_CHECK(kernel[d] > 0 && output[d] > 0 && kernel[d] <= p.sizes[at] &&
                 output[d] <= p.sizes[at] - kernel[d] + 1,
             "fractional_max_pool", n, "d(): pool size ", to_string(kernel), " with output size ",
             to_string(output), " is too large for input of size ", to_string(self.sizes()));
  }
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end() - n);
  int64_t planes = checked_numel(sizes);
  sizes.insert(sizes.end(), output.begin(), output.end());
  SL_CHECK(samples.dim() == 3 && samples.size(2) == n && samples.numel() == planes * n,
           "fractional_max_pool", n, "d: expected _random_samples with ", n,
           " numbers for each of ", planes, " planes, got size ", to_string(samples.sizes()));
  ScalarType type = self.dtype() == ScalarType::Float64 ? ScalarType::Float64 : ScalarType::Float32;
  if (!is_floating(self.dtype()))
    raise(ErrorKind::NotImplementedError, "\"fractional_max_pool", n, "d\" not implemented for '",
          dtype_display_name(self.dtype()), "'");
  Tensor x = contiguous_as(self, type), draws = contiguous_as(samples, type);
  Tensor best = Tensor::empty(sizes, type), places = Tensor::empty(sizes, ScalarType::Int64);
  auto pool = [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < planes; ++i) {
      Working<int64_t> starts[3] = {{0}, {0}, {0}};
      const T* draw = draws.data<T>() + i * n;
      for (int64_t d = 0; d < n; ++d) {
        int64_t at = d + 3 - n;
        // In two dimensions the first draw is for the width.
        T sample = n == 2 ? draw[1 - d] : draw[d];
        starts[at] = intervals(sample, p.sizes[at], p.out[at], p.kernel[at]);
      }
      pool_plane(p, x.data<T>() + i * p.volume(), starts, best.data<T>() + i * p.results(),
                 places.data<int64_t>() + i * p.results());
    }
  };
  if (type == ScalarType::Float64) pool(double());
  else pool(float());
  out[0] = to_dtype(best, self.dtype());
  out[1] = places;
}

}  // namespace

SL_OP(aten_max_unpool2d) { out[0] = max_unpool(args.tensor(0), args.tensor(1), args.ints(2), 2); }
SL_OP(aten_max_unpool3d) {
  const Ints stride = args.ints(3, 3);
  const Ints padding = args.ints(4);
  SL_CHECK(padding.size() == 3,
           "There should be exactly three elements (depth, height, width) in padding, but got: ",
           padding.size(), " elements.");
  SL_CHECK(std::all_of(stride.begin(), stride.end(), [](int64_t s) { return s > 0; }),
           "strides should be greater than zero, but got stride: ", to_string(stride));
  out[0] = max_unpool(args.tensor(0), args.tensor(1), args.ints(2), 3);
}
SL_OP(aten_fractional_max_pool2d) {
  fractional_max_pool(args.tensor(0), 2, args.ints(1, 2), args.ints(2, 2), args.tensor(3), out);
}
SL_OP(aten_fractional_max_pool3d) {
  fractional_max_pool(args.tensor(0), 3, args.ints(1, 3), args.ints(2, 3), args.tensor(3), out);
}

}  // namespace scriptlang
