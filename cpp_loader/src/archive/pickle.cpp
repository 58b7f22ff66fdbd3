// The opcodes of the unpickler, and how it builds instances.
#include <algorithm>

#include "unpickler.h"
#include "values/dict.h"
#include "values/list.h"

namespace scriptlang {

Value Unpickler::run() {
  try {
    for (;;) {
      if (step(uint8_t(*take(1)))) break;
    }
    if (stack_.size() != 1 || stack_[0].kind != Item::Plain) fail("does not end with one value");
    return std::move(stack_[0].value);
  } catch (Error& error) {
    if (error.kind == ErrorKind::ArchiveError || error.kind == ErrorKind::MemoryError) throw;
    fail(error.message);
  }
}

bool Unpickler::step(uint8_t op) {
  switch (op) {
    case 0x80: protocol(); break;
    case '.': return true;
    case '(':
      marks_.push_back(stack_.size());
      stack_.emplace_back();
      stack_.back().kind = Item::Mark;
      break;
    case '0': pop(); break;
    case 'N': push(Value()); break;
    case 0x88: push(Value(true)); break;
    case 0x89: push(Value(false)); break;
    case 'J': push(Value(int64_t(number<int32_t>()))); break;
    case 'K': push(Value(int64_t(number<uint8_t>()))); break;
    case 'M': push(Value(int64_t(number<uint16_t>()))); break;
    case 0x8a: push(Value(long_integer())); break;
    case 'G': push(Value(big_endian_double())); break;
    case 'X': push(Value(text(number<uint32_t>()))); break;
    case 'U': push(Value(text(number<uint8_t>()))); break;
    case 'T': push(Value(text(number<uint32_t>()))); break;
    case ')': push(Tuple::make({})); break;
    case 't': tuple_from_mark(); break;
    case 0x85: tuple_of(1); break;
    case 0x86: tuple_of(2); break;
    case 0x87: tuple_of(3); break;
    case ']': push(List::make()); break;
    case 'a': append(); break;
    case 'e': append_all(); break;
    case '}': push(Dict::make()); break;
    case 's': set_item(); break;
    case 'u': set_items(); break;
    case 'c': global(); break;
    case 'R': reduce(); break;
    case 0x81: new_object(); break;
    case 'b': build(); break;
    case 'q': memoize(number<uint8_t>()); break;
    case 'r': memoize(number<uint32_t>()); break;
    case 'h': recall(number<uint8_t>()); break;
    case 'j': recall(number<uint32_t>()); break;
    case 'Q': persistent(); break;
    default: fail("the pickle opcode ", int(op), " is not used by TorchScript archives");
  }
  return false;
}

void Unpickler::protocol() {
  int version = number<uint8_t>();
  if (version != 2) fail("pickle protocol ", version, " is not used by TorchScript archives");
}

void Unpickler::tuple_from_mark() {
  size_t at = mark();
  make_tuple(at + 1);
  std::swap(stack_[at], stack_.back());
  stack_.pop_back();
}

void Unpickler::tuple_of(size_t n) {
  size_t available = stack_.size() - (marks_.empty() ? 0 : marks_.back() + 1);
  if (available < n) fail("the pickle's stack is empty");
  make_tuple(stack_.size() - n);
}

void Unpickler::make_tuple(size_t begin) {
  bool plain = std::all_of(stack_.begin() + ptrdiff_t(begin), stack_.end(),
                           [](const Item& i) { return i.kind == Item::Plain; });
  if (!plain) {
    raw_tuple_.assign(std::make_move_iterator(stack_.begin() + ptrdiff_t(begin)),
                      std::make_move_iterator(stack_.end()));
    stack_.resize(begin);
    Item item;
    item.kind = Item::Global;  // global == nullptr marks the raw tuple
    stack_.push_back(std::move(item));
    return;
  }
  std::vector<Value> values;
  values.reserve(stack_.size() - begin);
  for (size_t i = begin; i < stack_.size(); ++i) values.push_back(std::move(stack_[i].value));
  stack_.resize(begin);
  push(Tuple::make(std::move(values)));
}

std::vector<Item> Unpickler::pop_tuple() {
  Item item = pop();
  if (item.kind == Item::Global && !item.global) return std::move(raw_tuple_);
  if (item.kind != Item::Plain || !item.value.is_tuple()) fail("a tuple is missing");
  std::vector<Item> items;
  for (const Value& v : item.value.as_tuple().items) {
    items.emplace_back();
    items.back().value = v;
  }
  return items;
}

void Unpickler::append() {
  Value v = pop_value();
  top().value.as_list().push(std::move(v));
}

void Unpickler::append_all() {
  std::vector<Value> values = values_above_mark();
  List& list = top().value.as_list();
  for (Value& v : values) list.push(std::move(v));
}

void Unpickler::set_item() {
  Value v = pop_value(), k = pop_value();
  top().value.as_dict().set(k, std::move(v));
}

void Unpickler::set_items() {
  std::vector<Value> values = values_above_mark();
  if (values.size() % 2) fail("a dict key has no value");
  Dict& dict = top().value.as_dict();
  for (size_t i = 0; i < values.size(); i += 2) { dict.set(values[i], std::move(values[i + 1])); }
}

void Unpickler::new_object() {
  std::vector<Item> arguments = pop_tuple();
  Item cls = pop();
  if (cls.kind != Item::Class || !arguments.empty()) {
    fail("NEWOBJ needs a class and no arguments");
  }
  Ref<Object> object = Object::make(cls.cls);
  object->slots.clear();
  push(std::move(object));
}

void Unpickler::build() {
  Value state = pop_value();
  if (!top().value.is_object()) fail("only instances of scripted classes have state");
  Object& object = top().value.as_object();
  ClassType& cls = *object.type;
  if (is_library_class(cls.name)) {
    if (!object.slots.empty()) fail("an instance of ", cls.name, " is built twice");
    object.slots.push_back(std::move(state));
    return;
  }
  if (!state.is_dict() || (hooks_.restores && hooks_.restores(cls))) {
    if (!hooks_.pending) fail("the class ", cls.name, " restores itself by __setstate__");
    hooks_.pending(top().value, std::move(state));
    return;
  }
  if (!object.slots.empty()) fail("an instance of ", cls.name, " is built twice");
  if (!cls.types.empty()) return build_declared(object, state.as_dict());
  bool first = cls.attributes.empty();
  const Dict::Entry* entry;
  for (size_t cursor = 0; state.as_dict().next(&cursor, &entry);) {
    std::string_view name = entry->key.as_string();
    if (first) {
      cls.attributes.emplace_back(name);
    } else if (object.slots.size() >= cls.attributes.size() ||
               cls.attributes[object.slots.size()] != name) {
      fail("instances of ", cls.name, " have different attributes ('", name, "')");
    }
    object.slots.push_back(entry->value);
  }
  if (object.slots.size() != cls.attributes.size()) {
    fail("instances of ", cls.name, " have different attributes");
  }
}

void Unpickler::build_declared(Object& object, Dict& state) {
  const ClassType& cls = *object.type;
  for (const std::string& name : cls.attributes) {
    Value* found = state.find(Value::of_text(name));
    if (!found) fail(cls.name, ".", name, " is missing");
    object.slots.push_back(*found);
  }
}

Value read_pickle(std::string_view bytes, const std::string& what, const PickleHooks& hooks) {
  return Unpickler(bytes, what, hooks).run();
}

}  // namespace scriptlang
