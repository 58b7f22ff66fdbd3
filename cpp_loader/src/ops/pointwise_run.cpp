// The general path of pointwise operators: type promotion, broadcasting, running the loop.
#include <algorithm>
#include <cstring>

#include "../../kernels/parallel.h"
#include "pointwise.h"
#include "recording.h"
#include "strided.h"

namespace scriptlang {

using kernels::Convert;
using kernels::converter;
using kernels::Loop;

// ---- types

namespace {

ScalarType promote_known(ScalarType a, ScalarType b) {
  if (a == ScalarType::Undefined) return b;
  if (b == ScalarType::Undefined) return a;
  return promote(a, b);
}

ScalarType combine(ScalarType higher, ScalarType lower) {
  if (higher == ScalarType::Undefined) return lower;
  if (is_complex(higher)) return higher;
  if (is_floating(higher)) return is_complex(lower) ? complex_of(higher) : higher;
  if (is_barebones(higher) && is_complex(lower)) return lower;
  if (higher == ScalarType::Bool || is_floating(lower) || is_complex(lower)) {
    return promote_known(higher, lower);
  }
  return higher;
}

ScalarType number_type(const Scalar& s) {
  switch (s.kind) {
    case Scalar::Bool: return ScalarType::Bool;
    case Scalar::Int: return ScalarType::Int64;
    case Scalar::Double: return ScalarType::Float32;
    default: return ScalarType::Complex64;
  }
}

}  // namespace

void ResultType::add(const Input& in) {
  if (in.tensor == nullptr) {
    number_ = promote_known(number_, number_type(in.number));
  } else if (in.tensor->dim() > 0) {
    dimensioned_ = promote_known(dimensioned_, in.tensor->dtype());
  } else {
    zero_dim_ = promote_known(zero_dim_, in.tensor->dtype());
  }
}

ScalarType ResultType::get() const { return combine(dimensioned_, combine(zero_dim_, number_)); }

ScalarType ResultType::get_float() const { return float_type(get()); }

ScalarType float_type(ScalarType t) { return is_integral(t, true) ? ScalarType::Float32 : t; }

ScalarType result_type(const Input& a, const Input& b) {
  if (a.tensor && b.tensor && a.tensor->dtype() == b.tensor->dtype()) return a.tensor->dtype();
  ResultType type;
  type.add(a);
  type.add(b);
  return type.get();
}

void check_can_cast(ScalarType from, ScalarType to) {
  bool lossy = (is_complex(from) && !is_complex(to)) ||
               (is_floating(from) && is_integral(to, true)) ||
               (from != ScalarType::Bool && to == ScalarType::Bool);
  SL_CHECK(!lossy, "result type ", dtype_display_name(from),
           " can't be cast to the desired output type ", dtype_display_name(to));
}

void check_not_read_only(const Tensor& t) {
  SL_CHECK(!t.storage()->read_only(),
           "the program writes in place to memory that is read-only: clone() the tensor first");
}

bool overlaps_itself(const Tensor& t) {
  if (t.is_contiguous()) return false;
  for (int64_t i = 0; i < t.dim(); ++i) {
    if (t.stride(i) == 0 && t.size(i) > 1) return true;
  }
  return false;
}

void check_writable(const Tensor& t) {
  check_not_read_only(t);
  SL_CHECK(!overlaps_itself(t),
           "unsupported operation: more than one element of the written-to tensor refers to a "
           "single memory location. Please clone() the tensor before performing the operation.");
}

// Whether dimensions of more than one element have the same strides.
bool same_strides(const Tensor& a, const Tensor& b) {
  bool alike = a.dim() == b.dim();
  for (int64_t d = 0; alike && d < a.dim(); ++d) {
    alike = a.stride(d) == b.stride(d) || (a.size(d) == 1 && b.size(d) == 1);
  }
  return alike;
}

void check_apart(const Tensor& out, const Tensor& in, bool same) {
  if (out.storage() != in.storage() || (out.impl() == in.impl() && same)) return;
  if (out.impl() != in.impl()) {
    if (out.numel() == 0 || in.numel() == 0 || !is_dense(out) || !is_dense(in)) return;
    const char* a = static_cast<char*>(out.raw());
    const char* b = static_cast<char*>(in.raw());
    if (a + out.nbytes() <= b || b + in.nbytes() <= a) return;
    if (same && a == b && out.nbytes() == in.nbytes() && same_strides(out, in)) return;
  }
  raise(ErrorKind::RuntimeError,
        "unsupported operation: some elements of the input tensor and the "
        "written-to tensor refer to a single memory location. Please clone() the tensor before "
        "performing the operation.");
}

void store_number(const Scalar& s, ScalarType type, void* to) {
  if (s.kind == Scalar::Complex) {
    std::complex<double> value = s.to_complex();
    converter(type, ScalarType::Complex128)(1, to, 0, &value, 0);
  } else if (s.kind == Scalar::Double) {
    converter(type, ScalarType::Float64)(1, to, 0, &s.d, 0);
  } else {
    converter(type, ScalarType::Int64)(1, to, 0, &s.i, 0);
  }
}

namespace {

// A number or one-element tensor, converted to the loop's type.
struct alignas(16) Slot {
  char bytes[16];
};

// One operand of the plan: its memory, its type and the type it is converted to.
struct Stream {
  char* data = nullptr;
  ScalarType from = ScalarType::Float32, to = ScalarType::Float32;
  Convert convert = nullptr;
};

constexpr int64_t kBufferBytes = 8192;  // of an operand, converted at a time
constexpr int64_t kParallelElements = 16384;

struct Runner {
  Loop loop;
  const double* params;
  int count;                       // inputs
  Stream streams[1 + kMaxInputs];  // 0: the result

  // Runs n elements along one dimension; strides are in bytes.
  void run_line(char* const* at, const int64_t* strides, int64_t n) const {
    int64_t step[kMaxInputs];
    const void* in[kMaxInputs];
    bool direct = streams[0].from == streams[0].to && strides[0] == itemsize(streams[0].to);
    for (int i = 0; i < count; ++i) {
      const Stream& s = streams[1 + i];
      step[i] = strides[1 + i] != 0;
      in[i] = at[1 + i];
      direct = direct && s.from == s.to && (step[i] == 0 || strides[1 + i] == itemsize(s.to));
    }
    if (direct || n == 0) {
      if (n > 0) loop(n, at[0], in, step, params);
      return;
    }
    run_converted(at, strides, n);
  }

  __attribute__((noinline)) void run_converted(char* const* at, const int64_t* strides,
                                               int64_t n) const {
    alignas(64) char buffers[1 + kMaxInputs][kBufferBytes];
    int64_t step[kMaxInputs], widest = itemsize(streams[0].from);
    const void* in[kMaxInputs];
    for (int i = 0; i < count; ++i) widest = std::max(widest, itemsize(streams[1 + i].to));
    const int64_t chunk = kBufferBytes / widest;
    for (int64_t done = 0; done < n; done += chunk) {
      int64_t length = std::min(chunk, n - done);
      for (int i = 0; i < count; ++i) {
        const Stream& s = streams[1 + i];
        int64_t stride = strides[1 + i], size = itemsize(s.to);
        const char* from = at[1 + i] + done * stride;
        step[i] = stride != 0;
        if (s.from == s.to && (stride == 0 || stride == size)) {
          in[i] = from;
        } else {
          s.convert(stride == 0 ? 1 : length, buffers[1 + i], size, from, stride);
          in[i] = buffers[1 + i];
        }
      }
      const Stream& o = streams[0];
      int64_t size = itemsize(o.from);
      char* to = at[0] + done * strides[0];
      if (o.from == o.to && strides[0] == size) {
        loop(length, to, in, step, params);
      } else {
        loop(length, buffers[0], in, step, params);
        o.convert(length, to, strides[0], buffers[0], size);
      }
    }
  }
};

// Raises NotImplementedError; sizes that do not broadcast are reported before types.
[[noreturn]] __attribute__((noinline, cold)) void not_implemented(const Pointwise& p) {
  std::vector<int64_t> shape;
  for (int i = 0; i < p.count; ++i) {
    if (p.in[i].tensor) shape = broadcast_shapes(shape, p.in[i].tensor->sizes());
  }
  const bool of_bools = p.compute == ScalarType::Bool;
  SL_CHECK(!of_bools || std::strcmp(p.name, "sub") != 0,
           "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
           "`logical_xor()` operator instead.");
  SL_CHECK(!of_bools || std::strcmp(p.name, "relu") != 0, "Boolean inputs not supported for relu");
  kernels::check_kept(loop_type(p.compute));
  raise(ErrorKind::NotImplementedError, '"', p.name, "\" not implemented for '",
        dtype_display_name(p.compute), "'");
}

bool same_shape(const Tensor& a, const Tensor& b) {
  return a.dim() == b.dim() && std::equal(a.sizes().begin(), a.sizes().end(), b.sizes().begin());
}

// Broadcasts the inputs and gives the plan their strides.
void plan_inputs(StridedPlan* plan, const Pointwise& p, const bool* dimensioned) {
  plan->begin(1 + p.count);
  for (int i = 0; i < p.count; ++i) {
    const Tensor* t = p.in[i].tensor;
    if (t != nullptr) plan->broadcast(t->sizes());
  }
  if (p.out.defined()) {
    SL_CHECK(p.out.sizes() == plan->shape(), "output with shape ", to_string(p.out.sizes()),
             " doesn't match the broadcast shape ", to_string(plan->shape()));
  }
  for (int i = 0; i < p.count; ++i) {
    const Tensor* t = p.in[i].tensor;
    if (t != nullptr && dimensioned[i]) {
      plan->set_operand(1 + i, t->sizes(), t->strides(), t->itemsize());
    } else {
      plan->set_scalar(1 + i);
    }
  }
}

RecordedStep recorded(const Runner& r, const Pointwise& p) {
  RecordedStep step;
  step.loop = r.loop;
  step.produced = r.streams[0].from;
  step.count = p.count;
  if (p.params != nullptr) {
    step.has_params = true;
    std::memcpy(step.params, p.params, sizeof step.params);
  }
  for (int i = 0; i < p.count; ++i) {
    RecordedStep::In& in = step.in[i];
    in.type =
        i == 0 && p.first != ScalarType::Undefined ? loop_type(p.first) : loop_type(p.compute);
    if (p.in[i].tensor == nullptr) in.number = p.in[i].number;
    else in.value = Recording::current().find(*p.in[i].tensor);
  }
  return step;
}

// Stores a number for tensors of this type, if the conversion is a plain cast.
bool store_plain(const Scalar& s, ScalarType type, Slot* to) {
  if (s.kind != Scalar::Double && s.kind != Scalar::Int) return false;
  double exact = s.kind == Scalar::Int ? double(s.i) : s.d;
  float single = s.kind == Scalar::Int ? float(s.i) : float(s.d);
  if (type == ScalarType::Float64) {
    std::memcpy(to->bytes, &exact, sizeof exact);
  } else if (type == ScalarType::Float32) {
    std::memcpy(to->bytes, &single, sizeof single);
  } else {
    return false;
  }
  return true;
}

// The common case, which needs no plan: contiguous tensors of the same shape and the loop's own
// type, and numbers. Returns false, and does nothing, in other cases.
bool run_directly(Pointwise& p, Loop loop) {
  ScalarType produced = p.produced == ScalarType::Undefined ? p.compute : p.produced;
  if (p.first != ScalarType::Undefined) return false;
  if (produced != p.compute && is_half(produced)) return false;
  if (p.result != ScalarType::Undefined && p.result != produced) return false;
  Slot numbers[kMaxInputs];
  const void* in[kMaxInputs];
  int64_t step[kMaxInputs];
  const Tensor* shape = nullptr;
  for (int i = 0; i < p.count; ++i) {
    const Tensor* t = p.in[i].tensor;
    step[i] = t != nullptr;
    if (t == nullptr) {
      if (!store_plain(p.in[i].number, p.compute, &numbers[i])) return false;
      in[i] = numbers[i].bytes;
      continue;
    }
    if (t->dtype() != p.compute || !t->is_contiguous() || is_symbolic(*t)) return false;
    if (shape != nullptr && !same_shape(*t, *shape)) return false;
    shape = t;
    in[i] = t->raw();
  }
  if (shape == nullptr) return false;
  if (p.out.defined()) {
    if (p.out.dtype() != produced || !p.out.is_contiguous() || p.out.storage()->read_only() ||
        !same_shape(p.out, *shape)) {
      return false;
    }
    for (int i = 0; i < p.count; ++i) {
      const Tensor* t = p.in[i].tensor;
      if (t && t->storage() == p.out.storage() && t->impl() != p.out.impl()) return false;
    }
  } else {
    for (int i = 0; p.may_reuse && i < p.count && !p.out.defined(); ++i) {
      const Tensor* t = p.in[i].tensor;
      if (t && t->dtype() == produced && t->is_exclusive()) p.out = *t;
    }
    if (!p.out.defined()) p.out = Tensor::empty(shape->sizes(), produced);
  }
  int64_t n = p.out.numel();
  if (n <= kParallelElements) {
    if (n > 0) loop(n, p.out.raw(), in, step, p.params);
    return true;
  }
  kernels::parallel_for(n, kParallelElements, [&](int64_t begin, int64_t end) {
    const void* at[kMaxInputs];
    for (int i = 0; i < p.count; ++i) {
      at[i] = static_cast<const char*>(in[i]) + begin * step[i] * itemsize(p.compute);
    }
    loop(end - begin, static_cast<char*>(p.out.raw()) + begin * itemsize(produced), at, step,
         p.params);
  });
  return true;
}

Tensor run_planned(Pointwise& p, Loop loop) {
  Runner r;
  r.loop = loop;
  r.params = p.params;
  r.count = p.count;
  const ScalarType compute = loop_type(p.compute);
  const ScalarType produced = p.produced == ScalarType::Undefined ? compute : loop_type(p.produced);

  // Determine what every operand is, and whether all have the same layout.
  Slot slots[kMaxInputs];
  const Tensor* shape = nullptr;  // the tensor whose shape the others are compared to
  bool alike = true, symbolic = false;
  bool dimensioned[kMaxInputs];
  for (int i = 0; i < p.count; ++i) {
    Stream& s = r.streams[1 + i];
    s.to = i == 0 && p.first != ScalarType::Undefined ? loop_type(p.first) : compute;
    const Tensor* t = p.in[i].tensor;
    dimensioned[i] = t != nullptr && t->numel() != 1;
    symbolic = symbolic || (t != nullptr && is_symbolic(*t));
    if (t == nullptr) {
      store_number(p.in[i].number, s.to, slots[i].bytes);
      s.from = s.to;
      s.data = slots[i].bytes;
      continue;
    }
    if (shape == nullptr || t->dim() > shape->dim() || (shape->numel() == 1 && dimensioned[i])) {
      shape = t;
    }
    s.from = t->dtype();
    s.convert = converter(s.to, s.from);
    if (s.convert == nullptr) not_implemented(p);
    if (t->numel() == 1) {
      s.convert(1, slots[i].bytes, 0, t->raw(), 0);
      s.from = s.to;
      s.data = slots[i].bytes;
    } else {
      s.data = static_cast<char*>(t->raw());
    }
  }
  for (int i = 0; i < p.count && alike; ++i) {
    const Tensor* t = p.in[i].tensor;
    if (t == nullptr) continue;
    if (dimensioned[i]) alike = t->is_contiguous() && same_shape(*t, *shape);
    else alike = t->dim() <= shape->dim();  // a one-element tensor of no more dimensions
  }

  bool given = p.out.defined();
  if (given) {
    check_writable(p.out);
    for (int i = 0; i < p.count; ++i) {
      if (p.in[i].tensor != nullptr) check_apart(p.out, *p.in[i].tensor);
    }
    alike = alike && shape != nullptr && p.out.is_contiguous() && same_shape(p.out, *shape);
  }
  const ScalarType result = given                                 ? p.out.dtype()
                            : p.result != ScalarType::Undefined   ? p.result
                            : p.produced != ScalarType::Undefined ? p.produced
                                                                  : p.compute;
  r.streams[0].from = produced;
  r.streams[0].to = result;
  r.streams[0].convert = converter(result, produced);

  if (__builtin_expect(symbolic, 0)) {
    RecordedStep step = recorded(r, p);
    if (given) Recording::give_up();
    if (alike) return Recording::current().add(std::move(step), shape->sizes(), IntSpan(), result);
    StridedPlan plan;
    plan_inputs(&plan, p, dimensioned);
    int64_t strides[kMaxDims];
    plan.result_strides(strides);
    IntSpan sizes = plan.shape();
    return Recording::current().add(std::move(step), sizes, {strides, sizes.size}, result);
  }
  if (alike) {
    if (!given) {
      for (int i = 0; p.may_reuse && i < p.count && !p.out.defined(); ++i) {
        const Tensor* t = p.in[i].tensor;
        if (t && t->dtype() == result && dimensioned[i] && t->is_exclusive()) p.out = *t;
      }
      if (!p.out.defined()) p.out = Tensor::empty(shape ? shape->sizes() : IntSpan(), result);
    }
    int64_t strides[1 + kMaxInputs];
    strides[0] = itemsize(result);
    for (int i = 0; i < p.count; ++i) {
      strides[1 + i] = dimensioned[i] ? itemsize(r.streams[1 + i].from) : 0;
    }
    r.streams[0].data = static_cast<char*>(p.out.raw());
    kernels::parallel_for(p.out.numel(), kParallelElements, [&](int64_t begin, int64_t end) {
      char* at[1 + kMaxInputs];
      for (int i = 0; i <= p.count; ++i) at[i] = r.streams[i].data + begin * strides[i];
      r.run_line(at, strides, end - begin);
    });
    return p.out;
  }

  StridedPlan plan;
  plan_inputs(&plan, p, dimensioned);
  if (!given) {
    int64_t strides[kMaxDims];
    // One-element tensors affect the order of the result's dimensions like any others.
    plan.result_strides(strides);
    p.out = Tensor::empty(plan.shape(), result);
    // The strides are dense too, with another order of the dimensions.
    if (p.out.dim() > 0) p.out.impl()->set_geometry(plan.shape(), {strides, p.out.dim()});
  }
  plan.set_operand(0, p.out.sizes(), p.out.strides(), p.out.itemsize());
  r.streams[0].data = static_cast<char*>(p.out.raw());
  plan.finish();
  char* base[1 + kMaxInputs];
  for (int i = 0; i <= p.count; ++i) base[i] = r.streams[i].data;
  plan.for_each_line(
      base, kParallelElements,
      [&](char* const* at, const int64_t* strides, int64_t n) { r.run_line(at, strides, n); });
  return p.out;
}

Tensor run_as_given(Pointwise& p) {
  Loop loop = (*p.table)[loop_type(p.compute)];
  if (loop == nullptr) not_implemented(p);
  // Some operators also have loops for the 16-bit floats.
  Loop own = loop_type(p.compute) == p.compute ? loop : (*p.table)[p.compute];
  if (own != nullptr && run_directly(p, own)) return std::move(p.out);
  return run_planned(p, loop);
}

// Operands of other types are first converted, and thereby rounded, to the half type.
__attribute__((noinline)) Tensor run_in_halves(Pointwise& p) {
  Tensor made[kMaxInputs];
  for (int i = 0; i < p.count; ++i) {
    const Tensor* t = p.in[i].tensor;
    if (t == nullptr || t->dtype() == p.compute || itemsize(t->dtype()) == 1) continue;
    if (i == 0 && p.first != ScalarType::Undefined) continue;
    if (i + 1 == p.count && p.last_is_exact && t->numel() == 1) continue;
    made[i] = to_dtype(*t, p.compute);
    p.in[i].tensor = &made[i];
  }
  return run_as_given(p);
}

}  // namespace

Tensor run(Pointwise& p) {
  const bool halves = is_half(p.compute);
  return halves ? run_in_halves(p) : run_as_given(p);
}

}  // namespace scriptlang
