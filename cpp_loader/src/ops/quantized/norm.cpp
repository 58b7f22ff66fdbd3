// Normalisation and softmax of quantized tensors.
#include <algorithm>
#include <cmath>

#include "ops/layout.h"
#include "ops/pointwise.h"
#include "quantized.h"

namespace scriptlang {

void op_aten_layer_norm(Context&, Args, Value*);
void op_aten_group_norm(Context&, Args, Value*);
void op_aten_instance_norm(Context&, Args, Value*);
void op_aten_softmax_int(Context&, Args, Value*);

namespace {

// The memory format of normalised images; that of volumes is row-major.
int64_t format_of_image(const Tensor& x) { return x.dim() == 4 ? exact_format(x) : kContiguous; }

// Dequantizes, applies a plain operator whose further arguments are `rest`, and quantizes the
// result, in a memory format.
Tensor normalised(OpFn plain, Context& ctx, Args args, int64_t format, std::vector<Value> rest) {
  const Tensor& x = args.tensor(0);
  activation(x, "quantized normalisation");
  rest.insert(rest.begin(), Value(numbers_of(x)));
  Value made;
  plain(ctx, Args(rest.data(), int(rest.size())), &made);
  return encode(in_format(made.as_tensor(), format), x.dtype(), args.number(args.size() - 2),
                args.integer(args.size() - 1), Rounding::kFirst);
}

// Applies a factor and a summand for each channel, in units of the result's scale.
Tensor batch_norm(Args args, std::initializer_list<int64_t> ranks, bool relu) {
  const Tensor& x = args.tensor(0);
  const Quantizer& q = activation(x, "quantized::batch_norm");
  SL_CHECK(!args.none(1), "Weight must be provided");
  SL_CHECK(!args.none(2), "Bias must be provided");
  SL_CHECK(x.numel() == 0 || std::find(ranks.begin(), ranks.end(), x.dim()) != ranks.end(),
           "an input of ", x.dim(), " dimensions is not what this quantized::batch_norm takes");
  SL_CHECK(x.dim() >= 2, "quantized::batch_norm takes a tensor of at least two dimensions");
  int64_t channels = x.size(1), inner = 1;
  for (int64_t d = 2; d < x.dim(); ++d) inner *= x.size(d);
  auto floats = [&](const Tensor& t, const char* what) {
    SL_CHECK(t.dtype() == ScalarType::Float32, "expected scalar type Float but found ",
             dtype_display_name(t.dtype()));
    SL_CHECK(t.numel() == channels, what, " size must match channel dimension");
    return plain_floats(t);
  };
  Tensor weight = floats(args.tensor(1), "Weight"), bias = floats(args.tensor(2), "Bias");
  Tensor mean = floats(args.tensor(3), "Mean"), var = floats(args.tensor(4), "Variance");
  float eps = float(args.number(5)), scale = float(args.number(6)), x_scale = float(q.scale);
  std::vector<float> factor, shift;
  for (int64_t c = 0; c < channels; ++c) {
    float gain = 1.0f / std::sqrt(var.data<float>()[c] + eps);
    gain = gain * weight.data<float>()[c];
    float moved = -mean.data<float>()[c] * gain + bias.data<float>()[c];
    factor.push_back(x_scale * gain / scale);
    shift.push_back(moved / scale);
  }
  Tensor y = to_contiguous(centred_numbers(x));
  float* v = y.data<float>();
  for (int64_t i = 0; i < y.numel(); ++i) {
    size_t c = size_t(i / inner % channels);
    v[i] = v[i] * factor[c] + shift[c];
    if (relu && v[i] < 0) v[i] = 0;
  }
  // Images have channels last, also where the input is row-major.
  int64_t format = x.dim() == 4 ? kChannelsLast : x.dim() == 5 ? kChannelsLast3d : kContiguous;
  return requantized(in_format(y, format), x.dtype(), args.number(6), args.integer(7));
}

}  // namespace

#define SL_NORM(n, ...)                                                               \
  SL_OP(quantized_batch_norm##n) { out[0] = batch_norm(args, {__VA_ARGS__}, false); } \
  SL_OP(quantized_batch_norm##n##_relu) { out[0] = batch_norm(args, {__VA_ARGS__}, true); }
SL_NORM(, 2, 3, 4, 5)
SL_NORM(1d, 2, 3)
SL_NORM(2d, 4)
SL_NORM(3d, 5)
#undef SL_NORM

SL_OP(quantized_layer_norm) {
  out[0] = normalised(op_aten_layer_norm, ctx, args, kContiguous,
                      {args[1], args[2], args[3], args[4], Value(false)});
}
SL_OP(quantized_group_norm) {
  out[0] = normalised(op_aten_group_norm, ctx, args, format_of_image(args.tensor(0)),
                      {args[1], args[2], args[3], args[4], Value(false)});
}
SL_OP(quantized_instance_norm) {
  out[0] = normalised(
      op_aten_instance_norm, ctx, args, format_of_image(args.tensor(0)),
      {args[1], args[2], Value(), Value(), Value(true), Value(0.0), args[3], Value(false)});
}
SL_OP(quantized_softmax) {
  out[0] = normalised(op_aten_softmax_int, ctx, args, kContiguous, {args[1], Value()});
}

}  // namespace scriptlang
