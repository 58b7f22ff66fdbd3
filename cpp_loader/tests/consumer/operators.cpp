// A client in C++17 with operators of its own, which a program calls as torch.ops.my.op.
#include <scriptlang/scriptlang.hpp>

#include <atomic>
#include <thread>

#include "check.h"

using scriptlang::Error;
using scriptlang::Module;
using scriptlang::Result;
using scriptlang::Tensor;
using scriptlang::Value;

static std::atomic<int> calls{0};
static Module other;

// What an operator gives that is not what its schema says; it is told by the argument.
static sl_status split(void* user, sl_value* const* arguments, size_t count, sl_value** results,
                       size_t result_count, sl_error** error) {
  int64_t k = 0;
  CHECK(user == &calls && count == 2 && result_count == 2 && !results[0] && !results[1]);
  CHECK(sl_value_get_int(arguments[1], &k) == SL_OK);
  results[0] = sl_value_share(arguments[0]);
  if (k == 0) {  // to call a module is refused
    sl_value* inner = nullptr;
    CHECK(sl_call(other.handle(), "forward", arguments, 1, nullptr, &inner, error) ==
          SL_INVALID_ARGUMENT);
    return SL_INVALID_ARGUMENT;
  }
  if (k == 1) return SL_OK;                  // the second is None
  if (k == 2) results[1] = sl_value_int(1);  // an int
  if (k == 3) return SL_OUT_OF_MEMORY;
  if (k == 4) return SL_RUN_ERROR;  // no more is said
  if (k > 4) results[1] = sl_tensor_to(arguments[0], SL_FLOAT64);
  return SL_OK;
}

template <class F>
static void fails(sl_status status, const std::string& class_name, const char* part, F&& f) {
  try {
    f();
    CHECK(!"an error was wanted");
  } catch (const Error& e) {
    CHECK(e.status() == status && e.class_name() == class_name);
    if (e.message().find(part) == std::string::npos) {
      ++failures;
      std::printf("the message lacks '%s': %s\n", part, e.what());
    }
  }
}

static void refused(const char* schema, const char* part) {
  Result<void> done =
      scriptlang::try_register_operator(schema, [](const std::vector<Value>&) { return Value(); });
  CHECK(!done && done.error().status() == SL_INVALID_ARGUMENT);
  if (!done && done.error().message().find(part) == std::string::npos) {
    ++failures;
    std::printf("%s: the message lacks '%s': %s\n", schema, part, done.error().what());
  }
}

static void registering() {
  scriptlang::register_operator("my::scale(Tensor x, int k=1) -> Tensor",
                                [](const std::vector<Value>& given) {
                                  ++calls;
                                  CHECK(given.size() == 2);
                                  Tensor x = given[0].tensor();
                                  std::vector<float> y = x.values<float>();
                                  for (float& v : y) v *= float(given[1].integer());
                                  return Tensor::take(std::move(y), x.shape());
                                });
  scriptlang::register_operator("my::fails(Tensor x) -> Tensor",
                                [](const std::vector<Value>&) -> Result<Value> {
                                  return Error(SL_RUN_ERROR, "ValueError", "not this one", "");
                                });
  CHECK(sl_register_operator("my::split(Tensor x, int k) -> (Tensor, Tensor)", split, &calls,
                             nullptr) == SL_OK);
  refused("my::scale(Tensor x) -> Tensor", "already");
  refused("aten::add.mine(Tensor x) -> Tensor", "aten");
  refused("aten::relu(Tensor x) -> Tensor", "aten");
  refused("noname(Tensor x) -> Tensor", "name");
  refused("my::bad(Tensor x", "");
  refused("my::bad(...) -> Tensor", "arguments");
  refused("my::bad(Foo x) -> Tensor", "there is no type Foo");
  refused("my::bad(Tensor x) -> Foo?[]", "there is no type Foo");
  refused("", "");
  CHECK(sl_register_operator(nullptr, split, nullptr, nullptr) == SL_INVALID_ARGUMENT);
  CHECK(sl_register_operator("my::x() -> ()", nullptr, nullptr, nullptr) == SL_INVALID_ARGUMENT);
}

static void running(const Module& m) {
  Tensor x = Tensor::take<float>({1, 2}, {2});
  CHECK(m.missing_operators().empty());
  CHECK((m("forward", {x}).tensor().values<float>() == std::vector<float>{3, 6}) && calls == 1);
  fails(SL_RUN_ERROR, "ValueError", "not this one", [&] { m("fails", {x}); });
  Value both = m("both", {x, 5});
  CHECK(both[0].tensor().data<float>() == x.data<float>());
  CHECK(both[1].tensor().dtype() == SL_FLOAT64);
  fails(SL_RUN_ERROR, "ValueError", "must not call modules", [&] { m("both", {x, 0}); });
  fails(SL_RUN_ERROR, "RuntimeError", "gave a None", [&] { m("both", {x, 1}); });
  fails(SL_RUN_ERROR, "RuntimeError", "gave a int", [&] { m("both", {x, 2}); });
  fails(SL_OUT_OF_MEMORY, "MemoryError", "no memory", [&] { m("both", {x, 3}); });
  fails(SL_RUN_ERROR, "RuntimeError", "my::split failed", [&] { m("both", {x, 4}); });
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) CHECK(m("forward", {x}).tensor().numel() == 2);
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(calls == 401);
}

static void errors() {
  sl_error* error = sl_error_make("KeyError", "k");
  CHECK(sl_error_class(error) == std::string("KeyError"));
  CHECK(sl_error_message(error) == std::string("k") && sl_error_status(error) == SL_RUN_ERROR);
  sl_error_release(error);
  error = sl_error_make(nullptr, nullptr);
  CHECK(sl_error_class(error) == std::string("RuntimeError") && !sl_error_message(error)[0]);
  sl_error_release(error);
  CHECK(sl_value_share(nullptr) == nullptr);
}

int main(int count, char** arguments) {
  if (count < 2) return 2;
  try {
    const std::string path = arguments[1];
    other = scriptlang::load(path);  // before there are operators
    CHECK(other.missing_operators().size() == 3);
    fails(SL_MISSING_OPERATOR, "MissingOperator", "my::scale",
          [] { other("forward", {Tensor::take<float>({1}, {1})}); });
    registering();
    running(scriptlang::load(path));
    CHECK(other.missing_operators().size() == 3);  // those that were loaded stay as they are
    errors();
  } catch (const Error& e) {
    ++failures;
    std::printf("unexpected: %s\n", e.what());
  }
  other = Module();
  std::printf("C++ client with operators: %d failures\n", failures);
  return failures != 0;
}
