// The unpickler: a stack machine for the few opcodes and globals that archives use. pickle.cpp has
// its opcodes, pickle_globals.cpp its globals.
#pragma once

#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pickle.h"

namespace scriptlang {

struct GlobalEntry;

// An item of the unpickler's stack or memo.
struct Item {
  enum Kind : uint8_t { Plain, Mark, Global, Class, StorageRef } kind = Plain;
  const GlobalEntry* global = nullptr;  // Global, StorageRef (its type)
  ClassRef cls;                         // Class
  Value value;                          // Plain; StorageRef: a 1-d tensor over the whole storage
};

class Unpickler {
 public:
  Unpickler(std::string_view bytes, const std::string& what, const PickleHooks& hooks)
      : bytes_(bytes), what_(what), hooks_(hooks) {}

  Value run();

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) {
    raise(ErrorKind::ArchiveError, what_, " (at byte ", position_, "): ", parts...);
  }

  // ---- bytes

  const char* take(size_t n) {
    if (n > bytes_.size() - position_) fail("the pickle is truncated");
    const char* p = bytes_.data() + position_;
    position_ += n;
    return p;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  std::string text(size_t n) {
    const char* p = take(n);
    return std::string(p, n);
  }
  std::string line() {
    size_t end = bytes_.find('\n', position_);
    if (end == std::string_view::npos || end - position_ > 4096) fail("a name has no end");
    std::string result(bytes_.substr(position_, end - position_));
    position_ = end + 1;
    return result;
  }
  double big_endian_double() {
    uint64_t bits = __builtin_bswap64(number<uint64_t>());
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  int64_t long_integer() {
    size_t n = number<uint8_t>();
    if (n > 8) fail("an integer does not fit 64 bits");
    const char* p = take(n);
    uint64_t bits = 0;
    for (size_t i = 0; i < n; ++i) bits |= uint64_t(uint8_t(p[i])) << (8 * i);
    if (n > 0 && n < 8 && (p[n - 1] & 0x80)) bits |= ~uint64_t(0) << (8 * n);
    return int64_t(bits);
  }

  // ---- stack

  void push(Value v) {
    Item item;
    item.value = std::move(v);
    stack_.push_back(std::move(item));
  }
  Item pop() {
    if (stack_.empty() || stack_.back().kind == Item::Mark) fail("the pickle's stack is empty");
    Item item = std::move(stack_.back());
    stack_.pop_back();
    return item;
  }
  Value pop_value() {
    Item item = pop();
    if (item.kind != Item::Plain) fail("a name stands where a value should");
    return std::move(item.value);
  }
  Item& top() {
    if (stack_.empty() || stack_.back().kind == Item::Mark) fail("the pickle's stack is empty");
    return stack_.back();
  }
  // Returns the place of the topmost mark. The caller pops the mark with all items above it.
  size_t mark() {
    if (marks_.empty()) fail("a mark is missing");
    size_t at = marks_.back();
    marks_.pop_back();
    return at;
  }
  void memoize(uint32_t index) {
    if (index > bytes_.size() || index > memo_.size() + 1024) fail("a memo index is out of range");
    if (index >= memo_.size()) memo_.resize(index + 1);
    memo_[index] = top();
    known_.resize(memo_.size());
    known_[index] = true;
  }
  void recall(uint32_t index) {
    if (index >= known_.size() || !known_[index]) fail("a memo entry is not there");
    stack_.push_back(memo_[index]);
  }
  std::vector<Value> values_above_mark() {
    size_t at = mark();
    std::vector<Value> values;
    values.reserve(stack_.size() - at - 1);
    for (size_t i = at + 1; i < stack_.size(); ++i) {
      if (stack_[i].kind == Item::Plain) {
        values.push_back(std::move(stack_[i].value));
      } else {
        fail("a name stands where a value should");
      }
    }
    stack_.resize(at);
    return values;
  }

  // ---- opcodes

  bool step(uint8_t op);
  void protocol();

  // A tuple may hold storage references and types, which are no values (in persistent ids and
  // arguments of globals). Such a tuple stays in raw_tuple_, as items, until it is consumed.
  void tuple_from_mark();
  void tuple_of(size_t n);
  void make_tuple(size_t begin);
  // Pops a tuple of values, or a raw tuple. Returns its items.
  std::vector<Item> pop_tuple();
  void append();
  void append_all();
  void set_item();
  void set_items();
  void global();
  void new_object();
  void build();

  // Builds an instance of a class whose attributes are declared. Each must have a value, in any
  // order.
  void build_declared(Object& object, Dict& state);
  void persistent();

  // ---- calls of the allowed globals

  void reduce();

  // Makes a member of an enum. PyTorch's pickles call the class with the value itself, not with a
  // tuple of it, and do not have the name of the member.
  void enum_member();

  // The name of the member with a value. Empty if there is none, or the members are not known.
  std::string member_name(const ClassType& cls, const Value& value);
  void call(const GlobalEntry& function, std::vector<Item>& arguments);
  std::vector<int64_t> int_tuple(const Value& v);
  Tensor rebuild_quantized(std::vector<Item>& arguments);

  // `grad`: the index of the argument that says whether it requires a gradient.
  Tensor rebuild_tensor(std::vector<Item>& arguments, size_t grad, bool quantized);
  Value build_list(ScalarType element, const Value& list);
  void restore_type(Value* value, std::string_view text);

  std::string_view bytes_;
  const std::string& what_;
  const PickleHooks& hooks_;
  size_t position_ = 0;
  std::vector<Item> stack_;
  std::vector<size_t> marks_;
  std::vector<Item> memo_;
  std::vector<bool> known_;
  std::unordered_map<const ClassType*, Ref<Dict>> members_;  // of enums: value -> name
  std::vector<Item> raw_tuple_;                              // there is at most one at a time
};

}  // namespace scriptlang
