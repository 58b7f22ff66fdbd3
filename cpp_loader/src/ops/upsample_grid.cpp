// Sampling images and volumes at the positions of a grid, and affine grids.
#include <algorithm>
#include <cmath>

#include "../../kernels/grid.h"
#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "express.h"
#include "row_kernels.h"

namespace scriptlang {

using namespace express;

namespace {

using kernels::GridSample;

// Samples volumes. As in PyTorch, positions are computed in another order than those in images.
struct VolumeSampler {
  kernels::Interpolation interpolation;
  kernels::Outside outside;
  bool align_corners;

  // From [-1, 1] to element positions.
  template <class T>
  T position(T x, int64_t size) const {
    T last = T(size - 1), all = T(size);
    return align_corners ? (x + 1) / 2 * last : ((x + 1) * all - 1) / 2;
  }

  // Moves a position outside back in, as the padding mode says.
  template <class T>
  T inside(T x, int64_t size) const {
    const T last = T(size - 1);
    if (outside == kernels::Outside::kReflection) x = reflected(x, size);
    if (outside == kernels::Outside::kZeros) return std::isfinite(x) ? x : T(-100);
    x = x < 0 ? T(0) : x;
    return x < last ? x : last;
  }
  template <class T>
  T reflected(T x, int64_t size) const {
    T low = align_corners ? T(0) : T(-0.5), span = align_corners ? T(size - 1) : T(size);
    if (span <= 0) return T(0);
    T distance = std::abs(x - low), extra = std::fmod(distance, span);
    bool even = std::fmod(std::floor(distance / span), T(2)) == 0;
    return (even ? extra : span - extra) + low;
  }
};

// Converts a position to an index; far away or NaN gives -100, which is outside of every volume.
template <class T>
int64_t place_of(T x) {
  return std::abs(x) < T(1e9) ? int64_t(x) : -100;
}

// The elements, with weights, that one result element reads along one dimension.
template <class T>
struct Taps {
  int count = 0;
  int64_t place[2];
  T weight[2];

  Taps(const VolumeSampler& s, T x, int64_t size) {
    T at = s.inside(s.position(x, size), size);
    if (s.interpolation == kernels::Interpolation::kNearest) {
      add(place_of(std::nearbyint(at)), T(1), size);
      return;
    }
    T floor = std::floor(at);
    add(place_of(floor), floor + 1 - at, size);
    add(place_of(floor + 1), at - floor, size);
  }
  void add(int64_t p, T w, int64_t size) {
    if (p < 0 || p >= size) return;
    place[count] = p;
    weight[count++] = w;
  }
};

// Computes one element of all channels, from those taps that are inside the volume.
template <class T>
void sample_element(const VolumeSampler& s, const T* at, const int64_t* sizes, const T* plane,
                    int64_t channels, T* to, int64_t to_step) {
  Taps<T> x(s, at[0], sizes[2]), y(s, at[1], sizes[1]), z(s, at[2], sizes[0]);
  for (int64_t c = 0; c < channels; ++c, plane += sizes[0] * sizes[1] * sizes[2]) {
    T total = 0;
    for (int a = 0; a < z.count; ++a)
      for (int b = 0; b < y.count; ++b) {
        const T* row = plane + (z.place[a] * sizes[1] + y.place[b]) * sizes[2];
        for (int k = 0; k < x.count; ++k) {
          total += row[x.place[k]] * x.weight[k] * y.weight[b] * z.weight[a];
        }
      }
    to[c * to_step] = total;
  }
}

template <class T>
void sample(const GridSample& s, const Tensor& input, const Tensor& grid, const Tensor& out) {
  const int64_t n = input.dim() - 2, images = input.size(0), channels = input.size(1);
  const int64_t pixels = out.numel() / (images * channels);
  const int64_t in_pixels = input.numel() / (images * channels);
  const VolumeSampler volume{s.interpolation, s.outside, s.align_corners};
  kernels::parallel_for(images * pixels, 4096 / channels + 1, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      int64_t image = begin / pixels, pixel = begin % pixels;
      int64_t count = std::min(end - begin, pixels - pixel);
      const T* at = grid.data<T>() + begin * n;
      const T* planes = input.data<T>() + image * channels * in_pixels;
      T* to = out.data<T>() + image * channels * pixels + pixel;
      if (n == 2) {
        kernels::kernels().grid->of(T())(s, count, at, channels, planes, to, pixels);
      } else {
        for (int64_t i = 0; i < count; ++i) {
          sample_element(volume, at + i * n, input.sizes().data + 2, planes, channels, to + i,
                         pixels);
        }
      }
      begin += count;
    }
  });
}

Tensor grid_sample(const Tensor& input, const Tensor& grid, int64_t interpolation, int64_t outside,
                   bool align_corners) {
  int64_t n = input.dim() - 2;
  SL_CHECK(n == 2 || n == 3,
           "grid_sampler(): expected 4D or 5D input and grid with same number of "
           "dimensions, but got input with sizes ",
           to_string(input.sizes()), " and grid with sizes ", to_string(grid.sizes()));
  SL_CHECK(grid.dim() == input.dim() && grid.size(0) == input.size(0),
           "grid_sampler(): expected grid and input to have same batch size, but got input with "
           "sizes ",
           to_string(input.sizes()), " and grid with sizes ", to_string(grid.sizes()));
  SL_CHECK(grid.size(grid.dim() - 1) == n, "grid_sampler(): expected grid to have size ", n,
           " in last dimension, but got grid with sizes ", to_string(grid.sizes()));
  SL_CHECK(input.dtype() == grid.dtype(),
           "grid_sampler(): expected input and grid to have same "
           "dtype, but input has ",
           dtype_name(input.dtype()), " and grid has ", dtype_name(grid.dtype()));
  SL_CHECK(interpolation >= 0 && interpolation <= 2 && outside >= 0 && outside <= 2,
           "grid_sampler(): unknown interpolation or padding mode");
  SL_CHECK(n == 2 || interpolation != int64_t(kernels::Interpolation::kBicubic),
           "grid_sampler(): bicubic interpolation only supports 4D input");
  for (int64_t d = 2; d < input.dim(); ++d) {
    SL_CHECK(input.size(d) > 0,
             "grid_sampler(): expected input to have non-empty spatial "
             "dimensions, but input has sizes ",
             to_string(input.sizes()));
  }
  ScalarType computed = computed_type(input.dtype(), "grid_sampler");
  GridSample s{kernels::Interpolation(interpolation), kernels::Outside(outside), align_corners};
  if (n == 2) {
    s.height = input.size(2);
    s.width = input.size(3);
    s.steps = input.dtype() == ScalarType::BFloat16  ? kernels::Steps::kBfloat16
              : input.dtype() == ScalarType::Float16 ? kernels::Steps::kFloat16
                                                     : kernels::Steps::kExact;
    // Indices in larger planes do not fit int32, which the float32 path uses.
    if (s.height > INT32_MAX / s.width) computed = ScalarType::Float64;
  }
  std::vector<int64_t> sizes{input.size(0), input.size(1)};
  for (int64_t d = 1; d <= n; ++d) sizes.push_back(grid.size(d));
  Tensor out = Tensor::empty(sizes, computed);
  Tensor x = contiguous_as(input, computed), g = contiguous_as(grid, computed);
  if (out.numel() > 0) {
    for_float_type(computed, [&](auto zero) { sample<decltype(zero)>(s, x, g, out); });
  }
  return to_dtype(out, input.dtype());
}

// The positions of an affine grid along one axis, from -1 to 1.
Tensor axis(int64_t size, bool align_corners, ScalarType dtype) {
  Tensor t = Tensor::empty({size}, ScalarType::Float64);
  for (int64_t i = 0; i < size; ++i) {
    double x = size > 1 ? -1 + 2 * double(i) / double(size - 1) : 0.0;
    t.data<double>()[i] = align_corners ? x : x * double(size - 1) / double(size);
  }
  return to_dtype(t, dtype);
}

// to[image][...][d] = theta[image][d] times (x, y, [z,] 1), for every position.
template <class T>
void fill_affine_grid(const Tensor& theta, const Tensor* axes, int64_t n, const Tensor& to) {
  const T* x = axes[0].data<T>();
  const int64_t width = axes[0].numel(), height = axes[1].numel();
  const int64_t depth = n == 3 ? axes[2].numel() : 1, rows = theta.size(0) * depth * height;
  kernels::parallel_for(to.numel() ? rows : 0, 8192 / std::max<int64_t>(1, width) + 1,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t row = begin; row < end; ++row) {
                            const T* f = theta.data<T>() + row / (height * depth) * n * (n + 1);
                            T* out = to.data<T>() + row * width * n;
                            for (int64_t d = 0; d < n; ++d, f += n + 1) {
                              T fixed = f[1] * axes[1].data<T>()[row % height];
                              if (n == 3) fixed += f[2] * axes[2].data<T>()[row / height % depth];
                              for (int64_t i = 0; i < width; ++i)
                                out[i * n + d] = f[0] * x[i] + fixed + f[n];
                            }
                          }
                        });
}

Tensor affine_grid(const Tensor& theta, const Ints& size, bool align_corners) {
  int64_t n = size.size() - 2;
  SL_CHECK((n == 2 || n == 3) && theta.dim() == 3 && theta.size(0) == size[0] &&
               theta.size(1) == n && theta.size(2) == n + 1,
           "Expected a batch of affine matrices of shape Nx", n, "x", n + 1, " for size ",
           to_string(size), ". Got ", to_string(theta.sizes()));
  std::vector<int64_t> sizes{size[0]};
  sizes.insert(sizes.end(), size.begin() + 2, size.end());
  sizes.push_back(n);
  const ScalarType computed = computed_type(theta.dtype(), "affine_grid");
  Tensor to = Tensor::empty(sizes, computed), factors = contiguous_as(theta, computed);
  Tensor axes[3];  // x first
  for (int64_t d = 0; d < n; ++d) {
    axes[d] = to_dtype(axis(size[1 + n - d], align_corners, theta.dtype()), computed);
  }
  for_float_type(computed,
                 [&](auto zero) { fill_affine_grid<decltype(zero)>(factors, axes, n, to); });
  return to_dtype(to, theta.dtype());
}

void check_sampled(Args args, int64_t rank) {
  const Tensor &input = args.tensor(0), &grid = args.tensor(1);
  SL_CHECK(input.dim() == rank && grid.dim() == rank, "grid_sampler(): expected ", rank,
           "D input and grid, but got sizes ", to_string(input.sizes()), " and ",
           to_string(grid.sizes()));
}

}  // namespace

SL_OP(aten_grid_sampler) {
  out[0] = grid_sample(args.tensor(0), args.tensor(1), args.integer(2), args.integer(3),
                       args.boolean(4));
}
SL_OP(aten_grid_sampler_2d) {
  check_sampled(args, 4);
  op_aten_grid_sampler(ctx, args, out);
}
SL_OP(aten_grid_sampler_3d) {
  check_sampled(args, 5);
  op_aten_grid_sampler(ctx, args, out);
}
SL_OP(aten_affine_grid_generator) {
  out[0] = affine_grid(args.tensor(0), args.ints(1), args.boolean(2));
}

}  // namespace scriptlang
