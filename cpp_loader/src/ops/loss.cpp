// Losses. Reductions are numbered as in PyTorch: 0 none, 1 mean, 2 sum.
#include <algorithm>
#include <cmath>

#include "express.h"
#include "layout.h"

namespace scriptlang {

using namespace express;

namespace {

Tensor reduce(const Tensor& loss, int64_t reduction) {
  switch (reduction) {
    case 0: return loss;
    case 1: return mean_of_all(loss);
    case 2: {
      std::vector<int64_t> dims;
      for (int64_t d = 0; d < loss.dim(); ++d) dims.push_back(d);
      return sum_over(loss, dims);
    }
    default: return loss;  // as in PyTorch, which checks the number elsewhere
  }
}

Tensor weighted(const Tensor& loss, const Tensor& weight) {
  return weight.defined() ? mul(loss, weight) : loss;
}

// A loss that is quadratic in the distance d up to `edge` and linear beyond: with c = min(d, edge),
// it is c (2 d - c) inner.
Tensor rounded_corner(const Tensor& a, const Tensor& b, double edge, double inner) {
  ScalarType type = result_type(a, b);
  if (type == ScalarType::Float32 || type == ScalarType::Float64) {
    double params[kernels::kParams] = {edge, inner};
    return binary_result(a, b, kernels::Binary::k_rounded_corner, "rounded_corner", Rule::kSame,
                         params);
  }
  Tensor rounded = abs(sub(a, b));
  // Twice the distance may overflow a half type.
  Tensor difference = to_dtype(rounded, ScalarType::Float32);
  double most[kernels::kParams] = {edge};
  Tensor near =
      unary_result(difference, kernels::Unary::k_clamp_max, "clamp_max", Rule::kFloat, most);
  Tensor rest = sub(add(difference, difference), near);
  Tensor loss = mul(mul(near, rest), Scalar(inner));
  return is_floating(rounded.dtype()) ? to_dtype(loss, rounded.dtype()) : loss;
}

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight) {
  SL_CHECK(self.sizes() == target.sizes(), "Using a target size (", to_string(target.sizes()),
           ") that is different to the input size (", to_string(self.sizes()),
           ") is deprecated. Please ensure they have the same size.");
  Tensor inside = logical_and(ge(self, Scalar(0.0)), le(self, Scalar(1.0)));
  Tensor all = to_contiguous(inside);
  SL_CHECK(std::all_of(all.data<bool>(), all.data<bool>() + all.numel(), [](bool b) { return b; }),
           "all elements of input should be between 0 and 1");
  Tensor positive = clamp_min(log(self), -100.0);
  Tensor negative = clamp_min(log1p(neg(self)), -100.0);
  Tensor loss = sub(mul(sub(target, Scalar(1.0)), negative), mul(target, positive));
  return weighted(loss, weight);
}

Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target,
                                        const Tensor& weight, const Tensor& pos_weight) {
  Tensor log_weight;
  if (pos_weight.defined()) {
    log_weight = add(mul(sub(pos_weight, Scalar(int64_t{1})), target), Scalar(int64_t{1}));
  }
  Tensor loss = mul(sub(Scalar(int64_t{1}), target), self);
  Tensor softened = log_sigmoid(self);
  if (log_weight.defined()) softened = mul(softened, log_weight);
  return weighted(sub(loss, softened), weight);
}

// ---- negative log likelihood: scores [n, classes, ...], targets [n, ...]

struct Likelihood {
  Tensor loss, weight;  // per target, not yet reduced
};

Likelihood likelihood(const Tensor& self, const Tensor& target, const Tensor& weight,
                      int64_t ignore) {
  SL_CHECK(self.dim() > 0, "input tensor should be 1D or 2D");
  if (!is_floating(self.dtype())) {
    raise(ErrorKind::NotImplementedError, "\"nll_loss_out_frame\" not implemented for '",
          dtype_display_name(self.dtype()), "'");
  }
  SL_CHECK(target.dtype() == ScalarType::Int64 || target.dtype() == ScalarType::UInt8,
           "expected scalar type Long but found ", dtype_display_name(target.dtype()));
  bool one = self.dim() == 1;
  Tensor scores = contiguous_as(one ? view_unsqueeze(self, 0) : self, self.dtype());
  Tensor labels = contiguous_as(one && target.dim() == 0 ? view_unsqueeze(target, 0) : target,
                                ScalarType::Int64);
  int64_t n = scores.size(0), classes = scores.size(1), inner = 1;
  bool fits = labels.dim() == scores.dim() - 1 && labels.dim() > 0 && labels.size(0) == n;
  for (int64_t d = 2; d < scores.dim(); ++d) {
    inner *= scores.size(d);
    fits = fits && labels.size(d - 1) == scores.size(d);
  }
  if (!fits) {
    raise(one && target.dim() == 1 ? ErrorKind::ValueError : ErrorKind::RuntimeError,
          "size mismatch (got input: ", to_string(self.sizes()),
          ", target: ", to_string(target.sizes()), ")");
  }
  SL_CHECK(!weight.defined() || (weight.dim() == 1 && weight.numel() == classes),
           "weight tensor should be defined either for all ", classes,
           " classes or no classes but got weight tensor of shape: ",
           to_string(weight.defined() ? weight.sizes() : IntSpan()));
  ScalarType type = self.dtype();
  ScalarType computed = type == ScalarType::Float64 ? type : ScalarType::Float32;
  scores = to_dtype(scores, computed);
  Tensor each = weight.defined() ? contiguous_as(weight, computed) : Tensor();
  Likelihood result{Tensor::empty(labels.sizes(), computed),
                    Tensor::empty(labels.sizes(), computed)};
  const int64_t* label = labels.data<int64_t>();
  auto run = [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < n * inner; ++i) {
      T& loss = result.loss.data<T>()[i];
      T& share = result.weight.data<T>()[i];
      loss = share = T(0);
      if (label[i] == ignore) continue;
      if (label[i] < 0 || label[i] >= classes) {
        raise(ErrorKind::IndexError, "Target ", label[i], " is out of bounds.");
      }
      share = each.defined() ? each.data<T>()[label[i]] : T(1);
      loss = -scores.data<T>()[(i / inner * classes + label[i]) * inner + i % inner] * share;
    }
  };
  if (computed == ScalarType::Float64) run(double());
  else run(float());
  result.loss = to_dtype(result.loss, type);
  result.weight = to_dtype(result.weight, type);
  if (one && target.dim() == 0) {
    result.loss = view_squeeze(result.loss, {0});
    result.weight = view_squeeze(result.weight, {0});
  }
  return result;
}

Tensor total(const Tensor& t) { return reduce(t, 2); }

// Any reduction but 0 and 1 is the sum.
Tensor reduce(const Likelihood& l, int64_t reduction) {
  if (reduction == 1) return div(total(l.loss), total(l.weight));
  return reduction == 0 ? l.loss : total(l.loss);
}

void check_spatial(Args args) {
  SL_CHECK(args.tensor(0).dim() == 4 && args.tensor(1).dim() == 3,
           "only batches of spatial inputs and targets are supported (4D and 3D tensors), but got "
           "dimensions ",
           args.tensor(0).dim(), " and ", args.tensor(1).dim());
}

Tensor nll(Args args) {
  return reduce(likelihood(args.tensor(0), args.tensor(1), args.opt_tensor(2), args.integer(4)),
                args.integer(3));
}

void check_batch(const Tensor& self, const Tensor& target) {
  if (self.dim() == 0) raise(ErrorKind::ValueError, "Expected 1 or more dimensions (got 0)");
  const int64_t batch = target.dim() ? target.size(0) : 0;
  if (self.dim() != 1 && self.size(0) != batch) {
    raise(ErrorKind::ValueError, "Expected input batch_size (", self.size(0),
          ") to match target batch_size (", batch, ").");
  }
}

// Targets may be class indices or, with the shape of the scores, probabilities.
Tensor cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight,
                     int64_t reduction, int64_t ignore, double smoothing) {
  int64_t axis = self.dim() == 1 ? 0 : 1;
  SL_CHECK(!(smoothing < 0 || smoothing > 1),
           "label_smoothing must be between 0.0 and 1.0. Got: ", smoothing);
  SL_CHECK(self.dim() > 0, "cross_entropy: expected scores with dimensions");
  int64_t classes = self.size(axis);
  Tensor scores = log_softmax(self, axis);
  std::vector<int64_t> spread(as_size(self.dim()), 1);
  spread[size_t(axis)] = classes;
  Tensor shaped = weight.defined() ? view_as_shape(to_contiguous(weight), spread) : weight;
  if (is_floating(target.dtype())) {
    SL_CHECK(self.sizes() == target.sizes(),
             "cross_entropy: probabilities need the shape of the "
             "scores, but got ",
             to_string(target.sizes()), " and ", to_string(self.sizes()));
    SL_CHECK(ignore < 0, "ignore_index is not supported for floating point target");
    Tensor wanted =
        smoothing > 0 ? add(mul(target, Scalar(1 - smoothing)), Scalar(smoothing / double(classes)))
                      : target;
    Tensor loss = neg(sum_over(mul(weighted(scores, shaped), wanted), {axis}));
    if (reduction != 1) return reduce(loss, reduction);
    double count = self.numel() / double(classes);
    return div(total(loss), Scalar(count));
  }
  check_batch(self, target);
  Likelihood l = likelihood(scores, target, weight, ignore);
  if (smoothing <= 0) return reduce(l, reduction);
  Tensor smooth = neg(sum_over(weighted(scores, shaped), {axis}));
  smooth = where(ne(target, Scalar(ignore)), smooth, Scalar(0.0));
  Tensor plain = reduce(l, reduction), soft;
  if (reduction == 1) {
    Tensor kept = weight.defined() ? total(l.weight)
                                   : total(to_dtype(ne(target, Scalar(ignore)), self.dtype()));
    soft = div(total(smooth), kept);
  } else {
    soft = reduce(smooth, reduction);
  }
  return add(mul(plain, Scalar(1 - smoothing)), mul(soft, Scalar(smoothing / double(classes))));
}

Tensor kl_div(const Tensor& self, const Tensor& target, bool log_target) {
  if (log_target) return mul(exp(target), sub(target, self));
  return sub(xlogy(target, target), mul(target, self));
}

// ---- distances

Tensor norm_along(const Tensor& given, double p, int64_t dim, bool keepdim) {
  if (given.dtype() == ScalarType::Float16 || given.dtype() == ScalarType::BFloat16) {
    Tensor wide = to_dtype(given, ScalarType::Float32);  // squares may overflow
    return to_dtype(norm_along(wide, p, dim, keepdim), given.dtype());
  }
  Tensor t = is_complex(given.dtype()) ? abs(given) : given;
  if (p == 0) return to_dtype(sum_over(ne(t, Scalar(0.0)), {dim}, keepdim), t.dtype());
  if (t.size(dim) == 1) p = 1;  // exact for any p
  if (p == 2) return sqrt(sum_over(mul(t, t), {dim}, keepdim));
  if (p == 1) return sum_over(abs(t), {dim}, keepdim);
  if (std::isinf(p)) return extreme_along(abs(t), dim, keepdim, p > 0);
  return pow(sum_over(pow(abs(t), Scalar(p)), {dim}, keepdim), Scalar(1 / p));
}

void check_no_bool(const Tensor& a, const Tensor& b) {
  SL_CHECK(a.dtype() != ScalarType::Bool && b.dtype() != ScalarType::Bool,
           "Subtraction, the `-` operator, with a bool tensor is not supported.");
}

Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p, double eps, bool keepdim) {
  check_no_bool(a, b);
  Tensor difference = add(sub(a, b), Scalar(eps));
  if (difference.dim() == 0) return norm_along(view_unsqueeze(difference, 0), p, 0, false);
  return norm_along(difference, p, difference.dim() - 1, keepdim);
}

Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t dim, double eps) {
  ScalarType type = promote(a.dtype(), b.dtype());
  SL_CHECK(eps >= 0, "eps must be non-negative, got: ", eps);
  check_fits(Scalar(eps), type);
  SL_CHECK(is_floating(type), "expected common dtype to be floating point, yet common dtype is ",
           dtype_display_name(type));
  std::vector<int64_t> shape = broadcast_shapes(a.sizes(), b.sizes());
  dim = wrap_dim(dim, int64_t(shape.size()));
  if (shape.empty()) shape = {1};
  auto expanded = [&](const Tensor& t) {
    Tensor typed = to_dtype(t, type);
    return typed.sizes() == IntSpan(shape) ? typed : view_expand(typed, shape);
  };
  Tensor x = expanded(a), y = expanded(b);
  auto unit = [&](const Tensor& t) { return div(t, clamp_min(norm_along(t, 2, dim, true), eps)); };
  return sum_over(mul(unit(x), unit(y)), {dim});
}

Tensor cosine_embedding(Args args) {
  const Tensor& target = args.tensor(2);
  int64_t dims = args.tensor(0).dim();
  SL_CHECK(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  SL_CHECK(dims == target.dim() + 1 && args.tensor(1).dim() == dims, target.dim(),
           "D target tensor expects ", target.dim() + 1,
           "D input tensors, but found inputs with sizes ", to_string(args.tensor(0).sizes()),
           " and ", to_string(args.tensor(1).sizes()), ".");
  const Tensor &a = args.tensor(0), &b = args.tensor(1);
  auto squares = [](const Tensor& t) {
    return add(sum_over(mul(t, t), {t.dim() - 1}), Scalar(1e-12));
  };
  Tensor cosine = div(sum_over(mul(a, b), {dims - 1}), sqrt(mul(squares(a), squares(b))));
  Tensor zero = full(cosine.sizes(), cosine.dtype(), Scalar(0.0));
  Tensor apart = clamp_min(sub(cosine, Scalar(args.number(3))), 0.0);
  Tensor loss = add(where(eq(target, Scalar(int64_t{1})), sub(Scalar(1.0), cosine), zero),
                    where(eq(target, Scalar(int64_t{-1})), apart, zero));
  return reduce(loss, args.integer(4));
}

Tensor poisson_nll(Args args) {
  const Tensor& input = args.tensor(0);
  const Tensor& target = args.tensor(1);
  if (!args.boolean(2)) check_no_bool(input, target);
  bool bools = input.dtype() == ScalarType::Bool && target.dtype() == ScalarType::Bool;
  if (bools) check_no_bool(input, target);
  Tensor loss = args.boolean(2) ? sub(exp(input), mul(target, input))
                                : sub(input, mul(target, log(add(input, Scalar(args.number(4))))));
  if (args.boolean(3)) {
    Tensor stirling = add(sub(mul(target, log(target)), target),
                          mul(log(mul(target, Scalar(6.283185307179586))), Scalar(0.5)));
    ScalarType type = loss.dtype();  // PyTorch adds in place: the type stays
    loss = to_dtype(add(loss, where(le(target, Scalar(int64_t{1})), Scalar(0.0), stirling)), type);
  }
  return reduce(loss, args.integer(5));
}

// Converts a loss that PyTorch writes into a tensor of t's type.
Tensor typed_as(const Tensor& t, const Tensor& loss) {
  check_can_cast(loss.dtype(), t.dtype());
  return to_dtype(loss, t.dtype());
}

// Reduces a loss; an unreduced one gets the memory layout of the input, not that of the targets.
Tensor reduce_laid(const Tensor& loss, const Tensor& self, int64_t reduction) {
  return reduction == 0 ? laid_like(loss, self) : reduce(loss, reduction);
}

}  // namespace

SL_OP(aten_mse_loss) {
  out[0] = reduce(squared_difference(args.tensor(0), args.tensor(1)), args.integer(2));
}
SL_OP(aten_l1_loss) { out[0] = reduce(abs(sub(args.tensor(0), args.tensor(1))), args.integer(2)); }
SL_OP(aten_smooth_l1_loss) {
  double beta = args.number(3);
  SL_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  const Tensor &a = args.tensor(0), &b = args.tensor(1);
  Tensor loss = beta > 0 ? rounded_corner(a, b, beta, 0.5 / beta) : abs(sub(a, b));
  out[0] = reduce(loss, args.integer(2));
}
SL_OP(aten_huber_loss) {
  double delta = args.number(3);
  SL_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  const Tensor& self = args.tensor(0);
  out[0] = reduce_laid(typed_as(self, rounded_corner(self, args.tensor(1), delta, 0.5)), self,
                       args.integer(2));
}
SL_OP(aten_binary_cross_entropy) {
  out[0] = reduce_laid(binary_cross_entropy(args.tensor(0), args.tensor(1), args.opt_tensor(2)),
                       args.tensor(0), args.integer(3));
}
SL_OP(aten_binary_cross_entropy_with_logits) {
  const Tensor& target = args.tensor(1);
  Tensor loss = binary_cross_entropy_with_logits(args.tensor(0), target, args.opt_tensor(2),
                                                 args.opt_tensor(3));
  out[0] = reduce(typed_as(target, loss), args.integer(4));
}
SL_OP(aten_nll_loss) { out[0] = nll(args); }
SL_OP(aten_nll_loss2d) {
  check_spatial(args);
  out[0] = nll(args);
}
SL_OP(aten_nll_loss_nd) {
  check_batch(args.tensor(0), args.tensor(1));
  out[0] = nll(args);
}
void op_aten_nll_loss_forward(Context&, Args, Value*);
SL_OP(aten_nll_loss2d_forward) {
  check_spatial(args);
  op_aten_nll_loss_forward(ctx, args, out);
}
SL_OP(aten_nll_loss_forward) {
  Likelihood l = likelihood(args.tensor(0), args.tensor(1), args.opt_tensor(2), args.integer(4));
  out[0] = reduce(l, args.integer(3));
  // Without reduction, the total weight is returned only for a single sample.
  bool none = args.integer(3) == 0 && args.tensor(0).dim() > 1;
  out[1] = none ? full(IntSpan(), l.loss.dtype(), Scalar(0.0)) : total(l.weight);
}
SL_OP(aten_cross_entropy_loss) {
  out[0] = cross_entropy(args.tensor(0), args.tensor(1), args.opt_tensor(2), args.integer(3),
                         args.integer(4), args.number(5));
}
SL_OP(aten_kl_div) {
  for (int i : {0, 1}) {
    SL_CHECK(!is_integral(args.tensor(i).dtype(), true), "kl_div: Integral inputs not supported.");
  }
  out[0] = reduce(kl_div(args.tensor(0), args.tensor(1), args.boolean(3)), args.integer(2));
}
SL_OP(aten_margin_ranking_loss) {
  Tensor order = mul(neg(args.tensor(2)), sub(args.tensor(0), args.tensor(1)));
  out[0] = reduce(clamp_min(add(order, Scalar(args.number(3))), 0.0), args.integer(4));
}
SL_OP(aten_hinge_embedding_loss) {
  const Tensor& self = args.tensor(0);
  const Tensor& target = args.tensor(1);
  Tensor margin = Tensor::empty_like(self, self.dtype());
  fill(margin, Scalar(args.number(2)));
  Tensor apart = clamp_min(sub(margin, self), 0.0);
  Tensor zero = full(self.sizes(), self.dtype(), Scalar(int64_t{0}));
  Tensor loss = add(where(ne(target, Scalar(int64_t{1})), apart, zero),
                    where(ne(target, Scalar(int64_t{-1})), self, zero));
  out[0] = reduce(loss, args.integer(3));
}
SL_OP(aten_soft_margin_loss) {
  const Tensor& self = args.tensor(0);
  const int64_t reduction = args.integer(2);
  SL_CHECK(reduction >= 0 && reduction <= 2, reduction, " is not a valid value for reduction");
  Tensor product = mul(args.tensor(1), self);
  SL_CHECK(product.sizes() == self.sizes(), "output with shape ", to_string(self.sizes()),
           " doesn't match the broadcast shape ", to_string(product.sizes()));
  Tensor loss = log1p(exp(neg(typed_as(self, product))));
  out[0] = reduce_laid(typed_as(self, loss), self, args.integer(2));
}
SL_OP(aten_poisson_nll_loss) { out[0] = poisson_nll(args); }
SL_OP(aten_pairwise_distance) {
  out[0] = pairwise_distance(args.tensor(0), args.tensor(1), args.number(2), args.number(3),
                             args.boolean(4));
}
SL_OP(aten_cosine_similarity) {
  out[0] = cosine_similarity(args.tensor(0), args.tensor(1), args.integer(2), args.number(3));
}
SL_OP(aten_cosine_embedding_loss) { out[0] = cosine_embedding(args); }
SL_OP(aten_triplet_margin_loss) {
  double p = args.number(4), eps = args.number(5);
  int64_t dims = args.tensor(0).dim();
  SL_CHECK(dims == args.tensor(1).dim() && dims == args.tensor(2).dim(),
           "The anchor, positive, and negative tensors are expected to have the same number of "
           "dimensions");
  Tensor near = pairwise_distance(args.tensor(0), args.tensor(1), p, eps, false);
  Tensor far = pairwise_distance(args.tensor(0), args.tensor(2), p, eps, false);
  if (args.boolean(6)) {
    far = minimum(far, pairwise_distance(args.tensor(1), args.tensor(2), p, eps, false));
  }
  out[0] = reduce(clamp_min(add(sub(near, far), Scalar(args.number(3))), 0.0), args.integer(7));
}

}  // namespace scriptlang
