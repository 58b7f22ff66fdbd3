// Quantizers: construction, and attaching them to tensors.
#include "quantizer.h"

#include "raw_view.h"

namespace scriptlang {

void destroy(Quantizer* quantizer) noexcept { delete quantizer; }

Quantizer* Quantizer::per_tensor(double scale, int64_t zero_point) {
  Quantizer* made = new Quantizer;
  made->scale = scale;
  made->zero_point = zero_point;
  return made;
}

Quantizer* Quantizer::per_channel(Tensor scales, Tensor zero_points, int64_t axis) {
  SL_CHECK(scales.dim() == 1 && zero_points.sizes() == scales.sizes() && axis >= 0,
           "scales of size ", to_string(scales.sizes()), " and zero points of size ",
           to_string(zero_points.sizes()), " are no parameters of channels");
  auto number = [](const Tensor& t) {
    return is_floating(t.dtype()) || is_integral(t.dtype(), false);
  };
  SL_CHECK(number(scales) && number(zero_points),
           "the parameters of a quantized tensor are no numbers");
  Quantizer* made = new Quantizer;
  made->scheme =
      is_floating(zero_points.dtype()) ? QuantScheme::PerChannelFloat : QuantScheme::PerChannel;
  made->axis = axis;
  made->scales = std::move(scales);
  made->zero_points = std::move(zero_points);
  return made;
}

Tensor with_quantizer(const Tensor& codes, Quantizer* quantizer) {
  ScalarType type = type_with_codes(codes.dtype());
  SL_CHECK(type != ScalarType::Undefined, "codes are int8, uint8 or int32, not ",
           dtype_name(codes.dtype()));
  SL_CHECK(quantizer != nullptr, "a quantized tensor has lost its parameters");
  // Geometry and element size are those of `codes`, so all elements are inside.
  Tensor t = unchecked_on_storage(codes.storage(), type, codes.sizes(), codes.strides(),
                                  codes.storage_offset());
  quantizer->retain();
  t.impl()->quantizer = quantizer;
  return t;
}

Tensor codes_of(const Tensor& t) {
  SL_CHECK(is_quantized(t.dtype()), "a tensor of ", dtype_name(t.dtype()), " is not quantized");
  // Geometry and element size are those of `t`, so all elements are inside.
  return unchecked_on_storage(t.storage(), type_of_codes(t.dtype()), t.sizes(), t.strides(),
                              t.storage_offset());
}

void set_quantizer(const Tensor& t, Quantizer* quantizer) {
  SL_CHECK(quantizer != nullptr, "a quantized tensor has lost its parameters");
  quantizer->retain();
  if (t.impl()->quantizer) t.impl()->quantizer->release();
  t.impl()->quantizer = quantizer;
}

}  // namespace scriptlang
