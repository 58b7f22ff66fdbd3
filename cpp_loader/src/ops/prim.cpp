// Operators of the language itself: printing, tuples, optionals, enums, flags, types of tensors.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "optable.h"
#include "language.h"
#include "nested.h"
#include "values/raw_view.h"
#include "values/quantizer.h"

namespace scriptlang {

namespace {

void print(Context& ctx, std::string_view line) {
  if (ctx.print) {
    ctx.print(line.data(), line.size(), ctx.print_user);
  } else {
    fwrite(line.data(), 1, line.size(), stdout);
  }
}

}  // namespace

SL_OP(aten_warn) { language::warn(ctx, args.string(0)); }
SL_OP(prim_Print) {
  std::string line;
  for (int k = 0; k < args.size(); ++k) line += (k ? " " : "") + to_text(args[k]);
  print(ctx, line + "\n");
}
SL_OP(aten__print) { print(ctx, args.string(0)); }
SL_OP(prim_RaiseException) { language::raise_exception(args[0], args[1]); }

SL_OP(prim_TupleIndex) { out[0] = language::tuple_index(args.tuple(0), args.integer(1)); }
SL_OP(prim_unchecked_cast) { out[0] = std::move(args[0]); }
SL_OP(prim_Uninitialized) { out[0] = Value(); }
SL_OP(prim_IfThenElse) { out[0] = args[args.boolean(0) ? 1 : 2]; }
SL_OP(aten___is__) { out[0].set_bool(args[0].same(args[1])); }
SL_OP(aten___isnot__) { out[0].set_bool(!args[0].same(args[1])); }

namespace {
Value unwrap(Value& v) {
  if (v.is_none()) raise(ErrorKind::RuntimeError, "Unwrapping null optional");
  return std::move(v);
}
}  // namespace
SL_OP(aten__unwrap_optional) { out[0] = unwrap(args[0]); }
SL_OP(prim_unchecked_unwrap_optional) { out[0] = unwrap(args[0]); }

SL_OP(prim_EnumName) { out[0] = Value(args[0].as_enum().known_name()); }
SL_OP(prim_EnumValue_int) { out[0] = args[0].as_enum().value; }
SL_OP(prim_EnumValue_float) { out[0] = args[0].as_enum().value; }
SL_OP(prim_EnumValue_str) { out[0] = args[0].as_enum().value; }

SL_OP(prim_TimePoint) {
  out[0].set_int(std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::steady_clock::now().time_since_epoch())
                     .count());
}
namespace {

// The 64-bit FNV-1a hash.
class Hash {
 public:
  void add(std::string_view bytes) {
    for (char c : bytes) total_ = (total_ ^ uint8_t(c)) * 0x100000001b3;
  }
  template <class T>
  void add_number(T number) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &number, sizeof(T));
    add({bytes, sizeof(T)});
  }
  void add_double(double x) {  // gives equal numbers, and all NaN, equal bits
    add_number(std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x + 0.0);
  }
  int64_t value() const { return int64_t(total_); }

 private:
  uint64_t total_ = 0xcbf29ce484222325;
};

// An int is its own hash. Other values have the same hash in every process, and on the Python
// engine.
int64_t hash_of(const Value& v) {
  Hash hash;
  if (v.is_string()) {
    hash.add(v.as_string());
  } else if (v.is_double()) {
    hash.add_double(v.raw_double());
  } else if (v.is_complex()) {
    std::complex<double> z = Scalar::of(v).to_complex();
    hash.add_double(z.real());
    hash.add_double(z.imag());
  } else if (v.tag() == Tag::Tuple) {
    for (const Value& item : v.as_tuple().items) hash.add_number(hash_of(item));
  } else if (v.is_none()) {
    hash.add("None");
  } else {
    return int64_t(v.bits());
  }
  return hash.value();
}

}  // namespace

SL_OP(aten_hash_generic) { out[0].set_int(hash_of(args[0])); }

// ---- flags

SL_OP(aten_is_scripting) { out[0].set_bool(true); }
SL_OP(aten_is_autocast_enabled) { out[0].set_bool(false); }
SL_OP(aten_is_autocast_cpu_enabled) { out[0].set_bool(false); }
SL_OP(aten_has_torch_function) { out[0].set_bool(false); }
SL_OP(aten__get_tracing_state) { out[0].set_bool(false); }
SL_OP(aten_is_vulkan_available) { out[0].set_bool(false); }
// ---- devices

SL_OP(aten_device) { out[0] = Value(parse_device(args.string(0))); }
SL_OP(aten_device_with_index) {
  Device device = parse_device(args.string(0));
  int64_t index = args.integer(1);
  if (index < -1 || index > 127) {
    raise(ErrorKind::RuntimeError, "Device index must be -1 or non-negative, got ", index);
  }
  device.index = int8_t(index);
  out[0] = Value(device);
}
namespace {
// A submodule of a ModuleList or ModuleDict, by its index or key.
Value contained(const Value& container, std::string_view name) {
  SL_CHECK(container.is_object(), "a ModuleList or ModuleDict was expected, got ",
           tag_name(container.tag()));
  const Object& held = container.as_object();
  int64_t slot = held.type->slot(name);
  SL_CHECK(slot >= 0, held.type->name, " has no submodule ", name);
  return held.slots[size_t(slot)];
}
bool is_number(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}
}  // namespace

SL_OP(prim_ModuleContainerIndex_list) {
  int64_t index = args.integer(1);
  if (index < 0 && args[0].is_object()) {
    const std::vector<std::string>& names = args[0].as_object().type->attributes;
    index += std::count_if(names.begin(), names.end(), is_number);
  }
  out[0] = contained(args[0], std::to_string(index));
}
SL_OP(prim_ModuleContainerIndex_dict) { out[0] = contained(args[0], args.string(1)); }

SL_OP(prim_type) {
  Device device = args.device(0);
  device.index = -1;
  out[0] = Value(to_string(device));
}
SL_OP(prim_index) {
  int index = args.device(0).index;
  out[0] = index < 0 ? Value() : Value(int64_t(index));
}

// ---- properties of tensors

SL_OP(prim_NumToTensor_Scalar) { out[0] = language::number_to_tensor(args[0]); }
SL_OP(prim_NumToTensor_bool) { out[0] = language::number_to_tensor(args[0]); }
SL_OP(prim_device) { out[0] = (args.tensor(0), Value(Device())); }
SL_OP(prim_dtype) { out[0].set_int(int64_t(args.tensor(0).dtype())); }
SL_OP(prim_layout) { out[0] = (args.tensor(0), Value(int64_t(0))); }
SL_OP(prim_itemsize) { out[0].set_int(args.tensor(0).itemsize()); }
SL_OP(prim_nbytes) { out[0].set_int(args.tensor(0).nbytes()); }
SL_OP(prim_name) { out[0] = (args.tensor(0), Value()); }
SL_OP(prim_is_cpu) { out[0] = (args.tensor(0), Value(true)); }

SL_OP(prim_is_quantized) { out[0] = Value(is_quantized(args.tensor(0).dtype())); }

#define SL_NEVER(name) \
  SL_OP(prim_is_##name) { out[0] = (args.tensor(0), Value(false)); }
SL_NEVER(cuda)
SL_NEVER(ipu)
SL_NEVER(maia)
SL_NEVER(meta)
SL_NEVER(mkldnn)
SL_NEVER(mps)
SL_NEVER(mtia)
SL_NEVER(sparse)
SL_NEVER(sparse_csr)
SL_NEVER(vulkan)
SL_NEVER(xla)
SL_NEVER(xpu)

// ---- sizes

namespace {
std::vector<int64_t> broadcast(const Ints& a, const Ints& b) {
  int64_t n = std::max(a.size(), b.size());
  std::vector<int64_t> sizes(as_size(n), 1);
  for (int64_t d = n - 1; d >= 0; --d) {
    int64_t ia = d - (n - a.size()), ib = d - (n - b.size());
    int64_t sa = ia >= 0 ? a[ia] : 1, sb = ib >= 0 ? b[ib] : 1;
    if (sa != sb && sa != 1 && sb != 1) {
      raise(ErrorKind::RuntimeError, "The size of tensor a (", sa,
            ") must match the size of tensor b (", sb, ") at non-singleton dimension ", d);
    }
    sizes[size_t(d)] = sa == 1 ? sb : sa;
  }
  return sizes;
}
}  // namespace

SL_OP(aten__infer_size) { out[0] = int_list(broadcast(args.ints(0), args.ints(1))); }
SL_OP(aten_broadcast_shapes) { out[0] = int_list(broadcast(args.ints(0), args.ints(1))); }
SL_OP(aten__size_if_not_equal) { out[0] = equal(args[0], args[1]) ? Value() : std::move(args[0]); }
SL_OP(aten_get_device) { out[0] = int64_t{-1}; }
SL_OP(prim_is_nested) { out[0] = Value(is_nested(args.tensor(0))); }

}  // namespace scriptlang
