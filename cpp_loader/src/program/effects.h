// What a run may write of what others can reach: decides beside whom it may go (machine/turns.h).
#pragma once

#include "program.h"

namespace scriptlang {

// Reshapes: it gives another shape or memory to tensors that others may have.
enum class Effect : int8_t { Reads, Writes, Reshapes };

// Of a verified function with all that it may call: kept with it. Sound: what is not known writes.
//
// A value is followed by where it comes from: this run made it, it was passed, or it was there
// before. Writing to elements of a tensor that was passed counts as nothing: nobody else's memory
// is reached by that, and whoever passes one tensor to two runs sees their writes mixed.
Effect effect_of(const Program& program, const Function& function);

}  // namespace scriptlang
