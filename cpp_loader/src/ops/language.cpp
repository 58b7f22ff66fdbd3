#include "language.h"

#include <charconv>
#include <cstdio>
#include <cstring>

#include "values/type.h"
#include "scratch.h"

namespace scriptlang::language {

namespace {

// A text of pieces: a short one lies in the stack.
class Pieces {
 public:
  void add(std::string_view piece) {
    if (far_.empty() && size_ + piece.size() <= sizeof near_) {
      std::memcpy(near_ + size_, piece.data(), piece.size());
      size_ += piece.size();
      return;
    }
    if (far_.empty()) far_.assign(near_, size_);
    memory::ask_to_grow(far_, piece.size());
    far_.append(piece);
  }
  void add(const Value& value) {
    if (value.is_string()) return add(std::string_view(value.as_string()));
    if (!value.is_int()) return add(std::string_view(to_text(value)));
    char digits[24];
    char* end = std::to_chars(digits, digits + sizeof digits, value.raw_int()).ptr;
    add(std::string_view(digits, size_t(end - digits)));
  }
  Value value() {
    return far_.empty() ? Value::of_text({near_, size_}) : Value(std::move(far_));
  }

 private:
  char near_[192];
  size_t size_ = 0;
  std::string far_;
};

}  // namespace

Value format(const Value* values, int64_t count) {
  std::string_view text = values[0].as_string();
  Pieces out;
  int64_t used = 1;
  for (size_t begin = 0, at = 0;;) {
    const void* brace = at < text.size() ? std::memchr(&text[at], '{', text.size() - at) : nullptr;
    if (!brace) {
      out.add(text.substr(begin));
      return out.value();
    }
    at = size_t(static_cast<const char*>(brace) - text.data()) + 1;
    if (at == text.size() || text[at] != '}') continue;
    out.add(text.substr(begin, at - 1 - begin));
    if (used >= count) {
      raise(ErrorKind::RuntimeError, "Too few arguments for format string: ",
            values[0].as_string());
    }
    out.add(values[used++]);
    begin = ++at;
  }
}

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
  items.reserve(size_t(t.size(dim)));
  for (int64_t k = 0; k < t.size(dim); ++k) {
    items.push_back(nested(t, dim + 1, at + k * t.stride(dim), type->elements[0]));
  }
  return List::make(std::move(items), type->elements[0]);
}

}  // namespace

Value to_list(const Tensor& t, int64_t dimensions, int64_t code) {
  if (dimensions != t.dim()) {
    raise(ErrorKind::RuntimeError, "Output annotation list dimension and runtime tensor dimension "
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
    raise(ErrorKind::RuntimeError, "Output annotation element type and runtime tensor element type "
          "must match for tolist(): the tensor is ", dtype_name(dtype));
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
