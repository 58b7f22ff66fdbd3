// Plain archives made in memory: code as torch.jit.save prints it, and a root object.
#pragma once

#include "archive/module.h"
#include "archives.h"
#include "harness.h"
#include "values/list.h"

namespace test {

using namespace scriptlang;

// An archive whose root is `__torch__.M`, with attributes by name and pickled value.
inline std::string archive_of(const std::string& code,
                              const std::vector<std::pair<std::string, std::string>>& slots = {},
                              const std::string& version = "10",
                              const std::string& constants = pickle(")")) {
  return make_zip({{"m/version", version},
                   {"m/data.pkl", pickle(p_object("__torch__", "M", slots))},
                   {"m/code/__torch__.py", code},
                   {"m/constants.pkl", constants}});
}

inline std::shared_ptr<Module> module_of(
    const std::string& code, const std::vector<std::pair<std::string, std::string>>& slots = {},
    const std::string& version = "10") {
  std::string file = archive_of(code, slots, version);
  return Module::load_memory(file.data(), file.size());
}

inline Value call(Module& module, const char* method, std::vector<Value> arguments) {
  Context context;
  Limits limits;
  return module.call(method, std::move(arguments), context, limits);
}

inline std::string text(const Value& value) { return std::string(value.as_string()); }

// The body of `def f(self, ...)`, of a class M without attributes.
inline std::string method(const std::string& signature, const std::string& body) {
  std::string text = "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  def f(self" +
                     signature + ":\n";
  for (size_t at = 0; at < body.size();) {
    size_t end = std::min(body.find('\n', at), body.size());
    text += "    " + body.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return text;
}

inline Value run(const std::string& signature, const std::string& body,
                 std::vector<Value> arguments) {
  return call(*module_of(method(signature, body)), "f", std::move(arguments));
}

}  // namespace test
