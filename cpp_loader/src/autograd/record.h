// Recording: runs operators and makes nodes for those whose inputs require gradients.
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

// The same for a single operator. `results` is the number of values that it returns.
void run_recorded(Context& ctx, const OpEntry* entry, OpFn run, Args args, Value* out, int results);

}  // namespace autograd
}  // namespace scriptlang
