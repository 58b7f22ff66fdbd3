// Convolutions: checking, geometry, and the loops over images and groups.
#include <algorithm>
#include <cstring>

#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "../../kernels/scratch.h"
#include "conv.h"
#include "layout.h"
#include "pointwise.h"
#include "values/exact.h"
#include "view.h"

namespace scriptlang {

using kernels::Conv;
using kernels::ConvShape;

namespace convolutions {

Sizes spread(const Ints& given, int64_t n, const char* what) {
  if (given.size() == 1) return Sizes(size_t(n), given[0]);
  SL_CHECK(given.size() == n, "expected ", what, " to be a single integer value or a list of ", n,
           " values to match the convolution dimensions, but got ", what, "=", to_string(given));
  return {given.begin(), given.end()};
}

namespace {

// Checks the settings that sizes are computed from.
void check_windows(const Settings& s, const Tensor& weight) {
  for (int64_t v : s.padding) SL_CHECK(v >= 0, "negative padding is not supported");
  for (int64_t v : s.output_padding) SL_CHECK(v >= 0, "negative output_padding is not supported");
  for (int64_t v : s.stride) SL_CHECK(v > 0, "non-positive stride is not supported");
  for (int64_t v : s.dilation) SL_CHECK(v > 0, "dilation should be greater than zero");
  SL_CHECK(s.groups > 0, "non-positive groups is not supported");
  for (int64_t i = 2; i < weight.dim(); ++i) {
    SL_CHECK(weight.size(i) > 0,
             "weight should have at least one element along each dimension, "
             "but got sizes ",
             to_string(weight.sizes()));
  }
}

}  // namespace

void check_settings(const Settings& s, const Tensor& input, const Tensor& weight,
                    const Tensor& bias) {
  check_windows(s, weight);
  SL_CHECK(input.dim() == weight.dim(), "Expected ", weight.dim(), "-dimensional input for ",
           weight.dim(), "-dimensional weight ", to_string(weight.sizes()), ", but got ",
           input.dim(), "-dimensional input of size ", to_string(input.sizes()), " instead");
  SL_CHECK(weight.size(0) >= s.groups, "Given groups=", s.groups,
           ", expected weight to be at "
           "least ",
           s.groups, " at dimension 0, but got weight of size ", to_string(weight.sizes()),
           " instead");
  SL_CHECK(weight.size(0) % s.groups == 0, "Given groups=", s.groups,
           ", expected weight to be "
           "divisible by ",
           s.groups, " at dimension 0, but got weight of size ", to_string(weight.sizes()),
           " instead");
  int64_t grouped = Exact(weight.size(1)) * s.groups;
  int64_t channels = s.transposed ? weight.size(0) : grouped;
  int64_t outputs = s.transposed ? grouped : weight.size(0);
  SL_CHECK(input.size(1) == channels, "Given ",
           s.transposed ? "transposed=1" : "groups=", s.transposed ? "" : std::to_string(s.groups),
           ", weight of size ", to_string(weight.sizes()), ", expected input",
           to_string(input.sizes()), " to have ", channels, " channels, but got ", input.size(1),
           " channels instead");
  SL_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == outputs), "Given ",
           s.transposed ? "transposed=1" : "weight", " of size ", to_string(weight.sizes()),
           ", expected bias to be 1-dimensional with ", outputs, " elements, but got bias of size ",
           to_string(bias.defined() ? bias.sizes() : IntSpan()), " instead");
  SL_CHECK(input.dtype() == weight.dtype(), "Input type (", dtype_name(input.dtype()),
           ") and weight type (", dtype_name(weight.dtype()), ") should be the same");
  SL_CHECK(!bias.defined() || bias.dtype() == input.dtype(), "Input type (",
           dtype_name(input.dtype()), ") and bias type (",
           dtype_name(bias.defined() ? bias.dtype() : input.dtype()), ") should be the same");
}

namespace {

std::string crossed(const Sizes& values) {
  std::string text = "(";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i) text += " x ";
    text += std::to_string(values[i]);
  }
  return text + ")";
}

}  // namespace

Sizes result_sizes(const Settings& s, const Tensor& input, const Tensor& weight) {
  int64_t n = input.dim() - 2;
  Sizes sizes, padded, kernels;
  bool fits = true;
  int64_t framed = input.size(1), patch = input.size(1);  // elements in kernels' buffers
  for (int64_t i = 0; i < n; ++i) {
    size_t u = size_t(i);
    int64_t in = input.size(i + 2), k = weight.size(i + 2);
    constexpr int64_t kLimit = int64_t{1} << 40;  // keeps the products below in range
    SL_CHECK(s.padding[u] < kLimit && s.stride[u] < kLimit && (s.dilation[u] < kLimit || k == 1) &&
                 in < kLimit && k < (int64_t{1} << 20) && (k == 1 || s.dilation[u] * k < kLimit),
             "the convolution's sizes are too large: input ", to_string(input.sizes()));
    SL_CHECK(!__builtin_mul_overflow(framed, in + 2 * s.padding[u] + s.stride[u], &framed) &&
                 !__builtin_mul_overflow(patch, k, &patch) && framed < kLimit && patch < kLimit,
             "the convolution's sizes are too large: input ", to_string(input.sizes()),
             ", padding ", to_string(s.padding));
    int64_t extent = s.dilation[u] * (k - 1) + 1;
    if (s.transposed) {
      SL_CHECK(s.output_padding[u] < std::max(s.stride[u], s.dilation[u]),
               "output padding must be smaller than either stride or dilation, but got "
               "output_padding: ",
               to_string(s.output_padding));
      int64_t grown;
      SL_CHECK(!__builtin_mul_overflow(in - 1, s.stride[u], &grown), "the result is too large");
      sizes.push_back(grown - 2 * s.padding[u] + extent + s.output_padding[u]);
      SL_CHECK(sizes.back() > 0, "Given input size per channel: ", to_string(input.sizes()),
               ". Calculated output size per channel: ", crossed(sizes),
               ". Output size is too small");
      continue;
    }
    padded.push_back(in + 2 * s.padding[u]);
    kernels.push_back(extent);
    fits = fits && padded.back() >= extent;
    sizes.push_back(fits ? (padded.back() - extent) / s.stride[u] + 1 : 0);
  }
  SL_CHECK(fits, "Calculated padded input size per channel: ", crossed(padded),
           ". Kernel size: ", crossed(kernels),
           ". Kernel size can't be greater than actual input size");
  return sizes;
}

ConvShape shape_of(const Settings& s, const int64_t* map, const int64_t* result,
                   const Tensor& weight) {
  ConvShape shape;
  int64_t n = weight.dim() - 2;
  for (int64_t i = 0; i < n; ++i) {
    int64_t to = 3 - n + i;
    size_t u = size_t(i);
    shape.in[to] = map[i];
    shape.out[to] = result[i];
    shape.kernel[to] = weight.size(i + 2);
    shape.stride[to] = s.stride[u];
    shape.padding[to] = s.padding[u];
    shape.dilation[to] = s.dilation[u];
  }
  return shape;
}

namespace {

// Calls f(first image, images, first group, groups) for parts of all of them, in parallel when
// there are enough. Parts are whole images where it can be: their weights are prepared once.
template <class F>
void for_parts(int64_t images, int64_t groups, int64_t work, F f) {
  const int64_t count = images * groups, threads = kernels::thread_count();
  const int64_t grain = 200'000 / std::max<int64_t>(1, work) + 1;
  if (count < 2 * threads || threads == 1) return f(0, images, 0, groups);
  if (images >= 2 * threads) {
    return kernels::parallel_for(images, grain / groups + 1, [&](int64_t begin, int64_t end) {
      f(begin, end - begin, 0, groups);
    });
  }
  kernels::parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const int64_t image = i / groups, next = std::min(end, (image + 1) * groups);
      f(image, 1, i - image * groups, next - i);
      i = next;
    }
  });
}

template <class T>
void forward(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
             const Settings& s) {
  Conv<T> whole;
  whole.shape = shape_of(s, x.sizes().data + 2, y.sizes().data + 2, w);
  ConvShape& shape = whole.shape;
  shape.channels = w.size(1);
  shape.outputs = w.size(0) / s.groups;
  const int64_t in = shape.channels * shape.in_pixels(), out = shape.outputs * shape.out_pixels();
  const int64_t weights = shape.outputs * shape.channels * shape.taps();
  whole.x_image = s.groups * in;
  whole.y_image = s.groups * out;
  whole.activation = s.activation;
  const auto run = kernels::kernels().conv<T>().convolve;
  for_parts(x.size(0), s.groups, out * shape.channels * shape.taps(),
            [&](int64_t image, int64_t images, int64_t first, int64_t groups) {
              Conv<T> c = whole;
              c.images = images;
              c.groups = groups;
              c.x = x.data<T>() + image * c.x_image + first * in;
              c.w = w.data<T>() + first * weights;
              c.bias = bias.defined() ? bias.data<T>() + first * shape.outputs : nullptr;
              c.y = y.data<T>() + image * c.y_image + first * out;
              run(c);
            });
}

// A complex convolution, (a + bi)(c + di), by four real ones.
Tensor complex_convolution(const Tensor& input, const Tensor& weight, const Tensor& bias,
                           const Settings& s) {
  auto part = [](const Tensor& t, int64_t i) {
    Sizes strides;
    for (int64_t stride : t.strides()) strides.push_back(2 * stride);
    return Tensor::on_storage(t.storage(), to_real(t.dtype()), t.sizes(), strides,
                              2 * t.storage_offset() + i);
  };
  auto combine = [](const Tensor& a, const Tensor& b, kernels::Binary op) {
    return binary_result(a, b, op, "conv", Rule::kSame);
  };
  Tensor re = part(input, 0), im = part(input, 1), w_re = part(weight, 0), w_im = part(weight, 1);
  Tensor real = combine(convolution(re, w_re, Tensor(), s), convolution(im, w_im, Tensor(), s),
                        kernels::Binary::k_sub);
  Tensor imag = combine(convolution(re, w_im, Tensor(), s), convolution(im, w_re, Tensor(), s),
                        kernels::Binary::k_add);
  Tensor y = Tensor::empty(real.sizes(), input.dtype());
  copy_into(part(y, 0), real);
  copy_into(part(y, 1), imag);
  if (!bias.defined()) return y;
  Sizes spread_sizes(size_t(y.dim()), 1);
  spread_sizes[1] = bias.numel();
  return combine(y, reshape(bias, spread_sizes), kernels::Binary::k_add);
}

}  // namespace

// For signals, the format of the weight. For volumes, channels last only where PyTorch uses oneDNN:
// several of them, several groups, large windows or large inputs, of float32 or narrower types.
int64_t result_format(const Tensor& input, const Tensor& weight, const Settings& s) {
  if (input.dim() == 3) return suggested_format_of_signal(weight);
  if (input.dim() == 5) {
    bool padded_most = false;
    for (size_t i = 0; i < s.stride.size(); ++i) {
      padded_most = padded_most || (s.transposed && s.output_padding[i] >= s.stride[i]);
    }
    bool large = s.groups > 1 || std::min(weight.size(3), weight.size(4)) > 3 ||
                 input.size(0) > 1 ||
                 input.size(0) * input.size(1) * input.size(2) * input.size(3) > 20480;
    if (!is_floating(input.dtype()) || input.itemsize() > 4 || padded_most || !large) {
      return kContiguous;
    }
  }
  int64_t format = suggested_format(input);
  return format == kContiguous ? suggested_format(weight) : format;
}

namespace {

// Whether to convolve all images together: results of few pixels are narrow matrix products, those
// of all images one wide product. Longer rows are read in place.
bool go_together(const Tensor& y, const Tensor& x, const Tensor& w, const Settings& s) {
  constexpr int64_t kFew = 64, kLongRow = 8, kTaps = 2;  // otherwise the copies cost more
  if (x.dim() != 4 || x.size(0) < 2 || w.size(1) < 8 || w.size(0) / s.groups < 8) return false;
  const Tensor& narrow = s.transposed ? x : y;
  return narrow.size(2) * narrow.size(3) <= kFew && narrow.size(3) < kLongRow &&
         w.size(2) * w.size(3) >= kTaps;
}

// Swaps the first two dimensions; contiguous.
Tensor swapped(const Tensor& t) { return to_contiguous(view_transpose(t, 0, 1)); }

// Convolves the images side by side, as planes of one volume with a kernel of depth one.
void convolve_together(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
                       const Settings& s) {
  const auto with = [](const Sizes& sizes, int64_t value) {
    Sizes made{value};
    for (int64_t v : sizes) made.push_back(v);
    return made;
  };
  const Settings flat{
      with(s.stride, 1), with(s.padding, 0), with(s.dilation, 1), with(s.output_padding, 0),
      s.transposed,      s.groups,           s.activation};
  const Tensor from = view_unsqueeze(swapped(x), 0);
  const Tensor to = Tensor::empty({1, y.size(1), y.size(0), y.size(2), y.size(3)}, y.dtype());
  convolve_into(to, from, view_unsqueeze(w, 2), bias, flat);
  copy_into(y, view_transpose(view_squeeze(to, {0}), 0, 1));
}

}  // namespace

void convolve_into(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
                   const Settings& s) {
  if (go_together(y, x, w, s)) return convolve_together(y, x, w, bias, s);
  if constexpr (kernels::is_kept(ScalarType::Float64)) {
    if (y.dtype() == ScalarType::Float64) {
      s.transposed ? transposed<double>(y, x, w, bias, s) : forward<double>(y, x, w, bias, s);
      return;
    }
  }
  s.transposed ? transposed<float>(y, x, w, bias, s) : forward<float>(y, x, w, bias, s);
}

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const Settings& s) {
  check_settings(s, input, weight, bias);
  ScalarType dtype = input.dtype();
  kernels::check_kept(dtype);
  if constexpr (kernels::is_kept(ScalarType::Complex64) ||
                kernels::is_kept(ScalarType::Complex128)) {
    if (is_complex(dtype)) return complex_convolution(input, weight, bias, s);
  }
  const bool integers = is_integral(dtype, false);
  ScalarType computed = integers                       ? ScalarType::Int64
                        : dtype == ScalarType::Float64 ? dtype
                                                       : ScalarType::Float32;
  if (!integers && !is_floating(dtype)) {
    raise(ErrorKind::NotImplementedError, "\"slow_conv2d_cpu\" not implemented for '",
          dtype_display_name(dtype), "'");
  }
  Sizes sizes = result_sizes(s, input, weight);
  int64_t outputs = s.transposed ? weight.size(1) * s.groups : weight.size(0);
  sizes.insert(sizes.begin(), {input.size(0), outputs});
  Tensor y = Tensor::empty(sizes, computed);
  Tensor x = contiguous_as(input, computed), w = contiguous_as(weight, computed);
  Tensor b = bias.defined() ? contiguous_as(bias, computed) : bias;
  if constexpr (kernels::is_kept(ScalarType::Int64)) {
    if (y.numel() > 0) (integers ? convolve_integers : convolve_into)(y, x, w, b, s);
  } else {
    kernels::check_kept(computed);
    if (y.numel() > 0) convolve_into(y, x, w, b, s);
  }
  return in_format(to_dtype(y, dtype), result_format(input, weight, s));
}

}  // namespace convolutions

using namespace convolutions;

namespace {

// A convolution of n spatial dimensions; the batch dimension may be missing.
Tensor convolve(const char* name, int64_t n, Tensor input, const Tensor& weight, const Tensor& bias,
                const Settings& s) {
  SL_CHECK(input.dim() == n + 1 || input.dim() == n + 2, "Expected ", n + 1, "D (unbatched) or ",
           n + 2, "D (batched) input to ", name,
           ", but got input of size: ", to_string(input.sizes()));
  SL_CHECK(weight.dim() == n + 2, name, " expected a weight of ", n + 2,
           " dimensions, but got one of size ", to_string(weight.sizes()));
  bool batched = input.dim() == n + 2;
  if (!batched) input = view_unsqueeze(input, 0);
  Tensor y = convolution(input, weight, bias, s);
  return batched ? y : view_squeeze(y, {0});
}

Tensor forward_op(const char* name, int64_t n, Args args) {
  Settings s;
  s.stride = spread(args.ints(3), n, "stride");
  s.padding = spread(args.ints(4), n, "padding");
  s.dilation = spread(args.ints(5), n, "dilation");
  s.output_padding.assign(as_size(n), 0);
  s.groups = args.integer(6);
  return convolve(name, n, args.tensor(0), args.tensor(1), args.opt_tensor(2), s);
}

Tensor named_padding_op(const char* name, int64_t n, Args args) {
  Settings s;
  s.stride = spread(args.ints(3), n, "stride");
  s.dilation = spread(args.ints(5), n, "dilation");
  s.output_padding.assign(as_size(n), 0);
  s.padding.assign(as_size(n), 0);
  s.groups = args.integer(6);
  std::string_view padding = args.string(4);
  Tensor input = args.tensor(0);
  const Tensor& weight = args.tensor(1);
  if (padding == "same") {
    SL_CHECK(weight.dim() == n + 2 && input.dim() >= n, name, " got tensors of wrong rank");
    for (int64_t v : s.stride) {
      SL_CHECK(v == 1, "padding='same' is not supported for strided convolutions");
    }
    check_windows(s, weight);
    // Where the padding is odd, the extra element goes at the end.
    Sizes sizes(input.sizes().begin(), input.sizes().end());
    bool uneven = false;
    for (int64_t i = 0; i < n; ++i) {
      int64_t total = Exact(s.dilation[size_t(i)]) * (weight.size(i + 2) - 1);
      s.padding[size_t(i)] = total / 2;
      int64_t& size = sizes[size_t(input.dim() - n + i)];
      size = Exact(size) + total % 2;
      uneven = uneven || total % 2 != 0;
    }
    if (uneven) {
      Tensor wider = empty_in_format(sizes, input.dtype(), suggested_format(input));
      fill(wider, Scalar(int64_t{0}));
      copy_into(wider.as_strided(input.sizes(), wider.strides(), 0), input);
      input = wider;
    }
  } else {
    SL_CHECK(padding == "valid", "Invalid padding string: '", padding, "'");
  }
  return convolve(name, n, input, weight, args.opt_tensor(2), s);
}

Tensor transposed_op(const char* name, int64_t n, Args args) {
  Settings s;
  s.stride = spread(args.ints(3), n, "stride");
  s.padding = spread(args.ints(4), n, "padding");
  s.output_padding = spread(args.ints(5), n, "output_padding");
  s.groups = args.integer(6);
  s.dilation = spread(args.ints(7), n, "dilation");
  s.transposed = true;
  return convolve(name, n, args.tensor(0), args.tensor(1), args.opt_tensor(2), s);
}

// For convolution and _convolution: the weight gives the number of dimensions.
Tensor general_op(Args args) {
  const Tensor& weight = args.tensor(1);
  int64_t n = weight.dim() - 2;
  SL_CHECK(n >= 1 && n <= 3, "expected a weight of 3 to 5 dimensions, but got one of size ",
           to_string(weight.sizes()));
  Settings s;
  s.stride = spread(args.ints(3), n, "stride");
  s.padding = spread(args.ints(4), n, "padding");
  s.dilation = spread(args.ints(5), n, "dilation");
  s.transposed = args.boolean(6);
  s.output_padding = spread(args.ints(7), n, "output_padding");
  s.groups = args.integer(8);
  return convolve("convolution", n, args.tensor(0), weight, args.opt_tensor(2), s);
}

}  // namespace

SL_OP(aten_conv1d) { out[0] = forward_op("conv1d", 1, args); }
SL_OP(aten_conv2d) { out[0] = forward_op("conv2d", 2, args); }
SL_OP(aten_conv3d) { out[0] = forward_op("conv3d", 3, args); }
SL_OP(aten_conv1d_padding) { out[0] = named_padding_op("conv1d", 1, args); }
SL_OP(aten_conv2d_padding) { out[0] = named_padding_op("conv2d", 2, args); }
SL_OP(aten_conv3d_padding) { out[0] = named_padding_op("conv3d", 3, args); }
SL_OP(aten__convolution_mode) {
  Value values[7] = {args[0], args[1], args[2], args[3], args[4], args[5], args[6]};
  int64_t n = args.tensor(1).dim() - 2;
  SL_CHECK(n >= 1 && n <= 3, "expected a weight of 3 to 5 dimensions");
  out[0] = named_padding_op("convolution", n, Args(values, 7));
}
SL_OP(aten_conv_transpose1d) { out[0] = transposed_op("conv_transpose1d", 1, args); }
SL_OP(aten_conv_transpose2d_input) { out[0] = transposed_op("conv_transpose2d", 2, args); }
SL_OP(aten_conv_transpose3d_input) { out[0] = transposed_op("conv_transpose3d", 3, args); }
SL_OP(aten_convolution) { out[0] = general_op(args); }
SL_OP(aten_convolution_overrideable) { out[0] = general_op(args); }
// The input is [time, batch, channels], the weight [kernel, channels, outputs].
SL_OP(aten_conv_tbc) {
  const Tensor &self = args.tensor(0), &weight = args.tensor(1);
  SL_CHECK(self.dim() == 3, "Input must have 3 dims: time, batch, in_channel, got size ",
           to_string(self.sizes()));
  SL_CHECK(weight.dim() == 3,
           "Weight tensor must have 3 dims: kernel_width, in_channels, "
           "out_channels, got size ",
           to_string(weight.sizes()));
  const Tensor& bias = args.tensor(2);
  const bool fits = args.integer(3) >= 0 && self.size(2) == weight.size(1) && bias.dim() == 1 &&
                    bias.numel() == weight.size(2);
  const int64_t reach = Exact(self.size(0)) + Exact(args.integer(3)) * 2;
  if (fits && reach == weight.size(0) - 1) {  // the result has no elements, which conv1d refuses
    out[0] = Tensor::empty({0, self.size(1), weight.size(2)}, self.dtype());
    return;
  }
  Value given[7] = {view_permute(self, {1, 2, 0}),
                    view_permute(weight, {2, 1, 0}),
                    to_dtype(bias, self.dtype()),
                    int_list({1}),
                    int_list({args.integer(3)}),
                    int_list({1}),
                    int64_t{1}};
  Tensor y = forward_op("conv1d", 1, Args(given, 7));
  out[0] = to_contiguous(view_permute(y, {2, 0, 1}));
}
SL_OP(aten__convolution) { out[0] = general_op(args); }
SL_OP(aten__convolution_deprecated) { out[0] = general_op(args); }

}  // namespace scriptlang
