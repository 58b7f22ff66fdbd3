// The instruction set. opcodes.def, which is generated from interpreter/opcodes.py, has the table.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace scriptlang {

enum class Opcode : uint8_t {
#define SL_OPCODE(name, number, ...) name = number,
#include "opcodes.def"
  // verify() replaces OP and OPN by these, once the operator is known.
  OP_ONE = 64,   // all arguments given, one result
  OP_ANY,        // any number of results, defaults to fill in
  OP_MISSING,    // raises MissingOperator
  TUPLE_UNPACK,  // pushes n elements
};

#define SL_LIMIT(name, value) constexpr int64_t name = value;
#include "opcodes.def"

namespace bytecode {

// The kinds of operands of instructions. opcodes.def says what each means.
enum class Operand : uint8_t {
  None,
  Operator,
  Register,
  Registers,
  Constant,
  Method,
  Type,
  ListType,
  DictType,
  NamedTupleType,
  Class,
  Types,
  Function,
  Jump,
  Slot,
  Count,
  CountFrom1,
  CountFrom2,
  EvenCount,
  Fields,
  Arguments,
};

// The kinds of values on the stack that instructions need or give.
enum class Kind : uint8_t {
  Any,
  Bool,
  Int,
  Number,
  Str,
  Tensor,
  Device,
  Tuple,
  List,
  Dict,
  Object,
  Future,
};

// How many further values an instruction takes or gives: as many as an operand says, or as the
// operator or function takes or gives.
enum class Count : uint8_t { None, N, X, NMinus1, NMinus2, XMinus1, Operator, Function };

// What runs after an instruction.
enum class Next : uint8_t { Next, Jump, Branch, Loop, Return, Raise };

// Whether an instruction has side effects. opcodes.def says what each means.
enum class Does : uint8_t { Acts, Gives, Moves };

// The values that an instruction takes off the stack or puts onto it, bottom first.
struct Values {
  static constexpr int kMost = 4;
  constexpr Values(std::initializer_list<Kind> first, Count more) : more(more) {
    for (Kind kind : first) kinds[size++] = kind;
  }
  Kind kinds[kMost] = {};
  int size = 0;
  Count more;  // of any kind, above those
};

struct OpcodeInfo {
  const char* name;
  Operand x, n;
  Values pops, pushes;
  Next next;
  Does does;
  bool runs;  // false: only PyTorch's profiling executor uses it; programs with it are refused
};

// For the opcodes of the table and those that OP and OPN become.
const OpcodeInfo& info_of(Opcode op);

}  // namespace bytecode

}  // namespace scriptlang
