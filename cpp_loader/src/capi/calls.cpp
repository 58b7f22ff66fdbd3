// The C API: calls of methods, new objects, enums and signatures.
#include <algorithm>
#include <cstring>

#include "archive/deep_copy.h"
#include "capi.h"
#include "values/callbacks.h"
#include "values/dict.h"
#include "values/list.h"

using namespace scriptlang;
using namespace scriptlang::capi;

namespace scriptlang::capi {

const char* read_limits(const sl_limits* given, Limits* limits) {
  if (!given) return nullptr;
  if (given->size < sizeof(size_t) + sizeof(int64_t)) {
    return "the size of limits is not set: it is sizeof(sl_limits)";
  }
  sl_limits known = {};  // fields that an older caller does not have are zero
  std::memcpy(&known, given, std::min(given->size, sizeof known));
  if (known.instructions < 0 || known.memory_bytes < 0 || known.milliseconds < 0 ||
      known.depth < 0) {
    return "a limit is negative";
  }
  constexpr int64_t kLongest = int64_t(1) << 40;  // 35 years, which clocks can count
  limits->instructions = known.instructions;
  limits->memory_bytes = known.memory_bytes;
  limits->milliseconds = std::min(known.milliseconds, kLongest);
  if (known.depth > 0) limits->depth = known.depth;
  if (known.canceller) limits->cancelled = &known.canceller->cancelled;
  return nullptr;
}

}  // namespace scriptlang::capi

namespace {

// Whether nothing else refers to the containers in the result of a call, so that it needs no
// domain. *left bounds the number of values that are visited.
bool is_alone(const Value& v, int* left, int depth = 0) {
  if (!is_open(v)) return true;
  if (--*left < 0 || depth > kMaxNesting) return false;
  auto all = [&](const auto& items) {
    for (const Value& item : items) {
      if (!is_alone(item, left, depth + 1)) return false;
    }
    return true;
  };
  if (v.is_tuple()) return v.as_tuple().is_alone() && all(v.as_tuple().items);
  if (v.is_list()) {
    const List& list = v.as_list();
    return list.is_alone() && (list.kind() != List::Kind::Values || all(list));
  }
  if (!v.is_dict() || !v.as_dict().is_alone()) return false;
  const Dict::Entry* entry;
  for (size_t cursor = 0; v.as_dict().next(&cursor, &entry);) {
    if (!is_alone(entry->value, left, depth + 1)) return false;
  }
  return true;
}

}  // namespace

sl_status sl_call(sl_module* module, const char* method, sl_value* const* arguments, size_t count,
                  const sl_limits* limits, sl_value** result, sl_error** error) {
  return sl_call_named(module, method, arguments, count, nullptr, nullptr, 0, limits, result,
                       error);
}

namespace {

// Returns null, or what is wrong with the arguments of a call.
const char* check_call(sl_value* const* arguments, size_t count, const char* const* names,
                       sl_value* const* named, size_t named_count) {
  if (!arguments && count) return "the arguments are null";
  if (named_count && (!names || !named)) return "names are needed, and a value for each";
  for (size_t k = 0; k < named_count; ++k) {
    if (!names[k]) return "the name of an argument is null";
  }
  if (memory::in_callback()) return kInCallback;
  return nullptr;
}

struct Given {
  sl_value* const* arguments;
  size_t count;
  const char* const* names;
  sl_value* const* named;
  size_t named_count;
};

// Calls a method of an object. Joins the domains of the arguments to that of the module, which is
// *domain then.
Value call_on(Module* module, const Value& object, const char* method, const Given& given,
              const Limits& limits, DomainRef* domain, Turn* turn) {
  std::vector<Value> values = values_of(given.named, given.named_count);
  std::vector<NamedArgument> pairs;
  for (size_t k = 0; k < given.named_count; ++k) pairs.push_back({given.names[k], values[k]});
  Context context = call_context();
  module->domain()->retain();
  *domain = DomainRef(module->domain());
  check_count(given.arguments, given.count);
  check_count(given.named, given.named_count);
  for (size_t k = 0; k < given.count; ++k) join_domain(domain, given.arguments[k]);
  for (size_t k = 0; k < given.named_count; ++k) join_domain(domain, given.named[k]);
  return module->call_on(object, method, values_of(given.arguments, given.count), std::move(pairs),
                         context, limits, turn);
}

}  // namespace

sl_status sl_call_named(sl_module* module, const char* method, sl_value* const* arguments,
                        size_t count, const char* const* names, sl_value* const* named,
                        size_t named_count, const sl_limits* limits, sl_value** result,
                        sl_error** error) {
  if (result) *result = nullptr;
  if (!module || !method || !result) {
    return misuse(error, "sl_call needs a module, a method, arguments and a place for the result");
  }
  if (const char* wrong = check_call(arguments, count, names, named, named_count)) {
    return misuse(error, wrong);
  }
  Limits known;
  if (const char* wrong = read_limits(limits, &known)) return misuse(error, wrong);
  return guarded(error, [&] {
    auto handle = std::make_unique<sl_value>();
    std::shared_ptr<Module> called = module->module;
    DomainRef domain;
    Turn turn;
    handle->value = call_on(called.get(), module->object, method,
                            {arguments, count, names, named, named_count}, known, &domain, &turn);
    int left = 1000;
    if (!is_alone(handle->value, &left)) handle->domain = domain;
    *result = handle.release();
  });
}

// ---- objects and enums

namespace {

ClassRef class_of(Module& module, const char* name) {
  ClassRef cls = module.program().classes()->find(name);
  if (!cls) {
    module.complete();
    cls = module.program().classes()->find(name);
  }
  if (!cls) raise(ErrorKind::RuntimeError, "the program has no class '", name, "'");
  return cls;
}

}  // namespace

sl_status sl_module_make(sl_module* module, const char* class_name, sl_value* const* arguments,
                         size_t count, const sl_limits* limits, sl_value** object,
                         sl_error** error) {
  if (object) *object = nullptr;
  if (!module || !class_name || !object) {
    return misuse(error, "sl_module_make needs a module, a class and a place for the object");
  }
  if (const char* wrong = check_call(arguments, count, nullptr, nullptr, 0)) {
    return misuse(error, wrong);
  }
  Limits known;
  if (const char* wrong = read_limits(limits, &known)) return misuse(error, wrong);
  return guarded(error, [&] {
    std::shared_ptr<Module> called = module->module;
    ClassRef cls = class_of(*called, class_name);
    if (!called->method(*cls, "__init__")) called->complete();
    if (!called->method(*cls, "__init__")) {
      raise(ErrorKind::RuntimeError, "the class ", class_name, " has no __init__");
    }
    auto handle = std::make_unique<sl_value>();
    handle->value = Value(Object::make(cls));
    Turn turn;
    call_on(called.get(), handle->value, "__init__", {arguments, count, nullptr, nullptr, 0}, known,
            &handle->domain, &turn);
    *object = handle.release();
  });
}

sl_status sl_module_enum(const sl_module* module, const char* class_name, const char* member,
                         sl_value** value, sl_error** error) {
  if (value) *value = nullptr;
  if (!module || !class_name || !member || !value) {
    return misuse(error, "sl_module_enum needs four pointers");
  }
  if (memory::in_callback()) return misuse(error, "callbacks must not ask for enums");
  return guarded(error, [&] {
    ClassRef cls = class_of(*module->module, class_name);
    for (const auto& [name, held] : cls->members) {
      if (name != member) continue;
      auto handle = std::make_unique<sl_value>();
      handle->value = Value(Enum::make(cls, name, held));
      *value = handle.release();
      return;
    }
    raise(ErrorKind::RuntimeError, "the enum ", class_name, " has no member '", member, "'");
  });
}

// ---- signatures

namespace {

std::unique_ptr<sl_signature> signature_of(const std::string& name, const Function& function) {
  auto made = std::make_unique<sl_signature>();
  made->text = schema_text(name, function, 1);
  if (!function.has_schema) {
    made->text = name + "(...) -> Any";
    made->arguments.resize(size_t(std::max(function.parameters - 1, 0)), {"", "Any", false, {}});
    made->results.push_back({"", "Any", false, {}});
    return made;
  }
  for (size_t k = 1; k < function.arguments.size(); ++k) {
    const Argument& a = function.arguments[k];
    made->arguments.push_back(
        {a.name, to_string(*a.type), a.has_default, deep_copy(a.default_value)});
  }
  for (const Argument& r : function.returns) {
    made->results.push_back({"", to_string(*r.type), false, {}});
  }
  return made;
}

}  // namespace

sl_status sl_module_signature(const sl_module* module, const char* method, sl_signature** signature,
                              sl_error** error) {
  if (signature) *signature = nullptr;
  if (!module || !method || !signature) {
    return misuse(error, "sl_module_signature needs three pointers");
  }
  const ClassType& cls = *module->object.as_object().type;
  if (memory::in_callback()) return misuse(error, "callbacks must not ask for signatures");
  bool found = true;
  sl_status status = guarded(error, [&] {
    methods_of(*module);  // compiles methods that are not there yet
    const Function* function = module->module->method(cls, method);
    found = function != nullptr;
    if (found) *signature = signature_of(method, *function).release();
  });
  if (status != SL_OK || found) return status;
  return misuse(error, "the module has no method of that name");
}
void sl_signature_release(sl_signature* signature) {
  Outside outside;
  delete signature;
}
const char* sl_signature_text(const sl_signature* signature) {
  return signature ? signature->text.c_str() : "";
}
size_t sl_signature_argument_count(const sl_signature* signature) {
  return signature ? signature->arguments.size() : 0;
}
const char* sl_signature_argument_name(const sl_signature* signature, size_t index) {
  if (index >= sl_signature_argument_count(signature)) return nullptr;
  return signature->arguments[index].name.c_str();
}
const char* sl_signature_argument_type(const sl_signature* signature, size_t index) {
  if (index >= sl_signature_argument_count(signature)) return nullptr;
  return signature->arguments[index].type.c_str();
}
sl_value* sl_signature_argument_default(const sl_signature* signature, size_t index) {
  if (index >= sl_signature_argument_count(signature)) return nullptr;
  const sl_signature::Part& part = signature->arguments[index];
  if (!part.has_default) return nullptr;
  return made([&] { return deep_copy(part.default_value); });
}
size_t sl_signature_result_count(const sl_signature* signature) {
  return signature ? signature->results.size() : 0;
}
const char* sl_signature_result_type(const sl_signature* signature, size_t index) {
  if (index >= sl_signature_result_count(signature)) return nullptr;
  return signature->results[index].type.c_str();
}
