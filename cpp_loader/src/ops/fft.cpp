// Fourier transforms, their windows, and short-time transforms.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "../../kernels/fft.h"
#include "../../kernels/parallel.h"
#include "../../kernels/special.h"
#include "express.h"
#include "join.h"

namespace scriptlang {

using namespace express;

namespace {

using Complex = std::complex<double>;
constexpr double kPi = 3.14159265358979323846;

// The factor of a transform of n points: by "backward", "ortho" or "forward".
double scale_for(const Value& norm, int64_t n, bool inverse) {
  std::string mode = norm.is_none() ? "backward" : norm.as_string();
  if (mode == "ortho") return 1 / std::sqrt(double(n));
  SL_CHECK(mode == "backward" || mode == "forward", "Invalid normalization mode: \"", mode, "\"");
  return (mode == "forward") != inverse ? 1 / double(n) : 1;
}

ScalarType complex_type(ScalarType t) {
  SL_CHECK(t != ScalarType::Float16 && t != ScalarType::BFloat16, "Unsupported dtype ",
           dtype_display_name(t));
  return to_complex(float_type(t));
}

// Cuts or fills dimension `dim` with zeros to n elements; as complex128.
Tensor prepared(const Tensor& self, int64_t dim, int64_t n) {
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  int64_t have = sizes[size_t(dim)];
  sizes[size_t(dim)] = n;
  Tensor out = n > have ? Tensor::zeros(sizes, ScalarType::Complex128)
                        : Tensor::empty(sizes, ScalarType::Complex128);
  int64_t kept = std::min(n, have);
  copy_into(view_slice(out, dim, 0, kept), view_slice(self, dim, 0, kept));
  return out;
}

// Transforms every line of a complex128 tensor along `dim`, in place.
void run_lines(const Tensor& t, int64_t dim, bool inverse, double scale) {
  int64_t n = t.size(dim), inner = 1;
  for (int64_t d = dim + 1; d < t.dim(); ++d) inner *= t.size(d);
  if (t.numel() == 0) return;
  int64_t lines = t.numel() / n;
  kernels::Fourier fourier(n);
  Complex* data = t.data<Complex>();
  kernels::parallel_for(lines, 4096 / std::max<int64_t>(1, n) + 1, [&](int64_t begin,
                                                                       int64_t end) {
    std::vector<Complex> line;
    line.resize(size_t(n));
    for (int64_t i = begin; i < end; ++i) {
      Complex* at = data + i / inner * n * inner + i % inner;
      for (int64_t j = 0; j < n; ++j) line[size_t(j)] = at[j * inner];
      fourier.run(line.data(), inverse);
      for (int64_t j = 0; j < n; ++j) at[j * inner] = line[size_t(j)] * scale;
    }
  });
}

int64_t checked_dim(const Tensor& self, int64_t dim) {
  dim = wrap_dim(dim, self.dim());
  SL_CHECK(self.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  return dim;
}

int64_t checked_points(int64_t n) {
  SL_CHECK(n >= 1, "Invalid number of data points (", n, ") specified");
  return n;
}

Tensor transform(const Tensor& self, int64_t n, int64_t dim, const Value& norm, bool inverse) {
  Tensor t = prepared(self, dim, checked_points(n));
  run_lines(t, dim, inverse, scale_for(norm, n, inverse));
  return t;
}

Tensor half_of(const Tensor& t, int64_t dim, int64_t n) {
  return view_slice(t, dim, 0, n / 2 + 1);
}

// The n complex points whose first half is given, the second its mirrored conjugate.
Tensor mirrored(const Tensor& self, int64_t dim, int64_t n) {
  Tensor first = prepared(self, dim, n / 2 + 1);
  std::vector<int64_t> sizes(first.sizes().begin(), first.sizes().end());
  sizes[size_t(dim)] = n;
  Tensor out = Tensor::empty(sizes, ScalarType::Complex128);
  copy_into(view_slice(out, dim, 0, n / 2 + 1), first);
  int64_t rest = n - (n / 2 + 1);
  if (rest > 0) {
    copy_into(view_slice(out, dim, n / 2 + 1, n), conj(flip(view_slice(first, dim, 1, rest + 1),
                                                            {dim})));
  }
  return out;
}

// The real parts. What rounding left in the imaginary ones is dropped.
Tensor real_part(const Tensor& t, ScalarType dtype) {
  Tensor out = Tensor::empty(t.sizes(), to_real(dtype));
  copy_into(out, t);
  return out;
}

Tensor to_result(const Tensor& t, ScalarType dtype) { return contiguous_as(t, dtype); }

Tensor real_input(const Tensor& self) {
  SL_CHECK(!is_complex(self.dtype()), "rfft expects a real input tensor, but got ",
           dtype_display_name(self.dtype()));
  return self;
}

// ---- several dimensions

struct Plan {
  std::vector<int64_t> dims, sizes;
};

Plan plan_for(const Tensor& self, const Value& s, const Value& dim) {
  Plan plan;
  Ints sizes(s), dims(dim);
  bool has_sizes = !s.is_none(), has_dims = !dim.is_none();
  int64_t n = has_dims ? dims.size() : has_sizes ? sizes.size() : self.dim();
  SL_CHECK(n <= self.dim(), "Got shape with ", n, " values but input tensor only has ", self.dim(),
           " dimensions.");
  SL_CHECK(!has_sizes || !has_dims || sizes.size() == dims.size(),
           "When given, dim and shape arguments must have the same length");
  bool seen[kMaxDims] = {};
  for (int64_t i = 0; i < n; ++i) {
    int64_t d = has_dims ? wrap_dim(dims[i], self.dim()) : self.dim() - n + i;
    SL_CHECK(!seen[d], "FFT dims must be unique");
    seen[d] = true;
    plan.dims.push_back(d);
    int64_t size = has_sizes && sizes[i] != -1 ? sizes[i] : self.size(d);
    plan.sizes.push_back(checked_points(size));
  }
  return plan;
}

Tensor transform_all(const Tensor& self, const Plan& plan, const Value& norm, bool inverse) {
  Tensor t = self;
  for (size_t i = 0; i < plan.dims.size(); ++i) {
    t = transform(t, plan.sizes[i], plan.dims[i], norm, inverse);
  }
  return t;
}

Tensor real_transform_all(const Tensor& self, Plan plan, const Value& norm, bool inverse) {
  SL_CHECK(!plan.dims.empty(), "rfftn must transform at least one axis");
  Tensor t = transform(real_input(self), plan.sizes.back(), plan.dims.back(), norm, inverse);
  t = half_of(t, plan.dims.back(), plan.sizes.back());
  plan.dims.pop_back();
  plan.sizes.pop_back();
  return transform_all(t, plan, norm, inverse);
}

Tensor to_real_all(const Tensor& self, const Value& s, const Value& dim, const Value& norm,
                   bool inverse) {
  Plan plan = plan_for(self, s, dim);
  SL_CHECK(!plan.dims.empty(), "irfftn must transform at least one axis");
  Ints sizes(s);
  int64_t last = plan.dims.back();
  int64_t n = !s.is_none() && sizes[sizes.size() - 1] != -1 ? sizes[sizes.size() - 1]
                                                            : 2 * (self.size(last) - 1);
  checked_points(n);
  plan.dims.pop_back();
  plan.sizes.pop_back();
  Tensor t = mirrored(transform_all(self, plan, norm, inverse), last, n);
  run_lines(t, last, inverse, scale_for(norm, n, inverse));
  return real_part(t, complex_type(self.dtype()));
}

Tensor to_real_one(Args args, bool inverse) {
  const Tensor& self = args.tensor(0);
  int64_t dim = checked_dim(self, args.integer(2));
  int64_t n = checked_points(args.integer(1, 2 * (self.size(dim) - 1)));
  Tensor t = mirrored(self, dim, n);
  run_lines(t, dim, inverse, scale_for(args[3], n, inverse));
  return real_part(t, complex_type(self.dtype()));
}

Tensor complex_one(Args args, bool inverse) {
  const Tensor& self = args.tensor(0);
  int64_t dim = checked_dim(self, args.integer(2));
  return to_result(transform(self, args.integer(1, self.size(dim)), dim, args[3], inverse),
                   complex_type(self.dtype()));
}

Tensor from_real_one(Args args, bool inverse) {
  const Tensor& self = real_input(args.tensor(0));
  int64_t dim = checked_dim(self, args.integer(2)), n = args.integer(1, self.size(dim));
  return to_result(half_of(transform(self, n, dim, args[3], inverse), dim, n),
                   complex_type(self.dtype()));
}

Tensor complex_all(Args args, bool inverse) {
  const Tensor& self = args.tensor(0);
  return to_result(transform_all(self, plan_for(self, args[1], args[2]), args[3], inverse),
                   complex_type(self.dtype()));
}

Tensor from_real_all(Args args, bool inverse) {
  const Tensor& self = args.tensor(0);
  return to_result(real_transform_all(self, plan_for(self, args[1], args[2]), args[3], inverse),
                   complex_type(self.dtype()));
}

// Rolls every dimension by half its size.
Tensor shifted(const Tensor& self, const Value& dim, bool forward) {
  Tensor t = self;
  std::vector<int64_t> dims;
  if (dim.is_none()) {
    for (int64_t d = 0; d < self.dim(); ++d) dims.push_back(d);
  } else {
    for (int64_t d : Ints(dim)) dims.push_back(wrap_dim(d, self.dim()));
  }
  for (int64_t d : dims) {
    int64_t n = t.size(d), start = forward ? (n + 1) / 2 : n / 2;
    t = cat({view_slice(t, d, start, n), view_slice(t, d, 0, start)}, d);
  }
  return t.is(self) ? clone(self) : t;
}

Tensor frequencies(Args args, bool half) {
  int64_t n = args.integer(0);
  double d = args.number(1);
  args.want_cpu(4);
  SL_CHECK(n >= 0, "fftfreq: n must be non-negative, got ", n);
  int64_t count = half ? n / 2 + 1 : n;
  Tensor t = Tensor::empty({count}, ScalarType::Float64);
  for (int64_t i = 0; i < count; ++i) {
    int64_t k = half || i < (n + 1) / 2 ? i : i - n;
    t.data<double>()[i] = double(k) / (double(n) * d);
  }
  return to_dtype(t, args.dtype(2, ScalarType::Float32));
}

// ---- windows

template <class F>
Tensor window(Args args, int first, int64_t length, bool periodic, F f) {
  args.want_cpu(first + 2);
  ScalarType dtype = args.dtype(first, ScalarType::Float32);
  SL_CHECK(is_floating(dtype), "windows are floating point tensors, but the program asks for ",
           dtype_display_name(dtype));
  SL_CHECK(length >= 0, "window requires non-negative window_length, got window_length=", length);
  Tensor t = Tensor::empty({length}, ScalarType::Float64);
  double last = double(periodic ? length : length - 1);
  for (int64_t i = 0; i < length; ++i) {
    t.data<double>()[i] = length == 1 ? 1.0 : f(double(i) / last);
  }
  return to_dtype(t, dtype);
}

Tensor cosine_window(Args args, int first, int64_t length, bool periodic, double alpha,
                     double beta) {
  return window(args, first, length, periodic,
                [=](double x) { return alpha - beta * std::cos(2 * kPi * x); });
}
Tensor blackman(Args args, int first, int64_t length, bool periodic) {
  return window(args, first, length, periodic, [](double x) {
    return 0.42 - 0.5 * std::cos(2 * kPi * x) + 0.08 * std::cos(4 * kPi * x);
  });
}
Tensor bartlett(Args args, int first, int64_t length, bool periodic) {
  return window(args, first, length, periodic,
                [](double x) { return x <= 0.5 ? 2 * x : 2 - 2 * x; });
}
Tensor kaiser(Args args, int first, int64_t length, bool periodic, double beta) {
  return window(args, first, length, periodic, [beta](double x) {
    double y = 2 * x - 1;
    return kernels::bessel_i0(beta * std::sqrt(std::max(0.0, 1 - y * y))) /
           kernels::bessel_i0(beta);
  });
}

// ---- short-time transforms

struct Frames {
  int64_t n_fft, hop, length;
  Tensor window;  // n_fft long, float64
};

Frames frames_of(int64_t n_fft, const Value& hop, const Value& length, const Tensor& window) {
  Frames f{n_fft, hop.is_none() ? n_fft / 4 : hop.as_int(),
           length.is_none() ? n_fft : length.as_int(), Tensor()};
  constexpr int64_t kLimit = int64_t{1} << 40;
  SL_CHECK(n_fft > 0 && n_fft < kLimit && f.hop < kLimit, "stft: n_fft=", n_fft,
           " and hop_length=", f.hop, " are out of range");
  SL_CHECK(f.hop > 0, "stft: expected hop_length > 0, but got hop_length=", f.hop);
  SL_CHECK(f.length > 0 && f.length <= n_fft, "stft: expected 0 < win_length <= n_fft, but got "
           "win_length=", f.length);
  SL_CHECK(!window.defined() || (window.dim() == 1 && window.size(0) == f.length),
           "stft: expected a 1D window tensor of size equal to win_length=", f.length,
           ", but got window with size ", to_string(window.defined() ? window.sizes() : IntSpan()));
  f.window = Tensor::zeros({n_fft}, ScalarType::Float64);
  Tensor middle = view_narrow(f.window, 0, (n_fft - f.length) / 2, f.length);
  if (window.defined()) copy_into(middle, window);
  else fill(middle, Scalar(1.0));
  return f;
}

Tensor reflected(const Tensor& x, int64_t pad, const std::string& mode) {
  int64_t n = x.size(1);
  if (mode == "constant") {
    Tensor out = Tensor::zeros({x.size(0), n + 2 * pad}, x.dtype());
    copy_into(view_narrow(out, 1, pad, n), x);
    return out;
  }
  SL_CHECK(mode == "reflect" || mode == "replicate", "stft: padding mode ", mode,
           " is not supported");
  SL_CHECK(mode == "replicate" || pad < n, "Argument #4: Padding size should be less than the "
           "corresponding input dimension, but got: padding (", pad, ", ", pad,
           ") at dimension 2 of input ", to_string(x.sizes()));
  Tensor left, right;
  if (mode == "reflect") {
    left = flip(view_slice(x, 1, 1, pad + 1), {1});
    right = flip(view_slice(x, 1, n - pad - 1, n - 1), {1});
  } else {
    left = view_expand(view_slice(x, 1, 0, 1), {x.size(0), pad});
    right = view_expand(view_slice(x, 1, n - 1, n), {x.size(0), pad});
  }
  return cat({left, x, right}, 1);
}

Tensor stft(const Tensor& self, int64_t n_fft, const Value& hop, const Value& length,
            const Tensor& window, bool center, const std::string& pad_mode, bool normalized,
            const Value& onesided, const Value& return_complex) {
  SL_CHECK(self.dim() == 1 || self.dim() == 2, "stft: expected a 1D or 2D tensor, but got ",
           self.dim(), "D");
  bool complex_in = is_complex(self.dtype());
  SL_CHECK(is_floating(self.dtype()) || complex_in,
           "stft: expected a tensor of floating point or complex values");
  bool as_complex = !return_complex.is_none() ? return_complex.as_bool() : complex_in;
  SL_CHECK(!return_complex.is_none() || as_complex,
           "stft requires the return_complex parameter be given for real inputs, and will further "
           "require that return_complex=True in a future PyTorch release.");
  Tensor x = self.dim() == 1 ? view_unsqueeze(self, 0) : self;
  SL_CHECK(n_fft > 0, "stft: expected n_fft > 0, but got n_fft=", n_fft);
  if (center) x = reflected(x, n_fft / 2, pad_mode);
  SL_CHECK(n_fft <= x.size(1), "stft: expected 0 < n_fft < ", x.size(1), ", but got n_fft=", n_fft);
  Frames f = frames_of(n_fft, hop, length, window);
  x = contiguous_as(x, ScalarType::Complex128);
  int64_t count = 1 + (x.size(1) - n_fft) / f.hop;
  Tensor pieces = x.as_strided({x.size(0), count, n_fft}, {x.size(1), f.hop, 1}, 0);
  Tensor t = mul(pieces, f.window);
  t = to_contiguous(t);
  run_lines(t, 2, false, normalized ? 1 / std::sqrt(double(n_fft)) : 1);
  bool half = onesided.is_none() ? !complex_in : onesided.as_bool();
  SL_CHECK(!half || !complex_in, "Cannot have onesided output if window or input is complex");
  if (half) t = half_of(t, 2, n_fft);
  t = to_result(t, to_complex(self.dtype()));
  t = view_transpose(t, 1, 2);
  if (self.dim() == 1) t = view_squeeze(t, {0});
  if (as_complex) return t;
  std::vector<int64_t> sizes(t.sizes().begin(), t.sizes().end()), strides;
  for (int64_t s : t.strides()) strides.push_back(2 * s);
  sizes.push_back(2);
  strides.push_back(1);
  return Tensor::on_storage(t.storage(), to_real(t.dtype()), sizes, strides,
                            2 * t.storage_offset());
}

Tensor istft(const Tensor& self, int64_t n_fft, const Value& hop, const Value& length,
             const Tensor& window, bool center, bool normalized, const Value& onesided,
             const Value& wanted, bool return_complex) {
  SL_CHECK(is_complex(self.dtype()), "istft requires a complex-valued input tensor matching the "
           "output from stft with return_complex=True.");
  SL_CHECK(self.dim() == 2 || self.dim() == 3, "istft: expected a tensor with 2 or 3 dimensions, "
           "but got ", self.dim());
  Tensor x = self.dim() == 2 ? view_unsqueeze(self, 0) : self;
  bool half = onesided.is_none() ? x.size(1) != n_fft : onesided.as_bool();
  SL_CHECK(n_fft > 0, "istft: expected n_fft > 0, but got n_fft=", n_fft);
  SL_CHECK(x.size(1) == (half ? n_fft / 2 + 1 : n_fft), "istft: expected the frequency dimension "
           "(3rd to the last) of the input tensor to match n_fft when onesided=",
           half ? "True" : "False", ", but got ", x.size(1));
  Frames f = frames_of(n_fft, hop, length, window);
  Tensor lines = to_contiguous(view_transpose(x, 1, 2));
  // A real signal is made of the first half of the frequencies, whatever the others are.
  Tensor first = view_slice(lines, 2, 0, n_fft / 2 + 1);
  Tensor t = return_complex ? prepared(lines, 2, n_fft) : mirrored(first, 2, n_fft);
  run_lines(t, 2, true, normalized ? 1 / std::sqrt(double(n_fft)) : 1 / double(n_fft));
  int64_t batch = t.size(0), count = t.size(1), total;
  SL_CHECK(count > 0 && !__builtin_mul_overflow(f.hop, count - 1, &total) &&
               !__builtin_add_overflow(total, n_fft, &total),
           "istft: the signal would be empty or too long");
  Tensor y = Tensor::zeros({batch, total}, ScalarType::Complex128);
  std::vector<double> envelope(size_t(total), 0.0);
  const double* w = f.window.data<double>();
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < n_fft; ++j) {
      envelope[size_t(i * f.hop + j)] += w[j] * w[j];
      for (int64_t b = 0; b < batch; ++b) {
        y.data<Complex>()[b * total + i * f.hop + j] +=
            t.data<Complex>()[(b * count + i) * n_fft + j] * w[j];
      }
    }
  }
  int64_t start = center ? n_fft / 2 : 0;
  int64_t end = !wanted.is_none() ? start + wanted.as_int() : total - (center ? n_fft / 2 : 0);
  end = std::min(end, total);
  SL_CHECK(start <= end, "istft: the signal is too short");
  for (int64_t i = start; i < end; ++i) {
    SL_CHECK(envelope[size_t(i)] > 1e-11, "istft: window overlap add min: 1");
    for (int64_t b = 0; b < batch; ++b) y.data<Complex>()[b * total + i] /= envelope[size_t(i)];
  }
  Tensor result = view_slice(y, 1, start, end);
  int64_t missing = wanted.is_none() ? 0 : wanted.as_int() - (end - start);
  if (missing > 0) {
    result = cat({result, Tensor::zeros({batch, missing}, ScalarType::Complex128)}, 1);
  }
  result = contiguous_as(result, return_complex ? self.dtype() : to_real(self.dtype()));
  return self.dim() == 2 ? view_squeeze(result, {0}) : result;
}

}  // namespace

SL_OP(aten_fft_fft) { out[0] = complex_one(args, false); }
SL_OP(aten_fft_ifft) { out[0] = complex_one(args, true); }
SL_OP(aten_fft_rfft) { out[0] = from_real_one(args, false); }
SL_OP(aten_fft_ihfft) { out[0] = from_real_one(args, true); }
SL_OP(aten_fft_irfft) { out[0] = to_real_one(args, true); }
SL_OP(aten_fft_hfft) { out[0] = to_real_one(args, false); }
SL_OP(aten_fft_fftn) { out[0] = complex_all(args, false); }
SL_OP(aten_fft_ifftn) { out[0] = complex_all(args, true); }
SL_OP(aten_fft_fft2) { out[0] = complex_all(args, false); }
SL_OP(aten_fft_ifft2) { out[0] = complex_all(args, true); }
SL_OP(aten_fft_rfftn) { out[0] = from_real_all(args, false); }
SL_OP(aten_fft_rfft2) { out[0] = from_real_all(args, false); }
SL_OP(aten_fft_ihfftn) { out[0] = from_real_all(args, true); }
SL_OP(aten_fft_ihfft2) { out[0] = from_real_all(args, true); }
SL_OP(aten_fft_irfftn) {
  out[0] = to_real_all(args.tensor(0), args[1], args[2], args[3], true);
}
SL_OP(aten_fft_irfft2) { op_aten_fft_irfftn(ctx, args, out); }
SL_OP(aten_fft_hfftn) {
  out[0] = to_real_all(args.tensor(0), args[1], args[2], args[3], false);
}
SL_OP(aten_fft_hfft2) { op_aten_fft_hfftn(ctx, args, out); }
SL_OP(aten_fft_fftshift) { out[0] = shifted(args.tensor(0), args[1], true); }
SL_OP(aten_fft_ifftshift) { out[0] = shifted(args.tensor(0), args[1], false); }
SL_OP(aten_fft_fftfreq) { out[0] = frequencies(args, false); }
SL_OP(aten_fft_rfftfreq) { out[0] = frequencies(args, true); }

SL_OP(aten_hann_window) { out[0] = cosine_window(args, 1, args.integer(0), true, 0.5, 0.5); }
SL_OP(aten_hann_window_periodic) {
  out[0] = cosine_window(args, 2, args.integer(0), args.boolean(1), 0.5, 0.5);
}
SL_OP(aten_hamming_window) { out[0] = cosine_window(args, 1, args.integer(0), true, 0.54, 0.46); }
SL_OP(aten_hamming_window_periodic) {
  out[0] = cosine_window(args, 2, args.integer(0), args.boolean(1), 0.54, 0.46);
}
SL_OP(aten_hamming_window_periodic_alpha) {
  out[0] = cosine_window(args, 3, args.integer(0), args.boolean(1), args.number(2), 0.46);
}
SL_OP(aten_hamming_window_periodic_alpha_beta) {
  out[0] = cosine_window(args, 4, args.integer(0), args.boolean(1), args.number(2), args.number(3));
}
SL_OP(aten_blackman_window) { out[0] = blackman(args, 1, args.integer(0), true); }
SL_OP(aten_blackman_window_periodic) {
  out[0] = blackman(args, 2, args.integer(0), args.boolean(1));
}
SL_OP(aten_bartlett_window) { out[0] = bartlett(args, 1, args.integer(0), true); }
SL_OP(aten_bartlett_window_periodic) {
  out[0] = bartlett(args, 2, args.integer(0), args.boolean(1));
}
SL_OP(aten_kaiser_window) { out[0] = kaiser(args, 1, args.integer(0), true, 12.0); }
SL_OP(aten_kaiser_window_periodic) {
  out[0] = kaiser(args, 2, args.integer(0), args.boolean(1), 12.0);
}
SL_OP(aten_kaiser_window_beta) {
  out[0] = kaiser(args, 3, args.integer(0), args.boolean(1), args.number(2));
}
SL_OP(aten_stft) {
  out[0] = stft(args.tensor(0), args.integer(1), args[2], args[3], args.opt_tensor(4), false,
                "reflect", args.boolean(5), args[6], args[7]);
}
SL_OP(aten_stft_center) {
  out[0] = stft(args.tensor(0), args.integer(1), args[2], args[3], args.opt_tensor(4),
                args.boolean(5), args.string(6), args.boolean(7), args[8], args[9]);
}
SL_OP(aten_istft) {
  out[0] = istft(args.tensor(0), args.integer(1), args[2], args[3], args.opt_tensor(4),
                 args.boolean(5), args.boolean(6), args[7], args[8], args.boolean(9));
}

}  // namespace scriptlang
