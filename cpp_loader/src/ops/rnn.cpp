// Recurrent networks: cells, and whole layers over padded or packed sequences.
#include <algorithm>
#include <cstring>

#include "../../kernels/kernel_set.h"
#include "copy.h"
#include "express.h"
#include "join.h"
#include "layout.h"
#include "linalg.h"
#include "pointwise.h"
#include "random.h"
#include "ops/quantized/packed.h"
#include "ops/quantized/plain.h"
#include "row_kernels.h"
#include "view.h"

namespace scriptlang {

using kernels::Binary;
using kernels::Unary;

namespace {

enum class Cell { kTanh, kRelu, kGru, kLstm };

// The parameters of one direction of one layer; those that it lacks are undefined. Quantized layers
// compute products with int8 codes, or with weights rounded to float16.
struct Weights {
  Tensor input, hidden, input_bias, hidden_bias, projection;
  bool quantized = false, reduce_range = false;

  Tensor from_input(const Tensor& x) const { return product(x, input, input_bias); }
  Tensor from_hidden(const Tensor& h) const { return product(h, hidden, hidden_bias); }

 private:
  Tensor product(const Tensor& x, const Tensor& weight, const Tensor& bias) const {
    if constexpr (quantized_ways::kKept) {
      if (quantized) return dynamic_product(x, {weight, bias}, reduce_range);
    } else if (quantized) {
      kernels::type_left_out(ScalarType::QInt8);
    }
    return linear(x, weight, bias);
  }
};

// The state that a step passes on: [batch, hidden]; `c` is for LSTM only.
struct State {
  Tensor h, c;
};

Tensor plus(const Tensor& a, const Tensor& b, const Tensor& into = Tensor()) {
  return binary_result(a, b, Binary::k_add, "add", Rule::kSame, nullptr, into);
}

ScalarType cell_type(const Tensor& t) { return computed_type(t.dtype(), "rnn"); }

State lstm_step(const Tensor& input_gates, const State& state, const Weights& w) {
  Tensor gates = w.from_hidden(state.h);
  SL_CHECK(input_gates.sizes() == gates.sizes() && gates.dim() == 2 && state.c.dim() == 2 &&
               gates.size(1) == 4 * state.c.size(1) && gates.size(0) == state.c.size(0),
           "lstm: the gates of size ", to_string(input_gates.sizes()), " and ",
           to_string(gates.sizes()), " do not fit a cell state of size ",
           to_string(state.c.sizes()));
  ScalarType dtype = gates.dtype(), computed = cell_type(gates);
  gates = plus(contiguous_as(input_gates, computed), to_dtype(gates, computed));
  Tensor c_in = contiguous_as(state.c, computed);
  State next{Tensor::empty(c_in.sizes(), computed), Tensor::empty(c_in.sizes(), computed)};
  int64_t n = c_in.size(1);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t b = 0; b < c_in.size(0); ++b) {
      Rows<T>::lstm_cell(n, gates.data<T>() + 4 * b * n, c_in.data<T>() + b * n,
                         next.c.data<T>() + b * n, next.h.data<T>() + b * n);
    }
  });
  next.h = to_dtype(next.h, dtype);
  next.c = to_dtype(next.c, dtype);
  if (w.projection.defined()) next.h = linear(next.h, w.projection, Tensor());
  return next;
}

State gru_step(const Tensor& input_gates, const State& state, const Weights& w) {
  Tensor gates = w.from_hidden(state.h);
  SL_CHECK(input_gates.sizes() == gates.sizes() && gates.dim() == 2 && state.h.dim() == 2 &&
               gates.size(1) == 3 * state.h.size(1) && gates.size(0) == state.h.size(0),
           "gru: the gates of size ", to_string(input_gates.sizes()), " and ",
           to_string(gates.sizes()), " do not fit a hidden state of size ",
           to_string(state.h.sizes()));
  ScalarType dtype = gates.dtype(), computed = cell_type(gates);
  Tensor from_input = contiguous_as(input_gates, computed);
  Tensor from_hidden = contiguous_as(gates, computed), h_in = contiguous_as(state.h, computed);
  Tensor h = Tensor::empty(h_in.sizes(), computed);
  int64_t n = h.size(1);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t b = 0; b < h.size(0); ++b) {
      Rows<T>::gru_cell(n, from_input.data<T>() + 3 * b * n, from_hidden.data<T>() + 3 * b * n,
                        h_in.data<T>() + b * n, h.data<T>() + b * n);
    }
  });
  return {laid_like(to_dtype(h, dtype), state.h), Tensor()};
}

State simple_step(const Tensor& input_gates, const State& state, const Weights& w, Unary op) {
  Tensor gates = plus(w.from_hidden(state.h), input_gates);
  return {unary_result(gates, op, "rnn", Rule::kSame), Tensor()};
}

// One step of a cell. input_gates: the input already multiplied by w.input, plus its bias.
State step(Cell cell, const Tensor& input_gates, const State& state, const Weights& w) {
  switch (cell) {
    case Cell::kLstm: return lstm_step(input_gates, state, w);
    case Cell::kGru: return gru_step(input_gates, state, w);
    case Cell::kRelu: return simple_step(input_gates, state, w, Unary::k_relu);
    default: return simple_step(input_gates, state, w, Unary::k_tanh);
  }
}

// A sequence stored as rows: step t has rows [starts[t], starts[t] + sizes[t]); sizes never grow.
struct Steps {
  std::vector<int64_t> sizes, starts;
};

// The fast path of run_direction, for float32 LSTM and GRU: it works on plain memory, without
// creating tensors in every step.
class PlainSteps {
 public:
  // gates: [steps * batch, all gates], the input's share of the gate sums.
  PlainSteps(Cell cell, Tensor gates, const State& initial, const Weights& w)
      : lstm_(cell == Cell::kLstm),
        batch_(initial.h.size(0)),
        n_(initial.h.size(1)),
        wide_(gates.size(1)),
        gates_(std::move(gates)),
        weight_(w.hidden),
        bias_(w.hidden_bias.defined() ? to_contiguous(w.hidden_bias) : Tensor()),
        h_(to_contiguous(initial.h)),
        c_(lstm_ ? copy_of(initial.c) : Tensor()),
        product_(Tensor::empty({batch_, wide_}, ScalarType::Float32)),
        outputs_(Tensor::empty({gates_.size(0), n_}, ScalarType::Float32)) {
    // Packing the weights takes as long as it saves in some thirty products with one row.
    if (gates_.size(0) == batch_ || gates_.size(0) < 32) return;
    const auto& gemm = kernels::kernels().gemm<float>();
    packed_ = Tensor::empty({gemm.packed_size(n_, wide_)}, ScalarType::Float32);
    gemm.pack(n_, wide_, weight_.data<float>(), weight_.stride(1), weight_.stride(0),
              packed_.data<float>());
  }

  static bool fit(Cell cell, const Tensor& gates, const Steps& steps, const State& initial,
                  const Weights& w) {
    if (cell != Cell::kLstm && cell != Cell::kGru) return false;
    if (w.quantized || w.projection.defined() || initial.h.dim() != 2) return false;
    const int64_t batch = initial.h.size(0), n = initial.h.size(1);
    const int64_t wide = n * (cell == Cell::kLstm ? 4 : 3);
    auto is = [](const Tensor& t, std::vector<int64_t> sizes) {
      return t.dtype() == ScalarType::Float32 && t.sizes() == IntSpan(sizes);
    };
    return batch > 0 && n > 0 && steps.sizes.front() == batch && steps.sizes.back() == batch &&
           is(gates, {int64_t(steps.sizes.size()) * batch, wide}) && gates.is_contiguous() &&
           is(initial.h, {batch, n}) && is(w.hidden, {wide, n}) &&
           (!w.hidden_bias.defined() || is(w.hidden_bias, {wide})) &&
           (cell != Cell::kLstm || is(initial.c, {batch, n}));
  }

  Tensor run(bool reverse, State* last) {
    const int64_t count = gates_.size(0) / batch_;
    const float* h = h_.data<float>();
    for (int64_t i = 0; i < count; ++i) h = step(h, reverse ? count - 1 - i : i, i % 2 != 0);
    *last = {copy_of(h_), c_};
    std::memcpy(last->h.data<float>(), h, size_t(batch_ * n_) * sizeof(float));
    return outputs_;
  }

 private:
  // Computes step t from the state h; returns the next state.
  const float* step(const float* h, int64_t t, bool last_panel_first) {
    kernels::Gemm<float> g;
    g.m = batch_;
    g.n = wide_;
    g.k = n_;
    g.a = h;
    g.a_row = n_;
    g.b = weight_.data<float>();
    g.b_row = weight_.stride(1);
    g.b_column = weight_.stride(0);
    if (packed_.defined()) g.packed_b = packed_.data<float>();
    g.last_panel_first = last_panel_first;
    g.c = product_.data<float>();
    g.c_row = wide_;
    if (bias_.defined()) {
      g.start = kernels::Start::kColumnBias;
      g.bias = bias_.data<float>();
    }
    kernels::kernels().gemm<float>().multiply(g);
    const float* gates = gates_.data<float>() + t * batch_ * wide_;
    float* next = outputs_.data<float>() + t * batch_ * n_;
    if (lstm_) {
      for (int64_t i = 0; i < batch_ * wide_; ++i) g.c[i] += gates[i];
    }
    for (int64_t b = 0; b < batch_; ++b) {
      float *row = g.c + b * wide_, *to = next + b * n_;
      float* c = lstm_ ? c_.data<float>() + b * n_ : nullptr;
      if (lstm_) Rows<float>::lstm_cell(n_, row, c, c, to);
      else Rows<float>::gru_cell(n_, gates + b * wide_, row, h + b * n_, to);
    }
    return next;
  }

  bool lstm_;
  int64_t batch_, n_, wide_;
  Tensor gates_, weight_, bias_, h_, c_, product_, outputs_, packed_;
};

// Runs one direction over all steps. `x` holds the rows of all steps; the result has the same rows.
// The final state of each sequence is that of its own last step.
Tensor run_direction(Cell cell, const Tensor& x, const Steps& steps, const State& initial,
                     const Weights& w, bool reverse, State* last) {
  int64_t count = int64_t(steps.sizes.size());
  Tensor gates = w.from_input(x);
  if (PlainSteps::fit(cell, gates, steps, initial, w)) {
    return PlainSteps(cell, gates, initial, w).run(reverse, last);
  }
  std::vector<Tensor> outputs;
  outputs.resize(as_size(count));
  std::vector<Tensor> ended_h, ended_c;  // states of ended sequences, shortest first
  bool packed = steps.sizes.front() != steps.sizes.back();
  State state = initial;
  auto rows = [](const Tensor& t, int64_t first, int64_t last_row) {
    return t.defined() ? view_slice(t, 0, first, last_row) : t;
  };
  if (reverse && packed)
    state = {rows(initial.h, 0, steps.sizes.back()), rows(initial.c, 0, steps.sizes.back())};
  int64_t alive = reverse ? steps.sizes.back() : steps.sizes.front();
  for (int64_t i = 0; i < count; ++i) {
    int64_t t = reverse ? count - 1 - i : i;
    int64_t size = steps.sizes[size_t(t)], start = steps.starts[size_t(t)];
    if (size < alive) {  // forward: some sequences have ended
      ended_h.push_back(rows(state.h, size, alive));
      if (state.c.defined()) ended_c.push_back(rows(state.c, size, alive));
      state = {rows(state.h, 0, size), rows(state.c, 0, size)};
    } else if (size > alive) {  // backward: shorter sequences begin
      state.h = cat({state.h, rows(initial.h, alive, size)}, 0);
      if (state.c.defined()) { state.c = cat({state.c, rows(initial.c, alive, size)}, 0); }
    }
    alive = size;
    state = step(cell, view_slice(gates, 0, start, start + size), state, w);
    outputs[size_t(t)] = state.h;
  }
  *last = state;
  if (!ended_h.empty()) {
    std::reverse(ended_h.begin(), ended_h.end());
    std::reverse(ended_c.begin(), ended_c.end());
    ended_h.insert(ended_h.begin(), state.h);
    last->h = cat(ended_h, 0);
    if (state.c.defined()) {
      ended_c.insert(ended_c.begin(), state.c);
      last->c = cat(ended_c, 0);
    }
  }
  return cat(outputs, 0);
}

struct Layers {
  Cell cell;
  bool has_biases, bidirectional;
  int64_t count;
  double dropout;  // between layers
  Generator* generator;
};

// Unpacks one direction of a quantized layer: ("quantized_dynamic", [biases], [], [reduce_range],
// [packed weights]), or the same with "quantized_fp16".
Weights read_quantized(const Value& params) {
  const Tuple::Items& state = state_of(params, kCellParams);
  SL_CHECK(state.size() == 5, "the weights of a recurrent layer are malformed");
  std::vector<Value> weights = items_of(state[4]);
  SL_CHECK(weights.size() == 2, "the weights of a recurrent layer are malformed");
  std::vector<Value> biases = items_of(state[1]), flags = items_of(state[3]);
  LinearWeights input = linear_weights(weights[0]);
  LinearWeights hidden = linear_weights(weights[1]);
  Weights w;
  w.quantized = true;
  w.reduce_range = !flags.empty() && Scalar::of(flags[0]).to_bool();
  w.input = input.weight;
  w.hidden = hidden.weight;
  bool own = biases.size() == 2 && state[0].as_string() != "quantized_fp16";
  w.input_bias = own ? biases[0].as_tensor() : input.bias;
  w.hidden_bias = own ? biases[1].as_tensor() : hidden.bias;
  return w;
}

std::vector<Weights> read_weights(const Layers& layers, const Value& list, bool projected) {
  std::vector<Weights> weights;
  size_t cells = size_t(layers.count) * (layers.bidirectional ? 2 : 1);
  std::vector<Value> items = items_of(list);
  if (!items.empty() && items[0].is_object()) {
    SL_CHECK(items.size() == cells, "rnn: expected ", cells, " quantized weights for ",
             layers.count, " layers, but got ", items.size());
    for (const Value& params : items) weights.push_back(read_quantized(params));
    return weights;
  }
  std::vector<Tensor> params;
  for (const Value& item : items) params.push_back(item.as_tensor());
  size_t each = size_t(2 + 2 * layers.has_biases + projected);
  bool sane = layers.count > 0 && layers.count <= int64_t(params.size());
  SL_CHECK(sane && params.size() == cells * each, "rnn: expected ", cells * each,
           " parameters for ", layers.count, " layers, but got ", params.size());
  for (size_t i = 0; i < cells; ++i) {
    const Tensor* p = params.data() + i * each;
    Weights w;
    w.input = p[0];
    w.hidden = p[1];
    if (layers.has_biases) {
      w.input_bias = p[2];
      w.hidden_bias = p[3];
    }
    if (projected) w.projection = p[each - 1];
    weights.push_back(w);
  }
  return weights;
}

// Runs all layers. x: the rows of all steps; states: [layers * directions, batch, hidden].
Tensor run_layers(const Layers& layers, Tensor x, const Steps& steps, const State& initial,
                  const std::vector<Weights>& weights, State* last) {
  int64_t directions = layers.bidirectional ? 2 : 1;
  SL_CHECK(initial.h.dim() == 3 && initial.h.size(0) == int64_t(weights.size()),
           "rnn: Expected hidden of ", weights.size(), " layers, got ",
           to_string(initial.h.sizes()));
  SL_CHECK(!initial.c.defined() || (initial.c.dim() == 3 && initial.c.size(0) == initial.h.size(0)),
           "rnn: Expected cell state of ", weights.size(), " layers");
  SL_CHECK(initial.h.size(1) == steps.sizes.front(), "rnn: Expected hidden batch size ",
           steps.sizes.front(), ", got ", initial.h.size(1));
  std::vector<Tensor> h, c;
  for (int64_t layer = 0; layer < layers.count; ++layer) {
    std::vector<Tensor> sides;
    for (int64_t d = 0; d < directions; ++d) {
      int64_t i = layer * directions + d;
      State start{view_select(initial.h, 0, i),
                  initial.c.defined() ? view_select(initial.c, 0, i) : Tensor()};
      State end;
      sides.push_back(
          run_direction(layers.cell, x, steps, start, weights[size_t(i)], d == 1, &end));
      h.push_back(view_unsqueeze(end.h, 0));
      if (end.c.defined()) c.push_back(view_unsqueeze(end.c, 0));
    }
    x = directions == 2 ? cat(sides, 1) : sides[0];
    if (layers.dropout != 0 && layer + 1 < layers.count) {
      x = express::mul(x, dropout_noise(x.sizes(), x.dtype(), layers.dropout, *layers.generator));
    }
  }
  last->h = cat(h, 0);
  if (!c.empty()) last->c = cat(c, 0);
  return x;
}

// Reads arguments from `first` on: params, has_biases, num_layers, dropout, train, bidirectional.
Layers read_layers(Context& ctx, Cell cell, Args args, int first) {
  double dropout = args.boolean(first + 4) ? args.number(first + 3) : 0.0;
  return {cell,
          args.boolean(first + 1),
          args.boolean(first + 5),
          args.integer(first + 2),
          dropout,
          ctx.generator};
}

// lstm.input, gru.input...: args from `first` on are params, has_biases, num_layers, dropout,
// train, bidirectional, batch_first.
Tensor run_padded(Context& ctx, Cell cell, Tensor x, const State& initial, Args args, int first,
                  State* last) {
  Layers layers = read_layers(ctx, cell, args, first);
  bool batch_first = args.boolean(first + 6);
  SL_CHECK(x.dim() == 3, "rnn: Expected input to be 3D, got ", x.dim(), "D instead");
  if (batch_first) x = view_transpose(x, 0, 1);
  int64_t count = x.size(0), batch = x.size(1);
  SL_CHECK(count > 0, "Expected sequence length to be larger than 0 in RNN");
  Steps steps;
  for (int64_t t = 0; t < count; ++t) {
    steps.sizes.push_back(batch);
    steps.starts.push_back(t * batch);
  }
  bool projected = cell == Cell::kLstm &&
                   initial.h.size(initial.h.dim() - 1) != initial.c.size(initial.c.dim() - 1);
  std::vector<Weights> weights = read_weights(layers, args[first], projected);
  Tensor rows = reshape(x, {count * batch, x.size(2)});
  Tensor y = run_layers(layers, rows, steps, initial, weights, last);
  y = view_as_shape(y, {count, batch, y.size(1)});
  return batch_first ? view_transpose(y, 0, 1) : y;
}

// lstm.data...: params, has_biases, num_layers, dropout, train, bidirectional.
Tensor run_packed(Context& ctx, Cell cell, const Tensor& x, const Tensor& batch_sizes,
                  const State& initial, Args args, int first, State* last) {
  Layers layers = read_layers(ctx, cell, args, first);
  SL_CHECK(x.dim() == 2, "rnn: Expected packed input to be 2D, got ", x.dim(), "D instead");
  SL_CHECK(batch_sizes.dim() == 1 && batch_sizes.numel() > 0,
           "rnn: batch_sizes should be a vector of at least one element");
  Tensor sizes = contiguous_as(batch_sizes, ScalarType::Int64);
  Steps steps;
  int64_t start = 0, previous = -1;
  for (int64_t i = 0; i < sizes.numel(); ++i) {
    int64_t size = sizes.data<int64_t>()[i];
    SL_CHECK(size > 0 && (previous < 0 || size <= previous) && size <= x.size(0) - start,
             "rnn: batch_sizes must be positive, must not grow and must add up to the ", x.size(0),
             " rows of the packed data");
    steps.sizes.push_back(size);
    steps.starts.push_back(start);
    start += size;
    previous = size;
  }
  SL_CHECK(start == x.size(0), "rnn: batch_sizes add up to ", start, ", but there are ", x.size(0),
           " rows of packed data");
  bool projected = cell == Cell::kLstm &&
                   initial.h.size(initial.h.dim() - 1) != initial.c.size(initial.c.dim() - 1);
  std::vector<Weights> weights = read_weights(layers, args[first], projected);
  return run_layers(layers, to_contiguous(x), steps, initial, weights, last);
}

State two_states(Tensors hx, const char* name) {
  SL_CHECK(hx.size() == 2, name, " expects two hidden states");
  SL_CHECK(hx[0].dim() > 0 && hx[1].dim() > 0, name, " expects hidden states with dimensions");
  return {hx[0], hx[1]};
}

void simple_layers(Context& ctx, Cell cell, Args args, Value* out, bool packed) {
  State last;
  if (packed) {
    out[0] = run_packed(ctx, cell, args.tensor(0), args.tensor(1), {args.tensor(2), Tensor()}, args,
                        3, &last);
  } else {
    out[0] = run_padded(ctx, cell, args.tensor(0), {args.tensor(1), Tensor()}, args, 2, &last);
  }
  out[1] = last.h;
}

Weights cell_weights(Args args) {
  Weights w;
  w.input = args.tensor(2);
  w.hidden = args.tensor(3);
  w.input_bias = args.opt_tensor(4);
  w.hidden_bias = args.opt_tensor(5);
  return w;
}

// For quantized_lstm_cell_dynamic and the like: the biases are those in the packed weights.
Weights quantized_cell_weights(Args args) {
  LinearWeights input = linear_weights(args[2]), hidden = linear_weights(args[3]);
  Weights w;
  w.quantized = w.reduce_range = true;
  w.input = input.weight;
  w.hidden = hidden.weight;
  w.input_bias = input.bias;
  w.hidden_bias = hidden.bias;
  return w;
}

void check_cell(const Tensor& x, const State& state, const Weights& w) {
  SL_CHECK(x.size(x.dim() - 1) == w.input.size(1), "input has inconsistent input_size: got ",
           x.size(x.dim() - 1), " expected ", w.input.size(1));
  for (const Tensor* t : {&state.h, &state.c}) {
    if (!t->defined() || t->dim() != x.dim()) continue;
    int label = t == &state.c;
    SL_CHECK(x.dim() == 1 || x.size(0) == t->size(0), "Input batch size ", x.size(0),
             " doesn't match hidden", label, " batch size ", t->size(0));
    SL_CHECK(t->size(t->dim() - 1) == w.hidden.size(1), "hidden", label,
             " has inconsistent hidden_size: got ", t->size(t->dim() - 1), ", expected ",
             w.hidden.size(1));
  }
}

// Runs one step of a cell; the batch dimension may be missing.
State run_cell(Cell cell, const Tensor& x, const State& state, const Weights& w) {
  if (x.dim() > 0) check_cell(x, state, w);
  if (x.dim() != 1) return step(cell, w.from_input(x), state, w);
  auto batched = [](const Tensor& t) {
    return t.defined() && t.dim() == 1 ? view_unsqueeze(t, 0) : t;
  };
  State next = step(cell, w.from_input(batched(x)), {batched(state.h), batched(state.c)}, w);
  return {view_squeeze(next.h, {0}), next.c.defined() ? view_squeeze(next.c, {0}) : next.c};
}

}  // namespace

SL_OP(aten_lstm_input) {
  State last;
  out[0] = run_padded(ctx, Cell::kLstm, args.tensor(0), two_states(tensors_of(args, 1), "lstm"),
                      args, 2, &last);
  out[1] = last.h;
  out[2] = last.c;
}
SL_OP(aten_lstm_data) {
  State last;
  out[0] = run_packed(ctx, Cell::kLstm, args.tensor(0), args.tensor(1),
                      two_states(args.tensors(2), "lstm"), args, 3, &last);
  out[1] = last.h;
  out[2] = last.c;
}
SL_OP(aten_gru_input) { simple_layers(ctx, Cell::kGru, args, out, false); }
SL_OP(aten_gru_data) { simple_layers(ctx, Cell::kGru, args, out, true); }
SL_OP(aten_rnn_tanh_input) { simple_layers(ctx, Cell::kTanh, args, out, false); }
SL_OP(aten_rnn_tanh_data) { simple_layers(ctx, Cell::kTanh, args, out, true); }
SL_OP(aten_rnn_relu_input) { simple_layers(ctx, Cell::kRelu, args, out, false); }
SL_OP(aten_rnn_relu_data) { simple_layers(ctx, Cell::kRelu, args, out, true); }
SL_OP(aten_lstm_cell) {
  State next = run_cell(Cell::kLstm, args.tensor(0), two_states(tensors_of(args, 1), "lstm_cell"),
                        cell_weights(args));
  out[0] = next.h;
  out[1] = next.c;
}
SL_OP(aten_gru_cell) {
  out[0] = run_cell(Cell::kGru, args.tensor(0), {args.tensor(1), Tensor()}, cell_weights(args)).h;
}
SL_OP(aten_rnn_tanh_cell) {
  out[0] = run_cell(Cell::kTanh, args.tensor(0), {args.tensor(1), Tensor()}, cell_weights(args)).h;
}
SL_OP(aten_rnn_relu_cell) {
  out[0] = run_cell(Cell::kRelu, args.tensor(0), {args.tensor(1), Tensor()}, cell_weights(args)).h;
}

// ---- quantized weights

SL_OP(aten_quantized_lstm_input) { op_aten_lstm_input(ctx, args, out); }
SL_OP(aten_quantized_lstm_data) { op_aten_lstm_data(ctx, args, out); }
SL_OP(aten_quantized_gru_input) { op_aten_gru_input(ctx, args, out); }
SL_OP(aten_quantized_gru_data) { op_aten_gru_data(ctx, args, out); }
SL_OP(quantized_quantized_lstm_cell_dynamic) {
  State next = run_cell(Cell::kLstm, args.tensor(0),
                        two_states(args.tensors(1), "quantized_lstm_cell_dynamic"),
                        quantized_cell_weights(args));
  out[0] = next.h;
  out[1] = next.c;
}
#define SL_CELL(name, cell)                                                   \
  SL_OP(quantized_quantized_##name##_cell_dynamic) {                          \
    out[0] = run_cell(Cell::cell, args.tensor(0), {args.tensor(1), Tensor()}, \
                      quantized_cell_weights(args))                           \
                 .h;                                                          \
  }
SL_CELL(gru, kGru)
SL_CELL(rnn_relu, kRelu)
SL_CELL(rnn_tanh, kTanh)
#undef SL_CELL

}  // namespace scriptlang
