// How operators access their arguments: numbers, scalars, lists, optional tensors.
#include "op.h"

#include <algorithm>

#include "recording.h"
#include "values/type.h"

namespace scriptlang {

namespace {

// The element of a one-element tensor, where a number is expected.
Scalar scalar_of_tensor(const Tensor& t) {
  if (is_symbolic(t)) Recording::give_up();
  if (t.numel() != 1) {
    raise(ErrorKind::RuntimeError, "a Tensor with ", t.numel(),
          " elements cannot be converted to Scalar");
  }
  switch (t.dtype()) {
    case ScalarType::UInt8: return int64_t(*t.data<uint8_t>());
    case ScalarType::Int8: return int64_t(*t.data<int8_t>());
    case ScalarType::Int16: return int64_t(*t.data<int16_t>());
    case ScalarType::Int32: return int64_t(*t.data<int32_t>());
    case ScalarType::Int64: return *t.data<int64_t>();
    case ScalarType::UInt16: return int64_t(*t.data<uint16_t>());
    case ScalarType::UInt32: return int64_t(*t.data<uint32_t>());
    case ScalarType::UInt64: return int64_t(*t.data<uint64_t>());
    case ScalarType::Bool: return *t.data<uint8_t>() != 0;
    case ScalarType::Float16: return double(float(*t.data<float16>()));
    case ScalarType::BFloat16: return double(float(*t.data<bfloat16>()));
    case ScalarType::Float32: return double(*t.data<float>());
    case ScalarType::Float64: return *t.data<double>();
    case ScalarType::Complex64: return std::complex<double>(*t.data<std::complex<float>>());
    case ScalarType::Complex128: return *t.data<std::complex<double>>();
    default:
      raise(ErrorKind::RuntimeError, "a tensor of ", dtype_name(t.dtype()),
            " cannot be converted to a number");
  }
}

}  // namespace

void Scalar::overflow(const char* type) {
  raise(ErrorKind::RuntimeError, "value cannot be converted to type ", type, " without overflow");
}

Scalar Scalar::of(const Value& v) {
  switch (v.tag()) {
    case Tag::Bool: return v.as_bool();
    case Tag::Int: return v.as_int();
    case Tag::Double: return v.as_double();
    case Tag::Complex: return v.as_complex();
    case Tag::Tensor: return scalar_of_tensor(v.as_tensor());
    default: raise(ErrorKind::TypeError, "expected a number but got ", tag_name(v.tag()));
  }
}

Ints::Ints(const Value& v, int64_t broadcast) {
  if (v.is_none()) return;
  if (v.is_int()) {
    size_ = broadcast > 0 ? broadcast : 1;
  } else {
    size_ = int64_t(v.as_list().size());
  }
  if (size_ > int64_t(inline_.size())) heap_ = std::make_unique<int64_t[]>(as_size(size_));
  int64_t* to = data();
  if (v.is_int()) {
    std::fill_n(to, size_, v.as_int());
    return;
  }
  const List& list = v.as_list();
  if (list.kind() == List::Kind::Ints) {
    std::copy_n(list.ints(), size_, to);
  } else {
    for (const Value& item : list) *to++ = item.as_int();
  }
  // int[2] with one element stands for that element repeated.
  if (size_ == 1 && broadcast > 1 && broadcast <= int64_t(inline_.size())) {
    std::fill_n(inline_.data(), broadcast, inline_[0]);
    size_ = broadcast;
  }
}

static const Tensor& undefined() {
  static const Tensor* const tensor = new Tensor;  // never destroyed
  return *tensor;
}

const Tensor& Args::opt_tensor(int i) const {
  return none(i) ? undefined() : values_[i].as_tensor();
}

double Args::number(int i) const {
  const Value& v = values_[i];
  if (__builtin_expect(v.is_double(), 1)) return v.raw_double();
  if (v.is_int()) return double(v.raw_int());
  return v.as_double();
}

std::vector<Tensor> Args::tensors(int i) const {
  const List& items = list(i);
  std::vector<Tensor> out;
  out.reserve(items.size());
  if (items.kind() == List::Kind::Values) {
    for (size_t k = 0; k < items.size(); ++k) out.push_back(items.values()[k].as_tensor());
  } else {
    for (const Value& item : items) item.as_tensor();  // raises, naming the item's type
  }
  return out;
}

std::vector<Tensor> Args::opt_tensors(int i) const {
  const List& items = list(i);
  std::vector<Tensor> out;
  out.reserve(items.size());
  if (items.kind() == List::Kind::Values) {
    for (size_t k = 0; k < items.size(); ++k) {
      const Value& item = items.values()[k];
      out.push_back(item.is_none() ? Tensor() : item.as_tensor());
    }
  } else {
    for (const Value& item : items) item.as_tensor();  // raises, naming the item's type
  }
  return out;
}

std::vector<double> Args::doubles(int i) const {
  std::vector<double> out;
  if (none(i)) return out;
  for (const Value& item : list(i)) {
    out.push_back(item.is_int() ? double(item.as_int()) : item.as_double());
  }
  return out;
}

ScalarType Args::dtype(int i) const {
  int64_t number = integer(i);
  if (!is_scalar_type(number)) {
    raise(ErrorKind::RuntimeError, "dtype number ", number, " is not supported");
  }
  return ScalarType(number);
}

void Args::want_cpu(int i) const {
  if (none(i) || device(i).kind == Device::Cpu) return;
  raise(ErrorKind::RuntimeError, "the program asks for device '", to_string(device(i)),
        "'; this engine computes on the CPU");
}

Value int_list(IntSpan values) {
  static const TypeRef kInt = Type::make(TypeKind::Int);
  return List::make(values.data, size_t(values.size), kInt);
}

Value tensor_list(std::vector<Tensor> tensors) {
  static const TypeRef kTensor = Type::make(TypeKind::Tensor);
  Ref<List> list = List::make({}, kTensor);
  list->reserve(tensors.size());
  for (Tensor& t : tensors) list->push(std::move(t));
  return list;
}

}  // namespace scriptlang
