// The C interface over the engine. Every function that may throw goes through `guarded`.
#include <scriptlang/scriptlang.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "../kernels/parallel.h"
#include "archive/module.h"

// Whoever adds a tag, an error or an element type says here what it is outside.
#pragma GCC diagnostic error "-Wswitch"

using namespace scriptlang;

struct sl_module {
  std::shared_ptr<Module> module;
  std::vector<std::string> methods;
};
struct sl_value {
  Value value;
};
struct sl_error {
  sl_status status;
  std::string class_name, message, stack;
};

namespace {

sl_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::ArchiveError: return SL_ARCHIVE_ERROR;
    case ErrorKind::MissingOperator: return SL_MISSING_OPERATOR;
    case ErrorKind::LimitError: return SL_LIMIT;
    case ErrorKind::MemoryError: return SL_OUT_OF_MEMORY;
    case ErrorKind::RuntimeError:
    case ErrorKind::ValueError:
    case ErrorKind::TypeError:
    case ErrorKind::IndexError:
    case ErrorKind::KeyError:
    case ErrorKind::NotImplementedError:
    case ErrorKind::ZeroDivisionError:
    case ErrorKind::Raised: return SL_RUN_ERROR;
  }
  return SL_RUN_ERROR;
}

sl_status report(sl_error** error, sl_status status, std::string class_name, std::string message,
                 std::string stack = "") noexcept {
  if (error) {
    *error = new (std::nothrow)
        sl_error{status, std::move(class_name), std::move(message), std::move(stack)};
  }
  return status;
}

template <class F>
sl_status guarded(sl_error** error, F&& body) noexcept {
  if (error) *error = nullptr;
  try {
    body();
    return SL_OK;
  } catch (const Error& e) {
    try {
      std::string stack;
      for (const ErrorFrame& f : e.stack) {
        stack += concat(f.function, " at instruction ", f.pc, "\n");
      }
      std::string name = e.class_name.empty() ? error_kind_name(e.kind) : e.class_name;
      return report(error, status_of(e.kind), std::move(name), e.message, std::move(stack));
    } catch (...) {
      return status_of(e.kind);
    }
  } catch (const std::bad_alloc&) {
    return report(error, SL_OUT_OF_MEMORY, "MemoryError", "out of memory");
  } catch (const std::exception& e) {
    return report(error, SL_RUN_ERROR, "RuntimeError", e.what());
  } catch (...) {
    return report(error, SL_RUN_ERROR, "RuntimeError", "an unknown error");
  }
}

sl_status misuse(sl_error** error, const char* what) noexcept {
  return report(error, SL_INVALID_ARGUMENT, "ValueError", what);
}

template <class F>
sl_value* made(F&& body) noexcept {
  try {
    return new sl_value{body()};
  } catch (...) {
    return nullptr;
  }
}

// For the functions that give null where they cannot make a value.
void need(const void* pointer, bool needed) {
  if (!pointer && needed) raise(ErrorKind::ValueError, "a null pointer");
}

// Null handles, as of values that could not be made, are None.
std::vector<Value> values_of(sl_value* const* items, size_t count) {
  need(items, count > 0);
  std::vector<Value> values;
  values.reserve(count);
  for (size_t k = 0; k < count; ++k) values.push_back(items[k] ? items[k]->value : Value());
  return values;
}

Limits limits_of(const sl_limits* given) {
  Limits limits;
  if (!given) return limits;
  sl_limits known = {};  // fields that an older caller does not have are zero
  std::memcpy(&known, given, std::min(given->size, sizeof known));
  limits.instructions = known.instructions;
  limits.memory_bytes = known.memory_bytes;
  limits.milliseconds = known.milliseconds;
  if (known.depth > 0) limits.depth = known.depth;
  return limits;
}

sl_module* module_handle(std::shared_ptr<Module> module) {
  auto handle = std::make_unique<sl_module>();
  handle->methods = module->method_names();
  handle->module = std::move(module);
  return handle.release();
}

// How many elements a list or tuple has; 0 for others.
size_t length_of(const sl_value* value) {
  if (!value) return 0;
  if (value->value.is_list()) return value->value.as_list().size();
  return value->value.is_tuple() ? value->value.as_tuple().items.size() : 0;
}

const Dict::Entry* entry_at(const sl_value* dict, size_t index) {
  const Dict::Entry* entry = nullptr;
  if (!dict || !dict->value.is_dict()) return nullptr;
  for (size_t cursor = 0; dict->value.as_dict().next(&cursor, &entry);) {
    if (index-- == 0) return entry;
  }
  return nullptr;
}

}  // namespace

const char* sl_version(void) { return SCRIPTLANG_VERSION; }

sl_status sl_load_file(const char* path, sl_module** module, sl_error** error) {
  if (!path || !module) return misuse(error, "sl_load_file needs a path and a place");
  *module = nullptr;
  return guarded(error, [&] { *module = module_handle(Module::load_file(path)); });
}

sl_status sl_load_memory(const void* data, size_t size, sl_module** module, sl_error** error) {
  if ((!data && size) || !module) return misuse(error, "sl_load_memory needs data and a place");
  *module = nullptr;
  return guarded(error, [&] { *module = module_handle(Module::load_memory(data, size)); });
}

void sl_module_release(sl_module* module) { delete module; }

size_t sl_module_method_count(const sl_module* module) {
  return module ? module->methods.size() : 0;
}
const char* sl_module_method_name(const sl_module* module, size_t index) {
  return index < sl_module_method_count(module) ? module->methods[index].c_str() : nullptr;
}
size_t sl_module_missing_count(const sl_module* module) {
  return module ? module->module->missing_operators().size() : 0;
}
const char* sl_module_missing_name(const sl_module* module, size_t index) {
  if (index >= sl_module_missing_count(module)) return nullptr;
  return module->module->missing_operators()[index].name.c_str();
}

sl_status sl_module_attribute(const sl_module* module, const char* name, sl_value** value,
                              sl_error** error) {
  if (!module || !name || !value) return misuse(error, "sl_module_attribute needs three pointers");
  *value = nullptr;
  const Object& root = module->module->root().as_object();
  int64_t slot = root.type->slot(name);
  if (slot < 0 || slot >= int64_t(root.slots.size())) {
    return misuse(error, "the module has no attribute of that name");
  }
  return guarded(error, [&] { *value = new sl_value{root.slots[size_t(slot)]}; });
}

sl_status sl_call(sl_module* module, const char* method, sl_value* const* arguments, size_t count,
                  const sl_limits* limits, sl_value** result, sl_error** error) {
  if (!module || !method || (!arguments && count) || !result) {
    return misuse(error, "sl_call needs a module, a method, arguments and a place for the result");
  }
  *result = nullptr;
  return guarded(error, [&] {
    Context context;
    context.threads = kernels::thread_count();
    Value value = module->module->call(method, values_of(arguments, count), context,
                                       limits_of(limits));
    *result = new sl_value{std::move(value)};
  });
}

// ---- values

void sl_value_release(sl_value* value) { delete value; }
sl_value* sl_value_none(void) {
  return made([] { return Value(); });
}
sl_value* sl_value_bool(int v) {
  return made([&] { return Value(v != 0); });
}
sl_value* sl_value_int(int64_t v) {
  return made([&] { return Value(v); });
}
sl_value* sl_value_double(double v) {
  return made([&] { return Value(v); });
}
sl_value* sl_value_string(const char* utf8, size_t size) {
  return made([&] {
    need(utf8, size > 0);
    return Value(size ? std::string(utf8, size) : std::string());
  });
}
sl_value* sl_value_list(sl_value* const* items, size_t count) {
  return made([&] { return Value(List::make(values_of(items, count))); });
}
sl_value* sl_value_tuple(sl_value* const* items, size_t count) {
  return made([&] { return Value(Tuple::make(values_of(items, count))); });
}
sl_value* sl_value_dict(sl_value* const* keys, sl_value* const* values, size_t count) {
  return made([&] {
    std::vector<Value> named = values_of(keys, count), held = values_of(values, count);
    Ref<Dict> dict = Dict::make();
    for (size_t k = 0; k < count; ++k) dict->set(named[k], held[k]);
    return Value(std::move(dict));
  });
}

namespace {
// Checks what comes from outside: the type, the shape, that it is a size.
int64_t checked_bytes(const void* data, sl_dtype dtype, const int64_t* sizes, size_t ndim) {
  need(sizes, ndim > 0);
  if (!is_scalar_type(dtype)) raise(ErrorKind::ValueError, "no element type");
  if (ndim > size_t(kMaxDims)) raise(ErrorKind::ValueError, "too many dimensions");
  int64_t bytes;
  if (__builtin_mul_overflow(checked_numel({sizes, int64_t(ndim)}),
                             itemsize(ScalarType(dtype)), &bytes)) {
    raise(ErrorKind::ValueError, "the tensor is too large");
  }
  need(data, bytes > 0);
  return bytes;
}
}  // namespace

sl_value* sl_tensor_view(void* data, sl_dtype dtype, const int64_t* sizes, size_t ndim,
                         void (*release)(void* user), void* user) {
  return made([&] {
    int64_t bytes = checked_bytes(data, dtype, sizes, ndim);
    Tensor t(TensorImpl::make());
    t.impl()->dtype = ScalarType(dtype);
    t.impl()->set_contiguous({sizes, int64_t(ndim)});
    t.impl()->storage = Storage::borrow(data, bytes, release, user);
    return Value(std::move(t));
  });
}

sl_value* sl_tensor_copy(const void* data, sl_dtype dtype, const int64_t* sizes, size_t ndim) {
  return made([&] {
    int64_t bytes = checked_bytes(data, dtype, sizes, ndim);
    Tensor t = Tensor::empty({sizes, int64_t(ndim)}, ScalarType(dtype));
    if (bytes) std::memcpy(t.raw(), data, size_t(bytes));
    return Value(std::move(t));
  });
}

sl_kind sl_value_kind(const sl_value* value) {
  if (!value) return SL_NONE;
  switch (value->value.tag()) {  // the engine's numbers are its own affair
    case Tag::None: return SL_NONE;
    case Tag::Bool: return SL_BOOL;
    case Tag::Int: return SL_INT;
    case Tag::Double: return SL_DOUBLE;
    case Tag::Device: return SL_DEVICE;
    case Tag::Text:
    case Tag::String: return SL_STRING;
    case Tag::Complex: return SL_COMPLEX;
    case Tag::Tensor: return SL_TENSOR;
    case Tag::List: return SL_LIST;
    case Tag::Dict: return SL_DICT;
    case Tag::Tuple: return SL_TUPLE;
    case Tag::Object: return SL_OBJECT;
    case Tag::Enum: return SL_ENUM;
    case Tag::Generator: return SL_GENERATOR;
    case Tag::Future: return SL_FUTURE;
  }
  return SL_NONE;
}
sl_status sl_value_get_bool(const sl_value* value, int* out) {
  if (!value || !out || !value->value.is_bool()) return SL_INVALID_ARGUMENT;
  *out = value->value.as_bool();
  return SL_OK;
}
sl_status sl_value_get_int(const sl_value* value, int64_t* out) {
  if (!value || !out || !value->value.is_int()) return SL_INVALID_ARGUMENT;
  *out = value->value.as_int();
  return SL_OK;
}
sl_status sl_value_get_double(const sl_value* value, double* out) {
  if (!value || !out) return SL_INVALID_ARGUMENT;
  if (!value->value.is_double() && !value->value.is_int()) return SL_INVALID_ARGUMENT;
  *out = value->value.is_int() ? double(value->value.as_int()) : value->value.as_double();
  return SL_OK;
}
sl_status sl_value_get_string(const sl_value* value, const char** utf8, size_t* size) {
  if (!value || !utf8 || !value->value.is_string()) return SL_INVALID_ARGUMENT;
  *utf8 = value->value.as_string().data();
  if (size) *size = value->value.as_string().size();
  return SL_OK;
}

size_t sl_value_length(const sl_value* value) {
  if (value && value->value.is_dict()) return size_t(value->value.as_dict().size());
  return length_of(value);
}
sl_value* sl_value_item(const sl_value* value, size_t index) {
  if (index < length_of(value)) {
    return made([&] {
      return value->value.is_list() ? value->value.as_list().get(index)
                                    : value->value.as_tuple().items[index];
    });
  }
  const Dict::Entry* entry = entry_at(value, index);
  return entry ? made([&] { return entry->value; }) : nullptr;
}
sl_value* sl_value_key(const sl_value* dict, size_t index) {
  const Dict::Entry* entry = entry_at(dict, index);
  return entry ? made([&] { return entry->key; }) : nullptr;
}

sl_status sl_value_text(const sl_value* value, char** text, size_t* size) {
  if (!value || !text) return SL_INVALID_ARGUMENT;
  *text = nullptr;
  return guarded(nullptr, [&] {
    std::string printed = to_text(value->value);
    char* copy = static_cast<char*>(std::malloc(printed.size() + 1));
    if (!copy) throw std::bad_alloc();
    std::memcpy(copy, printed.c_str(), printed.size() + 1);
    *text = copy;
    if (size) *size = printed.size();
  });
}
void sl_text_release(char* text) { std::free(text); }

sl_status sl_tensor_info(const sl_value* tensor, sl_dtype* dtype, size_t* ndim,
                         const int64_t** sizes, const int64_t** strides) {
  if (!tensor || !tensor->value.is_tensor()) return SL_INVALID_ARGUMENT;
  const Tensor& t = tensor->value.as_tensor();
  if (dtype) *dtype = sl_dtype(int(t.dtype()));
  if (ndim) *ndim = size_t(t.dim());
  if (sizes) *sizes = t.sizes().data;
  if (strides) *strides = t.strides().data;
  return SL_OK;
}
void* sl_tensor_data(const sl_value* tensor) {
  if (!tensor || !tensor->value.is_tensor()) return nullptr;
  return tensor->value.as_tensor().raw();
}

namespace {
Tensor contiguous_copy(const Tensor& t) {
  Tensor out = Tensor::empty(t.sizes(), t.dtype());
  int64_t item = t.itemsize(), n = t.dim(), at = 0;
  std::vector<int64_t> index(size_t(n), 0);
  const char* from = static_cast<const char*>(t.raw());
  char* to = static_cast<char*>(out.raw());
  for (int64_t k = t.numel(); k > 0; --k, to += item) {
    std::memcpy(to, from + at * item, size_t(item));
    for (int64_t d = n - 1; d >= 0; --d) {
      at += t.stride(d);
      if (++index[size_t(d)] < t.size(d)) break;
      at -= t.stride(d) * t.size(d);
      index[size_t(d)] = 0;
    }
  }
  return out;
}
}  // namespace

sl_value* sl_tensor_contiguous(const sl_value* tensor) {
  if (!tensor || !tensor->value.is_tensor()) return nullptr;
  const Tensor& t = tensor->value.as_tensor();
  return made([&] { return Value(t.is_contiguous() ? t : contiguous_copy(t)); });
}

// ---- errors

void sl_error_release(sl_error* error) { delete error; }
sl_status sl_error_status(const sl_error* error) { return error ? error->status : SL_OK; }
const char* sl_error_class(const sl_error* error) { return error ? error->class_name.c_str() : ""; }
const char* sl_error_message(const sl_error* error) { return error ? error->message.c_str() : ""; }
const char* sl_error_stack(const sl_error* error) { return error ? error->stack.c_str() : ""; }

// ---- the process

void sl_set_allocator(const sl_allocator* allocator) {
  if (!allocator) {
    memory::set_hook(nullptr);
    return;
  }
  memory::Hook hook{allocator->allocate, allocator->release, allocator->user};
  memory::set_hook(&hook);
}
void sl_set_threads(int threads) { kernels::set_thread_count(threads); }
int sl_get_threads(void) { return kernels::thread_count(); }
