// The globals that the unpickler allows, and what a call of each makes: tensors, lists, devices.
#include "unpickler.h"
#include "values/list.h"
#include "values/quantizer.h"
#include "values/dict.h"

namespace scriptlang {

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

// A global. `dtype`: the element type of a storage, or of the list that a builder makes.
struct GlobalEntry {
  const char* name;
  GlobalKind kind;
  ScalarType dtype;
};

namespace {

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
};

// Schemes of quantization. In a pickle each is a global; the unpickler pushes its index here.
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

}  // namespace

void Unpickler::global() {
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

void Unpickler::persistent() {
  std::vector<Item> id = pop_tuple();
  bool good = id.size() >= 5 && id[0].kind == Item::Plain && id[0].value.is_string() &&
              id[0].value.as_string() == "storage" && id[1].kind == Item::Global && id[1].global &&
              id[1].global->kind == GlobalKind::StorageType && id[2].value.is_string() &&
              id[4].value.is_int();
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

void Unpickler::reduce() {
  if (stack_.size() >= 2 && stack_[stack_.size() - 2].kind == Item::Class) {
    enum_member();
    return;
  }
  std::vector<Item> arguments = pop_tuple();
  Item callee = pop();
  if (callee.kind != Item::Global || !callee.global) fail("what is called is no function");
  call(*callee.global, arguments);
}

void Unpickler::enum_member() {
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

std::string Unpickler::member_name(const ClassType& cls, const Value& value) {
  if (cls.members.empty()) return "";
  Ref<Dict>& names = members_[&cls];
  if (!names) {
    names = Dict::make();
    for (const auto& [member, of] : cls.members) names->set(of, Value(member));
  }
  const Value* found = names->find(value);  // 1, 1.0 and True are equal keys
  bool fits = found && cls.members[0].second.is_double() == value.is_double() && !value.is_bool();
  return fits ? std::string(found->as_string()) : "";
}

void Unpickler::call(const GlobalEntry& function, std::vector<Item>& arguments) {
  auto want = [&](size_t least, size_t most) {
    if (arguments.size() < least || arguments.size() > most) {
      fail("'", function.name, "' is called with ", arguments.size(), " arguments");
    }
    bool first_is_storage =
        function.kind == GlobalKind::RebuildTensor || function.kind == GlobalKind::RebuildQuantized;
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

std::vector<int64_t> Unpickler::int_tuple(const Value& v) {
  const Tuple::Items& items = v.as_tuple().items;
  std::vector<int64_t> out;
  for (const Value& item : items) out.push_back(item.as_int());
  return out;
}

Tensor Unpickler::rebuild_quantized(std::vector<Item>& arguments) {
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

Tensor Unpickler::rebuild_tensor(std::vector<Item>& arguments, size_t grad, bool quantized) {
  if (arguments[0].kind != Item::StorageRef) fail("a tensor has no storage");
  const Tensor& whole = arguments[0].value.as_tensor();
  if (is_quantized(whole.dtype()) != quantized) {
    fail("a tensor of ", dtype_name(whole.dtype()), " is made as if it were ",
         quantized ? "quantized" : "plain");
  }
  Tensor t = Tensor::checked_view(whole.storage(), whole.dtype(), int_tuple(arguments[2].value),
                                  int_tuple(arguments[3].value), arguments[1].value.as_int());
  // The tensor must also stay inside of the number of elements in the persistent id, which may be
  // less than the record has.
  if (t.numel() > 0) {
    int64_t last = t.storage_offset();
    for (int64_t d = 0; d < t.dim(); ++d) last += (t.size(d) - 1) * t.stride(d);
    if (last >= whole.numel()) fail("a tensor reaches beyond its storage");
  }
  t.impl()->requires_grad = arguments[grad].value.as_bool();
  return t;
}

Value Unpickler::build_list(ScalarType element, const Value& list) {
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

void Unpickler::restore_type(Value* value, std::string_view text) {
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

}  // namespace scriptlang
