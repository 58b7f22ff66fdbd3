// A client in C++17: the header's classes, threads that share a module, and archives that are cut
// off or changed.
#include <cmath>
#include <scriptlang/scriptlang.hpp>

#include <atomic>
#include <fstream>
#include <iterator>
#include <limits>
#include <thread>

#include "check.h"

using scriptlang::Limits;
using scriptlang::Module;
using scriptlang::Tensor;
using scriptlang::Value;

template <class F>
static void fails(sl_status status, const std::string& class_name, const char* part, F&& f) {
  try {
    f();
    CHECK(!"an error was wanted");
  } catch (const scriptlang::Error& e) {
    CHECK(e.status() == status && e.class_name() == class_name);
    if (std::string(e.what()).find(part) == std::string::npos) {
      ++failures;
      std::printf("the message lacks '%s': %s\n", part, e.what());
    }
  }
}
template <class F>
static void refused(const char* part, F&& f) {
  fails(SL_INVALID_ARGUMENT, "ValueError", part, f);
}
template <class F>
static void wrong_kind(const char* part, F&& f) {
  fails(SL_INVALID_ARGUMENT, "TypeError", part, f);
}

static void values(const Module& m) {
  CHECK(Value().is_none() && Value(nullptr).is_none() && m("echo", {Value()}).is_none());
  CHECK(m("integer", {7u}).integer() == 7 && m("integer", {int8_t(-7)}).integer() == -7);
  CHECK(m("integer", {INT64_MIN}).integer() == INT64_MIN);
  CHECK(m("number", {1.5f}).number() == 1.5 && m("number", {2}).number() == 2);
  CHECK(std::isnan(m("number", {std::nan("")}).number()));
  CHECK(std::signbit(m("number", {-0.0}).number()) && Value(true).boolean());
  CHECK(m("number", {INFINITY}).number() == INFINITY && m("truth", {false}).kind() == SL_BOOL);
  CHECK(m("imaginary", {std::complex<double>(1, 2)}).complex() == std::complex<double>(-2, 1));
  CHECK(Value(3).complex() == 3.0 && Value(2.5).complex() == 2.5);
  std::string zeros("a\0b", 3);
  CHECK(m("string", {zeros}).string() == zeros && m("string", {""}).string().empty());
  CHECK(m("length", {"seven b"}).integer() == 7);
  CHECK(Value::device("cuda:1").text() == "cuda:1" && Value::device("cpu").kind() == SL_DEVICE);
  CHECK(Value::generator(1).kind() == SL_GENERATOR);
  refused("UTF-8", [] { Value("\xff"); });
  refused("device", [] { Value::device("?"); });
  refused("key", [] { Value::dict({{Value::list({}), 1}}); });
  wrong_kind("no bool", [] { Value(1).boolean(); });
  wrong_kind("no int", [] { Value(1.5).integer(); });
  wrong_kind("no number", [] { Value("1").number(); });
  wrong_kind("no number", [] { Value(true).complex(); });
  wrong_kind("no string", [] { Value(1).string(); });
  wrong_kind("no tensor", [] { Value(1).tensor(); });
  Value v = Value::dict({{"a", Value::list({1, 2})}, {2, Value::tuple({Value(), "x"})}});
  CHECK(v.text() == "{a: [1, 2], 2: (None, x)}" && v.size() == 2 && v.key(1).integer() == 2);
  CHECK(v[0][1].integer() == 2 && v[1][0].is_none() && v.fields().empty());
  refused("element", [&] { v[2]; });
  refused("key", [&] { v.key(2); });
  refused("member", [&] { v.member("a"); });
  Value point = m("point", {Value::tuple({1, "p"})});
  CHECK(point.fields() == (std::vector<std::string>{"x", "label"}));
  CHECK(point.member("label").string() == "p!" && point.class_name() == "__torch__.Point");
  CHECK(m("span", {4}).text() == "[0, 1, 2, 3]" && v.class_name().empty());
}

static void tensors(const Module& m) {
  std::vector<float> x = {1, 2, 3, 4};
  Tensor t = Tensor::view(x.data(), {2, 2});
  CHECK(t.shape() == (scriptlang::Shape{2, 2}) && t.strides() == (scriptlang::Shape{2, 1}));
  CHECK(t.numel() == 4 && t.dtype() == SL_FLOAT32 && t.data<float>() == x.data());
  CHECK(m("forward", {t, 10}).tensor().data<float>()[3] == 44);
  CHECK(m.call("forward", {t}, {{"scale", 0}}).tensor().data<float>()[3] == 4);
  Tensor turned = m("transposed", {t}).tensor();
  CHECK(turned.strides() == (scriptlang::Shape{1, 2}));
  CHECK(turned.contiguous().data<float>()[1] == 3);
  CHECK(Tensor::strided(x.data(), 4, {2}, {3}).contiguous().data<float>()[1] == 4);
  refused("shape", [&] { Tensor::strided(x.data(), 4, {2}, {4}); });
  refused("stride", [&] { Tensor::strided(x.data(), 4, {2}, {}); });
  refused("shape", [&] { Tensor::view(x.data(), {-1}); });
  refused("shape", [] { Tensor::take<float>({1, 2}, {3}); });
  refused("shape", [] { Tensor::take<float>({1, 2}, {-1, -2}); });
  refused("shape", [] { Tensor::take<float>({}, {INT64_MAX, INT64_MAX, 4}); });
  refused("shape", [] { Tensor::take<float>({1}, {INT64_MAX, INT64_MAX, 1}); });
  wrong_kind("element type", [&] { t.data<double>(); });
  CHECK(Tensor::take<float>({}, {0, 3}).numel() == 0);
  CHECK(Tensor::take<std::complex<float>>({std::complex<float>(1, 2)}, {}).dtype() == SL_COMPLEX64);
  Tensor taken = Tensor::take<int64_t>({1, 2, 3}, {3});
  Value kept = m("tensors", {Value::list({taken})});
  taken = Tensor::copy(x.data(), {4});
  CHECK(kept[0].tensor().data<int64_t>()[2] == 3 && taken.data<float>()[0] == 1);
}

static void modules(const Module& m) {
  std::vector<std::string> methods = m.methods();
  CHECK(methods.size() > 20 && methods.front() == "anything" && m.missing_operators().empty());
  CHECK(m.attribute("name").string() == "client" && m.attribute("calls").integer() == 3);
  refused("no attribute", [&] { m.attribute("?"); });
  Limits limits;
  limits.instructions = 100;
  fails(SL_LIMIT, "LimitError", "100 instructions", [&] { m("fail", {"long"}, limits); });
  fails(SL_RUN_ERROR, "builtins.ValueError", "a value", [&] { m("fail", {"value"}); });
  fails(SL_RUN_ERROR, "RuntimeError", "missing value", [&] { m("fail", {}); });
  fails(SL_RUN_ERROR, "RuntimeError", "Unknown keyword argument 'q'",
        [&] { m.call("maybe", {}, {{"q", 1}}); });
  fails(SL_ARCHIVE_ERROR, "ArchiveError", "cannot open", [] { scriptlang::load("/no/file"); });
  try {
    m("fail", {"deep"});
  } catch (const scriptlang::Error& e) { CHECK(e.stack().find(".nested") != std::string::npos); }
  int before = scriptlang::threads();
  scriptlang::set_threads(2);
  CHECK(scriptlang::threads() == 2);
  scriptlang::set_threads(before);
}

// Handles that are shared are nobody's: a value outlives its module, its list and its thread.
static void threads(const char* path) {
  std::atomic<int> wrong{0};
  Module shared = scriptlang::load(path);
  Value list = Value::list({1, 2, 3}), text = Value("a text that is counted");
  std::vector<std::thread> all;
  std::vector<Value> results(8);
  for (int k = 0; k < 8; ++k) {
    all.emplace_back([&, k] {
      std::vector<float> x(4, float(k));
      for (int round = 0; round < 200; ++round) {
        Tensor t = Tensor::view(x.data(), {2, 2});
        wrong += shared("forward", {t}).tensor().data<float>()[0] != float(2 * k + 1);
        wrong += shared("ints", {list}).size() != 4;  // one list for all, which stays as it is
        results[size_t(k)] = shared("texts", {Value::list({text, text})});
        try {
          shared("fail", {"value"});
          ++wrong;
        } catch (const scriptlang::Error& e) { wrong += e.class_name() != "builtins.ValueError"; }
      }
    });
  }
  for (std::thread& t : all) t.join();
  CHECK(wrong == 0 && list.size() == 3);
  shared = scriptlang::load(path);
  for (const Value& v : results) CHECK(v[1].string() == text.string());
}

// Every cut of an archive, and changes of single bytes: a module or an error, and calls that end.
static void damaged(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(file), {}};
  CHECK(good.size() > 1000);
  std::vector<float> x(4, 1.0f);
  auto attempt = [&](const std::string& bytes) {
    Limits limits;
    limits.instructions = 1000;
    limits.memory_bytes = 1 << 24;
    try {
      Module m = scriptlang::load(bytes.data(), bytes.size());
      m("defaults", {1}, limits);
      m("forward", {Tensor::view(x.data(), {2, 2})}, limits);
      return true;
    } catch (const scriptlang::Error&) { return false; }
  };
  CHECK(attempt(good));
  for (size_t size = 0; size < good.size(); ++size) CHECK(!attempt(good.substr(0, size)));
  uint32_t random = 1;
  for (int k = 0; k < 3000; ++k) {
    std::string bytes = good;
    random = random * 1664525 + 1013904223;
    bytes[(random >> 8) % bytes.size()] = char(random >> 3);
    attempt(bytes);
  }
}

static void reservations(const Module& m) {
  static_assert(!std::is_copy_constructible_v<scriptlang::Reservation>);
  const std::vector<float> numbers = {1, 2, 3, 4};
  Tensor x = Tensor::copy(numbers.data(), {2, 2});
  scriptlang::Reservation reserved(m, "linear", {x});
  const std::vector<float> wanted = m("linear", {x}).tensor().values<float>();
  for (int k = 0; k < 3; ++k) {
    const sl_value* y = reserved.call({x.handle()}).value();
    std::vector<float> found(wanted.size());
    CHECK(sl_tensor_read(y, SL_FLOAT32, found.data(), found.size() * sizeof(float)) == SL_OK);
    CHECK(found == wanted);
  }
  CHECK(reserved.bytes() >= reserved.planned());
  CHECK(!reserved.call({}).ok());
  alignas(64) static char small[64];
  auto refusal = scriptlang::Reservation::make(m, "linear", {x}, small, sizeof small);
  CHECK(!refusal.ok() && refusal.error().status() == SL_OUT_OF_MEMORY);
}

int main(int count, char** arguments) {
  if (count < 2) return 2;
  try {
    Module m = scriptlang::load(arguments[1]);
    values(m);
    tensors(m);
    modules(m);
    reservations(m);
    threads(arguments[1]);
    damaged(arguments[1]);
  } catch (const scriptlang::Error& e) {
    ++failures;
    std::printf("unexpected: %s\n", e.what());
  }
  std::printf("scriptlang %s, C++ client: %d failures\n", sl_version(), failures);
  return failures != 0;
}
