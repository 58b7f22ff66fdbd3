// Copying and converting tensors.
#include <algorithm>
#include <cfloat>
#include <cstring>

#include "../../kernels/kernel_set.h"
#include "pointwise.h"
#include "recording.h"
#include "strided.h"

namespace scriptlang {

using kernels::Convert;
using kernels::converter;

namespace {

constexpr int64_t kParallelElements = 65536;

// Moves elements of one type as bytes; false where no copy kernel fits.
bool try_moved(const StridedPlan& plan, char* to, char* from, int64_t itemsize) {
  int kind = kernels::copy_functions_of(itemsize);
  if (kind < 0 || plan.ndim() == 0) return false;
  const kernels::CopyFunctions& copies = *kernels::kernels().copies;
  char* base[2] = {to, from};
  int64_t to_step = plan.stride(0, 0), from_step = plan.stride(1, 0);
  if (plan.ndim() >= 2 && to_step == itemsize) {
    int64_t to_row = plan.stride(0, 1), from_row = plan.stride(1, 1), n = plan.size(0);
    if (from_step == itemsize && n * itemsize <= kernels::kShortRow) {
      plan.for_each_plane(base, kParallelElements, [&](char* const* at, int64_t rows) {
        copies.short_rows(rows, n * itemsize, at[0], to_row, at[1], from_row);
      });
      return true;
    }
    if (from_step != 0 && (from_row == itemsize || from_row == -itemsize)) {
      plan.for_each_plane(base, kParallelElements, [&](char* const* at, int64_t rows) {
        // Negative row strides: start at the other end.
        int64_t last = from_row < 0 ? rows - 1 : 0;
        copies.transpose[kind](rows, n, at[0] + last * to_row, from_row < 0 ? -to_row : to_row,
                               at[1] - last * itemsize, from_step);
      });
      return true;
    }
  }
  if (to_step != itemsize || from_step % itemsize != 0) return false;
  plan.for_each_line(base, kParallelElements,
                     [&](char* const* at, const int64_t* strides, int64_t n) {
                       copies.line[kind](n, at[0], at[1], strides[1] / itemsize);
                     });
  return true;
}

bool may_overlap(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.numel() > 0 && b.numel() > 0;
}

}  // namespace

void copy_into(const Tensor& dst, const Tensor& src) {
  if (dst.impl() == src.impl()) return;
  check_writable(dst);
  copy_elements(dst, src);
}

// Where elements of dst share memory, the last one written remains.
void copy_elements(const Tensor& dst, const Tensor& src) {
  if (is_symbolic(src)) Recording::give_up();
  Convert convert = converter(dst.dtype(), src.dtype());
  SL_CHECK(convert != nullptr, "a tensor of ", dtype_name(src.dtype()), " cannot be converted to ",
           dtype_name(dst.dtype()));
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
           " must match the existing size ", to_string(src.sizes()), ": output with shape ",
           to_string(dst.sizes()), " doesn't match the broadcast shape of the source");
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
  if (dst.dtype() == src.dtype() && try_moved(plan, to, from, dst.itemsize())) return;
  char* base[2] = {to, from};
  plan.for_each_line(base, kParallelElements,
                     [&](char* const* at, const int64_t* strides, int64_t n) {
                       convert(n, at[0], strides[0], at[1], strides[1]);
                     });
}

void check_fits(const Scalar& s, ScalarType type) {
  static const struct {
    ScalarType type;
    const char* name;
    double low, high;
  } kRanges[] = {
      {ScalarType::UInt8, "uint8_t", 0, 255},
      {ScalarType::Int8, "int8_t", -128, 127},
      {ScalarType::Int16, "int16_t", -32768, 32767},
      {ScalarType::Int32, "int", -2147483648.0, 2147483647.0},
      {ScalarType::UInt16, "uint16_t", 0, 65535},
      {ScalarType::UInt32, "uint32_t", 0, 4294967295.0},
      {ScalarType::UInt64, "uint64_t", 0, 18446744073709549568.0},
      {ScalarType::Int64, "int64_t", -9223372036854775808.0, 9223372036854774784.0},
      {ScalarType::Float16, "c10::Half", -65504, 65504},
      {ScalarType::BFloat16, "c10::BFloat16", -3.3895313892515355e38, 3.3895313892515355e38},
      {ScalarType::Float32, "float", -3.4028234663852886e38, 3.4028234663852886e38},
      {ScalarType::Float64, "double", -DBL_MAX, DBL_MAX},
  };
  if (s.kind == Scalar::Complex && !is_complex(type) && s.imag != 0) {
    const char* name = "bool";
    for (const auto& range : kRanges) {
      if (range.type == type) name = range.name;
    }
    raise(ErrorKind::RuntimeError, "value cannot be converted to type ", name, " without overflow");
  }
  if (s.kind == Scalar::Bool) return;
  if (is_complex(type)) {
    auto fits = [](double part) { return !std::isfinite(part) || std::fabs(part) <= FLT_MAX; };
    SL_CHECK(type != ScalarType::Complex64 || (fits(s.d) && fits(s.imag)),
             "value cannot be converted to type c10::complex<float> without overflow");
    return;
  }
  bool whole = s.kind == Scalar::Int;
  double value = s.to_double();
  for (const auto& range : kRanges) {
    const bool any = whole && itemsize(type) == 8;
    if (range.type != type || any) continue;
    if (is_floating(type) && !std::isfinite(value)) continue;
    double low = whole && range.low == 0 ? -range.high : range.low;  // -1 becomes 255
    SL_CHECK(value >= low && value <= range.high, "value cannot be converted to type ", range.name,
             " without overflow");
  }
}

void check_factor(const Scalar& s, ScalarType type) {
  bool half = is_half(type);
  check_fits(s, half ? ScalarType::Float32 : type);
}

void fill(const Tensor& dst, const Scalar& value) {
  check_not_read_only(dst);
  check_fits(value, dst.dtype());
  if (dst.numel() == 0) return;
  Tensor one;
  switch (value.kind) {
    case Scalar::Bool:
    case Scalar::Int: one = Tensor::scalar(value.i); break;
    case Scalar::Double: one = Tensor::scalar(value.d, ScalarType::Float64); break;
    default: {
      one = Tensor::empty(IntSpan(), ScalarType::Complex128);
      *one.data<std::complex<double>>() = value.to_complex();
    }
  }
  if (one.dtype() != dst.dtype()) one = to_dtype(one, dst.dtype());
  copy_elements(dst, one);
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
