// Converts the arguments that a host passes to the types of the function's schema.
#pragma once

#include <string_view>
#include <vector>

#include "program/program.h"

namespace scriptlang {

struct NamedArgument {
  std::string_view name;
  Value value;
};

// The values of all arguments of a function, in order, as Python's engine makes them
// (interpreter/arguments.py): what is left out takes its default, ints become floats where a float
// is wanted, tuples lists, numbers in tensors numbers, names devices. Lists and dicts are copied,
// so that nothing the program does to them is seen outside, nor kept in a default; one that is
// met twice is copied once. Raises RuntimeError, which names the function, the argument, the type
// it wants and the one it got. Counts do not include self.
std::vector<Value> bind(const Program& program, const Function& function,
                        std::vector<Value> positional, std::vector<NamedArgument> named);

// A value as one of a type, converted as an argument is. Raises RuntimeError, which names `what`.
Value converted(const Program& program, const Value& value, const TypeRef& type,
                const std::string& what);

// "__torch__.M.forward(__torch__.M self, Tensor x, int n=3) -> Tensor"
std::string schema_text(const Function& function);
// A schema with the given name, and only the arguments from number `from` on.
std::string schema_text(const std::string& name, const Function& function, size_t from);

// The type of a value as error messages name it: "List[int]".
std::string type_text(const Value& value);

}  // namespace scriptlang
