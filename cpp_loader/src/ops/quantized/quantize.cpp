// Quantization, dequantization, and queries on quantized tensors.
#include <algorithm>
#include <cmath>

#include "kernels/parallel.h"
#include "values/type.h"
#include "ops/layout.h"
#include "ops/options.h"
#include "ops/pointwise.h"
#include "ops/view.h"
#include "quantized.h"

namespace scriptlang {

using kernels::Encoding;

namespace {

constexpr int64_t kGrain = 16384;
// Scales below this are raised to it: their inverse would lose too much.
constexpr double kSmallestScale = 6.1e-5;

const kernels::QuantizedRowFunctions& rows() { return *kernels::kernels().quantized_rows; }

// Calls f(begin, end) for pieces of n elements, in parallel. Tensors that it reads and writes have
// the same dense order of elements.
template <class F>
void each_piece(int64_t n, F f) {
  kernels::parallel_for(n, kGrain, f);
}

int64_t load_code(const void* codes, ScalarType type, int64_t i) {
  switch (type) {
    case ScalarType::QInt8: return static_cast<const int8_t*>(codes)[i];
    case ScalarType::QUInt8: return static_cast<const uint8_t*>(codes)[i];
    default: return static_cast<const int32_t*>(codes)[i];
  }
}

void store_code(void* codes, ScalarType type, int64_t i, int64_t code) {
  switch (type) {
    case ScalarType::QInt8: static_cast<int8_t*>(codes)[i] = int8_t(code); break;
    case ScalarType::QUInt8: static_cast<uint8_t*>(codes)[i] = uint8_t(code); break;
    default: static_cast<int32_t*>(codes)[i] = int32_t(code);
  }
}

// The channels of a row-major tensor: the element of index i has channel (i / inner) % count.
struct Channels {
  int64_t inner = 1, count = 1;
  std::vector<float> scales, zeros;
  std::vector<int64_t> whole_zeros;

  Channels(const Quantizer& q, IntSpan sizes) : count(sizes[q.axis]) {
    for (int64_t d = q.axis + 1; d < sizes.size; ++d) inner *= sizes[d];
    Tensor s = contiguous_as(q.scales, ScalarType::Float32);
    scales.assign(s.data<float>(), s.data<float>() + count);
    Tensor z =
        contiguous_as(q.zero_points, q.scheme == QuantScheme::PerChannelFloat ? ScalarType::Float32
                                                                              : ScalarType::Int64);
    for (int64_t i = 0; i < count; ++i) {
      bool is_float = q.scheme == QuantScheme::PerChannelFloat;
      zeros.push_back(is_float ? z.data<float>()[i] : float(z.data<int64_t>()[i]));
      whole_zeros.push_back(is_float ? 0 : z.data<int64_t>()[i]);
    }
  }
  size_t of(int64_t i) const { return size_t(i / inner % count); }
};

Tensor channel_numbers(const Tensor& x, const Quantizer& q) {
  const int64_t format = suggested_format(x);
  Tensor codes = to_contiguous(codes_of(x)), y = Tensor::empty(x.sizes(), ScalarType::Float32);
  Channels channels(q, x.sizes());
  bool is_float = q.scheme == QuantScheme::PerChannelFloat;
  float* to = y.data<float>();
  each_piece(x.numel(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t code = load_code(codes.raw(), x.dtype(), i);
      size_t c = channels.of(i);
      float centred =
          is_float ? float(code) - channels.zeros[c] : float(code - channels.whole_zeros[c]);
      to[i] = centred * channels.scales[c];
    }
  });
  return in_format(y, format);
}

Tensor encode_channels(const Tensor& numbers, ScalarType type, Quantizer* q) {
  Tensor x = to_contiguous(numbers), codes = Tensor::empty(x.sizes(), type_of_codes(type));
  Channels channels(*q, x.sizes());
  int64_t low, high;
  code_limits(type, &low, &high);
  const float* from = x.data<float>();
  each_piece(x.numel(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      size_t c = channels.of(i);
      float scaled = from[i] * (1.0f / channels.scales[c]) + channels.zeros[c];
      store_code(codes.raw(), type, i, code_of(scaled, 0, low, high));
    }
  });
  return with_quantizer(in_format_of(codes, numbers), q);
}

Ref<Quantizer> hold(Quantizer* q) { return Ref<Quantizer>(q); }

// Parameters as PyTorch keeps them: float64 and int64, or float32 both.
Ref<Quantizer> channel_quantizer(const Tensor& x, const Tensor& scales, const Tensor& zero_points,
                                 int64_t axis) {
  axis = wrap_dim(axis, x.dim());
  int64_t n = x.dim() ? x.size(axis) : 1;
  SL_CHECK(x.dim() > 0 && scales.dim() == 1 && scales.size(0) == n &&
               zero_points.sizes() == scales.sizes(),
           n, " channels, but scales of size ", to_string(scales.sizes()),
           " and zero points of size ", to_string(zero_points.sizes()));
  bool is_float = is_floating(zero_points.dtype());
  auto copy = [](const Tensor& t, ScalarType type) {
    Tensor made = Tensor::empty(t.sizes(), type);
    copy_into(made, t);
    return made;
  };
  return hold(Quantizer::per_channel(
      copy(scales, is_float ? ScalarType::Float32 : ScalarType::Float64),
      copy(zero_points, is_float ? ScalarType::Float32 : ScalarType::Int64), axis));
}

void check_float(const Tensor& x) {
  SL_CHECK(x.dtype() == ScalarType::Float32, "Quantize only works on Float Tensor, got ",
           dtype_name(x.dtype()));
}

Tensor quantize_per_tensor(const Tensor& x, double scale, int64_t zero_point, ScalarType dtype) {
  ScalarType type = quantized_type(dtype);
  int64_t low, high;
  code_limits(type, &low, &high);
  SL_CHECK(low <= zero_point && zero_point <= high, "the zero point ", zero_point,
           " is outside of ", dtype_name(type));
  check_float(x);
  return encode(x, type, scale, zero_point);
}

double only_float(const Tensor& t) { return Scalar::of(Value(t)).to_double(); }
int64_t only_int(const Tensor& t) { return Scalar::of(Value(t)).to_int(); }

Tensor dequantized(const Tensor& x) {
  if (is_quantized(x.dtype())) return numbers_of(x);
  if (x.dtype() == ScalarType::Float32) return x;
  Tensor y = Tensor::empty_like(x, ScalarType::Float32);
  copy_into(y, x);
  return y;
}

Value dequantized_any(const Value& v, int depth = 0) {
  SL_CHECK(depth < kMaxNesting, "a value is nested too deeply");
  auto all = [&](const auto& items) {
    std::vector<Value> made;
    for (const Value& item : items) made.push_back(dequantized_any(item, depth + 1));
    return made;
  };
  if (v.is_tensor()) return dequantized(v.as_tensor());
  if (v.is_list()) return List::make(all(v.as_list()), v.as_list().element);
  if (v.is_tuple()) return Tuple::make(all(v.as_tuple().items), v.as_tuple().named);
  return v;
}

Value dequantized_list(Args args) {
  std::vector<Tensor> made;
  for (const Tensor& t : args.tensors(0)) made.push_back(dequantized(t));
  return tensor_list(std::move(made));
}

Tensor copy_of_codes(const Tensor& x, int64_t format) {
  SL_CHECK(type_with_codes(x.dtype()) != ScalarType::Undefined,
           "codes are int8, uint8 or int32, not ", dtype_name(x.dtype()));
  Tensor made = empty_in_format(x.sizes(), x.dtype(), format);
  copy_into(made, x);
  return made;
}

const Quantizer& channels_of(const Tensor& x, const char* name) {
  const Quantizer* q = x.quantizer();
  SL_CHECK(q && !q->is_per_tensor(), name, " takes a tensor that is quantized per channel");
  return *q;
}

}  // namespace

const Quantizer& activation(const Tensor& x, const char* name) {
  const Quantizer* q = x.quantizer();
  SL_CHECK(q && q->is_per_tensor(), name,
           " takes a tensor that is quantized per tensor; quantize it first");
  return *q;
}

const Quantizer& quantizer_of(const Tensor& x, const char* name) {
  const Quantizer* q = x.quantizer();
  SL_CHECK(q != nullptr, name, " takes a quantized tensor");
  SL_CHECK(q->is_per_tensor() || (q->axis < x.dim() && x.size(q->axis) == q->scales.numel()),
           "a view of size ", to_string(x.sizes()), " has lost the channels it is quantized by");
  return *q;
}

ScalarType quantized_type(ScalarType type) {
  SL_CHECK(is_quantized(type), "the type of a quantized tensor is qint8, quint8 or qint32, not ",
           dtype_name(type));
  return type;
}

void code_limits(ScalarType type, int64_t* low, int64_t* high) {
  *low = type == ScalarType::QInt8 ? -128 : type == ScalarType::QUInt8 ? 0 : INT32_MIN;
  *high = type == ScalarType::QInt8 ? 127 : type == ScalarType::QUInt8 ? 255 : INT32_MAX;
}

Encoding encoding_of(ScalarType type, double scale, int64_t zero_point) {
  int64_t low, high;
  code_limits(type, &low, &high);
  return {1.0f / float(scale), int32_t(zero_point), int32_t(low), int32_t(high)};
}

Tensor quantized(const Tensor& codes, double scale, int64_t zero_point) {
  return with_quantizer(codes, hold(Quantizer::per_tensor(scale, zero_point)).get());
}

Tensor empty_quantized(IntSpan sizes, ScalarType type, double scale, int64_t zero_point) {
  return quantized(Tensor::empty(sizes, type_of_codes(type)), scale, zero_point);
}

Tensor empty_quantized_like(const Tensor& x, ScalarType type, double scale, int64_t zero_point) {
  return quantized(Tensor::empty_like(x, type_of_codes(type)), scale, zero_point);
}

Tensor laid(const Tensor& x) {
  if (!x.quantizer()) return in_format_of(x, x);
  return laid_in(x, suggested_format(x));
}

Tensor laid_in(const Tensor& x, int64_t format) {
  return with_quantizer(in_format(codes_of(x), format), x.quantizer());
}

int64_t exact_format(const Tensor& x) {
  const Tensor image = x.dim() == 3 ? view_unsqueeze(x, 2) : x;
  const int64_t format = image.dim() == 4   ? kChannelsLast
                         : image.dim() == 5 ? kChannelsLast3d
                                            : kContiguous;
  bool is = format != kContiguous && !image.is_contiguous() && is_in_format(image, format);
  return is ? format : kContiguous;
}

Tensor plain_floats(const Tensor& t) { return contiguous_as(t, ScalarType::Float32); }

Tensor numbers_of(const Tensor& x) {
  const Quantizer& q = quantizer_of(x, "dequantize");
  if (!q.is_per_tensor()) return channel_numbers(x, q);
  Tensor codes = laid(codes_of(x)), y = Tensor::empty_like(codes, ScalarType::Float32);
  float* to = y.data<float>();
  float scale = float(q.scale);
  bool is_plain = is_plain_encoding(x.dtype(), q.zero_point);
  each_piece(x.numel(), [&](int64_t begin, int64_t end) {
    if (is_plain) {
      rows().decode(end - begin, codes.data<uint8_t>() + begin, is_signed_code(x.dtype()),
                    int32_t(q.zero_point), scale, to + begin);
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      to[i] = float(load_code(codes.raw(), x.dtype(), i) - q.zero_point) * scale;
    }
  });
  return y;
}

Tensor numbers_of_either(const Tensor& x) {
  return is_quantized(x.dtype()) ? numbers_of(x) : to_dtype(x, ScalarType::Float32);
}

Tensor centred_numbers(const Tensor& x) {
  const Quantizer& q = quantizer_of(x, "this operator");
  Tensor unit = with_quantizer(codes_of(x), hold(Quantizer::per_tensor(1, q.zero_point)).get());
  SL_CHECK(q.is_per_tensor(), "this operator takes a tensor that is quantized per tensor");
  return numbers_of(unit);
}

int64_t code_of(float scaled, int64_t zero_point, int64_t low, int64_t high, Rounding rounding) {
  if (rounding == Rounding::kMovedFirst) {
    scaled = scaled + float(zero_point);
    zero_point = 0;
  }
  double whole = std::isnan(scaled) ? -0x1p31 : std::nearbyint(double(scaled));
  return int64_t(std::min(std::max(whole + double(zero_point), double(low)), double(high)));
}

static Tensor encode_scaled(const Tensor& numbers, float factor, ScalarType type, double scale,
                            int64_t zero_point, Rounding rounding) {
  Tensor x = laid(numbers), y = empty_quantized_like(x, type, scale, zero_point);
  const float* from = x.data<float>();
  Encoding e = encoding_of(type, scale, is_plain_encoding(type, zero_point) ? zero_point : 0);
  e.factor = factor;
  e.moved_first = rounding == Rounding::kMovedFirst;
  int64_t low, high;
  code_limits(type, &low, &high);
  each_piece(x.numel(), [&](int64_t begin, int64_t end) {
    if (is_plain_encoding(type, zero_point)) {
      rows().encode(end - begin, from + begin, e, static_cast<uint8_t*>(y.raw()) + begin);
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      store_code(y.raw(), type, i, code_of(from[i] * factor, zero_point, low, high, rounding));
    }
  });
  return y;
}

Tensor encode(const Tensor& numbers, ScalarType type, double scale, int64_t zero_point,
              Rounding rounding) {
  return encode_scaled(numbers, 1.0f / float(scale), type, scale, zero_point, rounding);
}

Tensor requantized(const Tensor& scaled, ScalarType type, double scale, int64_t zero_point,
                   Rounding rounding) {
  return encode_scaled(scaled, 1.0f, type, scale, zero_point, rounding);
}

Tensor copied(const Tensor& x) {
  Tensor from = x.quantizer() ? codes_of(x) : x, made = Tensor::empty_like(from, from.dtype());
  copy_into(made, from);
  return x.quantizer() ? with_quantizer(made, x.quantizer()) : made;
}

void take_codes(const Tensor& self, const Tensor& from) {
  SL_CHECK(self.dtype() == from.dtype(), "a tensor of ", dtype_name(from.dtype()),
           " cannot be written into one of ", dtype_name(self.dtype()));
  copy_into(codes_of(self), codes_of(from));
  if (from.quantizer() != self.quantizer()) set_quantizer(self, from.quantizer());
}

void choose_parameters(const Tensor& x, int64_t low, int64_t high, double* scale,
                       int64_t* zero_point) {
  float least = 0, most = 0;
  if (x.numel() > 0) rows().range(x.numel(), x.data<float>(), &least, &most);
  SL_CHECK(!std::isnan(least) && std::isfinite(most - least),
           "numbers of which one is not finite have no range to be quantized by");
  double smallest = std::min(double(least), 0.0), largest = std::max(double(most), 0.0);
  double step = (largest - smallest) / double(high - low);
  if (float(step) == 0 || std::isinf(1.0f / float(step))) step = 0.1;
  if (step < kSmallestScale) {
    double grown = kSmallestScale / step;
    if (smallest == 0) {
      largest = kSmallestScale * double(high - low);
    } else if (largest == 0) {
      smallest = -kSmallestScale * double(high - low);
    } else {
      smallest *= grown;
      largest *= grown;
    }
    step = kSmallestScale;
  }
  double from_low = double(low) - smallest / step, from_high = double(high) - largest / step;
  bool below = std::abs(double(low)) + std::abs(smallest / step) <
               std::abs(double(high)) + std::abs(largest / step);
  double zero = std::nearbyint(below ? from_low : from_high);
  *scale = step;
  *zero_point = int64_t(std::min(std::max(zero, double(low)), double(high)));
}

SL_OP(aten_quantize_per_tensor) {
  out[0] = quantize_per_tensor(args.tensor(0), args.number(1), args.integer(2), args.dtype(3));
}
SL_OP(aten_quantize_per_tensor_tensor_qparams) {
  out[0] = quantize_per_tensor(args.tensor(0), only_float(args.tensor(1)), only_int(args.tensor(2)),
                               args.dtype(3));
}
SL_OP(aten_quantize_per_tensor_tensors) {
  Tensor scales = contiguous_as(args.tensor(1), ScalarType::Float64);
  Tensor zeros = contiguous_as(args.tensor(2), ScalarType::Int64);
  std::vector<Tensor> made;
  for (const Tensor& t : args.tensors(0)) {
    int64_t i = int64_t(made.size());
    SL_CHECK(i < scales.numel() && i < zeros.numel(),
             "quantize_per_tensor: as many scales and "
             "zero points are needed as tensors");
    made.push_back(
        quantize_per_tensor(t, scales.data<double>()[i], zeros.data<int64_t>()[i], args.dtype(3)));
  }
  out[0] = tensor_list(std::move(made));
}
SL_OP(aten_quantize_per_channel) {
  ScalarType type = quantized_type(args.dtype(4));
  const Tensor& x = args.tensor(0);
  SL_CHECK(args.integer(3) >= 0 && args.integer(3) < x.dim(),
           "Channel axis out of range in per channel affine quantization. Got: ", args.integer(3),
           " Expected: [0, ", x.dim(), ")");
  Ref<Quantizer> q = channel_quantizer(x, args.tensor(1), args.tensor(2), args.integer(3));
  check_float(x);
  out[0] = encode_channels(x, type, q.get());
}
SL_OP(aten_quantize_per_tensor_dynamic) {
  ScalarType type = quantized_type(args.dtype(1));
  const Tensor& x = args.tensor(0);
  int64_t low, high, zero_point;
  double scale;
  code_limits(type, &low, &high);
  if (args.boolean(2)) {
    low = low < 0 ? -((-low + 1) / 2) : low / 2;
    high /= 2;
  }
  check_float(x);
  choose_parameters(plain_floats(x), low, high, &scale, &zero_point);
  out[0] = encode(x, type, scale, zero_point);
}

SL_OP(aten_dequantize_self) { out[0] = dequantized(args.tensor(0)); }
SL_OP(aten_dequantize_tensor) { out[0] = dequantized(args.tensor(0)); }
SL_OP(aten_dequantize_tensors) { out[0] = dequantized_list(args); }
SL_OP(aten_dequantize_list) { out[0] = dequantized_list(args); }
SL_OP(aten_dequantize_any) { out[0] = dequantized_any(args[0]); }

SL_OP(aten_q_scale) {
  const Quantizer* q = args.tensor(0).quantizer();
  SL_CHECK(q && q->is_per_tensor(), "q_scale takes a tensor that is quantized per tensor");
  out[0] = Value(q->scale);
}
SL_OP(aten_q_zero_point) {
  const Quantizer* q = args.tensor(0).quantizer();
  SL_CHECK(q && q->is_per_tensor(), "q_zero_point takes a tensor that is quantized per tensor");
  out[0] = Value(q->zero_point);
}
SL_OP(aten_q_per_channel_scales) {
  out[0] = channels_of(args.tensor(0), "q_per_channel_scales").scales;
}
SL_OP(aten_q_per_channel_zero_points) {
  out[0] = channels_of(args.tensor(0), "q_per_channel_zero_points").zero_points;
}
SL_OP(aten_q_per_channel_axis) {
  out[0] = Value(channels_of(args.tensor(0), "q_per_channel_axis").axis);
}
SL_OP(aten_qscheme) { out[0] = Value(int64_t(quantizer_of(args.tensor(0), "qscheme").scheme)); }
SL_OP(aten_int_repr) {
  const Tensor& x = args.tensor(0);
  SL_CHECK(is_quantized(x.dtype()), "int_repr takes a quantized tensor");
  out[0] = copy_of_codes(codes_of(x), suggested_format(x));
}
SL_OP(aten__make_per_tensor_quantized_tensor) {
  const Tensor& x = args.tensor(0);
  out[0] = quantized(copy_of_codes(x, suggested_format(x)), args.number(1), args.integer(2));
}
SL_OP(aten__make_per_channel_quantized_tensor) {
  Tensor codes = copy_of_codes(args.tensor(0), kContiguous);
  Ref<Quantizer> q = channel_quantizer(codes, args.tensor(1), args.tensor(2), args.integer(3));
  out[0] = with_quantizer(codes, q.get());
}
SL_OP(aten__empty_affine_quantized) {
  SL_CHECK(!args.none(1) && is_quantized(args.dtype(1)),
           "Creation of quantized tensor requires quantized dtype like torch.quint8");
  ScalarType type = quantized_type(options(args, 1, ScalarType::QUInt8));
  out[0] =
      quantized(Tensor::zeros(args.ints(0), type_of_codes(type)), args.number(5), args.integer(6));
}

}  // namespace scriptlang
