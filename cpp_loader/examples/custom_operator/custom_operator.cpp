// Runs an archive that calls torch.ops.filters.median, which nobody but this example has.
//
//   custom_operator smoothed.pt                    the operator is in the program
//   custom_operator smoothed.pt ./libmedian.so     it comes from a library
//
// An archive is loaded after its operators are there.
#include <scriptlang/scriptlang.hpp>

#include <cstdio>

#include "median.h"

static void run(const char* model, const char* library) {
  for (const std::string& name : scriptlang::load(model).missing_operators()) {
    std::printf("missing: %s\n", name.c_str());
  }
  if (library) {
    scriptlang::load_library(library);
  } else if (sl_register_operator(MEDIAN_SCHEMA, median, nullptr, nullptr) != SL_OK) {
    throw scriptlang::Error(SL_INVALID_ARGUMENT, "RuntimeError", "it cannot be registered", "");
  }
  scriptlang::Module smoothed = scriptlang::load(model);
  auto x = scriptlang::Tensor::take<float>({1, 2, 90, 4, 5, -70, 7, 8}, {8});
  for (float v : smoothed.forward({x, 3}).tensor().values<float>()) std::printf("%g ", double(v));
  std::printf("\n");
  scriptlang::Result<scriptlang::Value> even = smoothed.try_call("forward", {x, 4});
  if (!even) std::printf("%s\n", even.error().what());
}

int main(int count, char** arguments) {
  if (count < 2 || count > 3) {
    std::fprintf(stderr, "usage: custom_operator MODEL.pt [LIBRARY]\n");
    return 2;
  }
  try {
    run(arguments[1], count == 3 ? arguments[2] : nullptr);
  } catch (const scriptlang::Error& e) {
    std::fprintf(stderr, "%s: %s\n", e.class_name().c_str(), e.what());
    return 1;
  }
}
