// Register coalescing: registers that only pass a value on share a slot.
//
// Bytecode has separate registers for the results of each `if` and each loop. A value that a round
// of a loop does not change is moved from the loop's register to that of each join, and back. If
// the two registers of such a move are never live at the same time, they get one slot, and the move
// is not needed.
#pragma once

#include "flow.h"

namespace scriptlang::lower {

// Changes `flow->registers`. Does nothing if liveness is not known.
void coalesce_slots(const Function& function, const Liveness& live, Flow* flow);

}  // namespace scriptlang::lower
