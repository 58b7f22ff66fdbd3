// Sampling grids, patches as columns, and bags of embeddings.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "../../kernels/parallel.h"
#include "express.h"
#include "index.h"
#include "join.h"
#include "linalg.h"
#include "row_kernels.h"

namespace scriptlang {

using namespace express;

namespace {

enum Interpolation : int64_t { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

// Positions in images are computed in another order than those in volumes, as PyTorch's are; and in
// images NaN is the first pixel where pixels are repeated, and else makes the sample NaN.
struct Sampler {
  int64_t interpolation, padding;
  bool align_corners;
  bool flat = true;  // an image, not a volume

  // From [-1, 1] to element positions.
  template <class T>
  T position(T x, int64_t size) const {
    T last = T(size - 1), all = T(size);
    if (flat) return align_corners ? (x + 1) * (last / 2) : (x + 1) * (all / 2) - T(0.5);
    return align_corners ? (x + 1) / 2 * last : ((x + 1) * all - 1) / 2;
  }

  // Moves a position that lies outside back in, as the padding mode says.
  template <class T>
  T inside(T x, int64_t size) const {
    const T last = T(size - 1);
    if (padding == kReflection) x = reflected(x, size);
    if (padding == kZeros) return flat || std::isfinite(x) ? x : T(-100);
    if (flat) return std::min(x > 0 ? x : T(0), last);
    x = x < 0 ? T(0) : x;
    return x < last ? x : last;
  }
  template <class T>
  T reflected(T x, int64_t size) const {
    T low = align_corners ? T(0) : T(-0.5), span = align_corners ? T(size - 1) : T(size);
    if (span <= 0) return T(0);
    T distance = std::abs(x - low);
    if (flat) {
      T extra = distance - std::trunc(distance / (2 * span)) * (2 * span);
      T back = 2 * span - extra;
      return (back < extra ? back : extra) + low;
    }
    T extra = std::fmod(distance, span);
    bool even = std::fmod(std::floor(distance / span), T(2)) == 0;
    return (even ? extra : span - extra) + low;
  }
};

// Of a position: -100, which no image has, for what is far away or NaN.
template <class T>
int64_t place_of(T x) {
  return std::abs(x) < T(1e9) ? int64_t(x) : -100;
}

template <class T>
T cubic_weight(int k, T t) {
  constexpr T a = T(-0.75);
  T x = k == 0 ? t + 1 : k == 1 ? t : k == 2 ? 1 - t : 2 - t;
  if (k == 1 || k == 2) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

// Where one output pixel reads along one dimension, with weights. At most four taps.
template <class T>
struct Taps {
  int count = 0;
  int64_t place[4];
  T weight[4];
  T start = 0;  // NaN where the weights are

  Taps(const Sampler& s, T x, int64_t size) {
    T at = s.position(x, size);
    if (s.interpolation != kBicubic) at = s.inside(at, size);
    if (s.interpolation == kNearest) {
      add(place_of(std::nearbyint(at)), T(1), size);
      return;
    }
    T floor = std::floor(at);
    start = (at - floor) * 0;
    if (s.interpolation == kBicubic) {
      for (int k = 0; k < 4; ++k) {
        add(place_of(s.inside(floor + T(k - 1), size)), cubic_weight(k, at - floor), size);
      }
      return;
    }
    add(place_of(floor), floor + 1 - at, size);
    add(place_of(floor + 1), at - floor, size);
  }
  void add(int64_t p, T w, int64_t size) {
    if (p < 0 || p >= size) return;
    place[count] = p;
    weight[count++] = w;
  }
};

// Bilinear samples of pixels whose four neighbours are all inside: where the first of them is, and
// their weights, of many pixels side by side, so that loops over them have vectors.
template <class T>
struct Fours {
  static constexpr int kMost = 256;
  int32_t place[kMost], inside[kMost];
  T weight[4][kMost];
  int count = 0, outside = 0;

  // From the grid's positions, n <= kMost.
  void find(const Sampler& s, const T* grid, int n, int64_t h, int64_t w) {
    T x[kMost], y[kMost];
    for (int i = 0; i < n; ++i) {
      x[i] = s.position(grid[2 * i], w);
      y[i] = s.position(grid[2 * i + 1], h);
    }
    count = n;
    outside = 0;
    const T last_x = T(w - 1), last_y = T(h - 1);
    const int32_t width = int32_t(w);
    for (int i = 0; i < n; ++i) {
      int32_t ok = int32_t(x[i] >= T(0)) & int32_t(x[i] < last_x) & int32_t(y[i] >= T(0)) &
                   int32_t(y[i] < last_y);
      T across = ok ? x[i] : T(0), down = ok ? y[i] : T(0);
      int32_t left = int32_t(across), top = int32_t(down);
      T right = across - T(left), below = down - T(top);
      inside[i] = ok;
      outside += 1 - ok;
      place[i] = top * width + left;
      weight[0][i] = (1 - right) * (1 - below);
      weight[1][i] = right * (1 - below);
      weight[2][i] = (1 - right) * below;
      weight[3][i] = right * below;
    }
  }
  // Those outside are given something, too, if the plane has two rows and columns.
  void sample(const T* plane, int64_t w, T* to) const {
    for (int i = 0; i < count; ++i) {
      const T* from = plane + place[i];
      to[i] = from[0] * weight[0][i] + from[1] * weight[1][i] + from[w] * weight[2][i] +
              from[w + 1] * weight[3][i];
    }
  }
};

// One pixel of all channels, from whatever is inside of the image.
template <class T>
void sample_pixel(const Sampler& s, const T* at, int64_t n, int64_t depth, int64_t h, int64_t w,
                  const T* plane, int64_t channels, T* to, int64_t pixels) {
  Taps<T> x(s, at[0], w), y(s, at[1], h), z(s, n == 3 ? at[2] : T(0), depth);
  for (int64_t c = 0; c < channels; ++c, plane += depth * h * w) {
    T total = x.start + y.start;
    for (int a = 0; a < (n == 3 ? z.count : 1); ++a) {
      const T* layer = plane + (n == 3 ? z.place[a] * h * w : 0);
      T weight = n == 3 ? z.weight[a] : T(1);
      for (int b = 0; b < y.count; ++b)
        for (int k = 0; k < x.count; ++k) {
          total += layer[y.place[b] * w + x.place[k]] * x.weight[k] * y.weight[b] * weight;
        }
    }
    to[c * pixels] = total;
  }
}

template <class T>
void sample(const Sampler& s, const Tensor& input, const Tensor& grid, const Tensor& out) {
  int64_t n = input.dim() - 2, channels = input.size(1), pixels = 1, in_pixels = 1;
  for (int64_t d = 2; d < input.dim(); ++d) {
    pixels *= out.size(d);
    in_pixels *= input.size(d);
  }
  int64_t depth = n == 3 ? input.size(2) : 1, h = input.size(n), w = input.size(n + 1);
  const bool four = n == 2 && s.interpolation == kBilinear && h > 1 && w > 1 &&
                    h < (1 << 24) && w < (1 << 24) && in_pixels < (int64_t{1} << 31);
  kernels::parallel_for(input.size(0) * pixels, 4096 / channels + 1,
                        [&](int64_t begin, int64_t end) {
    Fours<T> fours;
    while (begin < end) {
      int64_t image = begin / pixels, pixel = begin % pixels;
      int64_t count = std::min({end - begin, pixels - pixel, int64_t(Fours<T>::kMost)});
      const T* at = grid.data<T>() + begin * n;
      const T* planes = input.data<T>() + image * channels * in_pixels;
      T* result = out.data<T>() + image * channels * pixels + pixel;
      if (four) {
        fours.find(s, at, int(count), h, w);
        for (int64_t c = 0; c < channels; ++c) {
          fours.sample(planes + c * in_pixels, w, result + c * pixels);
        }
      }
      for (int64_t i = 0; i < count && (!four || fours.outside > 0); ++i) {
        if (four && fours.inside[i]) continue;
        sample_pixel(s, at + i * n, n, depth, h, w, planes, channels, result + i, pixels);
      }
      begin += count;
    }
  });
}

Tensor grid_sample(const Tensor& input, const Tensor& grid, const Sampler& s) {
  int64_t n = input.dim() - 2;
  SL_CHECK(n == 2 || n == 3, "grid_sampler(): expected 4D or 5D input and grid with same number of "
           "dimensions, but got input with sizes ", to_string(input.sizes()),
           " and grid with sizes ", to_string(grid.sizes()));
  SL_CHECK(grid.dim() == input.dim() && grid.size(0) == input.size(0),
           "grid_sampler(): expected grid and input to have same batch size, but got input with "
           "sizes ", to_string(input.sizes()), " and grid with sizes ", to_string(grid.sizes()));
  SL_CHECK(grid.size(grid.dim() - 1) == n, "grid_sampler(): expected grid to have size ", n,
           " in last dimension, but got grid with sizes ", to_string(grid.sizes()));
  SL_CHECK(input.dtype() == grid.dtype(), "grid_sampler(): expected input and grid to have same "
           "dtype, but input has ", dtype_name(input.dtype()), " and grid has ",
           dtype_name(grid.dtype()));
  SL_CHECK(s.interpolation >= 0 && s.interpolation <= 2 && s.padding >= 0 && s.padding <= 2,
           "grid_sampler(): unknown interpolation or padding mode");
  SL_CHECK(n == 2 || s.interpolation != kBicubic,
           "grid_sampler(): bicubic interpolation only supports 4D input");
  for (int64_t d = 2; d < input.dim(); ++d) {
    SL_CHECK(input.size(d) > 0, "grid_sampler(): expected input to have non-empty spatial "
             "dimensions, but input has sizes ", to_string(input.sizes()));
  }
  ScalarType computed = computed_type(input.dtype(), "grid_sampler");
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

Tensor affine_grid(const Tensor& theta, const Ints& size, bool align_corners) {
  int64_t n = size.size() - 2;
  SL_CHECK((n == 2 || n == 3) && theta.dim() == 3 && theta.size(0) == size[0] &&
               theta.size(1) == n && theta.size(2) == n + 1,
           "Expected a batch of affine matrices of shape Nx", n, "x", n + 1, " for size ",
           to_string(size), ". Got ", to_string(theta.sizes()));
  std::vector<int64_t> shape(size.begin() + 2, size.end());
  std::vector<Tensor> parts;
  for (int64_t d = n - 1; d >= 0; --d) {  // x first
    std::vector<int64_t> spread(size_t(n), 1);
    spread[size_t(d)] = shape[size_t(d)];
    parts.push_back(
        view_expand(view_as_shape(axis(shape[size_t(d)], align_corners, theta.dtype()), spread),
                    shape));
  }
  parts.push_back(view_expand(full({1}, theta.dtype(), Scalar(1.0)), shape));
  Tensor base = reshape(stack(parts, n), {1, checked_numel(shape), n + 1});
  Tensor grid = matmul(base, view_transpose(theta, 1, 2));
  std::vector<int64_t> sizes{size[0]};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  sizes.push_back(n);
  return view_as_shape(grid, sizes);
}

// ---- im2col and col2im

struct Patches {
  int64_t kernel[2], dilation[2], padding[2], stride[2], image[2], out[2];
};

int64_t pair_at(const Ints& v, int64_t i) { return v.size() == 1 ? v[0] : v[i]; }

Patches patches(const Ints& kernel, const Ints& dilation, const Ints& padding, const Ints& stride,
                int64_t height, int64_t width) {
  Patches p;
  const int64_t image[2] = {height, width};
  for (int64_t i = 0; i < 2; ++i) {
    for (const Ints* v : {&kernel, &dilation, &padding, &stride}) {
      SL_CHECK(v->size() == 1 || v->size() == 2, "It is expected kernel_size, dilation, padding "
               "and stride to have one or two values");
    }
    p.kernel[i] = pair_at(kernel, i);
    p.dilation[i] = pair_at(dilation, i);
    p.padding[i] = pair_at(padding, i);
    p.stride[i] = pair_at(stride, i);
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
  SL_CHECK(self.dim() == 3 || self.dim() == 4, "Expected 3D or 4D (batch mode) tensor with "
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
  SL_CHECK(self.dim() == 2 || self.dim() == 3, "Expected 2D or 3D (batch mode) tensor for input "
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
  SL_CHECK(t.size(2) == blocks, "Given output_size=", to_string(image), ", expected size of "
           "input's dimension 2 to match the calculated number of sliding blocks ", p.out[0], " * ",
           p.out[1], " = ", blocks, ", but got input.size(2)=", t.size(2), ".");
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
  SL_CHECK(weight.dim() == 2, "embedding_bag: weight has to be a 2D Tensor, but got ",
           weight.dim(), "D");
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
  Tensor bag_of = Tensor::empty({count}, ScalarType::Int64);
  Tensor sizes = Tensor::zeros({bags}, ScalarType::Int64);
  Tensor places = Tensor::zeros({mode == 2 ? bags : 0, mode == 2 ? width : 0}, ScalarType::Int64);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t b = 0; b < bags; ++b) {
      int64_t first = start[b], end = b + 1 < offsets.numel() ? start[b + 1] : count;
      SL_CHECK(first >= 0 && first <= end && end <= count && (b > 0 || first == 0),
               "embedding_bag: offsets have to be increasing, start at 0 and not pass the length "
               "of the input, ", count);
      T* to = y.data<T>() + b * width;
      int64_t used = 0;
      for (int64_t i = first; i < end; ++i) {
        bag_of.data<int64_t>()[i] = b;
        if (at[i] < 0 || at[i] >= rows) {
          raise(ErrorKind::IndexError, "embedding_bag: index out of range in self: ", at[i]);
        }
        if (at[i] == padding) continue;
        const T* from = w.data<T>() + at[i] * width;
        T scale = s.defined() ? s.data<T>()[i] : T(1);
        for (int64_t j = 0; j < width; ++j) {
          if (mode != 2) {
            to[j] += from[j] * scale;
          } else if (used == 0 || from[j] > to[j]) {
            to[j] = from[j];
            places.data<int64_t>()[b * width + j] = at[i];
          }
        }
        ++used;
      }
      sizes.data<int64_t>()[b] = used;
      if (mode == 1 && used > 0) {
        for (int64_t j = 0; j < width; ++j) to[j] /= T(used);
      }
    }
  });
  out[0] = to_dtype(y, weight.dtype());
  out[1] = bag_of;
  out[2] = sizes;
  out[3] = places;
}

}  // namespace

SL_OP(aten_grid_sampler) {
  const bool flat = args.tensor(0).dim() == 4;
  Sampler s{args.integer(2), args.integer(3), args.boolean(4), flat};
  out[0] = grid_sample(args.tensor(0), args.tensor(1), s);
}
SL_OP(aten_grid_sampler_2d) { op_aten_grid_sampler(ctx, args, out); }
SL_OP(aten_grid_sampler_3d) { op_aten_grid_sampler(ctx, args, out); }
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
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < v.dim(); ++d) {
    if (dim == -1 || d != wrap_dim(dim, v.dim())) dims.push_back(d);
  }
  Tensor size = sqrt(sum_over(mul(v, v), dims, true));
  out[0] = mul(v, div(g, size));
}

}  // namespace scriptlang
