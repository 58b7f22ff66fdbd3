// Running a pointwise loop over tensors of any shape, stride and type.
//
// Operands broadcast against each other. Elements are converted to the loop's type on the way in
// and to the result's on the way out, in pieces that stay in the first cache; what is contiguous
// and of the right type already is handed to the loop as it lies.
#pragma once

#include "../../kernels/loops.h"
#include "op.h"

namespace scriptlang {

constexpr int kMaxInputs = 4;

// An operand: a tensor, or a number as the program wrote it.
struct Input {
  const Tensor* tensor = nullptr;
  Scalar number;

  Input() = default;
  Input(const Tensor& t) : tensor(&t) {}
  Input(Scalar s) : number(s) {}
  // The value of an argument: a tensor, or any number.
  static Input of(const Value& v) {
    return v.is_tensor() ? Input(v.as_tensor()) : Input(Scalar::of(v));
  }
};

// PyTorch's three categories: dimensioned tensors decide before zero-dim tensors, these before
// numbers; a lower category only raises the kind (bool, integer, float, complex) of a higher one.
class ResultType {
 public:
  void add(const Input& in);
  void add(const Tensor& t) { add(Input(t)); }
  ScalarType get() const;
  // The same, integers and bool becoming the default float type.
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
  ScalarType compute = ScalarType::Float32;     // type of the operator, chooses the loop
  ScalarType first = ScalarType::Undefined;     // type of input 0 when it is another one
  ScalarType produced = ScalarType::Undefined;  // what the loop writes, when not `compute`
  ScalarType result = ScalarType::Undefined;    // of a fresh result, when not `produced`
  const double* params = nullptr;               // kernels::kParams of them, or null
  int count = 0;
  Input in[kMaxInputs];
  // The inputs are arguments of the operator, not used again: one that nobody else holds may give
  // its memory to the result.
  bool may_reuse = false;
  // Where `compute` is a half type, operands of other types are rounded to it first; not the last
  // one, if this is set and it has one element.
  bool last_is_exact = false;
  // When given, written to (in place, or an out argument); else a fresh tensor is made.
  Tensor out;
};

// Returns p.out, or the fresh result.
Tensor run(Pointwise& p);

// How the type of a result follows from the operands.
enum class Rule {
  kSame,    // the operand's own type; of two operands, the common type
  kFloat,   // the same, integers and bool becoming float32
  kToBool,  // computed in the common type, the result is bool
};
// One operator of one or two operands; `into` is the tensor to write, when there is one.
Tensor unary_result(const Tensor& self, kernels::Unary op, const char* name, Rule rule,
                    const double* params = nullptr, const Tensor& into = Tensor(),
                    bool may_reuse = false);
Tensor binary_result(const Input& a, const Input& b, kernels::Binary op, const char* name,
                     Rule rule, const double* params = nullptr, const Tensor& into = Tensor(),
                     bool may_reuse = false);
// base to the power of a number; exact where that is small.
Tensor power_of_tensor(const Tensor& base, const Scalar& exponent, const Tensor& into);
// condition ? a : b in the given type.
Tensor where_result(const Tensor& condition, const Input& a, const Input& b, ScalarType type,
                    const Tensor& into = Tensor());

// In-place rule: raises unless values of type `from` may be written to a tensor of type `to`.
void check_can_cast(ScalarType from, ScalarType to);

// Raises unless the tensor may be written to: not constant memory, no element twice.
void check_writable(const Tensor& t);
void check_not_read_only(const Tensor& t);
// Raises where elements of the two share memory, though not each with its own; not `same`: at all.
void check_apart(const Tensor& out, const Tensor& in, bool same = true);
// Equal ones in dimensions of more than one element.
bool same_strides(const Tensor& a, const Tensor& b);
bool is_dense(const Tensor& t);  // no gaps, no element twice, in some order of the dimensions
bool overlaps_itself(const Tensor& t);  // an expanded dimension: elements share memory

// The loops' stand-in for a type they have no arithmetic for.
constexpr ScalarType loop_type(ScalarType t) { return is_half(t) ? ScalarType::Float32 : t; }

// Writes a number as an element of the type.
void store_number(const Scalar& s, ScalarType type, void* to);

// Writes src, broadcast and converted, into every element of dst.
void copy_into(const Tensor& dst, const Tensor& src);
void copy_elements(const Tensor& dst, const Tensor& src);  // dst is known to be writable
void fill(const Tensor& dst, const Scalar& value);
// Raises unless a number can be an element of the type.
void check_fits(const Scalar& s, ScalarType type);
void check_factor(const Scalar& s, ScalarType type);  // halves are computed as float32
Tensor to_contiguous(const Tensor& t);                // itself when it is
Tensor to_dtype(const Tensor& t, ScalarType dtype);   // itself when it has it
Tensor contiguous_as(const Tensor& t, ScalarType dtype);

// The shape of operands of these shapes; raises PyTorch's error when they do not broadcast.
std::vector<int64_t> broadcast_shapes(IntSpan a, IntSpan b);

}  // namespace scriptlang
