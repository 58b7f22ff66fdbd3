// A client in C++17, for who comes from libtorch: modules are looked into, changed and saved;
// tensors lie in memory of every type; values are walked through.
#include <scriptlang/scriptlang.hpp>

#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>

#include "check.h"

using scriptlang::Module;
using scriptlang::Tensor;
using scriptlang::Value;

template <class F>
static void fails(sl_status status, const char* part, F&& f) {
  try {
    f();
    CHECK(!"an error was wanted");
  } catch (const scriptlang::Error& e) {
    CHECK(e.status() == status);
    if (e.message().find(part) == std::string::npos) {
      ++failures;
      std::printf("the message lacks '%s': %s\n", part, e.what());
    }
  }
}

// No number and no pointer becomes a bool, and no integer is ambiguous.
static void integers(const Module& m) {
  size_t size = 7;
  long word = -7;
  long long wide = 7;
  unsigned long long most = 7;
  short small = 7;
  char letter = 'a';
  uint8_t byte = 200;
  CHECK(Value(size).integer() == 7 && Value(word).integer() == -7 && Value(wide).integer() == 7);
  CHECK(Value(most).integer() == 7 && Value(small).integer() == 7 && Value(byte).integer() == 200);
  fails(SL_INVALID_ARGUMENT, "too large", [] { Value(uint64_t(1) << 63); });
  CHECK(Value(INT64_MAX).integer() == INT64_MAX && Value(INT64_MIN).integer() == INT64_MIN);
  CHECK(Value(letter).integer() == 'a' && Value(1.5f).number() == 1.5);
  CHECK(Value(true).kind() == SL_BOOL && m("integer", {size}).integer() == 7);
  CHECK(!(std::is_constructible<Value, float*>::value));
  CHECK(!(std::is_constructible<Value, void*>::value));
  CHECK(!(std::is_constructible<Value, const int*>::value));
  CHECK(Value(std::complex<float>(1, 2)).complex() == std::complex<double>(1, 2));
  CHECK(Value(std::optional<int>()).is_none() && Value(std::optional<int>(3)).integer() == 3);
  CHECK(Value(std::vector<int64_t>({1, 2})).text() == "[1, 2]");
  const Value text(std::string_view("a\0b", 3));
  CHECK(text.view() == std::string_view("a\0b", 3));
}

static void nothing() {
  Module none;
  Tensor undefined;
  Value value;
  CHECK(!none && !undefined.defined() && undefined.is_none() && value.handle() == nullptr);
  CHECK(value.is_none() && value.text() == "None" && value.size() == 0);
  CHECK(none.methods().empty() && none.class_name().empty() && !none.has_method("forward"));
  fails(SL_INVALID_ARGUMENT, "needs a module", [&] { none("forward", {}); });
  fails(SL_INVALID_ARGUMENT, "pointers", [&] { none.attribute("x"); });
  fails(SL_INVALID_ARGUMENT, "no tensor", [&] { undefined.shape(); });
  fails(SL_INVALID_ARGUMENT, "no method", [&] { none.get_method("x"); });
  none = Module();
  undefined = Tensor::take<float>({1, 2}, {2});
  CHECK(undefined.defined() && undefined.numel() == 2);
}

static void streams(const char* path) {
  std::ifstream closed("/no/such/file", std::ios::binary);
  fails(SL_ARCHIVE_ERROR, "the stream cannot be read", [&] { scriptlang::load(closed); });
  std::ifstream file(path, std::ios::binary);
  file.exceptions(std::ios::failbit | std::ios::badbit | std::ios::eofbit);
  CHECK(scriptlang::load(file).has_method("forward"));
}

template <class T, class = void>
constexpr bool is_viewed = false;
template <class T>
constexpr bool is_viewed<T, decltype(void(Tensor::view(std::declval<T*>(), {1})))> = true;
static_assert(is_viewed<float> && !is_viewed<const float>, "programs write to a view");

static void types(const Module& m) {
  scriptlang::Half halves[4] = {{0x3c00}, {0x4000}, {0x4200}, {0x4400}};  // 1 to 4
  scriptlang::BFloat16 brains[2] = {{0x3f80}, {0x4000}};                  // 1, 2
  std::complex<float> numbers[3] = {{1, 2}, {3, 4}, {5, 6}};
  long words[2] = {1, -1};
  long long wides[2] = {1, -1};
  Tensor t = Tensor::strided(halves, 4, {2, 2}, {1, 2});
  CHECK(t.dtype() == SL_FLOAT16 && t.data<scriptlang::Half>() == halves && t.dim() == 2);
  CHECK((t.values<float>() == std::vector<float>{1, 3, 2, 4}) && t.size(1) == 2);
  CHECK(Tensor::view(brains, {2}).values<double>()[1] == 2);
  CHECK(Tensor::view(numbers, {3}).data<std::complex<float>>()[2].imag() == 6);
  CHECK(Tensor::strided(numbers, 3, {2}, {2}).values<std::complex<float>>()[1].real() == 5);
  CHECK(Tensor::view(words, {2}).dtype() == (sizeof(long) == 8 ? SL_INT64 : SL_INT32));
  CHECK(Tensor::view(wides, {2}).dtype() == SL_INT64);
  CHECK(Tensor::view(static_cast<void*>(brains), SL_BFLOAT16, {2}).dtype() == SL_BFLOAT16);
  CHECK(t.to(SL_FLOAT64).data<double>()[0] == 1);
  fails(SL_INVALID_ARGUMENT, "dimension", [&] { t.size(2); });
  fails(SL_INVALID_ARGUMENT, "fit", [&] { t.item<float>(); });
  CHECK(Tensor::view(wides + 1, {}).item<int>() == -1);
  // Results go into the caller's memory.
  float x[] = {1, 2, 3, 4}, out[4] = {0};
  Tensor y = m("forward", {Tensor::view(x, {2, 2}), 10}).tensor();
  y.read_to(out, 4);
  CHECK(out[0] == 11 && out[3] == 44);
  Tensor target = Tensor::strided(out, 4, {2, 2}, {1, 2});
  target.assign(y);
  CHECK(out[1] == 33 && out[2] == 22);
  fails(SL_INVALID_ARGUMENT, "fit", [&] { y.read_to(out, 3); });
  // Memory that somebody shares.
  auto shared = std::make_shared<std::vector<float>>(4, 2.0f);
  std::weak_ptr<std::vector<float>> alive = shared;
  float* data = shared->data();
  {
    Tensor over = Tensor::strided(data, 4, SL_FLOAT32, {4}, {1}, std::move(shared));
    Value list = Value::list({over});
    over = Tensor();
    CHECK(!alive.expired() && list[0].tensor().data<float>()[3] == 2);
    Tensor back = Tensor::from_dlpack(list[0].tensor().to_dlpack());
    list = Value();
    CHECK(back.data<float>() == data && !alive.expired());
  }
  CHECK(alive.expired());
  fails(SL_INVALID_ARGUMENT, "shape",
        [&] { Tensor::strided(data, 1, SL_FLOAT32, {2}, {1}, std::make_shared<int>(1)); });
}

static void walks(const Module& m) {
  int64_t sum = 0;
  for (const Value& item : m("span", {4})) sum += item.integer();
  const Value span = m("span", {5}), floats = m("floats", {Value::list({1, 2})});
  for (int64_t n : span.ints()) sum += n;
  CHECK(sum == 16 && floats.doubles()[1] == 2);
  std::string keys;
  for (const auto& [key, value] : m("by_text", {Value::dict({{"a", 5}})}).items()) {
    keys += key.string() + value.text();
  }
  CHECK(keys == "a5new1");
  Value dict = Value::dict({{"a", 1}, {2, "two"}});
  CHECK(dict.contains("a") && !dict.contains("b") && dict.at(2).string() == "two");
  CHECK(dict.find("a")->integer() == 1 && !dict.find(3));
  fails(SL_INVALID_ARGUMENT, "no such key", [&] { dict.at(3); });
  dict.insert("b", Value::list({1}));
  dict.erase("a");
  CHECK(dict.text() == "{2: two, b: [1]}");
  Value list = Value::list({});
  list.append(1.5);
  list.append("x");
  list.set(0, Value());
  list.remove(1);
  CHECK(list.text() == "[None]" && list.size() == 1);
  fails(SL_INVALID_ARGUMENT, "element", [&] { list.remove(1); });
  fails(SL_INVALID_ARGUMENT, "key", [&] { dict.insert(list, 1); });
  std::ostringstream out;
  out << Value::tuple({1, "a", Tensor::take<float>({1, 2}, {2})});
  CHECK(out.str() == "(1, a,  1\n 2\n[ CPUFloatType{2} ])");
  if (out.str().find("CPUFloatType") == std::string::npos) std::printf("%s\n", out.str().c_str());
}

static void modules(Module m) {
  CHECK(m.class_name() == "__torch__.Client" && m.has_attribute("block.inner.0.bias"));
  CHECK(m.has_method("forward") && !m.has_method("backward") && !m.find_method("backward"));
  float x[] = {1, 2};
  Tensor t = Tensor::view(x, {1, 2});
  scriptlang::Method half = m.child("block").get_method("half");
  CHECK(half({t}).tensor().values<float>()[0] == 0.5f);
  CHECK(half({t}, {{"by", 3}}).tensor().values<float>()[1] == 6 && half.name() == "half");
  scriptlang::Signature signature = half.signature();
  CHECK(signature.text == "half(Tensor x, float by=0.5) -> Tensor");
  CHECK(signature.arguments.size() == 2 && signature.results == std::vector<std::string>{"Tensor"});
  CHECK(!signature.arguments[0].default_value && signature.arguments[1].name == "by");
  CHECK(signature.arguments[1].default_value->number() == 0.5);
  CHECK(signature.arguments[1].type == "float");

  Module copy = m.clone();
  for (auto& [name, parameter] : copy.parameters()) {
    float* at = parameter.tensor().data<float>();
    for (int64_t k = 0; k < parameter.tensor().numel(); ++k) at[k] = 0;
  }
  CHECK(copy.attribute("layer.bias").tensor().item<float>() == 0);
  CHECK(copy.parameters().size() == 7 && copy.parameters(false).size() == 1);
  CHECK(copy.buffers().size() == 5 && copy.children().size() == 2);
  CHECK(m.attribute("layer.weight").tensor().values<float>()[0] != 0);
  CHECK(copy.modules().size() == 6 && copy.modules()[0].name == "block");
  CHECK(copy.modules()[0].module.has_method("half") && copy.attributes().size() > 20);
  copy.eval();
  CHECK(!copy.is_training() && m.is_training() && !copy.child("block.inner").is_training());
  copy.train();
  CHECK(copy.is_training());
  copy.to(SL_FLOAT16);
  CHECK(copy.attribute("layer.bias").tensor().dtype() == SL_FLOAT16);
  fails(SL_INVALID_ARGUMENT, "floating", [&] { copy.to(SL_INT64); });
  copy.set_attribute("limit", 2);
  copy.set_attribute("favourite", make_enum(m, "__torch__.Color", "BLUE"));
  copy.set_attribute("owned", make_object(copy, "__torch__.Counter", {5}));
  copy.set_attribute("table", Value::dict({{"z", 26}}));
  copy.set_attribute("weights", Tensor::take<float>({9, 9}, {2}));
  CHECK(copy("state", {}).text().find("{z: 26}, [1, 2, 3], 2., Enum<Color.BLUE>, 5)") !=
        std::string::npos);
  fails(SL_RUN_ERROR, "attribute 'calls'", [&] { copy.set_attribute("calls", "x"); });
  CHECK(copy("echo", {copy.child("block").value()}).class_name() == "__torch__.Block");
  CHECK(copy.view(copy.attribute("owned"))("add", {2}).integer() == 7);
  CHECK(copy.text().find("half(Tensor x, float by=0.5) -> Tensor") != std::string::npos);

  std::string bytes = copy.save_to_memory({{"note.txt", "saved"}});
  std::istringstream stream(bytes);
  Module read = scriptlang::load(stream);
  CHECK(read("state", {}).text() == copy("state", {}).text() && read.extra("note.txt") == "saved");
  CHECK(read.extra_names() == (std::vector<std::string>{"empty", "labels.txt", "note.txt"}));
  CHECK(read.attribute("layer.bias").tensor().dtype() == SL_FLOAT16);
  CHECK(read.attribute("weights").tensor().data<float>()[1] == 9);
  fails(SL_INVALID_ARGUMENT, "extra", [&] { read.extra("?"); });
  fails(SL_RUN_ERROR, "cannot write", [&] { read.save("/no/such/folder/x.pt"); });
  CHECK(!read.try_save([](const void*, size_t) { return false; }).ok());
  std::istringstream damaged(bytes.substr(0, bytes.size() / 2));
  CHECK(scriptlang::try_load(damaged).error().status() == SL_ARCHIVE_ERROR);
}

static void devices(const std::string& path) {
  std::string noticed;
  scriptlang::LoadOptions options;
  options.notice = [&](const std::string& text) { noticed += text; };
  options.device = "cuda";
  CHECK(scriptlang::load(path, options).has_method("forward"));
  CHECK(noticed.find("to be on cuda") != std::string::npos);
  std::ifstream file(path, std::ios::binary);
  CHECK(scriptlang::load(file).has_method("forward"));
  options.device = "?";
  fails(SL_INVALID_ARGUMENT, "device", [&] { scriptlang::load(path, options); });
}

int main(int count, char** arguments) {
  if (count < 2) return 2;
  try {
    Module m = scriptlang::load(std::string(arguments[1]));
    nothing();
    streams(arguments[1]);
    integers(m);
    types(m);
    walks(m);
    modules(m);
    devices(arguments[1]);
  } catch (const scriptlang::Error& e) {
    ++failures;
    std::printf("unexpected: %s\n", e.what());
  }
  std::printf("C++ client of modules: %d failures\n", failures);
  return failures != 0;
}
