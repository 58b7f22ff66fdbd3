// Arithmetic and activations of quantized tensors.
#include "pointwise.h"

#include <algorithm>
#include <cmath>

#include "kernels/parallel.h"
#include "ops/layout.h"
#include "ops/linalg.h"
#include "ops/pointwise.h"
#include "ops/view.h"

namespace scriptlang {

using kernels::Binary;
using kernels::Encoding;
using kernels::Unary;

void op_aten_cat(Context&, Args, Value*);

namespace {

constexpr int64_t kGrain = 32768;

const kernels::QuantizedRowFunctions& rows() { return *kernels::kernels().quantized_rows; }

bool is_plain(const Tensor& x) { return is_plain_encoding(x.dtype(), x.quantizer()->zero_point); }

// A quantized tensor in the memory format that another one of its size suggests.
Tensor laid_like_first(const Tensor& x, const Tensor& first) {
  return laid_in(x, suggested_format(first));
}

kernels::Scaled scaled_of(const Quantizer& q) {
  float scale = float(q.scale);
  return {scale, -float(q.zero_point) * scale};
}

// PyTorch's pointwise kernels take so many codes at once with AVX-512, half as many with AVX2. They
// dequantize with a fused multiply-add, and round before they add the zero point. The codes that
// remain are computed one by one, with plain products, and sums that are rounded.
constexpr int64_t kBlock = 64;

int64_t in_blocks(int64_t n) { return n / kBlock * kBlock; }

// code * scale - zero point * scale, rounded once (a fused multiply-add).
Tensor fused_numbers(const Tensor& x) {
  kernels::Scaled s = scaled_of(*x.quantizer());
  Tensor wide = to_contiguous(to_dtype(codes_of(x), ScalarType::Float64));
  Tensor y = Tensor::empty(x.sizes(), ScalarType::Float32);
  for (int64_t i = 0; i < y.numel(); ++i) {
    y.data<float>()[i] = float(wide.data<double>()[i] * double(s.scale) + double(s.shift));
  }
  return laid_like(y, x);
}

// The number of a one-byte code in memory.
float number_of(const Tensor& x, int64_t i) {
  const Quantizer& q = *x.quantizer();
  int64_t code = is_signed_code(x.dtype()) ? static_cast<const int8_t*>(x.raw())[i]
                                           : static_cast<const uint8_t*>(x.raw())[i];
  return float(code - q.zero_point) * float(q.scale);
}

// Sets a one-byte code in memory to that of a number.
void set_code(const Tensor& y, int64_t i, float number) {
  int64_t low, high;
  code_limits(y.dtype(), &low, &high);
  const float inverse = 1.0f / float(y.quantizer()->scale);
  const int64_t code = code_of(number * inverse, y.quantizer()->zero_point, low, high);
  static_cast<uint8_t*>(y.raw())[i] = uint8_t(code);
}

Tensor numbers_times(const Tensor& x, double factor) {
  return binary_result(x, Scalar{double(float(factor))}, Binary::k_mul, "mul", Rule::kSame);
}

Tensor rectified(const Tensor& numbers, bool relu) {
  return relu ? unary_result(numbers, Unary::k_relu, "relu", Rule::kSame) : numbers;
}

Tensor add(Tensor a, Tensor b, double scale, int64_t zero_point, bool relu) {
  SL_CHECK(a.dtype() == b.dtype(), "Add operands should have same data type.");
  const Quantizer &qa = activation(a, "quantized::add"), &qb = activation(b, "quantized::add");
  if (a.sizes() == b.sizes()) {
    b = laid_like_first(b, a);
    a = laid(a);
  }
  if (a.sizes() != b.sizes() || !is_plain_encoding(a.dtype(), zero_point)) {
    Tensor total =
        binary_result(fused_numbers(a), fused_numbers(b), Binary::k_add, "add", Rule::kSame);
    Tensor y = encode(rectified(total, relu), a.dtype(), scale, zero_point, Rounding::kFirst);
    if (a.sizes() == total.sizes()) return laid_like_first(y, a);
    // A result without a place of its own lies as that of any pointwise operator.
    return with_quantizer(laid_like(codes_of(y), total), y.quantizer());
  }
  Tensor y = empty_quantized_like(codes_of(a), a.dtype(), scale, zero_point);
  Encoding e = encoding_of(a.dtype(), scale, zero_point);
  const uint8_t *x0 = static_cast<uint8_t*>(a.raw()), *x1 = static_cast<uint8_t*>(b.raw());
  uint8_t* to = static_cast<uint8_t*>(y.raw());
  const int64_t n = in_blocks(y.numel());
  kernels::parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    rows().add(end - begin, x0 + begin, scaled_of(qa), x1 + begin, scaled_of(qb),
               is_signed_code(a.dtype()), relu, e, to + begin);
  });
  for (int64_t i = n; i < y.numel(); ++i) {
    float sum = number_of(a, i) + number_of(b, i);
    set_code(y, i, relu ? std::max(sum, 0.0f) : sum);
  }
  return y;
}

// The exact products of codes minus zero points, as float32.
Tensor exact_products(const Tensor& a, const Tensor& b) {
  Tensor x = to_dtype(codes_of(a), ScalarType::Int64), y = to_dtype(codes_of(b), ScalarType::Int64);
  x = binary_result(x, Scalar(-a.quantizer()->zero_point), Binary::k_add, "add", Rule::kSame);
  y = binary_result(y, Scalar(-b.quantizer()->zero_point), Binary::k_add, "add", Rule::kSame);
  return to_dtype(binary_result(x, y, Binary::k_mul, "mul", Rule::kSame), ScalarType::Float32);
}

Tensor mul(Tensor a, Tensor b, double scale, int64_t zero_point, bool relu) {
  SL_CHECK(a.dtype() == b.dtype(), "Mul operands should have same data type.");
  const Quantizer &qa = activation(a, "quantized::mul"), &qb = activation(b, "quantized::mul");
  float ratio = float(qa.scale) * float(qb.scale) / float(scale);
  if (a.sizes() == b.sizes()) {
    b = laid_like_first(b, a);
    a = laid(a);
  }
  if (a.sizes() != b.sizes() || !is_plain(a) || !is_plain(b) ||
      !is_plain_encoding(a.dtype(), zero_point) || std::abs(qa.zero_point) > 1024 ||
      std::abs(qb.zero_point) > 1024) {
    Tensor products = rectified(exact_products(a, b), relu);
    Tensor y = requantized(numbers_times(products, ratio), a.dtype(), scale, zero_point);
    return laid_in(y, y.dim() == a.dim() ? suggested_format(a) : kContiguous);
  }
  Tensor y = empty_quantized_like(codes_of(a), a.dtype(), scale, zero_point);
  Encoding e = encoding_of(a.dtype(), scale, zero_point);
  e.factor = ratio;
  const uint8_t *x0 = static_cast<uint8_t*>(a.raw()), *x1 = static_cast<uint8_t*>(b.raw());
  uint8_t* to = static_cast<uint8_t*>(y.raw());
  kernels::parallel_for(y.numel(), kGrain, [&](int64_t begin, int64_t end) {
    rows().multiply(end - begin, x0 + begin, int32_t(qa.zero_point), x1 + begin,
                    int32_t(qb.zero_point), is_signed_code(a.dtype()), relu, e, to + begin);
  });
  return y;
}

Tensor wide_codes(const Tensor& x) { return to_dtype(laid(codes_of(x)), ScalarType::Int64); }

// Converts integers to codes of a quantized type.
Tensor as_codes(const Tensor& whole, ScalarType type) {
  return to_dtype(whole, type_of_codes(type));
}

Tensor at_least(const Tensor& whole, int64_t low) {
  return binary_result(whole, Scalar(low), Binary::k_maximum, "maximum", Rule::kSame);
}

// Adds a number by moving the zero point. The scale stays if the moved zero point is a valid code.
Tensor add_scalar(const Tensor& x, double value, bool relu) {
  const Quantizer& q = activation(x, "quantized::add_scalar");
  int64_t low, high;
  code_limits(x.dtype(), &low, &high);
  double whole = std::nearbyint(value / q.scale);
  SL_CHECK(std::abs(whole) < 0x1p31, "quantized::add_scalar: ", value,
           " is too far from the range "
           "of a tensor of scale ",
           q.scale);
  int64_t step = int64_t(whole), moved = q.zero_point - step;
  if (low <= moved && moved <= high) {
    Tensor codes = wide_codes(x);
    return quantized(as_codes(relu ? at_least(codes, moved) : codes, x.dtype()), q.scale, moved);
  }
  int64_t span = moved < low ? high - moved : moved - low;
  double new_scale = double(float(span) / float(high - low)) * q.scale;
  Tensor sums =
      binary_result(wide_codes(x), Scalar(step - q.zero_point), Binary::k_add, "add", Rule::kSame);
  sums = rectified(to_dtype(sums, ScalarType::Float32), relu);
  return requantized(numbers_times(sums, q.scale / new_scale), x.dtype(), new_scale,
                     moved < low ? low : high);
}

// Multiplies by a number: the scale is multiplied; the codes stay, or are mirrored if it is
// negative.
Tensor mul_scalar(const Tensor& x, double value, bool relu) {
  const Quantizer& q = activation(x, "quantized::mul_scalar");
  int64_t low, high;
  code_limits(x.dtype(), &low, &high);
  Tensor codes = wide_codes(x);
  double scale = q.scale * value;
  int64_t zero_point = q.zero_point;
  if (value == 0) {
    fill(codes, Scalar(int64_t{0}));
    scale = 0.1;
    zero_point = 0;
  } else if (!(value > 0)) {
    Tensor mirrored = binary_result(codes, Scalar(int64_t{-1}), Binary::k_mul, "mul", Rule::kSame);
    codes = binary_result(mirrored, Scalar(low + high), Binary::k_add, "add", Rule::kSame);
    scale = q.scale * std::abs(value);
    zero_point = high - (q.zero_point - low);
  }
  if (relu) codes = at_least(codes, zero_point);
  return quantized(as_codes(codes, x.dtype()), scale, zero_point);
}

void check_zero_point(ScalarType type, int64_t zero_point) {
  int64_t low, high;
  code_limits(type, &low, &high);
  SL_CHECK(zero_point >= low && zero_point <= high, "the zero point ", zero_point,
           " is outside of ", dtype_name(type));
}

Tensor matmul_codes(const Tensor& a, const Tensor& b, double scale, int64_t zero_point) {
  activation(a, "quantized::matmul");
  activation(b, "quantized::matmul");
  SL_CHECK(a.dtype() == b.dtype(), "MatMul operands should have same data type.");
  check_zero_point(a.dtype(), zero_point);
  Tensor products = to_contiguous(matmul(numbers_of(a), numbers_of(b)));
  return encode(products, a.dtype(), scale, zero_point);
}

Tensor cat(Context& ctx, Args args, bool relu) {
  std::vector<Tensor> parts = args.tensors(0);
  SL_CHECK(!parts.empty(), "quantized::cat takes at least one tensor");
  const Quantizer& first = activation(parts[0], "quantized::cat");
  double scale = args.number(2, first.scale);
  int64_t zero_point = args.integer(3, first.zero_point);
  ScalarType type = parts[0].dtype();
  for (const Tensor& part : parts) {
    activation(part, "quantized::cat");
    SL_CHECK(part.dtype() == type, "quantized::cat: all types must be the same");
  }
  check_zero_point(type, zero_point);
  for (Tensor& part : parts) {
    const Quantizer& q = *part.quantizer();
    bool same = q.scale == scale && q.zero_point == zero_point && !relu;
    if (!same) part = encode(rectified(numbers_of(part), relu), type, scale, zero_point);
    part = codes_of(part);
  }
  Value given[2] = {tensor_list(std::move(parts)), args[1]}, made;
  op_aten_cat(ctx, Args(given, 2), &made);
  return quantized(made.as_tensor(), scale, zero_point);
}

// Applies f to every number.
template <class F>
Tensor each_number(const Tensor& numbers, F f) {
  Tensor x = laid(numbers), y = Tensor::empty_like(x, ScalarType::Float32);
  for (int64_t i = 0; i < y.numel(); ++i) y.data<float>()[i] = f(x.data<float>()[i]);
  return y;
}

Tensor through(OpFn plain, Context& ctx, const Tensor& numbers, const std::vector<Value>& rest) {
  std::vector<Value> given{numbers};
  given.insert(given.end(), rest.begin(), rest.end());
  Value made;
  plain(ctx, Args(given.data(), int(given.size())), &made);
  return made.as_tensor();
}

// Applies a plain activation; its further arguments are those of the operator from `first` on.
Tensor activated(OpFn plain, Context& ctx, Args args, int first, int count, bool in_rows = false) {
  const Tensor& x = args.tensor(0);
  activation(x, "this operator");
  std::vector<Value> rest(args.data() + first, args.data() + first + count);
  return by_blocks(x, args.number(1), args.integer(2),
                   [&](const Tensor& numbers) { return through(plain, ctx, numbers, rest); },
                   {in_rows, {}});
}

// What PyTorch computes for a tensor without dimensions: slopes are not quantized there.
Tensor prelu_of_number(const Tensor& x, const Tensor& weight, double scale, int64_t zero_point) {
  SL_CHECK(weight.dtype() == ScalarType::Float32,
           "prelu: Type promoting not supported. Got Float and ",
           dtype_display_name(weight.dtype()));
  SL_CHECK(weight.numel() == 1, "quantized::prelu: ", weight.numel(), " slopes for a number");
  const float slope = plain_floats(weight).data<float>()[0];
  Tensor y = each_number(numbers_of(x), [&](float v) { return v > 0 ? v : v * slope; });
  return encode(y, x.dtype(), scale, zero_point);
}

// As in PyTorch, the slope of the positive side is the code of 1 in the slopes' quantizer, which is
// less than 1 where their range ends before 1.
Tensor prelu(const Tensor& x, const Tensor& weight, double scale, int64_t zero_point) {
  const Quantizer& q = activation(x, "quantized::prelu");
  if (x.dim() == 0) return prelu_of_number(x, weight, scale, zero_point);
  const Quantizer& w = activation(weight, "quantized::prelu");
  SL_CHECK(x.dtype() == weight.dtype(), "PReLU operands should have same data type.");
  int64_t channels = weight.numel(), inner = 1, low, high;
  SL_CHECK(channels == 1 || (x.dim() > 1 && x.size(1) == channels), "quantized::prelu: ", channels,
           " slopes for a tensor of size ", to_string(x.sizes()));
  for (int64_t d = 2; d < x.dim(); ++d) inner *= x.size(d);
  code_limits(weight.dtype(), &low, &high);
  int64_t one = code_of(1.0f / float(w.scale), w.zero_point, low, high) - w.zero_point;
  Tensor slopes = to_contiguous(to_dtype(codes_of(weight), ScalarType::Int64));
  Tensor codes = to_contiguous(to_dtype(codes_of(x), ScalarType::Int64));
  Tensor scaled = Tensor::empty(x.sizes(), ScalarType::Float32);
  const float ratio = float(q.scale) * float(w.scale) * (1.0f / float(scale));
  for (int64_t i = 0; i < x.numel(); ++i) {
    int64_t code = codes.data<int64_t>()[i] - q.zero_point;
    int64_t slope = code > 0 ? one : slopes.data<int64_t>()[i / inner % channels] - w.zero_point;
    scaled.data<float>()[i] = float(code * slope) * ratio;
  }
  return requantized(in_format_of(scaled, x), x.dtype(), scale, zero_point);
}

}  // namespace

Tensor by_blocks(const Tensor& given, double scale, int64_t zero_point,
                 const std::function<Tensor(const Tensor&)>& f, const Blocks& how) {
  Tensor x = laid(given);
  const int64_t format = how.in_rows ? kContiguous : suggested_format(x);
  if (x.dtype() == ScalarType::QInt32) {
    Tensor y = encode(f(numbers_of(x)), x.dtype(), scale, zero_point, Rounding::kFirst);
    return laid_in(y, format);
  }
  // Tensors of many codes are computed by tables of all 256.
  const bool has_tables = x.numel() >= 256;
  Tensor from = codes_of(x), codes = from;
  if (has_tables) {
    codes = Tensor::empty({256}, from.dtype());
    for (int i = 0; i < 256; ++i) codes.data<uint8_t>()[i] = uint8_t(i);
  }
  const Quantizer& q = *x.quantizer();
  Tensor all = quantized(codes, q.scale, q.zero_point);
  Tensor scaled = numbers_times(f(fused_numbers(all)), how.inverse.value_or(1.0f / float(scale)));
  Tensor block = requantized(scaled, x.dtype(), scale, zero_point);
  Tensor one = empty_quantized_like(codes, x.dtype(), scale, zero_point);
  Tensor numbers = laid(f(numbers_of(all)));
  for (int64_t i = 0; i < numbers.numel(); ++i) set_code(one, i, numbers.data<float>()[i]);
  Tensor y = empty_quantized_like(from, x.dtype(), scale, zero_point);
  const uint8_t *in = static_cast<uint8_t*>(from.raw()),
                *first = static_cast<uint8_t*>(block.raw()),
                *rest = static_cast<uint8_t*>(one.raw());
  uint8_t* to = static_cast<uint8_t*>(y.raw());
  // Results that lie in another order than the operand are computed one by one.
  const int64_t n = format == suggested_format(x) ? in_blocks(y.numel()) : 0;
  kernels::parallel_for(y.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const size_t at = has_tables ? in[i] : size_t(i);
      to[i] = i < n ? first[at] : rest[at];
    }
  });
  return laid_in(y, format);
}

Tensor clamped(const Tensor& x, Bound low, Bound high) {
  const Quantizer& q = activation(x, "clamp");
  int64_t least, most, from, to;
  code_limits(x.dtype(), &least, &most);
  float inverse = 1.0f / float(q.scale);
  from = low ? code_of(*low * inverse, q.zero_point, least, most) : least;
  to = high ? code_of(*high * inverse, q.zero_point, least, most) : most;
  if (x.dtype() == ScalarType::QInt32) {
    Tensor codes = at_least(laid(codes_of(x)), from);
    codes = binary_result(codes, Scalar(to), Binary::k_minimum, "minimum", Rule::kSame);
    return with_quantizer(codes, x.quantizer());
  }
  Tensor codes = laid(codes_of(x)), y = Tensor::empty_like(codes, codes.dtype());
  kernels::parallel_for(y.numel(), kGrain, [&](int64_t begin, int64_t end) {
    rows().clamp(end - begin, codes.data<uint8_t>() + begin, is_signed_code(x.dtype()),
                 int32_t(from), int32_t(to), y.data<uint8_t>() + begin);
  });
  return with_quantizer(y, x.quantizer());
}

#define SL_BINARY(name, relu)                                                                 \
  SL_OP(quantized_##name) {                                                                   \
    out[0] = SL_PLAIN(args.tensor(0), args.tensor(1), args.number(2), args.integer(3), relu); \
  }                                                                                           \
  SL_OP(quantized_##name##_Scalar) {                                                          \
    out[0] = SL_SCALAR(args.tensor(0), args.scalar(1).to_double(), relu);                     \
  }                                                                                           \
  SL_OP(quantized_##name##_Scalar2) {                                                         \
    out[0] = SL_SCALAR(args.tensor(1), args.scalar(0).to_double(), relu);                     \
  }
#define SL_WITH_NUMBER(name, relu)                                        \
  SL_OP(quantized_##name) {                                               \
    out[0] = SL_SCALAR(args.tensor(0), args.scalar(1).to_double(), relu); \
  }                                                                       \
  SL_OP(quantized_##name##_Tensor) {                                      \
    out[0] = SL_SCALAR(args.tensor(0), args.scalar(1).to_double(), relu); \
  }
#define SL_PLAIN add
#define SL_SCALAR add_scalar
SL_BINARY(add, false)
SL_BINARY(add_relu, true)
SL_WITH_NUMBER(add_scalar, false)
SL_WITH_NUMBER(add_scalar_relu, true)
#undef SL_PLAIN
#undef SL_SCALAR
#define SL_PLAIN mul
#define SL_SCALAR mul_scalar
SL_BINARY(mul, false)
SL_BINARY(mul_relu, true)
SL_WITH_NUMBER(mul_scalar, false)
SL_WITH_NUMBER(mul_scalar_relu, true)
#undef SL_PLAIN
#undef SL_SCALAR
#undef SL_BINARY
#undef SL_WITH_NUMBER

SL_OP(quantized_matmul) {
  out[0] = matmul_codes(args.tensor(0), args.tensor(1), args.number(2), args.integer(3));
}
SL_OP(quantized_cat) { out[0] = cat(ctx, args, false); }
SL_OP(quantized_cat_relu) { out[0] = cat(ctx, args, true); }

SL_OP(quantized_relu6) {
  Tensor x = args.tensor(0), made = clamped(x, Bound(0.0f), Bound(6.0f));
  if (args.boolean(1)) copy_into(codes_of(x), codes_of(made));
  out[0] = args.boolean(1) ? x : made;
}
SL_OP(quantized_clamp) {
  auto bound = [&](int i) {
    return args.none(i) ? Bound() : Bound(float(args.scalar(i).to_double()));
  };
  out[0] = clamped(args.tensor(0), bound(1), bound(2));
}
SL_OP(quantized_threshold) {
  const Tensor& x = args.tensor(0);
  const Quantizer& q = activation(x, "quantized::threshold");
  double least = args.scalar(1).to_double();
  float value = float(args.scalar(2).to_double());
  out[0] = by_blocks(x, q.scale, q.zero_point, [&](const Tensor& numbers) {
    return each_number(numbers, [&](float v) { return v > float(least) ? v : value; });
  });
}
SL_OP(quantized_leaky_relu) {
  const Tensor& x = args.tensor(0);
  activation(x, "quantized::leaky_relu");
  float slope = float(args.scalar(1).to_double());
  out[0] = by_blocks(x, args.number(3), args.integer(4), [&](const Tensor& numbers) {
    return each_number(numbers, [&](float v) { return v > 0 ? v : v * slope; });
  });
}
SL_OP(quantized_prelu) {
  out[0] = prelu(args.tensor(0), args.tensor(1), args.number(2), args.integer(3));
}

void op_aten_sigmoid(Context&, Args, Value*);
void op_aten_elu(Context&, Args, Value*);
SL_OP(quantized_hardswish) {
  const Tensor& x = args.tensor(0);
  activation(x, "this operator");
  auto f = [](float v) { return v * std::min(std::max(v + 3.0f, 0.0f), 6.0f) / 6.0f; };
  Blocks how;
  how.inverse = float(1.0 / args.number(1));  // as PyTorch computes it here
  out[0] = by_blocks(
      x, args.number(1), args.integer(2),
      [&](const Tensor& numbers) { return each_number(numbers, f); }, how);
}
SL_OP(quantized_sigmoid) { out[0] = activated(op_aten_sigmoid, ctx, args, 1, 0); }
SL_OP(quantized_elu) { out[0] = activated(op_aten_elu, ctx, args, 3, 3, true); }
SL_OP(quantized_celu) {
  const Tensor& x = args.tensor(0);
  activation(x, "quantized::celu");
  double alpha = args.scalar(3).to_double();
  SL_CHECK(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
  std::vector<Value> rest{Value(alpha), Value(1.0), Value(1.0 / alpha)};
  out[0] = by_blocks(
      x, args.number(1), args.integer(2),
      [&](const Tensor& numbers) { return through(op_aten_elu, ctx, numbers, rest); }, {true, {}});
}
SL_OP(quantized_dropout) {
  // As in PyTorch: the input, even in training; the output's parameters are ignored.
  activation(args.tensor(0), "quantized::dropout");
  out[0] = args[0];
}

}  // namespace scriptlang
