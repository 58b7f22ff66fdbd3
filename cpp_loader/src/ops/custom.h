// Operators that hosts register while the process runs, beside the table of those that are built
// in. Programs find them by name when they are loaded; none is ever taken back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "optable.h"

namespace scriptlang {

// Gets the arguments of the schema, in order, and gives its results; may throw Error.
using CustomFn = void (*)(void* user, Context& context, Args args, Value* out,
                          const Schema& schema);

// Raises ValueError for a schema that cannot be read, a name that there is already or that is of a
// namespace of PyTorch's, and for more than kMostCustom operators.
void register_custom(const std::string& schema, CustomFn run, void* user);
constexpr int kMostCustom = 256;

// Whether the namespace of an operator is one in which nobody registers any.
bool is_built_in(std::string_view name);

constexpr uint32_t kCustomEntry = 1u << 31;  // in OpEntry::at, of those that are registered
const OpEntry* find_custom(std::string_view qualified_name);
std::vector<const OpEntry*> custom_overloads(std::string_view name);  // in the order of coming
std::vector<const OpEntry*> all_custom();                             // in that order, too
const char* custom_text(const OpEntry& entry);
const Schema& custom_schema(const OpEntry& entry);

}  // namespace scriptlang
