// Losses over the margins between classes, and connectionist temporal classification.
#include <algorithm>
#include <cmath>
#include <limits>

#include "express.h"
#include "row_kernels.h"

namespace scriptlang {

using namespace express;

namespace {

// Any reduction but 0 and 1 is the sum.
Tensor reduced(const Tensor& loss, int64_t reduction) {
  if (reduction == 0) return loss;
  if (reduction == 1) return mean_of_all(loss);
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < loss.dim(); ++d) dims.push_back(d);
  return sum_over(loss, dims);
}

Tensor rows_of(const Tensor& t) { return t.dim() < 2 ? reshape(t, {1, t.numel()}) : t; }

// Reduces the losses of rows and converts them to the result's type.
Tensor finished(const Tensor& loss, const Tensor& self, int64_t reduction) {
  Tensor each = self.dim() < 2 ? reshape(loss, IntSpan()) : loss;
  return to_dtype(reduced(each, reduction), self.dtype());
}

void check_labels(const Tensor& self, const Tensor& target) {
  SL_CHECK(target.dtype() == ScalarType::Int64 || self.numel() == 0,
           "expected scalar type Long but found ", dtype_display_name(target.dtype()));
}

Tensor multi_margin(const Tensor& self, const Tensor& target, const Scalar& p, double margin,
                    const Tensor& weight, int64_t reduction) {
  SL_CHECK(p.d == 1 || p.d == 2, "only p == 1 and p == 2 supported");
  SL_CHECK(self.dim() <= 2,
           "Expected non-empty vector or matrix with optional 0-dim batch size, "
           "but got: ",
           to_string(self.sizes()));
  ScalarType type = computed_type(self.dtype(), "multi_margin_loss");
  Tensor x = contiguous_as(rows_of(self), type);
  Tensor index = contiguous_as(target, ScalarType::Int64);
  int64_t n = x.size(0), classes = x.size(1);
  SL_CHECK(index.dim() <= 1 && index.numel() == n, "inconsistent target size, expected ", n,
           " but got ", to_string(target.sizes()));
  SL_CHECK(classes > 0, "multi_margin_loss: expected at least one class, got size ",
           to_string(self.sizes()));
  Tensor share = weight.defined() ? contiguous_as(weight, type) : Tensor();
  SL_CHECK(!weight.defined() || weight.numel() == classes, "inconsistent weight size, expected ",
           classes, " but got ", weight.defined() ? to_string(weight.sizes()) : "");
  check_labels(self, target);
  Tensor loss = Tensor::empty({n}, type);
  for_float_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < n; ++i) {
      int64_t t = index.data<int64_t>()[i];
      SL_CHECK(t >= 0 && t < classes, "target out of range");
      const T* row = x.data<T>() + i * classes;
      T sum = 0;
      kernels::worked(2 * classes);
      for (int64_t c = 0; c < classes; ++c) {
        T gap = T(margin) - row[t] + row[c];
        if (c == t || !(gap > T(0))) continue;
        if (p.d == 2) gap *= gap;
        sum += share.defined() ? gap * share.data<T>()[t] : gap;
      }
      loss.data<T>()[i] = sum / T(classes);
    }
  });
  return finished(loss, self, reduction);
}

// Which classes are targets; a row of targets ends at its first negative one.
std::vector<bool> chosen_classes(const int64_t* row, int64_t classes, int64_t* count) {
  std::vector<bool> chosen(as_size(classes), false);
  bool ended = false;
  *count = 0;
  for (int64_t c = 0; c < classes; ++c) {
    SL_CHECK(row[c] >= -1 && row[c] < classes, "target out of range");
    ended = ended || row[c] < 0;
    if (ended) continue;
    chosen[size_t(row[c])] = true;
    ++*count;
  }
  return chosen;
}

Tensor multilabel_margin(const Tensor& self, const Tensor& target, int64_t reduction,
                         Tensor* is_target) {
  SL_CHECK(self.dim() <= 2 && (self.dim() == 0 || self.size(self.dim() - 1) > 0),
           "Expected "
           "non-empty vector or matrix with optional 0-dim batch size, but got: ",
           to_string(self.sizes()));
  SL_CHECK(self.sizes() == target.sizes(), "inconsistent target size: ", to_string(target.sizes()),
           " for input of size: ", to_string(self.sizes()));
  ScalarType type = computed_type(self.dtype(), "multilabel_margin_loss");
  check_labels(self, target);
  Tensor x = contiguous_as(rows_of(self), type);
  Tensor labels = contiguous_as(rows_of(target), ScalarType::Int64);
  int64_t n = x.size(0), classes = x.size(1), count;
  Tensor loss = Tensor::empty({n}, type), flags = Tensor::zeros(x.sizes(), type);
  for_float_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t* row = labels.data<int64_t>() + i * classes;
      const T* score = x.data<T>() + i * classes;
      std::vector<bool> chosen = chosen_classes(row, classes, &count);
      T sum = 0;
      for (int64_t c = 0; c < classes; ++c) flags.data<T>()[i * classes + c] = chosen[size_t(c)];
      kernels::worked(2 * classes);
      for (int64_t t = 0; t < count; ++t) {
        kernels::worked(classes);
        for (int64_t c = 0; c < classes; ++c) {
          T gap = T(1) - score[row[t]] + score[c];
          if (!chosen[size_t(c)] && gap > T(0)) sum += gap;
        }
      }
      loss.data<T>()[i] = classes ? sum / T(classes) : T(0);
    }
  });
  if (is_target) *is_target = to_dtype(reshape(flags, self.sizes()), self.dtype());
  return finished(loss, self, reduction);
}

// ---- connectionist temporal classification

struct Ctc {
  Tensor loss, alpha;  // for each sequence: its loss and forward log-probabilities
};

std::vector<int64_t> lengths_of(const Value& v) {
  if (!v.is_tensor()) {
    Ints given(v);
    return {given.begin(), given.end()};
  }
  Tensor t = contiguous_as(v.as_tensor(), ScalarType::Int64);
  return {t.data<int64_t>(), t.data<int64_t>() + t.numel()};
}

template <class T>
T log_sum(std::initializer_list<T> terms) {
  T top = std::max(terms), sum = 0;
  if (top == -std::numeric_limits<T>::infinity()) return top;
  for (T t : terms) sum += std::exp(t - top);
  return std::log(sum) + top;
}

// The forward pass; returns the loss. alpha: [steps][2 * count + 1], in rows of `row` elements;
// log_p: rows of `step` elements.
template <class T>
T forward(const T* log_p, int64_t step, int64_t steps, const int64_t* target, int64_t count,
          int64_t blank, T* alpha, int64_t row) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  int64_t states = 2 * count + 1;
  if (steps == 0) return count == 0 ? T(0) : -kNone;
  auto label = [&](int64_t s) { return s % 2 ? target[s / 2] : blank; };
  alpha[0] = log_p[blank];
  if (count > 0) alpha[1] = log_p[label(1)];
  for (int64_t t = 1; t < steps; ++t) {
    const T* before = alpha + (t - 1) * row;
    T* now = alpha + t * row;
    kernels::worked(64 * states);
    for (int64_t s = 0; s < states; ++s) {
      T one = s > 0 ? before[s - 1] : kNone;
      bool skips = s > 1 && s % 2 && label(s) != label(s - 2);  // a label may be the blank
      now[s] =
          log_sum({before[s], one, skips ? before[s - 2] : kNone}) + log_p[t * step + label(s)];
    }
  }
  const T* last = alpha + (steps - 1) * row + states - 1;
  return -log_sum({*last, count > 0 ? last[-1] : kNone});
}

void check_targets(const Tensor& targets, const std::vector<int64_t>& lengths, bool joined) {
  int64_t total = 0, most = 0;
  for (int64_t n : lengths) {
    SL_CHECK(n >= 0 && n < int64_t{1} << 40, "Expected target_lengths to be non-negative, got ", n);
    total += n;
    most = std::max(most, n);
  }
  SL_CHECK(joined ? total <= targets.numel() : most <= targets.size(1), "Expected targets of size ",
           to_string(targets.sizes()), " to hold sequences as long as target_lengths says");
}

Ctc ctc(Args args, int64_t blank) {
  const Tensor& given = args.tensor(0);
  std::vector<int64_t> inputs = lengths_of(args[2]), counts = lengths_of(args[3]);
  bool batched = given.dim() == 3;
  SL_CHECK(batched || given.dim() == 2, "log_probs must have 2 or 3 dimensions, got size ",
           to_string(given.sizes()));
  ScalarType type = computed_type(given.dtype(), "ctc_loss");
  Tensor x = contiguous_as(batched ? given : view_unsqueeze(given, 1), type);
  int64_t steps = x.size(0), n = x.size(1), classes = x.size(2);
  SL_CHECK(blank >= 0 && blank < classes, "blank must be in label range");
  SL_CHECK(int64_t(inputs.size()) == n, "input_lengths must be of size batch_size (", n, "), got ",
           inputs.size());
  SL_CHECK(int64_t(counts.size()) == n, "target_lengths must be of size batch_size (", n, "), got ",
           counts.size());
  for (int64_t length : inputs) {
    SL_CHECK(length >= 0 && length <= steps, "Expected input_lengths to have value at most ", steps,
             ", but got value ", length);
  }
  Tensor targets = contiguous_as(args.tensor(1), ScalarType::Int64);
  bool joined = targets.dim() <= 1;
  SL_CHECK(joined || (targets.dim() == 2 && targets.size(0) == n), "targets of size ",
           to_string(targets.sizes()), " do not fit a batch of ", n);
  check_targets(targets, counts, joined);
  int64_t width = joined ? 0 : targets.size(1);
  for (int64_t count : counts) width = joined ? std::max(width, count) : width;
  int64_t row = 2 * width + 1;
  Ctc r{Tensor::empty({n}, type),
        full({n, steps, row}, type, Scalar(-std::numeric_limits<double>::infinity()))};
  for_float_type(type, [&](auto zero) {
    using T = decltype(zero);
    const int64_t* target = targets.data<int64_t>();
    for (int64_t i = 0; i < n; ++i) {
      int64_t count = counts[size_t(i)];
      const int64_t* labels = joined ? target : target + i * width;
      for (int64_t k = 0; k < count; ++k) {
        SL_CHECK(labels[k] >= 0 && labels[k] < classes, "ctc_loss: a target of ", labels[k],
                 " is outside the ", classes, " classes");
      }
      r.loss.data<T>()[i] = forward(x.data<T>() + i * classes, n * classes, inputs[size_t(i)],
                                    labels, count, blank, r.alpha.data<T>() + i * steps * row, row);
      if (joined) target += count;
    }
  });
  if (!batched) {
    r.loss = view_select(r.loss, 0, 0);
    r.alpha = view_select(r.alpha, 0, 0);
  }
  return r;
}

Tensor ctc_loss(Args args) {
  Tensor loss = ctc(args, args.integer(4)).loss;
  double infinity = std::numeric_limits<double>::infinity();
  if (args.boolean(6)) loss = where(eq(loss, Scalar(infinity)), Scalar(0.0), loss);
  if (args.integer(5) == 1) {
    std::vector<int64_t> counts = lengths_of(args[3]);
    Tensor divisor = Tensor::empty({int64_t(counts.size())}, ScalarType::Int64);
    for (size_t i = 0; i < counts.size(); ++i) {
      divisor.data<int64_t>()[i] = std::max<int64_t>(counts[i], 1);
    }
    loss = div(loss, to_dtype(loss.dim() ? divisor : view_select(divisor, 0, 0), loss.dtype()));
  }
  int64_t reduction = args.integer(5);  // other numbers than 1 and 2: no reduction
  if (reduction != 1 && reduction != 2) reduction = 0;
  if (reduction == 1 || reduction == 2) loss = reduced(loss, reduction);
  return to_dtype(loss, args.tensor(0).dtype());
}

void ctc_parts(Args args, Value* out) {
  Ctc r = ctc(args, args.integer(4));
  out[0] = to_dtype(r.loss, args.tensor(0).dtype());
  out[1] = to_dtype(r.alpha, args.tensor(0).dtype());
}

}  // namespace

SL_OP(aten_multi_margin_loss) {
  out[0] = multi_margin(args.tensor(0), args.tensor(1), args.scalar(2), args.scalar(3).to_double(),
                        args.opt_tensor(4), args.integer(5));
}
SL_OP(aten_multilabel_margin_loss) {
  out[0] = multilabel_margin(args.tensor(0), args.tensor(1), args.integer(2), nullptr);
}
SL_OP(aten_multilabel_margin_loss_forward) {
  Tensor is_target;
  out[0] = multilabel_margin(args.tensor(0), args.tensor(1), args.integer(2), &is_target);
  out[1] = is_target;
}
SL_OP(aten_ctc_loss_IntList) { out[0] = ctc_loss(args); }
SL_OP(aten_ctc_loss_Tensor) { out[0] = ctc_loss(args); }
SL_OP(aten__ctc_loss) { ctc_parts(args, out); }
SL_OP(aten__ctc_loss_Tensor) { ctc_parts(args, out); }

}  // namespace scriptlang
