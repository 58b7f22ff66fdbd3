// All time steps of one direction of an LSTM layer as one operator, with its derivative. Recorded
// programs use these instead of a node for each operator of each step.
#include <algorithm>

#include "express.h"
#include "pointwise.h"
#include "recurrent_steps.h"

namespace scriptlang {

using namespace recurrent;

namespace {

Steps steps_of(const Tensor& gates, const Tensor& h, const Tensor& c, const Tensor& weight,
               bool reverse) {
  SL_CHECK(gates.dim() == 2 && h.dim() == 2 && weight.dim() == 2 && h.sizes() == c.sizes() &&
               h.size(0) > 0 && h.size(1) > 0 && gates.size(0) > 0 &&
               gates.size(0) % h.size(0) == 0 && gates.size(1) == 4 * h.size(1) &&
               weight.size(0) == 4 * h.size(1) && weight.size(1) == h.size(1),
           "lstm: gates of size ", to_string(gates.sizes()), " and a weight of size ",
           to_string(weight.sizes()), " do not fit states of size ", to_string(h.sizes()));
  SL_CHECK(gates.dtype() == h.dtype() && h.dtype() == c.dtype() && h.dtype() == weight.dtype(),
           "lstm: gates, states and weight must be of one type");
  return {gates.size(0) / h.size(0), h.size(0), h.size(1), reverse};
}

// gates [times * batch][4 * hidden]: on entry the input's share of the gate sums, on return the
// gates.
template <class T>
void forward(const Steps& s, const T* h, const T* c, const T* weight, T* gates, T* outputs,
             T* cells) {
  const int64_t n = s.hidden, wide = 4 * n;
  Packed<T> packed(n, wide, weight, 1, n);
  for (int64_t i = 0; i < s.times; ++i) {
    T* rows = gates + s.time(i) * s.batch * wide;
    T *h_now = outputs + s.time(i) * s.states(), *c_now = cells + s.time(i) * s.states();
    multiply(s.batch, wide, n, h, n, 1, weight, 1, n, packed.get(), rows, kernels::Start::kResult);
    for (int64_t b = 0; b < s.batch; ++b) {
      T* row = rows + b * wide;
      apply(kernels::Unary::k_sigmoid, 2 * n, row, row);
      apply(kernels::Unary::k_tanh, n, row + 2 * n, row + 2 * n);
      apply(kernels::Unary::k_sigmoid, n, row + 3 * n, row + 3 * n);
      const T* before = c + b * n;
      T* next = c_now + b * n;
      for (int64_t j = 0; j < n; ++j) next[j] = row[n + j] * before[j] + row[j] * row[2 * n + j];
    }
    apply(kernels::Unary::k_tanh, s.states(), c_now, h_now);
    for (int64_t b = 0; b < s.batch; ++b) {
      const T* row = rows + b * wide + 3 * n;
      for (int64_t j = 0; j < n; ++j) h_now[b * n + j] *= row[j];
    }
    h = h_now;
    c = c_now;
  }
}

// Results of the forward pass, and the gradients of its results, any of which may be null.
template <class T>
struct Given {
  const T *h, *c, *weight, *outputs, *cells, *gates;
  const T *of_outputs, *of_cells, *of_gates;
};

// The backward pass through one row of one time step. of_h and of_c: gradients of the new state;
// of_c becomes that of the old one. The gradients of the gate sums are written to `to`.
template <class T>
void back_through_row(int64_t n, const T* gates, const T* of_gates, const T* bent, const T* before,
                      const T* of_h, T* of_c, T* to) {
  for (int64_t j = 0; j < n; ++j) {
    const T input = gates[j], forget = gates[n + j], cell = gates[2 * n + j];
    const T output = gates[3 * n + j];
    const T dc = of_c[j] + of_h[j] * output * (1 - bent[j] * bent[j]);
    T parts[4] = {dc * cell, dc * before[j], dc * input, of_h[j] * bent[j]};
    if (of_gates) {
      for (int64_t k = 0; k < 4; ++k) parts[k] += of_gates[k * n + j];
    }
    to[j] = parts[0] * input * (1 - input);
    to[n + j] = parts[1] * forget * (1 - forget);
    to[2 * n + j] = parts[2] * (1 - cell * cell);
    to[3 * n + j] = parts[3] * output * (1 - output);
    of_c[j] = dc * forget;
  }
}

// of_h, of_c [batch][hidden]: zeros on entry; the gradients of the first states on return.
template <class T>
void backward(const Steps& s, const Given<T>& given, T* of_sums, T* of_h, T* of_c, T* of_weight) {
  const int64_t n = s.hidden, wide = 4 * n, states = s.states();
  Packed<T> packed(wide, n, given.weight, n, 1);
  kernels::Scratch space(sizeof(T) * uint64_t(states));
  T* bent = space.as<T>();
  for (int64_t i = s.times - 1; i >= 0; --i) {
    const int64_t t = s.time(i), at = t * states;
    const T* before = i == 0 ? given.c : given.cells + s.time(i - 1) * states;
    apply(kernels::Unary::k_tanh, states, given.cells + at, bent);
    if (given.of_outputs) {
      for (int64_t j = 0; j < states; ++j) of_h[j] += given.of_outputs[at + j];
    }
    if (given.of_cells) {
      for (int64_t j = 0; j < states; ++j) of_c[j] += given.of_cells[at + j];
    }
    T* rows = of_sums + t * s.batch * wide;
    for (int64_t b = 0; b < s.batch; ++b) {
      const int64_t row = (t * s.batch + b) * wide;
      back_through_row(n, given.gates + row, given.of_gates ? given.of_gates + row : nullptr,
                       bent + b * n, before + b * n, of_h + b * n, of_c + b * n, of_sums + row);
    }
    multiply(s.batch, n, wide, rows, wide, 1, given.weight, n, 1, packed.get(), of_h,
             kernels::Start::kZero);
  }
  weight_gradient(s, wide, of_sums, given.h, given.outputs, of_weight);
}

// Checks a result of the forward pass, or its gradient.
Tensor of_sizes(const Tensor& t, ScalarType dtype, ScalarType computed, IntSpan sizes) {
  return recurrent::of_sizes("lstm", t, dtype, computed, sizes);
}

Tensor given_or_none(Args args, int k, ScalarType dtype, ScalarType computed, IntSpan sizes) {
  return args[k].is_none() ? Tensor() : of_sizes(args.tensor(k), dtype, computed, sizes);
}

}  // namespace

SL_OP(scriptlang__lstm_steps) {
  const Tensor &gates = args.tensor(0), &h = args.tensor(1), &c = args.tensor(2);
  const Steps s = steps_of(gates, h, c, args.tensor(3), args.boolean(5));
  const ScalarType dtype = gates.dtype(), computed = computed_type(dtype, "lstm");
  Tensor worked = contiguous_as(gates, computed);
  if (!args[4].is_none()) {
    const Tensor& bias = args.tensor(4);
    SL_CHECK(bias.dtype() == dtype && bias.dim() == 1 && bias.size(0) == gates.size(1),
             "lstm: a bias of size ", to_string(bias.sizes()), " does not fit gates of size ",
             to_string(gates.sizes()));
    worked = binary_result(worked, contiguous_as(bias, computed), kernels::Binary::k_add, "add",
                           Rule::kSame, nullptr, Tensor());
  } else {
    worked = express::clone(worked);
  }
  const std::vector<int64_t> sizes{gates.size(0), s.hidden};
  Tensor outputs = Tensor::empty(sizes, computed), cells = Tensor::empty(sizes, computed);
  const Tensor h0 = contiguous_as(h, computed), c0 = contiguous_as(c, computed);
  const Tensor weight = contiguous_as(args.tensor(3), computed);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    forward(s, h0.data<T>(), c0.data<T>(), weight.data<T>(), worked.data<T>(), outputs.data<T>(),
            cells.data<T>());
  });
  out[0] = to_dtype(outputs, dtype);
  out[1] = to_dtype(cells, dtype);
  out[2] = to_dtype(worked, dtype);
}

SL_OP(scriptlang__lstm_steps_backward) {
  const Tensor &h = args.tensor(3), &gates = args.tensor(8);
  const Steps s = steps_of(gates, h, args.tensor(4), args.tensor(5), args.boolean(9));
  const ScalarType dtype = gates.dtype(), computed = computed_type(dtype, "lstm");
  const std::vector<int64_t> sizes{gates.size(0), s.hidden};
  const Tensor of_outputs = given_or_none(args, 0, dtype, computed, sizes);
  const Tensor of_cells = given_or_none(args, 1, dtype, computed, sizes);
  const Tensor of_gates = given_or_none(args, 2, dtype, computed, gates.sizes());
  const Tensor outputs = of_sizes(args.tensor(6), dtype, computed, sizes);
  const Tensor cells = of_sizes(args.tensor(7), dtype, computed, sizes);
  const Tensor h0 = contiguous_as(h, computed), c0 = contiguous_as(args.tensor(4), computed);
  const Tensor weight = contiguous_as(args.tensor(5), computed);
  const Tensor worked = contiguous_as(gates, computed);
  Tensor of_sums = Tensor::empty(gates.sizes(), computed);
  Tensor of_h = Tensor::zeros(h.sizes(), computed), of_c = Tensor::zeros(h.sizes(), computed);
  Tensor of_weight = Tensor::empty(weight.sizes(), computed);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    const auto at = [](const Tensor& t) -> const T* { return t.defined() ? t.data<T>() : nullptr; };
    const Given<T> given{at(h0),     at(c0),         at(weight),   at(outputs), at(cells),
                         at(worked), at(of_outputs), at(of_cells), at(of_gates)};
    backward(s, given, of_sums.data<T>(), of_h.data<T>(), of_c.data<T>(), of_weight.data<T>());
  });
  out[0] = to_dtype(of_sums, dtype);
  out[1] = to_dtype(of_h, dtype);
  out[2] = to_dtype(of_c, dtype);
  out[3] = to_dtype(of_weight, dtype);
}

}  // namespace scriptlang
