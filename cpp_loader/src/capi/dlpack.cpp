// The C API: exchange of tensors by DLPack (version 0, dlpack.h of github.com/dmlc/dlpack).
#include <algorithm>
#include <cstring>
#include <memory>

#include "capi.h"
#include "values/quantizer.h"

// The structs of dlpack.h. They are part of an ABI that does not change.
extern "C" {
struct DLDevice {
  int32_t device_type, device_id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // null: row-major
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};
}

using namespace scriptlang;
using namespace scriptlang::capi;

namespace {

constexpr int32_t kCpu = 1;
enum Code : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };

struct TypeRow {
  ScalarType type;
  uint8_t code, bits;
};
constexpr TypeRow kTypes[] = {
    {ScalarType::UInt8, kUInt, 8},
    {ScalarType::UInt16, kUInt, 16},
    {ScalarType::UInt32, kUInt, 32},
    {ScalarType::UInt64, kUInt, 64},
    {ScalarType::Int8, kInt, 8},
    {ScalarType::Int16, kInt, 16},
    {ScalarType::Int32, kInt, 32},
    {ScalarType::Int64, kInt, 64},
    {ScalarType::Float16, kFloat, 16},
    {ScalarType::Float32, kFloat, 32},
    {ScalarType::Float64, kFloat, 64},
    {ScalarType::BFloat16, kBfloat, 16},
    {ScalarType::Complex32, kComplex, 32},
    {ScalarType::Complex64, kComplex, 64},
    {ScalarType::Complex128, kComplex, 128},
    {ScalarType::Bool, kBool, 8},
};

// A tensor that was handed out, with the sizes and strides that the struct points to.
struct Export {
  DLManagedTensor managed;
  Tensor tensor;
  std::vector<int64_t> shape, strides;
};

void end_export(DLManagedTensor* self) {
  Outside outside;
  delete static_cast<Export*>(self->manager_ctx);
}

void end_import(void* user) {
  auto* managed = static_cast<DLManagedTensor*>(user);
  if (managed->deleter) managed->deleter(managed);
}

ScalarType type_of_dlpack(const DLDataType& dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.code == dtype.code && row.bits == dtype.bits && dtype.lanes == 1) return row.type;
  }
  raise(ErrorKind::ValueError, "an element type that there is not here");
}

// The number of bytes from the first element to the last. Raises for impossible sizes.
size_t extent_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
                 int64_t item) {
  bool is_empty = false;
  for (size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] < 0 || strides[k] < 0) raise(ErrorKind::ValueError, "a size is negative");
    is_empty = is_empty || shape[k] == 0;
  }
  if (is_empty) return 0;
  int64_t last = 0, part;
  for (size_t k = 0; k < shape.size(); ++k) {
    if (__builtin_mul_overflow(shape[k] - 1, strides[k], &part) ||
        __builtin_add_overflow(last, part, &last)) {
      raise(ErrorKind::ValueError, "the tensor is too large");
    }
  }
  if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, item, &last)) {
    raise(ErrorKind::ValueError, "the tensor is too large");
  }
  return size_t(last);
}

}  // namespace

sl_status sl_tensor_to_dlpack(const sl_value* tensor, DLManagedTensor** managed, sl_error** error) {
  if (managed) *managed = nullptr;
  if (!tensor || !managed || !tensor->value.is_tensor()) {
    return misuse(error, "sl_tensor_to_dlpack needs a tensor and a place");
  }
  const TypeRow* found = nullptr;
  for (const TypeRow& row : kTypes) {
    if (row.type == tensor->value.as_tensor().dtype()) found = &row;
  }
  if (!found) return misuse(error, "DLPack does not have the tensor's element type");
  return guarded(error, [&] {
    auto made = std::make_unique<Export>();
    made->tensor = tensor->value.as_tensor();
    const Tensor& t = made->tensor;
    made->shape.assign(t.sizes().begin(), t.sizes().end());
    made->strides.assign(t.strides().begin(), t.strides().end());
    t.storage()->pin();  // code outside has its address now
    DLTensor& out = made->managed.dl_tensor;
    out = {t.raw(),
           {kCpu, 0},
           int32_t(t.dim()),
           {found->code, found->bits, 1},
           made->shape.data(),
           made->strides.data(),
           0};
    made->managed.manager_ctx = made.get();
    made->managed.deleter = end_export;
    *managed = &made.release()->managed;
  });
}

sl_status sl_tensor_from_dlpack(DLManagedTensor* managed, sl_value** tensor, sl_error** error) {
  if (tensor) *tensor = nullptr;
  if (!managed || !tensor) return misuse(error, "sl_tensor_from_dlpack needs two pointers");
  const DLTensor& given = managed->dl_tensor;
  if (given.device.device_type != kCpu) return misuse(error, "the tensor is not in CPU memory");
  if (given.ndim < 0 || given.ndim > kMaxDims || (given.ndim && !given.shape)) {
    return misuse(error, "the tensor has no such dimensions");
  }
  sl_status status = guarded(error, [&] {
    ScalarType type = type_of_dlpack(given.dtype);
    std::vector<int64_t> shape(given.shape, given.shape + given.ndim), strides(shape.size(), 1);
    const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
    for (size_t k = shape.size(); k-- > 1 && !given.strides && !is_empty;) {
      if (__builtin_mul_overflow(strides[k], std::max<int64_t>(shape[k], 1), &strides[k - 1])) {
        raise(ErrorKind::ValueError, "the tensor is too large");
      }
    }
    if (given.strides) strides.assign(given.strides, given.strides + given.ndim);
    size_t bytes = extent_of(shape, strides, itemsize(type));
    char* data = static_cast<char*>(given.data);
    if (data && bytes) data += given.byte_offset;
    auto handle = std::make_unique<sl_value>();
    handle->value = lent_tensor(data, bytes, type, shape.data(), strides.data(), shape.size(),
                                end_import, managed);
    *tensor = handle.release();
  });
  if (status != SL_RUN_ERROR) return status;
  if (error && *error) (*error)->status = SL_INVALID_ARGUMENT;  // the host passed a wrong tensor
  return SL_INVALID_ARGUMENT;
}
