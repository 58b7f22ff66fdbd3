// The instruction set, as interpreter/opcodes.py has it: opcodes.def is generated from there.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace scriptlang {

enum class Opcode : uint8_t {
#define SL_OPCODE(name, number, ...) name = number,
#include "opcodes.def"
  // What OP and OPN become once the operator is known.
  OP_ONE = 64,   // all arguments given, one result
  OP_ANY,        // any number of results, defaults to fill in
  OP_MISSING,    // raises MissingOperator
  TUPLE_UNPACK,  // pushes n elements
};

#define SL_LIMIT(name, value) constexpr int64_t name = value;
#include "opcodes.def"

namespace bytecode {

// What an operand is; opcodes.def says each.
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

// What a value on the stack is.
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

// How many more values: by an operand, or as many as the operator or the function takes or gives.
enum class Count : uint8_t { None, N, X, NMinus1, NMinus2, XMinus1, Operator, Function };

// What runs after an instruction.
enum class Next : uint8_t { Next, Jump, Branch, Loop, Return, Raise };

// What an instruction does besides; opcodes.def says each.
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
  bool runs;  // false: only PyTorch's profiling executor makes it
};

// For the opcodes of the table and those that OP and OPN become.
const OpcodeInfo& info_of(Opcode op);

}  // namespace bytecode

}  // namespace scriptlang
