// Integrals by the trapezoidal rule.
#include "scan_trapezoid.h"

namespace scriptlang {

using namespace express;

void check_has_dim(const Tensor& t, int64_t dim) {
  if (t.dim() > 0) return;
  raise(ErrorKind::IndexError, "Dimension specified as ", dim, " but tensor has no dimensions");
}

void check_real_step(const char* name, const Input& step) {
  SL_CHECK(
      step.tensor || !(step.number.kind == Scalar::Complex || step.number.kind == Scalar::Bool),
      name, ": Currently, we only support dx as a real number.");
}

namespace {

// The areas of the trapezoids of width `dx`: halved sums of neighbours, times dx.
Tensor trapezoids(const Tensor& y, const Input& dx, int64_t dim) {
  int64_t n = y.size(dim);
  Tensor pairs = add(view_slice(y, dim, 0, n - 1), view_slice(y, dim, 1, n));
  return div(mul(pairs, dx), Scalar(2.0));
}

Tensor steps_along(const Tensor& y, const Tensor& x, int64_t dim) {
  SL_CHECK(y.dim() > 0 && x.dim() > 0, "trapezoid: expected `x` and `y` with dimensions");
  Tensor wide = x;
  if (x.dim() == 1) {
    SL_CHECK(x.size(0) == y.size(dim),
             "trapezoid: There must be one `x` value for each sample "
             "point");
    std::vector<int64_t> shape(as_size(y.dim()), 1);
    shape[size_t(dim)] = x.size(0);
    wide = reshape(x, shape);
  } else {
    while (wide.dim() < y.dim()) wide = view_unsqueeze(wide, 0);
  }
  int64_t n = wide.size(dim);
  return sub(view_slice(wide, dim, 1, n), view_slice(wide, dim, 0, n - 1));
}

Tensor trapezoid(const Tensor& y, const Input& dx, int64_t dim) {
  dim = wrap_dim(dim, y.dim());
  check_has_dim(y, dim);
  if (y.size(dim) == 0) return to_dtype(sum_over(y, {dim}), y.dtype());
  SL_CHECK(y.dtype() != ScalarType::Bool,
           "trapezoid: received a bool input for `y`, but bool is not supported");
  check_real_step("trapezoid", dx);
  if (dx.tensor == nullptr) {  // the sum, minus half of both ends
    Tensor ends = add(view_select(y, dim, 0), view_select(y, dim, y.size(dim) - 1));
    return mul(sub(sum_over(y, {dim}), mul(ends, Scalar(0.5))), dx);
  }
  return sum_over(trapezoids(y, dx, dim), {dim});
}

}  // namespace

SL_OP(aten_trapezoid_dx) { out[0] = trapezoid(args.tensor(0), args.scalar(1), args.integer(2)); }
SL_OP(aten_trapezoid_x) {
  const Tensor& y = args.tensor(0);
  int64_t dim = wrap_dim(args.integer(2), y.dim());
  out[0] = trapezoid(y, steps_along(y, args.tensor(1), dim), dim);
}
SL_OP(aten_trapz_dx) { op_aten_trapezoid_dx(ctx, args, out); }
SL_OP(aten_trapz_x) { op_aten_trapezoid_x(ctx, args, out); }

}  // namespace scriptlang
