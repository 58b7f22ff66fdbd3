// Custom operators in C++: functions that programs call as torch.ops.my.op, and libraries of them.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "value.hpp"

namespace scriptlang {
inline namespace api {

// A function that gets all arguments of the schema and returns the result, or a tuple of several
// results. If it returns or throws an Error, the program raises that as an exception.
using OperatorFunction = std::function<Result<Value>(const std::vector<Value>& arguments)>;

namespace detail {

inline sl_status give_results(Result<Value> result, sl_value** results, size_t count,
                              sl_error** error) {
  if (!result) {
    *error = sl_error_make(result.error().class_name().c_str(), result.error().what());
    return result.error().status() == SL_OUT_OF_MEMORY ? SL_OUT_OF_MEMORY : SL_RUN_ERROR;
  }
  if (count > 1 && result->size() != count) {
    *error = sl_error_make("TypeError", "the operator gave another number of results");
    return SL_RUN_ERROR;
  }
  for (size_t k = 0; k < count; ++k) {
    bool is_none = count == 1 && !result->handle();
    results[k] = count == 1 ? sl_value_share(result->handle()) : sl_value_item(result->handle(), k);
    if (!results[k] && !is_none) return SL_OUT_OF_MEMORY;
  }
  return SL_OK;
}

inline sl_status call_operator(void* user, sl_value* const* arguments, size_t count,
                               sl_value** results, size_t result_count, sl_error** error) {
  const OperatorFunction& function = *static_cast<const OperatorFunction*>(user);
#if SCRIPTLANG_EXCEPTIONS
  try {
#endif
    std::vector<Value> given;
    for (size_t k = 0; k < count; ++k) {
      given.emplace_back(sl_value_share(arguments[k]));
      if (!given.back().handle()) return SL_OUT_OF_MEMORY;
    }
    return give_results(function(given), results, result_count, error);
#if SCRIPTLANG_EXCEPTIONS
  } catch (const Error& e) {
    return give_results(e, results, result_count, error);
  } catch (const std::bad_alloc&) { return SL_OUT_OF_MEMORY; } catch (const std::exception& e) {
    *error = sl_error_make(nullptr, e.what());
    return SL_RUN_ERROR;
  } catch (...) { return SL_RUN_ERROR; }
#endif
}

}  // namespace detail

// Registers an operator, "my::op(Tensor x, int k=1) -> Tensor", until the process ends, for modules
// that are loaded afterwards. Any thread that runs a program calls the function, several at the
// same time.
inline Result<void> try_register_operator(const char* schema, OperatorFunction function) {
  auto kept = std::make_unique<OperatorFunction>(std::move(function));
  Result<void> done = detail::done([&](sl_error** error) {
    return sl_register_operator(schema, detail::call_operator, kept.get(), error);
  });
  if (done) (void)kept.release();
  return done;
}
inline void register_operator(const char* schema, OperatorFunction function) {
  try_register_operator(schema, std::move(function)).value();
}

#ifndef SCRIPTLANG_PLUGIN_H  // plug-ins cannot load others
// Opens a library of operators (plugin.h). This runs its code, so only open libraries that you
// trust.
inline Result<void> try_load_library(const char* path) {
  return detail::done([&](sl_error** error) { return sl_load_library(path, error); });
}
inline void load_library(const char* path) { try_load_library(path).value(); }
#endif

}  // namespace api
}  // namespace scriptlang
