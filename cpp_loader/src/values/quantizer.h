// Quantizers: which numbers the stored integers (codes) of a quantized tensor stand for:
//
//     number = (code - zero point) * scale
//
// A tensor of a quantized type has a Quantizer in its header, shared by its views. A Quantizer is
// immutable.
#pragma once

#include "tensor.h"

namespace scriptlang {

// The schemes, numbered as in PyTorch. Nested is not a PyTorch scheme: it marks a tensor of padded
// sequences (ops/nested.h).
enum class QuantScheme : int8_t {
  PerTensor = 0,
  PerChannel = 1,
  PerChannelFloat = 4,
  Nested = 100
};

struct Quantizer {
  std::atomic<uint32_t> refs{1};
  QuantScheme scheme = QuantScheme::PerTensor;
  double scale = 1;        // PerTensor
  int64_t zero_point = 0;  // PerTensor
  int64_t axis = 0;        // of the channels
  Tensor scales;           // one per channel: float64; float32 with floating-point zero points
  Tensor zero_points;      // one per channel: int64 or float32

  // The caller owns the returned reference.
  static Quantizer* per_tensor(double scale, int64_t zero_point);
  // `scales` and `zero_points` have one dimension, equal sizes and any floating-point or integer
  // type; otherwise raises RuntimeError.
  static Quantizer* per_channel(Tensor scales, Tensor zero_points, int64_t axis);

  bool is_per_tensor() const { return scheme == QuantScheme::PerTensor; }
  void retain() noexcept { count_up(refs); }
  void release() noexcept {
    if (count_down(refs)) delete this;
  }
};

void destroy(Quantizer* quantizer) noexcept;  // for Ref

constexpr bool is_quantized(ScalarType t) {
  return t == ScalarType::QInt8 || t == ScalarType::QUInt8 || t == ScalarType::QInt32;
}

// The integer type of a quantized type's codes, and its inverse (Undefined if there is none).
constexpr ScalarType type_of_codes(ScalarType t) {
  return t == ScalarType::QInt8    ? ScalarType::Int8
         : t == ScalarType::QUInt8 ? ScalarType::UInt8
         : t == ScalarType::QInt32 ? ScalarType::Int32
                                   : ScalarType::Undefined;
}
constexpr ScalarType type_with_codes(ScalarType t) {
  return t == ScalarType::Int8    ? ScalarType::QInt8
         : t == ScalarType::UInt8 ? ScalarType::QUInt8
         : t == ScalarType::Int32 ? ScalarType::QInt32
                                  : ScalarType::Undefined;
}

// Returns a quantized tensor on the memory of `codes`, and retains `quantizer`. Raises RuntimeError
// if the codes are not int8, uint8 or int32.
Tensor with_quantizer(const Tensor& codes, Quantizer* quantizer);
// Returns the codes as an integer tensor on the same memory. Raises RuntimeError if `t` is not
// quantized.
Tensor codes_of(const Tensor& t);
// Replaces a tensor's quantizer; retains the new one.
void set_quantizer(const Tensor& t, Quantizer* quantizer);

}  // namespace scriptlang
