// Values: destruction without recursion, publication, tuples, objects, comparison.
#include "value.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "dict.h"
#include "kernels/thread.h"
#include "list.h"
#include "plain_text.h"
#include "small_blocks.h"
#include "type.h"

namespace scriptlang {

const char* tag_name(Tag tag) {
  static constexpr const char* kNames[] = {
      "NoneType", "bool", "int",  "float", "Device", "str",  "str",       "complex",
      "Tensor",   "List", "Dict", "Tuple", "Object", "Enum", "Generator", "Future"};
  return kNames[uint32_t(tag)];
}

std::string to_string(Device device) {
  const char* kind = device.kind == Device::Cpu    ? "cpu"
                     : device.kind == Device::Cuda ? "cuda"
                     : device.kind == Device::Meta ? "meta"
                                                   : "privateuseone";
  return device.index < 0 ? kind : concat(kind, ":", int(device.index));
}

Device parse_device(std::string_view text) {
  size_t colon = text.find(':');
  std::string_view kind = text.substr(0, colon);
  Device device;
  if (kind == "cpu") {
    device.kind = Device::Cpu;
  } else if (kind == "cuda") {
    device.kind = Device::Cuda;
  } else if (kind == "meta") {
    device.kind = Device::Meta;
  } else if (kind == "mps" || kind == "xpu" || kind == "xla" || kind == "vulkan" || kind == "hip" ||
             kind == "privateuseone" || kind == "hpu" || kind == "mtia") {
    device.kind = Device::Other;
  } else {
    raise(ErrorKind::RuntimeError,
          "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, "
          "ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, privateuseone "
          "device type at start of device string: ",
          std::string(kind));
  }
  if (colon != std::string_view::npos) {
    std::string_view digits = text.substr(colon + 1);
    bool good = !digits.empty() && digits.size() <= 2 &&
                std::all_of(digits.begin(), digits.end(), is_ascii_digit);
    if (!good) raise(ErrorKind::RuntimeError, "Invalid device string: '", std::string(text), "'");
    device.index = int8_t(std::stoi(std::string(digits)));
  }
  return device;
}

Value::Value(std::complex<double> v) : tag_(Tag::Complex) {
  ComplexBox* box = new ComplexBox;
  box->value = v;
  counted_ = box;
}

void Value::wrong_tag(Tag wanted) const {
  raise(ErrorKind::TypeError, "expected a value of type ", tag_name(wanted), " but got ",
        tag_name(tag_));
}

namespace {

// A chain of a million nested lists must not cause a million nested destructor calls. Beyond this
// depth, objects wait in a queue that the outermost call empties.
constexpr int kDestroyDepth = 64;
SL_THREAD_WORD int destroy_depth = 0;
struct Pending {
  Tag tag;
  Counted* object;
};
SL_THREAD_WORD std::vector<Pending>* pending = nullptr;

// An estimate of the size of an object with few slots; further slots are charged one by one, as a
// program chooses how many there are.
constexpr int64_t kObjectBytes = 256;
constexpr size_t kFewSlots = 8;
int64_t bytes_of(const Object& object) {
  return kObjectBytes + int64_t(object.charged) * int64_t(sizeof(Value));
}

void destroy_now(Tag tag, Counted* object) noexcept {
  switch (tag) {
    case Tag::Complex: delete static_cast<ComplexBox*>(object); break;
    case Tag::String: String::destroy(static_cast<String*>(object)); break;
    case Tag::List: {
      List* list = static_cast<List*>(object);
      list->~List();
      memory::quick::give_small(list, sizeof(List));
      break;
    }
    case Tag::Dict: delete static_cast<Dict*>(object); break;
    case Tag::Tuple: Tuple::destroy(static_cast<Tuple*>(object)); break;
    case Tag::Object:
      memory::uncharge(bytes_of(*static_cast<Object*>(object)));
      delete static_cast<Object*>(object);
      break;
    case Tag::Enum: delete static_cast<Enum*>(object); break;
    case Tag::Generator: delete static_cast<Generator*>(object); break;
    case Tag::Future: delete static_cast<Future*>(object); break;
    default: break;
  }
}

// The highest tag in a tuple. If it is below Tensor, the items contain nothing themselves, and the
// tuple can be destroyed without regard to nesting.
inline Tag highest_tag(const Tuple& tuple) noexcept {
  Tag highest = Tag::None;
  for (const Value& item : tuple.items) highest = std::max(highest, item.tag());
  return highest;
}

void destroy_counted(Tag tag, Counted* object) noexcept {
  if (destroy_depth >= kDestroyDepth) {
    if (!pending) pending = new std::vector<Pending>;
    pending->push_back({tag, object});
    return;
  }
  ++destroy_depth;
  destroy_now(tag, object);
  --destroy_depth;
  if (destroy_depth == 0 && pending) {
    std::vector<Pending>* queue = pending;
    while (!queue->empty()) {
      Pending next = queue->back();
      queue->pop_back();
      destroy_depth = 1;  // so that this loop, not a nested call, empties the queue
      destroy_now(next.tag, next.object);
      destroy_depth = 0;
    }
    pending = nullptr;
    delete queue;
  }
}

}  // namespace

void Value::destroy_payload() noexcept {
  if (tag_ == Tag::Tensor) {
    tensor_.impl()->destroy();
  } else if (tag_ == Tag::String) {
    String::destroy(static_cast<String*>(counted_));  // contains nothing else
  } else {
    Tag highest = tag_ == Tag::Tuple ? highest_tag(raw_tuple()) : Tag::Future;
    if (highest < Tag::Tensor) {
      Tuple::destroy(static_cast<Tuple*>(counted_), highest < kFirstCounted);
    } else {
      destroy_counted(tag_, counted_);
    }
  }
}

// Publishes the value and all that it contains. It uses a work list instead of recursion, as
// nesting may be deep.
void Value::publish_all() const {
  std::vector<Counted*> pending;
  std::vector<Tag> tags;
  auto add = [&](const Value& v) {
    if (!v.counted() || !v.counted_->is_thread_local()) return;
    v.counted_->refs.fetch_and(~kThreadLocal, std::memory_order_relaxed);
    pending.push_back(v.counted_);
    tags.push_back(v.tag_);
  };
  add(*this);
  while (!pending.empty()) {
    Counted* object = pending.back();
    Tag tag = tags.back();
    pending.pop_back();
    tags.pop_back();
    if (tag == Tag::List) {
      const List& list = *static_cast<List*>(object);
      size_t count = list.kind() == List::Kind::Values ? list.size() : 0;
      for (size_t k = 0; k < count; ++k) add(list.values()[k]);
    } else if (tag == Tag::Tuple) {
      for (const Value& item : static_cast<Tuple*>(object)->items) add(item);
    } else if (tag == Tag::Dict) {
      const Dict::Entry* entry;
      for (size_t cursor = 0; static_cast<Dict*>(object)->next(&cursor, &entry);) {
        add(entry->key);
        add(entry->value);
      }
    }
  }
}

void destroy(List* p) noexcept { destroy_counted(Tag::List, p); }
void destroy(Dict* p) noexcept { destroy_counted(Tag::Dict, p); }
void destroy(Tuple* p) noexcept { destroy_counted(Tag::Tuple, p); }
void destroy(Object* p) noexcept { destroy_counted(Tag::Object, p); }
void destroy(Enum* p) noexcept { destroy_counted(Tag::Enum, p); }
void destroy(Generator* p) noexcept { destroy_counted(Tag::Generator, p); }
void destroy(Future* p) noexcept { destroy_counted(Tag::Future, p); }

Ref<Tuple> Tuple::make(std::vector<Value> items, TypeRef named) {
  return make(items.data(), int64_t(items.size()), std::move(named));
}

Ref<Tuple> Tuple::make(Value* first, int64_t count, TypeRef named) {
  Ref<Tuple> tuple = with_room(size_t(count), std::move(named));
  for (Value* end = first + count; first != end;) tuple->add(std::move(*first++));
  return tuple;
}

Ref<Tuple> Tuple::with_room(size_t count, TypeRef named) {
  size_t bytes = Tuple::bytes_of(count);
  memory::quick::charge(int64_t(bytes));
  void* block;
  try {
    block = memory::quick::take_small(bytes);
  } catch (...) {
    memory::quick::uncharge(int64_t(bytes));
    throw;
  }
  Tuple* tuple = ::new (block) Tuple;
  tuple->make_thread_local(memory::quick::runs_now);
  tuple->named = std::move(named);
  return Ref<Tuple>(tuple);
}

void Tuple::destroy(Tuple* tuple, bool plain) noexcept {
  size_t bytes = Tuple::bytes_of(tuple->items.size());
  if (!plain) {
    for (Value& item : tuple->items) item.~Value();
  }
  tuple->~Tuple();
  memory::quick::give_small(tuple, bytes);
  memory::quick::uncharge(int64_t(bytes));
}

Ref<Object> Object::make(ClassRef type) {
  memory::charge(kObjectBytes);
  Ref<Object> object(new Object);
  object->type = std::move(type);
  object->grow(object->type->attributes.size());
  return object;
}

void Object::grow(size_t count) {
  size_t beyond = count > kFewSlots ? count - kFewSlots : 0;
  if (beyond > charged) {
    memory::charge(int64_t(beyond - charged) * int64_t(sizeof(Value)));
    charged = uint32_t(beyond);
  }
  slots.resize(count);
}

const std::string& Enum::known_name() const {
  if (!name.empty()) return name;
  raise(ErrorKind::RuntimeError, "the name of the member ", to_text(value), " of ", type->name,
        " is not known: the archive holds bytecode that does not tell it; save the model again "
        "with scriptlang");
}

Ref<Enum> Enum::make(ClassRef type, std::string name, Value value) {
  Ref<Enum> item(new Enum);
  item->type = std::move(type);
  item->name = std::move(name);
  value.publish();
  item->value = std::move(value);
  return item;
}

Ref<Future> Future::make() { return Ref<Future>(new Future); }

Ref<Generator> Generator::make(uint64_t seed) {
  Ref<Generator> generator(new Generator);
  generator->manual_seed(seed);
  return generator;
}

void Generator::manual_seed(uint64_t new_seed) {
  seed = new_seed;
  engine.seed(uint32_t(new_seed));
  has_next_double = has_next_float = false;
}

namespace {

bool is_number(const Value& v) {
  return v.is_bool() || v.is_int() || v.is_double() || v.is_complex();
}

std::complex<double> number_of(const Value& v) {
  if (v.is_complex()) return v.as_complex();
  return v.is_double() ? v.as_double() : double(v.raw_int());
}

// One comparison. Containers with several references are compared once with each other: a list that
// holds the same list twice, which holds the same list twice, and so on, is small in memory but
// would take exponential time.
class Comparison {
 public:
  bool equal(const Value& a, const Value& b, int depth) {
    if (depth > kMaxNesting) raise(ErrorKind::RuntimeError, "a value is nested too deeply");
    if (a.tag() != b.tag()) { return is_number(a) && is_number(b) && number_of(a) == number_of(b); }
    switch (a.tag()) {
      case Tag::None: return true;
      case Tag::Double: return a.as_double() == b.as_double();
      case Tag::Complex: return a.as_complex() == b.as_complex();
      case Tag::String: return a.bits() == b.bits() || same_text(a.as_string(), b.as_string());
      case Tag::List: {
        bool shared = !a.as_list().is_alone() && !b.as_list().is_alone();
        return once(shared, a, b, depth, [&] { return lists(a.as_list(), b.as_list(), depth); });
      }
      case Tag::Tuple: {
        const Tuple &x = a.as_tuple(), &y = b.as_tuple();
        return once(!x.is_alone() && !y.is_alone(), a, b, depth,
                    [&] { return items(x.items, y.items, depth); });
      }
      case Tag::Dict: {
        bool shared = !a.as_dict().is_alone() && !b.as_dict().is_alone();
        return once(shared, a, b, depth, [&] { return dicts(a.as_dict(), b.as_dict(), depth); });
      }
      case Tag::Enum:
        return a.as_enum().type->name == b.as_enum().type->name &&
               a.as_enum().name == b.as_enum().name &&
               equal(a.as_enum().value, b.as_enum().value, depth + 1);
      default: return a.bits() == b.bits();
    }
  }

 private:
  template <class Compare>
  bool once(bool shared, const Value& a, const Value& b, int depth, const Compare& compare) {
    if (!shared || depth == 0) return compare();
    std::pair<uint64_t, uint64_t> both(a.bits(), b.bits());
    if (equal_.count(both)) return true;
    if (!compare()) return false;
    equal_.insert(both);
    return true;
  }

  template <class Items>
  bool items(const Items& a, const Items& b, int depth) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!equal(a[i], b[i], depth + 1)) return false;
    }
    return true;
  }

  bool lists(const List& a, const List& b, int depth) {
    if (a.kind() == List::Kind::Values && b.kind() == List::Kind::Values) {
      return items(ValueSpan(a.values(), a.size()), ValueSpan(b.values(), b.size()), depth);
    }
    if (a.size() != b.size()) return false;
    if (a.kind() == b.kind()) {
      size_t count = a.size();
      if (a.kind() == List::Kind::Ints) return std::equal(a.ints(), a.ints() + count, b.ints());
      if (a.kind() == List::Kind::Bools) {
        return std::equal(a.bools(), a.bools() + count, b.bools());
      }
      return std::equal(a.floats(), a.floats() + count, b.floats());
    }
    for (size_t k = 0; k < a.size(); ++k) {
      if (!equal(a.get(k), b.get(k), depth + 1)) return false;
    }
    return true;
  }

  bool dicts(Dict& a, Dict& b, int depth) {
    if (a.size() != b.size()) return false;
    const Dict::Entry* entry;
    for (size_t cursor = 0; a.next(&cursor, &entry);) {
      Value* other = b.find(entry->key);
      if (!other || !equal(entry->value, *other, depth + 1)) return false;
    }
    return true;
  }

  std::set<std::pair<uint64_t, uint64_t>> equal_;
};

}  // namespace

bool equal(const Value& a, const Value& b) { return Comparison().equal(a, b, 0); }

}  // namespace scriptlang
