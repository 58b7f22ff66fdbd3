// Modules: loading and calling them, reading and changing their contents, saving them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "value.hpp"

namespace scriptlang {
inline namespace api {

// Ends calls, from any thread or signal handler. It affects the calls that have it in their limits,
// which give an Error with SL_CANCELLED, until reset() is called. It must outlive the calls.
class Canceller {
 public:
  Canceller() : handle_(sl_canceller_make(), sl_canceller_release) {
    if (!handle_) detail::raise(detail::taken(SL_OUT_OF_MEMORY, nullptr));
  }
  void cancel() { sl_cancel(handle_.get()); }
  void reset() { sl_canceller_reset(handle_.get()); }
  sl_canceller* handle() const { return handle_.get(); }

 private:
  std::shared_ptr<sl_canceller> handle_;
};

// What one call may use; see sl_limits. Zero means no limit (for depth: 2000).
struct Limits : sl_limits {
  Limits() : sl_limits{} { size = sizeof(sl_limits); }
  Limits& ended_by(const Canceller& other) {
    canceller = other.handle();
    return *this;
  }
};

// The arguments and results of a method, without self.
struct Signature {
  struct Argument {
    std::string name, type;              // the type is an annotation, "Optional[List[int]]"
    std::optional<Value> default_value;  // none if the argument is required
  };
  std::vector<Argument> arguments;
  std::vector<std::string> results;
  std::string text;  // "forward(Tensor x, float scale=2.0) -> Tensor"
};

using NamedValues = std::vector<std::pair<std::string, Value>>;
using ExtraFiles = std::map<std::string, std::string>;

class Method;
struct NamedModule;

// A handle of a loaded module, a submodule, or another object of a program. Copies share the same
// module. A default-constructed one is empty: functions that can fail give an Error for it, and
// names and lists are empty.
class Module {
 public:
  Module() = default;
  explicit Module(sl_module* handle) : handle_(handle, sl_module_release) {}  // takes ownership
  explicit operator bool() const { return handle_ != nullptr; }

  // ---- calls

  Value operator()(const char* method, const std::vector<Value>& arguments,
                   const Limits& limits = {}) const {
    return try_call(method, arguments, {}, limits).value();
  }
  // With keyword arguments, after the positional ones.
  Value call(const char* method, const std::vector<Value>& arguments, const NamedValues& named,
             const Limits& limits = {}) const {
    return try_call(method, arguments, named, limits).value();
  }
  Result<Value> try_call(const char* method, const std::vector<Value>& arguments,
                         const NamedValues& named = {}, const Limits& limits = {}) const {
    std::vector<sl_value*> handles = Value::handles_of(arguments), values;
    std::vector<const char*> names;
    for (const auto& [name, value] : named) {
      names.push_back(name.c_str());
      values.push_back(value.handle());
    }
    return of_value([&](sl_value** result, sl_error** error) {
      return sl_call_named(handle_.get(), method, handles.data(), handles.size(), names.data(),
                           values.data(), names.size(), &limits, result, error);
    });
  }
  Value forward(const std::vector<Value>& arguments, const NamedValues& named = {}) const {
    return call("forward", arguments, named);
  }

  std::vector<std::string> methods() const {
    std::vector<std::string> names;
    for (size_t k = 0; k < sl_module_method_count(handle()); ++k) {
      names.push_back(sl_module_method_name(handle(), k));
    }
    return names;
  }
  bool has_method(const char* name) const { return sl_module_has_method(handle(), name) != 0; }
  inline std::optional<Method> find_method(const char* name) const;
  inline Method get_method(const char* name) const;
  Result<Signature> try_signature(const char* method) const;
  Signature signature(const char* method) const { return try_signature(method).value(); }
  // The operators in the program that this build lacks.
  std::vector<std::string> missing_operators() const {
    std::vector<std::string> names;
    for (size_t k = 0; k < sl_module_missing_count(handle()); ++k) {
      names.push_back(sl_module_missing_name(handle(), k));
    }
    return names;
  }

  // ---- attributes, by dotted names

  std::string class_name() const { return sl_module_class(handle()); }
  bool has_attribute(const char* name) const {
    return sl_module_has_attribute(handle(), name) != 0;
  }
  Result<Value> try_attribute(const char* name) const {
    return of_value([&](sl_value** value, sl_error** error) {
      return sl_module_attribute(handle(), name, value, error);
    });
  }
  Value attribute(const char* name) const { return try_attribute(name).value(); }
  Result<void> try_set_attribute(const char* name, const Value& value) {
    return detail::done([&](sl_error** error) {
      return sl_module_set_attribute(handle(), name, value.handle(), error);
    });
  }
  void set_attribute(const char* name, const Value& value) {
    try_set_attribute(name, value).value();
  }
  Result<Module> try_child(const char* name) const {
    return of_module([&](sl_module** child, sl_error** error) {
      return sl_module_child(handle(), name, child, error);
    });
  }
  Module child(const char* name) const { return try_child(name).value(); }
  // A handle for the methods and attributes of an object that came from the module or one of its
  // calls.
  Result<Module> try_view(const Value& object) const {
    return of_module([&](sl_module** view, sl_error** error) {
      return sl_module_of(handle(), object.handle(), view, error);
    });
  }
  Module view(const Value& object) const { return try_view(object).value(); }
  // The module as a value, for example to pass it as an argument.
  Value value() const {
    return Value(
        detail::needed(sl_module_value(handle()), handle() ? nullptr : "there is no module"));
  }

  // The names and values, in order; also of submodules, unless `recurse` is false.
  NamedValues parameters(bool recurse = true) const { return listed(SL_PARAMETERS, recurse); }
  NamedValues buffers(bool recurse = true) const { return listed(SL_BUFFERS, recurse); }
  NamedValues attributes(bool recurse = true) const { return listed(SL_ATTRIBUTES, recurse); }
  inline std::vector<NamedModule> modules(bool recurse = true) const;  // without this module
  inline std::vector<NamedModule> children() const;

  // ---- the whole module

  void train(bool on = true) {
    detail::done([&](sl_error** error) { return sl_module_train(handle(), on, error); }).value();
  }
  void eval() { train(false); }
  bool is_training() const {
    Result<Value> found = try_attribute("training");
    return !found || found->boolean();
  }
  Result<void> try_to(sl_dtype dtype) {
    return detail::done([&](sl_error** error) { return sl_module_to(handle(), dtype, error); });
  }
  void to(sl_dtype dtype) { try_to(dtype).value(); }
  Module clone() const {
    return of_module([&](sl_module** copy, sl_error** error) {
             return sl_module_clone(handle(), copy, error);
           })
        .value();
  }
  // A readable description: attributes, methods, submodules.
  std::string text() const {
    char* text = nullptr;
    size_t size = 0;
    sl_status status = sl_module_text(handle(), &text, &size);
    std::unique_ptr<char, void (*)(char*)> held(text, sl_text_release);
    if (status != SL_OK && handle()) (void)child("");  // explains why objects cannot be restored
    if (status != SL_OK) {
      detail::raise(detail::taken(
          status, nullptr, handle() ? "the module cannot be printed here" : "there is no module"));
    }
    return std::string(text, size);
  }

  // ---- files

  Result<void> try_save(const std::string& path, const ExtraFiles& extra = {}) const {
    std::vector<sl_extra> files = extras_of(extra);
    return detail::done([&](sl_error** error) {
      return sl_save_file(handle(), path.c_str(), files.data(), files.size(), error);
    });
  }
  void save(const std::string& path, const ExtraFiles& extra = {}) const {
    try_save(path, extra).value();
  }
  // write(data, size) gets the bytes of the archive, in order. If it returns false, saving fails.
  Result<void> try_save(const std::function<bool(const void*, size_t)>& write,
                        const ExtraFiles& extra = {}) const {
    std::vector<sl_extra> files = extras_of(extra);
    using Write = const std::function<bool(const void*, size_t)>;
    return detail::done([&](sl_error** error) {
      return sl_save_stream(
          handle(),
          [](const void* data, size_t size, void* user) {
            return int(!(*static_cast<Write*>(user))(data, size));
          },
          const_cast<void*>(static_cast<const void*>(&write)), files.data(), files.size(), error);
    });
  }
  std::string save_to_memory(const ExtraFiles& extra = {}) const {
    std::string bytes;
    auto add = [&](const void* data, size_t size) {
      bytes.append(static_cast<const char*>(data), size);
      return true;
    };
    try_save(std::function<bool(const void*, size_t)>(add), extra).value();
    return bytes;
  }
  std::vector<std::string> extra_names() const {
    std::vector<std::string> names;
    for (size_t k = 0; k < sl_module_extra_count(handle()); ++k) {
      names.push_back(sl_module_extra_name(handle(), k));
    }
    return names;
  }
  Result<std::string> try_extra(const std::string& name) const {
    const char* data = nullptr;
    size_t size = 0;
    Result<void> status = detail::done([&](sl_error** error) {
      return sl_module_extra(handle(), name.c_str(), &data, &size, error);
    });
    if (!status) return status.error();
    return std::string(data, size);
  }
  std::string extra(const std::string& name) const { return try_extra(name).value(); }

  sl_module* handle() const { return handle_.get(); }

 private:
  template <class F>
  static Result<Value> of_value(F&& call) {
    Result<sl_value*> made = detail::made<sl_value>(call);
    if (!made) return made.error();
    return Value(*made);
  }
  template <class F>
  static Result<Module> of_module(F&& call) {
    Result<sl_module*> made = detail::made<sl_module>(call);
    if (!made) return made.error();
    return Module(*made);
  }
  NamedValues listed(sl_listing what, bool recurse) const {
    Value dict = of_value([&](sl_value** found, sl_error** error) {
                   return sl_module_list(handle(), what, recurse, found, error);
                 }).value();
    NamedValues named;
    for (const auto& [name, value] : dict.items()) named.emplace_back(name.string(), value);
    return named;
  }
  static std::vector<sl_extra> extras_of(const ExtraFiles& extra) {
    std::vector<sl_extra> files;
    for (const auto& [name, data] : extra) {
      files.push_back({name.c_str(), data.data(), data.size()});
    }
    return files;
  }
  std::shared_ptr<sl_module> handle_;
};

// A method of a module.
class Method {
 public:
  Method(Module owner, std::string name) : owner_(std::move(owner)), name_(std::move(name)) {}
  Value operator()(const std::vector<Value>& arguments, const NamedValues& named = {},
                   const Limits& limits = {}) const {
    return owner_.call(name_.c_str(), arguments, named, limits);
  }
  Result<Value> try_call(const std::vector<Value>& arguments, const NamedValues& named = {},
                         const Limits& limits = {}) const {
    return owner_.try_call(name_.c_str(), arguments, named, limits);
  }
  const std::string& name() const { return name_; }
  const Module& owner() const { return owner_; }
  Signature signature() const { return owner_.signature(name_.c_str()); }

 private:
  Module owner_;
  std::string name_;
};

inline std::optional<Method> Module::find_method(const char* name) const {
  if (!has_method(name)) return std::nullopt;
  return Method(*this, name);
}

inline Method Module::get_method(const char* name) const {
  std::optional<Method> found = find_method(name);
  if (!found) detail::raise(detail::misused("the module has no method of that name"));
  return *found;
}

inline Result<Signature> Module::try_signature(const char* method) const {
  Result<sl_signature*> made =
      detail::made<sl_signature>([&](sl_signature** signature, sl_error** error) {
        return sl_module_signature(handle(), method, signature, error);
      });
  if (!made) return made.error();
  std::unique_ptr<sl_signature, void (*)(sl_signature*)> held(*made, sl_signature_release);
  Signature out;
  out.text = sl_signature_text(held.get());
  for (size_t k = 0; k < sl_signature_argument_count(held.get()); ++k) {
    Signature::Argument argument;
    argument.name = sl_signature_argument_name(held.get(), k);
    argument.type = sl_signature_argument_type(held.get(), k);
    if (sl_value* given = sl_signature_argument_default(held.get(), k)) {
      argument.default_value = Value(given);
    }
    out.arguments.push_back(std::move(argument));
  }
  for (size_t k = 0; k < sl_signature_result_count(held.get()); ++k) {
    out.results.push_back(sl_signature_result_type(held.get(), k));
  }
  return out;
}

struct NamedModule {
  std::string name;
  Module module;
};

inline std::vector<NamedModule> Module::modules(bool recurse) const {
  std::vector<NamedModule> found;
  for (const auto& [name, object] : listed(SL_MODULES, recurse)) {
    found.push_back({name, view(object)});
  }
  return found;
}
inline std::vector<NamedModule> Module::children() const { return modules(false); }

// Makes an object of a class in the program, "__torch__.Counter", by calling its __init__.
inline Value make_object(const Module& module, const char* class_name,
                         const std::vector<Value>& arguments) {
  std::vector<sl_value*> handles = Value::handles_of(arguments);
  return Value(detail::made<sl_value>([&](sl_value** object, sl_error** error) {
                 return sl_module_make(module.handle(), class_name, handles.data(), handles.size(),
                                       nullptr, object, error);
               }).value());
}

// A member of an enum in the program.
inline Value make_enum(const Module& module, const char* class_name, const char* member) {
  return Value(detail::made<sl_value>([&](sl_value** value, sl_error** error) {
                 return sl_module_enum(module.handle(), class_name, member, value, error);
               }).value());
}

// Options of loading. A device other than the CPU is ignored with a notice, which goes to `notice`,
// or to stderr if that is empty.
struct LoadOptions {
  std::string device;
  std::function<void(const std::string& text)> notice;
};

namespace detail {

template <class F>
Result<Module> loaded(const LoadOptions& options, F&& call) {
  sl_load_options given = {};
  given.size = sizeof given;
  if (!options.device.empty()) given.device = options.device.c_str();
  if (options.notice) {
    given.notice = [](const char* text, size_t size, void* user) {
      static_cast<const LoadOptions*>(user)->notice(std::string(text, size));
    };
    given.user = const_cast<void*>(static_cast<const void*>(&options));
  }
  Result<sl_module*> handle = made<sl_module>(
      [&](sl_module** module, sl_error** error) { return call(&given, module, error); });
  if (!handle) return handle.error();
  return Module(*handle);
}

}  // namespace detail

inline Result<Module> try_load(const std::string& path, const LoadOptions& options = {}) {
  return detail::loaded(options, [&](auto* given, sl_module** module, sl_error** error) {
    return sl_load_file_with(path.c_str(), given, module, error);
  });
}
inline Result<Module> try_load(const void* data, size_t size, const LoadOptions& options = {}) {
  return detail::loaded(options, [&](auto* given, sl_module** module, sl_error** error) {
    return sl_load_memory_with(data, size, given, module, error);
  });
}
namespace detail {

// Reads from a stream; size_t(-1) if it cannot be read. Exceptions that a std::istream is set to
// throw are for its own functions, which would throw at the end of any file.
template <class Stream>
size_t read_from(Stream& from, char* to, size_t bytes) {
  if constexpr (std::is_base_of<std::istream, Stream>::value) {
    if (from.fail()) return size_t(-1);  // such as a file that was not opened
    return size_t(from.rdbuf()->sgetn(to, std::streamsize(bytes)));
  } else {
    from.read(to, std::streamsize(bytes));
    return from.bad() ? size_t(-1) : size_t(from.gcount());
  }
}

}  // namespace detail

// Loads from a std::istream, or any class with its read(), gcount() and bad().
template <class Stream, class = decltype(std::declval<Stream&>().gcount())>
Result<Module> try_load(Stream& stream, const LoadOptions& options = {}) {
  return detail::loaded(options, [&](auto* given, sl_module** module, sl_error** error) {
    return sl_load_stream(
        [](void* to, size_t bytes, void* user) {
          return detail::read_from(*static_cast<Stream*>(user), static_cast<char*>(to), bytes);
        },
        &stream, given, module, error);
  });
}

inline Module load(const std::string& path, const LoadOptions& options = {}) {
  return try_load(path, options).value();
}
inline Module load(const void* data, size_t size, const LoadOptions& options = {}) {
  return try_load(data, size, options).value();
}
template <class Stream, class = decltype(std::declval<Stream&>().gcount())>
Module load(Stream& stream, const LoadOptions& options = {}) {
  return try_load(stream, options).value();
}

inline void set_threads(int threads) { sl_set_threads(threads); }
inline int threads() { return sl_get_threads(); }

}  // namespace api
}  // namespace scriptlang
