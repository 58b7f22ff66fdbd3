// Numerical derivatives and integrals along dimensions; covariance and histograms.
#include <algorithm>
#include <cmath>

#include "express.h"
#include "join.h"
#include "linalg.h"
#include "reduce.h"
#include "scan_trapezoid.h"

namespace scriptlang {

using namespace express;

void op_aten_cumsum(Context&, Args, Value*);

namespace {

Tensor halves(const Tensor& y, const Input& width, int64_t dim) {
  SL_CHECK(y.dtype() != ScalarType::Bool,
           "cumulative_trapezoid: received a bool input for `y`, but bool is not supported");
  int64_t n = y.size(dim);
  Tensor pairs = add(view_slice(y, dim, 0, std::max<int64_t>(n - 1, 0)), view_slice(y, dim, 1, n));
  return div(mul(pairs, width), Scalar(2.0));
}

Tensor running_sum(Context& ctx, const Tensor& t, int64_t dim) {
  Value given[3] = {t, dim, Value()}, result;
  op_aten_cumsum(ctx, Args(given, 3), &result);
  return result.as_tensor();
}

Tensor neighbour_distances(const Tensor& y, const Tensor& x, int64_t dim) {
  Tensor wide = x;
  if (x.dim() == 1 && y.dim() != 1) {
    std::vector<int64_t> shape(as_size(y.dim()), 1);
    shape[size_t(dim)] = x.size(0);
    wide = reshape(x, shape);
  }
  SL_CHECK(wide.dim() > 0, "trapezoid: `x` of size ", to_string(x.sizes()),
           " does not fit `y` of size ", to_string(y.sizes()));
  while (wide.dim() < y.dim()) wide = view_unsqueeze(wide, 0);
  SL_CHECK(wide.size(dim) == y.size(dim),
           "trapezoid: There must be one `x` value for each sample point");
  int64_t n = wide.size(dim);
  return sub(view_slice(wide, dim, 1, n), view_slice(wide, dim, 0, std::max<int64_t>(n - 1, 0)));
}

// ---- gradient: central differences inside, one-sided ones at the edges

// The distances between neighbours: one number, or a tensor of n - 1.
struct Steps {
  double even = 1;
  Scalar complex;  // a complex step, by which the result is divided
  Tensor uneven;
};

Tensor column(const Tensor& steps, int64_t ndim, int64_t dim) {
  std::vector<int64_t> shape(as_size(ndim), 1);
  shape[size_t(dim)] = steps.numel();
  return reshape(steps, shape);
}

Tensor edge(const Tensor& f, int64_t dim, const Steps& steps, bool first, int64_t order) {
  int64_t n = f.size(dim), toward = first ? 1 : -1, at = first ? 0 : n - 1;
  auto value = [&](int64_t i) { return view_narrow(f, dim, at + toward * i, 1); };
  auto step = [&](int64_t i) {
    if (!steps.uneven.defined()) return to_dtype(Tensor::scalar(steps.even), f.dtype());
    int64_t place = first ? i : n - 2 - i;
    return to_dtype(view_select(steps.uneven, 0, place), f.dtype());
  };
  double sign = first ? 1 : -1;
  if (order == 1) return mul(div(sub(value(1), value(0)), step(0)), Scalar(sign));
  if (!steps.uneven.defined()) {  // the step may be infinite or zero
    Tensor sum = add(mul(value(0), Scalar(-1.5)), mul(value(1), Scalar(2.0)));
    return mul(div(add(sum, mul(value(2), Scalar(-0.5))), Scalar(steps.even)), Scalar(sign));
  }
  Tensor near = step(0), far = step(1), both = add(near, far);
  Tensor a = neg(div(add(mul(near, Scalar(2.0)), far), mul(near, both)));
  Tensor b = div(both, mul(near, far)), c = neg(div(near, mul(far, both)));
  Tensor outer = mul(value(0), a), inner = mul(value(2), c);  // added in memory order
  Tensor sum = add(add(first ? outer : inner, mul(value(1), b)), first ? inner : outer);
  return mul(sum, Scalar(sign));
}

Tensor inner_differences(const Tensor& f, int64_t dim, const Steps& steps) {
  int64_t n = f.size(dim);
  Tensor before = view_slice(f, dim, 0, n - 2), here = view_slice(f, dim, 1, n - 1),
         after = view_slice(f, dim, 2, n);
  if (!steps.uneven.defined()) { return div(sub(after, before), Scalar(2 * steps.even)); }
  Tensor all = to_dtype(steps.uneven, f.dtype());
  Tensor h = column(view_slice(all, 0, 0, n - 2), f.dim(), dim);
  Tensor k = column(view_slice(all, 0, 1, n - 1), f.dim(), dim);
  Tensor sum = add(h, k);
  Tensor a = neg(div(k, mul(h, sum))), b = div(sub(k, h), mul(h, k)), c = div(h, mul(k, sum));
  return add(add(mul(before, a), mul(here, b)), mul(after, c));
}

Tensor gradient_along(const Tensor& self, int64_t dim, const Steps& steps, int64_t order) {
  SL_CHECK(self.size(dim) > order,
           "torch.gradient expected each dimension size to be at least "
           "edge_order+1");
  Tensor f = to_dtype(self, float_type(self.dtype()));
  std::vector<Tensor> parts{edge(f, dim, steps, true, order)};
  if (f.size(dim) > 2) parts.push_back(inner_differences(f, dim, steps));
  parts.push_back(edge(f, dim, steps, false, order));
  Tensor made = to_contiguous(to_dtype(cat(parts, dim), f.dtype()));
  return steps.complex.kind == Scalar::Complex ? div(made, steps.complex) : made;
}

Steps steps_of(const Value& v, const Tensor& self, int64_t dim) {
  Steps s;
  if (v.is_none()) return s;
  if (!v.is_tensor() || v.as_tensor().dim() == 0) {
    Scalar step = Scalar::of(v);
    if (step.kind == Scalar::Complex) s.complex = step;
    else s.even = step.to_double();
    return s;
  }
  const Tensor& places = v.as_tensor();
  SL_CHECK(places.dim() == 1 && places.size(0) == self.size(dim),
           "torch.gradient expected each "
           "element of spacing to have one value for each of the ",
           self.size(dim), " places along dimension ", dim, ", got a tensor of size ",
           to_string(places.sizes()));
  int64_t n = places.size(0);
  s.uneven =
      sub(view_slice(places, 0, 1, n), view_slice(places, 0, 0, std::max<int64_t>(n - 1, 0)));
  return s;
}

// torch.gradient. spacing: None, one step or a list of them; dims: None, an int or a list.
Value gradient(const Tensor& self, const Value& spacing, const Value& dims, int64_t order) {
  SL_CHECK(order == 1 || order == 2, "torch.gradient only supports edge_order=1 and edge_order=2.");
  SL_CHECK(self.dtype() != ScalarType::UInt8 && self.dtype() != ScalarType::Bool,
           "torch.gradient does not support input of ", dtype_display_name(self.dtype()));
  std::vector<int64_t> axes;
  if (dims.is_none()) {
    for (int64_t d = 0; d < self.dim(); ++d) axes.push_back(d);
  } else {
    bool seen[kMaxDims] = {};
    for (int64_t given : Ints(dims)) {
      int64_t d = wrap_dim(given, self.dim());
      SL_CHECK(!seen[d], "dim ", d, " appears multiple times in the list of dims");
      seen[d] = true;
      axes.push_back(d);
    }
  }
  const List* many = spacing.is_list() ? &spacing.as_list() : nullptr;
  SL_CHECK(!many || many->size() == axes.size(),
           "torch.gradient expected spacing to be "
           "unspecified, a scalar, or a list of length ",
           axes.size(), ", but got a list of length ", many ? many->size() : 0);
  if (self.dim() == 0 && !axes.empty()) {
    raise(ErrorKind::IndexError, "Dimension specified as -1 but tensor has no dimensions");
  }
  std::vector<Tensor> results;
  for (size_t i = 0; i < axes.size(); ++i) {
    Steps steps = steps_of(many ? many->get(i) : spacing, self, axes[i]);
    results.push_back(gradient_along(self, axes[i], steps, order));
  }
  return tensor_list(std::move(results));
}

// ---- covariance

Tensor checked_weights(const Tensor& w, int64_t n, const char* name) {
  SL_CHECK(w.dim() <= 1, "cov(): expected ", name, " to have one or fewer dimensions but got ",
           name, " with ", w.dim(), " dimensions");
  SL_CHECK(w.dim() <= 1 && w.numel() == n, "cov(): expected ", name,
           " to have the same numel as "
           "there are observations in the input but got ",
           w.numel(), " != ", n);
  Tensor numbers = contiguous_as(w, ScalarType::Float64);
  const double* from = numbers.data<double>();
  SL_CHECK(std::all_of(from, from + n, [](double x) { return !(x < 0); }), "cov(): ", name,
           " cannot be negative");
  return reshape(w, {n});
}

Tensor covariance(const Tensor& self, int64_t correction, const Tensor& fweights,
                  const Tensor& aweights) {
  SL_CHECK(self.dim() <= 2,
           "cov(): expected input to have two or fewer dimensions but got an "
           "input with ",
           self.dim(), " dimensions");
  SL_CHECK(self.dtype() != ScalarType::Bool, "cov(): bool dtype is not supported for input");
  SL_CHECK(!fweights.defined() || is_integral(fweights.dtype(), false),
           "cov(): expected fweights to have integral dtype but got fweights with ",
           dtype_display_name(fweights.dtype()), " dtype");
  SL_CHECK(!aweights.defined() || is_floating(aweights.dtype()),
           "cov(): expected aweights to have "
           "floating point dtype but got aweights with ",
           dtype_display_name(aweights.dtype()), " dtype");
  ScalarType type = float_type(self.dtype());
  if (aweights.defined()) type = promote(type, aweights.dtype());
  Tensor x = to_dtype(self.dim() < 2 ? reshape(self, {1, self.numel()}) : self, type);
  int64_t n = x.size(1);
  Tensor weight;
  if (fweights.defined()) weight = checked_weights(fweights, n, "fweights");
  if (aweights.defined()) {
    Tensor a = checked_weights(aweights, n, "aweights");
    weight = weight.defined() ? mul(weight, a) : a;
  }
  ScalarType real = to_real(type);
  Tensor total =
      weight.defined() ? to_dtype(sum_over(weight, {0}), real) : Tensor::scalar(double(n), real);
  Tensor mean = div(sum_over(weight.defined() ? mul(x, weight) : x, {1}, true), total);
  Tensor norm = sub(total, Scalar(correction));
  if (aweights.defined() && correction != 0) {
    Tensor squares = to_dtype(sum_over(mul(weight, reshape(aweights, {n})), {0}), real);
    norm = sub(total, div(mul(squares, Scalar(double(correction))), total));
  }
  Tensor centred = sub(x, mean);
  Tensor right = view_transpose(weight.defined() ? mul(centred, weight) : centred, 0, 1);
  Tensor product =
      matmul(to_dtype(centred, type), to_dtype(is_complex(type) ? conj(right) : right, type));
  Tensor result = to_dtype(div(product, clamp_min(norm, 0)), type);
  return self.dim() < 2 || x.size(0) == 1 ? view_squeeze(result) : result;
}

Tensor correlation(const Tensor& self) {
  SL_CHECK(self.dim() <= 2,
           "corrcoef(): expected input to have two or fewer dimensions but got an "
           "input with ",
           self.dim(), " dimensions");
  Tensor c = covariance(self, 1, Tensor(), Tensor());
  if (c.dim() == 0) return div(c, c);
  Tensor diagonal = c.as_strided({c.size(0)}, {c.stride(0) + c.stride(1)}, c.storage_offset());
  ScalarType real = to_real(c.dtype());
  Tensor deviation = sqrt(to_dtype(diagonal, real));
  Tensor ratio = div(div(c, view_unsqueeze(deviation, 1)), view_unsqueeze(deviation, 0));
  if (is_complex(c.dtype())) {
    Tensor parts = clone(to_contiguous(ratio));
    Tensor numbers = Tensor::on_storage(parts.storage(), real, {2 * parts.numel()}, {1}, 0);
    double unit[2] = {-1, 1};
    copy_into(numbers, unary_result(numbers, Unary::k_clamp, "clamp", Rule::kSame, unit));
    return parts;
  }
  double unit[2] = {-1, 1};
  return unary_result(ratio, Unary::k_clamp, "clamp", Rule::kSame, unit);
}

}  // namespace

SL_OP(aten_cumulative_trapezoid_x) {
  const Tensor& y = args.tensor(0);
  int64_t dim = wrap_dim(args.integer(2), y.dim());
  check_has_dim(y, dim);
  out[0] = running_sum(ctx, halves(y, neighbour_distances(y, args.tensor(1), dim), dim), dim);
}
SL_OP(aten_cumulative_trapezoid_dx) {
  const Tensor& y = args.tensor(0);
  int64_t dim = wrap_dim(args.integer(2), y.dim());
  check_has_dim(y, dim);
  check_real_step("cumulative_trapezoid", args.scalar(1));
  out[0] = running_sum(ctx, halves(y, args.scalar(1), dim), dim);
}
#define SL_GRADIENT(name, spacing, dims, order)                            \
  SL_OP(aten_gradient_##name) {                                            \
    out[0] = gradient(args.tensor(0), spacing, dims, args.integer(order)); \
  }
SL_GRADIENT(scalarint, args[1], args[2], 3)
SL_GRADIENT(scalararray, args[1], args[2], 3)
SL_GRADIENT(array, Value(), args[1], 2)
SL_GRADIENT(scalarrayint, args[1], args[2], 3)
SL_GRADIENT(scalarrayarray, args[1], args[2], 3)
SL_GRADIENT(tensorarrayint, args[1], args[2], 3)
SL_GRADIENT(tensorarray, args[1], args[2], 3)
SL_OP(aten_cov) {
  out[0] = covariance(args.tensor(0), args.integer(1), args.opt_tensor(2), args.opt_tensor(3));
}
SL_OP(aten_corrcoef) { out[0] = correlation(args.tensor(0)); }

}  // namespace scriptlang
