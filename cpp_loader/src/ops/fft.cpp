// Fourier transforms, their windows, and short-time transforms.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include "../../kernels/kernel_set.h"
#include "../../kernels/special.h"
#include "express.h"
#include "fft_order.h"
#include "join.h"
#include "layout.h"
#include "options.h"
#include "scratch.h"
#include "values/exact.h"

namespace scriptlang {

using namespace express;

namespace {

using Complex = std::complex<double>;
constexpr double kPi = 3.14159265358979323846;

// The scaling factor of a transform of n points for a norm: "backward", "ortho" or "forward".
double scale_for(const Value& norm, int64_t n, bool inverse) {
  std::string_view mode = norm.is_none() ? "backward" : norm.as_string();
  if (mode == "ortho") return 1 / std::sqrt(double(n));
  SL_CHECK(mode == "backward" || mode == "forward", "Invalid normalization mode: \"", mode, "\"");
  return (mode == "forward") != inverse ? 1 / double(n) : 1;
}

ScalarType complex_type(ScalarType t) {
  SL_CHECK(!is_half(t), "Unsupported dtype ", dtype_display_name(t));
  return to_complex(float_type(t));
}

// Whether a transform is complex, from real numbers, or to real numbers.
enum class Kind { kComplex, kFromReal, kToReal };

// Describes the lines along a dimension of a contiguous tensor whose later dimensions have `inner`
// elements. An element consists of `parts` real numbers.
template <class T>
kernels::FourierSide<T> side_of(T* data, int64_t n, int64_t inner, int64_t outer, int64_t parts) {
  kernels::FourierSide<T> side;
  side.at = data + outer * n * inner * parts;
  side.line = inner == 1 ? n * parts : parts;
  side.pair = 2 * inner;
  side.number = parts == 2 ? 1 : inner;
  side.count = n * parts;
  return side;
}

template <class T>
void run_lines(const Tensor& x, const Tensor& y, int64_t dim, int64_t n, Kind kind, bool inverse,
               double scale) {
  using Numbers = std::remove_pointer_t<T>;
  const auto& functions = kernels::kernels().fourier<Numbers>();
  // For tables of roots and twiddle factors, and lines being transformed.
  memory::ask(kernels::worked_points(n), 12 * int64_t(sizeof(Numbers)));
  auto plan = kernels::Fourier<Numbers>::of(n);
  int64_t inner = 1;
  for (int64_t d = dim + 1; d < y.dim(); ++d) inner *= y.size(d);
  const int64_t lines = y.numel() / y.size(dim), outers = inner == 1 ? 1 : lines / inner;
  kernels::FourierLines<Numbers> f;
  f.plan = &plan->plan();
  f.lines = inner == 1 ? lines : inner;
  f.inverse = inverse;
  f.scale = Numbers(scale);
  for (int64_t outer = 0; outer < outers; ++outer) {
    f.x = side_of<const Numbers>(static_cast<const Numbers*>(x.raw()), x.size(dim), inner, outer,
                                 kind == Kind::kFromReal ? 1 : 2);
    f.y = side_of<Numbers>(static_cast<Numbers*>(y.raw()), y.size(dim), inner, outer,
                           kind == Kind::kToReal ? 1 : 2);
    if (kind == Kind::kComplex) functions.complex_lines(f);
    else if (kind == Kind::kFromReal) functions.from_real(f);
    else functions.to_real(f);
  }
}

// Working memory, in bytes, for transforming lines of n points: buffers for the lines, and tables.
int64_t working_bytes(int64_t n, int64_t lines, int64_t item) {
  const int64_t lanes = std::min<int64_t>(lines, 16);
  return kernels::worked_points(n) * item * (2 * lanes + 6);
}

// Transforms every line of `self` along `dim`, cut or padded with zeros, to n points of the complex
// type of `dtype` (or to n real numbers).
Tensor transformed(const Tensor& self, int64_t dim, int64_t n, Kind kind, bool inverse,
                   double scale, ScalarType dtype) {
  const ScalarType real = to_real(dtype), complex = to_complex(dtype);
  Tensor x = contiguous_as(self, kind == Kind::kFromReal ? real : complex);
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  sizes[size_t(dim)] = kind == Kind::kFromReal ? n / 2 + 1 : n;
  Tensor y = Tensor::empty(sizes, kind == Kind::kToReal ? real : complex);
  if (y.numel() == 0) return y;
  if (x.numel() == 0) return Tensor::zeros(sizes, y.dtype());
  Charged working(working_bytes(n, y.numel() / y.size(dim), itemsize(complex)));
  if (real == ScalarType::Float64) run_lines<double>(x, y, dim, n, kind, inverse, scale);
  else run_lines<float>(x, y, dim, n, kind, inverse, scale);
  return y;
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

Tensor transform(const Tensor& self, int64_t n, int64_t dim, const Value& norm, bool inverse,
                 Kind kind = Kind::kComplex) {
  ScalarType dtype = complex_type(self.dtype());
  return transformed(self, dim, checked_points(n), kind, inverse, scale_for(norm, n, inverse),
                     dtype);
}

Tensor real_input(const Tensor& self) {
  SL_CHECK(!is_complex(self.dtype()), "rfft expects a real input tensor, but got ",
           dtype_display_name(self.dtype()));
  return self;
}

// ---- several dimensions

using Plan = FourierPlan;

Plan plan_for(const Tensor& self, const Value& s, const Value& dim) {
  Plan plan;
  Ints sizes(s), dims(dim);
  bool has_sizes = !s.is_none(), has_dims = !dim.is_none();
  int64_t n = has_dims ? dims.size() : has_sizes ? sizes.size() : self.dim();
  for (int64_t i = 0; has_dims && i < n; ++i) wrap_dim(dims[i], self.dim());
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

// ---- transforms with the memory layout of PyTorch's results (fft_order.h)

// Runs f(self, plan) with the dimensions permuted to `order`, and permutes its row-major result
// back.
template <class F>
Tensor laid(const Tensor& self, Plan plan, const Order& order, F f) {
  if (std::is_sorted(order.begin(), order.end())) return f(self, plan);
  Order places(order.size());
  for (size_t k = 0; k < order.size(); ++k) places[size_t(order[k])] = int64_t(k);
  for (int64_t& d : plan.dims) d = places[size_t(d)];
  return view_permute(f(view_permute(self, order), plan), places);
}

Tensor from_real_all(Args args, bool inverse) {
  const Tensor& self = real_input(args.tensor(0));
  Plan whole = plan_for(self, args[1], args[2]);
  SL_CHECK(!whole.dims.empty(), "rfftn must transform at least one axis");
  Order order = order_for(self, whole, inverse ? Spectrum::kHalfByLast : Spectrum::kHalf);
  return laid(self, whole, order, [&](const Tensor& x, Plan plan) {
    Tensor t = transform(x, plan.sizes.back(), plan.dims.back(), args[3], inverse, Kind::kFromReal);
    plan.dims.pop_back();
    plan.sizes.pop_back();
    return transform_all(t, plan, args[3], inverse);
  });
}

Tensor to_real_all(const Tensor& self, const Value& s, const Value& dim, const Value& norm,
                   bool inverse) {
  Plan whole = plan_for(self, s, dim);
  SL_CHECK(!whole.dims.empty(), "irfftn must transform at least one axis");
  Ints sizes(s);
  int64_t n = !s.is_none() && sizes[sizes.size() - 1] != -1
                  ? sizes[sizes.size() - 1]
                  : 2 * (self.size(whole.dims.back()) - 1);
  whole.sizes.back() = checked_points(n);
  return laid(self, whole, order_for(self, whole, Spectrum::kToReal),
              [&](const Tensor& x, Plan plan) {
                int64_t last = plan.dims.back();
                plan.dims.pop_back();
                plan.sizes.pop_back();
                return transform(transform_all(x, plan, norm, inverse), n, last, norm, inverse,
                                 Kind::kToReal);
              });
}

Tensor to_real_one(Args args, bool inverse) {
  const Tensor& self = args.tensor(0);
  int64_t dim = checked_dim(self, args.integer(2));
  int64_t n = checked_points(args.integer(1, 2 * (self.size(dim) - 1)));
  Plan whole{{dim}, {n}};
  return laid(self, whole, order_for(self, whole, Spectrum::kToReal),
              [&](const Tensor& x, const Plan& plan) {
                return transform(x, n, plan.dims[0], args[3], inverse, Kind::kToReal);
              });
}

// Completes the half spectrum of a real signal: the rest is its conjugate in reverse order.
template <class T>
void mirror(const Tensor& half, const Tensor& whole, int64_t dim) {
  const int64_t n = whole.size(dim), kept = half.size(dim);
  int64_t inner = 1;
  for (int64_t d = dim + 1; d < whole.dim(); ++d) inner *= whole.size(d);
  const T* from = half.data<T>();
  T* to = whole.data<T>();
  for (int64_t o = whole.numel() / (n * inner); o > 0; --o, from += kept * inner, to += n * inner) {
    std::copy_n(from, kept * inner, to);
    for (int64_t k = kept; k < n; ++k) {
      const T* row = from + (n - k) * inner;
      for (int64_t j = 0; j < inner; ++j) to[k * inner + j] = std::conj(row[j]);
    }
  }
}

Tensor complex_one(Args args, bool inverse) {
  const Tensor& self = args.tensor(0);
  int64_t dim = checked_dim(self, args.integer(2)), n = args.integer(1, self.size(dim));
  Plan given{{dim}, {checked_points(n)}};
  const bool real = !is_complex(self.dtype());
  Order order = order_for(self, given, real ? Spectrum::kHalf : Spectrum::kWhole);
  return laid(self, given, order, [&](const Tensor& x, const Plan& plan) {
    int64_t d = plan.dims[0];
    if (!real) return transform(x, n, d, args[3], inverse);
    Tensor half = transform(x, n, d, args[3], inverse, Kind::kFromReal);
    std::vector<int64_t> sizes(half.sizes().begin(), half.sizes().end());
    sizes[size_t(d)] = n;
    Tensor whole = Tensor::empty(sizes, half.dtype());
    if (whole.numel() == 0) return whole;
    if (half.dtype() == ScalarType::Complex64) mirror<std::complex<float>>(half, whole, d);
    else mirror<std::complex<double>>(half, whole, d);
    return whole;
  });
}

Tensor from_real_one(Args args, bool inverse) {
  const Tensor& self = real_input(args.tensor(0));
  int64_t dim = checked_dim(self, args.integer(2)), n = args.integer(1, self.size(dim));
  Plan whole{{dim}, {checked_points(n)}};
  return laid(self, whole, order_for(self, whole, Spectrum::kHalf),
              [&](const Tensor& x, const Plan& plan) {
                return transform(x, n, plan.dims[0], args[3], inverse, Kind::kFromReal);
              });
}

Tensor complex_all(Args args, bool inverse) {
  const Tensor& self = args.tensor(0);
  Plan whole = plan_for(self, args[1], args[2]);
  if (whole.dims.empty()) {
    scale_for(args[3], 1, inverse);  // raises for an unknown mode
    return contiguous_as(clone(self), complex_type(self.dtype()));
  }
  return laid(
      self, whole, order_for(self, whole, Spectrum::kWhole),
      [&](const Tensor& x, const Plan& plan) { return transform_all(x, plan, args[3], inverse); });
}

// Rolls every dimension by half its size.
Tensor shifted(const Tensor& self, const Value& dim, bool forward) {
  SL_CHECK(self.dim() > 0, "fftshift: the tensor has no dimensions");
  Tensor t = self;
  std::vector<int64_t> dims;
  if (dim.is_none()) {
    for (int64_t d = 0; d < self.dim(); ++d) dims.push_back(d);
  } else {
    for (int64_t d : Ints(dim)) dims.push_back(wrap_dim(d, self.dim()));
    SL_CHECK(!dims.empty(), "`shifts` required");
  }
  for (int64_t d : dims) {
    int64_t n = t.size(d), start = forward ? n - n / 2 : n / 2;
    t = cat({view_slice(t, d, start, n), view_slice(t, d, 0, start)}, d);
  }
  return t.is(self) ? clone(self) : t;
}

Tensor frequencies(Args args, bool half) {
  int64_t n = args.integer(0);
  double d = args.number(1);
  ScalarType type = options(args, 2, ScalarType::Float32);
  SL_CHECK(is_floating(type) || is_complex(type), half ? "r" : "",
           "fftfreq requires a floating point or complex dtype");
  int64_t count = half ? n / 2 + 1 : n;
  SL_CHECK(count >= 0, "Trying to create tensor with negative dimension ", count);
  Tensor t = Tensor::empty({count}, ScalarType::Float64);
  for (int64_t i = 0; i < count; ++i) {
    int64_t k = half || i < n - n / 2 ? i : i - n;
    t.data<double>()[i] = double(k) / (double(n) * d);
  }
  return to_dtype(t, type);
}

// ---- windows

template <class F>
Tensor window(Args args, int first, int64_t length, bool periodic, F f) {
  ScalarType dtype = options(args, first, ScalarType::Float32);
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
  const bool wide = options(args, first, ScalarType::Float32) == ScalarType::Float64;
  // beta, and the Bessel values, may overflow float32.
  auto kept = [wide](double x) { return wide ? x : double(float(x)); };
  return window(args, first, length, periodic, [=](double x) {
    double y = 2 * x - 1, angle = kept(beta) * std::sqrt(std::max(0.0, 1 - y * y));
    return kept(kernels::bessel_i0(angle)) / kept(kernels::bessel_i0(kept(beta)));
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
  SL_CHECK(f.length > 0 && f.length <= n_fft,
           "stft: expected 0 < win_length <= n_fft, but got "
           "win_length=",
           f.length);
  SL_CHECK(!window.defined() || (window.dim() == 1 && window.size(0) == f.length),
           "stft: expected a 1D window tensor of size equal to win_length=", f.length,
           ", but got window with size ", to_string(window.defined() ? window.sizes() : IntSpan()));
  f.window = Tensor::zeros({n_fft}, ScalarType::Float64);
  Tensor middle = view_narrow(f.window, 0, (n_fft - f.length) / 2, f.length);
  if (window.defined()) copy_into(middle, window);
  else fill(middle, Scalar(1.0));
  return f;
}

Tensor reflected(const Tensor& x, int64_t pad, std::string_view mode) {
  int64_t n = x.size(1);
  if (mode == "constant") {
    Tensor out = Tensor::zeros({x.size(0), Exact(pad) * 2 + n}, x.dtype());
    copy_into(view_narrow(out, 1, pad, n), x);
    return out;
  }
  SL_CHECK(mode == "reflect" || mode == "replicate", "stft: padding mode ", mode,
           " is not supported");
  SL_CHECK(mode == "replicate" || pad < n,
           "Argument #4: Padding size should be less than the "
           "corresponding input dimension, but got: padding (",
           pad, ", ", pad, ") at dimension 2 of input ", to_string(x.sizes()));
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
            const Tensor& window, bool center, std::string_view pad_mode, bool normalized,
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
  Frames f = frames_of(n_fft, hop, length, window);
  if (center) x = reflected(x, n_fft / 2, pad_mode);
  SL_CHECK(n_fft <= x.size(1), "stft: expected 0 < n_fft < ", x.size(1), ", but got n_fft=", n_fft);
  const ScalarType framed = window.defined() ? promote(x.dtype(), window.dtype()) : x.dtype();
  SL_CHECK(!is_half(framed),
           "MKL FFT doesn't support tensors of type: ", dtype_display_name(framed));
  const ScalarType computed = complex_in ? x.dtype() : to_real(to_complex(x.dtype()));
  x = contiguous_as(x, computed);
  int64_t count = 1 + (x.size(1) - n_fft) / f.hop;
  Tensor pieces =
      x.as_strided({x.size(0), count, n_fft}, {x.size(1), f.hop, 1}, x.storage_offset());
  bool half = onesided.is_none() ? !complex_in : onesided.as_bool();
  SL_CHECK(!half || !complex_in, "Cannot have onesided output if window or input is complex");
  Tensor t = mul(pieces, to_dtype(f.window, to_real(x.dtype())));
  t = transformed(t, 2, n_fft, half ? Kind::kFromReal : Kind::kComplex, false,
                  normalized ? 1 / std::sqrt(double(n_fft)) : 1, to_complex(self.dtype()));
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

// Adds up overlapping frames of T, [batch][frames][n_fft], and divides by the sum of the squared
// windows.
template <class T>
Tensor overlapped(const Tensor& t, const Frames& f, bool center, const Value& wanted) {
  int64_t batch = t.size(0), count = t.size(1), total;
  SL_CHECK(count > 0 && !__builtin_mul_overflow(f.hop, count - 1, &total) &&
               !__builtin_add_overflow(total, f.n_fft, &total),
           "istft: the signal would be empty or too long");
  Tensor y = Tensor::zeros({batch, total}, t.dtype());
  Tensor weights = Tensor::zeros({total}, ScalarType::Float64);
  double* envelope = weights.data<double>();
  const double* w = f.window.data<double>();
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < f.n_fft; ++j) envelope[i * f.hop + j] += w[j] * w[j];
    for (int64_t b = 0; b < batch; ++b) {
      const T* frame = t.data<T>() + (b * count + i) * f.n_fft;
      T* to = y.data<T>() + b * total + i * f.hop;
      for (int64_t j = 0; j < f.n_fft; ++j) to[j] += frame[j] * w[j];
    }
  }
  const int64_t start = center ? f.n_fft / 2 : 0;
  int64_t end = total - (center ? f.n_fft / 2 : 0);
  if (!wanted.is_none()) end = Exact(start) + wanted.as_int();
  end = std::min(end, total);
  SL_CHECK(start <= end, "istft: the signal is too short");
  for (int64_t i = start; i < end; ++i) {
    SL_CHECK(envelope[i] > 1e-11, "istft: window overlap add min: 1");
    for (int64_t b = 0; b < batch; ++b) y.data<T>()[b * total + i] /= envelope[i];
  }
  Tensor result = view_slice(y, 1, start, end);
  int64_t missing = wanted.is_none() ? 0 : wanted.as_int() - (end - start);
  if (missing <= 0) return result;
  return cat({result, Tensor::zeros({batch, missing}, t.dtype())}, 1);
}

Tensor istft(const Tensor& self, int64_t n_fft, const Value& hop, const Value& length,
             const Tensor& window, bool center, bool normalized, const Value& onesided,
             const Value& wanted, bool return_complex) {
  SL_CHECK(is_complex(self.dtype()),
           "istft requires a complex-valued input tensor matching the "
           "output from stft with return_complex=True.");
  SL_CHECK(self.dim() == 2 || self.dim() == 3,
           "istft: expected a tensor with 2 or 3 dimensions, "
           "but got ",
           self.dim());
  Tensor x = self.dim() == 2 ? view_unsqueeze(self, 0) : self;
  bool half = onesided.is_none() ? x.size(1) != n_fft : onesided.as_bool();
  SL_CHECK(n_fft > 0, "istft: expected n_fft > 0, but got n_fft=", n_fft);
  SL_CHECK(x.size(1) == (half ? n_fft / 2 + 1 : n_fft),
           "istft: expected the frequency dimension "
           "(3rd to the last) of the input tensor to match n_fft when onesided=",
           half ? "True" : "False", ", but got ", x.size(1));
  Frames f = frames_of(n_fft, hop, length, window);
  Tensor lines = view_transpose(x, 1, 2);
  const double scale = normalized ? 1 / std::sqrt(double(n_fft)) : 1 / double(n_fft);
  // A real signal is computed from the first half of the frequencies only.
  Tensor t = return_complex
                 ? transformed(lines, 2, n_fft, Kind::kComplex, true, scale, self.dtype())
                 : transformed(view_slice(lines, 2, 0, n_fft / 2 + 1), 2, n_fft, Kind::kToReal,
                               true, scale, self.dtype());
  Tensor result;
  if (return_complex) {
    result = overlapped<Complex>(to_dtype(t, ScalarType::Complex128), f, center, wanted);
  } else {
    result = overlapped<double>(to_dtype(t, ScalarType::Float64), f, center, wanted);
  }
  result = contiguous_as(result, t.dtype());
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
SL_OP(aten_fft_irfftn) { out[0] = to_real_all(args.tensor(0), args[1], args[2], args[3], true); }
SL_OP(aten_fft_irfft2) { op_aten_fft_irfftn(ctx, args, out); }
SL_OP(aten_fft_hfftn) { out[0] = to_real_all(args.tensor(0), args[1], args[2], args[3], false); }
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
