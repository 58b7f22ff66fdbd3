// Cumulative operators along a dimension: sums, products, extremes, logsumexp.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "forms.h"
#include "layers.h"
#include "reduce.h"
#include "row_functions.h"

namespace scriptlang {

namespace {

// Calls f(offset, n, stride) for every line along `dim` of contiguous tensors of one shape.
template <class F>
void for_lines(const Tensor& shape, int64_t dim, F f) {
  if (shape.numel() == 0) return;
  int64_t n = shape.dim() == 0 ? 1 : shape.size(dim), inner = 1;
  for (int64_t d = dim + 1; d < shape.dim(); ++d) inner *= shape.size(d);
  int64_t lines = shape.numel() / n;
  kernels::parallel_for(lines, 32768 / n + 1, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      f(line / inner * n * inner + line % inner, n, inner);
    }
  });
}

template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) return T(uint64_t(a) + uint64_t(b));
  else return a + b;
}
template <class T>
T wrapping_multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) return T(uint64_t(a) * uint64_t(b));
  else return a * b;
}

// Cumulates contiguous tensors of one type; `computed` is that of T, and `first` the value before
// all elements. Lines whose elements are not adjacent are processed in bands of columns, row by
// row.
template <class T, class F>
void cumulate_lines(const Tensor& from, const Tensor& to, int64_t dim, ScalarType computed,
                    F together, int first) {
  // As in PyTorch, float sums are accumulated in double.
  using Sum = std::conditional_t<std::is_same_v<T, float>, double, T>;
  if (to.numel() == 0) return;
  const bool converts = to.dtype() != computed;
  const kernels::Convert in = kernels::converter(computed, to.dtype());
  const kernels::Convert out = kernels::converter(to.dtype(), computed);
  constexpr int64_t kPiece = 512, kBand = 64;
  const int64_t n = to.dim() == 0 ? 1 : to.size(dim), size = to.itemsize();
  int64_t inner = 1;
  for (int64_t d = dim + 1; d < to.dim(); ++d) inner *= to.size(d);
  const int64_t outer = to.numel() / n / inner, bands = (inner + kBand - 1) / kBand;
  const char* a = static_cast<const char*>(from.raw());
  char* o = static_cast<char*>(to.raw());
  constexpr int kLines = 4;  // lines processed together, with independent sums
  // Processes `length` <= kPiece elements of `count` lines, which are `apart` from each other.
  auto along = [&](int64_t at, int64_t apart, int count, int64_t length, Sum* totals) {
    T space[kLines][kPiece];
    const T* x[kLines];
    T* y[kLines];
    for (int k = 0; k < kLines; ++k) {
      const int64_t place = (at + (k < count ? k : 0) * apart) * size;
      x[k] = converts ? space[k] : reinterpret_cast<const T*>(a + place);
      y[k] = converts ? space[k] : reinterpret_cast<T*>(o + place);
      if (converts && k < count) in(length, space[k], sizeof(T), a + place, size);
    }
    if (count == kLines) {
      Sum t[kLines];
      std::copy_n(totals, kLines, t);
      for (int64_t i = 0; i < length; ++i) {
        for (int k = 0; k < kLines; ++k) y[k][i] = T(t[k] = together(t[k], Sum(x[k][i])));
      }
      std::copy_n(t, kLines, totals);
    } else {
      for (int k = 0; k < count; ++k) {
        Sum t = totals[k];
        for (int64_t i = 0; i < length; ++i) y[k][i] = T(t = together(t, Sum(x[k][i])));
        totals[k] = t;
      }
    }
    for (int k = 0; converts && k < count; ++k) {
      out(length, o + (at + k * apart) * size, size, space[k], sizeof(T));
    }
  };
  // Processes one row of a band.
  auto across = [&](int64_t at, int64_t width, Sum* totals) {
    T space[kBand];
    const T* x = converts ? space : reinterpret_cast<const T*>(a + at * size);
    T* y = converts ? space : reinterpret_cast<T*>(o + at * size);
    if (converts) in(width, space, sizeof(T), a + at * size, size);
    for (int64_t j = 0; j < width; ++j) y[j] = T(totals[j] = together(totals[j], Sum(x[j])));
    if (converts) out(width, o + at * size, size, space, sizeof(T));
  };
  const int64_t tasks = inner == 1 ? (outer + kLines - 1) / kLines : outer * bands;
  kernels::parallel_for(tasks, 16384 / n + 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      Sum totals[kBand];
      if (inner == 1) {
        const int64_t line = task * kLines;
        const int count = int(std::min<int64_t>(kLines, outer - line));
        std::fill_n(totals, kLines, Sum(first));
        for (int64_t i = 0; i < n; i += kPiece) {
          const int64_t length = std::min(kPiece, n - i);
          along(line * n + i, n, count, length, totals);
          kernels::worked(length * count);
        }
        continue;
      }
      int64_t band = task % bands * kBand, at = task / bands * n * inner + band;
      int64_t width = std::min(kBand, inner - band);
      std::fill_n(totals, width, Sum(first));
      for (int64_t i = 0; i < n; ++i) {
        across(at + i * inner, width, totals);
        kernels::worked(width);
      }
    }
  });
}

Tensor cumulate(const Tensor& self, int64_t dim, const Value& dtype, bool sums, const char* name) {
  dim = wrap_dim(dim, self.dim());
  SL_CHECK(dtype.is_none() || is_scalar_type(dtype.as_int()), "unknown dtype");
  ScalarType result = !dtype.is_none()                  ? ScalarType(dtype.as_int())
                      : is_integral(self.dtype(), true) ? ScalarType::Int64
                                                        : self.dtype();
  ScalarType computed = is_integral(result, true) ? ScalarType::Int64
                        : is_complex(result)      ? ScalarType::Complex128
                                                  : comparable(result);
  if (computed == ScalarType::Complex128) {
    Tensor from = contiguous_as(to_dtype(self, result), computed);
    Tensor to = Tensor::empty(self.sizes(), computed);
    using Complex = std::complex<double>;
    const Complex* a = from.data<Complex>();
    Complex* o = to.data<Complex>();
    for_lines(to, dim, [&](int64_t at, int64_t n, int64_t stride) {
      Complex total = sums ? 0 : 1;
      for (int64_t i = 0; i < n; ++i, at += stride) {
        o[at] = total = sums ? total + a[at] : total * a[at];
        kernels::worked_at(i);
      }
    });
    return to_dtype(to, result);
  }
  Tensor from = contiguous_as(self, result), to = Tensor::empty(self.sizes(), result);
  for_type(computed, name, [](auto) {});  // raises for types that are not supported
  for_row_type(computed, [&](auto zero) {
    cumulate_lines<decltype(zero)>(
        from, to, dim, computed,
        [sums](auto a, auto b) { return sums ? wrapping_add(a, b) : wrapping_multiply(a, b); },
        sums ? 0 : 1);
  });
  return to;
}

// The cumulative extremes of n elements that are `stride` apart, and their indices. Most elements
// change nothing, so several are checked together.
template <bool Greatest, class T>
void extremes_so_far(int64_t n, int64_t stride, const T* a, T* o, int64_t* p) {
  auto takes = [](T best, T x) { return (Greatest ? x >= best : x <= best) || is_nan(x); };
  constexpr int64_t kTogether = 16;
  T best = a[0];
  int64_t place = 0, i = 0;
  while (i < n) {
    kernels::worked_at(i);
    int64_t end = std::min(n, i + kTogether);
    if (stride == 1 && end - i == kTogether) {
      int changes = 0;
      for (int64_t j = 0; j < kTogether; ++j) {
        changes |= int(Greatest ? a[i + j] >= best : a[i + j] <= best) | int(a[i + j] != a[i + j]);
      }
      if (!changes) {
        std::fill_n(o + i, kTogether, best);
        std::fill_n(p + i, kTogether, place);
        i = end;
        continue;
      }
    }
    for (; i < end; ++i) {
      T x = a[i * stride];
      if (takes(best, x)) {
        best = x;
        place = i;
      }
      o[i * stride] = best;
      p[i * stride] = place;
    }
  }
}

void running_extreme(const Tensor& self, int64_t dim, bool greatest, const char* name, Value* out) {
  dim = wrap_dim(dim, self.dim());
  ScalarType computed = comparable(self.dtype());
  Tensor from = contiguous_as(self, computed), values = Tensor::empty(self.sizes(), computed);
  Tensor places = Tensor::empty(self.sizes(), ScalarType::Int64);
  for_type(computed, name, [&](auto zero) {
    using T = decltype(zero);
    const T* a = from.data<T>();
    T* o = values.data<T>();
    int64_t* p = places.data<int64_t>();
    for_lines(values, dim, [&](int64_t at, int64_t n, int64_t stride) {
      auto* run = greatest ? &extremes_so_far<true, T> : &extremes_so_far<false, T>;
      if (n > 0) run(n, stride, a + at, o + at, p + at);
    });
  });
  out[0] = to_dtype(values, self.dtype());
  out[1] = places;
}

Tensor complex_log_cumulate(const Tensor& self, int64_t dim) {
  using Complex = std::complex<double>;
  Tensor from = contiguous_as(self, ScalarType::Complex128);
  Tensor to = Tensor::empty(self.sizes(), ScalarType::Complex128);
  const Complex* a = from.data<Complex>();
  Complex* o = to.data<Complex>();
  for_lines(to, dim, [&](int64_t at, int64_t n, int64_t stride) {
    Complex total = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < n; ++i, at += stride) {
      Complex x = a[at];
      bool more = x.real() > total.real();
      Complex top = more ? x : total, low = more ? total : x;
      bool nothing = std::isinf(low.real()) && low.real() < 0;
      o[at] = total = nothing ? top : top + std::log(1.0 + std::exp(low - top));
      kernels::worked_at(i);
    }
  });
  return to_dtype(to, self.dtype());
}

Tensor log_cumulate(const Tensor& self, int64_t dim) {
  dim = wrap_dim(dim, self.dim());
  if (is_complex(self.dtype())) return complex_log_cumulate(self, dim);
  ScalarType computed = comparable(self.dtype());
  Tensor from = contiguous_as(self, computed), to = Tensor::empty(self.sizes(), computed);
  for_type(computed, "logcumsumexp", [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      const T* a = from.data<T>();
      T* o = to.data<T>();
      for_lines(to, dim, [&](int64_t at, int64_t n, int64_t stride) {
        double total = -std::numeric_limits<double>::infinity();
        for (int64_t i = 0; i < n; ++i, at += stride) {
          double x = double(a[at]), top = std::max(total, x), low = std::min(total, x);
          if (std::isnan(x) || std::isnan(total)) total = x + total;
          else if (!std::isinf(top)) total = top + std::log1p(std::exp(low - top));
          else total = top;
          o[at] = T(total);
          kernels::worked_at(i);
        }
      });
    } else {
      raise(ErrorKind::NotImplementedError, "\"logcumsumexp_out_cpu\" not implemented for '",
            dtype_display_name(self.dtype()), "'");
    }
  });
  return to_dtype(to, self.dtype());
}

// Sums of bools are int64: in place, only bool tensors that no sum changes are allowed (zero-dim or
// empty).
void cumulate_in_place(Context& ctx, Args args, Value* out, OpFn base, const char* name) {
  const Tensor& self = args.tensor(0);
  if (self.dtype() != ScalarType::Bool) return forms::in_place(base, 0, ctx, args, out);
  wrap_dim(args.integer(1), self.dim());
  if (self.dim() > 0 && self.numel() > 0) {
    raise(ErrorKind::NotImplementedError, "\"", name, "\" not implemented for 'Bool'");
  }
  out[0] = self;
}

}  // namespace

SL_OP(aten_cumsum) {
  out[0] = cumulate(args.tensor(0), args.integer(1), args[2], true, "cumsum_out_cpu");
}
SL_OP(aten_cumprod) {
  out[0] = cumulate(args.tensor(0), args.integer(1), args[2], false, "cumprod_out_cpu");
}
SL_OP(aten_cumsum_) { cumulate_in_place(ctx, args, out, op_aten_cumsum, "cumsum_out_cpu"); }
SL_OP(aten_cumprod_) { cumulate_in_place(ctx, args, out, op_aten_cumprod, "cumprod_out_cpu"); }
SL_OP(aten_cummax) { running_extreme(args.tensor(0), args.integer(1), true, "cummax", out); }
SL_OP(aten_cummin) { running_extreme(args.tensor(0), args.integer(1), false, "cummin", out); }
SL_OP(aten_logcumsumexp) { out[0] = log_cumulate(args.tensor(0), args.integer(1)); }

}  // namespace scriptlang
