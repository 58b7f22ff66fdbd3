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

// Returns the values of all arguments of a function, in order, as the Python engine makes them
// (interpreter/arguments.py). An argument that is left out takes its default. Values are converted
// if the schema asks for another type: an int to a float, a tuple to a list, a tensor without
// dimensions to a number, a string to a device. Lists and dicts are copied, so that changes by the
// program are not seen outside and do not change a default; one that occurs twice is copied once.
// Raises RuntimeError, which names the function, the argument, the type that it wants and the type
// that it got. Numbers of arguments in errors do not include self.
std::vector<Value> bind(const Program& program, const Function& function,
                        std::vector<Value> positional, std::vector<NamedArgument> named);

// A value converted to a type, as an argument is. Raises RuntimeError, which names `what`.
Value converted(const Program& program, const Value& value, const TypeRef& type,
                const std::string& what);

// "__torch__.M.forward(__torch__.M self, Tensor x, int n=3) -> Tensor"
std::string schema_text(const Function& function);
// A schema with the given name, and only the arguments from number `from` on.
std::string schema_text(const std::string& name, const Function& function, size_t from);

// The type of a value as error messages name it: "List[int]".
std::string type_text(const Value& value);

}  // namespace scriptlang
