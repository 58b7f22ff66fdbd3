// Register code: what a verified function runs as.
//
// A frame is one run of slots: the function's registers, its stack (whose depth is known at every
// instruction, so that each stack position is a slot), its small constants, spare slots. A step
// names slots by their byte offset in the frame. Slots are always whole Values, so that a frame
// can be dropped at any step; but a step on ints, floats and bools is made only where the tags of
// its operands are proven, and neither looks at them nor counts references.
//
// Two rules hold between steps. A stack slot above the current depth holds nothing counted.
// A typed step writes only to slots that hold nothing counted.
#pragma once

#include <cstdint>
#include <vector>

#include "../ops/op.h"
#include "../ops/scalar_math.h"

namespace scriptlang {
struct Function;
}

namespace scriptlang::lower {

// X(name, kind of both operands, kind of the result, result of a and b)
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

// The same for results that may be an error.
#define SL_RAISING_STEPS(X)                                     \
  X(FLOORDIV_INT, int, int, scalars::floordiv(a, b))            \
  X(MOD_INT, int, int, scalars::remainder(a, b))                \
  X(POW_FLOAT, double, double, scalars::power(a, b))

// Comparisons; each is also a branch where it holds, and one where it does not.
#define SL_COMPARE_STEPS(X)                                     \
  X(LT_INT, int, a < b) X(LE_INT, int, a <= b)                  \
  X(GT_INT, int, a > b) X(GE_INT, int, a >= b)                  \
  X(EQ_INT, int, a == b) X(NE_INT, int, a != b)                 \
  X(LT_FLOAT, double, a < b) X(LE_FLOAT, double, a <= b)        \
  X(GT_FLOAT, double, a > b) X(GE_FLOAT, double, a >= b)        \
  X(EQ_FLOAT, double, a == b) X(NE_FLOAT, double, a != b)

// X(name, kind of the operand, kind of the result, result of a)
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

// Steps that are an instruction as it was, on the stack slots from `a` on.
#define SL_STACK_STEPS(X)                                                                \
  X(LIST_UNPACK) X(TUPLE_UNPACK) X(TUPLE_CONSTRUCT) X(NAMED_TUPLE_CONSTRUCT)             \
  X(LIST_CONSTRUCT) X(DICT_CONSTRUCT) X(CREATE_OBJECT) X(ISINSTANCE) X(TUPLE_SLICE)      \
  X(RAISE_EXCEPTION) X(FORMAT) X(DEVICE) X(TO_LIST) X(NUM_TO_TENSOR) X(IS_CUDA) X(WARN)  \
  X(CALL) X(INTERFACE_CALL) X(ENTER) X(EXIT) X(FORK) X(AWAITABLE) X(WAIT) X(RET)         \
  X(OP_MISSING) X(FUSED)

// The others. Every operand is a slot unless it says otherwise.
#define SL_OTHER_STEPS(X)                                                                       \
  X(COPY_RAW)       /* a = b; neither is counted */                                             \
  X(COPY)           /* a = b */                                                                 \
  X(MOVE)           /* a = b; b = None */                                                       \
  X(CONSTANT)       /* a = constant x of the function */                                        \
  X(RESET)          /* a = None */                                                              \
  X(FILL)           /* moves x, ..., x + c - 1 of the table of moves */                         \
  X(SHIFT)          /* c values from slot b on go to the slots from a on, below b */            \
  X(GUARD_INT)      /* TypeError unless a is an int */                                          \
  X(GUARD_BOOL)                                                                                 \
  X(GUARD_FLOAT)    /* a becomes a float; TypeError unless it is a number */                    \
  X(JUMP)           /* go x steps on */                                                         \
  X(JUMP_BACK)      /* the same, and account for `work` instructions */                         \
  X(JUMP_TRUE)      /* go x steps on when the bool b holds; account for `work` */               \
  X(JUMP_FALSE)                                                                                 \
  X(COUNT)          /* when int a < int b: c = a, a = a + 1, go x steps on; account */          \
  X(OP)             /* a = operator of call x */                                                \
  X(OP_MANY)        /* operator of call x; results go to the slots from a on */                 \
  X(FLOAT_CALL)     /* a = function(b) */                                                       \
  X(FLOAT_CALL_TWO) /* a = function(b, c) */                                                    \
  X(FLOOR)          /* a = the largest int <= float b */                                        \
  X(CEIL)                                                                                       \
  X(DERIVE_INDEX)   /* a = c + b * x */                                                         \
  X(RANGE_LENGTH)   /* a = len(range(b, c, x)) */                                               \
  X(LIST_GET)       /* a = b[int c] */                                                          \
  X(LIST_GET_INT)   /* the same; TypeError unless the element is an int */                      \
  X(LIST_GET_FLOAT)                                                                             \
  X(LIST_GET_BOOL)                                                                              \
  X(LIST_SET)       /* a[int b] = c, which is taken when it is counted */                       \
  X(LIST_APPEND)    /* a.append(b), which is taken when it is counted */                        \
  X(LIST_LEN)       /* a = len(b) */                                                            \
  X(STRING_LEN)                                                                                 \
  X(DICT_LEN)                                                                                   \
  X(DICT_GET)       /* a = b[c] */                                                              \
  X(DICT_HAS)       /* a = c in b */                                                            \
  X(DICT_SET)       /* a[b] = c; both are taken when they are counted */                        \
  X(ATTRIBUTE)      /* a = slot x of object b */                                                \
  X(SET_ATTRIBUTE)  /* slot x of object a = b, which is taken when it is counted */             \
  X(TUPLE_AT)       /* a = b[int c] */                                                          \
  X(IS)             /* a = b is c */                                                            \
  X(IS_NOT)                                                                                     \
  X(DIM)            /* a = number of dimensions of tensor b */                                  \
  X(DTYPE)          /* a = dtype of tensor b */

enum class StepOp : uint16_t {
#define X(name, ...) name,
  SL_BINARY_STEPS(X) SL_RAISING_STEPS(X) SL_COMPARE_STEPS(X) SL_UNARY_STEPS(X)
  SL_STACK_STEPS(X) SL_OTHER_STEPS(X)
#undef X
#define X(name, ...) JUMP_##name,
  SL_COMPARE_STEPS(X)
#undef X
#define X(name, ...) JUMP_NOT_##name,
  SL_COMPARE_STEPS(X)
#undef X
  kCount
};

struct Step {
  StepOp op = StepOp::JUMP;
  int32_t origin = 0;  // the instruction it comes from
  int32_t a = 0, b = 0, c = 0;
  int32_t x = 0;
  union {
    int64_t work = 0;                  // what a way back counts as, for the limits
    double (*function)(double);        // FLOAT_CALL
    double (*function_two)(double, double);
  };
};
static_assert(sizeof(Step) == 32, "two steps a cache line");

// One of the moves that lay out the arguments of a call.
struct Fill {
  enum Kind : int32_t { Copy, Move, Constant, FreshList } kind = Copy;
  int32_t to = 0;
  int32_t from = 0;                  // of Copy and Move
  const Value* constant = nullptr;   // of Constant and FreshList
};

// A call of an operator: `fills` lay out the arguments from `first` on, results follow them.
struct Call {
  OpFn run = nullptr;
  int32_t first = 0;  // offset
  int32_t arguments = 0, results = 0;
  int32_t fill = 0, fills = 0;
};

struct Code {
  std::vector<Step> steps;
  std::vector<Fill> fills;
  std::vector<Call> calls;
  std::vector<Value> constants;  // small ones, copied into each frame
  std::vector<int32_t> parameters;  // where each argument goes: an offset, or -1 for nowhere
  int32_t slots = 0;             // of a frame
  int32_t first_constant = 0;    // slot
};

constexpr int32_t offset_of(int32_t slot) { return slot * int32_t(sizeof(Value)); }

// The code of a verified function: made at its first call, kept with it.
const Code& code_of(const Function& function);

}  // namespace scriptlang::lower
