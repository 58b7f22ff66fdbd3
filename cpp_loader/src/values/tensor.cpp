// Tensors and storages: allocation, views, strides, copies.
#include "tensor.h"

#include "autograd/history.h"
#include "callbacks.h"
#include "guard.h"
#include "exact.h"
#include "prepared.h"
#include "quantizer.h"
#include "raw_view.h"
#include "small_blocks.h"
#include "zeros.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

namespace scriptlang {

bool IntSpan::operator==(const IntSpan& o) const {
  return size == o.size && std::equal(data, data + size, o.data);
}

std::string to_string(IntSpan values) {
  std::string text = "[";
  for (int64_t i = 0; i < values.size; ++i) {
    if (i) text += ", ";
    text += std::to_string(values[i]);
  }
  return text + "]";
}

int64_t checked_numel(IntSpan sizes) {
  // Fast path: up to four sizes below 2^13 cannot overflow. A negative size is huge as unsigned.
  uint64_t bits = 0, small = 1;
  for (int64_t size : sizes) {
    bits |= uint64_t(size);
    small *= uint64_t(size);
  }
  if (bits < (uint64_t(1) << 13) && sizes.size <= 4) return int64_t(small);
  int64_t product = 1;
  bool empty = false;
  for (int64_t size : sizes) {
    if (size < 0) {
      raise(ErrorKind::RuntimeError, "Trying to create tensor with negative dimension ", size, ": ",
            to_string(sizes));
    }
    empty |= size == 0;
    if (__builtin_mul_overflow(product, size + (size == 0), &product) || product > kMaxReach) {
      raise(ErrorKind::RuntimeError, "numel: integer multiplication overflow for sizes ",
            to_string(sizes));
    }
  }
  return empty ? 0 : product;
}

int64_t wrap_dim(int64_t dim, int64_t ndim) {
  int64_t range = ndim > 0 ? ndim : 1;
  if (dim < -range || dim >= range) {
    raise(ErrorKind::IndexError, "Dimension out of range (expected to be in range of [", -range,
          ", ", range - 1, "], but got ", dim, ")");
  }
  return dim < 0 ? dim + range : dim;
}

// ---- Storage

namespace memory {
namespace {
std::mutex hook_mutex;
Hook hook;
bool is_hooked = false;
// Whether data is allocated apart from its header. True at first; the first allocation finds out
// whether it has to be.
std::atomic<bool> is_apart{true};
}  // namespace
SL_THREAD_SHARED_WORD bool calls_host = false;

namespace {
__attribute__((noinline, cold)) bool stays_apart() {
  std::lock_guard<std::mutex> lock(hook_mutex);
  is_apart = is_hooked || is_checked();
  return is_apart;
}
}  // namespace

void set_hook(const Hook* new_hook) {
  std::lock_guard<std::mutex> lock(hook_mutex);
  if (new_hook) hook = *new_hook;
  is_hooked = new_hook != nullptr;
  is_apart = is_hooked || is_checked();
}
}  // namespace memory

namespace {
// The number of bytes to ask an allocator for: at least one, because an allocator may return null
// for 0 bytes without having failed.
size_t hooked_bytes(int64_t nbytes) { return as_size(std::max<int64_t>(nbytes, 1)); }

// Returns null if the allocator has no memory or returns a block that is not aligned for kernels.
void* take_hooked(const memory::Hook& hook, int64_t nbytes) {
  memory::CallbackScope scope;
  void* data = hook.allocate(hooked_bytes(nbytes), hook.user);
  if (reinterpret_cast<uintptr_t>(data) % kAlignment == 0) return data;
  hook.release(data, hooked_bytes(nbytes), hook.user);
  return nullptr;
}
}  // namespace

// Allocates the header and the data separately: the host's allocator owns the data, or it is
// guarded.
__attribute__((noinline, cold)) Storage* Storage::allocate_apart(int64_t nbytes) {
  memory::Hook hook;
  bool is_hooked;
  {
    std::lock_guard<std::mutex> lock(memory::hook_mutex);
    hook = memory::hook;
    is_hooked = memory::is_hooked;
  }
  Storage* s = new (memory::take(sizeof(Storage))) Storage;
  void* data = nullptr;
  try {
    data = is_hooked ? take_hooked(hook, nbytes) : memory::take_checked(as_size(nbytes));
    if (!data) {
      raise(ErrorKind::MemoryError, "the allocator refused ", nbytes,
            " bytes, or gave a block that is not aligned to 64");
    }
  } catch (...) {
    memory::give(s, sizeof(Storage));
    throw;
  }
  s->kind_ = is_hooked ? Kind::Hooked : Kind::Separate;
  s->data_ = data;
  s->nbytes_ = nbytes;
  s->block_bytes_ = sizeof(Storage);
  if (is_hooked) {
    s->hook_release_ = hook.release;
    s->user_ = hook.user;
  }
  return s;
}

Storage* Storage::allocate(int64_t nbytes) {
  memory::charge(nbytes);
  try {
    if (__builtin_expect(memory::is_apart.load(std::memory_order_acquire), 0) &&
        memory::stays_apart()) {
      return allocate_apart(nbytes);
    }
    if (nbytes > INT64_MAX / 2) raise(ErrorKind::MemoryError, "cannot allocate ", nbytes, " bytes");
    int64_t block_bytes = nbytes + int64_t(sizeof(Storage));
    Storage* s = new (memory::take(as_size(block_bytes))) Storage;
    s->data_ = reinterpret_cast<char*>(s) + sizeof(Storage);
    s->nbytes_ = nbytes;
    s->block_bytes_ = block_bytes;
    return s;
  } catch (...) {
    memory::uncharge(nbytes);
    throw;
  }
}

Storage* Storage::borrow(void* data, int64_t nbytes, ReleaseFn release, void* user,
                         bool read_only) {
  Storage* s = new (memory::take(sizeof(Storage))) Storage;
  // An empty block may have a null address, but memcpy and the like need a valid one.
  alignas(kAlignment) static char nowhere[kAlignment];
  s->kind_ = Kind::Borrowed;
  s->read_only_ = read_only;
  s->data_ = data || nbytes > 0 ? data : nowhere;
  s->nbytes_ = nbytes;
  s->block_bytes_ = sizeof(Storage);
  s->release_ = release;
  s->user_ = user;
  return s;
}

void Storage::release_data() noexcept {
  switch (kind_) {
    case Kind::Joined: break;
    case Kind::Separate: memory::give(data_, size_t(nbytes_)); break;
    case Kind::Hooked: {
      memory::CallbackScope scope;
      hook_release_(data_, hooked_bytes(nbytes_), user_);
      break;
    }
    case Kind::Borrowed: {
      memory::CallbackScope scope;
      if (release_) release_(user_);
      return;
    }
  }
  memory::uncharge(nbytes_);
}

void Storage::destroy() noexcept {
  if (Prepared* first = prepared_.load(std::memory_order_acquire)) Prepared::destroy_all(first);
  release_data();
  memory::give(this, size_t(block_bytes_));
}

void Storage::resize(int64_t nbytes) {
  if (nbytes == nbytes_) return;
  bool fixed = kind_ == Kind::Borrowed || pinned_;
  if (fixed && nbytes > nbytes_) {
    raise(ErrorKind::RuntimeError, "Trying to resize storage that is not resizable");
  }
  if (fixed) return;
  memory::charge(nbytes);
  void* data;
  try {
    data = memory::take(as_size(nbytes));
  } catch (...) {
    memory::uncharge(nbytes);
    throw;
  }
  std::memcpy(data, data_, size_t(std::min(nbytes, nbytes_)));
  // New bytes are zeroed: bools must be 0 or 1, and programs must not see old memory of the
  // process.
  if (nbytes > nbytes_) {
    std::memset(static_cast<char*>(data) + nbytes_, 0, size_t(nbytes - nbytes_));
  }
  release_data();
  kind_ = Kind::Separate;
  data_ = data;
  nbytes_ = nbytes;
}

// ---- TensorImpl

namespace {

// Bytes charged for the headers of a tensor and its storage. Views are charged, too.
constexpr int64_t kHeaderBytes = 320, kManyDimsBytes = 2 * kMaxDims * sizeof(int64_t);

}  // namespace

TensorImpl* TensorImpl::make() {
  memory::quick::charge(kHeaderBytes);
  return new (memory::take(sizeof(TensorImpl))) TensorImpl;
}

namespace {

void set_ndim(TensorImpl* t, int64_t ndim) {
  if (ndim > kMaxDims) {
    raise(ErrorKind::RuntimeError, "a tensor may have at most ", kMaxDims, " dimensions, not ",
          ndim);
  }
  bool was_heap = t->ndim > kInlineDims;
  if (ndim > kInlineDims && !was_heap) {
    memory::charge(kManyDimsBytes);
    t->sizes = static_cast<int64_t*>(memory::take(kManyDimsBytes));
    t->strides = t->sizes + kMaxDims;
  } else if (ndim <= kInlineDims && was_heap) {
    memory::uncharge(kManyDimsBytes);
    memory::give(t->sizes, kManyDimsBytes);
    t->sizes = t->inline_dims;
    t->strides = t->inline_dims + kInlineDims;
  }
  t->ndim = uint8_t(ndim);
}

// Row-major strides of an empty tensor, whose other sizes may have any product.
void bound_strides(TensorImpl* t) {
  int64_t expected = 1;
  for (int64_t i = t->ndim - 1; i >= 0; --i) {
    t->strides[i] = expected;
    expected = outer_stride(expected, t->sizes[i]);
  }
}

}  // namespace

void TensorImpl::set_geometry(IntSpan new_sizes, IntSpan new_strides) {
  int64_t n = new_sizes.size;
  int64_t size_copy[kMaxDims], stride_copy[kMaxDims];
  bool aliased = new_sizes.data == sizes || new_strides.data == strides;
  if (aliased) {  // the arguments may point into the arrays that are about to change
    std::copy_n(new_sizes.data, n, size_copy);
    std::copy_n(new_strides.data, n, stride_copy);
    new_sizes = {size_copy, n};
    new_strides = {stride_copy, n};
  }
  set_ndim(this, n);
  uint64_t expected = 1;  // may wrap if a size is zero; then it is not used
  bool dense = true;
  for (int64_t i = n - 1; i >= 0; --i) {
    sizes[i] = new_sizes[i];
    strides[i] = new_strides[i];
    if (sizes[i] != 1 && strides[i] != int64_t(expected)) dense = false;
    expected *= uint64_t(sizes[i]);
  }
  numel = int64_t(expected);
  contiguous = dense || numel == 0;
}

void TensorImpl::set_contiguous(IntSpan new_sizes) {
  int64_t size_copy[kMaxDims];
  int64_t n = new_sizes.size;
  if (new_sizes.data == sizes) {
    std::copy_n(new_sizes.data, n, size_copy);
    new_sizes = {size_copy, n};
  }
  set_ndim(this, n);
  uint64_t expected = 1, count = 1;
  for (int64_t i = n - 1; i >= 0; --i) {
    sizes[i] = new_sizes[i];
    strides[i] = int64_t(expected);
    expected *= uint64_t(std::max<int64_t>(sizes[i], 1));  // PyTorch's strides of empty tensors
    count *= uint64_t(sizes[i]);
  }
  numel = int64_t(count);
  if (count == 0) bound_strides(this);
  contiguous = true;
}

void TensorImpl::destroy() noexcept {
  if (storage) storage->release();
  if (quantizer) quantizer->release();
  if (__builtin_expect(history != nullptr, 0)) autograd::destroy(history);
  if (ndim > kInlineDims) {
    memory::uncharge(kManyDimsBytes);
    memory::give(sizes, kManyDimsBytes);
  }
  memory::quick::uncharge(kHeaderBytes);
  memory::give(this, sizeof(TensorImpl));
}

// ---- Tensor

namespace {

// set_geometry for a header that has few dimensions before and after. The arguments may point into
// the header if each number stays at its place.
inline void set_few_dims(TensorImpl* t, IntSpan sizes, IntSpan strides) {
  uint64_t expected = 1;
  bool dense = true;
  t->ndim = uint8_t(sizes.size);
  for (int64_t i = sizes.size - 1; i >= 0; --i) {
    int64_t size = sizes[i], stride = strides[i];
    t->inline_dims[i] = size;
    t->inline_dims[kInlineDims + i] = stride;
    dense = dense && (size == 1 || stride == int64_t(expected));
    expected *= uint64_t(size);
  }
  t->numel = int64_t(expected);
  t->contiguous = dense || expected == 0;
}

// Sets row-major strides for sizes whose product has been checked.
void set_strides(TensorImpl* t, IntSpan sizes, int64_t numel) {
  set_ndim(t, sizes.size);
  uint64_t expected = 1;
  for (int64_t i = sizes.size - 1; i >= 0; --i) {
    t->sizes[i] = sizes[i];
    t->strides[i] = int64_t(expected);
    expected *= uint64_t(std::max<int64_t>(sizes[i], 1));
  }
  t->numel = numel;
  if (numel == 0) bound_strides(t);
}

}  // namespace

Tensor Tensor::empty(IntSpan sizes, ScalarType dtype) {
  if (__builtin_expect(is_quantized(dtype), 0)) {
    raise(ErrorKind::NotImplementedError, "this operator takes no quantized tensor (",
          dtype_name(dtype), "); pass x.dequantize()");
  }
  int64_t nbytes;
  int64_t numel = checked_numel(sizes);
  if (__builtin_mul_overflow(numel, scriptlang::itemsize(dtype), &nbytes)) {
    raise(ErrorKind::RuntimeError,
          "Storage size calculation overflowed with sizes=", to_string(sizes));
  }
  Tensor t(TensorImpl::make());
  t.impl_->dtype = dtype;
  set_strides(t.impl_, sizes, numel);
  t.impl_->storage = Storage::allocate(nbytes);
  return t;
}

Tensor Tensor::zeros(IntSpan sizes, ScalarType dtype) {
  Tensor t = empty(sizes, dtype);
  write_zeros(t.raw(), t.nbytes());
  return t;
}

Tensor Tensor::empty_like(const Tensor& src, ScalarType dtype) {
  Tensor t = empty(src.sizes(), dtype);
  if (src.is_contiguous() || src.dim() < 2) return t;
  int64_t strides[kMaxDims];
  src.like_strides(strides);
  // These strides are a dense permutation of the same elements, so they fit the storage.
  t.impl_->set_geometry(src.sizes(), {strides, src.dim()});
  return t;
}

void Tensor::like_strides(int64_t* strides) const {
  if (permuted_strides(strides)) return;
  // Sorts dimensions by stride, the fastest first. Dimensions with stride 0 keep their places.
  int64_t n = dim(), order[kMaxDims];
  for (int64_t d = 0; d < n; ++d) order[d] = n - 1 - d;
  auto after = [&](int64_t a, int64_t b) {
    if (stride(a) == 0 || stride(b) == 0) return 0;
    if (stride(a) != stride(b)) return stride(a) < stride(b) ? -1 : 1;
    return size(a) > size(b) ? 1 : 0;
  };
  for (int64_t i = 1; i < n; ++i) {
    int64_t here = i;
    for (int64_t j = i - 1; j >= 0; --j) {
      int way = after(order[j], order[here]);
      if (way < 0) break;
      if (way == 0) continue;
      std::swap(order[j], order[here]);
      here = j;
    }
  }
  int64_t next = 1;
  for (int64_t k = 0; k < n; ++k) {
    strides[order[k]] = next;
    next = outer_stride(next, size(order[k]));
  }
}

bool Tensor::permuted_strides(int64_t* strides) const {
  const Tensor& src = *this;
  int64_t n = src.dim();
  if (src.is_contiguous() || n < 2) return false;
  // In a dense permutation, sorted by stride, each stride is the product of the sizes inside it.
  int order[kMaxDims];
  for (int i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order, order + n, [&](int a, int b) {
    if (src.stride(a) != src.stride(b)) return src.stride(a) > src.stride(b);
    return src.size(a) > src.size(b);
  });
  int64_t expected = 1;
  for (int64_t k = n - 1; k >= 0; --k) {
    int d = order[k];
    if (src.size(d) != 1 && src.stride(d) != expected) return false;
    strides[d] = expected;
    expected *= src.size(d);
  }
  return true;
}

Tensor Tensor::scalar(double value, ScalarType dtype) {
  Tensor t = empty(IntSpan(), dtype);
  switch (dtype) {
    case ScalarType::Float64: *t.data<double>() = value; break;
    case ScalarType::Float32: *t.data<float>() = float(value); break;
    case ScalarType::Float16: *t.data<float16>() = float16(float(value)); break;
    case ScalarType::BFloat16: *t.data<bfloat16>() = bfloat16(float(value)); break;
    default: raise(ErrorKind::TypeError, "a float does not make a tensor of ", dtype_name(dtype));
  }
  return t;
}

Tensor Tensor::scalar(int64_t value, ScalarType dtype) {
  Tensor t = empty(IntSpan(), dtype);
  switch (dtype) {
    case ScalarType::Int64: *t.data<int64_t>() = value; break;
    case ScalarType::Int32: *t.data<int32_t>() = int32_t(value); break;
    case ScalarType::Int16: *t.data<int16_t>() = int16_t(value); break;
    case ScalarType::Int8: *t.data<int8_t>() = int8_t(value); break;
    case ScalarType::UInt8: *t.data<uint8_t>() = uint8_t(value); break;
    case ScalarType::UInt16: *t.data<uint16_t>() = uint16_t(value); break;
    case ScalarType::UInt32: *t.data<uint32_t>() = uint32_t(value); break;
    case ScalarType::UInt64: *t.data<uint64_t>() = uint64_t(value); break;
    case ScalarType::Bool: *t.data<bool>() = value != 0; break;
    default: raise(ErrorKind::TypeError, "an int does not make a tensor of ", dtype_name(dtype));
  }
  return t;
}

Tensor unchecked_on_storage(Storage* storage, ScalarType dtype, IntSpan sizes, IntSpan strides,
                            int64_t offset) {
  Tensor t(TensorImpl::make());
  t.impl()->dtype = dtype;
  if (__builtin_expect(sizes.size <= kInlineDims, 1)) {
    set_few_dims(t.impl(), sizes, strides);
  } else {
    t.impl()->set_geometry(sizes, strides);
  }
  t.impl()->offset = offset;
  storage->retain();
  t.impl()->storage = storage;
  return t;
}

namespace {

// Raises RuntimeError unless all elements of a view lie inside the storage. Returns whether a
// stride exceeds kMaxReach; such a stride belongs to a dimension that is never stepped along.
bool check_view(Storage* storage, ScalarType dtype, IntSpan sizes, IntSpan strides,
                int64_t offset) {
  SL_CHECK(sizes.size == strides.size && sizes.size <= kMaxDims, "a tensor with ", sizes.size,
           " sizes and ", strides.size, " strides is malformed");
  int64_t numel = checked_numel(sizes);
  int64_t capacity = storage->nbytes() / scriptlang::itemsize(dtype), last = offset;
  // An empty tensor has no elements, so any view of it is inside.
  bool fits = offset >= 0 && offset <= (numel == 0 ? kMaxReach : capacity), far = false;
  for (int64_t i = 0; i < sizes.size; ++i) {
    int64_t extent;
    far = far || strides[i] > kMaxReach;
    fits = fits && strides[i] >= 0 &&
           (numel == 0 || (!__builtin_mul_overflow(sizes[i] - 1, strides[i], &extent) &&
                           !__builtin_add_overflow(last, extent, &last)));
  }
  fits = fits && (numel == 0 || last < capacity);
  SL_CHECK(fits, "setStorage: sizes ", to_string(sizes), ", strides ", to_string(strides),
           ", storage offset ", offset, ", and itemsize ", scriptlang::itemsize(dtype),
           " are out of bounds for storage of size ", storage->nbytes());
  return far;
}

}  // namespace

Tensor Tensor::on_storage(Storage* storage, ScalarType dtype, IntSpan sizes, IntSpan strides,
                          int64_t offset) {
  bool far = check_view(storage, dtype, sizes, strides, offset);
  int64_t near[kMaxDims];
  if (__builtin_expect(far, 0)) {
    for (int64_t i = 0; i < strides.size; ++i) near[i] = strides[i] > kMaxReach ? 0 : strides[i];
    strides.data = near;
  }
  // check_view has proved that all elements are inside.
  return unchecked_on_storage(storage, dtype, sizes, strides, offset);
}

Tensor Tensor::as_strided(IntSpan sizes, IntSpan strides, int64_t offset) && {
  return static_cast<const Tensor&>(*this).as_strided(sizes, strides, offset);
}

Tensor Tensor::as_strided(IntSpan sizes, IntSpan strides, int64_t offset) const& {
  Tensor view = on_storage(impl_->storage, impl_->dtype, sizes, strides, offset);
  if (__builtin_expect(impl_->quantizer != nullptr, 0)) {
    impl_->quantizer->retain();
    view.impl_->quantizer = impl_->quantizer;
  }
  return view;
}

void lay(const Tensor& t, IntSpan strides) {
  check_view(t.storage(), t.dtype(), t.sizes(), strides, t.storage_offset());
  t.impl()->set_geometry(t.sizes(), strides);
}

Tensor Tensor::checked_view(Storage* storage, ScalarType dtype, IntSpan sizes, IntSpan strides,
                            int64_t offset) {
  return on_storage(storage, dtype, sizes, strides, offset);
}

Tensor unchecked_view(Tensor&& t, IntSpan sizes, IntSpan strides, int64_t offset) {
  TensorImpl* impl = t.impl();
  if (impl->refs.load(std::memory_order_acquire) != 1) {
    return unchecked_view(static_cast<const Tensor&>(t), sizes, strides, offset);
  }
  if (__builtin_expect(sizes.size <= kInlineDims && impl->ndim <= kInlineDims, 1)) {
    set_few_dims(impl, sizes, strides);
  } else {
    impl->set_geometry(sizes, strides);
  }
  impl->offset = offset;
  impl->requires_grad = false;
  return std::move(t);
}

Tensor unchecked_view(const Tensor& t, IntSpan sizes, IntSpan strides, int64_t offset) {
  Tensor view = unchecked_on_storage(t.storage(), t.dtype(), sizes, strides, offset);
  if (__builtin_expect(t.quantizer() != nullptr, 0)) {
    t.quantizer()->retain();
    view.impl()->quantizer = t.quantizer();
  }
  return view;
}

}  // namespace scriptlang
