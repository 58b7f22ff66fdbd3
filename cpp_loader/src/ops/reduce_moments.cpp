// Variances and standard deviations, and the means that they are about.
#include <cmath>

#include "layers.h"
#include "reduce.h"
#include "row_functions.h"

namespace scriptlang {

namespace {

using Complex = std::complex<double>;

struct Moments {
  Tensor variance, mean;
};

// The variance of complex numbers is real.
Moments complex_moments(const Tensor& self, const Dims& dims, double correction, bool keepdim,
                        bool root) {
  Reduction r = reduction(self, dims, keepdim, ScalarType::Complex128);
  Moments m{r.result(ScalarType::Float64), r.result(ScalarType::Complex128)};
  double count = std::max(0.0, double(r.n) - correction);
  for (int64_t i = 0; i < r.outer; ++i) {
    const Complex* x = r.rows.data<Complex>() + i * r.n;
    const auto* parts = reinterpret_cast<const double*>(x);
    double means[2], variance = 0;
    for (int k : {0, 1}) {
      double sum = 0, squares = r.n ? 0 : std::numeric_limits<double>::quiet_NaN();
      for (int64_t j = 0; j < r.n; ++j) sum += parts[2 * j + k];
      means[k] = sum / double(r.n);
      for (int64_t j = 0; j < r.n; ++j) {
        squares += (parts[2 * j + k] - means[k]) * (parts[2 * j + k] - means[k]);
      }
      variance += squares / count;
      means[k] = row::corrected_mean(r.n, parts + k, 2, means[k]);
    }
    const Complex mean{means[0], means[1]};
    if (self.dtype() == ScalarType::Complex64) variance = float(variance);
    m.variance.data<double>()[i] = root ? std::sqrt(variance) : variance;
    m.mean.data<Complex>()[i] = mean;
  }
  m.variance = to_dtype(m.variance, to_real(self.dtype()));
  m.mean = to_dtype(m.mean, self.dtype());
  return m;
}

Moments moments(const Tensor& self, const Dims& dims, double correction, bool keepdim, bool root,
                const char* name) {
  if (is_complex(self.dtype())) return complex_moments(self, dims, correction, keepdim, root);
  SL_CHECK(is_floating(self.dtype()), name, " only support floating point and complex dtypes");
  ScalarType computed =
      self.dtype() == ScalarType::Float64 ? ScalarType::Float64 : ScalarType::Float32;
  Reduction r = reduction(self, dims, keepdim, computed);
  Moments m{r.result(computed), r.result(computed)};
  double count = std::max(0.0, double(r.n) - correction);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    T* means = m.mean.data<T>();
    const T* from = r.rows.data<T>();
    if (r.n == 0) {
      fill(m.variance, std::numeric_limits<double>::quiet_NaN());
      fill(m.mean, std::numeric_limits<double>::quiet_NaN());
      return;
    }
    for_rows<T, T>(r, m.variance, [&](const T* x, int64_t n) {
      return row::spread(n, x, count, root, &means[(x - from) / n]);
    });
  });
  m.variance = to_dtype(m.variance, self.dtype());
  m.mean = to_dtype(m.mean, self.dtype());
  return m;
}

// The variance, or its square root, without the mean.
Tensor spread(const Tensor& self, const Dims& dims, double correction, bool keepdim, bool root,
              const char* name) {
  if (!is_symbolic(self)) return moments(self, dims, correction, keepdim, root, name).variance;
  if (!is_floating(self.dtype())) Recording::give_up();
  ScalarType computed = computed_type(self.dtype(), name);
  const RowFunction* function = nullptr;
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    function = root ? &row::kDeviation<T> : &row::kVariance<T>;
  });
  double count = 1;
  for (int64_t d : dims) count *= double(self.size(d));
  return record_reduction(self, dims, keepdim, computed, self.dtype(), function,
                          {std::max(0.0, count - correction)}, [=](const Tensor* in) {
                            return moments(in[0], dims, correction, keepdim, root, name).variance;
                          });
}

double correction_of(Args args, int i) { return args.none(i) ? 1.0 : args.scalar(i).to_double(); }
double unbiased(Args args, int i) { return args.boolean(i) ? 1 : 0; }

// For operators with arguments (self, dims, correction, keepdim), or over all dimensions.
void give_spread(Args args, Value* out, double correction, bool root) {
  const Tensor& self = args.tensor(0);
  SL_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()),
           "std and var only support floating point and complex dtypes");
  out[0] = spread(self, reduced_dims(args[1], self.dim()), correction, args.boolean(3), root,
                  root ? "std" : "var");
}
void give_both(Value* out, const Tensor& self, const Dims& dims, double correction, bool keepdim,
               bool root) {
  Moments m = moments(self, dims, correction, keepdim, root, root ? "std_mean" : "var_mean");
  out[0] = m.variance;
  out[1] = m.mean;
}
void give_both(Args args, Value* out, double correction, bool root) {
  const Tensor& self = args.tensor(0);
  SL_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()), root ? "std_mean" : "var_mean",
           " only support floating point and complex dtypes");
  give_both(out, self, reduced_dims(args[1], self.dim()), correction, args.boolean(3), root);
}

}  // namespace

SL_OP(aten_var) {
  const Tensor& self = args.tensor(0);
  out[0] = spread(self, all_dims(self), unbiased(args, 1), false, false, "var");
}
SL_OP(aten_std) {
  const Tensor& self = args.tensor(0);
  out[0] = spread(self, all_dims(self), unbiased(args, 1), false, true, "std");
}
SL_OP(aten_var_dim) { give_spread(args, out, unbiased(args, 2), false); }
SL_OP(aten_std_dim) { give_spread(args, out, unbiased(args, 2), true); }
SL_OP(aten_var_correction) { give_spread(args, out, correction_of(args, 2), false); }
SL_OP(aten_std_correction) { give_spread(args, out, correction_of(args, 2), true); }
SL_OP(aten_var_mean) {
  const Tensor& self = args.tensor(0);
  give_both(out, self, all_dims(self), unbiased(args, 1), false, false);
}
SL_OP(aten_std_mean) {
  const Tensor& self = args.tensor(0);
  give_both(out, self, all_dims(self), unbiased(args, 1), false, true);
}
SL_OP(aten_var_mean_dim) { give_both(args, out, unbiased(args, 2), false); }
SL_OP(aten_std_mean_dim) { give_both(args, out, unbiased(args, 2), true); }
SL_OP(aten_var_mean_correction) { give_both(args, out, correction_of(args, 2), false); }
SL_OP(aten_std_mean_correction) { give_both(args, out, correction_of(args, 2), true); }

}  // namespace scriptlang
