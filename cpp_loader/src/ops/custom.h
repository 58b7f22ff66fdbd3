// Operators that the host application registers at run time, besides the built-in table. Programs
// find them by name when they are loaded; they are never unregistered.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "optable.h"

namespace scriptlang {

// Receives the arguments of the schema in order and writes its results to `out`; may throw Error.
using CustomFn = void (*)(void* user, Context& context, Args args, Value* out,
                          const Schema& schema);

// Registers an operator. Raises ValueError for a schema that cannot be parsed, a name that exists
// or is in one of PyTorch's namespaces, and when there are kMostCustom operators already.
void register_custom(const std::string& schema, CustomFn run, void* user);
constexpr int kMostCustom = 256;

// Whether an operator's namespace is reserved, so that no operator can be registered in it.
bool is_built_in(std::string_view name);

constexpr uint32_t kCustomEntry = 1u << 31;  // in OpEntry::at: marks registered operators
const OpEntry* find_custom(std::string_view qualified_name);
std::vector<const OpEntry*> custom_overloads(std::string_view name);  // as registered
std::vector<const OpEntry*> all_custom();                             // in the same order
const char* custom_text(const OpEntry& entry);
const Schema& custom_schema(const OpEntry& entry);

}  // namespace scriptlang
