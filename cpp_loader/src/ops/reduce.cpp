// Reductions over dimensions: sums and means, by rows or with the elements read in place.
#include "reduce.h"

#include <cmath>
#include <limits>

#include "column_sums.h"
#include "layers.h"
#include "row_functions.h"

namespace scriptlang {

namespace {

using Complex = std::complex<double>;

// The type that sums are computed in: int64 for integers, float32 for half types.
ScalarType sum_type(ScalarType t) {
  if (is_integral(t, true)) return ScalarType::Int64;
  if (is_half(t)) return ScalarType::Float32;
  if (is_complex(t)) return ScalarType::Complex128;
  return t;
}

// How many elements of a bool tensor are true.
Tensor count_bytes(const Tensor& self, const Dims& dims, bool keepdim) {
  const auto count_columns = kernels::kernels().lines->count_columns;
  const auto count_row = kernels::kernels().lines->count_row;
  Columns c;
  if (c.find(self, dims)) {
    Tensor to = Tensor::empty(reduced_sizes(self, dims, keepdim), ScalarType::Int64);
    const uint8_t* from = static_cast<const uint8_t*>(self.raw());
    c.for_bands([&](int64_t at, int64_t result, int64_t width) {
      count_columns(c.n, width, from + at, c.inner, to.data<int64_t>() + result);
    });
    return to;
  }
  Reduction r = reduction(self, dims, keepdim, ScalarType::Bool);
  Tensor to = r.result(ScalarType::Int64);
  for_rows<bool, int64_t>(r, to, [&](const bool* x, int64_t n) {
    return count_row(n, reinterpret_cast<const uint8_t*>(x));
  });
  return to;
}

// Replaces NaN by 0. It has the signature of a conversion of contiguous elements.
template <class T>
void copy_without_nan(int64_t n, void* to, int64_t, const void* from, int64_t) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] == x[i] ? x[i] : T(0);
}
template <ScalarType From>
void widen_without_nan(int64_t n, void* to, int64_t, const void* from, int64_t) {
  kernels::converter(ScalarType::Float32, From)(n, to, sizeof(float), from, 2);
  copy_without_nan<float>(n, to, 0, to, 0);
}
kernels::Convert without_nan(ScalarType computed, ScalarType from) {
  if (computed == ScalarType::Float64) return &copy_without_nan<double>;
  if (from == ScalarType::Float16) return &widen_without_nan<ScalarType::Float16>;
  if (from == ScalarType::BFloat16) return &widen_without_nan<ScalarType::BFloat16>;
  return &copy_without_nan<float>;
}

// Sums short float32 rows without a call for each, and divides the sums by `by`; false in other
// cases.
bool sum_short_rows(const Reduction& r, const Tensor& to, bool numbers, float by = 1) {
  constexpr int64_t kLongest = 512;
  const int64_t n = r.n;
  if (n > kLongest || r.outer < 2 || r.rows.dtype() != ScalarType::Float32 ||
      to.dtype() != ScalarType::Float32) {
    return false;
  }
  const float* x = r.rows.data<float>();
  float* y = to.data<float>();
  kernels::parallel_for(
      r.outer, 32768 / std::max<int64_t>(1, n) + 1, [&](int64_t begin, int64_t end) {
        kernels::kernels().rows->sums(end - begin, n, x + begin * n, y + begin, numbers);
        for (int64_t i = begin; by != 1 && i < end; ++i) y[i] /= by;
      });
  return true;
}

// `numbers`: NaN counts as 0; elements then have the type that sums are computed in, or a half
// type.
Tensor sum(const Tensor& self, const Dims& dims, bool keepdim, ScalarType result,
           bool numbers = false) {
  ScalarType computed = sum_type(result);
  if (result == ScalarType::Bool && self.dtype() != result) {  // convert elements to bool first
    if (is_symbolic(self)) Recording::give_up();
    return sum(to_dtype(self, result), dims, keepdim, result, numbers);
  }
  if (is_symbolic(self)) {
    const RowFunction* function = nullptr;
    if (!is_complex(computed)) {
      for_row_type(computed, [&](auto zero) { function = &row::kSum<decltype(zero)>; });
    }
    return record_reduction(self, dims, keepdim, computed, result, function, {},
                            [=](const Tensor* in) { return sum(in[0], dims, keepdim, result); });
  }
  Dims places = dims;
  if (Tensor lies = in_memory_order(self, &places); lies.defined()) {
    Tensor to = sum(lies, places, false, result, numbers);
    return view_as_shape(to, reduced_sizes(self, dims, keepdim));
  }
  if (!is_run(dims) && self.numel() > 0 && !is_complex(computed)) {
    Tensor part = sum(self, last_run(dims), true, computed, numbers);
    part = sum(part, before_last_run(dims), true, computed);
    return to_dtype(view_as_shape(part, reduced_sizes(self, dims, keepdim)), result);
  }
  bool widened = is_floating(self.dtype())
                     ? self.itemsize() == 2 && is_floating(computed)
                     : is_integral(self.dtype(), false) && computed == ScalarType::Int64;
  if ((self.dtype() == computed || widened) && has_more_behind(self, dims)) {
    Tensor to = Tensor::empty(reduced_sizes(self, dims, keepdim), computed);
    if (try_sums(self, dims, to, numbers)) return to_dtype(to, result);
  }
  if (self.dtype() == ScalarType::Bool && computed == ScalarType::Int64) {
    return to_dtype(count_bytes(self, dims, keepdim), result);
  }
  Reduction r = reduction(self, dims, keepdim, widened ? self.dtype() : computed);
  Tensor to = r.result(computed);
  if (computed == ScalarType::Complex128) {
    for_rows<Complex, Complex>(r, to, [](const Complex* x, int64_t n) {
      Complex total = 0;
      for (int64_t i = 0; i < n; ++i) total += x[i];
      return total;
    });
  } else if (sum_short_rows(r, to, numbers)) {
    return to_dtype(to, result);
  } else if (numbers && r.rows.dtype() == ScalarType::Float32) {
    reduce_rows(r, to, row::kSumNumbers);
  } else {
    for_row_type(computed, [&](auto zero) {
      reduce_rows(r, to, row::kSum<decltype(zero)>, nullptr,
                  numbers ? without_nan(computed, self.dtype()) : nullptr);
    });
  }
  return to_dtype(to, result);
}

ScalarType sum_result(Args args, int dtype, const Tensor& self) {
  return args.dtype(dtype, is_integral(self.dtype(), true) ? ScalarType::Int64 : self.dtype());
}

Tensor mean_over(const Tensor& self, const Dims& dims, bool keepdim, ScalarType result) {
  if (is_symbolic(self)) {
    ScalarType computed = result == ScalarType::Float64 ? result : ScalarType::Float32;
    const RowFunction* function = nullptr;
    for_float_type(computed, [&](auto zero) { function = &row::kMean<decltype(zero)>; });
    return record_reduction(
        self, dims, keepdim, computed, result, is_complex(result) ? nullptr : function, {},
        [=](const Tensor* in) { return mean_over(in[0], dims, keepdim, result); });
  }
  Dims places = dims;
  if (Tensor lies = in_memory_order(self, &places); lies.defined()) {
    return view_as_shape(mean_over(lies, places, false, result),
                         reduced_sizes(self, dims, keepdim));
  }
  bool trailing = dims.empty() || dims.front() + int64_t(dims.size()) == self.dim();
  if (trailing && self.dtype() == result &&
      (result == ScalarType::Float32 || result == ScalarType::Float64)) {
    Reduction r = reduction(self, dims, keepdim, result);
    Tensor to = r.result(result);
    if (sum_short_rows(r, to, false, float(r.n))) return to;
    for_float_type(result, [&](auto zero) { reduce_rows(r, to, row::kMean<decltype(zero)>); });
    return to;
  }
  double count = 1;
  for (int64_t d : dims) count *= double(self.size(d));
  bool small = is_half(result);
  Tensor total = sum(self, dims, keepdim, small ? ScalarType::Float32 : result);
  total = binary_result(total, Scalar(count), kernels::Binary::k_div, "mean", Rule::kSame, nullptr,
                        total);
  return to_dtype(total, result);
}

Tensor mean(const Tensor& self, const Value& dim_value, bool keepdim, const Value& dtype) {
  ScalarType result = dtype.is_none() ? self.dtype() : ScalarType(dtype.as_int());
  SL_CHECK(dtype.is_none() || is_scalar_type(dtype.as_int()), "unknown dtype");
  SL_CHECK(is_floating(result) || is_complex(result),
           dtype.is_none() ? "mean(): could not infer output dtype. Input dtype must be either a "
                             "floating point or complex dtype. Got: "
                           : "mean(): could not infer output dtype. Optional dtype must be either "
                             "a floating point or complex dtype. Got: ",
           dtype_display_name(result));
  return mean_over(self, reduced_dims(dim_value, self.dim()), keepdim, result);
}

Tensor product(const Tensor& given, const Dims& dims, bool keepdim, ScalarType result) {
  // Numbers between 0 and 1 are true as well.
  const Tensor self = result == ScalarType::Bool ? to_dtype(given, result) : given;
  ScalarType computed = sum_type(result);
  bool widened = is_floating(self.dtype()) && self.itemsize() == 2 && is_floating(computed);
  if ((self.dtype() == computed || widened) && has_more_behind(self, dims)) {
    Tensor to = Tensor::empty(reduced_sizes(self, dims, keepdim), computed);
    if (try_products(self, dims, to)) return to_dtype(to, result);
  }
  Reduction r = reduction(self, dims, keepdim, computed);
  Tensor to = r.result(computed);
  if (computed == ScalarType::Complex128) {
    for_rows<Complex, Complex>(r, to, [](const Complex* x, int64_t n) {
      Complex total = 1;
      for (int64_t i = 0; i < n; ++i) total *= x[i];
      return total;
    });
  } else {
    for_row_type(computed, [&](auto zero) {
      using T = decltype(zero);
      const auto product = kernels::kernels().lines->of(zero).product;
      for_rows<T, T>(r, to, [&](const T* x, int64_t n) {
        T total = 1;
        if (n > 0) product(n, x, &total);
        return total;
      });
    });
  }
  return to_dtype(to, result);
}

// Reduces the bits of the elements, widened to 64, by exclusive or.
Tensor exclusive_or(const Tensor& self, const Value& given, bool keepdim) {
  if (is_complex(self.dtype()) || is_barebones(self.dtype())) {
    raise(ErrorKind::NotImplementedError, "\"xor_sum_cpu\" not implemented for '",
          dtype_display_name(self.dtype()), "'");
  }
  Dims dims = reduced_dims(given, self.dim());
  SL_CHECK(self.numel() > 0 || !Ints(given).empty(),
           "hash_tensor: Expected reduction dim to be "
           "specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.");
  for (int64_t d : dims) {
    if (self.size(d) == 0) {
      raise(ErrorKind::IndexError, "hash_tensor: Expected reduction dim ", d,
            " to have non-zero size.");
    }
  }
  Reduction r = reduction(self, dims, keepdim,
                          is_floating(self.dtype()) ? ScalarType::Float64 : ScalarType::Int64);
  Tensor to = r.result(ScalarType::UInt64);
  for_rows<uint64_t, uint64_t>(r, to, [](const uint64_t* x, int64_t n) {
    uint64_t total = 0;
    for (int64_t i = 0; i < n; ++i) total ^= x[i];
    return total;
  });
  return to;
}

// any and all. The result is uint8 for uint8 tensors, else bool.
Tensor truth(const Tensor& self, const Dims& dims, bool keepdim, bool any) {
  Columns c;
  if (Tensor flags = to_dtype(self, ScalarType::Bool); c.find(flags, dims) && c.inner > 1) {
    Tensor counts = count_bytes(flags, dims, keepdim), to = counts;
    Scalar all(any ? int64_t{0} : c.n);
    to = binary_result(counts, all, any ? kernels::Binary::k_ne : kernels::Binary::k_eq, "any",
                       Rule::kToBool);
    return self.dtype() == ScalarType::UInt8 ? to_dtype(to, ScalarType::UInt8) : to;
  }
  Reduction r = reduction(self, dims, keepdim, ScalarType::Bool);
  Tensor to = r.result(ScalarType::Bool);
  for_rows<bool, bool>(r, to, [any](const bool* x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      if (x[i] == any) return any;
    }
    return !any;
  });
  return self.dtype() == ScalarType::UInt8 ? to_dtype(to, ScalarType::UInt8) : to;
}

Dims one_dim(int64_t dim, int64_t ndim) {
  dim = wrap_dim(dim, ndim);
  return ndim == 0 ? Dims() : Dims{dim};
}

// ---- norms

Tensor vector_norm(const Tensor& self, double p, const Dims& dims, bool keepdim,
                   ScalarType result) {
  Tensor real = is_complex(self.dtype())
                    ? unary_result(self, kernels::Unary::k_abs, "abs", Rule::kSame)
                    : self;
  result = to_real(result);
  SL_CHECK(is_floating(result),
           "linalg.vector_norm: Expected a floating point or complex tensor "
           "as input. Got ",
           dtype_display_name(self.dtype()));
  ScalarType computed = result == ScalarType::Float64 ? result : ScalarType::Float32;
  for (int64_t d : dims) {
    SL_CHECK(real.size(d) > 0 || !(std::isinf(p) || p < 0),
             "linalg.vector_norm cannot compute the ", p, " norm on the dimension ", d,
             " because this dimension is empty and the operation does not have an identity");
  }
  const RowFunction* function = nullptr;
  if (p == 2) {
    for_float_type(computed, [&](auto zero) { function = &row::kEuclidean<decltype(zero)>; });
  }
  if (is_symbolic(real)) {
    return record_reduction(
        real, dims, keepdim, computed, result, function, {},
        [=](const Tensor* in) { return vector_norm(in[0], p, dims, keepdim, result); });
  }
  int64_t count = 1;
  for (int64_t d : dims) count *= real.size(d);
  if (count == 1 && p != 0 && !(real.dim() == 0 && std::isnan(p))) {  // powers may overflow
    p = 1;
    function = nullptr;
  }
  if (p == 1 && has_more_behind(real, dims)) {
    Tensor sizes = unary_result(to_dtype(real, result), kernels::Unary::k_abs, "abs", Rule::kSame);
    return sum(sizes, dims, keepdim, result);
  }
  Reduction r = reduction(real, dims, keepdim, function ? real.dtype() : computed);
  Tensor to = r.result(computed);
  if (function) reduce_rows(r, to, *function);
  else
    for_float_type(computed, [&](auto zero) {
      using T = decltype(zero);
      for_rows<T, T>(r, to, [p](const T* x, int64_t n) {
        if (p == 1) return PlainRows<T>::added(n, x, [](T v) { return std::abs(v); });
        if (p == 0) return PlainRows<T>::added(n, x, [](T v) { return T(v != 0); });
        bool extreme = std::isinf(p);
        T total = extreme && p < 0 ? std::numeric_limits<T>::infinity() : T(0);
        for (int64_t i = 0; i < n; ++i) {
          kernels::worked_at(i + 1);
          T v = std::abs(x[i]);
          if (extreme) {
            if (std::isnan(v)) return v;
            total = p > 0 ? std::max(total, v) : std::min(total, v);
          } else {
            total += std::pow(v, T(p));
          }
        }
        return extreme ? total : std::pow(total, T(1 / p));
      });
    });
  return to_dtype(to, result);
}

double order_of_norm(const Scalar& p) {
  SL_CHECK(p.kind != Scalar::Complex,
           "linalg.vector_norm: Expected a non-complex scalar as the order of norm.");
  return p.to_double();
}

// Checks that a norm may be computed in the target type: it must not be narrower.
void check_type_of_norm(ScalarType given, ScalarType target) {
  SL_CHECK(is_floating(given) || is_complex(given),
           "linalg.vector_norm: Expected a floating point "
           "or complex tensor as input. Got ",
           dtype_display_name(given));
  if (given == target) return;
  SL_CHECK(is_floating(target) || is_complex(target),
           "linalg.vector_norm: dtype should be "
           "floating point or complex, but got ",
           dtype_display_name(target));
  const char* kind = is_complex(given) ? "complex" : "real";
  SL_CHECK(is_complex(given) == is_complex(target), "linalg.vector_norm: dtype should be ", kind,
           " for ", kind, " inputs, but got ", dtype_display_name(target));
  SL_CHECK(promote(given, target) == target, "linalg.vector_norm: the dtype of the input (",
           dtype_display_name(given),
           ") should be convertible without narrowing to the specified "
           "dtype (",
           dtype_display_name(target), ")");
}

Tensor norm_op(Args args, int p, int dim, int keepdim, int dtype) {
  const Tensor& self = args.tensor(0);
  if (dtype >= 0) check_type_of_norm(self.dtype(), args.dtype(dtype, self.dtype()));
  double order = args.none(p) ? 2.0 : order_of_norm(args.scalar(p));
  return vector_norm(self, order, reduced_dims(dim < 0 ? Value() : args[dim], self.dim()),
                     keepdim >= 0 && args.boolean(keepdim),
                     dtype < 0 ? self.dtype() : args.dtype(dtype, self.dtype()));
}

Tensor complex_log_sum_exp(const Tensor& self, const Dims& dims, bool keepdim) {
  Reduction r = reduction(self, dims, keepdim, ScalarType::Complex128);
  Tensor to = r.result(ScalarType::Complex128);
  for_rows<Complex, Complex>(r, to, [](const Complex* x, int64_t n) {
    double top = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < n; ++i) top = std::max(top, x[i].real());
    double shift = std::isinf(top) ? 0 : top;
    Complex total = 0;
    for (int64_t i = 0; i < n; ++i) total += std::exp(x[i] - shift);
    return std::log(total) + shift;
  });
  return to_dtype(to, self.dtype());
}

Tensor log_sum_exp(const Tensor& self, const Dims& dims, bool keepdim) {
  if (is_complex(self.dtype())) return complex_log_sum_exp(self, dims, keepdim);
  ScalarType result = float_type(self.dtype());
  ScalarType computed = computed_type(result, "logsumexp");
  Columns columns;
  if (computed == ScalarType::Float32 && !is_symbolic(self) && columns.find(self, dims)) {
    Tensor from = to_dtype(self, computed),
           to = Tensor::empty(reduced_sizes(self, dims, keepdim), computed);
    columns.for_bands([&](int64_t at, int64_t place, int64_t width) {
      kernels::kernels().rows->log_sum_exp_columns(columns.n, width, from.data<float>() + at,
                                                   columns.inner, to.data<float>() + place);
    });
    return to_dtype(to, result);
  }
  Reduction r = reduction(self, dims, keepdim, computed);
  Tensor to = r.result(computed);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    for_rows<T, T>(r, to, [](const T* x, int64_t n) {
      if (n == 0) return -std::numeric_limits<T>::infinity();
      T top = Rows<T>::maximum(n, x);
      if (std::isnan(top)) return top;
      T shift = std::isinf(top) ? T(0) : top;
      return std::log(Rows<T>::sum_exp(n, x, shift)) + shift;
    });
  });
  return to_dtype(to, result);
}

Tensor count_nonzero(const Tensor& self, const Dims& dims) {
  return sum(to_dtype(self, ScalarType::Bool), dims, false, ScalarType::Int64);
}

Tensor without_nan(const Tensor& self) {
  SL_CHECK(!is_complex(self.dtype()), "nansum on CPU does not support complex inputs");
  double p[3] = {0.0, std::numeric_limits<double>::infinity(),
                 -std::numeric_limits<double>::infinity()};
  if (!is_floating(self.dtype())) return self;
  return unary_result(self, kernels::Unary::k_nan_to_num, "nansum", Rule::kSame, p);
}

Tensor sum_without_nan(const Tensor& self, const Dims& dims, bool keepdim, ScalarType result) {
  bool plain = self.dtype() == result && !is_symbolic(self) && is_floating(result);
  if (plain && self.itemsize() > 1) return sum(self, dims, keepdim, result, true);
  return sum(without_nan(self), dims, keepdim, result);
}

// As reduced_dims, but an empty list means no dimensions.
Dims stated_dims(const Value& dims, int64_t ndim) {
  return !dims.is_none() && Ints(dims).empty() ? Dims() : reduced_dims(dims, ndim);
}

}  // namespace

Tensor sum_over(const Tensor& self, const Dims& dims, bool keepdim) {
  ScalarType result = is_integral(self.dtype(), true) ? ScalarType::Int64 : self.dtype();
  return sum(self, self.dim() ? dims : Dims(), keepdim, result);  // zero-dim: no dimension 0
}

Tensor mean_of_all(const Tensor& self) { return mean(self, Value(), false, Value()); }

SL_OP(aten_sum) {
  const Tensor& self = args.tensor(0);
  out[0] = sum(self, all_dims(self), false, sum_result(args, 1, self));
}
SL_OP(aten_sum_dim_IntList) {
  const Tensor& self = args.tensor(0);
  out[0] = sum(self, reduced_dims(args[1], self.dim()), args.boolean(2), sum_result(args, 3, self));
}
SL_OP(aten_nansum) {
  const Tensor& self = args.tensor(0);
  out[0] = sum_without_nan(self, reduced_dims(args[1], self.dim()), args.boolean(2),
                           sum_result(args, 3, self));
}
SL_OP(aten_mean) { out[0] = mean(args.tensor(0), Value(), false, args[1]); }
SL_OP(aten_mean_dim) { out[0] = mean(args.tensor(0), args[1], args.boolean(2), args[3]); }
SL_OP(aten_nanmean) {
  const Tensor& self = args.tensor(0);
  Dims dims = reduced_dims(args[1], self.dim());
  ScalarType result = args.dtype(3, self.dtype());
  SL_CHECK(!is_complex(self.dtype()), "nansum on CPU does not support complex inputs");
  SL_CHECK(is_floating(self.dtype()),
           "nanmean(): expected input to have floating point or complex dtype but got ",
           dtype_display_name(self.dtype()));
  SL_CHECK(
      is_floating(result),
      "nanmean(): could not infer output dtype. Optional dtype must be either a floating point "
      "or complex dtype. Got: ",
      dtype_display_name(result));
  Tensor numbers = unary_result(self, kernels::Unary::k_isnan, "isnan", Rule::kToBool);
  numbers = unary_result(numbers, kernels::Unary::k_logical_not, "not", Rule::kToBool);
  out[0] = binary_result(sum(without_nan(self), dims, args.boolean(2), result),
                         sum(numbers, dims, args.boolean(2), ScalarType::Int64),
                         kernels::Binary::k_div, "nanmean", Rule::kFloat);
}
SL_OP(aten_prod) {
  const Tensor& self = args.tensor(0);
  out[0] = product(self, all_dims(self), false, sum_result(args, 1, self));
}
SL_OP(aten_prod_dim_int) {
  const Tensor& self = args.tensor(0);
  out[0] = product(self, one_dim(args.integer(1), self.dim()), args.boolean(2),
                   sum_result(args, 3, self));
}
SL_OP(aten_any) { out[0] = truth(args.tensor(0), all_dims(args.tensor(0)), false, true); }
SL_OP(aten_all) { out[0] = truth(args.tensor(0), all_dims(args.tensor(0)), false, false); }
SL_OP(aten_any_dim) {
  const Tensor& self = args.tensor(0);
  out[0] = truth(self, one_dim(args.integer(1), self.dim()), args.boolean(2), true);
}
SL_OP(aten_all_dim) {
  const Tensor& self = args.tensor(0);
  out[0] = truth(self, one_dim(args.integer(1), self.dim()), args.boolean(2), false);
}
SL_OP(aten_any_dims) {
  const Tensor& self = args.tensor(0);
  out[0] = truth(self, stated_dims(args[1], self.dim()), args.boolean(2), true);
}
SL_OP(aten_all_dims) {
  out[0] =
      truth(args.tensor(0), stated_dims(args[1], args.tensor(0).dim()), args.boolean(2), false);
}
SL_OP(aten_count_nonzero) {
  const Tensor& self = args.tensor(0);
  out[0] =
      count_nonzero(self, args.none(1) ? all_dims(self) : one_dim(args.integer(1), self.dim()));
}
SL_OP(aten_count_nonzero_dim_IntList) {
  out[0] = count_nonzero(args.tensor(0), reduced_dims(args[1], args.tensor(0).dim()));
}
SL_OP(aten_logsumexp) {
  const Tensor& self = args.tensor(0);
  out[0] = log_sum_exp(self, reduced_dims(args[1], self.dim()), args.boolean(2));
}

SL_OP(aten_special_logsumexp) { op_aten_logsumexp(ctx, args, out); }
SL_OP(aten_norm_Scalar) { out[0] = norm_op(args, 1, -1, -1, -1); }
SL_OP(aten_norm_ScalarOpt_dim) { out[0] = norm_op(args, 1, 2, 3, -1); }
SL_OP(aten_norm_ScalarOpt_dim_dtype) { out[0] = norm_op(args, 1, 2, 3, 4); }
SL_OP(aten_norm_ScalarOpt_dtype) { out[0] = norm_op(args, 1, -1, -1, 2); }
SL_OP(aten_linalg_vector_norm) { out[0] = norm_op(args, 1, 2, 3, 4); }
SL_OP(aten_frobenius_norm_dim) {
  const Tensor& self = args.tensor(0);
  out[0] = vector_norm(self, 2.0, reduced_dims(args[1], self.dim()), args.boolean(2), self.dtype());
}
SL_OP(aten_dist) {
  Tensor difference =
      binary_result(args.tensor(0), args.tensor(1), kernels::Binary::k_sub, "dist", Rule::kSame);
  out[0] = vector_norm(difference, order_of_norm(args.scalar(2)), all_dims(difference), false,
                       difference.dtype());
}
SL_OP(aten_trace) {
  const Tensor& self = args.tensor(0);
  if (self.dtype() == ScalarType::Bool)
    raise(ErrorKind::NotImplementedError, "\"trace\" not implemented for 'Bool'");
  SL_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
  int64_t n = std::min(self.size(0), self.size(1));
  Tensor diagonal = self.as_strided({n}, {self.stride(0) + self.stride(1)}, self.storage_offset());
  ScalarType result = is_integral(self.dtype(), true) ? ScalarType::Int64 : self.dtype();
  out[0] = sum(diagonal, {0}, false, result);
}

SL_OP(aten_hash_tensor) {
  const Tensor& self = args.tensor(0);
  SL_CHECK(args.integer(3) == 0, "Unknown hash_tensor mode: ", args.integer(3));
  out[0] = exclusive_or(self, args[1], args.boolean(2));
}

}  // namespace scriptlang
