// Queries about types, and assertions about tensors.
#include <string_view>

#include "express.h"
#include "options.h"

namespace scriptlang {

using namespace express;

namespace {

ScalarType type_of(const Value& v) {
  ResultType r;
  r.add(Input::of(v));
  return r.get();
}

// Raises with the message unless the one element of a tensor is true.
void assert_one(const Tensor& condition, std::string_view message) {
  SL_CHECK(condition.numel() == 1, "Boolean value of Tensor with ", condition.numel(),
           " values is ambiguous");
  Tensor truth = to_contiguous(to_dtype(condition, ScalarType::Bool));
  SL_CHECK(*truth.data<bool>(), message);
}

}  // namespace

SL_OP(aten_promote_types) { out[0] = int64_t(promote(args.dtype(0), args.dtype(1))); }
SL_OP(aten_can_cast) { out[0] = category(args.dtype(0)) <= category(args.dtype(1)); }
SL_OP(aten_result_type_Tensor) {
  out[0] = int64_t(result_type(Input::of(args[0]), Input::of(args[1])));
}
SL_OP(aten_result_type_Scalar) { op_aten_result_type_Tensor(ctx, args, out); }
SL_OP(aten_result_type_Scalar_Tensor) { op_aten_result_type_Tensor(ctx, args, out); }
SL_OP(aten_result_type_Scalar_Scalar) {
  out[0] = int64_t(promote(type_of(args[0]), type_of(args[1])));
}
SL_OP(aten__nnpack_available) { out[0] = false; }
SL_OP(aten_get_autocast_dtype) { out[0] = int64_t(ScalarType::BFloat16); }
SL_OP(aten__assert_scalar) { SL_CHECK(args.scalar(0).to_bool(), args.string(1)); }
SL_OP(aten__assert_async) {
  assert_one(args.tensor(0), "Expected Tensor with single nonzero value, but got zero");
}
SL_OP(aten__assert_async_msg) { assert_one(args.tensor(0), args.string(1)); }
SL_OP(aten__functional_assert_async_msg) {
  assert_one(args.tensor(0), args.string(1));
  Tensor token = Tensor::empty_like(args.tensor(2), args.tensor(2).dtype());
  copy_into(token, args.tensor(2));
  out[0] = token;
}

}  // namespace scriptlang
