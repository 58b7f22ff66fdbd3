// In-place, out= and copying variants of operators, made from their base operators.
#include "forms.h"

#include "pointwise.h"
#include "ops/quantized/quantized.h"
#include "values/raw_view.h"
#include "view.h"

namespace scriptlang::forms {

namespace {

void check_category(const Tensor& value, const Tensor& to) {
  SL_CHECK(category(value.dtype()) <= category(to.dtype()), "result type ",
           dtype_display_name(value.dtype()), " can't be cast to the desired output type ",
           dtype_display_name(to.dtype()));
}

// Gives `to` the shape and the order of dimensions of `value`. Memory that a program may not grow
// is replaced.
void take_shape(const Tensor& to, const Tensor& value) {
  if (to.sizes() == value.sizes()) return;
  int64_t bytes = (to.storage_offset() + value.numel()) * to.itemsize();
  if (to.storage()->owned() || bytes <= to.storage()->nbytes()) {
    resize(to, value.sizes());
  } else {
    Tensor fresh = Tensor::empty(value.sizes(), to.dtype());
    std::swap(to.impl()->storage, fresh.impl()->storage);
    // The storage was allocated for these sizes.
    to.impl()->set_contiguous(value.sizes());
    to.impl()->offset = 0;
  }
  if (value.is_contiguous() || value.dim() < 2) return;
  int64_t strides[kMaxDims];
  value.like_strides(strides);
  lay(to, {strides, value.dim()});
}

}  // namespace

void store(const Tensor& to, const Tensor& value) {
  if (to.is(value)) return;
  if (is_quantized(to.dtype()) && value.quantizer()) return take_codes(to, value);
  check_category(value, to);
  take_shape(to, value);
  check_writable(to);
  copy_into(to, value);
}

namespace {

void check_shape(const Tensor& to, const Tensor& value) {
  SL_CHECK(value.sizes() == to.sizes(), "output with shape ", to_string(to.sizes()),
           " doesn't match the broadcast shape ", to_string(value.sizes()));
}

}  // namespace

void change(const Tensor& self, const Tensor& value) {
  check_category(value, self);
  check_shape(self, value);
  store(self, value);
}

namespace {

void store_each(const Value& to, const Value& value) {
  if (to.is_tensor()) return store(to.as_tensor(), value.as_tensor());
  const List &targets = to.as_list(), &values = value.as_list();
  SL_CHECK(targets.size() == values.size(), "expected ", values.size(), " tensors in out=, got ",
           targets.size());
  for (size_t i = 0; i < values.size(); ++i) {
    store(targets.get(i).as_tensor(), values.get(i).as_tensor());
  }
}

void check_type(const Tensor& to, const Tensor& value) {
  SL_CHECK(to.dtype() == value.dtype(), "Expected out tensor to have dtype ",
           dtype_display_name(value.dtype()), ", but got ", dtype_display_name(to.dtype()),
           " instead");
}

void check_type(const Value& to, const Value& value) {
  if (to.is_tensor()) return check_type(to.as_tensor(), value.as_tensor());
  const List &targets = to.as_list(), &values = value.as_list();
  for (size_t i = 0; i < std::min(targets.size(), values.size()); ++i) {
    check_type(targets.get(i).as_tensor(), values.get(i).as_tensor());
  }
}

void check_apart_from(const Value& to, const Value& read, bool same) {
  if (read.is_tensor()) return check_apart(to.as_tensor(), read.as_tensor(), same);
  for (int64_t i = 0; read.is_list() && i < int64_t(read.as_list().size()); ++i) {
    Value item = read.as_list().get(size_t(i));
    if (!item.is_tensor()) return;
    check_apart(to.as_tensor(), item.as_tensor(), same);
  }
}

// An output that is an input, too, keeps its shape.
void check_own_shape(const Value& to, const Value& read, const Value& made) {
  if (!to.is_tensor() || !read.is_tensor() || !to.as_tensor().is(read.as_tensor())) return;
  check_shape(to.as_tensor(), made.as_tensor());
}

void run_out(OpFn base, int outs, bool exact, Sharing sharing, Context& ctx, Args args,
             Value* results) {
  constexpr int kMost = 16;
  Value made[kMost];
  SL_CHECK(outs <= kMost && outs <= args.size(), "too many out= arguments");
  int inputs = args.size() - outs;
  for (int i = 0; sharing != Sharing::free && i < inputs * outs; ++i) {
    const Value& to = args[inputs + i / inputs];
    if (to.is_tensor()) check_apart_from(to, args[i % inputs], sharing == Sharing::same);
  }
  base(ctx, Args(args.data(), inputs), made);
  for (int i = 0; sharing == Sharing::same && i < inputs * outs; ++i) {
    check_own_shape(args[inputs + i / inputs], args[i % inputs], made[i / inputs]);
  }
  for (int i = 0; exact && i < outs; ++i) check_type(args[inputs + i], made[i]);
  for (int i = 0; i < outs; ++i) {
    store_each(args[inputs + i], made[i]);
    results[i] = args[inputs + i];
  }
}

Tensor row_major_copy(const Tensor& t) {
  Tensor fresh = Tensor::empty(t.sizes(), t.dtype());
  copy_into(fresh, t);
  return fresh;
}

// Whether a reduction of these dimensions, where an empty list or None means all, has one result.
bool leaves_one(const Tensor& self, const Value& dims) {
  std::vector<bool> reduced(as_size(self.dim()), false);
  bool any = false;
  if (dims.is_list()) {
    for (int64_t d : Ints(dims)) {
      if (d < -self.dim() || d >= self.dim()) return false;  // the operator raises
      reduced[size_t(d < 0 ? d + self.dim() : d)] = any = true;
    }
  }
  for (int64_t d = 0; any && d < self.dim(); ++d) {
    if (!reduced[size_t(d)] && self.size(d) != 1) return false;
  }
  return true;
}

// Rounds a tensor to a real type; of complex numbers, each part by itself.
Tensor in_precision(const Tensor& self, ScalarType part) {
  if (!is_complex(self.dtype())) return to_dtype(self, part);
  if (part == ScalarType::Float64) return to_dtype(self, ScalarType::Complex128);
  Tensor pairs = row_major_copy(to_dtype(self, ScalarType::Complex128));
  auto* numbers = reinterpret_cast<double*>(pairs.data<std::complex<double>>());
  for (int64_t i = 0; i < 2 * pairs.numel(); ++i) {
    float number = float(numbers[i]);
    if (part == ScalarType::Float16) number = float16(number);
    if (part == ScalarType::BFloat16) number = bfloat16(number);
    numbers[i] = number;
  }
  return to_dtype(pairs, self.dtype());
}

}  // namespace

template <Sharing How>
void out(OpFn base, int outs, Context& ctx, Args args, Value* results) {
  run_out(base, outs, false, How, ctx, args, results);
}

template <Sharing How>
void exact_out(OpFn base, int outs, Context& ctx, Args args, Value* results) {
  run_out(base, outs, true, How, ctx, args, results);
}

template <Sharing How>
void typed_out(OpFn base, int outs, Context& ctx, Args args, Value* results) {
  Value& dtype = args[args.size() - outs - 1];
  if (!dtype.is_none()) return exact_out<How>(base, outs, ctx, args, results);
  dtype = int64_t(args.tensor(args.size() - outs).dtype());
  out<How>(base, outs, ctx, args, results);
}

template <Sharing How>
void floating_out(OpFn base, int outs, Context& ctx, Args args, Value* results) {
  const Value& dtype = args[args.size() - outs - 1];
  const ScalarType self = args.tensor(0).dtype(), to = args.tensor(args.size() - outs).dtype();
  if (dtype.is_none() && !is_floating(self) && !is_complex(self)) {
    return out<How>(base, outs, ctx, args, results);  // which raises for this type
  }
  const bool of_all = args.size() == 3;
  SL_CHECK(!of_all || !is_complex(self) || is_complex(to),
           "mean.dtype_out(): input types can't be cast to the desired output type ",
           dtype_display_name(to));
  SL_CHECK(!dtype.is_none() || is_floating(to) || is_complex(to),
           "result type Float can't be cast to the desired output type ", dtype_display_name(to));
  typed_out<How>(base, outs, ctx, args, results);
}

template <Sharing How>
void truth_out(OpFn base, int outs, Context& ctx, Args args, Value* results) {
  const ScalarType to = args.tensor(args.size() - outs).dtype();
  SL_CHECK(to == ScalarType::Bool || to == ScalarType::UInt8,
           "all and any only support bool tensors for the result, got: ", dtype_display_name(to));
  if (to == ScalarType::UInt8) args[0] = to_dtype(args.tensor(0), to);
  out<How>(base, outs, ctx, args, results);
}

template <Sharing How>
void magnitude_out(OpFn base, int outs, Context& ctx, Args args, Value* results) {
  run_out(base, outs, !is_complex(args.tensor(0).dtype()), How, ctx, args, results);
}

template <Sharing How>
void read_out(OpFn base, int outs, Context& ctx, Args args, Value* results) {
  const Tensor self = args.tensor(0);
  const ScalarType to = args.tensor(args.size() - outs).dtype();
  const bool floats = (is_floating(self.dtype()) || is_complex(self.dtype())) &&
                      (is_floating(to) || is_complex(to));
  const bool wide = !is_half(to);
  if (floats && !(wide && leaves_one(self, args[1]))) args[0] = in_precision(self, to_real(to));
  out<How>(base, outs, ctx, args, results);
}

// clang-format off
#define SL_SHARING(How)                                                        \
  template void out<Sharing::How>(OpFn, int, Context&, Args, Value*);          \
  template void exact_out<Sharing::How>(OpFn, int, Context&, Args, Value*);    \
  template void typed_out<Sharing::How>(OpFn, int, Context&, Args, Value*);    \
  template void floating_out<Sharing::How>(OpFn, int, Context&, Args, Value*); \
  template void truth_out<Sharing::How>(OpFn, int, Context&, Args, Value*);    \
  template void magnitude_out<Sharing::How>(OpFn, int, Context&, Args, Value*); \
  template void read_out<Sharing::How>(OpFn, int, Context&, Args, Value*);
// clang-format on
SL_SHARING(free)
SL_SHARING(same)
SL_SHARING(apart)
#undef SL_SHARING

namespace {

Tensor created(OpFn base, Context& ctx, Args args) {
  constexpr int kMost = 8, kOptions = 4;  // dtype, layout, device, pin_memory
  int inputs = args.size() - 1;
  SL_CHECK(inputs >= 0 && inputs <= kMost, "too many arguments");
  Value given[kMost + kOptions], made;
  for (int i = 0; i < inputs; ++i) given[i] = args[i];
  given[inputs] = int64_t(args.tensor(inputs).dtype());
  base(ctx, Args(given, inputs + kOptions), &made);
  return made.as_tensor();
}

}  // namespace

void create(OpFn base, int, Context& ctx, Args args, Value* results) {
  const Value& to = args[args.size() - 1];
  store(to.as_tensor(), created(base, ctx, args));
  results[0] = to;
}

void create_row(OpFn base, int, Context& ctx, Args args, Value* results) {
  const Value& to = args[args.size() - 1];
  Tensor row = created(base, ctx, args);
  const Tensor& target = to.as_tensor();
  store(target, row.numel() == target.numel() ? view_as_shape(row, target.sizes()) : row);
  results[0] = to;
}

void in_place(OpFn base, int, Context& ctx, Args args, Value* results) {
  Tensor self = args.tensor(0);  // a second owner: the result cannot reuse its memory
  Value made;
  base(ctx, args, &made);
  change(self, made.as_tensor());
  results[0] = self;
}

void become(OpFn base, int, Context& ctx, Args args, Value* results) {
  Tensor self = args.tensor(0);
  Value made;
  base(ctx, args, &made);
  scriptlang::become(self, made.as_tensor());
  results[0] = self;
}

void copy(OpFn base, int, Context& ctx, Args args, Value* results) {
  Value made;
  base(ctx, args, &made);
  if (made.is_tensor()) {
    results[0] = row_major_copy(made.as_tensor());
    return;
  }
  std::vector<Tensor> copies;
  for (const Value& view : made.as_list()) { copies.push_back(row_major_copy(view.as_tensor())); }
  results[0] = tensor_list(std::move(copies));
}

void on_copy(OpFn base, int, Context& ctx, Args args, Value* results) {
  const Tensor& self = args.tensor(0);
  Tensor fresh = Tensor::empty_like(self, self.dtype());
  copy_into(fresh, self);
  args[0] = fresh;
  base(ctx, args, results);
  results[0] = fresh;
}

void on_row_major_copy(OpFn base, int, Context& ctx, Args args, Value* results) {
  Tensor fresh = row_major_copy(args.tensor(0));
  args[0] = fresh;
  base(ctx, args, results);
  results[0] = fresh;
}

}  // namespace scriptlang::forms
