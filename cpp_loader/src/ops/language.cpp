// Shared by operators of the language: formatted text, indexing, nested lists of tensors.
#include "language.h"

#include <charconv>
#include <cstdio>
#include <cstring>

#include "values/type.h"
#include "scratch.h"

namespace scriptlang::language {

namespace {

// Builds a string from pieces; short ones on the stack.
class Pieces {
 public:
  void add(char c) {
    *room(1) = c;
    ++end_;
  }
  void add(std::string_view piece) {
    if (piece.size() <= kPiece) {
      std::memcpy(room(piece.size()), piece.data(), piece.size());
      end_ += piece.size();
      return;
    }
    flush();
    memory::ask_to_grow(far_, piece.size());
    far_.append(piece);
  }
  void add(const Value& value) {
    if (value.is_text()) return add_bits(value.bits());
    if (value.is_string()) return add(value.as_string());
    if (value.is_int()) {
      if (uint64_t digits = Value::short_digits(value.raw_int())) return add_bits(digits);
      end_ = std::to_chars(room(kPiece), near_ + sizeof near_, value.raw_int()).ptr;
    } else if (value.is_double()) {
      end_ += write_float(room(kPiece), value.raw_double());
    } else {
      add(std::string_view(to_text(value)));
    }
  }
  Value value() {
    if (far_.empty()) return Value::of_fresh(near_, size_t(end_ - near_), near_ + sizeof near_);
    flush();
    return Value(std::move(far_));
  }

 private:
  static constexpr size_t kPiece = 64;
  static_assert(kPiece >= kFloatText, "a number is a piece");
  void add_bits(uint64_t bits) {  // of an inline string
    std::memcpy(room(sizeof bits), &bits, sizeof bits);
    end_ += kInlineText - size_t(bits >> 56);
  }
  char* room(size_t size) {
    if (__builtin_expect(size_t(near_ + sizeof near_ - end_) < size, 0)) flush();
    return end_;
  }
  void flush() {
    memory::ask_to_grow(far_, size_t(end_ - near_));
    far_.append(near_, as_size(end_ - near_));
    end_ = near_;
  }

  char near_[192];
  char* end_ = near_;
  std::string far_;
};

}  // namespace

Value format(const Value* values, int64_t count) {
  std::string_view text = values[0].as_string();
  Pieces out;
  int64_t used = 1;
  for (const char *at = text.data(), *end = at + text.size(); at != end; ++at) {
    if (*at != '{' || at + 1 == end || at[1] != '}') {
      out.add(*at);
      continue;
    }
    ++at;
    if (used >= count) {
      raise(ErrorKind::RuntimeError,
            "Too few arguments for format string: ", values[0].as_string());
    }
    out.add(values[used++]);
  }
  return out.value();
}
void format(Context&, Args args, Value* out) { *out = format(args.data(), args.size()); }

Value text_of(const Value& value) {
  if (value.is_string()) return value;
  if (value.is_int()) return Value::of_digits(value.raw_int());
  if (!value.is_double()) return Value(to_text(value));
  char room[kFloatText];
  return Value::of_text({room, write_float(room, value.raw_double())});
}

const Value& tuple_index(const Tuple& tuple, int64_t index) {
  int64_t size = int64_t(tuple.items.size());
  int64_t at = index < 0 ? index + size : index;
  if (at < 0 || at >= size) raise(ErrorKind::IndexError, "Tuple list index out of range");
  return tuple.items[size_t(at)];
}

const Value& dict_index(Dict& dict, const Value& key) {
  const Value* found = dict.find(key);
  if (!found) {
    std::string text = to_text(key);
    raise(ErrorKind::KeyError, key.is_string() ? "'" + text + "'" : text);
  }
  return *found;
}

void raise_exception(const Value& message, const Value& class_name) {
  Error error(ErrorKind::Raised, to_text(message));
  if (!class_name.is_none()) error.class_name = class_name.as_string();
  throw error;
}

namespace {

Value element(const Tensor& t, int64_t at) {
  switch (t.dtype()) {
    case ScalarType::Float32: return Value(double(t.data<float>()[at]));
    case ScalarType::Float64: return Value(t.data<double>()[at]);
    case ScalarType::Int64: return Value(t.data<int64_t>()[at]);
    case ScalarType::Bool: return Value(t.data<uint8_t>()[at] != 0);
    default: break;
  }
  Scalar s = Scalar::of(Value(t.as_strided(IntSpan(), IntSpan(), t.storage_offset() + at)));
  if (s.kind == Scalar::Complex) return Value(s.to_complex());
  return s.kind == Scalar::Double ? Value(s.d) : Value(s.i);
}

Value nested(const Tensor& t, int64_t dim, int64_t at, const TypeRef& type) {
  if (dim == t.dim()) return element(t, at);
  std::vector<Value> items;
  items.reserve(as_size(t.size(dim)));
  for (int64_t k = 0; k < t.size(dim); ++k) {
    items.push_back(nested(t, dim + 1, at + k * t.stride(dim), type->elements[0]));
  }
  return List::make(std::move(items), type->elements[0]);
}

}  // namespace

Value to_list(const Tensor& t, int64_t dimensions, int64_t code) {
  if (dimensions != t.dim()) {
    raise(ErrorKind::RuntimeError,
          "Output annotation list dimension and runtime tensor dimension "
          "must match for tolist()");
  }
  struct Row {
    TypeKind kind;
    bool fits;
  };
  ScalarType dtype = t.dtype();
  const Row rows[] = {
      {TypeKind::Int, is_integral(dtype, false)},
      {TypeKind::Float, is_floating(dtype)},
      {TypeKind::Bool, dtype == ScalarType::Bool},
      {TypeKind::Complex, is_complex(dtype)},
  };
  if (code < 0 || code > 3 || !rows[code].fits) {
    raise(ErrorKind::RuntimeError,
          "Output annotation element type and runtime tensor element type "
          "must match for tolist(): the tensor is ",
          dtype_name(dtype));
  }
  TypeRef type = Type::make(rows[code].kind);
  for (int64_t d = 0; d < dimensions; ++d) type = Type::make(TypeKind::List, {type});
  return nested(t, 0, 0, type);
}

Value number_to_tensor(const Value& number) {
  switch (number.tag()) {
    case Tag::Bool: return Tensor::scalar(int64_t(number.as_bool()), ScalarType::Bool);
    case Tag::Int: return Tensor::scalar(number.as_int());
    case Tag::Complex: {
      Tensor t = Tensor::empty(IntSpan(), ScalarType::Complex128);
      *t.data<std::complex<double>>() = number.as_complex();
      return t;
    }
    default: return Tensor::scalar(number.as_double(), ScalarType::Float64);
  }
}

void warn(Context& context, std::string_view message) {
  if (context.warn) {
    context.warn(message.data(), message.size(), context.warn_user);
    return;
  }
  std::string line = concat("UserWarning: ", message, "\n");
  fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace scriptlang::language
