// All time steps of one direction of a GRU layer, or of a plain recurrent layer, as one operator
// each, with its derivative; backward_rnn.cpp does the same for LSTM layers.
#include <algorithm>

#include "express.h"
#include "pointwise.h"
#include "recurrent_steps.h"

namespace scriptlang {

using namespace recurrent;

namespace {

// parts: the number of gate sums of a unit.
Steps steps_of(const char* name, const Tensor& gates, const Tensor& h, const Tensor& weight,
               int64_t parts, bool reverse) {
  SL_CHECK(gates.dim() == 2 && h.dim() == 2 && weight.dim() == 2 && h.size(0) > 0 &&
               h.size(1) > 0 && gates.size(0) > 0 && gates.size(0) % h.size(0) == 0 &&
               gates.size(1) % parts == 0 && gates.size(1) / parts == h.size(1) &&
               weight.size(0) == gates.size(1) && weight.size(1) == h.size(1),
           name, ": gates of size ", to_string(gates.sizes()), " and a weight of size ",
           to_string(weight.sizes()), " do not fit states of size ", to_string(h.sizes()));
  SL_CHECK(gates.dtype() == h.dtype() && h.dtype() == weight.dtype(), name,
           ": gates, states and weight must be of one type");
  return {gates.size(0) / h.size(0), h.size(0), h.size(1), reverse};
}

Tensor bias_of(const char* name, Args args, int k, const Tensor& gates, ScalarType computed) {
  if (args[k].is_none()) return Tensor();
  const Tensor& bias = args.tensor(k);
  SL_CHECK(bias.dtype() == gates.dtype() && bias.dim() == 1 && bias.size(0) == gates.size(1), name,
           ": a bias of size ", to_string(bias.sizes()), " does not fit gates of size ",
           to_string(gates.sizes()));
  return contiguous_as(bias, computed);
}

template <class T>
const T* data_or_null(const Tensor& t) {
  return t.defined() ? t.data<T>() : nullptr;
}

// to [batch][wide] = bias + h * weight^T, the state's share of the gate sums.
template <class T>
void own_sums(const Steps& s, int64_t wide, const T* h, const T* weight, const T* bias,
              const T* packed, T* to) {
  for (int64_t b = 0; b < s.batch; ++b) {
    if (bias) std::copy_n(bias, wide, to + b * wide);
    else std::fill_n(to + b * wide, wide, T(0));
  }
  multiply(s.batch, wide, s.hidden, h, s.hidden, 1, weight, 1, s.hidden, packed, to,
           kernels::Start::kResult);
}

// One row of one time step. x: the input's gate sums; own: the state's. worked gets the gates r, z,
// n and the state's sum for n.
template <class T>
void gru_row(int64_t n, const T* x, const T* own, const T* before, T* worked, T* h) {
  for (int64_t j = 0; j < 2 * n; ++j) worked[j] = x[j] + own[j];
  apply(kernels::Unary::k_sigmoid, 2 * n, worked, worked);
  for (int64_t j = 0; j < n; ++j) {
    worked[3 * n + j] = own[2 * n + j];
    worked[2 * n + j] = x[2 * n + j] + worked[j] * own[2 * n + j];
  }
  apply(kernels::Unary::k_tanh, n, worked + 2 * n, worked + 2 * n);
  for (int64_t j = 0; j < n; ++j) {
    const T fresh = worked[2 * n + j];
    h[j] = fresh + worked[n + j] * (before[j] - fresh);
  }
}

template <class T>
void gru_forward(const Steps& s, const T* gates, const T* h, const T* weight, const T* bias,
                 T* outputs, T* worked) {
  const int64_t n = s.hidden, wide = 3 * n;
  Packed<T> packed(n, wide, weight, 1, n);
  kernels::Scratch space(sizeof(T) * uint64_t(s.batch * wide));
  T* own = space.as<T>();
  for (int64_t i = 0; i < s.times; ++i) {
    const int64_t row = s.time(i) * s.batch;
    own_sums(s, wide, h, weight, bias, packed.get(), own);
    for (int64_t b = 0; b < s.batch; ++b) {
      gru_row(n, gates + (row + b) * wide, own + b * wide, h + b * n, worked + (row + b) * 4 * n,
              outputs + (row + b) * n);
    }
    h = outputs + row * n;
  }
}

// One row of the backward pass. of_h: the gradient of the new state; it becomes the part of the old
// state's gradient that does not go through the product. of_gates and of_own: gradients of the
// sums.
template <class T>
void gru_back_row(int64_t n, const T* worked, const T* of_worked, const T* before, T* of_h,
                  T* of_gates, T* of_own) {
  for (int64_t j = 0; j < n; ++j) {
    const T reset = worked[j], update = worked[n + j], fresh = worked[2 * n + j];
    const T own = worked[3 * n + j];
    T of_fresh = of_h[j] * (1 - update), of_update = of_h[j] * (before[j] - fresh);
    if (of_worked) {
      of_fresh += of_worked[2 * n + j];
      of_update += of_worked[n + j];
    }
    const T sum = of_fresh * (1 - fresh * fresh);
    T of_reset = sum * own, own_part = sum * reset;
    if (of_worked) {
      of_reset += of_worked[j];
      own_part += of_worked[3 * n + j];
    }
    of_gates[j] = of_own[j] = of_reset * reset * (1 - reset);
    of_gates[n + j] = of_own[n + j] = of_update * update * (1 - update);
    of_gates[2 * n + j] = sum;
    of_own[2 * n + j] = own_part;
    of_h[j] *= update;
  }
}

template <class T>
struct Given {
  const T *h, *weight, *outputs, *worked, *of_outputs, *of_worked;  // gradients may be null
};

// of_h [batch][hidden]: zeros on entry; the gradient of the first state on return.
template <class T>
void gru_backward(const Steps& s, const Given<T>& given, T* of_gates, T* of_own, T* of_h,
                  T* of_weight) {
  const int64_t n = s.hidden, wide = 3 * n;
  Packed<T> packed(wide, n, given.weight, n, 1);
  for (int64_t i = s.times - 1; i >= 0; --i) {
    const int64_t row = s.time(i) * s.batch;
    const T* before = i == 0 ? given.h : given.outputs + s.time(i - 1) * s.states();
    if (given.of_outputs) {
      for (int64_t j = 0; j < s.states(); ++j) of_h[j] += given.of_outputs[row * n + j];
    }
    for (int64_t b = 0; b < s.batch; ++b) {
      const int64_t at = (row + b) * 4 * n, to = (row + b) * wide;
      gru_back_row(n, given.worked + at, given.of_worked ? given.of_worked + at : nullptr,
                   before + b * n, of_h + b * n, of_gates + to, of_own + to);
    }
    multiply(s.batch, n, wide, of_own + row * wide, wide, 1, given.weight, n, 1, packed.get(), of_h,
             kernels::Start::kResult);
  }
  weight_gradient(s, wide, of_own, given.h, given.outputs, of_weight);
}

template <class T>
void bend(bool relu, int64_t n, T* x) {
  if (!relu) return apply(kernels::Unary::k_tanh, n, x, x);
  for (int64_t j = 0; j < n; ++j) x[j] = x[j] < 0 ? T(0) : x[j];  // a NaN stays
}

template <class T>
void plain_forward(const Steps& s, const T* gates, const T* h, const T* weight, const T* bias,
                   bool relu, T* outputs) {
  const int64_t n = s.hidden;
  Packed<T> packed(n, n, weight, 1, n);
  for (int64_t i = 0; i < s.times; ++i) {
    const int64_t at = s.time(i) * s.states();
    T* now = outputs + at;
    own_sums(s, n, h, weight, bias, packed.get(), now);
    for (int64_t j = 0; j < s.states(); ++j) now[j] += gates[at + j];
    bend(relu, s.states(), now);
    h = now;
  }
}

template <class T>
void plain_backward(const Steps& s, const Given<T>& given, bool relu, T* of_gates, T* of_h,
                    T* of_weight) {
  const int64_t n = s.hidden;
  Packed<T> packed(n, n, given.weight, n, 1);
  for (int64_t i = s.times - 1; i >= 0; --i) {
    const int64_t at = s.time(i) * s.states();
    const T* now = given.outputs + at;
    T* to = of_gates + at;
    for (int64_t j = 0; j < s.states(); ++j) {
      const T all = of_h[j] + (given.of_outputs ? given.of_outputs[at + j] : T(0));
      to[j] = relu ? (now[j] > 0 ? all : T(0)) : all * (1 - now[j] * now[j]);
    }
    multiply(s.batch, n, n, to, n, 1, given.weight, n, 1, packed.get(), of_h,
             kernels::Start::kZero);
  }
  weight_gradient(s, n, of_gates, given.h, given.outputs, of_weight);
}

Tensor optional_of_sizes(const char* name, Args args, int k, ScalarType dtype, ScalarType computed,
                         IntSpan sizes) {
  return args[k].is_none() ? Tensor() : of_sizes(name, args.tensor(k), dtype, computed, sizes);
}

}  // namespace

SL_OP(scriptlang__gru_steps) {
  const Tensor &gates = args.tensor(0), &h = args.tensor(1);
  const Steps s = steps_of("gru", gates, h, args.tensor(2), 3, args.boolean(4));
  const ScalarType dtype = gates.dtype(), computed = computed_type(dtype, "gru");
  const Tensor bias = bias_of("gru", args, 3, gates, computed);
  const Tensor x = contiguous_as(gates, computed), h0 = contiguous_as(h, computed);
  const Tensor weight = contiguous_as(args.tensor(2), computed);
  Tensor outputs = Tensor::empty({gates.size(0), s.hidden}, computed);
  Tensor worked = Tensor::empty({gates.size(0), 4 * s.hidden}, computed);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    gru_forward(s, x.data<T>(), h0.data<T>(), weight.data<T>(), data_or_null<T>(bias),
                outputs.data<T>(), worked.data<T>());
  });
  out[0] = to_dtype(outputs, dtype);
  out[1] = to_dtype(worked, dtype);
}

SL_OP(scriptlang__gru_steps_backward) {
  const Tensor &h = args.tensor(2), &given_worked = args.tensor(5);
  SL_CHECK(given_worked.dim() == 2 && h.dim() == 2, "gru: a matrix is expected");
  const ScalarType dtype = h.dtype(), computed = computed_type(dtype, "gru");
  const int64_t all = given_worked.size(0), n = h.size(1);
  Tensor of_gates = Tensor::empty({all, 3 * n}, computed);
  const Steps s = steps_of("gru", to_dtype(of_gates, dtype), h, args.tensor(3), 3, args.boolean(6));
  const std::vector<int64_t> sizes{all, n}, wide{all, 4 * n};
  const Tensor of_outputs = optional_of_sizes("gru", args, 0, dtype, computed, sizes);
  const Tensor of_worked = optional_of_sizes("gru", args, 1, dtype, computed, wide);
  const Tensor outputs = of_sizes("gru", args.tensor(4), dtype, computed, sizes);
  const Tensor worked = of_sizes("gru", given_worked, dtype, computed, wide);
  const Tensor h0 = contiguous_as(h, computed), weight = contiguous_as(args.tensor(3), computed);
  Tensor of_own = Tensor::empty({all, 3 * n}, computed);
  Tensor of_h = Tensor::zeros(h.sizes(), computed);
  Tensor of_weight = Tensor::empty(weight.sizes(), computed);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    const Given<T> given{h0.data<T>(),
                         weight.data<T>(),
                         outputs.data<T>(),
                         worked.data<T>(),
                         data_or_null<T>(of_outputs),
                         data_or_null<T>(of_worked)};
    gru_backward(s, given, of_gates.data<T>(), of_own.data<T>(), of_h.data<T>(),
                 of_weight.data<T>());
  });
  out[0] = to_dtype(of_gates, dtype);
  out[1] = to_dtype(of_own, dtype);
  out[2] = to_dtype(of_h, dtype);
  out[3] = to_dtype(of_weight, dtype);
}

SL_OP(scriptlang__rnn_steps) {
  const Tensor &gates = args.tensor(0), &h = args.tensor(1);
  const Steps s = steps_of("rnn", gates, h, args.tensor(2), 1, args.boolean(5));
  const ScalarType dtype = gates.dtype(), computed = computed_type(dtype, "rnn");
  const Tensor bias = bias_of("rnn", args, 3, gates, computed);
  const Tensor x = contiguous_as(gates, computed), h0 = contiguous_as(h, computed);
  const Tensor weight = contiguous_as(args.tensor(2), computed);
  const bool relu = args.boolean(4);
  Tensor outputs = Tensor::empty(gates.sizes(), computed);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    plain_forward(s, x.data<T>(), h0.data<T>(), weight.data<T>(), data_or_null<T>(bias), relu,
                  outputs.data<T>());
  });
  out[0] = to_dtype(outputs, dtype);
}

SL_OP(scriptlang__rnn_steps_backward) {
  const Tensor &h = args.tensor(1), &given_outputs = args.tensor(3);
  const Steps s = steps_of("rnn", given_outputs, h, args.tensor(2), 1, args.boolean(5));
  const ScalarType dtype = h.dtype(), computed = computed_type(dtype, "rnn");
  const IntSpan sizes = given_outputs.sizes();
  const Tensor of_outputs = of_sizes("rnn", args.tensor(0), dtype, computed, sizes);
  const Tensor outputs = of_sizes("rnn", given_outputs, dtype, computed, sizes);
  const Tensor h0 = contiguous_as(h, computed), weight = contiguous_as(args.tensor(2), computed);
  const bool relu = args.boolean(4);
  Tensor of_gates = Tensor::empty(sizes, computed), of_h = Tensor::zeros(h.sizes(), computed);
  Tensor of_weight = Tensor::empty(weight.sizes(), computed);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    const Given<T> given{h0.data<T>(), weight.data<T>(),     outputs.data<T>(),
                         nullptr,      of_outputs.data<T>(), nullptr};
    plain_backward(s, given, relu, of_gates.data<T>(), of_h.data<T>(), of_weight.data<T>());
  });
  out[0] = to_dtype(of_gates, dtype);
  out[1] = to_dtype(of_h, dtype);
  out[2] = to_dtype(of_weight, dtype);
}

}  // namespace scriptlang
