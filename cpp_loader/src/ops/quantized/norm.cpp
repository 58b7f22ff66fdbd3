// Normalisation and softmax of quantized tensors.
#include <cmath>

#include "ops/pointwise.h"
#include "quantized.h"

namespace scriptlang {

void op_aten_layer_norm(Context&, Args, Value*);
void op_aten_group_norm(Context&, Args, Value*);
void op_aten_instance_norm(Context&, Args, Value*);
void op_aten_softmax_int(Context&, Args, Value*);

namespace {

// The numbers go through a plain operator, whose further arguments are `rest`.
Tensor normalised(OpFn plain, Context& ctx, Args args, std::vector<Value> rest) {
  const Tensor& x = args.tensor(0);
  activation(x, "quantized normalisation");
  rest.insert(rest.begin(), Value(numbers_of(x)));
  Value made;
  plain(ctx, Args(rest.data(), int(rest.size())), &made);
  return encode(made.as_tensor(), x.dtype(), args.number(args.size() - 2),
                args.integer(args.size() - 1), Rounding::kFirst);
}

// A factor and a summand for each channel, in units of the result's scale.
Tensor batch_norm(Args args, bool relu) {
  const Tensor& x = args.tensor(0);
  const Quantizer& q = activation(x, "quantized::batch_norm");
  SL_CHECK(x.dim() >= 2, "quantized::batch_norm takes a tensor of at least two dimensions");
  int64_t channels = x.size(1), inner = 1;
  for (int64_t d = 2; d < x.dim(); ++d) inner *= x.size(d);
  auto floats = [&](const Tensor& t) {
    SL_CHECK(t.numel() == channels, "quantized::batch_norm: ", t.numel(), " parameters for ",
             channels, " channels");
    return plain_floats(t);
  };
  Tensor mean = floats(args.tensor(3)), var = floats(args.tensor(4)), weight, bias;
  if (!args.none(1)) weight = floats(args.tensor(1));
  if (!args.none(2)) bias = floats(args.tensor(2));
  float eps = float(args.number(5)), scale = float(args.number(6)), x_scale = float(q.scale);
  std::vector<float> factor, shift;
  for (int64_t c = 0; c < channels; ++c) {
    float gain = 1.0f / std::sqrt(var.data<float>()[c] + eps);
    if (weight.defined()) gain = gain * weight.data<float>()[c];
    float moved = -mean.data<float>()[c] * gain;
    moved = moved + (bias.defined() ? bias.data<float>()[c] : 0.0f);
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
  return requantized(y, x.dtype(), args.number(6), args.integer(7));
}

}  // namespace

#define SL_NORM(n)                                                             \
  SL_OP(quantized_batch_norm##n) { out[0] = batch_norm(args, false); }         \
  SL_OP(quantized_batch_norm##n##_relu) { out[0] = batch_norm(args, true); }
SL_NORM()
SL_NORM(1d)
SL_NORM(2d)
SL_NORM(3d)
#undef SL_NORM

SL_OP(quantized_layer_norm) {
  out[0] = normalised(op_aten_layer_norm, ctx, args,
                      {args[1], args[2], args[3], args[4], Value(false)});
}
SL_OP(quantized_group_norm) {
  out[0] = normalised(op_aten_group_norm, ctx, args,
                      {args[1], args[2], args[3], args[4], Value(false)});
}
SL_OP(quantized_instance_norm) {
  out[0] = normalised(op_aten_instance_norm, ctx, args,
                      {args[1], args[2], Value(), Value(), Value(true), Value(0.0), args[3],
                       Value(false)});
}
SL_OP(quantized_softmax) {
  out[0] = normalised(op_aten_softmax_int, ctx, args, {args[1], Value()});
}

}  // namespace scriptlang
