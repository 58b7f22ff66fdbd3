// Functions as the tuple trees of bytecode.pkl, written down shortly.
//
//   Code code;
//   code.name = "__torch__.f"; code.argument("int"); code.op("aten::add", "int", 2);
//   code.constants = {Value(1)};
//   code.emit("STOREN", 1, 1); code.emit("LOAD", 1); code.emit("LOADC", 0); code.emit("OP", 0); ...
//   Value result = run_code(code, {Value(41)});
#pragma once

#include <string>
#include <vector>

#include "machine/vm.h"

namespace test {

using scriptlang::Value;

inline Value tuple(std::vector<Value> items) { return scriptlang::Tuple::make(std::move(items)); }

struct Code {
  std::string name = "__torch__.f";
  std::vector<Value> instructions, operators, constants, types, arguments, returns, functions;
  std::vector<Value> register_types, straights;
  int64_t registers = 8;
  bool schema = true;

  Code() { returns.push_back(row("", "Any", Value())); }

  static Value row(const char* name, const std::string& type, Value default_value) {
    return tuple({tuple({Value("name"), Value(name)}), tuple({Value("type"), Value(type)}),
                  tuple({Value("default_value"), std::move(default_value)})});
  }
  Code& argument(const std::string& type, Value default_value = Value()) {
    arguments.push_back(row("a", type, std::move(default_value)));
    return *this;
  }
  int64_t op(const char* name, const char* overload, int64_t given) {
    operators.push_back(tuple({Value(name), Value(overload), Value(given)}));
    return int64_t(operators.size()) - 1;
  }
  Code& emit(const char* opcode, int64_t x = 0, int64_t n = 0) {
    instructions.push_back(tuple({Value(opcode), Value(x), Value(n)}));
    return *this;
  }
  Value tree() const {
    auto field = [](const char* name, Value v) { return tuple({Value(name), std::move(v)}); };
    std::vector<Value> table = {field("instructions", tuple(instructions)),
                                field("operators", tuple(operators)),
                                field("constants", tuple(constants)), field("types", tuple(types)),
                                field("register_size", Value(registers))};
    if (!register_types.empty()) table.push_back(field("register_types", tuple(register_types)));
    if (!functions.empty()) table.push_back(field("functions", tuple(functions)));
    if (!straights.empty()) table.push_back(field("straights", tuple(straights)));
    std::vector<Value> entry = {Value(name), tuple(table)};
    if (schema) {
      entry.push_back(
          tuple({field("arguments", tuple(arguments)), field("returns", tuple(returns))}));
    }
    return tuple(entry);
  }
};

inline std::shared_ptr<const scriptlang::Program> decode(const std::vector<Code>& codes) {
  std::vector<Value> items = {Value(8)};
  for (const Code& code : codes) items.push_back(code.tree());
  return scriptlang::Program::decode(tuple(items), std::make_shared<scriptlang::ClassTable>());
}

inline Value run_codes(const std::vector<Code>& codes, std::vector<Value> arguments,
                       const scriptlang::Limits& limits = {}) {
  auto program = decode(codes);
  scriptlang::Context context;
  return scriptlang::run(*program, *program->find(codes[0].name), std::move(arguments), context,
                         limits);
}

inline Value run_code(const Code& code, std::vector<Value> arguments,
                      const scriptlang::Limits& limits = {}) {
  return run_codes({code}, std::move(arguments), limits);
}

// Calls one operator with all arguments of its schema.
inline Value call_op(const char* name, std::vector<Value> arguments) {
  const scriptlang::OpEntry* entry = scriptlang::find_op(name);
  if (!entry) scriptlang::raise(scriptlang::ErrorKind::RuntimeError, "no operator ", name);
  scriptlang::Context context;
  context.generator = &scriptlang::default_generator();
  Value out[4];
  entry->run(context, scriptlang::Args(arguments.data(), int(arguments.size())), out);
  return out[0];
}

inline std::string text_of(const Value& v) { return scriptlang::to_text(v); }

}  // namespace test
