// Lists: what lies in them without tags, and that it makes no difference to what they hold.
#include "harness.h"
#include "values/list.h"

using namespace scriptlang;

namespace {

std::string text(const List& list) {
  std::string out;
  for (const Value& item : list) out += to_text(item) + " ";
  return out;
}

}  // namespace

TEST(the_kind_follows_from_the_elements) {
  CHECK(List::make({Value(1), Value(2)})->kind() == List::Kind::Ints);
  CHECK(List::make({Value(0.5)})->kind() == List::Kind::Floats);
  CHECK(List::make({Value(true)})->kind() == List::Kind::Bools);
  CHECK(List::make({Value("a")})->kind() == List::Kind::Values);
  Ref<List> list = List::make({Value(1), Value(2)});
  list->push(Value(0.5));
  CHECK(list->kind() == List::Kind::Values);
  CHECK_EQ(text(*list), "1 2 0.5 ");
  list->clear();
  list->push(Value(true));
  CHECK(list->kind() == List::Kind::Bools);
}

TEST(setting_another_type_keeps_the_others) {
  Ref<List> list = List::make({Value(1), Value(2), Value(3)});
  list->set(1, Value("b"));
  CHECK_EQ(text(*list), "1 b 3 ");
  list->set(0, Value());
  CHECK_EQ(text(*list), "None b 3 ");
}

TEST(elements_come_and_go_in_every_kind) {
  for (const Value& one : {Value(7), Value(7.5), Value(true), Value("seven")}) {
    std::string t = to_text(one);
    Ref<List> list = List::make();
    for (int k = 0; k < 40; ++k) list->push(one);
    list->insert(3, Value("x"));
    CHECK_EQ(to_text(list->get(3)), "x");
    CHECK_EQ(to_text(list->take(3)), "x");
    CHECK_EQ(list->size(), 40u);
    list->extend(*list);
    CHECK_EQ(list->size(), 80u);
    list->push(Value("last"));
    list->reverse();
    CHECK_EQ(to_text(list->get(0)), "last");
    CHECK_EQ(text(*list->slice(2, -1, 3)), t + " " + t + " last ");
  }
}

TEST(lists_of_different_kinds_are_equal_by_their_elements) {
  Ref<List> mixed = List::make({Value(1), Value("x")});
  mixed->take(1);
  CHECK(mixed->kind() == List::Kind::Values);
  CHECK(equal(Value(mixed), Value(List::make({Value(1)}))));
  CHECK(equal(Value(List::make({Value(1.0)})), Value(List::make({Value(1)}))));
  CHECK(!equal(Value(List::make({Value(1)})), Value(List::make({Value(2)}))));
}

TEST(room_is_counted_before_it_is_taken) {
  memory::LimitScope limit(1 << 16);
  Ref<List> list = List::make();
  bool stopped = false;
  try {
    for (int64_t k = 0; k < 100000; ++k) list->push(k);
  } catch (const Error& e) { stopped = e.kind == ErrorKind::MemoryError; }
  CHECK(stopped);
  CHECK(list->size() > 1000);
  CHECK_EQ(list->get(1000).as_int(), 1000);
}

int main(int count, char** arguments) { return test::main(count, arguments); }
