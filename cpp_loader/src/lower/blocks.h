// Where values lie when control enters a block. In terms of SSA they are the block's parameters.
//
// The values on the stack lie in their home slots, except those that the block's first instructions
// store into registers: each predecessor puts these into the registers before it jumps. So the
// values that a loop carries stay in registers from one round to the next.
#pragma once

#include <vector>

#include "flow.h"

namespace scriptlang::lower {

// A loop that carries more values keeps them in their home slots.
constexpr int32_t kMostCarried = 64;

constexpr int32_t kNowhere = -1;  // the place of a value that the block drops at once

struct BlockParameters {
  // Slots of the topmost values, the top first; values below lie in their home slots.
  std::vector<int32_t> places;
};

struct Shape {
  Flow flow;
  std::vector<BlockParameters> parameters;  // by block
  std::vector<char> expanded;  // by block: a LOOP whose decision each predecessor makes itself
  // By block: a LOOP whose body never reads the trip number and the trip limit, which lie below the
  // carried values on the stack.
  std::vector<char> private_counts;
  // By block: one of only moves and a jump, which each predecessor copies (tail duplication).
  std::vector<char> duplicated;
  // Whether a register may be read before it is written. Such a read gives None.
  bool reads_unwritten = true;
};

Shape shape_of(const Function& function);

}  // namespace scriptlang::lower
