// Operator schemas: "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "type.h"

namespace scriptlang {

struct Argument {
  std::string name;
  TypeRef type;
  bool has_default = false;
  Value default_value;
  bool keyword_only = false;
  bool is_out = false;     // keyword-only and written: "*, Tensor(a!) out"
  int64_t fixed_size = 0;  // 2 for "int[2]", where one number may be passed for all; else 0
};

struct Schema {
  std::string name;      // "aten::add"
  std::string overload;  // "Tensor" or ""
  std::vector<Argument> arguments;
  std::vector<Argument> returns;
  bool variadic_arguments = false;  // "..."
  bool variadic_returns = false;
};

// Parses a schema. Raises ArchiveError with the column of the first error.
Schema parse_schema(std::string_view text, const ClassResolver& classes = {});

}  // namespace scriptlang
