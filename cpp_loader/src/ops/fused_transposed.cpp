// The optimiser's transposed convolution, weights packed ahead.
//
// With stride s a result row h gets something only from the taps k for which h + padding - k is a
// multiple of s. So the result falls into s x s interleaved images, each an ordinary
// convolution of stride 1 with the taps of its phase, turned round: nothing is scattered and
// nothing multiplied by zero.
#include <algorithm>

#include "fused.h"

namespace scriptlang {

void op_aten_conv_transpose2d_input(Context& ctx, Args args, Value* out);

using kernels::Activation;
using kernels::ConvShape;
using kernels::ConvWay;
using kernels::LastConv;

namespace {

// One dimension of the whole operator.
struct Axis {
  int64_t in, out, kernel, stride, padding;
};

// One phase of a dimension: results first, first + stride, ... are a convolution with `taps` taps
// whose first result's first tap lies at `from` (which may be outside) of the input.
struct Phase {
  int64_t first, count, taps, from;

  Phase(const Axis& a, int64_t phase) {
    taps = (a.kernel - phase + a.stride - 1) / a.stride;
    int64_t step = a.padding > phase ? (a.padding - phase + a.stride - 1) / a.stride : 0;
    first = a.stride * step + phase - a.padding;
    count = first < a.out ? (a.out - 1 - first) / a.stride + 1 : 0;
    from = step - (taps - 1);
  }
};

struct Transposed {
  Axis axes[2];
  int64_t channels, outputs;
};

constexpr int64_t kLimit = 1 << 20;

// What is done here; everything else takes the way of aten::conv_transpose2d.
bool settle(Args args, Transposed* t, std::vector<int64_t>* sizes) {
  const Tensor &x = args.tensor(0), &w = args.tensor(1), &bias = args.opt_tensor(2);
  if (x.dim() != 4 || w.dim() != 4 || !is_float(x) || !is_float(w)) return false;
  if (args.integer(6) != 1 || x.size(1) != w.size(0) || w.numel() == 0 || !is_whole(w)) return false;
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

// Calls f(shape, down, across, i, j) for every phase (i, j).
template <class F>
void for_each_phase(const Transposed& t, F f) {
  for (int64_t i = 0; i < t.axes[0].stride; ++i)
    for (int64_t j = 0; j < t.axes[1].stride; ++j) {
      Phase down(t.axes[0], i), across(t.axes[1], j);
      f(shape_of(t, down, across), down, across, i, j);
    }
}

// The taps of a phase as an ordinary convolution has them: [outputs][channels][taps], turned.
void gather_taps(const Transposed& t, const Tensor& w, const Phase& down, const Phase& across,
                 int64_t i, int64_t j, float* to) {
  const float* from = w.data<float>();
  for (int64_t o = 0; o < t.outputs; ++o)
    for (int64_t c = 0; c < t.channels; ++c)
      for (int64_t h = down.taps; h-- > 0;)
        for (int64_t v = across.taps; v-- > 0;) {
          *to++ = from[c * w.stride(0) + o * w.stride(1) +
                       (i + h * t.axes[0].stride) * w.stride(2) +
                       (j + v * t.axes[1].stride) * w.stride(3)];
        }
}

// All phases one after the other.
const float* packed_phases(const Transposed& t, const Tensor& w) {
  const auto& functions = *kernels::kernels().last_conv;
  Prepared::Key key(w, kTransposedWeight);
  key.details[0] = t.axes[0].stride;
  key.details[1] = t.axes[1].stride;
  int64_t count = 0;
  for_each_phase(t, [&](const ConvShape& s, const Phase&, const Phase&, int64_t, int64_t) {
    count += functions.packed_size(s, 1, ConvWay::kDirect);
  });
  return Prepared::get(w.storage(), key, count, [&](float* to) {
    std::vector<float> taps(size_t(w.numel()));
    for_each_phase(t, [&](const ConvShape& s, const Phase& down, const Phase& across, int64_t i,
                          int64_t j) {
      gather_taps(t, w, down, across, i, j, taps.data());
      functions.pack(s, 1, ConvWay::kDirect, taps.data(), to);
      to += functions.packed_size(s, 1, ConvWay::kDirect);
    });
  });
}

// The result, channels last.
Tensor run(Args args, const Transposed& t, IntSpan sizes, Activation activation) {
  const Tensor &x = args.tensor(0), &w = args.tensor(1), &bias = args.opt_tensor(2);
  const auto& functions = *kernels::kernels().last_conv;
  checked_numel(sizes);
  int64_t width = t.axes[1].out, image = t.outputs * t.axes[0].out * width;
  Tensor y = Tensor::empty(sizes, ScalarType::Float32);
  if (y.numel() == 0) return y;
  y.impl()->set_geometry(sizes, {image, 1, t.outputs * width, t.outputs});
  Tensor row = bias.defined() ? to_contiguous(bias) : bias;
  const float* packed = packed_phases(t, w);
  LastConv c;
  c.x_channel = x.stride(1);
  c.x_row = x.stride(2);
  c.x_column = x.stride(3);
  c.bias = row.defined() ? row.data<float>() : nullptr;
  c.activation = activation;
  c.y_row = t.axes[0].stride * width * t.outputs;
  c.y_column = t.axes[1].stride * t.outputs;
  for_each_phase(t, [&](const ConvShape& s, const Phase& down, const Phase& across, int64_t,
                        int64_t) {
    c.shape = s;
    c.packed = packed;
    packed += functions.packed_size(s, 1, ConvWay::kDirect);
    int64_t frame = (s.out[1] + s.kernel[1]) * (s.out[2] + s.kernel[2]) * t.channels;
    Charged working(frame * int64_t(sizeof(float)));
    int64_t begin = std::max<int64_t>(down.from, 0) * c.x_row +
                    std::max<int64_t>(across.from, 0) * c.x_column;
    for (int64_t i = 0; i < sizes[0]; ++i) {
      c.x = x.data<float>() + i * x.stride(0) + begin;
      c.y = y.data<float>() + i * image + (down.first * width + across.first) * t.outputs;
      functions.convolve(c);
    }
  });
  return y;
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
