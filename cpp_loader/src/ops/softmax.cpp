#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "layers.h"
#include "recording.h"
#include "reduce.h"
#include "view.h"

namespace scriptlang {

namespace {

const RowFunction& function_of(ScalarType computed, bool log) {
  const RowFunction* function = nullptr;
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    function = log ? &row::kLogSoftmax<T> : &row::kSoftmax<T>;
  });
  return *function;
}

void run_rows(const Tensor& from, const Tensor& to, const RowFunction& function) {
  int64_t n = to.size(to.dim() - 1), rows = to.numel() / n, bytes = n * to.itemsize();
  const char* x = static_cast<const char*>(from.raw());
  char* y = static_cast<char*>(to.raw());
  kernels::parallel_for(rows, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const void* in[1] = {x + r * bytes};
      function.run(n, y + r * bytes, in, nullptr);
    }
  });
}

Tensor record_softmax(const Tensor& self, int64_t dim, ScalarType computed, ScalarType result,
                      bool log);

// Along a dimension with others behind it, where the data lies; undefined where that is not done.
Tensor softmax_of_columns(const Tensor& self, int64_t dim, ScalarType computed, bool log) {
  Columns columns;
  Dims dims;
  dims.push_back(dim);
  if (computed != ScalarType::Float32 || !columns.find(self, dims)) return Tensor();
  Tensor from = to_dtype(self, computed);
  Tensor to = from.is(self) ? Tensor::empty(self.sizes(), computed) : from;
  columns.for_bands([&](int64_t at, int64_t, int64_t width) {
    kernels::kernels().rows->softmax_columns(columns.n, width, from.data<float>() + at,
                                             columns.inner, to.data<float>() + at, log);
  });
  return to;
}

// Along the last dimension; others are moved there.
Tensor softmax(const Tensor& self, int64_t dim, ScalarType result, bool log) {
  dim = wrap_dim(dim, self.dim());
  ScalarType computed = computed_type(result, log ? "log_softmax_lastdim_kernel_impl"
                                                  : "softmax_lastdim_kernel_impl");
  if (is_symbolic(self)) return record_softmax(self, dim, computed, result, log);
  if (self.dim() == 0) return view_squeeze(softmax(view_unsqueeze(self, 0), 0, result, log));
  if (Tensor done = softmax_of_columns(self, dim, computed, log); done.defined()) {
    return to_dtype(done, result);
  }
  Tensor moved = dim == self.dim() - 1 ? self : view_transpose(self, dim, -1);
  Tensor work = Tensor::empty(moved.sizes(), computed);
  bool lies_so = moved.is_contiguous() && moved.dtype() == computed;
  if (!lies_so) copy_into(work, moved);
  const Tensor& from = lies_so ? moved : work;
  if (work.numel() > 0) run_rows(from, work, function_of(computed, log));
  if (dim == self.dim() - 1) return to_dtype(work, result);
  return contiguous_as(view_transpose(work, dim, -1), result);
}

Tensor record_softmax(const Tensor& self, int64_t dim, ScalarType computed, ScalarType result,
                      bool log) {
  Recording::Rows rows;
  bool last = dim == self.dim() - 1 && self.numel() > 0;
  rows.function = last ? &function_of(computed, log) : nullptr;
  rows.dims = 1;
  rows.computed = computed;
  rows.inputs = {self};
  return Recording::current().add_rows(
      rows, [=](const Tensor* in) { return softmax(in[0], dim, result, log); }, self.sizes(),
      result);
}

void softmax_op(Args args, Value* out, bool log) {
  const Tensor& self = args.tensor(0);
  ScalarType result = args.none(2) || args[2].is_bool() ? self.dtype() : args.dtype(2);
  out[0] = softmax(self, args.integer(1), result, log);
}

}  // namespace

Tensor softmax(const Tensor& self, int64_t dim) {
  return softmax(self, dim, self.dtype(), false);
}
Tensor log_softmax(const Tensor& self, int64_t dim) {
  return softmax(self, dim, self.dtype(), true);
}

SL_OP(aten_softmax_int) { softmax_op(args, out, false); }
SL_OP(aten_log_softmax_int) { softmax_op(args, out, true); }
SL_OP(aten__softmax) { softmax_op(args, out, false); }
SL_OP(aten__log_softmax) { softmax_op(args, out, true); }
SL_OP(aten_special_softmax) { softmax_op(args, out, false); }
SL_OP(aten_special_log_softmax) { softmax_op(args, out, true); }

}  // namespace scriptlang
