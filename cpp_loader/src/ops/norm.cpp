// Normalisation: over the last dimensions (layer), over groups of channels (group, instance), or
// with statistics per channel (batch).
#include <cmath>
#include <cstring>

#include "../../kernels/parallel.h"
#include "express.h"
#include "layers.h"
#include "layout.h"
#include "pointwise_binary.h"
#include "recording.h"
#include "values/pooled.h"
#include "view.h"

namespace scriptlang {

namespace {

Tensor optional_as(const Tensor& t, ScalarType dtype) {
  return t.defined() ? contiguous_as(t, dtype) : t;
}

template <class T>
const T* data_or_null(const Tensor& t) {
  return t.defined() ? t.data<T>() : nullptr;
}

int64_t grain_for(int64_t row) { return std::max<int64_t>(1, 32768 / std::max<int64_t>(1, row)); }

// Checks that the parameters have the input's type, or are float32 with a half input.
void check_mixed(const Tensor& input, std::initializer_list<const Tensor*> parameters) {
  bool mixed = false, single = true;
  for (const Tensor* t : parameters) {
    if (!t->defined()) continue;
    mixed = mixed || t->dtype() != input.dtype();
    single = single && t->dtype() == ScalarType::Float32;
  }
  if (!mixed) return;
  SL_CHECK(single, "mixed dtype (CPU): expect parameter to have scalar type of Float");
  SL_CHECK(input.dtype() == ScalarType::Float16 || input.dtype() == ScalarType::BFloat16,
           "mixed dtype (CPU): all inputs must share same datatype.");
}

// ---- layer norm

struct Normed {
  Tensor y, mean, rstd;
};

// Calls f(x row, y row, r) for every row of n elements of type T. Rows of x in another type are
// converted one by one, and the results back.
template <class T, class F>
void for_converted_rows(const Tensor& x, const Tensor& y, ScalarType computed, int64_t rows,
                        int64_t n, F f) {
  const bool plain = x.dtype() == computed;
  const kernels::Convert in = kernels::converter(computed, x.dtype());
  const kernels::Convert out = kernels::converter(x.dtype(), computed);
  const int64_t size = x.itemsize();
  const char* from = static_cast<const char*>(x.raw());
  char* to = static_cast<char*>(y.raw());
  kernels::parallel_for(rows, grain_for(n), [&](int64_t begin, int64_t end) {
    Pooled<T> row(as_size(plain ? 0 : n));
    for (int64_t r = begin; r < end; ++r) {
      const int64_t at = r * n * size;
      if (plain) {
        f(reinterpret_cast<const T*>(from + at), reinterpret_cast<T*>(to + at), r);
        continue;
      }
      in(n, row.data(), sizeof(T), from + at, size);
      f(row.data(), row.data(), r);
      out(n, to + at, size, row.data(), sizeof(T));
    }
  });
}

// Records a normalisation over the last dimensions, whose result has the type of its input.
Tensor record_norm(const Tensor& input, IntSpan shape, std::vector<Tensor> inputs,
                   ScalarType computed, double eps, const RowFunction* function, Whole whole) {
  Recording::Rows rows;
  rows.function = input.numel() > 0 ? function : nullptr;
  rows.dims = int(shape.size);
  rows.computed = computed;
  rows.params = {eps};
  rows.inputs = std::move(inputs);
  return Recording::current().add_rows(rows, std::move(whole), input.sizes(), input.dtype());
}

Normed layer_norm(const Tensor& input, IntSpan shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  SL_CHECK(!shape.empty(),
           "Expected normalized_shape to be at least 1-dimensional, i.e., "
           "containing at least one element, but got normalized_shape = []");
  int64_t axis = input.dim() - shape.size;
  bool fits = axis >= 0;
  for (int64_t i = 0; fits && i < shape.size; ++i) fits = input.size(axis + i) == shape[i];
  SL_CHECK(fits, "Given normalized_shape=", to_string(shape), ", expected input with shape [*, ",
           to_string(shape), "], but got input of size", to_string(input.sizes()));
  for (const Tensor* t : {&weight, &bias}) {
    SL_CHECK(!t->defined() || t->sizes() == shape,
             "Expected weight and bias to be of same shape "
             "as normalized_shape, but got one of shape ",
             to_string(t->defined() ? t->sizes() : IntSpan()),
             " and normalized_shape = ", to_string(shape));
  }
  check_mixed(input, {&weight, &bias});
  ScalarType computed = computed_type(input.dtype(), "LayerNormKernelImpl");
  if (is_symbolic(input)) {
    const RowFunction* function = nullptr;
    for_float_type(computed, [&](auto zero) { function = &row::kLayerNorm<decltype(zero)>; });
    std::vector<int64_t> sizes(shape.begin(), shape.end());
    return {record_norm(
                input, shape, {input, weight, bias}, computed, eps, function,
                [=](const Tensor* in) { return layer_norm(in[0], sizes, in[1], in[2], eps).y; }),
            {},
            {}};
  }
  int64_t n = checked_numel(shape), rows = n ? input.numel() / n : 0;
  Sizes stat_sizes(input.sizes().begin(), input.sizes().end());
  for (int64_t i = axis; i < input.dim(); ++i) stat_sizes[size_t(i)] = 1;
  Normed result;
  Tensor x = to_contiguous(input);
  result.y = Tensor::empty(input.sizes(), input.dtype());
  result.mean = Tensor::empty(stat_sizes, computed);
  result.rstd = Tensor::empty(stat_sizes, computed);
  Tensor w = optional_as(weight, computed), b = optional_as(bias, computed);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    const T *gamma = data_or_null<T>(w), *beta = data_or_null<T>(b);
    T *mean = result.mean.data<T>(), *rstd = result.rstd.data<T>();
    for_converted_rows<T>(x, result.y, computed, rows, n, [&](const T* from, T* to, int64_t r) {
      Rows<T>::layer_norm(n, from, gamma, beta, eps, to, mean + r, rstd + r);
    });
  });
  return result;
}

// As in PyTorch, the mean is of the complex squares x * x, not of |x|^2.
Tensor complex_rms_norm(const Tensor& input, int64_t axis, const Tensor& weight,
                        const Value& eps_value) {
  using kernels::Binary;
  auto two = [](const Input& a, const Input& b, Binary op) {
    return binary_result(a, b, op, "rms_norm", Rule::kSame);
  };
  std::vector<int64_t> dims;
  double count = 1;
  for (int64_t d = axis; d < input.dim(); ++d) {
    dims.push_back(d);
    count *= double(input.size(d));
  }
  double eps = !eps_value.is_none()                      ? eps_value.as_double()
               : input.dtype() == ScalarType::Complex128 ? 2.220446049250313e-16
                                                         : 1.1920928955078125e-07;
  Tensor mean =
      two(sum_over(two(input, input, Binary::k_mul), dims, true), Scalar(count), Binary::k_div);
  Tensor scale = unary_result(two(mean, Scalar(eps), Binary::k_add), kernels::Unary::k_rsqrt,
                              "rms_norm", Rule::kSame);
  Tensor y = two(input, scale, Binary::k_mul);
  return weight.defined() ? two(y, weight, Binary::k_mul) : y;
}

Tensor rms_norm(const Tensor& input, IntSpan shape, const Tensor& weight, const Value& eps_value) {
  int64_t axis = input.dim() - shape.size;
  bool fits = axis >= 0 && !shape.empty();
  for (int64_t i = 0; fits && i < shape.size; ++i) fits = input.size(axis + i) == shape[i];
  SL_CHECK(fits, "Given normalized_shape=", to_string(shape), ", expected input with shape [*, ",
           to_string(shape), "], but got input of size", to_string(input.sizes()));
  SL_CHECK(!weight.defined() || weight.sizes() == shape,
           "Expected weight to be of same shape as "
           "normalized_shape, but got weight of shape ",
           to_string(weight.defined() ? weight.sizes() : IntSpan()),
           " and normalized_shape = ", to_string(shape));
  if (is_complex(input.dtype())) return complex_rms_norm(input, axis, weight, eps_value);
  ScalarType computed = computed_type(input.dtype(), "rms_norm");
  double eps = !eps_value.is_none()              ? eps_value.as_double()
               : computed == ScalarType::Float64 ? 2.220446049250313e-16
                                                 : 1.1920928955078125e-07;
  if (is_symbolic(input)) {
    const RowFunction* function = nullptr;
    for_float_type(computed, [&](auto zero) { function = &row::kRmsNorm<decltype(zero)>; });
    std::vector<int64_t> sizes(shape.begin(), shape.end());
    return record_norm(input, shape, {input, weight}, computed, eps, function,
                       [=](const Tensor* in) { return rms_norm(in[0], sizes, in[1], eps_value); });
  }
  int64_t n = checked_numel(shape), rows = n ? input.numel() / n : 0;
  Tensor x = to_contiguous(input), y = Tensor::empty(input.sizes(), input.dtype());
  Tensor w = optional_as(weight, computed);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    const T* gamma = data_or_null<T>(w);
    for_converted_rows<T>(x, y, computed, rows, n, [&](const T* from, T* to, int64_t) {
      Rows<T>::rms_norm(n, from, gamma, eps, to);
    });
  });
  return y;
}

// ---- group norm: every group of channels of an image is a row with weights per channel

// The input consists of images * channels rows of pixels, whatever its shape.
Normed group_norm(const Tensor& input, int64_t images, int64_t channels, int64_t groups,
                  const Tensor& weight, const Tensor& bias, double eps) {
  SL_CHECK(groups > 0 && channels % groups == 0,
           "Expected number of channels in input to be divisible by num_groups, but got input of "
           "shape ",
           to_string(input.sizes()), " and num_groups=", groups);
  for (const Tensor* t : {&weight, &bias}) {
    SL_CHECK(!t->defined() || (t->dim() == 1 && t->numel() == channels),
             "Expected weight and bias to be a vector of size equal to the number of channels in "
             "input, but got one of shape ",
             to_string(t->defined() ? t->sizes() : IntSpan()), " and input of shape ",
             to_string(input.sizes()));
  }
  check_mixed(input, {&weight, &bias});
  ScalarType computed = computed_type(input.dtype(), "GroupNormKernelImpl");
  Normed result;
  Tensor x = to_contiguous(input);
  result.y = Tensor::empty(input.sizes(), input.dtype());
  result.mean = Tensor::empty({images, groups}, computed);
  result.rstd = Tensor::empty({images, groups}, computed);
  Tensor w = optional_as(weight, computed), b = optional_as(bias, computed);
  if (x.numel() > 0) {
    int64_t pixels = x.numel() / (images * channels), together = channels / groups;
    int64_t n = pixels * together;
    for_float_type(computed, [&](auto zero) {
      using T = decltype(zero);
      const T *gamma = data_or_null<T>(w), *beta = data_or_null<T>(b);
      T *means = result.mean.data<T>(), *rstds = result.rstd.data<T>();
      for_converted_rows<T>(
          x, result.y, computed, images * groups, n, [&](const T* from, T* to, int64_t r) {
            T mean = Rows<T>::sum(n, from) / T(n);
            T rstd = T(1) / std::sqrt(Rows<T>::sum_squares(n, from, mean) / T(n) + T(eps));
            means[r] = mean;
            rstds[r] = rstd;
            for (int64_t c = 0; c < together; ++c) {
              int64_t channel = r % groups * together + c;
              T scale = rstd * (gamma ? gamma[channel] : T(1));
              T shift = (beta ? beta[channel] : T(0)) - mean * scale;
              Rows<T>::scale_shift(pixels, from + c * pixels, scale, shift, to + c * pixels);
            }
          });
    });
  }
  result.y = in_format_of(result.y, input);
  return result;
}

// ---- batch norm

// The mean and the biased variance of every channel.
template <class T>
void channel_statistics(const Tensor& x, int64_t images, int64_t channels, int64_t pixels, T* mean,
                        T* variance) {
  const T* from = x.data<T>();
  T count = T(images * pixels);
  kernels::parallel_for(channels, grain_for(images * pixels), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      double total = 0, squares = 0;
      for (int64_t i = 0; i < images; ++i) {
        total += Rows<T>::sum(pixels, from + (i * channels + c) * pixels);
      }
      mean[c] = T(total) / count;
      for (int64_t i = 0; i < images; ++i) {
        squares += Rows<T>::sum_squares(pixels, from + (i * channels + c) * pixels, mean[c]);
      }
      variance[c] = T(squares) / count;
    }
  });
}

// Channels of few pixels are processed by columns: an image is a row of channels * pixels elements.
constexpr int64_t kFewPixels = 16, kWidestImage = 16384;

bool goes_by_columns(int64_t images, int64_t channels, int64_t pixels) {
  return pixels < kFewPixels && channels * pixels <= kWidestImage && images > 1;
}

template <class T>
void column_statistics(const Tensor& x, int64_t images, int64_t channels, int64_t pixels, T* mean,
                       T* variance) {
  const auto& lines = kernels::kernels().lines->of(T());
  const auto add_columns = lines.add_columns;
  const auto add_squares = lines.add_squares;
  const T* from = x.data<T>();
  int64_t width = channels * pixels;
  constexpr int64_t kRows = 64;  // partial sums of this many rows are added in double
  Pooled<T> center(as_size(width), T(0));
  auto add_up = [&](T* result, auto add) {
    Pooled<double> total(as_size(channels), 0.0);
    Pooled<T> part(as_size(width), T(0));
    for (int64_t row = 0; row < images; row += kRows) {
      std::fill(part.begin(), part.end(), T(0));
      add(std::min(kRows, images - row), from + row * width, part.data());
      for (int64_t j = 0; j < width; ++j) total[size_t(j / pixels)] += double(part[size_t(j)]);
    }
    for (int64_t c = 0; c < channels; ++c) { result[c] = T(total[size_t(c)]) / T(images * pixels); }
  };
  add_up(mean,
         [&](int64_t rows, const T* at, T* part) { add_columns(rows, width, at, width, part); });
  for (int64_t j = 0; j < width; ++j) center[size_t(j)] = mean[j / pixels];
  add_up(variance, [&](int64_t rows, const T* at, T* part) {
    add_squares(rows, width, at, width, center.data(), part);
  });
}

// y = x * scale + shift, with a scale and shift for each channel.
template <class T>
void scale_columns(const T* x, T* y, int64_t images, int64_t channels, int64_t pixels,
                   const T* scale, const T* shift) {
  int64_t width = channels * pixels;
  Pooled<T> scales(as_size(width), T(0)), shifts(as_size(width), T(0));
  for (int64_t j = 0; j < width; ++j) {
    scales[size_t(j)] = scale[j / pixels];
    shifts[size_t(j)] = shift[j / pixels];
  }
  kernels::parallel_for(images, grain_for(width), [&](int64_t begin, int64_t end) {
    kernels::kernels().lines->of(T()).scale_shift_rows(
        end - begin, width, x + begin * width, scales.data(), shifts.data(), y + begin * width);
  });
}

// running = (1 - momentum) * running + momentum * seen
void update_running(const Tensor& running, const Tensor& seen, double momentum) {
  if (!running.defined()) return;
  Tensor scaled =
      binary_result(running, Scalar(1 - momentum), kernels::Binary::k_mul, "mul", Rule::kSame);
  int64_t exact = 0;
  double params[kernels::kParams] = {momentum};
  std::memcpy(&params[1], &exact, sizeof exact);
  Tensor next = binary_result(scaled, to_dtype(seen, running.dtype()),
                              kernels::Binary::k_add_scaled, "add", Rule::kSame, params);
  copy_into(running, next);
}

void check_channels(const Tensor& t, int64_t channels, const char* what) {
  SL_CHECK(!t.defined() || t.numel() == channels, what, " should contain ", channels,
           " elements not ", t.defined() ? t.numel() : 0);
}

Normed batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_var, bool training,
                  double momentum, double eps) {
  SL_CHECK(input.dim() >= 1, "batch_norm: expected an input with dimensions");
  int64_t images = input.size(0), channels = input.dim() > 1 ? input.size(1) : 0;
  check_channels(weight, channels, "weight");
  check_channels(bias, channels, "bias");
  check_channels(running_mean, channels, "running_mean");
  check_channels(running_var, channels, "running_var");
  SL_CHECK(training || (running_mean.defined() && running_var.defined()),
           "running_mean and running_var must be defined in evaluation mode");
  check_mixed(input, {&weight, &bias, &running_mean, &running_var});
  ScalarType computed = computed_type(input.dtype(), "batch_norm");
  Tensor x = contiguous_as(input, computed);
  int64_t planes = images * channels;
  int64_t pixels = planes > 0 ? x.numel() / planes : 0;
  SL_CHECK(!training || images * pixels > 0 || x.numel() == 0,
           "Expected more than 0 values per channel when training, got input size ",
           to_string(input.sizes()));
  Tensor w = optional_as(weight, computed), b = optional_as(bias, computed);
  ScalarType saved = input.dtype();  // type that the statistics are saved in
  for (const Tensor* t : {&running_var, &running_mean, &bias, &weight}) {
    if (t->defined()) saved = t->dtype();
  }
  Normed result;
  result.mean = Tensor::empty({channels}, computed);
  Tensor variance = Tensor::empty({channels}, computed);
  result.rstd = Tensor::empty({channels}, computed);
  // The result may reuse the memory of an input without other owners.
  bool reuse = input.is_exclusive() && input.is_contiguous() && input.dtype() == computed;
  result.y = reuse ? input : Tensor::empty(input.sizes(), computed);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    T *mean = result.mean.data<T>(), *var = variance.data<T>(), *rstd = result.rstd.data<T>();
    bool by_columns = goes_by_columns(images, channels, pixels);
    if (training && by_columns) {
      column_statistics(x, images, channels, pixels, mean, var);
    } else if (training) {
      channel_statistics(x, images, channels, pixels, mean, var);
    } else {
      copy_into(result.mean, reshape(running_mean, {channels}));
      copy_into(variance, reshape(running_var, {channels}));
    }
    const T *from = x.data<T>(), *gamma = data_or_null<T>(w), *beta = data_or_null<T>(b);
    T* to = result.y.data<T>();
    Pooled<T> scale(as_size(channels), T(0)), shift(as_size(channels), T(0));
    for (int64_t c = 0; c < channels; ++c) {
      rstd[c] = T(1) / std::sqrt(var[c] + T(eps));
      T center = mean[c];
      if (training) {  // rounded as the saved ones
        rstd[c] = T(round_to_half(rstd[c], saved));
        center = T(round_to_half(center, saved));
      }
      scale[size_t(c)] = rstd[c] * (gamma ? gamma[c] : T(1));
      shift[size_t(c)] = (beta ? beta[c] : T(0)) - center * scale[size_t(c)];
    }
    if (by_columns) {
      scale_columns(from, to, images, channels, pixels, scale.data(), shift.data());
      return;
    }
    kernels::parallel_for(images * channels, grain_for(pixels), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        size_t c = size_t(r % channels);
        Rows<T>::scale_shift(pixels, from + r * pixels, scale[c], shift[c], to + r * pixels);
      }
    });
  });
  if (training && images * pixels > 0) {
    double count = double(images * pixels);
    update_running(running_mean, result.mean, momentum);
    Tensor unbiased = binary_result(variance, Scalar(count / (count - 1)), kernels::Binary::k_mul,
                                    "mul", Rule::kSame);
    update_running(running_var, unbiased, momentum);
  }
  result.y = to_dtype(result.y, input.dtype());
  result.y = in_format_of(result.y, input);
  return result;
}

Tensor instance_norm(Args args) {
  const Tensor& input = args.tensor(0);
  bool use_input = args.boolean(5);
  SL_CHECK(input.dim() >= 2, "instance_norm: expected an input of at least 2 dimensions, but got ",
           to_string(input.sizes()));
  SL_CHECK(use_input || (args.opt_tensor(3).defined() && args.opt_tensor(4).defined()),
           "Expected running_mean and running_var to be defined when use_input_stats is false");
  SL_CHECK(args.opt_tensor(3).defined() == args.opt_tensor(4).defined(),
           "instance_norm: running_mean and running_var come together or not at all");
  int64_t images = input.size(0), channels = input.size(1);
  // The channels of all images become the channels of one image.
  std::vector<int64_t> sizes(input.sizes().begin(), input.sizes().end());
  sizes[0] = 1;
  sizes[1] = images * channels;
  auto repeated = [&](const Tensor& t) {
    if (!t.defined()) return t;
    check_channels(t, channels, "instance_norm: a parameter");
    return reshape(view_expand(view_unsqueeze(reshape(t, {channels}), 0), {images, channels}),
                   {images * channels});
  };
  Tensor mean = repeated(args.opt_tensor(3)), variance = repeated(args.opt_tensor(4));
  if (mean.defined()) mean = Tensor(reshape(mean, {images * channels}));
  Tensor running_mean = mean, running_var = variance;
  if (use_input && mean.defined()) {
    running_mean = Tensor::empty(mean.sizes(), mean.dtype());
    running_var = Tensor::empty(variance.sizes(), variance.dtype());
    copy_into(running_mean, mean);
    copy_into(running_var, variance);
  }
  Normed result =
      batch_norm(reshape(input, sizes), repeated(args.opt_tensor(1)), repeated(args.opt_tensor(2)),
                 running_mean, running_var, use_input, args.number(6), args.number(7));
  if (use_input && running_mean.defined()) {
    // The running statistics become the mean over the images.
    auto fold = [&](const Tensor& target, const Tensor& all) {
      Tensor total = Tensor::zeros({channels}, all.dtype());
      for (int64_t i = 0; i < images; ++i) {
        total = binary_result(total, view_narrow(all, 0, i * channels, channels),
                              kernels::Binary::k_add, "add", Rule::kSame);
      }
      copy_into(target, binary_result(total, Scalar(1.0 / double(images)), kernels::Binary::k_mul,
                                      "mul", Rule::kSame));
    };
    fold(args.tensor(3), running_mean);
    fold(args.tensor(4), running_var);
  }
  return view_as_shape(result.y, input.sizes());
}

}  // namespace

Tensor layer_norm_of(const Tensor& input, IntSpan shape, const Tensor& weight, const Tensor& bias,
                     double eps) {
  return layer_norm(input, shape, weight, bias, eps).y;
}

SL_OP(aten_layer_norm) {
  out[0] = layer_norm(args.tensor(0), args.ints(1), args.opt_tensor(2), args.opt_tensor(3),
                      args.number(4))
               .y;
}
SL_OP(aten_native_layer_norm) {
  Normed r = layer_norm(args.tensor(0), args.ints(1), args.opt_tensor(2), args.opt_tensor(3),
                        args.number(4));
  out[0] = r.y;
  out[1] = to_dtype(r.mean, args.tensor(0).dtype());
  out[2] = to_dtype(r.rstd, args.tensor(0).dtype());
}
SL_OP(aten_rms_norm) {
  out[0] = rms_norm(args.tensor(0), args.ints(1), args.opt_tensor(2), args[3]);
}
SL_OP(aten_group_norm) {
  const Tensor& input = args.tensor(0);
  SL_CHECK(input.dim() >= 2, "Expected at least 2 dimensions for input tensor but received ",
           input.dim());
  out[0] = group_norm(input, input.size(0), input.size(1), args.integer(1), args.opt_tensor(2),
                      args.opt_tensor(3), args.number(4))
               .y;
}
SL_OP(aten_native_group_norm) {
  const Tensor& input = args.tensor(0);
  int64_t images = args.integer(3), channels = args.integer(4), pixels = args.integer(5), n = 0;
  bool fits = images >= 0 && !__builtin_mul_overflow(images, channels, &n) &&
              !__builtin_mul_overflow(n, pixels, &n) && n == input.numel();
  SL_CHECK(fits, "native_group_norm: an input of shape ", to_string(input.sizes()), " has not ",
           images, " * ", channels, " * ", pixels, " elements");
  Normed r = group_norm(input, images, channels, args.integer(6), args.opt_tensor(1),
                        args.opt_tensor(2), args.number(7));
  out[0] = r.y;
  out[1] = to_dtype(r.mean, args.tensor(0).dtype());
  out[2] = to_dtype(r.rstd, args.tensor(0).dtype());
}
SL_OP(aten_instance_norm) { out[0] = instance_norm(args); }
SL_OP(aten_batch_norm) {
  if (args.tensor(0).numel() == 0) {  // parameters are not checked
    computed_type(args.tensor(0).dtype(), "batch_norm");
    out[0] = Tensor::empty(args.tensor(0).sizes(), args.tensor(0).dtype());
    return;
  }
  out[0] = batch_norm(args.tensor(0), args.opt_tensor(1), args.opt_tensor(2), args.opt_tensor(3),
                      args.opt_tensor(4), args.boolean(5), args.number(6), args.number(7))
               .y;
}
// The type of the returned statistics: that of the first parameter given, else of the input.
static ScalarType statistics_type(Args args) {
  for (int i : {1, 2, 3, 4}) {
    if (args.opt_tensor(i).defined()) return args.opt_tensor(i).dtype();
  }
  return args.tensor(0).dtype();
}

SL_OP(aten_native_batch_norm) {
  bool training = args.boolean(5);
  SL_CHECK(!training || args.tensor(0).numel() > 0,
           "input tensor must have at least one element, but got input_sizes = ",
           to_string(args.tensor(0).sizes()));
  Normed r = batch_norm(args.tensor(0), args.opt_tensor(1), args.opt_tensor(2), args.opt_tensor(3),
                        args.opt_tensor(4), training, args.number(6), args.number(7));
  out[0] = r.y;
  ScalarType dtype = statistics_type(args);
  out[1] = training ? to_dtype(r.mean, dtype) : Tensor::empty({0}, dtype);
  out[2] = training ? to_dtype(r.rstd, dtype) : Tensor::empty({0}, dtype);
}
SL_OP(aten__native_batch_norm_legit) { op_aten_native_batch_norm(ctx, args, out); }
SL_OP(aten__native_batch_norm_legit_no_stats) {
  Value given[8] = {args[0], args[1], args[2], Value(), Value(), true, args[4], args[5]};
  op_aten_native_batch_norm(ctx, Args(given, 8), out);
}
SL_OP(aten__batch_norm_with_update) {
  Value given[8] = {args[0], args[1], args[2], args[3], args[4], true, args[5], args[6]};
  op_aten_native_batch_norm(ctx, Args(given, 8), out);
  out[3] = Tensor::empty({0}, ScalarType::UInt8);  // other devices' buffer for the derivative
}
SL_OP(aten__native_batch_norm_legit_no_training) {
  Normed r = batch_norm(args.tensor(0), args.opt_tensor(1), args.opt_tensor(2), args.tensor(3),
                        args.tensor(4), false, args.number(5), args.number(6));
  out[0] = r.y;
  out[1] = Tensor::empty({0}, statistics_type(args));
  out[2] = Tensor::empty({0}, statistics_type(args));
}

SL_OP(aten__weight_norm) {
  using namespace express;
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
