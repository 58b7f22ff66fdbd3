// Runs a model without Python:
//
//   sl_run model.pt inputs.npz outputs.npz [--method NAME] [--times N] [--load LIB.so]...
//
// The arrays of inputs.npz are the arguments in the file's order. One whose name ends in `:int`,
// `:float` or `:bool` is a number. Tensors of the result go to outputs.npz as o0, o1, ..., those of
// tuples, lists and dicts one by one; numbers are arrays without dimensions. It prints how long
// loading and the first call took. Each library of --load brings operators (scriptlang/plugin.h).
#include <scriptlang/scriptlang.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "archive/module.h"
#include "npz.h"
#include "values/dict.h"
#include "values/list.h"
#include "values/wide_path.h"

#if defined(_WIN32)
#include <shellapi.h>
#endif

using namespace scriptlang;

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point from) {
  return std::chrono::duration<double, std::milli>(Clock::now() - from).count();
}

bool ends_with(const std::string& text, const char* end) {
  const size_t size = std::strlen(end);
  return text.size() >= size && text.compare(text.size() - size, size, end) == 0;
}

Value argument(const std::string& name, const Tensor& tensor) {
  const bool is_int = ends_with(name, ":int"), is_float = ends_with(name, ":float");
  if (!is_int && !is_float && !ends_with(name, ":bool")) return tensor;
  ScalarType wanted = is_int     ? ScalarType::Int64
                      : is_float ? ScalarType::Float64
                                 : ScalarType::Bool;
  if (tensor.numel() != 1 || tensor.dtype() != wanted) {
    raise(ErrorKind::ValueError, name, " is not one int64, float64 or bool");
  }
  if (is_int) return Value(*static_cast<const int64_t*>(tensor.raw()));
  if (is_float) return Value(*static_cast<const double*>(tensor.raw()));
  return Value(*static_cast<const bool*>(tensor.raw()));
}

template <class T>
Tensor scalar(T value, ScalarType type) {
  Tensor made = Tensor::empty(std::vector<int64_t>(), type);
  std::memcpy(made.raw(), &value, sizeof value);
  return made;
}

void flatten(const Value& value, std::vector<std::pair<std::string, Tensor>>* out) {
  auto add = [&](Tensor tensor) {
    out->emplace_back("o" + std::to_string(out->size()), std::move(tensor));
  };
  switch (value.tag()) {
    case Tag::Tensor: return add(value.as_tensor());
    case Tag::Int: return add(scalar(value.as_int(), ScalarType::Int64));
    case Tag::Double: return add(scalar(value.as_double(), ScalarType::Float64));
    case Tag::Bool: return add(scalar(value.as_bool(), ScalarType::Bool));
    case Tag::List:
      for (const Value& item : value.as_list()) flatten(item, out);
      return;
    case Tag::Tuple:
      for (const Value& item : value.as_tuple().items) flatten(item, out);
      return;
    case Tag::Dict: {
      const Dict::Entry* entry;
      for (size_t cursor = 0; value.as_dict().next(&cursor, &entry);) flatten(entry->value, out);
      return;
    }
    default: std::printf("left out: a %s\n", tag_name(value.tag()));
  }
}

void load(const char* library) {
  sl_error* error = nullptr;
  if (sl_load_library(library, &error) == SL_OK) return;
  const std::string why = sl_error_message(error);
  sl_error_release(error);
  raise(ErrorKind::RuntimeError, why);
}

int run(const char* model, const char* inputs, const char* outputs, const char* method, int times) {
  Clock::time_point start = Clock::now();
  auto module = Module::load_file(model);
  std::printf("load %.2f ms\n", milliseconds(start));
  std::vector<Value> arguments;
  for (const auto& [name, tensor] : npz::read(inputs)) {
    arguments.push_back(argument(name, tensor));
  }
  Context context;
  Limits limits;
  Value result;
  for (int k = 0; k < times; ++k) {
    start = Clock::now();
    result = module->call(method, arguments, context, limits);
    if (k == 0 || k + 1 == times) std::printf("call %d %.2f ms\n", k + 1, milliseconds(start));
  }
  std::vector<std::pair<std::string, Tensor>> arrays;
  flatten(result, &arrays);
  npz::write(outputs, arrays);
  return 0;
}

// The arguments of the program in UTF-8: Windows gives main() those of an older encoding, which
// lacks most letters.
std::vector<std::string> arguments_of_program([[maybe_unused]] int count,
                                              [[maybe_unused]] char** given) {
#if defined(_WIN32)
  std::vector<std::string> all;
  wchar_t** wide = CommandLineToArgvW(GetCommandLineW(), &count);
  for (int k = 0; k < count; ++k) {
    std::string text(
        size_t(WideCharToMultiByte(CP_UTF8, 0, wide[k], -1, nullptr, 0, nullptr, nullptr)), '\0');
    WideCharToMultiByte(CP_UTF8, 0, wide[k], -1, text.data(), int(text.size()), nullptr, nullptr);
    text.resize(text.size() - 1);  // the 0 at the end
    all.push_back(std::move(text));
  }
  LocalFree(wide);
  return all;
#else
  return {given, given + count};
#endif
}

}  // namespace

int main(int given_count, char** given_texts) {
  const std::vector<std::string> texts = arguments_of_program(given_count, given_texts);
  std::vector<const char*> given;
  for (const std::string& text : texts) given.push_back(text.c_str());
  const int count = int(given.size());
  const char* method = "forward";
  int times = 1, files = 0;
  const char* names[3] = {};
  std::vector<const char*> libraries;
  for (int k = 1; k < count; ++k) {
    const bool has_value = k + 1 < count;
    if (!std::strcmp(given[k], "--method") && has_value) method = given[++k];
    else if (!std::strcmp(given[k], "--times") && has_value) times = std::atoi(given[++k]);
    else if (!std::strcmp(given[k], "--load") && has_value) libraries.push_back(given[++k]);
    else if (files < 3) names[files++] = given[k];
    else files = 4;
  }
  if (files != 3 || times < 1) {
    std::fprintf(stderr,
                 "sl_run model.pt inputs.npz outputs.npz [--method NAME] [--times N] "
                 "[--load LIB.so]...\n");
    return 2;
  }
  try {
    for (const char* library : libraries) load(library);
    return run(names[0], names[1], names[2], method, times);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", error_kind_name(error.kind), error.message.c_str());
    for (const ErrorFrame& frame : error.stack) {
      std::fprintf(stderr, "  in %s\n", frame.function.c_str());
    }
    return 1;
  }
}
