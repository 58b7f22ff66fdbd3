// Operators that create tensors.
#include <cmath>
#include <cstring>
#include <limits>

#include "autograd/history.h"
#include "options.h"
#include "scratch.h"
#include "../../kernels/parallel.h"
#include "layout.h"
#include "pointwise_binary.h"
#include "values/zeros.h"

namespace scriptlang {

namespace {

ScalarType type_of_number(const Scalar& s) {
  switch (s.kind) {
    case Scalar::Bool: return ScalarType::Bool;
    case Scalar::Int: return ScalarType::Int64;
    case Scalar::Double: return ScalarType::Float32;
    default: return ScalarType::Complex64;
  }
}

Tensor filled(IntSpan sizes, ScalarType dtype, const Scalar& value) {
  Tensor t = Tensor::empty(sizes, dtype);
  fill(t, value);
  return t;
}

Tensor like(Args args, int first, int format) {
  const Tensor& self = args.tensor(0);
  ScalarType dtype = options(args, first, self.dtype());
  return empty_in_format(self, dtype, args.integer(format, kPreserve));
}

// ---- arange

int64_t arange_length(const Scalar& start, const Scalar& end, const Scalar& step) {
  SL_CHECK(step.to_double() != 0, "step must be nonzero");
  SL_CHECK(std::isfinite(start.to_double()) && std::isfinite(end.to_double()),
           "unsupported range: ", start.to_double(), " -> ", end.to_double());
  bool forward = step.to_double() > 0;
  SL_CHECK(forward ? end.to_double() >= start.to_double() : end.to_double() <= start.to_double(),
           "upper bound and lower bound inconsistent with step sign");
  if (start.is_integral() && end.is_integral() && step.is_integral()) {
    // The distance of two int64 may need all 64 bits of an unsigned int.
    uint64_t distance =
        forward ? uint64_t(end.i) - uint64_t(start.i) : uint64_t(start.i) - uint64_t(end.i);
    uint64_t stride = forward ? uint64_t(step.i) : 0 - uint64_t(step.i);
    uint64_t length = distance / stride + (distance % stride != 0);
    SL_CHECK(length <= uint64_t(std::numeric_limits<int64_t>::max()),
             "invalid size, possible "
             "overflow?");
    return int64_t(length);
  }
  double length = std::ceil((end.to_double() - start.to_double()) / step.to_double());
  SL_CHECK(length >= 0 && length <= 9.2e18, "invalid size, possible overflow?");
  return int64_t(length);
}

template <class T>
void fill_range(T* to, int64_t n, const Scalar& start, const Scalar& step) {
  kernels::parallel_for(n, 65536, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_integral_v<T>) {
      uint64_t from = uint64_t(start.to_int()), by = uint64_t(step.to_int());
      for (int64_t i = begin; i < end; ++i) to[i] = T(from + by * uint64_t(i));
    } else {
      const double from = start.to_double(), by = step.to_double();
      constexpr int64_t kPiece = 1 << 20;  // indices within a piece are int32, which vectorises
      for (; begin < end; begin += kPiece) {
        int32_t count = int32_t(std::min(kPiece, end - begin));
        const double first = double(begin);
        for (int32_t i = 0; i < count; ++i) to[begin + i] = T(from + by * (first + double(i)));
      }
    }
  });
}

Tensor arange(Scalar start, Scalar end, Scalar step, Args args, int first) {
  bool integral = start.is_integral() && end.is_integral() && step.is_integral();
  ScalarType dtype = options(args, first, integral ? ScalarType::Int64 : ScalarType::Float32);
  if (dtype == ScalarType::Bool || is_complex(dtype)) {
    raise(ErrorKind::NotImplementedError, "\"arange_cpu\" not implemented for '",
          dtype_display_name(dtype), "'");
  }
  if (dtype == ScalarType::Int64) {
    for (Scalar* s : {&start, &end, &step}) *s = Scalar(s->to_int());
  }
  int64_t n = arange_length(start, end, step);
  ScalarType computed = is_integral(dtype, true)       ? ScalarType::Int64
                        : dtype == ScalarType::Float32 ? ScalarType::Float32
                                                       : ScalarType::Float64;
  Tensor t = Tensor::empty({n}, computed);
  if (computed == ScalarType::Int64) fill_range(t.data<int64_t>(), n, start, step);
  else if (computed == ScalarType::Float32) fill_range(t.data<float>(), n, start, step);
  else fill_range(t.data<double>(), n, start, step);
  return to_dtype(t, dtype);
}

// linspace, computed from both ends towards the middle: it is symmetric and ends exactly at `end`.
template <class T>
void fill_between(T* to, int64_t n, T start, T end) {
  T step = n > 1 ? (end - start) / T(n - 1) : T(0);
  for (int64_t i = 0; i < n; ++i) {
    to[i] = i < n / 2 ? start + step * T(i) : end - step * T(n - i - 1);
  }
  if (n == 1) to[0] = start;
}

// The same for half types, with every step rounded.
void fill_between_halves(float* to, int64_t n, double first, double last, ScalarType type) {
  auto rounded = [&](float x) { return float(round_to_half(x, type)); };
  const float start = rounded(float(first)), end = rounded(float(last));
  const float step = n > 1 ? rounded((end - start) / float(n - 1)) : 0.0f;
  for (int64_t i = 0; i < n; ++i) {
    to[i] = i < n / 2 ? start + rounded(step * float(i)) : end - rounded(step * float(n - i - 1));
  }
  if (n == 1) to[0] = start;
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, ScalarType dtype) {
  SL_CHECK(steps >= 0, "number of steps must be non-negative");
  bool wide = dtype == ScalarType::Float64 || is_integral(dtype, true);
  if (is_complex(dtype)) {
    Tensor t = Tensor::empty({steps}, ScalarType::Complex128);
    fill_between(t.data<std::complex<double>>(), steps, start.to_complex(), end.to_complex());
    return to_dtype(t, dtype);
  }
  SL_CHECK(start.kind != Scalar::Complex && end.kind != Scalar::Complex,
           "torch.linspace(): "
           "inferred dtype ComplexFloat can't be safely cast to passed dtype ",
           dtype_display_name(dtype));
  Tensor t = Tensor::empty({steps}, wide ? ScalarType::Float64 : ScalarType::Float32);
  if (is_integral(dtype, true)) {
    // The ends are converted to integers first.
    fill_between(t.data<double>(), steps, double(start.to_int()), double(end.to_int()));
  } else if (wide) {
    fill_between(t.data<double>(), steps, start.to_double(), end.to_double());
  }
  if (is_half(dtype)) {
    fill_between_halves(t.data<float>(), steps, start.to_double(), end.to_double(), dtype);
  } else if (!wide) {
    fill_between(t.data<float>(), steps, float(start.to_double()), float(end.to_double()));
  }
  return to_dtype(t, dtype);
}

Tensor logspace(Args args, ScalarType dtype) {
  Scalar start = args.scalar(0), end = args.scalar(1);
  if (args.integer(2) == 1 && end.kind != Scalar::Complex) end = start;  // not used
  if (is_integral(dtype, true) && start.kind != Scalar::Complex && end.kind != Scalar::Complex) {
    start = Scalar(start.to_int());
    end = Scalar(end.to_int());
  }
  Tensor t = linspace(start, end, args.integer(2), ScalarType::Float64);
  Tensor base = Tensor::scalar(args.number(3), ScalarType::Float64);
  Tensor powers = binary_result(base, t, kernels::Binary::k_pow, "logspace", Rule::kSame);
  return to_dtype(powers, dtype);
}

// torch.range: from start to end, including the end.
Tensor range(Scalar start, Scalar end, Scalar step, ScalarType dtype) {
  SL_CHECK(std::isfinite(start.to_double()) && std::isfinite(end.to_double()),
           "unsupported range: ", start.to_double(), " -> ", end.to_double());
  if (is_integral(dtype, true)) {
    for (Scalar* s : {&start, &end, &step}) *s = Scalar(s->to_int());
  }
  double by = step.to_double();
  SL_CHECK(by != 0, "step must be nonzero");
  const double apart = end.to_double() - start.to_double();
  SL_CHECK(by > 0 ? apart >= 0 : apart <= 0,
           "upper bound and lower bound inconsistent with step sign");
  double length = std::floor(apart / by) + 1;
  SL_CHECK(length >= 1, "upper bound and lower bound inconsistent with step sign");
  SL_CHECK(length <= 9.2e18, "invalid size, possible overflow?");
  Tensor t = Tensor::empty({int64_t(length)}, ScalarType::Float64);
  fill_range(t.data<double>(), t.numel(), start, step);
  return to_dtype(t, dtype);
}

Tensor eye(int64_t rows, int64_t columns, ScalarType dtype) {
  SL_CHECK(rows >= 0, "n must be greater or equal to 0, got ", rows);
  SL_CHECK(columns >= 0, "m must be greater or equal to 0, got ", columns);
  Tensor t = Tensor::zeros({rows, columns}, dtype);
  int64_t diagonal = rows < columns ? rows : columns;
  if (diagonal > 0) fill(t.as_strided({diagonal}, {columns + 1}, 0), Scalar(int64_t{1}));
  return t;
}

// ---- tensor([[1, 2], [3, 4]])

struct Literal {
  std::vector<int64_t> sizes;
  ScalarType dtype = ScalarType::Undefined;
};

void examine(const Value& v, size_t depth, Literal& literal) {
  if (!v.is_list() && !v.is_tuple()) {
    SL_CHECK(depth == literal.sizes.size(), "Expected sequence of length ",
             depth < literal.sizes.size() ? literal.sizes[depth] : 0, " at dim ", depth,
             ", but got a number");
    ScalarType type = v.is_tensor() ? v.as_tensor().dtype() : type_of_number(Scalar::of(v));
    literal.dtype = literal.dtype == ScalarType::Undefined ? type : promote(literal.dtype, type);
    return;
  }
  std::vector<Value> items = items_of(v);
  SL_CHECK(depth < kMaxDims, "a nested list of more than ", kMaxDims, " levels makes no tensor");
  SL_CHECK(depth < literal.sizes.size() && int64_t(items.size()) == literal.sizes[depth],
           "Expected sequence of length ", depth < literal.sizes.size() ? literal.sizes[depth] : 0,
           " at dim ", depth, " (got ", items.size(), ")");
  for (const Value& item : items) examine(item, depth + 1, literal);
}

void store(const Value& v, const Tensor& one, char*& to, kernels::Convert convert,
           int64_t itemsize) {
  if (v.is_list() || v.is_tuple()) {
    for (const Value& item : items_of(v)) store(item, one, to, convert, itemsize);
    return;
  }
  Scalar s = Scalar::of(v);
  if (one.dtype() == ScalarType::Int64) *one.data<int64_t>() = s.to_int();
  else if (one.dtype() == ScalarType::Float64) *one.data<double>() = s.to_double();
  else *one.data<std::complex<double>>() = s.to_complex();
  convert(1, to, 0, one.raw(), 0);
  to += itemsize;
}

Tensor from_value(const Value& v, const Value& dtype_value) {
  Literal literal;
  for (Value level = v; level.is_list() || level.is_tuple();) {
    std::vector<Value> items = items_of(level);
    literal.sizes.push_back(int64_t(items.size()));
    SL_CHECK(literal.sizes.size() <= kMaxDims, "a nested list of more than ", kMaxDims,
             " levels makes no tensor");
    if (items.empty()) break;
    level = items[0];
  }
  examine(v, 0, literal);
  ScalarType natural = literal.dtype == ScalarType::Undefined ? ScalarType::Float32 : literal.dtype;
  ScalarType dtype = natural;
  if (!dtype_value.is_none()) {
    SL_CHECK(is_scalar_type(dtype_value.as_int()), "dtype number ", dtype_value.as_int(),
             " is not supported");
    dtype = ScalarType(dtype_value.as_int());
  }
  Tensor t = Tensor::empty(literal.sizes, dtype);
  ScalarType via = is_integral(natural, true) ? ScalarType::Int64
                   : is_complex(natural)      ? ScalarType::Complex128
                                              : ScalarType::Float64;
  Tensor one = Tensor::empty(IntSpan(), via);
  kernels::Convert convert = kernels::converter(dtype, via);
  SL_CHECK(convert != nullptr, "a tensor of ", dtype_name(dtype), " cannot be made from numbers");
  char* to = static_cast<char*>(t.raw());
  store(v, one, to, convert, t.itemsize());
  return t;
}

Tensor literal(Args args) {
  args.want_cpu(2);
  Tensor made = from_value(args[0], args[1]);
  if (args.size() < 4 || !args.boolean(3)) return made;
  SL_CHECK(autograd::is_differentiable(made.dtype()),
           "Only Tensors of floating point and complex dtype can require gradients");
  autograd::require_grad(made, true, false);
  return made;
}

}  // namespace

SL_OP(aten_empty_memory_format) {
  Ints sizes = args.ints(0);
  ScalarType dtype = options(args, 1, ScalarType::Float32);
  Tensor t = Tensor::empty(sizes, dtype);
  out[0] = unwritten(empty_in_format(t, dtype, args.integer(5, kContiguous)));
}
SL_OP(aten_zeros) { out[0] = Tensor::zeros(args.ints(0), options(args, 1, ScalarType::Float32)); }
SL_OP(aten_ones) {
  out[0] = filled(args.ints(0), options(args, 1, ScalarType::Float32), int64_t{1});
}
SL_OP(aten_full) {
  Scalar value = args.scalar(1);
  out[0] = filled(args.ints(0), options(args, 2, type_of_number(value)), value);
}
SL_OP(aten_empty_like) { out[0] = unwritten(like(args, 1, 5)); }
SL_OP(aten_zeros_like) {
  Tensor t = like(args, 1, 5);
  write_zeros(t.raw(), t.nbytes());
  out[0] = t;
}
SL_OP(aten_ones_like) {
  Tensor t = like(args, 1, 5);
  fill(t, int64_t{1});
  out[0] = t;
}
SL_OP(aten_full_like) {
  Tensor t = like(args, 2, 6);
  fill(t, args.scalar(1));
  out[0] = t;
}
SL_OP(aten_new_empty) {
  out[0] = unwritten(Tensor::empty(args.ints(1), options(args, 2, args.tensor(0).dtype())));
}
SL_OP(aten_new_zeros) {
  out[0] = Tensor::zeros(args.ints(1), options(args, 2, args.tensor(0).dtype()));
}
SL_OP(aten_new_ones) {
  out[0] = filled(args.ints(1), options(args, 2, args.tensor(0).dtype()), int64_t{1});
}
SL_OP(aten_new_full) {
  out[0] = filled(args.ints(1), options(args, 3, args.tensor(0).dtype()), args.scalar(2));
}
SL_OP(aten_scalar_tensor) {
  Scalar value = args.scalar(0);
  out[0] = filled(IntSpan(), options(args, 1, ScalarType::Float32), value);
}
SL_OP(aten_arange) {
  out[0] = arange(Scalar(int64_t{0}), args.scalar(0), Scalar(int64_t{1}), args, 1);
}
SL_OP(aten_arange_start) {
  out[0] = arange(args.scalar(0), args.scalar(1), Scalar(int64_t{1}), args, 2);
}
SL_OP(aten_arange_start_step) {
  out[0] = arange(args.scalar(0), args.scalar(1), args.scalar(2), args, 3);
}
SL_OP(aten_linspace) {
  Scalar start = args.scalar(0), end = args.scalar(1);
  bool is_complex = start.kind == Scalar::Complex || end.kind == Scalar::Complex;
  out[0] = linspace(start, end, args.integer(2),
                    options(args, 3, is_complex ? ScalarType::Complex64 : ScalarType::Float32));
}
static void check_ends(Args args) {
  for (int i : {0, 1}) {
    SL_CHECK(!args[i].is_tensor() || args.tensor(i).dim() == 0,
             "linspace and logspace only "
             "support 0-dimensional start and end tensors");
  }
}
#define SL_SPACE(name, overload)    \
  SL_OP(aten_##name##_##overload) { \
    check_ends(args);               \
    op_aten_##name(ctx, args, out); \
  }
SL_SPACE(linspace, Tensor_Tensor)
SL_SPACE(linspace, Tensor_Scalar)
SL_SPACE(linspace, Scalar_Tensor)
SL_OP(aten_logspace) { out[0] = logspace(args, options(args, 4, ScalarType::Float32)); }
SL_SPACE(logspace, Tensor_Tensor)
SL_SPACE(logspace, Tensor_Scalar)
SL_SPACE(logspace, Scalar_Tensor)
#undef SL_SPACE
SL_OP(aten_range_step) {
  out[0] =
      range(args.scalar(0), args.scalar(1), args.scalar(2), options(args, 3, ScalarType::Float32));
}
SL_OP(aten_range) {
  out[0] = range(args.scalar(0), args.scalar(1), Scalar(int64_t{1}),
                 options(args, 2, ScalarType::Float32));
}
SL_OP(aten_eye) {
  out[0] = eye(args.integer(0), args.integer(0), options(args, 1, ScalarType::Float32));
}
SL_OP(aten_eye_m) {
  out[0] = eye(args.integer(0), args.integer(1), options(args, 2, ScalarType::Float32));
}
SL_OP(aten_tensor) { out[0] = literal(args); }
SL_OP(aten_tensor_bool) { out[0] = literal(args); }
SL_OP(aten_tensor_int) { out[0] = literal(args); }
SL_OP(aten_tensor_float) { out[0] = literal(args); }
SL_OP(aten_tensor_complex) { out[0] = literal(args); }
SL_OP(aten_as_tensor_bool) { out[0] = literal(args); }
SL_OP(aten_as_tensor_int) { out[0] = literal(args); }
SL_OP(aten_as_tensor_float) { out[0] = literal(args); }
SL_OP(aten_as_tensor_complex) { out[0] = literal(args); }
SL_OP(aten_as_tensor_list) { out[0] = literal(args); }
SL_OP(aten_as_tensor) {
  args.want_cpu(2);
  out[0] = to_dtype(args.tensor(0), args.dtype(1, args.tensor(0).dtype()));
}

}  // namespace scriptlang
