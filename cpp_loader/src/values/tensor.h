// Storage, Tensor: refcounted memory and strided views on it.
//
// A Tensor is a pointer to a refcounted header {storage, dtype, sizes, strides, offset}. Copying a
// Tensor shares the header (it is the same tensor, as in Python); views share the storage. Headers
// and small blocks come from per-thread free lists, so that small results are cheap. Refcounts are
// atomic. Contents are not locked: either one thread writes or several read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "../../kernels/as_size.h"
#include "dtype.h"
#include "error.h"

namespace scriptlang {

constexpr int kMaxDims = 64;
constexpr int kInlineDims = 6;
constexpr size_t kAlignment = 64;

// A borrowed array of int64 values.
struct IntSpan {
  const int64_t* data = nullptr;
  int64_t size = 0;
  IntSpan() = default;
  IntSpan(const int64_t* data, int64_t size) : data(data), size(size) {}
  IntSpan(const std::vector<int64_t>& v) : data(v.data()), size(int64_t(v.size())) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"  // for arguments only: f({2, 3})
#endif
  IntSpan(std::initializer_list<int64_t> v) : data(v.begin()), size(int64_t(v.size())) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  int64_t operator[](int64_t i) const { return data[i]; }
  const int64_t* begin() const { return data; }
  const int64_t* end() const { return data + size; }
  bool empty() const { return size == 0; }
  int64_t back() const { return data[size - 1]; }
  bool operator==(const IntSpan& o) const;
  bool operator!=(const IntSpan& o) const { return !(*this == o); }
};

std::string to_string(IntSpan values);  // "[2, 3]"

namespace memory {

// The allocator of tensor data. Both functions must be callable from any thread.
struct Hook {
  void* (*allocate)(size_t bytes, void* user);  // returns a 64-byte aligned block, or null
  void (*release)(void* block, size_t bytes, void* user);
  void* user;
};
// Replaces the allocator for blocks allocated from now on; null restores the default. Each block is
// released by the hook that allocated it.
void set_hook(const Hook* hook);

// charge counts bytes against the memory limit of the program that runs on this thread and raises
// MemoryError beyond it; uncharge takes them off.
void charge(int64_t bytes);
void uncharge(int64_t bytes) noexcept;

// Limits the bytes that the current thread may hold until the scope ends. A limit <= 0 means none.
class LimitScope {
 public:
  explicit LimitScope(int64_t limit_bytes);
  ~LimitScope();
  LimitScope(const LimitScope&) = delete;
  LimitScope& operator=(const LimitScope&) = delete;

 private:
  int64_t saved_limit_;
  int64_t saved_used_;
};

// Marks that a program runs on this thread: strings and containers made meanwhile are thread-local
// (see Counted).
class RunScope {
 public:
  explicit RunScope(bool runs) noexcept;
  ~RunScope();
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

 private:
  bool saved_;
};
bool in_run() noexcept;

// 64-byte aligned blocks from per-thread free lists, one per size class. take raises MemoryError;
// give needs the number of bytes that was passed to take. Any thread may give a block back.
void* take(size_t bytes);
void give(void* block, size_t bytes) noexcept;
// The same for small objects: 16-byte aligned.
void* take_small(size_t bytes);
void give_small(void* block, size_t bytes) noexcept;

}  // namespace memory

// Reference counts have 32 bits, a few of which are flags (value.h). A program that puts one object
// into lists of 16 GB would overflow them, so counts saturate: an object that has had kStays
// references is never freed, and beyond kMostCounted no reference is counted. The gap between the
// two is larger than what threads can add or drop between reading a count and writing it.
constexpr uint32_t kStays = 1u << 28;
constexpr uint32_t kMostCounted = 1u << 29;
inline void count_up(std::atomic<uint32_t>& refs) noexcept {
  bool counted = refs.load(std::memory_order_relaxed) < kMostCounted;
  if (__builtin_expect(counted, 1)) refs.fetch_add(1, std::memory_order_relaxed);
}
// Drops a reference. Returns true if it was the last one; then the count may stay unwritten.
inline bool count_down(std::atomic<uint32_t>& refs) noexcept {
  uint32_t now = refs.load(std::memory_order_acquire);
  if (now == 1) return true;
  return __builtin_expect(now < kStays, 1) && refs.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

using ReleaseFn = void (*)(void* user);

class Prepared;
struct Quantizer;  // quantizer.h
namespace autograd {
struct History;  // autograd/history.h
}

// A block of bytes, either owned (64-byte aligned, freed with the Storage) or borrowed (a callback
// releases it). The header lies in front of an owned block, so that both cost one allocation.
class alignas(kAlignment) Storage {
 public:
  static Storage* allocate(int64_t nbytes);  // uninitialised; refcount 1
  static Storage* borrow(void* data, int64_t nbytes, ReleaseFn release, void* user,
                         bool read_only = false);

  void retain() noexcept { count_up(refs_); }
  void release() noexcept {
    if (count_down(refs_)) destroy();
  }
  bool unique() const noexcept { return refs_.load(std::memory_order_acquire) == 1; }

  void* data() const noexcept { return data_; }
  int64_t nbytes() const noexcept { return nbytes_; }
  bool owned() const noexcept { return kind_ != Kind::Borrowed; }
  bool read_only() const noexcept { return read_only_; }
  // The `user` pointer of a block that was borrowed with this release function; null otherwise.
  void* lender(ReleaseFn release) const noexcept {
    return kind_ == Kind::Borrowed && release_ == release ? user_ : nullptr;
  }

  // A list of packed forms of the contents; see prepared.h.
  std::atomic<Prepared*>& prepared() noexcept { return prepared_; }

  // The number of writes by operators while derivatives were recorded.
  uint32_t& version() noexcept { return version_; }

  // Forbids moving the data from now on, because code outside holds its address.
  void pin() noexcept { pinned_ = true; }

  // Changes the size (Tensor.resize_); the data may move. The old bytes that still fit are kept and
  // new ones are zero. Raises RuntimeError if a borrowed or pinned block would have to grow.
  void resize(int64_t nbytes);

  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

 private:
  enum class Kind : uint8_t { Joined, Separate, Hooked, Borrowed };
  Storage() = default;
  ~Storage() = default;
  static Storage* allocate_apart(int64_t nbytes);
  void destroy() noexcept;
  void release_data() noexcept;

  std::atomic<uint32_t> refs_{1};
  Kind kind_ = Kind::Joined;
  bool read_only_ = false;
  bool pinned_ = false;
  uint32_t version_ = 0;
  void* data_ = nullptr;
  int64_t nbytes_ = 0;
  int64_t block_bytes_ = 0;  // size of the block that begins with this header
  union {
    ReleaseFn release_ = nullptr;
    void (*hook_release_)(void*, size_t, void*);
  };
  void* user_ = nullptr;
  std::atomic<Prepared*> prepared_{nullptr};
};
static_assert(sizeof(Storage) == kAlignment, "data follows the header, aligned");

// The header of a tensor. Kernels read it through Tensor; only in-place metadata operators write
// it.
struct TensorImpl {
  std::atomic<uint32_t> refs{1};
  ScalarType dtype = ScalarType::Float32;
  bool requires_grad = false;
  bool contiguous = true;  // row-major without gaps; updated by set_geometry
  uint8_t ndim = 0;
  int64_t numel = 1;
  int64_t offset = 0;  // in elements
  Storage* storage = nullptr;
  Quantizer* quantizer = nullptr;                // quantized types only; owns one reference
  autograd::History* history = nullptr;          // recorded derivative graph; owned
  int64_t* sizes = inline_dims;                  // strides follow at sizes + capacity
  int64_t* strides = inline_dims + kInlineDims;  // in elements
  int64_t inline_dims[2 * kInlineDims];

  static TensorImpl* make();
  void set_geometry(IntSpan sizes, IntSpan strides);  // recomputes numel and contiguous
  void set_contiguous(IntSpan sizes);
  void destroy() noexcept;
};

class Tensor {
 public:
  Tensor() noexcept = default;
  explicit Tensor(TensorImpl* impl) noexcept : impl_(impl) {}  // takes over one reference
  Tensor(const Tensor& o) noexcept : impl_(o.impl_) {
    if (impl_) count_up(impl_->refs);
  }
  Tensor(Tensor&& o) noexcept : impl_(o.impl_) { o.impl_ = nullptr; }
  Tensor& operator=(const Tensor& o) noexcept {
    Tensor copy(o);
    std::swap(impl_, copy.impl_);
    return *this;
  }
  Tensor& operator=(Tensor&& o) noexcept {
    std::swap(impl_, o.impl_);
    return *this;
  }
  ~Tensor() {
    if (impl_ && count_down(impl_->refs)) impl_->destroy();
  }

  // Uninitialised and contiguous. Raises RuntimeError on negative or overflowing sizes and
  // MemoryError at memory limits. Raises NotImplementedError for quantized types, which need a
  // quantizer.
  static Tensor empty(IntSpan sizes, ScalarType dtype);
  static Tensor zeros(IntSpan sizes, ScalarType dtype);
  // The sizes of src and the given dtype, uninitialised. The strides follow src's order of
  // dimensions, without gaps (PyTorch's preserve_format).
  static Tensor empty_like(const Tensor& src, ScalarType dtype);
  // Whether this is a dense permutation that is not contiguous. If so, writes its strides, with
  // those of dimensions of size 1 normalised.
  bool permuted_strides(int64_t* strides) const;
  // Writes the strides of a dense tensor of these sizes with the same order of dimensions.
  void like_strides(int64_t* strides) const;
  static Tensor scalar(double value, ScalarType dtype = ScalarType::Float32);
  static Tensor scalar(int64_t value, ScalarType dtype = ScalarType::Int64);
  // A view on a storage, which is retained. Raises RuntimeError unless every element lies inside
  // it.
  static Tensor on_storage(Storage* storage, ScalarType dtype, IntSpan sizes, IntSpan strides,
                           int64_t offset);
  // The same.
  static Tensor checked_view(Storage* storage, ScalarType dtype, IntSpan sizes, IntSpan strides,
                             int64_t offset);
  // A view on this tensor's storage, with the same quantizer; offset is absolute, in elements.
  // Raises RuntimeError unless every element lies inside the storage.
  Tensor as_strided(IntSpan sizes, IntSpan strides, int64_t offset) const&;
  // The same, for rvalues.
  Tensor as_strided(IntSpan sizes, IntSpan strides, int64_t offset) &&;

  bool defined() const noexcept { return impl_ != nullptr; }
  explicit operator bool() const noexcept { return impl_ != nullptr; }
  TensorImpl* impl() const noexcept { return impl_; }
  TensorImpl* release() noexcept { return std::exchange(impl_, nullptr); }
  bool is(const Tensor& o) const noexcept { return impl_ == o.impl_; }

  ScalarType dtype() const { return impl_->dtype; }
  int64_t itemsize() const { return scriptlang::itemsize(impl_->dtype); }
  int64_t dim() const { return impl_->ndim; }
  int64_t numel() const { return impl_->numel; }
  int64_t nbytes() const { return impl_->numel * itemsize(); }
  IntSpan sizes() const { return {impl_->sizes, impl_->ndim}; }
  IntSpan strides() const { return {impl_->strides, impl_->ndim}; }
  int64_t size(int64_t i) const { return impl_->sizes[i]; }  // requires 0 <= i < dim()
  int64_t stride(int64_t i) const { return impl_->strides[i]; }
  int64_t storage_offset() const { return impl_->offset; }
  Storage* storage() const { return impl_->storage; }
  bool is_contiguous() const { return impl_->contiguous; }
  // Whether nothing else refers to this tensor or its memory, so that a result may reuse its
  // buffer.
  bool is_exclusive() const {
    return impl_->refs.load(std::memory_order_acquire) == 1 && impl_->storage->unique() &&
           impl_->storage->owned();
  }
  bool requires_grad() const { return impl_->requires_grad; }
  Quantizer* quantizer() const { return impl_->quantizer; }  // null unless quantized

  void* raw() const {
    return static_cast<char*>(impl_->storage->data()) + impl_->offset * itemsize();
  }
  template <class T>
  T* data() const {
    return static_cast<T*>(raw());
  }

 private:
  TensorImpl* impl_ = nullptr;
};

// The product of sizes. Raises RuntimeError on a negative size or if the product exceeds kMaxReach.
int64_t checked_numel(IntSpan sizes);

// Maps dim from [-ndim, ndim) to [0, ndim); raises PyTorch's IndexError outside that range. A
// tensor without dimensions counts as having one, as in PyTorch.
int64_t wrap_dim(int64_t dim, int64_t ndim);

}  // namespace scriptlang
