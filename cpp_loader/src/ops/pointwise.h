// Runs a pointwise loop over tensors of any shape, stride and type.
//
// Operands broadcast against each other. Elements are converted to the loop's type before it and to
// the result's type after it, in chunks that stay in the L1 cache. Operands that are contiguous and
// already of the right type are passed to the loop without a copy.
#pragma once

#include "../../kernels/loops.h"
#include "op.h"

namespace scriptlang {

constexpr int kMaxInputs = 4;

// An operand: a tensor, or a number that the program wrote.
struct Input {
  const Tensor* tensor = nullptr;
  Scalar number;

  Input() = default;
  Input(const Tensor& t) : tensor(&t) {}
  Input(Scalar s) : number(s) {}
  // Makes an operand of an argument's value: a tensor, or any number.
  static Input of(const Value& v) {
    return v.is_tensor() ? Input(v.as_tensor()) : Input(Scalar::of(v));
  }
};

// Type promotion as in PyTorch, by three categories: tensors with dimensions decide before zero-dim
// tensors, and these before numbers. A lower category changes the result only where its kind (bool,
// integer, float, complex) ranks above that of the higher one.
class ResultType {
 public:
  void add(const Input& in);
  void add(const Tensor& t) { add(Input(t)); }
  ScalarType get() const;
  // As get(), but integers and bool become the default float type.
  ScalarType get_float() const;

 private:
  ScalarType dimensioned_ = ScalarType::Undefined;
  ScalarType zero_dim_ = ScalarType::Undefined;
  ScalarType number_ = ScalarType::Undefined;
};

ScalarType result_type(const Input& a, const Input& b);
ScalarType float_type(ScalarType t);  // integers and bool to float32

struct Pointwise {
  const kernels::LoopTable* table = nullptr;
  const char* name = "";                        // for "not implemented" messages
  ScalarType compute = ScalarType::Float32;     // the type computed in, which chooses the loop
  ScalarType first = ScalarType::Undefined;     // type of input 0, when not `compute`
  ScalarType produced = ScalarType::Undefined;  // type that the loop writes, when not `compute`
  ScalarType result = ScalarType::Undefined;    // type of a new result, when not `produced`
  const double* params = nullptr;               // kernels::kParams numbers, or null
  int count = 0;
  Input in[kMaxInputs];
  // The inputs are arguments of the operator that it does not use again: the result may reuse the
  // memory of one that has no other owner.
  bool may_reuse = false;
  // Where `compute` is a half type, operands of other types are rounded to it first. If this is
  // set, the last operand is not rounded when it has one element.
  bool last_is_exact = false;
  // The tensor to write (in place, or an out= argument); undefined: a new one is made.
  Tensor out;
};

// Runs the loop; returns p.out, or the new result.
Tensor run(Pointwise& p);

// How the type of the result follows from those of the operands.
enum class Rule {
  kSame,    // the operand's own type; with two operands, their common type
  kFloat,   // as kSame, but integers and bool become float32
  kToBool,  // computed in the common type; the result is bool
};
// Apply an operator with one or two operands. `into`, where defined, is the tensor to write.
Tensor unary_result(const Tensor& self, kernels::Unary op, const char* name, Rule rule,
                    const double* params = nullptr, const Tensor& into = Tensor(),
                    bool may_reuse = false);
Tensor binary_result(const Input& a, const Input& b, kernels::Binary op, const char* name,
                     Rule rule, const double* params = nullptr, const Tensor& into = Tensor(),
                     bool may_reuse = false);
// base to the power of a number; common exponents (2, 3, 0.5, -1, ...) have loops of their own.
Tensor power_of_tensor(const Tensor& base, const Scalar& exponent, const Tensor& into);
// condition ? a : b in the given type.
Tensor where_result(const Tensor& condition, const Input& a, const Input& b, ScalarType type,
                    const Tensor& into = Tensor());

// The rule of in-place operators: raises unless values of type `from` may be written to a tensor of
// type `to`.
void check_can_cast(ScalarType from, ScalarType to);

// Raises unless the tensor may be written: its memory is not read-only, and no two of its elements
// share memory.
void check_writable(const Tensor& t);
void check_not_read_only(const Tensor& t);
// Raises where `out` and `in`, if both are dense, share memory. `same` allows the two to be
// identical, with every element at its own place; otherwise any overlap raises.
void check_apart(const Tensor& out, const Tensor& in, bool same = true);
// Whether the strides are equal, but for dimensions of one element.
bool same_strides(const Tensor& a, const Tensor& b);
bool is_dense(const Tensor& t);  // no gaps or shared elements, in some order of the dimensions
bool overlaps_itself(const Tensor& t);  // an expanded dimension makes elements share memory

// The type whose loops compute for `t`: float32 for half types, which have no arithmetic.
constexpr ScalarType loop_type(ScalarType t) { return is_half(t) ? ScalarType::Float32 : t; }

// Converts a number to the type and writes it to memory at `to`.
void store_number(const Scalar& s, ScalarType type, void* to);

// Writes src, broadcast and converted, into every element of dst.
void copy_into(const Tensor& dst, const Tensor& src);
// The same without checking that dst is writable.
void copy_elements(const Tensor& dst, const Tensor& src);
void fill(const Tensor& dst, const Scalar& value);
// Raises unless a number can be an element of the type.
void check_fits(const Scalar& s, ScalarType type);
// The same, with half types counting as float32.
void check_factor(const Scalar& s, ScalarType type);
Tensor to_contiguous(const Tensor& t);               // `t` itself when it is contiguous
Tensor to_dtype(const Tensor& t, ScalarType dtype);  // `t` itself when it has that type
Tensor contiguous_as(const Tensor& t, ScalarType dtype);

// The shape that two shapes broadcast to; raises PyTorch's error when they do not.
std::vector<int64_t> broadcast_shapes(IntSpan a, IntSpan b);

}  // namespace scriptlang
