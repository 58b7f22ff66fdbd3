// The patches that a convolution reads, as columns, and back: im2col and col2im.
#include <cstring>

#include "express.h"
#include "row_kernels.h"

namespace scriptlang {

using namespace express;

namespace {

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

// Calls f(index in the image or -1, index in the columns) for every tap of every block.
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

}  // namespace

SL_OP(aten_im2col) { out[0] = im2col(args); }
SL_OP(aten_col2im) { out[0] = col2im(args); }

}  // namespace scriptlang
