// scriptlang: runs TorchScript archives. C++17, header only, over scriptlang.h.
//
//   scriptlang::Module m = scriptlang::load("m.pt");
//   scriptlang::Tensor x = scriptlang::Tensor::view(samples.data(), {1, 512});
//   scriptlang::Value y = m("forward", {x, 16000});
//   float p = y.tensor().contiguous().data<float>()[0];
//
// Errors are scriptlang::Error, or std::bad_alloc. Values are handles: copying one shares it. What
// scriptlang.h says of threads, units and lifetimes holds here, too.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "scriptlang.h"

namespace scriptlang {

// The library has classes of the same names inside: these must not be linked to those.
inline namespace api {

class Error : public std::runtime_error {
 public:
  Error(sl_status status, std::string class_name, const std::string& message, std::string stack)
      : std::runtime_error(message),
        status_(status),
        class_name_(std::move(class_name)),
        stack_(std::move(stack)) {}
  sl_status status() const { return status_; }
  // The exception's class: "RuntimeError", or what the program raised, "builtins.ValueError".
  const std::string& class_name() const { return class_name_; }
  const std::string& stack() const { return stack_; }  // script stack, innermost first

 private:
  sl_status status_;
  std::string class_name_, stack_;
};

namespace detail {

// `error` by reference: it is set by the call that gives the status.
inline void check(sl_status status, sl_error*& error) {
  if (status == SL_OK) return;
  std::unique_ptr<sl_error, void (*)(sl_error*)> held(error, sl_error_release);
  throw Error(status, sl_error_class(error), sl_error_message(error), sl_error_stack(error));
}

inline sl_value* check(sl_value* value, const char* what) {
  if (!value) throw Error(SL_INVALID_ARGUMENT, "ValueError", what, "");
  return value;
}

template <class T>
struct dtype_of;
template <> struct dtype_of<float> { static constexpr sl_dtype value = SL_FLOAT32; };
template <> struct dtype_of<double> { static constexpr sl_dtype value = SL_FLOAT64; };
template <> struct dtype_of<int8_t> { static constexpr sl_dtype value = SL_INT8; };
template <> struct dtype_of<uint8_t> { static constexpr sl_dtype value = SL_UINT8; };
template <> struct dtype_of<int16_t> { static constexpr sl_dtype value = SL_INT16; };
template <> struct dtype_of<int32_t> { static constexpr sl_dtype value = SL_INT32; };
template <> struct dtype_of<int64_t> { static constexpr sl_dtype value = SL_INT64; };
template <> struct dtype_of<uint16_t> { static constexpr sl_dtype value = SL_UINT16; };
template <> struct dtype_of<uint32_t> { static constexpr sl_dtype value = SL_UINT32; };
template <> struct dtype_of<uint64_t> { static constexpr sl_dtype value = SL_UINT64; };
template <> struct dtype_of<bool> { static constexpr sl_dtype value = SL_BOOL8; };
template <> struct dtype_of<std::complex<float>> {
  static constexpr sl_dtype value = SL_COMPLEX64;
};
template <> struct dtype_of<std::complex<double>> {
  static constexpr sl_dtype value = SL_COMPLEX128;
};

// Integers but bool, which is a kind of its own.
template <class T>
using if_integer =
    std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value, int>;

}  // namespace detail

using Shape = std::vector<int64_t>;
class Tensor;

// Any value of the language.
class Value {
 public:
  Value() : Value(detail::check(sl_value_none(), "out of memory")) {}
  Value(bool v) : Value(detail::check(sl_value_bool(v), "out of memory")) {}
  template <class T, detail::if_integer<T> = 0>
  Value(T v) : Value(detail::check(sl_value_int(int64_t(v)), "out of memory")) {}
  Value(double v) : Value(detail::check(sl_value_double(v), "out of memory")) {}
  Value(std::complex<double> v)
      : Value(detail::check(sl_value_complex(v.real(), v.imag()), "out of memory")) {}
  Value(std::nullptr_t) : Value() {}
  Value(const char* v) : Value(std::string(v)) {}  // UTF-8, as the next
  Value(const std::string& v)
      : Value(detail::check(sl_value_string(v.data(), v.size()), "the text is not UTF-8")) {}
  template <class T, std::enable_if_t<!std::is_same<std::remove_cv_t<T>, char>::value, int> = 0>
  Value(T*) = delete;  // else any pointer would be a bool
  explicit Value(sl_value* handle) : handle_(handle, sl_value_release) {}  // takes it over

  static Value device(const std::string& name) {  // "cpu", "cuda:0"
    return Value(detail::check(sl_value_device(name.c_str()), "there is no such device"));
  }
  static Value generator(uint64_t seed) {
    return Value(detail::check(sl_value_generator(seed), "out of memory"));
  }
  static Value list(const std::vector<Value>& items) {
    std::vector<sl_value*> handles = handles_of(items);
    return Value(detail::check(sl_value_list(handles.data(), handles.size()), "out of memory"));
  }
  static Value tuple(const std::vector<Value>& items) {
    std::vector<sl_value*> handles = handles_of(items);
    return Value(detail::check(sl_value_tuple(handles.data(), handles.size()), "out of memory"));
  }
  static Value dict(const std::vector<std::pair<Value, Value>>& items) {
    std::vector<sl_value*> keys, values;
    for (const auto& [k, v] : items) {
      keys.push_back(k.handle());
      values.push_back(v.handle());
    }
    return Value(detail::check(sl_value_dict(keys.data(), values.data(), keys.size()),
                               "a dict has a key that cannot be one"));
  }

  sl_kind kind() const { return sl_value_kind(handle()); }
  bool is_none() const { return kind() == SL_NONE; }

  // Each throws Error when the value is of another kind.
  bool boolean() const { return get<int>(sl_value_get_bool, "the value is no bool") != 0; }
  int64_t integer() const { return get<int64_t>(sl_value_get_int, "the value is no int"); }
  double number() const { return get<double>(sl_value_get_double, "the value is no number"); }
  std::complex<double> complex() const {
    double real = 0, imaginary = 0;
    require(sl_value_get_complex(handle(), &real, &imaginary), "the value is no number");
    return {real, imaginary};
  }
  std::string string() const {
    const char* text = nullptr;
    size_t size = 0;
    require(sl_value_get_string(handle(), &text, &size), "the value is no string");
    return std::string(text, size);
  }
  inline Tensor tensor() const;

  // Elements of lists, tuples and dicts, attributes of objects, 2 of enums, 0 of others.
  size_t size() const { return sl_value_length(handle()); }
  Value operator[](size_t index) const {
    return Value(detail::check(sl_value_item(handle(), index), "there is no such element"));
  }
  Value key(size_t index) const {
    return Value(detail::check(sl_value_key(handle(), index), "there is no such key"));
  }

  // By name: fields of named tuples, attributes of objects, "name" and "value" of enums.
  Value member(const char* name) const {
    return Value(detail::check(sl_value_member(handle(), name), "there is no such member"));
  }
  std::vector<std::string> fields() const {
    std::vector<std::string> names;
    while (const char* name = sl_value_field(handle(), names.size())) names.emplace_back(name);
    return names;
  }
  // Of objects, enums and named tuples; "" of others.
  std::string class_name() const { return sl_value_class(handle()); }

  // As the language prints it.
  std::string text() const {
    char* text = nullptr;
    size_t size = 0;
    require(sl_value_text(handle(), &text, &size), "the value cannot be printed");
    std::unique_ptr<char, void (*)(char*)> held(text, sl_text_release);
    return std::string(text, size);
  }

  sl_value* handle() const { return handle_.get(); }

  static std::vector<sl_value*> handles_of(const std::vector<Value>& values) {
    std::vector<sl_value*> handles;
    handles.reserve(values.size());
    for (const Value& v : values) handles.push_back(v.handle());
    return handles;
  }

 protected:
  static void require(sl_status status, const char* what) {
    if (status != SL_OK) throw Error(status, "TypeError", what, "");
  }

 private:
  template <class T, class F>
  T get(F f, const char* what) const {
    T v{};
    require(f(handle(), &v), what);
    return v;
  }
  std::shared_ptr<sl_value> handle_;
};

// A value that is a tensor.
class Tensor : public Value {
 public:
  // Over the caller's memory, which must outlive the tensor and all views of it.
  template <class T>
  static Tensor view(T* data, const Shape& shape) {
    return Tensor(sl_tensor_view(data, detail::dtype_of<T>::value, shape.data(), shape.size(),
                                 nullptr, nullptr));
  }
  // The same with strides, of memory of so many elements.
  template <class T>
  static Tensor strided(T* data, size_t count, const Shape& shape, const Shape& strides) {
    if (shape.size() != strides.size()) {
      throw Error(SL_INVALID_ARGUMENT, "ValueError", "a stride for each size is needed", "");
    }
    return Tensor(sl_tensor_strided(data, count * sizeof(T), detail::dtype_of<T>::value,
                                    shape.data(), strides.data(), shape.size(), nullptr,
                                    nullptr));
  }
  // Over memory that the tensor keeps alive.
  template <class T>
  static Tensor take(std::vector<T> data, const Shape& shape) {
    auto owner = std::make_unique<std::vector<T>>(std::move(data));
    if (!fits(shape, owner->size())) {
      throw Error(SL_INVALID_ARGUMENT, "ValueError", "the shape does not fit the data", "");
    }
    sl_value* handle = sl_tensor_view(
        owner->data(), detail::dtype_of<T>::value, shape.data(), shape.size(),
        [](void* user) { delete static_cast<std::vector<T>*>(user); }, owner.get());
    if (handle) owner.release();  // it is the tensor's now, which ends it
    return Tensor(handle);
  }
  template <class T>
  static Tensor copy(const T* data, const Shape& shape) {
    return Tensor(
        sl_tensor_copy(data, detail::dtype_of<T>::value, shape.data(), shape.size()));
  }

  sl_dtype dtype() const { return info().dtype; }
  Shape shape() const {
    Info i = info();
    return Shape(i.sizes, i.sizes + i.ndim);
  }
  Shape strides() const {  // in elements
    Info i = info();
    return Shape(i.strides, i.strides + i.ndim);
  }
  int64_t numel() const {
    int64_t count = 1;
    for (int64_t n : shape()) count *= n;
    return count;
  }
  Tensor contiguous() const { return Tensor(sl_tensor_contiguous(handle())); }
  // First element; throws Error when T is not the element type.
  template <class T>
  T* data() const {
    if (dtype() != detail::dtype_of<T>::value) {
      throw Error(SL_INVALID_ARGUMENT, "TypeError", "the tensor has another element type", "");
    }
    return static_cast<T*>(sl_tensor_data(handle()));
  }

 private:
  friend class Value;
  // Whether the product of the sizes is `count`.
  static bool fits(const Shape& shape, size_t count) {
    bool empty = false;
    size_t left = count;  // to be divided by the sizes
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
      : Value(detail::check(handle, "the tensor cannot be made: its shape or type is bad")) {}
  explicit Tensor(const Value& value) : Value(value) { info(); }
  Info info() const {
    Info i{};
    require(sl_tensor_info(handle(), &i.dtype, &i.ndim, &i.sizes, &i.strides),
            "the value is no tensor");
    return i;
  }
};

inline Tensor Value::tensor() const { return Tensor(*this); }

// Ends calls from other threads and signal handlers: those that were given it in their limits,
// until reset. They throw Error with SL_CANCELLED. It must outlive the calls.
class Canceller {
 public:
  Canceller() : handle_(sl_canceller_make(), sl_canceller_release) {
    if (!handle_) throw std::bad_alloc();
  }
  void cancel() { sl_cancel(handle_.get()); }
  void reset() { sl_canceller_reset(handle_.get()); }
  sl_canceller* handle() const { return handle_.get(); }

 private:
  std::shared_ptr<sl_canceller> handle_;
};

// What one call may use; zero means no limit.
struct Limits : sl_limits {
  Limits() : sl_limits{} { size = sizeof(sl_limits); }
  Limits& ended_by(const Canceller& other) {
    canceller = other.handle();
    return *this;
  }
};

class Module {
 public:
  explicit Module(sl_module* handle) : handle_(handle, sl_module_release) {}  // takes it over

  Value operator()(const char* method, const std::vector<Value>& arguments,
                   const Limits& limits = {}) const {
    return call(method, arguments, {}, limits);
  }
  // With arguments by name after those by place.
  Value call(const char* method, const std::vector<Value>& arguments,
             const std::vector<std::pair<std::string, Value>>& named,
             const Limits& limits = {}) const {
    std::vector<sl_value*> handles = Value::handles_of(arguments), values;
    std::vector<const char*> names;
    for (const auto& [name, value] : named) {
      names.push_back(name.c_str());
      values.push_back(value.handle());
    }
    sl_value* result = nullptr;
    sl_error* error = nullptr;
    detail::check(sl_call_named(handle_.get(), method, handles.data(), handles.size(),
                                names.data(), values.data(), names.size(), &limits, &result,
                                &error),
                  error);
    return Value(result);
  }
  std::vector<std::string> methods() const {
    std::vector<std::string> names;
    for (size_t k = 0; k < sl_module_method_count(handle_.get()); ++k) {
      names.push_back(sl_module_method_name(handle_.get(), k));
    }
    return names;
  }
  // Operators that the program names and this build lacks.
  std::vector<std::string> missing_operators() const {
    std::vector<std::string> names;
    for (size_t k = 0; k < sl_module_missing_count(handle_.get()); ++k) {
      names.push_back(sl_module_missing_name(handle_.get(), k));
    }
    return names;
  }
  Value attribute(const char* name) const {
    sl_value* value = nullptr;
    sl_error* error = nullptr;
    detail::check(sl_module_attribute(handle_.get(), name, &value, &error), error);
    return Value(value);
  }
  sl_module* handle() const { return handle_.get(); }

 private:
  std::shared_ptr<sl_module> handle_;
};

inline Module load(const std::string& path) {
  sl_module* module = nullptr;
  sl_error* error = nullptr;
  detail::check(sl_load_file(path.c_str(), &module, &error), error);
  return Module(module);
}

inline Module load(const void* data, size_t size) {
  sl_module* module = nullptr;
  sl_error* error = nullptr;
  detail::check(sl_load_memory(data, size, &module, &error), error);
  return Module(module);
}

inline void set_threads(int threads) { sl_set_threads(threads); }
inline int threads() { return sl_get_threads(); }

}  // namespace api
}  // namespace scriptlang
