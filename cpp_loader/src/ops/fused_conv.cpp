// The optimiser's own convolutions with packed weights, with an addition and an activation done in
// the same pass over memory; and pairs of convolutions of which the intermediate result is never
// stored as a whole, only a few rows at a time.
#include <algorithm>
#include <cstring>

#include "../../kernels/caches.h"
#include "../../kernels/parallel.h"
#include "../../kernels/scratch.h"
#include "conv.h"
#include "fused.h"
#include "linalg.h"
#include "values/raw_view.h"
#include "view.h"

namespace scriptlang {

void op_aten_conv2d(Context& ctx, Args args, Value* out);

using kernels::ConvShape;
using kernels::ConvWay;
using kernels::LastConv;

namespace {

// A convolution that the kernel can compute. `args` are those of scriptlang::conv2d.
struct Layer {
  ConvShape shape;
  int64_t groups = 1;
  Sizes sizes;  // of the result

  // Sets the members; false where aten::conv2d is to be used instead, which also reports wrong
  // arguments.
  bool settle(IntSpan x, Args args);
  // The kernel's arguments except for the memory of the images. *bias keeps the bias tensor alive.
  LastConv conv(Args args, const Ending& e, Tensor* bias) const;
  ConvWay way() const { return kernels::kernels().last_conv->choose(shape, groups); }
  int64_t image() const { return sizes[1] * shape.out_pixels(); }  // elements
};

bool Layer::settle(IntSpan x, Args args) {
  const Tensor &w = args.tensor(1), &bias = args.opt_tensor(2), &added = args.opt_tensor(7);
  groups = args.integer(6);
  if (x.size != 4 || w.dim() != 4 || !is_float(w) || groups < 1) return false;
  if (w.size(0) < groups || w.size(0) % groups || x[1] != w.size(1) * groups) return false;
  if (bias.defined() && (bias.dim() != 1 || bias.size(0) != w.size(0) || !is_float(bias))) {
    return false;
  }
  ConvShape* s = &shape;
  s->channels = w.size(1);
  s->outputs = w.size(0) / groups;
  sizes = {x[0], w.size(0)};
  Ints settings[3] = {args.ints(3, 2), args.ints(4, 2), args.ints(5, 2)};
  constexpr int64_t kLimit = 1 << 20;
  int64_t framed = x[1];
  for (int64_t i = 0; i < 2; ++i) {
    for (const Ints& v : settings) {
      if (v.size() != 2 || v[i] < 0 || v[i] >= kLimit) return false;
    }
    int64_t d = i + 1, in = x[i + 2], k = w.size(i + 2);
    s->in[d] = in;
    s->kernel[d] = k;
    s->stride[d] = settings[0][i];
    s->padding[d] = settings[1][i];
    s->dilation[d] = settings[2][i];
    if (k < 1 || k >= kLimit || in >= kLimit) return false;
    if (s->stride[d] < 1 || s->dilation[d] < 1) return false;
    int64_t room = in + 2 * s->padding[d] - s->dilation[d] * (k - 1) - 1;
    if (room < 0 || __builtin_mul_overflow(framed, in + 2 * s->padding[d], &framed)) return false;
    s->out[d] = room / s->stride[d] + 1;
    sizes.push_back(s->out[d]);
  }
  if (framed >= int64_t(1) << 40 || w.numel() == 0 || !is_whole(w)) return false;
  return !added.defined() || (is_float(added) && added.sizes() == IntSpan(sizes));
}

const float* packed_conv(const Tensor& w, const ConvShape& s, int64_t groups, ConvWay way) {
  const auto& functions = *kernels::kernels().last_conv;
  Prepared::Key key(w, kConvWeight);
  key.details[0] = int64_t(way);
  key.details[1] = groups;
  return Prepared::get(w.storage(), key, functions.packed_size(s, groups, way), [&](float* to) {
    functions.pack(s, groups, way, contiguous_as(w, ScalarType::Float32).data<float>(), to);
  });
}

LastConv Layer::conv(Args args, const Ending& e, Tensor* bias) const {
  LastConv c;
  c.shape = shape;
  c.groups = groups;
  c.way = way();
  c.packed = packed_conv(args.tensor(1), shape, groups, c.way);
  if (!args.none(2)) *bias = to_contiguous(args.tensor(2));
  c.bias = bias->defined() ? bias->data<float>() : nullptr;
  c.activation = e.inside;
  c.finish = finish_of(e);
  return c;
}

void read_from(LastConv* c, const Tensor& x) {
  c->x_channel = x.stride(1);
  c->x_row = x.stride(2);
  c->x_column = x.stride(3);
}

// An uninitialised channels-last result; with one channel its strides are those of a contiguous
// tensor.
Tensor empty_last(const Layer& layer) {
  checked_numel(layer.sizes);
  Tensor y = Tensor::empty(layer.sizes, ScalarType::Float32);
  const int64_t pixel = layer.sizes[1], row = pixel * layer.shape.out[2];
  if (y.numel() && pixel > 1) lay(y, {layer.image(), 1, row, pixel});
  return y;
}

// Computes the convolution; the result is channels last.
Tensor convolve_last(Args args, const Layer& layer, const Ending& e) {
  const Tensor& x = args.tensor(0);
  Tensor y = empty_last(layer), bias;
  if (y.numel() == 0) return y;
  Tensor added = args.none(7) ? Tensor() : in_last(args.tensor(7));
  LastConv c = layer.conv(args, e, &bias);
  read_from(&c, x);
  int64_t frame = x.size(1);
  for (int d = 1; d < 3; ++d) frame *= layer.shape.in[d] + 2 * layer.shape.padding[d];
  Charged working(frame * int64_t(sizeof(float)));
  for (int64_t i = 0; i < x.size(0); ++i) {
    c.x = x.data<float>() + i * x.stride(0);
    c.added = added.defined() ? added.data<float>() + i * layer.image() : nullptr;
    c.y = y.data<float>() + i * layer.image();
    kernels::kernels().last_conv->convolve(c);
  }
  return y;
}

// A 1x1 convolution (the expansion) followed by a depthwise one (`last`), for a part of the
// channels. Only the rows of the expansion that the next rows of the result need are kept; new ones
// replace those no longer needed.
class Bands {
 public:
  // For the channels [first, end), where `first` is a multiple of the kernels' panel.
  Bands(const LastConv& expansion, const LastConv& last, int64_t first, int64_t end)
      : expansion_(expansion),
        last_(last),
        channels_(end - first),
        row_(last.shape.in[2] * channels_),
        reach_((last.shape.kernel[1] - 1) * last.shape.dilation[1] + 1),
        height_(std::max<int64_t>(
            1, (kernels::second_cache_block(kBytes) / (row_ * int64_t(sizeof(float))) - reach_) /
                   last.shape.stride[1])) {
    height_ = std::min(height_, last.shape.out[1]);
    LastConv& e = expansion_;
    e.shape.outputs = first;
    e.packed += kernels::kernels().last_conv->packed_size(e.shape, 1, e.way);
    e.shape.outputs = channels_;
    if (e.bias) e.bias += first;
    last_.first = first;
    last_.last = end;
  }
  int64_t height() const { return height_; }  // result rows computed at a time
  int64_t bytes() const {
    const int64_t rows = (height_ - 1) * last_.shape.stride[1] + reach_;
    return std::min(rows, last_.shape.in[1]) * row_ * int64_t(sizeof(float));
  }

  // Computes rows [top, bottom) of the result.
  void convolve(int64_t top, int64_t bottom) const {
    kernels::Scratch space{size_t(bytes())};
    float* rows = space.as<float>();
    const ConvShape& s = last_.shape;
    const auto convolve = kernels::kernels().last_conv->convolve;
    int64_t have_from = 0, have_to = 0;
    for (int64_t from = top, to; from < bottom; from = to) {
      to = std::min(bottom, from + height_);
      const int64_t above = from * s.stride[1] - s.padding[1];
      const int64_t first = std::min(std::max<int64_t>(0, above), s.in[1]);
      const int64_t end = std::min((to - 1) * s.stride[1] - s.padding[1] + reach_, s.in[1]);
      if (have_to > first) {
        std::memmove(rows, rows + (first - have_from) * row_,
                     size_t((have_to - first) * row_) * sizeof(float));
      }
      have_from = first;
      have_to = std::max(have_to, first);
      if (end > have_to) {
        LastConv e = expansion_;
        e.x += have_to * e.x_row;
        e.y = rows + (have_to - first) * row_;
        e.shape.in[1] = e.shape.out[1] = end - have_to;
        convolve(e);
        have_to = end;
      }
      LastConv c = last_;
      const int64_t at = from * s.out[2] * c.groups;
      c.x = rows;
      c.x_row = row_;
      c.x_column = channels_;
      c.y += at;
      c.added = c.added ? c.added + at : nullptr;
      c.shape.in[1] = have_to - first;
      c.shape.padding[1] = first - above;
      c.shape.out[1] = to - from;
      convolve(c);
    }
  }

 private:
  static constexpr int64_t kBytes = 256 << 10;  // of an L2 cache, which also holds the result
  LastConv expansion_, last_;
  int64_t channels_, row_, reach_, height_;
};

// How often threads split the channels of such a pair; 1: they split the rows. Neighbouring ranges
// of rows both compute the rows of the expansion that lie between them; parts of the channels are
// whole panels, so one may be larger than the others.
int64_t channel_splits(const ConvShape& s, int64_t channels, int64_t threads) {
  constexpr int64_t kLeastPanels = 3;
  const int64_t panels = channels / kernels::kernels().last_conv->panel;
  const int64_t shared = (s.kernel[1] - 1) * s.dilation[1] + 1 - s.stride[1];
  // What is computed more than once, or waited for, as a share of the work: by rows, then by parts.
  double least = double(std::max<int64_t>(0, shared) * (threads - 1)) / double(s.in[1]);
  int64_t best = 1;
  for (int64_t splits : {threads, 2 * threads}) {
    if (threads == 1 || panels < kLeastPanels * splits) continue;
    const int64_t most = (panels + splits - 1) / splits * (splits / threads);
    const double share = double(most * threads) / double(panels) - 1;
    if (share > least) continue;
    best = splits;
    least = share;
  }
  return best;
}

Tensor convolve_bands(Args first, const Layer& expansion, const Ending& inner, Args second,
                      const Layer& layer, const Ending& outer) {
  const Tensor& x = first.tensor(0);
  Tensor y = empty_last(layer), bias[2];
  if (y.numel() == 0) return y;
  Tensor added = second.none(7) ? Tensor() : in_last(second.tensor(7));
  LastConv e = expansion.conv(first, inner, &bias[0]), c = layer.conv(second, outer, &bias[1]);
  read_from(&e, x);
  const int64_t threads = kernels::thread_count(), panel = kernels::kernels().last_conv->panel;
  const int64_t splits = channel_splits(c.shape, c.groups, threads);
  for (int64_t i = 0; i < x.size(0); ++i) {
    e.x = x.data<float>() + i * x.stride(0);
    c.added = added.defined() ? added.data<float>() + i * layer.image() : nullptr;
    c.y = y.data<float>() + i * layer.image();
    const int64_t rows = c.shape.out[1];
    auto part = [&](int64_t k) {  // of the channels
      const int64_t panels = c.groups / panel;
      const int64_t end = k + 1 == splits ? c.groups : panels * (k + 1) / splits * panel;
      return Bands(e, c, panels * k / splits * panel, end);
    };
    const Bands largest = part(splits - 1);
    Charged working(largest.bytes() * threads);
    if (splits > 1) {
      kernels::parallel_for(splits, 1, [&](int64_t from, int64_t to) {
        for (int64_t k = from; k < to; ++k) part(k).convolve(0, rows);
      });
    } else {  // separate ranges of rows, if these are tall enough
      kernels::parallel_for(rows, std::max(2 * largest.height(), rows / threads),
                            [&](int64_t from, int64_t to) { largest.convolve(from, to); });
    }
  }
  return y;
}

// Whether aten::conv2d is faster: its vectors hold the pixels of one output channel, those here the
// output channels of one pixel, which may be too few to fill a vector. Channels-last images would
// have to be converted first.
bool leaves_lanes_empty(const Layer& layer, const Tensor& x) {
  constexpr int64_t kFew = 4, kWorthTurning = 9;
  return layer.groups == 1 && layer.shape.outputs <= kFew &&
         (x.is_contiguous() || layer.shape.taps() >= kWorthTurning);
}

// Whether the image comes and goes with its channels first, and converting it twice would take
// longer than what is gained. The first layers of networks have few channels and large results.
bool stays_in_planes(const Layer& layer, const Tensor& x, Args args) {
  constexpr int64_t kFewChannels = 8, kFewPlanes = 4;
  if (!x.is_contiguous() || is_in_format(x, kChannelsLast)) return false;
  if (args.integer(9) != kContiguous || !args.none(7)) return false;
  if (layer.groups > 1) return layer.shape.channels < kFewChannels;
  return layer.shape.taps() == 1 || layer.shape.channels <= kFewPlanes;
}

// Computes the convolution of a contiguous image; the result is contiguous.
Tensor convolve_planes(Args args, const Layer& layer, const Ending& e) {
  const Tensor y = Tensor::empty(layer.sizes, ScalarType::Float32);
  if (y.numel() == 0) return y;
  convolutions::Settings s;
  s.stride = convolutions::spread(args.ints(3), 2, "stride");
  s.padding = convolutions::spread(args.ints(4), 2, "padding");
  s.dilation = convolutions::spread(args.ints(5), 2, "dilation");
  s.output_padding.assign(2, 0);
  s.groups = layer.groups;
  s.activation = e.inside;
  const Tensor bias = args.none(2) ? Tensor() : to_contiguous(args.tensor(2));
  convolutions::convolve_into(y, args.tensor(0), to_contiguous(args.tensor(1)), bias, s);
  return e.fused ? y : activated(y, e, true);
}

Tensor convolve(Context& ctx, Args args) {
  const Ending& e = ending(args.string(8));
  Layer layer;
  Tensor y;
  const Tensor& x = args.tensor(0);
  const bool settled = is_float(x) && layer.settle(x.sizes(), args);
  const bool is_full = settled && !leaves_lanes_empty(layer, x);
  if (is_full && stays_in_planes(layer, x, args)) {
    y = convolve_planes(args, layer, e);
  } else if (is_full) {
    y = convolve_last(args, layer, e);
  } else {
    Value values[7] = {settled ? Value(to_contiguous(x)) : args[0],
                       args[1],
                       args[2],
                       args[3],
                       args[4],
                       args[5],
                       args[6]};
    Value result;
    op_aten_conv2d(ctx, Args(values, 7), &result);
    y = result.as_tensor();
    if (!args.none(7)) y = added_to(y, args.tensor(7));
    y = activated(y, e, true);
  }
  return in_wanted_format(y, args.integer(9));
}

}  // namespace

SL_OP(scriptlang_conv2d) { out[0] = convolve(ctx, args); }

SL_OP(scriptlang_expanded_conv2d) {
  const int64_t ones[2] = {1, 1}, zeros[2] = {0, 0};
  Value first[10] = {args[0],
                     args[1],
                     args[2],
                     int_list({ones, 2}),
                     int_list({zeros, 2}),
                     int_list({ones, 2}),
                     int64_t{1},
                     Value(),
                     args[3],
                     int64_t{kChannelsLast}};
  Value second[10] = {Value(), args[4], args[5],  args[6],  args[7],
                      args[8], args[9], args[10], args[11], args[12]};
  const Args expansion(first, 10), last(second, 10);
  const Ending &inner = ending(expansion.string(8)), &outer = ending(last.string(8));
  Layer a, b;
  const bool settled = is_float(args.tensor(0)) && a.settle(args.tensor(0).sizes(), expansion) &&
                       a.shape.taps() == 1 && b.settle(a.sizes, last) &&
                       a.way() == ConvWay::kDirect && b.way() == ConvWay::kDepthwise;
  if (settled) {
    out[0] = in_wanted_format(convolve_bands(expansion, a, inner, last, b, outer), last.integer(9));
    return;
  }
  second[0] = convolve(ctx, expansion);
  out[0] = convolve(ctx, last);
}

}  // namespace scriptlang
