// The optimiser's transposed convolution, with weights packed in advance.
//
// It is a convolution for each phase of the result (phases.h). With few output channels, the
// vectors of such convolutions would be nearly empty; then one product computes what each input
// pixel adds to the square of result pixels around it.
#include <algorithm>
#include <cmath>

#include "../../kernels/parallel.h"
#include "fused.h"
#include "phases.h"
#include "values/raw_view.h"

namespace scriptlang {

void op_aten_conv_transpose2d_input(Context& ctx, Args args, Value* out);

using convolutions::Axis;
using convolutions::Phase;
using kernels::Activation;
using kernels::ConvShape;
using kernels::ConvWay;
using kernels::LastConv;

namespace {

struct Transposed {
  Axis axes[2];
  int64_t channels, outputs;
};

constexpr int64_t kLimit = 1 << 20;
constexpr int64_t kWorthThreads = 100'000;  // multiplications

// Whether the fast path applies; everything else is left to aten::conv_transpose2d.
bool settle(Args args, Transposed* t, std::vector<int64_t>* sizes) {
  const Tensor &x = args.tensor(0), &w = args.tensor(1), &bias = args.opt_tensor(2);
  if (x.dim() != 4 || w.dim() != 4 || !is_float(x) || !is_float(w)) return false;
  if (args.integer(6) != 1 || x.size(1) != w.size(0)) return false;
  if (w.numel() == 0 || !is_whole(w)) return false;
  if (bias.defined() && (bias.dim() != 1 || bias.size(0) != w.size(1) || !is_float(bias))) {
    return false;
  }
  t->channels = w.size(0);
  t->outputs = w.size(1);
  *sizes = {x.size(0), w.size(1)};
  Ints stride = args.ints(3, 2), padding = args.ints(4, 2), more = args.ints(5, 2),
       dilation = args.ints(7, 2);
  if (stride.size() != 2 || padding.size() != 2 || more.size() != 2 || dilation.size() != 2) {
    return false;
  }
  for (int64_t i = 0; i < 2; ++i) {
    Axis& a = t->axes[i];
    a = {x.size(i + 2), 0, w.size(i + 2), stride[i], padding[i]};
    if (dilation[i] != 1 || a.stride < 1 || a.stride > a.kernel || a.kernel >= kLimit) return false;
    if (a.padding < 0 || a.padding >= kLimit || a.in < 1 || a.in >= kLimit) return false;
    if (more[i] < 0 || more[i] >= a.stride) return false;
    a.out = (a.in - 1) * a.stride - 2 * a.padding + a.kernel + more[i];
    if (a.out < 1 || a.out >= kLimit) return false;
    sizes->push_back(a.out);
  }
  const Tensor& added = args.opt_tensor(8);
  return !added.defined() || (is_float(added) && added.sizes() == IntSpan(*sizes));
}

ConvShape shape_of(const Transposed& t, const Phase& down, const Phase& across) {
  ConvShape s;
  s.channels = t.channels;
  s.outputs = t.outputs;
  const Phase* phases[2] = {&down, &across};
  for (int d = 0; d < 2; ++d) {
    const Phase& p = *phases[d];
    int64_t left_out = std::max<int64_t>(p.from, 0);
    s.in[d + 1] = std::max<int64_t>(t.axes[d].in - left_out, 0);
    s.out[d + 1] = p.count;
    s.kernel[d + 1] = p.taps;
    s.stride[d + 1] = s.dilation[d + 1] = 1;
    s.padding[d + 1] = std::max<int64_t>(-p.from, 0);
  }
  return s;
}

// One phase of the operator: an ordinary convolution.
struct Part {
  Phase down, across;
  int64_t i, j;
  ConvShape shape;
  int64_t packed_at = 0, packed_size = 0;
};

std::vector<Part> parts_of(const Transposed& t) {
  const auto& functions = *kernels::kernels().last_conv;
  std::vector<Part> parts;
  int64_t at = 0;
  for (int64_t i = 0; i < t.axes[0].stride; ++i)
    for (int64_t j = 0; j < t.axes[1].stride; ++j) {
      Part part{Phase(t.axes[0], i), Phase(t.axes[1], j), i, j, {}};
      part.shape = shape_of(t, part.down, part.across);
      part.packed_at = at;
      part.packed_size = functions.packed_size(part.shape, 1, ConvWay::kDirect);
      at += part.packed_size;
      parts.push_back(part);
    }
  return parts;
}

// Gathers the taps of a phase for an ordinary convolution: [outputs][channels][taps], flipped.
void gather_taps(const Transposed& t, const Tensor& w, const Part& part, float* to) {
  const float* from = w.data<float>();
  for (int64_t o = 0; o < t.outputs; ++o)
    for (int64_t c = 0; c < t.channels; ++c)
      for (int64_t h = part.down.taps; h-- > 0;)
        for (int64_t v = part.across.taps; v-- > 0;) {
          *to++ = from[c * w.stride(0) + o * w.stride(1) +
                       (part.i + h * t.axes[0].stride) * w.stride(2) +
                       (part.j + v * t.axes[1].stride) * w.stride(3)];
        }
}

// The packed weights of all phases, one after the other.
const float* packed_parts(const Transposed& t, const Tensor& w, const std::vector<Part>& parts) {
  const auto& functions = *kernels::kernels().last_conv;
  Prepared::Key key(w, kTransposedWeight);
  key.details[0] = t.axes[0].stride;
  key.details[1] = t.axes[1].stride;
  int64_t count = parts.back().packed_at + parts.back().packed_size;
  return Prepared::get(w.storage(), key, count, [&](float* to) {
    std::vector<float> taps(as_size(w.numel()));
    for (const Part& part : parts) {
      gather_taps(t, w, part, taps.data());
      functions.pack(part.shape, 1, ConvWay::kDirect, taps.data(), to + part.packed_at);
    }
  });
}

// The operator's tensors, and the geometry of its channels-last result.
struct Work {
  const Transposed& t;
  const Tensor &x, &w;
  Tensor row, y;  // row: the bias, may be undefined
  Activation activation;

  int64_t images() const { return x.size(0); }
  int64_t width() const { return t.axes[1].out; }
  int64_t image() const { return t.outputs * t.axes[0].out * width(); }
  const float* bias() const { return row.defined() ? row.data<float>() : nullptr; }
};

void run_phases(const Work& work) {
  const Transposed& t = work.t;
  const Tensor& x = work.x;
  const std::vector<Part> parts = parts_of(t);
  const float* packed = packed_parts(t, work.w, parts);
  LastConv whole;
  whole.x_channel = x.stride(1);
  whole.x_row = x.stride(2);
  whole.x_column = x.stride(3);
  whole.bias = work.bias();
  whole.activation = work.activation;
  whole.y_row = t.axes[0].stride * work.width() * t.outputs;
  whole.y_column = t.axes[1].stride * t.outputs;
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const Part& part = parts[size_t(task) % parts.size()];
      const int64_t image = task / int64_t(parts.size());
      int64_t corner = std::max<int64_t>(part.down.from, 0) * whole.x_row +
                       std::max<int64_t>(part.across.from, 0) * whole.x_column;
      LastConv c = whole;
      c.shape = part.shape;
      c.packed = packed + part.packed_at;
      c.x = x.data<float>() + image * x.stride(0) + corner;
      c.y = work.y.data<float>() + image * work.image() +
            (part.down.first * work.width() + part.across.first) * t.outputs;
      kernels::kernels().last_conv->convolve(c);
    }
  };
  const ConvShape& first = parts[0].shape;
  const int64_t threads = kernels::thread_count(), tasks = work.images() * int64_t(parts.size());
  const int64_t frame = (first.out[1] + first.kernel[1]) * (first.out[2] + first.kernel[2]);
  Charged working(frame * t.channels * threads * int64_t(sizeof(float)));
  // Each thread gets whole phases, if that balances; otherwise each phase is split among threads.
  const bool big = work.y.numel() * t.channels > kWorthThreads;
  const bool fair = tasks % threads == 0 || tasks >= 4 * threads;
  kernels::parallel_for(tasks, big && fair ? 1 : tasks, run);
}

// The weights as [channels][taps][outputs], packed as the right operand of a product.
const float* packed_spread(const Transposed& t, const Tensor& w) {
  const auto& functions = kernels::kernels().gemm<float>();
  const int64_t taps = t.axes[0].kernel * t.axes[1].kernel, row = taps * t.outputs;
  return Prepared::get(w.storage(), Prepared::Key(w, kSpreadWeight),
                       functions.packed_size(t.channels, row), [&](float* to) {
                         std::vector<float> turned(as_size(w.numel()));
                         Tensor whole = to_contiguous(w);
                         const float* from = whole.data<float>();
                         for (int64_t c = 0; c < t.channels; ++c)
                           for (int64_t o = 0; o < t.outputs; ++o)
                             for (int64_t tap = 0; tap < taps; ++tap) {
                               turned[size_t((c * taps + tap) * t.outputs + o)] = *from++;
                             }
                         functions.pack(t.channels, row, turned.data(), row, 1, to);
                       });
}

// Computes row `h` of a result: the sum of what the input rows that reach it add to it.
void gather_row(const Work& work, const float* patches, int64_t h, float* y) {
  const Axis &down = work.t.axes[0], &across = work.t.axes[1];
  const int64_t outputs = work.t.outputs;
  const int64_t line = across.kernel * outputs, end = across.out * outputs;
  for (int64_t i = 0; i < end; ++i) y[i] = work.row.defined() ? work.bias()[i % outputs] : 0.0f;
  for (int64_t tap = 0; tap < down.kernel; ++tap) {
    int64_t from = h + down.padding - tap;
    if (from < 0 || from % down.stride != 0 || from / down.stride >= down.in) continue;
    const float* patch = patches + (from / down.stride * across.in * down.kernel + tap) * line;
    int64_t to = -across.padding * outputs;
    for (int64_t i = 0; i < across.in; ++i) {
      int64_t first = std::max<int64_t>(0, -to), last = std::min(line, end - to);
      for (int64_t k = first; k < last; ++k) y[to + k] += patch[k];
      patch += down.kernel * line;
      to += across.stride * outputs;
    }
  }
  if (work.activation == Activation::kNone) return;
  const float most = work.activation == Activation::kRelu6 ? 6.0f : HUGE_VALF;
  for (int64_t i = 0; i < end; ++i) y[i] = y[i] < 0.0f ? 0.0f : y[i] > most ? most : y[i];
}

// Whether this is less work than phases; the pixels of an image must be evenly spaced.
bool spreads(const Transposed& t, const Tensor& x) {
  constexpr int64_t kVector = 16, kAddition = 8;  // cost of adding a product, in multiplications
  auto filled = [](int64_t n) { return (n + kVector - 1) / kVector * kVector; };
  if (x.stride(2) != t.axes[1].in * x.stride(3)) return false;
  double taps[2], row = double(t.outputs), pixels = 1;
  for (int d = 0; d < 2; ++d) {
    const Axis& a = t.axes[d];
    taps[d] = 0;
    for (int64_t i = 0; i < a.stride; ++i) taps[d] += double(Phase(a, i).count * Phase(a, i).taps);
    row *= double(a.kernel);
    pixels *= double(a.in);
  }
  const double channels = double(t.channels);
  const double phases = taps[0] * taps[1] * channels * double(filled(t.outputs));
  return phases > 2 * pixels * (channels * double(filled(int64_t(row))) + kAddition * row);
}

void run_spread(const Work& work) {
  const Transposed& t = work.t;
  const int64_t pixels = t.axes[0].in * t.axes[1].in;
  const int64_t row = t.axes[0].kernel * t.axes[1].kernel * t.outputs;
  const float* packed = packed_spread(t, work.w);
  Tensor patches = Tensor::empty({pixels, row}, ScalarType::Float32);
  kernels::Gemm<float> g;
  g.m = pixels;
  g.n = g.c_row = row;
  g.k = t.channels;
  g.a_row = work.x.stride(3);
  g.a_column = work.x.stride(1);
  g.packed_b = packed;
  g.c = patches.data<float>();
  const int64_t rows = t.axes[0].out, line = work.width() * t.outputs;
  for (int64_t image = 0; image < work.images(); ++image) {
    g.a = work.x.data<float>() + image * work.x.stride(0);
    kernels::kernels().gemm<float>().multiply(g);
    float* y = work.y.data<float>() + image * work.image();
    kernels::parallel_for(rows, 4096 / line + 1, [&](int64_t begin, int64_t end) {
      for (int64_t h = begin; h < end; ++h) gather_row(work, g.c, h, y + h * line);
    });
  }
}

Tensor run(Args args, const Transposed& t, IntSpan sizes, Activation activation) {
  const Tensor& bias = args.opt_tensor(2);
  checked_numel(sizes);
  Work work{t,
            args.tensor(0),
            args.tensor(1),
            bias.defined() ? to_contiguous(bias) : bias,
            Tensor::empty(sizes, ScalarType::Float32),
            activation};
  const int64_t width = work.width();
  if (work.y.numel() == 0) return work.y;
  lay(work.y, {work.image(), 1, t.outputs * width, t.outputs});
  if (spreads(t, work.x)) run_spread(work);
  else run_phases(work);
  return work.y;
}

}  // namespace

SL_OP(scriptlang_conv_transpose2d) {
  const Ending& e = ending(args.string(9));
  Transposed t;
  std::vector<int64_t> sizes;
  Tensor y;
  bool adds = !args.none(8), inside = e.fused && !adds;
  if (settle(args, &t, &sizes)) {
    y = run(args, t, sizes, inside ? e.inside : Activation::kNone);
  } else {
    Value values[8] = {args[0], args[1], args[2], args[3], args[4], args[5], args[6], args[7]};
    Value result;
    op_aten_conv_transpose2d_input(ctx, Args(values, 8), &result);
    y = result.as_tensor();
    inside = false;
  }
  if (adds) y = added_to(y, args.tensor(8));
  if (!inside) y = activated(y, e, false);
  out[0] = in_wanted_format(y, args.integer(10));
}

}  // namespace scriptlang
