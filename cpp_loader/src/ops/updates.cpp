// Steps of optimizers over lists of tensors: Adam and AdamW.
#include "kernels/updates.h"

#include <cmath>

#include "kernels/kernel_set.h"
#include "kernels/parallel.h"
#include "express.h"
#include "op.h"

namespace scriptlang {

namespace {

constexpr int64_t kGrain = 16384;  // elements that are worth a thread

using Tensors = std::vector<Tensor>;

void check_count(const Tensors& list, size_t expected, const char* name) {
  SL_CHECK(list.size() == expected, name, " has ", list.size(), " tensors, and there are ",
           expected, " parameters");
}

void check_like(const Tensor& param, const Tensor& other, const char* name) {
  if (!is_floating(param.dtype())) {
    raise(ErrorKind::NotImplementedError, "a step of parameters that are ",
          dtype_name(param.dtype()));
  }
  SL_CHECK(other.dtype() == param.dtype(), "a parameter is ", dtype_name(param.dtype()),
           ", and its part of ", name, " is ", dtype_name(other.dtype()));
  SL_CHECK(other.sizes() == param.sizes(), "a parameter has the size ", to_string(param.sizes()),
           ", and its part of ", name, " has ", to_string(other.sizes()));
}

// A step of Adam or AdamW, with the arguments of their schemas.
struct Adam {
  const Tensors params, grads, means, squares, largest, steps;
  const double lr, beta1, beta2, weight_decay, eps;
  const bool amsgrad, maximize, is_decoupled;
  const Tensor grad_scale;

  Adam(Args args, bool is_decoupled)
      : params(args.tensors(0)),
        grads(args.tensors(1)),
        means(args.tensors(2)),
        squares(args.tensors(3)),
        largest(args.tensors(4)),
        steps(args.tensors(5)),
        lr(args.number(6)),
        beta1(args.number(7)),
        beta2(args.number(8)),
        weight_decay(args.number(9)),
        eps(args.number(10)),
        amsgrad(args.boolean(11)),
        maximize(args.boolean(12)),
        is_decoupled(is_decoupled),
        grad_scale(args.opt_tensor(13)) {}

  void run() const {
    check();
    for (size_t i = 0; i < params.size(); ++i) {
      if (params[i].dtype() == ScalarType::Float64) {
        update<double>(i);
      } else {
        update<float>(i);
      }
    }
  }

 private:
  void check() const {
    check_count(grads, params.size(), "grads");
    check_count(means, params.size(), "exp_avgs");
    check_count(squares, params.size(), "exp_avg_sqs");
    check_count(largest, amsgrad ? params.size() : 0, "max_exp_avg_sqs");
    check_count(steps, params.size(), "state_steps");
    for (size_t i = 0; i < params.size(); ++i) {
      check_like(params[i], grads[i], "grads");
      for (const Part& part : written(i)) {
        check_like(params[i], part.tensor, part.name);
        check_writable(part.tensor);
      }
      if (grad_scale.defined()) check_writable(grads[i]);
    }
  }

  struct Part {
    const char* name;
    const Tensor& tensor;
  };
  // The tensors of a parameter that each step writes.
  std::vector<Part> written(size_t i) const {
    std::vector<Part> parts{
        {"self", params[i]}, {"exp_avgs", means[i]}, {"exp_avg_sqs", squares[i]}};
    if (amsgrad) parts.push_back({"max_exp_avg_sqs", largest[i]});
    return parts;
  }

  template <class T>
  void update(size_t i) const {
    const Tensor grad = scaled(grads[i]);
    const std::vector<Part> parts = written(i);
    bool in_place = !is_half(params[i].dtype()) && is_dense(params[i]);
    in_place = in_place && same_strides(grad, params[i]);
    for (const Part& p : parts) in_place = in_place && same_strides(p.tensor, params[i]);
    const ScalarType type = loop_type(params[i].dtype());
    Tensors at;  // what the loop works on, in one order of elements
    for (const Part& p : parts) {
      at.push_back(in_place ? p.tensor : contiguous_as(p.tensor, type));
    }
    const Tensor from = in_place ? grad : contiguous_as(grad, type);
    kernels::AdamStep<T> s = numbers<T>(Scalar::of(Value(steps[i])).to_double());
    const int64_t size = int64_t(sizeof(T));
    auto place = [&](const Tensor& t, int64_t begin) {
      return reinterpret_cast<T*>(static_cast<char*>(t.raw()) + begin * size);
    };
    kernels::parallel_for(params[i].numel(), kGrain, [&](int64_t begin, int64_t end) {
      kernels::AdamStep<T> part = s;
      part.param = place(at[0], begin);
      part.grad = place(from, begin);
      part.mean = place(at[1], begin);
      part.square = place(at[2], begin);
      if (amsgrad) part.most = place(at[3], begin);
      run(end - begin, part);
    });
    for (size_t k = 0; k < parts.size(); ++k) {
      if (at[k].raw() != parts[k].tensor.raw()) copy_into(parts[k].tensor, at[k]);
    }
  }

  static void run(int64_t n, const kernels::AdamStep<float>& s) {
    kernels::kernels().updates->adam_f32(n, s);
  }
  static void run(int64_t n, const kernels::AdamStep<double>& s) {
    kernels::kernels().updates->adam_f64(n, s);
  }

  // The gradient without the factor by which the loss was scaled.
  Tensor scaled(const Tensor& grad) const {
    if (!grad_scale.defined()) return grad;
    Tensor wide = express::div(to_dtype(grad, loop_type(grad.dtype())), grad_scale);
    copy_into(grad, wide);
    return wide;
  }

  template <class T>
  kernels::AdamStep<T> numbers(double step) const {
    kernels::AdamStep<T> s;
    s.sign = maximize ? T(-1) : T(1);
    s.decay = is_decoupled ? T(0) : T(weight_decay);
    s.keep = is_decoupled ? T(1 - lr * weight_decay) : T(1);
    s.near = T(1 - beta1);
    s.beta2 = T(beta2);
    s.rest2 = T(1 - beta2);
    s.scale = T(std::pow(1 - std::pow(beta2, step), 0.5));
    s.eps = T(eps);
    s.rate = T(lr / (1 - std::pow(beta1, step)));
    return s;
  }
};

void adam(Args args, bool is_decoupled) {
  const Tensor& found_inf = args.opt_tensor(14);
  if (found_inf.defined() && Scalar::of(args[14]).to_double() == 1) return;
  Adam(args, is_decoupled).run();
}

}  // namespace

SL_OP(aten__fused_adam_) { adam(args, false); }
SL_OP(aten__fused_adamw_) { adam(args, true); }

}  // namespace scriptlang
