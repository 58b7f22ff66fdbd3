// Calls every operator with arguments that its schema allows but nobody would write: empty and
// zero-dim tensors, odd strides, extreme integers, NaN. An operator may raise; it may not crash.
// Meant for a build with SCRIPTLANG_SANITIZE.
//
//   ASAN_OPTIONS=abort_on_error=1 soak_operators [rounds] [seed] [part of a name]
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <string>

#include "../kernels/parallel.h"
#include "ops/optable.h"

using namespace scriptlang;

namespace {

class Arguments {
 public:
  explicit Arguments(uint64_t seed) : random_(seed) {}

  Value of(const Type& type, const std::string& name) {
    switch (type.kind) {
      case TypeKind::Tensor: return tensor();
      case TypeKind::Int: return integer(name);
      case TypeKind::Bool: return pick(2) == 0;
      case TypeKind::Float: return number();
      case TypeKind::Complex: return std::complex<double>(number(), number());
      case TypeKind::Number: return pick(2) ? Value(number()) : Value(integer(name));
      case TypeKind::String: return text();
      case TypeKind::Device: return Device{};
      case TypeKind::None: return {};
      case TypeKind::Optional: return pick(2) ? Value() : of(*type.elements[0], name);
      case TypeKind::List: {
        std::vector<Value> items;
        for (int n = pick(5); n > 0; --n) items.push_back(of(*type.elements[0], name));
        return List::make(std::move(items), type.elements[0]);
      }
      default: return pick(2) ? Value(tensor()) : Value(integer(name));
    }
  }

  int pick(int n) { return int(random_() % uint64_t(n)); }

 private:
  int64_t integer(const std::string& name) {
    static const int64_t kOdd[] = {std::numeric_limits<int64_t>::max(),
                                   std::numeric_limits<int64_t>::min(),
                                   int64_t{1} << 62, int64_t{1} << 40, -(int64_t{1} << 40),
                                   int64_t{1} << 31, 1000, -1000};
    if (name == "dtype") {
      static const int64_t kTypes[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15, 8, 12, 99};
      return kTypes[pick(15)];
    }
    return pick(12) ? pick(7) - 2 : kOdd[pick(8)];
  }

  double number() {
    static const double kOdd[] = {0.0, -0.0, 1e300, -1e300, 1e-300,
                                  std::numeric_limits<double>::quiet_NaN(),
                                  std::numeric_limits<double>::infinity(),
                                  -std::numeric_limits<double>::infinity()};
    return pick(4) ? double(pick(2000) - 1000) / 500 : kOdd[pick(8)];
  }

  Value text() {
    static const char* kTexts[] = {"none", "tanh", "floor", "trunc", "sum", "mean", "amax",
                                   "reflect", "constant", "ij", "xy", "valid", "same", "ortho", "",
                                   "left", "i,j->ij", "...i,ij->...j", "ii->i", "reduced", "L",
                                   "linear"};
    return kTexts[pick(22)];
  }

  // On memory of exactly its size, so that a sanitizer sees one element too many.
  Value tensor() {
    static const ScalarType kTypes[] = {ScalarType::Float32, ScalarType::Float32,
                                        ScalarType::Float32, ScalarType::Float64,
                                        ScalarType::Int64,   ScalarType::Int64,
                                        ScalarType::Bool,    ScalarType::UInt8,
                                        ScalarType::Float16, ScalarType::BFloat16,
                                        ScalarType::Int32,   ScalarType::Complex64};
    ScalarType type = kTypes[pick(12)];
    int64_t sizes[5], strides[5], extent = 1, numel = 1;
    int dims = pick(6);
    for (int i = 0; i < dims; ++i) sizes[i] = pick(10) ? 1 + pick(4) : 0;
    int order = pick(4);  // 0, 1: contiguous; 2: transposed; 3: with gaps or broadcast
    for (int k = 0; k < dims; ++k) {
      int i = order == 2 ? k : dims - 1 - k;
      strides[i] = order == 3 ? pick(4) : numel;
      numel *= sizes[i] ? sizes[i] : 1;
      if (sizes[i]) extent += (sizes[i] - 1) * strides[i];
    }
    int64_t bytes = extent * itemsize(type);
    char* data = static_cast<char*>(std::malloc(size_t(bytes)));
    if (!data) throw std::bad_alloc();
    fill(data, extent, type);
    Storage* storage = Storage::borrow(data, bytes, [](void* p) { std::free(p); }, data);
    Tensor t = Tensor::on_storage(storage, type, {sizes, dims}, {strides, dims}, 0);
    storage->release();
    return t;
  }

  void fill(char* data, int64_t n, ScalarType type) {
    for (int64_t i = 0; i < n; ++i) {
      char* at = data + i * itemsize(type);
      int64_t whole = pick(30) ? pick(5) - 1 : integer("");
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
        case ScalarType::Int64: *reinterpret_cast<int64_t*>(at) = whole; break;
        case ScalarType::Int32: *reinterpret_cast<int32_t*>(at) = int32_t(whole); break;
        case ScalarType::Bool: *at = char(pick(2)); break;
        default: *at = char(whole);
      }
    }
  }

  std::mt19937_64 random_;
};

// Reads every element, so that a sanitizer sees a result that points outside its memory.
int64_t touch(const Value& v) {
  if (v.is_list() || v.is_tuple()) {
    int64_t sum = 0;
    for (const Value& item : items_of(v)) {
      sum += touch(item);
    }
    return sum;
  }
  if (!v.is_tensor() || v.as_tensor().numel() == 0) return 0;
  const Tensor& t = v.as_tensor();
  int64_t index[kMaxDims] = {}, sum = 0, left = std::min<int64_t>(t.numel(), 100000);
  const char* at = static_cast<const char*>(t.raw());
  for (; left > 0; --left) {
    int64_t offset = 0;
    for (int64_t d = 0; d < t.dim(); ++d) offset += index[d] * t.stride(d);
    for (int64_t b = 0; b < t.itemsize(); ++b) sum += at[offset * t.itemsize() + b];
    for (int64_t d = t.dim() - 1; d >= 0 && ++index[d] == t.size(d); --d) index[d] = 0;
  }
  return sum;
}

const char* last_name = "";
int last_round = 0;

// A sanitizer's report does not say which operator it was.
void tell(int signal_number) {
  std::fprintf(stderr, "in round %d of %s\n", last_round, last_name);
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

}  // namespace

int main(int count, char** arguments) {
  std::signal(SIGABRT, tell);
  std::signal(SIGSEGV, tell);
  std::signal(SIGFPE, tell);
  std::signal(SIGTERM, tell);  // for those that take too long
  int rounds = count > 1 ? std::atoi(arguments[1]) : 20;
  uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1;
  kernels::set_thread_count(2);
  memory::LimitScope limit(int64_t{256} << 20);
  int64_t calls = 0, raised = 0, sum = 0;
  for (int i = 0; i < op_count(); ++i) {
    const OpEntry& entry = op_at(i);
    std::string name(entry.qualified_name());
    if (count > 3 && name.find(arguments[3]) == std::string::npos) continue;
    const Schema& schema = schema_of(entry);
    last_name = entry.text();
    for (int round = 0; round < rounds; ++round) {
      // Each call has its own seed: a failure is repeated by its name and that alone.
      Arguments make(seed + uint64_t(round) * 7919 + std::hash<std::string>()(name));
      std::vector<Value> values, out(schema.returns.size() + 1);
      for (const Argument& a : schema.arguments) {
        bool usual = a.has_default && make.pick(2);
        values.push_back(usual ? a.default_value : make.of(*a.type, a.name));
      }
      Context context;
      context.generator = &default_generator();
      context.print = context.warn = [](const char*, size_t, void*) {};
      last_round = round;
      ++calls;
      try {
        entry.run(context, Args(values.data(), int(values.size())), out.data());
        for (const Value& v : out) sum += touch(v);
      } catch (const Error&) {
        ++raised;
      } catch (const std::bad_alloc&) {
        ++raised;
      } catch (const std::exception& e) {
        std::printf("%s round %d: %s\n", name.c_str(), round, e.what());
        return 1;
      }
    }
  }
  std::printf("%lld calls, %lld raised (%lld)\n", (long long)calls, (long long)raised,
              (long long)sum);
}
