// Memory formats: the order in which a tensor's dimensions lie in memory.
#pragma once

#include "op.h"

namespace scriptlang {

enum MemoryFormat : int64_t { kContiguous = 0, kPreserve = 1, kChannelsLast = 2,
                              kChannelsLast3d = 3 };

// An uninitialised tensor with the sizes of `t`, laid out as the format says. kPreserve keeps the
// order of t's dimensions when t has no gaps.
Tensor empty_in_format(const Tensor& t, ScalarType dtype, int64_t format);
// Whether the strides are exactly those of the format.
bool is_in_format(const Tensor& t, int64_t format);
// Whether a convolution or pooling of this input gives its result channels last.
bool prefers_channels_last(const Tensor& t);

}  // namespace scriptlang
