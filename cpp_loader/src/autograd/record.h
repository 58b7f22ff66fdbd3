// Recording: operators run, and nodes are made of those whose inputs require gradients.
#pragma once

#include "ops/op.h"
#include "ops/optable.h"

namespace scriptlang {
namespace lower {
struct Call;
}
namespace autograd {

// Runs the operator of a step OP_RECORDED.
void run_recorded(Context& ctx, const lower::Call& call, Args args, Value* out);

// The same for an operator by itself. results: how many values it gives.
void run_recorded(Context& ctx, const OpEntry* entry, OpFn run, Args args, Value* out, int results);

}  // namespace autograd
}  // namespace scriptlang
