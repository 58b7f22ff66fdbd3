// Shuffles of channels and pixels.
#include "copy.h"
#include "express.h"
#include "layout.h"
#include "view.h"

namespace scriptlang {

using namespace express;

namespace {

// [.., channels, h, w]: turns r * r channels into r x r neighbouring pixels; pixel_unshuffle
// reverses it.
Tensor pixel_shuffle(const Tensor& self, int64_t r) {
  SL_CHECK(self.dim() >= 3,
           "pixel_shuffle expects input to have at least 3 dimensions, but got "
           "input with ",
           self.dim(), " dimension(s)");
  SL_CHECK(r > 0, "pixel_shuffle expects a positive upscale_factor, but got ", r);
  if (r > 3037000499) {  // the square root of 2^63
    raise(ErrorKind::ValueError,
          "upscale factor is too large, (upscale_factor)^2 overflowed: "
          "upscale_factor=",
          r);
  }
  int64_t n = self.dim() - 3, channels = self.size(n), h = self.size(n + 1), w = self.size(n + 2);
  SL_CHECK(channels % (r * r) == 0,
           "pixel_shuffle expects its input's 'channel' dimension to be "
           "divisible by the square of upscale_factor, but input.size(-3)=",
           channels, " is not divisible by ", r * r);
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end() - 3), order;
  std::vector<int64_t> result = sizes;
  for (int64_t d = 0; d < n; ++d) order.push_back(d);
  sizes.insert(sizes.end(), {channels / (r * r), r, r, h, w});
  for (int64_t d : {0, 3, 1, 4, 2}) order.push_back(n + d);
  result.insert(result.end(), {channels / (r * r), h * r, w * r});
  Tensor moved = copy_of(view_permute(reshape(self, sizes), order));
  return in_format_of(reshape(moved, result), self);
}

Tensor pixel_unshuffle(const Tensor& self, int64_t r) {
  SL_CHECK(self.dim() >= 3,
           "pixel_unshuffle expects input to have at least 3 dimensions, but got "
           "input with ",
           self.dim(), " dimension(s)");
  SL_CHECK(r > 0 && r < (1 << 20), "pixel_unshuffle expects a positive downscale_factor, but got ",
           r);
  int64_t n = self.dim() - 3, channels = self.size(n), h = self.size(n + 1), w = self.size(n + 2);
  SL_CHECK(h % r == 0 && w % r == 0,
           "pixel_unshuffle expects height and width to be divisible by "
           "downscale_factor, but input.size(-2)=",
           h, " and input.size(-1)=", w, " are not divisible by ", r);
  if (self.numel() == 0) return copy_of(self);  // keeps its shape, as in PyTorch
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end() - 3), order;
  std::vector<int64_t> result = sizes;
  for (int64_t d = 0; d < n; ++d) order.push_back(d);
  sizes.insert(sizes.end(), {channels, h / r, r, w / r, r});
  for (int64_t d : {0, 2, 4, 1, 3}) order.push_back(n + d);
  result.insert(result.end(), {channels * r * r, h / r, w / r});
  Tensor moved = copy_of(view_permute(reshape(self, sizes), order));
  return in_format_of(reshape(moved, result), self);
}

Tensor channel_shuffle(const Tensor& self, int64_t groups) {
  SL_CHECK(self.dim() > 2, "channel_shuffle expects input with > 2 dims, but got input with sizes ",
           to_string(self.sizes()));
  int64_t channels = self.size(1);
  SL_CHECK(groups > 0 && channels % groups == 0,
           "Number of groups to divide channels in must be "
           "positive and divide the channels, got groups: ",
           groups, ", channels: ", channels);
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  std::vector<int64_t> split{sizes[0], groups, channels / groups};
  split.insert(split.end(), sizes.begin() + 2, sizes.end());
  return in_format_of(reshape(copy_of(view_transpose(reshape(self, split), 1, 2)), sizes), self);
}

}  // namespace

SL_OP(aten_pixel_shuffle) { out[0] = pixel_shuffle(args.tensor(0), args.integer(1)); }
SL_OP(aten_pixel_unshuffle) { out[0] = pixel_unshuffle(args.tensor(0), args.integer(1)); }
SL_OP(aten_channel_shuffle) { out[0] = channel_shuffle(args.tensor(0), args.integer(1)); }
SL_OP(aten_native_channel_shuffle) { op_aten_channel_shuffle(ctx, args, out); }

}  // namespace scriptlang
