// Looks up what the table of opcodes says of one. OP_ONE and the others that verify() makes are not
// in the table.
#include "opcodes.h"

namespace scriptlang::bytecode {

const OpcodeInfo& info_of(Opcode op) {
  switch (op) {
#define SL_KINDS(...) {__VA_ARGS__}
#define SL_OPCODE(name, number, x, n, pops, more_pops, pushes, more_pushes, next, does, runs, \
                  meaning)                                                                    \
  case Opcode::name: {                                                                        \
    static constexpr OpcodeInfo info = {#name,                                                \
                                        Operand::x,                                           \
                                        Operand::n,                                           \
                                        {SL_KINDS pops, Count::more_pops},                    \
                                        {SL_KINDS pushes, Count::more_pushes},                \
                                        Next::next,                                           \
                                        Does::does,                                           \
                                        runs};                                                \
    return info;                                                                              \
  }
#include "opcodes.def"
#undef SL_KINDS
    case Opcode::OP_ONE:
    case Opcode::OP_ANY: {
      static constexpr OpcodeInfo info = {"OP",
                                          Operand::Operator,
                                          Operand::Count,
                                          {{}, Count::Operator},
                                          {{}, Count::Operator},
                                          Next::Next,
                                          Does::Acts,
                                          true};
      return info;
    }
    case Opcode::OP_MISSING: {
      static constexpr OpcodeInfo info = {"OP",
                                          Operand::Operator,
                                          Operand::Count,
                                          {{}, Count::None},
                                          {{}, Count::None},
                                          Next::Raise,
                                          Does::Acts,
                                          true};
      return info;
    }
    case Opcode::TUPLE_UNPACK: break;
  }
  static constexpr OpcodeInfo info = {
      "OP",           Operand::Operator, Operand::Count, {{Kind::Tuple}, Count::None},
      {{}, Count::N}, Next::Next,        Does::Gives,    true};
  return info;
}

}  // namespace scriptlang::bytecode
