// The element types that a build has loops for: all, or those of SCRIPTLANG_DTYPES.
#pragma once
#include "../src/values/dtype.h"

namespace scriptlang::kernels {

#if defined(SL_DTYPES)  // a bit for each ScalarType
constexpr bool is_kept(ScalarType type) {
  return (uint64_t{SL_DTYPES} >> static_cast<int>(type) & 1) != 0;
}
#else
constexpr bool is_kept(ScalarType) { return true; }
#endif

// Numbers of programs become elements of tensors by way of these, so they are always converted.
constexpr bool is_converted(ScalarType type) {
  return is_kept(type) || type == ScalarType::Bool || type == ScalarType::Int64 ||
         type == ScalarType::Float32 || type == ScalarType::Float64;
}

// Raises NotImplementedError, which names the type and the option.
[[noreturn]] void type_left_out(ScalarType type);
inline void check_kept(ScalarType type) {
  if (!is_kept(type)) type_left_out(type);
}

}  // namespace scriptlang::kernels
