// run(): completes, checks and converts the arguments of a call, then executes the function.
#include "values/plain_text.h"
#include "vm.h"

namespace scriptlang {

namespace {

// Converts ints to floats, also inside of containers, and tells containers without an element type
// which one they have.
void coerce(Value* value, const Type& type, int depth);

void coerce_items(List& list, const Type& type, int depth) {
  for (size_t k = 0; k < list.size(); ++k) {
    Value item = list.get(k);
    coerce(&item, type, depth);
    list.set(k, std::move(item));
  }
}

void coerce(Value* value, const Type& type, int depth) {
  if (depth > kMaxNesting) raise(ErrorKind::RuntimeError, "an argument is nested too deeply");
  switch (type.kind) {
    case TypeKind::Float:
      if (value->is_int()) *value = Value(double(value->as_int()));
      break;
    case TypeKind::Optional:
      if (!value->is_none()) coerce(value, *type.elements[0], depth + 1);
      break;
    case TypeKind::List:
      if (!value->is_list() || value->as_list().element) break;
      coerce_items(value->as_list(), *type.elements[0], depth + 1);
      value->as_list().element = type.elements[0];
      break;
    case TypeKind::Dict: {
      if (!value->is_dict() || value->as_dict().key_type) break;
      Dict& dict = value->as_dict();
      const Dict::Entry* entry;
      for (size_t cursor = 0; dict.next(&cursor, &entry);) {
        coerce(const_cast<Value*>(&entry->value), *type.elements[1], depth + 1);
      }
      dict.key_type = type.elements[0];
      dict.value_type = type.elements[1];
      break;
    }
    case TypeKind::Tuple:
    case TypeKind::NamedTuple: {
      if (!value->is_tuple()) break;
      Tuple::Items& items = value->as_tuple().items;
      for (size_t k = 0; k < items.size() && k < type.elements.size(); ++k) {
        coerce(&items[k], *type.elements[k], depth + 1);
      }
      break;
    }
    default: break;
  }
}

void prepare_arguments(const Function& function, std::vector<Value>* arguments) {
  auto name = [&] { return unqualified(function.name); };
  if (!function.has_schema) {
    if (int64_t(arguments->size()) != function.parameters) {
      raise(ErrorKind::RuntimeError, name(), "() takes ", function.parameters, " arguments but ",
            arguments->size(), " were given");
    }
    return;
  }
  if (arguments->size() > function.arguments.size()) {
    raise(ErrorKind::RuntimeError, name(), "() expected at most ", function.arguments.size(),
          " argument(s) but received ", arguments->size(), " argument(s)");
  }
  for (size_t k = 0; k < function.arguments.size(); ++k) {
    const Argument& a = function.arguments[k];
    if (k >= arguments->size()) {
      if (!a.has_default) {
        raise(ErrorKind::RuntimeError, name(), "() is missing value for argument '", a.name, "'");
      }
      arguments->push_back(a.default_value);
    }
    Value& value = (*arguments)[k];
    coerce(&value, *a.type, 0);
    if (!(tags_of(*a.type) & tag_bit(value.tag()))) {
      raise(ErrorKind::RuntimeError, name(), "() Expected a value of type '", to_string(*a.type),
            "' for argument '", a.name, "' but instead found type '", tag_name(value.tag()), "'");
    }
  }
}

}  // namespace

Value run(const Program& program, const Function& function, std::vector<Value> arguments,
          Context& context, const Limits& limits) {
  prepare_arguments(function, &arguments);
  memory::LimitScope scope(limits.memory_bytes);
  return execute(program, function, arguments, context, limits);
}

}  // namespace scriptlang
