// Quantized convolutions, and operators on the objects that hold their weights.
#include "conv.h"

#include "values/type.h"
#include "ops/pointwise.h"
#include "ops/view.h"

namespace scriptlang {

using kernels::Sums;

namespace {

const char* class_of_conv(int n) { return n == 3 ? kConv3dParams : kConv2dParams; }

[[noreturn]] void malformed() {
  raise(ErrorKind::RuntimeError, "a packed convolution is malformed");
}

const Tensor& tensor_in(const Value& v) {
  if (!v.is_tensor()) malformed();
  return v.as_tensor();
}

Tensor optional_in(const Value& v) { return v.is_none() ? Tensor() : tensor_in(v); }

int64_t number_in(const Value& v) {
  if (v.is_int()) return v.as_int();
  const Tensor& t = tensor_in(v);
  if (t.numel() != 1) malformed();
  return Scalar::of(v).to_int();
}

// Reads the first version of a state: (weight, bias, strides, paddings, dilations, groups), with
// the numbers in tensors.
Convolution first_version(const Tuple::Items& state) {
  Convolution c;
  c.weight = tensor_in(state[0]);
  c.bias = optional_in(state[1]);
  std::vector<int64_t>* lists[] = {&c.stride, &c.padding, &c.dilation};
  for (size_t i = 0; i < 3; ++i) {
    for (const Value& item : state[2 + i].as_list()) lists[i]->push_back(number_in(item));
    if (int64_t(lists[i]->size()) != c.weight.dim() - 2) malformed();
  }
  c.output_padding.assign(c.stride.size(), 0);
  c.groups = number_in(state[5]);
  return c;
}

// Reads the numbers of a state: spatial dimensions, strides, paddings, dilations, output paddings,
// groups, flags.
void take_numbers(Convolution& c, const std::vector<int64_t>& numbers) {
  int64_t d = numbers.empty() ? 0 : numbers[0];
  if ((d != 2 && d != 3) || int64_t(numbers.size()) < 4 * d + 3) malformed();
  std::vector<int64_t>* lists[] = {&c.stride, &c.padding, &c.dilation, &c.output_padding};
  for (int64_t i = 0; i < 4; ++i) {
    lists[i]->assign(numbers.begin() + 1 + i * d, numbers.begin() + 1 + (i + 1) * d);
  }
  c.groups = numbers[size_t(1 + 4 * d)];
  c.transposed = numbers[size_t(2 + 4 * d)] & 1;
}

std::vector<int64_t> per_dimension(const Value& v, int n) {
  Ints given(v, n);
  SL_CHECK(given.size() == n, "expected ", n, " numbers for a convolution, got ", given.size());
  return {given.begin(), given.end()};
}

Value prepacked(Args args, int n, bool transposed) {
  Convolution c;
  c.weight = args.tensor(0);
  c.bias = args.opt_tensor(1);
  SL_CHECK(c.weight.dtype() == ScalarType::QInt8 && c.weight.dim() == n + 2,
           "a quantized convolution takes a weight of qint8 and ", n + 2, " dimensions");
  c.stride = per_dimension(args[2], n);
  c.padding = per_dimension(args[3], n);
  c.output_padding = transposed ? per_dimension(args[4], n) : std::vector<int64_t>(size_t(n), 0);
  c.dilation = per_dimension(args[transposed ? 5 : 4], n);
  c.groups = args.integer(transposed ? 6 : 5);
  c.transposed = transposed;
  if (n == 1) {  // as images of one row
    IntSpan size = c.weight.sizes(), step = c.weight.strides();
    c.weight = c.weight.as_strided({size[0], size[1], 1, size[2]},
                                   {step[0], step[1], step[2], step[2]}, c.weight.storage_offset());
    c.stride.insert(c.stride.begin(), 1);
    c.padding.insert(c.padding.begin(), 0);
    c.dilation.insert(c.dilation.begin(), 1);
    c.output_padding.insert(c.output_padding.begin(), 0);
  }
  return packed_object(class_of_conv(n), c.state());
}

void unpacked(Args args, int n, Value* out) {
  Convolution c = Convolution::of(args[0], n);
  Tensor w = copied(c.weight);
  if (n == 1 && w.size(2) == 1) {
    w = w.as_strided({w.size(0), w.size(1), w.size(3)}, {w.stride(0), w.stride(1), w.stride(3)},
                     w.storage_offset());
  }
  out[0] = w;
  out[1] = c.bias.defined() ? Value(c.bias) : Value();
}

// The input (N, C, *) with the weight's number of dimensions; sequences become images of one row.
Tensor batched(const Tensor& x, int n) {
  SL_CHECK(x.dim() == n + 2, "quantized::conv", n, "d: Expected activation tensor to have ", n + 2,
           " dimensions, got ", x.dim());
  return n == 1 ? view_unsqueeze(x, 2) : x;
}

Tensor as_given(const Tensor& y, int64_t rank, int n) {
  Tensor made = n == 1 ? view_squeeze(y, {2}) : y;
  return rank == n + 1 ? view_squeeze(made, {0}) : made;
}

// The last two arguments are the result's scale and zero point.
Tensor run(Args args, int n, bool relu) {
  const Tensor& x = args.tensor(0);
  Convolution c = Convolution::of(args[1], n);
  const Quantizer& q = activation(x, "a quantized convolution");
  Finish finish;
  finish.relu = relu;
  finish.scale = args.number(args.size() - 2);
  finish.zero_point = args.integer(args.size() - 1);
  SL_CHECK(is_plain_encoding(x.dtype(), finish.zero_point),
           "a quantized convolution takes inputs of quint8 or qint8 and such zero points");
  Tensor y = convolve({batched(codes_of(x), n), float(q.scale), q.zero_point}, c, finish);
  return quantized(as_given(y, x.dim(), n), finish.scale, finish.zero_point);
}

// As in PyTorch, the result is rounded to codes with the input's parameters, so that it is clamped
// to the input's range.
Tensor run_dynamic(Args args, int n) {
  SL_CHECK(args.tensor(0).dtype() == ScalarType::Float32,
           "Quantize only works on Float Tensor, got ", dtype_display_name(args.tensor(0).dtype()));
  Tensor x = plain_floats(args.tensor(0));
  Convolution c = Convolution::of(args[1], n);
  double scale;
  int64_t zero_point;
  choose_parameters(x, 0, args.boolean(2) ? 127 : 255, &scale, &zero_point);
  Finish finish;
  finish.scale = scale;
  finish.zero_point = zero_point;
  Tensor codes = codes_of(encode(x, ScalarType::QUInt8, scale, zero_point));
  Tensor y = convolve({batched(codes, n), float(scale), zero_point}, c, finish);
  return as_given(numbers_of(quantized(y, scale, zero_point)), x.dim(), n);
}

// Adds another quantized tensor before the sum is rounded.
Tensor run_and_add(Args args, bool relu) {
  const Tensor &x = args.tensor(0), &other = args.tensor(1);
  Convolution c = Convolution::of(args[2], 2);
  const Quantizer& q = activation(x, "quantized::conv2d_add");
  activation(other, "quantized::conv2d_add");
  Finish finish;
  finish.sums = Sums::kNumbers;
  Tensor y = convolve({codes_of(x), float(q.scale), q.zero_point}, c, finish);
  y = binary_result(y, numbers_of(other), kernels::Binary::k_add, "add", Rule::kSame);
  if (relu) y = unary_result(y, kernels::Unary::k_relu, "relu", Rule::kSame);
  float scale = float(args.number(3));
  y = binary_result(y, Scalar{double(scale)}, kernels::Binary::k_div, "div", Rule::kSame);
  return requantized(y, x.dtype(), args.number(3), args.integer(4));
}

}  // namespace

Convolution Convolution::of(const Value& params, int n) {
  const Tuple::Items& state = state_of(params, class_of_conv(n));
  Convolution c;
  if (state.size() == 6 && state[0].is_tensor()) {
    c = first_version(state);
  } else {
    bool second = state[0].is_string() && state[0].as_string() == "2";
    bool third = state[0].is_int() && state[0].as_int() == 3;
    SL_CHECK(state.size() == 3 && (second || third), "packed convolutions of version '",
             to_text(state[0]).substr(0, 20),
             "' cannot be read; save the model again with a newer PyTorch");
    std::vector<Value> first = items_of(state[1]), last = items_of(state[2]);
    if (second ? first.size() < 2 || last.empty() : last.size() != 3) malformed();
    c.weight = tensor_in(second ? first[1] : last[1]);
    c.bias = optional_in(second ? last[0] : last[2]);
    std::vector<int64_t> numbers;
    if (second) {
      Tensor list = contiguous_as(tensor_in(first[0]), ScalarType::Int64);
      numbers.assign(list.data<int64_t>(), list.data<int64_t>() + list.numel());
    } else {
      for (const Value& item : first) numbers.push_back(number_in(item));
    }
    take_numbers(c, numbers);
  }
  if (!is_quantized(c.weight.dtype()) || c.weight.dim() != c.space() + 2) malformed();
  return c;
}

std::vector<Value> Convolution::state() const {
  std::vector<int64_t> numbers{space()};
  for (const std::vector<int64_t>* list : {&stride, &padding, &dilation, &output_padding}) {
    numbers.insert(numbers.end(), list->begin(), list->end());
  }
  numbers.insert(numbers.end(), {groups, int64_t(transposed)});
  Tensor packed = Tensor::empty({int64_t(numbers.size())}, ScalarType::Int16);
  for (size_t i = 0; i < numbers.size(); ++i) {
    SL_CHECK(numbers[i] == int16_t(numbers[i]), "a quantized convolution with the number ",
             numbers[i], " cannot be packed");
    packed.data<int16_t>()[i] = int16_t(numbers[i]);
  }
  std::vector<Value> last{bias.defined() ? Value(bias) : Value()};
  return {Value(std::string("2")), tensor_list({packed, weight}), List::make(std::move(last))};
}

#define SL_CONV(n)                                                                     \
  SL_OP(quantized_conv##n##d_dynamic) { out[0] = run_dynamic(args, n); }               \
  SL_OP(quantized_conv_transpose##n##d_dynamic) { out[0] = run_dynamic(args, n); }     \
  SL_OP(quantized_conv_transpose##n##d) { out[0] = run(args, n, false); }              \
  SL_OP(quantized_conv##n##d_prepack) { out[0] = prepacked(args, n, false); }          \
  SL_OP(quantized_conv_transpose##n##d_prepack) { out[0] = prepacked(args, n, true); } \
  SL_OP(quantized_conv##n##d_unpack) { unpacked(args, n, out); }                       \
  SL_OP(quantized_conv_transpose##n##d_unpack) { unpacked(args, n, out); }
SL_CONV(1)
SL_CONV(2)
SL_CONV(3)
#undef SL_CONV

SL_OP(quantized_conv1d) { out[0] = run(args, 1, false); }
SL_OP(quantized_conv1d_relu) { out[0] = run(args, 1, true); }
#define SL_CONV(n)                                                      \
  SL_OP(quantized_conv##n##d) { out[0] = run(args, n, false); }         \
  SL_OP(quantized_conv##n##d_new) { out[0] = run(args, n, false); }     \
  SL_OP(quantized_conv##n##d_relu) { out[0] = run(args, n, true); }     \
  SL_OP(quantized_conv##n##d_relu_new) { out[0] = run(args, n, true); } \
  SL_PARTS(conv##n##d, n)                                               \
  SL_PARTS(conv_transpose##n##d, n)
#define SL_PARTS(name, n)                                                                         \
  SL_OP(quantized_##name##_stride) { out[0] = int_list(Convolution::of(args[0], n).stride); }     \
  SL_OP(quantized_##name##_padding) { out[0] = int_list(Convolution::of(args[0], n).padding); }   \
  SL_OP(quantized_##name##_dilation) { out[0] = int_list(Convolution::of(args[0], n).dilation); } \
  SL_OP(quantized_##name##_output_padding) {                                                      \
    out[0] = int_list(Convolution::of(args[0], n).output_padding);                                \
  }                                                                                               \
  SL_OP(quantized_##name##_groups) { out[0] = Value(Convolution::of(args[0], n).groups); }        \
  SL_OP(quantized_##name##_transpose) {                                                           \
    out[0] = Value(int64_t(Convolution::of(args[0], n).transposed));                              \
  }
SL_CONV(2)
SL_CONV(3)
#undef SL_CONV
#undef SL_PARTS

SL_OP(quantized_conv2d_add) { out[0] = run_and_add(args, false); }
SL_OP(quantized_conv2d_add_relu) { out[0] = run_and_add(args, true); }
SL_OP(quantized_conv_prepack) { out[0] = prepacked(args, 2, false); }
SL_OP(quantized_conv_unpack) { unpacked(args, 2, out); }

}  // namespace scriptlang
