// Memory formats: the order in which a tensor's dimensions lie in memory.
#pragma once

#include "op.h"

namespace scriptlang {

enum MemoryFormat : int64_t {
  kContiguous = 0,
  kPreserve = 1,
  kChannelsLast = 2,
  kChannelsLast3d = 3
};

// An uninitialised tensor with the sizes of `t`, laid out as the format says. kPreserve keeps the
// order of t's dimensions when t has no gaps.
Tensor empty_in_format(const Tensor& t, ScalarType dtype, int64_t format);
// Whether the strides are exactly those of the format.
bool is_in_format(const Tensor& t, int64_t format);
// The memory format that layers give to results for this image: channels last where strides, gaps
// or not, grow from the channels over the last dimension to the first. The second treats signals as
// images of one row.
int64_t suggested_format(const Tensor& t);
int64_t suggested_format_of_signal(const Tensor& t);
// Dense strides in a format: kContiguous, or channels last for any number of dimensions.
void format_strides(IntSpan sizes, int64_t format, int64_t* strides);
Tensor empty_in_format(IntSpan sizes, ScalarType dtype, int64_t format);
// The tensor in a format, or in the format of an image: itself, or a copy.
Tensor in_format(const Tensor& t, int64_t format);
inline Tensor in_format_of(const Tensor& t, const Tensor& image) {
  return in_format(t, suggested_format(image));
}
// The tensor with its dimensions in the same memory order as those of `model`, which has the same
// sizes.
Tensor laid_like(const Tensor& t, const Tensor& model);

}  // namespace scriptlang
