// Linear layers on quantized tensors, and dynamic ones, which quantize their input themselves.
#include <algorithm>
#include <cstring>

#include "values/prepared.h"
#include "ops/linalg.h"
#include "ops/pointwise.h"
#include "packed.h"
#include "product.h"
#include "ops/view.h"

namespace scriptlang {

using kernels::QuantizedProduct;
using kernels::Sums;

namespace {

constexpr int64_t kPackedLinear = 201;  // purpose of Prepared::Key
constexpr float kLargestHalf = 65504.0f;

void check_weight(const Tensor& w, const char* name) {
  SL_CHECK(w.dtype() == ScalarType::QInt8 && w.dim() == 2, name, " takes a weight of qint8, not ",
           dtype_name(w.dtype()), " of ", w.dim(), " dimensions");
  SL_CHECK(w.size(1) <= kMostProducts, name, " of ", w.size(1),
           " inputs: sums of so many products "
           "do not fit 32 bits");
}

CodeMatrix packed_matrix(const Tensor& weight) {
  int64_t n = weight.size(0), k = weight.size(1), bytes = code_matrix_bytes(k, n);
  const float* packed = Prepared::get(weight.storage(), Prepared::Key(weight, kPackedLinear),
                                      (bytes + 3) / 4, [&](float* to) {
                                        Tensor codes = to_contiguous(codes_of(weight));
                                        pack_matrix(k, n, codes.data<int8_t>(), k, to);
                                      });
  return matrix_at(k, n, packed);
}

std::vector<int64_t> result_sizes(const Tensor& x, const Tensor& weight) {
  SL_CHECK(x.dim() >= 1 && x.size(x.dim() - 1) == weight.size(1), "an input of size ",
           to_string(x.sizes()), " does not fit a weight of size ", to_string(weight.sizes()));
  std::vector<int64_t> sizes(x.sizes().begin(), x.sizes().end());
  sizes.back() = weight.size(0);
  return sizes;
}

constexpr int64_t in_words(int64_t k) { return (k + 3) / 4 * 4; }

struct Run {
  const LinearWeights& w;
  float x_scale;
  int64_t x_zero;  // of codes from 0 to 255
  Finish finish;
};

// Computes all rows. Where `direct` is null, `fill` is used as in multiply_codes.
template <class Fill>
void run(const Run& r, int64_t m, const uint8_t* direct, void* to, ScalarType type, Fill fill) {
  const Quantizer& q = quantizer_of(r.w.weight, "a linear layer");
  SL_CHECK(q.is_per_tensor() || q.axis == 0, "a weight quantized along dimension ", q.axis);
  CodeMatrix matrix = packed_matrix(r.w.weight);
  ColumnTerms terms = column_terms(q, matrix.column_sums, matrix.k, 0, matrix.n, r.x_scale,
                                   r.x_zero, r.w.bias, r.finish);
  QuantizedProduct p;
  p.m = m;
  p.n = matrix.n;
  p.k = matrix.k;
  p.a = direct;
  p.a_row = direct ? matrix.k : in_words(matrix.k);
  p.offset = terms.offset.data();
  p.b_zero = terms.zeros.empty() ? nullptr : terms.zeros.data();
  p.bias = r.w.bias.defined() ? terms.bias.data() : nullptr;
  p.factor = terms.factor.data();
  p.sums = r.finish.sums;
  p.relu = r.finish.relu;
  if (p.sums == Sums::kCodes) p.encoding = encoding_of(type, r.finish.scale, r.finish.zero_point);
  p.c = to;
  p.c_row = matrix.n;
  multiply_codes(p, matrix, fill);
}

Tensor linear_codes(const Tensor& x, const LinearWeights& w, const Finish& finish) {
  const Quantizer& q = activation(x, "quantized::linear");
  check_weight(w.weight, "quantized::linear");
  SL_CHECK(
      is_plain_encoding(x.dtype(), q.zero_point) && is_plain_encoding(x.dtype(), finish.zero_point),
      "quantized::linear takes inputs of quint8 or qint8 with zero points of that range");
  Tensor y = empty_quantized(result_sizes(x, w.weight), x.dtype(), finish.scale, finish.zero_point);
  if (y.numel() == 0) return y;
  Tensor codes = to_contiguous(codes_of(x));
  int64_t k = w.weight.size(1), m = y.numel() / w.weight.size(0);
  const uint8_t* from = codes.data<uint8_t>();
  bool is_signed = is_signed_code(x.dtype());
  bool direct = !is_signed && k % 4 == 0;
  Run r{w, float(q.scale), unsigned_zero(x.dtype(), q.zero_point), finish};
  run(r, m, direct ? from : nullptr, y.raw(), x.dtype(),
      [&](int64_t begin, int64_t end, uint8_t* to) {
        for (int64_t row = begin; row < end; ++row, to += in_words(k)) {
          std::memcpy(to, from + row * k, size_t(k));
          for (int64_t i = 0; is_signed && i < k; ++i) to[i] ^= 0x80;
        }
      });
  return y;
}

Value dense(const Value& bias) {
  return bias.is_tensor() ? Value(to_contiguous(bias.as_tensor())) : bias;
}

}  // namespace

Tensor dynamic_product(const Tensor& input, const LinearWeights& w, bool reduce_range, bool relu) {
  Tensor x = plain_floats(input);
  if (!is_quantized(w.weight.dtype())) {
    Tensor y =
        linear(x, plain_floats(w.weight), w.bias.defined() ? plain_floats(w.bias) : Tensor());
    return relu ? unary_result(y, kernels::Unary::k_relu, "relu", Rule::kSame) : y;
  }
  check_weight(w.weight, "quantized::linear_dynamic");
  Tensor y = Tensor::empty(result_sizes(x, w.weight), ScalarType::Float32);
  double scale;
  int64_t zero;
  choose_parameters(x, 0, reduce_range ? 127 : 255, &scale, &zero);
  if (y.numel() == 0) return y;
  kernels::Encoding e = encoding_of(ScalarType::QUInt8, scale, zero);
  e.moved_first = true;
  Finish finish;
  finish.sums = Sums::kNumbers;
  finish.relu = relu;
  int64_t k = w.weight.size(1), m = y.numel() / w.weight.size(0);
  const float* from = x.data<float>();
  Run r{w, float(scale), zero, finish};
  const kernels::QuantizedRowFunctions& rows = *kernels::kernels().quantized_rows;
  run(r, m, nullptr, y.raw(), ScalarType::QUInt8, [&](int64_t begin, int64_t end, uint8_t* to) {
    for (int64_t row = begin; row < end; ++row, to += in_words(k)) {
      rows.encode(k, from + row * k, e, to);
    }
  });
  return y;
}

namespace {

const Tensor& floats_in(Args args) {
  const Tensor& x = args.tensor(0);
  SL_CHECK(x.dtype() == ScalarType::Float32, "expected scalar type Float but found ",
           dtype_display_name(x.dtype()));
  return x;
}

}  // namespace

SL_OP(quantized_linear_prepack) {
  const Tensor& weight = args.tensor(0);
  SL_CHECK(weight.dtype() == ScalarType::QInt8, "linear_prepack takes a weight of qint8");
  out[0] = packed_object(kLinearParams, {args[0], dense(args[1])});
}
SL_OP(quantized_linear_prepack_fp16) {
  if (args.tensor(0).dim() < 2) {
    raise(ErrorKind::IndexError, "linear_prepack_fp16 takes a matrix, not ", args.tensor(0).dim(),
          " dimensions");
  }
  Tensor numbers = plain_floats(args.tensor(0)),
         kept = Tensor::empty(numbers.sizes(), ScalarType::Float32);
  for (int64_t i = 0; i < kept.numel(); ++i) {
    float v = std::min(std::max(numbers.data<float>()[i], -kLargestHalf), kLargestHalf);
    kept.data<float>()[i] = float(float16(v));
  }
  out[0] = packed_object(kLinearParams, {kept, dense(args[1])});
}
SL_OP(quantized_linear_unpack) {
  const Tuple::Items& state = state_of(args[0], kLinearParams);
  SL_CHECK(state.size() >= 2, "a packed linear layer is malformed");
  Value weight = copied(state[0].as_tensor()), bias = state[1];
  out[0] = weight;
  out[1] = bias;
}
SL_OP(quantized_linear_unpack_fp16) { op_quantized_linear_unpack(ctx, args, out); }

#define SL_LINEAR(name, is_relu)                                                                  \
  SL_OP(quantized_linear##name) {                                                                 \
    Finish finish;                                                                                \
    finish.relu = is_relu;                                                                        \
    finish.scale = args.number(2);                                                                \
    finish.zero_point = args.integer(3);                                                          \
    out[0] = linear_codes(args.tensor(0), linear_weights(args[1]), finish);                       \
  }                                                                                               \
  SL_OP(quantized_linear##name##_dynamic) {                                                       \
    out[0] = dynamic_product(floats_in(args), linear_weights(args[1]), args.boolean(2), is_relu); \
  }                                                                                               \
  SL_OP(quantized_linear##name##_dynamic_fp16) {                                                  \
    out[0] = dynamic_product(floats_in(args), linear_weights(args[1]), false, is_relu);           \
  }
SL_LINEAR(, false)
SL_LINEAR(_relu, true)
#undef SL_LINEAR

}  // namespace scriptlang
