// Norms and condition numbers of matrices; their powers and exponentials.
#include <cmath>
#include <limits>

#include "linalg.h"
#include "matrices.h"
#include "reduce.h"

namespace scriptlang {

using namespace express;
using namespace matrices;

void op_aten_linalg_vector_norm(Context&, Args, Value*);

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor vector_norm(Context& ctx, const Tensor& x, const Value& order, const Value& dims,
                   bool keepdim, const Value& dtype) {
  Value given[5] = {x, order, dims, keepdim, dtype}, result;
  op_aten_linalg_vector_norm(ctx, Args(given, 5), &result);
  return result.as_tensor();
}

// The order of a matrix norm: "fro", "nuc", or a number.
struct Order {
  enum Kind { kFrobenius, kNuclear, kNumber } kind;
  double number = 0;

  explicit Order(const Value& v) {
    if (v.is_string()) {
      std::string_view name = v.as_string();
      SL_CHECK(name == "fro" || name == "nuc", "linalg.matrix_norm: Order ", name,
               " not supported.");
      kind = name == "fro" ? kFrobenius : kNuclear;
      return;
    }
    kind = kNumber;
    number = Scalar::of(v).to_double();
    double size = std::abs(number);
    SL_CHECK(size == 1 || size == 2 || size == kInfinity, "linalg.matrix_norm: Order ", number,
             " not supported.");
  }
};

// The largest or smallest value along the last dimension. If that is empty, the largest is 0.
Tensor extreme(const Tensor& t, bool greatest) {
  int64_t last = t.dim() - 1;
  if (t.size(last) == 0) {
    SL_CHECK(greatest,
             "linalg.matrix_norm: the least value of no values has no meaning; the "
             "input has size 0");
    return sum_over(t, {last});
  }
  return extreme_along(t, last, false, greatest);
}

// The norms of matrices in the last two dimensions.
Tensor norm_of_last(const Tensor& a, const Order& order) {
  if (order.kind == Order::kNuclear || std::abs(order.number) == 2) {
    Tensor s = singular_values_of(a, "linalg.matrix_norm");
    if (order.kind == Order::kNuclear) return sum_over(s, {s.dim() - 1});
    return extreme(s, order.number > 0);
  }
  Tensor sums = sum_over(abs(a), {a.dim() - (std::abs(order.number) == 1 ? 2 : 1)});
  return extreme(sums, order.number > 0);
}

Tensor matrix_norm(Context& ctx, const Tensor& self, const Value& order_value, const Value& dims,
                   bool keepdim, const Value& dtype) {
  constexpr const char* kName = "linalg.matrix_norm";
  Order order(order_value);
  Tensor x = dtype.is_none() ? self : to_dtype(self, ScalarType(dtype.as_int()));
  SL_CHECK(x.dim() >= 2, kName, ": The input tensor A must have at least 2 dimensions.");
  SL_CHECK(is_floating(x.dtype()) || is_complex(x.dtype()), kName,
           ": Expected a floating point "
           "or complex tensor as input. Got ",
           dtype_display_name(x.dtype()));
  Ints given(dims);
  SL_CHECK(given.size() == 2, kName, ": dim must be a 2-tuple. Got ", to_string(given));
  int64_t rows = wrap_dim(given[0], x.dim()), columns = wrap_dim(given[1], x.dim());
  SL_CHECK(rows != columns, kName, ": dims must be different. Got (", rows, ", ", columns, ")");
  if (order.kind == Order::kFrobenius) {
    return vector_norm(ctx, x, Value(2), int_list({rows, columns}), keepdim, Value());
  }
  std::vector<int64_t> order_of_dims;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (d != rows && d != columns) order_of_dims.push_back(d);
  }
  order_of_dims.insert(order_of_dims.end(), {rows, columns});
  Tensor value = to_dtype(norm_of_last(view_permute(x, order_of_dims), order), to_real(x.dtype()));
  if (!keepdim) return value;
  value = view_unsqueeze(value, std::min(rows, columns));
  return view_unsqueeze(value, std::max(rows, columns));
}

// linalg.norm: a vector norm if one dimension is given, or the input has one; else a matrix norm.
Tensor norm(Context& ctx, Args args) {
  const Tensor& self = args.tensor(0);
  bool one = args.none(2) ? self.dim() == 1 : args.ints(2).size() == 1;
  if (args.none(1) || (one && !args[1].is_string())) {
    Value order = args.none(1) ? Value(2) : args[1];
    return vector_norm(ctx, self, order, args[2], args.boolean(3), args[4]);
  }
  SL_CHECK(!args.none(2) || self.dim() == 2,
           "linalg.norm: If dim is not specified but ord is, the "
           "input must be 1D or 2D. Got ",
           self.dim(), "D.");
  Value dims = args.none(2) ? int_list({-2, -1}) : args[2];
  return matrix_norm(ctx, self, args[1], dims, args.boolean(3), args[4]);
}

Tensor condition(Context& ctx, const Tensor& a, const Value& p) {
  bool by_values = p.is_none() || (!p.is_string() && std::abs(Scalar::of(p).to_double()) == 2);
  if (by_values) {
    Tensor s = singular_values_of(a, "linalg.cond");
    int64_t last = s.dim() - 1, k = s.size(last);
    if (k == 0) return Tensor::zeros(batch_sizes(a), s.dtype());
    Tensor high = view_select(s, last, 0), low = view_select(s, last, k - 1);
    bool least = !p.is_none() && Scalar::of(p).to_double() < 0;
    return least ? div(low, high) : div(high, low);
  }
  SL_CHECK(!p.is_string() || p.as_string() == "fro" || p.as_string() == "nuc",
           "linalg.cond got an invalid norm type: ", p.as_string());
  check_square(a, "linalg.cond");
  if (a.numel() == 0) return Tensor::zeros(batch_sizes(a), to_real(a.dtype()));
  Tensor info, reverse = inverse(a, &info);
  Value dims = int_list({-2, -1});
  Tensor value = mul(matrix_norm(ctx, a, p, dims, false, Value()),
                     matrix_norm(ctx, reverse, p, dims, false, Value()));
  return where(gt(info, Scalar(int64_t{0})), Scalar(kInfinity), value);
}

Tensor matrix_power(Tensor a, int64_t n) {
  SL_CHECK(a.dim() >= 2 && a.size(a.dim() - 1) == a.size(a.dim() - 2),
           "linalg.matrix_power: A "
           "must be batches of square matrices, but they are of size ",
           to_string(a.sizes()));
  if (n < 0) {
    a = inverse(a, nullptr);
    n = n == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : -n;
  }
  if (n == 0) return clone(identity_like(a));
  Tensor result;
  for (int64_t rest = n; rest > 0; rest >>= 1) {
    if (rest & 1) result = result.defined() ? matmul(result, a) : a;
    if (rest > 1) a = matmul(a, a);
  }
  return n == 1 ? clone(result) : result;
}

// The matrix exponential, by scaling, a Taylor series and repeated squaring.
Tensor matrix_exp(const Tensor& self) {
  check_square(self, "linalg.matrix_exp");
  constexpr int kTerms = 25;
  constexpr double kMostHalvings = 1100;
  ScalarType type = is_complex(self.dtype()) ? ScalarType::Complex128 : ScalarType::Float64;
  Tensor a = contiguous_as(self, type);
  if (a.numel() == 0) return clone(self);
  Tensor sums = contiguous_as(sum_over(abs(a), {a.dim() - 2}), ScalarType::Float64);
  double size = 0;
  for (int64_t i = 0; i < sums.numel(); ++i) size = std::max(size, sums.data<double>()[i]);
  double halvings = std::isfinite(size) && size > 0.5 ? std::ceil(std::log2(size)) + 1 : 0;
  halvings = std::clamp(halvings, 0.0, kMostHalvings);
  Tensor scaled = mul(a, Scalar(std::exp2(-halvings)));
  Tensor total = clone(identity_like(a)), term = total;
  for (int k = 1; k < kTerms; ++k) {
    term = mul(matmul(term, scaled), Scalar(1.0 / k));
    total = add(total, term);
  }
  for (int k = 0; k < int(halvings); ++k) total = matmul(total, total);
  return to_contiguous(to_dtype(total, self.dtype()));
}

Tensor vander(const Tensor& x, const Value& count) {
  int64_t n = count.is_none() ? (x.dim() ? x.size(x.dim() - 1) : 1) : count.as_int();
  SL_CHECK(x.dtype() != ScalarType::Bool,
           "linalg.vander supports floating point, complex, and integer tensors, but got Bool");
  SL_CHECK(n > 1 && n <= 1 << 24, "N must be greater than 1, but got ", n, ".");
  Tensor base = is_integral(x.dtype(), true) ? to_dtype(x, ScalarType::Int64) : x;
  if (base.dim() == 0) base = view_unsqueeze(base, 0);
  std::vector<int64_t> sizes(base.sizes().begin(), base.sizes().end());
  sizes.push_back(n);
  Tensor result = Tensor::empty(sizes, base.dtype());
  Tensor power = full(base.sizes(), base.dtype(), Scalar(int64_t{1}));
  for (int64_t i = 0; i < n; ++i) {
    copy_into(view_select(result, -1, i), power);
    power = mul(power, base);
  }
  return result;
}

}  // namespace

SL_OP(aten_linalg_matrix_norm) {
  out[0] = matrix_norm(ctx, args.tensor(0), args[1], args[2], args.boolean(3), args[4]);
}
SL_OP(aten_linalg_matrix_norm_str_ord) { op_aten_linalg_matrix_norm(ctx, args, out); }
SL_OP(aten_nuclear_norm) {
  out[0] =
      matrix_norm(ctx, args.tensor(0), Value("nuc"), int_list({-2, -1}), args.boolean(1), Value());
}
SL_OP(aten_nuclear_norm_dim) {
  out[0] = matrix_norm(ctx, args.tensor(0), Value("nuc"), args[1], args.boolean(2), Value());
}
SL_OP(aten_linalg_norm) { out[0] = norm(ctx, args); }
SL_OP(aten_linalg_norm_ord_str) { out[0] = norm(ctx, args); }
SL_OP(aten_linalg_cond) { out[0] = condition(ctx, args.tensor(0), args[1]); }
SL_OP(aten_linalg_cond_p_str) { out[0] = condition(ctx, args.tensor(0), args[1]); }
SL_OP(aten_linalg_matrix_power) { out[0] = matrix_power(args.tensor(0), args.integer(1)); }
SL_OP(aten_matrix_power) { out[0] = matrix_power(args.tensor(0), args.integer(1)); }
SL_OP(aten_linalg_matrix_exp) { out[0] = matrix_exp(args.tensor(0)); }
SL_OP(aten_matrix_exp) { out[0] = matrix_exp(args.tensor(0)); }
SL_OP(aten_linalg_vander) { out[0] = vander(args.tensor(0), args[1]); }

}  // namespace scriptlang
