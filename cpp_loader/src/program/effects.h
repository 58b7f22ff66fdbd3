// Effect analysis: what a run may write to that others can reach. Locks depend on it
// (machine/turns.h).
#pragma once

#include "program.h"

namespace scriptlang {

// Reshapes: the run may give another shape or memory to tensors that others have.
enum class Effect : int8_t { Reads, Writes, Reshapes };

// The effect of a verified function, with all that it may call; computed once and kept with it. The
// analysis is sound: what it does not know counts as a write.
//
// It follows where each value comes from: made by this run, passed as an argument, or there before.
// Writing to the elements of a tensor that was passed is no effect: if a host passes one tensor to
// two runs, their writes may mix.
Effect effect_of(const Program& program, const Function& function);

}  // namespace scriptlang
