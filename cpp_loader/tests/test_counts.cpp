// Counts of references: a program that takes very many of one thing does not free it under them.
#include "harness.h"
#include "values/dict.h"
#include "values/list.h"

using namespace scriptlang;

namespace {

// Takes some references, and drops them again, of what has `begin` of them.
template <class T>
uint32_t after_many(T* counted, const Value& value, uint32_t begin) {
  counted->refs.store(begin);
  { std::vector<Value> more(5, value); }
  std::vector<Value> kept(3, value);
  uint32_t now = counted->refs.load();
  for (Value& v : kept) v.forget();
  counted->refs.store(1 | (begin & kThreadLocal));
  return now;
}

template <class T>
void check_counts(T* counted, const Value& value, uint32_t flags) {
  CHECK_EQ(after_many(counted, value, flags + 2), flags + 5);
  CHECK_EQ(after_many(counted, value, flags + 10), flags + 13);
  // References that were taken below the edge and dropped above it are not missed.
  CHECK(after_many(counted, value, flags + kStays - 3) >= flags + kStays);
  CHECK(after_many(counted, value, flags + kMostCounted - 2) >= flags + kStays);
  CHECK(after_many(counted, value, flags + kMostCounted - 2) <= flags + kMostCounted);
  CHECK_EQ(after_many(counted, value, flags + kMostCounted), flags + kMostCounted);
}

}  // namespace

TEST(containers_and_strings_stay_once_they_have_very_many_references) {
  for (uint32_t flags : {0u, kThreadLocal}) {
    Ref<List> list = List::make();
    List* raw = list.get();
    check_counts(raw, Value(std::move(list)), flags);
    Ref<Dict> dict = Dict::make();
    Dict* entries = dict.get();
    check_counts(entries, Value(std::move(dict)), flags);
    Value text("longer than lies in a value");
    check_counts(const_cast<String*>(&text.raw_string()), text, flags);
  }
}

TEST(tensors_and_their_memory_stay_once_they_have_very_many_references) {
  Tensor t = Tensor::zeros({2}, ScalarType::Float32);
  TensorImpl* impl = t.impl();
  check_counts(impl, Value(std::move(t)), 0);
  struct Counter {
    std::atomic<uint32_t> refs{1};
  } counter;
  for (uint32_t begin : {kStays - 1, kStays, kMostCounted - 1, kMostCounted}) {
    counter.refs.store(begin);
    for (int k = 0; k < 5; ++k) count_up(counter.refs);
    CHECK(counter.refs.load() <= kMostCounted);
    for (int k = 0; k < 10; ++k) CHECK(!count_down(counter.refs));
    CHECK(counter.refs.load() >= kStays - 1);
  }
  counter.refs.store(2);
  CHECK(!count_down(counter.refs) && count_down(counter.refs));
}

TEST(handles_of_types_stay_once_they_have_very_many_references) {
  ClassRef cls = ClassType::make("__torch__.M");
  cls->refs.store(kStays);
  { ClassRef other = cls; }
  CHECK_EQ(cls->refs.load(), kStays + 1);
  cls->refs.store(kMostCounted);
  ClassRef other = cls;
  CHECK_EQ(cls->refs.load(), kMostCounted);
  other.release();
  cls->refs.store(1);
}

int main(int count, char** arguments) { return test::main(count, arguments); }
