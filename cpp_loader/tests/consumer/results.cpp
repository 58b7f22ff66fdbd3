// A client in C++17 without exceptions and RTTI: what can fail gives a Result.
#include <scriptlang/scriptlang.hpp>

#include "check.h"

#if defined(__cpp_exceptions) || defined(__cpp_rtti) || defined(__GXX_RTTI)
#error this is to be compiled with -fno-exceptions -fno-rtti
#endif

using scriptlang::Module;
using scriptlang::Result;
using scriptlang::Tensor;
using scriptlang::Value;

static void calls(const Module& m) {
  float x[] = {1, 2, 3, 4};
  Tensor t = Tensor::view(x, {2, 2});
  Result<Value> y = m.try_call("forward", {t}, {{"scale", 1}});
  CHECK(y.ok() && y->try_tensor().ok() && y->tensor().data<float>()[3] == 8);
  Result<Value> bad = m.try_call("fail", {"value"});
  CHECK(!bad && bad.error().class_name() == "builtins.ValueError");
  CHECK(bad.error().status() == SL_RUN_ERROR && bad.error().message() == "a value");
  CHECK(bad.value_or(Value(5)).integer() == 5 && bad.error().stack()[0] != 0);
  CHECK(!Value(1).try_string() && Value(1).try_string().error().status() == SL_INVALID_ARGUMENT);
  CHECK(!Value::try_string("\xff") && Value::try_string("a")->try_view().value() == "a");
  CHECK(!Value::try_device("?") && !Value::try_dict({{Value::list({}), 1}}));
  CHECK(!Value(1).try_tensor() && !Value(1).try_at(0));
  const Value one(1);
  CHECK(!one.try_ints() && !one.try_doubles());
  CHECK(*Value(2).try_number() == 2.0 && Value().try_text().value() == "None");
}

static void changes(Module m) {
  CHECK(m.try_attribute("name")->string() == "client" && !m.try_attribute("?"));
  CHECK(m.try_set_attribute("calls", 8).ok() && m.attribute("calls").integer() == 8);
  Result<void> bad = m.try_set_attribute("calls", "8");
  CHECK(!bad && bad.error().class_name() == "RuntimeError");
  CHECK(m.try_child("block").ok() && !m.try_child("name") && !m.try_view(Value(1)));
  CHECK(m.try_signature("forward")->arguments.size() == 2 && !m.try_signature("?"));
  CHECK(m.try_to(SL_FLOAT64).ok() && !m.try_to(SL_INT8) && !m.try_save("/no/such/folder/x"));
  CHECK(m.try_extra("labels.txt").ok() && !m.try_extra("?"));
  CHECK(!Module().try_call("forward", {}) && !Module().try_save("x.pt"));
}

int main(int count, char** arguments) {
  if (count < 2) return 2;
  Result<Module> m = scriptlang::try_load(arguments[1]);
  CHECK(m.ok() && !scriptlang::try_load("/no/file") && !scriptlang::try_load("x", 1));
  CHECK(scriptlang::try_load("/no/file").error().status() == SL_ARCHIVE_ERROR);
  calls(*m);
  changes(*m);
  std::printf("C++ client without exceptions: %d failures\n", failures);
  return failures != 0;
}
