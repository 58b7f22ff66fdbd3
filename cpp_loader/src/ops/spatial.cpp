// Sampling grids, patches as columns, and bags of embeddings.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "../../kernels/grid.h"
#include "../../kernels/parallel.h"
#include "express.h"
#include "index.h"
#include "join.h"
#include "linalg.h"
#include "row_kernels.h"

namespace scriptlang {

using namespace express;

namespace {

using kernels::GridSample;

// Samples of volumes, whose positions are computed in another order than those in images, as
// PyTorch's are.
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

  // Moves a position that lies outside back in, as is asked for.
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

// Of a position: -100, which no volume has, for what is far away or NaN.
template <class T>
int64_t place_of(T x) {
  return std::abs(x) < T(1e9) ? int64_t(x) : -100;
}

// Where one element of the result reads along one dimension, with weights.
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

// One element of all channels, from whatever is inside of the volume.
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
    // Places in larger planes do not fit int32, which go with float32.
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

// The base grid [size] positions from -1 to 1.
Tensor axis(int64_t size, bool align_corners, ScalarType dtype) {
  Tensor t = Tensor::empty({size}, ScalarType::Float64);
  for (int64_t i = 0; i < size; ++i) {
    double x = size > 1 ? -1 + 2 * double(i) / double(size - 1) : 0.0;
    t.data<double>()[i] = align_corners ? x : x * double(size - 1) / double(size);
  }
  return to_dtype(t, dtype);
}

// to[image][..][d] = theta[image][d] times (x, y, [z,] 1) of every place.
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

// ---- im2col and col2im

struct Patches {
  int64_t kernel[2], dilation[2], padding[2], stride[2], image[2], out[2];
};

Patches patches(const Ints& kernel, const Ints& dilation, const Ints& padding, const Ints& stride,
                int64_t height, int64_t width) {
  Patches p;
  const int64_t image[2] = {height, width};
  for (int64_t i = 0; i < 2; ++i) {
    for (const Ints* v : {&kernel, &dilation, &padding, &stride}) {
      SL_CHECK(v->size() == 2,
               "It is expected kernel_size, dilation, padding and stride equals to 2, but got "
               "size ",
               v->size());
    }
    p.kernel[i] = kernel[i];
    p.dilation[i] = dilation[i];
    p.padding[i] = padding[i];
    p.stride[i] = stride[i];
    p.image[i] = image[i];
    constexpr int64_t kLimit = int64_t{1} << 31;
    SL_CHECK(p.kernel[i] > 0 && p.dilation[i] > 0 && p.padding[i] >= 0 && p.stride[i] > 0 &&
                 p.kernel[i] < kLimit && p.dilation[i] < kLimit && p.padding[i] < kLimit &&
                 p.image[i] < kLimit,
             "kernel size, dilation and stride should be greater than zero and padding not "
             "negative");
    int64_t room = p.image[i] + 2 * p.padding[i] - p.dilation[i] * (p.kernel[i] - 1) - 1;
    SL_CHECK(room >= 0, "Given input with spatial size (", height, ", ", width,
             "), the calculated shape of the array of sliding blocks is not positive: its "
             "components must be at least one.");
    p.out[i] = room / p.stride[i] + 1;
  }
  return p;
}

// f(place in the image or -1, place in the columns) for every tap of every block.
template <class F>
void for_taps(const Patches& p, F f) {
  int64_t blocks = p.out[0] * p.out[1], column = 0;
  for (int64_t i = 0; i < p.kernel[0]; ++i)
    for (int64_t j = 0; j < p.kernel[1]; ++j, column += blocks)
      for (int64_t y = 0; y < p.out[0]; ++y)
        for (int64_t x = 0; x < p.out[1]; ++x) {
          int64_t h = y * p.stride[0] - p.padding[0] + i * p.dilation[0];
          int64_t w = x * p.stride[1] - p.padding[1] + j * p.dilation[1];
          bool in = h >= 0 && h < p.image[0] && w >= 0 && w < p.image[1];
          f(in ? h * p.image[1] + w : -1, column + y * p.out[1] + x);
        }
}

Tensor im2col(Args args) {
  const Tensor& self = args.tensor(0);
  SL_CHECK(self.dim() == 3 || self.dim() == 4,
           "Expected 3D or 4D (batch mode) tensor with "
           "possibly 0 batch size and other non-zero dimensions for input, but got: ",
           to_string(self.sizes()));
  Tensor t = to_contiguous(self.dim() == 3 ? view_unsqueeze(self, 0) : self);
  Patches p = patches(args.ints(1), args.ints(2), args.ints(3), args.ints(4), t.size(2), t.size(3));
  int64_t taps = p.kernel[0] * p.kernel[1], blocks = p.out[0] * p.out[1], rows;
  SL_CHECK(!__builtin_mul_overflow(t.size(1), taps, &rows), "im2col: the result is too large");
  Tensor out = Tensor::zeros({t.size(0), rows, blocks}, t.dtype());
  int64_t size = t.itemsize(), plane = t.size(2) * t.size(3);
  for (int64_t i = 0; i < t.size(0) * t.size(1); ++i) {
    const char* from = static_cast<char*>(t.raw()) + i * plane * size;
    char* to = static_cast<char*>(out.raw()) + i * taps * blocks * size;
    for_taps(p, [&](int64_t at, int64_t column) {
      if (at >= 0) std::memcpy(to + column * size, from + at * size, size_t(size));
    });
  }
  return self.dim() == 3 ? view_squeeze(out, {0}) : out;
}

Tensor col2im(Args args) {
  const Tensor& self = args.tensor(0);
  SL_CHECK(self.dim() == 2 || self.dim() == 3,
           "Expected 2D or 3D (batch mode) tensor for input "
           "with possibly 0 batch size and non-zero dimensions for input, but got: ",
           to_string(self.sizes()));
  Ints image = args.ints(1);
  SL_CHECK(image.size() == 2 && image[0] > 0 && image[1] > 0,
           "It is expected output_size equals to 2 positive values");
  Patches p = patches(args.ints(2), args.ints(3), args.ints(4), args.ints(5), image[0], image[1]);
  Tensor t = self.dim() == 2 ? view_unsqueeze(self, 0) : self;
  int64_t taps, blocks = p.out[0] * p.out[1];
  SL_CHECK(!__builtin_mul_overflow(p.kernel[0], p.kernel[1], &taps) && t.size(1) % taps == 0,
           "Expected size of input's dimension 1 to be divisible by the product of kernel_size");
  SL_CHECK(t.size(2) == blocks, "Given output_size=", to_string(image),
           ", expected size of "
           "input's dimension 2 to match the calculated number of sliding blocks ",
           p.out[0], " * ", p.out[1], " = ", blocks, ", but got input.size(2)=", t.size(2), ".");
  ScalarType computed = computed_type(t.dtype(), "col2im_out_cpu");
  Tensor x = contiguous_as(t, computed);
  int64_t channels = t.size(1) / taps, plane = image[0] * image[1];
  Tensor out = Tensor::zeros({t.size(0), channels, image[0], image[1]}, computed);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < t.size(0) * channels; ++i) {
      const T* from = x.data<T>() + i * taps * blocks;
      T* to = out.data<T>() + i * plane;
      for_taps(p, [&](int64_t at, int64_t column) {
        if (at >= 0) to[at] += from[column];
      });
    }
  });
  out = to_dtype(out, self.dtype());
  return self.dim() == 2 ? view_squeeze(out, {0}) : out;
}

// ---- bags of embeddings: modes 0 sum, 1 mean, 2 max

void embedding_bag(Args args, Value* out, int64_t padding) {
  const Tensor& weight = args.tensor(0);
  Tensor indices = args.tensor(1), offsets = args.tensor(2);
  int64_t mode = args.integer(4);
  const Tensor& scales = args.opt_tensor(6);
  SL_CHECK(weight.dim() == 2, "embedding_bag: weight has to be a 2D Tensor, but got ", weight.dim(),
           "D");
  SL_CHECK(indices.dim() == 1 && offsets.dim() == 1,
           "embedding_bag: input and offsets have to be 1D Tensors");
  SL_CHECK(mode >= 0 && mode <= 2, "embedding_bag: unknown mode ", mode);
  SL_CHECK(!scales.defined() || (mode == 0 && scales.sizes() == indices.sizes()),
           "embedding_bag: per_sample_weights need mode='sum' and the shape of the input");
  bool last = args.boolean(7);
  indices = contiguous_as(indices, ScalarType::Int64);
  offsets = contiguous_as(offsets, ScalarType::Int64);
  int64_t count = indices.numel(), bags = offsets.numel() - last, width = weight.size(1);
  SL_CHECK(bags >= 0, "embedding_bag: include_last_offset needs at least one offset");
  const int64_t *at = indices.data<int64_t>(), *start = offsets.data<int64_t>();
  int64_t rows = weight.size(0);
  if (padding < 0 && padding != -1) padding += rows;
  ScalarType computed = computed_type(weight.dtype(), "embedding_bag");
  Tensor w = contiguous_as(weight, computed), y = Tensor::zeros({bags, width}, computed);
  Tensor s = scales.defined() ? contiguous_as(scales, computed) : Tensor();
  // What lies behind the last offset counts to the last bag; -1 where there is none.
  Tensor bag_of = Tensor::empty({count}, ScalarType::Int64);
  std::fill_n(bag_of.data<int64_t>(), count, bags - 1);
  Tensor sizes = Tensor::zeros({bags}, ScalarType::Int64);
  Tensor places = Tensor::zeros({mode == 2 ? bags : 0, mode == 2 ? width : 0}, ScalarType::Int64);
  Tensor scaled = s.defined() ? Tensor::empty({width}, computed) : Tensor();
  const kernels::Loop add = kernels::loops(kernels::Binary::k_add)[computed];
  const kernels::Loop multiply = kernels::loops(kernels::Binary::k_mul)[computed];
  constexpr int64_t kBoth[] = {1, 1}, kBySame[] = {1, 0};
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t b = 0; b < bags; ++b) {
      int64_t first = start[b], end = b + 1 < offsets.numel() ? start[b + 1] : count;
      SL_CHECK(first >= 0 && first <= end && end <= count && (b > 0 || first == 0),
               "embedding_bag: offsets have to be increasing, start at 0 and not pass the length "
               "of the input, ",
               count);
      T* to = y.data<T>() + b * width;
      int64_t used = 0;
      for (int64_t i = first; i < end; ++i) {
        bag_of.data<int64_t>()[i] = b;
        if (at[i] < 0 || at[i] >= rows) {
          raise(ErrorKind::IndexError, "embedding_bag: index out of range in self: ", at[i]);
        }
        if (at[i] == padding) continue;
        const T* from = w.data<T>() + at[i] * width;
        if (mode != 2) {
          const void* operands[] = {to, from};
          if (scaled.defined()) {
            const T* scale = s.data<T>() + i;
            const void* product[] = {from, scale};
            multiply(width, scaled.raw(), product, kBySame, nullptr);
            operands[1] = scaled.raw();
          }
          add(width, to, operands, kBoth, nullptr);
        } else {
          int64_t* place = places.data<int64_t>() + b * width;
          for (int64_t j = 0; j < width; ++j) {
            if (used > 0 && !(from[j] > to[j])) continue;
            to[j] = from[j];
            place[j] = at[i];
          }
        }
        ++used;
      }
      if (mode != 0) sizes.data<int64_t>()[b] = used;
      if (mode == 1 && used > 0) {
        for (int64_t j = 0; j < width; ++j) to[j] /= T(used);
      }
    }
  });
  out[0] = to_dtype(y, weight.dtype());
  // PyTorch's fast way does not say what bag an index is in, and sums are not counted.
  const bool fast =
      mode == 0 && padding < 0 && weight.stride(1) == 1 && weight.dtype() != ScalarType::Float64;
  const ScalarType type = args.tensor(1).dtype();
  out[1] = to_dtype(fast ? Tensor::empty({0}, type) : bag_of, type);
  out[2] = to_dtype(sizes, type);
  out[3] = express::clone(to_dtype(mode == 2 ? places : sizes, type));
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
SL_OP(aten_im2col) { out[0] = im2col(args); }
SL_OP(aten_col2im) { out[0] = col2im(args); }
SL_OP(aten_embedding_bag) { embedding_bag(args, out, -1); }
SL_OP(aten_embedding_bag_padding_idx) {
  // Here -1 is the last row; None stands for no padding.
  int64_t rows = args.tensor(0).dim() ? args.tensor(0).size(0) : 0, padding = args.integer(8, -1);
  SL_CHECK(args.none(8) || (padding >= -rows && padding < rows),
           "padding_idx must be within the number of embeddings, -", rows, " through ", rows - 1,
           ", but got ", padding);
  if (!args.none(8) && padding < 0) padding += rows;
  embedding_bag(args, out, padding);
}
SL_OP(aten__embedding_bag) { embedding_bag(args, out, args.integer(8)); }
SL_OP(aten__weight_norm) {
  const Tensor& v = args.tensor(0);
  const Tensor& g = args.tensor(1);
  int64_t dim = args.integer(2);
  SL_CHECK(is_floating(v.dtype()) || is_complex(v.dtype()),
           "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ",
           dtype_display_name(v.dtype()));
  if (v.dim() == 0 && dim != -1) wrap_dim(dim, 0);
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < v.dim(); ++d) {
    if (dim == -1 || d != wrap_dim(dim, v.dim())) dims.push_back(d);
  }
  Tensor size = sqrt(sum_over(mul(v, v), dims, true)), lengths = g;
  if (dim == 0 || dim == v.dim() - 1) {
    SL_CHECK(g.numel() == size.numel(), "_weight_norm: expected a length for each of ",
             size.numel(), " vectors, got ", g.numel());
    lengths = reshape(g, size.sizes());
  }
  out[0] = mul(v, div(lengths, size));
}

}  // namespace scriptlang
