// Register code: what a verified function runs as.
//
// A frame is one run of slots: the function's registers, its stack (whose depth is known at every
// instruction, so that each stack position is a slot), its small constants, spare slots. A step
// names slots by their byte offset in the frame. Slots are always whole Values, so that a frame
// can be dropped at any step; but a step on ints, floats and bools is made only where the tags of
// its operands are proven, and neither looks at them nor counts references.
//
// Invariants between steps (a value is *counted* if it has a reference count):
// - A stack slot above the current depth holds no counted value.
// - A typed step writes only to slots that hold no counted value.
// - Slots of constants are never written to or moved from. The function owns the constants; a frame
//   holds copies of their bytes and does not count references to them.
// - Borrowed slots lie behind the constants. SL_BORROWED_GETTERS write them, as bytes that the
//   frame does not count either.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/op.h"
#include "ops/scalar_math.h"

namespace scriptlang {
struct Function;
struct OperatorUse;
}  // namespace scriptlang

namespace scriptlang::lower {

// X(name, kind of both operands, kind of the result, result of a and b)
// clang-format off
#define SL_BINARY_STEPS(X)                                      \
  X(ADD_INT, int, int, scalars::wrap_add(a, b))                 \
  X(SUB_INT, int, int, scalars::wrap_sub(a, b))                 \
  X(MUL_INT, int, int, scalars::wrap_mul(a, b))                 \
  X(AND_INT, int, int, a & b)                                   \
  X(OR_INT, int, int, a | b)                                    \
  X(XOR_INT, int, int, a ^ b)                                   \
  X(SHL_INT, int, int, scalars::shift_left(a, b))               \
  X(SHR_INT, int, int, scalars::shift_right(a, b))              \
  X(MIN_INT, int, int, b < a ? b : a)                           \
  X(MAX_INT, int, int, b > a ? b : a)                           \
  X(DIV_INT, int, double, double(a) / double(b))                \
  X(ADD_FLOAT, double, double, a + b)                           \
  X(SUB_FLOAT, double, double, a - b)                           \
  X(MUL_FLOAT, double, double, a * b)                           \
  X(DIV_FLOAT, double, double, a / b)                           \
  X(FLOORDIV_FLOAT, double, double, scalars::floordiv(a, b))    \
  X(MOD_FLOAT, double, double, scalars::remainder(a, b))        \
  X(MIN_FLOAT, double, double, a < b ? a : b)                   \
  X(MAX_FLOAT, double, double, a > b ? a : b)                   \
  X(AND_BOOL, bool, bool, a && b)                               \
  X(OR_BOOL, bool, bool, a || b)                                \
  X(NE_BOOL, bool, bool, a != b)                                \
  X(EQ_BOOL, bool, bool, a == b)
// clang-format on

// The same for steps that may raise an error.
// clang-format off
#define SL_RAISING_STEPS(X)                                     \
  X(FLOORDIV_INT, int, int, scalars::floordiv(a, b))            \
  X(MOD_INT, int, int, scalars::remainder(a, b))                \
  X(POW_FLOAT, double, double, scalars::power(a, b))
// clang-format on

// Comparisons. Each has two more variants: a branch that is taken if it holds (JUMP_LT_INT), and
// one that is taken if it does not hold (JUMP_NOT_LT_INT).
// clang-format off
#define SL_COMPARE_STEPS(X)                                     \
  X(LT_INT, int, a < b) X(LE_INT, int, a <= b)                  \
  X(GT_INT, int, a > b) X(GE_INT, int, a >= b)                  \
  X(EQ_INT, int, a == b) X(NE_INT, int, a != b)                 \
  X(LT_FLOAT, double, a < b) X(LE_FLOAT, double, a <= b)        \
  X(GT_FLOAT, double, a > b) X(GE_FLOAT, double, a >= b)        \
  X(EQ_FLOAT, double, a == b) X(NE_FLOAT, double, a != b)
// clang-format on

// Steps on an int and an int constant. Their field `c` is the constant itself: see
// hold_constants().
// clang-format off
#define SL_CONSTANT_STEPS(X)                                    \
  X(ADD_INT, scalars::wrap_add(a, b))                           \
  X(SUB_INT, scalars::wrap_sub(a, b))                           \
  X(MUL_INT, scalars::wrap_mul(a, b))                           \
  X(AND_INT, a & b)                                             \
  X(SHR_INT, a >> b)                                            \
  X(FLOORDIV_INT, scalars::Divisor::quotient(a, pc->inverse, pc->x))                          \
  X(MOD_INT, scalars::Divisor::remainder(a, b, pc->inverse, pc->x))
#define SL_CONSTANT_COMPARES(X)                                 \
  X(LT_INT, a < b) X(LE_INT, a <= b)                            \
  X(GT_INT, a > b) X(GE_INT, a >= b)                            \
  X(EQ_INT, a == b) X(NE_INT, a != b)
// clang-format on

// Tests of counted values: steps that give a bool, from operands b and c. Each has a variant that
// branches if the test fails; such a branch is never a back edge, so it accounts for no work.
// clang-format off
#define SL_TEST_STEPS(X)                                        \
  X(DICT_HAS, B.as_dict().find(C) != nullptr)                   \
  X(STRING_EQ, same_text(B, C))                                 \
  X(STRING_NE, !same_text(B, C))                                \
  X(STRING_LT, order_of(B, C) < 0)                              \
  X(STRING_LE, order_of(B, C) <= 0)                             \
  X(STRING_GT, order_of(B, C) > 0)                              \
  X(STRING_GE, order_of(B, C) >= 0)                             \
  X(IS, B.same(C))                                              \
  X(IS_NOT, !B.same(C))
// clang-format on

// X(name, kind of the operand, kind of the result, result of a)
// clang-format off
#define SL_UNARY_STEPS(X)                                       \
  X(NEG_INT, int, int, scalars::wrap_sub(0, a))                 \
  X(NEG_FLOAT, double, double, -a)                              \
  X(ABS_INT, int, int, scalars::wrap_abs(a))                    \
  X(ABS_FLOAT, double, double, std::fabs(a))                    \
  X(NOT_BOOL, bool, bool, !a)                                   \
  X(INT_TO_FLOAT, int, double, double(a))                       \
  X(INT_TO_BOOL, int, bool, a != 0)                             \
  X(FLOAT_TO_INT, double, int, scalars::truncate(a))            \
  X(FLOAT_TO_BOOL, double, bool, a != 0)                        \
  X(BOOL_TO_INT, bool, int, int64_t(a))                         \
  X(BOOL_TO_FLOAT, bool, double, double(a))                     \
  X(SQRT_FLOAT, double, double, std::sqrt(a))
// clang-format on

// Steps that do what the instruction of the same name does, on the stack slots from `a` on. These
// make values from values and need nothing of the machine.
// clang-format off
#define SL_PLAIN_STEPS(X)                                                                \
  X(LIST_UNPACK) X(TUPLE_UNPACK) X(DICT_CONSTRUCT) X(CREATE_OBJECT) X(ISINSTANCE)         \
  X(TUPLE_SLICE) X(FORMAT) X(DEVICE) X(TO_LIST) X(NUM_TO_TENSOR) X(IS_CUDA)
// clang-format on

// All steps of that kind. Those besides SL_PLAIN_STEPS concern the machine: calls, futures, errors,
// results.
// clang-format off
#define SL_STACK_STEPS(X)                                                                \
  SL_PLAIN_STEPS(X) X(RAISE_EXCEPTION) X(WARN) X(INTERFACE_CALL) X(ENTER)                \
  X(EXIT) X(FORK) X(AWAITABLE) X(WAIT) X(RET) X(OP_MISSING) X(FUSED)
// clang-format on

// A getter: a step that reads a value out of a container. Its variants for numbers raise TypeError
// if the value is of another type. All of them drop the old value of the result's slot.
// clang-format off
#define SL_GETTER(X, name, operands) \
  X(name, operands) X(name##_INT, operands) X(name##_FLOAT, operands) X(name##_BOOL, operands)
// clang-format on

// Getters whose result the next step only reads. The value is borrowed from its container: its
// bytes are copied to a borrowed slot, and no reference is counted or dropped.
// clang-format off
#define SL_BORROWED_GETTERS(X)                                      \
  X(LIST_GET_BORROWED, "abc") X(ROW_GET_BORROWED, "abcs")       \
  X(DICT_GET_BORROWED, "abc") X(ATTRIBUTE_BORROWED, "abx")      \
  X(TUPLE_AT_BORROWED, "abc") X(PART_GET_BORROWED, "abcs")      \
  X(DICT_GET_OR_BORROWED, "abcs")
// clang-format on

// X(suffix, type): the element types that lists store without tags; each has typed steps.
#define SL_NUMBERS(X) X(INT, int64_t) X(FLOAT, double) X(BOOL, bool)

// All other steps, with their operands in the order in which they are printed. The letters a b c
// are slots; s is the slot in the field x, y the slot in the field y; x and n (the field c) are
// numbers; j is the distance of a jump, in the field x.
// "taken when it is counted": a counted operand is moved, so its slot is None afterwards.
// clang-format off
#define SL_OTHER_STEPS(X)                                                                         \
  X(COPY_RAW, "ab")            /* a = b; neither is counted */                                    \
  X(COPY, "ab")                /* a = b */                                                        \
  X(MOVE, "ab")                /* a = b; b = None */                                              \
  X(CALL, "axn")               /* a = callee(arguments, laid out by the c moves from x on) */     \
  X(CALL_PROVEN, "axn")        /* the same, where the numbers among the arguments are proven */  \
  X(CONSTANT, "ax")            /* a = constant x of the function */                               \
  X(RESET, "a")                /* a = None */                                                     \
  X(FILL, "xn")                /* does the moves x, ..., x + c - 1 of Code::fills */              \
  X(SHIFT, "abn")              /* moves c values from the slots at b down to those at a */        \
  X(GUARD_INT, "a")            /* TypeError unless a is an int */                                 \
  X(GUARD_BOOL, "a")                                                                              \
  X(GUARD_FLOAT, "a")          /* a becomes a float; TypeError unless it is a number */           \
  X(JUMP, "j")                 /* go x steps on */                                                \
  X(JUMP_BACK, "j")            /* the same, and account for `work` instructions */                \
  X(JUMP_TRUE, "bj")           /* go x steps on if the bool b holds; account for `work` */        \
  X(JUMP_FALSE, "bj")                                                                             \
  X(COUNT, "cabj")             /* if int a < int b: c = a, a = a + 1, go x steps on, account */   \
  X(OP, "ax")                  /* a = operator of call x */                                       \
  X(OP_BORROWED, "ax")             /* the same; the operator borrows its arguments */             \
  X(OP_BORROWED_ONE, "abx")        /* the same for one argument b, borrowed in its slot */        \
  X(OP_MANY, "ax")             /* operator of call x; results go to the slots from a on */        \
  X(OP_RECORDED, "ax")         /* the same, with its derivative recorded */                       \
  X(FLOAT_CALL, "ab")          /* a = function(b) */                                              \
  X(FLOAT_CALL_TWO, "abc")     /* a = function(b, c) */                                           \
  X(TO_FLOAT, "ab")            /* a = float(b), of a Scalar */                                    \
  X(TO_INT, "ab")              /* a = int(b), of a Scalar */                                      \
  X(FLOOR, "ab")               /* a = the largest int <= float b */                               \
  X(CEIL, "ab")                                                                                   \
  X(DERIVE_INDEX, "abcs")      /* a = c + b * x */                                                \
  X(RANGE_LENGTH, "abcs")      /* a = len(range(b, c, x)) */                                      \
  SL_GETTER(X, LIST_GET, "abc")      /* a = b[int c] */                                           \
  SL_GETTER(X, ROW_GET, "abcs")      /* a = b[int c][int x] */                                    \
  X(LIST_SET, "abc")           /* a[int b] = c, which is taken when it is counted */              \
  X(LIST_SET_INT, "abc")       /* the same for an int c */                                        \
  X(LIST_SET_FLOAT, "abc")                                                                        \
  X(LIST_SET_BOOL, "abc")                                                                         \
  X(ROW_SET, "abcs")           /* a[int b][int x] = c, which is taken when it is counted */       \
  X(ROW_SET_INT, "abcs")       /* the same for an int c */                                        \
  X(ROW_SET_FLOAT, "abcs")                                                                        \
  X(ROW_SET_BOOL, "abcs")                                                                         \
  X(LIST_APPEND, "ab")         /* a.append(b), which is taken when it is counted */               \
  X(LIST_APPEND_INT, "ab")     /* the same for an int b */                                        \
  X(LIST_APPEND_FLOAT, "ab")                                                                      \
  X(LIST_APPEND_BOOL, "ab")                                                                       \
  X(LIST_LEN, "ab")            /* a = len(b) */                                                   \
  X(STRING_LEN, "ab")                                                                             \
  X(DICT_LEN, "ab")                                                                               \
  SL_GETTER(X, DICT_GET, "abc")      /* a = b[c] */                                               \
  SL_GETTER(X, DICT_GET_OR, "abcs")  /* a = b.get(c, x) */                                        \
  X(DICT_SET, "abc")           /* a[b] = c, which is taken when it is counted */                  \
  SL_GETTER(X, ATTRIBUTE, "abx")     /* a = slot x of object b */                                 \
  X(SET_ATTRIBUTE, "abx")      /* slot x of object a = b, which is taken when it is counted */    \
  SL_GETTER(X, TUPLE_AT, "abc")      /* a = b[int c] */                                           \
  SL_GETTER(X, PART_GET, "abcs")     /* a = b[int c][int x], of a list of tuples */               \
  X(TUPLE, "axn")              /* a = a tuple of items, laid out by the c moves from x on */      \
  X(LIST, "axn")               /* a = a list of them */                                           \
  X(UNPACK, "bxn")             /* stores the parts of tuple b by the c moves from x on */        \
  X(UNPACK_LAST, "bxn")        /* the same; takes b */                                            \
  X(UNPACK_AT, "bcx")          /* the same for b[int c], by the y moves from x on */              \
  X(STRING_AT, "abc")          /* a = b[int c] */                                                 \
  X(STRING_SLICE, "abcs")      /* a = b[c:x], of ints or None */                                  \
  X(STRING_ADD, "abc")         /* a = b + c */                                                    \
  X(STRING_APPEND, "abc")      /* the same; takes b, which may grow in place */                   \
  X(STRING_PREPEND, "abc")     /* the same; takes c */                                            \
  X(ORD, "ab")                 /* a = ord(b) */                                                   \
  X(CHR, "ab")                 /* a = chr(b) */                                                   \
  X(STR, "ab")                 /* a = str(b) */                                                   \
  SL_BORROWED_GETTERS(X)                                                                          \
  X(CHARACTER_EQ, "abcsy")     /* a = b[int c] == x[int y] */                                     \
  X(CHARACTER_NE, "abcsy")                                                                        \
  X(JUMP_NOT_CHARACTER_EQ, "bcayj") /* go x steps on unless b[int c] == a[int y] */               \
  X(JUMP_NOT_CHARACTER_NE, "bcayj")                                                               \
  X(RET_NUMBER, "a")           /* RET of a number; the frame holds no counted value */            \
  X(RET_INT, "k")              /* the same for a constant */                                      \
  X(ADD_INT_RET, "abc")        /* a = b + c, and the RET_NUMBER that follows */                   \
  X(ADD_INT_BY_RET, "abk")     /* the same for a constant */                                      \
  X(MUL_ADD_FLOAT, "abc")      /* MUL_FLOAT, and the ADD_FLOAT that adds the product */           \
  X(MUL_SUB_FLOAT, "abc")      /* MUL_FLOAT, and the SUB_FLOAT that subtracts the product */      \
  X(TUPLE_SET, "axn")          /* TUPLE, and the DICT_SET that stores the tuple */                \
  X(DICT_LACKS, "abc")         /* DICT_HAS, and NOT_BOOL and JUMP_FALSE of its result */          \
  X(LIST_SWAP_INT, "abc")      /* LIST_GET_INT and the three steps that follow: see fuse_steps */ \
  X(LIST_SWAP_FLOAT, "abc")                                                                       \
  X(LIST_SWAP_BOOL, "abc")                                                                        \
  X(DIM, "ab")                 /* a = number of dimensions of tensor b */                         \
  X(DTYPE, "ab")               /* a = dtype of tensor b */
// clang-format on

enum class StepOp : uint16_t {
// clang-format off
#define X(name, ...) name,
  SL_BINARY_STEPS(X) SL_RAISING_STEPS(X) SL_COMPARE_STEPS(X) SL_UNARY_STEPS(X)
  SL_STACK_STEPS(X) SL_OTHER_STEPS(X) SL_TEST_STEPS(X)
#undef X
#define X(name, ...) JUMP_##name,
  SL_COMPARE_STEPS(X)
#undef X
#define X(name, ...) JUMP_NOT_##name,
  SL_COMPARE_STEPS(X) SL_TEST_STEPS(X)
#undef X
#define X(name, ...) JUMP_##name##_BY, JUMP_NOT_##name##_BY,
  SL_CONSTANT_COMPARES(X)
#undef X
#define X(name, ...) name##_BY,
  SL_CONSTANT_STEPS(X) SL_CONSTANT_COMPARES(X)
#undef X
  // clang-format on
};
// The number of steps. It is not a member of StepOp, so that switches need no case for it.
// clang-format off
#define X(...) +1
constexpr size_t kStepOps =
    0 SL_BINARY_STEPS(X) SL_RAISING_STEPS(X) SL_COMPARE_STEPS(X) SL_UNARY_STEPS(X)
    SL_STACK_STEPS(X) SL_OTHER_STEPS(X) SL_TEST_STEPS(X)
    SL_COMPARE_STEPS(X) SL_COMPARE_STEPS(X) SL_TEST_STEPS(X)
    SL_CONSTANT_COMPARES(X) SL_CONSTANT_COMPARES(X)
    SL_CONSTANT_STEPS(X) SL_CONSTANT_COMPARES(X);
#undef X
// clang-format on

// Field `x` of RET: whether the frame may hold counted values besides the results (kCounted) or not
// (kNothingCounted), or neither it nor the results are counted (kNothingAtAll). Field `c` is the
// number of results.
enum Leftovers : int32_t { kCounted, kNothingCounted, kNothingAtAll };

struct Step {
  StepOp op = StepOp::JUMP;
  int32_t origin = 0;  // the instruction it comes from
  int32_t a = 0, b = 0, c = 0;
  int32_t x = 0;
  union {
    int64_t work = 0;            // instructions of a back edge, for the limits
    double (*function)(double);  // FLOAT_CALL
    double (*function_two)(double, double);
    const Function* callee;   // CALL, CALL_PROVEN
    const Type* type;         // TUPLE: the NamedTuple's, or null; LIST
    uint64_t inverse;         // FLOORDIV_INT_BY, MOD_INT_BY: of the divisor; its shift is x
    int32_t y;                // CHARACTER_EQ and its variants: a slot; UNPACK_AT: a number
    const struct Call* call;  // OP and its variants: call x
  };
};
static_assert(sizeof(Step) == 32, "two steps a cache line");

// One move of several that a step makes: it lays out an argument of a call or an item of a tuple or
// list, or it stores a part of a tuple that is unpacked. When unpacking, Int, Float and Bool raise
// TypeError if the part is of another type, and Nowhere drops the part.
struct Fill {
  enum Kind : int32_t {
    Raw,   // a copy of what is not counted
    Plus,  // an argument of a call: an int and the number `to`
    Copy,
    Move,
    Constant,
    FreshList,
    Int,
    Float,
    Bool,
    Nowhere
  } kind = Copy;
  int32_t to = 0;
  int32_t from = 0;                 // of Raw, Plus, Copy and Move
  const Value* constant = nullptr;  // of Constant and FreshList
};

constexpr int64_t kMostBorrowed = 8;  // the most arguments of a call that borrows them

// A call of an operator. The rows lay out its arguments in the frame from `first` on; results are
// written behind them. OP_BORROWED lays out the arguments outside of the frame instead: it copies
// the bytes of `borrowed`, which has the constants, and the rows add the bytes of slots.
struct Call {
  OpFn run = nullptr;
  int32_t first = 0;  // the offset of the first argument
  int32_t arguments = 0, results = 0;
  int32_t fill = 0, fills = 0;  // rows in Code::fills
  int32_t borrowed_from = 0;    // in Code::borrowed
  const Fill* rows = nullptr;
  const Value* borrowed = nullptr;
  const OperatorUse* use = nullptr;  // of OP_RECORDED
};

// The number of slots of a frame is a multiple of this.
constexpr int32_t kImageStep = 2;

struct Code {
  const Function* function = nullptr;
  std::shared_ptr<const Function> made;  // the optimised function that was lowered, if there is one
  std::vector<Step> steps;
  std::vector<Fill> fills;
  std::vector<Call> calls;
  std::vector<Value> borrowed;   // of OP_BORROWED: argument lists with constants filled in
  std::vector<Value> constants;  // numbers and strings
  std::vector<Value> image;      // of a frame at its start: None, then constants; copied as bytes
  std::vector<int32_t> parameters;  // the offset to which each argument goes; -1: it is not used
  bool in_order = false;            // argument k goes to slot k, for all of them
  int32_t slots = 0;                // of a frame
  int64_t bytes = 0;                // of a frame
  int32_t first_constant = 0;       // the slot of the first constant
  // The frame never holds a counted value (except an argument that its check refuses), and no slot
  // is read before it is written. Then the frame is trivial: its slots need not be None at the
  // start, only the constants of the image are copied, and nothing is dropped at the end.
  bool trivial_frame = false;
  int32_t image_from = 0;        // the slot of a frame from which the image has to be copied
  const Step* first = nullptr;   // the first step
  const Step* proven = nullptr;  // the first step behind the guards of the arguments
  int64_t work = 0;              // how many instructions a call counts as, for the limits
};

// The operands of a step, as letters: see SL_OTHER_STEPS; k is `c` as a number.
const char* operands_of(StepOp op);
// Replaces steps whose second operand is a small int constant by variants that hold the constant.
// Constants that no step reads any more are removed from the end of the frame.
void hold_constants(Code* code);
// Replaces sequences of steps by fused steps. It has to be the last pass: see fuse_steps.cpp.
void fuse_steps(std::vector<Step>* steps);

constexpr int32_t offset_of(int32_t slot) { return slot * int32_t(sizeof(Value)); }

// The code of a verified function. It is made at the first call and kept with the function.
const Code& code_of(const Function& function);
// The function that runs in place of another while derivatives are recorded. It is made once and
// kept with the other.
const Function& recorded(const Function& function);

// The register code of a verified function as text, one step a line.
std::string print_code(const Function& function);

}  // namespace scriptlang::lower
