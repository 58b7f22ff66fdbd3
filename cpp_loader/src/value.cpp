#include "value.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>

#include "type.h"

namespace scriptlang {

const char* tag_name(Tag tag) {
  static constexpr const char* kNames[] = {"NoneType", "bool",  "int",    "float", "Device",
                                           "complex",  "str",   "Tensor", "List",  "Dict",
                                           "Tuple",    "Object", "Enum",  "Generator",
                                           "Future"};
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
  } else if (kind == "mps" || kind == "xpu" || kind == "xla" || kind == "vulkan" ||
             kind == "hip" || kind == "privateuseone" || kind == "hpu" || kind == "mtia") {
    device.kind = Device::Other;
  } else {
    raise(ErrorKind::RuntimeError, "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, "
          "ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, privateuseone "
          "device type at start of device string: ", std::string(kind));
  }
  if (colon != std::string_view::npos) {
    std::string_view digits = text.substr(colon + 1);
    bool good = !digits.empty() && digits.size() <= 2 &&
                std::all_of(digits.begin(), digits.end(), [](char c) { return isdigit(c); });
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

Value::Value(std::string v) : tag_(Tag::String) {
  memory::charge(int64_t(v.size()));
  String* s = new String;
  s->text = std::move(v);
  counted_ = s;
}

void Value::wrong_tag(Tag wanted) const {
  raise(ErrorKind::TypeError, "expected a value of type ", tag_name(wanted), " but got ",
        tag_name(tag_));
}

namespace {

// A chain of a million nested lists must not be a million nested destructor calls: past a depth
// the objects wait in a queue that the outermost call empties.
constexpr int kDestroyDepth = 64;
thread_local int destroy_depth = 0;
struct Pending {
  Tag tag;
  Counted* object;
};
thread_local std::vector<Pending>* pending = nullptr;

constexpr int64_t kObjectBytes = 256;  // an estimate: slots are few
int64_t tuple_bytes(const Tuple& t) {
  return int64_t(sizeof(Tuple) + t.items.size() * sizeof(Value));
}

void destroy_now(Tag tag, Counted* object) noexcept {
  switch (tag) {
    case Tag::Complex: delete static_cast<ComplexBox*>(object); break;
    case Tag::String: {
      String* s = static_cast<String*>(object);
      memory::uncharge(int64_t(s->text.size()));
      delete s;
      break;
    }
    case Tag::List:
      memory::uncharge(static_cast<List*>(object)->charged);
      delete static_cast<List*>(object);
      break;
    case Tag::Dict:
      memory::uncharge(static_cast<Dict*>(object)->charged);
      delete static_cast<Dict*>(object);
      break;
    case Tag::Tuple:
      memory::uncharge(tuple_bytes(*static_cast<Tuple*>(object)));
      delete static_cast<Tuple*>(object);
      break;
    case Tag::Object:
      memory::uncharge(kObjectBytes);
      delete static_cast<Object*>(object);
      break;
    case Tag::Enum: delete static_cast<Enum*>(object); break;
    case Tag::Generator: delete static_cast<Generator*>(object); break;
    case Tag::Future: delete static_cast<Future*>(object); break;
    default: break;
  }
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
  } else {
    destroy_counted(tag_, counted_);
  }
}

void destroy(List* p) noexcept { destroy_counted(Tag::List, p); }
void destroy(Dict* p) noexcept { destroy_counted(Tag::Dict, p); }
void destroy(Tuple* p) noexcept { destroy_counted(Tag::Tuple, p); }
void destroy(Object* p) noexcept { destroy_counted(Tag::Object, p); }
void destroy(Enum* p) noexcept { destroy_counted(Tag::Enum, p); }
void destroy(Generator* p) noexcept { destroy_counted(Tag::Generator, p); }
void destroy(Future* p) noexcept { destroy_counted(Tag::Future, p); }

Ref<List> List::make(std::vector<Value> items, TypeRef element) {
  Ref<List> list(new List);
  list->items = std::move(items);
  list->element = std::move(element);
  list->charge_growth();
  return list;
}

void List::charge_growth() {
  int64_t bytes = int64_t(sizeof(List) + items.capacity() * sizeof(Value));
  if (bytes <= charged) return;
  memory::charge(bytes - charged);
  charged = bytes;
}

Ref<Tuple> Tuple::make(std::vector<Value> items, TypeRef named) {
  memory::charge(int64_t(sizeof(Tuple) + items.size() * sizeof(Value)));
  Ref<Tuple> tuple(new Tuple);
  tuple->items = std::move(items);
  tuple->named = std::move(named);
  return tuple;
}

Ref<Object> Object::make(ClassRef type) {
  memory::charge(kObjectBytes);
  Ref<Object> object(new Object);
  object->slots.resize(type->attributes.size());
  object->type = std::move(type);
  return object;
}

Ref<Enum> Enum::make(ClassRef type, std::string name, Value value) {
  Ref<Enum> item(new Enum);
  item->type = std::move(type);
  item->name = std::move(name);
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

bool equal_items(const std::vector<Value>& a, const std::vector<Value>& b, int depth);
bool equal_at(const Value& a, const Value& b, int depth);

bool equal_dicts(Dict& a, Dict& b, int depth) {
  if (a.size() != b.size()) return false;
  const Dict::Entry* entry;
  for (size_t cursor = 0; a.next(&cursor, &entry);) {
    Value* other = b.find(entry->key);
    if (!other || !equal_at(entry->value, *other, depth + 1)) return false;
  }
  return true;
}

bool is_number(const Value& v) {
  return v.is_bool() || v.is_int() || v.is_double() || v.is_complex();
}

std::complex<double> number_of(const Value& v) {
  if (v.is_complex()) return v.as_complex();
  return v.is_double() ? v.as_double() : double(v.raw_int());
}

bool equal_at(const Value& a, const Value& b, int depth) {
  if (depth > kMaxNesting) raise(ErrorKind::RuntimeError, "a value is nested too deeply");
  if (a.tag() != b.tag()) {
    return is_number(a) && is_number(b) && number_of(a) == number_of(b);
  }
  switch (a.tag()) {
    case Tag::None: return true;
    case Tag::Double: return a.as_double() == b.as_double();
    case Tag::Complex: return a.as_complex() == b.as_complex();
    case Tag::String: return a.as_string() == b.as_string();
    case Tag::List: return equal_items(a.as_list().items, b.as_list().items, depth);
    case Tag::Tuple: return equal_items(a.as_tuple().items, b.as_tuple().items, depth);
    case Tag::Dict: return equal_dicts(a.as_dict(), b.as_dict(), depth);
    case Tag::Enum:
      return a.as_enum().type->name == b.as_enum().type->name &&
             a.as_enum().name == b.as_enum().name &&
             equal_at(a.as_enum().value, b.as_enum().value, depth + 1);
    default: return a.bits() == b.bits();
  }
}

bool equal_items(const std::vector<Value>& a, const std::vector<Value>& b, int depth) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!equal_at(a[i], b[i], depth + 1)) return false;
  }
  return true;
}

uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0x9e3779b97f4a7c15ull;
  return x ^ (x >> 29);
}

uint64_t hash_of(const Value& key) {
  switch (key.tag()) {
    case Tag::Bool:
    case Tag::Int: return mix(uint64_t(key.raw_int()));
    case Tag::Double: {
      double d = key.as_double();
      bool whole = d >= -9.2e18 && d <= 9.2e18 && d == std::floor(d);
      return mix(whole ? uint64_t(int64_t(d)) : std::hash<double>()(d));
    }
    case Tag::Complex: {
      std::complex<double> c = key.as_complex();
      return mix(std::hash<double>()(c.real()) * 31 + std::hash<double>()(c.imag()));
    }
    case Tag::String: return std::hash<std::string>()(key.as_string());
    case Tag::Device:
    case Tag::Tensor: return mix(key.bits());
    case Tag::Enum: return std::hash<std::string>()(key.as_enum().name);
    default:
      raise(ErrorKind::RuntimeError, "Can't hash IValues with tag '", tag_name(key.tag()), "'");
  }
}

bool same_key(const Value& a, const Value& b) {
  if (a.is_int() && b.is_int()) return a.raw_int() == b.raw_int();
  return equal(a, b);
}

constexpr int32_t kFree = -1, kDeleted = -2;

}  // namespace

bool equal(const Value& a, const Value& b) { return equal_at(a, b, 0); }

// ---- Dict

Ref<Dict> Dict::make(TypeRef key, TypeRef value) {
  Ref<Dict> dict(new Dict);
  dict->key_type = std::move(key);
  dict->value_type = std::move(value);
  return dict;
}

size_t Dict::slot_of(const Value& key, uint64_t hash, bool* found) const {
  size_t mask = table_.size() - 1, at = hash & mask, free_slot = SIZE_MAX;
  for (;; at = (at + 1) & mask) {
    int32_t index = table_[at];
    if (index == kFree) {
      *found = false;
      return free_slot != SIZE_MAX ? free_slot : at;
    }
    if (index == kDeleted) {
      if (free_slot == SIZE_MAX) free_slot = at;
    } else if (entries_[size_t(index)].hash == hash && same_key(entries_[size_t(index)].key, key)) {
      *found = true;
      return at;
    }
  }
}

void Dict::rebuild(size_t buckets) {
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                [](const Entry& e) { return !e.live; }),
                 entries_.end());
  table_.assign(buckets, kFree);
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t at = entries_[i].hash & (buckets - 1);
    while (table_[at] != kFree) at = (at + 1) & (buckets - 1);
    table_[at] = int32_t(i);
  }
}

Value* Dict::find(const Value& key) {
  uint64_t hash = hash_of(key);
  if (live_ == 0) return nullptr;
  bool found;
  size_t at = slot_of(key, hash, &found);
  return found ? &entries_[size_t(table_[at])].value : nullptr;
}

void Dict::set(Value key, Value value) {
  uint64_t hash = hash_of(key);
  // entries_ counts dead ones too, and every dead entry has at most one deleted bucket: there is
  // always a free bucket to end a search at.
  if ((entries_.size() + 1) * 3 > table_.size() * 2) {
    size_t buckets = 8;
    while (size_t(live_ + 1) * 3 > buckets) buckets *= 2;
    if (live_ >= (int64_t(1) << 30)) raise(ErrorKind::MemoryError, "a dict has too many entries");
    rebuild(buckets);
    int64_t bytes = int64_t(buckets * (sizeof(Entry) + sizeof(int32_t)));
    if (bytes > charged) {
      memory::charge(bytes - charged);
      charged = bytes;
    }
  }
  bool found;
  size_t at = slot_of(key, hash, &found);
  if (found) {
    entries_[size_t(table_[at])].value = std::move(value);
    return;
  }
  entries_.push_back({std::move(key), std::move(value), hash, true});
  table_[at] = int32_t(entries_.size() - 1);
  ++live_;
}

bool Dict::erase(const Value& key) {
  uint64_t hash = hash_of(key);
  if (live_ == 0) return false;
  bool found;
  size_t at = slot_of(key, hash, &found);
  if (!found) return false;
  Entry& entry = entries_[size_t(table_[at])];
  table_[at] = kDeleted;
  --live_;
  entry.live = false;
  Value dead_key = std::move(entry.key), dead_value = std::move(entry.value);
  return true;
}

bool Dict::pop_last(Value* key, Value* value) {
  for (size_t i = entries_.size(); i-- > 0;) {
    if (!entries_[i].live) continue;
    *key = entries_[i].key;
    *value = entries_[i].value;
    return erase(*key);
  }
  return false;
}

void Dict::clear() {
  std::vector<Entry> dead = std::move(entries_);
  entries_.clear();
  table_.clear();
  live_ = 0;
}

bool Dict::next(size_t* cursor, const Entry** entry) const {
  while (*cursor < entries_.size()) {
    const Entry& candidate = entries_[(*cursor)++];
    if (candidate.live) {
      *entry = &candidate;
      return true;
    }
  }
  return false;
}

}  // namespace scriptlang
