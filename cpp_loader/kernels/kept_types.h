// The element types for which a build has loops: all, or those of SCRIPTLANG_DTYPES.
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

// Whether conversions from and to a type are built. Those of four types always are, because a
// program's numbers become elements of tensors through them.
constexpr bool is_converted(ScalarType type) {
  return is_kept(type) || type == ScalarType::Bool || type == ScalarType::Int64 ||
         type == ScalarType::Float32 || type == ScalarType::Float64;
}

// Raises NotImplementedError with the name of the type and of the build option.
[[noreturn]] void type_left_out(ScalarType type);
inline void check_kept(ScalarType type) {
  if (!is_kept(type)) type_left_out(type);
}

}  // namespace scriptlang::kernels
