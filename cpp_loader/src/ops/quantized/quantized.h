// Shared by operators on quantized tensors.
#pragma once

#include "kernels/kernel_set.h"
#include "values/quantizer.h"
#include "ops/op.h"

namespace scriptlang {

// The quantizer of a tensor that is quantized per tensor; raises RuntimeError for others.
const Quantizer& activation(const Tensor& x, const char* name);
// The quantizer of a quantized tensor; raises RuntimeError for others, and where the channels of a
// per-channel quantizer do not fit the tensor's size.
const Quantizer& quantizer_of(const Tensor& x, const char* name);

// Returns the type; raises RuntimeError unless it is quantized.
ScalarType quantized_type(ScalarType type);
// The smallest and the largest code of a quantized type.
void code_limits(ScalarType type, int64_t* low, int64_t* high);
inline bool is_signed_code(ScalarType type) { return type == ScalarType::QInt8; }
// Whether the kernels for one-byte codes apply.
inline bool is_plain_encoding(ScalarType type, int64_t zero_point) {
  return type != ScalarType::QInt32 && zero_point >= -kernels::kLargestZero &&
         zero_point <= kernels::kLargestZero;
}
// The parameters of the encoding kernels; `factor` is the inverse of the scale.
kernels::Encoding encoding_of(ScalarType type, double scale, int64_t zero_point);

// A quantized tensor that shares the memory of `codes`.
Tensor quantized(const Tensor& codes, double scale, int64_t zero_point);
// Uninitialised quantized tensors: row-major, or with the strides of `x`, which is dense.
Tensor empty_quantized(IntSpan sizes, ScalarType type, double scale, int64_t zero_point);
Tensor empty_quantized_like(const Tensor& x, ScalarType type, double scale, int64_t zero_point);

// A tensor, quantized or not, in the memory format that its strides suggest, which is that of most
// results: itself, or a copy.
Tensor laid(const Tensor& x);
// A quantized tensor in a memory format: itself, or a copy.
Tensor laid_in(const Tensor& x, int64_t format);
// The memory format of what layers make of an image or a signal (an image of one row): channels
// last where the strides are exactly those of it, and not row-major as well.
int64_t exact_format(const Tensor& x);

// Dequantizes: the float32 values of the codes, in the suggested memory format.
Tensor numbers_of(const Tensor& x);
// As numbers_of; tensors that are not quantized are converted to float32.
Tensor numbers_of_either(const Tensor& x);
// PyTorch has two roundings. Where it quantizes numbers one by one, it adds the zero point and
// rounds the sum; its vector kernels round before they add it. The two differ for values halfway
// between integers when the zero point is odd.
enum class Rounding { kMovedFirst, kFirst };
// Quantizes float32 numbers. The codes have the memory format that the numbers suggest.
Tensor encode(const Tensor& numbers, ScalarType type, double scale, int64_t zero_point,
              Rounding rounding = Rounding::kMovedFirst);
// The code of a number that has been divided by the scale: shifted by the zero point, rounded,
// clamped.
int64_t code_of(float scaled, int64_t zero_point, int64_t low, int64_t high,
                Rounding rounding = Rounding::kMovedFirst);
// Quantizes float32 numbers that have been divided by the scale.
Tensor requantized(const Tensor& scaled, ScalarType type, double scale, int64_t zero_point,
                   Rounding rounding = Rounding::kFirst);
// The codes minus their zero point, as float32 in the suggested memory format.
Tensor centred_numbers(const Tensor& x);
// The tensor as row-major float32: itself, or a copy.
Tensor plain_floats(const Tensor& t);

// A copy of a tensor, quantized or not, in its own memory.
Tensor copied(const Tensor& x);
// Copies the codes of `from`, of the same type, into self's memory, and takes over its quantizer.
void take_codes(const Tensor& self, const Tensor& from);

// Chooses the scale and zero point so that codes from `low` to `high` cover all numbers of x, and
// 0.
void choose_parameters(const Tensor& x, int64_t low, int64_t high, double* scale,
                       int64_t* zero_point);

}  // namespace scriptlang
