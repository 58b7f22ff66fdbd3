#include "language.h"

#include <cstdio>

#include "values/type.h"
#include "scratch.h"

namespace scriptlang::language {

Value format(const Value* values, int64_t count) {
  const std::string& text = values[0].as_string();
  std::string out;
  int64_t used = 1;
  for (size_t begin = 0;; ++used) {
    size_t hole = text.find("{}", begin);
    memory::ask_to_grow(out, text.size() - begin);
    out.append(text, begin, hole == std::string::npos ? hole : hole - begin);
    if (hole == std::string::npos) return Value(out);
    if (used >= count) {
      raise(ErrorKind::RuntimeError, "Too few arguments for format string: ", text);
    }
    std::string part = to_text(values[used]);
    memory::ask_to_grow(out, part.size());
    out += part;
    begin = hole + 2;
  }
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

void warn(Context& context, const std::string& message) {
  if (context.warn) {
    context.warn(message.data(), message.size(), context.warn_user);
    return;
  }
  std::string line = "UserWarning: " + message + "\n";
  fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace scriptlang::language
