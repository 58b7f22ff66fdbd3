// Queries about tensors, and their single elements as numbers.
#include <cmath>

#include "layout.h"
#include "op.h"
#include "view.h"

namespace scriptlang {

namespace {

Value number_of(const Tensor& t) {
  SL_CHECK(t.numel() == 1, "a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
  Scalar s = Scalar::of(Value(t));
  switch (s.kind) {
    case Scalar::Bool: return s.i != 0;
    case Scalar::Int: return s.i;
    case Scalar::Double: return s.d;
    default: return s.to_complex();
  }
}

bool truth_of(const Tensor& t) {
  SL_CHECK(t.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
  SL_CHECK(t.numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
  return Scalar::of(Value(t)).to_bool();
}

int64_t int_of(const Tensor& t) {
  Scalar s = Scalar::of(Value(t));
  constexpr double kLimit = 9223372036854775808.0;
  SL_CHECK(s.imag == 0 && (s.kind != Scalar::Double || (s.d >= -kLimit && s.d < kLimit)),
           "value cannot be converted to type int64_t without overflow");
  return s.to_int();
}

}  // namespace

SL_OP(aten_dim) { out[0] = args.tensor(0).dim(); }
SL_OP(aten_numel) { out[0] = args.tensor(0).numel(); }
SL_OP(aten_size) { out[0] = int_list(args.tensor(0).sizes()); }
SL_OP(aten_size_int) {
  const Tensor& t = args.tensor(0);
  int64_t dim = args.integer(1);
  if (t.dim() == 0) {
    raise(ErrorKind::IndexError, "Dimension specified as ", dim, " but tensor has no dimensions");
  }
  out[0] = t.size(wrap_dim(dim, t.dim()));
}
SL_OP(aten_stride) { out[0] = int_list(args.tensor(0).strides()); }
SL_OP(aten_stride_int) {
  const Tensor& t = args.tensor(0);
  if (t.dim() == 0) {
    raise(ErrorKind::IndexError, "Dimension specified as ", args.integer(1),
          " but tensor has no dimensions");
  }
  out[0] = t.stride(wrap_dim(args.integer(1), t.dim()));
}
SL_OP(aten_storage_offset) { out[0] = args.tensor(0).storage_offset(); }
SL_OP(aten_element_size) { out[0] = args.tensor(0).itemsize(); }
SL_OP(aten_len_Tensor) {
  const Tensor& t = args.tensor(0);
  if (t.dim() == 0) raise(ErrorKind::TypeError, "len() of a 0-d tensor");
  out[0] = t.size(0);
}
SL_OP(aten_is_floating_point) { out[0] = is_floating(args.tensor(0).dtype()); }
SL_OP(aten_is_complex) { out[0] = is_complex(args.tensor(0).dtype()); }
SL_OP(aten_is_contiguous) { out[0] = args.tensor(0).is_contiguous(); }
SL_OP(aten_is_contiguous_memory_format) { out[0] = is_in_format(args.tensor(0), args.integer(1)); }
SL_OP(aten_is_nonzero) { out[0] = truth_of(args.tensor(0)); }
SL_OP(aten_is_same_size) { out[0] = args.tensor(0).sizes() == args.tensor(1).sizes(); }
SL_OP(aten_item) { out[0] = number_of(args.tensor(0)); }
SL_OP(aten__local_scalar_dense) { out[0] = number_of(args.tensor(0)); }
SL_OP(aten_ScalarImplicit) {
  SL_CHECK(args.tensor(0).dim() == 0,
           "Cannot input a tensor of dimension other than 0 as a scalar argument");
  out[0] = number_of(args.tensor(0));
}
SL_OP(aten_Bool_Tensor) { out[0] = truth_of(args.tensor(0)); }
SL_OP(aten_Int_Tensor) { out[0] = int_of(args.tensor(0)); }
SL_OP(aten_Float_Tensor) {
  Scalar s = Scalar::of(args[0]);
  SL_CHECK(s.imag == 0, "value cannot be converted to type double without overflow");
  out[0] = s.to_double();
}
SL_OP(aten_IntImplicit) {
  const Tensor& t = args.tensor(0);
  SL_CHECK(t.dim() == 0, "Cannot input a tensor of dimension other than 0 as a scalar argument");
  SL_CHECK(is_integral(t.dtype(), false), "Cannot input a tensor of type ",
           dtype_display_name(t.dtype()), " as an integral argument");
  out[0] = int_of(t);
}
SL_OP(aten_FloatImplicit) {
  const Tensor& t = args.tensor(0);
  SL_CHECK(t.dim() == 0, "Cannot input a tensor of dimension other than 0 as a scalar argument");
  op_aten_Float_Tensor(ctx, args, out);
}

}  // namespace scriptlang
