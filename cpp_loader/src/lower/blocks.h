// Where values lie when control enters a block.
//
// At a block's start the values on the stack lie in their own stack slots, except those that the
// block stores at once: these are put into their registers by whoever jumps there, so that a loop
// carries its values in registers and moves nothing.
#pragma once

#include <vector>

#include "flow.h"

namespace scriptlang::lower {

// A loop of more values keeps them on the stack.
constexpr int32_t kMostCarried = 64;

constexpr int32_t kNowhere = -1;  // a value that the block drops at once

struct Landing {
  // Slots of the topmost values, the top first; values below lie in their own slots.
  std::vector<int32_t> places;
};

struct Shape {
  Flow flow;
  std::vector<Landing> landings;  // by block
  std::vector<char> expanded;     // by block: a LOOP that is decided where control comes from
  // By block: a LOOP whose body never takes the trip number and count that lie below its values.
  std::vector<char> private_counts;
  // By block: a few moves and a way on, which are made where control comes from.
  std::vector<char> followed;
  bool reads_unwritten = true;  // whether a register may be read, as None, that nothing wrote
};

Shape shape_of(const Function& function, bool plain = false);

}  // namespace scriptlang::lower
