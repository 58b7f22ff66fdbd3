// Value: the content of a register. Sixteen bytes: a tag and a payload.
//
// None, bool, int, float, device and strings of up to seven bytes are stored in the payload; for
// everything else the payload is a pointer to a refcounted object, so lists, dicts, objects and
// tensors have identity as in Python. Counts are atomic. Contents are not locked. Reference cycles
// are not collected.
#pragma once

#include <atomic>
#include <complex>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "error.h"
#include "tensor.h"
#include "../../kernels/twister.h"

namespace scriptlang {

class Type;
struct ClassType;
class Value;

enum class Tag : uint32_t {
  None,
  Bool,
  Int,
  Double,
  Device,
  Text,  // a string of up to kInlineText bytes
  // from here on the payload is a pointer to a refcounted object
  String,  // a longer one
  Complex,
  Tensor,
  List,
  Dict,
  Tuple,
  Object,
  Enum,
  Generator,
  Future,
};
constexpr Tag kFirstCounted = Tag::String;

// The name that error messages use: "int", "float", "Tensor", "NoneType".
const char* tag_name(Tag tag);

struct Device {
  enum Kind : int8_t { Cpu = 0, Cuda = 1, Meta = 14, Other = 127 };
  int8_t kind = Cpu;
  int8_t index = -1;  // -1: not given
  bool operator==(const Device& o) const { return kind == o.kind && index == o.index; }
  bool operator!=(const Device& o) const { return !(*this == o); }
};
std::string to_string(Device device);        // "cpu", "cuda:0"
Device parse_device(std::string_view text);  // raises RuntimeError as PyTorch does

// Base of every reference-counted payload. The count comes first, as in TensorImpl.
//
// Counts are atomic, except those of thread-local objects: strings, lists, dicts and tuples that a
// running program has made (make_thread_local). Only the thread of that run can reach them, so it
// updates their counts with plain loads and stores; the flag kThreadLocal in the count marks them.
// An object is published (publish), with all that it holds, before it leaves the run or is stored
// in an object that is not thread-local. So a shared object never holds a thread-local one.
//
// Counts saturate, with and without the flag, like those of tensors (kStays in tensor.h).
constexpr uint32_t kThreadLocal = 1u << 30;
static_assert(kMostCounted < kThreadLocal, "no count reaches the flags");
// The count of types that live as long as the process. Ref does not change such a count.
constexpr uint32_t kImmortal = 1u << 31;
struct Counted {
  std::atomic<uint32_t> refs{1};
  static void* operator new(size_t bytes) { return memory::take_small(bytes); }
  static void operator delete(void* object, size_t bytes) noexcept {
    memory::give_small(object, bytes);
  }
  void hold() noexcept {
    uint32_t now = refs.load(std::memory_order_relaxed);
    if (now < kMostCounted) refs.fetch_add(1, std::memory_order_relaxed);
    else if (now - kThreadLocal < kMostCounted) refs.store(now + 1, std::memory_order_relaxed);
  }
  bool is_alone() const noexcept {  // whether there is only one reference
    return (refs.load(std::memory_order_acquire) & ~kThreadLocal) == 1;
  }
  // Drops a reference. Returns true if it was the last one; then the caller destroys the object.
  // The count need not be written in that case: no other thread can see it.
  bool let_go() noexcept {
    uint32_t now = refs.load(std::memory_order_acquire);
    if ((now & ~kThreadLocal) == 1) return true;
    if (now < kStays) return refs.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (now - kThreadLocal < kStays) refs.store(now - 1, std::memory_order_relaxed);
    return false;
  }
  bool alone() const noexcept { return is_alone(); }
  bool is_thread_local() const noexcept {
    return refs.load(std::memory_order_relaxed) >= kThreadLocal;
  }
  // Must be called by the thread that made the object, before it is stored anywhere.
  void make_thread_local(bool runs = memory::in_run()) noexcept {
    if (runs) refs.store(1 | kThreadLocal, std::memory_order_relaxed);
  }
};

template <class T>
class Ref {  // intrusive pointer; T has `refs` and an overload of destroy(T*)
 public:
  Ref() noexcept = default;
  explicit Ref(T* p) noexcept : p_(p) {}  // takes over one reference
  Ref(const Ref& o) noexcept : p_(o.p_) { hold(p_); }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    constexpr uint32_t kCount = kThreadLocal - 1;
    bool goes = p_ && is_below(p_, kStays);
    if (goes && (p_->refs.fetch_sub(1, std::memory_order_acq_rel) & kCount) == 1) destroy(p_);
  }
  static Ref share(T* p) noexcept {
    hold(p);
    return Ref(p);
  }
  T* get() const noexcept { return p_; }
  T* operator->() const noexcept { return p_; }
  T& operator*() const noexcept { return *p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  T* release() noexcept { return std::exchange(p_, nullptr); }

 private:
  static bool is_below(T* p, uint32_t most) noexcept {  // never true of immortal objects
    return (p->refs.load(std::memory_order_relaxed) & ~kThreadLocal) < most;
  }
  static void hold(T* p) noexcept {
    if (p && is_below(p, kMostCounted)) p->refs.fetch_add(1, std::memory_order_relaxed);
  }
  T* p_ = nullptr;
};

void destroy(const Type* type) noexcept;
void destroy(ClassType* type) noexcept;
struct List;  // list.h
struct Dict;  // dict.h
struct Tuple;
struct Object;
struct Enum;
struct Generator;
struct Future;
struct Function;
class Program;
void destroy(List* list) noexcept;
void destroy(Dict* dict) noexcept;
void destroy(Tuple* tuple) noexcept;
void destroy(Object* object) noexcept;
void destroy(Enum* item) noexcept;
void destroy(Generator* generator) noexcept;
void destroy(Future* future) noexcept;
using TypeRef = Ref<const Type>;
using ClassRef = Ref<ClassType>;

struct ComplexBox : Counted {
  std::complex<double> value;
};
// A string: one block with this header, the text in UTF-8, and a 0 byte.
struct String : Counted {
  mutable std::atomic<uint32_t> hash{0};  // of the text; 0 until it is computed
  size_t size = 0;
  size_t room = 0;  // capacity, in bytes of text
  char* data() noexcept { return reinterpret_cast<char*>(this + 1); }
  std::string_view text() const noexcept { return {reinterpret_cast<const char*>(this + 1), size}; }
  // Allocates a string of `size` bytes, which the caller writes. It is charged to the memory limit,
  // and is thread-local if a program is running on this thread.
  static String* make(size_t size);
  static void destroy(String* string) noexcept;

 private:
  friend class Value;
  String() = default;
  ~String() = default;
  static String* take(size_t room);
  void give() noexcept;
  void resize(size_t fresh) noexcept {  // at most `room`; the caller charges the bytes
    size = fresh;
    data()[fresh] = 0;
  }
};
uint32_t make_hash(const String& string);
inline uint32_t hash_of(const String& string) {  // never 0
  uint32_t hash = string.hash.load(std::memory_order_relaxed);
  return hash ? hash : make_hash(string);
}

// Texts of up to this many bytes, and only these, are stored in the Value itself.
constexpr size_t kInlineText = 7;
// A text of up to this many bytes is charged only for its String header: see charged_bytes().
constexpr size_t kShortText = 15;
constexpr int64_t charged_bytes(size_t size) { return 48 + int64_t(size > kShortText ? size : 0); }

// The bytes of a short text as two words. Texts of one size are equal if their words are.
struct ShortText {
  uint64_t low = 0, high = 0, size;
  explicit ShortText(std::string_view text) : size(text.size()) {
    const char* at = text.data();
    auto load = [](const char* from, auto word) {
      std::memcpy(&word, from, sizeof word);
      return word;
    };
    if (size >= 8) {
      low = load(at, uint64_t());
      high = load(at + size - 8, uint64_t());
    } else if (size >= 4) {
      low = load(at, uint32_t());
      high = load(at + size - 4, uint32_t());
    } else if (size > 0) {
      auto byte = [&](size_t k) { return uint64_t(static_cast<unsigned char>(at[k])); };
      low = byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16;
    }
  }
};
inline bool same_text(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  if (a.size() > kShortText) return std::memcmp(a.data(), b.data(), a.size()) == 0;
  ShortText x(a), y(b);
  return x.low == y.low && x.high == y.high;
}

class Value {
 public:
  Value() noexcept : tag_(Tag::None) { bits_ = 0; }
  Value(bool v) noexcept : tag_(Tag::Bool) { bits_ = v; }
  Value(int64_t v) noexcept : tag_(Tag::Int) { int_ = v; }
  Value(int v) noexcept : tag_(Tag::Int) { int_ = v; }
  Value(double v) noexcept : tag_(Tag::Double) { double_ = v; }
  Value(Device v) noexcept : tag_(Tag::Device) {
    bits_ = 0;
    device_ = v;
  }
  Value(std::complex<double> v);
  // An undefined Tensor becomes None.
  Value(Tensor v) noexcept : tag_(v.defined() ? Tag::Tensor : Tag::None) {
    new (&tensor_) Tensor(std::move(v));
  }
  Value(std::string v);
  // A string of up to kInlineText bytes, inline. Its first byte is the lowest of `bytes`; bytes
  // beyond `size` must be 0. The highest byte of the payload is kInlineText - size, which is 0 for
  // a full one, so the text is always followed by a 0 byte.
  static Value of_bytes(uint64_t bytes, size_t size) noexcept {
    Value value;
    value.tag_ = Tag::Text;
    value.bits_ = bytes | uint64_t(kInlineText - size) << 56;
    return value;
  }
  static Value of_character(char c) noexcept { return of_bytes(uint8_t(c), 1); }
  static Value of_text(std::string_view text);
  static Value of_text(std::string_view head, std::string_view tail);  // concatenated
  // The text of `size` bytes at `begin`. The bytes up to `limit` must be readable, so that eight
  // can be loaded at once.
  static Value of_piece(const char* begin, size_t size, const char* limit) {
    if (size > kInlineText || limit - begin < 8) return of_text({begin, size});
    uint64_t bytes;
    std::memcpy(&bytes, begin, 8);
    return of_bytes(bytes & ((uint64_t(1) << 8 * size) - 1), size);
  }
  // Like of_text(head, tail), for a text that will probably grow: unless it is inline, it gets a
  // new String, never a cached one.
  static Value of_growing(std::string_view head, std::string_view tail);
  // Like of_piece, for a text that is probably new: unless it is inline, it gets a new String.
  static Value of_fresh(const char* begin, size_t size, const char* limit);
  // Takes over a string that the caller has written; its first `size` bytes are the text.
  static Value of_written(String* string, size_t size) noexcept;
  static Value of_digits(int64_t number);  // the decimal digits
  // The payload of the inline string of the decimal digits; 0 if they do not fit.
  static uint64_t short_digits(int64_t number) noexcept;
  // The payload of the inline string head + tail; 0 if an operand or the result is not inline.
  static uint64_t short_sum(const Value& head, const Value& tail) noexcept {
    if (head.tag_ != Tag::Text || tail.tag_ != Tag::Text) return 0;
    constexpr uint64_t kBytes = (uint64_t(1) << 56) - 1;
    uint64_t missing = (head.bits_ >> 56) + (tail.bits_ >> 56);
    if (missing < kInlineText) return 0;
    uint64_t size = kInlineText - (head.bits_ >> 56);
    uint64_t bytes = (head.bits_ & kBytes) | (tail.bits_ & kBytes) << 8 * size;
    return bytes | (missing - kInlineText) << 56;
  }
  Value(const char* v) : Value(of_text(v)) {}
  Value(Ref<List> v) noexcept;  // the pointers must not be null
  Value(Ref<Dict> v) noexcept;
  Value(Ref<Tuple> v) noexcept;
  Value(Ref<Object> v) noexcept;
  Value(Ref<Enum> v) noexcept;
  Value(Ref<Generator> v) noexcept;
  Value(Ref<Future> v) noexcept;
  template <class T>
  Value(T*) = delete;  // else a pointer would become a bool

  Value(const Value& o) noexcept : tag_(o.tag_) {
    bits_ = o.bits_;
    if (counted()) counted_->hold();
  }
  Value(Value&& o) noexcept : tag_(o.tag_) {
    bits_ = o.bits_;
    o.tag_ = Tag::None;
  }
  Value& operator=(const Value& o) noexcept {
    Value copy(o);
    swap(copy);
    return *this;
  }
  Value& operator=(Value&& o) noexcept {
    swap(o);
    o.reset();
    return *this;
  }
  ~Value() { drop(); }

  void swap(Value& o) noexcept {
    std::swap(tag_, o.tag_);
    std::swap(bits_, o.bits_);
  }
  void reset() noexcept {
    drop();
    tag_ = Tag::None;
  }

  Tag tag() const noexcept { return tag_; }
  bool is_none() const noexcept { return tag_ == Tag::None; }
  bool is_bool() const noexcept { return tag_ == Tag::Bool; }
  bool is_int() const noexcept { return tag_ == Tag::Int; }
  bool is_double() const noexcept { return tag_ == Tag::Double; }
  bool is_complex() const noexcept { return tag_ == Tag::Complex; }
  bool is_text() const noexcept { return tag_ == Tag::Text; }
  bool is_string() const noexcept { return tag_ == Tag::Text || tag_ == Tag::String; }
  bool is_tensor() const noexcept { return tag_ == Tag::Tensor; }
  bool is_list() const noexcept { return tag_ == Tag::List; }
  bool is_dict() const noexcept { return tag_ == Tag::Dict; }
  bool is_tuple() const noexcept { return tag_ == Tag::Tuple; }
  bool is_object() const noexcept { return tag_ == Tag::Object; }
  bool is_device() const noexcept { return tag_ == Tag::Device; }
  bool is_enum() const noexcept { return tag_ == Tag::Enum; }
  bool is_generator() const noexcept { return tag_ == Tag::Generator; }
  bool is_future() const noexcept { return tag_ == Tag::Future; }

  // Checked access: a wrong tag raises TypeError.
  bool as_bool() const { return want(Tag::Bool), bits_ != 0; }
  int64_t as_int() const { return want(Tag::Int), int_; }
  double as_double() const { return want(Tag::Double), double_; }
  Device as_device() const { return want(Tag::Device), device_; }
  std::complex<double> as_complex() const {
    return want(Tag::Complex), static_cast<ComplexBox*>(counted_)->value;
  }
  // The text is followed by a 0 byte. It may lie in this Value itself.
  std::string_view as_string() const& {
    if (tag_ == Tag::Text) {
      return {reinterpret_cast<const char*>(&bits_), kInlineText - size_t(bits_ >> 56)};
    }
    return want(Tag::String), static_cast<String*>(counted_)->text();
  }
  std::string_view as_string() const&& = delete;
  const Tensor& as_tensor() const { return want(Tag::Tensor), tensor_; }
  List& as_list() const;  // in list.h
  Dict& as_dict() const;  // in dict.h
  Tuple& as_tuple() const;
  Tuple& raw_tuple() const noexcept;
  Object& raw_object() const noexcept;
  Object& as_object() const;
  Enum& as_enum() const;
  Generator& as_generator() const;
  Future& as_future() const;

  // Moves the tensor out and leaves None, so that an operator can see that it holds the only
  // reference.
  Tensor take_tensor() {
    want(Tag::Tensor);
    tag_ = Tag::None;
    Tensor t(std::move(tensor_));
    return t;
  }

  // *this = head + tail. The non-const operand becomes None; its text is extended in place if
  // nothing else refers to it.
  void append(Value& head, const Value& tail);
  void prepend(const Value& head, Value& tail);

  // Makes the value and all that it holds safe for other threads: their counts become atomic.
  void publish() const {
    if (counted() && counted_->is_thread_local()) publish_all();
  }

  // Python's `is`: the same object if refcounted, else the same tag and bits.
  bool same(const Value& o) const noexcept {
    return tag_ == o.tag_ && (is_none() || bits_ == o.bits_);
  }
  uint64_t bits() const noexcept { return bits_; }

  // Unchecked access, for the interpreter after it has tested the tag.
  int64_t raw_int() const noexcept { return int_; }
  List& raw_list() const noexcept;  // in list.h
  // The payload of an int or float; null for values of another type.
  const int64_t* if_int() const noexcept { return tag_ == Tag::Int ? &int_ : nullptr; }
  const double* if_double() const noexcept { return tag_ == Tag::Double ? &double_ : nullptr; }
  // Only for a string that is not inline.
  const String& raw_string() const noexcept { return *static_cast<String*>(counted_); }
  void forget() noexcept { tag_ = Tag::None; }  // becomes None without dropping a reference
  double raw_double() const noexcept { return double_; }
  bool raw_bool() const noexcept { return bits_ != 0; }
  void set_int(int64_t v) noexcept {
    drop();
    tag_ = Tag::Int;
    int_ = v;
  }
  void set_double(double v) noexcept {
    drop();
    tag_ = Tag::Double;
    double_ = v;
  }
  void set_bool(bool v) noexcept {
    drop();
    tag_ = Tag::Bool;
    bits_ = v;
  }
  void set_text(uint64_t payload) noexcept {  // payload of an inline string
    drop();
    tag_ = Tag::Text;
    bits_ = payload;
  }

 private:
  explicit Value(String* string) noexcept : tag_(Tag::String) { counted_ = string; }
  bool grows() const noexcept { return tag_ == Tag::String && counted_->alone(); }
  char* grown(size_t more, bool in_front);
  char* moved(size_t more, bool in_front);
  bool counted() const noexcept { return tag_ >= kFirstCounted; }
  void drop() noexcept {
    if (counted() && counted_->let_go()) destroy_payload();
  }
  void destroy_payload() noexcept;
  void publish_all() const;
  void want(Tag tag) const {
    if (__builtin_expect(tag_ != tag, 0)) wrong_tag(tag);
  }
  [[noreturn]] void wrong_tag(Tag wanted) const;

  Tag tag_;
  union {
    uint64_t bits_;
    int64_t int_;
    double double_;
    Device device_;
    Counted* counted_;
    Tensor tensor_;
  };
};
static_assert(sizeof(Value) == 16, "a register is 16 bytes");

// A tuple. Its items follow it in the same block.
struct Tuple : Counted {
  class Items {
   public:
    Items() = default;
    Items(const Items&) = delete;
    Items& operator=(const Items&) = delete;
    size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    Value* data() const noexcept {
      return reinterpret_cast<Value*>(reinterpret_cast<uintptr_t>(this) + sizeof(Items));
    }
    Value* begin() const noexcept { return data(); }
    Value* end() const noexcept { return data() + size_; }
    Value& operator[](size_t k) noexcept { return data()[k]; }
    const Value& operator[](size_t k) const noexcept { return data()[k]; }

   private:
    friend struct Tuple;
    size_t size_ = 0;
  };
  TypeRef named;  // the NamedTuple's type, or null
  Items items;    // must be last: the values follow it
  static Ref<Tuple> make(std::vector<Value> items, TypeRef named = {});
  static Ref<Tuple> make(Value* first, int64_t count, TypeRef named = {});  // moves the values
  // Empty, with room for `count` items, all of which must be added.
  static Ref<Tuple> with_room(size_t count, TypeRef named = {});
  void add(Value item) noexcept { new (items.data() + items.size_++) Value(std::move(item)); }
  // Sets the number of items after the caller has constructed them at items.data().
  void has_all(size_t count) noexcept { items.size_ = count; }
  static constexpr size_t bytes_of(size_t count) { return sizeof(Tuple) + count * sizeof(Value); }
  // Constructs a thread-local tuple in a block of bytes_of(count) bytes. The caller must construct
  // the values at items.data().
  static Tuple* at(void* block, size_t count) noexcept;
  // plain: no item is refcounted, so that none needs its destructor.
  static void destroy(Tuple* tuple, bool plain = false) noexcept;

 private:
  Tuple() = default;
  ~Tuple() = default;
};

// An instance of a scripted class or module.
struct Object : Counted {
  uint32_t charged = 0;  // slots charged beyond those that every object is charged for
  ClassRef type;
  std::vector<Value> slots;
  static Ref<Object> make(ClassRef type);
  void grow(size_t slots);  // resizes to that many and charges them
};

struct Enum : Counted {
  ClassRef type;
  std::string name;  // empty if unknown; members are told apart by value
  Value value;
  const std::string& known_name() const;  // raises RuntimeError if unknown
  static Ref<Enum> make(ClassRef type, std::string name, Value value);
};

// PyTorch's CPU generator: mt19937 seeded with the low 32 bits, and the cached second number of
// each pair of normally distributed ones. Hold the mutex while drawing.
struct Generator : Counted {
  std::mutex mutex;
  uint64_t seed = 5489;
  kernels::Twister engine{5489};
  bool has_next_double = false, has_next_float = false;
  double next_double = 0;
  float next_float = 0;
  static Ref<Generator> make(uint64_t seed = 67280421310721ull);
  void manual_seed(uint64_t seed);
};

// The result of a forked call: a value, or the error that ended it, or the call itself if it has
// not been made yet.
struct Future : Counted {
  Value value;
  std::unique_ptr<Error> error;
  const Function* function = nullptr;  // of the pending call
  std::shared_ptr<const Program> program;
  std::vector<Value> arguments;
  static Ref<Future> make();
};

inline Value::Value(Ref<Tuple> v) noexcept : tag_(Tag::Tuple) { counted_ = v.release(); }
inline Value::Value(Ref<Object> v) noexcept : tag_(Tag::Object) { counted_ = v.release(); }
inline Value::Value(Ref<Enum> v) noexcept : tag_(Tag::Enum) { counted_ = v.release(); }
inline Value::Value(Ref<Generator> v) noexcept : tag_(Tag::Generator) { counted_ = v.release(); }
inline Value::Value(Ref<Future> v) noexcept : tag_(Tag::Future) { counted_ = v.release(); }
inline Tuple& Value::as_tuple() const { return want(Tag::Tuple), *static_cast<Tuple*>(counted_); }
inline Tuple& Value::raw_tuple() const noexcept { return *static_cast<Tuple*>(counted_); }
inline Object& Value::raw_object() const noexcept { return *static_cast<Object*>(counted_); }
inline Object& Value::as_object() const {
  return want(Tag::Object), *static_cast<Object*>(counted_);
}
inline Enum& Value::as_enum() const { return want(Tag::Enum), *static_cast<Enum*>(counted_); }
inline Generator& Value::as_generator() const {
  return want(Tag::Generator), *static_cast<Generator*>(counted_);
}

inline Future& Value::as_future() const {
  return want(Tag::Future), *static_cast<Future*>(counted_);
}

// Python's == as the language defines it for lists, dicts, tuples, strings and numbers; tensors are
// compared by identity. Raises RuntimeError on nesting deeper than kMaxNesting.
bool equal(const Value& a, const Value& b);
constexpr int kMaxNesting = 200;

// The text of a value as TorchScript's str() and '{}' print it.
std::string to_text(const Value& v);
// The text of a float in the same form: "1." for whole numbers below 2^63, else up to 17 digits
// ("0.10000000000000001").
std::string float_text(double v);
constexpr size_t kFloatText = 32;        // room for the longest
size_t write_float(char* to, double v);  // into kFloatText bytes; returns the length

}  // namespace scriptlang
