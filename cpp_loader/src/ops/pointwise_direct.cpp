// The fast path of pointwise operators on small or contiguous tensors of one type.
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

// What to run: `count` rows of `n` elements of the tensor that has the result's shape. `advance`:
// bytes from an operand's row to its next.
struct RowRun {
  int64_t n = 0, count = 1;
  int64_t advance[2] = {};
};

// Runs the loop. The result is the first operand that may be overwritten (args it may take and that
// have no other owner), or a new tensor.
void run_into(Args args, const bool* may_take, Value* out, kernels::Loop loop, const void** in,
              const int64_t* step, const double* params, int shaped, const RowRun& rows) {
  const Tensor& t = args[shaped].as_tensor();
  Value result;
  for (int k = 0; k < 2 && result.is_none(); ++k) {
    if (may_take[k] && args[k].as_tensor().is_exclusive()) result = std::move(args[k]);
  }
  if (result.is_none()) result = Tensor::empty(t.sizes(), t.dtype());
  char* to = static_cast<char*>(result.as_tensor().raw());
  int64_t bytes = rows.n * result.as_tensor().itemsize();
  for (int64_t r = 0; rows.n > 0 && r < rows.count; ++r, to += bytes) {
    loop(rows.n, to, in, step, params);
    for (int k = 0; k < 2; ++k) in[k] = static_cast<const char*>(in[k]) + rows.advance[k];
  }
  out[0] = std::move(result);
}

// Whether `u` broadcasts as one number for all of `t`, one number for each row, or one row for all;
// sets how it is read beside the rows of `t`.
bool lies_beside(const Tensor& t, const Tensor& u, RowRun* rows, int64_t* advance, int64_t* step) {
  int64_t shift = t.dim() - u.dim(), numel = u.numel();
  if (shift < 0 || t.numel() == 0 || !u.is_contiguous()) return false;
  *advance = *step = 0;
  if (numel == 1) return true;
  int64_t last = t.dim() - 1, d = t.dim();
  while (d > shift && u.size(d - 1 - shift) == t.size(d - 1)) --d;
  bool is_row = true;
  for (int64_t k = shift; k < d; ++k) is_row = is_row && u.size(k - shift) == 1;
  if (is_row) {
    *step = 1;
    rows->n = numel;
    rows->count = t.numel() / numel;
    return true;
  }
  if (shift != 0 || d != t.dim() || u.size(last) != 1) return false;
  for (int64_t k = 0; k < last; ++k) {
    if (u.size(k) != t.size(k)) return false;
  }
  *advance = t.itemsize();
  rows->n = t.size(last);
  rows->count = numel;
  return true;
}

}  // namespace

bool direct_unary(Args args, Value* out, const kernels::LoopTable& loops, const double* params) {
  if (!is_simple(args[0])) return false;
  const Tensor& t = args[0].as_tensor();
  kernels::Loop loop = loops[t.dtype()];
  if (!loop) return false;
  const void* in[2] = {t.raw(), nullptr};
  const int64_t step[2] = {1, 0};
  constexpr bool kMayTake[2] = {true, false};
  RowRun rows;
  rows.n = t.numel();
  run_into(args, kMayTake, out, loop, in, step, params, 0, rows);
  return true;
}

bool direct_binary(Args args, Value* out, const kernels::LoopTable& loops, const double* params) {
  bool simple[2] = {is_simple(args[0]), is_simple(args[1])};
  int shaped = simple[0] ? 0 : 1, other = 1 - shaped;
  if (!simple[shaped]) return false;
  if (simple[other] && args[other].as_tensor().numel() > args[shaped].as_tensor().numel()) {
    std::swap(shaped, other);
  }
  const Tensor& t = args[shaped].as_tensor();
  const Value& beside = args[other];
  const void* in[2];
  int64_t step[2] = {1, 1};
  double exact;
  float single;
  RowRun rows;
  rows.n = t.numel();
  in[shaped] = t.raw();
  bool may_take[2] = {true, true};
  if (simple[other]) {
    const Tensor& u = beside.as_tensor();
    if (u.dtype() != t.dtype()) return false;
    in[other] = u.raw();
    if (!same_shape(t, u)) {
      if (!lies_beside(t, u, &rows, &rows.advance[other], &step[other])) return false;
      rows.advance[shaped] = rows.n * t.itemsize();
      may_take[other] = false;
    }
  } else if (beside.is_double() || beside.is_int()) {
    exact = beside.is_int() ? double(beside.raw_int()) : beside.raw_double();
    single = beside.is_int() ? float(beside.raw_int()) : float(beside.raw_double());
    in[other] = t.dtype() == ScalarType::Float32 ? static_cast<const void*>(&single) : &exact;
    step[other] = 0;
    may_take[other] = false;
  } else {
    return false;
  }
  kernels::Loop loop = loops[t.dtype()];
  if (!loop) return false;
  run_into(args, may_take, out, loop, in, step, params, shaped, rows);
  return true;
}

}  // namespace scriptlang
