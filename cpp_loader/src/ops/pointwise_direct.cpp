#include "pointwise_direct.h"

#include "recording.h"

#include <algorithm>

namespace scriptlang {

namespace {

constexpr int64_t kMostElements = 4096;

bool is_simple(const Value& v) {
  if (!v.is_tensor()) return false;
  const Tensor& t = v.as_tensor();
  return (t.dtype() == ScalarType::Float32 || t.dtype() == ScalarType::Float64) &&
         t.is_contiguous() && t.numel() <= kMostElements && !is_symbolic(t);
}

bool same_shape(const Tensor& a, const Tensor& b) {
  return a.dim() == b.dim() && std::equal(a.sizes().begin(), a.sizes().end(), b.sizes().begin());
}

// Runs the loop into the first operand that is not needed any more, or into a fresh tensor.
void run_into(Args args, int operands, Value* out, kernels::Loop loop, const void* const* in,
              const int64_t* step, const double* params, int shaped) {
  const Tensor& t = args[shaped].as_tensor();
  int64_t n = t.numel();
  for (int k = 0; k < operands; ++k) {
    if (!args[k].is_tensor() || !args[k].as_tensor().is_exclusive()) continue;
    if (n > 0) loop(n, args[k].as_tensor().raw(), in, step, params);
    out[0] = std::move(args[k]);
    return;
  }
  Tensor made = Tensor::empty(t.sizes(), t.dtype());
  if (n > 0) loop(n, made.raw(), in, step, params);
  out[0] = Value(std::move(made));
}

}  // namespace

bool direct_unary(Args args, Value* out, const kernels::LoopTable& loops, const double* params) {
  if (!is_simple(args[0])) return false;
  const Tensor& t = args[0].as_tensor();
  kernels::Loop loop = loops[t.dtype()];
  if (!loop) return false;
  const void* in[1] = {t.raw()};
  const int64_t step[1] = {1};
  run_into(args, 1, out, loop, in, step, params, 0);
  return true;
}

bool direct_binary(Args args, Value* out, const kernels::LoopTable& loops, const double* params) {
  const void* in[2];
  int64_t step[2] = {1, 1};
  double exact;
  float single;
  int shaped = is_simple(args[0]) ? 0 : 1, other = 1 - shaped;
  if (shaped == 1 && !is_simple(args[1])) return false;
  const Tensor& t = args[shaped].as_tensor();
  in[shaped] = t.raw();
  const Value& beside = args[other];
  if (beside.is_tensor()) {
    const Tensor& u = beside.as_tensor();
    if (u.dtype() != t.dtype() || !u.is_contiguous() || !same_shape(t, u)) return false;
    in[other] = u.raw();
  } else if (beside.is_double() || beside.is_int()) {
    exact = beside.is_int() ? double(beside.raw_int()) : beside.raw_double();
    single = beside.is_int() ? float(beside.raw_int()) : float(beside.raw_double());
    in[other] = t.dtype() == ScalarType::Float32 ? static_cast<const void*>(&single) : &exact;
    step[other] = 0;
  } else {
    return false;
  }
  kernels::Loop loop = loops[t.dtype()];
  if (!loop) return false;
  run_into(args, 2, out, loop, in, step, params, shaped);
  return true;
}

}  // namespace scriptlang
