// Less common operators that are formulas of others.
#include <algorithm>
#include <cmath>
#include <limits>

#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "express.h"
#include "index.h"
#include "join.h"
#include "layout.h"
#include "linalg.h"
#include "random.h"
#include "recording.h"

namespace scriptlang {

using namespace express;

namespace {

// Without branches: where the mask is not set the element is written as it is.
template <class T>
void take_where(int64_t n, T* to, const uint8_t* mask, const T* from, int64_t count) {
  int64_t next = 0;
  for (int64_t i = 0; i < n && next < count; ++i) {
    T value = mask[i] ? from[next] : to[i];
    to[i] = value;
    next += mask[i] != 0;
  }
}

void scatter_where(const Tensor& self, const uint8_t* mask, const Tensor& values) {
  int64_t n = self.numel(), count = values.numel();
  switch (self.itemsize()) {
    case 1: return take_where(n, self.data<uint8_t>(), mask, values.data<uint8_t>(), count);
    case 2: return take_where(n, self.data<uint16_t>(), mask, values.data<uint16_t>(), count);
    case 4: return take_where(n, self.data<uint32_t>(), mask, values.data<uint32_t>(), count);
    case 8: return take_where(n, self.data<uint64_t>(), mask, values.data<uint64_t>(), count);
    default: {
      using Wide = std::complex<double>;
      return take_where(n, self.data<Wide>(), mask, values.data<Wide>(), count);
    }
  }
}

// The elements of source, in order, at the places where the mask is set.
void masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  SL_CHECK(self.dtype() == source.dtype(), "masked_scatter: expected self and source to have same "
           "dtypes but got ", dtype_display_name(self.dtype()), " and ",
           dtype_display_name(source.dtype()));
  SL_CHECK(mask.dtype() == ScalarType::Bool, "masked_scatter_ only supports boolean masks, but got "
           "mask with dtype ", dtype_display_name(mask.dtype()));
  Tensor wide = to_contiguous(view_expand(mask, self.sizes()));
  int64_t count = kernels::kernels().lines->count_row(wide.numel(),
                                                      static_cast<const uint8_t*>(wide.raw()));
  SL_CHECK(count <= source.numel(), "Number of elements of source < number of ones in mask");
  Tensor values = view_narrow(reshape(to_contiguous(source), {source.numel()}), 0, 0, count);
  check_writable(self);
  if (self.is_contiguous() && self.storage() != values.storage()) {
    return scatter_where(self, static_cast<const uint8_t*>(wide.raw()), values);
  }
  if (self.dim() == 0) {
    if (count > 0) copy_into(self, view_select(values, 0, 0));
    return;
  }
  index_put(self, {wide}, values, false);
}

Tensor rrelu(Args args, Context& ctx, const Tensor& into) {
  const Tensor& self = args.tensor(0);
  double lower = args.scalar(1).to_double(), upper = args.scalar(2).to_double();
  SL_CHECK(lower <= upper, "Lower bound should be less than or equal to the upper bound");
  if (!args.boolean(3)) {
    double slope[kernels::kParams] = {(lower + upper) / 2};
    Tensor y = unary_result(self, Unary::k_leaky_relu, "leaky_relu", Rule::kSame, slope, into);
    return into.defined() ? y : to_contiguous(y);
  }
  Tensor slopes = Tensor::empty(self.sizes(), ScalarType::Float64);
  Tensor x = contiguous_as(self, ScalarType::Float64);
  {
    // A slope is drawn for each element that takes one.
    Generator& generator = args.generator(4, ctx);
    std::lock_guard<std::mutex> lock(generator.mutex);
    Draw draw(generator);
    for (int64_t i = 0; i < x.numel(); ++i) {
      kernels::worked(16);
      bool sloped = x.data<double>()[i] <= 0;
      slopes.data<double>()[i] = sloped ? draw.uniform() * (upper - lower) + lower : 1;
    }
  }
  Tensor result = to_dtype(mul(self, slopes), self.dtype());
  if (!into.defined()) return to_contiguous(result);
  copy_into(into, result);
  return into;
}

Tensor scaled_sum(const Tensor& self, const Scalar& self_factor, const Tensor& product,
                  const Scalar& product_factor) {
  Scalar beta = factor_for(self_factor, self.dtype());
  Scalar alpha = factor_for(product_factor, product.dtype());
  auto times = [](const Tensor& t, const Scalar& by) {
    const bool one = by.is_integral() ? by.i == 1 : by.d == 1 && by.imag == 0;
    return one ? t : mul(t, by);
  };
  Tensor scaled = times(product, alpha);
  return beta.to_bool() ? add(times(self, beta), scaled) : scaled;
}

bool is_half(const Tensor& t) { return is_floating(t.dtype()) && t.itemsize() == 2; }

// Sums of half types are rounded after every matrix.
Tensor addbmm_of_halves(const Tensor& self, const Tensor& a, const Tensor& b, Scalar beta,
                        const Scalar& alpha) {
  Tensor sum = self;
  for (int64_t i = 0; i < a.size(0); ++i) {
    Tensor one = matrix_product(to_dtype(view_select(a, 0, i), ScalarType::Float32),
                                to_dtype(view_select(b, 0, i), ScalarType::Float32));
    sum = to_dtype(scaled_sum(to_dtype(sum, ScalarType::Float32), beta, one, alpha), self.dtype());
    beta = Scalar(int64_t{1});
  }
  return sum;
}

// Half types are rounded, the factors too, after every step.
Tensor addr_of_halves(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                      const Scalar& alpha) {
  auto factor = [&](const Scalar& s) { return full(IntSpan(), self.dtype(), s); };
  Tensor part = mul(view_unsqueeze(mul(a, factor(alpha)), 1), b);
  return beta.to_double() == 0 ? part : add(mul(self, factor(beta)), part);
}

// Softmax whose rows of nothing but -inf give zeros.
Tensor safe_softmax(const Tensor& self, int64_t dim) {
  double nothing = -std::numeric_limits<double>::infinity();
  Tensor y = softmax(self, dim);
  Tensor hidden = eq(self, Scalar(nothing));
  Tensor shown = sum_over(logical_not(hidden), {wrap_dim(dim, self.dim())}, true);
  return where(eq(shown, Scalar(int64_t{0})), Scalar(0.0), y);
}

// Distances of one row of m elements from r others.
template <class T>
void distances_of_row(int64_t m, const T* a, const T* b, int64_t r, bool euclid, T* to) {
  const auto& lines = *kernels::kernels().lines;
  if constexpr (std::is_same_v<T, float>) lines.distances(m, a, b, r, euclid, to);
  else lines.distances_f64(m, a, b, r, euclid, to);
}

bool has_distances(const Tensor& t, double p) {
  bool known = t.dtype() == ScalarType::Float32 || t.dtype() == ScalarType::Float64;
  return known && (p == 1 || p == 2) && !is_symbolic(t);
}

// Of the rows of every [p, m] of one batch from those of the [r, m] of the other.
Tensor distances_of_rows(const Tensor& a, const Tensor& b, bool euclid) {
  std::vector<int64_t> sizes = broadcast_shapes({a.sizes().data, a.dim() - 2},
                                                {b.sizes().data, b.dim() - 2});
  const int64_t batch = checked_numel(sizes);
  const int64_t p = a.size(a.dim() - 2), r = b.size(b.dim() - 2), m = a.size(a.dim() - 1);
  auto spread = [&](const Tensor& t, int64_t rows) {
    std::vector<int64_t> shape = sizes;
    shape.insert(shape.end(), {rows, m});
    return to_contiguous(view_expand(t, shape));
  };
  Tensor x = spread(a, p), y = spread(b, r);
  sizes.insert(sizes.end(), {p, r});
  Tensor to = Tensor::empty(sizes, x.dtype());
  int64_t grain = 32768 / std::max<int64_t>(1, r * m) + 1;
  for_float_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::parallel_for(batch * p, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t some = std::max<int64_t>(1, (1 << 22) / std::max<int64_t>(1, m));
        for (int64_t j = 0; j < r; j += some) {
          distances_of_row(m, x.data<T>() + i * m, y.data<T>() + (i / p * r + j) * m,
                           std::min(some, r - j), euclid, to.data<T>() + i * r + j);
          kernels::multiplied(std::min(some, r - j) * m);
        }
      }
    });
  });
  return euclid ? sqrt(to) : to;
}

// Distances between all rows of a [.., p, m] and b [.., r, m].
Tensor cdist(const Tensor& a, const Tensor& b, double p) {
  SL_CHECK(is_floating(a.dtype()) && is_floating(b.dtype()),
           "cdist only supports floating-point dtypes, X1 got: ", dtype_display_name(a.dtype()),
           " and X2 got: ", dtype_display_name(b.dtype()));
  SL_CHECK(a.dim() >= 2 && b.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: ",
           a.dim(), "D, X2 got: ", b.dim(), "D");
  SL_CHECK(a.size(a.dim() - 1) == b.size(b.dim() - 1),
           "X1 and X2 must have the same number of columns. X1: ", a.size(a.dim() - 1), " X2: ",
           b.size(b.dim() - 1));
  SL_CHECK(p >= 0, "cdist only supports non-negative p values");
  if (a.dtype() == b.dtype() && has_distances(a, p) && has_distances(b, p)) {
    return distances_of_rows(a, b, p == 2);
  }
  Tensor difference = abs(sub(view_unsqueeze(a, -2), view_unsqueeze(b, -3)));
  int64_t last = difference.dim() - 1;
  if (p == 0) return to_dtype(sum_over(ne(difference, Scalar(0.0)), {last}), a.dtype());
  if (p == 1) return sum_over(difference, {last});
  if (p == 2) return sqrt(sum_over(mul(difference, difference), {last}));
  if (std::isinf(p)) {
    if (difference.size(last) == 0) return sum_over(difference, {last});
    return extreme_along(difference, last, false, true);
  }
  return pow(sum_over(pow(difference, Scalar(p)), {last}), Scalar(1 / p));
}

// Distances between each row of an [n, m] and those that follow it.
Tensor pdist(const Tensor& self, double p) {
  SL_CHECK(self.dim() == 2, "pdist only supports 2D tensors, got: ", self.dim(), "D");
  SL_CHECK(p >= 0, "pdist only supports non-negative p values");
  int64_t n = self.size(0), m = self.size(1), at = 0;
  if (!has_distances(self, p)) {
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < n; ++i) {
      Tensor row = view_narrow(self, 0, i, 1), rest = view_narrow(self, 0, i + 1, n - i - 1);
      parts.push_back(view_select(cdist(row, rest, p), 0, 0));
    }
    return parts.empty() ? Tensor::empty({0}, self.dtype()) : cat(parts, 0);
  }
  Tensor x = to_contiguous(self), to = Tensor::empty({n * (n - 1) / 2}, x.dtype());
  for_float_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < n; at += n - ++i) {
      const T* row = x.data<T>() + i * m;
      distances_of_row(m, row, row + m, n - i - 1, p == 2, to.data<T>() + at);
    }
  });
  return p == 2 ? sqrt(to) : to;
}

// Powers in float64 (or complex128), whatever the operands are.
Tensor float_power(const Input& base, const Input& exponent) {
  ScalarType type = is_complex(result_type(base, exponent)) ? ScalarType::Complex128
                                                            : ScalarType::Float64;
  Tensor x = base.tensor ? to_dtype(*base.tensor, type) : full(IntSpan(), type, base.number);
  if (exponent.tensor) return pow(x, to_dtype(*exponent.tensor, type));
  return is_symbolic(x) ? pow(x, exponent.number) : power_of_tensor(x, exponent.number, Tensor());
}

// Sums of neighbours, halved: the areas of trapezoids of width `dx`.
Tensor trapezoids(const Tensor& y, const Input& dx, int64_t dim) {
  int64_t n = y.size(dim);
  Tensor pairs = add(view_slice(y, dim, 0, n - 1), view_slice(y, dim, 1, n));
  return div(mul(pairs, dx), Scalar(2.0));
}

Tensor steps_along(const Tensor& y, const Tensor& x, int64_t dim) {
  SL_CHECK(y.dim() > 0 && x.dim() > 0, "trapezoid: expected `x` and `y` with dimensions");
  Tensor wide = x;
  if (x.dim() == 1) {
    SL_CHECK(x.size(0) == y.size(dim), "trapezoid: There must be one `x` value for each sample "
             "point");
    std::vector<int64_t> shape(size_t(y.dim()), 1);
    shape[size_t(dim)] = x.size(0);
    wide = reshape(x, shape);
  } else {
    while (wide.dim() < y.dim()) wide = view_unsqueeze(wide, 0);
  }
  SL_CHECK(wide.dim() == y.dim(), "trapezoid: `x` has more dimensions than `y`");
  int64_t n = wide.size(dim);
  return sub(view_slice(wide, dim, 1, n), view_slice(wide, dim, 0, n - 1));
}

Tensor trapezoid(const Tensor& y, const Input& dx, int64_t dim) {
  SL_CHECK(y.dim() > 0, "trapezoid: expected `y` with dimensions");
  dim = wrap_dim(dim, y.dim());
  if (y.size(dim) == 0) {
    return sum_over(div(y, Scalar(1.0)), {dim});
  }
  SL_CHECK(y.dtype() != ScalarType::Bool,
           "trapezoid: received a bool input for `y`, but bool is not supported");
  if (dx.tensor == nullptr) {  // all, but for half of the ends
    Tensor ends = add(view_select(y, dim, 0), view_select(y, dim, y.size(dim) - 1));
    return mul(sub(sum_over(y, {dim}), mul(ends, Scalar(0.5))), dx);
  }
  return sum_over(trapezoids(y, dx, dim), {dim});
}

Tensor vander(const Tensor& x, const Value& count, bool increasing) {
  SL_CHECK(x.dim() == 1, "x must be a one-dimensional tensor.");
  int64_t n = count.is_none() ? x.size(0) : count.as_int();
  SL_CHECK(n >= 0 && n <= 1 << 24, "N must be non-negative and not huge, got ", n);
  std::vector<Tensor> columns;
  Tensor power = full(x.sizes(), is_integral(x.dtype(), true) ? ScalarType::Int64 : x.dtype(),
                      Scalar(int64_t{1}));
  for (int64_t i = 0; i < n; ++i) {
    columns.push_back(power);
    power = mul(power, x);
  }
  if (!increasing) std::reverse(columns.begin(), columns.end());
  return columns.empty() ? Tensor::empty({x.size(0), 0}, power.dtype()) : stack(columns, 1);
}

Tensor frexp_mantissa(const Tensor& self, Tensor* exponent) {
  SL_CHECK(is_floating(self.dtype()), "torch.frexp() only supports floating-point dtypes");
  Tensor x = contiguous_as(self, ScalarType::Float64);
  Tensor mantissa = Tensor::empty(self.sizes(), ScalarType::Float64);
  *exponent = Tensor::empty(self.sizes(), ScalarType::Int32);
  for (int64_t i = 0; i < x.numel(); ++i) {
    int e = 0;
    mantissa.data<double>()[i] = std::frexp(x.data<double>()[i], &e);
    exponent->data<int32_t>()[i] = e;
  }
  *exponent = laid_like(*exponent, self);
  return laid_like(to_dtype(mantissa, self.dtype()), self);
}

void as_separate(Value* out) {
  List& list = out->as_list();
  for (size_t k = 0; k < list.size(); ++k) list.set(k, clone_as_it_lies(list.get(k).as_tensor()));
}

// self * log(1 + other), and 0 where self is, unless other is NaN.
Tensor xlog1py(const Input& self, const Input& other) {
  ResultType result;
  result.add(self);
  result.add(other);
  const ScalarType type = result.get_float();
  auto as_tensor = [&](const Input& in) {
    return to_dtype(in.tensor ? *in.tensor : Tensor::scalar(in.number.to_double()), type);
  };
  Tensor x = as_tensor(self), y = as_tensor(other);
  Tensor nothing = logical_and(eq(x, Scalar(0.0)), logical_not(isnan(y)));
  Tensor product = mul(x, log1p(y));
  copy_into(product, where(nothing, Scalar(0.0), product));
  return product;
}

}  // namespace

void op_aten_chunk(Context&, Args, Value*);
void op_aten_split_Tensor(Context&, Args, Value*);
void op_aten_split_sizes(Context&, Args, Value*);

SL_OP(aten_masked_scatter) {
  std::vector<int64_t> shape = broadcast_shapes(args.tensor(0).sizes(), args.tensor(1).sizes());
  Tensor copy = Tensor::empty(shape, args.tensor(0).dtype());
  copy_into(copy, args.tensor(0));
  masked_scatter(copy, args.tensor(1), args.tensor(2));
  out[0] = copy;
}
SL_OP(aten_masked_scatter_) {
  masked_scatter(args.tensor(0), args.tensor(1), args.tensor(2));
  out[0] = args.tensor(0);
}
SL_OP(aten_rrelu) { out[0] = rrelu(args, ctx, Tensor()); }
SL_OP(aten_rrelu_) { out[0] = rrelu(args, ctx, args.tensor(0)); }
SL_OP(aten_addbmm) {
  const Tensor &self = args.tensor(0), &a = args.tensor(1), &b = args.tensor(2);
  SL_CHECK(self.dtype() == a.dtype() && a.dtype() == b.dtype(),
           "addbmm: self, batch1 and batch2 must have the same dtype, but got ",
           dtype_display_name(self.dtype()), ", ", dtype_display_name(a.dtype()), " and ",
           dtype_display_name(b.dtype()));
  Tensor all = batched_product(a, b);
  if (is_half(self) && all.size(0) > 0) {
    out[0] = addbmm_of_halves(self, a, b, args.scalar(3), args.scalar(4));
  } else {
    Tensor product = to_dtype(sum_over(all, {0}), a.dtype());
    Tensor sum = scaled_sum(self, args.scalar(3), product, args.scalar(4));
    out[0] = to_contiguous(to_dtype(sum, self.dtype()));
  }
}
SL_OP(aten_addr) {
  const Tensor &self = args.tensor(0), &a = args.tensor(1), &b = args.tensor(2);
  SL_CHECK(a.dim() == 1 && b.dim() == 1, "addr: Expected 1-D arguments vec1 and vec2, but got ",
           a.dim(), "-D and ", b.dim(), "-D");
  view_expand(self, {a.numel(), b.numel()});  // raises when self does not broadcast
  for (int i : {3, 4}) check_alpha(args[i], self.dtype());
  if (is_half(self)) {
    out[0] = addr_of_halves(self, a, b, args.scalar(3), args.scalar(4));
  } else {
    out[0] = scaled_sum(self, args.scalar(3), mul(view_unsqueeze(a, 1), b), args.scalar(4));
  }
}
SL_OP(aten_unsafe_chunk) {
  op_aten_chunk(ctx, args, out);
  as_separate(out);
}
SL_OP(aten_unsafe_split_Tensor) {
  op_aten_split_Tensor(ctx, args, out);
  as_separate(out);
}
SL_OP(aten_unsafe_split_with_sizes) {
  op_aten_split_sizes(ctx, args, out);
  as_separate(out);
}
SL_OP(aten__safe_softmax) {
  ScalarType type = args.dtype(2, args.tensor(0).dtype());
  out[0] = to_dtype(safe_softmax(to_dtype(args.tensor(0), type), args.integer(1)), type);
}
SL_OP(aten_cdist) { out[0] = cdist(args.tensor(0), args.tensor(1), args.number(2)); }
SL_OP(aten_pdist) { out[0] = pdist(args.tensor(0), args.number(1)); }
SL_OP(aten_float_power_Tensor_Tensor) {
  out[0] = float_power(Input::of(args[0]), Input::of(args[1]));
}
SL_OP(aten_float_power_Tensor_Scalar) { op_aten_float_power_Tensor_Tensor(ctx, args, out); }
SL_OP(aten_float_power_Scalar) {
  out[0] = to_contiguous(float_power(Input::of(args[0]), Input::of(args[1])));
}
SL_OP(aten_float_power__Tensor) {
  const Tensor& self = args.tensor(0);
  Tensor result = float_power(Input::of(args[0]), Input::of(args[1]));
  SL_CHECK(result.dtype() == self.dtype(), "the base given to float_power_ has dtype ",
           dtype_display_name(self.dtype()), " but the operation's result requires dtype ",
           dtype_display_name(result.dtype()));
  SL_CHECK(result.sizes() == self.sizes(), "output with shape ", to_string(self.sizes()),
           " doesn't match the broadcast shape ", to_string(result.sizes()));
  check_writable(self);
  copy_into(self, result);
  out[0] = self;
}
SL_OP(aten_float_power__Scalar) { op_aten_float_power__Tensor(ctx, args, out); }
SL_OP(aten_ldexp_Tensor) {
  const Tensor &self = args.tensor(0), &other = args.tensor(1);
  ScalarType type = result_type(self, other);
  if (is_integral(type, true)) type = ScalarType::Float32;
  ScalarType wide = type == ScalarType::Float16 || type == ScalarType::BFloat16
                        ? ScalarType::Float32 : type;
  out[0] = to_dtype(mul(to_dtype(self, wide), pow(Scalar(2.0), to_dtype(other, wide))), type);
}
SL_OP(aten_frexp_Tensor) {
  Tensor exponent;
  out[0] = frexp_mantissa(args.tensor(0), &exponent);
  out[1] = exponent;
}
SL_OP(aten_trapezoid_dx) {
  out[0] = trapezoid(args.tensor(0), args.scalar(1), args.integer(2));
}
SL_OP(aten_trapezoid_x) {
  const Tensor& y = args.tensor(0);
  int64_t dim = wrap_dim(args.integer(2), y.dim());
  out[0] = trapezoid(y, steps_along(y, args.tensor(1), dim), dim);
}
SL_OP(aten_trapz_dx) { op_aten_trapezoid_dx(ctx, args, out); }
SL_OP(aten_trapz_x) { op_aten_trapezoid_x(ctx, args, out); }
SL_OP(aten_vander) { out[0] = vander(args.tensor(0), args[1], args.boolean(2)); }
SL_OP(aten_special_xlog1py) {
  out[0] = xlog1py(Input::of(args[0]), Input::of(args[1]));
}
SL_OP(aten_special_xlog1py_other_scalar) { op_aten_special_xlog1py(ctx, args, out); }
SL_OP(aten_special_xlog1py_self_scalar) { op_aten_special_xlog1py(ctx, args, out); }
SL_OP(aten__unsafe_masked_index) {
  const Tensor& self = args.tensor(0);
  std::vector<Tensor> indices = args.opt_tensors(2);
  for (size_t d = 0; d < indices.size() && int64_t(d) < self.dim(); ++d) {
    if (!indices[d].defined()) continue;
    double range[2] = {0, double(std::max<int64_t>(0, self.size(int64_t(d)) - 1))};
    indices[d] = unary_result(indices[d], Unary::k_clamp, "clamp", Rule::kSame, range);
  }
  if (self.numel() == 0) {
    out[0] = full(args.tensor(1).sizes(), self.dtype(), args.scalar(3));
    return;
  }
  out[0] = where_result(args.tensor(1), index_tensor(self, indices), args.scalar(3), self.dtype());
}

}  // namespace scriptlang
