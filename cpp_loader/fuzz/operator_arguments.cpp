// Chooses arguments for an operator from the bytes of a fuzzing input, by its schema.
#include "operator_arguments.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runs.h"

using namespace scriptlang;

namespace fuzz {

Choices::Choices(const uint8_t* data, size_t size)
    : at_(data), end_(data + size), random_(hash_of(data, size)) {}

int Choices::pick(int n) {
  if (at_ == end_) return int(random_() % uint64_t(n));
  return *at_++ % n;
}

namespace {

constexpr int64_t kLargest = 1 << 16;  // elements of an argument

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* n) { return name == n; });
}

bool names_dimension(const std::string& name) {
  return name.compare(0, 3, "dim") == 0 ||
         is_one_of(name, {"axis", "start_dim", "end_dim", "source", "destination"});
}

bool names_indices(const std::string& name) {
  return name.compare(0, 3, "ind") == 0 ||
         is_one_of(name, {"target", "offsets", "batch_sizes", "lengths", "pivots", "sorter"});
}

}  // namespace

OperatorArguments::OperatorArguments(Choices& choices) : choices_(choices) {
  static const ScalarType kTypes[] = {
      ScalarType::Float32, ScalarType::Float32,   ScalarType::Float32,  ScalarType::Float64,
      ScalarType::Int64,   ScalarType::Int32,     ScalarType::Bool,     ScalarType::UInt8,
      ScalarType::Float16, ScalarType::Int16,     ScalarType::BFloat16, ScalarType::Complex64,
      ScalarType::Int8,    ScalarType::Complex128};
  static const TypeKind kElements[] = {TypeKind::Int, TypeKind::Float, TypeKind::String,
                                       TypeKind::Tensor};
  static const int kHostility[] = {0, 0, 10, 10, 50};
  hostility_ = kHostility[pick(5)];
  type_ = kTypes[pick(14)];
  element_ = kElements[pick(4)];
  int dims = pick(6), n = 1 + pick(4);
  bool square = choices_.chance(50);
  for (int k = 0; k < dims; ++k) sizes_.push_back(square ? n : pick(12) ? 1 + pick(4) : 0);
}

std::vector<Value> OperatorArguments::of(const Schema& schema) {
  std::vector<Value> values;
  for (const Argument& a : schema.arguments) {
    bool usual = a.has_default && choices_.chance(40);
    values.push_back(usual ? a.default_value : of(*a.type, a.name));
  }
  return values;
}

Value OperatorArguments::of(const Type& type, const std::string& name) {
  switch (type.kind) {
    case TypeKind::Tensor: return tensor(name);
    case TypeKind::Int: return integer(name);
    case TypeKind::Bool: return pick(2) == 0;
    case TypeKind::Float: return number();
    case TypeKind::Complex: return std::complex<double>(number(), number());
    case TypeKind::Number: return pick(2) ? Value(number()) : Value(integer(name));
    case TypeKind::String: return text();
    case TypeKind::Device: return Device{};
    case TypeKind::None: return {};
    case TypeKind::Optional: return pick(2) ? Value() : of(*type.elements[0], name);
    case TypeKind::List: return list(type.elements[0], name);
    default: break;
  }
  switch (element_) {
    case TypeKind::Int: return integer(name);
    case TypeKind::Float: return number();
    case TypeKind::String: return text();
    default: return tensor(name);
  }
}

int64_t OperatorArguments::integer(const std::string& name) {
  static const int64_t kOdd[] = {std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::min(),
                                 int64_t{1} << 62,
                                 -(int64_t{1} << 62),
                                 int64_t{1} << 40,
                                 -(int64_t{1} << 40),
                                 int64_t{1} << 31,
                                 -(int64_t{1} << 31),
                                 1000,
                                 -1000,
                                 65,
                                 -1,
                                 0};
  if (choices_.chance(hostility_)) return kOdd[pick(13)];
  if (name == "dtype") {
    static const int64_t kTypes[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15, 8, 12, 99};
    return kTypes[pick(15)];
  }
  int dims = int(sizes_.size());
  if (names_dimension(name) && dims) return pick(2 * dims) - dims;
  if (name == "groups") return 1 + pick(2);
  return pick(7) - 1;
}

double OperatorArguments::number() {
  static const double kOdd[] = {0.0,
                                -0.0,
                                1e300,
                                -1e300,
                                1e-300,
                                std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity()};
  return choices_.chance(hostility_) ? kOdd[pick(8)] : double(pick(21) - 10) / 4;
}

Value OperatorArguments::text() {
  static const char* kTexts[] = {
      "none",     "tanh",    "floor",    "trunc",    "sum",   "mean",    "amax",
      "amin",     "prod",    "reflect",  "constant", "ij",    "xy",      "valid",
      "same",     "ortho",   "",         "left",     "right", "i,j->ij", "...i,ij->...j",
      "ii->i",    "reduced", "complete", "L",        "U",     "linear",  "replicate",
      "circular", "fro",     "nuc",      "gelsd"};
  return kTexts[pick(32)];
}

Value OperatorArguments::list(const TypeRef& element, const std::string& name) {
  int dims = int(sizes_.size()), length = pick(4);
  if (name == "size" || name == "shape") length = dims;
  if (is_one_of(name, {"kernel_size", "stride", "padding", "dilation", "output_size"})) {
    length = std::max(dims - 2, 1);
  }
  if (choices_.chance(hostility_)) length = pick(7);
  std::vector<Value> items;
  bool small = element->kind == TypeKind::Int &&
               is_one_of(name, {"kernel_size", "stride", "dilation", "output_size", "size"});
  for (; length > 0; --length) {
    bool plain = small && !choices_.chance(hostility_);
    items.push_back(plain ? Value(int64_t(1 + pick(3))) : of(*element, name));
  }
  return List::make(std::move(items), element);
}

Value OperatorArguments::tensor(const std::string& name) {
  if (!tensors_.empty() && choices_.chance(6)) return tensors_[size_t(pick(int(tensors_.size())))];
  ScalarType type = type_;
  std::vector<int64_t> sizes = sizes_;
  bool is_index = names_indices(name);
  if (is_index) type = ScalarType::Int64;
  if (name == "mask" || name == "condition") type = ScalarType::Bool;
  bool is_vector = is_one_of(name, {"bias", "running_mean", "running_var", "mean", "var"});
  if ((is_index && choices_.chance(40)) || (is_vector && choices_.chance(75))) {
    sizes.assign(1, sizes_.size() > 1 ? sizes_[1] : sizes_.empty() ? 1 : sizes_[0]);
  } else if (name == "out") {
    sizes.assign(1, 0);
  } else if (choices_.chance(15) && !sizes.empty()) {
    sizes[size_t(pick(int(sizes.size())))] = 1;
  }
  if (choices_.chance(hostility_)) {
    static const ScalarType kTypes[] = {ScalarType::Float64, ScalarType::Int64,
                                        ScalarType::Bool,    ScalarType::UInt8,
                                        ScalarType::Float16, ScalarType::Complex64};
    type = kTypes[pick(6)];
    sizes.clear();
    for (int k = pick(7); k > 0; --k) sizes.push_back(pick(8) ? 1 + pick(4) : pick(2) ? 0 : 17);
  }
  tensors_.push_back(laid_out(type, sizes, is_index));
  return tensors_.back();
}

// In one of many orders, on memory of exactly its size, so that one element too many is seen.
Value OperatorArguments::laid_out(ScalarType type, const std::vector<int64_t>& wanted,
                                  bool is_index) {
  std::vector<int64_t> sizes = wanted, strides(wanted.size());
  int64_t extent, numel;
  int order = pick(8);  // 0 to 3: row-major; 4: columns; 5: gaps; 6: expanded; 7: overlapping
  while (true) {
    extent = numel = 1;
    for (size_t k = 0; k < sizes.size(); ++k) {
      size_t i = order == 4 ? k : sizes.size() - 1 - k;
      strides[i] = order == 7 ? pick(4) : order == 6 && pick(2) ? 0 : numel * (order == 5 ? 2 : 1);
      numel *= std::max<int64_t>(sizes[i], 1);
      extent += (std::max<int64_t>(sizes[i], 1) - 1) * strides[i];
    }
    if (numel <= kLargest && extent <= kLargest) break;
    for (int64_t& n : sizes) n = std::min<int64_t>(n, 2);
  }
  bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  int64_t offset = choices_.chance(15) ? 1 + pick(3) : 0;
  int64_t elements = offset + (empty ? 0 : extent);
  Storage* storage = Storage::allocate(elements * itemsize(type));
  fill(static_cast<char*>(storage->data()), elements, type, is_index);
  Tensor t = Tensor::checked_view(storage, type, sizes, strides, offset);
  storage->release();
  return t;
}

void OperatorArguments::fill(char* data, int64_t count, ScalarType type, bool is_index) {
  for (int64_t i = 0; i < count; ++i) {
    char* at = data + i * itemsize(type);
    int64_t whole = is_index ? pick(3) : integer("");
    switch (type) {
      case ScalarType::Float32: *reinterpret_cast<float*>(at) = float(number()); break;
      case ScalarType::Float64: *reinterpret_cast<double*>(at) = number(); break;
      case ScalarType::Float16: *reinterpret_cast<float16*>(at) = float16(float(number())); break;
      case ScalarType::BFloat16:
        *reinterpret_cast<bfloat16*>(at) = bfloat16(float(number()));
        break;
      case ScalarType::Complex64:
        *reinterpret_cast<std::complex<float>*>(at) = {float(number()), float(number())};
        break;
      case ScalarType::Bool: *at = char(pick(2)); break;
      default:
        std::memset(at, 0, size_t(itemsize(type)));
        std::memcpy(at, &whole, std::min<size_t>(sizeof whole, size_t(itemsize(type))));
    }
  }
}

}  // namespace fuzz
