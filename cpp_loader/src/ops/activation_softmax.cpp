// softmax and log_softmax along any dimension.
#include <cmath>
#include <memory>

#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "layers.h"
#include "recording.h"
#include "reduce.h"
#include "row_kernels.h"
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

// Of the rows of contiguous tensors of type T.
template <class T>
void softmax_of_rows(const Tensor& from, const Tensor& to, bool log) {
  const int64_t n = to.size(to.dim() - 1), rows = to.numel() / n;
  const T* x = from.data<T>();
  T* y = to.data<T>();
  kernels::parallel_for(rows, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
    const auto of_rows = log ? Rows<T>::log_softmax : Rows<T>::softmax;
    of_rows(end - begin, n, x + begin * n, y + begin * n);
  });
}

Tensor record_softmax(const Tensor& self, int64_t dim, ScalarType computed, ScalarType result,
                      bool log);

// softmax over columns of float64, some of them at a time.
void softmax_of_doubles(int64_t rows, int64_t width, const double* x, int64_t stride, double* y,
                        bool log) {
  constexpr int64_t kWidth = 64;
  const kernels::Loop exp = kernels::loops(kernels::Unary::k_exp)[ScalarType::Float64];
  const int64_t one = 1;
  for (int64_t first = 0; first < width; first += kWidth, x += kWidth, y += kWidth) {
    const int64_t n = std::min(kWidth, width - first);
    double top[kWidth], total[kWidth] = {}, power[kWidth];
    std::copy_n(x, n, top);
    kernels::kernels().lines->f64.maximum_of_columns(rows - 1, n, x + stride, stride, top);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < n; ++j) power[j] = x[r * stride + j] - top[j];
      const void* in[1] = {power};
      exp(n, power, in, &one, nullptr);
      for (int64_t j = 0; j < n; ++j) total[j] += power[j];
      if (!log) std::copy_n(power, n, y + r * stride);
    }
    for (int64_t j = 0; j < n; ++j) total[j] = log ? std::log(total[j]) : 1 / total[j];
    for (int64_t r = 0; r < rows; ++r) {
      double* to = y + r * stride;
      const double* from = x + r * stride;
      if (log)
        for (int64_t j = 0; j < n; ++j) to[j] = from[j] - top[j] - total[j];
      else
        for (int64_t j = 0; j < n; ++j) to[j] *= total[j];
    }
  }
}

// The same for half types: as many columns as fit the L2 cache, converted to float32.
void softmax_of_halves(int64_t rows, int64_t width, const Tensor& from, const Tensor& to,
                       int64_t at, int64_t stride, bool log) {
  constexpr int64_t kMost = 1 << 17;  // elements
  const int64_t band = std::min(width, std::max<int64_t>(16, kMost / rows / 16 * 16));
  const int64_t size = from.itemsize();
  const kernels::Convert in = kernels::converter(ScalarType::Float32, from.dtype());
  const kernels::Convert out = kernels::converter(from.dtype(), ScalarType::Float32);
  std::unique_ptr<float[]> space(new float[as_size(rows * band)]);
  const char* x = static_cast<const char*>(from.raw()) + at * size;
  char* y = static_cast<char*>(to.raw()) + at * size;
  for (int64_t first = 0; first < width; first += band) {
    const int64_t n = std::min(band, width - first);
    for (int64_t r = 0; r < rows; ++r) {
      in(n, &space[size_t(r * n)], sizeof(float), x + (r * stride + first) * size, size);
    }
    kernels::kernels().rows->softmax_columns(rows, n, space.get(), n, space.get(), log);
    for (int64_t r = 0; r < rows; ++r) {
      out(n, y + (r * stride + first) * size, size, &space[size_t(r * n)], sizeof(float));
    }
  }
}

// softmax along a dimension that others follow, with the data read in place; undefined where that
// is not supported.
Tensor softmax_of_columns(const Tensor& self, int64_t dim, ScalarType computed, ScalarType result,
                          bool log) {
  Columns columns;
  Dims dims;
  dims.push_back(dim);
  if (!columns.find(self, dims)) return Tensor();
  const bool halves = is_floating(self.dtype()) && self.itemsize() == 2 && self.dtype() == result;
  Tensor from = halves ? self : to_dtype(self, computed);
  Tensor to = from.is(self) ? Tensor::empty(self.sizes(), self.dtype()) : from;
  columns.for_bands([&](int64_t at, int64_t, int64_t width) {
    if (halves) {
      softmax_of_halves(columns.n, width, from, to, at, columns.inner, log);
    } else if (computed == ScalarType::Float64) {
      softmax_of_doubles(columns.n, width, from.data<double>() + at, columns.inner,
                         to.data<double>() + at, log);
    } else {
      kernels::kernels().rows->softmax_columns(columns.n, width, from.data<float>() + at,
                                               columns.inner, to.data<float>() + at, log);
    }
  });
  return to;
}

// softmax along the last dimension; another one is moved there.
Tensor softmax(const Tensor& self, int64_t dim, ScalarType result, bool log) {
  dim = wrap_dim(dim, self.dim());
  ScalarType computed = computed_type(
      result, log ? "log_softmax_lastdim_kernel_impl" : "softmax_lastdim_kernel_impl");
  if (is_symbolic(self)) return record_softmax(self, dim, computed, result, log);
  if (self.dim() == 0) return view_squeeze(softmax(view_unsqueeze(self, 0), 0, result, log));
  if (Tensor done = softmax_of_columns(self, dim, computed, result, log); done.defined()) {
    return to_dtype(done, result);
  }
  Tensor moved = dim == self.dim() - 1 ? self : view_transpose(self, dim, -1);
  Tensor work = Tensor::empty(moved.sizes(), computed);
  bool lies_so = moved.is_contiguous() && moved.dtype() == computed;
  if (!lies_so) copy_into(work, moved);
  const Tensor& from = lies_so ? moved : work;
  if (work.numel() > 0) {
    for_float_type(computed, [&](auto zero) { softmax_of_rows<decltype(zero)>(from, work, log); });
  }
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
  if (self.numel() == 0 && !is_symbolic(self) && !is_floating(result)) {
    wrap_dim(args.integer(1), self.dim());
    out[0] = Tensor::empty(self.sizes(), result);
    return;
  }
  out[0] = softmax(self, args.integer(1), result, log);
}

void check_half(Args args) {
  SL_CHECK(!args.boolean(2), "softmax with half to float conversion is not supported on CPU");
}

}  // namespace

Tensor softmax(const Tensor& self, int64_t dim) { return softmax(self, dim, self.dtype(), false); }
Tensor log_softmax(const Tensor& self, int64_t dim) {
  return softmax(self, dim, self.dtype(), true);
}

SL_OP(aten_softmax_int) { softmax_op(args, out, false); }
SL_OP(aten_log_softmax_int) { softmax_op(args, out, true); }
SL_OP(aten__softmax) {
  check_half(args);
  softmax_op(args, out, false);
}
SL_OP(aten__log_softmax) {
  check_half(args);
  softmax_op(args, out, true);
}
SL_OP(aten_special_softmax) { softmax_op(args, out, false); }
SL_OP(aten_special_log_softmax) { softmax_op(args, out, true); }

}  // namespace scriptlang
