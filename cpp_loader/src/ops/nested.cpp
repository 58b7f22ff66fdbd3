// Nested tensors: padded sequences. Their lengths are stored as if they were the parameters of a
// quantizer, per channel along the batch, so that code that mistakes them for such stays in bounds.
#include "nested.h"

#include <algorithm>

#include "values/quantizer.h"
#include "pointwise.h"
#include "reduce.h"
#include "view.h"

namespace scriptlang {

namespace {

using Lengths = std::vector<int64_t>;

// The rows of one sequence, (length, features), of (batch, longest, features).
Tensor rows_of(const Tensor& padded, int64_t sequence, int64_t length) {
  return view_narrow(view_select(padded, 0, sequence), 0, 0, length);
}

Lengths lengths_of(const Tensor& t) {
  SL_CHECK(is_nested(t), "to_padded_tensor takes a nested tensor, but got a plain one of size ",
           to_string(t.sizes()));
  const Tensor& kept = t.quantizer()->zero_points;
  const int64_t* first = kept.data<int64_t>();
  Lengths lengths(first, first + kept.numel());
  bool fits = t.dim() == 3 && t.size(0) == kept.numel();
  for (int64_t n : lengths) fits = fits && n >= 0 && n <= t.size(1);
  SL_CHECK(fits, "a view of size ", to_string(t.sizes()), " has lost the lengths of its sequences");
  return lengths;
}

// Zeros of (batch, longest, features).
Tensor padded_zeros(const Lengths& lengths, int64_t features, ScalarType dtype) {
  int64_t longest = 0;
  for (int64_t n : lengths) longest = std::max(longest, n);
  return Tensor::zeros({int64_t(lengths.size()), longest, features}, dtype);
}

Tensor with_lengths(Tensor padded, const Lengths& lengths) {
  Tensor kept = Tensor::empty({int64_t(lengths.size())}, ScalarType::Int64);
  std::copy(lengths.begin(), lengths.end(), kept.data<int64_t>());
  Tensor scales = Tensor::zeros({int64_t(lengths.size())}, ScalarType::Float64);
  Quantizer* made = Quantizer::per_channel(std::move(scales), std::move(kept), 0);
  made->scheme = QuantScheme::Nested;
  set_quantizer(padded, made);
  made->release();
  return padded;
}

// The number of true elements in each row of a mask; `left_aligned`: whether they come first.
Lengths counts_of(const Tensor& mask, bool* left_aligned) {
  SL_CHECK(mask.dtype() == ScalarType::Bool, "Expected mask to be of ScalarType Bool, but got ",
           dtype_name(mask.dtype()), " instead.");
  SL_CHECK(mask.dim() == 2, "Padding mask should be 2D");
  Tensor plain = to_contiguous(mask);
  const bool* at = plain.data<bool>();
  Lengths counts(size_t(mask.size(0)), 0);
  *left_aligned = true;
  for (int64_t& n : counts) {
    for (int64_t i = 0; i < mask.size(1); ++i, ++at) {
      if (*at && n != i) *left_aligned = false;
      n += *at;
    }
  }
  return counts;
}

void pad(const Tensor& t, double value, const Value& size, Value* out) {
  Lengths lengths = lengths_of(t);
  std::vector<int64_t> sizes(t.sizes().begin(), t.sizes().end());
  if (!size.is_none()) {
    Ints wanted(size);
    SL_CHECK(wanted.size() == 3, "Length of output_size does not match NestedTensor dims, got ",
             wanted.size());
    for (int i = 0; i < 3; ++i) {
      SL_CHECK(wanted[i] >= sizes[size_t(i)],
               "Value in output_size is less than NestedTensor "
               "padded size. Truncation is not supported.");
      sizes[size_t(i)] = wanted[i];
    }
  }
  Tensor result = Tensor::empty(sizes, t.dtype());
  fill(result, Scalar(value));
  for (size_t i = 0; i < lengths.size(); ++i) {
    Tensor to = view_narrow(rows_of(result, int64_t(i), lengths[i]), 1, 0, t.size(2));
    copy_into(to, rows_of(t, int64_t(i), lengths[i]));
  }
  *out = result;
}

}  // namespace

bool is_nested(const Tensor& t) {
  return t.quantizer() && t.quantizer()->scheme == QuantScheme::Nested;
}

Tensor each_sequence(const Tensor& t, const std::function<Tensor(const Tensor&)>& f) {
  Lengths lengths = lengths_of(t);
  Tensor result = padded_zeros(lengths, t.size(2), t.dtype());
  for (size_t i = 0; i < lengths.size(); ++i) {
    Tensor rows = Tensor::empty({1, lengths[i], t.size(2)}, t.dtype());
    copy_into(rows, view_unsqueeze(rows_of(t, int64_t(i), lengths[i]), 0));
    Tensor made = f(rows);
    SL_CHECK(made.sizes() == rows.sizes(), "a layer changed the size of a sequence");
    copy_into(rows_of(result, int64_t(i), lengths[i]), view_select(made, 0, 0));
  }
  return with_lengths(std::move(result), lengths);
}

SL_OP(aten__nested_tensor_from_mask_left_aligned) {
  bool left_aligned;
  counts_of(args.tensor(1), &left_aligned);
  out[0] = Value(left_aligned);
}

SL_OP(aten__nested_tensor_from_mask) {
  const Tensor &t = args.tensor(0), &mask = args.tensor(1);
  bool left_aligned;
  Lengths lengths = counts_of(mask, &left_aligned);
  SL_CHECK(t.dim() == 3, "Input should be a 3D tensor, N * L * D");
  SL_CHECK(t.size(0) == mask.size(0) && t.size(1) == mask.size(1),
           "Mask size should match input size, got ", to_string(mask.sizes()), " for ",
           to_string(t.sizes()));
  SL_CHECK(left_aligned || !args.boolean(2), "Mask must be left-aligned without gaps");
  Tensor result = padded_zeros(lengths, t.size(2), t.dtype());
  for (size_t i = 0; i < lengths.size(); ++i) {
    copy_into(rows_of(result, int64_t(i), lengths[i]), rows_of(t, int64_t(i), lengths[i]));
  }
  out[0] = with_lengths(std::move(result), lengths);
}

SL_OP(aten_to_padded_tensor) { pad(args.tensor(0), args.number(1), args[2], &out[0]); }
SL_OP(aten_nested_to_padded_tensor) { pad(args.tensor(0), args.number(1), args[2], &out[0]); }

}  // namespace scriptlang
