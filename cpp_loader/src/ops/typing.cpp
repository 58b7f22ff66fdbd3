// Questions about types, aliasing and layout, and views that change no element.
#include <algorithm>

#include "express.h"
#include "join.h"
#include "options.h"
#include "reduce.h"
#include "scratch.h"
#include "values/exact.h"
#include "values/raw_view.h"

namespace scriptlang {

using namespace express;

namespace {

// The same bytes as elements of another type.
Tensor view_of_bytes(const Tensor& t, ScalarType type) {
  int64_t from = t.itemsize(), to = itemsize(type);
  std::vector<int64_t> sizes(t.sizes().begin(), t.sizes().end());
  std::vector<int64_t> strides(t.strides().begin(), t.strides().end());
  if (from == to) return Tensor::on_storage(t.storage(), type, sizes, strides, t.storage_offset());
  SL_CHECK(t.dim() > 0, "self.dim() cannot be 0 to view ", dtype_display_name(t.dtype()), " as ",
           dtype_display_name(type), " (different element sizes)");
  SL_CHECK(strides.back() == 1, "self.stride(-1) must be 1 to view ", dtype_display_name(t.dtype()),
           " as ", dtype_display_name(type), " (different element sizes), but got ",
           strides.back());
  auto scaled = [&](int64_t n, const char* what) {
    int64_t bytes;
    SL_CHECK(!__builtin_mul_overflow(n, from, &bytes), "view: ", what, " ", n, " is too large");
    SL_CHECK(bytes % to == 0, "self.", what, " must be divisible by ", to / from, " to view ",
             dtype_display_name(t.dtype()), " as ", dtype_display_name(type),
             " (different element sizes), but got ", n);
    return bytes / to;
  };
  sizes.back() = scaled(sizes.back(), "size(-1)");
  for (size_t d = 0; d + 1 < strides.size(); ++d) strides[d] = scaled(strides[d], "stride()");
  return Tensor::on_storage(t.storage(), type, sizes, strides,
                            scaled(t.storage_offset(), "storage_offset()"));
}

// Loops rely on bools being 0 or 1.
Tensor view_as_type(const Tensor& t, ScalarType type) {
  if (type == ScalarType::Bool && t.dtype() != ScalarType::Bool) {
    Tensor bytes = to_contiguous(view_of_bytes(t, ScalarType::UInt8));
    const uint8_t* at = bytes.data<uint8_t>();
    bool fits = std::all_of(at, at + bytes.numel(), [](uint8_t b) { return b <= 1; });
    SL_CHECK(fits, "a view as bool needs bytes that are 0 or 1; use .to(torch.bool) instead");
  }
  return view_of_bytes(t, type);
}

Tensor sum_to_size(const Tensor& self, IntSpan size) {
  int64_t lead = self.dim() - size.size;
  SL_CHECK(lead >= 0, "size {", to_string(size), "} is not expandable to size {",
           to_string(self.sizes()), "}.");
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < self.dim(); ++d) {
    int64_t wanted = d < lead ? 1 : size[d - lead];
    SL_CHECK(d < lead || wanted == self.size(d) || wanted == 1, "size {", to_string(size),
             "} is not expandable to size {", to_string(self.sizes()), "}.");
    if (d < lead || (wanted == 1 && self.size(d) != 1)) dims.push_back(d);
  }
  if (size.empty()) return sum_over(self, reduced_dims(Value(), self.dim()));
  if (dims.empty()) return alias_of(self);
  return reshape(sum_over(self, dims, true), size);
}

// Kept dense: the dimensions lie in memory in the order of `layout`.
Tensor empty_permuted(IntSpan sizes, IntSpan layout, ScalarType type) {
  bool fits = sizes.size == layout.size;
  bool seen[kMaxDims] = {};
  for (int64_t d : layout) {
    fits = fits && d >= 0 && d < sizes.size && d < kMaxDims && !seen[d];
    if (fits) seen[d] = true;
  }
  SL_CHECK(fits,
           "Number of dimensions in size does not match the length of the physical_layout; "
           "i.e. len(size) = ",
           sizes.size, " is not equal to len(physical_layout) = ", layout.size);
  Tensor t = Tensor::empty(sizes, type);
  std::vector<int64_t> strides(size_t(sizes.size), 1);
  int64_t next = 1;
  for (int64_t i = layout.size - 1; i >= 0; --i) {
    strides[size_t(layout[i])] = next;
    next = outer_stride(next, sizes[layout[i]]);
  }
  lay(t, strides);
  return t;
}

// self becomes another tensor's memory, seen as that is.
void set_source(const Tensor& self, const Tensor& source) {
  SL_CHECK(self.dtype() == source.dtype(), "Could not set tensor of type ",
           dtype_display_name(source.dtype()), " to a tensor of type ",
           dtype_display_name(self.dtype()));
  if (self.is(source)) return;
  source.storage()->retain();
  self.storage()->release();
  self.impl()->storage = source.storage();
  become(self, source);
}

ScalarType type_of(const Value& v) {
  ResultType r;
  r.add(Input::of(v));
  return r.get();
}

void each(const Value& list, Value* out, OpFn f, Context& ctx) {
  std::vector<Tensor> made;
  for (const Value& v : list.as_list()) {
    Value given = v, result;
    f(ctx, Args(&given, 1), &result);
    made.push_back(result.as_tensor());
  }
  *out = tensor_list(std::move(made));
}

}  // namespace

bool is_dense(const Tensor& t) {
  std::vector<std::pair<int64_t, int64_t>> order;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.size(d) == 0) return true;
    if (t.size(d) != 1) order.push_back({t.stride(d), t.size(d)});
  }
  std::sort(order.begin(), order.end());
  int64_t next = 1;
  for (auto [stride, size] : order) {
    if (stride != next) return false;
    next *= size;
  }
  return true;
}

void op_aten_atleast_1d(Context&, Args, Value*);
void op_aten_atleast_2d(Context&, Args, Value*);
void op_aten_atleast_3d(Context&, Args, Value*);
void op_aten_tensor_split_sections(Context&, Args, Value*);
void op_aten_tensor_split_indices(Context&, Args, Value*);

SL_OP(aten_view_dtype) { out[0] = view_as_type(args.tensor(0), args.dtype(1)); }
SL_OP(aten__reshape_alias) {
  const Tensor& t = args.tensor(0);
  out[0] = t.as_strided(args.ints(1), args.ints(2), t.storage_offset());
}
SL_OP(aten_lift_fresh) { out[0] = alias_of(args.tensor(0)); }
SL_OP(aten_lift) { out[0] = args.tensor(0); }
SL_OP(aten_lift_fresh_copy) { out[0] = clone(args.tensor(0)); }
SL_OP(aten__neg_view) { out[0] = neg(args.tensor(0)); }
SL_OP(aten__conj_physical) {
  const Tensor& self = args.tensor(0);
  out[0] = is_complex(self.dtype()) ? conj(self) : clone(self);
}
SL_OP(aten_sum_to_size) { out[0] = sum_to_size(args.tensor(0), args.ints(1)); }
SL_OP(aten_empty_permuted) {
  want_strided_on_cpu(args, 3);
  out[0] =
      unwritten(empty_permuted(args.ints(0), args.ints(1), args.dtype(2, ScalarType::Float32)));
}
SL_OP(aten_set__source_Tensor) {
  set_source(args.tensor(0), args.tensor(1));
  out[0] = args.tensor(0);
}
SL_OP(aten_is_signed) {
  ScalarType t = args.tensor(0).dtype();
  out[0] = t != ScalarType::UInt8 && t != ScalarType::UInt16 && t != ScalarType::UInt32 &&
           t != ScalarType::UInt64 && t != ScalarType::Bool;
}
SL_OP(aten_is_set_to) {
  const Tensor &a = args.tensor(0), &b = args.tensor(1);
  out[0] = a.storage() == b.storage() && a.storage_offset() == b.storage_offset() &&
           a.sizes() == b.sizes() && a.strides() == b.strides();
}
SL_OP(aten_is_conj) { out[0] = (args.tensor(0), Value(false)); }
SL_OP(aten_is_neg) { out[0] = (args.tensor(0), Value(false)); }
SL_OP(aten_is_inference) { out[0] = (args.tensor(0), Value(false)); }
SL_OP(aten_is_pinned) { out[0] = (args.tensor(0), Value(false)); }
SL_OP(aten_is_non_overlapping_and_dense) { out[0] = is_dense(args.tensor(0)); }
SL_OP(aten__shape_as_tensor) {
  const Tensor& self = args.tensor(0);
  Tensor shape = Tensor::empty({self.dim()}, ScalarType::Int64);
  std::copy(self.sizes().begin(), self.sizes().end(), shape.data<int64_t>());
  out[0] = shape;
}
SL_OP(aten__tensor_to_list) {
  if (args.tensor(0).dim() == 0) {
    raise(ErrorKind::IndexError, "Dimension specified as 0 but tensor has no dimensions");
  }
  SL_CHECK(args.tensor(0).dtype() == ScalarType::Int32, "expected scalar type Int but found ",
           dtype_display_name(args.tensor(0).dtype()));
  Tensor t = contiguous_as(args.tensor(0), ScalarType::Int64);
  out[0] = int_list({t.data<int64_t>(), t.numel()});
}
SL_OP(aten__list_to_tensor) {
  Ints items = args.ints(0);
  Tensor t = Tensor::empty({items.size()}, ScalarType::Int32);
  for (int64_t i = 0; i < items.size(); ++i) {
    SL_CHECK(items[i] == int32_t(items[i]),
             "value cannot be converted to type int without overflow");
    t.data<int32_t>()[i] = int32_t(items[i]);
  }
  out[0] = t;
}
SL_OP(aten_tensor_split_tensor_indices_or_sections) {
  const Tensor& at = args.tensor(1);
  SL_CHECK(at.dtype() == ScalarType::Int64,
           "tensor_split expected tensor_indices_or_sections to "
           "have dtype of long, but got ",
           dtype_display_name(at.dtype()));
  SL_CHECK(at.dim() <= 1,
           "tensor_split expected tensor_indices_or_sections to be a zero-"
           "dimensional or one-dimensional tensor, but got a tensor with ",
           at.dim(), " dims");
  Tensor places = to_contiguous(at);
  if (at.dim() == 0) {
    args[1] = *places.data<int64_t>();
    op_aten_tensor_split_sections(ctx, args, out);
  } else {
    args[1] = int_list({places.data<int64_t>(), places.numel()});
    op_aten_tensor_split_indices(ctx, args, out);
  }
}
SL_OP(aten_atleast_1d_Sequence) { each(args[0], out, op_aten_atleast_1d, ctx); }
SL_OP(aten_atleast_2d_Sequence) { each(args[0], out, op_aten_atleast_2d, ctx); }
SL_OP(aten_atleast_3d_Sequence) { each(args[0], out, op_aten_atleast_3d, ctx); }

SL_OP(aten_promote_types) { out[0] = int64_t(promote(args.dtype(0), args.dtype(1))); }
SL_OP(aten_can_cast) { out[0] = category(args.dtype(0)) <= category(args.dtype(1)); }
SL_OP(aten_result_type_Tensor) {
  out[0] = int64_t(result_type(Input::of(args[0]), Input::of(args[1])));
}
SL_OP(aten_result_type_Scalar) { op_aten_result_type_Tensor(ctx, args, out); }
SL_OP(aten_result_type_Scalar_Tensor) { op_aten_result_type_Tensor(ctx, args, out); }
SL_OP(aten_result_type_Scalar_Scalar) {
  out[0] = int64_t(promote(type_of(args[0]), type_of(args[1])));
}
SL_OP(aten__nnpack_available) { out[0] = false; }
SL_OP(aten_get_autocast_dtype) { out[0] = int64_t(ScalarType::BFloat16); }
SL_OP(aten__assert_scalar) { SL_CHECK(args.scalar(0).to_bool(), args.string(1)); }

namespace {
// Raises the message unless the one element of a tensor is true.
void assert_one(const Tensor& condition, std::string_view message) {
  SL_CHECK(condition.numel() == 1, "Boolean value of Tensor with ", condition.numel(),
           " values is ambiguous");
  Tensor truth = to_contiguous(to_dtype(condition, ScalarType::Bool));
  SL_CHECK(*truth.data<bool>(), message);
}
}  // namespace

SL_OP(aten__assert_async) {
  assert_one(args.tensor(0), "Expected Tensor with single nonzero value, but got zero");
}
SL_OP(aten__assert_async_msg) { assert_one(args.tensor(0), args.string(1)); }
SL_OP(aten__functional_assert_async_msg) {
  assert_one(args.tensor(0), args.string(1));
  Tensor token = Tensor::empty_like(args.tensor(2), args.tensor(2).dtype());
  copy_into(token, args.tensor(2));
  out[0] = token;
}

}  // namespace scriptlang
