// Plain operators applied to quantized tensors: on codes or on dequantized numbers.
#include "plain.h"

#include <algorithm>
#include <cmath>

#include "ops/layout.h"
#include "ops/pointwise.h"
#include "ops/view.h"
#include "quantized.h"
#include "pointwise.h"

namespace scriptlang {

namespace {

// Results that hold codes become tensors quantized like x; indices and flags stay.
void rewrap(const Tensor& x, int outs, Value* results) {
  for (int i = 0; i < outs; ++i) {
    if (!results[i].is_tensor()) continue;
    const Tensor& t = results[i].as_tensor();
    if (t.dtype() == type_of_codes(x.dtype())) results[i] = with_quantizer(t, x.quantizer());
  }
}

// Whether two quantizers are the same, or have the same parameters.
bool is_alike(const Quantizer* a, const Quantizer* b) {
  return a == b || (a && b && a->is_per_tensor() && b->is_per_tensor() && a->scale == b->scale &&
                    a->zero_point == b->zero_point);
}

Tensor through_numbers(OpFn base, Context& ctx, Args args) {
  Value made;
  args[0] = numbers_of(args.tensor(0));
  base(ctx, args, &made);
  return made.as_tensor();
}

void in_fixed_range(OpFn base, Context& ctx, Args args, Value* results, double scale,
                    int64_t zero) {
  ScalarType type = args.tensor(0).dtype();
  int64_t moved = type == ScalarType::QInt8 ? zero - 128 : zero;
  results[0] = encode(through_numbers(base, ctx, args), type, scale, moved, Rounding::kFirst);
}

// PyTorch averages so many channels at once where they are innermost and the processor has AVX-512
// (half as many with AVX2), and the others one by one.
constexpr int64_t kBlock = 16;

// Applies an operator to the codes as numbers, minus their zero point. The result has a memory
// format. Its first channels are rounded before the zero point is added.
void in_codes(OpFn base, Context& ctx, Args args, Value* results, int64_t format,
              int64_t channels) {
  Tensor x = args.tensor(0);
  const Quantizer& q = activation(x, "this operator");
  args[0] = centred_numbers(x);
  Value made;
  base(ctx, args, &made);
  const Tensor& means = made.as_tensor();
  Tensor y = requantized(means, x.dtype(), q.scale, q.zero_point, Rounding::kMovedFirst);
  if (channels > 0) {
    Tensor first = requantized(view_narrow(means, 1, 0, channels), x.dtype(), q.scale, q.zero_point,
                               Rounding::kFirst);
    copy_into(view_narrow(codes_of(y), 1, 0, channels), codes_of(first));
  }
  results[0] = laid_in(y, format);
}

// Whether dimensions, each named once, are the last ones. None are all.
bool are_innermost(const Ints& dims, int64_t rank) {
  std::vector<int64_t> sorted;
  for (int64_t d : dims) sorted.push_back(wrap_dim(d, rank));
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != rank - int64_t(sorted.size() - i)) return false;
  }
  return true;
}

Bound bound(const Value& v) {
  return v.is_none() ? Bound() : Bound(float(Scalar::of(v).to_double()));
}

}  // namespace

namespace quantized_ways {

void on_codes(OpFn base, int outs, Context& ctx, Args args, Value* results) {
  Tensor x = args.tensor(0);
  args[0] = codes_of(x);
  base(ctx, args, results);
  rewrap(x, outs, results);
}

void on_laid_codes(OpFn base, int outs, Context& ctx, Args args, Value* results) {
  Tensor x = laid(args.tensor(0));
  args[0] = codes_of(x);
  base(ctx, args, results);
  rewrap(x, outs, results);
}

void in_rows(OpFn base, int, Context& ctx, Args args, Value* results) {
  Tensor x = args.tensor(0);
  args[0] = codes_of(x);
  base(ctx, args, results);
  results[0] = with_quantizer(to_contiguous(results[0].as_tensor()), x.quantizer());
}

void pooling(OpFn base, int, Context& ctx, Args args, Value* results) {
  Tensor x = args.tensor(0);
  args[0] = codes_of(x);
  base(ctx, args, results);
  results[0] = with_quantizer(in_format(results[0].as_tensor(), exact_format(x)), x.quantizer());
}

void cloning(OpFn base, int outs, Context& ctx, Args args, Value* results) {
  if (args.none(1)) args[1] = Value(int64_t{kContiguous});
  on_laid_codes(base, outs, ctx, args, results);
}

void moving(OpFn base, int, Context& ctx, Args args, Value* results) {
  Tensor x = args.tensor(0), codes = codes_of(x);
  auto seen_as = [](const Tensor& t, ScalarType type) {
    return Tensor::on_storage(t.storage(), type, t.sizes(), t.strides(), t.storage_offset());
  };
  args[0] = seen_as(codes, x.itemsize() == 1 ? ScalarType::UInt8 : ScalarType::Float32);
  Value made;
  base(ctx, args, &made);
  results[0] = with_quantizer(in_format(seen_as(made.as_tensor(), codes.dtype()), exact_format(x)),
                              x.quantizer());
}

void mean(OpFn base, int, Context& ctx, Args args, Value* results) {
  Tensor x = args.tensor(0);
  const Quantizer& q = activation(x, "this operator");
  bool has_dims = args.size() > 2 && !args.none(1);
  if (x.numel() == 0 || !x.is_contiguous() || (has_dims && !are_innermost(args.ints(1), x.dim()))) {
    results[0] = encode(through_numbers(base, ctx, args), x.dtype(), q.scale, q.zero_point);
    return;
  }
  args[0] = to_dtype(centred_numbers(x), ScalarType::Float64);
  Value made;
  base(ctx, args, &made);
  const Tensor means = to_contiguous(made.as_tensor());
  const float count = float(x.numel() / std::max<int64_t>(1, means.numel()));
  Tensor scaled = Tensor::empty(means.sizes(), ScalarType::Float32);
  const Tensor exact = to_dtype(means, ScalarType::Float64);
  for (int64_t i = 0; i < means.numel(); ++i) {
    float sum = float(std::nearbyint(exact.data<double>()[i] * double(count)));
    scaled.data<float>()[i] = sum / count;
  }
  results[0] = requantized(scaled, x.dtype(), q.scale, q.zero_point, Rounding::kMovedFirst);
}

void activating(OpFn base, int, Context& ctx, Args args, Value* results) {
  Tensor x = args.tensor(0);
  const Quantizer& q = activation(x, "this operator");
  results[0] = by_blocks(x, q.scale, q.zero_point, [&](const Tensor& numbers) {
    Value made;
    args[0] = numbers;
    base(ctx, args, &made);
    return made.as_tensor();
  });
}

void on_numbers(OpFn base, int, Context& ctx, Args args, Value* results) {
  Tensor x = args.tensor(0);
  const Quantizer& q = activation(x, "this operator");
  results[0] =
      encode(through_numbers(base, ctx, args), x.dtype(), q.scale, q.zero_point, Rounding::kFirst);
}

void averaging(OpFn base, int, Context& ctx, Args args, Value* results) {
  const Tensor x = args.tensor(0);
  // Volumes have channels last, also where the input is row-major.
  bool is_last = x.dim() == 5 || (x.dim() == 4 && is_in_format(x, kChannelsLast)) ||
                 (x.dim() == 3 && args.ints(1).size() == 1 &&
                  is_in_format(view_unsqueeze(x, 2), kChannelsLast));
  in_codes(base, ctx, args, results, x.dim() == 5 ? kChannelsLast3d : exact_format(x),
           is_last ? x.size(1) / kBlock * kBlock : 0);
}

void interpolating(OpFn base, int, Context& ctx, Args args, Value* results) {
  in_codes(base, ctx, args, results, exact_format(args.tensor(0)), 0);
}

void averaging_parts(OpFn base, int, Context& ctx, Args args, Value* results) {
  Tensor x = args.tensor(0);
  const Quantizer& q = activation(x, "this operator");
  Tensor centred = to_dtype(centred_numbers(x), ScalarType::Float64);
  int64_t n = args.ints(1).size();
  args[0] = centred;
  Value made;
  base(ctx, args, &made);
  Tensor means = to_contiguous(made.as_tensor());
  Tensor scaled = Tensor::empty(means.sizes(), ScalarType::Float32);
  for (int64_t i = 0; i < means.numel(); ++i) {
    int64_t count = 1, rest = i;
    for (int64_t d = x.dim() - 1; d >= x.dim() - n; --d) {
      int64_t in = x.size(d), out = means.size(d), at = rest % out;
      count *= ((at + 1) * in + out - 1) / out - at * in / out;
      rest /= out;
    }
    float sum = float(std::nearbyint(means.data<double>()[i] * double(count)));
    scaled.data<float>()[i] = sum * (1.0f / float(count));
  }
  Tensor y = requantized(scaled, x.dtype(), q.scale, q.zero_point, Rounding::kMovedFirst);
  results[0] = laid_in(y, exact_format(x));
}

void from_zero(OpFn base, int, Context& ctx, Args args, Value* results) {
  in_fixed_range(base, ctx, args, results, 1.0 / 256, 0);
}

void about_zero(OpFn base, int, Context& ctx, Args args, Value* results) {
  in_fixed_range(base, ctx, args, results, 2.0 / 256, 128);
}

void comparing(OpFn base, int, Context& ctx, Args args, Value* results) {
  for (int i = 0; i < 2; ++i) {
    if (args[i].is_tensor()) args[i] = numbers_of_either(args.tensor(i));
  }
  base(ctx, args, results);
}

void padding(OpFn base, int outs, Context& ctx, Args args, Value* results) {
  Tensor x = args.tensor(0);
  if (args.string(2) != "constant") {
    in_rows(base, outs, ctx, args, results);
    return;
  }
  {
    const Quantizer& q = activation(x, "pad");
    int64_t low, high;
    code_limits(x.dtype(), &low, &high);
    float number = float(args.number(3, 0.0)) * (1.0f / float(q.scale));
    args[3] = Value(double(code_of(number, q.zero_point, low, high)));
  }
  args[0] = codes_of(x);
  base(ctx, args, results);
  rewrap(x, 1, results);
}

void clamping(OpFn, int, Context&, Args args, Value* results) {
  results[0] = clamped(args.tensor(0), bound(args[1]), bound(args[2]));
}
void clamping_below(OpFn, int, Context&, Args args, Value* results) {
  results[0] = clamped(args.tensor(0), bound(args[1]), Bound());
}
void clamping_above(OpFn, int, Context&, Args args, Value* results) {
  results[0] = clamped(args.tensor(0), Bound(), bound(args[1]));
}
void relu(OpFn, int, Context&, Args args, Value* results) {
  results[0] = clamped(args.tensor(0), Bound(0.0f), Bound());
}
void relu6(OpFn, int, Context&, Args args, Value* results) {
  results[0] = clamped(args.tensor(0), Bound(0.0f), Bound(6.0f));
}
void joining(OpFn base, int, Context& ctx, Args args, Value* results) {
  std::vector<Tensor> parts = args.tensors(0);
  Tensor first = parts[0];
  for (Tensor& part : parts) {
    SL_CHECK(is_quantized(part.dtype()),
             "cat and stack take tensors that are all quantized, or none");
    if (part.dtype() != first.dtype() || !is_alike(part.quantizer(), first.quantizer())) {
      const Quantizer& q = activation(first, "cat");
      part = encode(numbers_of(part), first.dtype(), q.scale, q.zero_point);
    }
    part = codes_of(part);
  }
  args[0] = tensor_list(std::move(parts));
  base(ctx, args, results);
  rewrap(first, 1, results);
}

void equality(OpFn base, int, Context& ctx, Args args, Value* results) {
  const Tensor &x = args.tensor(0), &y = args.tensor(1);
  if (x.dtype() != y.dtype() || !x.quantizer() || !y.quantizer() ||
      !x.quantizer()->is_per_tensor() || !is_alike(x.quantizer(), y.quantizer())) {
    results[0] = Value(false);
    return;
  }
  Tensor a = codes_of(x), b = codes_of(y);
  args[0] = a;
  args[1] = b;
  base(ctx, args, results);
}

void copying(OpFn, int, Context&, Args args, Value* results) {
  Tensor self = args.tensor(0), source = args.tensor(1);
  SL_CHECK(is_quantized(self.dtype()),
           "a quantized tensor cannot be copied into a plain one; "
           "pass x.dequantize()");
  if (!is_quantized(source.dtype())) {
    const Quantizer& q = activation(self, "copy_");
    source = encode(plain_floats(source), self.dtype(), q.scale, q.zero_point);
  }
  take_codes(self, source);
  results[0] = self;
}

void converting(OpFn, int, Context&, Args args, Value* results) {
  const Tensor x = args.tensor(0);
  const Value& last = args[args.size() - 1];  // a memory format, if it is an int
  const int64_t format = last.is_int() ? last.as_int() : int64_t{kPreserve};
  bool as_it_is = format == kPreserve || suggested_format(x) == format;
  results[0] = as_it_is ? x : laid_in(x, format);
}

}  // namespace quantized_ways

}  // namespace scriptlang
