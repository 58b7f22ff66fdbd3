// What operators on quantized tensors share.
#pragma once

#include "kernels/kernel_set.h"
#include "values/quantizer.h"
#include "ops/op.h"

namespace scriptlang {

// The quantizer of a tensor that is quantized per tensor; raises RuntimeError for others.
const Quantizer& activation(const Tensor& x, const char* name);
// The quantizer of a quantized tensor; raises RuntimeError for others, and where parameters of
// channels do not fit the tensor.
const Quantizer& quantizer_of(const Tensor& x, const char* name);

// The type, when it is quantized; raises RuntimeError for others.
ScalarType quantized_type(ScalarType type);
// The smallest and the largest code.
void code_limits(ScalarType type, int64_t* low, int64_t* high);
inline bool is_signed_code(ScalarType type) { return type == ScalarType::QInt8; }
// Whether the kernels of one-byte codes apply.
inline bool is_plain_encoding(ScalarType type, int64_t zero_point) {
  return type != ScalarType::QInt32 && zero_point >= -kernels::kLargestZero &&
         zero_point <= kernels::kLargestZero;
}
// Of a type with one-byte codes. The factor is the inverse of the scale.
kernels::Encoding encoding_of(ScalarType type, double scale, int64_t zero_point);

// A quantized tensor over the memory of codes.
Tensor quantized(const Tensor& codes, double scale, int64_t zero_point);
// Without values; row-major, or with the strides of a tensor (see Tensor::empty_like).
Tensor empty_quantized(IntSpan sizes, ScalarType type, double scale, int64_t zero_point);
Tensor empty_quantized_like(const Tensor& x, ScalarType type, double scale, int64_t zero_point);

// What codes stand for, float32 with the strides of the codes.
Tensor numbers_of(const Tensor& x);
// The same of a tensor that may be plain.
Tensor numbers_of_either(const Tensor& x);
// PyTorch has two roundings: where it quantizes number by number, the zero point is added first and
// the sum rounded; its vector kernels round first. They differ for halves when the point is odd.
enum class Rounding { kMovedFirst, kFirst };
// The nearest codes of float32 numbers.
Tensor encode(const Tensor& numbers, ScalarType type, double scale, int64_t zero_point,
              Rounding rounding = Rounding::kMovedFirst);
// The code of a number in units of the scale: moved by the zero point, rounded, clamped.
int64_t code_of(float scaled, int64_t zero_point, int64_t low, int64_t high,
                Rounding rounding = Rounding::kMovedFirst);
// float32 numbers in units of the scale as codes.
Tensor requantized(const Tensor& scaled, ScalarType type, double scale, int64_t zero_point,
                   Rounding rounding = Rounding::kFirst);
// Codes without their zero point, float32; exact.
Tensor centred_numbers(const Tensor& x);
// float32, row-major: itself, or a copy.
Tensor plain_floats(const Tensor& t);

// A copy of a tensor, quantized or plain, in memory of its own.
Tensor copied(const Tensor& x);
// `self` becomes what `from`, of the same type, is, in its own memory.
void take_codes(const Tensor& self, const Tensor& from);

// (scale, zero point) for codes from `low` to `high` to hold all numbers, and 0.
void choose_parameters(const Tensor& x, int64_t low, int64_t high, double* scale,
                       int64_t* zero_point);

}  // namespace scriptlang
