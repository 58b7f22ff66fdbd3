// Derivatives of convolutions. The input's gradient is a convolution again. The weight's gradient
// is a product of the result's gradient with the input patches, a block of them at a time.
#include <algorithm>

#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "../../kernels/scratch.h"
#include "conv.h"
#include "express.h"
#include "layout.h"
#include "row_kernels.h"
#include "values/exact.h"

namespace scriptlang {

using kernels::ConvShape;
using namespace convolutions;

namespace {

// Which of n places in a row of the result, from `at` on, have a given tap inside the input.
struct Met {
  int64_t first, low, high;  // input position of the first place; those in [low, high) are inside

  Met(const ConvShape& s, int64_t kw, int64_t at, int64_t n) {
    const int64_t step = s.stride[2], width = s.in[2];
    first = at * step - s.padding[2] + kw * s.dilation[2];
    low = std::min(n, first >= 0 ? 0 : (step - 1 - first) / step);
    high = first < width ? std::clamp((width - 1 - first) / step + 1, low, n) : low;
  }
};

// Copies the elements under a tap, with zeros outside. Loops replace memcpy and memset since rows
// are short and calls would take longer.
template <class T>
void lay_row(const Met& met, const T* line, int64_t step, int64_t n, T* to) {
  for (int64_t i = 0; i < met.low; ++i) to[i] = T(0);
  const T* from = line + met.first;
  if (step == 1)
    for (int64_t i = met.low; i < met.high; ++i) to[i] = from[i];
  else
    for (int64_t i = met.low; i < met.high; ++i) to[i] = from[i * step];
  for (int64_t i = met.high; i < n; ++i) to[i] = T(0);
}

// Copies what one tap of one channel meets at pixels [begin, end) of the result.
template <class T>
void lay_tap(const ConvShape& s, const T* plane, int64_t tap, int64_t begin, int64_t end, T* to) {
  const int64_t kw = tap % s.kernel[2], kh = tap / s.kernel[2] % s.kernel[1];
  const int64_t kd = tap / s.kernel[2] / s.kernel[1], width = s.out[2];
  const Met whole(s, kw, 0, width);
  int64_t at = begin % width, j = begin / width % s.out[1], i = begin / width / s.out[1];
  for (int64_t p = begin; p < end; at = 0) {
    const int64_t n = std::min(width - at, end - p);
    const int64_t d = i * s.stride[0] - s.padding[0] + kd * s.dilation[0];
    const int64_t h = j * s.stride[1] - s.padding[1] + kh * s.dilation[1];
    if (d < 0 || d >= s.in[0] || h < 0 || h >= s.in[1]) {
      std::fill(to, to + n, T(0));
    } else {
      const T* line = plane + (d * s.in[1] + h) * s.in[2];
      lay_row(n == width ? whole : Met(s, kw, at, n), line, s.stride[2], n, to);
    }
    to += n;
    p += n;
    if (++j == s.out[1]) j = 0, ++i;
  }
}

// Whether the patch matrix is the input itself: one tap, no padding.
bool lies_as_matrix(const ConvShape& s) {
  return s.taps() == 1 && s.in_pixels() == s.out_pixels() && s.padding[0] == 0 &&
         s.padding[1] == 0 && s.padding[2] == 0;
}

// dw [outputs][channels * taps] += narrow [outputs][pixels] * patches [channels * taps][pixels]^T,
// for one image and group; assigned instead of added if it is the first.
template <class T>
void add_products(const ConvShape& s, const T* wide, const T* narrow, T* dw, bool first) {
  const int64_t pixels = s.out_pixels(), rows = s.channels * s.taps();
  const bool as_it_lies = lies_as_matrix(s);
  constexpr int64_t kBlock = int64_t{1} << 18, kLeast = 64;  // elements; pixels
  int64_t block = as_it_lies ? pixels : std::min(pixels, std::max(kLeast, kBlock / rows));
  kernels::Scratch space(as_it_lies ? 0 : sizeof(T) * uint64_t(rows * block));
  for (int64_t begin = 0; begin < pixels; begin += block, first = false) {
    int64_t end = std::min(pixels, begin + block), n = end - begin;
    T* patches = space.template as<T>();
    if (!as_it_lies) {
      kernels::parallel_for(rows, 65536 / n + 1, [&](int64_t from, int64_t to) {
        for (int64_t r = from; r < to; ++r) {
          const T* plane = wide + r / s.taps() * s.in_pixels();
          lay_tap(s, plane, r % s.taps(), begin, end, patches + r * n);
          kernels::worked(n);
        }
      });
    }
    kernels::Gemm<T> g;
    g.m = s.outputs;
    g.n = rows;
    g.k = n;
    g.a = narrow + begin;
    g.a_row = pixels;
    g.b = as_it_lies ? wide : patches;
    g.b_row = 1;
    g.b_column = n;
    g.c = dw;
    g.c_row = rows;
    g.start = first ? kernels::Start::kZero : kernels::Start::kResult;
    kernels::kernels().gemm<T>().multiply(g);
  }
}

// The weight's gradient. wide: the tensor that the kernel moves over; narrow: the one with an
// element for each of its positions.
template <class T>
void weight_back(const Tensor& wide, const Tensor& narrow, const Tensor& dw, const Settings& s) {
  ConvShape shape = shape_of(s, wide.sizes().data + 2, narrow.sizes().data + 2, dw);
  shape.channels = dw.size(1);
  shape.outputs = dw.size(0) / s.groups;
  const int64_t in = shape.channels * shape.in_pixels(), out = shape.outputs * shape.out_pixels();
  const int64_t weights = shape.outputs * shape.channels * shape.taps();
  constexpr int64_t kFewOutputs = 8;
  const bool framed =
      shape.channels == 1 ? shape.outputs <= kFewOutputs : shape.channels >= 3 && shape.taps() > 1;
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end && framed; ++group) {
      kernels::ConvWeights<T> c;
      c.shape = shape;
      c.images = wide.size(0);
      c.x_image = s.groups * in;
      c.g_image = s.groups * out;
      c.x = wide.data<T>() + group * in;
      c.g = narrow.data<T>() + group * out;
      c.dw = dw.data<T>() + group * weights;
      kernels::kernels().conv<T>().weight_gradient(c);
    }
    for (int64_t group = begin; group < end && !framed; ++group)
      for (int64_t image = 0; image < wide.size(0); ++image) {
        const T* x = wide.data<T>() + (image * s.groups + group) * in;
        const T* g = narrow.data<T>() + (image * s.groups + group) * out;
        T* to = dw.data<T>() + group * weights;
        add_products(shape, x, g, to, image == 0);
      }
  };
  if (s.groups < 2 * kernels::thread_count()) run(0, s.groups);
  else kernels::parallel_for(s.groups, 1, run);
}

// The input's gradient.
void input_back(const Tensor& dx, const Tensor& grad, const Tensor& w, const Settings& s) {
  Settings back = s;
  back.transposed = !s.transposed;
  if (!s.transposed) back.output_padding.assign(s.stride.size(), 0);
  convolve_into(dx, grad, w, Tensor(), back);
}

struct Gradients {
  Tensor of_input, of_weight;  // undefined where not requested
};

Tensor zeros_like(const Tensor& t, ScalarType type) { return Tensor::zeros(t.sizes(), type); }

Gradients real_gradients(const Tensor& grad, const Tensor& input, const Tensor& weight,
                         const Settings& s, bool of_input, bool of_weight) {
  ScalarType type = input.dtype();
  ScalarType computed = computed_type(type, "convolution_backward");
  const bool any = grad.numel() > 0 && input.numel() > 0 && weight.numel() > 0;
  Tensor g = contiguous_as(grad, computed);
  Gradients made;
  if (of_input) {
    made.of_input = zeros_like(input, computed);
    if (any) input_back(made.of_input, g, contiguous_as(weight, computed), s);
    made.of_input = to_dtype(made.of_input, type);
  }
  if (of_weight) {
    made.of_weight = zeros_like(weight, computed);
    Tensor x = contiguous_as(input, computed);
    if (any) {
      for_float_type(computed, [&](auto zero) {
        using T = decltype(zero);
        if (s.transposed) weight_back<T>(g, x, made.of_weight, s);
        else weight_back<T>(x, g, made.of_weight, s);
      });
    }
    made.of_weight = to_dtype(made.of_weight, type);
  }
  return made;
}

// Complex gradients, grad * conj(weight) and grad * conj(input), from gradients of real and
// imaginary parts.
Gradients complex_gradients(const Tensor& grad, const Tensor& input, const Tensor& weight,
                            const Settings& s, bool of_input, bool of_weight) {
  auto part = [](const Tensor& t, int64_t i) {
    std::vector<int64_t> strides;
    for (int64_t stride : t.strides()) strides.push_back(2 * stride);
    return Tensor::on_storage(t.storage(), to_real(t.dtype()), t.sizes(), strides,
                              2 * t.storage_offset() + i);
  };
  auto combined = [&](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d) {
    if (!a.defined()) return Tensor();
    Tensor y = Tensor::empty(a.sizes(), input.dtype());
    copy_into(part(y, 0), express::add(a, b));
    copy_into(part(y, 1), express::sub(c, d));
    return y;
  };
  auto of = [&](int64_t g, int64_t other) {
    return real_gradients(part(grad, g), part(input, other), part(weight, other), s, of_input,
                          of_weight);
  };
  Gradients a = of(0, 0), b = of(1, 1), c = of(1, 0), d = of(0, 1);
  return {combined(a.of_input, b.of_input, c.of_input, d.of_input),
          combined(a.of_weight, b.of_weight, c.of_weight, d.of_weight)};
}

Settings settings_of(Args args, int64_t n) {
  Settings s;
  s.stride = spread(args.ints(4), n, "stride");
  s.padding = spread(args.ints(5), n, "padding");
  s.dilation = spread(args.ints(6), n, "dilation");
  s.transposed = args.boolean(7);
  s.output_padding = spread(args.ints(8), n, "output_padding");
  s.groups = args.integer(9);
  return s;
}

void check_gradient(const Tensor& grad, const Tensor& input, const Tensor& weight,
                    const Settings& s) {
  Sizes sizes = result_sizes(s, input, weight);
  int64_t outputs = s.transposed ? weight.size(1) * s.groups : weight.size(0);
  sizes.insert(sizes.begin(), {input.size(0), outputs});
  SL_CHECK(grad.sizes() == IntSpan(sizes), "convolution_backward: a gradient of size ",
           to_string(grad.sizes()), " does not fit a convolution of size ",
           to_string(IntSpan(sizes)));
  SL_CHECK(grad.dtype() == input.dtype(), "convolution_backward: the gradient is of type ",
           dtype_name(grad.dtype()), ", and the input of type ", dtype_name(input.dtype()));
}

}  // namespace

SL_OP(aten_convolution_backward) {
  const Tensor &grad = args.tensor(0), &input = args.tensor(1), &weight = args.tensor(2);
  const int64_t n = weight.dim() - 2;
  SL_CHECK(n >= 1 && n <= 3, "expected a weight of 3 to 5 dimensions, but got one of size ",
           to_string(weight.sizes()));
  List& mask = args.list(10);
  SL_CHECK(mask.size() == 3, "output_mask must be three bools");
  const bool wanted[3] = {mask.get(0).as_bool(), mask.get(1).as_bool(), mask.get(2).as_bool()};
  Settings s = settings_of(args, n);
  check_settings(s, input, weight, Tensor());
  check_gradient(grad, input, weight, s);
  Gradients made = is_complex(input.dtype())
                       ? complex_gradients(grad, input, weight, s, wanted[0], wanted[1])
                       : real_gradients(grad, input, weight, s, wanted[0], wanted[1]);
  const int64_t format = result_format(input, weight, s);
  const Tensor none = Tensor::empty({0}, input.dtype());
  out[0] = wanted[0] ? in_format(made.of_input, format) : none;
  out[1] = wanted[1] ? in_format(made.of_weight, format) : none;
  Dims others;
  for (int64_t d = 0; d < grad.dim(); ++d) {
    if (d != 1) others.push_back(d);
  }
  out[2] = wanted[2] ? sum_over(grad, others) : none;
}

}  // namespace scriptlang
