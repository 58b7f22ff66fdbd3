// A fused group: a function whose code is a run of pointwise operators and reductions, done at
// once.
//
// FUSED calls a function like CALL does; where the function is such a run, its operators are
// recorded on symbolic tensors at the first call with arguments of a kind (types, sizes, strides,
// numbers) and become programs (fused_plan.h), which are kept. Whatever cannot be done so is
// called like any function: operator by operator, with the same results and the same errors.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "ops/op.h"

namespace scriptlang {

struct Function;
struct FusedPlan;

class FusedGroup {
 public:
  // Null where the function does something else. It must be verified, and outlive the group.
  static std::unique_ptr<FusedGroup> make(const Function& function);
  ~FusedGroup();

  // Replaces the arguments by the results; false, and nothing has happened, where the function
  // has to be called. Any number of threads.
  bool run(Context& context, Value* args);

 private:
  explicit FusedGroup(const Function& function) : function_(function) {}
  const FusedPlan* find(const Value* args);
  std::unique_ptr<FusedPlan> make_plan(Context& context, const Value* args) const;
  const FusedPlan* add(std::unique_ptr<FusedPlan> fresh);

  const Function& function_;
  std::atomic<FusedPlan*> first_{nullptr};
  std::atomic<const FusedPlan*> latest_{nullptr};
  std::atomic<int> count_{0};
};

}  // namespace scriptlang
