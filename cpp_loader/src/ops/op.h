// What operators are written with.
//
//   SL_OP(aten_add_int) { out[0] = wrap_add(args.integer(0), args.integer(1)); }
//
// defines aten::add.int. `args` holds all arguments of the schema in order (the loader fills in
// defaults). `out` has room for the schema's results and does not overlap the arguments. An
// operator may move an argument out (args[0].take_tensor()); the caller destroys what is left. It
// may throw Error. It must not keep pointers to args or out.
//
// The symbol is the qualified name with "::" and "." turned into "_". tools/generate_ops_def.py
// scans the sources for SL_OP and writes ops.def.
#pragma once

#include <array>
#include <memory>

#include "../../kernels/stop.h"
#include "values/dict.h"
#include "values/list.h"
#include "scalar_math.h"

namespace scriptlang {

// What a call may use. The call owns it and passes it down explicitly.
struct Context {
  int threads = 1;                 // how many threads a kernel may use
  bool grad_enabled = true;        // torch.is_grad_enabled()
  bool records = false;            // whether derivatives are recorded; see autograd/
  bool nested = false;             // part of another call, whose limits apply
  Generator* generator = nullptr;  // default generator for random operators; never null in a run
  void (*print)(const char* text, size_t size, void* user) = nullptr;  // null: stdout
  void* print_user = nullptr;
  void (*warn)(const char* text, size_t size, void* user) = nullptr;  // null: stderr
  void* warn_user = nullptr;
  // Polled by the calling thread; true asks the call to end early.
  bool (*interrupted)(void* user) = nullptr;
  void* interrupted_user = nullptr;
};

// A number of any kind (a "Scalar" argument in schemas).
struct Scalar {
  enum Kind : uint8_t { Bool, Int, Double, Complex } kind = Int;
  int64_t i = 0;
  double d = 0;  // for Complex: the real part
  double imag = 0;

  Scalar() = default;
  Scalar(int64_t v) : kind(Int), i(v), d(double(v)) {}
  Scalar(double v) : kind(Double), i(0), d(v) {}
  Scalar(bool v) : kind(Bool), i(v), d(v) {}
  Scalar(std::complex<double> v) : kind(Complex), d(v.real()), imag(v.imag()) {}
  static Scalar of(const Value& v);  // accepts zero-dim tensors; raises TypeError for others

  bool is_integral(bool with_bool = true) const {
    return kind == Int || (with_bool && kind == Bool);
  }
  // As a real number; raises RuntimeError if the imaginary part is not 0.
  double to_double() const {
    if (imag != 0) [[unlikely]]
      overflow("double");
    return d;
  }
  // As an integer, truncated; raises RuntimeError if int64 cannot hold it.
  int64_t to_int() const {
    if (is_integral()) return i;
    constexpr double kLimit = 9223372036854775808.0;
    if (imag != 0 || !(d >= -kLimit && d < kLimit)) [[unlikely]]
      overflow("int64_t");
    return int64_t(d);
  }
  std::complex<double> to_complex() const { return {d, imag}; }
  bool to_bool() const { return is_integral() ? i != 0 : (d != 0 || imag != 0); }

 private:
  [[noreturn]] static void overflow(const char* type);
};

// An array of int64 copied from a List[int], or one int repeated `broadcast` times. Up to eight are
// stored inline.
class Ints {
 public:
  Ints() = default;
  explicit Ints(const Value& list_or_int, int64_t broadcast = 0);
  Ints(Ints&& o) noexcept : size_(o.size_), heap_(std::move(o.heap_)), inline_(o.inline_) {}
  Ints& operator=(Ints&&) = default;
  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const int64_t* data() const { return heap_ ? heap_.get() : inline_.data(); }
  int64_t* data() { return heap_ ? heap_.get() : inline_.data(); }
  int64_t operator[](int64_t i) const { return data()[i]; }
  int64_t& operator[](int64_t i) { return data()[i]; }
  operator IntSpan() const { return {data(), size_}; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size_; }

 private:
  int64_t size_ = 0;
  std::unique_ptr<int64_t[]> heap_;
  std::array<int64_t, 8> inline_;
};

// The arguments of a call. Accessors check the value's tag and raise TypeError where it does not
// fit.
class Args {
 public:
  Args(Value* values, int count) : values_(values), count_(count) {}
  int size() const { return count_; }  // differs from call to call only for "..." schemas
  Value& operator[](int i) const { return values_[i]; }
  Value* data() const { return values_; }
  bool none(int i) const { return values_[i].is_none(); }

  const Tensor& tensor(int i) const { return values_[i].as_tensor(); }
  // Undefined tensor for None.
  const Tensor& opt_tensor(int i) const;
  int64_t integer(int i) const { return values_[i].as_int(); }
  int64_t integer(int i, int64_t if_none) const { return none(i) ? if_none : integer(i); }
  double number(int i) const;  // a float argument; accepts int as PyTorch does
  double number(int i, double if_none) const { return none(i) ? if_none : number(i); }
  bool boolean(int i) const { return values_[i].as_bool(); }
  bool boolean(int i, bool if_none) const { return none(i) ? if_none : boolean(i); }
  Scalar scalar(int i) const { return Scalar::of(values_[i]); }
  std::string_view string(int i) const { return values_[i].as_string(); }
  // int[N]: a list, or one int repeated `broadcast` times. None gives an empty array.
  Ints ints(int i, int64_t broadcast = 0) const { return Ints(values_[i], broadcast); }
  List& list(int i) const { return values_[i].as_list(); }
  Dict& dict(int i) const { return values_[i].as_dict(); }
  Tuple& tuple(int i) const { return values_[i].as_tuple(); }
  // Tensor[]: raises TypeError unless every element is a tensor.
  std::vector<Tensor> tensors(int i) const;
  // Tensor?[]: None elements become undefined tensors.
  std::vector<Tensor> opt_tensors(int i) const;
  std::vector<double> doubles(int i) const;
  // A ScalarType argument; raises RuntimeError for a number that names no type.
  ScalarType dtype(int i) const;
  ScalarType dtype(int i, ScalarType if_none) const { return none(i) ? if_none : dtype(i); }
  Device device(int i) const { return values_[i].as_device(); }
  // Checks a Device argument: raises RuntimeError unless it is None or the CPU.
  void want_cpu(int i) const;
  // The call's generator: the argument, or the context's default when it is None.
  Generator& generator(int i, Context& ctx) const {
    return none(i) ? *ctx.generator : values_[i].as_generator();
  }

 private:
  Value* values_;
  int count_;
};

Value int_list(IntSpan values);                  // List[int]
Value tensor_list(std::vector<Tensor> tensors);  // List[Tensor]

using OpFn = void (*)(Context& ctx, Args args, Value* out);

#if defined(SL_OP_SCAN)  // see tools/generate_ops_def.py
#define SL_OP(symbol) SL_OP_FOUND(symbol)
#else
#define SL_OP(symbol)                                           \
  void op_##symbol([[maybe_unused]] ::scriptlang::Context& ctx, \
                   [[maybe_unused]] ::scriptlang::Args args,    \
                   [[maybe_unused]] ::scriptlang::Value* out)
#endif

}  // namespace scriptlang
