// Registers that only hand a value on share a slot.
//
// Compilers give what an `if` and a loop yield registers of their own: the values of a loop that
// nothing changes in this round are moved from the loop's registers to those of each join and back.
// Where two registers that a value goes through are never both wanted, they are one slot, and the
// move is none.
#pragma once

#include "flow.h"

namespace scriptlang::lower {

// Changes `flow->registers`, when the function is not too large to tell.
void share_slots(const Function& function, const Liveness& live, Flow* flow);

}  // namespace scriptlang::lower
