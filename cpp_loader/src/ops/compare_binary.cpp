// Comparisons and bitwise operators on two tensors, or a tensor and a number.
#include "pointwise_binary.h"

namespace scriptlang {

using namespace pointwise;

SL_OP(aten_bitwise_and_Tensor) { binary(args, out, Binary::k_bitwise_and, "bitwise_and", kCommon); }
SL_OP(aten_bitwise_and__Tensor) {
  binary_(args, out, Binary::k_bitwise_and, "bitwise_and", kCommon);
}
SL_OP(aten_bitwise_and_Scalar) { binary(args, out, Binary::k_bitwise_and, "bitwise_and", kCommon); }
SL_OP(aten_bitwise_and__Scalar) {
  binary_(args, out, Binary::k_bitwise_and, "bitwise_and", kCommon);
}
SL_OP(aten_bitwise_and_Scalar_Tensor) {
  binary(args, out, Binary::k_bitwise_and, "bitwise_and", kCommon);
}
SL_OP(aten___and___Tensor) { binary(args, out, Binary::k_bitwise_and, "bitwise_and", kCommon); }
SL_OP(aten___and___Scalar) { binary(args, out, Binary::k_bitwise_and, "bitwise_and", kCommon); }
SL_OP(aten___iand___Tensor) { binary_(args, out, Binary::k_bitwise_and, "bitwise_and", kCommon); }
SL_OP(aten___iand___Scalar) { binary_(args, out, Binary::k_bitwise_and, "bitwise_and", kCommon); }
SL_OP(aten_bitwise_or_Tensor) { binary(args, out, Binary::k_bitwise_or, "bitwise_or", kCommon); }
SL_OP(aten_bitwise_or__Tensor) { binary_(args, out, Binary::k_bitwise_or, "bitwise_or", kCommon); }
SL_OP(aten_bitwise_or_Scalar) { binary(args, out, Binary::k_bitwise_or, "bitwise_or", kCommon); }
SL_OP(aten_bitwise_or__Scalar) { binary_(args, out, Binary::k_bitwise_or, "bitwise_or", kCommon); }
SL_OP(aten_bitwise_or_Scalar_Tensor) {
  binary(args, out, Binary::k_bitwise_or, "bitwise_or", kCommon);
}
SL_OP(aten___or___Tensor) { binary(args, out, Binary::k_bitwise_or, "bitwise_or", kCommon); }
SL_OP(aten___or___Scalar) { binary(args, out, Binary::k_bitwise_or, "bitwise_or", kCommon); }
SL_OP(aten___ior___Tensor) { binary_(args, out, Binary::k_bitwise_or, "bitwise_or", kCommon); }
SL_OP(aten___ior___Scalar) { binary_(args, out, Binary::k_bitwise_or, "bitwise_or", kCommon); }
SL_OP(aten_bitwise_xor_Tensor) { binary(args, out, Binary::k_bitwise_xor, "bitwise_xor", kCommon); }
SL_OP(aten_bitwise_xor__Tensor) {
  binary_(args, out, Binary::k_bitwise_xor, "bitwise_xor", kCommon);
}
SL_OP(aten_bitwise_xor_Scalar) { binary(args, out, Binary::k_bitwise_xor, "bitwise_xor", kCommon); }
SL_OP(aten_bitwise_xor__Scalar) {
  binary_(args, out, Binary::k_bitwise_xor, "bitwise_xor", kCommon);
}
SL_OP(aten_bitwise_xor_Scalar_Tensor) {
  binary(args, out, Binary::k_bitwise_xor, "bitwise_xor", kCommon);
}
SL_OP(aten___xor___Tensor) { binary(args, out, Binary::k_bitwise_xor, "bitwise_xor", kCommon); }
SL_OP(aten___xor___Scalar) { binary(args, out, Binary::k_bitwise_xor, "bitwise_xor", kCommon); }
SL_OP(aten___ixor___Tensor) { binary_(args, out, Binary::k_bitwise_xor, "bitwise_xor", kCommon); }
SL_OP(aten___ixor___Scalar) { binary_(args, out, Binary::k_bitwise_xor, "bitwise_xor", kCommon); }
SL_OP(aten_bitwise_left_shift_Tensor) { binary(args, out, Binary::k_lshift, "lshift", kCommon); }
SL_OP(aten_bitwise_left_shift__Tensor) { binary_(args, out, Binary::k_lshift, "lshift", kCommon); }
SL_OP(aten_bitwise_left_shift_Scalar_Tensor) {
  binary(args, out, Binary::k_lshift, "lshift", kCommon);
}
SL_OP(aten_bitwise_left_shift_Tensor_Scalar) {
  binary(args, out, Binary::k_lshift, "lshift", kCommon);
}
SL_OP(aten_bitwise_left_shift__Tensor_Scalar) {
  binary_(args, out, Binary::k_lshift, "lshift", kCommon);
}
SL_OP(aten___lshift___Tensor) { binary(args, out, Binary::k_lshift, "lshift", kCommon); }
SL_OP(aten___lshift___Scalar) { binary(args, out, Binary::k_lshift, "lshift", kCommon); }
SL_OP(aten___ilshift___Tensor) { binary_(args, out, Binary::k_lshift, "lshift", kCommon); }
SL_OP(aten___ilshift___Scalar) { binary_(args, out, Binary::k_lshift, "lshift", kCommon); }
SL_OP(aten_bitwise_right_shift_Tensor) { binary(args, out, Binary::k_rshift, "rshift", kCommon); }
SL_OP(aten_bitwise_right_shift__Tensor) { binary_(args, out, Binary::k_rshift, "rshift", kCommon); }
SL_OP(aten_bitwise_right_shift_Scalar_Tensor) {
  binary(args, out, Binary::k_rshift, "rshift", kCommon);
}
SL_OP(aten_bitwise_right_shift_Tensor_Scalar) {
  binary(args, out, Binary::k_rshift, "rshift", kCommon);
}
SL_OP(aten_bitwise_right_shift__Tensor_Scalar) {
  binary_(args, out, Binary::k_rshift, "rshift", kCommon);
}
SL_OP(aten___rshift___Tensor) { binary(args, out, Binary::k_rshift, "rshift", kCommon); }
SL_OP(aten___rshift___Scalar) { binary(args, out, Binary::k_rshift, "rshift", kCommon); }
SL_OP(aten___irshift___Tensor) { binary_(args, out, Binary::k_rshift, "rshift", kCommon); }
SL_OP(aten___irshift___Scalar) { binary_(args, out, Binary::k_rshift, "rshift", kCommon); }
SL_OP(aten_eq_Tensor) { binary(args, out, Binary::k_eq, "eq", kCompare); }
SL_OP(aten_eq__Tensor) { binary_(args, out, Binary::k_eq, "eq", kCompare); }
SL_OP(aten_eq_Scalar) { binary(round_numbers(args), out, Binary::k_eq, "eq", kCompare); }
SL_OP(aten_eq__Scalar) { binary_(round_numbers(args), out, Binary::k_eq, "eq", kCompare); }
SL_OP(aten_ne_Tensor) { binary(args, out, Binary::k_ne, "ne", kCompare); }
SL_OP(aten_ne__Tensor) { binary_(args, out, Binary::k_ne, "ne", kCompare); }
SL_OP(aten_ne_Scalar) { binary(round_numbers(args), out, Binary::k_ne, "ne", kCompare); }
SL_OP(aten_ne__Scalar) { binary_(round_numbers(args), out, Binary::k_ne, "ne", kCompare); }
SL_OP(aten_not_equal_Tensor) { binary(args, out, Binary::k_ne, "ne", kCompare); }
SL_OP(aten_not_equal__Tensor) { binary_(args, out, Binary::k_ne, "ne", kCompare); }
SL_OP(aten_not_equal_Scalar) { binary(round_numbers(args), out, Binary::k_ne, "ne", kCompare); }
SL_OP(aten_not_equal__Scalar) { binary_(round_numbers(args), out, Binary::k_ne, "ne", kCompare); }
SL_OP(aten_lt_Tensor) { binary(args, out, Binary::k_lt, "lt", kCompare); }
SL_OP(aten_lt__Tensor) { binary_(args, out, Binary::k_lt, "lt", kCompare); }
SL_OP(aten_lt_Scalar) { binary(round_numbers(args), out, Binary::k_lt, "lt", kCompare); }
SL_OP(aten_lt__Scalar) { binary_(round_numbers(args), out, Binary::k_lt, "lt", kCompare); }
SL_OP(aten_less_Tensor) { binary(args, out, Binary::k_lt, "lt", kCompare); }
SL_OP(aten_less__Tensor) { binary_(args, out, Binary::k_lt, "lt", kCompare); }
SL_OP(aten_less_Scalar) { binary(round_numbers(args), out, Binary::k_lt, "lt", kCompare); }
SL_OP(aten_less__Scalar) { binary_(round_numbers(args), out, Binary::k_lt, "lt", kCompare); }
SL_OP(aten_le_Tensor) { binary(args, out, Binary::k_le, "le", kCompare); }
SL_OP(aten_le__Tensor) { binary_(args, out, Binary::k_le, "le", kCompare); }
SL_OP(aten_le_Scalar) { binary(round_numbers(args), out, Binary::k_le, "le", kCompare); }
SL_OP(aten_le__Scalar) { binary_(round_numbers(args), out, Binary::k_le, "le", kCompare); }
SL_OP(aten_less_equal_Tensor) { binary(args, out, Binary::k_le, "le", kCompare); }
SL_OP(aten_less_equal__Tensor) { binary_(args, out, Binary::k_le, "le", kCompare); }
SL_OP(aten_less_equal_Scalar) { binary(round_numbers(args), out, Binary::k_le, "le", kCompare); }
SL_OP(aten_less_equal__Scalar) { binary_(round_numbers(args), out, Binary::k_le, "le", kCompare); }
SL_OP(aten_gt_Tensor) { binary(args, out, Binary::k_gt, "gt", kCompare); }
SL_OP(aten_gt__Tensor) { binary_(args, out, Binary::k_gt, "gt", kCompare); }
SL_OP(aten_gt_Scalar) { binary(round_numbers(args), out, Binary::k_gt, "gt", kCompare); }
SL_OP(aten_gt__Scalar) { binary_(round_numbers(args), out, Binary::k_gt, "gt", kCompare); }
SL_OP(aten_greater_Tensor) { binary(args, out, Binary::k_gt, "gt", kCompare); }
SL_OP(aten_greater__Tensor) { binary_(args, out, Binary::k_gt, "gt", kCompare); }
SL_OP(aten_greater_Scalar) { binary(round_numbers(args), out, Binary::k_gt, "gt", kCompare); }
SL_OP(aten_greater__Scalar) { binary_(round_numbers(args), out, Binary::k_gt, "gt", kCompare); }
SL_OP(aten_ge_Tensor) { binary(args, out, Binary::k_ge, "ge", kCompare); }
SL_OP(aten_ge__Tensor) { binary_(args, out, Binary::k_ge, "ge", kCompare); }
SL_OP(aten_ge_Scalar) { binary(round_numbers(args), out, Binary::k_ge, "ge", kCompare); }
SL_OP(aten_ge__Scalar) { binary_(round_numbers(args), out, Binary::k_ge, "ge", kCompare); }
SL_OP(aten_greater_equal_Tensor) { binary(args, out, Binary::k_ge, "ge", kCompare); }
SL_OP(aten_greater_equal__Tensor) { binary_(args, out, Binary::k_ge, "ge", kCompare); }
SL_OP(aten_greater_equal_Scalar) { binary(round_numbers(args), out, Binary::k_ge, "ge", kCompare); }
SL_OP(aten_greater_equal__Scalar) {
  binary_(round_numbers(args), out, Binary::k_ge, "ge", kCompare);
}
SL_OP(aten_logical_and) { binary(args, out, Binary::k_logical_and, "logical_and", kCompare); }
SL_OP(aten_logical_and_) { binary_(args, out, Binary::k_logical_and, "logical_and", kCompare); }
SL_OP(aten_logical_or) { binary(args, out, Binary::k_logical_or, "logical_or", kCompare); }
SL_OP(aten_logical_or_) { binary_(args, out, Binary::k_logical_or, "logical_or", kCompare); }
SL_OP(aten_logical_xor) { binary(args, out, Binary::k_logical_xor, "logical_xor", kCompare); }
SL_OP(aten_logical_xor_) { binary_(args, out, Binary::k_logical_xor, "logical_xor", kCompare); }

}  // namespace scriptlang
