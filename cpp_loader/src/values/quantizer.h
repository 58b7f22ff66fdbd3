// Quantizers: what numbers the integers (codes) of a quantized tensor stand for:
//
//     number = (code - zero point) * scale
//
// A tensor of a quantized type has a Quantizer in its header, which its views share. A Quantizer
// never changes.
#pragma once

#include "tensor.h"

namespace scriptlang {

// The schemes, numbered as in PyTorch.
// Nested is no scheme of PyTorch: it marks a tensor of padded sequences (ops/nested.h).
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
  Tensor scales;           // of the channels: float64; float32 when zero points are numbers
  Tensor zero_points;      // of the channels: int64, or float32

  // One reference for the caller.
  static Quantizer* per_tensor(double scale, int64_t zero_point);
  // Takes tensors of any float and int types, with one dimension and equal sizes; else raises
  // RuntimeError.
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

// The type of a quantized type's codes, and the other way round (Undefined where there is none).
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

// The tensor of a quantized type over the memory of its codes; `quantizer` is retained.
Tensor with_quantizer(const Tensor& codes, Quantizer* quantizer);
// The codes, as a tensor over the same memory. Raises RuntimeError when `t` is not quantized.
Tensor codes_of(const Tensor& t);
// Replaces a tensor's quantizer; retains the new one.
void set_quantizer(const Tensor& t, Quantizer* quantizer);

}  // namespace scriptlang
