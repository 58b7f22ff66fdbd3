// The C API: makes tensors, also on memory of the caller, and reads and writes them.
#include <algorithm>
#include <cstring>

#include "capi.h"
#include "ops/express.h"
#include "ops/pointwise.h"
#include "values/quantizer.h"

using namespace scriptlang;
using namespace scriptlang::capi;

namespace scriptlang::capi {

// The element types: X(name in the C API, ScalarType).
// clang-format off
#define SL_DTYPE_PAIRS(X)                                                                        \
  X(SL_UINT8, UInt8) X(SL_INT8, Int8) X(SL_INT16, Int16) X(SL_INT32, Int32) X(SL_INT64, Int64)   \
  X(SL_FLOAT16, Float16) X(SL_FLOAT32, Float32) X(SL_FLOAT64, Float64)                           \
  X(SL_COMPLEX32, Complex32) X(SL_COMPLEX64, Complex64) X(SL_COMPLEX128, Complex128)             \
  X(SL_BOOL8, Bool) X(SL_QINT8, QInt8) X(SL_QUINT8, QUInt8) X(SL_QINT32, QInt32)                 \
  X(SL_BFLOAT16, BFloat16) X(SL_UINT16, UInt16) X(SL_UINT32, UInt32) X(SL_UINT64, UInt64)
// clang-format on

// Programs see dtypes as ints, so both must have the same numbers.
// clang-format off
#define X(outside, inside) static_assert(int(outside) == int(ScalarType::inside), "dtypes");
SL_DTYPE_PAIRS(X)
#undef X
// clang-format on

sl_dtype dtype_of(ScalarType type) {
  switch (type) {
    // clang-format off
#define X(outside, inside) \
  case ScalarType::inside: \
    return outside;
    SL_DTYPE_PAIRS(X)
#undef X
      // clang-format on
    case ScalarType::Undefined: break;
  }
  raise(ErrorKind::RuntimeError, "a tensor without an element type");
}

ScalarType type_of(const sl_dtype& dtype) {
  int number;
  std::memcpy(&number, &dtype, sizeof number);
  static_assert(sizeof number == sizeof dtype, "enums of C are ints");
  if (!is_scalar_type(number)) raise(ErrorKind::ValueError, "no element type: ", number);
  ScalarType type = ScalarType(number);
  if (is_quantized(type)) raise(ErrorKind::ValueError, "codes without a scale");
  return type;
}

}  // namespace scriptlang::capi

namespace {

// Checks the pointers and sizes of a tensor that a host passes. Returns its size in bytes.
int64_t checked_bytes(const void* data, ScalarType type, const int64_t* sizes, size_t ndim) {
  need(sizes, ndim > 0);
  if (ndim > size_t(kMaxDims)) raise(ErrorKind::ValueError, "too many dimensions");
  int64_t bytes;
  if (__builtin_mul_overflow(checked_numel({sizes, int64_t(ndim)}), itemsize(type), &bytes)) {
    raise(ErrorKind::ValueError, "the tensor is too large");
  }
  need(data, bytes > 0);
  return bytes;
}

// The alignment of an element type: for complex numbers, that of the real part.
size_t alignment_of(ScalarType type) {
  size_t size = size_t(itemsize(type));
  return is_complex(type) ? size / 2 : size;
}

// Checks alignment, and that bools are 0 or 1, on which kernels rely.
void check_memory(const void* data, size_t bytes, ScalarType type) {
  if (reinterpret_cast<uintptr_t>(data) % alignment_of(type) != 0) {
    raise(ErrorKind::ValueError, "the memory is not aligned for its type");
  }
  const uint8_t* at = static_cast<const uint8_t*>(data);
  bool whole =
      type != ScalarType::Bool || std::all_of(at, at + bytes, [](uint8_t b) { return b <= 1; });
  if (!whole) raise(ErrorKind::ValueError, "a bool is neither 0 nor 1");
}

std::vector<int64_t> row_major(IntSpan sizes) {
  std::vector<int64_t> strides(size_t(sizes.size), 1);
  for (int64_t d = sizes.size - 1; d > 0; --d) {
    strides[size_t(d - 1)] = strides[size_t(d)] * std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

// Owns a reference to a storage.
struct Held {
  Storage* storage;
  ~Held() { storage->release(); }
};

}  // namespace

sl_value* sl_tensor_view(void* data, sl_dtype dtype, const int64_t* sizes, size_t ndim,
                         void (*release)(void* user), void* user) {
  return made([&] {
    ScalarType type = type_of(dtype);
    int64_t bytes = checked_bytes(data, type, sizes, ndim);
    check_memory(data, size_t(bytes), type);
    Tensor t(TensorImpl::make());
    t.impl()->dtype = type;
    t.impl()->set_contiguous({sizes, int64_t(ndim)});  // checked_bytes() has checked the sizes
    t.impl()->storage = Storage::borrow(data, bytes, release, user);
    return Value(std::move(t));
  });
}

namespace scriptlang::capi {
Value lent_tensor(void* data, size_t bytes, ScalarType type, const int64_t* sizes,
                  const int64_t* strides, size_t ndim, void (*release)(void* user), void* user) {
  need(sizes, ndim > 0);
  need(strides, ndim > 0);
  need(data, bytes > 0);
  if (ndim > size_t(kMaxDims)) raise(ErrorKind::ValueError, "too many dimensions");
  if (bytes > size_t(INT64_MAX)) raise(ErrorKind::ValueError, "there is no such memory");
  for (size_t k = 0; k < ndim; ++k) {  // a clearer error than that of checked_view()
    if (strides[k] < 0) raise(ErrorKind::ValueError, "a stride is negative");
  }
  check_memory(data, bytes, type);
  IntSpan shape(sizes, int64_t(ndim)), steps(strides, int64_t(ndim));
  {  // a trial, with a storage that does not call `release` if there is no such view
    Held tried{Storage::borrow(data, int64_t(bytes), nullptr, nullptr)};
    Tensor::checked_view(tried.storage, type, shape, steps, 0);
  }
  Tensor t(TensorImpl::make());
  t.impl()->dtype = type;
  t.impl()->set_geometry(shape, steps);  // the trial has checked them
  t.impl()->storage = Storage::borrow(data, int64_t(bytes), release, user);
  return Value(std::move(t));
}
}  // namespace scriptlang::capi

sl_value* sl_tensor_strided(void* data, size_t bytes, sl_dtype dtype, const int64_t* sizes,
                            const int64_t* strides, size_t ndim, void (*release)(void* user),
                            void* user) {
  return made([&] {
    return lent_tensor(data, bytes, type_of(dtype), sizes, strides, ndim, release, user);
  });
}

sl_value* sl_tensor_copy(const void* data, sl_dtype dtype, const int64_t* sizes, size_t ndim) {
  return made([&] {
    ScalarType type = type_of(dtype);
    int64_t bytes = checked_bytes(data, type, sizes, ndim);
    if (type == ScalarType::Bool) check_memory(data, size_t(bytes), type);
    Tensor t = Tensor::empty({sizes, int64_t(ndim)}, type);
    if (bytes) std::memcpy(t.raw(), data, size_t(bytes));
    return Value(std::move(t));
  });
}

// ---- tensors

sl_status sl_tensor_info(const sl_value* tensor, sl_dtype* dtype, size_t* ndim,
                         const int64_t** sizes, const int64_t** strides) {
  if (!tensor || !tensor->value.is_tensor()) return SL_INVALID_ARGUMENT;
  const Tensor& t = tensor->value.as_tensor();
  return guarded(nullptr, [&] {
    sl_dtype type = dtype_of(t.dtype());
    if (dtype) *dtype = type;
    if (ndim) *ndim = size_t(t.dim());
    if (sizes) *sizes = t.sizes().data;
    if (strides) *strides = t.strides().data;
  });
}
void* sl_tensor_data(const sl_value* tensor) {
  if (!tensor || !tensor->value.is_tensor()) return nullptr;
  return tensor->value.as_tensor().raw();
}

sl_value* sl_tensor_contiguous(const sl_value* tensor) {
  if (!tensor || !tensor->value.is_tensor()) return nullptr;
  const Tensor& t = tensor->value.as_tensor();
  return made([&] {
    if (t.quantizer() && !t.is_contiguous()) {
      return Value(with_quantizer(to_contiguous(codes_of(t)), t.quantizer()));
    }
    return Value(to_contiguous(t));
  });
}

namespace {

bool is_tensor(const sl_value* value) { return value && value->value.is_tensor(); }

// Whether two pieces of memory have bytes in common.
bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const uintptr_t at = uintptr_t(a), other = uintptr_t(b);
  return at < other + b_bytes && other < at + a_bytes;
}

// The bytes from the first element of a tensor to the end of the last one.
size_t reach_of(const Tensor& t) {
  if (t.numel() == 0) return 0;
  int64_t last = 0;
  for (int64_t d = 0; d < t.dim(); ++d) last += (t.size(d) - 1) * t.stride(d);
  return size_t((last + 1) * t.itemsize());
}

// The tensor, or a copy if writing to `to` would change elements that are still to be read. Raises
// if they overlap in part. The memory of hosts may belong to several storages.
Tensor readable_beside(const Tensor& to, const Tensor& t) {
  if (!overlap(to.raw(), reach_of(to), t.raw(), reach_of(t))) return t;
  const bool same = to.raw() == t.raw() && to.dtype() == t.dtype() && to.sizes() == t.sizes() &&
                    same_strides(to, t);
  if (same) return t;
  if (is_dense(to) && is_dense(t)) raise(ErrorKind::ValueError, "the tensors overlap in part");
  return express::clone(t);
}

// Raises if a tensor cannot be converted to a type: quantized tensors cannot.
void check_convertible(const Tensor& from, ScalarType to) {
  if (from.dtype() != to && from.quantizer()) {
    raise(ErrorKind::ValueError, "codes are no numbers: dequantize the tensor first");
  }
}

// Reports all errors as SL_INVALID_ARGUMENT, besides a lack of memory.
template <class F>
sl_status as_misuse(F&& body) noexcept {
  sl_status status = guarded(nullptr, body);
  return status == SL_OK || status == SL_OUT_OF_MEMORY ? status : SL_INVALID_ARGUMENT;
}

}  // namespace

sl_value* sl_tensor_to(const sl_value* tensor, sl_dtype dtype) {
  if (!is_tensor(tensor)) return nullptr;
  const Tensor& t = tensor->value.as_tensor();
  return made([&] {
    ScalarType type = type_of(dtype);
    check_convertible(t, type);
    return Value(to_dtype(t, type));
  });
}

sl_status sl_tensor_read(const sl_value* tensor, sl_dtype dtype, void* data, size_t bytes) {
  if (!is_tensor(tensor)) return SL_INVALID_ARGUMENT;
  const Tensor& t = tensor->value.as_tensor();
  return as_misuse([&] {
    ScalarType type = type_of(dtype);
    check_convertible(t, type);
    need(data, bytes > 0);
    if (uint64_t(t.numel()) * uint64_t(itemsize(type)) != bytes) {
      raise(ErrorKind::ValueError, "the memory is not of the tensor's size");
    }
    if (bytes == 0) return;
    const bool aligned = reinterpret_cast<uintptr_t>(data) % alignment_of(type) == 0;
    if (aligned && !overlap(data, bytes, t.raw(), reach_of(t))) {
      Held lent{Storage::borrow(data, int64_t(bytes), nullptr, nullptr)};
      Tensor to = Tensor::on_storage(lent.storage, type, t.sizes(), row_major(t.sizes()), 0);
      return copy_into(to, t);
    }
    Tensor plain = contiguous_as(t, type);
    std::memmove(data, plain.raw(), bytes);
  });
}

sl_status sl_tensor_assign(sl_value* to, const sl_value* from) {
  if (!is_tensor(to) || !is_tensor(from)) return SL_INVALID_ARGUMENT;
  return as_misuse([&] {
    const Tensor &target = to->value.as_tensor(), &t = from->value.as_tensor();
    check_convertible(t, target.dtype());
    if (target.quantizer()) raise(ErrorKind::ValueError, "codes are written by programs");
    std::vector<int64_t> shape = broadcast_shapes(target.sizes(), t.sizes());
    if (target.sizes() != IntSpan(shape)) raise(ErrorKind::ValueError, "the sizes do not fit");
    copy_into(target, readable_beside(target, t));
  });
}
