// The unpickler: a stack machine for the few opcodes and globals that archives use.
#include "pickle.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "values/dict.h"
#include "values/list.h"
#include "values/quantizer.h"

namespace scriptlang {

namespace {

enum class GlobalKind : uint8_t {
  StorageType,
  RebuildTensor,
  RebuildQuantized,
  RebuildParameter,
  OrderedDict,
  Device,
  Size,
  Complex,
  BuildList,
  RestoreTypeTag,
  Class,
};

struct GlobalEntry {
  const char* name;
  GlobalKind kind;
  ScalarType dtype;
};

constexpr ScalarType kNoType = ScalarType::Undefined;
constexpr GlobalEntry kGlobals[] = {
    {"torch._utils _rebuild_tensor_v2", GlobalKind::RebuildTensor, kNoType},
    {"torch._utils _rebuild_qtensor", GlobalKind::RebuildQuantized, kNoType},
    {"torch._utils _rebuild_parameter", GlobalKind::RebuildParameter, kNoType},
    {"collections OrderedDict", GlobalKind::OrderedDict, kNoType},
    {"torch device", GlobalKind::Device, kNoType},
    {"torch Size", GlobalKind::Size, kNoType},
    {"__builtin__ complex", GlobalKind::Complex, kNoType},
    {"builtins complex", GlobalKind::Complex, kNoType},
    {"torch.jit._pickle build_intlist", GlobalKind::BuildList, ScalarType::Int64},
    {"torch.jit._pickle build_doublelist", GlobalKind::BuildList, ScalarType::Float64},
    {"torch.jit._pickle build_boollist", GlobalKind::BuildList, ScalarType::Bool},
    {"torch.jit._pickle build_complexlist", GlobalKind::BuildList, ScalarType::Complex128},
    {"torch.jit._pickle build_tensorlist", GlobalKind::BuildList, ScalarType::Undefined},
    {"torch.jit._pickle restore_type_tag", GlobalKind::RestoreTypeTag, kNoType},
    {"torch DoubleStorage", GlobalKind::StorageType, ScalarType::Float64},
    {"torch FloatStorage", GlobalKind::StorageType, ScalarType::Float32},
    {"torch HalfStorage", GlobalKind::StorageType, ScalarType::Float16},
    {"torch BFloat16Storage", GlobalKind::StorageType, ScalarType::BFloat16},
    {"torch LongStorage", GlobalKind::StorageType, ScalarType::Int64},
    {"torch IntStorage", GlobalKind::StorageType, ScalarType::Int32},
    {"torch ShortStorage", GlobalKind::StorageType, ScalarType::Int16},
    {"torch CharStorage", GlobalKind::StorageType, ScalarType::Int8},
    {"torch ByteStorage", GlobalKind::StorageType, ScalarType::UInt8},
    {"torch UInt16Storage", GlobalKind::StorageType, ScalarType::UInt16},
    {"torch UInt32Storage", GlobalKind::StorageType, ScalarType::UInt32},
    {"torch UInt64Storage", GlobalKind::StorageType, ScalarType::UInt64},
    {"torch BoolStorage", GlobalKind::StorageType, ScalarType::Bool},
    {"torch QInt8Storage", GlobalKind::StorageType, ScalarType::QInt8},
    {"torch QUInt8Storage", GlobalKind::StorageType, ScalarType::QUInt8},
    {"torch QInt32Storage", GlobalKind::StorageType, ScalarType::QInt32},
    {"torch ComplexFloatStorage", GlobalKind::StorageType, ScalarType::Complex64},
    {"torch ComplexDoubleStorage", GlobalKind::StorageType, ScalarType::Complex128},
    {"torch UInt16Storage", GlobalKind::StorageType, ScalarType::UInt16},
    {"torch UInt32Storage", GlobalKind::StorageType, ScalarType::UInt32},
    {"torch UInt64Storage", GlobalKind::StorageType, ScalarType::UInt64},
};

// How tensors are quantized: names that stand for a number each.
struct SchemeEntry {
  const char* name;
  bool has_channels;
};
constexpr SchemeEntry kSchemes[] = {
    {"torch per_tensor_affine", false},
    {"torch per_tensor_symmetric", false},
    {"torch per_channel_affine", true},
    {"torch per_channel_symmetric", true},
    {"torch per_channel_affine_float_qparams", true},
};
constexpr char kCustomClasses[] = "__torch__.torch.classes.";

// What the pickle machine's stack and memo hold.
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

  Value run() {
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
  // Items above the topmost mark; the caller removes them and the mark by drop_to.
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

  bool step(uint8_t op) {
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

  void protocol() {
    int version = number<uint8_t>();
    if (version != 2) fail("pickle protocol ", version, " is not used by TorchScript archives");
  }

  // Tuples may hold storage references and types (persistent ids, arguments of globals), which
  // are no values: such a tuple stays a range of items until it is consumed.
  void tuple_from_mark() {
    size_t at = mark();
    make_tuple(at + 1);
    std::swap(stack_[at], stack_.back());
    stack_.pop_back();
  }
  void tuple_of(size_t n) {
    size_t available = stack_.size() - (marks_.empty() ? 0 : marks_.back() + 1);
    if (available < n) fail("the pickle's stack is empty");
    make_tuple(stack_.size() - n);
  }
  void make_tuple(size_t begin) {
    bool plain = std::all_of(stack_.begin() + long(begin), stack_.end(),
                             [](const Item& i) { return i.kind == Item::Plain; });
    if (!plain) {
      raw_tuple_.assign(std::make_move_iterator(stack_.begin() + long(begin)),
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
  // The items of the tuple on top, whichever form it has.
  std::vector<Item> pop_tuple() {
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

  void append() {
    Value v = pop_value();
    top().value.as_list().push(std::move(v));
  }
  void append_all() {
    std::vector<Value> values = values_above_mark();
    List& list = top().value.as_list();
    for (Value& v : values) list.push(std::move(v));
  }
  void set_item() {
    Value v = pop_value(), k = pop_value();
    top().value.as_dict().set(k, std::move(v));
  }
  void set_items() {
    std::vector<Value> values = values_above_mark();
    if (values.size() % 2) fail("a dict key has no value");
    Dict& dict = top().value.as_dict();
    for (size_t i = 0; i < values.size(); i += 2) { dict.set(values[i], std::move(values[i + 1])); }
  }

  void global() {
    std::string module = line(), name = line();
    std::string full = module + " " + name;
    Item item;
    for (const SchemeEntry& scheme : kSchemes) {
      if (full == scheme.name) return push(Value(int64_t(&scheme - kSchemes)));
    }
    for (const GlobalEntry& entry : kGlobals) {
      if (full != entry.name) continue;
      item.kind = Item::Global;
      item.global = &entry;
      stack_.push_back(std::move(item));
      return;
    }
    std::string qualified = module + "." + name;
    if (hooks_.classes && qualified.compare(0, 9, "__torch__") == 0) {
      item.cls = hooks_.classes(qualified);
      if (item.cls) {
        item.kind = Item::Class;
        stack_.push_back(std::move(item));
        return;
      }
    }
    fail("the file refers to '", qualified,
         "', which TorchScript archives have no need of; "
         "it is refused, nothing of it was run");
  }

  void new_object() {
    std::vector<Item> arguments = pop_tuple();
    Item cls = pop();
    if (cls.kind != Item::Class || !arguments.empty()) {
      fail("NEWOBJ needs a class and no arguments");
    }
    Ref<Object> object = Object::make(cls.cls);
    object->slots.clear();
    push(std::move(object));
  }

  void build() {
    Value state = pop_value();
    if (!top().value.is_object()) fail("only instances of scripted classes have state");
    Object& object = top().value.as_object();
    ClassType& cls = *object.type;
    if (cls.name.compare(0, sizeof kCustomClasses - 1, kCustomClasses) == 0) {
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

  // An instance of a class whose attributes are known: each has a value, in any order.
  void build_declared(Object& object, Dict& state) {
    const ClassType& cls = *object.type;
    for (const std::string& name : cls.attributes) {
      Value* found = state.find(Value::of_text(name));
      if (!found) fail(cls.name, ".", name, " is missing");
      object.slots.push_back(*found);
    }
  }

  void persistent() {
    std::vector<Item> id = pop_tuple();
    bool good = id.size() >= 5 && id[0].kind == Item::Plain && id[0].value.is_string() &&
                id[0].value.as_string() == "storage" && id[1].kind == Item::Global &&
                id[1].global && id[1].global->kind == GlobalKind::StorageType &&
                id[2].value.is_string() && id[4].value.is_int();
    if (!good) fail("a persistent id does not describe a storage");
    if (!hooks_.storage) fail("tensors are not allowed in this record");
    ScalarType dtype = id[1].global->dtype;
    int64_t numel = id[4].value.as_int();
    Storage* storage = hooks_.storage(std::string(id[2].value.as_string()), dtype);
    Item item;
    item.kind = Item::StorageRef;
    item.global = id[1].global;
    try {
      item.value = Tensor::checked_view(storage, dtype, {numel}, {1}, 0);
    } catch (...) {
      storage->release();
      throw;
    }
    storage->release();
    stack_.push_back(std::move(item));
  }

  // ---- calls of the allowed globals

  void reduce() {
    if (stack_.size() >= 2 && stack_[stack_.size() - 2].kind == Item::Class) {
      enum_member();
      return;
    }
    std::vector<Item> arguments = pop_tuple();
    Item callee = pop();
    if (callee.kind != Item::Global || !callee.global) fail("what is called is no function");
    call(*callee.global, arguments);
  }

  // PyTorch reduces an enum's class with the bare value, not with a tuple of it. The name of the
  // member is not in the pickle; that of a class whose members are known is found by the value.
  void enum_member() {
    Value value = pop_value();
    Item cls = pop();
    if (value.is_tuple() && value.as_tuple().items.size() == 1) {
      Value only = value.as_tuple().items[0];
      value = std::move(only);
    }
    if (!value.is_int() && !value.is_double() && !value.is_string()) {
      fail("a member of the enum ", cls.cls->name, " is a ", tag_name(value.tag()));
    }
    std::string name = member_name(*cls.cls, value);
    if (name.empty() && !cls.cls->members.empty()) {
      fail("the enum ", cls.cls->name, " has no member ", to_text(value).substr(0, 60));
    }
    push(Enum::make(cls.cls, std::move(name), std::move(value)));
  }

  // Empty where the class has no such member, or nobody told its members.
  std::string member_name(const ClassType& cls, const Value& value) {
    if (cls.members.empty()) return "";
    Ref<Dict>& names = members_[&cls];
    if (!names) {
      names = Dict::make();
      for (const auto& [member, of] : cls.members) names->set(of, Value(member));
    }
    const Value* found = names->find(value);  // 1, 1.0 and True are one key
    bool fits = found && cls.members[0].second.is_double() == value.is_double() && !value.is_bool();
    return fits ? std::string(found->as_string()) : "";
  }

  void call(const GlobalEntry& function, std::vector<Item>& arguments) {
    auto want = [&](size_t least, size_t most) {
      if (arguments.size() < least || arguments.size() > most) {
        fail("'", function.name, "' is called with ", arguments.size(), " arguments");
      }
      bool first_is_storage = function.kind == GlobalKind::RebuildTensor ||
                              function.kind == GlobalKind::RebuildQuantized;
      for (size_t i = first_is_storage; i < arguments.size(); ++i) {
        if (arguments[i].kind != Item::Plain) fail("a name stands where a value should");
      }
    };
    switch (function.kind) {
      case GlobalKind::RebuildTensor:
        want(6, 7);
        push(rebuild_tensor(arguments, 4, false));
        break;
      case GlobalKind::RebuildQuantized:
        want(6, 7);
        push(rebuild_quantized(arguments));
        break;
      case GlobalKind::RebuildParameter: {
        want(3, 3);
        Tensor t = arguments[0].value.as_tensor();
        t.impl()->requires_grad = arguments[1].value.as_bool();
        push(t);
        break;
      }
      case GlobalKind::OrderedDict:
        want(0, 0);
        push(Dict::make());
        break;
      case GlobalKind::Device:
        want(1, 1);
        push(Value(parse_device(arguments[0].value.as_string())));
        break;
      case GlobalKind::Size:
        want(1, 1);
        push(arguments[0].value);
        break;
      case GlobalKind::Complex:
        want(2, 2);
        push(Value(
            std::complex<double>(arguments[0].value.as_double(), arguments[1].value.as_double())));
        break;
      case GlobalKind::BuildList:
        want(1, 1);
        push(build_list(function.dtype, arguments[0].value));
        break;
      case GlobalKind::RestoreTypeTag:
        want(2, 2);
        restore_type(&arguments[0].value, arguments[1].value.as_string());
        push(arguments[0].value);
        break;
      default: fail("'", function.name, "' cannot be called");
    }
  }

  std::vector<int64_t> int_tuple(const Value& v) {
    const Tuple::Items& items = v.as_tuple().items;
    std::vector<int64_t> out;
    for (const Value& item : items) out.push_back(item.as_int());
    return out;
  }

  Tensor rebuild_quantized(std::vector<Item>& arguments) {
    Tensor t = rebuild_tensor(arguments, 5, true);
    const Tuple::Items& how = arguments[4].value.as_tuple().items;
    int64_t scheme = how.empty() ? -1 : how[0].as_int();
    bool known = scheme >= 0 && scheme < int64_t(sizeof kSchemes / sizeof kSchemes[0]);
    if (!known || how.size() != (kSchemes[scheme].has_channels ? 4u : 3u)) {
      fail("a quantized tensor with the parameters of no scheme");
    }
    Ref<Quantizer> quantizer;
    if (kSchemes[scheme].has_channels) {
      quantizer = Ref<Quantizer>(
          Quantizer::per_channel(how[1].as_tensor(), how[2].as_tensor(), how[3].as_int()));
      if (quantizer->axis >= t.dim() || t.size(quantizer->axis) != quantizer->scales.numel()) {
        fail("the parameters of a quantized tensor do not fit its size");
      }
    } else {
      double scale = how[1].is_int() ? double(how[1].as_int()) : how[1].as_double();
      quantizer = Ref<Quantizer>(Quantizer::per_tensor(scale, how[2].as_int()));
    }
    set_quantizer(t, quantizer.get());
    return t;
  }

  // grad: where the arguments say whether it requires a gradient.
  Tensor rebuild_tensor(std::vector<Item>& arguments, size_t grad, bool quantized) {
    if (arguments[0].kind != Item::StorageRef) fail("a tensor has no storage");
    const Tensor& whole = arguments[0].value.as_tensor();
    if (is_quantized(whole.dtype()) != quantized) {
      fail("a tensor of ", dtype_name(whole.dtype()), " is made as if it were ",
           quantized ? "quantized" : "plain");
    }
    Tensor t = Tensor::checked_view(whole.storage(), whole.dtype(), int_tuple(arguments[2].value),
                                    int_tuple(arguments[3].value), arguments[1].value.as_int());
    // The id's element count bounds the tensor too, not only the record.
    if (t.numel() > 0) {
      int64_t last = t.storage_offset();
      for (int64_t d = 0; d < t.dim(); ++d) last += (t.size(d) - 1) * t.stride(d);
      if (last >= whole.numel()) fail("a tensor reaches beyond its storage");
    }
    t.impl()->requires_grad = arguments[grad].value.as_bool();
    return t;
  }

  Value build_list(ScalarType element, const Value& list) {
    Tag tag = element == ScalarType::Int64        ? Tag::Int
              : element == ScalarType::Float64    ? Tag::Double
              : element == ScalarType::Bool       ? Tag::Bool
              : element == ScalarType::Complex128 ? Tag::Complex
                                                  : Tag::Tensor;
    TypeKind kind = tag == Tag::Int       ? TypeKind::Int
                    : tag == Tag::Double  ? TypeKind::Float
                    : tag == Tag::Bool    ? TypeKind::Bool
                    : tag == Tag::Complex ? TypeKind::Complex
                                          : TypeKind::Tensor;
    for (const Value& item : list.as_list()) {
      if (item.tag() != tag) fail("a list of ", tag_name(tag), " holds a ", tag_name(item.tag()));
    }
    list.as_list().element = Type::make(kind);
    return list;
  }

  void restore_type(Value* value, std::string_view text) {
    TypeRef type = parse_type(text, hooks_.classes);
    if (type->kind == TypeKind::List && value->is_list()) {
      value->as_list().element = type->elements[0];
    } else if (type->kind == TypeKind::Dict && value->is_dict()) {
      value->as_dict().key_type = type->elements[0];
      value->as_dict().value_type = type->elements[1];
    } else {
      fail("the type tag '", text, "' does not fit a ", tag_name(value->tag()));
    }
  }

  std::string_view bytes_;
  const std::string& what_;
  const PickleHooks& hooks_;
  size_t position_ = 0;
  std::vector<Item> stack_;
  std::vector<size_t> marks_;
  std::vector<Item> memo_;
  std::vector<bool> known_;
  std::unordered_map<const ClassType*, Ref<Dict>> members_;  // of enums: value -> name
  std::vector<Item> raw_tuple_;  // at most one lives at a time: it is consumed at once
};

}  // namespace

Value read_pickle(std::string_view bytes, const std::string& what, const PickleHooks& hooks) {
  return Unpickler(bytes, what, hooks).run();
}

}  // namespace scriptlang
