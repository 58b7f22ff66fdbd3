// A client that opens libraries of operators: client_plugins custom.pt FOLDER.
#include <scriptlang/scriptlang.hpp>

#include <thread>
#include <vector>

#include "check.h"

using scriptlang::Error;
using scriptlang::Module;
using scriptlang::Result;
using scriptlang::Tensor;

static void refused(const std::string& path, sl_status status, const char* part) {
  Result<void> done = scriptlang::try_load_library(path.c_str());
  CHECK(!done && done.error().status() == status);
  if (!done && done.error().message().find(part) == std::string::npos) {
    ++failures;
    std::printf("%s: the message lacks '%s': %s\n", path.c_str(), part, done.error().what());
  }
}

static void refusals(const std::string& folder, const char* archive) {
  refused("nothing_there.so", SL_INVALID_ARGUMENT, "no file nothing_there.so");
  refused(archive, SL_INVALID_ARGUMENT, "no library that can be loaded");
  refused(folder + "/plugin_1.so", SL_INVALID_ARGUMENT, "an older scriptlang");
  refused(folder + "/plugin_2.so", SL_INVALID_ARGUMENT, "a newer scriptlang");
  refused(folder + "/plugin_3.so", SL_INVALID_ARGUMENT, "whose table has");
  refused(folder + "/plugin_4.so", SL_INVALID_ARGUMENT, "exports no sl_plugin");
  refused(folder + "/plugin_5.so", SL_INVALID_ARGUMENT, "no function that starts it");
  for (int k = 0; k < 2; ++k) {
    refused(folder + "/plugin_6.so", SL_RUN_ERROR, "does not start: no licence");
    refused(folder + "/plugin_7.so", SL_INVALID_ARGUMENT, "built in");
  }
  CHECK(sl_load_library(nullptr, nullptr) == SL_INVALID_ARGUMENT);
  CHECK(sl_load_library((folder + "/plugin_6.so").c_str(), nullptr) == SL_RUN_ERROR);
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  try {
    const std::string folder = arguments[2];
    refusals(folder, arguments[1]);
    CHECK(scriptlang::load(arguments[1]).missing_operators().size() == 3);
    std::vector<std::thread> threads;  // together, and twice
    for (int k = 0; k < 4; ++k) {
      threads.emplace_back([&] { scriptlang::load_library((folder + "/plugin_c.so").c_str()); });
    }
    for (std::thread& t : threads) t.join();
    scriptlang::load_library((folder + "/plugin_cpp.so").c_str());
    Module m = scriptlang::load(arguments[1]);
    CHECK(m.missing_operators().empty());
    Tensor x = Tensor::take<float>({1, 2}, {2});
    CHECK((m("forward", {x}).tensor().values<float>() == std::vector<float>{3, 6}));
    CHECK(m("both", {x, 1})[1].tensor().dtype() == SL_FLOAT64);
    Result<scriptlang::Value> failed = m.try_call("fails", {x});
    CHECK(!failed && failed.error().class_name() == "ValueError");
    CHECK(m("fails", {Tensor::take<float>({5}, {1})}).tensor().values<float>()[0] == 5);
  } catch (const Error& e) {
    ++failures;
    std::printf("unexpected: %s\n", e.what());
  }
  std::printf("C++ client with plug-ins: %d failures\n", failures);
  return failures != 0;
}
