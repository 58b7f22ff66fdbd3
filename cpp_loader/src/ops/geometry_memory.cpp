// A tensor's memory: queries about it, replacing it, changing sizes.
#include <algorithm>
#include <utility>
#include <vector>

#include "layout.h"
#include "op.h"
#include "pointwise.h"
#include "values/raw_view.h"
#include "view.h"

namespace scriptlang {

namespace {

// Gives self the storage and geometry of another tensor.
void set_source(const Tensor& self, const Tensor& source) {
  SL_CHECK(self.dtype() == source.dtype(), "Could not set tensor of type ",
           dtype_display_name(source.dtype()), " to a tensor of type ",
           dtype_display_name(self.dtype()));
  if (self.is(source)) return;
  source.storage()->retain();
  self.storage()->release();
  self.impl()->storage = source.storage();
  become(self, source);
}

// Changes the strides of a dense tensor to a memory format; kPreserve: to the order of `model`.
void relay(const Tensor& self, const Tensor& model, int64_t format) {
  int64_t strides[kMaxDims], n = self.dim();
  SL_CHECK(format >= 0 && format <= kChannelsLast3d, "there is no memory format ", format);
  SL_CHECK(format < kChannelsLast || n == format + 2, "required rank ", format + 2,
           " tensor to use channels_last", format == kChannelsLast ? "" : "_3d", " format");
  if (format == kPreserve) model.like_strides(strides);
  else format_strides(self.sizes(), format, strides);
  lay(self, {strides, n});
}

}  // namespace

bool is_dense(const Tensor& t) {
  std::vector<std::pair<int64_t, int64_t>> order;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.size(d) == 0) return true;
    if (t.size(d) != 1) order.push_back({t.stride(d), t.size(d)});
  }
  std::sort(order.begin(), order.end());
  int64_t next = 1;
  for (auto [stride, size] : order) {
    if (stride != next) return false;
    next *= size;
  }
  return true;
}

SL_OP(aten_set__source_Tensor) {
  set_source(args.tensor(0), args.tensor(1));
  out[0] = args.tensor(0);
}
SL_OP(aten_resize_) {
  const Tensor& self = args.tensor(0);
  resize(self, args.ints(1));
  if (!args.none(2)) relay(self, self, args.integer(2));
  out[0] = self;
}
SL_OP(aten_resize_as_) {
  const Tensor &self = args.tensor(0), &model = args.tensor(1);
  resize(self, model.sizes());
  if (!args.none(2)) relay(self, model, args.integer(2));
  out[0] = self;
}
SL_OP(aten_is_signed) {
  ScalarType t = args.tensor(0).dtype();
  out[0] = t != ScalarType::UInt8 && t != ScalarType::UInt16 && t != ScalarType::UInt32 &&
           t != ScalarType::UInt64 && t != ScalarType::Bool;
}
SL_OP(aten_is_set_to) {
  const Tensor &a = args.tensor(0), &b = args.tensor(1);
  out[0] = a.storage() == b.storage() && a.storage_offset() == b.storage_offset() &&
           a.sizes() == b.sizes() && a.strides() == b.strides();
}
SL_OP(aten_is_conj) { out[0] = (args.tensor(0), Value(false)); }
SL_OP(aten_is_neg) { out[0] = (args.tensor(0), Value(false)); }
SL_OP(aten_is_inference) { out[0] = (args.tensor(0), Value(false)); }
SL_OP(aten_is_pinned) { out[0] = (args.tensor(0), Value(false)); }
SL_OP(aten_is_non_overlapping_and_dense) { out[0] = is_dense(args.tensor(0)); }
SL_OP(aten__shape_as_tensor) {
  const Tensor& self = args.tensor(0);
  Tensor shape = Tensor::empty({self.dim()}, ScalarType::Int64);
  std::copy(self.sizes().begin(), self.sizes().end(), shape.data<int64_t>());
  out[0] = shape;
}
SL_OP(aten__tensor_to_list) {
  if (args.tensor(0).dim() == 0) {
    raise(ErrorKind::IndexError, "Dimension specified as 0 but tensor has no dimensions");
  }
  SL_CHECK(args.tensor(0).dtype() == ScalarType::Int32, "expected scalar type Int but found ",
           dtype_display_name(args.tensor(0).dtype()));
  Tensor t = contiguous_as(args.tensor(0), ScalarType::Int64);
  out[0] = int_list({t.data<int64_t>(), t.numel()});
}
SL_OP(aten__list_to_tensor) {
  Ints items = args.ints(0);
  Tensor t = Tensor::empty({items.size()}, ScalarType::Int32);
  for (int64_t i = 0; i < items.size(); ++i) {
    SL_CHECK(items[i] == int32_t(items[i]),
             "value cannot be converted to type int without overflow");
    t.data<int32_t>()[i] = int32_t(items[i]);
  }
  out[0] = t;
}

}  // namespace scriptlang
