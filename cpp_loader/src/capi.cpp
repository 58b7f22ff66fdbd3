// The C interface over the engine: modules, calls, errors and the process. See capi_values.cpp.
#include "capi.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "../kernels/parallel.h"
#include "values/callbacks.h"

using namespace scriptlang;
using namespace scriptlang::capi;

namespace scriptlang::capi {

namespace {

sl_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::ArchiveError: return SL_ARCHIVE_ERROR;
    case ErrorKind::MissingOperator: return SL_MISSING_OPERATOR;
    case ErrorKind::LimitError: return SL_LIMIT;
    case ErrorKind::MemoryError: return SL_OUT_OF_MEMORY;
    case ErrorKind::Cancelled: return SL_CANCELLED;
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

}  // namespace

sl_status report(sl_error** error, sl_status status, const char* class_name, const char* message,
                 const char* stack) noexcept {
  if (!error) return status;
  *error = nullptr;
  try {
    *error = new sl_error{status, class_name, message, stack};
  } catch (...) {  // the status has to do
  }
  return status;
}

sl_status misuse(sl_error** error, const char* what) noexcept {
  return report(error, SL_INVALID_ARGUMENT, "ValueError", what);
}

sl_status report_current(sl_error** error) noexcept {
  try {
    throw;
  } catch (const Error& e) {
    std::string stack;
    try {
      for (const ErrorFrame& f : e.stack) {
        stack += f.function;
        if (f.pc >= 0) stack += concat(" at instruction ", f.pc);
        stack += '\n';
      }
    } catch (...) {  // as much of it as there is memory for
    }
    const char* name = e.class_name.empty() ? error_kind_name(e.kind) : e.class_name.c_str();
    return report(error, status_of(e.kind), name, e.message.c_str(), stack.c_str());
  } catch (const std::bad_alloc&) {
    return report(error, SL_OUT_OF_MEMORY, "MemoryError", "out of memory");
  } catch (const std::length_error&) {
    return report(error, SL_OUT_OF_MEMORY, "MemoryError", "out of memory");
  } catch (const std::exception& e) {
    return report(error, SL_RUN_ERROR, "RuntimeError", e.what());
  } catch (...) {
    return report(error, SL_RUN_ERROR, "RuntimeError", "an unknown error");
  }
}

// Each tuple is looked at once: they may hold each other many times.
bool is_open(const Value& v) {
  std::vector<const Tuple*> pending;
  std::unordered_set<const Tuple*> seen;
  auto look = [&](const Value& item) {
    if (!item.is_tuple()) {
      return item.is_list() || item.is_dict() || item.is_object() || item.is_future();
    }
    const Tuple* tuple = &item.as_tuple();
    if (tuple->is_alone() || seen.insert(tuple).second) pending.push_back(tuple);
    return false;
  };
  if (look(v)) return true;
  while (!pending.empty()) {
    const Tuple* tuple = pending.back();
    pending.pop_back();
    for (const Value& item : tuple->items) {
      if (look(item)) return true;
    }
  }
  return false;
}

void join_domain(DomainRef* to, const sl_value* of) {
  if (!of || !of->domain) return;
  if (*to) join(to->get(), of->domain.get());
  else *to = of->domain;
}

std::vector<Value> values_of(sl_value* const* items, size_t count) {
  check_count(items, count);
  std::vector<Value> values;
  values.reserve(count);
  for (size_t k = 0; k < count; ++k) values.push_back(items[k] ? items[k]->value : Value());
  return values;
}

}  // namespace scriptlang::capi

namespace {

// Null where the limits are good, else what is wrong with them.
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

// Whether nobody else has what is in the result of a call.
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

sl_module* module_handle(std::shared_ptr<Module> module) {
  auto handle = std::make_unique<sl_module>();
  handle->methods = module->method_names();
  handle->module = std::move(module);
  return handle.release();
}

}  // namespace

const char* sl_version(void) { return SCRIPTLANG_VERSION; }

// ---- modules

sl_status sl_load_file(const char* path, sl_module** module, sl_error** error) {
  if (module) *module = nullptr;
  if (!path || !module) return misuse(error, "sl_load_file needs a path and a place");
  return guarded(error, [&] { *module = module_handle(Module::load_file(path)); });
}

sl_status sl_load_memory(const void* data, size_t size, sl_module** module, sl_error** error) {
  if (module) *module = nullptr;
  if ((!data && size) || !module) return misuse(error, "sl_load_memory needs data and a place");
  return guarded(error, [&] { *module = module_handle(Module::load_memory(data, size)); });
}

void sl_module_release(sl_module* module) {
  Outside outside;
  delete module;
}

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
  if (value) *value = nullptr;
  if (!module || !name || !value) return misuse(error, "sl_module_attribute needs three pointers");
  const Object& root = module->module->root().as_object();
  int64_t slot = root.type->slot(name);
  bool found = slot >= 0;
  sl_status status = guarded(error, [&] {
    auto handle = std::make_unique<sl_value>();
    Domain* domain = module->module->domain();
    Turn turn;
    turn.look(domain, false);
    found = found && slot < int64_t(root.slots.size());
    if (!found) return;
    handle->value = root.slots[size_t(slot)];
    domain->retain();
    handle->domain = DomainRef(domain);
    *value = handle.release();
  });
  if (status != SL_OK || found) return status;
  return misuse(error, "the module has no attribute of that name");
}

sl_status sl_call(sl_module* module, const char* method, sl_value* const* arguments, size_t count,
                  const sl_limits* limits, sl_value** result, sl_error** error) {
  return sl_call_named(module, method, arguments, count, nullptr, nullptr, 0, limits, result,
                       error);
}

sl_status sl_call_named(sl_module* module, const char* method, sl_value* const* arguments,
                        size_t count, const char* const* names, sl_value* const* named,
                        size_t named_count, const sl_limits* limits, sl_value** result,
                        sl_error** error) {
  if (result) *result = nullptr;
  if (!module || !method || (!arguments && count) || !result) {
    return misuse(error, "sl_call needs a module, a method, arguments and a place for the result");
  }
  if (named_count && (!names || !named)) {
    return misuse(error, "sl_call_named needs names, and a value for each");
  }
  for (size_t k = 0; k < named_count; ++k) {
    if (!names[k]) return misuse(error, "the name of an argument is null");
  }
  if (memory::in_callback()) {
    return misuse(error, "allocators and release functions must not call modules");
  }
  Limits known;
  if (const char* wrong = read_limits(limits, &known)) return misuse(error, wrong);
  return guarded(error, [&] {
    auto handle = std::make_unique<sl_value>();
    std::vector<Value> given = values_of(named, named_count);
    std::vector<NamedArgument> pairs;
    for (size_t k = 0; k < named_count; ++k) pairs.push_back({names[k], given[k]});
    Context context;
    context.threads = kernels::thread_count();
    std::shared_ptr<Module> called = module->module;
    called->domain()->retain();
    DomainRef domain(called->domain());
    check_count(arguments, count);
    check_count(named, named_count);
    for (size_t k = 0; k < count; ++k) join_domain(&domain, arguments[k]);
    for (size_t k = 0; k < named_count; ++k) join_domain(&domain, named[k]);
    Turn turn;
    handle->value = called->call(method, values_of(arguments, count), std::move(pairs), context,
                                 known, &turn);
    int left = 1000;
    if (!is_alone(handle->value, &left)) handle->domain = domain;
    *result = handle.release();
  });
}

// ---- ending calls from elsewhere

sl_canceller* sl_canceller_make(void) { return new (std::nothrow) sl_canceller; }
void sl_canceller_release(sl_canceller* canceller) { delete canceller; }
void sl_cancel(sl_canceller* canceller) {
  if (canceller) canceller->cancelled.store(true, std::memory_order_relaxed);
}
void sl_canceller_reset(sl_canceller* canceller) {
  if (canceller) canceller->cancelled.store(false, std::memory_order_relaxed);
}

// ---- errors

void sl_error_release(sl_error* error) { delete error; }
sl_status sl_error_status(const sl_error* error) { return error ? error->status : SL_OK; }
const char* sl_error_class(const sl_error* error) { return error ? error->class_name.c_str() : ""; }
const char* sl_error_message(const sl_error* error) { return error ? error->message.c_str() : ""; }
const char* sl_error_stack(const sl_error* error) { return error ? error->stack.c_str() : ""; }

// ---- the process

sl_status sl_set_allocator(const sl_allocator* allocator) {
  if (!allocator) {
    memory::set_hook(nullptr);
    return SL_OK;
  }
  if (!allocator->allocate || !allocator->release) return SL_INVALID_ARGUMENT;
  memory::Hook hook{allocator->allocate, allocator->release, allocator->user};
  memory::set_hook(&hook);
  return SL_OK;
}
void sl_set_threads(int threads) { kernels::set_thread_count(threads); }
int sl_get_threads(void) { return kernels::thread_count(); }
