// Effect analysis: which memory that others can reach a run may write to. It decides which locks a
// run takes (machine/turns.h).
#pragma once

#include "program.h"

namespace scriptlang {

// Reshapes: the run may give another shape or storage to tensors that others can reach.
enum class Effect : int8_t { Reads, Writes, Reshapes };

// The effect of a verified function, with all functions that it may call. It is computed once and
// kept with the function. The analysis is sound: what it does not know counts as an effect.
//
// It follows where each value comes from: made by this run, passed as an argument, or reachable
// before. Writing to the elements of a tensor that was passed is no effect: if a host passes one
// tensor to two runs, their writes may mix.
Effect effect_of(const Program& program, const Function& function);

// Whether a run may store values in an object or container that others can reach. It is computed
// with the effect.
bool keeps_values(const Program& program, const Function& function);

}  // namespace scriptlang
