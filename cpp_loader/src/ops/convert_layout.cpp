// Memory formats, conversions and copies.
#include "layout.h"

#include <algorithm>

#include "options.h"
#include "pointwise.h"
#include "values/exact.h"
#include "values/raw_view.h"
#include "recording.h"
#include "view.h"

namespace scriptlang {

namespace {

// Strides with the channels innermost; the sizes are N, C, and then the spatial ones.
void channels_last_strides(IntSpan sizes, int64_t* strides) {
  int64_t n = sizes.size, next = 1;
  auto place = [&](int64_t d) {
    strides[d] = next;
    next = outer_stride(next, sizes[d]);
  };
  place(1);
  for (int64_t d = n - 1; d >= 2; --d) place(d);
  place(0);
}

int64_t rank_of(int64_t format) { return format == kChannelsLast ? 4 : 5; }

}  // namespace

void format_strides(IntSpan sizes, int64_t format, int64_t* strides) {
  if (format == kChannelsLast || format == kChannelsLast3d) {
    return channels_last_strides(sizes, strides);
  }
  for (int64_t d = sizes.size - 1, next = 1; d >= 0; --d) {
    strides[d] = next;
    next = outer_stride(next, sizes[d]);
  }
}

Tensor empty_in_format(IntSpan sizes, ScalarType dtype, int64_t format) {
  Tensor out = Tensor::empty(sizes, dtype);
  if (format == kContiguous) return out;
  int64_t strides[kMaxDims];
  format_strides(sizes, format, strides);
  lay(out, {strides, sizes.size});
  return out;
}

Tensor empty_in_format(const Tensor& t, ScalarType dtype, int64_t format) {
  if (format == kPreserve) return Tensor::empty_like(t, dtype);
  if (format == kContiguous) return Tensor::empty(t.sizes(), dtype);
  SL_CHECK(format == kChannelsLast || format == kChannelsLast3d, "memory format ", format,
           " is not supported");
  SL_CHECK(t.dim() == rank_of(format), "required rank ", rank_of(format),
           " tensor to use channels_last", format == kChannelsLast ? "" : "_3d", " format");
  return empty_in_format(t.sizes(), dtype, format);
}

bool is_in_format(const Tensor& t, int64_t format) {
  if (format == kContiguous || format == kPreserve) return t.is_contiguous();
  if (t.dim() != rank_of(format)) return false;
  int64_t next = 1;
  auto fits = [&](int64_t d) {
    if (t.size(d) != 1 && t.stride(d) != next) return false;
    next = outer_stride(next, t.size(d));
    return true;
  };
  if (!fits(1)) return false;
  for (int64_t d = t.dim() - 1; d >= 2; --d) {
    if (!fits(d)) return false;
  }
  return fits(0);
}

int64_t suggested_format(const Tensor& t) {
  int64_t n = t.dim();
  if ((n != 4 && n != 5) || t.stride(1) == 0) return kContiguous;
  // Where sizes of 1 let both formats fit, the strides decide.
  int64_t least = 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t d = i == 0 ? 1 : i == n - 1 ? 0 : n - i;
    if (t.size(d) == 0 || t.stride(d) < least) return kContiguous;
    if (d == 0 && least == t.stride(1)) return kContiguous;
    least = outer_stride(t.stride(d), t.size(d));
  }
  return n == 4 ? kChannelsLast : kChannelsLast3d;
}

int64_t suggested_format_of_signal(const Tensor& t) {
  return t.dim() == 3 ? suggested_format(view_unsqueeze(t, 2)) : kContiguous;
}

Tensor in_format(const Tensor& t, int64_t format) {
  if (format == kContiguous) return to_contiguous(t);
  int64_t strides[kMaxDims];
  format_strides(t.sizes(), format, strides);
  if (std::equal(strides, strides + t.dim(), t.strides().begin())) return t;
  Tensor out = empty_in_format(t.sizes(), t.dtype(), format);
  copy_into(out, t);
  return out;
}

Tensor laid_like(const Tensor& t, const Tensor& model) {
  if (model.is_contiguous() || model.dim() < 2) return to_contiguous(t);
  int64_t strides[kMaxDims];
  model.like_strides(strides);
  if (std::equal(strides, strides + t.dim(), t.strides().begin())) return t;
  Tensor out = Tensor::empty_like(model, t.dtype());
  copy_into(out, t);
  return out;
}

namespace {

Tensor convert(const Tensor& self, ScalarType dtype, bool copy, int64_t format) {
  bool same = dtype == self.dtype() && (format == kPreserve || suggested_format(self) == format);
  if (same && !copy) return self;
  if (is_symbolic(self) && format == kPreserve) return Recording::current().convert(self, dtype);
  Tensor out = empty_in_format(self, dtype, format);
  copy_into(out, self);
  return out;
}

Tensor contiguous(const Tensor& self, int64_t format) {
  SL_CHECK(format != kPreserve, "preserve memory format is unsupported by the contiguous operator");
  return is_in_format(self, format) ? self : convert(self, self.dtype(), true, format);
}

}  // namespace

SL_OP(aten_contiguous) { out[0] = contiguous(args.tensor(0), args.integer(1)); }
SL_OP(aten_clone) {
  out[0] = convert(args.tensor(0), args.tensor(0).dtype(), true, args.integer(1, kPreserve));
}
SL_OP(aten_to_device) {
  args.want_cpu(1);
  out[0] = convert(args.tensor(0), args.dtype(2), args.boolean(4), args.integer(5, kPreserve));
}
SL_OP(aten_to_dtype) {
  out[0] = convert(args.tensor(0), args.dtype(1), args.boolean(3), args.integer(4, kPreserve));
}
SL_OP(aten_to_dtype_layout) {
  const Tensor& self = args.tensor(0);
  want_strided_on_cpu(args, 2);
  out[0] = convert(self, args.dtype(1, self.dtype()), args.boolean(6), args.integer(7, kPreserve));
}
SL_OP(aten_to_other) {
  out[0] =
      convert(args.tensor(0), args.tensor(1).dtype(), args.boolean(3), args.integer(4, kPreserve));
}
SL_OP(aten_to_prim_Device) {
  const Tensor& self = args.tensor(0);
  args.want_cpu(1);
  out[0] = convert(self, args.dtype(2, self.dtype()), args.boolean(4), kPreserve);
}
SL_OP(aten_to_prim_dtype) {
  const Tensor& self = args.tensor(0);
  out[0] = convert(self, args.dtype(1, self.dtype()), args.boolean(3), kPreserve);
}
SL_OP(aten_to_prim_other) {
  out[0] = convert(args.tensor(0), args.tensor(0).dtype(), args.boolean(2), kPreserve);
}
SL_OP(aten__to_copy) {
  const Tensor& self = args.tensor(0);
  want_strided_on_cpu(args, 2);
  out[0] = convert(self, args.dtype(1, self.dtype()), true, args.integer(6, kPreserve));
}
SL_OP(aten_cpu) { out[0] = args.tensor(0); }
SL_OP(aten_type_as) { out[0] = convert(args.tensor(0), args.tensor(1).dtype(), false, kPreserve); }
SL_OP(aten_copy_) {
  const Tensor &self = args.tensor(0), &from = args.tensor(1);
  out[0] = self;
  const bool same = self.storage() == from.storage() && self.raw() == from.raw() &&
                    self.dtype() == from.dtype() && self.sizes() == from.sizes();
  if (same && same_strides(self, from)) return;  // even if elements share memory
  check_apart(self, from);
  copy_into(self, from);
}
SL_OP(aten_copy__Tensor) { op_aten_copy_(ctx, args, out); }
SL_OP(aten_copy__int) {
  fill(args.tensor(0), args.scalar(1));
  out[0] = args.tensor(0);
}
SL_OP(aten_copy__float) { op_aten_copy__int(ctx, args, out); }
SL_OP(aten_fill__Scalar) {
  fill(args.tensor(0), args.scalar(1));
  out[0] = args.tensor(0);
}
static void check_number(const Tensor& value) {
  SL_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ",
           value.dim(), " dimensions.");
}
SL_OP(aten_fill__Tensor) {
  check_number(args.tensor(1));
  fill(args.tensor(0), args.scalar(1));
  out[0] = args.tensor(0);
}
SL_OP(aten_fill_Scalar) {
  Tensor t = Tensor::empty_like(args.tensor(0), args.tensor(0).dtype());
  fill(t, args.scalar(1));
  out[0] = t;
}
SL_OP(aten_fill_Tensor) {
  check_number(args.tensor(1));
  op_aten_fill_Scalar(ctx, args, out);
}
SL_OP(aten_zero_) {
  fill(args.tensor(0), int64_t{0});
  out[0] = args.tensor(0);
}

}  // namespace scriptlang
