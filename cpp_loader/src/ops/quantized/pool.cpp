// Max pooling of codes in channels-last format: the pixels of a window are compared for all
// channels at once, and the result is channels last, too.
#include <algorithm>
#include <cstring>

#include "kernels/parallel.h"
#include "ops/layout.h"
#include "quantized.h"
#include "plain.h"
#include "values/raw_view.h"

namespace scriptlang {

namespace {

struct Windows {
  int64_t in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];
};

// Whether the fast path applies; otherwise the path of plain tensors is taken, which also reports
// wrong arguments.
bool settle(Args args, Windows* w) {
  const Tensor& x = args.tensor(0);
  bool bytes = x.dtype() == ScalarType::QInt8 || x.dtype() == ScalarType::QUInt8;
  if (x.dim() != 4 || !bytes || x.is_contiguous() || !is_in_format(x, kChannelsLast)) return false;
  if (x.numel() == 0) return false;
  Ints kernel = args.ints(1, 2), stride = args.ints(2, 2);
  Ints padding = args.ints(3, 2), dilation = args.ints(4, 2);
  if (kernel.size() != 2 || padding.size() != 2 || dilation.size() != 2) return false;
  if (!stride.empty() && stride.size() != 2) return false;
  constexpr int64_t kLimit = 1 << 20;
  for (int64_t d = 0; d < 2; ++d) {
    w->in[d] = x.size(2 + d);
    w->kernel[d] = kernel[d];
    w->stride[d] = stride.empty() ? kernel[d] : stride[d];
    w->padding[d] = padding[d];
    w->dilation[d] = dilation[d];
    if (w->kernel[d] < 1 || w->stride[d] < 1 || w->dilation[d] < 1 || w->kernel[d] > kLimit ||
        w->stride[d] > kLimit || w->dilation[d] > kLimit || padding[d] < 0 ||
        padding[d] > kernel[d] / 2) {
      return false;
    }
    int64_t room = w->in[d] + 2 * padding[d] - w->dilation[d] * (w->kernel[d] - 1) - 1;
    if (room < 0) return false;
    w->out[d] = room / w->stride[d] + 1;
    // With ceil_mode, windows may extend past the end, but must start inside the input or its left
    // padding.
    bool more = args.boolean(5) && room % w->stride[d] > 0 &&
                w->out[d] * w->stride[d] < w->in[d] + padding[d];
    w->out[d] += more;
  }
  return true;
}

void pool_line(const Windows& w, const uint8_t* image, int64_t channels, bool is_signed, int64_t oh,
               uint8_t* to) {
  const kernels::QuantizedRowFunctions& rows = *kernels::kernels().quantized_rows;
  for (int64_t ow = 0; ow < w.out[1]; ++ow, to += channels) {
    kernels::worked(w.kernel[0] * w.kernel[1]);
    bool first = true;
    for (int64_t kh = 0; kh < w.kernel[0]; ++kh) {
      int64_t ih = oh * w.stride[0] - w.padding[0] + kh * w.dilation[0];
      if (ih < 0 || ih >= w.in[0]) continue;
      for (int64_t kw = 0; kw < w.kernel[1]; ++kw) {
        int64_t iw = ow * w.stride[1] - w.padding[1] + kw * w.dilation[1];
        if (iw < 0 || iw >= w.in[1]) continue;
        const uint8_t* from = image + (ih * w.in[1] + iw) * channels;
        if (first) std::memcpy(to, from, size_t(channels));
        else rows.larger(channels, from, is_signed, to);
        first = false;
      }
    }
    if (first) std::memset(to, is_signed ? 0x80 : 0, size_t(channels));  // an empty window
  }
}

}  // namespace

void quantized_ways::max_pooling(OpFn base, int outs, Context& ctx, Args args, Value* results) {
  Windows w;
  if (!settle(args, &w)) return pooling(base, outs, ctx, args, results);
  Tensor x = args.tensor(0);
  int64_t channels = x.size(1), image = w.in[0] * w.in[1] * channels;
  Tensor y = Tensor::empty({x.size(0), channels, w.out[0], w.out[1]}, type_of_codes(x.dtype()));
  int64_t line = w.out[1] * channels;
  lay(y, {w.out[0] * line, 1, line, channels});
  const uint8_t* from = static_cast<const uint8_t*>(x.raw());
  int64_t work = std::max<int64_t>(1, line * w.kernel[0] * w.kernel[1]);
  kernels::parallel_for(
      x.size(0) * w.out[0], std::max<int64_t>(1, 100'000 / work), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          pool_line(w, from + i / w.out[0] * image, channels, is_signed_code(x.dtype()),
                    i % w.out[0], y.data<uint8_t>() + i * line);
        }
      });
  results[0] = with_quantizer(y, x.quantizer());
}

}  // namespace scriptlang
