// Custom operators in C++: functions that programs call as torch.ops.my.op, and the libraries that
// bring them.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "value.hpp"

namespace scriptlang {
inline namespace api {

// Gets all arguments of the schema; gives the result, a tuple where there are several. An Error
// that it gives or throws is an exception of the program.
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

// Registers an operator, "my::op(Tensor x, int k=1) -> Tensor", for modules that are loaded from
// now on, as long as the process lives. Any thread that runs a program calls it.
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

#ifndef SCRIPTLANG_PLUGIN_H  // a plug-in loads no others
// Opens a library of operators (plugin.h), which runs its code: give it only what you trust.
inline Result<void> try_load_library(const char* path) {
  return detail::done([&](sl_error** error) { return sl_load_library(path, error); });
}
inline void load_library(const char* path) { try_load_library(path).value(); }
#endif

}  // namespace api
}  // namespace scriptlang
