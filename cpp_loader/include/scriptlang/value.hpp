// Values of programs, and tensors. They are handles: copies share the same value. One that no
// module holds has no lock: no thread may use it while another one changes it (see scriptlang.h).
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <ostream>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dtypes.hpp"
#include "result.hpp"

namespace scriptlang {
inline namespace api {

using Shape = std::vector<int64_t>;
class Tensor;
class Value;

// The numbers in a list, without a copy.
template <class T>
class Span {
 public:
  Span(const T* data, size_t size) : data_(data), size_(size) {}
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](size_t k) const { return data_[k]; }

 private:
  const T* data_;
  size_t size_;
};

class Items;

// Any value of a program. A default-constructed one is None.
class Value {
 public:
  Value() noexcept = default;
  Value(std::nullptr_t) noexcept {}
  Value(bool v) : Value(made(sl_value_bool(v))) {}
  template <class T, detail::if_integer<T> = 0>
  Value(T v) : Value(integer_of(v)) {}  // numbers that int64_t does not have are errors
  Value(double v) : Value(made(sl_value_double(v))) {}
  Value(float v) : Value(double(v)) {}
  Value(std::complex<double> v) : Value(made(sl_value_complex(v.real(), v.imag()))) {}
  Value(std::complex<float> v) : Value(std::complex<double>(v)) {}
  Value(const char* v) : Value(std::string_view(v)) {}  // strings must be UTF-8
  Value(const std::string& v) : Value(std::string_view(v)) {}
  Value(std::string_view v) : Value(made(sl_value_string(v.data(), v.size()), kNoText)) {}
  template <class T>
  Value(const std::vector<T>& items)
      : Value(list(std::vector<Value>(items.begin(), items.end()))) {}
  template <class T>
  Value(const std::optional<T>& v) : Value(v ? Value(*v) : Value()) {}
  template <class T, std::enable_if_t<!std::is_same<std::remove_cv_t<T>, char>::value, int> = 0>
  Value(T*) = delete;  // otherwise any pointer would convert to bool
  explicit Value(sl_value* handle) : handle_(handle, sl_value_release) {}  // takes ownership

  static Result<Value> try_string(std::string_view v) {
    return made(sl_value_string(v.data(), v.size()), kNoText);
  }
  static Result<Value> try_device(const std::string& name) {  // "cpu", "cuda:0"
    return made(sl_value_device(name.c_str()), "there is no such device");
  }
  static Value device(const std::string& name) { return try_device(name).value(); }
  static Value generator(uint64_t seed) { return Value(made(sl_value_generator(seed))); }
  static Value list(const std::vector<Value>& items) {
    std::vector<sl_value*> handles = handles_of(items);
    return Value(made(sl_value_list(handles.data(), handles.size())));
  }
  // A tuple may also be passed where a method takes a named tuple.
  static Value tuple(const std::vector<Value>& items) {
    std::vector<sl_value*> handles = handles_of(items);
    return Value(made(sl_value_tuple(handles.data(), handles.size())));
  }
  static Result<Value> try_dict(const std::vector<std::pair<Value, Value>>& items) {
    std::vector<sl_value*> keys, values;
    for (const auto& [k, v] : items) {
      keys.push_back(k.handle());
      values.push_back(v.handle());
    }
    return made(sl_value_dict(keys.data(), values.data(), keys.size()),
                "a dict has a key that cannot be one");
  }
  static Value dict(const std::vector<std::pair<Value, Value>>& items) {
    return try_dict(items).value();
  }

  sl_kind kind() const { return sl_value_kind(handle()); }
  bool is_none() const { return kind() == SL_NONE; }

  // If the value is of another kind, these give an Error with the class TypeError.
  Result<bool> try_boolean() const {
    int v = 0;
    sl_status status = sl_value_get_bool(handle(), &v);
    return read(status, v != 0, "the value is no bool");
  }
  Result<int64_t> try_integer() const {
    int64_t v = 0;
    sl_status status = sl_value_get_int(handle(), &v);
    return read(status, v, "the value is no int");
  }
  Result<double> try_number() const {
    double v = 0;
    sl_status status = sl_value_get_double(handle(), &v);
    return read(status, v, "the value is no number");
  }
  Result<std::complex<double>> try_complex() const {
    double real = 0, imaginary = 0;
    sl_status status = sl_value_get_complex(handle(), &real, &imaginary);
    return read(status, std::complex<double>(real, imaginary), "the value is no number");
  }
  // The bytes of a string, which may contain zeros. They are valid as long as this Value or a copy
  // of it exists.
  Result<std::string_view> try_view() const& {
    const char* text = nullptr;
    size_t size = 0;
    sl_status status = sl_value_get_string(handle(), &text, &size);
    return read(status, std::string_view(text, size), "the value is no string");
  }
  Result<std::string_view> try_view() const&& = delete;  // the string would be gone
  Result<std::string> try_string() const {
    Result<std::string_view> view = try_view();
    if (!view) return view.error();
    return std::string(*view);
  }
  inline Result<Tensor> try_tensor() const;
  bool boolean() const { return try_boolean().value(); }
  int64_t integer() const { return try_integer().value(); }
  double number() const { return try_number().value(); }
  std::complex<double> complex() const { return try_complex().value(); }
  std::string_view view() const& { return try_view().value(); }
  std::string_view view() const&& = delete;
  std::string string() const { return try_string().value(); }
  inline Tensor tensor() const;

  // The number of elements of a list, tuple or dict, or of attributes of an object; 2 for an enum,
  // 0 for other kinds.
  size_t size() const { return sl_value_length(handle()); }
  Result<Value> try_at(size_t index) const {
    if (sl_value* item = sl_value_item(handle(), index)) return Value(item);
    return detail::missing(handle(), index < size(), "there is no such element");
  }
  Value operator[](size_t index) const { return try_at(index).value(); }
  Value key(size_t index) const {
    if (sl_value* found = sl_value_key(handle(), index)) return Value(found);
    const bool is_there = index < size() && kind() == SL_DICT;
    detail::raise(detail::missing(handle(), is_there, "there is no such key"));
  }
  // for (const Value& item : list)
  inline Items begin() const;
  inline Items end() const;

  // The numbers in a list, without a copy. They are valid as long as this Value or a copy of it
  // exists, and until the list is changed.
  Result<Span<int64_t>> try_ints() const& {
    const int64_t* data = nullptr;
    size_t count = 0;
    sl_status status = sl_list_ints(handle(), &data, &count);
    return read(status, Span<int64_t>(data, count), "the value is no list of ints");
  }
  Result<Span<double>> try_doubles() const& {
    const double* data = nullptr;
    size_t count = 0;
    sl_status status = sl_list_doubles(handle(), &data, &count);
    return read(status, Span<double>(data, count), "the value is no list of floats");
  }
  Result<Span<int64_t>> try_ints() const&& = delete;  // the list would be gone
  Result<Span<double>> try_doubles() const&& = delete;
  Span<int64_t> ints() const& { return try_ints().value(); }
  Span<double> doubles() const& { return try_doubles().value(); }
  Span<int64_t> ints() const&& = delete;
  Span<double> doubles() const&& = delete;

  // Changes of a list. If it came from a module or one of its calls, all that share it see them.
  Result<void> try_set(size_t index, const Value& item) {
    return changed(sl_list_set(handle(), index, item.handle()), "the list does not take it there");
  }
  Result<void> try_append(const Value& item) {
    return changed(sl_list_append(handle(), item.handle()), "the list does not take the value");
  }
  void set(size_t index, const Value& item) { try_set(index, item).value(); }
  void append(const Value& item) { try_append(item).value(); }
  void remove(size_t index) {
    changed(sl_list_remove(handle(), index), "there is no such element").value();
  }

  // Dicts by key. find() returns nothing if there is no such key, or if the value is not a dict.
  std::optional<Value> find(const Value& key) const {
    sl_value* found = nullptr;
    if (sl_dict_get(handle(), key.handle(), &found) != SL_OK || !found) return std::nullopt;
    return Value(found);
  }
  bool contains(const Value& key) const { return find(key).has_value(); }
  Value at(const Value& key) const {
    std::optional<Value> found = find(key);
    if (!found) detail::raise(detail::misused("the value has no such key", "KeyError"));
    return *found;
  }
  Result<void> try_insert(const Value& key, const Value& value) {
    return changed(sl_dict_set(handle(), key.handle(), value.handle()),
                   "the dict does not take the key or the value");
  }
  void insert(const Value& key, const Value& value) { try_insert(key, value).value(); }
  void erase(const Value& key) {
    changed(sl_dict_remove(handle(), key.handle()), "the value is no dict").value();
  }
  // for (auto& [key, value] : dict.items())
  class Entries;
  inline Entries items() const;

  // Elements by name: fields of named tuples, attributes of objects, "name" and "value" of enums.
  Result<Value> try_member(const char* name) const {
    if (sl_value* found = sl_value_member(handle(), name)) return Value(found);
    return detail::missing(handle(), detail::has_field(handle(), name), "there is no such member");
  }
  Value member(const char* name) const { return try_member(name).value(); }
  std::vector<std::string> fields() const {
    std::vector<std::string> names;
    while (const char* name = sl_value_field(handle(), names.size())) names.emplace_back(name);
    return names;
  }
  // The class of an object, enum or named tuple; "" for other kinds.
  std::string class_name() const { return sl_value_class(handle()); }

  // The value as print() in a program prints it.
  Result<std::string> try_text() const {
    char* text = nullptr;
    size_t size = 0;
    sl_status status = sl_value_text(handle(), &text, &size);
    std::unique_ptr<char, void (*)(char*)> held(text, sl_text_release);
    return read(status, std::string(text ? text : "", size), "the value cannot be printed");
  }
  std::string text() const { return try_text().value(); }

  sl_value* handle() const { return handle_.get(); }

  static std::vector<sl_value*> handles_of(const std::vector<Value>& values) {
    std::vector<sl_value*> handles;
    handles.reserve(values.size());
    for (const Value& v : values) handles.push_back(v.handle());
    return handles;
  }

 protected:
  static constexpr const char* kNoText = "the text is not UTF-8, or memory is exhausted";
  // If the handle is null, the caller did what `wrong` says; without it, memory is exhausted.
  static Result<Value> made(sl_value* handle, const char* wrong = nullptr) {
    if (!handle) return wrong ? detail::misused(wrong) : detail::taken(SL_OUT_OF_MEMORY, nullptr);
    return Value(handle);
  }
  template <class T>
  static Result<T> read(sl_status status, T v, const char* otherwise) {
    if (status != SL_OK) return Error(status, "TypeError", otherwise, "");
    return v;
  }
  static Result<void> changed(sl_status status, const char* otherwise) {
    if (status != SL_OK) return detail::taken(status, nullptr, otherwise);
    return {};
  }

 private:
  template <class T>
  static Result<Value> integer_of(T v) {
    if (v > T(0) && uint64_t(v) > uint64_t(INT64_MAX)) {
      return detail::misused("the number is too large for an int, which has 64 bits with a sign");
    }
    return made(sl_value_int(int64_t(v)));
  }
  Value(Result<Value> result) : Value(std::move(result).value()) {}
  std::shared_ptr<sl_value> handle_;
};

inline std::ostream& operator<<(std::ostream& out, const Value& value) {
  return out << value.text();
}

// An iterator over a list, tuple, object or dict (over its values).
class Items {
 public:
  Items(const Value* of, size_t at) : of_(of), at_(at) {}
  Value operator*() const { return (*of_)[at_]; }
  Items& operator++() { return ++at_, *this; }
  bool operator!=(const Items& other) const { return at_ != other.at_; }

 private:
  const Value* of_;
  size_t at_;
};
inline Items Value::begin() const { return {this, 0}; }
inline Items Value::end() const { return {this, size()}; }

// The entries of a dict, in insertion order.
class Value::Entries {
 public:
  explicit Entries(Value dict) : dict_(std::move(dict)) {}
  class Iterator {
   public:
    explicit Iterator(const Value* dict) : dict_(dict) {
      if (dict_) advance();
    }
    const std::pair<Value, Value>& operator*() const { return entry_; }
    Iterator& operator++() { return advance(), *this; }
    bool operator!=(const Iterator& other) const { return dict_ != other.dict_; }

   private:
    void advance() {
      sl_value *key = nullptr, *value = nullptr;
      sl_status status = sl_dict_next(dict_->handle(), &cursor_, &key, &value);
      if (status == SL_OUT_OF_MEMORY) detail::raise(detail::taken(status, nullptr));
      if (!key) dict_ = nullptr;
      else entry_ = {Value(key), Value(value)};
    }
    const Value* dict_;
    size_t cursor_ = 0;
    std::pair<Value, Value> entry_;
  };
  Iterator begin() const { return Iterator(&dict_); }
  Iterator end() const { return Iterator(nullptr); }

 private:
  Value dict_;
};
inline Value::Entries Value::items() const { return Entries(*this); }

// A value that is a tensor. A default-constructed one is undefined.
class Tensor : public Value {
 public:
  Tensor() = default;
  bool defined() const { return handle() != nullptr; }

  // A contiguous tensor on the caller's memory, which must outlive the tensor and all views of it.
  template <class T>
  static Tensor view(T* data, const Shape& shape) {
    return view(data, dtype_of<T>(), shape);
  }
  // Programs may write to the memory: use copy().
  template <class T>
  static Tensor view(const T* data, const Shape& shape) = delete;
  // The same for any element type.
  static Tensor view(void* data, sl_dtype dtype, const Shape& shape) {
    return Tensor(sl_tensor_view(data, dtype, shape.data(), shape.size(), nullptr, nullptr));
  }
  // The same with strides, on memory of `count` elements.
  template <class T>
  static Tensor strided(T* data, size_t count, const Shape& shape, const Shape& strides) {
    return strided(data, count, dtype_of<T>(), shape, strides);
  }
  template <class T>
  static Tensor strided(const T* data, size_t count, const Shape& shape,
                        const Shape& strides) = delete;
  static Tensor strided(void* data, size_t count, sl_dtype dtype, const Shape& shape,
                        const Shape& strides) {
    return strided(data, count, dtype, shape, strides, nullptr);
  }
  // The same on memory that `owner` keeps alive. The tensor and its views keep a copy of `owner`.
  static Tensor strided(void* data, size_t count, sl_dtype dtype, const Shape& shape,
                        const Shape& strides, std::shared_ptr<void> owner) {
    if (shape.size() != strides.size()) {
      detail::raise(detail::misused("a stride for each size is needed"));
    }
    auto held = owner ? std::make_unique<std::shared_ptr<void>>(std::move(owner)) : nullptr;
    void (*release)(void*) = nullptr;
    if (held) release = [](void* user) { delete static_cast<std::shared_ptr<void>*>(user); };
    sl_value* handle = sl_tensor_strided(data, count * detail::size_of(dtype), dtype, shape.data(),
                                         strides.data(), shape.size(), release, held.get());
    if (handle) (void)held.release();  // `release` deletes it
    return Tensor(handle);
  }
  // A contiguous tensor that takes ownership of a vector.
  template <class T>
  static Tensor take(std::vector<T> data, const Shape& shape) {
    auto owner = std::make_shared<std::vector<T>>(std::move(data));
    if (!fits(shape, owner->size())) {
      detail::raise(detail::misused("the shape does not fit the data"));
    }
    Shape strides(shape.size(), 1);
    for (size_t k = shape.size(); k-- > 1;) {
      strides[k - 1] = strides[k] * (shape[k] > 0 ? shape[k] : 1);
    }
    T* first = owner->data();
    size_t count = owner->size();
    return strided(first, count, dtype_of<T>(), shape, strides, std::move(owner));
  }
  template <class T>
  static Tensor copy(const T* data, const Shape& shape) {
    return Tensor(sl_tensor_copy(data, dtype_of<T>(), shape.data(), shape.size()));
  }

  // Takes ownership of a tensor from another library by DLPack. If that fails, `managed` still
  // belongs to the caller.
  static Result<Tensor> try_from_dlpack(DLManagedTensor* managed) {
    auto made = detail::made<sl_value>([&](sl_value** tensor, sl_error** error) {
      return sl_tensor_from_dlpack(managed, tensor, error);
    });
    if (!made) return made.error();
    return Tensor(*made);
  }
  static Tensor from_dlpack(DLManagedTensor* managed) { return try_from_dlpack(managed).value(); }
  Result<DLManagedTensor*> try_to_dlpack() const {
    return detail::made<DLManagedTensor>([&](DLManagedTensor** managed, sl_error** error) {
      return sl_tensor_to_dlpack(handle(), managed, error);
    });
  }
  DLManagedTensor* to_dlpack() const { return try_to_dlpack().value(); }

  sl_dtype dtype() const { return info().dtype; }
  Shape shape() const {
    Info i = info();
    return Shape(i.sizes, i.sizes + i.ndim);
  }
  Shape strides() const {  // in elements
    Info i = info();
    return Shape(i.strides, i.strides + i.ndim);
  }
  size_t dim() const { return info().ndim; }
  using Value::size;
  int64_t size(size_t d) const {
    Info i = info();
    if (d >= i.ndim) detail::raise(detail::misused("there is no such dimension", "IndexError"));
    return i.sizes[d];
  }
  int64_t numel() const {
    const Info i = info();
    int64_t count = 1;
    for (size_t d = 0; d < i.ndim; ++d) count *= i.sizes[d];
    return count;
  }
  Tensor contiguous() const {
    return Tensor(detail::needed(sl_tensor_contiguous(handle()),
                                 defined() ? nullptr : "the tensor is undefined"));
  }
  Tensor to(sl_dtype dtype) const { return Tensor(sl_tensor_to(handle(), dtype)); }
  // The address of the first element. It gives an Error if T is not the element type.
  template <class T>
  T* data() const {
    if (dtype() != dtype_of<T>()) {
      detail::raise(detail::misused("the tensor has another element type", "TypeError"));
    }
    return static_cast<T*>(sl_tensor_data(handle()));
  }
  void* raw() const { return sl_tensor_data(handle()); }
  // The element of a tensor with one element, converted to T.
  template <class T>
  T item() const {
    T v{};
    read_to(&v, 1);
    return v;
  }
  // Writes the elements to `data`, converted to T and in row-major order. `count` must be numel().
  template <class T>
  Result<void> try_read_to(T* data, size_t count) const {
    return changed(sl_tensor_read(handle(), dtype_of<T>(), data, count * sizeof(T)),
                   "the elements do not fit the memory or the type");
  }
  template <class T>
  void read_to(T* data, size_t count) const {
    try_read_to(data, count).value();
  }
  template <class T>
  std::vector<T> values() const {
    static_assert(!std::is_same<T, bool>::value, "vector<bool> has no memory to read to");
    std::vector<T> all(static_cast<size_t>(numel()));
    read_to(all.data(), all.size());
    return all;
  }
  // Writes the elements of another tensor to this one, converted and broadcast.
  Result<void> try_assign(const Tensor& from) {
    return changed(sl_tensor_assign(handle(), from.handle()), "the tensor does not fit");
  }
  void assign(const Tensor& from) { try_assign(from).value(); }

 private:
  friend class Value;
  // Whether the product of the sizes is `count`.
  static bool fits(const Shape& shape, size_t count) {
    bool empty = false;
    size_t left = count;  // divided by one size after the other, which cannot overflow
    for (int64_t n : shape) {
      if (n < 0) return false;
      empty = empty || n == 0;
    }
    if (empty) return count == 0;
    for (int64_t n : shape) {
      if (left % size_t(n) != 0) return false;
      left /= size_t(n);
    }
    return left == 1;
  }
  struct Info {
    sl_dtype dtype;
    size_t ndim;
    const int64_t *sizes, *strides;
  };
  explicit Tensor(sl_value* handle)
      : Value(made(handle,
                   "the tensor cannot be made: its shape or type is bad, or memory is exhausted")
                  .value()) {}
  explicit Tensor(const Value& value) : Value(value) {}
  Info info() const {
    Info i{};
    sl_status status = sl_tensor_info(handle(), &i.dtype, &i.ndim, &i.sizes, &i.strides);
    if (status != SL_OK) detail::raise(Error(status, "TypeError", "the value is no tensor", ""));
    return i;
  }
};

inline Result<Tensor> Value::try_tensor() const {
  if (kind() != SL_TENSOR) return detail::misused("the value is no tensor", "TypeError");
  return Tensor(*this);
}
inline Tensor Value::tensor() const { return try_tensor().value(); }

}  // namespace api
}  // namespace scriptlang
