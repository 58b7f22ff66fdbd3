// Programs that write what other threads reach, from 2 and 8 threads; what each of them may write;
// and who waits for whom. For ThreadSanitizer and AddressSanitizer above all.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include <scriptlang/scriptlang.h>

#include "archives.h"
#include "assembler.h"
#include "harness.h"
#include "machine/turns.h"

using namespace scriptlang;
using namespace test;

namespace {

ClassRef class_of(std::vector<std::string> attributes) {
  ClassRef cls = ClassType::make("__torch__.M");
  cls->attributes = std::move(attributes);
  return cls;
}

// A module: an object, programs that get it first, and a domain.
struct Shared {
  explicit Shared(std::vector<Value> slots) {
    std::vector<std::string> names;
    for (size_t k = 0; k < slots.size(); ++k) names.push_back("a" + std::to_string(k));
    object = Object::make(class_of(names));
    object->slots = std::move(slots);
  }
  Value call(const Program& program, std::vector<Value> arguments = {}) {
    const Function& function = *program.functions()[0];
    arguments.insert(arguments.begin(), Value(object));
    Context context;
    Turn turn;
    turn.take(domain.get(), effect_of(program, function));
    Value result = run(program, function, std::move(arguments), context, {});
    return result.is_int() ? result : Value(to_text(result));  // looked at in turn
  }
  Ref<Object> object;
  DomainRef domain{Domain::make()};
};

void at_once(int threads, const std::function<void(int)>& body) {
  std::atomic<int> waiting{threads};
  std::vector<std::thread> all;
  for (int k = 0; k < threads; ++k) {
    all.emplace_back([&, k] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      try {
        body(k);
      } catch (const std::exception& e) { fail(__FILE__, __LINE__, e.what()); }
    });
  }
  for (std::thread& t : all) t.join();
}

void from_threads(const std::function<void(int)>& body) {
  for (int threads : {2, 8}) at_once(threads, body);
}

Code method(std::vector<std::string> types = {}) {
  Code code;
  code.name = "__torch__.M.f";
  code.argument("Any");
  for (const std::string& t : types) code.argument(t);
  code.emit("STOREN", 1, int64_t(types.size()) + 1);
  return code;
}

// `body` of a loop of so many turns, whose number lies in register 7, with self in register 1.
void repeat(Code* code, int64_t turns, const std::function<void()>& body) {
  code->constants.insert(code->constants.end(), {Value(turns), Value(true)});
  int64_t count = int64_t(code->constants.size()) - 2;
  std::vector<Value>& all = code->instructions;
  code->emit("LOADC", 0).emit("LOADC", count).emit("LOADC", count + 1);
  size_t loop = all.size();
  code->emit("LOOP", 0, 2);
  code->emit("STORE", 7);
  body();
  code->emit("LOADC", count + 1);
  code->emit("JMP", int64_t(loop) - int64_t(all.size()));
  all[loop] = tuple({Value("LOOP"), Value(int64_t(all.size() - loop)), Value(2)});
}

Effect effect_of_code(const Code& code) {
  auto program = decode({code});
  return effect_of(*program, *program->functions()[0]);
}

bool keeps(const Code& code) {
  auto program = decode({code});
  return keeps_values(*program, *program->functions()[0]);
}

// self.a0 = [[i, i], [i]]; n += len(self.a0[0]); self.a1 = "..." + str(i)
Code setter() {
  Code code = method();
  code.types = {Value("List[int]"), Value("List[List[int]]")};
  code.constants = {Value(0), Value("a text that lies in no value ")};
  int64_t str = code.op("aten::str", "", 1), add = code.op("aten::add", "str", 2);
  int64_t len = code.op("aten::len", "t", 1), get = code.op("aten::__getitem__", "t", 2);
  int64_t sum = code.op("aten::add", "int", 2), length = code.op("aten::len", "str", 1);
  code.emit("LOADC", 0).emit("STORE", 2);
  repeat(&code, 200, [&] {
    code.emit("LOAD", 1).emit("LOAD", 7).emit("LOAD", 7).emit("LIST_CONSTRUCT", 0, 2);
    code.emit("LOAD", 7).emit("LIST_CONSTRUCT", 0, 1).emit("LIST_CONSTRUCT", 1, 2);
    code.emit("SET_ATTR", 0);
    code.emit("LOAD", 2).emit("LOAD", 1).emit("GET_ATTR", 0).emit("LOADC", 0).emit("OP", get);
    code.emit("OP", len).emit("OP", sum).emit("STORE", 2);
    code.emit("LOAD", 1).emit("LOADC", 1).emit("LOAD", 7).emit("OP", str).emit("OP", add);
    code.emit("SET_ATTR", 1);
    code.emit("LOAD", 2).emit("LOAD", 1).emit("GET_ATTR", 1).emit("OP", length).emit("OP", sum);
    code.emit("STORE", 2);
  });
  code.emit("LOAD", 2).emit("RET");
  return code;
}

Code reader() {
  Code code = method();
  code.constants = {Value(0)};
  int64_t get = code.op("aten::__getitem__", "t", 2), len = code.op("aten::len", "t", 1);
  code.emit("LOAD", 1).emit("GET_ATTR", 0).emit("LOADC", 0).emit("OP", get).emit("OP", len);
  code.emit("RET");
  return code;
}

Value nested() {
  std::vector<Value> inner = {Value(1), Value(2)};
  return List::make({Value(List::make(inner)), Value(List::make(inner))});
}

}  // namespace

TEST(threads_set_attributes) {
  auto program = decode({setter()});
  Shared m({nested(), Value("x")});
  int64_t expected = m.call(*program).as_int();
  from_threads([&](int) { CHECK_EQ(m.call(*program).as_int(), expected); });
}

TEST(readers_beside_writers) {
  auto writes = decode({setter()}), reads = decode({reader()});
  Shared m({nested(), Value("x")});
  from_threads([&](int k) {
    for (int n = 0; n < 20; ++n) {
      if (k % 2) m.call(*writes);
      else CHECK_EQ(m.call(*reads).as_int(), 2);
    }
  });
}

TEST(a_host_sets_attributes_beside_readers) {
  auto reads = decode({reader()});
  Shared m({nested()});
  from_threads([&](int k) {
    for (int n = 0; n < 300; ++n) {
      if (k == 0) {
        Value fresh = nested();
        Turn turn;
        turn.look(m.domain.get(), true);
        m.object->slots[0].swap(fresh);
      } else {
        CHECK_EQ(m.call(*reads).as_int(), 2);
      }
    }
  });
}

// self.a0.append(str) and, of each ten, clear(); self.a1[i] = str
TEST(threads_change_lists_and_dicts) {
  Code code = method();
  code.constants = {Value(0), Value("long enough to be counted "), Value(10)};
  int64_t append = code.op("aten::append", "t", 2), clear = code.op("aten::clear", "t", 1);
  int64_t set = code.op("aten::_set_item", "int", 3), str = code.op("aten::str", "", 1);
  int64_t add = code.op("aten::add", "str", 2), rest = code.op("aten::remainder", "int", 2);
  int64_t equal = code.op("aten::eq", "int", 2);
  repeat(&code, 300, [&] {
    auto text = [&] { code.emit("LOADC", 1).emit("LOAD", 7).emit("OP", str).emit("OP", add); };
    code.emit("LOAD", 1).emit("GET_ATTR", 0);
    text();
    code.emit("OP", append).emit("DROP");
    code.emit("LOAD", 1).emit("GET_ATTR", 1).emit("LOAD", 7).emit("LOADC", 2).emit("OP", rest);
    text();
    code.emit("OP", set);
    code.emit("LOAD", 7).emit("LOADC", 2).emit("OP", rest).emit("LOADC", 0).emit("OP", equal);
    code.emit("JF", 4).emit("LOAD", 1).emit("GET_ATTR", 0).emit("OP", clear);
  });
  code.emit("LOADC", 0).emit("RET");
  CHECK(effect_of_code(code) == Effect::Writes);
  CHECK(keeps(code));
  auto program = decode({code});
  Shared m({Value(List::make({Value("first")})), Value(Dict::make())});
  from_threads([&](int) { m.call(*program); });
}

// self.a0.resize_([i + 1]); self.a0.unsqueeze_(0)
TEST(threads_resize_tensors) {
  Code code = method();
  code.types = {Value("List[int]")};
  code.constants = {Value(0), Value()};
  int64_t resize = code.op("aten::resize_", "", 2), more = code.op("aten::unsqueeze_", "", 2);
  repeat(&code, 200, [&] {
    code.emit("LOAD", 1).emit("GET_ATTR", 0).emit("LOAD", 7).emit("LIST_CONSTRUCT", 0, 1);
    code.emit("OP", resize).emit("DROP");
    code.emit("LOAD", 1).emit("GET_ATTR", 0).emit("LOADC", 0).emit("OP", more).emit("DROP");
  });
  code.emit("LOADC", 0).emit("RET");
  CHECK(effect_of_code(code) == Effect::Reshapes);
  Code adds = method();
  adds.op("aten::sum", "", 1);
  adds.emit("LOAD", 1).emit("GET_ATTR", 0).emit("OP", 0).emit("DROP");
  adds.constants = {Value(1)};
  adds.emit("LOADC", 0).emit("RET");
  CHECK(effect_of_code(adds) == Effect::Reads);
  auto program = decode({code}), reads = decode({adds});
  Tensor t = Tensor::zeros({4}, ScalarType::Float32);
  Tensor view = Tensor::on_storage(t.storage(), ScalarType::Float32, {4}, {1}, 0);
  Shared m({Value(t)}), other({Value(view)});  // memory that two domains share
  from_threads([&](int k) {
    for (int n = 0; n < 10; ++n) {
      if (k % 2 == 0) m.call(*program);
      else other.call(*reads);
    }
  });
}

// ---- effects

TEST(what_a_program_made_itself_it_may_write) {
  Code code = method({"Tensor"});
  code.types = {Value("List[Tensor]")};
  code.constants = {Value(0)};
  int64_t append = code.op("aten::append", "t", 2), add = code.op("aten::add", "Tensor", 2);
  int64_t relu = code.op("aten::relu_", "", 1), get = code.op("aten::__getitem__", "t", 2);
  int64_t more = code.op("aten::unsqueeze_", "", 2);
  code.emit("LOAD", 2).emit("LIST_CONSTRUCT", 0, 1).emit("STORE", 3);
  code.emit("LOAD", 3).emit("LOAD", 2).emit("LOAD", 1).emit("GET_ATTR", 0).emit("OP", add);
  code.emit("OP", relu).emit("LOADC", 0).emit("OP", more).emit("OP", append).emit("DROP");
  code.emit("LOAD", 3).emit("LOADC", 0).emit("OP", get).emit("RET");
  CHECK(effect_of_code(code) == Effect::Reads);
  CHECK(!keeps(code));
}

TEST(elements_of_attributes_are_written) {
  Code code = method();
  int64_t relu = code.op("aten::relu_", "", 1);
  code.emit("LOAD", 1).emit("GET_ATTR", 0).emit("OP", relu).emit("RET");
  CHECK(effect_of_code(code) == Effect::Writes);
  CHECK(!keeps(code));  // it writes to a tensor, which stays where it was
}

TEST(what_an_attribute_is_set_to_is_kept) {
  Code code = method({"Tensor"});
  code.emit("LOAD", 1).emit("LOAD", 2).emit("SET_ATTR", 0).emit("LOAD", 2).emit("RET");
  CHECK(keeps(code));
}

TEST(a_view_of_an_attribute_is_the_attribute) {
  Code code = method();
  code.constants = {Value(0), Value(true), Value(0.5), Value(false)};
  int64_t select = code.op("aten::select", "int", 3), relu = code.op("aten::relu_", "", 1);
  int64_t dropout = code.op("aten::dropout", "", 3);
  code.emit("LOAD", 1).emit("GET_ATTR", 0).emit("LOADC", 0).emit("LOADC", 0).emit("OP", select);
  code.emit("LOADC", 2).emit("LOADC", 3).emit("OP", dropout).emit("OP", relu).emit("RET");
  CHECK(effect_of_code(code) == Effect::Writes);
}

TEST(what_goes_through_a_container_is_not_lost) {
  Code code = method();
  code.types = {Value("List[Tensor]")};
  code.constants = {Value(0)};
  int64_t get = code.op("aten::__getitem__", "t", 2), relu = code.op("aten::relu_", "", 1);
  code.emit("LOAD", 1).emit("GET_ATTR", 0).emit("LIST_CONSTRUCT", 0, 1).emit("LOADC", 0);
  code.emit("OP", get).emit("OP", relu).emit("RET");
  CHECK(effect_of_code(code) == Effect::Writes);
}

TEST(what_a_called_function_writes_counts) {
  Code caller = method(), callee;
  callee.name = "__torch__.g";
  callee.argument("Any").argument("Any");
  callee.emit("SET_ATTR", 0).constants = {Value()};
  callee.emit("LOADC", 0).emit("RET");
  caller.constants = {Value(3)};
  caller.functions = {Value("__torch__.g")};
  caller.emit("LOAD", 1).emit("LOADC", 0).emit("CALL", 0).emit("RET");
  auto program = decode({caller, callee});
  CHECK(effect_of(*program, *program->find("__torch__.M.f")) == Effect::Writes);
}

TEST(recursion_ends) {
  Code code = method();
  code.functions = {Value("__torch__.M.f")};
  code.emit("LOAD", 1).emit("CALL", 0).emit("RET");
  CHECK(effect_of_code(code) == Effect::Reads);
}

TEST(out_arguments_that_were_passed_are_reshaped) {
  Code code = method({"Tensor"});
  int64_t add = code.op("aten::add", "out", 4);
  code.constants = {Value(1)};
  code.emit("LOAD", 2).emit("LOAD", 2).emit("LOADC", 0).emit("LOAD", 2).emit("OP", add);
  code.emit("RET");
  CHECK(effect_of_code(code) == Effect::Reshapes);
}

// ---- turns

TEST(readers_go_side_by_side) {
  DomainRef domain(Domain::make());
  Turn first;
  first.take(domain.get(), Effect::Reads);
  std::thread([&] {
    Turn second;
    CHECK(second.try_take(domain.get(), Effect::Reads));
    second.give();
    CHECK(!second.try_take(domain.get(), Effect::Writes));
    CHECK(!second.try_look(domain.get(), true));
    CHECK_RAISES(LimitError, "waited longer than its limit of 30 ms",
                 second.take(domain.get(), Effect::Writes, {}, 30));
    CHECK_RAISES(LimitError, "30 ms", second.take(nullptr, Effect::Reshapes, {}, 30));
    CHECK(second.try_take(domain.get(), Effect::Reads));  // who gave up is in nobody's way
  }).join();
}

TEST(different_modules_write_side_by_side) {
  DomainRef a(Domain::make()), b(Domain::make());
  Turn first;
  first.take(a.get(), Effect::Writes);
  std::thread([&] {
    Turn second;
    CHECK(second.try_take(b.get(), Effect::Writes));
  }).join();
}

TEST(domains_become_one) {
  DomainRef a(Domain::make()), b(Domain::make()), c(Domain::make());
  join(a.get(), b.get());
  join(b.get(), c.get());
  CHECK(a.get()->root() == c.get()->root());
  Turn first;
  first.take(a.get(), Effect::Writes);
  std::thread([&] {
    Turn second;
    CHECK(!second.try_take(c.get(), Effect::Reads));
  }).join();
}

TEST(domains_are_joined_in_rings_while_they_are_used) {
  for (int n = 0; n < 50; ++n) {
    std::vector<DomainRef> all;
    for (int k = 0; k < 8; ++k) all.emplace_back(Domain::make());
    int counts[8] = {};
    at_once(8, [&](int k) {
      join(all[size_t(k)].get(), all[size_t(k + 1) % 8].get());
      for (int j = 0; j < 20; ++j) {
        Turn turn;
        turn.take(all[size_t(k)].get(), Effect::Writes);
        ++counts[k];
      }
    });
    Domain* root = all[0].get()->root();
    for (const DomainRef& d : all) CHECK(d.get()->root() == root);
    for (int count : counts) CHECK_EQ(count, 20);
  }
}

TEST(writers_of_joined_domains_exclude_each_other) {
  DomainRef a(Domain::make()), b(Domain::make());
  join(a.get(), b.get());
  int64_t sum = 0;  // not atomic: ThreadSanitizer would see it
  at_once(8, [&](int k) {
    for (int n = 0; n < 500; ++n) {
      Turn turn;
      turn.take(k % 2 ? a.get() : b.get(), n % 50 ? Effect::Writes : Effect::Reshapes);
      ++sum;
    }
  });
  CHECK_EQ(sum, 4000);
}

TEST(a_pause_lets_others_in) {
  DomainRef domain(Domain::make());
  Turn turn;
  turn.take(domain.get(), Effect::Writes);
  Turn::Pause pause(&turn);
  std::thread([&] {
    Turn second;
    CHECK(second.try_take(domain.get(), Effect::Writes));
  }).join();
  pause.over();
  std::thread([&] {
    Turn second;
    CHECK(!second.try_take(domain.get(), Effect::Reads));
  }).join();
}

TEST(programs_that_reshape_are_alone_in_the_process) {
  DomainRef a(Domain::make()), b(Domain::make());
  Turn turn;
  turn.take(a.get(), Effect::Reshapes);
  std::thread([&] {
    Turn second;
    CHECK(!second.try_take(b.get(), Effect::Reads));
    CHECK(!second.try_take(nullptr, Effect::Reads));
  }).join();
  turn.give();
  std::thread([&] {
    Turn second;
    CHECK(second.try_take(b.get(), Effect::Reads));
  }).join();
}

// ---- the C API

namespace {

// class M: def f(self, i: int): self.l = [i, i]; return self.l
std::string archive_of_setter() {
  auto row = [](const char* name, const std::string& v) { return p_tuple({p_text(name), v}); };
  auto step = [](const char* op, int x = 0, int n = 0) {
    return p_tuple({p_text(op), p_int(x), p_int(n)});
  };
  auto argument = [&](const char* name, const char* type) {
    return p_tuple(
        {row("name", p_text(name)), row("type", p_text(type)), row("default_value", "N")});
  };
  std::string code = p_tuple({step("STOREN", 1, 2), step("LOAD", 1), step("LOAD", 2),
                              step("LOAD", 2), step("LIST_CONSTRUCT", 0, 2), step("SET_ATTR", 0),
                              step("LOAD", 1), step("GET_ATTR", 0), step("RET")});
  std::string table =
      p_tuple({row("instructions", code), row("operators", ")"), row("constants", ")"),
               row("types", p_tuple({p_text("List[int]")})), row("register_size", p_int(2))});
  std::string schema =
      p_tuple({row("arguments", p_tuple({argument("self", "__torch__.M"), argument("i", "int")})),
               row("returns", p_tuple({argument("", "List[int]")}))});
  std::string function = p_tuple({p_text("__torch__.M.f"), table, schema});
  return make_zip({{"m/data.pkl", pickle(p_object("__torch__", "M", {{"l", p_tuple({})}}))},
                   {"m/bytecode.pkl", pickle(p_tuple({p_int(8), function}))},
                   {"m/version", "3\n"}});
}

}  // namespace

TEST(one_module_is_called_and_read_by_threads_through_c) {
  std::string file = archive_of_setter();
  sl_module *module = nullptr, *other = nullptr;
  CHECK_EQ(int(sl_load_memory(file.data(), file.size(), &module, nullptr)), int(SL_OK));
  CHECK_EQ(int(sl_load_memory(file.data(), file.size(), &other, nullptr)), int(SL_OK));
  from_threads([&](int k) {
    for (int n = 0; n < 200; ++n) {
      sl_value *number = sl_value_int(k), *list = nullptr, *seen = nullptr;
      sl_module* called = n % 3 ? module : other;
      CHECK_EQ(int(sl_call(called, "f", &number, 1, nullptr, &list, nullptr)), int(SL_OK));
      CHECK_EQ(sl_value_length(list), 2u);
      sl_value *first = sl_value_item(list, 0), *both = sl_value_list(&list, 1);
      int64_t got = -1;
      CHECK_EQ(int(sl_value_get_int(first, &got)), int(SL_OK));
      CHECK(got >= 0 && got < 8);
      CHECK_EQ(int(sl_module_attribute(module, "l", &seen, nullptr)), int(SL_OK));
      char* text = nullptr;
      CHECK_EQ(int(sl_value_text(both, &text, nullptr)), int(SL_OK));
      sl_text_release(text);
      for (sl_value* v : {number, list, seen, first, both}) sl_value_release(v);
    }
  });
  sl_module_release(module);
  sl_module_release(other);
}

// ---- lazily made things

TEST(a_function_is_lowered_while_others_call_it) {
  for (int n = 0; n < 20; ++n) {
    auto program = decode({setter()});
    Shared m({nested(), Value("x")});
    std::atomic<int64_t> first{0};
    at_once(8, [&](int) {
      int64_t got = m.call(*program).as_int(), none = 0;
      if (!first.compare_exchange_strong(none, got)) CHECK_EQ(first.load(), got);
    });
  }
}

TEST(random_numbers_from_threads) {
  Code code;
  code.types = {Value("List[int]")};
  code.constants = {Value(100), Value()};
  int64_t rand = code.op("aten::rand", "", 5);
  code.emit("LOADC", 0).emit("LIST_CONSTRUCT", 0, 1);
  for (int k = 0; k < 4; ++k) code.emit("LOADC", 1);
  code.emit("OP", rand).emit("RET");
  auto program = decode({code});
  from_threads([&](int) {
    for (int n = 0; n < 50; ++n) {
      Context context;
      Turn turn;
      turn.take(nullptr, effect_of(*program, *program->functions()[0]));
      CHECK(run(*program, *program->functions()[0], {}, context, {}).is_tensor());
    }
  });
}

int main(int count, char** arguments) { return test::main(count, arguments); }
