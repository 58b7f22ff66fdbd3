// Lists. Ints, floats and bools are stored side by side without tags, everything else as Values.
//
// The kind of storage depends on the elements, never on the declared type. A list whose elements
// are all ints (floats, bools) may have the kind Ints (Floats, Bools); the first element of another
// type turns it into a list of Values. An empty list takes the kind of its first element. Reading
// never changes a list, so several threads may read one at the same time.
#pragma once

#include "type.h"

namespace scriptlang {

// A borrowed array of Values.
struct ValueSpan {
  const Value* first = nullptr;
  size_t count = 0;
  ValueSpan() = default;
  ValueSpan(const Value* values, size_t size) : first(values), count(size) {}
  ValueSpan(const std::vector<Value>& values) : first(values.data()), count(values.size()) {}
  ValueSpan(const Tuple::Items& values) : first(values.data()), count(values.size()) {}
  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  const Value& operator[](size_t k) const { return first[k]; }
  const Value* begin() const { return first; }
  const Value* end() const { return first + count; }
};

struct List : Counted {
 public:
  enum class Kind : uint8_t { Values, Ints, Floats, Bools };

  TypeRef element;  // the declared element type; null: not known

  static Ref<List> make(std::vector<Value> items = {}, TypeRef element = {});
  static Ref<List> make(const int64_t* ints, size_t count, TypeRef element);
  // An empty list with room for `count` values of the kind.
  static Ref<List> with_room(size_t count, Tag kind, TypeRef element);
  static Ref<List> like(const List& other);  // empty, of the same kind and element type
  List() = default;
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  ~List();

  Kind kind() const noexcept { return kind_; }
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  // Positions must be below size(), unless noted otherwise.
  Value get(size_t at) const;
  void set(size_t at, Value value);
  Value take(size_t at);  // removes and returns it
  void push(Value value);
  void append(Value&& value) {  // the same, with a fast path for thread-local lists of Values
    bool quick = size_ && kind_ == Kind::Values && (size_ + 1) * sizeof(Value) <= bytes_ &&
                 is_thread_local();
    if (__builtin_expect(!quick, 0)) return push(std::move(value));
    new (values() + size_) Value(std::move(value));
    ++size_;
  }
  void insert(size_t at, Value value);  // at <= size()
  void clear() noexcept;
  void reserve(size_t count);
  void extend(const List& other);  // `other` may be this list
  void reverse() noexcept;
  void swap(List& other);  // swaps the elements, not the declared types
  Ref<List> slice(int64_t start, int64_t step, size_t count) const;

  // The stored elements; valid only for the kind that the list has.
  int64_t* ints() const noexcept { return static_cast<int64_t*>(data_); }
  double* floats() const noexcept { return static_cast<double*>(data_); }
  bool* bools() const noexcept { return static_cast<bool*>(data_); }
  Value* values() const noexcept { return static_cast<Value*>(data_); }
  // Turns the list into a list of Values. No other thread may read it meanwhile.
  ValueSpan boxed();
  // Calls visit(pointer to the first element) with the element type of the kind.
  template <class Visit>
  decltype(auto) visit(Visit&& visit) const {
    switch (kind_) {
      case Kind::Ints: return visit(ints());
      case Kind::Floats: return visit(floats());
      case Kind::Bools: return visit(bools());
      default: return visit(values());
    }
  }

  // Appends a number if the list has this kind and enough room; otherwise returns false.
  bool push_int(int64_t v) noexcept { return push_plain(Kind::Ints, v); }
  bool push_float(double v) noexcept { return push_plain(Kind::Floats, v); }
  bool push_bool(bool v) noexcept { return push_plain(Kind::Bools, v); }

  class Iterator {
   public:
    Iterator(const List* list, size_t at) : list_(list), at_(at) {}
    Value operator*() const { return list_->get(at_); }
    Iterator& operator++() { return ++at_, *this; }
    bool operator!=(const Iterator& o) const { return at_ != o.at_; }

   private:
    const List* list_;
    size_t at_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }

 private:
  static constexpr size_t width_of(Kind kind) {
    return kind == Kind::Values ? sizeof(Value) : kind == Kind::Bools ? 1 : 8;
  }
  size_t width() const noexcept { return width_of(kind_); }
  template <class T>
  bool push_plain(Kind kind, T v) noexcept {
    if (kind_ != kind || (size_ + 1) * sizeof(T) > bytes_) return false;
    static_cast<T*>(data_)[size_++] = v;
    return true;
  }
  void publish_elements() const;
  void adapt(Kind kind);
  void become_values();
  // Constructs an element at an unused position; it must match the kind.
  void put(size_t at, Value&& value) noexcept;
  void grow(size_t count, size_t least = 0);
  void release() noexcept;

  Kind kind_ = Kind::Values;
  void* data_ = nullptr;
  size_t size_ = 0;
  size_t bytes_ = 0;  // capacity of data_; charged to the memory limit
};

inline List& Value::as_list() const { return want(Tag::List), *static_cast<List*>(counted_); }
inline List& Value::raw_list() const noexcept { return *static_cast<List*>(counted_); }
inline Value::Value(Ref<List> v) noexcept : tag_(Tag::List) { counted_ = v.release(); }

// The elements of a list or a tuple as Values.
std::vector<Value> items_of(const Value& sequence);

}  // namespace scriptlang
