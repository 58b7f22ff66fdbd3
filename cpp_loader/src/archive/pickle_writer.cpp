// The pickler. It writes opcodes of protocol 2, with a memo for objects that occur several times.
// See pickle_writer.h.
#include "pickle_writer.h"

#include <cstring>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "values/dict.h"
#include "values/list.h"
#include "values/quantizer.h"

namespace scriptlang {

namespace {

constexpr int kMostNested = 1000;
// Tuples are not memoized, as in PyTorch. So a tuple that holds a tuple twice, which holds another
// one twice, and so on, has a text of exponential size, which this limit stops.
constexpr size_t kMostBytes = size_t(1) << 30;

// The name of the class in `torch` for storages of an element type.
const char* storage_name(ScalarType type) {
  switch (type) {
    case ScalarType::UInt8: return "ByteStorage";
    case ScalarType::Int8: return "CharStorage";
    case ScalarType::Int16: return "ShortStorage";
    case ScalarType::Int32: return "IntStorage";
    case ScalarType::Int64: return "LongStorage";
    case ScalarType::Float16: return "HalfStorage";
    case ScalarType::Float32: return "FloatStorage";
    case ScalarType::Float64: return "DoubleStorage";
    case ScalarType::Complex64: return "ComplexFloatStorage";
    case ScalarType::Complex128: return "ComplexDoubleStorage";
    case ScalarType::Bool: return "BoolStorage";
    case ScalarType::QInt8: return "QInt8Storage";
    case ScalarType::QUInt8: return "QUInt8Storage";
    case ScalarType::QInt32: return "QInt32Storage";
    case ScalarType::BFloat16: return "BFloat16Storage";
    case ScalarType::UInt16: return "UInt16Storage";
    case ScalarType::UInt32: return "UInt32Storage";
    case ScalarType::UInt64: return "UInt64Storage";
    default: break;
  }
  raise(ErrorKind::RuntimeError, "archives keep no tensors of ", dtype_name(type));
}

class Pickler {
 public:
  explicit Pickler(const PickleSource& source) : source_(source) {}

  std::string run(const Value& value) {
    out_ = "\x80\x02";
    this->value(value, nullptr);
    out_ += '.';
    return std::move(out_);
  }

 private:
  void value(const Value& v, const Type* type) {
    if (++depth_ > kMostNested) fail("a value is nested too deeply to be kept in an archive");
    if (out_.size() > kMostBytes) fail("what is kept in the archive besides tensors is too large");
    while (type && type->kind == TypeKind::Optional) type = type->elements[0].get();
    switch (v.tag()) {
      case Tag::None: out_ += 'N'; break;
      case Tag::Bool: out_ += v.as_bool() ? '\x88' : '\x89'; break;
      case Tag::Int: integer(v.as_int()); break;
      case Tag::Double: real(v.as_double()); break;
      case Tag::Complex:
        name("builtins", "complex");
        real(v.as_complex().real());
        real(v.as_complex().imag());
        out_ += "\x86R";
        break;
      case Tag::Device:
        name("torch", "device");
        text(to_string(v.as_device()));
        out_ += "\x85R";
        break;
      case Tag::Text:
      case Tag::String: text(v.as_string()); break;
      case Tag::Tensor: once(v, [&] { tensor(v.as_tensor()); }); break;
      case Tag::List: once(v, [&] { list(v.as_list(), type); }); break;
      case Tag::Dict: once(v, [&] { dict(v.as_dict(), type); }); break;
      case Tag::Tuple: tuple(v.as_tuple(), type); break;
      case Tag::Object: once(v, [&] { object(v); }); break;
      case Tag::Enum:
        class_name(*v.as_enum().type);
        value(v.as_enum().value, nullptr);
        out_ += 'R';
        break;
      case Tag::Generator:
      case Tag::Future: fail("a ", tag_name(v.tag()), " cannot be kept in an archive");
    }
    --depth_;
  }

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) {
    raise(ErrorKind::RuntimeError, parts...);
  }

  // ---- leaves

  template <class N>
  void bytes(N number) {
    out_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void integer(int64_t v) {
    if (v >= 0 && v < 256) {
      out_ += 'K';
      bytes(uint8_t(v));
    } else if (v >= 0 && v < 65536) {
      out_ += 'M';
      bytes(uint16_t(v));
    } else if (v == int32_t(v)) {
      out_ += 'J';
      bytes(int32_t(v));
    } else {
      out_ += "\x8a\x08";
      bytes(v);
    }
  }
  void real(double v) {
    uint64_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    out_ += 'G';
    bytes(__builtin_bswap64(bits));
  }
  void text(std::string_view v) {
    if (v.size() > UINT32_MAX) fail("a text is too long to be kept in an archive");
    memoized(texts_, std::string(v), [&] {
      out_ += 'X';
      bytes(uint32_t(v.size()));
      out_ += v;
    });
  }
  void name(const std::string& module, const std::string& name) {
    std::string global = "c" + module + "\n" + name + "\n";
    memoized(globals_, global, [&] { out_ += global; });
  }
  void class_name(const ClassType& cls) {
    const std::string& full = source_.class_name(cls);
    size_t dot = full.rfind('.');
    if (dot == std::string::npos) fail("the class ", full, " is of no module");
    name(full.substr(0, dot), full.substr(dot + 1));
  }

  // ---- the memo. An item that was pushed before is only fetched from the memo.

  template <class Map, class Key, class Push>
  void memoized(Map& memo, const Key& key, Push&& push) {
    auto known = memo.find(key);
    if (known != memo.end()) return numbered('h', 'j', known->second);
    push();
    numbered('q', 'r', count_);
    memo.emplace(key, count_++);
  }
  void numbered(char narrow, char wide, uint32_t index) {
    if (index < 256) {
      out_ += narrow;
      bytes(uint8_t(index));
    } else {
      out_ += wide;
      bytes(index);
    }
  }
  template <class Push>
  void once(const Value& v, Push&& push) {
    if (open_.count(v.bits())) fail("a value that holds itself cannot be kept in an archive");
    kept_.push_back(v);  // it must live, because its address is a key
    memoized(objects_, v.bits(), [&] {
      open_.insert(v.bits());
      push();
      open_.erase(v.bits());
    });
  }

  // ---- containers

  void tuple(const Tuple& v, const Type* type) {
    const Type* named = v.named ? v.named.get() : type;
    bool typed = named && named->elements.size() == v.items.size() &&
                 (named->kind == TypeKind::Tuple || named->kind == TypeKind::NamedTuple);
    size_t n = v.items.size();
    constexpr char kShort[] = {')', '\x85', '\x86', '\x87'};
    if (n > 3) out_ += '(';
    for (size_t k = 0; k < n; ++k) value(v.items[k], typed ? named->elements[k].get() : nullptr);
    out_ += n > 3 ? 't' : kShort[n];
  }
  // Pickles have no element types. PyTorch writes some lists as a call of a builder, and other
  // lists and dicts with a type tag.
  void list(const List& v, const Type* type) {
    TypeRef element = v.element                              ? v.element
                      : type && type->kind == TypeKind::List ? type->elements[0]
                                                             : common_type(v);
    const char* builder = element->kind == TypeKind::Int      ? "build_intlist"
                          : element->kind == TypeKind::Float  ? "build_doublelist"
                          : element->kind == TypeKind::Bool   ? "build_boollist"
                          : element->kind == TypeKind::Tensor ? "build_tensorlist"
                                                              : nullptr;
    if (builder) name("torch.jit._pickle", builder);
    else name("torch.jit._pickle", "restore_type_tag");
    out_ += builder ? "(](" : "](";
    for (size_t k = 0; k < v.size(); ++k) value(v.get(k), element.get());
    out_ += 'e';
    if (builder) out_ += "tR";
    else tag(*Type::make(TypeKind::List, {element}));
  }
  void dict(const Dict& v, const Type* type) {
    bool typed = type && type->kind == TypeKind::Dict;
    TypeRef any = Type::make(TypeKind::Any);
    TypeRef key = v.key_type ? v.key_type : typed ? type->elements[0] : any;
    TypeRef held = v.value_type ? v.value_type : typed ? type->elements[1] : any;
    name("torch.jit._pickle", "restore_type_tag");
    out_ += "}(";
    const Dict::Entry* entry;
    for (size_t cursor = 0; v.next(&cursor, &entry);) {
      value(entry->key, key.get());
      value(entry->value, held.get());
    }
    out_ += 'u';
    tag(*Type::make(TypeKind::Dict, {key, held}));
  }
  void tag(const Type& type) {
    text(to_string(type));
    out_ += "\x86R";
  }
  // The element type of a list that has none: the type of all elements, or Any.
  TypeRef common_type(const List& v) {
    Tag tag = v.empty() ? Tag::None : v.get(0).tag();
    for (size_t k = 0; k < v.size(); ++k) {
      if (v.get(k).tag() != tag) return Type::make(TypeKind::Any);
    }
    switch (tag) {
      case Tag::Bool: return Type::make(TypeKind::Bool);
      case Tag::Int: return Type::make(TypeKind::Int);
      case Tag::Double: return Type::make(TypeKind::Float);
      case Tag::Complex: return Type::make(TypeKind::Complex);
      case Tag::Text:
      case Tag::String: return Type::make(TypeKind::String);
      case Tag::Tensor: return Type::make(TypeKind::Tensor);
      default: return Type::make(TypeKind::Any);
    }
  }

  // ---- tensors, objects

  void integers(IntSpan values) {
    out_ += '(';
    for (int64_t v : values) integer(v);
    out_ += 't';
  }
  void tensor(const Tensor& t) {
    name("torch._utils", t.quantizer() ? "_rebuild_qtensor" : "_rebuild_tensor_v2");
    out_ += '(';
    std::pair<Storage*, ScalarType> storage(t.storage(), t.dtype());
    memoized(storages_, storage, [&] { this->storage(t); });
    integer(t.storage_offset());
    integers(t.sizes());
    integers(t.strides());
    if (t.quantizer()) quantizer(*t.quantizer());
    out_ += t.requires_grad() ? '\x88' : '\x89';
    name("collections", "OrderedDict");
    out_ += ")RtR";
  }
  void storage(const Tensor& t) {
    out_ += '(';
    text("storage");
    name("torch", storage_name(t.dtype()));
    text(source_.storage_key(t));
    text("cpu");
    integer(t.storage()->nbytes() / t.itemsize());
    out_ += "tQ";
  }
  void quantizer(const Quantizer& q) {
    out_ += '(';
    if (q.is_per_tensor()) {
      name("torch", "per_tensor_affine");
      real(q.scale);
      integer(q.zero_point);
    } else {
      if (q.scheme == QuantScheme::Nested) fail("a nested tensor cannot be kept in an archive");
      bool whole = q.scheme == QuantScheme::PerChannel;
      name("torch", whole ? "per_channel_affine" : "per_channel_affine_float_qparams");
      value(Value(q.scales), nullptr);
      value(Value(q.zero_points), nullptr);
      integer(q.axis);
    }
    out_ += 't';
  }
  void object(const Value& v) {
    const Object& object = v.as_object();
    const ClassType& cls = *object.type;
    class_name(cls);
    out_ += ")\x81";
    Value state;
    if (is_library_class(cls.name)) {
      if (object.slots.empty()) fail("an object of ", cls.name, " has no state");
      value(object.slots[0], nullptr);
    } else if (source_.state(v, &state)) {
      value(state, nullptr);
    } else {
      out_ += "}(";
      for (size_t k = 0; k < object.slots.size() && k < cls.attributes.size(); ++k) {
        text(cls.attributes[k]);
        value(object.slots[k], k < cls.types.size() ? cls.types[k].get() : nullptr);
      }
      out_ += 'u';
    }
    out_ += 'b';
  }

  const PickleSource& source_;
  std::string out_;
  uint32_t count_ = 0;
  int depth_ = 0;
  std::unordered_map<std::string, uint32_t> texts_, globals_;
  std::unordered_map<uint64_t, uint32_t> objects_;
  std::map<std::pair<Storage*, ScalarType>, uint32_t> storages_;
  std::unordered_set<uint64_t> open_;
  std::vector<Value> kept_;
};

}  // namespace

std::string write_pickle(const Value& value, const PickleSource& source) {
  return Pickler(source).run(value);
}

}  // namespace scriptlang
