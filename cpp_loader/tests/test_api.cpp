// The C interface and its C++ header, on an archive that is made here.
#include <scriptlang/scriptlang.hpp>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "../kernels/aligned.h"
#include "archives.h"
#include "checks.h"

using namespace test;

static std::string p_row(const char* name, const std::string& value) {
  return p_tuple({p_text(name), value});
}
static std::string p_argument(const char* name, const char* type) {
  return p_tuple(
      {p_row("name", p_text(name)), p_row("type", p_text(type)), p_row("default_value", "N")});
}
static std::string p_instruction(const char* op, int x = 0, int n = 0) {
  return p_tuple({p_text(op), p_int(x), p_int(n)});
}

// class M: def forward(self, x, n: int): if n > 0: return self.w.add(x) ; raise ValueError("no")
static std::string p_forward(const std::string& add) {
  std::string code =
      p_tuple({p_instruction("STOREN", 1, 3), p_instruction("LOAD", 3), p_instruction("LOADC", 0),
               p_instruction("OP", 0), p_instruction("JF", 6), p_instruction("LOAD", 1),
               p_instruction("GET_ATTR", 0), p_instruction("LOAD", 2), p_instruction("OP", 1),
               p_instruction("RET"), p_instruction("LOADC", 1), p_instruction("LOADC", 2),
               p_instruction("RAISE_EXCEPTION")});
  std::string operators = p_tuple({p_tuple({p_text("aten::gt"), p_text("int"), p_int(2)}),
                                   p_tuple({p_text("aten::add"), p_text(add), p_int(2)})});
  std::string constants = p_tuple({p_int(0), p_text("no"), p_text("builtins.ValueError")});
  std::string table = p_tuple({p_row("instructions", code), p_row("operators", operators),
                               p_row("constants", constants), p_row("types", ")"),
                               p_row("register_size", p_int(3))});
  std::string schema =
      p_tuple({p_row("arguments", p_tuple({p_argument("self", "__torch__.M"),
                                           p_argument("x", "Tensor"), p_argument("n", "int")})),
               p_row("returns", p_tuple({p_argument("", "Tensor")}))});
  return p_tuple({p_text("__torch__.M.forward"), table, schema});
}

static std::string archive(const std::string& add = "Tensor") {
  std::string weights(16, '\0');
  for (int k = 0; k < 4; ++k) {
    float v = float(k);
    std::memcpy(&weights[size_t(k) * 4], &v, 4);
  }
  std::string data = pickle(p_object(
      "__torch__", "M",
      {{"w", p_tensor(p_storage("FloatStorage", "0", 4), 0, {4}, {1})}, {"name", p_text("m")}}));
  return make_zip({{"m/data.pkl", data},
                   {"m/data/0", weights},
                   {"m/bytecode.pkl", pickle(p_tuple({p_int(8), p_forward(add)}))},
                   {"m/version", "3\n"},
                   {"m/byteorder", "little"}});
}

template <class F>
static void check_error(sl_status status, const char* part, F&& f) {
  try {
    f();
    CHECK(!"an error was wanted");
  } catch (const scriptlang::Error& e) {
    CHECK(e.status() == status);
    if (std::string(e.what()).find(part) == std::string::npos) {
      ++failures;
      std::printf("the message lacks '%s': %s\n", part, e.what());
    }
  }
}

static void a_method_is_called() {
  std::string file = archive();
  scriptlang::Module m = scriptlang::load(file.data(), file.size());
  CHECK(m.methods() == std::vector<std::string>{"forward"});
  CHECK(m.missing_operators().empty());
  std::vector<float> x = {10, 10, 10, 10};
  scriptlang::Tensor y = m("forward", {scriptlang::Tensor::view(x.data(), {4}), 1}).tensor();
  CHECK(y.shape() == scriptlang::Shape{4});
  CHECK(y.data<float>()[3] == 13);
  CHECK(m.attribute("name").string() == "m");
  check_error(SL_INVALID_ARGUMENT, "no attribute", [&] { m.attribute("other"); });
  check_error(SL_INVALID_ARGUMENT, "element type", [&] { y.data<double>(); });
}

// class M: def twice(self, x): return x + x, where the sum is a part that FUSED calls.
static std::vector<std::string> p_twice() {
  std::string returns = p_row("returns", p_tuple({p_argument("", "Tensor")}));
  std::string code = p_tuple({p_instruction("STOREN", 1, 2), p_instruction("LOAD", 2),
                              p_instruction("FUSED", 0, 1), p_instruction("RET")});
  std::string table =
      p_tuple({p_row("instructions", code), p_row("operators", ")"), p_row("constants", ")"),
               p_row("types", ")"), p_row("register_size", p_int(2)),
               p_row("functions", p_tuple({p_text("__torch__.M.twice_1")}))});
  std::string arguments =
      p_row("arguments", p_tuple({p_argument("self", "__torch__.M"), p_argument("x", "Tensor")}));
  std::string part =
      p_tuple({p_instruction("STORE", 1), p_instruction("LOAD", 1), p_instruction("LOAD", 1),
               p_instruction("OP", 0), p_instruction("RET")});
  std::string operators = p_tuple({p_tuple({p_text("aten::add"), p_text("Tensor"), p_int(2)})});
  std::string part_table =
      p_tuple({p_row("instructions", part), p_row("operators", operators), p_row("constants", ")"),
               p_row("types", ")"), p_row("register_size", p_int(1))});
  std::string part_arguments = p_row("arguments", p_tuple({p_argument("x", "Tensor")}));
  return {p_tuple({p_text("__torch__.M.twice"), table, p_tuple({arguments, returns})}),
          p_tuple({p_text("__torch__.M.twice_1"), part_table, p_tuple({part_arguments, returns})})};
}

static void parts_of_functions_are_no_methods() {
  std::vector<std::string> functions = p_twice();
  std::string program = pickle(p_tuple({p_int(8), functions[0], functions[1]}));
  std::string file = make_zip({{"m/data.pkl", pickle(p_object("__torch__", "M", {}))},
                               {"m/scriptlang/program.pkl", program},
                               {"m/version", "3\n"},
                               {"m/byteorder", "little"}});
  scriptlang::Module m = scriptlang::load(file.data(), file.size());
  CHECK(m.methods() == std::vector<std::string>{"twice"});
  scriptlang::Tensor x = scriptlang::Tensor::take<float>({1, 2, 3, 4}, {4});
  CHECK(m("twice", {x}).tensor().data<float>()[3] == 8);
}

static void errors_carry_class_and_stack() {
  std::string file = archive();
  scriptlang::Module m = scriptlang::load(file.data(), file.size());
  scriptlang::Tensor x = scriptlang::Tensor::take<float>({1, 2, 3, 4}, {4});
  try {
    m("forward", {x, 0});
    CHECK(!"an error was wanted");
  } catch (const scriptlang::Error& e) {
    CHECK(e.class_name() == "builtins.ValueError");
    CHECK(std::string(e.what()) == "no");
    CHECK(e.stack() == "__torch__.M.forward at instruction 12\n");
  }
  check_error(SL_RUN_ERROR, "no method 'other'; it has: forward", [&] { m("other", {}); });
  check_error(SL_RUN_ERROR, "missing value for argument 'n'", [&] { m("forward", {x}); });
  check_error(SL_RUN_ERROR, "type 'Tensor' for argument 'x'", [&] { m("forward", {1, 1}); });
}

static void an_overload_that_nobody_knows_raises_when_it_is_reached() {
  std::string file = archive("newer");
  scriptlang::Module m = scriptlang::load(file.data(), file.size());
  CHECK(m.missing_operators().size() == 1 && m.missing_operators()[0] == "aten::add.newer");
  scriptlang::Tensor x = scriptlang::Tensor::take<float>({1, 2, 3, 4}, {4});
  check_error(SL_RUN_ERROR, "no", [&] { m("forward", {x, 0}); });
  check_error(SL_MISSING_OPERATOR, "aten::add.newer", [&] { m("forward", {x, 1}); });
}

static void wrong_files_say_what_they_are() {
  auto load = [](const std::string& bytes) { scriptlang::load(bytes.data(), bytes.size()); };
  check_error(SL_ARCHIVE_ERROR, "empty", [&] { load(""); });
  check_error(SL_ARCHIVE_ERROR, "a PNG image", [&] { load("\x89PNG...."); });
  check_error(SL_ARCHIVE_ERROR, "no data.pkl", [&] { load(make_zip({{"m/x", "1"}})); });
  check_error(SL_ARCHIVE_ERROR, "torch.save", [&] { load(make_zip({{"m/data.pkl", "1"}})); });
  check_error(SL_ARCHIVE_ERROR, "data.pkl",
              [&] { load(make_zip({{"m/data.pkl", "1"}, {"m/code/a.py", ""}})); });
  check_error(SL_ARCHIVE_ERROR, "byte order", [&] {
    load(make_zip({{"m/data.pkl", "1"}, {"m/bytecode.pkl", "1"}, {"m/byteorder", "big"}}));
  });
  check_error(SL_ARCHIVE_ERROR, "cannot open", [] { scriptlang::load("/no/such/file"); });
}

static void a_damaged_archive_never_crashes() {
  std::string file = archive();
  std::vector<float> x(4);
  for (size_t at = 0; at < file.size(); ++at) {
    std::string damaged = file;
    damaged[at] = char(damaged[at] ^ (1 << (at % 8)));
    try {
      scriptlang::Limits limits;
      limits.instructions = 10000;
      scriptlang::Module m = scriptlang::load(damaged.data(), damaged.size());
      m("forward", {scriptlang::Tensor::view(x.data(), {4}), 1}, limits);
    } catch (const scriptlang::Error&) {}
  }
}

static void a_cancelled_call_ends() {
  std::string file = archive();
  scriptlang::Module m = scriptlang::load(file.data(), file.size());
  std::vector<float> x(4);
  scriptlang::Canceller canceller;
  auto call = [&] {
    return m("forward", {scriptlang::Tensor::view(x.data(), {4}), 1},
             scriptlang::Limits().ended_by(canceller));
  };
  call();
  canceller.cancel();
  check_error(SL_CANCELLED, "cancelled", call);
  canceller.reset();
  call();
  sl_cancel(nullptr);
  sl_canceller_reset(nullptr);
  sl_canceller_release(nullptr);
}

static void values_go_in_and_out() {
  using scriptlang::Value;
  Value v = Value::dict({{"a", Value::list({1, 2.5, true})}, {"b", Value::tuple({Value(), "x"})}});
  CHECK(v.text() == "{a: [1, 2.5, True], b: (None, x)}");
  CHECK(v.size() == 2 && v.key(1).string() == "b" && v[0].size() == 3);
  CHECK(v[0][1].number() == 2.5 && v[0][0].number() == 1 && v[0][2].boolean());
  check_error(SL_INVALID_ARGUMENT, "no int", [&] { v.integer(); });
  check_error(SL_INVALID_ARGUMENT, "no such element", [&] { v[2]; });
  check_error(SL_INVALID_ARGUMENT, "shape", [] {
    float x = 0;
    scriptlang::Tensor::view(&x, {-1});
  });
  CHECK(v.kind() == SL_DICT && v[0].kind() == SL_LIST && v[1].kind() == SL_TUPLE);
  CHECK(v[1][0].kind() == SL_NONE && v[1][1].kind() == SL_STRING);
  CHECK(Value("longer than seven").kind() == SL_STRING && Value(1).kind() == SL_INT);
  CHECK(Value(1.5).kind() == SL_DOUBLE && Value(false).kind() == SL_BOOL);
  CHECK(scriptlang::Tensor::take<float>({1}, {1}).kind() == SL_TENSOR);
  CHECK(sl_value_kind(nullptr) == SL_NONE);
  CHECK(sl_value_item(nullptr, 0) == nullptr);
  CHECK(sl_call(nullptr, nullptr, nullptr, 0, nullptr, nullptr, nullptr) == SL_INVALID_ARGUMENT);
}

static std::atomic<int64_t> live_blocks{0};

static void the_allocator_can_be_replaced() {
  sl_allocator counting = {[](size_t bytes, void*) {
                             ++live_blocks;
                             return scriptlang::take_aligned(64, bytes);
                           },
                           [](void* block, size_t, void*) {
                             --live_blocks;
                             scriptlang::give_aligned(block);
                           },
                           nullptr};
  sl_set_allocator(&counting);
  {
    float x[4] = {};
    scriptlang::Tensor t = scriptlang::Tensor::copy(x, {4});
    CHECK(live_blocks == 1);
    sl_set_allocator(nullptr);
  }
  CHECK(live_blocks == 0);
}

static void threads_share_a_module() {
  std::string file = archive();
  scriptlang::Module m = scriptlang::load(file.data(), file.size());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<float> x(4, float(t));
      for (int k = 0; k < 500; ++k) {
        scriptlang::Tensor y = m("forward", {scriptlang::Tensor::view(x.data(), {4}), 1}).tensor();
        wrong += y.data<float>()[2] != float(t) + 2;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

void pointers_that_are_null_are_refused() {
  int64_t sizes[] = {2};
  float data[] = {1, 2};
  CHECK(sl_tensor_view(nullptr, SL_FLOAT32, sizes, 1, nullptr, nullptr) == nullptr);
  CHECK(sl_tensor_view(data, SL_FLOAT32, nullptr, 1, nullptr, nullptr) == nullptr);
  CHECK(sl_tensor_copy(nullptr, SL_FLOAT32, sizes, 1) == nullptr);
  CHECK(sl_value_string(nullptr, 1) == nullptr);
  CHECK(sl_value_list(nullptr, 1) == nullptr && sl_value_tuple(nullptr, 1) == nullptr);
  sl_value* key = sl_value_int(1);
  CHECK(sl_value_dict(&key, nullptr, 1) == nullptr && sl_value_dict(nullptr, &key, 1) == nullptr);
  sl_value_release(key);
  sizes[0] = 0;
  sl_value* none = nullptr;
  sl_value* values[] = {sl_tensor_view(nullptr, SL_FLOAT32, sizes, 1, nullptr, nullptr),
                        sl_value_string(nullptr, 0), sl_value_list(&none, 1)};
  for (sl_value* value : values) {  // nothing is needed of these
    CHECK(value != nullptr);
    sl_value_release(value);
  }
}

static void a_module_that_cannot_be_restored_is_not_printed() {
  const std::string code =
      "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n"
      "  def __setstate__(self, state: int) -> NoneType:\n"
      "    ops.prim.RaiseException(\"cannot restore\", \"builtins.ValueError\")\n"
      "    return None\n";
  const std::string object = p_global("__torch__", "M") + ")\x81" + p_int(1) + "b";
  const std::string file = make_zip({{"m/version", "10"},
                                     {"m/data.pkl", pickle(object)},
                                     {"m/code/__torch__.py", code},
                                     {"m/constants.pkl", pickle(")")}});
  const scriptlang::Module module = scriptlang::load(file.data(), file.size());
  try {
    (void)module.text();
    CHECK(!"an error was wanted");
  } catch (const scriptlang::Error& e) {
    CHECK(e.message() == "cannot restore" && e.class_name() == "builtins.ValueError");
  }
}

int main() {
  a_method_is_called();
  parts_of_functions_are_no_methods();
  errors_carry_class_and_stack();
  an_overload_that_nobody_knows_raises_when_it_is_reached();
  wrong_files_say_what_they_are();
  a_damaged_archive_never_crashes();
  a_cancelled_call_ends();
  values_go_in_and_out();
  pointers_that_are_null_are_refused();
  the_allocator_can_be_replaced();
  threads_share_a_module();
  a_module_that_cannot_be_restored_is_not_printed();
  std::printf("%d failures\n", failures);
  return failures != 0;
}
