#include "../../kernels/parallel.h"
#include "layers.h"
#include "pointwise.h"
#include "row_kernels.h"
#include "view.h"

namespace scriptlang {

namespace {

template <class T>
void run_rows(const Tensor& from, const Tensor& to, bool log) {
  int64_t n = to.size(to.dim() - 1), rows = to.numel() / n;
  const T* x = from.data<T>();
  T* y = to.data<T>();
  kernels::parallel_for(rows, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      if (log) Rows<T>::log_softmax(n, x + r * n, y + r * n);
      else Rows<T>::softmax(n, x + r * n, y + r * n);
    }
  });
}

// Along the last dimension; others are moved there.
Tensor softmax(const Tensor& self, int64_t dim, ScalarType result, bool log) {
  dim = wrap_dim(dim, self.dim());
  ScalarType computed = computed_type(result, log ? "log_softmax_lastdim_kernel_impl"
                                                  : "softmax_lastdim_kernel_impl");
  if (self.dim() == 0) return view_squeeze(softmax(view_unsqueeze(self, 0), 0, result, log));
  Tensor moved = view_transpose(self, dim, -1);
  Tensor work = Tensor::empty(moved.sizes(), computed);
  bool lies_so = moved.is_contiguous() && moved.dtype() == computed;
  if (!lies_so) copy_into(work, moved);
  const Tensor& from = lies_so ? moved : work;
  if (work.numel() > 0) {
    for_float_type(computed, [&](auto zero) { run_rows<decltype(zero)>(from, work, log); });
  }
  if (dim == self.dim() - 1) return to_dtype(work, result);
  return contiguous_as(view_transpose(work, dim, -1), result);
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
