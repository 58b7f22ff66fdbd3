// Copying and converting tensors.
#include <algorithm>
#include <cstring>

#include "pointwise.h"
#include "recording.h"
#include "strided.h"

namespace scriptlang {

using kernels::Convert;
using kernels::converter;

namespace {

constexpr int64_t kParallelElements = 65536;

// 16 x 16 squares: both sides stay within a few cache lines.
template <class T>
void copy_transposed(char* to, int64_t to_row, const char* from, int64_t from_column, int64_t rows,
                     int64_t columns) {
  constexpr int64_t kSquare = 16;
  for (int64_t r0 = 0; r0 < rows; r0 += kSquare) {
    int64_t r1 = std::min(rows, r0 + kSquare);
    for (int64_t c0 = 0; c0 < columns; c0 += kSquare) {
      int64_t c1 = std::min(columns, c0 + kSquare);
      for (int64_t r = r0; r < r1; ++r) {
        T* line = reinterpret_cast<T*>(to + r * to_row);
        const char* source = from + r * int64_t(sizeof(T));
        for (int64_t c = c0; c < c1; ++c) {
          line[c] = *reinterpret_cast<const T*>(source + c * from_column);
        }
      }
    }
  }
}

// A plan whose result is contiguous along dimension 0 and whose source is along dimension 1.
bool try_transposed(const StridedPlan& plan, char* to, const char* from, int64_t itemsize) {
  if (plan.ndim() < 2 || plan.stride(0, 0) != itemsize || plan.stride(1, 1) != itemsize) {
    return false;
  }
  if (itemsize != 1 && itemsize != 4 && itemsize != 8) return false;
  int64_t outer = 1;
  for (int64_t d = 2; d < plan.ndim(); ++d) outer *= plan.size(d);
  int64_t columns = plan.size(0), rows = plan.size(1);
  int64_t bands = (rows + 15) / 16;
  int64_t grain = std::max<int64_t>(1, kParallelElements / (16 * columns));
  kernels::parallel_for(outer * bands, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      int64_t rest = task / bands, first = task % bands * 16;
      char* o = to + first * plan.stride(0, 1);
      const char* a = from + first * itemsize;
      for (int64_t d = 2; d < plan.ndim(); ++d) {
        int64_t index = rest % plan.size(d);
        rest /= plan.size(d);
        o += index * plan.stride(0, d);
        a += index * plan.stride(1, d);
      }
      int64_t height = std::min<int64_t>(16, rows - first);
      if (itemsize == 1) {
        copy_transposed<uint8_t>(o, plan.stride(0, 1), a, plan.stride(1, 0), height, columns);
      } else if (itemsize == 4) {
        copy_transposed<uint32_t>(o, plan.stride(0, 1), a, plan.stride(1, 0), height, columns);
      } else {
        copy_transposed<uint64_t>(o, plan.stride(0, 1), a, plan.stride(1, 0), height, columns);
      }
    }
  });
  return true;
}

bool may_overlap(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.numel() > 0 && b.numel() > 0;
}

}  // namespace

void copy_into(const Tensor& dst, const Tensor& src) {
  check_writable(dst);
  if (is_symbolic(src)) Recording::give_up();
  if (dst.impl() == src.impl()) return;
  Convert convert = converter(dst.dtype(), src.dtype());
  SL_CHECK(convert != nullptr, "a tensor of ", dtype_name(src.dtype()),
           " cannot be converted to ", dtype_name(dst.dtype()));
  char* to = static_cast<char*>(dst.raw());
  char* from = static_cast<char*>(src.raw());
  if (dst.sizes() == src.sizes() && dst.is_contiguous() && src.is_contiguous()) {
    if (dst.dtype() != src.dtype() && may_overlap(dst, src)) {
      Tensor apart = Tensor::empty(src.sizes(), src.dtype());
      copy_into(apart, src);
      return copy_into(dst, apart);
    }
    int64_t a = dst.itemsize(), b = src.itemsize();
    kernels::parallel_for(dst.numel(), kParallelElements, [&](int64_t begin, int64_t end) {
      convert(end - begin, to + begin * a, a, from + begin * b, b);
    });
    return;
  }
  StridedPlan plan;
  plan.begin(2);
  plan.broadcast(dst.sizes());
  bool fits = src.dim() <= dst.dim();
  for (int64_t i = 1; fits && i <= src.dim(); ++i) {
    fits = src.size(src.dim() - i) == dst.size(dst.dim() - i) || src.size(src.dim() - i) == 1;
  }
  // Leading dimensions of one element are dropped, as in PyTorch's setitem.
  SL_CHECK(fits, "The expanded size of the tensor ", to_string(dst.sizes()),
           " must match the existing size ", to_string(src.sizes()),
           ": output with shape ", to_string(dst.sizes()),
           " doesn't match the broadcast shape of the source");
  if (dst.numel() == 0) return;
  if (may_overlap(dst, src)) {
    bool same = dst.raw() == src.raw() && dst.sizes() == src.sizes() &&
                dst.strides() == src.strides() && dst.dtype() == src.dtype();
    if (same) return;
    Tensor apart = Tensor::empty(src.sizes(), src.dtype());
    copy_into(apart, src);
    return copy_into(dst, apart);
  }
  plan.set_operand(0, dst.sizes(), dst.strides(), dst.itemsize());
  plan.set_operand(1, src.sizes(), src.strides(), src.itemsize());
  plan.finish();
  if (dst.dtype() == src.dtype() && try_transposed(plan, to, from, dst.itemsize())) return;
  char* base[2] = {to, from};
  plan.for_each_line(base, kParallelElements,
                     [&](char* const* at, const int64_t* strides, int64_t n) {
                       convert(n, at[0], strides[0], at[1], strides[1]);
                     });
}

void fill(const Tensor& dst, const Scalar& value) {
  check_writable(dst);
  if (dst.numel() == 0) return;
  Tensor one;
  switch (value.kind) {
    case Scalar::Bool:
    case Scalar::Int: one = Tensor::scalar(value.i); break;
    case Scalar::Double: one = Tensor::scalar(value.d, ScalarType::Float64); break;
    default: {
      SL_CHECK(is_complex(dst.dtype()),
               "value cannot be converted to type ", dtype_name(dst.dtype()), " without overflow");
      one = Tensor::empty(IntSpan(), ScalarType::Complex128);
      *one.data<std::complex<double>>() = value.to_complex();
    }
  }
  if (one.dtype() != dst.dtype()) one = to_dtype(one, dst.dtype());
  copy_into(dst, one);
}

Tensor to_contiguous(const Tensor& t) {
  if (t.is_contiguous()) return t;
  Tensor out = Tensor::empty(t.sizes(), t.dtype());
  copy_into(out, t);
  return out;
}

Tensor to_dtype(const Tensor& t, ScalarType dtype) {
  if (t.dtype() == dtype) return t;
  if (is_symbolic(t)) return Recording::current().convert(t, dtype);
  Tensor out = Tensor::empty_like(t, dtype);
  copy_into(out, t);
  return out;
}

Tensor contiguous_as(const Tensor& t, ScalarType dtype) {
  if (t.dtype() == dtype) return to_contiguous(t);
  Tensor out = Tensor::empty(t.sizes(), dtype);
  copy_into(out, t);
  return out;
}

}  // namespace scriptlang
